"""The checkout: its place, its files, and earlier versions of them."""

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from pcgraph_lite.checkout import git, version
from pcgraph_lite.errors import BadFile

__all__ = ["ROOT", "earlier", "from_checkout", "git", "part", "profile_names", "relative", "version"]
ROOT = Path(__file__).resolve().parent.parent              # config/, notebooks/, results/ and _build/ are here


def relative(path: Path | str) -> str:
    """A path for messages and files: relative to the checkout if it is inside."""
    path = Path(path).absolute()
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def part(name: str) -> Path:
    """A file or folder that only a checkout has. Raises BadFile: it is missing."""
    found = ROOT / name
    if not found.exists():
        raise BadFile(f"{found} is not there: {name} is part of the repository, not of the installed package. Run the "
                      "command from a checkout: git clone, then make test or pip install -e '.[book]'")
    return found


def profile_names() -> list[str]:
    """The names of the profiles in ``config/profiles``. Raises BadFile: there is no such folder."""
    return sorted(path.stem for path in part("config/profiles").glob("*.yaml"))


def from_checkout(package: str, module: str) -> ModuleType:
    """A module of a package that only a checkout has. Raises BadFile: it is missing."""
    start = part(package) / "__init__.py"
    spec = importlib.util.spec_from_file_location(package, start, submodule_search_locations=[str(start.parent)])
    if package not in sys.modules and spec and spec.loader:
        sys.modules[package] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[package])
    return importlib.import_module(f"{package}.{module}")


def earlier(root: Path, path: str) -> Iterator[str]:
    """A file as it was after each commit that changed it, the latest first; nothing if git does not know it."""
    for commit in git("log", "--format=%H", "--", path, folder=root).split():
        if text := git("show", f"{commit}:./{path}", folder=root):
            yield text
