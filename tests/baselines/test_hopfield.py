"""The Hopfield network. Oracles: Hebb's and Storkey's rule as loops over their printed sums; orthogonal patterns, which
Hebb's rule must keep; the energy, which no single update may raise; images for which the answer is plain."""

import pytest
import torch
from scipy.linalg import hadamard

from pcgraph_lite.baselines import hopfield
from pcgraph_lite.baselines.hopfield import Hopfield, fit_hopfield


def signs(*shape: int, seed: int = 0) -> torch.Tensor:
    """Random -1 and 1 in float64."""
    drawn = torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return torch.where(drawn < 0.5, -1.0, 1.0).double()


def pictures(count: int = 40, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Three classes on 8 x 8 pixels: a bar each, with noise."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.arange(count) % 3
    clean = torch.zeros(3, 8, 8)
    clean[0, 2:6, 2], clean[1, 2:6, 5], clean[2, 3, 2:6] = 1, 1, 1
    noise = 0.2 * torch.rand(count, 64, generator=generator)
    return (0.8 * clean.flatten(1)[labels] + noise).clamp(0, 1), labels


def test_hebbs_and_storkeys_rule_are_their_sums():
    patterns = signs(3, 7)
    for i in range(7):
        for j in range(7):
            expected = 0.0 if i == j else sum(float(x[i] * x[j]) for x in patterns) / 7
            assert float(hopfield.hebb(patterns)[i, j]) == pytest.approx(expected, abs=1e-12)
    patterns, n = signs(4, 6), 6
    expected = torch.zeros(n, n, dtype=torch.float64)
    for x in patterns:
        before = expected.clone()
        for i in range(n):
            for j in range(n):
                if i == j:
                    continue
                h_ij = sum(float(before[i, k] * x[k]) for k in range(n) if k not in (i, j))
                h_ji = sum(float(before[j, k] * x[k]) for k in range(n) if k not in (i, j))
                expected[i, j] += float(x[i] * x[j] - x[i] * h_ji - h_ij * x[j]) / n
    assert torch.allclose(hopfield.storkey(patterns), expected, atol=1e-12)
    assert not torch.allclose(hopfield.storkey(patterns), hopfield.storkey(patterns.flip(0)), atol=1e-3)


@pytest.mark.parametrize("rule", ["hebb", "storkey"])
def test_orthogonal_patterns_stay_and_pull_their_neighbours(rule: str):
    """Rows of a Hadamard matrix: w x = (1 - m/n) x for m of them, so each is at rest; a flipped vertex returns."""
    patterns = torch.from_numpy(hadamard(32, dtype=float)[1:4]).float()    # (3, 32)
    model = Hopfield((1, 5, 5), 7)
    model.weight.copy_(hopfield.RULES[rule](patterns))
    everything = torch.arange(32)
    assert torch.equal(model.settle(patterns, everything), patterns)
    disturbed = patterns.clone()
    disturbed[:, 11] *= -1
    assert torch.equal(model.settle(disturbed, everything), patterns)


def energy(model: Hopfield, state: torch.Tensor) -> torch.Tensor:
    """-1/2 sum_ij w_ij s_i s_j, ``(batch,)``."""
    return -torch.einsum("bi,ij,bj->b", state, model.weight, state) / 2


def test_no_single_update_raises_the_energy_and_held_vertices_stay():
    model = Hopfield((1, 3, 4), 3).double()
    weight = torch.randn(15, 15, dtype=torch.float64)
    model.weight.copy_((weight + weight.T).fill_diagonal_(0))
    state = signs(20, 15)
    for i in torch.randperm(15).tolist() * 3:
        changed = model.settle(state, torch.tensor([i]))
        assert (energy(model, changed) <= energy(model, state) + 1e-12).all()
        assert torch.equal(changed[:, torch.arange(15) != i], state[:, torch.arange(15) != i])
        state = changed
    rest = model.settle(state, torch.arange(15))
    assert (rest * (rest @ model.weight) >= 0).all()                       # each vertex agrees with its field


def test_images_of_any_size_are_stored_whole_by_default() -> None:
    images, labels = torch.rand(6, 16), torch.arange(6) % 2
    history = fit_hopfield(Hopfield((1, 4, 4), 2), images, labels, progress=False)
    assert history["size"].item() == 4


def test_weights_are_symmetric_without_self_edges_and_only_inside_the_square():
    model, (images, labels) = Hopfield((1, 8, 8), 3), pictures()
    fit_hopfield(model, images, labels, sizes=[4], progress=False)
    assert torch.equal(model.weight, model.weight.T) and not model.weight.diagonal().any()
    inside = torch.zeros(8, 8, dtype=torch.bool)
    inside[2:6, 2:6] = True
    connected = model.weight.ne(0).any(0)
    assert not connected[:64][~inside.flatten()].any() and connected[64:].all()


def test_with_hebbs_rule_the_nearest_pattern_wins():
    """Pixels held, labels at 0: the field of label c is twice the overlap with pattern c, less the same for all."""
    images, labels = torch.rand(50, 36), torch.arange(50) % 5
    model = Hopfield((1, 6, 6), 5)
    fit_hopfield(model, images, labels, rule="hebb", sizes=[6], thresholds=[0.5], levels=[0.4], progress=False)
    means = torch.stack([images[labels == c].mean(0) for c in range(5)])
    x, patterns = torch.where(images > 0.4, 1.0, -1.0), torch.where(means > 0.5, 1.0, -1.0)
    field = torch.cat([x, torch.zeros(50, 5)], 1) @ model.weight[:, 36:]
    overlap = x @ patterns.T
    assert torch.allclose(field, (2 * overlap - overlap.sum(1, keepdim=True)) / 41, atol=1e-5)


@pytest.mark.parametrize("rule", ["hebb", "storkey"])
def test_choices_are_made_on_validation_images(rule: str):
    """At threshold 0.95 all patterns are alike, at level 0.95 all images; the level is kept with the weights."""
    model, again, other = Hopfield((1, 8, 8), 3), Hopfield((1, 8, 8), 3), pictures(30, seed=1)
    history = fit_hopfield(model, *pictures(), validation=other, rule=rule, sizes=[4, 8], thresholds=[0.95, 0.5],
                           levels=[0.95, 0.5], progress=False)
    row = history.iloc[0]
    assert (row.threshold, row.level, row.tried, row.validation) == (0.5, 0.5, 8, 1.0)
    again.load_state_dict(model.state_dict())
    assert float(again.level) == 0.5 and torch.equal(again.classify(other[0]), other[1])
