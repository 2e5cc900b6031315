"""No energy rises in silence: steps around the bound, and rest that is no rest, against the energy itself."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import chain, graphs, values

from pcgraph_lite import PCGraph, relax, topology
from pcgraph_lite.engine.conditioned import Conditioned
from pcgraph_lite.engine.curvature import curvature
from pcgraph_lite.engine.inference import _above
from pcgraph_lite.errors import UnstableStep

# one free vertex above one held one: the energy is (x^2 + (1 - 2 x)^2 + 1) / 2, of curvature 5
CHAIN, X, HELD = chain("linear", 2.0, 2.0), torch.tensor([[1.0, 0.0, 1.0]]).double(), torch.tensor([True, False, True])


def bound(graph: PCGraph, x: torch.Tensor, held: torch.Tensor) -> float:
    problem = Conditioned(graph, x.clone(), held)
    problem.evaluate()
    return 2 / float(curvature(problem, steps=500).max())


@pytest.mark.parametrize("over", [1.001, 1.002, 1.01, 1.1])
@pytest.mark.parametrize("trace", [True, False])
def test_a_slow_climb_is_divergence(over, trace):
    """The energy grows by (1 - step * curvature)^2 a step: by 0.4 % and less, so no ten steps double it."""
    with pytest.raises(UnstableStep, match="stable below"):
        relax(CHAIN, X, HELD, steps=20_000 if trace else 100_000, value_lr=over * bound(CHAIN, X, HELD), trace=trace)


def test_a_long_untraced_descent_ends_with_the_energy_of_its_last_step():
    relaxed = relax(CHAIN, X, HELD, steps=301, value_lr=1e-4, trace=False)
    assert relaxed.energy[-1].item() == pytest.approx(CHAIN.energy(relaxed.x).item(), rel=1e-12)


def test_an_example_may_converge_at_the_last_step_wherever_it_falls() -> None:
    """By hand, from 0: E = 1.4 + 2.5 (0.8 (1 - 5 g)^t)^2; the tolerance is between its changes up to 300 and 303."""
    energy = [1.4 + 1.6 * (1 - 5e-3) ** (2 * t) for t in range(304)]
    change = [energy[t - 10] - energy[t] for t in (300, 303)]
    for steps, rests in ((300, False), (303, True)):
        relaxed = relax(CHAIN, X, HELD, steps=steps, value_lr=1e-3, tolerance=sum(change) / 2 / energy[0])
        assert relaxed.energy[-1].item() == pytest.approx(energy[steps], rel=1e-9)
        assert relaxed.steps == steps and relaxed.converged.tolist() == [rests]


def test_every_vertex_may_round_by_32_of_its_last_places() -> None:
    """Each error is then off by as much of the largest value, and the energy of 7 vertices by half of 7 such squares.
    The half stays as a margin; each example has its own largest value."""
    graph = PCGraph(topology.generative(2, [3], 2), dtype=torch.float64)
    x = torch.zeros(2, 7, dtype=torch.float64)
    x[0, 3], x[1, 5] = -4.0, 0.5
    rounding = 7 * (32 * 2.0**-52 * torch.tensor([4.0, 0.5], dtype=torch.float64)) ** 2
    problem, limit = Conditioned(graph, x, torch.arange(7) < 2), torch.zeros(2, dtype=torch.float64)
    assert not _above(problem, 0.99 * rounding, limit).any() and _above(problem, 1.01 * rounding, limit).all()


@settings(max_examples=70)
@given(graphs(activation="linear", replicas=False) | graphs(replicas=False, scale=0.8), st.floats(0.5, 1.5),
       st.integers(1, 300), st.integers(0, 99), st.sampled_from([None, 1e-6]))
def test_with_any_step_around_the_bound_the_energy_falls_or_says_so(graph, share, steps, seed, tolerance):
    """That of a linear graph below the bound, at every step; that safe steps never raise any is in test_query.py."""
    x, held = values(graph, seed=seed), torch.arange(graph.topology.n) < graph.topology.n // 2
    exact = graph.activation.name == "linear" and graph.top_k is None
    try:
        relaxed = relax(graph, x, held, steps=steps, value_lr=share * bound(graph, x, held), tolerance=tolerance)
    except UnstableStep:
        assert share > 0.999 or not exact
    else:
        path = torch.cat([relaxed.initial_energy[None], relaxed.energy])
        assert (path[-1] <= 1.0001 * path[0] + 1e-12).all()
        assert share > 0.99 or not exact or (path.diff(dim=0) <= 1e-12 * path[0]).all()


@pytest.mark.parametrize("share", [0.1, 0.9])
def test_rounding_is_no_divergence(share):
    graph = PCGraph(topology.generative(3, [20, 20], 30), "linear", prior="flat")
    x, held = 100 * values(graph), torch.arange(graph.topology.n) >= 63
    x = relax(graph, x, held, steps=500, momentum=0.9).x
    relax(graph, x, held, steps=60, value_lr=share * bound(graph, x, held))


@pytest.mark.parametrize("seed", [9, 83, 381])
def test_at_rest_no_shorter_step_goes_down(seed):
    """ReLU graphs in which a step held back at a kink once passed for rest (3 of 1,200)."""
    generator = torch.Generator().manual_seed(seed)
    n = int(torch.randint(3, 12, (), generator=generator))
    mask = torch.rand(n, n, generator=generator) < 0.6
    mask[0, 1] = True
    graph = PCGraph(topology.from_mask(mask), "relu", init_std=0.8, dtype=torch.float64, generator=generator)
    x, held = torch.randn(8, n, generator=generator, dtype=torch.float64), torch.arange(n) < n // 3
    relaxed = relax(graph, x, held, steps=2000, tolerance=1e-6)
    early = relax(graph, x, held, steps=90, tolerance=1e-6).converged          # while others still move
    alone = [relax(graph, x[k:k + 1], held, steps=90, tolerance=1e-6).converged for k in range(8)]
    assert torch.equal(early, torch.cat(alone))
    energy, downhill = graph.energy(relaxed.x), graph.value_gradient(relaxed.x) * ~held
    for share in (1 / 2, 1 / 4, 1 / 8):
        fall = energy - graph.energy(relaxed.x - share * relaxed.value_lr * downhill)
        assert (fall <= 1.001e-6 * relaxed.initial_energy)[relaxed.converged].all()
