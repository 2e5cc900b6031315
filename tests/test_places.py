"""What a user's surroundings may be: paths as people write them, no home folder, packages that lack. Oracle: the
folders and environments that the test makes. ``DOORS`` are all arguments and variables that take a path."""

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from doors import X, Y, baseline, fitted

from pcgraph_lite import files
from pcgraph_lite.errors import BadFile, BadInput, PCGraphError
from pcgraph_lite.images import datasets, judge, metrics, sources

ROOT = Path(__file__).resolve().parents[1]
NAMES = ["~/new folder/file", "new folder/file", "set{a}/file", "ü 100% #1/file", "./a/../b/file"]


WRITTEN: dict[str, Callable[[object], object]] = {
    "fit": lambda path: fitted((X, Y), checkpoint=path),
    "baseline": lambda path: baseline("mlp", images=X, labels=Y, epochs=1, checkpoint=path)}
READ: dict[str, Callable[[str], object]] = {
    "load": lambda path: datasets.load("mnist", root=path), "load_judge": lambda path: judge.load_judge("mnist", path),
    "inception_weights": lambda path: metrics.inception_weights(path)}
VARIABLES: dict[str, Callable[[], object]] = {
    "PCGRAPH_DATA": lambda: sources.find("mnist", "train", download=False),
    "PCGRAPH_CACHE": sources.cache, "XDG_CACHE_HOME": sources.cache, "PCGRAPH_INCEPTION": metrics.inception_weights}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder, beside an empty working folder."""
    for name in ("home", "work", "cache"):
        (tmp_path / name).mkdir()
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "home"


def meant(name: str, home: Path) -> Path:
    """The file that a user means by a name."""
    return home / name[2:] if name.startswith("~") else Path(os.path.normpath(home.parent / "work" / name))


@pytest.mark.parametrize("door", WRITTEN)
@pytest.mark.parametrize("name", NAMES)
def test_a_file_is_written_where_its_user_means(home: Path, door: str, name: str) -> None:
    WRITTEN[door](name)
    made = [path for path in home.parent.rglob("*") if path.is_file()]
    assert made == [meant(name, home)]
    WRITTEN[door](Path(name))                                              # and found there again
    assert [path for path in home.parent.rglob("*") if path.is_file()] == made


@pytest.mark.parametrize("door", READ)
@pytest.mark.parametrize("name", NAMES)
def test_a_file_is_looked_for_where_its_user_means(home: Path, door: str, name: str) -> None:
    with pytest.raises(BadFile, match=re.escape(str(meant(name, home)))):
        READ[door](name)


@pytest.mark.parametrize("variable", VARIABLES)
@pytest.mark.parametrize("name", NAMES)
def test_variables_mean_what_users_mean(home: Path, monkeypatch: pytest.MonkeyPatch, variable: str, name: str) -> None:
    assert sources.cache() == home / ".cache/pcgraph"                      # as long as none is set
    monkeypatch.setenv(variable, name)
    try:
        told = str(VARIABLES[variable]())
    except BadFile as error:
        told = str(error)
    assert str(meant(name, home)) in told


@pytest.mark.parametrize("call", [*WRITTEN.values(), *READ.values()])
def test_a_home_that_is_not_there_is_said(home: Path, call: Callable[[str], object]) -> None:
    with pytest.raises(PCGraphError, match=r"home directory.*; expected a path without '~'"):
        call("~no-such-user/file")
    assert not list(Path.cwd().iterdir())


@pytest.mark.parametrize("mask", [0o077, 0o027, 0o002, 0o022])
def test_new_files_have_the_rights_of_the_users_other_files(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        (tmp_path / "plain").touch()
        files.save_tensors(tmp_path / "tensors", {"a": X}, {})
        with files.write_aside(tmp_path / "text") as part:
            part.write_text("")
    finally:
        os.umask(before)
    assert len({path.stat().st_mode for path in tmp_path.iterdir()}) == 1


def test_a_file_that_is_replaced_keeps_its_rights_and_a_link_its_place(tmp_path: Path) -> None:
    kept, link = tmp_path / "kept", tmp_path / "link"
    kept.write_text("before")
    kept.chmod(0o640)
    link.symlink_to(kept)
    with files.write_aside(files.ready(link)) as part:
        part.write_text("after")
    assert link.is_symlink() and kept.read_text() == "after" and kept.stat().st_mode & 0o777 == 0o640


def test_without_a_home_folder_only_the_cache_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in ("PCGRAPH_CACHE", "XDG_CACHE_HOME", "PCGRAPH_DATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sources.Path, "home", nowhere)
    with pytest.raises(BadInput, match="set PCGRAPH_CACHE"):
        sources.cache()
    with pytest.raises(sources.NotFound, match=r"user's cache: there is no home folder for .*; set PCGRAPH_CACHE"):
        sources.find("cifar10", "train")
    assert len(datasets.status()) == 12


WITHOUT = """
import importlib, json, pkgutil, sys, torch
LACKING = ("scipy", "torchmetrics", "torchvision", "PIL", "torch_fidelity", "matplotlib", "seaborn", "pydantic", "yaml")
class Without:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in LACKING:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Without())
import pcgraph_lite as pcg
assert {"fit", "query", "errors", "images"} <= {*dir(pcg)}, dir(pcg)                # what pcg.<Tab> offers
print(pcg.errors.BadInput, pcg.images, pcg.baselines, pcg.studies, file=sys.stderr)  # before anything else is imported
told = {}
def tell(name, call):
    try: call()
    except Exception as error: told[name] = [type(error).__name__, str(error)]
for module in pkgutil.walk_packages(pcg.__path__, "pcgraph_lite."):
    tell(module.name, lambda: importlib.import_module(module.name))
assert not told, told
from pathlib import Path
from pcgraph_lite.images import calibration, judge, metrics, sources
x, y, reader = torch.rand(200, 784), torch.arange(200) % 2, judge.load_judge("mnist")
tell("mean_interval", lambda: metrics.mean_interval([1.0, 2.0]))
tell("ssim", lambda: metrics.ssim(x, x))
tell("auroc", lambda: metrics.auroc(x[:, 0], y.bool()))
tell("classification_table", lambda: metrics.classification_table(y, y, ["a", "b"]))
tell("frechet", lambda: metrics.frechet_judge_distance(reader, x, x))
tell("blurred", lambda: calibration.blurred(x, 1.0))
tell("sheet", lambda: sources.find("cifar10", "train", sys.argv[1]))
tell("torchvision", lambda: sources._torchvision("svhn"))
print(json.dumps(told))
"""


def test_every_part_says_which_package_it_lacks_and_how_to_get_it(tmp_path: Path) -> None:
    """In a fresh shell, whose names are there; each advice names a package that the book's extra installs, too."""
    (tmp_path / "CIFAR10").mkdir()
    (tmp_path / "CIFAR10/labels.npz").touch()
    done = subprocess.run([sys.executable, "-c", WITHOUT, str(tmp_path)], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    extra = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["book"]
    known = {re.match(r"[\w-]+", one)[0].lower() for one in extra}
    told = json.loads(done.stdout)
    assert len(told) == 8
    for name, (kind, text) in told.items():
        assert kind == "MissingPackage" and text.rpartition("pip install ")[2] in known, (name, kind, text)
