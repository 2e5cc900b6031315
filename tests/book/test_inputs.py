"""What decides a page: code as Python reads it, rules as YAML reads them. Oracle: a small package that is edited;
Python's own list of the modules that an import loads."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import warm

from reproduction.book import inputs
from reproduction.evidence import claims, config

NAME = "a_small_package"
FILES = {
    "__init__": "",
    "room/__init__": "z = 0\n",
    "room/one": 'from . import two\nfrom ..other import NAME\n\ndef f():\n    """Words."""\n    return two.x + NAME\n',
    "room/two": "x = 1\n",
    "other": "NAME = 2\n",
    "lone": "y = 3\n",
}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package in which `room.one` imports `room.two` and `other`, and nobody `lone`."""
    root = tmp_path / NAME
    for name, text in FILES.items():
        path = root / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(inputs, "HOME", tmp_path)
    monkeypatch.setattr(inputs, "PACKAGES", (NAME,))
    monkeypatch.syspath_prepend(tmp_path)
    forget()
    yield root
    forget()


def forget() -> None:
    """Let the files be read anew."""
    inputs._imports.cache_clear()
    inputs._parsed.cache_clear()


@pytest.mark.parametrize(("file", "old", "new", "changes"), [
    ("room/one", "Words.", "Other words.", False),
    ("room/one", "from . import two", "# why\nfrom . import (\n    two,\n)", False),
    ("room/two", "x = 1", "x = 10", True),
    ("other", "NAME = 2", "NAME = 20", True),
    ("lone", "y = 3", "y = 30", False),
    ("room/__init__", "z = 0", "z = 1", True),
    ("room/one", "two.x + NAME", "two.x - NAME", True),
])
def test_digest_follows_the_code_that_is_imported(package: Path, file: str, old: str, new: str, changes: bool) -> None:
    """And neither comments, docstrings, layout nor other modules."""
    def fresh() -> str:
        forget()
        return inputs.code([f"{NAME}.room.one"])

    before, path = fresh(), package / f"{file}.py"
    path.write_text(path.read_text().replace(old, new))
    assert (fresh() != before) == changes


def test_every_module_that_python_loads_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's list is the oracle, after each of three imports; ours may be longer by what functions import."""
    modules = ["pcgraph_lite.engine.graph", "reproduction.evidence.zoo", "reproduction.book.tables"]
    code = "\n".join(["import sys", *(f"import {module}; print(*sys.modules)" for module in modules)])
    done = subprocess.run([warm.python(), "-c", code], check=True, text=True, capture_output=True)
    seen: list[str] = []
    monkeypatch.setattr(inputs, "_file", lambda module: seen.append(module) or Path(__file__))
    for module, loaded in zip(modules, done.stdout.splitlines(), strict=True):
        inputs.code([module])
        assert {name for name in loaded.split() if name.startswith(("pcgraph_lite.", "reproduction."))} <= set(seen)


def test_rules_of_a_page_and_that_pages_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    """A claim's rule counts for the page that serves it, and for the scorecard."""
    pages = ["02-pc-graphs", "03a-fully-connected"]
    before = [inputs.rules(page) for page in [*pages, ""]]
    changed = claims.load_claims()
    changed["eq1"] = changed["eq1"].model_copy(update={"paper": "in other words"})
    monkeypatch.setattr(claims, "load_claims", lambda: changed)
    after = [inputs.rules(page) for page in [*pages, ""]]
    assert [a != b for a, b in zip(before, after, strict=True)] == [True, False, True]
    assert len({inputs.page(name) for name in config.notebook_names()[:7]}) > 5
