"""The value nodes and error nodes of one segment of a graph while it relaxes."""

import torch
from torch import Tensor

from .graph import PCGraph
from .weights import NARROW, Matrix

Index = slice | Tensor
EVERY = slice(None)


class Nodes:
    """Which vertices of a segment are free, their values, and the errors of all. The buffers stay the same throughout.

    Where values cannot be cut out of a segment, all its vertices count as free, and ``moves`` holds the clamped ones:
    with top-k, with sparse weights, and for vertices that only some examples clamp.

    Args:
        k: number of the segment.
        start: its values, ``(..., batch, size)``; clamped ones are used as they are.
        clamped, errorless: as for ``Conditioned``, but of this segment alone.

    Attributes:
        free: which vertices are free; None: none is.
        clamped: all other vertices; None: there are none.
        moves: ``(..., free)``, 1 and 0 where a vertex is clamped. None: all 1.
        pays: ``(..., size)``, 1 and 0 where a vertex pays for no error. None: all 1.
        errorless: whether no vertex pays.
        x, fx, gradient: the free values, f of them, and dE/dx, each ``(..., batch, free)``.
        known: x - mu as far as clamped vertices and the bias decide it, ``(..., batch, size)``. None: 0.
        error: x - mu of all vertices, and 0 where they pay none, ``(..., batch, size)``.
        kinks: where f' jumps, if edges leave the segment.
        by_vertex: whether the examples of a vertex lie side by side in memory: products with sparse weights read them
            so, and a product with a few columns takes a quarter of the time.
    """

    free: Index | None
    clamped: Index | None
    moves: Tensor | None

    def __init__(self, graph: PCGraph, k: int, start: Tensor, clamped: Tensor, errorless: Tensor | None) -> None:
        leaving = [block for block in graph.blocks if block.source == k]
        arriving = [block for block in graph.blocks if block.target == k]
        self.start, self.f, self.predicted = start, graph.activations[k], bool(arriving)
        self.bias = None if graph.bias is None else graph.bias[..., graph.segments[k]]
        self.kinks = self.f.kinks if leaving else ()
        sparse, narrow = not all(block.cuts_rows for block in leaving + arriving), start.shape[-1] < NARROW
        self.by_vertex = sparse or (narrow and start.ndim == 2)
        self._part(clamped, divisible=self.f.elementwise and all(block.cuts_rows for block in leaving))
        self.pays = None if errorless is None or not errorless.any() else (~errorless).to(start.dtype)
        self.errorless = self.pays is not None and not self.pays.any()
        self.known: Tensor | None = None
        self.error = torch.zeros_like(start) if self.errorless else self.buffer(start)
        self.error_view = self.error[..., self.free] if isinstance(self.free, slice) else None
        if self.free is not None:
            self.x = self.buffer(start[..., self.free]).zero_()
            self.gradient = torch.empty_like(self.x)
            self.fx, self.activate, self.chain = self.f.on(self.x, self.gradient)

    def _part(self, clamped: Tensor, divisible: bool) -> None:
        """Tell free from clamped vertices."""
        everywhere = clamped if clamped.ndim == 1 else clamped.all(0)      # (size,): in all examples
        count, self.moves = int(everywhere.sum()), None
        if count == len(everywhere):
            self.free, self.clamped = None, EVERY
            return
        if divisible and count:
            self.free, self.clamped = (_index(some.nonzero().flatten()) for some in (~everywhere, everywhere))
        else:
            self.free, self.clamped = EVERY, None
        if (count or clamped.ndim > 1) and (held := clamped[..., self.free]).any():
            self.moves = (~held).to(self.start.dtype)

    def buffer(self, like: Tensor) -> Tensor:
        """New memory of that shape, ``(..., batch, size)``, in the order in which products read it."""
        return like.new_empty(like.mT.shape).mT if self.by_vertex else like.new_empty(like.shape)

    def restart(self) -> None:
        """Take up the values that ``start`` holds now."""
        if self.free is not None:
            self.x.copy_(self.start[..., self.free])
            self.activate()
        if self.free is None and self.bias is None and not self.predicted:
            self.known = self.start                                        # as it is: nothing will be subtracted
        elif self.clamped is not None or self.bias is not None:
            self.known = self._constant().copy_(self.start)
            if self.free is not None:
                self.known[..., self.free] = 0
            if self.bias is not None:
                self.known -= self.bias
        elif self.known is not None:
            self.known.zero_()

    def fold(self, fx: Tensor, weight: Matrix) -> None:
        """Subtract what clamped vertices predict here, f(x_clamped) W, from ``known``."""
        self.known = self._constant() if self.known is None else self.known
        weight.multiply(fx, self.known, scale=-1)

    def _constant(self) -> Tensor:
        return self.buffer(self.start).zero_() if self.known is None else self.known

    @property
    def error_of_free(self) -> Tensor:
        """The errors of the free vertices, ``(..., batch, free)``."""
        return self.error[..., self.free] if self.error_view is None else self.error_view

    def reset_error(self) -> None:
        """error = x - mu as if no free vertex predicted this segment."""
        if self.known is None:                                             # then all its vertices are free
            self.error.copy_(self.x)
        elif self.clamped is None:
            torch.add(self.known, self.x, out=self.error)
        elif isinstance(self.clamped, slice) and self.error_view is not None:  # each number is written once
            self.error[..., self.clamped].copy_(self.known[..., self.clamped])
            torch.add(self.known[..., self.free], self.x, out=self.error_view)
        else:
            self.error.copy_(self.known)
            if self.free is not None:
                self.error[..., self.free] += self.x

    def clamped_fx(self) -> Tensor:
        """f of the clamped vertices, 0 for the free ones, ``(..., batch, size)``."""
        fx = self.f(self.start)
        if self.free is not None:
            fx = fx.clone() if fx is self.start else fx
            fx[..., self.free] = 0
        return fx


def _index(vertices: Tensor) -> Index:
    """A slice where the vertices are contiguous (a view, no copy), else their numbers."""
    first, last = int(vertices[0]), int(vertices[-1])
    return slice(first, last + 1) if last - first + 1 == len(vertices) else vertices
