"""The words of the book: readers' names of data sets, models, settings and measures, from ``words.yaml``."""

import re
from functools import cache
from pathlib import Path

from pydantic import Field

from . import strict

FILE = Path(__file__).with_name("words.yaml")
NAME = re.compile(r"(?<![\w-])[a-z]\w*(?:-\w+)*")                         # a name in the code
MEASURES = {"mse": "MSE", "psnr": "PSNR", "ssim": "SSIM", "auroc": "AUROC", "fid": "FID", "frechet": "Fréchet"}
COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


class TableCell(strict.Strict):
    """A number of a table of a page: the first row whose cells are those of ``row``."""

    table: str
    column: str
    row: dict[str, str] = Field(default_factory=dict)


class PageWords(strict.Strict):
    """The words for a page. ``finding``: with ``cells`` of its own tables in braces, in place of ``aim``."""

    figure: str
    aim: str = ""
    finding: str = ""
    cells: dict[str, TableCell] = Field(default_factory=dict)


class Book(strict.Strict):
    """The content of ``words.yaml``, whose head explains the keys."""

    words: dict[str, str]
    graphs: dict[str, str]
    shorter: dict[str, str]
    measures: dict[str, dict[str, str]]
    settings: dict[str, str]
    verdicts: dict[str, str]
    causes: dict[str, str]
    columns: dict[str, str]
    pages: dict[str, PageWords]


@cache
def load() -> Book:
    """The words of the book. Raises BadFile, BadInput: the file is not as it should be."""
    return strict.validated(Book, strict.read_yaml(FILE), FILE)


def called(part: str) -> str:
    """A data set, a model, or a setting and its value in words: ``dtype float64`` becomes double precision."""
    return load().words.get(part) or NAME.sub(lambda word: load().words.get(word[0], word[0]), part)


def quantity(name: str) -> str:
    """A quantity in words: ``completion_mse`` becomes completion MSE, and so does that of a sweep."""
    end = " at the end" if name.startswith("fixed_point_") else ""         # of a query
    text = name.removeprefix("fixed_point_").removeprefix("swept_").replace("_", " ") + end
    return NAME.sub(lambda word: MEASURES.get(word[0]) or load().words.get(word[0], word[0]), text)


def count(number: int, noun: str = "") -> str:
    """``one seed``, ``five seeds``; numbers above ten have digits."""
    word = COUNTS[number] if number < len(COUNTS) else str(number)
    return f"{word} {noun}{'s' if noun and number != 1 else ''}".strip()
