"""The measures of a sweep's runs on validation images. A file of its own, because reading a plan does not need it."""

from collections.abc import Collection

import torch
from torch import Tensor, nn

from pcgraph_lite.baselines.rivals import mean_image, nearest_neighbour, ridge_image
from pcgraph_lite.engine import learning
from pcgraph_lite.engine.graph import PCGraph
from pcgraph_lite.engine.query import observed, query
from pcgraph_lite.engine.solvers import WINDOW
from pcgraph_lite.images import datasets, metrics
from pcgraph_lite.images.datasets import ImageSet
from pcgraph_lite.images.judge import JUDGES, load_judge
from pcgraph_lite.studies import tasks, trials

VARIANCE = 0.5                                                             # of the noise on the pages
SCHEDULE = trials.schedule(160)                                            # plain steps at which denoising is measured
SETTLED = 10                                                               # images whose steps until rest are counted
LIT = 0.1                                                                 # deviation of pixels that are not always dark


def measure(model: nn.Module, train: ImageSet, held_out: ImageSet, images: int, seed: int, parts: Collection[str],
            steps: int, foreign: ImageSet | None = None) -> dict[str, float]:
    """Final measures on validation images, for those ``parts`` that make sense for the model.

    A classifier has only an accuracy.

    - accuracy: labels queried from pixels.
    - do: do_accuracy, the same with the pixels set by intervention.
    - labels: generated, the share of the ten labels whose generated image the judge reads as that class;
      labelled_agreement and seam, the judge's reading and metrics.seam of images completed from label and lower half;
      guided_mse, guided_ssim and guided_agreement, error, structural similarity and the judge's reading of those
      completed from label and upper half.
    - told: what the label adds to images completed from the lower half. unlabelled_agreement, the judge's reading of
      those completed without a label; mislabelled_agreement, the share that it reads as the wrong label that was held;
      label_weight_scale, the root mean square of the weights that leave the labels.
    - completion: completion_mse of the lower half, queried from the upper one, beside that of the mean image, of ridge
      regression, and of the training image whose upper half is nearest; the judge's readings; choice_mse and
      other_mse, the error on every second image and on the others, so that a choice made on the former is tested on
      the latter.
    - denoising: denoised_mse by initialization, at the best of SCHEDULE steps (denoised_step).
    - settling: safe_step, 1 / largest eigenvalue of the linear Hessian with nothing held; settling_steps, plain steps
      until completions of SETTLED images rest; settling_censored, the share that never does (tasks.settling_steps).
    - rest: the denoised picture after ``steps`` plain steps (an autoencoder's only one) beside the noisy one and a
      blank one; its metrics.background_energy.
    - start: initialization_mse, the error of completion by initialization after ``steps`` plain steps.
    - resting: of SETTLED images, the share of queries that are at rest after ``steps`` steps, for each task: plain
      queries, and those accelerated by the momentum that the pages use.
    - strangeness: predictions of images that are half noise and of ``foreign`` images.
    """
    if hasattr(model, "classify"):
        return {"accuracy": model.score((held_out.images, held_out.labels))}
    device, some = next(model.parameters()).device, held_out.subset(min(images, len(held_out)))
    truth, top = some.images.to(device), datasets.top_half(some.shape).to(device)
    takes = {"completion": lambda: _completed(model, train, some, truth, top),
             "denoising": lambda: _denoised(model, some, truth, seed),
             "rest": lambda: _in_one_pass(model, some, truth, seed)}
    if isinstance(model, PCGraph):
        takes["settling"] = lambda: _settling(model, truth, top)
        takes["rest"] = lambda: _at_rest(model, some, truth, seed, steps)
        takes["start"] = lambda: {"initialization_mse": float(metrics.mse(
            tasks.complete_by_start(model, truth, top, steps)[:, ~top], truth[:, ~top]).mean())}
        takes["strangeness"] = lambda: _strangeness(model, held_out, some, foreign, top, seed)
        if "labels" in model.topology.groups:
            takes["accuracy"] = lambda: {"accuracy": learning.accuracy(model, (held_out.images, held_out.labels))}
            if not model.topology.in_degree()[model.topology.slice("pixels")].any():
                return takes["accuracy"]()                                 # nothing predicts pixels: a classifier
            takes["resting"] = lambda: _resting(model, truth, top, steps)
            takes["do"] = lambda: _with_pixels_set(model, held_out)
            if held_out.name in JUDGES:
                takes["labels"] = lambda: _with_labels(model, some, device)
                takes["told"] = lambda: _told(model, some, device)
    return {name: value for part, take in takes.items() if part in parts for name, value in take().items()}


def _completed(model: nn.Module, train: ImageSet, some: ImageSet, truth: Tensor, top: Tensor) -> dict[str, float]:
    """Completion beside the mean image, ridge regression, and the training image whose upper half is nearest."""
    pictures = {"completion": tasks.complete(model, truth, top)} | {                            # (batch, pixels) each
        name: simple(train.images, truth.cpu(), top.cpu()).to(truth.device)
        for name, simple in (("nearest", nearest_neighbour), ("mean_image", mean_image), ("ridge", ridge_image))}
    each = {name: metrics.mse(images[:, ~top], truth[:, ~top]) for name, images in pictures.items()}     # (batch,)
    found = {f"{name}_mse": float(errors.mean()) for name, errors in each.items()}
    found |= {f"{name}_ssim": float(metrics.ssim(images, truth, some.shape).mean()) for name, images in pictures.items()
              if name != "nearest"}
    if some.name in JUDGES:
        found["completion_agreement"] = _read(some, pictures["completion"])
        found["original_agreement"] = _read(some, truth)
        found["completion_background"] = metrics.background_energy(pictures["completion"][:, ~top], truth[:, ~top])
    return found | {"choice_mse": float(each["completion"][::2].mean()),
                    "other_mse": float(each["completion"][1::2].mean())}


def _read(some: ImageSet, images: Tensor) -> float:
    """The share of images that the judge reads as the class of the originals."""
    return float((tasks.judge_reads(load_judge(some.name), images) == some.labels).double().mean())


def _denoised(model: nn.Module, some: ImageSet, truth: Tensor, seed: int) -> dict[str, float]:
    """Denoising at the best of SCHEDULE steps. An autoencoder has no steps."""
    noisy = datasets.noisy(some.images, VARIANCE, datasets.noise_generator(seed, "held-out")).to(truth.device)
    if not isinstance(model, PCGraph):
        return {"denoised_mse": float(metrics.mse(tasks.denoise(model, noisy, 1), truth).mean())}
    seen, _ = tasks.denoise_path(model, noisy, SCHEDULE)
    errors = {step: float(metrics.mse(cleaned, truth).mean()) for step, cleaned in seen.items()}
    best = min(errors, key=errors.get)
    return {"denoised_step": best, "denoised_mse": errors[best]}


def _at_rest(graph: PCGraph, some: ImageSet, truth: Tensor, seed: int, steps: int) -> dict[str, float]:
    """Denoising after a number of plain steps, with the judge's readings."""
    noisy = datasets.noisy(some.images, VARIANCE, datasets.noise_generator(seed, "held-out")).to(truth.device)
    seen, energy, _ = tasks.descend(graph, noisy, [steps])
    rested = (energy[-1 - WINDOW] - energy[-1]).abs() <= 1e-6 * energy[0]                       # (batch,)
    return _cleaned(some, truth, noisy, seen[steps]) | {"rested_share": float(rested.double().mean())}


def _in_one_pass(model: nn.Module, some: ImageSet, truth: Tensor, seed: int) -> dict[str, float]:
    """The noisy pictures of ``_at_rest``, denoised by an autoencoder."""
    noisy = datasets.noisy(some.images, VARIANCE, datasets.noise_generator(seed, "held-out")).to(truth.device)
    return _cleaned(some, truth, noisy, tasks.denoise(model, noisy, 1).clamp(0, 1))


def _cleaned(some: ImageSet, truth: Tensor, noisy: Tensor, cleaned: Tensor) -> dict[str, float]:
    """Denoised pictures beside the noisy ones and blank ones, with the judge's readings and what is left where the
    originals are empty.
    """
    pictures = {"rest": cleaned, "noisy": noisy.clamp(0, 1), "blank": torch.zeros_like(truth)}
    found = {f"{name}_psnr": float(metrics.psnr(images, truth).mean()) for name, images in pictures.items()}
    found |= {f"{name}_agreement": _read(some, pictures[name]) for name in ("rest", "noisy")}
    nearer = metrics.mse(cleaned, truth) < metrics.mse(noisy, truth)                            # (batch,)
    return found | {"nearer_share": float(nearer.double().mean()),
                    "rest_background": metrics.background_energy(cleaned, truth)}


def _strangeness(graph: PCGraph, held_out: ImageSet, some: ImageSet, foreign: ImageSet, top: Tensor,
                 seed: int) -> dict[str, float]:
    """How well the graph predicts what it is held at: half a picture over half noise, and pictures of another set.

    noise_residual and digit_residual: mean squared residual of either half, over pixels that are not always dark;
    constant_residual, that of one grey value. familiar_distance, foreign_distance: of whole images; auroc: how well
    the distance finds the foreign ones; brightness_auroc: how well their brightness does.
    """
    lit = (held_out.images.std(0) > LIT).to(top.device)                                         # (pixels,)
    noise = torch.rand(some.images.shape, generator=datasets.noise_generator(seed, "half-noise"))
    half = torch.where(top, some.images.to(top.device), noise.to(top.device))                   # (batch, pixels)
    both = torch.cat([some.images, foreign.images[:len(some)]]).to(top.device)                  # (2 batch, pixels)
    residuals = (half - _predicted(graph, half)).square()
    distance, brightness = metrics.mse(_predicted(graph, both), both), both.square().mean(-1)   # (2 batch,)
    strange = (torch.arange(len(both)) >= len(some)).to(top.device)
    return {"noise_residual": float(residuals[:, ~top & lit].mean()),
            "digit_residual": float(residuals[:, top & lit].mean()),
            "constant_residual": float((half - 0.5).square()[:, ~top & lit].mean()),
            "familiar_distance": float(distance[~strange].mean()), "foreign_distance": float(distance[strange].mean()),
            "auroc": metrics.auroc(distance, strange), "brightness_auroc": metrics.auroc(brightness, strange)}


def _predicted(graph: PCGraph, pixels: Tensor) -> Tensor:
    """The prediction mu of all pixels while they are held and the rest has settled. ``(batch, pixels)``."""
    return graph.group_prediction(tasks.classify(graph, pixels).x, "pixels")


def _settling(graph: PCGraph, truth: Tensor, top: Tensor) -> dict[str, float]:
    """The safe step, and the number of steps until completions rest."""
    steps, censored = tasks.settling_steps(graph, truth[:SETTLED], top)
    return {"safe_step": float(query(graph, init={"pixels": truth[:1]}, steps=1).value_lr),
            "settling_steps": steps, "settling_censored": censored}


def _resting(graph: PCGraph, truth: Tensor, top: Tensor, steps: int) -> dict[str, float]:
    """The share of queries that are at rest in the end: classes of images, lower halves, images of each label."""
    some, labels = truth[:SETTLED], torch.eye(graph.topology.size("labels"), device=truth.device)
    asked = {"classification": {"pixels": some}, "completion": {"pixels": observed(some, top)},
             "generation": {"labels": labels}}
    return {f"{task}_rested{words}": float(query(graph, held, steps=steps, momentum=momentum).converged.double().mean())
            for words, momentum in (("", 0.0), ("_accelerated", tasks.SETTLE["momentum"]))
            for task, held in asked.items()}


def _with_pixels_set(graph: PCGraph, held_out: ImageSet) -> dict[str, float]:
    """The share of images whose labels the graph reads where ``do`` sets their pixels."""
    labels = query(graph, do={"pixels": held_out.images}, **tasks.SETTLE).to("cpu").values["labels"]
    return {"do_accuracy": metrics.share_right(labels.argmax(-1), held_out.labels)}


def _with_labels(model: PCGraph, some: ImageSet, device: torch.device) -> dict[str, float]:
    """The judge's readings with labels held: of images generated from labels alone, and of completed upper halves."""
    judge, classes = load_judge(some.name), torch.arange(model.topology.size("labels"))
    drawn = tasks.generate(model, classes.to(device)).values["pixels"].cpu().clamp(0, 1)
    bottom = datasets.bottom_half(some.shape)
    whole, guided = (tasks.complete(model, some.images.to(device), half.to(device), some.labels.to(device)).cpu()
                     for half in (bottom, ~bottom))                                             # (batch, pixels)
    return {"generated": float((tasks.judge_reads(judge, drawn) == classes).double().mean()),
            "labelled_agreement": float((tasks.judge_reads(judge, whole) == some.labels).double().mean()),
            "seam": float(metrics.seam(whole, bottom, some.shape).mean()),
            "guided_mse": float(metrics.mse(guided[:, bottom], some.images[:, bottom]).mean()),
            "guided_ssim": float(metrics.ssim(guided, some.images, some.shape).mean()),
            "guided_agreement": float((tasks.judge_reads(judge, guided) == some.labels).double().mean())}


def _told(model: PCGraph, some: ImageSet, device: torch.device) -> dict[str, float]:
    """Lower halves completed without a label, and with that of the next class in place of their own."""
    judge, known = load_judge(some.name), datasets.bottom_half(some.shape).to(device)
    wrong = (some.labels + 1) % model.topology.size("labels")
    untold, mistold = (tasks.judge_reads(judge, tasks.complete(model, some.images.to(device), known, labels).cpu())
                       for labels in (None, wrong.to(device)))                                  # (batch,)
    leaving = model.weight[model.topology.slice("labels")]                                      # (labels, n)
    return {"unlabelled_agreement": float((untold == some.labels).double().mean()),
            "mislabelled_agreement": float((mistold == wrong).double().mean()),
            "label_weight_scale": float(leaving[leaving != 0].square().mean().sqrt())}
