"""The most memory that a call holds in tensors above what was there before it.

On a GPU its allocator counts. On a CPU torch's profiler reports every allocation and release; their running sum is
exact for tensors. What a matrix library allocates for itself is in neither.
"""

import json
import tempfile
from collections.abc import Callable, Iterable, Mapping
from itertools import accumulate
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile

CPU = 0                                                                    # device type in the profiler's trace


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
        return running_peak(json.loads(trace.read_text(encoding="utf-8"))["traceEvents"])


def running_peak(events: Iterable[Mapping]) -> int:
    """Peak of the running sum of a trace's allocations (bytes above 0) and releases (below 0)."""
    events = sorted((e for e in events if e.get("name") == "[memory]" and e["args"]["Device Type"] == CPU),
                    key=lambda e: e["args"]["Ev Idx"])
    return max(accumulate((e["args"]["Bytes"] for e in events), initial=0))
