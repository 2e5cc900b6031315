"""Relaxation: the value nodes run down the energy while the weights stay fixed (eq. 3, the inner loop of alg. 1)."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from .conditioned import Conditioned
from .errors import BadInput, BadValues, UnstableStep, WrongShape
from .graph import PCGraph

WINDOW = 10                                                                # steps between looks at the energy


@dataclass(frozen=True)
class Settings:
    """How to relax.

    Args:
        steps: T, the number of value steps (the most, with a tolerance).
        value_lr: gamma, the value step; "safe" takes 1 / largest eigenvalue of the linear Hessian (power iteration)
            and halves it for any example whose energy would rise (backtracking).
        momentum: 0 is the paper's plain gradient descent; above 0 heavy-ball momentum, restarted when energy rises.
        tolerance: an example has converged when its energy changed by at most ``tolerance * initial energy`` over the
            last 10 steps; the relaxation stops when all have. None: run all steps. (A gradient rule would not do: at a
            kink of ReLU or HardTanh the minimum has no zero gradient.)
        trace: keep the energy of each step.
    """

    steps: int = 200
    value_lr: float | str | Tensor = "safe"
    momentum: float = 0.0
    tolerance: float | None = None
    trace: bool = True

    def __post_init__(self) -> None:
        if isinstance(self.steps, bool) or int(self.steps) != self.steps or self.steps < 1:
            raise BadInput(f"steps = {self.steps!r}; expected a whole number of at least 1.")
        if isinstance(self.value_lr, str) and self.value_lr != "safe":
            raise BadInput(f"value_lr = {self.value_lr!r}; expected a positive number or 'safe'.")
        if not isinstance(self.value_lr, str) and not bool((torch.as_tensor(self.value_lr) > 0).all()):
            raise BadInput(f"value_lr = {self.value_lr}; expected a positive number or 'safe'.")
        if not 0 <= self.momentum < 1:
            raise BadInput(f"momentum = {self.momentum}; expected at least 0 and less than 1.")
        if self.tolerance is not None and not self.tolerance > 0:
            raise BadInput(f"tolerance = {self.tolerance}; expected a positive number, or None for a fixed T.")


@dataclass(frozen=True, eq=False)
class Relaxation:
    """What a relaxation leaves: values, energies and whether each example came to rest."""

    x: Tensor                                                              # (..., batch, n)
    initial_energy: Tensor                                                 # (..., batch)
    energy: Tensor                                                         # (steps, ..., batch), after each step
    converged: Tensor                                                      # (..., batch) bool
    steps: int
    value_lr: float | Tensor                                               # the step that was used (first, if halved)
    problem: Conditioned


@torch.no_grad()
def relax(graph: PCGraph, x: Tensor, clamped: Tensor, settings: Settings | None = None,
          **changes: object) -> Relaxation:
    """Run down the energy from ``x``, holding the clamped vertices.

    Args:
        x: values to start from, ``(..., batch, n)``; not changed.
        clamped: which vertices are held, ``(n,)`` or ``(batch, n)`` bool.
        settings: see Settings; ``changes`` replace single fields of it.

    Raises:
        WrongShape, BadValues, BadInput: arguments that do not fit the graph.
        UnstableStep: the energy rose or left the finite numbers; the message estimates a stable step.
    """
    settings = replace(settings or Settings(), **changes)
    _check(graph, x, clamped)
    problem = Conditioned(graph, x, clamped.to(x.device))
    if not problem.free_parts():                                           # a graph without internal vertices, training
        energy = problem.evaluate()
        return Relaxation(x.clone(), energy, energy[None], torch.ones_like(energy, dtype=torch.bool), 0, 1.0, problem)
    safe = isinstance(settings.value_lr, str)
    step = _as_step(1 / problem.curvature() if safe else settings.value_lr, x)
    descent = (_Backtracking if safe else _Momentum if settings.momentum else _Plain)(problem, step, settings)
    energies, converged = [problem.evaluate()], torch.zeros(x.shape[:-1], dtype=torch.bool, device=x.device)
    for t in range(1, settings.steps + 1):
        descent.step(energies[-1])
        energies.append(descent.accept(problem.evaluate(), energies[-1]))
        if t % WINDOW == 0 or t == settings.steps:
            _refuse_divergence(problem, energies, settings.value_lr)
            if settings.tolerance is not None:
                change = (energies[-1] - energies[-1 - min(t, WINDOW)]).abs()
                converged = change <= settings.tolerance * energies[0]
                if converged.all():
                    break
        if not settings.trace and len(energies) > 2 * WINDOW:
            del energies[1:-WINDOW]
    descent.finish()
    energy = torch.stack(energies[1:])
    return Relaxation(problem.assembled(), energies[0], energy, converged, t, _plain_number(step), problem)


class _Plain:
    """The paper's update, eq. 3: x <- x - gamma dE/dx, the same gamma for all."""

    def __init__(self, problem: Conditioned, step: Tensor | float, settings: Settings) -> None:
        self.problem, self.parts, self.lr, self.momentum = problem, problem.free_parts(), step, settings.momentum

    def step(self, energy: Tensor) -> None:
        self.problem.differentiate()
        for part in self.parts:
            part.values.sub_(part.gradient * self.lr) if isinstance(self.lr, Tensor) else \
                part.values.sub_(part.gradient, alpha=self.lr)

    def accept(self, energy: Tensor, before: Tensor) -> Tensor:
        return energy

    def finish(self) -> None:
        """Nothing to undo."""


class _Momentum(_Plain):
    """Heavy-ball momentum; an example whose energy rose loses its velocity."""

    def __init__(self, problem: Conditioned, step: Tensor | float, settings: Settings) -> None:
        super().__init__(problem, step, settings)
        self.velocity = [torch.zeros_like(part.values) for part in self.parts]

    def step(self, energy: Tensor) -> None:
        self.problem.differentiate()
        for part, velocity in zip(self.parts, self.velocity, strict=True):
            velocity.mul_(self.momentum).add_(part.gradient)
            part.values.sub_(velocity * self.lr)

    def accept(self, energy: Tensor, before: Tensor) -> Tensor:
        keep = (energy <= before).to(energy.dtype).unsqueeze(-1)           # (..., batch, 1)
        for velocity in self.velocity:
            velocity.mul_(keep)
        return energy


class _Backtracking(_Momentum):
    """A step for each example, halved and taken back where the energy rose; the energy never does.

    With momentum, a rejected example first falls back to plain descent at the same step.
    """

    def __init__(self, problem: Conditioned, step: Tensor | float, settings: Settings) -> None:
        super().__init__(problem, step, settings)
        shape = (*self.parts[0].values.shape[:-1], 1)
        self.lr = torch.as_tensor(step, dtype=self.parts[0].values.dtype).to(self.parts[0].values.device)
        self.lr = self.lr.expand(shape).clone()                            # (..., batch, 1)
        self.plain = torch.ones_like(self.lr)                              # 1 where the last step had no momentum
        self.moves = [torch.zeros_like(part.values) for part in self.parts]

    def step(self, energy: Tensor) -> None:
        self.problem.differentiate()
        for part, velocity, move in zip(self.parts, self.velocity, self.moves, strict=True):
            if self.momentum:
                velocity.mul_(self.momentum).add_(part.gradient)
            torch.mul(velocity if self.momentum else part.gradient, self.lr, out=move)
            part.values.sub_(move)

    def accept(self, energy: Tensor, before: Tensor) -> Tensor:
        slack = 4 * torch.finfo(energy.dtype).eps * before.abs()           # rounding is not a rise
        rose = ~(energy <= before + slack)                                 # (..., batch); true for NaN as well
        if not rose.any():
            self.plain = torch.zeros_like(self.plain)
            return energy
        back = rose.unsqueeze(-1)
        for part, velocity, move in zip(self.parts, self.velocity, self.moves, strict=True):
            part.values.add_(torch.where(back, move, 0))
            velocity.masked_fill_(back, 0)
        halve = back & (self.plain.bool() if self.momentum else True)
        self.lr = torch.where(halve, self.lr / 2, self.lr)
        self.plain = back.to(self.plain.dtype)
        self.problem.evaluate()                                            # errors at the values that stay
        return torch.where(rose, before, energy)


def _refuse_divergence(problem: Conditioned, energies: list[Tensor], value_lr: object) -> None:
    """Raise UnstableStep if energies are not finite, or stand far above their lowest and keep rising."""
    recent = torch.stack(energies[-WINDOW - 1:])                           # (window + 1, ..., batch)
    low, last = recent.amin(0), recent[-1]
    rises = (recent.diff(dim=0) > 0).sum(0)
    bad = ~torch.isfinite(last) | ((rises >= 3) & (last > 2 * low + 1e-6 * energies[0].abs()))
    if not bad.any():
        return
    bound = 2 / float(problem.curvature().max())
    worst = int(bad.flatten().nonzero()[0])
    was, now = (float(e.flatten()[worst]) for e in (low, last))
    raise UnstableStep(
        f"the energy of {int(bad.sum())} of {bad.numel()} examples rose at step {len(energies) - 1} ({was:.4g} -> "
        f"{now:.4g}) with value_lr = {value_lr}. Estimated stable below {bound:.3g} (linear bound); use "
        "value_lr=\"safe\" or a smaller one.")


def _as_step(value_lr: float | Tensor, x: Tensor) -> float | Tensor:
    """A number, or for replicas a tensor ``(replica, 1, 1)``."""
    step = torch.as_tensor(value_lr, dtype=x.dtype)
    return float(step) if step.ndim == 0 else step.to(x.device).view(-1, 1, 1)


def _plain_number(step: float | Tensor) -> float | Tensor:
    return step if isinstance(step, float) else step.flatten()


def _check(graph: PCGraph, x: Tensor, clamped: Tensor) -> None:
    graph.check_values(x)
    if clamped.dtype != torch.bool or clamped.shape not in ((graph.topology.n,), x.shape[-2:]):
        raise WrongShape(f"clamped is {tuple(clamped.shape)} {clamped.dtype}; expected ({graph.topology.n},) or "
                         f"{tuple(x.shape[-2:])} torch.bool.")
    if not torch.isfinite(x).all():
        raise BadValues("the values to start from hold NaN or infinite entries.")
