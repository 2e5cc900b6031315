"""A peer in a process and an environment of its own, timed on request so that it can take turns with us.

One JSON request a line on standard input, one JSON answer a line on standard output:
``{"prepare": NAME}`` builds and compiles a work and answers with its number of edges, or with ``{"cannot": REASON}``;
``{"time": NAME}`` runs it once and answers with its seconds.
"""

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version

import numpy as np


@dataclass(frozen=True)
class Size:
    """What the works of all peers have in common."""

    batch: int
    steps: int
    pixels: int = 784
    labels: int = 10
    internal: int = 0
    hidden: tuple[int, ...] = ()
    value_lr: float = 0.05
    weight_lr: float = 1e-4

    def images(self) -> np.ndarray:
        """Numbers from 0 to 1, ``(batch, pixels)``."""
        return np.random.default_rng(0).random((self.batch, self.pixels), dtype=np.float32)

    def one_hot(self) -> np.ndarray:
        """Labels, ``(batch, labels)``."""
        return np.eye(self.labels, dtype=np.float32)[np.arange(self.batch) % self.labels]


FULL = {"fully-connected": Size(500, 20, internal=1206), "layered": Size(256, 20, hidden=(256, 256)),
        "query": Size(100, 200, labels=0, internal=1216)}
QUICK = {"fully-connected": Size(20, 3, internal=26), "layered": Size(20, 3, hidden=(16, 16)),
         "query": Size(10, 4, labels=0, internal=116)}

@dataclass(frozen=True)
class Work:
    """A call that blocks until its result is there, and how many edges the peer's graph has."""

    call: Callable[[], object]
    edges: int


def serve(builders: dict[str, Callable[[Size], Work]], packages: list[str]) -> None:
    """Answer requests until the input ends; says first which versions it runs."""
    sizes, works = QUICK if sys.argv[1:] == ["quick"] else FULL, {}
    answer({package: version(package) for package in packages})
    for line in sys.stdin:
        (verb, name), = json.loads(line).items()
        if verb == "prepare":
            try:
                works[name] = builders[name](sizes[name])
                for _ in range(2):                                         # compile, and settle
                    works[name].call()
                answer({"edges": works[name].edges})
            except Exception as error:                                     # a peer may fail in any way; say how
                answer({"cannot": f"{type(error).__name__}: {error}"})
        else:
            began = time.process_time()                                    # all its threads; ours is timed so as well
            works[name].call()
            answer({"seconds": time.process_time() - began})


def answer(message: dict[str, object]) -> None:
    """One line of JSON."""
    print(json.dumps(message), flush=True)
