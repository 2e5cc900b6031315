"""The usual scales of pixels inside a graph. The paper does not say which it uses (ambiguity log, point 19).

Data sets, noise, measures, the judge and pictures are in units of [0, 1]. Only the inside of a graph is scaled
(``PCGraph(pixel_scale=...)``), and queries and learning convert pixels themselves.
"""

from .. import valid
from ..engine.scale import MOMENTS, RANGES, Scale
from ..errors import BadInput, one_of

SCALES = (*RANGES, "standardized")


@valid.checked
def named(name: str, data: str | None = None) -> Scale:
    """The scale with a name. "standardized" means mean 0 and standard deviation 1 over the data set ``data``.

    Raises UnknownName: no such scale. BadInput: "standardized" without a data set whose moments are known.
    """
    one_of("scale", name, SCALES)
    if name != "standardized":
        return Scale(name, *RANGES[name])
    if data not in MOMENTS:
        raise BadInput(f"scale 'standardized' of data = {data!r}; expected one of {sorted(MOMENTS)}.")
    return Scale(name, *MOMENTS[data])
