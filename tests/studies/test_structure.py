"""Measures of structure on graphs whose values are known. Oracles: complete graphs, rings and cliques, by hand."""

import pytest
import torch
from pictures import seeded

from pcgraph_lite import PCGraph, topology
from pcgraph_lite.studies import structure


def test_complete_graphs_directed_rings_and_two_cliques_joined_by_one_link() -> None:
    """In a ring of six, directions left aside, are no triangles, and distances of 1, 1, 2, 2, 3 from each. Modularity
    is the sum over parts of (links inside / L - (degree sum / 2L)^2)."""
    found = structure.measure(topology.from_mask(torch.ones(5, 5)))
    assert (found.vertices, found.links) == (5, 10)
    assert (found.clustering, found.path_length, found.modularity) == pytest.approx((1, 1, 0))
    ring = structure.measure(topology.from_mask(torch.eye(6).roll(1, 0)))
    assert (ring.links, ring.clustering, ring.path_length) == (6, 0, pytest.approx(9 / 5))
    mask = torch.block_diag(torch.ones(4, 4), torch.ones(4, 4))
    mask[3, 4] = 1
    cliques = structure.measure(topology.from_mask(mask))
    assert (cliques.links, cliques.modularity) == (13, pytest.approx(2 * (6 / 13 - (13 / 26) ** 2)))


def test_random_graphs_have_as_many_vertices_and_links() -> None:
    drawn = structure.random_like(topology.from_mask(torch.ones(8, 8).triu(2)), seeded(), 3)
    assert [(one.vertices, one.links) for one in drawn] == [(8, 21)] * 3


def test_rewired_regions_are_symmetric() -> None:
    for seed in range(10):                                                 # 0 and 7 rewire a link to its own vertex
        regions = structure.brain_regions(3, 5, 0.2, generator=seeded(seed))
        mask = regions.mask()
        assert torch.equal(mask, mask.T) and not mask.diagonal().any()
        assert regions.groups == {"region1": 5, "region2": 5, "region3": 5}
        assert int(mask.sum()) == 2 * (3 * 10 - (seed in (0, 7)))          # rewiring moves links, it adds none


def test_edges_inside_groups_are_found_and_cut() -> None:
    """By hand: a -> a weighs 2 and inside b are two edges; what leads from a to b stays. The graph itself keeps all."""
    mask = torch.tensor([[1, 1, 1], [0, 0, 1], [0, 1, 0]])
    graph = PCGraph(topology.from_mask(mask, {"a": 1, "b": 2}))
    graph.set_weight([[2, 5, 6], [0, 0, 3], [0, 4, 0]])
    assert structure.self_edges(graph).tolist() == [2, 3, 4]
    assert structure.without_self_edges(graph).weight.tolist() == [[0, 5, 6], [0, 0, 0], [0, 0, 0]]
    assert graph.weight[0, 0] == 2
    assert structure.self_edges(PCGraph(graph.topology, replicas=2)).shape == (2, 3)
