"""What the equations must give, computed in other ways: loops over vertices, autograd and linear algebra.

The tests and the page on section 2 compare the engine with these. Nothing here is fast.
"""

from collections.abc import Iterator, Sequence
from itertools import cycle
from typing import Any

import torch
from torch import Tensor

from ..engine import activations
from ..engine.graph import PCGraph
from ..engine.inference import relax
from ..engine.topology import Topology, from_mask


def random_graph(generator: torch.Generator, activation: str = "tanh") -> PCGraph:
    """A float64 graph of 3 to 12 vertices with random edges, cycles and self-loops, sometimes masked."""
    n = int(torch.randint(3, 13, (), generator=generator))
    mask = torch.rand(n, n, generator=generator) < 0.6
    mask[0, 1] = mask[1, 2] = mask[2, 0] = True                            # at least one cycle
    return PCGraph(from_mask(mask), activation, init_std=0.3, dtype=torch.float64, generator=generator)


def random_cases(generator: torch.Generator, names: Sequence[str] = ("linear", "tanh", "hardtanh", "relu", "sigmoid"),
                 batch: int = 4) -> Iterator[tuple[PCGraph, Tensor]]:
    """Endless random graphs that take the activations in turn, each with random values ``(batch, n)``."""
    for name in cycle(names):
        graph = random_graph(generator, name)
        yield graph, torch.randn(batch, graph.topology.n, generator=generator, dtype=torch.float64)


def loop_prediction(graph: PCGraph, x: Tensor) -> Tensor:
    """Eq. 1 as printed: for each vertex i the sum over its sources j. ``(batch, n)`` to ``(batch, n)``."""
    weight, fx, mask = graph.weight, torch.cat(graph.activate(x), -1), graph.topology.mask()
    mu = torch.zeros_like(x) if graph.bias is None else graph.bias.expand_as(x).clone()
    for j, i in mask.nonzero().tolist():
        mu[:, i] += weight[j, i] * fx[:, j]
    return mu


def loop_energy(graph: PCGraph, x: Tensor) -> Tensor:
    """Eq. 2 as printed, ``(batch,)``. Under a flat prior, vertices without incoming edges have no error."""
    mu, energy = loop_prediction(graph, x), torch.zeros_like(x[:, 0])
    for i in range(graph.topology.n):
        if graph.prior == "zero" or bool(graph.topology.mask()[:, i].any()):
            energy += (x[:, i] - mu[:, i]) ** 2 / 2
    return energy


def energy_of(graph: PCGraph, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Eq. 2 from the n x n matrix of all weights, whatever the plan of the graph, summed over everything."""
    mu = torch.cat(graph.activate(x), -1) @ weight + (0 if bias is None else bias)
    error = x - mu if graph.sources is None else (x - mu).masked_fill(graph.sources, 0)
    return error.square().sum() / 2


def value_gradient(graph: PCGraph, x: Tensor) -> Tensor:
    """dE/dx by autograd, ``(..., batch, n)``."""
    x = x.detach().clone().requires_grad_()
    return torch.autograd.grad(energy_of(graph, x, graph.weight, graph.bias), x)[0]


def weight_gradient(graph: PCGraph, x: Tensor) -> dict[str, Tensor]:
    """dE/dtheta by autograd, on existing edges, by parameter name."""
    weight = graph.weight.requires_grad_()
    leaves = [weight] if graph.bias is None else [weight, graph.bias.detach().clone().requires_grad_()]
    gradient = torch.autograd.grad(energy_of(graph, x, weight, *leaves[1:]), leaves)
    blocks = graph.gather(gradient[0] * graph.topology.mask())
    return {f"weights.{k}": block for k, block in enumerate(blocks)} | dict(zip(["bias"], gradient[1:], strict=False))


def paying_matrix(graph: PCGraph) -> Tensor:
    """I - W without the columns of vertices that have no error: eps = x (I - W) - b if f(x) = x.

    Returns ``(..., n, paying)``.
    """
    matrix = torch.eye(graph.topology.n, dtype=graph.dtype) - graph.weight
    return matrix if graph.sources is None else matrix[..., ~graph.sources]


def linear_solution(graph: PCGraph, x: Tensor, clamped: Tensor) -> tuple[Tensor, bool]:
    """For f = identity, the end of a query by conditioning (eq. 5) by least squares, and whether it is unique.

    Only the ``clamped`` entries ``(n,)`` of ``x`` ``(batch, n)`` are used. The answer is unique if the free rows of
    I - W have full rank.
    """
    matrix, free = paying_matrix(graph), ~clamped
    target = -x[:, clamped] @ matrix[clamped]                              # (batch, paying)
    if graph.bias is not None:
        bias = graph.bias[0]
        target = target + (bias if graph.sources is None else bias[~graph.sources])
    best = x.clone()
    best[:, free] = torch.linalg.lstsq(matrix[free].T, target.T, driver="gelsd").solution.T
    return best, bool(torch.linalg.matrix_rank(matrix[free]) == int(free.sum()))


def storing_weight(values: Tensor, activation: str, ridge: float = 0.0) -> Tensor:
    """The smallest weights without self-loops that predict every row of ``values`` ``(count, n)``: an exact memory.

    Column i solves f(values) w = values[:, i] with w_i = 0 by least squares of the smallest norm. With fewer rows than
    vertices, in general position, every row then has zero energy. ``(n, n)``, rows are sources. Without ``ridge``,
    which is added to the Gram matrix, the rows' activations must be independent even without any one vertex.
    """
    fx = activations.named(activation)(values)                             # (count, n)
    gram = fx @ fx.T + ridge * torch.eye(len(fx), dtype=fx.dtype)
    inverse = torch.linalg.inv(gram)
    dual, lean = inverse @ values, inverse @ fx                            # (count, n)
    # without its own column the Gram matrix of vertex i loses f_i f_i^T: Sherman and Morrison's formula
    dual = dual + lean * ((fx * dual).sum(0) / (1 - (fx * lean).sum(0)))
    return (fx.T @ dual).fill_diagonal_(0)


def curvature(graph: PCGraph, clamped: Tensor) -> float:
    """Largest eigenvalue of the free block of (I - W)(I - W)^T. Plain descent is stable below 2 / eigenvalue."""
    rows = paying_matrix(graph)[~clamped]
    return float(torch.linalg.eigvalsh(rows @ rows.T).max())


def masked_difference(topology: Topology, activation: str, generator: torch.Generator) -> float:
    """The difference between the block engine and a fully connected graph with masked weights (section 4), in float64.

    Compares the energy, both gradients, and the values after 50 steps with a quarter of the vertices clamped.
    """
    full, block = (PCGraph(t, activation, plan=plan, dtype=torch.float64) for t, plan in (
        (from_mask(torch.ones(topology.n, topology.n)), "dense"), (topology, "blocks")))
    weight = torch.randn(topology.n, topology.n, generator=generator, dtype=torch.float64) * topology.n**-0.5
    full.set_weight(weight * topology.mask())
    block.set_weight(weight * topology.mask())
    x = torch.randn(5, topology.n, generator=generator, dtype=torch.float64)
    clamped = torch.rand(topology.n, generator=generator) < 0.25
    pairs: list[Any] = [
        (g.energy(x), g.value_gradient(x), g.weight_gradient(x), relax(g, x, clamped, steps=50, value_lr=0.05).x)
        for g in (full, block)]
    outer = [pairs[0][2]["weights.0"][block.segments[b.source], block.segments[b.target]] * (
        1 if b.mask is None else b.mask) for b in block.blocks]
    errors = [relative_error(a, b) for a, b in zip(outer, pairs[1][2].values(), strict=True)]
    return max(*errors, *(relative_error(pairs[1][k], pairs[0][k]) for k in (0, 1, 3)))


def relative_error(got: Tensor, expected: Tensor) -> float:
    """The largest absolute difference divided by the largest expected absolute value."""
    return float((got - expected).abs().max() / expected.abs().max().clamp_min(torch.finfo(expected.dtype).tiny))
