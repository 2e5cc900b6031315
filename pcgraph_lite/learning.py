"""Learning: relax each batch, then one step of the weights (alg. 1)."""

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from math import isfinite
from pathlib import Path

import pandas as pd
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor
from torch.nn.functional import one_hot
from tqdm import tqdm

from .errors import BadFile, BadInput, BadValues, PCGraphError, UnstableStep, WrongShape, number, unknown, whole
from .files import write_aside
from .graph import PCGraph
from .inference import Settings, relax
from .query import observed, query, start_at_prediction

Batch = Mapping[str, Tensor]
OPTIMIZERS = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW, "sgd": torch.optim.SGD}
CURVATURE_EVERY = 20                                                       # batches between looks at the safe step


@dataclass(frozen=True)
class Training:
    """Settings of ``fit``.

    Args:
        epochs: passes over the data.
        steps, value_lr, momentum: the relaxation of each batch (inference.Settings). "safe" is found anew by power
            iteration every 20 batches.
        weight_lr: alpha, the weight step.
        weight_decay: added to the gradient as L2 ("adam", "sgd") or decoupled ("adamw").
        optimizer: "adam", "adamw" or "sgd", from torch.
        batch_size: examples a weight step; gradients are averaged over them (ambiguity log, point 5).
        patience: stop after this many epochs without a better validation score. None: run all epochs. With
            validation data the weights of the best epoch are kept in any case.
    """

    epochs: int = 20
    steps: int = 20
    value_lr: float | str = "safe"
    weight_lr: float = 1e-4
    weight_decay: float = 0.0
    batch_size: int = 500
    optimizer: str = "adam"
    momentum: float = 0.0
    patience: int | None = None

    def __post_init__(self) -> None:
        whole(self.epochs, "epochs")
        whole(self.batch_size, "batch_size")
        if self.patience is not None:
            whole(self.patience, "patience")
        number(self.weight_lr, "weight_lr", "a positive number", lambda lr: lr > 0)
        number(self.weight_decay, "weight_decay", "at least 0", lambda decay: decay >= 0)
        if self.optimizer not in OPTIMIZERS:
            raise unknown("optimizer", self.optimizer, OPTIMIZERS)
        self.relaxation()

    def relaxation(self) -> Settings:
        """How each batch is relaxed."""
        return Settings(self.steps, self.value_lr, self.momentum, trace=False)


def fit(graph: PCGraph, data: tuple[Tensor, Tensor] | Batch | Iterable[Batch], *,
        validation: float | tuple[Tensor, Tensor] | Batch | None = None,
        score: str | Callable[[PCGraph, Batch], float] = "auto", checkpoint: Path | str | None = None,
        generator: torch.Generator | None = None, progress: bool = True, **settings: object) -> pd.DataFrame:
    """Train a graph in place: the sensory vertices are clamped to each batch, the rest relax, the weights take a step.

    Args:
        data: ``(images, labels)``, or group -> tensor, or a data loader that yields such mappings. Images flatten to
            the pixels; whole-number labels become one-hot and are left out where the graph has no labels.
        validation: share of ``data`` to hold out, or data of its own. None: no validation, no early stopping.
        score: "accuracy" (labels asked from pixels), "energy" (minus the mean energy), "completion" (minus the error
            on half of the first sensory group, asked from the other half), a function of ``(graph, batch)`` where
            larger is better, or "auto": accuracy where there are labels, else energy.
        checkpoint: file that holds the whole state after each epoch; an existing one is resumed, with the same result
            as an undisturbed run. None: nothing is written.
        generator: shuffles the data. None: a new one seeded with 0.
        settings: fields of Training.

    Returns:
        one row an epoch: epoch, energy (mean, after relaxation), value_lr, validation, seconds.

    Raises:
        WrongShape, BadValues, BadInput, UnknownGroup, UnknownName: data or settings that do not fit the graph.
        BadFile: a checkpoint that is damaged or of other settings. UnstableStep: a value step that is too large.
    """
    if bad := settings.keys() - {f.name for f in fields(Training)}:
        raise unknown("setting of fit", bad.pop(), [f.name for f in fields(Training)])
    training, generator = Training(**settings), generator or torch.Generator().manual_seed(0)
    batches, held_out = _split(graph, data, validation, training, generator)
    state = _State(graph, training, generator, Path(checkpoint) if checkpoint else None)
    measure = _measure(graph, score, held_out)
    state.resume()
    with tqdm(total=training.epochs, initial=state.epoch, desc="epochs", disable=not progress) as bar:
        while state.epoch < training.epochs and not state.exhausted():
            row = _epoch(graph, batches, state, progress)
            state.end_epoch(row, None if held_out is None else measure(graph, held_out))
            bar.set_postfix({k: f"{v:.4g}" for k, v in state.history[-1].items() if k in ("energy", "validation")})
            bar.update()
    state.restore_best()
    return pd.DataFrame(state.history)


def accuracy(graph: PCGraph, batch: Batch) -> float:
    """Share of examples whose labels, asked by clamping every other sensory group, peak at the right vertex."""
    batch = as_batch(graph, batch)
    if "labels" not in batch:
        raise BadInput(f"accuracy needs labels; got {list(batch)}. Give (images, labels) to a graph that has labels.")
    clamp = {name: values for name, values in batch.items() if name != "labels"}
    answer = query(graph, clamp, steps=100, momentum=0.9, batch_size=2000).values["labels"]
    return float((answer.argmax(-1) == batch["labels"].to(answer.device).argmax(-1)).double().mean())


def minus_energy(graph: PCGraph, batch: Batch) -> float:
    """Minus the mean energy with all sensory groups clamped."""
    batch = as_batch(graph, batch)
    if batch.keys() == graph.topology.groups.keys():                       # nothing is free
        x = torch.cat([batch[name] for name in graph.topology.groups], -1).to(graph.device)
        return -float(graph.energy(x).mean())
    return -float(query(graph, batch, steps=100, momentum=0.9, batch_size=2000).energy[-1].mean())


def minus_completion_error(graph: PCGraph, batch: Batch) -> float:
    """Minus the mean squared error on the second half of the first sensory group, asked from its first half.

    For images that is the lower half of the picture from the upper one, without labels.
    """
    batch, name = as_batch(graph, batch), graph.topology.sensory[0]
    values, size = batch[name].to(graph.device), graph.topology.size(name)
    known = torch.arange(size) < size // 2
    answer = query(graph, {name: observed(values, known)}, steps=100, momentum=0.9, batch_size=2000).values[name]
    return -float((answer - values)[..., ~known].square().mean())


class _State:
    """Everything that a killed run needs to go on: weights, optimizer, generator, history, best weights."""

    def __init__(self, graph: PCGraph, training: Training, generator: torch.Generator, path: Path | None) -> None:
        self.graph, self.training, self.generator, self.path = graph, training, generator, path
        self.parameters = dict(graph.named_parameters())
        self.optimizer = OPTIMIZERS[training.optimizer](
            self.parameters.values(), lr=training.weight_lr, weight_decay=training.weight_decay)
        self.history: list[dict[str, float]] = []
        self.best: dict[str, Tensor] = {}

    @property
    def epoch(self) -> int:
        return len(self.history)

    def exhausted(self) -> bool:
        """Whether the validation score has not improved for ``patience`` epochs."""
        if self.training.patience is None or not self.history or "validation" not in self.history[0]:
            return False
        scores = [row["validation"] for row in self.history]
        return len(scores) - 1 - scores.index(max(scores)) >= self.training.patience

    def end_epoch(self, row: dict[str, float], score: float | None) -> None:
        """Note an epoch, keep its weights if they are the best so far, and write the checkpoint."""
        if score is not None:
            if not isfinite(score):
                raise BadValues(f"the validation score of epoch {row['epoch']} is {score}; expected a finite number. "
                                "Look at the validation data and the score function.")
            if not self.history or score > max(r["validation"] for r in self.history):
                self.best = {name: p.detach().clone() for name, p in self.parameters.items()}
            row["validation"] = score
        self.history.append(row)
        if self.path is not None:
            self._save()

    def restore_best(self) -> None:
        """Put the best epoch's weights back, where there was validation."""
        with torch.no_grad():
            for name, best in self.best.items():
                self.parameters[name].copy_(best)

    def _fingerprint(self) -> str:
        graph, settings = self.graph, asdict(self.training)
        edges = [(e.source, e.target, None if e.mask is None else _digest(e.mask)) for e in graph.topology.edges]
        facts = {"groups": graph.topology.groups, "edges": edges, "prior": graph.prior, "replicas": graph.replicas,
                 "activations": [repr(getattr(f, "base", f).name) for f in graph.activations],
                 "top_k": [getattr(f, "fraction", None) for f in graph.activations], "bias": graph.bias is not None,
                 "settings": {k: v for k, v in settings.items() if k not in ("epochs", "patience")}}
        return json.dumps(facts, sort_keys=True)

    def _save(self) -> None:
        tensors = {f"weights/{name}": p for name, p in self.parameters.items()}
        tensors |= {f"best/{name}": p for name, p in self.best.items()}
        for k, moments in self.optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer/{k}/{name}": torch.as_tensor(v) for name, v in moments.items()}
        tensors["generator"] = self.generator.get_state()
        header = {"fingerprint": self._fingerprint(), "history": json.dumps(self.history)}
        with write_aside(self.path) as part:
            try:
                save_file({name: t.detach().cpu().contiguous().clone() for name, t in tensors.items()}, part, header)
            except SafetensorError as error:
                raise PCGraphError(f"could not write the checkpoint {self.path}: {error}. Free space and run again; "
                                   "training resumes from the last complete epoch.") from error

    @torch.no_grad()
    def resume(self) -> None:
        """Take up the checkpoint, if there is one. Raises BadFile."""
        if self.path is None or not self.path.exists():
            return
        try:
            with safe_open(self.path, "pt") as file:
                header, tensors = file.metadata(), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        except (SafetensorError, OSError) as error:
            raise BadFile(f"the checkpoint {self.path} cannot be read ({error}); delete it to start anew.") from error
        if (header or {}).get("fingerprint") != self._fingerprint():
            raise BadFile(f"the checkpoint {self.path} belongs to another graph or other settings; delete it or name "
                          "another file.")
        self.history = json.loads(header["history"])
        self.generator.set_state(tensors.pop("generator"))
        for name, p in self.parameters.items():
            p.copy_(tensors[f"weights/{name}"])
            if (best := tensors.get(f"best/{name}")) is not None:
                self.best[name] = best.to(p.device)
        state = self.optimizer.state_dict()
        for name, tensor in tensors.items():
            if name.startswith("optimizer/"):
                _, k, moment = name.split("/")
                state["state"].setdefault(int(k), {})[moment] = tensor
        self.optimizer.load_state_dict(state)


def _digest(mask: Tensor) -> str:
    return hashlib.sha256(mask.cpu().numpy().tobytes()).hexdigest()[:16]


class _Batches:
    """Group -> tensor for the whole data set, cut into shuffled batches; the last, smaller one is kept."""

    def __init__(self, data: Batch, size: int, generator: torch.Generator) -> None:
        self.data, self.size, self.generator = data, size, generator
        self.count = len(next(iter(data.values())))

    def __len__(self) -> int:
        return -(-self.count // self.size)

    def __iter__(self) -> Iterable[Batch]:
        order = torch.randperm(self.count, generator=self.generator)
        for rows in order.split(self.size):
            yield {name: values[rows] for name, values in self.data.items()}


def _epoch(graph: PCGraph, batches: Iterable[Batch], state: _State, progress: bool) -> dict[str, float]:
    """One pass over the data; every batch is alg. 1 once."""
    began, energy, seen, value_lr = time.perf_counter(), 0.0, 0, state.training.value_lr
    size = len(batches) if hasattr(batches, "__len__") else None
    bar = tqdm(batches, total=size, desc=f"epoch {state.epoch + 1}", leave=False, disable=not progress)
    for k, batch in enumerate(bar):
        batch = as_batch(graph, batch)
        renew = state.training.value_lr == "safe" and k % CURVATURE_EVERY == 0
        total, value_lr = _learn(graph, batch, state, "safe" if renew else value_lr)
        energy, seen = energy + total, seen + len(next(iter(batch.values())))
    if not seen:
        raise BadInput("the data loader yielded no batch; give it data, or a list where a generator is spent.")
    return {"epoch": state.epoch + 1, "energy": energy / seen, "value_lr": float(torch.as_tensor(value_lr).mean()),
            "seconds": time.perf_counter() - began}


def _learn(graph: PCGraph, batch: Batch, state: _State,
           value_lr: float | str | Tensor) -> tuple[float, float | Tensor]:
    """Relax one batch and take one weight step. Returns the summed energy (mean over replicas) and the value step."""
    count = len(next(iter(batch.values())))
    x = torch.zeros(count, graph.topology.n, dtype=graph.dtype, device=graph.device)
    clamped = torch.zeros(graph.topology.n, dtype=torch.bool, device=graph.device)
    for name, values in batch.items():
        where = graph.topology.slice(name)
        x[:, where], clamped[where] = values.to(graph.device, non_blocking=True), True
    if graph.replicas is not None:
        x = x.expand(graph.replicas, *x.shape).clone()                     # every replica sees the same batch
    x, settings = start_at_prediction(graph, x, clamped), state.training.relaxation()
    try:
        relaxed = relax(graph, x, clamped, settings, value_lr=value_lr)
    except UnstableStep:
        if state.training.value_lr != "safe":
            raise
        relaxed = relax(graph, x, clamped, settings)                       # the weights outgrew the last safe step
    for name, gradient in relaxed.problem.weight_gradient().items():
        state.parameters[name].grad = gradient.div_(count)
    state.optimizer.step()
    return float(relaxed.energy[-1].sum()) / (graph.replicas or 1), relaxed.value_lr


def as_batch(graph: PCGraph, data: tuple[Tensor, Tensor] | Batch) -> dict[str, Tensor]:
    """Turn ``(images, labels)`` or a mapping into group -> ``(batch, size)`` float tensors that fit the graph.

    Raises:
        UnknownGroup, WrongShape, BadValues, BadInput.
    """
    if not isinstance(data, Mapping):
        if not isinstance(data, (tuple, list)) or len(data) != 2:
            raise BadInput(f"the data is a {type(data).__name__}; expected (images, labels), or a mapping of group to "
                           "tensor such as {'pixels': images}.")
        images, labels = data
        data = {graph.topology.sensory[0]: images}
        if "labels" in graph.topology.groups:
            data["labels"] = labels
    batch = {name: _as_values(graph, name, torch.as_tensor(values)) for name, values in data.items()}
    if len({len(values) for values in batch.values()}) != 1 or not all(len(v) for v in batch.values()):
        raise WrongShape(f"groups differ in length or are empty: { {n: len(v) for n, v in batch.items()} }.")
    return batch


def _as_values(graph: PCGraph, name: str, values: Tensor) -> Tensor:
    size = graph.topology.size(name)
    if values.ndim == 1 and not values.is_floating_point():
        if len(values) and not 0 <= int(values.min()) <= int(values.max()) < size:
            raise BadInput(f"{name} run from {int(values.min())} to {int(values.max())}; expected 0 to {size - 1}.")
        values = one_hot(values.long(), size)
    if values.ndim < 2 or values.shape[1:].numel() != size:
        raise WrongShape(f"{name} is {tuple(values.shape)}; expected (count, {size}) or images that flatten to it.")
    values = values.reshape(len(values), size).to(graph.dtype)
    if not torch.isfinite(values).all():
        raise BadValues(f"{name} holds NaN or infinite entries; clean the data first.")
    return values


def _split(graph: PCGraph, data: object, validation: object, training: Training,
           generator: torch.Generator) -> tuple[Iterable[Batch], Batch | None]:
    """Training batches and, where asked for, validation data."""
    in_memory = isinstance(data, (Mapping, tuple, Tensor))
    if not len(graph.weights):
        raise BadInput("the graph has no edges, so there is nothing to learn; give its topology at least one.")
    if isinstance(validation, (int, float)):
        if not in_memory or not 0 < validation < 1:
            raise BadInput(f"validation = {validation}; a share needs data in memory and lies between 0 and 1.")
        data = as_batch(graph, data)
        order = torch.randperm(len(next(iter(data.values()))), generator=generator)
        cut = max(1, round(validation * len(order)))
        held_out = {name: values[order[:cut]] for name, values in data.items()}
        data = {name: values[order[cut:]] for name, values in data.items()}
    else:
        held_out = None if validation is None else as_batch(graph, validation)
    batches = _Batches(as_batch(graph, data), training.batch_size, generator) if in_memory else data
    return batches, held_out


def _measure(graph: PCGraph, score: object, held_out: Batch | None) -> Callable[[PCGraph, Batch], float]:
    scores = {"accuracy": accuracy, "energy": minus_energy, "completion": minus_completion_error}
    if score == "auto":
        score = "accuracy" if held_out and "labels" in held_out and len(held_out) > 1 else "energy"
    if callable(score):
        return score
    if score not in scores:
        raise unknown("score", score, ["auto", *scores])
    if score == "accuracy" and (held_out is None or "labels" not in held_out):
        raise BadInput("score='accuracy' needs validation data with labels; use score='energy'.")
    return scores[score]
