"""Equations 1 to 4 against autograd in float64, loops over vertices, and equal graphs written differently."""

import copy

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pictures import lines, seeded
from strategies import EXACT, constructed, graphs, values

from pcgraph_lite import Activation, PCGraph, Scale, topology
from pcgraph_lite.engine.activations import ACTIVATIONS
from pcgraph_lite.errors import BadInput, WrongShape
from pcgraph_lite.studies import oracles


@given(graphs(replicas=False))
def test_eq1_and_eq2_are_sums_over_vertices(graph):
    x = values(graph)
    torch.testing.assert_close(graph.prediction(x), oracles.loop_prediction(graph, x), **EXACT)
    torch.testing.assert_close(graph.energy(x), oracles.loop_energy(graph, x), **EXACT)


@given(graphs())
def test_energies_of_groups_are_sums_over_their_vertices(graph):
    """One by one; together they are the energy."""
    x = values(graph)
    error, found = graph.error(x), graph.energies(x)
    places = iter(range(graph.topology.n))
    for name, size in graph.topology.groups.items():
        expected = sum(error[..., next(places)] ** 2 for _ in range(size)) / 2
        torch.testing.assert_close(found.pop(name), expected, **EXACT)
    assert not found
    torch.testing.assert_close(sum(graph.energies(x).values()), graph.energy(x), **EXACT)


@given(graphs())
def test_eq3_and_eq4_are_gradients_of_the_energy(graph):
    """Numbers by hand, which build no graph of autograd's, also of tensors that require a gradient."""
    x = values(graph)
    expected = {"values": oracles.value_gradient(graph, x)} | oracles.weight_gradient(graph, x)
    graph.requires_grad_()
    found = {"values": graph.value_gradient(x.requires_grad_())} | graph.weight_gradient(x)
    assert not any(gradient.requires_grad for gradient in found.values())
    torch.testing.assert_close(found, expected, **EXACT)


@pytest.mark.parametrize("name", topology.CONSTRUCTORS)
def test_all_plans_draw_the_same_weights(name):
    """What they compute of the same weights is in test_saving.py."""
    dense, *others = (PCGraph(constructed(name), plan=plan).weight for plan in ("dense", "blocks", "sparse"))
    assert dense.any() and all(torch.equal(dense, other) for other in others)


def test_a_sparse_plan_stores_existing_edges_alone_and_auto_does_so_in_big_blocks_with_few():
    """Which weights it exchanges with other plans, and of which graphs, is in test_saving.py."""
    t = topology.assemblies(3, 8, 0.4, 5, 2, generator=seeded(1))
    block, sparse = (PCGraph(t, plan=plan) for plan in ("blocks", "sparse"))
    assert sum(w.numel() for w in sparse.weights) == t.edge_count() < sum(w.numel() for w in block.weights)
    name = next(name for name, saved in sparse.state_dict().items() if saved.ndim == 1 and len(saved) > 1)
    for saved in (sparse.state_dict()[name][:-1], sparse.state_dict()[name].repeat(2)):      # of other edges
        with pytest.raises(BadInput, match="size mismatch"):
            block.load_state_dict({name: saved}, strict=False)
    with pytest.raises(BadInput, match="does not do replicas"):
        PCGraph(t, plan="sparse", replicas=2)
    few, many = (topology.from_mask(torch.rand(600, 600, generator=seeded(0)) < share)
                 for share in (0.1, 0.3))
    by_edges = [PCGraph(few), PCGraph(many), PCGraph(few, replicas=2)]
    assert [graph.weights[0].ndim == 1 for graph in by_edges] == [True, False, False]
    small = topology.from_mask(torch.rand(500, 500, generator=seeded(0)) < 0.1)
    assert PCGraph(small).weights[0].ndim == 2
    vertices = {f"v{k}": 1 for k in range(60)}                             # a block each is far slower
    ring = topology.Topology(vertices, [topology.Edges(f"v{k}", f"v{(k + 1) % 60}") for k in range(60)], ["v0"])
    assert [len(PCGraph(ring, plan=plan).blocks) for plan in ("auto", "blocks")] == [1, 60]


@pytest.mark.parametrize(("change", "expected"), [
    (lambda state: state.pop("weights.0"), "Missing key.*weights.0"),
    (lambda state: state.update(other=torch.zeros(2)), "Unexpected key.*other"),
    (lambda state: state.update({"weights.0": torch.zeros(3, 3)}), "size mismatch.*weights.0"),
    (lambda state: state["weights.0"].fill_(float("nan")), "weights.0.*NaN"),
])
def test_weights_with_other_names_or_shapes_are_named_in_a_line(change, expected):
    graph = PCGraph(topology.generative(2, [8], 5))
    before, state = graph.weight.clone(), copy.deepcopy(graph.state_dict())
    change(state)
    with pytest.raises(BadInput, match=expected) as caught:
        graph.load_state_dict(state)
    assert "\n" not in str(caught.value) and torch.equal(graph.weight, before)
    with pytest.raises(BadInput, match="state_dict is 3"):
        graph.load_state_dict(3)


@pytest.mark.parametrize(("name", "value"), [("prior", "flat"), ("activation", "tanh"), ("top_k", 0.5),
                                             ("topology", topology.generative(2, [4], 5))])
def test_what_a_graph_is_made_of_is_not_set_later(name, value):
    """It would have no effect. Copies are made of the same, and the scale of pictures, which has one, may be set."""
    graph = PCGraph(topology.generative(2, [8], 5))
    before = getattr(graph, name)
    with pytest.raises(BadInput, match=rf"{name} = .* comes too late.*PCGraph\(..., {name}=...\)"):
        setattr(graph, name, value)
    graph.pixel_scale = Scale("[-1, 1]", -1.0, 2.0)
    again = copy.deepcopy(graph)
    assert getattr(graph, name) is before and again.pixel_scale == graph.pixel_scale and again.prior == "zero"


@given(st.integers(1, 40), st.floats(0.01, 1.0), st.integers(0, 10**6))
def test_top_k_fires_the_largest_of_each_pool(size, fraction, seed):
    graph = PCGraph(topology.fully_connected(size, 3, 2), "linear", top_k=fraction, dtype=torch.float64)
    x = values(graph, seed=seed)
    fx = torch.cat(graph.activate(x), -1)
    for name, count in graph.topology.groups.items():
        part, fired = x[:, graph.topology.slice(name)], fx[:, graph.topology.slice(name)] != 0
        k = max(1, round(fraction * count))
        assert (fired.sum(-1) == k).all()
        assert torch.equal(part.where(fired, part.amin(-1, keepdim=True)).amax(-1), part.amax(-1))
        assert (part.where(fired, torch.inf).amin(-1) >= part.where(~fired, -torch.inf).amax(-1)).all()


@given(graphs())
def test_a_replica_is_a_graph_of_its_own(graph):
    """Oracle: the rows of all replicas together, with any edges, f, bias and prior."""
    x, copies, kept = values(graph), graph.replicas or 0, graph.weight
    for k in range(copies):
        single = graph.replica(k)
        torch.testing.assert_close(single.prediction(x[k]), graph.prediction(x)[k], **EXACT)
        torch.testing.assert_close(single.energy(x[k]), graph.energy(x)[k], **EXACT)
        single.set_edge_weights([torch.zeros_like(weights) for weights in single.edge_weights()])
        assert torch.equal(graph.weight, kept)                             # no view of the other's weights
    with pytest.raises(BadInput, match=f"replica {copies} of {copies}"):
        graph.replica(copies)


def test_vertices_of_a_pool_compete_whatever_their_groups():
    """By hand: half of each pool fires, one of one. Cut into blocks, the groups of a pool must lie side by side."""
    plain = topology.generative(1, [3], 2)
    for pools, fire in (([["labels", "hidden1"], ["pixels"]], [0, 1, 0, 0, 4, 5]),
                        ([["pixels", "hidden1"], ["labels"]], [0, 0, 2, 0, 4, 5])):
        made = topology.Topology(plain.groups, plain.edges, plain.sensory, pools)
        graph = PCGraph(made, "linear", top_k=0.5, plan="dense")
        assert torch.cat(graph.activate(torch.arange(6.0)[None]), -1).tolist() == [fire]
        replicas = torch.arange(6.0).expand(2, 3, 6)                       # each row for itself
        assert torch.cat(graph.activate(replicas), -1).tolist() == [[fire] * 3] * 2
    with pytest.raises(BadInput, match="side by side"):
        PCGraph(made, top_k=0.5, plan="blocks")


def test_initial_weights_follow_the_generator_and_the_scale():
    t = topology.fully_connected(300, 10, 90)
    a, b = (PCGraph(t, init_std=0.03, generator=torch.Generator().manual_seed(s)) for s in (1, 2))
    again = PCGraph(t, init_std=0.03, generator=torch.Generator().manual_seed(1))
    assert torch.equal(a.weight, again.weight) and not torch.equal(a.weight, b.weight)
    edges = a.weight[t.mask()]
    assert edges.std() == pytest.approx(0.03, rel=0.02) and (a.weight[~t.mask()] == 0).all()
    assert PCGraph(t).weight[t.mask()].std() == pytest.approx(399**-0.5, rel=0.02)


@pytest.mark.parametrize("listed", [False, True])
def test_initial_weights_between_two_groups_can_have_a_scale_of_their_own(listed):
    """The same draws times another number. Listed edges are drawn all at once, in one block of all groups."""
    mask = torch.rand(40, 40, generator=seeded()) < 0.1
    made = topology.from_mask(mask.to_sparse() if listed else mask, {"a": 15, "b": 5, "c": 20})
    usual, own = PCGraph(made), PCGraph(made, init_std={"b -> a": 0.0, "c -> b": 2.0})
    assert len(own.blocks) == 1 or not listed
    a, b, c = map(made.slice, made.groups)
    expected = usual.weight
    expected[b, a] = 0
    expected[c, b] *= 2 * made.in_degree()[b].sqrt()                       # instead of 1 / sqrt(incoming edges)
    torch.testing.assert_close(own.weight, expected)
    assert usual.weight[b, a].any() and usual.weight[c, b].any()


@pytest.mark.parametrize(("activation", "says"), [("sine", "sine"), (Activation(torch.sin, torch.cos), "your own")])
def test_repr_says_what_the_graph_is(monkeypatch, activation, says):
    """A function that equals a registered one is the reader's own."""
    monkeypatch.setitem(ACTIVATIONS, "sine", Activation(torch.sin, torch.cos))
    told = repr(PCGraph(topology.generative(2, [3], 4), activation, top_k=0.5, pixel_scale=Scale("[-1, 1]", 0.5, 0.5)))
    assert ("Topology(9 vertices: pixels 4, labels 2, hidden1 3; 18 edges), "
            f"activation={says}, top_k=0.5, bias=False, prior=zero, pixel_scale=[-1, 1], replicas=None\n") in told


def test_a_prediction_is_not_the_bias_itself() -> None:
    graph = PCGraph(topology.generative(2, [3], 4), bias=True)
    graph.group_prediction(torch.zeros(1, 9), "labels").add_(1)
    assert not graph.bias.any()


def test_weights_of_which_some_do_not_fit_are_not_taken_in_part() -> None:
    graph = PCGraph(topology.generative(3, [4], 6))
    before = graph.weight
    with pytest.raises(WrongShape):
        graph.set_edge_weights([torch.ones(12), torch.ones(3)])
    assert torch.equal(graph.weight, before)


def test_weights_of_edges_are_as_much_work_as_there_are_blocks() -> None:
    """Groups of one vertex in a ring, each a block of its own; a copy looks its weights up in its own blocks."""
    def ring(count: int) -> PCGraph:
        pairs = [topology.Edges(f"g{k}", f"g{(k + 1) % count}") for k in range(count)]
        return PCGraph(topology.Topology({e.source: 1 for e in pairs}, pairs), plan="blocks")

    small, large = ring(40), ring(80)
    for call in (PCGraph.edge_weights, lambda graph: graph.set_edge_weights(graph.edge_weights())):
        assert lines(lambda call=call: call(large)) < 2.2 * lines(lambda call=call: call(small))
    other = copy.deepcopy(small)
    other.set_edge_weights([torch.full((1,), float(k)) for k in range(40)])
    assert torch.equal(other.weight, torch.diag(torch.arange(40.0)).roll(1, 1))
    assert not torch.equal(small.weight, other.weight)
