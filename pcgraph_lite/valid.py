"""What a valid tensor, image, label and mask is. Whatever is public asks here, before any work is done.

What else an argument may be is said once, in the signature that takes it: ``checked`` holds calls to it, and settings
files are read by the same words.
"""

import operator
import stat
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from functools import wraps
from inspect import Parameter, signature
from numbers import Integral, Real
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin

import numpy as np
import torch
from annotated_types import Ge, GroupedMetadata, Gt, Le, Len, Lt, MaxLen, MinLen
from torch import Tensor

from .errors import BadInput, BadValues, WrongShape, shown, unknown
from .files import placed
from .precision import Called, exactly

BYTES = 100.0          # no pixel in [0, 1], scaled or noisy, comes near; images of 0 to 255 go beyond
WHITE = 1.5            # what a pixel may reach where none is below 0: noise would take some there
OUTSIDE = 0.1          # what rounding, or resampling, may add to clean pixels on either side of [0, 1]
ENOUGH = 100           # pixels, of which fewer tell too little of how they were scaled
UNSIGNED = (torch.uint16, torch.uint32, torch.uint64)                      # with which torch does not compute
DARK = 0.05            # least share of pixels in the lowest tenth of the range of clean pictures


def tensor(values: Any, what: str, dtype: torch.dtype | None = None) -> Tensor:
    """A dense tensor of real numbers: the one given, or one made of an array, series, frame, list or number.

    ``dtype``: of one that is made here; None: that of its numbers. Raises BadInput.
    """
    try:
        made = values if isinstance(values, Tensor) else _made(values, dtype)
        made = made.long() if made.dtype in UNSIGNED else made
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        why = " ".join(str(error).split())[:200]
        raise BadInput(f"{what} is a {type(values).__name__}; expected a tensor of numbers ({why}).") from None
    if made.is_complex() or made.layout != torch.strided or made.is_quantized:
        raise BadInput(f"{what} is {made.dtype}, {made.layout}; expected a dense tensor of real numbers.")
    return made


def _made(values: Any, dtype: torch.dtype | None) -> Tensor:
    parts = values if isinstance(values, list | tuple) else ()
    if parts and all(isinstance(part, Tensor) for part in parts):
        made = torch.stack(list(parts))
    elif hasattr(values, "__array__") or any(hasattr(part, "__array__") for part in parts):
        made = _of_array(np.asarray(values))
    else:
        return torch.as_tensor(values, dtype=dtype)
    return made if dtype is None else made.to(dtype)


def _of_array(array: np.ndarray) -> Tensor:
    """Whatever its byte order, strides and rights of writing, which torch has no like of; and the index of a series."""
    if array.dtype.kind not in "biufO":
        raise TypeError(f"its entries are {array.dtype}")
    if array.dtype.kind == "O" and all(isinstance(entry, Real | np.bool_) for entry in array.flat):
        array = np.array(array.tolist())                                   # of the type that the entries have in common
    native = np.dtype(float if array.dtype.itemsize > 8 else array.dtype).newbyteorder("=")
    return torch.from_numpy(np.require(array, native, ["C", "W"]))


def finite(values: Any, what: str, dtype: torch.dtype | None = None, partly: bool = False) -> Tensor:
    """Numbers that stay finite in ``dtype`` (None: their own). ``partly``: whether only some need be known. Raises
    BadInput, BadValues.
    """
    given = tensor(values, what, dtype)
    made = given if dtype is None else given.to(dtype)
    if made.isfinite().all():
        return made
    bad, before = ((~part.isfinite()).sum().item() for part in (made, given))
    if before:
        gaps = ", or say which are known: pcg.observed(values, values.isfinite())" if partly else ""
        raise BadValues(f"{what} holds {before} NaN or infinite entries of {given.numel()}; clean the data first"
                        f"{gaps}. Did a query diverge?")
    raise BadValues(f"{what} holds {bad} entries of {given.numel()} too large for {dtype}; scale them, or use a graph "
                    f"of {given.dtype}.")


def images(values: Any, what: str = "images", pixels: int | None = None) -> Tensor:
    """Images ``(count, pixels)`` as floating point, pixels near [0, 1] or scaled, as ``near_unit``.

    Raises BadInput, WrongShape, BadValues.
    """
    made = tensor(values, what)
    channels_first(made, what)
    if made.ndim != 2 or made.shape[1] != (pixels or made.shape[1]) or not made.numel():
        flat = " (flatten(1) makes them so)" if made.ndim > 2 and made[:1].numel() == (pixels or -1) else ""
        raise WrongShape(f"{what} are {tuple(made.shape)}; expected (count, {pixels or 'pixels'}) with a count "
                         f"of at least 1{flat}.")
    near_unit(finite(made, what), what)
    if not made.is_floating_point():
        raise BadInput(f"{what} are {made.dtype}; expected floating point, pixels in [0, 1]: {what}.float().")
    return made


def channels_first(values: Tensor, what: str) -> None:
    """Raise WrongShape for pictures ``(count, height, width, channels)``, whose pixels would come in another order."""
    if values.ndim == 4 and values.shape[3] in (3, 4) and values.shape[1] != values.shape[3] and \
            (values.shape[1] == values.shape[2] or values.shape[1] > 4):
        raise WrongShape(f"{what} are {tuple(values.shape)}, channels last; expected (count, channels, height, width): "
                         "permute(0, 3, 1, 2).")


def near_unit(values: Tensor, what: str, scales: Iterable[Any] = ()) -> None:
    """Raise BadInput unless pixels are in the units of [0, 1], noise included: not 0 to 16, 0 to 255, -127 to 128.

    ``scales``: engine.scale.Scale that pictures must not be on already, as if the same were done twice.
    """
    if not values.numel():
        return
    values = values.detach()
    least, most = map(float, (values.byte() if values.dtype == torch.bool else values).aminmax())
    if (least >= 0 and most > WHITE) or max(-least, most) > BYTES:
        raise BadInput(f"{what}: pixels run from {least:.4g} to {most:.4g}; expected [0, 1], or a scale near it. "
                       "Divide images by the largest value that a pixel can have, 255 in bytes.")
    for scale in scales if values.numel() >= ENOUGH and (least < -OUTSIDE or most > 1 + OUTSIDE) else ():
        low, high = scale.bounds
        tenth = (high - low) / 10
        inside = low - tenth / 10 <= least and high - tenth <= most <= high + tenth / 10
        if inside and float((values <= low + tenth).double().mean()) >= DARK:
            raise BadInput(f"{what}: pixels run from {least:.3g} to {most:.3g}, as if they were scaled to {scale.name} "
                           "already; expected [0, 1]. Graphs scale them themselves (graph.pixel_scale).")


def clean(values: Tensor, what: str, slack: float = 0.0, advice: str = "") -> None:
    """Raise BadInput where pixels lie outside [0, 1], and by more than ``slack``."""
    least, most = map(float, values.detach().aminmax())
    if least < -slack or most > 1 + slack:
        raise BadInput(f"{what}: pixels run from {least:.3g} to {most:.3g}; expected [0, 1].{advice}")


def labels(values: Any, what: str = "labels", count: int | None = None, classes: int | None = None,
           least: int = 0) -> Tensor:
    """Class numbers ``(count,)`` as int64, from ``least`` to ``classes - 1``.

    Raises WrongShape, BadInput, BadValues.
    """
    made = finite(values, what)
    if made.ndim != 1 or len(made) != (len(made) if count is None else count) or not len(made):
        raise WrongShape(f"{what} are {tuple(made.shape)} {made.dtype}; expected {count or 'at least 1'} whole numbers "
                         "(a vector; of scores take .argmax(1)).")
    if made.is_floating_point() or made.dtype == torch.bool:
        raise WrongShape(f"{what} are {made.dtype}; expected {len(made)} whole numbers, such as torch.int64 "
                         "(.long() makes them).")
    low, high = int(made.min()), int(made.max())
    if low < least or high >= (high + 1 if classes is None else classes):
        first = " Subtract 1 where classes are counted from 1." if low == 1 and high == classes else ""
        most = "..." if classes is None else classes - 1
        raise BadInput(f"{what}: class numbers run from {low} to {high}; expected 0 to {most}.{first}")
    return made.long()


def mask(values: Any, what: str, *shapes: Sequence[int]) -> Tensor:
    """A mask of one of these shapes; any if none is given. Raises BadInput, WrongShape."""
    made = tensor(values, what)
    wanted = " or ".join(str(tuple(shape)) for shape in shapes) or "a mask of"
    if made.dtype != torch.bool:
        raise WrongShape(f"{what} is {tuple(made.shape)} {made.dtype}; expected {wanted} torch.bool, true where known "
                         "(.bool() makes one of 0 and 1).")
    if shapes and made.shape not in [tuple(shape) for shape in shapes]:
        raise WrongShape(f"{what} is {tuple(made.shape)}; expected {wanted} torch.bool.")
    return made


def file(path: Path | str, what: str) -> Path:
    """Where a file is or may be, as ``files.placed``. Raises BadInput: a folder is there, a device or a pipe, or no
    system could have such a name.
    """
    place = placed(path, what)
    try:
        mode = place.stat().st_mode
    except FileNotFoundError:
        return place
    except (OSError, ValueError, TypeError) as error:
        why = getattr(error, "strerror", None) or error
        raise BadInput(f"{what} = {shown(str(path))}: {why}; expected the name of a file.") from None
    if stat.S_ISREG(mode):
        return place
    raise BadInput(f"{what} = {shown(str(path))} is a {'folder' if stat.S_ISDIR(mode) else 'device or a pipe'}; "
                   "expected a file.")


def device(name: Any) -> None:
    """Raise BadInput unless tensors can be made there."""
    try:
        torch.zeros((), device=name).item()                                # "meta" takes tensors and gives no numbers
    except Exception as error:                                             # each kind of device has errors of its own
        why = str(error).splitlines()[0][:200]
        raise BadInput(f"device = {shown(name)} cannot be used here ({why}); use 'cpu', or None. "
                       "(pcg.hardware.pick_device takes 'auto'.)") from None


# -------------------------------------------------------------------------------------------------------- arguments

@dataclass(frozen=True, eq=False)
class OneOf:
    """A name out of a registry; one that is registered later counts as well."""

    names: Collection[str]

    def __repr__(self) -> str:
        """The names alone, which is what ``help`` shows of a signature."""
        return f"OneOf({', '.join(self.names)})"


Count = Annotated[int, Ge(1), Le(10**9)]
CountOrZero = Annotated[int, Ge(0), Le(10**9)]                             # none of them is fine, too
Layers = Sequence[Count]                                                   # widths of hidden ones, perhaps of none
Sizes = Annotated[Sequence[Count], MinLen(1)]
Shape = Annotated[Sequence[Count], Len(3, 3)]                              # (channels, height, width) of an image
Pair = Annotated[Sequence[str], Len(2, 2)]
Share = Annotated[float, Ge(0), Le(1)]
PartOf = Annotated[float, Gt(0), Le(1)]
Damping = Annotated[float, Ge(0), Lt(1)]                                   # share of the old value that is kept
Inside = Annotated[float, Gt(0), Lt(1)]
Rate = Annotated[float, Gt(0)]
NotNegative = Annotated[float, Ge(0)]

Limit = tuple[str, Callable[[Any, Any], bool], Any]                        # a word, a comparison, a bound
MOST: dict[type, tuple[Limit, ...]] = {Integral: (("", operator.le, 10**9),), Real: (("", operator.le, 1e30),)}
LIMITS: dict[type, tuple[str, Callable[[Any, Any], bool]]] = {
    Gt: ("above", operator.gt), Ge: ("of at least", operator.ge), Lt: ("below", operator.lt),
    Le: ("of at most", operator.le), MinLen: ("of at least", lambda held, least: len(held) >= least),
    MaxLen: ("of at most", lambda held, most: len(held) <= most)}
WORDS: dict[type, str] = {
    Integral: "a whole number", Real: "a number", NoneType: "None", str: "text", bool: "True or False",
    Tensor: "a tensor", Sequence: "a list or tuple", Mapping: "a mapping", torch.Generator: "a torch.Generator"}
OWN: dict[type, Callable[[Any], Any]] = {Integral: int, Real: float}       # Python's, for those of numpy, pandas, torch


def checked(function: Called) -> Called:
    """Refuse arguments that are not what their annotation says, by name and before any work is done; of a dataclass,
    its fields. Raises BadInput, UnknownName.

    Where a number or a list is expected, one of numpy, pandas or torch is passed on as Python's own; where a tensor
    is, arrays, series, frames and lists are passed on as one. It runs outside of ``torch.autocast``. The annotation
    ``Annotated[Any, Other]`` of ``**more`` says that the arguments of ``Other`` may be given as well.
    """
    if isinstance(function, type):
        function.__init__ = checked(function.__init__)  # type: ignore[misc]  # a class of ours, not its instance
        return function
    parameters = signature(function).parameters
    wanted = {name: _allowed(one.annotation) for name, one in parameters.items() if one.kind not in (2, 4)}  # no *, **
    title = function.__qualname__.removesuffix(".__init__")
    more = next((one.annotation for one in parameters.values() if one.kind == 4), None)
    known = [*wanted, *(name for part in get_args(more)[1:] for name in signature(part).parameters)]
    closed = more is None or len(known) > len(wanted)                      # all that may be given has a name
    places = [name for name, one in parameters.items() if one.kind in (0, 1)]
    exact = exactly(function)

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if closed and (foreign := [name for name in kwargs if name not in known]):
            raise unknown(f"argument of {title}", foreign[0], [name for name in known if name != "self"])
        if len(args) > len(places):
            said = [name for name in places if name != "self"]
            raise BadInput(f"{title}: {len(args) - len(places) + len(said)} arguments without names; expected at most "
                           f"{', '.join(said)}, and names for the others.")
        given = [_fitting(title, name, value, wanted[name]) for name, value in zip(places, args, strict=False)]
        named = {name: _fitting(title, name, value, wanted.get(name)) for name, value in kwargs.items()}
        return exact(*given, **named)

    return cast(Called, call)


@dataclass(frozen=True)
class _Allowed:
    """One of the things that an annotation allows: a class, limits of its values, and what a list or mapping holds."""

    kind: type
    limits: tuple[Limit, ...] = ()
    names: Collection[str] | None = None
    entries: "tuple[_Allowed, ...] | None" = None                          # None: any

    def is_kind(self, value: object) -> bool:
        if isinstance(value, bool | str | bytes):      # which Python takes for a number, and for a list of letters
            return type(value) is self.kind
        if self.kind is Real and isinstance(value, Integral) and abs(int(value)) > MOST[Real][0][2]:
            return False                               # and no float comes near
        return isinstance(value, self.kind)

    def fits(self, value: Any) -> bool:
        """Whether a value is of the kind, within the limits, and all that it holds as well."""
        return (self.is_kind(value) and (self.names is None or value in self.names)
                and all(compare(value, bound) for _, compare, bound in self.limits)
                and (self.entries is None or all(any(one.fits(entry) for one in self.entries) for entry in (
                    value.values() if self.kind is Mapping else value))))

    def __str__(self) -> str:
        limits = " and ".join(f"{word} {bound:g}" for word, _, bound in self.limits if word)
        words = " or ".join(map(repr, self.names or ())) or WORDS.get(self.kind, self.kind.__name__)
        return f"{words} {limits}".strip()


def _fitting(title: str, name: str, value: Any, allowed: tuple[_Allowed, ...] | None) -> Any:
    if allowed is None:
        return value
    listed = not isinstance(value, type) and getattr(value, "ndim", 2) < 2      # np.float32 itself has an ndim, too
    own = value.tolist() if listed and not any(one.is_kind(value) for one in allowed) else value
    if fitting := next((one for one in allowed if one.fits(own)), None):
        return OWN.get(fitting.kind, lambda other: other)(own)
    if not isinstance(value, type) and any(one.kind is Tensor for one in allowed) and (
            hasattr(value, "__array__") or isinstance(value, list | tuple)) and not isinstance(value, Tensor):
        return tensor(value, name)
    close = [one for one in allowed if one.is_kind(own)]
    if len(names := [known for one in close for known in one.names or ()]) > 1:
        raise unknown(name, own, names)
    if len(close) == 1 and close[0].entries and replace(close[0], entries=None).fits(own):
        for place, entry in own.items() if isinstance(own, Mapping) else enumerate(own):
            _fitting(title, f"{name}[{place!r}]", entry, close[0].entries)
    words = sorted({str(one) for one in (close if not names else allowed) or allowed}, key="None".__eq__)
    kind = "" if close else f" is a {type(value).__name__}"
    most = " (and not as large)" if close and isinstance(own, int | float) and own > 10**9 else ""
    raise BadInput(f"{title}: {name} = {shown(value)}{kind}; expected {' or '.join(words)}{most}.")


def _allowed(hint: Any) -> tuple[_Allowed, ...] | None:
    """What an annotation allows; None: anything."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        limits: list[Any] = [limit for part in parts[1:]
                             for limit in (part if isinstance(part, GroupedMetadata) else [part])]
        names = next((part.names for part in limits if isinstance(part, OneOf)), None)
        bounds = tuple((*LIMITS[type(limit)], astuple(limit)[0]) for limit in limits if type(limit) in LIMITS)
        of = _allowed(parts[0])
        return of and tuple(replace(one, limits=bounds + MOST.get(one.kind, ()), names=names) for one in of)
    if origin in (Union, UnionType):
        found = [_allowed(part) for part in parts]
        return None if None in found else tuple(one for some in found for one in some or ())
    if origin is Literal:
        return (_Allowed(str, names=parts),)
    listed = origin in (Sequence, Mapping) and Tensor not in (parts[-1], *get_args(parts[-1]))   # else numbers will do
    entries = _allowed(parts[-1]) if listed else None
    hint = origin or {int: Integral, float: Real, None: NoneType}.get(hint, hint)
    known = isinstance(hint, type) and hint not in (object, Any, Iterable, Parameter.empty)
    return (_Allowed(hint, entries=entries),) if known else None
