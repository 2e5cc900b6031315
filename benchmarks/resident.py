"""Peak memory of a fresh process above its size before the work: tensors, and what libraries take for themselves.

``python -m benchmarks.resident full`` (or ``quick``) trains the fully connected graph and prints the MiB. Linux only:
the kernel's high-water mark is reset just before.
"""

import re
import subprocess
import sys
from pathlib import Path

from pcgraph_lite.checkout import ROOT

STATUS, RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def peak_mib(sizes: object) -> float | None:
    """Run this file in a process of its own; None where the system does not tell, or on a GPU."""
    if sizes.device != "cpu" or not RESET.exists():
        return None
    command = [sys.executable, "-m", "benchmarks.resident", "quick" if sizes.quick else "full"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return float(done.stdout.splitlines()[-1]) if done.returncode == 0 else None


def main(quick: bool) -> None:
    """Print the peak of three batches above the size after the data and the libraries are loaded."""
    import torch

    from benchmarks import training
    from benchmarks.rows import Sizes
    from pcgraph_lite import hardware
    hardware.prepare(1)                                                    # multiplies, so the library is loaded
    work = training.fully_connected(Sizes(quick))
    batch = training.first_images(work.topology, work.batch)
    with torch.no_grad():
        RESET.write_text("5")
        before = _kib("VmRSS")
        call = training.trainer(work.graph("cpu"), batch, work.steps)
        for _ in range(3):
            call()
        print((_kib("VmHWM") - before) / 1024)


def _kib(key: str) -> int:
    return int(re.search(rf"{key}:\s+(\d+)", STATUS.read_text()).group(1))


if __name__ == "__main__":
    main(sys.argv[1] == "quick")
