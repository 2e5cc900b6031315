"""Cards: what they say is what the weights say, and none stands in for other settings, other code or other images.
Oracles: the trained model itself, asked for every test image, or for what it stored; files changed by the test."""

import json
from functools import cache
from pathlib import Path

import pytest
import torch

from pcgraph_lite import observed, query
from pcgraph_lite.errors import BadFile, BadInput
from pcgraph_lite.images import datasets, judge
from pcgraph_lite.studies import tasks
from reproduction import checkout
from reproduction.evidence import cards, numerics, zoo
from reproduction.evidence.zoo import ModelRun


@pytest.fixture
def root(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Its smoke profile is the published one, of the test images there are 200, and a memory is asked in 40 steps."""
    load = datasets.load
    monkeypatch.setattr(datasets, "load", lambda name, split="train", **options: (
        load(name, split, **options).subset(200) if split == "test" else load(name, split, **options)))
    monkeypatch.setattr(cards, "PUBLISHED", "smoke")
    monkeypatch.setattr(cards, "USUAL", {"variance": 0.2, "steps": 40})
    return root


@cache
def card_of(name: str) -> str:
    """Trained and asked once for all tests."""
    text = cards.write(cards.of(ModelRun(name, "smoke"), device="cpu")).read_text()
    ModelRun(name, "smoke").path.unlink()
    return text


def commit(name: str = "tiny") -> Path:
    """A card among the committed ones and among one's own, without weights."""
    text = card_of(name)
    target = cards.committed_path(ModelRun(name, "smoke"))
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)
    return target


def test_a_card_says_what_the_model_answers(root: Path) -> None:
    """Answers, history and size are those of the trained model; so it is for a part of the test images."""
    card = cards.load("tiny", "smoke", device="cpu")
    trained = ModelRun("tiny", "smoke").load(device="cpu")
    test = datasets.load("mnist", "test", sample=True)
    assert torch.equal(card.read(test), answers(trained, test))
    assert card.history.equals(trained.history.astype(float)) and card.seconds == trained.seconds
    assert (card.parameters, card.vertices, card.spec) == (10 * 8 + 8 * 784, 802, trained.spec)
    drawn = query(trained.graph, {"labels": torch.arange(10)}, steps=400, momentum=0.95).values["pixels"].clamp(0, 1)
    assert card.drawn == (tasks.judge_reads(judge.load_judge("mnist"), drawn) == torch.arange(10)).double().mean()
    few = test.subset(30, torch.Generator().manual_seed(0))
    assert torch.equal(cards.load("tiny", "smoke", device="cpu", images=30).read(few), answers(trained, few))
    with pytest.raises(BadInput, match="there are 30"):
        card.read(few)


def answers(trained: zoo.Trained, test: datasets.ImageSet) -> torch.Tensor:
    """Class of each image, asked of the weights."""
    parts = [query(trained.graph, {"pixels": some}, steps=400, momentum=0.95) for some in test.images.split(1000)]
    return torch.cat([part.values["labels"] for part in parts]).argmax(-1)


def test_the_card_of_a_memory_says_what_comes_back(root: Path) -> None:
    """Asked by hand: the upper half hidden, or noise on pixels from -1 to 1, for as many steps."""
    card = cards.load("memory", "smoke", device="cpu")
    graph = ModelRun("memory", "smoke").load(device="cpu").graph
    images = zoo.trained_on("memory", "smoke").images
    lower = observed(images, torch.arange(784) >= 392)
    half = query(graph, {"pixels": lower}, steps=40, momentum=0.95, tolerance=1e-9)
    noisy = datasets.noisy(images, 0.2 / 4, datasets.noise_generator(0))   # [-1, 1] is twice as wide as [0, 1]
    noise = query(graph, init={"pixels": noisy}, start="prediction", steps=40, tolerance=None)
    settled = query(graph, init=noise.values, steps=40, momentum=0.98, tolerance=None)
    for way, answer in {"half": half, "noise": noise, "settled": settled}.items():
        back, trial = answer.values["pixels"].clamp(0, 1), card.recalled[way].trial()
        assert trial.each["mse"].tolist() == pytest.approx((back - images).square().mean(-1).tolist(), rel=1e-4)
        assert (trial.images - back[:8]).abs().max() < 0.51 / 255 and len(trial.each) == 10
        assert (trial.each["agrees"] == (trial.each["mse"] < 0.001)).all()
    assert card.answers is None and cards.load("memory", "smoke", device="cpu", steps=40, variance=0.2) == card


def test_a_memory_asked_otherwise_has_no_card(root: Path) -> None:
    commit("memory")
    own = (kept := root / "_build/smoke/cards/memory-seed0.json").read_bytes()
    usual = cards.load("memory", "smoke", device="cpu", steps=40)
    other = cards.load("memory", "smoke", device="cpu", variance=5.0, steps=40)
    assert max(other.recalled["noise"].mse) > max(usual.recalled["noise"].mse)
    assert other.recalled["half"] == usual.recalled["half"]
    assert kept.read_bytes() == own


def test_a_committed_card_stands_for_the_weights(root: Path) -> None:
    """A page trains nothing that has a card; a model of other settings or numbers is trained."""
    kept = commit()
    assert cards.load("tiny", "smoke", device="cpu") == cards._read(kept)
    assert not ModelRun("tiny", "smoke").path.is_file()
    assert not any(map(cards.is_committed, (ModelRun("tiny", "smoke", 1), ModelRun("tiny", "laptop"))))


@pytest.mark.parametrize("changed", ["settings", "numbers"])
def test_a_card_of_something_else_does_not_count(root: Path, changed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    commit()
    if changed == "numbers":
        monkeypatch.setattr(numerics, "version", lambda spec: "another")
    else:
        models = root / "config/models.yaml"
        models.write_text(models.read_text().replace("weight_lr: 1e-3", "weight_lr: 2e-3"))
    assert not cards.is_committed(ModelRun("tiny", "smoke"))
    cards.load("tiny", "smoke", device="cpu")
    assert ModelRun("tiny", "smoke").path.is_file()


@pytest.mark.parametrize(("name", "damage"), [
    *(("tiny", damage) for damage in ({"answers": "12x"}, {"energy": float("inf")}, {"epochs": 3}, {"more": 1})),
    *(("memory", damage) for damage in ({"mse": [0.1]}, {"pictures": "AAAA"}, {"pictures": "?"}, {"converged": []}))])
def test_a_damaged_card_is_named(root: Path, name: str, damage: dict[str, object]) -> None:
    content = json.loads((file := commit(name)).read_text())
    (content["recalled"]["half"] if name == "memory" else content).update(damage)
    file.write_text(json.dumps(content))
    with pytest.raises(BadFile, match=rf"{name}-seed0\.json is not a card"):
        cards.load(name, "smoke", device="cpu")


@pytest.mark.parametrize("file", sorted((checkout.ROOT / "results" / "cards").glob("*.json")), ids=lambda at: at.stem)
def test_a_committed_card_is_whole(file: Path) -> None:
    """Of the model of its name, of committed code, it answers all test images, or asks for up to 100 that it stored."""
    card = cards._read(file)
    assert file == cards.committed_path(ModelRun(card.model, card.profile, card.seed))
    assert card.profile == cards.PUBLISHED
    assert card.provenance["dirty"] is False
    if card.recalled is not None:
        assert {way: len(one.mse) for way, one in card.recalled.items()} == dict.fromkeys(
            ("half", "noise", "settled"), min(100, card.provenance["n"]))
        return
    classes = set(card.answers)
    assert len(card.answers) == 10000 and classes <= set("0123456789")
    assert len(classes) == 10 or card.model.startswith("hopfield")         # which may lose two patterns that are alike
