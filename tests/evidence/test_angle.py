"""Oracle: the linear solution, and autograd (both in float64)."""

import measure_angle as angle
import pytest
import torch
from torch.nn.functional import one_hot

from pcgraph_lite import PCGraph, Settings, topology
from pcgraph_lite.engine.inference import settle
from pcgraph_lite.engine.learning import started


def problem(activation: str = "linear") -> tuple[PCGraph, torch.Tensor, torch.Tensor]:
    graph = PCGraph(topology.discriminative(12, (9, 8), 4), activation, dtype=torch.float64)
    return graph, torch.rand(20, 12, dtype=torch.float64), one_hot(torch.arange(20) % 4, 4).double()


def equilibrium_error(weights: list[torch.Tensor], error: torch.Tensor) -> torch.Tensor:
    """The error at the labels of a linear chain at equilibrium, from that of the forward pass: each hidden layer moves
    so that eps_l = eps_{l+1} W_{l+1}^T; what reaches the labels is the sum over layers of eps_L P^T P, P the product of
    the weights from that layer to the labels, so eps_L = e (I + sum P^T P)^-1. The pixels are held."""
    product, total = torch.eye(weights[-1].shape[1], dtype=error.dtype), torch.eye(error.shape[1], dtype=error.dtype)
    for weight in reversed(weights[1:]):
        product = weight @ product                                         # (layer, classes)
        total = total + product.T @ product
    return torch.linalg.solve(total, error.T).T


def test_the_error_at_equilibrium_is_the_rescaled_one():
    """At rest the errors of a linear chain are those of the closed form, and its energy is e S^-1 e / 2."""
    graph, images, labels = problem()
    weights = list(graph.weights)
    error = labels - images @ weights[0] @ weights[1] @ weights[2]
    rest = settle(started(graph, {"pixels": images, "labels": labels}, 20), Settings(5000, "safe", 0.9))
    expected = equilibrium_error(weights, error)
    torch.testing.assert_close(graph.error(rest.x)[:, graph.topology.slice("labels")], expected, rtol=1e-5, atol=1e-6)
    held = images.square().sum(-1) / 2                                     # what the pixels pay, whatever happens
    torch.testing.assert_close(rest.energy[-1], held + (error * expected).sum(-1) / 2, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("activation", ["linear", "relu", "tanh"])
def test_a_short_relaxation_points_where_backpropagation_does(activation):
    """For a time towards 0 each layer's direction is backpropagation's, and the last layer's gradient is the same."""
    graph, images, labels = problem(activation)
    theirs = angle.bp_gradient(graph, images, labels)
    ours = angle.pc_gradient(graph, images, labels, steps=4, gamma=1e-5)
    for mine, backpropagated in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine / mine.norm(), backpropagated / backpropagated.norm(), rtol=1e-2, atol=1e-3)
    torch.testing.assert_close(ours[-1], theirs[-1], rtol=1e-3, atol=1e-4)
    angle_at_rest = angle.angles(graph, images, labels, 20.0)
    assert min(angle_at_rest[f"cosine{k}"] for k in (1, 2, 3)) < 0.99


def test_one_step_does_not_reach_the_first_layer():
    """An error runs back one layer a step: with T = 1 the first of three layers learns nothing."""
    first, second, _ = angle.pc_gradient(*problem(), steps=1, gamma=0.1)
    assert not first.any()
    assert second.any()
