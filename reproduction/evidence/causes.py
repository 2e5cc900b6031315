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
            return f"None of these readings passes every check: {'; '.join(self.tried)}." if failed else ""
        return _searched(self.search)


def _searched(search: Search) -> str:
    """What the runs' best epochs say of each setting, as a mean over seeds. An installed package has no sweeps."""
    files = [checkout.ROOT / "results" / "sweeps" / f"{sweep}.csv" for sweep in search.sweeps]
    swept = [pd.read_csv(file).query("status == 'ok'") for file in files if file.is_file()]
    means = [mean for rows in swept
             for mean in rows.groupby(["setting", "seed"])["validation"].max().groupby("setting").mean()]
    if not means or max(means) >= search.least:
        return ""
    return (f"{search.says}: of {len(means)} settings the best reaches {100 * max(means):.1f} % of held-out images "
            f"({', '.join(search.sweeps)} in config/sweeps).")
