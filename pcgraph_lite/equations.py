"""Section 2 of the paper on one n x n matrix: equations 1 to 6 and algorithm 1, as plain as they are printed.

``x`` is ``(..., batch, n)``, the values of all vertices; ``weight`` is ``(..., n, n)`` with theta_{j,i}, the edge
j -> i, in row j, and 0 where there is no edge; f acts on each vertex and ``slope`` is its derivative. The engine
computes the same in blocks, by its plans and solvers, and is held against this file.
"""

from collections.abc import Callable, Iterable

from torch import Tensor

Function = Callable[[Tensor], Tensor]


def prediction(x: Tensor, weight: Tensor, f: Function) -> Tensor:
    """mu_i = sum_j theta_{j,i} f(x_j), eq. 1. ``(..., batch, n)``."""
    return f(x) @ weight


def energy(x: Tensor, weight: Tensor, f: Function) -> Tensor:
    """E = 1/2 sum_i eps_i^2 with eps_i = x_i - mu_i, eq. 2. ``(..., batch)``."""
    return (x - prediction(x, weight, f)).square().sum(-1) / 2


def value_gradient(x: Tensor, weight: Tensor, f: Function, slope: Function) -> Tensor:
    """dE/dx_i = eps_i - f'(x_i) sum_k theta_{i,k} eps_k, eq. 3 with the sign reversed. ``(..., batch, n)``.

    The printed eq. 3 sums theta_{k,i}; with eq. 1 the gradient needs theta_{i,k} (ambiguity log, point 1).
    """
    error = x - prediction(x, weight, f)                                   # (..., batch, n)
    return error - slope(x) * (error @ weight.mT)


def weight_gradient(x: Tensor, weight: Tensor, f: Function, edges: Tensor) -> Tensor:
    """dE/dtheta_{j,i} = -f(x_j) eps_i where ``edges`` is 1, eq. 4 with the sign reversed, summed. ``(..., n, n)``."""
    error = x - prediction(x, weight, f)                                   # (..., batch, n)
    return -(f(x).mT @ error) * edges


def relax(x: Tensor, clamped: Tensor, weight: Tensor, f: Function, slope: Function, steps: int, gamma: float) -> Tensor:
    """T value steps from ``x``, the inner loop of algorithm 1. ``(..., batch, n)``.

    A query by conditioning (eq. 5) holds the vertices where ``clamped`` is true, ``(n,)`` or ``(batch, n)``; a query by
    initialization (eq. 6) only starts them at its data. Training holds the sensory vertices.
    """
    for _ in range(steps):
        x = x - gamma * value_gradient(x, weight, f, slope).masked_fill(clamped, 0)
    return x


def learn(batches: Iterable[Tensor], clamped: Tensor, weight: Tensor, edges: Tensor, f: Function, slope: Function,
          steps: int, gamma: float, alpha: float) -> Tensor:
    """Algorithm 1: relax each batch, then one weight update, averaged over its examples (point 5). ``(..., n, n)``."""
    for x in batches:
        x = relax(x, clamped, weight, f, slope, steps, gamma)
        weight = weight - alpha * weight_gradient(x, weight, f, edges) / x.shape[-2]
    return weight
