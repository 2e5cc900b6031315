"""The page "How far to trust this" says what was counted. Oracle: the tables made anew from the same files."""

import json
import sys

import pytest
import trust

from reproduction.checkout import ROOT


@pytest.mark.parametrize("name", ["book/trust.csv", "book/survivors.csv", "book/licences.csv"])
def test_the_tables_of_the_page_are_those_of_the_records(name: str) -> None:
    if name == "book/licences.csv" and (sys.platform, sys.version_info[:2]) != ("linux", (3, 11)):
        pytest.skip("other packages are locked for this system")
    assert (ROOT / name).read_text(encoding="utf-8") == trust.files()[name], "run: python scripts/trust.py"


def test_the_counts_of_mutants_are_those_of_what_was_tried() -> None:
    """Every survivor was tried, and nothing is counted twice."""
    for file, row in json.loads((ROOT / "results/mutants.json").read_text()).items():
        assert row["killed"] + len(row["survivors"]) == len(row["tried"]) <= row["chosen"] <= row["places"], file
        assert set(row["survivors"]) <= set(row["tried"]) and len(set(row["tried"])) == len(row["tried"]), file


def test_every_reason_is_of_a_change_that_survived() -> None:
    """Where all changes that were chosen have been tried."""
    kept = json.loads((ROOT / "results/mutants.json").read_text())
    for file, reasons in trust.read_yaml(trust.EQUIVALENT).items():
        lines = {trust.added(change) for change in kept[file]["survivors"]}
        done = len(kept[file]["tried"]) == kept[file]["chosen"]
        assert all(why and (line in lines or not done) for line, why in reasons.items()), file
