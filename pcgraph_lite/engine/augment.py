"""Changes of training images that leave their class alone, drawn anew for every batch. The paper names none."""

from collections.abc import Callable, Mapping
from math import isqrt

import torch
from torch import Generator, Tensor
from torch.nn.functional import pad

from ..errors import BadInput

SHIFT = 2                                                                  # pixels at most, along each side


def planes_of(size: int) -> int:
    """3 where so many pixels are the red, green and blue ones of a square picture of 2 x 2 or more, else 1."""
    return 3 if 3 < size == 3 * isqrt(size // 3) ** 2 else 1


def shift_and_mirror(images: Tensor, generator: Generator) -> Tensor:
    """Move each image by up to two pixels along each side, and mirror half of them left to right.

    Pixels that come in from outside are reflections of those inside. Each image has draws of its own, where torchvision
    draws once for a batch.

    Args:
        images: grey or colour, ``(batch, planes * side * side)``.
        generator: of the CPU; makes the draws.

    Raises BadInput: images that are not square or smaller than 3 x 3.
    """
    planes = planes_of(images.shape[-1])
    side = isqrt(images.shape[-1] // planes)
    if planes * side**2 != images.shape[-1] or side <= SHIFT:
        raise BadInput(f"images of {images.shape[-1]} pixels cannot be shifted and mirrored; expected one or three "
                       f"planes of a square of at least {SHIFT + 1} x {SHIFT + 1} pixels, or augment='none'.")
    moves = torch.randint(2 * SHIFT + 1, (2, len(images), 1), generator=generator)
    rows, columns = torch.arange(side) + moves                             # (batch, side) each
    mirrored = torch.rand(len(images), 1, generator=generator) < 0.5
    columns = torch.where(mirrored, columns.flip(1), columns)
    wide = pad(images.view(-1, planes, side, side), 4 * (SHIFT,), mode="reflect").movedim(1, -1)
    every, rows, columns = (some.to(images.device) for some in (
        torch.arange(len(images))[:, None, None], rows[:, :, None], columns[:, None, :]))
    return wide[every, rows, columns].movedim(-1, 1).reshape(images.shape)     # (batch, side, side, planes) before


def refuse_oblong(data: object, augment: str) -> None:
    """Raise BadInput if pictures are to change, and those of training data, not flattened yet, are not square."""
    images = data.get("pixels") if isinstance(data, Mapping) else data[0] if isinstance(data, tuple | list) else data
    shape = tuple(getattr(images, "shape", ()))                            # (..., height, width); flat: (batch, pixels)
    if augment != "none" and len(shape) > 2 and shape[-2] != shape[-1]:
        raise BadInput(f"pictures of {shape[-2]} x {shape[-1]} pixels cannot be shifted and mirrored; expected square "
                       "ones, or augment='none'.")


AUGMENTATIONS: dict[str, Callable[[Tensor, Generator], Tensor]] = {
    "none": lambda images, generator: images, "shift and mirror": shift_and_mirror}
