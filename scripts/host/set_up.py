"""Check the host's Python, and unpack the wheels that it lacks into ``packages``, beside this file.

A wheel whose scripts nobody calls is a zip of files to import, so this needs neither pip nor a virtual environment, and
what the host has installed stays as it is.
"""

import importlib
import os
import shutil
import sys
import zipfile
from importlib import metadata
from pathlib import Path

HERE = Path(__file__).resolve().parent
WHEELS, PACKAGES = HERE / "wheels", HERE / "packages"
sys.path.append(str(next(WHEELS.glob("packaging-*.whl"))))                 # a host may have no packaging yet

from packaging.requirements import Requirement  # noqa: E402
from packaging.utils import canonicalize_name, parse_wheel_filename  # noqa: E402

sys.path.pop()


def missing() -> set[str]:
    """Names of the packages that are not there, or not in a version that fits."""
    importlib.invalidate_caches()
    needs = [Requirement(line) for line in (WHEELS / "needed.txt").read_text().split()]
    return {canonicalize_name(need.name) for need in needs if not fits(need)}


def fits(need: Requirement) -> bool:
    """Whether the installed version of a package is one that was asked for."""
    try:
        return need.specifier.contains(metadata.version(need.name), prereleases=True)
    except metadata.PackageNotFoundError:
        return False


def unpack() -> None:
    """Make ``packages`` anew: aside, then renamed, so that a killed set-up leaves no half of it."""
    shutil.rmtree(PACKAGES, ignore_errors=True)
    wanted, part = missing(), PACKAGES.with_name("packages.part")
    shutil.rmtree(part, ignore_errors=True)
    for wheel in WHEELS.glob("*.whl"):
        if parse_wheel_filename(wheel.name)[0] in wanted:
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(part)
    part.rename(PACKAGES)
    print(f"unpacked {len(wanted)} packages that this Python lacks")


def check_host(python: str, device: str) -> None:
    """Stop with a sentence where the host cannot run the code."""
    if f"{sys.version_info.major}.{sys.version_info.minor}" != python:
        sys.exit(f"{sys.executable} is Python {sys.version.split()[0]}, and the wheels here are for {python}. Choose "
                 f"another, PYTHON=python{python} ./run.sh, or pack anew: pcgraph bundle --python VERSION")
    for name in ("torch", "torchvision"):
        try:
            importlib.import_module(name)
        except ImportError as error:
            sys.exit(f"{sys.executable} cannot import {name} ({error}). Choose a Python that can: PYTHON=PATH ./run.sh")
    import torch
    if device == "cuda" and not torch.cuda.is_available():
        sys.exit("torch sees no GPU here. To compute on the processor all the same: DEVICE=cpu ./run.sh")


if __name__ == "__main__":
    check_host("@PYTHON@", os.environ.get("DEVICE", "cuda"))
    if missing():
        unpack()
    if missing():
        sys.exit(f"these packages are neither here nor in {WHEELS}: {', '.join(sorted(missing()))}")
