"""How the free values move down the energy: the paper's update, a guarded one, and an accelerated one.

All solvers work on a ``Conditioned`` problem in place. ``step`` moves the values once and evaluates the errors there.
``accept`` is given the energy after that step and returns the energy that counts, because a solver may take a step
back. A step costs two matrix products in every solver.
"""

import torch
from torch import Tensor

from .conditioned import Conditioned
from .nodes import Nodes

WINDOW = 10                                            # steps between looks at the energy
GROWTH = 1.2                                           # of a halved step, after each accepted one
TRIED = (1 / 2, 1 / 4, 1 / 8)                          # shares of the first step tried before an example rests
STRIDE, REACH = 1.05, 4.0                              # accelerated: growth of a step, and its limit over the safe


class Plain:
    """The paper's update, eq. 3: x <- x - gamma dE/dx, the same gamma for all."""

    looks = WINDOW                                     # steps from one energy to the next if no trace is kept

    def __init__(self, problem: Conditioned, step: Tensor | float) -> None:
        self.problem, self.nodes = problem, problem.free
        self.lr: Tensor | float = step                                     # gamma

    def step(self) -> None:
        """Move the free values once, and evaluate the errors there."""
        self.problem.differentiate(self._move)
        self.problem.evaluate()

    def _move(self, nodes: Nodes) -> None:
        if isinstance(self.lr, Tensor):
            nodes.x.addcmul_(nodes.gradient, self.lr, value=-1)
        else:
            nodes.x.sub_(nodes.gradient, alpha=self.lr)

    def accept(self, energy: Tensor, before: Tensor) -> Tensor:
        """The energy that counts after a step, given that before it; a subclass may take the step back."""
        return energy

    def moving(self) -> Tensor | bool:
        """Whether each example really took steps since the last call: one that was held back has not converged."""
        return True

    def rested(self, still: Tensor, below: Tensor) -> Tensor:
        """Which examples that seem still, ``(..., batch)``, really are: no shorter step leads below these energies."""
        return still


class Recorded(Plain):
    """The same steps as one CUDA graph. A small graph spends its time on launching kernels, and a replay launches once.

    Only plain steps can be recorded: they use the same buffers each time and never look at a value. The first call
    runs its step, which sets up the libraries; the second records it, and all later ones replay it.
    """

    def __init__(self, problem: Conditioned, step: Tensor | float) -> None:
        super().__init__(problem, step)
        self.graph: torch.cuda.CUDAGraph | None = None
        self.warm = False

    def step(self) -> None:
        """One value step: the first is run, the second recorded, and the recording is replayed from then on."""
        if not self.warm or self.problem.spreads:                          # the first steps differ from later ones
            super().step()
            self.warm = True
            return
        if self.graph is None:
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):                             # records without running
                super().step()
        self.graph.replay()


class Backtracking(Plain):
    """Each example has a step of its own, which is taken back and halved if its energy rose, and grows again otherwise.

    The energy never rises. Taking a step back costs no product, because the errors before it are kept.
    """

    growth, reach, looks = GROWTH, 1.0, 1
    lr: Tensor                                                             # (..., batch, 1)

    def __init__(self, problem: Conditioned, step: Tensor | float) -> None:
        super().__init__(problem, step)
        like = self.nodes[0].x
        first = torch.as_tensor(step, dtype=like.dtype).to(like.device).expand(*like.shape[:-1], 1)
        self.lr, self.largest = first.clone(), first * self.reach          # (..., batch, 1)
        self.rejected = torch.zeros_like(self.lr)                          # rejections since the last ``moving``

    def step(self) -> None:
        self.problem.remember()
        super().step()

    def accept(self, energy: Tensor, before: Tensor) -> Tensor:
        """The new energy, or that before the step where it rose and the step is taken back. ``(..., batch)``."""
        slack = 4 * torch.finfo(energy.dtype).eps * before.abs()           # rounding is not a rise
        rose = ~(energy <= before + slack)                                 # (..., batch); true for NaN as well
        back = rose.unsqueeze(-1)
        self._resize(back)
        self.rejected += back
        if rose.is_cuda or rose.any():                                     # asking a GPU would mean waiting for it
            self.problem.take_back(back)
        return torch.where(rose, before, energy)

    def _resize(self, back: Tensor) -> None:
        self.lr = torch.where(back, self.lr / 2, (self.lr * self.growth).minimum(self.largest))

    def moving(self) -> Tensor:
        moving = self.rejected[..., 0] <= WINDOW / 2
        self.rejected = torch.zeros_like(self.rejected)
        return moving

    def rested(self, still: Tensor, below: Tensor) -> Tensor:
        """Near a kink of f a step is halved until nothing moves, although half of the first one may still lead down."""
        short = (self.lr < self.largest)[..., 0]
        if not any(nodes.kinks for nodes in self.nodes) or not short.any():
            return still
        lr, everywhere = self.lr, torch.ones_like(self.lr, dtype=torch.bool)
        self.problem.remember()
        self.problem.differentiate()
        for share in TRIED:
            self.lr = self.largest * share
            for nodes in self.nodes:
                self._move(nodes)
            self.problem.evaluate()
            falls = still & short & (self.problem.changing_energy() < below)
            self.problem.take_back(everywhere)
            lr, still = torch.where(falls.unsqueeze(-1), self.lr, lr), still & ~falls
        self.lr = lr
        return still


class Accelerated(Backtracking):
    """Heavy-ball momentum with restarts, longer steps where they succeed, and a stop at every kink of f.

    An example whose energy rises goes back, loses its velocity and tries plain descent; if that fails too, its step is
    halved. At a kink of ReLU or HardTanh the energy has two slopes, and plain steps jump to and fro across it, which
    delays all other vertices. Here a vertex that would cross a kink stops on it, and leaves on a side that leads down,
    if there is one. The path differs from the paper's, so it may end in another minimum where f is not linear.
    """

    growth, reach, rested = STRIDE, REACH, Plain.rested                    # kinks never hold it back

    def __init__(self, problem: Conditioned, step: Tensor | float, momentum: float) -> None:
        super().__init__(problem, step)
        self.momentum = momentum
        self.velocity = {nodes: torch.zeros_like(nodes.x) for nodes in self.nodes}
        self.plain = torch.ones_like(self.lr, dtype=torch.bool)            # whether the last step had no momentum

    def _move(self, nodes: Nodes) -> None:
        velocity = self.velocity[nodes]
        for kink, side in nodes.kinks:
            _choose_side(nodes, kink, side)
        velocity.mul_(self.momentum).add_(nodes.gradient)
        moved = nodes.x - velocity * self.lr
        for kink, _ in nodes.kinks:
            same_side = (nodes.x - kink).mul_(moved - kink).ge_(0)         # 1 and 0
            moved.mul_(same_side).add_(1 - same_side, alpha=kink)          # rounds no value that stays where it is
            velocity.mul_(same_side)
        nodes.x.copy_(moved)

    def _resize(self, back: Tensor) -> None:
        shorter = torch.where(self.plain, self.lr / 2, self.lr)
        self.lr = torch.where(back, shorter, (self.lr * self.growth).minimum(self.largest))
        self.plain = back
        for velocity in self.velocity.values():
            velocity.masked_fill_(back, 0)


def _choose_side(nodes: Nodes, kink: float, side: int) -> None:
    """At a kink, take the slope of the side that leads down more steeply; 0 if neither leads down.

    Conditions are numbers, 1 and 0, and ``lerp`` takes one side or the other unchanged: on a CPU torch takes ten times
    as long to choose by a bool.

    Args:
        side: 1 where f has slope 1 above the kink and 0 below it, -1 for the reverse.
    """
    inside, outside = nodes.gradient, nodes.error_of_free
    if nodes.moves is not None:
        outside = outside * nodes.moves
    left, right = (outside, inside) if side > 0 else (inside, outside)
    left, right = left.clamp_min(0), right.clamp_max(0)                    # 0 where that side does not lead down
    to_the_left = torch.gt(left, -right, out=torch.empty_like(left))
    steeper = torch.lerp(right, left, to_the_left)
    torch.lerp(inside, steeper, torch.eq(nodes.x, kink, out=to_the_left), out=inside)
