"""Errors that name the value, what was expected and what to do."""

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from math import isfinite
from numbers import Integral, Real


class PCGraphError(Exception):
    """Base of every error that this package raises on purpose."""


class BadInput(PCGraphError, ValueError):
    """An argument that cannot be used as given."""


class UnknownName(BadInput):
    """A model, notebook, parameter, profile or claim that does not exist."""


class UnknownGroup(BadInput):
    """A vertex group that the topology does not have."""


class WrongShape(BadInput):
    """A tensor whose shape does not fit the graph."""


class BadValues(BadInput):
    """A tensor that holds NaN or infinite entries."""


class UnstableStep(PCGraphError):
    """The value step is too large: the energy rises instead of falling."""


class BadFile(PCGraphError):
    """A missing, damaged or foreign file."""


def unknown(kind: str, name: object, known: Iterable[str], cls: type[BadInput] = UnknownName) -> BadInput:
    """Build the error for a name that is not among the known ones, with the nearest as a suggestion."""
    known = list(known)
    near = get_close_matches(str(name), known, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return cls(f"no {kind} {name!r}. Known: {', '.join(known) or 'none'}.{hint}")


def whole(value: object, name: str, least: int = 1) -> int:
    """Return a whole number of at least ``least`` (2, not 2.0 or True), or raise BadInput."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise BadInput(f"{name} = {value!r}; expected a whole number of at least {least}.")
    return int(value)


def number(value: object, name: str, expected: str, fits: Callable[[float], bool]) -> float:
    """Return a finite number that ``fits``, or raise BadInput saying what was ``expected``."""
    if isinstance(value, bool) or not isinstance(value, Real) or not isfinite(value) or not fits(value):
        raise BadInput(f"{name} = {value!r}; expected {expected}.")
    return float(value)
