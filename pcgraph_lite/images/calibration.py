"""The reliability of a judge: its readings of pictures whose right answer is known.

The ceiling is its accuracy on original images, unchanged and altered. The floor is its accuracy on completions that do
not depend on the class, and its readings of pictures of nothing, in which it should read no class.
"""

import math

import torch
from torch import Tensor, nn

from ..errors import needing
from .datasets import ImageSet, noisy, top_half
from .judge import SIDE, UNREADABLE, read

COUNT = 1_000                                  # pictures of each kind of noise
DECAY = 1e-3                                   # of the ridge regression, an image
Pictures = tuple[Tensor, Tensor | None]        # (count, 784) in [0, 1], and their labels (count,) if they have any


def table(judge: nn.Module, train: ImageSet, test: ImageSet, foreign: Tensor) -> list[dict[str, object]]:
    """The readings of a judge, one row per kind of pictures.

    Args:
        judge: a judge that ``load_judge`` returned.
        train: source of the class means, the mean image and the ridge regression.
        test: the originals. To report a judge, use images that had no part in choosing it.
        foreign: ``(count, 784)``, images of another data set.

    Returns:
        rows with ``pictures``, ``count``, ``right`` (share read as their label; None: they have no labels),
        ``unreadable`` (share), ``commonest`` (the most frequent reading).
    """
    rows = []
    for name, (images, labels) in (with_class(train, test) | without_class(train, test, foreign)).items():
        seen = read(judge, images)
        rows.append({"pictures": name, "count": len(images),
                     "right": None if labels is None else (seen == labels).double().mean().item(),
                     "unreadable": (seen == UNREADABLE).double().mean().item(), "commonest": seen.mode().values.item()})
    return rows


def with_class(train: ImageSet, test: ImageSet, seed: int = 0) -> dict[str, Pictures]:
    """Pictures of a class, and completions. ``seed``: of the noise; the rest: see ``table``."""
    generator, images, labels = torch.Generator().manual_seed(seed), test.images, test.labels
    known, mean = top_half(test.shape), train.images.mean(0)  # type: ignore[arg-type]  # it has one
    classes = train.labels.unique()
    found = {
        "originals": images,
        "contrast × 0.3": 0.3 * images,
        "contrast × 0.1": 0.1 * images,
        "blur, σ = 1": blurred(images, 1.0),
        "blur, σ = 1, contrast × 0.3": 0.3 * blurred(images, 1.0),
        **{f"noise, variance {v:g}": noisy(images, v, generator, clip=True) for v in (0.05, 0.2, 0.5, 1.0)},
        "lower half by ridge regression": torch.where(known, images, ridge(train.images, images, known)),
        "lower half of the mean image": torch.where(known, images, mean),
        "lower half blank": torch.where(known, images, 0),
    }
    means = torch.stack([train.images[train.labels == c].mean(0) for c in classes])
    return {name: (pictures, labels) for name, pictures in found.items()} | {"class means": (means, classes)}


def without_class(train: ImageSet, test: ImageSet, foreign: Tensor, seed: int = 0,
                  count: int | None = None) -> dict[str, Pictures]:
    """Pictures of nothing, or of nothing that the judge knows. ``count``: of each kind of noise (None: ``COUNT``)."""
    generator, size = torch.Generator().manual_seed(seed), (count or COUNT, test.images.shape[1])
    black, grey = torch.zeros(size), torch.full(size, 0.5)
    found = {"blank": black[:1], "uniform, every grey level": torch.linspace(0, 1, 256)[:, None].expand(256, size[1])}
    for variance in (0.05, 0.1, 0.2, 0.5, 1.0):
        found[f"Gaussian noise, variance {variance:g}"] = noisy(black, variance, generator, clip=True)
    for variance in (0.05, 0.2, 1.0):
        found[f"Gaussian noise on grey, variance {variance:g}"] = noisy(grey, variance, generator, clip=True)
    found["uniform noise"] = torch.rand(size, generator=generator)
    for share in (0.05, 0.1, 0.2, 0.5):
        found[f"salt and pepper, {share:.0%}"] = specks(black, share, generator)
        found[f"salt and pepper on grey, {share:.0%}"] = specks(grey, share, generator)
    for sigma in (1.0, 2.0):
        found[f"smooth noise, σ = {sigma:g}"] = clouds(black, sigma, generator)
    order = torch.rand(test.images.shape, generator=generator).argsort(1)
    found |= {"shuffled pixels": test.images.gather(1, order), "stripes and chequers": _patterns(),
              "mean image": train.images.mean(0)[None], "images of the other data set": foreign}
    return {name: (pictures, None) for name, pictures in found.items()}


def ridge(train: Tensor, images: Tensor, known: Tensor) -> Tensor:
    """All pixels by ridge regression from the ``known`` ones and a constant, ``(batch, pixels)`` clipped to [0, 1]."""
    def inputs(part: Tensor) -> Tensor:
        return torch.cat([part[:, known], torch.ones(len(part), 1)], 1).double()           # (count, known + 1)

    x = inputs(train)
    gram = x.T @ x
    gram.diagonal()[:-1].add_(DECAY * len(x))
    return (inputs(images) @ torch.linalg.solve(gram, x.T @ train.double())).clamp(0, 1).to(images)


def _patterns() -> Tensor:
    """Vertical and horizontal stripes of 1 to 7 pixels, and chequers: ``(21, 784)``. No judge is trained on them."""
    at = torch.arange(SIDE)
    level = torch.stack([(at // width % 2).expand(SIDE, SIDE) for width in range(1, 8)])   # (7, 28, 28)
    return torch.cat([level, level.mT, level ^ level.mT]).flatten(1).float()


def blurred(images: Tensor, sigma: float) -> Tensor:
    """Images smoothed by a Gaussian of ``sigma`` pixels."""
    with needing("blurring"):
        from torchvision.transforms.functional import gaussian_blur
    return gaussian_blur(images.view(-1, 1, SIDE, SIDE), 2 * math.ceil(2.5 * sigma) + 1, sigma).flatten(1)


def specks(images: Tensor, share: Tensor | float, generator: torch.Generator) -> Tensor:
    """Salt and pepper: a ``share`` of the pixels, ``(batch, 1)`` or a number, is white or black, each as often."""
    place = torch.rand(images.shape, generator=generator)
    return torch.where(place < share / 2, 1.0, torch.where(place > 1 - share / 2, 0.0, images))


def clouds(images: Tensor, sigma: float, generator: torch.Generator) -> Tensor:
    """The same number of pictures of smooth noise. The brightest pixel is 1, the darkest 0 or cut off at 0."""
    smooth = blurred(torch.randn(images.shape, generator=generator), sigma)
    lowest = smooth.amin(1, keepdim=True) * uniform(images, generator)
    return (smooth - lowest).clamp(min=0) / (smooth - lowest).amax(1, keepdim=True)


def uniform(images: Tensor, generator: torch.Generator) -> Tensor:
    """A random number between 0 and 1 for each image, ``(batch, 1)``."""
    return torch.rand(len(images), 1, generator=generator)
