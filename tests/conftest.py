"""One thread, no deadline, one seed: tests share the machine with each other, and their order must not matter."""

import time

import pytest
import torch
from hypothesis import settings

torch.set_num_threads(1)
STARTED = time.monotonic()
# These take minutes, the longest first.
FIRST = ("test_cluster.py", "test_browser_pages.py", "test_how_to.py", "test_site.py", "test_notebooks_run.py",
         "test_hostile.py", "test_workflow.py", "test_thin.py", "test_bench.py", "test_wheel.py", "test_sparse.py",
         "test_plain.py")
settings.register_profile("book", deadline=None, max_examples=50, derandomize=True)
settings.load_profile("book")


@pytest.fixture(autouse=True)
def _denormals() -> None:
    """`hardware.prepare` flushes denormals for the whole process; hypothesis refuses to draw floats after that."""
    torch.set_flush_denormal(False)


@pytest.fixture(autouse=True)
def _seed() -> None:
    """For inputs that a test draws without a generator of its own; the package never uses the global one."""
    torch.manual_seed(0)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--within", type=float, help="seconds: start no test later, and keep the files in their order")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Tests that a short run has no time for are skipped and counted."""
    within = item.config.getoption("within")
    if within is not None and time.monotonic() - STARTED > within:
        pytest.skip("left to make test: the time is over")


def pytest_collection_modifyitems(items: list[pytest.Item], config: pytest.Config) -> None:
    """Long files first, so that at the end no worker waits for another (with ``--no-loadscope-reorder``)."""
    if config.getoption("within") is None:
        items.sort(key=lambda item: FIRST.index(item.path.name) if item.path.name in FIRST else len(FIRST))
