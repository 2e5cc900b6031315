"""Settings files and their schemas: what cannot be right is refused before anything runs.

``config/models.yaml`` names the models, ``config/profiles/NAME.yaml`` says how big a run is: which data, which
settings of a model to change, which notebook parameters to use. Profiles override models, never the other way round.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from .. import checkout
from ..errors import BadFile, BadInput, unknown

Positive = Annotated[int, Field(gt=0)]
Fraction = Annotated[float, Field(ge=0, le=1)]
Rate = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]


class Strict(BaseModel):
    """Base of every schema: no unknown keys (with a near match in the message), no silent conversions."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, values: Any) -> Any:
        for key in values if isinstance(values, Mapping) else ():
            if key not in cls.model_fields:
                raise unknown("key", key, cls.model_fields)
        return values


class FullyConnected(Strict):
    """Arguments of ``topology.fully_connected``."""

    constructor: Literal["fully_connected"]
    pixels: Positive = 784
    labels: Annotated[int, Field(ge=0)] = 10
    internal: Positive
    self_loops: bool = False
    without: list[Annotated[list[str], Field(min_length=2, max_length=2)]] | None = None


class Layered(Strict):
    """Arguments of the multilayer constructors; hidden sizes in the order of the edges."""

    constructor: Literal["discriminative", "generative"]
    pixels: Positive = 784
    labels: Annotated[int, Field(ge=0)] = 10
    hidden: Annotated[list[Positive], Field(min_length=1)]


class Looped(Strict):
    """Arguments of the multilayer constructors that have edges inside a layer."""

    constructor: Literal["recurrent", "lateral"]
    pixels: Positive = 784
    labels: Annotated[int, Field(ge=0)] = 10
    hidden: Annotated[list[Positive], Field(min_length=1)]
    self_loops: bool = False


class Assemblies(Strict):
    """Arguments of ``topology.assemblies``; the edges are drawn from the model's seed."""

    constructor: Literal["assemblies"]
    clusters: Positive = 4
    size: Positive
    p: Fraction = 0.1
    pixels: Positive = 784
    labels: Annotated[int, Field(ge=0)] = 0


class SmallWorld(Strict):
    """Arguments of ``topology.small_world``; the edges are drawn from the model's seed."""

    constructor: Literal["small_world"]
    pixels: Positive = 784
    labels: Annotated[int, Field(ge=0)] = 10
    internal: Positive
    neighbours: Positive = 100
    rewire: Fraction = 0.1


TopologySpec = Annotated[FullyConnected | Layered | Looped | Assemblies | SmallWorld,
                         Field(discriminator="constructor")]


class Training(Strict):
    """What every kind of training has: epochs, batches, an Adam step with decay, early stopping."""

    epochs: Positive
    batch_size: Positive = 500
    weight_lr: Rate = 1e-4
    weight_decay: NotNegative = 0.0
    patience: Positive | None = None


class GraphTraining(Training):
    """Keyword arguments of ``pcg.fit``, see ``learning.Training``."""

    optimizer: Literal["adam", "adamw", "sgd"] = "adam"
    steps: Positive = 20
    value_lr: Literal["safe"] | Rate = "safe"
    momentum: Annotated[float, Field(ge=0, lt=1)] = 0.0
    score: Literal["auto", "accuracy", "energy", "completion"] = "auto"


class Model(Strict):
    """What every kind of model has. ``train_count`` null: all images that the profile's data set has."""

    description: str
    data: Literal["mnist", "fashion", "svhn", "cifar10"]
    train_count: Positive | None = None
    validation_count: Annotated[int, Field(ge=0)] = 0

    def identity(self, seed: int, sample: bool) -> str:
        """SHA-256 of everything that decides the weights: the settings, the seed, and which data."""
        settings = self.model_dump(mode="json", exclude={"description"}, exclude_none=True)
        if settings.get("scale") == "[0, 1]":                              # what weights had before there was a choice
            del settings["scale"]
        canonical = json.dumps({"settings": settings, "seed": seed, "sample": sample}, sort_keys=True)
        return hashlib.sha256(canonical.encode()).hexdigest()


class GraphSpec(Model):
    """A predictive coding graph and how it is trained. ``scale``: of its pixels, see images/scale.py."""

    kind: Literal["pcgraph"]
    topology: TopologySpec
    scale: Literal["[0, 1]", "[-1, 1]", "[-2, 2]", "standardized"] = "[0, 1]"
    activation: Literal["linear", "hardtanh", "tanh", "relu", "sigmoid"] = "hardtanh"
    top_k: Annotated[float, Field(gt=0, le=1)] | None = None
    init_std: Rate | dict[str, NotNegative] | None = None
    prior: Literal["zero", "flat"] = "zero"
    bias: bool = False
    train: GraphTraining


class AutoencoderSpec(Model):
    """A back-propagation autoencoder: pixels -> hidden -> ... -> pixels."""

    kind: Literal["autoencoder"]
    pixels: Positive = 784
    hidden: Annotated[list[Positive], Field(min_length=1)]
    train: Training


class HopfieldTraining(Strict):
    """Keyword arguments of ``fit_hopfield``: lists of values, of which the best on validation images is taken."""

    rule: Literal["storkey", "hebb"] = "storkey"
    sizes: Annotated[list[Positive], Field(min_length=1)]
    thresholds: Annotated[list[Fraction], Field(min_length=1)]
    levels: Annotated[list[Fraction], Field(min_length=1)]


class HopfieldSpec(Model):
    """A Hopfield network that stores one pattern a class."""

    kind: Literal["hopfield"]
    train: HopfieldTraining


class ScheduledTraining(Training):
    """Keyword arguments of ``epochs.Schedule``."""

    optimizer: Literal["adam", "adamw", "sgd"] = "adam"


class BoltzmannSpec(Model):
    """An unrestricted Boltzmann machine; the arguments of ``Boltzmann``."""

    kind: Literal["boltzmann"]
    hidden: Positive
    clamped_steps: Positive = 10
    free_steps: Positive = 5
    query_steps: Positive = 20
    damping: Annotated[float, Field(ge=0, lt=1)] = 0.5
    init_std: NotNegative = 0.01
    train: ScheduledTraining


class AlmeidaPinedaSpec(Model):
    """A fully connected network trained by recurrent backpropagation; the arguments of ``AlmeidaPineda``."""

    kind: Literal["almeida-pineda"]
    internal: Positive
    steps: Positive = 50
    tolerance: Rate = 1e-3
    damping: Annotated[float, Field(ge=0, lt=1)] = 0.0
    target: Annotated[float, Field(gt=0, lt=1)] = 0.8
    init_std: Rate | None = None
    train: ScheduledTraining


class LinearTraining(Strict):
    """Keyword arguments of ``fit_linear``."""

    method: Literal["least-squares", "logistic-regression"]
    weight_decay: NotNegative = 0.0
    iterations: Positive = 200


class LinearSpec(Model):
    """A linear classifier."""

    kind: Literal["linear"]
    train: LinearTraining


class MLPSpec(Model):
    """A multilayer perceptron trained by backpropagation; the arguments of ``MLP``."""

    kind: Literal["mlp"]
    hidden: Annotated[list[Positive], Field(min_length=1)]
    activation: Literal["linear", "hardtanh", "tanh", "relu", "sigmoid"] = "relu"
    train: ScheduledTraining


class RBMSpec(Model):
    """A restricted Boltzmann machine; the arguments of ``RBM``."""

    kind: Literal["rbm"]
    hidden: Positive = 512
    gibbs: Positive = 1
    init_std: NotNegative = 0.01
    train: ScheduledTraining


class DAMTraining(Strict):
    """Keyword arguments of ``dam.Annealing``."""

    epochs: Positive
    batch_size: Positive = 1000
    weight_lr: Rate = 0.04
    patience: Positive | None = None
    momentum: Annotated[float, Field(ge=0, lt=1)] = 0.6
    lr_decay: Annotated[float, Field(gt=0, le=1)] = 0.998
    loss_power: Positive = 10
    warm: Rate = 0.5
    cold: Rate = 0.125
    ramp: Positive = 100


class DAMSpec(Model):
    """A dense associative memory; the arguments of ``DAM``."""

    kind: Literal["dam"]
    memories: Positive = 2000
    power: Annotated[int, Field(ge=2)] = 3
    train: DAMTraining


AnySpec = (GraphSpec | AutoencoderSpec | HopfieldSpec | BoltzmannSpec | AlmeidaPinedaSpec | LinearSpec | MLPSpec
           | RBMSpec | DAMSpec)
ModelSpec = Annotated[AnySpec, Field(discriminator="kind")]


class DataSettings(Strict):
    """Which images a profile uses: the bundled sample, or the full data sets."""

    sample: bool


class Profile(Strict):
    """One size of run. ``models`` and ``notebooks`` hold only what differs from the defaults."""

    name: str
    description: str
    data: DataSettings
    threads: Positive = 1
    models: dict[str, dict[str, Any]] = Field(default_factory=dict)
    notebooks: dict[str, dict[str, Any]] = Field(default_factory=dict)


def profile_names() -> list[str]:
    """The profiles that ``config/profiles`` holds."""
    return sorted(path.stem for path in (checkout.ROOT / "config" / "profiles").glob("*.yaml"))


def notebook_names() -> list[str]:
    """The notebooks that ``notebooks`` holds, in the order of the book."""
    names = sorted(path.stem for path in (checkout.ROOT / "notebooks").glob("*.md"))
    return sorted(names, key=lambda name: (name[0].isalpha(), name))    # sections first, then the appendix


def load_profile(name: str) -> Profile:
    """Read and check one profile, its model overrides included.

    Raises:
        UnknownName: no such profile, or it names a model or notebook that does not exist.
        BadInput: a key, type or value that the schema refuses.
        BadFile: the file is not YAML.
    """
    if name not in profile_names():
        raise unknown("profile", name, profile_names())
    path = checkout.ROOT / "config" / "profiles" / f"{name}.yaml"
    profile = validated(Profile, {"name": name} | read_yaml(path), path)
    for kind, given, known in (("model", profile.models, load_models()),
                               ("notebook", profile.notebooks, notebook_names())):
        for wrong in given.keys() - set(known):
            raise _in_file(path, unknown(kind, wrong, known))
    for model, changes in profile.models.items():
        _changed(model, changes, path)
    return profile


def load_models() -> dict[str, AnySpec]:
    """Every model of ``config/models.yaml``, before a profile changes it. Raises BadInput, BadFile."""
    path = models_file()
    return validated(dict[str, ModelSpec], read_yaml(path), path)


def load_model(name: str, profile: Profile) -> AnySpec:
    """One model as this profile trains it.

    Raises:
        UnknownName: no such model.
        BadInput: the profile's override has a key, type or value that the schema refuses.
    """
    known = load_models()
    if name not in known:
        raise unknown("model", name, known)
    if name not in profile.models:
        return known[name]
    return _changed(name, profile.models[name], checkout.ROOT / "config" / "profiles" / f"{profile.name}.yaml")


def _changed(name: str, changes: Mapping[str, Any], path: Path) -> AnySpec:
    """A model with the changes of the profile that ``path`` holds."""
    both = merged(read_yaml(models_file())[name], changes)
    return validated(dict[str, ModelSpec], {name: both}, path, prefix="models.")[name]


def merged(base: Mapping[str, Any], override: Mapping[str, Any]) -> dict[str, Any]:
    """``base`` with the entries of ``override``, mappings merged key by key and everything else replaced."""
    both = {key: merged(base[key], value) if isinstance(value, Mapping) and isinstance(base.get(key), Mapping)
            else value for key, value in override.items()}
    return {**base, **both}


def read_yaml(path: Path) -> dict[str, Any]:
    """A YAML mapping from a file; it is shared, so nobody changes it.

    Raises BadFile (missing or not YAML) or BadInput (a key given twice).
    """
    try:
        content = _parsed(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadFile(f"cannot read {checkout.shown(path)}: {error.strerror}.") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise BadFile(f"{checkout.shown(path)} is not valid YAML: {error}") from error
    if not isinstance(content, dict):
        raise BadFile(f"{checkout.shown(path)} holds {type(content).__name__}; expected a mapping of keys to values.")
    return content


@lru_cache(maxsize=32)
def _parsed(text: str) -> Any:
    """Parsing takes tens of milliseconds, and one command reads the same files many times."""
    return yaml.load(text, Loader=_Loader)                                 # a safe loader, see below


class _Loader(yaml.SafeLoader):
    """YAML as people write it: 1e-4 is a number (YAML 1.1 wants 1.0e-4), and a key given twice is an error."""

    def compose_mapping_node(self, anchor: str | None) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        keys = [key.value for key, _ in node.value]
        if twice := [key for key in keys if keys.count(key) > 1]:
            raise yaml.constructor.ConstructorError(None, None, f"the key {twice[0]!r} is given twice", node.start_mark)
        return node


_Loader.yaml_implicit_resolvers = {key: list(value) for key, value in yaml.SafeLoader.yaml_implicit_resolvers.items()}
_Loader.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+"),
                              list("-+0123456789"))


def models_file() -> Path:
    """Where the models are described."""
    return checkout.ROOT / "config" / "models.yaml"


def validated(schema: Any, values: Any, path: Path, prefix: str = "") -> Any:
    """``values`` read as ``schema``. Raises BadInput naming the file, the key, what was expected and a near match."""
    try:
        return _adapter(schema).validate_python(values)
    except ValidationError as error:
        raise _in_file(path, *(_explain(one, prefix) for one in error.errors())) from None


@lru_cache(maxsize=32)
def _adapter(schema: Any) -> TypeAdapter:
    return TypeAdapter(schema)


def _explain(error: Mapping[str, Any], prefix: str) -> str:
    """One pydantic complaint as 'key: what was expected, got ...'."""
    where = prefix + ".".join(str(part) for part in error["loc"])
    message = error["msg"].removeprefix("Value error, ")
    got = "" if isinstance(error["input"], Mapping) else f"; got {error['input']!r}"
    return f"{where}: {message[0].lower()}{message[1:]}{got}"


def _in_file(path: Path, *problems: object) -> BadInput:
    return BadInput("\n".join(f"{checkout.shown(path)}: {problem}" for problem in problems))
