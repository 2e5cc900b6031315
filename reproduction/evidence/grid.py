"""The settings that the paper names, ``config/paper-grid.yaml``, and where a model leaves them."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import Field

from pcgraph_lite import checkout
from pcgraph_lite.errors import UnknownName

from . import config, sweeps, zoo
from .config import Model, Strict

WORDS = {"vertices": "number of vertices", "train_count": "number of images", "activation": "f",
         "topology.hidden": "hidden layers", "hidden": "hidden layers", "train.optimizer": "optimizer",
         "train.weight_lr": "weight step", "train.weight_decay": "weight decay", "train.epochs": "epochs",
         "train.steps": "T", "topology.clusters": "clusters", "topology.size": "size of a cluster",
         "topology.p": "density", "top_k": "top-k"}


class Entry(Strict):
    """What the paper names for one kind of graph: dotted key of a model's settings -> values, or the largest."""

    place: str
    fits: dict[str, list[Any]]
    allowed: dict[str, list[Any]]
    at_most: dict[str, float] = Field(default_factory=dict)


def path() -> Path:
    """Where the grid is written."""
    return checkout.part("config") / "paper-grid.yaml"


def load() -> dict[str, Entry]:
    """Every entry by its name. Raises BadFile, BadInput."""
    return config.validated(dict[str, Entry], config.read_yaml(path()), path())


def entry(spec: Model) -> tuple[str, Entry] | None:
    """The entry that speaks of a model. None: the paper names no settings of its kind."""
    settings = _settings(spec)
    return next(((name, one) for name, one in load().items()
                 if all(_value(settings, key) in values for key, values in one.fits.items())), None)


def departures(spec: Model) -> list[str]:
    """Where a model leaves what the paper names, in words: none, and it is inside the grid."""
    if (found := entry(spec)) is None:
        return []
    settings, (_, one) = _settings(spec) | {"vertices": _vertices(spec)}, found
    said = [f"{WORDS[key]} {_shown(value)} (the paper names {' or '.join(map(_shown, named))})"
            for key, named in one.allowed.items() if (value := _value(settings, key)) not in named]
    return said + [f"{WORDS[key]} {value} (the paper names at most {most:g})"
                   for key, most in one.at_most.items() if (value := _value(settings, key)) > most]


def specs(name: str) -> list[Model]:
    """The settings behind a name that ``claims.yaml`` gives: a model, or all runs of a sweep. Raises UnknownName."""
    if name in config.load_models():
        return [zoo.spec(name, "paper")]
    if name in sweeps.names():
        return [run.spec for run in sweeps.plan(name, "paper")]
    raise UnknownName(f"{name!r} is neither a model of config/models.yaml nor a sweep of config/sweeps.")


@cache
def departures_of(names: tuple[str, ...]) -> tuple[str, ...]:
    """Where any of these models or sweeps leaves the grid, each way once."""
    return tuple(dict.fromkeys(said for name in names for spec in specs(name) for said in departures(spec)))


def _settings(spec: Model) -> dict[str, Any]:
    return spec.model_dump()


def _vertices(spec: Model) -> int | None:
    """How many vertices a fully connected graph has."""
    topology = getattr(spec, "topology", None)
    if getattr(topology, "constructor", "") != "fully_connected":
        return None
    return topology.pixels + topology.labels + topology.internal


def _value(settings: Mapping[str, Any], key: str) -> Any:
    value: Any = settings
    for name in key.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else " and ".join(map(str, value)) if isinstance(value, list) \
        else str(value)
