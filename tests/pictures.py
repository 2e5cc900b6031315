"""What tests share: a seeded generator, images whose class is plain, a reader with one answer, a picture as text, the
work that a call makes."""

import base64
import sys
from collections.abc import Callable
from io import BytesIO

import torch
from PIL import Image
from torch import nn


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def bars(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Three bars with noise on 12 pixels, and which one it is; other images for another count."""
    noise, labels = torch.rand(count, 12, generator=seeded(count)), torch.arange(count) % 3
    return 0.8 * torch.eye(3).repeat_interleave(4, 1)[labels] + 0.2 * noise, labels


class Says(nn.Module):
    """Reads the same in every picture."""

    def __init__(self, answer: int) -> None:
        super().__init__()
        self.logits = nn.Parameter(torch.eye(11)[answer])

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.logits.expand(len(images), -1)


def encoded(picture: Image.Image) -> str:
    """A PNG in base64, as an executed notebook holds it."""
    picture.save(file := BytesIO(), "png")
    return base64.b64encode(file.getvalue()).decode()


def lines(call: Callable[[], object]) -> int:
    """Lines of Python that a call runs, a measure of its work that is the same on every machine."""
    count, before = 0, sys.gettrace()

    def look(_frame: object, event: str, _value: object) -> Callable:
        nonlocal count
        count += event == "line"
        return look

    sys.settrace(look)
    try:
        call()
    finally:
        sys.settrace(before)
    return count
