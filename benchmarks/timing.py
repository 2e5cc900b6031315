"""Times that can be compared on a shared machine: contenders take turns, and ratios are taken within a turn.

On one CPU thread the clock is the processor time of this process: on an idle machine the same as the time on the wall,
on a busy one without the time that others had the processor. With more threads, and on a GPU, it is the wall's.
"""

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import torch

PROCESSOR, WALL = "processor time", "wall time"


@dataclass(frozen=True)
class Timing:
    """Seconds of each repeat, in the order they were measured."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    def over(self, other: "Timing") -> float:
        """Median of the ratios turn by turn: what slows a whole turn down cancels out."""
        return statistics.median(a / b for a, b in zip(self.seconds, other.seconds, strict=True))


def interleaved(contenders: Mapping[str, Callable[[], object]], repeats: int, device: torch.device | str = "cpu",
                warmup: int = 2) -> dict[str, Timing]:
    """Time each contender ``repeats`` times, in turns: a, b, c, a, b, c, ...

    Args:
        contenders: name -> call without arguments.
        warmup: turns that are not timed (allocations, kernel choices, CUDA graphs).
    """
    return turns({name: partial(timed, call, device) for name, call in contenders.items()}, repeats, warmup)


def turns(contenders: Mapping[str, Callable[[], float]], repeats: int, warmup: int = 2) -> dict[str, Timing]:
    """The same of calls that take their own time: each returns its seconds."""
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for turn in range(-warmup, repeats):
        for name, call in contenders.items():
            took = call()
            if turn >= 0:
                seconds[name].append(took)
    return {name: Timing(tuple(values)) for name, values in seconds.items()}


def timed(call: Callable[[], object], device: torch.device | str = "cpu") -> float:
    """Seconds of one call; on a GPU until its work is really done."""
    clock = time.process_time if clock_name(device) == PROCESSOR else time.perf_counter
    synchronize(device)
    began = clock()
    call()
    synchronize(device)
    return clock() - began


def clock_name(device: torch.device | str) -> str:
    """Which clock ``timed`` reads."""
    return PROCESSOR if torch.device(device).type == "cpu" and torch.get_num_threads() == 1 else WALL


def synchronize(device: torch.device | str) -> None:
    """Wait for a GPU; nothing to do on a CPU."""
    if torch.device(device).type == "cuda":
        torch.cuda.synchronize(device)
