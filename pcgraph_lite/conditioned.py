"""The energy as a function of the free vertices alone: what a relaxation evaluates at every step.

Clamped vertices are folded into constants once, so that a step costs two matrix products and nothing more:
f(x_free) @ W[free, :] and error @ W[free, :].T (the error being that of all vertices). All buffers are reused.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from .graph import PCGraph
from .sparse import Matrix

Index = slice | Tensor


@dataclass(eq=False)
class Part:
    """One segment of the graph during a relaxation; sizes are those of the segment and of its free vertices."""

    x: Tensor                                                              # (..., batch, size)
    free: Index | None                                                     # which vertices move; None: none does
    hold: Tensor | None                                                    # (..., batch, free): 0 where clamped
    owes: Tensor | None                                                    # (size,): 0 where a flat prior pays nothing
    pays: bool                                                             # False: a flat prior, no error at all
    kinks: tuple[tuple[float, int], ...]                                   # of f, where edges leave the segment
    moving: bool = False                                                   # its error changes during the relaxation
    constant: Tensor | None = None                                         # (..., batch, size): x_clamped - constant mu
    error: Tensor | None = None                                            # (..., batch, size)
    values: Tensor | None = None                                           # (..., batch, free)
    fx: Tensor | None = None                                               # (..., batch, free)
    gradient: Tensor | None = None                                         # (..., batch, free)
    before: tuple[Tensor | None, Tensor | None] = (None, None)             # values and error of the step before


class Conditioned:
    """A graph with some of its vertices clamped.

    Args:
        x: values to start from, ``(..., batch, n)``; the clamped ones are used as they are.
        clamped: which vertices never move, ``(n,)`` or ``(batch, n)`` bool.
    """

    def __init__(self, graph: PCGraph, x: Tensor, clamped: Tensor) -> None:
        self.graph = graph
        self.parts = [self._part(k, x, clamped) for k in range(len(graph.segments))]
        self.matrices = graph.matrices()
        # rows of W that belong to free vertices: a view where they are contiguous
        self.rows = [None if (free := self.parts[b.source].free) is None else w[..., free, :]
                     if isinstance(w, Tensor) else w for b, w in zip(graph.blocks, self.matrices, strict=True)]
        self._fold_constants()

    def _part(self, k: int, x: Tensor, clamped: Tensor) -> Part:
        graph, segment = self.graph, self.graph.segments[k]
        held = clamped[..., segment]
        everywhere = held if held.ndim == 1 else held.all(0)               # (size,)
        if everywhere.all():
            free = None
        elif not everywhere.any() or not graph.activations[k].elementwise or self._sparse_from(k):
            free = slice(None)                                             # top-k needs whole pools, CSR whole rows
        else:
            free = _index((~everywhere).nonzero().flatten())
        hold = None
        if free is not None and held[..., free].any():
            hold = (~held[..., free]).to(x.dtype)
        pays = graph.sources is None or not bool(graph.sources[segment].all())
        kinks = graph.activations[k].kinks if any(b.source == k for b in graph.blocks) else ()
        owes = None
        if pays and graph.sources is not None and graph.sources[segment].any():
            owes = (~graph.sources[segment]).to(x.dtype)
        return Part(x[..., segment].clone(memory_format=torch.contiguous_format), free, hold, owes, pays, kinks)

    def _sparse_from(self, k: int) -> bool:
        return any(b.source == k and str(i) in self.graph.patterns for i, b in enumerate(self.graph.blocks))

    def _fold_constants(self) -> None:
        graph = self.graph
        for k, (part, segment) in enumerate(zip(self.parts, graph.segments, strict=True)):
            part.constant = part.x.clone()
            if graph.bias is not None:
                part.constant -= graph.bias[..., segment]
            if part.free is not None:
                part.values = part.x[..., part.free].clone(memory_format=torch.contiguous_format)
                part.constant[..., part.free] -= part.values
                part.fx, part.gradient = torch.empty_like(part.values), torch.empty_like(part.values)
            incoming = [b for b in graph.blocks if b.target == k]
            part.moving = part.pays and (part.free is not None or any(
                self.parts[b.source].free is not None for b in incoming))
        for block, weight in zip(graph.blocks, self.matrices, strict=True):
            source, target = self.parts[block.source], self.parts[block.target]
            if source.free is not None and not _some_clamped(source):
                continue
            fx = graph.activations[block.source](source.x)
            if source.free is not None:
                fx = fx.clone() if fx is source.x else fx
                fx[..., source.free] = 0
            _add_product(target.constant, fx, weight, alpha=-1)
        for part in self.parts:
            part.error = part.constant.clone() if part.pays else torch.zeros_like(part.constant)
            if part.owes is not None:
                part.error *= part.owes

    def energy(self) -> Tensor:
        """Energy of each example ``(..., batch)`` from the errors of the last ``evaluate``."""
        energy = torch.zeros(self.parts[0].x.shape[:-1], dtype=self.graph.dtype, device=self.graph.device)
        for part in self.parts:
            if part.pays:
                energy += torch.linalg.vector_norm(part.error, dim=-1).square() / 2
        return energy

    def evaluate(self) -> None:
        """Errors at the current values (eqs. 1 and 2), kept in ``parts``."""
        graph = self.graph
        for part, f in zip(self.parts, graph.activations, strict=True):
            if part.free is not None:
                part.fx = f(part.values, out=part.fx)
        for part in self.parts:
            if part.moving:
                part.error.copy_(part.constant)
                if part.free is not None:
                    part.error[..., part.free] += part.values
        for block, rows in zip(graph.blocks, self.rows, strict=True):
            if rows is not None and self.parts[block.target].moving:
                _add_product(self.parts[block.target].error, self.parts[block.source].fx, rows, alpha=-1)
        for part in self.parts:
            if part.moving and part.owes is not None:
                part.error *= part.owes

    def differentiate(self) -> None:
        """dE/dx of the free vertices (eq. 3) from the errors of the last ``evaluate``, into ``part.gradient``."""
        graph = self.graph
        for k, part in enumerate(self.parts):
            if part.free is None:
                continue
            out = [(b, r) for b, r in zip(graph.blocks, self.rows, strict=True) if b.source == k]
            _sum_of_products(part.gradient, [(self.parts[block.target].error, rows.mT) for block, rows in out
                                             if self.parts[block.target].pays])
            if out:
                graph.activations[k].chain(part.gradient, part.values, part.fx)
            if part.pays:
                torch.sub(part.error[..., part.free], part.gradient, out=part.gradient)
            else:
                part.gradient.neg_()
            if part.hold is not None:
                part.gradient *= part.hold

    def remember(self) -> None:
        """Keep the values and errors as they are, for ``take_back``."""
        for part in self.parts:
            new = (part.values, part.error if part.moving else None)
            part.before = tuple(now if now is None else now.clone() if old is None else old.copy_(now)
                                for old, now in zip(part.before, new, strict=True))

    def take_back(self, rows: Tensor) -> None:
        """Return to the remembered state where ``rows``, ``(..., batch, 1)`` bool, is true. Costs no product."""
        for part, f in zip(self.parts, self.graph.activations, strict=True):
            values, error = part.before
            if values is not None:
                torch.where(rows, values, part.values, out=part.values)
                part.fx = f(part.values, out=part.fx)
            if error is not None:
                torch.where(rows, error, part.error, out=part.error)

    def free_parts(self) -> list[Part]:
        """The parts that move."""
        return [part for part in self.parts if part.free is not None]

    def assembled(self) -> Tensor:
        """All values, ``(..., batch, n)``; the clamped ones bit for bit as they came."""
        columns = []
        for part in self.parts:
            if part.free is not None:
                part.x[..., part.free] = part.values
            columns.append(part.x)
        return torch.cat(columns, -1) if len(columns) > 1 else columns[0]

    def weight_gradient(self) -> dict[str, Tensor]:
        """dE/dtheta (eq. 4), summed over the batch, from the errors of the last ``evaluate``."""
        self.assembled()
        fx = [f(part.x) for f, part in zip(self.graph.activations, self.parts, strict=True)]
        return self.graph.weight_gradient_of(fx, [part.error for part in self.parts])

    def curvature(self, steps: int = 30) -> Tensor:
        """Largest eigenvalue of the energy's Hessian over the free vertices for f = identity, by power iteration.

        That is the largest eigenvalue of the free block of (I - W)(I - W)^T. Plain descent is stable below
        2 / curvature where f is linear; elsewhere it is a guide.

        Returns:
            a number for each replica, ``(...)``: a 0-d tensor without replicas.
        """
        generator = torch.Generator().manual_seed(0)                       # a start direction, not a result
        vectors = [None if p.free is None else torch.randn(
            (*p.values.shape[:-2], 1, p.values.shape[-1]), generator=generator, dtype=p.values.dtype
        ).to(p.values.device) for p in self.parts]
        norm = torch.ones(())
        for _ in range(steps):
            vectors = self._hessian_product(vectors)
            norm = sum(v.square().sum((-2, -1), keepdim=True) for v in vectors if v is not None).sqrt()
            vectors = [None if v is None else v / norm.clamp_min(torch.finfo(v.dtype).tiny) for v in vectors]
        return norm[..., 0, 0]

    def _hessian_product(self, vectors: list[Tensor | None]) -> list[Tensor | None]:
        """H v with H = (I - W)(I - W)^T restricted to the free vertices; one row ``(..., 1, free)`` a part."""
        blocks, parts = self.graph.blocks, self.parts
        errors = [torch.zeros_like(p.x[..., :1, :]) for p in parts]
        for error, part, v in zip(errors, parts, vectors, strict=True):
            if v is not None:
                error[..., part.free] += v
        for block, rows in zip(blocks, self.rows, strict=True):
            if rows is not None:
                errors[block.target] -= vectors[block.source] @ rows
        for error, part in zip(errors, parts, strict=True):
            if not part.pays:
                error.zero_()
            elif part.owes is not None:
                error *= part.owes
        products = [None if v is None else errors[k][..., parts[k].free].clone() for k, v in enumerate(vectors)]
        for block, rows in zip(blocks, self.rows, strict=True):
            if rows is not None:
                products[block.source] -= errors[block.target] @ rows.mT
        for product, part in zip(products, parts, strict=True):
            if product is not None and part.hold is not None and part.hold.ndim == 1:
                product *= part.hold                                       # clamped alike in all examples
        return products


def _some_clamped(part: Part) -> bool:
    """Whether vertices of a moving segment are clamped in the whole batch, that is, left out of ``free``."""
    return part.free is None or part.values.shape[-1] < part.x.shape[-1]


def _index(free: Tensor) -> Index:
    """A slice where the free vertices are contiguous (a view, no copy), else their indices."""
    first, last = int(free[0]), int(free[-1])
    return slice(first, last + 1) if last - first + 1 == len(free) else free


def _sum_of_products(out: Tensor, pairs: list[tuple[Tensor, Matrix]]) -> None:
    """out = sum of a @ b over the pairs; 0 if there is none."""
    if not pairs:
        out.zero_()
        return
    a, b = pairs[0]
    torch.matmul(a, b, out=out) if isinstance(b, Tensor) else out.copy_(a @ b)
    for a, b in pairs[1:]:
        _add_product(out, a, b, alpha=1)


def _add_product(out: Tensor, a: Tensor, b: Matrix, alpha: float) -> None:
    """out += alpha * a @ b, without a temporary where b is dense."""
    if not isinstance(b, Tensor):
        out.add_(a @ b, alpha=alpha)
        return
    (out.addmm_ if out.ndim == 2 else out.baddbmm_)(a, b, alpha=alpha)
