"""What would have been: the counterfactuals of a graph that is read as a structural model, x_i = mu_i(x) + eps_i."""

from collections.abc import Mapping
from typing import Annotated

import torch
from annotated_types import MinLen
from torch import Tensor

from .. import valid
from ..errors import BadInput, WrongShape
from ..valid import Count, Damping, Rate
from .graph import PCGraph
from .inference import relax
from .query import Answer, Observed, by_group, posed, uniform

Some = Annotated[Mapping[str, Tensor | Observed], MinLen(1)]


@valid.checked
@torch.no_grad()
def counterfactual(graph: PCGraph, observed: Some, do: Some, *, steps: Count = 2000, momentum: Damping = 0.95,
                   tolerance: Rate | None = 1e-9) -> Answer:
    """Settle on what was observed, keep the errors, intervene, and read what would have been with the same errors.

    These are the abduction, action and prediction of Pearl (2009). For linear f the answer is the exact expectation;
    for other f it is that of the most likely errors alone. The edges into the vertices under ``do`` are cut, and what
    is left of the graph must have no cycles: then each vertex is its prediction plus its error, one after the other.

    Args:
        observed: as ``clamp`` of ``query``: what was seen. Vertices that were not are settled.
        do: the same, what is set instead; it may be of vertices that were observed.
        steps, momentum, tolerance: of settling, as in Settings.

    Returns:
        the values that would have been; energies, ``converged`` and ``steps`` are those of settling.

    Raises:
        UnknownGroup, WrongShape, BadValues: arguments that do not fit the graph.
        BadInput: nothing under ``observed`` or ``do``; cycles that no intervention cuts; or a top-k activation, by
            which vertices act on each other without an edge.

    Example:
        >>> graph = pcg.PCGraph(pcg.topology.generative(labels=1, hidden=[], pixels=1), "linear")
        >>> graph.set_weight([[0, 0], [2, 0]])                           # pixel = 2 label + error
        >>> seen = {"labels": torch.tensor([[0.1]]), "pixels": torch.tensor([[0.5]])}        # its error is 0.3
        >>> pcg.counterfactual(graph, seen, do={"labels": torch.tensor([[0.2]])}).values["pixels"]
        tensor([[0.7000]])
    """
    if graph.top_k is not None:
        raise BadInput("a counterfactual is not defined under a top-k activation: vertices of a pool act on each other "
                       "without an edge. Use query(graph, do=...).")
    x, clamped, _, _ = posed(graph, observed, None, None, whole=True, called="observed")
    wanted, set_to, _, _ = posed(graph, None, None, do, whole=True)        # (..., batch, n), (batch, n)
    if wanted.shape[-2] != x.shape[-2]:
        raise WrongShape(f"do is of {wanted.shape[-2]} examples, observed of {x.shape[-2]}; expected as many.")
    depth = _depth(graph, set_to.all(0))
    settled = relax(graph, x, uniform(clamped), steps=steps, momentum=momentum, tolerance=tolerance)
    error = settled.x - graph.prediction(settled.x)                        # (..., batch, n)
    x = torch.where(set_to, wanted, settled.x)
    for _ in range(depth):                                                 # k of them set the first k levels right
        x = torch.where(set_to, wanted, graph.prediction(x) + error)
    return Answer(x, settled.initial_energy, settled.energy, settled.converged, settled.steps, settled.value_lr,
                  by_group(graph, x))


def _depth(graph: PCGraph, cut: Tensor) -> int:
    """The longest chain of edges, those into ``cut`` ``(n,)`` left out. Raises BadInput: there is a cycle."""
    topology, cut = graph.topology, cut.cpu()
    parts = [torch.empty(2, 0, dtype=torch.long)]                          # listed: nothing as large as all pairs
    for e in topology.edges:
        part = topology.pairs(e).cpu() + torch.tensor([[topology.slice(name).start] for name in (e.source, e.target)])
        parts.append(part[:, ~cut[part[1]]])
    source, target = torch.cat(parts, 1)
    left, depth = torch.ones(topology.n, dtype=torch.bool), 0
    while left.any():
        fed = torch.zeros_like(left).index_fill_(0, target[left[source]], True) & left          # (n,): a cause is left
        if fed.equal(left):
            names = [group for group in topology.groups if left[topology.slice(group)].any()]
            raise BadInput(f"a counterfactual is not defined: {int(left.sum())} vertices in {', '.join(names)} lie on "
                           "cycles, or behind them, that do does not cut. Use query(graph, do=...).")
        left, depth = fed, depth + 1
    return depth
