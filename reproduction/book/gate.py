"""Admit to the book only what our own runs wrote, and nothing that a browser or the builder would execute. Text,
settings, captions and alt texts of a staged page come from its source. The executed notebook adds only the outputs of
its code cells and the parameters that it ran with, so the text of a page can change without a new run.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

import jupytext
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell
from pydantic import ValidationError

from pcgraph_lite.errors import BadFile
from pcgraph_lite.files import read_text

from .. import checkout
from ..evidence import strict
from .handover import KIND, Table

LISTING = re.compile(r"```python\n(?:(?!```).)*```\s*", re.DOTALL)       # one block of code that ends where it seems to
INJECTED = "injected-parameters"                                           # papermill's tag


def admit(executed: NotebookNode, name: str, root: Path) -> NotebookNode:
    """The page as it may be staged: the source of today with the outputs of ``executed``, or, where code has changed
    since, the latest commit's source that has the executed code. Raises BadFile: no source has that code, or an output
    is neither text nor table nor picture.
    """
    ran = [cell for cell in executed.cells if cell.cell_type == "code"]
    for source in _sources(name, root):
        if _code(source.cells) == _code(cell for cell in ran if not _injected(cell)):
            return _filled(source, ran, name)
    raise BadFile(f"the code cells of the executed notebook {name!r} are not those of notebooks/{name}.md, now or at "
                  f"any commit of it. Run it again: pcgraph run {name}")


def outdated(page: NotebookNode, name: str, root: Path) -> bool:
    """Whether the page ran with the code of an earlier commit."""
    return _code(cell for cell in page.cells if not _injected(cell)) != _code(next(_sources(name, root)).cells)


def _sources(name: str, root: Path) -> Iterator[NotebookNode]:
    """The source as it is now, then as it was after each commit that changed it, the latest first."""
    texts = checkout.earlier(root, f"notebooks/{name}.md")
    for text in chain([read_text(root / "notebooks" / f"{name}.md")], texts):
        yield jupytext.reads(text, fmt="md:myst")


def _code(cells: Iterable[NotebookNode]) -> list[str]:
    return [cell.source.strip() for cell in cells if cell.cell_type == "code"]


def _filled(source: NotebookNode, ran: Sequence[NotebookNode], name: str) -> NotebookNode:
    """The source with the outputs of the code cells that ran, and with papermill's injected cells in their places."""
    left, cells = list(ran), []
    for cell in source.cells:
        while cell.cell_type == "code" and _injected(left[0]):
            cells.append(_parameters(left.pop(0)))
        if cell.cell_type == "code":
            cell.outputs = _outputs(left.pop(0), name, len(cells))
        cells.append(cell)
    cells += map(_parameters, left)
    metadata = NotebookNode(kernelspec={"name": "python3", "display_name": "Python 3", "language": "python"},
                            language_info={"name": "python"})
    return NotebookNode(nbformat=4, nbformat_minor=5, metadata=metadata, cells=cells)


def _parameters(injected: NotebookNode) -> NotebookNode:
    """papermill's cell, reduced to its code."""
    return new_code_cell(injected.source, metadata={"tags": [INJECTED, "hide-input"]})


def _outputs(cell: NotebookNode, name: str, number: int) -> list[NotebookNode]:
    """The outputs of one cell without their metadata. Raises BadFile: one of them may not be shown."""
    for output in cell.get("outputs", []):
        if why := _refused(output):
            raise BadFile(f"the executed notebook {name!r}, cell {number}: {why}. Run it again: pcgraph run {name}")
        if "metadata" in output:
            output.metadata = NotebookNode()
    return cell.get("outputs", [])


def _injected(cell: NotebookNode) -> bool:
    """Whether papermill injected the cell, which the site shows as values and never runs."""
    return cell.cell_type == "code" and INJECTED in cell.metadata.get("tags", [])


def _refused(output: NotebookNode) -> str | None:
    """Why an output may not be shown; None if it may."""
    for kind, content in output.get("data", {}).items():
        if kind not in KINDS:
            return f"an output of the kind {kind!r}"
        if (check := KINDS[kind]) and (why := check(content)):
            return why
    return None


def _table(content: object) -> str | None:
    try:
        Table.model_validate(content)
    except ValidationError as error:
        return f"a table that is none ({strict.explain(error.errors()[0], '')})"
    return None


def _listing(content: str) -> str | None:
    return None if LISTING.fullmatch(content) else "Markdown that is not one block of code alone"


KINDS = {"text/plain": None, "text/csv": None, "image/png": None, KIND: _table, "text/markdown": _listing}
