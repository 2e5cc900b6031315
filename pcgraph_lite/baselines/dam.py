"""A dense associative memory that classifies (Krotov and Hopfield 2016), for appendix D.

    E(x) = -sum_mu F(xi_mu . x),      F(z) = max(z, 0)^n,      x = pixels and labels in [-1, 1]

The pixels are held, all labels are off (-1), and each label takes one step by the fall of the energy if it were on (the
source's equation 9):

    c_a = tanh(sum_mu F(h_mu + 2 xi_mu,a) - F(h_mu)),      h_mu = xi_mu . x with all labels off, over a temperature

The memories are learned: C = sum (c - t)^(2m) falls by momentum steps that are scaled, memory by memory, so that the
largest change is the learning rate; entries stay in [-1, 1] (equations 12 to 14). Learning rate and temperature fall
during training. Temperatures are given as a share of the number of vertices, so that they mean the same for any image.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

import torch
from annotated_types import Ge, Le
from torch import Tensor, nn
from torch.nn.functional import one_hot

from .. import valid
from ..engine.epochs import Schedule, State
from ..valid import Count, Damping, PartOf, Rate
from .kinds import Classifier, by_epochs

START_MEAN, START_STD = -0.3, 0.3                                          # of the memories, the source's
Mean = Annotated[float, Ge(-1), Le(1)]
ROWS = 250                                         # images looked at together: what they need fits a cache


class DAM(Classifier):
    """``memories`` vectors over pixels + labels.

    Args:
        memories: K, how many.
        power: n, of the rectified polynomial F.
        start_mean: of the initial memories, N(start_mean, 0.09) clipped to [-1, 1]. None: the source's -0.3, which
            suits dark pictures, as of digits: each memory overlaps with them. With bright ones hardly any does.
        generator: draws the initial memories. None: a new one seeded with 0.
    """

    @valid.checked
    def __init__(self, pixels: Count = 784, labels: Count = 10, *, memories: Count = 2000,
                 power: Annotated[int, Ge(2)] = 3, start_mean: Mean | None = None,
                 generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.pixels, self.labels, self.n, self.power = pixels, labels, pixels + labels, power
        generator = generator or torch.Generator().manual_seed(0)
        mean = START_MEAN if start_mean is None else start_mean
        drawn = torch.randn(memories, self.n, generator=generator) * START_STD + mean
        self.memory = nn.Parameter(drawn.clamp_(-1, 1), requires_grad=False)

    def overlap(self, images: Tensor) -> Tensor:
        """h, every label off: ``(batch, pixels)`` in [0, 1] to ``(batch, memories)``."""
        x = 2 * images.to(self.memory) - 1
        return x @ self.memory[:, :self.pixels].T - self.memory[:, self.pixels:].sum(-1)

    def gain(self, images: Tensor, temperature: float = 1.0) -> Tensor:
        """The fall of the energy when a label is turned on. ``(batch, pixels)`` to ``(batch, labels)``."""
        scale = temperature * self.n
        return self.gain_of(self.overlap(images) / scale, scale)

    scores = gain

    def gain_of(self, off: Tensor, scale: float) -> Tensor:
        """``gain`` from the overlap over its scale, ``(batch, memories)`` to ``(batch, labels)``."""
        lit = (off + 2 * xi / scale for xi in self.memory[:, self.pixels:].T)
        base = off.clamp_min(0).pow(self.power)
        return torch.stack([(on.clamp_min(0).pow(self.power) - base).sum(-1) for on in lit], -1)

    def learn(self, images: Tensor, labels: Tensor, state: State) -> dict[str, float]:
        annealing = state.schedule
        temperature = annealing.temperature(state.epoch)
        self.memory.grad = gradient(self, images, labels, temperature, annealing.loss_power)
        return {"temperature": temperature}


def gradient(model: DAM, images: Tensor, labels: Tensor, temperature: float, loss_power: int) -> Tensor:
    """Of C = sum over batch and labels of (c - t)^(2 loss_power), with respect to the memories, of their shape.

    Args:
        images, labels: ``(batch, pixels)`` in [0, 1] and ``(batch,)`` class numbers.
    """
    parts = zip(images.split(ROWS), labels.split(ROWS), strict=True)
    return torch.stack([_gradient(model, *part, temperature, loss_power) for part in parts]).sum(0)


def _gradient(model: DAM, images: Tensor, labels: Tensor, temperature: float, loss_power: int) -> Tensor:
    """Of the same sum over a few images."""
    n, scale = model.power, temperature * model.n
    off = model.overlap(images) / scale                                    # (batch, memories)
    c = model.gain_of(off, scale).tanh()                                    # (batch, labels)
    target = 2 * one_hot(labels.to(c.device), model.labels).to(c) - 1
    slope = 2 * loss_power * (c - target).pow(2 * loss_power - 1) * (1 - c * c) * n / scale
    shared = -slope.sum(-1, keepdim=True) * off.clamp_min(0).pow(n - 1)
    own = []
    for a, xi in enumerate(model.memory[:, model.pixels:].T):
        lit = slope[:, a, None] * (off + 2 * xi / scale).clamp_min(0).pow(n - 1)
        shared += lit
        own.append(2 * lit.sum(0))                                         # the label that is on: 1 instead of -1
    total = shared.sum(0)                                                  # (memories,): of labels, which are at -1
    return torch.cat([shared.T @ (2 * images.to(off) - 1), torch.stack(own, -1) - total[:, None]], -1)


class Scaled(torch.optim.Optimizer):
    """``V <- p V - gradient``, then ``xi <- xi + lr V / max_i |V_i|`` for each memory, clipped to [-1, 1] (eq. 13)."""

    def __init__(self, parameters: Iterable[nn.Parameter], lr: float, momentum: float) -> None:
        super().__init__(parameters, {"lr": lr, "momentum": momentum})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]  # it takes none
        """Update every parameter that has a gradient."""
        for group in self.param_groups:
            for p in (p for p in group["params"] if p.grad is not None):
                state = self.state[p]
                velocity = state.setdefault("velocity", torch.zeros_like(p))
                velocity.mul_(group["momentum"]).sub_(p.grad)
                largest = velocity.abs().amax(-1, keepdim=True).clamp_min(torch.finfo(p.dtype).tiny)
                p.add_(velocity / largest, alpha=group["lr"]).clamp_(-1, 1)


@valid.checked
@dataclass(frozen=True)
class Annealing(Schedule):
    """Settings of ``fit_dam``: those of epochs.Schedule (``weight_lr``: the first learning rate), and the source's.

    Args:
        momentum: p, of the velocity.
        lr_decay: factor on the learning rate after each epoch.
        loss_power: m, half the power of the loss.
        warm, cold: temperature at the start and from epoch ``ramp`` on, straight in between.
        ramp: epochs.
    """

    weight_lr: Rate = 0.04
    batch_size: Count = 1000
    momentum: Damping = 0.6
    lr_decay: PartOf = 0.998
    loss_power: Count = 10
    warm: Rate = 0.5
    cold: Rate = 0.125
    ramp: Count = 100

    def stepper(self, parameters: Iterable[nn.Parameter], lr: float) -> Scaled:
        return Scaled(parameters, lr, self.momentum)

    def rate(self, done: float, batch: float) -> float:
        return super().rate(done, batch) * self.lr_decay**int(done)

    def temperature(self, epoch: int) -> float:
        """Temperature in an epoch, counted from 0."""
        return self.warm + (self.cold - self.warm) * min(1.0, epoch / self.ramp)


fit_dam = by_epochs("dam", DAM, Annealing, without=("weight_decay", "optimizer"))
