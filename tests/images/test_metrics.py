"""Measures. Oracles: closed formulas, counting by hand, and distances between Gaussians that are known exactly."""

import math
from unittest import mock

import pytest
import torch
from pictures import seeded
from scipy import stats
from torch import nn
from torch_fidelity.feature_extractor_inceptionv3 import FeatureExtractorInceptionV3

from pcgraph_lite import files
from pcgraph_lite.errors import BadFile
from pcgraph_lite.images import datasets, judge, metrics

NAN = float("nan")


def pictures(count: int = 4, seed: int = 0) -> torch.Tensor:
    return torch.rand(count, 784, generator=seeded(seed))


def test_table_matches_counting_by_hand():
    """The judge's -1, a picture that shows nothing, is a wrong answer of no class."""
    answers, labels = torch.tensor([0, 0, 0, 1, judge.UNREADABLE]), torch.tensor([0, 1, 1, 1, 0])
    table = metrics.classification_table(answers, labels, ["a", "b", "c"])
    assert table.loc["a"].tolist() == pytest.approx([1 / 3, 1 / 2, 0.4, 2])
    assert table.loc["b"].tolist() == pytest.approx([1, 1 / 3, 0.5, 3])
    assert table.loc["c"].tolist() == [0, 0, 0, 0]
    assert table.loc["all"].tolist() == pytest.approx([2 / 3, 5 / 12, 0.45, 5]), "mean over classes that occur"
    assert metrics.share_right(answers, labels) == 2 / 5


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_auroc_counts_ordered_pairs_at_any_scale(scale):
    """torchmetrics alone would squash large scores to ties; pairs are counted by hand, ties as a half."""
    scores = scale * torch.tensor([3.0, 1.0, 2.0, 2.0, 9.0, -5.0])
    positive = torch.tensor([True, False, True, False, True, False])
    pairs = [(p > n) + 0.5 * (p == n) for p in scores[positive].tolist() for n in scores[~positive].tolist()]
    assert metrics.auroc(scores, positive) == pytest.approx(sum(pairs) / len(pairs))
    assert metrics.auroc(-scores, positive) == pytest.approx(1 - sum(pairs) / len(pairs))
    assert metrics.auroc(torch.ones(6), positive) == pytest.approx(0.5)


def test_roc_counts_what_is_at_or_above_each_level():
    """Levels 9, 3, 2, 1 from the highest down, by hand; the tie at 2 is one slanted piece. The area is AUROC."""
    scores = torch.tensor([9.0, 3.0, 2.0, 2.0, 1.0])
    positive = torch.tensor([True, False, True, False, True])
    false_rate, true_rate = metrics.roc(scores, positive)
    assert false_rate.tolist() == pytest.approx([0, 0, 1 / 2, 1, 1])
    assert true_rate.tolist() == pytest.approx([0, 1 / 3, 1 / 3, 2 / 3, 1])
    scores = torch.randint(0, 20, (100,)).float()
    positive = torch.rand(100) < 0.05 * scores
    false_rate, true_rate = metrics.roc(scores, positive)
    assert float(torch.trapezoid(true_rate, false_rate)) == pytest.approx(metrics.auroc(scores, positive))


def test_seam_is_the_step_between_the_halves():
    """Rows 0 to 3 of two columns; known rows 2 and 3. The steps from row 1 to row 2 are 0.5 and 0.25."""
    image = torch.tensor([[0, 0], [0.25, 0.5], [0.75, 0.75], [0, 1]]).reshape(1, 8)
    known = datasets.bottom_half((1, 4, 2))
    assert metrics.seam(image, known, (1, 4, 2)).tolist() == [0.375]
    assert metrics.seam(image, ~known, (1, 4, 2)).tolist() == [0.375]     # whichever half is known


def test_mse_and_psnr_of_a_known_offset():
    """An offset of d everywhere: MSE d^2 and PSNR -20 log10(d), each image by itself."""
    originals = torch.full((3, 784), 0.2)
    offset = torch.tensor([0.0, 0.1, 0.5])
    images = originals + offset[:, None]
    torch.testing.assert_close(metrics.mse(images, originals), offset.square())
    expected = torch.tensor([math.inf, 20.0, -20 * math.log10(0.5)])
    torch.testing.assert_close(metrics.psnr(images, originals), expected, rtol=1e-4, atol=1e-4)


def test_ssim_is_that_of_each_image():
    """Without variance it is (2ab + C1) / (a^2 + b^2 + C1), C1 = 0.01^2. It is 1 for equal images alone."""
    a, b, c1 = 0.3, 0.6, 0.01 ** 2
    value = metrics.ssim(torch.full((2, 784), a), torch.full((2, 784), b))
    assert value.tolist() == pytest.approx([(2 * a * b + c1) / (a * a + b * b + c1)] * 2, rel=1e-4)
    images = pictures()
    torch.testing.assert_close(metrics.ssim(images, images), torch.ones(4))
    other = images.clone()
    other[2] = 1 - other[2]
    value = metrics.ssim(other, images)
    assert value[2] < 0 and torch.allclose(value[[0, 1, 3]], torch.ones(3))
    assert metrics.ssim(pictures()[:, :308], pictures()[:, :308], (1, 11, 28)).tolist() == [1] * len(pictures())


def test_background_energy_is_the_mean_square_where_the_original_is_0():
    """Three dark pixels of 0.6, -0.8 and 0: (0.36 + 0.64 + 0) / 3; the bright ones do not count."""
    original = torch.tensor([[0.0, 0.0, 1.0], [0.0, 0.5, 0.5]])
    images = torch.tensor([[0.6, -0.8, 0.3], [0.0, 0.9, 0.9]])
    assert metrics.background_energy(images, original) == pytest.approx(1 / 3)


class FourPixels(nn.Module):
    """Features that are known: the first four pixels."""

    feature_size = 4

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))

    def features(self, images):
        return images[:, :4] * self.weight


def test_frechet_distance_of_a_shift_and_of_a_scale():
    """Shift by d: |d|^2. Scale by s about the mean: (s - 1)^2 tr(C). Both exact for sample moments."""
    real = torch.randn(4000, 784)
    shift = torch.tensor([1.0, -2.0, 0.5, 0.0])
    shifted = real.clone()
    shifted[:, :4] += shift
    distance = metrics.frechet_judge_distance(FourPixels(), real, shifted)
    assert distance == pytest.approx(shift.square().sum().item(), rel=1e-3)
    mean = real.mean(0)
    trace = real[:, :4].double().var(0).sum().item()
    distance = metrics.frechet_judge_distance(FourPixels(), real, mean + 3 * (real - mean))
    assert distance == pytest.approx(4 * trace, rel=1e-3)
    assert metrics.frechet_judge_distance(judge.load_judge("mnist"), pictures(128), pictures(128)) >= 0    # are enough


@pytest.mark.slow
def test_fid_runs_from_a_weights_file(tmp_path, monkeypatch):
    """With the names and shapes of the real one; the weights are drawn, so no value means anything."""
    path = tmp_path / "weights.pth"
    with mock.patch.object(torch, "load", return_value={}), mock.patch.object(nn.Module, "load_state_dict"):
        network = FeatureExtractorInceptionV3("inception-v3-compat", ["64"], feature_extractor_weights_path=path)
    held = network.state_dict()
    for key, value in held.items():
        if key.endswith("conv.weight"):
            nn.init.kaiming_normal_(value, generator=seeded())
    torch.save(held, path)
    monkeypatch.setenv("PCGRAPH_INCEPTION", str(path))
    monkeypatch.setattr(metrics, "INCEPTION_DIGEST", files.digest(path)[:8])
    monkeypatch.setattr(metrics, "TIMES_FEATURES", 0.125)              # drawn weights need no good covariance
    real = datasets.load("mnist", "test", sample=True).images[:8]
    same = metrics.fid(real, real.flip(0), feature=64)
    worse = metrics.fid(real, datasets.noisy(real, 0.5, seeded()), feature=64)
    assert same == pytest.approx(0, abs=1e-3) and worse > 10 * same + 1e-3


def test_bytes_for_inception_are_rounded_clipped_and_grey():
    images = torch.tensor([[-1.0, 0.0, 0.5, 0.999, 1.0, 2.0]])
    colour = metrics._colour_bytes(images, (1, 2, 3))
    assert colour.dtype == torch.uint8 and colour.shape == (1, 3, 2, 3)
    assert all(plane.flatten().tolist() == [0, 0, 128, 255, 255, 255] for plane in colour[0])


def test_missing_inception_weights_say_what_to_do(monkeypatch, tmp_path):
    monkeypatch.delenv("PCGRAPH_INCEPTION", raising=False)
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    with pytest.raises(BadFile, match=r"no Inception weights at .*torch-fidelity.*PCGRAPH_INCEPTION.*not FID"):
        metrics.fid(pictures(4096), pictures(4096))


class Bomb:
    def __reduce__(self):
        return (pytest.fail, ("a weights file was allowed to run code",))


@pytest.mark.parametrize("start", [metrics.INCEPTION_DIGEST, ""])          # the latter: as if the digest were right
@pytest.mark.parametrize("content", ["text", "other", "bomb"])
def test_foreign_inception_weights_are_refused_without_running_them(tmp_path, monkeypatch, content, start):
    path = tmp_path / "weights.pth"
    monkeypatch.setattr(metrics, "INCEPTION_DIGEST", start)
    if content == "text":
        path.write_text("not weights")
    else:
        torch.save({"other": {"weight": torch.zeros(2)}, "bomb": Bomb()}[content], path)
    unread = r".*It was not read\." if start else ""                       # of another file nothing is unpickled
    with pytest.raises(BadFile, match=f"{path} does not hold Inception weights: expected.*6726825d.*found{unread}"):
        metrics.fid(pictures(128), pictures(128), path, feature=64)


@pytest.mark.parametrize("level", [0.95, 0.9])
def test_interval_is_students_t(level):
    """Of 1 to 5: mean 3, standard error sqrt(2.5 / 5), four degrees of freedom. One value has none."""
    expected = stats.t.interval(level, 4, 3, math.sqrt(0.5))
    assert metrics.mean_interval([1, 2, 3, 4, 5], level) == pytest.approx((3, *expected))
    assert metrics.mean_interval([2.0, 2.0], level) == (2, 2, 2)
    assert metrics.mean_interval([0.7], level) == pytest.approx((0.7, NAN, NAN), nan_ok=True)


def test_diversity_and_the_nearest_others() -> None:
    """All ordered pairs of different images of norm 1, written out: 2 - 2 cos of the angle. Contrast is no matter. The
    nearest: twins of another contrast, one at an angle of 60 degrees to them, one at a right angle to all."""
    images = torch.rand(6, 9)
    pairs = [float(2 - 2 * (a @ b) / (a.norm() * b.norm()))
             for i, a in enumerate(images) for j, b in enumerate(images) if i != j]
    assert metrics.diversity(images) == pytest.approx(sum(pairs) / len(pairs), rel=1e-5)
    assert metrics.diversity(images[:1].expand(4, -1)) == pytest.approx(0, abs=1e-9)
    assert metrics.diversity(torch.stack([images[0], torch.zeros(9)])) == pytest.approx(1)           # one is blank
    images = torch.tensor([[1.0, 0, 0], [0.2, 0, 0], [0.5, 0.75 ** 0.5, 0], [0, 0, 1.3]])
    torch.testing.assert_close(metrics.nearest_distances(images), torch.tensor([0, 0, 1, 2]).double())
