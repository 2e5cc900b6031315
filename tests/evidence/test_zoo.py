"""The zoo: trained once, found again, damaged or stale files noticed, a killed training resumed. Oracles: the same
training undisturbed; files damaged by the test."""

import threading
import time
from operator import attrgetter
from pathlib import Path
from unittest import mock

import pytest
import torch
from filelock import FileLock
from project import edit
from safetensors import safe_open
from safetensors.torch import save_file

from pcgraph_lite import files, query
from pcgraph_lite.engine import epochs
from pcgraph_lite.errors import BadFile
from pcgraph_lite.images import scale as scales
from reproduction.evidence import sweeps, zoo

QUIET = {"device": "cpu", "progress": False}


def same(a: torch.nn.Module, b: torch.nn.Module) -> bool:
    """Whether two models have bit-identical weights."""
    return all(torch.equal(x, y) for x, y in zip(a.state_dict().values(), b.state_dict().values(), strict=True))


def load(name: str = "tiny", seed: int = 0) -> zoo.Trained:
    return zoo.ModelRun(name, "smoke", seed).load("cpu")


def test_missing_and_stale_weights_are_trained_and_then_found(root: Path, capsys: pytest.CaptureFixture[str],
                                                              monkeypatch: pytest.MonkeyPatch) -> None:
    """Training moves the weights and follows the seed; of other settings or numbers they are stale."""
    first = load()
    assert "has no weights in profile smoke yet" in capsys.readouterr().err
    when = first.path.stat().st_mtime_ns
    second = load()
    assert capsys.readouterr().err == ""
    assert first.path == root / "_build/smoke/models/tiny-seed0.safetensors" == second.path
    assert second.path.stat().st_mtime_ns == when and same(first.graph, second.graph)
    assert len(second.history) == 3 == first.provenance["epochs"]
    assert second.provenance["n"] == 100 and 0 <= second.provenance["validation"] <= 1
    zoo.ModelRun("tiny", "smoke").train(**QUIET, force=True)
    assert same(first.graph, load().graph) and not same(first.graph, load(seed=1).graph)
    assert not same(first.graph, zoo.build(first.spec, 0, torch.device("cpu"))[0])
    for change in (lambda: edit(root / "config/profiles/smoke.yaml", "epochs: 3", "epochs: 1"),
                   lambda: monkeypatch.setattr(zoo.numerics, "version", lambda spec: "0" * 16)):
        assert zoo.ModelRun("tiny", "smoke").is_done
        change()
        capsys.readouterr()
        assert not zoo.ModelRun("tiny", "smoke").is_done and len(load().history) == 1
        assert "has weights of other settings or code: training it" in capsys.readouterr().err


def test_settings_edited_while_a_model_trains_are_not_its_own(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights carry the identity of the settings they began with, so the next load sees that they are of others."""
    before, fit, profile = zoo.ModelRun("tiny", "smoke").identity, zoo.fit, root / "config/profiles/smoke.yaml"
    monkeypatch.setattr(zoo, "fit", lambda *given, **options: (
        edit(profile, "epochs: 3", "epochs: 1"), fit(*given, **options))[1])
    with safe_open(zoo.ModelRun("tiny", "smoke").train(**QUIET), "pt") as file:
        assert file.metadata()["identity"] == before != zoo.ModelRun("tiny", "smoke").identity


def test_damaged_weights_are_named_with_the_command(root: Path) -> None:
    """Never used in silence, never a traceback of the file format."""
    path = zoo.ModelRun("tiny", "smoke").train(**QUIET)
    header, tensors = files.load_tensors(path)
    content, command = bytearray(path.read_bytes()), "pcgraph train tiny --profile smoke --seed 0 --force"
    content[-2] ^= 0x40
    for damage in (lambda: save_file(tensors, path, {k: v for k, v in header.items() if k != "history"}),
                   lambda: path.write_bytes(content[:-100]), lambda: path.write_bytes(content),
                   lambda: path.write_text("weights")):
        damage()
        with pytest.raises(BadFile, match=rf"(?s)tiny-seed0\.safetensors.*{command}"):
            load()
    zoo.ModelRun("tiny", "smoke").train(**QUIET, force=True)
    load()


@pytest.mark.parametrize("name", ["tiny", "boltzmann", "almeida-pineda"])
def test_killed_training_goes_on_where_it_was(root: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped in the second epoch, the second call does the other two and ends at the undisturbed result."""
    undisturbed = load(name)
    undisturbed.path.unlink()
    ended, original = [], epochs.State.end_epoch

    def counted(self: epochs.State, *arguments: object) -> None:
        ended.append("killed" if len(ended) == 1 else "ran")
        if ended[-1] == "killed":
            raise KeyboardInterrupt
        original(self, *arguments)

    monkeypatch.setattr(epochs.State, "end_epoch", counted)
    with pytest.raises(KeyboardInterrupt):
        zoo.ModelRun(name, "smoke").train(**QUIET)
    assert list(undisturbed.path.parent.glob("*.checkpoint"))
    resumed = load(name)
    assert ended == ["ran", "killed", "ran", "ran"] and same(resumed.graph, undisturbed.graph)
    assert not list(undisturbed.path.parent.glob("*.checkpoint"))


def test_the_images_of_a_model_are_those_it_was_trained_on(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked for afterwards: the very images that the training was handed, and other ones for another seed."""
    monkeypatch.setattr(zoo, "fit", fit := mock.Mock(side_effect=zoo.fit))
    zoo.ModelRun("tiny", "smoke", seed=1).train(**QUIET)
    handed = fit.call_args.args[2].images
    assert torch.equal(zoo.trained_on("tiny", "smoke", 1).images, handed)
    assert not torch.equal(zoo.trained_on("tiny", "smoke", 0).images, handed)


@pytest.mark.parametrize("name", ["copier", "hopfield", "boltzmann", "almeida-pineda", "linear", "mlp", "rbm", "dam"])
def test_baselines_come_by_the_same_call(root: Path, name: str) -> None:
    """Trained, kept and found again; of a classifier the accuracy in the history is that of the kept weights."""
    first, again = (load(name) for _ in range(2))
    assert same(first.graph, again.graph) and first.seconds > 0
    if name == "copier":                                                   # an autoencoder: 784 -> 8 -> 784, biases
        assert first.parameters == 2 * 784 * 8 + 8 + 784 and len(first.history) == 2
        return
    held_out = zoo.ModelRun(name, "smoke").images()[1]
    right = (again.graph.classify(held_out.images) == held_out.labels).double().mean()
    assert float(right) == pytest.approx(again.provenance["validation"]) and len(held_out) == 50


@pytest.mark.parametrize("name", ["recurrent-equal-mnist", "lateral-mnist", "assemblies-equal-mnist",
                                  "assemblies-all-mnist", "small-world-mnist", "fully-connected-equal-mnist"])
def test_topologies_that_are_compared_at_equal_size_have_it(name: str) -> None:
    """As many parameters as the layered graph, 10 * 512 + 512 * 512 + 512 * 784, to one per cent; no biases."""
    spec = zoo.spec(name, "paper")
    edges = zoo.build(spec, 0, torch.device("cpu"))[0].topology.edge_count()
    assert not spec.bias and edges == pytest.approx(668_672, rel=0.01)


@pytest.mark.parametrize("profile", ["smoke", "laptop", "paper"])
@pytest.mark.parametrize("layers", ["generative", "recurrent"])
def test_brief_layered_graphs_see_what_the_assemblies_see(layers: str, profile: str) -> None:
    """As many images, as often, in as many weight updates; all else is that of the graph whose name they bear."""
    seen = attrgetter("train_count", "validation_count", "train.epochs", "train.batch_size")
    rest = attrgetter("topology", "activation", "train.weight_lr", "train.weight_decay", "train.steps")
    for data in ("mnist", "fashion"):
        brief = zoo.spec(f"{layers}-brief-{data}", profile)
        assert seen(brief) == seen(zoo.spec(f"assemblies-{data}", profile))
        assert rest(brief) == rest(zoo.spec(f"{layers}-{data}", profile))


@pytest.mark.parametrize("model, sweep", {
    "fully-connected-completion": "grid-completion", "fully-connected-told": "grid-completion",
    "fully-connected-denoising": "grid-denoising",
    "feedforward-strong-decay": "grid-layers", "feedforward-denoising": "grid-denoising-feedforward",
    "recurrent-completion": "grid-recurrent", "recurrent-denoising": "grid-denoising-recurrent",
    "assemblies-strong-decay": "grid-assemblies", "autoencoder-as-wide": "grid-layers-autoencoder"}.items())
def test_models_whose_pictures_page_l_shows_are_those_of_the_sweeps_that_decide(model: str, sweep: str) -> None:
    runs = [run.spec.model_dump(exclude={"description"}) for run in sweeps.plan(sweep, "paper")]
    for data in ("mnist", "fashion"):
        assert zoo.spec(f"{model}-{data}", "paper").model_dump(exclude={"description"}) in runs


def test_a_scale_is_that_of_the_settings(root: Path) -> None:
    """Another scale is another identity. What a scale does to training and answers: test_pixel_scale.py."""
    plain = zoo.spec("tiny", "smoke")
    assert zoo.build(plain, 0, torch.device("cpu"))[0].pixel_scale == scales.named("[0, 1]")
    edit(root / "config/models.yaml", "  description: a few", '  scale: "[-1, 1]"\n  description: a few')
    loaded = load()
    assert loaded.graph.pixel_scale == scales.named("[-1, 1]")
    assert loaded.spec.identity(0, True) != plain.identity(0, True)
    assert loaded.spec.model_copy(update={"scale": "[0, 1]"}).identity(0, True) == plain.identity(0, True)


def test_a_profile_says_in_which_precision_its_models_compute(root: Path) -> None:
    """Weights, images and what comes back of a query; the first weights are drawn in that precision."""
    single = load()
    profile = root / "config/profiles/smoke.yaml"
    profile.write_text(profile.read_text() + "dtype: float64\n")
    double, images = load(), zoo.ModelRun("tiny", "smoke").images()[1].images
    assert (single.graph.dtype, double.graph.dtype, images.dtype) == (torch.float32, torch.float64, torch.float64)
    assert query(double.graph, {"pixels": images}, steps=2).values["labels"].dtype == torch.float64
    drawn = zoo.build(double.spec, 0, torch.device("cpu"), "float64")[0].weight
    assert drawn.dtype == torch.float64 and not drawn.float().double().equal(drawn)
    assert zoo.ModelRun("tiny", "smoke").identity != single.spec.identity(0, True)


def test_waiting_for_another_process_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And the lock is free afterwards. Another thread stands for the process."""
    place, taken = tmp_path / "x.lock", threading.Event()

    def other() -> None:
        with FileLock(place):
            taken.set()
            time.sleep(1.2)

    threading.Thread(target=other).start()
    taken.wait()
    for says in ("tiny is being trained by another process: waiting for it.\n", ""):
        with zoo._alone(place, "tiny"):
            assert capsys.readouterr().err == says
