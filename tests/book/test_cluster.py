"""The workflow on a cluster: a real Slurm of one node, which this test starts and ends. Oracle: the same training in
this process; Slurm's own list of jobs; the files' times."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from project import HERE, PATIENCE, Project
from safetensors.torch import load_file

from pcgraph_lite import hardware
from reproduction.evidence import zoo

SCRIPT = HERE.parent / "scripts/one_node_slurm.sh"
PROGRAMS = ("sbatch", "slurmctld", "slurmd", "munged", "mungekey")
MISSING = [name for name in PROGRAMS if not shutil.which(name, path=f"{os.environ['PATH']}{os.pathsep}/usr/sbin")]
FORMAT = "%i|%t|%r"                                            # number, state, why it waits


class Cluster(Project):
    """The small project with its paper profile, whose jobs ask for a GPU, and a one-node Slurm to run them."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.settings = ("together=no",)                                   # as make says it
        profiles = root / "config/profiles"
        shutil.copy2(profiles / "smoke.yaml", profiles / "paper.yaml")
        settings = yaml.safe_load((HERE.parent / "config/cluster/slurm/config.yaml").read_text())
        settings |= {"retries": 0, "slurm-status-command": "squeue",                          # no accounting
                     "slurm-init-seconds-before-status-checks": 2}
        (root / "config/cluster/one").mkdir(parents=True)
        (root / "config/cluster/one/config.yaml").write_text(yaml.safe_dump(settings))
        self.slurm = root / "slurm"
        subprocess.run([SCRIPT, "start", self.slurm], check=True)
        path = os.pathsep.join([str(self.slurm / "bin"), str(Path(sys.executable).parent), self.environment["PATH"]])
        self.environment |= {"SLURM_CONF": str(self.slurm / "slurm.conf"), "PATH": path,
                             "PYTHONPATH": f"{root}{os.pathsep}{HERE.parent / 'scripts'}"}

    def ask(self, *command: str) -> str:
        """What a command of Slurm prints."""
        return subprocess.run(command, env=self.environment, check=True, capture_output=True, text=True).stdout

    def jobs(self) -> list[list[str]]:
        """The queue: number, state and reason of each job that waits or runs."""
        queue = self.ask("squeue", "--noheader", "--states=PENDING,RUNNING", f"--format={FORMAT}")
        return [line.split("|") for line in queue.splitlines()]

    def begin(self) -> subprocess.Popen:
        """Start the workflow on the cluster."""
        return self.start("--keep-going", "--profile", "config/cluster/one", profile="paper")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Drained before the first job, then resumed; the notebook's job cancelled in its middle; then run to the end."""
    if MISSING:
        pytest.skip(f"no {', '.join(MISSING)} here; as root, {SCRIPT.relative_to(HERE.parent)} install brings them")
    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    built = cluster.root / "_build/paper"
    try:
        cluster.ask("scontrol", "update", "NodeName=localhost", "State=DRAIN", "Reason=a test")
        running = cluster.begin()
        cluster.wait_until(lambda: len(cluster.jobs()) == 2, running)
        time.sleep(3)
        cluster.asked = [cluster.ask("scontrol", "show", "job", job) for job, *_ in cluster.jobs()]
        cluster.drained, cluster.made = cluster.jobs(), list(built.rglob("*.safetensors"))
        cluster.ask("scontrol", "update", "NodeName=localhost", "State=RESUME")
        cluster.wait_until(lambda: bool(list(built.glob("notebooks/01-tiny.ipynb.*.part"))), running)
        cluster.ask("scancel", *(job for job, *_ in cluster.jobs()))
        cluster.killed, _ = running.communicate(timeout=PATIENCE)
        cluster.code, cluster.records = running.returncode, list(built.glob("records/*"))
        cluster.trained = {path: path.stat().st_mtime_ns for path in built.rglob("*.safetensors")}
        cluster.resumed, _ = (running := cluster.begin()).communicate(timeout=PATIENCE)
        assert running.returncode == 0, cluster.resumed
        yield cluster
    finally:
        subprocess.run([SCRIPT, "stop", cluster.slurm], check=True)


@pytest.mark.slow
def test_jobs_wait_for_a_drained_node_and_ask_for_a_gpu(cluster: Cluster) -> None:
    """Slurm holds both trainings back, says that the node is drained, and knows of one GPU each."""
    assert [state for _, state, _ in cluster.drained] == ["PD", "PD"] and not cluster.made
    assert len(cluster.asked) == 2 and all("TresPerJob=gres:gpu:1" in asked for asked in cluster.asked), cluster.asked
    assert any(word in reason for *_, reason in cluster.drained for word in ("DRAINED", "UnavailableNodes:localhost"))


@pytest.mark.slow
def test_a_cancelled_job_is_reported_and_taken_up_again(cluster: Cluster) -> None:
    """The first run fails and says which job; the second one redoes the notebook alone, not the trainings."""
    assert cluster.code != 0 and "Error in rule notebook" in cluster.killed and "'CANCELLED'" in cluster.killed
    assert not cluster.records and len(cluster.trained) == 2
    assert "2 of 2 steps" in cluster.resumed and "training" not in cluster.resumed, cluster.resumed
    assert all(path.stat().st_mtime_ns == when for path, when in cluster.trained.items())
    built = cluster.root / "_build/paper"
    assert len(json.loads((built / "records/01-tiny.json").read_text())["records"]) == 2
    assert "gen-c" in (built / "scorecard.csv").read_text() and not cluster.jobs()


@pytest.mark.slow
def test_the_weights_are_those_of_a_run_without_a_cluster(cluster: Cluster, root: Path) -> None:
    hardware.prepare(1)                                                    # as the command does: denormals matter
    for name in ("tiny", "other"):
        here = load_file(zoo.ModelRun(name, "smoke").train(progress=False))
        there = load_file(cluster.root / f"_build/paper/models/{name}-seed0.safetensors")
        assert here.keys() == there.keys() and all((there[key] == tensor).all() for key, tensor in here.items())


@pytest.mark.parametrize(("cluster_name", "message"), [
    ("slrum", "CLUSTER=slrum is unknown. Known: slurm. For one of your own, copy config/cluster/slurm"),
    ("slurm other", "CLUSTER=slurm other is unknown."),
    ("slurm", "CLUSTER=slurm: there is no sbatch on the PATH. Run make on a host that can submit"),
])
def test_make_refuses_a_cluster_that_is_not_there(cluster_name: str, message: str, tmp_path: Path) -> None:
    for tool in ("grep", "getconf"):
        (tmp_path / tool).symlink_to(shutil.which(tool))
    done = subprocess.run([shutil.which("make"), "--no-print-directory", "help", f"CLUSTER={cluster_name}"],
                          cwd=HERE.parent, env={"PATH": str(tmp_path)}, capture_output=True, text=True)
    assert done.returncode == 2 and message in done.stderr and not done.stdout
    assert done.stderr.count("\n") == 1, done.stderr


def test_make_hands_the_jobs_to_the_cluster(tmp_path: Path) -> None:
    """With its profile and neither this machine's cores nor its one GPU as limits; without CLUSTER as before."""
    (tmp_path / "sbatch").write_text("#!/bin/sh\n")
    (tmp_path / "sbatch").chmod(0o755)
    command = ["make", "--dry-run", "book"]
    environment = os.environ | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    environment.pop("CLUSTER", None)
    plans = [subprocess.run([*command, *extra], cwd=HERE.parent, env=environment, check=True, capture_output=True,
                            text=True).stdout for extra in ([], ["CLUSTER=slurm"])]
    assert "--resources gpu=1" in plans[0] and "--profile" not in plans[0]
    assert "--resources" not in plans[1] and "--cores" not in plans[1]
    assert f'--profile "{HERE.parent}/config/cluster/slurm"' in plans[1] and "together=no" in plans[1]
