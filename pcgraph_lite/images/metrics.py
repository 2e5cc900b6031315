"""Measures for images and answers; torchmetrics does the work, its traps are handled here once.

Images are ``(batch, pixels)`` with 1 as white. A measure of one image gives ``(batch,)``; a measure of a whole set
gives a float. Nothing here averages over seeds: that is ``mean_interval``'s task.
"""

import hashlib
import math
import os
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import torch
from scipy import stats
from torch import Tensor, nn
from torchmetrics.functional.classification import (
    binary_auroc,
    multiclass_accuracy,
    multiclass_f1_score,
    multiclass_precision,
    multiclass_recall,
    multiclass_stat_scores,
)
from torchmetrics.functional.image import peak_signal_noise_ratio, structural_similarity_index_measure
from torchmetrics.image.fid import FrechetInceptionDistance

from ..errors import BadFile, BadInput, BadValues, WrongShape
from .judge import READ_BATCH

INCEPTION_FILE = "weights-inception-2015-12-05-6726825d.pth"     # torch-fidelity's, as its release names it
INCEPTION_LAYERS = (64, 192, 768, 2048)
INCEPTION_BATCH = 16                                            # larger ones only move memory about, on a CPU
SSIM_WINDOW = 11                                                # pixels; smaller images have no SSIM
TIMES_FEATURES = 2            # images needed for each feature, below which a covariance says little


# ------------------------------------------------------------------------------------------------ classification

def share_right(predicted: Tensor, labels: Tensor) -> float:
    """Share of right answers; both are class numbers ``(batch,)``.

    Raises:
        WrongShape: not two vectors of the same length, or empty.
        BadInput: numbers that are not whole and >= 0.
    """
    predicted, labels = _class_numbers(predicted, labels)
    classes = max(2, int(max(predicted.max(), labels.max())) + 1)
    return multiclass_accuracy(predicted, labels, classes, average="micro").item()


def classification_table(predicted: Tensor, labels: Tensor, names: Sequence[str]) -> pd.DataFrame:
    """Precision, recall, F1 and number of images for each class, and a last row ``all``.

    The last row holds the plain means over the classes that occur, except ``images``, the total. A class that was never
    predicted has precision 0.

    Raises:
        WrongShape: not two vectors of the same length, or empty.
        BadInput: fewer than two names, or class numbers beyond them.
    """
    predicted, labels = _class_numbers(predicted, labels)
    if len(names) < 2 or max(predicted.max(), labels.max()) >= len(names):
        raise BadInput(f"{len(names)} class names cannot name the classes up to {max(predicted.max(), labels.max())}.")
    settings = {"num_classes": len(names), "average": "none"}
    table = pd.DataFrame({
        "precision": multiclass_precision(predicted, labels, **settings).tolist(),
        "recall": multiclass_recall(predicted, labels, **settings).tolist(),
        "f1": multiclass_f1_score(predicted, labels, **settings).tolist(),
        "images": multiclass_stat_scores(predicted, labels, **settings)[:, 4].tolist(),
    }, index=pd.Index(names, name="class"))
    total = table[table["images"] > 0].mean(numeric_only=True)
    table.loc["all"] = [*total[["precision", "recall", "f1"]], len(labels)]
    return table.astype({"images": int})


def auroc(scores: Tensor, positive: Tensor) -> float:
    """Area under the ROC curve: how often a positive example scores above a negative one (ties count half).

    The scores may have any scale. torchmetrics would squash scores outside [0, 1] with a sigmoid, which makes ties
    of large ones, so it is given ranks.

    Args:
        scores: ``(batch,)``; higher means more positive.
        positive: ``(batch,)`` bool.

    Raises:
        WrongShape: not two vectors of the same length.
        BadInput: ``positive`` is not bool, or holds only one kind.
        BadValues: NaN or infinite scores.
    """
    _scored(scores, positive)
    levels, ranks = scores.unique(return_inverse=True)
    return binary_auroc(ranks.double() / max(1, len(levels) - 1), positive.long()).item()


def roc(scores: Tensor, positive: Tensor) -> tuple[Tensor, Tensor]:
    """The ROC curve: shares of negative and of positive examples at or above each level, from the highest down.

    Returns:
        ``(levels + 1,)`` each, from (0, 0) to (1, 1); the area below is ``auroc``. Arguments and errors are its own.
    """
    _scored(scores, positive)
    levels, ranks = scores.unique(return_inverse=True)                     # ascending
    counts = [ranks[part].bincount(minlength=len(levels)).flip(0).cumsum(0).double() for part in (~positive, positive)]
    false_rate, true_rate = (torch.cat([count.new_zeros(1), count / count[-1]]) for count in counts)
    return false_rate, true_rate


# -------------------------------------------------------------------------------------------- image by image

def mse(images: Tensor, originals: Tensor) -> Tensor:
    """Mean squared error of each image, ``(batch,)``.

    Raises:
        WrongShape: not two sets ``(batch, pixels)`` of one shape, or empty.
        BadValues: NaN or infinite pixels.
    """
    _pair(images, originals)
    return (images - originals).square().mean(dim=1)


def psnr(images: Tensor, originals: Tensor) -> Tensor:
    """Peak signal-to-noise ratio of each image in dB, ``(batch,)``, the peak being 1; infinite for equal images.

    Raises:
        WrongShape, BadValues: as for ``mse``.
    """
    _pair(images, originals)
    return peak_signal_noise_ratio(images, originals, data_range=1.0, dim=1, reduction="none")


def background_energy(images: Tensor, originals: Tensor) -> float:
    """Mean of x^2 over all pixels that are 0 in the originals: what is left where there should be nothing.

    Raises:
        WrongShape, BadValues: as for ``mse``.
        BadInput: no pixel of any original is 0.
    """
    _pair(images, originals)
    dark = originals == 0                                                  # (batch, pixels)
    if not dark.any():
        raise BadInput(f"none of the {len(originals)} originals has a pixel of 0, so there is no background.")
    return float(images[dark].square().mean())


def ssim(images: Tensor, originals: Tensor, shape: tuple[int, int, int] = (1, 28, 28)) -> Tensor:
    """Structural similarity of each image, ``(batch,)``, at most 1; Gaussian window of 11 pixels, range 1.

    Args:
        images, originals: ``(batch, pixels)``.
        shape: ``(channels, height, width)``; both sides at least 11 pixels.

    Raises:
        WrongShape, BadValues: as for ``mse``; or a shape that does not fit, or is too small for the window.
    """
    _pair(images, originals)
    _fits(images, shape)
    if min(shape[1:]) < SSIM_WINDOW:
        raise WrongShape(f"SSIM looks through a window of {SSIM_WINDOW} pixels; images of {shape} are too small.")
    pair = (part.double().reshape(-1, *shape) for part in (images, originals))    # float32 loses the variance of flats
    return structural_similarity_index_measure(*pair, data_range=1.0, reduction="none").to(images.dtype)


def seam(images: Tensor, known: Tensor, shape: tuple[int, int, int] = (1, 28, 28)) -> Tensor:
    """Discontinuity where known rows meet the others: mean absolute step between the two rows, ``(batch,)``.

    Args:
        images: ``(batch, pixels)``.
        known: ``(pixels,)`` bool, such as ``datasets.top_half``.

    Raises:
        WrongShape: images or mask do not fit the shape. BadInput: everything is known, or nothing.
    """
    _fits(images, shape)
    if known.shape != images.shape[1:] or known.dtype != torch.bool:
        raise WrongShape(f"known is {tuple(known.shape)} {known.dtype}; expected {tuple(images.shape[1:])} torch.bool.")
    picture, rows = images.reshape(-1, *shape), known.reshape(shape)
    meeting = rows[:, 1:] != rows[:, :-1]                                  # (channels, height - 1, width)
    if not meeting.any():
        raise BadInput("known rows meet no others, so there is no seam; give a mask such as datasets.top_half(shape).")
    return (picture[:, :, 1:] - picture[:, :, :-1]).abs()[:, meeting].mean(-1)


def share_interval(hits: int, count: int, level: float = 0.95) -> tuple[float, float]:
    """Wilson's confidence interval of a share, ``(low, high)``, from ``hits`` of ``count`` independent images.

    Raises:
        BadInput: not 0 <= hits <= count with count >= 1, or a level outside (0, 1).
    """
    if not 0 <= hits <= count or count < 1 or not 0 < level < 1:
        raise BadInput(f"{hits} hits of {count} at level {level}; expected 0 <= hits <= count, 0 < level < 1.")
    interval = stats.binomtest(hits, count).proportion_ci(level, method="wilson")
    return float(interval.low), float(interval.high)


def diversity(images: Tensor) -> float:
    """Mean squared error between two different images of a set ``(batch, pixels)``; 0 if all are the same.

    Raises:
        WrongShape, BadValues: as for ``mse``; or fewer than two images.
    """
    _several(images)
    return 2 * images.double().var(0).mean().item()                        # the mean over pairs, without forming them


def repeated_share(images: Tensor, threshold: float) -> float:
    """Share of images ``(batch, pixels)`` that have another one of the set nearer than a mean squared error.

    Raises:
        WrongShape, BadValues: as for ``mse``; or fewer than two images.
        BadInput: a threshold that is not a positive number.
    """
    _several(images)
    if not (math.isfinite(threshold) and threshold > 0):
        raise BadInput(f"the threshold of a repeated image must be positive; got {threshold}.")
    distance = torch.cdist(images.double(), images.double()).square() / images.shape[1]      # (batch, batch)
    nearest = distance.fill_diagonal_(math.inf).amin(1)
    return (nearest < threshold).double().mean().item()


# ---------------------------------------------------------------------------------- distances between two sets

class _JudgeFeatures(nn.Module):
    """The judge as torchmetrics wants a feature extractor: scale fixed inside, width known without a trial image."""

    def __init__(self, judge: nn.Module) -> None:
        super().__init__()
        self.judge = judge
        self.num_features = int(judge.feature_size)

    def forward(self, images: Tensor) -> Tensor:
        return self.judge.features(images)


@torch.no_grad()
def frechet_judge_distance(judge: nn.Module, real: Tensor, fake: Tensor) -> float:
    """Frechet distance between two sets of images, on the judge's last hidden layer.

    The same formula as FID on other features: its values compare only with each other, for one judge and one n. Pixels
    go in as floats in [0, 1] (the judge cuts off what lies outside and divides by the brightest pixel, so that contrast
    does not count), never as bytes.

    Args:
        judge: from ``load_judge``.
        real, fake: ``(batch, 784)``, each with at least twice as many images as the judge has features (128).

    Raises:
        WrongShape, BadValues: images of another shape, NaN or infinite pixels.
        BadInput: too few images.
    """
    extractor = _JudgeFeatures(judge)
    device = next(judge.parameters()).device
    metric = FrechetInceptionDistance(feature=extractor, normalize=True).to(device)
    for images, is_real in ((real, True), (fake, False)):
        _enough(images, extractor.num_features)
        for part in images.split(READ_BATCH):
            metric.update(part.to(device, torch.float32), real=is_real)
    return _distance(metric)


def _distance(metric: FrechetInceptionDistance) -> float:
    distance = metric.compute()
    _refuse_not_finite("features", distance)
    return distance.clamp(min=0).item()                    # rounding can leave equal sets slightly below zero


def inception_weights(path: Path | str | None = None) -> Path:
    """Find torch-fidelity's Inception weights: the path given, ``$PCGRAPH_INCEPTION``, or torch's download folder.

    Raises:
        BadFile: no such file; the text says where to get it.
    """
    given = path or os.environ.get("PCGRAPH_INCEPTION")
    found = Path(given) if given else Path(torch.hub.get_dir()) / "checkpoints" / INCEPTION_FILE
    if not found.is_file():
        raise BadFile(f"no Inception weights at {found}. FID needs the file {INCEPTION_FILE} of torch-fidelity's "
                      "release v0.2.0; set PCGRAPH_INCEPTION to its path, or use frechet_judge_distance (not FID).")
    return found


@torch.no_grad()
def fid(real: Tensor, fake: Tensor, weights_path: Path | str | None = None, shape: tuple[int, int, int] = (1, 28, 28),
        feature: int = 2048, device: torch.device | str = "cpu") -> float:
    """Frechet Inception distance, with the original resizing (no antialiasing) and grey repeated as three colours.

    Args:
        real, fake: ``(batch, pixels)``; pixels are cut to [0, 1] and rounded to bytes. At least twice as many images as
            features in each.
        weights_path: see ``inception_weights``.
        shape: ``(channels, height, width)``, one channel or three.
        feature: the layer by its width; 2048 is what FID means, the others (64, 192, 768) have other scales.
        device: where Inception runs; about 0.1 s an image on one CPU core.

    Raises:
        WrongShape, BadValues: images that do not fit the shape, NaN or infinite pixels.
        BadInput: an unknown layer, or too few images.
        BadFile: no weights, or damaged ones.
    """
    if feature not in INCEPTION_LAYERS:
        raise BadInput(f"Inception has the layers {INCEPTION_LAYERS}; got {feature!r}.")
    for images in (real, fake):
        _enough(images, feature)
        _fits(images, shape)
    metric = _inception_metric(inception_weights(weights_path), feature).to(device)
    for images, is_real in ((real, True), (fake, False)):
        for part in images.split(INCEPTION_BATCH):
            metric.update(_colour_bytes(part, shape).to(device), real=is_real)
    return _distance(metric)


def _inception_metric(path: Path, feature: int) -> FrechetInceptionDistance:
    try:
        torch.load(path, weights_only=True, map_location="cpu")     # torchmetrics unpickles freely: tensors only, first
        return FrechetInceptionDistance(feature, feature_extractor_weights_path=str(path), antialias=False)
    except Exception as error:                                      # many kinds, all meaning: not these weights
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        raise BadFile(f"{path} does not hold Inception weights: expected a SHA-256 that begins with 6726825d (the last "
                      f"part of {INCEPTION_FILE}), found {digest}. {str(error).splitlines()[0]}") from error


def _colour_bytes(images: Tensor, shape: tuple[int, int, int]) -> Tensor:
    """``(batch, pixels)`` in [0, 1] -> ``(batch, 3, height, width)`` uint8."""
    grid = (images.clamp(0, 1) * 255).round().byte().view(-1, *shape)
    return grid.expand(-1, 3, -1, -1)


# ------------------------------------------------------------------------------------------------------ intervals

def mean_interval(values: Sequence[float], level: float = 0.95) -> tuple[float, float, float]:
    """Mean of repeated runs and its confidence interval from Student's t: ``(mean, low, high)``.

    One value has no spread: its bounds are NaN, not the value itself.

    Raises:
        BadInput: no value, or a level outside (0, 1).
        BadValues: NaN or infinite values.
    """
    if len(values) == 0 or not 0 < level < 1:
        raise BadInput(f"an interval needs at least one value and a level in (0, 1); got {len(values)}, {level}.")
    numbers = torch.as_tensor(values, dtype=torch.float64)
    _refuse_not_finite("values", numbers)
    mean, count = numbers.mean().item(), len(numbers)
    if count == 1:
        return mean, math.nan, math.nan
    reach = float(stats.t.ppf((1 + level) / 2, count - 1)) * numbers.std().item() / math.sqrt(count)
    return mean, mean - reach, mean + reach


# --------------------------------------------------------------------------------------------------------- checks

def _scored(scores: Tensor, positive: Tensor) -> None:
    if scores.ndim != 1 or scores.shape != positive.shape:
        raise WrongShape(f"auroc needs two vectors of one length; got {tuple(scores.shape)}, {tuple(positive.shape)}.")
    if positive.dtype != torch.bool or positive.all() or not positive.any():
        raise BadInput("auroc needs a bool vector with both positive and negative examples; got "
                       f"{positive.dtype} with {positive.sum().item()} positive of {len(positive)}.")
    _refuse_not_finite("scores", scores)


def _class_numbers(predicted: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    if predicted.ndim != 1 or predicted.shape != labels.shape or len(labels) == 0:
        raise WrongShape("predicted and true classes must be two vectors of one length >= 1; got "
                         f"{tuple(predicted.shape)} and {tuple(labels.shape)}. Logits need .argmax(1) first.")
    for numbers in (predicted, labels):
        if numbers.is_floating_point() or numbers.dtype == torch.bool or numbers.min() < 0:
            raise BadInput(f"classes are whole numbers >= 0; got {numbers.dtype} from {numbers.min().item()}.")
    return predicted.long(), labels.long()


def _pair(images: Tensor, originals: Tensor) -> None:
    if images.ndim != 2 or images.shape != originals.shape or images.numel() == 0:
        raise WrongShape("images and originals must both be (batch, pixels), batch >= 1; got "
                         f"{tuple(images.shape)} and {tuple(originals.shape)}.")
    if not images.is_floating_point() or images.dtype != originals.dtype:
        raise BadInput(f"images and originals must be floating point of one kind; got {images.dtype} and "
                       f"{originals.dtype}. Divide bytes by 255.")
    _refuse_not_finite("images", images)
    _refuse_not_finite("originals", originals)


def _several(images: Tensor) -> None:
    _pair(images, images)
    if len(images) < 2:
        raise WrongShape("how different the images of a set are needs at least two of them; got 1.")


def _fits(images: Tensor, shape: tuple[int, int, int]) -> None:
    if len(shape) != 3 or shape[0] not in (1, 3) or images.shape[1] != math.prod(shape):
        raise WrongShape(f"images of {images.shape[1]} pixels do not have the shape {shape}: (1 or 3 channels, height, "
                         "width).")


def _enough(images: Tensor, features: int) -> None:
    if images.ndim != 2:
        raise WrongShape(f"a set of images is (batch, pixels); got {tuple(images.shape)}.")
    if len(images) < TIMES_FEATURES * features:
        raise BadInput(f"a Frechet distance on {features} features needs at least {TIMES_FEATURES * features} images "
                       f"in each set, or its covariance means little; got {len(images)}.")
    _refuse_not_finite("images", images)


def _refuse_not_finite(what: str, values: Tensor) -> None:
    if not values.isfinite().all():
        raise BadValues(f"{what} hold {(~values.isfinite()).sum().item()} NaN or infinite entries of {values.numel()}. "
                        "Did a query diverge?")
