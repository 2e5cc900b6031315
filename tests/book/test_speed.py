"""The page on speed shows the committed benchmark in readers' words. Oracle: small tables made here."""

import csv
import json
import re
from pathlib import Path

from reproduction.book import speed


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def included(results: Path, folder: Path) -> dict[str, str]:
    folder.mkdir()
    return speed.includes(results, folder, {"mnist": "digits", "fashion": "clothing"})


def test_a_benchmark_is_shown_for_each_device_that_has_one_and_without_any_how_to_make_one(tmp_path: Path) -> None:
    assert "pcgraph bench" in included(tmp_path / "nothing", tmp_path / "before")["speed.md"]
    folder = tmp_path / "results/bench/cuda"
    folder.mkdir(parents=True)
    origin = {"device": "cuda: a [GPU]", "commit": "0123456789abcdef", "dirty": True, "date": "2030-01-02T03:04:05"}
    (folder / "bench.json").write_text(json.dumps({"provenance": origin}))
    (folder / "targets.csv").write_text("work,met\nlayered,yes\n")
    texts = included(tmp_path / "results/bench", tmp_path / "generated")
    text = texts["speed.md"]
    assert "## On a GPU" in text and "On a CPU" not in text and "Other projects" not in text
    assert "generated/bench/cuda/targets.csv" in text and "times.csv" not in text and "svg" not in text
    assert r"a \[GPU\]" in text and "`012345678` with changes" in text
    assert (tmp_path / "generated/bench/cuda/targets.csv").is_file()


def test_the_tables_of_speed_have_readers_words(tmp_path: Path) -> None:
    """By hand: long numbers in groups, data and projects by their names; a note among the targets is no row."""
    made = tmp_path / "results/cpu"
    made.mkdir(parents=True)
    (made / "targets.csv").write_text("work,quantity,target,measured,met\n"
                                      "quality-mnist,s,at most 2,1.659e+04,no\nc,\u2014,\u2014,\u2014,a note\n")
    (made / "works.csv").write_text("work,what,ms\nquality-fashion,N = 2000 on the fashion test images,5595\n")
    (made / "times.csv").write_text('edges,ms,commit,note\n3998000,1.02e+03 to 988,12345678,"1.0000010; 2014, 1,055"\n')
    (tmp_path / "results/peers.csv").write_text("by,commit\nfabricpc,a\npcx,b\n")
    (tmp_path / "results/peers.json").write_text(json.dumps({"device": "cpu", "date": "", "commit": "a"}))
    included(tmp_path / "results", tmp_path / "out")
    found = {path.stem: rows(path) for path in (tmp_path / "out/bench").rglob("*.csv")}
    assert found == {
        "targets": [{"work": "quality on digits", "quantity": "s", "target": "at most 2", "measured": "16,590",
                     "met": "no"}],
        "works": [{"work": "quality on clothing", "what": "N = 2000 on the clothing test images", "ms": "5,595"}],
        "times": [{"edges": "3,998,000", "ms": "1,020 to 988", "note": "1.0000010; 2014, 1,055"}],   # commit: above
        "peers": [{"by": "FabricPC", "commit": "a"}, {"by": "PCX", "commit": "b"}]}


def test_the_speed_page_opens_with_what_was_found(tmp_path: Path) -> None:
    """Ratios to the products, and the one target of three that is not met; a row without a measurement is no target."""
    folder = tmp_path / "results/bench/cpu"
    folder.mkdir(parents=True)
    (folder / "targets.csv").write_text("work,quantity,target,measured,met\na,ours / products,at most 2,1.1,yes\n"
                                        "b,ours / products,at most 2,1.3,yes\nb,other,at most 1,1.23,no\n"
                                        "c,\u2014,\u2014,\u2014,no\n")
    texts = included(tmp_path / "results/bench", tmp_path / "generated")
    assert texts["speed-lead.md"] == (
        "**On a CPU, training one batch takes 1.1 (a) and 1.3 (b) times as long as its bare matrix products.** "
        "The engine meets 2 of 3 targets. The others:\n\n- b, other: 1.23 (at most 1 asked)\n")


def test_a_slope_is_explained_where_a_table_has_one(tmp_path: Path) -> None:
    place = tmp_path / "results/cpu"
    place.mkdir(parents=True)
    (place / "bench.json").write_text(json.dumps({"provenance": {
        "device": "cpu", "date": "2026-01-02T03:04", "commit": "abc"}}))
    (place / "numbers.csv").write_text("work,quantity,value\nedges,slope of time,1.02\n")
    (place / "targets.csv").write_text("work,quantity\nmemory,peak\n")
    texts = included(tmp_path / "results", tmp_path / "out")
    page = texts["speed.md"]
    numbers, targets = (re.search(rf"dropdown}} (.*)\n+(.*?)\n*```{{csv-table}}\n:file: .*/{name}.csv", page).groups()
                        for name in ("numbers", "targets"))
    assert numbers == ("Ratios, memory and distances", speed.SLOPE.strip())
    assert targets == ("Targets, and whether they are met", "")
