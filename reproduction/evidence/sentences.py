"""At which weight decays each sentence of the paper is true, from committed sweeps (page L)."""

from collections.abc import Callable

import pandas as pd

from .. import checkout
from . import sweeps
from .decays import DECAY, ORDER

Means = dict[str, pd.DataFrame]                                           # graph -> means over seeds, a row a decay
LABELS, KIND = "`topology.labels`", "`topology.constructor`"
ALONE = r"setting.str.fullmatch('base|train.weight_decay = [^ ]+')"         # nothing else differs
# graph -> sweep, which of its rows
GRAPHS = {
    "layers": ("decay-layers", f"{KIND} == 'generative' and {LABELS} == 0"),
    "recurrent": ("decay-layers", f"{KIND} == 'recurrent' and {LABELS} == 0"),
    "following": ("decay-layers", f"{KIND} == 'generative' and {LABELS} == 10"),
    "recurrent_following": ("decay-layers", f"{KIND} == 'recurrent' and {LABELS} == 10"),
    "full": ("decay-fully-connected", f"{LABELS} == 0 and scale == '[-1, 1]'"),
    "full_labels": ("decay-fully-connected", f"{LABELS} == 10"),
    "full_cleaning": ("decay-fully-connected", "scale == '[0, 1]'"),
    "hundred": ("decay-memories", "train_count == 100"), "two_hundred": ("decay-memories", "train_count == 200"),
    "narrow": ("width-depth", f"{KIND} == 'generative' and `topology.hidden` == '16 and 16'"),
    "wide": ("width-depth", f"{KIND} == 'generative' and `topology.hidden` == '1024 and 1024'"),
    "usual": ("width-depth", f"{KIND} == 'generative' and `topology.hidden` == '512 and 512'"),
    "recurrent_wide": ("width-depth", f"{KIND} == 'recurrent' and `topology.hidden` == '1024 and 1024'"),
    "recurrent_usual": ("width-depth", f"{KIND} == 'recurrent' and `topology.hidden` == '512 and 512'"),
    "all_images": ("grid-layered", f"{KIND} == 'generative'"),
    "recurrent_all": ("grid-layered", f"{KIND} == 'recurrent'"),
    "joining": ("decay-recurrent", "seed >= 0"), "classifier": ("multilayer", ALONE),
    "backpropagation": ("multilayer-backprop", ALONE)}
PAPER, SIMPLE = "the paper's sentences", "compared with simple methods"
HELD = ("true at every decay", "at some", "at none")
# sentence (section) -> what is at least 0 where it is true; the thresholds are those of its claim
RULES: dict[tuple[str, str], Callable[[Means], pd.Series]] = {
    (PAPER, "A full graph draws the digit of a label (3)"): lambda of: of["full_labels"].generated - 0.99,
    (PAPER, "It fills in better than the mean image (3)"):
        lambda of: -_gap(of["full"], "completion_mse", "mean_image_mse"),
    (PAPER, "What it fills in is recognised (3)"):
        lambda of: _gap(of["full"], "completion_agreement", "original_agreement") + 0.1,
    (PAPER, "It fills in better with a label (3)"):
        lambda of: of["full"].completion_mse - of["full_labels"].guided_mse,
    (PAPER, "A noisy picture settles on a clearer one (3)"):
        lambda of: _gap(of["full_cleaning"], "rest_agreement", "noisy_agreement"),
    (PAPER, "Its queries come to rest (3)"): lambda of: _least(
        *(of["full_labels"][f"{task}_rested"] - 0.99 for task in ("classification", "completion", "generation"))),
    (PAPER, "It recalls 100 digits from halves and noise (3)"): lambda of: _least(
        of["hundred"].from_half - 0.9, of["hundred"].from_noise_scaled - 0.9),
    (PAPER, "Layers fill in and denoise better (4)"): lambda of: _better(of["layers"], of["full"], of["full_cleaning"]),
    (PAPER, "Recurrent layers fill in and denoise better (4)"):
        lambda of: _better(of["recurrent"], of["full"], of["full_cleaning"]),
    (PAPER, "An autoencoder fills in worse, denoises alike (4)"): lambda of: _least(
        autoencoder()["completion_mse"] - of["all_images"].completion_mse,
        of["all_images"].rest_psnr - autoencoder()["rest_psnr"] + 1),
    (PAPER, "Both kinds of layers draw the digit of a label (5)"): lambda of: _least(
        of["following"].drawn - 0.95, of["recurrent_following"].drawn - 0.95),
    (PAPER, "The label decides an ambiguous image (5)"): lambda of: _least(
        of["following"].label_agreement - 0.95, of["recurrent_following"].label_agreement - 0.95),
    (PAPER, "Very narrow and very wide layers do worse (B.1)"): lambda of: _least(
        *(of[width].completion_mse - of["usual"].completion_mse for width in ("narrow", "wide"))),
    (PAPER, "Width harms recurrent layers less (B.1)"): lambda of: (
        of["wide"].completion_mse - of["usual"].completion_mse
        - (of["recurrent_wide"].completion_mse - of["recurrent_usual"].completion_mse)),
    (PAPER, "A feedforward graph copies noise (B.2)"):
        lambda of: -_gap(of["all_images"], "noise_residual", "constant_residual"),
    (PAPER, "A recurrent graph copies less noise (B.2)"):
        lambda of: of["recurrent_all"].noise_residual - of["all_images"].noise_residual,
    (PAPER, "A recurrent graph copies foreign images less (B.2)"):
        lambda of: of["recurrent_all"].foreign_distance - of["all_images"].foreign_distance,
    (PAPER, "The halves join better than at the weakest (B.3)"):
        lambda of: (of["joining"].seam.dropna().iloc[0] - of["joining"].seam).iloc[1:],
    (PAPER, "Of 200 digits, fewer come back than of 100 (C)"): lambda of: _least(
        *(of["hundred"][way] - of["two_hundred"][way] for way in ("from_half", "from_noise_scaled"))),
    (PAPER, "A classifier is as good as backpropagation (D)"):
        lambda of: 0.005 - (of["classifier"].accuracy - of["backpropagation"].accuracy).abs(),
    (SIMPLE, "A full graph fills in better than ridge regression"):
        lambda of: -_gap(of["full"], "completion_mse", "ridge_mse"),
    (SIMPLE, "Layers fill in better than ridge regression"):
        lambda of: autoencoder()["ridge_mse"] - of["all_images"].completion_mse,
    (SIMPLE, "Recurrent layers fill in better than it"):
        lambda of: autoencoder()["ridge_mse"] - of["recurrent_all"].completion_mse,
    (SIMPLE, "Layers denoise better than an autoencoder"):
        lambda of: of["all_images"].rest_psnr - autoencoder()["rest_psnr"],
    (SIMPLE, "Recurrent layers denoise better than it"):
        lambda of: of["recurrent_all"].rest_psnr - autoencoder()["rest_psnr"]}


def means() -> Means:
    """The means over seeds of the runs of each graph, a row a decay of ORDER."""
    return {graph: _of(sweep, which) for graph, (sweep, which) in GRAPHS.items()}


def true_where(of: Means) -> pd.DataFrame:
    """One row per sentence and decay at which it was tried, with columns part, sentence, weight decay, true."""
    rows = pd.DataFrame([{"part": part, "sentence": sentence, "weight decay": decay, "true": bool(margin >= 0)}
                         for (part, sentence), rule in RULES.items() for decay, margin in rule(of).dropna().items()])
    return rows.assign(**{"weight decay": pd.Categorical(rows["weight decay"], ORDER)})


def counted(rows: pd.DataFrame) -> pd.DataFrame:
    """How many sentences of each part are true at every decay of ``true_where`` at which they were tried, at some, and
    at none.
    """
    share = rows.groupby(["part", "sentence"], sort=False)["true"].mean().reset_index()
    named = share["true"].map({1: "true at every decay", 0: "at none"}).fillna("at some")
    table = pd.crosstab(share["part"], named).reindex(index=[PAPER, SIMPLE], columns=[*HELD], fill_value=0)
    return table.rename_axis(columns=None).reset_index()


def autoencoder() -> pd.Series:
    """Mean measures of the autoencoder of digits that saw all images, and of ridge regression. Neither has such a
    decay.
    """
    rows = _ends("grid-layers-autoencoder")
    return rows[rows["data"].fillna("mnist") == "mnist"].mean(numeric_only=True)


def _of(sweep: str, which: str) -> pd.DataFrame:
    rows = _ends(sweep).query(which, engine="python")
    decay = rows[DECAY].map("{:g}".format).replace("0.0001", "1e-4")
    return rows.groupby(decay).mean(numeric_only=True).reindex(ORDER)


def _ends(sweep: str) -> pd.DataFrame:
    rows = sweeps.finals(pd.read_csv(checkout.ROOT / "results" / "sweeps" / f"{sweep}.csv"))
    return rows.query("status == 'ok'")


def _gap(rows: pd.DataFrame, one: str, other: str) -> pd.Series:
    """How much larger one measure is."""
    return rows[one] - rows[other]


def _better(rows: pd.DataFrame, filling: pd.DataFrame, cleaning: pd.DataFrame) -> pd.Series:
    """By how much a graph fills in and denoises better than two others, whichever is less."""
    return _least(filling.completion_mse - rows.completion_mse, rows.rest_psnr - cleaning.rest_psnr)


def _least(*margins: pd.Series) -> pd.Series:
    return pd.concat(margins, axis=1).min(axis=1, skipna=False)
