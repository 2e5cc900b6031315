"""Memories. Oracles: linear solves and projections, weights that store exactly, plain queries, counting by hand."""

import pytest
import torch

from pcgraph_lite import PCGraph, topology
from pcgraph_lite.images import datasets, metrics, scale
from pcgraph_lite.studies import memory, oracles

PIXELS, INTERNAL, COUNT = 40, 10, 6


def stored(activation: str = "linear", internal: float = 0.5) -> tuple[PCGraph, torch.Tensor]:
    """A float64 graph whose weights are solved so that ``COUNT`` random patterns have no energy; and the patterns."""
    values = torch.rand(COUNT, PIXELS + INTERNAL, dtype=torch.float64)
    values[:, PIXELS:] *= internal
    graph = PCGraph(topology.fully_connected(PIXELS, 0, INTERNAL), activation, dtype=torch.float64)
    graph.set_weight(oracles.storing_weight(values, activation))
    return graph, values


def noisy(values: torch.Tensor, seed: int = 1) -> torch.Tensor:
    return datasets.noisy(values[:, :PIXELS], 0.2, torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("activation", ["linear", "hardtanh", "tanh", "relu", "sigmoid"])
def test_solved_weights_store_every_pattern(activation: str):
    graph, values = stored(activation)
    assert float(graph.energy(values).max()) < 1e-20


def test_solved_weights_are_the_smallest():
    """Column by column torch's own least squares (gelsd) on all other vertices, which gives the smallest norm."""
    _, values = stored()
    weight = oracles.storing_weight(values, "linear")
    for i in (0, 7, 49):
        others = torch.arange(values.shape[1]) != i
        best = torch.linalg.lstsq(values[:, others], values[:, i:i + 1], driver="gelsd").solution[:, 0]
        torch.testing.assert_close(weight[others, i], best, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("known", [20, 3])
def test_a_part_is_completed_as_the_linear_solution_says(known: int):
    """With more known pixels than patterns the answer is the pattern; with fewer it is not, and the solve agrees."""
    graph, values = stored(internal=0.0)
    part = torch.arange(PIXELS) < known
    clamped = torch.cat([part, torch.zeros(INTERNAL, dtype=torch.bool)])
    expected, unique = oracles.linear_solution(graph, values.clone(), clamped)
    assert unique == (known >= COUNT)
    recall = memory.from_part(graph, values[:, :PIXELS], part)
    assert recall.converged.all() and recall.steps == len(recall.energy) - 1
    if unique:
        torch.testing.assert_close(recall.images, values[:, :PIXELS], rtol=0, atol=1e-3)
        torch.testing.assert_close(expected, values, rtol=0, atol=1e-8)
    assert (metrics.mse(recall.images, values[:, :PIXELS]) < memory.RETRIEVED).all() == unique


@pytest.mark.parametrize("name", ["[0, 1]", "[-1, 1]"])
def test_a_linear_graph_takes_noise_to_the_span_of_the_memories(name: str):
    """All combinations of stored patterns have no energy, so descent ends on the nearest one: the projection."""
    (graph, values), units = stored(internal=0.0), scale.named(name)
    graph.pixel_scale = units
    seen, start = values[:, :PIXELS], units.undo(noisy(values))
    recall = memory.run_on(graph, memory.from_start(graph, start, [200]), 800)
    projected = units.undo(units.apply(start) @ torch.linalg.pinv(seen) @ seen)
    torch.testing.assert_close(memory.on_the_span(units.undo(seen), start, units), projected, rtol=0, atol=1e-10)
    torch.testing.assert_close(recall.images, projected.clamp(0, 1), rtol=0, atol=1e-3)
    assert recall.converged.all() and recall.steps == 1000


def test_noise_of_one_variance_in_two_units():
    """On [-1, 1] the same draw is half as long in the units of [0, 1]; on [0, 1] the two are one."""
    graph, values = stored()
    both = memory.noisy(graph, values[:, :PIXELS], 0.2, 3)
    assert torch.equal(both["noise"], both["plain noise"])
    graph.pixel_scale = scale.named("[-1, 1]")
    noise, plain = (some - values[:, :PIXELS] for some in memory.noisy(graph, values[:, :PIXELS], 0.2, 3).values())
    torch.testing.assert_close(2 * noise, plain, rtol=1e-9, atol=1e-12)
    assert float(plain.var()) == pytest.approx(0.2, rel=0.3)


@pytest.mark.parametrize("activation", ["linear", "tanh"])
def test_a_memory_stays_where_it_is(activation: str):
    graph, values = stored(activation, internal=0.0)
    recall = memory.from_start(graph, values[:, :PIXELS], [5, 50], internal="prediction")
    torch.testing.assert_close(recall.images, values[:, :PIXELS], rtol=0, atol=1e-8)
    assert list(recall.seen) == [5, 50] and recall.energy.shape == (51, COUNT)


def test_at_rest_looks_at_the_last_ten_steps():
    energy = torch.ones(12, 3)
    energy[-1] = torch.tensor([1.0, 0.9, 1 - 1e-6])
    assert memory.at_rest(energy, 1e-5).tolist() == [True, False, True]
    energy = torch.cat([torch.full((1, 3), 5.0), energy])                  # relative to the first energy of all
    assert memory.at_rest(energy, 0.03).tolist() == [True, True, True]
    assert memory.at_rest(torch.ones(10, 3)).tolist() == [False, False, False]               # too few to tell
