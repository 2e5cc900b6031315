"""Kernels and bytes of one relaxation step of each training, counted: what a reader with a GPU can predict from.

    python -m benchmarks.launches

It writes ``results/bench/launches.csv``, which holds no time and is the same on every machine.
"""

import csv
from pathlib import Path

import torch

from benchmarks import training
from benchmarks.counting import Kernels
from benchmarks.rows import Sizes
from pcgraph_lite.engine.learning import started
from pcgraph_lite.engine.solvers import Plain
from pcgraph_lite.files import write_aside
from reproduction.checkout import ROOT

COLUMNS = ("work", "kernels a step", "of which products", "MiB a step")
WORKS = (training.fully_connected, training.layered, training.generative)
FILE = ROOT / "results" / "bench" / "launches.csv"


@torch.no_grad()
def counted(work: training.Work, device: str = "cpu") -> Kernels:
    """One plain value step of a training batch, once errors have reached every group."""
    problem = started(work.graph(device), training.first_images(work.topology, work.batch, device), work.batch)
    solver = Plain(problem, training.VALUE_LR)
    while problem.spreads:
        solver.step()
    with Kernels() as seen:
        solver.step()
    return seen


def lines(sizes: Sizes) -> list[tuple[str, ...]]:
    """A line for each training."""
    found = [(work.name, counted(work, sizes.device)) for work in (make(sizes) for make in WORKS)]
    return [(name, str(seen.launches), str(seen.products), f"{seen.bytes / 2**20:.3g}") for name, seen in found]


def main(target: Path = FILE) -> None:
    """Count, and write the table."""
    with write_aside(target) as part, part.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([COLUMNS, *lines(Sizes(quick=False))])


if __name__ == "__main__":
    main()
