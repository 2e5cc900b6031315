"""Weights of existing edges only, for graphs in which few pairs of vertices are joined (assemblies, small worlds).

A ``SparseMatrix`` stands where a weight matrix does in ``fx @ weight`` and ``error @ weight.mT``, so the equations read
the same. torch multiplies compressed rows (CSR) only from the left, so both orders of the edges are kept.
"""

import warnings
from functools import cached_property

import torch
from torch import Tensor, nn

warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta")  # the products used here are tested


class Pattern(nn.Module):
    """Which edges of a block exist, as compressed rows of the mask and of its transpose. Moves with ``.to()``.

    Args:
        mask: ``(source, target)`` bool. Edges are counted row by row, as ``mask.nonzero()`` does.
    """

    def __init__(self, mask: Tensor) -> None:
        super().__init__()
        self.shape, self.count = tuple(mask.shape), int(mask.sum())
        rows, columns = mask.nonzero().unbind(1)                           # (edges,)
        order = torch.argsort(columns, stable=True)                        # edge numbers, target by target
        buffers = {"starts": _starts(mask.sum(1)), "columns": columns, "order": order,
                   "starts_t": _starts(mask.sum(0)), "columns_t": rows[order]}
        for name, index in buffers.items():                                # int32 is what the CPU kernels work on
            self.register_buffer(name, index.int(), persistent=False)

    def mask(self) -> Tensor:
        """The mask again, ``(source, target)`` bool."""
        return self.dense(torch.ones(self.count, dtype=torch.bool, device=self.order.device))

    def dense(self, values: Tensor) -> Tensor:
        """The whole matrix ``(source, target)``, 0 where there is no edge."""
        matrix = torch.zeros(self.shape, dtype=values.dtype, device=values.device)
        matrix[self._rows(), self.columns.long()] = values
        return matrix

    def existing(self, matrix: Tensor) -> Tensor:
        """The entries of a ``(source, target)`` matrix where there are edges, ``(edges,)``."""
        return matrix[self._rows().to(matrix.device), self.columns.long().to(matrix.device)]

    def outer(self, fx: Tensor, error: Tensor) -> Tensor:
        """sum over the batch of f(x_i) eps_j for existing edges i -> j alone, ``(edges,)``."""
        zero = torch.zeros(self.count, dtype=fx.dtype, device=fx.device)
        return torch.sparse.sampled_addmm(self.by_source(zero), fx.mT, error, beta=0).values()

    def by_source(self, values: Tensor) -> Tensor:
        """The matrix as CSR, ``(source, target)``."""
        return torch.sparse_csr_tensor(self.starts, self.columns, values, self.shape, check_invariants=False)

    def by_target(self, values: Tensor) -> Tensor:
        """Its transpose as CSR, ``(target, source)``."""
        return torch.sparse_csr_tensor(self.starts_t, self.columns_t, values[self.order], self.shape[::-1],
                                       check_invariants=False)

    def _rows(self) -> Tensor:
        counts = self.starts.diff().long()
        return torch.arange(len(counts), device=counts.device).repeat_interleave(counts)


class SparseMatrix:
    """The weights of one block: ``x @ matrix`` and ``matrix.mT``, like a tensor. No replicas, no gradients."""

    def __init__(self, pattern: Pattern, values: Tensor) -> None:
        self.pattern, self.values = pattern, values

    def __rmatmul__(self, x: Tensor) -> Tensor:
        """``(batch, source)`` to ``(batch, target)``."""
        return (self._by_target @ x.mT).mT

    @cached_property
    def mT(self) -> "_Transposed":
        return _Transposed(self.pattern.by_source(self.values))

    @cached_property
    def _by_target(self) -> Tensor:
        return self.pattern.by_target(self.values)


class _Transposed:
    def __init__(self, by_source: Tensor) -> None:
        self.by_source = by_source

    def __rmatmul__(self, x: Tensor) -> Tensor:
        """``(batch, target)`` to ``(batch, source)``."""
        return (self.by_source @ x.mT).mT


Matrix = Tensor | SparseMatrix


def _starts(counts: Tensor) -> Tensor:
    return torch.cat([counts.new_zeros(1), counts.cumsum(0)])
