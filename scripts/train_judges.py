"""Train both judges on the full data sets, over the committed weights and their calibration: 10 minutes of a core.

A judge learns on images as they are and altered, and on pictures of nothing as an eleventh class. 5,000 training images
choose the best epoch; the test set is read once, at the end, for the calibration.
"""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import pandas as pd
import torch
import typer
from torch import Tensor
from torch.nn.functional import cross_entropy, pad

from pcgraph_lite.engine.epochs import Schedule, State, run
from pcgraph_lite.errors import PCGraphError
from pcgraph_lite.files import save_tensors, tensor_digest, write_aside
from pcgraph_lite.images import calibration, sources
from pcgraph_lite.images.calibration import blurred, clouds, specks, uniform
from pcgraph_lite.images.datasets import ImageSet, load, split_off
from pcgraph_lite.images.judge import CLASSES, JUDGES, SIDE, UNREADABLE, Judge, load_judge, read, weights_path
from reproduction import checkout

HELD_OUT = 5_000                               # training images kept back to choose the epoch
BATCH, PEAK_RATE, DECAY = 128, 3e-3, 1e-2
NOTHING = 1 / 8                                # pictures of nothing for each image
SHIFT = 2                                      # pixels
NOISE = 0.2                                    # largest variance of noise on a picture, its brightest pixel being 1
BLUR = 0.5                                     # least standard deviation, pixels; the largest is 1 more
FAINT = 0.1                                    # least contrast
EPOCHS = {"mnist": 6, "fashion": 12}
BAR = {"mnist": 0.99, "fashion": 0.90}         # least accuracy on the test set
MIRRORED = ("fashion",)                        # images that mean the same with left and right exchanged


def train(name: str, seed: int = 0, epochs: int | None = None, progress: bool = True, out: Path | None = None) -> Path:
    """Train a judge on the full data set and save it with its calibration; about 30 CPU seconds an epoch.

    ``seed``: of the held-out split, the first weights, the order and the alterations of the images. ``epochs``: by
    default those of ``EPOCHS``. ``out``: where to save; by default over the committed weights, if the judge reaches its
    bar on the test set. Raises UnknownName, BadInput: no such judge, less than one epoch. BadFile: the data set is
    missing or damaged. PCGraphError: the accuracy is below the bar and ``out`` was not given; the old judge stays.
    """
    committed, commit = weights_path(name), checkout.version()[0]          # of the running code
    schedule = Schedule(EPOCHS[name] if epochs is None else epochs, PEAK_RATE, DECAY, BATCH, "adamw", anneal="linear")
    generator = torch.Generator().manual_seed(seed)
    rest, held_out = split_off(load(name, "train"), HELD_OUT, generator)
    judge = Judge(generator)
    state = State(judge, schedule, generator, None, {})
    history = run(state, len(rest), lambda rows: _learn(judge, rest.images[rows], rest.labels[rows], name in MIRRORED,
                                                           generator), lambda: _score(judge, held_out), progress)
    test = load(name, "test")
    accuracy = _share_read(judge, test.images, test.labels)
    if out is None and accuracy < BAR[name]:
        raise PCGraphError(f"judge {name!r} reads {accuracy:.2%} of the test images, less than {BAR[name]:.0%}: the "
                           "committed judge was kept. Train for more epochs, or save elsewhere with out=PATH.")
    facts = {"judge": name, "seed": seed, "epochs": schedule.epochs, "test": accuracy, "device": "cpu",
             "commit": commit, "validation": _share_read(judge, held_out.images, held_out.labels)}
    foreign = load(next(other for other in JUDGES if other != name), "test").images
    return _save(judge, Path(out or committed), facts, calibration.table(judge, rest, test, foreign), history)


def _learn(judge: Judge, images: Tensor, labels: Tensor, mirror: bool, generator: torch.Generator) -> dict[str, float]:
    images, labels = _batch(images, labels, mirror, generator)
    loss = cross_entropy(judge(images), labels)
    loss.backward()
    return {"loss": loss.item()}


def _batch(images: Tensor, labels: Tensor, mirror: bool, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Images shifted and altered, then pictures of nothing, which are class 10."""
    images = shifted(mirrored(images, generator) if mirror else images, generator)
    empty = nothing(images[:round(NOTHING * len(images))], generator)
    return torch.cat([altered(images, generator), empty]), torch.cat([labels, labels.new_full((len(empty),), CLASSES)])


def _score(judge: Judge, held_out: ImageSet) -> float:
    """Mean of three shares: images read rightly, altered images read rightly, pictures of nothing found unreadable."""
    generator = torch.Generator().manual_seed(0)                           # the same alterations every time
    harder, empty = altered(held_out.images, generator), nothing(held_out.images, generator)
    return (_share_read(judge, held_out.images, held_out.labels) + _share_read(judge, harder, held_out.labels)
            + _share_read(judge, empty, UNREADABLE)) / 3


def _share_read(judge: Judge, images: Tensor, classes: Tensor | int) -> float:
    return (read(judge, images) == classes).double().mean().item()


def _save(judge: Judge, path: Path, facts: dict[str, object], rows: list[dict[str, object]],
          history: pd.DataFrame) -> Path:
    """Weights with their provenance, and beside them the calibration as ``.json``."""
    provenance = {key: str(value) for key, value in facts.items()} | {
        "data_sha256": json.dumps(sources.DIGESTS[str(facts["judge"])]), "held_out": str(HELD_OUT),
        "weights_sha256": tensor_digest(judge.state_dict()), "torch": torch.__version__,
        "threads": str(torch.get_num_threads()), "date": datetime.now(UTC).isoformat(timespec="seconds")}
    save_tensors(path, judge.state_dict(), provenance)
    found = {key: provenance[key] for key in ("judge", "weights_sha256", "commit")}
    found |= {"calibration": rows, "history": history.drop(columns="seconds").to_dict("records")}
    with write_aside(path.with_suffix(".json")) as part:
        part.write_text(json.dumps(found, indent=1) + "\n")
    return path


def shifted(images: Tensor, generator: torch.Generator) -> Tensor:
    """All images, ``(batch, 784)``, moved by the same whole number of pixels, at most two, each way."""
    down, right = torch.randint(2 * SHIFT + 1, (2,), generator=generator).tolist()
    squares = pad(images.view(-1, SIDE, SIDE), (SHIFT,) * 4)               # (batch, 32, 32)
    return squares[:, down:down + SIDE, right:right + SIDE].flatten(1)


def mirrored(images: Tensor, generator: torch.Generator) -> Tensor:
    """Half of the images with left and right exchanged."""
    return torch.where(uniform(images, generator) < 0.5, images.view(-1, SIDE, SIDE).flip(-1).flatten(1), images)


def altered(images: Tensor, generator: torch.Generator) -> Tensor:
    """A quarter of the images blurred, half of them fainter, then noise on a quarter: what a person still reads."""
    sigma = BLUR + torch.rand((), generator=generator).item()
    images = torch.where(uniform(images, generator) < 0.25, blurred(images, sigma), images)
    contrast = FAINT + (1 - FAINT) * uniform(images, generator)           # (batch, 1)
    images = torch.where(uniform(images, generator) < 0.5, contrast * images, images)
    size = images.amax(1, keepdim=True) * (NOISE * uniform(images, generator)).sqrt()     # (batch, 1)
    noisy = (images + size * torch.randn(images.shape, generator=generator)).clamp(0, 1)
    return torch.where(uniform(images, generator) < 0.25, noisy, images)


def nothing(images: Tensor, generator: torch.Generator) -> Tensor:
    """As many pictures that show nothing: each grey, one of four kinds of noise, or an image with shuffled pixels."""
    grey, size = uniform(images, generator), uniform(images, generator)  # (batch, 1)
    normal, flat = torch.randn(images.shape, generator=generator), torch.rand(images.shape, generator=generator)
    ground = torch.where(uniform(images, generator) < 0.5, grey, 0)
    kinds = [grey.expand_as(images), (ground + size * normal).clamp(0, 1), size * flat,
             specks(ground.expand_as(images), size.square(), generator),
             clouds(images, 0.5 + 2 * torch.rand((), generator=generator).item(), generator),
             images.gather(1, flat.argsort(1))]
    chosen = torch.randint(len(kinds), (len(images),), generator=generator)
    return torch.stack(kinds)[chosen, torch.arange(len(images))]


def main(names: Annotated[list[str] | None, typer.Argument(help="Judges; if none, both.")] = None, seed: int = 0,
         out: Annotated[Path | None, typer.Option(help="Folder for the weights; else the package's.")] = None) -> None:
    """Train judges on the full data sets, with their calibration."""
    for name in names or JUDGES:
        path = train(name, seed, out=out and out / weights_path(name).name)
        facts = load_judge(name, path=path).provenance
        print(f"{path}: {float(facts['validation']):.2%} held out, {float(facts['test']):.2%} test")


if __name__ == "__main__":
    typer.run(main)
