"""Query a graph for images on which it was trained, from a part of an image or from a noisy one (section 3).

The answer of a query by conditioning does not depend on the path, so the query may be accelerated. A query by
initialization is plain descent, as in the paper; ``run_on`` shows where more steps would lead it. Images are in units
of [0, 1].
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ..engine.graph import PCGraph
from ..engine.inference import WINDOW
from ..engine.query import Answer, Start, observed, query
from ..engine.scale import PLAIN, Scale
from ..images import datasets
from .tasks import descend

RETRIEVED = 0.001                      # a memory with a mean squared error below this one came back (the paper's)
MOMENTUM = 0.95
PATIENCE = 0.98                                                            # momentum of a state that hardly moves
REST = 1e-9                            # the valley of the memories is shallow: at the usual 1e-6 images still move


@dataclass(frozen=True, eq=False)
class Recall:
    """The course of a query for memories."""

    images: Tensor                                                         # (batch, pixels), clipped to [0, 1]
    seen: dict[int, Tensor]                                                # images after so many steps
    energy: Tensor                                                         # (steps + 1, batch), before and after each
    converged: Tensor                                                      # (batch,) bool
    steps: int
    last: Answer                                                           # the state at the end, internals and all


def from_part(graph: PCGraph, memories: Tensor, known: Tensor, steps: int = 2000) -> Recall:
    """Query by conditioning: hold the ``known`` pixels ``(pixels,)`` of memories ``(batch, pixels)``."""
    answer = query(graph, {"pixels": observed(memories, known)}, steps=steps, momentum=MOMENTUM, tolerance=REST)
    images = answer.values["pixels"].clamp(0, 1)
    trace = torch.cat([answer.initial_energy[None], answer.energy])
    return Recall(images, {answer.steps: images}, trace, answer.converged, answer.steps, answer)


def from_start(graph: PCGraph, start: Tensor, looks: Sequence[int], internal: Start = "zeros") -> Recall:
    """Query by initialization: see ``tasks.descend``."""
    seen, trace, last = descend(graph, start, looks, internal)
    return Recall(seen[looks[-1]], seen, trace, at_rest(trace), looks[-1], last)


def noisy(graph: PCGraph, memories: Tensor, variance: float, seed: int) -> dict[str, Tensor]:
    """Memories ``(batch, pixels)`` with noise of one variance in two units (ambiguity log, point 19): "noise" on the
    scaled pixels that the graph sees, "plain noise" on pixels in [0, 1]. Both are returned in [0, 1], not clipped.
    """
    units = {"noise": graph.pixel_scale.variance(variance), "plain noise": variance}
    return {name: datasets.noisy(memories, v, datasets.noise_generator(seed)) for name, v in units.items()}


def run_on(graph: PCGraph, recall: Recall, steps: int) -> Recall:
    """Continue a query by initialization with the accelerated solver. The numbers of the result count both."""
    answer = query(graph, init=recall.last.values, steps=steps, momentum=PATIENCE, tolerance=None)
    images, trace = answer.values["pixels"].clamp(0, 1), torch.cat([recall.energy, answer.energy])
    done = recall.steps + steps
    return Recall(images, recall.seen | {done: images}, trace, at_rest(trace), done, answer)


def asked(graph: PCGraph, memories: Tensor, shape: Sequence[int], variance: float, steps: int,
          seed: int) -> dict[str, Recall]:
    """Query for memories ``(batch, pixels)`` as in appendix C: "half", with the upper half of the rows removed
    (conditioning), and "noise", from noisy scaled pixels (initialization); "settled" is the latter after ``run_on``.

    Args:
        shape: of an image, ``(channels, height, width)``.
        steps: T of either query, and the number of accelerated steps that follow.
        seed: of the noise.
    """
    start, known = noisy(graph, memories, variance, seed)["noise"], datasets.bottom_half(tuple(shape))
    noise = from_start(graph, start.to(graph.device), [steps], "prediction")
    return {"half": from_part(graph, memories.to(graph.device), known.to(graph.device), steps),
            "noise": noise, "settled": run_on(graph, noise, steps)}


def at_rest(energy: Tensor, tolerance: float = REST) -> Tensor:
    """Queries whose energy ``(steps + 1, batch)`` changed by at most ``tolerance`` of its first value in ten steps.

    None of fewer steps: nobody can tell yet.
    """
    if len(energy) <= WINDOW:
        return torch.zeros_like(energy[0], dtype=torch.bool)
    return (energy[-1] - energy[-1 - WINDOW]).abs() <= tolerance * energy[0]


def on_the_span(memories: Tensor, images: Tensor, scale: Scale = PLAIN) -> Tensor:
    """The nearest point to each image in the span of the memories (of their scaled pixels), ``(batch, pixels)``.

    If f is linear, every combination of stored images also has zero energy. So a graph that has only pixels and stores
    only these k images turns an image into exactly this point, and keeps about v * k / pixels of noise of variance v.
    """
    _, singular, directions = torch.linalg.svd(scale.apply(memories.double()), full_matrices=False)
    kept = directions[singular > 1e-6 * singular[0]]                       # (rank, pixels)
    return scale.undo(scale.apply(images.double()) @ kept.T @ kept).to(images.dtype)
