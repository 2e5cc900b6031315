"""What the tests of classifiers share: images whose class is plain to see."""


import torch

from pcgraph_lite.baselines.kinds import Classifier


def bars(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Three bars with noise on 12 pixels, and which one it is; other images for another count."""
    generator, labels = torch.Generator().manual_seed(count), torch.arange(count) % 3
    return (0.8 * torch.eye(3).repeat_interleave(4, 1)[labels] + 0.2 * torch.rand(count, 12, generator=generator),
            labels)


def share_right(model: Classifier, data: tuple[torch.Tensor, torch.Tensor]) -> float:
    """Share of images whose class the model names."""
    return float((model.classify(data[0]) == data[1]).double().mean())
