"""Closed forms of completion and denoising. Oracles: loops over pixels; least squares by another route; all cyclic
shifts of a picture, for which the best linear map is the Wiener filter."""

import pytest
import torch

from pcgraph_lite.baselines import rivals

SHAPE, TOP = (1, 6, 6), torch.arange(36) < 18


@pytest.fixture
def images() -> torch.Tensor:
    """60 smooth random pictures, ``(60, 36)``."""
    return torch.nn.functional.avg_pool2d(torch.rand(60, *SHAPE, dtype=torch.float64), 3, 1, 1).flatten(1)


def test_ridge_is_the_augmented_least_squares_solution(images):
    """Ridge = plain least squares with sqrt(penalty * count) I below the inputs and zeros below the targets."""
    known, penalty = TOP, 0.01
    fitted = rivals.ridge(images, images, known, [penalty])
    x, y = images[:, known], images[:, ~known]
    x, y = x - x.mean(0), y - y.mean(0)
    below = (penalty * len(x)) ** 0.5 * torch.eye(18, dtype=x.dtype)
    exact = torch.linalg.lstsq(torch.cat([x, below]), torch.cat([y, torch.zeros(18, 18, dtype=y.dtype)])).solution
    torch.testing.assert_close(fitted.weight, exact)


def test_ridge_takes_the_penalty_that_is_best_on_held_out_images(images):
    """Of one that fits and one that flattens everything."""
    train, held_out, known = images[:40], images[40:], TOP
    errors = {penalty: (rivals.complete_with(rivals.ridge(train, held_out, known, [penalty]), held_out, known)
                        - held_out).square().mean() for penalty in (1e-3, 1e3)}
    chosen = rivals.ridge(train, held_out, known, [1e3, 1e-3])
    assert (rivals.complete_with(chosen, held_out, known) - held_out).square().mean() == min(errors.values())


def test_completions_keep_what_is_known(images):
    train, asked, known = images[:50], images[50:], TOP
    mean = rivals.mean_image(train, asked, known)
    assert torch.equal(mean[:, known], asked[:, known])
    torch.testing.assert_close(mean[:, ~known], train[:, ~known].mean(0).expand(10, -1))
    ridge = rivals.complete_with(rivals.ridge(train, asked, known), asked, known)
    assert torch.equal(ridge[:, known], asked[:, known])


def test_images_of_another_precision_are_computed_in_single(images):
    train, asked, known = images[:30].half(), images[30:34].half(), torch.arange(images.shape[1]) % 2 == 0
    whole = rivals.nearest_neighbour(train.float(), asked.float(), known)
    assert torch.equal(rivals.nearest_neighbour(train, asked, known).float(), whole)
    fitted = rivals.ridge(train.float(), train.float(), known)
    filled = rivals.complete_with(fitted, asked.float(), known)
    for dtype in (torch.float16, torch.float64):
        assert torch.equal(rivals.complete_with(fitted, asked.to(dtype), known), filled.to(dtype))
    shape = (1, 1, images.shape[1])
    torch.testing.assert_close(rivals.wiener_filter(train, 0.1, shape)(asked),
                               rivals.wiener_filter(train.float(), 0.1, shape)(asked.float()))


def test_nearest_neighbour_is_the_brute_force_one(images):
    train, asked, known = images[:50], images[50:], TOP
    for row, image in zip(rivals.nearest_neighbour(train, asked, known), asked, strict=True):
        distances = [float(((candidate - image)[known] ** 2).sum()) for candidate in train]
        best = train[distances.index(min(distances))]
        assert torch.equal(row, torch.cat([image[:18], best[18:]]))


def test_box_filter_is_the_mean_of_the_neighbours(images):
    picture, blurred = images[0].view(6, 6), rivals.box_filter(images[:1], SHAPE)[0].view(6, 6)
    for row in range(6):
        for column in range(6):
            around = picture[max(0, row - 1):row + 2, max(0, column - 1):column + 2]
            assert blurred[row, column] == pytest.approx(float(around.mean()))


def test_wiener_filter_is_the_best_linear_map_where_no_place_is_special(images):
    """All cyclic shifts of some pictures: the covariance is diagonal in frequencies."""
    shifted = torch.cat([images[:2].view(-1, 6, 6).roll((down, right), (1, 2)).flatten(1)
                         for down in range(6) for right in range(6)])
    noisy = images[3:8]
    best = rivals.best_linear(shifted, 0.05)
    torch.testing.assert_close(rivals.wiener_filter(shifted, 0.05, SHAPE)(noisy), best(noisy))


def test_best_linear_map_is_the_regression_on_noisy_images(images):
    """Its normal equations, with the expected second moments of noise added: gradient zero by autograd."""
    variance, fitted = 0.1, rivals.best_linear(images, 0.1)
    weight = fitted.weight.clone().requires_grad_()
    centred = images - images.mean(0)
    expected = (centred @ weight - centred).square().sum() / len(images) + variance * weight.square().sum()
    gradient, = torch.autograd.grad(expected, weight)
    assert float(gradient.abs().max()) < 1e-10


def test_principal_components_are_the_truncated_singular_vectors(images):
    """Eckart and Young: of all matrices of that rank, U S V with the largest S comes nearest to the centred images."""
    mean = images.mean(0)
    u, s, v = torch.linalg.svd(images - mean, full_matrices=False)
    nearest = (u[:, :5] * s[:5]) @ v[:5] + mean
    torch.testing.assert_close(rivals.principal_components(images, 5)(images), nearest.clamp(0, 1))
