"""The book's tables say what the records say, in text that Markdown cannot twist.

Oracles: the records and rules given in; the verdicts themselves are tested in test_claims.py.
"""

import csv
import json
import math
import re
from html import unescape
from pathlib import Path
from types import SimpleNamespace

import nbformat
import numpy as np
import pandas as pd
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output
from scipy import stats

from reproduction.book import tables
from reproduction.checkout import ROOT
from reproduction.evidence import findings
from reproduction.evidence.claims import load_claims

PIXEL = "iVBORw0KGgo="                        # decodes; nothing here looks at the picture


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def saved(folder: Path, **provenance: object) -> Path:
    """A records file of notebook 02-pc-graphs, as the Recorder writes it."""
    origin = {"commit": "0123456789abcdef", "dirty": False, "device": "a CPU [x86]", "seconds": 41.26,
              "date": "2030-01-02T03:04:05+00:00", "python": "3.11.7", "torch": "2.14.1"} | provenance
    row = {"claim": "eq3", "quantity": "max_relative_error", "value": 2e-15, "parameters": {"dtype": "float64"}}
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "02-pc-graphs.json"
    path.write_text(json.dumps({"notebook": "02-pc-graphs", "profile": "laptop", "provenance": origin,
                                "records": [row]}))
    return path


def test_intervals_over_images_are_scipys() -> None:
    numbers, hits = [0.5, 1.25, 2.0, 4.5], np.array([True] * 7 + [False] * 3)
    low, high = stats.t.interval(0.95, 3, np.mean(numbers), stats.sem(numbers))
    assert tables.interval(numbers) == f"2.1 ({low:.1f} to {high:.1f})"
    wilson = stats.binomtest(7, 10).proportion_ci(method="wilson")
    assert tables.interval(hits, share=True) == f"70.0 % ({100 * wilson.low:.1f} to {100 * wilson.high:.1f})"


def test_the_same_images_asked_of_two_graphs_are_no_more_images() -> None:
    """Four images, each by its mean over two seeds; taken as eight, the intervals would be narrower."""
    each = pd.DataFrame({"model": "graph", "seed": [0] * 4 + [1] * 4, "mse": [1.0, 2, 3, 4, 3, 2, 5, 8],
                         "agrees": [True, True, True, False] * 2})
    columns = {"mse": "MSE", "agrees": "judge agrees"}
    once = tables.over_images(each, ["model"], columns, "x", same_images=True).data.iloc[0]
    assert once["MSE"] == tables.interval([2.0, 2.0, 4.0, 6.0])
    assert once["judge agrees"] == tables.interval([True, True, True, False], share=True)
    apart = tables.over_images(each, ["model"], columns, "x").data.iloc[0]
    assert apart["MSE"] == tables.interval(each["mse"])
    assert apart["judge agrees"] == tables.interval(each["agrees"], share=True)


def test_a_page_shows_what_a_rival_and_another_reading_say(tmp_path: Path) -> None:
    """Of a claim whose own checks were not recorded, too: one graph is missing; another page has the other."""
    path = saved(tmp_path)
    assert list(tables.verdicts(path).data["claim"]) == ["eq3"] and tables.BESIDE not in tables.verdicts(path).data
    row = {"dataset": "mnist", "seed": 0, "quantity": "denoised_psnr"}
    ours = [row | {"claim": "any-ff", "model": "generative", "value": 15.0},
            row | {"claim": "any-ff", "model": "generative", "quantity": "linear_psnr", "value": 18.0}]
    theirs = [row | {"claim": "any-rec", "model": model, "value": value}
              for model, value in (("generative", 15.0), ("fully-connected", 14.0))]
    for page, kept in (("04a-topologies", ours), ("04c-comparison", theirs)):
        content = json.loads(path.read_text()) | {"notebook": page, "records": kept}
        (tmp_path / f"{page}.json").write_text(json.dumps(content))
    for whole, said in ((True, "preliminary: reproduced"), (False, "not run")):
        shown = tables.verdicts(tmp_path / "04a-topologies.json", whole).data.iloc[0]
        assert shown["verdict"] == "not run" and f"section 3: {said}; denoised" in shown["under another reading"]
    assert shown[tables.BESIDE] == "denoised psnr: worse than the best linear map (15 against 18)"


def test_the_ledger_says_who_ran_what_for_how_long(tmp_path: Path) -> None:
    saved(tmp_path)
    noted = new_notebook(metadata={"papermill": {"duration": 12.4, "parameters": {"profile": "smoke"}}})
    tables.write_ledger(tmp_path, tmp_path, {"02-pc-graphs": new_notebook(), "04a-topologies": noted})
    first, second = rows(tmp_path / "ledger.csv")
    assert first == {"page": "{doc}`notebooks/02-pc-graphs`", "profile": "laptop", "seconds": "41",
                     "device": r"a CPU \[x86\]", "versions": "python 3.11.7, torch 2.14.1", "commit": "`012345678`",
                     "date": "2030-01-02 03:04"}
    assert (second["profile"], second["seconds"], second["device"]) == ("smoke", "12", tables.DASH)


def test_a_changed_checkout_and_known_memory_are_said(tmp_path: Path) -> None:
    saved(tmp_path, dirty=True, memory="1.2 GiB")
    tables.write_ledger(tmp_path, tmp_path, {"02-pc-graphs": new_notebook()})
    assert rows(tmp_path / "ledger.csv")[0]["commit"] == "`012345678` with changes"
    assert rows(tmp_path / "ledger.csv")[0]["memory"] == "1.2 GiB"


def test_the_line_under_a_title_says_only_what_is_known() -> None:
    assert tables.made_by({}) == ""
    assert tables.made_by({"seconds": 3.2}).startswith("[Made in 3 s. ")
    run = {"profile": "paper", "device": "cuda", "seconds": 60.0, "commit": "`012345678`"}
    assert tables.made_by(run).startswith("[Made with the profile `paper` on cuda in 60 s at commit `012345678`. ")


def _figure(caption: str, *tags: str) -> object:
    return new_code_cell(outputs=[new_output("display_data", {"image/png": PIXEL})], metadata={
        "tags": list(tags), "mystnb": {"figure": {"caption": caption, "name": "f"}}})


def test_the_lead_picture_is_the_tagged_one_else_the_last(tmp_path: Path) -> None:
    plain = {"a": new_notebook(cells=[_figure("First.")]), "b": new_notebook(cells=[_figure("Second.")])}
    tables.write_lead(tmp_path, plain)
    assert "Second. From {doc}`notebooks/b`." in (tmp_path / "lead.md").read_text()
    tables.write_lead(tmp_path, plain | {"a": new_notebook(cells=[_figure("With $x$.", "landing")])})
    assert ":alt: With x.\n" in (tmp_path / "lead.md").read_text()
    tables.write_lead(tmp_path, {"a": new_notebook(cells=[new_code_cell("1")])})
    assert (tmp_path / "lead.md").read_text() == ""


def test_markdown_in_cells_is_shown_not_obeyed() -> None:
    assert tables.escaped("*a* [b](c) <d> `e` $f$ {g}") == r"\*a\* \[b\](c) \<d\> \`e\` \$f\$ \{g\}"
    assert tables.escaped("") == tables.DASH


def test_without_a_committed_benchmark_the_page_says_how_to_make_one(tmp_path: Path) -> None:
    tables.write_speed(tmp_path / "generated", tmp_path / "results/bench")
    assert "pcgraph bench" in (tmp_path / "generated/speed.md").read_text()


def test_a_benchmark_is_shown_for_each_device_that_has_one(tmp_path: Path) -> None:
    """Only the tables and figures that are there, copied beside the page."""
    folder = tmp_path / "results/bench/cuda"
    folder.mkdir(parents=True)
    origin = {"device": "cuda: a [GPU]", "commit": "0123456789abcdef", "dirty": True, "date": "2030-01-02T03:04:05"}
    (folder / "bench.json").write_text(json.dumps({"provenance": origin}))
    (folder / "targets.csv").write_text("work,met\nlayered,yes\n")
    tables.write_speed(tmp_path / "generated", tmp_path / "results/bench")
    text = (tmp_path / "generated/speed.md").read_text()
    assert "## On a GPU" in text and "On a CPU" not in text and "Other projects" not in text
    assert "generated/bench/cuda/targets.csv" in text and "times.csv" not in text and "svg" not in text
    assert r"a \[GPU\]" in text and "`012345678` with changes" in text
    assert (tmp_path / "generated/bench/cuda/targets.csv").is_file()


def test_the_tables_of_speed_have_readers_words(tmp_path: Path) -> None:
    """By hand: long numbers in groups, data by their titles, and a note among the targets is no row."""
    made = tmp_path / "results/cpu"
    made.mkdir(parents=True)
    (made / "targets.csv").write_text("work,quantity,target,measured,met\n"
                                      "quality-mnist,s,at most 2,1.659e+04,no\nc,\u2014,\u2014,\u2014,a note\n")
    (made / "works.csv").write_text("work,what,ms\nquality-fashion,N = 2000 on the fashion test images,5595\n")
    tables.write_speed(tmp_path / "generated", tmp_path / "results")
    targets, works = (pd.read_csv(tmp_path / "generated/bench/cpu" / name) for name in ("targets.csv", "works.csv"))
    assert targets.to_numpy().tolist() == [["quality on digits", "s", "at most 2", "16,590", "no"]]
    assert works.to_numpy().tolist() == [["quality on clothing", "N = 2000 on the clothing test images", "5,595"]]


def test_the_speed_page_opens_with_what_was_found(tmp_path: Path) -> None:
    """Ratios to the products, and the one target of three that is not met; a row without a measurement is no target."""
    folder = tmp_path / "results/bench/cpu"
    folder.mkdir(parents=True)
    (folder / "targets.csv").write_text("work,quantity,target,measured,met\na,ours / products,at most 2,1.1,yes\n"
                                        "b,ours / products,at most 2,1.3,yes\nb,other,at most 1,1.23,no\n"
                                        "c,\u2014,\u2014,\u2014,no\n")
    tables.write_speed(tmp_path / "generated", tmp_path / "results/bench")
    assert (tmp_path / "generated/speed-lead.md").read_text() == (
        "**Time of a training batch over that of its bare matrix products: 1.1 (a), 1.3 (b).** "
        "2 of 3 targets are met; not met: b, other: 1.23, at most 1 asked.\n")


def test_seeds_of_a_group_become_one_row_under_its_words() -> None:
    """By hand: mean and deviation of 1 and 3; no deviation of one; a dash for nothing; data sets stay together."""
    rows = [("b", "x", 1.0, 5.0), ("a", "x", 2.0, math.nan), ("b", "x", 3.0, 5.0), ("b", "y", 4.0, 5.0)]
    frame = pd.DataFrame(rows, columns=["dataset", "model", "the_mse", "other"])
    shown = tables.over_seeds(frame, ["dataset", "model"], {"the_mse": "the_mse", "other": "more"},
                              {"b": "second"}).data
    assert list(shown.columns) == ["dataset", "model", "the mse", "more", "seeds"]
    assert shown.to_numpy().tolist() == [["second", "x", "2.0 ± 1.4", "5", 2], ["second", "y", "4", "5", 1],
                                         ["a", "x", "2", tables.DASH, 1]]
    percent = tables.over_seeds(frame, ["dataset", "model"], {"the_mse": "right (%)"}).data
    assert percent["right (%)"].tolist() == ["200 ± 141", "400", "200"]


def test_a_table_of_models_shows_what_differs_and_says_what_does_not() -> None:
    """Two models that differ in their weight step alone; the paper's settings are said as well."""
    def trained(weight_lr: float) -> SimpleNamespace:
        spec = SimpleNamespace(kind="pcgraph", activation="tanh", train=SimpleNamespace(steps=5, weight_lr=weight_lr))
        history = pd.DataFrame({"epoch": [1, 2], "value_lr": [0.3, 0.25]})
        return SimpleNamespace(parameters=30, vertices=6, spec=spec, seconds=2.0, history=history,
                               provenance={"n": 7, "epochs": 4, "device": "cpu"})

    both = {("mnist", name, seed): trained(step)
            for name, seed, step in (("slow", 0, 1e-4), ("slow", 1, 1e-4), ("fast", 0, 0.5))}
    shown = tables.models(both, {"mnist": "digits"}, paper={"model": "the paper's", "T": 20}, hidden=lambda t: [2, 2])
    assert shown.data.to_dict("list") == {"model": ["slow", "fast"], "weight step": [1e-4, 0.5], "seeds": [2, 1]}
    assert shown.caption == ("Trained alike: images of digits; vertices 6; parameters 30; training images 7; epochs 4; "
                             "f tanh; T 5; value step 0.25; "
                             "relaxed time 1.2; seconds 2; device cpu; hidden [2, 2]. The paper's: T 20.")


@pytest.mark.parametrize("page", sorted((ROOT / "book/notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_no_table_of_the_site_is_titled_by_the_names_of_records(page: Path) -> None:
    """Oracle: the quantities that the page's records have; those of plain words may stay."""
    record = ROOT / f"results/records/{page.stem}.json"
    kept = json.loads(record.read_text())["records"] if record.is_file() else []
    names = {row["quantity"].replace("_", " ") for row in kept}
    cells = nbformat.read(page, as_version=4).cells
    shown = "".join("".join(output.get("data", {}).get("text/html", ""))
                    for cell in cells for output in cell.get("outputs", []))
    titles = re.findall(r"<th[^>]*>([^<]+)</th>", tables.in_words(shown, findings.load()))
    jargon = {"mse", "psnr", "ssim", "agreement", "discontinuity", "frechet", "repeated"}
    assert not {name for name in names if jargon & set(name.split())} & set(titles)


def test_a_verdict_is_told_by_the_name_of_its_claim_and_of_what_was_measured() -> None:
    """``fid`` is a claim in one column and a measure in another; a bare < would begin a tag."""
    book, said = findings.load(), "fid [autoencoder-no-decay] 5 not < rbm 4<br>completion mse 1"
    card = pd.DataFrame({"claim": ["fid"], "measured, and the rule": [said]})
    shown = tables.in_words(tables.plain(card, "x").to_html(), book)
    told = f"FID [{book.words['autoencoder-no-decay']}] 5 not &lt; {book.words['rbm']} 4<br>completion MSE 1"
    assert re.findall(r"<td[^>]*>(.*?)</td>", shown) == [load_claims()["fid"].name, told]


def test_a_rule_has_the_digits_that_the_paper_gives_and_no_names_of_code() -> None:
    """88 % of the paper, not 88.00 %, and 91.76 %; what was measured keeps its own. Earlier runs counted failing cases
    in other words.
    """
    book = findings.load()
    for said, shown in {
            "accuracy [mnist] 86.00 % (near 88.00 % ± 2.00 %)": "accuracy [digits] 86.00 % (within 2 points of 88 %)",
            "q 1 within 0.50 % of mlp": "q 1 within 0.5 points of backpropagation",
            "fixed point psnr 1": "PSNR at the end 1", "fixed point judge agreement 1": "judge agreement at the end 1",
            "q 1 < images 50, corruption half 2": "q 1 < images 50, half hidden 2",
            "q 90.00 % (not near 91.76 % ± 1.00 % or more)": "q 90.00 % (not at least 91.76 % less 1 point)",
            "max difference [dtype float64] 0 (at most 1e-10)": "max difference [double precision] 0 (at most 1e-10)",
            "q [cifar10, corruption half] 1": "q [colour photographs, half hidden] 1",
            "q 1 (not at least 99.50 %), worst of 1 such cases in 2":
                "q 1 (not at least 99.5 %), worst of 2 cases, 1 of which fails",
            "1 of 1 checks hold": "the one check holds", "1 of 3 checks hold; x": "1 of 3 checks holds; x",
            "11 of 12 checks hold": "11 of 12 checks hold",
            "q 1 not < r 2, one of 2 such cases in 2": "q 1 not < r 2, one of 2 cases, which all fail"}.items():
        assert tables.told(said, book) == shown


def test_a_slope_is_explained_where_a_table_has_one(tmp_path: Path) -> None:
    place = tmp_path / "results/cpu"
    place.mkdir(parents=True)
    (place / "bench.json").write_text(json.dumps({"provenance": {
        "device": "cpu", "date": "2026-01-02T03:04", "commit": "abc"}}))
    (place / "numbers.csv").write_text("work,quantity,value\nedges,slope of time,1.02\n")
    (place / "targets.csv").write_text("work,quantity\nmemory,peak\n")
    tables.write_speed(tmp_path / "out", tmp_path / "results")
    page = (tmp_path / "out/speed.md").read_text()
    numbers, targets = (re.search(rf"csv-table}} (.*)\n:file: .*/{name}.csv", page)[1]
                        for name in ("numbers", "targets"))
    assert numbers.endswith(tables.SLOPE) and tables.SLOPE not in targets


def test_settings_in_a_cell_have_their_words() -> None:
    frame = pd.DataFrame({"setting": ["base: weight_lr = 0.1, no_such = 2"], "images": [1e4]})
    shown = tables.in_words(tables.plain(frame, "x").to_html(), findings.load())
    assert re.findall(r"<td[^>]*>(.*?)</td>", shown) == ["base: weight step = 0.1, no_such = 2", "10000"]


def test_settings_that_a_sweep_keeps_as_json_are_words() -> None:
    kept = ['{"labels -> hidden1": 1.0, "hidden1 -> hidden1": 0.0}', '{"labels": 1', "0.03"]
    shown = tables.in_words(tables.plain(pd.DataFrame({"init std": kept}), "x").to_html(), findings.load())
    assert [unescape(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", shown)] == [
        "labels to hidden1 1, hidden1 to hidden1 0", kept[1], kept[2]]


def test_what_all_runs_share_is_a_sentence_of_the_ledger(tmp_path: Path) -> None:
    noted = [new_notebook(metadata={"papermill": {"duration": seconds, "parameters": {"profile": "smoke"}}})
             for seconds in (3, 4)]
    tables.write_ledger(tmp_path, tmp_path, dict(zip(("02-pc-graphs", "04a-topologies"), noted, strict=True)))
    assert (tmp_path / "ledger.md").read_text() == "Alike in all: profile smoke.\n"
    assert [list(row) for row in rows(tmp_path / "ledger.csv")] == [["page", "seconds"]] * 2


def test_long_numbers_of_the_benchmark_are_grouped(tmp_path: Path) -> None:
    (tmp_path / "results/cpu").mkdir(parents=True)
    (tmp_path / "results/cpu/times.csv").write_text(
        'edges,ms,commit,note\n3998000,1.02e+03 to 988,12345678,"1.0000010; 2014, 1,055"\n')
    (tmp_path / "results/peers.csv").write_text("by,commit\nfabricpc,a\npcx,b\n")
    (tmp_path / "results/peers.json").write_text(json.dumps({"device": "cpu", "date": "", "commit": "a"}))
    tables.write_speed(tmp_path / "out", tmp_path / "results")
    assert rows(tmp_path / "out/bench/cpu/times.csv") == [
        {"edges": "3,998,000", "ms": "1,020 to 988", "note": "1.0000010; 2014, 1,055"}]       # one commit: above
    assert rows(tmp_path / "out/bench/peers.csv") == [{"by": "FabricPC", "commit": "a"}, {"by": "PCX", "commit": "b"}]


def test_names_are_put_in_words_and_nothing_else_changes() -> None:
    book = findings.load()
    html = pd.DataFrame({"model": ["rbm", "rbm, 256"], "noisy psnr": ["1", "2"]}).style.set_uuid("x").to_html()
    changed = tables.in_words(html, book)
    assert re.findall(r"<td[^>]*>([^<]*)<", changed) == [book.words["rbm"], "1", "rbm, 256", "2"]
    assert re.findall(r"<th[^>]*>([^<&\n]+)<", changed) [:2] == ["model", "noisy input: PSNR (dB)"]
    assert re.sub(r">[^<]*<", "><", changed) == re.sub(r">[^<]*<", "><", html)


def test_empty_cells_have_a_dash_and_verdicts_their_colour() -> None:
    frame = pd.DataFrame({"verdict": ["preliminary: partly", ""], "above": ["True", ""], "note": ["", "x"]})
    shown = tables.in_words(tables.plain(frame, "x").to_html(), findings.load())
    assert re.findall(r"<td[^>]*>(.*?)</td>", shown) == [
        '<span class="verdict preliminary">preliminary: partly</span>', "yes", "—", "—", "—", "x"]


def test_a_table_says_how_a_weight_step_falls() -> None:
    """A number where it stays the same; what baselines without one have is left empty."""
    def said(**train: object) -> object:
        return tables.weight_step(SimpleNamespace(**train))

    assert said(weight_lr=1e-3, anneal="none", warm_up=0.0) == 1e-3 and said() == ""
    assert said(weight_lr=1e-3, anneal="cosine", warm_up=0.0) == "0.001, falling as a cosine"
    assert said(weight_lr=1e-3, anneal="linear", warm_up=0.5) == \
        "0.001, falling as a line, after a warm-up of 0.5 epochs"
