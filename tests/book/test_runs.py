"""The ledger and the line under a title say who ran what, in text that Markdown cannot twist. Oracle: made here."""

import csv
import json
from io import StringIO
from pathlib import Path

from reproduction.book import runs
from reproduction.book.handover import DASH


def saved(folder: Path, **provenance: object) -> Path:
    """A records file, as the Recorder writes it."""
    origin = {"commit": "0123456789abcdef", "dirty": False, "device": "a CPU [x86]", "seconds": 41.26,
              "date": "2030-01-02T03:04:05+00:00", "python": "3.11.7", "torch": "2.14.1", "memory": "1.2 GiB",
              "numerics": "0123"} | provenance
    (path := folder / "02-pc-graphs.json").write_text(json.dumps({"profile": "laptop", "provenance": origin}))
    return path


def rows(texts: dict[str, str]) -> list[dict[str, str]]:
    return list(csv.DictReader(StringIO(texts["ledger.csv"])))


def test_the_ledger_says_who_ran_what_for_how_long(tmp_path: Path) -> None:
    first, second = rows(runs.ledger({"02-pc-graphs": runs.of(saved(tmp_path)), "mine": runs.of(tmp_path / "no")}))
    assert first == {"page": "{doc}`notebooks/02-pc-graphs`", "profile": "laptop", "seconds": "41",
                     "device": r"a CPU \[x86\]", "versions": "python 3.11.7, torch 2.14.1", "commit": "`012345678`",
                     "date": "2030-01-02 03:04", "memory": "1.2 GiB", "numerics": "`0123`"}
    assert set(second.values()) == {"{doc}`notebooks/mine`", DASH}         # a page that keeps no records
    assert runs.of(saved(tmp_path, dirty=True))["commit"] == "`012345678` with changes"


def test_markdown_in_cells_is_shown_not_obeyed() -> None:
    assert runs.escaped("*a* [b](c) <d> `e` $f$ {g}") == r"\*a\* \[b\](c) \<d\> \`e\` \$f\$ \{g\}"


def test_what_all_runs_share_is_a_sentence_of_the_ledger(tmp_path: Path) -> None:
    texts = runs.ledger({name: runs.of(saved(tmp_path, seconds=seconds)) for name, seconds in (("a", 3), ("b", 4))})
    assert texts["ledger.md"] == (
        "All pages share this: profile laptop; device a CPU \\[x86\\]; versions python 3.11.7, torch 2.14.1; "
        "numerics `0123`.\n")
    assert [list(row) for row in rows(texts)] == [["page", "seconds", "memory", "date", "commit"]] * 2
