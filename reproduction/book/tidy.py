"""Tables that a notebook showed, made easier to read when its page is staged; none of their numbers changes."""

import re
from collections.abc import Sequence
from itertools import starmap

from bs4 import BeautifulSoup, Tag

from .tables import DASH

NUMBER = re.compile(r"(-?[\d,]+)(?:\.\d+)?(?:e-\d+)?(?= %| ±| \(|$)")      # what begins with one, and its whole part
CONSTANT = ("seeds", "training images", "epochs", "sweep", "images", "steps", "batch size")    # titles of settings
FIGURE_SPACE = "\u2007"                            # as wide as a digit


def tidied(html: str, says: str = "") -> str:
    """The HTML of a table with the points of numbers below one another, with what is the same in all rows in a sentence
    below, and with what it shows (``says``) above it. Cells that are all the same stay, unseen, for the CSV; verdicts
    stay as they are.
    """
    page = BeautifulSoup(html, "html.parser")
    for table in page.find_all("table", id=re.compile("^T_(?!verdicts)")):
        if says:
            above = page.new_tag("p", attrs={"class": "table-says", "id": f"says-{table['id']}"})
            above.string, table["aria-describedby"] = says, above["id"]
            table.insert_before(above)
        rows = [row.find_all(["td", "th"]) for row in table.find_all("tr")]
        if len({len(row) for row in rows}) != 1 or len(rows) < 3:
            continue
        alike = {}
        for head, *cells in zip(*rows, strict=True):
            title, texts = _text(head), [_text(cell) for cell in cells]
            if title in CONSTANT and len(set(texts)) == 1:
                alike[title] = texts[0]
                for cell in (head, *cells):
                    cell["hidden"] = ""
            elif all(NUMBER.match(text) for text in texts if text != DASH):
                _on_the_point(cells)
        if alike:
            said = page.new_tag("p", attrs={"class": "alike"})
            said.string = f"In all rows: {'; '.join(starmap(_counted, alike.items()))}."
            table.insert_after(said)
    return str(page)


def _on_the_point(cells: Sequence[Tag]) -> None:
    """Space before numbers with fewer digits before the point."""
    before = [len(found[1]) if (found := NUMBER.match(_text(cell))) else 0 for cell in cells]
    for cell, width in zip(cells, before, strict=True):
        if 0 < width < max(before):
            cell.insert(0, FIGURE_SPACE * (max(before) - width))


def _counted(title: str, value: str) -> str:
    """``5 seeds``, ``1 seed``, but ``sweep hyper``."""
    return f"{value} {title.removesuffix('s') if value == '1' else title}" if value.isdigit() else f"{title} {value}"


def _text(cell: Tag) -> str:
    return " ".join(cell.get_text(" ").split())
