"""Small linear models of causes: what observing a value tells, what setting it does, and what would have been.

Each vertex is the weighted sum of its causes plus noise of its own with variance 1, which is what the energy of a
linear graph assumes. So the answers of a graph can be held against linear algebra.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import networkx as nx
import torch
from torch import Tensor

from ..engine.counterfactual import counterfactual
from ..engine.graph import PCGraph
from ..engine.query import query
from ..engine.topology import Edges, Topology, to_networkx
from ..errors import BadInput

VALUE, SEEN = 2.0, 1.0                     # what is observed or set; and in a counterfactual, what all vertices were
SETTLE: dict[str, Any] = {"steps": 5000, "momentum": 0.9, "tolerance": 1e-14}


@dataclass(frozen=True)
class Example:
    """A model and what is asked of it.

    Args:
        edges: (cause, effect) -> weight.
        held, asked: what is at VALUE, observed or set; and what is then asked for.
        changed, effect: the counterfactual: all vertices were SEEN; had ``changed`` been at VALUE, what of ``effect``?
    """

    edges: Mapping[tuple[str, str], float]
    held: str
    asked: str
    changed: str
    effect: str


EXAMPLES = {
    "common cause": Example({("z", "x"): 0.8, ("z", "y"): -1.5, ("x", "y"): 0.6}, "x", "y", "x", "y"),
    "chain": Example({("x", "z"): 1.5, ("z", "y"): -0.5}, "z", "x", "z", "y"),
    "collider": Example({("x", "z"): 0.7, ("y", "z"): 1.2}, "z", "x", "x", "z")}


def model(edges: Mapping[tuple[str, str], float]) -> PCGraph:
    """The graph of a linear model in float64, one group of one vertex for each name, all of them seen in training."""
    names = sorted({name for pair in edges for name in pair})
    topology = Topology(dict.fromkeys(names, 1), [Edges(*pair) for pair in edges], sensory=names)
    graph = PCGraph(topology, "linear", dtype=torch.float64)
    graph.set_edge_weights([torch.tensor([weight], dtype=torch.float64) for weight in edges.values()])
    return graph


def observations(graph: PCGraph, count: int, generator: torch.Generator) -> dict[str, Tensor]:
    """Draws from a linear model without cycles, group -> ``(count, 1)``. Raises BadInput: there is a cycle."""
    if not nx.is_directed_acyclic_graph(to_networkx(graph.topology)):
        raise BadInput("the model has cycles, so no vertex can be drawn after its causes; expected one without. "
                       "pcg.sample draws from any graph.")
    noise = torch.randn(count, graph.topology.n, generator=generator, dtype=graph.dtype)
    x = noise @ _effects(graph.weight)
    return {name: x[:, graph.topology.slice(name)] for name in graph.topology.groups}


def answers(graph: PCGraph, example: Example) -> dict[str, float]:
    """What a graph says: of ``asked`` where ``held`` is observed and where it is set, and of the counterfactual."""
    held, changed = ({name: torch.full((1, 1), VALUE, dtype=graph.dtype)} for name in (example.held, example.changed))
    seen = {name: torch.full((1, 1), SEEN, dtype=graph.dtype) for name in graph.topology.groups}
    return {"observed": float(query(graph, clamp=held, **SETTLE).values[example.asked]),
            "set": float(query(graph, do=held, **SETTLE).values[example.asked]),
            "would have been": float(counterfactual(graph, seen, changed).values[example.effect])}


def exact(example: Example) -> dict[str, float]:
    """The same by linear algebra: Gaussian conditioning, and sums of weights along the paths that are left.

    Raises UnknownGroup: the example asks for a name that no edge has.
    """
    graph = model(example.edges)
    held, asked, changed, effect = (graph.topology.slice(name).start for name in (
        example.held, example.asked, example.changed, example.effect))
    effects = _effects(graph.weight)                                       # (n, n): of the noise on the values
    covariance = effects.T @ effects
    set_to, other = (_effects(graph.weight.index_fill(1, torch.tensor(vertex), 0))           # no edges into it
                     for vertex in (held, changed))
    return {"observed": float(VALUE * covariance[held, asked] / covariance[held, held]),
            "set": float(VALUE * set_to[held, asked]),
            "would have been": float(SEEN + (VALUE - SEEN) * other[changed, effect])}


def _effects(weight: Tensor) -> Tensor:
    """x = noise @ effects where x = x @ weight + noise."""
    return torch.linalg.inv(torch.eye(len(weight), dtype=weight.dtype) - weight)
