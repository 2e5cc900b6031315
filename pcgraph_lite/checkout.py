"""Which version of the code this is: what git says or, in a bundle without git, the note that was packed with it."""

import json
import os
import re
import subprocess
from pathlib import Path

from . import config
from .errors import PCGraphError
from .files import digest

NOTE = "COMMIT.json"


def version() -> tuple[str, bool]:
    """The commit, and whether the code differs from it.

    A bundle's note comes first, for a bundle may lie inside another checkout. In another copy without git the variable
    PCGRAPH_COMMIT says the commit.
    """
    if (config.ROOT / NOTE).is_file():
        note = json.loads((config.ROOT / NOTE).read_text(encoding="utf-8"))
        return note["commit"], any(_differs(config.ROOT / file, known) for file, known in note["files"].items())
    commit = os.environ.get("PCGRAPH_COMMIT") or _quiet("rev-parse", "HEAD") or "unknown"
    return commit, bool(_quiet("status", "--porcelain", "--untracked-files=no"))


def write_note(folder: Path, commit: str) -> None:
    """Note in a copy of the code which commit it is, and the digest of every file."""
    files = {str(path.relative_to(folder)): digest(path) for path in sorted(folder.rglob("*")) if path.is_file()}
    (folder / NOTE).write_text(json.dumps({"commit": commit, "files": files}, indent=1) + "\n", encoding="utf-8")


def knows(commit: str) -> bool:
    """Whether a commit, given whole, is in the history of this checkout."""
    if not re.fullmatch("[0-9a-f]{40,64}", commit):
        return False                                          # HEAD or a branch names no version of the code
    try:
        git("merge-base", "--is-ancestor", commit, "HEAD")
    except PCGraphError:
        return False
    return True


def git(*arguments: str) -> str:
    """What git prints. Raises PCGraphError with what git says where it fails or is not there."""
    try:
        return subprocess.run(["git", *arguments], cwd=config.ROOT, capture_output=True, text=True, timeout=60,
                              check=True).stdout.strip()
    except subprocess.CalledProcessError as error:
        raise PCGraphError(f"git {' '.join(arguments)} failed in {config.ROOT}: {error.stderr.strip()}") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PCGraphError(f"git cannot be run in {config.ROOT}: {error}.") from error


def _quiet(*arguments: str) -> str:
    try:
        return git(*arguments)
    except PCGraphError:
        return ""


def _differs(file: Path, known: str) -> bool:
    return not file.is_file() or digest(file) != known
