"""The commands that each page shows are there, and they work as they stand.

Oracle: the shell itself, run on the line of the page.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import renew_published

from pcgraph_lite import checkout

PUBLISHED = sorted((checkout.ROOT / "book" / "notebooks").glob("*.ipynb"))
PAGES = sorted((checkout.ROOT / "notebooks").glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_shows_how_to_run_itself(page: Path) -> None:
    text = page.read_text()
    assert f"pcgraph run {page.stem} --profile laptop -p " in text
    assert f"jupytext --to ipynb -o - notebooks/{page.stem}.md | papermill - out.ipynb -p " in text
    for heading in ("**Claim.**", "## Verdict", "## Your turn"):
        assert heading in text


def test_the_pipe_of_a_page_runs_as_shown(tmp_path: Path) -> None:
    """With the profile made smaller; everything else as a reader would paste it."""
    line = re.search(r"^jupytext .*$", (checkout.ROOT / "notebooks/02-pc-graphs.md").read_text(), re.MULTILINE).group()
    line = line.replace("out.ipynb", f"{tmp_path}/out.ipynb").replace("my-run", f"{tmp_path}/my-run")
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    subprocess.run(f"set -o pipefail; {line} -p profile smoke -p graphs 3", shell=True, executable="/bin/bash",
                   cwd=checkout.ROOT, env=environment, check=True, capture_output=True)
    assert (tmp_path / "out.ipynb").is_file() and (tmp_path / "my-run/records/02-pc-graphs.json").is_file()


@pytest.mark.parametrize("page", PUBLISHED, ids=lambda page: page.stem)
def test_a_published_page_says_what_today_s_rules_say(page: Path) -> None:
    """Of its own record; if a rule changed: python scripts/renew_published.py."""
    if renew_published.outdated(page) is not None:
        pytest.fail("its verdicts are those of older rules; run python scripts/renew_published.py and commit the pages")


def test_the_readme_shows_a_published_figure() -> None:
    if renew_published.PICTURE.read_bytes() != renew_published.picture():
        pytest.fail("the README's picture is not that of the published page; run python scripts/renew_published.py")


def test_outdated_verdicts_are_noticed(tmp_path: Path) -> None:
    page = tmp_path / "02-pc-graphs.ipynb"
    text = (checkout.ROOT / "book/notebooks/02-pc-graphs.ipynb").read_text()
    page.write_text(text.replace("&gt;reproduced", "&gt;partly").replace(">reproduced<", ">partly<"))
    assert page.read_text() != text
    renewed = renew_published.outdated(page)
    assert renewed is not None and ">partly<" not in str(renewed)
