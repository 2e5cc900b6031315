"""The type hints of both packages; by those of the library its users' programs are checked, too. Oracle: mypy."""

import subprocess
import sys

import pytest

import pcgraph_lite as pcg
from reproduction.checkout import ROOT

PACKAGES = ("pcgraph_lite", "reproduction")                # as pyproject.toml has them
WRONG = {"pcg.query(graph, clamp=pixels)": 'incompatible type "Tensor"',
         "pcg.query(graph, clamp={'pixels': pixels}, steps='many')": 'incompatible type "str"',
         "answer.energies": '"Answer" has no attribute "energies"',
         "pcg.qurey(graph)": 'no attribute "qurey"'}


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What mypy says of the packages and a program that uses the library: what is wrong, of which type something is."""
    program = tmp_path_factory.mktemp("used") / "program.py"
    program.write_text("\n".join([
        "import torch", "import pcgraph_lite as pcg", *(f"reveal_type(pcg.{name})" for name in dir(pcg)),
        "graph = pcg.PCGraph(pcg.topology.generative(labels=2, hidden=[3], pixels=4), dtype=torch.float64)",
        "pixels = torch.rand(5, 4)",
        "answer = pcg.query(graph, clamp={'pixels': pixels}, steps=20)", *WRONG]), encoding="utf-8")
    done = subprocess.run([sys.executable, "-m", "mypy", *PACKAGES, program], cwd=ROOT, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.stdout.splitlines()


@pytest.mark.slow
def test_the_packages_keep_their_hints(said: list[str]) -> None:
    assert [line for line in said if line.startswith(PACKAGES)] == []
    assert f"Found {len(WRONG)} errors in 1 file" in said[-1], said


@pytest.mark.slow
def test_programs_are_checked_by_them(said: list[str]) -> None:
    """Every public name is known; right calls pass, and of the wrong ones each is refused."""
    known, wrong = ([line for line in said if kind in line] for kind in (": note: Revealed", ": error: "))
    assert len(known) == len(dir(pcg)), said
    assert not [line for line in known if line.endswith(('is "object"', 'is "builtins.object"', 'is "Any"'))]
    assert len(wrong) == len(WRONG), wrong
    assert all(words in line for words, line in zip(WRONG.values(), wrong, strict=True)), wrong
