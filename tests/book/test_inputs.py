"""What decides a page: code as Python reads it; of rules, test_workflow.py asks. Oracle: a small package that is
edited; the imports that grimp finds."""

import ast
from pathlib import Path

import grimp
import pytest

from reproduction import checkout
from reproduction.book import inputs, notebooks
from reproduction.evidence import config, words

FILES = {"pcgraph_lite/site": "z = 0\n", "reproduction/book/site": "y = 3\n",
         "reproduction/book/pages": 'from . import two\n\ndef f():\n    """Words."""\n    return two.x\n'}


@pytest.mark.parametrize(("file", "old", "new", "changes"), [
    ("reproduction/book/pages", "Words.", "Other words.", (False, False)),
    ("reproduction/book/pages", "from . import two", "# why\nfrom . import (\n    two,\n)", (False, False)),
    ("reproduction/book/pages", "return two.x", "return two.y", (True, True)),
    ("reproduction/book/site", "y = 3", "y = 30", (False, True)),
    ("pcgraph_lite/site", "z = 0", "z = 1", (True, True))])
def test_digest_follows_the_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, old: str, new: str,
                                 changes: tuple[bool, bool]) -> None:
    """That of pages and that of the site; neither comments, docstrings nor layout."""
    for name, text in FILES.items():
        path = tmp_path / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(checkout, "ROOT", tmp_path)

    def fresh() -> list[str]:
        return [inputs.code.__wrapped__(site) for site in (False, True)]

    before, path = fresh(), tmp_path / f"{file}.py"
    path.write_text(path.read_text().replace(old, new))
    assert tuple(a != b for a, b in zip(before, fresh(), strict=True)) == changes


def test_no_page_imports_a_module_of_the_site() -> None:
    """Directly or through others; each of these is a module that is there."""
    graph = grimp.build_graph("reproduction", cache_dir=None)
    named = {f"{node.module}.{alias.name}" for page in config.notebook_names() for cell in notebooks.cells(page)
             for node in ast.walk(ast.parse(cell.source)) if isinstance(node, ast.ImportFrom) for alias in node.names}
    direct = named & graph.modules
    used = direct.union(*(graph.find_upstream_modules(module) for module in direct))
    site = {module for module in graph.modules if module.rpartition(".")[2] in inputs.SITE}
    assert len(site) == len(inputs.SITE) and not used & site


def test_pages_follow_the_names_that_they_read_and_no_other_words(monkeypatch: pytest.MonkeyPatch) -> None:
    book, before = words.load(), inputs.page("l-settings")
    for part, changes in (("graphs", True), ("measures", True), ("causes", False)):
        told = getattr(book, part)
        with monkeypatch.context() as patched:
            patched.setattr(words, "load", lambda part=part, told=told: book.model_copy(
                update={part: {**told, "new": next(iter(told.values()))}}))
            assert (inputs.page("l-settings") != before) is changes, part
