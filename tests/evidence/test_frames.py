"""Trials of many models as frames and lines. Oracle: frames written out by hand, of trials made by hand."""

from types import SimpleNamespace

import pandas as pd
import pytest
import torch

from pcgraph_lite.studies.trials import DenoisingPath, Trial
from reproduction.evidence import frames


def made(**measures: list[float]) -> Trial:
    """A trial with these measures and no pictures worth looking at."""
    each = pd.DataFrame(measures)
    return Trial(torch.zeros(len(each), 1), torch.zeros(len(each)), each)


def test_means_and_images() -> None:
    """A key with a part that nobody named is refused."""
    found = {("mnist", "a", 0, "3/5"): made(error=[1.0, 2.0, 3.0, 6.0], agrees=[True, True, True, False])}
    assert frames.means(found, "pair").to_dict("records") == [
        {"dataset": "mnist", "model": "a", "seed": 0, "pair": "3/5", "n": 4, "error": 3.0, "agrees": 0.75}]
    each = frames.images(found, "pair")
    assert each["error"].tolist() == [1, 2, 3, 6] and set(each["pair"]) == {"3/5"}
    with pytest.raises(ValueError, match="zip"):
        frames.means(found)


def test_models_side_by_side() -> None:
    found = {("mnist", model, 5): made(mse=[error, 3 * error]) for error, model in enumerate(frames.FILTERS, start=1)}
    row = frames.beside(found, "mse", frames.FILTERS).iloc[0]
    assert (row["seed"], row["n"], row["box_mse"], row["wiener_mse"], row["linear_mse"]) == (5, 2, 2, 4, 6)


def test_memories() -> None:
    """Of an even number of errors the median is the lower of the two in the middle."""
    trial = made(mse=[0.0, 0.03, 0.1, 0.4], agrees=[True, True, False, False], converged=[True, True, False, True])
    found = frames.retrieved({("mnist", "a", 0): trial}).to_dict("records")[0]
    assert (found["n"], found["retrieved_share"], found["converged_share"], found["mse"]) == (4, 0.5, 0.75, 0.03)


def test_denoising_of_all_seeds_is_one_curve() -> None:
    some, other = (DenoisingPath([3, 10], psnr, torch.ones(2, 4), 0.0) for psnr in ([1.0, 2.0], [3.0, 4.0]))
    steps, psnr = frames.curve({("mnist", "a", 0): some, ("mnist", "a", 1): other, ("mnist", "b", 0): some},
                               "mnist", "a")
    assert steps == [3, 10] and psnr.tolist() == [[1, 3], [2, 4]]


def test_lines_of_all_seeds_side_by_side() -> None:
    lines = {("mnist", "a", s, "task"): torch.tensor([s, 2.0 * s]) for s in (3, 5)}
    assert frames.by_seed(lines)["mnist", "a", "task"].tolist() == [[3, 5], [6, 10]]
    histories = [pd.DataFrame({"validation": values}) for values in ([0.5, 0.75, 1], [0.25, 0.5])]
    models = {("mnist", "a", s): SimpleNamespace(history=history) for s, history in enumerate(histories)}
    epochs, values = frames.epochs(models, "mnist", "a")                   # as far as all have come
    assert list(epochs) == [1, 2] and values.tolist() == [[50, 25], [75, 50]]
