"""Simple rivals of graphs: closed forms that are fitted on training images in seconds.

A graph's completion or denoising is only worth something if it is better than these. Completion: the mean image, the
nearest neighbour, ridge regression. Denoising: a box filter, the Wiener filter, and the best of all linear maps.
Foreign images: the error of a few principal components.

Images are ``(batch, pixels)`` in [0, 1], noise is Gaussian of a known variance in these units.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import avg_pool2d

from .. import valid
from ..engine.scale import unscaled
from ..errors import BadInput, WrongShape
from ..precision import exactly
from ..valid import Count, Rate, Shape

PENALTIES = (1e-4, 1e-3, 1e-2, 1e-1)                                        # of ridge regression, times the images


@dataclass(frozen=True, eq=False)
class LinearMap:
    """``(x - mean_in) @ weight + mean_out``, clipped to [0, 1]."""

    weight: Tensor                                                         # (inputs, outputs)
    mean_in: Tensor                                                        # (inputs,)
    mean_out: Tensor                                                       # (outputs,)

    @exactly
    def __call__(self, x: Tensor) -> Tensor:
        """``(batch, inputs)`` to ``(batch, outputs)``, in the precision of the map. Raises WrongShape."""
        _require_size(x, len(self.mean_in))
        return ((x.to(self.weight) - self.mean_in) @ self.weight + self.mean_out).clamp(0, 1)

    def to(self, dtype: torch.dtype) -> "LinearMap":
        """The same map in another precision."""
        return LinearMap(self.weight.to(dtype), self.mean_in.to(dtype), self.mean_out.to(dtype))


@valid.checked
def mean_image(train: Tensor, images: Tensor, known: Tensor) -> Tensor:
    """Unknown pixels from the mean training image. ``(batch, pixels)``."""
    _check(train, images, known)
    return torch.where(known, images, train.mean(0))


@valid.checked
def nearest_neighbour(train: Tensor, images: Tensor, known: Tensor) -> Tensor:
    """Unknown pixels from the training image whose known pixels are nearest. ``(batch, pixels)``."""
    _check(train, images, known)
    near = _wide(train)[:, known]                                          # (count, known pixels)
    nearest = torch.cdist(images[:, known].to(near), near).argmin(-1)      # (batch,)
    return torch.where(known, images, train[nearest])


@valid.checked
def ridge(train: Tensor, held_out: Tensor, known: Tensor, penalties: Sequence[Rate] = PENALTIES) -> LinearMap:
    """The linear map from known to unknown pixels with the least squared error plus ``penalty * count * |weight|^2``.

    Args:
        train, held_out: ``(count, pixels)``; the penalty is the one that is best on the held-out images.
        known: ``(pixels,)`` bool, not all of them.

    Raises:
        WrongShape, BadInput: images or a mask that do not fit, no penalty, or one that is not above 0.
    """
    _check(train, held_out, known)
    if known.all() or not len(penalties):
        raise BadInput("ridge needs at least one unknown pixel and at least one penalty.")
    x, y = train[:, known].double(), train[:, ~known].double()
    a, b = held_out[:, known].double(), held_out[:, ~known].double()
    gram, target = _covariance(x, x), _covariance(x, y)
    maps = [LinearMap(torch.linalg.solve(gram + penalty * torch.eye(len(gram), dtype=gram.dtype), target),
                      x.mean(0), y.mean(0)) for penalty in penalties]
    return min(maps, key=lambda one: float((one(a) - b).detach().square().mean())).to(train.dtype)


@valid.checked
def complete_with(fitted: LinearMap, images: Tensor, known: Tensor) -> Tensor:
    """Unknown pixels from a ridge regression on the known ones. ``(batch, pixels)``."""
    completed, known = unscaled(images).clone(), valid.mask(known, "known", images.shape[1:])
    completed[:, ~known] = fitted(images[:, known]).to(completed)
    return completed


@valid.checked
def ridge_image(train: Tensor, images: Tensor, known: Tensor) -> Tensor:
    """Unknown pixels from ridge regression, with the penalty that is best on a tenth of the training images.
    ``(batch, pixels)``.
    """
    tenth = torch.arange(len(train)) % 10 == 0
    return complete_with(ridge(train[~tenth], train[tenth], known), images, known)


@valid.checked
def box_filter(noisy: Tensor, shape: Shape) -> Tensor:
    """Each pixel becomes the mean of the existing ones among the 3 x 3 pixels around it. ``(batch, pixels)``."""
    pictures = unscaled(noisy, pixels=math.prod(shape)).reshape(-1, *shape)
    blurred = avg_pool2d(pictures, 3, stride=1, padding=1, count_include_pad=False)
    return blurred.flatten(1).clamp(0, 1)


@valid.checked
def best_linear(train: Tensor, variance: Rate) -> LinearMap:
    """The linear map from noisy to clean images with the least expected squared error: (C + variance I)^-1 C.

    C is the covariance of the training images; no linear filter does better on images like them.
    """
    images = unscaled(train).double()
    mean, covariance = images.mean(0), _covariance(images, images)         # (pixels,), (pixels, pixels)
    noisy = covariance + variance * torch.eye(len(covariance), dtype=covariance.dtype)
    return LinearMap(torch.linalg.solve(noisy, covariance), mean, mean).to(train.dtype)


@valid.checked
def principal_components(train: Tensor, count: Count) -> LinearMap:
    """The linear map through ``count`` numbers with the least squared error on the training images.

    Other images have larger errors, so the error detects foreign images. Raises BadInput: more components than pixels.
    """
    images = unscaled(train).double()
    mean, covariance = images.mean(0), _covariance(images, images)         # (pixels,), (pixels, pixels)
    if count > len(mean):
        raise BadInput(f"count = {count}; images of {len(mean)} pixels have at most as many principal components.")
    axes = torch.linalg.eigh(covariance).eigenvectors[:, -count:]          # (pixels, count), of the largest variances
    return LinearMap(axes @ axes.T, mean, mean).to(train.dtype)


@valid.checked
def wiener_filter(train: Tensor, variance: Rate, shape: Shape) -> Callable[[Tensor], Tensor]:
    """Each frequency is shrunk by S / (S + variance), S being its mean power over training images less their mean.

    The textbook filter, the same everywhere in the picture: noisy images ``(batch, pixels)`` to images in [0, 1]. It
    raises WrongShape for images of another size.
    """
    train = _wide(unscaled(train, pixels=math.prod(shape)))
    mean = train.mean(0)                                                   # (pixels,)

    def spectrum(images: Tensor) -> Tensor:                                # (batch, channels, height, width)
        _require_size(images, len(mean))
        return torch.fft.fft2((images - mean).reshape(-1, *shape), norm="ortho")

    power = spectrum(train).abs().square().mean(0)                         # (channels, height, width)
    gain = power / (power + variance)
    return lambda noisy: (torch.fft.ifft2(spectrum(noisy) * gain, norm="ortho").real.flatten(1) + mean).clamp(0, 1)


def _require_size(images: Tensor, size: int) -> None:
    """Raise WrongShape unless images are ``(batch, size)``."""
    if images.shape[-1:] != (size,):
        raise WrongShape(f"images are {tuple(images.shape)}; expected (batch, {size}), as this was fitted.")


def _wide(images: Tensor) -> Tensor:
    """In single precision at least, which distances and Fourier transforms on a CPU need."""
    return images.to(torch.promote_types(images.dtype, torch.float32))


def _covariance(x: Tensor, y: Tensor) -> Tensor:
    """Between the columns of ``(count, a)`` and ``(count, b)``: ``(a, b)``. Without centred copies of many images."""
    return x.T @ y / len(x) - torch.outer(x.mean(0), y.mean(0))


def _check(train: Tensor, images: Tensor, known: Tensor) -> None:
    unscaled(images, pixels=unscaled(train, "train").shape[1])
    valid.mask(known, "known", train.shape[1:])

