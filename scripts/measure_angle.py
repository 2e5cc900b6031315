"""How far the weight update of predictive coding points from that of backpropagation, by the relaxed time T x gamma.

Both gradients are those of the same layered network on the same images: of the energy after relaxation (eq. 4), and of
half the squared error at the labels. For short times they are parallel: an error runs back one layer a step, multiplied
by gamma. At equilibrium, where f is linear, what runs back is not the error e at the labels but e (I + sum P^T P)^-1,
with the products P of the weights from each hidden layer to the labels.

    python scripts/measure_angle.py              # writes results/sweeps/angle.csv
"""

import math
import time
from itertools import pairwise

import pandas as pd
import torch
from torch import Tensor
from torch.nn.functional import cosine_similarity, one_hot

from pcgraph_lite import hardware
from pcgraph_lite.engine import learning, topology
from pcgraph_lite.engine.graph import PCGraph
from pcgraph_lite.engine.hessian import largest_eigenvalue
from pcgraph_lite.engine.inference import Settings, settle
from pcgraph_lite.files import write_aside
from pcgraph_lite.images import datasets
from reproduction import checkout
from reproduction.evidence import records

TIMES = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
IMAGES, BATCH, EPOCHS = 20_000, 100, (0, 1, 5)                             # the angle is taken after so many epochs
TRAININGS = (("relu", 5, 0.02), ("linear", 5, 0.02), ("relu", 20, "safe"))             # activation, T and gamma


def pc_gradient(graph: PCGraph, images: Tensor, labels: Tensor, steps: int, gamma: float) -> list[Tensor]:
    """Gradient of the energy (eq. 4) after ``steps`` value steps, mean over the batch: ``(source, target)`` a layer.

    Images ``(batch, pixels)`` and one-hot labels ``(batch, classes)`` are held.
    """
    problem = learning.started(graph, {"pixels": images, "labels": labels}, len(images))
    relaxed = settle(problem, Settings(steps, gamma, trace=False))
    return list(relaxed.problem.weight_gradient(1 / len(images)).values())


def bp_gradient(graph: PCGraph, images: Tensor, labels: Tensor) -> list[Tensor]:
    """Gradient of half the squared error at the labels, averaged over the batch, in the same form."""
    weights, values = [weight.detach().clone().requires_grad_() for weight in graph.weights], images
    for block, weight in zip(graph.blocks, weights, strict=True):          # in the order of the layers
        values = graph.activations[block.source](values) @ weight
    loss = (labels - values).square().sum() / (2 * len(images))
    return list(torch.autograd.grad(loss, weights))


def angles(graph: PCGraph, images: Tensor, labels: Tensor, relaxed: float) -> dict[str, float]:
    """Cosine between both gradients, and their ratio of norms, layer by layer; T and gamma are chosen to be stable."""
    problem = learning.started(graph, {"pixels": images, "labels": labels}, len(images))
    safe = 1 / float(largest_eigenvalue(problem))
    steps = max(5, math.ceil(relaxed / (0.5 * safe)))
    found = {"T": steps, "gamma": relaxed / steps, "relaxed": relaxed, "safe_step": safe}
    pairs = zip(pc_gradient(graph, images, labels, steps, relaxed / steps), bp_gradient(graph, images, labels),
                strict=True)
    for k, (ours, theirs) in enumerate(pairs, start=1):
        found[f"cosine{k}"] = float(cosine_similarity(ours.flatten(), theirs.flatten(), dim=0))
        found[f"norm{k}"] = float(ours.norm() / theirs.norm())
    return found


def measured(seed: int, activation: str, steps: int, gamma: float | str) -> list[dict[str, object]]:
    """Angles of a classifier of digits at its first weights and while it is trained with ``steps`` and ``gamma``."""
    began, generator = time.monotonic(), torch.Generator().manual_seed(seed)
    images, held_out = datasets.split_off(datasets.load("mnist"), 1000, generator)
    images = images.subset(IMAGES, generator)
    graph = PCGraph(topology.discriminative(784, (256, 256), 10), activation, generator=generator)
    asked, labels, rows = held_out.images, one_hot(held_out.labels, 10).float(), []
    for before, epochs in pairwise((0, *EPOCHS)):
        if epochs > before:
            learning.fit(graph, (images.images, images.labels), epochs=epochs - before, batch_size=BATCH, steps=steps,
                         value_lr=gamma, weight_lr=1e-3, generator=generator, progress=False)
        rows += [{"data": "mnist", "activation": activation, "seed": seed, "train_T": steps, "train_gamma": gamma,
                  "epochs": epochs, "n": len(asked), **angles(graph, asked, labels, relaxed)} for relaxed in TIMES]
    facts = records.made(hardware.describe("cpu"), began)
    return [row | facts for row in rows]


if __name__ == "__main__":
    hardware.prepare(1)
    rows = [row for seed in range(3) for how in TRAININGS for row in measured(seed, *how)]
    with write_aside(checkout.ROOT / "results/sweeps/angle.csv") as part:
        pd.DataFrame(rows).to_csv(part, index=False, float_format="%.6g")
