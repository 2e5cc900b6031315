"""One thread, no deadline, one seed: tests share the machine with each other, and their order must not matter."""

import shutil
import sys
import time
from pathlib import Path

import pytest
import torch
import warm
from hypothesis import settings
from project import FIXTURE

from reproduction import checkout

torch.set_num_threads(1)
# These take longest, so that no worker waits for another at the end. The numbers of the notebooks are compared last.
FIRST = ("test_browser_pages.py", "test_how_to.py", "*.ipynb", "test_site.py", "test_workflow.py",
         "test_browser_live.py", "test_hostile.py", "test_pages.py", "test_bench.py", "test_notebooks_run.py",
         "test_packages.py", "test_sparse.py", "test_cluster.py")
LAST = "test_numbers.py"
STARTED = pytest.StashKey[float]()
LATER = "left to make test"
settings.register_profile("book", deadline=None, max_examples=50, derandomize=True)
settings.load_profile("book")


@pytest.fixture(autouse=True)
def _alike() -> None:
    """What a test, or `hardware.prepare`, changes for the whole process is put back; hypothesis refuses to draw floats
    where denormals are flushed. And a seed for inputs that a test draws without a generator of its own; the package
    never uses the global one."""
    torch.set_flush_denormal(False)
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float32)
    torch.manual_seed(0)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the small project as the checkout, for what runs in this process."""
    shutil.copytree(FIXTURE, tmp_path, dirs_exist_ok=True)
    monkeypatch.setattr(checkout, "ROOT", tmp_path)
    return tmp_path


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--within", type=float, help="seconds: start no test later, and keep the files in their order")


def pytest_configure(config: pytest.Config) -> None:
    """Where the notebooks run, programs and kernels start from a warm Python."""
    if config.getoption("nbval_lax") and not hasattr(config, "workerinput") and sys.platform == "linux":
        warm.start()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Tests that a short run has no time for are skipped and counted. Its time begins with the first test, because a
    busy machine may need all of it to find them."""
    within, started = item.config.getoption("within"), item.config.stash.setdefault(STARTED, time.monotonic())
    if within is not None and time.monotonic() - started > within:
        pytest.skip(f"{LATER}: the time is over")


def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, str] | None:
    """They have no letter in the progress, and a count of their own."""
    return (LATER, "", "") if report.skipped and LATER in str(report.longrepr) else None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The files that they are in, in the order in which they would have run."""
    if left := dict.fromkeys(report.nodeid.split("::")[0] for report in terminalreporter.stats.get(LATER, [])):
        terminalreporter.write_line(f"no time for tests of {len(left)} files: pytest {' '.join(left)}")


def pytest_collection_modifyitems(items: list[pytest.Item], config: pytest.Config) -> None:
    """Long files first (with ``--no-loadscope-reorder``)."""
    def place(item: pytest.Item) -> tuple[bool, int]:
        first = next((k for k, name in enumerate(FIRST) if item.path.match(name)), len(FIRST))
        return item.path.name == LAST, first

    if config.getoption("within") is None:
        items.sort(key=place)
