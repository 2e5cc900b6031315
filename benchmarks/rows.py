"""What one row of the benchmark says, and when a target is met."""

import operator
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from benchmarks.timing import Timing
from reproduction.evidence.strict import Strict

RULES = {"at most": operator.le, "at least": operator.ge}


@dataclass(frozen=True)
class Sizes:
    """How big a run is: the targets' sizes, or ``quick`` ones that only show that everything works."""

    quick: bool
    device: str = "cpu"
    cuda_graphs: bool = False

    def __call__(self, full: int, quick: int) -> int:
        return quick if self.quick else full

    def repeats(self, full: int) -> int:
        """Turns to measure."""
        return 2 if self.quick else full


class Contender(Strict):
    """One way to do the work: its times, and how many floating-point operations of products it needs."""

    name: str
    seconds: list[float] = Field(min_length=1)
    flops: int | None = None

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def gflops(self) -> float | None:
        """Achieved rate in 10^9 operations a second."""
        return None if self.flops is None else self.flops / self.median / 1e9


class Target(Strict):
    """A limit on one quantity. ``met`` None: not judged, ``note`` says why."""

    quantity: str
    rule: Literal[tuple(RULES)]
    limit: float
    measured: float | None = None
    met: bool | None = None
    note: str = ""

    def judged(self, quantities: Mapping[str, float], quick: bool) -> "Target":
        """The target with what was measured, judged unless the run was a quick one or the quantity is missing."""
        measured = quantities.get(self.quantity)
        if measured is None:
            return self.model_copy(update={"note": self.note or "not measured"})
        if quick:
            return self.model_copy(update={"measured": measured, "note": "not judged: quick sizes"})
        return self.model_copy(update={"measured": measured, "met": RULES[self.rule](measured, self.limit)})


class Row(Strict):
    """One work: its setting, who did it how fast, other numbers, and the targets."""

    name: str
    title: str
    setting: dict[str, int | float | str] = Field(default_factory=dict)
    contenders: list[Contender] = Field(default_factory=list)
    quantities: dict[str, float] = Field(default_factory=dict)
    targets: list[Target] = Field(default_factory=list)
    note: str = ""


def contenders(times: Mapping[str, Timing], flops: Mapping[str, int]) -> list[Contender]:
    """Times as they go into a row."""
    return [Contender(name=name, seconds=list(timing.seconds), flops=flops.get(name))
            for name, timing in times.items()]


def ratios(times: Mapping[str, Timing], first: str) -> dict[str, float]:
    """``"first / other"`` for every other contender."""
    return {f"{first} / {name}": times[first].over(timing) for name, timing in times.items() if name != first}


def judged(row: Row, quick: bool) -> Row:
    """The row with its targets judged."""
    return row.model_copy(update={"targets": [t.judged(row.quantities, quick) for t in row.targets]})
