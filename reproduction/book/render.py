"""Render data for the pages: every text, number and tag that the book's code writes comes from ``templates/``."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from ..evidence import claims, words
from ..evidence.verdicts import LEVELS, AgainstRival, Verdict
from .handover import DASH, Table, text_of

BADGES = {"reproduced": "reproduced", "partly": "partly", "not reproduced": "not", "preliminary": "preliminary",
          "not run": "not-run", "not comparable": "not-comparable"}          # verdict -> class of its badge in book.css
RIVAL = "compared with the simple rival"
SETTING = re.compile(r"\b(?:[a-z]+_[a-z]+|(?:weight|value) step)\b")       # a setting's name, also of older runs
NUMBER = re.compile(r"(-?[\d,]+)(?:\.\d+)?(?:e-\d+)?(?= %| ±| \(|$)")      # a text that begins with one; its whole part
# If such a column has the same value in all rows, the value stands below the table instead.
CONSTANT = ("seeds", "training images", "epochs", "sweep", "images", "steps", "batch size", "runs")
FOLDER = Path(__file__).with_name("templates")
FIGURE_SPACE = "\u2007"                            # as wide as a digit
LONG = 32                                          # characters of a cell that needs width on a phone


def per_cent(mean: float, sd: float, seeds: int) -> str:
    """A mean, and its deviation if there are several seeds; a small one has two decimals instead of reading 0.0."""
    return f"{mean:.1f}" + f" ± {sd:.{1 + (sd < 0.05)}f}" * (seeds > 1) + " %"


ENVIRONMENT = Environment(loader=FileSystemLoader(FOLDER), undefined=StrictUndefined,
                          autoescape=lambda name: str(name).endswith(".html"), trim_blocks=True, lstrip_blocks=True,
                          keep_trailing_newline=True)                      # a fence needs its own line
ENVIRONMENT.filters |= {"badge_class": lambda verdict: BADGES[verdict.partition(":")[0]], "per_cent": per_cent,
                        "in_words": words.count, "rule": claims.rule,
                        "bibtex_name": "{0[family-names]}, {0[given-names]}".format}


def template(file: str, /, **data: object) -> str:
    """Render a template of ``templates/`` with some data: HTML, which escapes them, or Markdown."""
    text = ENVIRONMENT.get_template(file).render(data)
    return Markup(text) if file.endswith(".html") else text


def table(shown: Table, says: str = "", csv: str = "") -> str:
    """The HTML of a table. ``says``: the finding that stands above it. ``csv``: the address of its numbers."""
    columns, alike, rules, titles = [], {}, claims.load_claims() if "claim" in shown.data else {}, words.load().columns
    for name, values in shown.data.items():
        title = titles.get(name, name)
        texts = [in_words(text_of(value, shown.formats.get(name, ""))) for value in values]
        if name == "claim":
            texts = [rules[value].name if value in rules else text for value, text in zip(values, texts, strict=True)]
        told_once = shown.settings or title in CONSTANT or texts[:1] == [DASH]
        if told_once and len(texts) > 1 and len(set(texts)) == 1:
            alike.update({title: texts[0]} if texts[0] != DASH else {})
        else:
            columns.append(_column(title, texts))
    paper = {titles.get(name, name): value for name, value in shown.paper.items()}
    said: dict[str, Mapping[str, object]] = {"In all rows": alike, "The paper's": paper}
    below = [f"{lead}: {'; '.join(_counted(key, text_of(value)) for key, value in facts.items())}."
             for lead, facts in said.items() if facts]
    return template("table.html", shown=shown, columns=columns, says=says, csv=csv, below=below,
                    rows=list(zip(*(column["texts"] for column in columns), strict=True)))


def in_words(text: str) -> str:
    """A cell with readers' words in place of the code's names of models, data sets and settings."""
    if text.startswith('{"'):                          # a sweep's setting: labels to hidden1 1, hidden1 to hidden1 0
        with suppress(json.JSONDecodeError):
            settings = json.loads(text)
            return ", ".join(f"{name.replace('->', 'to')} {text_of(settings[name])}" for name in settings)
    called = words.load().words
    return called.get(text) or SETTING.sub(lambda name: called.get(name[0], name[0]), text)


def _column(title: str, texts: Sequence[str]) -> dict[str, object]:
    """A column as shown, with the class of its cells. Figure spaces before the shorter numbers align their points."""
    numbers = [NUMBER.match(text) for text in texts]
    if not all(found or text == DASH for found, text in zip(numbers, texts, strict=True)):
        return {"title": title, "texts": texts, "kind": "long" if any(len(text) > LONG for text in texts) else ""}
    width = max((len(found[1]) for found in numbers if found), default=0)
    return {"title": title, "kind": "number", "texts": [
        FIGURE_SPACE * (width - len(found[1])) + text if found else text
        for found, text in zip(numbers, texts, strict=True)]}


def _counted(title: str, value: str) -> str:
    """A fact below a table: ``5 seeds``, ``1 seed``, ``sweep hyper``."""
    if not (title.endswith("s") and re.fullmatch(r"[\d,]+", value)):
        return f"{title} {value}"
    return f"{value} {title.removesuffix('s') if value == '1' else title}"


def counted(rivals: Iterable[AgainstRival]) -> dict[str, int]:
    """How often results are better than a simple method, level with it, or worse."""
    said = Counter(rival.level for rival in rivals)
    return {level: said[level] for level in LEVELS}


def verdicts(shown: Sequence[Verdict]) -> str:
    """The table of a page's verdicts: every check with its measurement, its rivals and what is missing."""
    columns = {"under another reading": lambda one: [f"{name}: {two.verdict}" for name, two in one.readings.items()],
               RIVAL: lambda one: list(map(str, one.rivals)), "paper": lambda one: [one.claim.paper],
               "measured, and the rule": lambda one: list(map(str, one.ran)), "seeds": lambda one: [str(one.seeds)],
               "checks, and what is missing": lambda one: [one.held, *one.lacks] if one.ran else []}
    rows = [{"claim": one.claim, "verdict": one.verdict, "cells": {title: of(one) for title, of in columns.items()},
             "beside": counted(one.rivals)} for one in shown]
    return template("verdicts.html", rows=rows, rival=RIVAL,
                    titles=[title for title, of in columns.items() if any(map(of, shown))])
