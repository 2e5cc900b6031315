"""Errors that name the value, what was expected and what to do."""

from collections.abc import Iterable
from difflib import get_close_matches


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
