"""Which tests `make quick` chooses. Oracle: tests that plainly do or do not reach a file."""

import os
import subprocess
import sys

import changed
import pytest


@pytest.mark.parametrize(("file", "first", "never"), [
    ("pcgraph_lite/baselines/dam.py", "baselines/test_dam.py", "baselines/test_rbm.py"),
    ("pcgraph_lite/engine/solvers.py", "engine/test_solvers.py", "evidence/test_decimals.py"),
    ("pcgraph_lite/engine/graph.py", "test_files.py", "evidence/test_decimals.py"),    # pcgraph_lite.PCGraph
    ("reproduction/evidence/claims.yaml", "evidence/test_claims.py", "engine/test_graph.py"),
    ("reproduction/evidence/numerics.json", "evidence/test_numerics.py", "engine/test_graph.py"),
    ("notebooks/e-rbm.md", "book/test_pages.py", "baselines/test_rbm.py"),
    ("tests/golden.py", "evidence/test_numerics.py", "engine/test_graph.py"),
    ("tests/engine/test_graph.py", "engine/test_graph.py", "engine/test_solvers.py")])
def test_what_reaches_a_file_can_notice_it(file: str, first: str, never: str) -> None:
    near, found = ({test.relative_to(changed.ROOT / "tests").as_posix() for test in changed.tests([file], furthest)}
                   for furthest in (1, None))
    assert first in near <= found and never not in found


def test_changed_tests_come_first_then_the_nearest_and_what_every_test_uses_concerns_all() -> None:
    chosen = [test.name for test in changed.tests(["pcgraph_lite/engine/query.py"])]
    assert chosen.index("test_query.py") < chosen.index("test_workflow.py")
    new = ["book/api.md", "config/models.yaml", "pcgraph_lite/engine/activations.py", "tests/engine/test_topology.py"]
    assert [test.name for test in changed.tests(new)[:3]] == ["test_topology.py", "test_api.py", "test_activations.py"]
    assert len(changed.tests(["tests/conftest.py"])) == len(list((changed.ROOT / "tests").rglob("test_*.py")))
    assert changed.tests(["_build/smoke/records/e-rbm.json"]) == []


def test_the_script_finds_every_package_from_anywhere() -> None:
    """As make quick starts it: the checkout is not on Python's path. It ends with what no test can notice."""
    alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, changed.ROOT / "tests/changed.py", "_build/nowhere.txt"]
    ended = subprocess.run(command, cwd="/", env=alone, capture_output=True, text=True)
    assert ended.stdout == "no test notices _build/nowhere.txt\n" and not ended.returncode
