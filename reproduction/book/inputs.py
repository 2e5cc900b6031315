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

import pcgraph_lite
from pcgraph_lite.files import digest

from ..evidence import claims
from . import notebooks

HOME = Path(__file__).resolve().parent.parent.parent                      # of both packages
PACKAGES = ("pcgraph_lite", "reproduction")
TOLD = (ast.Module, ast.ClassDef, ast.FunctionDef)                         # what has a docstring
ROOT_NAMES = {resolve_name(home, "pcgraph_lite") for home in pcgraph_lite.HOMES.values()}


def page(name: str) -> str:
    """Digest of what decides a notebook's results beside its text, its parameters and its weights. Raises BadInput."""
    imported = {module for cell in notebooks.cells(name) for module in _imported(ast.parse(cell.code), "")}
    return _hash([code(imported), rules(name), _data()])


def rules(notebook: str = "") -> str:
    """Digest of the claims that a notebook serves; of all claims if empty. Raises BadInput, BadFile."""
    return _hash(claim.rule() for claim in claims.load_claims().values() if notebook in ("", claim.notebook))


def code(modules: Iterable[str]) -> str:
    """Digest of some modules of the two packages and of all that they import, as Python reads them."""
    seen: set[str] = set()
    waiting = set(modules)
    while waiting:
        seen |= waiting
        waiting = {found for module in waiting for found in _content(module)[1]} - seen
    return _hash(f"{module} {_content(module)[0]}" for module in sorted(seen))


def docstrings() -> str:
    """Digest of what the modules, classes and functions of the library say of themselves."""
    paths = sorted((HOME / "pcgraph_lite").rglob("*.py"))
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in paths)
    return _hash(ast.get_docstring(node) or "" for tree in trees for node in ast.walk(tree) if isinstance(node, TOLD))


@cache
def _content(module: str) -> tuple[str, frozenset[str]]:
    """A module's syntax tree without docstrings, as text, and the modules of the packages that it imports."""
    path, parent = _file(module), module.rpartition(".")[0]
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    package = module if path.name == "__init__.py" else parent
    imported = _imported(tree, package) | ({parent} - {"", *PACKAGES})
    if module == "pcgraph_lite":
        imported |= ROOT_NAMES
    elif "iter_modules" in text and path.name == "__init__.py":            # a folder that imports all that is in it
        imported |= {f"{module}.{file.stem}" for file in path.parent.glob("*.py")} - {f"{module}.__init__"}
    for node in ast.walk(tree):
        if isinstance(node, TOLD) and ast.get_docstring(node) is not None:
            del node.body[0]
    return ast.dump(tree), frozenset(imported)


def _imported(tree: ast.AST, package: str) -> set[str]:
    """The modules of the packages that some code imports, anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = resolve_name("." * node.level + (node.module or ""), package)
            names = [f"{base}.{alias.name}" for alias in node.names]
            found |= {name if _file(name) else base for name in names}     # a module, or something in one
    return {name for name in found if name.partition(".")[0] in PACKAGES}


def _file(module: str) -> Path | None:
    place = HOME.joinpath(*module.split("."))
    return next((path for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file()), None)


@cache
def _data() -> str:
    """The bundled sample and the judges' weights."""
    images = HOME / "pcgraph_lite" / "images"
    files = sorted(path for folder in ("sample", "weights") for path in (images / folder).rglob("*"))
    return _hash(f"{path.name} {digest(path)}" for path in files if path.is_file())


def _hash(parts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
