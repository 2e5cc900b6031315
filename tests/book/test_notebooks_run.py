"""Notebooks run with checked parameters, and leave nothing half done. Oracles: plain papermill for the same result; the
records that a run leaves."""

import json
import os
import re
import subprocess
from errno import ENOSPC
from pathlib import Path
from unittest import mock

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook
from project import HERE, Project, edit

from pcgraph_lite.errors import BadFile, BadInput, PCGraphError
from reproduction.book import notebooks
from reproduction.evidence import cards, config, zoo

NAME = "01-tiny"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The small project on its own, for real runs, after the usual run of its notebook, which printed ``said``."""
    project = Project(tmp_path_factory.mktemp("project"))
    project.said = project.pcgraph("run", NAME, "--profile", "smoke")
    return project


def values(path: Path) -> list[float]:
    """The recorded numbers of a run."""
    return [row["value"] for row in json.loads(path.read_text())["records"]]


def test_parameters_are_read_and_given_values_come_before_the_profile_and_the_notebook(root: Path) -> None:
    """Names, types and defaults of the first cell, models of the front matter; text is read as the declared type."""
    known = notebooks.parameters(NAME)
    assert (known["images"].type, known["images"].default, known["images"].help) == ("int", 50, "test images")
    assert known["sizes"].default == [1, 2]
    assert notebooks.models(NAME) == {"tiny": "seeds", "other": "seeds"}
    assert notebooks.seeds(NAME, config.load_profile("smoke"), "images") == list(range(20))
    assert notebooks.seeds(NAME, config.load_profile("smoke")) == [0]
    smoke, laptop = config.load_profile("smoke"), config.load_profile("laptop")
    assert notebooks.resolve(NAME, laptop, {})["images"] == 50
    assert notebooks.resolve(NAME, smoke, {})["images"] == 20
    given = notebooks.resolve(NAME, smoke, {"images": "7", "variance": "1", "fail": "true", "device": "cpu",
                                            "sizes": "[3]"})
    assert (given["images"], given["variance"], given["fail"], given["sizes"]) == (7, 1.0, True, [3])
    assert given["profile"] == "smoke"


PAGE, PROFILE, MODELS = "notebooks/01-tiny.md", "config/profiles/smoke.yaml", "models: [tiny, other]"
NO_IMAGSE = r"01-tiny\.md: no parameter 'imagse'.*Did you mean 'images'"


@pytest.mark.parametrize(("file", "old", "new", "words"), [
    *((PROFILE, "images: 20", line, rf"config/profiles/smoke\.yaml: notebooks\.01-tiny.*{words}") for line, words in (
        ("imagse: 20", "'imagse'.*Did you mean 'images'"), ("images: twenty", "'images' = 'twenty'.*expected int.*50"),
        ("images: true", "'images' = True.*expected int"),
        ("variance: 'high'", "'variance' = 'high'.*expected float"))),
    *((PAGE, MODELS, f"{MODELS}\nlimits: {{{limits}}}", words) for limits, words in (
        ("imagse: [1, 2]", NO_IMAGSE), ("seeds: [1, imagse]", NO_IMAGSE),
        ("seeds: 3", r"01-tiny\.md: limits\.seeds: .*got 3"))),
    (PAGE, ":tags: [parameters]", ":tags: [other]", "no code cell with the tag 'parameters'"),
    *((PAGE, "images: int = 50", line, r"01-tiny\.md: expected 'name: type = value'.*got 'images")
      for line in ("images = 50", "images: complex = 50")),
    (PAGE, MODELS, "models: [tinny]", "no model 'tinny'.*Did you mean 'tiny'"),
    (PAGE, MODELS, "models: [tiny", "notebooks/01-tiny.md is not valid YAML")])
def test_what_cannot_be_run_is_refused_before_anything_runs(root: Path, file: str, old: str, new: str,
                                                            words: str) -> None:
    """With the file, the name and what was expected."""
    edit(root / file, old, new)
    with pytest.raises((BadFile, BadInput), match=words):
        notebooks.run(NAME, "smoke")
    assert not (root / "_build").exists()


@pytest.mark.parametrize(("limits", "within", "value", "words"), [
    ("images: [10, null]", 10, 9, r"notebook 01-tiny: parameter 'images' = 9; expected at least 10\."),
    ("variance: [0.25, 1]", 1.0, 1.5, r"'variance' = 1\.5; expected at least 0\.25 and at most 1\."),
    ("seeds: [null, images]", 20, 21, r"'seeds' = 21; expected at most 20 \(images\)\.")])
def test_limits_are_checked_before_anything_runs(root: Path, limits: str, within: float, value: float,
                                                 words: str) -> None:
    """Also against other parameters, as the profile has them; at a limit is within it."""
    edit(root / PAGE, MODELS, f"{MODELS}\nlimits: {{{limits}}}")
    key, smoke = limits.partition(":")[0], config.load_profile("smoke")
    with pytest.raises(BadInput, match=words):
        notebooks.run(NAME, "smoke", {key: value})
    assert not (root / "_build").exists() and notebooks.resolve(NAME, smoke, {key: within})[key] == within


@pytest.mark.parametrize(("page", "given"), [
    ("03b-classification", {"longest": 9}), ("05-labels", {"fraction": 1.5}), ("e-rbm", {"repeats": 1.5}),
    ("e-rbm", {"images": 1}), ("k-what-if", {"images": 9}), ("k-what-if", {"sampled": 31, "images": 30}),
    ("k-what-if", {"sampled": 1})])
def test_pages_say_what_would_fail_after_their_trainings(page: str, given: dict) -> None:
    """A window of ten steps, shares, and tables that compare at least two images out of those there are."""
    with pytest.raises(BadInput, match=f"notebook {page}: parameter '{next(iter(given))}' = .*expected at "):
        notebooks.resolve(page, config.load_profile("laptop"), given)


@pytest.mark.parametrize("pairs", ['["7"]', '["7/12"]', '["7/9", "a/b"]', '["7/9/3"]'])
def test_pairs_of_digits_are_pairs_of_digits(root: Path, pairs: str) -> None:
    edit(root / "notebooks/01-tiny.md", "sizes: list[int] = [1, 2]", 'pairs: list[str] = ["7/9", "3/5"]')
    settings = config.load_profile("smoke")
    assert notebooks.resolve(NAME, settings, {"pairs": '["4/9"]'})["pairs"] == ["4/9"]
    with pytest.raises(BadInput, match=r"'pairs' = .*; expected list\[str\], for example \['7/9', '3/5'\]"):
        notebooks.resolve(NAME, settings, {"pairs": pairs})


def test_run_writes_notebook_and_records(project: Project) -> None:
    """Under _build/PROFILE; the executed notebook holds no path of this machine. The console says what it trains."""
    assert "tiny (seed 0) has no weights in profile smoke yet: training it." in project.said
    assert all(f"_build/smoke/{made}" in project.said for made in ("notebooks/01-tiny.ipynb", "records/01-tiny.json"))
    built = project.root / "_build/smoke"
    executed = nbformat.read(built / "notebooks/01-tiny.ipynb", as_version=4)
    assert executed.metadata.papermill["parameters"]["images"] == 20
    assert executed.metadata.papermill["input_path"] == "notebooks/01-tiny.md"
    assert str(project.root) not in (built / "notebooks/01-tiny.ipynb").read_text()
    assert len(values(built / "records/01-tiny.json")) == 2
    saved = json.loads((built / "records/01-tiny.json").read_text())
    assert saved["parameters"] == executed.metadata.papermill["parameters"]
    header = zoo.read_header(built / "models/tiny-seed0.safetensors")
    assert saved["models"] == {"tiny, seed 0": {"fingerprint": f"{header['identity']} {header['numerics']}",
                                                "weights": header["weights_sha256"]}}
    assert not list(built.rglob("*.part*"))


@pytest.mark.parametrize("values", [("x" * 300, "x" * 299), ("x y", "xy"), ("x/y", "xy")])
def test_parameters_of_any_text_are_told_apart(root: Path, values: tuple[str, str]) -> None:
    """A folder's name is cut, but never the same for other values."""
    folders = {notebooks._named_after(NAME, "smoke", {"a": value}) for value in values}
    assert len(folders) == 2 and all(len(folder.name) < 140 for folder in folders)


@pytest.mark.parametrize(("given", "out"), [({"images": 7}, "_build/smoke"), ({"images": 7}, "results"),
                                            ({}, "results/"), ({}, "_build/laptop"), ({}, "book/notebooks"),
                                            ({}, "results/records"), ({"images": 7}, "_build/smoke/notebooks")])
def test_what_other_runs_recorded_is_not_written_over(root: Path, given: dict[str, int], out: str) -> None:
    with pytest.raises(BadInput, match=f"--out {out.strip('/')} is where other runs keep their records"):
        notebooks.run(NAME, "smoke", given, root / out)
    assert notebooks._folder(NAME, "smoke", {}, root / "_build/smoke") == root / "_build/smoke"


def test_a_full_disk_is_no_failed_cell(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What ran could not be kept either."""
    monkeypatch.setattr("papermill.execute_notebook", mock.Mock(side_effect=OSError(ENOSPC, os.strerror(ENOSPC))))
    with pytest.raises(PCGraphError, match=r"No space left on device.*Free space"):
        notebooks.run(NAME, "smoke")
    assert not list(root.rglob("*.ipynb"))


def test_plain_papermill_gives_the_same_numbers(project: Project) -> None:
    """With other parameters, which get a folder of their own, and the pipe that a page shows, pasted from it."""
    given = ("run", NAME, "--profile", "smoke", "-p", "variance", "0.3")
    said, place = project.pcgraph(*given, "-p", "device", "cpu"), "_build/runs/01-tiny/smoke_device-cpu_variance-0.3"
    own = project.root / place
    assert (own / "01-tiny.ipynb").is_file() and f"{place}/records/01-tiny.json" in said
    page = (HERE.parent / "notebooks/02-pc-graphs.md").read_text()
    pipe = re.search(r"^jupytext .*$", page, re.MULTILINE).group().replace("02-pc-graphs", NAME)
    pipe = f"set -o pipefail; {pipe} -p seed 0 -p profile smoke -p images 20 -p variance 0.3"
    subprocess.run(pipe, shell=True, executable="/bin/bash", cwd=project.root, env=project.environment, check=True,
                   capture_output=True)
    assert (project.root / "out.ipynb").is_file()
    runs = [values(folder / "records/01-tiny.json") for folder in (own, project.root / "my-run")]
    assert len(runs[0]) == 2 and runs[0] == runs[1]


def test_failing_cell_is_shown_and_what_ran_is_kept(project: Project) -> None:
    """The old notebook stays; the new one is kept under another name, and the message holds the cell's error."""
    before = (project.root / "_build/smoke/notebooks/01-tiny.ipynb").read_bytes()
    said = project.pcgraph("run", NAME, "--profile", "smoke", "-p", "fail", "true", "--out", "own-run", code=2)
    assert "failed in code cell" in said and "RuntimeError: asked to fail" in said
    kept = project.root / "own-run/01-tiny.failed.ipynb"
    assert "own-run/01-tiny.failed.ipynb" in said and kept.is_file()
    assert (project.root / "_build/smoke/notebooks/01-tiny.ipynb").read_bytes() == before


@pytest.mark.slow
def test_a_run_draws_pictures_whatever_the_shell_draws_with(monkeypatch: pytest.MonkeyPatch) -> None:
    """MPLBACKEND=agg, as servers have it, leaves none in a notebook."""
    monkeypatch.setenv("MPLBACKEND", "agg")
    cell = new_code_cell("import matplotlib.pyplot as plt\nplt.plot([0, 1])")
    NotebookClient(new_notebook(cells=[cell]), kernel_manager_class=notebooks._own_kernel()).execute()
    assert any("image/png" in output.get("data", {}) for output in cell.outputs)


def test_a_page_needs_no_weights_of_what_has_a_committed_card(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cards stand for the models under ``cards``, seed by seed, and never for those whose weights the page asks."""
    path = root / "notebooks" / f"{NAME}.md"
    path.write_text(path.read_text().replace("models: [tiny, other]", "models: [tiny]\ncards: [tiny, other: variety]")
                    .replace("images: int = 50", "variety: int = 3  # seeds\nimages: int = 50"))
    smoke = config.load_profile("smoke")
    committed = {("tiny", 0), ("other", 1)}
    monkeypatch.setattr(cards, "is_committed", lambda one: (one.name, one.seed) in committed)
    assert notebooks.models(NAME) == {"tiny": "seeds", "other": "variety"}
    assert notebooks.models(NAME, ["models"]) == {"tiny": "seeds"}
    assert notebooks.weights(NAME, smoke) == [("tiny", 0), ("other", 0), ("other", 2)]
