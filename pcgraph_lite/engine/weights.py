"""The weights of one block of edges, from one segment of vertices to another.

A block stores a weight for every pair of vertices (``Dense``), or for existing edges alone (``Sparse``). Either gives
a matrix to multiply with, and the equations read the same for both.
"""

import math
import re
import warnings
from functools import cached_property

import torch
from torch import Tensor, nn

from ..errors import require_memory

NARROW = 16                            # columns, below which a product takes a quarter of the time by columns: measured

# The products used here are tested. catch_warnings at each of them would be unsafe in threads; others are still warned.
warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta", UserWarning, re.escape(__name__))


class Dense(nn.Module):
    """A block that is stored as one matrix ``(..., source, target)``, with 0 where there is no edge.

    Args:
        source, target: numbers of the segments.
        mask: ``(source, target)`` bool, which edges exist. ``self.mask`` is None where all do.
    """

    cuts_rows = True                                                       # whether rows can be cut out of a matrix
    mask: Tensor | None                                                    # (source, target) bool; None: all are there

    def __init__(self, source: int, target: int, mask: Tensor) -> None:
        super().__init__()
        self.source, self.target, self.shape = source, target, tuple(mask.shape)
        self.edges = mask._nnz() if mask.is_sparse else int(mask.sum())
        self._keep(mask)

    def _keep(self, mask: Tensor) -> None:
        self.register_buffer("mask", None if self.edges == mask.numel() else mask, persistent=False)

    @property
    def stored(self) -> tuple[int, ...]:
        """Shape of the weights of one replica."""
        return self.shape

    def gather(self, matrix: Tensor) -> Tensor:
        """The weights in a matrix ``(..., source, target)``, as they are stored."""
        return matrix

    def dense(self, weights: Tensor) -> Tensor:
        """The weights as a matrix ``(..., source, target)``, 0 where there is no edge."""
        return weights

    def adopted(self, saved: Tensor) -> Tensor:
        """Weights saved under another plan, as they are stored here; those that do not fit are returned unchanged."""
        if self.mask is None or saved.shape != (self.edges,):
            return saved
        return saved.new_zeros(self.shape).masked_scatter(self.mask.to(saved.device), saved)

    def matrix(self, weights: Tensor) -> "Matrix":
        """The weights as something to multiply with."""
        return Matrix(weights)

    def outer(self, fx: Tensor, error: Tensor, scale: float) -> Tensor:
        """Sum over the batch of f(x_i) eps_j for each edge i -> j, times ``scale``, in the shape of the weights."""
        by_column = self.shape[1] < NARROW and fx.ndim == 2
        outer = fx.new_empty(self.shape[::-1]).mT if by_column else fx.new_empty(*fx.shape[:-2], *self.shape)
        Matrix(error).multiply(fx.mT, outer, scale=scale, add=False)
        outer = outer.contiguous()                                         # as optimizers read weights
        if self.mask is not None:
            for some, there in zip(outer.split(32, -2), self.mask.split(32, -2), strict=True):
                some.mul_(there)                                           # torch makes a float copy of a bool mask
        return outer


class Sparse(Dense):
    """A block that stores existing edges alone, row by row in the order of ``mask.nonzero()``. It has no replicas.

    torch multiplies compressed rows (CSR) from the left only, so the edges are kept in both orders.
    """

    cuts_rows = False
    starts: Tensor
    columns: Tensor
    order: Tensor
    starts_t: Tensor
    columns_t: Tensor

    def _keep(self, mask: Tensor) -> None:
        rows, columns = mask.indices() if mask.is_sparse else mask.nonzero().T     # (edges,)
        order = torch.argsort(columns.int(), stable=True)                  # edge numbers, target by target
        buffers = {"starts": _starts(rows.bincount(minlength=mask.shape[0])), "columns": columns, "order": order,
                   "starts_t": _starts(columns.bincount(minlength=mask.shape[1])), "columns_t": rows[order]}
        for name, index in buffers.items():                                # the CPU kernels work on int32
            self.register_buffer(name, index.int(), persistent=False)

    @property
    def stored(self) -> tuple[int, ...]:
        return (self.edges,)

    @property
    def mask(self) -> Tensor:  # type: ignore[override]  # made when it is asked for
        return self.dense(torch.ones(self.stored, dtype=torch.bool, device=self.order.device))

    def gather(self, matrix: Tensor) -> Tensor:
        return matrix[self.rows().to(matrix.device), self.columns.long().to(matrix.device)]

    def dense(self, weights: Tensor) -> Tensor:
        require_memory(math.prod(self.shape), f"the weights of {self.shape[0]} x {self.shape[1]} vertices as a matrix")
        matrix = torch.zeros(self.shape, dtype=weights.dtype, device=weights.device)
        matrix[self.rows(), self.columns.long()] = weights
        return matrix

    def adopted(self, saved: Tensor) -> Tensor:
        return self.gather(saved) if saved.shape == self.shape else saved

    def matrix(self, weights: Tensor) -> "Matrix":
        return SparseMatrix(self, weights)

    def outer(self, fx: Tensor, error: Tensor, scale: float) -> Tensor:
        zero = torch.zeros(self.stored, dtype=fx.dtype, device=fx.device)
        return torch.sparse.sampled_addmm(self.csr(zero, turned=False), fx.mT, error, beta=0, alpha=scale).values()

    def csr(self, weights: Tensor, turned: bool) -> Tensor:
        """The matrix by compressed rows, ``(source, target)``, or its transpose."""
        starts, columns, values, shape = (self.starts_t, self.columns_t, weights[self.order], self.shape[::-1]) \
            if turned else (self.starts, self.columns, weights, self.shape)
        return torch.sparse_csr_tensor(starts, columns, values, shape, check_invariants=False)

    def inside(self, rows: slice, columns: slice) -> Tensor:
        """Which edges lead from some vertices to others, ``(edges,)`` bool."""
        source, target = self.rows(), self.columns
        return (source >= rows.start) & (source < rows.stop) & (target >= columns.start) & (target < columns.stop)

    def rows(self) -> Tensor:
        """The source of each edge, ``(edges,)``."""
        counts = self.starts.diff().long()
        return torch.arange(len(counts), device=counts.device).repeat_interleave(counts)


class Matrix:
    """A matrix to multiply values with: ``matrix(x)`` is x @ matrix, and ``multiply`` writes it into a buffer.

    This is a call because torch takes a tenth of a millisecond to pass ``tensor @ other`` on to a class of ours.
    """

    def __init__(self, values: Tensor) -> None:
        self.values = values                                               # (..., rows, columns)
        self._into = torch.addmm if values.ndim == 2 else torch.baddbmm

    def __call__(self, x: Tensor) -> Tensor:
        return x @ self.values

    @property
    def mT(self) -> "Matrix":
        return Matrix(self.values.mT)

    def rows(self, some: slice | Tensor) -> "Matrix":
        """Some rows: a view where they are a slice."""
        return Matrix(self.values[..., some, :])

    def multiply(self, x: Tensor, out: Tensor, *, scale: float = 1, add: bool = True) -> None:
        """out += scale * x @ matrix, or = in place of +=, without a temporary."""
        self._into(out, x, self.values, beta=add, alpha=scale, out=out)


class SparseMatrix(Matrix):
    """A matrix that holds existing edges alone."""

    def __init__(self, block: Sparse, values: Tensor, turned: bool = False) -> None:
        super().__init__(values)
        self.block, self.turned = block, turned

    @cached_property
    def _left(self) -> Tensor:
        return self.block.csr(self.values, not self.turned)

    def __call__(self, x: Tensor) -> Tensor:
        return (self._left @ x.mT).mT

    @property
    def mT(self) -> "SparseMatrix":
        return SparseMatrix(self.block, self.values, not self.turned)

    def rows(self, some: slice | Tensor) -> "SparseMatrix":
        return self                                                        # callers ask for all of them (``cuts_rows``)

    def multiply(self, x: Tensor, out: Tensor, *, scale: float = 1, add: bool = True) -> None:
        turned = out.mT
        torch.addmm(turned, self._left, x.mT, beta=add, alpha=scale, out=turned)


def _starts(counts: Tensor) -> Tensor:
    return torch.cat([counts.new_zeros(1), counts.cumsum(0)])
