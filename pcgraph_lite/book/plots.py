"""Every figure style of the book in one place. Each function returns a matplotlib figure with labelled axes."""

import math
from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import pandas as pd
import seaborn as sns
import torch
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import ArrowStyle, FancyArrowPatch
from torch import Tensor
from torchmetrics.functional.classification import multiclass_confusion_matrix

from ..engine.graph import PCGraph
from ..engine.topology import Topology
from ..errors import BadInput, WrongShape
from ..images import datasets, metrics
from ..studies.circuits import Circuit, Neuron
from ..studies.trials import Case, Key, Trial

COLORS = sns.color_palette("deep")
# Where the neurons of a vertex sit around it, what they are called, and their colour.
PLACES = {"value": (0, 0), "error": (0.25, 0.9), "apical": (0, 1.1), "basal": (0, -0.9), "interneuron": (-1.15, -0.1)}
SYMBOLS = {"value": "x", "error": r"\varepsilon", "apical": "a", "basal": "b", "interneuron": "m"}
FILLS = {"value": "white", "error": COLORS[1], "apical": COLORS[9], "basal": COLORS[8], "interneuron": COLORS[4]}


def use_style() -> None:
    """Fonts, grid and resolution of all figures."""
    sns.set_theme(context="notebook", style="whitegrid", palette="deep")
    plt.rcParams.update({"figure.dpi": 110, "savefig.bbox": "tight", "axes.titlesize": "medium",
                         "figure.constrained_layout.use": True, "image.cmap": "gray_r"})


def image_rows(rows: Mapping[str, Tensor], shape: tuple[int, ...] | Mapping[str, tuple[int, ...]] = (28, 28),
               columns: Sequence[str] = (), marks: Mapping[str, Sequence[bool]] | None = None) -> Figure:
    """Pictures in rows, one row a name, one column an example; values beyond [0, 1] are cut off.

    Args:
        rows: name -> ``(count, pixels)``.
        shape: of all pictures, or of each row: (height, width), drawn with white as 0 and black as 1, or (channels,
            height, width) with one channel, drawn alike, or three, drawn in colour.
        columns: titles of the columns.
        marks: name -> for each picture of that row whether to frame it in green (True) or red (False).
    """
    shapes = shape if isinstance(shape, Mapping) else dict.fromkeys(rows, shape)
    pictures = {name: _pictures(images, shapes[name]) for name, images in rows.items()}
    if len({len(p) for p in pictures.values()}) != 1:
        raise WrongShape(f"rows differ in length: { {name: len(p) for name, p in pictures.items()} }.")
    count = len(next(iter(pictures.values())))
    figure, axes = plt.subplots(len(rows), count, figsize=(0.72 * count + 1.3, 0.78 * len(rows) + 0.3), squeeze=False)
    for line, (name, images) in zip(axes, pictures.items(), strict=True):
        for k, (axis, image) in enumerate(zip(line, images, strict=True)):
            axis.imshow(image, vmin=0, vmax=1)
            _frame(axis, None if marks is None or name not in marks else bool(marks[name][k]))
        line[0].set_ylabel(name, rotation=0, ha="right", va="center", fontsize="small")
    for axis, title in zip(axes[0], columns, strict=False):
        axis.set_title(title, fontsize="small")
    return figure


def trials(rows: Mapping[str, Tensor | Trial], count: int = 10, columns: Sequence[str] = ()) -> Figure:
    """The first pictures of trials and of plain images in rows; those of trials framed by whether they agree.

    Args:
        rows: name -> a trial, or images ``(batch, pixels)``.
        count: how many of each: the first ones drawn, not chosen.
    """
    pictures = {name: (row.images if isinstance(row, Trial) else row)[:count] for name, row in rows.items()}
    marks = {name: row.each["agrees"][:count].tolist() for name, row in rows.items() if isinstance(row, Trial)}
    shapes = {math.prod(shape): shape for shape in datasets.SHAPES.values()}
    return image_rows(pictures, {name: shapes[images.shape[1]] for name, images in pictures.items()}, columns, marks)


def gallery(rows: Mapping[Key, Tensor | Trial], cases: Mapping[str, Case], words: Mapping[str, str],
            count: int = 10) -> Figure:
    """The same for each data set in turn, and the originals: rows by (dataset, model, seed), those of the lowest seed.

    Args:
        cases: by data set; their test images are the originals.
        words: what data sets and models are called, where not by their own names.
    """
    seed, names = min(key[2] for key in rows), dict.fromkeys(key[0] for key in rows)
    rows = dict(rows) | {(name, "original", seed): cases[name].test.images for name in names}
    return trials({f"{words.get(name, name)}: {words.get(key[1], key[1])}": row for name in names
                   for key, row in rows.items() if (key[0], key[2]) == (name, seed)}, count)


def curves(lines: Mapping[str, tuple[Sequence[float], Tensor]], x: str, y: str, *, log: bool = False,
           log_x: bool = False, levels: Mapping[str, float] | None = None,
           marks: Mapping[str, float] | None = None) -> Figure:
    """Lines with a band: name -> (positions, ``(positions,)`` or ``(positions, repeats)``), mean and min to max.

    Args:
        x, y: axis labels with units.
        log, log_x: logarithmic y and x axis.
        levels: name -> height of a dashed line to compare with.
        marks: name -> position of an upright dashed line.
    """
    figure, axis = plt.subplots(figsize=(6.4, 3.8))
    _lines(axis, lines)
    for name, position in (marks or {}).items():
        axis.axvline(position, color="0.35", linestyle="--", linewidth=1.2, label=name)
    for k, (name, height) in enumerate((levels or {}).items()):
        axis.axhline(height, color="0.35", linestyle=["--", ":", "-."][k % 3], linewidth=1.2, label=name)
    axis.set(xlabel=x, ylabel=y, yscale="log" if log else "linear")
    if log_x:
        axis.set_xscale("log")
    else:
        axis.xaxis.get_major_locator().set_params(integer=True)
    axis.legend(fontsize="small")
    return figure


def lines(frame: pd.DataFrame, by: str, x: str, y: str) -> dict[str, tuple[list[float], Tensor]]:
    """Lines for ``curves`` from a frame, one row a seed: each ``by`` -> its ``x``, and ``y`` ``(positions, seeds)``."""
    grids = {name: part.pivot(index=x, columns="seed", values=y) for name, part in frame.groupby(by, sort=False)}
    return {name: (grid.index.tolist(), torch.tensor(grid.to_numpy())) for name, grid in grids.items()}


def counts(parts: Mapping[str, Mapping[str, Mapping[int, Sequence[float]]]], x: str, y: str) -> Figure:
    """Bars of how many of a number: mean over repeats with a line from min to max, in an outline of the number itself.

    Args:
        parts: title of a panel -> name of a colour -> number -> counts of repeats, each at most the number.
        x, y: axis labels.
    """
    if not parts:
        raise BadInput("counts needs at least one panel.")
    figure, axes = _grid(len(parts), 2, 4.6, 3.1)
    for axis, (title, groups) in zip(axes, parts.items(), strict=True):
        numbers, wide = sorted({number for bars in groups.values() for number in bars}), 0.8 / len(groups)
        for k, (name, bars) in enumerate(groups.items()):
            at = [numbers.index(number) + (k - (len(groups) - 1) / 2) * wide for number in bars]
            mean = [sum(values) / len(values) for values in bars.values()]
            reach = [[m - min(values) for m, values in zip(mean, bars.values(), strict=True)],
                     [max(values) - m for m, values in zip(mean, bars.values(), strict=True)]]
            axis.bar(at, list(bars), wide * 0.92, fill=False, edgecolor="0.7", linewidth=0.8)
            axis.bar(at, mean, wide * 0.92, color=COLORS[k], label=name, yerr=reach, error_kw={"linewidth": 1})
        axis.set_xticks(range(len(numbers)), [str(number) for number in numbers])
        axis.set(title=title, xlabel=x, ylabel=y)
        axis.legend(fontsize="x-small", loc="upper left")
    return figure


def roc(scores: Mapping[str, Tensor], positive: Tensor) -> Figure:
    """ROC curves of several scores of the same examples, the first one in grey, with their areas in the legend.

    Args:
        scores: name -> ``(batch,)``, higher means more positive.
        positive: ``(batch,)`` bool.
    """
    figure, axis = plt.subplots(figsize=(4.6, 4.2))
    axis.plot([0, 1], [0, 1], color="0.8", linewidth=1, linestyle=":")
    for color, (name, values) in zip(["0.5", *COLORS], scores.items(), strict=False):
        axis.plot(*metrics.roc(values, positive), color=color, label=f"{name}: {metrics.auroc(values, positive):.3f}")
    axis.set(xlabel="share of familiar images called foreign", ylabel="share of foreign images found", aspect="equal")
    axis.legend(fontsize="small", loc="lower right", title="area", title_fontsize="small")
    return figure


def panels(parts: Mapping[str, Mapping[str, tuple[Sequence[float], Tensor]]], x: str, y: str,
           levels: Mapping[str, Mapping[str, float]] | None = None, *, log: bool = False, log_x: bool = False,
           one_legend: bool = False) -> Figure:
    """Small multiples on common axes: title -> lines as in ``curves``; the first line of each part is drawn in grey.

    Args:
        x, y: axis labels with units.
        levels: title -> name -> height of a dashed line in that part.
        log, log_x: logarithmic y and x axes.
        one_legend: above the whole figure, that of the first part, instead of one in each.
    """
    if not parts:
        raise BadInput("panels needs at least one part.")
    figure, axes = _grid(len(parts), 3, 3.5, 2.9, common=True)
    for axis, (title, lines) in zip(axes, parts.items(), strict=True):
        _lines(axis, lines, ["0.35", *COLORS])
        for k, (name, height) in enumerate((levels or {}).get(title, {}).items()):
            axis.axhline(height, color="0.35", linestyle=[":", "--", "-."][k % 3], linewidth=1.2, label=name)
        axis.set(title=title, yscale="log" if log else "linear", xscale="log" if log_x else "linear")
        if log_x:
            axis.xaxis.set_minor_formatter("")                             # labels at powers of ten alone
        else:
            axis.xaxis.get_major_locator().set_params(integer=True)
        if not one_legend:
            axis.legend(fontsize="x-small", loc="best" if log else "lower right")
    if one_legend:
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3, fontsize="x-small")
    figure.supxlabel(x, fontsize="medium")
    figure.supylabel(y, fontsize="medium")
    return figure


def differences(measures: Mapping[str, Mapping[str, Tensor]], less_is_better: Sequence[str] = ()) -> Figure:
    """What each setting changes: one column a measure, one row a setting, one dot a seed and a bar at their mean.

    Args:
        measures: axis label -> setting -> ``(seeds,)`` differences to the base; every measure has the same settings.
        less_is_better: labels of measures whose better side, which is shaded, is the left one.
    """
    if not measures:
        raise BadInput("differences needs at least one measure.")
    settings = list(next(iter(measures.values())))
    figure, axes = plt.subplots(1, len(measures), figsize=(2.6 + 2.7 * len(measures), 0.27 * len(settings) + 1),
                                squeeze=False, sharey=True)
    for axis, (label, values) in zip(axes.flat, measures.items(), strict=True):
        axis.axvline(0, color="0.35", linewidth=1)
        for k, setting in enumerate(settings):
            dots = np.asarray(torch.as_tensor(values[setting]).cpu(), dtype=float)
            axis.plot(dots, [k] * len(dots), "o", color=COLORS[0], markersize=4, alpha=0.8)
            axis.plot(dots.mean(), k, "|", color="black", markersize=11)
        low, high = axis.get_xlim()
        axis.axvspan(*((low, 0) if label in less_is_better else (0, high)), color=COLORS[2], alpha=0.1, zorder=0)
        axis.set(xlabel=label, xlim=(low, high))
    axes[0, 0].set_yticks(range(len(settings)), settings, fontsize="x-small")
    axes[0, 0].set_ylim(len(settings) - 0.5, -0.5)
    return figure


def dots(parts: Mapping[str, Mapping[str, Tensor]], x: str,
         marks: Mapping[str, Mapping[str, float]] | None = None) -> Figure:
    """One column a part, one row a name, one dot a repeat, on a common axis.

    Args:
        parts: title -> name -> ``(repeats,)``; every part has the same names.
        x: axis label with its unit.
        marks: title -> name -> a published value, drawn as a black bar.
    """
    if not parts:
        raise BadInput("dots needs at least one part.")
    names = list(next(iter(parts.values())))
    figure, axes = plt.subplots(1, len(parts), figsize=(1.9 + 3.3 * len(parts), 0.36 * len(names) + 1.4), squeeze=False,
                                sharey=True, sharex=True)
    for axis, (title, rows) in zip(axes.flat, parts.items(), strict=True):
        for k, name in enumerate(names):
            values = np.asarray(torch.as_tensor(rows[name]).cpu(), dtype=float)
            axis.plot(values, [k] * len(values), "o", color=COLORS[0], markersize=5, alpha=0.7,
                      label="ours, one dot a seed" if k == 0 else None)
        for k, (name, value) in enumerate((marks or {}).get(title, {}).items()):
            axis.plot(value, names.index(name), "|", color="black", markersize=15, markeredgewidth=2,
                      label="the paper's" if k == 0 else None)
        axis.set(xlabel=x, title=title)
    axes[0, 0].set_yticks(range(len(names)), names, fontsize="small")
    axes[0, 0].set_ylim(len(names) - 0.5, -0.5)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=2, fontsize="x-small")
    return figure


def mistakes(parts: Mapping[str, tuple[Tensor, Tensor, Sequence[str]]]) -> Figure:
    """Confusion matrices without their diagonal, in per cent of the true class.

    Args:
        parts: title -> predicted ``(count,)`` int, true ``(count,)`` int, and the names of the classes.
    """
    if not parts:
        raise BadInput("mistakes needs at least one part.")
    figure, axes = plt.subplots(1, len(parts), figsize=(4.9 * len(parts), 4.3), squeeze=False)
    for axis, (title, (predicted, true, names)) in zip(axes.flat, parts.items(), strict=True):
        share = multiclass_confusion_matrix(predicted, true, len(names), normalize="true").numpy()
        sns.heatmap(100 * share, mask=np.eye(len(names), dtype=bool), ax=axis, cmap="Blues", annot=True, fmt=".0f",
                    annot_kws={"fontsize": "xx-small"}, xticklabels=names, yticklabels=names, square=True,
                    cbar_kws={"label": "% of the class's images", "shrink": 0.8})
        axis.tick_params(labelsize="x-small")
        axis.set(title=title, xlabel="answered", ylabel="true class")
    return figure


def mask_picture(topologies: Mapping[str, Topology]) -> Figure:
    """The adjacency matrix of each topology, rows are sources, with its groups named along the rows.

    The paper's mask figure has sources in its columns (ambiguity log, point 15).
    """
    if not topologies:
        raise BadInput("mask_picture needs at least one topology.")
    figure, axes = _grid(len(topologies), 3, 3.2, 3.4)
    for axis, (title, topology) in zip(axes, topologies.items(), strict=True):
        axis.imshow(topology.mask().numpy(), cmap=ListedColormap(["#f2f2f2", COLORS[0]]), interpolation="antialiased",
                    vmin=0, vmax=1)
        cuts = [topology.slice(name) for name in topology.groups]
        for cut in cuts[1:]:
            axis.axhline(cut.start - 0.5, color="0.6", linewidth=0.6)
            axis.axvline(cut.start - 0.5, color="0.6", linewidth=0.6)
        large = [(name, cut) for name, cut in zip(topology.groups, cuts, strict=True)
                 if cut.stop - cut.start > 0.04 * topology.n]
        centres = [(cut.start + cut.stop - 1) / 2 for _, cut in large]
        axis.set_yticks(centres, [name for name, _ in large], fontsize="x-small")
        axis.set_xticks(centres, [name for name, _ in large], fontsize="x-small", rotation=90)
        axis.grid(False)
        axis.set(title=title, xlabel="target vertex", ylabel="source vertex")
    return figure


def graph_picture(graph: PCGraph, names: Sequence[str], clamped: Sequence[int] = ()) -> Figure:
    """A small graph drawn from the object: vertices, directed edges and their weights; clamped vertices are filled."""
    if len(names) != graph.topology.n:
        raise WrongShape(f"{len(names)} names for {graph.topology.n} vertices.")
    drawn, weight = nx.DiGraph(), graph.weight
    drawn.add_nodes_from(range(graph.topology.n))
    drawn.add_edges_from(tuple(edge) for edge in graph.topology.mask().nonzero().tolist())
    figure, axis = plt.subplots(figsize=(4.2, 3.4))
    place = nx.circular_layout(drawn)
    colors = [COLORS[1] if k in clamped else "white" for k in drawn]
    nx.draw_networkx_nodes(drawn, place, node_color=colors, edgecolors="black", node_size=1100, ax=axis)
    nx.draw_networkx_labels(drawn, place, dict(enumerate(names)), font_size=11, ax=axis)
    nx.draw_networkx_edges(drawn, place, node_size=1100, connectionstyle="arc3,rad=0.12", arrowsize=16, ax=axis)
    nx.draw_networkx_edge_labels(drawn, place, {(j, i): f"{float(weight[j, i]):.2f}" for j, i in drawn.edges},
                                 font_size=9, label_pos=0.4, connectionstyle="arc3,rad=0.12", ax=axis)
    axis.margins(0.25)
    axis.axis("off")
    return figure


def network_picture(topologies: Mapping[str, Topology]) -> Figure:
    """Every edge of small topologies as a line: layers side by side where there are no cycles, else springs.

    Vertices have the colour of their group; layers stand in the order of the edges.
    """
    figure, axes = plt.subplots(1, len(topologies), figsize=(4.6 * len(topologies), 4.0), squeeze=False)
    for axis, (title, topology) in zip(axes.flat, topologies.items(), strict=True):
        drawn = nx.DiGraph()
        drawn.add_nodes_from(range(topology.n))
        drawn.add_edges_from(tuple(edge) for edge in topology.mask().nonzero().tolist())
        place = _layers(drawn) if nx.is_directed_acyclic_graph(drawn) else nx.spring_layout(drawn, seed=0)
        groups = {k: number for number, name in enumerate(topology.groups)
                  for k in range(topology.slice(name).start, topology.slice(name).stop)}
        nx.draw_networkx_nodes(drawn, place, node_color=[COLORS[groups[k] % 10] for k in drawn], node_size=70,
                               edgecolors="white", linewidths=0.6, ax=axis)
        nx.draw_networkx_edges(drawn, place, arrows=False, edge_color="0.45", width=0.5, alpha=0.7, ax=axis)
        axis.set_title(title)
        axis.axis("off")
    return figure


def lines_drawn(axis: Axes) -> set[tuple[int, int]]:
    """The edges (source, target) that ``network_picture`` drew on an axis, read from where its lines begin and end."""
    dots = next(part for part in axis.collections if isinstance(part, PathCollection)).get_offsets()
    lines = next(part for part in axis.collections if isinstance(part, LineCollection)).get_segments()

    def vertex(point: np.ndarray) -> int:
        return int(np.square(np.asarray(dots) - point).sum(-1).argmin())

    return {(vertex(line[0]), vertex(line[-1])) for line in lines}


def circuit_picture(circuits: Mapping[str, Circuit], around: bool = False) -> Figure:
    """Neurons and wires: excitatory ones end in an arrow, inhibitory ones in a bar.

    Args:
        around: put the vertices on a circle, error neurons inwards, instead of side by side.
    """
    size = (5.4, 5.0) if around else (7.6, 3.1)
    figure, axes = plt.subplots(len(circuits), 1, figsize=(size[0], size[1] * len(circuits)), squeeze=False)
    for axis, (title, circuit) in zip(axes.flat, circuits.items(), strict=True):
        place = {neuron: _neuron_at(neuron, circuit.vertices, around) for neuron in circuit.neurons()}
        for wire in circuit.wires:
            axis.add_patch(_wire(wire.source, wire.target, wire.weight > 0, place))
        for (kind, i), at in place.items():
            axis.plot(*at, "o" if kind != "interneuron" else "s", markersize=23, color=FILLS[kind],
                      markeredgecolor="black", zorder=3)
            axis.text(*at, f"${SYMBOLS[kind]}_{i + 1}$", ha="center", va="center", zorder=4)
        axis.set(title=title, aspect="equal")
        axis.margins(0.16)
        axis.axis("off")
    ends = [Line2D([], [], color=_wire_color(True), marker=">", label="excitatory"),
            Line2D([], [], color=_wire_color(False), marker="|", markersize=9, label="inhibitory")]
    figure.legend(handles=ends, loc="outside lower center", ncols=2, fontsize="small")
    return figure


def wires_drawn(axis: Axes) -> set[tuple[Neuron, Neuron, bool]]:
    """The wires on an axis of ``circuit_picture``: source, target, and whether the end drawn is an arrow."""
    found = set()
    for patch in axis.patches:
        ends = [tuple(end.split()) for end in patch.get_gid().split(" to ")]
        source, target = ((kind, int(vertex)) for kind, vertex in ends)
        found.add((source, target, isinstance(patch.get_arrowstyle(), ArrowStyle.CurveFilledB)))
    return found


def landscape(graph: PCGraph, start: Tensor, free: tuple[int, int], paths: Mapping[str, Tensor], names: Sequence[str],
              reach: float = 1.5) -> Figure:
    """The energy over two free vertices, the others held at ``start`` ``(n,)``, and the paths of queries on it.

    Args:
        paths: name -> ``(steps, n)``.
    """
    axis_values = torch.linspace(-reach, reach, 121, dtype=graph.dtype)
    grid = start.repeat(121 * 121, 1)
    grid[:, free[0]], grid[:, free[1]] = (part.flatten() for part in torch.meshgrid(axis_values, axis_values,
                                                                                     indexing="xy"))
    energy = graph.energy(grid).reshape(121, 121)
    figure, axis = plt.subplots(figsize=(5.2, 4.2))
    filled = axis.contourf(axis_values, axis_values, energy.clamp_min(1e-4).log10(), levels=24, cmap="Blues_r")
    figure.colorbar(filled, label="log10 of the energy E")
    for k, (name, path) in enumerate(paths.items()):
        axis.plot(path[:, free[0]], path[:, free[1]], ".-", markersize=3, linewidth=1, color=COLORS[k + 1], label=name)
        axis.plot(*path[-1, list(free)], "o", color=COLORS[k + 1], markeredgecolor="black")
    axis.set(xlabel=f"value of {names[free[0]]}", ylabel=f"value of {names[free[1]]}")
    axis.legend(fontsize="small", loc="lower left")
    return figure


def _grid(count: int, most: int, width: float, height: float, common: bool = False) -> tuple[Figure, list[Axes]]:
    """A figure of ``count`` panels, each ``width`` by ``height`` inches, ``most`` in a row, with common axes or not."""
    columns = min(most, count)
    rows = -(-count // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(width * columns, height * rows), squeeze=False, sharex=common,
                                sharey=common)
    for axis in axes.flat[count:]:
        axis.remove()
    return figure, list(axes.flat[:count])


def _layers(graph: nx.DiGraph) -> dict[int, tuple[float, float]]:
    """Vertices of a graph without cycles in columns, each as far right as the longest way to it."""
    place = {}
    for column, layer in enumerate(nx.topological_generations(graph)):
        for k, vertex in enumerate(sorted(layer)):
            place[vertex] = (float(column), (k - (len(layer) - 1) / 2) / max(1, len(layer) - 1))
    return place


def _neuron_at(neuron: Neuron, vertices: int, around: bool) -> tuple[float, float]:
    """Where a neuron is drawn."""
    kind, i = neuron
    if not around:
        return 2.3 * i + PLACES[kind][0], PLACES[kind][1]
    angle, radius = np.pi / 2 - 2 * np.pi * i / vertices, 2.0 if kind == "value" else 0.85
    return radius * float(np.cos(angle)), radius * float(np.sin(angle))


def _wire(source: Neuron, target: Neuron, excites: bool,
          place: Mapping[Neuron, tuple[float, float]]) -> FancyArrowPatch:
    """One wire; the two directions between the same neurons bend apart, and a neuron's wire to itself is a loop."""
    if source == target:
        x, y = place[source]
        start, end, bend, shrink = (x + 0.12, y - 0.13), (x + 0.12, y + 0.13), 2.4, 0
    else:
        start, end, bend, shrink = place[source], place[target], 0.13, 13
    style = ArrowStyle("-|>", head_length=5, head_width=2.6) if excites else ArrowStyle("-[", widthB=4.5, lengthB=0.01)
    wire = FancyArrowPatch(start, end, connectionstyle=f"arc3,rad={bend}", arrowstyle=style, mutation_scale=1,
                           shrinkA=shrink, shrinkB=shrink, linewidth=1.3, color=_wire_color(excites), zorder=2)
    wire.set_gid(f"{source[0]} {source[1]} to {target[0]} {target[1]}")
    return wire


def _wire_color(excites: bool) -> tuple[float, float, float]:
    return COLORS[2] if excites else COLORS[3]


def _lines(axis: Axes, lines: Mapping[str, tuple[Sequence[float], Tensor]], colors: Sequence = COLORS) -> None:
    """Draw name -> (positions, values) as lines, with a band from min to max where values repeat."""
    for k, (name, (at, values)) in enumerate(lines.items()):
        values = np.asarray(torch.as_tensor(values).detach().cpu(), dtype=float)
        values = values[:, None] if values.ndim == 1 else values
        color = colors[k % len(colors)]
        axis.plot(at, values.mean(1), color=color, label=name)
        if values.shape[1] > 1:
            axis.fill_between(at, values.min(1), values.max(1), color=color, alpha=0.2, linewidth=0)


def _pictures(images: Tensor, shape: tuple[int, ...]) -> np.ndarray:
    """``(count, pixels)`` to ``(count, height, width)``, or ``(count, height, width, 3)`` in [0, 1] for colours."""
    pictures = np.asarray(images.detach().cpu()).reshape(len(images), *shape)
    if len(shape) == 2:
        return pictures
    return pictures[:, 0] if shape[0] == 1 else pictures.transpose(0, 2, 3, 1).clip(0, 1)


def _frame(axis: Axes, right: bool | None) -> None:
    axis.set_xticks([])
    axis.set_yticks([])
    axis.grid(False)
    for spine in axis.spines.values():
        spine.set(color="0.8" if right is None else COLORS[2] if right else COLORS[3],
                  linewidth=0.6 if right is None else 2)
