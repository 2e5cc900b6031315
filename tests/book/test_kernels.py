"""The kernel of a page is a copy of the process that checked it. Oracle: the process table.

That pages come out as in a kernel of their own is tested in test_notebooks_run.py, against plain papermill.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

MAKER = """
import os, signal
from pcgraph_lite.book import kernels
copy = kernels.Copy()
copy.start()
print(copy.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems get a new process")
def test_a_copy_that_waits_ends_with_a_maker_that_was_killed() -> None:
    made = subprocess.run([sys.executable, "-c", MAKER], capture_output=True, text=True)
    assert made.returncode == -9
    for _ in range(100):
        if not Path(f"/proc/{made.stdout.strip()}").exists():
            return
        time.sleep(0.1)
    os.kill(int(made.stdout), 9)
    pytest.fail("the copy is still there")
