"""The base class of baselines, the registry of their names (``kind`` in settings files), and their usual training."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from .. import valid
from ..engine.epochs import Callback, Schedule, State, run
from ..engine.scale import unscaled
from ..errors import BadInput, shown
from ..precision import Exact

Labelled = tuple[Tensor, Tensor]                                           # images (count, pixels), labels (count,)


class Baseline(Exact, ABC):
    """A model of images ``(count, pixels)`` in [0, 1] with class numbers ``(count,)``, which it may ignore.

    A model that learns by batches has ``learn(images, labels, state)``, which sets the gradients of a batch and returns
    the numbers whose means go into the history.
    """

    pixels: int
    labels: int | None = None
    learn: Callable[[Tensor, Tensor, State], dict[str, float]]

    def prepare(self, images: Tensor, labels: Tensor) -> None:
        """Read the training images once before the first epoch."""

    @abstractmethod
    def score(self, data: Labelled) -> float:
        """The score of validation images; larger is better."""

    def check(self, data: Any) -> Labelled:
        """Images with a class number for each, as tensors. Raises WrongShape, BadValues, BadInput."""
        if not isinstance(data, list | tuple) or len(data) != 2:
            raise BadInput(f"the data is {shown(data)}; expected (images, labels), two tensors or arrays.")
        images = unscaled(data[0], pixels=self.pixels).detach()
        return images, valid.labels(data[1], count=len(images), classes=self.labels)


class Classifier(Baseline):
    """A model that answers with the class of the largest score."""

    labels: int

    @abstractmethod
    def scores(self, images: Tensor) -> Tensor:
        """``(batch, pixels)`` in [0, 1] to ``(batch, labels)``."""

    @valid.checked
    @torch.no_grad()
    def classify(self, images: Tensor) -> Tensor:
        """``(batch, pixels)`` to class numbers ``(batch,)``. Raises WrongShape, BadValues."""
        return self.scores(unscaled(images, pixels=self.pixels)).argmax(-1)

    def score(self, data: Labelled) -> float:
        """Share of images whose class the model answers."""
        right = [(self.classify(part).cpu() == truth.cpu()).double() for part, truth in
                 zip(*(some.split(1000) for some in self.check(data)), strict=True)]
        return float(torch.cat(right).mean())


def with_labels(images: Tensor, labels: Tensor, classes: int) -> Tensor:
    """Pixels and one-hot labels side by side, ``(count, pixels + classes)``: the sensory vertices of section 3."""
    return torch.cat([images, one_hot(labels, classes).to(images)], -1)


@dataclass(frozen=True)
class Kind:
    """How a baseline is made and trained, and whose signatures say what settings it has.

    Args:
        make: its arguments are the model's settings, except those in ``given`` and the generator.
        fit: trains in place.
        training: its arguments are the settings of the training; ``fit`` itself, or the dataclass that it fills.
        given: arguments of ``make`` that the data set decides.
        without: arguments of ``training`` that this training does not use.
    """

    make: type[Baseline]
    fit: Callable[..., pd.DataFrame]
    training: Callable[..., object]
    given: Sequence[str] = ("shape", "pixels", "labels")
    without: Sequence[str] = ()


KINDS: dict[str, Kind] = {}


def by_epochs(name: str, make: type[Baseline], training: type[Schedule] = Schedule, *,
              given: Sequence[str] = Kind.given, without: Sequence[str] = ()) -> Callable[..., pd.DataFrame]:
    """Register a model that learns batch by batch, and return its ``fit``."""

    def fit(model: Baseline, images: Tensor, labels: Tensor, *, validation: Labelled | None = None,
            checkpoint: Path | str | None = None, generator: torch.Generator | None = None, progress: bool = True,
            callback: Callback | None = None, **settings: Annotated[Any, training]) -> pd.DataFrame:
        """Train in place. With validation images, keep the epoch with their best score.

        Args:
            images, labels: ``(count, pixels)`` in [0, 1] and ``(count,)`` class numbers.
            checkpoint: file that holds the whole state as of ``epochs.State.end_epoch``; an existing one is resumed.
            generator: shuffles the images and makes all other draws. None: a new one seeded with 0.
            callback: called with the model and the row of each epoch as it ends.
            settings: fields of the schedule.

        Returns:
            One row an epoch, of epoch, the means of what ``learn`` returns, seconds and validation.

        Raises:
            WrongShape, BadValues, BadInput: data or settings that do not fit. BadFile: a damaged checkpoint.
        """
        if unused := sorted(settings.keys() & set(without)):
            raise BadInput(f"{unused[0]} = {shown(settings[unused[0]])} has no effect on the training of {name!r}; "
                           "leave it out.")
        schedule = training(**settings)
        images, labels = model.check((images, labels))
        validation = None if validation is None else model.check(validation)
        model.prepare(images, labels)
        state = State(model, schedule, generator or torch.Generator().manual_seed(0), checkpoint,
                      {name: _described(model)}, data=[images, labels, *(validation or ())])
        return run(state, len(images), lambda rows: model.learn(state.augmented(images[rows]), labels[rows], state),
                   None if validation is None else lambda: model.score(validation), progress, callback)

    but = f", but not {' and '.join(without)}" if without else ""
    fit.__doc__ = (fit.__doc__ or "").replace("fields of the schedule", f"fields of {training.__name__}{but}")
    fit.__name__ = fit.__qualname__ = f"fit_{name.replace('-', '_')}"
    fit.__module__ = make.__module__
    KINDS[name] = Kind(make, valid.checked(fit), training, given, without)
    return KINDS[name].fit


def in_one_row(model: Baseline, row: dict[str, float], callback: Callback | None) -> pd.DataFrame:
    """The history of a training that has no epochs: one row, which the callback is told."""
    if callback is not None:
        callback(model, dict(row))
    return pd.DataFrame([row])


def _described(model: Baseline) -> dict[str, object]:
    """What a checkpoint says of its model: the plain attributes, and the shapes of the parameters."""
    plain = {key: value for key, value in vars(model).items() if isinstance(value, int | float | str)}
    return plain | {key: list(parameter.shape) for key, parameter in model.named_parameters()}
