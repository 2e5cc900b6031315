"""The autoencoder: what training must reach on images that lie in a plane, and what completion may look at."""

import pytest
import torch

from pcgraph_lite.baselines.autoencoder import Autoencoder, complete, fit_autoencoder

NONE = torch.zeros(200, dtype=torch.long)                                  # labels, which it leaves aside


def images(count: int = 200) -> torch.Tensor:
    """Images in [0.2, 0.8] that lie in a plane."""
    generator = torch.Generator().manual_seed(0)
    return 0.5 + 0.1 * (torch.rand(count, 2, generator=generator) * 2 - 1) @ (
        torch.rand(2, 12, generator=generator) * 2 - 1)


def test_training_beats_the_mean_image_and_keeps_the_best_epoch():
    model = Autoencoder(12, [16, 16])
    data = images()
    history = fit_autoencoder(model, data, NONE, validation=(data, NONE), epochs=200, batch_size=50, weight_lr=3e-3,
                              progress=False)
    error = float(((model(data).detach() - data) ** 2).mean())
    assert error < 0.1 * float(data.var(0).mean())
    assert -error == pytest.approx(history.validation.max(), rel=1e-4)


def test_unknown_pixels_are_asked_at_zero():
    model, data, known = Autoencoder(12, [8]), images(5), torch.arange(12) < 6
    copied = model(data * known).detach()
    assert torch.equal(complete(model, data, known), torch.cat([data[:, :6], copied[:, 6:]], -1))
    assert torch.equal(model(data.double() * known), copied)               # in the precision of the model
