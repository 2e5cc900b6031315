"""The records and what follows from them, read and judged once for all pages of the book."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..evidence import findings, verdicts
from ..evidence.findings import Finding
from ..evidence.verdicts import Verdict
from ..evidence.words import Book


@dataclass(frozen=True, eq=False)
class Judged:
    """The records, the words of the book, and by claim a verdict and a finding."""

    records: Sequence[Mapping[str, Any]]
    book: Book
    verdicts: Mapping[str, Verdict]
    found: Mapping[str, Finding]

    @classmethod
    def judge(cls, kept: Sequence[Mapping[str, Any]]) -> "Judged":
        """Judge records that ``records.read`` returned."""
        judged = verdicts.verdicts(kept)
        return cls(kept, findings.load(), judged, findings.findings(judged))

    def of(self, page: str) -> list[Finding]:
        """The findings of a page's claims, measured ones first."""
        own = [one for one in self.found.values() if self.verdicts[one.claim].claim.notebook == page]
        return sorted(own, key=lambda one: one.verdict == "not run")
