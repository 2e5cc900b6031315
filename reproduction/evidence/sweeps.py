"""Recorded sweeps: one model trained with many settings on training images and measured on validation images, never on
test images. A seed gives every setting the same images, so settings are compared in pairs. Rows lie in
``_build/<profile>/sweeps/NAME.csv``, published ones in ``results/sweeps``, and are not computed twice. A study sweeps
several kinds of graphs and trains them to the end.
"""

import hashlib
import json
import math
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal

import pandas as pd
import torch
from filelock import FileLock
from pandas.api.types import is_numeric_dtype
from pydantic import Field

from pcgraph_lite import hardware
from pcgraph_lite.engine.solvers import WINDOW
from pcgraph_lite.errors import BadFile, BadInput, BadValues, UnstableStep, one_of
from pcgraph_lite.files import ready, write_aside
from pcgraph_lite.valid import Count

from .. import checkout
from . import config, measures, records, strict, zoo
from .config import Model

TABLES = strict.read_yaml(Path(__file__).with_suffix(".yaml"))
USUAL, PARTS = tuple(TABLES["usual"]), TABLES["usual"] | TABLES["further"]             # part -> measures
Part: Any = Literal[tuple(PARTS)]                                         # in a schema; its names are those of a file
MEASURES = list(chain(*PARTS.values()))
OF_STUDIES = TABLES["studies"]
PICTURE_TASKS = {"completion": "completion_mse", "denoising": "rest_psnr"}            # task -> measure that ranks it
IN_PASSING = {"denoising": "denoised_mse"}                                # the same at the best of several steps
EPOCHS = ["epoch", "energy", "validation", "value_lr", "seconds"]
FACTS = ["status", "profile", "model", "n", "run_seconds", "commit", "dirty", "device", "date", "identity"]

Rests = Annotated[int, Field(ge=WINDOW)]                                  # steps after which rest can be told
Grid = Annotated[dict[str, Annotated[list[Any], Field(min_length=1)]], Field(min_length=1)]


class ProfilePart(strict.Strict):
    """Changes of a sweep for one profile. ``base`` is merged; the others replace."""

    base: dict[str, Any] = Field(default_factory=dict)
    seeds: Count = 1
    images: Count = 100
    query_steps: Rests = 2000                                              # of every query in the paper
    measured: list[Part] = Field(default_factory=lambda: list(USUAL))
    vary: list[Grid] = Field(default_factory=list)


class Sweep(ProfilePart):
    """A sweep file. ``vary``: grids of dotted keys of the model's specification, or ``seed`` -> values, all crossed;
    the base runs once. ``images``: how many validation images are completed and denoised. ``query_steps``: T of queries
    that are judged at their end. ``measured``: the parts; an existing run is not measured again.
    """

    description: str
    model: str
    task: Literal[""] = ""
    vary: list[Grid]
    profiles: dict[str, ProfilePart] = Field(default_factory=dict)


class Task(Sweep):
    """What a study asks of one kind of graph. ``base`` is a whole specification, which runs only where a grid says so.
    Validation images choose no epoch: they are asked at the end.
    """

    model: Literal[""] = ""
    task: str  # type: ignore[assignment]  # a sweep's own is empty


class Study(strict.Strict):
    """A file of ``config/studies``."""

    description: str
    tasks: list[Task]


@dataclass(frozen=True)
class Run:
    """One training of a sweep: a setting and a seed. ``values``: the value of each varied key, or of OF_STUDIES."""

    setting: str
    values: Mapping[str, object]
    sweep: Sweep
    spec: Model
    seed: int
    identity: str

    @property
    def images(self) -> int:
        """How many validation images are completed and denoised."""
        return self.sweep.images

    def rows(self, profile: str, device: torch.device) -> pd.DataFrame:
        """Train and measure. Returns one row per epoch, or one row that says how the training diverged; of a study only
        the last, with what it was trained and asked with.
        """
        began, version = time.monotonic(), checkout.version()              # of the code that runs now
        settings = config.load_profile(profile)
        model, _ = zoo.build(self.spec, self.seed, device, settings.dtype)
        generator = torch.Generator().manual_seed(self.seed)               # all graphs of a seed see the same images
        sweep, (rest, held_out) = self.sweep, zoo.split(self.spec, settings, generator)
        try:
            seen, status = None if sweep.task else held_out, "ok"
            rows = zoo.fit(model, self.spec, rest, seen, generator=generator, progress=False)
            for key, value in measures.measure(model, rest, held_out, sweep.images, self.seed, sweep.measured,
                                               sweep.query_steps, settings).items():
                rows.loc[rows.index[-1], key] = value
        except (UnstableStep, BadValues) as error:
            rows, status = pd.DataFrame({"epoch": [0], "value_lr": [math.nan]}), f"{type(error).__name__}: {error}"
        facts = records.made(hardware.describe(device), began, version)
        rows = rows.assign(seed=self.seed, status=status, profile=profile, model=sweep.model, n=len(rest),
                           run_seconds=facts.pop("seconds"), identity=self.identity, **facts)
        if not sweep.task:
            return rows
        spec, step = self.spec, rows["value_lr"].mean()
        return rows.tail(1).drop(columns="epoch").assign(
            task=sweep.task, **self.values, init_std=json.dumps(spec.init_std), value_lr=step,
            relaxed=spec.train.steps * step, model=f"{spec.topology.constructor}, {model.topology!r}",
            asked=min(sweep.images, len(held_out)))

    def arranged(self, every: pd.DataFrame) -> pd.DataFrame:
        """Its rows, with the setting and varied values of the present sweep file; of a study as they are."""
        rows = every[every["identity"] == self.identity]
        columns = ["setting", *self.values, "seed", *EPOCHS, *MEASURES, *FACTS]
        return rows if self.sweep.task else rows.assign(setting=self.setting, **self.values).reindex(columns=columns)


def path(name: str, profile: str) -> Path:
    """The file of a sweep's rows, whether or not it exists. Raises UnknownName."""
    _source(name)
    return checkout.ROOT / "_build" / config.load_profile(profile).name / "sweeps" / f"{name}.csv"


def plan(name: str, profile: str) -> list[Run]:
    """Every run of a sweep: the base first, then each grid in order, with all seeds of a setting together; of a study
    those of each task. A setting is the model, changed by the sweep's base, the profile's entry for the model, the
    sweep's base for the profile, and the point of the grid, in this order. Raises UnknownName, BadFile; BadInput: a
    schema refuses something, or no validation images are kept.
    """
    source, settings = _source(name), config.load_profile(profile)
    content = strict.read_yaml(source)
    parts = (strict.validated(Study, content, source).tasks if source.parent.name == "studies"
             else [strict.validated(Sweep, content, source)])
    return list({run.identity: run for part in parts for run in _runs(part, settings, source)}.values())


def _runs(sweep: Sweep, settings: config.Profile, source: Path) -> Iterator[Run]:
    strict.refuse_unknown(source, "profile", sweep.profiles, config.profile_names())
    part, task = sweep.profiles.get(settings.name, ProfilePart()), sweep.task
    sweep = sweep.model_copy(update=part.model_dump(exclude={"base"}, exclude_unset=True))
    points, first = strict.crossed(sweep.vary), {"kind": "pcgraph", "description": sweep.description}
    columns, sizes = OF_STUDIES, dict[str, Any]()
    if not task:
        models = strict.read_yaml(config.models_file())
        strict.refuse_unknown(source, "model", [sweep.model], models)
        points, columns = [{}, *points], {key: key for point in points for key in point if key != "seed"}
        first, sizes = models[sweep.model], config.entry(sweep.model, settings)
    base = reduce(strict.merged, (sweep.base, sizes, part.base), first)
    usual = _values(_spec(task or sweep.model, base, {}, source), columns)
    for point in points:
        seeds = [point.pop("seed")] if "seed" in point else range(sweep.seeds)
        spec = _spec(task or sweep.model, base, point, source)
        values = _values(spec, columns)
        differs = [f"{key} = {value}" for key, value in values.items() if value != usual[key]]
        for seed in seeds:
            weights = spec.identity(seed, settings.sample, settings.dtype)
            identity = hashlib.sha256(f"{weights} {sweep.images}".encode()).hexdigest()[:16]
            yield Run(", ".join(filter(None, (task, *differs))) or "base", values, sweep, spec, seed, identity)


def run(name: str, profile: str = "laptop", device: str = "auto") -> Path:
    """Train and measure the missing runs of a sweep, a line per run; a killed one resumes after its last complete run.
    Returns the file of rows. Raises UnknownName, BadInput; BadFile: rows or data are damaged.
    """
    wanted, target, picked = plan(name, profile), path(name, profile), hardware.pick_device(device)
    lock, _ = map(ready, (target.with_suffix(".lock"), target))
    with FileLock(lock):
        rows = _rows(name, profile)
        done = set(rows["identity"])
        for number, one in enumerate(sorted(wanted, key=lambda run: run.seed), start=1):  # seed by seed
            if one.identity in done:
                continue
            began, made = time.monotonic(), one.rows(profile, picked)
            rows = made if rows.empty else pd.concat([rows, made])
            _write(target, wanted, rows)
            best = f", best validation score {made['validation'].max():.4g}" if "validation" in made else ""
            print(f"{number} of {len(wanted)}: {one.setting}, seed {one.seed}: {made['status'].iloc[0]}{best}, "
                  f"{time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
        _write(target, wanted, rows)
    return target


def load(name: str, profile: str, device: str = "auto") -> pd.DataFrame:
    """The rows of a sweep or study; missing runs are trained first. One row per epoch (of a study, per run) with
    setting, the varied keys, seed, EPOCHS, MEASURES (in the last row of a run, of its best epoch) and FACTS. A failed
    run has one row of epoch 0, whose status says how.
    """
    wanted = plan(name, profile)
    if lacking := {one.identity for one in wanted}.difference(_rows(name, profile)["identity"]):
        print(f"sweep {name}: {len(lacking)} of {len(wanted)} runs are missing in profile {profile}: training them.",
              file=sys.stderr, flush=True)
        run(name, profile, device)
    rows = _rows(name, profile)
    return pd.concat([one.arranged(rows) for one in wanted], ignore_index=True)


def committed(name: str) -> pd.DataFrame:
    """The committed rows of a sweep or study, as they are."""
    return pd.read_csv(checkout.ROOT / "results" / "sweeps" / f"{name}.csv")


def finals(rows: pd.DataFrame) -> pd.DataFrame:
    """The last row of each run, which has the final measures, with two more columns: best epoch and best score."""
    ends = rows.groupby("identity", sort=False).tail(1).set_index("identity")
    scored = rows[rows["status"] == "ok"].dropna(subset="validation")
    best = scored.loc[scored.groupby("identity")["validation"].idxmax()].set_index("identity")     # first of equals
    ends = ends.assign(best_epoch=best["epoch"], best_validation=best["validation"])
    return ends.reset_index().copy()                       # in one block: pandas warns where many columns are added


def changes(rows: pd.DataFrame) -> pd.DataFrame:
    """Final measures of each setting minus those of the base with the same seed, with index (setting, seed)."""
    ends = finals(rows).set_index(["setting", "seed"])
    ends = ends.reindex(columns=["best_validation", *MEASURES]).astype(float)             # older rows lack some
    return ends.drop("base", level="setting").sub(ends.loc["base"], level="seed")


def places(rows: pd.DataFrame, grid: Mapping[str, Sequence[object]],
           tasks: Mapping[str, str] = PICTURE_TASKS) -> pd.DataFrame:
    """The rank of the first value of each key of a grid among all its values, as setting, paper, task, seed, rank: 1
    does best by the measure of a task; a failed setting comes last. Only settings that differ from the base in no other
    key are compared. Raises BadInput: there is no such value.
    """
    ends, found = finals(rows), []
    for key, values in grid.items():
        alone = ends["setting"].str.match(rf"base$|{re.escape(key)} = [^,]*$")
        some = ends[alone & ends[key].isin(list(values))]
        first, seeds = some[key] == values[0], some["seed"]
        if not first.any():
            raise BadInput(f"no setting with {key} = {values[0]!r} in this sweep; there are "
                           f"{sorted(set(ends.loc[alone, key]), key=str)}.")
        for task, measure in tasks.items():
            by_seed = some[measure].astype(float).groupby(seeds)
            ranks = by_seed.rank("min", ascending=measure.endswith("_mse"))                # of errors, not of decibels
            ranks = ranks.fillna(by_seed.transform("size"))[first].astype(int)
            found.append(pd.DataFrame({"setting": key.removeprefix("train."), "paper": values[0], "task": task,
                                       "seed": seeds[first], "rank": ranks}))
    return pd.concat(found, ignore_index=True)


def places_on_the_way(rows: pd.DataFrame, grid: Mapping[str, Sequence[object]]) -> pd.DataFrame:
    """``places``, and those of denoising at the best of several steps; with the smallest n and the number of epochs."""
    passing = places(rows, grid, IN_PASSING)
    both = pd.concat([places(rows, grid), passing.assign(setting=passing["setting"] + ", best step")])
    return both.assign(training_images=rows["n"].min(), epochs=int(rows["epoch"].max()))


def best_by_others(ends: pd.DataFrame, key: str, measure: str) -> pd.Series:
    """Seed -> the value of ``key`` with the lowest mean ``measure`` over the other seeds, or its own if it is alone."""
    seeds = ends["seed"].unique()
    others = {seed: ends[(ends["seed"] != seed) | (len(seeds) == 1)] for seed in seeds}
    return pd.Series({seed: some.groupby(key)[measure].mean().idxmin() for seed, some in others.items()})


def at_ends(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of the narrowest, the widest and the ``best_width``; their ``width`` is narrow, wide or best."""
    ranks = {"narrow": rows["width"].min(), "wide": rows["width"].max(), "best": rows["best_width"]}
    return pd.concat([rows[rows["width"] == width].assign(width=rank) for rank, width in ranks.items()])


def in_last_epoch(ends: pd.DataFrame) -> pd.DataFrame:
    """``at_ends`` by the error of held-out images after the last epoch, ``last_epoch_mse``; the other seeds of a model
    choose the best width. ``ends``: rows of ``finals`` with model and width.
    """
    late = ends.assign(last_epoch_mse=-ends["validation"])
    best = {name: best_by_others(part, "width", "last_epoch_mse") for name, part in late.groupby("model")}
    widths = [best[model][seed] for model, seed in zip(late["model"], late["seed"], strict=True)]
    return at_ends(late.assign(best_width=widths))


def penalties(ranked: pd.DataFrame, measure: str) -> pd.DataFrame:
    """How much larger the widest graph's error is than the best one's, a column a decay. ``ranked``: of ``at_ends``."""
    grid = ranked.pivot(index=["dataset", "model", "seed", "n"], columns=["width", "decay"], values=measure)
    return grid["wide"] - grid["best"]


def own_penalties(ends: pd.DataFrame) -> pd.DataFrame:
    """The error ``other_mse`` of the widest graph minus that of the width with the lowest mean ``choice_mse``, one row
    per dataset, model, decay and seed. ``ends``: rows of ``finals`` with these columns, n and width.
    """
    keys = ["dataset", "model", "decay"]
    best = ends.groupby([*keys, "width"])["choice_mse"].mean().groupby(keys).idxmin().str[-1].rename("best_width")
    costs = penalties(at_ends(ends.join(best, on=keys)), "other_mse")
    return costs.melt(ignore_index=False, value_name="own_penalty").dropna().reset_index()


def _source(name: str) -> Path:
    """The settings file of a sweep or study. Raises UnknownName."""
    files = {file.stem: file for file in [*checkout.part("config/sweeps").glob("*.yaml"),
                                          *(checkout.ROOT / "config/studies").glob("*.yaml")]}
    one_of("sweep", name, sorted(files))
    return files[name]


def _spec(model: str, base: Mapping[str, Any], point: Mapping[str, Any], source: Path) -> Model:
    spec = config.checked(model, strict.changed(base, point), source)
    if not spec.validation_count:
        raise BadInput(f"{checkout.relative(source)}: {model} keeps no validation images; set validation_count in its "
                       "base.")
    return spec


def _values(spec: Model, columns: Mapping[str, str]) -> dict[str, object]:
    """The values of columns -> dotted keys: numbers unchanged, everything else as text."""
    settings = spec.model_dump()
    return {column: _as_cell(strict.value_of(settings, key)) for column, key in columns.items()}


def _as_cell(value: object) -> object:
    if isinstance(value, list):
        between = " to " if all(isinstance(entry, str) for entry in value) else " and "
        return between.join(str(_as_cell(entry)) for entry in value)
    if isinstance(value, bool):
        return str(value).lower()
    if value is None:
        return "default"
    return value if isinstance(value, int | float) else str(value)


def _rows(name: str, profile: str) -> pd.DataFrame:
    """The existing rows: one's own, or for the paper profile the committed ones. Raises BadFile."""
    place = path(name, profile)
    if profile == "paper" and not place.is_file():
        place = checkout.ROOT / "results" / "sweeps" / f"{name}.csv"
    if not place.is_file():
        return pd.DataFrame({"identity": pd.Series(dtype=str)})
    try:
        rows = pd.read_csv(place, dtype={"identity": str, "commit": str, "run_seconds": float})
        if lacking := {"seed", "status", *records.PROVENANCE, "identity"} - {"seconds"} - set(rows.columns):
            raise ValueError(f"no column {sorted(lacking)[0]!r}")
        if text := [one for one in (*EPOCHS, *MEASURES) if one in rows and not is_numeric_dtype(rows[one])]:
            raise ValueError(f"text in the column of numbers {text[0]!r}")
    except (OSError, ValueError) as error:
        raise BadFile(f"{checkout.relative(place)} is not a file of sweep rows ({error}). Delete it and run it again: "
                      f"pcgraph sweep {name} --profile {profile}") from error
    return rows


def _write(target: Path, wanted: Sequence[Run], rows: pd.DataFrame) -> None:
    """Write the rows of these runs in order, then those of earlier plans, which also took time to compute."""
    others = rows[~rows["identity"].isin([one.identity for one in wanted])]
    with write_aside(target) as part:
        pd.concat([*(one.arranged(rows) for one in wanted), others]).to_csv(part, index=False, float_format="%.6g")
