"""The captioned figures of executed notebooks: their pictures, their captions and the series that they draw."""

import base64
import re
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from pathlib import Path

from nbformat import NotebookNode
from PIL import Image

from . import polish
from .handover import NUMBERS

PICTURE = "image/png"


@dataclass(frozen=True, eq=False)
class Figure:
    """A captioned figure of a page, and the cell that drew it."""

    page: str
    name: str
    cell: NotebookNode

    @property
    def png(self) -> bytes:
        """The picture."""
        return base64.b64decode(next(filter(None, _outputs(self.cell, PICTURE))))

    @cached_property
    def numbers(self) -> str:
        """The series that it draws, as CSV; an empty text if it draws none."""
        return next(iter(_outputs(self.cell, NUMBERS)), "")

    @property
    def markdown(self) -> str:
        """Its caption as written in the notebook, on one line."""
        return " ".join(self.cell.metadata.mystnb.figure.get("caption", "").split())

    @property
    def caption(self) -> str:
        """Its caption without markup. Of a role such as ``{term}`` the words that it shows remain."""
        return re.sub(r"[`*$\\{}]", "", re.sub(r"\{\w+\}`([^`<]*?)(?: <[^>]*>)?`", r"\1", self.markdown))

    @property
    def alt(self) -> str:
        """The text for readers who do not see it."""
        return self.cell.metadata.mystnb.get("image", {}).get("alt") or self.caption or "A picture without a caption."


def of(page: str, notebook: NotebookNode) -> dict[str, Figure]:
    """The captioned figures of a notebook, by name."""
    named = {cell.metadata.get("mystnb", {}).get("figure", {}).get("name"): cell
             for cell in notebook.cells if _outputs(cell, PICTURE)}
    return {name: Figure(page, name, cell) for name, cell in named.items() if name}


def _outputs(cell: NotebookNode, kind: str) -> list[str]:
    return [output.data[kind] for output in cell.get("outputs", []) if kind in output.get("data", {})]


COLOURS = 128                                       # of a small picture: a page shows dozens, and half of the bytes do
DETAIL = (1.5, 0.65)                                # of rows of pictures: its width by that of the small one, its shape


def thumbnail(figure: Figure, folder: Path, largest: int) -> dict[str, int | bool]:
    """Write a small picture of a figure, at most ``largest`` pixels wide and high: of rows of pictures, which draw no
    series, some of the first. Returns its size in pixels, and whether it shows photographs, which no theme turns.
    """
    folder.mkdir(parents=True, exist_ok=True)
    drawn, place = Image.open(BytesIO(figure.png)), folder / f"{figure.name}.png"
    picture, dense = drawn.convert("RGB"), polish.density(drawn)
    if not figure.numbers:
        wide, high = (min(side, round(part)) for side, part in zip(
            picture.size, (DETAIL[0] * largest * dense, DETAIL[0] * DETAIL[1] * largest * dense), strict=True))
        left = min(picture.size[0] - wide, round(0.45 * picture.size[0]))  # right of their names
        picture = picture.crop((left, 0, left + wide, high))
    photograph = polish.is_photograph(picture)                             # small, even lines have many shades
    picture.thumbnail((largest, largest))
    picture.quantize(COLOURS).save(place, optimize=True)
    return {"width": picture.size[0], "height": picture.size[1], "photograph": photograph}
