"""Whether the cause of a failed claim is tested: one change that turns it, or a search that found none.

Nothing here is typed: a change is another reading of the claim's records, and a search is all that its committed sweeps
tried.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import pandas as pd
from pydantic import Field, model_validator

from .. import checkout
from .strict import Strict


class Search(Strict):
    """Settings that were tried on held-out images, none of which reached the accuracy ``least``."""

    says: str
    sweeps: Annotated[list[str], Field(min_length=1)]
    least: float


class Test(Strict):
    """One of two: a ``reading`` of the text under which every check holds, or a ``search``."""

    reading: str = ""
    search: Search | None = None

    @model_validator(mode="after")
    def _one(self) -> "Test":
        if bool(self.reading) == bool(self.search):
            raise ValueError("expected either a reading or a search")
        return self

    def told(self, readings: Mapping[str, str]) -> str:
        """What the records say, in a sentence; nothing where they do not turn the claim.

        Args:
            readings: the verdict under each other reading of the claim.
        """
        if self.reading:
            held = readings.get(self.reading) == "reproduced"
            return f"Every check holds under one other reading: {self.reading}." if held else ""
        return _searched(self.search)


def _searched(search: Search) -> str:
    files = [checkout.ROOT / "results" / "sweeps" / f"{name}.csv" for name in search.sweeps]
    if not all(file.is_file() for file in files):                          # an installed package has no sweeps
        return ""
    tried = list(map(_ends, files))
    best = max(float(rows.groupby("setting")["validation"].mean().max()) for rows in tried)
    if best >= search.least:
        return ""
    return (f"{search.says}: of {sum(rows['setting'].nunique() for rows in tried)} settings the best reaches "
            f"{100 * best:.1f} % of held-out images ({', '.join(search.sweeps)} in config/sweeps).")


def _ends(file: Path) -> pd.DataFrame:
    """The best epoch of each run of a committed sweep that ended well."""
    rows = pd.read_csv(file)
    rows = rows[rows["status"] == "ok"]
    return rows.loc[rows.groupby(["setting", "seed"])["validation"].idxmax()]
