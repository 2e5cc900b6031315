"""The paper's claims, their checks and sentences: what ``claims.yaml`` may say, and a check in words."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from string import Formatter
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from pcgraph_lite.errors import UnknownName, one_of, unknown

from . import grid, strict
from .strict import Strict
from .words import called, quantity

FILE = Path(__file__).with_name("claims.yaml")
COMPARATORS = ("at_least", "at_most", "near", "less_than", "greater_than", "close_to")

Condition = dict[str, str | float | bool]
CheckName = Annotated[str, Field(pattern=r"^[a-z]\w*$")]                     # a sentence calls the check so


class Within(Strict):
    """Within ``tolerance`` of something; with ``or_more`` also above: more supports a claim."""

    tolerance: Annotated[float, Field(ge=0)]
    or_more: bool = False


class Near(Within):
    """Within a tolerance of ``value``."""

    value: float


class Other(Strict):
    """What a quantity is compared with; entries left out are those of the check itself."""

    quantity: str | None = None
    model: str | None = None
    where: Condition | None = None


class Close(Within, Other):
    """What a quantity is to be within a tolerance of."""


class Check(Strict):
    """One comparison over the records of a claim, see the head of ``claims.yaml``. ``level``: of its t-test."""

    quantity: str
    dataset: str | None = None
    model: str | None = None
    where: Condition = Field(default_factory=dict)
    at_least: float | None = None
    at_most: float | None = None
    near: Near | None = None
    less_than: Other | None = None
    greater_than: Other | None = None
    close_to: Close | None = None
    percent: bool = False
    guard: bool = False
    further: bool = False
    any_case: bool = False
    tested: bool = False
    sampled: bool = True
    of: list[str] = Field(default_factory=list)
    seeds: Annotated[int, Field(ge=1)] | None = None
    level: Annotated[float, Field(gt=0, lt=1)] = 0.05

    @model_validator(mode="after")
    def _one_comparator(self) -> "Check":
        if sum(getattr(self, name) is not None for name in COMPARATORS) != 1:
            raise ValueError(f"expected exactly one of {', '.join(COMPARATORS)}")
        if self.tested and self.at_least is None and self.at_most is None:
            raise ValueError("tested: expected beside at_least or at_most")
        return self

    @property
    def other(self) -> Other | None:
        """The other side of a comparison between quantities."""
        return self.less_than or self.greater_than or self.close_to

    @property
    def number(self) -> float:
        """The number that a mean is held against; a comparison between quantities has none."""
        return self.near.value if self.near else next(one for one in (self.at_least, self.at_most) if one is not None)


class Rival(Check):
    """The same comparison with something simple, ``name``: what the result is worth. No verdict counts it."""

    name: str

    @model_validator(mode="after")
    def _an_order(self) -> "Rival":
        if not (self.less_than or self.greater_than):
            raise ValueError("expected less_than or greater_than")
        return self


class Needs(Strict):
    """What a final verdict needs. ``least``: quantities, none of whose records may be smaller."""

    profile: Literal["any", "smoke", "laptop", "paper"]
    seeds: Annotated[int, Field(ge=1)]
    least: dict[str, float] = Field(default_factory=dict)


class Test(Strict):
    """A ``reading`` under which all checks hold, readings ``tried`` that fail too, or what a ``search`` found."""

    reading: str = ""
    tried: list[str] = Field(default_factory=list)
    search: str = ""

    @model_validator(mode="after")
    def _one(self) -> "Test":
        if sum(map(bool, (self.reading, self.tried, self.search))) != 1:
            raise ValueError("expected one of reading, tried, search")
        return self

    def told(self, readings: Mapping[str, str]) -> str:
        """What the records say, in a sentence, if they turn the claim. ``readings``: verdicts under other readings."""
        if self.reading:
            how = {"reproduced": "Holds", "preliminary: reproduced": "Holds so far"}.get(readings.get(self.reading, ""))
            return f"{how}: {self.reading}." if how else ""
        if self.tried:
            told = {readings.get(name, "not run").removeprefix("preliminary: ") for name in self.tried}
            lead = "Also fails" if told == {"not reproduced"} else "Holds at most in part"
            tried = ", or with ".join(name.removeprefix("with ") for name in self.tried)
            return f"{lead}: {tried}." if told <= {"partly", "not reproduced"} else ""
        return self.search


class Cause(Strict):
    """Why a claim is not reproduced, where ``fails`` fail and ``holds`` hold. ``unmeasured``: without records."""

    kind: Literal["paper", "setting", "data", "means"]
    finding: list[str]
    fails: list[str] = Field(default_factory=list)
    holds: list[str] = Field(default_factory=list)
    unmeasured: str = ""
    tested: Test | None = None


class Words(Strict):
    """What a reader is told of a claim; the head of ``claims.yaml`` explains the keys."""

    name: str
    title: str = ""
    beyond: str = ""
    finding: Annotated[list[str], Field(min_length=1)]
    remark: str = ""
    says: dict[str, list[CheckName]] = Field(default_factory=dict)
    short: dict[CheckName, str] = Field(default_factory=dict)
    ours: str = ""
    figure: str = ""
    table: str = ""
    cause: Cause | None = None


class Claim(Words):
    """A row of the scorecard, see the head of ``claims.yaml``. ``in_grid``: the claim in the paper's settings."""

    section: str
    kind: str
    statement: str
    paper: str
    notebook: str
    needs: Needs
    checks: Annotated[dict[CheckName, Check], Field(min_length=1)]
    also: list[str] = Field(default_factory=list)
    comparable: bool = True
    readings: dict[str, Annotated[list[Check], Field(min_length=1)]] = Field(default_factory=dict)
    rivals: list[Rival] = Field(default_factory=list)
    decided_by: list[str] = Field(default_factory=list)
    about: list[str] = Field(default_factory=list)
    along: Annotated[dict[str, Annotated[list[float], Field(min_length=2)]], Field(max_length=1)] = Field(
        default_factory=dict)
    in_grid: "Claim | None" = None

    @model_validator(mode="before")
    @classmethod
    def _completed(cls, values: Any) -> Any:
        """Inside the grid a key that is left out is the claim's own; other readings and rivals are not."""
        if isinstance(values, Mapping) and isinstance(inside := values.get("in_grid"), Mapping):
            own = {key: value for key, value in values.items() if key not in ("in_grid", "readings", "rivals")}
            return {**values, "in_grid": {**own, **inside}}
        return values

    @model_validator(mode="after")
    def _whole(self) -> "Claim":
        rules = (self.checks.values(), *self.readings.values())
        if any(all(check.guard or check.further for check in checks) for checks in rules):
            raise ValueError("expected at least one check that is neither a guard nor a further measure")
        cause = self.cause or Cause(kind="means", finding=[])
        named = used(*self.finding, self.title, self.ours, *cause.finding)
        if missing := named.union(cause.fails, cause.holds, *self.says.values()) - self.checks.keys():
            raise ValueError(f"a sentence speaks of the check {min(missing)!r}; there are {', '.join(self.checks)}")
        return self

    @property
    def exact(self) -> bool:
        """Whether it is an identity or a drawing, which is checked to rounding at any size."""
        return self.needs.profile == "any"

    @cached_property
    def departures(self) -> tuple[str, ...]:
        """Where what decides the claim leaves the paper's grid, other than in what it is about. Raises UnknownName."""
        return tuple(dict.fromkeys(said for name in self.decided_by for settings in grid.settings_of(name)
                                   for said in grid.departures(settings, self.about)))

    def inside(self) -> list["Claim"]:
        """The claim inside the paper's grid: once for each value of ``along``, at which all checks are fixed, not
        readings, and their levels divided by the number of values (Bonferroni).
        """
        if (claim := self.in_grid) is None or not claim.along:
            return [claim] if claim else []
        [(key, values)] = claim.along.items()

        def fixed(check: Check, value: float) -> Check:
            return check.model_copy(update={"where": check.where | {key: value}, "level": check.level / len(values)})

        return [claim.model_copy(update={
            "checks": {name: fixed(check, value) for name, check in claim.checks.items()},
            "rivals": [fixed(rival, value) for rival in claim.rivals]}) for value in values]

    def rule(self) -> str:
        """All that decides the verdict, as one text: without the words."""
        words = dict.fromkeys(Words.model_fields, True)
        return self.model_dump_json(exclude=words | {"in_grid": words})

    def rules(self) -> list[Check]:
        """Every check, that of a reading and of a rival included."""
        return [*self.checks.values(), *(check for some in self.readings.values() for check in some), *self.rivals]

    def quantities(self) -> list[str]:
        """Every quantity that a record of this claim may have, inside the paper's grid or outside."""
        inside = self.in_grid.quantities() if self.in_grid else []
        others = [check.other.quantity for check in self.rules() if check.other and check.other.quantity]
        own = [check.quantity for check in self.rules()] + others + [*self.needs.least] + self.also
        return list(dict.fromkeys(own + inside))

    def models(self) -> set[str | None]:
        """Every model that a rule of this claim names, inside the paper's grid or outside."""
        rules = [*self.rules(), *(self.in_grid.rules() if self.in_grid else [])]
        return {side.model for check in rules for side in (check, check.other) if side}


def used(*sentences: str) -> set[str]:
    """The checks that sentences take their numbers from."""
    return {field.partition(".")[0] for text in sentences for _, field, _, _ in Formatter().parse(text) if field}


def load_claims(path: Path = FILE) -> dict[str, Claim]:
    """Every claim by its id. Raises BadFile or BadInput where the file is not as it should be, as a hostile one is."""
    return strict.validated(dict[str, Claim], strict.read_yaml(path), path)


def rule(check: Check) -> str:
    """One check in words, for example ``accuracy [digits] at least 90 %``."""
    return f"{label(check)} {bound(check)}"


def check_known(claim: str, quantity: str, claims: Mapping[str, Claim]) -> None:
    """Refuse a record that no rule knows. Raises UnknownName with a near match, naming what to do."""
    one_of("claim", claim, claims)
    if quantity not in claims[claim].quantities():
        raise UnknownName(f"{unknown(f'quantity of claim {claim},', quantity, claims[claim].quantities())} A new one "
                          "goes under `also:` in reproduction/evidence/claims.yaml.")


def label(check: Check) -> str:
    """What a check looks at."""
    inside = [called(part) for part in (check.dataset, check.model, *settings(check.where)) if part]
    return quantity(check.quantity) + (f" [{', '.join(inside)}]" if inside else "")


def settings(where: Condition) -> list[str]:
    """Which records a rule looks at: ``images 50``, not 50.0."""
    return [f"{key} {value:g}" if isinstance(value, float) else f"{key} {value}" for key, value in where.items()]


def bound(check: Check) -> str:
    """What is asked of the quantity: a number, or what it is held against."""
    if check.near:
        return _within(check.near, _number(check.near.value, check), check)
    if check.other:
        parts = [quantity(check.other.quantity or ""), called(check.other.model or ""),
                 *map(called, settings(check.other.where or {}))]
        what = ", ".join(filter(None, parts))
        return _within(check.close_to, what, check) if check.close_to else f"{'<' if check.less_than else '>'} {what}"
    side = "at most" if check.at_least is None else "at least"
    return f"{side} {_number(check.number, check)}" + ", by a t-test" * check.tested


def in_unit(value: float, check: Check) -> str:
    """A value that was measured, in per cent where the check asks for that."""
    return f"{100 * value:.2f} %" if check.percent else f"{value:.4g}"


def _within(near: Within, what: str, check: Check) -> str:
    """``within 2 points of 88 %``, ``within 2 points of 88 % or above``. Per cents differ by points."""
    points = f"{round(100 * near.tolerance, 6):g}"
    tolerance = f"{points} point{'s' * (points != '1')}" if check.percent else f"{near.tolerance:.4g}"
    return f"within {tolerance} of {what}" + " or above" * near.or_more


def _number(value: float, check: Check) -> str:
    """A number of a rule: 88 %, not 88.00 %."""
    return f"{round(100 * value, 6):g} %" if check.percent else f"{value:.4g}"
