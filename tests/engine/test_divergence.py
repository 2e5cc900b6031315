"""A training that diverges ends in an error of ours, whatever the model; and no setting outside takes its digits.
Oracle: finite weights and histories, or our errors; power iteration in float64; the same call outside of autocast."""

from collections.abc import Callable
from itertools import product

import pandas as pd
import pytest
import torch

import pcgraph_lite as pcg
from pcgraph_lite import topology
from pcgraph_lite.baselines.kinds import KINDS
from pcgraph_lite.engine.conditioned import Conditioned
from pcgraph_lite.engine.hessian import largest_eigenvalue
from pcgraph_lite.errors import BadInput, PCGraphError, UnstableStep
from pcgraph_lite.images import judge

X, Y = torch.rand(12, 16, generator=torch.Generator().manual_seed(1)), torch.arange(12) % 3
GRAPHS = {
    "nothing free": lambda: pcg.PCGraph(topology.discriminative(16, [], 3), "linear"),
    "hidden": lambda: pcg.PCGraph(topology.discriminative(16, [4], 3), "linear"),
    "flat": lambda: pcg.PCGraph(topology.generative(3, [4], 16), "relu", prior="flat"),
    "bias": lambda: pcg.PCGraph(topology.generative(3, [], 16), "linear", bias=True),
    "top-k": lambda: pcg.PCGraph(topology.generative(3, [4], 16), "linear", top_k=0.5),
    "replicas": lambda: pcg.PCGraph(topology.discriminative(16, [4], 3), "linear", replicas=2),
    "all to all": lambda: pcg.PCGraph(topology.fully_connected(16, 3, 4), "linear")}


def test_a_small_step_over_the_bend_of_relu_is_no_divergence() -> None:
    """By hand: h = 0 has slope 1 and its pixel 1 asks for -1, so h goes to -0.02 (h^2 / 2 more) and back; a step above
    the bound explodes."""
    graph = pcg.PCGraph(pcg.Topology({"h": 1, "p": 1}, [pcg.Edges("h", "p")]), "relu")
    graph.set_weight([[0, -1], [0, 0]])
    once = pcg.query(graph, {"p": torch.ones(1, 1)}, value_lr=0.02, steps=1, tolerance=None)
    assert float(once.energy[-1]) == pytest.approx(0.5 + 0.02**2 / 2)
    with pytest.raises(UnstableStep):
        pcg.query(graph, {"p": torch.ones(1, 1)}, value_lr=3.0, steps=50, tolerance=None)


def of_graph(name: str, weight_lr: float, validation: float | None) -> tuple[torch.nn.Module, pd.DataFrame]:
    graph = GRAPHS[name]()
    return graph, pcg.fit(graph, (X, Y), epochs=20, steps=5, batch_size=4, optimizer="sgd", weight_lr=weight_lr,
                          validation=validation, progress=False)


def of_baseline(kind: str) -> tuple[torch.nn.Module, pd.DataFrame]:
    made, how = ({}, {}) if kind == "autoencoder" else ({"labels": 3}, {"optimizer": "sgd"})
    model = KINDS[kind].make(16, **made)
    return model, KINDS[kind].fit(model, X, Y, epochs=5, weight_lr=1e30, progress=False, **how)


@pytest.mark.parametrize(("train", "case"), [
    *((of_graph, case) for case in product(GRAPHS, [1e2, 1e15, 1e30], [None, 0.25])),
    *((of_baseline, (kind,)) for kind in ("mlp", "rbm", "boltzmann", "autoencoder", "almeida-pineda"))])
def test_a_training_that_diverges_says_so(train: Callable, case: tuple) -> None:
    try:
        model, history = train(*case)
    except PCGraphError as error:
        assert "\n" not in str(error)
    else:
        assert all(bool(p.isfinite().all()) for p in model.parameters()) and not history.isna().any(axis=None)


def problem(weight: float, dtype: torch.dtype) -> Conditioned:
    """labels -> pixels, with labels free."""
    graph = pcg.PCGraph(topology.generative(2, [], 3), "linear", dtype=dtype)
    matrix = torch.zeros(5, 5, dtype=dtype)
    matrix[3:, :3] = weight * torch.tensor([[1.0, 2, 3], [0, 1, 1]])
    graph.set_weight(matrix)
    return Conditioned(graph, torch.zeros(1, 5, dtype=dtype), torch.arange(5) < 3)


@pytest.mark.parametrize("weight", [1.0, 1e5, 1e10, 3e12, 1e18])
def test_the_estimate_of_curvature_survives_large_weights(weight: float) -> None:
    """Up to where the curvature itself, about 14 weight^2, leaves float32."""
    exact, found = (largest_eigenvalue(problem(weight, dtype)) for dtype in (torch.float64, torch.float32))
    torch.testing.assert_close(found.double(), exact, rtol=1e-4, atol=0)


@pytest.mark.parametrize("weight", [1e20, 1e30])
def test_an_overflow_is_no_flat_energy(weight: float) -> None:
    assert not float(largest_eigenvalue(problem(weight, torch.float32))) < float("inf")
    one = problem(weight, torch.float32)
    with pytest.raises(UnstableStep, match="curvature of the energy is"):
        pcg.query(one.graph, {"pixels": torch.rand(1, 3)}, steps=3)
    with pytest.raises(UnstableStep):
        pcg.query(one.graph, {"pixels": torch.rand(1, 3)}, steps=30, value_lr=0.1)


MODELS = {"graph": lambda: pcg.PCGraph(topology.generative(3, [8], 16)), "judge": judge.Judge,
          "mlp": lambda: KINDS["mlp"].make(16, 3), "rbm": lambda: KINDS["rbm"].make(16, 3),
          "inside": lambda: torch.nn.Sequential(pcg.PCGraph(topology.generative(3, [8], 16)))}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("convert", [lambda m: m.half(), lambda m: m.to(torch.bfloat16), lambda m: m.type(torch.half)])
def test_a_module_cannot_be_converted_to_fewer_digits(name: str, convert: Callable) -> None:
    model = MODELS[name]()
    with pytest.raises(BadInput, match=r"dtype = .*; expected torch.float32 or torch.float64"):
        convert(model)
    assert {p.dtype for p in model.parameters()} == {torch.float32}
    assert {p.dtype for p in model.double().to("cpu").float().double().parameters()} == {torch.float64}
