"""Both queries of the paper in one call: clamp vertices (eq. 5), start them somewhere (eq. 6), or both."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor

from ..errors import BadInput, BadValues, WrongShape, unknown, whole
from .graph import PCGraph
from .inference import Relaxation, Settings, relax
from .topology import Topology

STARTS = ("zeros", "random", "prediction")


@dataclass(frozen=True, eq=False)
class Observed:
    """Values of a group of which only some are known: ``mask`` is true where they are."""

    values: Tensor                                                         # (..., batch, size)
    mask: Tensor                                                           # (size,) or (batch, size) bool


def observed(values: Tensor, mask: Tensor) -> Observed:
    """Say which vertices of a group are known, for ``clamp`` or ``init``.

    Args:
        values: ``(batch, size)``, or images that flatten to it; entries outside the mask are ignored.
        mask: true where known: ``(size,)`` for all examples alike, or one row for each.

    Example:
        >>> pcg.observed(torch.tensor([[1.0, 0.0]]), torch.tensor([True, False])).mask      # the second is asked for
        tensor([ True, False])
    """
    mask = torch.as_tensor(mask)
    if mask.dtype != torch.bool:
        raise BadInput(f"the mask is {mask.dtype}; expected torch.bool, true where the value is known.")
    return Observed(torch.as_tensor(values), mask)


@dataclass(frozen=True, eq=False)
class Answer:
    """The settled graph. ``values`` maps each group to its vertices ``(..., batch, size)``."""

    values: Mapping[str, Tensor]
    x: Tensor                                                              # (..., batch, n)
    initial_energy: Tensor                                                 # (..., batch)
    energy: Tensor                                                         # (steps, ..., batch), after each step
    converged: Tensor                                                      # (..., batch) bool
    steps: int
    value_lr: float | Tensor

    def to(self, device: torch.device | str) -> "Answer":
        """The same on another device."""
        moved = {f.name: v.to(device) for f in fields(self) if isinstance(v := getattr(self, f.name), Tensor)}
        return replace(self, values={name: v.to(device) for name, v in self.values.items()}, **moved)


def query(graph: PCGraph, clamp: Mapping[str, Tensor | Observed] | None = None,
          init: Mapping[str, Tensor | Observed] | None = None, *, steps: int = 2000,
          value_lr: float | str = "safe", momentum: float = 0.0, tolerance: float | None = 1e-6,
          start: str = "zeros", start_std: float = 0.1, batch_size: int | None = None,
          generator: torch.Generator | None = None) -> Answer:
    """Ask a trained graph: hold some vertices, start others somewhere, and let the rest settle.

    Args:
        clamp: query by conditioning (eq. 5). Group -> values ``(batch, size)`` held for every t, or ``observed(...)``.
        init: query by initialization (eq. 6). The same, at t = 0 only.
        steps, value_lr, momentum, tolerance: see inference.Settings. T = 2000 is the paper's.
        start: where all other vertices begin: "zeros", "random" (normal, ``start_std``), or "prediction" (each group
            at its prediction from the groups already known, outwards from the clamped ones).
        batch_size: relax this many examples at a time. None: all at once.
        generator: for ``start="random"``. None: a new one seeded with 0.

    Raises:
        UnknownGroup, WrongShape, BadValues, BadInput: arguments that do not fit the graph.
        UnstableStep: a value step by hand that is too large.

    Example:
        >>> graph = pcg.PCGraph(pcg.topology.generative(labels=1, hidden=[], pixels=1), "linear")
        >>> graph.set_weight([[0, 0], [2, 0]])                           # labels -> pixels, 2
        >>> pcg.query(graph, clamp={"labels": torch.tensor([[3.0]])}).values["pixels"]
        tensor([[6.]])
    """
    settings = Settings(steps, value_lr, momentum, tolerance)
    if start not in STARTS:
        raise unknown("start", start, STARTS)
    if batch_size is not None:
        whole(batch_size, "batch_size")
    held, given = _parse(graph, clamp, "clamp"), _parse(graph, init, "init")
    batch = _batch_size(held, given)
    x, clamped = _place(graph, held, given, batch)
    if clamped.all():
        raise BadInput("every vertex is clamped; leave at least one free for the graph to answer with.")
    x = _start(graph, x, clamped | _given(graph, given, batch), start, start_std, generator)
    size = batch_size or batch
    chunks = [relax(graph, x[..., i:i + size, :], _uniform(clamped[i:i + size]), settings)
              for i in range(0, batch, size)]
    return _answer(graph, chunks)


def refuse_bytes(values: Tensor, what: str) -> None:
    """Raise BadInput for bytes: images of 0 to 255 would be taken for pixels far outside [0, 1]."""
    if values.dtype == torch.uint8:
        raise BadInput(f"{what} holds bytes (uint8); expected floating point, pixels in [0, 1]. Divide images by 255.")


def start_at_prediction(graph: PCGraph, x: Tensor, known: Tensor) -> Tensor:
    """Set each unknown group to its prediction (eq. 1) from the groups already known, outwards from those.

    Args:
        x: ``(..., batch, n)``; vertices that are not known must be 0.
        known: ``(n,)`` or ``(batch, n)`` bool. Vertices that no known one leads to stay 0.
    """
    graph.check_values(x)
    x, topology = x.clone(), graph.topology
    known = known.expand(x.shape[-2], -1)                                  # (batch, n): each example by itself
    reached = {name: known[:, topology.slice(name)].any(-1) for name in topology.groups}     # (batch,)
    free = {name: ~known[:, topology.slice(name)].all(-1) for name in topology.groups}
    while True:
        ready = {name: free[name] & _led_to(topology, name, reached) for name in topology.groups}
        frontier = {name: rows for name, rows in ready.items() if rows.any()}
        if not frontier:
            return x
        mu = {name: graph.group_prediction(x, name) for name in frontier}
        for name, rows in frontier.items():
            where = topology.slice(name)
            x[..., where] = torch.where(rows[:, None] & ~known[:, where], mu[name], x[..., where])
        for name, rows in frontier.items():
            reached[name], free[name] = reached[name] | rows, free[name] & ~rows


def _led_to(topology: Topology, name: str, reached: Mapping[str, Tensor]) -> Tensor:
    """For each example whether an edge leads from a group already reached to this one, ``(batch,)`` bool."""
    sources = [reached[e.source] for e in topology.edges if e.target == name]
    return torch.stack(sources).any(0) if sources else torch.zeros_like(reached[name])


def _parse(graph: PCGraph, given: Mapping[str, Tensor | Observed] | None, what: str) -> dict[str, Observed]:
    """Check each entry and give it a mask."""
    given = {} if given is None else given
    if not isinstance(given, Mapping):
        raise BadInput(f"{what} is a {type(given).__name__}; expected a mapping like {{'pixels': images}}.")
    return {name: _checked(graph, name, value, f"{what}[{name!r}]") for name, value in given.items()}


def _checked(graph: PCGraph, name: str, value: Tensor | Observed, what: str) -> Observed:
    refuse_bytes(value.values if isinstance(value, Observed) else torch.as_tensor(value), what)
    size, lead = graph.topology.size(name), 0 if graph.replicas is None else 1
    values, mask = (value.values, value.mask) if isinstance(value, Observed) else (torch.as_tensor(value), None)
    by_replica = lead and values.ndim == 3 and values.shape[::2] == (graph.replicas, size)
    if not by_replica and (values.ndim < 2 or values.shape[1:].numel() != size):
        raise WrongShape(f"{what} is {tuple(values.shape)}; expected (batch, {size}) or images that flatten to it.")
    values = values.to(graph.device, graph.dtype)
    values = values if by_replica else values.reshape(len(values), size)
    mask = torch.ones(size, dtype=torch.bool) if mask is None else mask
    mask = mask.reshape(-1) if mask.numel() == size else mask.flatten(1) if mask.ndim > 1 else mask
    if mask.shape not in ((size,), values.shape[-2:]):
        raise WrongShape(f"the mask of {what} is {tuple(mask.shape)}; expected ({size},) or "
                         f"{tuple(values.shape[-2:])}.")
    mask = mask.to(graph.device)
    if bad := int((~torch.isfinite(values) & mask).sum()):
        raise BadValues(f"{what} holds {bad} NaN or infinite entries among the known ones; clean the data first.")
    return Observed(torch.where(mask, values, 0), mask)


def _batch_size(*entries: dict[str, Observed]) -> int:
    sizes = {name: v.values.shape[-2] for part in entries for name, v in part.items()}
    if not sizes:
        raise BadInput("nothing is asked: give clamp={group: values}, init={group: values}, or both.")
    if len(set(sizes.values())) > 1 or 0 in sizes.values():
        raise WrongShape(f"batch sizes differ or are 0: {sizes}; every entry needs the same number of examples.")
    return next(iter(sizes.values()))


def _place(graph: PCGraph, held: dict[str, Observed], given: dict[str, Observed], batch: int) -> tuple[Tensor, Tensor]:
    """Values ``(..., batch, n)`` with init first and clamp over it, and what is clamped ``(batch, n)``."""
    lead = () if graph.replicas is None else (graph.replicas,)
    x = torch.zeros(*lead, batch, graph.topology.n, dtype=graph.dtype, device=graph.device)
    clamped = torch.zeros(batch, graph.topology.n, dtype=torch.bool, device=graph.device)
    for entries in (given, held):
        for name, entry in entries.items():
            where = graph.topology.slice(name)
            x[..., where] = torch.where(entry.mask, entry.values, x[..., where])
            if entries is held:
                clamped[:, where] = entry.mask
    return x, clamped


def _given(graph: PCGraph, given: dict[str, Observed], batch: int) -> Tensor:
    """Which vertices init sets, ``(batch, n)`` bool."""
    mask = torch.zeros(batch, graph.topology.n, dtype=torch.bool, device=graph.device)
    for name, entry in given.items():
        mask[:, graph.topology.slice(name)] = entry.mask
    return mask


def _start(graph: PCGraph, x: Tensor, known: Tensor, start: str, std: float,
           generator: torch.Generator | None) -> Tensor:
    if start == "prediction":
        return start_at_prediction(graph, x, known)
    if start == "random":
        drawn = torch.randn(x.shape, generator=generator or torch.Generator().manual_seed(0), dtype=x.dtype) * std
        return torch.where(known, x, drawn.to(x.device))
    return x


def _uniform(clamped: Tensor) -> Tensor:
    """One row ``(n,)`` where all examples clamp the same vertices: a relaxation can then leave them out."""
    return clamped[0] if bool((clamped == clamped[0]).all()) else clamped


def _answer(graph: PCGraph, chunks: list[Relaxation]) -> Answer:
    """Join chunks; a trace that stopped early stays at its last energy."""
    steps = max(c.steps for c in chunks)
    energy = torch.cat([torch.cat([c.energy, c.energy[-1:].expand(steps - c.steps, *c.energy.shape[1:])])
                        for c in chunks], -1)
    x = torch.cat([c.x for c in chunks], -2)
    return Answer({name: x[..., graph.topology.slice(name)] for name in graph.topology.groups}, x,
                  torch.cat([c.initial_energy for c in chunks], -1), energy,
                  torch.cat([c.converged for c in chunks], -1), steps, chunks[0].value_lr)
