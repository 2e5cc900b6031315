"""One folder for a host that has Python, torch and a GPU but no network: code, data, wheels and a script of commands.

``pcgraph bundle`` makes the folder. On the host its ``run.sh`` trains, runs and packs; what comes back goes in with
``pcgraph import`` (transfer.py). The code is that of a commit, so that every number made there can say which.
"""

import lzma
import shutil
import subprocess
import sys
import tarfile
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from . import checkout, config, notebooks, sources
from .errors import BadInput, PCGraphError

LIMIT = 60_000_000                                    # bytes of the whole folder
DATA = ("mnist", "fashion")
BROUGHT = ("pydantic", "papermill", "jupytext", "ipykernel", "nbclient", "nbformat")    # what such a host lacks
LEFT_OUT = ("debugpy", "jedi",                        # 10 MB for ipykernel's debugger and completion; it runs without
            "aiohttp")                                # papermill asks for it on Python 3.12 and imports it nowhere
STAYS = ("book", "results/bench", "results/figures", "results/records", "tests", ".ci", ".github")  # no use on the host
PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64")


def pack(target: Path, profile: str = "paper", python: str = "3.12") -> dict[str, int]:
    """Make the bundle at ``target``; an older one there is replaced when the new one is whole.

    Args:
        profile: whose models and notebooks ``run.sh`` lists; one on the bundled sample needs no data.
        python: version of the host's Python; it decides which wheels fit.

    Returns:
        bytes of each part.

    Raises:
        UnknownName: the profile. BadInput: files differ from the commit, the bundle is larger than ``LIMIT``, or
        ``target`` holds something else.
        BadFile: a data set is missing or damaged. PCGraphError: git or pip failed.
    """
    empty = target.is_dir() and not any(target.iterdir())
    if target.exists() and not empty and not (target / "run.sh").is_file():
        raise BadInput(f"{target} is there and is no bundle: it would be deleted. Name one that does not exist yet.")
    settings, commit = config.load_profile(profile), _clean_commit()
    part = target.with_name(target.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    try:
        _pack_code(part, commit)
        _pack_wheels(part / "wheels", python)
        if not settings.data.sample:
            for name in DATA:
                _pack_data(name, part / "data" / sources.HOMES[name][0])
        _write_scripts(part, profile, python)
        sizes = _sizes(part)
        shutil.rmtree(target, ignore_errors=True)
        part.rename(target)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return sizes


def commands(profile: str) -> list[str]:
    """Every training and notebook run of a profile as a plain command, each once; a notebook's trainings precede it."""
    settings, found = config.load_profile(profile), []
    for name in config.notebook_names():
        for model, count in notebooks.models(name).items():
            found += [f"pcgraph train {model} --profile {profile} --seed {seed}"
                      for seed in notebooks.seeds(name, settings, count)]
        found.append(f"pcgraph run {name} --profile {profile} --unless-done")
    return list(dict.fromkeys(found))


def wheels(python: str) -> tuple[list[str], list[str]]:
    """What to bring, in the versions of this environment, and what the host then has to hold.

    Returns:
        pins (``name==version``) of all that ``BROUGHT`` needs but ``LEFT_OUT``, and the requirements behind them: what
        the host has in a version that fits is left as it is.
    """
    host = {"python_version": python, "python_full_version": f"{python}.0", "sys_platform": "linux", "os_name": "posix",
            "platform_system": "Linux", "platform_machine": "x86_64", "implementation_name": "cpython", "extra": ""}
    needed = [f"{name}=={_version(name)}" for name in BROUGHT]
    for line in needed:                               # grows while it is gone through
        for text in metadata.requires(Requirement(line).name) or []:
            need = Requirement(text)
            if canonicalize_name(need.name) not in LEFT_OUT and (need.marker is None or need.marker.evaluate(host)):
                plain = f"{canonicalize_name(need.name)}{need.specifier}"
                needed += [plain] if plain not in needed else []
    names = sorted({Requirement(line).name for line in needed})
    return [f"{name}=={_version(name)}" for name in names], sorted(needed)


def _clean_commit() -> str:
    changed = checkout.git("status", "--porcelain", "--", *_packed()).splitlines()
    if changed:
        raise BadInput("a bundle holds what is committed, and these files differ from it: "
                       f"{', '.join(line.split()[-1] for line in changed[:5])}{' ...' * (len(changed) > 5)}. "
                       "Commit them (or take them away), then pack again.")
    return checkout.git("rev-parse", "HEAD")


def _packed() -> list[str]:
    """The committed files that go along, as git's path patterns."""
    return [".", *(f":(exclude){name}" for name in STAYS)]


def _pack_code(part: Path, commit: str) -> None:
    part.mkdir(parents=True)
    packed = part / "code.tar"
    checkout.git("archive", "--format=tar", f"--output={packed.absolute()}", commit, "--", *_packed())
    with tarfile.open(packed) as archive:
        archive.extractall(part / "code", filter="data")
    packed.unlink()
    checkout.write_note(part / "code", commit)


def _pack_data(name: str, folder: Path) -> None:
    """The idx files as xz, a sixth smaller than gzip: everything has to fit."""
    folder.mkdir(parents=True)
    for file, content in sources.idx_files(name):
        (folder / f"{file}.xz").write_bytes(lzma.compress(content))


def _pack_wheels(folder: Path, python: str) -> None:
    pins, needed = wheels(python)
    platforms = [word for platform in PLATFORMS for word in ("--platform", platform)]
    options = ["--no-deps", "--only-binary=:all:", "--implementation=cp", f"--python-version={python}", *platforms]
    done = subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", *options, f"--dest={folder}", *pins],
                          capture_output=True, text=True)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or done.stderr.splitlines()[-1:]
        raise PCGraphError(f"pip could not fetch the wheels for Python {python}: {' '.join(said)}. Packing needs a "
                           "package index; only the host does without.")
    (folder / "needed.txt").write_text("\n".join(needed) + "\n")


def _write_scripts(part: Path, profile: str, python: str) -> None:
    steps = "\n".join(f"step {command}" for command in commands(profile))
    for source in sorted((config.ROOT / "scripts" / "host").iterdir()):
        text = source.read_text(encoding="utf-8")
        for mark, value in (("@STEPS@", steps), ("@PROFILE@", profile), ("@PYTHON@", python)):
            text = text.replace(mark, value)
        (part / source.name).write_text(text, encoding="utf-8")
    (part / "run.sh").chmod(0o755)


def _sizes(part: Path) -> dict[str, int]:
    """Bytes of each part of the bundle, which together must be below the limit."""
    sizes = {piece.name: sum(file.stat().st_size for file in (piece, *piece.rglob("*")) if file.is_file())
             for piece in sorted(part.iterdir())}
    if sum(sizes.values()) > LIMIT:
        parts = ", ".join(f"{name} {size / 1e6:.1f} MB" for name, size in sizes.items())
        raise BadInput(f"the bundle would be {sum(sizes.values()) / 1e6:.1f} MB, at most {LIMIT / 1e6:.0f} MB are "
                       f"allowed: {parts}. Name what can be left behind in STAYS or LEFT_OUT of bundle.py.")
    return sizes


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        raise PCGraphError(f"the host needs {name}, which is not installed here, so its version is unknown. "
                           f"Install requirements.txt, or {name} alone.") from None
