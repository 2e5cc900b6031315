"""What is taken away from a page. Oracles: the committed records; the commands that a fresh machine would run."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import nbformat
import pandas as pd
import pytest

from reproduction.book import download, notebooks
from reproduction.book.judged import Judged
from reproduction.checkout import ROOT
from reproduction.evidence import records

RECORDS = ROOT / "results/records"


@pytest.fixture(scope="module")
def csv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("csv")
    download.write(Judged.judge(records.read(RECORDS)), RECORDS, folder)
    return folder


@pytest.mark.parametrize("path", sorted(RECORDS.glob("*.json")), ids=lambda path: path.stem)
def test_the_csv_of_a_page_holds_its_records_to_the_last_digit(csv: Path, path: Path) -> None:
    given = json.loads(path.read_text())["records"]
    table = pd.read_csv(csv / f"{path.stem}.csv") if given else pd.DataFrame()
    assert len(table) == len(given)
    for row, record in zip(table.to_dict("records"), given, strict=True):
        assert (row["claim"], row["quantity"], row["value"]) == (record["claim"], record["quantity"], record["value"])
        assert row["name"] and all(
            str(row[f"parameters.{key}"]) == str(value) or float(row[f"parameters.{key}"]) == float(value)
            for key, value in record["parameters"].items() if value is not None)


def test_a_page_without_records_offers_its_notebook_alone() -> None:
    judged = Judged.judge(records.read(RECORDS))
    assert [text for text, _ in download.of("01-introduction", judged)] == ["notebook"]
    assert dict(download.of("02-pc-graphs", judged))["record"] == "../../records/02-pc-graphs.json"


def cell(folder: Path, more: str) -> str:
    (folder / "CITATION.cff").write_text((ROOT / "CITATION.cff").read_text() + more)
    found = download.first_cell(folder)
    assert found.metadata.tags == ["remove-cell"]
    return found.source


ADDRESS = "\nrepository-code: https://example.org/graphs.git\n"


@pytest.mark.parametrize("more", ["", ADDRESS])
def test_the_first_cell_does_nothing_where_the_package_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                          more: str) -> None:
    monkeypatch.setattr(subprocess, "run", lambda *arguments, **options: pytest.fail("something was run"))
    exec(cell(tmp_path, more), {})


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that were run, where the package is not."""
    ran: list[list[str]] = []
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr(subprocess, "run", lambda command, check: ran.append(command))
    monkeypatch.setattr("sys.path", ["here"])
    return ran


def test_the_first_cell_clones_and_installs_where_it_is_not(tmp_path: Path, ran: list[list[str]]) -> None:
    exec(cell(tmp_path, ADDRESS), {})
    clone, install = ran
    assert clone == ["git", "clone", "--depth=1", "https://example.org/graphs.git", "pcgraph-lite"]
    assert install[1:4] == ["-m", "pip", "install"] and install[-1] == "./pcgraph-lite[book]"
    assert "book" in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


def test_without_an_address_the_first_cell_installs_the_folder_beside_it(tmp_path: Path, ran: list[list[str]],
                                                                        monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="beside this notebook"):
        exec(cell(tmp_path, ""), {})
    (tmp_path / "pcgraph-lite/pcgraph_lite").mkdir(parents=True)
    exec(cell(tmp_path, ""), {})
    assert [command[-1] for command in ran] == [f"{tmp_path / 'pcgraph-lite'}[book]"]


@pytest.mark.parametrize(("address", "named"), [("", ""), ("https://example.org/a/b", ""),
                                                ("https://github.com/a/b.git", "https://mybinder.org/v2/gh/a/b/HEAD")])
def test_a_page_runs_on_binder_where_a_repository_on_github_is_named(tmp_path: Path, address: str, named: str) -> None:
    (tmp_path / "CITATION.cff").write_text((ROOT / "CITATION.cff").read_text() + f"\nrepository-code: {address}\n")
    assert download.binder("02-pc-graphs", tmp_path).partition("?")[0] == named


def test_binder_installs_the_lock_and_then_the_package() -> None:
    folder, asked = ROOT / "binder", tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    included = (folder / "requirements.txt").read_text().split()
    assert included[0] == "-r" and (folder / included[1]).resolve() == ROOT / "requirements.txt"
    assert (folder / "runtime.txt").read_text().strip().removeprefix("python-") in asked
    assert "pip install --no-deps --no-build-isolation -e ." in (folder / "postBuild").read_text()
    assert os.access(folder / "postBuild", os.X_OK)


def test_binder_opens_a_page_with_the_parameters_of_its_first_cell(tmp_path: Path) -> None:
    """The published ones have those of the paper's sizes injected, which ask for data that Binder lacks."""
    shutil.copytree(ROOT / "notebooks", tmp_path / "notebooks")
    (tmp_path / "CITATION.cff").write_text("repository-code: https://github.com/a/b\n")
    made = (ROOT / "binder/postBuild").read_text().replace("pip install", "true")
    subprocess.run(["bash", "-c", made], cwd=tmp_path, check=True,
                   env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"})
    opened = tmp_path / download.binder("02-pc-graphs", tmp_path).partition("labpath=")[2]
    code = [cell.source for cell in nbformat.read(opened, as_version=4).cells if cell.cell_type == "code"]
    assert code == [cell.source for cell in notebooks.cells("02-pc-graphs")]
