"""Recurrent backpropagation. Oracles: 400 steps of the dynamics unrolled by autograd in float64; the adjoint equation
solved by linear algebra; a multilayer perceptron, which is a network without cycles."""

import pytest
import torch
from torch.nn.functional import one_hot

from pcgraph_lite.baselines.almeida_pineda import AlmeidaPineda


def network(std: float = 0.15, **settings: object) -> AlmeidaPineda:
    """5 pixels, 3 labels, 6 internal vertices, float64, run to rest."""
    settings = {"steps": 1000, "tolerance": 1e-15, "generator": torch.Generator().manual_seed(0)} | settings
    model = AlmeidaPineda(5, 3, 6, init_std=std, **settings).double()
    model.bias.copy_(0.3 * torch.randn(14, generator=torch.Generator().manual_seed(1)))
    return model


def data(count: int = 8) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.rand(count, 5, dtype=torch.float64), torch.arange(count) % 3


def wanted(labels: torch.Tensor) -> torch.Tensor:
    """+0.8 for the class, -0.8 for the others."""
    return 1.6 * one_hot(labels, 3) - 0.8


def unrolled(model: AlmeidaPineda, images: torch.Tensor, labels: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """The gradient by autograd through 400 steps of the dynamics."""
    weight, bias = model.weight.detach().clone().requires_grad_(), model.bias.detach().clone().requires_grad_()
    x = torch.cat([images, torch.zeros(len(images), 9, dtype=torch.float64)], -1)
    y = torch.zeros_like(x)
    for _ in range(400):
        y = torch.tanh(y @ weight + bias + x)
    loss = (y[:, 5:8] - wanted(labels)).square().sum() / (2 * len(images))
    return torch.autograd.grad(loss, (weight, bias))


@pytest.mark.parametrize("damping", [0.0, 0.4])
def test_the_gradient_is_that_of_the_converged_dynamics(damping: float):
    model, (images, labels) = network(damping=damping), data()
    weight, bias, facts = model.gradient(images, labels)
    expected_weight, expected_bias = unrolled(model, images, labels)
    assert facts["settled"] == 1
    assert torch.allclose(weight, expected_weight.fill_diagonal_(0), atol=1e-8, rtol=1e-8)
    assert torch.allclose(bias, expected_bias, atol=1e-8, rtol=1e-8)


def test_both_fixed_points_solve_their_equations():
    """y by substitution; z, for each example, by a linear solve: (1 - D W^T) z = D e with D = diag f'(u)."""
    model, (images, _) = network(), data()
    y = model(images).values
    outside = torch.cat([images, torch.zeros(8, 9, dtype=torch.float64)], -1) + model.bias
    assert torch.allclose(y, torch.tanh(y @ model.weight + outside), atol=1e-12)
    error = torch.randn(8, 14, dtype=torch.float64)
    z = model.adjoint(y, error).values
    for k in range(8):
        slope = torch.diag(1 - torch.tanh(y[k] @ model.weight + outside[k]) ** 2)
        expected = torch.linalg.solve(torch.eye(14).double() - slope @ model.weight, slope @ error[k])
        assert torch.allclose(z[k], expected, atol=1e-10)


def test_without_cycles_it_is_backpropagation():
    """Edges pixels -> internal -> labels alone: a perceptron with one hidden layer, and its gradient."""
    model, (images, labels) = network(std=0.5), data()
    mask = torch.zeros(14, 14)
    mask[:5, 8:], mask[8:, 5:8] = 1, 1
    model.weight.mul_(mask)
    model.bias[:5] = 0
    inward, outward = (part.clone().requires_grad_() for part in (model.weight[:5, 8:], model.weight[8:, 5:8]))
    hidden = torch.tanh(torch.tanh(images) @ inward + model.bias[8:])      # a pixel vertex passes f(x) on
    out = torch.tanh(hidden @ outward + model.bias[5:8])
    loss = (out - wanted(labels)).square().sum() / 16
    expected = torch.autograd.grad(loss, (inward, outward))
    weight, _, facts = model.gradient(images, labels)
    assert facts["loss"] == pytest.approx(loss.item(), rel=1e-12)
    assert torch.allclose(weight[:5, 8:], expected[0], atol=1e-12)
    assert torch.allclose(weight[8:, 5:8], expected[1], atol=1e-12)
    assert torch.equal(model.classify(images), out.argmax(-1))


def test_an_example_that_does_not_rest_teaches_nothing():
    """Two vertices that chase each other (w, -w) turn for ever once w is large; the rest of the batch still counts."""
    model = network(std=0.0, steps=60, tolerance=1e-6)
    model.bias.zero_()
    model.weight[0, 8], model.weight[8, 0], model.weight[1, 5] = 4.0, -4.0, 0.5
    images = torch.tensor([[0.0, 0.3, 0, 0, 0], [0.2, 0.3, 0, 0, 0]], dtype=torch.float64)
    rest = model(images)
    assert rest.settled.tolist() == [True, False]
    both, _, facts = model.gradient(images, torch.tensor([0, 0]))
    alone, _, _ = model.gradient(images[:1], torch.tensor([0]))
    assert facts["settled"] == 0.5
    assert torch.allclose(both, alone / 2, atol=1e-12)
