"""The captioned figures of executed notebooks: their pictures, their captions and the series that they draw."""

import base64
import re
from collections import ChainMap
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from nbformat import NotebookNode
from PIL import Image

from . import galleries, polish
from .handover import NUMBERS

PICTURE = "image/png"
ROLE = re.compile(r"\{\w+\}`([^`<]*?)(?: <[^>]*>)?`")                      # such as {term}, and the words that it shows
COLOURS = 128                                       # of a small picture: a page shows dozens, and half of the bytes do
SEEN = (3, 2)                                       # of a gallery: columns and rows


@dataclass(frozen=True, eq=False)
class Figure:
    """A captioned figure of a page, and the cell that drew it. ``numbers``: what it draws, as CSV; empty if it draws
    none. ``alt``: the notebook's text for readers who do not see it, or else its caption without markup.
    """

    name: str
    cell: NotebookNode
    png: bytes
    numbers: str
    alt: str


def of(notebook: NotebookNode) -> dict[str, Figure]:
    """The captioned figures of a notebook, by name."""
    found = {}
    for cell in notebook.cells:
        outputs = ChainMap(*(output.get("data", {}) for output in cell.get("outputs", [])))
        about = cell.metadata.get("mystnb", {})
        caption = " ".join(about.get("figure", {}).get("caption", "").split())
        plain = re.sub(r"[`*$\\{}]", "", ROLE.sub(r"\1", caption)) or "A picture without a caption."
        if PICTURE in outputs and (name := about.get("figure", {}).get("name")):
            found[name] = Figure(name, cell, base64.b64decode(outputs[PICTURE]), outputs.get(NUMBERS, ""),
                                 about.get("image", {}).get("alt") or plain)
    return found


def thumbnail(figure: Figure, folder: Path, largest: int) -> dict[str, int | bool]:
    """Write a small picture of a figure, at most ``largest`` pixels wide and high: of rows of pictures, the first few.
    Returns its size in pixels, and whether it shows photographs, which no theme turns.
    """
    folder.mkdir(parents=True, exist_ok=True)
    picture = Image.open(BytesIO(figure.png)).convert("RGB")
    if box := galleries.corner(picture, *SEEN):
        picture = picture.crop(box)
    photograph = polish.is_photograph(picture)                             # small, even lines have many shades
    picture.thumbnail((largest, largest))
    picture.quantize(COLOURS).save(folder / f"{figure.name}.png", optimize=True)
    return {"width": picture.size[0], "height": picture.size[1], "photograph": photograph}
