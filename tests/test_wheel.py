"""The wheel is a library with few dependencies. Oracle: an empty environment, given what the wheel asks for alone."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from importlib import metadata
from itertools import chain
from pathlib import Path

import pytest
import yaml
from installed import link
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import pcgraph_lite
from reproduction.checkout import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
BOOK = ["pydantic", "yaml", "matplotlib", "typer", "torchvision", "torchmetrics", "scipy"]


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
    (snippet,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
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
    pinned = dict(re.findall(r"(?m)^([\w.-]+)==(\S+)", (ROOT / "requirements.txt").read_text(encoding="utf-8")))
    for text in [*project["dependencies"], *chain(*project["optional-dependencies"].values())]:
        requirement = Requirement(text)
        assert requirement.specifier.contains(pinned[canonicalize_name(requirement.name)]), text
