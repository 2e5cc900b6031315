"""Where the weights of a graph are: its vertices cut into segments, and one block of edges from segment to segment.

A block stores all its pairs of vertices (``Dense``, and ``Masked`` where some edges are missing), or existing edges
alone (``Sparse``). Each gives a matrix to multiply with, and the equations read the same whichever it is.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise

import torch
from torch import Tensor, nn

from ..errors import BadInput, unknown, whole
from .topology import Edges, Topology

warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta")  # the products used here are tested

PLANS = ("auto", "dense", "blocks", "sparse")
# A block is stored by its edges where that was measured to be faster (results/bench): big, and at most so full.
SPARSE_SHARE, SPARSE_SIZE = 0.15, 512 * 512
Call = Callable[[], object]


@dataclass(frozen=True)
class Layout:
    """How a graph is held and computed; results are the same but for rounding.

    Args:
        plan: "blocks" cuts the weights between pools of vertex groups; "dense" keeps one n x n block; "sparse" is
            blocks with only their existing edges, without replicas; "auto" is what stores and multiplies less.
        replicas: number of independent copies (seeds, hyper-parameters) computed as one. None: a single graph.
        dtype, device: as of any torch module.
        cuda_graphs: record plain steps on a GPU and replay them (solvers.Recorded).
    """

    plan: str = "auto"
    replicas: int | None = None
    dtype: torch.dtype = torch.float32
    device: torch.device | str | None = None
    cuda_graphs: bool = False

    def __post_init__(self) -> None:
        if self.plan not in PLANS:
            raise unknown("plan", self.plan, PLANS)
        if self.replicas is not None:
            whole(self.replicas, "replicas")
        if self.plan == "sparse" and self.replicas is not None:
            raise BadInput("plan='sparse' does not do replicas; use plan='auto', or one graph after the other.")

    @property
    def lead(self) -> tuple[int, ...]:
        """The leading axes of every tensor."""
        return () if self.replicas is None else (self.replicas,)

    def segments(self, topology: Topology) -> list[slice]:
        """The vertices, cut: one segment for each pool of groups, or a single one."""
        area = sum(topology.size(e.source) * topology.size(e.target) for e in topology.edges)
        one = self.plan == "dense" or (self.plan == "auto" and area > topology.n**2 / 2)
        segments = [] if one else _pool_segments(topology)
        if not segments and self.plan in ("blocks", "sparse"):
            raise BadInput(f"plan={self.plan!r} needs the groups of a top-k pool side by side; got {topology.pools}.")
        return segments or [slice(0, topology.n)]

    def blocks(self, topology: Topology, segments: list[slice]) -> list["Dense"]:
        """The edges, gathered by the segments that they join."""
        home, pairs = homes(topology, segments), {}
        for e in topology.edges:
            pairs.setdefault((home[e.source][0], home[e.target][0]), []).append(e)
        return [self._block(s, t, _merged(edges, segments[s], segments[t], home)) for (s, t), edges in pairs.items()]

    def _block(self, source: int, target: int, mask: Tensor) -> "Dense":
        edges, pairs = int(mask.sum()), mask.numel()
        if edges == pairs:
            return Dense(source, target, mask.shape)
        few = self.plan == "auto" and not self.lead and pairs >= SPARSE_SIZE and edges <= SPARSE_SHARE * pairs
        return Sparse(source, target, mask) if few or self.plan == "sparse" else Masked(source, target, mask)


class Dense(nn.Module):
    """A block whose every pair of vertices is joined. Its weights are one matrix, ``(..., source, target)``.

    Args:
        source, target: numbers of the segments.
        shape: their sizes.
    """

    mask = None                                                            # (source, target) bool; None: all
    cuts_rows = True                                                       # whether a matrix gives some of its rows

    def __init__(self, source: int, target: int, shape: tuple[int, int]) -> None:
        super().__init__()
        self.source, self.target, self.shape = source, target, tuple(shape)

    @property
    def stored(self) -> tuple[int, ...]:
        """Shape of the weights of one replica."""
        return self.shape

    def cut(self, matrix: Tensor) -> Tensor:
        """The weights that a matrix ``(..., source, target)`` holds."""
        return matrix

    def dense(self, weights: Tensor) -> Tensor:
        """The matrix again, 0 where there is no edge."""
        return weights

    def adopted(self, saved: Tensor) -> Tensor:
        """Weights that another plan wrote, as they are stored here; unchanged where they do not fit."""
        return saved

    def matrix(self, weights: Tensor) -> "Matrix":
        """The weights as something to multiply with."""
        return Matrix(weights)

    def outer(self, fx: Tensor, error: Tensor) -> Tensor:
        """sum over the batch of f(x_i) eps_j for each edge i -> j, in the shape of the weights."""
        return fx.mT @ error


class Masked(Dense):
    """A block with missing edges that is stored whole."""

    def __init__(self, source: int, target: int, mask: Tensor) -> None:
        super().__init__(source, target, mask.shape)
        self.register_buffer("existing", mask, persistent=False)

    @property
    def mask(self) -> Tensor:
        return self.existing

    def adopted(self, saved: Tensor) -> Tensor:
        if saved.shape != (int(self.mask.sum()),):
            return saved
        return saved.new_zeros(self.shape).masked_scatter(self.mask.to(saved.device), saved)

    def outer(self, fx: Tensor, error: Tensor, rows: int = 32) -> Tensor:
        outer = super().outer(fx, error)
        for some, there in zip(outer.split(rows, -2), self.mask.split(rows, -2), strict=True):
            some.mul_(there)                                               # torch makes a float copy of a bool mask
        return outer


class Sparse(Dense):
    """Existing edges alone, row by row as ``mask.nonzero()`` counts them. No replicas.

    torch multiplies compressed rows (CSR) only from the left, so both orders of the edges are kept.
    """

    cuts_rows = False

    def __init__(self, source: int, target: int, mask: Tensor) -> None:
        super().__init__(source, target, mask.shape)
        rows, columns = mask.nonzero().unbind(1)                           # (edges,)
        order = torch.argsort(columns, stable=True)                        # edge numbers, target by target
        buffers = {"starts": _starts(mask.sum(1)), "columns": columns, "order": order,
                   "starts_t": _starts(mask.sum(0)), "columns_t": rows[order]}
        for name, index in buffers.items():                                # int32 is what the CPU kernels work on
            self.register_buffer(name, index.int(), persistent=False)

    @property
    def stored(self) -> tuple[int, ...]:
        return tuple(self.columns.shape)

    @property
    def mask(self) -> Tensor:
        return self.dense(torch.ones(self.stored, dtype=torch.bool, device=self.order.device))

    def cut(self, matrix: Tensor) -> Tensor:
        return matrix[self._rows().to(matrix.device), self.columns.long().to(matrix.device)]

    def dense(self, weights: Tensor) -> Tensor:
        matrix = torch.zeros(self.shape, dtype=weights.dtype, device=weights.device)
        matrix[self._rows(), self.columns.long()] = weights
        return matrix

    def adopted(self, saved: Tensor) -> Tensor:
        return self.cut(saved) if saved.shape == self.shape else saved

    def matrix(self, weights: Tensor) -> "Matrix":
        return SparseMatrix(self, weights)

    def outer(self, fx: Tensor, error: Tensor) -> Tensor:
        zero = torch.zeros(self.stored, dtype=fx.dtype, device=fx.device)
        return torch.sparse.sampled_addmm(self.by_source(zero), fx.mT, error, beta=0).values()

    def by_source(self, weights: Tensor) -> Tensor:
        """The matrix as CSR, ``(source, target)``."""
        return torch.sparse_csr_tensor(self.starts, self.columns, weights, self.shape, check_invariants=False)

    def by_target(self, weights: Tensor) -> Tensor:
        """Its transpose as CSR, ``(target, source)``."""
        return torch.sparse_csr_tensor(self.starts_t, self.columns_t, weights[self.order], self.shape[::-1],
                                       check_invariants=False)

    def _rows(self) -> Tensor:
        counts = self.starts.diff().long()
        return torch.arange(len(counts), device=counts.device).repeat_interleave(counts)


class Matrix:
    """What values are multiplied with: ``matrix(x)`` is x @ matrix, and there is the same into a buffer.

    A call, because torch takes a tenth of a millisecond to hand ``tensor @ other`` to a class that is not its own.
    """

    def __init__(self, values: Tensor) -> None:
        self.values = values                                               # (..., rows, columns)

    def __call__(self, x: Tensor) -> Tensor:
        return x @ self.values

    @property
    def mT(self) -> "Matrix":
        return Matrix(self.values.mT)

    def rows(self, some: slice | Tensor) -> "Matrix":
        """Some rows: a view where they are a slice."""
        return Matrix(self.values[..., some, :])

    def some_columns(self, x: Tensor, some: slice) -> Tensor:
        """Those of x @ matrix."""
        return x @ self.values[..., some]

    def into(self, out: Tensor, x: Tensor) -> Call:
        """A call that makes out = x @ matrix."""
        return partial(torch.mm if out.ndim == 2 else torch.bmm, x, self.values, out=out)

    def onto(self, out: Tensor, x: Tensor, sign: int = 1) -> Call:
        """A call that makes out += sign * x @ matrix, without a temporary."""
        return partial(out.addmm_ if out.ndim == 2 else out.baddbmm_, x, self.values, alpha=sign)


class SparseMatrix(Matrix):
    """The same by existing edges."""

    def __init__(self, block: Sparse, values: Tensor, turned: bool = False) -> None:
        super().__init__(values)
        self.block, self.turned = block, turned

    @cached_property
    def _left(self) -> Tensor:
        return self.block.by_source(self.values) if self.turned else self.block.by_target(self.values)

    def __call__(self, x: Tensor) -> Tensor:
        return (self._left @ x.mT).mT

    @property
    def mT(self) -> "SparseMatrix":
        return SparseMatrix(self.block, self.values, not self.turned)

    def rows(self, some: slice) -> "SparseMatrix":
        return self                                                        # always asked for all (``cuts_rows``)

    def some_columns(self, x: Tensor, some: slice) -> Tensor:
        return self(x)[..., some]

    def into(self, out: Tensor, x: Tensor) -> Call:
        return lambda: out.copy_(self(x))

    def onto(self, out: Tensor, x: Tensor, sign: int = 1) -> Call:
        return lambda: out.add_(self(x), alpha=sign)


def homes(topology: Topology, segments: list[slice]) -> dict[str, tuple[int, slice]]:
    """Group name -> (segment, where in that segment)."""
    home = {}
    for name in topology.groups:
        where = topology.slice(name)
        k = next(k for k, s in enumerate(segments) if s.start <= where.start and where.stop <= s.stop)
        home[name] = (k, slice(where.start - segments[k].start, where.stop - segments[k].start))
    return home


def _pool_segments(topology: Topology) -> list[slice]:
    """One segment for each pool, in vertex order; none at all if the groups of a pool are not side by side."""
    segments = []
    for pool in topology.pools:
        cuts = sorted((topology.slice(name) for name in pool), key=lambda cut: cut.start)
        if any(a.stop != b.start for a, b in pairwise(cuts)):
            return []
        segments.append(slice(cuts[0].start, cuts[-1].stop))
    return sorted(segments, key=lambda cut: cut.start)


def _merged(edges: list[Edges], source: slice, target: slice, home: dict[str, tuple[int, slice]]) -> Tensor:
    """The mask of one block, put together from those of the groups in it."""
    mask = torch.zeros(source.stop - source.start, target.stop - target.start, dtype=torch.bool)
    for e in edges:
        mask[home[e.source][1], home[e.target][1]] = True if e.mask is None else e.mask
    return mask


def _starts(counts: Tensor) -> Tensor:
    return torch.cat([counts.new_zeros(1), counts.cumsum(0)])
