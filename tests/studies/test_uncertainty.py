"""How sure a completion is. Oracles: the Gaussian posterior of a linear graph, by conditioning its joint covariance;
autograd; SciPy's ranks."""

import pytest
import torch
from scipy import stats

import pcgraph_lite as pcg
from pcgraph_lite.errors import BadInput
from pcgraph_lite.studies import tasks, uncertainty

KNOWN = torch.tensor([1, 1, 1, 0, 0, 0]).bool()
IMAGES = torch.rand(2, 6, generator=torch.Generator().manual_seed(2), dtype=torch.float64)


def graph(activation: str = "linear", **more: object) -> pcg.PCGraph:
    made, generator = pcg.topology.generative(labels=2, hidden=[5, 4], pixels=6), torch.Generator().manual_seed(3)
    return pcg.PCGraph(made, activation, init_std=0.7, dtype=torch.float64, generator=generator, **more)


def conditioned(made: pcg.PCGraph) -> torch.Tensor:
    """Deviation of the predictions of the missing pixels: that of the pixels less their own error of variance 1. Under
    a flat prior a label may be anything: its variance is as good as infinite."""
    effects = torch.linalg.inv(torch.eye(made.topology.n, dtype=torch.float64) - made.weight)
    if made.prior == "flat":
        effects[made.topology.slice("labels")] *= 1e4
    covariance = (effects.T @ effects)[made.topology.slice("pixels"), made.topology.slice("pixels")]
    seen, asked = covariance[KNOWN][:, KNOWN], covariance[~KNOWN]
    left = asked[:, ~KNOWN] - asked[:, KNOWN] @ torch.linalg.solve(seen, asked[:, KNOWN].T)
    return (left.diagonal() - 1).sqrt()


@pytest.mark.parametrize("temperature", [1.0, 0.25])
def test_samples_and_curvature_of_a_linear_graph_have_the_exact_spread(temperature: float) -> None:
    for prior in ("flat", "zero"):
        made = graph(prior=prior)
        exact = temperature**0.5 * conditioned(made)
        torch.testing.assert_close(uncertainty.linearised(made, IMAGES, KNOWN, temperature), exact.expand(2, -1))
    found = uncertainty.spread(made, IMAGES, KNOWN, temperature, steps=500, every=20, chains=160)
    torch.testing.assert_close(found.deviation, exact.expand(2, -1), rtol=0.06, atol=0)   # 4 sigma of 2,000 free draws
    torch.testing.assert_close(found.halves, exact.expand(2, 2, -1), rtol=0.09, atol=0)
    answer = pcg.query(made, {"pixels": pcg.observed(IMAGES, KNOWN)}, momentum=0.9, tolerance=1e-12, steps=5000)
    assert ((found.mean - answer.values["pixels"][:, ~KNOWN]).abs() < 0.15 * exact).all()


def test_the_curvature_is_that_of_the_energy_at_the_answer() -> None:
    """For tanh: Gauss and Newton's part of the second derivatives, whose errors autograd differentiates."""
    made, pixels = graph("tanh"), pcg.topology.generative(2, [5, 4], 6).slice("pixels")
    x = pcg.query(made, {"pixels": pcg.observed(IMAGES, KNOWN)}, **tasks.SETTLE).x
    pays = torch.ones(17, dtype=torch.bool)
    pays[pixels] = KNOWN
    free = pays.clone()
    free[pixels] = False
    for row, got in zip(x, uncertainty.linearised(made, IMAGES, KNOWN), strict=True):
        errors, predicted = (torch.autograd.functional.jacobian(f, row) for f in (
            lambda v: (v - torch.tanh(v) @ made.weight)[pays], lambda v: (torch.tanh(v) @ made.weight)[pixels][~KNOWN]))
        covariance = torch.linalg.inv(errors[:, free].T @ errors[:, free])
        torch.testing.assert_close(got.square(), (predicted[:, free] @ covariance @ predicted[:, free].T).diagonal())


@pytest.mark.parametrize(("grey", "unit"), [(0.0, 1.0), (0.5, 0.5)])
def test_a_graph_finds_the_noise_of_its_pixels(grey: float, unit: float) -> None:
    """Labels explain nothing of pixels that no edge leads to: what is left is their mean square, on its own scale."""
    made, inside = graph(pixel_scale=pcg.Scale("own", grey, unit)), (IMAGES - grey) / unit
    made.set_weight(torch.zeros(17, 17, dtype=torch.float64))
    assert uncertainty.own_temperature(made, IMAGES) == pytest.approx(float(inside.square().mean()))
    torch.testing.assert_close(uncertainty.temperatures(made, IMAGES, KNOWN), inside[:, KNOWN].square().mean(-1))


def test_replicas_have_an_uncertainty_of_their_own() -> None:
    """That of a single graph with the weights of one, or its exact deviation."""
    twins = graph(replicas=2)
    found = uncertainty.spread(twins, IMAGES, KNOWN, steps=100, every=20, chains=160)
    fits = uncertainty.temperatures(twins, IMAGES, KNOWN)
    assert fits.shape == (2, 2) and found.halves.shape == (2, 2, 2, 3)
    for k in range(2):
        one = twins.replica(k)
        torch.testing.assert_close(fits[k], uncertainty.temperatures(one, IMAGES, KNOWN), rtol=1e-3, atol=0)
        torch.testing.assert_close(found.deviation[k], conditioned(one).expand(2, -1), rtol=0.15, atol=0)
    with pytest.raises(BadInput, match="has 2 replicas; expected a graph without"):
        uncertainty.linearised(twins, IMAGES, KNOWN)


def test_a_deviation_without_bound_is_refused() -> None:
    """Labels under a flat prior from which no edge leads anywhere may be anything."""
    made = graph(prior="flat")
    made.set_edge_weights([torch.zeros(10), None, None])
    with pytest.raises(BadInput, match=r"no bound: some free vertex.*prior='zero'"):
        uncertainty.linearised(made, IMAGES, KNOWN)


def test_ranks_are_those_of_scipy() -> None:
    """Of values that all differ, and of such with many ties; a constant has no correlation."""
    one, other = torch.rand(2, 6, 20, generator=torch.Generator().manual_seed(0))
    one[3:], other[2:4] = (4 * one[3:]).round(), (4 * other[2:4]).round()
    expected = [stats.spearmanr(a, b).statistic for a, b in zip(one.numpy(), other.numpy(), strict=True)]
    assert uncertainty.rank_correlation(one, other).tolist() == pytest.approx(expected)
    assert uncertainty.rank_correlation(torch.ones(2, 9), torch.arange(18.0).view(2, 9)).isnan().all()
