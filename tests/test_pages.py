"""The commands that each page shows are there, and they work as they stand.

Oracle: the shell itself, run on the line of the page.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pcgraph_lite import config

PAGES = sorted((config.ROOT / "notebooks").glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_shows_how_to_run_itself(page: Path) -> None:
    text = page.read_text()
    assert f"pcgraph run {page.stem} --profile laptop -p " in text
    assert f"jupytext --to ipynb -o - notebooks/{page.stem}.md | papermill - out.ipynb -p " in text
    for heading in ("**Claim.**", "## Verdict", "## Your turn"):
        assert heading in text


def test_the_pipe_of_a_page_runs_as_shown(tmp_path: Path) -> None:
    """With the profile made smaller; everything else as a reader would paste it."""
    line = re.search(r"^jupytext .*$", (config.ROOT / "notebooks/02-pc-graphs.md").read_text(), re.MULTILINE).group()
    line = line.replace("out.ipynb", f"{tmp_path}/out.ipynb").replace("my-run", f"{tmp_path}/my-run")
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    subprocess.run(f"set -o pipefail; {line} -p profile smoke -p graphs 3", shell=True, executable="/bin/bash",
                   cwd=config.ROOT, env=environment, check=True, capture_output=True)
    assert (tmp_path / "out.ipynb").is_file() and (tmp_path / "my-run/records/02-pc-graphs.json").is_file()
