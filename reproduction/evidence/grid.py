"""The settings that the paper names, ``config/paper-grid.yaml``, and where a model leaves them. It reads settings files
as they are written, because the scorecard must not wait for torch.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from pydantic import Field

from pcgraph_lite.errors import UnknownName

from .. import checkout
from . import words
from .strict import Strict, changed, crossed, merged, read_yaml, validated, value_of

Settings = Mapping[str, Any]
WORDS = words.load().settings


class Entry(Strict):
    """What the paper names for one kind of graph: dotted key of a model's settings -> values, or the largest.
    ``place``: where in the paper. ``fits``: the models that it speaks of, in the same form.
    """

    place: str
    fits: dict[str, list[Any]]
    allowed: dict[str, list[Any]]
    at_most: dict[str, float] = Field(default_factory=dict)

    def named(self) -> dict[str, str]:
        """Dotted key -> the values that the paper names, in words."""
        return {key: ", ".join(map(in_words, values)) for key, values in self.allowed.items()} | {
            key: f"at most {limit:g}" for key, limit in self.at_most.items()}

    def excludes(self, key: str, given: Any) -> bool:
        """Whether the paper names other values of a setting than this one."""
        return (key in self.allowed and given not in self.allowed[key]) or (
            key in self.at_most and given > self.at_most[key])


def load() -> dict[str, Entry]:
    """Every entry by its name. Raises BadFile, BadInput."""
    path = checkout.part("config/paper-grid.yaml")
    return validated(dict[str, Entry], read_yaml(path), path)


def entry(settings: Settings) -> tuple[str, Entry] | None:
    """The name and the entry that speaks of a model. None: the paper names no settings of its kind."""
    return next(((name, one) for name, one in load().items()
                 if all(value(settings, key) in values for key, values in one.fits.items())), None)


def departures(settings: Settings, about: Collection[str] = ()) -> list[str]:
    """Where a model leaves what the paper names, in words. Unsaid settings are inside, and so are keys in ``about``."""
    if (found := entry(settings)) is None:
        return []
    return [f"{WORDS[key]} {in_words(given)} (the paper names {said})" for key, said in found[1].named().items()
            if key not in about and (given := value(settings, key)) is not None and found[1].excludes(key, given)]


def settings_of(name: str) -> Iterator[Settings]:
    """The settings behind a name in ``claims.yaml``: of a model, or of all runs of a sweep. Raises UnknownName."""
    models = read_yaml(checkout.part("config/models.yaml"))
    if name in models:
        yield models[name]
    elif (file := checkout.ROOT / f"config/sweeps/{name}.yaml").is_file():
        sweep = read_yaml(file)
        base = merged(models[sweep["model"]], sweep.get("base", {})) | {"query_steps": sweep.get("query_steps")}
        yield base
        yield from (changed(base, point) for point in crossed(sweep["vary"]))
    else:
        raise UnknownName(f"{name!r} is neither a model of config/models.yaml nor a sweep of config/sweeps.")


def value(settings: Settings, key: str) -> Any:
    """The value of a dotted key of a model's settings. None: it is unsaid."""
    if key == "vertices":                                                  # of a fully connected graph
        return sum(settings["topology"].get(part, 0) for part in ("pixels", "labels", "internal"))
    return value_of(settings, key)


def in_words(given: object) -> str:
    """A value of a setting in words."""
    if isinstance(given, list):
        return "-".join(map(str, given))
    if isinstance(given, Mapping):
        return ", ".join(f"{in_words(one)} ({name.replace(' -> ', ' to ')})" for name, one in given.items())
    return f"{given:g}" if isinstance(given, float) else words.load().words.get(str(given), str(given))
