"""The Boltzmann machine. Oracles: all states of 6 vertices, with their likelihood and its autograd gradient; the free
energy, a bound that is stationary at mean-field fixed points; independent vertices, for which mean field is exact."""

from itertools import product

import pytest
import torch

from pcgraph_lite.baselines.boltzmann import Boltzmann, contrast

# (64, 6): 3 pixels, 1 label, 2 hidden vertices
STATES = torch.tensor(list(product([0.0, 1.0], repeat=6)), dtype=torch.float64)
VISIBLE = torch.tensor([[1, 0, 1, 1], [0, 0, 1, 0], [1, 1, 1, 1]], dtype=torch.float64)
AGREE = (STATES[:, None, :4] == VISIBLE).all(-1)                           # (64, 3)


def machine(std: float = 0.5, **settings: object) -> Boltzmann:
    """3 pixels, 1 label, 2 hidden vertices in float64, with some biases."""
    model = Boltzmann(3, 1, 2, init_std=std, generator=torch.Generator().manual_seed(0), **settings).double()
    model.bias.copy_(0.5 * torch.randn(6, generator=torch.Generator().manual_seed(1)))
    return model


def log_likelihood(weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Mean log p(visible) by summing over all 64 states, and over the 4 that agree with each visible vector."""
    score = ((STATES @ weight) * STATES).sum(-1) / 2 + STATES @ bias       # (64,): -E
    return torch.stack([score[AGREE[:, k]].logsumexp(0) for k in range(3)]).mean() - score.logsumexp(0)


def exact_gradient(model: Boltzmann) -> tuple[torch.Tensor, torch.Tensor]:
    """Of minus the log-likelihood, by autograd; each edge is one parameter in two places, hence the symmetric half."""
    weight, bias = model.weight.detach().clone().requires_grad_(), model.bias.detach().clone().requires_grad_()
    by_weight, by_bias = torch.autograd.grad(-log_likelihood(weight, bias), (weight, bias))
    return (by_weight + by_weight.T).fill_diagonal_(0), by_bias


def drawn(probability: torch.Tensor) -> torch.Tensor:
    """All states as rows, each as often as its probability (rounded to millionths) says."""
    return STATES.repeat_interleave((probability * 1e6).round().long(), 0)


def energy(model: Boltzmann, state: torch.Tensor) -> torch.Tensor:
    """E(s), ``(batch,)``."""
    return -torch.einsum("bi,ij,bj->b", state, model.weight, state) / 2 - state @ model.bias


def free_energy(model: Boltzmann, mean: torch.Tensor) -> torch.Tensor:
    """Mean energy less entropy of independent vertices with these means, ``(batch,)``."""
    return energy(model, mean) + (torch.special.xlogy(mean, mean) + torch.special.xlogy(1 - mean, 1 - mean)).sum(-1)


def test_the_learning_rule_is_the_likelihood_gradient_when_the_expectations_are_exact():
    """States in the proportions of the exact distributions, clamped and free, put into ``contrast``."""
    model = machine()
    free = (-energy(model, STATES)).softmax(0)                              # (64,)
    clamped = (-energy(model, STATES)[:, None]).masked_fill(~AGREE, -torch.inf).softmax(0).mean(1)
    weight, bias = contrast(drawn(clamped), drawn(free))
    expected_weight, expected_bias = exact_gradient(model)
    assert torch.allclose(weight, expected_weight, atol=1e-4)
    assert torch.allclose(bias, expected_bias, atol=1e-4)


def test_mean_field_is_exact_without_weights_and_nearly_so_with_weak_ones():
    """The error of the whole learning step, run to rest, falls with the weights, and is nothing at 0."""
    errors = []
    for std in (0.4, 0.04, 0.0):
        model = machine(std, clamped_steps=500, free_steps=500)
        got, expected = contrast(*model.phases(VISIBLE)), exact_gradient(model)
        errors.append(max(float((a - b).abs().max()) for a, b in zip(got, expected, strict=True)))
    assert errors[1] < 0.2 * errors[0] and errors[2] < 1e-12


@pytest.mark.parametrize("free_from", [0, 4])
def test_a_fixed_point_is_stationary_for_the_free_energy_which_is_a_bound(free_from: int):
    model = machine()
    start = torch.cat([VISIBLE, torch.full((3, 2), 0.5, dtype=torch.float64)], -1)
    rest = model.relax(start, free_from, 2000)
    assert torch.allclose(rest[:, free_from:], (rest @ model.weight + model.bias).sigmoid()[:, free_from:], atol=1e-12)
    assert torch.equal(rest[:, :free_from], start[:, :free_from])
    mean = rest.clone().requires_grad_()
    slope, = torch.autograd.grad(free_energy(model, mean).sum(), mean)
    assert slope[:, free_from:].abs().max() < 1e-10
    agree = (STATES[:, None, :free_from] == start[:, :free_from]).all(-1)  # (64, 3)
    score = (-energy(model, STATES)[:, None]).masked_fill(~agree, -torch.inf)
    assert (free_energy(model, rest) >= -score.logsumexp(0) - 1e-12).all()
