"""Renew the picture of the README, a figure of a published page: ``python scripts/renew_published.py``."""

import nbformat

from reproduction import checkout
from reproduction.book import figures

PICTURE = checkout.ROOT / "results" / "figures" / "completion.png"
PAGE, FIGURE = "04a-topologies", "fig-4a-completion"


def picture() -> bytes:
    """The figure as the published page has it."""
    notebook = nbformat.read(checkout.ROOT / "book" / "notebooks" / f"{PAGE}.ipynb", as_version=4)
    return figures.of(notebook)[FIGURE].png


if __name__ == "__main__":
    PICTURE.write_bytes(picture())
