"""Topologies: named groups of vertices and the directed edges between them (sections 2, 4 and 6 of the paper).

A topology says which edges exist, never how strong they are. Groups are ordered with the sensory ones first, as in
section 2, and every mask has sources in its rows: ``mask[j, i]`` is the edge j -> i. (The paper's mask figure is drawn
the other way round; see the ambiguity log, point 15.)
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import torch
from annotated_types import MinLen
from torch import Tensor

from .. import valid
from ..errors import BadInput, UnknownGroup, WrongShape, require_memory, shown, unknown
from ..valid import Count


@valid.checked
@dataclass(frozen=True, eq=False)
class Edges:
    """All edges from one group to another. ``mask`` is ``(source, target)`` bool, dense or sparse; None: every pair."""

    source: str
    target: str
    mask: Tensor | None = None

    @property
    def listed(self) -> bool:
        """Whether edges are kept as a list, the mask being sparse: then nothing as large as all pairs is made."""
        return self.mask is not None and self.mask.is_sparse

    def dense(self) -> Tensor | None:
        """The mask as a matrix, ``(source, target)``."""
        return self.mask.to_dense() if self.listed else self.mask

    def pairs(self) -> Tensor:
        """Rows and columns of the edges of a mask, row by row, ``(2, edges)``."""
        return self.mask.indices() if self.listed else self.mask.nonzero().T


def listed(pairs: Tensor, shape: tuple[int, int]) -> Tensor:
    """A sparse mask from rows and columns ``(2, edges)``; a pair that is named twice is one edge."""
    key = (pairs[0] * shape[1] + pairs[1]).unique()                        # sorted: row by row
    there = torch.ones(len(key), dtype=torch.bool)
    return torch.sparse_coo_tensor(torch.stack([key // shape[1], key % shape[1]]), there, shape, is_coalesced=True,
                                   check_invariants=False)


Groups = Annotated[Mapping[str, Count], MinLen(1)]


class Topology:
    """A directed graph over named vertex groups.

    Args:
        groups: name -> number of vertices, in vertex order.
        edges: the edges between groups; at most one entry for an ordered pair of groups.
        sensory: groups that hold data in training. Empty: "pixels" and "labels" where there are pixels, else the first
            group.
        pools: sets of groups whose vertices compete in a top-k activation. Empty: each group on its own.

    Raises:
        BadInput: no group, an empty group, a pair named twice.
        UnknownGroup: an edge, sensory entry or pool names a group that is not there.
        WrongShape: a mask that does not fit its two groups.

    Example:
        >>> pcg.Topology({"seen": 2, "hidden": 3}, [pcg.Edges("hidden", "seen")]).mask().int()      # rows are sources
        tensor([[0, 0, 0, 0, 0],
                [0, 0, 0, 0, 0],
                [1, 1, 0, 0, 0],
                [1, 1, 0, 0, 0],
                [1, 1, 0, 0, 0]], dtype=torch.int32)
    """

    @valid.checked
    def __init__(self, groups: Groups, edges: Sequence[Edges], sensory: Sequence[str] = (),
                 pools: Sequence[Sequence[str]] = ()) -> None:
        if bad := [name for name in groups if not isinstance(name, str)]:
            raise BadInput(f"the group name {shown(bad[0])} is a {type(bad[0]).__name__}; expected text.")
        self.groups, self.edges = {name: int(size) for name, size in groups.items()}, tuple(edges)
        named = tuple(name for name in ("pixels", "labels") if name in self.groups and "pixels" in self.groups)
        self.sensory = tuple(sensory) or named or (next(iter(self.groups)),)
        self.pools = tuple(map(tuple, pools)) or tuple((name,) for name in self.groups)
        self.n = sum(self.groups.values())
        self._slices = slices(self.groups)
        self._check()

    def _check(self) -> None:
        for name in (*self.sensory, *(name for pool in self.pools for name in pool)):
            self.slice(name)
        if sorted(name for pool in self.pools for name in pool) != sorted(self.groups):
            raise BadInput(f"pools must hold every group exactly once; got {self.pools} for {list(self.groups)}.")
        seen = set()
        for edges in self.edges:
            shape = (self.size(edges.source), self.size(edges.target))
            if (pair := (edges.source, edges.target)) in seen:
                raise BadInput(f"the edges {pair[0]!r} -> {pair[1]!r} are given twice; merge their masks into one.")
            seen.add(pair)
            if edges.mask is not None and (edges.mask.shape != shape or edges.mask.dtype != torch.bool):
                raise WrongShape(f"the mask of {pair[0]!r} -> {pair[1]!r} is {tuple(edges.mask.shape)} "
                                 f"{edges.mask.dtype}; expected {shape} torch.bool.")

    def slice(self, group: str) -> slice:
        """Where a group's vertices sit in ``(..., n)`` tensors. Raises UnknownGroup."""
        if not isinstance(group, str) or group not in self._slices:
            raise unknown("vertex group", group, self.groups, UnknownGroup)
        return self._slices[group]

    def size(self, group: str) -> int:
        """Number of vertices of a group. Raises UnknownGroup."""
        where = self.slice(group)
        return where.stop - where.start

    def mask(self) -> Tensor:
        """The adjacency matrix, ``(n, n)`` bool; rows are sources."""
        require_memory(self.n**2, f"the mask of {self.n} vertices as a matrix", size=2)
        mask = torch.zeros(self.n, self.n, dtype=torch.bool)
        for edges in self.edges:
            mask[self.slice(edges.source), self.slice(edges.target)] = True if edges.mask is None else edges.dense()
        return mask

    def edge_count(self) -> int:
        """Number of edges, that is, of weight parameters."""
        return sum(self.size(e.source) * self.size(e.target) if e.mask is None else e.mask._nnz() if e.listed
                   else int(e.mask.sum()) for e in self.edges)

    def in_degree(self) -> Tensor:
        """Number of incoming edges of each vertex, ``(n,)`` int64."""
        degree = torch.zeros(self.n, dtype=torch.long)
        for e in self.edges:
            degree[self.slice(e.target)] += (self.size(e.source) if e.mask is None else e.mask.sum(0).cpu()
                                             if not e.listed else e.pairs()[1].bincount(minlength=self.size(e.target)))
        return degree

    def outwards(self, known: Iterable[str]) -> list[list[str]]:
        """The other groups in the order in which predictions reach them: an edge leads to each from an earlier one."""
        reached, waves = set(known), []
        while wave := [name for name in self.groups if name not in reached and any(
                e.target == name and e.source in reached for e in self.edges)]:
            waves.append(wave)
            reached.update(wave)
        return waves

    def leads_on(self, known: Iterable[str]) -> bool:
        """Whether edges only lead on, from the known groups to all others: then each can be at its prediction."""
        waves = [list(known), *self.outwards(known)]
        rank = {name: k for k, wave in enumerate(waves) for name in wave}
        return rank.keys() == self.groups.keys() and all(rank[e.source] < rank[e.target] for e in self.edges)

    def __repr__(self) -> str:
        groups = ", ".join(f"{name} {size}" for name, size in self.groups.items())
        return f"Topology({self.n} vertices: {groups}; {self.edge_count()} edges)"


def slices(groups: Mapping[str, int]) -> dict[str, slice]:
    """Where each group's vertices sit when one group follows the other."""
    cut, start = {}, 0
    for name, size in groups.items():
        cut[name] = slice(start, start + size)
        start += size
    return cut
