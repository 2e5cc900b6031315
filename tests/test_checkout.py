"""Which version of the code: git's word in a checkout, the packed note in a bundle.

Oracle: repositories and copies that the test makes.
"""

import shutil
from pathlib import Path

import pytest
from project import git

from pcgraph_lite import checkout, config
from pcgraph_lite.errors import PCGraphError


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout of one commit with one file."""
    root = tmp_path / "checkout"
    root.mkdir()
    (root / "code.py").write_text("one\n")
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "first")
    monkeypatch.setattr(config, "ROOT", root)
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


def test_in_a_bundle_the_note_says_it(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even where the bundle lies in a checkout of something else, and whatever the variable says."""
    bundle = root / "bundle"
    bundle.mkdir()
    shutil.copy(root / "code.py", bundle)
    checkout.write_note(bundle, "c" * 40)
    monkeypatch.setattr(config, "ROOT", bundle)
    monkeypatch.setenv("PCGRAPH_COMMIT", "another")
    assert checkout.version() == ("c" * 40, False)
    (bundle / "made.txt").write_text("a result\n")
    assert checkout.version() == ("c" * 40, False)
    (bundle / "code.py").write_text("edited on the host\n")
    assert checkout.version() == ("c" * 40, True)
    (bundle / "code.py").unlink()
    assert checkout.version() == ("c" * 40, True)


def test_without_git_the_variable_says_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And where nothing does, the commit is unknown."""
    monkeypatch.setattr(config, "ROOT", tmp_path)
    monkeypatch.setenv("PCGRAPH_COMMIT", "abc")
    assert checkout.version() == ("abc", False)
    monkeypatch.delenv("PCGRAPH_COMMIT")
    assert checkout.version() == ("unknown", False)
    with pytest.raises(PCGraphError, match=r"git status failed.*not a git repository"):
        checkout.git("status")


def test_history(root: Path) -> None:
    """Ancestors are known; another branch, the name of a branch and an option in disguise are not."""
    first = git(root, "rev-parse", "HEAD")
    git(root, "checkout", "-qb", "side")
    git(root, "commit", "-qm", "beside", "--allow-empty")
    beside = git(root, "rev-parse", "HEAD")
    assert checkout.knows(first) and checkout.knows(beside)
    git(root, "checkout", "-q", first)
    git(root, "commit", "-qm", "second", "--allow-empty")
    assert checkout.knows(first) and not checkout.knows(beside)
    assert not any(checkout.knows(name) for name in ("unknown", "a" * 40, "HEAD", "--all", first[:9]))
