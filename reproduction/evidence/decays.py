"""What one setting changes, from committed sweeps: the decay in every kind of graph, each other one in one kind."""

import re
from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import torch
from torch import Tensor

from . import claims, strict, sweeps, words

DECAY = "train.weight_decay"
BEST = 0.01                                                               # of the paper's (appendix B.1)
ORDER = ["0", "1e-4", "0.001", "0.01", "0.03", "0.1"]
PAPERS = ORDER[:4]                                                        # its own list (appendix B.1)
VARIED = ["data", "topology.constructor", "topology.labels", DECAY]       # by some sweeps of one task and not by others
ALONE = r"base|(topology\.constructor = \w+(, )?)?(train\.weight_decay = [^,]*)?"     # nothing else differs
TABLES = strict.read_yaml(Path(__file__).with_suffix(".yaml"))
FILLS, CLEANS, EASED, *_, CLASSIFIES = TABLES["chart"]                    # its panels
TITLED = {panel: one["axis"] for panel, one in TABLES["chart"].items()}
WHOLE, RIVALS, READERS = (TABLES[name] for name in ("whole", "rivals", "readers"))
TASKS = [*TABLES["some"], *WHOLE]
WORDS = words.load().graphs                                               # graphs as records name them -> in words
SHORTER = words.load().shorter                                            # in a row of a figure
# measures of rows -> their titles in tables
RANKED, OWN, RESTED, TOLD, BY, BACKGROUNDS = (
    words.load().measures[name] for name in ("ranked", "own", "rested", "told", "by", "backgrounds"))


def ingredients() -> pd.DataFrame:
    """Every row of the sweep that changes one setting of the fully connected graph at a time."""
    return sweeps.committed("fully-connected")


def ends(sweep: str) -> pd.DataFrame:
    """The last rows of the runs of a committed sweep that ended well."""
    return sweeps.finals(sweeps.committed(sweep)).query("status == 'ok'")


def named(decay: pd.Series) -> pd.Series:
    """Decays as ORDER has them."""
    return decay.map("{:g}".format).replace("0.0001", "1e-4")


def scores() -> pd.DataFrame:
    """One row per run and measure: measure, graph, decay (in words), seed, score; weakest decay first."""
    parts = []
    for sweep, graph in TABLES["graphs"].items():
        rows = ends(sweep)
        rows = rows[rows["setting"].str.fullmatch(ALONE)]
        graph = graph or rows["topology.constructor"].replace({"generative": "feedforward"})
        rows = rows.assign(graph=graph, decay=named(rows[DECAY]))
        parts += [rows.assign(measure=panel, score=rows.eval(one["sweeps"][sweep]))
                  for panel, one in TABLES["chart"].items() if sweep in one["sweeps"]]
    every = pd.concat(parts)[["measure", "graph", "decay", "seed", "score"]].query("decay in @ORDER")
    return every.iloc[every["decay"].map(ORDER.index).argsort(kind="stable")]


def autoencoder() -> pd.Series:
    """Means of the autoencoder that saw all digits, and of ridge regression, neither of which has such a decay."""
    rows = ends("grid-layers-autoencoder")
    rows = rows.assign(**{EASED: rows.eval(TABLES["chart"][EASED]["sweeps"]["grid-layered"])})
    return rows[rows["data"].fillna("mnist") == "mnist"].mean(numeric_only=True)


def levels() -> dict[str, dict[str, float]]:
    """Measure -> ridge regression or autoencoder -> its mean on other held-out digits, after all training images."""
    means = autoencoder()
    return {FILLS: {"ridge regression": means["ridge_mse"]}, CLEANS: {"autoencoder": means["rest_psnr"]},
            EASED: {"autoencoder": means[EASED]}}


def best(every: pd.DataFrame) -> pd.DataFrame:
    """A row per sentence of the paper on the best decay: is it true by the means of ``scores``, and which is best."""
    means = every.groupby(["measure", "graph", "decay"], sort=False)["score"].mean()
    tasks = (("Completion", means[FILLS]), ("Denoising", -means[CLEANS]))
    layered = -means[CLASSIFIES]["layered classifier"]
    sentences = {f"{task} is best at 0.01 (B.1), {graph}": (errors[graph], "0.01")
                 for task, errors in tasks for graph in ("feedforward", "recurrent")}
    sentences["Classification in layers is best at the weakest decay (B.3)"] = layered, layered.index[0]
    return pd.DataFrame([{"sentence": sentence, "is it true?": "yes" if errors.idxmin() == decay else "no",
                          "best decay": _best(errors)} for sentence, (errors, decay) in sentences.items()])


def _best(errors: pd.Series) -> str:
    """The decay with the smallest error; if the paper does not list it, the best of its list, too."""
    best, listed = errors.idxmin(), errors[errors.index.isin(PAPERS)].idxmin()
    edge = ", the strongest tried" if best == ORDER[-1] else ""
    return best if best == listed else f"{best}{edge} (of the paper's list: {listed})"


def own_task(swept: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """The runs of sweeps whose graphs were each chosen for one task, with the paper's best decay where sweeps vary it.
    ``swept``: sweep -> rows of ``sweeps.finals``. A model is named by sweep, constructor where that varies, and labels.
    """
    ends = pd.concat([rows.query("status == 'ok'").assign(sweep=name, model=name) for name, rows in swept.items()])
    ends = ends.reindex(columns=list(dict.fromkeys([*ends, *VARIED])))
    ends = ends[ends[DECAY].fillna(BEST) == BEST]
    constructor = ends["topology.constructor"].map(lambda name: f"-{name}" if isinstance(name, str) else "")
    labelled = (ends["topology.labels"].fillna(0) > 0).map({True: "-labels", False: ""})
    return ends.assign(
        dataset=ends["data"].astype(object).fillna(ends["dataset"]), model=ends["model"] + constructor + labelled,
    ).rename(columns={name: f"swept_{name}" for name in sweeps.MEASURES})


def asked(ends: pd.DataFrame, claim: claims.Claim) -> list[tuple[pd.DataFrame, list[str]]]:
    """The runs of each model that the rules of a claim name, and which of its quantities they have all been asked."""
    return [(some, [name for name in claim.quantities() if name in some and some[name].notna().all()])
            for model, some in ends.groupby("model") if model in claim.models()]


def beside(ends: pd.DataFrame, measure: str, simple: str, words: str) -> dict[str, dict[str, Tensor]]:
    """Data set -> graph in few words -> a measure of its runs; last, the mean of something ``simple`` for each seed."""
    kinds = ends.dropna(subset=measure)["model"].unique()
    return {name: {short(kind): torch.tensor(runs.loc[runs["model"] == kind, measure].tolist()) for kind in kinds}
            | {words: torch.tensor(runs.dropna(subset=simple).groupby("seed")[simple].mean().tolist())}
            for name, runs in ends.groupby("dataset", sort=False)}


def short(model: str) -> str:
    """``WORDS`` of a model as a row of a figure has room for them."""
    return re.sub("|".join(SHORTER), lambda long: SHORTER[long[0]], WORDS[model])


def deciding(measure: str) -> set[str]:
    """The rows of a figure, as ``short`` has them, on whose measure a verdict inside the paper's grid rests."""
    checks = [check for claim in claims.load_claims().values() if claim.in_grid
              for check in claim.in_grid.checks.values() if not (check.further or check.guard)]
    return {short(side.model) for check in checks if check.quantity == measure
            for side in (check, check.other) if side and side.model in WORDS}


def backgrounds(ends: pd.DataFrame) -> pd.DataFrame:
    """Runs of ``own_task`` on all images, once for each task: columns task, swept_background."""
    some = ends[ends["sweep"].isin(WHOLE)].rename(columns=BACKGROUNDS)
    return some.melt(["dataset", "model", "seed", "n"], BACKGROUNDS.values(), "task", "swept_background")


def placed(rows: pd.DataFrame) -> pd.DataFrame:
    """The place of HardTanh among the functions of hyper-centred.yaml, for each task and seed."""
    places = sweeps.places(rows, {"activation": ["hardtanh", "tanh", "relu"]})
    return places.assign(setting="activation, pixels in [-1, 1]", dataset="mnist", model="generative")


def readers(swept: Mapping[str, pd.DataFrame], plans: Mapping[str, sweeps.Run]) -> pd.DataFrame:
    """The runs of sweeps of fully connected classifiers; ``plans``: a run of each. A model is named by its sweep, f, a
    learning rate that falls, and pixels that were set in training: no edge leads to them, so to observe is the same.
    """
    runs = pd.concat([rows.query("status == 'ok'").assign(
        sweep=name, claim=READERS[name], n=plans[name].spec.validation_count, dataset=plans[name].spec.data)
        for name, rows in swept.items()])
    runs = runs.reindex(columns=list(dict.fromkeys([*runs, "data", "train.anneal", "topology.without"])))
    falling = (runs["train.anneal"] == "cosine").map({True: "-falling", False: ""})
    pixels_set = runs["topology.without"].fillna("default").ne("default").map({True: "-set", False: ""})
    return runs.assign(model=runs["sweep"] + "-" + runs["activation"] + falling + pixels_set,
                       dataset=runs["data"].fillna(runs["dataset"]), swept_accuracy=runs["accuracy"],
                       swept_do_accuracy=runs["do_accuracy"].fillna(runs["accuracy"]))


def stepped(swept: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """The last rows of runs that differ from the base of their sweep in the learning rate alone, the largest first."""
    ends = pd.concat([sweeps.finals(rows).assign(model=name) for name, rows in swept.items()])
    alone = ends[ends["setting"].str.fullmatch(r"base|train\.weight_lr = \S+") & (ends["status"] == "ok")]
    return alone.rename(columns={"train.weight_lr": "learning rate"}).sort_values("learning rate", ascending=False)


def told(rows: pd.DataFrame, images: int) -> pd.DataFrame:
    """Runs of grid-decay.yaml. "-labels": with strong first label weights; "-strong": and none inside layers."""
    first = rows["init_std"].replace("default", "")
    model = "grid-decay" + first.mask(first != "", "-labels").mask(first.str.contains("hidden2"), "-strong")
    return decayed(rows, model, images)


def decayed(rows: pd.DataFrame, model: str, images: int) -> pd.DataFrame:
    """Runs of a sweep of weight decays, measured on so many digits."""
    return rows.assign(model=model, dataset="mnist", n=images).rename(
        columns={DECAY: "decay"} | {name: f"swept_{name}" for name in sweeps.MEASURES})


def edged(layered: pd.DataFrame, edges: pd.DataFrame, images: int) -> pd.DataFrame:
    """Runs of grid-layered.yaml and grid-edges.yaml at the decays that both have, named as in ``WORDS``."""
    some = layered[layered[DECAY].isin(edges[DECAY])]
    every = pd.concat([some.assign(model=some["topology.constructor"] + "-in-grid"),
                       edges.assign(model="recurrent-edges")])
    return every.rename(columns={DECAY: "decay"}).assign(
        dataset="mnist", n=images, noise_over_digit=every["noise_residual"] / every["digit_residual"])
