"""Topologies: named groups of vertices and the directed edges between them (sections 2, 4 and 6 of the paper).

A topology says which edges exist, never how strong they are. Groups are ordered with the sensory ones first, as in
section 2, and every mask has sources in its rows: ``mask[j, i]`` is the edge j -> i. (The paper's mask figure is drawn
the other way round; see the ambiguity log, point 15.)
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import networkx as nx
import torch
from torch import Tensor

from ..errors import BadInput, UnknownGroup, WrongShape, number, unknown, whole


@dataclass(frozen=True, eq=False)
class Edges:
    """All edges from one group to another. ``mask`` is ``(source, target)`` bool; None means every pair."""

    source: str
    target: str
    mask: Tensor | None = None


class Topology:
    """A directed graph over named vertex groups.

    Args:
        groups: name -> number of vertices, in vertex order.
        edges: the edges between groups; at most one entry for an ordered pair of groups.
        sensory: groups that hold data in training. Empty: the first group.
        pools: sets of groups whose vertices compete in a top-k activation. Empty: each group on its own.

    Raises:
        BadInput: no group, an empty group, a pair named twice.
        UnknownGroup: an edge, sensory entry or pool names a group that is not there.
        WrongShape: a mask that does not fit its two groups.
    """

    def __init__(self, groups: Mapping[str, int], edges: Iterable[Edges], sensory: Sequence[str] = (),
                 pools: Sequence[Sequence[str]] = ()) -> None:
        self.groups: dict[str, int] = {name: _count(size, f"group {name!r}") for name, size in groups.items()}
        if not self.groups:
            raise BadInput("a topology needs at least one vertex group, for example {'vertices': 3}.")
        self.edges = tuple(edges)
        self.sensory = tuple(sensory) or (next(iter(self.groups)),)
        self.pools = tuple(tuple(pool) for pool in pools) or tuple((name,) for name in self.groups)
        self.n = sum(self.groups.values())
        self._slices = _slices(self.groups)
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
        if group not in self._slices:
            known = [f"{name!r} ({size})" for name, size in self.groups.items()]
            hint = str(unknown("vertex group", group, self.groups)).rpartition("Did you mean")
            tail = f" Did you mean{hint[2]}" if hint[1] else ""
            raise UnknownGroup(f"no vertex group {group!r} in this graph. Groups: {', '.join(known)}.{tail}")
        return self._slices[group]

    def size(self, group: str) -> int:
        """Number of vertices of a group. Raises UnknownGroup."""
        where = self.slice(group)
        return where.stop - where.start

    def mask(self) -> Tensor:
        """The adjacency matrix, ``(n, n)`` bool; rows are sources."""
        mask = torch.zeros(self.n, self.n, dtype=torch.bool)
        for edges in self.edges:
            mask[self.slice(edges.source), self.slice(edges.target)] = True if edges.mask is None else edges.mask
        return mask

    def edge_count(self) -> int:
        """Number of edges, that is, of weight parameters."""
        return sum(self.size(e.source) * self.size(e.target) if e.mask is None else int(e.mask.sum())
                   for e in self.edges)

    def in_degree(self) -> Tensor:
        """Number of incoming edges of each vertex, ``(n,)`` int64."""
        degree = torch.zeros(self.n, dtype=torch.long)
        for e in self.edges:
            degree[self.slice(e.target)] += self.size(e.source) if e.mask is None else e.mask.sum(0).cpu()
        return degree

    def outwards(self, known: Iterable[str]) -> list[list[str]]:
        """The other groups in the order in which predictions reach them: an edge leads to each from an earlier one."""
        reached, waves = set(known), []
        while wave := [name for name in self.groups if name not in reached and any(
                e.target == name and e.source in reached for e in self.edges)]:
            waves.append(wave)
            reached.update(wave)
        return waves

    def __repr__(self) -> str:
        groups = ", ".join(f"{name} {size}" for name, size in self.groups.items())
        return f"Topology({self.n} vertices: {groups}; {self.edge_count()} edges)"


def fully_connected(pixels: int = 784, labels: int = 10, internal: int = 1206, *, self_loops: bool = False,
                    without: Sequence[tuple[str, str]] | None = None) -> Topology:
    """Every vertex sends an edge to every other (section 3); with ``self_loops`` also to itself (E = V x V).

    Args:
        without: pairs of groups (source, target) between which all edges are left out.
    """
    groups = _sensory_first(pixels, labels, {"internal": internal})
    edges = [Edges(a, b, None if a != b or self_loops else ~torch.eye(groups[a], dtype=torch.bool))
             for a in groups for b in groups]
    complete = Topology(groups, edges, sensory=_sensory(groups))
    left_out = [_group_pair(complete, pair) for pair in without or ()]
    kept = [e for e in edges if (e.source, e.target) not in left_out]
    return Topology(groups, kept, sensory=_sensory(groups))


def discriminative(pixels: int = 784, hidden: Sequence[int] = (256, 256), labels: int = 10) -> Topology:
    """Multilayer network from pixels to labels, edges in the direction of classification (mask figure, a)."""
    groups = _sensory_first(pixels, labels, _layers(hidden))
    order = ["pixels", *_layers(hidden), *(["labels"] if labels else [])]
    return Topology(groups, [Edges(a, b) for a, b in pairwise(order)], sensory=_sensory(groups))


def generative(labels: int = 10, hidden: Sequence[int] = (512, 512), pixels: int = 784) -> Topology:
    """Multilayer network towards the pixels (mask figure, b): labels -> hidden1 -> ... -> pixels; labels may be 0."""
    groups = _sensory_first(pixels, labels, _layers(hidden))
    return Topology(groups, [Edges(a, b) for a, b in pairwise(_chain(groups))], sensory=_sensory(groups))


def recurrent(labels: int = 10, hidden: Sequence[int] = (512, 512), pixels: int = 784, *,
              self_loops: bool = False) -> Topology:
    """Generative network whose hidden layers also feed themselves (section 4; appendix, "recurrent network").

    Two recurrent layers give the four non-linear transformations of the text:
    hidden1 -> hidden1, hidden1 -> hidden2, hidden2 -> hidden2, hidden2 -> pixels.
    """
    return _with_lateral(generative(labels, hidden, pixels), list(_layers(hidden)), self_loops)


def lateral(labels: int = 10, hidden: Sequence[int] = (512, 512), pixels: int = 784, *,
            self_loops: bool = False) -> Topology:
    """Generative network with edges inside every layer, the pixels included (mask figure, c)."""
    return _with_lateral(generative(labels, hidden, pixels), [*_layers(hidden), "pixels"], self_loops)


def assemblies(clusters: int = 4, size: int = 3000, p: float = 0.1, pixels: int = 784, labels: int = 0, *,
               links: Sequence[tuple[int, int]] | None = None, generator: torch.Generator) -> Topology:
    """Sparse clusters of neurons, sparsely linked (section 6; mask figure, d).

    Any ordered pair of distinct vertices of one cluster, and any pair of vertices of two linked clusters, is joined
    with probability ``p``. The pixels are vertices of the last cluster; the labels are an input layer of their own
    that feeds all of the first cluster (our choices: the paper does not say). Each cluster is one pool of the top-k
    activation, and so are the labels.

    Args:
        links: pairs (a, b), counted from 0, with edges from cluster a to cluster b. None: the chain 0 -> 1 -> ...
        generator: draws the edges.
    """
    clusters, size = _count(clusters, "clusters"), _count(size, "size")
    _check_generator(generator)
    links = list(pairwise(range(clusters))) if links is None else [tuple(link) for link in links]
    if bad := [link for link in links if len(link) != 2 or not all(0 <= end < clusters for end in link)]:
        raise BadInput(f"link {bad[0]} names a cluster that is not there; clusters are 0 to {clusters - 1}.")
    _probability(p, "p")
    rest = _count(size - pixels, "vertices of the last cluster that are not pixels", least=0)
    last = {"pixels": _count(pixels, "pixels"), **({f"cluster{clusters}": rest} if rest else {})}
    members = [{f"cluster{c}": size} for c in range(1, clusters)] + [last]
    top = {"labels": _count(labels, "labels")} if labels else {}
    groups = {**top, **last, **{name: k for member in members[:-1] for name, k in member.items()}}
    edges = [Edges("labels", name) for name in members[0] if top]
    for a, b in sorted({*((c, c) for c in range(clusters)), *links}):
        edges += _bernoulli(members[a], members[b], p, generator)
    return Topology(groups, edges, sensory=["pixels", *top], pools=[*([name] for name in top), *map(list, members)])


def small_world(pixels: int = 784, labels: int = 10, internal: int = 1206, *, neighbours: int = 100,
                rewire: float = 0.1, generator: torch.Generator) -> Topology:
    """Watts-Strogatz small world, each link in both directions: a ring with ``neighbours`` a vertex, some rewired.

    The vertices are shuffled around the ring, so pixels, labels and internal vertices are neighbours of each other.
    """
    groups = _sensory_first(pixels, labels, {"internal": internal})
    n = sum(groups.values())
    _check_generator(generator)
    if not 2 <= whole(neighbours, "neighbours", 2) < n or neighbours % 2:
        raise BadInput(f"neighbours = {neighbours}; expected an even number from 2 to {n - 1} for {n} vertices.")
    _probability(rewire, "rewire")
    seed = int(torch.randint(2**31, (), generator=generator))
    ring = nx.watts_strogatz_graph(n, neighbours, rewire, seed=seed)
    place = torch.randperm(n, generator=generator)                        # (n,)
    ends = place[torch.tensor(list(ring.edges))]                          # (edges, 2)
    mask = torch.zeros(n, n, dtype=torch.bool)
    mask[ends[:, 0], ends[:, 1]] = mask[ends[:, 1], ends[:, 0]] = True
    return from_mask(mask, groups, sensory=_sensory(groups))


def from_mask(mask: Tensor, groups: Mapping[str, int] | None = None, sensory: Sequence[str] = (),
              pools: Sequence[Sequence[str]] = ()) -> Topology:
    """Any directed graph from its adjacency matrix, self-loops and cycles included.

    Args:
        mask: ``(n, n)`` of zeros and ones (any dtype); rows are sources.
        groups: how to cut the n vertices into groups. None: one group called ``"vertices"``.
    """
    mask = torch.as_tensor(mask).cpu()
    if mask.ndim != 2 or mask.shape[0] != mask.shape[1]:
        raise WrongShape(f"mask is {tuple(mask.shape)}; expected a square (n, n) matrix, rows are sources.")
    if not bool(((mask == 0) | (mask == 1)).all()):
        raise BadInput("mask holds entries other than 0 and 1; weights go to PCGraph.set_weight, not into the mask.")
    mask = mask.bool()
    groups = {"vertices": len(mask)} if groups is None else dict(groups)
    if sum(groups.values()) != len(mask):
        raise WrongShape(f"groups hold {sum(groups.values())} vertices, the mask {len(mask)}; they must agree.")
    cut = _slices(groups)
    blocks = ((a, b, mask[cut[a], cut[b]]) for a in groups for b in groups)
    edges = [Edges(a, b, None if block.all() else block.clone()) for a, b, block in blocks if block.any()]
    return Topology(groups, edges, sensory, pools)


def from_networkx(graph: nx.Graph, attribute: str = "group") -> Topology:
    """Any networkx graph; an undirected link becomes two edges.

    Nodes with the attribute ``group`` are gathered by its value, in order of first appearance (other nodes join
    ``"vertices"``); within a group vertices keep the graph's node order.
    """
    if graph.number_of_nodes() == 0:
        raise BadInput("the networkx graph has no nodes; a topology needs at least one.")
    members: dict[str, list] = {}
    for node, data in graph.nodes(data=True):
        members.setdefault(str(data.get(attribute, "vertices")), []).append(node)
    order = [node for nodes in members.values() for node in nodes]
    mask = torch.from_numpy(nx.to_numpy_array(graph, nodelist=order, weight=None) != 0)
    return from_mask(mask, {name: len(nodes) for name, nodes in members.items()})


def _sensory_first(pixels: int, labels: int, others: Mapping[str, int]) -> dict[str, int]:
    labels_group = {"labels": _count(labels, "labels")} if labels else {}
    return {"pixels": _count(pixels, "pixels"), **labels_group, **others}


def _sensory(groups: Mapping[str, int]) -> list[str]:
    return [name for name in ("pixels", "labels") if name in groups]


def _group_pair(topology: Topology, pair: Sequence[str]) -> tuple[str, str]:
    """A pair (source, target) of groups that are there. Raises BadInput, UnknownGroup."""
    if isinstance(pair, str) or len(pair) != 2:
        raise BadInput(f"without holds {pair!r}; expected pairs of groups (source, target), for example "
                       "('labels', 'labels').")
    for name in pair:
        topology.slice(name)
    return tuple(pair)


def _layers(hidden: Sequence[int]) -> dict[str, int]:
    return {f"hidden{k}": _count(size, f"hidden layer {k}") for k, size in enumerate(hidden, start=1)}


def _chain(groups: Mapping[str, int]) -> list[str]:
    """Group names from the top of a generative network down to its pixels."""
    top = ["labels"] if "labels" in groups else []
    return [*top, *(name for name in groups if name.startswith("hidden")), "pixels"]


def _with_lateral(base: Topology, layers: Sequence[str], self_loops: bool) -> Topology:
    inside = [Edges(a, a, None if self_loops else ~torch.eye(base.groups[a], dtype=torch.bool)) for a in layers]
    return Topology(base.groups, [*base.edges, *inside], base.sensory)


def _bernoulli(sources: Mapping[str, int], targets: Mapping[str, int], p: float,
               generator: torch.Generator) -> list[Edges]:
    """Edges from one cluster to another (or to itself, without self-loops), each there with probability ``p``."""
    mask = torch.rand(sum(sources.values()), sum(targets.values()), generator=generator) < p
    if sources == targets:
        mask.fill_diagonal_(False)
    rows, columns = _slices(sources), _slices(targets)
    return [Edges(a, b, mask[rows[a], columns[b]].clone()) for a in sources for b in targets]


def _probability(p: float, name: str) -> None:
    number(p, name, "a probability from 0 to 1", lambda p: 0 <= p <= 1)


def _count(size: int, what: str, least: int = 1) -> int:
    return whole(size, f"number of vertices, {what}", least)


def _check_generator(generator: torch.Generator) -> None:
    if not isinstance(generator, torch.Generator):
        raise BadInput(f"generator = {generator!r}; expected a torch.Generator, which decides the edges.")


def _slices(groups: Mapping[str, int]) -> dict[str, slice]:
    slices, start = {}, 0
    for name, size in groups.items():
        slices[name] = slice(start, start + size)
        start += size
    return slices
