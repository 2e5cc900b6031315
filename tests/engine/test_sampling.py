"""Samples of the free vertices. Oracles: the exact Gaussian posterior for linear f, with the errors of as many
independent draws; numerical integration over one free vertex for others; closed forms of the bias of plain steps."""

import math
import warnings

import pytest
import torch

import pcgraph_lite as pcg
from benchmarks import memory
from pcgraph_lite import PCGraph, topology
from pcgraph_lite.engine import sampling
from pcgraph_lite.errors import UnstableStep

DRAWS = 6000                                                               # of independent chains
FIRST, EVERY = torch.arange(6) < 2, torch.ones(6).bool()
SIGMAS = 4.5                                                               # one in 100,000 tests would fail by chance


def linear(replicas: int | None = None, plan: str = "dense") -> PCGraph:
    """A small graph with cycles."""
    mask = torch.rand(6, 6, generator=torch.Generator().manual_seed(3)) < 0.6
    return PCGraph(topology.from_mask(mask, {"a": 2, "b": 4}), "linear", bias=True, plan=plan, replicas=replicas,
                   dtype=torch.float64, init_std=0.5, generator=torch.Generator().manual_seed(4))


def posterior(weight: torch.Tensor, bias: torch.Tensor, given: torch.Tensor, held: torch.Tensor,
              pays: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Mean and covariance of the free vertices: E = |x (I - W) - b|^2 / 2 over those that pay; ``given``: group a."""
    left = (torch.eye(6, dtype=torch.float64) - weight)[:, pays]           # x @ left - b = errors
    hessian = left[~held] @ left[~held].T
    mean = torch.linalg.solve(hessian, left[~held] @ (bias[pays] - given[held[:2]] @ left[held]))
    return mean, torch.linalg.inv(hessian)


def check_gaussian(drawn: torch.Tensor, mean: torch.Tensor, covariance: torch.Tensor) -> None:
    """Independent draws ``(draws, n)``: moments within what that many may miss them by."""
    count, spread = len(drawn), covariance.diagonal()
    assert ((drawn.mean(0) - mean).abs() < SIGMAS * (spread / count).sqrt()).all()
    errors = ((spread[:, None] * spread + covariance.square()) / count).sqrt()
    assert ((torch.cov(drawn.T) - covariance).abs() < SIGMAS * errors).all()


@pytest.mark.parametrize(("how", "temperature", "plan"), [("clamp", 1.0, "dense"), ("do", 1.0, "blocks"),
                                                          ("clamp", 0.25, "sparse"), ("clamp", (2.0, 0.25), "dense")])
def test_linear_graphs_have_gaussian_samples(how: str, temperature: float | tuple[float, float], plan: str):
    """The last sample of each chain: mean the query's answer, covariance the temperature times the inverse Hessian."""
    graph, given = linear(plan=plan), torch.tensor([[1.0, -2.0], [0.5, 0.0]], dtype=torch.float64)
    graph.bias.normal_(generator=torch.Generator().manual_seed(5))
    found = pcg.sample(graph, **{how: {"a": given}}, steps=1, every=1, burn_in=200, chains=DRAWS,
                       temperature=torch.tensor(temperature), generator=torch.Generator().manual_seed(6))
    assert found.x.shape == (DRAWS, 2, 6) and found.values["b"].shape == (DRAWS, 2, 4)
    assert torch.equal(found.values["a"], given.expand(DRAWS, 2, 2))
    assert (found.accepted - 0.574).abs().max() < 0.05
    answer = pcg.query(graph, **{how: {"a": given}}, momentum=0.9, tolerance=1e-13, steps=5000)
    for k in range(2):
        pays = ~FIRST if how == "do" else EVERY
        mean, covariance = posterior(graph.weight, graph.bias[0], given[k], FIRST, pays)
        torch.testing.assert_close(answer.values["b"][k], mean, rtol=1e-4, atol=1e-4)
        check_gaussian(found.values["b"][:, k], mean, torch.tensor(temperature).expand(2)[k] * covariance)


@pytest.mark.parametrize("plan", ["dense", "sparse"])
def test_a_few_large_weights_do_not_slow_the_other_vertices(plan: str):
    """The curvature of b is 2,501 times that of c; a hundred steps give both their own variance."""
    made = topology.Topology({"a": 1, "b": 1, "c": 3}, [topology.Edges("b", "a")])
    graph = PCGraph(made, "linear", plan=plan, dtype=torch.float64)
    graph.set_edge_weights([torch.full((1,), 50.0)])
    held = {"a": torch.ones(1, 1, dtype=torch.float64)}
    found = pcg.sample(graph, clamp=held, steps=1, every=1, burn_in=100, chains=DRAWS).x[:, 0, 1:]
    mean = torch.tensor([50 / 2501, 0, 0, 0], dtype=torch.float64)
    check_gaussian(found, mean, torch.tensor([1 / 2501, 1, 1, 1], dtype=torch.float64).diag())


def test_one_long_chain_has_the_same_distribution():
    """Samples of one chain depend on each other: within four errors of the means of its forty parts."""
    graph, given = linear(), torch.tensor([[1.0, -2.0]], dtype=torch.float64)
    found = pcg.sample(graph, clamp={"a": given}, steps=5000, every=5, generator=torch.Generator().manual_seed(1))
    mean, covariance = posterior(graph.weight, graph.bias[0], given[0], FIRST, EVERY)
    drawn = found.values["b"][:, 0]
    for values, expected in ((drawn, mean), ((drawn - mean).square(), covariance.diagonal())):
        parts = values.unflatten(0, (40, -1)).mean(1)                      # (40, 4)
        assert ((parts.mean(0) - expected).abs() < 4 * parts.std(0) / math.sqrt(40)).all()


def test_replicas_and_examples_have_distributions_of_their_own():
    """Each replica's samples are those of a single graph's posterior; examples clamp different vertices."""
    graph, given = linear(replicas=2), torch.tensor([[1.0, -2.0], [0.5, 0.0]], dtype=torch.float64)
    mask = torch.tensor([[True, True], [True, False]])
    found = pcg.sample(graph, clamp={"a": pcg.observed(given, mask)}, steps=1, every=1, burn_in=300, chains=DRAWS)
    assert found.x.shape == (DRAWS, 2, 2, 6) and found.accepted.shape == (2, 2)
    for r in range(2):
        for k in range(2):
            held = torch.cat([mask[k], torch.zeros(4).bool()])
            mean, covariance = posterior(graph.weight[r], graph.bias[r, 0], given[k], held, EVERY)
            check_gaussian(found.x[:, r, k][:, ~held], mean, covariance)
            assert torch.equal(found.x[:, r, k][:, held], given[k, mask[k]].expand(DRAWS, -1))


@pytest.mark.parametrize("f", ["tanh", "relu", "hardtanh", "sigmoid"])
def test_a_vertex_that_is_not_linear_has_its_own_density(f: str):
    """x -> y with y held: p(x) is proportional to exp(-(x^2 + (y - w f(x))^2) / 2), integrated on a grid."""
    graph, w, y = PCGraph(topology.generative(1, [], 1), f, dtype=torch.float64), 2.5, 1.5
    graph.set_weight([[0, 0], [w, 0]])
    found = pcg.sample(graph, clamp={"pixels": torch.tensor([[y]], dtype=torch.float64)}, steps=1, every=1,
                       burn_in=200, chains=DRAWS).values["labels"][:, 0, 0]
    grid = torch.linspace(-8, 8, 20001, dtype=torch.float64)
    density = (-(grid.square() + (y - w * graph.activation(grid)).square()) / 2).exp()
    density /= density.sum()
    for power in (1, 2, 3):
        mean, square = ((grid ** p * density).sum() for p in (power, 2 * power))
        assert abs(found.pow(power).mean() - mean) < SIGMAS * math.sqrt((square - mean**2) / DRAWS)
    below = (density * (grid < 0)).sum()
    assert abs((found < 0).double().mean() - below) < SIGMAS * math.sqrt(below * (1 - below) / DRAWS)


def test_plain_steps_are_too_wide_by_what_is_said():
    """Without a Metropolis step the covariance is H^-1 (1 - gamma H / 2)^-1; no variance exceeds its own by 1/19."""
    graph, given = linear(), torch.tensor([[1.0, -2.0]], dtype=torch.float64)
    mean, covariance = posterior(graph.weight, graph.bias[0], given[0], FIRST, EVERY)
    hessian = torch.linalg.inv(covariance)
    how = {"metropolis": False, "steps": 1, "every": 1, "chains": DRAWS, "clamp": {"a": given}}
    gamma = 1.2 / float(torch.linalg.eigvalsh(hessian)[-1])
    found = pcg.sample(graph, **how, burn_in=300, value_lr=gamma)
    wide = torch.linalg.inv(hessian - gamma * hessian @ hessian / 2)
    assert float(wide.diagonal().max() / covariance.diagonal()[wide.diagonal().argmax()]) > 1.1
    check_gaussian(found.values["b"][:, 0], mean, wide)
    small = pcg.sample(graph, **how, burn_in=1).value_lr
    share = torch.linalg.eigvalsh(hessian) * float(small) / 2
    assert (1 / (1 - share) <= 1 + 1 / 19 + 1e-3).all() and share.max() > 0.04
    with pytest.raises(UnstableStep, match="left the finite numbers with value_lr"):
        pcg.sample(graph, **how | {"steps": 5000, "every": 5000, "chains": 1}, value_lr=50 * gamma)


def test_the_noise_is_that_of_the_generator_and_samples_of_one_chain_follow_each_other():
    """Chains one after the other; the steps of a longer walk begin with those of a shorter one."""
    graph, given = linear(), torch.ones(2, 2, dtype=torch.float64)
    draws = [pcg.sample(graph, clamp={"a": given}, steps=20, burn_in=5, generator=torch.Generator().manual_seed(seed)).x
             for seed in (0, 0, 1)]
    assert draws[0].equal(draws[1]) and not draws[0].equal(draws[2]) and len(draws[0]) == 2
    long, short = (pcg.sample(graph, clamp={"a": given}, steps=steps, every=1, burn_in=3, chains=2) for steps in (4, 2))
    assert long.x.shape == (8, 2, 6) and torch.equal(long.x[[0, 1, 4, 5]], short.x)
    torch.testing.assert_close(long.energy.flatten(), graph.energy(long.x.flatten(0, 1)))


def test_pictures_come_out_in_their_own_units():
    graph = PCGraph(topology.generative(2, [3], 4), "tanh", pixel_scale=pcg.Scale("[-1, 1]", 0.5, 0.5))
    found = pcg.sample(graph, clamp={"labels": torch.eye(2)}, steps=10)
    torch.testing.assert_close(found.values["pixels"], (found.x[..., :4] + 1) / 2)


def test_as_much_memory_is_asked_for_as_samples_take(monkeypatch: pytest.MonkeyPatch) -> None:
    """Oracle: what torch's profiler counts; the walk itself holds little beside two hundred samples."""
    graph, asked = PCGraph(topology.generative(2, [3], 2000), replicas=2), []
    monkeypatch.setattr(sampling, "require_memory", lambda entries, what, size=4: asked.append(entries * size))
    most = memory.peak_bytes(lambda: pcg.sample(graph, clamp={"labels": torch.eye(2)}, steps=200, every=1, burn_in=0,
                                                metropolis=False))
    assert asked[0] == 200 * 2 * 2 * 2005 * 4 and most == pytest.approx(asked[0], rel=0.2)


def test_chains_that_do_not_move_are_told_of_and_others_are_not() -> None:
    """20 is far above 2 / curvature; the first example is all clamped, and has nothing to reject."""
    graph, given = linear(), torch.ones(2, 6, dtype=torch.float64)
    clamp = {name: pcg.observed(given[:, where], torch.tensor([[True], [False]]).expand(2, len(where)))
             for name, where in (("a", range(2)), ("b", range(2, 6)))}
    says = "1 of 2 examples accept less than 5% of their steps with value_lr = 20.0 and burn_in = 0.*'tuned'"
    with pytest.warns(UserWarning, match=says) as said:
        found = pcg.sample(graph, clamp=clamp, steps=100, burn_in=0, value_lr=20.0)
    assert said[0].filename == __file__ and torch.equal(found.x[0], found.x[-1])
    with warnings.catch_warnings(action="error"):
        pcg.sample(graph, clamp=clamp, steps=100)
        pcg.sample(graph, clamp=clamp, steps=10, burn_in=0, value_lr=20.0)           # ten steps may all be rejected
