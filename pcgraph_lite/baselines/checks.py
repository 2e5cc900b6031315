"""What every classifier of this folder is, what it asks of its data, and how its accuracy is measured."""

import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot

from .. import valid
from ..errors import BadInput, shown

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
        valid.images(images, pixels=self.pixels)
        return self.scores(images).argmax(-1)


def check_training(model: Classifier, data: Labelled, validation: Labelled | None) -> None:
    """Raise WrongShape, BadValues or BadInput unless both are images with a class number for each."""
    for pair in (data,) if validation is None else (data, validation):
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise BadInput(f"the data is {shown(pair)}; expected (images, labels).")
        images, labels = pair
        valid.labels(labels, count=len(valid.images(images, pixels=model.pixels)), classes=model.labels)


def with_labels(images: Tensor, labels: Tensor, classes: int) -> Tensor:
    """Pixels and one-hot labels side by side, ``(count, pixels + classes)``: the sensory vertices of section 3."""
    return torch.cat([images, one_hot(labels, classes).to(images)], -1)


def classifier_accuracy(model: Classifier, data: Labelled, batch_size: int = 1000) -> float:
    """Share of images whose class the model names rightly."""
    images, labels = data
    check_training(model, data, None)
    right = [(model.classify(part).cpu() == truth.cpu()).double()
             for part, truth in zip(images.split(batch_size), labels.split(batch_size), strict=True)]
    return float(torch.cat(right).mean())
