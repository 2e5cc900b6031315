"""Learning: torch's own schedules, graphs trained alone, data in other forms, and an undisturbed run after a kill. That
a batch is algorithm 1, whatever the plan, is in test_exactness.py."""

import multiprocessing
import os
import re
import signal
import time
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from strategies import constructed
from torch.optim import lr_scheduler
from torch.utils.data import DataLoader, Dataset, Subset, TensorDataset

from pcgraph_lite import PCGraph, Scale, accuracy, fit, load, minus_energy, query, relax, save, topology
from pcgraph_lite.engine import inference
from pcgraph_lite.engine.epochs import Schedule, State, one_pass
from pcgraph_lite.engine.hessian import largest_eigenvalue
from pcgraph_lite.engine.learning import Training, _known_as, _split, as_batch, minus_completion_error
from pcgraph_lite.errors import BadFile, BadInput, PCGraphError, WrongShape
from pcgraph_lite.images.datasets import ImageSet


def small(**arguments: object) -> PCGraph:
    return PCGraph(topology.generative(3, [5, 4], 6), dtype=torch.float64, **arguments)


def toy(count: int = 60, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Three noisy patterns with their labels."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(3, (count,), generator=generator)
    patterns = torch.tensor([[1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0], [0, 0, 0, 0, 1, 1]], dtype=torch.float64)
    noise = 0.1 * torch.randn(count, 6, generator=generator, dtype=torch.float64)
    return (patterns[labels] + noise).clamp(0, 1), labels


@pytest.mark.parametrize("optimizer", ["adam", "adamw", "sgd"])
@pytest.mark.parametrize("more", [
    {"validation": toy(30, 1)}, {"value_lr": (0.05, 0.2, 0.1), "weight_lr": (1e-3, 1e-2, 3e-3)},
    {"weight_lr": (1e-3, 1e-2, 3e-3), "anneal": "cosine", "warm_up": 0.5}])
def test_replicas_train_as_graphs_of_their_own(optimizer, more):
    settings = {"epochs": 2, "batch_size": 20, "steps": 9, "value_lr": 0.1, "weight_decay": 0.1, "optimizer": optimizer,
                "progress": False} | more
    together = small(replicas=3)
    singles = [together.replica(k) for k in range(3)]
    fit(together, toy(), **settings)
    for k, single in enumerate(singles):
        fit(single, toy(), **settings | {name: settings[name][k] for name in ("value_lr", "weight_lr")
                                         if isinstance(settings.get(name), tuple)})
        torch.testing.assert_close(together.weight[k], single.weight, rtol=1e-8, atol=1e-10)
    assert not torch.equal(together.weight[0], together.weight[1])


def taken(schedule: Schedule, batches: int) -> list[float]:
    """The weight updates of a training: plain gradient steps along a slope of 1, two examples a batch."""
    layer, seen = torch.nn.Linear(1, 1, dtype=torch.float64), []
    state = State(layer, schedule, torch.Generator(), None, {})

    def learn(rows: torch.Tensor) -> dict[str, float]:
        layer.weight.grad = torch.ones(1, 1, dtype=torch.float64)
        seen.append(layer.weight.item())
        return {}

    for _ in range(schedule.epochs):
        state.end_epoch(one_pass(state, 2 * batches, learn, progress=False), None)
    return (-torch.tensor([*seen, layer.weight.item()], dtype=torch.float64).diff()).tolist()


@pytest.mark.parametrize("warm_up", [0, 1, 2])
@pytest.mark.parametrize(("anneal", "fall"), [
    ("cosine", lr_scheduler.CosineAnnealingLR), ("linear", lambda o, steps: lr_scheduler.LinearLR(o, 1, 0, steps)),
    ("none", lambda o, steps: lr_scheduler.ConstantLR(o, 1))])
def test_a_falling_learning_rate_is_torchs(anneal: str, fall: Callable, warm_up: int):
    """Four epochs of three batches, against torch.optim.lr_scheduler; its warm-up is a line to the full step."""
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.5)
    rising = 3 * warm_up
    expected, falling = [0.5 * (k + 1) / rising for k in range(rising)], fall(optimizer, 12 - rising)
    for _ in range(12 - rising):
        expected.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        falling.step()
    schedule = Schedule(4, 0.5, batch_size=2, optimizer="sgd", anneal=anneal, warm_up=warm_up)
    assert taken(schedule, 3) == pytest.approx(expected, rel=1e-9)


def test_a_warm_up_may_end_within_an_epoch():
    """By hand, two batches an epoch: 0.5/0.75 of the step, all of it, then down a line from 0.75 to 2 epochs."""
    schedule = Schedule(2, 1.0, batch_size=2, optimizer="sgd", anneal="linear", warm_up=0.75)
    assert taken(schedule, 2) == pytest.approx([2 / 3, 1, 1 - 0.25 / 1.25, 1 - 0.75 / 1.25])


def test_scores_are_what_they_say():
    """Accuracy by hand, minus the energy of eq. 2, minus the squared error of a copied half."""
    images, labels = toy(12)
    mute = small(init_std=0)                                               # predicts 0 everywhere
    batch = {"pixels": images, "labels": labels}
    assert accuracy(mute, (images, labels)) == pytest.approx(float((labels == 0).double().mean()))   # a tie: the first
    for replicas in (None, 2):                                             # of clamped vertices alone
        visible = PCGraph(topology.from_mask(torch.ones(6, 6)), replicas=replicas, dtype=torch.float64)
        everywhere = images.expand(*visible.layout.lead, 12, 6)
        assert minus_energy(visible, {"vertices": images}) == pytest.approx(-float(visible.energy(everywhere).mean()))
    held = (images.square().sum(-1) + 1).mean() / 2                        # pixels and one-hot labels against 0
    assert minus_energy(mute, batch) == pytest.approx(-float(held))
    edges = torch.eye(6, dtype=torch.float64).roll(3, 1).triu(1)           # vertex k predicts vertex k + 3
    copy = PCGraph(topology.from_mask(edges), "linear", dtype=torch.float64)
    copy.set_weight(edges)
    expected = (images[:, 3:] - images[:, :3]).square().mean()
    assert minus_completion_error(copy, {"vertices": images}) == pytest.approx(-float(expected), rel=1e-3)


@pytest.mark.parametrize("name", ["pixels", "vertices"])
def test_the_score_of_completion_asks_for_the_lower_half_in_every_colour(name: str) -> None:
    """A graph that copies the upper two rows of each 4 x 4 plane: its mistakes are counted here by hand. A group of
    another name is cut in two, whatever its size."""
    images = torch.rand(5, 3, 4, 4, dtype=torch.float64)
    upper, lower = (images[:, :, :2], images[:, :, 2:]) if name == "pixels" else images.view(5, 2, 24).unbind(1)
    place = torch.arange(48).view(3, 4, 4)
    first, second = (place[:, :2], place[:, 2:]) if name == "pixels" else place.view(2, 24)
    edges = torch.zeros(48, 48, dtype=torch.float64)
    edges[first.flatten(), second.flatten()] = 1
    graph = PCGraph(topology.from_mask(edges, {name: 48}), "linear", dtype=torch.float64)
    graph.set_weight(edges)
    assert minus_completion_error(graph, images) == pytest.approx(-float((lower - upper).square().mean()), rel=1e-3)


@pytest.mark.parametrize("among", [[], [topology.Edges("pixels", "pixels")]])
def test_a_feedforward_graph_is_scored_by_its_forward_pass(among: list[topology.Edges]):
    """However large its weights: from zeros, a hundred steps do not reach the bottom of so narrow a valley. Edges among
    what is held change nothing."""
    made = topology.discriminative(20, [30, 30, 30], 10)
    made = topology.Topology(made.groups, [*made.edges, *among], made.sensory)
    graph = PCGraph(made, "relu", init_std=0.6, prior="flat", dtype=torch.float64)
    images = torch.rand(200, 20, dtype=torch.float64)
    values, below = images, "pixels"
    for above in ("hidden1", "hidden2", "hidden3", "labels"):
        values, below = values.relu() @ graph.weight[made.slice(below), made.slice(above)], above
    read = values.argmax(-1)
    assert accuracy(graph, (images, read)) == 1
    assert accuracy(graph, (images, (read + 1) % 10)) == accuracy(graph, (images, (read - 1) % 10)) == 0
    asked = query(graph, {"pixels": images}, steps=100, momentum=0.95).values["labels"]
    assert (asked.argmax(-1) != values.argmax(-1)).double().mean() > 0.2


@pytest.mark.parametrize(("size", "truth", "score"), [
    (1, toy()[0][:, :1], minus_energy), (1, (toy()[1] > 0)[:, None], minus_energy), (3, toy()[0][:, :3], minus_energy),
    (3, toy()[1], accuracy), (3, torch.eye(3)[toy()[1]], accuracy)])
def test_accuracy_is_the_score_of_classes_alone(size: int, truth: torch.Tensor, score: Callable) -> None:
    """One column is its own largest entry, and numbers that are no classes have none that is right."""
    graph = PCGraph(topology.discriminative(6, [4], size), dtype=torch.float64)
    data = (toy()[0], truth)
    found = fit(graph, data, epochs=1, weight_lr=1e-12, validation=data, progress=False)["validation"][0]
    assert found == pytest.approx(score(graph, data), rel=1e-6)


@pytest.mark.parametrize("number", [float, np.float32])
def test_a_held_out_share_is_not_trained_on(number: type):
    graph, (images, labels) = small(), toy(40)
    train, held_out = _split(graph, (images, labels), number(0.25), torch.Generator().manual_seed(0))
    rows = torch.cat([train["pixels"], held_out["pixels"]])
    assert len(held_out["pixels"]) == 10 and len(rows) == 40
    assert torch.equal(rows.sort(0).values, images.sort(0).values)


@pytest.mark.parametrize("name", topology.CONSTRUCTORS)
def test_images_go_to_the_pixels_and_labels_to_the_labels(name: str) -> None:
    """(images, labels) means the same on every topology of the paper, wherever the groups stand."""
    graph, images, labels = PCGraph(constructed(name)), torch.rand(4, 6), torch.tensor([0, 2, 1, 1])
    batch = as_batch(graph, (images, labels))
    assert batch.keys() == {"pixels", "labels"} == set(graph.topology.sensory)
    assert torch.equal(batch["pixels"], images) and torch.equal(batch["labels"].argmax(-1), labels)


@pytest.mark.parametrize(("sensory", "expected"), [(["seen", "target"], ["seen", "target"]), (["target", "seen"],
                                                   ["target", "seen"]), (["seen"], ["seen"])])
def test_a_pair_goes_to_the_groups_of_data_whatever_their_names(sensory: list[str], expected: list[str]) -> None:
    """Both parts of it, in their order; only class numbers are left out, where there is one group."""
    graph = PCGraph(topology.from_mask(torch.ones(5, 5), {"seen": 2, "target": 2, "free": 1}, sensory))
    pair = torch.rand(3, 2), torch.rand(3, 2) if len(sensory) > 1 else torch.tensor([0, 2, 1])
    for data in (pair, TensorDataset(*pair)):
        batch = as_batch(graph, data)
        assert list(batch) == expected
        assert all(torch.equal(*both) for both in zip(batch.values(), pair, strict=False))


@pytest.mark.parametrize("data", [torch.rand(3, 2), np.ones((3, 2)), (torch.rand(3, 2), torch.tensor([0, 2, 1])),
                                  TensorDataset(torch.rand(3, 2), torch.rand(3, 2))])
@pytest.mark.parametrize("loaded", [False, True])
def test_data_without_names_never_goes_to_a_group_by_chance(tmp_path: Path, data: object, loaded: bool) -> None:
    """Nothing says that the first of several groups, here a hidden one, is for data; a file does not say it either."""
    graph = PCGraph(topology.from_mask(torch.ones(4, 4), {"hidden": 2, "features": 2}))
    if loaded:
        save(graph, tmp_path / "graph")
        graph = load(tmp_path / "graph")
    with pytest.raises(BadInput, match=r"any of the groups hidden, features; say sensory=.*give \{group: values\}"):
        as_batch(graph, data)
    assert list(as_batch(graph, {"features": torch.rand(3, 2)})) == ["features"]


@pytest.mark.parametrize(("numbers", "size", "says"), [
    (torch.tensor([2, 0]), 3, r"digits.* is \(2,\); expected \(batch, 3\).*only 'labels' takes class numbers"),
    (torch.tensor([2.0, 0.0]), 3, r"\(2,\); expected \(batch, 3\) or images that flatten to it\.$"),
    (torch.tensor([88, 110]), 1, r"expected \(batch, 1\).*\[:, None\] makes a column"),
    (torch.tensor([8.5, 0.5]), 1, r"expected \(batch, 1\).*\[:, None\] makes a column")])
def test_a_vector_is_of_class_numbers_for_labels_alone(numbers: torch.Tensor, size: int, says: str) -> None:
    """In training as in a query: elsewhere whole numbers may be values. By hand: of three labels that one is 1."""
    digits = PCGraph(topology.from_mask(torch.ones(2 + size, 2 + size), {"pixels": 2, "digits": size}))
    for use in (as_batch, query):
        with pytest.raises(WrongShape, match=says):
            use(digits, {"pixels": torch.ones(2, 2), "digits": numbers})
    with pytest.raises(BadInput, match="labels: class numbers run from 2 to 3; expected 0 to 2"):
        as_batch(small(), (torch.ones(2, 6), torch.tensor([2, 3])))
    assert as_batch(small(), (torch.ones(2, 6), torch.tensor([2, 0])))["labels"].tolist() == [[0, 0, 1], [1, 0, 0]]


def test_the_help_of_fit_names_every_setting() -> None:
    said = fit.__doc__.split("settings: fields of Training: ")[1].split("Returns:")[0]
    assert {field.name for field in fields(Training)} == set(re.findall(r"\w+", said.replace(
        "(explained in ``pcgraph_lite.engine.epochs.Schedule``)", "")))


@pytest.mark.parametrize("number", [float, torch.tensor, np.float32])
def test_the_best_epoch_is_kept_and_patience_stops(tmp_path: Path, number: Callable):
    """Whatever number a score is; the checkpoint holds it, too."""
    scores = iter([0.125, 0.875, 0.5, 0.375, 0.25, 0.0])
    seen = []

    def score(graph: PCGraph, batch: object) -> float:
        seen.append(graph.weight)
        return number(next(scores))

    graph = small()
    history = fit(graph, toy(), epochs=6, patience=2, validation=0.2, score=score, checkpoint=tmp_path / "s",
                  progress=False)
    assert history.validation.tolist() == [0.125, 0.875, 0.5, 0.375]
    assert torch.equal(graph.weight, seen[1])


@pytest.mark.parametrize(("error", "file", "epochs", "says"), [
    (RuntimeError, None, 3, "stop"), (KeyboardInterrupt, "state", 3, "the same call resumes .*state"),
    (KeyboardInterrupt, None, 1, r"those of the last batch, and its attribute history has 1 row\."),
    (KeyboardInterrupt, None, 3, r"^training stopped in epoch 4 of 9: the model has weights, the best so far, of epoch "
                                 r"1, and its attribute history has 3 rows\.$")])
def test_ctrl_c_keeps_weights_and_history(tmp_path: Path, error: type, file: str | None, epochs: int, says: str):
    """Of three epochs the first is the best. After one, there is no validation, and its weights are those reached."""
    seen, graph, scored = [], small(), epochs > 1

    def stop(graph: PCGraph, row: object) -> None:
        seen.append(graph.weight)
        if len(seen) == epochs:
            raise error("stop")

    with pytest.raises(error, match=says):
        fit(graph, toy(), score=(lambda *_: 1 / (1 + len(seen))) if scored else "auto", callback=stop, epochs=9,
            checkpoint=file and tmp_path / file, validation=0.2 if scored else None, batch_size=20, progress=False)
    assert torch.equal(graph.weight, seen[0]) and graph.history["epoch"].tolist() == [1, 2, 3][:epochs]
    assert not scored or graph.history["validation"].tolist() == [1, 1 / 2, 1 / 3]


def test_a_callback_ends_a_training_in_peace(tmp_path: Path) -> None:
    """With the weights of the best epoch, and a checkpoint from which it goes on as if undisturbed."""
    def stop(graph: PCGraph, row: dict[str, float]) -> None:
        if row["epoch"] == 3:
            raise StopIteration

    def score(graph: PCGraph, batch: object) -> float:
        return -float((graph.weight - weights[0]).abs().sum()) if weights else 0.0

    def trained(**more: object) -> tuple[PCGraph, pd.DataFrame]:
        graph = small()
        return graph, fit(graph, toy(), validation=0.2, score=score, batch_size=20, progress=False, **more)

    weights: list[torch.Tensor] = []
    weights.append(trained(epochs=1)[0].weight)                            # of the first epoch, which the score likes
    graph, history = trained(epochs=9, callback=stop, checkpoint=tmp_path / "s")
    assert history["epoch"].tolist() == graph.history["epoch"].tolist() == [1, 2, 3]
    assert torch.equal(graph.weight, weights[0])
    resumed, undisturbed = (trained(epochs=5, checkpoint=file)[1]["energy"].tolist() for file in (tmp_path / "s", None))
    assert resumed == undisturbed


def listed(images: torch.Tensor, labels: torch.Tensor, names: tuple[str, ...] = ()) -> Subset:
    """Examples one by one with whole numbers, as torchvision has them."""
    examples = list(zip(images, labels.tolist(), strict=True))
    return Subset([dict(zip(names, pair, strict=True)) if names else pair for pair in examples], range(len(examples)))


@pytest.mark.parametrize(("names", "wrap"), [
    *((("pixels", "labels"), wrap) for wrap in (
        listed, TensorDataset, lambda *parts: listed(*parts, names=("pixels", "labels")),
        lambda *parts: ImageSet("mine", *parts, (1, 2, 3)), lambda *parts: DataLoader(listed(*parts), batch_size=20),
        lambda *parts: DataLoader(TensorDataset(*parts), batch_size=20, shuffle=True, drop_last=True),
        lambda *parts: tuple(part.numpy() for part in parts))),
    *((("pixels",), wrap) for wrap in (TensorDataset, lambda images: images, lambda images: images.numpy(),
                                       lambda images: DataLoader(TensorDataset(images), batch_size=20)))])
def test_a_data_set_trains_as_its_tensors(names: tuple[str, ...], wrap: Callable):
    """With labels or without, in whatever form; a loader says its batch size, and may shuffle as ``fit`` does."""
    graph, twin = (PCGraph(topology.generative(3 * ("labels" in names), [5], 6), dtype=torch.float64) for _ in range(2))
    data, held_out = (dict(zip(names, toy(*drawn), strict=False)) for drawn in ((60, 0), (20, 1)))
    wrapped, settings = wrap(*data.values()), {"epochs": 2, "score": "energy", "progress": False}
    size = {} if isinstance(wrapped, DataLoader) else {"batch_size": 20}
    fit(graph, wrapped, validation=wrap(*held_out.values()), **settings | size)
    fit(twin, data, validation=held_out, batch_size=20, **settings)
    assert torch.equal(graph.weight, twin.weight)


def test_a_data_set_is_read_once() -> None:
    """One that draws its examples shows others at every look: each of the sixty is asked for once."""
    asked: list[int] = []

    class Drawn(Dataset):
        def __len__(self) -> int:
            return 60

        def __getitem__(self, k: int) -> torch.Tensor:
            asked.append(k)
            return torch.rand(6)

    fit(PCGraph(topology.generative(0, [5], 6)), Drawn(), epochs=2, validation=0.2, progress=False)
    assert asked == list(range(60))


@pytest.mark.parametrize("replicas", [None, 2])
@pytest.mark.parametrize("falling", [{}, {"anneal": "cosine", "warm_up": 1.5}])
def test_a_killed_training_resumes_to_the_same_weights(tmp_path: Path, falling: dict, replicas: int | None):
    """kill -9 in the middle, then the same call again: bit for bit the weights of an undisturbed run."""
    path, settings = tmp_path / "state.safetensors", falling | {
        "epochs": 5, "batch_size": 20, "validation": 0.2, "score": "energy", "progress": False}

    def kill(*_: object) -> None:
        if path.exists():
            os.kill(os.getpid(), signal.SIGKILL)

    child = multiprocessing.get_context("fork").Process(
        target=fit, args=(small(replicas=replicas), toy()), kwargs=settings | {"checkpoint": path, "callback": kill})
    child.start()
    child.join()
    assert child.exitcode == -signal.SIGKILL
    resumed, undisturbed = small(replicas=replicas), small(replicas=replicas)
    history = fit(resumed, toy(), checkpoint=path, **settings)
    expected = fit(undisturbed, toy(), **settings)
    assert torch.equal(resumed.weight, undisturbed.weight)
    pd.testing.assert_frame_equal(history.drop(columns="seconds"), expected.drop(columns="seconds"))


@pytest.mark.parametrize("replicas", [None, 2])
def test_the_safe_step_is_found_anew_every_20_weight_updates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, replicas):
    """Counted through epochs and kills: 41 epochs of one batch need 3 looks, and resuming changes nothing."""
    looks = []
    monkeypatch.setattr(inference, "largest_eigenvalue", lambda one: looks.append(one) or largest_eigenvalue(one))
    settings = {"batch_size": 60, "progress": False}
    resumed, undisturbed = small(replicas=replicas), small(replicas=replicas)
    for epochs in (7, 30, 41):
        history = fit(resumed, toy(), epochs=epochs, checkpoint=tmp_path / "s", **settings)
    assert len(looks) == 3
    expected = fit(undisturbed, toy(), epochs=41, **settings)
    assert len(looks) == 6 and torch.equal(resumed.weight, undisturbed.weight)
    assert history.value_lr.tolist() == expected.value_lr.tolist() and history.value_lr.nunique() == 3


def test_one_line_of_progress_is_left(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all epochs: the lines down that are not taken back up. The bar of an epoch leaves with it. A program without
    stderr, as in the background with `2>&-`, trains to the same weights and has no bar."""
    graph, other, settings = small(), small(), {"epochs": 2, "steps": 1, "batch_size": 20}
    fit(graph, toy(), **settings)
    shown = capsys.readouterr().err
    assert "epoch 2" in shown and shown.count("\n") - shown.count("\x1b[A") == 1
    monkeypatch.setattr("sys.stderr", None)
    fit(other, toy(), **settings)
    assert torch.equal(graph.weight, other.weight)


def test_checkpoints_cost_little_where_epochs_are_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Writing made a hundred times slower than an epoch: few are written, the last epoch's always."""
    written, write = [], save_file

    def slow(*arguments: object) -> None:
        written.append(arguments)
        time.sleep(0.3)
        write(*arguments)

    monkeypatch.setattr("safetensors.torch.save_file", slow)
    graph, path = small(), tmp_path / "s"
    fit(graph, toy(), epochs=40, batch_size=100, checkpoint=path, progress=False)
    assert 2 <= len(written) <= 8
    resumed = small()
    assert len(fit(resumed, toy(), epochs=40, batch_size=100, checkpoint=path, progress=False)) == 40
    assert torch.equal(resumed.weight, graph.weight)


def worlds(seed: int = 0, activation: str = "tanh", **more: object) -> PCGraph:
    edges = topology.small_world(6, 3, 5, neighbours=4, generator=torch.Generator().manual_seed(seed))
    return PCGraph(edges, activation, dtype=torch.float64, **more)


def of_group(name: str) -> dict[str, object]:
    """A graph and data for one of its two groups, which are alike."""
    graph = PCGraph(topology.from_mask(torch.ones(12, 12), {"a": 6, "b": 6}), dtype=torch.float64)
    return {"graph": graph, "data": {name: toy()[0]}}


HELD_OUT, COSINE = {"epochs": 1, "validation": 0.2, "score": "accuracy"}, {"epochs": 2, "anneal": "cosine"}


@pytest.mark.parametrize(("first", "change", "says"), [
    (of_group("a") | {"epochs": 1}, of_group("b"), ""),
    *(({"epochs": 1}, {"graph": worlds(**other), "epochs": 2}, "") for other in (      # as many weights in all of them
        {"seed": 1}, {"pixel_scale": Scale("[-1, 1]", 0.5, 0.5)})),
    *(({"epochs": 1}, {"graph": worlds(**other), "epochs": 2}, f"; what differs: {says}\\.") for other, says in (
        ({"activation": "relu"}, r"activations \[.*'tanh'.*\] -> \[.*'relu'.*\]"),
        ({"prior": "flat"}, "prior zero -> flat"))),
    *((HELD_OUT, change, f"; what differs: {says}\\. .*with epochs=1; then call") for change, says in (
        ({"validation": None, "score": "auto"}, "clamped .*, data or generator, score accuracy -> None"),
        ({"validation": 0.3}, "data or generator"), ({"score": "energy"}, "score accuracy -> minus_energy"),
        ({"steps": 3, "epochs": 2, "augment": "shift and mirror"}, "augment none -> shift and mirror, steps 20 -> 3"),
        ({"generator": torch.Generator().manual_seed(1)}, "data or generator"),
        ({"data": (toy()[0].flip(0), toy()[1])}, "data or generator"))),
    *(({"epochs": 1, "validation": 0.2, "score": lambda *_: 0.5}, {"score": other}, "") for other in (
        lambda *_: 0.25, lambda *_: min(0.5, 1), lambda *_: (lambda: 0.25)())),
    *((COSINE, change, f"; what differs: {says}\\. .*that wrote it; then call") for change, says in (
        ({"anneal": "linear"}, "anneal cosine -> linear"), ({"warm_up": 0.5}, r"warm_up 0\.0 -> 0\.5"),
        ({"anneal": "none"}, "anneal cosine -> none, epochs 2 -> any"), ({"epochs": 3}, "epochs 2 -> 3")))])
def test_a_checkpoint_knows_its_graph_its_data_and_its_settings(tmp_path: Path, first: dict, change: dict, says: str):
    usual = {"graph": worlds(), "data": toy(), "checkpoint": tmp_path / "s", "progress": False}
    fit(**usual | first)
    with pytest.raises(BadFile, match=f"another training{says}"):
        fit(**usual | {"graph": worlds()} | first | change)


def test_a_training_goes_on_at_another_rate_as_its_refusal_says(tmp_path: Path) -> None:
    """Against the same weights handed over by hand. The checkpoint of the first rate stays as it is."""
    usual = {"data": toy(), "batch_size": 20, "validation": 0.2, "score": "energy", "progress": False}
    first, old = small(), tmp_path / "old"
    fit(first, epochs=3, weight_lr=1e-3, checkpoint=old, **usual)
    with pytest.raises(BadFile, match=r"weight_lr 0\.001 -> 0\.0001\. To go on .* with epochs=3; then call again"):
        fit(small(), epochs=5, weight_lr=1e-4, checkpoint=old, **usual)
    graph = small()
    fit(graph, epochs=3, weight_lr=1e-3, checkpoint=old, **usual)
    assert torch.equal(graph.weight, first.weight)
    for one, file in ((first, None), (graph, tmp_path / "new")):
        assert len(fit(one, epochs=2, weight_lr=1e-4, checkpoint=file, **usual)) == 2
    assert torch.equal(graph.weight, first.weight)


SIX = {"a": 3, "b": 2, "c": 1}


@pytest.mark.parametrize(("mask", "first", "other", "says"), [
    (torch.eye(6), {"plan": "sparse"}, {"plan": "blocks"}, "weights in another form: its graph had another plan"),
    (torch.ones(6, 6), {"pools": [["a", "b"], ["c"]]}, {"pools": [["a"], ["b", "c"]]}, "another training")])
def test_a_checkpoint_knows_the_plan_and_the_pools_of_its_graph(tmp_path: Path, mask, first, other, says) -> None:
    """A row of weights would fit into a matrix, and as many vertices compete in other pools."""
    def trained(epochs: int, plan: str = "dense", pools: object = ()) -> pd.DataFrame:
        graph = PCGraph(topology.from_mask(mask, SIX, pools=pools), top_k=0.5, plan=plan)
        return fit(graph, {"a": toy()[0][:, :3]}, epochs=epochs, checkpoint=tmp_path / "s", progress=False)

    assert len(trained(1, **first)) == 1 and len(trained(2, **first)) == 2
    with pytest.raises(BadFile, match=says):
        trained(3, **other)


def test_a_score_function_is_known_by_what_it_does() -> None:
    """The same text on other lines is the same function, with whatever stands inside it or is filled in."""
    text = "lambda graph, batch: max(map(lambda k: k in {'a', 'b'}, batch))"
    for once, again, other in (map(eval, (text, f"(\n\n{text})", text.replace("'b'", "'c'"))),
                               (partial(minus_energy, share=share) for share in (0.5, 0.5, 1.0))):
        assert _known_as(once) == _known_as(again) != _known_as(other)
    assert _known_as(accuracy) == "accuracy"


def test_a_full_disk_leaves_the_last_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "state.safetensors"
    fit(small(), toy(), epochs=1, checkpoint=path, progress=False)
    before, full = path.read_bytes(), SafetensorError("I/O error: No space left on device (os error 28)")
    monkeypatch.setattr("safetensors.torch.save_file", mock.Mock(side_effect=full))
    with pytest.raises(PCGraphError, match=r"No space left.*untouched"):
        fit(small(), toy(), epochs=2, checkpoint=path, progress=False)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


def test_an_explosion_in_the_first_epoch_is_not_forgotten():
    with pytest.warns(UserWarning, match="weight_lr = 10"):
        history = fit(small(), toy(), epochs=3, batch_size=15, weight_lr=10.0, progress=False)
    assert history["energy"].is_monotonic_decreasing


def test_a_safe_step_survives_weights_that_grow():
    """Where a step that was safe no longer is, it is found anew rather than reported as a failure."""
    graph = PCGraph(topology.fully_connected(6, 3, 5), "linear", dtype=torch.float64)
    with pytest.warns(UserWarning, match="weight_lr = 0.3"):
        fit(graph, toy(), epochs=5, batch_size=5, weight_lr=0.3, progress=False)
    clamped = torch.arange(graph.topology.n) < 9
    problem = relax(graph, torch.zeros(1, 14, dtype=torch.float64), clamped, steps=1).problem
    assert 1 / float(largest_eigenvalue(problem)) < 0.2


def test_a_graph_without_edges_learns_its_biases_alone():
    """A full step along the gradient ends at the mean of the data; without biases there is nothing to learn."""
    alone, (images, _) = topology.from_mask(torch.zeros(6, 6), {"pixels": 6}), toy(10)
    graph = PCGraph(alone, "linear", bias=True, dtype=torch.float64)
    fit(graph, images, epochs=1, batch_size=len(images), optimizer="sgd", weight_lr=1.0, progress=False)
    torch.testing.assert_close(graph.bias[0], images.mean(0))
    with pytest.raises(BadInput, match="nothing to learn"):
        fit(PCGraph(alone, "linear", dtype=torch.float64), images, progress=False)


def test_one_thin_image_at_the_beginning_is_no_measure_of_what_follows(recwarn: pytest.WarningsRecorder) -> None:
    images, _ = toy(40)
    images[torch.randperm(40, generator=torch.Generator().manual_seed(0))[0]] = 0           # the first that fit draws
    fit(PCGraph(topology.generative(0, [4], 6)), images.float(), epochs=1, batch_size=1, steps=3, progress=False)
    apart = torch.arange(40.0)[:, None] / 40                               # five of them may be far below the mean
    fit(PCGraph(topology.generative(0, [2], 1)), apart, batch_size=5, epochs=2, weight_lr=1e-12, progress=False)
    assert not recwarn.list
