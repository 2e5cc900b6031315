"""Peak memory of a fresh process above its size before the work: tensors, and what libraries take for themselves.

``python -m benchmarks.resident full`` (or ``quick``) trains the fully connected graph and prints the MiB; it is started
by ``memory.peak_of_process``. Linux only: the kernel's high-water mark is reset just before.
"""

import re
import sys

import torch

from benchmarks import training
from benchmarks.memory import RESET
from benchmarks.rows import Sizes
from pcgraph_lite import hardware


def main(quick: bool) -> None:
    """Print the peak of three batches above the size after the data and the libraries are loaded."""
    hardware.prepare(1)                                                    # multiplies, so the library is loaded
    work = training.fully_connected(Sizes(quick))
    batch = training.first_images(work.topology, work.batch)
    with torch.no_grad():
        RESET.write_text("5")
        before = kib("VmRSS")
        call = training.trainer(work.graph("cpu"), batch, work.steps)
        for _ in range(3):
            call()
        print((kib("VmHWM") - before) / 1024)


def kib(key: str) -> int:
    """An entry of the process's status: VmRSS is its size, VmHWM the largest size since its start or the last reset."""
    return int(re.search(rf"{key}:\s+(\d+)", hardware.STATUS.read_text()).group(1))


if __name__ == "__main__":
    main(sys.argv[1] == "quick")
