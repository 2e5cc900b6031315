"""Trainings to a test accuracy (``quality.py``): ours and backpropagation at our settings, peers at those of their own
examples, all with the network 784-256-256-10."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import numpy as np
import torch

from benchmarks import quality

# Where the settings of the workers come from.
PCX = "liukidar/pcx c722834e, examples/s4_1_discriminative_mode/hps/MLP"
FABRICPC = "trueagi-io/FabricPC 320ce781, examples/mnist_demo.py"
SETTINGS = {
    ("pcx", "quality-mnist"): f"{PCX}/MNIST/MLP_PC-SE_MNIST.yaml (three hidden layers of 128 there): B = 128, T = 8, "
                              "step size 0.0105 with momentum 0.65, AdamW 0.000297 up and down over 25 epochs, "
                              "GELU, biases",
    ("pcx", "quality-fashion"): f"{PCX}/FashionMNIST/MLP_PC-SE_FashionMNIST.yaml (three hidden layers of 128 there): "
                                "B = 128, T = 5, step size 0.0261 with momentum 0.1, AdamW 0.000297 up and down over "
                                "25 epochs, GELU, biases",
    ("fabricpc", "quality-mnist"): f"{FABRICPC} (hidden layers of 256 and 64 there): B = 200, T = 20, step size 0.05, "
                                   "AdamW 0.001 with decay 0.1, sigmoid, softmax with cross-entropy, biases",
    ("fabricpc", "quality-fashion"): f"{FABRICPC}, the settings for digits: it has no example for clothing",
}


class Peer(Protocol):
    """compare.Peer."""

    name: str
    versions: str

    def trains(self, work: str) -> Callable[[], tuple[float, float]]:
        """A call for ``quality.race``: an epoch of a prepared training."""


def write_images(work: str, quick: bool, folder: Path) -> None:
    """Leave the images where the workers look for them."""
    data = quality.splits(quality.course(work, quick))
    np.savez(folder / f"{work}.npz", **{name: tensor.numpy() for name, tensor in vars(data).items()})


def trained(work: str, able: dict[Peer, int], quick: bool) -> list[dict[str, str]]:
    """Ours, backpropagation, and the peers, with the edges of each; one seed."""
    course = quality.course(work, quick)
    data = quality.splits(course)
    graph, other = quality.Graph(course, data, seed=0), quality.Backpropagation(course, data, seed=0)
    runs = quality.race({quality.OURS: quality.contender(graph, data),
                         quality.BACKPROPAGATION: quality.contender(other, data),
                         **{peer.name: peer.trains(work) for peer in able}}, course.bar, course.limit)
    edges = {peer.name: count for peer, count in able.items()}
    versions = {peer.name: peer.versions for peer in able}
    return [_line(work, name, run, runs[quality.OURS]) | {
        "versions": versions.get(name, f"torch {torch.__version__}"),
        "edges": f"{edges.get(name, graph.graph.topology.edge_count())}"} for name, run in runs.items()]


def _line(work: str, name: str, run: quality.Run, ours: quality.Run) -> dict[str, str]:
    """What one of them needed; no time where it never reached the bar."""
    took, epochs = sum(run.seconds), len(run.seconds)
    note = (f"{run.bar:.0%} {'reached after' if run.reached else 'not reached in'} {epochs} epochs of "
            f"{took / epochs:.2f} s, best {max(run.accuracies):.2%}")
    if settings := SETTINGS.get((name, work)):
        note += f"; {settings}"
    return {"by": name, "median, ms": f"{1e3 * took:.4g}" if run.reached else "",
            "over ours": f"{took / sum(ours.seconds):.2f}" if run.reached and ours.reached else "", "note": note}
