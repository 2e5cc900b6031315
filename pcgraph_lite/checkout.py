"""The version of the running code, for saved graphs and records."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent              # of the repository, where this is not the installed package
ELSEWHERE = ("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE")   # which git sets for its hooks


def version() -> tuple[str, bool]:
    """The commit, and whether the code differs from it. In a copy without git, PCGRAPH_COMMIT names the commit."""
    commit = os.environ.get("PCGRAPH_COMMIT") or git("rev-parse", "HEAD") or "unknown"
    return commit, bool(git("status", "--porcelain", "--untracked-files=no"))


def git(*arguments: str, folder: Path | None = None) -> str:
    """The output of git for the repository whose root is ``folder``, by default the checkout.

    It is empty if git fails or is missing, or if ``folder`` is only inside somebody else's repository.
    """
    folder = folder or ROOT
    top = _git(folder, "rev-parse", "--show-toplevel")
    return _git(folder, *arguments) if top and Path(top).resolve() == folder.resolve() else ""


def _git(folder: Path, *arguments: str) -> str:
    """Run git without the variables of a hook, which would point it to another repository."""
    environment = {name: value for name, value in os.environ.items() if name not in ELSEWHERE}
    try:
        return subprocess.run(["git", *arguments], cwd=folder, env=environment, capture_output=True, text=True,
                              timeout=60, check=True, encoding="utf-8", errors="replace").stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""
