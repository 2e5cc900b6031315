"""Topologies: named groups of vertices and the directed edges between them (sections 2, 4 and 6 of the paper).

A topology says which edges exist, never how strong they are. Groups are ordered with the sensory ones first, as in
section 2, and every mask has sources in its rows: ``mask[j, i]`` is the edge j -> i. (The paper's mask figure is drawn
the other way round; see the ambiguity log, point 15.)

Below the class are its constructors: the topologies of sections 3, 4 and 6, and any other graph from its matrix or from
networkx. Settings files name a constructor by its function and give its arguments; a ``generator`` draws its edges.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any

import torch
from annotated_types import Ge, Le, Len, MinLen
from torch import Tensor

from .. import valid
from ..errors import BadInput, UnknownGroup, WrongShape, require_memory, shown, unknown
from ..valid import Count, CountOrNone, Layers, Pair, Share

if TYPE_CHECKING:
    import networkx as nx

Groups = Annotated[Mapping[str, Count], MinLen(1)]
Link = Annotated[Sequence[CountOrNone], Len(2, 2)]                                 # from cluster, to cluster
MATRIX, PAIRS = 4096, 2**26            # vertices of a networkx graph, pairs of clusters: above them, edges are listed
RARE, SEVERAL = 0.01, 1000             # and so are those of clusters that are rarer than that, if there are as many
CONSTRUCTORS: dict[str, Callable[..., "Topology"]] = {}


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


# --------------------------------------------------------------------------------------------------- constructors

def constructor(make: Callable[..., Topology]) -> Callable[..., Topology]:
    """Let settings files name this function; its signature is what they may say."""
    CONSTRUCTORS[make.__name__] = valid.checked(make)
    return CONSTRUCTORS[make.__name__]


@constructor
def fully_connected(pixels: Count = 784, labels: CountOrNone = 10, internal: Count = 1206, *,
                    self_loops: bool = False, without: Sequence[Pair] | None = None) -> Topology:
    """Every vertex sends an edge to every other (section 3); with ``self_loops`` also to itself (E = V x V).

    Args:
        without: pairs of groups (source, target) between which all edges are left out.

    Example:
        >>> pcg.topology.fully_connected(pixels=4, labels=2, internal=3)
        Topology(9 vertices: pixels 4, labels 2, internal 3; 72 edges)
    """
    groups = _sensory_first(pixels, labels, {"internal": internal})
    require_memory(max(groups.values())**2, "the pairs of its largest group", size=2)
    bare, left_out = Topology(groups, ()), {tuple(pair) for pair in without or ()}
    for name in {name for pair in left_out for name in pair}:
        bare.slice(name)                                                   # or UnknownGroup
    edges = [Edges(a, b, None if a != b or self_loops else ~torch.eye(groups[a], dtype=torch.bool))
             for a in groups for b in groups if (a, b) not in left_out]
    return Topology(groups, edges, sensory=_sensory(groups))


@constructor
def discriminative(pixels: Count = 784, hidden: Layers = (256, 256), labels: CountOrNone = 10) -> Topology:
    """Multilayer network from pixels to labels, edges in the direction of classification (mask figure, a)."""
    return _layered(pixels, labels, hidden, first="pixels")


@constructor
def generative(labels: CountOrNone = 10, hidden: Layers = (512, 512), pixels: Count = 784) -> Topology:
    """Multilayer network towards the pixels (mask figure, b): labels -> hidden1 -> ... -> pixels; labels may be 0.

    Example:
        >>> pcg.topology.generative(labels=2, hidden=[3], pixels=4).outwards(["labels"])
        [['hidden1'], ['pixels']]
    """
    return _layered(pixels, labels, hidden, first="labels")


@constructor
def recurrent(labels: CountOrNone = 10, hidden: Layers = (512, 512), pixels: Count = 784, *,
              self_loops: bool = False) -> Topology:
    """Generative network whose hidden layers also feed themselves (section 4; appendix, "recurrent network").

    Two recurrent layers give the four non-linear transformations of the text:
    hidden1 -> hidden1, hidden1 -> hidden2, hidden2 -> hidden2, hidden2 -> pixels.
    """
    return _with_lateral(generative(labels, hidden, pixels), self_loops)


@constructor
def lateral(labels: CountOrNone = 10, hidden: Layers = (512, 512), pixels: Count = 784, *,
            self_loops: bool = False) -> Topology:
    """Generative network with edges inside every layer, the pixels included (mask figure, c)."""
    return _with_lateral(generative(labels, hidden, pixels), self_loops, ["pixels"])


@constructor
def assemblies(clusters: Annotated[int, Ge(1), Le(1000)] = 4, size: Count = 3000, p: Share = 0.1, pixels: Count = 784,
               labels: CountOrNone = 0, *, links: Sequence[Link] | None = None, generator: torch.Generator) -> Topology:
    """Sparse clusters of neurons, sparsely linked (section 6; mask figure, d).

    Any ordered pair of distinct vertices of one cluster, and any pair of vertices of two linked clusters, is joined
    with probability ``p``. The pixels are vertices of the last cluster; the labels are an input layer of their own
    that feeds all of the first cluster (our choices: the paper does not say). Each cluster is one pool of the top-k
    activation, and so are the labels.

    Args:
        links: pairs (a, b), counted from 0, with edges from cluster a to cluster b. None: the chain 0 -> 1 -> ...
        generator: draws the edges.
    """
    links = list(pairwise(range(clusters))) if links is None else links
    if bad := [link for link in links if max(link) >= clusters]:
        raise BadInput(f"link {shown(bad[0])} names a cluster that is not there; clusters are 0 to {clusters - 1}.")
    if pixels > size:
        raise BadInput(f"pixels = {pixels} are vertices of the last cluster, which has {size}; expected at most those.")
    last = {"pixels": pixels, **({f"cluster{clusters}": size - pixels} if size > pixels else {})}
    members = [{f"cluster{c}": size} for c in range(1, clusters)] + [last]
    top = {"labels": labels} if labels else {}
    groups = {**top, **last, **{name: k for member in members[:-1] for name, k in member.items()}}
    edges = [Edges("labels", name) for name in members[0] if top]
    for a, b in sorted({*((c, c) for c in range(clusters)), *map(tuple, links)}):
        edges += _bernoulli(members[a], members[b], p, generator)
    return Topology(groups, edges, sensory=["pixels", *top], pools=[*([name] for name in top), *map(list, members)])


@constructor
def small_world(pixels: Count = 784, labels: CountOrNone = 10, internal: Count = 1206, *, neighbours: Count = 100,
                rewire: Share = 0.1, generator: torch.Generator) -> Topology:
    """Watts-Strogatz small world, each link in both directions: a ring with ``neighbours`` a vertex, some rewired.

    The vertices are shuffled around the ring, so pixels, labels and internal vertices are neighbours of each other.
    """
    groups = _sensory_first(pixels, labels, {"internal": internal})
    n = sum(groups.values())
    require_memory(n**2, f"the mask of {n} vertices, and what is looked at on the way,", size=11)    # measured
    if not 2 <= neighbours < n or neighbours % 2:
        raise BadInput(f"neighbours = {neighbours}; expected an even number from 2 to {n - 1} for {n} vertices.")
    seed = int(torch.randint(2**31, (), generator=generator))
    import networkx as nx  # here, because it takes as long to import as all of the engine
    ring = nx.watts_strogatz_graph(n, neighbours, rewire, seed=seed)
    place = torch.randperm(n, generator=generator)                        # (n,)
    ends = place[torch.tensor(list(ring.edges))]                          # (edges, 2)
    mask = torch.zeros(n, n, dtype=torch.bool)
    mask[ends[:, 0], ends[:, 1]] = mask[ends[:, 1], ends[:, 0]] = True
    return from_mask(mask, groups, sensory=_sensory(groups))


@valid.checked
def from_mask(mask: Any, groups: Mapping[str, int] | None = None, sensory: Sequence[str] = (),
              pools: Sequence[Sequence[str]] = ()) -> Topology:
    """Any directed graph from its adjacency matrix, self-loops and cycles included.

    Args:
        mask: ``(n, n)`` of zeros and ones (any dtype); rows are sources.
        groups: how to cut the n vertices into groups: name -> size, in the order of the matrix. None: one group called
            ``"vertices"``. ``"pixels"`` and ``"labels"`` are the groups that take images and class numbers.
        sensory, pools: as of ``Topology``.

    Example:
        >>> pcg.topology.from_mask([[0, 1, 0], [0, 0, 1], [1, 0, 0]])        # a ring of three
        Topology(3 vertices: vertices 3; 3 edges)
    """
    sparse = isinstance(mask, Tensor) and mask.layout != torch.strided
    mask = mask.to_sparse_coo().cpu() if sparse else valid.tensor(mask, "mask").cpu()
    if mask.ndim != 2 or mask.shape[0] != mask.shape[1]:
        raise WrongShape(f"mask is {tuple(mask.shape)}; expected a square (n, n) matrix, rows are sources.")
    entries = mask._values() if sparse else mask                           # an edge that is listed twice is one edge
    if not bool(((entries == 0) | (entries == 1)).all()):
        raise BadInput("mask holds entries other than 0 and 1; weights go to PCGraph.set_weight, not into the mask.")
    groups, cut = _cut(groups, len(mask))
    if sparse:                                                             # nothing as large as all pairs
        return Topology(groups, _between(groups, groups, mask._indices()[:, entries != 0]), sensory, pools)
    mask = mask.bool()
    blocks = ((a, b, mask[cut[a], cut[b]]) for a in groups for b in groups)
    edges = [Edges(a, b, None if block.all() else block.clone()) for a, b, block in blocks if block.any()]
    return Topology(groups, edges, sensory, pools)


def _between(sources: Mapping[str, int], targets: Mapping[str, int], pairs: Tensor) -> list[Edges]:
    """Rows and columns of edges ``(2, edges)``, by the groups that they join."""
    rows, columns = slices(sources), slices(targets)
    row, column = (torch.bucketize(ends, torch.tensor([cut.start for cut in cuts.values()]), right=True) - 1
                   for ends, cuts in zip(pairs, (rows, columns), strict=True))
    block, edges = row * len(targets) + column, []
    for k in block.bincount().nonzero()[:, 0].tolist():                   # unique would sort all edges
        (a, source), (b, target) = (list(groups.items())[at] for groups, at in
                                    zip((sources, targets), divmod(k, len(targets)), strict=True))
        inside = pairs[:, block == k] - torch.tensor([[rows[a].start], [columns[b].start]])
        edges.append(Edges(a, b, listed(inside, (source, target))))
    return edges


def _cut(groups: Mapping[str, int] | None, n: int) -> tuple[dict[str, int], dict[str, slice]]:
    """The groups of n vertices and where they sit. Raises WrongShape, BadInput."""
    groups = {"vertices": n} if groups is None else Topology(groups, ()).groups
    if sum(groups.values()) != n:
        raise WrongShape(f"groups hold {sum(groups.values())} vertices, the mask {n}; they must agree.")
    return groups, slices(groups)


@valid.checked
def from_networkx(graph: "nx.Graph", attribute: str = "group") -> Topology:
    """Any networkx graph; an undirected link becomes two edges.

    Nodes with the attribute ``group`` are gathered by its value, in order of first appearance (other nodes join
    ``"vertices"``); within a group vertices keep the graph's node order.

    Example:
        >>> import networkx as nx
        >>> pcg.topology.from_networkx(nx.karate_club_graph(), attribute="club")
        Topology(34 vertices: Mr. Hi 17, Officer 17; 156 edges)
    """
    import networkx as nx  # here, because it takes as long to import as all of the engine
    if not isinstance(graph, nx.Graph):
        raise BadInput(f"graph is a {type(graph).__name__}; expected a networkx graph.")
    if graph.number_of_nodes() == 0:
        raise BadInput("the networkx graph has no nodes; a topology needs at least one.")
    members: dict[str, list] = {}
    for node, data in graph.nodes(data=True):
        members.setdefault(str(data.get(attribute, "vertices")), []).append(node)
    order = [node for nodes in members.values() for node in nodes]
    if len(order) > MATRIX:
        place = {node: k for k, node in enumerate(order)}
        ends = torch.tensor([(place[a], place[b]) for a, b in graph.edges()]).T.reshape(2, -1)  # (2, links)
        ends = ends if graph.is_directed() else torch.cat([ends, ends.flip(0)], 1)
        mask = listed(ends, (len(order), len(order)))
    else:
        mask = torch.from_numpy(nx.to_numpy_array(graph, nodelist=order, weight=None) != 0)
    return from_mask(mask, {name: len(nodes) for name, nodes in members.items()})


def _sensory_first(pixels: int, labels: int, others: Mapping[str, int]) -> dict[str, int]:
    return {"pixels": pixels, **({"labels": labels} if labels else {}), **others}


def _sensory(groups: Mapping[str, int]) -> list[str]:
    return [name for name in ("pixels", "labels") if name in groups]


def _layered(pixels: int, labels: int, hidden: Sequence[int], first: str) -> Topology:
    """Each layer joined to the next, from the one called ``first`` over the hidden ones to the other sensory one."""
    layers = {f"hidden{k}": size for k, size in enumerate(hidden, start=1)}
    groups, last = _sensory_first(pixels, labels, layers), "labels" if first == "pixels" else "pixels"
    chain = [name for name in (first, *layers, last) if name in groups]
    return Topology(groups, [Edges(a, b) for a, b in pairwise(chain)], sensory=_sensory(groups))


def _with_lateral(base: Topology, self_loops: bool, others: Sequence[str] = ()) -> Topology:
    """The same with edges inside the hidden layers and others."""
    require_memory(max(base.groups.values())**2, "the pairs of its largest group", size=2)
    inside = [Edges(a, a, None if self_loops else ~torch.eye(base.size(a), dtype=torch.bool))
              for a in (*(name for name in base.groups if name.startswith("hidden")), *others)]
    return Topology(base.groups, [*base.edges, *inside], base.sensory)


def _bernoulli(sources: Mapping[str, int], targets: Mapping[str, int], p: float,
               generator: torch.Generator) -> list[Edges]:
    """Edges from one cluster to another (or to itself, without self-loops), each there with probability ``p``."""
    shape, rows, columns = (sum(sources.values()), sum(targets.values())), slices(sources), slices(targets)
    pairs = shape[0] * shape[1]
    if pairs > PAIRS or (p < RARE and p * pairs > SEVERAL):
        return _few(sources, targets, p, shape, generator)
    mask = torch.rand(shape, generator=generator) < p
    if sources == targets:
        mask.fill_diagonal_(False)
    return [Edges(a, b, mask[rows[a], columns[b]].clone()) for a in sources for b in targets]


def _few(sources: Mapping[str, int], targets: Mapping[str, int], p: float, shape: tuple[int, int],
         generator: torch.Generator) -> list[Edges]:
    """The same without looking at every pair: as many as there are, binomial, anywhere; one drawn twice is one."""
    pairs = shape[0] * shape[1]
    require_memory(int(pairs * p), "the edges", size=64)
    spread = math.sqrt(pairs * p * (1 - p))                                # normal: there are thousands or few
    wanted = max(0, round(pairs * p + spread * float(torch.randn((), generator=generator, dtype=torch.float64))))
    drawn = torch.empty(0, dtype=torch.long)
    while len(drawn) < min(wanted, pairs):
        more = torch.randint(pairs, (wanted - len(drawn),), generator=generator)
        drawn = torch.cat([drawn, more]).unique()
    ends = torch.stack([drawn // shape[1], drawn % shape[1]])
    return _between(sources, targets, ends[:, ends[0] != ends[1]] if sources == targets else ends)
