"""Settings files and their schemas, which refuse wrong settings before anything runs: ``config/models.yaml`` has the
models, ``config/profiles/NAME.yaml`` the size of a run, with changes of models' settings and parameters of notebooks.
"""

import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache, reduce
from inspect import Parameter, isclass, signature
from operator import or_
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import Field, create_model

from pcgraph_lite.baselines.kinds import KINDS
from pcgraph_lite.engine import learning
from pcgraph_lite.engine.graph import PCGraph
from pcgraph_lite.engine.topology import CONSTRUCTORS
from pcgraph_lite.errors import one_of
from pcgraph_lite.images.scale import SCALES
from pcgraph_lite.valid import Count, CountOrZero, OneOf

from .. import checkout
from ..checkout import profile_names
from .strict import Strict, changed, in_file, mapping, merged, read_yaml, refuse_unknown, text_of, validated


def schema(name: str, base: type[Strict], takes: Callable[..., object], leave_out: Collection[str] = (),
           **more: Any) -> type[Strict]:
    """A schema of the arguments of a function or class, by its signature. ``leave_out``: arguments that settings files
    do not give. ``more``: further fields for ``pydantic.create_model``.
    """
    hints = get_type_hints(takes.__init__ if isclass(takes) else takes, include_extras=True)
    fields: dict[str, Any] = {}
    for key, argument in signature(takes).parameters.items():
        if key not in leave_out:
            default = ... if argument.default is Parameter.empty else argument.default
            fields[key] = (_as_written(hints[key]), list(default) if isinstance(default, tuple) else default)
    return create_model(name, __base__=base, __doc__=f"Arguments of {takes.__name__}.", **fields, **more)


def _as_written(hint: Any) -> Any:
    """A type in YAML's terms: lists for sequences, names from a registry, one value instead of one per replica."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        names = [extra.names for extra in parts[1:] if isinstance(extra, OneOf)]
        return Literal[tuple(names[0])] if names else Annotated[_as_written(parts[0]), *parts[1:]]
    if origin is Sequence:
        return list[_as_written(parts[0])]  # type: ignore[misc]  # made at run time
    if origin in (Union, UnionType):
        single = [part for part in parts if get_origin(part) not in (Callable, Sequence)]
        return reduce(or_, map(_as_written, parts if single == [NoneType] else single))
    return hint


BEFORE = {"scale": "[0, 1]", "anneal": "none", "warm_up": 0.0, "augment": "none"}     # what older weights had


class Model(Strict):
    """The settings of every kind of model. ``train_count`` null: all images of the profile's data set."""

    description: str
    data: Literal["mnist", "fashion", "svhn", "cifar10"]
    train_count: Count | None = None
    validation_count: CountOrZero = 0
    if TYPE_CHECKING:
        def __getattr__(self, key: str) -> Any: ...                        # of the schemas below, made at run time

    def identity(self, seed: int, sample: bool, dtype: str = "float32") -> str:
        """SHA-256 of everything that decides the weights: settings, seed, data and precision."""
        settings = self.model_dump(mode="json", exclude={"description"}, exclude_none=True)
        for some in (settings, settings.get("train", {})):
            for key in [key for key in some.keys() & BEFORE.keys() if some[key] == BEFORE[key]]:
                del some[key]
        precision = {} if dtype == "float32" else {"drawn": dtype}         # older weights are float32
        canonical = json.dumps({"settings": settings, "seed": seed, "sample": sample} | precision, sort_keys=True)
        return hashlib.sha256(canonical.encode()).hexdigest()


CALL = {"self", "model", "graph", "data", "images", "labels", "validation", "checkpoint", "generator", "progress",
        "callback", "settings"}                                            # of ``fit``, not in settings files
HARDWARE = {"topology", "generator", "layout", "pixel_scale"}              # the same for graphs; the scale has a name


TOPOLOGIES = [schema(name, Strict, make, {"generator"}, constructor=(Literal[name], ...))
              for name, make in CONSTRUCTORS.items()]
GRAPH = schema("pcgraph", Model, PCGraph, HARDWARE, kind=(Literal["pcgraph"], ...), scale=(Literal[SCALES], "[0, 1]"),
               topology=(Annotated[reduce(or_, TOPOLOGIES), Field(discriminator="constructor")], ...),
               train=(schema("training", schema("score", Strict, learning.fit, CALL), learning.Training), ...))
BASELINES = [schema(name, Model, kind.make, {"generator", *kind.given}, kind=(Literal[name], ...),
                    train=(schema(f"training of {name}", Strict, kind.training, CALL.union(kind.without)), ...))
             for name, kind in KINDS.items()]
ModelSpec: Any = Annotated[reduce(or_, BASELINES, GRAPH), Field(discriminator="kind")]


class Profile(Strict):
    """A size of run. ``models`` and ``notebooks`` contain only differences from the defaults, ``published`` further
    ones of the published runs, for which there was less time. ``dtype``: the precision of models and images.
    """

    name: str
    description: str
    sample: bool                                       # the bundled images instead of the full data sets
    threads: Count = 1
    dtype: Literal["float32", "float64"] = "float32"
    models: dict[str, dict[str, Any]] = Field(default_factory=dict)
    notebooks: dict[str, dict[str, Any]] = Field(default_factory=dict)
    published: dict[str, dict[str, Any]] = Field(default_factory=dict)


def notebook_names() -> list[str]:
    """The names of the notebooks in the order of the book. Raises BadFile: there is no folder ``notebooks``."""
    names = (path.stem for path in checkout.part("notebooks").glob("*.md"))
    return sorted(names, key=lambda name: (name[0].isalpha(), name))    # sections first, then the appendix


def load_profile(name: str) -> Profile:
    """A profile with its changes of models. Raises UnknownName; BadInput: the schema refuses it; BadFile: no YAML."""
    one_of("profile", name, profile_names())
    file = profile_file(name)
    return _profile(name, file, text_of(file), text_of(models_file()), tuple(notebook_names()))


@lru_cache(maxsize=8)
def _profile(name: str, path: Path, text: str, models: str, notebooks: tuple[str, ...]) -> Profile:
    """Checked once per content of the files (``models``: of that of models), as one command asks hundreds of times."""
    profile = validated(Profile, {"name": name} | mapping(path, text), path)
    refuse_unknown(path, "model", profile.models, load_models())
    refuse_unknown(path, "notebook", [*profile.notebooks, *profile.published], notebooks)
    for model, changes in profile.models.items():
        checked(model, merged(read_yaml(models_file())[model], changes), path, prefix="models.")
    return profile


def load_models() -> dict[str, Model]:
    """Every model of ``config/models.yaml`` before a profile changes it. Raises BadInput, BadFile."""
    return validated(dict[str, ModelSpec], read_yaml(models_file()), models_file())


def load_model(name: str, profile: Profile) -> Model:
    """A model as this profile trains it. Raises UnknownName, and BadInput as ``entry``."""
    one_of("model", name, every := read_yaml(models_file()))
    return checked(name, merged(every[name], entry(name, profile)), profile_file(profile.name), prefix="models.")


def entry(name: str, profile: Profile) -> dict[str, Any]:
    """The changes that a profile makes to a model. A copy under a new name gets those of its ``original``, except for
    settings of its own. Raises BadInput: neither exists; nothing is trained at full size on the sample unasked.
    """
    if name in profile.models or not profile.sample:
        return profile.models.get(name, {})
    if (source := original(name, profile)) is None:
        raise in_file(profile_file(profile.name), f"no entry {name!r} under models, and the sizes of "
                       "config/models.yaml are for the full data sets. Add one "
                       f"({name}: {{}} takes them as they are).")
    mine, theirs = (_flat(read_yaml(models_file())[model]) for model in (name, source))
    return changed({}, {key: value for key, value in _flat(profile.models[source]).items()
                        if mine.get(key) == theirs.get(key)})


def original(name: str, profile: Profile) -> str | None:
    """The model of a profile that one was copied from: the most alike of the same kind, data and constructor."""
    every = {model: _flat(read_yaml(models_file())[model]) for model in (name, *profile.models)}
    mine, shared = every.pop(name), {}
    for model, settings in every.items():
        same = {key for key in mine if key in settings and settings[key] == mine[key]}
        if all(key in same or key not in mine for key in ("kind", "data", "topology.constructor")):
            shared[model] = len(same)
    return max(shared, key=shared.__getitem__, default=None)


def _flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Every setting by its dotted key."""
    found: dict[str, Any] = {}
    for key, value in settings.items():
        found |= _flat(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {f"{prefix}{key}": value}
    return found


def checked(name: str, settings: Mapping[str, Any], path: Path, prefix: str = "") -> Model:
    """A model from its settings as a file has them. Raises BadInput, naming the file and the key after ``prefix``."""
    return validated(dict[str, ModelSpec], {name: settings}, path, prefix)[name]


def profile_file(name: str) -> Path:
    return checkout.ROOT / "config" / "profiles" / f"{name}.yaml"


def models_file() -> Path:
    return checkout.ROOT / "config" / "models.yaml"
