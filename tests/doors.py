"""Calls that work: every public name, and every way by which images, labels, masks and scores come in. test_fuzz.py and
test_containers.py change them, one argument after the other."""

import tempfile
from collections.abc import Callable
from functools import partial
from inspect import signature
from pathlib import Path

import networkx as nx
import torch
from pictures import seeded
from torch import Tensor

import pcgraph_lite as pcg
from pcgraph_lite import Edges, topology
from pcgraph_lite.baselines import rivals
from pcgraph_lite.baselines.autoencoder import Autoencoder
from pcgraph_lite.baselines.autoencoder import complete as autoencoder_complete
from pcgraph_lite.baselines.dam import DAM
from pcgraph_lite.baselines.kinds import KINDS
from pcgraph_lite.baselines.mlp import MLP
from pcgraph_lite.baselines.rbm import RBM
from pcgraph_lite.baselines.rbm import complete as rbm_complete
from pcgraph_lite.baselines.rbm import denoise as rbm_denoise
from pcgraph_lite.engine.epochs import Schedule
from pcgraph_lite.engine.layout import Layout
from pcgraph_lite.images import datasets, judge, metrics, scale
from pcgraph_lite.studies import convergence

X, Y, KNOWN = torch.rand(8, 16, generator=seeded()), torch.arange(8) % 2, torch.arange(16) < 8
PICTURES = torch.rand(130, 784, generator=seeded(1))
IMAGES = datasets.ImageSet("mnist", PICTURES, torch.arange(130) % 10, (1, 28, 28), "a test")
READER, GENERATOR = judge.load_judge("mnist"), torch.Generator()


def graph(labels: int = 2, **arguments: object) -> pcg.PCGraph:
    return pcg.PCGraph(topology.generative(labels, [3], 16), "tanh", **arguments)


def energies(**arguments: object) -> Tensor:
    made = pcg.PCGraph(**arguments)
    return made.energy(torch.ones(*made.layout.lead, 2, made.topology.n, dtype=made.dtype))


def weights(model: torch.nn.Module) -> list[Tensor]:
    return [p.detach() for p in model.parameters()]


def fitted(data: object, **settings: object) -> list[Tensor]:
    made = graph(labels=2 if isinstance(data, tuple) else 0)
    pcg.fit(made, data, epochs=1, steps=2, progress=False, **settings)
    return weights(made)


# kind: sizes of the model, and what its training needs to be told
TWO, ONCE = {"pixels": 16, "labels": 2}, {"epochs": 1, "validation": (X, Y), "weight_lr": 0.1}
BASELINES = {
    "mlp": (TWO | {"hidden": [4]}, ONCE), "rbm": (TWO | {"hidden": 4}, ONCE), "dam": (TWO | {"memories": 4}, ONCE),
    "autoencoder": ({"pixels": 16, "hidden": [4]}, ONCE), "boltzmann": (TWO | {"hidden": 4}, ONCE),
    "almeida-pineda": (TWO | {"internal": 4}, ONCE), "linear": (TWO, {"method": "least-squares"}),
    "hopfield": ({"shape": (1, 4, 4), "labels": 2}, {"sizes": [4]})}


def baseline(kind: str, **given: object) -> list[Tensor]:
    made = KINDS[kind].make(**BASELINES[kind][0])
    KINDS[kind].fit(made, progress=False, **given)
    return weights(made)


NETWORK = graph()
FOLDER = Path(tempfile.mkdtemp())
SAVED, OTHER = str(FOLDER / "graph"), str(FOLDER / "other")
pcg.save(NETWORK, SAVED)
pcg.save(pcg.PCGraph(topology.fully_connected(16, 2, 3), "tanh"), OTHER)
WIRES = nx.path_graph(3)
nx.set_node_attributes(WIRES, "seen", "group")
nx.set_edge_attributes(WIRES, 0.5, "weight")
START, HELD = torch.rand(2, 21, generator=seeded(2)), torch.arange(21) < 16

# name: (call, arguments)
CALLS: dict[str, tuple[Callable, dict[str, object]]] = {
    "PCGraph": (energies, {
        "topology": topology.generative(2, [3], 4), "activation": "tanh", "top_k": 0.5, "bias": True, "prior": "flat",
        "init_std": 0.1, "generator": GENERATOR, "pixel_scale": pcg.Scale(), "plan": "dense", "replicas": 2,
        "dtype": torch.float32, "device": "cpu"}),
    "Topology": (pcg.Topology, {"groups": {"a": 2, "b": 3}, "edges": [Edges("a", "b")], "sensory": ["a"],
                                "pools": [["a"], ["b"]], "nodes": list("vwxyz")}),
    "Edges": (lambda **given: pcg.Topology({"a": 2, "b": 3}, [Edges(**given)]).mask(),
              {"source": "a", "target": "b", "mask": torch.ones(2, 3, dtype=torch.bool), "weights": torch.ones(6)}),
    "Settings": (pcg.Settings, {"steps": 2, "value_lr": 0.1, "momentum": 0.5, "tolerance": 0.1, "trace": True}),
    "Training": (pcg.Training, {"epochs": 1, "weight_lr": 0.1, "steps": 2, "value_lr": 0.1, "momentum": 0.5}),
    "Schedule": (Schedule, {"epochs": 1, "weight_lr": 0.1, "weight_decay": 0.1, "batch_size": 3, "optimizer": "sgd",
                            "patience": 1, "anneal": "cosine", "warm_up": 0.5}),
    "Layout": (Layout, {"plan": "auto", "replicas": 2, "dtype": torch.float32, "device": "cpu", "cuda_graphs": True}),
    "relax": (lambda **given: pcg.relax(**given).x, {
        "graph": NETWORK, "x": START, "clamped": HELD, "settings": pcg.Settings(3), "steps": 2, "value_lr": 0.1,
        "momentum": 0.5, "tolerance": 0.1, "trace": True, "errorless": ~HELD}),
    "query": (pcg.query, {"graph": NETWORK, "clamp": {"pixels": X}, "init": {"labels": torch.eye(2)[Y]},
                          "steps": 2, "value_lr": 0.1, "momentum": 0.5, "tolerance": 0.1, "start": "random",
                          "batch_size": 4, "generator": GENERATOR}),
    "query clamp": (lambda images: pcg.query(graph(), {"pixels": images}, steps=2).x, {"images": X}),
    "query labels": (lambda labels: pcg.query(graph(), {"labels": labels}, steps=2).x, {"labels": Y}),
    "query start": (lambda images: pcg.query(graph(), init={"pixels": images}, steps=2).x, {"images": X}),
    "query do": (lambda **given: pcg.query(NETWORK, steps=2, **given),
                 {"clamp": {"labels": torch.eye(2)[Y]}, "do": {"pixels": pcg.observed(X, KNOWN)}}),
    "sample images": (lambda images: pcg.sample(graph(), {"pixels": images}, steps=4, every=2, burn_in=2).x,
                      {"images": X}),
    "counterfactual images": (lambda images, labels: pcg.counterfactual(
        graph(), {"pixels": images}, {"labels": labels}, steps=3).x, {"images": X, "labels": Y}),
    "counterfactual": (pcg.counterfactual, {"graph": NETWORK, "observed": {"pixels": X}, "steps": 3, "momentum": 0.5,
                                            "do": {"labels": torch.eye(2)[Y]}, "tolerance": 0.1}),
    "sample": (pcg.sample, {"graph": NETWORK, "clamp": {"labels": torch.eye(2)[Y]}, "init": {"pixels": X},
                            "do": {"hidden1": torch.ones(8, 3)}, "steps": 4, "every": 2, "burn_in": 2, "chains": 2,
                            "temperature": 0.5, "metropolis": True, "value_lr": 0.1, "generator": GENERATOR}),
    "observed": (lambda **given: pcg.query(graph(), {"pixels": pcg.observed(**given)}, steps=2).x,
                 {"values": X, "mask": KNOWN}),
    "fit": (lambda **given: pcg.fit(**given | ({"graph": graph()} if given["graph"] is NETWORK else {}),
                                    progress=False), {
        "graph": NETWORK, "data": (X, Y), "validation": 0.5, "score": "accuracy", "generator": GENERATOR,
        "epochs": 1, "steps": 2, "value_lr": 0.1, "momentum": 0.5, "weight_lr": 0.01, "weight_decay": 0.1,
        "batch_size": 3, "optimizer": "sgd", "patience": 1, "anneal": "linear", "warm_up": 0.5}),
    "fit pair": (lambda images, labels: fitted((images, labels)), {"images": X, "labels": Y}),
    "fit alone": (lambda images: fitted(images), {"images": X}),
    "fit validation": (lambda images, labels: fitted((X, Y), validation=(images, labels)), {"images": X, "labels": Y}),
    "checkpoint": (lambda checkpoint: fitted((X, Y), checkpoint=checkpoint), {"checkpoint": None}),
    "accuracy": (pcg.accuracy, {"graph": NETWORK, "batch": (X, Y)}),
    "accuracy pair": (lambda images, labels: pcg.accuracy(graph(), (images, labels)), {"images": X, "labels": Y}),
    "minus_energy": (pcg.minus_energy, {"graph": NETWORK, "batch": (X, Y)}),
    "minus_completion_error": (pcg.minus_completion_error, {"graph": NETWORK, "batch": (X, Y)}),
    "minus_energy pair": (lambda images, labels: pcg.minus_energy(graph(), (images, labels)),
                          {"images": X, "labels": Y}),
    "watch": (lambda images: convergence.watch(graph(replicas=1), {"pixels": images}, [0.1], [1e-2], batches=1,
                                               batch_size=2).after, {"images": X}),
    "set_weight": (lambda matrix: graph().set_weight(matrix), {"matrix": torch.zeros(21, 21)}),
    "energy": (NETWORK.energy, {"x": START}), "prediction": (NETWORK.prediction, {"x": START}),
    "value_gradient": (NETWORK.value_gradient, {"x": START}), "error": (NETWORK.error, {"x": START}),
    "group_prediction": (NETWORK.group_prediction, {"x": START, "group": "pixels"}),
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
    "ImageSet": (lambda **given: datasets.ImageSet(**given).images,
                 {"name": "mnist", "images": X, "labels": Y, "shape": (1, 4, 4), "source": "x"}),
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
    "share_right": (metrics.share_right, {"predicted": Y, "labels": Y}),
    "classification_table": (lambda **given: metrics.classification_table(**given).to_numpy().tolist(),
                             {"predicted": Y, "labels": Y, "names": ["a", "b"]}),
    "auroc": (metrics.auroc, {"scores": X[:, 0], "positive": Y.bool()}),
    "roc": (metrics.roc, {"scores": X[:, 0], "positive": Y.bool()}),
    "mse": (metrics.mse, {"images": X, "originals": X}), "psnr": (metrics.psnr, {"images": X, "originals": 1 - X}),
    "background_energy": (metrics.background_energy, {"images": X, "originals": X.round()}),
    "ssim": (metrics.ssim, {"images": PICTURES, "originals": PICTURES, "shape": (1, 28, 28)}),
    "seam": (metrics.seam, {"images": PICTURES, "known": datasets.top_half((1, 28, 28)), "shape": (1, 28, 28)}),
    "diversity": (metrics.diversity, {"images": X}),
    "nearest_distances": (metrics.nearest_distances, {"images": X}),
    "mean_interval": (metrics.mean_interval, {"values": [1.0, 2.0], "level": 0.95}),
    "frechet_judge_distance": (metrics.frechet_judge_distance, {"judge": READER, "real": PICTURES, "fake": PICTURES}),
    "classify": (MLP(16, 2, [3]).classify, {"images": X}),
    "score": (MLP(16, 2, [3]).score, {"data": (X, Y)}),
    "score data": (lambda images, labels: MLP(16, 2, [3]).score((images, labels)), {"images": X, "labels": Y}),
}
CALLS |= {
    "MLP": (MLP, {"pixels": 4, "labels": 2, "hidden": [3], "activation": "tanh", "generator": GENERATOR}),
    "RBM": (RBM, {"pixels": 4, "labels": 2, "hidden": 3, "init_std": 0.1, "generator": GENERATOR}),
    "DAM": (DAM, {"pixels": 4, "labels": 2, "memories": 3, "power": 2, "generator": GENERATOR}),
    "Autoencoder": (Autoencoder, {"pixels": 4, "hidden": [3], "generator": GENERATOR}),
    "autoencoder complete": (partial(autoencoder_complete, Autoencoder(16, [3])), {"images": X, "known": KNOWN}),
    "rbm complete": (lambda images, known: rbm_complete(RBM(16, 2, 3), images, known, 2, seeded()),
                     {"images": X, "known": KNOWN}),
    "rbm denoise": (lambda images: rbm_denoise(RBM(16, 2, 3), images, 2, seeded()), {"images": X}),
} | {f"fit {kind}": (partial(baseline, kind), {"images": X, "labels": Y, "generator": GENERATOR} | settings)
     for kind, (_, settings) in BASELINES.items()}
assert BASELINES.keys() == KINDS.keys()
TINY = {"pixels": 4, "labels": 2, "internal": 6, "hidden": [3], "self_loops": True, "without": [("labels", "labels")],
        "clusters": 2, "size": 6, "p": 0.5, "links": [(0, 1)], "neighbours": 2, "rewire": 0.1, "generator": GENERATOR}
CALLS |= {name: (make, {key: TINY[key] for key in signature(make).parameters if key in TINY})
          for name, make in topology.CONSTRUCTORS.items()}
# further ways by which images come in, whose errors may be torch's
OTHERS: dict[str, tuple[Callable, dict[str, object]]] = {
    "mean_image": (rivals.mean_image, {"train": X, "images": X, "known": KNOWN}),
    "nearest_neighbour": (rivals.nearest_neighbour, {"train": X, "images": X, "known": KNOWN}),
    "ridge": (lambda **given: rivals.ridge(**given).weight, {"train": X, "held_out": X, "known": KNOWN}),
    "box_filter": (rivals.box_filter, {"noisy": X, "shape": (1, 4, 4)}),
    "wiener_filter": (lambda **given: rivals.wiener_filter(**given)(X), {"train": X, "variance": 0.1,
                                                                         "shape": (1, 4, 4)}),
    "best_linear": (lambda **given: rivals.best_linear(**given).weight, {"train": X, "variance": 0.1}),
    "principal_components": (lambda **given: rivals.principal_components(**given)(X), {"train": X, "count": 2}),
}
