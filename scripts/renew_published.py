"""Renew the picture of the README, which is a figure of a published page.

    python scripts/renew_published.py

Nothing is executed. Verdicts need no renewal: the site judges the committed records whenever it is built.
"""

import nbformat

from pcgraph_lite.files import write_aside
from reproduction import checkout
from reproduction.book import figures

PICTURE = checkout.ROOT / "results" / "figures" / "completion.png"
PAGE, FIGURE = "04a-topologies", "fig-4a-completion"


def picture() -> bytes:
    """The figure as the published page has it."""
    notebook = nbformat.read(checkout.ROOT / "book" / "notebooks" / f"{PAGE}.ipynb", as_version=4)
    return figures.of(PAGE, notebook)[FIGURE].png


def main() -> None:
    """Write it where it changed."""
    if PICTURE.read_bytes() != (shown := picture()):
        with write_aside(PICTURE) as part:
            part.write_bytes(shown)
        print(PICTURE.name)


if __name__ == "__main__":
    main()
