"""Recorded sweeps: one model trained with many settings, so that what a setting gives is looked up and not believed.

``config/sweeps/NAME.yaml`` names a model, what is changed of it first (the base), and grids of settings. Each setting
is trained on training images and measured on validation images; the test set is never read. A seed gives every setting
the same images, so that settings are compared in pairs. The rows, one an epoch, lie in
``_build/<profile>/sweeps/NAME.csv``, published ones in ``results/sweeps``. A run that is there already
with the same settings is not trained again. A study (``relaxed_time.py``) lists its runs in another way, in
``config/studies/NAME.yaml``; all else is the same.
"""

import hashlib
import itertools
import re
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pandas as pd
import torch
from filelock import FileLock
from pydantic import Field

from pcgraph_lite import hardware
from pcgraph_lite.errors import BadFile, BadInput, BadValues, UnstableStep, one_of
from pcgraph_lite.files import ready, write_aside
from pcgraph_lite.valid import Count

from .. import checkout
from . import config, records, strict, zoo
from .config import Model, ModelSpec
from .strict import Strict

if TYPE_CHECKING:
    from .relaxed_time import Point

MEASURES = ["accuracy", "generated", "completion_mse", "denoised_mse", "denoised_step", "safe_step", "settling_steps",
            "settling_censored", "labelled_agreement", "seam", "choice_mse", "other_mse", "initialization_mse",
            "mean_image_mse", "rest_psnr", "noisy_psnr", "rest_agreement", "noisy_agreement", "original_agreement",
            "completion_agreement", "rested_share", "nearer_share", "noise_residual", "digit_residual",
            "constant_residual", "familiar_distance", "foreign_distance", "auroc", "brightness_auroc"]
PICTURE_TASKS = {"completion": "completion_mse", "denoising": "denoised_mse"}         # task -> what ranks it
USUAL = ("accuracy", "labels", "completion", "denoising", "settling")     # that a run is measured in, see ``measures``
PARTS = (*USUAL, "rest", "strangeness")
FOREIGN = {"mnist": "fashion", "fashion": "mnist"}                        # what a graph of one data set has never seen
EPOCHS = ["epoch", "energy", "validation", "value_lr", "seconds"]
FACTS = ["status", "profile", "model", "n", "run_seconds", "commit", "dirty", "device", "date", "identity"]

Grid = Annotated[dict[str, Annotated[list[Any], Field(min_length=1)]], Field(min_length=1)]


class ProfilePart(Strict):
    """What a sweep file says anew for one profile; ``base`` is merged, the others replace."""

    base: dict[str, Any] = Field(default_factory=dict)
    seeds: Count | None = None
    images: Count | None = None
    measured: list[Literal[PARTS]] | None = None
    vary: list[Grid] | None = None


class Sweep(Strict):
    """A sweep file. ``vary`` is a list of grids: dotted key of the model's specification -> values, all crossed.

    ``images``: how many validation images are completed and denoised. ``measured``: in what, USUAL unless said;
    a run that is there is not measured again in more. The base runs as well, once.
    """

    description: str
    model: str
    base: dict[str, Any] = Field(default_factory=dict)
    seeds: Count = 1
    images: Count = 100
    measured: list[Literal[PARTS]] = Field(default_factory=lambda: list(USUAL))
    vary: list[Grid]
    profiles: dict[str, ProfilePart] = Field(default_factory=dict)


@dataclass(frozen=True)
class Run:
    """One training of a sweep: a setting and a seed. ``values``: each varied key with its value here."""

    setting: str
    values: Mapping[str, object]
    model: str
    spec: Model
    seed: int
    images: int
    measured: Collection[str]
    identity: str

    def rows(self, profile: str, device: torch.device) -> pd.DataFrame:
        """Train and measure: a row an epoch, or one that says that the training diverged."""
        began, version = time.monotonic(), checkout.version()              # of the code that runs, whatever comes
        settings = config.load_profile(profile)
        model, _ = zoo.build(self.spec, self.seed, device, settings.dtype)
        generator = torch.Generator().manual_seed(self.seed)               # every graph of a seed sees the same images
        foreign = None
        rest, held_out = zoo.split(self.spec, settings, generator)
        if "strangeness" in self.measured:
            foreign = zoo.images(FOREIGN[self.spec.data], "train", settings)
        from .measures import measure  # here: it imports for seconds, and a plan needs none of it
        try:
            rows, status = zoo.fit(model, self.spec, rest, held_out, generator=generator, progress=False), "ok"
            for key, value in measure(model, held_out, self.images, self.seed, self.measured,
                                      foreign).items():
                rows.loc[rows.index[-1], key] = value
        except (UnstableStep, BadValues) as error:
            rows, status = pd.DataFrame({"epoch": [0]}), f"{type(error).__name__}: {error}"
        facts = records.made(hardware.describe(device), began, version)
        return rows.assign(seed=self.seed, status=status, profile=profile, model=self.model, n=len(rest),
                           run_seconds=facts.pop("seconds"), identity=self.identity, **facts)

    def arranged(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Its rows, with setting and varied values of today's sweep file."""
        columns = ["setting", *self.values, "seed", *EPOCHS, *MEASURES, *FACTS]
        return rows.assign(setting=self.setting, **self.values).reindex(columns=columns)


def names() -> list[str]:
    """The sweeps that ``config/sweeps`` holds. Raises BadFile: there is no such folder."""
    return sorted(file.stem for file in checkout.part("config/sweeps").glob("*.yaml"))


def path(name: str, profile: str) -> Path:
    """Where the rows of a sweep lie, whether or not they are there. Raises UnknownName."""
    _source(name)
    return checkout.ROOT / "_build" / config.load_profile(profile).name / "sweeps" / f"{name}.csv"


def runs(name: str, profile: str) -> "list[Run] | list[Point]":
    """Those of a sweep or of a study. Raises as ``plan``."""
    if _source(name).parent.name == "sweeps":
        return plan(name, profile)
    from . import relaxed_time  # here: it imports for seconds
    return relaxed_time.points(_source(name), profile)


def plan(name: str, profile: str) -> list[Run]:
    """Every run of a sweep: the base first, then each grid in order; all seeds of a setting together.

    A setting is the model of ``config/models.yaml``, changed by the sweep's base, the profile's entry for the model,
    the sweep's base for the profile, and the point of the grid, in this order.

    Raises UnknownName, BadFile, and BadInput where the schemas refuse something or no validation images are kept.
    """
    source, settings = _source(name), config.load_profile(profile)
    sweep = strict.validated(Sweep, strict.read_yaml(source), source)
    strict.refuse_unknown(source, "model", [sweep.model], config.load_models())
    strict.refuse_unknown(source, "profile", sweep.profiles, config.profile_names())
    part = sweep.profiles.get(profile, ProfilePart())
    points = [{}] + [dict(zip(grid, values, strict=True)) for grid in part.vary or sweep.vary
                     for values in itertools.product(*grid.values())]
    keys = list(dict.fromkeys(key for point in points for key in point))
    images, runs = part.images or sweep.images, {}
    base = reduce(strict.merged, (sweep.base, config.entry(sweep.model, settings), part.base),
                  strict.read_yaml(config.models_file())[sweep.model])
    specs = [_spec(sweep.model, base, point, source) for point in points]
    usual = _values(specs[0], keys)
    for spec, seed in itertools.product(specs, range(part.seeds or sweep.seeds)):
        weights = spec.identity(seed, settings.data.sample, settings.dtype)
        identity = hashlib.sha256(f"{weights} {images}".encode()).hexdigest()[:16]
        values = _values(spec, keys)
        differs = ", ".join(f"{key} = {value}" for key, value in values.items() if value != usual[key])
        runs.setdefault(identity, Run(differs or "base", values, sweep.model, spec, seed, images,
                                      part.measured or sweep.measured, identity))
    return list(runs.values())


def run(name: str, profile: str = "laptop", device: str = "auto") -> Path:
    """Train and measure what is missing of a sweep, one line a run; a killed sweep goes on after its last whole run.

    Returns the file of rows, see ``load``. Raises UnknownName, BadInput, and BadFile where rows or data are damaged.
    """
    wanted, target, picked = runs(name, profile), path(name, profile), hardware.pick_device(device)
    lock, _ = map(ready, (target.with_suffix(".lock"), target))
    with FileLock(lock):
        rows = _rows(name, profile)
        done = set(rows["identity"])
        for number, one in enumerate(sorted(wanted, key=lambda run: run.seed), start=1):  # all settings once
            if one.identity in done:
                continue
            began, made = time.monotonic(), one.rows(profile, picked)
            rows = made if rows.empty else pd.concat([rows, made])
            _write(target, wanted, rows)
            best = f", best validation score {made['validation'].max():.4g}" if "validation" in made else ""
            print(f"{number} of {len(wanted)}: {one.setting}, seed {one.seed}: {made['status'].iloc[0]}{best}, "
                  f"{time.monotonic() - began:.0f} s", flush=True)
        _write(target, wanted, rows)
    return target


def load(name: str, profile: str, device: str = "auto") -> pd.DataFrame:
    """The rows of a sweep; what is missing is trained first, saying so.

    Returns:
        one row an epoch, in the order of ``plan``: setting (what differs from the base), the varied keys, seed, the
        columns EPOCHS, the columns MEASURES (on the last row of a run, taken with the weights of its best epoch) and
        FACTS. A run that failed is one row of epoch 0 whose status says how.
    """
    wanted = plan(name, profile)
    if lacking := len(missing(name, profile)):
        print(f"sweep {name}: {lacking} of {len(wanted)} runs are missing in profile {profile}: training them.",
              file=sys.stderr, flush=True)
        run(name, profile, device)
    return _arranged(wanted, _rows(name, profile))


def missing(name: str, profile: str) -> list[Run]:
    """The runs of a sweep that no row is there of. Raises as ``load``."""
    done = set(_rows(name, profile)["identity"])
    return [one for one in plan(name, profile) if one.identity not in done]


def finals(rows: pd.DataFrame) -> pd.DataFrame:
    """One row a run, its last, with the final measures and two columns more: the best epoch, and the best score."""
    ends = rows.groupby("identity", sort=False).tail(1).set_index("identity")
    scored = rows[rows["status"] == "ok"].dropna(subset="validation")
    best = scored.loc[scored.groupby("identity")["validation"].idxmax()].set_index("identity")     # the first of equals
    ends["best_epoch"], ends["best_validation"] = best["epoch"], best["validation"]
    return ends.reset_index()


def factors(rows: pd.DataFrame) -> dict[str, dict[str, pd.DataFrame]]:
    """The rows of whole runs by what was varied: key -> label -> rows, the base first in each.

    A setting that differs in several keys stands with the first of them.
    """
    rows = rows[rows["status"] == "ok"]
    parts: dict[str, dict[str, pd.DataFrame]] = {}
    for setting, some in rows[rows["setting"] != "base"].groupby("setting", sort=False):
        key, _, label = str(setting).partition(" = ")
        base = rows[rows["setting"] == "base"]
        usual = "base" if base.empty or base[key].iloc[0] == "default" else f"{base[key].iloc[0]} (base)"
        parts.setdefault(key, {usual: base})[label] = some
    return parts


def changes(rows: pd.DataFrame) -> pd.DataFrame:
    """Final measures of each setting minus those of the base with the same seed; index (setting, seed)."""
    ends = finals(rows).set_index(["setting", "seed"])[["best_validation", *MEASURES]].astype(float)
    return ends.drop("base", level="setting").sub(ends.loc["base"], level="seed")


def ranks(rows: pd.DataFrame, key: str, value: object, measure: str,
          among: Collection[object] | None = None) -> dict[int, int]:
    """The place of one value of a varied key among the settings that differ from the base in this key alone, by seed.

    1 is the smallest ``measure``; a setting that failed comes last. ``among``: the values that take part; None: all.
    Raises BadInput: the sweep has no such value.
    """
    ends = finals(rows)
    ends = ends[ends["setting"].str.match(rf"base$|{re.escape(key)} = [^,]*$")]
    ends = ends if among is None else ends[ends[key].isin(list(among))]
    if not (ends[key] == value).any():
        raise BadInput(f"no setting with {key} = {value!r} in this sweep; there are {sorted(set(ends[key]), key=str)}.")
    seeds = ends["seed"]
    places = ends[measure].astype(float).groupby(seeds).rank("min").fillna(seeds.groupby(seeds).transform("size"))
    return places[ends[key] == value].set_axis(seeds[ends[key] == value]).astype(int).to_dict()


def places(rows: pd.DataFrame, grid: Mapping[str, Sequence[object]]) -> pd.DataFrame:
    """``ranks`` of the first value of each key of a grid among all its values: setting, paper, task, seed and rank."""
    return pd.DataFrame([
        {"setting": key.removeprefix("train."), "paper": values[0], "task": task, "seed": seed, "rank": place}
        for key, values in grid.items() for task, measure in PICTURE_TASKS.items()
        for seed, place in ranks(rows, key, values[0], measure, among=values).items()])


def best_by_others(ends: pd.DataFrame, key: str, measure: str) -> pd.Series:
    """Seed -> the value of ``key`` whose mean ``measure`` over the *other* seeds of ``finals`` rows is lowest.

    A seed's own result then has no part in the choice that it is compared under. A single seed chooses by itself.
    """
    seeds = ends["seed"].unique()
    others = {seed: ends[(ends["seed"] != seed) | (len(seeds) == 1)] for seed in seeds}
    return pd.Series({seed: some.groupby(key)[measure].mean().idxmin() for seed, some in others.items()})


def own_penalties(ends: pd.DataFrame) -> pd.DataFrame:
    """The error of the widest graph less that of the best width, each decay by itself: one row a model, decay and seed.

    Args:
        ends: rows of ``finals`` with dataset, model, n, width, decay. The best width has the lowest mean ``choice_mse``
            over seeds; the errors are ``other_mse``, of the images that did not choose it.
    """
    keys = ["dataset", "model", "decay"]
    best = ends.groupby([*keys, "width"])["choice_mse"].mean().groupby(keys).idxmin().str[-1].rename("best")
    errors = ends.join(best, on=keys).set_index([*keys, "seed", "n"])
    widest, chosen = (errors[errors["width"] == width]["other_mse"] for width in (ends["width"].max(), errors["best"]))
    return (widest - chosen).rename("own_penalty").reset_index()


def said(setting: str) -> str:
    """What differs from the base, without the parts of the specification: ``train.steps = 5`` is ``steps = 5``."""
    return re.sub(r"\b[a-z]+\.(?=[a-z])", "", setting)


def _source(name: str) -> Path:
    """The settings file of a sweep or study. Raises UnknownName."""
    files = {file.stem: file for file in [*checkout.part("config/sweeps").glob("*.yaml"),
                                          *(checkout.ROOT / "config/studies").glob("*.yaml")]}
    one_of("sweep", name, sorted(files))
    return files[name]


def _spec(model: str, base: Mapping[str, Any], point: Mapping[str, Any], source: Path) -> Model:
    """The checked specification at one point of a grid."""
    for key, value in point.items():
        for name in reversed(key.split(".")):
            value = {name: value}
        base = strict.merged(base, value)
    spec = strict.validated(dict[str, ModelSpec], {model: base}, source)[model]
    if not spec.validation_count:
        raise BadInput(f"{checkout.relative(source)}: {model} keeps no validation images; set validation_count in its "
                       "base.")
    return spec


def _values(spec: Model, keys: list[str]) -> dict[str, object]:
    """The value of each varied key: numbers as they are, all else in words."""
    values = {}
    for key in keys:
        value: Any = spec.model_dump()
        for name in key.split("."):
            value = value.get(name) if isinstance(value, Mapping) else None
        values[key] = value if isinstance(value, int | float) and not isinstance(value, bool) else _words(value)
    return values


def _words(value: object) -> str:
    if isinstance(value, list):
        plain = all(isinstance(entry, str) for entry in value)
        return " to ".join(value) if plain else " and ".join(map(_words, value))
    return "default" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _rows(name: str, profile: str) -> pd.DataFrame:
    """The rows that are there: one's own, else for the paper profile the committed ones. Raises BadFile."""
    places = [path(name, profile)]
    if profile == "paper":
        places.append(checkout.ROOT / "results" / "sweeps" / f"{name}.csv")
    place = next(filter(Path.is_file, places), None)
    if place is None:
        return pd.DataFrame({"identity": pd.Series(dtype=str)})
    try:
        rows = pd.read_csv(place, dtype={"identity": str, "commit": str, "run_seconds": float})
        if lacking := {"seed", "status", *records.PROVENANCE, "identity"} - {"seconds"} - set(rows.columns):
            raise ValueError(f"no column {sorted(lacking)[0]!r}")
    except (OSError, ValueError) as error:
        raise BadFile(f"{checkout.relative(place)} is not a file of sweep rows ({error}). Delete it and run it again: "
                      f"pcgraph sweep {name} --profile {profile}") from error
    return rows


def _arranged(wanted: "Sequence[Run | Point]", rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of these runs in their order."""
    return pd.concat([one.arranged(rows[rows["identity"] == one.identity]) for one in wanted], ignore_index=True)


def _write(target: Path, wanted: "Sequence[Run | Point]", rows: pd.DataFrame) -> None:
    """Write the rows of these runs in their order, and after them those of an earlier plan: they cost time, too."""
    others = rows[~rows["identity"].isin([one.identity for one in wanted])]
    with write_aside(target) as part:
        pd.concat([_arranged(wanted, rows), others]).to_csv(part, index=False, float_format="%.6g")
