"""The floor: just the matrix products that a work needs, same shapes and precision, into buffers that are there.

Per relaxation: what clamped vertices predict, once; per step f(x_free) @ W[free, :] and error @ W[free, :].T; the
prediction at the end; in training the weight gradient f(x).T @ error.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Shape:
    """One block of edges: how many of its sources are free and clamped, and how many targets it has."""

    free: int
    clamped: int
    target: int


def flops(shapes: Sequence[Shape], batch: int, steps: int, learn: bool = True) -> int:
    """Floating-point operations of the floor; a product of (a, b) and (b, c) counts 2 a b c.

    Every step counts in full. The engine leaves out products of errors that are still 0 in the first steps.
    """
    per_example = sum(s.clamped * s.target + (2 * steps + 1) * s.free * s.target
                      + learn * (s.free + s.clamped) * s.target for s in shapes)
    return 2 * batch * per_example


class Floor:
    """The products of one batch, in the order in which an engine needs them. Call it to compute them all.

    Args:
        shapes: the blocks of the graph.
        batch, steps: B and T.
        learn: with the weight gradient.
    """

    def __init__(self, shapes: Sequence[Shape], batch: int, steps: int, device: torch.device | str = "cpu",
                 learn: bool = True) -> None:
        self.steps, self.learn = steps, learn
        self.blocks = [_Buffers(shape, batch, device) for shape in shapes]

    def __call__(self) -> None:
        blocks = self.blocks
        for block in blocks:
            block.fold()
        for _ in range(self.steps):
            for block in blocks:
                block.predict()
            for block in blocks:
                block.feed_back()
        for block in blocks:
            block.predict()
        for block in blocks if self.learn else ():
            block.differentiate()


class _Buffers:
    """One block's operands, filled with numbers of ordinary size, and its results."""

    def __init__(self, shape: Shape, batch: int, device: torch.device | str) -> None:
        generator, sources = torch.Generator().manual_seed(0), shape.free + shape.clamped

        def drawn(rows: int, columns: int) -> torch.Tensor:
            return torch.rand(rows, columns, generator=generator).to(device)

        self.shape, self.weight = shape, drawn(sources, shape.target)
        self.rows = self.weight[shape.clamped:]                            # (free, target): a view, as in the engine
        self.clamped, self.free = drawn(batch, shape.clamped), drawn(batch, shape.free)
        self.fx, self.error = drawn(batch, sources), drawn(batch, shape.target)
        self.mu, self.feedback = torch.empty_like(self.error), torch.empty_like(self.free)
        self.gradient = torch.empty_like(self.weight)

    def fold(self) -> None:
        if self.shape.clamped:
            torch.mm(self.clamped, self.weight[:self.shape.clamped], out=self.mu)

    def predict(self) -> None:
        if self.shape.free:
            torch.mm(self.free, self.rows, out=self.mu)

    def feed_back(self) -> None:
        if self.shape.free:
            torch.mm(self.error, self.rows.T, out=self.feedback)

    def differentiate(self) -> None:
        torch.mm(self.fx.T, self.error, out=self.gradient)
