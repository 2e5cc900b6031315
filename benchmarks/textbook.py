"""The same training batch as one would first write it down: ``pcgraph_lite.equations`` on the full n x n matrix."""

import torch
from torch import Tensor

from pcgraph_lite import PCGraph, equations
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
        self.edges = graph.topology.mask().to(x.device)
        self.optimizer = torch.optim.Adam([self.weight], lr=weight_lr)

    @torch.no_grad()
    def __call__(self) -> None:
        x = start_at_prediction(self.graph, self.x, self.clamped)
        x = equations.relax(x, self.clamped, self.weight, self.f, self.slope, self.steps, self.value_lr)
        self.weight.grad = equations.weight_gradient(x, self.weight, self.f, self.edges) / len(x)
        self.optimizer.step()


def flops(n: int, batch: int, steps: int) -> int:
    """Floating-point operations of the loop's products: two a step, the last prediction, the weight gradient."""
    return 2 * batch * n * n * (2 * steps + 2)
