"""Counts the products and kernels that a piece of code really asks torch for, whoever asks and why."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

FACTORS = {"aten::mm": 0, "aten::bmm": 0, "aten::addmm": 1, "aten::addmm_": 1, "aten::baddbmm": 1, "aten::baddbmm_": 1}
OVERWRITES = ("aten::copy_", "aten::zero_", "aten::fill_")                 # do not read what they change


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


class Kernels(TorchDispatchMode):
    """Counts operations that run a kernel while it is entered, and the bytes that they read and write.

    A GPU launches at least one kernel for each. A tensor counts in full for every operation that reads or writes it:
    what a cache holds is not known here.
    """

    def __init__(self) -> None:
        super().__init__()
        self.launches = self.products = self.bytes = 0

    def __torch_dispatch__(self, function: Callable, types: object, arguments: tuple = (),
                           options: dict | None = None) -> object:
        options = options or {}
        made = function(*arguments, **options)
        if not function.is_view:
            name = function.name().split(".")[0]
            read = arguments[name in OVERWRITES or options.get("beta") == 0:]    # options: only written
            self.launches += 1
            self.products += name in FACTORS
            self.bytes += sum(t.nbytes for t in tree_leaves((read, made)) if isinstance(t, Tensor))
        return made
