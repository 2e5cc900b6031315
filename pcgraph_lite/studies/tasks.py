"""The paper's tasks as one call each, for graphs and for the autoencoder with which they are compared.

Queries by conditioning end at a minimum of the energy, so they use the accelerated solver. Queries by initialization
depend on the path (ambiguity log, point 14), so they are plain descent; the pages choose the number of steps on
validation images. Images are in units of [0, 1].
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ..baselines import autoencoder
from ..baselines.autoencoder import Autoencoder
from ..engine.graph import PCGraph
from ..engine.query import Answer, Observed, Start, observed, query
from ..errors import BadInput
from ..images.judge import read

SETTLE: dict[str, Any] = {"steps": 400, "momentum": 0.95}                  # a query by conditioning: accelerated
FEW = 600                                                                  # plain steps that most completions need


def generate(graph: PCGraph, labels: Tensor) -> Answer:
    """Hold labels ``(batch,)`` int as one-hot values; the pixels of the answer are the generated images (gen-a)."""
    return query(graph, {"labels": labels}, **SETTLE)


def classify(graph: PCGraph, images: Tensor, **settings: Any) -> Answer:
    """Hold the pixels ``(batch, pixels)``; the labels of the answer peak at the answered class."""
    return query(graph, {"pixels": images}, **(settings or SETTLE))


def complete(model: PCGraph | Autoencoder, images: Tensor, known: Tensor, labels: Tensor | None = None) -> Tensor:
    """Complete the pixels that are not ``known`` ``(pixels,)`` (gen-b), with ``labels`` ``(batch,)`` held if given
    (gen-d).

    Returns ``(batch, pixels)`` with unchanged known pixels and the others clipped to [0, 1]. Raises BadInput: labels
    for an autoencoder.
    """
    if isinstance(model, Autoencoder):
        if labels is not None:
            raise BadInput("an autoencoder has no labels to hold; leave them out, or give a graph that has labels.")
        return autoencoder.complete(model, images, known)
    return filled(images, known, completion(model, images, known, labels))


def completion(graph: PCGraph, images: Tensor, known: Tensor, labels: Tensor | None = None) -> Answer:
    """The query of ``complete``, which holds the known pixels and, if given, the labels."""
    clamp: dict[str, Tensor | Observed] = {"pixels": observed(images, known)}
    if labels is not None:
        clamp["labels"] = labels
    return query(graph, clamp, **SETTLE)


def filled(images: Tensor, known: Tensor, answer: Answer) -> Tensor:
    """Known pixels from the images, the others from an answer, clipped to [0, 1]. ``(batch, pixels)``."""
    return torch.where(known, images, answer.values["pixels"].clamp(0, 1))


def complete_by_start(graph: PCGraph, images: Tensor, known: Tensor, steps: int) -> Tensor:
    """Completion by initialization: known pixels start at their values, unknown ones at 0, and all are free."""
    answer = query(graph, init={"pixels": observed(images, known)}, steps=steps, tolerance=None)
    return answer.values["pixels"].clamp(0, 1)


def descend(graph: PCGraph, start: Tensor, looks: Sequence[int],
            internal: Start = "zeros") -> tuple[dict[int, Tensor], Tensor, Answer]:
    """Query by initialization with intermediate images: the pixels start at ``start``, and all vertices are free.

    Args:
        start: ``(batch, pixels)``.
        looks: rising numbers of plain steps after which to keep the images (else BadInput); the last ends the query.
        internal: initial values of the other vertices, "zeros" or "prediction".

    Returns:
        look -> images ``(batch, pixels)`` clipped to [0, 1]; the energy before and after each step
        ``(steps + 1, batch)``; and the last answer with all vertices.
    """
    if not looks or sorted(set(looks)) != list(looks) or looks[0] < 1:
        raise BadInput(f"looks = {list(looks)}; expected whole numbers of at least 1 in rising order.")
    values: Mapping[str, Tensor] = {"pixels": start}
    seen, traces, done, begin = {}, [], 0, internal
    for until in looks:
        answer = query(graph, init=values, steps=until - done, tolerance=None, start=begin)
        traces.append(answer.energy if done else torch.cat([answer.initial_energy[None], answer.energy]))
        values, done, begin = answer.values, until, "zeros"
        seen[until] = answer.values["pixels"].clamp(0, 1)
    return seen, torch.cat(traces), answer


def denoise_path(graph: PCGraph, images: Tensor, steps: Sequence[int]) -> tuple[dict[int, Tensor], Tensor]:
    """Denoised images after each number of plain steps, and the energy of every step ``(last step, batch)``."""
    seen, energy, _ = descend(graph, images, steps)
    return seen, energy[1:]


def denoise(model: PCGraph | Autoencoder, images: Tensor, steps: int) -> Tensor:
    """Denoise images (gen-c) by ``steps`` plain steps of a query by initialization. ``(batch, pixels)`` in [0, 1]."""
    if isinstance(model, Autoencoder):
        with torch.no_grad():
            return model(images)
    return denoise_path(model, images, [steps])[0][steps]


def settling_steps(graph: PCGraph, images: Tensor, known: Tensor, longest: int = 3000) -> tuple[float, float]:
    """Mean number of plain steps until the energy of a completion has made 99 % of its fall, and the share of images
    that need more than ``longest`` steps (section B of the paper: deeper graphs converge more slowly).

    The fall is the difference between the energies of the start and of the accelerated query. An image that needs more
    than ``longest`` steps counts as ``longest``, which makes the mean too small. The ``known`` pixels ``(pixels,)`` of
    ``images`` ``(batch, pixels)`` are held.
    """
    lowest = completion(graph, images, known).energy[-1]                   # (batch,)
    for steps in (min(FEW, longest), longest):                             # the same way, cut off where it is enough
        plain = query(graph, {"pixels": observed(images, known)}, steps=steps, tolerance=None)
        there = plain.energy <= lowest + 0.01 * (plain.initial_energy - lowest)    # (steps, batch)
        if there.any(0).all():
            break
    first = torch.where(there.any(0), there.int().argmax(0) + 1, longest)
    return float(first.double().mean()), float((~there.any(0)).double().mean())


def judge_reads(judge: nn.Module, images: Tensor) -> Tensor:
    """Classes that the judge reads, ``(batch,)`` on the CPU; -1 for unreadable images."""
    return read(judge, images).cpu()
