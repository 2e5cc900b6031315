"""At which weight decays each sentence of the paper is true, from committed sweeps (page L)."""

from pathlib import Path

import pandas as pd

from . import decays, strict
from .decays import DECAY, ORDER, autoencoder

FILE = Path(__file__).with_name("sentences.yaml")
GRAPHS, SENTENCES = (strict.read_yaml(FILE)[key] for key in ("graphs", "sentences"))
HELD = ("true at every decay", "at some", "at none")


def means() -> dict[str, pd.DataFrame]:
    """The means over seeds of the runs of each graph, a row a decay of ORDER."""
    found = {graph: decays.ends(sweep).query(which, engine="python") for graph, (sweep, which) in GRAPHS.items()}
    return {graph: rows.groupby(decays.named(rows[DECAY])).mean(numeric_only=True).reindex(ORDER)
            for graph, rows in found.items()}


def true_where(of: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """One row per sentence and decay at which it was tried, with columns part, sentence, weight decay, true."""
    known = of | {"simple": autoencoder()}
    rows = []
    for part, sentences in SENTENCES.items():
        for sentence, formulas in sentences.items():
            margins = [pd.eval(one, engine="python", local_dict=known, global_dict={}) for one in formulas]
            least = pd.concat(margins, axis=1).min(axis=1, skipna=False).dropna()
            rows += [{"part": part, "sentence": sentence, "weight decay": decay, "true": margin >= 0}
                     for decay, margin in least.items()]
    rows = pd.DataFrame(rows)
    return rows.assign(**{"weight decay": pd.Categorical(rows["weight decay"], ORDER)})


def counted(rows: pd.DataFrame) -> pd.DataFrame:
    """How many sentences of each part are true at every decay of ``true_where``, at some of them, and at none."""
    share = rows.groupby(["part", "sentence"], sort=False)["true"].mean().reset_index()
    named = share["true"].map({1: "true at every decay", 0: "at none"}).fillna("at some")
    table = pd.crosstab(share["part"], named).reindex(index=[*SENTENCES], columns=[*HELD], fill_value=0)
    return table.rename_axis(columns=None).reset_index()
