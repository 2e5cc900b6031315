"""The judge. Oracles: the bar set for it, images that were never trained on, and weights that the test spoils."""

import json

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from pcgraph_lite.errors import BadFile, BadInput, BadValues, PCGraphError, UnknownName, WrongShape
from pcgraph_lite.images import datasets, judge, sources


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def shrink(monkeypatch, images: int, held_out: int, test: int) -> None:
    """Let training see a few bundled images: seconds, not minutes."""
    def load(name, split="train", root=None):
        count = images + held_out if split == "train" else test
        return datasets.load(name, split, sample=True).subset(count, seeded())

    monkeypatch.setattr(judge, "load", load)
    monkeypatch.setattr(judge, "HELD_OUT", held_out)


@pytest.fixture
def small(monkeypatch):
    shrink(monkeypatch, images=384, held_out=50, test=100)


# -------------------------------------------------------------------------------------------- the committed judges

@pytest.mark.parametrize("name", ["mnist", "fashion"])
def test_committed_judge_says_how_it_was_trained_and_reaches_its_bar(name):
    facts = judge.load_judge(name).provenance
    assert float(facts["test"]) >= {"mnist": 0.99, "fashion": 0.90}[name]
    assert float(facts["validation"]) >= {"mnist": 0.99, "fashion": 0.90}[name]
    assert json.loads(facts["data_sha256"]) == sources.DIGESTS[name]
    assert facts["held_out"] == "5000" and int(facts["epochs"]) >= 1 and len(facts["commit"]) == 40
    for key in ("seed", "torch", "device", "date", "threads"):
        assert facts[key], key


@pytest.mark.parametrize(("name", "least"), [("mnist", 0.985), ("fashion", 0.89)])
def test_committed_judge_reads_the_bundled_test_images(name, least):
    """1,000 of the 10,000 test images: the bar less about three standard errors of so small a sample."""
    data = datasets.load(name, "test", sample=True)
    right = judge.read(judge.load_judge(name), data.images) == data.labels
    assert right.float().mean().item() >= least


def test_committed_weights_are_small():
    assert all(judge.weights_path(name).stat().st_size < 400 * 1024 for name in judge.RECIPES)


# ------------------------------------------------------------------------------------------------------- behaviour

def test_shapes_and_features():
    network = judge.Judge(seeded()).eval()
    images = torch.rand(5, 784, generator=seeded())
    assert network(images).shape == (5, 10)
    assert network.features(images).shape == (5, network.feature_size)
    assert torch.equal(network.head(network.features(images)), network(images))
    assert torch.equal(network(images), judge.Judge(seeded()).eval()(images)), "first weights follow the generator"


def test_judge_sees_what_a_viewer_sees():
    """Beyond black and white there is nothing: pixels outside [0, 1] are cut off."""
    network = judge.load_judge("mnist")
    images = 3 * torch.rand(4, 784, generator=seeded()) - 1
    assert torch.equal(network(images), network(images.clamp(0, 1)))


def test_reading_in_parts_is_reading_at_once(monkeypatch):
    network, images = judge.load_judge("mnist"), datasets.load("mnist", "test", sample=True).images[:50]
    whole = judge.read(network, images)
    monkeypatch.setattr(judge, "READ_BATCH", 7)
    assert torch.equal(judge.read(network, images), whole)
    assert torch.equal(judge.read(network, images.double()), whole)
    assert whole.dtype == torch.int64


def test_loaded_judge_is_frozen():
    network = judge.load_judge("fashion")
    assert not network.training and not any(weight.requires_grad for weight in network.parameters())


@pytest.mark.parametrize("shape", [(784,), (2, 783), (2, 1, 28, 28), (0, 784)])
def test_read_refuses_other_shapes(shape):
    with pytest.raises(WrongShape, match=r"\(batch, 784\)"):
        judge.read(judge.Judge(), torch.zeros(shape))


def test_features_refuse_other_shapes():
    with pytest.raises(WrongShape, match=r"\(batch, 784\)"):
        judge.Judge()(torch.zeros(2, 3072))


@pytest.mark.parametrize("pixel", [float("nan"), float("inf"), -float("inf")])
def test_read_refuses_images_that_are_not_finite(pixel):
    images = torch.zeros(3, 784)
    images[1, 7] = pixel
    with pytest.raises(BadValues, match="1 of 3 images hold NaN or infinite pixels"):
        judge.read(judge.Judge(), images)


# ---------------------------------------------------------------------------------------------------- weight files

def test_unknown_judge_is_refused():
    for call in (judge.load_judge, judge.train, judge.weights_path):
        with pytest.raises(UnknownName, match=r"no judge 'cifar10'. Known: mnist, fashion"):
            call("cifar10")


def test_missing_and_damaged_weights_name_the_command(tmp_path):
    with pytest.raises(BadFile, match=r"no judge weights at .*scripts/train_judges.py mnist"):
        judge.load_judge("mnist", path=tmp_path / "nothing.safetensors")
    cut = tmp_path / "cut.safetensors"
    cut.write_bytes(judge.weights_path("mnist").read_bytes()[:1000])
    with pytest.raises(BadFile, match=f"{cut} does not hold the weights"):
        judge.load_judge("mnist", path=cut)


def test_flipped_bit_is_found(tmp_path):
    content = bytearray(judge.weights_path("mnist").read_bytes())
    content[-1000] ^= 1
    (tmp_path / "flipped").write_bytes(content)
    with pytest.raises(BadFile, match=r"is damaged or another judge: expected 'mnist' with SHA-256"):
        judge.load_judge("mnist", path=tmp_path / "flipped")


def test_weights_of_another_judge_or_network_are_refused(tmp_path):
    with pytest.raises(BadFile, match=r"expected 'fashion'.*found 'mnist'"):
        judge.load_judge("fashion", path=judge.weights_path("mnist"))
    save_file({"weight": torch.zeros(3)}, tmp_path / "other")
    with pytest.raises(BadFile, match="does not hold the weights of a judge"):
        judge.load_judge("mnist", path=tmp_path / "other")
    save_file(load_file(judge.weights_path("mnist")), tmp_path / "bare")           # right weights, no provenance
    with pytest.raises(BadFile, match="expected 'mnist' with SHA-256 None"):
        judge.load_judge("mnist", path=tmp_path / "bare")


# -------------------------------------------------------------------------------------------------------- training

def test_training_learns_and_writes_its_provenance(monkeypatch, tmp_path):
    shrink(monkeypatch, images=1280, held_out=100, test=300)
    path = judge.train("mnist", seed=3, epochs=3, progress=False, out=tmp_path / "new" / "judge.safetensors")
    network = judge.load_judge("mnist", path=path)
    test = datasets.load("mnist", "test", sample=True).subset(300, seeded())
    share = (judge.read(network, test.images) == test.labels).double().mean().item()
    assert share > 0.6 and float(network.provenance["test"]) == pytest.approx(share)
    assert (network.provenance["seed"], network.provenance["epochs"]) == ("3", "3")
    assert list(path.parent.iterdir()) == [path], "no half-written file stays"


def test_same_seed_same_judge(small, tmp_path):
    digests = []
    for seed, file in ((0, "a"), (0, "b"), (1, "c")):
        path = judge.train("fashion", seed=seed, epochs=1, progress=False, out=tmp_path / file)
        with safe_open(path, "pt") as opened:
            digests.append(opened.metadata()["weights_sha256"])
    assert digests[0] == digests[1] != digests[2]


def test_best_epoch_is_kept_not_the_last(small, monkeypatch, tmp_path):
    shares = iter([0.5, 0.9, 0.1, 0.7])                                # three held-out checks, then the test set
    states = []

    def share(network, _data):
        states.append({key: value.clone() for key, value in network.state_dict().items()})
        return next(shares)

    monkeypatch.setattr(judge, "_share_right", share)
    judge.train("mnist", epochs=3, progress=False, out=tmp_path / "judge")
    kept = load_file(tmp_path / "judge")
    assert all(torch.equal(kept[key], value) for key, value in states[1].items())


def test_judge_below_its_bar_never_replaces_the_committed_one(small, monkeypatch, tmp_path):
    monkeypatch.setattr(judge, "WEIGHTS", tmp_path)
    (tmp_path / "judge-mnist.safetensors").write_bytes(b"the committed one")
    with pytest.raises(PCGraphError, match="less than 99%: the committed judge was kept"):
        judge.train("mnist", epochs=1, progress=False)
    assert (tmp_path / "judge-mnist.safetensors").read_bytes() == b"the committed one"


def test_training_refuses_no_epoch_and_missing_data(tmp_path):
    with pytest.raises(BadInput, match="at least 1 epoch; got 0"):
        judge.train("mnist", epochs=0)
    with pytest.raises(BadFile, match="was not found"):
        judge.train("mnist", epochs=1, data_root=tmp_path, out=tmp_path / "judge")


def test_mirror_and_shift_keep_the_pixels(monkeypatch):
    """An image with an empty border loses nothing by a shift of two pixels or by mirroring."""
    monkeypatch.setattr(judge, "BATCH", 8)
    images = torch.zeros(8, 28, 28)
    images[:, 2:26, 2:26] = torch.rand(8, 24, 24, generator=seeded())
    data = datasets.ImageSet("mnist", images.view(8, 784), torch.arange(8), (1, 28, 28), "made here")
    (shifted, labels), = judge._batches(data, mirror=True, generator=seeded())
    assert shifted.shape == (8, 784) and sorted(labels.tolist()) == list(range(8))
    torch.testing.assert_close(shifted.sum(1), data.images[labels].sum(1))
