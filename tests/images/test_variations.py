"""Oracles: pixels that must stay the same, the Gaussian function, and how often each thing was to be drawn."""

import math

import pytest
import torch
import train_judges
from pictures import seeded

from pcgraph_lite.images import calibration

COUNT = 4_000
SQUARE = torch.zeros(28, 28)
SQUARE[8:20, 8:20] = 1                                                     # blurred, it does not reach the border


def inner(count: int) -> torch.Tensor:
    """Random images with an empty border of two pixels."""
    images = torch.zeros(count, 28, 28)
    images[:, 2:26, 2:26] = torch.rand(count, 24, 24, generator=seeded())
    return images.flatten(1)


def test_a_shift_moves_every_image_alike_and_loses_nothing():
    images = inner(8)
    moves = set()
    for seed in range(60):
        moved = train_judges.shifted(images, seeded(seed)).view(8, 28, 28)
        fits = [(down, right) for down in range(-2, 3) for right in range(-2, 3)
                if torch.equal(moved.roll((down, right), (1, 2)), images.view(8, 28, 28))]
        assert len(fits) == 1
        moves |= set(fits)
    assert len(moves) > 15, "25 moves are possible"


def test_mirroring_turns_half_of_the_images():
    images = inner(COUNT)
    turned = train_judges.mirrored(images, seeded())
    flipped = images.view(-1, 28, 28).flip(2).flatten(1)
    was = (turned == flipped).all(1)
    assert torch.equal(turned[~was], images[~was]) and 0.46 < was.float().mean() < 0.54


@pytest.mark.parametrize("sigma", [0.7, 1.0, 2.0])
def test_blur_of_one_point_is_a_gaussian(sigma):
    point = torch.zeros(1, 28, 28)
    point[0, 14, 14] = 1
    found = calibration.blurred(point.flatten(1), sigma).view(28, 28)
    reach = math.ceil(2.5 * sigma)
    bell = torch.tensor([math.exp(-k * k / (2 * sigma**2)) for k in range(-reach, reach + 1)])
    expected = torch.outer(bell, bell) / bell.sum() ** 2
    torch.testing.assert_close(found[14 - reach:15 + reach, 14 - reach:15 + reach], expected)
    assert found.sum().item() == pytest.approx(1, abs=1e-5)


def test_altered_images_stay_readable():
    """Three things happen independently: a quarter is blurred, half is fainter, a quarter has noise."""
    images = SQUARE.flatten().expand(COUNT, -1)
    altered = train_judges.altered(images, seeded())
    assert altered.min() >= 0 and altered.max() <= 1
    noisy = (altered[:, :28] != 0).any(1)                                  # the blur does not reach the first row
    fainter = ~noisy & (altered[:, 14 * 28 + 14] < 0.999)                  # the middle of the square is not blurred
    grey = (altered > 0) & (altered < altered.amax(1, keepdim=True) - 1e-4)
    soft = ~noisy & grey.any(1)
    for share, expected in ((noisy, 0.25), (fainter, 0.375), (soft, 0.1875)):
        assert share.float().mean().item() == pytest.approx(expected, abs=0.03)
    assert altered.amax(1).min() >= train_judges.FAINT
    same = (altered == images).all(1).float().mean().item()
    assert same == pytest.approx(0.75 * 0.5 * 0.75, abs=0.03)


def test_noise_on_a_picture_has_at_most_the_stated_variance():
    """Relative to its contrast. Half of the noise on black is cut off; half the variance is left as mean square."""
    altered = train_judges.altered(SQUARE.flatten().expand(COUNT, -1), seeded())
    square = altered[:, :8 * 28 - 84].square().mean(1)                     # above the square and its blur
    contrast = altered[:, 14 * 28 + 14].clamp(min=0.1)
    relative = (2 * square / contrast.square())[square > 0]
    assert 0.3 * train_judges.NOISE < relative.median() < 0.7 * train_judges.NOISE


def test_pictures_of_nothing_are_of_six_kinds():
    images = inner(COUNT)
    empty = train_judges.nothing(images, seeded())
    assert empty.shape == images.shape and empty.min() >= 0 and empty.max() <= 1
    grey = (empty == empty[:, :1]).all(1)
    shuffled = (empty.sort(1).values == images.sort(1).values).all(1)
    smooth = (empty.view(-1, 28, 28).diff(dim=2).abs().mean((1, 2)) < 0.15) & (empty.amax(1) == 1)
    for share in (grey, shuffled):
        assert share.float().mean().item() == pytest.approx(1 / 6, abs=0.03)
    assert 0.1 < (smooth & ~grey).float().mean() < 0.3
    assert not (empty[shuffled] == images[shuffled]).all(1).any(), "the pixels of an image lie elsewhere"


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


@pytest.mark.parametrize("name", ["altered", "nothing", "mirrored", "shifted"])
def test_same_generator_same_pictures(name):
    vary = getattr(train_judges, name)
    images = inner(100)
    assert torch.equal(vary(images, seeded(3)), vary(images, seeded(3)))
    assert not torch.equal(vary(images, seeded(3)), vary(images, seeded(4)))
