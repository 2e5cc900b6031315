"""Settings files: what is wrong is refused, naming file, key, expectation and the nearest right name.

Oracle: the files of a small project and edits of them made by the test; signatures of the functions that settings feed.
"""

import inspect
import shutil
from dataclasses import fields
from pathlib import Path

import pytest

from pcgraph_lite import checkout, topology
from pcgraph_lite.baselines import almeida_pineda, boltzmann, dam, hopfield, linear, mlp, rbm
from pcgraph_lite.book import notebooks
from pcgraph_lite.engine import epochs, learning
from pcgraph_lite.errors import BadFile, BadInput, UnknownName
from pcgraph_lite.evidence import config

FIXTURE = Path(__file__).parent.parent / "fixtures" / "project"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the small project as the checkout."""
    shutil.copytree(FIXTURE, tmp_path, dirs_exist_ok=True)
    monkeypatch.setattr(checkout, "ROOT", tmp_path)
    return tmp_path


def edit(path: Path, old: str, new: str) -> None:
    """Replace text that must be there."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.parametrize("profile", config.profile_names())
def test_committed_profiles_fit_the_schemas(profile: str) -> None:
    """Every committed profile, with every model and the parameters of every notebook, is accepted."""
    settings = config.load_profile(profile)
    for model in config.load_models():
        config.load_model(model, settings)
    for notebook in config.notebook_names():
        notebooks.resolve(notebook, settings, {})
        notebooks.models(notebook)


def test_profile_changes_single_entries(root: Path) -> None:
    """A profile's override replaces what it names and leaves the rest."""
    smoke = config.load_model("tiny", config.load_profile("smoke"))
    plain = config.load_model("tiny", config.load_profile("laptop"))
    assert (smoke.train.epochs, plain.train.epochs) == (3, 2)
    assert smoke.model_copy(update={"train": plain.train}) == plain


def test_merged_keeps_and_replaces() -> None:
    """Mappings merge key by key, everything else is replaced, nothing given is changed in place."""
    base = {"a": {"b": 1, "c": [1, 2]}, "d": 4}
    assert config.merged(base, {"a": {"c": [3]}, "e": 5}) == {"a": {"b": 1, "c": [3]}, "d": 4, "e": 5}
    assert base == {"a": {"b": 1, "c": [1, 2]}, "d": 4}


@pytest.mark.parametrize(("old", "new", "words"), [
    ("threads: 1", "threds: 2", ["threds", "threads"]),
    ("threads: 1", "threads: two", ["threads", "integer", "'two'"]),
    ("threads: 1", "threads: 1.5", ["threads", "integer"]),
    ("threads: 1", "threads: 0", ["threads", "greater than 0"]),
    ("sample: true", "sample: 'yes'", ["data.sample", "boolean", "'yes'"]),
    ("tiny:", "tini:", ["model 'tini'", "Did you mean 'tiny'"]),
    ("epochs: 3", "epocs: 3", ["models.tiny", "train", "'epocs'", "Did you mean 'epochs'"]),
    ("epochs: 3", "epochs: 3.5", ["models.tiny", "train.epochs", "integer", "3.5"]),
    ("epochs: 3", "epochs: -1", ["models.tiny", "train.epochs", "greater than 0"]),
    ("01-tiny: ", "01-tinny: ", ["notebook '01-tinny'", "Did you mean '01-tiny'"]),
    ("description:", "threads: 2\ndescription:", ["threads", "given twice"]),
    ("description: for tests", "description: [", ["not valid YAML"]),
])
def test_wrong_profile_is_refused(root: Path, old: str, new: str, words: list[str]) -> None:
    """The message names the file, the key, what was expected and a near match."""
    path = root / "config/profiles/smoke.yaml"
    path.write_text(path.read_text().replace("models:", "threads: 1\nmodels:"))
    edit(path, old, new)
    with pytest.raises((BadInput, BadFile)) as caught:
        config.load_profile("smoke")
    for word in ["config/profiles/smoke.yaml", *words]:
        assert word in str(caught.value)


@pytest.mark.parametrize(("old", "new", "words"), [
    ("data: mnist", "data: minst", ["tiny", "data", "'mnist'", "'minst'"]),
    ("kind: pcgraph", "kind: pcgrap", ["tiny", "kind", "pcgraph"]),
    ("constructor: generative", "constructor: generativ", ["tiny", "topology", "generative"]),
    ("hidden: [8]", "hidden: 8", ["tiny", "hidden", "list"]),
    ("hidden: [8]", "hidden: []", ["tiny", "hidden", "at least 1"]),
    ("hidden: [8]", "hiden: [8]", ["tiny", "hiden", "Did you mean 'hidden'"]),
    ("weight_lr: 1e-3", "weight_lr: fast", ["tiny", "weight_lr", "number", "'fast'"]),
    ("weight_lr: 1e-3", "weight_lr: -1e-3", ["tiny", "weight_lr", "greater than 0"]),
    ("steps: 3", "value_lr: save", ["tiny", "value_lr", "'safe'"]),
])
def test_wrong_model_is_refused(root: Path, old: str, new: str, words: list[str]) -> None:
    """The same for config/models.yaml."""
    edit(root / "config/models.yaml", old, new)
    with pytest.raises(BadInput) as caught:
        config.load_models()
    for word in ["config/models.yaml", *words]:
        assert word in str(caught.value)


def test_unknown_profile_and_model(root: Path) -> None:
    """Both are refused with a near match."""
    with pytest.raises(UnknownName, match=r"no profile 'smoek'.*Did you mean 'smoke'"):
        config.load_profile("smoek")
    with pytest.raises(UnknownName, match=r"no model 'tony'.*Did you mean 'tiny'"):
        config.load_model("tony", config.load_profile("smoke"))


def test_missing_or_foreign_file_is_named(root: Path) -> None:
    """A missing models file and one that holds no mapping are named."""
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
    others = [model.identity(1, True), model.identity(0, False),
              model.model_copy(update={"train_count": 50}).identity(0, True),
              model.model_copy(update={"train": model.train.model_copy(update={"steps": 4})}).identity(0, True)]
    assert len({model.identity(0, True), *others}) == 5


@pytest.mark.parametrize("schema", [config.FullyConnected, config.Layered, config.Looped, config.Assemblies,
                                    config.SmallWorld])
def test_topology_schemas_match_the_constructors(schema: type[config.Strict]) -> None:
    """Every key of a topology schema is an argument of the constructors that it names."""
    for name in schema.model_fields["constructor"].annotation.__args__:
        arguments = inspect.signature(getattr(topology, name)).parameters
        assert schema.model_fields.keys() - {"constructor"} <= arguments.keys()


def test_training_schema_matches_fit() -> None:
    """Every setting of ``fit`` can be given, and nothing that ``fit`` does not take."""
    settings = {field.name for field in fields(learning.Training)}
    given = config.GraphTraining.model_fields.keys()
    assert settings <= given <= settings | inspect.signature(learning.fit).parameters.keys()


@pytest.mark.parametrize(("schema", "make", "train"), [
    (config.HopfieldSpec, hopfield.Hopfield, hopfield.fit_hopfield),
    (config.BoltzmannSpec, boltzmann.Boltzmann, epochs.Schedule),
    (config.AlmeidaPinedaSpec, almeida_pineda.AlmeidaPineda, epochs.Schedule),
    (config.LinearSpec, linear.Linear, linear.fit_linear),
    (config.MLPSpec, mlp.MLP, epochs.Schedule),
    (config.RBMSpec, rbm.RBM, epochs.Schedule),
    (config.DAMSpec, dam.DAM, dam.Annealing)])
def test_baseline_schemas_match_what_they_feed(schema: type[config.Strict], make: type, train: object) -> None:
    """Every key is an argument of the model or of its training; the defaults are the same on both sides."""
    own = {name: field.default for name, field in schema.model_fields.items()
           if name not in {*config.Model.model_fields, "kind", "train"} and not field.is_required()}
    assert own.items() <= {k: p.default for k, p in inspect.signature(make).parameters.items()}.items()
    given = schema.model_fields["train"].annotation.model_fields
    assert given.keys() <= inspect.signature(train).parameters.keys()
