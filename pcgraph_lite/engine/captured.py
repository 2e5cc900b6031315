"""Plain steps as one CUDA graph: a small graph spends its time launching kernels, and a recorded step launches once.

Off unless ``hardware.prepare(cuda_graphs=True)`` was called; on a CPU it changes nothing.
"""

from collections.abc import Callable

import torch

from .conditioned import Conditioned
from .solvers import Plain

enabled = False                                                            # set by hardware.prepare


def stepper(problem: Conditioned, solver: Plain, steps: int) -> Callable[[], None]:
    """A call that takes one step and evaluates it: recorded where that is asked for and can be done, else as it is.

    Only plain steps are recorded: they touch the same buffers each time and never look at a value.
    """
    def step() -> None:
        solver.step()
        problem.evaluate()

    device = problem.graph.device
    if not (enabled and device.type == "cuda" and type(solver) is Plain and steps > 3):
        return step
    return _Recorded(step)


class _Recorded:
    """The first call runs (which sets up the libraries), the second records, and all from then on replay."""

    def __init__(self, step: Callable[[], None]) -> None:
        self.step, self.graph, self.warm = step, None, False

    def __call__(self) -> None:
        if not self.warm:
            self.step()
            self.warm = True
            return
        if self.graph is None:
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):                             # records without running
                self.step()
        self.graph.replay()
