"""Circuits compute the graph they are made from, wire by wire. Oracles: autograd of the energy; wires counted and
written down by hand."""

import pytest
import torch
from pictures import lines

from pcgraph_lite import PCGraph, topology
from pcgraph_lite.studies import circuits, oracles
from pcgraph_lite.studies.circuits import Wire

MAKERS = {"standard": circuits.standard, "dendritic": circuits.dendritic}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("activation", ["linear", "tanh", "hardtanh", "relu", "sigmoid"])
def test_updates_are_the_gradients(make, activation: str) -> None:
    """Random graphs with cycles, self-loops and missing edges; weights of both signs."""
    generator = torch.Generator().manual_seed(1)
    for _ in range(3):
        graph = oracles.random_graph(generator, activation)
        x = torch.randn(4, graph.topology.n, generator=generator, dtype=torch.float64)
        moved, learned = circuits.updates(make(graph), graph, x)
        assert oracles.relative_error(moved, -oracles.value_gradient(graph, x)) < 1e-12
        assert oracles.relative_error(learned, -oracles.weight_gradient(graph, x)["weights.0"]) < 1e-12


def one_edge() -> PCGraph:
    """Vertex 0 predicts vertex 1 with a weight of 2."""
    graph = PCGraph(topology.from_mask(torch.tensor([[0, 1], [0, 0]])), "tanh")
    graph.set_weight(torch.tensor([[0.0, 2.0], [0.0, 0.0]]))
    return graph


def test_the_wires_of_one_edge() -> None:
    """The signs of the paper's figure: a prediction inhibits the error, which excites what predicted it. Without error
    neurons, the apical dendrite of vertex 0 compares x1 with the interneuron that holds its prediction."""
    assert set(circuits.standard(one_edge()).wires) == {
        Wire(("value", 0), ("error", 0), 1), Wire(("error", 0), ("value", 0), -1),
        Wire(("value", 1), ("error", 1), 1), Wire(("error", 1), ("value", 1), -1),
        Wire(("value", 0), ("error", 1), -2, fires=True), Wire(("error", 1), ("value", 0), 2, gated=True)}
    circuit = circuits.dendritic(one_edge())
    assert {kind for kind, _ in circuit.neurons()} == {"value", "basal", "interneuron", "apical"}
    apical = [(wire.source, wire.weight) for wire in circuit.wires if wire.target == ("apical", 0)]
    assert sorted(apical) == [(("interneuron", 1), -2), (("value", 1), 2)]
    assert len(circuit.wires) == 3 * 2 + 4


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_updates_are_as_much_work_as_there_are_wires(make) -> None:
    def work(count: int) -> int:
        graph = PCGraph(topology.from_mask(torch.eye(count).roll(1, 0)))
        circuit, x = make(graph), torch.zeros(1, count)
        return lines(lambda: circuits.updates(circuit, graph, x))

    assert work(80) < 2.2 * work(40)
