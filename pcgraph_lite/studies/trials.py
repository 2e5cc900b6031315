"""A trial: one task of one trained model on the test images of a data set, and its results.

For graphs and baselines alike, a trial has the pictures, the judge's readings, and a table with one row per image and
one column per measure, so that models can be compared.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pandas as pd
import torch
from torch import Tensor, nn

from ..baselines import rivals as simple
from ..baselines.autoencoder import Autoencoder
from ..baselines.kinds import Classifier
from ..engine.graph import PCGraph
from ..engine.query import Answer
from ..engine.solvers import WINDOW
from ..errors import BadInput
from ..images import datasets, metrics
from ..images.datasets import ImageSet
from . import tasks
from .memory import RETRIEVED, Recall

FILTERS = ("box filter", "Wiener filter", "best linear map")
Key = tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Case:
    """A data set for the tasks. ``test``: images drawn at random, not chosen."""

    train: ImageSet
    test: ImageSet
    judge: nn.Module

    def noisy(self, variance: float, seed: int) -> Tensor:
        """The test images with Gaussian noise, the same for every model. ``(batch, pixels)``."""
        return datasets.noisy(self.test.images, variance, datasets.noise_generator(seed))

    def of_classes(self, classes: Sequence[int], count: int, seed: int = 0) -> "Case":
        """The case with at most ``count`` test images, drawn from some classes; others for another seed. Raises
        BadInput: there are none.
        """
        rows = torch.isin(self.test.labels, torch.tensor(classes)).nonzero().flatten()
        if not len(rows):
            raise BadInput(f"none of the {len(self.test)} test images is of class {', '.join(map(str, classes))}; "
                           "take more images, or other classes.")
        order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(seed))
        return replace(self, test=self.test.take(rows[order[:count]]))


@dataclass(frozen=True, eq=False)
class Trial:
    """The results. ``each``: one row per image, one column per measure. ``answer``: of the query, if there was one.

    The measure ``agrees`` says whether the judge reads the held label, or else that of the original; in ``classify``,
    whether the model answers it; for a memory, whether it was recalled.
    """

    images: Tensor                                                         # (batch, pixels), on the CPU
    read: Tensor                                                           # (batch,), the classes or memories seen
    each: pd.DataFrame
    answer: Answer | None = None

    def means(self) -> dict[str, float]:
        """Measure -> mean over the images."""
        return {name: self.each[name].mean() for name in self.each}

    def of(self, rows: Tensor | slice) -> "Trial":
        """The trial restricted to some images, ``(batch,)`` bool or a slice, without the answer."""
        return Trial(self.images[rows], self.read[rows], self.each[rows.numpy() if isinstance(rows, Tensor) else rows])


def draw(graph: PCGraph, about: Case) -> Trial:
    """Hold each of the ten labels (gen-a). Measures: agrees, converged."""
    classes = torch.arange(10)
    answer = tasks.generate(graph, classes.to(graph.device)).to("cpu")
    return judged(answer.values["pixels"].clamp(0, 1), about, classes, answer)


def complete(model: PCGraph | Autoencoder, about: Case, known: Tensor, held: Tensor | None = None) -> Trial:
    """Hold the known pixels ``(pixels,)`` bool (gen-b), and labels ``(batch,)`` int if given (gen-d). Measures: of
    ``part``, and for graphs converged. Raises BadInput: labels for an autoencoder.
    """
    truth, device = about.test.images, next(model.parameters()).device
    if isinstance(model, Autoencoder):
        return part(tasks.complete(model, truth.to(device), known.to(device), held).cpu(), about, known)
    labels = None if held is None else held.to(device)
    answer = tasks.completion(model, truth.to(device), known.to(device), labels).to("cpu")
    return part(tasks.filled(truth, known, answer), about, known, held, answer)


def denoise(model: PCGraph | Autoencoder, about: Case, noisy: Tensor, steps: int) -> Trial:
    """Start the pixels at noisy images ``(batch, pixels)`` and take plain steps (gen-c); an autoencoder takes none.
    Measures: those of ``whole``.
    """
    return whole(tasks.denoise(model, noisy.to(next(model.parameters()).device), steps).cpu(), about)


def classify(model: PCGraph | Classifier, test: ImageSet, **settings: Any) -> Trial:
    """Query the class of images, a thousand at a time. ``settings``: those of ``tasks.classify``. Measures: agrees,
    whether the model answers the label; for graphs also converged and the remaining energy.
    """
    device = next(iter(model.state_dict().values())).device
    more: dict[str, Any] = {}
    parts = [images.to(device) for images in test.images.split(1000)]
    if isinstance(model, PCGraph):
        answers = [tasks.classify(model, images, **settings).to("cpu") for images in parts]
        read = torch.cat([answer.values["labels"].argmax(-1) for answer in answers])
        more = {"converged": torch.cat([answer.converged for answer in answers]).numpy(),
                "energy": torch.cat([answer.energy[-1] for answer in answers]).numpy()}
    else:
        read = torch.cat([model.classify(images).cpu() for images in parts])
    return answered(read, test, **more)


def answered(read: Tensor, test: ImageSet, **measures: Any) -> Trial:
    """Classes ``(batch,)`` that a model answered. Measures: agrees, and those given."""
    return Trial(test.images, read, pd.DataFrame({"agrees": (read == test.labels).numpy()} | measures))


def recalled(recall: Recall, memories: Tensor) -> Trial:
    """A query for memories ``(batch, pixels)``, whose reading is the nearest memory. Measures: mse, agrees (mse below
    ``RETRIEVED``), converged.
    """
    images = recall.images.cpu()
    error = metrics.mse(images, memories)
    return Trial(images, torch.cdist(images, memories).argmin(1), pd.DataFrame(
        {"mse": error.numpy(), "agrees": (error < RETRIEVED).numpy(), "converged": recall.converged.cpu().numpy()}))


def part(images: Tensor, about: Case, known: Tensor, held: Tensor | None = None,
         answer: Answer | None = None) -> Trial:
    """Any completion ``(batch, pixels)``. Measures: mse and ssim on the missing rows; agrees, on the whole image."""
    truth, (channels, _, width) = about.test.images, about.test.shape  # type: ignore[misc]
    rows = int((~known).sum()) // (channels * width)
    hidden = images[:, ~known], truth[:, ~known]
    return judged(images, about, about.test.labels if held is None else held, answer, mse=metrics.mse(*hidden),
                  ssim=metrics.ssim(*hidden, (channels, rows, width)))


def whole(images: Tensor, about: Case, answer: Answer | None = None) -> Trial:
    """Any pictures ``(batch, 784)`` of the test images. Measures: mse, psnr in dB, agrees."""
    truth = about.test.images
    return judged(images, about, about.test.labels, answer, mse=metrics.mse(images, truth),
                  psnr=metrics.psnr(images, truth))


def joined(parts: Iterable[Trial]) -> Trial:
    """Several trials joined, without their answers."""
    parts = list(parts)
    return Trial(torch.cat([one.images for one in parts]), torch.cat([one.read for one in parts]),
                 pd.concat([one.each for one in parts], ignore_index=True))


def judged(images: Tensor, about: Case, labels: Tensor | int, answer: Answer | None = None,
           **measures: Tensor) -> Trial:
    """Any pictures that should show classes, ``(batch,)`` or one. Measures: those given, agrees; converged if asked."""
    read = tasks.judge_reads(about.judge, images)
    measures |= {"agrees": read == labels} | ({} if answer is None else {"converged": answer.converged})
    return Trial(images, read, pd.DataFrame({name: values.numpy() for name, values in measures.items()}), answer)


def rivals(about: Case, known: Tensor) -> dict[str, Trial]:
    """Simple completions: the mean training image, the training image with the nearest known part, and ridge regression
    on the known pixels with a penalty chosen on a tenth of the training images. Also the original.
    """
    train, truth = about.train.images, about.test.images
    return {name: part(images, about, known) for name, images in {
        "mean image": simple.mean_image(train, truth, known),
        "nearest neighbour": simple.nearest_neighbour(train, truth, known),
        "ridge regression": simple.ridge_image(train, truth, known), "original": truth}.items()}


def filtered(about: Case, variance: float, seeds: Sequence[int], kinds: Iterable[str] = FILTERS) -> dict[Key, Trial]:
    """Simple denoisings of the test images with each seed's noise, fitted on the training images, by
    ``(dataset, kind, seed)``. ``kinds``: keys of ``FILTERS``.
    """
    train = about.train.images
    shape: Any = about.test.shape                                          # of a set of images, never None
    makers: dict[str, Callable[[], Callable[[Tensor], Tensor]]] = {
        "box filter": lambda: partial(simple.box_filter, shape=shape),
        "Wiener filter": lambda: simple.wiener_filter(train, variance, shape),
        "best linear map": lambda: simple.best_linear(train, variance)}
    fitted = {kind: makers[kind]() for kind in kinds}
    return {(about.test.name, kind, s): whole(clean(about.noisy(variance, s)), about)
            for kind, clean in fitted.items() for s in seeds}


@dataclass(frozen=True, eq=False)
class DenoisingPath:
    """The course of denoising held-out images: mean PSNR after each number of steps, and that of the input."""

    steps: Sequence[int]
    psnr: list[float]
    energy: Tensor                                                         # (last step, batch)
    noisy: float

    @property
    def best(self) -> int:
        """The smallest number of steps with the highest PSNR."""
        return self.steps[max(range(len(self.steps)), key=self.psnr.__getitem__)]

    @property
    def rested(self) -> float:
        """The share of images at rest, whose energy the last ten steps changed by at most 1e-6 of its first value.

        NaN without steps: an autoencoder has no energy.
        """
        if not len(self.energy):
            return float("nan")
        change = (self.energy[-1 - WINDOW:][0] - self.energy[-1]).abs()    # (batch,)
        return float((change <= 1e-6 * self.energy[0]).double().mean())


def path(model: PCGraph | Autoencoder, held_out: ImageSet, variance: float, seed: int,
         steps: Sequence[int]) -> DenoisingPath:
    """Denoise held-out images and measure them after each number of plain steps; an autoencoder takes none."""
    clean, device = held_out.images, next(model.parameters()).device
    noisy = datasets.noisy(clean, variance, datasets.noise_generator(seed, "held-out"))
    if isinstance(model, Autoencoder):
        seen, energy = {0: tasks.denoise(model, noisy.to(device), 0)}, torch.empty(0, len(clean))
    else:
        seen, energy = tasks.denoise_path(model, noisy.to(device), steps)
    psnr = {k: float(metrics.psnr(images.cpu(), clean).mean()) for k, images in seen.items()}
    before = float(metrics.psnr(noisy.clamp(0, 1), clean).mean())
    return DenoisingPath(list(psnr), list(psnr.values()), energy.cpu(), before)


def schedule(longest: int) -> list[int]:
    """Numbers of plain steps up to ``longest``, for ``path``."""
    return [k for k in (1, 2, 3, 5, 10, 20, 40, 80, 160, 320, 640, 1280, 2000) if k <= longest]
