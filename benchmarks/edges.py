"""How memory and time grow with the number of edges of a sparse graph: build it, train one batch, answer one query.

Each size runs in a process of its own, whose memory the system counts. ``python -m benchmarks.edges 10000000`` is one
size alone, 10^6 vertices here, too large for every run of the benchmark.
"""

import json
import resource
import subprocess
import sys
import time

import torch

from benchmarks.rows import Row, Sizes, Target
from benchmarks.scaling import fitted
from pcgraph_lite import PCGraph, fit, observed, query, topology
from pcgraph_lite.checkout import ROOT

DEGREE, PIXELS, BATCH, STEPS = 10, 784, 20, 5                              # edges a vertex; the rest of the work
WORK = ("build", "train", "query")
FIRST = 10_000                                                             # edges


def one(edges: int) -> dict[str, float]:
    """Seconds of the process in each part of the work, and MiB beyond those that Python and its libraries take."""
    _work(FIRST)                                                           # loads what is loaded at first use
    before, made = _peak(), _work(edges)
    return made | {"MiB": _peak() - before}


def _work(edges: int) -> dict[str, float]:
    generator, n, held = torch.Generator().manual_seed(0), edges // DEGREE, torch.arange(PIXELS) < PIXELS // 2
    times = [time.process_time()]                                          # others may use the machine meanwhile
    pairs = torch.randint(n, (2, edges), generator=generator)
    mask = torch.sparse_coo_tensor(pairs, torch.ones(edges), (n, n), check_invariants=False)
    graph = PCGraph(topology.from_mask(mask, {"pixels": PIXELS, "others": n - PIXELS}), "tanh", generator=generator)
    times.append(time.process_time())
    images = torch.rand(BATCH, PIXELS, generator=generator)
    fit(graph, {"pixels": images}, epochs=1, steps=STEPS, batch_size=BATCH, progress=False)
    times.append(time.process_time())
    query(graph, {"pixels": observed(images, held)}, steps=STEPS)
    times.append(time.process_time())
    parts = {name: after - start for name, start, after in zip(WORK, times, times[1:], strict=False)}
    return {"edges": graph.topology.edge_count(), "vertices": n, **parts}


def measure(sizes: Sizes) -> Row:
    """The row: each size, and the slopes of a straight line through all of them in the log-log plot."""
    runs = [_apart(edges) for edges in ([20_000, 40_000] if sizes.quick else [10**5, 3 * 10**5, 10**6, 3 * 10**6])]
    at = [run["edges"] for run in runs]
    quantities = {f"MiB at {run['edges']:.0f} edges": run["MiB"] for run in runs}
    quantities |= {f"s at {run['edges']:.0f} edges": sum(run[part] for part in WORK) for run in runs}
    quantities |= {"slope of memory": fitted(at, [max(run["MiB"], 1.0) for run in runs])[0],
                   "slope of time": fitted(at, [sum(run[part] for part in WORK) for run in runs])[0]}
    return Row(name="edges", title="memory and time against edges: build a sparse graph, train a batch, ask a query",
               setting={"edges a vertex": DEGREE, "batch": BATCH, "steps": STEPS, "device": "cpu"},
               quantities=quantities, targets=[
                   Target(quantity="slope of memory", rule="at most", limit=1.1),
                   Target(quantity="slope of time", rule="at most", limit=1.1)])


def _apart(edges: int) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.edges", str(edges)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def _peak() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10      # Linux counts in KiB, macOS in bytes
    return peak / 2**10 if sys.platform == "darwin" else peak


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(json.dumps(one(int(sys.argv[1]))))
