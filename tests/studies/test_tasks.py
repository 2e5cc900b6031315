"""The paper's tasks: paths joined from pieces, baselines by brute force, and what completion may look at."""

import pytest
import torch

from pcgraph_lite import PCGraph, observed, query, topology
from pcgraph_lite.baselines.autoencoder import Autoencoder
from pcgraph_lite.studies import tasks

GRAPH = PCGraph(topology.generative(10, [20], 784), "tanh")
IMAGES = torch.rand(4, 784, generator=torch.Generator().manual_seed(0))
KNOWN = torch.arange(784) < 392


def test_a_denoising_path_in_pieces_is_one_long_query():
    seen, energy = tasks.denoise_path(GRAPH, IMAGES, [2, 10, 25])           # 2: too few to tell whether it rests
    for steps, images in seen.items():
        whole = query(GRAPH, init={"pixels": IMAGES}, steps=steps, tolerance=None)
        torch.testing.assert_close(images, whole.values["pixels"].clamp(0, 1), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(energy, whole.energy, rtol=1e-4, atol=1e-4)
    assert torch.equal(tasks.denoise(GRAPH, IMAGES, 25), tasks.denoise_path(GRAPH, IMAGES, [25])[0][25])


def test_settling_steps_end_where_99_percent_of_the_way_is_done(monkeypatch: pytest.MonkeyPatch):
    """Of one image: so many steps are there and one less is not; of several: the mean. A first look changes nothing."""
    def way(image, steps):
        answer = query(GRAPH, {"pixels": observed(image, KNOWN)}, steps=steps, tolerance=None)
        lowest = tasks.completion(GRAPH, image, KNOWN).energy[-1]
        return float((answer.initial_energy - answer.energy[-1]) / (answer.initial_energy - lowest))

    alone = [tasks.settling_steps(GRAPH, image[None], KNOWN)[0] for image in IMAGES]
    for image, steps in zip(IMAGES, alone, strict=True):
        assert 1 < steps < 300 and way(image[None], int(steps) - 1) < 0.99 <= way(image[None], int(steps))
    assert tasks.settling_steps(GRAPH, IMAGES, KNOWN) == (pytest.approx(sum(alone) / len(alone), abs=1), 0)
    assert tasks.settling_steps(GRAPH, IMAGES, KNOWN, longest=2) == (2, 1)                # none is there yet
    whole = tasks.settling_steps(GRAPH, IMAGES, KNOWN, longest=400)
    for few in (2, int(whole[0]), 399):
        monkeypatch.setattr(tasks, "FEW", few)
        assert tasks.settling_steps(GRAPH, IMAGES, KNOWN, longest=400) == whole


def test_completion_keeps_what_is_known_and_ignores_what_is_not():
    for model in (GRAPH, Autoencoder(784, [8])):
        got = tasks.complete(model, IMAGES, KNOWN)
        assert torch.equal(got[:, KNOWN], IMAGES[:, KNOWN])
        assert torch.equal(got, tasks.complete(model, torch.where(KNOWN, IMAGES, 0.7), KNOWN))
    labels = torch.tensor([1, 2, 3, 4])
    assert not torch.equal(tasks.complete(GRAPH, IMAGES, KNOWN, labels), tasks.complete(GRAPH, IMAGES, KNOWN))
