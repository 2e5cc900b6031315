"""Trials of many models, by keys ``(dataset, model, seed, ...)``, as data frames and as lines for curves."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import torch
from torch import Tensor

from pcgraph_lite.studies.trials import DenoisingPath, Key, Trial

KEYS = ("dataset", "model", "seed")
FILTERS = {"box filter": "box", "Wiener filter": "wiener", "best linear map": "linear"}   # -> names in records


def means(trials: Mapping[Key, Trial], *more: str) -> pd.DataFrame:
    """One row per trial: the parts of its key (dataset, model, seed, and those named in ``more``), n, and means."""
    return frame({key: {"n": len(trial.each)} | trial.means() for key, trial in trials.items()}, *more)


def retrieved(trials: Mapping[Key, Trial], *more: str) -> pd.DataFrame:
    """``means`` for trials of memories: n, retrieved_share, mse (the lower median) and converged_share."""
    return frame({key: {"n": len(trial.each), "retrieved_share": trial.each["agrees"].mean(),
                        "mse": trial.each["mse"].quantile(interpolation="lower"),
                        "converged_share": trial.each["converged"].mean()} for key, trial in trials.items()}, *more)


def beside(trials: Mapping[Key, Trial], measure: str, names: Mapping[str, str], *more: str) -> pd.DataFrame:
    """One row per data set and seed: n, and for each model the mean of a measure as ``<name>_<measure>``."""
    table = means(trials, *more).pivot(index=["dataset", "seed", *more, "n"], columns="model", values=measure)
    return table.rename(columns={model: f"{name}_{measure}" for model, name in names.items()}).reset_index()


def images(trials: Mapping[Key, Trial], *more: str) -> pd.DataFrame:
    """One row per image of every trial: the parts of the trial's key, and the measures."""
    return pd.concat([trial.each.assign(**dict(zip((*KEYS, *more), key, strict=True)))
                      for key, trial in trials.items()], ignore_index=True)


def frame(values: Mapping[Key, dict[str, Any]], *more: str) -> pd.DataFrame:
    """One row per entry: the parts of its key, and its values by name."""
    return pd.DataFrame([dict(zip((*KEYS, *more), key, strict=True)) | row for key, row in values.items()])


def curve(paths: Mapping[Key, DenoisingPath], name: str, model: str) -> tuple[Sequence[int], Tensor]:
    """Steps and PSNR ``(steps, seeds)`` of one model's paths, as ``plots.curves`` draws them."""
    mine = [path for key, path in paths.items() if key[:2] == (name, model)]
    return mine[0].steps, torch.tensor([path.psnr for path in mine]).T


def epochs(models: Mapping[Key, Any], name: str, model: str) -> tuple[Sequence[int], Tensor]:
    """Epochs, and accuracy on held-out images in per cent ``(epochs, seeds)``, for all seeds of one model."""
    mine = [torch.tensor(t.history["validation"].to_numpy()) for key, t in models.items() if key[:2] == (name, model)]
    shortest = min(map(len, mine))
    return range(1, shortest + 1), 100 * torch.stack([line[:shortest] for line in mine], -1)


def by_seed(lines: Mapping[Key, Tensor]) -> dict[Key, Tensor]:
    """Lines ``(positions,)`` of all seeds stacked as ``(positions, seeds)``, by keys without the seed."""
    groups: dict[Key, list[Tensor]] = {}
    for (name, model, _, *more), line in lines.items():
        groups.setdefault((name, model, *more), []).append(line)
    return {key: torch.stack(parts, -1) for key, parts in groups.items()}
