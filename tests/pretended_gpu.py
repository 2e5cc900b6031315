"""A GPU for machines without one: tensors that say "cuda", obey its rules, and are computed on the CPU. The rules are
those that code written on a CPU breaks unnoticed: tensors of two devices do not meet in one operation, a CPU's
generator draws nothing on a GPU, NumPy does not see a GPU's memory. And each time the CPU asks for a number (``item``,
``bool``, a copy), it waits for the GPU to finish; those times are counted. What this cannot show is anything about CUDA
itself: speed, memory, rounding, the recording of graphs."""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves, tree_map

GPU = torch.device("cuda:0")
WAITS = {"aten::_local_scalar_dense", "aten::nonzero", "aten::masked_select", "aten::equal", "aten::bincount",
         "aten::repeat_interleave", "aten::_unique2"}
INDEXED = {"aten::index", "aten::index_put_", "aten::_index_put_impl_"}    # may be indexed from the CPU; wait for masks
JOINED = {"aten::cat", "aten::stack"}                                      # take not even one number of the CPU
WHOLE = {"one_hot", "quantile"}                                            # torch makes CPU tensors inside of these


class Held(Tensor):
    """A tensor of the pretended GPU: a CPU tensor in a wrapper that every operation passes through."""

    device = property(lambda self: GPU)
    is_cuda = property(lambda self: True)
    is_cpu = property(lambda self: False)

    @staticmethod
    def __new__(cls, inner: Tensor) -> "Held":
        strides = {} if inner.layout != torch.strided else {
            "strides": inner.stride(), "storage_offset": inner.storage_offset()}
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, device="cpu", **strides)

    def __init__(self, inner: Tensor) -> None:
        self.inner = inner

    def __repr__(self, **_: object) -> str:
        return f"Held({self.inner})"

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: object, args: tuple = (), kwargs: dict | None = None) -> Any:
        name, kwargs = func._schema.name, dict(kwargs or {})
        kwargs.pop("device", None)                                         # a new tensor like one that is held
        if name != "aten::copy_":
            _refuse_two_devices(name, args, kwargs)
        masks = name in INDEXED and any(isinstance(t, Tensor) and t.dtype == torch.bool for t in args[1])
        waited[name] += name in WAITS or masks
        made = func(*tree_map(_inner, args), **tree_map(_inner, kwargs))
        if name == "aten::copy_" and not isinstance(args[0], Held):        # from the GPU into a tensor on the CPU
            waited[name] += 1
            return args[0]
        known = {id(t.inner): t for t in tree_leaves((args, kwargs)) if isinstance(t, Held)}
        return tree_map(lambda t: known.get(id(t)) if id(t) in known else _held(t), made)


waited: Counter[str] = Counter()                                           # operation -> how often the CPU waited


@contextmanager
def pretended_gpu() -> Iterator[Counter[str]]:
    """Inside, "cuda" is there. Yields how often the CPU waited, by operation."""
    waited.clear()
    overwrite = torch.__future__.get_overwrite_module_params_on_conversion()
    with ExitStack() as stack:
        for name, answer in (("is_available", True), ("get_device_name", "pretended"), ("synchronize", None)):
            stack.enter_context(mock.patch(f"torch.cuda.{name}", lambda *_, answer=answer: answer))
        stack.enter_context(mock.patch.object(
            torch.optim.Optimizer, "_accelerator_graph_capture_health_check", lambda self: None))
        stack.callback(torch.__future__.set_overwrite_module_params_on_conversion, overwrite)
        torch.__future__.set_overwrite_module_params_on_conversion(True)   # Module.to makes parameters anew
        stack.enter_context(_Mode())
        yield waited


class _Mode(TorchFunctionMode):
    """What torch does before an operation is dispatched: making tensors somewhere, and moving them."""

    def __torch_function__(self, func: Any, types: object, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs, name = dict(kwargs or {}), getattr(func, "__name__", "")
        first = args[0] if args else None
        held = isinstance(first, Held)
        if isinstance(first, Tensor) and name in ("to", "cuda", "cpu"):
            return _moved(name, first, args[1:], kwargs)
        if held and name == "tolist":
            waited[name] += 1
            return first.inner.tolist()
        if held and name in ("numpy", "__array__"):
            raise TypeError("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() first.")
        there = held or torch.device(kwargs.get("device") or "cpu").type == "cuda"
        if there and getattr(kwargs.get("generator"), "device", GPU).type != "cuda":
            raise RuntimeError(f"{name}: expected a 'cuda' generator but found 'cpu'")
        if held and name in WHOLE:
            return _held(func(*tree_map(_inner, args), **tree_map(_inner, kwargs)))
        if there and not held:
            return _held(func(*args, **kwargs | {"device": "cpu"}))
        return func(*args, **kwargs)


def _moved(name: str, tensor: Tensor, args: tuple, kwargs: dict) -> Tensor:
    """``to``, ``cuda`` and ``cpu``: a copy where the device changes, and the type that is asked for."""
    given = [*args, *kwargs.values()]
    devices = [a.device if isinstance(a, Tensor) else torch.device(a)
               for a in given if isinstance(a, (str, torch.device, Tensor))]
    types = [a.dtype if isinstance(a, Tensor) else a for a in given if isinstance(a, (torch.dtype, Tensor))]
    wanted = {"cuda": GPU, "cpu": torch.device("cpu")}.get(name, (devices or [tensor.device])[0])
    if wanted.type == tensor.device.type:
        return tensor.type(types[0]) if types else tensor
    waited["to the CPU"] += wanted.type == "cpu"
    inner = _inner(tensor).detach().clone()
    inner = inner.type(types[0]) if types else inner
    return inner if wanted.type == "cpu" else Held(inner)


def _inner(value: Any) -> Any:
    return value.inner if isinstance(value, Held) else value


def _held(value: Any) -> Any:
    return Held(value) if isinstance(value, Tensor) and not isinstance(value, Held) else value


def _refuse_two_devices(name: str, args: tuple, kwargs: dict) -> None:
    tensors = [t for t in tree_leaves((args, kwargs)) if isinstance(t, Tensor)]
    if name in INDEXED and isinstance(args[0], Held):
        tensors = [t for t in tree_leaves((args[0], args[2:], kwargs)) if isinstance(t, Tensor)]
    here = [tuple(t.shape) for t in tensors if not isinstance(t, Held) and (t.ndim > 0 or name in JOINED)]
    if here and any(isinstance(t, Held) for t in tensors):
        raise RuntimeError(f"{name}: expected all tensors on the same device, but found cuda:0 and cpu {here}")
