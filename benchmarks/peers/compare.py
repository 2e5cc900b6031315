"""Other projects on the same works, in turns with ours and with the bare products, one thread on one core.

    python3 -m venv fabricpc && fabricpc/bin/pip install -r benchmarks/peers/fabricpc.txt
    python3 -m venv pcx && pcx/bin/pip install -r benchmarks/peers/pcx.txt
    python -m benchmarks.peers.compare --fabricpc fabricpc/bin/python --pcx pcx/bin/python
    python -m benchmarks.peers.compare --fabricpc ... --pcx ... --only layered     # the other lines stay as committed

Each peer runs in a process and an environment of its own (their versions of JAX differ) and waits there for its turn.
Trainings to a test accuracy ("quality-...") take turns by the epoch, from one seed. Compilation is not timed; the clock
is the processor time of all threads of a process. The table goes to ``_build/bench/peers.csv``, each line with the
commit that it measured, and ``peers.json``, which says where and when the last of them was made; committed copies are
in ``results/bench``.
"""

import argparse
import csv
import json
import os
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
import torch

from benchmarks import floor, quality, queries, training
from benchmarks.peers import courses
from benchmarks.peers.worker import FULL, QUICK, Size
from benchmarks.rows import Sizes
from benchmarks.timing import timed, turns
from pcgraph_lite import PCGraph, hardware, topology
from pcgraph_lite.files import write_aside
from reproduction.checkout import ROOT
from reproduction.evidence import records

FLAGS = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
COLUMNS = ("work", "by", "versions", "edges", "median, ms", "least to most, ms", "over products", "over ours", "commit",
           "note")
NOTES = {
    ("fabricpc", "fully-connected"): "a node has no edge to itself, so eleven nodes stand for the groups and the edges "
                                     "inside each are missing; the activation is outside the sum: f(W x), not W f(x)",
    ("fabricpc", "query"): "clamps whole nodes only, so the pixels are four nodes; edges inside a node are missing; "
                           "f(W x)",
    ("fabricpc", "layered"): "f(W x), not W f(x)",
    ("pcx", "fully-connected"): "no graphs: the model is written by hand, two nodes and four matrices, self-loops "
                                "included",
    ("pcx", "query"): "written by hand again for this cut: what is clamped has to be a node of its own",
    ("pcx", "layered"): "the pixels are no node; their product is made anew at each step",
}
WORKS = [*FULL, *quality.COURSES]


class Peer:
    """A worker process that is asked to prepare and to time works."""

    def __init__(self, name: str, python: str, quick: bool, images: str) -> None:
        self.name, folder = name, Path(__file__).parent
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        self.process = subprocess.Popen(
            [python, str(folder / f"{name}_worker.py"), "quick" if quick else "full", images], text=True, cwd=folder,
            env=environment | {"XLA_FLAGS": FLAGS, "JAX_PLATFORMS": "cpu"}, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE)
        self.versions = ", ".join(f"{package} {version}" for package, version in self._hear().items())

    def ask(self, verb: str, work: str) -> dict:
        """Send one request and wait for its answer."""
        self.process.stdin.write(json.dumps({verb: work}) + "\n")
        self.process.stdin.flush()
        return self._hear()

    def time(self, work: str) -> float:
        """Seconds of a prepared work by the peer's own clock, so that asking is not counted."""
        return self.ask("time", work)["seconds"]

    def trains(self, work: str) -> Callable[[], tuple[float, float]]:
        """A call for ``quality.race``: an epoch of a prepared training."""
        def epoch() -> tuple[float, float]:
            heard = self.ask("epoch", work)
            return heard["seconds"], heard["accuracy"]

        return epoch

    def _hear(self) -> dict:
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.name} stopped with code {self.process.wait()}; its own message is above. Is "
                             f"benchmarks/peers/{self.name}.txt installed there?")
        return json.loads(line)

    def close(self) -> None:
        """Let it end."""
        self.process.stdin.close()
        self.process.wait()


def main() -> None:
    """Measure, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("fabricpc", "pcx"):
        parser.add_argument(f"--{name}", required=True, metavar="PYTHON", help="its environment's interpreter")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that everything works")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", choices=WORKS, help="measure one work; lines of the others stay as committed")
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})            # the workers inherit it
    hardware.prepare(1)
    run = records.provenance(hardware.describe("cpu"))
    kept = committed(run["device"]) if options.only else {}
    with TemporaryDirectory() as images:
        peers = [Peer(name, getattr(options, name), options.quick, images) for name in ("fabricpc", "pcx")]
        lines = [[row.get(name, "") for name in COLUMNS] for work in WORKS for row in (
            kept.get(work, []) if options.only not in (None, work) else
            measured(work, peers, options.quick, options.repeats, Path(images), run["commit"][:9]))]
        for peer in peers:
            peer.close()
    write(lines, run, ROOT / "_build" / "bench")


def write(lines: list[list[str]], run: dict, folder: Path) -> None:
    """The table, and where it comes from."""
    with write_aside(folder / "peers.csv") as part, part.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([COLUMNS, *lines])
    with write_aside(folder / "peers.json") as part:
        part.write_text(json.dumps(run, indent=1) + "\n", encoding="utf-8")
    print((folder / "peers.csv").read_text(encoding="utf-8"))


def committed(device: str, folder: Path = ROOT / "results" / "bench") -> dict[str, list[dict[str, str]]]:
    """The committed lines of each work, as long as they were measured on this processor."""
    measured = json.loads((folder / "peers.json").read_text(encoding="utf-8"))["device"]
    if measured != device:
        raise SystemExit(f"--only keeps lines that were measured on {measured!r}; this is {device!r}. Measure all.")
    rows = pd.read_csv(folder / "peers.csv", dtype=str, keep_default_na=False)
    return {work: some.to_dict("records") for work, some in rows.groupby("work")}


def measured(work: str, peers: list[Peer], quick: bool, repeats: int, images: Path,
             commit: str) -> list[dict[str, str]]:
    """The lines of one work; a peer that cannot do it says why."""
    if work in quality.COURSES:
        courses.write_images(work, quick, images)
    prepared = {peer: peer.ask("prepare", work) for peer in peers}
    able = {peer: answer["edges"] for peer, answer in prepared.items() if "edges" in answer}
    lines = courses.trained(work, able, quick) if work in quality.COURSES else compare(work, able, quick, repeats)
    lines += [{"by": peer.name, "versions": peer.versions, "note": f"cannot: {answer['cannot']}"}
              for peer, answer in prepared.items() if peer not in able]
    return [{"work": work, "commit": commit} | line for line in lines]


def compare(work: str, able: dict[Peer, int], quick: bool, repeats: int) -> list[dict[str, str]]:
    """Ours, the products, and the peers, with the edges of each."""
    graph, ours, products = contenders(work, (QUICK if quick else FULL)[work], quick)
    times = turns({"ours": partial(timed, ours), "products": partial(timed, products),
                   **{peer.name: partial(peer.time, work) for peer in able}}, repeats)
    edges = {"ours": graph.topology.edge_count()} | {peer.name: count for peer, count in able.items()}
    versions = {peer.name: peer.versions for peer in able}
    return [{"by": name, "versions": versions.get(name, f"torch {torch.__version__}"),
             "edges": f"{edges.get(name, '')}", "median, ms": f"{1e3 * t.median:.3g}",
             "least to most, ms": f"{1e3 * min(t.seconds):.3g} to {1e3 * max(t.seconds):.3g}",
             "over products": f"{t.over(times['products']):.2f}", "over ours": f"{t.over(times['ours']):.2f}",
             "note": NOTES.get((name, work), "")} for name, t in times.items()]


def contenders(work: str, size: Size, quick: bool) -> tuple[PCGraph, Callable[[], object], Callable[[], object]]:
    """Our graph, our call, and its floor."""
    if work == "query":
        return query_of(size)
    made = {"fully-connected": training.fully_connected, "layered": training.layered}[work](Sizes(quick))
    graph = made.graph("cpu")
    batch = training.first_images(made.topology, size.batch)
    return (graph, training.trainer(graph, batch, size.steps, size.value_lr, size.weight_lr),
            floor.Floor(made.shapes, size.batch, size.steps))


def query_of(size: Size) -> tuple[PCGraph, Callable[[], object], Callable[[], object]]:
    """Plain steps without a stopping rule, as the peers take them."""
    graph = PCGraph(topology.fully_connected(labels=0, internal=size.internal), "relu", init_std=0.02)
    half, n = size.pixels // 2, graph.topology.n
    question = queries.Question(graph, training.first_images(graph.topology, size.batch)["pixels"],
                                torch.arange(size.pixels) < half, size.steps)
    return (graph, lambda: question.asked(value_lr=size.value_lr, steps=size.steps, tolerance=None),
            floor.Floor([floor.Shape(n - half, half, n)], size.batch, size.steps, learn=False))


if __name__ == "__main__":
    main()
