"""The workflow: a killed run resumes, an edit reruns what depends on it and nothing else. Oracle: an undisturbed run in
this process; the files' times and Snakemake's own plan."""

import json
import os
import re
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from project import Project
from safetensors.torch import load_file

from pcgraph_lite import hardware
from reproduction import checkout
from reproduction.evidence import zoo

pytestmark = pytest.mark.slow
QUIET = re.search(r"--quiet .*--show-failed-logs", (checkout.ROOT / "Makefile").read_text())[0].split()


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The small project with a model of two seeds, killed in the middle of its notebook; then the weights of one seed
    are taken away, and it runs to the end."""
    project = Project(tmp_path_factory.mktemp("project"))
    notebook = project.root / "notebooks/01-tiny.md"
    notebook.write_text(notebook.read_text().replace("models: [tiny, other]", "models: [tiny, other: others]").replace(
        "images: int", "others: int = 2           # seeds of the second model\nimages: int"))
    running = project.start()
    project.wait_until(lambda: list((project.root / "_build/smoke/notebooks").glob("01-tiny.ipynb.*.part")), running)
    os.killpg(running.pid, signal.SIGKILL)
    running.communicate()
    project.trained = {path: path.stat().st_mtime_ns for path in (project.root / "_build").rglob("*.safetensors")}
    (project.root / "_build/smoke/models/other-seed0.safetensors").unlink()
    project.missing = project.planned()
    project.settings = ("together=no",)
    project.missing_apart = project.planned()
    project.settings = ()
    project.resumed = project.snakemake()
    return project


@contextmanager
def edited(project: Project, changes: dict[str, tuple[str, str]]) -> Iterator[None]:
    """The project after a replacement in some files; files and their times are put back."""
    before = {path: (path.read_text(), path.stat()) for path in (project.root / file for file in changes)}
    for (path, (text, _)), (old, new) in zip(before.items(), changes.values(), strict=True):
        changed = re.sub(old, new, text, count=1, flags=re.DOTALL)
        assert changed != text
        path.write_text(changed)
    try:
        yield
    finally:
        for path, (text, times) in before.items():
            path.write_text(text)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def test_killed_run_goes_on(project: Project, root: Path) -> None:
    """Finished models are not trained again, the notebook runs, and the weights are those of an undisturbed run."""
    assert {path.stem for path in project.trained} == {"tiny-seed0", "other-seed0", "other-seed1"}
    assert "running 01-tiny" in project.resumed
    built = project.root / "_build/smoke"
    assert len(json.loads((built / "records/01-tiny.json").read_text())["records"]) == 2
    assert "gen-c" in (built / "scorecard.csv").read_text()
    hardware.prepare(1)                                                    # as the command does: denormals matter
    undisturbed = load_file(zoo.ModelRun("tiny", "smoke").train(progress=False))
    found = load_file(built / "models/tiny-seed0.safetensors")
    assert all((found[name] == tensor).all() for name, tensor in undisturbed.items())


def test_nothing_changed_takes_seconds_and_does_nothing(project: Project) -> None:
    """And everything, Snakemake's notes included, is under _build."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)                  # of a process that imports what it needs
    assert "Nothing to be done" in project.start().communicate()[0]
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert used.ru_utime - before.ru_utime < 20                            # of the processor: others may work as well
    made = {path.name for path in project.root.iterdir()}
    assert made <= {"_build", "config", "notebooks", "pcgraph_lite", "reproduction", "Snakefile", ".snakemake"}


TRAINED, SHOWN, JUDGED = {"models_of_01_tiny_0_1": 1}, {"notebook": 1}, {"scorecard": 1}


@pytest.mark.parametrize(("changes", "plan"), [
    ({"pcgraph_lite/engine/topology.py": ("$", "# edited"), "pcgraph_lite/engine/graph.py": ('"""', '"""In short: '),
      "reproduction/evidence/claims.yaml": ("$", "# edited"), "reproduction/evidence/claims.py": ("$", "\n\n"),
      "config/profiles/smoke.yaml": ("for tests", "in other words"), "config/models.yaml": ("a few", "some"),
      "reproduction/cli.py": ("$", "\nEDITED = 1"),
      "reproduction/evidence/numerics.json": (r'"dam": \[\[', r'\g<0>1.0, ')}, {}),
    ({"pcgraph_lite/engine/learning.py": ("$", "\nEDITED = 1")}, SHOWN | JUDGED),
    ({"reproduction/evidence/records.py": ("$", "\nEDITED = 1")}, SHOWN | JUDGED),
    ({"reproduction/evidence/claims.yaml": ("at_most: 1e-10", "at_most: 1e-9")}, JUDGED),
    ({"reproduction/evidence/claims.yaml": ("notebook: 02-pc-graphs", "notebook: 01-tiny")}, SHOWN | JUDGED),
    ({"config/models.yaml": ("(other:.*?epochs: )1", r"\g<1>2")}, TRAINED | SHOWN | JUDGED),
    ({"reproduction/evidence/numerics.json": (r'"pcgraph": \[\[', r'\g<0>1.0, ')},
     {"models_of_01_tiny_0": 1} | TRAINED | SHOWN | JUDGED),
    ({"config/profiles/smoke.yaml": ("images: 20", "images: 21")}, SHOWN | JUDGED),
], ids=["words, code and numbers of others", "engine", "records", "another page's rule", "a rule of this page",
        "one model", "numbers", "parameter"])
def test_edits_rerun_what_depends(project: Project, changes: dict[str, tuple[str, str]], plan: dict[str, int]) -> None:
    """What decides a result is read as Python and YAML read it; weights depend on settings, not on files."""
    with edited(project, changes):
        assert project.planned() == plan


def test_only_what_is_missing_is_trained(project: Project) -> None:
    """Seeds of a page train in one process, and weights that are there are left alone; on a cluster one by one."""
    log = (project.root / "_build/smoke/logs/models-of-01-tiny-0-1.log").read_text()
    assert "training other: profile smoke, seed 0" in log and "training other: profile smoke, seed 1" in log
    assert project.missing == {"models_of_01_tiny_0": 1} | SHOWN | JUDGED
    assert project.missing_apart == {"model": 1} | SHOWN | JUDGED
    assert {path.stem for path, when in project.trained.items() if path.stat().st_mtime_ns != when} == {"other-seed0"}
    assert project.planned() == {}


def test_progress_says_what_runs_and_why_it_failed(project: Project) -> None:
    """With the options of the Makefile. The next run tries it again, whether or not anything was mended."""
    with edited(project, {"notebooks/01-tiny.md": ("if fail:", "if True:")}):
        output = project.snakemake(*QUIET, code=1)
        assert "running 01-tiny" in output and "asked to fail" in output
        assert project.planned() == SHOWN | JUDGED
    assert project.planned() == SHOWN | JUDGED


def test_misspelt_settings_stop_the_workflow_before_any_job(project: Project) -> None:
    """The message names the file; no job was started."""
    with edited(project, {"config/profiles/smoke.yaml": ("images:", "imagse:")}):
        output = project.snakemake(code=1)
    assert "config/profiles/smoke.yaml" in output and "Did you mean 'images'" in output
    assert "rule " not in output and "Traceback" not in output
