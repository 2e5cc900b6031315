"""Studies of training settings, first of all of the relaxed time T x gamma that tasks need. Each trains one graph and
measures it on held-out training images (memories on their stored images), never on test images. ``sweeps`` runs them
and keeps their rows.
"""

import hashlib
import inspect
import itertools
import json
import time
from dataclasses import dataclass
from typing import Any

import pandas as pd
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from pcgraph_lite import hardware
from pcgraph_lite.engine import learning, topology
from pcgraph_lite.engine.graph import PCGraph
from pcgraph_lite.engine.query import observed, query
from pcgraph_lite.errors import BadValues, UnstableStep, one_of
from pcgraph_lite.images import datasets, metrics
from pcgraph_lite.images import scale as scales
from pcgraph_lite.images.judge import load_judge, read
from pcgraph_lite.studies import memory, tasks, trials

from .. import checkout
from . import config, records

SETTLE = {"steps": 200, "momentum": 0.95}                                  # of a query by conditioning
LOOKS = trials.schedule(320)                                               # plain steps at which denoising is measured
PAIRS = ((7, 9), (3, 5))                                                   # digits whose lower third is alike
VARIANCE, MEMORY_VARIANCE = 0.5, 0.2
USUAL = {"data": ["mnist"], "scale": ["[0, 1]"], "seeds": [0], "decay": [None], "activation": [None], "fixed": {}}
OF_TASK = {"epochs": None, "batch_size": None, "weight_lr": None, "init_std": None, "optimizer": "adam"}
Run = dict[str, Any]             # task, data, scale, steps, gamma, decay, activation, seed, fixed


def plan(settings: dict[str, Any]) -> list["Point"]:
    """Every run of a settings file in order, each once; the lists of an entry are crossed. Raises UnknownName."""
    runs: dict[str, Point] = {}
    for key in {key for entry in settings["queue"] for key in entry}:
        one_of("key of an entry of the queue", key, [*USUAL, "tasks", "points"])
    for entry in (USUAL | entry for entry in settings["queue"]):
        crossed = itertools.product(*(entry[key] for key in (
            "data", "scale", "seeds", "decay", "activation", "tasks", "points")))
        for data, scale, seed, decay, activation, task, (steps, gamma) in crossed:
            fixed = settings["tasks"][task] | entry["fixed"]
            usual = {key: fixed.pop(key) for key in ("decay", "activation")}
            run = {"task": task, "data": data, "scale": scale, "steps": steps, "gamma": gamma, "seed": seed,
                   "decay": usual["decay"] if decay is None else decay,
                   "activation": activation or usual["activation"], "fixed": fixed}
            digest = hashlib.sha256(json.dumps(run, sort_keys=True).encode()).hexdigest()[:16]
            runs.setdefault(digest, Point(run, digest))
    return list(runs.values())


@dataclass(frozen=True)
class Point:
    """One run of a study, as ``sweeps.Run`` is one of a sweep. ``identity``: the hash of its settings."""

    settings: Run
    identity: str

    @property
    def seed(self) -> int:
        return self.settings["seed"]

    @property
    def setting(self) -> str:
        """The settings that distinguish it, in words."""
        return ", ".join(f"{key} {value}" for key, value in self.settings.items() if key not in ("seed", "fixed"))

    def rows(self, profile: str, device: torch.device) -> pd.DataFrame:
        """Train and measure. The device computes memories; the other graphs are small and stay on the CPU."""
        device = device if self.settings["task"] == "memories" else torch.device("cpu")
        began, version, run = time.monotonic(), checkout.version(), self.settings
        generator, fixed = torch.Generator().manual_seed(run["seed"]), OF_TASK | run["fixed"]
        every = datasets.load(run["data"], sample=config.load_profile(profile).data.sample)
        images, held_out = datasets.split_off(every, max(2000, fixed["held_out"]), generator)
        images = images.subset(fixed["images"], generator)
        make = getattr(topology, fixed["topology"])
        drawn = {"generator": generator} if "generator" in inspect.signature(make).parameters else {}
        made = make(**fixed["arguments"], **drawn)
        graph = PCGraph(made, run["activation"], init_std=fixed["init_std"], generator=generator,
                        pixel_scale=scales.named(run["scale"], run["data"])).to(device)
        training = {key: fixed[key] for key in ("epochs", "batch_size", "weight_lr", "optimizer")}
        row = {key: run[key] for key in ("task", "data", "scale", "gamma", "decay", "activation", "seed")} | training
        row |= {"model": f"{fixed['topology']}, {made!r}", "T": run["steps"], "n": len(images),
                "init_std": json.dumps(fixed["init_std"]), "identity": self.identity}
        row |= _measured(graph, run, training, images, held_out, generator)
        return pd.DataFrame([row | records.made(hardware.describe(device), began, version)])

    def arranged(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Its row, unchanged."""
        return rows


def _measured(graph: PCGraph, run: Run, training: dict[str, Any], images: datasets.ImageSet,
              held_out: datasets.ImageSet, generator: torch.Generator) -> dict[str, object]:
    """The measures of a training, or how it diverged."""
    began = time.monotonic()
    try:
        history = learning.fit(graph, (images.images, images.labels), steps=run["steps"], value_lr=run["gamma"],
                               weight_decay=run["decay"], generator=generator, progress=False, **training)
        step, seconds = history["value_lr"].mean(), round(time.monotonic() - began, 1)
        return {"value_lr": step, "train_seconds": seconds, "relaxed": run["steps"] * step,
                "energy": history["energy"].iloc[-1], "status": "ok"} | MEASURES[run["task"]](
                    graph, images if run["task"] == "memories" else held_out, run)
    except (UnstableStep, BadValues) as error:
        relaxed = {} if run["gamma"] == "safe" else {"relaxed": run["steps"] * run["gamma"]}
        return {"status": f"diverged: {type(error).__name__}"} | relaxed


def of_classifier(graph: PCGraph, held_out: datasets.ImageSet, run: Run) -> dict[str, float]:
    """Share of held-out images whose label vertices, queried from the pixels, peak at the right class."""
    some, chain = held_out.subset(run["fixed"]["held_out"]), run["task"] == "layered"
    steps = {"steps": 1, "start": "prediction"} if chain else {"steps": 60, "momentum": 0.9}   # a chain rests at once
    answer = query(graph, {"pixels": some.images}, **steps).values["labels"]
    return {"asked": len(some), "accuracy": float((answer.argmax(-1) == some.labels).double().mean())}


def of_pictures(graph: PCGraph, held_out: datasets.ImageSet, run: Run) -> dict[str, float]:
    """Shares of labels whose drawing the judge reads as the label, unchanged (drawn) and divided by its maximum
    (drawn_over_max), and of completions read as the given label, where the known lower third fits two digits
    (label_agreement); MSE of the completed lower half; PSNR in dB at the best of LOOKS steps and at the last, with
    noise in [0, 1] and scaled units.
    """
    judge, known = load_judge(run["data"]), datasets.top_half((1, 28, 28))
    some = held_out.subset(run["fixed"]["held_out"])
    drawn = _pixels(graph, {"labels": one_hot(torch.arange(10), 10)})
    bright = drawn / drawn.amax(-1, keepdim=True).clamp_min(1e-3)
    found = {"asked": len(some)}
    for name, pictures in {"drawn": drawn, "drawn_over_max": bright}.items():
        found[name] = float((read(judge, pictures) == torch.arange(10)).double().mean())
    truth, given = some.images, {"pixels": observed(some.images, known)}
    for name, clamp in {"completion_mse": given, "labelled_completion_mse":
                        given | {"labels": one_hot(some.labels, 10)}}.items():
        found[name] = float(metrics.mse(_pixels(graph, clamp)[:, ~known], truth[:, ~known]).mean())
    for name, variance in _variances(graph, "denoised", VARIANCE).items():
        noisy = datasets.noisy(truth, variance, datasets.noise_generator(run["seed"], "held-out"))
        seen, _ = tasks.denoise_path(graph, noisy, LOOKS)
        quality = {step: float(metrics.psnr(images, truth).mean()) for step, images in seen.items()}
        found |= {f"{name}_db": max(quality.values()), f"{name}_step": max(quality, key=quality.get),
                  f"{name}_last_db": quality[LOOKS[-1]]}
    return found | ({"label_agreement": _agreement(graph, held_out, judge)} if run["data"] == "mnist" else {})


def of_memories(graph: PCGraph, stored: datasets.ImageSet, run: Run) -> dict[str, float]:
    """Share of stored images recalled with MSE < 0.001 in [0, 1] units: from the upper half, and from noise after 2000
    steps (``_at_500``: after 500)."""
    truth, known = stored.images[:40], datasets.top_half(stored.shape)
    half = trials.recalled(memory.from_part(graph, truth.to(graph.device), known.to(graph.device)), truth)
    found = {"asked": len(truth), "from_half": half.each["agrees"].mean()}
    for name, variance in _variances(graph, "from_noise", MEMORY_VARIANCE).items():
        noisy = datasets.noisy(truth, variance, datasets.noise_generator(run["seed"]))
        recall = memory.from_start(graph, noisy.to(graph.device), [500, 2000], internal="prediction")
        errors = {step: metrics.mse(images.cpu(), truth) for step, images in recall.seen.items()}
        back = {step: float((error < memory.RETRIEVED).double().mean()) for step, error in errors.items()}
        found |= {f"{name}_at_500": back[500], name: back[2000], f"{name}_mse": float(errors[2000].mean())}
    return found


MEASURES = {"layered": of_classifier, "fully-connected": of_classifier, "pictures": of_pictures,
            "memories": of_memories}


DATA = {"mnist": "digits", "fashion": "clothing"}
# task and column of a row -> title of the panel, factor to its unit, whether more is better
SCORES = {("layered", "accuracy"): ("layered, accuracy (%)", 100, True),
          ("fully-connected", "accuracy"): ("fully connected, accuracy (%)", 100, True),
          ("pictures", "completion_mse"): ("completion, squared error", 1, False),
          ("pictures", "denoised_db"): ("denoising (dB)", 1, True),
          ("pictures", "denoised_scaled_db"): ("denoising, noise in scaled units (dB)", 1, True),
          ("pictures", "drawn_over_max"): ("labels drawn (%)", 100, True),
          ("pictures", "label_agreement"): ("label followed (%)", 100, True),
          ("memories", "from_half"): ("memories from half (%)", 100, True),
          ("memories", "from_noise"): ("memories from noise (%)", 100, True),
          ("memories", "from_noise_scaled"): ("memories, noise in scaled units (%)", 100, True)}


def scores(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of a study that did not diverge, one per score: ``task`` in words, ``score`` and ``more`` (is better)."""
    parts = []
    for (task, column), (title, factor, more) in SCORES.items():
        if column in rows:
            some = rows[(rows["task"] == task) & (rows["status"] == "ok")].dropna(subset=column)
            words = some["data"].map(DATA) + "\n" + title
            parts.append(some.assign(task=words, score=factor * some[column], more=more))
    return pd.concat(parts, ignore_index=True)


def about_graphs(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of the study ``transfer`` that did not diverge, with new columns property (depth, vertices or density),
    graph (in words), edges, and usual (its weight step is that of most). The graph with all edges stands in two series.
    """
    vertices, edges = (rows["model"].str.extract(rf"(\d+) {word}")[0].astype(int) for word in ("vertices", "edges"))
    words = {"discriminative": ("depth", rows["model"].str.count("hidden").astype(str) + " hidden"),
             "fully_connected": ("vertices", "N = " + vertices.astype(str)),
             "small_world": ("density", (100 * edges / vertices**2).round().astype(int).astype(str) + " % of edges")}
    most = rows.groupby("task")["weight_lr"].transform(lambda steps: steps.mode()[0])
    rows = rows.assign(edges=edges, vertices=vertices, usual=rows["weight_lr"] == most, **{
        "accuracy (%)": 100 * rows["accuracy"], "value step γ": rows["value_lr"], "weight step": rows["weight_lr"]})
    rows = rows[rows["status"] == "ok"]
    parts = [rows.assign(property=name, graph=graph)[rows["model"].str.startswith(kind)]
             for kind, (name, graph) in words.items()]
    whole = parts[1][parts[1]["vertices"].isin(parts[2]["vertices"])]
    return pd.concat([*parts, whole.assign(property="density", graph="all edges")], ignore_index=True)


def transferred(asked: pd.DataFrame) -> pd.DataFrame:
    """One row per graph of ``about_graphs``: its safe value step, and the steps within 1 % of its best accuracy."""

    def span(runs: pd.DataFrame, column: str) -> str:
        good = runs.loc[runs["accuracy"] >= runs["accuracy"].max() - 0.01, column]
        return f"{good.min():.2g} to {good.max():.2g}"

    return pd.DataFrame([
        {"property": name, "graph": graph, "edges": int(runs["edges"].iloc[0]),
         "safe value step": runs.loc[runs["usual"] & (runs["gamma"] == "safe"), "value_lr"].mean().round(2),
         "value steps": span(runs[runs["usual"]], "value_lr"),
         "weight steps": span(runs[runs["gamma"] == "safe"], "weight_lr")}
        for (name, graph), runs in asked.groupby(["property", "graph"], sort=False)])


def _pixels(graph: PCGraph, clamp: dict[str, Any]) -> Tensor:
    """The pictures of a query by conditioning, ``(batch, pixels)`` in [0, 1]."""
    return query(graph, clamp, **SETTLE).values["pixels"].clamp(0, 1)


def _variances(graph: PCGraph, name: str, variance: float) -> dict[str, float]:
    """Column name -> variance in [0, 1] units, of noise in these units and, if they differ, in scaled units."""
    scale = graph.pixel_scale
    return {name: variance} | ({} if scale.unit == 1 else {f"{name}_scaled": scale.variance(variance)})


def _agreement(graph: PCGraph, held_out: datasets.ImageSet, judge: torch.nn.Module) -> float:
    """The label_agreement of ``of_pictures``, with 15 images of each of the four digits."""
    known, hits = datasets.bottom_fraction((1, 28, 28), 0.33), []
    for pair in PAIRS:
        images = torch.cat([held_out.images[held_out.labels == digit][:15] for digit in pair])
        for label in pair:
            wanted = torch.full((len(images),), label)
            answer = _pixels(graph, {"pixels": observed(images, known), "labels": one_hot(wanted, 10)})
            hits.append(read(judge, torch.where(known, images, answer)) == wanted)
    return float(torch.cat(hits).double().mean())
