"""The tables that notebooks hand over hold their numbers, and become HTML. Oracles: SciPy, sums by hand, what was given
in, cell by cell."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import nbformat
import numpy as np
import pandas as pd
import pytest
from bs4 import BeautifulSoup
from nbformat.v4 import new_code_cell, new_notebook, new_output
from pydantic import ValidationError
from scipy import stats

from reproduction.book import render, tables
from reproduction.book.handover import KIND, Table, text_of
from reproduction.checkout import ROOT
from reproduction.evidence import findings, verdicts
from reproduction.evidence.claims import load_claims
from reproduction.evidence.verdicts import AgainstRival, Case, Verdict

BOOK, RULES = findings.load(), load_claims()
SPREAD, INTERVAL = {"mean": 2.0, "sd": 0.5}, {"share": 0.7, "low": 0.4, "high": 0.9}


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
    """And not of those that lie beside them, which would fail."""
    run = {"device": "a CPU", "commit": "abc", "dirty": False, "date": "now", "seconds": 1}
    for page, error in (("02-pc-graphs", 2e-15), ("04a-topologies", 1.0)):
        row = {"claim": "eq3", "quantity": "max_relative_error", "value": error, "parameters": {"dtype": "float64"}}
        (tmp_path / f"{page}.json").write_text(json.dumps({
            "notebook": page, "profile": "laptop", "provenance": run, "records": [row]}))
    shown = tables.verdicts(tmp_path / "02-pc-graphs.json")
    assert shown.data[["claim", "verdict"]].to_numpy().tolist() == [["eq3", "reproduced"]]
    assert shown.name == "verdicts-02-pc-graphs"


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
    """A row is that of the first seed. A rate that stays the same is a number; what baselines lack is left empty."""
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
    text = "".join(render.table(table) for table in shown if not table.name.startswith("verdicts"))
    titles = {part.partition("</th>")[0].rpartition(">")[2] for part in text.split("<th ")[1:]}
    jargon = {"mse", "psnr", "ssim", "agreement", "discontinuity", "frechet", "repeated"}
    assert not {name for name in names if jargon & set(name.split())} & titles


def html(table: Table | None = None, **columns: list) -> BeautifulSoup:
    return BeautifulSoup(render.table(table or tables.plain(pd.DataFrame(columns), "x")), "html.parser")


def cells(page: BeautifulSoup) -> list[list[str]]:
    return [[cell.get_text() for cell in row.find_all(["td", "th"])] for row in page.find_all("tr")]


@pytest.mark.parametrize(("value", "text"), [
    (None, "—"), ("", "—"), (True, "yes"), (5, "5"), (0.123456, "0.1235"), (57000.0, "57000"), (1e-5, "1e-05"),
    ({"mean": 15.789, "sd": 0.00744}, "15.789 ± 0.007"), ({"mean": 0.5, "low": None, "high": None}, "0.5"),
    ({"mean": 0.0455, "low": 0.04473, "high": 0.04628}, "0.0455 (0.0447 to 0.0463)"),
    ({"share": 0.7, "low": 0.397, "high": 0.892}, "70.0 % (39.7 to 89.2)")])
def test_every_kind_of_cell_has_one_form_and_a_column_can_ask_for_its_own(value: object, text: str) -> None:
    assert text_of(value) == text
    assert text_of(668672, ",") == "668,672" and text_of(0.0851, ".2g") == "0.085"


def test_what_all_rows_share_is_a_sentence_but_what_differs_and_a_single_row_stays() -> None:
    page = html(model=["a", "b"], seeds=[5, 5], sweep=["hyper", "hyper"], error=[1.0, 1.0])
    assert cells(page)[0] == ["model", "error"]                            # a result is no setting
    assert page.find("p", class_="alike").text == "In all rows: 5 seeds; sweep hyper."
    assert "1 seed." in html(model=["a", "b"], seeds=[1, 1]).text
    assert cells(html(model=["a", "b"], seeds=[5, 3])) == [["model", "seeds"], ["a", "5"], ["b", "3"]]
    assert cells(html(model=["a"], seeds=[5])) == [["model", "seeds"], ["a", "5"]]


def test_of_settings_everything_shared_is_told_below_with_what_the_paper_says() -> None:
    frame = pd.DataFrame({"model": ["slow", "fast"], "parameters": 1000, "weight step": [1e-4, 0.5], "T": 5})
    page = html(Table.of(frame, "models", formats={"parameters": ","}, settings=True,
                         paper={"weight step": 1e-4, "T": 20}))
    assert cells(page) == [["model", "learning rate"], ["slow", "0.0001"], ["fast", "0.5"]]
    assert [one.text for one in page.find_all("p", class_="alike")] == [
        "In all rows: 1,000 parameters; T 5.", "The paper's: learning rate 0.0001; T 20."]


def test_points_of_numbers_stand_below_one_another_and_long_texts_have_a_class_for_the_phone() -> None:
    page = html(steps=[{"mean": 9.5, "sd": 1.4}, 1024.2, None, 100.0], name=["1", "two", "3", "4"])
    space = render.FIGURE_SPACE
    assert [row[0] for row in cells(page)[1:]] == [f"{3 * space}9.5 ± 1.4", "1024", "—", f"{space}100"]
    assert page.find_all("td")[0]["class"] == ["number"] and not page.find_all("td")[1].get("class")
    page = html(model=["a", "b" * 40], **{"at the end of the query: PSNR": [0.5, 0.25]})
    assert [one.get("class") for one in page.find_all("th")] == [None, ["long"]]
    assert [one.get("class") for one in page.find_all("td")] == [["long"], ["number"]] * 2


def test_what_a_table_shows_stands_above_it_and_is_its_description() -> None:
    shown = tables.plain(pd.DataFrame({"model": ["a", "b"]}), "x")
    page = BeautifulSoup(render.table(shown, "B is < A.", "x.csv"), "html.parser")
    said = page.find("p", class_="table-says")
    assert said.text == "B is < A." and page.find("table")["aria-describedby"] == said["id"]
    assert page.find("a", href="x.csv").has_attr("download")


def test_names_of_the_code_are_words_and_nothing_else_changes() -> None:
    """``fid`` is a claim in one column and a measure in another; settings kept as JSON are words, too. A page that ran
    before the words of today says them, where it means a size."""
    settings = ["base: weight_lr = 0.1, no_such = 2", "weight step = 0.1, 9 value steps"]
    page = html(model=["rbm", "rbm, 256"], setting=settings, **{"noisy psnr": [1, 2]})
    assert cells(page)[0] == ["model", "setting", "noisy input: PSNR (dB)"]
    assert cells(page)[1][:2] == [BOOK.words["rbm"], "base: learning rate = 0.1, no_such = 2"]
    assert cells(page)[2][:2] == ["rbm, 256", "learning rate = 0.1, 9 value steps"]
    assert cells(html(claim=["fid", "x"], model=["fid", "y"]))[1] == [RULES["fid"].name, BOOK.words["fid"]]
    kept = ['{"labels -> hidden1": 1.0, "hidden1 -> hidden1": 0.0}', '{"labels": 1', "0.03"]
    assert [row[0] for row in cells(html(**{"init std": kept}))[1:]] == [
        "labels to hidden1 1, hidden1 to hidden1 0", kept[1], kept[2]]


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "<b onclick='a()'>", "a & b", "</table>"])
def test_text_is_text_wherever_it_stands(text: str) -> None:
    """Oracle: what a parser reads is what was handed over, and the tags are the renderer's own."""
    shown = Table.of(pd.DataFrame({text: [text, "x"], "seeds": [1, 2]}), "x", text, settings=True, paper={text: text})
    page = BeautifulSoup(render.table(shown, text, "x.csv"), "html.parser")
    assert cells(page)[:2] == [[text, "seeds"], [text, "1"]] and page.find("caption").text == text
    assert {tag.name for tag in page.find_all()} <= {"p", "table", "caption", "thead", "tbody", "tr", "th", "td", "a"}


def records(claim: str, *rows: dict[str, object]) -> dict[str, Verdict]:
    """The verdicts that follow from some records of a claim."""
    usual = {"claim": claim, "dataset": "mnist", "model": None, "n": None, "seed": 0.0, "parameters": {}}
    return verdicts.verdicts([usual | {"profile": "paper", "device": "cpu", "notebook": "x"} | row for row in rows])


def test_a_verdict_is_told_by_the_name_of_its_claim_a_line_each_check() -> None:
    """Names of the code are words, and a < is no tag."""
    one = records("any-ff", *({"quantity": "completion_mse", "model": model, "value": value} for model, value in (
        ("generative", 0.05), ("fully-connected-equal", 0.06))))["any-ff"]
    page = BeautifulSoup(render.verdicts([one]), "html.parser")
    lines = [line.text for line in page.find_all(class_="line")]
    assert page.find("td").text.startswith(RULES["any-ff"].name)
    assert [str(outcome) for outcome in one.ran] == [line for line in lines if " < " in line] != []
    assert "generative" not in page.text
    assert page.find(class_="verdict").text == one.verdict


def test_many_rivals_fold_behind_their_count_and_every_line_is_kept() -> None:
    rule = next(rival for claim in RULES.values() for rival in claim.rivals)
    case = Case("mnist", "a", {}, 1, math.nan, np.array([1.0]), np.array([2.0]), True, False)
    for count, folded in ((4, True), (3, False)):
        one = replace(records("eq1", {"quantity": "max_relative_error", "value": 0.0})["eq1"],
                      rivals=tuple(AgainstRival(rule, case, (f"x{k}",)) for k in range(count)))
        page = BeautifulSoup(render.verdicts([one]), "html.parser")
        inner = page.select_one("td details")
        assert bool(inner) == folded and (not folded or inner.summary.text == "better in 4")
        assert {str(rival) for rival in one.rivals} <= {line.text for line in page.find_all(class_="line")}


def test_no_template_is_left_without_a_reader() -> None:
    folder = render.FOLDER
    texts = "".join(path.read_text(encoding="utf-8") for path in (*folder.parent.glob("*.py"), *folder.glob("*")))
    assert {path.name for path in folder.glob("*")} <= set(re.findall(r'"([\w-]+\.(?:md|html|py\.txt))"', texts))
