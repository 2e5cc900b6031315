"""The tables that notebooks hand over hold their numbers. Oracles: SciPy, sums by hand, what was given in."""

import json
import math
from pathlib import Path
from types import SimpleNamespace

import nbformat
import numpy as np
import pandas as pd
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output
from pydantic import ValidationError
from scipy import stats

from reproduction.book import render, tables
from reproduction.book.handover import KIND, Table
from reproduction.checkout import ROOT

SPREAD, INTERVAL = {"mean": 2.0, "sd": 0.5}, {"share": 0.7, "low": 0.4, "high": 0.9}


def saved(folder: Path) -> Path:
    """A records file of notebook 02-pc-graphs, as the Recorder writes it."""
    row = {"claim": "eq3", "quantity": "max_relative_error", "value": 2e-15, "parameters": {"dtype": "float64"}}
    folder.mkdir(parents=True, exist_ok=True)
    (path := folder / "02-pc-graphs.json").write_text(json.dumps({
        "notebook": "02-pc-graphs", "profile": "laptop", "provenance": {
            "device": "a CPU", "commit": "abc", "dirty": False, "date": "now", "seconds": 1},
        "records": [row]}))
    return path


def test_a_table_goes_through_a_notebook_and_comes_back(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [1 / 3, math.nan, np.float32(0.5)], "b": ["x", None, True], "c": [SPREAD, INTERVAL, 7]})
    given = Table.of(frame, "name", "caption", {"a": ".2g"}, settings=True, paper={"a": "1e-4"})
    output = new_output("execute_result", given._repr_mimebundle_())
    nbformat.write(new_notebook(cells=[new_code_cell(outputs=[output])]), file := tmp_path / "a.ipynb")
    nbformat.validate(back := nbformat.read(file, as_version=4))
    read = Table.model_validate(back.cells[0].outputs[0].data[KIND])
    assert read.data.to_numpy().tolist() == [[1 / 3, "x", SPREAD], [None, None, INTERVAL], [0.5, True, 7]]
    assert (read.name, read.caption, dict(read.formats), read.settings, read.paper) == (
        "name", "caption", {"a": ".2g"}, True, {"a": "1e-4"})


@pytest.mark.parametrize("change", [
    {"name": "a<b>"}, {"name": "x\ny"}, {"columns": ["a", "a"]}, {"columns": ["a"]}, {"rows": [["x", [1]]]},
    {"rows": [["x", {"mean": "<b>"}]]}, {"rows": [["x", math.nan]]}, {"formats": {"a": "{0.__class__}"}}, {"more": 1},
    {"rows": "x"}, {"paper": {"a": ["x"]}}, {"settings": "yes"}])
def test_what_is_no_table_is_refused(change: dict[str, object]) -> None:
    handed = tables.plain(pd.DataFrame({"a": ["x"], "b": [1]}), "n").model_dump()
    Table.model_validate(handed)
    with pytest.raises(ValidationError):
        Table.model_validate(handed | change)


def test_a_table_is_text_in_a_terminal_and_a_column_a_number_in_its_file(tmp_path: Path) -> None:
    text = repr(tables.plain(pd.DataFrame({"model": ["a"], "MSE": [SPREAD]}), "x"))
    assert text.split() == ["model", "MSE", "a", "2.0", "±", "0.5"]
    tables.plain(pd.DataFrame({"model": ["a, b"], "MSE": [SPREAD], "n": [3]}), "x").to_csv(file := tmp_path / "x.csv")
    assert pd.read_csv(file).to_dict("records") == [{"model": "a, b", "n": 3, "MSE.mean": 2.0, "MSE.sd": 0.5}]


def test_intervals_over_images_are_scipys() -> None:
    numbers, hits = [0.5, 1.25, 2.0, 4.5], np.array([True] * 7 + [False] * 3)
    low, high = stats.t.interval(0.95, 3, np.mean(numbers), stats.sem(numbers))
    assert tables.interval(numbers) == pytest.approx({"mean": 2.0625, "low": low, "high": high})
    wilson = stats.binomtest(7, 10).proportion_ci(method="wilson")
    assert tables.interval(hits, share=True) == pytest.approx({"share": 0.7, "low": wilson.low, "high": wilson.high})


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


def test_the_verdicts_of_a_run_are_those_of_its_records(tmp_path: Path) -> None:
    (tmp_path / "04a-topologies.json").write_text(saved(tmp_path).read_text().replace("02-pc-graphs", "04a-topologies"))
    shown = tables.verdicts(tmp_path / "02-pc-graphs.json")
    assert list(shown.data["claim"]) == ["eq3"] and shown.name == "verdicts-02-pc-graphs"


def test_seeds_of_a_group_become_one_row_under_its_words() -> None:
    """By hand: mean and deviation of 1 and 3; no deviation of one; nothing for nothing; data sets stay together."""
    rows = [("b", "x", 1.0, 5.0), ("a", "x", 2.0, math.nan), ("b", "x", 3.0, 5.0), ("b", "y", 4.0, 5.0)]
    frame = pd.DataFrame(rows, columns=["dataset", "model", "the_mse", "other"])
    shown = tables.over_seeds(frame, ["dataset", "model"], {"the_mse": "the_mse", "other": "more"}, {"b": "second"})
    assert list(shown.data.columns) == ["dataset", "model", "the mse", "more", "seeds"]
    assert shown.model_dump()["rows"] == [["second", "x", {"mean": 2.0, "sd": pytest.approx(2 ** 0.5)}, 5.0, 2],
                                      ["second", "y", 4.0, 5.0, 1], ["a", "x", 2.0, None, 1]]
    percent = tables.over_seeds(frame, ["dataset", "model"], {"the_mse": "right (%)"}).data
    assert percent["right (%)"].tolist() == [{"mean": 200.0, "sd": pytest.approx(200 ** 0.5 * 10)}, 400.0, 200.0]
    assert not shown.settings and tables.over_seeds(frame.assign(p=1, q=1, r=1), ["dataset", "model", "p", "q", "r"], [
        "other"]).settings


def test_a_table_of_models_has_a_row_a_model_and_says_how_a_learning_rate_falls() -> None:
    """Two models that differ in their learning rate; a row is that of the first seed. The rate is a number where it
    stays the same; what baselines without one have is left empty."""
    def trained(weight_lr: float) -> SimpleNamespace:
        spec = SimpleNamespace(kind="pcgraph", activation="tanh", train=SimpleNamespace(steps=5, weight_lr=weight_lr))
        history = pd.DataFrame({"epoch": [1, 2], "value_lr": [0.3, 0.25]})
        return SimpleNamespace(parameters=30, vertices=6, spec=spec, seconds=2.0, history=history,
                               provenance={"n": 7, "epochs": 4, "device": "cpu"})

    both = {("mnist", name, seed): trained(step)
            for name, seed, step in (("slow", 0, 1e-4), ("slow", 1, 1e-4), ("fast", 0, 0.5))}
    shown = tables.models(both, {"mnist": "digits"}, paper={"model": "the paper's", "T": 20}, hidden=lambda t: 2)
    assert shown.settings and shown.paper == {"model": "the paper's", "T": 20}
    assert shown.data[["model", "weight step", "seeds"]].to_numpy().tolist() == [["slow", 1e-4, 2], ["fast", 0.5, 1]]
    assert shown.data.drop(columns=["model", "weight step", "seeds"]).iloc[0].to_dict() == {
        "images of": "digits", "vertices": 6, "parameters": 30, "training images": 7, "epochs": 4, "f": "tanh", "T": 5,
        "value step": 0.25, "relaxed time": 1.25, "weight decay": None, "seconds": 2, "device": "cpu", "hidden": 2}
    def said(**train: object) -> object:
        return tables.learning_rate(SimpleNamespace(**train))

    assert said(weight_lr=1e-3, anneal="none", warm_up=0.0) == 1e-3 and said() is None
    assert said(weight_lr=1e-3, anneal="cosine", warm_up=0.0) == "0.001, falling as a cosine"
    assert said(weight_lr=1e-3, anneal="linear", warm_up=0.5) == \
        "0.001, falling as a line, after a warm-up of 0.5 epochs"


@pytest.mark.parametrize("page", sorted((ROOT / "book/notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_no_table_of_the_site_is_titled_by_the_names_of_records(page: Path) -> None:
    """Oracle: the quantities that the page's records have; those of plain words may stay."""
    record = ROOT / f"results/records/{page.stem}.json"
    kept = json.loads(record.read_text())["records"] if record.is_file() else []
    names = {row["quantity"].replace("_", " ") for row in kept}
    shown = [Table.model_validate(output.data[KIND]) for cell in nbformat.read(page, as_version=4).cells
             for output in cell.get("outputs", []) if KIND in output.get("data", {})]
    html = "".join(render.table(table) for table in shown if not table.name.startswith("verdicts"))
    titles = {part.partition("</th>")[0].rpartition(">")[2] for part in html.split("<th ")[1:]}
    jargon = {"mse", "psnr", "ssim", "agreement", "discontinuity", "frechet", "repeated"}
    assert not {name for name in names if jargon & set(name.split())} & titles
