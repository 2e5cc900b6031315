"""Every public name with every class of bad value: our own error, or an answer without NaN; nothing else. Oracle: the
types of the errors. ``CALLS`` are calls that work; one argument after the other is replaced by each of ``BAD``."""

import contextlib
import io
import math
import re
import tempfile
import traceback
import warnings
from collections.abc import Callable
from inspect import signature
from itertools import product
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch

import pcgraph_lite as pcg
from pcgraph_lite import topology
from pcgraph_lite.baselines.autoencoder import Autoencoder, fit_autoencoder
from pcgraph_lite.baselines.dam import DAM
from pcgraph_lite.baselines.kinds import KINDS
from pcgraph_lite.baselines.mlp import MLP
from pcgraph_lite.baselines.rbm import RBM
from pcgraph_lite.engine.epochs import Schedule
from pcgraph_lite.engine.layout import Layout
from pcgraph_lite.engine.topology import Edges
from pcgraph_lite.errors import PCGraphError
from pcgraph_lite.images import datasets, judge, metrics, scale

LONG = 10**7                                                               # a number that is fine, if slow
OWN = ("score", "f", "slope")                                              # functions of the caller's, with his errors
LASTING = ("steps", "burn_in", "every", "chains", "epochs", "hidden", "memories", "settings")
X, LABELS = torch.rand(6, 4, generator=torch.Generator().manual_seed(0)), torch.arange(6) % 2
PICTURES = torch.rand(4, 784, generator=torch.Generator().manual_seed(1))
IMAGES = datasets.ImageSet("mnist", PICTURES, torch.arange(4), (1, 28, 28), "a test")
READER = judge.Judge().eval()
GENERATOR = torch.Generator()


def graph(**arguments: object) -> pcg.PCGraph:
    return pcg.PCGraph(topology.generative(2, [3], 4), "tanh", **arguments)


def energies(**arguments: object) -> torch.Tensor:
    made = pcg.PCGraph(**arguments)
    return made.energy(torch.ones(*made.layout.lead, 2, made.topology.n, dtype=made.dtype))


NETWORK = graph()
SAVED = str(Path(tempfile.mkdtemp()) / "graph")
pcg.save(NETWORK, SAVED)
OTHER = str(Path(tempfile.mkdtemp()) / "other")
pcg.save(pcg.PCGraph(topology.fully_connected(4, 2, 3), "tanh"), OTHER)
WIRES = nx.path_graph(3)
nx.set_node_attributes(WIRES, "seen", "group")
nx.set_edge_attributes(WIRES, 0.5, "weight")
START = torch.zeros(2, 9)
HELD = torch.arange(9) < 4
BAD: list[Callable[[], object]] = [lambda value=value: value for value in (
    None, True, -1, 0, 1, 1.5, -0.5, math.nan, math.inf, 10**30, LONG, 1e-300, 1e300, 3 + 4j, "text", "", "cuda",
    "a" * 300, "[bold]", "../x", "\0", b"x", [], [0], [-1, 2], ["a"], [[]], [None], (), (1, 2), {}, {"pixels": 1},
    {"x": X}, {"pixels": X * math.nan}, {1: 2}, object(), len, int, np.int64(3), np.float32(0.5), np.zeros(3),
    np.array(["a"]), range(2), Path("/"), Path("/proc/nowhere/at/all"), torch.float16, torch.int64,
    torch.device("cpu"), GENERATOR,
    torch.tensor(1.0), torch.empty(0), torch.empty(0, 4), torch.empty(4, 0), torch.zeros(4), X, X[:1], X[:, :3], X.T,
    X.double(), X.half(), X.bool(), X.to(torch.complex64), X * math.nan, X * math.inf, X.double() * 1e300, X * 255,
    (X * 255).byte(), (X * 255).long(), -X, LABELS, LABELS.float(), LABELS + 10, LABELS - 5, LABELS[:1],
    torch.zeros(2, 3, 4, 5), 10**400, np.float32, torch.Tensor, "meta", "hpu", X.numpy(), X.tolist(), LABELS.numpy(),
    LABELS.tolist(), [X, LABELS], (X.tolist(), LABELS.tolist()), PICTURES.numpy(),
    X.to_sparse(), PICTURES * 255, PICTURES.double(), torch.zeros(9, 9), torch.ones(9, 9, dtype=torch.bool),
    NETWORK, topology.generative(1, [1], 1), nx.path_graph(3), slice(2), ...,
    # as people have met them: other ranges, channels last, labels as bytes, frames, paths as a shell reads them
    X * 16, 2 * X - 1, torch.zeros(6, 2, 2, 1), torch.zeros(6, 2, 2, 3), torch.eye(2)[LABELS].byte(),
    pd.Series(LABELS.numpy(), index=range(5, 11)), pd.DataFrame(X.numpy(), index=range(5, 11)), pd.Series(["a", "b"]),
    "~", "~/nowhere/graph", "{seed}", "./{profile}/x", Path("~nobody/x"), f"{SAVED}/below", OTHER)]
BAD += [lambda: iter([1, 2]), lambda: iter(()), lambda: (x for x in (X, LABELS))]

CALLS: dict[str, tuple[Callable, dict[str, object]]] = {
    "PCGraph": (energies, {
        "topology": topology.generative(2, [3], 4), "activation": "tanh", "top_k": 0.5, "bias": True, "prior": "flat",
        "init_std": 0.1, "generator": GENERATOR, "pixel_scale": pcg.Scale(), "plan": "dense", "replicas": 2,
        "dtype": torch.float32, "device": "cpu"}),
    "Topology": (pcg.Topology, {"groups": {"a": 2, "b": 3}, "edges": [Edges("a", "b")], "sensory": ["a"],
                                "pools": [["a"], ["b"]], "nodes": list("vwxyz")}),
    "Edges": (lambda **given: pcg.Topology({"a": 2, "b": 3}, [Edges(**given)]),
              {"source": "a", "target": "b", "mask": torch.ones(2, 3, dtype=torch.bool), "weights": torch.ones(6)}),
    "Settings": (pcg.Settings, {"steps": 2, "value_lr": 0.1, "momentum": 0.5, "tolerance": 0.1, "trace": True}),
    "Training": (pcg.Training, {"epochs": 1, "weight_lr": 0.1, "steps": 2, "value_lr": 0.1, "momentum": 0.5}),
    "Schedule": (Schedule, {"epochs": 1, "weight_lr": 0.1, "weight_decay": 0.1, "batch_size": 3, "optimizer": "sgd",
                            "patience": 1, "anneal": "cosine", "warm_up": 0.5}),
    "Layout": (Layout, {"plan": "auto", "replicas": 2, "dtype": torch.float32, "device": "cpu", "cuda_graphs": True}),
    "relax": (pcg.relax, {"graph": NETWORK, "x": START, "clamped": HELD, "settings": pcg.Settings(3), "steps": 2,
                          "value_lr": 0.1, "momentum": 0.5, "tolerance": 0.1, "trace": True, "errorless": HELD}),
    "query": (pcg.query, {"graph": NETWORK, "clamp": {"pixels": X}, "init": {"labels": torch.eye(2)[LABELS]},
                          "steps": 2, "value_lr": 0.1, "momentum": 0.5, "tolerance": 0.1, "start": "random",
                          "batch_size": 4, "generator": GENERATOR}),
    "query clamp": (lambda pixels, labels: pcg.query(NETWORK, {"pixels": pixels}, {"labels": labels}, steps=2),
                    {"pixels": X, "labels": torch.eye(2)[LABELS]}),
    "query scaled": (lambda pixels: pcg.query(graph(pixel_scale=pcg.Scale("[-1, 1]", 0.5, 0.5)), {"pixels": pixels},
                                              steps=2), {"pixels": X}),
    "query do": (lambda **given: pcg.query(NETWORK, steps=2, **given),
                 {"clamp": {"labels": torch.eye(2)[LABELS]}, "do": {"pixels": pcg.observed(X, torch.arange(4) < 2)}}),
    "counterfactual": (pcg.counterfactual, {"graph": NETWORK, "observed": {"pixels": X}, "steps": 3, "momentum": 0.5,
                                            "do": {"labels": torch.eye(2)[LABELS]}, "tolerance": 0.1}),
    "sample": (pcg.sample, {"graph": NETWORK, "clamp": {"labels": torch.eye(2)[LABELS]}, "init": {"pixels": X},
                            "do": {"hidden1": torch.ones(6, 3)}, "steps": 4, "every": 2, "burn_in": 2, "chains": 2,
                            "temperature": 0.5, "metropolis": True, "value_lr": 0.1, "generator": GENERATOR}),
    "observed": (lambda **given: pcg.query(NETWORK, {"pixels": pcg.observed(**given)}, steps=2),
                 {"values": X, "mask": torch.arange(4) < 2}),
    "fit": (lambda **given: pcg.fit(**given | ({"graph": graph()} if given["graph"] is NETWORK else {}),
                                    progress=False), {
        "graph": NETWORK, "data": (X, LABELS), "validation": 0.5, "score": "accuracy", "generator": GENERATOR,
        "epochs": 1, "steps": 2, "value_lr": 0.1, "momentum": 0.5, "weight_lr": 0.01, "weight_decay": 0.1,
        "batch_size": 3, "optimizer": "sgd", "patience": 1, "anneal": "linear", "warm_up": 0.5}),
    "fit data": (lambda images, labels: pcg.fit(graph(), (images, labels), epochs=1, steps=2, progress=False),
                 {"images": X, "labels": LABELS}),
    "checkpoint": (lambda checkpoint: pcg.fit(graph(), (X, LABELS), epochs=1, steps=1, progress=False,
                                              checkpoint=checkpoint), {"checkpoint": None}),
    "accuracy": (pcg.accuracy, {"graph": NETWORK, "batch": (X, LABELS)}),
    "minus_energy": (pcg.minus_energy, {"graph": NETWORK, "batch": (X, LABELS)}),
    "set_weight": (lambda matrix: graph().set_weight(matrix), {"matrix": torch.zeros(9, 9)}),
    "energy": (NETWORK.energy, {"x": START}), "prediction": (NETWORK.prediction, {"x": START}),
    "value_gradient": (NETWORK.value_gradient, {"x": START}),
    "weight_gradient": (NETWORK.weight_gradient, {"x": START}),
    "Activation": (lambda **given: pcg.PCGraph(topology.generative(1, [1], 1), pcg.Activation(**given)),
                   {"f": torch.tanh, "slope": torch.cos}),
    "from_mask": (topology.from_mask, {"mask": [[0, 1], [1, 0]], "groups": {"a": 1, "b": 1}, "sensory": ["a"],
                                       "pools": [["a"], ["b"]]}),
    "from_networkx": (topology.from_networkx, {"graph": WIRES, "attribute": "group", "nodelist": [1, 0, 2],
                                               "sensory": ["seen"], "weight": "weight"}),
    "to_networkx": (topology.to_networkx, {"graph": NETWORK}),
    "save": (pcg.save, {"graph": NETWORK, "path": SAVED}),
    "load graph": (pcg.load, {"path": SAVED, "activation": "tanh", "plan": "dense", "dtype": torch.float64,
                              "device": "cpu"}),
    "pick_device": (pcg.hardware.pick_device, {"name": "cpu"}),
    "noisy": (datasets.noisy, {"images": X, "variance": 0.5, "generator": GENERATOR, "clip": True}),
    "subset": (IMAGES.subset, {"count": 2, "generator": GENERATOR}),
    "split_off": (datasets.split_off, {"data": IMAGES, "count": 2, "generator": GENERATOR}),
    "ImageSet": (datasets.ImageSet, {"name": "mnist", "images": X, "labels": LABELS, "shape": (1, 2, 2),
                                      "source": "x"}),
    "load": (datasets.load, {"name": "mnist", "split": "test", "sample": True, "root": None}),
    "noise_generator": (datasets.noise_generator, {"seed": 0, "part": "test"}),
    "top_half": (datasets.top_half, {"shape": (1, 4, 4)}), "bottom_half": (datasets.bottom_half, {"shape": (1, 4, 4)}),
    "bottom_fraction": (datasets.bottom_fraction, {"shape": (1, 4, 4), "fraction": 0.5}),
    "Scale": (pcg.Scale, {"name": "x", "offset": 0.5, "unit": 0.5}),
    "scale.named": (scale.named, {"name": "standardized", "data": "mnist"}),
    "read": (judge.read, {"judge": READER, "images": PICTURES}),
    "judge": (READER, {"images": PICTURES}), "features": (READER.features, {"images": PICTURES}),
    "load full": (lambda root: datasets.load("mnist", root="" if root is None else root), {"root": Path("nowhere")}),
    "describe": (pcg.hardware.describe, {"device": "cpu"}),
    "load_judge": (judge.load_judge, {"name": "mnist", "path": None}),
    "share_right": (metrics.share_right, {"predicted": LABELS, "labels": LABELS}),
    "classification_table": (metrics.classification_table, {"predicted": LABELS, "labels": LABELS,
                                                            "names": ["a", "b"]}),
    "auroc": (metrics.auroc, {"scores": torch.rand(6), "positive": LABELS.bool()}),
    "roc": (metrics.roc, {"scores": torch.rand(6), "positive": LABELS.bool()}),
    "mse": (metrics.mse, {"images": X, "originals": X}), "psnr": (metrics.psnr, {"images": X, "originals": 1 - X}),
    "background_energy": (metrics.background_energy, {"images": X, "originals": X.round()}),
    "ssim": (metrics.ssim, {"images": PICTURES, "originals": PICTURES, "shape": (1, 28, 28)}),
    "seam": (metrics.seam, {"images": PICTURES, "known": datasets.top_half((1, 28, 28)), "shape": (1, 28, 28)}),
    "diversity": (metrics.diversity, {"images": X}),
    "nearest_distances": (metrics.nearest_distances, {"images": X}),
    "mean_interval": (metrics.mean_interval, {"values": [1.0, 2.0], "level": 0.95}),
    "frechet_judge_distance": (metrics.frechet_judge_distance, {"judge": READER, "real": PICTURES, "fake": PICTURES}),
    "classify": (MLP(4, 2, [3]).classify, {"images": X}),
    "score": (MLP(4, 2, [3]).score, {"data": (X, LABELS)}),
    "score data": (lambda images, labels: MLP(4, 2, [3]).score((images, labels)), {"images": X, "labels": LABELS}),
}
CALLS |= {
    "MLP": (MLP, {"pixels": 4, "labels": 2, "hidden": [3], "activation": "tanh", "generator": GENERATOR}),
    "RBM": (RBM, {"pixels": 4, "labels": 2, "hidden": 3, "init_std": 0.1, "generator": GENERATOR}),
    "DAM": (DAM, {"pixels": 4, "labels": 2, "memories": 3, "power": 2, "generator": GENERATOR}),
    "Autoencoder": (Autoencoder, {"pixels": 4, "hidden": [3], "generator": GENERATOR}),
    "fit_autoencoder": (lambda **given: fit_autoencoder(Autoencoder(4, [3]), progress=False, epochs=1, **given),
                        {"images": X, "labels": LABELS, "validation": (X, LABELS), "generator": GENERATOR}),
    "fit mlp": (lambda **given: KINDS["mlp"].fit(MLP(4, 2, [3]), progress=False, **given),
                {"images": X, "labels": LABELS, "validation": (X, LABELS), "generator": GENERATOR, "epochs": 1,
                 "weight_lr": 0.1}),
}
TINY = {"pixels": 4, "labels": 2, "internal": 6, "hidden": [3], "self_loops": True, "without": [("labels", "labels")],
        "clusters": 2, "size": 6, "p": 0.5, "links": [(0, 1)], "neighbours": 2, "rewire": 0.1, "generator": GENERATOR}
CALLS |= {name: (make, {key: TINY[key] for key in signature(make).parameters if key in TINY})
          for name, make in topology.CONSTRUCTORS.items()}
LISTS = {"load full"}                                                      # what was tried, a line each
NOT_A_NUMBER = {"mean_interval"}                                           # which says so: one value has no spread


def test_all_that_the_api_page_shows_is_called():
    """But answers, which are made by calls, and the modules that it shows whole."""
    page = (Path(__file__).parents[1] / "book/api.md").read_text(encoding="utf-8")
    shown = re.findall(r"^\.\. auto(?:function|class):: pcgraph_lite\.(?:\w+\.)*(\w+)", page, re.MULTILINE)
    assert shown and set(shown) - {"Answer", "Samples"} <= CALLS.keys()


def has_nan(answer: object) -> bool:
    if isinstance(answer, torch.Tensor):
        return answer.is_floating_point() and bool(answer.isnan().any())
    if isinstance(answer, float):
        return math.isnan(answer)
    if isinstance(answer, pd.DataFrame):
        return bool(answer.drop(columns="validation", errors="ignore").isna().any(axis=None))
    if isinstance(answer, dict | tuple | list):
        return any(map(has_nan, answer.values() if isinstance(answer, dict) else answer))
    return any(map(has_nan, vars(answer).values())) if isinstance(answer, pcg.Answer) else False


@pytest.mark.parametrize("name", CALLS)
def test_no_bad_value_is_answered_by_a_foreign_error_or_nan(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The call itself works; then each argument is replaced by each bad value."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))                              # for paths that begin with ~
    (call, given), wrong = CALLS[name], []
    if name not in ("frechet_judge_distance", "seam", "load full"):
        call(**given)
    for argument, (number, make) in product(given, enumerate(BAD)):
        bad = make()
        if (argument in LASTING and bad is LONG) or (argument in OWN and callable(bad)):
            continue
        try:
            with warnings.catch_warnings(action="ignore"), contextlib.redirect_stderr(io.StringIO()):
                answer = call(**given | {argument: bad})
        except PCGraphError as error:
            if name not in LISTS and (len(str(error)) > 1000 or "\n" in str(error)):
                wrong.append(f"{argument} = bad {number}: a long error: {str(error)[:200]!r}")
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            wrong.append(f"{argument} = bad {number}: {type(error).__name__}: {str(error)[:90]!r} at "
                         f"{Path(where.filename).name}:{where.lineno}")
        else:
            if has_nan(answer) and name not in NOT_A_NUMBER:
                wrong.append(f"{argument} = bad {number}: NaN in the answer")
    assert not wrong, "\n".join(wrong[:40])
