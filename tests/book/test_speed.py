"""The page on speed shows the committed benchmark in readers' words. Oracle: small tables made here."""

import json
import re
from pathlib import Path

import pandas as pd

from reproduction.book import speed


def made(results: Path, device: str, provenance: dict[str, object] | None = None, **tables: str) -> Path:
    """A benchmark of a device, with its provenance if it is given. Returns ``results``."""
    (folder := results / device).mkdir(parents=True)
    if provenance:
        (folder / "bench.json").write_text(json.dumps({"provenance": provenance}))
    for name, text in tables.items():
        (folder / f"{name}.csv").write_text(text)
    return results


def included(results: Path, folder: Path) -> dict[str, str]:
    folder.mkdir()
    return speed.includes(results, folder)


def test_a_benchmark_is_shown_for_each_device_that_has_one_and_without_any_how_to_make_one(tmp_path: Path) -> None:
    assert "pcgraph bench" in included(tmp_path / "nothing", tmp_path / "before")["speed.md"]
    origin = {"device": "cuda: a [GPU]", "commit": "0123456789abcdef", "dirty": True, "date": "2030-01-02T03:04:05"}
    results = made(tmp_path / "results", "cuda", origin, targets="work,met\nlayered,yes\n")
    text = included(results, tmp_path / "generated")["speed.md"]
    assert "## On a GPU" in text and "On a CPU" not in text and "Other projects" not in text
    assert "generated/bench/cuda/targets.csv" in text and "times.csv" not in text and "svg" not in text
    assert r"a \[GPU\]" in text and "`012345678` with changes" in text
    assert (tmp_path / "generated/bench/cuda/targets.csv").is_file()


def test_the_tables_of_speed_have_readers_words(tmp_path: Path) -> None:
    """By hand: long numbers in groups, data and projects by their names; a note among the targets is no row."""
    results = made(
        tmp_path / "results", "cpu", targets="work,quantity,target,measured,met\n"
        "quality-mnist,s,at most 2,1.659e+04,no\nc,\u2014,\u2014,\u2014,a note\n",
        works="work,what,ms\nquality-fashion,N = 2000 on the fashion test images,5595\n",
        times='edges,ms,commit,note\n3998000,1.02e+03 to 988,12345678,"1.0000010; 2014, 1,055"\n')
    (results / "peers.csv").write_text("by,commit\nfabricpc,a\npcx,b\n")
    (results / "peers.json").write_text(json.dumps({"device": "cpu", "date": "", "commit": "a"}))
    included(results, tmp_path / "out")
    found = {path.stem: pd.read_csv(path, dtype=str).to_dict("records")
             for path in (tmp_path / "out/bench").rglob("*.csv")}
    assert found == {
        "targets": [{"work": "quality on digits", "quantity": "s", "target": "at most 2", "measured": "16,590",
                     "met": "no"}],
        "works": [{"work": "quality on clothing", "what": "N = 2000 on the clothing test images", "ms": "5,595"}],
        "times": [{"edges": "3,998,000", "ms": "1,020 to 988", "note": "1.0000010; 2014, 1,055"}],   # commit: above
        "peers": [{"by": "FabricPC", "commit": "a"}, {"by": "PCX", "commit": "b"}]}


def test_the_speed_page_opens_with_what_was_found(tmp_path: Path) -> None:
    """Ratios to the products, and the one target of three that is not met; a row without a measurement is no target."""
    results = made(tmp_path / "results", "cpu", targets="work,quantity,target,measured,met\n"
                   "a,ours / products,at most 2,1.1,yes\nb,ours / products,at most 2,1.3,yes\n"
                   "b,other,at most 1,1.23,no\nc,\u2014,\u2014,\u2014,no\n")
    assert included(results, tmp_path / "generated")["speed-lead.md"] == (
        "**On a CPU, training one batch takes 1.1 (a) to 1.3 (b) times as long as its bare matrix products.** "
        "The engine meets 2 of 3 targets. The others:\n\n- B: other is 1.23, and the target is at most 1.\n")


def test_a_slope_is_explained_where_a_table_has_one(tmp_path: Path) -> None:
    origin = {"device": "cpu", "date": "2026-01-02T03:04", "commit": "abc"}
    results = made(tmp_path / "results", "cpu", origin, targets="work,quantity\nmemory,peak\n",
                   numbers="work,quantity,value\nedges,slope of time,1.02\n")
    page = included(results, tmp_path / "out")["speed.md"]
    numbers, targets = (re.search(rf"dropdown}} (.*)\n+(.*?)\n*```{{csv-table}}\n:file: .*/{name}.csv", page).groups()
                        for name in ("numbers", "targets"))
    assert numbers == ("Ratios, memory and distances", "A slope is the power of the number of edges with which time or "
                       "memory grows.")
    assert targets == ("Targets, and whether they are met", "")
