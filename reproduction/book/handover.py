"""A table as a notebook hands it over: a data frame with its name, its caption and its formats, and nothing else.

A cell is a number, a text, a truth value, None, a number with its spread (``{"mean", "sd"}``) or a number with its
interval (``{"mean", "low", "high"}``, for a share ``{"share", "low", "high"}``). ``formats`` turns cells into text.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
from pydantic import Field, model_validator

from ..evidence.strict import Strict
from . import formats

KIND = "application/vnd.pcgraph.table+json"        # its MIME type in an executed notebook
Format = Annotated[str, Field(pattern=r"^(,|\.\d[fg])$")]
Cell = None | bool | int | float | str | dict[str, float | None]


class Handed(Strict):
    """A table as JSON in an executed notebook. The fields are those of ``Table``."""

    name: Annotated[str, Field(pattern=r"^[\w ,-]+$", max_length=120)]
    caption: str
    columns: list[str]
    rows: list[list[Cell]]
    formats: dict[str, Format]
    settings: bool
    paper: dict[str, Cell]

    @model_validator(mode="after")
    def _rows_as_wide_as_the_head(self) -> "Handed":
        if len(set(self.columns)) < len(self.columns) or any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError("expected columns of different names, and a cell for each in every row")
        return self


@dataclass(frozen=True, eq=False)
class Table:
    """A table that a notebook shows and the site renders.

    ``formats``: column -> format of its numbers if four digits are not right. ``settings``: the table says how a page
    was made, so the site folds it away and lists below it what all rows share. ``paper``: the paper's own settings.
    """

    data: pd.DataFrame
    name: str
    caption: str = ""
    formats: Mapping[str, str] = field(default_factory=dict)
    settings: bool = False
    paper: Mapping[str, object] = field(default_factory=dict)

    def handed(self) -> dict[str, Any]:
        """The table as JSON that fits ``Handed``."""
        return {"name": self.name, "caption": self.caption, "columns": list(self.data.columns),
                "rows": [list(map(_bare, row)) for row in self.data.to_numpy(object)], "formats": dict(self.formats),
                "settings": self.settings, "paper": {key: _bare(value) for key, value in self.paper.items()}}

    @classmethod
    def read(cls, content: object) -> "Table":
        """The table that ``handed`` turned into JSON. Raises pydantic.ValidationError: it is no such table."""
        read = Handed.model_validate(content)
        return cls(pd.DataFrame(read.rows, columns=read.columns, dtype=object), read.name, read.caption, read.formats,
                   read.settings, read.paper)

    def to_csv(self, file: Path) -> None:
        """Write it with one number per column: an ``MSE`` with a spread becomes ``MSE.mean`` and ``MSE.sd``."""
        pd.json_normalize(self.data.to_dict("records")).to_csv(file, index=False)

    def set_caption(self, caption: str) -> "Table":
        """The same table with a caption."""
        return replace(self, caption=caption)

    def __repr__(self) -> str:
        shown = {name: [formats.cell(_bare(value), self.formats.get(name, "")) for value in self.data[name]]
                 for name in self.data.columns}
        return pd.DataFrame(shown).to_string(index=False)

    def _repr_mimebundle_(self, **_: object) -> dict[str, object]:
        return {KIND: self.handed(), "text/plain": repr(self)}


def _bare(value: object) -> Any:
    """A cell as JSON can hold it. NaN and infinite numbers become None."""
    if isinstance(value, Mapping):
        return {str(key): _bare(part) for key, part in value.items()}
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or value is pd.NaT or (isinstance(value, float) and not math.isfinite(value)):
        return None
    return value if isinstance(value, str | int | float | bool) else str(value)
