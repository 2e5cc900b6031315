"""Activations against torch's functions and autograd; one of the reader's own against plain equations. A new activation
needs a line in ``ACTIVATIONS`` and one in ``TORCH``."""

import copy
import dataclasses
import pickle

import pytest
import torch
from strategies import EXACT, FUNCTIONS, values
from torch.nn import functional

from pcgraph_lite import Activation, PCGraph, equations, fit, relax, topology
from pcgraph_lite.engine.activations import ACTIVATIONS

TORCH = {"linear": lambda x: x, "hardtanh": functional.hardtanh, "tanh": torch.tanh, "relu": functional.relu,
         "sigmoid": torch.sigmoid}
OWN = Activation(functional.softplus, torch.sigmoid)
FULL = topology.from_mask(torch.ones(6, 6))


def drawn(*shape: int) -> torch.Tensor:
    return 3 * torch.randn(*shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_kinks_are_where_the_slope_jumps_by_one_and_say_to_which_side(name):
    """Oracle: torch's slope a little above and a little below every point of a grid that has them."""
    points, kinks = torch.arange(-16, 17, dtype=torch.float64) / 4, dict(ACTIVATIONS[name].kinks)

    def slope(x):
        x = x.requires_grad_()
        return torch.autograd.grad(TORCH[name](x).sum(), x)[0]

    jumps = slope(points + 1e-6) - slope(points - 1e-6)
    assert {float(x): float(jump) for x, jump in zip(points, jumps, strict=True) if jump.abs() > 0.999} == kinks


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_values_and_slopes_are_those_of_torch(name):
    f, x = ACTIVATIONS[name], drawn(4, 50)
    torch.testing.assert_close(f(x), TORCH[name](x), **EXACT)
    moved = x.clone().requires_grad_()
    slope, = torch.autograd.grad(TORCH[name](moved).sum(), moved)
    torch.testing.assert_close(f.slope(x), slope, **EXACT)
    gradient, other = 2 * torch.ones_like(x), torch.zeros_like(x)
    fx, activate, chain = f.on(other, gradient)
    other.copy_(x)
    activate()
    chain()
    torch.testing.assert_close(fx, TORCH[name](x), **EXACT)
    torch.testing.assert_close(gradient, 2 * slope, **EXACT)


def test_one_of_the_reader_s_own_relaxes_and_learns_as_the_equations_say():
    graph = PCGraph(FULL, OWN, init_std=0.3, dtype=torch.float64)
    x, clamped, first = drawn(3, 6), torch.arange(6) < 2, graph.weight
    got = relax(graph, x, clamped, steps=9, value_lr=0.1)
    expected = equations.relax(x, clamped, first, functional.softplus, torch.sigmoid, 9, 0.1)
    torch.testing.assert_close(got.x, expected, **EXACT)
    gradient = equations.weight_gradient(expected, first, functional.softplus, torch.ones(6, 6))
    torch.testing.assert_close(got.problem.weight_gradient()["weights.0"], gradient, **EXACT)


@pytest.mark.parametrize("again", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))], ids=["copy", "pickle"])
@pytest.mark.parametrize("plan", ["dense", "blocks", "sparse"])
@pytest.mark.parametrize("top_k", [None, 0.4])
@pytest.mark.parametrize("f", [*ACTIVATIONS, OWN], ids=[*ACTIVATIONS, "own"])
def test_a_copied_or_pickled_graph_computes_and_learns_the_same(f, top_k, plan, again):
    graph = PCGraph(topology.recurrent(2, [4], 5), f, top_k=top_k, plan=plan, bias=True, prior="flat")
    other, x, kept = again(graph), values(graph), (graph.activation.name, graph.activation.kinks)
    assert all((one.name, one.kinks) == kept for one in (other.activation, copy.copy(graph.activation)))
    assert torch.equal(other.value_gradient(x), graph.value_gradient(x))
    for one in (graph, other):
        fit(one, (drawn(6, 5).float(), torch.arange(6) % 2), epochs=2, batch_size=3, steps=3, progress=False)
    assert torch.equal(other.weight, graph.weight) and torch.equal(other.energy(x), graph.energy(x))


def far(k: int, bound: float) -> Activation:
    """0 up to a bound."""
    return Activation(lambda x: k * x * ((x - bound) * bound > 0), torch.zeros_like)


def kinked(k: int, kink: float) -> Activation:
    """Vertices that start at the kink leave it by one slope and not by the other."""
    return Activation(functional.relu, lambda x: ((x > kink) + k * (x == kink)).to(x.dtype))


@pytest.mark.parametrize(("make", "where"), [(far, -2.5), (far, 2.5), (kinked, -1.0), (kinked, 0.0), (kinked, 1.0)])
def test_functions_that_differ_far_from_zero_or_at_a_kink_alone_have_two_names(make, where):
    """A fingerprint looks as far as values go."""
    assert make(1, where).name != make(2, where).name


@pytest.mark.parametrize("name", ["hardtanh", "relu"])
def test_what_gives_the_same_has_one_name_outside_the_registry(name: str) -> None:
    """Made anew, or put together from the parts of one that is in it: a checkpoint is of what a graph computes."""
    assert dataclasses.replace(ACTIVATIONS[name]).name == Activation(*FUNCTIONS[name]).name != name


def test_a_slope_that_is_not_that_of_f_is_said() -> None:
    """What is refused of a function is in test_refusals.py."""
    with pytest.warns(UserWarning, match=r"slope\(.*\) = .*, but f rises by .* there"):
        PCGraph(FULL, Activation(torch.sin, torch.sin))
