"""The linear classifier of section 3, for which the paper names no method: three usual ones.

Each gives every class a score that is linear in the pixels, and answers with the class of the largest. Least squares
fits the scores to one-hot labels; logistic regression makes the labels likely under their softmax; discriminant
analysis takes classes for normal distributions with one covariance, and scores their logarithm.
"""

import math
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Annotated

import pandas as pd
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, one_hot

from .. import valid
from ..engine.epochs import Callback
from ..errors import BadValues
from ..valid import Count, NotNegative, OneOf
from .kinds import KINDS, Classifier, Kind, Labelled, in_one_row

METHODS = ("least-squares", "logistic-regression", "discriminant-analysis")
CHUNK = 5000                                                               # images that are float64 at a time


class Linear(Classifier):
    """pixels -> labels with a bias; starts at zero."""

    @valid.checked
    def __init__(self, pixels: Count = 784, labels: Count = 10) -> None:
        super().__init__()
        self.pixels, self.labels = pixels, labels
        self.weight = nn.Parameter(torch.zeros(pixels, labels), requires_grad=False)
        self.bias = nn.Parameter(torch.zeros(labels), requires_grad=False)

    def scores(self, images: Tensor) -> Tensor:
        """``(batch, pixels)`` to ``(batch, labels)``."""
        return images.to(self.weight) @ self.weight + self.bias


@valid.checked
def fit_linear(model: Linear, images: Tensor, labels: Tensor, *, method: Annotated[str, OneOf(METHODS)],
               validation: Labelled | None = None,
               weight_decay: NotNegative = 0.0, iterations: Count = 200, checkpoint: Path | str | None = None,
               generator: torch.Generator | None = None, progress: bool = True,
               callback: Callback | None = None) -> pd.DataFrame:
    """Train in place. Every method has one solution and nothing is drawn, so all seeds with the same images end alike.

    Args:
        images, labels: ``(count, pixels)`` and ``(count,)`` class numbers.
        validation: only measured, not used for any choice.
        weight_decay: half of it times the squared weights, without the bias, is added to the loss of an example;
            discriminant analysis adds it to the variance of every pixel.
        iterations: of L-BFGS, at most; the others need none.
        checkpoint, generator, progress: not used, but all models have the same call.
        callback: called with the model and the row of the history at the end.

    Returns:
        One row of epoch, loss (mean over the images), validation and seconds.

    Raises:
        WrongShape, BadValues, BadInput, UnknownName: data or settings that do not fit.
    """
    images, labels = model.check((images, labels))
    validation = None if validation is None else model.check(validation)
    began = time.perf_counter()
    solvers: dict[str, Callable[..., float]] = {
        "least-squares": _least_squares, "logistic-regression": partial(_logistic, iterations=iterations),
        "discriminant-analysis": _discriminant}
    loss = solvers[method](model, images.to(model.weight), labels.to(model.weight.device), weight_decay)
    if not math.isfinite(loss):
        raise BadValues(f"the loss is {loss} with weight_decay = {weight_decay:g}; expected a finite number. Take a "
                        "smaller weight_decay.")
    found = {} if validation is None else {"validation": model.score(validation)}
    return in_one_row(model, {"epoch": 1, "loss": loss, **found, "seconds": time.perf_counter() - began}, callback)


KINDS["linear"] = Kind(Linear, fit_linear, fit_linear)


@torch.no_grad()
def _least_squares(model: Linear, images: Tensor, labels: Tensor, decay: float) -> float:
    """Solve the normal equations in float64; of many solutions (some pixels are always 0) take the smallest."""
    gram, cross = _products(model, images, labels)
    gram.diagonal()[:-1].add_(decay * len(images))
    best = torch.linalg.lstsq(gram, cross, driver="gelsd").solution        # (pixels + 1, labels), of least norm
    model.weight.copy_(best[:-1])
    model.bias.copy_(best[-1])
    total = sum((truth.to(model.weight) - model.scores(part)).square().sum()
                for part, truth in _parts(model, images, labels))
    return float(total / (2 * len(images)))


@torch.no_grad()
def _discriminant(model: Linear, images: Tensor, labels: Tensor, decay: float) -> float:
    """The logarithm of each class's share and normal density, less what all classes have in common (Fisher, 1936)."""
    gram, cross = (one / len(images) for one in _products(model, images, labels))
    share = cross[-1]                                                      # (labels,), of the images
    means = cross[:-1] / share.clamp(min=1 / len(images))                  # (pixels, labels)
    covariance = gram[:-1, :-1] - (means * share) @ means.T                # within classes
    covariance.diagonal().add_(decay)
    weight = torch.linalg.lstsq(covariance, means, driver="gelsd").solution           # (pixels, labels)
    model.weight.copy_(weight)
    model.bias.copy_(share.log() - (weight * means).sum(0) / 2)
    return float(cross_entropy(model.scores(images), labels))


def _products(model: Linear, images: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Sums of x x^T and of x y^T in float64; x is an image with a 1 behind it, y its label, one-hot."""
    size = model.pixels + 1
    gram, cross = torch.zeros(size, size).double(), torch.zeros(size, model.labels).double()
    for part, truth in _parts(model, images, labels):
        x = torch.cat([part.cpu().double(), torch.ones(len(part), 1).double()], -1)         # (chunk, pixels + 1)
        gram += x.T @ x
        cross += x.T @ truth.cpu().double()
    return gram, cross


def _parts(model: Linear, images: Tensor, labels: Tensor) -> Iterable[tuple[Tensor, Tensor]]:
    """Images and one-hot labels, a chunk at a time."""
    return zip(images.split(CHUNK), one_hot(labels, model.labels).split(CHUNK), strict=True)


def _logistic(model: Linear, images: Tensor, labels: Tensor, decay: float, *, iterations: int) -> float:
    """Minimize the cross-entropy with L-BFGS on all images at once."""
    parameters = [model.weight.requires_grad_(), model.bias.requires_grad_()]
    optimizer = torch.optim.LBFGS(parameters, max_iter=iterations, tolerance_grad=1e-6, tolerance_change=1e-10,
                                  history_size=20, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = cross_entropy(model.scores(images), labels) + decay / 2 * model.weight.square().sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    model.requires_grad_(False)
    return float(cross_entropy(model.scores(images), labels))
