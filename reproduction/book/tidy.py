"""Tables that a notebook showed, made easier to read when its page is staged; none of their numbers changes."""

import re
from collections.abc import Sequence
from itertools import starmap

from bs4 import BeautifulSoup, Tag
from nbformat import NotebookNode

from .tables import BESIDE, DASH

NUMBER = re.compile(r"(-?[\d,]+)(?:\.\d+)?(?:e-\d+)?(?= %| ±| \(|$)")      # what begins with one, and its whole part
# titles of settings
CONSTANT = ("seeds", "training images", "epochs", "sweep", "images", "steps", "batch size", "runs")
FIGURE_SPACE = "\u2007"                            # as wide as a digit
WIDE = 20                                          # letters of a title that would wrap into many lines on a phone
LONG = 32                                          # letters of words that need some width on a phone
FOLDED = 3                                         # comparisons with rivals; more fold behind their count
OUTCOMES = {"better": "better than", "level": "not told apart from", "worse": "worse than"}


def tidied(html: str, says: str = "") -> str:
    """The HTML of a table with the points of numbers below one another, with what is the same in all rows in a sentence
    below, and with what it shows (``says``) above it. Cells that are all the same, or all empty, stay, unseen, for the
    CSV. Verdicts keep their columns; each check in them is a line of its own.
    """
    page = BeautifulSoup(html, "html.parser")
    for table in page.find_all("table", id=re.compile("^T_verdicts")):
        _by_line(page, table)
    for table in page.find_all("table", id=re.compile("^T_(?!verdicts)")):
        if says:
            above = page.new_tag("p", attrs={"class": "table-says", "id": f"says-{table['id']}"})
            above.string, table["aria-describedby"] = says, above["id"]
            table.insert_before(above)
        rows = [row.find_all(["td", "th"]) for row in table.find_all("tr")]
        if len({len(row) for row in rows}) != 1 or len(rows) < 3:
            continue
        alike = _columns(list(zip(*rows, strict=True)))
        if alike:
            said = page.new_tag("p", attrs={"class": "alike"})
            said.string = f"In all rows: {'; '.join(starmap(_counted, alike.items()))}."
            table.insert_after(said)
    return str(page)


def _columns(columns: Sequence[Sequence[Tag]]) -> dict[str, str]:
    """Hide columns of one word, align numbers, mark long words. Returns what is the same in all rows."""
    alike = {}
    for head, *cells in columns:
        title, texts = _text(head), [_text(cell) for cell in cells]
        if len(title) > WIDE:
            head["class"] = [*head.get("class", []), "long"]
        if any(len(text) > LONG and not NUMBER.match(text) for text in texts):
            for cell in cells:
                cell["class"] = [*cell.get("class", []), "long"]
        constant = title in CONSTANT and len(set(texts)) == 1
        if set(texts) == {DASH} or constant:
            for cell in (head, *cells):
                cell["hidden"] = ""
            alike |= {title: texts[0]} if constant and texts[0] != DASH else {}
        elif all(NUMBER.match(text) for text in texts if text != DASH):
            _on_the_point(cells)
            for cell in cells:
                cell["class"] = [*cell.get("class", []), "number"]
    return alike


def joined(outputs: Sequence[NotebookNode]) -> list[NotebookNode]:
    """The outputs of a cell without progress bars, and what it printed in turns as one text."""
    kept: list[NotebookNode] = []
    for output in outputs:
        if output.get("name") == "stderr":
            continue
        if kept and output.output_type == kept[-1].output_type == "stream":
            kept[-1].text += output.text
        else:
            kept.append(output)
    return kept


def _by_line(page: BeautifulSoup, table: Tag) -> None:
    """Lines of verdicts as blocks, each cell with its title for narrow screens, and many rivals behind their count."""
    titles = [_text(cell) for cell in table.find("tr").find_all("th")]
    for row in table.find_all("tr")[1:]:
        for title, cell in zip(titles, row.find_all("td"), strict=True):
            if title not in titles[:2]:
                cell["data-title"] = title
            lines = cell.decode_contents().split("<br/>")
            if len(lines) < 2:
                continue
            inside = "".join(f'<span class="line">{line}</span>' for line in lines)
            if title == BESIDE and len(lines) > FOLDED:
                said = _text(cell)
                counts = [f"{word} in {said.count(words)}" for word, words in OUTCOMES.items() if words in said]
                inside = f"<details><summary>{', '.join(counts)}</summary>{inside}</details>"
            cell.clear()
            cell.append(BeautifulSoup(inside, "html.parser"))


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
