"""The paper's baseline of section 4: an autoencoder of the same shape, trained with backpropagation.

The paper does not say how it is trained or how it is given half an image (ambiguity log, point 9). Here it learns to
copy clean images; it denoises by copying the noisy one, and completes by copying one whose unknown pixels are 0.
"""

import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pandas as pd
import torch
from torch import Tensor, nn
from torch.nn.functional import mse_loss
from tqdm import tqdm

from .errors import BadInput, BadValues, WrongShape


class Autoencoder(nn.Module):
    """pixels -> hidden -> ... -> pixels, ReLU between layers, a sigmoid at the end.

    Args:
        pixels: size of an image.
        hidden: widths of the hidden layers.
        generator: draws the initial weights, N(0, 2 / inputs); biases start at 0. None: a new one seeded with 0.
    """

    def __init__(self, pixels: int = 784, hidden: Sequence[int] = (512, 512),
                 generator: torch.Generator | None = None) -> None:
        super().__init__()
        generator, self.pixels = generator or torch.Generator().manual_seed(0), pixels
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


def complete(model: Autoencoder, images: Tensor, known: Tensor) -> Tensor:
    """Copy images with their unknown pixels at 0, and put the known ones back. ``known`` is ``(pixels,)`` bool."""
    with torch.no_grad():
        return torch.where(known, images, model(torch.where(known, images, 0)))


def fit_autoencoder(model: Autoencoder, images: Tensor, *, validation: Tensor | None = None, epochs: int = 20,
                    batch_size: int = 500, weight_lr: float = 1e-4, weight_decay: float = 0.0,
                    patience: int | None = None, checkpoint: Path | None = None,
                    generator: torch.Generator | None = None, progress: bool = True) -> pd.DataFrame:
    """Train in place with Adam on the squared error; with validation images the best epoch is kept.

    Args:
        images: ``(count, pixels)`` in [0, 1].
        patience: stop after this many epochs without a better validation score (minus the error). None: never.
        checkpoint: taken for the sake of one call for all models; a training of a minute needs none.

    Returns:
        one row an epoch: epoch, loss, validation, seconds.

    Raises:
        BadInput, WrongShape, BadValues: no images, or images that do not fit.
    """
    if epochs < 1 or batch_size < 1 or not len(images):
        raise BadInput(f"epochs = {epochs}, batch_size = {batch_size}, {len(images)} images; each must be at least 1.")
    if not torch.isfinite(images).all():
        raise BadValues("the images hold NaN or infinite entries; clean the data first.")
    device, generator = model.layers[0].weight.device, generator or torch.Generator().manual_seed(0)
    optimizer = torch.optim.Adam(model.parameters(), lr=weight_lr, weight_decay=weight_decay)
    rows, best = [], (float("-inf"), {})
    for epoch in tqdm(range(1, epochs + 1), desc="epochs", disable=not progress):
        began, total = time.perf_counter(), 0.0
        for chosen in torch.randperm(len(images), generator=generator).split(batch_size):
            total += _learn(model, optimizer, images[chosen].to(device)) * len(chosen)
        rows.append({"epoch": epoch, "loss": total / len(images)})
        if validation is not None:
            with torch.no_grad():
                score = -float(mse_loss(model(validation.to(device)), validation.to(device)))
            rows[-1]["validation"] = score
            if score > best[0]:
                best = score, {name: value.clone() for name, value in model.state_dict().items()}
        rows[-1]["seconds"] = time.perf_counter() - began
        if patience and validation is not None and max(r["validation"] for r in rows[-patience:]) < best[0]:
            break
    if best[1]:
        model.load_state_dict(best[1])
    return pd.DataFrame(rows)


def _learn(model: Autoencoder, optimizer: torch.optim.Optimizer, images: Tensor) -> float:
    loss = mse_loss(model(images), images)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return float(loss.detach())
