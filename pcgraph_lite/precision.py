"""What a caller's settings may not take from the numbers: their digits.

Relaxations sum small errors over many steps, and were tried in float32 and float64. Mixed precision around a call, and
modules that are converted after they were made, would leave three digits without a word.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, Self, TypeVar, cast

import torch
from torch import Tensor, nn

from .errors import BadInput, shown

Called = TypeVar("Called", bound=Callable[..., Any])
EXACT = (torch.float32, torch.float64)


def exactly(function: Called) -> Called:
    """Compute in the precision of the tensors, also inside ``torch.autocast``."""
    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not any(map(torch.is_autocast_enabled, ("cpu", "cuda"))):
            return function(*args, **kwargs)
        with torch.autocast("cpu", enabled=False), torch.autocast("cuda", enabled=False):
            return function(*args, **kwargs)

    return cast(Called, call)


def require_exact(dtype: Any) -> None:
    """Raise BadInput for a type of numbers other than float32 and float64."""
    if dtype not in EXACT:
        raise BadInput(f"dtype = {shown(dtype)}; expected torch.float32 or torch.float64, which keep the digits that "
                       "are needed.")


class Exact(nn.Module):
    """A module of float32 or float64, which ``half()``, ``to(torch.bfloat16)`` and the like cannot change."""

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        held = next((p for p in (*self.parameters(), *self.buffers()) if p.is_floating_point()), None)
        if held is not None:
            require_exact(fn(torch.zeros((), dtype=held.dtype, device=held.device)).dtype)
        return super()._apply(fn, recurse)
