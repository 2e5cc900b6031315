"""The measures of a sweep's runs on validation images."""

from collections.abc import Collection
from statistics import fmean

import torch
from torch import Tensor

from pcgraph_lite.baselines.autoencoder import Autoencoder
from pcgraph_lite.baselines.rivals import mean_image, nearest_neighbour, principal_components, ridge_image
from pcgraph_lite.engine import learning
from pcgraph_lite.engine.graph import PCGraph
from pcgraph_lite.engine.query import Observed, observed, query
from pcgraph_lite.images import datasets, metrics
from pcgraph_lite.images.datasets import SHAPES, ImageSet
from pcgraph_lite.images.judge import JUDGES, load_judge
from pcgraph_lite.studies import memory, tasks, trials

from . import config, zoo

FOREIGN = {"mnist": "fashion", "fashion": "mnist"}                         # data that a graph has not seen
VARIANCE, OF_MEMORIES = 0.5, 0.2                                           # of the noise on the pages
SCHEDULE, LOOKS = trials.schedule(160), trials.schedule(320)               # plain steps at which denoising is measured
PAIRS = ((7, 9), (3, 5))                                                   # digits whose lower third is alike
SETTLED = 10                                                               # images asked when their queries rest
Restorer = PCGraph | Autoencoder                                           # what completes and denoises
LIT = 0.1                                                                 # deviation of pixels that are not always dark


def measure(model: zoo.Learned, train: ImageSet, held_out: ImageSet, images: int, seed: int, parts: Collection[str],
            steps: int, profile: config.Profile) -> dict[str, float]:
    """Measures on validation images, for those ``parts`` that make sense for the model; a classifier has only an
    accuracy. ``images``: how many are completed and denoised. ``steps``: T of ``rest``, ``start`` and ``resting``.
    ``profile``: the source of foreign images for ``strangeness``. Graphs of memories are asked for those they store.
    """
    if not isinstance(model, Restorer):
        return {"accuracy": model.score((held_out.images, held_out.labels))}
    device, some = next(model.parameters()).device, held_out.subset(min(images, len(held_out)))
    truth, top = some.images.to(device), datasets.top_half(SHAPES[some.name]).to(device)
    takes = {"completion": lambda: _completed(model, train, some, truth, top),
             "denoising": lambda: _denoised(model, some, truth, seed),
             "rest": lambda: _after_steps(model, some, truth, seed, steps)}
    if isinstance(model, PCGraph):
        takes["settling"] = lambda: _settling(model, truth, top)
        takes["start"] = lambda: _started(model, truth, top, steps)
        takes["strangeness"] = lambda: _strangeness(model, held_out, some, profile, top, seed)
        takes["decibels"] = lambda: _in_decibels(model, some, seed)
        takes["memories"] = lambda: _recalled(model, train.images[:images], top, seed)
        if "labels" in model.topology.groups:
            takes["accuracy"] = lambda: {"accuracy": learning.accuracy(model, (held_out.images, held_out.labels))}
            if not model.topology.in_degree()[model.topology.slice("pixels")].any():
                return takes["accuracy"]()                                 # nothing predicts pixels: a classifier
            takes["resting"] = lambda: _resting(model, truth, top, steps)
            takes["do"] = lambda: _with_pixels_set(model, held_out)
            if held_out.name in JUDGES:
                takes["labels"] = lambda: _with_labels(model, some, device)
                takes["told"] = lambda: _told(model, some, device)
                takes["drawing"] = lambda: _drawn(model, held_out, device)
    return {name: value for part, take in takes.items() if part in parts for name, value in take().items()}


def _completed(model: Restorer, train: ImageSet, some: ImageSet, truth: Tensor, top: Tensor) -> dict[str, float]:
    """Completion of the lower half, beside the mean image, ridge regression and the nearest training image. choice_mse
    and other_mse are its errors on every second image and on the others: to choose, and to test the choice.
    """
    pictures = {"completion": tasks.complete(model, truth, top)} | {                            # (batch, pixels) each
        name: simple(train.images, truth.cpu(), top.cpu()).to(truth.device)
        for name, simple in (("nearest", nearest_neighbour), ("mean_image", mean_image), ("ridge", ridge_image))}
    each = {name: metrics.mse(images[:, ~top], truth[:, ~top]) for name, images in pictures.items()}     # (batch,)
    found = {f"{name}_mse": float(errors.mean()) for name, errors in each.items()}
    found |= {f"{name}_ssim": float(metrics.ssim(pictures[name], truth, SHAPES[some.name]).mean())
              for name in pictures if name != "nearest"}
    if some.name in JUDGES:
        found["completion_agreement"] = _read(some, pictures["completion"])
        found["original_agreement"] = _read(some, truth)
        found["completion_background"] = metrics.background_energy(pictures["completion"][:, ~top], truth[:, ~top])
    return found | {"choice_mse": float(each["completion"][::2].mean()),
                    "other_mse": float(each["completion"][1::2].mean())}


def _read(some: ImageSet, images: Tensor, classes: Tensor | None = None) -> float:
    """The share of images that the judge of a data set reads as some classes; None: those of the originals."""
    wanted = some.labels if classes is None else classes
    return float((tasks.judge_reads(load_judge(some.name), images) == wanted).double().mean())


def _noisy(some: ImageSet, truth: Tensor, seed: int) -> Tensor:
    return datasets.noisy(some.images, VARIANCE, datasets.noise_generator(seed, "held-out")).to(truth.device)


def _denoised(model: Restorer, some: ImageSet, truth: Tensor, seed: int) -> dict[str, float]:
    """Denoising by initialization at the best of SCHEDULE steps. An autoencoder has no steps."""
    noisy = _noisy(some, truth, seed)
    if not isinstance(model, PCGraph):
        return {"denoised_mse": float(metrics.mse(tasks.denoise(model, noisy, 1), truth).mean())}
    seen, _ = tasks.denoise_path(model, noisy, SCHEDULE)
    errors = {step: float(metrics.mse(cleaned, truth).mean()) for step, cleaned in seen.items()}
    best = min(errors, key=errors.__getitem__)
    return {"denoised_step": best, "denoised_mse": errors[best]}


def _in_units(graph: PCGraph, variance: float) -> dict[str, float]:
    """Suffix of measures -> in [0, 1] units, the variance of noise in these and, if they differ, in scaled units."""
    scale = graph.pixel_scale
    return {"": variance} | ({} if scale.unit == 1 else {"_scaled": scale.variance(variance)})


def _in_decibels(graph: PCGraph, some: ImageSet, seed: int) -> dict[str, float]:
    """PSNR in dB of denoising by initialization at the best of LOOKS steps, with noise in [0, 1] and scaled units."""
    return {f"denoised{units}_db": max(trials.path(graph, some, variance, seed, LOOKS).psnr)
            for units, variance in _in_units(graph, VARIANCE).items()}


def _recalled(graph: PCGraph, stored: Tensor, top: Tensor, seed: int) -> dict[str, float]:
    """The share of stored images that come back: from the upper half, and from noise in [0, 1] and scaled units."""
    recalls = {"from_half": memory.from_part(graph, stored.to(top.device), top)}
    for units, variance in _in_units(graph, OF_MEMORIES).items():
        noisy = datasets.noisy(stored, variance, datasets.noise_generator(seed)).to(top.device)
        recalls[f"from_noise{units}"] = memory.from_start(graph, noisy, [2000], internal="prediction")
    return {name: trials.recalled(recall, stored).each["agrees"].mean() for name, recall in recalls.items()}


def _started(graph: PCGraph, truth: Tensor, top: Tensor, steps: int) -> dict[str, float]:
    """The error of completion by initialization after a number of plain steps."""
    started = tasks.complete_by_start(graph, truth, top, steps)
    return {"initialization_mse": float(metrics.mse(started[:, ~top], truth[:, ~top]).mean())}


def _after_steps(model: Restorer, some: ImageSet, truth: Tensor, seed: int, steps: int) -> dict[str, float]:
    """Pictures denoised by a number of plain steps, or by an autoencoder's one pass, beside the noisy and blank ones:
    quality, the judge's readings and what is left where the originals are empty.
    """
    noisy, found = _noisy(some, truth, seed), {}
    if isinstance(model, PCGraph):
        seen, energy, _ = tasks.descend(model, noisy, [steps])
        cleaned = seen[steps]                                                                   # (batch, pixels)
        found = {"rested_share": float(memory.at_rest(energy, 1e-6).double().mean())}
    else:
        cleaned = tasks.denoise(model, noisy, 1).clamp(0, 1)
    pictures = {"rest": cleaned, "noisy": noisy.clamp(0, 1), "blank": torch.zeros_like(truth)}
    found |= {f"{name}_psnr": float(metrics.psnr(images, truth).mean()) for name, images in pictures.items()}
    found |= {f"{name}_agreement": _read(some, pictures[name]) for name in ("rest", "noisy")}
    nearer = metrics.mse(cleaned, truth) < metrics.mse(noisy, truth)                            # (batch,)
    return found | {"nearer_share": float(nearer.double().mean()),
                    "rest_background": metrics.background_energy(cleaned, truth)}


def _strangeness(graph: PCGraph, held_out: ImageSet, some: ImageSet, profile: config.Profile, top: Tensor,
                 seed: int) -> dict[str, float]:
    """How well the graph predicts what it is held at. noise_residual, digit_residual, constant_residual: mean squared
    residual of half noise and half picture, over pixels that are not always dark, and of one grey value.
    familiar_distance, foreign_distance: of whole images; auroc, brightness_auroc: how well distance and brightness find
    the foreign ones.
    """
    lit = (held_out.images.std(0) > LIT).to(top.device)                                         # (pixels,)
    noise = torch.rand(some.images.shape, generator=datasets.noise_generator(seed, "half-noise"))
    half = torch.where(top, some.images.to(top.device), noise.to(top.device))                   # (batch, pixels)
    both, strange = (part.to(top.device) for part in _with_foreign(some, profile, len(some)))
    residuals = (half - _predicted(graph, half)).square()
    distance, brightness = metrics.mse(_predicted(graph, both), both), both.square().mean(-1)   # (2 batch,)
    return {"noise_residual": float(residuals[:, ~top & lit].mean()),
            "digit_residual": float(residuals[:, top & lit].mean()),
            "constant_residual": float((half - 0.5).square()[:, ~top & lit].mean()),
            "familiar_distance": float(distance[~strange].mean()), "foreign_distance": float(distance[strange].mean()),
            "auroc": metrics.auroc(distance, strange), "brightness_auroc": metrics.auroc(brightness, strange)}


def principal_auroc(spec: config.Model, seed: int, images: int, profile: str) -> float:
    """How well the distance to 100 principal components of training images finds what is foreign in ``strangeness``."""
    settings = config.load_profile(profile)
    rest, held_out = zoo.split(spec, settings, torch.Generator().manual_seed(seed))
    both, strange = _with_foreign(held_out, settings, images)
    distance = metrics.mse(principal_components(rest.images, 100)(both), both)                  # (2 batch,)
    return metrics.auroc(distance, strange)


def _with_foreign(known: ImageSet, profile: config.Profile, count: int) -> tuple[Tensor, Tensor]:
    """At most ``count`` images and as many foreign ones ``(2 batch, pixels)``; which are foreign ``(2 batch,)``."""
    some, foreign = known.images[:count], zoo.images(FOREIGN[known.name], "train", profile)
    both = torch.cat([some, foreign.images[:len(some)]])
    return both, torch.arange(len(both)) >= len(some)


def _predicted(graph: PCGraph, pixels: Tensor) -> Tensor:
    """The prediction mu of all pixels while they are held and the rest has settled. ``(batch, pixels)``."""
    return graph.pixel_scale.undo(graph.group_prediction(tasks.classify(graph, pixels).x, "pixels"))


def _settling(graph: PCGraph, truth: Tensor, top: Tensor) -> dict[str, float]:
    """The safe step, 1 / largest eigenvalue of the linear Hessian with nothing held; the plain steps until completions
    of SETTLED images rest, and the share that never does.
    """
    steps, censored = tasks.settling_steps(graph, truth[:SETTLED], top)
    return {"safe_step": float(query(graph, init={"pixels": truth[:1]}, steps=1).value_lr),
            "settling_steps": steps, "settling_censored": censored}


def _resting(graph: PCGraph, truth: Tensor, top: Tensor, steps: int) -> dict[str, float]:
    """The share of queries that are at rest in the end, plain and with the momentum that the pages use: classes of
    SETTLED images, their lower halves, images of each label.
    """
    few, eye = truth[:SETTLED], torch.eye(graph.topology.size("labels"), device=truth.device)
    asked: dict[str, dict[str, Tensor | Observed]] = {
        "classification": {"pixels": few}, "completion": {"pixels": observed(few, top)}, "generation": {"labels": eye}}
    return {f"{task}_rested{words}": float(query(graph, held, steps=steps, momentum=momentum).converged.double().mean())
            for words, momentum in (("", 0.0), ("_accelerated", tasks.SETTLE["momentum"]))
            for task, held in asked.items()}


def _with_pixels_set(graph: PCGraph, held_out: ImageSet) -> dict[str, float]:
    """The share of images whose labels the graph reads where ``do`` sets their pixels."""
    labels = query(graph, do={"pixels": held_out.images}, **tasks.SETTLE).to("cpu").values["labels"]
    return {"do_accuracy": metrics.share_right(labels.argmax(-1), held_out.labels)}


def _with_labels(model: PCGraph, some: ImageSet, device: torch.device) -> dict[str, float]:
    """The judge's readings with labels held: of images generated from the ten labels alone, and of those completed from
    label and lower half (labelled, with the seam) or label and upper half (guided, with error and similarity).
    """
    classes, bottom = torch.arange(model.topology.size("labels")), datasets.bottom_half(SHAPES[some.name])
    drawn = tasks.generate(model, classes.to(device)).values["pixels"].cpu().clamp(0, 1)
    whole, guided = (tasks.complete(model, some.images.to(device), half.to(device), some.labels.to(device)).cpu()
                     for half in (bottom, ~bottom))                                             # (batch, pixels)
    return {"generated": _read(some, drawn, classes), "labelled_agreement": _read(some, whole),
            "seam": float(metrics.seam(whole, bottom, SHAPES[some.name]).mean()),
            "guided_mse": float(metrics.mse(guided[:, bottom], some.images[:, bottom]).mean()),
            "guided_ssim": float(metrics.ssim(guided, some.images, SHAPES[some.name]).mean()),
            "guided_agreement": _read(some, guided)}


def _drawn(graph: PCGraph, held_out: ImageSet, device: torch.device) -> dict[str, float]:
    """Shares of labels whose drawing the judge reads as the label, unchanged (drawn) and divided by its maximum
    (drawn_over_max); for digits, of completions read as the given label, where the known lower third, of 15 images of
    each digit of PAIRS, fits two (label_agreement).
    """
    classes, known = torch.arange(10), datasets.bottom_fraction(SHAPES[held_out.name], 0.33).to(device)
    drawn = tasks.generate(graph, classes.to(device)).values["pixels"].clamp(0, 1)              # (10, pixels)
    bright = drawn / drawn.amax(-1, keepdim=True).clamp_min(1e-3)
    found = {"drawn": _read(held_out, drawn, classes), "drawn_over_max": _read(held_out, bright, classes)}
    shares = []
    for pair in PAIRS if held_out.name == "mnist" else ():
        images = torch.cat([held_out.images[held_out.labels == digit][:15] for digit in pair]).to(device)
        for label in pair:
            wanted = torch.full((len(images),), label)
            shares.append(_read(held_out, tasks.complete(graph, images, known, wanted.to(device)), wanted))
    return found | ({"label_agreement": fmean(shares)} if shares else {})


def _told(model: PCGraph, some: ImageSet, device: torch.device) -> dict[str, float]:
    """Images completed from the lower half without a label, and how many the judge reads as the wrong label that was
    held; the root mean square of the weights that leave the labels.
    """
    known, wrong = datasets.bottom_half(SHAPES[some.name]).to(device), (some.labels + 1) % model.topology.size("labels")
    untold, mistold = (tasks.complete(model, some.images.to(device), known, labels).cpu()
                       for labels in (None, wrong.to(device)))                                  # (batch, pixels)
    leaving = model.weight[model.topology.slice("labels")]                                      # (labels, n)
    return {"unlabelled_agreement": _read(some, untold),
            "mislabelled_agreement": _read(some, mistold, wrong),
            "label_weight_scale": float(leaving[leaving != 0].square().mean().sqrt())}
