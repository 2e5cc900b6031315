"""Trials: what is asked is the task itself, what is measured is read off images made by hand. Oracles: the tasks called
by hand; a judge that sees the class where the test put it; frames written out."""

import math
from dataclasses import replace

import pytest
import torch
from pictures import seeded
from torch import Tensor, nn

from pcgraph_lite import PCGraph, topology
from pcgraph_lite.baselines import rivals
from pcgraph_lite.baselines.autoencoder import Autoencoder
from pcgraph_lite.baselines.mlp import MLP
from pcgraph_lite.errors import BadInput
from pcgraph_lite.images import datasets, metrics
from pcgraph_lite.images.datasets import ImageSet
from pcgraph_lite.studies import memory, tasks, trials

LABELS = torch.tensor([3, 5, 3, 8])
IMAGES = torch.rand(4, 784, generator=seeded())
IMAGES[:, :10] = torch.eye(10)[LABELS]                                     # the first ten pixels say the class
TEST = ImageSet("mnist", IMAGES, LABELS, (1, 28, 28), "made by hand")
KNOWN = datasets.top_half((1, 28, 28))
GRAPH = PCGraph(topology.generative(10, [20], 784), "tanh")


class Reader(nn.Linear):
    """Sees the class that the first ten pixels say."""

    def __init__(self) -> None:
        super().__init__(1, 1)

    def forward(self, images: Tensor) -> Tensor:
        return images.flatten(1)[:, :10]


CASE = trials.Case(TEST, TEST, Reader())


def test_completion_is_the_task_and_its_measures() -> None:
    """Of the missing half alone; the known ten pixels tell the judge the class, or, held, another than was asked."""
    for model in (GRAPH, Autoencoder(784, [8])):
        trial = trials.complete(model, CASE, KNOWN)
        assert torch.equal(trial.images, tasks.complete(model, IMAGES, KNOWN))
        assert trial.each["mse"].tolist() == metrics.mse(trial.images[:, ~KNOWN], IMAGES[:, ~KNOWN]).tolist()
        assert trial.read.tolist() == LABELS.tolist() and trial.each["agrees"].all()
    held = torch.tensor([3, 3, 3, 3])
    asked = trials.complete(GRAPH, CASE, KNOWN, held)
    assert torch.equal(asked.images, tasks.complete(GRAPH, IMAGES, KNOWN, held))
    assert asked.each["agrees"].tolist() == [True, False, True, False]
    with pytest.raises(BadInput, match="an autoencoder has no labels"):
        trials.complete(model, CASE, KNOWN, held)


def test_measures_look_at_the_right_pixels() -> None:
    """The lower half is off by a tenth: 10 log10(1 / 0.005) dB over all."""
    changed = torch.where(KNOWN, IMAGES, IMAGES + 0.1)
    whole = trials.whole(changed, CASE).each
    assert trials.part(changed, CASE, KNOWN).each["mse"].tolist() == pytest.approx([0.01] * 4, rel=1e-3)
    assert whole["mse"].tolist() == pytest.approx([0.005] * 4, rel=1e-3)
    assert whole["psnr"].tolist() == pytest.approx([23.01] * 4, rel=1e-3)


def test_denoising_and_drawing_are_the_tasks() -> None:
    noisy = CASE.noisy(0.5, seed=2)
    assert torch.equal(noisy, datasets.noisy(IMAGES, 0.5, datasets.noise_generator(2)))
    trial = trials.denoise(GRAPH, CASE, noisy, 7)
    assert torch.equal(trial.images, tasks.denoise(GRAPH, noisy, 7))
    assert trial.each["psnr"].tolist() == metrics.psnr(trial.images, IMAGES).tolist()
    drawn = trials.draw(GRAPH, CASE)
    assert torch.equal(drawn.images, tasks.generate(GRAPH, torch.arange(10)).values["pixels"].clamp(0, 1))
    assert drawn.each["agrees"].tolist() == (drawn.read == torch.arange(10)).tolist()


def test_a_path_finds_the_best_step_of_the_task() -> None:
    path = trials.path(GRAPH, TEST, 0.5, 1, [3, 10, 25])
    noisy = datasets.noisy(IMAGES, 0.5, datasets.noise_generator(1, "held-out"))
    seen = tasks.denoise_path(GRAPH, noisy, [3, 10, 25])[0]
    assert path.best == max(seen, key=lambda k: metrics.psnr(seen[k], IMAGES).mean())
    plain = trials.path(Autoencoder(784, [8]), TEST, 0.5, 1, [3])
    assert plain.best == 0 and math.isnan(plain.rested)                    # a mean over no steps


def test_energy_at_rest_is_told_from_falling() -> None:
    """By hand, over ten steps and more: halved each step, at rest for eleven values, for ten only; then a short one."""
    steps = torch.arange(30)
    lines = [2.0**-steps, (steps < 19) + 1.0, (steps < 20) + 1.0]
    assert trials.DenoisingPath([30], [0.0], torch.stack(lines, 1), 0.0).rested == pytest.approx(1 / 3)
    assert trials.DenoisingPath([2], [0.0], torch.ones(2, 4), 0.0).rested == 1


def test_simple_rivals_are_fitted_on_training_images() -> None:
    """Ridge regression: on nine tenths of them, the penalty best on the last tenth. Filters: the same call by hand."""
    train = datasets.load("mnist", "train", sample=True).subset(100, torch.Generator().manual_seed(0))
    about, kept = replace(CASE, train=train), torch.arange(100) % 10 == 0
    ridge = rivals.ridge(train.images[~kept], train.images[kept], KNOWN)
    assert torch.equal(trials.rivals(about, KNOWN)["ridge regression"].images,
                       rivals.complete_with(ridge, IMAGES, KNOWN))
    found = trials.filtered(about, 0.3, [2, 5])
    assert list(found) == [("mnist", kind, s) for kind in trials.FILTERS for s in (2, 5)]
    by_hand = {"box filter": lambda x: rivals.box_filter(x, (1, 28, 28)),
               "Wiener filter": rivals.wiener_filter(train.images, 0.3, (1, 28, 28)),
               "best linear map": rivals.best_linear(train.images, 0.3)}
    for (_, kind, s), trial in found.items():
        assert torch.equal(trial.images, by_hand[kind](about.noisy(0.3, s)))
    assert list(trials.filtered(about, 0.3, [2], ["box filter"])) == [("mnist", "box filter", 2)]


def test_a_memory_comes_back_strictly_below_the_threshold() -> None:
    """Errors made by hand: a constant offset d has the mean squared error d^2, also where the nearest is another."""
    memories = torch.zeros(4, 784, dtype=torch.float64) + torch.tensor([0, 0.2, 0.4, 0.6])[:, None]
    offsets = torch.tensor([0, 0.03, memory.RETRIEVED**0.5 + 1e-6, 0.2], dtype=torch.float64)
    recall = memory.Recall(memories - offsets[:, None], {}, torch.zeros(2, 4),
                           torch.tensor([True, True, False, True]), 1, None)
    trial = trials.recalled(recall, memories)
    assert trial.each["agrees"].tolist() == [True, True, False, False] and trial.read.tolist() == [0, 1, 2, 2]


def test_classes_are_those_of_the_task() -> None:
    """A graph's are read off its query, a baseline's are its own; how the graph is asked can be said."""
    for settings in ({}, {"steps": 5}):
        answer = tasks.classify(GRAPH, IMAGES, **settings)
        trial = trials.classify(GRAPH, TEST, **settings)
        assert torch.equal(trial.read, answer.values["labels"].argmax(-1))
        assert trial.each["agrees"].tolist() == (trial.read == LABELS).tolist()
        assert trial.each["energy"].tolist() == answer.energy[-1].tolist()
    network = MLP(784, 10, [8])
    assert torch.equal(trials.classify(network, TEST).read, network.classify(IMAGES))


def test_parts_of_a_trial_trials_side_by_side_and_images_of_some_classes() -> None:
    assert sorted(CASE.of_classes([3, 5], 9).test.labels.tolist()) == [3, 3, 5]
    assert len(CASE.of_classes([3, 5], 2).test) == 2
    assert {CASE.of_classes([3, 5], 1, seed).test.labels.item() for seed in range(9)} == {3, 5}
    trial = trials.whole(IMAGES, CASE)
    some = trial.of(LABELS == 3)
    assert torch.equal(some.images, IMAGES[[0, 2]]) and some.read.tolist() == [3, 3] and len(some.each) == 2
    both = trials.joined(part for part in (some, trial.of(slice(1))))
    assert torch.equal(both.images, IMAGES[[0, 2, 0]]) and both.read.tolist() == [3, 3, 3] and len(both.each) == 3
