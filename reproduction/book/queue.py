"""What is missing for final verdicts, what it costs, and in which order: the most verdicts an hour of computing first.

Nothing is kept beside the results themselves: left is what weights, sweeps and published records do not show, so that
the queue can be stopped and taken up at any time, on any machine that has the files.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from statistics import median
from typing import Any

import pandas as pd
import torch

from pcgraph_lite.images import datasets

from .. import checkout
from ..evidence import claims, config, records, sweeps, verdicts, zoo
from ..evidence.config import Model
from . import notebooks

OPEN = ("preliminary", "not run")
COLUMNS = ["page", "claims", "trainings", "sweep runs", "hours", "hours so far"]
IMAGES = {"cifar10": 50000, "svhn": 73257}         # to train on; the others have 60,000
ASSUMED = 1e-10                                    # seconds a product where nothing was measured: a slow core
Training = tuple[str, int]                         # a model and a seed


@dataclass(frozen=True)
class Page:
    """A page that open claims wait for, and what has to be trained and swept before it is run."""

    name: str
    claims: tuple[str, ...]
    trainings: frozenset[Training]
    runs: tuple[tuple[sweeps.Run, float | None], ...]                      # with the seconds that its setting took
    seconds: float                                 # of the page itself


def pages(profile: str = "paper") -> list[Page]:
    """Every page with a claim that the published records leave open, in the order of the book. Raises UnknownName."""
    settings, card = config.load_profile(profile), verdicts.scorecard(records.read(*records.places([])))
    waiting = card[card["verdict"].str.startswith(OPEN) & ~card["claim"].isin(unavailable(card["claim"]))]
    return [_page(name, tuple(some), settings) for name, some in waiting.groupby("notebook", sort=False)["claim"]]


def ordered(profile: str = "paper") -> pd.DataFrame:
    """One row a page, columns ``COLUMNS``: each time the page that makes most claims final an hour of what is left.

    A training that two pages need counts for the first of them.
    """
    left, done, rows, spent = pages(profile), set(), [], 0.0
    seconds = rates(profile)
    while left:
        hours = {page.name: _cost(page, done, profile, seconds) / 3600 for page in left}
        best = min(left, key=lambda page: hours[page.name] / len(page.claims))
        spent += hours[best.name]
        rows.append([best.name, ", ".join(best.claims), len(best.trainings - done), len(best.runs), hours[best.name],
                     spent])
        left.remove(best)
        done |= best.trainings
    return pd.DataFrame(rows, columns=COLUMNS)


def unavailable(names: Iterable[str]) -> list[str]:
    """Those of the claims that look at nothing but data sets which are not on this machine."""
    absent, rules = {row["name"] for row in datasets.status() if row["checked"] != "yes"}, claims.load_claims()
    return [name for name in names if {check.dataset for check in rules[name].checks} <= absent]


def run(profile: str = "paper", device: str = "auto", say: Callable[[str], object] = print) -> None:
    """Train, sweep and run what is missing, in this order; a kill loses the epoch that was under way."""
    every = {page.name: page for page in pages(profile)}
    for name in ordered(profile)["page"]:
        for model, seed in sorted(every[name].trainings, key=lambda one: one[::-1]):
            zoo.train(model, profile, seed, device)
        for sweep in _sweeps(notebooks.resolve(name, config.load_profile(profile), {})):
            sweeps.run(sweep, profile, device)
        say(f"{name}: {checkout.relative(notebooks.run(name, profile))}")


def rates(profile: str = "paper") -> Callable[[Model], float]:
    """Seconds a product for a model, as its trainings here took, else those of its kind (the median of them)."""
    of_model, of_kind = {}, {}
    for file in sorted((checkout.ROOT / "_build" / profile / "models").glob("*.safetensors")):
        history, known = file.with_suffix(".csv"), zoo.read_header(file)
        if known.get("model") not in config.load_models() or not history.is_file():
            continue
        spec = zoo.spec(known["model"], profile)
        rate = float(pd.read_csv(history)["seconds"].sum()) / products(spec)
        of_model.setdefault(spec.model_dump_json(), []).append(rate)
        of_kind.setdefault(spec.kind, []).append(rate)
    return lambda spec: median(of_model.get(spec.model_dump_json()) or of_kind.get(spec.kind) or [ASSUMED])


def products(spec: Model) -> float:
    """Products of a training, about: images x epochs x edges x (relaxation steps + 2); at least 1."""
    images = spec.train_count or IMAGES.get(spec.data, 60000) - (spec.validation_count or 0)
    shape = spec.model_dump_json()
    each = getattr(spec.train, "epochs", 1) * (getattr(spec.train, "steps", 0) + 2) * _edges(spec.kind, shape)
    return max(1.0, images * each)


@lru_cache
def _edges(kind: str, settings: str) -> int:
    """Drawing the edges takes a second where there are many, and many runs share a model."""
    spec, generator = config.SPECS[kind].model_validate_json(settings), torch.Generator().manual_seed(0)
    if kind == "pcgraph":
        return zoo.topology(spec, generator).edge_count()
    return zoo.parameter_count(zoo.build(spec, 0, torch.device("cpu"))[0])


def _cost(page: Page, done: set[Training], profile: str, rate: Callable[[Model], float]) -> float:
    """Seconds of a page when some trainings are done already."""
    known = [seconds for _, seconds in page.runs if seconds is not None]
    specs = [zoo.spec(model, profile) for model, _ in page.trainings - done]
    specs += [run.spec for run, seconds in page.runs if seconds is None]
    return page.seconds + sum(known) + sum(products(spec) * rate(spec) for spec in specs)


def _page(name: str, some: tuple[str, ...], settings: config.Profile) -> Page:
    values, profile = notebooks.resolve(name, settings, {}), settings.name
    wanted = {one for one in notebooks.weights(name, settings) if not zoo.is_trained(one[0], profile, one[1])}
    runs = tuple((one, took.get(one.setting)) for sweep in _sweeps(values) for took in [sweeps.took(sweep, profile)]
                 for one in sweeps.missing(sweep, profile))
    return Page(name, some, frozenset(wanted), runs, _seconds(name, values))


def _sweeps(values: dict[str, Any]) -> list[str]:
    return f"{values.get('sweep', '')} {values.get('crossed', '')}".split()


def _seconds(name: str, values: dict[str, Any]) -> float:
    """What the published run of a page took, for as many seeds as the profile has; an hour where there is none."""
    file = checkout.ROOT / "results" / "records" / f"{name}.json"
    if not file.is_file():
        return 3600.0
    content = json.loads(file.read_text(encoding="utf-8"))
    seeds = len({row["seed"] for row in content["records"] if row["seed"] is not None})
    return content["provenance"]["seconds"] * max(1.0, values.get("seeds", 1) / max(seeds, 1))
