"""How pixels are scaled before a graph sees them. The paper does not say it (ambiguity log, point 19).

Data sets, noise, measures, the judge and pictures are in the units of [0, 1]; only the graph sees scaled pixels. A
graph that the zoo made carries its scale, and ``studies.tasks.ask`` is the way in and out.
"""

from dataclasses import dataclass

from torch import Tensor, nn

from .. import valid
from ..errors import BadInput, one_of

# What becomes 0, and how much more becomes 1.
RANGES = {"[0, 1]": (0.0, 1.0), "[-1, 1]": (0.5, 0.5), "[-2, 2]": (0.5, 0.25)}
# Mean and standard deviation over all pixels of the training images in [0, 1], colour planes together (SVHN: joined
# from the figures of its three planes that are in common use).
MOMENTS = {"mnist": (0.1307, 0.3081), "fashion": (0.2860, 0.3530), "cifar10": (0.4734, 0.2516),
           "svhn": (0.4514, 0.1993)}
SCALES = (*RANGES, "standardized")


@dataclass(frozen=True)
class Scale:
    """Scaled pixels are (pixels - offset) / unit, where ``pixels`` lie in [0, 1]."""

    name: str = "[0, 1]"
    offset: float = 0.0
    unit: float = 1.0

    def apply(self, pixels: Tensor) -> Tensor:
        """Pixels of any shape in the units of [0, 1] to scaled ones; noise may have taken them outside."""
        return pixels if self.unit == 1 and self.offset == 0 else (pixels - self.offset) / self.unit

    def undo(self, values: Tensor) -> Tensor:
        """Scaled pixels of any shape back to the units of [0, 1]; not cut."""
        return values if self.unit == 1 and self.offset == 0 else values * self.unit + self.offset

    def variance(self, variance: float) -> float:
        """A noise variance in the squared units of [0, 1], given in those of scaled pixels."""
        return variance * self.unit**2


PLAIN = Scale()


def of(model: nn.Module) -> Scale:
    """The scale of the pixels that a model was made for (``give``); [0, 1] where nothing was said."""
    return getattr(model, "pixel_scale", PLAIN)


def give(model: nn.Module, scale: Scale) -> None:
    """Say which scale a model's pixels have."""
    model.pixel_scale = scale


@valid.checked
def named(name: str, data: str | None = None) -> Scale:
    """The scale of that name; "standardized" is mean 0 and standard deviation 1 over the data set ``data``.

    Raises UnknownName (no such scale), BadInput ("standardized" without one of the data sets that have moments).
    """
    one_of("scale", name, SCALES)
    if name != "standardized":
        return Scale(name, *RANGES[name])
    if data not in MOMENTS:
        raise BadInput(f"scale 'standardized' of data = {data!r}; expected one of {sorted(MOMENTS)}.")
    return Scale(name, *MOMENTS[data])
