"""A restricted Boltzmann machine for appendices D and E: visible and hidden vertices, and edges only between the two.

    E(v, h) = -v W h - b v - c h,      h_j in {0, 1}, pixels in {0, 1}, one label of all on

Given one layer the vertices of the other are independent, so the machine is sampled layer by layer (Gibbs), and the
hidden vertices can be summed out: the free energy is exact, and with it the probability of each label given the pixels
(Larochelle and Bengio 2008). Learning is contrastive divergence (Hinton 2002): the statistics of the data less those
after a few Gibbs steps from the data. Grey pixels count as probabilities.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot, softplus

from .. import valid
from ..engine.epochs import State
from ..engine.scale import unscaled
from ..valid import Count, NotNegative
from .kinds import Classifier, by_epochs, with_labels


class RBM(Classifier):
    """pixels + labels, and hidden vertices.

    Args:
        labels: at least 1; they are one vertex with as many states (softmax).
        gibbs: Gibbs steps of contrastive divergence.
        init_std: of the initial weights; biases start at 0.
        generator: draws the initial weights. None: a new one seeded with 0.
    """

    @valid.checked
    def __init__(self, pixels: Count = 784, labels: Count = 10, hidden: Count = 512, *, gibbs: Count = 1,
                 init_std: NotNegative = 0.01, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.pixels, self.labels, self.hidden, self.gibbs = pixels, labels, hidden, gibbs
        self.visible = pixels + labels
        drawn = torch.randn(self.visible, hidden, generator=generator or torch.Generator().manual_seed(0)) * init_std
        self.weight = nn.Parameter(drawn, requires_grad=False)
        self.visible_bias = nn.Parameter(torch.zeros(self.visible), requires_grad=False)
        self.hidden_bias = nn.Parameter(torch.zeros(hidden), requires_grad=False)

    def hidden_mean(self, visible: Tensor) -> Tensor:
        """p(h_j = 1 | v). ``(batch, visible)`` to ``(batch, hidden)``."""
        return (visible @ self.weight + self.hidden_bias).sigmoid()

    def visible_mean(self, hidden: Tensor) -> Tensor:
        """p(pixel = 1 | h) and p(label | h). ``(batch, hidden)`` to ``(batch, visible)``."""
        field = hidden @ self.weight.T + self.visible_bias
        return torch.cat([field[..., :self.pixels].sigmoid(), field[..., self.pixels:].softmax(-1)], -1)

    def sample(self, visible: Tensor, steps: int, generator: torch.Generator, held: Tensor | None = None) -> Tensor:
        """Gibbs steps from ``visible``; the last one gives means instead of states, which are less noisy.

        Args:
            visible: ``(batch, visible)`` in [0, 1]: pixels, then labels (all 0: none is on at the start).
            held: ``(visible,)`` bool, which vertices keep their values throughout.

        Returns:
            ``(batch, visible)``.
        """
        start, mean = visible, visible
        for step in range(steps):
            mean = self.visible_mean(_drawn(self.hidden_mean(visible), generator))
            mean = mean if held is None else torch.where(held, start, mean)
            if step + 1 < steps:
                visible = self._state(mean, generator)
                visible = visible if held is None else torch.where(held, start, visible)
        return mean

    def _state(self, mean: Tensor, generator: torch.Generator) -> Tensor:
        """Pixels drawn one by one, and one label."""
        chances = mean[:, self.pixels:].cumsum(-1)                         # (batch, labels)
        at = torch.rand(len(mean), 1, generator=generator).to(mean) * chances[:, -1:]
        label = (at >= chances).sum(-1).clamp_max(self.labels - 1)
        return torch.cat([_drawn(mean[:, :self.pixels], generator), one_hot(label, self.labels).to(mean)], -1)

    def scores(self, images: Tensor) -> Tensor:
        """log p(label | pixels) up to a constant for each image. ``(batch, pixels)`` to ``(batch, labels)``."""
        field = images.to(self.weight) @ self.weight[:self.pixels] + self.hidden_bias      # (batch, hidden)
        scores = [softplus(field + row).sum(-1) for row in self.weight[self.pixels:]]
        return torch.stack(scores, -1) + self.visible_bias[self.pixels:]

    def prepare(self, images: Tensor, labels: Tensor) -> None:
        """Start the visible biases at the log-odds of the means, so that weights need not explain those.

        Raises BadInput (pixels outside [0, 1]).
        """
        valid.clean(images, "images")
        means = with_labels(images, labels, self.labels).mean(0).clamp(0.01, 0.99)
        self.visible_bias[:] = torch.cat([means[:self.pixels].logit(), means[self.pixels:].log()])

    def learn(self, images: Tensor, labels: Tensor, state: State) -> dict[str, float]:
        """``reconstruction`` is the squared error of the pixels after the Gibbs steps."""
        data = with_labels(images, labels, self.labels).to(self.weight)
        dream = self.sample(data, self.gibbs, state.generator)
        for name, gradient in contrast(self, data, dream).items():
            getattr(self, name).grad = gradient
        return {"reconstruction": float((dream - data)[:, :self.pixels].square().mean())}


@valid.checked
def denoise(model: RBM, images: Tensor, steps: Count, generator: torch.Generator) -> Tensor:
    """Gibbs steps from noisy images, clipped to [0, 1], with nothing held. ``(batch, pixels)`` to the same."""
    images = unscaled(images, pixels=model.pixels)
    start = torch.cat([images.to(model.weight).clamp(0, 1), model.weight.new_zeros(len(images), model.labels)], -1)
    return model.sample(start, steps, generator)[:, :model.pixels]


@valid.checked
def complete(model: RBM, images: Tensor, known: Tensor, steps: Count, generator: torch.Generator) -> Tensor:
    """Gibbs steps with the known pixels held. The others start at 0, and their values are not used.

    Args:
        known: ``(pixels,)`` bool.
    """
    images = unscaled(images, pixels=model.pixels)
    known = valid.mask(known, "known", (model.pixels,)).to(model.weight.device)
    labels = model.weight.new_zeros(len(images), model.labels)
    start = torch.cat([torch.where(known, images.to(model.weight), 0), labels], -1)
    held = torch.cat([known, torch.zeros(model.labels, dtype=torch.bool, device=known.device)])
    return model.sample(start, steps, generator, held)[:, :model.pixels]


def contrast(model: RBM, data: Tensor, dream: Tensor) -> dict[str, Tensor]:
    """Parameter -> the dream's mean statistics less the data's: the gradient of minus the log-likelihood, if exact.

    Args:
        data, dream: visible vectors ``(batch, visible)``; their batches may differ.
    """
    there, here = model.hidden_mean(dream), model.hidden_mean(data)        # (batch, hidden)
    return {"weight": dream.T @ there / len(dream) - data.T @ here / len(data),
            "visible_bias": dream.mean(0) - data.mean(0), "hidden_bias": there.mean(0) - here.mean(0)}


def _drawn(mean: Tensor, generator: torch.Generator) -> Tensor:
    """States of independent vertices with these means."""
    return (torch.rand(mean.shape, generator=generator).to(mean) < mean).to(mean)


fit_rbm = by_epochs("rbm", RBM)
