"""The plain equations, on which every other test of the engine leans. Oracles: loops over vertices as the sums are
printed, autograd in float64, and for f = identity the normal equations."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import EXACT, FUNCTIONS, masks
from torch import Tensor

from pcgraph_lite import equations


@st.composite
def problems(draw: st.DrawFn, function: str | None = None) -> tuple[Tensor, Tensor, Tensor, Tensor, tuple]:
    """Values ``(replica, batch, n)``, clamped ``(n,)``, weights ``(replica, n, n)``, edges, and (f, slope)."""
    edges, generator = draw(masks()), torch.Generator().manual_seed(draw(st.integers(0, 10**6)))
    n = len(edges)
    weight = 0.4 * torch.randn(2, n, n, generator=generator, dtype=torch.float64) * edges
    x = torch.randn(2, 3, n, generator=generator, dtype=torch.float64)
    clamped = torch.rand(n, generator=generator) < 0.4
    return x, clamped, weight, edges, FUNCTIONS[function or draw(st.sampled_from(list(FUNCTIONS)))]


@given(problems())
def test_eq1_and_eq2_are_the_printed_sums(problem):
    x, _, weight, edges, (f, _) = problem
    mu, total = torch.zeros_like(x), torch.zeros_like(x[..., 0])
    for i in range(x.shape[-1]):
        for j in edges[:, i].nonzero().flatten():                          # the sources of i
            mu[..., i] += weight[:, None, j, i] * f(x[..., j])
        total += (x[..., i] - mu[..., i]) ** 2 / 2
    torch.testing.assert_close(equations.prediction(x, weight, f), mu, **EXACT)
    torch.testing.assert_close(equations.energy(x, weight, f), total, **EXACT)


@given(problems())
def test_eq3_and_eq4_are_gradients_of_the_energy(problem):
    x, _, weight, edges, (f, slope) = problem
    leaves = x.clone().requires_grad_(), weight.clone().requires_grad_()
    by_value, by_weight = torch.autograd.grad(equations.energy(*leaves, f).sum(), leaves)
    torch.testing.assert_close(equations.value_gradient(x, weight, f, slope), by_value, **EXACT)
    torch.testing.assert_close(equations.weight_gradient(x, weight, f, edges), by_weight * edges, **EXACT)


@settings(max_examples=25)
@given(problems("linear"))
def test_a_query_by_conditioning_ends_where_the_normal_equations_say(problem):
    """eq. 5 with f = identity: (I - W) of the free rows times the errors is 0, and the clamped values are the data."""
    x, clamped, weight, _, (f, slope) = problem
    rows = (torch.eye(x.shape[-1], dtype=x.dtype) - weight)[0][~clamped]   # (free, n)
    spectrum = torch.linalg.eigvalsh(rows @ rows.T) if len(rows) else torch.ones(1)
    steps = 0 if spectrum[0] < 0.02 * spectrum[-1] else 1500               # else it would take too long
    settled = equations.relax(x, clamped, weight, f, slope, steps, float(1 / spectrum[-1]))[0]
    assert torch.equal(settled[:, clamped], x[0][:, clamped])
    if steps:
        target = -x[0][:, clamped] @ (torch.eye(x.shape[-1], dtype=x.dtype) - weight)[0][clamped]
        expected = torch.linalg.lstsq(rows.T, target.T).solution.T if len(rows) else settled[:, :0]
        torch.testing.assert_close(settled[:, ~clamped], expected, rtol=1e-6, atol=1e-8)


@given(problems("tanh"))
def test_a_query_by_initialization_lets_every_value_move(problem):
    """eq. 6: one Euler step of the flow for every vertex, its velocity from autograd."""
    x, clamped, weight, _, (f, slope) = problem
    moved = equations.relax(x, torch.zeros_like(clamped), weight, f, slope, 1, 0.1)
    start = x.clone().requires_grad_()
    velocity, = torch.autograd.grad(equations.energy(start, weight, f).sum(), start)
    torch.testing.assert_close(moved, x - 0.1 * velocity, **EXACT)
    assert not torch.equal(moved, x)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_algorithm_1_lowers_the_energy_of_what_it_saw(name):
    """Many small steps on the same batch; missing edges stay at 0 and replicas do not hear of each other."""
    f, slope = FUNCTIONS[name]
    edges = torch.rand(7, 7) < 0.6
    weight = 0.3 * torch.randn(2, 7, 7, dtype=torch.float64) * edges
    x, clamped = torch.randn(2, 4, 7, dtype=torch.float64), torch.arange(7) < 4
    settings = {"f": f, "slope": slope, "steps": 15, "gamma": 0.1}
    learned = equations.learn([x] * 40, clamped, weight, edges, **settings, alpha=0.05)
    before, after = (equations.energy(equations.relax(x, clamped, w, **settings), w, f) for w in (weight, learned))
    assert (after.mean(-1) < 0.9 * before.mean(-1)).all() and (learned[:, ~edges] == 0).all()
    alone = equations.learn([x[1]] * 40, clamped, weight[1], edges, **settings, alpha=0.05)
    torch.testing.assert_close(learned[1], alone, **EXACT)
    once, twice = (equations.learn([batch], clamped, weight[1], edges, **settings, alpha=0.05)
                   for batch in (x[1], torch.cat([x[1], x[1]])))
    torch.testing.assert_close(once, twice, **EXACT)                       # the mean over examples, and not their sum
