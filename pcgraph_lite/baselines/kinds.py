"""The registry of baselines, what settings files can name as a ``kind``, and the training that most of them share."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import torch
from torch import Tensor, nn

from .. import valid
from ..engine.epochs import Schedule, State, one_pass, run
from .checks import Classifier, Labelled, check_training, classifier_accuracy


@dataclass(frozen=True)
class Kind:
    """How a baseline is made and trained, and whose signatures say what settings it has.

    Args:
        make: its arguments are the model's settings, but for those in ``given`` and the generator.
        fit: trains in place.
        training: its arguments are the settings of the training; ``fit`` itself, or the dataclass that it fills.
        given: arguments of ``make`` that the data set decides.
        without: arguments of ``training`` that this training has no use for.
    """

    make: type[nn.Module]
    fit: Callable[..., pd.DataFrame]
    training: Callable[..., object]
    given: Sequence[str] = ("shape", "pixels", "labels")
    without: Sequence[str] = ()


KINDS: dict[str, Kind] = {}


class Learner(Classifier):
    """A classifier that learns batch by batch."""

    def prepare(self, images: Tensor, labels: Tensor) -> None:
        """Look at the training images once before the first epoch."""

    def learn(self, images: Tensor, labels: Tensor, state: State) -> dict[str, float]:
        """Leave the gradients of one batch at the parameters; return what the history shall hold the mean of."""
        raise NotImplementedError


@dataclass(frozen=True)
class Fit:
    """The training of a learner by epochs, as a function; ``name`` is that of its kind."""

    name: str
    training: type[Schedule]

    @valid.checked
    def __call__(self, model: Learner, images: Tensor, labels: Tensor, *, validation: Labelled | None = None,
                 checkpoint: Path | None = None, generator: torch.Generator | None = None, progress: bool = True,
                 **settings: object) -> pd.DataFrame:
        """Train in place; with validation images the epoch with the best accuracy on them is kept.

        Args:
            images, labels: ``(count, pixels)`` in [0, 1] and ``(count,)`` class numbers.
            checkpoint: file that holds the whole state after each epoch; an existing one is resumed.
            generator: shuffles the images, and draws what is drawn. None: a new one seeded with 0.
            settings: fields of the schedule.

        Returns:
            one row an epoch: epoch, the means of what ``learn`` returns, seconds, validation.

        Raises:
            WrongShape, BadValues, BadInput: data or settings that do not fit. BadFile: a damaged checkpoint.
        """
        schedule = self.training(**settings)
        check_training(model, (images, labels), validation)
        model.prepare(images, labels)
        state = State(model, schedule, generator or torch.Generator().manual_seed(0), checkpoint, self._facts(model),
                      data=[images, labels, *(validation or ())])

        def epoch() -> dict[str, float]:
            return one_pass(state, len(images), lambda rows: model.learn(images[rows], labels[rows], state), progress)

        score = None if validation is None else lambda: classifier_accuracy(model, validation)
        return run(state, epoch, score, progress)

    def _facts(self, model: Learner) -> dict[str, object]:
        """What the model is, for the fingerprint of its checkpoint: numbers, names, and the shapes of its weights."""
        plain = {name: value for name, value in vars(model).items() if isinstance(value, int | float | str)}
        return {self.name: plain | {name: list(p.shape) for name, p in model.named_parameters()}}


def by_epochs(name: str, make: type[Learner], training: type[Schedule] = Schedule, without: Sequence[str] = ()) -> Fit:
    """Register a model that learns batch by batch, and return its ``fit``."""
    fit = Fit(name, training)
    KINDS[name] = Kind(make, fit, training, without=without)
    return fit
