"""Large sparse graphs by lists of edges. Oracles: edges counted; memory as the system counts it. What small graphs with
such lists compute, the properties of the other files hold, which draw them as well."""

import os
import runpy
import subprocess
import sys
import warnings

import pytest
import torch

from benchmarks import memory
from pcgraph_lite import PCGraph, topology
from pcgraph_lite.engine import layout
from pcgraph_lite.errors import BadInput, require_memory

LARGE = """
import time, torch
import networkx as nx
from pcgraph_lite import PCGraph, fit, hardware, observed, query, topology
generator, n = torch.Generator().manual_seed(0), 50_000

def mask():
    pairs = torch.randint(n, (2, 250_000), generator=generator)
    groups = {"pixels": 784, "others": n - 784}
    return topology.from_mask(torch.sparse_coo_tensor(pairs, torch.ones(250_000), (n, n)), groups)

def networkx():
    links = nx.gnm_random_graph(n, 250_000, seed=0, directed=True)
    nx.set_node_attributes(links, {k: "pixels" if k < 784 else "others" for k in range(n)}, "group")
    return topology.from_networkx(links)

def assemblies():
    p = 2e5 / 19 / 25e6                                                    # and the labels' edges
    return topology.assemblies(clusters=10, size=5_000, p=p, pixels=784, labels=10, generator=generator)

for make in (mask, assemblies, networkx):
    began = time.process_time()
    made = make()
    graph, images = PCGraph(made, "tanh"), torch.rand(20, 784, generator=generator)
    data = {"pixels": images} | ({"labels": torch.arange(20) % 10} if "labels" in made.groups else {})
    fit(graph, data, epochs=1, steps=5, batch_size=20, progress=False)
    query(graph, {"pixels": observed(images[:2], torch.arange(784) < 392)}, steps=20)
    graph.load_state_dict(graph.state_dict())
    print(made.n, made.edge_count(), hardware.peak_memory() / 2**10, time.process_time() - began)
"""


@pytest.mark.parametrize("std", [None, {"cluster1 -> cluster1": 0.5, "labels -> cluster1": 0.25}])
def test_lists_of_edges_beside_whole_blocks_are_drawn_alone(monkeypatch, std):
    """Labels send edges to a whole cluster; the others are as many as Bernoulli ones (5 sigma), without self-loops."""
    monkeypatch.setattr(topology, "PAIRS", 0)
    made = topology.assemblies(clusters=4, size=200, p=0.05, pixels=50, labels=10, generator=torch.Generator())
    pairs = 7 * 200 * 200 - 4 * 200
    assert abs(made.edge_count() - 10 * 200 - 0.05 * pairs) < 5 * (pairs * 0.05 * 0.95) ** 0.5
    assert not made.mask().diagonal().any()
    graph = PCGraph(made, init_std=std)
    assert {weight.ndim for weight in graph.weights} == {1, 2} and torch.equal(graph.weight != 0, made.mask())
    for a, b in (("cluster1", "cluster1"), ("labels", "cluster1"), ("cluster1", "cluster2")):
        rows, columns = made.slice(a), made.slice(b)
        drawn = graph.weight[rows, columns] * (made.in_degree()[columns] ** 0.5 if not std or b != "cluster1" else 1)
        wanted = (std or {}).get(f"{a} -> {b}", 1.0)
        assert float(drawn[made.mask()[rows, columns]].std()) == pytest.approx(wanted, rel=0.1)


@pytest.mark.parametrize("p", [0.9, 1.0])
def test_most_of_all_pairs_are_found_in_time(monkeypatch, p):
    """Drawn one by one, the last of a million pairs would turn up once in a million draws."""
    monkeypatch.setattr(topology, "PAIRS", 0)
    made, pairs = topology.assemblies(1, 1000, p, 1000, generator=torch.Generator()), 1000 * 999
    assert abs(made.edge_count() - p * pairs) <= 5 * (p * (1 - p) * pairs) ** 0.5
    assert made.edges[0].listed and not made.mask().diagonal().any()


@pytest.mark.parametrize("call", [
    lambda n: PCGraph(topology.fully_connected(n // 2, 0, n // 2)), lambda n: PCGraph(ring(n), plan="dense"),
    lambda n: PCGraph(ring(n)).weight, lambda n: ring(n).mask(),
    lambda n: topology.small_world(n // 2, 0, n // 2, neighbours=2, generator=torch.Generator())])
def test_what_does_not_fit_with_all_that_is_made_on_the_way_is_refused(monkeypatch, call):
    """Of a matrix that itself would fit, but not its copies, the system would kill the process."""
    n = 200
    call(n)
    monkeypatch.setattr(os, "sysconf", {"SC_PHYS_PAGES": int(n**2 * 4 / 3), "SC_PAGE_SIZE": 1}.__getitem__)
    with pytest.raises(BadInput, match=r"would take .* GiB"):
        call(n)


def ring(n: int) -> topology.Topology:
    ends = torch.arange(n)
    return topology.from_mask(torch.sparse_coo_tensor(torch.stack([ends, ends.roll(1)]), torch.ones(n), (n, n),
                                                      check_invariants=False))


@pytest.mark.slow
def test_large_sparse_graphs_train_answer_and_load_within_two_gigabytes_and_a_minute():
    done = subprocess.run([sys.executable, "-c", LARGE], capture_output=True, text=True, check=True)
    for made, n in zip(done.stdout.splitlines(), (50_000, 50_010, 50_000), strict=True):
        vertices, edges, memory, seconds = map(float, made.split())
        assert vertices == n and edges == pytest.approx(250_000, rel=0.02) and memory < 2 and seconds < 60


def test_the_warning_of_torch_is_silenced_for_products_of_ours_alone():
    """A program that imports the library and makes such tensors of its own is still warned."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        runpy.run_module("pcgraph_lite.engine.weights")                    # as a first import does
        for module in ("pcgraph_lite.engine.weights", "somebody.else"):
            warnings.warn_explicit("Sparse CSR tensor support is in beta state.", UserWarning, module, 1, module)
    assert [one.filename for one in seen if "CSR" in str(one.message)] == ["somebody.else"]


@pytest.mark.parametrize(("bytes_", "what"), [(599, "the mask"), (600, "the weights"), (11_999, "the weights")])
def test_the_first_block_that_does_not_fit_is_named(monkeypatch: pytest.MonkeyPatch, bytes_: int, what: str) -> None:
    """20 labels above 30 vertices: 600 bytes say where edges are, and five numbers a pair are 12,000 bytes."""
    made = topology.generative(20, [30], 5)
    monkeypatch.setattr(os, "sysconf", {"SC_PHYS_PAGES": bytes_, "SC_PAGE_SIZE": 1}.__getitem__)
    with pytest.raises(BadInput, match=f"{what} of 20 x 30 vertices"):
        PCGraph(made)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_as_many_numbers_a_pair_are_reckoned_with_as_drawing_takes(dtype: torch.dtype) -> None:
    """Oracle: what torch's profiler counts; the mask's bytes, one a pair, are less than half a number."""
    n = 300
    made = topology.from_mask(torch.rand(n, n) < 0.5)
    most = memory.peak_bytes(lambda: PCGraph(made, plan="dense", dtype=dtype))
    assert round(most / n**2 / dtype.itemsize) == layout.DRAWN


@pytest.mark.parametrize("make", [
    lambda: topology.lateral(2, [300], 5, self_loops=False),
    lambda: topology.fully_connected(5, 2, 300, self_loops=False),
], ids=["lateral", "fully connected"])
def test_constructors_ask_for_the_memory_that_they_take(monkeypatch, make):
    asked = []
    monkeypatch.setattr(topology, "require_memory", lambda entries, what, size=4: asked.append(entries * size))
    assert memory.peak_bytes(make) == pytest.approx(max(asked), rel=0.05)


@pytest.mark.parametrize("told", [None, -1, 2**10], ids=["no such call", "not known", "1 MiB"])
def test_nothing_is_refused_where_the_system_does_not_say_its_memory(monkeypatch, told):
    """Windows has no ``os.sysconf``; others answer -1 to a question that they cannot answer."""
    if told is None:
        monkeypatch.delattr(os, "sysconf")
    else:
        monkeypatch.setattr(os, "sysconf", {"SC_PHYS_PAGES": told, "SC_PAGE_SIZE": 2**10}.__getitem__)
    if told == 2**10:
        require_memory(2**18, "a matrix of as much")
        with pytest.raises(BadInput, match=r"one entry more would take .* GiB; this machine has 0.000977: give fewer"):
            require_memory(2**18 + 1, "one entry more")
    else:
        require_memory(2**80, "more than there is")
