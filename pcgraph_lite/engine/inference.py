"""Relaxation: the value nodes run down the energy while the weights stay fixed (eq. 3, the inner loop of alg. 1)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Annotated, Any, Literal

import torch
from torch import Tensor

from .. import valid
from ..errors import BadInput, UnstableStep, WrongShape, shown
from ..valid import Count, Damping, Rate
from .conditioned import Conditioned
from .graph import PCGraph
from .hessian import largest_eigenvalue
from .nodes import Nodes
from .solvers import WINDOW, Accelerated, Backtracking, Plain, Recorded

ValueStep = Literal["safe"] | Rate | Sequence[Rate] | Tensor               # one for each replica
ROUNDING = 1e-4                                        # share of the first energy by which the last may exceed it


@valid.checked
@dataclass(frozen=True)
class Settings:
    """How to relax.

    Args:
        steps: T, the number of value steps (the most, with a tolerance).
        value_lr: gamma, the step size; "safe" takes 1 / largest eigenvalue of the linear Hessian (power iteration)
            and halves it for any example whose energy would rise (backtracking).
        momentum: 0 is the paper's plain gradient descent. Above 0 (0.95 is a good choice) selects the accelerated
            solver, which gets as far in a tenth of the steps or fewer along another path (solvers.Accelerated).
        tolerance: an example has converged when its energy changed by at most ``tolerance * initial energy`` over the
            last 10 steps, the initial energy without that of groups whose errors no step can change. The relaxation
            stops when all have, and takes no step where the free vertices start without errors. Values may still be
            off by more than that share: where they matter to many digits, take 1e-12, float64 and momentum. None: run
            all steps. (A rule on the gradient would fail: it does not vanish at a minimum that lies on a kink of ReLU
            or HardTanh. Plain "safe" steps can come to a halt between two such kinks, some per cent of the initial
            energy above the minimum, and have converged by this rule; with momentum they do not.)
        trace: keep the energy of each step. False: plain descent measures it at every tenth step and the last.

    Example:
        >>> pcg.Settings(steps=20, value_lr=0.1)                         # the paper's plain descent
        Settings(steps=20, value_lr=0.1, momentum=0.0, tolerance=None, trace=True)
    """

    steps: Count = 200
    value_lr: ValueStep = "safe"
    momentum: Damping = 0.0
    tolerance: Rate | None = None
    trace: bool = True

    def __post_init__(self) -> None:
        if isinstance(self.value_lr, Tensor):
            step = valid.finite(self.value_lr, "value_lr")
            if not step.numel() or (step <= 0).any():
                raise BadInput(f"value_lr = {shown(step.tolist())}; expected positive numbers, or 'safe'.")


@dataclass(frozen=True, eq=False)
class Relaxation:
    """The result of a relaxation: values, energies, and whether each example came to rest."""

    x: Tensor                                                              # (..., batch, n)
    initial_energy: Tensor                                                 # (..., batch)
    energy: Tensor                                                         # (looks, ..., batch); each step if traced
    converged: Tensor                                                      # (..., batch) bool
    steps: int
    value_lr: float | Tensor                                               # the first step size; 1 where none is taken


@dataclass(frozen=True, eq=False)
class Settled(Relaxation):
    """A relaxation together with its problem, as the last step left it."""

    problem: Conditioned


@valid.checked
@torch.no_grad()
def relax(graph: PCGraph, x: Tensor, clamped: Tensor, settings: Settings | None = None, *,
          errorless: Tensor | None = None, **changes: Annotated[Any, Settings]) -> Settled:
    """Run down the energy from ``x``, holding the clamped vertices.

    Args:
        x: values to start from, ``(..., batch, n)``, pixels on the graph's own scale; not changed.
        clamped: which vertices are held, ``(n,)`` or ``(batch, n)`` bool.
        settings: see Settings; ``changes`` replace single fields of it.
        errorless: which vertices pay for no error, of the same shapes as ``clamped``. Where they are clamped as well it
            is an intervention (``query(..., do=...)``). None: none but those that a flat prior frees.

    Returns:
        what an ``Answer`` holds but for ``values``, and the ``problem`` as the last step left it, whose
        ``weight_gradient()`` is eq. 4.

    Raises:
        WrongShape, BadValues, BadInput: arguments that do not fit the graph.
        UnstableStep: the energy rose or left the finite numbers; the message estimates a stable step.

    Example:
        >>> graph = pcg.PCGraph(pcg.topology.from_mask([[0, 1], [0, 0]]), "linear")
        >>> graph.set_weight([[0, 2], [0, 0]])
        >>> start, held = torch.tensor([[1.0, 0.0]]), torch.tensor([True, False])
        >>> pcg.relax(graph, start, held, steps=1, value_lr=0.5).x       # half the way to 2, the prediction
        tensor([[1., 1.]])
    """
    settings = replace(settings or Settings(), **changes)
    graph.check_values(x)
    clamped = valid.mask(clamped, "clamped", (graph.topology.n,), x.shape[-2:])
    valid.finite(x, "the values to start from")
    if errorless is not None:
        errorless = valid.mask(errorless, "errorless", (graph.topology.n,), x.shape[-2:]).to(x.device)
    problem = Conditioned(graph, x.clone(memory_format=torch.contiguous_format), clamped.to(x.device), errorless)
    problem.evaluate()
    return settle(problem, settings)


@torch.no_grad()
def settle(problem: Conditioned, settings: Settings) -> Settled:
    """Relax a problem whose start values were checked and evaluated. Raises UnstableStep."""
    if _needs_no_step(problem, settings):
        energy = problem.energy()
        return Settled(problem.assembled(), energy, energy[None], torch.ones_like(energy, dtype=torch.bool), 0, 1.0,
                       problem)
    given = settings.value_lr
    step = of_replicas(problem.graph, _safe_step(problem) if isinstance(given, str) else given, "value_lr")
    recorded = problem.graph.layout.cuda_graphs and problem.x.is_cuda and settings.steps > 3
    plain = Backtracking if isinstance(given, str) else Recorded if recorded else Plain
    solver = Accelerated(problem, step, settings.momentum) if settings.momentum else plain(problem, step)
    energies, converged, steps = _descend(problem, solver, settings)
    return Settled(problem.assembled(), energies[0], torch.stack(energies[1:]), converged, steps,
                   step if isinstance(step, float) else step.flatten(), problem)


def _needs_no_step(problem: Conditioned, settings: Settings) -> bool:
    """Whether no step is needed: nothing is free, or no energy is left. Raises UnstableStep: nothing can be done."""
    if problem.free:
        # segment by segment, so that large values elsewhere hide no small error
        return settings.tolerance is not None and all(
            bool((nodes.error.square().sum(-1) / 2 <= _rounding(problem, [nodes])).all()) for nodes in problem.changing)
    if not ((energy := problem.energy()) < inf).all():                     # a training without internal vertices
        raise UnstableStep(f"the energy of {int((~(energy < inf)).sum())} of {energy.numel()} examples is not finite, "
                           f"and no vertex is free: {_too_large(problem)}")
    return True


def _descend(problem: Conditioned, solver: Plain, settings: Settings) -> tuple[list[Tensor], Tensor, int]:
    """Take steps until every example has converged or none are left.

    Returns the energies, the first of them before any step, which examples converged, and the number of steps. Until
    the end they lack the constant energy, in whose last digit small changes would be lost.
    """
    energies, constant = [problem.changing_energy()], problem.constant_energy
    lowest, converged = energies[0] + constant, torch.zeros_like(energies[0], dtype=torch.bool)
    least = (settings.tolerance or 0) * energies[0]
    every = 1 if settings.trace or settings.tolerance is not None else solver.looks
    for t in range(1, settings.steps + 1):
        solver.step()
        if t % every == 0 or t == settings.steps:                          # the other steps leave it out
            energies.append(solver.accept(problem.changing_energy(), energies[-1]))
        if t % WINDOW == 0 or t == settings.steps:
            lowest = _refuse_divergence(problem, energies, lowest, t, settings.value_lr)
            if settings.tolerance is not None:
                change = (energies[-1] - energies[-1 - min(t, WINDOW)]).abs()
                converged = (change <= least) & solver.moving()
                if converged.all() or t == settings.steps:
                    converged = solver.rested(converged, energies[-1] - least)
                if converged.all():
                    break
        if not settings.trace and len(energies) > 2 * WINDOW:
            del energies[1:-WINDOW]
    energies = [energy + constant for energy in energies]
    if settings.trace:                                                     # trainings look at their epochs
        _refuse_rise(problem, energies[0], energies[-1], t, settings.value_lr)
    return energies, converged, t


def _refuse_rise(problem: Conditioned, start: Tensor, last: Tensor, t: int, value_lr: object) -> None:
    """Raise UnstableStep where the energy ends above its start. Not where f bends, as ReLU does at zero, and each step
    is below the bound of a stable one: f' at a bend is that of one side, so a step to the other may raise it once.
    """
    if not (last > (limit := start * (1 + ROUNDING))).any():
        return
    bends = any(f.kinks for f in problem.graph.activations)
    if not (bends and value_lr != "safe" and (
            torch.as_tensor(value_lr).reshape(-1).cpu() < 2 / largest_eigenvalue(problem).reshape(-1).cpu()).all()):
        _refuse(problem, _above(problem, last, limit), start, last, t, value_lr)


def _refuse_divergence(problem: Conditioned, energies: list[Tensor], lowest: Tensor, t: int,
                       value_lr: object) -> Tensor:
    """The lowest energies so far. Raises UnstableStep where the last is not finite, or twice the lowest and rising."""
    recent = torch.stack(energies[-WINDOW - 1:]) + problem.constant_energy          # (window + 1, ..., batch)
    last, lowest = recent[-1], torch.minimum(lowest, recent.amin(0))
    limit = 2 * lowest + 1e-6 * (energies[0] + problem.constant_energy)
    if not (last < limit).all():                                           # in the usual case this is all
        rises = (recent.diff(dim=0) > 0).sum(0)
        bad = _above(problem, last, limit) & (rises >= min(3, len(recent) - 1))
        _refuse(problem, bad | ~(last < inf), lowest, last, t, value_lr)
    return lowest


def _above(problem: Conditioned, energy: Tensor, limit: Tensor) -> Tensor:
    """Which energies ``(..., batch)`` exceed a limit by more than rounding."""
    return energy > limit + _rounding(problem)


def _rounding(problem: Conditioned, of: Sequence[Nodes] | None = None) -> Tensor:
    """The energy that rounding alone leaves ``(..., batch)``, from the largest value or error that it depends on.

    ``of``: some nodes alone.
    """
    parts = [nodes.x for nodes in problem.free if of is None or nodes in of] + [
        part for nodes in of or problem.changing for part in (nodes.error, nodes.known) if part is not None]
    largest = torch.cat([torch.zeros_like(problem.x[..., :1]), *parts], -1).abs().amax(-1)
    return problem.x.shape[-1] * (torch.finfo(problem.x.dtype).eps * largest * 2**5).square()


def _refuse(problem: Conditioned, bad: Tensor, before: Tensor, now: Tensor, t: int, value_lr: object) -> None:
    """Raise UnstableStep if any example is ``bad``, naming the first of them."""
    if not bad.any():
        return
    largest = float(largest_eigenvalue(problem).max())
    worst = int(bad.flatten().nonzero()[0])
    jumps = "" if problem.graph.top_k is None else ", but at any step size the energy may jump where other vertices win"
    raise UnstableStep(
        f"the energy of {int(bad.sum())} of {bad.numel()} examples rose at step {t} "
        f"({float(before.flatten()[worst]):.4g} -> {float(now.flatten()[worst]):.4g}) with value_lr = {value_lr}. " + (
            _too_large(problem) if value_lr == "safe" or not 0 < largest < inf else
            f"Estimated stable below {2 / largest:.3g} (linear bound{jumps}); use value_lr=\"safe\" or a smaller one."))


def _too_large(problem: Conditioned) -> str:
    return (f"the values to start from or the weights are too large for {problem.x.dtype}. Scale them, or use float64; "
            "in a training take a smaller weight_lr.")


def _safe_step(problem: Conditioned) -> Tensor:
    """1 / largest eigenvalue; 1 where the energy does not depend on the free values at all."""
    largest = largest_eigenvalue(problem)
    if not torch.isfinite(largest).all():
        raise UnstableStep(f"the curvature of the energy is {float(largest.max())}: the weights are not finite, or "
                           f"too large for {problem.x.dtype}. Use float64; in a training take a smaller weight_lr.")
    return torch.where(largest > 0, 1 / largest.clamp_min(torch.finfo(largest.dtype).tiny), 1.0)


def of_replicas(graph: PCGraph, steps: float | Sequence[float] | Tensor, name: str) -> float | Tensor:
    """A number, or a tensor ``(replica, 1, 1)`` where each replica has its own. Raises WrongShape."""
    made = torch.as_tensor(steps, dtype=graph.dtype)
    if made.ndim and made.shape != (graph.replicas,):
        raise WrongShape(f"{name} has {made.numel()} numbers; expected one for each of {graph.replicas or 0} replicas "
                         "of the graph (PCGraph(..., replicas=k), k = 1 for a single copy).")
    return made.to(graph.device).view(-1, 1, 1) if made.ndim else float(made)
