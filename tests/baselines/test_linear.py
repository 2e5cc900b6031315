"""The linear classifier: the gradient of what it minimizes is zero where training ends. Oracles: torch's least squares
on the stacked images, the normal equations, autograd in float64, normal densities."""

import math

import pytest
import torch
from torch.distributions import MultivariateNormal
from torch.nn.functional import cross_entropy, one_hot

from pcgraph_lite.baselines.linear import METHODS, Linear, fit_linear


def data(count: int = 120, pixels: int = 9) -> tuple[torch.Tensor, torch.Tensor]:
    """Noisy classes in float64; the last pixel is always 0."""
    generator = torch.Generator().manual_seed(0)
    images = torch.rand(count, pixels, generator=generator, dtype=torch.float64)
    images[:, -1] = 0
    return images, (images[:, :4] + 0.3 * torch.rand(count, 4, generator=generator)).argmax(-1)


def trained(method: str, **settings: object) -> Linear:
    model = Linear(9, 4).double()
    fit_linear(model, *data(), method=method, progress=False, **settings)
    return model


def test_least_squares_is_the_solution_of_least_norm():
    """torch.linalg.lstsq on the images themselves, rank deficient as they are, agrees."""
    images, labels = data()
    x = torch.cat([images, torch.ones(120, 1).double()], -1)
    expected = torch.linalg.lstsq(x, one_hot(labels, 4).double(), driver="gelsd").solution
    model = trained("least-squares")
    assert torch.allclose(model.weight, expected[:-1], atol=1e-9)
    assert torch.allclose(model.bias, expected[-1], atol=1e-9)
    assert not model.weight[-1].any()


@pytest.mark.parametrize("decay", [0.0, 0.1])
@pytest.mark.parametrize("method", ["least-squares", "logistic-regression"])
def test_the_gradient_vanishes(method: str, decay: float):
    (images, labels), model = data(), trained(method, weight_decay=decay)
    weight, bias = model.weight.detach().clone().requires_grad_(), model.bias.detach().clone().requires_grad_()
    scores = images @ weight + bias
    loss = cross_entropy(scores, labels) if method == "logistic-regression" else \
        (scores - one_hot(labels, 4)).square().sum(-1).mean() / 2
    loss = loss + decay / 2 * weight.square().sum()
    gradient = torch.autograd.grad(loss, (weight, bias))
    assert max(float(g.abs().max()) for g in gradient) < 1e-6


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_discriminant_analysis_compares_normal_densities(decay: float):
    """Scores of two classes differ as logarithms of their shares and densities do; the last pixel says nothing."""
    (images, labels), model = data(), trained("discriminant-analysis", weight_decay=decay)
    seen, classes = images[:, :-1], [images[labels == k, :-1] for k in range(4)]
    within = sum((one - one.mean(0)).T @ (one - one.mean(0)) for one in classes) / len(seen) + decay * torch.eye(8)
    logs = torch.stack([MultivariateNormal(one.mean(0), within).log_prob(seen) + math.log(len(one) / len(seen))
                        for one in classes], -1)                           # (count, labels)
    scores = model.scores(images)
    assert torch.allclose(scores - scores[:, :1], logs - logs[:, :1], atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_history_and_answers(method: str):
    """Loss and accuracy in the history are those of the model; a class never seen is never named."""
    model, (images, labels) = Linear(9, 5), data()
    few = images[:30], labels[:30]
    row = fit_linear(model, images, labels, method=method, validation=few, progress=False).iloc[0]
    answers = model.classify(images[:30])
    assert row.validation == pytest.approx(float((answers == labels[:30]).double().mean()))
    scores = images.float() @ model.weight + model.bias
    expected = cross_entropy(scores, labels) if method != "least-squares" else \
        (scores - one_hot(labels, 5)).square().sum(-1).mean() / 2
    assert row.loss == pytest.approx(float(expected), rel=1e-5)
    assert torch.equal(answers, scores[:30].argmax(-1)) and answers.max() < 4
    assert row.validation > 0.7
