"""How sure an answer is: samples of the free vertices by Langevin steps.

They are drawn from p(x) proportional to exp(-E(x) / temperature), where a query ends at a mode. For linear f they have
a Gaussian distribution, whose mean is the query's answer and whose covariance is the temperature times the inverse
Hessian of the energy over the free vertices.
"""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from .. import valid
from ..errors import BadInput, UnstableStep, WrongShape, require_memory, shown
from ..valid import Count, CountOrZero, Rate
from .conditioned import Conditioned
from .graph import PCGraph
from .hessian import largest_eigenvalue
from .inference import relax
from .query import Observed, Values, by_group, posed, uniform

ACCEPTED = 0.574                       # share at which Langevin steps mix best (Roberts, Rosenthal 1998)
START: dict[str, Any] = {"steps": 200, "momentum": 0.9, "tolerance": 1e-4}                 # chains begin near a mode
STUCK = 0.05                           # share of accepted steps below which samples are nearly copies of each other
SMALL = 0.1                            # plain steps: gamma times the largest eigenvalue; adds 5 % of variance there


@dataclass(frozen=True, eq=False)
class Samples:
    """Samples of a graph.

    Args:
        x: the values of all vertices, ``(count, ..., batch, n)``, on the graph's own scale; the samples of one chain
            follow each other. Clamped vertices are in all of them bit for bit as they were given.
        energy: of each, ``(count, ..., batch)``.
        accepted: share of proposals that was accepted after the burn-in, ``(..., batch)``; about 0.6 is best.
        value_lr: the step after the burn-in, ``(..., batch)``.
        values: group -> its values, ``(count, ..., batch, size)``; pixels in the units of [0, 1], not clipped.

    Example:
        >>> graph = pcg.PCGraph(pcg.topology.generative(labels=2, hidden=[3], pixels=4))
        >>> drawn = pcg.sample(graph, clamp={"labels": torch.eye(2)}, steps=100, every=10, chains=3)
        >>> mean, spread = drawn.values["pixels"].mean(0), drawn.values["pixels"].std(0)
        >>> tuple(drawn.x.shape), tuple(spread.shape)
        ((30, 2, 9), (2, 4))
    """

    x: Tensor
    energy: Tensor
    accepted: Tensor
    value_lr: Tensor
    values: Values


@valid.checked
@torch.no_grad()
def sample(graph: PCGraph, clamp: Mapping[str, Tensor | Observed] | None = None,
           init: Mapping[str, Tensor | Observed] | None = None, *,
           do: Mapping[str, Tensor | Observed] | None = None, steps: Count = 1000, every: Count = 10,
           burn_in: CountOrZero = 500, chains: Count = 1, temperature: Rate | Tensor = 1.0, metropolis: bool = True,
           value_lr: Literal["tuned"] | Rate = "tuned", generator: torch.Generator | None = None) -> Samples:
    """Draw what the free vertices may be, given the others: x <- x - gamma dE/dx + sqrt(2 gamma temperature) noise.

    With ``metropolis``, each vertex takes steps of its own: gamma over its entry in the diagonal of the Hessian for
    linear f, so that a few large weights do not make all steps small.

    Args:
        clamp, init, do: as for ``query``. Chains begin at what a short query settles to.
        steps: of each chain after the burn-in; each ``every``-th is a sample: ``chains * (steps // every)`` in all.
        burn_in: steps before, which are thrown away.
        chains: independent walks of each example, computed as one batch.
        temperature: of the distribution, one number or one for each example, ``(batch,)``; 1 is the energy's own, whose
            errors have a standard deviation of 1.
        metropolis: accept or reject each step so that its finite size causes no bias. Without, for linear f, an
            eigenvalue k of the Hessian has the variance (temperature / k) / (1 - gamma k / 2) instead of
            temperature / k.
        value_lr: gamma. "tuned": each example finds its own in the burn-in, at which 57 % of its steps are accepted;
            without ``metropolis`` it is 0.1 / largest eigenvalue, so that no variance is more than 1/19 too large.
        generator: for the noise, on its own device. None: a new one seeded with 0.

    The distribution has to exist: a free vertex that pays nothing (a flat prior) and that nothing else holds drifts.
    Where an example accepts less than 5 % of its steps, a warning says so.

    Raises:
        UnknownGroup, WrongShape, BadValues, BadInput: arguments that do not fit the graph, or too few steps.
        UnstableStep: a step by hand, without ``metropolis``, that is too large.

    Example:
        >>> graph = pcg.PCGraph(pcg.topology.generative(labels=1, hidden=[], pixels=1), "linear")
        >>> graph.set_weight([[0, 0], [1, 0]])                           # labels -> pixels, 1
        >>> drawn = pcg.sample(graph, clamp={"pixels": torch.tensor([[1.0]])}, chains=2000, steps=10)
        >>> label = drawn.values["labels"]                               # mean 1 / (1 + 1), variance 1 / (1 + 1)
        >>> round(float(label.mean()), 1), round(float(label.var()), 1), tuple(label.shape)
        (0.5, 0.5, (2000, 1, 1))
    """
    if steps < every:
        raise BadInput(f"steps = {steps} with every = {every} give no sample; expected steps of at least {every}.")
    x, clamped, _, errorless = posed(graph, clamp, init, do)
    clamped, errorless = uniform(clamped), uniform(errorless)
    batch, kept = x.shape[-2], steps // every
    require_memory(kept * chains * x.numel(), f"{kept * chains} samples", graph.dtype.itemsize)
    start = relax(graph, x, clamped, errorless=errorless, trace=False, **START).x
    many = [torch.cat([some] * chains, -2) if some.ndim > 1 else some for some in (start, clamped, errorless)]
    walk = _Walk(Conditioned(graph, *many), _temperatures(temperature, x).repeat(chains), metropolis, value_lr,
                 generator or torch.Generator().manual_seed(0))
    walk.burn_in(burn_in, chains)
    found = start.new_empty(chains, kept, *start.shape)                    # at once: a list would be held twice
    energy = start.new_empty(chains, kept, *start.shape[:-1])
    for k in range(kept):
        now, energies = walk.sample(every)
        found[:, k], energy[:, k] = _chains_first(now, chains, -2), _chains_first(energies, chains, -1)
    accepted, lr = (v[..., 0].unflatten(-1, (chains, batch)).mean(-2)
                    for v in (walk.accepted / (kept * every), walk.lr))
    if chains * kept * every >= 1 / STUCK:                                 # by fewer proposals the share says nothing
        _warn_of_stuck(accepted, value_lr, burn_in)
    x = found.flatten(0, 1)
    return Samples(x, energy.flatten(0, 1), accepted, lr, by_group(graph, x))


def _warn_of_stuck(accepted: Tensor, value_lr: float | str, burn_in: int) -> None:
    """Warn, at the line that calls ``sample``, where examples ``(..., batch)`` hardly moved."""
    if stuck := int((accepted < STUCK).sum()):
        warnings.warn(f"{stuck} of {accepted.numel()} examples accept less than {STUCK:.0%} of their steps with "
                      f"value_lr = {shown(value_lr)} and burn_in = {burn_in}; their samples are nearly the same. "
                      "Take a smaller value_lr, or 'tuned' and a longer burn_in.", stacklevel=6)


def _temperatures(given: float | Tensor, x: Tensor) -> Tensor:
    """The temperature of each example, ``(batch,)``. Raises BadInput, BadValues, WrongShape."""
    made = valid.finite(given, "temperature", x.dtype).to(x.device)
    if made.ndim and made.shape != x.shape[-2:-1]:
        raise WrongShape(f"temperature is {tuple(made.shape)}; expected one number, or one for each of {x.shape[-2]} "
                         "examples.")
    if not (made > 0).all():
        raise BadInput(f"temperature holds {float(made.min()):.4g}; expected numbers above 0.")
    return made.expand(x.shape[-2])


class _Walk:
    """The state of all chains: the problem at their values, its energies and gradients, and their steps."""

    def __init__(self, problem: Conditioned, temperature: Tensor, metropolis: bool, value_lr: float | str,
                 generator: torch.Generator) -> None:
        self.problem, self.temperature, self.metropolis, self.generator = problem, temperature, metropolis, generator
        self.tuned = metropolis and value_lr == "tuned"
        problem.evaluate()
        problem.differentiate()
        self.energy = problem.energy()                                     # (..., batch)
        self.widths = [width if metropolis else torch.ones_like(width) for width in _widths(problem)]
        self.lr = self._first(value_lr)                                    # (..., batch, 1)
        self.accepted, self.chance = torch.zeros_like(self.lr), torch.ones_like(self.lr)

    def _first(self, value_lr: Any) -> Tensor:
        if value_lr == "tuned":
            largest = largest_eigenvalue(self.problem)[..., None, None]
            free = sum(nodes.x.shape[-1] for nodes in self.problem.free)
            value_lr = free ** (-1 / 3) if self.metropolis else torch.where(largest > 0, SMALL / largest, SMALL)
        return torch.as_tensor(value_lr).to(self.energy).expand(*self.energy.shape, 1).clone()

    def _drawn(self, like: Tensor, draw: Callable[..., Tensor] = torch.randn) -> Tensor:
        """Random numbers from the generator, of that shape."""
        drawn = draw(like.shape, generator=self.generator, dtype=like.dtype, device=self.generator.device)
        return drawn.to(like.device)

    def burn_in(self, steps: int, chains: int) -> None:
        """Steps whose values are thrown away. They find the step of each example where it is to be tuned."""
        for t in range(steps):
            self.step()
            if self.tuned:
                self._tune(t, chains)
        self.accepted.zero_()

    def step(self) -> None:
        """One proposal for each chain, accepted or taken back (the Metropolis-adjusted Langevin algorithm)."""
        problem, noise_of = self.problem, (2 * self.lr * self.temperature[:, None]).sqrt()
        before = [nodes.gradient.clone() for nodes in problem.free]
        noise = [self._drawn(nodes.x) if nodes.moves is None else self._drawn(nodes.x) * nodes.moves
                 for nodes in problem.free]
        problem.remember()
        for nodes, drawn, width in zip(problem.free, noise, self.widths, strict=True):
            nodes.x.add_(width * (noise_of * drawn - self.lr * width * nodes.gradient))
        problem.evaluate()
        problem.differentiate()
        energy = problem.energy()
        if not self.metropolis:
            self.energy = energy
            self.accepted += 1
            return
        there = sum(drawn.square().sum(-1) for drawn in noise) / 2         # -log q(new | old)
        back = sum((self.lr * width * (old + nodes.gradient) - noise_of * drawn).square().sum(-1)
                   for old, nodes, drawn, width in zip(before, problem.free, noise, self.widths, strict=True))
        back = back / (4 * self.lr[..., 0] * self.temperature)             # -log q(old | new)
        chance = ((self.energy - energy) / self.temperature + there - back).exp()                # (..., batch)
        self.chance = chance.nan_to_num(0).clamp(max=1).unsqueeze(-1)
        rejected = self._drawn(self.chance, torch.rand) >= self.chance     # (..., batch, 1)
        problem.take_back(rejected)
        for old, nodes in zip(before, problem.free, strict=True):
            torch.where(rejected, old, nodes.gradient, out=nodes.gradient)
        self.energy = torch.where(rejected[..., 0], self.energy, energy)
        self.accepted += ~rejected

    def _tune(self, t: int, chains: int) -> None:
        """Lengthen the steps that are accepted too often, shorten the others, less and less; one for all chains."""
        chance = self.chance.unflatten(-2, (chains, -1)).mean(-3)          # (..., batch, 1)
        self.lr *= torch.cat([((chance - ACCEPTED) * (t + 1) ** -0.6).exp()] * chains, -2)

    def sample(self, every: int) -> tuple[Tensor, Tensor]:
        """The values and energies after so many more steps. Raises UnstableStep."""
        for _ in range(every):
            self.step()
        if not self.energy.isfinite().all():
            raise UnstableStep(f"the samples left the finite numbers with value_lr = {float(self.lr.max()):.4g}; "
                               f"stable below {2 / float(largest_eigenvalue(self.problem).max()):.3g} for linear f. "
                               "Use a smaller one, or metropolis=True.")
        return self.problem.assembled(), self.energy


def _widths(problem: Conditioned) -> list[Tensor]:
    """How far each free vertex may step beside the others: the diagonal of the linear Hessian to the power -1/2.

    One tensor ``(..., batch or 1, free)`` for each of ``problem.free``.
    """
    graph = problem.graph
    pays = [torch.atleast_2d(nodes.start.new_ones(nodes.start.shape[-1]) if nodes.pays is None else nodes.pays)
            for nodes in problem.nodes]                                    # (1 or batch, size)
    diagonal = list(pays)
    for block, weight in zip(graph.blocks, graph.weights, strict=True):
        diagonal[block.source] = diagonal[block.source] + block.matrix(weight.square()).mT(pays[block.target])
    of = dict(zip(problem.nodes, diagonal, strict=True))
    return [torch.where(of[nodes] > 0, of[nodes], 1).rsqrt()[..., nodes.free] for nodes in problem.free]


def _chains_first(found: Tensor, chains: int, axis: int) -> Tensor:
    """``(..., chains * batch, ...)`` to ``(chains, ..., batch, ...)``."""
    return found.unflatten(axis, (chains, -1)).movedim(axis - 1, 0)
