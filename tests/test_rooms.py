"""Imports go one way, as `pyproject.toml` says under `importlinter`. Oracle: edits that break the rule, made here."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

from reproduction.checkout import ROOT

LINT = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as lint; lint()", "--no-cache"]


def _lint(folder: Path) -> str:
    """What import-linter says of the packages in a folder."""
    done = subprocess.run(LINT, cwd=folder, env=os.environ | {"PYTHONPATH": str(folder), "COLUMNS": "200"},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.stdout


def test_imports_go_one_way() -> None:
    said = _lint(ROOT)
    assert "4 kept, 0 broken" in said, said


BREACHES = {                                               # file -> a line that breaks a rule, and how that is said
    "pcgraph_lite/engine/weights.py": ("from ..images import datasets",                                    # upwards
                                       "pcgraph_lite.engine.weights -> pcgraph_lite.images.datasets"),
    "pcgraph_lite/images/metrics.py": ("from ..baselines import mlp",                                      # sideways
                                       "pcgraph_lite.images.metrics -> pcgraph_lite.baselines.mlp"),
    "pcgraph_lite/errors.py": ("def f():\n    from reproduction import cli",
                               "pcgraph_lite.errors -> reproduction.cli"),
    "reproduction/evidence/claims.py": ("from ..book import site",
                                        "reproduction.evidence.claims -> reproduction.book.site"),
    "pcgraph_lite/unplaced.py": ("", "unplaced"),                                              # a room without a place
    "benchmarks/rows.py": ("def f():\n    from benchmarks import suite", ".rows -> .suite")}       # a circle


def test_imports_against_the_rules_are_found(tmp_path: Path) -> None:
    for name in ("pcgraph_lite", "reproduction", "benchmarks"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "sample", "weights"))
    shutil.copy2(ROOT / "pyproject.toml", tmp_path)
    for file, (line, _) in BREACHES.items():
        with (tmp_path / file).open("a", encoding="utf-8") as text:
            text.write(f"\n{line}\n")
    said = _lint(tmp_path)
    assert "0 kept, 4 broken" in said and all(broken in said for _, broken in BREACHES.values()), said


def test_modules_of_rooms_are_there_when_they_are_named_and_not_before() -> None:
    """As api.md names them. Oracle: the files; to import the library brings neither them nor torch."""
    code = ("import sys, pathlib, pcgraph_lite as pcg; pcg.images; pcg.studies\n"
            "print([name for name in sys.modules if name.startswith(('pcgraph_lite.', 'torch'))])\n"
            "for room in ('baselines', 'images', 'studies'):\n"
            "    for path in pathlib.Path(pcg.__file__).parent.glob(room + '/[!_]*.py'):\n"
            "        part = getattr(getattr(pcg, room), path.stem)\n"
            "        assert part.__file__ == str(path), path\n"
            "    assert not hasattr(getattr(pcg, room), 'metric')")
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[0] == "['pcgraph_lite.images', 'pcgraph_lite.studies']"


def test_functions_are_short() -> None:
    """At most 30 lines of code each, without docstrings. Oracle: the style page."""
    long = []
    for path in sorted(path for name in ("pcgraph_lite", "reproduction") for path in (ROOT / name).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                told = [one.body[0] for one in ast.walk(node) if isinstance(one, ast.FunctionDef | ast.ClassDef)
                        and ast.get_docstring(one) is not None]
                lines = node.end_lineno - node.lineno + 1 - sum(text.end_lineno - text.lineno + 1 for text in told)
                long += [f"{path.name}: {node.name} has {lines} lines"] * (lines > 30)
    assert not long, long


def test_the_design_page_names_every_room_and_every_file_outside_the_rooms() -> None:
    page = (ROOT / "book/design.md").read_text(encoding="utf-8")
    for package in (ROOT / "pcgraph_lite", ROOT / "reproduction"):
        outside = {path.name for path in package.glob("*.py") if not path.name.startswith("__")}
        rooms = {f"{path.parent.name}/" for path in package.glob("*/__init__.py")}
        assert all(f"`{name}`" in page for name in outside | rooms)
