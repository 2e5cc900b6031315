"""A small project in a temporary folder: a copy of both packages with two tiny models and one notebook. Runs are real
(processes, kernels, Snakemake), and editing a library file there harms nobody."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import warm

HERE = Path(__file__).resolve().parent
FIXTURE = HERE / "fixtures/project"
PATIENCE = 600                                                 # seconds


def git(root: Path, *arguments: str) -> str:
    """Run git as somebody, whatever the machine's settings are."""
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *who, *arguments], cwd=root, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def edit(path: Path, old: str, new: str) -> None:
    """Replace text that must be there."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


class Project:
    """The small project, and what runs in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.settings: tuple[str, ...] = ()                                # of the workflow, such as together=no
        shutil.copytree(FIXTURE, root, dirs_exist_ok=True)
        for package in ("pcgraph_lite", "reproduction"):
            shutil.copytree(HERE.parent / package, root / package, dirs_exist_ok=True,
                            ignore=shutil.ignore_patterns("*.pyc.*", "*.part"))
        shutil.copy2(HERE.parent / "Snakefile", root)
        path = os.pathsep.join([str(warm.commands()), str(Path(sys.executable).parent), os.environ["PATH"]])
        self.environment = os.environ | {"PYTHONPATH": str(root), "PATH": path, "OMP_NUM_THREADS": "1",
                                         "COLUMNS": "200", "PCGRAPH_COMMIT": "a-test"}

    def pcgraph(self, *arguments: str, code: int = 0, python: str | None = None) -> str:
        """Run ``pcgraph``; its output, both streams together, with runs of white space as one space."""
        done = subprocess.run([python or warm.python(), "-m", "reproduction", *arguments], cwd=self.root,
                              env=self.environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert done.returncode == code, done.stdout
        return " ".join(done.stdout.split())

    def start(self, *options: str, profile: str = "smoke", python: str = sys.executable) -> subprocess.Popen:
        """Start ``snakemake`` for all up to the scorecard, in a process group of its own, so that it can be killed."""
        command = [python, "-m", "snakemake", "--cores", "2", "--keep-incomplete", "--rerun-incomplete", "--nolock",
                   *options, "--config", f"profile={profile}", *self.settings, "--", "scorecard"]
        return subprocess.Popen(command, cwd=self.root, env=self.environment, text=True, start_new_session=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def snakemake(self, *options: str, code: int = 0) -> str:
        """Run ``snakemake`` to its end. Returns what it printed."""
        output, _ = (running := self.start(*options, python=warm.python())).communicate()
        assert running.returncode == code, output
        return output

    @staticmethod
    def wait_until(true: Callable[[], object], running: subprocess.Popen) -> None:
        """Look until it is so; fail with what the run printed if it ends before, or after ten minutes."""
        end = time.monotonic() + PATIENCE
        while not true():
            if time.monotonic() > end:
                os.killpg(running.pid, signal.SIGTERM)
            assert running.poll() is None, running.communicate()[0]
            time.sleep(0.02)

    def planned(self) -> dict[str, int]:
        """How many jobs of each rule a run would start now."""
        table = self.snakemake("--dry-run").partition("Job stats:")[2].partition("total")[0]
        return {rule: int(count) for rule, count in re.findall(r"^(\w+) +(\d+)$", table, re.MULTILINE)}
