"""Figures are made from objects: what they draw is what the objects hold, every axis has a name, and a reader downloads
the numbers beside the figure. Oracles: the numbers that the figure was made from, and its drawn lines."""

from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator
from io import BytesIO, StringIO
from itertools import pairwise
from types import SimpleNamespace

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image

from pcgraph_lite import PCGraph, topology
from pcgraph_lite.studies import circuits
from pcgraph_lite.studies.trials import Trial
from reproduction.book import handover, plots, polish
from reproduction.book.plots import RIGHT, WRONG


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    plt.close("all")


def said(texts: Iterable[Text]) -> list[str]:
    return [text.get_text() for text in texts]


def test_curves_draw_mean_band_levels_and_labels():
    """A zero stands on a logarithmic axis, one place before the rest; a line without a name has no legend."""
    values = torch.tensor([[1.0, 3.0], [2.0, 6.0]])
    lines = {"a": ([0, 1], values), "b": ([0, 1], values[:, 0])}
    axis = plots.curves(lines, "t", "E", log=True, levels={"low": 0.5}, marks={"here": 0.7}).axes[0]
    assert axis.lines[0].get_ydata().tolist() == [2.0, 4.0] and axis.lines[2].get_xdata() == [0.7, 0.7]
    assert len(axis.collections) == 1                                      # a band only where there are repeats
    assert (axis.get_xlabel(), axis.get_ylabel(), axis.get_yscale()) == ("t", "E", "log")
    assert said(axis.figure.legends[0].get_texts()) == ["a", "b", "here", "low"]
    assert plots.curves({"a": ([0.0], torch.ones(1))}, "decay", "E", log_x=True).axes[0].get_xscale() == "linear"
    axis = plots.curves({"a": ([0, 1e-3, 1e-2], torch.ones(3))}, "decay", "E", log_x=True).axes[0]
    at = axis.transData.transform([(place, 1) for place in (0, 1e-3, 1e-2)])[:, 0]
    assert at[1] - at[0] == pytest.approx(at[2] - at[1])
    assert said(axis.get_xticklabels())[:3] == ["0", "0.001", "0.01"]
    figure = plots.curves({"": ([1, 2], torch.tensor([3.0, 4.0]))}, "t", "mean step of brightness at the seam")
    assert not figure.legends and figure.axes[0].get_ylabel() == "mean step of brightness at the\nseam"


@pytest.mark.parametrize("draw", [
    plots.curves, lambda lines, x, y, **more: plots.panels(dict.fromkeys("abcd", lines), x, y)])
@pytest.mark.parametrize("name", ["line", "a line of number", "a line with a long name, of the first graph, number"])
def test_the_names_of_lines_cover_nothing_and_stand_in_what_a_phone_shows(draw, name: str):
    plots.use_style()
    lines = {f"{name} {k}": ([1, 10], torch.tensor([1.0 + k, 2.0])) for k in range(5)}
    figure = draw(lines, "t", "E", levels={"level": 6.0}, marks={"from here": 3.0})
    figure.canvas.draw()
    box = figure.legends[0].get_window_extent()
    assert not any(box.overlaps(axis.get_tightbbox()) for axis in figure.axes)
    assert 0 < box.x0 < box.x1 < plots.PHONE * figure.dpi and box.y1 < figure.bbox.y1


def test_lines_of_a_frame_have_a_column_a_seed():
    """Rows in any order; each model has its own positions."""
    frame = pd.DataFrame([("a", 2, 1, 4.0), ("a", 1, 0, 1.0), ("a", 2, 0, 3.0), ("a", 1, 1, 2.0), ("b", 5, 0, 6.0)],
                         columns=["model", "t", "seed", "error"])
    found = plots.lines(frame, "model", "t", "error")
    assert {name: (at, values.tolist()) for name, (at, values) in found.items()} == {
        "a": ([1, 2], [[1.0, 2.0], [3.0, 4.0]]), "b": ([5], [[6.0]])}


def test_panels_share_axes_and_may_share_a_legend():
    parts = {"decay": {"base": ([1, 2], torch.tensor([3.0, 4.0])), "0.1": ([1, 2], torch.tensor([5.0, 9.0]))},
             "T": {"base": ([1, 2], torch.tensor([3.0, 4.0]))}}
    figure = plots.panels(parts, "epoch", "accuracy", levels={"T": {"ridge": 7.0}})
    first, second = figure.axes
    assert [line.get_ydata().tolist() for line in first.lines] == [[3.0, 4.0], [5.0, 9.0]]
    assert second.lines[1].get_ydata() == [7.0, 7.0] and first.get_ylim() == second.get_ylim()
    assert (first.get_title(), second.get_title()) == ("decay", "T")
    assert said(second.get_legend().get_texts()) == ["base", "ridge"]
    assert (figure.get_supxlabel(), figure.get_supylabel()) == ("epoch", "accuracy")
    parts = {title: {"base": ([0.1, 10.0], torch.tensor([1.0, 100.0]))} for title in ("a", "b")}
    figure = plots.panels(parts, "seconds", "E", {"a": {"step": 5.0}}, log=True, log_x=True, one_legend=True)
    for axis in figure.axes:
        assert (axis.get_xscale(), axis.get_yscale(), axis.get_legend()) == ("log", "log", None)
    legend, = figure.legends
    assert said(legend.get_texts()) == ["base", "step"]
    figure.canvas.draw()
    for label in figure.texts:                                             # those of both axes
        assert not legend.get_window_extent().overlaps(label.get_window_extent()), label


def test_differences_draw_every_seed_and_shade_the_better_side():
    values = {"a": torch.tensor([0.5, 1.5]), "b": torch.tensor([-3.0, -1.0])}
    figure = plots.differences({"accuracy": values, "error": values}, less_is_better=["error"])
    for axis, (low, high) in zip(figure.axes, [(0, None), (None, 0)], strict=True):
        _, dots_a, dots_b, means = axis.lines
        assert dots_a.get_xdata().tolist() == [0.5, 1.5] and dots_b.get_xdata().tolist() == [-3.0, -1.0]
        assert list(means.get_xdata()) == [1.0, -2.0] and list(means.get_ydata()) == [0, 1]
        shaded = axis.patches[0].get_extents().transformed(axis.transData.inverted())
        ends = (low if low is not None else axis.get_xlim()[0], high if high is not None else axis.get_xlim()[1])
        assert (shaded.x0, shaded.x1) == pytest.approx(ends)
    assert said(figure.axes[0].get_yticklabels()) == ["a", "b"]


def test_dots_draw_every_seed_that_there_is_in_the_colour_of_its_kind_and_the_published_value():
    """Empty rows are left out; ticks of places are whole numbers."""
    parts = {"digits": {"a": torch.tensor([1.0, 3.0]), "b": torch.tensor([5.0])},
             "clothing": {"a": torch.tensor([2.0]), "b": torch.tensor([4.0])}}
    figure = plots.dots(parts, "accuracy (%)", {"digits": {"b": 7.0}}, bold=["b"])
    first, second = figure.axes
    assert [name.get_fontweight() for name in first.get_yticklabels()] == ["normal", "bold"]
    assert [line.get_xdata().tolist() for line in first.lines[:2]] == [[1.0, 3.0], [5.0]]
    assert list(first.lines[2].get_xdata()) == [7.0] and list(first.lines[2].get_ydata()) == [1]
    assert [line.get_xdata().tolist() for line in second.lines] == [[2.0], [4.0]]
    assert said(first.get_yticklabels()) == ["a", "b"] and second.get_xlabel() == "accuracy (%)"
    parts = {"digits": {"a": torch.tensor([1.0, 10.0]), "b": torch.tensor([5.0]), "c": torch.tensor([2.0])},
             "clothing": {"a": torch.tensor([]), "b": torch.tensor([torch.nan]), "c": torch.tensor([2.0, torch.nan])}}
    kinds = {"a": "layers", "b": "edges", "c": "edges"}
    figure = plots.dots(parts, "error", {"digits": {"c": 3.0}}, kinds=kinds, log=True)
    first, second = figure.axes
    assert [said(axis.get_yticklabels()) for axis in figure.axes] == [["a", "b", "c"], ["c"]]
    assert first.get_position().height > 2 * second.get_position().height and second.get_xscale() == "log"
    assert [line.get_color() for line in first.lines[:3]] == [plots.COLORS[k] for k in (0, 1, 1)]
    assert second.lines[0].get_color() == plots.COLORS[1]                  # the same as in the panel above
    assert said(figure.legends[0].get_texts()) == ["layers", "edges", "the paper's"]
    axis = plots.dots({"task": {"f": torch.tensor([1, 2, 2])}}, "place").axes[0]
    assert all(float(place).is_integer() for place in axis.get_xticks())


def test_mistakes_are_shares_of_the_true_class_in_rows():
    predicted, true = torch.tensor([0, 1, 1, 1, 0]), torch.tensor([0, 0, 0, 0, 1])      # 3 of 4 zeros taken for ones
    axis = plots.mistakes({"x": (predicted, true, ["zero", "one"])}).axes[0]
    assert said(axis.texts) == ["75", "100"]                               # row by row, without the diagonal
    assert (axis.get_xlabel(), axis.get_ylabel()) == ("answered", "true class")


def test_image_rows_show_the_images_and_the_marks():
    images = torch.rand(3, 784)
    figure = plots.image_rows({"given": images, "found": images / 2}, columns=["x", "y", "z"],
                              marks={"found": [True, False, True]})
    axis, = figure.axes
    assert np.allclose(axis.images[4].get_array(), images[1].view(28, 28) / 2)
    assert axis.images[4].get_extent() == pytest.approx([1.04, 1.96, 1.96, 1.04])        # second column, second row
    assert said(axis.get_xticklabels()) == ["x", "y", "z"] and said(axis.get_yticklabels()) == ["given", "found"]
    good, bad = (axis.patches[k].get_edgecolor()[:3] for k in (3, 4))
    assert to_hex(good) == plots.RIGHT and to_hex(bad) == plots.WRONG
    assert said(axis.texts) == ["✓", "✗", "✓"]


def test_image_rows_draw_square_pictures_of_any_size_and_others_that_have_their_shape():
    """Colour planes one after the other become the last axis; a single channel is drawn as grey."""
    grey, colour, flat = torch.rand(2, 64), torch.rand(2, 3 * 32 * 32), torch.rand(2, 35)
    drawn = plots.image_rows({"grey": grey, "colour": colour}).axes[0].images
    assert np.allclose(drawn[1].get_array(), grey[1].view(8, 8))
    assert np.allclose(drawn[3].get_array(), colour[1].view(3, 32, 32).permute(1, 2, 0))
    for pictures, given in ((flat, {"shape": (5, 7)}), (flat.view(2, 5, 7), {}), (flat.view(2, 1, 5, 7), {})):
        drawn = plots.image_rows({"mine": pictures}, **given).axes[0].images
        assert np.allclose(drawn[1].get_array(), flat[1].view(5, 7))


# Machado, Oliveira and Fernandes (2009): linear RGB as those see it who lack the cones for green.
DEUTERANOPIA = np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                         [-0.011820, 0.042940, 0.968881]])
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])      # of sRGB


def seen(color: object) -> np.ndarray:
    """CIELAB of a colour without cones for green; 2.3 apart is just noticed."""
    rgb = np.array(to_rgb(color))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    x, y, z = np.cbrt(TO_XYZ @ np.clip(DEUTERANOPIA @ linear, 0, 1) / (0.9505, 1, 1.089))      # none is near black
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def test_colours_are_told_apart_without_seeing_green():
    assert np.linalg.norm(seen(plots.RIGHT) - seen(plots.WRONG)) > 30      # seaborn's "deep" pair: 10
    lines = [seen(color) for color in plots.COLORS[:6]]
    assert min(np.linalg.norm(a - b) for k, a in enumerate(lines) for b in lines[:k]) > 10


def test_letters_have_nine_pixels_where_a_figure_is_shown_smallest():
    """At 71 %, see book.css. Checked where most is written."""
    plots.use_style()
    figures = [plots.mistakes({"x": (torch.tensor([1, 0, 1]), torch.tensor([0, 1, 1]), ["zero", "one"])}),
               plots.panels({"a": {"base": ([1, 2], torch.tensor([3.0, 4.0]))}}, "x", "y", one_legend=True),
               plots.dots({"a": {"model": torch.rand(3)}}, "x", {"a": {"model": 0.5}}),
               plots.image_rows({"a": torch.rand(2, 784)}, columns=["x", "y"], marks={"a": [True, False]})]
    points = min(text.get_fontsize() for figure in figures for text in figure.findobj(Text) if text.get_text())
    assert points / 72 * figures[0].dpi * 0.71 >= 9


def test_lines_are_told_apart_without_their_colours():
    """The legend shows the shapes that the lines have."""
    lines, part = {name: ([1, 2], torch.tensor([3.0, 4.0])) for name in "abcdef"}, torch.tensor([False, True] * 5)
    frame = pd.DataFrame([(name, 1, x, float(x)) for name in "abcdef" for x in (1, 2)], columns=["by", "N", "x", "y"])
    figures = [plots.curves(lines, "x", "y"), plots.panels({"p": lines, "q": lines}, "x", "y"),
               plots.roc({name: torch.rand(10) for name in lines}, part, simple=2),
               plots.bundles(frame.assign(p="p"), "x", "y", "p", "by", "N")]
    for figure in figures:
        drawn = [line.get_marker() for line in figure.axes[0].get_lines() if len(line.get_xdata())][-6:]
        assert drawn == [handle.get_marker() for handle in figure.legends[0].legend_handles] and len(set(drawn)) == 6
    figure = plots.facets(frame.assign(p="p"), "x", "y", "p", "by")
    assert len({handle.get_marker() for handle in figure.legends[0].legend_handles}) == 6
    shapes = [path.vertices.tolist() for part in figure.axes[0].collections for path in part.get_paths()]
    assert len(shapes) == 12 and len({str(shape) for shape in shapes}) == 6


def test_a_gallery_has_data_sets_side_by_side_with_their_marks_and_shows_the_first_seed():
    """A pair of pictures of each; the place of what was not trained on one of them stays empty."""
    rows = {(name, kind, seed): torch.rand(3, 784) for kind in ("a", "b") for name in ("x", "y") for seed in (1, 2)}
    del rows["y", "b", 1], rows["y", "b", 2]
    given = [rows["x", "a", 1], rows["y", "a", 1], rows["x", "b", 1]]
    for name, agrees in (("x", [True, False, False]), ("y", [False, True, True])):
        rows[name, "a", 1] = Trial(rows[name, "a", 1], torch.zeros(3), pd.DataFrame({"agrees": agrees}))
    cases = {name: SimpleNamespace(test=SimpleNamespace(images=torch.rand(3, 784))) for name in ("x", "y")}
    axis = plots.gallery(rows, cases, {"b": "second"}, 4).axes[0]
    assert said(axis.get_yticklabels()) == ["a", "second", "original"]
    shown = [torch.as_tensor(np.asarray(image.get_array())).flatten() for image in axis.images]
    given += [cases[name].test.images for name in "xy"]
    assert torch.equal(torch.stack(shown), torch.cat([pictures[:2] for pictures in given]))
    assert said(axis.texts) == ["✓", "✗", "✗", "✓"]
    alone = plots.gallery({key: row for key, row in rows.items() if key[0] == "x"}, cases, {"b": "second"}, 2)
    assert said(alone.axes[0].get_yticklabels()) == ["a", "second", "original"]
    assert len(alone.axes[0].images) == 3 * 2


def test_mask_picture_has_sources_in_rows_and_names_every_group_however_thin():
    """Names from top to bottom in the order of the groups, without touching one another or the next mask."""
    drawn = topology.generative(2, [5], 6)
    axis = plots.mask_picture({"generative": drawn}).axes[0]
    assert np.array_equal(np.asarray(axis.images[0].get_array(), dtype=bool), drawn.mask().numpy())
    assert axis.get_ylabel() == "source vertex"
    plots.use_style()
    masks = {"complete": topology.fully_connected(784, 10, 206), "lateral": topology.lateral(10, [8, 8], 784)}
    figure = plots.mask_picture(masks)
    figure.canvas.draw()
    boxes = [[Text.get_window_extent(text) for text in axis.texts] for axis in figure.axes]
    for axis, drawn, placed in zip(figure.axes, masks.values(), boxes, strict=True):
        assert said(axis.texts) == list(reversed(drawn.groups))
        assert all(above.y0 >= below.y1 for below, above in pairwise(placed))
        assert not any(box.overlaps(other.get_window_extent()) for box in placed for other in figure.axes)


def test_pictures_of_a_graph_and_of_its_energy_have_names():
    graph = PCGraph(topology.from_mask(torch.tensor([[0, 1], [0, 0]])), init_std=1.0)
    texts = {text.get_text() for text in plots.graph_picture(graph, ["a", "b"]).axes[0].texts}
    assert {"a", "b", f"{float(graph.weight[0, 1]):.2f}"} <= texts
    graph = PCGraph(topology.fully_connected(1, 1, 1), "tanh", dtype=torch.float64)
    start = torch.zeros(3, dtype=torch.float64)
    figure = plots.landscape(graph, start, (1, 2), {"p": torch.zeros(2, 3)}, ["a", "b", "c"])
    assert figure.axes[0].get_xlabel() == "value of b" and figure.axes[1].get_ylabel() == "log10 of the energy E"


def test_network_picture_draws_every_edge_of_the_object():
    """A layered graph and one with cycles and a self-loop left out; the lines are read back from the figure."""
    layered = topology.discriminative(3, [4], 2)
    cyclic = topology.from_mask(torch.tensor([[0, 1, 0], [0, 0, 1], [1, 0, 0]]))
    figure = plots.network_picture({"layered": layered, "ring": cyclic})
    for axis, drawn in zip(figure.axes, (layered, cyclic), strict=True):
        assert plots.lines_drawn(axis) == {tuple(edge) for edge in drawn.mask().nonzero().tolist()}
    assert [axis.get_title() for axis in figure.axes] == ["layered", "ring"]


@pytest.mark.parametrize("around", [False, True])
def test_circuit_picture_draws_every_wire_with_its_sign(around):
    """Side by side and on a circle; a dendritic circuit is drawn side by side."""
    graph = PCGraph(topology.from_mask(torch.tensor([[0, 1], [1, 0]])), "tanh")
    graph.set_weight(torch.tensor([[0.0, 0.5], [-0.5, 0.0]]))
    made = {"standard": circuits.standard(graph)} | ({} if around else {"dendritic": circuits.dendritic(graph)})
    figure = plots.circuit_picture(made, around)
    for axis, circuit in zip(figure.axes, made.values(), strict=True):
        wires = {(wire.source, wire.target, wire.weight > 0) for wire in circuit.wires}
        assert plots.wires_drawn(axis) == wires
        axis.patches[0].remove()
        assert len(wires - plots.wires_drawn(axis)) == 1                   # a wire that is not there is missed


def test_roc_draws_each_score_with_its_area():
    """A perfect score has the corner as its curve and an area of 1; a reversed one, 0."""
    positive = torch.tensor([False, False, True])
    axis = plots.roc({"good": torch.tensor([1.0, 2.0, 3.0]), "bad": torch.tensor([3.0, 2.0, 1.0])}, positive).axes[0]
    assert np.allclose(axis.lines[0].get_xdata(), axis.lines[0].get_ydata()), "chance finds as many of both"
    assert axis.lines[1].get_ydata().tolist() == [0, 1, 1, 1]
    assert said(axis.figure.legends[0].get_texts()) == ["good: 1.000", "bad: 0.000"]
    assert axis.get_xlim() == (0.25, 1), "from half of one of the two negatives on"
    assert [line.get_color() for line in axis.lines[1:]] == ["0.5", plots.COLORS[0]]
    assert axis.get_xlabel() and axis.get_ylabel()


def test_counts_draw_means_ranges_and_the_number_itself():
    """Two sizes at 50 and 100: the bars are means over repeats, the outlines the numbers."""
    parts = {"half": {"small": {50: [10, 20], 100: [5, 5]}, "large": {50: [50, 50]}}}
    axis = plots.counts(parts, "stored", "retrieved").axes[0]
    bars = [part for part in axis.containers if hasattr(part, "patches")]
    assert [[bar.get_height() for bar in part] for part in bars] == [[50, 100], [15, 5], [50], [50]]
    low, high = bars[1].errorbar.lines[2][0].get_segments()[0][:, 1]
    assert (low, high) == (10, 20)
    assert said(axis.get_xticklabels()) == ["50", "100"]
    shared = axis.figure.get_supxlabel(), axis.figure.get_supylabel()
    assert (axis.get_title(), *shared) == ("half", "stored", "retrieved")
    figure = plots.counts({"noise": {"small": {50: [0]}}, "half": {"large": {50: [7]}}}, "stored", "retrieved")
    assert [text.get_text() for axis in figure.axes for text in axis.texts] == ["0", "7"]
    assert said(figure.legends[0].get_texts()) == ["small", "large"]


def test_settings_have_the_names_that_readers_know():
    said = {"base: init_std = 0.03, steps = 20": "base: first weights = 0.03, T = 20",
            "train.weight_lr": "learning rate",
            "topology.without = labels to internal": "edges left out = labels to internal", "5e-05": "5e-05"}
    assert {setting: plots.named(setting) for setting in said} == said


def test_bundles_draw_every_line_and_name_each_colour_once():
    """Two lines of each name in a panel; their colours are those of their names."""
    frame = pd.DataFrame([(panel, name, unit, t, 10.0 ** unit + t) for panel in "ab" for name in "mn"
                          for unit in (1, 2) for t in (0, 1)], columns=["panel", "step", "N", "t", "E"])
    figure = plots.bundles(frame, "t", "E", "panel", "step", "N")
    drawn = [line for line in figure.axes[1].get_lines() if len(line.get_xdata())]
    assert np.allclose([line.get_ydata() for line in drawn], [[10, 11], [100, 101]] * 2)
    colors = [to_hex(line.get_color()) for line in drawn]
    assert colors[0] == colors[1] != colors[2] == colors[3]
    assert said(figure.legends[0].get_texts()) == ["m", "n"]


def test_outcomes_stand_at_their_place_in_the_colour_and_shape_of_their_end():
    frame = pd.DataFrame({"x": [0.5, 0.5, 2.0], "row": ["a", "a", "b"], "rests": [True, False, False]})
    figure = plots.outcomes(frame, "x", "row", "rests", "bound")
    figure.canvas.draw()                                                   # which moves dots apart
    axis = figure.axes[0]
    dots = [(*np.round(at, 9), to_hex(color)) for part in axis.collections
            for at, color in zip(part.get_offsets(), part.get_facecolors(), strict=True)]
    assert [(x, round(y), color) for x, y, color in dots] == [(0.5, 0, RIGHT), (0.5, 0, WRONG), (2.0, 1, WRONG)]
    assert dots[0][1] != dots[1][1] and [1, 1] in [list(line.get_xdata()) for line in axis.get_lines()]
    curved = [[4 in path.codes for path in part.get_paths()] for part in axis.collections]
    assert curved == [[True, False], [False]]                              # only a circle has curves
    assert [entry.get_marker() for entry in axis.get_legend().legend_handles] == ["o", "X"]


@pytest.mark.parametrize(("places", "joined"), [(["[0, 1]", "[-1, 1]"], False), (["0", "1e-4"], True), ([1, 10], True)])
def test_facets_join_numbers_and_never_categories(places: list[object], joined: bool) -> None:
    """The means are those of the rows, joined or not. Categories stand on the y axis, the first on top."""
    frame = pd.DataFrame({"x": [*places, *places], "y": [1.0, 4.0, 3.0, 6.0], "part": "a", "by": "b"})
    axis = plots.facets(frame, "x", "y", "part", "by").axes[0]
    drawn = [list(one.get_ydata()) for one in axis.get_lines() if len(one.get_ydata())]
    bars = [list(part.get_offsets()[:, 0]) for part in axis.collections if len(part.get_offsets()) == 2]
    assert (drawn, bars) == (([[2.0, 5.0]], []) if joined else ([], [[2.0, 5.0]]))
    assert axis.yaxis_inverted() != joined


def test_facets_have_labels_and_levels_of_their_own():
    """With labels they stand in one column, else an axis has the unit of its title; the number of a level is kept."""
    for title, unit in (("denoising (dB)", "dB"), ("completion, squared error", "squared error"), ("depth", "y")):
        frame = pd.DataFrame({"x": [*"ab"], "y": [1.0, 2.0], "part": title, "by": "u"})
        assert plots.facets(frame, "x", "y", "part", "by").axes[0].get_xlabel() == unit
        assert plots.facets(frame.assign(x=[1, 2]), "x", "y", "part", "by").axes[0].get_ylabel() == unit
    frame = pd.DataFrame({"x": [*"0112"], "y": [1.0, 2.0, 3.0, 4.0], "part": [*"aabb"], "by": "u"})
    figure = plots.facets(frame, "x", "y", "part", "by", {"a": "error", "b": "points"})
    first, second = figure.axes
    assert (first.get_ylabel(), second.get_ylabel()) == ("error", "points")
    assert (first.get_xlabel(), second.get_xlabel()) == ("", "x")
    assert first.get_subplotspec().colspan == second.get_subplotspec().colspan and first.get_xlim() == second.get_xlim()
    figure = plots.facets(frame, "x", "y", "part", "by", levels={"b": {"rival": 2.5}})
    assert [said(axis.texts) for axis in figure.axes] == [[], ["rival"]]
    assert figure.axes[1].lines[-1].get_ydata() == [2.5, 2.5]
    assert "b,rival,,2.5" in handover.csv(figure)


def test_answers_are_ticks_and_crosses_and_empty_where_nothing_was_tried():
    rows = [("p", "one", "a", True), ("p", "one", "b", False), ("q", "two", "b", True)]
    frame = pd.DataFrame(rows, columns=["part", "said", "x", "true"])
    figure = plots.answers(frame.assign(x=pd.Categorical(frame["x"], [*"abc"])), "x", "said", "true", "part", "b")
    assert [said(axis.texts) for axis in figure.axes] == [["✓", "✗"], ["✓"]]
    assert [axis.get_title("right") for axis in figure.axes] == ["p", "q"]
    assert [1, 1] in [list(line.get_xdata()) for line in figure.axes[0].get_lines()]


def test_a_legend_of_facets_has_numbers_by_size_and_words_as_they_come():
    for words, named in ((["0.0", "0.01", "0.001"], ["0.0", "0.001", "0.01"]), (["b", "c", "a"], ["b", "c", "a"])):
        frame = pd.DataFrame({"x": [1, 2, 3], "y": [1, 2, 3], "part": "a", "by": words})
        assert said(plots.facets(frame, "x", "y", "part", "by").legends[0].get_texts()) == named


def test_facets_with_more_words_than_colours_have_a_legend_in_each_panel_or_colours_for_all_that_panels_share():
    words = [f"{part}{k}" for part in "ab" for k in range(6)]
    frame = pd.DataFrame({"x": 1.0, "y": 2.0, "part": [word[0] for word in words], "by": words})
    figure = plots.facets(frame, "x", "y", "part", "by")
    assert [said(axis.get_legend().get_texts()) for axis in figure.axes] == [words[:6], words[6:]]
    assert not figure.legends
    colors = [[handle.get_markerfacecolor() for handle in axis.get_legend().legend_handles] for axis in figure.axes]
    assert colors[0] == colors[1] and len(set(colors[0])) == 6
    frame = pd.DataFrame([{"x": 1.0, "y": 2.0, "part": part, "by": f"{k}"} for part in "ab" for k in range(12)])
    [shared] = plots.facets(frame, "x", "y", "part", "by").legends
    assert len({to_hex(handle.get_markerfacecolor()) for handle in shared.legend_handles}) == 12


# what a reader downloads beside a figure

SEEDS = torch.tensor([[1.0, 3.0], [2.0, 6.0]])                             # (positions, seeds)
BOTH = {"m": torch.tensor([1.0, 2.0]), "n": torch.tensor([3.0])}
FRAME = pd.DataFrame({"k": [1, 1, 2], "v": [1.0, 2.0, 3.0], "part": ["A", "A", "B"], "f": ["u", "u", "u"]})
COUNTS = {"half": {3: [1.0, 2.0]}, "noise": {3: [3.0], 10: [2.0]}}


def rows(figure: Figure) -> list[dict[str, object]]:
    """The rows of a figure as a reader's own program gets them, without empty cells."""
    table = pd.read_csv(StringIO(handover.csv(figure)))
    return [{key: value for key, value in row.items() if value == value} for row in table.to_dict("records")]


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


@pytest.mark.parametrize(("draw", "head", "lines"), [
    (lambda: plots.curves({"a": ([0, 1], SEEDS), "b": ([0, 1], SEEDS[:, 0])}, "t", "E", levels={"low": 0.5},
                          marks={"here": 0.7}), ("series", "t", "E", "low", "high"), [
        ("a", 0, 2, 1, 3), ("a", 1, 4, 2, 6), ("b", 0, 1), ("b", 1, 2), ("low", None, 0.5), ("here", 0.7)]),
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
def test_figures_keep_their_points(draw: Callable[[], Figure], head: tuple[str, ...], lines: list[tuple]) -> None:
    assert rows(draw()) == [{key: value for key, value in zip(head, line, strict=False) if value is not None}
                            for line in lines]


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
