"""What a notebook hands over to the site: tables, and the numbers that its figures draw. A cell of a table is a number,
a text, a truth value, None, or a mapping: a mean with ``sd``, or a mean or share from ``low`` to ``high``.
"""

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from pydantic import Field, model_validator

from ..evidence import decimals, strict

KIND = "application/vnd.pcgraph.table+json"        # MIME type of a table in an executed notebook
NUMBERS = "text/csv"                               # and of what a figure draws
DASH = "—"                                         # an empty cell
Format = Annotated[str, Field(pattern=r"^(,|\.\d[fg])$")]
Cell = None | bool | int | float | str | dict[str, float | None]


class Table(strict.Strict):
    """A table that a notebook shows and the site renders. ``formats``: column -> format, if not four digits.
    ``settings``: it says how a page was made, so the site folds it away. ``paper``: the paper's own settings.
    """

    name: Annotated[str, Field(pattern=r"^[\w ,-]+$", max_length=120)]
    caption: str
    columns: list[str]
    rows: list[list[Cell]]
    formats: dict[str, Format]
    settings: bool
    paper: dict[str, Cell]

    @model_validator(mode="after")
    def _rows_as_wide_as_the_head(self) -> "Table":
        if len(set(self.columns)) < len(self.columns) or any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError("expected columns of different names, and a cell for each in every row")
        return self

    @classmethod
    def of(cls, data: pd.DataFrame, name: str, caption: str = "", formats: Mapping[str, str] = {},
           settings: bool = False, paper: Mapping[str, object] = {}) -> "Table":
        """A table of the cells of a frame."""
        return cls(name=name, caption=caption, columns=list(data.columns), formats=dict(formats), settings=settings,
                   rows=[list(map(_bare, row)) for row in data.to_numpy(object)],
                   paper={key: _bare(value) for key, value in paper.items()})

    @cached_property
    def data(self) -> pd.DataFrame:
        """Its cells as a frame."""
        return pd.DataFrame(self.rows, columns=self.columns, dtype=object)

    def to_csv(self, file: Path) -> None:
        """Write it with one number per column: an ``MSE`` with a spread becomes ``MSE.mean`` and ``MSE.sd``."""
        pd.json_normalize(self.data.to_dict("records")).to_csv(file, index=False)

    def set_caption(self, caption: str) -> "Table":
        """The same table with a caption."""
        return self.model_copy(update={"caption": caption})

    def __repr__(self) -> str:
        shown = {name: [text_of(value, self.formats.get(name, "")) for value in self.data[name]]
                 for name in self.columns}
        return pd.DataFrame(shown).to_string(index=False)

    def _repr_mimebundle_(self, **_: object) -> dict[str, object]:
        return {KIND: self.model_dump(), "text/plain": repr(self)}


def _bare(value: object) -> Any:
    """A cell as JSON can hold it. NaN and infinite numbers become None."""
    if isinstance(value, Mapping):
        return {str(key): _bare(part) for key, part in value.items()}
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or value is pd.NaT or (isinstance(value, float) and not math.isfinite(value)):
        return None
    return value if isinstance(value, str | int | float | bool) else str(value)


def text_of(value: Any, form: str = "") -> str:
    """A cell as text; ``form``: the format of a plain number if not four digits.

    Example:
        >>> text_of(0.05), text_of({"mean": 15.789, "sd": 0.00744}), text_of({"share": 0.875, "low": 0.5, "high": 1.0})
        ('0.05', '15.789 ± 0.007', '87.5 % (50.0 to 100.0)')
    """
    match value:
        case None | "":
            return DASH
        case bool():
            return "yes" if value else "no"
        case int() | float() if form or isinstance(value, int):
            return format(value, form)
        case float():                                                      # without a positive power of ten
            text = f"{value:.4g}"
            return f"{float(text):.0f}" if "e+" in text else text
        case {"share": share, "low": low, "high": high}:
            return f"{100 * share:.1f} % ({100 * low:.1f} to {100 * high:.1f})"
        case {"mean": mean, "low": float(low), "high": float(high)}:
            return decimals.between(mean, low, high)
        case {"mean": mean, "sd": float(sd)}:
            return decimals.spread(mean, sd)
        case {"mean": mean}:
            return text_of(mean)
    return str(value)


def keep(figure: Figure, rows: Sequence[dict[str, Any]] | pd.DataFrame) -> Figure:
    """Keep the numbers of a figure: one row per point, with panel, series, and coordinates by names of the axes."""
    figure.kept = pd.DataFrame(rows).replace("", np.nan).dropna(axis=1, how="all")  # type: ignore[attr-defined]  # for csv
    return figure


def csv(figure: Figure) -> str:
    """The numbers of a figure as CSV; an empty text if it draws none, as pictures and graphs do."""
    kept = getattr(figure, "kept", pd.DataFrame())
    return "" if kept.empty else kept.to_csv(index=False, float_format="%.6g", lineterminator="\n")
