"""Tests of the cause of a failed claim: another reading that makes it hold, judged by its records, or a search by
committed sweeps that found nothing that does.
"""

import csv
import math
from collections import defaultdict
from collections.abc import Mapping
from statistics import fmean
from typing import Annotated

from pydantic import Field, model_validator

from .. import checkout
from .strict import Strict


class Search(Strict):
    """Settings that were tried on held-out images, none of which reached the accuracy ``least``."""

    says: str
    sweeps: Annotated[list[str], Field(min_length=1)]
    least: float

    def told(self) -> str:
        """What it found, in a sentence; nothing where a setting reaches ``least`` or nothing was tried."""
        means = [fmean(best.values()) for sweep in self.sweeps for best in _settings(sweep).values()]
        if not means or max(means) >= self.least:
            return ""
        return (f"{self.says}: of {len(means)} settings the best reaches {100 * max(means):.1f} % of held-out images "
                f"({', '.join(self.sweeps)} in config/sweeps).")


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
        """What the records say, in a sentence; nothing where they do not turn the claim. ``readings``: the verdicts
        under other readings.
        """
        if self.reading:
            held = readings.get(self.reading) == "reproduced"
            return f"Every check holds under one other reading: {self.reading}." if held else ""
        if self.tried:
            failed = all(readings.get(name, "").endswith(("partly", "not reproduced")) for name in self.tried)
            return f"None of these readings passes every check: {'; '.join(self.tried)}." if failed else ""
        return self.search.told()


def _settings(sweep: str) -> dict[str, dict[str, float]]:
    """The best epoch of each run of a committed sweep that ended well: setting -> seed -> validation score."""
    file, best = checkout.ROOT / "results" / "sweeps" / f"{sweep}.csv", defaultdict(dict)
    if file.is_file():
        with file.open(encoding="utf-8", newline="") as lines:             # not pandas, whose import takes longer
            for row in csv.DictReader(lines):
                if row["status"] == "ok":
                    seeds = best[row["setting"]]
                    seeds[row["seed"]] = max(float(row["validation"] or "-inf"), seeds.get(row["seed"], -math.inf))
    return best
