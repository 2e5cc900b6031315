"""What pictures may look like beside clean ones: fainter, blurred, noisy; and pictures that show nothing.

The judge is trained on both. All functions take images ``(batch, 784)`` in [0, 1] and give such images back.
"""

import math

import torch
from torch import Tensor
from torch.nn.functional import pad
from torchvision.transforms.functional import gaussian_blur

SIDE = 28
SHIFT = 2                                      # pixels
NOISE = 0.2                                    # largest variance of noise on a picture, its brightest pixel being 1
BLUR = (0.5, 1.5)                              # standard deviation, pixels
FAINT = 0.1                                    # least contrast


def shifted(images: Tensor, generator: torch.Generator) -> Tensor:
    """All images moved by the same whole number of pixels, at most two, each way."""
    down, right = torch.randint(2 * SHIFT + 1, (2,), generator=generator).tolist()
    squares = pad(images.view(-1, SIDE, SIDE), (SHIFT,) * 4)               # (batch, 32, 32)
    return squares[:, down:down + SIDE, right:right + SIDE].flatten(1)


def mirrored(images: Tensor, generator: torch.Generator) -> Tensor:
    """Half of the images with left and right exchanged."""
    return torch.where(_some(0.5, images, generator), images.view(-1, SIDE, SIDE).flip(-1).flatten(1), images)


def blurred(images: Tensor, sigma: float) -> Tensor:
    """Images smoothed by a Gaussian of that many pixels."""
    return gaussian_blur(images.view(-1, 1, SIDE, SIDE), 2 * math.ceil(2.5 * sigma) + 1, sigma).flatten(1)


def altered(images: Tensor, generator: torch.Generator) -> Tensor:
    """A quarter of the images blurred, half of them fainter, then noise on a quarter: what a person still reads."""
    low, high = BLUR
    sigma = low + (high - low) * torch.rand((), generator=generator).item()
    images = torch.where(_some(0.25, images, generator), blurred(images, sigma), images)
    contrast = FAINT + (1 - FAINT) * _uniform(images, generator)           # (batch, 1)
    images = torch.where(_some(0.5, images, generator), contrast * images, images)
    size = images.amax(1, keepdim=True) * (NOISE * _uniform(images, generator)).sqrt()     # (batch, 1)
    noisy = (images + size * torch.randn(images.shape, generator=generator)).clamp(0, 1)
    return torch.where(_some(0.25, images, generator), noisy, images)


def nothing(images: Tensor, generator: torch.Generator) -> Tensor:
    """As many pictures that show nothing: each grey, one of four kinds of noise, or an image with shuffled pixels."""
    grey, size = _uniform(images, generator), _uniform(images, generator)  # (batch, 1)
    normal, flat = torch.randn(images.shape, generator=generator), torch.rand(images.shape, generator=generator)
    ground = torch.where(_some(0.5, images, generator), grey, 0)
    kinds = [grey.expand_as(images), (ground + size * normal).clamp(0, 1), size * flat,
             specks(ground.expand_as(images), size.square(), generator),
             clouds(images, 0.5 + 2 * torch.rand((), generator=generator).item(), generator),
             images.gather(1, flat.argsort(1))]
    chosen = torch.randint(len(kinds), (len(images),), generator=generator)
    return torch.stack(kinds)[chosen, torch.arange(len(images))]


def specks(images: Tensor, share: Tensor | float, generator: torch.Generator) -> Tensor:
    """Salt and pepper: that share of the pixels, ``(batch, 1)`` or one for all, is white or black, each as likely."""
    place = torch.rand(images.shape, generator=generator)
    return torch.where(place < share / 2, 1.0, torch.where(place > 1 - share / 2, 0.0, images))


def clouds(images: Tensor, sigma: float, generator: torch.Generator) -> Tensor:
    """As many pictures of smooth noise, the brightest pixel at 1, the darkest at 0 or cut off below."""
    smooth = blurred(torch.randn(images.shape, generator=generator), sigma)
    lowest = smooth.amin(1, keepdim=True) * _uniform(images, generator)
    return (smooth - lowest).clamp(min=0) / (smooth - lowest).amax(1, keepdim=True)


def _uniform(images: Tensor, generator: torch.Generator) -> Tensor:
    return torch.rand(len(images), 1, generator=generator)


def _some(share: float, images: Tensor, generator: torch.Generator) -> Tensor:
    """A random choice of images, ``(batch, 1)`` bool."""
    return _uniform(images, generator) < share
