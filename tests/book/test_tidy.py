"""Tables of pages, made easier to read. Oracle: tables written by the test, cell by cell."""

import re

import pandas as pd
from bs4 import BeautifulSoup
from nbformat.v4 import new_output

from reproduction.book import tables, tidy


def cells(html: str, seen: bool = True) -> list[list[str]]:
    """The rows of a table, without (or with) what readers do not see."""
    rows = BeautifulSoup(html, "html.parser").find_all("tr")
    return [[cell.get_text().strip("\n ") for cell in row.find_all(["td", "th"])
             if not (seen and cell.has_attr("hidden"))] for row in rows]


def shown(**columns: list) -> str:
    return tables.plain(pd.DataFrame(columns), "x").to_html()


def test_what_all_rows_share_is_a_sentence_and_stays_for_the_csv() -> None:
    html = tidy.tidied(shown(model=["a", "b"], seeds=["5", "5"], sweep=["hyper", "hyper"], error=["1", "1"]))
    assert cells(html)[0] == ["model", "error"]                            # a result is no setting
    assert BeautifulSoup(html, "html.parser").find("p", class_="alike").text == "In all rows: 5 seeds; sweep hyper."
    assert cells(html, seen=False)[1] == ["a", "5", "hyper", "1"]
    assert "1 seed." in tidy.tidied(shown(model=["a", "b"], seeds=["1", "1"]))


def test_settings_that_differ_and_single_rows_stay() -> None:
    for html in (shown(model=["a", "b"], seeds=["5", "3"]), shown(model=["a"], seeds=["5"])):
        assert cells(tidy.tidied(html)) == cells(html) and "alike" not in tidy.tidied(html)


def test_points_of_numbers_stand_below_one_another() -> None:
    html = tidy.tidied(shown(steps=["9.5 ± 1", "1,024.2", "—", "100 %"], name=["1", "two", "3", "4"]))
    space = tidy.FIGURE_SPACE
    assert [row[0] for row in cells(html)[1:]] == [f"{4 * space}9.5 ± 1", "1,024.2", "—", f"{2 * space}100 %"]
    assert [row[1] for row in cells(html)[1:]] == ["1", "two", "3", "4"]


def test_what_a_table_shows_stands_above_it_and_is_its_description() -> None:
    page = BeautifulSoup(tidy.tidied(shown(model=["a", "b"]), "B is < A."), "html.parser")
    said = page.find("p", class_="table-says")
    assert said.text == "B is < A." and said.find_next_sibling("table")["aria-describedby"] == said["id"]


def test_verdicts_stay_as_they_are() -> None:
    html = tables.plain(pd.DataFrame({"claim": ["a", "b"], "seeds": ["5", "5"]}), "verdicts-page").to_html()
    assert cells(tidy.tidied(html)) == cells(html)


def test_many_rivals_fold_behind_their_count_and_every_line_is_kept() -> None:
    lines = ["a: better than x (2 against 1)", "b: worse than x (1 against 2)", "c: not told apart from x (1 and 1)",
             "d: worse than y (1 against 2)"]
    table = pd.DataFrame({"claim": ["a"], "verdict": ["partly"], tables.BESIDE: ["<br>".join(lines)], "seeds": ["5"]})
    page = BeautifulSoup(tidy.tidied(tables.plain(table, "verdicts-page").to_html()), "html.parser")
    cell = page.find_all("td")[2]
    assert cell.find("summary").text == "better in 1, level in 1, worse in 2"
    assert [line.text for line in cell.find_all(class_="line")] == lines and cell["data-title"] == tables.BESIDE
    few = tidy.tidied(tables.plain(table.assign(**{tables.BESIDE: "<br>".join(lines[:3])}), "verdicts-page").to_html())
    assert "<details" not in few and few.count('class="line"') == 3


def test_a_column_of_dashes_is_for_the_csv_alone_and_long_cells_are_named() -> None:
    html = tidy.tidied(shown(model=["a", "b" * 40], sd=["—", "—"], error=["1", "2 (1.000000 to 3.00000000)"]))
    assert cells(html)[0] == ["model", "error"] and cells(html, seen=False)[0] == ["model", "sd", "error"]
    assert html.count(" long") == 2


def test_a_long_title_and_numbers_have_a_class_for_the_phone() -> None:
    html = tidy.tidied(shown(model=["a", "b"], n=["1", "2"], **{"at the end of the query: PSNR": ["0.5", "0.25"]}))
    named = {name: re.findall(rf'<t[hd] class="[^"]* {name}"', html) for name in ("long", "number")}
    assert {name: len(cells) for name, cells in named.items()} == {"long": 1, "number": 4}


def test_what_a_cell_printed_in_turns_is_one_text_without_progress_bars() -> None:
    outputs = [new_output("stream", name=name, text=text) for name, text in (
        ("stdout", "a\n"), ("stderr", "10 %"), ("stdout", "b\n"))]
    picture = new_output("display_data", {"text/plain": "c"})
    kept = tidy.joined([*outputs, picture, new_output("stream", name="stdout", text="d\n")])
    assert [one.get("text") for one in kept] == ["a\nb\n", None, "d\n"]
