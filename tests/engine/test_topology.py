"""Topologies against their definitions, edge by edge."""

from collections.abc import Callable

import networkx as nx
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pictures import lines, seeded
from scipy import sparse
from strategies import masks

from pcgraph_lite import topology


def blocks(t: topology.Topology) -> set[tuple[str, str]]:
    """Pairs of groups between which the full mask has an edge."""
    mask = t.mask()
    return {(a, b) for a in t.groups for b in t.groups if mask[t.slice(a), t.slice(b)].any()}


# how a mask is given; every edge of the last is listed twice, and its entries add up to 2
FORMS = {"matrix": lambda mask: mask, "torch": lambda mask: mask.to_sparse(),
         **{form: lambda mask, form=form: sparse.coo_matrix(mask).asformat(form) for form in ("csr", "coo")},
         "twice": lambda mask: torch.sparse_coo_tensor(
             pairs := mask.nonzero().T.repeat(1, 2), torch.ones(pairs.shape[1]), mask.shape, check_invariants=False)}


@pytest.mark.parametrize("form", FORMS)
@given(masks(3), st.booleans())
def test_a_mask_comes_back_as_it_went_in(form, mask, cut):
    """In one group or in three, from a matrix or a list of edges, of torch or SciPy."""
    groups = {"a": 1, "b": len(mask) - 2, "c": 1} if cut else None
    t = topology.from_mask(FORMS[form](mask), groups)
    assert torch.equal(t.mask(), mask)
    assert all(e.listed for e in t.edges) or form == "matrix"
    assert t.groups == (groups or {"vertices": len(mask)})
    assert t.edge_count() == int(mask.sum())
    assert torch.equal(t.in_degree(), mask.sum(0))


@pytest.mark.parametrize("stored", [
    lambda mask: mask.to_sparse_csr(), lambda mask: mask.to_sparse_csc(), lambda mask: mask.to_sparse_bsr((1, 2)),
    lambda mask: torch.sparse_coo_tensor([[1, 0, 0, 1, 0], [1, 2, 0, 0, 2]],          # in no order, one twice
                                         torch.tensor([1, 1, 1, 0, 1]).bool(), mask.shape, check_invariants=False)])
def test_a_sparse_mask_of_any_layout_has_its_true_entries_as_edges(stored):
    """A false one that is stored says that there is none."""
    mask = torch.tensor([[1, 0, 1, 0], [0, 1, 0, 0]]).bool()
    made, same = (topology.Topology({"a": 2, "b": 4}, [topology.Edges("a", "b", one)]) for one in (stored(mask), mask))
    assert made.edges[0].listed and torch.equal(made.mask(), same.mask())
    assert made.edge_count() == 3 and torch.equal(made.in_degree(), same.in_degree())
    assert torch.equal(made.edges[0].pairs(), mask.nonzero().T)


NAMES = st.sampled_from("dbca")


@given(st.sets(st.tuples(NAMES, NAMES)), st.sets(NAMES, min_size=1))
def test_outwards_is_breadth_first_search(pairs, known):
    """Groups stand in an order that is not that of their names."""
    t = topology.Topology(dict.fromkeys("dbca", 1), [topology.Edges(*pair) for pair in sorted(pairs)])
    graph = nx.DiGraph(pairs)
    graph.add_nodes_from("dbca")
    first, *waves = [sorted(wave) for wave in nx.bfs_layers(graph, known)]
    assert first == sorted(known) and [sorted(wave) for wave in t.outwards(known)] == waves
    rank = {name: k for k, wave in enumerate([first, *waves]) for name in wave}
    others = [(a, b) for a, b in pairs if {a, b} - known]
    assert t.leads_on(known) == (rank.keys() == set("dbca") and all(rank[a] < rank[b] for a, b in others))


@pytest.mark.parametrize("self_loops", [False, True])
@pytest.mark.parametrize("without", [[], [("labels", "labels"), ["labels", "internal"]]])
def test_fully_connected_has_every_edge_but_self_loops_and_pairs_of_groups_left_out(self_loops, without):
    t = topology.fully_connected(4, 2, 3, self_loops=self_loops, without=without)
    expected = torch.ones(9, 9, dtype=torch.bool) if self_loops else ~torch.eye(9, dtype=torch.bool)
    if without:
        expected[4:6, 4:9] = False
    assert list(t.groups.items()) == [("pixels", 4), ("labels", 2), ("internal", 3)]
    assert t.sensory == ("pixels", "labels") and t.edge_count() == int(expected.sum())
    assert torch.equal(t.mask(), expected) and torch.equal(t.in_degree(), expected.sum(0))


def test_layered_topologies_join_neighbouring_layers_only():
    chain = {("labels", "hidden1"), ("hidden1", "hidden2"), ("hidden2", "pixels")}
    assert blocks(topology.generative(2, [3, 4], 5)) == chain
    assert blocks(topology.discriminative(5, [3, 4], 2)) == {
        ("pixels", "hidden1"), ("hidden1", "hidden2"), ("hidden2", "labels")}
    inside = {("hidden1", "hidden1"), ("hidden2", "hidden2")}
    assert blocks(topology.recurrent(2, [3, 4], 5)) == chain | inside
    assert blocks(topology.lateral(2, [3, 4], 5)) == chain | inside | {("pixels", "pixels")}
    assert "labels" not in topology.generative(0, [3], 5).groups
    assert not topology.recurrent(2, [3, 4], 5).mask().diagonal().any()
    assert topology.recurrent(2, [3, 4], 5, self_loops=True).mask().diagonal().sum() == 7


def test_assemblies_have_bernoulli_edges_inside_and_along_the_chain():
    """The pixels are vertices of the last cluster, or all of it."""
    assert topology.assemblies(2, 10, 0.5, 10, generator=seeded()).groups == {"cluster1": 10, "pixels": 10}
    t = topology.assemblies(3, 100, 0.3, pixels=40, labels=5, generator=seeded())
    cluster = {"labels": 0, "pixels": 3, "cluster3": 3, "cluster1": 1, "cluster2": 2}
    assert t.groups == {"labels": 5, "cluster1": 100, "cluster2": 100, "pixels": 40, "cluster3": 60}
    for a in t.groups:
        for b in t.groups:
            share = t.mask()[t.slice(a), t.slice(b)].double().mean()
            joined = cluster[a] and cluster[b] - cluster[a] in (0, 1)
            expected = 1.0 if (a, b) == ("labels", "cluster1") else 0.3 if joined else 0.0
            sd = (0.3 * 0.7 / (t.size(a) * t.size(b))) ** 0.5
            assert abs(share - expected) < 5 * sd + 0.01 * (a == b), (a, b)
    assert not t.mask().diagonal().any()
    assert sorted(map(sorted, t.pools)) == [["cluster1"], ["cluster2"], ["cluster3", "pixels"], ["labels"]]
    again = topology.assemblies(3, 100, 0.3, pixels=40, labels=5, generator=seeded())
    assert torch.equal(t.mask(), again.mask())
    other = topology.assemblies(3, 100, 0.3, pixels=40, labels=5, links=[(2, 0)], generator=seeded())
    assert other.mask()[other.slice("pixels"), other.slice("cluster1")].any()
    assert not other.mask()[other.slice("cluster1"), other.slice("cluster2")].any()


def test_small_world_links_go_both_ways_and_keep_their_number() -> None:
    """Drawn from many rings, which degrees and closed triangles tell apart, wherever vertices stand on them."""
    t = topology.small_world(20, 4, 26, neighbours=6, rewire=0.2, generator=seeded())
    mask = t.mask()
    assert torch.equal(mask, mask.T) and not mask.diagonal().any()
    assert t.edge_count() == 50 * 6                                        # Watts-Strogatz keeps n k / 2 links
    lattice = topology.small_world(20, 4, 26, neighbours=6, rewire=0.0, generator=seeded()).mask()
    clustering = nx.average_clustering(nx.from_numpy_array(lattice.int().numpy()))
    assert clustering == pytest.approx(3 * (6 - 2) / (4 * (6 - 1)))        # of a ring lattice (Watts and Strogatz)
    rings = set()
    for seed in range(60):
        made = topology.small_world(20, 0, 20, neighbours=4, rewire=0.5, generator=seeded(seed)).mask().double()
        rings.add((*made.sum(0).sort().values.tolist(), float((made @ made @ made).trace())))
    assert len(rings) > 50


@pytest.mark.parametrize("form", [lambda mask: mask, lambda mask: mask.to_sparse_coo()], ids=["dense", "sparse"])
def test_a_mask_that_its_maker_changes_later_changes_no_edge(form: Callable) -> None:
    mask, weights = form(torch.eye(3, dtype=torch.bool)), torch.ones(3)
    made = topology.Topology({"a": 3, "b": 3}, [topology.Edges("a", "b", mask, weights)])
    (mask._indices() if mask.is_sparse else mask).fill_(0)
    weights.fill_(2)
    [kept] = made.edges
    assert torch.equal(kept.pairs(), torch.arange(3).repeat(2, 1)) and kept.weights.tolist() == [1, 1, 1]


@pytest.mark.parametrize("form", [lambda mask: mask, lambda mask: mask.to_sparse()], ids=["dense", "sparse"])
def test_many_groups_are_as_much_work_as_they_have_edges(form: Callable) -> None:
    """And the edges come in the order of a loop over all pairs of groups, without a mask where all of a pair are."""
    def ring(count: int) -> tuple[torch.Tensor, dict[str, int]]:
        mask = torch.eye(2 * count, dtype=torch.bool).roll(1, 0)           # one edge inside each group, one to another
        mask[:2, 4:6] = True
        return mask, {f"g{k}": 2 for k in range(count)}

    def made(count: int) -> topology.Topology:
        mask, groups = ring(count)
        return topology.from_mask(form(mask), groups)

    assert torch.equal(made(6).mask(), ring(6)[0])
    assert [(e.source, e.target) for e in made(6).edges] == sorted(blocks(made(6)))
    whole = [(e.source, e.target) for e in made(6).edges if e.mask is None or e.listed]
    assert whole == (sorted(blocks(made(6))) if form(torch.eye(2)).is_sparse else [("g0", "g2")])
    assert lines(lambda: made(80)) < 2.2 * lines(lambda: made(40))
