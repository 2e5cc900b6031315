"""The paper's claims and how records decide about them: ``claims.yaml`` + records -> verdicts.

No verdict is written by hand. Each claim has checks, and the scorecard is what they say.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import pandas as pd
from pydantic import Field, model_validator
from scipy import stats

from ..errors import UnknownName, one_of, unknown
from ..images import metrics
from . import config
from .config import Strict

FILE = Path(__file__).with_name("claims.yaml")
SIZES = ("any", "smoke", "laptop", "paper")       # profiles by how much they prove
COLUMNS = ["claim", "section", "kind", "statement", "paper", "ours", "n", "profile", "device", "verdict", "note",
           "hangs_on", "rival", "notebook", "command"]
COMPARATORS = ("at_least", "at_most", "near", "less_than", "greater_than", "close_to")
LEVEL = 0.05                                      # of the one-sided t-test on paired differences

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
    ``tested``: a mean beyond ``at_least`` or ``at_most`` counts only where the test of an order tells it from that.
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

    ``stand_ins``: model -> the model that its checks look at where it has no record at all; always preliminary.
    ``comparable`` false: the paper's number belongs to its machine; ours is shown beside it and nothing is judged.
    ``readings``: what else the text may mean -> the checks under that reading; their verdict stands beside the first.
    ``rivals``: simple ones, beside which the quantities of the claim are set.
    """

    section: str
    kind: str
    statement: str
    paper: str
    notebook: str
    needs: Needs
    checks: Annotated[list[Check], Field(min_length=1)]
    also: list[str] = Field(default_factory=list)
    stand_ins: dict[str, str] = Field(default_factory=dict)
    comparable: bool = True
    readings: dict[str, Annotated[list[Check], Field(min_length=1)]] = Field(default_factory=dict)
    rivals: list[Rival] = Field(default_factory=list)

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


@dataclass(frozen=True)
class Outcome:
    """What one check says. ``passed`` None: there are no records for it. ``alone``: records without a counterpart."""

    passed: bool | None
    text: str
    seeds: int = 0
    alone: int = 0


@dataclass(frozen=True)
class Measured:
    """One case of a check: its values over seeds, and those of the other side where there is one, seed by seed.

    ``opposite``: of an order, that the test says the other way round.
    """

    dataset: str
    model: str
    parameters: Condition
    values: np.ndarray                            # (seeds,)
    theirs: np.ndarray | None                     # (seeds,)
    holds: bool
    opposite: bool


def load_claims(path: Path = FILE) -> dict[str, Claim]:
    """Every claim by its id. Raises BadFile or BadInput where the file is not as it should be."""
    return config.validated(dict[str, Claim], config.read_yaml(path), path)


def scorecard(records: pd.DataFrame, claims: Mapping[str, Claim] | None = None) -> pd.DataFrame:
    """One row a claim, in the order of the claims file: columns ``COLUMNS``, ``n`` the seeds behind the verdict.

    Of the ``records`` of a claim only those of the largest profile count. ``claims`` None: the rules of the package.
    """
    records = _told_apart(records)
    return pd.DataFrame([_row(name, claim, records)
                         for name, claim in (claims or load_claims()).items()], columns=COLUMNS)


def measured(name: str, records: pd.DataFrame, claims: Mapping[str, Claim] | None = None) -> list[list[Measured]]:
    """The cases behind each check of a claim, in the order of its checks; none where there are no records."""
    claim = (claims or load_claims())[name]
    _, records, standing = _of_claim(name, claim, _told_apart(records[records["claim"] == name]))
    return [_measured(check, records) for check in _with_stand_ins(claim.checks, standing)]


def rule(check: Check) -> str:
    """One check in words, for example ``accuracy [mnist] at least 90.00 %``."""
    return f"{_label(check)} {_bound(check)}"


def check_known(claim: str, quantity: str, claims: Mapping[str, Claim]) -> None:
    """Refuse a record that no rule knows. Raises UnknownName with a near match, naming what to do."""
    one_of("claim", claim, claims)
    if quantity not in claims[claim].quantities():
        raise UnknownName(f"{unknown(f'quantity of claim {claim},', quantity, claims[claim].quantities())} A new one "
                          "goes under `also:` in pcgraph_lite/evidence/claims.yaml.")


def _told_apart(records: pd.DataFrame) -> pd.DataFrame:
    """Records without gaps in the columns that tell them apart."""
    return records.assign(dataset=records["dataset"].fillna(""), model=records["model"].fillna(""),
                          seed=records["seed"].astype(float).fillna(-1),
                          case=[json.dumps(parameters, sort_keys=True) for parameters in records["parameters"]])


def _of_claim(name: str, claim: Claim, records: pd.DataFrame) -> tuple[str, pd.DataFrame, dict[str, str]]:
    """The largest profile of a claim's records, those records, and which models stand in for others."""
    records = records[records["claim"] == name]
    profile = max(records["profile"], key=_size, default="")
    records = records[records["profile"] == profile]
    return profile, records, {ours: theirs for ours, theirs in claim.stand_ins.items()
                              if ours not in set(records["model"])}


def _with_stand_ins(checks: Sequence[Check], standing: Mapping[str, str]) -> list[Check]:
    """The same checks, each of the model that stands in for its own."""
    return [check.model_copy(update={"model": standing.get(check.model, check.model)}) for check in checks]


def _cases(check: Check, records: pd.DataFrame) -> tuple[list[pd.DataFrame], int]:
    """The records of a check by data set, model and parameters, and how many have no counterpart."""
    rows, keys, alone = _select(records, check, check.where), ["dataset", "model", "case"], 0
    if check.other and len(rows):
        rows, keys, alone = _paired(check, rows, records)
    return [case for _, case in rows.groupby(keys)], alone


def _measured(check: Check, records: pd.DataFrame) -> list[Measured]:
    """What each case of a check measured, all that fit."""
    cases, ordered = _cases(check, records)[0], check.less_than or check.greater_than
    return [Measured(first["dataset"], first.get("model") or check.model or "", json.loads(first.get("case") or "{}"),
                     case["value"].to_numpy(float), case["theirs"].to_numpy(float) if check.other else None,
                     _holds(check, case), bool(ordered) and _holds(_turned(check), case))
            for case in cases for first in [case.iloc[0]]]


def _turned(check: Check) -> Check:
    """The opposite order."""
    return check.model_copy(update={"less_than": check.greater_than, "greater_than": check.less_than})


def _row(name: str, claim: Claim, records: pd.DataFrame) -> dict[str, object]:
    profile, records, standing = _of_claim(name, claim, records)
    outcomes = [_applied(check, records) for check in _with_stand_ins(claim.checks, standing)]
    ran = [outcome for outcome in outcomes if outcome.passed is not None]
    seeds = min((outcome.seeds for outcome in ran), default=0)
    missing = _missing(claim.needs, records, profile) + _fewer_seeds(claim, outcomes)
    missing += [f"needs {ours}; {theirs} stands in for it" for ours, theirs in standing.items()]
    missing += [outcome.text for outcome in outcomes if outcome.passed is None]
    if alone := max((outcome.alone for check, outcome in zip(claim.checks, outcomes, strict=True) if not check.seeds),
                    default=0):
        missing.append(f"{alone} runs have no counterpart to be compared with")
    held = sum(outcome.passed for outcome in ran)
    wanted = claim.needs.profile if claim.needs.profile != "any" else "laptop"
    return {
        "claim": name, "section": claim.section, "kind": claim.kind, "statement": claim.statement,
        "paper": claim.paper, "ours": "; ".join(outcome.text for outcome in ran), "n": seeds, "profile": profile,
        "device": ", ".join(sorted(set(records["device"]))),
        "verdict": _verdict(claim, claim.checks, outcomes, bool(missing)),
        "note": "; ".join([f"{held} of {len(ran)} checks hold", *missing]) if ran else "no records yet",
        "hangs_on": "; ".join(_readings(claim, standing, records)),
        "rival": "; ".join(line for rival in _with_stand_ins(claim.rivals, standing)
                           for line in _beside(rival, records)),
        "notebook": claim.notebook, "command": f"pcgraph run {claim.notebook} --profile {wanted}",
    }


def _readings(claim: Claim, standing: Mapping[str, str], records: pd.DataFrame) -> list[str]:
    """The verdict under each other reading, preliminary or not as the first is; ``not run`` where it has no record."""
    if records.empty:
        return []
    found = {name: _verdict(claim, checks, [_applied(check, records) for check in _with_stand_ins(checks, standing)],
                            preliminary=False) for name, checks in claim.readings.items()}
    return [f"{name}: {verdict}" for name, verdict in found.items()]


def _beside(rival: Rival, records: pd.DataFrame) -> list[str]:
    """What a quantity is worth: a line a case. Neither better nor worse by the test of an order: not told apart."""
    cases, lines = _cases(rival, records)[0], []
    for case in cases:
        word = ("better than" if _holds(rival, case) else "worse than" if _holds(_turned(rival), case)
                else "not told apart from")
        about = [rival.quantity.replace("_", " ")] + [
            _bare(case[key].iloc[0]) for key in ("dataset", "case")
            if key in case and len({other[key].iloc[0] for other in cases}) > 1]
        shown = f"{_number(case['value'].mean(), rival)} against {_number(case['theirs'].mean(), rival)}"
        lines.append(f"{', '.join(about)}: {word} {rival.name} ({shown})")
    return lines


def _verdict(claim: Claim, checks: list[Check], outcomes: list[Outcome], preliminary: bool) -> str:
    """What the checks that ran say; a guard that holds says nothing for the claim."""
    passed = [outcome.passed for outcome in outcomes if outcome.passed is not None]
    own = [outcome.passed for outcome, check in zip(outcomes, checks, strict=True) if not check.guard]
    if all(held is None for held in own):
        return "not run"
    if not claim.comparable:
        return "not comparable"
    verdict = "not reproduced" if not any(own) else "reproduced" if all(passed) else "partly"
    return f"preliminary: {verdict}" if preliminary else verdict


def _fewer_seeds(claim: Claim, outcomes: list[Outcome]) -> list[str]:
    """How many seeds the checks that ran still need: the most that one of those with too few asks for."""
    wanted = [(check.seeds or claim.needs.seeds, outcome.seeds)
              for check, outcome in zip(claim.checks, outcomes, strict=True) if outcome.passed is not None]
    needed = max((needs for needs, seeds in wanted if seeds < needs), default=0)
    return [f"needs {needed} seeds"] if needed else []


def _missing(needs: Needs, records: pd.DataFrame, profile: str) -> list[str]:
    """What the run lacks, its seeds apart, of what a final verdict needs."""
    missing = [f"needs the {needs.profile} profile"] if _size(profile) < _size(needs.profile) else []
    for quantity, least in needs.least.items():
        values = records.loc[records["quantity"] == quantity, "value"]
        if values.empty or values.min() < least:
            name = quantity.replace("_", " ")
            missing.append(f"needs {least:g} {name.removesuffix('s') if least == 1 else name}".replace("gpu", "GPU"))
    return missing


def _size(profile: str) -> int:
    return SIZES.index(profile) if profile in SIZES else -1


def _applied(check: Check, records: pd.DataFrame) -> Outcome:
    """Mean over seeds of every case (data set, model, parameters) against a number, or seed by seed against the other.

    All cases must hold, and the worst is shown; with ``any_case`` one is enough, and the best is shown.
    """
    cases, alone = _cases(check, records)
    if not cases:
        any_record = not _select(records, check, check.where).empty
        return Outcome(None, f"no two records to compare for {rule(check)}" if any_record else
                       f"no record of {_label(check)}")
    failing = [case for case in cases if not _holds(check, case)]
    passed = len(failing) < len(cases) if check.any_case else not failing
    if check.other:
        shown = (failing or cases)[0]                    # the first; cases of different scale have no worst
    else:
        shown = (min if check.any_case else max)(cases if check.any_case else failing or cases,
                                                 key=lambda case: _distance(check, case))
    said = _bound(check) if passed else f"not {_bound(check)}"
    said = f"{said} {_spread(shown['theirs'], check)}" if check.other else f"({said})"
    text = (f"{_label(check)} {_spread(shown['value'], check)}{_over_examples(shown, check)} {said}"
            f"{_of_cases(check, len(failing), len(cases))}")
    return Outcome(passed, text, min(case["seed"].nunique() for case in cases), alone)


def _select(records: pd.DataFrame, what: Check, where: Condition) -> pd.DataFrame:
    """The records of a quantity, of a data set and model where they are named, with these parameters."""
    keep = records["quantity"] == what.quantity
    for column in ("dataset", "model"):
        wanted = getattr(what, column)
        keep &= True if wanted is None else records[column] == wanted
    return records[keep & np.array([where.items() <= parameters.items() for parameters in records["parameters"]], bool)]


def _paired(check: Check, rows: pd.DataFrame, records: pd.DataFrame) -> tuple[pd.DataFrame, list[str], int]:
    """Columns ``value`` and ``theirs`` of the same data set and seed, and the same model and parameters where both
    sides have them; the columns that make a case; and how many have no counterpart.
    """
    other = check.other
    given = {key: value for key, value in other if key in ("quantity", "model") and value is not None}
    others = _select(records, check.model_copy(update=given), check.where if other.where is None else other.where)
    keys = ["dataset", *(key for key, named in {"model": other.model, "case": other.where}.items()
                         if named is None and set(rows[key]) & set(others[key]))]
    ours, theirs = (side.groupby([*keys, "seed"])["value"].mean() for side in (rows, others))
    pairs = pd.concat([ours, theirs], axis=1, keys=["value", "theirs"], join="inner").reset_index()
    return pairs, keys, len(ours) - len(pairs)


def _holds(check: Check, case: pd.DataFrame) -> bool:
    """A mean on the right side; for pairs their mean difference, or for an order the test of the differences."""
    if check.tested:
        beyond = check.at_least - case["value"] if check.at_most is None else case["value"] - check.at_most
        return not _falls(-beyond)
    if not check.other:
        return _distance(check, case) <= (check.near.tolerance if check.near else 0)
    if check.close_to:
        return bool(abs((case["value"] - case["theirs"]).mean()) <= check.close_to.tolerance)
    return _falls((case["value"] - case["theirs"]) * (1 if check.less_than else -1))


def _falls(values: pd.Series) -> bool:
    """Their mean is below zero by a one-sided t-test; by its sign where there is one seed or no spread."""
    if len(values) == 1 or values.std() == 0:
        return bool(values.mean() < 0)
    return bool(stats.ttest_1samp(values, 0, alternative="less").pvalue < LEVEL)


def _distance(check: Check, case: pd.DataFrame) -> float:
    """How far a mean is on the wrong side of the number."""
    mean = float(case["value"].mean())
    if check.near:
        return check.near.value - mean if check.near.or_more else abs(mean - check.near.value)
    return check.at_least - mean if check.at_least is not None else mean - check.at_most


def _of_cases(check: Check, failing: int, cases: int) -> str:
    """Of how many cases the one shown is, where there are several."""
    if check.any_case:
        return f", best of {cases}"
    shown = "one" if check.other else "worst"
    if cases == 1:
        return ""
    return f", {shown} of {failing} such cases in {cases}" if failing else f", {shown} of {cases} cases, which all hold"


def _label(check: Check) -> str:
    inside = [part for part in (check.dataset, check.model, *_words(check.where)) if part]
    return check.quantity.replace("_", " ") + (f" [{', '.join(inside)}]" if inside else "")


def _words(where: Condition) -> list[str]:
    """Which records a rule looks at, in words: 50 images, not 50.0."""
    return [f"{key} {value:g}" if isinstance(value, float) else f"{key} {value}" for key, value in where.items()]


def _bare(text: str) -> str:
    """A data set, or parameters (JSON) in words."""
    return ", ".join(_words(json.loads(text))) if text.startswith("{") else text


def _bound(check: Check) -> str:
    """What is asked of the quantity: a number, or what it is held against."""
    if check.near:
        return (f"near {_number(check.near.value, check)} ± {_number(check.near.tolerance, check)}"
                + " or more" * check.near.or_more)
    if check.other:
        parts = [(check.other.quantity or "").replace("_", " "), check.other.model, *_words(check.other.where or {})]
        sign = (f"within {_number(check.close_to.tolerance, check)} of" if check.close_to
                else "<" if check.less_than else ">")
        return f"{sign} {', '.join(filter(None, parts))}"
    side = "at most" if check.at_least is None else "at least"
    number = _number(check.at_most if check.at_least is None else check.at_least, check)
    return f"{side} {number}" + ", by the test of an order" * check.tested


def _spread(values: pd.Series, check: Check) -> str:
    mean = _number(float(values.mean()), check)
    return f"{mean} ± {_number(float(values.std()), check)}" if len(values) > 1 else mean


def _over_examples(case: pd.DataFrame, check: Check) -> str:
    """The 95 % interval of a share over the examples of one seed (Wilson), beside the spread over seeds."""
    if not check.percent or check.other or case["n"].isna().any() or not case["value"].between(0, 1).all():
        return ""
    n = int(case["n"].min())
    low, high = metrics.share_interval(round(float(case["value"].mean()) * n), n)
    return f" (95 % interval over the {n:,} examples of one seed: {_number(low, check)} to {_number(high, check)})"


def _number(value: float, check: Check) -> str:
    return f"{100 * value:.2f} %" if check.percent else f"{value:.4g}"
