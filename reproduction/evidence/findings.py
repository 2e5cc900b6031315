"""What was found about each claim, in sentences: ``findings.yaml`` + records -> words.

Sentences state numbers taken from the claim's checks. The verdict in words stands before them, so what did not hold
cannot read as if it had.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from string import Formatter
from typing import Literal

import numpy as np
import pandas as pd
from pydantic import Field

from pcgraph_lite.errors import BadInput

from . import claims, config, verdicts
from .claims import Check, Claim
from .config import Strict
from .verdicts import Lack, Measured, Verdict

FILE = Path(__file__).with_name("findings.yaml")
LEADS = {"reproduced": "It holds.", "partly": "It holds in part.", "not reproduced": "It does not hold.",
         "preliminary: reproduced": "So far it holds.", "preliminary: partly": "So far it holds in part.",
         "preliminary: not reproduced": "So far it does not hold.", "not comparable": "It is not judged.",
         "not run": "It has not been measured yet."}                       # in the order that lists show them
KINDS = {"paper": "In the paper", "setting": "In a setting that the paper leaves open",
         "data": "In files that could not be reached", "means": "In the computing time that we had",
         "open": "Not known yet"}
UNKNOWN = "What was measured does not meet the rule, and no cause is known yet."
PLACES = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
COMPARED = re.compile(r"(better|worse|not told apart) (?:than|from) (.+) \((.+ against .+)\)")      # of a rival
LEVELS = {"not told apart": "level"}
FEW = 3                                            # so many cases are listed one by one; of more the range is said


class Cause(Strict):
    """Why a claim is not reproduced, where the checks ``fails`` fail and those of ``holds`` hold.

    ``unmeasured``: the sentence where nothing was measured.
    """

    kind: Literal["paper", "setting", "data", "means"]
    finding: list[str]
    fails: list[int] = Field(default_factory=list)
    holds: list[int] = Field(default_factory=list)
    unmeasured: str = ""


class Words(Strict):
    """What ``findings.yaml`` says of a claim; its head explains the keys."""

    name: str
    finding: list[str]
    remark: str = ""
    ours: str = "{0}"
    figure: str = ""
    table: str = ""
    cause: Cause | None = None


class PageWords(Strict):
    """What ``findings.yaml`` says of a page."""

    figure: str
    aim: str = ""


class Book(Strict):
    """The file."""

    words: dict[str, str]
    columns: dict[str, str]
    pages: dict[str, PageWords]
    claims: dict[str, Words]


@dataclass(frozen=True)
class Finding:
    """A claim in words. ``hangs``: what its verdict hangs on, a sentence each; ``cause`` empty: none is needed.

    ``exact``: an identity or a drawing, which is checked to rounding at any size.
    """

    claim: str
    name: str
    verdict: str
    remark: str
    lead: str
    sentences: tuple[str, ...]
    ours: str
    paper: str
    lacks: tuple[str, ...]
    hangs: tuple[str, ...]
    kind: str
    cause: tuple[str, ...]
    figure: str
    exact: bool
    table: str = ""


@dataclass(frozen=True)
class Quantity:
    """What ``{0}`` stands for in a sentence: the cases of one check."""

    check: Check
    cases: list[Measured]
    words: Mapping[str, str]
    paper: str = ""                                # the number that the paper prints

    def __format__(self, choice: str) -> str:
        if not choice:
            return self._listed([case.values.mean() for case in self.cases])
        holds, opposite, neither, mixed = (parts := choice.split("|")) + parts[-1:] * (4 - len(parts))
        if self.passed:
            return holds
        if any(case.holds for case in self.cases):
            return mixed
        return opposite if all(case.opposite for case in self.cases) else neither

    @property
    def theirs(self) -> str:
        """The other side of a comparison."""
        return self._listed([case.theirs.mean() for case in self.cases])

    @property
    def both(self) -> str:
        """Both sides of a comparison, case by case: ``digits: 16.0 against 15.4, clothing: 16.1 against 15.8``."""
        if len(self.cases) > FEW:
            return f"{self} against {self.theirs}"
        shown = [" against ".join(number(side.mean(), self.check, self._places) for side in (case.values, case.theirs))
                 for case in self.cases]
        if len(set(shown)) == 1:
            return shown[0]
        return ", ".join(f"{label}: {text}" for label, text in zip(self._labels(), shown, strict=True))

    @property
    def held(self) -> str:
        """In how many of the cases the check holds."""
        holding = sum(case.holds for case in self.cases)
        return f"{_count(holding) if holding else 'none'} of {_count(len(self.cases))}"

    @property
    def leaning(self) -> str:
        """In how many of the cases of an order the means lie as it says, whether or not the test tells them apart."""
        sign = 1 if self.check.greater_than else -1
        so = sum(sign * (case.values.mean() - case.theirs.mean()) > 0 for case in self.cases)
        return f"{_count(so)} of {_count(len(self.cases))}"

    @property
    def on(self) -> str:
        """The data sets that were looked at."""
        return " and ".join(dict.fromkeys(self._called("dataset", case.dataset) for case in self.cases))

    @property
    def sides(self) -> str:
        """What was measured, beside the other side of a comparison where there is one."""
        apart = not self.check.other or self.passed or any(case.opposite for case in self.cases)
        return (self.both if self.check.other else f"{self}") + ", which the test does not tell apart" * (not apart)

    @property
    def asked(self) -> str:
        """What the rule asks for."""
        limit = next(limit for limit in (self.check.at_least, self.check.at_most) if limit is not None)
        return number(limit, self.check) if self.check.percent else f"{limit:g}"

    @property
    def place(self) -> str:
        """A rank as a word: first, second."""
        return self._listed([case.values.mean() for case in self.cases], _place)

    @property
    def lowered(self) -> str:
        """What a gain does to an error: ``lower by 0.2``; ``higher by 0.2`` where it is a loss."""
        gains = [float(case.values.mean()) for case in self.cases]
        return self._changes("lower", "higher", gains, lambda gain: number(gain, self.check))

    @property
    def lessened(self) -> str:
        """A ratio to 1 as what it takes away: ``smaller by 10 %``; ``larger by 5 %`` where it adds."""
        gains = [1 - float(case.values.mean()) for case in self.cases]
        return self._changes("smaller", "larger", gains, lambda part: f"{100 * part:.0f} %")

    def _changes(self, less: str, more: str, gains: list[float], say: Callable[[float], str]) -> str:
        """The cases in two groups, ``less`` by so much and ``more`` by so much."""
        told = {less: [], more: []}
        for gain, label in zip(gains, self._labels(), strict=True):
            told[less if gain >= 0 else more].append(say(abs(gain)) + f" ({label})" * bool(label))
        return " and ".join(f"{word} by {' and '.join(amounts)}" for word, amounts in told.items() if amounts)

    @property
    def beside(self) -> str:
        """How far from the paper's number."""
        difference = self.cases[0].values.mean() - self.check.near.value
        shown = f"{abs(100 * difference):.{self._places}f}" if self.check.percent else f"{abs(difference):.3g}"
        if not float(shown):
            return f"as much as the paper's {self.paper}"
        shown += " points" * self.check.percent
        return f"{shown} {'more' if difference > 0 else 'less'} than the paper's {self.paper}"

    @property
    def span(self) -> str:
        """From the lowest case to the highest."""
        ends = [number(end, self.check) for end in sorted(case.values.mean() for case in self.cases)]
        return ends[0] if ends[0] == ends[-1] else f"{ends[0]} to {ends[-1]}"

    @property
    def passed(self) -> bool:
        """Whether the check holds."""
        return (any if self.check.any_case else all)(case.holds for case in self.cases)

    def _listed(self, values: list[float], say: Callable[[float, Check], str] | None = None) -> str:
        """One number, some with their names, or the range of many."""
        say = say or partial(number, places=self._places)
        shown = [say(value, self.check) for value in values]
        if len(set(shown)) == 1:
            return shown[0]
        if len(shown) > FEW:
            return f"{say(min(values), self.check)} to {say(max(values), self.check)}"
        *first, last = [f"{text} ({label})" for text, label in zip(shown, self._labels(), strict=True)]
        return f"{', '.join(first)} and {last}"

    @property
    def _places(self) -> int:
        """Decimals of a per cent: as many as the paper prints, so that one can be taken from the other."""
        return max(1, len(self.paper.removesuffix(" %").partition(".")[2]))

    def _labels(self) -> list[str]:
        """What tells the cases apart, in words."""
        told = [{"dataset": case.dataset, "model": case.model} | case.parameters for case in self.cases]
        keys = [key for key in told[0] if len({str(one.get(key)) for one in told}) > 1]
        return [", ".join(self._called(key, one.get(key)) for key in keys) for one in told]

    def _called(self, key: str, value: object) -> str:
        plain = f"{value:g}" if isinstance(value, float) else str(value)
        if key in ("dataset", "model", "task", "setting"):
            return self.words.get(plain, plain)
        return self.words.get(f"{key} {plain}", f"{key.replace('_', ' ')} {plain}")


def load(path: Path = FILE) -> Book:
    """The file of sentences. Raises BadFile or BadInput where it is not as it should be."""
    return config.validated(Book, config.read_yaml(path), path)


def findings(records: pd.DataFrame, rules: Mapping[str, Claim] | None = None) -> dict[str, Finding]:
    """Every claim in words.

    Args:
        records: as of ``records.read``.
        rules: the claims; None: those of the package.

    Raises BadInput: a claim has no sentence.
    """
    book, rules = load(), rules or claims.load_claims()
    if silent := [name for name in rules if name not in book.claims]:
        raise BadInput(f"reproduction/evidence/findings.yaml says nothing of the claim {silent[0]!r}. Give it a name "
                       "and a finding there; the head of the file explains how.")
    return {name: _finding(one, rules[name], book, records) for name, one in verdicts.verdicts(records, rules).items()}


def told(records: pd.DataFrame) -> list[str]:
    """What was found about each claim that was measured, a line each: its name, the verdict in words, a sentence."""
    return [f"{one.name}. {one.lead} {one.sentences[0]}" for one in findings(records).values()
            if one.sentences and one.verdict != "not run"]


def number(value: float, check: Check, places: int = 1) -> str:
    """A number for a sentence: per cent with ``places`` decimals, else three digits; none is rounded to none or to all.

    Whole numbers stand without decimals, and no other number looks like one: 16.04 is 16.0, and 0.93 is 93 %.
    """
    value = 100 * value if check.percent else value
    whole, tail = np.isclose(value, round(value), rtol=1e-9, atol=0), " %" if check.percent else ""
    if whole or abs(value) >= 1000:
        return f"{value:,.0f}{tail}"
    if check.percent:
        shown = f"{value:.{places}f}"
        return (f"{value:.2f}" if shown in ("0.0", "100.0") else shown) + tail
    if abs(value) < 1e-6:
        return f"{value:.0e}".replace("e-0", "e-")
    if abs(value) < 1e-4:                                                  # where Python turns to powers of ten
        return f"{value:.{2 - math.floor(math.log10(abs(value)))}f}"
    return f"{value:#.3g}".removesuffix(".")


def _place(value: float, check: Check) -> str:
    """A rank in words; one between two places as a number."""
    return PLACES[round(value) - 1] if value in range(1, len(PLACES) + 1) else number(value, check)


def _finding(one: Verdict, claim: Claim, book: Book, records: pd.DataFrame) -> Finding:
    words, measured = book.claims[one.claim], verdicts.measured(one.claim, records, {one.claim: claim})
    quantities = _quantities(claim.checks, measured, claim, book)
    uneven, page = any(check.seeds for check in claim.checks), book.pages.get(claim.notebook)
    held, cause = one.verdict == "reproduced", _cause(words.cause, one.verdict, quantities)
    return Finding(
        claim=one.claim, name=words.name, verdict=one.verdict, remark=words.remark if held else "",
        lead=f"It holds {words.remark}." if held and words.remark else LEADS[one.verdict],
        sentences=tuple(said(words.finding, quantities)), ours="".join(said([words.ours], quantities)),
        paper=claim.paper, lacks=tuple(_lacks(one, book.words, uneven)), hangs=tuple(_hangs(one, claim, records, book)),
        figure=(words.figure or (page.figure if page else "")).removeprefix("none"), kind=cause[0],
        cause=tuple(cause[1]),
        exact=claim.needs.profile == "any", table=words.table)


def _quantities(checks: list[Check], measured: list[list[Measured]], claim: Claim, book: Book) -> list[Quantity]:
    return [Quantity(check, _in_order(cases, book.words), book.words, printed(check, claim.paper))
            for check, cases in zip(checks, measured, strict=True)]


def _in_order(cases: list[Measured], words: Mapping[str, str]) -> list[Measured]:
    """Digits before clothing, as ``words`` lists them."""
    order = list(words)
    return sorted(cases, key=lambda case: order.index(case.dataset) if case.dataset in words else len(order))


def _cause(cause: Cause | None, verdict: str, quantities: list[Quantity]) -> tuple[str, list[str]]:
    """The kind of cause and its sentences; nothing for a claim that is reproduced or not judged."""
    if cause is None or verdict.removeprefix("preliminary: ") in ("reproduced", "not comparable"):
        return "", []
    if verdict == "not run":
        return cause.kind, [cause.unmeasured or "It has not been measured yet; the scorecard has the command for it."]
    fits = (all(quantities[k].cases and not quantities[k].passed for k in cause.fails)
            and all(quantities[k].cases and quantities[k].passed for k in cause.holds))
    sentences = said(cause.finding, quantities) if fits else []
    return (cause.kind, sentences) if sentences else ("open", [UNKNOWN])


def said(sentences: list[str], quantities: list[Quantity]) -> list[str]:
    """The sentences all of whose quantities were measured, with their numbers."""
    return [text.format(*quantities) for text in sentences if all(quantities[k].cases for k in used(text))]


def used(sentence: str) -> list[int]:
    """Which checks a sentence takes its numbers from."""
    return [int(re.match(r"\d+", field).group()) for _, field, _, _ in Formatter().parse(sentence) if field]


def printed(check: Check, paper: str) -> str:
    """The value of a check as the paper prints it."""
    if check.near is None:
        return ""
    value = check.near.value * (100 if check.percent else 1)
    found = re.findall(r"\d+(?:\.\d+)?", paper)
    digits = next((text for text in found if np.isclose(float(text), value)), f"{value:g}")
    return f"{digits} %" if check.percent else digits


def _lacks(one: Verdict, words: Mapping[str, str], uneven: bool) -> list[str]:
    """What the run lacks of what the rule asks, in plain words; nothing where the verdict is final.

    ``uneven``: some checks need fewer seeds than others, so the smallest number of seeds is not what is missing.
    """
    if not one.verdict.startswith("preliminary") and one.verdict != "not run":
        return []
    so_far = "Fewer seeds" if uneven else _count(one.seeds, "seed")
    said: dict[str, Callable[[Lack], str]] = {
        "seeds": lambda lack: f"{so_far} so far; the rule asks for {_count(int(lack.number))}",
        "profile": lambda lack: f"run at the sizes called {one.profile}; the rule asks for {lack.what}",
        "least": lambda lack: f"the rule asks for {lack.number:g} {lack.what}; this run had fewer",
        "counterpart": lambda lack: (f"{_count(int(lack.number), 'seed')} had no rival of the same seed, and were not "
                                     "compared")}
    known = [lack for lack in one.lacks if lack.kind in said and (one.profile or lack.kind != "profile")]
    found = [said[lack.kind](lack) + "." for lack in known]
    if missing := list(dict.fromkeys(_plain(lack, words) for lack in one.lacks if lack.check)):
        found.append(f"not measured yet: {'; '.join(missing[:2])}"
                     + f"; and {_count(len(missing) - 2)} more" * (len(missing) > 2) + ".")
    return [text[0].upper() + text[1:] for text in found]


def _plain(lack: Lack, words: Mapping[str, str]) -> str:
    """A check without records, in words: accuracy (digits, dense associative memory), against the ..."""
    check = lack.check
    inside = [words.get(part, part) for part in (check.dataset, check.model, *claims.words(check.where)) if part]
    what = check.quantity.replace("_", " ")
    text = words.get(what, what) + f" ({', '.join(inside)})" * bool(inside)
    if lack.kind == "pair":
        other = check.other
        parts = [(other.quantity or "").replace("_", " "), other.model, *claims.words(other.where or {})]
        text += ", against " + ", ".join(words.get(part, part) for part in parts if part)
    return text


def _hangs(one: Verdict, claim: Claim, records: pd.DataFrame, book: Book) -> list[str]:
    """The verdict under other readings of the text, and what the result is worth beside something simple."""
    return [_read_so(one, name, claim, records, book) for name in one.readings] + _beside(one, book.words)


def _read_so(one: Verdict, name: str, claim: Claim, records: pd.DataFrame, book: Book) -> str:
    """The verdict under another reading, and its numbers where a single check decides."""
    lead, checks = LEADS[one.readings[name]].removesuffix("."), claim.readings[name]
    said = f"Under another reading ({name}) {lead[0].lower()}{lead[1:]}"
    if len(checks) > 1:
        return f"{said}."
    cases = verdicts.measured(one.claim, records, {one.claim: claim}, reading=name)
    [decides] = _quantities(checks, cases, claim, book)
    return f"{said}: {decides.sides}." if decides.cases else f"{said}."


def _beside(one: Verdict, words: Mapping[str, str]) -> list[str]:
    """What the result is worth beside something simple."""
    beside: dict[str, dict[str, list[str]]] = {}                           # rival -> level and task -> numbers
    order = list(words)                                                    # digits before clothing
    for rival in sorted(one.rivals, key=lambda rival: [order.index(part) if part in order else 0
                                                       for part in rival.what.split(", ")[1:]]):
        word, name, values = COMPARED.fullmatch(rival.said).groups()
        quantity, *about = rival.what.split(", ")
        where = words.get(quantity, quantity)
        where = where if where.startswith(("in ", "at ")) else f"in {where}"
        told, unit = ", ".join(words.get(part, part) for part in about), " dB" * quantity.endswith("psnr")
        beside.setdefault(name, {}).setdefault(f"{LEVELS.get(word, word)} {where}", []).append(
            f"{told}: ".removeprefix(": ") + _evened(values) + unit)
    return [f"Beside {name}, a simple rival: "
            + "; ".join(f"{so} ({', '.join(numbers)})" for so, numbers in said.items()) + "."
            for name, said in beside.items()]


def _evened(values: str) -> str:
    """Both numbers of ``0.0455 against 0.04571`` with the same decimals; others as they are."""
    sides = values.split(" against ")
    if not all(re.fullmatch(r"-?\d+(\.\d+)?", side) for side in sides):
        return values
    places = max(len(side.partition(".")[2]) for side in sides)
    return " against ".join(f"{float(side):.{places}f}" for side in sides)


def _count(number: int, noun: str = "") -> str:
    """``one seed``, ``five seeds``; digits above ten."""
    word = COUNTS[number] if number < len(COUNTS) else str(number)
    return f"{word} {noun}{'s' if noun and number != 1 else ''}".strip()
