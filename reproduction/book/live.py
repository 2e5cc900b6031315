"""The live parts of the book: scripts that run a graph in the reader's browser. A part is a Markdown file of
``book/live/parts`` with an image in its place; ``scripts/export_live.py`` makes the data that the parts load.
"""

import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from PIL import Image

from . import render

FOLDER = "live"                                                            # on the website, beside book/
IMAGE = re.compile(r"!\[([^]]+)\]\(live\)")        # with its description, for readers who do not see it
NAMED = re.compile(r"<!-- live: (\w+) -->")        # in a cell of a notebook, where a part stands


def shares(records: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """How many stored digits the graphs of page 3c, as the part has one, return from noise: a per cent."""
    found = [one["value"] for one in records if (one["notebook"], one["dataset"], one["quantity"]) == (
        "03c-associative-memory", "mnist", "retrieved_share") and one["parameters"].get("corruption") == "noise"]
    return {"noise": f"{100 * sum(found) / len(found):.1f} %"} if found else {}


def place(root: Path, source: Path, scored: dict[str, str]) -> None:
    """Copy scripts and data into a staged book, and write the parts of prose pages. ``scored``: of ``shares``."""
    shutil.copytree(root / "book/live", source / "vendor" / FOLDER, ignore=shutil.ignore_patterns("parts"))
    generated = source / "book/generated"
    generated.mkdir(parents=True, exist_ok=True)
    (generated / "home.md").write_text(markup(root, "memory", "../", scored | {"brief": "yes"}), encoding="utf-8")
    for part in parts(root):
        facts = scored if part == "memory" else {}
        (generated / f"live-{part}.md").write_text(block(root, part, "../", facts), encoding="utf-8")


def insert(root: Path, notebook: NotebookNode) -> None:
    """Put the parts where a page's cells name them."""
    for cell in notebook.cells:
        cell.source = NAMED.sub(lambda named: block(root, named[1], "../../"), cell.source)


def parts(root: Path) -> dict[str, str]:
    """The Markdown of every part, by name."""
    return {file.stem: file.read_text(encoding="utf-8") for file in (root / "book/live/parts").glob("*.md")}


def block(root: Path, part: str, up: str, facts: Mapping[str, str] = {}) -> str:
    """The Markdown of a part. ``facts``: what its script is told. ``up``: the path from the page to the site's root."""
    return IMAGE.sub(lambda _: markup(root, part, up, facts), parts(root)[part])


def markup(root: Path, part: str, up: str, facts: Mapping[str, str] = {}) -> str:
    """The HTML that the scripts look for: a still picture, half of whose size keeps its place, and what starts."""
    with Image.open(root / "book/live/stills" / f"{part}.png") as still:
        size = [side // 2 for side in still.size]                          # drawn with two pixels for each
    alt = IMAGE.findall(parts(root)[part])[0]
    return render.template("live.html", part=part, alt=alt, up=up + FOLDER, facts=facts, size=size)
