"""The paper's uses of graphs: tasks, memories, convergence and drawings, and the oracles that check them."""

from .. import _by_need

__getattr__, __dir__ = _by_need(__name__, __path__)
