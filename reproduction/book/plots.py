"""All kinds of figures in the book. Each function returns a matplotlib figure with labelled axes."""

import math
import re
import sys
import textwrap
from collections.abc import Collection, Mapping, Sequence, Set
from functools import partial
from itertools import cycle
from typing import Any

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import pandas as pd
import seaborn as sns
import torch
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import LinearSegmentedColormap, PowerNorm, same_color
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.markers import MarkerStyle
from matplotlib.patches import ArrowStyle, FancyArrowPatch, Rectangle
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator
from scipy.optimize import isotonic_regression
from torch import Tensor
from torch.nn.functional import avg_pool2d

from pcgraph_lite.engine.graph import PCGraph
from pcgraph_lite.engine.topology import Topology
from pcgraph_lite.errors import BadInput, WrongShape
from pcgraph_lite.images import metrics
from pcgraph_lite.studies.circuits import Circuit, Neuron, Wire
from pcgraph_lite.studies.trials import Case, Key, Trial

from . import handover, polish
from .galleries import GAP

RIGHT, WRONG = "#029e73", "#c8281e"                   # told apart, too, by those who cannot tell green from red
COLORS = sns.color_palette("colorblind")
UNIT = re.compile(r"\(([^()]+)\)$|, ([^,()]+)$")      # at the end of a panel's title
SHAPES = ("", *"os^DvXP<>*")                          # of lines, for those who cannot tell colours; levels are broken
# The place of each neuron around its vertex, its symbol and its colour.
PLACES = {"value": (0, 0), "error": (0.25, 0.9), "apical": (0, 1.1), "basal": (0, -0.9), "interneuron": (-1.15, -0.1)}
SYMBOLS = {"value": "x", "error": r"\varepsilon", "apical": "a", "basal": "b", "interneuron": "m"}
WIRES = {True: RIGHT, False: WRONG}                                # excitatory, inhibitory
FILLS = {"value": "white", "error": [COLORS[1]], "apical": [COLORS[9]], "basal": [COLORS[8]],
         "interneuron": [COLORS[4]]}

TALLEST = 7                                # inches of rows of pictures that are seen together on a screen
THIN = 0.075                               # height of a name beside a mask, as a share of the axes
SMALLEST = "x-small"                       # 9 pixels where a page shows a figure smallest
PHONE = 4.45                               # inches of such a figure that a phone shows
DENSITY, PIXELS = LinearSegmentedColormap.from_list("edges", ["#f2f2f2", COLORS[0]]), 500      # width of a mask

# Readers' names for the settings of a sweep and their values.
NAMES = {"weight_lr": "learning rate", "value_lr": "step size", "weight_decay": "weight decay", "steps": "T",
         "anneal": "fall of the learning rate", "warm_up": "epochs of warm-up", "init_std": "first weights",
         "batch_size": "batch", "without": "edges left out", "self_loops": "self-loops",
         "hardtanh": "HardTanh", "relu": "ReLU", "true": "yes", "false": "no"}

OURS = "ours, one dot per seed"

Lines = Mapping[str, tuple[Sequence[float], Tensor]]    # name -> positions, values ``(positions,)`` or with repeats


def use_style() -> None:
    """Set the look of figures. A notebook outputs each with two pixels for one of the page, and with its numbers."""
    if (ipython := sys.modules.get("IPython")) and (shell := ipython.get_ipython()):
        from matplotlib_inline.backend_inline import set_matplotlib_formats  # only here: it comes with IPython
        set_matplotlib_formats("retina")
        plt.uninstall_repl_displayhook()                                   # would draw each of them once more
        shell.display_formatter.mimebundle_formatter.for_type(
            Figure, lambda figure: {handover.NUMBERS: text} if (text := handover.csv(figure)) else {})
    sns.set_theme(context="notebook", style="whitegrid", palette="colorblind")
    plt.rcParams.update({"figure.dpi": polish.DPI, "savefig.bbox": "tight", "axes.titlesize": "medium",
                         "figure.constrained_layout.use": True, "image.cmap": "gray_r"})


def named(setting: str) -> str:
    """Settings of a sweep in readers' words: ``train.weight_lr = 0.001`` becomes ``learning rate = 0.001``."""
    return re.sub(r"\b(?:[a-z]+\.)?([a-z]\w*)", lambda word: NAMES.get(word[1], word[1]), setting)


def image_rows(rows: Mapping[str, Tensor], shape: tuple[int, ...] | None = None, columns: Sequence[str] = (),
               marks: Mapping[str, Sequence[bool | None]] | None = None) -> Figure:
    """Pictures in rows, cut off at 0 and 1; of one that is all NaN the place stays empty. ``rows``: name ->
    ``(count, ...)``. ``shape``: (height, width); None: square. ``columns``: their titles. ``marks``: name -> whether
    each picture of the row has a green frame with a tick or a red one with a cross; None: neither.
    """
    pictures = {name: _pictures(images, shape) for name, images in rows.items()}
    if len({len(p) for p in pictures.values()}) != 1:
        raise WrongShape(f"rows differ in length: { {name: len(p) for name, p in pictures.items()} }.")
    count = len(next(iter(pictures.values())))
    side = min(0.72, TALLEST / len(rows))
    figure, axis = plt.subplots(figsize=(side * count + 1.3, 1.08 * side * len(rows) + 0.3))
    for row, (name, images) in enumerate(pictures.items()):                # one axis: a hundred axes take seconds
        right = (marks or {}).get(name)
        for k, image in enumerate(images):
            if np.isnan(image).all():
                continue
            axis.imshow(image, vmin=0, vmax=1, extent=(k + GAP / 2, k + 1 - GAP / 2, row + 1 - GAP / 2, row + GAP / 2))
            _frame(axis, k, row, None if right is None or right[k] is None else bool(right[k]))
    axis.set(xlim=(0, count), ylim=(len(rows), 0), frame_on=False)
    axis.set_yticks([row + 0.5 for row in range(len(rows))], pictures, fontsize="small")
    titles = [name.replace("\n", ", ") for name in columns]
    tilt: dict[str, Any] = {"rotation": 40, "ha": "left"} if max(map(len, titles), default=0) > 3 else {}  # would touch
    axis.set_xticks([k + 0.5 for k in range(len(titles))], titles, fontsize="small", **tilt)
    axis.tick_params(length=0, labeltop=True, labelbottom=False)
    axis.grid(False)
    return figure


def _frame(axis: Axes, k: int, row: int, right: bool | None) -> None:
    """Frame the k-th picture of a row: thin and grey, or coloured with a tick or a cross."""
    color = "0.8" if right is None else RIGHT if right else WRONG
    axis.add_patch(Rectangle((k + GAP / 2, row + GAP / 2), 1 - GAP, 1 - GAP, fill=False, edgecolor=color,
                             linewidth=0.6 if right is None else 2))
    if right is not None:
        axis.text(k + 0.97, row + 0.03, "✓" if right else "✗", color="white", fontsize=SMALLEST, ha="center",
                  va="center", bbox={"boxstyle": "circle,pad=0.05", "color": color})


def trials(rows: Mapping[str, Tensor | Trial | list[Tensor | Trial]], count: int = 10,
           columns: Sequence[str] = ()) -> Figure:
    """The first ``count`` pictures of trials, framed by whether they agree, and of images ``(batch, pixels)``; of a
    list so many of each, next to each other.
    """
    pictures, marks = {}, {}
    for name, row in rows.items():
        shown = [(one.images[:count], one.each["agrees"]) if isinstance(one, Trial) else (one[:count], [None] * count)
                 for one in (row if isinstance(row, list) else [row])]
        pictures[name] = torch.cat([images for images, _ in shown])
        marks[name] = [mark for images, agrees in shown for _, mark in zip(images, agrees, strict=False)]
    return image_rows(pictures, columns=columns, marks=marks)


def gallery(rows: Mapping[Key, Tensor | Trial], cases: Mapping[str, Case], words: Mapping[str, str],
            count: int = 10) -> Figure:
    """``side_by_side`` with ``count`` pictures of one data set, or half as many of each of several; the place of a
    model that one of them lacks stays empty. Of each model only the lowest seed is shown. ``rows``: by (dataset, model,
    seed). ``words``: names of models for readers.
    """
    seed, names = min(key[2] for key in rows), dict.fromkeys(key[0] for key in rows)
    filled = {(name, words.get(model, model), s): row for (name, model, s), row in rows.items() if s == seed}
    empty = {(name, model, seed): torch.full_like(cases[name].test.images, torch.nan)
             for model in dict.fromkeys(key[1] for key in filled) for name in names}
    return side_by_side(empty | filled, cases, count if len(names) == 1 else -(-count // 2))


def side_by_side(rows: Mapping[Key, Tensor | Trial], cases: Mapping[str, Case], count: int = 5) -> Figure:
    """Trials and images in rows, with ``count`` pictures of each data set next to each other, above the originals."""
    seed, names = min(key[2] for key in rows), list(dict.fromkeys(key[0] for key in rows))
    rows = dict(rows) | {(name, "original", seed): cases[name].test.images for name in names}
    models = dict.fromkeys(key[1] for key in rows)
    return trials({model: [rows[name, model, seed] for name in names] for model in models}, count)


def curves(lines: Lines, x: str, y: str, *, log: bool = False, log_x: bool = False,
           levels: Mapping[str, float] | None = None, marks: Mapping[str, float] | None = None) -> Figure:
    """Lines through the means of repeats, with a band from their minimum to their maximum. ``levels``: name -> height
    of a dashed line; ``marks``: name -> position of an upright one. On a logarithmic x axis a zero stands one place
    before the smallest other number. A line named "" is not in the legend.
    """
    figure, axis = plt.subplots(figsize=(PHONE, 3.1))
    rows = _lines(axis, "", lines, x, y, levels or {}, log, log_x, marks=marks or {})
    axis.set(xlabel=x, ylabel=textwrap.fill(y, 30))                        # a longer one would reach into the legend
    legend(figure, *axis.get_legend_handles_labels())
    return handover.keep(figure, rows)


def legend(figure: Figure, handles: Sequence[Artist], names: Sequence[str], title: str | None = None) -> None:
    """Names above the axes, on the left, which a phone shows of a wide figure. They make it taller. No names: none."""
    if not names:
        return
    columns = max(1, min(len(names), 3, int(PHONE / (0.6 + 0.07 * max(map(len, names), default=0)))))     # in inches
    rows = -(-len(names) // columns) + bool(title)
    figure.set_figheight(figure.get_figheight() + 0.1 + 0.17 * rows)
    figure.legend(handles, names, loc="outside upper left", ncols=columns, fontsize=SMALLEST, title=title,
                  title_fontsize=SMALLEST, columnspacing=1)


def _apart(heights: Sequence[float], line: float) -> list[float]:
    """Rising heights, moved as little as possible so that they differ by at least ``line`` and stay between 0 and 1."""
    steps = line * np.arange(len(heights))
    free = isotonic_regression(np.asarray(heights) - steps).x if heights else []
    return (np.clip(free, 0, max(1 - (len(heights) - 1) * line, 0)) + steps).tolist()


def lines(frame: pd.DataFrame, by: str, x: str, y: str) -> dict[str, tuple[list[float], Tensor]]:
    """Lines for ``curves`` from a frame with one row per seed: ``by`` -> its ``x`` and ``y`` ``(positions, seeds)``."""
    grids = {name: part.pivot(index=x, columns="seed", values=y) for name, part in frame.groupby(by, sort=False)}
    return {name: (grid.index.tolist(), torch.tensor(grid.to_numpy())) for name, grid in grids.items()}


def counts(parts: Mapping[str, Mapping[str, Mapping[int, Sequence[float]]]], x: str, y: str,
           columns: int = 2) -> Figure:
    """Bars of counts: the mean over repeats with a line from minimum to maximum, inside an outline of the whole number.
    ``parts``: title of a panel -> name of a colour -> number -> counts of repeats. ``columns``: panels side by side, as
    wide together as a phone.
    """
    frame = pd.DataFrame([{"panel": title, "series": name, x: number, y: sum(values) / len(values),
                           "low": min(values), "high": max(values)} for title, groups in parts.items()
                          for name, repeats in groups.items() for number, values in repeats.items()])
    figure, axes = _panels(len(parts), columns, PHONE / columns, 2.3, sharey=True)
    for axis, (title, part) in zip(axes, frame.groupby("panel", sort=False), strict=True):
        numbers, wide = sorted(set(part[x])), 0.9 / part["series"].nunique()
        for k, (name, bars) in enumerate(part.groupby("series", sort=False)):
            at = [numbers.index(number) + (k - (part["series"].nunique() - 1) / 2) * wide for number in bars[x]]
            axis.bar(at, bars[x], wide * 0.92, fill=False, edgecolor="0.45", linewidth=0.8)
            bars = axis.bar(at, bars[y], wide * 0.92, color=COLORS[k], label=name, error_kw={"linewidth": 1},
                            yerr=(bars[y] - bars["low"], bars["high"] - bars[y]))
            axis.bar_label(bars, fmt="%.0f", padding=3, fontsize=SMALLEST,                              # 0, too
                           bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5})                # above the bar
        axis.set_xticks(range(len(numbers)), [str(number) for number in numbers])
        axis.set_title(title.replace(", ", ",\n", 1), fontsize="small")
        axis.margins(y=0.12)                                               # room for the numbers on the bars
    figure.supxlabel(x, fontsize="medium")
    figure.supylabel(y, fontsize="medium")
    named = {name: bars for axis in axes for bars, name in zip(*axis.get_legend_handles_labels(), strict=True)}
    legend(figure, list(named.values()), list(named))
    return handover.keep(figure, frame)


def roc(scores: Mapping[str, Tensor], positive: Tensor, simple: int = 1) -> Figure:
    """ROC curves of scores of the same examples, with their areas in the legend. ``scores``: name -> ``(batch,)``;
    higher means more ``positive``, ``(batch,)`` bool. The first ``simple`` ones are grey. The logarithmic x axis starts
    at half a negative example.
    """
    figure, axis = plt.subplots(figsize=(PHONE, 3.6))
    x, y = "share of familiar images called foreign", "share of foreign images found"
    drawn = {name: metrics.roc(values, positive) for name, values in scores.items()}
    least = 0.5 / int((~positive).sum())
    axis.plot(chance := np.geomspace(least, 1, 200), chance, color="0.4", linewidth=1.2, linestyle=":")
    for k, (name, (false, true)) in enumerate(drawn.items()):
        axis.plot(false, true, color="0.5" if k < simple else COLORS[k - simple], drawstyle="steps-post", **_shape(k),
                  label=f"{name}: {metrics.auroc(scores[name], positive):.3f}")
    axis.set_xscale("log", nonpositive="clip")
    _plain_numbers(axis.xaxis)
    axis.set(xlim=(least, 1), xlabel=x, ylabel=y)
    legend(figure, *axis.get_legend_handles_labels(), "area below the curve")
    return handover.keep(figure, [{"series": name, x: float(one), y: float(other)} for name, rates in drawn.items()
                                for one, other in zip(*rates, strict=True)])


def panels(parts: Mapping[str, Lines], x: str, y: str, levels: Mapping[str, Mapping[str, float]] | None = None, *,
           log: bool = False, log_x: bool = False, one_legend: bool = False) -> Figure:
    """Small multiples of ``curves`` on common axes, by title. The first line of each part is grey. ``one_legend``: show
    the first legend above the whole figure, as legends that agree are shown anyway.
    """
    columns = 1 if len(parts) < 3 else 2 if len(parts) in (4, 8) else 3    # two stand below each other for a phone
    figure, axes = _panels(len(parts), columns, PHONE if columns == 1 else 3.5, 2.5, sharex=True, sharey=True)
    rows = []
    for axis, (title, lines) in zip(axes, parts.items(), strict=True):
        rows += _lines(axis, title, lines, x, y, (levels or {}).get(title, {}), log, log_x, ["0.35", *COLORS])
        axis.set(title=title)
    told = [axis.get_legend_handles_labels()[1] for axis in axes]
    one_legend |= len(told) > 1 and all(names == told[0] for names in told)
    for axis in () if one_legend else axes:
        axis.legend(fontsize=SMALLEST, loc="best")
    if one_legend:
        legend(figure, *axes[0].get_legend_handles_labels())
    figure.supxlabel(x, fontsize="medium")
    figure.supylabel(y, fontsize="medium")
    return handover.keep(figure, rows)


def bundles(frame: pd.DataFrame, x: str, y: str, panel: str, color: str, line: str) -> Figure:
    """Small multiples on common logarithmic y axes: every line as it is, one colour and shape for those of one name.
    ``x`` and ``y`` label the axes; ``panel``, ``color`` and ``line`` name columns of ``frame``.
    """
    figure, axes = _panels(frame[panel].nunique(), 2, 3.9, 2.7, sharex=True, sharey=True)
    for axis, (title, part) in zip(axes, frame.groupby(panel, sort=False), strict=True):
        sns.lineplot(part, x=x, y=y, hue=color, units=line, estimator=None, linewidth=1, palette="colorblind", ax=axis,
                     markevery=0.1, markersize=4, markeredgewidth=0, dashes=False,
                     **_shapes(color, part[color].unique()))
        axis.set(title=title, yscale="log")
        axis.get_legend().remove()  # type: ignore[union-attr]  # seaborn made one
    legend(figure, *axes[0].get_legend_handles_labels(), color)
    return handover.keep(figure, frame[[panel, color, line, x, y]])


def outcomes(frame: pd.DataFrame, x: str, y: str, good: str, limit: str) -> Figure:
    """Rows of marks that do not cover one another, on a logarithmic axis: a green dot if ``good`` and a red cross if
    not. ``frame``: one row per mark with columns ``x``, ``y`` and ``good`` (bool). ``limit``: name of the line at 1.
    """
    names = {True: good, False: f"not {good}"}
    figure, axis = plt.subplots(figsize=(7.4, 0.75 * frame[y].nunique() + 1))
    axis.set_xscale("log")
    sns.swarmplot(frame, x=x, y=y, hue=frame[good].map(names), hue_order=names.values(), palette=[RIGHT, WRONG],
                  size=5.5, ax=axis)
    axis.axvline(1, color="0.35", linestyle="--", linewidth=1.2)
    axis.annotate(limit, (1, 1), xycoords=("data", "axes fraction"), xytext=(0, 3), textcoords="offset points",
                  ha="center", fontsize=SMALLEST)
    _plain_numbers(axis.xaxis)
    axis.set(ylabel="")
    dot, cross = (mark.get_path().transformed(mark.get_transform()) for mark in map(MarkerStyle, "oX"))
    for dots in axis.collections:
        dots.set_paths([cross if same_color(color, WRONG) else dot for color in np.asarray(dots.get_facecolor())])
    axis.legend(title="", fontsize="small", loc="best").get_lines()[1].set_marker("X")
    return handover.keep(figure, frame[[y, x, good]])


def answers(frame: pd.DataFrame, x: str, y: str, holds: str, part: str, border: object) -> Figure:
    """Where sentences hold: a row of cells per sentence ``y``, a column per value of ``x``, green with a tick or red
    with a cross; what was not tried stays empty. ``part``: column of words; each is a panel. ``border``: the value of
    ``x`` before which an upright line stands. ``x`` is categorical, so that its order is known.
    """
    sizes = frame.groupby(part, sort=False)[y].nunique()
    figure, axes = plt.subplots(len(sizes), figsize=(PHONE, 0.32 * sizes.sum() + 0.9), sharex=True, squeeze=False,
                                height_ratios=list(sizes))
    lines = frame[y].str.replace(" (", "\N{NO-BREAK SPACE}(").map(partial(textwrap.fill, width=36))  # room for cells
    told = frame.assign(**{y: lines})
    for axis, (title, rows) in zip(axes[:, 0], told.groupby(part, sort=False), strict=True):
        cells = rows.pivot(index=y, columns=x, values=holds).reindex(rows[y].unique())
        cells = cells.reindex(columns=frame[x].cat.categories).astype(float)            # (sentences, values)
        sns.heatmap(cells, vmin=0, vmax=1, cmap=[WRONG, RIGHT], cbar=False, linewidths=1.5, ax=axis, fmt="",
                    yticklabels=1, annot=cells.map({1: "✓", 0: "✗"}.get), annot_kws={"fontsize": "small"})
        axis.axvline(list(cells).index(border), color="0.35", linewidth=1.2)
        axis.grid(False)
        axis.set_title(title, loc="right")
        axis.set(xlabel="", ylabel="")
        axis.tick_params("both", labelsize=SMALLEST, rotation=0)
    axis.set_xlabel(x)
    return handover.keep(figure, frame[[part, y, x, holds]])


def differences(measures: Mapping[str, Mapping[str, Tensor]], less_is_better: Sequence[str] = ()) -> Figure:
    """What each setting changes: one dot per seed and a bar at their mean. ``measures``: axis label -> setting ->
    ``(seeds,)`` differences to the base. The better side is shaded, the left one for measures in ``less_is_better``.
    """
    settings = list(next(iter(measures.values()), ()))
    figure, axes = _panels(len(measures), 9, 2.7, 0.27 * len(settings) + 1, margin=2.6, sharey=True)
    for axis, (label, values) in zip(axes, measures.items(), strict=True):
        axis.axvline(0, color="0.35", linewidth=1)
        _dots(axis, values, settings, {})
        axis.plot([float(values[setting].mean()) for setting in settings], range(len(settings)), "|", color="black",
                  markersize=11, label="_their mean")
        low, high = axis.get_xlim()
        axis.axvspan(*((low, 0) if label in less_is_better else (0, high)), color=COLORS[2], alpha=0.1, zorder=0)
        axis.set(xlabel=label, xlim=(low, high))
        axis.xaxis.set_major_locator(MaxNLocator(4))                       # more numbers would touch in a narrow panel
    return handover.keep(figure, [{"panel": label, "setting": setting, "difference": value} for label, rows in
                                measures.items() for setting in settings for value in _numbers(rows[setting])])


def dots(parts: Mapping[str, Mapping[str, Tensor]], x: str, marks: Mapping[str, Mapping[str, float]] | None = None, *,
         kinds: Mapping[str, str] | None = None, common: bool = True, log: bool = False,
         bold: Collection[str] = ()) -> Figure:
    """One panel per part, one below the other, one row per name with a number, one dot per repeat; published ``marks``
    are black bars. ``parts``: title -> name -> ``(repeats,)``. ``kinds``: name -> kind, one colour and one entry of the
    legend each. ``common``: whether all panels share one axis. ``log``: whether it is logarithmic. ``bold``: names.
    """
    parts = {title: {name: row for name, row in rows.items() if not np.isnan(_numbers(row)).all()}
             for title, rows in parts.items()}
    counted = [max(len(rows), 1) for rows in parts.values()]
    figure, axes = _panels(len(parts), 1, PHONE, 0.25 * sum(counted) / max(len(counted), 1) + 0.75, sharex=common,
                         gridspec_kw={"height_ratios": counted} if counted else None)
    for axis, (title, rows) in zip(axes, parts.items(), strict=True):
        names = list(rows)
        _dots(axis, rows, names, kinds or {})
        for name in axis.get_yticklabels():
            name.set_fontweight("bold" if name.get_text() in bold else "normal")
        if published := (marks or {}).get(title):
            axis.plot(list(published.values()), [names.index(name) for name in published], "|", color="black",
                      markersize=12, markeredgewidth=2, label="the paper's")
        axis.set(xlabel=x if axis is axes[-1] else "", title=title)
        _scale(axis, {place for row in rows.values() for place in _numbers(row)}, log)
    if marks:                                                              # otherwise there are only dots
        legend(figure, *axes[0].get_legend_handles_labels())
    ours = [("", *part) for part in parts.items()]
    theirs = [("the paper's", title, {name: [value] for name, value in some.items()})
              for title, some in (marks or {}).items()]
    return handover.keep(figure, [{"panel": title, "series": name, "whose": whose, x: value} for whose, title, rows in
                                ours + theirs for name, values in rows.items() for value in _numbers(values)])


def _dots(axis: Axes, rows: Mapping[str, Tensor], names: Sequence[str], kinds: Mapping[str, str]) -> None:
    """One row per name from top to bottom, one dot per seed, one colour per kind."""
    all_kinds, said = list(dict.fromkeys(kinds.values())) or [OURS], set()
    for k, name in enumerate(names):
        kind = kinds.get(name, OURS)
        axis.plot(_numbers(rows[name]), [k] * len(rows[name]), "o", color=COLORS[all_kinds.index(kind)], markersize=4,
                  alpha=0.8, label="_" * (kind in said) + kind)
        said.add(kind)
    axis.set_yticks(range(len(names)), names, fontsize=SMALLEST)
    axis.set_ylim(len(names) - 0.5, -0.5)


def mistakes(parts: Mapping[str, tuple[Tensor, Tensor, Sequence[str]]]) -> Figure:
    """Confusion matrices without their diagonals, in per cent of the true class. ``parts``: title -> predicted and true
    classes ``(count,)`` int, and their names.
    """
    (figure, axes), kept = _panels(len(parts), 9, 4.9, 4.3), []
    for axis, (title, (predicted, true, names)) in zip(axes, parts.items(), strict=True):
        classes, share = range(len(names)), pd.crosstab(true.numpy(), predicted.numpy(), normalize="index")
        share = share.reindex(classes, columns=classes, fill_value=0)
        sns.heatmap(100 * share, mask=np.eye(len(names), dtype=bool), ax=axis, cmap="Blues", annot=True, fmt=".0f",
                    annot_kws={"fontsize": SMALLEST}, xticklabels=names, yticklabels=names, square=True,
                    cbar_kws={"label": "% of the class's images", "shrink": 0.8})
        axis.tick_params(labelsize=SMALLEST)
        axis.tick_params(axis="y", rotation=0)
        axis.set(title=title, xlabel="answered", ylabel="true class")
        kept += [{"panel": title, "true class": names[one], "answered": names[other], "%": 100 * share.loc[one, other]}
                 for one in classes for other in classes if one != other]
    return handover.keep(figure, kept)


def mask_picture(topologies: Mapping[str, Topology]) -> Figure:
    """The adjacency matrix of each topology, sources in rows (in the paper: in columns, see the ambiguity log), with
    the names of the groups. A large one is drawn in blocks, shaded by the root of their share of edges.
    """
    figure, axes = _panels(len(topologies), 3, 3.4, 2.9)
    for axis, (title, topology) in zip(axes, topologies.items(), strict=True):
        share = avg_pool2d(topology.mask()[None].float(), block := -(-topology.n // PIXELS), ceil_mode=True)[0].numpy()
        ends = len(share) * block - 0.5
        axis.imshow(share, cmap=DENSITY, norm=PowerNorm(0.5, 0, 1), extent=(-0.5, ends, ends, -0.5))
        slices = {name: topology.slice(name) for name in topology.groups}
        for group in list(slices.values())[1:]:
            axis.axhline(group.start - 0.5, color="0.6", linewidth=0.6)
            axis.axvline(group.start - 0.5, color="0.6", linewidth=0.6)
        centres = {name: (group.start + group.stop - 1) / 2 for name, group in reversed(slices.items())}
        heights = _apart([1 - (centre + 0.5) / (ends + 0.5) for centre in centres.values()], THIN)
        for height, (name, centre) in zip(heights, centres.items(), strict=True):
            axis.annotate(name, (0, centre), xycoords=("axes fraction", "data"), xytext=(-0.1, height),
                          textcoords="axes fraction", ha="right", va="center", fontsize=SMALLEST,
                          arrowprops={"arrowstyle": "-", "color": "0.6", "linewidth": 0.6, "shrinkA": 0, "shrinkB": 0})
        axis.set(title=title, xlabel="target vertex", ylabel="source vertex", xticks=[], yticks=[])
        axis.yaxis.set_label_coords(-0.44, 0.5)
        axis.grid(False)
    return figure


def graph_picture(graph: PCGraph, names: Sequence[str], clamped: Sequence[int] = ()) -> Figure:
    """A small graph drawn from the object: vertices, directed edges and weights. Clamped vertices are filled."""
    if len(names) != graph.topology.n:
        raise WrongShape(f"{len(names)} names for {graph.topology.n} vertices.")
    drawn, weight = nx.from_numpy_array(graph.topology.mask().numpy(), create_using=nx.DiGraph), graph.weight
    figure, axis = plt.subplots(figsize=(4.2, 3.4))
    place = nx.circular_layout(drawn)
    colors = [COLORS[1] if k in clamped else "white" for k in drawn]
    nx.draw_networkx(drawn, place, labels=dict(enumerate(names)), font_size=11, node_color=colors, edgecolors="black",
                     node_size=1100, connectionstyle="arc3,rad=0.12", arrowsize=16, ax=axis)
    nx.draw_networkx_edge_labels(drawn, place, {(j, i): f"{float(weight[j, i]):.2f}" for j, i in drawn.edges},
                                 font_size=9, label_pos=0.4, connectionstyle="arc3,rad=0.12", ax=axis)
    axis.margins(0.25)
    axis.axis("off")
    return figure


def network_picture(topologies: Mapping[str, Topology]) -> Figure:
    """Every edge of small topologies as a line, in layers if there are no cycles, else in a spring layout."""
    figure, axes = _panels(len(topologies), 9, 4.6, 4.0)
    for axis, (title, topology) in zip(axes, topologies.items(), strict=True):
        drawn = nx.from_numpy_array(topology.mask().numpy(), create_using=nx.DiGraph)
        if nx.is_directed_acyclic_graph(drawn):
            place = nx.multipartite_layout(drawn, dict(enumerate(nx.topological_generations(drawn))))
        else:
            place = nx.spring_layout(drawn, seed=0)
        colors = [COLORS[k % 10] for k, name in enumerate(topology.groups) for _ in range(topology.size(name))]
        nx.draw_networkx_nodes(drawn, place, node_color=colors, node_size=70, edgecolors="white", linewidths=0.6,
                               ax=axis)
        nx.draw_networkx_edges(drawn, place, arrows=False, edge_color="0.45", width=0.5, alpha=0.7, ax=axis)
        axis.set_title(title)
        axis.axis("off")
    return figure


def lines_drawn(axis: Axes) -> set[tuple[int, int]]:
    """The edges (source, target) that ``network_picture`` drew on an axis, read from the ends of its lines."""
    dots = next(part for part in axis.collections if isinstance(part, PathCollection)).get_offsets()
    lines = next(part for part in axis.collections if isinstance(part, LineCollection)).get_segments()
    ends = np.array([(line[0], line[-1]) for line in lines])               # (edges, 2, 2)
    nearest = np.square(ends[:, :, None] - np.asarray(dots)).sum(-1).argmin(-1)
    return set(map(tuple, nearest.tolist()))


def circuit_picture(circuits: Mapping[str, Circuit], around: bool = False) -> Figure:
    """Neurons and wires: excitatory ones end in an arrow, inhibitory ones in a bar. ``around``: on a circle."""
    size = (5.4, 5.0) if around else (7.6, 3.1)
    figure, axes = _panels(len(circuits), 1, *size)
    for axis, (title, circuit) in zip(axes, circuits.items(), strict=True):
        place = {neuron: _neuron_at(neuron, circuit.vertices, around) for neuron in circuit.neurons()}
        neurons = nx.empty_graph(place)
        for wire in circuit.wires:
            axis.add_patch(_arrow(wire, place))
        for kind in ("value", *circuit.kinds):
            nx.draw_networkx_nodes(neurons, place, [neuron for neuron in place if neuron[0] == kind], ax=axis,
                                   node_color=FILLS[kind], node_shape="s" if kind == "interneuron" else "o",
                                   node_size=520, edgecolors="black")
        nx.draw_networkx_labels(neurons, place, {(kind, i): f"${SYMBOLS[kind]}_{i + 1}$" for kind, i in place}, ax=axis)
        axis.set(title=title, aspect="equal")
        axis.margins(0.16)
        axis.axis("off")
    ends = [Line2D([], [], color=WIRES[True], marker=">", label="excitatory"),
            Line2D([], [], color=WIRES[False], marker="|", markersize=9, label="inhibitory")]
    figure.legend(handles=ends, loc="outside lower center", ncols=2, fontsize="small")
    return figure


def _arrow(wire: Wire, place: Mapping[Neuron, tuple[float, float]]) -> FancyArrowPatch:
    """A wire between two neurons, or a loop on the left of one. Its gid names them."""
    excites, ends = wire.weight > 0, [place[wire.source], place[wire.target]]
    look: dict[str, Any] = {"connectionstyle": "arc3,rad=0.13", "shrinkA": 13, "shrinkB": 13}
    if wire.source == wire.target:
        x, y = ends[0]
        ends, look = [(x - 0.13, y + 0.12), (x - 0.13, y - 0.12)], {"connectionstyle": "arc3,rad=2"}
    style = "-|>,head_length=0.5,head_width=0.26" if excites else "-[,widthB=0.45,lengthB=0.001"
    return FancyArrowPatch(*ends, arrowstyle=style, color=WIRES[excites], linewidth=1.3, mutation_scale=10,
                           gid="{} {} to {} {}".format(*wire.source, *wire.target), **look)


def wires_drawn(axis: Axes) -> set[tuple[Neuron, Neuron, bool]]:
    """The wires on an axis of ``circuit_picture``: source, target, and whether the wire ends in an arrow."""
    found = set()
    for patch in (one for one in axis.patches if isinstance(one, FancyArrowPatch)):
        ends = [tuple(end.split()) for end in str(patch.get_gid()).split(" to ")]
        source, target = ((kind, int(vertex)) for kind, vertex in ends)
        found.add((source, target, isinstance(patch.get_arrowstyle(), ArrowStyle.CurveFilledB)))
    return found


def landscape(graph: PCGraph, start: Tensor, free: tuple[int, int], paths: Mapping[str, Tensor],
              names: Sequence[str]) -> Figure:
    """The energy over two free vertices, the others held at ``start`` ``(n,)``, and paths ``(steps, n)`` of queries."""
    axis_values = torch.linspace(-1.5, 1.5, 121, dtype=graph.dtype)
    grid = start.repeat(121 * 121, 1)
    grid[:, free[::-1]] = torch.cartesian_prod(axis_values, axis_values)   # the second vertex in rows
    energy = graph.energy(grid).reshape(121, 121)
    figure, axis = plt.subplots(figsize=(5.2, 4.2))
    filled = axis.contourf(axis_values, axis_values, energy.clamp_min(1e-4).log10(), levels=24, cmap="Blues_r")
    figure.colorbar(filled, label="log10 of the energy E")
    for k, (name, path) in enumerate(paths.items()):
        axis.plot(path[:, free[0]], path[:, free[1]], ".-", markersize=3, linewidth=1, color=COLORS[k + 1], label=name)
        axis.plot(*path[-1, list(free)], "o", color=COLORS[k + 1], markeredgecolor="black")
    x, y = (f"value of {names[k]}" for k in free)
    axis.set(xlabel=x, ylabel=y)
    legend(figure, *axis.get_legend_handles_labels())
    return handover.keep(figure, [{"series": name, x: float(state[free[0]]), y: float(state[free[1]])}
                                for name, path in paths.items() for state in path])


def _panels(count: int, most: int, width: float, height: float, margin: float = 0.0,
          **shared: Any) -> tuple[Figure, list[Axes]]:
    """A figure of ``count`` panels of ``width`` by ``height`` inches, ``most`` in a row. Raises BadInput: no panel."""
    if not count:
        raise BadInput("a figure needs at least one panel.")
    columns = min(most, count)
    rows = -(-count // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(margin + width * columns, height * rows), squeeze=False,
                                **shared)
    for axis in axes.flat[count:]:
        axis.remove()
    for axis in axes.flat[max(0, count - columns):count]:                  # the lowest of each column
        axis.tick_params(labelbottom=True)
    return figure, list(axes.flat[:count])


def _neuron_at(neuron: Neuron, vertices: int, around: bool) -> tuple[float, float]:
    kind, i = neuron
    if not around:
        return 2.3 * i + PLACES[kind][0], PLACES[kind][1]
    angle, radius = np.pi / 2 - 2 * np.pi * i / vertices, 2.0 if kind == "value" else 0.85
    return radius * float(np.cos(angle)), radius * float(np.sin(angle))


def _lines(axis: Axes, panel: str, lines: Lines, x: str, y: str, levels: Mapping[str, float], log: bool, log_x: bool,
           colors: Sequence = COLORS, marks: Mapping[str, float] = {}) -> list[dict[str, object]]:
    """Draw lines, bands from minimum to maximum of repeats, upright marks and dashed levels. Returns their numbers."""
    rows = []
    for k, (name, (at, measured)) in enumerate(lines.items()):
        values, color = _numbers(measured).reshape(len(at), -1), colors[k % len(colors)]
        axis.plot(at, values.mean(1), color=color, label=name, **_shape(k))
        if values.shape[1] > 1:
            axis.fill_between(at, values.min(1), values.max(1), color=color, alpha=0.2, linewidth=0,
                              label=f"_{name}")
        for place, repeats in zip(at, values, strict=True):
            band = {"low": repeats.min(), "high": repeats.max()} if len(repeats) > 1 else {}
            rows.append({"panel": panel, "series": name, x: float(place), y: repeats.mean()} | band)
    for name, position in marks.items():
        axis.axvline(position, color="0.35", linestyle=(0, (6, 2, 1, 2, 1, 2)), linewidth=1.2, label=name)
    for k, (name, height) in enumerate(levels.items()):
        axis.axhline(height, color="0.35", linestyle=["--", ":", "-."][k % 3], linewidth=1.2, label=name)
    axis.set(yscale="log" if log else "linear")
    if log and (limits := axis.get_ylim())[1] < 300 * limits[0]:           # else powers of ten
        _plain_numbers(axis.yaxis)
    _scale(axis, {float(place) for at, _ in lines.values() for place in at}, log_x)
    rows += [{"panel": panel, "series": name, y: height} for name, height in levels.items()]
    return rows + [{"panel": panel, "series": name, x: position} for name, position in marks.items()]


def _shape(k: int) -> dict[str, Any]:
    """Shapes on the k-th of several lines, a tenth of the axes apart and not where its neighbours have theirs."""
    return {"marker": SHAPES[k % len(SHAPES)], "markersize": 5, "markevery": (0.03 * k % 0.1, 0.1)}


def _shapes(column: str, names: Sequence[object]) -> dict[str, Any]:
    """A shape for each name in a column, for seaborn."""
    return {"style": column, "style_order": list(names), "markers": dict(zip(names, cycle(SHAPES[1:])))}


def _scale(axis: Axes, places: Set[float], log: bool) -> None:
    """Scale and label the x axis of some places: logarithmic, or with whole numbers if all places are."""
    if not log or places == {0}:
        whole, locator = all(place.is_integer() for place in places), axis.xaxis.get_major_locator()
        locator.set_params(integer=whole)  # type: ignore[call-arg]  # a MaxNLocator
        return
    if 0 in places:
        axis.set_xscale("symlog", linthresh=(least := min(places - {0})), linscale=0.9)    # as wide as a power of ten
        axis.set_xlim(-least / 2, 1.5 * max(places))
    else:
        axis.set_xscale("log")
    _plain_numbers(axis.xaxis)


def _plain_numbers(axis: Axis) -> None:
    """Label a logarithmic axis with plain numbers: 0.2 and 100 instead of powers of ten."""
    low, high = axis.get_view_interval()
    if low > 0:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5) if low >= 0.01 and high < 300 * low else (1,)))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_locator(NullLocator())


def _numbers(values: Tensor | Sequence[float]) -> np.ndarray:
    return np.asarray(torch.as_tensor(values).detach().cpu(), dtype=float)


def _pictures(images: Tensor, shape: tuple[int, ...] | None) -> np.ndarray:
    """Images ``(count, ...)`` as ``(count, height, width)``, or colours in [0, 1] as ``(count, height, width, 3)``."""
    if images.dim() > 2:
        shape, images = shape or tuple(images.shape[1:]), images.flatten(1)
    if shape is None:
        pixels = images.shape[1]
        sides = [(side, side) for planes in (1, 3) if (side := math.isqrt(pixels // planes)) ** 2 * planes == pixels]
        if not sides:
            raise WrongShape(f"pictures of {pixels} pixels are not square, grey or in three colours; give "
                             "shape=(height, width).")
        shape = sides[0]
    pictures = np.asarray(images.detach().cpu()).reshape(len(images), -1, *shape[-2:])
    return pictures[:, 0] if pictures.shape[1] == 1 else pictures.transpose(0, 2, 3, 1).clip(0, 1)


def facets(frame: pd.DataFrame, x: str, y: str, panel: str, color: str,
           labels: Mapping[str, str] | None = None, levels: Mapping[str, Mapping[str, float]] | None = None) -> Figure:
    """Small multiples with a y axis each: one point per row of ``frame``. Means of each colour are joined where x is a
    number, also one in words. Where it is a category, it stands on the y axis, and means are bars. ``panel`` and
    ``color`` name columns of words; if there are more words than colours and no two panels share one, each panel has a
    legend. ``x`` and ``y`` label the axes; a unit at the end of a panel's title takes the place of ``y``. ``labels``:
    panel -> its own label of the y axis; such panels stand below one another. ``levels``: panel -> name -> height of a
    dashed line.
    """
    numbers, joined = pd.api.types.is_numeric_dtype(frame[x]), pd.to_numeric(frame[x], errors="coerce").notna().all()
    figure, axes = _panels(frame[panel].nunique(), *((1, PHONE, 1.3) if labels else (3, 3.4, 2.5)), sharex=bool(labels))
    many = frame[color].nunique() > len(COLORS)
    own = many and frame.groupby(color)[panel].nunique().max() == 1
    order = frame[color].drop_duplicates().sort_values(key=partial(pd.to_numeric, errors="coerce"), kind="stable")
    look = {"x": x, "y": y, "hue": color, "hue_order": list(order),        # numbers by size, words as they come
            "palette": "husl" if many and not own else "colorblind"}
    for axis, (title, part) in zip(axes, frame.groupby(panel, sort=False), strict=True):
        named = _points(axis, part, joined, look | ({"hue_order": part[color].unique()} if own else {}))
        if own:
            axis.legend(*named, fontsize=SMALLEST, loc="upper center", bbox_to_anchor=(0.5, -0.42), ncols=2)
        _title(axis, str(title).replace("\n", ": "), 46 if labels else 31, "y" if joined else "x")
        dashed = _dashed(axis, (levels or {}).get(title, {}))
        frame = pd.concat([frame, dashed.set_axis([color, y], axis=1).assign(**{panel: title})])
        if labels:
            axis.set_ylabel(labels[title], fontsize="small")
            axis.label_outer()
        else:
            unit = UNIT.search(str(title))
            axis.set(**{"ylabel" if joined else "xlabel": (unit[1] or unit[2]) if unit else y})
        if numbers:
            axis.set_xscale("log")
            _plain_numbers(axis.xaxis)
    if not own:
        legend(figure, *named, color)
    return handover.keep(figure, frame[list(dict.fromkeys((panel, color, x, y)))])


def _points(axis: Axes, part: pd.DataFrame, joined: bool, look: dict[str, Any]) -> tuple[list[Any], list[str]]:
    """Draw every row, and means, joined or as bars, by ``look`` of seaborn. Returns handles and names of a legend."""
    draw = sns.lineplot if joined else partial(sns.scatterplot, marker="|", s=400, linewidth=2)
    means = part.groupby([look["hue"], look["x"]], sort=False)[look["y"]].mean().reset_index()
    look = look if joined else look | {"x": look["y"], "y": look["x"]}
    draw(means, ax=axis, legend=False, **look)
    axis.yaxis.set_inverted(not joined)                                    # the first category on top
    sns.scatterplot(part, s=28, ax=axis, **look, **_shapes(look["hue"], look["hue_order"]))
    named = axis.get_legend_handles_labels()
    axis.get_legend().remove()  # type: ignore[union-attr]  # seaborn made one
    return named


def _dashed(axis: Axes, levels: Mapping[str, float]) -> pd.DataFrame:
    """Draw dashed lines with their names, below a line where nothing lies below it. Returns names and heights."""
    axis.margins(y=0.25 if levels else None)                               # room for the names
    lowest = axis.dataLim.ymin
    for name, height in levels.items():
        axis.axhline(height, color="0.35", linestyle="--", linewidth=1.2)
        low = height < lowest
        axis.annotate(name, (1, height), (-2, -2 if low else 2), ("axes fraction", "data"), "offset points", ha="right",
                      va="top" if low else "bottom", fontsize="x-small")
    return pd.DataFrame(levels.items(), columns=["name", "height"])


def _title(axis: Axes, title: str, wide: int, scores: str) -> None:
    """Give a panel of ``facets`` a title in lines so wide, its axis of scores room, and no label above 100 %."""
    axis.set_title(textwrap.fill(title.replace(" (", "\N{NO-BREAK SPACE}("), wide))      # units stay with their words
    axis.margins(x=0.12 if scores == "x" else None, y=0.12)
    low, high = getattr(axis, f"get_{scores}lim")()
    if "%" in title:
        ticks = [tick for tick in getattr(axis, f"get_{scores}ticks")() if low <= tick <= min(high, 100)]
        axis.set(**{f"{scores}ticks": ticks, f"{scores}lim": (low, high)})
