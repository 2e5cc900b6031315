"""A peer in a process and an environment of its own, timed on request so that it can take turns with us.

One JSON request a line on standard input, one JSON answer a line on standard output:
``{"prepare": NAME}`` builds and compiles a work and answers with its number of edges, or with ``{"cannot": REASON}``;
``{"time": NAME}`` runs it once and answers with its seconds.
Where NAME is a training to a test accuracy, ``{"epoch": NAME}`` trains once through the images and answers with its
seconds and the accuracy after it. The images lie in the folder that is the second argument.
"""

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

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


@dataclass(frozen=True)
class Learner:
    """A network on its way to a test accuracy.

    Args:
        learn: takes one weight update on images ``(batch, pixels)`` and one-hot labels ``(batch, labels)``.
        finish: blocks until the steps asked for are done.
        classify: images ``(count, pixels)`` to classes ``(count,)``.
    """

    batch: int
    learn: Callable[[np.ndarray, np.ndarray], object]
    finish: Callable[[], object]
    classify: Callable[[np.ndarray], np.ndarray]
    edges: int


class Course:
    """A training of ``learner`` on the images of a file (compare.py), pixels shifted and scaled as its example does."""

    def __init__(self, learner: Learner, file: Path, mean: float, std: float) -> None:
        data = np.load(file)
        self.learner, self.shuffle, self.edges = learner, np.random.default_rng(0), learner.edges
        self.images, self.test_images = ((data[name] - mean) / std for name in ("images", "test_images"))
        self.labels, self.test_labels = np.eye(10, dtype=np.float32)[data["labels"]], data["test_labels"]
        self.call = lambda: self.train([np.arange(learner.batch)])         # compiles; two weight updates are not timed
        self.accuracy()

    def train(self, batches: list[np.ndarray]) -> None:
        """A weight update for each batch of row numbers."""
        for rows in batches:
            self.learner.learn(self.images[rows], self.labels[rows])
        self.learner.finish()

    def epoch(self) -> dict[str, float]:
        """Once through the images, in random order; a last batch that is not full is left out, as their loaders do."""
        began, size = time.process_time(), self.learner.batch
        order = self.shuffle.permutation(len(self.images))
        self.train([order[k:k + size] for k in range(0, len(order) - size + 1, size)])
        return {"seconds": time.process_time() - began, "accuracy": self.accuracy()}

    def accuracy(self) -> float:
        """Share of test images that are classified as they are labelled."""
        return float((self.learner.classify(self.test_images) == self.test_labels).mean())


def serve(builders: dict[str, Callable[[Size], Work]], courses: dict[str, Callable[[Path], Course]],
          packages: list[str]) -> None:
    """Answer requests until the input ends; says first which versions it runs."""
    sizes, works = QUICK if sys.argv[1] == "quick" else FULL, {}
    answer({package: version(package) for package in packages})
    for line in sys.stdin:
        (verb, name), = json.loads(line).items()
        if verb == "prepare":
            try:
                works[name] = (builders[name](sizes[name]) if name in builders else
                               courses[name](Path(sys.argv[2]) / f"{name}.npz"))
                for _ in range(2):                                         # compile, and settle
                    works[name].call()
                answer({"edges": works[name].edges})
            except Exception as error:                                     # a peer may fail in any way; say how
                answer({"cannot": f"{type(error).__name__}: {error}"})
        elif verb == "epoch":
            answer(works[name].epoch())
        else:
            began = time.process_time()                                    # all its threads; ours is timed so as well
            works[name].call()
            answer({"seconds": time.process_time() - began})


def answer(message: dict[str, object]) -> None:
    """One line of JSON."""
    print(json.dumps(message), flush=True)
