"""What records say about the claims of the paper. No verdict is written by hand: it is what the checks say."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from scipy import stats

from pcgraph_lite.images import metrics

from . import claims, decimals
from .claims import Check, Claim, Condition, Rival

SIZES = ("any", "smoke", "laptop", "paper")       # profiles by how much they prove
COLUMNS = ["claim", "section", "kind", "statement", "paper", "ours", "n", "profile", "device", "verdict", "note",
           "hangs_on", "rival", "notebook", "command"]
LEVEL = 0.05                                      # of the one-sided t-test on paired differences


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


@dataclass(frozen=True)
class Lack:
    """Something that a final verdict needs and these records do not have. As a string, a note of the scorecard.

    ``kind``: "seeds", "profile", "least" (of ``what``), "record" or "pair" (of ``check``), "counterpart".
    """

    kind: str
    number: float = 0
    what: str = ""
    check: Check | None = None

    def __str__(self) -> str:
        if self.check:
            return (f"no record of {claims.label(self.check)}" if self.kind == "record" else
                    f"no two records to compare for {claims.rule(self.check)}")
        return {"seeds": f"needs {self.number:g} seed{'s' * (self.number != 1)}",
                "profile": f"needs the {self.what} profile",
                "least": f"needs {self.number:g} {self.what}",
                "counterpart": f"{self.number:g} run{' has' if self.number == 1 else 's have'} no counterpart to be "
                               "compared with"}[self.kind]


@dataclass(frozen=True)
class Outcome:
    """What one check says. ``passed`` None: it lacks records. ``alone``: records without a counterpart."""

    passed: bool | None
    text: str = ""
    seeds: int = 0
    alone: int = 0
    lack: Lack | None = None


@dataclass(frozen=True)
class Beside:
    """What a quantity is worth beside something simple. As a string, a line of the scorecard."""

    what: str
    said: str

    def __str__(self) -> str:
        return f"{self.what}: {self.said}"


@dataclass(frozen=True)
class Verdict:
    """What the records of a claim say.

    ``lacks``: what a final verdict still needs. ``readings``: the verdict under each other reading of the text.
    """

    claim: str
    verdict: str
    seeds: int
    profile: str
    devices: tuple[str, ...]
    outcomes: tuple[Outcome, ...]
    lacks: tuple[Lack, ...]
    readings: Mapping[str, str]
    rivals: tuple[Beside, ...]

    @property
    def ran(self) -> list[Outcome]:
        """Of the checks that have records."""
        return [outcome for outcome in self.outcomes if outcome.passed is not None]

    def row(self, claim: Claim) -> dict[str, object]:
        """Of the scorecard: all in words."""
        run = "--published" if claim.needs.profile == "paper" else "--profile laptop"
        held = f"{sum(bool(outcome.passed) for outcome in self.ran)} of {len(self.ran)} checks hold"
        return {
            "claim": self.claim, "section": claim.section, "kind": claim.kind, "statement": claim.statement,
            "paper": claim.paper, "ours": "; ".join(outcome.text for outcome in self.ran), "n": self.seeds,
            "profile": self.profile, "device": ", ".join(self.devices), "verdict": self.verdict,
            "note": "; ".join([held, *map(str, self.lacks)]) if self.ran else "no records yet",
            "hangs_on": "; ".join(f"{name}: {verdict}" for name, verdict in self.readings.items()),
            "rival": "; ".join(map(str, self.rivals)), "notebook": claim.notebook,
            "command": f"pcgraph run {claim.notebook} {run}",
        }


def scorecard(records: pd.DataFrame, rules: Mapping[str, Claim] | None = None) -> pd.DataFrame:
    """One row a claim, in the order of the claims file: columns ``COLUMNS``, ``n`` the seeds behind the verdict."""
    rules = rules or claims.load_claims()
    return pd.DataFrame([one.row(rules[name]) for name, one in verdicts(records, rules).items()], columns=COLUMNS)


def verdicts(records: pd.DataFrame, rules: Mapping[str, Claim] | None = None) -> dict[str, Verdict]:
    """The verdict on every claim, by its id.

    Of the ``records`` of a claim only those of the largest profile count. ``rules`` None: those of the package.
    """
    records = _told_apart(records)
    return {name: _judged(name, claim, records) for name, claim in (rules or claims.load_claims()).items()}


def measured(name: str, records: pd.DataFrame, rules: Mapping[str, Claim] | None = None,
             reading: str = "") -> list[list[Measured]]:
    """The cases behind each check of a claim, in the order of its checks; none where there are no records.

    ``reading``: of one of its readings, not of its own checks.
    """
    claim, records = (rules or claims.load_claims())[name], _told_apart(records)
    profile, own = _of_claim(name, records)
    return [_measured(check, _looked_at(check, own, records, profile))
            for check in (claim.readings[reading] if reading else claim.checks)]


def _judged(name: str, claim: Claim, records: pd.DataFrame) -> Verdict:
    everything, (profile, records) = records, _of_claim(name, records)
    seen = partial(_looked_at, own=records, everything=everything, profile=profile)
    outcomes = [_applied(check, seen(check)) for check in claim.checks]
    seeds = [outcome.seeds for outcome in outcomes if outcome.passed is not None]
    lacks = _lacks(claim, records, profile, outcomes)
    readings = {other: _reading(claim, checks, [_applied(check, seen(check)) for check in checks])
                for other, checks in claim.readings.items() if len(records)}
    beside = [line for rival in claim.rivals for line in _beside(rival, records)]
    return Verdict(name, _verdict(claim, claim.checks, outcomes, bool(lacks)), min(seeds, default=0), profile,
                   tuple(sorted(set(records["device"]))), tuple(outcomes), tuple(lacks), readings, tuple(beside))


def _looked_at(check: Check, own: pd.DataFrame, everything: pd.DataFrame, profile: str) -> pd.DataFrame:
    """The records that a check looks at: those of its claim, or of the claims that it names, of the same profile."""
    return everything[(everything["profile"] == profile) & everything["claim"].isin(check.of)] if check.of else own


def _reading(claim: Claim, checks: list[Check], outcomes: list[Outcome]) -> str:
    """The verdict under another reading; preliminary where one of its checks has no record."""
    return _verdict(claim, checks, outcomes, preliminary=any(outcome.passed is None for outcome in outcomes))


def _lacks(claim: Claim, records: pd.DataFrame, profile: str, outcomes: list[Outcome]) -> list[Lack]:
    """What a final verdict on a claim still needs."""
    lacks = [Lack("profile", what=claim.needs.profile)] if _size(profile) < _size(claim.needs.profile) else []
    lacks += _too_small(claim.needs.least, records) + _fewer_seeds(claim, outcomes)
    lacks += [outcome.lack for outcome in outcomes if outcome.lack]
    if alone := max((outcome.alone for check, outcome in zip(claim.checks, outcomes, strict=True) if not check.seeds),
                    default=0):
        lacks.append(Lack("counterpart", alone))
    return lacks


def _beside(rival: Rival, records: pd.DataFrame) -> list[Beside]:
    """What a quantity is worth, case by case. Neither better nor worse by the test of an order: not told apart."""
    cases, lines = _cases(rival, records)[0], []
    for case in cases:
        word = ("better than" if _holds(rival, case) else "worse than" if _holds(_turned(rival), case)
                else "not told apart from")
        about = [rival.quantity.replace("_", " ")] + [
            _bare(case[key].iloc[0]) for key in ("dataset", "case")
            if key in case and len({other[key].iloc[0] for other in cases}) > 1]
        ours, theirs = (claims.number(case[side].mean(), rival) for side in ("value", "theirs"))
        lines.append(Beside(", ".join(about), f"{word} {rival.name} ({ours} against {theirs})"))
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


def _fewer_seeds(claim: Claim, outcomes: list[Outcome]) -> list[Lack]:
    """How many seeds the checks that ran still need: the most that one of those with too few asks for."""
    wanted = [(check.seeds or claim.needs.seeds, outcome.seeds)
              for check, outcome in zip(claim.checks, outcomes, strict=True) if outcome.passed is not None]
    needed = max((needs for needs, seeds in wanted if seeds < needs), default=0)
    return [Lack("seeds", needed)] if needed else []


def _too_small(least: Mapping[str, float], records: pd.DataFrame) -> list[Lack]:
    """The quantities of which a record is smaller than a final verdict needs, or that have none."""
    lacks = []
    for quantity, wanted in least.items():
        values = records.loc[records["quantity"] == quantity, "value"]
        if values.empty or values.min() < wanted:
            name = quantity.replace("_", " ")
            name = (name.removesuffix("s") if wanted == 1 else name).replace("gpu", "GPU")
            lacks.append(Lack("least", wanted, name))
    return lacks


def _size(profile: str) -> int:
    return SIZES.index(profile) if profile in SIZES else -1


def _applied(check: Check, records: pd.DataFrame) -> Outcome:
    """Mean over seeds of every case (data set, model, parameters) against a number, or seed by seed against the other.

    All cases must hold, and the worst is shown; with ``any_case`` one is enough, and the best is shown.
    """
    cases, alone = _cases(check, records)
    if not cases:
        any_record = not _select(records, check, check.where).empty
        return Outcome(None, lack=Lack("pair" if any_record else "record", check=check))
    failing = [case for case in cases if not _holds(check, case)]
    passed = len(failing) < len(cases) if check.any_case else not failing
    if check.other:
        shown = (failing or cases)[0]                    # the first; cases of different scale have no worst
    else:
        shown = (min if check.any_case else max)(cases if check.any_case else failing or cases,
                                                 key=lambda case: _distance(check, case))
    said = claims.bound(check) if passed else f"not {claims.bound(check)}"
    said = f"{said} {_spread(shown['theirs'], check)}" if check.other else f"({said})"
    text = (f"{claims.label(check)} {_spread(shown['value'], check)}{_over_examples(shown, check)} {said}"
            f"{_of_cases(check, len(failing), len(cases))}")
    return Outcome(passed, text, min(case["seed"].nunique() for case in cases), alone)


def _told_apart(records: pd.DataFrame) -> pd.DataFrame:
    """Records without gaps in the columns that tell them apart."""
    return records.assign(dataset=records["dataset"].fillna(""), model=records["model"].fillna(""),
                          seed=records["seed"].astype(float).fillna(-1),
                          case=[json.dumps(parameters, sort_keys=True) for parameters in records["parameters"]])


def _of_claim(name: str, records: pd.DataFrame) -> tuple[str, pd.DataFrame]:
    """The largest profile of a claim's records, and those records."""
    records = records[records["claim"] == name]
    profile = max(records["profile"], key=_size, default="")
    return profile, records[records["profile"] == profile]


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
    return f", {shown} of {failed(failing, cases) if failing else f'{cases} cases, which all hold'}"


def failed(failing: int, cases: int) -> str:
    """How many of the cases of a check fail, one at least."""
    return f"{cases} cases, " + ("which all fail" if failing == cases else
                                 f"{failing} of which fail{'s' * (failing == 1)}")


def _bare(text: str) -> str:
    """A data set, or parameters (JSON) in words."""
    return ", ".join(claims.words(json.loads(text))) if text.startswith("{") else text


def _spread(values: pd.Series, check: Check) -> str:
    mean, sd = float(values.mean()), float(values.std())
    if len(values) == 1:
        return claims.number(mean, check)
    return f"{claims.number(mean, check)} ± {claims.number(sd, check)}" if check.percent else decimals.spread(mean, sd)


def _over_examples(case: pd.DataFrame, check: Check) -> str:
    """The 95 % interval (Wilson) that such a share of the examples of one seed has, beside the spread over seeds."""
    if not check.percent or check.other or case["n"].isna().any() or not case["value"].between(0, 1).all():
        return ""
    n = int(case["n"].min())
    low, high = (claims.number(end, check) for end in metrics.share_interval(round(float(case["value"].mean()) * n), n))
    return f" (95 % interval of such a share of {n:,} examples: {low} to {high})"
