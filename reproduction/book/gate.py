"""Admit to the book only what our own runs wrote, and nothing that a browser or the builder would execute. Text,
settings, captions and alt texts of a staged page come from its source. The executed notebook adds only the outputs of
its code cells and the parameters that it ran with, so the text of a page can change without a new run.
"""

import ast
import base64
import csv
import re
from collections.abc import Iterable, Sequence
from io import BytesIO, StringIO
from itertools import chain
from pathlib import Path
from typing import Any

import jupytext
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell
from PIL import Image
from pydantic import ValidationError

from pcgraph_lite.errors import BadFile
from pcgraph_lite.files import read_text

from .. import checkout
from ..evidence import strict
from .handover import KIND, NUMBERS, Table

LARGEST_PICTURE = 50_000_000                                               # pixels
LISTING = re.compile(r"```python\n(?:(?!```).)*```\s*", re.DOTALL)       # one block of code that ends where it seems to
INJECTED = "injected-parameters"                                           # papermill's tag


def admit(executed: NotebookNode, name: str, root: Path) -> tuple[NotebookNode, bool]:
    """The page as it may be staged: the source of today with the outputs of ``executed``, or, where code has changed
    since, the latest commit's source that has the executed code; and whether it has changed. Raises BadFile: no source
    has that code, or an output is neither text nor table nor picture.
    """
    ran = [cell for cell in executed.cells if cell.cell_type == "code"]
    texts = chain([read_text(root / "notebooks" / f"{name}.md")], checkout.earlier(root, f"notebooks/{name}.md"))
    for age, source in enumerate(jupytext.reads(text, fmt="md:myst") for text in texts):           # the latest first
        if _code(source.cells) == _code(cell for cell in ran if not _injected(cell)):
            return _filled(source, ran, name), age > 0
    raise BadFile(f"the code cells of the executed notebook {name!r} are not those of notebooks/{name}.md, now or at "
                  f"any commit of it. Run it again: pcgraph run {name}")


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
    return new_code_cell(injected.source, metadata={"tags": [INJECTED, "hide-input"]})


def _outputs(cell: NotebookNode, name: str, number: int) -> list[NotebookNode]:
    """The outputs of one cell without metadata and progress bars. Raises BadFile: one of them may not be shown."""
    kept = [output for output in cell.get("outputs", []) if output.get("name") != "stderr"]
    for output in kept:
        if why := _refused(output):
            raise BadFile(f"the executed notebook {name!r}, cell {number}: {why}. Run it again: pcgraph run {name}")
        if "metadata" in output:
            output.metadata = NotebookNode()
    return kept


def _injected(cell: NotebookNode) -> bool:
    """Whether papermill injected the cell: it has papermill's tag and only assigns plain values."""
    if cell.cell_type != "code" or INJECTED not in cell.metadata.get("tags", []):
        return False
    try:
        for node in ast.parse(cell.source).body:
            ast.literal_eval(node.value if isinstance(node, ast.Assign) else node)
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return False
    return True


def _refused(output: NotebookNode) -> str | None:
    if output.output_type not in ("stream", "display_data", "execute_result"):
        return f"an output of type {output.output_type!r}"
    return next(filter(None, (_unfit(kind, content) for kind, content in output.get("data", {}).items())), None)


def _unfit(kind: str, content: Any) -> str | None:
    """Why the content of an output may not be shown; None if it may."""
    try:
        if kind == KIND:
            Table.model_validate(content)
        elif kind == "image/png":
            with Image.open(BytesIO(base64.b64decode(content)), formats=["PNG"]) as picture:
                if picture.width * picture.height > LARGEST_PICTURE:
                    return f"a picture of {picture.width} x {picture.height} pixels"
                picture.verify()
        elif kind == NUMBERS and len({len(row) for row in csv.reader(StringIO(content))}) != 1:
            return "numbers that are no table"
        elif kind == "text/markdown" and not LISTING.fullmatch(content):
            return "Markdown that is not one block of code alone"
        elif kind not in ("text/plain", NUMBERS, "text/markdown"):
            return f"an output of the kind {kind!r}"
    except ValidationError as error:
        return f"a table that is none ({strict.explain(error.errors()[0], '')})"
    except csv.Error:                                                      # a cell without end
        return "numbers that are no table"
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        return "a picture that is none"
    return None
