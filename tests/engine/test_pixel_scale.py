"""A graph with a scale takes and gives pictures in [0, 1]. Oracle: a graph of the same weights without a scale, which
sees pixels that the test scales by hand."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from pcgraph_lite import PCGraph, Scale, fit, minus_energy, observed, query, relax, topology
from pcgraph_lite.engine.learning import SCORES
from pcgraph_lite.engine.scale import PLAIN
from pcgraph_lite.errors import BadInput
from pcgraph_lite.studies import convergence

SIGNED, STANDARD = Scale("[-1, 1]", 0.5, 0.5), Scale("standardized", 0.1307, 0.3081)
SCALES = pytest.mark.parametrize("scale", [SIGNED, STANDARD], ids=lambda scale: scale.name)
IMAGES = torch.rand(12, 6, generator=torch.Generator().manual_seed(0)).round(decimals=1)      # with 0 and 1 in them
LABELS, KNOWN = torch.arange(12) % 3, torch.arange(6) < 3
LEARN = {"epochs": 3, "batch_size": 4, "steps": 5, "weight_lr": 0.01, "progress": False}


def graph(scale: Scale = PLAIN, **layout: object) -> PCGraph:
    """Every call has the same first weights."""
    made = topology.fully_connected(pixels=6, labels=3, internal=4)
    return PCGraph(made, "tanh", init_std=0.3, bias=True, pixel_scale=scale, **layout)


def by_hand(scale: Scale, images: Tensor = IMAGES) -> Tensor:
    return (images - scale.offset) / scale.unit


ASKED: dict[str, Callable[[Tensor], dict[str, Any]]] = {
    "held": lambda images: {"clamp": {"pixels": images}},
    "half": lambda images: {"clamp": {"pixels": observed(images, KNOWN), "labels": torch.eye(3)[LABELS]}},
    "set": lambda images: {"do": {"pixels": images}, "start": "prediction"},
    "started": lambda images: {"init": {"pixels": images}, "tolerance": None, "batch_size": 5},
    "outwards": lambda images: {"clamp": {"pixels": observed(images, KNOWN)}, "start": "prediction"}}


@SCALES
@pytest.mark.parametrize("replicas", [None, 2])
@pytest.mark.parametrize("name", ASKED)
def test_a_query_is_that_of_pixels_scaled_by_hand(name: str, replicas: int | None, scale: Scale) -> None:
    """Number for number: pixels in [0, 1], all else as inside the graph; noise may leave [0, 1]."""
    noisy = 2 * IMAGES - 0.5
    got = query(graph(scale, replicas=replicas), **ASKED[name](noisy), steps=20)
    inside = query(graph(replicas=replicas), **ASKED[name](by_hand(scale, noisy)), steps=20)
    assert torch.equal(got.x, inside.x) and torch.equal(got.energy, inside.energy)
    assert torch.equal(got.values["pixels"], inside.values["pixels"] * scale.unit + scale.offset)
    assert torch.equal(got.values["labels"], inside.values["labels"])


@SCALES
def test_relax_and_energy_take_the_values_inside_and_scores_pictures(scale: Scale) -> None:
    x, clamped = torch.rand(3, 13, generator=torch.Generator().manual_seed(1)), torch.arange(13) < 6
    assert torch.equal(relax(graph(scale), x, clamped, steps=5).x, relax(graph(), x, clamped, steps=5).x)
    assert torch.equal(graph(scale).energy(x), graph().energy(x))
    visible = topology.discriminative(pixels=6, hidden=[], labels=3)
    expected = minus_energy(PCGraph(visible), (by_hand(scale), LABELS))    # of seen vertices alone, which are pictures
    assert minus_energy(PCGraph(visible, pixel_scale=scale), (IMAGES, LABELS)) == expected


@SCALES
@pytest.mark.parametrize("how", [{}, *({"validation": 0.25, "score": score} for score in SCORES)])
def test_fit_learns_as_from_pixels_scaled_by_hand(scale: Scale, how: dict[str, Any]) -> None:
    """Number for number; only the error of pixels is in the squared units of [0, 1]."""
    ours, theirs = graph(scale), graph()
    history = fit(ours, (IMAGES, LABELS), **how, **LEARN)
    expected = fit(theirs, (by_hand(scale), LABELS), **how, **LEARN)
    assert torch.equal(ours.weight, theirs.weight) and torch.equal(ours.bias, theirs.bias)
    assert history["energy"].equals(expected["energy"])
    if how:
        unit = scale.unit if how["score"] == "completion" else 1
        assert history["validation"].equals(expected["validation"] * unit**2)


def test_a_score_of_ones_own_sees_pictures() -> None:
    seen = []
    fit(graph(SIGNED), (IMAGES, LABELS), validation=(IMAGES[:5], LABELS[:5]),
        score=lambda g, batch: seen.append(batch["pixels"]) or 0.0, **LEARN)
    assert seen and all(torch.equal(pixels, IMAGES[:5]) for pixels in seen)


def test_copies_that_are_watched_learn_scaled_pixels() -> None:
    ours, theirs = graph(STANDARD, replicas=2), graph(replicas=2)
    for copies, images in ((ours, IMAGES), (theirs, by_hand(STANDARD))):
        convergence.watch(copies, (images, LABELS), [0.1, 0.05], [1e-2, 1e-3], steps=3, batches=4, batch_size=6)
    assert torch.equal(ours.weight, theirs.weight)


def test_resampled_pictures_may_leave_the_scale_by_a_tenth() -> None:
    """At either end, so that one end beyond it is refused whatever the other."""
    fit(graph(SIGNED), {"pixels": 1.18 * IMAGES - 0.09}, **LEARN)          # from -0.09 to 1.09
    for images in (1.11 * IMAGES, 1.11 * IMAGES - 0.11):
        for data, validation in ((images, None), (IMAGES, {"pixels": images})):
            with pytest.raises(BadInput, match="that the model scales itself"):
                fit(graph(SIGNED), {"pixels": data}, validation=validation, **LEARN)
