"""The paper's uses of graphs: tasks, memories, convergence and drawings, and the oracles that check them."""

from functools import partial

from .. import _imported

__getattr__ = partial(_imported, package=__name__, rooms=(
    "causal", "circuits", "convergence", "memory", "oracles", "structure", "tasks", "trials", "uncertainty"))
