"""Every public name has an example in its docstring, and it runs. Oracle: what stands below each line of it."""

import doctest
from operator import attrgetter
from types import ModuleType

import pytest
import torch

import pcgraph_lite as pcg
from pcgraph_lite import topology

MAKERS = (*topology.CONSTRUCTORS, "from_mask", "from_networkx", "to_networkx")
NAMES = [*(name for name in pcg.__all__ if not isinstance(getattr(pcg, name), ModuleType)), "hardware.pick_device",
         *(f"topology.{name}" for name in MAKERS)]


@pytest.mark.parametrize("name", NAMES)
def test_the_example_runs(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    finder, names = doctest.DocTestFinder(recurse=False), {"pcg": pcg, "torch": torch}
    (example,) = finder.find(attrgetter(name)(pcg), name, globs=names)
    failed, tried = doctest.DocTestRunner().run(example)
    assert tried and not failed, capsys.readouterr().out
