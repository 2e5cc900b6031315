"""The paper's baseline of section 4: an autoencoder of the same shape, trained with backpropagation.

The paper does not say how it is trained or how it is given half an image (ambiguity log, point 9). Here it learns to
copy clean images; it denoises by copying the noisy one, and completes by copying one whose unknown pixels are 0.
"""

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn.functional import mse_loss

from .. import valid
from ..engine.epochs import State
from ..engine.scale import unscaled
from ..errors import WrongShape
from ..valid import Count, Layers
from .kinds import Baseline, Labelled, by_epochs


class Autoencoder(Baseline):
    """pixels -> hidden -> ... -> pixels, ReLU between layers, a sigmoid at the end.

    Args:
        pixels: size of an image.
        hidden: widths of the hidden layers.
        generator: draws the initial weights, N(0, 2 / inputs); biases start at 0. None: a new one seeded with 0.
    """

    layers: Sequence[nn.Linear]

    @valid.checked
    def __init__(self, pixels: Count = 784, hidden: Layers = (512, 512),
                 generator: torch.Generator | None = None) -> None:
        super().__init__()
        generator, self.pixels = generator or torch.Generator().manual_seed(0), pixels
        self.layers = nn.ModuleList(  # type: ignore[assignment]
            nn.Linear(a, b) for a, b in pairwise([pixels, *hidden, pixels]))
        with torch.no_grad():
            for layer in self.layers:
                layer.bias.zero_()
                drawn = torch.randn(layer.weight.shape, generator=generator)
                layer.weight.copy_(drawn * (2 / layer.in_features) ** 0.5)

    def forward(self, images: Tensor) -> Tensor:
        """``(batch, pixels)`` to the copied images, ``(batch, pixels)`` in [0, 1]. Raises WrongShape."""
        if images.ndim != 2 or images.shape[-1] != self.pixels:
            raise WrongShape(f"images are {tuple(images.shape)}; expected (batch, {self.pixels}).")
        images = images.to(self.layers[0].weight)
        for layer in self.layers[:-1]:
            images = layer(images).relu()
        return self.layers[-1](images).sigmoid()

    def error(self, images: Tensor) -> Tensor:
        """Squared error of the copies, a 0-d tensor."""
        copies = self(images)
        return mse_loss(copies, images.to(copies))

    def learn(self, images: Tensor, labels: Tensor, state: State) -> dict[str, float]:
        loss = self.error(images)
        loss.backward()
        return {"loss": float(loss.detach())}

    @torch.no_grad()
    def score(self, data: Labelled) -> float:
        """Minus the squared error of all images."""
        return -float(self.error(self.check(data)[0]))


@valid.checked
def complete(model: Autoencoder, images: Tensor, known: Tensor) -> Tensor:
    """Copy images with unknown pixels at 0, and restore the known ones. ``known`` is ``(pixels,)`` bool."""
    images, known = unscaled(images, pixels=model.pixels), valid.mask(known, "known", (model.pixels,))
    images = images.to(model.layers[0].weight)
    with torch.no_grad():
        return torch.where(known, images, model(torch.where(known, images, 0)))


fit_autoencoder = by_epochs("autoencoder", Autoencoder, given=(), without=("optimizer",))
