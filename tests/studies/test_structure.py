"""Measures of structure on graphs whose values are known. Oracles: complete graphs, rings and cliques, by hand."""

import pytest
import torch

from pcgraph_lite import PCGraph, topology
from pcgraph_lite.errors import BadInput
from pcgraph_lite.studies import structure


def test_complete_graphs_and_directed_rings() -> None:
    """Every two neighbours are neighbours, every way is one link, and no division is better than none. In a ring of
    six, directions left aside: no triangles; distances 1, 1, 2, 2, 3 from each. Two parts have no distance."""
    found = structure.measure(topology.from_mask(torch.ones(5, 5)))
    assert (found.vertices, found.links) == (5, 10)
    assert (found.clustering, found.path_length, found.modularity) == pytest.approx((1, 1, 0))
    ring = structure.measure(topology.from_mask(torch.eye(6).roll(1, 0)))
    assert (ring.links, ring.clustering, ring.path_length) == (6, 0, pytest.approx(9 / 5))
    with pytest.raises(BadInput, match="falls into 2 parts"):
        structure.measure(topology.from_mask(torch.block_diag(torch.ones(2, 2), torch.ones(2, 2))))


def test_two_cliques_joined_by_one_link() -> None:
    """Modularity of the division into the two: sum of (links inside / L - (degree sum / 2L)^2)."""
    mask = torch.block_diag(torch.ones(4, 4), torch.ones(4, 4))
    mask[3, 4] = 1
    found = structure.measure(topology.from_mask(mask))
    assert found.links == 13
    assert found.modularity == pytest.approx(2 * (6 / 13 - (13 / 26) ** 2))


def test_random_graphs_have_as_many_vertices_and_links() -> None:
    drawn = structure.random_like(topology.from_mask(torch.ones(8, 8).triu(2)), torch.Generator().manual_seed(0), 3)
    assert [(one.vertices, one.links) for one in drawn] == [(8, 21)] * 3


def test_regions_without_rewiring_would_fall_apart_and_rewired_ones_are_symmetric() -> None:
    generator = torch.Generator().manual_seed(0)
    with pytest.raises(BadInput, match=r"rewire = 0\.0.*fall apart"):
        structure.brain_regions(3, 4, 0.0, generator=generator)
    regions = structure.brain_regions(3, 5, 0.2, generator=generator)
    mask = regions.mask()
    assert torch.equal(mask, mask.T) and not mask.diagonal().any()
    assert regions.groups == {"region1": 5, "region2": 5, "region3": 5}
    assert int(mask.sum()) == 2 * 3 * 10                                   # rewiring moves links, it adds none


def test_edges_inside_groups_are_found_and_cut() -> None:
    """By hand: a -> a weighs 2 and inside b are two edges; what leads from a to b stays. The graph itself keeps all."""
    mask = torch.tensor([[1, 1, 1], [0, 0, 1], [0, 1, 0]])
    graph = PCGraph(topology.from_mask(mask, {"a": 1, "b": 2}))
    graph.set_weight([[2, 5, 6], [0, 0, 3], [0, 4, 0]])
    assert structure.self_edges(graph).tolist() == [2, 3, 4]
    assert structure.without_self_edges(graph).weight.tolist() == [[0, 5, 6], [0, 0, 0], [0, 0, 0]]
    assert graph.weight[0, 0] == 2
    assert structure.self_edges(PCGraph(graph.topology, replicas=2)).shape == (2, 3)
