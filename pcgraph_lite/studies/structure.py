"""The structure of a topology: clustering, path length and modularity, as used for brain networks.

Also the weights of edges inside groups, which make a layered graph recurrent.
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Annotated

import networkx as nx
import torch
from annotated_types import Ge

from .. import valid
from ..engine.graph import PCGraph
from ..engine.topology import Topology, from_networkx
from ..errors import BadInput
from ..valid import Share

AtLeast2 = Annotated[int, Ge(2)]


@dataclass(frozen=True)
class Structure:
    """Measures of a topology without the directions of its edges.

    clustering: how often two neighbours of a vertex are neighbours, averaged over vertices. path_length: mean number of
    links on the shortest path between two vertices. modularity: share of links inside communities beyond chance, for
    the best greedy division.
    """

    vertices: int
    links: int
    clustering: float
    path_length: float
    modularity: float


def measure(topology: Topology) -> Structure:
    """Measure a topology. Raises BadInput: it is not connected, so some vertices have no distance, or it has no links
    between two vertices.
    """
    graph = nx.empty_graph(topology.n)
    graph.add_edges_from((j, i) for j, i in topology.mask().nonzero().tolist() if j != i)
    return _measured(graph)


def self_edges(graph: PCGraph) -> torch.Tensor:
    """The weights of all edges inside groups, ``(..., edges)``."""
    return torch.cat([weights for e, weights in zip(graph.topology.edges, graph.edge_weights(), strict=True)
                      if e.source == e.target], -1)


def without_self_edges(graph: PCGraph) -> PCGraph:
    """A copy of a graph whose edges inside groups have zero weight."""
    copy = deepcopy(graph)
    copy.set_edge_weights([torch.zeros_like(weights) if e.source == e.target else None
                           for e, weights in zip(graph.topology.edges, graph.edge_weights(), strict=True)])
    return copy


def random_like(topology: Topology, generator: torch.Generator, count: int = 10) -> list[Structure]:
    """Measures of ``count`` random connected graphs of the same size. Raises BadInput: too few links."""
    known = measure(topology)
    n, links = known.vertices, known.links
    return [_measured(_connected(lambda seed: nx.gnm_random_graph(n, links, seed=seed), generator,
                                 f"random graphs of {n} vertices and {links} links")) for _ in range(count)]


@valid.checked
def brain_regions(regions: AtLeast2 = 6, size: AtLeast2 = 10, rewire: Share = 0.12, *,
                  generator: torch.Generator) -> Topology:
    """A small world of complete regions, in which each link is rewired at random with probability ``rewire``.

    This is a relaxed caveman graph with links in both directions; each region is a vertex group. (The brain in the
    paper's figure 1 is drawn after another work. This graph has the properties that the paper's text names.)
    Raises BadInput: an argument out of range, or as ``_connected``.
    """
    drawn = _connected(lambda seed: nx.relaxed_caveman_graph(regions, size, rewire, seed=seed), generator,
                       f"regions = {regions}, size = {size}, rewire = {rewire}")
    drawn.remove_edges_from(list(nx.selfloop_edges(drawn)))                # a rewired link may end where it began
    nx.set_node_attributes(drawn, {v: f"region{v // size + 1}" for v in drawn}, "group")
    return from_networkx(drawn)


def _connected(draw: Callable[[int], nx.Graph], generator: torch.Generator, what: str) -> nx.Graph:
    """The first connected graph of up to 20 drawn ones. Raises BadInput: none is connected."""
    for _ in range(20):
        if nx.is_connected(drawn := draw(int(torch.randint(2**31, (), generator=generator)))):
            return drawn
    raise BadInput(f"{what}: 20 draws in a row fall apart; take more links.")


def _measured(graph: nx.Graph) -> Structure:
    if not nx.is_connected(graph):
        raise BadInput(f"the graph falls into {nx.number_connected_components(graph)} parts; some vertices have no "
                       "distance. Join them, or measure the parts.")
    if not graph.number_of_edges():                                        # then it is connected: one vertex
        raise BadInput("the graph is one vertex without links to others, which has no distances and no communities; "
                       "expected at least 2 vertices.")
    parts = nx.community.greedy_modularity_communities(graph)
    return Structure(graph.number_of_nodes(), graph.number_of_edges(), nx.average_clustering(graph),
                     nx.average_shortest_path_length(graph), nx.community.modularity(graph, parts))
