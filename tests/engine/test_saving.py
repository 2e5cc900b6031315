"""A graph that is saved and loaded is the same graph, and no other file is taken for one. Oracles: the graph before it
was saved, bit for bit; single bits flipped in the file; networkx's own reading of a graph."""

import json
import math
import os
import warnings
from itertools import product
from pathlib import Path
from unittest import mock

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from strategies import connectome, graphs, values

import pcgraph_lite as pcg
from pcgraph_lite import PCGraph, topology
from pcgraph_lite.engine import saving
from pcgraph_lite.errors import BadFile, BadInput, BadValues, UnknownName
from pcgraph_lite.files import save_tensors

PLANS = ("dense", "blocks", "sparse")
OWN = pcg.Activation(lambda x: x / (1 + x.abs()), lambda x: (1 + x.abs()).pow(-2))
NAMES = ["AVAL", ("left", 2), 3, "ä", 0.5, ("a", ("b", 1)), "x", "y", "z"]


def same(one: PCGraph, other: PCGraph) -> bool:
    """Whether two graphs are the same whole: every answer of their equations, to the last bit, and what they are."""
    t, u = one.topology, other.topology
    alike = t.groups == u.groups and t.sensory == u.sensory and t.pools == u.pools and list(t.nodes) == list(u.nodes)
    alike = alike and [e.listed for e in t.edges] == [e.listed for e in u.edges]
    x = values(one, batch=4).to(one.dtype)
    return alike and torch.equal(t.mask(), u.mask()) and torch.equal(one.weight, other.weight) and \
        torch.allclose(one.energy(x), other.energy(x.to(other.dtype)).to(one.dtype)) and \
        torch.allclose(one.value_gradient(x), other.value_gradient(x.to(other.dtype)).to(one.dtype)) and \
        (one.prior, one.top_k, one.pixel_scale, one.replicas) == (other.prior, other.top_k, other.pixel_scale,
                                                                  other.replicas)


@settings(max_examples=60)
@given(graphs(), st.sampled_from(PLANS))
def test_a_graph_comes_back_in_every_plan(tmp_path_factory: pytest.TempPathFactory, graph: PCGraph, plan: str):
    path = tmp_path_factory.mktemp("saved") / "graph"
    pcg.save(graph, path)
    loaded = "dense" if plan == "sparse" and graph.replicas else plan
    again = pcg.load(path, plan=loaded)
    assert same(graph, again) and again.layout.plan == loaded


@pytest.mark.parametrize("made", [
    topology.assemblies(3, 8, 0.4, 5, 2, generator=torch.Generator()),
    topology.Topology({"a": 4, "b": 5}, [topology.Edges("b", "a")], nodes=NAMES),
    topology.Topology({"a": 3}, [], nodes=[np.int64(7), (np.float32(0.5), np.str_("x")), np.bool_(True)])],
    ids=["pools", "names", "names of numpy"])
def test_pools_names_and_scales_come_back(tmp_path: Path, made: topology.Topology):
    graph = PCGraph(made, pixel_scale=pcg.Scale("[-1, 1]", 0.5, 0.5))
    pcg.save(graph, tmp_path / "graph")
    assert same(graph, pcg.load(tmp_path / "graph"))


def test_a_dtype_is_that_of_the_file_or_the_one_asked_for(tmp_path: Path):
    graph = PCGraph(topology.generative(2, [3], 4), dtype=torch.float64)
    pcg.save(graph, tmp_path / "graph")
    assert pcg.load(tmp_path / "graph").dtype == torch.float64
    small = pcg.load(tmp_path / "graph", dtype=torch.float32)
    assert small.dtype == torch.float32 and torch.equal(small.weight, graph.weight.float())
    for bias in (True, False):                                             # no weights, and no number at all
        pcg.save(PCGraph(topology.Topology({"a": 2}, []), bias=bias, dtype=torch.float64), tmp_path / "graph")
        assert pcg.load(tmp_path / "graph").dtype == torch.float64


def test_an_activation_of_ones_own_is_handed_over_again(tmp_path: Path):
    graph = PCGraph(topology.generative(2, [3], 4), OWN, top_k=0.5)
    pcg.save(graph, path := tmp_path / "graph")
    assert same(graph, pcg.load(path, activation=OWN))
    with pytest.raises(BadInput, match=r"an activation of its own, .*lambda.*hand it over"):
        pcg.load(path)
    for other in ("tanh", pcg.Activation(torch.tanh, lambda x: 1 - x.tanh() ** 2)):
        with pytest.raises(BadInput, match=r"activation = tanh is not that of the graph.*lambda"):
            pcg.load(path, activation=other)
    pcg.save(PCGraph(graph.topology, "relu"), path)
    assert pcg.load(path, activation="relu").activation.name == "relu"
    with pytest.raises(BadInput, match=r"activation = tanh is not that of the graph in .*, which is relu"):
        pcg.load(path, activation="tanh")


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes]:
    path = tmp_path_factory.mktemp("saved") / "graph"
    pcg.save(PCGraph(topology.generative(2, [3], 4)), path)
    return path, path.read_bytes()


@settings(max_examples=150)
@given(st.data())
def test_a_flipped_bit_is_never_another_graph(saved: tuple[Path, bytes], data: st.DataObject):
    path, content = saved
    bit, flipped = data.draw(st.integers(0, 8 * len(content) - 1)), bytearray(content)
    flipped[bit // 8] ^= 1 << bit % 8
    path.write_bytes(flipped)
    with pytest.raises(BadFile) as caught:
        pcg.load(path)
    assert "\n" not in str(caught.value) and str(path) in str(caught.value)


def test_other_files_are_told_apart(saved: tuple[Path, bytes], tmp_path: Path):
    path, content = saved
    path.write_bytes(content)
    with safe_open(path, "pt") as file:
        about = json.loads(file.metadata()["pcgraph"])
    for name, make, says in (
            ("text", lambda p: p.write_text("a,b\n1,2\n"), "cannot be read.*expected a file of pcg.save"),
            ("half", lambda p: p.write_bytes(content[:len(content) // 2]), "cannot be read"),
            ("weights", lambda p: save_file({"a": torch.ones(2)}, p), r"tensors and no graph.*load_state_dict"),
            ("unsigned", lambda p: save_file({"a": torch.ones(2)}, p, {"pcgraph": json.dumps(about)}), "is damaged"),
            ("newer", lambda p: save_tensors(p, {}, {"pcgraph": json.dumps(about | {
                "form": saving.FORM + 1, "program": "pcgraph_lite 9.9"})}), r"by pcgraph_lite 9\.9, which is newer"),
            ("checkpoint", lambda p: pcg.fit(PCGraph(topology.generative(2, [3], 4)), {"pixels": torch.rand(5, 4)},
                                             epochs=1, checkpoint=p, progress=False),
             r"is a checkpoint of fit; .*same fit\(\.\.\., checkpoint=\.\.\.\).*pcg\.save"),
            ("none", lambda p: None, "cannot be read.*No such file")):
        make(tmp_path / name)
        with pytest.raises(BadFile, match=says) as caught:
            pcg.load(tmp_path / name)
        assert "\n" not in str(caught.value)


def test_what_cannot_be_saved_is_refused_and_the_old_file_stays(saved: tuple[Path, bytes]):
    path, content = saved
    path.write_bytes(content)
    diverged = PCGraph(topology.generative(2, [3], 4))
    diverged.weights[0].data[0, 0] = math.nan
    objects = PCGraph(topology.Topology({"a": 2}, [topology.Edges("a", "a")], nodes=[object(), object()]))
    for graph, error, says in ((diverged, BadValues, "weights of 'labels' -> 'hidden1' holds 1 NaN"),
                               (objects, BadInput, "a name that is a object.*relabel_nodes"),
                               (3, BadInput, "graph = 3")):
        with pytest.raises(error, match=says):
            pcg.save(graph, path)
    assert path.read_bytes() == content
    with pytest.raises(BadInput, match="is a folder"):
        pcg.save(PCGraph(topology.generative(2, [3], 4)), path.parent)
    with pytest.raises(BadInput, match="replicas are those of the file"):
        pcg.load(path, replicas=2)


def test_a_device_is_no_file_and_none_is_told_to_delete_it(tmp_path: Path):
    graph, images = PCGraph(topology.generative(0, [3], 4)), torch.rand(4, 4)
    os.mkfifo(tmp_path / "pipe")
    for place in ("/dev/null", tmp_path / "pipe"):
        for use in (lambda at: pcg.save(graph, at), lambda at: pcg.fit(graph, images, checkpoint=at), pcg.load):
            with pytest.raises(BadInput, match="is a device or a pipe; expected a file"):
                use(place)


@pytest.mark.parametrize(("kept", "loaded"), list(product(PLANS, PLANS)))
def test_weights_in_a_file_know_their_edges(tmp_path: Path, kept: str, loaded: str):
    """As many other edges, and some of the same, are another graph. Weights from before they knew them are taken up."""
    ends = {"one": [[0, 1, 2], [1, 2, 3]], "other": [[0, 1, 3], [1, 2, 4]], "fewer": [[0, 1], [1, 2]]}
    masks = {name: torch.sparse_coo_tensor(pairs, torch.ones(len(pairs[0])), (6, 6), check_invariants=True)
             for name, pairs in ends.items()}
    made = {name: PCGraph(topology.from_mask(mask), plan=kept) for name, mask in masks.items()}
    save_file(made["one"].state_dict(), tmp_path / "one")
    save_file(made["fewer"].state_dict(), tmp_path / "fewer")
    again = PCGraph(made["one"].topology, plan=loaded, generator=torch.Generator().manual_seed(1))
    state = load_file(tmp_path / "one")
    for known in (state, {name: value for name, value in state.items() if name != "edges"}):
        again.load_state_dict(known)
        assert torch.equal(again.weight, made["one"].weight) and "edges" in state
        again.set_weight(torch.zeros(6, 6))
    for file, name in (("one", "other"), ("fewer", "one"), ("one", "fewer")):
        with pytest.raises(BadInput, match="belong to another graph"):
            PCGraph(made[name].topology, plan=loaded).load_state_dict(load_file(tmp_path / file))


@pytest.mark.parametrize("plan", PLANS)
def test_names_and_weights_of_a_connectome_are_kept(tmp_path: Path, plan: str):
    """Against networkx's own matrix of the nodes in the topology's order, also after saving and loading."""
    made = topology.from_networkx(connectome(), nodelist=["d", "c", "b", "a"], sensory=["seen"], weight="weight")
    assert made.nodes == ("d", "a", "c", "b") and made.groups == {"seen": 2, "hidden": 2} and made.sensory == ("seen",)
    graph = PCGraph(made, "linear", plan=plan)
    expected = torch.from_numpy(nx.to_numpy_array(connectome(), nodelist=made.nodes))
    assert torch.equal(graph.weight.double(), expected) and (PCGraph(made, replicas=2).weight == expected).all()
    pcg.save(graph, tmp_path / "graph")
    for one in (graph, pcg.load(tmp_path / "graph"), made):                # the last has first weights alone
        assert nx.utils.graphs_equal(topology.to_networkx(one), connectome())
    assert [made.place(node) for node in made.nodes] == [0, 1, 2, 3]
    with pytest.raises(UnknownName, match="no vertex 'e'"):
        made.place("e")


@given(st.integers(0, 10**6), st.sampled_from([nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph]))
def test_any_networkx_graph_keeps_its_weights(seed: int, kind: type[nx.Graph]):
    """As networkx's matrix, which adds parallel edges up. Many vertices are read by links, without all their pairs."""
    generator, wires = torch.Generator().manual_seed(seed), kind()
    wires.add_nodes_from((f"n{k}", {"group": "ab"[k % 2]}) for k in range(7))
    for a, b in torch.randint(7, (12, 2), generator=generator).tolist():
        wires.add_edge(f"n{a}", f"n{b}", weight=1 + float(torch.rand((), generator=generator)))
    made = topology.from_networkx(wires, weight="weight")
    with mock.patch.object(topology, "MATRIX", 0), warnings.catch_warnings(action="ignore"):
        large, plain = topology.from_networkx(wires, weight="weight"), topology.from_networkx(wires)
    expected = torch.from_numpy(nx.to_numpy_array(wires, nodelist=made.nodes))
    assert all(e.listed for e in large.edges) and torch.equal(plain.mask(), expected != 0)
    for one in (made, large):
        graph = PCGraph(one, dtype=torch.float64)
        torch.testing.assert_close(graph.weight, expected)
        back = topology.from_networkx(topology.to_networkx(graph), weight="weight")
        assert torch.equal(PCGraph(back, dtype=torch.float64).weight, graph.weight)


@pytest.mark.filterwarnings("error")
def test_a_networkx_graph_without_links_is_a_topology_without_edges():
    made = topology.from_networkx(nx.empty_graph(3))
    assert (made.n, made.edge_count(), made.nodes) == (3, 0, (0, 1, 2))


def test_what_is_left_out_is_said():
    wires = nx.MultiDiGraph([("a", "b"), ("a", "b"), ("b", "c")])
    nx.set_node_attributes(wires, 1, "layer")
    nx.set_edge_attributes(wires, 2.0, "count")
    with pytest.warns(UserWarning, match="leaves out the node attributes 'layer' and the edge attributes 'count' and "
                                         "1 parallel edges") as said:
        topology.from_networkx(wires)
    assert said[0].filename == __file__                                    # the caller's line, not ours
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        topology.from_networkx(connectome(), weight="weight")
        topology.from_networkx(wires, attribute="layer", weight="count")
