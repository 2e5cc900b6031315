"""Named models: from a specification to trained, cached and verified weights, safetensors files in
``_build/<profile>/models`` with specification, hash, provenance and history in the header.
"""

import json
import math
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from inspect import signature
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from filelock import AcquireReturnProxy, FileLock, Timeout
from safetensors import SafetensorError, safe_open

from pcgraph_lite import hardware, valid
from pcgraph_lite.baselines.kinds import KINDS, Baseline
from pcgraph_lite.engine import learning
from pcgraph_lite.engine.graph import PCGraph
from pcgraph_lite.engine.topology import CONSTRUCTORS
from pcgraph_lite.errors import BadFile, BadInput
from pcgraph_lite.files import load_tensors, ready, save_tensors, tensor_digest
from pcgraph_lite.images import datasets
from pcgraph_lite.images import scale as scales
from pcgraph_lite.images.datasets import ImageSet
from pcgraph_lite.valid import CountOrZero

from .. import checkout
from . import config, numerics, records
from .config import Model

HEADER = ("model", "profile", "seed", "identity", "numerics", "spec", "provenance", "weights_sha256", "history")
Learned = PCGraph | Baseline                                               # what settings make


@valid.checked
@dataclass(frozen=True)
class ModelRun:
    """A model as a profile trains it from a seed: handle of settings and weights. Raises UnknownName, BadInput."""

    name: str
    profile: str
    seed: CountOrZero = 0

    def __post_init__(self) -> None:
        spec(self.name, self.profile)

    @property
    def spec(self) -> Model:
        return spec(self.name, self.profile)

    @property
    def path(self) -> Path:
        """The file of the weights, whether or not it exists."""
        return checkout.ROOT / "_build" / self.profile / "models" / f"{self.name}-seed{self.seed}.safetensors"

    @property
    def identity(self) -> str:
        """Hash of all settings that decide the weights."""
        settings = config.load_profile(self.profile)
        return self.spec.identity(self.seed, settings.sample, settings.dtype)

    @property
    def fingerprint(self) -> str:
        """What decides the weights: the settings, from which also the edges follow, and the numbers of the code."""
        return f"{self.identity} {numerics.version(self.spec)}"

    @property
    def is_done(self) -> bool:
        """Whether weights of exactly these settings and numerics exist."""
        found = read_header(self.path)                                     # empty if there are no weights
        return self.fingerprint == f"{found.get('identity')} {found.get('numerics')}"

    def images(self) -> tuple[ImageSet, ImageSet | None]:
        """The training images (those that a memory stores), and the validation images."""
        _, generator = build(self.spec, self.seed, torch.device("cpu"))
        return split(self.spec, config.load_profile(self.profile), generator)

    def train(self, device: str = "auto", progress: bool = True, force: bool = False) -> Path:
        """Train unless weights of the same settings and numerics exist, or anew by ``force``. A killed one resumes.
        Returns the file. Raises BadInput: a wrong device. BadFile: missing or damaged data. UnstableStep: a large step.
        """
        target, picked = self.path, hardware.pick_device(device)           # checked before a folder is made
        version = numerics.version(self.spec)
        checkpoint = target.with_suffix(f".{self.identity[:12]}-{version[:8]}.checkpoint")
        lock, _ = map(ready, (target.with_suffix(".lock"), target))
        with _alone(lock, self.name):                  # two notebooks may want the same model at once
            if force:
                checkpoint.unlink(missing_ok=True)
            elif self.is_done:
                return target
            _train_and_save(self, picked, progress, checkpoint)
            for old in target.parent.glob(f"{target.stem}.*.checkpoint"):
                old.unlink(missing_ok=True)
        return target

    def load(self, device: str = "auto") -> "Trained":
        """The trained model, trained first, with a message, if weights are missing, of other settings or of code that
        computes other numbers. Raises as ``train``, and BadFile, with the command that trains it again: a damaged file.
        """
        target = self.path
        if not target.is_file() or (read_header(target) and not self.is_done):              # no header: damaged, below
            found = ("weights of other settings or code" if target.is_file() else
                     f"no weights in profile {self.profile} yet")
            print(f"{self.name} (seed {self.seed}) has {found}: training it.", file=sys.stderr, flush=True)
            self.train(device, progress=False)
        dtype = config.load_profile(self.profile).dtype
        model, _ = build(self.spec, self.seed, hardware.pick_device(device), dtype)
        try:
            header, tensors = load_tensors(target, HEADER)
            if header["identity"] != self.identity or header["weights_sha256"] != tensor_digest(tensors):
                raise ValueError("its content does not have the hash of its header")
            model.load_state_dict(tensors)                     # names and shapes
            history, facts = pd.read_csv(StringIO(header["history"])), json.loads(header["provenance"])
        except (BadFile, KeyError, ValueError, RuntimeError) as error:
            raise BadFile(f"{checkout.relative(target)} is damaged: {error}. Train it again: pcgraph train {self.name} "
                          f"--profile {self.profile} --seed {self.seed} --force") from error
        return Trained(self.name, self.profile, self.seed, graph=model, history=history, provenance=facts,
                       weights=header["weights_sha256"])


@dataclass(frozen=True, eq=False, kw_only=True)
class Trained(ModelRun):
    """A trained model. ``graph`` is a PCGraph, or a baseline if ``spec.kind`` says so. ``weights``: their SHA-256."""

    graph: Learned
    history: pd.DataFrame
    provenance: dict[str, Any]
    weights: str

    @property
    def seconds(self) -> float:
        """Time of all epochs, including those before a kill."""
        return float(self.history["seconds"].sum())

    @property
    def parameters(self) -> int:
        """The number of trained parameters: of a graph its edges (without masked pairs) and biases."""
        if not isinstance(self.graph, PCGraph):
            return sum(parameter.numel() for parameter in self.graph.parameters())
        biases = 0 if self.graph.bias is None else self.graph.topology.n
        return self.graph.topology.edge_count() + biases

    @property
    def vertices(self) -> int | None:
        """The number of vertices; None for a baseline."""
        return self.graph.topology.n if isinstance(self.graph, PCGraph) else None


def spec(name: str, profile: str) -> Model:
    """The settings of a model as a profile trains it. Raises UnknownName, BadInput."""
    return config.load_model(name, config.load_profile(profile))


def trained_on(name: str, profile: str, seed: int = 0) -> ImageSet:
    """The images on which a model is trained, or which a memory stores. Raises as ``ModelRun``."""
    return ModelRun(name, profile, seed).images()[0]


def committed_path(name: str) -> Path:
    """The file of a small model's committed 16-bit weights, whether or not it exists."""
    return checkout.ROOT / "results/weights" / f"{name}.safetensors"


def committed(name: str) -> Learned:
    """A small model with weights from the repository, which needs no training and no data set. Raises BadInput: there
    are none. BadFile: they are damaged or of other settings.
    """
    if not (file := committed_path(name)).is_file():
        known = ", ".join(sorted(other.stem for other in file.parent.glob("*.safetensors")))
        raise BadInput(f"there are no committed weights of {name!r}. There are: {known}")
    header, tensors = load_tensors(file, HEADER)
    training = ModelRun(name, header["profile"], int(header["seed"]))
    if header["identity"] != training.identity:
        raise BadFile(f"{checkout.relative(file)} has other settings than {name}. "
                      "Renew it: python scripts/export_live.py committed")
    model, _ = build(training.spec, training.seed, torch.device("cpu"))
    model.load_state_dict(tensors)
    return model


def build(settings: Model, seed: int, device: torch.device,
          dtype: str = "float32") -> tuple[Learned, torch.Generator]:
    """The model before training, and the generator that then splits and shuffles the data. The first weights are drawn
    in ``dtype``: in single precision torch draws them on each processor with other approximations, in double with none.
    """
    generator, shape = torch.Generator().manual_seed(seed), datasets.SHAPES[settings.data]
    own = {"shape": shape, "pixels": math.prod(shape), "generator": generator} | settings.model_dump()
    precision = getattr(torch, dtype)
    if settings.kind != "pcgraph":
        usual = torch.get_default_dtype()
        torch.set_default_dtype(precision)                                 # of all that ``make`` draws
        try:
            return _call(KINDS[settings.kind].make, own).to(device, precision), generator
        finally:
            torch.set_default_dtype(usual)
    arguments = settings.topology.model_dump() | {"generator": generator}              # of random edges
    own |= {"topology": _call(CONSTRUCTORS[settings.topology.constructor], arguments),
            "pixel_scale": scales.named(settings.scale, settings.data)}
    return _call(partial(PCGraph, dtype=precision), own).to(device), generator


def _call(make: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    """Call ``make`` with those arguments that its signature has."""
    return make(**{name: value for name, value in arguments.items() if name in signature(make).parameters})


def images(data: str, split: str, profile: config.Profile) -> ImageSet:
    """The ``split`` ("train" or "test") of a data set in a profile: all images or the sample, in its precision."""
    found = datasets.load(data, split, sample=profile.sample)
    return replace(found, images=found.images.to(getattr(torch, profile.dtype)))


def split(settings: Model, profile: config.Profile, generator: torch.Generator) -> tuple[ImageSet, ImageSet | Any]:
    """Training images, and validation images if asked for; no test images. Raises BadInput: none to train on."""
    data, held_out = images(settings.data, "train", profile), None
    if settings.validation_count >= len(data):
        raise BadInput(f"validation_count = {settings.validation_count} for {settings.data}; profile {profile.name} "
                       f"has {len(data)} training images. Give the model or the sweep a smaller one for this profile.")
    if settings.validation_count:
        data, held_out = datasets.split_off(data, settings.validation_count, generator)
    if settings.train_count is not None and settings.train_count < len(data):
        data = data.subset(settings.train_count, generator)
    return data, held_out                              # None passes as Any: who asked for images gets them


def fit(model: Learned, settings: Model, rest: ImageSet, held_out: ImageSet | None, **options: Any) -> pd.DataFrame:
    """Train a model in place by its settings. Returns a row per epoch. Raises UnstableStep, BadValues: it diverges."""
    seen = None if held_out is None else (held_out.images, held_out.labels)
    train: Callable[..., pd.DataFrame] = learning.fit if settings.kind == "pcgraph" else KINDS[settings.kind].fit
    data = [(rest.images, rest.labels)] if settings.kind == "pcgraph" else [rest.images, rest.labels]
    return train(model, *data, validation=seen, **settings.train.model_dump(), **options)


def _alone(lock: Path, name: str) -> AcquireReturnProxy:
    """A lock, held until its ``with`` ends. Says so while it waits for another process."""
    try:
        return FileLock(lock).acquire(timeout=1)
    except Timeout:
        print(f"{name} is being trained by another process: waiting for it.", file=sys.stderr, flush=True)
        return FileLock(lock).acquire()


def _train_and_save(training: ModelRun, device: torch.device, progress: bool, checkpoint: Path) -> None:
    settings, target, seed = training.spec, training.path, training.seed
    wanted, version, began = training.identity, checkout.version(), time.monotonic()      # of now
    profile = config.load_profile(training.profile)
    model, generator = build(settings, seed, device, profile.dtype)
    rest, held_out = split(settings, profile, generator)
    if progress:
        print(f"training {training.name}: profile {training.profile}, seed {seed}, {len(rest)} images, "
              f"{hardware.describe(device)}", flush=True)
    history = fit(model, settings, rest, held_out, checkpoint=checkpoint, generator=generator, progress=progress)
    facts = records.provenance(hardware.describe(device), time.monotonic() - began, version)
    best = float(history["validation"].max()) if "validation" in history else None
    facts |= {"n": len(rest), "data": rest.source, "epochs": len(history), "validation": best}
    save_tensors(target, model.state_dict(), {
        "model": training.name, "profile": training.profile, "seed": str(seed), "identity": wanted,
        "numerics": numerics.version(settings), "spec": settings.model_dump_json(), "provenance": json.dumps(facts),
        "weights_sha256": tensor_digest(model.state_dict()), "history": history.to_csv(index=False)})


def read_header(target: Path) -> dict[str, str]:
    """The header of a weights file; empty if there is no readable file."""
    try:
        with safe_open(target, "pt") as file:
            return file.metadata() or {}
    except (SafetensorError, OSError):
        return {}
