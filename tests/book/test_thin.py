"""Pages show the query or the training that they are about, and keep the bookkeeping small. Oracles: Python's own
parser, for what a line is; the modules themselves; a fresh interpreter's namespace, for what runs by itself. How lines
are counted: every line of a code cell that is not blank. Not bookkeeping are the parameters, the imports, the cells
tagged ``science``, and statements that ask, measure or draw: those that call ``pcg.*``, a module of ``studies`` or
``engine``, ``metrics`` or ``plots``, also inside a loop or a function. All others are: the heads of loops and
functions, tables, records, setup, and whatever gathers numbers."""

import ast
from pathlib import Path

import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

import pcgraph_lite as pcg
from pcgraph_lite.images import datasets
from reproduction import checkout
from reproduction.book import notebooks


def tags(cell: NotebookNode) -> list[str]:
    return cell.metadata.get("tags", [])


PAGES = sorted(path.stem for path in (checkout.ROOT / "notebooks").glob("*.md"))
ASKS = {"pcg", "plots", "trials", "frames", "tasks", "memory", "oracles", "convergence", "circuits", "structure",
        "learning", "equations", "topology", "metrics", "measures", "causal", "uncertainty"}
KEEPS = {"recorder", "record", "tables", "append", "DataFrame"}
ASKING = [page for page in PAGES if any("science" in tags(cell) for cell in notebooks.cells(page))]
LONGEST, VISIBLE, SHARE = 25, 12, 0.42
ENOUGH, STEPS = 200, 100                                   # images, and steps of a query


def lines(code: str) -> int:
    return sum(bool(line.strip()) for line in code.splitlines())


def bookkeeping(cell: NotebookNode) -> int:
    """Lines of a cell that neither ask nor draw."""
    if {"parameters", "science"} & set(tags(cell)):
        return 0
    spared = sum(lines(ast.get_source_segment(cell.source, node)) for node in ast.walk(ast.parse(cell.source))
                 if isinstance(node, ast.stmt) and _spared(node))
    return lines(cell.source) - spared


def _spared(node: ast.stmt) -> bool:
    if isinstance(node, ast.Import | ast.ImportFrom):
        return True
    if hasattr(node, "body"):                                              # its statements are looked at one by one
        return False
    calls = [set(ast.unparse(call.func).split(".")) for call in ast.walk(node) if isinstance(call, ast.Call)]
    return any(name & ASKS for name in calls) and not any(name & KEEPS for name in calls)


@pytest.mark.parametrize("page", ASKING)
def test_a_page_shows_what_it_asks(page: str) -> None:
    """The cell tagged science is short and not folded away; no cell is long."""
    cells = notebooks.cells(page)
    shown = [cell for cell in cells if "science" in tags(cell)]
    assert shown and all("hide-input" not in tags(cell) and lines(cell.source) <= VISIBLE for cell in shown)
    assert max(lines(cell.source) for cell in cells) <= LONGEST


@pytest.mark.parametrize("page", ASKING)
def test_what_a_page_shows_runs_by_itself(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a notebook of the reader's own: an empty folder, nothing but the cell, which imports what it uses. The smoke
    run of the page passes over these cells. Fewer images, epochs and steps show as well whether it runs."""
    load, fit, query = datasets.load, pcg.fit, pcg.query
    monkeypatch.setattr(datasets, "load", lambda *asked, **options: load(*asked, **options).subset(ENOUGH))
    monkeypatch.setattr(pcg, "fit", lambda *given, **settings: fit(*given, **settings | {"epochs": 1}))
    monkeypatch.setattr(pcg, "query", lambda *given, **settings: query(*given, **settings | {
        "steps": min(settings.get("steps", STEPS), STEPS)}))
    monkeypatch.chdir(tmp_path)
    for cell in notebooks.cells(page):
        if "science" in tags(cell):
            exec(compile(cell.source, page, "exec"), {"__name__": "reader"})


def test_the_bookkeeping_is_small() -> None:
    cells = [cell for page in PAGES for cell in notebooks.cells(page)]
    assert sum(map(bookkeeping, cells)) <= SHARE * sum(lines(cell.source) for cell in cells)


def test_what_counts() -> None:
    """By hand, of eight lines: three ask or draw, one imports, one asks in a loop; its head, a table and f do not."""
    code = ("import torch\nanswer = pcg.query(graph)\nplots.curves(\n    lines)\nfor x in y:\n    pcg.query(x)\n"
            "tables.plain(trials.means(z))\ndef f(): return graph")
    assert bookkeeping(new_code_cell(code)) == 3
    assert bookkeeping(new_code_cell(code, metadata={"tags": ["science"]})) == 0
