"""Recurrent backpropagation on a fully connected network (Almeida 1990, Pineda 1987), for section 3.

Every vertex sends to every other. An image x is put into the pixel vertices, and the network relaxes to a fixed point

    y = f(y W + b + x),          f = tanh.

Its error e at the label vertices relaxes through the same edges, backwards, to the adjoint fixed point

    z = f'(u) * (z W^T + e),     u = y W + b + x,

and the gradient of the squared error 1/2 sum e^2 is y^T z for the weights and z for the biases: two relaxations and a
product of what is known at both ends of an edge, and no unrolling in time. It holds where both relaxations come to
rest; the sources assume that they do, so an example that has not come to rest teaches nothing here.

Choices that the sources leave open: the label vertices are to reach +target for the class and -target for the others,
inside the range of tanh; no self-edges; steps of a difference equation, damped if wanted, for a differential one.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot

from .. import valid
from ..engine.epochs import State
from ..valid import Count, Damping, Inside, NotNegative, Rate
from .kinds import Classifier, by_epochs


@dataclass(frozen=True, eq=False)
class Rest:
    """The end of a relaxation."""

    values: Tensor                                                         # (batch, n)
    settled: Tensor                                                        # (batch,) bool: the last step was small
    steps: int


class AlmeidaPineda(Classifier):
    """pixels + labels + internal vertices; ``weight[j, i]`` is the edge j -> i.

    Args:
        internal: vertices that are neither pixels nor labels.
        steps: at most, of a relaxation.
        tolerance: an example is at rest if no vertex moved by more in the last step.
        damping: share of the old value that a step keeps; below 1.
        target: of label vertices, with either sign; below 1, because tanh never reaches 1.
        init_std: of the initial weights. None: 0.2 / sqrt(n), small enough for a single fixed point.
        generator: draws the initial weights. None: a new one seeded with 0.
    """

    @valid.checked
    def __init__(self, pixels: Count = 784, labels: Count = 10, internal: Count = 1206, *, steps: Count = 50,
                 tolerance: Rate = 1e-3, damping: Damping = 0.0, target: Inside = 0.8,
                 init_std: NotNegative | None = None, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.pixels, self.labels, self.n = pixels, labels, pixels + labels + internal
        self.steps, self.tolerance, self.damping, self.target = steps, tolerance, damping, target
        drawn = torch.randn(self.n, self.n, generator=generator or torch.Generator().manual_seed(0))
        drawn *= 0.2 * self.n**-0.5 if init_std is None else init_std
        self.weight = nn.Parameter(drawn.fill_diagonal_(0), requires_grad=False)
        self.bias = nn.Parameter(torch.zeros(self.n), requires_grad=False)

    def forward(self, images: Tensor) -> Rest:
        """The fixed point y for images ``(batch, pixels)``, from y = 0."""
        outside = self.bias.expand(len(images), -1).clone()                # (batch, n): b + x
        outside[:, :self.pixels] += images.to(self.weight)
        return self._relax(lambda y: (y @ self.weight + outside).tanh_(), torch.zeros_like(outside))

    def adjoint(self, y: Tensor, error: Tensor) -> Rest:
        """The adjoint fixed point z, from z = 0, for a fixed point y and the error dL/dy, both ``(batch, n)``."""
        slope = 1 - y.square()                                             # f'(u) = 1 - tanh(u)^2
        scale = error.abs().amax(-1, keepdim=True).clamp_min(torch.finfo(error.dtype).tiny)     # errors grow small
        rest = self._relax(lambda z: slope * (z @ self.weight.T + error / scale), torch.zeros_like(y))
        return Rest(rest.values * scale, rest.settled, rest.steps)

    def gradient(self, images: Tensor, labels: Tensor) -> tuple[Tensor, Tensor, dict[str, float]]:
        """Gradient of ``1/2 |y_labels - wanted|^2``, mean over the batch, by the two relaxations.

        Returns:
            dL/dW ``(n, n)``, dL/db ``(n,)``, and of the batch: loss, settled (share that came to rest), steps.
        """
        ahead, where = self(images), slice(self.pixels, self.pixels + self.labels)
        error = torch.zeros_like(ahead.values)
        wanted = (2 * one_hot(labels.to(error.device), self.labels) - 1) * self.target
        error[:, where] = ahead.values[:, where] - wanted
        back = self.adjoint(ahead.values, error)
        at_rest = ahead.settled & back.settled
        z = back.values * at_rest.unsqueeze(-1) / len(images)              # (batch, n)
        facts = {"loss": float(error.square().sum() / (2 * len(images))), "settled": float(at_rest.double().mean()),
                 "steps": float(ahead.steps)}
        return (ahead.values.T @ z).fill_diagonal_(0), z.sum(0), facts

    def learn(self, images: Tensor, labels: Tensor, state: State) -> dict[str, float]:
        self.weight.grad, self.bias.grad, facts = self.gradient(images, labels)
        return facts

    def scores(self, images: Tensor) -> Tensor:
        """The values of the label vertices at the fixed point."""
        return self(images).values[:, self.pixels:self.pixels + self.labels]

    def _relax(self, update: Callable[[Tensor], Tensor], values: Tensor) -> Rest:
        taken, settled = 0, torch.zeros(len(values), dtype=torch.bool)
        while taken < self.steps and not settled.all():
            new, taken = update(values), taken + 1
            if self.damping:
                new = torch.lerp(new, values, self.damping)
            settled = (new - values).abs().amax(-1) <= self.tolerance      # (batch,)
            values = new
        return Rest(values, settled, taken)


fit_almeida_pineda = by_epochs("almeida-pineda", AlmeidaPineda)
