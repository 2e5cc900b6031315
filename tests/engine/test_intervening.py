"""Queries by intervention, and counterfactuals. Oracles: the same graph with the edges into those vertices cut;
Gaussian conditioning and exact solves for random linear models without cycles. The closed forms of a chain, a
confounder and a collider are in ``studies/test_causal.py``."""

import os
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import graphs, values

import pcgraph_lite as pcg
from pcgraph_lite import PCGraph, topology
from pcgraph_lite.engine import counterfactual
from pcgraph_lite.errors import BadInput

CHAIN, CYCLE = (topology.Topology({"a": 1, "b": 1, "c": 1}, [topology.Edges(*pair) for pair in pairs])
                for pairs in (("ab", "bc"), ("ab", "ba", "bc")))


def one(value: float) -> torch.Tensor:
    return torch.tensor([[value]], dtype=torch.float64)


@settings(max_examples=60, deadline=None)
@given(graphs(), st.data())
def test_intervening_is_cutting_the_edges_into_the_vertices(graph: PCGraph, data: st.DataObject):
    """The same path step by step, and energies less what the cut vertices pay for their own values."""
    n, t = graph.topology.n, graph.topology
    set_to = torch.tensor(data.draw(st.lists(st.booleans(), min_size=n, max_size=n).filter(lambda m: 0 < sum(m) < n)))
    edges = t.mask() & ~set_to
    twin = PCGraph(topology.from_mask(edges, t.groups), graph.activation, top_k=graph.top_k, prior=graph.prior,
                   bias=graph.bias is not None, dtype=graph.dtype, replicas=graph.replicas, plan="dense")
    twin.set_weight(graph.weight * edges)
    if graph.bias is not None:
        twin.bias.copy_(graph.bias)
    x, flat = values(graph), graph.prior == "flat"
    ours = pcg.relax(graph, x, set_to, steps=7, value_lr=0.01, errorless=set_to)
    theirs = pcg.relax(twin, x, set_to, steps=7, value_lr=0.01)
    torch.testing.assert_close(ours.x, theirs.x, rtol=1e-9, atol=1e-10)
    own = x if graph.bias is None else x - graph.bias
    paid = torch.zeros(()) if flat else own[..., set_to].square().sum(-1) / 2
    torch.testing.assert_close(ours.energy, theirs.energy - paid, rtol=1e-7, atol=1e-9)
    assert torch.equal(ours.x[..., set_to], x[..., set_to])


def test_the_energy_of_an_answer_has_no_part_of_what_is_set() -> None:
    graph = pcg.PCGraph(topology.recurrent(2, [3], 4), "tanh", dtype=torch.float64)
    answer = pcg.query(graph, do={"pixels": torch.rand(5, 4)})
    others = [part for name, part in graph.energies(answer.x).items() if name != "pixels"]
    torch.testing.assert_close(answer.energy[-1], sum(others))
    assert (graph.energy(answer.x) > answer.energy[-1] + 0.01).any()


@pytest.mark.parametrize("plan", ["dense", "blocks", "sparse"])
def test_parts_of_a_group_are_set_in_some_examples(plan: str):
    """Those vertices are held and without errors, which test_exactness.py holds against autograd."""
    graph, x = PCGraph(topology.recurrent(2, [3], 4), "tanh", plan=plan), torch.zeros(3, 9)
    held, set_to = torch.zeros(2, 3, 9, dtype=torch.bool)
    pixels, labels = map(graph.topology.slice, ("pixels", "labels"))
    mask = torch.tensor([[1, 1, 0, 0], [0, 0, 0, 0], [1, 1, 1, 1]]).bool()
    set_to[:, pixels], held[:, labels] = mask, True
    x[:, labels], x[set_to] = torch.eye(2)[[0, 1, 0]], torch.rand(6)
    expected = pcg.relax(graph, x, held | set_to, errorless=set_to, steps=50, value_lr=0.05)
    answer = pcg.query(graph, {"labels": x[:, labels]}, do={"pixels": pcg.observed(x[:, pixels], mask)}, steps=50,
                       value_lr=0.05, tolerance=None)
    assert torch.equal(answer.x, expected.x) and torch.equal(answer.energy, expected.energy)


def sample_model(seed: int, n: int) -> PCGraph:
    """A random linear model without cycles, its vertices in no order."""
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(n, generator=generator)
    edges = torch.rand(n, n, generator=generator).triu(1) > 0.4
    edges[0, 1] = True
    mask = torch.zeros(n, n, dtype=torch.bool)
    mask[order[:, None], order] = edges
    graph = PCGraph(topology.from_mask(mask, {"a": 2, "b": n - 2}), "linear", bias=True, dtype=torch.float64,
                    generator=generator)
    graph.bias.normal_(generator=generator)
    return graph


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(3, 6), st.data())
def test_counterfactuals_of_linear_models_are_exact(seed: int, n: int, data: st.DataObject):
    """E[x under do | observed] by hand: the noise is Gaussian given what was observed, and x is linear in it."""
    graph = sample_model(seed, n)
    draw = st.lists(st.booleans(), min_size=n, max_size=n)
    seen, done = (torch.tensor(data.draw(draw.filter(any))) for _ in range(2))
    x, y = values(graph, batch=2, seed=seed), values(graph, batch=2, seed=seed + 1)
    eye, weight = torch.eye(n, dtype=torch.float64), graph.weight
    made = torch.linalg.inv(eye - weight)                                  # x = (noise + bias) @ made
    mean = graph.bias @ made
    gain = torch.linalg.solve(made[:, seen].T @ made[:, seen], made[:, seen].T)              # (seen, n)
    noise = (x - mean)[:, seen] @ gain                                     # E[noise | x of those that are seen]
    cut = weight * ~done
    own = torch.where(done, y, noise + graph.bias)
    expected = own @ torch.linalg.inv(eye - cut)

    def parts(some: torch.Tensor, mask: torch.Tensor) -> dict[str, pcg.engine.query.Observed]:
        return {name: pcg.observed(some[:, where], mask[where]) for name, where in (("a", slice(0, 2)),
                                                                                    ("b", slice(2, n)))}

    answer = pcg.counterfactual(graph, parts(x, seen), do=parts(y, done), steps=20000, tolerance=1e-15)
    torch.testing.assert_close(answer.x, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("form", [lambda mask: mask, lambda mask: mask.to_sparse()], ids=["dense", "sparse"])
def test_levels_are_the_longest_chain_of_edges_that_are_not_cut(form: Callable) -> None:
    """As networkx counts it, which counts the edges and not the vertices of a chain."""
    for seed in range(20):
        mask, n = sample_model(seed, 12).topology.mask(), 12
        cut = torch.rand(n, generator=torch.Generator().manual_seed(seed)) < 0.3
        graph = PCGraph(topology.from_mask(form(mask), {"a": 5, "b": 4, "c": 3}))
        left = nx.from_numpy_array((mask & ~cut).int().numpy(), create_using=nx.DiGraph)
        assert counterfactual._depth(graph, cut) == nx.dag_longest_path_length(left) + 1


def test_counterfactuals_of_listed_edges_need_no_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chain of all the vertices, every second edge inhibiting, where there is no memory for all pairs."""
    n, ends = 300, torch.arange(299)
    mask = torch.sparse_coo_tensor(torch.stack([ends, ends + 1]), torch.ones(n - 1), (n, n),
                                   check_invariants=False)
    graph = PCGraph(topology.from_mask(mask), "linear", dtype=torch.float64)
    graph.set_edge_weights([strength := 1 - 2 * (ends % 2).double()])
    monkeypatch.setattr(os, "sysconf", {"SC_PHYS_PAGES": n**2, "SC_PAGE_SIZE": 1}.__getitem__)
    first = torch.arange(n) < 1
    answer = pcg.counterfactual(graph, {"vertices": torch.zeros(1, n).double()},
                                {"vertices": pcg.observed(torch.ones(1, n).double(), first)})
    torch.testing.assert_close(answer.x[0], torch.cat([torch.ones(1).double(), strength.cumprod(0)]))


def test_with_everything_observed_only_what_lies_below_changes():
    """a -> b -> c, not linear: b keeps its error and c follows; a stays as it was seen."""
    graph = PCGraph(CHAIN, "tanh", dtype=torch.float64)
    _, v = (float(weight) for weight in graph.edge_weights())
    seen = {"a": one(0.5), "b": one(-0.2), "c": one(1.0)}
    answer = pcg.counterfactual(graph, seen, do={"b": one(2.0)})
    error = 1.0 - v * torch.tanh(one(-0.2))
    assert answer.values["a"] == one(0.5) and answer.values["b"] == one(2.0)
    torch.testing.assert_close(answer.values["c"], v * torch.tanh(one(2.0)) + error)
    back = pcg.counterfactual(graph, seen, do={"a": one(0.5)})             # what was, had what was been
    torch.testing.assert_close(back.x, torch.cat([*seen.values()], -1))


def test_replicas_have_counterfactuals_of_their_own():
    graph = PCGraph(topology.generative(2, [3], 4), "tanh", replicas=2, dtype=torch.float64)
    pictures, labels = torch.rand(3, 4, dtype=torch.float64), torch.eye(2, dtype=torch.float64)[[0, 1, 1]]
    both, *alone = (pcg.counterfactual(one, {"pixels": pictures}, do={"labels": labels}, steps=200, tolerance=None).x
                    for one in (graph, graph.replica(0), graph.replica(1)))
    torch.testing.assert_close(both, torch.stack(alone))


def test_a_counterfactual_needs_a_graph_without_cycles():
    """Unless the intervention cuts them all."""
    graph = PCGraph(CYCLE, "linear", dtype=torch.float64)
    with pytest.raises(BadInput, match=r"2 vertices in a, b lie on cycles, or behind them.*query\(graph, do"):
        pcg.counterfactual(graph, {"c": one(1)}, do={"c": one(2)})
    answer = pcg.counterfactual(graph, {"a": one(0), "b": one(1), "c": one(1)}, do={"a": one(2)})
    forth, _, on = (float(weight) for weight in graph.edge_weights())
    b = 1 + forth * (2 - 0)
    torch.testing.assert_close(answer.x, torch.tensor([[2.0, b, 1 + on * (b - 1)]], dtype=torch.float64))
    with pytest.raises(BadInput, match="not defined under a top-k"):
        pcg.counterfactual(PCGraph(CYCLE, top_k=0.5), {"c": one(1)}, do={"a": one(2)})


def test_a_program_that_computes_in_double_precision_asks_the_same(tmp_path: Path):
    """With torch's default changed, as numerical programs do, a graph is made, trained, asked and kept as before."""
    graph = PCGraph(topology.generative(2, [3], 4), "tanh")
    seen, other = {"pixels": torch.rand(3, 4), "labels": torch.tensor([0, 1, 0])}, {"labels": torch.tensor([1, 0, 1])}
    expected = pcg.counterfactual(graph, seen, other).x
    torch.set_default_dtype(torch.float64)
    assert torch.equal(pcg.counterfactual(graph, seen, other).x, expected)
    pcg.fit(graph, seen, epochs=1, batch_size=3, progress=False)
    pcg.save(graph, tmp_path / "graph")
    assert torch.equal(pcg.load(tmp_path / "graph").weight, graph.weight) and graph.weight.dtype == torch.float32
    assert pcg.sample(graph, do=other, steps=2, every=1, burn_in=1).x.dtype == torch.float32
