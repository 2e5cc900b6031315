"""One guard for each quantity, at every door: whatever holds the numbers, and whatever is wrong with them. Oracle: the
answer to the same numbers as a float32 tensor; the types and the words of our errors. ``DOORS`` are all calls of
doors.py that take images, labels, masks or scores; one argument after the other is given in another container, or made
wrong in one way that users make. And one setting of the caller's, autocast, changes no answer at any of them."""

import warnings
from collections.abc import Callable
from functools import partial

import doors
import numpy as np
import pandas as pd
import pytest
import torch
from doors import CALLS, GENERATOR, KNOWN, OTHERS, PICTURES, READER, X, Y, fitted
from pictures import seeded
from torch import Tensor

import pcgraph_lite as pcg
from pcgraph_lite.errors import BadInput, PCGraphError
from pcgraph_lite.images import datasets, judge, metrics
from pcgraph_lite.images.scale import named

KIND = {argument: kind for kind, arguments in {
    "images": ("images", "originals", "real", "fake", "values", "train", "held_out", "noisy"),
    "labels": ("labels", "predicted"), "mask": ("mask", "known", "positive"), "scores": ("scores",)}.items()
    for argument in arguments}
DOORS = CALLS | OTHERS
CASES = [(door, argument) for door, (_, given) in DOORS.items() for argument, value in given.items()
         if argument in KIND and isinstance(value, Tensor)]


def framed(values: Tensor) -> object:
    """A frame or a series of some rows of a longer one: its index has gaps, and no 0."""
    kind = pd.DataFrame if values.ndim == 2 else pd.Series
    return kind(values.numpy(), index=range(3, 3 + 2 * len(values), 2))


CONTAINERS: dict[str, Callable[[Tensor], object]] = {
    "array": lambda v: v.numpy(), "read-only": lambda v: np.broadcast_to(v.numpy(), v.shape),
    "big-endian": lambda v: v.numpy().astype(v.numpy().dtype.newbyteorder(">")), "frame": framed,
    "list": lambda v: v.tolist(), "rows": list, "arrays": lambda v: [row.numpy() for row in v],
    "turned": lambda v: v.T.contiguous().T if v.ndim == 2 else v, "strided": lambda v: v.repeat_interleave(2, 0)[::2],
    "backwards": lambda v: np.flip(np.flip(v.numpy(), 0).copy(), 0),
    "requires grad": lambda v: v.clone().requires_grad_() if v.is_floating_point() else v,
    "numbers of numpy": lambda v: np.array(v.tolist(), dtype=object)}
UNFIT = {("fit alone", "list"), ("fit alone", "rows"), ("fit alone", "arrays"),       # which might be images and labels
         ("noisy", "numbers of numpy")}                                    # whose float64 noise is another one


def answer(door: str, **changed: object) -> object:
    call, given = DOORS[door]
    GENERATOR.manual_seed(0)
    with warnings.catch_warnings(action="error"):
        return call(**given | changed)


@pytest.mark.parametrize(("door", "argument"), CASES)
def test_the_container_of_numbers_changes_no_answer(door: str, argument: str) -> None:
    expected, value = answer(door), DOORS[door][1][argument]
    for name, put in CONTAINERS.items():
        if (door, name) in UNFIT:
            continue
        found = answer(door, **{argument: put(value)})
        torch.testing.assert_close(found, expected, rtol=1e-3, atol=2e-4, check_dtype=False, equal_nan=True,
                                   msg=lambda text, name=name: f"{name}: {text}")


EQUATIONS = ("energy", "prediction", "error", "group_prediction", "value_gradient", "weight_gradient", "relax")


@pytest.mark.parametrize("door", dict.fromkeys([*EQUATIONS, *(door for door, _ in CASES)]))
def test_autocast_changes_no_answer(door: str) -> None:
    expected = answer(door)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        torch.testing.assert_close(answer(door), expected, rtol=0, atol=0)


WRONG: dict[str, dict[str, Callable[[Tensor], object]]] = {
    "images": {"0 to 16": lambda x: x * 16, "0 to 2": lambda x: x * 2, "0 to 255": lambda x: x * 255,
               "bytes": lambda x: (x * 255).byte(), "whole numbers": lambda x: (x * 16).long(),
               "-127 to 128": lambda x: x * 255 - 127, "NaN": lambda x: x * torch.nan, "empty": lambda x: x[:0],
               "channels last": lambda x: torch.rand(4, 8, 8, 3), "one": lambda x: x[0],
               "text": lambda x: ["a"] * len(x), "a column more": lambda x: torch.cat([x, x[:, :1]], 1)},
    "labels": {"from 1": lambda y: y + 1, "below 0": lambda y: y - 2, "half": lambda y: y + 0.5,
               "NaN": lambda y: y * torch.nan,
               "too few": lambda y: y[:-1], "empty": lambda y: y[:0], "words": lambda y: ["cat"] * len(y),
               "one-hot of another width": lambda y: torch.nn.functional.one_hot(y, 5),
               "one-hot of 255": lambda y: torch.nn.functional.one_hot(y, 2).byte() * 255},
    "mask": {"numbers": lambda m: m.long(), "floats": lambda m: m.float(), "short": lambda m: m[:-1]},
    "scores": {"NaN": lambda s: s * torch.nan, "short": lambda s: s[:-1]}}
FINE = {("query labels", "too few"), ("ImageSet", "from 1"), ("share_right", "from 1"),
        ("principal_components", "a column more"), ("diversity", "a column more"),
        ("nearest_distances", "a column more"), ("best_linear", "a column more"), ("noisy", "a column more"),
        ("noisy", "one"), ("noisy", "channels last"), ("fit autoencoder", "from 1")}     # where these numbers are right


@pytest.mark.parametrize(("door", "argument"), CASES)
def test_what_is_wrong_with_a_quantity_is_said_at_every_door(door: str, argument: str) -> None:
    """In one line of ours, and no advice of bytes where labels or masks are meant."""
    survivors = {}
    for name, spoil in WRONG[KIND[argument]].items():
        if (door, name) in FINE:
            continue
        try:
            answer(door, **{argument: spoil(DOORS[door][1][argument])})
            survivors[name] = "taken"
        except PCGraphError as error:
            advice_of_bytes = "255" in str(error).replace("up to 255", "").replace("to 255", "")
            if "\n" in str(error) or len(str(error)) > 600 or (KIND[argument] != "images" and advice_of_bytes):
                survivors[name] = f"{type(error).__name__}: {error}"
        except Exception as error:
            survivors[name] = f"{type(error).__name__}: {error}"
    assert not survivors


SCALED = ("fit pair", "fit validation", "query clamp", "query start", "sample images", "counterfactual images",
          "accuracy pair", "minus_energy pair", "watch")


@pytest.mark.parametrize(("door", "argument"), [
    (door, argument) for door, argument in CASES
    if KIND[argument] == "images" and door not in (*SCALED, "fit alone", "observed", "noisy")])
@pytest.mark.parametrize("scale", ["[-1, 1]", "[-2, 2]"])
def test_pictures_scaled_by_hand_are_refused_where_there_is_no_scale(door: str, argument: str, scale: str) -> None:
    with pytest.raises(PCGraphError, match=r"already; expected \[0, 1\]|must lie in \[0, 1\]|expected \[0, 1\]\.$"):
        answer(door, **{argument: named(scale).apply(DOORS[door][1][argument])})


@pytest.mark.parametrize("door", SCALED)
@pytest.mark.parametrize("name", ["[-1, 1]", "[-2, 2]", "standardized"])
def test_graphs_with_a_scale_take_pictures_without_one(monkeypatch: pytest.MonkeyPatch, door: str, name: str) -> None:
    scale, images = named(name, "fashion"), torch.rand(8, 16, generator=seeded()).square()
    monkeypatch.setattr(doors, "graph", partial(doors.graph, pixel_scale=scale))
    answer(door, images=images)
    with pytest.raises(BadInput, match="pixels run from"):
        answer(door, images=scale.apply(images))
    if door not in ("fit pair", "fit validation", "watch"):
        for variance in (0.01, 0.05, 0.2, 0.5, 1.0, 2.0):
            answer(door, images=datasets.noisy(images, variance, seeded()))


@pytest.mark.parametrize("variance", [0.05, 0.5, 1.0, 2.0])
def test_noise_is_taken_by_every_measure(variance: float) -> None:
    test = datasets.load("mnist", "test", sample=True).images[:200]
    noisy = datasets.noisy(test, variance, seeded())
    for call in (lambda x: judge.read(READER, x), lambda x: metrics.mse(x, test), lambda x: metrics.psnr(x, test),
                 lambda x: metrics.frechet_judge_distance(READER, test, x)):
        call(noisy)


DIVIDE = "Divide images by the largest value"


@pytest.mark.parametrize(("call", "value", "words", "advised"), [
    (fitted, (X * 255).byte(), DIVIDE, lambda x: x / 255), (fitted, X * 16, DIVIDE, lambda x: x / 16),
    (fitted, (X * 16).long(), DIVIDE, lambda x: x / 16),
    (fitted, torch.rand(8, 2, 2, 4), r"channels last.*permute\(0, 3, 1, 2\)", lambda x: x.permute(0, 3, 1, 2)),
    (lambda x: metrics.mse(x, X), X.round().long(), r"images\.float\(\)", Tensor.float),
    (lambda x: judge.read(READER, x), PICTURES.view(-1, 1, 28, 28), r"flatten\(1\)", lambda x: x.flatten(1)),
    (lambda y: fitted((X, y)), Y.float(), r"\.long\(\)", Tensor.long),
    (lambda y: fitted((X, y)), Y.bool(), r"\.long\(\)", Tensor.long),
    (lambda y: fitted((X, y)), Y + 1, "Subtract 1", lambda y: y - 1),
    (lambda m: pcg.observed(X, m), KNOWN.int(), r"\.bool\(\)", Tensor.bool),
    (lambda y: metrics.share_right(y, Y), torch.rand(8, 2), r"\.argmax\(1\)", lambda y: y.argmax(1))])
def test_advice_works(call: Callable, value: Tensor, words: str, advised: Callable[[Tensor], Tensor]) -> None:
    with pytest.raises(PCGraphError, match=words):
        call(value)
    call(advised(value))


@pytest.mark.parametrize("kind", [torch.uint8, torch.bool, torch.int64, torch.float32, torch.float64])
def test_one_hot_labels_are_class_numbers_whatever_their_type(kind: torch.dtype) -> None:
    hot = torch.nn.functional.one_hot(Y, 2).to(kind)
    torch.testing.assert_close(fitted((X, hot)), fitted((X, Y)))
    torch.testing.assert_close(answer("query labels", labels=hot), answer("query labels"))


def test_channels_of_pictures_that_may_be_either_way_are_taken() -> None:
    for shape in ((8, 4, 4, 1), (8, 1, 4, 4), (8, 16), (8, 4, 4)):
        fitted(torch.rand(shape))
