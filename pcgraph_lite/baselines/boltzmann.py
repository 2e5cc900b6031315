"""An unrestricted Boltzmann machine for section 3: every two vertices are joined, visible and hidden ones alike.

    E(s) = -1/2 sum_ij w_ij s_i s_j - sum_i b_i s_i,      s_i in {0, 1}, w_ij = w_ji, w_ii = 0.

The gradient of the log-likelihood is the correlation <s_i s_j> with pixels and labels clamped less that of the free
machine. Sampling both would take very long on a machine without layers, so they are taken deterministically (Peterson
and Anderson 1987): the means m_i, fixed points of m = sigmoid(m W + b), stand for states, m_i m_j for <s_i s_j>.
The free phase starts where the clamped one ended and is short, as in contrastive learning (Welling and Hinton 2002):
left to run long it would leave the data for the machine's few deepest minima.

Labels are asked like those of a PC graph: pixels held, all else relaxes, the largest label wins.
"""

import time
from pathlib import Path

import pandas as pd
import torch
from torch import Tensor, nn

from ..engine.arguments import Count, Damping, NotNegative
from ..engine.epochs import Schedule, State, run, shuffled
from ..errors import number, whole
from .checks import Labelled, check_images, check_training, check_unit_range, scorer, with_labels
from .kinds import baseline


class Boltzmann(nn.Module):
    """pixels + labels + hidden vertices; the weight matrix is symmetric and its diagonal 0.

    Args:
        hidden: vertices that are neither pixels nor labels.
        clamped_steps, free_steps: mean-field steps of the two phases of learning.
        query_steps: mean-field steps of a classification.
        damping: share of the old mean that a step keeps, less than 1; without it means may swing to and fro.
        init_std: of the initial weights.
        generator: draws the initial weights. None: a new one seeded with 0.
    """

    def __init__(self, pixels: int = 784, labels: int = 10, hidden: Count = 1206, *, clamped_steps: Count = 10,
                 free_steps: Count = 5, query_steps: Count = 20, damping: Damping = 0.5, init_std: NotNegative = 0.01,
                 generator: torch.Generator | None = None) -> None:
        super().__init__()
        for name, steps in (("clamped_steps", clamped_steps), ("free_steps", free_steps), ("query_steps", query_steps)):
            whole(steps, name)
        number(damping, "damping", "at least 0 and less than 1", lambda d: 0 <= d < 1)
        number(init_std, "init_std", "at least 0", lambda std: std >= 0)
        self.pixels, self.labels, self.visible, self.n = pixels, labels, pixels + labels, pixels + labels + hidden
        self.clamped_steps, self.free_steps, self.query_steps = clamped_steps, free_steps, query_steps
        self.damping = damping
        drawn = torch.randn(self.n, self.n, generator=generator or torch.Generator().manual_seed(0)).triu(1) * init_std
        self.weight = nn.Parameter(drawn + drawn.T, requires_grad=False)
        self.bias = nn.Parameter(torch.zeros(self.n), requires_grad=False)

    def energy(self, state: Tensor) -> Tensor:
        """E(s). ``(batch, n)`` to ``(batch,)``."""
        return -((state @ self.weight) * state).sum(-1) / 2 - state @ self.bias

    def free_energy(self, mean: Tensor) -> Tensor:
        """Mean energy less entropy of independent vertices with these means, in (0, 1). ``(batch, n)`` to ``(batch,)``.

        Its stationary points are the fixed points of ``relax``, and it is at least -log sum exp(-E).
        """
        return self.energy(mean) + (torch.special.xlogy(mean, mean) + torch.special.xlogy(1 - mean, 1 - mean)).sum(-1)

    def relax(self, mean: Tensor, free_from: int, steps: int) -> Tensor:
        """Mean-field steps m <- (1 - damping) sigmoid(m W + b) + damping m on the vertices from ``free_from`` on.

        Args:
            mean: ``(batch, n)`` in [0, 1]; not changed.
        """
        held, free = mean[:, :free_from], mean[:, free_from:]
        constant = self.bias[free_from:] + held @ self.weight[:free_from, free_from:]       # (batch, free)
        coupling = self.weight[free_from:, free_from:]
        for _ in range(steps):
            free = torch.lerp((constant + free @ coupling).sigmoid_(), free, self.damping)
        return torch.cat([held, free], -1)

    def phases(self, visible: Tensor) -> tuple[Tensor, Tensor]:
        """Means of the clamped and the free phase, both ``(batch, n)``; pixels and labels are ``(batch, visible)``."""
        start = torch.cat([visible, visible.new_full((len(visible), self.n - self.visible), 0.5)], -1)
        clamped = self.relax(start, self.visible, self.clamped_steps)
        return clamped, self.relax(clamped, 0, self.free_steps)

    def classify(self, images: Tensor) -> Tensor:
        """The label with the largest mean, pixels held. ``(batch, pixels)`` to ``(batch,)`` int."""
        check_images(images, self.pixels)
        mean = images.new_full((len(images), self.n), 0.5).to(self.weight)
        mean[:, :self.pixels], mean[:, self.pixels:self.visible] = images.to(mean), 1 / self.labels
        return self.relax(mean, self.pixels, self.query_steps)[:, self.pixels:self.visible].argmax(-1)


def contrast(clamped: Tensor, free: Tensor) -> tuple[Tensor, Tensor]:
    """The gradient of minus the log-likelihood: correlations and means of the free phase less those of the clamped one.

    Args:
        clamped, free: states or their means, ``(batch, n)``, each row counting alike; their batches may differ.

    Returns:
        for the weights ``(n, n)``, symmetric with diagonal 0, and for the biases ``(n,)``.
    """
    weight = free.T @ free / len(free) - clamped.T @ clamped / len(clamped)
    weight = ((weight + weight.T) / 2).fill_diagonal_(0)                   # exactly symmetric, whatever the rounding
    return weight, free.mean(0) - clamped.mean(0)


@baseline("boltzmann", Boltzmann, Schedule)
def fit_boltzmann(model: Boltzmann, images: Tensor, labels: Tensor, *, validation: Labelled | None = None,
                  checkpoint: Path | None = None, generator: torch.Generator | None = None, progress: bool = True,
                  **settings: object) -> pd.DataFrame:
    """Train in place; with validation images the epoch with the best accuracy on them is kept.

    The biases of pixels and labels start at the log-odds of their means, so that weights need not explain those.

    Args:
        images, labels: ``(count, pixels)`` in [0, 1] and ``(count,)`` class numbers.
        checkpoint: file that holds the whole state after each epoch; an existing one is resumed.
        generator: shuffles the images. None: a new one seeded with 0.
        settings: fields of epochs.Schedule.

    Returns:
        one row an epoch: epoch, reconstruction (squared error of the visible means after the free phase), seconds,
        validation.

    Raises:
        WrongShape, BadValues, BadInput: data or settings that do not fit. BadFile: a damaged checkpoint.
    """
    schedule = Schedule(**settings)
    check_training((images, labels), validation, model.pixels, model.labels)
    check_unit_range(images)
    data = with_labels((images, labels), model.labels)
    model.bias[:model.visible] = data.mean(0).clamp(0.01, 0.99).logit()
    facts = {"boltzmann": [model.pixels, model.labels, model.n, model.clamped_steps, model.free_steps, model.damping]}
    state = State(model, schedule, generator or torch.Generator().manual_seed(0), checkpoint, facts,
                  data=[images, labels, *(validation or ())])
    return run(state, lambda: _epoch(model, data, state, progress), scorer(model, validation), progress)


def _epoch(model: Boltzmann, data: Tensor, state: State, progress: bool) -> dict[str, float]:
    began, total = time.perf_counter(), 0.0
    for rows in shuffled(state, len(data), progress):
        clamped, free = model.phases(data[rows].to(model.weight))
        model.weight.grad, model.bias.grad = contrast(clamped, free)
        state.step()
        total += float((clamped - free)[:, :model.visible].square().mean()) * len(rows)
    return {"epoch": state.epoch + 1, "reconstruction": total / len(data), "seconds": time.perf_counter() - began}
