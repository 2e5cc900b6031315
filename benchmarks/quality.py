"""Time to quality: seconds on one core until the graph 784-256-256-10 reaches a test accuracy, beside backpropagation.

The graph is trained as ``fit`` trains it. Backpropagation has the same network, first weights, batches, learning rates
and optimizer. They take turns by the epoch; accuracy is measured after each one, and meanwhile the clock stands.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from benchmarks.fastest import OURS, fastest_peer
from benchmarks.rows import Contender, Row, Sizes, Target, ratios
from benchmarks.timing import Timing, timed
from pcgraph_lite import PCGraph, hardware, topology
from pcgraph_lite.engine import epochs, learning
from pcgraph_lite.errors import BadFile
from pcgraph_lite.images import datasets

BACKPROPAGATION = "backpropagation"
RATIO, PEER = f"{OURS} / {BACKPROPAGATION}", f"{OURS} / fastest peer, each over {BACKPROPAGATION}"


@dataclass(frozen=True)
class Course:
    """What is learned, how far, and how; settings chosen on held-out training images (results/README.md).

    Args:
        bar: the test accuracy to reach.
        rates: the learning rate of each epoch, the last one for all that follow.
        limit: epochs after which a training that has not reached the bar is given up.
    """

    name: str
    data: str
    bar: float
    rates: tuple[float, ...]
    limit: int = 25
    batch: int = 200
    steps: int = 2
    value_lr: float = 0.02
    hidden: tuple[int, ...] = (256, 256)
    sample: bool = False

    def new_rate(self, epoch: int) -> float | None:
        """The learning rate from an epoch on, counted from 0; None where that of the epoch before stays."""
        changed = epoch < len(self.rates) and (epoch == 0 or self.rates[epoch] != self.rates[epoch - 1])
        return self.rates[epoch] if changed else None


RATES = (2e-3, 2e-3, 2e-3, 2e-3, 4e-4)
COURSES = {course.name: course for course in (Course("quality-mnist", "mnist", 0.98, RATES),
                                              Course("quality-fashion", "fashion", 0.88, RATES))}
QUICK_BARS = {"quality-mnist": 0.85, "quality-fashion": 0.75}              # on the bundled sample


def course(name: str, quick: bool) -> Course:
    """The training of that name; a quick one has the bundled sample and a lower bar."""
    full = COURSES[name]
    return replace(full, sample=True, bar=QUICK_BARS[name], limit=6) if quick else full


@dataclass(frozen=True, eq=False)
class Splits:
    """Images ``(count, pixels)`` and labels ``(count,)`` to learn from, and to test on."""

    images: Tensor
    labels: Tensor
    test_images: Tensor
    test_labels: Tensor


def splits(course: Course, device: str = "cpu") -> Splits:
    """Training and test images. Raises BadFile where the data set is missing or damaged."""
    parts = [datasets.load(course.data, split, sample=course.sample) for split in ("train", "test")]
    return Splits(*(tensor.to(device) for part in parts for tensor in (part.images, part.labels)))


class Learner(Protocol):
    """A network in training; ``weights`` are those of its layers, each ``(sources, targets)``."""

    weights: Sequence[Tensor]

    def epoch(self) -> None:
        """Learn from every training image once."""


class Graph:
    """A discriminative PC graph, pixels and labels held. A new learning rate is a new call of ``fit``."""

    def __init__(self, course: Course, data: Splits, seed: int) -> None:
        made = topology.discriminative(hidden=list(course.hidden))
        self.graph = PCGraph(made, "relu", device=data.images.device, generator=torch.Generator().manual_seed(seed))
        self.course, self.shuffle, self.done = course, torch.Generator().manual_seed(seed), 0
        self.data = learning.as_batch(self.graph, (data.images, data.labels))
        self.weights = list(self.graph.weights)

    @torch.no_grad()
    def epoch(self) -> None:
        """One epoch of ``fit``."""
        if (rate := self.course.new_rate(self.done)) is not None:
            training = learning.Training(steps=self.course.steps, value_lr=self.course.value_lr, weight_lr=rate,
                                         batch_size=self.course.batch)
            self.state = epochs.State(self.graph, training, self.shuffle, None, {})
        self.state.end_epoch(epochs.one_pass(self.state, len(self.data["labels"]), self._learn, progress=False), None)
        self.done += 1

    def _learn(self, rows: Tensor) -> dict[str, float]:
        return learning._learn(self.graph, learning._rows(self.data, rows), self.state)


class Backpropagation:
    """The same network from the same first weights, by torch's autograd."""

    def __init__(self, course: Course, data: Splits, seed: int) -> None:
        self.weights = [weight.detach().clone().requires_grad_() for weight in Graph(course, data, seed).weights]
        self.images, self.labels = data.images, one_hot(data.labels).to(data.images.dtype)
        self.course, self.shuffle, self.done = course, torch.Generator().manual_seed(seed), 0

    @torch.enable_grad()
    def epoch(self) -> None:
        """The loss is half the squared error: the energy of the graph with every hidden vertex at its prediction."""
        if (rate := self.course.new_rate(self.done)) is not None:
            self.optimizer = torch.optim.Adam(self.weights, lr=rate, fused=True)
        order = torch.randperm(len(self.images), generator=self.shuffle).to(self.images.device)
        for rows in order.split(self.course.batch):
            wrong = output(self.weights, self.images.index_select(0, rows)) - self.labels.index_select(0, rows)
            self.optimizer.zero_grad()
            (wrong.square().sum() / (2 * len(rows))).backward()
            self.optimizer.step()
        self.done += 1


def output(weights: Sequence[Tensor], images: Tensor) -> Tensor:
    """What the network answers, the same for both: ``(count, pixels)`` to ``(count, labels)``.

    With its pixels held the energy of the graph is least, 0, where every vertex is at its prediction.
    """
    x = images @ weights[0]                                                # pixels are not negative: f(x) = x
    for weight in weights[1:]:
        x = torch.relu(x) @ weight
    return x


@dataclass
class Run:
    """One contender's way: seconds and accuracies of its epochs so far."""

    bar: float
    seconds: list[float] = field(default_factory=list)
    accuracies: list[float] = field(default_factory=list)

    @property
    def reached(self) -> bool:
        """Whether an epoch ended at the bar or above it."""
        return max(self.accuracies, default=0.0) >= self.bar


def race(contenders: Mapping[str, Callable[[], tuple[float, float]]], bar: float, limit: int) -> dict[str, Run]:
    """Train all of them in turns, an epoch each, until each has reached the bar or has had ``limit`` epochs.

    Args:
        contenders: name -> a call that trains for an epoch and returns its seconds and the accuracy after it.
    """
    _load_optimizer()
    runs = {name: Run(bar) for name in contenders}
    for _ in range(limit):
        for name, run in runs.items():
            if not run.reached:
                took, accuracy = contenders[name]()
                run.seconds.append(took)
                run.accuracies.append(accuracy)
    return runs


def _load_optimizer() -> None:
    """Take a step of nothing: torch loads its compiler at the first one, and no compiling counts, ours or a peer's."""
    nothing = torch.zeros(1, requires_grad=True)
    optimizer, nothing.grad = torch.optim.Adam([nothing]), torch.zeros(1)
    optimizer.step()
    optimizer.zero_grad()


def contender(learner: Learner, data: Splits) -> Callable[[], tuple[float, float]]:
    """An epoch of a network of torch, for ``race``."""
    @torch.no_grad()
    def epoch() -> tuple[float, float]:
        took = timed(learner.epoch, data.images.device)
        right = output(learner.weights, data.test_images).argmax(-1) == data.test_labels
        return took, float(right.double().mean())

    return epoch


def measure(name: str, sizes: Sizes) -> Row:
    """Both, from several seeds; a row that says why where the data set is missing."""
    asked = course(name, sizes.quick)
    row = Row(name=name, title=f"train 784-256-256-10 to {asked.bar:.0%} on the {asked.data} test images", targets=[
        Target(quantity=RATIO, rule="at most", limit=3.0), Target(quantity=PEER, rule="at most", limit=0.5)])
    try:
        data = splits(asked, sizes.device)
    except BadFile as error:
        return row.model_copy(update={"note": f"not measured: {str(error).splitlines()[0]}"})
    runs = [race({OURS: contender(Graph(asked, data, seed), data),
                  BACKPROPAGATION: contender(Backpropagation(asked, data, seed), data)}, asked.bar, asked.limit)
            for seed in range(sizes(3, 1))]
    setting = {"B": asked.batch, "T": asked.steps, "step size": asked.value_lr,
               "learning rate by epoch": ", ".join(f"{rate:g}" for rate in asked.rates), "seeds": len(runs)}
    return _filled(row, runs, setting, sizes)


def _filled(row: Row, runs: Sequence[Mapping[str, Run]], setting: dict[str, int | float | str], sizes: Sizes) -> Row:
    """Seconds of those that reached the bar from every seed, and how each fared."""
    able = [name for name in runs[0] if all(run[name].reached for run in runs)]
    times = {name: Timing(tuple(sum(run[name].seconds) for run in runs)) for name in able}
    quantities = {} if OURS not in times else ratios(times, OURS)
    for name in runs[0]:
        quantities[f"epochs, {name}"] = float(max(len(run[name].seconds) for run in runs))
        quantities[f"best accuracy, {name}"] = min(max(run[name].accuracies) for run in runs)
    peer = fastest_peer(row.name, hardware.describe(sizes.device), BACKPROPAGATION)
    if peer is not None and RATIO in quantities:
        quantities[PEER] = quantities[RATIO] / peer
    late = ", ".join(name for name in runs[0] if name not in able)
    return row.model_copy(update={
        "setting": setting, "quantities": quantities, "note": f"bar not reached: {late}" if late else "",
        "contenders": [Contender(name=name, seconds=list(time.seconds)) for name, time in times.items()]})
