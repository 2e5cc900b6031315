"""How the time of a training batch grows with N, B, T and the number of edges; the points of a curve take turns.

At small sizes a batch costs what its calls cost, so the exponent is fitted to the upper half of a curve.
"""

from collections.abc import Callable, Mapping

import numpy as np
import torch
from pydantic import Field

from benchmarks.rows import Sizes
from benchmarks.timing import interleaved
from benchmarks.training import first_images, trainer
from pcgraph_lite import PCGraph, Topology, topology
from reproduction.evidence.strict import Strict


class Curve(Strict):
    """Median seconds of a training batch against one size, smallest first."""

    x: str
    label: str
    at: list[float] = Field(min_length=2)
    seconds: list[float] = Field(min_length=2)

    @property
    def upper(self) -> tuple[list[float], list[float]]:
        """The larger half of the points, the middle one included."""
        start = min((len(self.at) - 1) // 2, len(self.at) - 2)
        return self.at[start:], self.seconds[start:]

    @property
    def exponent(self) -> float:
        """Slope of the upper half in the log-log plot."""
        return fitted(*self.upper)[0]


def fitted(at: list[float], seconds: list[float]) -> tuple[float, float]:
    """Exponent p and factor c of the best c x^p, least squares of the logarithms."""
    exponent, offset = np.polyfit(np.log(at), np.log(seconds), 1)
    return float(exponent), float(np.exp(offset))


def measure(sizes: Sizes) -> list[Curve]:
    """All curves."""
    turns, n, batch, steps = sizes.repeats(5), sizes(500, 60), sizes(100, 10), sizes(10, 2)
    ns = [30, 60] if sizes.quick else [125, 250, 500, 1000, 2000]
    batches, many = ([5, 10], [1, 2]) if sizes.quick else ([25, 50, 100, 200, 400], [5, 10, 20, 40, 80])
    shares = [0.1, 1.0] if sizes.quick else [0.02, 0.05, 0.1, 0.2, 0.5, 1.0]
    widths = [8, 16] if sizes.quick else [64, 128, 256, 512, 1024]
    masked = {f"joined at random, N = {2 * n}": [_random(2 * n, share) for share in shares],
              "layered, by width": [topology.generative(hidden=[w, w]) for w in widths]}
    return [
        _curve("N", "fully connected", {k: _call(_full(k), batch, steps, sizes) for k in ns}, turns, sizes),
        _curve("B", f"N = {n}, T = {steps}", {k: _call(_full(n), k, steps, sizes) for k in batches}, turns, sizes),
        _curve("T", f"N = {n}, B = {batch}", {k: _call(_full(n), batch, k, sizes) for k in many}, turns, sizes),
        *(_curve("edges", label, {t.edge_count(): _call(t, batch, steps, sizes) for t in made}, turns, sizes)
          for label, made in masked.items())]


def _curve(x: str, label: str, calls: Mapping[float, Callable[[], object]], turns: int, sizes: Sizes) -> Curve:
    times = interleaved({str(k): call for k, call in calls.items()}, turns, sizes.device)
    return Curve(x=x, label=label, at=[float(k) for k in calls], seconds=[t.median for t in times.values()])


def _call(made: Topology, batch: int, steps: int, sizes: Sizes) -> Callable[[], object]:
    graph = PCGraph(made, "hardtanh", init_std=0.5 * made.n**-0.5, device=sizes.device,
                    cuda_graphs=sizes.cuda_graphs)
    return trainer(graph, first_images(made, batch, sizes.device), steps)


def _full(n: int) -> Topology:
    """A quarter of the vertices are pixels."""
    return topology.fully_connected(pixels=n // 4, labels=0, internal=n - n // 4)


def _random(n: int, share: float) -> Topology:
    """Each edge is there with probability ``share``; a quarter of the vertices are pixels."""
    mask = torch.rand(n, n, generator=torch.Generator().manual_seed(0)) < share
    return topology.from_mask(mask, {"pixels": n // 4, "internal": n - n // 4}, ["pixels"])
