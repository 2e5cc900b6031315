"""Measures of images and answers. torchmetrics computes those that it has; this module handles its traps.

It is imported on first use, because it imports torchvision and torch's compiler, which takes seconds.

Images are ``(batch, pixels)`` with 1 as white, class numbers ``(batch,)``. Measures of single images return
``(batch,)``, measures of a set a float. Only ``mean_interval`` averages over seeds. Every measure refuses input for
which it is not defined: WrongShape (also for an empty set), BadValues (NaN or infinite entries), BadInput.
"""

import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import pandas as pd
import torch
from annotated_types import MinLen
from torch import Tensor, nn

from .. import valid
from ..engine.scale import unscaled
from ..errors import BadFile, BadInput, WrongShape, needing
from ..files import digest, placed
from ..valid import Inside, Shape
from .judge import READ_BATCH, UNREADABLE

if TYPE_CHECKING:
    from torchmetrics.image.fid import FrechetInceptionDistance

INCEPTION_FILE = "weights-inception-2015-12-05-6726825d.pth"     # torch-fidelity's, as its release names it
INCEPTION_DIGEST = INCEPTION_FILE[-12:-4]                       # the SHA-256 of its content begins so
INCEPTION_LAYERS = (64, 192, 768, 2048)
INCEPTION_BATCH = 16                                            # larger ones only move memory about, on a CPU
SSIM_WINDOW = 11                                                # pixels; smaller images have no SSIM
TIMES_FEATURES = 2            # images needed for each feature, below which a covariance says little


# ------------------------------------------------------------------------------------------------ classification

@valid.checked
def share_right(predicted: Tensor, labels: Tensor) -> float:
    """Share of right answers; both arguments are class numbers. The judge's -1 (unreadable) is never right."""
    predicted, labels = _class_numbers(predicted, labels)
    return (predicted == labels).double().mean().item()                    # in float 9 of 10 are less than 0.9


@valid.checked
def classification_table(predicted: Tensor, labels: Tensor, names: Sequence[str]) -> pd.DataFrame:
    """Precision, recall, F1 and number of images of each class, and a last row ``all``.

    The last row has the unweighted means over the classes that occur, and the total of ``images``. A class that was
    never predicted has precision 0. The judge's -1 belongs to no class. Raises BadInput: a class number has no name.
    """
    with needing("the classification table"):
        from torchmetrics.functional.classification import multiclass_f1_score, multiclass_precision, multiclass_recall
    predicted, labels = _class_numbers(predicted, labels)
    if len({*names, "all"}) != len(names) + 1:
        raise BadInput(f"class names {names}; expected each once, and none 'all', which is the last row.")
    if len(names) < 2 or max(predicted.max(), labels.max()) >= len(names):
        raise BadInput(f"{len(names)} class names cannot name the classes up to {max(predicted.max(), labels.max())}.")
    measures = {"precision": multiclass_precision, "recall": multiclass_recall, "f1": multiclass_f1_score}
    answers = predicted.where(predicted != UNREADABLE, len(names))         # a class more, that no image is of
    table = pd.DataFrame({name: measure(answers, labels, len(names) + 1, average="none").tolist()[:-1]
                          for name, measure in measures.items()}, index=pd.Index(names, name="class"))
    table["images"] = labels.bincount(minlength=len(names)).tolist()
    total = table[table["images"] > 0].mean(numeric_only=True)
    table.loc["all"] = [*total[["precision", "recall", "f1"]], len(labels)]
    return table.astype({"images": int})


@valid.checked
def auroc(scores: Tensor, positive: Tensor) -> float:
    """Area under the ROC curve: how often a positive example scores above a negative one (ties count half).

    Args:
        scores: ``(batch,)``, of any scale; higher means more positive. (torchmetrics gets ranks, because it applies a
            sigmoid to scores outside [0, 1], which makes large ones equal.)
        positive: ``(batch,)`` bool, of both kinds.
    """
    with needing("auroc"):
        from torchmetrics.functional.classification import binary_auroc
    levels, ranks = _ranked(scores, positive)
    return binary_auroc(ranks.double() / max(1, levels - 1), positive.long()).item()


@valid.checked
def roc(scores: Tensor, positive: Tensor) -> tuple[Tensor, Tensor]:
    """The ROC curve: shares of negative and of positive examples at or above each level, from the highest down.

    Returns:
        ``(levels + 1,)`` each, from (0, 0) to (1, 1). ``auroc`` is the area below, with the same arguments and errors.
    """
    levels, ranks = _ranked(scores, positive)
    counts = [ranks[part].bincount(minlength=levels).flip(0).cumsum(0).double() for part in (~positive, positive)]
    false_rate, true_rate = (torch.cat([count.new_zeros(1), count / count[-1]]) for count in counts)
    return false_rate, true_rate


# -------------------------------------------------------------------------------------------- image by image

@valid.checked
def mse(images: Tensor, originals: Tensor) -> Tensor:
    """Mean squared error of each image, ``(batch,)``."""
    images, originals = _pair(images, originals)
    return (images - originals).square().mean(dim=1)


@valid.checked
def psnr(images: Tensor, originals: Tensor) -> Tensor:
    """Peak signal-to-noise ratio of each image in dB, ``(batch,)``, the peak being 1; infinite for equal images."""
    return -10 * mse(images, originals).log10()


@valid.checked
def background_energy(images: Tensor, originals: Tensor) -> float:
    """Mean of x^2 over all pixels that are 0 in the originals, where nothing should be left."""
    images, originals = _pair(images, originals)
    dark = originals == 0                                                  # (batch, pixels)
    if not dark.any():
        raise BadInput(f"none of the {len(originals)} originals has a pixel of 0, so there is no background.")
    return float(images[dark].detach().square().mean())


@valid.checked
def ssim(images: Tensor, originals: Tensor, shape: Shape = (1, 28, 28)) -> Tensor:
    """Structural similarity of each image, ``(batch,)``, at most 1; Gaussian window of 11 pixels, range 1."""
    with needing("ssim"):
        from torchmetrics.functional.image import structural_similarity_index_measure
    images, originals = _pair(images, originals)
    _fits(images, shape)
    if min(shape[1:]) < SSIM_WINDOW:
        raise WrongShape(f"SSIM looks through a window of {SSIM_WINDOW} pixels; images of {shape} are too small. "
                         "Compare them by mse or psnr.")
    # float32 would lose the variance of flat parts
    seen, true = (part.double().reshape(-1, *shape) for part in (images, originals))
    found: Any = structural_similarity_index_measure(seen, true, data_range=1.0, reduction="none")
    return found.to(images.dtype)


@valid.checked
def seam(images: Tensor, known: Tensor, shape: Shape = (1, 28, 28)) -> Tensor:
    """Discontinuity where known rows meet the others: mean absolute step between the two rows, ``(batch,)``.

    ``known`` is ``(pixels,)`` bool, such as ``datasets.top_half``.
    """
    _fits(unscaled(images), shape)
    known = valid.mask(known, "known", images.shape[1:])
    picture, rows = images.reshape(-1, *shape), known.reshape(shape)
    meeting = rows[:, 1:] != rows[:, :-1]                                  # (channels, height - 1, width)
    if not meeting.any():
        raise BadInput("known rows meet no others, so there is no seam; give a mask such as datasets.top_half(shape).")
    return (picture[:, :, 1:] - picture[:, :, :-1]).abs()[:, meeting].mean(-1)


@valid.checked
def diversity(images: Tensor) -> float:
    """Mean squared distance between two different images of a set, each divided by its norm; 0 if all are the same.

    So contrast does not matter: pale pictures are as varied as bright ones. A blank picture stays blank.
    """
    return 2 * _normed(images).var(0).sum().item()                         # the mean over pairs, without forming them


@valid.checked
def nearest_distances(images: Tensor) -> Tensor:
    """Squared distance from each image to the nearest other one of the set, each divided by its norm. ``(batch,)``

    So contrast does not matter here either. An image that the set contains twice has 0.
    """
    shapes = _normed(images)
    return torch.cdist(shapes, shapes).square().fill_diagonal_(math.inf).amin(1)


def _normed(images: Tensor) -> Tensor:
    if len(unscaled(images)) < 2:
        raise WrongShape("how different the images of a set are needs at least two of them; got 1.")
    return torch.nn.functional.normalize(images.double(), dim=1)


# ---------------------------------------------------------------------------------- distances between two sets

class _JudgeFeatures(nn.Module):
    """The judge as a feature extractor for torchmetrics: it scales inside and knows its width."""

    def __init__(self, judge: Any) -> None:
        super().__init__()
        self.num_features, self.forward = int(judge.feature_size), judge.features


@valid.checked
def frechet_judge_distance(judge: nn.Module, real: Tensor, fake: Tensor) -> float:
    """Frechet distance between two sets of images, on the judge's last hidden layer.

    The formula is that of FID on other features, so values can only be compared for the same judge and n. Pixels are
    floats in [0, 1], never bytes; the judge clips them and divides by the brightest, so contrast does not count. Each
    set needs at least twice as many images as the judge has features.
    """
    with needing("a Frechet distance"):
        from torchmetrics.image.fid import FrechetInceptionDistance
    if not hasattr(judge, "features"):
        raise BadInput(f"judge is a {type(judge).__name__} without features; expected judge.load_judge(name).")
    extractor, device = _JudgeFeatures(judge), next(judge.parameters()).device
    _enough(extractor.num_features, real, fake)
    metric = FrechetInceptionDistance(feature=extractor, normalize=True).to(device)
    return _distance(metric, real, fake, READ_BATCH, lambda part: part.to(device, torch.float32))


@torch.no_grad()
def _distance(metric: "FrechetInceptionDistance", real: Tensor, fake: Tensor, size: int,
              given: Callable[[Tensor], Tensor]) -> float:
    for images, is_real in ((real, True), (fake, False)):
        for part in images.split(size):
            metric.update(given(part), real=is_real)
    distance = metric.compute()
    valid.finite(distance, "features")
    return distance.clamp(min=0).item()                    # rounding can leave equal sets slightly below zero


@valid.checked
def inception_weights(path: Path | str | None = None) -> Path:
    """The file of torch-fidelity's Inception weights: the given path, ``$PCGRAPH_INCEPTION``, or torch's download.

    Raises BadFile, with the place to get them: there is no such file.
    """
    given = path or os.environ.get("PCGRAPH_INCEPTION")
    found = placed(given, "weights_path") if given else Path(torch.hub.get_dir()) / "checkpoints" / INCEPTION_FILE
    if not found.is_file():
        raise BadFile(f"no Inception weights at {found}. FID needs the file {INCEPTION_FILE} of torch-fidelity's "
                      "release v0.2.0; set PCGRAPH_INCEPTION to its path, or use frechet_judge_distance (not FID).")
    return found


@valid.checked
def fid(real: Tensor, fake: Tensor, weights_path: Path | str | None = None, shape: Shape = (1, 28, 28),
        feature: int = 2048, device: torch.device | str = "cpu") -> float:
    """Frechet Inception distance, with the original resizing (no antialiasing) and grey repeated as three colours.

    Args:
        real, fake: pixels, clipped to [0, 1] and rounded to bytes; each at least twice as many images as features.
        weights_path: see ``inception_weights``. Raises BadFile.
        shape: ``(channels, height, width)``, one channel or three.
        feature: the layer, by its width: 2048 for the usual FID; the others (64, 192, 768) have other scales.
        device: that of Inception, which takes about 0.1 s per image on one CPU core.
    """
    if feature not in INCEPTION_LAYERS:
        raise BadInput(f"Inception has the layers {INCEPTION_LAYERS}; got {feature!r}.")
    _enough(feature, real, fake)
    _fits(real, shape)
    _fits(fake, shape)
    metric = _inception_metric(inception_weights(weights_path), feature).to(device)
    return _distance(metric, real, fake, INCEPTION_BATCH, lambda part: _colour_bytes(part, shape).to(device))


def _inception_metric(path: Path, feature: int) -> "FrechetInceptionDistance":
    with needing("FID"):
        from torchmetrics.image.fid import FrechetInceptionDistance
    found = digest(path)
    try:
        if not found.startswith(INCEPTION_DIGEST):                  # nothing of another file is unpickled
            raise ValueError("It was not read.")
        torch.load(path, weights_only=True, map_location="cpu")     # torchmetrics unpickles freely: tensors only, first
        return FrechetInceptionDistance(feature, feature_extractor_weights_path=str(path), antialias=False)
    except Exception as error:                                      # many kinds, all meaning: not these weights
        raise BadFile(f"{path} does not hold Inception weights: expected a SHA-256 that begins with {INCEPTION_DIGEST} "
                      f"(the last part of {INCEPTION_FILE}), found {found}. {str(error).splitlines()[0]}") from error


def _colour_bytes(images: Tensor, shape: Shape) -> Tensor:
    """``(batch, pixels)`` in [0, 1] -> ``(batch, 3, height, width)`` uint8."""
    grid = (images.clamp(0, 1) * 255).round().byte().reshape(-1, *shape)
    return grid.expand(-1, 3, -1, -1)


# ------------------------------------------------------------------------------------------------------ intervals

@valid.checked
def mean_interval(values: Annotated[Sequence[float], MinLen(1)], level: Inside = 0.95) -> tuple[float, float, float]:
    """Mean of repeated runs and its confidence interval from Student's t: ``(mean, low, high)``.

    A single value has no spread, so its bounds are NaN.
    """
    numbers = valid.finite(values, "values", torch.float64)
    mean, count = numbers.mean().item(), len(numbers)
    if count == 1:
        return mean, math.nan, math.nan
    with needing("an interval"):
        from scipy import stats
    reach = float(stats.t.ppf((1 + level) / 2, count - 1)) * numbers.std().item() / math.sqrt(count)
    return mean, mean - reach, mean + reach


# --------------------------------------------------------------------------------------------------------- checks

def _ranked(scores: Tensor, positive: Tensor) -> tuple[int, Tensor]:
    """The number of different scores, and the rank of each score in ascending order."""
    if scores.ndim != 1 or scores.shape != positive.shape:
        raise WrongShape(f"auroc needs two vectors of one length; got {tuple(scores.shape)}, {tuple(positive.shape)}.")
    if positive.dtype != torch.bool or positive.all() or not positive.any():
        raise BadInput("auroc needs a bool vector with both positive and negative examples; got "
                       f"{positive.dtype} with {positive.sum().item()} positive of {len(positive)}.")
    valid.finite(scores, "scores")
    levels, ranks = scores.unique(return_inverse=True)
    return len(levels), ranks


def _class_numbers(predicted: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    labels = valid.labels(labels, "true classes")
    return valid.labels(predicted, "predicted classes", count=len(labels), least=UNREADABLE), labels


def _pair(images: Tensor, originals: Tensor) -> tuple[Tensor, Tensor]:
    """Both tensors in the higher of their precisions."""
    images, originals = unscaled(images), unscaled(originals, "originals")
    if images.shape != originals.shape:
        raise WrongShape("images and originals must be alike; got "
                         f"{tuple(images.shape)} and {tuple(originals.shape)}.")
    finer = torch.promote_types(images.dtype, originals.dtype)
    return images.to(finer), originals.to(finer)


def _fits(images: Tensor, shape: Shape) -> None:
    if shape[0] not in (1, 3) or images.shape[1] != math.prod(shape):
        raise WrongShape(f"images of {images.shape[1]} pixels do not have the shape {shape}: (1 or 3 channels, height, "
                         "width).")


def _enough(features: int, *sets: Tensor) -> None:
    for images in sets:
        unscaled(images)
        if len(images) < TIMES_FEATURES * features:
            raise BadInput(f"a Frechet distance on {features} features needs at least {TIMES_FEATURES * features} "
                           f"images in each set, or its covariance means little; got {len(images)}.")
