"""Which tests can notice that files have changed, the nearest first; ``make quick`` runs as many as a minute holds:

    python tests/changed.py [FILE ...]         # without files: those not committed yet, or else those unlike main

A test notices a module that it imports, directly or through others (grimp reads the imports of the packages), and any
other file that it, or a module on that way, names in its code.
"""

import ast
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import grimp

import pcgraph_lite

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("pcgraph_lite", "reproduction", "benchmarks")
FOLDERS = ("tests", "scripts")                             # of files that are imported by their name alone
EVERYTHING = ("tests/conftest.py", "pyproject.toml", "requirements.txt")
SECONDS = 38                                               # for the tests; imports and ruff take the rest of a minute


def tests(files: Iterable[str], furthest: int | None = None) -> list[Path]:
    """The test files that can notice a change of some files of the checkout, the nearest first. ``furthest``: at most
    so many imports from a changed file, or code that names it, to a test. None: any number. First come those that
    have changed, then those named after a changed file."""
    files = [file for file in files if not file.startswith("_build/")]
    every = sorted((ROOT / "tests").rglob("test_*.py"))
    if set(files) & {*EVERYTHING}:
        return every
    seen = {node: 0 for node in _code() if node in files or any(_names(node, file) for file in files)}
    importers, waiting = _importers(), sorted(seen)
    for node in waiting:                                   # grows
        for further in sorted(importers[node] - seen.keys()):
            seen[further] = seen[node] + 1
            waiting.append(further)
    limit = len(seen) if furthest is None else furthest
    found = [path for path in every if seen.get(_place(path), limit + 1) <= limit]
    changed = {Path(file).stem for file in files}
    return sorted(found, key=lambda path: (_place(path) not in files, path.stem.removeprefix("test_") not in changed,
                                           seen[_place(path)]))


def differing() -> list[str]:
    """Files that are not committed yet, new ones included; if there are none, those that differ from the main branch of
    where the checkout was cloned from, or else from main here."""
    edited = {*_git("diff", "--name-only", "HEAD"), *_git("ls-files", "--others", "--exclude-standard")}
    bases = (_git("merge-base", "HEAD", main) for main in ("origin/HEAD", "origin/main", "main"))
    return sorted(edited or _git("diff", "--name-only", *next(filter(None, bases), ["HEAD"])))


@cache
def _code() -> dict[str, ast.Module]:
    """Every Python file that tests can reach: its place in the checkout -> what it says."""
    paths = [path for folder in (*PACKAGES, *FOLDERS) for path in sorted((ROOT / folder).rglob("*.py"))]
    return {_place(path): ast.parse(path.read_text(encoding="utf-8")) for path in paths}


@cache
def _importers() -> dict[str, set[str]]:
    """File -> the files that import it."""
    graph = grimp.build_graph(*PACKAGES, exclude_type_checking_imports=True, cache_dir=None)
    found = defaultdict(set)
    home = {module: _file(module) for module in graph.modules}
    home |= {Path(place).stem: place for place in _code() if place.startswith(FOLDERS)}
    for module in graph.modules:
        found[home[module]] |= {home[other] for other in graph.find_modules_that_directly_import(module)}
    for place in _code():
        for name in _imported(place) if place.startswith(FOLDERS) else ():
            if name in home:
                found[home[name]].add(place)
    return found


def _imported(place: str) -> set[str]:
    """The names by which a file outside the packages may reach modules: imports, also of what ``pcg`` has from others,
    ``pcg.*``, and commands in quotes."""
    tree, homes = _code()[place], pcgraph_lite.HOMES
    names = {node.attr if isinstance(node, ast.Attribute) else node.name for node in ast.walk(tree)
             if isinstance(node, ast.Attribute | ast.alias)}
    found = {f"pcgraph_lite{homes[name]}" for name in names & homes.keys()}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found | ({"reproduction.__main__"} if _words(place) & {"reproduction", "pcgraph"} else set())


def _names(place: str, file: str) -> bool:
    """Whether code names a file, its folder, or has it beside itself under its own name."""
    beside = Path(file).parent == Path(place).parent and Path(file).stem == Path(place).stem
    words = {Path(file).name, *map(str, [Path(file), *Path(file).parents[:-1]])}
    return not file.endswith(".py") and (beside or bool(words & _words(place)))


@cache
def _words(place: str) -> set[str]:
    """The texts in quotes of a file."""
    return {node.value.strip("/") for node in ast.walk(_code()[place])
            if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def _file(module: str) -> str:
    place = ROOT.joinpath(*module.split("."))
    return _place(place / "__init__.py" if place.is_dir() else place.with_suffix(".py"))


def _place(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _git(*arguments: str) -> list[str]:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True).stdout.split()


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))                          # benchmarks are not installed
    changed = sys.argv[1:] or differing()
    if not (found := tests(changed)):
        print(f"no test notices {', '.join(changed)}" if changed else "nothing differs from the main branch")
        sys.exit()
    print(f"{len(changed)} changed files, {len(found)} test files that can notice, the nearest first", flush=True)
    os.execv(sys.executable, [
        sys.executable, "-m", "pytest", "-n", str(os.cpu_count()), "--dist", "loadfile", "--no-loadscope-reorder",
        "-m", "not slow", "--within", str(SECONDS), *map(str, found)])
