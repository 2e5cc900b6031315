"""The type hints of the library, by which the programs of its users are checked. Oracle: mypy."""

import subprocess
import sys
from pathlib import Path

import pytest

import pcgraph_lite as pcg
from reproduction.checkout import ROOT

WRONG = {"pcg.query(graph, clamp=pixels)": 'incompatible type "Tensor"',
         "pcg.query(graph, clamp={'pixels': pixels}, steps='many')": 'incompatible type "str"',
         "answer.energies": '"Answer" has no attribute "energies"',
         "pcg.qurey(graph)": 'no attribute "qurey"'}


def _mypy(*arguments: str) -> list[str]:
    """The lines in which mypy says what is wrong, or of which type something is."""
    done = subprocess.run([sys.executable, "-m", "mypy", *arguments], cwd=ROOT, text=True, capture_output=True)
    said = (done.stdout + done.stderr).splitlines()
    return [line for line in said if ": error: " in line or ": note: Revealed" in line]


@pytest.mark.slow
def test_the_library_keeps_its_hints() -> None:
    assert _mypy() == []


@pytest.mark.slow
def test_programs_are_checked_by_them(tmp_path: Path) -> None:
    """Every public name is known; right calls pass, and of the wrong ones each is refused."""
    program = tmp_path / "program.py"
    program.write_text("\n".join([
        "import torch", "import pcgraph_lite as pcg", *(f"reveal_type(pcg.{name})" for name in dir(pcg)),
        "graph = pcg.PCGraph(pcg.topology.generative(labels=2, hidden=[3], pixels=4), dtype=torch.float64)",
        "pixels = torch.rand(5, 4)",
        "answer = pcg.query(graph, clamp={'pixels': pixels}, steps=20)", *WRONG]), encoding="utf-8")
    said = _mypy(str(program))
    known, wrong = said[:len(dir(pcg))], said[len(dir(pcg)):]
    assert all(not line.endswith(('is "object"', 'is "builtins.object"', 'is "Any"')) for line in known), known
    assert len(wrong) == len(WRONG), wrong
    assert all(words in line for words, line in zip(WRONG.values(), wrong, strict=True)), wrong
