"""The most memory that a call holds in tensors above what was there before it.

On a GPU its allocator counts. On a CPU torch's profiler reports every allocation and release; their running sum is
exact for tensors. What a matrix library allocates for itself is in neither; ``peak_of_process`` has it.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile

from reproduction.checkout import ROOT

RESET = Path("/proc/self/clear_refs")                                      # where Linux resets its high-water mark


def peak_bytes(call: Callable[[], object], device: torch.device | str = "cpu") -> int:
    """Largest number of bytes of tensors that ``call`` holds at once, beyond those held before it."""
    if torch.device(device).type == "cuda":
        torch.ones(8, 8, device=device).mm(torch.ones(8, 8, device=device))    # the library takes its workspace once
        torch.cuda.synchronize(device)
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
        call()
        return torch.cuda.max_memory_allocated(device) - before
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        call()
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(trace))
        events = json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]
    memory = sorted((e["args"] for e in events if e.get("name") == "[memory]"), key=lambda made: made["Ev Idx"])
    return max(accumulate((made["Bytes"] for made in memory), initial=0))              # releases are below 0


def peak_of_process(quick: bool, device: str) -> float | None:
    """MiB that ``resident.py`` measures in a process of its own; None where the system does not tell, or on a GPU."""
    if device != "cpu" or not RESET.exists():
        return None
    command = [sys.executable, "-m", "benchmarks.resident", "quick" if quick else "full"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return float(done.stdout.splitlines()[-1]) if done.returncode == 0 else None
