"""The yardstick of appendix D: a multilayer perceptron trained with backpropagation (Rumelhart et al. 1986).

It is the function that a discriminative PC graph computes from its pixels to its labels, mu = f(x) W layer by layer
(eq. 1), so the two differ only in how they learn. The energy of that graph, with pixels and labels held and every
hidden vertex at its prediction, is half the squared error of the labels; that is the loss here.
"""

import time
from itertools import pairwise
from pathlib import Path
from typing import Annotated

import pandas as pd
import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot

from ..engine import activations
from ..engine.arguments import OneOf, Sizes
from ..engine.epochs import Schedule, State, run, shuffled
from ..errors import whole
from .checks import Labelled, check_images, check_training, scorer
from .kinds import baseline


class MLP(nn.Module):
    """pixels -> hidden -> ... -> labels, without biases, as the graph has none.

    Args:
        hidden: widths of the hidden layers.
        activation: f, as of a PCGraph; it also acts on the pixels.
        generator: draws the initial weights, N(0, 1 / inputs), as of a PCGraph. None: a new one seeded with 0.
    """

    def __init__(self, pixels: int = 784, labels: int = 10, hidden: Sizes = (256, 256), *,
                 activation: Annotated[str, OneOf(activations.ACTIVATIONS)] = "relu",
                 generator: torch.Generator | None = None) -> None:
        super().__init__()
        generator, self.f = generator or torch.Generator().manual_seed(0), activations.named(activation)
        sizes = [whole(size, "size of a layer") for size in (pixels, *hidden, labels)]
        self.pixels, self.labels = pixels, labels
        self.weights = nn.ParameterList(
            nn.Parameter(torch.randn(a, b, generator=generator) * a**-0.5) for a, b in pairwise(sizes))

    def forward(self, images: Tensor) -> Tensor:
        """``(batch, pixels)`` to the labels' values, ``(batch, labels)``."""
        x = images.to(self.weights[0])
        for weight in self.weights:
            x = self.f(x) @ weight
        return x

    @torch.no_grad()
    def classify(self, images: Tensor) -> Tensor:
        """The class of the largest label. ``(batch, pixels)`` to ``(batch,)`` int."""
        check_images(images, self.pixels)
        return self(images).argmax(-1)


def loss(model: MLP, images: Tensor, labels: Tensor) -> Tensor:
    """Half the squared error of the labels, averaged over the batch: a 0-d tensor.

    Args:
        images, labels: ``(batch, pixels)`` and ``(batch,)`` class numbers.
    """
    out = model(images)
    return (out - one_hot(labels.to(out.device), model.labels)).square().sum(-1).mean() / 2


@baseline("mlp", MLP, Schedule)
def fit_mlp(model: MLP, images: Tensor, labels: Tensor, *, validation: Labelled | None = None,
            checkpoint: Path | None = None, generator: torch.Generator | None = None, progress: bool = True,
            **settings: object) -> pd.DataFrame:
    """Train in place; with validation images the epoch with the best accuracy on them is kept.

    Args:
        images, labels: ``(count, pixels)`` and ``(count,)`` class numbers.
        checkpoint: file that holds the whole state after each epoch; an existing one is resumed.
        generator: shuffles the images. None: a new one seeded with 0.
        settings: fields of epochs.Schedule.

    Returns:
        one row an epoch: epoch, loss (mean while it changes), seconds, validation.

    Raises:
        WrongShape, BadValues, BadInput: data or settings that do not fit. BadFile: a damaged checkpoint.
    """
    schedule = Schedule(**settings)
    check_training((images, labels), validation, model.pixels, model.labels)
    state = State(model, schedule, generator or torch.Generator().manual_seed(0), checkpoint,
                  {"mlp": [list(weight.shape) for weight in model.weights], "activation": model.f.name},
                  data=[images, labels, *(validation or ())])
    return run(state, lambda: _epoch(model, images, labels, state, progress), scorer(model, validation), progress)


def _epoch(model: MLP, images: Tensor, labels: Tensor, state: State, progress: bool) -> dict[str, float]:
    began, total = time.perf_counter(), 0.0
    for rows in shuffled(state, len(images), progress):
        value = loss(model, images[rows], labels[rows])
        state.optimizer.zero_grad()
        value.backward()
        state.step()
        total += float(value.detach()) * len(rows)
    return {"epoch": state.epoch + 1, "loss": total / len(images), "seconds": time.perf_counter() - began}
