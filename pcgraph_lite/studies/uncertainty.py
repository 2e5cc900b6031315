"""How sure a layered graph is of a completion, and whether its doubt tells where the completion is wrong.

The missing pixels send no edges, so they need not be sampled: what is sampled are the hidden vertices, given the known
pixels, and what these predict of the missing ones is looked at. The variance of a missing pixel is that of its
prediction plus that of its own error, which is the temperature and says nothing about the pixel. All of these are in
the units of the graph's own scale.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from ..engine.graph import PCGraph
from ..engine.query import observed
from ..engine.sampling import sample
from ..errors import BadInput, WrongShape
from .tasks import completion


@dataclass(frozen=True, eq=False)
class Spread:
    """Predictions of the missing pixels over samples.

    mean, deviation: ``(..., batch, missing)``, with replicas for each of them. halves: the deviation in each half of
    the samples, ``(2, ..., batch, missing)``; where these disagree, more samples are needed. accepted: mean share of
    proposals.
    """

    mean: Tensor
    deviation: Tensor
    halves: Tensor
    accepted: float


def spread(graph: PCGraph, images: Tensor, known: Tensor, temperature: float | Tensor = 1.0, *, steps: int = 1000,
           every: int = 10, chains: int = 4, generator: torch.Generator | None = None) -> Spread:
    """Complete ``images`` ``(batch, pixels)`` by samples, given the ``known`` pixels ``(pixels,)`` bool.

    Raises BadInput: pixels that send edges, or fewer than two samples in each half.
    """
    missing = _missing(graph, known)
    if chains * (steps // every) < 4:
        raise BadInput(f"{chains} chains of {steps // every} samples; expected at least 4 samples in all.")
    drawn = sample(graph, {"pixels": observed(images, known)}, do={"pixels": observed(images, ~known)}, steps=steps,
                   every=every, burn_in=steps // 2, chains=chains, temperature=temperature, generator=generator)
    predicted = torch.stack([graph.group_prediction(x, "pixels")[..., missing] for x in drawn.x])   # (count, ..)
    halves = torch.stack([half.std(0) for half in predicted.tensor_split(2)])
    return Spread(predicted.mean(0), predicted.std(0), halves, float(drawn.accepted.mean()))


def linearised(graph: PCGraph, images: Tensor, known: Tensor, temperature: float = 1.0) -> Tensor:
    """The same deviation from the Hessian of the energy at the answer alone, ``(batch, missing)``.

    Exact for linear f, whose deviation is the same for all images: it depends on which pixels are known, and on
    nothing that is seen in them.

    Raises BadInput: pixels that send edges, a graph with replicas, or a deviation that has no bound.
    """
    if graph.replicas is not None:
        raise BadInput(f"the graph has {graph.replicas} replicas; expected a graph without. spread(...) takes them.")
    missing, pixels = _missing(graph, known), graph.topology.slice("pixels")
    answer = completion(graph, images, known)
    free = torch.ones(graph.topology.n, dtype=torch.bool, device=graph.device)
    free[pixels] = False
    pays = free.clone() if graph.sources is None else free & ~graph.sources             # sources: under a flat prior
    pays[pixels] = known.to(graph.device)
    slopes, weight, found = graph.slope(answer.x), graph.weight, []
    for slope in slopes:                                                   # (n,)
        reach = slope[free, None] * weight[free]                           # (free, n): d mu / d x
        own = torch.eye(graph.topology.n, dtype=graph.dtype, device=graph.device)[free]
        root = _cholesky((own - reach)[:, pays])
        found.append(torch.linalg.solve_triangular(root, reach[:, pixels][:, missing], upper=False).norm(dim=0))
    return temperature**0.5 * torch.stack(found)


def own_temperature(graph: PCGraph, images: Tensor) -> float:
    """The variance of a pixel's error when all ``images`` ``(batch, pixels)`` are held: how noisy pixels are for it, of
    replicas their mean.
    """
    return float(temperatures(graph, images, torch.ones(images.shape[-1], dtype=torch.bool)).mean())


def temperatures(graph: PCGraph, images: Tensor, known: Tensor) -> Tensor:
    """The same of each image ``(..., batch)`` at its ``known`` pixels alone, ``(pixels,)`` bool: how badly it fits
    them.
    """
    settled = completion(graph, images, known)
    inside = settled.x[..., graph.topology.slice("pixels")]                # on the graph's own scale
    errors = inside - graph.group_prediction(settled.x, "pixels")          # (..., batch, pixels)
    return errors[..., known].square().mean(-1)


def rank_correlation(one: Tensor, other: Tensor) -> Tensor:
    """Spearman's correlation along the last dimension, ``(...,)``; equal values have the mean of their ranks, and NaN
    is the correlation of a constant.

    Raises WrongShape: shapes differ, or there are fewer than two values.
    """
    if one.shape != other.shape or one.shape[-1] < 2:
        raise WrongShape(f"ranks of {tuple(one.shape)} and {tuple(other.shape)}; expected the same shape with at least "
                         "two values.")
    a, b = (rank - rank.mean(-1, keepdim=True) for rank in map(_ranks, (one, other)))
    return (a * b).sum(-1) / (a.norm(dim=-1) * b.norm(dim=-1))


def _ranks(values: Tensor) -> Tensor:
    """The rank of each value along the last dimension from 0, of equal ones the mean, in float64."""
    values = values.contiguous()
    ordered = values.sort(-1).values
    below, up_to = (torch.searchsorted(ordered, values, right=right) for right in (False, True))
    return (below + up_to - 1).double() / 2


def _cholesky(errors: Tensor) -> Tensor:
    """Cholesky's factor ``(free, free)`` of the Hessian, of d errors / d x ``(free, paying)``. Raises BadInput."""
    try:
        return torch.linalg.cholesky(errors @ errors.T)
    except torch.linalg.LinAlgError:
        raise BadInput("the deviation has no bound: some free vertex pays nothing and nothing else holds it. Use "
                       "prior='zero', or hold more pixels.") from None


def _missing(graph: PCGraph, known: Tensor) -> Tensor:
    """The pixels ``(pixels,)`` bool that are not known, of a graph whose pixels send no edges. Raises BadInput."""
    if any(edges.source == "pixels" for edges in graph.topology.edges):
        raise BadInput("pixels send edges in this graph; expected one whose edges end at the pixels, as "
                       "topology.generative makes it.")
    return ~known.cpu()
