"""Digests of what decides a page: the code that it imports, the rules of its claims, and the packaged images. The
workflow runs a page again when one changes. Comments, docstrings and layout do not count.
"""

import ast
import hashlib
from collections.abc import Iterable
from functools import cache
from importlib.util import resolve_name
from pathlib import Path

import grimp

import pcgraph_lite
from pcgraph_lite.files import digest

from ..evidence import claims
from . import notebooks

HOME = Path(__file__).resolve().parent.parent.parent                      # of both packages
PACKAGES = ("pcgraph_lite", "reproduction")
TOLD = (ast.Module, ast.ClassDef, ast.FunctionDef)                         # what has a docstring
PUBLIC = {resolve_name(home, "pcgraph_lite") for home in pcgraph_lite.HOMES.values()}      # modules of public names


def page(name: str) -> str:
    """Digest of what decides a notebook's results besides its text, parameters and weights. Raises BadInput."""
    named: set[str] = set()
    for node in (node for cell in notebooks.cells(name) for node in ast.walk(ast.parse(cell.source))):
        if isinstance(node, ast.Import):
            named |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            modules = {f"{node.module}.{alias.name}" for alias in node.names} & _imports().modules
            named |= modules or {node.module}
    images = HOME / "pcgraph_lite" / "images"
    data = sorted(path for folder in ("sample", "weights") for path in (images / folder).rglob("*") if path.is_file())
    return _hash([code(named & _imports().modules), rules(name), *(f"{path.name} {digest(path)}" for path in data)])


def rules(notebook: str = "") -> str:
    """Digest of the rules of a notebook's claims, or of all claims if the name is empty. Raises BadInput, BadFile."""
    return _hash(claim.rule() for claim in claims.load_claims().values() if notebook in ("", claim.notebook))


def code(modules: Iterable[str]) -> str:
    """Digest of some modules of the two packages and of everything that they import from there."""
    seen = {found for module in modules for found in (module, *_imports().find_upstream_modules(module))}
    return _hash(f"{module} {_parsed(_file(module))}" for module in sorted(seen))


@cache
def _imports() -> grimp.ImportGraph:
    """Which module imports which. This adds the imports that no statement names: Python imports a package before its
    modules, the library loads its public names on demand, and ``baselines`` imports every module of its folder.
    """
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    baselines = {module for module in graph.modules if module.startswith("pcgraph_lite.baselines.")}
    unsaid = {"pcgraph_lite": PUBLIC, "pcgraph_lite.baselines": baselines}
    for module in graph.modules:
        for imported in unsaid.get(module, set()) | {module.rpartition(".")[0]} - {"", *PACKAGES}:
            graph.add_import(importer=module, imported=imported)
    return graph


def _file(module: str) -> Path:
    place = HOME.joinpath(*module.split("."))
    return place / "__init__.py" if place.is_dir() else place.with_suffix(".py")


@cache
def _parsed(file: Path) -> str:
    """The syntax tree of a file without its docstrings, as text."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, TOLD) and ast.get_docstring(node) is not None:
            del node.body[0]
    return ast.dump(tree)


def _hash(parts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
