"""Train copies of a graph side by side, each with its own step size and learning rate, and see which converge (app. G).

``learning.fit`` refuses a step size that diverges. Here diverging copies are allowed, because the question is which
ones diverge. Copies are replicas that share no number, so an infinite energy does not affect the others.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from .. import valid
from ..engine.conditioned import Conditioned
from ..engine.epochs import State
from ..engine.graph import PCGraph
from ..engine.hessian import largest_eigenvalue
from ..engine.inference import of_replicas
from ..engine.learning import Data, Training, pictures, scaled, started
from ..engine.solvers import Plain
from ..valid import Count, NotNegative, Rate

LATE, SHARE = 0.1, 0.05              # a steady fall loses LATE of the whole in the last LATE of the way; at rest, less


@dataclass(frozen=True, eq=False)
class Watched:
    """Measurements in training, one column per copy. Energies are batch means with pixels and labels held."""

    seconds: Tensor                                                        # (batches,): since the start, all copies
    before: Tensor                                                         # (batches, copies): before the value steps
    after: Tensor                                                          # (batches, copies): after them
    looks: list[int]                                                       # batches at which the bound was taken
    bound: Tensor                                                          # (looks, copies): of the step size

    def diverged(self) -> Tensor:
        """Copies whose energy was not finite at some time, ``(copies,)`` bool."""
        return ~(self.before.isfinite() & self.after.isfinite()).all(0)

    def rising(self) -> Tensor:
        """Copies whose relaxations raise the energy in the last tenth of training, ``(copies,)`` bool."""
        last = -_tenth(len(self.after))
        return ~(self.after[last:].mean(0) < self.before[last:].mean(0))

    def settled(self) -> Tensor:
        """Copies whose energy after relaxation fell and has settled: at most 5 % of its fall is in the last tenth.

        Tenths of the training are compared by their means; a straight line falls by a ninth from tenth to tenth.
        """
        size = _tenth(len(self.after))
        first, late, last = (self.after[part].mean(0) for part in (slice(size), slice(-2 * size, -size),
                                                                   slice(-size, None)))
        return (last < first) & ((late - last).abs() <= SHARE * (first - last))

    def converged(self) -> Tensor:
        """Copies that stay finite, settle, and have relaxations that lower the energy, ``(copies,)`` bool."""
        return ~self.diverged() & ~self.rising() & self.settled()

    def predicted(self, value_lr: Tensor) -> Tensor:
        """Copies whose step size once exceeded the bound, so that f = identity would diverge, ``(copies,)`` bool."""
        return (value_lr.to(self.bound) > self.bound).any(0)


@valid.checked
def watch(graph: PCGraph, data: Data, value_lr: Sequence[Rate], weight_lr: Sequence[Rate], *, steps: Count = 20,
          batches: Count = 100, batch_size: Count = 100, weight_decay: NotNegative = 0.0, every: Count = 10,
          generator: torch.Generator | None = None) -> Watched:
    """Train every copy on the same batches (alg. 1, plain value steps, Adam) and record its energies.

    Args:
        graph: with ``replicas``; trained in place.
        data: as in ``learning.fit``.
        value_lr, weight_lr: one number per replica.
        steps, batches: numbers of value steps T and of weight updates.
        every: number of batches between two estimates of the bound, each of which takes 30 matrix-vector products.
        generator: draws the batches. None: a new one seeded with 0.

    Raises BadInput: a count below 1, or a step size or learning rate that is not positive. WrongShape: no replicas, not
    one of each per replica, or data that do not fit the graph.
    """
    value_steps, weight_steps = of_replicas(graph, value_lr, "value_lr"), of_replicas(graph, weight_lr, "weight_lr")
    generator, data = generator or torch.Generator().manual_seed(0), scaled(graph, pictures(graph, data))
    schedule = Training(epochs=1, weight_lr=tuple(weight_lr), weight_decay=weight_decay)
    state = State(graph, schedule, generator, None, {}, weight_steps)
    began, seen, looks, bounds = time.perf_counter(), [], [], []
    for k in range(batches):
        rows = torch.randint(len(next(iter(data.values()))), (batch_size,), generator=generator)
        problem = started(graph, {name: values[rows] for name, values in data.items()}, batch_size)
        if k % every == 0:
            looks.append(k)
            bounds.append(2 / largest_eigenvalue(problem))
        energies = _learn(problem, state, value_steps, steps, batch_size)
        seen.append((time.perf_counter() - began, *energies))
    seconds, before, after = zip(*seen, strict=True)
    return Watched(torch.tensor(seconds), torch.stack(before), torch.stack(after), looks, torch.stack(bounds).cpu())


@torch.no_grad()
def _learn(problem: Conditioned, state: State, value_lr: Tensor | float, steps: int,
           count: int) -> tuple[Tensor, Tensor]:
    """T value steps and one weight update. Returns the mean energy before and after the value steps, ``(replica,)``."""
    solver = Plain(problem, value_lr)
    before = problem.energy().mean(-1)                                     # (replica,)
    for _ in range(steps):
        solver.step()
    after = problem.energy().mean(-1)
    for name, gradient in problem.weight_gradient().items():
        state.parameters[name].grad = gradient.div_(count)
    state.step()
    return before.cpu(), after.cpu()


def _tenth(batches: int) -> int:
    return max(1, round(LATE * batches))
