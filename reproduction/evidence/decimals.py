"""The uncertainty of a number, and the number of digits that it justifies."""

import math
from statistics import NormalDist

from pcgraph_lite.errors import BadInput


def spread(mean: float, sd: float) -> str:
    """Mean ± standard deviation. The deviation has one digit, or two if it begins with 1 or 2; the mean ends with it.

    Without any deviation there is no ±, and the mean has four digits.

    Example:
        >>> spread(15.789, 0.00744), spread(0.05007, 0.000123), spread(12, 0)
        ('15.789 ± 0.007', '0.05007 ± 0.00012', '12')
    """
    if not sd > 0 or not math.isfinite(mean + sd):
        return f"{mean:.4g}"
    places = _decimals(sd)
    return f"{mean:.{places}f} ± {sd:.{places}f}"


def between(mean: float, low: float, high: float) -> str:
    """Mean and the ends of an interval, with the decimals that half its width justifies.

    Example:
        >>> between(0.0455, 0.04473, 0.04628)
        '0.0455 (0.0447 to 0.0463)'
    """
    if not high > low or not math.isfinite(low + high):
        return f"{mean:.4g} ({low:.4g} to {high:.4g})"
    places = _decimals((high - low) / 2)
    return f"{mean:.{places}f} ({low:.{places}f} to {high:.{places}f})"


def share_interval(hits: int, count: int) -> tuple[float, float]:
    """Wilson's 95 % interval ``(low, high)`` of hits among images, without slow scipy.stats. Raises BadInput."""
    if not 0 <= hits <= count or count < 1:
        raise BadInput(f"{hits} hits of {count}; expected at most as many, of at least one.")
    z, share = NormalDist().inv_cdf(0.975), hits / count
    centre, half = share + z**2 / (2 * count), z * math.sqrt((share * (1 - share) + z**2 / (4 * count)) / count)
    return (centre - half) / (1 + z**2 / count), (centre + half) / (1 + z**2 / count)


def _decimals(sd: float) -> int:
    """The decimals with which a spread has one digit, or two if it begins with 1 or 2."""
    first, _, power = f"{sd:.1e}".partition("e")
    return max(0, (1 if first[0] in "12" else 0) - int(power))
