"""Which weight steps and batches reach the bar of ``quality-fashion`` soonest, on held-out training images.

    python -m benchmarks.choose [--out results/sweeps/quality-fashion.csv]

Every candidate is trained from three seeds on 55,000 images, and read on the 5,000 others after each epoch. The test
set is not looked at. A standard error of 5,000 images is 0.45 points: the rule is to take what comes soonest to half a
point above the bar. results/README.md says what became of its choice.
"""

import argparse
import time
from dataclasses import replace
from pathlib import Path

import pandas as pd
import torch

from benchmarks import quality
from pcgraph_lite import hardware
from pcgraph_lite.files import write_aside
from pcgraph_lite.images import datasets
from reproduction import checkout
from reproduction.evidence import records

COURSE, SEEDS, HELD_OUT = "quality-fashion", (0, 1, 2), 5000
CANDIDATES: dict[int, list[tuple[float, ...]]] = {
    200: [(2e-3, 2e-3, 2e-3, 2e-3, 4e-4), (2e-3, 2e-3, 1e-3, 1e-3, 3e-4), (2e-3, 1.5e-3, 1e-3, 5e-4, 2e-4),
          (2e-3, 2e-3, 1e-3, 3e-4), (2e-3, 1.5e-3, 8e-4, 2e-4), (3e-3, 2e-3, 1e-3, 3e-4), (2e-3, 2e-3, 4e-4)],
    100: [(1.5e-3, 1e-3, 5e-4, 1e-4), (1e-3, 1e-3, 3e-4), (1.5e-3, 1e-3, 3e-4), (2e-3, 1e-3, 2e-4)],
}


def measured(course: quality.Course, seed: int) -> list[dict[str, object]]:
    """A row an epoch: its weight step, the seconds so far, and the share of held-out images read right."""
    everything = datasets.load(course.data)
    some, held_out = datasets.split_off(everything, HELD_OUT, torch.Generator().manual_seed(seed))
    data = quality.Splits(some.images, some.labels, held_out.images, held_out.labels)
    contender, seconds, rows = quality.contender(quality.Graph(course, data, seed), data), 0.0, []
    for epoch, rate in enumerate(course.rates, 1):
        took, accuracy = contender()
        seconds += took
        rows.append({"batch": course.batch, "rates": " ".join(f"{step:g}" for step in course.rates), "seed": seed,
                     "epoch": epoch, "weight_lr": rate, "seconds": round(seconds, 3), "accuracy": accuracy})
    return rows


def main() -> None:
    """Measure every candidate; the file is written at the end."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=checkout.ROOT / "results/sweeps/quality-fashion.csv")
    given = parser.parse_args()
    hardware.prepare(1)
    began, version, rows = time.monotonic(), checkout.version(), []
    for batch, several in CANDIDATES.items():
        for rates in several:
            course = replace(quality.COURSES[COURSE], batch=batch, rates=rates)
            rows += [row for seed in SEEDS for row in measured(course, seed)]
            some = pd.DataFrame(rows[-len(rates) * len(SEEDS):]).groupby("epoch")[["seconds", "accuracy"]].mean()
            print(f"B = {batch}, {rates}: " + ", ".join(f"{row.accuracy:.2%} after {row.seconds:.2f} s"
                                                      for row in some.itertuples()), flush=True)
    with write_aside(given.out) as part:
        pd.DataFrame(rows).assign(**records.made("cpu", began, version)).to_csv(part, index=False, float_format="%.6g")


if __name__ == "__main__":
    main()
