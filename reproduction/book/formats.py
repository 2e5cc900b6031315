"""How numbers look in the book's tables. Only this module turns a cell into text."""

from typing import Any

from ..evidence import decimals

DASH = "—"                                         # an empty cell


def cell(value: Any, form: str = "") -> str:
    """A cell as text; ``handover`` lists the kinds of cells. ``form``: the format of a plain number if not four digits.

    Example:
        >>> cell(0.05), cell({"mean": 15.789, "sd": 0.00744}), cell({"share": 0.875, "low": 0.5, "high": 1.0})
        ('0.05', '15.789 ± 0.007', '87.5 % (50.0 to 100.0)')
    """
    match value:
        case None | "":
            return DASH
        case bool():
            return "yes" if value else "no"
        case int() | float():
            return number(value, form)
        case {"share": share, "low": low, "high": high}:
            return f"{100 * share:.1f} % ({100 * low:.1f} to {100 * high:.1f})"
        case {"mean": mean, "low": float(low), "high": float(high)}:
            return decimals.between(mean, low, high)
        case {"mean": mean, "sd": float(sd)}:
            return decimals.spread(mean, sd)
        case {"mean": mean}:
            return number(mean)
    return str(value)


def number(value: float, form: str = "") -> str:
    """A number with four significant digits and without a positive power of ten; an integer as it is."""
    if form or isinstance(value, int):
        return format(value, form)
    text = f"{value:.4g}"
    return f"{float(text):.0f}" if "e+" in text else text
