"""What a reader downloads beside a figure. Oracle: the numbers that the figure was made from."""

from io import StringIO

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import nbformat
import pandas as pd
import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell
from matplotlib.figure import Figure
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook, new_output

from reproduction.book import download, drawn, plots

SEEDS = torch.tensor([[1.0, 3.0], [2.0, 6.0]])                             # (positions, seeds)
BOTH = {"m": torch.tensor([1.0, 2.0]), "n": torch.tensor([3.0])}


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def rows(figure: Figure) -> list[dict[str, object]]:
    """The rows of a figure as a reader's own program gets them, without empty cells."""
    table = pd.read_csv(StringIO(drawn.csv(figure)))
    return [{key: value for key, value in row.items() if value == value} for row in table.to_dict("records")]


def test_lines_have_their_bands_levels_and_marks_their_one_number():
    figure = plots.curves({"a": ([0, 1], SEEDS), "b": ([0, 1], SEEDS[:, 0])}, "t", "E", levels={"low": 0.5},
                          marks={"here": 0.7})
    assert rows(figure) == [
        {"series": "a", "t": 0, "E": 2, "low": 1, "high": 3}, {"series": "a", "t": 1, "E": 4, "low": 2, "high": 6},
        {"series": "b", "t": 0, "E": 1}, {"series": "b", "t": 1, "E": 2}, {"series": "here", "t": 0.7},
        {"series": "low", "E": 0.5}]


def test_panels_share_the_names_of_their_axes():
    figure = plots.panels({"A": {"a": ([0, 1], SEEDS)}, "B": {"a": ([5], torch.tensor([7.0]))}}, "t", "E")
    assert rows(figure)[1:] == [{"panel": "A", "series": "a", "t": 1, "E": 4, "low": 2, "high": 6},
                                {"panel": "B", "series": "a", "t": 5, "E": 7}]


def test_an_axis_of_words_gives_the_words():
    figure = plots.dots({"P": BOTH}, "accuracy (%)", {"P": {"n": 4.0}})
    assert [(row["series"], row["accuracy (%)"], row["y"]) for row in rows(figure)] == [
        ("ours, one dot per seed", 1, "m"), ("ours, one dot per seed", 2, "m"), ("ours, one dot per seed", 3, "n"),
        ("the paper's", 4, "n")]
    assert {(row["series"], row.get("gain"), row["y"]) for row in rows(plots.differences({"gain": BOTH}))} == {
        ("ours, one dot per seed", 1, "m"), ("ours, one dot per seed", 2, "m"), ("ours, one dot per seed", 3, "n"),
        ("their mean", 1.5, "m"), ("their mean", 3, "n")}


def test_bars_and_maps():
    figure = plots.counts({"P": {"half": {3: [1.0, 2.0]}, "noise": {3: [3.0], 10: [2.0]}}}, "k", "found")
    assert [(row["series"], row["k"], row["found"]) for row in rows(figure)] == [
        ("half", 3, 1.5), ("noise", 3, 3), ("noise", 10, 2)]
    answered, true = torch.tensor([0, 1, 1, 1]), torch.tensor([0, 0, 1, 1])
    assert rows(plots.mistakes({"P": (answered, true, ["a", "b"])})) == [
        {"panel": "P", "answered": "b", "true class": "a", "value": 50},
        {"panel": "P", "answered": "a", "true class": "b", "value": 0}]


def test_points_and_no_line_through_them():
    frame = pd.DataFrame({"k": [1, 1, 2], "v": [1.0, 2.0, 3.0], "part": ["A", "A", "B"], "f": ["u", "u", "u"]})
    figure = plots.facets(frame, "k", "v", "part", "f")
    assert [(row["panel"], row["series"], row["k"], row["v"]) for row in rows(figure)] == [
        ("A", "u", 1, 1), ("A", "u", 1, 2), ("B", "u", 2, 3)]


def test_pictures_have_no_numbers():
    assert drawn.csv(plots.image_rows({"a": torch.rand(2, 784)})) == ""


def test_a_shown_figure_carries_its_numbers_and_its_picture():
    shell = InteractiveShell.instance()
    try:
        plots.use_style()
        shell.display_formatter.formatters["image/png"].for_type(Figure, lambda figure: b"drawn")
        shown, _ = shell.display_formatter.format(plots.curves({"a": ([0], torch.tensor([2.0]))}, "t", "E"))
        assert shown[drawn.KIND] == "series,t,E\na,0,2\n" and shown["image/png"] == b"drawn"
        assert drawn.KIND not in shell.display_formatter.format(plots.image_rows({"a": torch.rand(2, 784)}))[0]
    finally:
        InteractiveShell.clear_instance()


def page(text: str) -> NotebookNode:
    output = new_output("display_data", {drawn.KIND: text, "text/plain": "<Figure>"})
    figure = {"figure": {"name": "fig-page-fall", "caption": "The fall."}}
    return new_notebook(cells=[new_code_cell("draw()", outputs=[output], metadata={"mystnb": figure})])


def test_the_caption_links_to_the_numbers(tmp_path):
    notebook = page("series,t,E\na,0,2\n")
    download.figures("page", notebook, tmp_path / "figures")
    assert (tmp_path / "figures/page-page-fall.csv").read_text() == "series,t,E\na,0,2\n"
    caption = notebook.cells[0].metadata.mystnb.figure.caption
    assert caption.startswith("The fall. <a ") and 'href="../../records/figures/page-page-fall.csv" download' in caption
    assert notebook.cells[0].outputs[0].data == {"text/plain": "<Figure>"}     # the builder knows no such output
    nbformat.validate(notebook)
