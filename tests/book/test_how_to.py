"""What the how-to pages say works: a copy of the checkout is edited and the commands are run, word for word. Oracle:
the exit codes of the commands; the pages are written so that what is wrong fails. And the tests of the copy, which has
its results as a clone has: after the pages they pass."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import changed
import pytest
import warm

from reproduction.book import notebooks, site
from reproduction.checkout import ROOT
from reproduction.evidence import config

PAGES = sorted((ROOT / "book/how-to").glob("*.md"))
EDIT = re.compile(r"^(?P<fence>`{3,})\{code-block\} \w+\n:caption: (?P<file>\S+?)(?:, (?P<place>[^\n]+))?\n\n"
                  r"(?P<text>.*?)^(?P=fence)$", re.MULTILINE | re.DOTALL)
COMMANDS = re.compile(r"^```bash\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def apply(edit: re.Match[str], root: Path) -> None:
    """A new file, or text at the end of one, or below or above the one line of it that holds the words quoted. Nothing
    where the checkout has it: somebody has followed the page and committed the result."""
    file, place, text = root / edit["file"], edit["place"], edit["text"]
    if file.exists() and (place is None or text in file.read_text(encoding="utf-8")):
        return
    if place is None:
        file.write_text(text, encoding="utf-8")
        return
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    if place == "at the end":
        lines.append(f"\n{text}")
    else:
        side, words = re.fullmatch(r'(below|above) "(.+)"', place).groups()
        (number,) = (k for k, line in enumerate(lines) if words in line)
        lines.insert(number + (side == "below"), text)
    file.write_text("".join(lines), encoding="utf-8")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a clone holds, with its results; the pages are followed one after the other in it."""
    root = tmp_path_factory.mktemp("clone") / "pcgraph"
    left_out = shutil.ignore_patterns(".venv", "_build", ".*_cache", "*.pyc.*", "*.part")
    shutil.copytree(ROOT, root, ignore=left_out)
    return root


def run(command: str, root: Path) -> str:
    """What a command prints in the copy; it must succeed."""
    path = os.pathsep.join([str(warm.commands()), str(Path(sys.executable).parent), os.environ["PATH"]])
    dry = {"PIP_DRY_RUN": "1", "PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0"}      # an install is tried, not done
    done = subprocess.run(f"set -euo pipefail\n{command}", shell=True, executable="/bin/bash", cwd=root, text=True,
                          env=os.environ | dry | {"PYTHONPATH": str(root), "PATH": path, "COLUMNS": "300"},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_does_what_it_says(page: Path, copy: Path) -> None:
    """All its files, then all its commands, in order; a page that it adds is in the book."""
    text = page.read_text(encoding="utf-8")
    edits = list(EDIT.finditer(text))
    for edit in edits:
        apply(edit, copy)
    run("".join(COMMANDS.findall(text)), copy)
    added = {Path(edit["file"]).stem for edit in edits if edit["file"].startswith("notebooks/")}
    assert added <= set(site.notebook_names(copy / "_toc.yml"))


@pytest.mark.long
@pytest.mark.slow
def test_the_fast_tests_that_could_notice_the_pages_pass_after_them(copy: Path) -> None:
    """Of all that the pages have added, once for all: those that `make quick` finds at most one import away from a file
    that is no code, the edited tests, and the tests of registries, which the edited code adds to."""
    edited = {edit["file"] for page in PAGES for edit in EDIT.finditer(page.read_text(encoding="utf-8"))}
    data = {file for file in edited if not file.endswith(".py")} | {"reproduction/evidence/numerics.json"}
    noticing = {str(test.relative_to(ROOT)) for test in changed.tests(data, furthest=1)}
    noticing |= {file for file in edited if file.startswith("tests/")}
    noticing |= {str(test.relative_to(ROOT)) for test in (ROOT / "tests").rglob("test_*.py")
                 if re.search(r"\b(CONSTRUCTORS|ACTIVATIONS)\b", test.read_text(encoding="utf-8"))}
    assert {"tests/evidence/test_findings.py", "tests/evidence/test_numerics.py", "tests/book/test_pages.py",
            "tests/evidence/test_config.py", "tests/engine/test_activations.py"} <= noticing
    run(f"pytest -m 'not slow' -p no:cacheprovider {' '.join(sorted(noticing))}", copy)


def test_every_page_is_in_the_book_and_has_something_to_follow() -> None:
    listed = re.findall(r"file: book/how-to/(\S+)", (ROOT / "_toc.yml").read_text(encoding="utf-8"))
    assert sorted(listed) == [page.stem for page in PAGES]
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert text.count("{code-block}") == len(EDIT.findall(text)) >= 2 and COMMANDS.search(text), page.stem


def test_the_parameters_that_notebooks_share_are_those_of_their_first_cells() -> None:
    """The table of the page, line by line; only `seed` is said of all but one, which it names."""
    text = (ROOT / "book/how-to.md").read_text(encoding="utf-8")
    table = dict(re.findall(r"^\| `(\w+)` \| ([^|]*?) \|.*\|.*\|$", text, re.MULTILINE))
    every = set(config.notebook_names())
    taking = {one: {name for name in every if one in notebooks.parameters(name)} for one in table}
    assert {one: of == "every notebook" for one, of in table.items()} == {one: taking[one] == every for one in table}
    without = re.search(r"all but (\w+),", table["seed"]).groups()
    assert every - taking["seed"] == {name for name in every if name.lstrip("0").split("-")[0] in without}
    assert set() < taking["seeds"] < taking["seed"]


def test_every_study_is_named_with_its_command() -> None:
    text = (ROOT / "book/how-to.md").read_text(encoding="utf-8")
    (paragraph,) = re.findall(r"^The files of `config/studies/`.*?(?=^## )", text, re.MULTILINE | re.DOTALL)
    assert {path.stem for path in (ROOT / "config/studies").glob("*.yaml")} <= set(re.findall(r"[\w-]+", paragraph))
