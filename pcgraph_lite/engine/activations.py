"""Non-linearities f of eq. 1 and their slopes f', written for buffers that are used again and again."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ..errors import number, unknown


@dataclass(frozen=True)
class Activation:
    """An element-wise f. ``value(x, out)`` writes f(x), ``chain(gradient, x, fx)`` multiplies by f'(x) in place.

    At a kink the slope is 1, so that vertices started at 0 can leave it under ReLU.
    """

    name: str
    value: Callable[[Tensor, Tensor | None], Tensor]
    chain: Callable[[Tensor, Tensor, Tensor], Tensor]
    kinks: tuple[tuple[float, int], ...] = ()                              # where f' jumps; 1: it is 1 above, -1: below
    elementwise = True

    def __call__(self, x: Tensor, out: Tensor | None = None) -> Tensor:
        return self.value(x, out)

    def slope(self, x: Tensor) -> Tensor:
        """f'(x)."""
        return self.chain(torch.ones_like(x), x, self(x))


def _chain_hardtanh(gradient: Tensor, x: Tensor, fx: Tensor) -> Tensor:
    """0 outside [-1, 1]: torch's own kernel (six times faster than a comparison and a product), its bounds excluded."""
    beyond = 1 + torch.finfo(x.dtype).eps
    return torch.ops.aten.hardtanh_backward.grad_input(gradient, x, -beyond, beyond, grad_input=gradient)


def _chain_relu(gradient: Tensor, x: Tensor, fx: Tensor) -> Tensor:
    """0 below 0; the kernel's threshold is excluded, so it is the largest negative number."""
    below = -torch.finfo(x.dtype).tiny
    return torch.ops.aten.threshold_backward.grad_input(gradient, x, below, grad_input=gradient)


ELEMENTWISE = {a.name: a for a in (
    Activation("linear", lambda x, out: x, lambda g, x, fx: g),
    Activation("hardtanh", lambda x, out: torch.clamp(x, -1, 1, out=out), _chain_hardtanh,
               ((-1.0, 1), (1.0, -1))),
    Activation("tanh", lambda x, out: torch.tanh(x, out=out),
               lambda g, x, fx: torch.ops.aten.tanh_backward.grad_input(g, fx, grad_input=g)),
    Activation("relu", lambda x, out: torch.clamp_min(x, 0) if out is None else torch.clamp(x, min=0, out=out),
               _chain_relu, ((0.0, 1),)),
    Activation("sigmoid", lambda x, out: torch.sigmoid(x, out=out),
               lambda g, x, fx: torch.ops.aten.sigmoid_backward.grad_input(g, fx, grad_input=g)),
)}


@dataclass(frozen=True)
class TopK:
    """f(x) where x is among the largest values of its pool of vertices, 0 elsewhere (section 6).

    Args:
        base: the element-wise f of the winners.
        fraction: share of each pool that fires, 0 < fraction <= 1 (k = 0.2 in the paper, read as a fraction).
        pools: the slices of ``(..., n)`` that make up each pool.
    """

    base: Activation
    fraction: float
    pools: Sequence[Sequence[slice]]
    elementwise = False
    kinks = ()                                                             # who fires changes, but at no fixed value

    def winners(self, x: Tensor) -> Tensor:
        """Which vertices fire: exactly round(fraction * size), at least one, in each pool. ``(..., n)`` bool."""
        fire = torch.zeros_like(x, dtype=torch.bool)
        for pool in self.pools:
            values = torch.cat([x[..., s] for s in pool], -1)              # (..., pool)
            k = max(1, round(self.fraction * values.shape[-1]))
            won = torch.zeros_like(values, dtype=torch.bool).scatter_(-1, values.topk(k).indices, True)
            for s, part in zip(pool, won.split([s.stop - s.start for s in pool], -1), strict=True):
                fire[..., s] = part
        return fire

    def __call__(self, x: Tensor, out: Tensor | None = None) -> Tensor:
        return torch.mul(self.base(x), self.winners(x), out=out)

    def chain(self, gradient: Tensor, x: Tensor, fx: Tensor) -> Tensor:
        """Multiply by f'(x) in place."""
        return self.base.chain(gradient, x, self.base(x)).mul_(self.winners(x))

    def slope(self, x: Tensor) -> Tensor:
        """f'(x)."""
        return self.chain(torch.ones_like(x), x, x)


def named(name: str) -> Activation:
    """The element-wise activation of that name. Raises UnknownName."""
    if name not in ELEMENTWISE:
        raise unknown("activation", name, ELEMENTWISE)
    return ELEMENTWISE[name]


def check_fraction(fraction: float) -> float:
    """Return the top-k fraction, or raise BadInput."""
    return number(fraction, "top_k", "a fraction of each pool, more than 0 and at most 1", lambda k: 0 < k <= 1)
