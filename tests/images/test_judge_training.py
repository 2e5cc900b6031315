"""How judges are trained. Oracles: images that were never trained on, and what the recipe says."""

import json

import pytest
import train_judges
from pictures import seeded
from safetensors import safe_open

from pcgraph_lite.errors import BadInput, PCGraphError, UnknownName
from pcgraph_lite.images import calibration, datasets, judge


def shrink(monkeypatch, images: int, held_out: int, test: int) -> None:
    """Let training see a few bundled images: seconds, not minutes."""
    def load(name, split="train"):
        count = images + held_out if split == "train" else test
        return datasets.load(name, split, sample=True).subset(count, seeded())

    monkeypatch.setattr(train_judges, "load", load)
    monkeypatch.setattr(train_judges, "HELD_OUT", held_out)
    monkeypatch.setattr(calibration, "COUNT", 20)


@pytest.fixture
def small(monkeypatch):
    shrink(monkeypatch, images=128, held_out=50, test=100)


def test_training_learns_and_writes_its_provenance(monkeypatch, tmp_path):
    shrink(monkeypatch, images=640, held_out=100, test=300)
    path = train_judges.train("mnist", seed=3, epochs=4, progress=False, out=tmp_path / "new" / "judge.safetensors")
    network = judge.load_judge("mnist", path=path)
    test = datasets.load("mnist", "test", sample=True).subset(300, seeded())
    share = (judge.read(network, test.images) == test.labels).double().mean().item()
    assert share > 0.6 and float(network.provenance["test"]) == pytest.approx(share)
    assert (network.provenance["seed"], network.provenance["epochs"]) == ("3", "4")
    assert {file.name for file in path.parent.iterdir()} == {"judge.safetensors", "judge.json"}, "nothing half-written"
    beside = json.loads(path.with_suffix(".json").read_text())
    assert beside["weights_sha256"] == network.provenance["weights_sha256"]
    assert beside["calibration"][0] | {"commonest": 0, "unreadable": 0} == {
        "pictures": "originals", "count": 300, "right": pytest.approx(share), "commonest": 0, "unreadable": 0}
    assert [row["epoch"] for row in beside["history"]] == [1, 2, 3, 4]
    assert beside["history"][3]["loss"] < beside["history"][0]["loss"]


def test_same_seed_same_judge(small, monkeypatch, tmp_path):
    monkeypatch.setattr(calibration, "table", lambda *_: [])
    digests = []
    for seed, file in ((0, "a"), (0, "b"), (1, "c")):
        path = train_judges.train("fashion", seed=seed, epochs=1, progress=False, out=tmp_path / file)
        with safe_open(path, "pt") as opened:
            digests.append(opened.metadata()["weights_sha256"])
    assert digests[0] == digests[1] != digests[2]


def test_judge_below_its_bar_never_replaces_the_committed_one(small, monkeypatch, tmp_path):
    monkeypatch.setattr(judge, "WEIGHTS", tmp_path)
    (tmp_path / "judge-mnist.safetensors").write_bytes(b"the committed one")
    with pytest.raises(PCGraphError, match="less than 99%: the committed judge was kept"):
        train_judges.train("mnist", epochs=1, progress=False)
    assert (tmp_path / "judge-mnist.safetensors").read_bytes() == b"the committed one"
    assert len(list(tmp_path.iterdir())) == 1


def test_training_refuses_no_epoch_and_an_unknown_judge():
    with pytest.raises(BadInput, match=r"epochs = 0; expected a whole number of at least 1"):
        train_judges.train("mnist", epochs=0)
    with pytest.raises(UnknownName, match=r"no judge 'cifar10'. Known: mnist, fashion"):
        train_judges.train("cifar10")
