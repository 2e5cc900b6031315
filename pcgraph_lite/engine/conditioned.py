"""The energy as a function of the free vertices alone: what a relaxation evaluates at every step.

Clamped vertices never change, so what they predict is computed once. A step then costs two matrix products:
f(x_free) @ W[free, :] for the predictions, and error @ W[free, :].T for what the errors send back.
"""

from collections.abc import Callable
from functools import cached_property

import torch
from torch import Tensor

from .graph import PCGraph
from .nodes import Nodes
from .weights import Matrix

Edges = list[tuple[Nodes, Matrix]]                                         # nodes, and the weights to or from them


class Conditioned:
    """A graph with some of its vertices clamped.

    Args:
        x: values to start from, ``(..., batch, n)``, contiguous; the clamped ones are used as they are. It belongs to
            the problem from now on: ``assembled`` writes the free ones into it.
        clamped: which vertices never move, ``(n,)`` or ``(batch, n)`` bool.
        errorless: which vertices pay for no error, ``(n,)`` or ``(batch, n)`` bool, besides those that a flat prior
            frees from it. Nothing runs back along the edges into such a vertex. None: no others.

    Attributes:
        nodes: the nodes of each segment.
        free: those with free vertices.
        changing: those whose errors are not constant.
        incoming: nodes -> the free nodes that predict them, and the weights from there.
        outgoing: free nodes -> the nodes whose errors they feel, and the weights back from there.
        spreads: whether only some errors can differ from 0 so far (``Spreading``).
    """

    spreads = False

    def __init__(self, graph: PCGraph, x: Tensor, clamped: Tensor, errorless: Tensor | None = None) -> None:
        self.graph, self.x = graph, x
        if graph.sources is not None:                                      # a flat prior
            errorless = graph.sources if errorless is None else errorless | graph.sources
        self.nodes = [Nodes(graph, k, x[..., s], clamped[..., s], None if errorless is None else errorless[..., s])
                      for k, s in enumerate(graph.segments)]
        self.free = [nodes for nodes in self.nodes if nodes.free is not None]
        self._link()
        self._gather()

    # ---- one step -------------------------------------------------------------------------------------------------

    def evaluate(self) -> None:
        """Errors at the current values (eqs. 1 and 2): f(x) of all free vertices, then x - f(x) W."""
        for nodes in self.free:
            nodes.activate()                                               # (..., batch, free)
        for nodes in self.changing:
            self.evaluate_nodes(nodes, self.incoming[nodes])

    def evaluate_nodes(self, nodes: Nodes, incoming: Edges) -> None:
        """The errors of one segment, predicted along these edges."""
        nodes.reset_error()                                                # (..., batch, size): x - clamped f(x) W
        for source, weight in incoming:
            weight.multiply(source.fx, nodes.error, scale=-1)              # (batch, free) @ (free, size)
        if nodes.pays is not None:
            nodes.error.mul_(nodes.pays)                                   # (..., batch, size)

    def differentiate(self, move: Callable[[Nodes], object] = lambda nodes: None) -> None:
        """dE/dx of the free vertices (eq. 3) from the errors of the last ``evaluate``, into their ``gradient``.

        Args:
            move: called with nodes as soon as their gradient is there, while the processor's cache still holds it. No
                other gradient depends on their values.
        """
        for nodes in self.free:
            self.differentiate_nodes(nodes, self.outgoing[nodes])
            move(nodes)

    def differentiate_nodes(self, nodes: Nodes, outgoing: Edges) -> None:
        """dE/dx = error - f'(x) * feedback in one segment, the feedback being errors sent back along these edges."""
        feedback = gradient = nodes.gradient                               # (..., batch, free): one buffer for both
        for k, (target, weight) in enumerate(outgoing):
            weight.multiply(target.error, feedback, add=k > 0)             # (batch, size) @ (size, free)
        if outgoing:
            nodes.chain()                                                  # f'(x) * feedback
            torch.sub(nodes.error_of_free, feedback, out=gradient)
        else:
            gradient.copy_(nodes.error_of_free)
        if nodes.moves is not None:
            gradient.mul_(nodes.moves)                                     # (..., batch, free)

    def energy(self) -> Tensor:
        """Energy of each example ``(..., batch)`` from the errors of the last ``evaluate``, eq. 2."""
        return self._with_errors(self.constant_energy.clone())

    def changing_energy(self) -> Tensor:
        """The part of it that the free values can change, ``(..., batch)``: where that is 0, nothing is lower."""
        return self._with_errors(torch.zeros_like(self.constant_energy))

    def _with_errors(self, energy: Tensor) -> Tensor:
        for nodes in self.changing:
            norm = torch.linalg.vector_norm(nodes.error.contiguous(), dim=-1)                # (..., batch): by rows
            energy.addcmul_(norm, norm, value=0.5)
        return energy

    # ---- what stays the same --------------------------------------------------------------------------------------

    def _link(self) -> None:
        """Find the edges from free vertices, as ``incoming`` of their targets and ``outgoing`` of their sources."""
        self._blocks = [(self.nodes[block.source], self.nodes[block.target], matrix)
                        for block, matrix in zip(self.graph.blocks, self.graph.matrices(), strict=True)]
        self.incoming: dict[Nodes, Edges] = {nodes: [] for nodes in self.nodes}
        self.outgoing: dict[Nodes, Edges] = {nodes: [] for nodes in self.nodes}
        for source, target, matrix in self._blocks:
            if source.free is not None:
                rows = matrix.rows(source.free)                            # a view where they are contiguous
                self.incoming[target].append((source, rows))
                if not target.errorless:
                    self.outgoing[source].append((target, rows.mT))
        self.changing = [nodes for nodes in self.nodes
                         if not nodes.errorless and (nodes.free is not None or self.incoming[nodes])]

    def _gather(self) -> None:
        """Gather what never changes: clamped values, what they predict, the bias, and errors made of these alone."""
        for nodes in self.nodes:
            nodes.restart()
        self._clamped_fx = {nodes: nodes.clamped_fx() for nodes in {source for source, _, _ in self._blocks}
                            if nodes.clamped is not None}
        for source, target, matrix in self._blocks:
            if source.clamped is not None:
                fx = self._clamped_fx[source]                              # (..., batch, size)
                if isinstance(source.clamped, slice):                      # a view: leave the zeros out
                    fx, matrix = fx[..., source.clamped], matrix.rows(source.clamped)
                target.fold(fx, matrix)
        self.constant_energy = torch.zeros(self.x.shape[:-1], dtype=self.graph.dtype, device=self.graph.device)
        for nodes in self.nodes:
            if nodes not in self.changing and not nodes.errorless:
                assert nodes.known is not None                             # a clamped segment has its values
                nodes.error = nodes.known if nodes.pays is None else nodes.known * nodes.pays
                self.constant_energy += torch.linalg.vector_norm(nodes.error, dim=-1) ** 2 / 2

    def restart(self) -> None:
        """Take up the values that ``x`` holds and the weights of the graph as they are now, in the same memory."""
        copied = any(not isinstance(nodes.free, slice) for nodes in self.free)
        if copied or not all(block.cuts_rows for block in self.graph.blocks):
            self._link()                                                   # else the matrices are views of the weights
        self._gather()

    # ---- around the steps -----------------------------------------------------------------------------------------

    @cached_property
    def _state(self) -> list[tuple[Tensor, Tensor]]:
        """Everything that a step changes, each with room for what it was."""
        now = [nodes.x for nodes in self.free] + [nodes.error for nodes in self.changing]
        return [(tensor, torch.empty_like(tensor)) for tensor in now]

    def remember(self) -> None:
        """Keep the values and errors as they are, for ``take_back``."""
        for now, before in self._state:
            before.copy_(now)

    def take_back(self, rows: Tensor) -> None:
        """Return to the remembered state where ``rows``, ``(..., batch, 1)`` bool, is true. Costs no product."""
        for now, before in self._state:
            torch.where(rows, before, now, out=now)
        for nodes in self.free:
            nodes.activate()

    def assembled(self) -> Tensor:
        """All values, ``(..., batch, n)``; the clamped ones bit for bit as they came."""
        for nodes in self.free:
            nodes.start[..., nodes.free] = nodes.x
        return self.x

    def weight_gradient(self, share: float = 1.0) -> dict[str, Tensor]:
        """dE/dtheta (eq. 4), summed over the batch, times ``share``, from the errors of the last ``evaluate``."""
        fx = {block.source: self._fx(self.nodes[block.source]) for block in self.graph.blocks}
        return self.graph.weight_gradient_of(fx, [nodes.error for nodes in self.nodes], share)

    def _fx(self, nodes: Nodes) -> Tensor:
        """f of all vertices of a segment, ``(..., batch, size)``, as the last evaluation left it."""
        if nodes.clamped is None:
            return nodes.fx
        fx = self._clamped_fx[nodes]
        if nodes.free is not None:                                         # filled in for good: ``known`` is made
            fx[..., nodes.free] = nodes.fx
        return fx
