"""From data to HTML. Oracles: tables written by the test, cell by cell."""

import math
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from bs4 import BeautifulSoup

from reproduction.book import render, tables
from reproduction.book.handover import Table, text_of
from reproduction.evidence import findings, verdicts
from reproduction.evidence.claims import load_claims
from reproduction.evidence.verdicts import Beside, Case, Verdict

BOOK, RULES = findings.load(), load_claims()


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


def test_points_of_numbers_stand_below_one_another() -> None:
    page = html(steps=[{"mean": 9.5, "sd": 1.4}, 1024.2, None, 100.0], name=["1", "two", "3", "4"])
    space = render.FIGURE_SPACE
    assert [row[0] for row in cells(page)[1:]] == [f"{3 * space}9.5 ± 1.4", "1024", "—", f"{space}100"]
    assert page.find_all("td")[0]["class"] == ["number"] and not page.find_all("td")[1].get("class")


def test_what_a_table_shows_stands_above_it_and_is_its_description() -> None:
    shown = tables.plain(pd.DataFrame({"model": ["a", "b"]}), "x")
    page = BeautifulSoup(render.table(shown, "B is < A.", "x.csv"), "html.parser")
    said = page.find("p", class_="table-says")
    assert said.text == "B is < A." and page.find("table")["aria-describedby"] == said["id"]
    assert page.find("a", href="x.csv").has_attr("download")


def test_long_titles_and_words_have_a_class_for_the_phone() -> None:
    page = html(model=["a", "b" * 40], **{"at the end of the query: PSNR": [0.5, 0.25]})
    assert [one.get("class") for one in page.find_all("th")] == [None, ["long"]]
    assert [one.get("class") for one in page.find_all("td")] == [["long"], ["number"]] * 2


def test_names_of_the_code_are_words_and_nothing_else_changes() -> None:
    """``fid`` is a claim in one column and a measure in another; settings that a sweep keeps as JSON are words, too. A
    page that ran before the words of today says them, where it means a size.
    """
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
    one = records("any-ff", {"quantity": "completion_mse", "model": "generative", "value": 0.05})["any-ff"]
    page = BeautifulSoup(render.verdicts([one]), "html.parser")
    lines = [line.text for line in page.find_all(class_="line")]
    assert page.find("td").text.startswith(RULES["any-ff"].name)
    assert all(str(outcome) in lines for outcome in one.ran) and "generative" not in page.text
    assert page.find(class_="verdict").text == one.verdict


def test_many_rivals_fold_behind_their_count_and_every_line_is_kept() -> None:
    rule = next(rival for claim in RULES.values() for rival in claim.rivals)
    case = Case("mnist", "a", {}, 1, math.nan, np.array([1.0]), np.array([2.0]), True, False)
    for count, folded in ((4, True), (3, False)):
        one = replace(records("eq1", {"quantity": "max_relative_error", "value": 0.0})["eq1"],
                      rivals=tuple(Beside(rule, case, (f"x{k}",)) for k in range(count)))
        page = BeautifulSoup(render.verdicts([one]), "html.parser")
        inner = page.select_one("td details")
        assert bool(inner) == folded and (not folded or inner.summary.text == "better in 4")
        assert {str(rival) for rival in one.rivals} <= {line.text for line in page.find_all(class_="line")}


def test_no_template_is_left_without_a_reader() -> None:
    folder = render.FOLDER
    texts = "".join(path.read_text(encoding="utf-8") for path in (*folder.parent.glob("*.py"), *folder.glob("*")))
    assert {path.name for path in folder.glob("*")} <= set(re.findall(r'"([\w-]+\.(?:md|html|py\.txt))"', texts))
