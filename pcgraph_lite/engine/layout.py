"""How a graph is stored: its vertices are cut into segments, and the edges between two segments form one block."""

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Literal

import torch
from annotated_types import Ge, Le
from torch import Tensor

from .. import valid
from ..errors import BadInput, require_memory
from ..precision import require_exact
from .topology import Edges, Topology, listed
from .weights import Dense, Sparse

Replicas = Annotated[int, Ge(1), Le(10_000)]
# A block is stored by its edges if it is at least this big and at most this full: measured (results/bench).
SPARSE_SHARE, SPARSE_SIZE = 0.15, 512 * 512
# More blocks than this, of fewer weights than that, cost more than the one matrix of all vertices: measured.
MANY, SMALL = 50, 1000
DRAWN = 5                              # numbers in memory for each pair of vertices, at most, while weights are drawn


@valid.checked
@dataclass(frozen=True)
class Layout:
    """How a graph is stored and computed. With the same weights, results are the same but for rounding; a tolerance
    (``Settings``) counts by groups, of which "dense" has one, and "dense" draws first weights for all pairs.

    Args:
        plan: "blocks" keeps a block of weights between each two pools of vertex groups; "dense" keeps one n x n block;
            "sparse" keeps blocks of existing edges alone, without replicas; "auto" takes what stores and computes less.
        replicas: number of independent copies (seeds, hyper-parameters) computed as one. None: a single graph.
        dtype, device: as for any torch module.
        cuda_graphs: record plain steps on a GPU and replay them (solvers.Recorded).
    """

    plan: Literal["auto", "dense", "blocks", "sparse"] = "auto"
    replicas: Replicas | None = None
    dtype: torch.dtype = torch.float32
    device: torch.device | str | None = None
    cuda_graphs: bool = False

    def __post_init__(self) -> None:
        require_exact(self.dtype)
        valid.device(self.device)
        if self.plan == "sparse" and self.replicas is not None:
            raise BadInput("plan='sparse' does not do replicas; use plan='auto', or one graph after the other.")

    @property
    def lead(self) -> tuple[int, ...]:
        """The leading axes of every tensor."""
        return () if self.replicas is None else (self.replicas,)

    def segments(self, topology: Topology) -> list[slice]:
        """The vertices in segments: one for each pool of groups, or a single one."""
        area = sum(topology.size(e.source) * topology.size(e.target) for e in topology.edges)
        scattered = len(topology.edges) > MANY and area < SMALL * len(topology.edges)
        one = self.plan == "dense" or (self.plan == "auto" and (scattered or area > topology.n**2 / 2))
        segments = [] if one else _pool_segments(topology)
        if not segments and self.plan in ("blocks", "sparse"):
            raise BadInput(f"plan={self.plan!r} needs the groups of a top-k pool side by side; got {topology.pools}.")
        return segments or [slice(0, topology.n)]

    def blocks(self, topology: Topology, segments: list[slice]) -> list[Dense]:
        """The edges, gathered by the segments that they join."""
        home = homes(topology, segments)
        pairs: dict[tuple[int, int], list[Edges]] = {}
        for e in topology.edges:
            pairs.setdefault((home[e.source][0], home[e.target][0]), []).append(e)
        blocks: list[Dense] = []
        whole = bool(self.lead) or self.plan == "dense"
        for (s, t), some in pairs.items():
            shape = (segments[s].stop - segments[s].start, segments[t].stop - segments[t].start)
            if whole:
                self._require(*shape)
            if any(e.listed for e in some) and not whole:
                parts = [topology.pairs(e) + torch.tensor([[home[name][1].start] for name in (e.source, e.target)])
                         for e in some]                                    # nothing as large as all pairs
                blocks.append(Sparse(s, t, listed(torch.cat(parts, 1), shape)))
            else:
                blocks.append(self._block(s, t, _merged(some, shape, home)))
        return blocks

    def _block(self, source: int, target: int, mask: Tensor) -> Dense:
        few = mask.numel() >= SPARSE_SIZE and mask.sum() <= SPARSE_SHARE * mask.numel()
        if (self.plan == "sparse" and not mask.all()) or (self.plan == "auto" and not self.lead and few):
            return Sparse(source, target, mask)
        self._require(*mask.shape)
        return Dense(source, target, mask)

    def _require(self, n: int, m: int) -> None:
        """Memory for a whole block while its first weights are drawn."""
        require_memory(math.prod((*self.lead, n, m)), f"the weights of {n} x {m} vertices as a matrix",
                       DRAWN * self.dtype.itemsize)


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
        groups = sorted((topology.slice(name) for name in pool), key=lambda group: group.start)
        if any(a.stop != b.start for a, b in pairwise(groups)):
            return []
        segments.append(slice(groups[0].start, groups[-1].stop))
    return sorted(segments, key=lambda segment: segment.start)


def _merged(edges: list[Edges], shape: tuple[int, int], home: dict[str, tuple[int, slice]]) -> Tensor:
    """The mask of one block, from the masks between the groups in it."""
    require_memory(math.prod(shape), f"the mask of {shape[0]} x {shape[1]} vertices", size=1)
    mask = torch.zeros(shape, dtype=torch.bool)
    for e in edges:
        mask[home[e.source][1], home[e.target][1]] = True if (some := e.dense()) is None else some
    return mask
