"""The judge: a small convolutional network, trained with backpropagation, that reads generated images.

It serves only as a measuring instrument. It is trained on the full training set less 5,000 images, on which the best
epoch is chosen; the test set is read once, at the end, for the figure in the header of the weights file.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn
from tqdm import tqdm

from .. import checkout
from ..errors import BadFile, BadInput, BadValues, PCGraphError, WrongShape, unknown
from ..files import tensor_digest, write_aside
from . import sources
from .datasets import ImageSet, load, split_off

WEIGHTS = Path(__file__).parent / "weights"
PIXELS, SIDE, CLASSES = 784, 28, 10
HELD_OUT = 5_000                               # training images kept back to choose the epoch
BATCH, PEAK_RATE, DECAY, SHIFT = 128, 6e-3, 1e-2, 2
READ_BATCH = 1_000


@dataclass(frozen=True)
class Recipe:
    """How one judge is trained: epochs, the least accuracy on the test set, whether mirrored images are the same."""

    epochs: int
    bar: float
    mirror: bool


RECIPES = {"mnist": Recipe(epochs=6, bar=0.99, mirror=False), "fashion": Recipe(epochs=12, bar=0.90, mirror=True)}


class Judge(nn.Module):
    """Four convolutions and two dense layers; 71,000 weights.

    Pixels outside [0, 1] are cut off first: the judge sees what a viewer of the picture sees.
    """

    feature_size = 64

    def __init__(self, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.body = nn.Sequential(
            *_convolution(1, 16, 5), nn.MaxPool2d(2),                    # (batch, 16, 14, 14)
            *_convolution(16, 32, 3), *_convolution(32, 32, 3), nn.MaxPool2d(2),   # (batch, 32, 7, 7)
            *_convolution(32, 64, 3), nn.MaxPool2d(2), nn.Flatten(),     # (batch, 64 * 3 * 3)
            nn.Linear(576, self.feature_size, bias=False), nn.BatchNorm1d(self.feature_size), nn.ReLU(),
        )
        self.head = nn.Linear(self.feature_size, CLASSES)
        self.provenance: dict[str, str] = {}
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d | nn.Linear):
                nn.init.kaiming_normal_(layer.weight, nonlinearity="relu", generator=generator)
        nn.init.zeros_(self.head.bias)                     # torch would draw it from its global generator

    def features(self, images: Tensor) -> Tensor:
        """Return the last hidden layer, ``(batch, 64)``, of images ``(batch, 784)``."""
        if images.ndim != 2 or images.shape[1] != PIXELS:
            raise WrongShape(f"the judge reads images (batch, {PIXELS}); got {tuple(images.shape)}.")
        squares = images.clamp(0, 1).view(-1, 1, SIDE, SIDE)
        return self.body(2 * squares - 1)

    def forward(self, images: Tensor) -> Tensor:
        """Return logits ``(batch, 10)`` of images ``(batch, 784)`` in [0, 1].

        Raises:
            WrongShape: images of another shape.
        """
        return self.head(self.features(images))


def _convolution(inputs: int, outputs: int, width: int) -> list[nn.Module]:
    return [nn.Conv2d(inputs, outputs, width, padding=width // 2, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]


def checked(images: Tensor) -> Tensor:
    """Return the images unchanged, or refuse them.

    Raises:
        WrongShape: not ``(batch, 784)`` with at least one image.
        BadValues: NaN or infinite pixels.
    """
    if images.ndim != 2 or images.shape[1] != PIXELS or len(images) == 0:
        raise WrongShape(f"the judge reads images (batch, {PIXELS}), batch >= 1; got {tuple(images.shape)}.")
    if not images.isfinite().all():
        raise BadValues(f"{(~images.isfinite()).any(1).sum().item()} of {len(images)} images hold NaN or infinite "
                        "pixels; the judge would answer with an arbitrary class. Did the query diverge?")
    return images


@torch.no_grad()
def read(judge: nn.Module, images: Tensor) -> Tensor:
    """Return the class that the judge sees in each image: ``(batch, 784)`` -> ``(batch,)`` int64.

    Raises:
        WrongShape, BadValues: see ``checked``.
    """
    device = next(judge.parameters()).device
    parts = checked(images).split(READ_BATCH)
    return torch.cat([judge(part.to(device, torch.float32)).argmax(1) for part in parts]).to(images.device)


def weights_path(name: str) -> Path:
    """Where the committed weights of a judge lie.

    Raises:
        UnknownName: no such judge.
    """
    if name not in RECIPES:
        raise unknown("judge", name, RECIPES)
    return WEIGHTS / f"judge-{name}.safetensors"


def load_judge(name: str, device: torch.device | str = "cpu", path: Path | None = None) -> Judge:
    """Load a judge, frozen and in evaluation mode; ``judge.provenance`` says how it was trained.

    Args:
        name: ``mnist`` or ``fashion``.
        device: where it shall compute.
        path: weights other than the committed ones.

    Raises:
        UnknownName: no such judge.
        BadFile: the weights are missing, damaged or of another network.
    """
    path = Path(path or weights_path(name))
    again = f"Train it again: python scripts/train_judges.py {name}"
    if not path.is_file():
        raise BadFile(f"no judge weights at {path}. {again}")
    try:
        with safe_open(path, "pt") as file:
            provenance = dict(file.metadata() or {})
            state = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 (not a mapping)
        judge = Judge()
        judge.load_state_dict(state)
    except (SafetensorError, OSError, RuntimeError) as error:
        raise BadFile(f"{path} does not hold the weights of a judge ({error}). {again}") from error
    expected, found = provenance.get("weights_sha256"), tensor_digest(state)
    if provenance.get("judge") != name or expected != found:
        raise BadFile(f"{path} is damaged or another judge: expected {name!r} with SHA-256 {expected}, found "
                      f"{provenance.get('judge')!r} with {found}. {again}")
    judge.provenance = provenance
    return judge.to(device).eval().requires_grad_(False)


# ------------------------------------------------------------------------------------------------------ training

def train(name: str, seed: int = 0, epochs: int | None = None, device: torch.device | str = "cpu",
          progress: bool = True, data_root: Path | None = None, out: Path | None = None) -> Path:
    """Train a judge on the full data set and save it; about 40 CPU seconds an epoch.

    Args:
        name: ``mnist`` or ``fashion``.
        seed: of the held-out split, the first weights, the order and the shifts of the images.
        epochs: passes over the data; by default those of ``RECIPES``.
        device: ``cpu`` or ``cuda``.
        progress: show a bar.
        data_root: read the data set in this folder only.
        out: where to save; by default over the committed weights, if the judge reaches its bar on the test set.

    Raises:
        UnknownName: no such judge.
        BadInput: less than one epoch.
        BadFile: the data set is missing or damaged.
        PCGraphError: the accuracy is below the bar and ``out`` was not given; the committed judge stays.
    """
    committed = weights_path(name)
    recipe = RECIPES[name]
    epochs = recipe.epochs if epochs is None else epochs
    if epochs < 1:
        raise BadInput(f"a judge needs at least 1 epoch; got {epochs}.")
    commit, generator = checkout.version()[0], torch.Generator().manual_seed(seed)    # of the running code
    rest, held_out = split_off(load(name, "train", root=data_root), HELD_OUT, generator)
    judge = Judge(generator).to(device)
    validation = _fit(judge, rest, held_out, epochs, recipe.mirror, generator, progress)
    test = _share_right(judge, load(name, "test", root=data_root))
    if out is None and test < recipe.bar:
        raise PCGraphError(f"judge {name!r} reads {test:.2%} of the test images, less than {recipe.bar:.0%}: the "
                           "committed judge was kept. Train for more epochs, or save elsewhere with out=PATH.")
    facts = {"judge": name, "seed": seed, "epochs": epochs, "validation": validation, "test": test, "device": device,
             "commit": commit}
    return _save(judge, Path(out or committed), facts)


def _fit(judge: Judge, rest: ImageSet, held_out: ImageSet, epochs: int, mirror: bool, generator: torch.Generator,
         progress: bool) -> float:
    """Train in place, keep the epoch that is best on the held-out images, return its accuracy on them."""
    device = next(judge.parameters()).device
    optimizer = torch.optim.AdamW(judge.parameters(), lr=PEAK_RATE, weight_decay=DECAY)
    batches = len(rest) // BATCH
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, PEAK_RATE, total_steps=epochs * batches)
    best, kept = -1.0, {}
    for epoch in range(epochs):
        judge.train()
        bar = tqdm(_batches(rest, mirror, generator), total=batches, disable=not progress,
                   desc=f"judge {rest.name}, epoch {epoch + 1} of {epochs}")
        for images, labels in bar:
            loss = nn.functional.cross_entropy(judge(images.to(device)), labels.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
        share = _share_right(judge, held_out)
        if progress:
            tqdm.write(f"judge {rest.name}: {share:.2%} of {len(held_out)} held-out images after epoch {epoch + 1}")
        if share >= best:
            best, kept = share, {key: value.clone() for key, value in judge.state_dict().items()}
    judge.load_state_dict(kept)
    return best


def _batches(data: ImageSet, mirror: bool, generator: torch.Generator) -> Iterator[tuple[Tensor, Tensor]]:
    """Shuffled whole batches, each shifted by up to two pixels, and images mirrored at random if asked."""
    order = torch.randperm(len(data), generator=generator)
    for rows in order[:len(data) // BATCH * BATCH].view(-1, BATCH):
        squares = data.images[rows].view(-1, SIDE, SIDE)                  # (batch, 28, 28)
        if mirror:
            flipped = torch.rand(BATCH, generator=generator) < 0.5
            squares = torch.where(flipped[:, None, None], squares.flip(-1), squares)
        down, right = torch.randint(2 * SHIFT + 1, (2,), generator=generator).tolist()
        padded = nn.functional.pad(squares, (SHIFT,) * 4)
        yield padded[:, down:down + SIDE, right:right + SIDE].reshape(BATCH, PIXELS), data.labels[rows]


def _share_right(judge: Judge, data: ImageSet) -> float:
    judge.eval()
    return (read(judge, data.images) == data.labels).double().mean().item()


def _save(judge: Judge, path: Path, facts: dict[str, object]) -> Path:
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
    return path
