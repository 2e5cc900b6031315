"""The registry of baselines: what settings files can name as a ``kind``."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pandas as pd
from torch import nn


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
    given: Sequence[str]
    without: Sequence[str]


KINDS: dict[str, Kind] = {}


def baseline(name: str, make: type[nn.Module], training: Callable[..., object] | None = None,
             given: Sequence[str] = ("shape", "pixels", "labels"),
             without: Sequence[str] = ()) -> Callable[[Callable], Callable]:
    """Let settings files say ``kind: name`` for what this decorator's function trains."""
    def register(fit: Callable[..., pd.DataFrame]) -> Callable[..., pd.DataFrame]:
        KINDS[name] = Kind(make, fit, training or fit, given, without)
        return fit
    return register
