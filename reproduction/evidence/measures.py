"""What a run of a sweep is judged by, on validation images. By itself, because reading a plan needs no measures."""

from collections.abc import Collection

import torch
from torch import Tensor, nn

from pcgraph_lite.engine import learning
from pcgraph_lite.engine.graph import PCGraph
from pcgraph_lite.engine.query import query
from pcgraph_lite.images import datasets, metrics
from pcgraph_lite.images.datasets import ImageSet
from pcgraph_lite.images.judge import JUDGES, load_judge
from pcgraph_lite.studies import tasks, trials

VARIANCE = 0.5                                                             # of the noise, as on the pages
SCHEDULE = trials.schedule(160)                                            # plain steps at which denoising is looked at
SETTLED = 10                                                               # images whose steps to rest are counted


def measure(model: nn.Module, held_out: ImageSet, images: int, seed: int,
            parts: Collection[str]) -> dict[str, float]:
    """Final measures on validation images, those of the parts asked for; what makes no sense for a model is left out.

    A classifier has an accuracy alone.

    accuracy: labels asked from pixels. labels: generated, the share of the ten labels whose image the judge reads as
    that class; labelled_agreement and seam, of images whose upper half was asked from label and lower half, what the
    judge reads and metrics.seam. completion: completion_mse, lower half asked from the upper one; choice_mse and
    other_mse, of every other image, and of the others, so that what is chosen on the first is tested on the second.
    denoising: denoised_mse, by initialization, at the best of SCHEDULE steps (denoised_step). settling: safe_step,
    1 / largest eigenvalue of the linear Hessian with nothing held; settling_steps, plain steps of a completion of
    SETTLED images until it has come to rest, and the share that has not (settling_censored): ``tasks.settling_steps``.
    """
    if hasattr(model, "classify"):
        return {"accuracy": model.score((held_out.images, held_out.labels))}
    device, some = next(model.parameters()).device, held_out.subset(min(images, len(held_out)))
    truth, top = some.images.to(device), datasets.top_half(some.shape).to(device)
    takes = {"completion": lambda: _completed(model, truth, top),
             "denoising": lambda: _denoised(model, some, truth, seed)}
    if isinstance(model, PCGraph):
        takes["settling"] = lambda: _settling(model, truth, top)
        if "labels" in model.topology.groups:
            takes["accuracy"] = lambda: {"accuracy": learning.accuracy(model, (held_out.images, held_out.labels))}
            if not model.topology.in_degree()[model.topology.slice("pixels")].any():
                return takes["accuracy"]()                                 # nothing predicts pixels: a classifier
            if held_out.name in JUDGES:
                takes["labels"] = lambda: _with_labels(model, some, device)
    return {name: value for part, take in takes.items() if part in parts for name, value in take().items()}


def _completed(model: nn.Module, truth: Tensor, top: Tensor) -> dict[str, float]:
    errors = metrics.mse(tasks.complete(model, truth, top)[:, ~top], truth[:, ~top])
    return {"completion_mse": float(errors.mean()), "choice_mse": float(errors[::2].mean()),
            "other_mse": float(errors[1::2].mean())}


def _denoised(model: nn.Module, some: ImageSet, truth: Tensor, seed: int) -> dict[str, float]:
    """At the best of SCHEDULE steps; an autoencoder has no steps."""
    noisy = datasets.noisy(some.images, VARIANCE, datasets.noise_generator(seed, "held-out")).to(truth.device)
    if not isinstance(model, PCGraph):
        return {"denoised_mse": float(metrics.mse(tasks.denoise(model, noisy, 1), truth).mean())}
    seen, _ = tasks.denoise_path(model, noisy, SCHEDULE)
    errors = {step: float(metrics.mse(cleaned, truth).mean()) for step, cleaned in seen.items()}
    best = min(errors, key=errors.get)
    return {"denoised_step": best, "denoised_mse": errors[best]}


def _settling(graph: PCGraph, truth: Tensor, top: Tensor) -> dict[str, float]:
    """The safe step, and how many steps a completion takes to rest."""
    steps, censored = tasks.settling_steps(graph, truth[:SETTLED], top)
    return {"safe_step": float(query(graph, init={"pixels": truth[:1]}, steps=1).value_lr),
            "settling_steps": steps, "settling_censored": censored}


def _with_labels(model: PCGraph, some: ImageSet, device: torch.device) -> dict[str, float]:
    """What the judge reads where labels are held: of images drawn from them alone, and of completed upper halves."""
    judge, classes = load_judge(some.name), torch.arange(model.topology.size("labels"))
    drawn = tasks.generate(model, classes.to(device)).values["pixels"].cpu().clamp(0, 1)
    bottom = datasets.bottom_half(some.shape)
    whole = tasks.complete(model, some.images.to(device), bottom.to(device), some.labels.to(device)).cpu()
    return {"generated": float((tasks.judge_reads(judge, drawn) == classes).double().mean()),
            "labelled_agreement": float((tasks.judge_reads(judge, whole) == some.labels).double().mean()),
            "seam": float(metrics.seam(whole, bottom, some.shape).mean())}
