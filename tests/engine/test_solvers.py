"""Recorded steps are the same steps. Without a GPU the recorder is held against a stand-in that replays by calling."""

from contextlib import contextmanager

import pytest
import torch
from pretended_gpu import pretended_gpu, waited
from strategies import chain, values

from pcgraph_lite import PCGraph, relax, topology
from pcgraph_lite.engine.conditioned import Conditioned
from pcgraph_lite.engine.solvers import WINDOW, Backtracking, Plain

SETTINGS = {"steps": 12, "value_lr": 0.1, "trace": False}


@pytest.fixture
def replays(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """CUDA graphs that note the recorded step instead of running it, and run it on replay: the waits of each."""
    seen, step = [], Plain.step

    class Graph:
        recording = False

        def replay(self) -> None:
            waited.clear()
            step(Graph.solver)
            seen.append(sum(waited.values()))

    @contextmanager
    def recording(graph: Graph):
        Graph.recording = True
        yield
        Graph.recording = False

    def noted(self: Plain) -> None:
        if Graph.recording:
            Graph.solver = self
        else:
            step(self)

    monkeypatch.setattr(Plain, "step", noted)
    monkeypatch.setattr(torch.cuda, "CUDAGraph", Graph)
    monkeypatch.setattr(torch.cuda, "graph", recording)
    return seen


@pytest.mark.parametrize("replicas", [None, 2])
def test_recorded_steps_are_the_plain_ones_and_never_wait(replays, replicas):
    """The first runs, the second records and replays, others replay; a CUDA graph cannot hold a look at a number."""
    with pretended_gpu():
        graphs = [PCGraph(topology.recurrent(3, [8, 9], 12), "tanh", replicas=replicas, device="cuda", cuda_graphs=on)
                  for on in (False, True)]
        clamped = torch.arange(graphs[0].topology.n) < 12
        plain, recorded = (relax(graph, values(graph).cuda(), clamped, **SETTINGS) for graph in graphs)
        assert torch.equal(recorded.x.cpu(), plain.x.cpu()) and torch.equal(recorded.energy.cpu(), plain.energy.cpu())
    assert replays == [0] * (SETTINGS["steps"] - 1)


@pytest.mark.parametrize(("device", "ask"), [("cpu", {}), ("cuda", {"value_lr": "safe"}), ("cuda", {"momentum": 0.9})])
def test_steps_that_look_at_values_are_not_recorded(replays, device, ask):
    with pretended_gpu():
        graph = PCGraph(topology.recurrent(3, [8, 9], 12), "tanh", device=device, cuda_graphs=True)
        relax(graph, values(graph).to(device), torch.arange(graph.topology.n) < 12, **SETTINGS | ask)
    assert not replays


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("name", ["hardtanh", "relu", "tanh"])
def test_recorded_steps_settle_where_plain_ones_do(name):
    graphs = [PCGraph(topology.recurrent(3, [8, 9], 12), name, device="cuda", cuda_graphs=on) for on in (False, True)]
    x, clamped = values(graphs[0]).cuda(), torch.arange(graphs[0].topology.n) < 12
    plain, recorded = (relax(graph, x, clamped, steps=30, value_lr=0.1, trace=False) for graph in graphs)
    assert torch.equal(recorded.x, plain.x)
    assert torch.equal(recorded.energy[-1], plain.energy[-1])


def test_a_safe_step_is_halved_where_the_energy_rose_and_moves_while_at_most_half_are_taken_back():
    """And it grows back to the first."""
    graph = PCGraph(topology.recurrent(3, [8], 12), "tanh")
    solver = Backtracking(Conditioned(graph, values(graph), torch.arange(23) < 12), 0.05)
    for _ in range(2):
        solver._resize(torch.ones_like(solver.lr, dtype=torch.bool))
    assert (solver.lr == torch.tensor(0.05) / 4).all()
    for _ in range(10):
        solver._resize(torch.zeros_like(solver.lr, dtype=torch.bool))
    assert (solver.lr == torch.tensor(0.05)).all()
    solver.rejected = torch.tensor([[0.0], [WINDOW / 2], [WINDOW / 2 + 1]])
    assert solver.moving().tolist() == [True, True, False] and not solver.rejected.any()


@pytest.mark.parametrize("part", [2, 4, 8])
def test_an_example_held_back_rests_only_if_no_share_of_the_first_step_goes_down(part: int) -> None:
    """1 -> x -> 1 with E = (x - 2)^2 / 2 + (relu(x) - 1)^2 / 2 from x = 2: 0.5 there, and 0.25 in the minimum at 1.5.
    The curvature is 2, so that a step of 1 / 2 ends in the minimum. Here it is a half, 4th or 8th of the first one; the
    other shares end at a distance of half as much as 2 or more, and so at 0.3125 or above."""
    x, held = torch.tensor([[1.0, 2.0, 1.0]], dtype=torch.float64), torch.tensor([True, False, True])
    solver = Backtracking(Conditioned(chain("relu", 2.0, 1.0, prior="flat"), x, held), part / 2)
    solver.problem.evaluate()
    solver.lr /= 64                                                        # halved until nothing moved
    for below, rests, lr in ((0.24, True, part / 128), (0.26, False, 1 / 2)):
        rested = solver.rested(torch.tensor([True]), torch.tensor([below]))
        assert rested.tolist() == [rests] and solver.lr.tolist() == [[lr]]
        assert solver.problem.assembled().tolist() == [[1.0, 2.0, 1.0]]
