"""What is installed: the wheel is a library with few dependencies, and the environment is locked, every package to one
version whose files are known by content. Oracles: an empty environment, given what the wheel asks for alone; what is
installed here, by its own metadata; what pip itself says of a file."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from collections.abc import Iterable
from importlib import metadata
from itertools import chain
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import pcgraph_lite
from reproduction.checkout import ROOT

BOOK = ["pydantic", "yaml", "matplotlib", "typer", "torchvision", "torchmetrics", "scipy"]
LOCK = (ROOT / "requirements.txt").read_text(encoding="utf-8")
PINS = [Requirement(line) for line in re.findall(r"(?m)^(\w[^\\\n]*) \\$", LOCK)]
HERE = {canonicalize_name(one.name): str(one.specifier).removeprefix("==") for one in PINS
        if not one.marker or one.marker.evaluate()}                        # name -> version


def needed(requirements: Iterable[Requirement]) -> set[str]:
    """The names of these packages and of all that they need on this machine, with the extras that are asked for."""
    waiting, found = [(one, "") for one in requirements], set()
    while waiting:
        requirement, extra = waiting.pop()
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        name = canonicalize_name(requirement.name)
        for one in ("", *requirement.extras):
            if (name, one) not in found:
                found.add((name, one))
                waiting += [(Requirement(text), one) for text in metadata.requires(name) or []]
    return {name for name, _ in found}


def link(requirements: Iterable[Requirement], folder: Path) -> None:
    """Make what they need visible in a folder of packages."""
    for dist in map(metadata.distribution, needed(requirements)):
        for top in {file.parts[0] for file in dist.files or []} - {"..", "__pycache__"}:
            if not (folder / top).exists() and not top.endswith(".pth"):
                (folder / top).symlink_to(dist.locate_file(top))


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The ``bin`` folder of an environment that holds the wheel and, by links, what its metadata asks for."""
    root = tmp_path_factory.mktemp("wheel")
    for name in ("pcgraph_lite", "reproduction"):
        shutil.copytree(ROOT / name, root / "source" / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy2(ROOT / name, root / "source")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    subprocess.run([*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", root, root / "source"], check=True)
    (wheel,) = root.glob("*.whl")
    (info,) = {Path(name).parts[0] for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" in name}
    venv.create(root / "empty", symlinks=True)
    (site,) = root.glob("empty/lib/python3*/site-packages")
    link(map(Requirement, metadata.PathDistribution(zipfile.Path(wheel, f"{info}/")).requires or []), site)
    subprocess.run([*pip, "--python", root / "empty/bin/python", "install", "--no-index", wheel], check=True)
    return root / "empty/bin"


@pytest.mark.slow
def test_readme_runs_as_it_stands_without_the_book_in_the_version_of_the_citation(environment: Path) -> None:
    """One program: the readme's, and then packages of the book that are there, a judge, the version."""
    (snippet,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    more = (f"from importlib import metadata, util\nprint([n for n in {BOOK} if util.find_spec(n)])\n"
            "from pcgraph_lite.images.judge import load_judge\nprint(load_judge('mnist').provenance)\n"
            "print(metadata.version('pcgraph-lite'))")
    command = [environment / "python", "-I", "-W", "error", "-c", f"{snippet}\n{more}"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    read, book, judge, version = done.stdout.splitlines()
    assert int(re.search(r"right labels: (\d+)%", read).group(1)) > 50, read
    assert book == "[]" and "mnist" in judge
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["version"]
    assert version == cited == pcgraph_lite.__version__


@pytest.mark.slow
def test_the_command_says_what_it_needs(environment: Path) -> None:
    done = subprocess.run([environment / "pcgraph", "info"], capture_output=True, text=True)
    assert done.returncode == 1 and done.stdout == ""
    assert re.fullmatch(r"pcgraph needs \w+, .*pip install -e '\.\[book\]'.*\n", done.stderr)


def test_binder_make_and_pip_ask_for_a_fitting_python_and_the_pinned_versions_which_are_within_the_ranges() -> None:
    said = (ROOT / "binder/requirements.txt").read_text().split()
    assert (ROOT / "binder" / said[-1]).resolve() == ROOT / "requirements.txt" and "--require-hashes" in said
    major, minor = re.fullmatch(r"python-(\d+)\.(\d+)\n", (ROOT / "binder/runtime.txt").read_text()).groups()
    least = re.search(r"sys\.version_info < \((\d+), (\d+), (\d+)\)", (ROOT / "Makefile").read_text()).groups()
    assert (int(major), int(minor)) >= tuple(map(int, least[:2])) and os.access(ROOT / "binder/postBuild", os.X_OK)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["requires-python"] == f">={'.'.join(least)}"
    for text in [*project["dependencies"], *chain(*project["optional-dependencies"].values())]:
        requirement = Requirement(text)
        assert requirement.specifier.contains(HERE[canonicalize_name(requirement.name)]), text


def test_every_package_has_one_version_and_digests_that_are_checked_and_no_place_to_get_it_from_is_named() -> None:
    blocks = re.split(r"(?m)^(?=\w)", LOCK)[1:]
    assert len(blocks) == len(PINS) > 150
    for block, pin in zip(blocks, PINS, strict=True):
        assert re.fullmatch(r"==[\w.+]+", str(pin.specifier)), pin
        assert re.findall(r"--hash=sha256:[0-9a-f]{64}(?= \\\n|\n)", block), pin
    assert not re.search(r"(?m)https?:|file:|^ *(-i|-f|--index|--extra-index|--find-links|--trusted-host)|@ ", LOCK)
    assert re.search(r"\$\(INSTALL\) --require-hashes -r requirements\.txt", (ROOT / "Makefile").read_text())


def test_what_is_asked_for_is_locked_and_what_is_locked_is_all_that_is_needed() -> None:
    """`make lock` was run after requirements.in was changed: each name is there, and so is all that those ask for."""
    wanted = [Requirement(line.partition("#")[0]) for line in (ROOT / "requirements.in").read_text().splitlines()
              if line.partition("#")[0].strip()]
    assert needed(wanted) == HERE.keys(), "run make lock"
    asked = [Requirement(text) for name in HERE for text in metadata.requires(name) or []]
    for requirement in [*wanted, *(one for one in asked if not one.marker or one.marker.evaluate({"extra": ""}))]:
        assert requirement.specifier.contains(HERE[canonicalize_name(requirement.name)], prereleases=True), requirement


def test_what_is_installed_is_what_is_locked() -> None:
    """A host that brings its own packages is another matter; the environment of `make` is this one."""
    assert {name: metadata.version(name) for name in HERE} == HERE


def test_continuous_integration_may_only_read_and_runs_what_it_names() -> None:
    """Actions are named by the commit, which nobody can move."""
    text = (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8")
    assert yaml.safe_load(text)["permissions"] == {"contents": "read"} and text.count("permissions") == 1
    used = re.findall(r"uses: (\S+)", text)
    assert used and all(re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}", one) for one in used)
    assert text.count("persist-credentials: false") == sum("checkout" in one for one in used)
