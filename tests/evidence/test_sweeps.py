"""Sweeps: every setting once, measured on validation images, kept, found again, and its failures told. Oracles: grids
crossed by hand; the same training by the zoo; measures taken anew from their definitions; counted trainings."""

import shutil
from functools import cache
from pathlib import Path
from unittest import mock

import pandas as pd
import pytest
import torch
from pictures import seeded
from project import edit

from pcgraph_lite import PCGraph, Scale, query, topology
from pcgraph_lite.baselines import rivals
from pcgraph_lite.engine import learning
from pcgraph_lite.errors import BadFile, BadInput
from pcgraph_lite.images import datasets, scale
from pcgraph_lite.images.judge import load_judge
from pcgraph_lite.studies import tasks
from reproduction import checkout
from reproduction.evidence import config, measures, records, relaxed_time, sweeps, zoo

TIMES = ["run_seconds", "seconds", "date"]
STUDY = """
description: for tests
tasks:
  - task: layered
    description: labels asked
    images: 100
    measured: [accuracy]
    base: {data: mnist, train_count: 200, validation_count: 100, activation: relu,
           topology: {constructor: discriminative, hidden: [16, 8]},
           train: {epochs: 2, batch_size: 50, steps: 2, weight_lr: 1e-2}}
    vary:
      - train: [{steps: 2, value_lr: 0.02}, {steps: 3, value_lr: safe}, {steps: 60, value_lr: 3.0}]
      - {train.value_lr: [0.02], seed: [0, 5]}
  - task: memories
    description: images asked for themselves
    images: 2
    measured: [memories]
    base: {data: mnist, train_count: 3, validation_count: 2, activation: tanh, scale: "[-1, 1]",
           topology: {constructor: fully_connected, internal: 8, labels: 0},
           train: {epochs: 2, batch_size: 3, steps: 2, weight_lr: 1e-3}}
    vary:
      - train.weight_decay: [0.1]
"""


@pytest.fixture
def trainings(root: Path, monkeypatch: pytest.MonkeyPatch) -> mock.Mock:
    """Counts the trainings that start, and that are measured in one thing alone."""
    edit(root / "config/sweeps/tiny.yaml", "images: 10", "images: 10\nmeasured: [completion]")
    monkeypatch.setattr(zoo, "build", build := mock.Mock(side_effect=zoo.build))
    return build


@pytest.fixture
def study(root: Path) -> Path:
    """The project with a study, ``small``."""
    (root / "config/studies").mkdir()
    (root / "config/studies/small.yaml").write_text(STUDY)
    return root


@cache
def everything() -> pd.DataFrame:
    """Rows of the small sweep with all usual measures, made once; whoever reads the test set fails."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(datasets, "load", lambda name, split="train", load=datasets.load, **rest: load(
            name, split if split == "train" else pytest.fail("the test set was read"), **rest))
        return sweeps.load("tiny", "smoke", "cpu")


def by_hand(spec: config.Model) -> tuple[torch.nn.Module, datasets.ImageSet, datasets.ImageSet, pd.DataFrame]:
    """A model as the zoo trains it, its images, its validation images, and the history."""
    model, _ = zoo.build(spec, 0, torch.device("cpu"))
    rest, held_out = zoo.split(spec, config.load_profile("smoke"), generator := seeded())
    return model, rest, held_out, zoo.fit(model, spec, rest, held_out, generator=generator, progress=False)


def noised(clean: torch.Tensor) -> torch.Tensor:
    return clean + 0.5 ** 0.5 * torch.randn(clean.shape, generator=datasets.noise_generator(0, "held-out"))


def alone(root: Path, model: str, base: str = "validation_count: 20", more: str = "") -> pd.Series:
    """The last row of a sweep of two settings of a model, after the measures of both were found to be there alike."""
    (root / "config/sweeps/tiny.yaml").write_text(
        f"description: for tests\nmodel: {model}\nbase: {{{base}}}\n{more}vary: [train.weight_decay: [0.1]]\n")
    ends = sweeps.finals(sweeps.load("tiny", "smoke", "cpu"))
    assert len(ends) == 2 and ends["best_validation"].notna().all()
    assert ends[sweeps.MEASURES].isna().nunique().eq(1).all()
    return ends.iloc[0]


@pytest.mark.parametrize("profile", config.profile_names())
@pytest.mark.parametrize("name", sorted(file.stem for file in (checkout.ROOT / "config/sweeps").glob("*.yaml")))
def test_committed_sweeps_fit_the_schemas(name: str, profile: str) -> None:
    runs = sweeps.plan(name, profile)
    assert runs[0].setting == "base" and len(runs) > 1


@pytest.mark.parametrize("name", sorted(file.stem for file in (checkout.ROOT / "config/studies").glob("*.yaml")))
def test_committed_rows_of_studies_are_those_of_their_plans(name: str) -> None:
    """So they are not run again: each plan finds its rows, which say its settings."""
    runs = {run.identity: run for run in sweeps.plan(name, "paper")}
    rows = pd.read_csv(checkout.ROOT / "results/sweeps" / f"{name}.csv")
    found = rows[rows["identity"].isin(runs)]
    assert len(found) == found["identity"].nunique() > 0.8 * max(len(rows), len(runs))
    for row in found.to_dict("records"):
        run = runs[row["identity"]]
        assert (row["task"], row["seed"], row["n"]) == (run.sweep.task, run.seed, run.spec.train_count)
        said = {column: type(value)(row[column]) for column, value in run.values.items() if column != "optimizer"}
        assert said | {"optimizer": "adam"} == run.values


def test_a_study_trains_to_the_end_and_keeps_a_row_a_run(study: Path, capsys: pytest.CaptureFixture) -> None:
    """Five runs, none of the base; one that is there already is not made again; a step that diverges is a row too."""
    whole = pd.read_csv(file := sweeps.run("small", "smoke", "cpu"))
    whole.iloc[1:].to_csv(file, index=False)
    capsys.readouterr()
    rows = pd.read_csv(sweeps.run("small", "smoke", "cpu"))
    assert capsys.readouterr().err.startswith("1 of 5: layered, gamma = 0.02, seed 0: ok, ")
    pd.testing.assert_frame_equal(rows.drop(columns=TIMES), whole.drop(columns=TIMES))
    pd.testing.assert_frame_equal(sweeps.load("small", "smoke"), rows)
    assert [status.partition(":")[0] for status in rows["status"]] == ["ok", "ok", "UnstableStep", "ok", "ok"]
    assert rows["seed"].tolist() == [0, 0, 0, 5, 0] and rows["asked"].tolist() == [100] * 4 + [2]
    assert rows["relaxed"][0] == pytest.approx(0.04)
    assert rows["relaxed"][1] == pytest.approx(3 * rows["value_lr"][1], rel=1e-4)
    assert rows["model"][0].startswith("discriminative, Topology(818 vertices")
    memories = [measure for measure in sweeps.MEASURES if measure.startswith("from_")]
    assert rows.loc[4, memories].between(0, 1).all()
    assert rows[memories].iloc[:4].isna().all(axis=None) and rows["accuracy"].isna().tolist() == [0, 0, 1, 0, 1]
    assert set(relaxed_time.scores(rows)["score"]) <= {*(100 * rows["accuracy"]), *(100 * rows[memories].stack())}


def test_a_study_measures_the_weights_after_its_last_epoch(study: Path) -> None:
    """The same training by hand, which no image stops or chooses from."""
    run, profile = sweeps.plan("small", "smoke")[1], config.load_profile("smoke")
    graph, _ = zoo.build(run.spec, 0, torch.device("cpu"), profile.dtype)
    rest, held_out = zoo.split(run.spec, profile, generator := seeded())
    learning.fit(graph, rest, generator=generator, progress=False, **run.spec.train.model_dump())
    expected = learning.accuracy(graph, held_out)
    assert run.rows("smoke", torch.device("cpu"))["accuracy"].tolist() == [expected]


def test_drawing_following_and_decibels_are_those_of_plain_queries() -> None:
    """The judge by hand, and the nearest of the pictures on the way; noise of scaled pixels has half the deviation."""
    digits, generator = datasets.load("mnist", "train", sample=True).subset(200), seeded()
    graph = PCGraph(topology.generative(hidden=[20]), "hardtanh", init_std={"labels -> hidden1": 1.0},
                    pixel_scale=scale.named("[-1, 1]", "mnist"), generator=generator)
    learning.fit(graph, digits, epochs=2, steps=5, batch_size=20, weight_lr=1e-2, progress=False)
    found = measures.measure(graph, digits, digits, 5, 0, ["drawing", "decibels"], 12, config.load_profile("smoke"))
    reads, known = load_judge("mnist"), torch.arange(784) >= 784 - 9 * 28
    drawn = tasks.generate(graph, torch.arange(10)).values["pixels"].clamp(0, 1)
    right = [float((reads(some).argmax(-1) == torch.arange(10)).double().mean()) for some in (
        drawn, drawn / drawn.amax(-1, keepdim=True))]
    some = {digit: digits.images[digits.labels == digit][:15] for digit in (7, 9, 3, 5)}
    follows = [reads(tasks.complete(graph, some[d], known, torch.full((len(some[d]),), label))).argmax(-1) == label
               for pair in ((7, 9), (3, 5)) for label in pair for d in pair]
    clean = digits.images[:5]
    noise = noised(torch.zeros(5, 784)) / 0.5 ** 0.5
    errors = [[tasks.denoise(graph, clean + deviation * noise, steps) - clean for steps in (
        1, 2, 3, 5, 10, 20, 40, 80, 160, 320)] for deviation in (0.5 ** 0.5, 0.125 ** 0.5)]
    nearest = [max(float((-10 * one.square().mean(-1).log10()).mean()) for one in path) for path in errors]
    assert found == pytest.approx({
        "drawn": right[0], "drawn_over_max": right[1], "label_agreement": float(torch.cat(follows).double().mean()),
        "denoised_db": nearest[0], "denoised_scaled_db": nearest[1]}, rel=1e-4)


def test_grids_are_crossed_and_no_setting_runs_twice(root: Path) -> None:
    """Decay 0 is the base's own, so: base, one decay, two activations times two scales; two seeds each."""
    runs = sweeps.plan("tiny", "laptop")
    assert [run.setting for run in runs[::2]] == [
        "base", "train.weight_decay = 0.01", "activation = linear, init_std = 0.1", "activation = linear",
        "activation = relu, init_std = 0.1", "activation = relu"]
    assert [run.seed for run in runs] == [0, 1] * 6 and len({run.identity for run in runs}) == 12
    assert runs[4].spec.activation == "linear" and runs[4].spec.init_std == 0.1
    assert runs[4].values == {"train.weight_decay": 0.0, "activation": "linear", "init_std": 0.1}
    assert {run.spec.train.batch_size for run in runs} == {25}


def test_profile_comes_before_the_base_of_the_model_and_after_that_of_the_sweep(root: Path) -> None:
    """Three epochs from the profile's entry for the model; the sweep's entry for the profile has the last word."""
    assert {run.spec.train.epochs for run in sweeps.plan("tiny", "smoke")} == {3}
    edit(root / "config/sweeps/tiny.yaml", "base: {train: {batch_size: 25}}", "base: {train: {epochs: 7}}")
    assert {run.spec.train.epochs for run in sweeps.plan("tiny", "smoke")} == {3}
    edit(root / "config/sweeps/tiny.yaml", "    seeds: 1", "    seeds: 1\n    base: {train: {epochs: 4}}")
    assert {run.spec.train.epochs for run in sweeps.plan("tiny", "smoke")} == {4}


def test_lists_and_switches_are_told_in_words(root: Path) -> None:
    """What stands in the column of a varied key that is no number."""
    edit(root / "config/sweeps/tiny.yaml", "  - train.weight_decay: [0.0, 0.01]",
         "  - {topology.without: [[[labels, labels], [labels, internal]]], topology.self_loops: [true]}")
    edit(root / "config/models.yaml", "{constructor: generative, labels: 10, hidden: [8], pixels: 784}",
         "{constructor: fully_connected, internal: 5}")
    values = sweeps.plan("tiny", "laptop")[2].values
    assert values["topology.without"] == "labels to labels and labels to internal"
    assert values["topology.self_loops"] == "true"
    assert sweeps.plan("tiny", "laptop")[0].values["topology.without"] == "default"


def test_rows_are_the_training_of_the_zoo_and_its_measures(root: Path) -> None:
    """The same steps by hand: same history, and measures taken again from the weights. The test set is never read."""
    rows = everything()
    assert list(rows["setting"]) == ["base"] * 3 + ["activation = linear"] * 3
    graph, _, held_out, history = by_hand(sweeps.plan("tiny", "smoke")[0].spec)
    ours = rows[rows["setting"] == "base"]
    for column in ("epoch", "energy", "validation", "value_lr"):
        assert ours[column].tolist() == pytest.approx(history[column].tolist(), rel=1e-5)
    last, some = ours.iloc[-1], held_out.subset(10)
    assert last["accuracy"] == learning.accuracy(graph, (held_out.images, held_out.labels))
    known = torch.arange(784) < 392
    error = (tasks.complete(graph, some.images, known) - some.images)[:, ~known].square().mean()
    assert last["completion_mse"] == pytest.approx(float(error), rel=1e-5)
    cleaned = tasks.denoise(graph, noised(some.images), int(last["denoised_step"]))
    assert last["denoised_mse"] == pytest.approx(float((cleaned - some.images).square().mean()), rel=1e-5)
    weight = graph.weight.detach().double()
    slope = torch.eye(len(weight)) - weight
    assert last["safe_step"] == pytest.approx(1 / float(torch.linalg.matrix_norm(slope, 2)) ** 2, rel=0.05)
    reads = load_judge("mnist")                                            # it cuts to [0, 1] itself
    drawn = query(graph, {"labels": torch.eye(10)}, steps=400, momentum=0.9).values["pixels"]
    whole = tasks.complete(graph, some.images, ~known, some.labels)
    seam = (whole[:, 13 * 28:14 * 28] - whole[:, 14 * 28:15 * 28]).abs()
    assert last["generated"] == (reads(drawn).argmax(-1) == torch.arange(10)).double().mean()
    assert last["labelled_agreement"] == (reads(whole).argmax(-1) == some.labels).double().mean()
    assert last["seam"] == pytest.approx(float(seam.mean()), rel=1e-4)
    assert ours[sweeps.MEASURES].iloc[:-1].isna().all(axis=None)
    assert set(rows["status"]) == {"ok"} and set(rows["n"]) == {100} and rows["commit"].notna().all()


def test_pixels_that_are_set_are_read_as_if_no_edge_led_to_them() -> None:
    """The same graph with those edges at zero, whose pixels are held; random weights read some of 50 digits right."""
    graph = PCGraph(topology.fully_connected(pixels=784, labels=10, internal=6), "tanh")
    digits = datasets.load("mnist", "test", sample=True).subset(50)
    found = measures.measure(graph, digits, digits, 5, 0, ["do"], 12, config.load_profile("smoke"))
    graph.set_weight(graph.weight.detach().where(torch.arange(800) >= 784, 0))
    assert found == {"do_accuracy": pytest.approx(learning.accuracy(graph, (digits.images, digits.labels)))}


def test_predictions_of_a_graph_with_a_scale_are_pictures() -> None:
    """Without weights it predicts 0 on its own scale, which is grey."""
    graph = PCGraph(topology.generative(2, [3], 4), init_std=0.0, pixel_scale=Scale("[-1, 1]", 0.5, 0.5))
    assert torch.equal(measures._predicted(graph, torch.rand(3, 4)), torch.full((3, 4), 0.5))


def test_pictures_at_the_end_of_a_query_stand_beside_simple_ones(root: Path) -> None:
    """Twelve steps from noise; the nearest of all images by brute force; PSNR of a blank picture by its definition."""
    edit(root / "config/sweeps/tiny.yaml", "images: 10\nbase: {train: {batch_size: 25}}",
         "images: 10\nquery_steps: 12\nmeasured: [completion, told, rest, resting]")
    last = sweeps.plan("tiny", "smoke")[0].rows("smoke", torch.device("cpu")).iloc[-1]
    graph, rest, held_out, _ = by_hand(zoo.spec("tiny", "smoke"))
    truth, known = held_out.subset(10).images, torch.arange(784) < 392
    rested = query(graph, init={"pixels": noised(truth)}, steps=12, tolerance=None)
    ends = rested.values["pixels"].clamp(0, 1)                             # (10, 784)
    nearest = [min(rest.images, key=lambda one, shown=shown: (one - shown)[known].square().sum()) for shown in truth]
    tenth = torch.arange(len(rest)) % 10 == 0
    fitted = rivals.ridge(rest.images[~tenth], rest.images[tenth], known, [1e-4, 1e-3, 1e-2, 1e-1])
    judge, wrong = load_judge("mnist"), (held_out.subset(10).labels + 1) % 10
    fooled = tasks.judge_reads(judge, tasks.complete(graph, truth, ~known, wrong)) == wrong
    leaving = graph.weight[graph.topology.slice("labels"), graph.topology.slice("hidden1")]
    expected = {"mislabelled_agreement": fooled.double().mean(),
                "ridge_mse": (rivals.complete_with(fitted, truth, known) - truth)[:, ~known].square().mean(),
                "generation_rested_accelerated": query(graph, {"labels": torch.eye(10)}, steps=12,
                                                       momentum=0.95).converged.double().mean(),
                "label_weight_scale": leaving.norm() / leaving.numel() ** 0.5,
                "rest_psnr": (-10 * (ends - truth).square().mean(-1).log10()).mean(),
                "rest_background": ends[truth == 0].square().mean(),
                "completion_background": tasks.complete(graph, truth, known)[:, ~known][
                    truth[:, ~known] == 0].square().mean(),
                "blank_psnr": (-10 * truth.square().mean(-1).log10()).mean(),
                "nearest_mse": (torch.stack(nearest) - truth)[:, ~known].square().mean(),
                "generation_rested": query(graph, {"labels": torch.eye(10)}, steps=12).converged.double().mean(),
                "mean_image_mse": (rest.images.mean(0) - truth)[:, ~known].square().mean()}
    assert {name: last[name] for name in expected} == pytest.approx(
        {name: float(value) for name, value in expected.items()}, rel=1e-4)


def test_settings_of_a_seed_share_images(root: Path, trainings: mock.Mock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where graphs draw different numbers of weights."""
    edit(root / "config/sweeps/tiny.yaml", "activation: [linear]", "topology.hidden: [[5]]")
    monkeypatch.setattr(zoo, "fit", fit := mock.Mock(side_effect=zoo.fit))
    sweeps.run("tiny", "smoke", "cpu")
    for one, other in zip(*(call.args[2:] for call in fit.call_args_list), strict=True):
        assert torch.equal(one.images, other.images)


def test_finished_runs_are_kept_and_a_killed_sweep_goes_on(root: Path, trainings: mock.Mock) -> None:
    """Stopped in the second run, only that one is trained again; an edit trains what it changes; old rows stay."""
    def found(began: int) -> pd.DataFrame:
        rows = sweeps.load("tiny", "smoke", "cpu")
        assert trainings.call_count == began
        return rows

    def stopped(spec: config.Model, *rest: object) -> tuple:
        if spec.activation == "linear":
            raise KeyboardInterrupt
        return build(spec, *rest)

    build, trainings.side_effect = trainings.side_effect, stopped
    with pytest.raises(KeyboardInterrupt):
        sweeps.run("tiny", "smoke", "cpu")
    assert trainings.call_count == 2 and len(pd.read_csv(sweeps.path("tiny", "smoke"))) == 3
    trainings.side_effect = build
    first = found(3)
    pd.testing.assert_frame_equal(first, found(3))
    edit(root / "config/sweeps/tiny.yaml", "activation: [linear]", "activation: [relu]")
    assert list(found(4)["activation"]) == ["hardtanh"] * 3 + ["relu"] * 3
    edit(root / "config/sweeps/tiny.yaml", "activation: [relu]", "activation: [linear]")
    pd.testing.assert_frame_equal(first, found(4))


def test_divergence_is_a_row_and_not_a_crash(root: Path, trainings: mock.Mock) -> None:
    """A step size far beyond the bound: the row says so, the other run is there, and it is not tried again."""
    edit(root / "config/sweeps/tiny.yaml", "- activation: [linear]", "- {train.value_lr: [1000.0], train.steps: [30]}")
    rows = sweeps.load("tiny", "smoke", "cpu")
    assert len(rows) == 4 and rows["status"].iloc[-1].startswith("UnstableStep: the energy of")
    ends = sweeps.finals(sweeps.load("tiny", "smoke", "cpu"))
    assert trainings.call_count == 2 and list(ends["epoch"]) == [3, 0]
    assert ends["best_validation"].iloc[0] == rows["validation"].max() and ends["best_validation"].isna().iloc[1]


def test_published_rows_serve_the_paper_profile(root: Path, trainings: mock.Mock) -> None:
    """Where one's own rows are missing the committed ones are read; other profiles do not see them."""
    shutil.copy(root / "config/profiles/smoke.yaml", root / "config/profiles/paper.yaml")
    edit(root / "config/sweeps/tiny.yaml", "  smoke:", "  paper:")
    made = sweeps.run("tiny", "paper", "cpu")
    published = root / "results" / "sweeps" / "tiny.csv"
    published.parent.mkdir(parents=True)
    made.rename(published)
    assert len(sweeps.load("tiny", "paper", "cpu")) == 6 and trainings.call_count == 2 and not made.exists()
    edit(root / "config/sweeps/tiny.yaml", "  paper:", "  smoke:")
    sweeps.load("tiny", "smoke", "cpu")
    assert trainings.call_count == 4


def test_changes_compare_with_the_base() -> None:
    """By hand: two settings and both at once, a failed run, two seeds."""
    names = ["base", "base", "f = a", "f = a", "f = a, g = 2", "g = 2", "g = 3"]
    rows = pd.DataFrame({"setting": names, "seed": [0, 1, 0, 1, 0, 0, 0], "f": ["default"] * 7, "g": [1] * 7,
                         "epoch": [1] * 6 + [0], "validation": [5.0, 6, 7, 9, 8, 4, float("nan")],
                         "status": ["ok"] * 6 + ["UnstableStep: ..."], "identity": list("abcdefg")})
    rows = rows.reindex(columns=[*rows, *sweeps.MEASURES])
    rows["completion_mse"] = [1.0, 2, 4, 8, 16, 32, float("nan")]
    changed = sweeps.changes(rows)
    assert changed.loc["f = a", "best_validation"].to_dict() == {0: 2.0, 1: 3.0}
    assert changed.loc["f = a", "completion_mse"].to_dict() == {0: 3.0, 1: 6.0}
    assert changed.loc[("g = 2", 0), "best_validation"] == -1.0 and changed.loc[("g = 3", 0)].isna().all()


def test_places_count_what_is_better_seed_by_seed() -> None:
    """By hand: a setting of two keys does not count, ties share a place, a failed run is last."""
    names = ["base", "train.f = 2", "train.f = 3", "train.f = 2, g = 1", "base", "train.f = 2", "train.f = 3"]
    rows = pd.DataFrame({"setting": names, "seed": [0] * 4 + [1] * 3, "train.f": [1, 2, 3, 2, 1, 2, 3], "epoch": 1,
                         "validation": 0.0, "status": "ok", "identity": list("abcdefg"),
                         "completion_mse": [5.0, 4, 6, 1, 2, 2, float("nan")]})
    rows["rest_psnr"] = -rows["completion_mse"]                            # errors: the fewest; decibels: the most
    for grid, expected in (([1, 2, 3], [2, 1]), ([3, 1, 2], [3, 3]), ([1, 3], [1, 1]), ([3, 1], [2, 2])):
        found = sweeps.places(rows, {"train.f": grid})
        for _, ranks in found.groupby("task"):
            assert ranks.drop(columns="task").to_dict("records") == [
                {"setting": "f", "paper": grid[0], "seed": seed, "rank": rank} for seed, rank in enumerate(expected)]
    with pytest.raises(BadInput, match=r"no setting with train\.f = 9.*\[1, 2, 3\]"):
        sweeps.places(rows, {"train.f": [9, 1]})


@pytest.mark.parametrize("profile", config.profile_names())
def test_the_search_of_appendix_a_has_the_papers_values_in_every_profile(profile: str) -> None:
    """A profile's own learning rate must not take the place of the paper's, whose rank page B2 asks for."""
    settings = {run.setting: run.values for run in sweeps.plan("hyper", profile)}
    base = settings["base"]
    assert (base["train.weight_lr"], base["train.weight_decay"], base["activation"]) == (1e-4, 1e-2, "hardtanh")
    assert settings["train.value_lr = 1.0"] == base | {"train.value_lr": 1.0}


def test_a_seed_has_no_part_in_its_own_choice() -> None:
    """By hand: seed 0 alone chooses b and the others a; with it among them, b wins. A single seed chooses by itself."""
    ends = pd.DataFrame({"seed": [0, 0, 1, 1, 2, 2], "width": list("ababab"),
                         "mse": [9.0, 1.0, 3.0, 4.0, 3.0, 4.0]})
    assert sweeps.best_by_others(ends, "width", "mse").to_dict() == {0: "a", 1: "b", 2: "b"}
    assert sweeps.best_by_others(ends[ends["seed"] == 0], "width", "mse").to_dict() == {0: "b"}


def layered(**of: object) -> dict[str, object]:
    return {"dataset": "mnist", "model": "recurrent", "n": 5} | of


def test_own_penalties_choose_the_width_within_each_decay() -> None:
    """By hand: weak decay is best at width 1 by means of 2, 3 and 4, strong decay at the widest, so at no cost."""
    chosen = {("weak", 1): (1.0, 3.0), ("weak", 2): (3.0, 3.0), ("weak", 4): (4.0, 4.0),
              ("strong", 1): (9.0, 9.0), ("strong", 2): (8.0, 8.0), ("strong", 4): (7.0, 7.0)}
    ends = pd.DataFrame([layered(decay=decay, width=width, seed=seed, choice_mse=value,
                                 other_mse=10.0 * width + seed * (width == 4))
                         for (decay, width), values in chosen.items() for seed, value in enumerate(values)])
    found = sweeps.own_penalties(ends).set_index(["decay", "seed"])["own_penalty"].to_dict()
    assert found == {("weak", 0): 30.0, ("weak", 1): 31.0, ("strong", 0): 0.0, ("strong", 1): 0.0}


def test_what_the_widest_graph_costs_in_the_last_epoch() -> None:
    """By hand: the other seed chooses width 2 for seed 0 and width 4, the widest, for seed 1."""
    errors = {(0, 1): 9.0, (0, 2): 3.0, (0, 4): 2.0, (1, 1): 9.0, (1, 2): 4.0, (1, 4): 5.0}
    ends = pd.DataFrame([layered(decay=decay, width=width, seed=seed, validation=-error * (1 + (decay == "weak")))
                         for (seed, width), error in errors.items() for decay in ("weak", "strong")])
    last = sweeps.in_last_epoch(ends)
    assert set(last[last["width"] == "narrow"]["last_epoch_mse"]) == {9.0, 18.0}
    costs = sweeps.penalties(last, "last_epoch_mse").reset_index().set_index("seed")[["strong", "weak"]]
    assert costs.to_dict("index") == {0: {"strong": -1.0, "weak": -2.0}, 1: {"strong": 0.0, "weak": 0.0}}


@pytest.mark.parametrize("model", ["other", "copier"])
def test_measures_that_make_no_sense_are_left_out(root: Path, model: str) -> None:
    """A graph without labels is asked for none; an autoencoder has no step size either."""
    last = alone(root, model)
    absent = {"accuracy", "generated", "labelled_agreement", "seam", "guided_mse", "guided_ssim", "guided_agreement"}
    absent |= {key for part, keys in sweeps.PARTS.items() if part not in sweeps.USUAL for key in keys}
    absent |= {"denoised_step", "safe_step", "settling_steps", "settling_censored"} if model == "copier" else set()
    assert {key for key in sweeps.MEASURES if pd.isna(last[key])} == absent


def test_a_graph_whose_pixels_nothing_predicts_is_asked_for_labels_and_never_to_draw(root: Path) -> None:
    last = alone(root, "tiny", "topology: {constructor: discriminative, pixels: 784, hidden: [8], labels: 10}, "
                               "train: {score: accuracy}")
    assert last["accuracy"] == last["best_validation"] and last[sweeps.MEASURES].notna().sum() == 1


def test_an_autoencoder_denoises_in_one_pass(root: Path) -> None:
    """By hand: its output for the noisy pictures, cut to [0, 1]; each is nearer to the clean picture, or is not."""
    last = alone(root, "copier", more="images: 10\nmeasured: [rest]\n")
    model, _, held_out, _ = by_hand(sweeps.plan("tiny", "smoke")[0].spec)
    clean, noisy = held_out.images[:10], noised(held_out.images[:10])
    answer = model(noisy).detach().clamp(0, 1)
    error = (answer - clean).square().mean(-1)
    assert last["rest_psnr"] == pytest.approx(float((-10 * error.log10()).mean()), rel=1e-5)
    assert last["rest_background"] == pytest.approx(float(answer[clean == 0].square().mean()), rel=1e-5)
    assert last["nearer_share"] == float((error < (noisy - clean).square().mean(-1)).double().mean())


def test_a_run_is_measured_in_what_the_sweep_asks_for(root: Path) -> None:
    """And those measures are the same as beside all others."""
    every = sweeps.finals(everything())
    shutil.rmtree(root / "_build", ignore_errors=True)
    edit(root / "config/sweeps/tiny.yaml", "images: 10", "images: 10\nmeasured: [completion, settling]")
    few = sweeps.finals(sweeps.load("tiny", "smoke", "cpu"))
    kept = [*sweeps.PARTS["completion"], *sweeps.PARTS["settling"]]
    assert few[kept].equals(every[kept]) and every["accuracy"].notna().all()
    assert few[[key for key in sweeps.MEASURES if key not in kept]].isna().all(axis=None)


@pytest.mark.parametrize(("old", "new", "words"), [
    ("train.weight_decay", "train.weight_dekay", "no key 'weight_dekay'.*Did you mean 'weight_decay'"),
    ("[0.0, 0.01]", "[0.0, much]", "tiny.*train.weight_decay.*'much'"),
    ("[0.0, 0.01]", "0.01", "vary.*weight_decay.*list"),
    ("batch_size: 25}", "epochs: 1}, validation_count: 0", "keeps no validation images.*validation_count"),
    ("model: tiny", "model: tinny", "no model 'tinny'.*Did you mean 'tiny'"),
    ("  smoke:", "  smoek:", "no profile 'smoek'.*Did you mean 'smoke'"),
    ("images: 10", "imges: 10", "no key 'imges'.*Did you mean 'images'"),
    ("images: 10", "images: 10\nmeasured: [seem]", "measured.*'completion'.*'seem'"),
    ("train.weight_decay: [0.0, 0.01]", "sede: [0, 1]", "no key 'sede'"),
])
def test_wrong_sweep_is_refused_before_anything_runs(root: Path, old: str, new: str, words: str) -> None:
    """The message names the file, the key, what was expected and a near match."""
    edit(root / "config/sweeps/tiny.yaml", old, new)
    with pytest.raises(BadInput, match=f"config/sweeps/tiny.yaml.*{words}"):
        sweeps.load("tiny", "laptop", "cpu")
    assert not (root / "_build").exists()


def test_damaged_rows_are_named(root: Path) -> None:
    """With the command that makes them anew."""
    target = sweeps.path("tiny", "smoke")
    target.parent.mkdir(parents=True)
    for damage in ("", "identity,seed\na,1\n",
                   "identity,seed,status,completion_mse," + ",".join(records.PROVENANCE) + "\na,1,ok,oops\n"):
        target.write_text(damage)
        with pytest.raises(BadFile, match=r"(?s)sweeps/tiny\.csv is not a file.*pcgraph sweep tiny --profile smoke"):
            sweeps.load("tiny", "smoke")


def test_principal_components_find_images_outside_the_span(monkeypatch: pytest.MonkeyPatch) -> None:
    """Training and known images are mixtures of ten pictures, which are drawn exactly; others are not."""
    mixed = torch.rand(60, 10) @ torch.rand(10, 784) / 10
    spanned, others = (datasets.ImageSet("mnist", images, torch.zeros(60, dtype=torch.long), (1, 28, 28))
                       for images in (mixed, torch.rand(60, 784)))
    run = sweeps.plan("grid-layered", "smoke")[0]
    for known, foreign, expected in ((spanned, others, 1.0), (others, spanned, 0.0)):
        monkeypatch.setattr(zoo, "split", lambda *_, known=known: (spanned, known))
        monkeypatch.setattr(zoo, "images", lambda *_, foreign=foreign: foreign)
        assert measures.principal_auroc(run.spec, 0, 50, "smoke") == pytest.approx(expected)
