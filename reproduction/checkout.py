"""The checkout: where it lies, and which version of the code it is."""

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from pcgraph_lite.errors import BadFile

ROOT = Path(__file__).resolve().parent.parent              # config/, notebooks/, results/ and _build/ are here
ELSEWHERE = ("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE")   # which git sets for its hooks


def relative(path: Path | str) -> str:
    """A path as messages and files show it: relative to the checkout where it lies inside."""
    path = Path(path).absolute()
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def part(name: str) -> Path:
    """A file or folder of the checkout that is not installed. Raises BadFile where it is not there."""
    found = ROOT / name
    if not found.exists():
        raise BadFile(f"{found} is not there: {name} is part of the repository, not of the installed package. Run the "
                      "command from a checkout: git clone, then make test or pip install -e '.[book]'")
    return found


def from_checkout(package: str, module: str) -> ModuleType:
    """A module of a package that is part of the checkout but not installed. Raises BadFile where it is not there."""
    start = part(package) / "__init__.py"
    if package not in sys.modules:
        spec = importlib.util.spec_from_file_location(package, start, submodule_search_locations=[str(start.parent)])
        sys.modules[package] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[package])
    return importlib.import_module(f"{package}.{module}")


def version() -> tuple[str, bool]:
    """The commit, and whether the code differs from it. In a copy without git the variable PCGRAPH_COMMIT says it."""
    commit = os.environ.get("PCGRAPH_COMMIT") or git("rev-parse", "HEAD") or "unknown"
    return commit, bool(git("status", "--porcelain", "--untracked-files=no"))


def earlier(root: Path, path: str) -> Iterator[str]:
    """A file as it was at each commit that changed it, the latest first; none where git knows nothing of it."""
    for commit in git("log", "--format=%H", "--", path, folder=root).split():
        if text := git("show", f"{commit}:./{path}", folder=root):
            yield text


def git(*arguments: str, folder: Path | None = None) -> str:
    """What git prints of the repository whose root is ``folder``, the checkout if none is given.

    Nothing where it fails or is not there, and where ``folder`` only lies inside somebody else's repository.
    """
    folder = folder or ROOT
    top = _git(folder, "rev-parse", "--show-toplevel")
    return _git(folder, *arguments) if top and Path(top).resolve() == folder.resolve() else ""


def _git(folder: Path, *arguments: str) -> str:
    """A git that hears of no other repository than that of the folder, as one does inside a hook."""
    environment = {name: value for name, value in os.environ.items() if name not in ELSEWHERE}
    try:
        return subprocess.run(["git", *arguments], cwd=folder, env=environment, capture_output=True, text=True,
                              timeout=60, check=True, encoding="utf-8", errors="replace").stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""
