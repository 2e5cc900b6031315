"""Tests of the cause of a failed claim: another reading that makes it hold, or a search that found nothing that does.

Nothing here is typed: a reading is judged by the claim's records; a search is all that its committed sweeps tried.
"""

from collections.abc import Mapping
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
    """One of three: a ``reading`` of the text under which every check holds, readings that were ``tried`` and fail as
    well, or a ``search``."""

    reading: str = ""
    tried: list[str] = Field(default_factory=list)
    search: Search | None = None

    @model_validator(mode="after")
    def _one(self) -> "Test":
        if sum(map(bool, (self.reading, self.tried, self.search))) != 1:
            raise ValueError("expected one of reading, tried, search")
        return self

    def told(self, readings: Mapping[str, str]) -> str:
        """What the records say, in a sentence; nothing where they do not turn the claim.

        Args:
            readings: the verdict under each other reading of the claim.
        """
        if self.reading:
            held = readings.get(self.reading) == "reproduced"
            return f"Every check holds under one other reading: {self.reading}." if held else ""
        if self.tried:
            failed = all(readings.get(name, "").endswith(("partly", "not reproduced")) for name in self.tried)
            return f"Tried, and not every check holds there either: {'; '.join(self.tried)}." if failed else ""
        return _searched(self.search)


def _searched(search: Search) -> str:
    tried = list(map(_ends, search.sweeps))
    best = max(float(rows.groupby("setting")["validation"].mean().max()) for rows in tried)
    if not best < search.least:                                            # NaN where there are no rows
        return ""
    return (f"{search.says}: of {sum(rows['setting'].nunique() for rows in tried)} settings the best reaches "
            f"{100 * best:.1f} % of held-out images ({', '.join(search.sweeps)} in config/sweeps).")


def _ends(sweep: str) -> pd.DataFrame:
    """The best epoch of each run of a committed sweep that ended well; none in an installed package."""
    file = checkout.ROOT / "results" / "sweeps" / f"{sweep}.csv"
    if not file.is_file():
        return pd.DataFrame(columns=["setting", "validation"], dtype=float)
    rows = pd.read_csv(file)
    rows = rows[rows["status"] == "ok"]
    return rows.loc[rows.groupby(["setting", "seed"])["validation"].idxmax()]
