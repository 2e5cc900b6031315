"""What the tests of classifiers share: images whose class is plain to see, and what every training on them must do."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
import torch
from torch import nn

from pcgraph_lite.baselines.kinds import Classifier
from pcgraph_lite.errors import BadFile

Fit = Callable[..., pd.DataFrame]


def bars(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Three bars with noise on 12 pixels, and which one it is; other images for another count."""
    generator, labels = torch.Generator().manual_seed(count), torch.arange(count) % 3
    return (0.8 * torch.eye(3).repeat_interleave(4, 1)[labels] + 0.2 * torch.rand(count, 12, generator=generator),
            labels)


def share_right(model: Classifier, data: tuple[torch.Tensor, torch.Tensor]) -> float:
    """Share of images whose class the model names."""
    return float((model.classify(data[0]) == data[1]).double().mean())


def fit_bars(fit: Fit, model: nn.Module, **change: object) -> pd.DataFrame:
    """Train on 40 bars, with other arguments where they are given."""
    images, labels = bars(40)
    return fit(model, **{"images": images, "labels": labels, "progress": False} | change)


def check_resuming(fit: Fit, build: Callable[..., nn.Module], other: dict[str, object], path: Path,
                   **settings: object) -> None:
    """A training taken up from its checkpoint ends where one run does; a model with ``other`` settings is refused."""
    settings |= {"batch_size": 15}
    first, second = build(), build()
    fit_bars(fit, first, epochs=2, checkpoint=path, **settings)
    fit_bars(fit, first, epochs=4, checkpoint=path, **settings)
    fit_bars(fit, second, epochs=4, **settings)
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))
    with pytest.raises(BadFile, match="another training"):
        fit_bars(fit, build(**other), checkpoint=path, **settings)
