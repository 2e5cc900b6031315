"""Named models: from a specification to trained, cached and verified weights.

Weights lie under ``_build/<profile>/models`` as safetensors, with the specification, its hash and the provenance in the
header and the training history as CSV beside them. Whoever needs a model calls :func:`load`; nothing else trains.
"""

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from filelock import FileLock
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import nn

from .. import checkout, hardware
from ..baselines.kinds import KINDS
from ..engine import learning
from ..engine.constructors import CONSTRUCTORS
from ..engine.graph import PCGraph
from ..errors import BadFile, BadInput, PCGraphError, whole
from ..files import tensor_digest, write_aside
from ..images import datasets
from ..images import scale as scales
from ..images.datasets import ImageSet
from ..images.scale import Scale
from . import config, numerics, records
from .config import AnySpec


@dataclass(frozen=True)
class Trained:
    """A trained model. ``graph`` is the PCGraph, or one of the baselines where ``spec.kind`` says so."""

    graph: nn.Module
    spec: AnySpec
    history: pd.DataFrame
    provenance: dict[str, Any]
    path: Path
    name: str
    profile: str
    seed: int

    @property
    def scale(self) -> Scale:
        """How the model's pixels are scaled; ``studies.scaled.ask`` does it."""
        return scales.of(self.graph)

    @property
    def seconds(self) -> float:
        """Time of all epochs, those before a kill included."""
        return float(self.history["seconds"].sum())


def spec(name: str, profile: str) -> AnySpec:
    """The settings of a model as a profile trains it. Raises UnknownName, BadInput."""
    return config.load_model(name, config.load_profile(profile))


def path(name: str, profile: str, seed: int = 0) -> Path:
    """Where the weights of a model lie, whether or not they are there. Raises UnknownName, BadInput."""
    spec(name, profile)
    return checkout.ROOT / "_build" / profile / "models" / f"{name}-seed{whole(seed, 'seed', 0)}.safetensors"


def train(name: str, profile: str, seed: int = 0, device: str = "auto", progress: bool = True,
          force: bool = False) -> Path:
    """Train a model, unless weights of the same settings are there already; a killed training resumes.

    Args:
        force: train anew in any case, from the first epoch.

    Returns:
        The weights file.

    Raises:
        UnknownName, BadInput: the model, profile, seed or device. BadFile: the data. UnstableStep: the value step.
    """
    target, wanted = path(name, profile, seed), identity(name, profile, seed)
    hardware.pick_device(device)                       # refused before a folder is made
    checkpoint = target.with_suffix(f".{wanted[:12]}-{numerics.version(spec(name, profile))[:8]}.checkpoint")
    target.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(target.with_suffix(".lock")):        # two notebooks may want the same model at the same time
        if force:
            checkpoint.unlink(missing_ok=True)
        elif _header(target).get("identity") == wanted:
            return target
        _train_and_save(name, profile, seed, device, progress, checkpoint)
        for old in target.parent.glob(f"{target.stem}.*.checkpoint"):
            old.unlink(missing_ok=True)
    return target


def is_trained(name: str, profile: str, seed: int = 0) -> bool:
    """Whether weights and history of these very settings and numerics are there. Raises UnknownName, BadInput."""
    target = path(name, profile, seed)
    found = _header(target)
    return target.with_suffix(".csv").is_file() and fingerprint(name, profile, seed) == \
        f"{found.get('identity')} {found.get('numerics')}"


def load(name: str, profile: str, seed: int = 0, device: str = "auto", progress: bool = True) -> Trained:
    """Load a model; train it first where it is missing or of other settings, saying so.

    Raises:
        BadFile: the weights or the history are damaged; the message names the file and the command to train again.
        UnknownName, BadInput: the model, profile, seed or device.
    """
    target, settings = path(name, profile, seed), spec(name, profile)
    wanted = identity(name, profile, seed)
    if not target.is_file():
        print(f"{name} (seed {seed}) has no weights in profile {profile} yet: training it.", flush=True)
        train(name, profile, seed, device, progress)
    elif _header(target).get("identity", wanted) != wanted:
        print(f"{name} (seed {seed}) has weights of other settings: training it again.", flush=True)
        train(name, profile, seed, device, progress)
    return _read(target, settings, wanted, seed, device, f"pcgraph train {name} --profile {profile} --seed {seed}")


def load_all(kinds: Sequence[str] | Mapping[str, str], data: Sequence[str], profile: str, seeds: Sequence[int],
             device: str = "auto") -> dict[tuple[str, str, int], Trained]:
    """The models ``<kind>-<data set>`` of all seeds, by ``(dataset, kind, seed)``, each as ``load`` would have it.

    Args:
        kinds: what the models are called, or what they shall be called -> the kind that is loaded.
    """
    kinds = kinds if isinstance(kinds, Mapping) else {kind: kind for kind in kinds}
    return {(name, called, s): load(f"{kind}-{name}", profile, s, device, progress=False)
            for name in data for called, kind in kinds.items() for s in seeds}


def identity(name: str, profile: str, seed: int = 0) -> str:
    """Hash of all settings that decide the weights. Raises UnknownName, BadInput."""
    return spec(name, profile).identity(whole(seed, "seed", 0), config.load_profile(profile).data.sample)


def fingerprint(name: str, profile: str, seed: int = 0) -> str:
    """All that decides the weights, for a workflow: the settings, and the numbers that the code computes from them.

    The edges need no digest of their own: they follow from settings, seed and constructor, and numerics.json holds a
    small graph of each constructor. Raises UnknownName, BadInput.
    """
    return f"{identity(name, profile, seed)} {numerics.version(spec(name, profile))}"


def uses_sample(profile: str) -> bool:
    """Whether a profile runs on the bundled sample. Raises UnknownName."""
    return config.load_profile(profile).data.sample


def held_out(name: str, profile: str, seed: int = 0) -> ImageSet:
    """The validation images of a model: those its training with this seed never saw. Raises BadInput (none kept)."""
    settings = spec(name, profile)
    _, generator = build(settings, seed, torch.device("cpu"))
    _, validation = split(settings, config.load_profile(profile), generator)
    if validation is None:
        raise BadInput(f"model {name!r} keeps no validation images in profile {profile}; set validation_count.")
    return validation


def trained_on(name: str, profile: str, seed: int = 0) -> ImageSet:
    """The images that a model with this seed is trained on: for a memory, what it should know. Raises UnknownName."""
    settings = spec(name, profile)
    _, generator = build(settings, seed, torch.device("cpu"))
    return split(settings, config.load_profile(profile), generator)[0]


def parameter_count(model: nn.Module) -> int:
    """Number of trained parameters: edges (masked pairs do not count) and biases."""
    if isinstance(model, PCGraph):
        biases = 0 if model.bias is None else model.topology.n
        return model.topology.edge_count() + biases
    return sum(parameter.numel() for parameter in model.parameters())


def of_other_code(name: str, profile: str, seeds: Sequence[int]) -> list[str]:
    """The commands that would train anew such weights of these seeds as code with other numbers made."""
    stale = []
    for seed in seeds:
        header = _header(path(name, profile, seed))                        # none: not there yet, or ``load`` says more
        if header and header.get("numerics") != numerics.version(spec(name, profile)):
            stale.append(f"pcgraph train {name} --profile {profile} --seed {seed} --force")
    return stale


def build(settings: AnySpec, seed: int, device: torch.device) -> tuple[nn.Module, torch.Generator]:
    """The model before training, and the generator that goes on to split and shuffle the data."""
    generator, shape = torch.Generator().manual_seed(seed), datasets.SHAPES[settings.data]
    own = {"shape": shape, "pixels": math.prod(shape), "generator": generator} | settings.own()
    if settings.kind != "pcgraph":
        return _called(KINDS[settings.kind].make, own).to(device), generator
    arguments = settings.topology.model_dump(exclude={"constructor"}) | {"generator": generator}
    own["topology"] = _called(CONSTRUCTORS[settings.topology.constructor], arguments)
    graph = _called(PCGraph, own).to(device)
    scales.give(graph, scales.named(settings.scale, settings.data))
    return graph, generator


def _called(make: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    """A call with those of the arguments that it has."""
    return make(**{name: value for name, value in arguments.items() if name in signature(make).parameters})


def split(settings: AnySpec, profile: config.Profile,
          generator: torch.Generator) -> tuple[ImageSet, ImageSet | None]:
    """Training images and, where asked for, validation images; the test set is never touched."""
    data, held_out = datasets.load(settings.data, "train", sample=profile.data.sample), None
    if settings.validation_count:
        data, held_out = datasets.split_off(data, settings.validation_count, generator)
    if settings.train_count is not None and settings.train_count < len(data):
        data = data.subset(settings.train_count, generator)
    return data, held_out


def fit(model: nn.Module, settings: AnySpec, rest: ImageSet, held_out: ImageSet | None,
        **options: Any) -> pd.DataFrame:
    """Train a model in place as its specification says; ``options`` go to the ``fit`` of its kind.

    Returns:
        the history, one row an epoch.

    Raises:
        UnstableStep, BadValues: the training diverges.
    """
    scale = scales.of(model)
    pixels = scale.apply(rest.images)
    seen = None if held_out is None else (scale.apply(held_out.images), held_out.labels)
    if settings.kind == "pcgraph":
        train, data = learning.fit, [(pixels, rest.labels)]
    else:
        train, data = KINDS[settings.kind].fit, [pixels, rest.labels]
        if "labels" not in signature(train).parameters:                    # it learns to copy
            data, seen = data[:1], None if seen is None else seen[0]
    history = train(model, *data, validation=seen, **settings.train.model_dump(), **options)
    if getattr(settings.train, "score", None) == "completion" and "validation" in history:
        history["validation"] *= scale.unit**2                             # an error of pixels in [0, 1]
    return history


def _train_and_save(name: str, profile: str, seed: int, device: str, progress: bool, checkpoint: Path) -> None:
    settings, picked = spec(name, profile), hardware.pick_device(device)
    wanted, version = identity(name, profile, seed), checkout.version()    # may change
    began = time.monotonic()
    model, generator = build(settings, seed, picked)
    rest, held_out = split(settings, config.load_profile(profile), generator)
    if progress:
        print(f"training {name}: profile {profile}, seed {seed}, {len(rest)} images, {hardware.describe(picked)}",
              flush=True)
    history = fit(model, settings, rest, held_out, checkpoint=checkpoint, generator=generator, progress=progress)
    facts = records.provenance(str(hardware.describe(picked)), time.monotonic() - began, version)
    facts |= {"n": len(rest), "data": rest.source, "epochs": len(history), "validation": _best(history)}
    _save(path(name, profile, seed), model, history, {
        "model": name, "profile": profile, "seed": str(seed), "identity": wanted,
        "numerics": numerics.version(settings), "spec": settings.model_dump_json(), "provenance": json.dumps(facts)})


def _save(target: Path, model: nn.Module, history: pd.DataFrame, header: dict[str, str]) -> None:
    tensors = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in model.state_dict().items()}
    with write_aside(target.with_suffix(".csv")) as part:
        history.to_csv(part, index=False)
    with write_aside(target) as part:
        try:
            save_file(tensors, part, header | {"weights_sha256": tensor_digest(tensors)})
        except SafetensorError as error:
            raise PCGraphError(f"could not write {checkout.shown(target)}: {error}. Free space and run "
                               "again.") from error


def _read(target: Path, settings: AnySpec, wanted: str, seed: int, device: str,
          command: str) -> Trained:
    model, _ = build(settings, seed, hardware.pick_device(device))
    try:
        with safe_open(target, "pt") as file:
            header = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
        if header["identity"] != wanted or header["weights_sha256"] != tensor_digest(tensors):
            raise ValueError("its content does not have the hash of its header")
        model.load_state_dict(tensors)                       # names and shapes
        history = pd.read_csv(target.with_suffix(".csv"))
        provenance = json.loads(header["provenance"])
    except (SafetensorError, OSError, KeyError, ValueError, RuntimeError) as error:
        raise BadFile(f"{checkout.shown(target)} (or its history, .csv) is damaged: {error}. "
                      f"Train it again: {command} --force") from error
    return Trained(model, settings, history, provenance, target, header["model"], header["profile"],
                   int(header["seed"]))


def _header(target: Path) -> dict[str, str]:
    """What a weights file says of itself; empty where there is none to be read."""
    try:
        with safe_open(target, "pt") as file:
            return file.metadata() or {}
    except (SafetensorError, OSError):
        return {}


def _best(history: pd.DataFrame) -> float | None:
    return float(history["validation"].max()) if "validation" in history else None
