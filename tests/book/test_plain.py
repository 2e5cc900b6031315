"""A host with torch and little else: what pcgraph needs to train and, with --plain, to run a notebook. Oracle: an
environment that holds the packages named below, what they ask for by their own metadata, and no other."""

import subprocess
import sys
from pathlib import Path

import pytest
from installed import link
from packaging.requirements import Requirement
from project import HERE, Project

SECTIONS = ("numbers and pictures", "settings and commands")               # of requirements.in, as book/how-to.md says
SOMETIMES = {"torch-fidelity"}                                             # the FID with Inception
USES = "from reproduction.book import plots, tables\nfrom pcgraph_lite.images import judge, metrics\nimport torch\n"


def named() -> list[Requirement]:
    """The packages that the page names."""
    sections = (HERE.parent / "requirements.in").read_text().split("\n# ")
    lines = [line for text in sections if text.startswith(SECTIONS) for line in text.splitlines()[1:]]
    return [one for line in lines if line and (one := Requirement(line)).name not in SOMETIMES]


@pytest.mark.slow
def test_the_rest_of_the_environment_is_not_needed(tmp_path: Path) -> None:
    project = Project(tmp_path / "project")
    (folder := tmp_path / "packages").mkdir()
    packages = link(named(), folder)
    assert "torch" in packages and not {"papermill", "snakemake", "sphinx", "ipython", "torch-fidelity"} & packages
    page = project.root / "notebooks/01-tiny.md"
    page.write_text(page.read_text().replace("import torch\n", USES))
    environment = project.environment | {"PYTHONPATH": f"{project.root}:{tmp_path / 'packages'}"}

    code = ("from reproduction import cli; cli.app(['train', 'tiny', '--profile', 'smoke'], standalone_mode=False); "
            "cli.app(['run', '01-tiny', '--plain', '--profile', 'smoke'])")
    done = subprocess.run([sys.executable, "-S", "-c", code], cwd=project.root, env=environment, capture_output=True,
                          text=True)                                       # -S: no other packages
    said = done.stdout + done.stderr
    assert "tiny: _build/smoke/models" in said and "2 records" in said, said
