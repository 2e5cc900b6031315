"""Settings files and their schemas: what cannot be right is refused before anything runs.

``config/models.yaml`` names the models, ``config/profiles/NAME.yaml`` says how big a run is: which data, which
settings of a model to change, which notebook parameters to use. Profiles override models, never the other way round.
"""

import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache, reduce
from inspect import Parameter, signature
from operator import or_
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, create_model, model_validator

from pcgraph_lite.baselines.kinds import KINDS, Kind
from pcgraph_lite.engine import learning
from pcgraph_lite.engine.graph import PCGraph
from pcgraph_lite.engine.topology import CONSTRUCTORS
from pcgraph_lite.errors import BadFile, BadInput, one_of, shown, unknown
from pcgraph_lite.files import read_text
from pcgraph_lite.images.scale import SCALES
from pcgraph_lite.valid import Count, CountOrNone, OneOf

from .. import checkout


class Strict(BaseModel):
    """Base of every schema: no unknown keys (with a near match), no silent conversions, no infinite numbers or NaN."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, values: Any) -> Any:
        for key in values if isinstance(values, Mapping) else ():
            if key not in cls.model_fields:
                raise unknown("key", key, cls.model_fields)
        return values


def schema(name: str, base: type[Strict], takes: Callable[..., object], leave_out: Collection[str] = (),
           **more: Any) -> type[Strict]:
    """The arguments of a function or class as a schema: names, types, limits and defaults are those of its signature.

    ``leave_out``: arguments that settings files do not give; ``more``: further fields, for ``pydantic.create_model``.
    """
    hints = get_type_hints(takes.__init__ if isinstance(takes, type) else takes, include_extras=True)
    fields = {}
    for key, argument in signature(takes).parameters.items():
        if key not in leave_out:
            default = ... if argument.default is Parameter.empty else argument.default
            fields[key] = (_as_written(hints[key]), list(default) if isinstance(default, tuple) else default)
    return create_model(name, __base__=base, __doc__=f"Arguments of {takes.__name__}.", **fields, **more)


def _as_written(hint: Any) -> Any:
    """A type as YAML has it: lists for sequences, names out of a registry, and one value, not one for each replica."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        names = [extra.names for extra in parts[1:] if isinstance(extra, OneOf)]
        return Literal[tuple(names[0])] if names else Annotated[_as_written(parts[0]), *parts[1:]]
    if origin is Sequence:
        return list[_as_written(parts[0])]
    if origin in (Union, UnionType):
        single = [part for part in parts if get_origin(part) not in (Callable, Sequence)]
        return reduce(or_, map(_as_written, parts if single == [NoneType] else single))
    return hint


BEFORE = {"scale": "[0, 1]", "anneal": "none", "warm_up": 0.0}             # what weights had before there was a choice


class Model(Strict):
    """What every kind of model has. ``train_count`` null: all images that the profile's data set has."""

    description: str
    data: Literal["mnist", "fashion", "svhn", "cifar10"]
    train_count: Count | None = None
    validation_count: CountOrNone = 0

    def own(self) -> dict[str, Any]:
        """The settings that the model is made with: no data, and no training."""
        return self.model_dump(exclude={*Model.model_fields, "kind", "train"})

    def identity(self, seed: int, sample: bool) -> str:
        """SHA-256 of everything that decides the weights: the settings, the seed, and which data."""
        settings = self.model_dump(mode="json", exclude={"description"}, exclude_none=True)
        for some in (settings, settings.get("train", {})):
            for key in [key for key in some.keys() & BEFORE.keys() if some[key] == BEFORE[key]]:
                del some[key]
        canonical = json.dumps({"settings": settings, "seed": seed, "sample": sample}, sort_keys=True)
        return hashlib.sha256(canonical.encode()).hexdigest()


CALL = {"self", "model", "graph", "data", "images", "labels", "validation", "checkpoint", "generator", "progress",
        "callback", "settings"}                                            # of every ``fit``, not of settings files
HARDWARE = {"topology", "generator", "layout", "pixel_scale"}              # of a graph, the same; its scale by name


def _baseline(name: str, kind: Kind) -> type[Model]:
    train = schema(f"training of {name}", Strict, kind.training, CALL.union(kind.without))
    return schema(name, Model, kind.make, {"generator", *kind.given}, kind=(Literal[name], ...), train=(train, ...))


TOPOLOGIES = [schema(name, Strict, make, {"generator"}, constructor=(Literal[name], ...))
              for name, make in CONSTRUCTORS.items()]
GRAPH = schema("pcgraph", Model, PCGraph, HARDWARE, kind=(Literal["pcgraph"], ...), scale=(Literal[SCALES], "[0, 1]"),
               topology=(Annotated[reduce(or_, TOPOLOGIES), Field(discriminator="constructor")], ...),
               train=(schema("training", schema("score", Strict, learning.fit, CALL), learning.Training), ...))
SPECS = {"pcgraph": GRAPH, **{name: _baseline(name, kind) for name, kind in KINDS.items()}}
ModelSpec = Annotated[reduce(or_, SPECS.values()), Field(discriminator="kind")]


class DataSettings(Strict):
    """Which images a profile uses: the bundled sample, or the full data sets."""

    sample: bool


class Profile(Strict):
    """One size of run. ``models`` and ``notebooks`` hold only what differs from the defaults.

    ``published``: what differs again in the runs that the published book shows, where there was less time.
    """

    name: str
    description: str
    data: DataSettings
    threads: Count = 1
    models: dict[str, dict[str, Any]] = Field(default_factory=dict)
    notebooks: dict[str, dict[str, Any]] = Field(default_factory=dict)
    published: dict[str, dict[str, Any]] = Field(default_factory=dict)


def profile_names() -> list[str]:
    """The profiles that ``config/profiles`` holds. Raises BadFile: there is no such folder."""
    return sorted(path.stem for path in checkout.part("config/profiles").glob("*.yaml"))


def notebook_names() -> list[str]:
    """The notebooks that ``notebooks`` holds, in the order of the book. Raises BadFile: there is no such folder."""
    names = sorted(path.stem for path in checkout.part("notebooks").glob("*.md"))
    return sorted(names, key=lambda name: (name[0].isalpha(), name))    # sections first, then the appendix


def load_profile(name: str) -> Profile:
    """Read and check one profile, its model overrides included.

    Raises UnknownName, BadInput where the schema refuses something, and BadFile where a file is not YAML.
    """
    one_of("profile", name, profile_names())
    return _profile(name, profile_file(name), _text(profile_file(name)), _text(models_file()), tuple(notebook_names()))


@lru_cache(maxsize=8)
def _profile(name: str, path: Path, text: str, models: str, notebooks: tuple[str]) -> Profile:
    """Checked once for the content of the files: one command asks hundreds of times."""
    profile = validated(Profile, {"name": name} | mapping(path, text), path)
    refuse_unknown(path, "model", profile.models, _models(models_file(), models))
    refuse_unknown(path, "notebook", [*profile.notebooks, *profile.published], notebooks)
    for model, changes in profile.models.items():
        _changed(model, changes, path)
    return profile


def load_models() -> dict[str, Model]:
    """Every model of ``config/models.yaml``, before a profile changes it. Raises BadInput, BadFile."""
    return _models(models_file(), _text(models_file()))


@lru_cache(maxsize=8)
def _models(path: Path, text: str) -> dict[str, Model]:
    return validated(dict[str, ModelSpec], mapping(path, text), path)


def load_model(name: str, profile: Profile) -> Model:
    """One model as this profile trains it. Raises UnknownName, and BadInput as ``entry``."""
    known = load_models()
    one_of("model", name, known)
    changes = entry(name, profile)
    return _changed(name, changes, profile_file(profile.name)) if changes else known[name]


def entry(name: str, profile: Profile) -> Mapping[str, Any]:
    """What a profile changes of a model. Raises BadInput: on the sample nothing is trained at full size in silence."""
    if profile.data.sample and name not in profile.models:
        raise _in_file(profile_file(profile.name), f"no entry {name!r} under models, and the sizes of "
                       "config/models.yaml are for the full data sets. Add one "
                       f"({name}: {{}} takes them as they are).")
    return profile.models.get(name, {})


def _changed(name: str, changes: Mapping[str, Any], path: Path) -> Model:
    """A model with the changes of the profile that ``path`` holds."""
    both = merged(read_yaml(models_file())[name], changes)
    return validated(dict[str, ModelSpec], {name: both}, path, prefix="models.")[name]


def merged(base: Mapping[str, Any], override: Mapping[str, Any]) -> dict[str, Any]:
    """``base`` with the entries of ``override``, mappings merged key by key and everything else replaced."""
    both = {key: merged(base[key], value) if isinstance(value, Mapping) and isinstance(base.get(key), Mapping)
            else value for key, value in override.items()}
    return {**base, **both}


def read_yaml(path: Path) -> dict[str, Any]:
    """A YAML mapping from a file, shared, so nobody changes it. Raises BadFile: it is missing or not such YAML."""
    return mapping(path, _text(path))


def _text(path: Path) -> str:
    try:
        return read_text(path, LARGEST)
    except BadFile as error:
        raise BadFile(f"{str(error).replace(str(path), checkout.relative(path))}.") from error


@lru_cache(maxsize=32)
def mapping(path: Path, text: str) -> dict[str, Any]:
    """A YAML mapping from the text of a file. Raises BadFile: it is not that, or nested or repeated beyond measure."""
    try:
        content = yaml.load(text, Loader=_Loader)                          # a safe loader, see below
    except (yaml.YAMLError, ValueError, RecursionError) as error:          # a ValueError: a day that no month has
        why = " ".join(str(error).split())[:500]
        raise BadFile(f"{checkout.relative(path)} is not valid YAML: {why}") from error
    seen, waiting = 0, [content]
    while waiting and seen < LARGEST:                                      # aliases count as often as they are used
        some = waiting.pop()
        waiting += [*some, *some.values()] if isinstance(some, dict) else some if isinstance(some, list) else ()
        seen += 1
    if waiting:
        raise BadFile(f"{checkout.relative(path)} holds more than {LARGEST} values; expected settings.")
    if not isinstance(content, dict):
        raise BadFile(f"{checkout.relative(path)} holds {type(content).__name__}; expected a mapping of keys to "
                      "values.")
    return content


LARGEST = 2**20                                                            # bytes and values of a settings file


class _Loader(yaml.SafeLoader):
    """YAML as people write it: 1e-4 is a number (YAML 1.1 wants 1.0e-4), and a key given twice is an error."""

    def compose_mapping_node(self, anchor: str | None) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        keys = [key.value for key, _ in node.value]
        if twice := [key for key in keys if keys.count(key) > 1]:
            raise yaml.constructor.ConstructorError(None, None, f"the key {twice[0]!r} is given twice", node.start_mark)
        return node


_Loader.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+"),
                              list("-+0123456789"))


def profile_file(name: str) -> Path:
    """Where a profile is described."""
    return checkout.ROOT / "config" / "profiles" / f"{name}.yaml"


def models_file() -> Path:
    """Where the models are described."""
    return checkout.ROOT / "config" / "models.yaml"


def validated(schema: Any, values: Any, path: Path, prefix: str = "") -> Any:
    """``values`` read as ``schema``. Raises BadInput naming the file, the key, what was expected and a near match."""
    try:
        return _adapter(schema).validate_python(values)
    except ValidationError as error:
        raise _in_file(path, *(explain(one, prefix) for one in error.errors()[:10])) from None


@lru_cache(maxsize=32)
def _adapter(schema: Any) -> TypeAdapter:
    return TypeAdapter(schema)


def refuse_unknown(path: Path, kind: str, given: Iterable[str], known: Collection[str]) -> None:
    """Raise BadInput, naming the file and a near match, where one of the given names is not known."""
    for wrong in set(given) - set(known):
        raise _in_file(path, unknown(kind, wrong, known))


def explain(error: Mapping[str, Any], prefix: str) -> str:
    """One pydantic complaint as 'key: what was expected, got ...'."""
    where = prefix + ".".join(str(part) for part in error["loc"])
    message = error["msg"].removeprefix("Value error, ")
    got = "" if isinstance(error["input"], Mapping) else f"; got {shown(error['input'])}"
    return f"{where}: {message[0].lower()}{message[1:]}{got}"


def _in_file(path: Path, *problems: object) -> BadInput:
    return BadInput("\n".join(f"{checkout.relative(path)}: {problem}" for problem in problems))
