"""How memory and time grow with the number of edges of a sparse graph: build it, train one batch, answer one query.

Each size runs in a process of its own, whose memory the system counts. ``python -m benchmarks.edges 10000000`` is one
size alone, 10^6 vertices here, too large for every run of the benchmark.

The edges of the first graphs lead anywhere. Their values outgrow one cache after the other, and a product that jumps to
and fro among them slows down by edge, whoever computes it: the bare product of the whole matrix is timed beside it.
Where edges lead to near vertices alone the caches serve all sizes, and what is left is the growth of the work itself.
"""

import json
import subprocess
import sys
import time

import torch
from torch import Tensor

from benchmarks.rows import Row, Sizes, Target
from benchmarks.scaling import fitted
from pcgraph_lite import PCGraph, fit, hardware, observed, query, topology
from reproduction.checkout import ROOT

DEGREE, PIXELS, BATCH, STEPS = 10, 784, 20, 5                              # edges a vertex; the rest of the work
WORK = ("build", "train", "query")
FIRST = 10_000                                                             # edges
NEAR = 10                                                                  # how far an edge leads among near vertices
KINDS = ("anywhere", "near")                                               # where edges lead
TRIES = 3                                                                  # of each time the least counts


def one(edges: int, kind: str = "anywhere") -> dict[str, float]:
    """Seconds of the process in each part of the work, and MiB beyond those that Python and its libraries take."""
    _work(FIRST, kind)                                                     # loads what is loaded at first use
    before, tries = hardware.peak_memory(), [_work(edges, kind)]
    memory = hardware.peak_memory() - before                               # of one, before what others leave behind
    tries += [_work(edges, kind) for _ in range(TRIES - 1)]
    least = {part: min(made[part] for made in tries) for part in WORK}
    return tries[0] | least | {"MiB": memory, "product": _product(edges, kind)}


def _mask(edges: int, kind: str, generator: torch.Generator) -> Tensor:
    n = edges // DEGREE
    pairs = torch.randint(n, (2, edges), generator=generator)
    if kind == "near":
        pairs[1] = (pairs[0] + torch.randint(-NEAR, NEAR + 1, (edges,), generator=generator)) % n
    return torch.sparse_coo_tensor(pairs, torch.ones(edges), (n, n), check_invariants=False)


def _work(edges: int, kind: str) -> dict[str, float]:
    generator, n, held = torch.Generator().manual_seed(0), edges // DEGREE, torch.arange(PIXELS) < PIXELS // 2
    times = [time.process_time()]                                          # others may use the machine meanwhile
    mask = _mask(edges, kind, generator)
    graph = PCGraph(topology.from_mask(mask, {"pixels": PIXELS, "others": n - PIXELS}), "tanh", generator=generator)
    times.append(time.process_time())
    images = torch.rand(BATCH, PIXELS, generator=generator)
    fit(graph, {"pixels": images}, epochs=1, steps=STEPS, batch_size=BATCH, progress=False)
    times.append(time.process_time())
    query(graph, {"pixels": observed(images, held)}, steps=STEPS)
    times.append(time.process_time())
    parts = {name: after - start for name, start, after in zip(WORK, times, times[1:], strict=False)}
    return {"edges": graph.topology.edge_count(), "vertices": n, **parts}


def _product(edges: int, kind: str) -> float:
    """Seconds of one product of a sparse matrix with the values of a batch."""
    generator, seconds = torch.Generator().manual_seed(0), []
    matrix = _mask(edges, kind, generator).coalesce().to_sparse_csr()
    matrix = torch.sparse_csr_tensor(matrix.crow_indices().int(), matrix.col_indices().int(), matrix.values(),
                                     matrix.shape, check_invariants=False)
    values = torch.rand(matrix.shape[1], BATCH, generator=generator)
    for _ in range(TRIES):
        began = time.process_time()
        for _ in range(max(1, 10**6 // edges)):
            matrix @ values
        seconds.append((time.process_time() - began) / max(1, 10**6 // edges))
    return min(seconds)


def measure(sizes: Sizes) -> Row:
    """The row: each size, and the slopes of a straight line through all of them in the log-log plot."""
    counts = [20_000, 40_000] if sizes.quick else [10**5, 3 * 10**5, 10**6, 3 * 10**6]
    anywhere, near = ([_apart(edges, kind) for edges in counts] for kind in KINDS)
    quantities = {f"MiB at {run['edges']:.0f} edges": run["MiB"] for run in anywhere}
    quantities |= {f"s at {run['edges']:.0f} edges": _seconds(run) for run in anywhere}
    quantities |= {"slope of memory": _slope(anywhere, [max(run["MiB"], 1.0) for run in anywhere]),
                   "slope of time": _slope(anywhere, [_seconds(run) for run in anywhere]),
                   "slope of time, bare product": _slope(anywhere, [run["product"] for run in anywhere]),
                   "slope of time, edges to near vertices": _slope(near, [_seconds(run) for run in near])}
    return Row(name="edges", title="memory and time against edges: build a sparse graph, train a batch, ask a query",
               setting={"edges a vertex": DEGREE, "batch": BATCH, "steps": STEPS, "device": "cpu"},
               quantities=quantities, targets=[
                   Target(quantity=quantity, rule="at most", limit=1.1)
                   for quantity in ("slope of memory", "slope of time", "slope of time, edges to near vertices")])


def _seconds(run: dict[str, float]) -> float:
    return sum(run[part] for part in WORK)


def _slope(runs: list[dict[str, float]], amounts: list[float]) -> float:
    return fitted([run["edges"] for run in runs], amounts)[0]


def _apart(edges: int, kind: str) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.edges", str(edges), kind]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(json.dumps(one(int(sys.argv[1]), *sys.argv[2:])))
