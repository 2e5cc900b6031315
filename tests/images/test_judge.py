"""The judge, and how judges are trained. Oracles: the bar set for it, images that were never trained on, weights that
the test spoils, and what the recipe says."""

import json

import pytest
import torch
import train_judges
from pictures import Says, seeded
from safetensors import safe_open
from safetensors.torch import load, save_file

from pcgraph_lite.errors import BadFile, PCGraphError, UnknownName
from pcgraph_lite.images import calibration, datasets, judge, sources


@pytest.mark.parametrize("name", judge.JUDGES)
def test_committed_judge_says_how_it_was_trained_and_reaches_its_bar(name):
    """Beside it is what was asked of it."""
    network = judge.load_judge(name)
    assert not network.training and not any(weight.requires_grad for weight in network.parameters())
    facts = network.provenance
    assert float(facts["test"]) >= {"mnist": 0.99, "fashion": 0.90}[name]
    assert float(facts["validation"]) >= {"mnist": 0.99, "fashion": 0.90}[name]
    assert json.loads(facts["data_sha256"]) == sources.DIGESTS[name]
    assert facts["held_out"] == "5000" and int(facts["epochs"]) >= 1 and len(facts["commit"]) == 40
    for key in ("seed", "torch", "device", "date", "threads"):
        assert facts[key], key
    beside = json.loads(judge.weights_path(name).with_suffix(".json").read_text())
    assert beside["weights_sha256"] == facts["weights_sha256"]
    rows = {row["pictures"]: row for row in beside["calibration"]}
    assert rows["originals"]["right"] == float(facts["test"]) and rows["originals"]["unreadable"] < 0.002
    assert rows["class means"]["right"] >= {"mnist": 1, "fashion": 0.9}[name]
    assert rows["blur, σ = 1, contrast × 0.3"]["right"] > rows["originals"]["right"] - 0.03
    for kind, row in rows.items():
        if kind.startswith(("blank", "uniform", "Gaussian", "salt", "shuffled")):
            assert row["unreadable"] >= 0.99, kind


@pytest.mark.parametrize(("name", "least"), [("mnist", 0.985), ("fashion", 0.89)])
def test_committed_judge_reads_the_bundled_test_images(name, least):
    """1,000 of the 10,000 test images: the bar less about three standard errors of so small a sample."""
    data = datasets.load(name, "test", sample=True)
    right = judge.read(judge.load_judge(name), data.images) == data.labels
    assert right.float().mean().item() >= least


@pytest.mark.parametrize("name", judge.JUDGES)
def test_committed_judge_finds_pictures_of_nothing_unreadable(name):
    network, black = judge.load_judge(name), torch.zeros(500, 784)
    pictures = {"grey": torch.rand(500, 1, generator=seeded(9)).expand(500, 784),
                "uniform": torch.rand(500, 784, generator=seeded(9)),
                "salt": calibration.specks(black, 0.15, seeded(9))}
    pictures |= {variance: datasets.noisy(black, variance, seeded(9), clip=True) for variance in (0.05, 0.3, 1.0)}
    for kind, images in pictures.items():
        assert (judge.read(network, images) == judge.UNREADABLE).float().mean() >= 0.98, kind


def test_judge_sees_what_a_viewer_sees():
    """Whatever the contrast, down to that below which a picture counts as blank; beyond black and white is nothing."""
    network, images = judge.load_judge("mnist"), datasets.load("mnist", "test", sample=True).images[:50]
    assert images.amax(1).min() > 0.9
    torch.testing.assert_close(network.features(0.1 * images), network.features(images), atol=1e-4, rtol=1e-4)
    assert torch.equal(judge.read(network, 0.1 * images), judge.read(network, images))
    assert (judge.read(network, 0.04 * images) == judge.UNREADABLE).all()
    beyond = 3 * torch.rand(4, 784, generator=seeded()) - 1
    assert torch.equal(network(beyond), network(beyond.clamp(0, 1)))


def test_a_picture_without_contrast_is_unreadable_whatever_the_network_says():
    greys = torch.tensor([0.0, 0.3, 1.0])[:, None].expand(3, 784)
    barely = greys.clone()
    barely[:, 0] = torch.tensor([0.06, 0.24, 0.94])
    beyond = torch.full((1, 784), 1.5)
    beyond[:, 0] = 1.2                                                     # white on white
    assert judge.read(Says(3), greys).tolist() == [-1] * 3 and judge.read(Says(3), beyond).tolist() == [-1]
    assert judge.read(Says(3), barely).tolist() == [3] * 3
    assert judge.read(Says(10), barely).tolist() == [-1] * 3


def test_reading_in_parts_is_reading_at_once(monkeypatch):
    network, images = judge.load_judge("mnist"), datasets.load("mnist", "test", sample=True).images[:50]
    whole = judge.read(network, images)
    monkeypatch.setattr(judge, "READ_BATCH", 7)
    assert torch.equal(judge.read(network, images), whole)
    assert torch.equal(judge.read(network, images.double()), whole)
    assert whole.dtype == torch.int64


@pytest.mark.parametrize(("name", "content", "says"), [
    ("mnsit", lambda good, path: path.write_bytes(good), "no judge 'mnsit'.*Did you mean 'mnist'"),
    ("mnist", lambda good, path: None, "no judge weights at .*scripts/train_judges.py mnist"),
    ("mnist", lambda good, path: path.write_bytes(good[:1000]), "cut does not hold the weights"),
    ("mnist", lambda good, path: path.write_bytes(good[:-1000] + bytes([good[-1000] ^ 1]) + good[-999:]),
     "is damaged or another judge: expected 'mnist' with SHA-256"),
    ("fashion", lambda good, path: path.write_bytes(good), "expected 'fashion'.*found 'mnist'"),
    ("mnist", lambda good, path: save_file({"weight": torch.zeros(3)}, path), "does not hold the weights of a judge"),
    ("mnist", lambda good, path: save_file(load(good), path), "expected 'mnist' with SHA-256 None"),     # no provenance
])
def test_a_file_that_is_not_the_judge_says_what_it_is(tmp_path, name, content, says):
    content(judge.weights_path("mnist").read_bytes(), tmp_path / "cut")
    with pytest.raises(UnknownName if name == "mnsit" else BadFile, match=says):
        judge.load_judge(name, path=tmp_path / "cut")


def shrink(monkeypatch, images: int, held_out: int, test: int) -> None:
    """Let training see a few bundled images: seconds, not minutes."""
    def load(name, split="train"):
        count = images + held_out if split == "train" else test
        return datasets.load(name, split, sample=True).subset(count, seeded())

    monkeypatch.setattr(train_judges, "load", load)
    monkeypatch.setattr(train_judges, "HELD_OUT", held_out)
    monkeypatch.setattr(calibration, "COUNT", 20)


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


def test_same_seed_same_judge(monkeypatch, tmp_path):
    shrink(monkeypatch, images=128, held_out=50, test=100)
    monkeypatch.setattr(calibration, "table", lambda *_: [])
    digests = []
    for seed, file in ((0, "a"), (0, "b"), (1, "c")):
        path = train_judges.train("fashion", seed=seed, epochs=1, progress=False, out=tmp_path / file)
        with safe_open(path, "pt") as opened:
            digests.append(opened.metadata()["weights_sha256"])
    assert digests[0] == digests[1] != digests[2]


def test_judge_below_its_bar_never_replaces_the_committed_one(monkeypatch, tmp_path):
    shrink(monkeypatch, images=128, held_out=50, test=100)
    monkeypatch.setattr(judge, "WEIGHTS", tmp_path)
    (tmp_path / "judge-mnist.safetensors").write_bytes(b"the committed one")
    with pytest.raises(PCGraphError, match="less than 99%: the committed judge was kept"):
        train_judges.train("mnist", epochs=1, progress=False)
    assert (tmp_path / "judge-mnist.safetensors").read_bytes() == b"the committed one"
    assert len(list(tmp_path.iterdir())) == 1
