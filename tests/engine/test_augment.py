"""Shifted and mirrored training images. Oracle: all moves of what NumPy reflects at the border and torch flips."""

import numpy as np
import pytest
import torch
from numpy.lib.stride_tricks import sliding_window_view

import pcgraph_lite as pcg
from pcgraph_lite.baselines.mlp import MLP, fit_mlp
from pcgraph_lite.engine.augment import SHIFT, planes_of, shift_and_mirror


def every_move(image: torch.Tensor) -> set[bytes]:
    """All versions of ``(planes, side, side)`` that a shift and a mirror image can make."""
    around, found = ((0, 0), (SHIFT, SHIFT), (SHIFT, SHIFT)), set()
    for picture in (image, image.flip(-1)):
        windows = sliding_window_view(np.pad(picture, around, "reflect"), image.shape)
        found |= {moved.tobytes() for moved in windows.reshape(-1, *image.shape)}
    return found


@pytest.mark.parametrize("planes", [1, 3])
def test_every_shift_and_mirror_image_appears_and_nothing_else(planes: int) -> None:
    image = torch.arange(planes * 36.0).view(planes, 6, 6)
    drawn = shift_and_mirror(image.flatten().expand(2000, -1), torch.Generator().manual_seed(0))
    assert {one.numpy().tobytes() for one in drawn} == every_move(image)


@pytest.mark.parametrize(("size", "planes"), [(3, 1), (12, 3), (16, 1), (27, 3), (35, 1), (784, 1), (3072, 3)])
def test_planes_are_told_by_the_number_of_pixels(size: int, planes: int) -> None:
    """By hand; three pixels are too few for halves of each plane."""
    assert planes_of(size) == planes


def test_images_of_a_batch_move_apart_and_the_draws_are_the_generators() -> None:
    images = torch.rand(50, 36)
    first, again, other = (shift_and_mirror(images, torch.Generator().manual_seed(seed)) for seed in (0, 0, 1))
    assert first.equal(again) and not first.equal(other) and len({one.numpy().tobytes() for one in first}) == 50


def test_graphs_and_baselines_see_changed_images_of_unchanged_labels() -> None:
    """A picture that every move leaves as it is trains as without moves; another one does not."""
    def trained(images: torch.Tensor, augment: str) -> list[torch.Tensor]:
        labels = torch.arange(4) % 2
        settings = {"epochs": 1, "batch_size": 2, "weight_lr": 0.01, "augment": augment, "progress": False}
        graph = pcg.PCGraph(pcg.topology.discriminative(pixels=9, hidden=[3], labels=2), "tanh")
        network = MLP(9, 2, [3])
        pcg.fit(graph, (images, labels), **settings)
        fit_mlp(network, images, labels, **settings)
        return [graph.weight, network.weights[0].detach()]

    varied = torch.rand(4, 9)
    for images, alike in ((torch.full((4, 9), 0.5), True), (varied, False)):
        for plain, moved in zip(trained(images, "none"), trained(images, "shift and mirror"), strict=True):
            assert torch.allclose(plain, moved, atol=1e-6) == alike
