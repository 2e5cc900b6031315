"""Which version of the code: git's word in a checkout; and what is said where there is none. Oracle: repositories and
copies that the test makes."""

import json
from pathlib import Path

import pytest
from command import call
from project import git

import pcgraph_lite as pcg
from pcgraph_lite import checkout as code
from pcgraph_lite.files import load_tensors
from reproduction import checkout


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout of one commit with one file."""
    root = tmp_path / "checkout"
    root.mkdir()
    (root / "code.py").write_text("one\n")
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "first")
    monkeypatch.setattr(code, "ROOT", root)
    monkeypatch.delenv("PCGRAPH_COMMIT", raising=False)
    return root


def test_git_says_it_or_else_the_variable(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A saved graph names it, too."""
    head = git(root, "rev-parse", "HEAD")
    assert code.version() == (head, False)
    pcg.save(pcg.PCGraph(pcg.topology.generative(labels=2, hidden=[3], pixels=4)), tmp_path / "graph.safetensors")
    about = json.loads(load_tensors(tmp_path / "graph.safetensors", signed="pcgraph")[0]["pcgraph"])
    assert (about["commit"], about["changed"]) == (head, False)
    (root / "untracked.py").write_text("new\n")
    assert code.version() == (head, False)
    (root / "code.py").write_text("two\n")
    assert code.version() == (head, True)
    monkeypatch.setattr(code, "ROOT", tmp_path)
    monkeypatch.setenv("PCGRAPH_COMMIT", "abc")
    assert code.version() == ("abc", False)
    monkeypatch.delenv("PCGRAPH_COMMIT")
    assert code.version() == ("unknown", False)


@pytest.mark.parametrize("command", [
    ["scorecard"], ["run", "02-pc-graphs"], ["sweep", "lateral"], ["info"], ["book"], ["bench", "--quick"]])
def test_a_command_outside_a_checkout_says_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                    capsys: pytest.CaptureFixture, command: list[str]) -> None:
    monkeypatch.setattr(checkout, "ROOT", tmp_path)
    assert call(*command) == 2
    said = capsys.readouterr()
    assert "part of the repository" in " ".join(said.err.split())
    assert "verdict" not in said.out                                       # no table of claims that nobody has run


def test_a_repository_around_the_checkout_says_nothing_of_it(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of a ZIP that was unpacked inside somebody's own repository, or of a git hook of another one."""
    inside = root / "vendor/copy"
    inside.mkdir(parents=True)
    monkeypatch.setattr(code, "ROOT", inside)
    assert code.version() == ("unknown", False)
    assert list(checkout.earlier(inside, "code.py")) == [] and code.git("log", folder=inside) == ""
    monkeypatch.setenv("GIT_DIR", str(root / ".git"))
    assert code.version() == ("unknown", False)
    link = root.parent / "link"
    link.symlink_to(root)
    monkeypatch.setattr(code, "ROOT", link)
    assert code.version()[0] == git(root, "rev-parse", "HEAD")
