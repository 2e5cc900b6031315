"""The comparison of appendix D: a multilayer perceptron trained with backpropagation (Rumelhart et al. 1986).

It is the function that a discriminative PC graph computes from its pixels to its labels, mu = f(x) W layer by layer
(eq. 1), so the two differ only in how they learn. The energy of that graph, with pixels and labels held and every
hidden vertex at its prediction, is half the squared error of the labels; that is the loss here.
"""

from itertools import pairwise
from typing import Annotated

import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot

from .. import valid
from ..engine import activations
from ..engine.epochs import State
from ..valid import Count, Layers, OneOf
from .kinds import Classifier, by_epochs


class MLP(Classifier):
    """pixels -> hidden -> ... -> labels, without biases, like the graph.

    Args:
        hidden: widths of the hidden layers.
        activation: f, as in a PCGraph; it also acts on the pixels.
        generator: draws the initial weights, N(0, 1 / inputs), as of a PCGraph. None: a new one seeded with 0.
    """

    @valid.checked
    def __init__(self, pixels: Count = 784, labels: Count = 10, hidden: Layers = (256, 256), *,
                 activation: Annotated[str, OneOf(activations.ACTIVATIONS)] = "relu",
                 generator: torch.Generator | None = None) -> None:
        super().__init__()
        generator, self.f = generator or torch.Generator().manual_seed(0), activations.named(activation)
        self.activation = self.f.name                                      # a checkpoint is of one
        self.pixels, self.labels = pixels, labels
        self.weights = nn.ParameterList(nn.Parameter(torch.randn(a, b, generator=generator) * a**-0.5)
                                        for a, b in pairwise([pixels, *hidden, labels]))

    def forward(self, images: Tensor) -> Tensor:
        """``(batch, pixels)`` to the labels' values, ``(batch, labels)``."""
        x = images.to(self.weights[0])
        for weight in self.weights:
            x = self.f(x) @ weight
        return x

    scores = forward

    def learn(self, images: Tensor, labels: Tensor, state: State) -> dict[str, float]:
        value = loss(self, images, labels)
        value.backward()
        return {"loss": float(value.detach())}


def loss(model: MLP, images: Tensor, labels: Tensor) -> Tensor:
    """Half the squared error of the labels, averaged over the batch: a 0-d tensor.

    Args:
        images, labels: ``(batch, pixels)`` and ``(batch,)`` class numbers.
    """
    out = model(images)
    return (out - one_hot(labels.to(out.device), model.labels)).square().sum(-1).mean() / 2


fit_mlp = by_epochs("mlp", MLP)
