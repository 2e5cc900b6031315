"""Renew the verdict tables of the published pages from their records, after a rule in claims.yaml changed.

    python scripts/renew_verdicts.py

Nothing is executed: a verdict follows from the committed records alone. The command prints which pages changed.
"""

from pathlib import Path

import nbformat

from pcgraph_lite import checkout
from pcgraph_lite.book import tables
from pcgraph_lite.files import write_aside

CALL = ".verdicts("


def outdated(page: Path) -> nbformat.NotebookNode | None:
    """The published page with the verdicts of today's rules. None: it has them already, or none at all."""
    notebook = nbformat.read(page, as_version=4)
    saved = checkout.ROOT / "results" / "records" / f"{page.stem}.json"
    changed = False
    for cell in notebook.cells:
        if cell.cell_type == "code" and CALL in cell.source and cell.outputs:
            shown = cell.outputs[-1].data
            html = tables.verdicts(saved).to_html()
            changed |= shown["text/html"] != html
            shown["text/html"] = html
    return notebook if changed else None


def main() -> None:
    """Write the pages that changed."""
    for page in sorted((checkout.ROOT / "book" / "notebooks").glob("*.ipynb")):
        if (notebook := outdated(page)) is not None:
            with write_aside(page) as part:
                nbformat.write(notebook, part)
            print(page.name)


if __name__ == "__main__":
    main()
