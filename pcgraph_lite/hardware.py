"""Which device computes, and how fast without losing digits."""

import platform
import re
import sys
from functools import cache
from pathlib import Path
from typing import Annotated

import torch
from annotated_types import Ge, Le

from . import valid
from .errors import BadInput, one_of

DEVICES = ("auto", "cpu", "cuda")
PRECISIONS = ("bf16", "ieee")                                               # fastest first
Threads = Annotated[int, Ge(1), Le(1024)]                                  # of which a system can start so many
STATUS = Path("/proc/self/status")                                         # of the process, on Linux
LARGEST_ERROR = 1e-5                                                       # relative, of a float32 product


def pick_device(name: str = "auto") -> torch.device:
    """"auto" is the GPU where there is one. Raises UnknownName, BadInput (no GPU here).

    Example:
        >>> pcg.hardware.pick_device("cpu")
        device(type='cpu')
    """
    one_of("device", name, DEVICES)
    if name == "cuda" and not torch.cuda.is_available():
        raise BadInput("device 'cuda' was asked for, but torch sees no GPU here; use device 'auto' or 'cpu'.")
    return torch.device("cuda" if name != "cpu" and torch.cuda.is_available() else "cpu")


@cache
def processor() -> str:
    """The processor's name as the system gives it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def peak_memory() -> float:
    """MiB: the largest size of this process since its start.

    On Linux a new process starts with the peak of its parent in ``ru_maxrss``, so that a large parent would hide its
    own; the kernel's high-water mark does not.
    """
    if STATUS.is_file():
        return int(re.findall(r"VmHWM:\s+(\d+)", STATUS.read_text())[0]) / 2**10
    import resource  # not on Windows
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss              # macOS counts in bytes, others in KiB
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


@valid.checked
def describe(device: torch.device | str) -> str:
    """A device in words, for records: "cpu: <name>, k threads" or "cuda: <name>", with its precision if not full.

    Raises BadInput: it is not here.
    """
    valid.device(device)
    device = torch.device(device)
    if device.type == "cuda":
        precision = ", TF32" if torch.backends.cuda.matmul.fp32_precision == "tf32" else ""
        return f"cuda: {torch.cuda.get_device_name(device)}{precision}"
    threads = torch.get_num_threads()
    return f"cpu: {processor()}, {threads} thread{'s' if threads > 1 else ''}"


@valid.checked
def prepare(threads: Threads | None = None, *, tf32: bool = False) -> dict[str, object]:
    """Set threads, flush denormal numbers, and take the faster CPU products if they lose no digits.

    Allowing oneDNN "bf16" products routes float32 products through that library: on processors without bfloat16 units
    at up to twice the speed and the same accuracy, on others in bfloat16. Which it is here is measured against float64;
    above a relative error of 1e-5 the full precision ("ieee") stays. ``tf32`` lets a GPU multiply with three digits.

    Returns what was chosen: threads, precision, relative error; on a GPU its own precision and error as well.
    """
    if threads is not None:
        torch.set_num_threads(threads)
    torch.set_flush_denormal(True)
    products = torch.backends.mkldnn.matmul  # type: ignore[attr-defined]  # the CPU alone: TF32 on a GPU is not unasked
    for precision in PRECISIONS:
        products.fp32_precision = precision
        if (error := _product_error()) <= LARGEST_ERROR:
            break
    torch.backends.cuda.matmul.fp32_precision = "tf32" if tf32 else "ieee"
    chosen = {"threads": torch.get_num_threads(), "precision": precision, "product_error": error}
    if torch.cuda.is_available():
        chosen |= {"gpu_precision": "tf32" if tf32 else "ieee", "gpu_product_error": _product_error("cuda")}
    return chosen


def _product_error(device: str = "cpu") -> float:
    """Relative error of a float32 product against float64."""
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randn(512, 512, generator=generator, dtype=torch.float64) for _ in range(2))
    exact = a @ b
    product = (a.float().to(device) @ b.float().to(device)).cpu().double()
    return float((product - exact).norm() / exact.norm())
