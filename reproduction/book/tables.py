"""The tables of the notebooks, made from measurements. ``render`` decides how they look."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pydantic import BaseModel

from pcgraph_lite.images import metrics

from ..evidence import decimals, records
from ..evidence import verdicts as judge
from ..evidence.cards import Card
from ..evidence.zoo import Trained
from .handover import Table
from .plots import named

TITLES = {"mnist": "digits", "fashion": "clothing", "svhn": "house numbers", "cifar10": "colour photographs"}
MANY = 5                                           # a table with so many columns of settings is one of settings
STEP = ".2g"                                       # format of a step size and of a relaxed time


def plain(frame: pd.DataFrame, name: str) -> Table:
    """A table of a frame as it is. ``claims.yaml`` refers to it by ``name``."""
    return Table.of(frame, name)


def verdicts(saved: Path) -> Table:
    """Verdicts on a notebook's claims from its own file of records. The site judges again, with all records."""
    judged = judge.verdicts([row for row in records.read(saved.parent) if row["notebook"] == saved.stem])
    rows = [one.row() for one in judged.values() if one.claim.notebook == saved.stem
            and (one.verdict != "not run" or one.readings)]
    columns = ["claim", "verdict", "n", "paper", "ours", "hangs_on", "rival", "note"]
    return plain(pd.DataFrame(rows, columns=columns), f"verdicts-{saved.stem}")


def over_seeds(measured: pd.DataFrame, by: Sequence[str], columns: Mapping[str, str] | Sequence[str],
               words: Mapping[str, str] | None = None) -> Table:
    """Mean and standard deviation over the rows of each group, and the number of rows (seeds). ``measured``: one row
    per seed. ``by``: the columns that make a group. ``columns``: the numbers, or numbers -> titles; shares whose title
    has a % are shown in per cent. ``words``: readers' names of groups.
    """
    titles = dict(columns) if isinstance(columns, Mapping) else dict(zip(columns, columns, strict=True))
    unit = {name: 100 if "%" in title else 1 for name, title in titles.items()}
    scaled = measured.assign(**{name: factor * measured[name] for name, factor in unit.items()})
    groups = _groups(scaled, by, words)[list(titles)]
    mean, sd, count = groups.mean(), groups.std(ddof=1), groups.size()
    cells = pd.DataFrame({title: [{"mean": middle, "sd": spread} if spread > 0 else middle
                                  for middle, spread in zip(mean[name], sd[name], strict=True)]
                          for name, title in titles.items()}, index=mean.index).assign(seeds=count).reset_index()
    return Table.of(cells.rename(columns=lambda name: name.replace("_", " ")), f"by-{'-'.join(by)}",
                 settings=len(by) >= MANY)


def _groups(frame: pd.DataFrame, by: Sequence[str], words: Mapping[str, str] | None) -> Any:
    """Groups of rows by readers' names, in the order of the rows; groups with the same first name stand together."""
    frame = frame.sort_values(by[0], kind="stable", key=lambda column: pd.factorize(column)[0])
    return frame.assign(**{column: [(words or {}).get(value, value) for value in frame[column]] for column in by}
                        ).groupby(list(by), sort=False)


def models(trained: Mapping[tuple, Trained | Card], words: Mapping[str, str] | None = None, name: str = "models",
           paper: Mapping[str, object] | None = None, **more: Callable[[Trained | Card], object]) -> Table:
    """How models were trained: a row per data set and model of ``trained``, from its first seed. ``words``: readers'
    names. ``paper``: its settings, by column. ``more``: further columns, with ``_`` for a space -> value of a model.
    """
    words, first = TITLES | dict(words or {}), dict[tuple, Trained | Card]()
    for key, t in trained.items():
        first.setdefault(key[:2], t)
    frame = pd.DataFrame([
        {"model": words.get(kind, kind), "images of": words.get(data, data)}
        | {"vertices": t.vertices or None, "parameters": t.parameters,
           "training images": t.provenance["n"], "epochs": t.provenance["epochs"],
           "f": named(getattr(t.spec, "activation", "relu" if t.spec.kind == "autoencoder" else ""))}
        | _relaxation(t)
        | {"weight step": learning_rate(t.spec.train), "weight decay": getattr(t.spec.train, "weight_decay", None),
           "seconds": round(t.seconds), "device": t.provenance["device"]}
        | {"seeds": sum(key[:2] == (data, kind) for key in trained)}
        | {column.replace("_", " "): value(t) for column, value in more.items()}
        for (data, kind), t in first.items()])
    return Table.of(frame, name, formats={"parameters": ",", "value step": STEP, "relaxed time": STEP}, settings=True,
                 paper=paper or {})


def learning_rate(train: BaseModel) -> float | str | None:
    """The learning rate of settings, in words if it changes during training; None if they have none."""
    rate, falls = getattr(train, "weight_lr", None), getattr(train, "anneal", "none")
    fall = "" if falls == "none" else f", falling as a {falls.replace('linear', 'line')}"
    rise = f", after a warm-up of {warm_up:g} epochs" if (warm_up := getattr(train, "warm_up", 0)) else ""
    return f"{rate:g}{fall}{rise}" if fall or rise else rate


def _relaxation(t: Trained | Card) -> dict[str, object]:
    """T, the step size of the last epoch and their product, the relaxed time. Only T if nothing relaxes."""
    if "value_lr" not in t.history:
        return {"T": getattr(t.spec.train, "steps", None)}
    steps, value_lr = t.spec.train.steps, t.history["value_lr"].iloc[-1]
    return {"T": steps, "value step": value_lr, "relaxed time": steps * value_lr}


def over_images(each: pd.DataFrame, by: Sequence[str], columns: Mapping[str, str], name: str,
                words: Mapping[str, str] | None = None, same_images: bool = False) -> Table:
    """Mean and 95 % interval over all images of each group, of all seeds together. ``each``: one row per image.
    ``columns``: measures -> titles. ``same_images``: all seeds saw the same images in the same order, so each image
    counts once, with its mean.
    """
    def over(rows: pd.DataFrame, column: str) -> object:
        values = rows[column].dropna().infer_objects()
        share = pd.api.types.is_bool_dtype(values)
        if same_images:
            values = values.astype(float).groupby(rows.groupby("seed").cumcount()).mean()
        return interval(values, share)

    return plain(pd.DataFrame([dict(zip(by, group, strict=True)) | {
        title: over(rows, column) for column, title in columns.items() if rows[column].notna().any()}
        for group, rows in _groups(each, by, words)]), name)


def interval(values: Sequence[float] | Sequence[bool], share: bool = False) -> dict[str, float]:
    """Mean and 95 % interval over images, taken as independent: Wilson's for shares, Student's for numbers."""
    each = np.asarray(values)
    if share:
        low, high = decimals.share_interval(round(each.sum()), len(each))
        return {"share": float(each.mean()), "low": low, "high": high}
    mean, low, high = metrics.mean_interval(each.astype(float).tolist())
    return {"mean": mean, "low": low, "high": high}
