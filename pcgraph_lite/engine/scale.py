"""How a graph's pixels are scaled: pictures go in and come out in [0, 1], the graph relaxes on its own scale.

The paper does not say how pixels are scaled (ambiguity log, point 19); ``images.scale`` names the usual ways.
"""

from dataclasses import dataclass
from typing import Annotated, Any

from annotated_types import Ge, Le
from torch import Tensor

from .. import valid


@valid.checked
@dataclass(frozen=True)
class Scale:
    """Scaled pixels are (pixels - offset) / unit, where ``pixels`` lie in [0, 1].

    Example:
        >>> signed = pcg.Scale("[-1, 1]", offset=0.5, unit=0.5)
        >>> signed.apply(torch.tensor([0.0, 0.5, 1.0]))
        tensor([-1.,  0.,  1.])
    """

    name: str = "[0, 1]"
    offset: Annotated[float, Ge(-1e6), Le(1e6)] = 0.0
    unit: Annotated[float, Ge(1e-6), Le(1e6)] = 1.0

    @property
    def bounds(self) -> tuple[float, float]:
        """What 0 and 1 become."""
        return -self.offset / self.unit, (1 - self.offset) / self.unit

    @property
    def plain(self) -> bool:
        """Whether scaled pixels are the pixels."""
        return self.unit == 1 and self.offset == 0

    def apply(self, pixels: Tensor) -> Tensor:
        """Pixels of any shape in the units of [0, 1] to scaled ones; noise may have taken them outside."""
        return pixels if self.plain else (pixels - self.offset) / self.unit

    def undo(self, values: Tensor) -> Tensor:
        """Scaled pixels of any shape back to the units of [0, 1]; not clipped."""
        return values if self.plain else values * self.unit + self.offset

    def variance(self, variance: float) -> float:
        """A noise variance in the squared units of [0, 1], given in those of scaled pixels."""
        return variance * self.unit**2


PLAIN = Scale()
# What becomes 0, and how much more becomes 1.
RANGES = {"[0, 1]": (0.0, 1.0), "[-1, 1]": (0.5, 0.5), "[-1.25, 1.25]": (0.5, 0.4), "[-1.5, 1.5]": (0.5, 1 / 3),
          "[-2, 2]": (0.5, 0.25)}
# Mean and standard deviation over all pixels of the training images in [0, 1], colour planes together (SVHN: joined
# from the figures of its three planes that are in common use).
MOMENTS = {"mnist": (0.1307, 0.3081), "fashion": (0.2860, 0.3530), "cifar10": (0.4734, 0.2516),
           "svhn": (0.4514, 0.1993)}
USUAL = [Scale(name, *RANGES[name]) for name in RANGES if name != PLAIN.name] + \
    [Scale(f"mean 0 and deviation 1 of {name}", *moments) for name, moments in MOMENTS.items()]


def unscaled(values: Any, what: str = "images", pixels: int | None = None) -> Tensor:
    """``valid.images`` for what takes pictures in the units of [0, 1]: noise may be on them, but no usual scale.

    Raises BadInput, WrongShape, BadValues.
    """
    images = valid.images(values, what, pixels)
    valid.near_unit(images, what, USUAL)
    return images
