"""A model's identity names its weights: the same settings have the same identity for ever. Oracle: identities.json, the
settings of the committed models as they were when these identities were first given out. Settings files may change;
this file never does, because weights with these names exist."""

import json
from pathlib import Path
from typing import Any

import pytest

from reproduction.evidence import config

FILE = Path(__file__).with_name("identities.json")
KNOWN = json.loads(FILE.read_text())


def identity(known: dict[str, Any], **train: object) -> str:
    """Of these settings, with changes of the training."""
    settings = known["settings"] | {"description": "any"}
    changed = {"train": settings["train"] | train} if train else {}
    return config.checked("a model", settings | changed, FILE).identity(known["seed"], known["sample"])


def test_settings_keep_their_identity() -> None:
    """Neither a schema, a default, nor an argument added to a signature may change one."""
    for known in KNOWN:
        assert identity(known) == known["identity"], known["settings"]


@pytest.mark.parametrize("kind", ["pcgraph", "mlp", "autoencoder"])
def test_a_new_setting_of_training_is_another_identity(kind: str) -> None:
    """It decides the weights; without it they are what all had before there was a choice."""
    known = next(known for known in KNOWN if known["settings"]["kind"] == kind)
    assert identity(known, anneal="none", warm_up=0, augment="none") == known["identity"]
    changed = [{"anneal": "cosine"}, {"anneal": "linear"}, {"warm_up": 0.5}, {"augment": "shift and mirror"}]
    assert len({identity(known), *(identity(known, **one) for one in changed)}) == 5


def test_every_kind_and_constructor_was_recorded() -> None:
    """What the file does not hold it cannot guard."""
    kinds = {known["settings"]["kind"] for known in KNOWN}
    assert kinds >= {"pcgraph", "autoencoder", "hopfield", "boltzmann", "almeida-pineda", "linear", "mlp", "rbm", "dam"}
    constructors = {known["settings"]["topology"]["constructor"] for known in KNOWN if "topology" in known["settings"]}
    assert constructors >= {"fully_connected", "discriminative", "generative", "recurrent", "lateral", "assemblies",
                            "small_world"}
