"""Errors that name the value, what was expected and what to do."""

import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from reprlib import Repr

LISTED = 200                                       # names that an error says, of those that are known


class _Brief(Repr):
    """The ``repr`` of a value as messages show it, cut where it is long."""

    def repr_int(self, x: int, level: int) -> str:
        return str(x) if x.bit_length() < 200 else f"<a {x.bit_length()}-bit int>"


brief = _Brief()
brief.maxstring = brief.maxother = 60


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
    """A step size or learning rate is too large: the energy rises instead of falling, or leaves the finite numbers."""


class BadFile(PCGraphError):
    """A missing, damaged or foreign file."""


class MissingPackage(PCGraphError, ImportError):
    """A package that this part needs and the library alone does not."""


DISTRIBUTIONS = {"PIL": "pillow", "yaml": "PyYAML", "torch_fidelity": "torch-fidelity"}     # whose names differ


@contextmanager
def needing(what: str) -> Iterator[None]:
    """Around imports of packages that only ``what`` needs. Raises MissingPackage, with the command that installs it."""
    try:
        yield
    except ModuleNotFoundError as error:
        name = str(error.name).partition(".")[0]
        raise MissingPackage(f"{what} needs {name}, which is not installed: pip install "
                             f"{DISTRIBUTIONS.get(name, name)}", name=error.name) from None


def shown(value: object) -> str:
    """A value in at most 80 characters of one line; of a tensor or array its type and shape."""
    if hasattr(value, "shape") and hasattr(value, "dtype") and not isinstance(value, type):
        return f"<{type(value).__name__} {tuple(value.shape)} {value.dtype}>"
    plain = (isinstance(value, str | int | float | complex | bytes | list | tuple | dict | set | type(None))
             or type(value).__name__ == "dtype")
    text = " ".join(brief.repr(value).split()) if plain else f"<{type(value).__name__}>"
    return text if len(text) <= 80 else f"{text[:77]}..."


def unknown(kind: str, name: object, known: Iterable[object], cls: type[BadInput] = UnknownName) -> BadInput:
    """Build the error for a name that is not among the known ones, with the nearest as a suggestion."""
    names = list(map(str, known))
    near = get_close_matches(str(name)[:200], names, n=1) if isinstance(name, str) else []
    hint = f" Did you mean {near[0]!r}?" if near else ""
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return cls(f"no {kind} {shown(name)}. Known: {', '.join(names[:LISTED]) or 'none'}{more}.{hint}")


def one_of(kind: str, name: object, known: Collection[str]) -> str:
    """Return a name that is known, or raise UnknownName."""
    if not isinstance(name, str) or name not in known:
        raise unknown(kind, name, known)
    return name


def require_memory(entries: int, what: str, size: int = 4) -> None:
    """Raise BadInput where so many entries of ``size`` bytes take more memory than the machine has.

    Nothing is refused where the system does not say how much that is, as Windows does not in this way.
    """
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return
    if entries * size > memory > 0:                                        # -1: it is not known
        raise BadInput(f"{what} would take {entries * size / 2**30:.3g} GiB; this machine has {memory / 2**30:.3g}: "
                       "give fewer vertices, or edges as a sparse mask (topology.from_mask, from_networkx).")
