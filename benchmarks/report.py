"""What a run leaves: a table in the terminal, ``bench.json``, tables as CSV, and figures."""

import csv
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, LogLocator, NullLocator
from rich.table import Table

from benchmarks.rows import Row
from benchmarks.scaling import Curve, fitted
from benchmarks.suite import Bench
from benchmarks.timing import Timing
from pcgraph_lite.files import write_aside
from reproduction.book import plots

WORKS = ("work", "what", "setting")
TIMES = ("work", "by", "median, ms", "least to most, ms", "repeats", "operations, 10⁹", "10⁹ a second")
NUMBERS = ("work", "quantity", "value")
TARGETS = ("work", "quantity", "target", "measured", "met")
SCALING = ("against", "graph", "from", "to", "ms at the first", "ms at the last", "fitted exponent")
DASH = "—"


def write(bench: Bench, folder: Path) -> Path:
    """Write everything into ``folder`` and return the JSON file; what was not measured has no table or figure."""
    for name, header, lines in tables(bench):
        with write_aside(folder / f"{name}.csv") as part, part.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([header, *lines])
    for name, figure in figures(bench):
        for kind in ("png", "svg"):
            _save(figure, folder / f"{name}.{kind}", bench)
        plt.close(figure)
    return keep(bench, folder)


def keep(bench: Bench, folder: Path) -> Path:
    """Write the JSON file alone, which has everything, and return it."""
    path = folder / "bench.json"
    with write_aside(path) as part:
        content = json.dumps(bench.model_dump(), indent=1, ensure_ascii=False, allow_nan=False)
        part.write_text(content + "\n", encoding="utf-8")
    return path


def read(path: Path) -> Bench:
    """A run that ``write`` kept, checked against the schema."""
    return Bench.model_validate_json(path.read_text(encoding="utf-8"))


def shown(bench: Bench) -> Iterator[Table]:
    """The same tables for the terminal."""
    for name, header, lines in tables(bench):
        table = Table(*header, title=name)
        for line in lines:
            style = {"no": "red", "yes": "green"}.get(line[-1], "")
            table.add_row(*line, style=style if name == "targets" else "")
        yield table


def tables(bench: Bench) -> Iterator[tuple[str, Sequence[str], list[list[str]]]]:
    """Name, header and lines of each table that has lines."""
    made = (("works", WORKS, [[row.name, row.title, _setting(row)] for row in bench.rows]),
            ("times", TIMES, [line for row in bench.rows for line in _times(row)]),
            ("numbers", NUMBERS, [line for row in bench.rows for line in _numbers(row)]),
            ("scaling", SCALING, [_scaling(curve) for curve in bench.curves]),
            ("targets", TARGETS, [line for row in bench.rows for line in _targets(row)]))
    return (table for table in made if table[2])


def figures(bench: Bench) -> Iterator[tuple[str, Figure]]:
    """Name and figure of each that there is something to draw for."""
    plots.use_style()
    trained = [row for row in bench.rows if {"ours", "products"} <= {c.name for c in row.contenders}]
    if trained:
        yield "floor", _floor_figure(trained)
    if bench.curves:
        yield "scaling", _scaling_figure(bench.curves)


def _setting(row: Row) -> str:
    return ", ".join(f"{name} = {value}" for name, value in row.setting.items())


def _times(row: Row) -> list[list[str]]:
    return [[row.name, c.name, _digits(1e3 * c.median),
             f"{_digits(1e3 * min(c.seconds))} to {_digits(1e3 * max(c.seconds))}", str(len(c.seconds)),
             DASH if c.flops is None else _digits(c.flops / 1e9), DASH if c.gflops is None else _digits(c.gflops)]
            for c in row.contenders]


def _numbers(row: Row) -> list[list[str]]:
    return [[row.name, name, _digits(value)] for name, value in row.quantities.items()]


def _targets(row: Row) -> list[list[str]]:
    note = [[row.name, DASH, DASH, DASH, row.note]] if row.note else []
    return note + [[row.name, t.quantity, f"{t.rule} {_digits(t.limit)}",
                    DASH if t.measured is None else _digits(t.measured),
                    t.note or DASH if t.met is None else "yes" if t.met else "no"] for t in row.targets]


def _scaling(curve: Curve) -> list[str]:
    return [curve.x, curve.label, f"{curve.at[0]:.0f}", f"{curve.at[-1]:.0f}", _digits(1e3 * curve.seconds[0]),
            _digits(1e3 * curve.seconds[-1]), f"{curve.exponent:.2f}"]


def _floor_figure(rows: Sequence[Row]) -> Figure:
    """Dots, each at a contender's time over that of the bare products: on a logarithmic axis a bar has no length."""
    figure, axis = plt.subplots(figsize=(plots.PHONE, 1 + 0.7 * len(rows)))
    names = [name for name in dict.fromkeys(c.name for row in rows for c in row.contenders) if name != "products"]
    for k, name in enumerate(names):
        lower = (k - (len(names) - 1) / 2) * 0.8 / len(names)
        dots = [(place + lower, _timing(row, name).over(_timing(row, "products"))) for place, row in enumerate(rows)
                if name in {c.name for c in row.contenders}]
        heights, ratios = zip(*dots, strict=True)
        axis.hlines(heights, 1, ratios, color=plots.COLORS[k], alpha=0.4)
        axis.plot(ratios, heights, "o", color=plots.COLORS[k], label=name)
        for height, ratio in dots:
            axis.annotate(f"{ratio:.2f}", (ratio, height), (6, 0), textcoords="offset points", va="center",
                          fontsize="x-small")
    axis.set_yticks(range(len(rows)), [row.name for row in rows])
    axis.invert_yaxis()
    axis.margins(x=0.2, y=0.1)
    axis.axvline(1, color="0.35", linewidth=1, label="bare products")
    axis.set(xlabel="time over that of the bare products", xscale="log")
    axis.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.xaxis.set_major_formatter("{x:g}")
    axis.xaxis.set_minor_locator(NullLocator())
    axis.grid(visible=False, axis="y")
    plots.legend(figure, *axis.get_legend_handles_labels())
    return figure


def _timing(row: Row, name: str) -> Timing:
    return Timing(tuple(next(c.seconds for c in row.contenders if c.name == name)))


def _scaling_figure(curves: Sequence[Curve]) -> Figure:
    """A log-log panel for each size, measured points and the fitted power."""
    panels = list(dict.fromkeys(curve.x for curve in curves))
    columns = min(2, len(panels))
    figure, axes = plt.subplots(-(-len(panels) // columns), columns, figsize=(5.2 * columns, 6.4), squeeze=False)
    for axis, x in zip(axes.flat, panels, strict=False):
        drawn = sorted((c for c in curves if c.x == x), key=lambda c: c.seconds[-1])
        for k, curve in enumerate(drawn):
            exponent, factor = fitted(*curve.upper)
            ends = np.array(curve.upper[0])[[0, -1]]
            axis.plot(curve.at, 1e3 * np.array(curve.seconds), "o", color=plots.COLORS[k])
            axis.plot(ends, 1e3 * factor * ends**exponent, color=plots.COLORS[k])
            _named(axis, curve, f"grows as {x}$^{{{exponent:.2f}}}$", plots.COLORS[k], k, len(drawn))
        axis.set(xscale="log", yscale="log", xlabel=x, ylabel="ms a training batch")
        for ruler in (axis.xaxis, axis.yaxis):
            ruler.set_major_locator(LogLocator(subs=(1, 2, 5)))
            ruler.set_major_formatter(EngFormatter(sep=""))
            ruler.set_minor_locator(NullLocator())
        axis.tick_params(labelsize="x-small")
    return figure


def _named(axis: Axes, curve: Curve, law: str, color: str, place: int, lines: int) -> None:
    """The name of a curve beside its right end; of several, the lowest hangs below its end and the others stand above
    theirs: a legend would cover lines.
    """
    aligned = "center" if lines == 1 else "bottom" if place else "top"
    name = curve.label.replace(", ", "\n")
    axis.annotate(f"{name}\n{law}", (curve.at[-1], end := 1e3 * curve.seconds[-1]), xytext=(1.03, end), va=aligned,
                  textcoords=("axes fraction", "data"), fontsize="x-small", color=color)


def _save(figure: Figure, path: Path, bench: Bench) -> None:
    made = f"pcgraph bench, commit {bench.provenance['commit']}, {bench.provenance['device']}"
    facts = {"Date": None, "Description": made} if path.suffix == ".svg" else {"Description": made}
    with plt.rc_context({"svg.hashsalt": "pcgraph"}), write_aside(path) as part:
        figure.savefig(part, format=path.suffix[1:], metadata=facts)


def _digits(value: float) -> str:
    """Three significant digits; more where the difference to 1 is the point."""
    if 0 < abs(value - 1) < 1e-3:
        return f"{value:.7f}"
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
