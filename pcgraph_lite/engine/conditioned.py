"""The energy as a function of the free vertices alone: what a relaxation evaluates at every step.

Clamped vertices are folded into constants once, so that a step costs two matrix products and nothing more:
f(x_free) @ W[free, :] and error @ W[free, :].T (the error being that of all vertices). All buffers stay the same, so a
step is a list of calls on them that is made once: a small graph would spend its time on looking them up.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

import torch
from torch import Tensor

from .activations import Activation, TopK
from .graph import PCGraph
from .sparse import Matrix

Index = slice | Tensor
Calls = list[Callable[[], object]]


@dataclass(eq=False)
class Part:
    """One segment of the graph during a relaxation; sizes are those of the segment and of its free vertices."""

    x: Tensor                                                              # (..., batch, size): a view of all values
    f: Activation | TopK
    free: Index | None                                                     # which vertices move; None: none does
    held: Index | None                                                     # all others: clamped in the whole batch
    hold: Tensor | None                                                    # (..., batch, free): 0 where clamped
    owes: Tensor | None                                                    # (size,): 0 where a flat prior pays nothing
    pays: bool                                                             # False: a flat prior, no error at all
    kinks: tuple[tuple[float, int], ...]                                   # of f, where edges leave the segment
    sources: list[tuple[int, Matrix]] = field(default_factory=list)        # parts that move, their rows of W to here
    targets: list[tuple[int, Matrix]] = field(default_factory=list)        # parts that pay, rows of W to there, turned
    constant: Tensor | None = None                                         # (..., batch, size): x_clamped - constant mu
    error: Tensor | None = None                                            # (..., batch, size)
    window: Tensor | None = None                                           # (..., batch, free): that of free, if a view
    values: Tensor | None = None                                           # (..., batch, free)
    fx: Tensor | None = None                                               # (..., batch, free)
    gradient: Tensor | None = None                                         # (..., batch, free)
    before: tuple[Tensor | None, Tensor | None] = (None, None)             # values and error of the step before

    @property
    def moving(self) -> bool:
        """Whether its error changes during the relaxation."""
        return self.pays and (self.free is not None or bool(self.sources))

    @property
    def free_error(self) -> Tensor:
        """The errors of the free vertices, ``(..., batch, free)``."""
        return self.error[..., self.free] if self.window is None else self.window

    @cached_property
    def known_fx(self) -> Tensor:
        """f of the clamped vertices, 0 for the free ones, ``(..., batch, size)``."""
        fx = self.f(self.x)
        if self.free is not None:
            fx = fx.clone() if fx is self.x else fx
            fx[..., self.free] = 0
        return fx

    def activate(self) -> None:
        """f at the current values, into ``fx``."""
        self.f(self.values, out=self.fx)

    def whole_fx(self) -> Tensor:
        """f of all vertices, ``(..., batch, size)``, as the last evaluation left it."""
        if self.held is None:
            return self.fx
        if self.free is not None:
            self.known_fx[..., self.free] = self.fx                        # filled in for good: constants are made
        return self.known_fx


class Conditioned:
    """A graph with some of its vertices clamped.

    Args:
        x: values to start from, ``(..., batch, n)``, contiguous; the clamped ones are used as they are. It belongs to
            the problem from now on: ``assembled`` writes the free ones into it.
        clamped: which vertices never move, ``(n,)`` or ``(batch, n)`` bool.
    """

    def __init__(self, graph: PCGraph, x: Tensor, clamped: Tensor) -> None:
        self.graph, self.x = graph, x
        self.parts = [self._part(k, clamped) for k in range(len(graph.segments))]
        self.free_parts = [part for part in self.parts if part.free is not None]
        self.matrices = graph.matrices()
        self._join()
        self.moving_parts = [part for part in self.parts if part.moving]
        self._fold_constants()
        self._evaluation = [part.activate for part in self.free_parts]
        self._evaluation += [call for part in self.moving_parts for call in self._errors(part, part.sources)]
        self._differentiation = [call for part in self.free_parts for call in self._gradient(part)]

    def _part(self, k: int, clamped: Tensor) -> Part:
        graph, segment = self.graph, self.graph.segments[k]
        x, mask = self.x[..., segment], clamped[..., segment]
        everywhere = mask if mask.ndim == 1 else mask.all(0)               # (size,)
        if everywhere.all():
            free, held = None, slice(None)
        elif not everywhere.any() or not graph.activations[k].elementwise or self._sparse_from(k):
            free, held = slice(None), None                                 # top-k needs whole pools, CSR whole rows
        else:
            free, held = _index((~everywhere).nonzero().flatten()), _index(everywhere.nonzero().flatten())
        hold = None
        if free is not None and mask[..., free].any():
            hold = (~mask[..., free]).to(x.dtype)
        pays = graph.sources is None or not bool(graph.sources[segment].all())
        kinks = graph.activations[k].kinks if any(b.source == k for b in graph.blocks) else ()
        owes = None
        if pays and graph.sources is not None and graph.sources[segment].any():
            owes = (~graph.sources[segment]).to(x.dtype)
        part = Part(x, graph.activations[k], free, held, hold, owes, pays, kinks)
        if free is not None:
            part.values = x[..., free].clone(memory_format=torch.contiguous_format)
            part.fx = part.f(part.values, out=torch.empty_like(part.values))             # f = identity: the values
            part.gradient = torch.empty_like(part.values)
        return part

    def _sparse_from(self, k: int) -> bool:
        return any(b.source == k and str(i) in self.graph.patterns for i, b in enumerate(self.graph.blocks))

    def _join(self) -> None:
        """Give each part the rows of W that belong to free vertices: a view where they are contiguous."""
        for block, weight in zip(self.graph.blocks, self.matrices, strict=True):
            source, target = self.parts[block.source], self.parts[block.target]
            if source.free is None:
                continue
            rows = weight[..., source.free, :] if isinstance(weight, Tensor) else weight
            target.sources.append((block.source, rows))
            if target.pays:
                source.targets.append((block.target, rows.mT))

    def _fold_constants(self) -> None:
        """What clamped vertices are and predict, and the bias: the part of the errors that never changes."""
        graph = self.graph
        for part, segment in zip(self.parts, graph.segments, strict=True):
            if part.held is not None or graph.bias is not None:
                part.constant = part.x.clone(memory_format=torch.contiguous_format)
                if part.free is not None:
                    part.constant[..., part.free] = 0
                if graph.bias is not None:
                    part.constant -= graph.bias[..., segment]
        for block, weight in zip(graph.blocks, self.matrices, strict=True):
            source, target = self.parts[block.source], self.parts[block.target]
            if source.held is not None:
                if target.constant is None:
                    target.constant = torch.zeros_like(target.values)
                fx = source.known_fx
                if isinstance(weight, Tensor) and isinstance(source.held, slice):        # a view: leave the zeros out
                    fx, weight = fx[..., source.held], weight[..., source.held, :]
                _add_product(target.constant, fx, weight, alpha=-1)
        for part in self.parts:
            if not part.pays:
                part.error = torch.zeros_like(part.x)
            elif part.moving:
                part.error = torch.empty_like(part.x, memory_format=torch.contiguous_format)
            else:
                part.error = part.constant if part.owes is None else part.constant * part.owes
            if isinstance(part.free, slice):
                part.window = part.error[..., part.free]

    def _errors(self, part: Part, sources: list[tuple[int, Matrix]]) -> Calls:
        """What makes the errors of a part (eqs. 1 and 2) from f of the moving vertices in ``sources``."""
        error = part.error
        calls = _sum_of_products(error, [(self.parts[k].fx, rows) for k, rows in sources])
        if part.constant is None:                                          # then all of it is free
            calls.append(partial(torch.sub, part.values, error, out=error))
        elif part.held is None and not sources:
            calls = [partial(torch.add, part.constant, part.values, out=error)]
        else:
            calls.append(partial(torch.sub, part.constant, error, out=error))
            if part.window is not None:
                calls.append(partial(part.window.add_, part.values))
            elif part.free is not None:
                calls.append(partial(_add_columns, error, part.free, part.values))
        if part.owes is not None:
            calls.append(partial(error.mul_, part.owes))
        return calls

    def _gradient(self, part: Part) -> Calls:
        """What makes dE/dx of the free vertices of a part (eq. 3) from the errors."""
        gradient = part.gradient
        calls = _sum_of_products(gradient, [(self.parts[k].error, rows) for k, rows in part.targets])
        if part.targets:
            calls.append(partial(part.f.chain, gradient, part.values, part.fx))
        if not part.pays:
            calls.append(gradient.neg_)
        elif part.window is not None:
            calls.append(partial(torch.sub, part.window, gradient, out=gradient))
        else:
            calls.append(lambda: torch.sub(part.free_error, gradient, out=gradient))
        if part.hold is not None:
            calls.append(partial(gradient.mul_, part.hold))
        return calls

    def start_at_prediction(self, waves: Iterable[Sequence[str]]) -> None:
        """Set free groups to their predictions (eq. 1), and evaluate there: each product once.

        Args:
            waves: names of free groups, in the order in which predictions reach them (``Topology.outwards``). Their
                values must be 0.
        """
        stale = set(self.moving_parts)                                     # parts whose error is not that of the values
        for wave in waves:
            reached = self._columns(wave)
            for part in reached:
                _run(self._errors(part, [(k, rows) for k, rows in part.sources if self.parts[k].fx.any()]))
            for part, columns in reached.items():                          # x = 0 and error = -mu become mu and 0
                part.values.addcmul_(part.free_error, columns[part.free], value=-1)
                part.error.addcmul_(part.error, columns, value=-1)
                part.activate()
            stale = stale.difference(reached).union(self.parts[k] for part in reached for k, _ in part.targets)
        _run(call for part in stale for call in self._errors(part, part.sources))

    def _columns(self, names: Iterable[str]) -> dict[Part, Tensor]:
        """The parts in which these groups are, and 1 for each vertex of the groups, 0 for others, ``(size,)``."""
        columns: dict[Part, Tensor] = {}
        for name in names:
            k, where = self.graph.home[name]
            columns.setdefault(self.parts[k], torch.zeros_like(self.parts[k].x[(0,) * (self.x.ndim - 1)]))[where] = 1
        return columns

    def energy(self) -> Tensor:
        """Energy of each example ``(..., batch)`` from the errors of the last ``evaluate``."""
        energy = self._still_energy.clone()
        for part in self.moving_parts:
            norm = torch.linalg.vector_norm(part.error, dim=-1)
            energy.addcmul_(norm, norm, value=0.5)
        return energy

    @cached_property
    def _still_energy(self) -> Tensor:
        """That of the parts whose errors never change, ``(..., batch)``."""
        energy = torch.zeros(self.x.shape[:-1], dtype=self.graph.dtype, device=self.graph.device)
        for part in self.parts:
            if not part.moving:
                energy += torch.linalg.vector_norm(part.error, dim=-1) ** 2 / 2
        return energy

    def evaluate(self) -> None:
        """Errors at the current values (eqs. 1 and 2), kept in ``parts``."""
        _run(self._evaluation)

    def differentiate(self) -> None:
        """dE/dx of the free vertices (eq. 3) from the errors of the last ``evaluate``, into ``part.gradient``."""
        _run(self._differentiation)

    def remember(self) -> None:
        """Keep the values and errors as they are, for ``take_back``."""
        for part in self.parts:
            new = (part.values, part.error if part.moving else None)
            part.before = tuple(now if now is None else now.clone() if old is None else old.copy_(now)
                                for old, now in zip(part.before, new, strict=True))

    def take_back(self, rows: Tensor) -> None:
        """Return to the remembered state where ``rows``, ``(..., batch, 1)`` bool, is true. Costs no product."""
        for part in self.parts:
            values, error = part.before
            if values is not None:
                torch.where(rows, values, part.values, out=part.values)
                part.activate()
            if error is not None:
                torch.where(rows, error, part.error, out=part.error)

    def assembled(self) -> Tensor:
        """All values, ``(..., batch, n)``; the clamped ones bit for bit as they came."""
        for part in self.free_parts:
            part.x[..., part.free] = part.values
        return self.x

    def weight_gradient(self, share: float = 1.0) -> dict[str, Tensor]:
        """dE/dtheta (eq. 4), summed over the batch, times ``share``, from the errors of the last ``evaluate``."""
        fx = {block.source: self.parts[block.source].whole_fx() for block in self.graph.blocks}
        return self.graph.weight_gradient_of(fx, [part.error for part in self.parts], share)

    def curvature(self, steps: int = 30) -> Tensor:
        """Largest eigenvalue of the energy's Hessian over the free vertices for f = identity, by power iteration.

        That is the largest eigenvalue of the free block of (I - W)(I - W)^T. Plain descent is stable below
        2 / curvature where f is linear; elsewhere it is a guide.

        Returns:
            a number for each replica, ``(...)``: a 0-d tensor without replicas.
        """
        generator = torch.Generator().manual_seed(0)                       # a start direction, not a result
        vectors = {k: torch.randn(
            (*part.values.shape[:-2], 1, part.values.shape[-1]), generator=generator, dtype=part.values.dtype
        ).to(part.values.device) for k, part in enumerate(self.parts) if part.free is not None}      # (..., 1, free)
        norm = torch.ones(())
        for _ in range(steps):
            vectors = self._hessian_product(vectors)
            norm = sum(v.square().sum((-2, -1), keepdim=True) for v in vectors.values()).sqrt()
            vectors = {k: v / norm.clamp_min(torch.finfo(v.dtype).tiny) for k, v in vectors.items()}
        return norm[..., 0, 0]

    def _hessian_product(self, vectors: dict[int, Tensor]) -> dict[int, Tensor]:
        """H v with H = (I - W)(I - W)^T restricted to the free vertices; one row ``(..., 1, free)`` a part."""
        errors, products = {}, {}
        for k, part in enumerate(self.parts):
            errors[k] = torch.zeros_like(part.x[..., :1, :])
            if part.moving and k in vectors:
                errors[k][..., part.free] += vectors[k]
            for source, rows in part.sources if part.moving else ():
                errors[k] -= vectors[source] @ rows
            if part.owes is not None:
                errors[k] *= part.owes
        for k in vectors:
            part = self.parts[k]
            products[k] = errors[k][..., part.free].clone()
            for target, rows in part.targets:
                products[k] -= errors[target] @ rows
            if part.hold is not None and part.hold.ndim == 1:
                products[k] *= part.hold                                   # clamped alike in all examples
        return products


def _index(vertices: Tensor) -> Index:
    """A slice where vertices are contiguous (a view, no copy), else their indices."""
    first, last = int(vertices[0]), int(vertices[-1])
    return slice(first, last + 1) if last - first + 1 == len(vertices) else vertices


def _run(calls: Iterable[Callable[[], object]]) -> None:
    for call in calls:
        call()


def _sum_of_products(out: Tensor, pairs: list[tuple[Tensor, Matrix]]) -> Calls:
    """What makes out = sum of a @ b over the pairs; 0 if there is none."""
    if not pairs:
        return [out.zero_]
    a, b = pairs[0]
    product = torch.mm if out.ndim == 2 else torch.bmm
    first = partial(product, a, b, out=out) if isinstance(b, Tensor) else lambda: out.copy_(a @ b)
    return [first, *(partial(_add_product, out, a, b, alpha=1) for a, b in pairs[1:])]


def _add_columns(out: Tensor, columns: Tensor, values: Tensor) -> None:
    out[..., columns] += values


def _add_product(out: Tensor, a: Tensor, b: Matrix, alpha: float) -> None:
    """out += alpha * a @ b, without a temporary where b is dense."""
    if not isinstance(b, Tensor):
        out.add_(a @ b, alpha=alpha)
        return
    (out.addmm_ if out.ndim == 2 else out.baddbmm_)(a, b, alpha=alpha)
