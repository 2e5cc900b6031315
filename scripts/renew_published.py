"""Renew what needs no run, the text of the published pages and the README's picture, a figure of one of them:
``python scripts/renew_published.py``.
"""

import nbformat

from reproduction import checkout
from reproduction.book import figures, gate

PICTURE, PAGES = checkout.ROOT / "results/figures/completion.png", checkout.ROOT / "book/notebooks"
FIGURE = "fig-4a-completion"


def picture() -> bytes:
    """The figure as the published page has it."""
    return figures.of(nbformat.read(PAGES / "04a-topologies.ipynb", as_version=4))[FIGURE].png


if __name__ == "__main__":
    for file in PAGES.glob("*.ipynb"):
        executed = nbformat.read(file, as_version=4)
        page, _ = gate.admit(executed, file.stem, checkout.ROOT)
        for k, cell in enumerate(page.cells):                              # the same each time
            cell.id = f"cell-{k}"
        nbformat.write(nbformat.NotebookNode(page, metadata=executed.metadata), file)
    PICTURE.write_bytes(picture())
