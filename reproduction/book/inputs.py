"""Digests of what decides the pages: the code behind them and its tables, the rules of their claims, and the packaged
images. The workflow runs a page again when one changes. Comments, docstrings and layout do not count. Nearly every page
imports nearly all of the code, so all of it counts for each page, but for the modules that only build the site.
"""

import ast
import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from pcgraph_lite.files import digest

from .. import checkout
from ..evidence import claims, strict, words

PACKAGES = ("pcgraph_lite", "reproduction")
TABLES = ("decays", "sentences", "sweeps")                                 # of reproduction/evidence, beside its code
TOLD = (ast.Module, ast.ClassDef, ast.FunctionDef)                         # what has a docstring
SITE = {"__main__", "cli", "findings", "figures", "gate", "inputs", "layout", "live",
        "render", "runs", "score", "settings", "site", "speed"}            # of reproduction; no page imports them


def page(name: str) -> str:
    """Digest of what decides a notebook's results besides its text, parameters and weights. Raises BadInput."""
    images = checkout.ROOT / "pcgraph_lite" / "images"
    data = sorted(path for folder in ("sample", "weights") for path in (images / folder).rglob("*") if path.is_file())
    tables = (str(strict.read_yaml(checkout.ROOT / "reproduction" / "evidence" / f"{part}.yaml")) for part in TABLES)
    told = words.load()                                                    # of which pages read these
    names = map(str, (told.graphs, told.shorter, told.measures))
    return _hash([code(), rules(name), *tables, *names, *(f"{path.name} {digest(path)}" for path in data)])


def rules(notebook: str = "") -> str:
    """Digest of the rules of a notebook's claims, or of all claims if the name is empty. Raises BadInput, BadFile."""
    return _hash(claim.rule() for claim in claims.load_claims().values() if notebook in ("", claim.notebook))


@cache
def code(site: bool = False) -> str:
    """Digest of the code behind the pages, and that of the ``site`` around them."""
    files = sorted(path for package in PACKAGES for path in (checkout.ROOT / package).rglob("*.py"))
    return _hash(f"{path.relative_to(checkout.ROOT)} {_parsed(path)}" for path in files
                 if site or path.parts[len(checkout.ROOT.parts)] != "reproduction" or path.stem not in SITE)


def _parsed(file: Path) -> str:
    """The syntax tree of a file without its docstrings, as text."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, TOLD) and ast.get_docstring(node) is not None:
            del node.body[0]
    return ast.dump(tree)


def _hash(parts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
