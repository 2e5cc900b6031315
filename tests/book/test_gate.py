"""Of an executed notebook only the outputs of its code reach the book. Oracles: the source, cell by cell; outputs and
text that a browser or the builder would execute, made by the test."""

import base64
import copy
import shutil
from pathlib import Path

import jupytext
import nbformat
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from pictures import encoded
from PIL import Image

from pcgraph_lite.errors import BadFile
from reproduction.book import gate, tables
from reproduction.book.handover import KIND

TABLE = tables.plain(pd.DataFrame({"a": ["x < y", "<b>"]}), "t").model_dump()  # text is text, whatever it says


def png(size: tuple[int, int] = (2, 2)) -> str:
    return encoded(Image.new("1", size))


def executed(*outputs: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """A page as papermill leaves it."""
    return new_notebook(cells=[
        new_markdown_cell("# A page"), new_code_cell("seed: int = 0", metadata={"tags": ["parameters"]}),
        new_code_cell("# Parameters\nseed = 1\nnames = ['a']", metadata={"tags": ["injected-parameters"]}),
        new_code_cell("show()", metadata={"mystnb": {"figure": {"caption": "A figure.", "name": "fig"}}},
                      outputs=list(outputs))], metadata={"papermill": {"duration": 1.0}})


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    page, folder = executed(), tmp_path_factory.mktemp("root")
    del page.cells[2]
    (folder / "notebooks").mkdir()
    jupytext.write(page, folder / "notebooks/page.md", fmt="md:myst")
    return folder


def test_our_own_runs_pass_as_they_are_without_progress_bars(root: Path) -> None:
    """Markdown may be a listing: page 2 shows a file of the library so."""
    own = executed(new_output("stream", text="done"), new_output("execute_result", {KIND: TABLE}),
                   new_output("display_data", {"image/png": png(), "text/plain": "x", "text/csv": "x,y\n1,2\n"}),
                   new_output("display_data", {"text/markdown": "```python\nx = '``'\n```"}))
    barred = copy.deepcopy(own)
    barred.cells[3].outputs.append(new_output("stream", name="stderr", text="10 %"))
    passed, _ = gate.admit(barred, "page", root)
    assert [(cell.source, cell.get("outputs")) for cell in passed.cells] == [
        (cell.source.strip(), cell.get("outputs")) for cell in own.cells]
    assert passed.cells[3].metadata.mystnb.figure.caption == "A figure."


WORDS = ["mystnb", "execution_mode", "force", "nb_execution_mode", "kernelspec", "jupytext", "tags", "code", "figure",
         "raises-exception", "render", "html", "<script>"]
TREE = st.recursive(st.sampled_from(WORDS) | st.booleans(), lambda inner: st.lists(inner, max_size=2) | st.dictionaries(
    st.sampled_from(WORDS), inner, max_size=3), max_leaves=6)


@given(st.dictionaries(st.sampled_from(WORDS), TREE, max_size=4), st.booleans())
def test_no_metadata_of_an_executed_notebook_reaches_the_builder(root, given, everywhere):
    plain, hostile = executed(), executed(new_output("display_data", {"text/plain": "x"}, metadata=given))
    plain.cells[3].outputs = [new_output("display_data", {"text/plain": "x"})]
    hostile.metadata |= given
    for cell in hostile.cells[:2] + hostile.cells[3:] if everywhere else ():
        cell.metadata = nbformat.from_dict(given)
    passed, wanted = (gate.admit(one, "page", root)[0] for one in (hostile, plain))
    for cell in (*passed.cells, *wanted.cells):
        cell.pop("id", None)
    assert passed == wanted and passed.metadata.keys() == {"kernelspec", "language_info"}


HOSTILE = ["```{literalinclude} /etc/passwd\n```", "```{raw} html\n:file: /etc/passwd\n```",
           "<script>alert(1)</script>", "# Another page", "```{code-cell}\nprint(1)\n```", ""]


@pytest.mark.parametrize("source", HOSTILE)
@pytest.mark.parametrize("place", [1, 3, "new", "injected"])
def test_code_that_is_not_the_sources_is_refused(root: Path, source: str, place: int | str) -> None:
    page = executed()
    if place == "new":
        page.cells.append(new_code_cell(source))
    elif place == "injected":
        page.cells[2].source = f"seed = 1\n{source[1:] or 'import os'}"
    else:
        page.cells[place].source = source
    with pytest.raises(BadFile, match=r"code cells of the executed notebook 'page'.*pcgraph run page"):
        gate.admit(page, "page", root)


@pytest.mark.parametrize("source", HOSTILE)
def test_no_text_of_an_executed_notebook_reaches_the_book(root: Path, source: str) -> None:
    page = executed(new_output("stream", text="done"))
    page.cells[0].source = source
    page.cells.append(new_markdown_cell(source, attachments={"a.svg": {"image/svg+xml": "<svg onload='a()'/>"}}))
    page.cells.insert(2, nbformat.from_dict({"cell_type": "raw", "source": source, "metadata": {}}))
    page.cells[4].metadata.mystnb.figure.caption = source
    passed, _ = gate.admit(page, "page", root)
    assert [cell.source for cell in passed.cells] == [cell.source for cell in executed().cells]
    assert passed.cells[3].metadata.mystnb.figure.caption == "A figure." and passed.cells[3].outputs[0].text == "done"


def test_changed_code_shows_the_source_that_ran(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = shutil.copytree(root, tmp_path / "root")
    path = root / "notebooks/page.md"
    old = path.read_text()
    new = old.replace("show()", "show_more()").replace("A page", "Today")
    monkeypatch.setattr(gate.checkout, "earlier", lambda *_: iter([new, old.replace("A page", "Second"), old]))
    assert not gate.admit(executed(), "page", root)[1]
    path.write_text(new)
    passed, older = gate.admit(executed(), "page", root)
    assert passed.cells[0].source == "# Second" and older
    assert any(cell.source == "show()" for cell in passed.cells)


PICTURES = ["", "x", base64.b64encode(b"<svg/>").decode(), png()[:40], png((20_000, 20_000))]
LISTINGS = ["words", "```{raw} html\n<b>\n```", "```python\nx\n```\n<b>", "```python\nx\n```\n```{include} a\n```",
            "````{raw} html\n```python\n```\n````"]
NUMBERS = ["", "x,y\n1\n", "x\n" + "1" * 200_000]                          # a cell longer than Python's csv reads
OTHERS = ["text/html", "application/javascript", "text/latex", "image/svg+xml", "image/jpeg",
          "application/vnd.jupyter.widget-view+json"]


@pytest.mark.parametrize(("kind", "content", "says"), [
    *((KIND, content, "a table that is none") for content in ("x", [], None, {"name": "x"}, TABLE | {"script": "a()"})),
    *(("text/markdown", content, "not one block of code") for content in LISTINGS),
    *(("text/csv", content, "numbers that are no table") for content in NUMBERS),
    *(("image/png", content, "a picture") for content in PICTURES),
    *((kind, "x", "an output of the kind") for kind in OTHERS)])
def test_what_is_not_of_its_kind_is_refused(root: Path, kind: str, content: object, says: str) -> None:
    """What a table may hold is tested in test_tables.py. Markdown beside a listing could be a directive."""
    with pytest.raises(BadFile, match=rf"cell 3: .*{says}.*pcgraph run page"):
        gate.admit(executed(new_output("display_data", {kind: content})), "page", root)
