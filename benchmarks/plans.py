"""Assemblies of neurons (section 6): the same sparse graph stored by its edges, and as whole blocks with a mask."""

import torch

from benchmarks.memory import peak_bytes
from benchmarks.rows import Row, Sizes, Target, contenders, ratios
from benchmarks.timing import interleaved
from benchmarks.training import first_images, trainer
from pcgraph_lite import PCGraph, Topology, topology

PLANS = ("auto", "sparse", "blocks")
SHARE, TOP_K = 0.1, 0.2


def measure(sizes: Sizes) -> Row:
    """Time and memory of a training batch with each plan; "auto" must have picked the faster, and store its edges."""
    clusters, size, count, steps = sizes(4, 2), sizes(3000, 800), sizes(100, 5), sizes(20, 2)
    made = topology.assemblies(clusters, size, SHARE, generator=torch.Generator().manual_seed(0))
    batch = first_images(made, count, sizes.device)
    times = interleaved({plan: trainer(graph(made, plan, sizes.device, sizes.cuda_graphs), batch, steps, value_lr=0.02)
                         for plan in PLANS}, sizes.repeats(5), sizes.device, warmup=1)
    memory = {plan: training_memory(made, plan, batch, steps, sizes.device) for plan in PLANS}
    faster = min(("sparse", "blocks"), key=lambda plan: times[plan].median)
    stored = sum(weight.numel() for weight in graph(made, "auto", sizes.device).weights)
    needed = made.edge_count() if faster == "sparse" else stored           # where blocks win, they are what is wanted
    quantities = (ratios(times, "sparse")
                  | {"auto / the faster of sparse and blocks": times["auto"].over(times[faster])}
                  | {f"memory while training, MiB: {plan}": value / 2**20 for plan, value in memory.items()}
                  | {"four numbers for each edge, MiB": 4 * 4 * made.edge_count() / 2**20,
                     "weights stored / weights needed": stored / needed})
    return Row(name="assemblies", title=f"train a batch, assemblies {clusters} x {size}, p = {SHARE}, top-k {TOP_K}",
               setting={"N": made.n, "B": count, "T": steps, "edges": made.edge_count()}, quantities=quantities,
               contenders=contenders(times, {}), note=f"the faster is {faster}",
               targets=[Target(quantity="auto / the faster of sparse and blocks", rule="at most", limit=1.1),
                        Target(quantity="weights stored / weights needed", rule="at most", limit=1.0)])


def graph(made: Topology, plan: str, device: str, cuda_graphs: bool = False) -> PCGraph:
    """A new graph; the same weights whichever the plan."""
    return PCGraph(made, "hardtanh", top_k=TOP_K, plan=plan, device=device, cuda_graphs=cuda_graphs)


def training_memory(made: Topology, plan: str, batch: dict[str, torch.Tensor], steps: int, device: str) -> int:
    """Bytes of the graph, and the most that two batches add to it; drawing the weights is over by then."""
    new = graph(made, plan, device)
    held = sum(tensor.numel() * tensor.element_size() for tensor in (*new.parameters(), *new.buffers()))

    def train() -> None:
        call = trainer(new, batch, steps, value_lr=0.02)
        for _ in range(2):
            call()

    return held + peak_bytes(train, device)
