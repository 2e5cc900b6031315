"""The energy as a function of the free vertices alone: what a relaxation evaluates at every step.

Clamped vertices are folded into constants once, so that a step costs two matrix products and nothing more:
f(x_free) @ W[free, :] and error @ W[free, :].T (the error being that of all vertices). All buffers stay the same, so a
step is a list of calls on them that is made once: a small graph would spend its time on looking them up.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import torch
from torch import Tensor

from .activations import Activation
from .graph import PCGraph
from .topk import TopK
from .weights import Call, Matrix

Index = slice | Tensor
Joined = list[tuple[int, Matrix]]                                          # a segment, and the rows of W to or from it


@dataclass(frozen=True, eq=False)
class Roles:
    """Who moves and who pays in one segment."""

    free: Index | None                                                     # which vertices move; None: none does
    held: Index | None                                                     # all others: clamped in the whole batch
    hold: Tensor | None                                                    # (..., batch, free): 0 where clamped
    pays: bool                                                             # False: a flat prior, no error at all
    owes: Tensor | None                                                    # (size,): 0 where a flat prior pays nothing
    turned: bool                                                           # whether a vertex's examples lie together

    def room(self, like: Tensor) -> Tensor:
        """A new buffer ``(..., batch, size)``, laid out as its products read it."""
        shape = like.mT.shape if self.turned else like.shape
        return like.new_empty(shape).mT if self.turned else like.new_empty(shape)


class ErrorNodes:
    """The errors eps of one segment, ``(..., batch, size)``.

    Args:
        x: its values, ``(..., batch, size)``.
        constant: x - mu as far as clamped vertices and the bias decide it, of that shape. None: 0.
        moves: whether the errors change during the relaxation.
    """

    def __init__(self, x: Tensor, roles: Roles, constant: Tensor | None, moves: bool) -> None:
        self.roles, self.constant, self.moves = roles, constant, moves
        if not roles.pays:
            self.error = torch.zeros_like(x)
        elif moves:
            self.error = roles.room(x)
        else:
            self.error = constant if roles.owes is None else constant * roles.owes
        self.window = self.error[..., roles.free] if isinstance(roles.free, slice) else None       # a view

    @property
    def free(self) -> Tensor:
        """The errors of the free vertices, ``(..., batch, free)``."""
        return self.error[..., self.roles.free] if self.window is None else self.window


class ValueNodes:
    """The values of one segment that move: x, f(x) and dE/dx, each ``(..., batch, free)``.

    Args:
        start: values of the whole segment, ``(..., batch, size)``.
        errors: the error nodes of the segment.
        sends: whether edges leave the segment: else no kink of f matters.
    """

    def __init__(self, start: Tensor, f: Activation | TopK, roles: Roles, errors: ErrorNodes,
                 sends: bool) -> None:
        self.roles, self.errors, self.kinks = roles, errors, f.kinks if sends else ()
        values = start[..., roles.free]
        self.x = roles.room(values).copy_(values)
        self.gradient = torch.empty_like(self.x)
        self.fx, self.activate, self.chain = f.on(self.x, self.gradient)


class Conditioned:
    """A graph with some of its vertices clamped.

    Args:
        x: values to start from, ``(..., batch, n)``, contiguous; the clamped ones are used as they are. It belongs to
            the problem from now on: ``assembled`` writes the free ones into it.
        clamped: which vertices never move, ``(n,)`` or ``(batch, n)`` bool.
    """

    def __init__(self, graph: PCGraph, x: Tensor, clamped: Tensor) -> None:
        self.graph, self.x, self.xs = graph, x, [x[..., s] for s in graph.segments]
        self.roles = [self._roles(k, clamped[..., s]) for k, s in enumerate(graph.segments)]
        matrices = graph.matrices()
        self.arriving, self.leaving = self._joined(matrices)
        constants = self._constants(matrices)
        self.errors = [ErrorNodes(x, roles, constant, roles.pays and (roles.free is not None or bool(sources)))
                       for x, roles, constant, sources
                       in zip(self.xs, self.roles, constants, self.arriving, strict=True)]
        sending = {block.source for block in graph.blocks}
        self.free = {k: ValueNodes(self.xs[k], graph.activations[k], roles, self.errors[k], k in sending)
                     for k, roles in enumerate(self.roles) if roles.free is not None}
        self._evaluation = [nodes.activate for nodes in self.free.values()]
        self._evaluation += [call for k, nodes in enumerate(self.errors) if nodes.moves
                             for call in self._errors(k, self.arriving[k])]
        self._differentiation = [call for k in self.free for call in self._gradient(k, self.leaving[k])]
        self._right: dict[int, Tensor] = {}            # segments whose errors are all exactly 0, and their values then

    # ---- what stays the same --------------------------------------------------------------------------------------

    def _roles(self, k: int, mask: Tensor) -> Roles:
        graph, sources = self.graph, self.graph.sources
        everywhere = mask if mask.ndim == 1 else mask.all(0)               # (size,)
        whole = not graph.activations[k].elementwise or not all(b.cuts_rows for b in graph.blocks if b.source == k)
        if (count := int(everywhere.sum())) == len(everywhere):
            free, held = None, slice(None)
        elif whole or not count:                                           # top-k needs whole pools, CSR whole rows
            free, held = slice(None), None
        else:
            free, held = _index((~everywhere).nonzero().flatten()), _index(everywhere.nonzero().flatten())
        hold = None
        if free is not None and (count or mask.ndim > 1) and mask[..., free].any():
            hold = (~mask[..., free]).to(self.x.dtype)
        flat = None if sources is None else sources[graph.segments[k]]     # (size,)
        pays, some = flat is None or not bool(flat.all()), flat is not None and bool(flat.any())
        turned = not all(b.cuts_rows for b in graph.blocks if k in (b.source, b.target))
        return Roles(free, held, hold, pays, (~flat).to(self.x.dtype) if pays and some else None, turned)

    def _joined(self, matrices: list[Matrix]) -> tuple[list[Joined], list[Joined]]:
        """For each segment the rows of W that free vertices send to it, and those, turned, of errors that reach it."""
        to, back = [[] for _ in self.xs], [[] for _ in self.xs]
        for block, matrix in zip(self.graph.blocks, matrices, strict=True):
            if (free := self.roles[block.source].free) is not None:
                rows = matrix.rows(free)                                   # a view where they are contiguous
                to[block.target].append((block.source, rows))
                if self.roles[block.target].pays:
                    back[block.source].append((block.target, rows.mT))
        return to, back

    def _constants(self, matrices: list[Matrix]) -> list[Tensor | None]:
        """What clamped vertices are and predict, and the bias: the part of the errors that never changes."""
        graph, constants = self.graph, [None] * len(self.xs)
        for k, (x, roles, segment) in enumerate(zip(self.xs, self.roles, graph.segments, strict=True)):
            if roles.held is not None or graph.bias is not None:
                constants[k] = roles.room(x).copy_(x)
                if roles.free is not None:
                    constants[k][..., roles.free] = 0
                if graph.bias is not None:
                    constants[k] -= graph.bias[..., segment]
        for block, matrix in zip(graph.blocks, matrices, strict=True):
            held, target = self.roles[block.source].held, block.target
            if held is not None:
                if constants[target] is None:
                    constants[target] = self.roles[target].room(self.xs[target]).zero_()
                fx = self._known_fx[block.source]
                if isinstance(held, slice):                                # a view: leave the zeros out
                    fx, matrix = fx[..., held], matrix.rows(held)
                matrix.onto(constants[target], fx, sign=-1)()
        return constants

    @cached_property
    def _known_fx(self) -> dict[int, Tensor]:
        """f of the clamped vertices of each segment with edges, 0 for its free ones, ``(..., batch, size)``."""
        known = {}
        for k in {block.source for block in self.graph.blocks}:
            free, x = self.roles[k].free, self.xs[k]
            if self.roles[k].held is not None:
                fx = self.graph.activations[k](x)
                if free is not None:
                    fx = fx.clone() if fx is x else fx
                    fx[..., free] = 0
                known[k] = fx
        return known

    # ---- one step -------------------------------------------------------------------------------------------------

    def _errors(self, k: int, sources: Joined) -> list[Call]:
        """What makes the errors of a segment (eqs. 1 and 2) from f of the free vertices in ``sources``."""
        nodes, free = self.errors[k], self.free.get(k)
        error, constant = nodes.error, nodes.constant
        calls = _sum_of_products(error, [(self.free[j].fx, rows) for j, rows in sources])
        if constant is None:                                               # then all of it is free
            calls.append(partial(torch.sub, free.x, error, out=error))
        elif nodes.roles.held is None and not sources:
            calls = [partial(torch.add, constant, free.x, out=error)]
        else:
            calls.append(partial(torch.sub, constant, error, out=error))
            if nodes.window is not None:
                calls.append(partial(nodes.window.add_, free.x))
            elif free is not None:
                calls.append(partial(_add_columns, error, nodes.roles.free, free.x))
        if nodes.roles.owes is not None:
            calls.append(partial(error.mul_, nodes.roles.owes))
        return calls

    def _gradient(self, k: int, targets: Joined) -> list[Call]:
        """What makes dE/dx of the free vertices of a segment (eq. 3) from its errors and those of ``targets``."""
        nodes, errors = self.free[k], self.errors[k]
        gradient = nodes.gradient
        calls = _sum_of_products(gradient, [(self.errors[j].error, rows) for j, rows in targets])
        if targets:
            calls.append(nodes.chain)
        if not nodes.roles.pays:
            calls.append(gradient.neg_)
        elif errors.window is not None:
            calls.append(partial(torch.sub, errors.window, gradient, out=gradient))
        else:
            calls.append(lambda: torch.sub(errors.free, gradient, out=gradient))
        if nodes.roles.hold is not None:
            calls.append(partial(gradient.mul_, nodes.roles.hold))
        return calls

    def evaluate(self) -> None:
        """Errors at the current values (eqs. 1 and 2), kept in ``errors``."""
        if self._right:
            self._spread()
        else:
            _run(self._evaluation)

    def differentiate(self) -> None:
        """dE/dx of the free vertices (eq. 3) from the errors of the last ``evaluate``, into their ``gradient``."""
        if not self._right:
            return _run(self._differentiation)
        for k in self._reached():
            _run(self._gradient(k, [(j, rows) for j, rows in self.leaving[k] if j not in self._right]))

    def energy(self) -> Tensor:
        """Energy of each example ``(..., batch)`` from the errors of the last ``evaluate``."""
        energy = self._still_energy.clone()
        for nodes in (nodes for k, nodes in enumerate(self.errors) if nodes.moves and k not in self._right):
            norm = torch.linalg.vector_norm(nodes.error, dim=-1)
            energy.addcmul_(norm, norm, value=0.5)
        return energy

    @cached_property
    def _still_energy(self) -> Tensor:
        """That of the errors that never change, ``(..., batch)``."""
        energy = torch.zeros(self.x.shape[:-1], dtype=self.graph.dtype, device=self.graph.device)
        for nodes in (nodes for nodes in self.errors if not nodes.moves):
            energy += torch.linalg.vector_norm(nodes.error, dim=-1) ** 2 / 2
        return energy

    # ---- the first steps from predictions -------------------------------------------------------------------------

    @property
    def spreads(self) -> bool:
        """Whether some errors are still 0, because errors spread by one edge a step.

        Such steps leave out what is 0 or stays as it is, and come to the same values bit for bit.
        """
        return bool(self._right)

    def _reached(self) -> list[int]:
        """Segments whose gradient may differ from 0."""
        return [k for k in self.free if k not in self._right or any(j not in self._right for j, _ in self.leaving[k])]

    def _spread(self) -> None:
        """``evaluate`` of the segments that have moved, and of those that they predict."""
        moved, before = self._reached(), self._right
        pushed = {k for k, sources in enumerate(self.arriving) if any(j in moved for j, _ in sources)}
        wrong = {k for k in pushed.union(moved) if self.errors[k].moves}
        for k in moved:
            self.free[k].activate()
        for k in wrong:
            if k in before and k not in pushed:                            # its prediction is where it started
                torch.sub(self.free[k].x, before[k], out=self.errors[k].error)
            else:
                _run(self._errors(k, self.arriving[k]))
        # where none went wrong, no error will ever reach the others
        self._right = {k: x for k, x in before.items() if k not in wrong} if wrong & before.keys() else {}

    # ---- around the steps -----------------------------------------------------------------------------------------

    def start_at_prediction(self, waves: Iterable[Sequence[str]]) -> None:
        """Set free groups to their predictions (eq. 1), and evaluate there: each product once.

        Args:
            waves: names of free groups, in the order in which predictions reach them (``Topology.outwards``). Their
                values must be 0.
        """
        stale = {k for k, nodes in enumerate(self.errors) if nodes.moves}  # whose errors are not those of the values
        right, seen = set(), set()
        for wave in waves:
            reached = self._columns(wave)
            for k in reached:
                _run(self._errors(k, [(j, rows) for j, rows in self.arriving[k] if j in seen or self.free[j].fx.any()]))
            for k, columns in reached.items():                             # x = 0 and error = -mu become mu and 0
                values, errors = self.free[k], self.errors[k]
                if columns is None:
                    values.x.sub_(errors.error)
                    errors.error.zero_()
                else:
                    values.x.addcmul_(errors.free, columns[values.roles.free], value=-1)
                    errors.error.addcmul_(errors.error, columns, value=-1)
                values.activate()
            stale = (stale - reached.keys()) | {j for k in reached for j, _ in self.leaving[k]}
            seen |= reached.keys()
            right |= {k for k, columns in reached.items() if self.roles[k].owes is None and columns is None}
        _run(call for k in stale for call in self._errors(k, self.arriving[k]))
        self._right = {k: self.free[k].x.clone() for k in right - stale}
        for k in self._right:
            self.free[k].gradient.zero_()

    def _columns(self, names: Iterable[str]) -> dict[int, Tensor | None]:
        """The segments in which these groups are: 1 for each vertex of the groups, 0 for others, ``(size,)``.

        None: the groups are all of it.
        """
        places: dict[int, list[slice]] = {}
        for k, where in (self.graph.home[name] for name in names):
            places.setdefault(k, []).append(where)
        columns: dict[int, Tensor | None] = dict.fromkeys(places)
        for k, some in places.items():
            if sum(where.stop - where.start for where in some) < self.xs[k].shape[-1]:
                columns[k] = self.x.new_zeros(self.xs[k].shape[-1])
                for where in some:
                    columns[k][where] = 1
        return columns

    @cached_property
    def _state(self) -> list[tuple[Tensor, Tensor]]:
        """Everything that a step changes, each with room for what it was."""
        now = [nodes.x for nodes in self.free.values()] + [nodes.error for nodes in self.errors if nodes.moves]
        return [(tensor, torch.empty_like(tensor)) for tensor in now]

    def remember(self) -> None:
        """Keep the values and errors as they are, for ``take_back``."""
        for now, before in self._state:
            before.copy_(now)

    def take_back(self, rows: Tensor) -> None:
        """Return to the remembered state where ``rows``, ``(..., batch, 1)`` bool, is true. Costs no product."""
        for now, before in self._state:
            torch.where(rows, before, now, out=now)
        _run(nodes.activate for nodes in self.free.values())

    def assembled(self) -> Tensor:
        """All values, ``(..., batch, n)``; the clamped ones bit for bit as they came."""
        for k, nodes in self.free.items():
            self.xs[k][..., nodes.roles.free] = nodes.x
        return self.x

    def weight_gradient(self, share: float = 1.0) -> dict[str, Tensor]:
        """dE/dtheta (eq. 4), summed over the batch, times ``share``, from the errors of the last ``evaluate``."""
        fx = {block.source: self._whole_fx(block.source) for block in self.graph.blocks}
        return self.graph.weight_gradient_of(fx, [nodes.error for nodes in self.errors], share)

    def _whole_fx(self, k: int) -> Tensor:
        """f of all vertices of a segment, ``(..., batch, size)``, as the last evaluation left it."""
        if k not in self._known_fx:
            return self.free[k].fx
        if k in self.free:
            self._known_fx[k][..., self.roles[k].free] = self.free[k].fx   # filled in for good: constants are made
        return self._known_fx[k]


def _index(vertices: Tensor) -> Index:
    """A slice where vertices are contiguous (a view, no copy), else their indices."""
    first, last = int(vertices[0]), int(vertices[-1])
    return slice(first, last + 1) if last - first + 1 == len(vertices) else vertices


def _run(calls: Iterable[Call]) -> None:
    for call in calls:
        call()


def _sum_of_products(out: Tensor, pairs: list[tuple[Tensor, Matrix]]) -> list[Call]:
    """What makes out = the sum of b(a) = a @ b over the pairs; 0 if there is none."""
    if not pairs:
        return [out.zero_]
    return [pairs[0][1].into(out, pairs[0][0]), *(b.onto(out, a) for a, b in pairs[1:])]


def _add_columns(out: Tensor, columns: Tensor, values: Tensor) -> None:
    out[..., columns] += values
