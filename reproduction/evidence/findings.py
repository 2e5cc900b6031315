"""The finding about each claim in sentences, which take their numbers from its checks. The verdict in words precedes
them, so a claim that failed cannot read as if it held.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from . import claims
from .claims import Cause, Check, Claim
from .verdicts import AgainstRival, Outcome, Reading, Verdict, verdicts
from .words import called, count, load

LEADS, KINDS = load().verdicts, load().causes                             # both in the order of lists
UNKNOWN = "What was measured does not meet the rule, and no cause is known yet."
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
FEW = 3                                            # up to so many cases are listed; more are given as a range


@dataclass(frozen=True, kw_only=True)
class Finding(Verdict):
    """A verdict in words. ``hangs``: what it depends on (other readings, simple methods), one sentence each. ``cause``:
    empty if none is needed. ``tested``: how it was tested, and the result; empty if it was not.
    """

    title: str                                     # the claim's name where nothing was measured
    remark: str
    lead: str
    sentences: tuple[str, ...]
    ours: str
    hangs: tuple[str, ...]
    kind: str
    cause: tuple[str, ...]
    figure: str
    tested: str


@dataclass(frozen=True, kw_only=True)
class Quantity(Outcome):
    """An outcome, for which ``{name}`` stands in a sentence. ``claims.yaml`` explains the forms."""

    paper: str = ""                                # the paper's number as printed

    def __format__(self, choice: str) -> str:
        if not choice:
            return self._listed(self._means)
        words = choice.split("|")
        holds, opposite, neither, mixed = words + words[-1:] * (4 - len(words))         # left out: as the last
        if self.passed:
            return holds
        if any(case.holds for case in self.cases):
            return mixed
        return opposite if all(case.opposite for case in self.cases) else neither

    @property
    def theirs(self) -> str:
        return self._listed([case.theirs.mean() for case in self.cases])

    @property
    def both(self) -> str:
        """``15.0 compared with 12.8``; with as many more digits, up to three, as tell the two sides apart."""
        if len(self.cases) > FEW:
            return f"{self} compared with {self.theirs}"
        shown = []
        for case in self.cases:
            sides = float(case.values.mean()), float(case.theirs.mean())
            tried = [[rounded(side, self.check, self._decimals + k, 3 + k) for side in sides] for k in range(4)]
            shown.append(" compared with ".join(next((two for two in tried if two[0] != two[1]), tried[0])))
        if len(set(shown)) == 1:
            return shown[0]
        return ", ".join(f"{label}: {text}" for label, text in zip(self._labels(), shown, strict=True))

    @property
    def held(self) -> str:
        holding = sum(case.holds for case in self.cases)
        if holding == len(self.cases) > 1:
            return "both" if holding == 2 else f"all {count(holding)}"
        return f"{count(holding) if holding else 'none'} of {count(len(self.cases))}"

    @property
    def on(self) -> str:
        """The data sets of the cases."""
        return " and ".join(dict.fromkeys(_in_words("dataset", case.dataset) for case in self.cases))

    @property
    def asked(self) -> str:
        return rounded(self.check.number, self.check) if self.check.percent else f"{self.check.number:g}"

    @property
    def place(self) -> str:
        return self._listed([case.values for case in self.cases], _rank)

    @property
    def lowered(self) -> str:
        told: dict[str, list[str]] = {"lower": [], "higher": []}
        for gain, label in zip(self._means, self._labels(), strict=True):
            word = "lower" if gain >= 0 else "higher"
            told[word].append(rounded(abs(gain), self.check) + f" ({label})" * bool(label))
        return " and ".join(f"{word} by {' and '.join(amounts)}" for word, amounts in told.items() if amounts)

    @property
    def beside(self) -> str:
        difference = self.cases[0].values.mean() - self.check.number
        shown = f"{abs(100 * difference):.{self._decimals}f}" if self.check.percent else f"{abs(difference):.3g}"
        if not float(shown):
            return f"as much as the paper's {self.paper}"
        shown += " points" * self.check.percent
        return f"{shown} {'more' if difference > 0 else 'less'} than the paper's {self.paper}"

    @property
    def span(self) -> str:
        ends = [rounded(end, self.check) for end in sorted(self._means)]
        return ends[0] if ends[0] == ends[-1] else f"{ends[0]} to {ends[-1]}"

    @property
    def about(self) -> str:
        shown = [_about(end, self.check) for end in sorted(self._means)]
        return shown[0] if shown[0] == shown[-1] else f"{shown[0].removesuffix(' %')} to {shown[-1]}"

    @property
    def each(self) -> str:
        return self._listed(self._means, _about)

    @property
    def at(self) -> str:
        return ", ".join(_in_words(key, value) for key, value in self.check.where.items())

    def _listed(self, values: Sequence[Any], say: Callable[[Any, Check], str] | None = None) -> str:
        """One number, a few numbers with the names of their cases, or the range of many."""
        say = say or partial(rounded, places=self._decimals)
        shown = [say(value, self.check) for value in values]
        if len(set(shown)) == 1:
            return shown[0]
        if len(shown) > FEW:
            return f"{say(min(values), self.check)} to {say(max(values), self.check)}"
        *first, last = [f"{text} ({label})" for text, label in zip(shown, self._labels(), strict=True)]
        return f"{', '.join(first)} and {last}"

    @property
    def _means(self) -> list[float]:
        return [float(case.values.mean()) for case in self.cases]

    @property
    def _decimals(self) -> int:
        """The decimals of a per cent: as many as the paper prints, so that both can be compared."""
        return max(1, len(self.paper.removesuffix(" %").partition(".")[2]))

    def _labels(self) -> list[str]:
        told = [{"dataset": case.dataset, "model": case.model, **case.parameters} for case in self.cases]
        keys = [key for key in told[0] if len({str(one.get(key)) for one in told}) > 1]
        return [", ".join(_in_words(key, one.get(key)) for key in keys) for one in told]


def _in_words(key: str, value: object) -> str:
    """What distinguishes a case, in words."""
    plain = f"{value:g}" if isinstance(value, float) else str(value)
    return called(plain if key in ("dataset", "model", "task", "setting") else f"{key.replace('_', ' ')} {plain}")


def findings(records: Iterable[Mapping[str, Any]]) -> dict[str, Finding]:
    """Every claim in words, judged by records."""
    return {name: _finding(one) for name, one in verdicts(records).items()}


def told(records: Iterable[Mapping[str, Any]]) -> list[str]:
    """One line per measured claim: its name, the verdict in words, and the first sentence of the finding."""
    return [f"{one.claim.name}. {one.lead} {one.sentences[0]}" for one in findings(records).values()
            if one.sentences and one.verdict != "not run"]


def rounded(value: float, check: Check, places: int = 1, digits: int = 3) -> str:
    """A number for a sentence: 16.04 becomes 16.0, and no share 0 or 100 %. ``places``: the decimals of a per cent;
    ``digits``: those of another number.
    """
    value = 100 * value if check.percent else value
    whole, tail = np.isclose(value, round(value), rtol=1e-9, atol=0), " %" if check.percent else ""
    if whole or abs(value) >= 1000:
        return f"{value:,.0f}{tail}"
    if check.percent:
        finer = (f"{value:.{digit}f}" for digit in range(places, 20))
        return next(shown for shown in finer if float(shown) not in (0, 100)) + tail
    if abs(value) < 1e-6:
        return f"{value:.0e}".replace("e-0", "e-")
    if abs(value) < 1e-4:                                                  # Python would write a power of ten
        return f"{value:.{2 - math.floor(math.log10(abs(value)))}f}"
    return f"{value:#.{digits}g}".removesuffix(".")


def _about(value: float, check: Check) -> str:
    """A number for a title: whole per cents, or two digits. No share is rounded to 0 or 100 %."""
    if check.percent:
        shown = f"{100 * value:.0f} %"
        return rounded(value, check) if shown in ("0 %", "100 %") else shown
    return f"{value:.2g}" if 1e-4 < abs(value) < 100 else rounded(value, check)


def _rank(ranks: np.ndarray, check: Check) -> str:
    """The best and the worst of the seeds' ranks in words, or as numbers if there are no such words."""
    ends = [float(ranks.min()), float(ranks.max())]
    shown = [ORDINALS[int(end) - 1] if end in range(1, len(ORDINALS) + 1) else rounded(end, check) for end in ends]
    return " to ".join(dict.fromkeys(shown))


def _finding(one: Verdict) -> Finding:
    claim, page, held = one.claim, load().pages.get(one.claim.notebook), one.verdict == "reproduced"
    quantities = {name: _quantity(outcome, claim) for name, outcome in one.outcomes.items()}
    ours = claim.ours or f"{{{next(iter(claim.checks))}}}"
    kind, cause = _cause(claim.cause, one.verdict, quantities)
    test = claim.cause.tested if claim.cause and cause else None
    tested = test.told({name: reading.verdict for name, reading in one.readings.items()}) if test else ""
    kind = "tried" if kind == "setting" and test and tested and test.tried else kind
    return Finding(
        **vars(one), title="".join(said([claim.title], quantities)) or claim.name,
        remark=claim.remark if held else "",
        lead=f"It holds {claim.remark}." if held and claim.remark else LEADS[one.verdict],
        sentences=tuple(said(claim.finding, quantities)), ours="".join(said([ours], quantities)),
        hangs=(*(_read_so(name, reading, claim) for name, reading in one.readings.items()),
               *_against_rivals(one.rivals)),
        kind=kind, cause=tuple(cause), tested=tested,
        figure=(claim.figure or (page.figure if page else "")).removeprefix("none"))


def _quantity(outcome: Outcome, claim: Claim) -> Quantity:
    """The cases of an outcome in the order of ``words``: digits before clothing."""
    order = list(load().words)
    cases = sorted(outcome.cases, key=lambda case: order.index(case.dataset) if case.dataset in order else len(order))
    return Quantity(outcome.check, tuple(cases), paper=printed(outcome.check, claim.paper))


def _cause(cause: Cause | None, verdict: str, quantities: Mapping[str, Quantity]) -> tuple[str, list[str]]:
    """The kind of a cause and its sentences; both are empty for a claim that is reproduced or not judged."""
    if cause is None or verdict.removeprefix("preliminary: ") in ("reproduced", "not comparable"):
        return "", []
    if verdict == "not run":
        return cause.kind, [cause.unmeasured or "It has not been measured yet; the scorecard has the command for it."]
    fits = (all(quantities[name].passed is False for name in cause.fails)
            and all(quantities[name].passed for name in cause.holds))
    sentences = said(cause.finding, quantities) if fits else []
    return (cause.kind, sentences) if sentences else ("open", [UNKNOWN])


def said(sentences: list[str], quantities: Mapping[str, Quantity]) -> list[str]:
    """The sentences with their numbers, without those for which something was not measured."""
    return [text.format(**quantities) for text in sentences
            if all(quantities[name].cases for name in claims.used(text))]


def printed(check: Check, paper: str) -> str:
    """The value of a check as the paper prints it."""
    if check.near is None:
        return ""
    value = check.near.value * (100 if check.percent else 1)
    found = re.findall(r"\d+(?:\.\d+)?", paper)
    digits = next((text for text in found if np.isclose(float(text), value)), f"{value:g}")
    return f"{digits} %" if check.percent else digits


def _read_so(name: str, reading: Reading, claim: Claim) -> str:
    """The verdict under another reading, with the numbers, of both sides of a comparison, if a single check decides."""
    lead = LEADS[reading.verdict].removesuffix(".")
    text = f"Under another reading ({name}) {lead[0].lower()}{lead[1:]}"
    decides = _quantity(reading.outcomes[0], claim)
    if len(reading.outcomes) > 1 or not decides.cases:
        return f"{text}."
    if not decides.check.other:
        return f"{text}: {decides}."
    apart = decides.passed or any(case.opposite for case in decides.cases)
    return f"{text}: {decides.both}{'' if apart else ', which the test does not tell apart'}."


def _against_rivals(rivals: Sequence[AgainstRival]) -> list[str]:
    """How the result compares with simple methods: a line per rival, digits first, with two numbers in a sentence."""
    told: dict[str, dict[str, list[str]]] = {}                             # rival -> level and task -> numbers
    words, order = load().words, list(load().words)
    for one in sorted(rivals, key=lambda one: [order.index(part) if part in order else 0 for part in one.about]):
        quantity = one.rival.quantity.replace("_", " ")
        where = words.get(quantity) or words.get(quantity.removeprefix("swept "), quantity)
        where = where if where.startswith(("in ", "at ")) else f"in {where}"
        about, unit = ", ".join(words.get(part, part) for part in one.about), " dB" * quantity.endswith("psnr")
        told.setdefault(one.rival.name, {}).setdefault(f"{one.level} {where}", []).append(
            f"{about}: ".removeprefix(": ") + Quantity(one.rival, (one.case,)).both + unit)
    return [f"Compared with {name}: {'. '.join(_sentences(levels))}." for name, levels in told.items()]


def _sentences(levels: Mapping[str, list[str]]) -> list[str]:
    """``worse in accuracy (85.3 % compared with 92.5 %)``; of several cases, a sentence each."""
    every = [text for so, numbers in levels.items()
             for text in ([f"{so} ({numbers[0]})"] if len(numbers) == 1 else [so, *numbers])]
    return [every[0], *(text[0].upper() + text[1:] for text in every[1:])]
