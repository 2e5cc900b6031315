"""Training by epochs, whatever the model: settings, the loop, the best epoch, and checkpoints to resume from."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from math import isfinite
from pathlib import Path
from typing import Annotated

import pandas as pd
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn
from tqdm import tqdm

from ..errors import BadFile, BadValues, PCGraphError, number, unknown, whole
from ..files import tensor_digest, write_aside
from .arguments import Count, NotNegative, OneOf, Rate

OPTIMIZERS = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW, "sgd": torch.optim.SGD}
CHECKPOINT_SHARE = 0.1                                                     # of the time may go into checkpoints


@dataclass(frozen=True)
class Schedule:
    """What every training by epochs has.

    Args:
        epochs: passes over the data.
        weight_lr: alpha, the weight step.
        weight_decay: added to the gradient as L2 ("adam", "sgd") or decoupled ("adamw").
        batch_size: examples a weight step; gradients are averaged over them (ambiguity log, point 5).
        optimizer: "adam", "adamw" or "sgd", from torch.
        patience: stop after this many epochs without a better validation score. None: run all epochs. With
            validation data the weights of the best epoch are kept in any case.
    """

    epochs: Count = 20
    weight_lr: Rate | Sequence[Rate] = 1e-4
    weight_decay: NotNegative = 0.0
    batch_size: Count = 500
    optimizer: Annotated[str, OneOf(OPTIMIZERS)] = "adam"
    patience: Count | None = None

    def __post_init__(self) -> None:
        whole(self.epochs, "epochs")
        whole(self.batch_size, "batch_size")
        if self.patience is not None:
            whole(self.patience, "patience")
        for rate in self.weight_lr if isinstance(self.weight_lr, Sequence) else [self.weight_lr]:
            number(rate, "weight_lr", "a positive number", lambda lr: lr > 0)
        number(self.weight_decay, "weight_decay", "at least 0", lambda decay: decay >= 0)
        if self.optimizer not in OPTIMIZERS:
            raise unknown("optimizer", self.optimizer, OPTIMIZERS)


class State:
    """Everything that a killed run needs to go on: weights, optimizer, generator, history, best weights.

    ``steps`` counts the weight steps since the first epoch; ``carried`` is what one of them leaves to the next besides.

    Args:
        generator: shuffles the data; its state is part of the checkpoint.
        path: the checkpoint, written after the first and the last epoch, and after others as long as writing takes less
            than a tenth of the time. None: nothing is written.
        facts: what the model is and how it is scored. They, the schedule, the data and the first state of the generator
            are the fingerprint of a checkpoint: one of another training is refused.
        data: what it is trained and validated on, as far as it lies in memory.
        rates: ``(replica, 1, 1)``, a weight step for each replica instead of one for all.
        optimizer: of the model's parameters. None: the one that the schedule names.
    """

    def __init__(self, model: nn.Module, schedule: Schedule, generator: torch.Generator, path: Path | str | None,
                 facts: Mapping[str, object], rates: Tensor | None = None,
                 optimizer: torch.optim.Optimizer | None = None, data: Sequence[Tensor] = ()) -> None:
        self.schedule, self.generator, self.path = schedule, generator, Path(path) if path else None
        self.parameters, self.facts, self.rates = dict(model.named_parameters()), dict(facts), rates
        self.data = {"generator": generator.get_state(), **{str(k): tensor for k, tensor in enumerate(data)}}
        self.optimizer = optimizer or OPTIMIZERS[schedule.optimizer](
            self.parameters.values(), lr=schedule.weight_lr if rates is None else 1.0,
            weight_decay=schedule.weight_decay, fused=True)                # no temporaries of the weights' size
        self.history: list[dict[str, float]] = []
        self.best: dict[str, Tensor] = {}
        self.steps, self.carried = 0, {}                                   # the latter: name -> tensor
        self.saved = self.writing = 0.0                                    # seconds: end and length of the last save

    @torch.no_grad()
    def step(self) -> None:
        """One step of all weights along the gradients that they hold; every replica by its own rate."""
        self.steps += 1
        if self.rates is None:
            self.optimizer.step()
            return
        before = [p.clone() for p in self.parameters.values()]
        self.optimizer.step()
        for old, p in zip(before, self.parameters.values(), strict=True):
            torch.lerp(old, p, self.rates, out=p)                          # a step is proportional to its rate

    @property
    def epoch(self) -> int:
        return len(self.history)

    def exhausted(self) -> bool:
        """Whether the validation score has not improved for ``patience`` epochs."""
        if self.schedule.patience is None or not self.history or "validation" not in self.history[0]:
            return False
        scores = [row["validation"] for row in self.history]
        return len(scores) - 1 - scores.index(max(scores)) >= self.schedule.patience

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
        if self.path is not None and self._due():
            began = time.perf_counter()
            self._save()
            self.saved = time.perf_counter()
            self.writing = self.saved - began

    def _due(self) -> bool:
        """Whether to write a checkpoint: a small data set has epochs shorter than the writing."""
        ends = self.epoch >= self.schedule.epochs or self.exhausted()
        return ends or CHECKPOINT_SHARE * (time.perf_counter() - self.saved) >= self.writing

    def restore_best(self) -> None:
        """Put the best epoch's weights back, where there was validation."""
        with torch.no_grad():
            for name, best in self.best.items():
                self.parameters[name].copy_(best)

    @cached_property
    def _fingerprint(self) -> str:
        settings = {k: v for k, v in asdict(self.schedule).items() if k not in ("epochs", "patience")}
        return json.dumps(self.facts | {"settings": settings, "data": tensor_digest(self.data)}, sort_keys=True)

    def _save(self) -> None:
        tensors = {f"weights/{name}": p for name, p in self.parameters.items()}
        tensors |= {f"best/{name}": p for name, p in self.best.items()}
        tensors |= {f"carried/{name}": tensor for name, tensor in self.carried.items()}
        for k, moments in self.optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer/{k}/{name}": torch.as_tensor(v) for name, v in moments.items() if v is not None}
        tensors["generator"] = self.generator.get_state()
        header = {"fingerprint": self._fingerprint, "history": json.dumps(self.history), "steps": str(self.steps)}
        with write_aside(self.path) as part:
            try:
                save_file({name: t.detach().cpu().contiguous().clone() for name, t in tensors.items()}, part, header)
            except SafetensorError as error:
                raise PCGraphError(f"could not write the checkpoint {self.path}: {error}. Free space and run again; "
                                   "training resumes from the last checkpoint.") from error

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
        if (header or {}).get("fingerprint") != self._fingerprint:
            raise BadFile(f"the checkpoint {self.path} belongs to another training: its graph, settings, data, score "
                          "or seed differ. Delete it or name another file.")
        self.history, self.steps = json.loads(header["history"]), int(header.get("steps", 0))
        self.carried = {name.removeprefix("carried/"): t for name, t in tensors.items() if name.startswith("carried/")}
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


def run(state: State, epoch: Callable[[], dict[str, float]], score: Callable[[], float] | None = None,
        progress: bool = True) -> pd.DataFrame:
    """Train to the last epoch of the schedule or until patience runs out, from the checkpoint where there is one.

    Args:
        epoch: one pass over the data, changing the weights; returns its row of the history.
        score: on validation data, larger is better. None: no validation, and the last epoch's weights are kept.

    Returns:
        one row an epoch.

    Raises:
        BadFile: a checkpoint that is damaged or of other settings. BadValues: a score that is not finite.
    """
    state.resume()
    with tqdm(total=state.schedule.epochs, initial=state.epoch, desc="epochs", disable=not progress) as bar:
        while state.epoch < state.schedule.epochs and not state.exhausted():
            state.end_epoch(epoch(), None if score is None else score())
            row = state.history[-1]
            bar.set_postfix({k: f"{v:.4g}" for k, v in row.items() if k not in ("epoch", "seconds", "value_lr")})
            bar.update()
    state.restore_best()
    return pd.DataFrame(state.history)


def shuffled(state: State, count: int, progress: bool) -> Iterator[Tensor]:
    """Row numbers of one pass over ``count`` examples, a batch at a time in random order; the last may be smaller."""
    rows = torch.randperm(count, generator=state.generator).split(state.schedule.batch_size)
    yield from tqdm(rows, desc=f"epoch {state.epoch + 1}", leave=False, disable=not progress or len(rows) == 1)
