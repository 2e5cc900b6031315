"""What requirements lead to among the installed packages, and how another environment sees some of these alone."""

from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def needed(requirements: Iterable[Requirement]) -> set[str]:
    """The names of these packages and of all that they need on this machine, with the extras that are asked for."""
    waiting, found = [(one, "") for one in requirements], set()
    while waiting:
        requirement, extra = waiting.pop()
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        name = canonicalize_name(requirement.name)
        for one in ("", *requirement.extras):
            if (name, one) not in found:
                found.add((name, one))
                waiting += [(Requirement(text), one) for text in metadata.requires(name) or []]
    return {name for name, _ in found}


def link(requirements: Iterable[Requirement], folder: Path) -> set[str]:
    """Make what they need visible in a folder of packages. Returns its names."""
    names = needed(requirements)
    for dist in map(metadata.distribution, names):
        for top in {file.parts[0] for file in dist.files or []} - {"..", "__pycache__"}:
            if not (folder / top).exists() and not top.endswith(".pth"):
                (folder / top).symlink_to(dist.locate_file(top))
    return names
