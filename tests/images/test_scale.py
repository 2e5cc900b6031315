"""Oracles: the moments of the data, and a linear graph of doubled pixels, which is the same graph. That queries scale
pixels and undo it is in ``engine/test_pixel_scale.py``."""

import pytest
import torch

from pcgraph_lite import PCGraph, Scale, topology
from pcgraph_lite.engine.scale import MOMENTS
from pcgraph_lite.images import datasets, sources
from pcgraph_lite.images import scale as scales
from pcgraph_lite.studies import memory, tasks

IMAGES = torch.rand(6, 784, generator=torch.Generator().manual_seed(0))
KNOWN = torch.arange(784) < 392


@pytest.mark.parametrize(("name", "low", "high"), [("[0, 1]", 0, 1), ("[-1, 1]", -1, 1), ("[-2, 2]", -2, 2)])
def test_a_range_is_what_its_name_says(name, low, high):
    assert scales.named(name).apply(torch.tensor([0.0, 1.0])).tolist() == [low, high]


@pytest.mark.parametrize("data", MOMENTS)
def test_standardized_pixels_have_mean_0_and_deviation_1(data):
    """Over all training images where they are here, else over the sample."""
    try:
        pixels, slack = datasets.load(data).images, 1e-3
    except sources.NotFound:
        if data not in datasets.SAMPLES:
            pytest.skip(f"{data} is not here")
        pixels, slack = datasets.load(data, sample=True).images, 0.05
    deviation, mean = torch.std_mean(scales.named("standardized", data).apply(pixels))
    assert float(mean) == pytest.approx(0, abs=slack)
    assert float(deviation) == pytest.approx(1, abs=slack)


def test_a_linear_graph_is_the_same_on_any_range_around_nothing():
    """Pixels twice as large in a linear graph: every value is twice as large, so the pictures are the same."""
    plain, doubled = (PCGraph(topology.generative(10, [20], 784), "linear", pixel_scale=units)
                      for units in (scales.named("[0, 1]"), Scale("twice", 0.0, 0.5)))
    for act in (lambda g: tasks.denoise(g, IMAGES, 20), lambda g: tasks.complete_by_start(g, IMAGES, KNOWN, 20),
                lambda g: tasks.complete(g, IMAGES, KNOWN), lambda g: memory.from_start(g, IMAGES, [5, 20]).images,
                lambda g: memory.run_on(g, memory.from_start(g, IMAGES, [10]), 20).images,
                lambda g: memory.from_part(g, IMAGES, KNOWN, 40).images):
        torch.testing.assert_close(act(doubled), act(plain), rtol=1e-4, atol=1e-5)
