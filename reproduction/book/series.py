"""Keep the numbers that a figure draws, so that readers can download them beside the picture."""

import sys
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

KIND = "text/csv"                                  # its MIME type in an executed notebook
_KEPT: WeakKeyDictionary[Figure, pd.DataFrame] = WeakKeyDictionary()


def keep(figure: Figure, rows: Sequence[dict[str, Any]] | pd.DataFrame) -> Figure:
    """Keep the numbers of a figure: one row per point, with panel, series, and coordinates by names of the axes."""
    _KEPT[figure] = pd.DataFrame(rows).replace("", np.nan).dropna(axis=1, how="all")
    return figure


def csv(figure: Figure) -> str:
    """The numbers of a figure as CSV; an empty text if it draws none, as pictures and graphs do."""
    kept = _KEPT.get(figure, pd.DataFrame())
    return "" if kept.empty else kept.to_csv(index=False, float_format="%.6g", lineterminator="\n")


def offer() -> None:
    """In a notebook, output every figure with two pixels for each of a page, and its numbers beside it."""
    if (ipython := sys.modules.get("IPython")) and (shell := ipython.get_ipython()):
        from matplotlib_inline.backend_inline import set_matplotlib_formats  # only here: it comes with IPython
        set_matplotlib_formats("retina")
        plt.uninstall_repl_displayhook()                                   # would draw each of them once more
        shell.display_formatter.mimebundle_formatter.for_type(Figure, lambda figure: {KIND: text} if (
            text := csv(figure)) else {})
