"""The short cut of the first steps: what starts at its prediction has no error, and errors spread by one edge a step.

The steps come to the same values as those of ``Conditioned``, but for rounding. They leave out products with zeros,
and predictions that stay as they are.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

import torch
from torch import Tensor

from .conditioned import Conditioned
from .nodes import Nodes


class Spreading(Conditioned):
    """A problem whose free groups start at their predictions; arguments as for ``Conditioned``.

    Attributes:
        unreached: nodes whose errors are all exactly 0 so far -> their values, ``(..., batch, free)``, which are what
            is predicted there.
    """

    unreached: Mapping[Nodes, Tensor] = {}                                 # of each problem its own, once begun

    @property
    def spreads(self) -> bool:  # type: ignore[override]
        return bool(self.unreached)

    def start_at_prediction(self, waves: Iterable[Sequence[str]]) -> None:
        """Set free groups to their predictions (eq. 1), and evaluate there: each product once.

        Args:
            waves: names of free groups, in the order in which predictions reach them (``Topology.outwards``). Their
                values must be 0.
        """
        stale = set(self.changing)                                         # whose errors are not those of x
        seen: set[Nodes] = set()
        exact: set[Nodes] = set()
        for wave in waves:
            reached = self._columns(wave)
            for nodes in reached:
                self.evaluate_nodes(nodes, [(source, weight) for source, weight in self.incoming[nodes]
                                            if source in seen or source.fx.any()])
            for nodes, columns in reached.items():                         # x = 0 and error = -mu become mu and 0
                _move_to_prediction(nodes, columns)
            stale = (stale - reached.keys()) | {target for nodes in reached for target, _ in self.outgoing[nodes]}
            seen |= reached.keys()
            exact |= {nodes for nodes, columns in reached.items() if nodes.pays is None and columns is None}
        for nodes in stale:
            self.evaluate_nodes(nodes, self.incoming[nodes])
        self.unreached = {nodes: nodes.x.clone() for nodes in exact - stale}
        for nodes in self.unreached:
            nodes.gradient.zero_()

    def _columns(self, names: Iterable[str]) -> dict[Nodes, Tensor | None]:
        """The nodes of these groups -> 1 for each vertex of the groups, 0 for others, ``(size,)``.

        None: the groups are the whole segment.
        """
        places: dict[Nodes, list[slice]] = {}
        for k, where in (self.graph.home[name] for name in names):
            places.setdefault(self.nodes[k], []).append(where)
        columns: dict[Nodes, Tensor | None] = dict.fromkeys(places)
        for nodes, some in places.items():
            if sum(where.stop - where.start for where in some) < (size := nodes.start.shape[-1]):
                columns[nodes] = ones = self.x.new_zeros(size)
                for where in some:
                    ones[where] = 1
        return columns

    def evaluate(self) -> None:
        """As of ``Conditioned``, for the nodes that have moved and for those that they predict."""
        if not self.unreached:
            return super().evaluate()
        moved, before = self._reached(), self.unreached
        pushed = {nodes for nodes, incoming in self.incoming.items() if any(source in moved for source, _ in incoming)}
        wrong = pushed.union(moved).intersection(self.changing)
        for nodes in moved:
            nodes.activate()
        for nodes in wrong:
            if nodes in before and nodes not in pushed:                    # its prediction is where it started
                torch.sub(nodes.x, before[nodes], out=nodes.error)
            else:
                self.evaluate_nodes(nodes, self.incoming[nodes])
        # where none went wrong, no error will ever reach the others
        unreached = {nodes: x for nodes, x in before.items() if nodes not in wrong}
        self.unreached = unreached if len(unreached) < len(before) else {}

    def differentiate(self, move: Callable[[Nodes], object] = lambda nodes: None) -> None:
        """As of ``Conditioned``, where errors have come to; elsewhere the gradient is 0 and nothing moves."""
        if not self.unreached:
            return super().differentiate(move)
        for nodes in self._reached():
            self.differentiate_nodes(nodes, [(target, weight) for target, weight in self.outgoing[nodes]
                                             if target not in self.unreached])
            move(nodes)

    def _reached(self) -> list[Nodes]:
        """Nodes whose gradient may differ from 0."""
        return [nodes for nodes in self.free if nodes not in self.unreached
                or any(target not in self.unreached for target, _ in self.outgoing[nodes])]


def _move_to_prediction(nodes: Nodes, columns: Tensor | None) -> None:
    """Take the errors of a segment, or of some of its columns, away from its values. A vertex without incoming edges
    that pays for no error goes to its bias.
    """
    if columns is None:
        nodes.x.sub_(nodes.error)
        nodes.error.zero_()
    else:
        nodes.x.addcmul_(nodes.error_of_free, columns[nodes.free], value=-1)
        nodes.error.addcmul_(nodes.error, columns, value=-1)
    if nodes.pays is not None and nodes.bias is not None:                  # its error does not tell, but it is the bias
        own = (1 - nodes.pays) * nodes.bias * (1 if columns is None else columns)
        nodes.x.add_(own[..., nodes.free])
    nodes.activate()
