"""Which version of the code: git's word in a checkout.

Oracle: repositories and copies that the test makes.
"""

from pathlib import Path

import pytest
from project import git

from pcgraph_lite import checkout


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout of one commit with one file."""
    root = tmp_path / "checkout"
    root.mkdir()
    (root / "code.py").write_text("one\n")
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "first")
    monkeypatch.setattr(checkout, "ROOT", root)
    monkeypatch.delenv("PCGRAPH_COMMIT", raising=False)
    return root


def test_in_a_checkout_git_says_it(root: Path) -> None:
    """The commit, and whether tracked files differ."""
    head = git(root, "rev-parse", "HEAD")
    assert checkout.version() == (head, False)
    (root / "untracked.py").write_text("new\n")
    assert checkout.version() == (head, False)
    (root / "code.py").write_text("two\n")
    assert checkout.version() == (head, True)


def test_without_git_the_variable_says_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And where nothing does, the commit is unknown."""
    monkeypatch.setattr(checkout, "ROOT", tmp_path)
    monkeypatch.setenv("PCGRAPH_COMMIT", "abc")
    assert checkout.version() == ("abc", False)
    monkeypatch.delenv("PCGRAPH_COMMIT")
    assert checkout.version() == ("unknown", False)
