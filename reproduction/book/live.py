"""The live parts of the book: scripts that run a graph in the reader's browser. A part is a Markdown file of
``book/live/parts``; staging inserts it into its page. ``scripts/export_live.py`` makes the data that the parts load.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path

from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell
from PIL import Image

from . import render
from .judged import Judged

# page -> its part, and the beginning of the cell before which the part stands (at the end if there is no such cell)
PAGES = {"02-pc-graphs": ("ring", "## Equations 1 to 4 of the paper"),
         "04a-topologies": ("masks", "## The models"),
         "i-relaxed-time": ("relaxed", "**A rule for choosing T.**")}
# part -> description of its picture, for readers without JavaScript and for those who do not see it
PARTS = {
    "graph": "A trained graph in the page: half a digit to ask about, the digit that the graph answers with, its "
             "energy falling over value steps, and bars for the ten label vertices",
    "memory": "A memory in the page: a third of a stored digit, the whole digit that comes back, and its energy "
              "falling to nearly 0",
    "ring": "Three vertices in a ring with sliders for values and weights, the energy falling over value steps, and "
            "the equations with the current numbers",
    "masks": "A topology picked from a list, drawn as a mask of rows and columns and as a circuit of groups",
    "relaxed": "A task picked from a list, the scores of its runs over relaxed time, and a slider that says what "
               "another time costs",
}
FOLDER = "live"                                                            # on the website, beside book/


def shares(judged: Judged) -> dict[str, str]:
    """What came of the experiment ``noise`` on digits, which a page scored, as a per cent, for the part to say."""
    cases = [case for case in judged.verdicts["gen-e"].outcomes["noise"].cases if case.dataset == "mnist"]
    return {"noise": f"{100 * cases[0].values.mean():.1f} %"} if cases else {}


def place(root: Path, source: Path, scored: Mapping[str, str]) -> None:
    """Copy scripts and data into a staged book, and write the parts that prose pages include. ``scored``: of
    ``shares``.
    """
    shutil.copytree(root / "book/live", source / "vendor" / FOLDER, ignore=shutil.ignore_patterns("parts"))
    shutil.rmtree(source / "book/live", ignore_errors=True)                # copied with the pages
    generated = source / "book/generated"
    generated.mkdir(parents=True, exist_ok=True)
    (generated / "home.md").write_text(markup(root, "memory", "../", scored | {"brief": "yes"}), encoding="utf-8")
    for part in PARTS:
        facts = scored if part == "memory" else {}
        (generated / f"live-{part}.md").write_text(block(root, part, "../", facts), encoding="utf-8")


def insert(root: Path, name: str, notebook: NotebookNode) -> None:
    """Insert a page's live part, if it has one, as a separate cell."""
    if name not in PAGES:
        return
    part, beginning = PAGES[name]
    at = next((k for k, cell in enumerate(notebook.cells) if cell.source.startswith(beginning)), len(notebook.cells))
    notebook.cells.insert(at, new_markdown_cell(block(root, part, "../../"), id=f"live-{part}"))


def block(root: Path, part: str, up: str, facts: Mapping[str, str] = {}) -> str:
    """The Markdown of a part. ``facts``: what its script is told. ``up``: the path from the page to the site's root."""
    words = (root / "book/live/parts" / f"{part}.md").read_text(encoding="utf-8")
    return words.replace("{live}", markup(root, part, up, facts))


def markup(root: Path, part: str, up: str, facts: Mapping[str, str] = {}) -> str:
    """The HTML that the scripts look for: a still picture, half of whose size keeps its place, and what starts."""
    with Image.open(root / "book/live/stills" / f"{part}.png") as still:
        size = [side // 2 for side in still.size]                          # drawn with two pixels for each
    return render.template("live.html", part=part, alt=PARTS[part], up=up + FOLDER, facts=facts, size=size)
