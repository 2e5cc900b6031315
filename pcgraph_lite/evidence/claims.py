"""The paper's claims and how records decide about them: ``claims.yaml`` + records -> verdicts.

No verdict is written by hand. Each claim has checks, fixed before the results; the scorecard is what they say.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import pandas as pd
from pydantic import Field, model_validator
from scipy import stats

from ..errors import UnknownName, unknown
from . import config
from .config import Strict

FILE = Path(__file__).with_name("claims.yaml")
SIZES = ("any", "smoke", "laptop", "paper")       # profiles by how much they prove
COLUMNS = ["claim", "section", "kind", "statement", "paper", "ours", "n", "profile", "device", "verdict", "note",
           "notebook", "command"]
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


class Check(Strict):
    """One comparison over the records of a claim.

    ``guard``: what must hold beside the claim, such as an answer better than a blank picture. Where it fails, the claim
    is not reproduced in full; where it holds, that says nothing for the claim. ``any_case``: one of the data sets,
    models and settings that fit is enough; else all must hold.
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
    percent: bool = False
    guard: bool = False
    any_case: bool = False

    @model_validator(mode="after")
    def _one_comparator(self) -> "Check":
        if len(self.comparators()) != 1:
            raise ValueError("expected exactly one of at_least, at_most, near, less_than, greater_than")
        return self

    def comparators(self) -> list[str]:
        """The comparators given; a valid check has one."""
        names = ("at_least", "at_most", "near", "less_than", "greater_than")
        return [name for name in names if getattr(self, name) is not None]

    @property
    def other(self) -> Other | None:
        """The other side of a comparison between quantities."""
        return self.less_than or self.greater_than


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

    @model_validator(mode="after")
    def _more_than_guards(self) -> "Claim":
        if all(check.guard for check in self.checks):
            raise ValueError("expected at least one check that is no guard")
        return self

    def quantities(self) -> list[str]:
        """Every quantity that a record of this claim may have."""
        others = [check.other.quantity for check in self.checks if check.other and check.other.quantity]
        return list(dict.fromkeys([check.quantity for check in self.checks] + others + [*self.needs.least] + self.also))


@dataclass(frozen=True)
class Outcome:
    """What one check says. ``passed`` None: there are no records for it. ``alone``: records without a counterpart."""

    passed: bool | None
    text: str
    seeds: int = 0
    alone: int = 0


def load_claims(path: Path = FILE) -> dict[str, Claim]:
    """Every claim by its id. Raises BadFile or BadInput where the file is not as it should be."""
    return config.validated(dict[str, Claim], config.read_yaml(path), path)


def scorecard(records: pd.DataFrame, claims: Mapping[str, Claim] | None = None) -> pd.DataFrame:
    """One row a claim, in the order of the claims file.

    Args:
        records: as ``records.read`` gives them. Of each claim only the rows of the largest profile count.
        claims: the rules. None: those of the package.

    Returns:
        Columns ``COLUMNS``; ``n`` is the number of seeds behind the verdict.
    """
    rows = [_row(name, claim, records[records["claim"] == name])
            for name, claim in (claims or load_claims()).items()]
    return pd.DataFrame(rows, columns=COLUMNS)


def apply(check: Check, records: pd.DataFrame) -> Outcome:
    """Apply one check to the records of a claim."""
    rows = _select(records, check.quantity, check.dataset, check.model, check.where)
    if rows.empty:
        return Outcome(None, f"no record of {_label(check)}")
    return _against_other(check, rows, records) if check.other else _against_value(check, rows)


def rule(check: Check) -> str:
    """One check in words, for example ``accuracy [mnist] at least 90.00 %``."""
    return f"{_label(check)} {_bound(check)}"


def _row(name: str, claim: Claim, records: pd.DataFrame) -> dict[str, object]:
    profile = max(records["profile"], key=_size, default="")
    records = records[records["profile"] == profile]
    standing = {ours: theirs for ours, theirs in claim.stand_ins.items() if ours not in set(records["model"])}
    outcomes = [apply(_standing(check, standing), records) for check in claim.checks]
    ran = [outcome for outcome in outcomes if outcome.passed is not None]
    own = [outcome for outcome, check in zip(outcomes, claim.checks, strict=True) if not check.guard]
    seeds = min((outcome.seeds for outcome in ran), default=0)
    missing = _missing(claim.needs, records, profile, seeds)
    missing += [f"needs {ours}; {theirs} stands in for it" for ours, theirs in standing.items()]
    missing += [outcome.text for outcome in outcomes if outcome.passed is None]
    if alone := max(outcome.alone for outcome in outcomes):
        missing.append(f"{alone} runs have no counterpart to be compared with")
    passed, any_own = [bool(outcome.passed) for outcome in ran], any(outcome.passed for outcome in own)
    wanted = claim.needs.profile if claim.needs.profile != "any" else "laptop"
    return {
        "claim": name, "section": claim.section, "kind": claim.kind, "statement": claim.statement,
        "paper": claim.paper, "ours": "; ".join(outcome.text for outcome in ran), "n": seeds, "profile": profile,
        "device": ", ".join(sorted(set(records["device"]))),
        "verdict": _verdict(passed, any_own, missing, claim.comparable), "note": _note(passed, missing),
        "notebook": claim.notebook,
        "command": f"pcgraph run {claim.notebook} --profile {wanted}",
    }


def _standing(check: Check, standing: Mapping[str, str]) -> Check:
    """The check with stand-ins in the place of models that have no record."""
    return check.model_copy(update={"model": standing[check.model]}) if check.model in standing else check


def _verdict(passed: list[bool], any_own: bool, missing: list[str], comparable: bool) -> str:
    """``any_own``: whether a check that is no guard holds."""
    if not passed or not comparable:
        return "not comparable" if passed else "not run"
    verdict = "not reproduced" if not any_own else "reproduced" if all(passed) else "partly"
    return f"preliminary: {verdict}" if missing else verdict


def _missing(needs: Needs, records: pd.DataFrame, profile: str, seeds: int) -> list[str]:
    """What the run lacks of what a final verdict needs."""
    missing = [f"needs the {needs.profile} profile"] if _size(profile) < _size(needs.profile) else []
    if seeds < needs.seeds:
        missing.append(f"needs {needs.seeds} seeds")
    for quantity, least in needs.least.items():
        values = records.loc[records["quantity"] == quantity, "value"]
        if values.empty or values.min() < least:
            name = quantity.replace("_", " ")
            missing.append(f"needs {least:g} {name.removesuffix('s') if least == 1 else name}".replace("gpu", "GPU"))
    return missing


def _note(passed: list[bool], missing: list[str]) -> str:
    return "; ".join([f"{sum(passed)} of {len(passed)} checks hold", *missing]) if passed else "no records yet"


def _size(profile: str) -> int:
    return SIZES.index(profile) if profile in SIZES else -1


def _select(records: pd.DataFrame, quantity: str, dataset: str | None, model: str | None,
            where: Condition) -> pd.DataFrame:
    keep = records["quantity"] == quantity
    for column, wanted in (("dataset", dataset), ("model", model)):
        keep &= True if wanted is None else records[column] == wanted
    fits = [all(parameters.get(key) == value for key, value in where.items())
            for parameters in records["parameters"]]
    return records[keep & np.array(fits, dtype=bool)]


def _against_value(check: Check, rows: pd.DataFrame) -> Outcome:
    """Mean over seeds of every (data set, model, parameters) against a fixed number; all of them must hold."""
    groups = [group for _, group in _by(rows, ["dataset", "model", "parameters"])]
    failing = [group for group in groups if not _holds(check, float(group["value"].mean()))]
    passed = len(failing) < len(groups) if check.any_case else not failing
    worst = min if check.any_case else max                                 # where one is enough, the best is shown
    shown = worst(groups if check.any_case else failing or groups,
                  key=lambda group: _distance(check, float(group["value"].mean())))
    seeds = min(group["seed"].nunique(dropna=False) for group in groups)
    said = _bound(check) if passed else f"not {_bound(check)}"
    text = f"{_label(check)} {_spread(shown['value'], check)} ({said})"
    return Outcome(passed, text + (f", best of {len(groups)}" if check.any_case else _cases(failing, groups, "worst")),
                   seeds)


def _distance(check: Check, mean: float) -> float:
    """How far a mean is on the wrong side of the rule, so that the worst case is the one that is shown."""
    if check.near:
        return check.near.value - mean if check.near.or_more else abs(mean - check.near.value)
    return check.at_least - mean if check.at_least is not None else mean - check.at_most


def _cases(failing: list[pd.DataFrame], groups: list[pd.DataFrame], shown: str) -> str:
    """Of how many cases (data sets, models, settings) the one shown is, where there are several."""
    if len(groups) == 1:
        return ""
    if failing:
        return f", {shown} of {len(failing)} such cases in {len(groups)}"
    return f", {shown} of {len(groups)} cases, which all hold"


def _holds(check: Check, mean: float) -> bool:
    if check.near:
        return _distance(check, mean) <= check.near.tolerance
    return mean >= check.at_least if check.at_least is not None else mean <= check.at_most


def _against_other(check: Check, rows: pd.DataFrame, records: pd.DataFrame) -> Outcome:
    """Paired comparison: the same data set and seed, the same model and parameters wherever both sides have them."""
    other = check.other
    others = _select(records, other.quantity or check.quantity, check.dataset, other.model or check.model,
                     check.where if other.where is None else other.where)
    free = {"model": other.model, "parameters": other.where}
    keys = ["dataset", *(column for column, given in free.items() if given is None
                         and set(rows[column].map(_plain)) & set(others[column].map(_plain)))]
    pairs = _pairs(rows, others, [*keys, "seed"])
    if pairs.empty:
        return Outcome(None, f"no two records to compare for {rule(check)}")
    alone = len(_by(rows, [*keys, "seed"])) - len(pairs)
    groups = [group for _, group in _by(pairs, keys)]
    failing = [group for group in groups if not _ordered(group, below=check.less_than is not None)]
    shown = (failing or groups)[0]                       # the first; cases of different scale have no worst
    said = ("not " if failing else "") + _bound(check)
    text = f"{_label(check)} {_spread(shown['ours'], check)} {said} {_spread(shown['theirs'], check)}"
    seeds = min(group["seed"].nunique() for group in groups)
    return Outcome(not failing, text + _cases(failing, groups, "one"), seeds, alone)


def _pairs(rows: pd.DataFrame, others: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Columns ``keys``, ``ours`` and ``theirs``: means of both sides where the keys agree."""
    sides = [side.assign(**{key: side[key].map(_plain) for key in keys}).groupby(keys, sort=True)["value"].mean()
             for side in (rows, others)]
    return pd.concat(sides, axis=1, keys=["ours", "theirs"], join="inner").reset_index()


def _ordered(pairs: pd.DataFrame, below: bool) -> bool:
    """Whether our side is below (or above) theirs, seed by seed; by its sign alone where there is one seed."""
    difference = (pairs["ours"] - pairs["theirs"]) * (1 if below else -1)
    if len(difference) == 1 or difference.std() == 0:
        return bool(difference.mean() < 0)
    return stats.ttest_1samp(difference, 0, alternative="less").pvalue < LEVEL


def _by(rows: pd.DataFrame, keys: list[str]) -> list[tuple[object, pd.DataFrame]]:
    return list(rows.groupby([rows[key].map(_plain) for key in keys], sort=True))


def _plain(value: object) -> str:
    """A key that can be grouped and sorted, whatever the cell holds."""
    return json.dumps(value, sort_keys=True, default=str)


def _label(check: Check) -> str:
    inside = [part for part in (check.dataset, check.model, *_cells(check.where)) if part]
    return check.quantity.replace("_", " ") + (f" [{', '.join(inside)}]" if inside else "")


def _cells(where: Mapping[str, object]) -> list[str]:
    """Which records a rule looks at, in words: 50 images, not 50.0."""
    return [f"{key} {value:g}" if isinstance(value, float) else f"{key} {value}" for key, value in where.items()]


def _bound(check: Check) -> str:
    """What is asked of the quantity: a number, or what it is held against."""
    if check.near:
        return (f"near {_number(check.near.value, check)} ± {_number(check.near.tolerance, check)}"
                + " or more" * check.near.or_more)
    if check.other is None:
        name = check.comparators()[0]
        return f"{name.replace('_', ' ')} {_number(getattr(check, name), check)}"
    quantity, model = check.other.quantity, check.other.model
    parts = [quantity and quantity.replace("_", " "), model, *_cells(check.other.where or {})]
    return ("< " if check.less_than else "> ") + ", ".join(filter(None, parts))


def _spread(values: pd.Series, check: Check) -> str:
    mean = _number(float(values.mean()), check)
    return f"{mean} ± {_number(float(values.std()), check)}" if len(values) > 1 else mean


def _number(value: float, check: Check) -> str:
    return f"{100 * value:.2f} %" if check.percent else f"{value:.4g}"


def check_known(claim: str, quantity: str, claims: Mapping[str, Claim]) -> None:
    """Refuse a record that no rule knows. Raises UnknownName with a near match, naming what to do."""
    if claim not in claims:
        raise unknown("claim", claim, claims)
    if quantity not in claims[claim].quantities():
        raise UnknownName(f"{unknown(f'quantity of claim {claim},', quantity, claims[claim].quantities())} A new one "
                       "goes under `also:` in pcgraph_lite/evidence/claims.yaml.")
