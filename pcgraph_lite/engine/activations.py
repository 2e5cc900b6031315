"""The activations f of eq. 1 and their slopes f'. A new one is a new line in ``ACTIVATIONS``.

A relaxation uses the same buffers at every step, so f and the multiplication by f' can write into them (``on``).
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from ..errors import BadInput, one_of, shown

_backward = torch.ops.aten
Running = tuple[Tensor, Callable[[], object], Callable[[], object]]
Kinks = tuple[tuple[float, int], ...]                                      # places and sides, see Activation


@dataclass(frozen=True)
class Activation:
    """An element-wise f with its slope, which may be any two functions of torch.

    Args:
        f: x to f(x), of any shape.
        slope: x to f'(x). At a kink it is 1, so that a vertex that starts at 0 can leave it under ReLU.
        kinks: where f' jumps between 0 and 1: pairs of a place and a side, 1 where f' is 1 above the place, -1 where
            it is 1 below, such as ``((0.0, 1),)`` for ReLU. Other jumps, such as a leaky ReLU's, are not named.
        backward: multiplies a gradient by f'(x) in place, given ``(gradient, x, f(x))``; f must then accept ``out``.
            None: each step makes temporaries.

    A graph warns of a slope that is not that of f: a surrogate is allowed.

    Raises:
        BadInput: f or the slope is no function, or kinks that are no such pairs.

    Example:
        >>> softsign = pcg.Activation(lambda x: x / (1 + x.abs()), lambda x: (1 + x.abs()) ** -2)
        >>> softsign(torch.tensor([1.0, -3.0]))
        tensor([ 0.5000, -0.7500])
    """

    f: Callable[..., Tensor]
    slope: Callable[[Tensor], Tensor]
    kinks: Kinks = ()
    backward: Callable[[Tensor, Tensor, Tensor], Tensor] | None = None
    elementwise = True

    def __post_init__(self) -> None:
        if not callable(self.f) or not callable(self.slope):
            raise BadInput(f"f = {shown(self.f)}, slope = {shown(self.slope)}; expected two functions of torch "
                           "tensors, x -> f(x) and x -> f'(x).")
        if not (isinstance(self.kinks, tuple) and all(isinstance(kink, tuple) and len(kink) == 2 and kink[1] in (1, -1)
                                                      and isinstance(kink[0], int | float)
                                                      for kink in self.kinks)):
            raise BadInput(f"kinks = {shown(self.kinks)}; expected pairs of a place and a side, such as ((0.0, 1),): 1 "
                           "where the slope is 1 above the place and 0 below it, -1 for the reverse.")

    def __call__(self, x: Tensor) -> Tensor:
        return self.f(x)

    def __deepcopy__(self, memo: object) -> "Activation":
        return self                                                        # a copied graph has the same f

    def __reduce__(self) -> tuple[Callable[..., "Activation"], tuple[object, ...]]:
        """A registered activation is pickled by its name, because pickle cannot name the lambdas in it."""
        if name := self.registered():
            return named, (name,)
        return Activation, (self.f, self.slope, self.kinks, self.backward)

    def on(self, x: Tensor, gradient: Tensor) -> Running:
        """f on these buffers: f(x), a call that renews it, and a call that multiplies ``gradient`` by f'(x)."""
        if self.backward is None:
            fx = self.f(x)
            return fx, lambda: fx.copy_(self.f(x)), lambda: gradient.mul_(self.slope(x))
        fx = self.f(x, out=torch.empty_like(x))                            # f = identity: x itself
        return fx, partial(self.f, x, out=fx), partial(self.backward, gradient, x, fx)

    @property
    def name(self) -> str:
        """The registered name, or else values of f and f', so that the fingerprints of two functions differ."""
        return self.registered() or str(self.values())

    def values(self) -> tuple[list[float], list[float]]:
        """f and f' at 25 places, which tell two activations apart."""
        x = torch.linspace(-3, 3, 25, dtype=torch.float64)
        return self.f(x).tolist(), self.slope(x).tolist()

    def check(self) -> None:
        """Warn where the slope differs from the differences of f.

        Raises BadInput: f is not element-wise, or changes its argument; f or the slope returns another shape, or
        numbers that are not finite; or ``backward`` does not multiply its gradient by the slope.
        """
        x, step = torch.linspace(-3, 3, 25, dtype=torch.float64) + 0.01, 1e-6                # beside usual kinks
        self._check_outputs(x)
        alone = torch.cat([self.f(one) for one in x.split(1)])
        if (fx := self.f(x)).shape != x.shape or not torch.allclose(fx, alone):
            raise BadInput("f of a vector is not f of each of its entries; expected an element-wise function, as the "
                           "values of other vertices come in by the edges alone.")
        rise, slope = (self.f(x + step) - self.f(x - step)) / (2 * step), self.slope(x)
        worst = int((rise - slope).abs().argmax())
        if abs(rise[worst] - slope[worst]) > 1e-3 * (1 + abs(rise[worst])):
            warnings.warn(f"slope({x[worst]:.3g}) = {slope[worst]:.3g}, but f rises by {rise[worst]:.3g} there. Unless "
                          "a surrogate is meant, give the derivative of f.", stacklevel=2)

    def _check_outputs(self, x: Tensor) -> None:
        for made, asked, name in ((self.f, x.clone(), "f"), (self.slope, x, "slope"), (self.f, x.float(), "f"),
                                  (self.slope, x.float(), "slope")):
            found = _called(made, asked, name)
            if not (isinstance(found, Tensor) and found.shape == asked.shape and found.dtype == asked.dtype):
                raise BadInput(f"{name}(x) is {shown(found)}; expected a tensor of the shape and type of x.")
            if not found.isfinite().all():
                raise BadInput(f"{name} is not finite everywhere in [-3, 3]; a vertex can take any value.")
            if name == "f" and not torch.equal(asked, x.to(asked)):
                raise BadInput("f changes its argument; expected a function that returns a new tensor.")
        if self.backward is None:
            return
        try:
            self.backward(gradient := torch.ones_like(x), x, self.f(x, out=torch.empty_like(x)))
        except TypeError as error:
            raise BadInput(f"f or backward takes other arguments ({error}); expected f(x, out=...) and "
                           "backward(gradient, x, f(x)).") from error
        if not torch.allclose(gradient, self.slope(x).to(x.dtype)):
            raise BadInput("backward(gradient, x, f(x)) does not multiply gradient by slope(x) in place, as it should.")

    def registered(self) -> str | None:
        """Its name in ``ACTIVATIONS``, if this very one is there."""
        return next((name for name, activation in ACTIVATIONS.items() if activation is self), None)


def _called(made: Callable[[Tensor], Any], x: Tensor, name: str) -> Any:
    """What f or the slope returns. Raises BadInput: an error of its own."""
    try:
        return made(x)
    except Exception as error:
        raise BadInput(f"{name} fails on values of {x.dtype} ({error}); expected a function of torch tensors, of "
                       "float32 and of float64.") from error


def _kernels(f: Callable[..., Tensor], backward: Callable[[Tensor, Tensor, Tensor], Tensor],
             kinks: Kinks = ()) -> Activation:
    return Activation(f, lambda x: backward(torch.ones_like(x), x, f(x)), kinks, backward)


def _chain_hardtanh(gradient: Tensor, x: Tensor, fx: Tensor) -> Tensor:
    """0 outside [-1, 1]. torch's kernel, six times as fast as a comparison and a product, excludes its bounds."""
    beyond = 1 + torch.finfo(x.dtype).eps
    return _backward.hardtanh_backward.grad_input(gradient, x, -beyond, beyond, grad_input=gradient)


def _chain_relu(gradient: Tensor, x: Tensor, fx: Tensor) -> Tensor:
    """0 below 0. The kernel excludes its threshold, which is therefore the largest negative number."""
    below = -torch.finfo(x.dtype).tiny
    return _backward.threshold_backward.grad_input(gradient, x, below, grad_input=gradient)


ACTIVATIONS = {
    "linear": _kernels(lambda x, out=None: x, lambda g, x, fx: g),
    "hardtanh": _kernels(partial(torch.clamp, min=-1, max=1), _chain_hardtanh, ((-1.0, 1), (1.0, -1))),
    "tanh": _kernels(torch.tanh, lambda g, x, fx: _backward.tanh_backward.grad_input(g, fx, grad_input=g)),
    "relu": _kernels(partial(torch.clamp, min=0), _chain_relu, ((0.0, 1),)),
    "sigmoid": _kernels(torch.sigmoid, lambda g, x, fx: _backward.sigmoid_backward.grad_input(g, fx, grad_input=g)),
}


def named(activation: Any) -> Activation:
    """The activation of that name, or the one given. Raises UnknownName, BadInput (a function without its slope)."""
    if isinstance(activation, str):
        one_of("activation", activation, ACTIVATIONS)
        return ACTIVATIONS[activation]
    if not isinstance(activation, Activation):
        called = str(getattr(activation, "__name__", type(activation).__name__)).lower()
        hint = f" Did you mean {called!r}?" if called in ACTIVATIONS else ""
        raise BadInput(f"activation = {shown(activation)} has no slope; give pcg.Activation(f, slope), two functions "
                       f"of torch tensors, or a name: {', '.join(ACTIVATIONS)}.{hint}")
    activation.check()
    return activation
