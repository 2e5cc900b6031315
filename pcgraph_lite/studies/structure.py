"""How a topology is knit: clustering, path length, modularity, the measures by which brain networks are described."""

from dataclasses import dataclass

import networkx as nx
import torch

from ..engine.constructors import from_networkx
from ..engine.topology import Topology
from ..errors import BadInput, number, whole


@dataclass(frozen=True)
class Structure:
    """Measures of a topology, the directions of its edges left aside.

    clustering: how often two neighbours of a vertex are neighbours, mean over vertices. path_length: mean number of
    links on the shortest way between two vertices. modularity: share of links inside communities beyond chance, for
    the best division found greedily.
    """

    vertices: int
    links: int
    clustering: float
    path_length: float
    modularity: float


def measure(topology: Topology) -> Structure:
    """Measure a topology. Raises BadInput where it falls apart, because then some vertices have no distance."""
    return _measured(_undirected(topology))


def random_like(topology: Topology, generator: torch.Generator, count: int = 10) -> list[Structure]:
    """Measures of ``count`` random connected graphs with as many vertices and links, to compare with.

    Raises:
        BadInput: the topology falls apart, or ``count`` random graphs in a row do.
    """
    known, found = measure(topology), []
    for _ in range(20 * whole(count, "count")):
        seed = int(torch.randint(2**31, (), generator=generator))
        drawn = nx.gnm_random_graph(known.vertices, known.links, seed=seed)
        if nx.is_connected(drawn):
            found.append(_measured(drawn))
        if len(found) == count:
            return found
    raise BadInput(f"random graphs of {known.vertices} vertices and {known.links} links fall apart; add links.")


def brain_regions(regions: int = 6, size: int = 10, rewire: float = 0.12, *, generator: torch.Generator) -> Topology:
    """A small world of regions: each is complete within, and a link is rewired to anywhere with probability ``rewire``.

    A relaxed caveman graph; each link goes both ways and each region is a vertex group. (The brain of the paper's
    figure 1 is a drawing after another work; this is a graph with the properties that its text names.)

    Raises:
        BadInput: an argument out of range, or 20 draws in a row that fall apart.
    """
    whole(regions, "regions", 2), whole(size, "size", 2)
    number(rewire, "rewire", "a probability from 0 to 1", lambda p: 0 <= p <= 1)
    for _ in range(20):
        seed = int(torch.randint(2**31, (), generator=generator))
        drawn = nx.relaxed_caveman_graph(regions, size, rewire, seed=seed)
        if nx.is_connected(drawn):
            nx.set_node_attributes(drawn, {v: f"region{v // size + 1}" for v in drawn}, "group")
            return from_networkx(drawn)
    raise BadInput(f"regions = {regions}, size = {size}, rewire = {rewire}: 20 draws in a row fall apart; rewire more.")


def _undirected(topology: Topology) -> nx.Graph:
    graph = nx.Graph()
    graph.add_nodes_from(range(topology.n))
    graph.add_edges_from((j, i) for j, i in topology.mask().nonzero().tolist() if j != i)
    return graph


def _measured(graph: nx.Graph) -> Structure:
    if not nx.is_connected(graph):
        raise BadInput(f"the graph falls into {nx.number_connected_components(graph)} parts; some vertices have no "
                       "distance. Join them, or measure the parts.")
    parts = nx.community.greedy_modularity_communities(graph)
    return Structure(graph.number_of_nodes(), graph.number_of_edges(), nx.average_clustering(graph),
                     nx.average_shortest_path_length(graph), nx.community.modularity(graph, parts))
