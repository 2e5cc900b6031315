"""The numbers that a figure draws, as a table: what a reader downloads beside it.

They are read off the drawn axes, so that no figure can show one thing and offer another.
"""

import sys
from collections.abc import Iterator

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import PathCollection, PolyCollection, QuadMesh
from matplotlib.container import BarContainer, Container
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator

Row = dict[str, object]
KIND = "text/csv"


def offer() -> None:
    """In a notebook: keep the numbers of every figure that is shown beside its picture."""
    if (ipython := sys.modules.get("IPython")) and (shell := ipython.get_ipython()):   # --plain has none
        shell.display_formatter.mimebundle_formatter.for_type(Figure, lambda figure: {KIND: text} if (
            text := csv(figure)) else {})


def csv(figure: Figure) -> str:
    """One row a drawn point: ``panel``, ``series``, x and y by their labels, its band from ``low`` to ``high``.

    Points, lines, bars and maps that have a name count, one with ``_`` in front in no legend; pictures and drawn graphs
    do not. What stands on an axis of words is given by its word. Columns that are empty throughout are left out, and
    of a figure that draws no number all is.
    """
    axes = [axis for axis in figure.axes if axis.get_label() != "<colorbar>"]
    x, y = ({axis: named(axis) or sup or next(filter(None, map(named, axes)), letter) for axis in axes}
            for named, sup, letter in ((Axes.get_xlabel, figure.get_supxlabel(), "x"),
                                       (Axes.get_ylabel, figure.get_supylabel(), "y")))
    rows = [{"panel": axis.get_title(), **{{"x": x[axis], "y": y[axis]}.get(key, key): row[key] for key in row}}
            for axis in axes for row in _rows(axis)]
    table = pd.DataFrame(rows).replace("", np.nan).dropna(axis=1, how="all")
    return "" if table.empty else table.to_csv(index=False, float_format="%.6g", lineterminator="\n")


def _rows(axis: Axes) -> Iterator[Row]:
    """Those of one pair of axes. Lines through points that are drawn as well say nothing more."""
    across, up = _words(axis.xaxis), _words(axis.yaxis)
    for row in [*(list(_points(axis)) or _lines(axis)), *_bars(axis), *_cells(axis)]:
        yield row | {"x": across.get(row["x"], row["x"]), "y": up.get(row["y"], row["y"])}


def _points(axis: Axes) -> Iterator[Row]:
    for cloud in axis.collections:
        if isinstance(cloud, PathCollection) and _name(cloud):
            yield from ({"series": _name(cloud), "x": x, "y": y} for x, y in np.asarray(cloud.get_offsets()))


def _lines(axis: Axes) -> Iterator[Row]:
    """Lines with the band of the same name. Of a line across the whole panel, its one number."""
    bands = {_name(band): band.get_paths()[0].vertices for band in axis.collections if isinstance(band, PolyCollection)}
    for line in filter(_name, axis.lines):
        points, band = np.column_stack(line.get_data()), bands.get(_name(line), np.empty((0, 2)))
        if line.get_transform() == axis.get_yaxis_transform():             # a level
            points = points[:1] * (np.nan, 1)
        elif line.get_transform() == axis.get_xaxis_transform():
            points = points[:1] * (1, np.nan)
        for x, y in points:
            row, edges = {"series": _name(line), "x": x, "y": y}, band[band[:, 0] == x, 1]
            yield row | {"low": edges.min(), "high": edges.max()} if len(edges) else row


def _bars(axis: Axes) -> Iterator[Row]:
    for bars in axis.containers:
        if isinstance(bars, BarContainer) and _name(bars):
            yield from ({"series": _name(bars), "x": round(bar.get_x() + bar.get_width() / 2), "y": bar.get_height()}
                        for bar in bars)


def _cells(axis: Axes) -> Iterator[Row]:
    """Of a map; what it leaves out is left out."""
    for mesh in axis.collections:
        if isinstance(mesh, QuadMesh):
            yield from ({"x": column + 0.5, "y": row + 0.5, "value": value}
                        for (row, column), value in np.ma.ndenumerate(mesh.get_array()))


def _words(axis: Axis) -> dict[float, str]:
    """The words of an axis by their places; none where it has numbers."""
    if not isinstance(axis.get_major_locator(), FixedLocator):
        return {}
    places = axis.get_ticklocs()
    return dict(zip(places.tolist(), axis.get_major_formatter().format_ticks(places), strict=True))


def _name(part: Artist | Container) -> str:
    """What a legend calls it or would; empty for what has no name."""
    name = str(part.get_label())
    return "" if name.startswith(("_child", "_nolegend", "_container")) else name.removeprefix("_")
