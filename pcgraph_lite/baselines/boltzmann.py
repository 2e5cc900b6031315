"""An unrestricted Boltzmann machine for section 3: every two vertices are joined, visible and hidden ones alike.

    E(s) = -1/2 sum_ij w_ij s_i s_j - sum_i b_i s_i,      s_i in {0, 1}, w_ij = w_ji, w_ii = 0.

The gradient of the log-likelihood is the correlation <s_i s_j> with pixels and labels clamped less that of the free
machine. Sampling both would take very long on a machine without layers, so they are taken deterministically (Peterson
and Anderson 1987): the means m_i, fixed points of m = sigmoid(m W + b), stand for states, m_i m_j for <s_i s_j>.
The free phase starts where the clamped one ended and is short, as in contrastive learning (Welling and Hinton 2002):
left to run long it would leave the data for the machine's few deepest minima.

Labels are queried as in a PC graph: pixels are held, everything else relaxes, and the largest label wins.
"""

import torch
from torch import Tensor, nn

from .. import valid
from ..engine.epochs import State
from ..valid import Count, Damping, NotNegative
from .kinds import Classifier, by_epochs, with_labels


class Boltzmann(Classifier):
    """pixels + labels + hidden vertices; the weight matrix is symmetric and its diagonal 0.

    Args:
        hidden: vertices that are neither pixels nor labels.
        clamped_steps, free_steps: mean-field steps of the two phases of learning.
        query_steps: mean-field steps of a classification.
        damping: share of the old mean that a step keeps; below 1. Without it, means may oscillate.
        init_std: of the initial weights.
        generator: draws the initial weights. None: a new one seeded with 0.
    """

    @valid.checked
    def __init__(self, pixels: Count = 784, labels: Count = 10, hidden: Count = 1206, *, clamped_steps: Count = 10,
                 free_steps: Count = 5, query_steps: Count = 20, damping: Damping = 0.5, init_std: NotNegative = 0.01,
                 generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.pixels, self.labels, self.visible, self.n = pixels, labels, pixels + labels, pixels + labels + hidden
        self.clamped_steps, self.free_steps, self.query_steps = clamped_steps, free_steps, query_steps
        self.damping = damping
        drawn = torch.randn(self.n, self.n, generator=generator or torch.Generator().manual_seed(0)).triu(1) * init_std
        self.weight = nn.Parameter(drawn + drawn.T, requires_grad=False)
        self.bias = nn.Parameter(torch.zeros(self.n), requires_grad=False)

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

    def scores(self, images: Tensor) -> Tensor:
        """The means of the label vertices while pixels are held."""
        mean = images.new_full((len(images), self.n), 0.5).to(self.weight)
        mean[:, :self.pixels], mean[:, self.pixels:self.visible] = images.to(mean), 1 / self.labels
        return self.relax(mean, self.pixels, self.query_steps)[:, self.pixels:self.visible]

    def prepare(self, images: Tensor, labels: Tensor) -> None:
        """Start the biases of pixels and labels at the log-odds of their means, so that weights need not explain those.

        Raises BadInput (pixels outside [0, 1]).
        """
        valid.clean(images, "images")
        self.bias[:self.visible] = with_labels(images, labels, self.labels).mean(0).clamp(0.01, 0.99).logit()

    def learn(self, images: Tensor, labels: Tensor, state: State) -> dict[str, float]:
        """``reconstruction`` is the squared error of the visible means after the free phase."""
        clamped, free = self.phases(with_labels(images, labels, self.labels).to(self.weight))
        self.weight.grad, self.bias.grad = contrast(clamped, free)
        return {"reconstruction": float((clamped - free)[:, :self.visible].square().mean())}


def contrast(clamped: Tensor, free: Tensor) -> tuple[Tensor, Tensor]:
    """The gradient of minus the log-likelihood: correlations and means of the free phase less those of the clamped one.

    Args:
        clamped, free: states or their means, ``(batch, n)``, with equal weights; the batches may differ.

    Returns:
        for the weights ``(n, n)``, symmetric with diagonal 0, and for the biases ``(n,)``.
    """
    weight = free.T @ free / len(free) - clamped.T @ clamped / len(clamped)
    weight = ((weight + weight.T) / 2).fill_diagonal_(0)                   # exactly symmetric, whatever the rounding
    return weight, free.mean(0) - clamped.mean(0)


fit_boltzmann = by_epochs("boltzmann", Boltzmann)
