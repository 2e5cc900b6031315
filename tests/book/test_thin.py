"""Pages show the query or the training that they are about. Oracles: the cells themselves; a fresh interpreter's
namespace, for what runs by itself."""

from pathlib import Path

import pytest
from nbformat import NotebookNode

import pcgraph_lite as pcg
from pcgraph_lite.images import datasets
from reproduction import checkout
from reproduction.book import notebooks


def tags(cell: NotebookNode) -> list[str]:
    return cell.metadata.get("tags", [])


PAGES = sorted(path.stem for path in (checkout.ROOT / "notebooks").glob("*.md"))
ASKING = [page for page in PAGES if any("science" in tags(cell) for cell in notebooks.cells(page))]
LONGEST, VISIBLE = 25, 12                                  # lines of a cell that are not blank
ENOUGH, STEPS = 200, 100                                   # images, and steps of a query


def lines(code: str) -> int:
    return sum(bool(line.strip()) for line in code.splitlines())


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
