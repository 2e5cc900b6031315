"""What a valid tensor, image, label, mask and generator is. Whatever is public asks here, before any work is done."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from inspect import Parameter, signature
from itertools import chain
from numbers import Integral, Real
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin

import torch
from torch import Tensor

from .errors import BadInput, BadValues, WrongShape, shown

P, R = ParamSpec("P"), TypeVar("R")
BYTES = 100.0          # no pixel in [0, 1], scaled or noisy, comes near; images of 0 to 255 go beyond


def tensor(values: Any, what: str, dtype: torch.dtype | None = None) -> Tensor:
    """A dense tensor of real numbers, from whatever torch can make one of (then in ``dtype``). Raises BadInput."""
    try:
        made = values if isinstance(values, Tensor) else torch.as_tensor(values, dtype=dtype)
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise BadInput(f"{what} is a {type(values).__name__}; expected a tensor of numbers ({error}).") from None
    if made.is_complex() or made.layout != torch.strided or made.is_quantized:
        raise BadInput(f"{what} is {made.dtype}, {made.layout}; expected a dense tensor of real numbers.")
    return made


def finite(values: Any, what: str, dtype: torch.dtype | None = None) -> Tensor:
    """Numbers that stay finite in ``dtype`` (None: their own). Raises BadInput, BadValues."""
    given = tensor(values, what, dtype)
    made = given if dtype is None else given.to(dtype)
    if made.isfinite().all():
        return made
    bad, before = ((~part.isfinite()).sum().item() for part in (made, given))
    if before:
        raise BadValues(f"{what} holds {before} NaN or infinite entries of {given.numel()}; clean the data first. "
                        "Did a query diverge?")
    raise BadValues(f"{what} holds {bad} entries of {given.numel()} too large for {dtype}; scale them, or use a graph "
                    f"of {given.dtype}.")


def images(values: Any, what: str = "images", pixels: int | None = None, least: int = 1) -> Tensor:
    """Images ``(count, pixels)`` as floating point, pixels near [0, 1] or scaled.

    Noise may take pixels outside [0, 1]; images of 0 to 255 are refused whatever their type. Raises BadInput,
    WrongShape, BadValues.
    """
    made = tensor(values, what)
    if made.ndim != 2 or len(made) < least or made.shape[1] != (pixels or made.shape[1]) or not made.numel():
        raise WrongShape(f"{what} are {tuple(made.shape)}; expected (count, {pixels or 'pixels'}) with a count "
                         f"of at least {least}.")
    if not made.is_floating_point():
        raise BadInput(f"{what} must be floating point, pixels in [0, 1]; got {made.dtype}. Divide bytes by 255.")
    not_bytes(finite(made, what), what)
    return made


def not_bytes(values: Tensor, what: str) -> None:
    """Raise BadInput where pixels run to 255."""
    if values.numel() and (high := float(values.max())) > BYTES:
        raise BadInput(f"{what}: pixels run to {high:.4g}; expected [0, 1], or a scale near it. Divide images by 255.")


def unit(values: Tensor, what: str = "images") -> Tensor:
    """Images that stand for probabilities. Raises BadInput."""
    if values.min() < 0 or values.max() > 1:
        raise BadInput(f"{what}: pixels run from {float(values.min()):.3g} to {float(values.max()):.3g}; expected 0 to "
                       "1.")
    return values


def labels(values: Any, what: str = "labels", count: int | None = None, classes: int | None = None) -> Tensor:
    """Class numbers ``(count,)`` as int64, from 0 to ``classes - 1``. Raises WrongShape, BadInput."""
    made = tensor(values, what)
    if made.ndim != 1 or len(made) != (len(made) if count is None else count) or not len(made):
        raise WrongShape(f"{what} are {tuple(made.shape)} {made.dtype}; expected {count or 'at least 1'} whole numbers "
                         "(a vector; of scores take .argmax(1)).")
    if made.is_floating_point() or made.dtype == torch.bool:
        raise WrongShape(f"{what} are {made.dtype}; expected {len(made)} whole numbers, such as torch.int64.")
    low, high = int(made.min()), int(made.max())
    if low < 0 or high >= (high + 1 if classes is None else classes):
        raise BadInput(f"{what} run from {low} to {high}; expected 0 to {'...' if classes is None else classes - 1}.")
    return made.long()


def mask(values: Any, what: str, *shapes: Sequence[int]) -> Tensor:
    """A mask of one of these shapes; any if none is given. Raises BadInput, WrongShape."""
    made = tensor(values, what)
    wanted = " or ".join(str(tuple(shape)) for shape in shapes)
    if made.dtype != torch.bool:
        raise WrongShape(f"{what} is {tuple(made.shape)} {made.dtype}; expected {wanted} torch.bool, true where known.")
    if shapes and made.shape not in [tuple(shape) for shape in shapes]:
        raise WrongShape(f"{what} is {tuple(made.shape)}; expected {wanted} torch.bool.")
    return made


def generator(given: object, what: str = "generator") -> torch.Generator:
    """A generator. Raises BadInput: None would mean torch's global one."""
    if not isinstance(given, torch.Generator):
        raise BadInput(f"{what} = {shown(given)}; expected a torch.Generator, such as "
                       "torch.Generator().manual_seed(0).")
    return given


def several(values: Any, what: str) -> tuple[Any, ...]:
    """The entries of a list, once and for all. Raises BadInput: text, or an iterator, which may be spent."""
    if isinstance(values, str | bytes | Iterator) or not hasattr(values, "__iter__") or getattr(values, "ndim", 1) != 1:
        raise BadInput(f"{what} = {shown(values)}; expected a list or tuple.")
    return tuple(values)


def file(path: Path | str, what: str) -> Path:
    """Where a file is or may be. Raises BadInput: a folder is there, or no system could have such a name."""
    try:
        if not Path(path).is_dir() and (Path(path).stat() or True):
            return Path(path)
    except FileNotFoundError:
        return Path(path)
    except (OSError, ValueError, TypeError) as error:
        why = getattr(error, "strerror", None) or error
        raise BadInput(f"{what} = {shown(str(path))}: {why}; expected the name of a file.") from None
    raise BadInput(f"{what} = {shown(str(path))} is a folder; expected a file.")


def device(name: Any, what: str = "device") -> None:
    """Raise BadInput unless tensors can be made there."""
    try:
        torch.empty(0, device=name)
    except (RuntimeError, AssertionError, TypeError, ValueError) as error:
        why = str(error).splitlines()[0][:200]
        raise BadInput(f"{what} = {shown(name)} cannot be used here ({why}); use 'cpu', or None.") from None


# ------------------------------------------------------------------------------------------------------------ types

def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Refuse arguments of another type than their annotation, by name and before any work is done. Raises BadInput.

    Where a number or a list is expected, one of numpy, pandas or torch is passed on as Python's own.
    """
    parameters = signature(function).parameters
    kinds = {name: _kinds(one.annotation) for name, one in parameters.items() if one.kind not in (2, 4)}   # no * or **
    names, title = list(kinds), function.__qualname__.removesuffix(".__init__")

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        given = [_fitting(title, name, value, kinds[name]) for name, value in zip(names, args, strict=False)]
        named = {name: _fitting(title, name, value, kinds.get(name)) for name, value in kwargs.items()}
        return function(*given, *args[len(given):], **named)

    return call


def _fitting(title: str, name: str, value: Any, expected: tuple[type, ...] | None) -> Any:
    if expected is None or _is(value, expected):
        return value
    if getattr(value, "ndim", 2) < 2 and _is(own := value.tolist(), expected):
        return own
    words = " or ".join(sorted({WORDS.get(kind, kind.__name__) for kind in expected}, key=NONE_LAST))
    raise BadInput(f"{title}: {name} = {shown(value)} is a {type(value).__name__}; expected {words}.")


NONE_LAST = "None".__eq__
WORDS = {Integral: "a whole number", Real: "a number", NoneType: "None", str: "text", bool: "True or False",
         Tensor: "a tensor", Sequence: "a list or tuple", Mapping: "a mapping", torch.Generator: "a torch.Generator"}


def _is(value: object, kinds: tuple[type, ...]) -> bool:
    if isinstance(value, bool):                                            # which Python takes for a number
        return bool in kinds
    if isinstance(value, str | bytes):                                     # which Python takes for a list of letters
        return type(value) in kinds
    return isinstance(value, kinds)


def _kinds(hint: Any) -> tuple[type, ...] | None:
    """The classes that an annotation allows; None: any."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _kinds(parts[0])
    if origin in (Union, UnionType):
        found = [_kinds(part) for part in parts]
        return None if None in found else tuple(chain.from_iterable(found))
    if origin is Literal:
        return tuple({type(part) for part in parts})
    hint = origin or {int: Integral, float: Real, None: NoneType}.get(hint, hint)
    known = isinstance(hint, type) and hint not in (object, Any, Iterable, Parameter.empty)
    return (hint,) if known else None
