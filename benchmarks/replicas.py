"""48 small graphs of three sizes, each with its own seed and steps: trained at once, and one after the other."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import torch
from torch import Tensor

from benchmarks.rows import Row, Sizes, Target, contenders, ratios
from benchmarks.timing import interleaved
from benchmarks.training import first_images, trainer
from pcgraph_lite import PCGraph, topology
from pcgraph_lite.studies.oracles import relative_error

SEEDS, VALUE_LRS, WEIGHT_LRS = range(4), (0.02, 0.05), (1e-4, 1e-3)
SETTINGS = tuple(product(SEEDS, VALUE_LRS, WEIGHT_LRS))                    # 16 a size


@dataclass(frozen=True)
class Family:
    """The graphs of one size: as replicas of one graph, and as graphs of their own with the same weights."""

    together: PCGraph
    alone: list[PCGraph]

    def batched(self, batch: dict[str, Tensor], steps: int) -> Callable[[], object]:
        """Train all on one batch as one."""
        value_lrs, weight_lrs = ([setting[k] for setting in SETTINGS] for k in (1, 2))
        return trainer(self.together, batch, steps, value_lrs, weight_lrs)

    def serial(self, batch: dict[str, Tensor], steps: int) -> list[Callable[[], object]]:
        """Train each by itself."""
        return [trainer(graph, batch, steps, value_lr, weight_lr)
                for graph, (_, value_lr, weight_lr) in zip(self.alone, SETTINGS, strict=True)]

    def difference(self) -> float:
        """Largest difference of a weight between the two ways, over the largest weight."""
        return max(relative_error(weight[k], other) for k, graph in enumerate(self.alone)
                   for weight, other in zip(self.together.weights, graph.weights, strict=True))


def measure(sizes: Sizes) -> Row:
    """Times of both ways, and how far apart the weights are after the same batches."""
    widths, count, steps = ((8, 12) if sizes.quick else (32, 64, 128)), sizes(100, 10), sizes(20, 2)
    families = [family(width, sizes.device, sizes.cuda_graphs) for width in widths]
    batch = first_images(families[0].together.topology, count, sizes.device)
    batched = [made.batched(batch, steps) for made in families]
    serial = [call for made in families for call in made.serial(batch, steps)]
    times = interleaved({"at once": lambda: [call() for call in batched],
                         "one after the other": lambda: [call() for call in serial]}, sizes.repeats(9), sizes.device)
    limit = 0.2 if sizes.device == "cuda" else 1.0
    return Row(name="replicas", title=f"train a batch on each of {len(serial)} small graphs",
               setting={"graphs": len(serial), "widths": ", ".join(map(str, widths)), "B": count, "T": steps},
               contenders=contenders(times, {}), quantities=ratios(times, "at once") | {
                   "largest difference of a weight": max(made.difference() for made in families)},
               targets=[Target(quantity="at once / one after the other", rule="at most", limit=limit)])


def family(width: int, device: str, cuda_graphs: bool = False) -> Family:
    """Generative graphs 10-width-width-784 from the same weights, once as replicas."""
    made, layout = topology.generative(hidden=[width, width]), {"device": device, "cuda_graphs": cuda_graphs}
    alone = [PCGraph(made, "hardtanh", init_std=0.05, generator=torch.Generator().manual_seed(seed), **layout)
             for seed, _, _ in SETTINGS]
    together = PCGraph(made, "hardtanh", replicas=len(alone), **layout)
    with torch.no_grad():
        for k, weight in enumerate(together.weights):
            weight.copy_(torch.stack([graph.weights[k] for graph in alone]))
    return Family(together, alone)
