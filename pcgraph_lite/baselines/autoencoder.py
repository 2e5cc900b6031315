"""The paper's baseline of section 4: an autoencoder of the same shape, trained with backpropagation.

The paper does not say how it is trained or how it is given half an image (ambiguity log, point 9). Here it learns to
copy clean images; it denoises by copying the noisy one, and completes by copying one whose unknown pixels are 0.
"""

from itertools import pairwise
from pathlib import Path

import pandas as pd
import torch
from torch import Tensor, nn
from torch.nn.functional import mse_loss

from .. import valid
from ..engine.arguments import Count, Sizes
from ..engine.epochs import Schedule, State, one_pass, run
from ..errors import WrongShape, whole
from .kinds import KINDS, Kind


class Autoencoder(nn.Module):
    """pixels -> hidden -> ... -> pixels, ReLU between layers, a sigmoid at the end.

    Args:
        pixels: size of an image.
        hidden: widths of the hidden layers.
        generator: draws the initial weights, N(0, 2 / inputs); biases start at 0. None: a new one seeded with 0.
    """

    @valid.checked
    def __init__(self, pixels: Count = 784, hidden: Sizes = (512, 512),
                 generator: torch.Generator | None = None) -> None:
        super().__init__()
        generator, self.pixels = generator or torch.Generator().manual_seed(0), whole(pixels, "pixels")
        hidden = [whole(size, "size of a layer") for size in valid.several(hidden, "hidden")]
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise([pixels, *hidden, pixels]))
        with torch.no_grad():
            for layer in self.layers:
                layer.bias.zero_()
                drawn = torch.randn(layer.weight.shape, generator=generator)
                layer.weight.copy_(drawn * (2 / layer.in_features) ** 0.5)

    def forward(self, images: Tensor) -> Tensor:
        """``(batch, pixels)`` to the copied images, ``(batch, pixels)`` in [0, 1]. Raises WrongShape."""
        if images.ndim != 2 or images.shape[-1] != self.pixels:
            raise WrongShape(f"images are {tuple(images.shape)}; expected (batch, {self.pixels}).")
        for layer in self.layers[:-1]:
            images = layer(images).relu()
        return self.layers[-1](images).sigmoid()


@valid.checked
def complete(model: Autoencoder, images: Tensor, known: Tensor) -> Tensor:
    """Copy images with their unknown pixels at 0, and put the known ones back. ``known`` is ``(pixels,)`` bool."""
    images, known = valid.images(images, pixels=model.pixels), valid.mask(known, "known", (model.pixels,))
    with torch.no_grad():
        return torch.where(known, images, model(torch.where(known, images, 0)))


@valid.checked
def fit_autoencoder(model: Autoencoder, images: Tensor, *, validation: Tensor | None = None,
                    checkpoint: Path | None = None, generator: torch.Generator | None = None, progress: bool = True,
                    **settings: object) -> pd.DataFrame:
    """Train in place on the squared error of ``(count, pixels)``; with validation images the best epoch is kept.

    Returns:
        one row an epoch: epoch, loss, seconds, validation (minus the error).

    Raises:
        BadInput, WrongShape, BadValues: no images, or images that do not fit. BadFile: a damaged checkpoint.
    """
    schedule, like = Schedule(**settings), model.layers[0].weight
    for some in (images,) if validation is None else (images, validation):
        valid.images(some, pixels=model.pixels)

    def learn(rows: Tensor) -> dict[str, float]:
        batch = images[rows].to(like)
        loss = mse_loss(model(batch), batch)
        loss.backward()
        return {"loss": float(loss.detach())}

    @torch.no_grad()
    def score() -> float:
        return -float(mse_loss(model(validation.to(like)), validation.to(like)))

    state = State(model, schedule, generator or torch.Generator().manual_seed(0), checkpoint,
                  {"autoencoder": [layer.in_features for layer in model.layers]},
                  data=[images] if validation is None else [images, validation])
    return run(state, lambda: one_pass(state, len(images), learn, progress), None if validation is None else score,
               progress)


KINDS["autoencoder"] = Kind(Autoencoder, fit_autoencoder, Schedule, given=(), without=("optimizer",))
