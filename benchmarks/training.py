"""One training batch: relax T steps with the sensory vertices clamped, then one Adam step of the weights."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from benchmarks import floor, textbook
from benchmarks.fastest import fastest_peer
from benchmarks.memory import peak_bytes, peak_of_process
from benchmarks.rows import Row, Sizes, Target, contenders, ratios
from benchmarks.timing import interleaved
from pcgraph_lite import PCGraph, Topology, hardware, topology
from pcgraph_lite.engine import epochs, learning
from pcgraph_lite.images import datasets

VALUE_LR, WEIGHT_LR = 0.05, 1e-4
PEER = "ours / fastest peer, each over products"


@dataclass(frozen=True)
class Work:
    """A training batch of the first images of the bundled sample.

    Args:
        shapes: the blocks of edges, from which the floor is counted; not taken from the engine's own plan.
    """

    name: str
    title: str
    topology: Topology
    activation: str
    shapes: Sequence[floor.Shape]
    batch: int
    steps: int
    repeats: int
    init_std: float | None = None
    limits: Sequence[tuple[str, float]] = ()

    def graph(self, device: str, cuda_graphs: bool = False) -> PCGraph:
        """A new graph; always the same weights."""
        return PCGraph(self.topology, self.activation, init_std=self.init_std, device=device,
                       cuda_graphs=cuda_graphs)


def fully_connected(sizes: Sizes) -> Work:
    """N = 2000, pixels and labels clamped (section 3)."""
    internal = sizes(1206, 26)
    made = topology.fully_connected(internal=internal)
    return Work("fully-connected", f"train a batch, fully connected N = {made.n}, {made.n - internal} clamped", made,
                "relu", [floor.Shape(internal, made.n - internal, made.n)], sizes(500, 20), sizes(20, 3),
                sizes.repeats(9), init_std=0.02, limits=[("ours / products", 1.15), ("ours / textbook", 0.70)])


def layered(sizes: Sizes) -> Work:
    """784-256-256-10: small products, so that everything else shows."""
    width = sizes(256, 16)
    made = topology.discriminative(hidden=[width, width])
    shapes = [floor.Shape(0, 784, width), floor.Shape(width, 0, width), floor.Shape(width, 0, 10)]
    return Work("layered", f"train a batch, 784-{width}-{width}-10", made, "hardtanh", shapes, sizes(256, 20),
                sizes(20, 3), sizes.repeats(41), limits=[("ours / products", 2.0), (PEER, 1.0)])


def generative(sizes: Sizes) -> Work:
    """10-512-512-784, the paper's generative network (section 4)."""
    width = sizes(512, 128)
    made = topology.generative(hidden=[width, width])
    shapes = [floor.Shape(0, 10, width), floor.Shape(width, 0, width), floor.Shape(width, 0, 784)]
    return Work("generative", f"train a batch, generative 10-{width}-{width}-784", made, "hardtanh", shapes,
                sizes(500, 20), sizes(20, 3), sizes.repeats(15), limits=[("ours / products", 1.4)])


def measure(work: Work, sizes: Sizes) -> Row:
    """Times of ours, the bare products and the textbook loop, in turns; our peak memory."""
    batch = first_images(work.topology, work.batch, sizes.device)
    graph = work.graph(sizes.device, sizes.cuda_graphs)
    calls: dict[str, Callable[[], object]] = {
        "ours": trainer(graph, batch, work.steps),
        "products": floor.Floor(work.shapes, work.batch, work.steps, sizes.device),
        "textbook": textbook_of(work, graph, batch)}
    times = interleaved(calls, work.repeats, sizes.device)
    needed = floor.flops(work.shapes, work.batch, work.steps)
    flops = {"ours": needed, "products": needed, "textbook": textbook.flops(graph.topology.n, work.batch, work.steps)}
    quantities = ratios(times, "ours") | {"peak memory, MiB": peak_of_training(work, sizes.device) / 2**20}
    peer = fastest_peer(work.name, hardware.describe(sizes.device), "products")
    if peer is not None:
        quantities[PEER] = quantities["ours / products"] / peer
    return Row(name=work.name, title=work.title, contenders=contenders(times, flops), quantities=quantities,
               setting={"N": graph.topology.n, "B": work.batch, "T": work.steps, "edges": graph.topology.edge_count()},
               targets=[Target(quantity=name, rule="at most", limit=limit) for name, limit in work.limits])


def measure_memory(sizes: Sizes) -> Row:
    """Memory of the fully connected training against what it cannot do without."""
    work = fully_connected(sizes)
    weights, values = work.topology.n ** 2, work.batch * work.topology.n
    allowed = 4 * (weights + weights + 2 * weights + 8 * values)           # Adam keeps two numbers a weight
    peak, process = peak_of_training(work, sizes.device), peak_of_process(sizes.quick, sizes.device)
    return Row(name="memory", title=f"peak memory of: {work.title}",
               setting={"N": work.topology.n, "B": work.batch, "T": work.steps},
               quantities={"peak / allowed": peak / allowed, "peak memory, MiB": peak / 2**20,
                           "allowed, MiB": allowed / 2**20,
                           "(batch x n) buffers beside weights, gradient and Adam": (peak / 4 - 4 * weights) / values,
                           **({} if process is None else {"peak of the whole process, MiB": process})},
               targets=[Target(quantity="peak / allowed", rule="at most", limit=1.0)])


def peak_of_training(work: Work, device: str) -> int:
    """Bytes above the data: a graph is made and trained on three batches."""
    batch = first_images(work.topology, work.batch, device)

    def train() -> None:
        call = trainer(work.graph(device), batch, work.steps)
        for _ in range(3):
            call()

    return peak_bytes(train, device)


def trainer(graph: PCGraph, batch: dict[str, Tensor], steps: int, value_lr: float = VALUE_LR,
            weight_lr: float = WEIGHT_LR) -> Callable[[], object]:
    """A call that trains on one batch as ``fit`` does, without its bookkeeping of epochs."""
    training = learning.Training(steps=steps, value_lr=value_lr, weight_lr=weight_lr)
    rates = learning.of_replicas(graph, training.weight_lr, "weight_lr")
    state = epochs.State(graph, training, torch.Generator(), None, {}, rates)

    def train() -> None:
        learning._learn(graph, batch, state)
        state.step()

    return train


def textbook_of(work: Work, graph: PCGraph, batch: dict[str, Tensor]) -> textbook.Textbook:
    """The plain loop from the graph's present weights."""
    x = torch.zeros(work.batch, graph.topology.n, dtype=graph.dtype, device=graph.device)
    clamped = torch.zeros(graph.topology.n, dtype=torch.bool, device=graph.device)
    for name, values in batch.items():
        x[:, graph.topology.slice(name)], clamped[graph.topology.slice(name)] = values, True
    return textbook.Textbook(graph, x, clamped, work.steps, VALUE_LR, WEIGHT_LR)


def first_images(made: Topology, count: int, device: str = "cpu") -> dict[str, Tensor]:
    """Images, and labels where the graph has them, for its sensory groups."""
    data = datasets.load("mnist", sample=True)
    batch = {"pixels": data.images[:count, :made.size("pixels")]}
    if "labels" in made.groups:
        batch["labels"] = one_hot(data.labels[:count], made.size("labels")).to(batch["pixels"].dtype)
    return {name: values.to(device) for name, values in batch.items()}
