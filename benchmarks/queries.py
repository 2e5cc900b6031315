"""A query on a trained graph: the paper's 2000 plain steps against the accelerated solver with its stopping rule.

The graph is trained here, always the same way on the bundled sample, so that the row needs no stored weights.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from benchmarks import floor
from benchmarks.counting import product_flops
from benchmarks.rows import Row, Sizes, Target, contenders, ratios
from benchmarks.timing import interleaved
from pcgraph_lite import PCGraph, fit, observed, query, topology
from pcgraph_lite.engine.query import Answer
from pcgraph_lite.images import datasets
from pcgraph_lite.studies.oracles import relative_error

ACCELERATED = {"momentum": 0.9, "tolerance": 1e-6}
TO_THE_END = {"momentum": 0.9, "tolerance": 1e-12}                         # in double precision: as far as it goes
FEW = 20                                                                   # images for the exact answer


@dataclass(frozen=True)
class Question:
    """Images of which the upper half is clamped, and the graph to ask."""

    graph: PCGraph
    images: Tensor                                                         # (batch, pixels)
    known: Tensor                                                          # (pixels,) bool
    steps: int

    def plain(self) -> Answer:
        """The paper's update with one step for all, the safe one, and no stopping rule."""
        safe = self.asked(steps=1).value_lr
        return self.asked(steps=self.steps, value_lr=float(torch.as_tensor(safe)), tolerance=None)

    def accelerated(self) -> Answer:
        """Stops by itself; the plain steps are the most that it may take."""
        return self.asked(steps=self.steps, **ACCELERATED)

    def asked(self, **settings: object) -> Answer:
        """Query with these settings."""
        return query(self.graph, clamp={"pixels": observed(self.images, self.known)}, **settings)

    def on(self, activation: str, device: str | torch.device, dtype: torch.dtype = torch.float32,
           count: int | None = None) -> "Question":
        """The same weights with another f, elsewhere, in another precision, for the first images."""
        graph = PCGraph(self.graph.topology, activation, dtype=dtype, device=device)
        graph.set_weight(self.graph.weight.to(device, dtype))
        return Question(graph, self.images[:count].to(device, dtype), self.known, self.steps)


def measure(sizes: Sizes) -> Row:
    """Products spent, energy reached, distance between the answers, and for linear f the distance to the exact one."""
    question = trained(sizes)
    n, pixels, count = question.graph.topology.n, question.images.shape[1], len(question.images)
    found: dict[str, Answer] = {}

    def keep(name: str, ask: Callable[[], Answer]) -> None:
        found[name] = ask()

    times = interleaved({"accelerated": partial(keep, "accelerated", question.accelerated),
                         "plain": partial(keep, "plain", question.plain)}, sizes.repeats(3), sizes.device, warmup=0)
    shape = floor.Shape(n - pixels // 2, pixels // 2, n)
    needed = floor.flops([shape], count, question.steps, learn=False)
    spent = product_flops(question.on("relu", "cpu").accelerated)
    quantities = (ratios(times, "accelerated") | {"plain products / accelerated products": needed / spent}
                  | compared(question, found["accelerated"], found["plain"])
                  | exactness(question, sizes.device))
    return Row(name="query", title=f"query N = {n}, half of {count} images clamped",
               setting={"N": n, "B": count, "plain steps": question.steps,
                        "accelerated steps": found["accelerated"].steps, "edges": question.graph.topology.edge_count(),
                        **ACCELERATED},
               contenders=contenders(times, {"plain": needed, "accelerated": spent}), quantities=quantities,
               targets=[Target(quantity="plain products / accelerated products", rule="at least", limit=10),
                        Target(quantity="energy / plain energy, all images", rule="at most", limit=1 + 1e-6),
                        Target(quantity="linear f: distance to the exact answer", rule="at most", limit=1e-5)])


def compared(question: Question, ours: Answer, plain: Answer) -> dict[str, float]:
    """Energies in double precision, and how far apart the answers are."""
    exact = question.on("relu", question.graph.device, torch.float64).graph
    energy, other = (exact.energy(answer.x.double()) for answer in (ours, plain))          # (batch,)
    asked = ~question.known.to(ours.x.device)
    difference = (ours.values["pixels"] - plain.values["pixels"])[:, asked]
    return {"energy / plain energy, all images": float(energy.sum() / other.sum()),
            "energy / plain energy, worst image": float((energy / other).max()),
            "energy / plain energy, best image": float((energy / other).min()),
            "distance of the answers, root mean square over pixels": float(difference.square().mean().sqrt()),
            "distance of the answers, largest of all pixels": float(difference.abs().max()),
            "examples converged": float(ours.converged.double().mean())}


def exactness(question: Question, device: str) -> dict[str, float]:
    """For f = identity: how far answers are from the one that linear algebra gives."""
    double, single = (question.on("linear", device, dtype, FEW) for dtype in (torch.float64, torch.float32))
    exact = linear_answer(question)
    answers = {"linear f: distance to the exact answer": double.asked(steps=question.steps, **TO_THE_END),
               "linear f: the same in single precision": single.accelerated(),
               "linear f: the same, plain steps": single.plain()}
    return {name: relative_error(answer.x.double().cpu(), exact) for name, answer in answers.items()}


def linear_answer(question: Question) -> Tensor:
    """Minimum of |x (I - W)|^2 / 2 over the free vertices, by Cholesky in double precision, ``(few, n)``."""
    weight = question.graph.weight.double().cpu()
    matrix, known = torch.eye(len(weight), dtype=torch.float64) - weight, question.known.nonzero().flatten()
    held = torch.zeros(len(weight), dtype=torch.bool).index_fill(0, known, True)           # pixels come first
    best = torch.zeros(len(question.images[:FEW]), len(weight), dtype=torch.float64)
    best[:, held] = question.images[:FEW, known].double().cpu()
    rows = matrix[~held]                                                   # (free, n)
    pull = -(best[:, held] @ matrix[held]) @ rows.T                        # (few, free)
    best[:, ~held] = torch.cholesky_solve(pull.T, torch.linalg.cholesky(rows @ rows.T)).T
    return best


def trained(sizes: Sizes) -> Question:
    """A fully connected graph after a few epochs on the sample, and test images to complete."""
    internal, count = sizes(1216, 116), sizes(100, 10)
    graph = PCGraph(topology.fully_connected(labels=0, internal=internal), "relu", init_std=0.02, device=sizes.device,
                    cuda_graphs=sizes.cuda_graphs)
    images = datasets.load("mnist", sample=True).images[:sizes(5000, 100)]
    fit(graph, {"pixels": images}, epochs=sizes(3, 1), batch_size=sizes(500, 50), steps=sizes(15, 3), weight_lr=5e-4,
        progress=False)
    asked = datasets.load("mnist", "test", sample=True).images[:count].to(sizes.device)
    return Question(graph, asked, torch.arange(784) < 392, sizes(2000, 20))
