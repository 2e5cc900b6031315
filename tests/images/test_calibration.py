"""Oracles: readers whose answer is fixed; ridge regression as least squares with extra rows; SciPy's Gaussian."""

import math

import pytest
import torch
from pictures import Says, seeded
from scipy import ndimage

from pcgraph_lite.images import calibration, datasets

SAMPLE = {split: datasets.load("mnist", split, sample=True).subset(300, seeded()) for split in ("train", "test")}


def rows_of(answer: int) -> dict[str, dict]:
    rows = calibration.table(Says(answer), SAMPLE["train"], SAMPLE["test"], SAMPLE["test"].images)
    assert len({row["pictures"] for row in rows}) == len(rows)
    return {row["pictures"]: row for row in rows}


def test_one_answer_is_right_for_one_class_and_unreadable_never():
    rows, share = rows_of(3), (SAMPLE["test"].labels == 3).double().mean().item()
    for name, row in rows.items():
        blank = name in ("blank", "uniform, every grey level")             # found by their contrast
        assert row["unreadable"] == blank and row["commonest"] == (-1 if blank else 3), name
    assert {row["right"] for name, row in rows.items() if row["count"] == 300 and row["right"] is not None} == {share}
    assert rows["class means"]["right"] == 0.1 and rows["class means"]["count"] == 10
    assert rows["blank"]["right"] is None and rows["mean image"]["count"] == 1
    rows = rows_of(10)
    assert all(row["unreadable"] == 1 and row["right"] in (0, None) and row["commonest"] == -1 for row in rows.values())


def test_pictures_are_pictures():
    pairs = calibration.with_class(**SAMPLE) | calibration.without_class(**SAMPLE, foreign=SAMPLE["test"].images)
    for name, (images, labels) in pairs.items():
        assert images.shape[1] == 784 and images.min() >= 0 and images.max() <= 1, name
        assert labels is None or len(labels) == len(images), name
    again = calibration.with_class(**SAMPLE)
    assert all(torch.equal(images, again[name][0]) for name, (images, _) in pairs.items() if name in again)


def test_completions_keep_the_upper_half_and_know_nothing_of_the_lower_one():
    truth = SAMPLE["test"]
    changed = datasets.ImageSet("mnist", truth.images.clone(), truth.labels, truth.shape, "made here")
    changed.images[:, 392:] = 0.3
    for name in ("by ridge regression", "of the mean image", "blank"):
        images = calibration.with_class(**SAMPLE)[f"lower half {name}"][0]
        assert torch.equal(images[:, :392], truth.images[:, :392])
        assert torch.equal(images, calibration.with_class(SAMPLE["train"], changed)[f"lower half {name}"][0])


def test_ridge_is_least_squares_with_extra_rows():
    train, images, known = torch.rand(40, 9), torch.rand(5, 9), torch.arange(9) < 6
    extra = torch.eye(6) * (calibration.DECAY * 40) ** 0.5                 # nothing for the constant: it is not shrunk
    left = torch.cat([torch.cat([train[:, :6], torch.ones(40, 1)], 1), torch.cat([extra, torch.zeros(6, 1)], 1)])
    right = torch.cat([train, torch.zeros(6, 9)])
    weights = torch.linalg.lstsq(left.double(), right.double()).solution
    expected = torch.cat([images[:, :6], torch.ones(5, 1)], 1).double() @ weights
    torch.testing.assert_close(calibration.ridge(train, images, known), expected.clamp(0, 1).float())


@pytest.mark.parametrize("name", ["salt and pepper, 20%", "Gaussian noise, variance 0.2", "uniform noise"])
def test_noise_has_the_size_that_it_is_called_after(name):
    images, _ = calibration.without_class(**SAMPLE, foreign=SAMPLE["test"].images)[name]
    white, dark = (images == 1).float().mean().item(), (images == 0).float().mean().item()
    tail = torch.distributions.Normal(0, 1).cdf(torch.tensor(-(0.2**-0.5))).item()         # beyond 1, cut to 1
    expected = {"salt": (0.1, 0.9), "Gaus": (tail, 0.5), "unif": (0, 0)}[name[:4]]
    assert (white, dark) == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize("sigma", [0.7, 1.0, 2.0])
def test_blur_of_one_point_is_a_gaussian(sigma):
    point = torch.zeros(1, 28, 28)
    point[0, 14, 14] = 1
    expected = ndimage.gaussian_filter(point.numpy(), sigma, radius=math.ceil(2.5 * sigma), axes=(1, 2))
    torch.testing.assert_close(calibration.blurred(point.flatten(1), sigma), torch.from_numpy(expected).flatten(1))


def test_specks_are_white_or_black_each_as_likely():
    specks = calibration.specks(torch.full((200, 784), 0.5), 0.3, seeded())
    for level, share in ((1, 0.15), (0, 0.15), (0.5, 0.7)):
        assert (specks == level).float().mean().item() == pytest.approx(share, abs=0.01)


def test_clouds_use_the_whole_range():
    clouds = calibration.clouds(torch.zeros(50, 784), 2.0, seeded())
    assert torch.equal(clouds.amax(1), torch.ones(50)) and clouds.min() == 0
    steps = [calibration.clouds(torch.zeros(50, 784), sigma, seeded()).view(50, 28, 28).diff(dim=2).abs().mean()
             for sigma in (0.5, 1.0, 2.0)]
    assert steps[0] > steps[1] > steps[2], "smoother the wider"
