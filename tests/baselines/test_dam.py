"""The dense associative memory. Oracles: its energy as a sum over memories; autograd; memories that are the images
themselves; the rule of the source written out for one memory at a time."""

import pytest
import torch

from pcgraph_lite.baselines import dam
from pcgraph_lite.baselines.dam import DAM, Annealing, Scaled

IMAGES = torch.rand(6, 8, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def small(power: int = 3) -> DAM:
    """8 pixels, 3 labels, 5 memories in float64."""
    return DAM(8, 3, memories=5, power=power, generator=torch.Generator().manual_seed(0)).double()


def energy(model: DAM, x: torch.Tensor) -> float:
    """E(x) of one state in [-1, 1], written out."""
    return -sum(max(float(sum(a * b for a, b in zip(xi, x, strict=True))), 0.0) ** model.power
                for xi in model.memory.tolist())


@pytest.mark.parametrize("power", [2, 3, 5])
def test_the_gain_of_a_label_is_the_fall_of_the_energy(power: int):
    model, temperature = small(power), 0.3
    gain = model.gain(IMAGES, temperature)
    for row, image in zip(gain, IMAGES.tolist(), strict=True):
        off = [2 * pixel - 1 for pixel in image] + [-1.0] * 3
        for label in range(3):
            on = [*off[:8], *(1.0 if k == label else -1.0 for k in range(3))]
            fall = (energy(model, off) - energy(model, on)) / (temperature * 11) ** power
            assert float(row[label]) == pytest.approx(fall, rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("rows", [2, 4, 250])   # images looked at together: all of them fit into 250
@pytest.mark.parametrize(("power", "loss_power"), [(2, 1), (3, 4), (4, 2)])
def test_the_gradient_is_that_of_autograd(monkeypatch: pytest.MonkeyPatch, power: int, loss_power: int, rows: int):
    monkeypatch.setattr(dam, "ROWS", rows)
    model, labels = small(power), torch.arange(6) % 3
    model.memory.requires_grad_()
    c = model.gain(IMAGES, 0.2).tanh()
    target = 2 * torch.nn.functional.one_hot(labels, 3) - 1
    expected, = torch.autograd.grad(((c - target) ** (2 * loss_power)).sum(), model.memory)
    model.memory.requires_grad_(False)
    got = dam.gradient(model, IMAGES, labels, 0.2, loss_power)
    assert expected.abs().max() > 1e-6
    assert torch.allclose(got, expected, rtol=1e-9, atol=1e-15)


def test_a_step_is_the_sources():
    """Two steps: velocity with momentum, each memory's largest change the learning rate, entries within [-1, 1]."""
    p = torch.nn.Parameter(torch.tensor([[0.0, 0.5, -0.99], [0.1, 0.2, 0.3]]), requires_grad=False)
    optimizer, gradients = Scaled([p], lr=0.04, momentum=0.6), [[[1.0, -2, 4], [0, 0, 0]], [[2.0, 2, 2], [0, 3, -1]]]
    expected, velocity = p.tolist(), [[0.0] * 3, [0.0] * 3]
    for gradient in gradients:
        p.grad = torch.tensor(gradient)
        optimizer.step()
        for mu in range(2):
            velocity[mu] = [0.6 * v - g for v, g in zip(velocity[mu], gradient[mu], strict=True)]
            largest = max(map(abs, velocity[mu])) or 1.0
            expected[mu] = [min(1.0, max(-1.0, x + 0.04 * v / largest))
                            for x, v in zip(expected[mu], velocity[mu], strict=True)]
        assert torch.allclose(p, torch.tensor(expected), atol=1e-6)
    assert expected[0][2] == -1.0                                          # the bound was met


def test_memories_that_are_the_images_name_their_labels():
    """With a high power the nearest memory decides alone."""
    patterns = (IMAGES > 0.5).double()
    labels = torch.tensor([0, 1, 2, 2, 1, 0])
    model = DAM(8, 3, memories=6, power=20).double()
    model.memory.copy_(torch.cat([2 * patterns - 1, 2 * torch.nn.functional.one_hot(labels, 3) - 1], -1))
    assert len(patterns.unique(dim=0)) == 6
    assert torch.equal(model.classify(patterns), labels)


def test_temperature_falls_straight_and_then_stays():
    annealing = Annealing(epochs=10, warm=0.5, cold=0.1, ramp=4)
    assert [annealing.temperature(k) for k in range(6)] == pytest.approx([0.5, 0.4, 0.3, 0.2, 0.1, 0.1])


def test_bright_pictures_need_memories_around_zero():
    """With a negative mean no memory overlaps with a white picture, so nothing pulls; with zero about half do."""
    white, labels = torch.ones(4, 300), torch.arange(4) % 3
    for start_mean, learns in ((-0.3, False), (0.0, True)):
        model = DAM(300, 3, memories=50, start_mean=start_mean, generator=torch.Generator().manual_seed(0))
        assert bool(dam.gradient(model, white, labels, 0.2, 2).any()) is learns
        assert float(model.memory.mean()) == pytest.approx(start_mean, abs=0.01)
