"""Cards: what they say is what the weights say, and none stands in for other settings, other code or other images.

Oracles: the trained model itself, asked for every test image; files changed by the test.
"""

import json
import shutil
from pathlib import Path

import pytest
import torch

from pcgraph_lite import checkout
from pcgraph_lite.engine.query import query
from pcgraph_lite.errors import BadFile, BadInput
from pcgraph_lite.images import datasets
from reproduction.evidence import cards, numerics, zoo

FIXTURE = Path(__file__).parent.parent / "fixtures" / "project"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the small project as the checkout, whose smoke profile is the published one."""
    shutil.copytree(FIXTURE, tmp_path, dirs_exist_ok=True)
    monkeypatch.setattr(checkout, "ROOT", tmp_path)
    monkeypatch.setattr(cards, "PUBLISHED", "smoke")
    return tmp_path


def commit(name: str = "tiny") -> Path:
    """A card among the committed ones, its weights gone."""
    target = cards.committed_path(name)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(cards.keep(name, "smoke", device="cpu"), target)
    zoo.path(name, "smoke").unlink()
    return target


def test_a_card_says_what_the_model_answers(root: Path) -> None:
    """Answers, history and size are those of the trained model; so it is for a part of the test images."""
    card, trained = cards.load("tiny", "smoke", device="cpu"), zoo.load("tiny", "smoke", device="cpu", progress=False)
    test = datasets.load("mnist", "test", sample=True)
    assert torch.equal(card.read(test), answers(trained, test))
    assert card.history.equals(trained.history.astype(float)) and card.seconds == trained.seconds
    assert (card.parameters, card.vertices, card.spec) == (10 * 8 + 8 * 784, 802, trained.spec)
    few = test.subset(30, torch.Generator().manual_seed(0))
    assert torch.equal(cards.load("tiny", "smoke", device="cpu", images=30).read(few), answers(trained, few))
    with pytest.raises(BadInput, match="there are 30"):
        card.read(few)


def answers(trained: zoo.Trained, test: datasets.ImageSet) -> torch.Tensor:
    """Class of each image, asked of the weights."""
    parts = [query(trained.graph, {"pixels": some}, steps=400, momentum=0.95) for some in test.images.split(1000)]
    return torch.cat([part.values["labels"] for part in parts]).argmax(-1)


def test_a_committed_card_stands_for_the_weights(root: Path) -> None:
    """Neither a page nor a command trains what has a card; a model of other settings or numbers is trained."""
    kept = commit()
    assert cards.load("tiny", "smoke", device="cpu") == cards._read(kept)
    assert cards.keep("tiny", "smoke", device="cpu") == kept
    assert not zoo.path("tiny", "smoke").is_file()
    assert not cards.is_committed("tiny", "smoke", seed=1) and not cards.is_committed("tiny", "laptop")


@pytest.mark.parametrize("changed", ["settings", "numbers"])
def test_a_card_of_something_else_does_not_count(root: Path, changed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    commit()
    if changed == "numbers":
        monkeypatch.setattr(numerics, "version", lambda spec: "another")
    else:
        models = root / "config/models.yaml"
        models.write_text(models.read_text().replace("weight_lr: 1e-3", "weight_lr: 2e-3"))
    assert not cards.is_committed("tiny", "smoke")
    cards.load("tiny", "smoke", device="cpu")
    assert zoo.path("tiny", "smoke").is_file()


def test_a_card_of_weights_that_other_code_made_says_so(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Old weights are still asked, and their card is one of the old numbers: it does not stand for a new training."""
    with monkeypatch.context() as old:
        old.setattr(numerics, "version", lambda spec: "before")
        zoo.train("tiny", "smoke", device="cpu", progress=False)
    assert cards.of("tiny", "smoke", device="cpu").fingerprint == f"{zoo.identity('tiny', 'smoke')} before"


@pytest.mark.parametrize("damage", [{"answers": "12x"}, {"energy": float("inf")}, {"epochs": 3}, {"more": 1}])
def test_a_damaged_card_is_named(root: Path, damage: dict[str, object]) -> None:
    file = commit()
    file.write_text(json.dumps(json.loads(file.read_text()) | damage))
    with pytest.raises(BadFile, match=r"tiny-seed0\.json is not a card"):
        cards.load("tiny", "smoke", device="cpu")


@pytest.mark.parametrize("file", sorted((checkout.ROOT / "results" / "cards").glob("*.json")), ids=lambda at: at.stem)
def test_a_committed_card_is_whole(file: Path) -> None:
    """It is of the model and seed of its name, in the paper profile, of committed code, and answers all test images."""
    card = cards._read(file)
    assert file == cards.committed_path(card.model, card.seed) and card.profile == cards.PUBLISHED
    classes = set(card.answers)
    assert len(card.answers) == 10000 and classes <= set("0123456789")
    assert len(classes) == 10 or card.model.startswith("hopfield")         # which may lose two patterns that are alike
    assert card.provenance["dirty"] is False
