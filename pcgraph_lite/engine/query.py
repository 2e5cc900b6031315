"""Queries in one call: clamp vertices (eq. 5), start them somewhere (eq. 6), intervene on them, or all of these."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from .. import valid
from ..errors import BadInput, UnknownGroup, WrongShape, unknown
from ..valid import Count, Damping, Rate
from .graph import PCGraph
from .inference import Relaxation, Settings, ValueStep, relax

Start = Literal["zeros", "random", "prediction"]
START_STD = 0.1                                                            # of a random start


@dataclass(frozen=True, eq=False)
class Observed:
    """Values of a group of which only some are known: ``mask`` is true where they are."""

    values: Tensor                                                         # (..., batch, size)
    mask: Tensor                                                           # (size,) or (batch, size) bool


def observed(values: Tensor, mask: Tensor) -> Observed:
    """Say which vertices of a group are known, for ``clamp``, ``init`` or ``do``.

    Args:
        values: ``(batch, size)``, or images that flatten to it; entries outside the mask are ignored.
        mask: true where known: ``(size,)`` for all examples alike, or one row for each.

    Example:
        >>> pcg.observed(torch.tensor([[1.0, 0.0]]), torch.tensor([True, False])).mask      # the second is asked for
        tensor([ True, False])
    """
    return Observed(valid.tensor(values, "the values"), valid.mask(mask, "the mask"))


class Values(dict[str, Tensor]):
    """Group -> the values of its vertices. Raises UnknownGroup: there is no such group."""

    def __missing__(self, name: str) -> Tensor:
        raise unknown("vertex group", name, self, UnknownGroup)


@dataclass(frozen=True, eq=False)
class Answer(Relaxation):
    """The settled graph.

    Args:
        x: the values of all vertices, ``(..., batch, n)``, on the graph's own scale, as the energies are.
        initial_energy: of each example before the first step, ``(..., batch)``.
        energy: the same at each look, ``(looks, ..., batch)``; the last is that of ``x``. Vertices
            under ``do`` do not count.
        converged: whether an example came to rest, ``(..., batch)`` bool; false where ``tolerance`` is None.
        steps: how many were taken.
        value_lr: the step that was used (the first of several).
        values: group -> the values of its vertices, ``(..., batch, size)``; pixels in the units of [0, 1], not clipped.
            They are views of ``x`` unless a pixel scale converts them: copy what you change.

    Example:
        >>> graph = pcg.PCGraph(pcg.topology.generative(labels=2, hidden=[3], pixels=4))
        >>> answer = pcg.query(graph, clamp={"pixels": torch.rand(5, 4)})
        >>> tuple(answer.values["labels"].shape), bool(answer.converged.all())
        ((5, 2), True)
    """

    values: Values

    def to(self, device: torch.device | str) -> "Answer":
        """The same on another device."""
        moved: dict[str, Any] = {
            f.name: v.to(device) for f in fields(self) if isinstance(v := getattr(self, f.name), Tensor)}
        return replace(self, values=Values({name: v.to(device) for name, v in self.values.items()}), **moved)


@valid.checked
def query(graph: PCGraph, clamp: Mapping[str, Tensor | Observed] | None = None,
          init: Mapping[str, Tensor | Observed] | None = None, *,
          do: Mapping[str, Tensor | Observed] | None = None, steps: Count = 2000,
          value_lr: ValueStep = "safe", momentum: Damping = 0.0, tolerance: Rate | None = 1e-6,
          start: Start = "zeros", batch_size: Count | None = None,
          generator: torch.Generator | None = None) -> Answer:
    """Ask a trained graph: hold some vertices, start others somewhere, and let the rest settle.

    The group "pixels" goes in and comes out in the units of [0, 1], whatever ``graph.pixel_scale``. Vertices that
    start at zero do so inside the graph: on [-1, 1] an unknown pixel starts at medium grey.

    Args:
        clamp: query by conditioning (eq. 5). Group -> values ``(batch, size)`` held for every t, or ``observed(...)``.
        init: query by initialization (eq. 6). The same, at t = 0 only.
        do: query by intervention (Salvatori et al., "Predictive Coding beyond Correlations", 2024). The same as
            ``clamp``, but these vertices pay for no error, so nothing runs back against the arrows into them: it is as
            if those edges were cut. Their errors are left out of the energies.
        steps: T, the most value steps; 2000 is the paper's.
        value_lr, momentum, tolerance: as in Settings. A query that starts at noise has much energy at first, of which a
            millionth is not little: 1e-9 lets it go on.
        start: where all other vertices begin: "zeros", "random" (normal, 0.1), or "prediction" (each group
            at its prediction from the groups already known, outwards from the clamped ones; where edges only lead on
            from those, this is the answer itself, which a query from zeros may not reach in ``steps``).
        batch_size: relax this many examples at a time. None: all at once. Where examples hold different vertices, the
            safe step is one for all that are relaxed together: the steps, though not the end, depend on who they are.
        generator: for ``start="random"``. None: a new one seeded with 0.

    Raises:
        UnknownGroup, WrongShape, BadValues, BadInput: arguments that do not fit the graph, or a vertex in ``clamp`` and
            ``do``.
        UnstableStep: a step size by hand that is too large.

    Example:
        >>> graph = pcg.PCGraph(pcg.topology.generative(labels=1, hidden=[], pixels=1), "linear")
        >>> graph.set_weight([[0, 0], [2, 0]])                           # labels -> pixels, 2
        >>> pcg.query(graph, clamp={"labels": torch.tensor([[0.3]])}).values["pixels"]
        tensor([[0.6000]])
        >>> grey = {"pixels": torch.tensor([[0.6]])}                   # seen, it tells of the label; set, it does not
        >>> [round(float(pcg.query(graph, **{how: grey}).values["labels"]), 2) + 0.0 for how in ("clamp", "do")]
        [0.24, 0.0]
    """
    settings = Settings(steps, value_lr, momentum, tolerance)
    x, clamped, known, errorless = posed(graph, clamp, init, do)
    batch = x.shape[-2]
    if start == "prediction":
        x = start_at_prediction(graph, x, known)
    elif start == "random":
        generator = generator or torch.Generator().manual_seed(0)
        drawn = torch.randn(x.shape, generator=generator, dtype=x.dtype, device=generator.device)
        x = torch.where(known, x, (drawn * START_STD).to(x.device))
    size = batch_size or batch
    chunks = [relax(graph, x[..., i:i + size, :], uniform(clamped[i:i + size]), settings,
                    errorless=uniform(errorless[i:i + size])) for i in range(0, batch, size)]
    return _answer(graph, chunks)


def posed(graph: PCGraph, clamp: Mapping[str, Tensor | Observed] | None, init: Mapping[str, Tensor | Observed] | None,
          do: Mapping[str, Tensor | Observed] | None, whole: bool = False,
          called: str = "clamp") -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """A query as tensors: values ``(..., batch, n)``, and of each example who is clamped, whose value is given, and who
    pays for no error, ``(batch, n)`` bool each. What is not given is 0.

    Args:
        whole: whether every vertex may be clamped.
        called: what errors call ``clamp``.

    Raises UnknownGroup, WrongShape, BadValues, BadInput.
    """
    held, given, set_to = (
        {name: _observed(graph, name, value, f"{what}[{name!r}]") for name, value in (some or {}).items()}
        for some, what in ((clamp, called), (init, "init"), (do, "do")))
    batch = _batch_size({called: held, "init": given, "do": set_to})
    for name in held.keys() & set_to.keys():
        if both := int((held[name].mask & set_to[name].mask).reshape(-1, graph.topology.size(name)).any(0).sum()):
            raise BadInput(f"{both} vertices of {name!r} are under both clamp and do; a vertex is either observed or "
                           "set. Leave it out of one of them.")
    x = torch.zeros(*graph.layout.lead, batch, graph.topology.n, dtype=graph.dtype, device=graph.device)
    clamped, known, errorless = torch.zeros(3, batch, graph.topology.n, dtype=torch.bool, device=graph.device)
    for entries, masks in ((given, [known]), (held, [known, clamped]), (set_to, [known, clamped, errorless])):
        for name, entry in entries.items():
            where = graph.topology.slice(name)
            x[..., where] = torch.where(entry.mask, entry.values, x[..., where])
            for mask in masks:
                mask[:, where] |= entry.mask
    if clamped.all() and not whole:
        raise BadInput("every vertex is clamped; leave at least one free for the graph to answer with.")
    return x, clamped, known, errorless


def flattened(graph: PCGraph, name: str, values: Tensor, what: str, mask: Tensor | None = None,
              replicas: int | None = None) -> Tensor:
    """Values of a group as ``(count, size)``, or ``(replica, count, size)`` where those are given and fit.

    Args:
        mask: true where values are known, for all or for each; others become 0, whatever they are.

    Raises WrongShape, UnknownGroup, BadInput, BadValues.
    """
    size, values = graph.topology.size(name), valid.tensor(values, what)
    if name == "labels" and size > 1 and values.ndim == 1:
        values = one_hot(valid.labels(values, name, classes=size), size)
    if name == "labels" and size > 1 and not values.is_floating_point() and values.numel() and int(values.max()) > 1:
        raise BadInput(f"{what} is {tuple(values.shape)} of whole numbers up to {int(values.max())}; expected rows of "
                       "0 and 1, or class numbers as a vector.")
    if name == "pixels":
        valid.channels_first(values, what)
    if replicas is None or values.ndim != 3 or values.shape[::2] != (replicas, size):
        if values.ndim < 2 or values.shape[1:].numel() != size:
            raise WrongShape(f"{what} is {tuple(values.shape)}; expected (batch, {size}) or images that flatten to it"
                             f"{_instead(values, size)}.")
        values = values.reshape(len(values), size)
    if mask is not None:
        if mask.shape not in ((size,), values.shape[-2:]):
            raise WrongShape(f"the mask of {what} is {tuple(mask.shape)}; expected ({size},) or "
                             f"{tuple(values.shape[-2:])}.")
        values = torch.where(mask.to(values.device), values, 0)
    values = valid.finite(values, what, graph.dtype, partly=mask is not None)
    if name == "pixels":
        valid.near_unit(values, what, () if graph.pixel_scale.plain else (graph.pixel_scale,))
    return values


def _instead(values: Tensor, size: int) -> str:
    """What to do, in words, with one example, or a vector, in the place of rows of this size."""
    if values.numel() == size > 1 and (values.ndim > 1 or values.is_floating_point()):
        return " (one example: [None] makes a batch of it)"
    if values.ndim != 1 or (size > 1 and values.is_floating_point()):
        return ""
    return " (of a vector, [:, None] makes a column)" if size == 1 else (
        " (only 'labels' takes class numbers; torch.nn.functional.one_hot makes rows of them)")


def start_at_prediction(graph: PCGraph, x: Tensor, known: Tensor) -> Tensor:
    """Set each unknown group to its prediction (eq. 1) from the groups already known, outwards from those.

    Args:
        x: ``(..., batch, n)``; vertices that are not known must be 0.
        known: ``(n,)`` or ``(batch, n)`` bool. Vertices that no known one leads to stay 0.
    """
    x, topology, known = x.clone(), graph.topology, known.expand(x.shape[-2], -1)
    slices = {name: topology.slice(name) for name in topology.groups}
    reached = {name: known[:, where].any(-1) for name, where in slices.items()}                 # (batch,)
    done = {name: known[:, where].all(-1) for name, where in slices.items()}
    while True:
        led = {name: torch.zeros_like(rows) for name, rows in done.items()}
        for e in topology.edges:
            led[e.target] = led[e.target] | reached[e.source]
        wave = {name: rows & ~done[name] for name, rows in led.items() if (rows & ~done[name]).any()}
        if not wave:
            return x
        mu = {name: graph.group_prediction(x, name) for name in wave}
        for name, rows in wave.items():
            where = slices[name]
            x[..., where] = torch.where(rows[:, None] & ~known[:, where], mu[name], x[..., where])
            reached[name], done[name] = reached[name] | rows, done[name] | rows


def _observed(graph: PCGraph, name: str, value: Tensor | Observed, what: str) -> Observed:
    """Check the values of a group, give them a mask, and bring pixels to the graph's scale."""
    size = graph.topology.size(name)
    if not isinstance(value, Observed):
        value = Observed(value, torch.ones(size, dtype=torch.bool))
    mask = value.mask.reshape(-1) if value.mask.numel() == size else value.mask.flatten(min(1, value.mask.ndim - 1))
    if mask.shape[-1] != size:
        raise WrongShape(f"the mask of {what} is {tuple(value.mask.shape)}; expected ({size},), the shape of one "
                         "picture, or one of these for each example.")
    values = flattened(graph, name, value.values, what, mask, graph.replicas)
    if name == "pixels":
        values = graph.pixel_scale.apply(values)
    return Observed(values.to(graph.device), mask.to(graph.device))


def _batch_size(entries: Mapping[str, dict[str, Observed]]) -> int:
    """How many examples all entries have. ``entries``: argument -> what it holds."""
    sizes = {f"{what}[{name!r}]": v.values.shape[-2] for what, part in entries.items() for name, v in part.items()}
    if not sizes:
        raise BadInput("nothing is asked: give clamp, init or do, each as {group: values}.")
    if len(set(sizes.values())) > 1 or 0 in sizes.values():
        found = ", ".join(f"{what} has {size}" for what, size in sizes.items())
        raise WrongShape(f"batch sizes differ or are 0: {found}; every entry needs the same number of examples.")
    return next(iter(sizes.values()))


def uniform(mask: Tensor) -> Tensor:
    """One row ``(n,)`` of a mask ``(batch, n)`` where all examples have the same: a relaxation is then cheaper."""
    return mask[0] if bool((mask == mask[0]).all()) else mask


def by_group(graph: PCGraph, x: Tensor) -> Values:
    """Values ``(..., n)`` as group -> ``(..., size)``, pixels in the units of [0, 1]."""
    values = Values({name: x[..., graph.topology.slice(name)] for name in graph.topology.groups})
    if "pixels" in values:
        values["pixels"] = graph.pixel_scale.undo(values["pixels"])
    return values


def _answer(graph: PCGraph, chunks: Sequence[Relaxation]) -> Answer:
    """Join chunks; a trace that stopped early stays at its last energy."""
    steps, looks = max(c.steps for c in chunks), max(len(c.energy) for c in chunks)          # at rest at once: 0, 1
    energy = torch.cat([torch.cat([c.energy, c.energy[-1:].expand(looks - len(c.energy), *c.energy.shape[1:])])
                        for c in chunks], -1)
    x = torch.cat([c.x for c in chunks], -2)
    return Answer(x, torch.cat([c.initial_energy for c in chunks], -1), energy,
                  torch.cat([c.converged for c in chunks], -1), steps, chunks[0].value_lr, by_group(graph, x))
