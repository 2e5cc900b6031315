"""The records and what follows from them, read and judged once for all pages of the book."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from ..evidence import claims, findings, records, verdicts
from ..evidence.findings import Finding


@dataclass(frozen=True, eq=False)
class Judged:
    """The records, and by claim what was found."""

    records: Sequence[Mapping[str, Any]]
    found: Mapping[str, Finding]

    @classmethod
    def judge(cls, kept: Sequence[Mapping[str, Any]]) -> "Judged":
        """Judge records that ``records.read`` returned."""
        return cls(kept, findings.findings(verdicts.verdicts(kept)))

    def of(self, page: str) -> list[Finding]:
        """The findings of a page's claims, measured ones first."""
        own = [one for one in self.found.values() if one.claim.notebook == page]
        return sorted(own, key=lambda one: one.verdict == "not run")

    def write(self, saved: Path, folder: Path) -> None:
        """Write what readers can download: the records, the rules, the scorecard, and ``NAME.csv`` for each page: one
        row per recorded number, one column ``parameters.NAME`` per parameter that differs.
        """
        folder.mkdir(parents=True, exist_ok=True)
        for path in [*saved.glob("*.json"), claims.FILE]:
            shutil.copy2(path, folder)
        pd.DataFrame([one.row() for one in self.found.values()]).to_csv(folder / "scorecard.csv", index=False)
        names = {name: one.claim.name for name, one in self.found.items()}
        for page, rows in pd.DataFrame(self.records, columns=records.COLUMNS).groupby("notebook"):
            rest = pd.DataFrame(rows["parameters"].tolist(), index=rows.index).add_prefix("parameters.")
            table = rows.drop(columns=["notebook", "parameters"]).join(rest)
            table.insert(0, "name", table["claim"].map(names))
            table.to_csv(folder / f"{page}.csv", index=False)
