"""What a run of a sweep is judged by, on validation images. By itself, because reading a plan needs no measures."""

import torch
from torch import nn

from ..baselines import checks
from ..engine import learning
from ..engine.graph import PCGraph
from ..engine.query import query
from ..images import datasets, metrics
from ..images import scale as scales
from ..images.datasets import ImageSet
from ..images.judge import JUDGES, load_judge
from ..studies import tasks

VARIANCE = 0.5                                                             # of the noise, as on the pages
SCHEDULE = (1, 2, 3, 5, 10, 20, 40, 80, 160)                               # plain steps at which denoising is looked at


def measure(model: nn.Module, held_out: ImageSet, images: int, seed: int) -> dict[str, float]:
    """Final measures on validation images; what makes no sense for a model is left out.

    A classifier that is no graph has an accuracy alone.

    accuracy: labels asked from pixels. generated: share of the ten labels whose image the judge reads as that
    class. completion_mse: lower half asked from the upper one; choice_mse and other_mse: of every other image, and
    of the others, so that what is chosen on the first is tested on the second. denoised_mse: by initialization, at
    the best of SCHEDULE steps (denoised_step). safe_step: 1 / largest eigenvalue of the linear Hessian with nothing
    held. settling_steps: plain steps of a completion of ten images until it has come to rest, and the share that
    has not (settling_censored), see ``tasks.settling_steps``. labelled_agreement and seam: of images whose upper
    half was asked from label and lower half, what the judge reads and metrics.seam.
    """
    if hasattr(model, "classify"):
        return {"accuracy": checks.classifier_accuracy(model, (held_out.images, held_out.labels))}
    device = next(model.parameters()).device
    some = held_out.subset(min(images, len(held_out)))
    truth, top, found = some.images.to(device), datasets.top_half(some.shape), {}
    if isinstance(model, PCGraph) and "labels" in model.topology.groups:
        found["accuracy"] = learning.accuracy(model, (scales.of(model).apply(held_out.images), held_out.labels))
        if not model.topology.in_degree()[model.topology.slice("pixels")].any():
            return found                                                   # pixels that nothing predicts: a classifier
        if held_out.name in JUDGES:
            found |= _with_labels(model, some, device)
    completed = tasks.complete(model, truth, top.to(device))
    errors = metrics.mse(completed[:, ~top], truth[:, ~top])
    found |= {"completion_mse": float(errors.mean()), "choice_mse": float(errors[::2].mean()),
              "other_mse": float(errors[1::2].mean())}
    noisy = datasets.noisy(some.images, VARIANCE, datasets.noise_generator(seed, "held-out")).to(device)
    if not isinstance(model, PCGraph):
        return found | {"denoised_mse": float(metrics.mse(tasks.denoise(model, noisy, 1), truth).mean())}
    seen, _ = tasks.denoise_path(model, noisy, SCHEDULE)
    errors = {step: float(metrics.mse(cleaned, truth).mean()) for step, cleaned in seen.items()}
    found["denoised_step"] = min(errors, key=errors.get)
    found["safe_step"] = float(query(model, init={"pixels": truth[:1]}, steps=1).value_lr)
    found["settling_steps"], found["settling_censored"] = tasks.settling_steps(model, truth[:10], top.to(device))
    return found | {"denoised_mse": errors[found["denoised_step"]]}


def _with_labels(model: PCGraph, some: ImageSet, device: torch.device) -> dict[str, float]:
    """What the judge reads where labels are held: of images drawn from them alone, and of completed upper halves."""
    judge, classes = load_judge(some.name), torch.arange(model.topology.size("labels"))
    drawn = tasks.generate(model, classes.to(device)).values["pixels"].cpu().clamp(0, 1)
    bottom = datasets.bottom_half(some.shape)
    whole = tasks.complete(model, some.images.to(device), bottom.to(device), some.labels.to(device)).cpu()
    return {"generated": float((tasks.judge_reads(judge, drawn) == classes).double().mean()),
            "labelled_agreement": float((tasks.judge_reads(judge, whole) == some.labels).double().mean()),
            "seam": float(metrics.seam(whole, bottom, some.shape).mean())}
