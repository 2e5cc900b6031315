"""The same training batch as one would first write it down: a loop on the full n x n matrix, two products a step."""

import torch
from torch import Tensor

from pcgraph_lite import PCGraph
from pcgraph_lite.engine.query import start_at_prediction

FUNCTIONS = {"linear": (lambda x: x, torch.ones_like), "relu": (torch.relu, lambda x: (x >= 0).to(x.dtype)),
             "hardtanh": (lambda x: x.clamp(-1, 1), lambda x: (x.abs() <= 1).to(x.dtype))}


class Textbook:
    """Relax a batch and take one Adam step (alg. 1), starting from the weights of a graph. Call it for one batch.

    Args:
        graph: topology, activation and first weights; it is not changed.
        x: ``(batch, n)``, the clamped vertices at their data, the others 0.
        clamped: ``(n,)`` bool.
    """

    def __init__(self, graph: PCGraph, x: Tensor, clamped: Tensor, steps: int, value_lr: float,
                 weight_lr: float) -> None:
        self.graph, self.x, self.clamped, self.steps, self.value_lr = graph, x, clamped, steps, value_lr
        self.f, self.slope = FUNCTIONS[graph.activations[0].name]
        self.weight = torch.nn.Parameter(graph.weight, requires_grad=False)          # (n, n), 0 where no edge is
        self.mask = graph.topology.mask().to(x.device)
        self.optimizer = torch.optim.Adam([self.weight], lr=weight_lr)

    @torch.no_grad()
    def __call__(self) -> None:
        x = start_at_prediction(self.graph, self.x, self.clamped)
        for _ in range(self.steps):
            error = x - self.f(x) @ self.weight                            # (batch, n), eqs. 1 and 2
            gradient = error - self.slope(x) * (error @ self.weight.T)     # (batch, n), eq. 3
            gradient[:, self.clamped] = 0
            x = x - self.value_lr * gradient
        error = x - self.f(x) @ self.weight
        self.weight.grad = -(self.f(x).T @ error) * self.mask / len(x)     # (n, n), eq. 4
        self.optimizer.step()


def flops(n: int, batch: int, steps: int) -> int:
    """Floating-point operations of the loop's products: two a step, the last prediction, the weight gradient."""
    return 2 * batch * n * n * (2 * steps + 2)
