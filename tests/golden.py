"""The small trainings that stand for what the code computes; their results are committed in numerics.json.

A test runs them all. After a change of numbers that is meant, this command writes the new ones, and weights of the
old ones are of other code:

    python tests/golden.py
"""

import json
import math
from collections.abc import Iterator, Mapping
from inspect import signature
from typing import Any

import torch
from torch import Tensor

from pcgraph_lite.baselines.hopfield import RULES
from pcgraph_lite.baselines.kinds import KINDS
from pcgraph_lite.baselines.linear import METHODS
from pcgraph_lite.engine.activations import ACTIVATIONS
from pcgraph_lite.engine.topology import CONSTRUCTORS
from pcgraph_lite.files import write_aside
from pcgraph_lite.images.scale import SCALES
from reproduction.evidence import config, zoo
from reproduction.evidence.numerics import FILE, committed

CLOSE = 1e-4                                                               # relative; machines differ by 1e-6
SMALL = {"internal": 6, "hidden": [8, 6], "clusters": 2, "size": 790, "p": 0.02, "neighbours": 4}      # of a topology
TRAIN = {"epochs": 2, "batch_size": 20, "weight_lr": 1e-3}
GRAPHS = ({}, {"bias": True, "prior": "flat", "train": {"score": "completion", "value_lr": 0.01, "weight_decay": 0.01}},
          {"train": {"score": "energy", "momentum": 0.9, "optimizer": "adamw", "weight_decay": 0.01}},
          {"init_std": 0.1, "train": {"optimizer": "sgd", "patience": 1}})
BASELINES = {                                                              # of those whose defaults would take long
    "autoencoder": ({"hidden": [6]},), "boltzmann": ({"hidden": 6},), "almeida-pineda": ({"internal": 6},),
    "mlp": ({"hidden": [6]}, {"hidden": [6], "activation": "tanh"}), "rbm": ({"hidden": 6},), "dam": ({"memories": 6},),
    # discriminant analysis came later; another row would call the weights of the first two old
    "linear": tuple({"train": {"method": method, "iterations": 5}} for method in METHODS[:2]),
    "hopfield": tuple({"train": {"rule": rule, "sizes": [16], "thresholds": [0.3, 0.4], "levels": [0.1, 0.3]},
                       "train_count": 200} for rule in RULES)}


def trainings() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Every part with the settings of its small trainings."""
    for name in KINDS:
        yield name, [_merged({"kind": name}, settings) for settings in BASELINES.get(name, ({},))]
    yield "pcgraph", [_graph(settings) for settings in GRAPHS]
    yield "top-k", [_graph({"top_k": 0.2, "activation": name}) for name in ("hardtanh", "tanh")]
    for name in SCALES[1:]:
        yield f"scale {name}", [_graph({"scale": name})]
    for name in ACTIVATIONS:
        yield f"activation {name}", [_graph({"activation": name})]
    for name, make in CONSTRUCTORS.items():
        small = {key: SMALL[key] for key in signature(make).parameters if key in SMALL}
        yield f"topology {name}", [_graph({"topology": {"constructor": name, **small}})]


def numbers(settings: Mapping[str, Any]) -> list[float]:
    """What one training ends with, in float64: its last row of the history, and two numbers for each tensor."""
    spec = config.checked("small", settings, FILE)
    profile = config.Profile(name="numerics", description="", sample=True, dtype="float64")
    model, generator = zoo.build(spec, 0, torch.device("cpu"))             # drawn as published models are
    model.to(torch.float64)
    rest, held_out = zoo.split(spec, profile, generator)
    history = zoo.fit(model, spec, rest, held_out, generator=generator, progress=False)
    row = history.drop(columns=["epoch", "seconds"]).iloc[-1]
    trained = [t for t in model.state_dict().values() if t.is_floating_point()]              # not whose edges they are
    found = [float(value) for value in row] + [number for t in trained for number in _of_tensor(t)]
    return [float(f"{number:.7g}") for number in found]


def moved(part: str, now: list[list[float]]) -> bool:
    """Whether the numbers of a part are others than the committed ones."""
    before = committed().get(part, [])
    return [len(row) for row in before] != [len(row) for row in now] or not all(
        math.isclose(a, b, rel_tol=CLOSE, abs_tol=1e-9)
        for old, new in zip(before, now, strict=True) for a, b in zip(old, new, strict=True))


def commit() -> list[str]:
    """Write the numbers of the parts that have moved or are new, the others stay bit for bit. Returns their names."""
    now = {part: [numbers(settings) for settings in some] for part, some in trainings()}
    changed = [part for part in now if moved(part, now[part])]
    rows = {part: now[part] if part in changed else committed()[part] for part in now}
    with write_aside(FILE) as aside:
        aside.write_text("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in rows.items()) + "\n}\n")
    committed.cache_clear()
    return changed


def _graph(settings: Mapping[str, Any]) -> dict[str, Any]:
    layered = {"topology": {"constructor": "generative", "hidden": SMALL["hidden"]}}
    return _merged({"kind": "pcgraph", "activation": "tanh", "train": {"steps": 5}}, layered | dict(settings))


def _merged(usual: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings on 40 digits with what all trainings by epochs have."""
    base = {"description": "small", "data": "mnist", "train_count": 40, "validation_count": 20}
    train = {} if usual["kind"] in ("hopfield", "linear") else {"train": TRAIN}
    return config.merged(config.merged(config.merged(base, train), usual), settings)


def _of_tensor(tensor: Tensor) -> tuple[float, float]:
    """Its norm and a projection, which feels where its entries are."""
    flat = tensor.double().flatten()
    return float(flat.norm()), float(flat @ torch.arange(flat.numel(), dtype=torch.float64).cos())


if __name__ == "__main__":
    print("new numbers of:", ", ".join(commit()) or "nothing; all are as committed")
