"""A query whose pixels are in the units of [0, 1], whatever scale the graph was trained on (images/scale.py)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from torch import Tensor

from ..engine.graph import PCGraph
from ..engine.query import Answer, Observed, query
from ..images import scale as scales
from ..images.scale import Scale

Given = Mapping[str, Tensor | Observed]


def ask(graph: PCGraph, clamp: Given | None = None, init: Given | None = None, **settings: Any) -> Answer:
    """``query`` with the group "pixels" scaled on the way in, and back on the way out; they are not cut.

    The answer's ``x`` is the graph's own, scaled. Vertices that start at zero do so in the graph's units: on [-1, 1] an
    unknown pixel starts at medium grey.
    """
    scale = scales.of(graph)
    answer = query(graph, _scaled(clamp, scale), _scaled(init, scale), **settings)
    if "pixels" not in answer.values:
        return answer
    return replace(answer, values={**answer.values, "pixels": scale.undo(answer.values["pixels"])})


def _scaled(given: Given | None, scale: Scale) -> Given | None:
    if given is None or "pixels" not in given or scale == scales.PLAIN:
        return given
    pixels = given["pixels"]
    known = isinstance(pixels, Observed)
    return {**given, "pixels": Observed(scale.apply(pixels.values), pixels.mask) if known else scale.apply(pixels)}
