"""Random graphs for property tests: any mask, cycles and self-loops included, in float64. And small graphs by hand."""

from inspect import signature

import networkx as nx
import torch
from hypothesis import strategies as st
from pictures import seeded

from pcgraph_lite import PCGraph, topology

# f and its derivative, written from their definitions; at a kink the slope is 1 (activations.py).
FUNCTIONS = {
    "linear": (lambda x: x, torch.ones_like),
    "hardtanh": (lambda x: x.clamp(-1, 1), lambda x: (x.abs() <= 1).to(x.dtype)),
    "tanh": (torch.tanh, lambda x: 1 / x.cosh() ** 2),
    "relu": (torch.relu, lambda x: (x >= 0).to(x.dtype)),
    "sigmoid": (torch.sigmoid, lambda x: torch.sigmoid(x) * torch.sigmoid(-x)),
}
ACTIVATIONS = tuple(FUNCTIONS)
EXACT = {"rtol": 1e-10, "atol": 1e-12}                                     # what differs by rounding alone
SIZES = {"pixels": 6, "labels": 3, "hidden": [5, 4], "internal": 5, "clusters": 3, "size": 8, "p": 0.5, "neighbours": 4}


@st.composite
def masks(draw: st.DrawFn, least: int = 2, most: int = 8) -> torch.Tensor:
    """A square bool matrix with about half of its entries set, diagonal included."""
    n = draw(st.integers(least, most))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 10**6)))
    mask = torch.rand(n, n, generator=generator) < draw(st.sampled_from([0.2, 0.5, 0.9, 1.0]))
    mask[0, 1] = True                                                      # at least one edge
    return mask


@st.composite
def graphs(draw: st.DrawFn, activation: str | None = None, replicas: bool = True, scale: float = 0.4,
           paper: bool = False) -> PCGraph:
    """A graph with random weights, its edges in a matrix or a list, one or two groups, and sometimes bias, a flat prior
    or replicas. Where the activation is left open, sometimes top-k as well. ``paper``: none of what section 2 does not
    have."""
    mask, name = draw(masks()), activation or draw(st.sampled_from(ACTIVATIONS))
    n, cut = len(mask), draw(st.integers(1, len(mask) - 1))
    mask = mask.to_sparse() if draw(st.booleans()) else mask
    groups = draw(st.sampled_from([None, {"a": cut, "b": n - cut}]))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 10**6)))
    plan, copies = draw(st.sampled_from(["dense", "blocks", "sparse"])), draw(st.sampled_from([None, 3]))
    graph = PCGraph(
        topology.from_mask(mask, groups), name, bias=not paper and draw(st.booleans()),
        top_k=None if activation or paper else draw(st.sampled_from([None, None, 0.5])),
        prior="zero" if paper else draw(st.sampled_from(["zero", "flat"])), plan=plan,
        replicas=copies if replicas and plan != "sparse" else None,
        init_std=scale, dtype=torch.float64, generator=generator)
    if graph.bias is not None:
        graph.bias.copy_(torch.randn(graph.bias.shape, generator=generator, dtype=graph.dtype))
    return graph


def values(graph: PCGraph, batch: int = 3, seed: int = 0) -> torch.Tensor:
    """Random values ``(..., batch, n)`` for a graph."""
    lead = () if graph.replicas is None else (graph.replicas,)
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*lead, batch, graph.topology.n, generator=generator, dtype=graph.dtype)


def constructed(name: str) -> topology.Topology:
    """What the constructor of that name makes of 6 pixels and 3 labels."""
    make, known = topology.CONSTRUCTORS[name], SIZES | {"generator": seeded()}
    return make(**{argument: known[argument] for argument in known.keys() & signature(make).parameters.keys()})


def chain(activation: str, first: float, second: float, **settings: object) -> PCGraph:
    """Three vertices, each of which predicts the next one by its weight, in float64."""
    graph = PCGraph(topology.from_mask([[0, 1, 0], [0, 0, 1], [0, 0, 0]]), activation, dtype=torch.float64, **settings)
    graph.set_weight([[0, first, 0], [0, 0, second], [0, 0, 0]])
    return graph


def connectome() -> nx.DiGraph:
    """Four neurons with names, groups and weights; one is a loop."""
    wires = nx.DiGraph()
    wires.add_weighted_edges_from([("b", "a", 0.5), ("d", "a", -2.0), ("d", "b", 0.25), ("c", "c", 0.125)])
    nx.set_node_attributes(wires, {"a": "seen", "b": "hidden", "c": "hidden", "d": "seen"}, "group")
    return wires
