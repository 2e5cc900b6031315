"""Learning: relax each batch, then one step of the weights (alg. 1)."""

import warnings
from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from functools import cached_property, partial
from hashlib import sha256
from itertools import chain
from numbers import Real
from pathlib import Path
from types import CodeType
from typing import Annotated, Any, Literal, cast

import pandas as pd
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, IterableDataset, RandomSampler, SequentialSampler

from .. import valid
from ..errors import BadInput, UnstableStep, WrongShape, shown
from ..files import tensor_digest
from ..valid import Count, Damping, OneOf, Rate
from .augment import planes_of, refuse_oblong
from .epochs import Callback, Schedule, State, run
from .graph import PCGraph
from .inference import Settings, of_replicas, settle
from .query import Observed, flattened, observed, query
from .spreading import Spreading
from .topk import TopK

Batch = Mapping[str, Tensor]
Data = Any                                             # (images, labels), a Batch, a torch Dataset, ...: ``as_batch``
SCORES: dict[str, Callable[[PCGraph, Batch], float]] = {}                  # filled below
QUERY: dict[str, Any] = {"steps": 100, "momentum": 0.95, "batch_size": 2000}                # of a graph that is scored
CHUNK = 1024                                                                # examples of a data set at a time
RISEN = 2                                              # times the energy at the beginning: a warning
FEW = 50                                               # fewer examples do not stand for the others
CURVATURE_EVERY = 20                                                       # updates between looks at the safe step


@valid.checked
@dataclass(frozen=True)
class Training(Schedule):
    """Settings of ``fit``: those of a Schedule, and how each batch is relaxed.

    Args:
        steps, momentum: of the relaxation, as in Settings.
        value_lr: "safe" is found anew by power iteration every 20 weight updates, through all epochs; those between
            take plain value steps of that size, unguarded, which an f steeper than 1 can make too long. With replicas,
            ``value_lr`` and ``weight_lr`` may be a sequence, one number for each. The energy and the score are then
            means over the replicas, and the best epoch is one for all: to compare settings, train without validation
            data and score each ``graph.replica(k)``.

    Example:
        >>> pcg.Training(epochs=4, warm_up=0.5, anneal="cosine").rate(done=2.25, batch=0.1)      # half of the way down
        0.5
    """

    weight_lr: Rate | Sequence[Rate] = 1e-4  # type: ignore[assignment]  # one for each replica
    steps: Count = 20
    value_lr: Literal["safe"] | Rate | Sequence[Rate] = "safe"
    momentum: Damping = 0.0

    @cached_property
    def relaxation(self) -> Settings:
        """How each batch is relaxed."""
        return Settings(self.steps, self.value_lr, self.momentum, trace=False)


@valid.checked
def fit(graph: PCGraph, data: Data, *,
        validation: float | Data | None = None,
        score: Literal["auto"] | Annotated[str, OneOf(SCORES)] | Callable[[PCGraph, Batch], float] = "auto",
        checkpoint: Path | str | None = None,
        generator: torch.Generator | None = None, progress: bool = True, callback: Callback | None = None,
        **settings: Annotated[Any, Training]) -> pd.DataFrame:
    """Train a graph in place: the groups in ``data`` are clamped to each batch, the rest start at their predictions,
    outwards from those, and relax, sensory or not, and the weights take a step. All weights do; no ``requires_grad`` is
    looked at. A loop of one's own can keep some of them fixed (the book's page on images and a graph of your own).

    If the last epoch's energy is more than twice that of the first epoch or of the first batch (if it has fifty
    examples, or a quarter of all), a warning says so: the learning rate is too large. Under a zero prior these energies
    include what held vertices without incoming edges pay (eq. 2), which no step can change and which can hide such a
    rise; ``prior="flat"`` leaves it out.

    Whatever stops it, Ctrl-C or an error, the graph keeps the best weights so far where there is validation data, and
    ``graph.history`` holds the rows of the epochs that ended.

    To go on with a training, give the same ``checkpoint`` and more ``epochs``: it ends as one long training does (not
    where the learning rate falls, as that depends on them). Without a checkpoint, another call goes on from the weights
    alone: its optimizer is new, ``graph.history`` holds only its rows, and the batches come in the same order again
    unless ``generator`` is another one, or the one of before, further on. A file of ``pcg.save`` has no history.

    Args:
        data: ``(images, labels)`` or an ``ImageSet``, images alone where the graph has no labels, or group -> tensor;
            tensors, arrays, or a torch ``Dataset`` or ``DataLoader`` of the same. Without a group "labels", a pair is
            for the two sensory groups, whatever they are called; with one, class numbers are left out. Images flatten
            to the pixels; class numbers of the labels, a vector, become one-hot. Pixels are in [0, 1]; a graph with a
            ``pixel_scale`` scales them itself, and refuses those scaled by hand. A data set is read once, into memory,
            so that every epoch sees the same examples; a loader's batch size is used where none is set, its order and
            its batches are not.
        validation: share of ``data`` to hold out, or data of its own, in the same forms. None: no validation, no early
            stopping.
        score: "accuracy" (labels asked from pixels), "energy" (minus the mean energy), "completion" (minus the error
            on half of the first sensory group, asked from the other half), a function of ``(graph, batch)``, pixels in
            [0, 1], where larger is better, or "auto": accuracy where the labels say classes, else energy. Only
            validation data are scored; without them, "energy" and "auto" say nothing, and any other is refused.
        checkpoint: file that holds the whole state (when it is written: epochs.State); an existing one is resumed, with
            the same result as an undisturbed run. One of other settings, data, score or seed of the generator is
            refused; the first weights are not compared, because those of the checkpoint take their place. A score
            function of one's own is known by its name, its code and what a ``partial`` fills in, not by what it reads
            from elsewhere, such as the state of an object.
        generator: shuffles the data. None: a new one seeded with 0. To resume, pass one with the original seed.
        callback: called as ``callback(graph, row)`` with a copy of an epoch's row of the history, after its score and
            checkpoint are taken: weights that it changes are in neither. An error that it raises ends the training.
            StopIteration ends it without an error, as patience does; the same call can go on from the checkpoint.
        settings: fields of Training: ``epochs, weight_lr, weight_decay, batch_size, optimizer, patience, anneal,
            warm_up, augment`` (explained in ``pcgraph_lite.engine.epochs.Schedule``), ``steps, value_lr, momentum``.

    Returns:
        one row an epoch, with the columns epoch, energy (mean, after relaxation), seconds, value_lr, validation.

    Raises:
        WrongShape, BadValues, BadInput, UnknownGroup, UnknownName: data or settings that do not fit the graph.
        BadFile: a checkpoint that is damaged or of other settings.
        UnstableStep: a step size that is too large.

    Example:
        >>> graph = pcg.PCGraph(pcg.topology.discriminative(pixels=2, hidden=[], labels=2), "linear")
        >>> images, labels = torch.eye(2), torch.tensor([1, 0])          # two pictures, and the other one's number
        >>> history = pcg.fit(graph, (images, labels), epochs=100, batch_size=2, weight_lr=0.1, progress=False)
        >>> pcg.query(graph, clamp={"pixels": images}).values["labels"].round(decimals=1).abs()
        tensor([[0., 1.],
                [1., 0.]])
    """
    training = Training(**_with_batch_size(data, settings))
    generator = generator or torch.Generator().manual_seed(0)
    train, held_out = _split(graph, data := _in_memory(data), validation, generator)
    refuse_oblong(data, training.augment)
    measure = _measure(score, held_out, train)
    facts = _facts(graph) | _asked(train, held_out, measure)
    tensors = [part[name] for part in (train, held_out or {}) for name in sorted(part)]
    rates = of_replicas(graph, training.weight_lr, "weight_lr")
    state = State(graph, training, generator, checkpoint, facts, rates, tensors)
    untrained: dict[str, float] = {}                                       # of the first batch, the mean energy

    def learn(rows: Tensor) -> dict[str, float]:
        found = _learn(graph, _drawn(train, rows, state), state)
        if len(rows) >= min(FEW, _count(train) / 4):
            untrained.setdefault("energy", found["energy"])
        return found

    scored = None if held_out is None else lambda: _as_score(measure, measure(graph, held_out))
    history = run(state, _count(train), learn, scored, progress, callback)
    first, last = min([*untrained.values(), history["energy"].iloc[0]]), history["energy"].iloc[-1]
    if last > RISEN * first:
        warnings.warn(f"the energy rose from {first:.4g} at the beginning to {last:.4g} in the last epoch. Take a "
                      f"smaller learning rate than weight_lr = {shown(training.weight_lr)}.", stacklevel=4)
    return history


@valid.checked
def accuracy(graph: PCGraph, batch: Data) -> float:
    """Share of examples whose labels, asked by clamping every other group of the batch, peak at the right vertex.
    Pixels are in the units of [0, 1], as for ``query``.

    The query takes at most 100 accelerated steps; where a graph does not come to rest in as many, score a ``query`` of
    your own. Where edges only lead on from those groups, it starts at the predictions, which is its end: from zeros
    that many steps do not get there in a deep graph of large weights.

    Example:
        >>> graph = pcg.PCGraph(pcg.topology.discriminative(pixels=2, hidden=[], labels=2), "linear")
        >>> graph.set_weight([[0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0], [0, 0, 0, 0]])      # a copy
        >>> pcg.accuracy(graph, (torch.eye(2), torch.tensor([0, 1])))
        1.0
    """
    batch = as_batch(graph, batch)
    if "labels" not in batch:
        raise BadInput(f"accuracy needs labels; got {list(batch)}. Give (images, labels) to a graph that has labels.")
    if graph.topology.size("labels") == 1:
        raise BadInput("accuracy asks which vertex of 'labels' is largest, and this graph has only one; use "
                       "minus_energy, or a score function of your own.")
    clamp = {name: values for name, values in batch.items() if name != "labels"}
    start: Literal["prediction", "zeros"] = "prediction" if graph.topology.leads_on(clamp) else "zeros"
    answer = query(graph, clamp, start=start, **QUERY).values["labels"]
    return float((answer.argmax(-1) == batch["labels"].to(answer.device).argmax(-1)).double().mean())


@valid.checked
@torch.no_grad()
def minus_energy(graph: PCGraph, batch: Data) -> float:
    """Minus the mean energy with all groups of the batch clamped, after at most 100 accelerated steps: the graph's own
    energy, of pixels given in [0, 1].

    Example:
        >>> graph = pcg.PCGraph(pcg.topology.generative(labels=0, hidden=[1], pixels=2), "linear", init_std=0.0)
        >>> round(pcg.minus_energy(graph, torch.ones(5, 2)), 3)          # it predicts 0: two errors of 1
        -1.0
    """
    batch = as_batch(graph, batch)
    if batch.keys() == graph.topology.groups.keys():                       # nothing is free
        inside = scaled(graph, batch)
        x = torch.cat([inside[name] for name in graph.topology.groups], -1).to(graph.device)
        return -float(graph.energy(x if graph.replicas is None else x.expand(graph.replicas, *x.shape)).mean())
    return -float(query(graph, batch, **QUERY).energy[-1].mean())


@valid.checked
def minus_completion_error(graph: PCGraph, batch: Data) -> float:
    """Minus the mean squared error on the second half of the first sensory group, asked from its first half.

    For images that is the lower half of the picture from the upper one, in all colours and without labels; the error of
    pixels is in the squared units of [0, 1].

    Example:
        >>> graph = pcg.PCGraph(pcg.topology.generative(labels=0, hidden=[1], pixels=2), "linear", init_std=0.0)
        >>> round(pcg.minus_completion_error(graph, torch.ones(5, 2)), 3)    # it answers 0 for the second pixel
        -1.0
    """
    batch, name = as_batch(graph, batch), [*graph.topology.sensory, *graph.topology.groups][0]
    if name not in batch:
        raise BadInput(f"the score 'completion' asks for the group {name!r}; the data has {', '.join(batch)}. Use "
                       "another score, or make one of these the topology's first sensory group.")
    if (size := graph.topology.size(name)) < 2:
        raise BadInput(f"the score 'completion' asks for one half of the group {name!r} from the other, and it has "
                       "only one vertex; use another score.")
    planes, unit = (planes_of(size), graph.pixel_scale.unit) if name == "pixels" else (1, 1.0)
    known = torch.arange(size) % (size // planes) < size // planes // 2    # the upper half in every colour
    answer = query(graph, {name: observed(batch[name], known)}, **QUERY).x[..., graph.topology.slice(name)]
    error = answer - scaled(graph, batch)[name].to(graph.device)
    return -float(error[..., ~known].square().mean()) * unit**2


SCORES |= {"accuracy": accuracy, "energy": minus_energy, "completion": minus_completion_error}


def _facts(graph: PCGraph) -> dict[str, object]:
    """What a graph is, for the fingerprint of its checkpoint. Pools count where their vertices compete."""
    kept = (e.pairs() if e.listed else e.mask for e in graph.topology.edges)
    edges = [(e.source, e.target, None if mask is None else tensor_digest({"mask": mask}))
             for e, mask in zip(graph.topology.edges, kept, strict=True)]
    pools: dict[str, object] = {} if graph.top_k is None else {"pools": graph.topology.pools}
    return pools | {
            "groups": graph.topology.groups, "edges": edges, "prior": graph.prior, "replicas": graph.replicas,
            "activations": [repr((f.base if isinstance(f, TopK) else f).name) for f in graph.activations],
            "top_k": [getattr(f, "fraction", None) for f in graph.activations], "bias": graph.bias is not None}


def _asked(train: Batch, held_out: Batch | None, measure: Callable) -> dict[str, object]:
    """Which groups hold data and how the graph is scored, for the same fingerprint."""
    return {"clamped": [sorted(part) for part in (train, held_out or {})],
            "score": None if held_out is None else _known_as(measure)}


def _learn(graph: PCGraph, batch: Batch, state: State) -> dict[str, float]:
    """Relax one batch and leave the gradients of its weights (alg. 1). Returns the mean energy."""
    count, schedule = _count(batch), state.schedule
    keep = schedule.value_lr == "safe" and state.steps % CURVATURE_EVERY
    settings = replace(schedule.relaxation, value_lr=state.carried["value_lr"]) if keep else schedule.relaxation
    state.problem = started(graph, batch, count, state.problem)
    try:
        relaxed = settle(state.problem, settings)
    except UnstableStep:
        if schedule.value_lr != "safe":
            raise
        # the weights outgrew the safe step of some batches ago: find it anew
        relaxed = settle(started(graph, batch, count, state.problem), schedule.relaxation)
    state.carried["value_lr"] = torch.as_tensor(relaxed.value_lr, dtype=torch.float64)     # resuming is exact with it
    for name, gradient in relaxed.problem.weight_gradient(1 / count).items():
        state.parameters[name].grad = gradient
    return {"energy": float(relaxed.energy[-1].sum()) / (graph.replicas or 1) / count}


@torch.no_grad()
def started(graph: PCGraph, batch: Batch, count: int, used: Spreading | None = None) -> Spreading:
    """Clamp a batch on the graph's own scale in every replica, start the other groups at their predictions, and
    evaluate there.

    Args:
        used: the problem of an earlier batch of the same groups, which is done with. Its memory serves again if this
            batch is as large: new memory costs more than a value step of a small graph.
    """
    shape = (*graph.layout.lead, count, graph.topology.n)
    again = used if used is not None and used.x.shape == shape else None
    x = torch.empty(shape, dtype=graph.dtype, device=graph.device) if again is None else again.x
    clamped = torch.zeros(graph.topology.n, dtype=torch.bool, device=graph.device)
    for name in graph.topology.groups:                                     # every replica sees the same batch
        where, held = graph.topology.slice(name), name in batch
        x[..., where], clamped[where] = batch[name].to(graph.device, non_blocking=True) if held else 0, held
    if again is not None:
        again.restart()
    problem = Spreading(graph, x, clamped) if again is None else again
    problem.start_at_prediction(graph.topology.outwards(batch))
    return problem


def as_batch(graph: PCGraph, data: Data) -> dict[str, Tensor]:
    """Turn ``(images, labels)``, an ``ImageSet``, images or a mapping into group -> ``(batch, size)`` float tensors.

    Pixels are in the units of [0, 1]; ``scaled`` brings them to the graph's scale.

    Raises:
        UnknownGroup, WrongShape, BadValues, BadInput.
    """
    data = _in_memory(data)
    if hasattr(data, "images") and hasattr(data, "labels"):                # an ImageSet
        data = (data.images, data.labels)
    if not isinstance(data, Mapping) and not graph.topology.sensory:
        raise BadInput(f"data without names could be for any of the groups {', '.join(graph.topology.groups)}; say "
                       "sensory=[...] when you make the topology, or give {group: values}.")
    if hasattr(data, "__array__") and "labels" not in graph.topology.groups:        # a tensor or array
        data = {graph.topology.sensory[0]: data}
    if not isinstance(data, Mapping):
        data = _placed(graph, data)
    for name, values in data.items():
        if isinstance(values, Observed):
            raise BadInput(f"{name} is observed(...), known in part; training and scores need whole data. Fill its "
                           "gaps, or leave out the examples that have some.")
    batch = {name: flattened(graph, name, values, name) for name, values in data.items()}
    if len({len(values) for values in batch.values()}) != 1 or not all(len(v) for v in batch.values()):
        raise WrongShape(f"groups differ in length or are empty: { {n: len(v) for n, v in batch.items()} }.")
    return batch


def _placed(graph: PCGraph, pair: object) -> dict[str, object]:
    """Group -> values of ``(images, labels)``, whatever the two groups are called. Raises BadInput.

    Where the graph has one group of data, which takes the images, class numbers are left out.
    """
    sensory, named = graph.topology.sensory, "labels" in graph.topology.groups
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        has = "this graph has labels, and " if named else ""
        raise BadInput(f"{has}the data is a {type(pair).__name__}; expected (images, labels), a tensor or array of "
                       "images for a graph without labels, or a mapping of group to tensor such as {'pixels': images}.")
    into = [*[name for name in sensory if name != "labels"][:1], "labels"] if named else list(sensory)
    if (named and len(into) < 2) or len(into) > 2:
        raise BadInput("it is not plain which groups (images, labels) are for: the graph's groups of data are "
                       f"{', '.join(map(repr, sensory))}. Give {{group: values}}.")
    if len(into) == 1:
        try:
            valid.labels(pair[1], count=valid.tensor(pair[0], into[0]).shape[:1].numel())
        except BadInput as error:
            raise BadInput(f"only {into[0]!r} is a group of data of this graph, so that (images, labels) leaves out "
                           f"class numbers; {error} Give {{group: values}} for other data.") from None
    return dict(zip(into, pair, strict=False))


def _with_batch_size(data: object, settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """The settings of a training, with a loader's batch size where none is set. Raises BadInput: it is torch's 1."""
    if not isinstance(data, DataLoader) or data.batch_size is None or "batch_size" in settings:
        return settings
    if data.batch_size == 1:
        raise BadInput("the DataLoader has batch_size = 1, the default of torch, and a weight update for each example "
                       "is seldom meant. Say fit(..., batch_size=...), 1 if it is, or give the loader another one.")
    return {"batch_size": data.batch_size, **settings}


def _in_memory(data: object) -> Any:
    return gathered(data) if isinstance(data, Dataset | DataLoader) else data


def gathered(data: Dataset | DataLoader) -> Data:
    """All examples of a torch data set, read once in its own order: a tensor, a tuple of them, or group -> tensor.

    Raises BadInput: it has no end or no examples, a sampler of its own, or examples that are no numbers of one size.
    """
    loader = data if isinstance(data, DataLoader) else DataLoader(data, batch_size=CHUNK)
    if isinstance(loader.dataset, IterableDataset) or not hasattr(loader.dataset, "__len__"):
        raise BadInput(f"{type(loader.dataset).__name__} says no length; expected a data set that fits into memory.")
    if loader.batch_size is None:                                          # batch_sampler=..., or said to be None
        raise BadInput("the loader makes its own batches; give the data set and fit(..., batch_size=...).")
    one, every = loader.sampler, len(cast(Sized, loader.dataset))
    drawn = isinstance(one, RandomSampler) and (one.replacement or len(one) != every)
    if drawn or not isinstance(one, SequentialSampler | RandomSampler):
        raise BadInput(f"the loader takes its examples from a {type(one).__name__}, and fit shuffles by its "
                       "own generator; give torch.utils.data.Subset(dataset, rows) for some of the examples.")
    in_order = DataLoader(loader.dataset, loader.batch_size, collate_fn=loader.collate_fn,
                          num_workers=loader.num_workers)
    try:
        if batches := list(in_order):
            return _joined(batches)
    except (TypeError, RuntimeError) as error:
        raise BadInput(f"the examples of {type(loader.dataset).__name__} cannot be put into tensors ({error}); give "
                       "it numbers, all of one size; torchvision.transforms.ToTensor and Resize make them.") from error
    raise BadInput(f"the {type(loader.dataset).__name__} has no examples.")


def _joined(batches: Sequence[Any]) -> Data:
    """The batches of a loader one after the other."""
    if isinstance(batches[0], Mapping):
        return {name: torch.cat([batch[name] for batch in batches]) for name in batches[0]}
    if isinstance(batches[0], Tensor):
        return torch.cat(list(batches))
    parts = tuple(map(torch.cat, zip(*batches, strict=True)))
    return parts[0] if len(parts) == 1 else parts


def pictures(graph: PCGraph, data: Data) -> Batch:
    """``as_batch`` for training: a graph with a scale refuses pixels well outside [0, 1] (BadInput).

    They were scaled by hand, and the graph would scale them again.
    """
    batch, scale = as_batch(graph, data), graph.pixel_scale
    if "pixels" in batch and not scale.plain:
        valid.clean(batch["pixels"], "pixels", valid.OUTSIDE, " Scale no images by hand that the model scales itself "
                    "(graph.pixel_scale).")
    return batch


def scaled(graph: PCGraph, batch: Batch) -> Batch:
    """A batch with its pixels on the graph's own scale, as ``started`` clamps it."""
    return {name: graph.pixel_scale.apply(values) if name == "pixels" else values for name, values in batch.items()}


def _count(batch: Batch) -> int:
    return len(next(iter(batch.values())))


def _rows(batch: Batch, rows: Tensor) -> dict[str, Tensor]:
    return {name: values.index_select(0, rows.to(values.device)) for name, values in batch.items()}


def _drawn(train: Batch, rows: Tensor, state: State) -> Batch:
    """A batch of the training data, its pixels changed as the schedule says. Raises BadInput: it has none to change."""
    batch = _rows(train, rows)
    if state.schedule.augment == "none":
        return batch
    if "pixels" not in batch:
        raise BadInput(f"augment = {state.schedule.augment!r} changes the group 'pixels', and the data has only "
                       f"{', '.join(batch)}; expected images, or augment='none'.")
    return batch | {"pixels": state.augmented(batch["pixels"])}


def _split(graph: PCGraph, data: object, validation: object,
           generator: torch.Generator) -> tuple[Batch, Batch | None]:
    """Training data, on the graph's own scale, and where asked for validation data, pixels in [0, 1]."""
    if next(graph.parameters(), None) is None:
        raise BadInput("the graph has no edges, so there is nothing to learn; give its topology at least one.")
    data = pictures(graph, data)
    if not isinstance(validation, Real):                                   # numpy's, too
        return scaled(graph, data), None if validation is None else pictures(graph, validation)
    if not 0 < validation < 1:  # type: ignore[operator]
        raise BadInput(f"validation = {validation}; a share lies between 0 and 1.")
    order = torch.randperm(_count(data), generator=generator)
    if (held_out := max(1, round(float(validation) * len(order)))) == len(order):
        raise BadInput(f"validation = {validation} holds out {held_out} of {len(order)} examples, none is left to "
                       "train on; expected at least one on either side. Give a smaller share, or more data.")
    return scaled(graph, _rows(data, order[held_out:])), _rows(data, order[:held_out])


def _known_as(measure: Callable) -> str:
    """What a checkpoint calls a score: its name, and what a function of the caller's does, as lambdas share a name."""
    if isinstance(measure, partial):
        filled = [*measure.args, *chain(*sorted(measure.keywords.items()))]
        return f"{_known_as(measure.func)} of {[_argument(one) for one in filled]}"
    called: Any = measure if hasattr(measure, "__qualname__") else type(measure)
    name, code = called.__qualname__, getattr(measure, "__code__", None) or getattr(called.__call__, "__code__", None)
    return name if code is None or measure in SCORES.values() else f"{name}: {_does(code)}"


def _argument(given: object) -> str:
    """An argument that a score has already."""
    if isinstance(given, Tensor):
        return tensor_digest({"": given})
    return _known_as(given) if callable(given) else repr(given)


def _does(code: CodeType) -> str:
    """Digest of a function's instructions, names and constants, wherever it stands in its file."""
    constants = [_does(c) if isinstance(c, CodeType) else sorted(map(repr, c)) if isinstance(c, frozenset) else repr(c)
                 for c in code.co_consts]
    return sha256(repr((code.co_code, code.co_names, code.co_freevars, constants)).encode()).hexdigest()[:16]


def _as_score(measure: Callable, found: Any) -> float:
    """What a score function returned, as a float. Raises BadInput: it is not one number."""
    try:
        if isinstance(found, str | bytes):
            raise TypeError                                                # which ``float`` would read
        return float(found)
    except (TypeError, ValueError, RuntimeError):
        name = getattr(measure, "__qualname__", type(measure).__name__)
        raise BadInput(f"the score function {name} returned {shown(found)}; expected one number.") from None


def _classes(batch: Batch) -> bool:
    """Whether the labels say a class each, of two or more: one vertex is 1, the others are 0."""
    labels = batch.get("labels", torch.zeros(1, 1))                        # (batch, size)
    return bool(labels.shape[-1] > 1 and ((labels == 0) | (labels == 1)).all() and (labels.sum(-1) == 1).all())


def _measure(score: Any, held_out: Batch | None, train: Batch) -> Callable[[PCGraph, Batch], float]:
    if score == "auto":
        score = "accuracy" if held_out and len(held_out) > 1 and _classes(held_out) else "energy"
    if held_out is None and (callable(score) or score == "completion"):
        said = "the score function" if callable(score) else f"score={score!r}"
        raise BadInput(f"{said} has no validation data to score; give some, such as validation=0.1, or leave it out.")
    if callable(score):
        return score
    if score == "accuracy" and (held_out is None or held_out.get("labels", torch.empty(0)).shape[-1] < 2):
        raise BadInput("score='accuracy' needs validation data with labels of two classes or more; use score='energy'.")
    if score == "energy" and held_out and (lacking := sorted(train.keys() - held_out.keys())):
        raise BadInput(f"the validation data lack {', '.join(lacking)}, which training clamps, and an energy without "
                       "them says nothing of the training; give them, or another score.")
    return SCORES[score]
