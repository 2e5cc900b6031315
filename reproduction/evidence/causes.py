"""Tests of the cause of a failed claim: one change that makes it hold, or a search that found no such change.

Nothing here is typed: a change is another reading of the claim's records, or two settings of a committed sweep that
differ in one point; a search is all that its sweeps tried.
"""

from collections.abc import Mapping
from typing import Annotated

import pandas as pd
from pydantic import Field, model_validator

from .. import checkout
from .strict import Strict


class Change(Strict):
    """One change between two settings of a sweep, and by how much it must lift the accuracy on held-out images."""

    says: str
    sweep: str
    before: str
    after: str
    gain: Annotated[float, Field(gt=0)]


class Search(Strict):
    """Settings that were tried on held-out images, none of which reached the accuracy ``least``."""

    says: str
    sweeps: Annotated[list[str], Field(min_length=1)]
    least: float


class Test(Strict):
    """One of four: a ``reading`` of the text under which every check holds, readings that were ``tried`` and fail as
    well, a ``change``, or a ``search``."""

    reading: str = ""
    tried: list[str] = Field(default_factory=list)
    change: Change | None = None
    search: Search | None = None

    @model_validator(mode="after")
    def _one(self) -> "Test":
        if sum(map(bool, (self.reading, self.tried, self.change, self.search))) != 1:
            raise ValueError("expected one of reading, tried, change, search")
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
        return _changed(self.change) if self.change else _searched(self.search)


def _changed(change: Change) -> str:
    rows = _ends(change.sweep)
    before, after = (rows.loc[rows["setting"] == name, "validation"].mean() for name in (change.before, change.after))
    return (f"{change.says} lifts the accuracy on held-out images from {100 * before:.1f} % to {100 * after:.1f} % "
            f"({change.sweep} in config/sweeps)." if after - before >= change.gain else "")


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
