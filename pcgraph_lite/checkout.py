"""Which version of the code runs: what saved graphs and records say of it."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent              # of the repository, where this is not the installed package
ELSEWHERE = ("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE")   # which git sets for its hooks


def version() -> tuple[str, bool]:
    """The commit, and whether the code differs from it. In a copy without git the variable PCGRAPH_COMMIT says it."""
    commit = os.environ.get("PCGRAPH_COMMIT") or git("rev-parse", "HEAD") or "unknown"
    return commit, bool(git("status", "--porcelain", "--untracked-files=no"))


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
