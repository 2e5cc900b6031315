"""Verdicts on the claims of the paper. No verdict is written by hand: checks derive it from records."""

import itertools
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np
from scipy.special import gammaln, stdtr  # all of scipy.stats would take seconds to import

from . import claims, decimals, words
from .claims import Check, Claim, Condition, Other, Rival

SIZES = {"any": 0, "smoke": 1, "laptop": 2, "paper": 3}                  # of profiles; another counts as none
LEVELS = {"better": "better than", "level": "not told apart from", "worse": "worse than"}             # of a rival
SHOWN = 2                                         # how many checks without records are named
MISSING = {"dataset": "", "model": "", "seed": -1, "n": math.nan}        # seed -1: nothing was drawn
Row = Mapping[str, Any]                           # a record without empty fields; ``condition``: its parameters as text


@dataclass(frozen=True)
class Case:
    """The records of a check for one data set, model and setting, in a comparison paired with the other side by seed.
    ``n``: the fewest examples behind a value, or NaN. ``opposite``: whether the test finds the opposite of an order.
    """

    dataset: str
    model: str
    parameters: Condition
    seeds: int
    n: float
    values: np.ndarray                            # (records,), of a comparison (seeds,)
    theirs: np.ndarray                            # (seeds,), empty if there is no other side
    holds: bool
    opposite: bool


@dataclass(frozen=True)
class Outcome:
    """The outcome of a check. Without cases it lacks records. ``alone``: how many records have no counterpart."""

    check: Check
    cases: tuple[Case, ...]
    alone: int = 0

    @property
    def passed(self) -> bool | None:
        """Whether all cases hold, or one with ``any_case``; None without records."""
        return (any if self.check.any_case else all)(case.holds for case in self.cases) if self.cases else None

    @property
    def seeds(self) -> int:
        """The fewest seeds of a case."""
        return min((case.seeds for case in self.cases), default=0)

    def __str__(self) -> str:
        """The measurement beside the rule, for the worst of several cases, or the best with ``any_case``."""
        check, failing = self.check, [case for case in self.cases if not case.holds]
        if check.other:
            shown = (failing or self.cases)[0]           # the first; cases of different scale have no worst
        elif check.any_case:
            shown = min(self.cases, key=lambda case: _distance(check, case.values))
        else:
            shown = max(failing or self.cases, key=lambda case: _distance(check, case.values))
        said = claims.bound(check) if self.passed else f"not {claims.bound(check)}"
        said = f"{said} {_spread(shown.theirs, check)}" if check.other else f"({said})"
        return (f"{claims.label(check)} {_spread(shown.values, check)}{_over_examples(shown, check)} {said}"
                f"{_of_cases(check, len(failing), self.cases, shown)}{', a further measure' * check.further}")


@dataclass(frozen=True)
class AgainstRival:
    """A quantity in one case beside a simple rival. ``about``: what distinguishes the case from others."""

    rival: Rival
    case: Case
    about: tuple[str, ...]

    @property
    def level(self) -> str:
        """The outcome of the test of an order, a key of ``LEVELS``."""
        return "better" if self.case.holds else "worse" if self.case.opposite else "level"

    def __str__(self) -> str:
        """A line of the scorecard."""
        ours, theirs = (claims.in_unit(side.mean(), self.rival) for side in (self.case.values, self.case.theirs))
        about = ", ".join([words.quantity(self.rival.quantity), *map(words.called, self.about)])
        return f"{about}: {LEVELS[self.level]} {self.rival.name} ({ours} compared with {theirs})"


@dataclass(frozen=True)
class Reading:
    """The verdict and outcomes under another reading, preliminary if a check of it has no record or too few seeds."""

    verdict: str
    outcomes: tuple[Outcome, ...]


@dataclass(frozen=True)
class Verdict:
    """The verdict on a claim. ``outcomes``: by check. ``lacks``: what a final verdict still needs, in sentences."""

    name: str
    claim: Claim
    verdict: str
    profile: str
    devices: tuple[str, ...]
    outcomes: Mapping[str, Outcome]
    lacks: tuple[str, ...]
    readings: Mapping[str, Reading]
    rivals: tuple[AgainstRival, ...]

    @property
    def ran(self) -> list[Outcome]:
        """The outcomes of checks that have records."""
        return [outcome for outcome in self.outcomes.values() if outcome.cases]

    @property
    def counted(self) -> list[Outcome]:
        """The outcomes of checks that have records and decide the verdict, so without further measures."""
        return [outcome for outcome in self.ran if not outcome.check.further]

    @property
    def seeds(self) -> int:
        """The fewest seeds of a check that ran."""
        return min((outcome.seeds for outcome in self.counted), default=0)

    def named(self, passed: bool, guard: bool = False) -> list[str]:
        """The names of the checks, or of the guards, that decide the verdict and hold or fail."""
        return [name for name, outcome in self.outcomes.items() if outcome.passed is passed
                and outcome.check.guard is guard and not outcome.check.further]

    @property
    def held(self) -> str:
        """How many of the checks that ran hold, in words, and how many of its guards fail."""
        held, fallen, failed = (len(self.named(*how)) for how in ((True,), (False,), (False, True)))
        said = (f"{held} of {held + fallen} checks hold{'s' * (held == 1)}" if held + fallen != 1 else
                f"the one check {'holds' if held else 'fails'}")
        return said + (f", {failed} sanity check{'s fail' if failed > 1 else ' fails'}" if failed else "")

    def row(self) -> dict[str, object]:
        """The row of the scorecard, in words."""
        claim, run = self.claim, "--published" if self.claim.needs.profile == "paper" else "--profile laptop"
        return {
            "claim": self.name, "section": claim.section, "kind": claim.kind, "statement": claim.statement,
            "paper": claim.paper, "ours": "; ".join(map(str, self.ran)), "n": self.seeds,
            "profile": self.profile, "device": ", ".join(self.devices), "verdict": self.verdict,
            "note": " ".join([f"{self.held}.", *self.lacks]) if self.ran else "no records yet",
            "hangs_on": "; ".join(f"{name}: {reading.verdict}" for name, reading in self.readings.items()),
            "rival": "; ".join(map(str, self.rivals)), "notebook": claim.notebook,
            "command": f"pcgraph run {claim.notebook} {run}",
        }


def verdicts(records: Iterable[Mapping[str, Any]], rules: Mapping[str, Claim] | None = None) -> dict[str, Verdict]:
    """Verdicts by claim of ``rules`` (None: the package's). Only records of a claim's largest profile count."""
    rows = [MISSING | {name: value for name, value in record.items() if value is not None}
            | {"condition": json.dumps(record["parameters"], sort_keys=True)} for record in records]
    of_claim = {name: some for (name,), some in _grouped(rows, ["claim"])}
    return {name: _decided(name, claim, of_claim) for name, claim in (rules or claims.load_claims()).items()}


def own(records: Iterable[Mapping[str, Any]]) -> dict[str, Verdict]:
    """Verdicts with the settings that held-out images chose, wherever these lie: shown, and never counted."""
    return verdicts(records, {name: claim.model_copy(update={"in_grid": None})
                              for name, claim in claims.load_claims().items()})


def _decided(name: str, claim: Claim, of_claim: Mapping[str, list[Row]]) -> Verdict:
    """The verdict inside the paper's grid if that has run, at the value where most checks hold; else outside it."""
    inside = [one for one in (_judged(name, one, of_claim) for one in claim.inside()) if one.verdict != "not run"]
    if not inside:
        return _judged(name, claim, of_claim)
    return max(inside, key=lambda one: (one.verdict.removeprefix("preliminary: ") == "reproduced",
                                        sum(bool(outcome.passed) for outcome in one.counted)))


def _judged(name: str, claim: Claim, of_claim: Mapping[str, list[Row]]) -> Verdict:
    own = of_claim.get(name, [])
    profile = max((row["profile"] for row in own), key=lambda name: SIZES.get(name, -1), default="")
    own = [row for row in own if row["profile"] == profile]

    def applied(check: Check) -> Outcome:
        """Apply a check to records of this profile: the claim's own, or those of the claims that it names."""
        return _applied(check, [row for source in check.of or [name] for row in of_claim.get(source, ())
                                if row["profile"] == profile])

    outcomes = {key: applied(check) for key, check in claim.checks.items()}
    counted = [outcome for outcome in outcomes.values() if not outcome.check.further]
    lacks = _lacks(claim, own, profile, counted)
    readings = {}
    for other, checks in claim.readings.items() if own else ():
        under = [applied(check) for check in checks]
        missing = any(outcome.passed is None for outcome in under) or bool(_too_few(claim, under))
        readings[other] = Reading(_verdict(claim, under, preliminary=missing), tuple(under))
    verdict = _verdict(claim, counted, preliminary=bool(lacks))
    return Verdict(name, claim, verdict, profile, tuple(sorted({row["device"] for row in own})), outcomes,
                   () if verdict == "not comparable" else tuple(lacks), readings,
                   tuple(line for rival in claim.rivals for line in _compared(rival, own)))


def _lacks(claim: Claim, own: list[Row], profile: str, outcomes: list[Outcome]) -> list[str]:
    lacks = []
    if profile and SIZES.get(profile, -1) < SIZES[claim.needs.profile]:
        lacks.append(f"Run at the sizes called {profile}; the rule asks for {claim.needs.profile}.")
    for quantity, wanted in claim.needs.least.items():
        if min((row["value"] for row in own if row["quantity"] == quantity), default=-math.inf) < wanted:
            lacks.append(f"The rule asks for {wanted:g} {quantity.replace('_', ' ')}; this run had fewer.")
    if few := _too_few(claim, outcomes):
        uneven = any(check.seeds for check in claim.checks.values())       # the fewest may be enough
        so_far = "Fewer seeds" if uneven else words.count(min(few.values()), "seed").capitalize()
        lacks.append(f"{so_far} so far; the rule asks for {words.count(max(few))}.")
    if alone := max((outcome.alone for outcome in outcomes if not outcome.check.seeds), default=0):
        lacks.append(f"{words.count(alone, 'run').capitalize()} had no counterpart of the same seed, and "
                     f"{'was' if alone == 1 else 'were'} not compared.")
    if not own:
        return [*lacks, "Nothing has been measured yet."]
    if missing := list(dict.fromkeys(claims.rule(outcome.check) for outcome in outcomes if not outcome.cases)):
        more = f"; and {words.count(len(missing) - SHOWN)} more" if len(missing) > SHOWN else ""
        lacks.append(f"Not measured yet: {'; '.join(missing[:SHOWN])}{more}.")
    return lacks


def _too_few(claim: Claim, outcomes: Iterable[Outcome]) -> dict[int, int]:
    """Numbers of seeds that the rule asks for -> the fewest that ran, where those are fewer."""
    few: dict[int, int] = {}
    for outcome in outcomes:
        needed = outcome.check.seeds or claim.needs.seeds
        if outcome.cases and outcome.seeds < needed:
            few[needed] = min(outcome.seeds, few.get(needed, needed))
    return few


def _compared(rival: Rival, own: list[Row]) -> list[AgainstRival]:
    cases = _applied(rival, own).cases
    about = [(case.dataset, ", ".join(claims.settings(case.parameters))) for case in cases]
    several = [len(set(side)) > 1 for side in zip(*about, strict=True)]
    return [AgainstRival(rival, case, tuple(itertools.compress(one, several)))
            for case, one in zip(cases, about, strict=True)]


def _verdict(claim: Claim, outcomes: Iterable[Outcome], preliminary: bool) -> str:
    """The verdict by the checks that ran. A guard that holds does not support the claim."""
    outcomes = list(outcomes)
    passed = [outcome.passed for outcome in outcomes if outcome.passed is not None]
    own = [outcome.passed for outcome in outcomes if not outcome.check.guard]
    if all(held is None for held in own):
        return "not run"
    if not claim.comparable:
        return "not comparable"
    verdict = "not reproduced" if not any(own) else "reproduced" if all(passed) else "partly"
    return f"preliminary: {verdict}" if preliminary else verdict


def _applied(check: Check, rows: list[Row]) -> Outcome:
    """Apply a check to every case (data set, model, parameters): to its mean, or seed by seed to a comparison."""
    mine = _select(rows, check, check.where)
    if check.other:
        cases, alone = _paired(check, check.other, mine, rows)
        return Outcome(check, tuple(cases), alone if cases else 0)
    return Outcome(check, tuple(
        _case(check, dataset, model, some[0]["parameters"], [row["value"] for row in some],
              seeds=len({row["seed"] for row in some}), n=[row["n"] for row in some])
        for (dataset, model, _), some in _grouped(mine, ("dataset", "model", "condition"))))


def _select(rows: list[Row], what: Check, where: Condition) -> list[Row]:
    """The records of a quantity with these parameters, and with the data set and model if the check names them."""
    return [row for row in rows if row["quantity"] == what.quantity and what.dataset in (None, row["dataset"])
            and what.model in (None, row["model"]) and where.items() <= row["parameters"].items()]


def _paired(check: Check, other: Other, mine: list[Row], rows: list[Row]) -> tuple[list[Case], int]:
    """The cases of a comparison, and the number of records without a counterpart: one of the same data set and seed,
    and of the same model and parameters if both sides share some.
    """
    given = {key: value for key, value in other if key in ("quantity", "model") and value is not None}
    others = _select(rows, check.model_copy(update=given), check.where if other.where is None else other.where)
    shared = [key for key, named in (("model", other.model), ("condition", other.where))
              if named is None and {row[key] for row in mine} & {row[key] for row in others}]
    keys = ["dataset", *shared]
    ours, theirs = ({key: fmean(row["value"] for row in some) for key, some in _grouped(side, (*keys, "seed"))}
                    for side in (mine, others))
    examples = [{key: min(row["n"] for row in some) for key, some in _grouped(side, keys)} for side in (mine, others)]
    cases = []
    for key, some in itertools.groupby((key for key in ours if key in theirs), key=lambda key: key[:-1]):
        about, seeds = dict(zip(keys, key, strict=True)), list(some)
        cases.append(_case(check, about["dataset"], about.get("model") or check.model or "",
                           json.loads(about.get("condition") or "{}"), [ours[one] for one in seeds],
                           [theirs[one] for one in seeds], seeds=len(seeds), n=[side[key] for side in examples]))
    return cases, len(ours.keys() - theirs.keys())


def _case(check: Check, dataset: str, model: str, parameters: Condition, values: Sequence[float],
          theirs: Sequence[float] = (), *, seeds: int, n: Sequence[float]) -> Case:
    ours, others = np.array(values, float), np.array(theirs, float)
    opposite = bool(check.less_than or check.greater_than) and _holds(check, others, ours, n[::-1])
    return Case(dataset, model, parameters, seeds, float(np.min(n)), ours, others, _holds(check, ours, others, n),
                opposite)


def _grouped(rows: Iterable[Row], keys: Sequence[str]) -> list[tuple[tuple[Any, ...], list[Row]]]:
    """Rows grouped by some keys, in the order of their values."""
    def values(row: Row) -> tuple[Any, ...]:
        return tuple(row[key] for key in keys)

    return [(key, list(some)) for key, some in itertools.groupby(sorted(rows, key=values), values)]


def _holds(check: Check, values: np.ndarray, theirs: np.ndarray, n: Sequence[float]) -> bool:
    """Whether a check holds: for a number by the mean, for pairs by their mean difference or, for an order, a test.
    ``n``: of a comparison, the examples behind a value of either side.
    """
    if check.tested:
        return not _falls(values - check.number if check.at_most is None else check.number - values, check.level)
    if not check.other:
        return _distance(check, values) <= (check.near.tolerance if check.near else 0)
    if check.close_to:
        difference = float((values - theirs).mean())
        return (-difference if check.close_to.or_more else abs(difference)) <= check.close_to.tolerance
    low, high = ((values, n[0]), (theirs, n[-1])) if check.less_than else ((theirs, n[-1]), (values, n[0]))
    if check.percent and len(values) == 1 and not np.isnan(n).any():
        return _of_chance(*low, *high) < check.level
    return _falls(low[0] - high[0], check.level)


def _of_chance(share: np.ndarray, n: float, other: np.ndarray, m: float) -> float:
    """The chance of a share this far below another where both are alike: Fisher's exact test, one-sided."""
    hits = round(share.item() * n)
    both = hits + round(other.item() * m)

    def ways(of: float, some: np.ndarray | int) -> np.ndarray:             # logarithm of the binomial coefficient
        return gammaln(of + 1) - gammaln(some + 1) - gammaln(of - some + 1)

    few = np.arange(max(0, both - m), hits + 1)
    return float(np.exp(ways(n, few) + ways(m, both - few) - ways(n + m, both)).sum())


def _falls(values: np.ndarray, level: float) -> bool:
    """Whether their mean is below zero by a one-sided t-test, or by its sign for a single seed or without spread."""
    mean, count = float(values.mean()), len(values)
    if count == 1 or (sd := float(values.std(ddof=1))) == 0:
        return mean < 0
    return bool(stdtr(count - 1, mean / sd * math.sqrt(count)) < level)


def _distance(check: Check, values: np.ndarray) -> float:
    """How far the mean is on the wrong side of the number."""
    mean = float(values.mean())
    if check.near:
        return check.near.value - mean if check.near.or_more else abs(mean - check.near.value)
    return check.number - mean if check.at_least is not None else mean - check.number


def _of_cases(check: Check, failing: int, every: Sequence[Case], shown: Case) -> str:
    """The data set of the case that is shown, and a note on the other cases, if there are several."""
    cases = len(every)
    of = f" on {words.called(shown.dataset)}" if len({case.dataset for case in every}) > 1 else ""
    if check.any_case:
        return f"{of}, the best of {cases}"
    if cases == 1:
        return ""
    said = "all hold" if not failing else "all fail" if failing == cases else f"{failing} fail{'s' * (failing == 1)}"
    return f"{of}, {'one' if check.other else 'the worst'} of {cases} cases ({said})"


def _spread(values: np.ndarray, check: Check) -> str:
    mean = float(values.mean())
    if len(values) == 1:
        return claims.in_unit(mean, check)
    sd = float(values.std(ddof=1))
    return (f"{claims.in_unit(mean, check)} ± {claims.in_unit(sd, check)}" if check.percent
            else decimals.spread(mean, sd))


def _over_examples(case: Case, check: Check) -> str:
    """The 95 % interval (Wilson) of such a share of one seed's examples, besides the spread over seeds."""
    shares = check.percent and check.sampled and not check.other and not math.isnan(case.n)
    if not (shares and ((case.values >= 0) & (case.values <= 1)).all()):
        return ""
    n, share = int(case.n), float(case.values.mean())
    low, high = (claims.in_unit(end, check) for end in decimals.share_interval(round(share * n), n))
    return f" (95 % interval of one seed's share of {n:,}: {low} to {high})"
