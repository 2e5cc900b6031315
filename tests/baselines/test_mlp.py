"""The perceptron. Oracles: prediction and energy of the PC graph of the same weights; the theorem of Whittington and
Bogacz (2017) that predictive coding at rest backpropagates the error of its labels, as that error vanishes."""

import pytest
import torch

import pcgraph_lite as pcg
from pcgraph_lite.baselines import mlp
from pcgraph_lite.baselines.mlp import MLP

PIXELS = torch.rand(7, 6, generator=torch.Generator().manual_seed(2), dtype=torch.float64)


def pair(f: str) -> tuple[MLP, pcg.PCGraph]:
    """A perceptron 6 -> 5 -> 4 -> 3 and the graph of the same weights, whose pixels pay nothing, in float64."""
    model = MLP(6, 3, [5, 4], activation=f, generator=torch.Generator().manual_seed(1)).double()
    graph = pcg.PCGraph(pcg.topology.discriminative(6, [5, 4], 3), f, prior="flat", dtype=torch.float64)
    matrix, order = torch.zeros_like(graph.weight), ["pixels", "hidden1", "hidden2", "labels"]
    cut = [graph.topology.slice(name) for name in order]
    for k, weight in enumerate(model.weights):
        matrix[cut[k], cut[k + 1]] = weight.detach()
    graph.set_weight(matrix)
    return model, graph


@pytest.mark.parametrize("f", ["relu", "tanh", "hardtanh", "sigmoid"])
def test_it_computes_what_the_graph_predicts(f: str):
    model, graph = pair(f)
    answer = pcg.query(graph, {"pixels": PIXELS}, start="prediction", steps=1)
    assert torch.allclose(model(PIXELS), answer.values["labels"], atol=1e-12)
    assert float(answer.initial_energy.max()) < 1e-20
    assert torch.equal(model.classify(PIXELS), answer.values["labels"].argmax(-1))


def test_its_loss_is_the_graphs_energy_with_every_hidden_vertex_at_its_prediction():
    model, graph = pair("tanh")
    labels = torch.arange(7) % 3
    x = pcg.query(graph, {"pixels": PIXELS}, start="prediction", steps=1).x
    x[:, graph.topology.slice("labels")] = torch.nn.functional.one_hot(labels, 3).double()
    assert mlp.loss(model, PIXELS, labels).item() == pytest.approx(float(graph.energy(x).mean()), rel=1e-12)


def test_at_rest_predictive_coding_backpropagates_the_error_left_at_the_labels():
    """The two weight gradients from that error, with labels held ever nearer to the output: equal to first order."""
    model, graph = pair("tanh")
    out, found = model(PIXELS).detach(), []
    towards = torch.randn(out.shape, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    for size in (1e-2, 1e-4):
        clamp = {"pixels": PIXELS, "labels": out + size * towards}
        x = pcg.query(graph, clamp, start="prediction", steps=2000, tolerance=None).x
        left = graph.error(x)[:, graph.topology.slice("labels")]
        by_backprop = torch.autograd.grad(-(model(PIXELS) * left).sum(), list(model.weights))
        by_coding = {tuple(g.shape): g for g in graph.weight_gradient(x).values()}
        found.append(max(float((by_coding[tuple(g.shape)] - g).norm() / g.norm()) for g in by_backprop))
    assert 1e-6 < found[1] < 0.02 * found[0] < 1e-3
