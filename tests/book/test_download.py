"""What is taken away from a page. Oracles: the committed records; the commands that a fresh machine would run."""

import json
import subprocess
import tomllib
from pathlib import Path

import pandas as pd
import pytest

from reproduction.book import render
from reproduction.book.layout import Judged
from reproduction.checkout import ROOT
from reproduction.evidence import records

RECORDS = ROOT / "results/records"


@pytest.fixture(scope="module")
def csv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("csv")
    Judged.judge(records.read(RECORDS)).write(RECORDS, folder)
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


def test_the_first_cell_installs_what_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[list[str]] = []
    monkeypatch.setattr(subprocess, "run", lambda command, check: ran.append(command))
    exec(render.template("install.py.txt"), {})
    assert not ran
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr("sys.path", ["here"])
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="beside this notebook"):
        exec(render.template("install.py.txt"), {})
    (tmp_path / "pcgraph-lite/pcgraph_lite").mkdir(parents=True)
    exec(render.template("install.py.txt"), {})
    (install,) = ran
    assert install[1:4] == ["-m", "pip", "install"] and install[-1] == f"{tmp_path / 'pcgraph-lite'}[book]"
    assert "book" in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
