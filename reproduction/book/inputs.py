"""What decides a page: the code that it imports, the rules of its claims, the images that are part of the package.

The workflow runs a page again when one of these digests changes. Comments, docstrings and layout are no part of them;
docstrings decide the API reference alone.
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
    """Digest of what decides a notebook's results beside its text, its parameters and its weights. Raises BadInput."""
    named: set[str] = set()
    for node in (node for cell in notebooks.cells(name) for node in ast.walk(ast.parse(cell.code))):
        if isinstance(node, ast.Import):
            named |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            modules = {f"{node.module}.{alias.name}" for alias in node.names} & _imports().modules
            named |= modules or {node.module}
    images = HOME / "pcgraph_lite" / "images"
    data = sorted(path for folder in ("sample", "weights") for path in (images / folder).rglob("*") if path.is_file())
    return _hash([code(named & _imports().modules), rules(name), *(f"{path.name} {digest(path)}" for path in data)])


def rules(notebook: str = "") -> str:
    """Digest of the claims that a notebook serves; of all claims if empty. Raises BadInput, BadFile."""
    return _hash(claim.rule() for claim in claims.load_claims().values() if notebook in ("", claim.notebook))


def code(modules: Iterable[str]) -> str:
    """Digest of some modules of the two packages and of all that they import, as Python reads them."""
    seen = {found for module in modules for found in (module, *_imports().find_upstream_modules(module))}
    return _hash(f"{module} {_without_docstrings(module)}" for module in sorted(seen))


def docstrings() -> str:
    """Digest of what the modules, classes and functions of the library say of themselves."""
    paths = sorted((HOME / PACKAGES[0]).rglob("*.py"))
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in paths)
    return _hash(ast.get_docstring(node) or "" for tree in trees for node in ast.walk(tree) if isinstance(node, TOLD))


@cache
def _imports() -> grimp.ImportGraph:
    """Which module imports which. Some imports no statement names: a package is imported before what is in it, the
    library's public names come from their modules when they are asked for, and the baselines are all that lie there.
    """
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    baselines = {module for module in graph.modules if module.startswith("pcgraph_lite.baselines.")}
    unsaid = {"pcgraph_lite": PUBLIC, "pcgraph_lite.baselines": baselines}
    for module in graph.modules:
        for imported in unsaid.get(module, set()) | {module.rpartition(".")[0]} - {"", *PACKAGES}:
            graph.add_import(importer=module, imported=imported)
    return graph


@cache
def _without_docstrings(module: str) -> str:
    """The syntax tree of a module, as text."""
    place = HOME.joinpath(*module.split("."))
    file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, TOLD) and ast.get_docstring(node) is not None:
            del node.body[0]
    return ast.dump(tree)


def _hash(parts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
