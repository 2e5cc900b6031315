"""Topologies: named groups of vertices and the directed edges between them (sections 2, 4 and 6 of the paper).

A topology says which edges exist; how strong they are, only where it gives first weights (``Edges.weights``). Groups
are ordered with the sensory ones first, as in section 2, and every mask has sources in its rows: ``mask[j, i]`` is the
edge j -> i. (The paper's mask figure is drawn the other way round; see the ambiguity log, point 15.)

Below the class are its constructors: the topologies of sections 3, 4 and 6, and any other graph from its matrix or from
networkx. Settings files name a constructor by its function and give its arguments; a ``generator`` draws its edges.
"""

import math
import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any

import torch
from annotated_types import Ge, Le, Len, MinLen
from torch import Tensor

from .. import valid
from ..errors import BadInput, UnknownGroup, WrongShape, require_memory, shown, unknown
from ..valid import Count, CountOrZero, Layers, Pair, Share

if TYPE_CHECKING:
    import networkx as nx

Groups = Annotated[Mapping[str, Count], MinLen(1)]
Link = Annotated[Sequence[CountOrZero], Len(2, 2)]                                 # from cluster, to cluster
MATRIX, PAIRS = 4096, 2**26            # vertices of a networkx graph, pairs of clusters: above them, edges are listed
RARE, SEVERAL = 0.01, 1000             # and so are those of clusters that are rarer than that, if there are as many
CONSTRUCTORS: dict[str, Callable[..., "Topology"]] = {}


@valid.checked
@dataclass(frozen=True, eq=False)
class Edges:
    """All edges from one group to another.

    Args:
        mask: ``(source, target)`` bool, dense or sparse (of any layout; only entries that are true are edges). None:
            every pair.
        weights: ``(edges,)``, first weights in the order of ``pairs()``. None: a graph draws them.

    Raises:
        WrongShape: a sparse mask that is no matrix.

    Example:
        >>> half = pcg.Edges("hidden", "pixels", torch.tensor([[True, False], [True, True]]))
        >>> half.pairs().T.tolist()                                      # hidden vertex 0 sends to pixel 0 alone
        [[0, 0], [1, 0], [1, 1]]
    """

    source: str
    target: str
    mask: Tensor | None = None
    weights: Tensor | None = None

    def __post_init__(self) -> None:
        for name in ("mask", "weights"):                                   # whoever gave them may change them later
            if (given := getattr(self, name)) is not None:
                object.__setattr__(self, name, given.detach().clone())
        if self.mask is None or self.mask.layout == torch.strided or self.mask.dtype != torch.bool:
            return                                                         # a topology looks at it
        mask = self.mask.to_sparse_coo()
        if mask.sparse_dim() != 2 or mask.dense_dim():
            raise WrongShape(f"the mask of {self.source!r} -> {self.target!r} is sparse in {mask.sparse_dim()} of "
                             f"{mask.ndim} dimensions; expected a matrix that is sparse in both.")
        there = mask._values()
        if not (mask.is_coalesced() and there.all()):
            mask = listed(mask._indices()[:, there].cpu(), tuple(mask.shape))
        object.__setattr__(self, "mask", mask)

    @property
    def listed(self) -> bool:
        """Whether edges are kept as a list, the mask being sparse: then nothing as large as all pairs is made."""
        return self.mask is not None and self.mask.is_sparse

    def dense(self) -> Tensor | None:
        """The mask as a matrix, ``(source, target)``."""
        return self.mask.to_dense() if self.mask is not None and self.mask.is_sparse else self.mask

    def pairs(self) -> Tensor:
        """Rows and columns of the edges of a mask, row by row, ``(2, edges)``. Raises BadInput: there is no mask."""
        if self.mask is None:
            raise BadInput(f"{self.source!r} -> {self.target!r} are all pairs, and only a topology knows how many; ask "
                           "topology.pairs(edges).")
        return self.mask.indices() if self.mask.is_sparse else self.mask.nonzero().T


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
        sensory: groups that data without names are for in training: images alone, or (images, labels). A mapping says
            itself which groups hold data; those that it leaves out are free, sensory or not. Empty: "pixels" and
            "labels" where there are pixels, else the only group; of several, none is, and such data is refused.
        pools: sets of groups whose vertices compete in a top-k activation. Empty: each group on its own.
        nodes: a name for each vertex, in vertex order. None: the vertices are numbered from 0.

    Raises:
        BadInput: no group, an empty group, a pair or sensory group named twice, a group in no pool or in two, an empty
            pool, one name for two vertices, or a name that cannot be one, such as a list.
        UnknownGroup: an edge, sensory entry or pool names a group that is not there.
        WrongShape: a mask or first weights that do not fit their two groups; not one name for each vertex.

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
                 pools: Sequence[Sequence[str]] = (), nodes: Sequence[Any] | None = None) -> None:
        if bad := [name for name in groups if not isinstance(name, str)]:
            raise BadInput(f"the group name {shown(bad[0])} is a {type(bad[0]).__name__}; expected text.")
        self.groups, self.edges = {name: int(size) for name, size in groups.items()}, tuple(edges)
        named = tuple(name for name in ("pixels", "labels") if name in self.groups and "pixels" in self.groups)
        self.sensory = tuple(sensory) or named or (() if len(self.groups) > 1 else tuple(self.groups))
        self.pools = tuple(map(tuple, pools)) or tuple((name,) for name in self.groups)
        self.n = sum(self.groups.values())
        self._slices = slices(self.groups)
        self.nodes: Sequence[Hashable] = range(self.n) if nodes is None else tuple(nodes)
        self._check()

    def _check(self) -> None:
        for name in (*self.sensory, *(name for pool in self.pools for name in pool)):
            self.slice(name)
        if len(set(self.sensory)) < len(self.sensory):
            raise BadInput(f"sensory = {shown(self.sensory)}; expected each group once.")
        if sorted(name for pool in self.pools for name in pool) != sorted(self.groups) or not all(self.pools):
            raise BadInput(f"pools must hold every group exactly once, and none may be empty; got {shown(self.pools)} "
                           f"for {shown(list(self.groups))}.")
        self._check_edges()
        self._check_nodes()

    def _check_edges(self) -> None:
        seen = set()
        for edges in self.edges:
            shape = (self.size(edges.source), self.size(edges.target))
            if (pair := (edges.source, edges.target)) in seen:
                raise BadInput(f"the edges {pair[0]!r} -> {pair[1]!r} are given twice; merge their masks into one.")
            seen.add(pair)
            if edges.mask is not None and (edges.mask.shape != shape or edges.mask.dtype != torch.bool):
                raise WrongShape(f"the mask of {pair[0]!r} -> {pair[1]!r} is {tuple(edges.mask.shape)} "
                                 f"{edges.mask.dtype}; expected {shape} torch.bool.")
            what = f"first weights of {pair[0]!r} -> {pair[1]!r}"
            if edges.weights is not None and valid.finite(edges.weights, what).shape != (self._count(edges),):
                raise WrongShape(f"{what} are {tuple(edges.weights.shape)}; expected ({self._count(edges)},), one for "
                                 "each edge.")

    def _check_nodes(self) -> None:
        if len(self.nodes) != self.n:
            raise WrongShape(f"nodes names {len(self.nodes)} vertices; expected {self.n}.")
        try:
            count = self.n if isinstance(self.nodes, range) else len(self._places)
        except TypeError as error:
            raise BadInput(f"nodes = {shown(self.nodes)}: {error}; expected names such as text, numbers or tuples of "
                           "these.") from None
        if count != self.n:
            twice = next(name for k, name in enumerate(self.nodes) if self._places[name] != k)
            raise BadInput(f"nodes names {shown(twice)} twice; expected another name for each vertex.")

    def slice(self, group: str) -> slice:
        """Where a group's vertices sit in ``(..., n)`` tensors. Raises UnknownGroup."""
        if not isinstance(group, str) or group not in self._slices:
            raise unknown("vertex group", group, self.groups, UnknownGroup)
        return self._slices[group]

    def size(self, group: str) -> int:
        """Number of vertices of a group. Raises UnknownGroup."""
        where = self.slice(group)
        return where.stop - where.start

    @cached_property
    def _places(self) -> dict[Hashable, int]:
        return {name: k for k, name in enumerate(self.nodes)}

    def place(self, node: Hashable) -> int:
        """Where a vertex, by its name, sits in ``(..., n)`` tensors. Raises UnknownName."""
        try:
            return self._places[node]
        except (KeyError, TypeError):                                      # the latter: a list, which no name can be
            raise unknown("vertex", node, self.nodes) from None

    def mask(self) -> Tensor:
        """The adjacency matrix, ``(n, n)`` bool; rows are sources."""
        require_memory(self.n**2, f"the mask of {self.n} vertices as a matrix", size=2)
        mask = torch.zeros(self.n, self.n, dtype=torch.bool)
        for edges in self.edges:
            mask[self.slice(edges.source), self.slice(edges.target)] = True if (some := edges.dense()) is None else some
        return mask

    def edge_count(self) -> int:
        """Number of edges, that is, of weight parameters."""
        return sum(map(self._count, self.edges))

    def pairs(self, e: Edges) -> Tensor:
        """Rows and columns of some edges, row by row, ``(2, edges)``, also where every pair is one."""
        shape = (self.size(e.source), self.size(e.target))
        return torch.ones(shape).nonzero().T if e.mask is None else e.pairs()

    def _count(self, e: Edges) -> int:
        return self.size(e.source) * self.size(e.target) if e.mask is None else e.mask._nnz() if e.listed \
            else int(e.mask.sum())

    def in_degree(self) -> Tensor:
        """Number of incoming edges of each vertex, ``(n,)`` int64."""
        degree = torch.zeros(self.n, dtype=torch.long)
        for e in self.edges:
            degree[self.slice(e.target)] += (self.size(e.source) if e.mask is None else e.mask.sum(0).cpu()
                                             if not e.listed else e.pairs()[1].bincount(minlength=self.size(e.target)))
        return degree

    def outwards(self, known: Iterable[str]) -> list[list[str]]:
        """The other groups in the order in which predictions reach them: an edge leads to each from an earlier one.

        Raises UnknownGroup.
        """
        for name in (known := list(known)):
            self.slice(name)                                               # that it is there
        reached, waves = set(known), []
        while wave := [name for name in self.groups if name not in reached and any(
                e.target == name and e.source in reached for e in self.edges)]:
            waves.append(wave)
            reached.update(wave)
        return waves

    def leads_on(self, known: Iterable[str]) -> bool:
        """Whether edges only lead on, from the known groups to all others: then each can be at its prediction. Edges
        among the known groups change nothing. Raises UnknownGroup.
        """
        waves = [known := list(known), *self.outwards(known)]
        rank = {name: k for k, wave in enumerate(waves) for name in wave}
        return rank.keys() == self.groups.keys() and all(
            rank[e.source] < rank[e.target] for e in self.edges if rank[e.source] or rank[e.target])

    def __repr__(self) -> str:
        groups = ", ".join(f"{name} {size}" for name, size in self.groups.items())
        return f"Topology({self.n} vertices: {groups}; {self.edge_count()} edges)"


def slices(groups: Mapping[str, int]) -> dict[str, slice]:
    """Where each group's vertices sit when one group follows the other."""
    found, start = {}, 0
    for name, size in groups.items():
        found[name] = slice(start, start + size)
        start += size
    return found


# --------------------------------------------------------------------------------------------------- constructors

def constructor(make: Callable[..., Topology]) -> Callable[..., Topology]:
    """Let settings files name this function; its signature is what they may say."""
    CONSTRUCTORS[make.__name__] = valid.checked(make)
    return CONSTRUCTORS[make.__name__]


@constructor
def fully_connected(pixels: Count = 784, labels: CountOrZero = 10, internal: Count = 1206, *,
                    self_loops: bool = False, without: Sequence[Pair] | None = None) -> Topology:
    """Every vertex sends an edge to every other (section 3); with ``self_loops`` also to itself (E = V x V).

    Args:
        without: pairs of groups (source, target) between which all edges are left out.

    Example:
        >>> pcg.topology.fully_connected(pixels=4, labels=2, internal=3)
        Topology(9 vertices: pixels 4, labels 2, internal 3; 72 edges)
    """
    groups = _sensory_first(pixels, labels, {"internal": internal})
    bare, left_out = Topology(groups, ()), {tuple(pair) for pair in without or ()}
    for name in {name for pair in left_out for name in pair}:
        bare.slice(name)                                                   # or UnknownGroup
    inside = _inside(groups, groups, self_loops)
    return Topology(groups, [inside[a] if a == b else Edges(a, b) for a in groups for b in groups
                             if (a, b) not in left_out])


@constructor
def discriminative(pixels: Count = 784, hidden: Layers = (256, 256), labels: CountOrZero = 10) -> Topology:
    """Multilayer network from pixels to labels, edges in the direction of classification (mask figure, a).

    Example:
        >>> pcg.topology.discriminative(pixels=4, hidden=[3], labels=2)
        Topology(9 vertices: pixels 4, labels 2, hidden1 3; 18 edges)
    """
    return _layered(pixels, labels, hidden, first="pixels")


@constructor
def generative(labels: CountOrZero = 10, hidden: Layers = (512, 512), pixels: Count = 784) -> Topology:
    """Multilayer network towards the pixels (mask figure, b): labels -> hidden1 -> ... -> pixels; labels may be 0.

    Example:
        >>> pcg.topology.generative(labels=2, hidden=[3], pixels=4).outwards(["labels"])
        [['hidden1'], ['pixels']]
    """
    return _layered(pixels, labels, hidden, first="labels")


@constructor
def recurrent(labels: CountOrZero = 10, hidden: Layers = (512, 512), pixels: Count = 784, *,
              self_loops: bool = False) -> Topology:
    """Generative network whose hidden layers also feed themselves (section 4; appendix, "recurrent network").

    Two recurrent layers give the four non-linear transformations of the text:
    hidden1 -> hidden1, hidden1 -> hidden2, hidden2 -> hidden2, hidden2 -> pixels.

    Example:
        >>> pcg.topology.recurrent(labels=2, hidden=[3], pixels=4)       # 6 + 6 + 12 edges
        Topology(9 vertices: pixels 4, labels 2, hidden1 3; 24 edges)
    """
    return _with_lateral(generative(labels, hidden, pixels), self_loops)


@constructor
def lateral(labels: CountOrZero = 10, hidden: Layers = (512, 512), pixels: Count = 784, *,
            self_loops: bool = False) -> Topology:
    """Generative network with edges inside every layer, the pixels included (mask figure, c).

    Example:
        >>> pcg.topology.lateral(labels=2, hidden=[3], pixels=4)         # 6 + 6 + 12 + 12 edges
        Topology(9 vertices: pixels 4, labels 2, hidden1 3; 36 edges)
    """
    return _with_lateral(generative(labels, hidden, pixels), self_loops, ["pixels"])


@constructor
def assemblies(clusters: Annotated[int, Ge(1), Le(1000)] = 4, size: Count = 3000, p: Share = 0.1, pixels: Count = 784,
               labels: CountOrZero = 0, *, links: Sequence[Link] | None = None, generator: torch.Generator) -> Topology:
    """Sparse clusters of neurons, sparsely linked (section 6; mask figure, d).

    Any ordered pair of distinct vertices of one cluster, and any pair of vertices of two linked clusters, is joined
    with probability ``p``. The pixels are vertices of the last cluster; the labels are an input layer of their own
    that feeds all of the first cluster (our choices: the paper does not say). Each cluster is one pool of the top-k
    activation, and so are the labels.

    Args:
        links: pairs (a, b), counted from 0, with edges from cluster a to cluster b. None: the chain 0 -> 1 -> ...
        generator: draws the edges.

    Example:
        >>> pcg.topology.assemblies(2, size=5, p=1.0, pixels=4, generator=torch.Generator())     # every edge there is
        Topology(10 vertices: pixels 4, cluster2 1, cluster1 5; 65 edges)
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
    return Topology(groups, edges, pools=[*([name] for name in top), *map(list, members)])


@constructor
def small_world(pixels: Count = 784, labels: CountOrZero = 10, internal: Count = 1206, *, neighbours: Count = 100,
                rewire: Share = 0.1, generator: torch.Generator) -> Topology:
    """Watts-Strogatz small world, each link in both directions: a ring with ``neighbours`` a vertex, some rewired.

    The vertices are shuffled around the ring, so pixels, labels and internal vertices are neighbours of each other.

    Example:
        >>> pcg.topology.small_world(pixels=4, labels=2, internal=4, neighbours=4, generator=torch.Generator())
        Topology(10 vertices: pixels 4, labels 2, internal 4; 40 edges)
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
    return from_mask(mask, groups)


@valid.checked
def from_mask(mask: Any, groups: Mapping[str, int] | None = None, sensory: Sequence[str] = (),
              pools: Sequence[Sequence[str]] = ()) -> Topology:
    """Any directed graph from its adjacency matrix, self-loops and cycles included.

    Args:
        mask: ``(n, n)`` of zeros and ones (any dtype); rows are sources. A sparse one, of torch or scipy, is never made
            a matrix.
        groups: how to cut the n vertices into groups: name -> size, in the order of the matrix. None: one group called
            ``"vertices"``. ``"pixels"`` and ``"labels"`` are the groups that take images and class numbers.
        sensory, pools: as of ``Topology``.

    Example:
        >>> pcg.topology.from_mask([[0, 1, 0], [0, 0, 1], [1, 0, 0]])        # a ring of three
        Topology(3 vertices: vertices 3; 3 edges)
    """
    if hasattr(mask, "tocoo") and mask.ndim == 2:                          # scipy's
        coo = mask.tocoo()
        ends = torch.stack([torch.tensor(coo.row).long(), torch.tensor(coo.col).long()])
        mask = torch.sparse_coo_tensor(ends, torch.tensor(coo.data.astype(float)), coo.shape, check_invariants=False)
    sparse = isinstance(mask, Tensor) and mask.layout != torch.strided
    mask = mask.to_sparse_coo().cpu() if sparse else valid.tensor(mask, "mask").cpu()
    if mask.ndim != 2 or mask.shape[0] != mask.shape[1]:
        raise WrongShape(f"mask is {tuple(mask.shape)}; expected a square (n, n) matrix, rows are sources.")
    if sparse and mask.sparse_dim() != 2:
        raise WrongShape("mask is sparse in 1 of 2 dimensions; expected a matrix that is sparse in both.")
    entries = mask._values() if sparse else mask                           # an edge that is listed twice is one edge
    if not bool(((entries == 0) | (entries == 1)).all()):
        raise BadInput("mask holds entries other than 0 and 1; weights go to PCGraph.set_weight, not into the mask.")
    groups = {"vertices": len(mask)} if groups is None else Topology(groups, ()).groups
    if sum(groups.values()) != len(mask):
        raise WrongShape(f"groups hold {sum(groups.values())} vertices, the mask {len(mask)}; they must agree.")
    if sparse:                                                             # nothing as large as all pairs
        return Topology(groups, _between(groups, groups, mask._indices()[:, entries != 0]), sensory, pools)
    return Topology(groups, _blocks(groups, mask.bool()), sensory, pools)


def _blocks(groups: Mapping[str, int], mask: Tensor) -> list[Edges]:
    """The edges of a mask ``(n, n)`` by the groups that they join; only such pairs of groups are looked at."""
    names, sizes, where = list(groups), list(groups.values()), slices(groups)
    rows = torch.stack([some.sum(0, dtype=torch.int32) for some in mask.split(sizes)])           # (groups, n)
    counts = torch.stack([some.sum(1) for some in rows.split(sizes, 1)], 1)                      # (groups, groups)
    joined = [(names[k], names[m], int(counts[k, m])) for k, m in counts.nonzero().tolist()]
    return [Edges(a, b, None if count == groups[a] * groups[b] else mask[where[a], where[b]]) for a, b, count in joined]


def _between(sources: Mapping[str, int], targets: Mapping[str, int], pairs: Tensor) -> list[Edges]:
    """Rows and columns of edges ``(2, edges)``, by the groups that they join."""
    rows, columns = slices(sources), slices(targets)
    row, column = (torch.bucketize(ends, torch.tensor([group.start for group in groups.values()]), right=True) - 1
                   for ends, groups in zip(pairs, (rows, columns), strict=True))
    order = (block := row * len(targets) + column).argsort(stable=True)    # once for all pairs of groups
    joined, counts = block[order].unique_consecutive(return_counts=True)
    a, b, edges = list(sources), list(targets), []
    for k, inside in zip(joined.tolist(), pairs[:, order].split(counts.tolist(), 1), strict=True):
        source, target = a[k // len(b)], b[k % len(b)]
        start = torch.tensor([[rows[source].start], [columns[target].start]])
        edges.append(Edges(source, target, listed(inside - start, (sources[source], targets[target]))))
    return edges


@valid.checked
def from_networkx(graph: "nx.Graph", attribute: str | None = None, *, nodelist: Sequence[Any] | None = None,
                  sensory: Sequence[str] = (), weight: str | None = None) -> Topology:
    """Any networkx graph; an undirected link becomes two edges. ``topology.nodes`` says in which order its nodes stand.

    Nodes are gathered in groups, in order of first appearance; within a group they keep the order of ``nodelist``.
    Edges between the same two nodes become one. Whatever is left out, attributes and parallel edges, a warning names.

    Args:
        attribute: of nodes, which holds their group; a node without it joins ``"vertices"``. None: ``"group"`` where
            any node has it, else all nodes are one group.
        nodelist: all nodes, in the order wanted. None: the order of the graph.
        sensory: as of ``Topology``: names of groups, not of nodes.
        weight: of edges, an attribute that holds the first weight of each; parallel edges add up. None: a graph draws
            its first weights.

    Raises:
        UnknownName: an attribute that nothing has, or a node that is not there.
        BadInput, BadValues: no nodes, a ``nodelist`` without all of them, an edge without its weight, a weight that is
            no finite number.

    Example:
        >>> import networkx as nx
        >>> wires = nx.DiGraph()
        >>> wires.add_weighted_edges_from([("eye", "brain", 0.5), ("brain", "hand", -2.0)])
        >>> topology = pcg.topology.from_networkx(wires, nodelist=["brain", "eye", "hand"], weight="weight")
        >>> topology.nodes
        ('brain', 'eye', 'hand')
        >>> float(pcg.PCGraph(topology).weight[topology.place("brain"), topology.place("hand")])
        -2.0
    """
    import networkx as nx  # here, because it takes as long to import as all of the engine
    if not isinstance(graph, nx.Graph):
        raise BadInput(f"graph is a {type(graph).__name__}; expected a networkx graph.")
    if graph.number_of_nodes() == 0:
        raise BadInput("the networkx graph has no nodes; a topology needs at least one.")
    said = {key for _, data in graph.nodes(data=True) for key in data}
    if attribute is not None and attribute not in said:
        raise unknown("node attribute", attribute, sorted(map(str, said)))
    attribute = "group" if attribute is None else attribute
    members = _members(graph, _order(graph, nodelist), attribute)
    nodes = [node for some in members.values() for node in some]
    wires = _wires(graph, nodes, weight)                                   # (n, n) sparse
    _say_what_is_left_out(graph, said - {attribute}, weight)
    there = listed(wires.indices(), (len(nodes), len(nodes)))
    made = from_mask(there if len(nodes) > MATRIX else there.to_dense(), {name: len(some) for name, some in
                                                                          members.items()}, sensory)
    if weight is None:
        return Topology(made.groups, made.edges, made.sensory, nodes=nodes)
    ends = [(e, made.slice(e.source).start, made.slice(e.target).start) for e in made.edges]
    parts = [wires.narrow_copy(0, row, made.size(e.source)).narrow_copy(1, column, made.size(e.target))
             for e, row, column in ends]                                   # row by row, as the edges of a mask
    edges = [replace(e, weights=part._values()) for e, part in zip(made.edges, parts, strict=True)]
    return Topology(made.groups, edges, made.sensory, nodes=nodes)


def _order(graph: "nx.Graph", nodelist: Sequence[Hashable] | None) -> Sequence[Hashable]:
    """All nodes in the order that is asked for. Raises UnknownName, BadInput."""
    if nodelist is None:
        return list(graph)
    for node in nodelist:
        if node not in graph:
            raise unknown("node", node, list(graph)[:1000])
    named = set(nodelist)
    if missing := [node for node in graph if node not in named]:
        raise BadInput(f"nodelist leaves out {len(missing)} nodes, the first of them {shown(missing[0])}; expected all "
                       f"{len(graph)}, or give graph.subgraph(nodelist).")
    return nodelist


def _members(graph: "nx.Graph", order: Sequence[Hashable], attribute: str) -> dict[str, list[Hashable]]:
    """Group name -> its nodes. Raises BadInput: two values of the attribute are one name, as 1 and "1" are."""
    members: dict[str, list[Hashable]] = {}
    values: dict[str, Any] = {}
    for node in order:
        value = graph.nodes[node].get(attribute, "vertices")
        if values.setdefault(str(value), value) != value:
            raise BadInput(f"the node attribute {attribute!r} has {shown(value)} and {shown(values[str(value)])}, "
                           "which are the same name of a group; expected one of them, or another name.")
        members.setdefault(str(value), []).append(node)
    return members


def _wires(graph: "nx.Graph", nodes: Sequence[Hashable], weight: str | None) -> Tensor:
    """The weights of all edges, ``(n, n)`` sparse in float64 and in order, or 1 where they have none."""
    place = {node: k for k, node in enumerate(nodes)}
    links = [(place[a], place[b], a, b, data) for a, b, data in graph.edges(data=True)]
    known = {key for *_, data in links for key in data}
    if weight is not None and weight not in known:
        raise unknown("edge attribute", weight, sorted(map(str, known)))
    for _, _, a, b, data in links if weight is not None else ():
        if weight not in data:
            raise BadInput(f"the edge {shown(a)} -> {shown(b)} has no {weight!r}, and others have; give it to all.")
    ends = torch.tensor([link[:2] for link in links], dtype=torch.long).reshape(-1, 2).T               # (2, links)
    strength = [1.0 if weight is None else link[4][weight] for link in links]
    values = valid.finite(strength, f"the edge attribute {weight!r}", torch.float64).reshape(-1)
    if not graph.is_directed():
        back = ends[0] != ends[1]                                          # a loop is one edge, not two
        ends, values = torch.cat([ends, ends.flip(0)[:, back]], 1), torch.cat([values, values[back]])
    return torch.sparse_coo_tensor(ends, values, (len(nodes), len(nodes)), check_invariants=True).coalesce()


def _say_what_is_left_out(graph: "nx.Graph", of_nodes: set[Hashable], weight: str | None) -> None:
    """Warn of attributes that nothing here takes, and of parallel edges where only one of them counts."""
    of_edges = {key for *_, data in graph.edges(data=True) for key in data} - {weight}
    parallel = graph.number_of_edges() - len(set(graph.edges())) if graph.is_multigraph() and weight is None else 0
    left = [f"the {what} attributes {', '.join(sorted(map(repr, some)))}"
            for what, some in (("node", of_nodes), ("edge", of_edges)) if some]
    left += [f"{parallel} parallel edges"] if parallel else []
    if left:
        warnings.warn(f"from_networkx leaves out {' and '.join(left)}. attribute=NAME gathers nodes by one, "
                      "weight=NAME takes first weights from one.", stacklevel=5)


def to_networkx(graph: Any) -> "nx.DiGraph":
    """A PCGraph, or a Topology alone, as networkx has it: named nodes with their group, edges with their weight, of a
    topology the first weights that it gives.

    ``from_networkx(to_networkx(graph), weight="weight")`` gives the same groups, vertices and edges, and a graph made
    of it starts from these weights. Give it ``sensory`` again; pools are an argument of ``Topology`` alone. Raises
    BadInput: a graph with replicas, or neither of both.

    Example:
        >>> wires = pcg.topology.to_networkx(pcg.topology.generative(labels=1, hidden=[], pixels=2))
        >>> list(wires.nodes(data="group")), list(wires.edges)
        ([(0, 'pixels'), (1, 'pixels'), (2, 'labels')], [(2, 0), (2, 1)])
    """
    import networkx as nx  # here, as above
    topology = getattr(graph, "topology", graph)
    if not isinstance(topology, Topology):
        raise BadInput(f"graph is a {type(graph).__name__}; expected a PCGraph or a Topology.")
    if getattr(graph, "replicas", None) is not None:
        raise BadInput(f"the graph has {graph.replicas} replicas; expected a graph without, one weight an edge.")
    made, names = nx.DiGraph(), topology.nodes
    for group in topology.groups:
        made.add_nodes_from(names[topology.slice(group)], group=group)
    weights = [e.weights for e in topology.edges] if graph is topology else graph.edge_weights()
    for e, values in zip(topology.edges, weights, strict=True):
        rows, columns = names[topology.slice(e.source)], names[topology.slice(e.target)]
        pairs = [(rows[j], columns[i]) for j, i in topology.pairs(e).T.tolist()]
        if values is None:
            made.add_edges_from(pairs)
        else:
            made.add_weighted_edges_from((*pair, w) for pair, w in zip(pairs, values.tolist(), strict=True))
    return made


def _sensory_first(pixels: int, labels: int, others: Mapping[str, int]) -> dict[str, int]:
    return {"pixels": pixels, **({"labels": labels} if labels else {}), **others}


def _layered(pixels: int, labels: int, hidden: Sequence[int], first: str) -> Topology:
    """Each layer joined to the next, from the one called ``first`` over the hidden ones to the other sensory one."""
    layers = {f"hidden{k}": size for k, size in enumerate(hidden, start=1)}
    groups, last = _sensory_first(pixels, labels, layers), "labels" if first == "pixels" else "pixels"
    chain = [name for name in (first, *layers, last) if name in groups]
    return Topology(groups, [Edges(a, b) for a, b in pairwise(chain)])


def _with_lateral(base: Topology, self_loops: bool, others: Sequence[str] = ()) -> Topology:
    """The same with edges inside the hidden layers and others."""
    names = (*(name for name in base.groups if name.startswith("hidden")), *others)
    return Topology(base.groups, [*base.edges, *_inside(base.groups, names, self_loops).values()], base.sensory)


def _inside(groups: Mapping[str, int], names: Iterable[str], self_loops: bool) -> dict[str, Edges]:
    """All edges inside each of these groups."""
    require_memory(max(groups.values())**2, "the pairs of its largest group", size=2)
    return {a: Edges(a, a, None if self_loops else ~torch.eye(groups[a], dtype=torch.bool)) for a in names}


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
    wanted, many = min(wanted, pairs), wanted > pairs / 2                  # of many, draw those that are left out
    drawn, sought = torch.empty(0, dtype=torch.long), pairs - wanted if many else wanted
    while len(drawn) < sought:
        more = torch.randint(pairs, (sought - len(drawn),), generator=generator)
        drawn = torch.cat([drawn, more]).unique()
    if many:
        drawn = torch.ones(pairs, dtype=torch.bool).index_fill_(0, drawn, False).nonzero()[:, 0]
    ends = torch.stack([drawn // shape[1], drawn % shape[1]])
    return _between(sources, targets, ends[:, ends[0] != ends[1]] if sources == targets else ends)
