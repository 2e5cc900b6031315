"""Which tests can notice that files have changed, the nearest first; ``make quick`` runs as many as a minute holds:

    python tests/changed.py [FILE ...]         # without files: those not committed yet, or else those unlike main

Nearest are a changed test and the test of a changed module, then those that name it, or its folder of data.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EVERYTHING = {"tests/conftest.py", "pyproject.toml", "requirements.txt"}
SECONDS = 38                                               # for the tests; imports and ruff take the rest of a minute


def tests(files: Iterable[str]) -> list[Path]:
    """The test files that can notice a change of some files of the checkout, the nearest first."""
    every = sorted((ROOT / "tests").rglob("test_*.py"))
    changed = [Path(file) for file in files if not file.startswith("_build/")]
    if EVERYTHING & {path.as_posix() for path in changed}:
        return every
    near = {test: min((_distance(test, path) for path in changed), default=2) for test in every}
    return sorted((test for test in every if near[test] < 2), key=near.get)


def _distance(test: Path, file: Path) -> int:
    """0: the file itself, or the test of its name; 1: a test that names it; 2: any other."""
    if test == ROOT / file or test.stem == f"test_{file.stem}":
        return 0
    names = [rf"\b{re.escape(file.stem)}\b"]
    if file.suffix != ".py":                               # data, which a test may read with all of its folder
        names += [rf"[\"'/]{re.escape(folder.as_posix())}[\"'/]" for folder in file.parents[:-1]]
    return 2 - bool(re.search("|".join(names), test.read_text(encoding="utf-8")))


def differing() -> list[str]:
    """Files that are not committed yet, new ones included; if there are none, those that differ from the main branch of
    where the checkout was cloned from, or else from main here."""
    edited = {*_git("diff", "--name-only", "HEAD"), *_git("ls-files", "--others", "--exclude-standard")}
    bases = (_git("merge-base", "HEAD", main) for main in ("origin/HEAD", "origin/main", "main"))
    return sorted(edited or _git("diff", "--name-only", *next(filter(None, bases), ["HEAD"])))


def _git(*arguments: str) -> list[str]:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True).stdout.split()


if __name__ == "__main__":
    changed = sys.argv[1:] or differing()
    if not (found := tests(changed)):
        print(f"no test notices {', '.join(changed)}" if changed else "nothing differs from the main branch")
        sys.exit()
    print(f"{len(changed)} changed files, {len(found)} test files that can notice, the nearest first", flush=True)
    os.execv(sys.executable, [
        sys.executable, "-m", "pytest", "-n", str(os.cpu_count()), "--dist", "loadfile", "--no-loadscope-reorder",
        "-m", "not slow", "--within", str(SECONDS), *map(str, found)])
