"""The ledger and the line under a title say who ran what, in text that Markdown cannot twist, and the page "Audit" has
every package with its licence. Oracles: made here; what the packages that are installed say themselves."""

import csv
import json
from importlib import metadata
from io import StringIO
from pathlib import Path

from reproduction.book import runs
from reproduction.book.handover import DASH

GIVEN, SHOWN = "*a* CPU [x86] <d> `e` $f$ {g}", r"\*a\* CPU \[x86\] \<d\> \`e\` \$f\$ \{g\}"


def saved(folder: Path, **provenance: object) -> Path:
    """A records file, as the Recorder writes it."""
    origin = {"commit": "0123456789abcdef", "dirty": False, "device": GIVEN, "seconds": 41.26,
              "date": "2030-01-02T03:04:05+00:00", "python": "3.11.7", "torch": "2.14.1", "memory": "1.2 GiB",
              "numerics": "0123"} | provenance
    (path := folder / "02-pc-graphs.json").write_text(json.dumps({"profile": "laptop", "provenance": origin}))
    return path


def rows(texts: dict[str, str]) -> list[dict[str, str]]:
    return list(csv.DictReader(StringIO(texts["ledger.csv"])))


def test_the_ledger_says_who_ran_what_for_how_long(tmp_path: Path) -> None:
    first, second = rows(runs.ledger({"02-pc-graphs": runs.of(saved(tmp_path)), "mine": runs.of(tmp_path / "no")}))
    assert first == {"page": "{doc}`notebooks/02-pc-graphs`", "profile": "laptop", "seconds": "41",
                     "device": SHOWN, "versions": "python 3.11.7, torch 2.14.1", "commit": "`012345678`",
                     "date": "2030-01-02 03:04", "memory": "1.2 GiB", "numerics": "`0123`"}
    assert set(second.values()) == {"{doc}`notebooks/mine`", DASH}         # a page that keeps no records
    assert runs.of(saved(tmp_path, dirty=True))["commit"] == "`012345678` with changes"


def test_what_all_runs_share_is_a_sentence_of_the_ledger(tmp_path: Path) -> None:
    texts = runs.ledger({name: runs.of(saved(tmp_path, seconds=seconds)) for name, seconds in (("a", 3), ("b", 4))})
    assert texts["ledger.md"] == (f"All pages share this: profile laptop; device {SHOWN}; versions python 3.11.7, "
                                  "torch 2.14.1; numerics `0123`.\n")
    assert [list(row) for row in rows(texts)] == [["page", "seconds", "memory", "date", "commit"]] * 2


def test_every_package_of_this_machine_has_its_version_and_its_licence() -> None:
    table = runs.licences().set_index("package")
    assert table.loc["torch", "version"] == metadata.version("torch").partition("+")[0]
    assert table.loc["pydantic", "licence"] == "MIT" and len(table) > 100 and not (table == "").any(axis=None)
