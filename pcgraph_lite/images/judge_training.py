"""How a judge learns: on images as they are and altered, and on pictures of nothing as an eleventh class.

It is trained on the full training set less 5,000 images, on which the best epoch is chosen; the test set is read once,
at the end, for the calibration.
"""

import json
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import torch
from safetensors.torch import save_file
from torch import Tensor
from torch.nn.functional import cross_entropy

from .. import checkout
from ..engine.epochs import Schedule, State, run, shuffled
from ..errors import PCGraphError
from ..files import tensor_digest, write_aside
from . import calibration, sources
from .datasets import ImageSet, load, split_off
from .judge import CLASSES, JUDGES, UNREADABLE, Judge, read, weights_path
from .variations import altered, mirrored, nothing, shifted

HELD_OUT = 5_000                               # training images kept back to choose the epoch
BATCH, PEAK_RATE, DECAY = 128, 3e-3, 1e-2
NOTHING = 1 / 8                                # pictures of nothing for each image


@dataclass(frozen=True)
class Recipe:
    """How one judge is trained: epochs, the least accuracy on the test set, whether mirrored images are the same."""

    epochs: int
    bar: float
    mirror: bool


RECIPES = {"mnist": Recipe(epochs=6, bar=0.99, mirror=False), "fashion": Recipe(epochs=12, bar=0.90, mirror=True)}


def train(name: str, seed: int = 0, epochs: int | None = None, device: torch.device | str = "cpu",
          progress: bool = True, data_root: Path | None = None, out: Path | None = None,
          checkpoint: Path | None = None) -> Path:
    """Train a judge on the full data set and save it with its calibration; about 30 CPU seconds an epoch.

    Args:
        name: ``mnist`` or ``fashion``.
        seed: of the held-out split, the first weights, the order and the alterations of the images.
        epochs: passes over the data; by default those of ``RECIPES``.
        device: ``cpu`` or ``cuda``.
        progress: show a bar.
        data_root: read the data set in this folder only.
        out: where to save; by default over the committed weights, if the judge reaches its bar on the test set.
        checkpoint: file that holds the whole state after an epoch; an existing one is resumed.

    Raises:
        UnknownName: no such judge.
        BadInput: less than one epoch.
        BadFile: the data set is missing or damaged, or the checkpoint belongs to another training.
        PCGraphError: the accuracy is below the bar and ``out`` was not given; the committed judge stays.
    """
    committed, recipe = weights_path(name), RECIPES[name]
    schedule = Schedule(recipe.epochs if epochs is None else epochs, PEAK_RATE, DECAY, BATCH, "adamw")
    commit, generator = checkout.version()[0], torch.Generator().manual_seed(seed)    # of the running code
    rest, held_out = split_off(load(name, "train", root=data_root), HELD_OUT, generator)
    judge = Judge(generator).to(device)
    state = State(judge, schedule, generator, checkpoint, {"judge": name, "seed": seed})
    history = run(state, lambda: _epoch(judge, rest, recipe.mirror, state, progress), lambda: _score(judge, held_out),
                  progress)
    test = load(name, "test", root=data_root)
    accuracy = _share_right(judge, test)
    if out is None and accuracy < recipe.bar:
        raise PCGraphError(f"judge {name!r} reads {accuracy:.2%} of the test images, less than {recipe.bar:.0%}: the "
                           "committed judge was kept. Train for more epochs, or save elsewhere with out=PATH.")
    facts = {"judge": name, "seed": seed, "epochs": schedule.epochs, "validation": _share_right(judge, held_out),
             "test": accuracy, "device": device, "commit": commit}
    foreign = load(next(other for other in JUDGES if other != name), "test", root=data_root).images
    return _save(judge, Path(out or committed), facts, calibration.table(judge, rest, test, foreign), history)


def _epoch(judge: Judge, data: ImageSet, mirror: bool, state: State, progress: bool) -> dict[str, float]:
    """One pass; the weight step falls along a line, from its peak at the first batch of all to 0 at the last."""
    device, began, total = next(judge.parameters()).device, time.perf_counter(), 0.0
    for k, rows in enumerate(shuffled(state, len(data), progress)):
        images, labels = _batch(data.images[rows], data.labels[rows], mirror, state.generator)
        loss = cross_entropy(judge(images.to(device)), labels.to(device))
        for group in state.optimizer.param_groups:
            group["lr"] = PEAK_RATE * (1 - (state.epoch + k * BATCH / len(data)) / state.schedule.epochs)
        state.optimizer.zero_grad()
        loss.backward()
        state.step()
        total += loss.item() * len(rows)
    return {"epoch": state.epoch + 1, "loss": total / len(data), "seconds": time.perf_counter() - began}


def _batch(images: Tensor, labels: Tensor, mirror: bool, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Images shifted and altered, then pictures of nothing, which are class 10."""
    images = shifted(mirrored(images, generator) if mirror else images, generator)
    empty = nothing(images[:round(NOTHING * len(images))], generator)
    return torch.cat([altered(images, generator), empty]), torch.cat([labels, labels.new_full((len(empty),), CLASSES)])


def _score(judge: Judge, held_out: ImageSet) -> float:
    """Mean of three shares: images read rightly, altered images read rightly, pictures of nothing found unreadable."""
    generator = torch.Generator().manual_seed(0)                           # the same alterations every time
    harder, empty = altered(held_out.images, generator), nothing(held_out.images, generator)
    rightly = (read(judge, harder) == held_out.labels).double().mean().item()
    return (_share_right(judge, held_out) + rightly + (read(judge, empty) == UNREADABLE).double().mean().item()) / 3


def _share_right(judge: Judge, data: ImageSet) -> float:
    return (read(judge, data.images) == data.labels).double().mean().item()


def _save(judge: Judge, path: Path, facts: dict[str, object], rows: list[dict[str, object]],
          history: pd.DataFrame) -> Path:
    """Weights with their provenance, and beside them the calibration as ``.json``."""
    state = {key: value.cpu().contiguous() for key, value in judge.state_dict().items()}
    provenance = {
        **{key: str(value) for key, value in facts.items()},
        "data_sha256": json.dumps(sources.DIGESTS[str(facts["judge"])]),
        "held_out": str(HELD_OUT),
        "weights_sha256": tensor_digest(state),
        "torch": torch.__version__,
        "threads": str(torch.get_num_threads()),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    with write_aside(path) as part:
        save_file(state, part, metadata=provenance)
        part.chmod(0o644)                                  # safetensors writes for the owner only
    found = {key: provenance[key] for key in ("judge", "weights_sha256", "commit")}
    found |= {"calibration": rows, "history": history.drop(columns="seconds").to_dict("records")}
    with write_aside(path.with_suffix(".json")) as part:
        part.write_text(json.dumps(found, indent=1) + "\n")
    return path
