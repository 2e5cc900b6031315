"""A small project in a temporary folder: a copy of both packages with two tiny models and one notebook. Runs are real
(processes, kernels, Snakemake), and editing a library file there harms nobody."""

import os
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

import warm

HERE = Path(__file__).resolve().parent
FIXTURE = HERE / "fixtures/project"


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
    """The small project; ``run`` starts a command in it."""

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

    def module(self, name: str, *arguments: str) -> tuple[int, str]:
        """What ``python -m name`` ends with, and prints on both streams. It is a fork of this process: torch and the
        like are there already, whose import takes longer than most commands, while the two packages are imported anew,
        from the small project."""
        with tempfile.TemporaryFile() as said:
            if not (process := os.fork()):
                code = 1
                try:
                    os.dup2(said.fileno(), 1)
                    os.dup2(said.fileno(), 2)
                    code = self._main(name, arguments)
                finally:
                    os._exit(code)
            code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
            said.seek(0)
            return code, said.read().decode()

    def _main(self, name: str, arguments: tuple[str, ...]) -> int:
        os.chdir(self.root)
        os.environ.clear()
        os.environ.update(self.environment)
        sys.argv[1:], sys.path[:0], sys.executable = arguments, [str(self.root)], warm.python()
        sys.stdout = sys.stderr = open(1, "w", buffering=1, closefd=False)  # noqa: SIM115
        fresh = {"pcgraph_lite", "reproduction", *(path.stem for path in self.root.glob("*.py"))}
        for one in [one for one in sys.modules if one.partition(".")[0] in fresh]:
            del sys.modules[one]
        try:
            runpy.run_module(name, run_name="__main__", alter_sys=True)
        except SystemExit as end:
            if isinstance(end.code, str):
                print(end.code)
            return end.code if isinstance(end.code, int) else int(end.code is not None)
        except BaseException:
            traceback.print_exc()
            return 1
        return 0

    def pcgraph(self, *arguments: str, code: int = 0) -> str:
        """Run ``pcgraph``; its output, both streams together, with runs of white space as one space."""
        ended, said = self.module("reproduction", *arguments)
        assert ended == code, said
        return " ".join(said.split())

    def workflow(self, *options: str, profile: str = "smoke") -> list[str]:
        """What ``snakemake`` is asked for: all up to the scorecard."""
        return ["--cores", "2", "--keep-incomplete", "--rerun-incomplete", "--nolock", *options, "--config",
                f"profile={profile}", *self.settings, "--", "scorecard"]

    def start(self, *options: str, profile: str = "smoke", python: str = sys.executable) -> subprocess.Popen:
        """Start ``snakemake`` in a process group of its own, so that all of it can be killed."""
        return subprocess.Popen([python, "-m", "snakemake", *self.workflow(*options, profile=profile)], cwd=self.root,
                                env=self.environment, text=True, start_new_session=True, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT)

    def snakemake(self, *options: str, code: int = 0) -> str:
        """Run ``snakemake`` to its end. Returns what it printed. It is not a fork of this process: grimp has threads of
        its own, and after a fork it waits for them forever."""
        output, _ = (running := self.start(*options, python=warm.python())).communicate()
        assert running.returncode == code, output
        return output

    def planned(self) -> dict[str, int]:
        """How many jobs of each rule a run would start now."""
        table = self.snakemake("--dry-run").partition("Job stats:")[2].partition("total")[0]
        return {rule: int(count) for rule, count in re.findall(r"^(\w+) +(\d+)$", table, re.MULTILINE)}
