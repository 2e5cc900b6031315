"""What lies outside the limits that a signature says is refused, by the name of the argument, its value and what fits.
Oracle: the annotations of every function of the package that checks its arguments, read here by themselves. The call
has no other argument: what is wrong is said before any work."""

import pkgutil
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from inspect import signature
from itertools import chain
from types import FunctionType, UnionType
from typing import Annotated, Literal, Union, get_args, get_origin

import pytest
from annotated_types import Ge, GroupedMetadata, Gt, Le, Lt, MaxLen, MinLen
from torch import Tensor

import pcgraph_lite
from pcgraph_lite import topology
from pcgraph_lite.baselines import rivals
from pcgraph_lite.baselines.kinds import KINDS
from pcgraph_lite.engine.layout import Layout
from pcgraph_lite.errors import BadInput
from pcgraph_lite.images import metrics
from pcgraph_lite.studies import convergence, structure
from pcgraph_lite.valid import OneOf


def checked() -> dict[str, Callable]:
    """Functions, methods and constructors of the package that check their arguments: place -> the function."""
    modules = [import_module(one.name) for one in pkgutil.walk_packages(pcgraph_lite.__path__, "pcgraph_lite.")]
    every = [one for module in modules for one in vars(module).values()]
    every += [part for one in every if isinstance(one, type) for part in vars(one).values()]
    return {f"{one.__module__.removeprefix('pcgraph_lite.')}.{one.__qualname__}": one for one in every
            if isinstance(one, FunctionType) and one.__code__.co_qualname == "checked.<locals>.call"}


def outside(hint: object) -> Iterator[object]:
    """Values just outside the limits of an annotation; a list of numbers in the place of a tensor is one."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Literal:
        yield "no such name"
    elif origin is Annotated:
        for limit in chain(*(one if isinstance(one, GroupedMetadata) else [one] for one in parts[1:])):
            yield from beyond(limit, "a" if str in get_args(parts[0]) else 1)
        yield from outside(parts[0])
    elif origin in (Union, UnionType):
        for part in parts:
            yield from outside(part) if get_origin(part) is not Sequence or Tensor not in parts else ()
    elif origin is Sequence:
        yield from ([entry] for entry in outside(parts[0]))


def beyond(limit: object, entry: object) -> Iterator[object]:
    """A value, or a list of such entries, that misses a limit by as little as a whole number can."""
    match limit:
        case Gt(bound) | Lt(bound):
            yield bound
        case Ge(bound):
            yield bound - 1
        case Le(bound):
            yield bound + 1
        case MinLen(length):
            yield [entry] * (length - 1)
        case MaxLen(length):
            yield [entry] * (length + 1)
        case OneOf():
            yield "no such name"


def unlimited(hint: object) -> set[type]:
    """Kinds of numbers and texts that an annotation allows without limits."""
    if hint in (int, float, str):
        return {hint}
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType, Sequence) else ()
    return {kind for part in parts for kind in unlimited(part)}


FUNCTIONS = checked()
LIMITED = {place: limits for place, one in FUNCTIONS.items() if (limits := [
    (name, value) for name, argument in signature(one).parameters.items() for value in outside(argument.annotation)])}


@pytest.mark.parametrize("place", LIMITED)
def test_what_lies_outside_a_limit_is_refused_by_name(place: str) -> None:
    for name, value in LIMITED[place]:
        with pytest.raises(BadInput, match=rf"{name}(\[0\])? = .*; expected |no {name} '.*'. Known: ") as caught:
            FUNCTIONS[place](**{name: value})
        assert str(value).strip("[]") in str(caught.value) and "\n" not in str(caught.value)


def test_every_number_has_limits_and_every_name_of_a_baseline_is_one_of_some() -> None:
    """But a seed, what the number of images decides, what the code itself looks at, and where a file is; a topology
    looks at the sizes of its groups, whatever a constructor of the reader's own says of them."""
    free = {(place, name, kind) for place, one in FUNCTIONS.items()
            for name, argument in signature(one).parameters.items() for kind in unlimited(argument.annotation)}
    numbers = {name for _, name, kind in free if kind is not str} - {"pixels", "labels", "internal"}
    assert numbers == {"seed", "count", "feature", "validation"}
    assert {name for place, name, _ in free if place.startswith("baselines")} == {"checkpoint"}


def test_every_room_has_such_functions() -> None:
    """So that none is left out in silence."""
    made = {*topology.CONSTRUCTORS.values(), *(kind.make.__init__ for kind in KINDS.values()), KINDS["linear"].fit}
    settings = {one.__init__ for one in (pcgraph_lite.PCGraph, pcgraph_lite.Settings, pcgraph_lite.Training, Layout)}
    others = {structure.brain_regions, convergence.watch, rivals.ridge, rivals.best_linear, metrics.mean_interval}
    assert made | settings | others <= {*FUNCTIONS.values()} and len(LIMITED) > 40
