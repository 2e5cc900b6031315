"""Renew the picture of the README, a figure of a published page: ``python scripts/renew_published.py``."""

import nbformat

from reproduction import checkout
from reproduction.book import figures

PICTURE = checkout.ROOT / "results" / "figures" / "completion.png"
PAGE, FIGURE = checkout.ROOT / "book" / "notebooks" / "04a-topologies.ipynb", "fig-4a-completion"


def picture() -> bytes:
    """The figure as the published page has it."""
    return figures.of(nbformat.read(PAGE, as_version=4))[FIGURE].png


if __name__ == "__main__":
    PICTURE.write_bytes(picture())
