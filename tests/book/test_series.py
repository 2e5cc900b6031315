"""What a reader downloads beside a figure. Oracles: the numbers that the figure was made from, and its drawn lines."""

from base64 import b64decode
from collections.abc import Callable, Iterator
from io import BytesIO, StringIO

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell
from matplotlib.figure import Figure
from PIL import Image

from reproduction.book import handover, plots, polish

SEEDS = torch.tensor([[1.0, 3.0], [2.0, 6.0]])                             # (positions, seeds)
BOTH = {"m": torch.tensor([1.0, 2.0]), "n": torch.tensor([3.0])}


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    plt.close("all")


def rows(figure: Figure) -> list[dict[str, object]]:
    """The rows of a figure as a reader's own program gets them, without empty cells."""
    table = pd.read_csv(StringIO(handover.csv(figure)))
    return [{key: value for key, value in row.items() if value == value} for row in table.to_dict("records")]


def test_lines_have_their_bands_levels_and_marks_their_one_number() -> None:
    figure = plots.curves({"a": ([0, 1], SEEDS), "b": ([0, 1], SEEDS[:, 0])}, "t", "E", levels={"low": 0.5},
                          marks={"here": 0.7})
    assert rows(figure) == [
        {"series": "a", "t": 0, "E": 2, "low": 1, "high": 3}, {"series": "a", "t": 1, "E": 4, "low": 2, "high": 6},
        {"series": "b", "t": 0, "E": 1}, {"series": "b", "t": 1, "E": 2}, {"series": "low", "E": 0.5},
        {"series": "here", "t": 0.7}]


def test_what_is_kept_is_what_is_drawn() -> None:
    """Oracle: the lines on the axes, read back."""
    figure = plots.panels({"A": {"a": ([0, 1], SEEDS), "b": ([2, 3], SEEDS)}, "B": {"a": ([5], torch.tensor([7.0]))}},
                          "t", "E", {"A": {"level": 4.0}})
    table = pd.DataFrame(rows(figure))
    for axis in figure.axes:
        for line in axis.lines:
            kept = table[(table["panel"] == axis.get_title()) & (table["series"] == line.get_label())]
            assert set(kept["E"]) == set(np.asarray(line.get_ydata(), float))
            assert kept["t"].isna().all() or list(kept["t"]) == list(line.get_xdata())


FRAME = pd.DataFrame({"k": [1, 1, 2], "v": [1.0, 2.0, 3.0], "part": ["A", "A", "B"], "f": ["u", "u", "u"]})
COUNTS = {"half": {3: [1.0, 2.0]}, "noise": {3: [3.0], 10: [2.0]}}


@pytest.mark.parametrize(("draw", "head", "lines"), [
    (lambda: plots.dots({"P": BOTH}, "right (%)", {"P": {"n": 4.0}}), ("panel", "series", "right (%)", "whose"), [
        ("P", "m", 1), ("P", "m", 2), ("P", "n", 3), ("P", "n", 4, "the paper's")]),
    (lambda: plots.differences({"gain": BOTH}), ("panel", "setting", "difference"), [
        ("gain", "m", 1), ("gain", "m", 2), ("gain", "n", 3)]),
    (lambda: plots.counts({"P": COUNTS}, "k", "found"), ("panel", "series", "k", "found", "low", "high"), [
        ("P", "half", 3, 1.5, 1, 2), ("P", "noise", 3, 3, 3, 3), ("P", "noise", 10, 2, 2, 2)]),
    (lambda: plots.mistakes({"P": (torch.tensor([0, 1, 1, 1]), torch.tensor([0, 0, 1, 1]), ["a", "b"])}),
     ("panel", "true class", "answered", "%"), [("P", "a", "b", 50), ("P", "b", "a", 0)]),
    (lambda: plots.roc({"s": torch.tensor([3.0, 2.0, 1.0])}, torch.tensor([True, False, True])),
     ("series", "share of familiar images called foreign", "share of foreign images found"), [
        ("s", 0, 0), ("s", 0, 0.5), ("s", 1, 0.5), ("s", 1, 1)]),
    (lambda: plots.facets(FRAME, "k", "v", "part", "f"), ("part", "f", "k", "v"), [
        ("A", "u", 1, 1), ("A", "u", 1, 2), ("B", "u", 2, 3)])])
def test_each_kind_of_figure_keeps_its_points(draw: Callable[[], Figure], head: tuple[str, ...],
                                              lines: list[tuple[object, ...]]) -> None:
    assert rows(draw()) == [dict(zip(head, line, strict=False)) for line in lines]


def test_a_shown_figure_carries_its_numbers_and_its_picture() -> None:
    shell = InteractiveShell.instance()
    try:
        plots.use_style()
        shown, _ = shell.display_formatter.format(plots.curves({"a": ([0], torch.tensor([2.0]))}, "t", "E"))
        assert shown[handover.NUMBERS] == "series,t,E\na,0,2\n"
        with Image.open(BytesIO(b64decode(shown["image/png"]))) as picture:
            assert picture.info["dpi"] == pytest.approx((2 * polish.DPI,) * 2, abs=0.1)
        assert handover.NUMBERS not in shell.display_formatter.format(plots.image_rows({"a": torch.rand(2, 784)}))[0]
    finally:
        InteractiveShell.clear_instance()
