"""Training by epochs, whatever the model: settings, the loop, the best epoch, and checkpoints to resume from."""

import json
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from math import cos, isfinite, pi
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, TypeVar

import pandas as pd
import torch
from torch import Tensor, nn
from tqdm import tqdm

from .. import valid
from ..errors import BadFile, BadInput, BadValues, UnstableStep, shown
from ..files import load_tensors, ready, save_tensors, tensor_digest
from ..valid import Count, NotNegative, OneOf, Rate
from .augment import AUGMENTATIONS

Callback = Callable[[nn.Module, dict[str, float]], object]
Learn = Callable[[Tensor], dict[str, float]]                               # rows of a batch to its numbers
OPTIMIZERS = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW, "sgd": torch.optim.SGD}
HEADER = ("fingerprint", "history", "steps")                               # of a checkpoint
CHECKPOINT_SHARE = 0.1                                                     # of the time may go into checkpoints
UNSAID = (("anneal", "none"), ("warm_up", 0.0), ("augment", "none"))      # by checkpoints from before these settings
FALLS: dict[str, Callable[[float], float]] = {
    "none": lambda t: 1.0, "linear": lambda t: 1 - t, "cosine": lambda t: (1 + cos(pi * t)) / 2}


@valid.checked
@dataclass(frozen=True)
class Schedule:
    """What every training by epochs has.

    Args:
        epochs: passes over the data.
        weight_lr: alpha, the learning rate of the weights.
        weight_decay: added to the gradient as L2 ("adam", "sgd") or decoupled ("adamw").
        batch_size: examples a weight update; gradients are averaged over them (ambiguity log, point 5). There are
            epochs * ceil(examples / batch_size) weight updates: few examples need a smaller batch or more epochs.
        optimizer: "adam", "adamw" or "sgd", from torch.
        patience: stop after this many epochs without a better validation score, for which there must be validation
            data. None: run all epochs. With validation data the weights of the best epoch are kept in any case.
        anneal: how the learning rate falls to 0 over ``epochs``, anew for every batch: "cosine" (half a period,
            Loshchilov and Hutter 2017), "linear", or "none". The first rate is ``weight_lr``, and the one after the
            last would be 0. Patience may end the training before that.
        warm_up: epochs, or parts of one, in which the learning rate first rises along a line. The first batch already
            has one above 0; the last one of the warm-up has ``weight_lr``, and the fall begins after it.
        augment: "shift and mirror" changes the training images of every batch (``augment.shift_and_mirror``); "none"
            leaves them as they are.

    Raises:
        BadInput: a warm-up that is as long as the training.
    """

    epochs: Count = 20
    weight_lr: Rate = 1e-4
    weight_decay: NotNegative = 0.0
    batch_size: Count = 500
    optimizer: Annotated[str, OneOf(OPTIMIZERS)] = "adam"
    patience: Count | None = None
    anneal: Literal["none", "linear", "cosine"] = "none"
    warm_up: NotNegative = 0.0
    augment: Annotated[str, OneOf(AUGMENTATIONS)] = "none"

    def __post_init__(self) -> None:
        if self.warm_up >= self.epochs:
            raise BadInput(f"warm_up = {self.warm_up:g} epochs of {self.epochs}; expected fewer, so that some are "
                           "trained at the full learning rate.")

    def rate(self, done: float, batch: float) -> float:
        """The factor on ``weight_lr`` for a batch that is a share ``batch`` of an epoch, after ``done`` epochs."""
        if done < self.warm_up:
            return min(1.0, (done + batch) / self.warm_up)
        return FALLS[self.anneal]((done - self.warm_up) / (self.epochs - self.warm_up))

    def stepper(self, parameters: Iterable[nn.Parameter], lr: float) -> torch.optim.Optimizer:
        """What moves the weights; fused, it has no temporaries of their size."""
        return OPTIMIZERS[self.optimizer](parameters, lr=lr, weight_decay=self.weight_decay, fused=True)


S = TypeVar("S", bound=Schedule)


class State(Generic[S]):
    """Everything that a killed run needs to go on: weights, optimizer, generator, history, best weights.

    ``steps`` counts the weight updates since the first epoch; ``carried`` is what one leaves to the next besides.

    Args:
        generator: shuffles the data; its state is part of the checkpoint.
        path: the checkpoint, written after the first and the last epoch, and after others as long as writing takes less
            than a tenth of the time. None: nothing is written.
        facts: what the model is and how it is scored. They, the schedule, the data and the first state of the generator
            are the fingerprint of a checkpoint: one of another training is refused.
        data: what it is trained and validated on, as far as it lies in memory.
        rates: ``(replica, 1, 1)``, a learning rate for each replica. A number: all have that of the schedule.
    """

    def __init__(self, model: nn.Module, schedule: S, generator: torch.Generator, path: Path | str | None,
                 facts: Mapping[str, object], rates: float | Tensor = 1.0, data: Sequence[Tensor] = ()) -> None:
        self.model, self.schedule, self.generator = model, schedule, generator
        self.path = valid.file(path, "checkpoint") if path is not None else None
        self.parameters, self.facts = dict(model.named_parameters()), dict(facts)
        self.data = {"generator": generator.get_state(), **{str(k): tensor for k, tensor in enumerate(data)}}
        self.rates = rates if isinstance(rates, Tensor) else None
        self.optimizer = schedule.stepper(self.parameters.values(), schedule.weight_lr if self.rates is None else 1.0)
        self.history: list[dict[str, float]] = []
        self.best: dict[str, Tensor] = {}
        self.rate = 1.0                                                    # factor on the learning rate
        self.problem: Any = None                                           # of the last batch: its memory serves again
        self.steps = 0
        self.carried: dict[str, Tensor] = {}
        self.saved = self.writing = 0.0                                    # seconds: end and length of the last save

    def pace(self, share: float, batch: float) -> None:
        """Set the learning rate of a batch, a ``share`` of this epoch being done and the batch itself being another."""
        self.rate = self.schedule.rate(self.epoch + share, batch)
        for group in self.optimizer.param_groups if self.rates is None else ():
            group["lr"] = self.schedule.weight_lr * self.rate

    def augmented(self, images: Tensor) -> Tensor:
        """The images of a batch, ``(batch, pixels)``, changed as the schedule says."""
        return AUGMENTATIONS[self.schedule.augment](images, self.generator)

    @torch.no_grad()
    def step(self) -> None:
        """One step of all weights along the gradients that they hold, which are gone then; replicas by their rates."""
        self.steps += 1
        rates = self.rates
        before = [] if rates is None else [p.clone() for p in self.parameters.values()]
        self.optimizer.step()
        self.optimizer.zero_grad()                                         # not held through the next relaxation
        if rates is not None:
            for old, p in zip(before, self.parameters.values(), strict=True):
                torch.lerp(old, p, rates * self.rate, out=p)               # a step is proportional to its rate

    @property
    def epoch(self) -> int:
        return len(self.history)

    def ended(self) -> bool:
        """Whether all epochs are done, or the validation score has not improved for ``patience`` of them."""
        scores = [row["validation"] for row in self.history if "validation" in row]
        tired = self.schedule.patience is not None and scores and \
            len(scores) - 1 - scores.index(max(scores)) >= self.schedule.patience
        return self.epoch >= self.schedule.epochs or bool(tired)

    def end_epoch(self, row: dict[str, float], score: float | None) -> None:
        """Note an epoch, keep its weights if they are the best so far, and write the checkpoint.

        Raises UnstableStep: the training has left the finite numbers. BadValues: the score has.
        """
        wrong = [name for name, value in row.items() if not isfinite(value)]
        wrong += [name for name, p in self.parameters.items() if not p.isfinite().all()]
        if wrong:
            raise UnstableStep(f"the training diverged in epoch {row['epoch']}: {wrong[0]} is not finite. Take a "
                               f"smaller learning rate than weight_lr = {shown(self.schedule.weight_lr)}.")
        if score is not None:
            if not isfinite(score):
                raise BadValues(f"the validation score of epoch {row['epoch']} is {score}; expected a finite number. "
                                "Look at the validation data and the score function.")
            if not self.history or score > max(r["validation"] for r in self.history):
                self.best = {name: p.detach().clone() for name, p in self.parameters.items()}
            row["validation"] = score
        self.history.append(row)
        began = time.perf_counter()                    # a small data set has epochs shorter than the writing
        if self.path and (self.ended() or CHECKPOINT_SHARE * (began - self.saved) >= self.writing):
            self._save(self.path)
            self.saved = time.perf_counter()
            self.writing = self.saved - began

    @cached_property
    def _fingerprint(self) -> str:
        settings = {k: v for k, v in asdict(self.schedule).items() if k != "patience" and (k, v) not in UNSAID}
        if self.schedule.anneal == "none":                                 # else the learning rate depends on them
            del settings["epochs"]
        return json.dumps(self.facts | {"settings": settings, "data": tensor_digest(self.data)}, sort_keys=True)

    def _save(self, path: Path) -> None:
        tensors = {"generator": self.generator.get_state()}
        for part, named in (("weights", self.parameters), ("best", self.best), ("carried", self.carried)):
            tensors |= {f"{part}/{name}": tensor for name, tensor in named.items()}
        for k, moments in self.optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer/{k}/{name}": torch.as_tensor(v) for name, v in moments.items() if v is not None}
        header = (self._fingerprint, json.dumps(self.history), str(self.steps))
        save_tensors(path, tensors, dict(zip(HEADER, header, strict=True)))

    @torch.no_grad()
    def resume(self) -> None:
        """Take up the checkpoint, if there is one. Raises BadFile."""
        if self.path is None or not self.path.exists():
            return
        try:
            header, tensors = load_tensors(self.path, HEADER)
        except BadFile as error:
            raise BadFile(f"the checkpoint {error}; delete it to start anew.") from error
        self._check(header, tensors)
        self.history, self.steps = json.loads(header["history"]), int(header.get("steps", 0))
        self.generator.set_state(tensors.pop("generator"))
        state = self.optimizer.state_dict()
        for key, tensor in tensors.items():
            part, name = key.split("/", 1)
            if part == "weights":
                self.parameters[name].copy_(tensor)
            elif part == "best":
                self.best[name] = tensor.to(self.parameters[name].device)
            elif part == "carried":
                self.carried[name] = tensor
            else:
                k, moment = name.split("/")
                state["state"].setdefault(int(k), {})[moment] = tensor
        self.optimizer.load_state_dict(state)

    def _check(self, header: Mapping[str, str], tensors: Mapping[str, Tensor]) -> None:
        """Raise BadFile unless a checkpoint is of this training."""
        done, written = len(json.loads(header.get("history", "[]"))), header.get("fingerprint", "{}")
        if written != self._fingerprint:
            was, now = (dict(UNSAID) | facts.pop("settings", {}) | facts
                        for facts in map(json.loads, (written, self._fingerprint)))
            both = {name: f" {was.get(name, 'any')} -> {now.get(name, 'any')}" for name in sorted(was | now)}
            differs = ", ".join(name.replace("data", "data or generator") + (values if len(values) < 80 else "")
                                for name, values in both.items() if was.get(name) != now.get(name))
            raise BadFile(f"the checkpoint {self.path} belongs to another training; what differs: {differs}. To go on "
                          f"from it, repeat the call that wrote it{'' if 'epochs' in was else f' with epochs={done}'}; "
                          "then call again with the new settings and another file. To start anew, delete it.")
        if done > self.schedule.epochs:
            raise BadFile(f"the checkpoint {self.path} holds {done} epochs, more than the {self.schedule.epochs} that "
                          "are asked for. Ask for at least as many, delete it, or name another file.")
        if {name: t.shape for name, t in tensors.items() if name.startswith("weights/")} != {
                f"weights/{name}": p.shape for name, p in self.parameters.items()}:
            raise BadFile(f"the checkpoint {self.path} holds weights in another form: its graph had another plan. Make "
                          "the graph with that plan, delete the file, or name another.")

    def leave(self) -> pd.DataFrame:
        """Give the model its best weights, where there was validation, and its history, which is returned as well."""
        for name, best in self.best.items():
            self.parameters[name].data.copy_(best)
        self.model.history = pd.DataFrame(self.history)
        return self.model.history

    def reached(self) -> str:
        """In a line, what a training leaves that is stopped in the middle of an epoch."""
        scored = [row for row in self.history if "validation" in row]
        kept = "those of the last batch" if not scored else \
            f"the best so far, of epoch {max(scored, key=lambda row: row['validation'])['epoch']}"
        rows = f"{self.epoch} row{'' if self.epoch == 1 else 's'}"
        more = f"; the same call resumes {self.path}" if self.path and self.path.exists() else ""
        return (f"training stopped in epoch {self.epoch + 1} of {self.schedule.epochs}: the model has weights, {kept}, "
                f"and its attribute history has {rows}{more}.")


def run(state: State, count: int, learn: Learn, score: Callable[[], float] | None = None, progress: bool = True,
        callback: Callback | None = None) -> pd.DataFrame:
    """Train to the last epoch of the schedule or until patience runs out, from the checkpoint where there is one.

    Args:
        count, learn: as of ``one_pass``.
        score: on validation data, larger is better. None: no validation, and the last epoch's weights are kept.
        callback: called with the model and a copy of the row of each epoch as it ends. If it raises StopIteration, that
            epoch is the last.

    Whatever stops the training, the model keeps its best weights and its history (``State.leave``).

    Raises:
        BadInput: patience without validation. BadFile: a checkpoint that is damaged or of other settings. PCGraphError:
        one that cannot be written. BadValues: a score that is not finite.
    """
    if score is None and state.schedule.patience is not None:
        raise BadInput(f"patience = {state.schedule.patience} waits for a better validation score, and there is no "
                       "validation data. Give some, or no patience.")
    state.resume()
    if state.path and not state.ended():
        ready(state.path)                                                  # or an epoch would be lost
    try:
        with tqdm(total=state.schedule.epochs, initial=state.epoch, desc="epochs", disable=no_bar(progress)) as bar:
            while not state.ended():
                state.end_epoch(one_pass(state, count, learn, progress), None if score is None else score())
                row = state.history[-1]
                bar.set_postfix({k: f"{v:.4g}" for k, v in row.items() if k not in ("epoch", "seconds", "value_lr")})
                bar.update()
                try:
                    if callback is not None:
                        callback(state.model, dict(row))
                except StopIteration:                                      # the checkpoint may be of an earlier epoch
                    break
    except KeyboardInterrupt as stopped:
        stopped.args = (state.reached(),)
        raise
    finally:
        history = state.leave()
    return history


def no_bar(progress: bool) -> bool:
    """Whether to draw none: it is not wanted, or a program in the background has closed its stderr."""
    return not progress or sys.stderr is None


def one_pass(state: State, count: int, learn: Learn, progress: bool) -> dict[str, float]:
    """One epoch over ``count`` examples in random order; the last batch may be smaller.

    Args:
        learn: leaves the gradients of a batch, given its row numbers, at the parameters; returns some numbers.

    Returns:
        the row of the history: epoch, the means of those numbers, seconds, and what the last batch carries on.
    """
    began = time.perf_counter()
    sums: dict[str, float] = {}
    batches = torch.randperm(count, generator=state.generator).split(state.schedule.batch_size)
    for k, rows in enumerate(tqdm(batches, desc=f"epoch {state.epoch + 1}", leave=False,
                                  disable=no_bar(progress) or len(batches) == 1)):
        state.pace(k * state.schedule.batch_size / count, len(rows) / count)
        for name, value in learn(rows).items():
            sums[name] = sums.get(name, 0.0) + value * len(rows)
        state.step()
    means = {name: total / count for name, total in sums.items()}
    carried = {name: float(value.mean()) for name, value in state.carried.items()}
    return {"epoch": state.epoch + 1, **means, "seconds": time.perf_counter() - began, **carried}
