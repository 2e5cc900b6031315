"""What the relaxed time T x gamma of training decides: classification, pictures and memories want different ones.

Every setting trains one graph on training images and is measured on held-out training images (memories: on the images
that it stores). The test set is never read. ``config/studies/relaxed-time.yaml`` says what is run and in which order.

    python -m pcgraph_lite.evidence.relaxed_time --out results/sweeps/relaxed-time.csv

A row that is in the file already is not run again.
"""

import argparse
import hashlib
import itertools
import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from .. import checkout, hardware
from ..engine import constructors as topology
from ..engine import learning
from ..engine.graph import PCGraph
from ..engine.query import observed, query
from ..errors import BadValues, UnstableStep
from ..files import write_aside
from ..images import datasets, metrics
from ..images import scale as scales
from ..images.judge import load_judge, read
from ..images.scale import Scale
from . import config, records

SETTLE = {"steps": 200, "momentum": 0.95}                                  # a query by conditioning
LOOKS = (1, 2, 3, 5, 10, 20, 40, 80, 160, 320)                             # plain steps after which denoising is seen
PAIRS = ((7, 9), (3, 5))                                                   # digits whose lower third is alike
VARIANCE, MEMORY_VARIANCE = 0.5, 0.2


@dataclass(frozen=True)
class Run:
    """One training. ``gamma``: the value step, or "safe"; ``fixed``: what the settings file says of the task."""

    task: str
    data: str
    scale: str
    steps: int
    gamma: float | str
    decay: float
    activation: str
    seed: int
    fixed: dict[str, Any] = field(default_factory=dict)

    @property
    def identity(self) -> str:
        """Hash of all settings."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:16]


def plan(settings: dict[str, Any]) -> list[Run]:
    """Every run of the settings file in its order, none twice. Keys of a queue entry that are lists are crossed."""
    runs: dict[str, Run] = {}
    for entry in settings["queue"]:
        entry = {"data": ["mnist"], "scale": ["[0, 1]"], "seeds": [0], "decay": [None], "activation": [None]} | entry
        changes = entry.get("fixed", {})
        for data, scale, seed, decay, activation, task, (steps, gamma) in itertools.product(
                *(entry[key] for key in ("data", "scale", "seeds", "decay", "activation", "tasks", "points"))):
            fixed = settings["tasks"][task] | changes
            usual = {key: fixed.pop(key) for key in ("decay", "activation")}
            run = Run(task, data, scale, steps, gamma, usual["decay"] if decay is None else decay,
                      activation or usual["activation"], seed, fixed)
            runs.setdefault(run.identity, run)
    return list(runs.values())


def measured(run: Run) -> dict[str, object]:
    """Train and measure one setting. Returns its row."""
    began, version, scale = time.monotonic(), checkout.version(), scales.named(run.scale, run.data)
    generator = torch.Generator().manual_seed(run.seed)
    images, held_out = datasets.split_off(datasets.load(run.data), max(2000, run.fixed["held_out"]), generator)
    images = images.subset(run.fixed["images"], generator)
    made = getattr(topology, run.fixed["topology"])(**run.fixed["arguments"])
    graph = PCGraph(made, run.activation, init_std=run.fixed.get("init_std"), generator=generator)
    row = {"task": run.task, "data": run.data, "model": repr(made), "scale": run.scale, "T": run.steps,
           "gamma": run.gamma, "decay": run.decay, "activation": run.activation, "seed": run.seed, "n": len(images),
           "epochs": run.fixed["epochs"], "batch_size": run.fixed["batch_size"], "weight_lr": run.fixed["weight_lr"]}
    try:
        history = learning.fit(
            graph, (scale.apply(images.images), images.labels), epochs=run.fixed["epochs"], steps=run.steps,
            value_lr=run.gamma, weight_lr=run.fixed["weight_lr"], weight_decay=run.decay,
            batch_size=run.fixed["batch_size"], optimizer=run.fixed.get("optimizer", "adam"), generator=generator,
            progress=False)
        row |= {"value_lr": history["value_lr"].mean(), "train_seconds": round(time.monotonic() - began, 1)}
        row |= {"relaxed": run.steps * row["value_lr"], "energy": history["energy"].iloc[-1], "status": "ok"}
        row |= MEASURES[run.task](graph, images if run.task == "memories" else held_out, scale, run)
    except (UnstableStep, BadValues) as error:
        row |= {"status": f"diverged: {type(error).__name__}"}
        if run.gamma != "safe":
            row["relaxed"] = run.steps * run.gamma
    facts = records.provenance(hardware.describe("cpu"), time.monotonic() - began, version)
    return row | {key: facts[key] for key in ("seconds", "commit", "dirty", "device", "date")} | {
        "identity": run.identity}


def of_classifier(graph: PCGraph, held_out: datasets.ImageSet, scale: Scale, run: Run) -> dict[str, float]:
    """Share of held-out images whose labels, asked from the pixels, peak at the right class."""
    some = held_out.subset(run.fixed["held_out"])
    clamp, labels = {"pixels": scale.apply(some.images)}, some.labels
    steps = {"steps": 1} if run.task == "layered" else {"steps": 60, "momentum": 0.9}      # a chain is at rest at once
    answer = query(graph, clamp, start="prediction" if run.task == "layered" else "zeros", **steps)
    return {"asked": len(some), "accuracy": float((answer.values["labels"].argmax(-1) == labels).double().mean())}


def of_pictures(graph: PCGraph, held_out: datasets.ImageSet, scale: Scale, run: Run) -> dict[str, float]:
    """Drawn from labels, completed with and without them, denoised; noise in the units of [0, 1] and in scaled ones.

    drawn, drawn_over_max: share of ten labels whose picture the judge reads so, as it is and divided by its maximum.
    label_agreement: share of pictures, given by the lower third of one of two digits that look alike there and by
    either label, that the judge reads as the label. Completion: MSE of the lower half; denoising: PSNR in dB at the
    best of LOOKS steps and at the last.
    """
    judge, some, known = load_judge(run.data), held_out.subset(run.fixed["held_out"]), datasets.top_half((1, 28, 28))
    drawn = _pixels(graph, scale, {"labels": one_hot(torch.arange(10), 10)})
    bright = drawn / drawn.amax(-1, keepdim=True).clamp_min(1e-3)
    found = {"asked": len(some)}
    for name, pictures in {"drawn": drawn, "drawn_over_max": bright}.items():
        found[name] = float((read(judge, pictures) == torch.arange(10)).double().mean())
    truth, given = some.images, {"pixels": observed(scale.apply(some.images), known)}
    for name, clamp in {"completion_mse": given, "labelled_completion_mse":
                        given | {"labels": one_hot(some.labels, 10)}}.items():
        answer = _pixels(graph, scale, clamp)
        found[name] = float(metrics.mse(answer[:, ~known], truth[:, ~known]).mean())
    for unit, name in (("[0, 1]", "denoised"), ("scaled", "denoised_scaled"))[:1 if scale.unit == 1 else 2]:
        quality = _denoised(graph, truth, scale, scale.variance(VARIANCE, unit), run.seed)
        found |= {f"{name}_db": max(quality.values()), f"{name}_step": max(quality, key=quality.get),
                  f"{name}_last_db": quality[LOOKS[-1]]}
    return found | ({"label_agreement": _agreement(graph, held_out, scale, judge)} if run.data == "mnist" else {})


def of_memories(graph: PCGraph, stored: datasets.ImageSet, scale: Scale, run: Run) -> dict[str, float]:
    """Share of stored images found at MSE < 0.001 in [0, 1] units: from the upper half, and from noise."""
    truth, known = stored.images[:40], datasets.top_half(stored.shape)
    steps = {"steps": 2000, "tolerance": 1e-9}
    half = _pixels(graph, scale, {"pixels": observed(scale.apply(truth), known)}, momentum=0.95, **steps)
    found = {"asked": len(truth), "from_half": metrics.retrieved_share(half, truth)}
    for unit, name in (("[0, 1]", "from_noise"), ("scaled", "from_scaled_noise"))[:1 if scale.unit == 1 else 2]:
        noisy = datasets.noisy(truth, scale.variance(MEMORY_VARIANCE, unit), datasets.noise_generator(run.seed))
        answer = query(graph, init={"pixels": scale.apply(noisy)}, start="prediction", steps=2000, tolerance=None)
        pictures = scale.undo(answer.values["pixels"]).clamp(0, 1)
        found |= {name: metrics.retrieved_share(pictures, truth),
                  f"{name}_mse": float(metrics.mse(pictures, truth).mean())}
    return found


MEASURES = {"layered": of_classifier, "fully-connected": of_classifier, "pictures": of_pictures,
            "memories": of_memories}


def _pixels(graph: PCGraph, scale: Scale, clamp: dict[str, Any], **settings: Any) -> Tensor:
    """Pictures that a query by conditioning gives, ``(batch, pixels)`` in [0, 1]."""
    return scale.undo(query(graph, clamp, **SETTLE | settings).values["pixels"]).clamp(0, 1)


def _denoised(graph: PCGraph, truth: Tensor, scale: Scale, variance: float, seed: int) -> dict[int, float]:
    """Mean PSNR after each number of LOOKS plain steps."""
    noisy = datasets.noisy(truth, variance, datasets.noise_generator(seed, "held-out"))
    values, quality, done = {"pixels": scale.apply(noisy)}, {}, 0
    for until in LOOKS:
        values, done = query(graph, init=values, steps=until - done, tolerance=None).values, until
        quality[until] = float(metrics.psnr(scale.undo(values["pixels"]).clamp(0, 1), truth).mean())
    return quality


def _agreement(graph: PCGraph, held_out: datasets.ImageSet, scale: Scale, judge: torch.nn.Module) -> float:
    """See ``of_pictures``; 15 images of each of the four digits."""
    known, hits = datasets.bottom_fraction((1, 28, 28), 0.33), []
    for pair in PAIRS:
        images = torch.cat([held_out.images[held_out.labels == digit][:15] for digit in pair])
        for label in pair:
            wanted = torch.full((len(images),), label)
            answer = _pixels(graph, scale, {"pixels": observed(scale.apply(images), known),
                                            "labels": one_hot(wanted, 10)})
            hits.append(read(judge, torch.where(known, images, answer)) == wanted)
    return float(torch.cat(hits).double().mean())


def missing(runs: list[Run], target: Path) -> Iterator[Run]:
    """The runs that the file does not have."""
    done = set(pd.read_csv(target)["identity"]) if target.is_file() else set()
    return (run for run in runs if run.identity not in done)


def main(arguments: list[str] | None = None) -> None:
    """Run what is missing, one line a run; the file is written aside and renamed after each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--settings", type=Path, default=checkout.ROOT / "config" / "studies" / "relaxed-time.yaml")
    parser.add_argument("--out", type=Path, default=checkout.ROOT / "results" / "sweeps" / "relaxed-time.csv")
    given = parser.parse_args(arguments)
    hardware.prepare(1)
    while run := next(missing(plan(config.read_yaml(given.settings)), given.out), None):   # the queue may be changed
        row = pd.DataFrame([measured(run)])
        known = [pd.read_csv(given.out)] if given.out.is_file() else []
        with write_aside(given.out) as part:
            pd.concat([*known, row]).to_csv(part, index=False, float_format="%.6g")
        shown = row.iloc[0].drop(["model", "commit", "dirty", "device", "date", "identity"]).dropna()
        print(" ".join(f"{key}={value:.4g}" if isinstance(value, float) else f"{key}={value}"
                       for key, value in shown.items()), flush=True)


if __name__ == "__main__":
    main()
