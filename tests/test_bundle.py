"""The bundle: what is in it, what it refuses, and that it works where there is neither network nor checkout.

Oracles: git's own view of the commit; the requirements that packages state; for the whole way, a host that is made here
of nothing but the packages that such a host has, without a network.
"""

import ast
import json
import lzma
import os
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from project import HERE, Project, git

from pcgraph_lite import bundle, config, notebooks, sources, transfer
from pcgraph_lite.errors import BadInput, PCGraphError

HOST = ("torch", "torchvision", "torchmetrics", "pandas", "matplotlib", "seaborn", "networkx", "safetensors", "rich",
        "typer", "tqdm", "PyYAML")                      # what a GPU host without a network has
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The small project, committed, as the checkout."""
    root = Project(tmp_path / "checkout").root
    committed(root)
    monkeypatch.setattr(config, "ROOT", root)
    return root


def committed(root: Path) -> None:
    """Make the small project a repository, with results and tests beside the code."""
    shutil.copytree(HERE.parent / "scripts" / "host", root / "scripts" / "host")
    for name in ("results/records/a.json", "results/sweeps/a.csv", "tests/test_a.py", "book/page.md"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("for readers\n")
    shutil.copy(root / "config/profiles/smoke.yaml", root / "config/profiles/paper.yaml")
    (root / ".gitignore").write_text("_build/\n__pycache__/\n")
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "first")


@pytest.fixture
def no_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """No package index is asked."""
    monkeypatch.setattr(bundle, "_pack_wheels", lambda folder, python: folder.mkdir())


def closure(names: tuple[str, ...]) -> set[str]:
    """Distributions that come with some others, as they state it, on this Python."""
    found, ahead = set(), [canonicalize_name(name) for name in names]
    while ahead:
        if (name := ahead.pop()) in found:
            continue
        found.add(name)
        needs = [Requirement(text) for text in metadata.requires(name) or []]
        ahead += [canonicalize_name(need.name) for need in needs
                  if not need.marker or need.marker.evaluate({"extra": ""})]
    return found


def imported(code: str, everywhere: bool) -> set[str]:
    """Top-level names of the modules that some code imports, at its top or anywhere."""
    tree = ast.parse(code)
    found = set()
    for node in ast.walk(tree) if everywhere else tree.body:
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add(node.module.partition(".")[0])
    return found - set(sys.stdlib_module_names) - {"pcgraph_lite"}


def test_nothing_is_imported_that_neither_host_nor_bundle_has() -> None:
    """By the package when it is loaded, and by any cell of any notebook."""
    pins, _ = bundle.wheels(PYTHON)
    there = closure(HOST) | {Requirement(pin).name for pin in pins}
    homes = metadata.packages_distributions()
    code = {path: imported(path.read_text(), False) for path in (HERE.parent / "pcgraph_lite").rglob("*.py")}
    code |= {name: imported("\n".join(cell.code for cell in notebooks.cells(name)), True)
             for name in config.notebook_names()}
    assert len(code) > 20
    missing = {str(where): name for where, names in code.items() for name in names
               if not {canonicalize_name(home) for home in homes.get(name, [])} & there}
    assert not missing


@pytest.mark.parametrize("python", ["3.12", "3.13"])
def test_wheels_are_whole(python: str) -> None:
    """Whatever a packed package asks for on the host is packed, in a version that fits, or left out on purpose."""
    pins, needed = bundle.wheels(python)
    versions = {canonicalize_name(one.name): str(one.specifier).removeprefix("==") for one in map(Requirement, pins)}
    assert {canonicalize_name(name) for name in bundle.BROUGHT} <= versions.keys()
    assert not versions.keys() & {*bundle.LEFT_OUT, "torch", "numpy", "scipy"}
    assert all(version == metadata.version(name) for name, version in versions.items())
    host = {"python_version": python, "python_full_version": f"{python}.0", "sys_platform": "linux", "extra": ""}
    asked = [Requirement(text) for name in versions for text in metadata.requires(name) or []]
    asked = [one for one in asked if not one.marker or one.marker.evaluate(host)]
    for one in [one for one in asked if canonicalize_name(one.name) not in bundle.LEFT_OUT]:
        assert one.specifier.contains(versions[canonicalize_name(one.name)], prereleases=True), one
        assert f"{canonicalize_name(one.name)}{one.specifier}" in needed
    lines = (HERE.parent / "requirements.txt").read_text().splitlines()
    pinned = [Requirement(line.partition("#")[0]) for line in lines if "==" in line]
    assert all(one.specifier.contains(versions[one.name]) for one in pinned if one.name in versions)


def test_what_is_left_out_is_not_needed() -> None:
    """A kernel starts and computes where the left-out packages cannot be imported."""
    code = (f"import sys; sys.modules.update(dict.fromkeys({bundle.LEFT_OUT!r}))\n"
            "import papermill, jupytext, ipykernel.ipkernel\n"
            "from ipykernel.kernelapp import IPKernelApp\n"
            "from IPython.core.interactiveshell import InteractiveShell\n"
            "print(InteractiveShell.instance().run_cell('6 * 7').result)")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split()[-1] == "42", done.stderr


def test_commands_are_those_of_the_workflow(root: Path) -> None:
    """Every training that a notebook needs, once, before the notebook."""
    (root / "config/profiles/smoke.yaml").open("a").write("  02-more: {seeds: 2}\n")
    text = (root / "notebooks/01-tiny.md").read_text()
    (root / "notebooks/02-more.md").write_text(text.replace("[tiny, other]", "[tiny, copier: sizes_of]").replace(
        "fail: bool", "sizes_of: int = 3  # seeds\nfail: bool"))
    train = "pcgraph train {} --profile smoke --seed {}".format
    run = "pcgraph run {} --profile smoke --unless-done".format
    assert bundle.commands("smoke") == [
        train("tiny", 0), train("other", 0), run("01-tiny"),
        train("tiny", 1), train("copier", 0), train("copier", 1), train("copier", 2), run("02-more")]


def test_code_is_the_commits(root: Path, no_index: None, tmp_path: Path) -> None:
    """Every committed file of code, byte by byte; not what is for readers alone; a note says which commit it is."""
    (root / "results/records/a.json").write_text("changed, which is of no matter to the host\n")
    sizes = bundle.pack(tmp_path / "out", "smoke")
    assert sorted(sizes) == ["code", "run.sh", "set_up.py", "wheels"]
    code = tmp_path / "out" / "code"
    names = [name for name in git(root, "ls-files").splitlines()
             if not name.startswith(tuple(f"{part}/" for part in bundle.STAYS))]
    assert "results/sweeps/a.csv" in names and "results/records/a.json" not in names     # rows are not trained again
    assert sorted(str(path.relative_to(code)) for path in code.rglob("*") if path.is_file()) == \
        sorted([*names, "COMMIT.json"])
    assert all((code / name).read_bytes() == (root / name).read_bytes() for name in names)
    assert json.loads((code / "COMMIT.json").read_text())["commit"] == git(root, "rev-parse", "HEAD")
    assert sizes["code"] == sum(path.stat().st_size for path in code.rglob("*") if path.is_file())
    assert not list(tmp_path.glob("*.part"))


def test_script_lists_the_commands(root: Path, no_index: None, tmp_path: Path) -> None:
    """``--list`` prints them and does nothing else; bash has nothing to complain about."""
    bundle.pack(tmp_path / "out", "smoke")
    script = tmp_path / "out" / "run.sh"
    subprocess.run(["bash", "-n", script], check=True)
    listed = subprocess.run([script, "--list"], capture_output=True, text=True, check=True, cwd="/")
    assert listed.stdout.splitlines() == bundle.commands("smoke") and not listed.stderr
    assert "@P" not in script.read_text() and "@STEPS" not in script.read_text()


@pytest.mark.parametrize("name", ["config/models.yaml", "notebooks/02-new.md"])
def test_what_is_not_committed_is_refused(root: Path, no_index: None, tmp_path: Path, name: str) -> None:
    """An edited file, and a new one: the bundle would not hold them."""
    (root / name).open("a").write("\n# edited\n")
    with pytest.raises(BadInput, match=rf"differ from it: {name}\. Commit them"):
        bundle.pack(tmp_path / "out", "smoke")
    assert not (tmp_path / "out").exists()


def test_a_folder_that_is_no_bundle_is_not_replaced(root: Path, no_index: None, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.tex").write_text("years of work")
    with pytest.raises(BadInput, match="mine is there and is no bundle"):
        bundle.pack(mine, "smoke")
    with pytest.raises(BadInput, match="is no bundle"):
        bundle.pack(mine / "thesis.tex", "smoke")
    assert (mine / "thesis.tex").read_text() == "years of work"


def test_too_large_is_refused_with_the_sizes(root: Path, no_index: None, tmp_path: Path,
                                             monkeypatch: pytest.MonkeyPatch) -> None:
    """The last bundle stays."""
    bundle.pack(tmp_path / "out", "smoke")
    monkeypatch.setattr(bundle, "LIMIT", 3_000_000)
    with pytest.raises(BadInput, match=r"would be \d\.\d MB, at most 3 MB are allowed: code \d\.\d MB, run\.sh 0\.0"):
        bundle.pack(tmp_path / "out", "smoke")
    assert (tmp_path / "out" / "run.sh").is_file() and not list(tmp_path.glob("*.part"))


def test_data_arrives_as_it_was(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The packed files are found as a cache, and hold the same bytes."""
    monkeypatch.setattr(sources, "find", lambda name, split: sources.Pixels(None, None, sources.SAMPLE / name))
    digests = json.loads((sources.SAMPLE / "digests.json").read_text())["files"]
    monkeypatch.setitem(sources.DIGESTS, "mnist", digests["mnist"])
    bundle._pack_data("mnist", tmp_path / "data" / sources.HOMES["mnist"][0])
    monkeypatch.undo()
    monkeypatch.setitem(sources.DIGESTS, "mnist", digests["mnist"])
    monkeypatch.setenv("PCGRAPH_CACHE", str(tmp_path / "data"))
    monkeypatch.delenv("PCGRAPH_DATA", raising=False)
    for split in sources.SPLITS:
        found, sample = sources.find("mnist", split), sources.read_sample("mnist", split)
        assert found.folder == tmp_path / "data/MNIST/raw"
        assert (found.images == sample.images).all() and (found.labels == sample.labels).all()
    assert all(lzma.decompress(path.read_bytes()) for path in found.folder.iterdir())


def test_missing_data_and_wheels_are_named(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The data set that no place has; what pip could not fetch."""
    monkeypatch.setattr(bundle, "BROUGHT", ("no-such-package-anywhere",))
    with pytest.raises(PCGraphError, match="no-such-package-anywhere, which is not installed here"):
        bundle.pack(tmp_path / "out", "smoke")
    monkeypatch.undo()
    monkeypatch.setattr(config, "ROOT", root)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with pytest.raises(PCGraphError, match=r"pip could not fetch the wheels for Python 3\.12: ERROR: .*package index"):
        bundle.pack(tmp_path / "out", "smoke")
    assert not (tmp_path / "out").exists()


# ---------------------------------------------------------------------------------------------------- the whole way

OFFLINE = """
import fcntl, os, socket, struct, sys
if [name for _, name in socket.if_nameindex()] != ["lo"]:
    sys.exit("this host has a network")
fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sh", b"lo", 0x41))     # kernels talk over the loopback interface
os.execve(sys.argv[1], sys.argv[1:], os.environ)
"""


def bare_host(folder: Path) -> Path:
    """A Python that has only what such a host has: links to those packages of this environment, no pip."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    site = next(folder.glob("lib/python*/site-packages"))
    for name in closure(HOST) - closure(("pydantic",)) | {"typing-extensions"}:
        for file in metadata.files(name) or []:
            top = file.parts[0]
            if top not in ("..", "__pycache__") and not (site / top).exists():
                (site / top).symlink_to(Path(str(metadata.distribution(name).locate_file(top))).resolve())
    return folder / "bin" / "python"


def on_host(python: Path, folder: Path) -> subprocess.CompletedProcess:
    """Run the bundle's script on the bare host, without a network, an environment or a home of its own."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder.parent), "PYTHON": str(python), "DEVICE": "cpu",
                   "OMP_NUM_THREADS": "1"}
    command = ["unshare", "--user", "--map-root-user", "--net", sys.executable, "-c", OFFLINE, str(folder / "run.sh")]
    return subprocess.run(command, env=environment, cwd="/", text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)


@pytest.mark.slow
def test_the_whole_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pack, run on a host without network and checkout, run again, bring back, refuse, take over."""
    if shutil.which("unshare") is None or subprocess.run(["unshare", "-r", "--net", "true"]).returncode:
        pytest.skip("a host without a network needs unshare and the right to use it")
    root = Project(tmp_path / "checkout").root
    committed(root)
    monkeypatch.setattr(config, "ROOT", root)
    monkeypatch.delenv("PCGRAPH_COMMIT", raising=False)
    bundle.pack(tmp_path / "host" / "bundle", "smoke", PYTHON)
    root.rename(tmp_path / "away")
    folder, python = tmp_path / "host" / "bundle", bare_host(tmp_path / "host" / "python")
    for missing in ("papermill", "pydantic", "ipykernel", "scipy"):
        assert subprocess.run([python, "-c", f"import {missing}"], capture_output=True).returncode == 1, missing

    first = on_host(python, folder)
    assert first.returncode == 0, first.stdout
    assert "packages that this Python lacks" in first.stdout and "training tiny" in first.stdout
    weights = {path: path.stat().st_mtime_ns for path in folder.rglob("*.safetensors") if "_build" in path.parts}
    again = on_host(python, folder)
    assert again.returncode == 0, again.stdout
    assert "01-tiny: done already" in again.stdout and "training" not in again.stdout and "lacks" not in again.stdout
    assert len(weights) == 2 and all(path.stat().st_mtime_ns == when for path, when in weights.items())

    (tmp_path / "away").rename(root)
    archive, = folder.glob("results-smoke-*.tar.gz")
    with pytest.raises(BadInput, match="profile 'smoke'; expected 'paper'"):
        transfer.add(archive)
    change, = transfer.add(archive, "smoke")
    assert change.here == "nothing" and git(root, "rev-parse", "HEAD")[:9] in change.incoming
    assert notebooks.is_done("01-tiny", "smoke")


def test_a_host_that_cannot_is_told_so(root: Path, no_index: None, tmp_path: Path) -> None:
    """Another Python than the wheels are for; no torch; no GPU, unless the processor is asked for."""
    bundle.pack(tmp_path / "out", "smoke", "3.99")
    shutil.copytree(Path(metadata.distribution("packaging").locate_file("packaging")),
                    tmp_path / "out/wheels/packaging-0-py3-none-any.whl/packaging")

    def told(device: str, **environment: str) -> str:
        done = subprocess.run([sys.executable, tmp_path / "out/set_up.py"], capture_output=True, text=True,
                              env=os.environ | {"DEVICE": device, "CUDA_VISIBLE_DEVICES": ""} | environment)
        assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
        return done.stderr

    assert "the wheels here are for 3.99" in told("cpu")
    script = tmp_path / "out/set_up.py"
    script.write_text(script.read_text().replace('"3.99"', f'"{PYTHON}"'))
    assert "torch sees no GPU here" in told("cuda")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken/torchvision.py").write_text("raise ImportError('no operator')")
    assert "cannot import torchvision (no operator)" in told("cpu", PYTHONPATH=str(tmp_path / "broken"))
