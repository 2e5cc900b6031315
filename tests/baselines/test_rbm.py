"""The restricted Boltzmann machine. Oracles: sums over all states of 4 pixels, one label of 3 and 3 hidden vertices;
autograd of the exact likelihood; the exact distribution, which Gibbs sampling must not leave."""

from itertools import product

import torch
from pictures import bars

from pcgraph_lite.baselines import rbm
from pcgraph_lite.baselines.rbm import RBM, contrast, fit_rbm

PIXELS = torch.tensor(list(product([0.0, 1.0], repeat=4)), dtype=torch.float64)          # (16, 4)
VISIBLE = torch.cat([PIXELS.repeat_interleave(3, 0), torch.eye(3, dtype=torch.float64).repeat(16, 1)], -1)    # (48, 7)
HIDDEN = torch.tensor(list(product([0.0, 1.0], repeat=3)), dtype=torch.float64)          # (8, 3)


def machine() -> RBM:
    """In float64, with weights and biases that matter."""
    model, generator = RBM(4, 3, 3).double(), torch.Generator().manual_seed(0)
    for parameter in model.parameters():
        parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    return model


def scores(weight: torch.Tensor, visible_bias: torch.Tensor, hidden_bias: torch.Tensor) -> torch.Tensor:
    """-E of every visible and hidden state together, ``(48, 8)``."""
    return VISIBLE @ weight @ HIDDEN.T + (VISIBLE @ visible_bias)[:, None] + HIDDEN @ hidden_bias


def joint(model: RBM) -> torch.Tensor:
    """p(v, h), ``(48, 8)``."""
    table = scores(model.weight, model.visible_bias, model.hidden_bias)
    return table.flatten().softmax(0).view_as(table)


def test_conditional_means_and_classification_are_sums_over_states():
    model = machine()
    p = joint(model)
    assert torch.allclose(model.hidden_mean(VISIBLE), (p @ HIDDEN) / p.sum(1, keepdim=True), atol=1e-12)
    assert torch.allclose(model.visible_mean(HIDDEN), (p.T @ VISIBLE) / p.sum(0)[:, None], atol=1e-12)
    of_label = p.sum(1).view(16, 3)                             # p(pixels, label)
    assert torch.allclose(model.scores(PIXELS).softmax(-1), of_label / of_label.sum(1, keepdim=True), atol=1e-12)
    assert torch.equal(model.classify(PIXELS), of_label.argmax(1))


def test_the_learning_rule_is_the_likelihood_gradient_when_the_dream_is_exact():
    model, data = machine(), VISIBLE[[0, 7, 22, 40]]
    parameters = {name: p.detach().clone().requires_grad_() for name, p in model.named_parameters()}
    table = scores(parameters["weight"], parameters["visible_bias"], parameters["hidden_bias"])
    likelihood = table[[0, 7, 22, 40]].logsumexp(1).mean() - table.flatten().logsumexp(0)
    exact = dict(zip(parameters, torch.autograd.grad(-likelihood, list(parameters.values())), strict=True))
    dream = VISIBLE.repeat_interleave((joint(model).sum(1) * 1e6).round().long(), 0)
    for name, got in contrast(model, data, dream).items():
        assert torch.allclose(got, exact[name], atol=1e-4), name


def test_gibbs_sampling_goes_to_the_exact_distribution_and_holds_what_it_is_told():
    """40,000 chains, 40 steps: means within five standard errors, with nothing held and with two pixels held."""
    model, generator, p = machine(), torch.Generator().manual_seed(1), joint(machine()).sum(1)
    chains = model.sample(torch.zeros(40_000, 7, dtype=torch.float64), 40, generator)
    assert torch.allclose(chains.mean(0), p @ VISIBLE, atol=5 * 0.5 / 200)
    start = torch.tensor([1.0, 0, 0, 0, 0, 0, 0], dtype=torch.float64).repeat(40_000, 1)
    held = torch.tensor([True, True, False, False, False, False, False])
    chains = model.sample(start, 40, generator, held)
    agree = (VISIBLE[:, 0] == 1) & (VISIBLE[:, 1] == 0)
    assert torch.equal(chains[:, :2], start[:, :2])
    assert torch.allclose(chains.mean(0), (p * agree) @ VISIBLE / (p * agree).sum(), atol=5 * 0.5 / 200)


def test_one_step_from_known_hidden_states_is_the_conditional_mean():
    """With very strong weights the hidden states are certain, so the one step is its own mean-field step."""
    model = machine()
    model.weight.mul_(1000)
    v = VISIBLE[VISIBLE[:, 0] == 1]
    certain = (v @ model.weight).abs().amin(1) > 100
    got = model.sample(v[certain], 1, torch.Generator().manual_seed(0))
    assert certain.sum() > 5 and torch.allclose(got, model.visible_mean(model.hidden_mean(v[certain])), atol=1e-12)


def test_completion_never_looks_at_what_is_unknown():
    model, known = machine(), torch.tensor([True, True, False, False])
    images = torch.rand(5, 4, dtype=torch.float64)
    others = torch.where(known, images, 0.7)
    got, again = (rbm.complete(model, x, known, 3, torch.Generator().manual_seed(4)) for x in (images, others))
    assert torch.equal(got, again) and torch.equal(got[:, :2], images[:, :2])
    assert not torch.equal(got[:, 2:], images[:, 2:])
    cleaned = rbm.denoise(model, 3 * images - 1, 2, torch.Generator().manual_seed(4))
    assert cleaned.shape == (5, 4) and 0 <= float(cleaned.min()) <= float(cleaned.max()) <= 1


def test_training_completes():
    model, (images, labels), (asked, _) = RBM(12, 3, 12), bars(90), bars(30)
    fit_rbm(model, images, labels, epochs=40, batch_size=10, weight_lr=1e-2, progress=False)
    known = torch.arange(12) % 4 < 2                                       # half of each bar
    error = (rbm.complete(model, asked, known, 5, torch.Generator().manual_seed(0)) - asked).square()
    assert error[:, ~known].mean() < 0.5 * asked[:, ~known].var(0).mean()
