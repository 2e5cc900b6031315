"""The examples in the docstrings of the names that matter run. Oracle: what stands below each line of them."""

import doctest
from operator import attrgetter

import pytest
import torch

import pcgraph_lite as pcg

NAMES = ["PCGraph", "Topology", "Settings", "fit", "query", "observed", "relax", "accuracy", "Scale", "save",
         "hardware.pick_device",
         *(f"topology.{name}" for name in ("fully_connected", "generative", "from_mask", "from_networkx",
                                             "to_networkx"))]


@pytest.mark.parametrize("name", NAMES)
def test_the_example_runs(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """With ``torch`` and ``pcg`` imported."""
    finder, names = doctest.DocTestFinder(recurse=False), {"pcg": pcg, "torch": torch}
    (example,) = finder.find(attrgetter(name)(pcg), name, globs=names)
    failed, tried = doctest.DocTestRunner().run(example)
    assert tried and not failed, capsys.readouterr().out
