"""Non-linearities f of eq. 1 and their slopes f'. A new one is a line in ``ACTIVATIONS``.

A relaxation uses the same buffers again and again, so each can write into one: ``f(x, out)`` and ``chain``, which
multiplies a gradient by f'(x) in place.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from ..errors import BadInput, number, unknown

_backward = torch.ops.aten
Running = tuple[Tensor, Callable[[], object], Callable[[], object]]
Kinks = tuple[tuple[float, int], ...]                                      # where f' jumps; 1: it is 1 above, -1: below


@dataclass(frozen=True)
class Activation:
    """An element-wise f with its slope; any two functions of torch will do.

    Args:
        f, slope: x to f(x) and to f'(x), of any shape. At a kink the slope is 1, so that vertices started at 0 can
            leave it under ReLU.
        kinks: where f' jumps between 0 and 1.
    """

    f: Callable[[Tensor], Tensor]
    slope: Callable[[Tensor], Tensor]
    kinks: Kinks = ()
    elementwise = True

    def __call__(self, x: Tensor, out: Tensor | None = None) -> Tensor:
        return self.f(x) if out is None else out.copy_(self.f(x))

    def chain(self, gradient: Tensor, x: Tensor, fx: Tensor) -> Tensor:
        """Multiply by f'(x) in place, given fx = f(x)."""
        return gradient.mul_(self.slope(x))

    def __deepcopy__(self, memo: object) -> "Activation":
        return self                                                        # a copied graph has the same f

    def on(self, x: Tensor, gradient: Tensor) -> Running:
        """f at work on these buffers: f(x), a call that renews it, and one that multiplies ``gradient`` by f'(x)."""
        fx = self(x)
        return fx, partial(self, x, out=fx), partial(self.chain, gradient, x, fx)

    @property
    def name(self) -> str:
        """Its name in the registry; for any other what f and f' give, so that fingerprints tell two of them apart."""
        x = torch.linspace(-3, 3, 25, dtype=torch.float64)
        known = (name for name, activation in ACTIVATIONS.items() if activation is self)
        return next(known, None) or str((self.f(x).tolist(), self.slope(x).tolist()))


@dataclass(frozen=True)
class _Kernels(Activation):
    """The same without temporaries: f takes ``out``, ``backward(gradient, x, fx)`` works in place."""

    backward: Callable[[Tensor, Tensor, Tensor], Tensor] | None = None

    def __call__(self, x: Tensor, out: Tensor | None = None) -> Tensor:
        return self.f(x) if out is None else self.f(x, out=out)

    def chain(self, gradient: Tensor, x: Tensor, fx: Tensor) -> Tensor:
        return self.backward(gradient, x, fx)

    def on(self, x: Tensor, gradient: Tensor) -> Running:
        fx = self(x, out=torch.empty_like(x))                              # f = identity: x itself
        return fx, partial(self.f, x, out=fx), partial(self.backward, gradient, x, fx)


def _kernels(f: Callable[..., Tensor], backward: Callable[[Tensor, Tensor, Tensor], Tensor],
             kinks: Kinks = ()) -> Activation:
    return _Kernels(f, lambda x: backward(torch.ones_like(x), x, f(x)), kinks, backward)


def _chain_hardtanh(gradient: Tensor, x: Tensor, fx: Tensor) -> Tensor:
    """0 outside [-1, 1]: torch's own kernel (six times faster than a comparison and a product), its bounds excluded."""
    beyond = 1 + torch.finfo(x.dtype).eps
    return _backward.hardtanh_backward.grad_input(gradient, x, -beyond, beyond, grad_input=gradient)


def _chain_relu(gradient: Tensor, x: Tensor, fx: Tensor) -> Tensor:
    """0 below 0; the kernel's threshold is excluded, so it is the largest negative number."""
    below = -torch.finfo(x.dtype).tiny
    return _backward.threshold_backward.grad_input(gradient, x, below, grad_input=gradient)


ACTIVATIONS = {
    "linear": _kernels(lambda x, out=None: x, lambda g, x, fx: g),
    "hardtanh": _kernels(partial(torch.clamp, min=-1, max=1), _chain_hardtanh, ((-1.0, 1), (1.0, -1))),
    "tanh": _kernels(torch.tanh, lambda g, x, fx: _backward.tanh_backward.grad_input(g, fx, grad_input=g)),
    "relu": _kernels(partial(torch.clamp, min=0), _chain_relu, ((0.0, 1),)),
    "sigmoid": _kernels(torch.sigmoid, lambda g, x, fx: _backward.sigmoid_backward.grad_input(g, fx, grad_input=g)),
}


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

    def winners(self, x: Tensor, out: Tensor | None = None) -> Tensor:
        """1 for exactly round(fraction * size) vertices, at least one, in each pool, 0 for all others. ``(..., n)``."""
        fire = torch.empty_like(x) if out is None else out
        for pool in self.pools:
            values = torch.cat([x[..., s] for s in pool], -1)              # (..., pool)
            k = max(1, round(self.fraction * values.shape[-1]))
            won = torch.zeros_like(values).scatter_(-1, values.topk(k, sorted=False).indices, 1)
            for s, part in zip(pool, won.split([s.stop - s.start for s in pool], -1), strict=True):
                fire[..., s] = part
        return fire

    def __call__(self, x: Tensor) -> Tensor:
        return self.base(x) * self.winners(x)

    def slope(self, x: Tensor) -> Tensor:
        """f'(x)."""
        return self.base.slope(x) * self.winners(x)

    def on(self, x: Tensor, gradient: Tensor) -> Running:
        """As of an Activation. Who fires is found once for a value and its slope: it costs more than a product."""
        fx, fire = torch.empty_like(x), torch.empty_like(x)

        def activate() -> None:
            torch.mul(self.base(x), self.winners(x, out=fire), out=fx)

        def chain() -> None:
            self.base.chain(gradient, x, fx).mul_(fire)

        activate()
        return fx, activate, chain


def named(activation: str | Activation) -> Activation:
    """The activation of that name, or the one given. Raises UnknownName, BadInput (a function without its slope)."""
    if isinstance(activation, str):
        if activation not in ACTIVATIONS:
            raise unknown("activation", activation, ACTIVATIONS)
        return ACTIVATIONS[activation]
    if not isinstance(activation, Activation):
        raise BadInput(f"activation = {activation!r} has no slope; give pcg.Activation(f, slope), two functions of "
                       f"torch tensors, or a name: {', '.join(ACTIVATIONS)}.")
    if not callable(activation.slope):
        raise BadInput(f"the slope of the activation is {activation.slope!r}; expected a function x -> f'(x).")
    return activation


def check_fraction(fraction: float) -> float:
    """Return the top-k fraction, or raise BadInput."""
    return number(fraction, "top_k", "a fraction of each pool, more than 0 and at most 1", lambda k: 0 < k <= 1)
