"""The table of the paper's sentences on weight decay.

Oracle: a table of scores written by hand, whose best decays can be seen.
"""

import pandas as pd

from reproduction.evidence import decays

TWO, FOUR = ("1e-4", "0.01"), ("1e-4", "0.01", "0.03", "0.1")
SCORES = {                                                                # measure, graph -> decays, means
    (decays.NOISE, "feedforward"): (TWO, (1, 3)), (decays.NOISE, "recurrent"): (TWO, (2, 2)),
    (decays.FOREIGN, "feedforward"): (TWO, (1, 1)), (decays.FOREIGN, "recurrent"): (TWO, (0, 0)),
    (decays.GREY, "feedforward"): (TWO, (2, 2)), (decays.GREY, "recurrent"): (TWO, (2, 2)),
    (decays.EASED, "feedforward"): (TWO, (5, -5)), (decays.EASED, "recurrent"): (TWO, (5, 5)),
    (decays.FILLS, "feedforward"): (FOUR, (4, 3, 1, 2)), (decays.FILLS, "recurrent"): (FOUR, (2, 4, 3, 1)),
    (decays.CLEANS, "feedforward"): (FOUR, (-2, -1, -3, -4)), (decays.CLEANS, "recurrent"): (FOUR, (-1, -2, -3, -4)),
    (decays.SEAM, "recurrent"): (FOUR, (4, 5, 3, 4)),
    (decays.CLASSIFIES, "layered classifier"): (FOUR, (90, 95, 80, 70))}


def test_each_sentence_is_true_where_the_means_agree_with_it() -> None:
    every = pd.DataFrame([
        {"measure": measure, "graph": graph, "decay": decay, "seed": seed, "score": score + change}
        for (measure, graph), of in SCORES.items() for decay, score in zip(*of, strict=True)
        for seed, change in enumerate((-0.25, 0.25))])
    told = decays.sentences(every).drop(columns="sentence").itertuples(index=False, name=None)
    two, four = "1e-4 and 0.01", "1e-4, 0.01, 0.03 and 0.1"
    assert list(told) == [
        ("at 1e-4", "", two), ("at 1e-4", "", two), ("at none", "", two), ("at 1e-4", "", two), (f"at {two}", "", two),
        ("at 0.03", "", four),
        ("no", "0.03 (of the paper's list: 0.01)", four),
        ("no", "0.1, the strongest tried (of the paper's list: 1e-4)", four),
        ("yes", "0.01", four), ("no", "1e-4", four), ("no", "0.01", four)]


def test_rows_of_figures_have_short_names() -> None:
    assert decays.short("grid-denoising-equal") == "equal edges, denoising"
    assert decays.short("grid-layers-once-recurrent") == "recurrent, all once"
    grids = [name for name in decays.WORDS if name.startswith("grid-")]
    assert len({decays.short(name) for name in grids}) == len(grids)


def test_models_are_named_by_their_sweep_and_by_what_varies_in_it() -> None:
    """Also where nothing varies in any sweep, as in short runs."""
    alike, varied = (pd.DataFrame([{"status": "ok", "dataset": "mnist"} | more])
                     for more in ({}, {"topology.constructor": "recurrent", "topology.labels": 10}))
    assert list(decays.own_task({"one": alike})["model"]) == ["one"]
    assert list(decays.own_task({"one": alike, "other": varied})["model"]) == ["one", "other-recurrent-labels"]
