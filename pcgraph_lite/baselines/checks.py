"""What every classifier of this folder is, what it asks of its data, and how its accuracy is measured."""

import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot

from ..errors import BadInput, BadValues, WrongShape

Labelled = tuple[Tensor, Tensor]                                           # images (count, pixels), labels (count,)


class Classifier(nn.Module):
    """A model that names the class of an image: the one with the largest score."""

    pixels: int
    labels: int

    def scores(self, images: Tensor) -> Tensor:
        """``(batch, pixels)`` in [0, 1] to ``(batch, labels)``."""
        raise NotImplementedError

    @torch.no_grad()
    def classify(self, images: Tensor) -> Tensor:
        """``(batch, pixels)`` to class numbers ``(batch,)``. Raises WrongShape, BadValues."""
        check_images(images, self.pixels)
        return self.scores(images).argmax(-1)


def check_images(images: Tensor, pixels: int) -> None:
    """Raise WrongShape or BadValues unless images are ``(count, pixels)`` and finite."""
    if images.ndim != 2 or images.shape[-1] != pixels or not len(images):
        raise WrongShape(f"images are {tuple(images.shape)}; expected (count, {pixels}) with a count of at least 1.")
    if not torch.isfinite(images).all():
        raise BadValues("the images hold NaN or infinite entries; clean the data first.")


def check_training(model: Classifier, data: Labelled, validation: Labelled | None) -> None:
    """Raise WrongShape, BadValues or BadInput unless both are images with a class number for each."""
    for images, labels in (data,) if validation is None else (data, validation):
        check_images(images, model.pixels)
        if labels.shape != images.shape[:1] or labels.is_floating_point() or labels.dtype == torch.bool:
            raise WrongShape(f"labels are {tuple(labels.shape)} {labels.dtype}; expected {len(images)} whole numbers.")
        low, high = int(labels.min()), int(labels.max())
        if not 0 <= low <= high < model.labels:
            raise BadInput(f"labels run from {low} to {high}; expected 0 to {model.labels - 1}.")


def check_unit_range(images: Tensor) -> None:
    """Raise BadInput unless all pixels lie from 0 to 1: they stand for probabilities."""
    if images.min() < 0 or images.max() > 1:
        raise BadInput(f"pixels run from {float(images.min()):.3g} to {float(images.max()):.3g}; expected 0 to 1.")


def with_labels(images: Tensor, labels: Tensor, classes: int) -> Tensor:
    """Pixels and one-hot labels side by side, ``(count, pixels + classes)``: the sensory vertices of section 3."""
    return torch.cat([images, one_hot(labels, classes).to(images)], -1)


def classifier_accuracy(model: Classifier, data: Labelled, batch_size: int = 1000) -> float:
    """Share of images whose class the model names rightly."""
    images, labels = data
    right = [(model.classify(part).cpu() == truth.cpu()).double()
             for part, truth in zip(images.split(batch_size), labels.split(batch_size), strict=True)]
    return float(torch.cat(right).mean())
