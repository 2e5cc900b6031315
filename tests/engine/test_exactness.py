"""Values and weights after T steps of every solver, on every plan and device, with and without replicas. Oracle:
``equations.py`` in float64 (see test_equations.py); solvers with guards follow the rules of their docstrings."""

import copy
import gc
import weakref
from collections.abc import Iterator
from itertools import product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pretended_gpu import pretended_gpu
from strategies import FUNCTIONS, constructed, graphs, values
from torch import Tensor

from pcgraph_lite import PCGraph, Settings, equations, fit, relax, topology
from pcgraph_lite.engine.conditioned import Conditioned
from pcgraph_lite.engine.inference import settle
from pcgraph_lite.engine.learning import started
from pcgraph_lite.engine.query import start_at_prediction
from pcgraph_lite.engine.solvers import GROWTH, REACH, STRIDE, Plain
from pcgraph_lite.engine.spreading import Spreading

PLANS = ("dense", "blocks", "sparse")
COMBINATIONS = [(plan, replicas) for plan in PLANS for replicas in (None, 3) if (plan, replicas) != ("sparse", 3)]
SOLVERS = {"plain": {"value_lr": 0.1}, "plain, larger": {"value_lr": 0.2}, "safe": {"value_lr": "safe"},
           "accelerated": {"value_lr": "safe", "momentum": 0.9},
           "accelerated, too large": {"value_lr": 2.5, "momentum": 0.9}}
SIZES, EDGES = {"pixels": 6, "hidden1": 6, "hidden2": 7, "labels": 3}, topology.Edges
TOPOLOGIES = {                                                             # in the first two errors spread from zeros
    "shortcut": topology.Topology(SIZES, [*map(EDGES, SIZES, list(SIZES)[1:]), EDGES("hidden1", "labels")],
                                  sensory=["pixels", "labels"]),
    **{name: constructed(name) for name in ("generative", "assemblies", "small_world")}}
STEPS, WEIGHT_LR, COUNT, TANH = 12, 0.3, 4, FUNCTIONS["tanh"]
EXACT = {"rtol": 1e-9, "atol": 1e-11}


def data() -> dict[str, Tensor]:
    return {"pixels": torch.rand(COUNT, 6, dtype=torch.float64),
            "labels": torch.eye(3, dtype=torch.float64)[[0, 1, 2, 0]]}


def descended(x: Tensor, clamped: Tensor, weight: Tensor, lr: Tensor, momentum: float, guarded: bool) -> Tensor:
    """T steps from ``x``: eq. 3 as it is, or with a step for each example that is halved where its energy rises."""
    if not guarded:
        return equations.relax(x, clamped, weight, *TANH, STEPS, lr)
    lr = lr.expand_as(x[..., :1])
    largest, growth = (lr * REACH, STRIDE) if momentum else (lr, GROWTH)
    velocity, plain, lowest = torch.zeros_like(x), torch.ones_like(lr, dtype=torch.bool), energy(x, weight)
    for _ in range(STEPS):
        velocity = momentum * velocity + equations.value_gradient(x, weight, *TANH) * ~clamped
        moved = x - lr * velocity
        now = energy(moved, weight)
        rose = now > lowest                                                # ties within rounding do not occur here
        x, lowest = torch.where(rose, x, moved), torch.where(rose, lowest, now)
        lr = torch.where(rose, torch.where(plain, lr / 2, lr), (lr * growth).minimum(largest))
        velocity, plain = torch.where(rose, 0, velocity), rose if momentum else plain
    return x


def energy(x: Tensor, weight: Tensor) -> Tensor:
    """eq. 2, ``(..., batch, 1)``."""
    return equations.energy(x, weight, TANH[0]).unsqueeze(-1)


@pytest.fixture
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    """The GPU is a pretended one where there is none."""
    if request.param == "cpu" or torch.cuda.is_available():
        yield request.param
        return
    with pretended_gpu():
        yield request.param


@pytest.mark.parametrize(("plan", "replicas"), COMBINATIONS)
@pytest.mark.parametrize(("name", "solver", "device"), [
    *((*case, "cpu") for case in product(TOPOLOGIES, SOLVERS)),
    *(("assemblies", solver, "cuda") for solver in ("plain", "accelerated"))], indirect=["device"])
def test_values_and_weights_are_those_of_the_paper(name, solver, plan, replicas, device):
    """One batch of alg. 1: start at the prediction, T steps of eq. 3, one step along eq. 4 (SGD)."""
    graph = PCGraph(TOPOLOGIES[name], "tanh", plan=plan, replicas=replicas, init_std=0.5, dtype=torch.float64)
    lead, batch, settings = () if replicas is None else (replicas,), data(), SOLVERS[solver]
    x, clamped = torch.zeros(*lead, COUNT, graph.topology.n, dtype=torch.float64), torch.zeros(graph.topology.n)
    for group, given_values in batch.items():
        x[..., graph.topology.slice(group)], clamped[graph.topology.slice(group)] = given_values, 1
    clamped = clamped.bool()
    x = start_at_prediction(graph, x, clamped)
    there = copy.deepcopy(graph).to(device)
    got = relax(there, x.to(device), clamped, steps=STEPS, trace=False, **settings)
    lr = torch.as_tensor(got.value_lr, dtype=torch.float64).cpu().view(-1, 1, 1).expand(*lead or (1,), 1, 1)
    lr = lr if replicas else lr[0]
    first, edges = graph.weight, graph.topology.mask()
    expected = descended(x, clamped, first, lr, settings.get("momentum", 0.0), not solver.startswith("plain"))
    torch.testing.assert_close(got.x.cpu(), expected, **EXACT)
    torch.testing.assert_close(got.energy[-1].cpu(), energy(expected, first)[..., 0], **EXACT)

    assert started(there, batch, COUNT).spreads == (name in ("shortcut", "generative") and plan != "dense")
    moved = first - WEIGHT_LR / COUNT * equations.weight_gradient(expected, first, TANH[0], edges)
    fit(there, batch, epochs=1, batch_size=COUNT, steps=STEPS, optimizer="sgd", weight_lr=WEIGHT_LR, progress=False,
        **settings)
    assert float((moved - first).abs().amax(-2)[..., edges.any(0)].min()) > 1e-4         # a step that can be seen
    torch.testing.assert_close(there.weight.cpu(), moved, **EXACT)


@given(graphs(paper=True), st.integers(0, 10**6))
def test_any_graph_relaxes_and_learns_as_the_paper_says(graph, seed):
    """Plain steps on any edges, plan, f and number of replicas, with clamped vertices that may differ by example."""
    f, slope = FUNCTIONS[graph.activations[0].name]
    x, edges, generator = values(graph), graph.topology.mask(), torch.Generator().manual_seed(seed)
    clamped = torch.rand(x.shape[-2:] if seed % 2 else x.shape[-1:], generator=generator) < 0.4
    got = relax(graph, x, clamped, steps=STEPS, value_lr=0.05)
    torch.testing.assert_close(got.x, equations.relax(x, clamped, graph.weight, f, slope, STEPS, 0.05), **EXACT)
    if clamped.any() and not clamped.all():
        gradient = equations.weight_gradient(got.x, graph.weight, f, edges)
        for k, block in enumerate(graph.gather(gradient)):
            torch.testing.assert_close(got.problem.weight_gradient()[f"weights.{k}"], block, **EXACT)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", TOPOLOGIES)
def test_buffers_are_freed_with_the_answer(name, solver):
    """At once, not when the garbage collector comes by: no part of a problem refers back to it."""
    graph = PCGraph(TOPOLOGIES[name], "tanh", plan="blocks", dtype=torch.float64)
    clamped = torch.arange(graph.topology.n) < 3
    gc.disable()
    try:
        got = relax(graph, values(graph), clamped, steps=3, **SOLVERS[solver])
        kept = [weakref.ref(part) for part in got.problem.nodes]
        del got
        assert [ref() for ref in kept] == [None] * len(kept)
    finally:
        gc.enable()


@given(graphs(), st.sampled_from(["a", "b"]))
def test_a_problem_starts_where_a_query_does(graph, held):
    """Groups at their predictions, errors those of eq. 1 and 2, for any graph with two groups."""
    groups = graph.topology.groups
    held = held if held in groups else next(iter(groups))
    clamped = torch.zeros(graph.topology.n, dtype=torch.bool)
    clamped[graph.topology.slice(held)] = len(groups) > 1
    x = values(graph) * clamped
    problem = Spreading(graph, x.clone(), clamped)
    problem.start_at_prediction(graph.topology.outwards([held] if len(groups) > 1 else []))
    expected = start_at_prediction(graph, x, clamped)
    torch.testing.assert_close(problem.assembled(), expected, rtol=1e-10, atol=1e-12)
    error = torch.cat([nodes.error for nodes in problem.nodes], -1)
    torch.testing.assert_close(error, graph.error(expected), rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(problem.energy(), graph.energy(expected), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("plan", ["dense", "blocks", "sparse"])
def test_a_source_under_a_flat_prior_starts_at_its_bias(plan):
    """Beside a vertex with incoming edges, which is reached; f = identity: 3 + 2 * 0.5 = 4, and 1 + 4 + 10 * 5 = 55."""
    t = topology.Topology({"pixels": 1, "labels": 1, "hidden": 2}, [
        topology.Edges("labels", "hidden", torch.tensor([[True, False]])), topology.Edges("hidden", "pixels")])
    graph = PCGraph(t, "linear", plan=plan, prior="flat", bias=True, dtype=torch.float64)
    graph.set_edge_weights([torch.tensor([2.0]), torch.tensor([1.0, 10.0])])
    graph.bias.copy_(torch.tensor([1.0, 2.0, 3.0, 5.0]))
    problem = started(graph, {"labels": torch.full((2, 1), 0.5, dtype=torch.float64)}, 2)
    expected = torch.tensor([[55.0, 0.5, 4.0, 5.0]] * 2, dtype=torch.float64)
    torch.testing.assert_close(problem.assembled(), expected, **EXACT)
    torch.testing.assert_close(problem.energy(), torch.zeros(2, dtype=torch.float64), **EXACT)


@given(graphs(), st.integers(0, 10**6))
def test_an_errorless_vertex_pays_nothing_and_sends_nothing_back(graph, seed):
    """For all examples or for some. Oracle: autograd of half the squared errors of all other vertices."""
    x, generator, shape = values(graph), torch.Generator().manual_seed(seed), (3, graph.topology.n)
    clamped, errorless = (torch.rand(shape[k:], generator=generator) < 0.4 for k in (seed % 2, seed // 2 % 2))
    problem = Conditioned(graph, x.clone(), clamped, errorless)
    problem.evaluate()
    problem.differentiate()
    with torch.enable_grad():
        energy = graph.error(x.requires_grad_()).masked_fill(errorless, 0).square().sum(-1) / 2
        (gradient,) = torch.autograd.grad(energy.sum(), x)
    torch.testing.assert_close(problem.energy(), energy.detach(), **EXACT)
    for nodes, segment in zip(problem.nodes, graph.segments, strict=True):
        if nodes.free is not None:
            expected = gradient.masked_fill(clamped, 0)[..., segment][..., nodes.free]
            torch.testing.assert_close(nodes.gradient, expected, **EXACT)


@given(graphs(), st.integers(0, 3))
def test_any_graph_may_leave_out_zeros(graph, steps):
    *held, last = graph.topology.groups
    clamped = torch.ones(graph.topology.n, dtype=torch.bool)
    clamped[graph.topology.slice(last)] = False
    problems = [Spreading(graph, values(graph) * clamped, clamped) for _ in range(2)]
    for problem in problems:
        problem.start_at_prediction(graph.topology.outwards(held))
    problems[1].unreached = {}
    for problem in problems:
        solver = Plain(problem, 0.05) if problem.free else None
        for _ in range(steps if solver else 0):
            solver.step()
    one, other = problems
    torch.testing.assert_close(one.assembled(), other.assembled(), **EXACT)
    torch.testing.assert_close(one.energy(), other.energy(), **EXACT)
    torch.testing.assert_close([a.error for a in one.nodes], [b.error for b in other.nodes], **EXACT)


@given(graphs(), st.integers(0, 10**6))
def test_a_problem_used_again_is_as_good_as_new(graph, seed):
    """After other values, steps and weights; oracle: a new problem. Every other vertex is free."""
    clamped, generator = torch.arange(graph.topology.n) % 2 == seed % 2, torch.Generator().manual_seed(seed)
    x, errorless = values(graph, seed=1), torch.rand(graph.topology.n, generator=generator) < 0.2
    used = Conditioned(graph, values(graph), clamped, errorless)
    used.evaluate()
    settle(used, Settings(3, 0.05, trace=False))
    used.weight_gradient()
    with torch.no_grad():
        for weight in graph.weights:
            weight.mul_(0.5)
    used.x.copy_(x)
    used.restart()
    new = Conditioned(graph, x.clone(), clamped, errorless)
    for problem in (used, new):
        problem.evaluate()
        problem.differentiate()
    assert torch.equal(used.energy(), new.energy())
    for one, other in zip(used.nodes, new.nodes, strict=True):
        assert torch.equal(one.error, other.error)
        assert one.free is None or torch.equal(one.gradient, other.gradient)
    for name, gradient in new.weight_gradient().items():
        assert torch.equal(used.weight_gradient()[name], gradient)
