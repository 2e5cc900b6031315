"""One guard for each quantity, at every door: whatever holds the numbers, and whatever is wrong with them. Oracle: the
answer to the same numbers as a float32 tensor; the types and the words of our errors. ``DOORS`` are all public calls
that take images, labels, masks or scores; one argument after the other is given in another container, or made wrong in
one way that users make. And one setting of the caller's, autocast, changes no answer at any of them."""

import warnings
from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd
import pytest
import torch
from pictures import seeded
from torch import Tensor

import pcgraph_lite as pcg
from pcgraph_lite import topology
from pcgraph_lite.baselines import rivals
from pcgraph_lite.baselines.autoencoder import Autoencoder, complete
from pcgraph_lite.baselines.kinds import KINDS
from pcgraph_lite.baselines.mlp import MLP
from pcgraph_lite.baselines.rbm import RBM
from pcgraph_lite.baselines.rbm import complete as rbm_complete
from pcgraph_lite.baselines.rbm import denoise as rbm_denoise
from pcgraph_lite.errors import BadInput, PCGraphError
from pcgraph_lite.images import datasets, judge, metrics
from pcgraph_lite.images.scale import named
from pcgraph_lite.studies import convergence

DRAW = seeded()
X, Y = torch.rand(8, 16, generator=DRAW), torch.arange(8) % 2
BIG = torch.rand(130, 784, generator=DRAW)
KNOWN, KNOWN_BIG = torch.arange(16) < 8, datasets.top_half((1, 28, 28))
READER = judge.load_judge("mnist")


def graph(labels: int = 2, **layout: object) -> pcg.PCGraph:
    return pcg.PCGraph(topology.generative(labels, [3], 16), "tanh", **layout)


def weights(model: torch.nn.Module) -> list[Tensor]:
    return [p.detach() for p in model.parameters()]


def fitted(data: object, **settings: object) -> list[Tensor]:
    made = graph(labels=2 if isinstance(data, tuple) else 0)
    pcg.fit(made, data, epochs=1, steps=2, progress=False, **settings)
    return weights(made)


# kind: sizes of the model, and what its training needs to be told
TWO, ONCE = {"pixels": 16, "labels": 2}, {"epochs": 1}
FITS = {"mlp": (TWO | {"hidden": [4]}, ONCE), "rbm": (TWO | {"hidden": 4}, ONCE), "dam": (TWO | {"memories": 4}, ONCE),
        "autoencoder": ({"pixels": 16, "hidden": [4]}, ONCE), "boltzmann": (TWO | {"hidden": 4}, ONCE),
        "almeida-pineda": (TWO | {"internal": 4}, ONCE), "linear": (TWO, {"method": "least-squares"}),
        "hopfield": ({"shape": (1, 4, 4), "labels": 2}, {"sizes": [4]})}


def baseline(kind: str, images: object, labels: object) -> list[Tensor]:
    made, settings = KINDS[kind].make(**FITS[kind][0]), FITS[kind][1]
    KINDS[kind].fit(made, images, labels, progress=False, **settings)
    return weights(made)


# name: (call, arguments by kind of quantity)
DOORS: dict[str, tuple[Callable[..., object], dict[str, Tensor]]] = {
    "fit": (lambda images, labels: fitted((images, labels)), {"images": X, "labels": Y}),
    "fit alone": (lambda images: fitted(images), {"images": X}),
    "fit validation": (lambda images, labels: fitted((X, Y), validation=(images, labels)), {"images": X, "labels": Y}),
    "query": (lambda images: pcg.query(graph(), {"pixels": images}, steps=2).x, {"images": X}),
    "query labels": (lambda labels: pcg.query(graph(), {"labels": labels}, steps=2).x, {"labels": Y}),
    "query start": (lambda images: pcg.query(graph(), init={"pixels": images}, steps=2).x, {"images": X}),
    "sample": (lambda images: pcg.sample(graph(), {"pixels": images}, steps=4, every=2, burn_in=2).x, {"images": X}),
    "counterfactual": (lambda images, labels: pcg.counterfactual(graph(), {"pixels": images}, {"labels": labels},
                                                                 steps=3).x, {"images": X, "labels": Y}),
    "observed": (lambda images, mask: pcg.query(graph(), {"pixels": pcg.observed(images, mask)}, steps=2).x,
                 {"images": X, "mask": KNOWN}),
    "accuracy": (lambda images, labels: pcg.accuracy(graph(), (images, labels)), {"images": X, "labels": Y}),
    "minus_energy": (lambda images, labels: pcg.minus_energy(graph(), (images, labels)), {"images": X, "labels": Y}),
    "watch": (lambda images: convergence.watch(graph(replicas=1), {"pixels": images}, [0.1], [1e-2], batches=1,
                                               batch_size=2).after, {"images": X}),
    "noisy": (lambda images: datasets.noisy(images, 0.1, seeded()), {"images": X}),
    "ImageSet": (lambda images, labels: datasets.ImageSet("x", images, labels, (1, 4, 4), "").images,
                 {"images": X, "labels": Y}),
    "read": (lambda images: judge.read(READER, images), {"images": BIG}),
    "judge": (lambda images: READER(images), {"images": BIG}),
    "features": (lambda images: READER.features(images), {"images": BIG}),
    "frechet": (lambda images: metrics.frechet_judge_distance(READER, BIG, images), {"images": BIG}),
    "mse": (lambda images: metrics.mse(images, X), {"images": X}),
    "mse of": (lambda images: metrics.mse(X, images), {"images": X}),
    "psnr": (lambda images: metrics.psnr(images, 1 - X), {"images": X}),
    "ssim": (lambda images: metrics.ssim(images, BIG[:9]), {"images": BIG[:9]}),
    "seam": (lambda images, mask: metrics.seam(images, mask), {"images": BIG, "mask": KNOWN_BIG}),
    "background": (lambda images: metrics.background_energy(images, X.round()), {"images": X}),
    "diversity": (metrics.diversity, {"images": X}),
    "nearest others": (metrics.nearest_distances, {"images": X}),
    "share_right": (lambda labels: metrics.share_right(labels, Y), {"labels": Y}),
    "share_right of": (lambda labels: metrics.share_right(Y, labels), {"labels": Y}),
    "table": (lambda labels: metrics.classification_table(labels, Y, ["a", "b"]).to_numpy().tolist(), {"labels": Y}),
    "auroc": (lambda scores, mask: metrics.auroc(scores, mask), {"scores": X[:, 0], "mask": Y.bool()}),
    "classify": (lambda images: MLP(16, 2, [3]).classify(images), {"images": X}),
    "score": (lambda images, labels: MLP(16, 2, [3]).score((images, labels)), {"images": X, "labels": Y}),
    "autoencoder complete": (lambda images, mask: complete(Autoencoder(16, [3]), images, mask),
                             {"images": X, "mask": KNOWN}),
    "rbm complete": (lambda images, mask: rbm_complete(RBM(16, 2, 3), images, mask, 2, seeded()),
                     {"images": X, "mask": KNOWN}),
    "rbm denoise": (lambda images: rbm_denoise(RBM(16, 2, 3), images, 2, seeded()), {"images": X}),
    "mean_image": (lambda images, mask: rivals.mean_image(X, images, mask), {"images": X, "mask": KNOWN}),
    "nearest": (lambda images, mask: rivals.nearest_neighbour(X, images, mask), {"images": X, "mask": KNOWN}),
    "ridge": (lambda images, mask: rivals.ridge(images, X, mask).weight, {"images": X, "mask": KNOWN}),
    "box_filter": (lambda images: rivals.box_filter(images, (1, 4, 4)), {"images": X}),
    "wiener": (lambda images: rivals.wiener_filter(images, 0.1, (1, 4, 4))(X), {"images": X}),
    "best_linear": (lambda images: rivals.best_linear(images, 0.1).weight, {"images": X}),
    "components": (lambda images: rivals.principal_components(images, 2)(X), {"images": X}),
} | {kind: (lambda images, labels, kind=kind: baseline(kind, images, labels), {"images": X, "labels": Y})
     for kind in FITS}
assert FITS.keys() == KINDS.keys()


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
CASES = [(door, argument) for door, (_, given) in DOORS.items() for argument in given]


def answer(door: str, **changed: object) -> object:
    call, given = DOORS[door]
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


@pytest.mark.parametrize("door", DOORS)
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
FINE = {("query labels", "too few"), ("ImageSet", "from 1"), ("share_right", "from 1"), ("share_right of", "from 1"),
        ("components", "a column more"), ("diversity", "a column more"), ("nearest others", "a column more"),
        ("best_linear", "a column more"), ("noisy", "a column more"), ("noisy", "one"), ("noisy", "channels last"),
        ("autoencoder", "from 1")}           # where these numbers are right


@pytest.mark.parametrize(("door", "argument"), CASES)
def test_what_is_wrong_with_a_quantity_is_said_at_every_door(door: str, argument: str) -> None:
    """In one line of ours, and no advice of bytes where labels or masks are meant."""
    survivors = {}
    for name, spoil in WRONG[argument].items():
        if (door, name) in FINE:
            continue
        try:
            answer(door, **{argument: spoil(DOORS[door][1][argument])})
            survivors[name] = "taken"
        except PCGraphError as error:
            if "\n" in str(error) or len(str(error)) > 600 or (argument != "images" and "255" in str(error).replace(
                    "up to 255", "").replace("to 255", "")):
                survivors[name] = f"{type(error).__name__}: {error}"
        except Exception as error:
            survivors[name] = f"{type(error).__name__}: {error}"
    assert not survivors


SCALED = ("fit", "fit validation", "query", "query start", "sample", "counterfactual", "accuracy", "minus_energy",
          "watch")


@pytest.mark.parametrize("door", [door for door, argument in CASES if argument == "images" and door not in (
    *SCALED, "fit alone", "observed", "noisy")])
@pytest.mark.parametrize("scale", ["[-1, 1]", "[-2, 2]"])
def test_pictures_scaled_by_hand_are_refused_where_there_is_no_scale(door: str, scale: str) -> None:
    with pytest.raises(PCGraphError, match=r"already; expected \[0, 1\]|must lie in \[0, 1\]|expected 0 to 1"):
        answer(door, images=named(scale).apply(DOORS[door][1]["images"]))


@pytest.mark.parametrize("door", SCALED)
@pytest.mark.parametrize("name", ["[-1, 1]", "[-2, 2]", "standardized"])
def test_a_graph_with_a_scale_takes_clean_and_noisy_pictures_and_none_that_are_scaled(
        monkeypatch: pytest.MonkeyPatch, door: str, name: str) -> None:
    scale, images = named(name, "fashion"), torch.rand(8, 16, generator=seeded()).square()
    monkeypatch.setitem(globals(), "graph", partial(graph, pixel_scale=scale))
    answer(door, images=images)
    with pytest.raises(BadInput, match="pixels run from"):
        answer(door, images=scale.apply(images))
    if door not in ("fit", "fit validation", "watch"):
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
    (lambda x: judge.read(READER, x), BIG.view(-1, 1, 28, 28), r"flatten\(1\)", lambda x: x.flatten(1)),
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
