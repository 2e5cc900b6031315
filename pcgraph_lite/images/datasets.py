"""torchvision's MNIST, FashionMNIST, CIFAR10 and SVHN as flat pixels in [0, 1]; noise and occlusion.

``load("mnist", sample=True)`` reads the sample inside the package (5,000 + 1,000 images of MNIST and
FashionMNIST), which needs no other files and writes nothing. ``sources.py`` finds the full sets.
"""

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from .. import valid
from ..errors import BadFile, BadInput, BadValues, MissingPackage, WrongShape, shown
from ..valid import NotNegative, PartOf, Shape
from . import sources

SHAPES = {"mnist": (1, 28, 28), "fashion": (1, 28, 28), "cifar10": (3, 32, 32), "svhn": (3, 32, 32)}
CLASS_NAMES = {
    "mnist": [str(digit) for digit in range(10)],
    "fashion": ["T-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot"],
    "cifar10": ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"],
    "svhn": [str(digit) for digit in range(10)],
}
SAMPLES = ("mnist", "fashion")


@valid.checked
@dataclass(frozen=True, eq=False)
class ImageSet:
    """Images with labels.

    Args:
        name: the data set.
        images: ``(count, pixels)``, ``(count, height, width)`` or ``(count, channels, height, width)``, floating point
            in [0, 1]; kept as ``(count, pixels)``, colour planes one after the other.
        labels: ``(count,)``, whole numbers.
        shape: ``(channels, height, width)`` of one image. None: that of the images.
        source: its origin in words, without a path, because published records quote it.

    Raises:
        WrongShape: images, labels and shape do not fit each other, channels are last, or there is no image.
        BadValues: a pixel is NaN or outside [0, 1].
    """

    name: str
    images: Tensor
    labels: Tensor
    shape: Shape | None = None
    source: str = "given"

    def __post_init__(self) -> None:
        images, labels = valid.tensor(self.images, "images"), valid.tensor(self.labels, "labels")
        valid.channels_first(images, f"images of {self.name!r}")
        if self.shape is None and images.ndim not in (3, 4):
            raise WrongShape(f"images of {self.name!r} are {tuple(images.shape)}; give shape=(channels, height, width) "
                             "of one image.")
        shape = tuple(self.shape or (1, *images.shape[1:])[-3:])
        for name, value in (("images", images.flatten(1) if images.ndim > 2 else images), ("labels", labels),
                            ("shape", shape)):
            object.__setattr__(self, name, value)
        images, count, pixels = self.images, labels.numel(), math.prod(shape)
        if count == 0 or labels.ndim != 1 or images.shape != (count, pixels) or not images.is_floating_point():
            raise WrongShape(f"images of {self.name!r} need the shape (count, {pixels}), count >= 1, floating point, "
                             f"and as many labels; got images {tuple(images.shape)} {images.dtype}, labels "
                             f"{tuple(labels.shape)}.")
        valid.labels(labels)
        low, high = (bound.item() for bound in images.aminmax())
        if not (low >= 0 and high <= 1):
            raise BadValues(f"pixels of {self.name!r} must lie in [0, 1]; got {low} to {high}. "
                            "Divide bytes by 255; noisy images are plain tensors, not an ImageSet.")

    def __len__(self) -> int:
        return len(self.labels)

    @valid.checked
    def subset(self, count: int, generator: torch.Generator | None = None) -> "ImageSet":
        """The first ``count`` images, or ``count`` images drawn without replacement if a generator is given.

        Raises BadInput: there are fewer.
        """
        _in_range(count, len(self))
        return self.take(torch.arange(count) if generator is None else
                         torch.randperm(len(self), generator=generator)[:count])

    def take(self, rows: Tensor) -> "ImageSet":
        """The images of some rows ``(count,)``, in their order. Raises BadInput: there is no such row."""
        try:
            return replace(self, images=self.images[rows], labels=self.labels[rows])
        except IndexError as error:
            raise BadInput(f"rows = {shown(rows)}: {error}; expected row numbers from 0 to {len(self) - 1}.") from None


@valid.checked
def load(name: str, split: str = "train", sample: bool = False, root: Path | str | None = None) -> ImageSet:
    """Load and check one split, "train" or "test", of ``mnist``, ``fashion``, ``cifar10`` or ``svhn``.

    Args:
        sample: read the sample inside the package instead of the full set (``mnist`` and ``fashion``).
        root: look for the full set only in this folder.

    Raises:
        UnknownName: no such data set, split or sample.
        BadFile: a file is damaged (with path and digests), or no place has the set (with a reason for each).
    """
    found = sources.read_sample(name, split) if sample else sources.find(name, split, root)
    images = torch.from_numpy(found.images).to(torch.float32).div_(255)     # (count, pixels); bytes until here
    return ImageSet(name, images, torch.from_numpy(found.labels).long(), SHAPES[name], found.source)


@valid.checked
def split_off(data: ImageSet, count: int, generator: torch.Generator) -> tuple[ImageSet, ImageSet]:
    """Draw ``count`` images as a held-out set. Returns ``(rest, held_out)``, which share no image. Raises BadInput."""
    _in_range(count, len(data) - 1)
    order = torch.randperm(len(data), generator=generator)
    return data.take(order[count:]), data.take(order[:count])


@valid.checked
def status() -> list[dict[str, str | int]]:
    """The data sets on this machine, without using the network: one row per data set, split and sample.

    A row has ``name``, ``split``, ``where`` (or the reason why it is missing), ``count`` and ``checked`` (``yes``,
    ``missing`` or ``damaged``).
    """
    reads = {f"{name} (sample)": partial(sources.read_sample, name) for name in SAMPLES}
    reads |= {name: partial(sources.find, name, download=False) for name in SHAPES}
    return [{"name": title, "split": split, **_found(partial(read, split=split))}
            for title, read in reads.items() for split in sources.SPLITS]


def _found(read: Callable[[], sources.Pixels]) -> dict[str, str | int]:
    try:
        found = read()
    except (BadFile, MissingPackage) as error:
        checked = "missing" if isinstance(error, sources.NotFound | MissingPackage) else "damaged"
        return {"where": str(error), "count": 0, "checked": checked}
    return {"where": f"{found.source}: {found.folder}", "count": len(found.labels), "checked": "yes"}


# ------------------------------------------------------------------------------------------- noise and occlusion

@valid.checked
def noise_generator(seed: int, part: str = "test") -> torch.Generator:
    """A generator of its own for the noise on each part of the images.

    ``manual_seed(seed)`` alone would repeat the random numbers of a graph's first weights.
    """
    digest = hashlib.sha256(f"noise on {part} images, seed {seed}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:7], "big"))


@valid.checked
def noisy(images: Tensor, variance: NotNegative, generator: torch.Generator, clip: bool = False) -> Tensor:
    """Add Gaussian noise of the given variance to every pixel.

    Args:
        images: floating point, of any shape; not changed.
        variance: of the noise, in squared units of the images. ``Scale.variance(variance)`` converts a variance of a
            graph's scaled pixels to units of [0, 1].
        generator: draws the noise on its own device, from which it is moved to that of the images.
        clip: whether to clip the result to [0, 1]; the paper does not say.

    Raises BadInput: a negative or infinite variance, or images of bytes. BadValues: NaN or infinite pixels.
    """
    images = valid.tensor(images, "images")
    valid.images(images.reshape(max(1, len(images)), -1) if images.ndim else images)
    noise = torch.randn(images.shape, generator=generator, dtype=images.dtype, device=generator.device)
    result = images + math.sqrt(variance) * noise.to(images.device)
    return result.clamp_(0, 1) if clip else result


@valid.checked
def top_half(shape: Shape) -> Tensor:
    """Mask of an image whose top half is known, ``(pixels,)`` bool, True = known. Of odd heights the smaller half."""
    return ~bottom_half(shape)


@valid.checked
def bottom_half(shape: Shape) -> Tensor:
    """Mask of an image whose bottom half is known; the complement of ``top_half``."""
    return _lower_rows(shape, shape[1] - shape[1] // 2)


@valid.checked
def bottom_fraction(shape: Shape, fraction: PartOf) -> Tensor:
    """Mask of an image whose bottom part is known, rounded to whole rows: ``(pixels,)`` bool, True = known."""
    if not (rows := round(fraction * shape[1])):
        raise BadInput(f"fraction = {fraction} of {shape[1]} rows is none; expected at least one.")
    return _lower_rows(shape, rows)


def _lower_rows(shape: Shape, rows: int) -> Tensor:
    mask = torch.zeros(tuple(shape), dtype=torch.bool)                     # (channels, height, width)
    mask[:, shape[1] - rows:, :] = True
    return mask.flatten()


def _in_range(count: int, most: int) -> None:
    if not 1 <= count <= most:
        raise BadInput(f"count = {count}; expected a whole number from 1 to {most}.")
