"""The command: what it refuses, what it prints, and that every command explains itself. Oracle: the small project's
files; JSON parsed back."""

import errno
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from unittest import mock

import papermill
import pytest
from command import call

from pcgraph_lite.errors import UnstableStep
from reproduction import checkout, cli
from reproduction.book import notebooks, site
from reproduction.evidence import findings, verdicts, zoo


@pytest.fixture
def root(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the command prints is not cut into lines."""
    monkeypatch.setattr(cli, "out", cli.Console(width=300))
    monkeypatch.setattr(cli, "errors", cli.Console(width=300, stderr=True))
    return root


@pytest.mark.parametrize("command", ["data", "train", "sweep", "run", "scorecard", "compare", "book", "bench",
                                     "info"])
def test_every_command_has_help_with_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(command, "--help") == 0
    text = capsys.readouterr().out
    assert "Usage: " in text and "pcgraph" in text.partition("Example")[2]


@pytest.mark.parametrize(("arguments", "words"), [
    (["run", "01-tinny"], ["no notebook '01-tinny'", "Did you mean '01-tiny'"]),
    (["run", "01-tiny", "--profile", "smoek"], ["no profile 'smoek'", "Did you mean 'smoke'"]),
    (["run", "01-tiny", "-p", "sead", "1"], ["no parameter 'sead'", "Did you mean 'seed'"]),
    (["run", "01-tiny", "-p", "seed", "one"], ["'seed' = 'one'", "expected int"]),
    (["run", "01-tiny", "-p", "seed", "9" * 30], ["'seed' = ", "expected int from 0 to 1,000,000,000"]),
    (["run", "01-tiny", "-p", "sizes", "[3, -1]"], ["'sizes' = '[3, -1]'", "from 1"]),
    (["run", "01-tiny", "-p", "images", "0"], ["'images' = '0'", "expected int from 1 to 1,000,000,000"]),
    (["run", "01-tiny", "-p", "variance", "-1"], ["'variance' = '-1'", "expected float from 0"]),
    (["run", "01-tiny", "-p", "device", "gpu"], ["no device 'gpu'", "cpu"]),
    (["run", "01-tiny", "-p", "profile", "smoke"], ["'profile' is given by the option --profile"]),
    (["run", "01-tiny", "-p", "out", "x"], ["'out' is given by the option --out"]),
    (["run", "01-tiny", "-p", "seed", "1", "-p", "seed", "2"], ["-p seed is given twice"]),
    (["run", "01-tiny", "-p", "seed"], ["-p seed: expected a name and a value"]),
    (["run", "01-tiny", "-p", "images", "-p", "seed", "3"], ["-p images: expected a name and a value"]),
    (["run", "01-tiny", "-p", "sizes", "[]"], ["'sizes' = '[]'", "not empty, for example"]),
    (["train", "tiny", "otter"], ["no model 'otter'", "Did you mean 'other'"]),
    (["train", "tiny", "--seed", "0", "--seed", "-1"], ["seed = -1"]),
    (["train", "tiny", "--device", "gpu"], ["no device 'gpu'"]),
    *(([command, "--profile", "smoke", "--published"], ["give one of them"]) for command in ("scorecard", "book")),
    (["run", "01-tiny", "--profile", "smoke", "--published"], ["is a run of the profile paper", "Give one of them"]),
    (["run", "01-tiny", "--profile", "smoke", "-p", "seed", "1", "--out", "{root}/_build/smoke"],
     ["name a folder of the run's own"]),
    (["sweep", "tinny"], ["no sweep 'tinny'", "Did you mean 'tiny'"]),
    *(([command, "--profile", "smoek"], ["Did you mean 'smoke'"]) for command in ("scorecard", "book", "info"))])
def test_bad_calls(root: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: list[str]) -> None:
    """Code 2 and no traceback; the message names the value, what was expected, and the nearest right name."""
    assert call(*(one.format(root=root) for one in arguments)) == 2
    text = capsys.readouterr().err
    assert all(word in text for word in words), text
    assert "Traceback" not in text
    assert not (root / "_build").exists()


@pytest.mark.parametrize(("place", "arguments"), [
    ("_build", ["book", "--profile", "smoke"]),
    ("_build/smoke/models/tiny-seed0.safetensors/", ["train", "tiny", "--profile", "smoke"]),
    ("_build/smoke/models/tiny-seed0.lock/", ["train", "tiny", "--profile", "smoke"]),
    ("_build/smoke/sweeps/tiny.csv/", ["sweep", "tiny", "--profile", "smoke"]),
    ("_build/smoke/notebooks/01-tiny.ipynb/", ["run", "01-tiny", "--profile", "smoke"]),
    ("_build/smoke/records/01-tiny.json/", ["run", "01-tiny", "--profile", "smoke"]),
    ("card/", ["scorecard", "--csv", "{root}/card"])])
def test_what_cannot_be_written(root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
                                place: str, arguments: list[str]) -> None:
    """It is said in one line, before any work."""
    for module, name in ((zoo, "fit"), (papermill, "execute_notebook"), (verdicts, "verdicts"), (site, "stage")):
        monkeypatch.setattr(module, name, lambda *_, **__: pytest.fail("the work was begun"))
    monkeypatch.setattr(site, "ROOT", root)
    (root / place).parent.mkdir(parents=True, exist_ok=True)
    (root / place).mkdir() if place.endswith("/") else (root / place).touch()
    assert call(*(one.format(root=root) for one in arguments)) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1 and "could not write" in lines[0]


@pytest.mark.parametrize("error", [
    OSError(errno.ENOSPC, "No space left on device"),
    shutil.Error([("a", "b", "[Errno 28] No space left on device: 'a' -> 'b'")] * 50)])
def test_a_full_disk_is_said_in_one_line(root: Path, monkeypatch: pytest.MonkeyPatch,
                                         capsys: pytest.CaptureFixture[str], error: OSError) -> None:
    monkeypatch.setattr(site, "make", mock.Mock(side_effect=error))
    assert call("book", "--profile", "smoke") == 2
    assert capsys.readouterr().err.splitlines() == [
        "PCGraphError: No space left on device. Free space; the same command goes on from what was finished."]


def test_scorecard_as_json_and_csv(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """JSON holds a row for each claim with verdict, profile and n, and nothing else is printed."""
    assert call("scorecard", "--published", "--json", "--csv", str(tmp_path / "card.csv")) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {"claim", "verdict", "profile", "n"} <= rows[0].keys()
    [one] = [row for row in rows if row["claim"] == "gen-c"]               # with the paper's settings, and with ours
    assert one["grid"]["verdict"] == one["verdict"] and not one["grid"]["departures"]
    assert "the paper names" in one["our_settings"]["departures"][0]
    assert len(rows) > 40 and len((tmp_path / "card.csv").read_text().splitlines()) == len(rows) + 1
    assert call("scorecard", "--published") == 0
    table = capsys.readouterr().out
    assert "not run" in table and one["title"] in table and one["finding"] not in table      # a line a claim


def test_a_run_is_compared_with_the_published_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    """Which differ from themselves by nothing."""
    assert call("compare", str(checkout.ROOT / "results/records")) == 0
    lines = [line.split("│")[1:-1] for line in capsys.readouterr().out.splitlines() if line.startswith("│")]
    assert len(lines) > 500 and {line[-1].strip() for line in lines} == {"0"}


def test_the_scorecard_waits_for_no_large_package() -> None:
    """Each of them takes as long to import as all verdicts together, or longer."""
    code = ("import sys; from reproduction import cli\ntry: cli.main(['scorecard', '--published'])\nfinally: "
            "print({'torch', 'pandas', 'scipy.stats'} & sys.modules.keys(), file=sys.stderr)")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "reproduced" in done.stdout and done.stderr.strip() == "set()"


def test_train_prints_where_the_weights_and_the_card_are(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``--card`` trains what is missing; nothing is trained twice."""
    assert call("train", "tiny", "--profile", "smoke", "--device", "cpu", "--card") == 0
    said = capsys.readouterr().out.strip()
    assert "training tiny: profile smoke, seed 0, 100 images" in said
    assert said.endswith("tiny: _build/smoke/cards/tiny-seed0.json") and zoo.ModelRun("tiny", "smoke").is_done
    card = json.loads((root / "_build/smoke/cards/tiny-seed0.json").read_text())
    assert set(card["answers"]) <= set("0123456789")
    assert call("train", "tiny", "--profile", "smoke", "--device", "cpu") == 0
    assert capsys.readouterr().out.strip() == "tiny: _build/smoke/models/tiny-seed0.safetensors"


def test_many_models_at_once(root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Every model with every seed; one that stops is told of at the end, and the others are trained."""
    def train(one: zoo.ModelRun, *rest: object, **options: object) -> Path:
        if (one.name, one.seed) == ("tiny", 1):
            raise UnstableStep("diverges")
        return trained(one, *rest, **options)

    trained = zoo.ModelRun.train
    monkeypatch.setattr(zoo.ModelRun, "train", train)
    assert call("train", "tiny", "other", "--profile", "smoke", "--seed", "0", "--seed", "1", "--device", "cpu") == 2
    text = " ".join(capsys.readouterr().err.split())
    assert "1 of 4 trainings stopped" in text and "tiny, seed 1: diverges" in text
    made = {path.stem for path in (root / "_build/smoke/models").glob("*.safetensors")}
    assert made == {"tiny-seed0", "other-seed0", "other-seed1"}
    assert [zoo.ModelRun("tiny", "smoke", seed).is_done for seed in (0, 1)] == [True, False]


def test_info_and_data(root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """They name commit, threads, data sets and the version. Large data sets, where they are, would take seconds."""
    for variable in ("PCGRAPH_DATA", "PCGRAPH_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.setenv(variable, str(root))
    assert call("info") == 0
    text = capsys.readouterr().out
    assert all(word in text for word in ("commit", "threads", "torch", "mnist (sample) train yes"))
    assert re.search(r"precision +│ float32 \(float32 products by oneDNN's setting '(bf16|ieee)', which keeps", text)
    assert call("data") == 0
    assert "mnist (sample)" in capsys.readouterr().out
    assert call("--version") == 0
    assert capsys.readouterr().out.startswith("pcgraph ")


@pytest.mark.parametrize(("arguments", "ran"), [
    (["--published"], ("paper", {"seed": 3}, "_build/publish")),
    (["--published", "--profile", "paper"], ("paper", {"seed": 3}, "_build/publish")),
    (["--published", "-p", "seed", "4"], ("paper", {"seed": "4"}, "")),
    (["--published", "--out", "mine"], ("paper", {"seed": 3}, "mine")),
    (["--profile", "paper", "-p", "seed", "4"], ("paper", {"seed": "4"}, "")), ([], ("laptop", {}, ""))])
def test_a_published_run(root: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], ran: tuple) -> None:
    """With the parameters that the profile keeps for it. Others go to a folder that make publish does not copy."""
    laptop = (root / "config/profiles/laptop.yaml").read_text()
    (root / "config/profiles/paper.yaml").write_text(f"{laptop}\npublished:\n  01-tiny: {{seed: 3}}\n")
    monkeypatch.setattr(notebooks, "run", run := mock.Mock(return_value=root))
    assert call("run", "01-tiny", *arguments) == 0
    _, profile, given, out, *_ = run.call_args.args
    assert (profile, given, checkout.relative(out) if out.startswith("/") else out) == ran


LONG = "/scratch/a user/" + "a-long-name-of-a-project-ü/" * 8 + ":smile:/[bold]/02-pc-graphs.ipynb"


@pytest.mark.parametrize("environment", [{}, {"COLUMNS": "20"}, {"TERM": "dumb", "PYTHONIOENCODING": "ascii"},
                                         {"NO_COLOR": "1", "LC_ALL": "C", "PYTHONUTF8": "0"}])
def test_what_is_no_screen_gets_whole_plain_lines(environment: dict[str, str]) -> None:
    """A file or pipe, whatever the encoding; letters that it lacks are written out."""
    code = ("import sys; from rich.table import Column, Table; from reproduction import cli\n"
            "cli.app = lambda _: (cli.say(sys.argv[1]), cli.out.print(Table(Column(overflow='fold'), title=None)))\n"
            "cli.main([]); table = Table('name', 'where'); table.add_row('a', sys.argv[1].replace('[bold]', ''))\n"
            "cli.out.print(table); cli._fail('BadInput', sys.argv[1])")
    plain = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
    done = subprocess.run([sys.executable, "-c", code, LONG], capture_output=True, env=plain | environment, check=False)
    said, told = (part.decode().replace("\\xfc", "ü").replace("\\udcc3\\udcbc", "ü")
                  for part in (done.stdout, done.stderr))
    assert said.splitlines()[0] == LONG and LONG.replace("[bold]", "") in said
    assert told.splitlines() == [f"BadInput: {LONG}"] and "\x1b" not in said


def test_what_decides_nothing(root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A run of other parameters than the claims, but not of other seeds, which the verdict counts itself."""
    known = notebooks.parameters("01-tiny")
    monkeypatch.setattr(notebooks, "parameters", lambda _: known | {"variance": notebooks.Parameter("float", 0.5, "")})
    assert notebooks.other_than_claimed("01-tiny", "smoke", {"variance": "0.3"}) == {"variance": (0.3, 0.5)}
    assert notebooks.other_than_claimed("01-tiny", "smoke", {"variance": "0.5", "seed": "7"}) == {}
    monkeypatch.setattr(notebooks, "run", lambda *_, **__: root)
    monkeypatch.setattr(findings, "told", lambda _: ["Recall. It holds."])
    assert call("run", "01-tiny", "--profile", "smoke", "-p", "variance", "0.3") == 0
    lines = capsys.readouterr().out.splitlines()
    assert "does not decide the claims" in lines[-2] and "variance = 0.3, not 0.5" in lines[-2]
    assert call("run", "01-tiny", "--profile", "smoke") == 0
    assert "does not decide" not in capsys.readouterr().out


def test_the_kernel_is_this_python_whatever_jupyter_path_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from jupyter_client.kernelspec import KernelSpecManager
    foreign = tmp_path / "kernels/python3"
    foreign.mkdir(parents=True)
    (foreign / "kernel.json").write_text('{"argv": ["/other/python"], "display_name": "x", "language": "python"}')
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    assert KernelSpecManager().get_kernel_spec("python3").argv[0] == "/other/python"
    assert notebooks._own_kernel()(kernel_name="python3").format_kernel_cmd()[0] == sys.executable
