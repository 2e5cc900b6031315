"""Only the most active vertices of a pool fire (section 6)."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from .activations import Activation, Running


@dataclass(frozen=True)
class TopK:
    """f(x) if x is among the largest values of its pool of vertices, else 0 (section 6).

    Args:
        base: the element-wise f of the winners.
        fraction: share of each pool that fires, 0 < fraction <= 1 (k = 0.2 in the paper, read as a fraction).
        pools: the slices of ``(..., n)`` that make up each pool.
    """

    base: Activation
    fraction: float
    pools: Sequence[Sequence[slice]]
    elementwise = False
    kinks = ()                                                             # the winners change, but at no fixed value

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
        """As in Activation. The winners are found once for f and f', because finding them costs more than a product."""
        base, activate_base, chain_base = self.base.on(x, gradient)
        fx, fire = torch.empty_like(x), torch.empty_like(x)

        def activate() -> None:
            activate_base()
            torch.mul(base, self.winners(x, out=fire), out=fx)

        def chain() -> None:
            chain_base()
            gradient.mul_(fire)

        activate()
        return fx, activate, chain
