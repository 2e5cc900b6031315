"""Recorded steps are the same steps. Without a GPU the recorder is held against a stand-in that replays by calling."""

from contextlib import contextmanager

import pytest
import torch
from strategies import values

from pcgraph_lite import PCGraph, hardware, relax, topology
from pcgraph_lite.engine import captured


@pytest.fixture
def stand_in(monkeypatch):
    """CUDA graphs that note the recorded step instead of running it, and run it on replay."""
    class Graph:
        def replay(self) -> None:
            self.recorded()

    @contextmanager
    def recording(graph: Graph):
        graph.recorded = recorded
        recorded.live = False
        yield
        recorded.live = True

    def recorded() -> None:
        if recorded.live:
            recorded.count += 1

    recorded.live, recorded.count = True, 0
    monkeypatch.setattr(torch.cuda, "CUDAGraph", Graph)
    monkeypatch.setattr(torch.cuda, "graph", recording)
    return recorded


def test_each_call_is_one_step_and_recording_is_none(stand_in):
    step = captured._Recorded(stand_in)
    for count in (1, 2, 3, 4):
        step()
        assert stand_in.count == count


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("name", ["hardtanh", "relu", "tanh"])
def test_recorded_steps_settle_where_plain_ones_do(name):
    graph = PCGraph(topology.recurrent(3, [8, 9], 12), name, device="cuda")
    x, clamped = values(graph).cuda(), torch.arange(graph.topology.n) < 12
    plain = relax(graph, x, clamped, steps=30, value_lr=0.1, trace=False)
    try:
        hardware.prepare(cuda_graphs=True)
        recorded = relax(graph, x, clamped, steps=30, value_lr=0.1, trace=False)
    finally:
        hardware.prepare()
    assert torch.equal(recorded.x, plain.x)
    assert torch.equal(recorded.energy[-1], plain.energy[-1])
