"""The study of settings: what is run, what a row says, what is not run again."""

from pathlib import Path

import pandas as pd
import pytest

from pcgraph_lite.errors import UnknownName
from reproduction import checkout
from reproduction.evidence import relaxed_time, strict, sweeps

TIMES = ["train_seconds", "seconds", "date"]
SMALL = """
tasks:
  layered: {topology: discriminative, arguments: {hidden: [16, 8]}, activation: relu, images: 200, held_out: 100,
            epochs: 1, batch_size: 50, weight_lr: 1e-2, decay: 0.0}
  memories: {topology: fully_connected, arguments: {internal: 8, labels: 0}, activation: tanh, images: 3, held_out: 1,
             epochs: 2, batch_size: 3, weight_lr: 1e-3, decay: 0.0}
queue:
  - {tasks: [layered], points: [[2, 0.02], [3, safe], [60, 3.0]]}
  - {tasks: [memories], scale: ["[-1, 1]"], points: [[2, safe]], decay: [0.0, 0.1]}
  - {tasks: [layered], points: [[2, 0.02]]}
"""


def test_a_study_runs_as_a_sweep_does(root: Path, capsys: pytest.CaptureFixture) -> None:
    """Five different runs; one that is there already is not made again; a step that diverges is a row as well."""
    (root / "config/studies").mkdir()
    (root / "config/studies/small.yaml").write_text(SMALL)
    file = sweeps.run("small", "smoke", "cpu")
    whole = pd.read_csv(file)
    whole.iloc[1:].to_csv(file, index=False)
    capsys.readouterr()
    rows = pd.read_csv(sweeps.run("small", "smoke", "cpu"))
    assert capsys.readouterr().out.startswith(f"1 of 5: {sweeps.runs('small', 'smoke')[0].setting}, seed 0: ok, ")
    assert len(rows) == 5 == rows["identity"].nunique()
    pd.testing.assert_frame_equal(rows.drop(columns=TIMES), whole.drop(columns=TIMES))
    assert rows["status"].tolist() == ["ok", "ok", "diverged: UnstableStep", "ok", "ok"]
    assert rows["relaxed"][0] == pytest.approx(0.04)
    assert rows["relaxed"][1] == pytest.approx(3 * rows["value_lr"][1], rel=1e-4)
    assert rows["accuracy"][:2].between(0, 1).all()
    assert rows["accuracy"][2:].isna().all()
    assert rows["from_half"][3:].between(0, 1).all()
    pd.testing.assert_frame_equal(sweeps.load("small", "smoke"), rows)


@pytest.mark.parametrize("file", sorted((checkout.ROOT / "config" / "studies").glob("*.yaml")), ids=lambda f: f.stem)
def test_settings_files_name_what_there_is(file: Path) -> None:
    """Each run of the committed settings files has a measure, a scale and a topology."""
    runs = relaxed_time.plan(strict.read_yaml(file))
    rows = checkout.ROOT / "results" / "sweeps" / f"{file.stem}.csv"
    known = [one.identity for one in runs]
    assert not rows.is_file() or pd.read_csv(rows)["identity"].isin(known).mean() > 0.8     # they are not run again
    for run in (one.settings for one in runs):
        assert run["task"] in relaxed_time.MEASURES
        assert relaxed_time.scales.named(run["scale"], run["data"])
        assert hasattr(relaxed_time.topology, run["fixed"]["topology"])
        assert run["gamma"] == "safe" or run["gamma"] > 0


def test_a_misspelt_key_of_the_queue_is_named():
    with pytest.raises(UnknownName, match=r"entry of the queue .*'seed'.*seeds"):
        relaxed_time.plan({"tasks": {}, "queue": [{"tasks": [], "points": [], "seed": [1]}]})
