"""Settings files, and identities, which name weights. Oracles: a small project and edits of it made by the test;
signatures of the functions that settings feed; identities.json, settings of models as they were when these identities
were first given out. Settings files may change; that file never does, because weights with these names exist."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from project import edit
from pydantic import ValidationError

from pcgraph_lite import valid as arguments
from pcgraph_lite.engine import learning
from pcgraph_lite.errors import BadFile, BadInput
from reproduction.book import notebooks
from reproduction.evidence import config

NAMES = {"one": 1, "two": 2}
FILE = Path(__file__).with_name("identities.json")
KNOWN = json.loads(FILE.read_text())


@pytest.mark.parametrize("profile", config.profile_names())
def test_committed_profiles_fit_the_schemas(profile: str) -> None:
    """Every committed profile, with the parameters of every notebook and every model that one loads, is accepted."""
    settings = config.load_profile(profile)
    for notebook in config.notebook_names():
        notebooks.resolve(notebook, settings, {})
        for model, count in notebooks.models(notebook).items():
            if notebooks.seeds(notebook, settings, count):
                config.load_model(model, settings)


@pytest.mark.parametrize("profile", ["smoke", "laptop", "paper"])
@pytest.mark.parametrize("pair", [("recurrent-weak-decay-mnist", "recurrent-mnist"),
                                  ("classifier-weak-decay-mnist", "classifier-strong-decay-mnist")])
def test_graphs_of_weak_and_strong_decay_differ_in_nothing_else(profile: str, pair: tuple[str, str]) -> None:
    """Else page B2 would compare something else."""
    weak, strong = (config.load_model(name, config.load_profile(profile)) for name in pair)
    alone = {"description": True, "train": {"weight_decay"}}
    assert weak.model_dump(exclude=alone) == strong.model_dump(exclude=alone)
    assert weak.train.weight_decay < strong.train.weight_decay


def test_a_model_without_an_entry_is_refused(root: Path) -> None:
    """On the sample, and not with the full data sets, which the sizes of models.yaml are for."""
    path, full = root / "config/profiles/laptop.yaml", root / "config/profiles/paper.yaml"
    full.write_text("description: all\nsample: false\n")
    with pytest.raises(BadInput, match=r"config/profiles/laptop\.yaml: no entry 'copier' under models.*copier: \{\}"):
        config.load_model("copier", config.load_profile("laptop"))
    assert config.load_model("copier", config.load_profile("paper")) == config.load_models()["copier"]
    edit(path, "other: {}", "copier: {}")
    config.load_model("copier", config.load_profile("laptop"))


@pytest.mark.parametrize(("changed", "epochs", "rate"), [("weight_lr: 2e-3", 3, 2e-3), ("epochs: 7", 7, 1e-3)])
def test_a_copy_under_a_new_name_has_its_originals_size(root: Path, changed: str, epochs: int, rate: float) -> None:
    """The smoke profile gives `tiny` three epochs. A copy gets them too, unless it says another number itself."""
    models = root / "config/models.yaml"
    entry = "tiny:\n" + models.read_text().partition("tiny:\n")[2].partition("other:\n")[0]
    copy = re.sub(rf"{changed.partition(':')[0]}: [^,}}]+", changed, entry.replace("tiny:", "mine:"))
    models.write_text(models.read_text() + copy)
    smoke = config.load_profile("smoke")
    mine, tiny = (config.load_model(name, smoke) for name in ("mine", "tiny"))
    assert config.original("mine", smoke) == "tiny" and (mine.train.epochs, mine.train.weight_lr) == (epochs, rate)
    assert mine.model_copy(update={"train": tiny.train}) == tiny


PROFILE, MODELS = "config/profiles/smoke.yaml", "config/models.yaml"


@pytest.mark.parametrize(("file", "old", "new", "words"), [
    (PROFILE, "models:", "threds: 2\nmodels:", "threds.*threads"),
    (PROFILE, "models:", "threads: two\nmodels:", "threads.*integer.*'two'"),
    (PROFILE, "tiny:", "tini:", "model 'tini'.*Did you mean 'tiny'"),
    (PROFILE, "epochs: 3", "epocs: 3", "models.tiny.*train.*'epocs'.*Did you mean 'epochs'"),
    (PROFILE, "epochs: 3", "epochs: -1", "models.tiny.*train.epochs.*greater than or equal to 1"),
    (PROFILE, "01-tiny: ", "01-tinny: ", "notebook '01-tinny'.*Did you mean '01-tiny'"),
    (PROFILE, "models:", "threads: 1\nthreads: 2\nmodels:", "'threads' is given twice.*line 4"),
    (PROFILE, "description: for tests", "description: [", "not valid YAML"),
    (MODELS, "data: mnist", "data: minst", "tiny.*data.*'mnist'.*'minst'"),
    (MODELS, "constructor: generative", "constructor: generativ", "tiny.*topology.*generative"),
    (MODELS, "hidden: [8]", "hidden: 8", "tiny.*hidden.*list"),
    (MODELS, "weight_lr: 1e-3", "weight_lr: fast", "tiny.*weight_lr.*number.*'fast'"),
    (MODELS, "steps: 3", "value_lr: save", "tiny.*value_lr.*'safe'")])
def test_wrong_settings_are_refused(root: Path, file: str, old: str, new: str, words: str) -> None:
    """The message names the file, the key, what was expected and a near match."""
    edit(root / file, old, new)
    with pytest.raises((BadInput, BadFile), match=f"{file}.*{words}"):
        config.load_profile("smoke")


def test_missing_or_foreign_file_is_named(root: Path) -> None:
    path = root / "config/models.yaml"
    path.write_text("- a list\n")
    with pytest.raises(BadFile, match=r"config/models\.yaml holds list"):
        config.load_models()
    path.unlink()
    with pytest.raises(BadFile, match=r"cannot read config/models\.yaml"):
        config.load_models()


def test_numbers_as_people_write_them(tmp_path: Path) -> None:
    """1e-4 is a number, as in YAML 1.2; PyYAML alone would read a text."""
    path = tmp_path / "numbers.yaml"
    path.write_text("a: 1e-4\nb: 2E3\nc: 1.5e-2\nd: e4\ne: 12\n")
    assert config.read_yaml(path) == {"a": 1e-4, "b": 2000.0, "c": 0.015, "d": "e4", "e": 12}


def test_identity_follows_what_decides_the_weights(root: Path) -> None:
    """Seed, data and any setting change it; the description does not."""
    model = config.load_models()["tiny"]
    same = model.model_copy(update={"description": "other words"})
    assert same.identity(0, True) == model.identity(0, True)
    others = [model.identity(1, True), model.identity(0, False), model.identity(0, True, "float64"),
              model.model_copy(update={"train_count": 50}).identity(0, True),
              model.model_copy(update={"train": model.train.model_copy(update={"steps": 4})}).identity(0, True)]
    assert len({model.identity(0, True), *others}) == 6


def made_up(hidden: arguments.Sizes, labels: arguments.CountOrZero = 10,
            rate: arguments.Rate | Sequence[float] = 0.5, *, name: Annotated[str, arguments.OneOf(NAMES)] = "one",
            pairs: Sequence[arguments.Pair] | None = None, score: Literal["auto"] | Callable[[], float] = "auto",
            generator: object = None) -> None:
    """A function whose arguments settings could give."""


def test_a_schema_is_the_signature() -> None:
    """Defaults, lists for sequences, names, one value where replicas may have several, nothing else; so is fit's."""
    schema = config.schema("made_up", config.Strict, made_up, {"generator"})
    assert schema(hidden=[2]).model_dump() == {"hidden": [2], "labels": 10, "rate": 0.5, "name": "one", "pairs": None,
                                               "score": "auto"}
    assert schema(hidden=[2], name="two", pairs=[["a", "b"]], rate=1).rate == 1.0
    for wrong in ({}, {"hidden": []}, {"hidden": [0]}, {"hidden": (2,)}, {"hidden": [2], "labels": -1}, {"hidden": 2},
                  {"hidden": [2], "rate": [0.5]}, {"hidden": [2], "rate": 0.0}, {"hidden": [2], "name": "three"},
                  {"hidden": [2], "pairs": [["a"]]}, {"hidden": [2], "score": made_up}, {"hidden": [2.0]}):
        with pytest.raises(ValidationError):
            schema(**wrong)
    with pytest.raises(ValidationError, match="no key 'generator'"):
        schema(hidden=[2], generator=None)
    settings = {field.name for field in fields(learning.Training)}
    assert config.GRAPH.model_fields["train"].annotation.model_fields.keys() == settings | {"score"}


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
