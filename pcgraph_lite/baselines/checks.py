"""What every classifier of this folder asks of its data, and how its accuracy is measured."""

from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from ..errors import BadInput, BadValues, WrongShape

Labelled = tuple[Tensor, Tensor]                                           # images (count, pixels), labels (count,)


class Classifier(Protocol):
    """A model that names the class of an image."""

    def classify(self, images: Tensor) -> Tensor:
        """``(batch, pixels)`` to class numbers ``(batch,)``."""


def check_images(images: Tensor, pixels: int) -> None:
    """Raise WrongShape or BadValues unless images are ``(count, pixels)`` and finite."""
    if images.ndim != 2 or images.shape[-1] != pixels or not len(images):
        raise WrongShape(f"images are {tuple(images.shape)}; expected (count, {pixels}) with a count of at least 1.")
    if not torch.isfinite(images).all():
        raise BadValues("the images hold NaN or infinite entries; clean the data first.")


def check_labelled(data: Labelled, pixels: int, classes: int) -> None:
    """Raise WrongShape, BadValues or BadInput unless ``data`` is images with a class number for each."""
    images, labels = data
    check_images(images, pixels)
    if labels.shape != images.shape[:1] or labels.is_floating_point() or labels.dtype == torch.bool:
        raise WrongShape(f"labels are {tuple(labels.shape)} {labels.dtype}; expected {len(images)} whole numbers.")
    if not 0 <= int(labels.min()) <= int(labels.max()) < classes:
        raise BadInput(f"labels run from {int(labels.min())} to {int(labels.max())}; expected 0 to {classes - 1}.")


def check_training(data: Labelled, validation: Labelled | None, pixels: int, classes: int) -> None:
    """``check_labelled`` for what a model is trained on and, where there is any, what it is validated on."""
    for part in (data,) if validation is None else (data, validation):
        check_labelled(part, pixels, classes)


def check_unit_range(images: Tensor) -> None:
    """Raise BadInput unless all pixels lie from 0 to 1: they stand for probabilities."""
    if images.min() < 0 or images.max() > 1:
        raise BadInput(f"pixels run from {float(images.min()):.3g} to {float(images.max()):.3g}; expected 0 to 1.")


def with_labels(data: Labelled, classes: int) -> Tensor:
    """Pixels and one-hot labels side by side, ``(count, pixels + classes)``: the sensory vertices of section 3."""
    images, labels = data
    return torch.cat([images, one_hot(labels, classes).to(images)], -1)


def classifier_accuracy(model: Classifier, data: Labelled, batch_size: int = 1000) -> float:
    """Share of images whose class the model names rightly."""
    images, labels = data
    right = [(model.classify(part).cpu() == truth.cpu()).double()
             for part, truth in zip(images.split(batch_size), labels.split(batch_size), strict=True)]
    return float(torch.cat(right).mean())


def scorer(model: Classifier, validation: Labelled | None) -> Callable[[], float] | None:
    """What ``epochs.run`` asks for: the accuracy on validation images as they are now. None: there are none."""
    return None if validation is None else lambda: classifier_accuracy(model, validation)
