"""Start a page in one call (style of figures, device, seeds, recorder), and load what it needs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import torch

from pcgraph_lite import hardware
from pcgraph_lite.errors import BadInput, UnknownName
from pcgraph_lite.images import datasets, metrics, sources
from pcgraph_lite.images.datasets import ImageSet
from pcgraph_lite.images.judge import load_judge
from pcgraph_lite.studies.trials import Case, Key

from ..evidence import cards, claims, config, frames, sweeps, zoo
from ..evidence.cards import Card
from ..evidence.records import Recorder
from ..evidence.zoo import Trained
from . import plots, tables
from .handover import Table

TITLES = tables.TITLES


@dataclass(frozen=True, eq=False)
class Page:
    """A running page. ``seeds`` are consecutive."""

    profile: str
    device: torch.device
    seeds: list[int]
    recorder: Recorder

    def models(self, kinds: Sequence[str] | Mapping[str, str], data: Sequence[str] = ("mnist",),
               seeds: int | Mapping[str, int] | None = None) -> dict[Key, Trained]:
        """Trained models ``<kind>-<data set>`` by ``(dataset, kind, seed)``. ``kinds``: names of kinds, or name in the
        key -> kind. ``seeds``: the first few alone, or so many for each data set.
        """
        kinds = kinds if isinstance(kinds, Mapping) else {kind: kind for kind in kinds}
        count = seeds if isinstance(seeds, Mapping) else dict.fromkeys(data, seeds)
        some = {name: self._first(count[name], kinds, name) for name in data}
        found = {(name, called, s): zoo.ModelRun(f"{kind}-{name}", self.profile, s).load(str(self.device.type))
                 for name in data for called, kind in kinds.items() for s in some[name]}
        for one in found.values():
            self.recorder.uses(one.name, one.seed, one.fingerprint, one.weights)
        return found

    def cards(self, kinds: Sequence[str], data: Sequence[str], seeds: int, images: int = 0,
              **asked: float) -> dict[Key, Card]:
        """Cards by ``(dataset, kind, seed)``. ``images`` and ``asked``: as ``cards.load`` has them."""
        some = {name: self._first(seeds, kinds, name) for name in data}
        found = {(name, kind, s): cards.load(f"{kind}-{name}", self.profile, s, str(self.device.type), images, **asked)
                 for name in data for kind in kinds for s in some[name]}
        for one in found.values():
            self.recorder.uses(one.model, one.seed, one.fingerprint, one.weights)
        return found

    def _first(self, count: int | None, kinds: Iterable[str], name: str) -> list[int]:
        """So many seeds of the page, all for None. Prints a line where it has fewer."""
        if count and count > len(self.seeds):
            print(f"{', '.join(kinds)} ({name}): {len(self.seeds)} of {count} seeds, as the page has no more "
                  "(parameter seeds).")
        return self.seeds[:count]

    def here(self, counts: Mapping[str, int]) -> list[str]:
        """The data sets with at least one seed whose files are here. Prints a line that names the others."""
        missing = {name: "no seeds asked for" for name, count in counts.items() if not count}
        for name in counts.keys() - missing.keys():
            try:
                self.test_images(name)
            except sources.NotFound:
                missing[name] = "its files are not here"
            except UnknownName:
                if name not in datasets.SHAPES:
                    raise
                missing[name] = f"profile {self.profile} uses the bundled sample, which has none"
        if missing:
            print("Not run:", ", ".join(f"{name} ({missing[name]})" for name in counts if name in missing))
        return [name for name in counts if name not in missing]

    def case(self, name: str, count: int = 0, seed: int = 0) -> Case:
        """The training images, ``test_images`` and judge of a data set."""
        train = zoo.images(name, "train", config.load_profile(self.profile))
        return Case(train, self.test_images(name, count, seed), load_judge(name))

    def test_images(self, name: str, count: int = 0, seed: int = 0) -> ImageSet:
        """``count`` test images of a data set, drawn at random, others for another seed; 0: all."""
        test = zoo.images(name, "test", config.load_profile(self.profile))
        return test.subset(count, torch.Generator().manual_seed(seed)) if count else test

    def held_out(self, trained: Trained, count: int) -> ImageSet:
        """The first ``count`` validation images of a model, or all if it has fewer. Raises BadInput: it keeps none."""
        if (kept := trained.images()[1]) is None:
            raise BadInput(f"model {trained.name!r} keeps no validation images in profile {self.profile}; set "
                           "validation_count.")
        return kept.subset(min(count, len(kept)))

    def tried(self, names: str, columns: dict[str, str]) -> Table:
        """A table of the settings of recorded sweeps, the lowest first by the first measure. ``names``: of the sweeps,
        separated by spaces. ``columns``: measures on held-out images -> their titles.
        """
        parts = []
        for name in names.split():
            ends, base = self.sweep(name).assign(sweep=name), sweeps.plan(name, self.profile)[0].values
            order = ends["setting"].map(ends.groupby("setting")[next(iter(columns))].mean())
            words = {"base": "base: " + ", ".join(f"{key} = {value}" for key, value in base.items())}
            parts.append(ends.assign(order=order).replace({"setting": words}).sort_values("order", kind="stable"))
        ends = pd.concat(parts)
        ends["setting"] = ends["setting"].map(plots.named)
        return tables.over_seeds(ends, ["sweep", "setting"], columns | {"n": "training images"})

    def sweep(self, name: str) -> pd.DataFrame:
        """One row per run of a recorded sweep, see ``sweeps.finals``."""
        return sweeps.finals(sweeps.load(name, self.profile, str(self.device.type)))

    def swept(self, name: str, **more: object) -> Table:
        """A table of what a sweep's runs share, where they were made and which failed. ``more``: its first rows."""
        rows, specs = (sweeps.load(name, self.profile, str(self.device.type)),
                       [run.spec for run in sweeps.plan(name, self.profile)])
        spec, data = specs[0], dict.fromkeys(TITLES.get(spec.data, spec.data) for spec in specs)
        failed = rows.loc[rows["status"] != "ok", ["setting", "status"]].drop_duplicates()
        shown = {key.replace("_", " "): value for key, value in more.items()} | {
            "images of": " and ".join(data), "f": plots.named(spec.activation), "T": spec.train.steps,
            "learning rate": f"{tables.learning_rate(spec.train)}, {spec.train.optimizer.capitalize()}",
            "weight decay": spec.train.weight_decay, "batch": spec.train.batch_size, "epochs": spec.train.epochs,
            "training images": rows["n"].iloc[0],
            "validation images": spec.validation_count, "seeds": rows["seed"].nunique(),
            "made on": " and ".join(sorted(set(rows["device"]))),
            "at commit": ", ".join(sorted({commit[:9] for commit in rows["commit"]})),
            "failed, left out": "; ".join(failed["setting"] + ": " + failed["status"]) or "none"}
        words = [(key, str(value).strip("[]")) for key, value in shown.items()]
        return tables.plain(pd.DataFrame(words, columns=["sweep", ""]), f"sweep-{name}")

    def verdicts(self) -> Table:
        """Write the records and show the verdicts on the claims of the page."""
        return tables.verdicts(self.recorder.save())


def sizes(models: Mapping[Key, Trained]) -> pd.DataFrame:
    """One row per model for the records: dataset, model, seed, n (training images), parameters, training seconds."""
    return frames.frame({key: {"n": t.provenance["n"], "parameters": t.parameters, "seconds": t.seconds}
                         for key, t in models.items()})


def scores(cards: Mapping[Key, Card], tests: Mapping[str, ImageSet]) -> pd.DataFrame:
    """One row per classifier: dataset, model, seed, n (test images), accuracy on ``tests`` (by data set) and on
    held-out images, and what its card says of convergence, energy and drawings.
    """
    return frames.frame({key: {
        "n": len(tests[key[0]]), "accuracy": metrics.share_right(card.read(tests[key[0]]), tests[key[0]].labels),
        "held_out": card.provenance["validation"], "converged": card.converged, "energy": card.energy,
        "drawn": card.drawn}
        for key, card in cards.items()})


def published(claim: str) -> dict[str, float]:
    """The paper's value for each model that a check of a claim holds against it."""
    checks = claims.load_claims()[claim].checks.values()
    return {check.model: check.near.value for check in checks if check.near and check.model}


def start(name: str, profile: str, device: str = "auto", out: str | Path = "", seed: int = 0, seeds: int = 1) -> Page:
    """Start a page. Raises UnknownName, BadInput: no such profile or device."""
    plots.use_style()
    hardware.prepare(config.load_profile(profile).threads)
    picked = hardware.pick_device(device)
    return Page(profile, picked, list(range(seed, seed + seeds)), Recorder(name, profile, picked, out))
