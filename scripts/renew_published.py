"""Renew what follows from published runs: verdict tables after a rule in claims.yaml changed, and the README's picture.

    python scripts/renew_published.py

Nothing is executed: a verdict follows from the committed records alone, and the picture is a figure of a published
page. The command prints which files changed.
"""

import base64
from pathlib import Path

import nbformat

from pcgraph_lite.files import write_aside
from reproduction import checkout
from reproduction.book import tables

CALL = ".verdicts("
PICTURE = checkout.ROOT / "results" / "figures" / "completion.png"         # of the README
SHOWN = "04a-topologies", "fig-4a-completion"                              # page and figure that it is


def outdated(page: Path) -> nbformat.NotebookNode | None:
    """The published page with the verdicts of today's rules. None: it has them already, or none at all."""
    notebook = nbformat.read(page, as_version=4)
    saved = checkout.ROOT / "results" / "records" / f"{page.stem}.json"
    changed = False
    for cell in notebook.cells:
        if cell.cell_type == "code" and CALL in cell.source and cell.outputs:
            shown = cell.outputs[-1].data
            html = tables.verdicts(saved, whole=True).to_html()
            changed |= shown["text/html"] != html
            shown["text/html"] = html
    return notebook if changed else None


def picture() -> bytes:
    """The figure that the README shows, as the published page has it."""
    page, name = SHOWN
    notebook = nbformat.read(checkout.ROOT / "book" / "notebooks" / f"{page}.ipynb", as_version=4)
    [cell] = [cell for cell in notebook.cells
              if cell.metadata.get("mystnb", {}).get("figure", {}).get("name") == name]
    return base64.b64decode(cell.outputs[0].data["image/png"])


def main() -> None:
    """Write what changed."""
    for page in sorted((checkout.ROOT / "book" / "notebooks").glob("*.ipynb")):
        if (notebook := outdated(page)) is not None:
            with write_aside(page) as part:
                nbformat.write(notebook, part)
            print(page.name)
    if PICTURE.read_bytes() != (shown := picture()):
        with write_aside(PICTURE) as part:
            part.write_bytes(shown)
        print(PICTURE.name)


if __name__ == "__main__":
    main()
