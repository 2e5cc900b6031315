"""All rows by name, and one run of them."""

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from pydantic import Field

from benchmarks import edges, plans, quality, queries, replicas, scaling, training
from benchmarks.rows import Row, Sizes, judged
from benchmarks.scaling import Curve
from benchmarks.timing import clock_name
from pcgraph_lite import hardware
from pcgraph_lite.errors import unknown
from pcgraph_lite.files import ready
from reproduction.evidence import records
from reproduction.evidence.strict import Strict


def _trained(work: Callable[[Sizes], training.Work]) -> Callable[[Sizes], Row]:
    return lambda sizes: training.measure(work(sizes), sizes)


ROWS: dict[str, Callable[[Sizes], Row]] = {
    "fully-connected": _trained(training.fully_connected),
    "layered": _trained(training.layered),
    "generative": _trained(training.generative),
    "memory": training.measure_memory,
    "query": queries.measure,
    "assemblies": plans.measure,
    "edges": edges.measure,
    "replicas": replicas.measure,
    **{name: partial(quality.measure, name) for name in quality.COURSES},
}
SCALING = "scaling"


class Bench(Strict):
    """One run: where, with what, and everything measured."""

    provenance: dict[str, Any]
    setting: dict[str, str | int | float | bool]
    rows: list[Row] = Field(default_factory=list)
    curves: list[Curve] = Field(default_factory=list)


@torch.no_grad()
def run(only: Sequence[str] = (), quick: bool = False, device: str = "cpu", threads: int = 1, tf32: bool = False,
        cuda_graphs: bool = False, say: Callable[[str], object] = print, target: Path | None = None) -> Iterator[Bench]:
    """Measure the rows named in ``only`` (all if it is empty), in the order of ROWS; gives all so far after each row.

    Args:
        quick: sizes that only show that everything works; targets are not judged.
        threads, tf32: see ``hardware.prepare``.
        cuda_graphs: record plain steps on a GPU (layout.Layout).
        say: told what is being measured.
        target: a file that the caller will write, tried once the arguments are known to be right.

    Raises:
        UnknownName: a row or device that does not exist. BadInput: no GPU here.
    """
    names = [*ROWS, SCALING]
    for name in only:
        if name not in names:
            raise unknown("row", name, names)
    picked = hardware.pick_device(device)
    busy = os.getloadavg()[0]
    chosen = hardware.prepare(threads, tf32=tf32) | {"cuda_graphs": cuda_graphs}
    sizes = Sizes(quick, picked.type, cuda_graphs)
    if target is not None:
        ready(target)
    setting = {"quick": quick, "device": picked.type, "clock": clock_name(picked), "load before": round(busy, 2),
               **chosen}
    rows, curves = [], []
    for name in only or names:
        say(name)
        if name == SCALING:
            curves = scaling.measure(sizes)
        else:
            rows.append(judged(ROWS[name](sizes), quick))
        yield Bench(provenance=records.provenance(hardware.describe(picked)), setting=setting, rows=rows, curves=curves)
