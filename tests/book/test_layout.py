"""What a page opens with, how its tables and figures are shown, and what folds away. Oracles: pages made here."""

import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from reproduction.book import layout, render, tables
from reproduction.book.handover import KIND, NUMBERS, Table
from reproduction.book.layout import Judged, Page
from reproduction.checkout import ROOT
from reproduction.evidence.claims import load_claims
from reproduction.evidence.findings import Finding
from reproduction.evidence.words import load

NAME = "03a-fully-connected"
RUN = {"profile": "paper", "device": "a CPU", "seconds": "7", "commit": "`0123`"}
JUDGED = Judged.judge([])                                                  # the claims without any record
PIXEL = "iVBORw0KGgo="  # decodes; nothing here looks at the picture


def finding(**changes: object) -> Finding:
    """Of a claim about trained models, with other words."""
    whole = {"name": "gen-a", "title": "Eight <pictures>", "remark": "", "verdict": "preliminary: partly",
             "lead": "So far it holds in part.", "sentences": ("First & best.", "Second."), "ours": "80 %",
             "claim": load_claims()["gen-a"].model_copy(update={"paper": "always", "table": "by-decay 2"}),
             "lacks": ("One seed so far; the rule asks for five.",),
             "hangs": ("Read otherwise, not.",), "kind": "setting", "cause": ("Why.",), "figure": "fig-a"}
    return replace(JUDGED.found["gen-a"], **whole | changes)


def figure(caption: str = "Look.", *tags: str, **data: str) -> NotebookNode:
    return new_code_cell("plot()", outputs=[new_output("display_data", {"image/png": PIXEL} | data)], metadata={
        "mystnb": {"figure": {"caption": caption, "name": "fig-a"}}, "tags": ["hide-input", *tags]})


def show(table: Table) -> NotebookNode:
    return new_code_cell("t", outputs=[new_output("execute_result", {KIND: table.model_dump()})],
                         metadata={"tags": ["hide-input"]})


def page(*cells: NotebookNode) -> Page:
    return Page(NAME, new_notebook(cells=[new_markdown_cell("# Title\n\n**Claim.** Text."), *cells]), True, False,
                RUN)


@pytest.fixture
def laid(tmp_path: Path):
    """Lays a page out, and returns it. ``others``: pages beside it; ``known``: what else is known of the claims."""
    def lay_out(one: Page, *others: Page, **known: object) -> NotebookNode:
        figures = layout.drawn({each.name: each for each in (one, *others)})
        layout.lay_out(one, replace(JUDGED, **known), ROOT, tmp_path, figures)
        return one.notebook

    return lay_out


def test_a_page_opens_with_its_finding_and_its_figure_which_stands_nowhere_else(laid, tmp_path: Path) -> None:
    """With the caption, then the claim and what made the page. The notebook that readers download keeps the picture."""
    top, drawn = laid(page(figure())).cells[1:]
    source = top.source
    parts = ["# Title", 'class="result"', "generated/figures/fig-a.png", ":name: fig-a", "\nLook.", "**Claim.**",
             "[Profile `paper`, a CPU, 7\u00a0s, commit `0123` (", " download>"]
    places = [source.index(part) for part in parts]
    assert "\n```\n" in source and not re.search(r"[^\n]```\n", source), "each fence stands on a line of its own"
    assert places == sorted(places) and (tmp_path / "book/generated/figures/fig-a.png").is_file()
    fences = [line for line in source.splitlines() if "```" in line]
    assert all(line.startswith("```") for line in fences) and len(fences) % 2 == 0   # else raw HTML swallows the rest
    assert "remove-output" in drawn.metadata.tags and "image/png" in drawn.outputs[0].data
    assert drawn.metadata.mystnb.code_prompt_show == layout.TOP


def test_a_page_may_open_with_the_figure_of_another_page(laid, tmp_path: Path) -> None:
    """Without its label, which stays with the other page, and with a link there; its own figure keeps its place."""
    lent = new_code_cell("plot()", outputs=[new_output("display_data", {"image/png": PIXEL})], metadata={
        "mystnb": {"figure": {"caption": "Lent.", "name": load().pages[NAME].figure}}})
    other = Page("l-settings", new_notebook(cells=[new_markdown_cell("# Other"), lent]), True, False, RUN)
    one = page(figure())
    top, own = laid(one, other).cells[1:]
    assert "Lent. From {doc}`l-settings`." in top.source and ":name:" not in top.source
    assert "remove-output" not in own.metadata.tags and (tmp_path / "book/generated/figures").is_dir()


def test_a_page_without_pictures_gets_its_box_alone_and_one_without_title_nothing(laid) -> None:
    """A page says that it ran with earlier code."""
    assert "{figure}" not in laid(page()).cells[1].source
    untitled = Page(NAME, new_notebook(cells=[new_markdown_cell("Text.")]), True, False, {})
    assert laid(untitled).cells[1].source == "Text."
    one = Page(NAME, page().notebook, True, True, RUN)
    assert "The notebook has changed since this run." in laid(one).cells[1].source


def box(*found: Finding, aim: str = "") -> str:
    return render.template("box.html", found=found, aim=aim)


def test_the_box_says_verdict_and_finding_and_folds_what_it_hangs_on_or_says_what_the_page_is_for() -> None:
    shown, _, folded = box(finding()).partition("<details>")
    for text in ('<span class="verdict preliminary">preliminary: partly<', "Eight &lt;pictures&gt;", "80 %", "always"):
        assert text in shown, text
    for text in ("First &amp; best. Second.", "So far it holds in part.", "Read otherwise, not."):
        assert text in folded and text not in shown, text
    assert "<summary>One seed so far; the rule asks for five. · Details</summary>" in folded
    assert "It tests &lt;no&gt; claim." in box(aim="It tests <no> claim.")


def test_a_page_of_many_claims_keeps_to_a_line_each() -> None:
    later = finding(name="gen-d", verdict="not run", sentences=(), ours="", hangs=())
    html = box(finding(), finding(name="gen-c"), later)
    shown = html.partition('id="claim-gen-a"')[2].partition("<details>")[0]
    assert "Eight" in shown and "First" not in shown and "80 %" not in shown and "80 %" in html


def test_a_page_without_claims_tells_its_finding_with_numbers_of_its_tables(laid) -> None:
    """The first row that fits, a mean without its spread; without the table, what the page is for."""
    frame = pd.DataFrame({"part": ["compared with simple methods", "the paper's sentences"],
                          "true at every decay": [1, 7], "at some": [2, 8], "at none": [3, 9]})
    found, aim = (laid(Page("l-settings", page(*cells).notebook, True, False, {})).cells[1].source
                  for cells in ([show(Table.of(frame, "counted"))], []))
    assert "7 of them are true" in found and "9 at none" in found and "The other 8 depend" in found
    assert "tests no claim" in aim and "{every}" not in aim


def test_tables_of_settings_are_folded_and_results_are_not(laid) -> None:
    frame = pd.DataFrame({"model": ["a", "b"], "T": [5, 5]})
    parameters = new_code_cell("seed: int = 0", metadata={"tags": ["parameters", "hide-input"]})
    injected = new_code_cell("seed = 0", metadata={"tags": ["injected-parameters"]})
    tables = show(Table.of(frame, "a", settings=True)), show(Table.of(frame, "b"))
    cells = laid(page(parameters, injected, *tables)).cells[2:]
    assert [cell.metadata.tags[-1] for cell in cells] == ["hide-input", "hide-input", "hide-cell", "hide-input"]
    assert [cell.metadata.mystnb.code_prompt_show for cell in cells] == [
        "Parameters", "Values used here", "Settings", "Code"]


def test_each_table_can_be_taken_away_the_second_of_a_name_too(laid, tmp_path: Path) -> None:
    frames = [pd.DataFrame({"graph": ["a, b", "c"], "error": [0.1, 0.25]}), pd.DataFrame({"x < y": [1, 2]})]
    cells = laid(page(*(show(tables.plain(frame, "by-x")) for frame in frames))).cells[2:]
    for cell, frame, name in zip(cells, frames, ("by-x", "by-x-2"), strict=True):
        assert list(cell.outputs[0].data) == ["text/html"]
        assert f'<a href="../../records/tables/{NAME}-{name}.csv" download>' in cell.outputs[0].data["text/html"]
        pd.testing.assert_frame_equal(pd.read_csv(tmp_path / f"vendor/records/tables/{NAME}-{name}.csv"), frame)


def test_the_caption_links_to_the_numbers_and_is_the_description_without_markup(laid, tmp_path: Path) -> None:
    cell = laid(page(figure("The fall.", **{NUMBERS: "series,t,E\na,0,2\n"}))).cells[2]
    assert (tmp_path / f"vendor/records/figures/{NAME}-a.csv").read_text() == "series,t,E\na,0,2\n"
    caption = cell.metadata.mystnb.figure.caption
    assert caption.startswith("The fall. <a ") and f'href="../../records/figures/{NAME}-a.csv" download' in caption
    assert list(cell.outputs[0].data) == ["image/png"]                     # the builder knows no other kind
    assert laid(page(figure("With $x$ of {term}`a <b>`"))).cells[2].metadata.mystnb.image.alt == "With x of a."


def test_figure_and_table_of_a_claim_say_what_was_found(laid) -> None:
    """The figure to those who do not see it; of two tables of one name the second alone."""
    rows = [show(tables.plain(pd.DataFrame({"decay": ["weak"]}), "by-decay")) for _ in range(2)]
    drawn, *told = laid(page(figure("Bars"), *rows), found={"gen-a": finding()}).cells[2:]
    assert drawn.metadata.mystnb.image.alt == "Bars. Eight <pictures>: First & best."
    assert ["First &amp; best." in row.outputs[0].data["text/html"] for row in told] == [False, True]


@pytest.mark.parametrize("count", [0, 1])
def test_a_page_offers_its_notebook_and_what_it_recorded(laid, count: int) -> None:
    top = laid(page(), records=count * [{"notebook": NAME}]).cells[1]
    links = re.findall(r'<a href="([^"]+)" download>', top.source)
    assert links == [*[f"../../records/{NAME}.{kind}" for kind in ("csv", "json")][:2 * count],
                     f"../../_sources/book/notebooks/{NAME}.ipynb"]
