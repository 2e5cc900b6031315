"""Counts the matrix products that a piece of code really asks torch for, whoever asks and why."""

from collections.abc import Callable

import torch
from torch.utils._python_dispatch import TorchDispatchMode

FACTORS = {"aten::mm": 0, "aten::bmm": 0, "aten::addmm": 1, "aten::addmm_": 1, "aten::baddbmm": 1, "aten::baddbmm_": 1}


class Products(TorchDispatchMode):
    """Adds up the floating-point operations of matrix products while it is entered: 2 a b c for (a, b) times (b, c)."""

    def __init__(self) -> None:
        super().__init__()
        self.flops = 0

    def __torch_dispatch__(self, function: Callable, types: object, arguments: tuple = (),
                           options: dict | None = None) -> object:
        name = function.name().split(".")[0]
        if name in FACTORS:
            left, right = arguments[FACTORS[name]:][:2]                    # (..., a, b), (..., b, c)
            self.flops += 2 * left.numel() * right.shape[-1]
        return function(*arguments, **(options or {}))


@torch.no_grad()
def product_flops(call: Callable[[], object]) -> int:
    """Operations of all products of one call. What a CUDA graph replays is not seen: count on the CPU."""
    with Products() as seen:
        call()
    return seen.flops
