"""What the studies of training settings found, first of all of the relaxed time T x gamma; ``sweeps`` runs them."""

import pandas as pd

from . import sweeps, words

SCORES = {(task, column): said for task, some in sweeps.TABLES["scores"].items() for column, said in some.items()}


def scores(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of a study that did not diverge, one per score: ``task`` in words, ``score`` and ``more`` (is better)."""
    parts = []
    for (task, column), (title, factor, more) in SCORES.items():
        if column in rows:
            some = rows[(rows["task"] == task) & (rows["status"] == "ok")].dropna(subset=column)
            named = some["data"].map(words.load().words) + "\n" + title
            parts.append(some.assign(task=named, score=factor * some[column], more=more))
    return pd.concat(parts, ignore_index=True)


def about_graphs(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of the study ``transfer`` that did not diverge, with new columns property (depth, vertices or density),
    graph (in words), edges, and usual (has the learning rate of most). The graph with all edges is in two series.
    """
    vertices, edges = (rows["model"].str.extract(rf"(\d+) {word}")[0].astype(int) for word in ("vertices", "edges"))
    kinds = {"discriminative": ("depth", rows["model"].str.count("hidden").astype(str) + " hidden"),
             "fully_connected": ("vertices", "N = " + vertices.astype(str)),
             "small_world": ("density", (100 * edges / vertices**2).round().astype(int).astype(str) + " % of edges")}
    most = rows.groupby("task")["weight_lr"].transform(lambda steps: steps.mode()[0])
    rows = rows.assign(edges=edges, vertices=vertices, usual=rows["weight_lr"] == most, **{
        "accuracy (%)": 100 * rows["accuracy"], "step size γ": rows["value_lr"], "learning rate": rows["weight_lr"]})
    rows = rows[rows["status"] == "ok"]
    parts = {name: rows.assign(property=name, graph=graph)[rows["model"].str.startswith(kind)]
             for kind, (name, graph) in kinds.items()}
    whole = parts["vertices"][parts["vertices"]["vertices"].isin(parts["density"]["vertices"])]
    return pd.concat([*parts.values(), whole.assign(property="density", graph="all edges")], ignore_index=True)


def transferred(asked: pd.DataFrame) -> pd.DataFrame:
    """A row per graph of ``about_graphs``: safe step size, and step sizes and learning rates within 1 % of the best."""

    def span(runs: pd.DataFrame, column: str) -> str:
        good = runs.loc[runs["accuracy"] >= runs["accuracy"].max() - 0.01, column]
        return f"{good.min():.2g} to {good.max():.2g}"

    return pd.DataFrame([
        {"property": name, "graph": graph, "edges": int(runs["edges"].iloc[0]),
         "safe step size": runs.loc[runs["usual"] & (runs["gamma"] == "safe"), "value_lr"].mean().round(2),
         "step sizes": span(runs[runs["usual"]], "value_lr"),
         "learning rates": span(runs[runs["gamma"] == "safe"], "weight_lr")}
        for (name, graph), runs in asked.groupby(["property", "graph"], sort=False)])
