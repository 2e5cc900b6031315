"""The paper's claims, each with the checks that decide it: what ``claims.yaml`` may say, and a check in words."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from pcgraph_lite.errors import UnknownName, one_of, unknown

from . import config
from .config import Strict

FILE = Path(__file__).with_name("claims.yaml")
COMPARATORS = ("at_least", "at_most", "near", "less_than", "greater_than", "close_to")

Condition = dict[str, str | float | bool]


class Near(Strict):
    """Within ``tolerance`` of ``value``; with ``or_more`` also above: more supports a claim."""

    value: float
    tolerance: Annotated[float, Field(ge=0)]
    or_more: bool = False


class Other(Strict):
    """What a quantity is compared with; entries left out are those of the check itself."""

    quantity: str | None = None
    model: str | None = None
    where: Condition | None = None


class Close(Other):
    """What a quantity is to be within ``tolerance`` of."""

    tolerance: Annotated[float, Field(ge=0)]


class Check(Strict):
    """One comparison over the records of a claim.

    ``guard``: what must hold beside the claim, such as an answer better than a blank picture. Where it fails, the claim
    is not reproduced in full; where it holds, that says nothing for the claim. ``any_case``: one of the data sets,
    models and settings that fit is enough; else all must hold. ``seeds``: how many it needs, if fewer than the claim.
    ``tested``: a mean beyond ``at_least`` or ``at_most`` counts only where the t-test tells it from that.
    ``of``: the claims whose records a reading looks at, where they are not its own.
    """

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
    any_case: bool = False
    tested: bool = False
    of: list[str] = Field(default_factory=list)
    seeds: Annotated[int, Field(ge=1)] | None = None

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


class Rival(Check):
    """The same comparison with something simple, ``name``: what the result is worth. No verdict counts it."""

    name: str

    @model_validator(mode="after")
    def _an_order(self) -> "Rival":
        if not (self.less_than or self.greater_than):
            raise ValueError("expected less_than or greater_than")
        return self


class Needs(Strict):
    """What a run must have for its verdict not to be preliminary.

    ``least``: recorded quantities, none of whose records may be smaller; they catch a run that was cut by parameters.
    """

    profile: Literal["any", "smoke", "laptop", "paper"]
    seeds: Annotated[int, Field(ge=1)]
    least: dict[str, float] = Field(default_factory=dict)


class Claim(Strict):
    """One row of the scorecard.

    ``comparable`` false: the paper's number belongs to its machine; ours is shown beside it and nothing is judged.
    ``readings``: what else the text may mean -> the checks under that reading; their verdict stands beside the first.
    ``rivals``: simple ones, beside which the quantities of the claim are set.
    ``decided_by``: the models or sweeps whose records the checks look at; ``grid.departures`` says where they leave
    what the paper names. ``along``: parameter -> values, where the paper leaves one open that it names elsewhere: the
    claim holds where all its checks hold at one and the same value, by tests corrected for the number of values.
    """

    section: str
    kind: str
    statement: str
    paper: str
    notebook: str
    needs: Needs
    checks: Annotated[list[Check], Field(min_length=1)]
    also: list[str] = Field(default_factory=list)
    comparable: bool = True
    readings: dict[str, Annotated[list[Check], Field(min_length=1)]] = Field(default_factory=dict)
    rivals: list[Rival] = Field(default_factory=list)
    decided_by: list[str] = Field(default_factory=list)
    along: Annotated[dict[str, Annotated[list[float], Field(min_length=2)]], Field(max_length=1)] = Field(
        default_factory=dict)

    @model_validator(mode="after")
    def _more_than_guards(self) -> "Claim":
        if any(all(check.guard for check in checks) for checks in (self.checks, *self.readings.values())):
            raise ValueError("expected at least one check that is no guard")
        return self

    def quantities(self) -> list[str]:
        """Every quantity that a record of this claim may have."""
        checks = [*self.checks, *(check for some in self.readings.values() for check in some), *self.rivals]
        others = [check.other.quantity for check in checks if check.other and check.other.quantity]
        return list(dict.fromkeys([check.quantity for check in checks] + others + [*self.needs.least] + self.also))


def load_claims(path: Path = FILE) -> dict[str, Claim]:
    """Every claim by its id. Raises BadFile or BadInput where the file is not as it should be."""
    return config.validated(dict[str, Claim], config.read_yaml(path), path)


def rule(check: Check) -> str:
    """One check in words, for example ``accuracy [mnist] at least 90.00 %``."""
    return f"{label(check)} {bound(check)}"


def check_known(claim: str, quantity: str, claims: Mapping[str, Claim]) -> None:
    """Refuse a record that no rule knows. Raises UnknownName with a near match, naming what to do."""
    one_of("claim", claim, claims)
    if quantity not in claims[claim].quantities():
        raise UnknownName(f"{unknown(f'quantity of claim {claim},', quantity, claims[claim].quantities())} A new one "
                          "goes under `also:` in reproduction/evidence/claims.yaml.")


def label(check: Check) -> str:
    """What a check looks at."""
    inside = [part for part in (check.dataset, check.model, *words(check.where)) if part]
    return check.quantity.replace("_", " ") + (f" [{', '.join(inside)}]" if inside else "")


def words(where: Condition) -> list[str]:
    """Which records a rule looks at, in words: 50 images, not 50.0."""
    return [f"{key} {value:g}" if isinstance(value, float) else f"{key} {value}" for key, value in where.items()]


def bound(check: Check) -> str:
    """What is asked of the quantity: a number, or what it is held against."""
    if check.near:
        return (f"near {number(check.near.value, check)} ± {number(check.near.tolerance, check)}"
                + " or more" * check.near.or_more)
    if check.other:
        parts = [(check.other.quantity or "").replace("_", " "), check.other.model, *words(check.other.where or {})]
        sign = (f"within {number(check.close_to.tolerance, check)} of" if check.close_to
                else "<" if check.less_than else ">")
        return f"{sign} {', '.join(filter(None, parts))}"
    side = "at most" if check.at_least is None else "at least"
    limit = check.at_most if check.at_least is None else check.at_least
    return f"{side} {number(limit, check)}" + ", by a t-test" * check.tested


def number(value: float, check: Check) -> str:
    """A value of a check, in per cent where it asks for that."""
    return f"{100 * value:.2f} %" if check.percent else f"{value:.4g}"
