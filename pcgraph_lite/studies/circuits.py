"""Neural circuits that compute a PC graph: neurons, and signed wires between them (figure 2a; appendix A).

``standard`` gives each vertex a value neuron and an error neuron. ``dendritic`` has a basal and an apical
dendrite and an interneuron in place of the error neuron (after Whittington and Bogacz, 2019). Both are built from a
graph, wire by wire, and ``updates`` runs them, so a drawing shows what was computed.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from ..engine.graph import PCGraph
from ..errors import BadInput, WrongShape

Neuron = tuple[str, int]                                                   # kind and vertex


@dataclass(frozen=True)
class Wire:
    """One connection: excitatory if its weight is positive, inhibitory if it is negative.

    ``fires``: it sends f of its source instead of the source. ``gated``: its input is multiplied by f' of the target's
    value.
    """

    source: Neuron
    target: Neuron
    weight: float
    fires: bool = False
    gated: bool = False


@dataclass(frozen=True)
class Circuit:
    """All wires, and the kinds of neurons besides values, in the order of their computation."""

    vertices: int
    kinds: tuple[str, ...]
    wires: tuple[Wire, ...]

    def neurons(self) -> list[Neuron]:
        """Every neuron, values first."""
        return [(kind, i) for kind in ("value", *self.kinds) for i in range(self.vertices)]


def standard(graph: PCGraph) -> Circuit:
    """Value and error neurons: eps_i = x_i - sum_j theta_{j,i} f(x_j), and eq. 3 for the values.

    Raises BadInput: the graph has replicas, biases, top-k or a flat prior.
    """
    wires = []
    for i in range(_vertex_count(graph)):
        wires += [Wire(("value", i), ("error", i), 1), Wire(("error", i), ("value", i), -1)]
    for j, i, weight in _edges(graph):
        wires += [Wire(("value", j), ("error", i), -weight, fires=True),
                  Wire(("error", i), ("value", j), weight, gated=True)]
    return Circuit(graph.topology.n, ("error",), tuple(wires))


def dendritic(graph: PCGraph) -> Circuit:
    """No error neurons: basal dendrite and interneuron hold mu_i, and the apical dendrite compares x_k with mu_k.

    The soma leaks and adds its basal and apical potentials, so it moves by x_i - mu_i without an error neuron. Raises
    BadInput as ``standard``.
    """
    wires = []
    for i in range(_vertex_count(graph)):
        wires += [Wire(("value", i), ("value", i), -1), Wire(("basal", i), ("value", i), 1),
                  Wire(("apical", i), ("value", i), 1, gated=True)]
    for j, i, weight in _edges(graph):
        wires += [Wire(("value", j), ("basal", i), weight, fires=True),
                  Wire(("value", j), ("interneuron", i), weight, fires=True),
                  Wire(("value", i), ("apical", j), weight), Wire(("interneuron", i), ("apical", j), -weight)]
    return Circuit(graph.topology.n, ("basal", "interneuron", "apical"), tuple(wires))


def updates(circuit: Circuit, graph: PCGraph, x: Tensor) -> tuple[Tensor, Tensor]:
    """Run the wires. Returns the change of every value and of every weight, both with a step of 1.

    They are ``(batch, n)``, and ``(n, n)`` summed over the batch with sources in rows. Raises WrongShape: ``x``
    ``(batch, n)`` or the circuit does not fit the graph.
    """
    graph.check_values(x)
    if circuit.vertices != graph.topology.n:
        raise WrongShape(f"the circuit has {circuit.vertices} vertices, the graph {graph.topology.n}.")
    fx, slope = torch.cat(graph.activate(x), -1), graph.slope(x)           # (batch, n)
    level = {("value", i): x[:, i] for i in range(circuit.vertices)}       # (batch,) each
    incoming: dict[Neuron, list[Wire]] = {}
    for wire in circuit.wires:                                             # once, not once for each neuron
        incoming.setdefault(wire.target, []).append(wire)

    def arriving(neuron: Neuron) -> Tensor:
        """The input of a neuron from all its wires, ``(batch,)``."""
        total = torch.zeros_like(x[:, 0])
        for wire in incoming.get(neuron, ()):
            sent = fx[:, wire.source[1]] if wire.fires else level[wire.source]
            total = total + wire.weight * sent * (slope[:, neuron[1]] if wire.gated else 1)
        return total

    for kind in circuit.kinds:
        level |= {(kind, i): arriving((kind, i)) for i in range(circuit.vertices)}
    moved = torch.stack([arriving(("value", i)) for i in range(circuit.vertices)], -1)
    after = [level["error", i] if "error" in circuit.kinds else x[:, i] - level["basal", i]
             for i in range(circuit.vertices)]                             # what is seen at the end of a synapse
    learned = fx.T @ torch.stack(after, -1)                                # (source, target): eq. 4
    return moved, learned * graph.topology.mask()


def _vertex_count(graph: PCGraph) -> int:
    """The number of vertices. Raises BadInput: the graph has something that circuits do not have."""
    topped = any(hasattr(f, "fraction") for f in graph.activations)
    if graph.replicas is not None or graph.bias is not None or graph.sources is not None or topped:
        raise BadInput("a circuit is made of one graph without replicas, biases, top-k and flat prior; build it with "
                       "PCGraph(topology, activation).")
    return graph.topology.n


def _edges(graph: PCGraph) -> list[tuple[int, int, float]]:
    """Source, target and weight of every edge."""
    weight = graph.weight
    return [(j, i, float(weight[j, i])) for j, i in graph.topology.mask().nonzero().tolist()]
