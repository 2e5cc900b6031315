"""The command ``pcgraph``: data, train, sweep, run, scorecard, compare, book, bench, info."""

import io
import json
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, NoReturn, TextIO

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from pcgraph_lite.errors import BadInput, PCGraphError, one_of
from pcgraph_lite.files import FULL, placed, ready, write_aside

from . import checkout

app = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode="rich",
                  pretty_exceptions_enable=False,
                  help="Re-run a paper on predictive coding graphs, figure by figure and number by number.")
WIDE = 10_000                                     # columns if the output is no screen, so that no line is folded


def _console(stream: TextIO | None, stderr: bool = False) -> Console:
    screen = stream is not None and stream.isatty()
    return Console(stderr=stderr, emoji=False, width=None if screen else WIDE)


out, errors = _console(sys.stdout), _console(sys.stderr, stderr=True)

ProfileName = Annotated[str, typer.Option("--profile", help="Which settings: smoke, laptop or paper.")]
Device = Annotated[str, typer.Option("--device", help="auto (a GPU where there is one), cpu or cuda.")]
STYLES = {"reproduced": "green", "partly": "yellow", "not reproduced": "red", "not run": "dim",
          "not comparable": "cyan"}


def main(arguments: list[str] | None = None) -> None:
    """Run the command. Our own errors print one message and exit with 2; any other error prints a traceback."""
    with suppress(ValueError):                                             # not the main thread
        signal.signal(signal.SIGINT, _stop)
    for stream in (sys.stdout, sys.stderr):                                # encodings may lack letters
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        app(_joined_pairs(sys.argv[1:] if arguments is None else arguments))
    except Stopped:
        errors.print("stopped; weights, checkpoints, records and pages that were finished are kept. The same command "
                     "goes on from there.", soft_wrap=True)
        raise SystemExit(130) from None
    except PCGraphError as error:
        _fail(type(error).__name__, str(error))
    except OSError as error:                           # shutil reports a full disk only in words
        if not (full := [os.strerror(code) for code in FULL if os.strerror(code) in str(error)]):
            raise
        _fail("PCGraphError", f"{full[0]}. Free space; the same command goes on from what was finished.")


def _fail(kind: str, text: str) -> NoReturn:
    errors.print(f"[bold red]{kind}:[/] [red]{escape(text)}[/]", soft_wrap=True)
    raise SystemExit(2) from None


class Stopped(BaseException):
    """Ctrl-C. No ``except Exception`` takes it for a failed model."""


def _stop(*_: object) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)                           # a second one would stop the clean-up
    raise Stopped


def say(text: str) -> None:
    """Print one line unchanged, whatever the width of the terminal."""
    out.print(text, markup=False, soft_wrap=True)


@app.callback(invoke_without_command=True)
def _options(version: Annotated[bool, typer.Option("--version", help="Show the version and stop.")] = False) -> None:
    if version:
        from pcgraph_lite import __version__
        say(f"pcgraph {__version__}")
        raise typer.Exit


@app.command(epilog="Example: PCGRAPH_DATA=~/data pcgraph data")
def data() -> None:
    """List the data sets: which are here, where, and whether their content is right."""
    from pcgraph_lite.images import datasets
    table, wrong = Table("data set", "split", "images", "checked", Column("where", overflow="fold")), dict[str, str]()
    for row in datasets.status():
        name, split, count, checked, where = (str(row[key]) for key in ("name", "split", "count", "checked", "where"))
        table.add_row(name, split, count, checked, escape(where if checked == "yes" else "see below"))
        if checked != "yes":
            wrong.setdefault(name, where)
    out.print(table)
    for reason in wrong.values():
        say(reason)


@app.command(epilog="Examples: pcgraph train generative-mnist --profile laptop  |  "
                    "pcgraph train generative-mnist recurrent-mnist --seed 0 --seed 1")
def train(
    name: Annotated[list[str], typer.Argument(help="Models of config/models.yaml.")],
    profile: ProfileName = "laptop",
    seed: Annotated[list[int], typer.Option(help="Decides the first weights, the split and the order of the data; "
                                                 "may be repeated.")] = [0],  # noqa: B006 (typer copies it)
    device: Device = "auto",
    force: Annotated[bool, typer.Option("--force", help="Train anew although weights are there; "
                                                       "stopped, it begins again.")] = False,
    card: Annotated[bool, typer.Option("--card", help="Let each classify the test images, or recall what it stored, "
                                                      "and keep its answers.")] = False,
) -> None:
    """Train models and keep their weights. A killed training resumes; finished weights are not trained twice."""
    from pcgraph_lite import hardware

    from .evidence import cards, config, zoo
    wanted = [zoo.ModelRun(one, profile, number) for one in name for number in seed]    # checked before any starts
    hardware.prepare(config.load_profile(profile).threads)
    failed = []
    for one in wanted:
        try:
            made = one.train(device, force=force)
            made = cards.write(cards.of(one, device)) if card else made
        except PCGraphError as error:
            if len(wanted) == 1:
                raise
            failed.append(f"{one.name}, seed {one.seed}: {error}")
        else:
            say(f"{one.name}: {checkout.relative(made)}")
    if failed:
        raise PCGraphError(f"{len(failed)} of {len(wanted)} trainings stopped.\n" + "\n".join(failed))


@app.command(epilog="Example: pcgraph sweep fully-connected --profile smoke")
def sweep(
    name: Annotated[str, typer.Argument(help="A file of config/sweeps/ or config/studies/, without extension.")],
    profile: ProfileName = "laptop",
    device: Device = "auto",
) -> None:
    """Train one model with many settings and keep a row an epoch, measured on validation images."""
    from pcgraph_lite import hardware

    from .evidence import config, sweeps
    hardware.prepare(config.load_profile(profile).threads)
    say(f"{name}: {checkout.relative(sweeps.run(name, profile, device))}")


@app.command(epilog="Example: pcgraph run 03a-fully-connected --profile laptop -p seed 1 -p device cpu")
def run(
    name: Annotated[str, typer.Argument(help="A notebook of notebooks/, without extension.")],
    profile: Annotated[str, typer.Option(help="Which settings: smoke, laptop or paper; if empty, laptop.")] = "",
    published: Annotated[bool, typer.Option("--published", help="The paper profile, as the committed page ran.")]
    = False,
    parameter: Annotated[list[str] | None, typer.Option(
        "--parameter", "-p", metavar="NAME VALUE", help="Change a parameter of the notebook; may be repeated.")] = None,
    folder: Annotated[str, typer.Option("--out", help="Folder for the notebook and its records.")] = "",
) -> None:
    """Run one notebook. Without -p it writes under _build/PROFILE, with -p into a folder of its own.

    Models that are missing are trained first. Their weights stay under _build/PROFILE/models, where all runs find them.
    """
    if published and profile not in ("", "paper"):
        raise BadInput(f"--published is a run of the profile paper; got --profile {profile}. Give one of them.")
    profile, given = "paper" if published else profile or "laptop", _pairs(parameter or [])
    say(f"running {name}: profile {profile}")                  # first: the imports take seconds
    from .book import notebooks
    from .evidence import config
    if published:
        folder = folder or ("" if given else str(checkout.ROOT / "_build/publish"))    # -p: not that page's run
        given = config.load_profile(profile).published.get(name, {}) | given
    made = notebooks.run(name, profile, given, folder)
    say(f"{name}: {checkout.relative(made)}")
    say(f"its numbers: {checkout.relative(notebooks.records_of(made))}")
    _tell(notebooks.records_of(made), notebooks.other_than_claimed(name, profile, given))


def _tell(numbers: Path, other: dict[str, tuple[object, object]]) -> None:
    """Print the findings of a run. ``other``: parameters that differ from the claims', see ``other_than_claimed``."""
    from .evidence import findings, records
    told = findings.told(records.read(numbers))
    if told and other:
        say("This run does not decide the claims, because its parameters are not theirs: " + ", ".join(
            f"{key} = {here}, not {claimed}" for key, (here, claimed) in other.items()) + ". It recorded:")
    for line in told:
        say(line)


@app.command(epilog="Example: pcgraph scorecard --json")
def scorecard(
    profile: Annotated[str, typer.Option(help="Only the records of one's own runs with this profile.")] = "",
    published: Annotated[bool, typer.Option("--published", help="Only the committed records.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    csv: Annotated[Path | None, typer.Option(help="Write a CSV file as well.")] = None,
) -> None:
    """Print the verdict on every claim of the paper, from the records that are there. JSON and CSV say more."""
    from .evidence import findings, records, verdicts
    if profile and published:
        raise BadInput("--published shows the committed records, --profile one's own runs; give one of them.")
    checkout.part("config")                                    # an empty scorecard would look like no runs yet
    folders = ["results/records", *([] if published else ["_build/laptop/records", "_build/paper/records"])]
    if profile:
        folders = [f"_build/{one_of('profile', profile, checkout.profile_names())}/records"]
    csv = csv and ready(placed(csv, "--csv"))
    measured = records.read(*(checkout.ROOT / folder for folder in folders))        # the later ones count
    found = findings.findings(measured)
    card = [one.row() | {"title": one.title, "finding": " ".join(one.sentences)} for one in found.values()]
    if csv is not None:
        import pandas as pd  # only here: the import takes longer than the verdicts
        with write_aside(csv) as part:
            pd.DataFrame(card).to_csv(part, index=False)
    if not as_json:
        out.print(_verdict_table(card))
        return
    for row, own, told in zip(card, verdicts.own(measured).values(), found.values(), strict=True):
        for key, one in (("grid", told), ("our_settings", own)):
            row[key] = {"verdict": one.verdict, "ours": one.row()["ours"], "decided_by": one.claim.decided_by,
                        "departures": one.claim.departures}
        row["cause"] = {"text": " ".join(told.cause), "tested": bool(told.tested), "turned_by": told.tested}
    print(json.dumps(card, indent=1))


def _verdict_table(card: list[dict[str, Any]]) -> Table:
    table = Table("claim", "verdict", "n", "profile", "paper", "what was found")
    for row in card:
        style = STYLES[row["verdict"].removeprefix("preliminary: ")]
        table.add_row(row["claim"], f"[{style}]{row['verdict']}[/]", str(row["n"]), row["profile"],
                      escape(row["paper"]), escape(row["title"]))
    return table


@app.command(epilog="Examples: pcgraph compare _build/laptop  |  pcgraph compare _build/runs/ONE _build/runs/OTHER")
def compare(
    run: Annotated[Path, typer.Argument(help="The folder of a run, or of records, or a file of these.")],
    other: Annotated[Path | None, typer.Argument(help="Another; if none, the published numbers.")] = None,
) -> None:
    """Print the numbers that two runs have both recorded, means over seeds."""
    from .evidence import records
    table = Table("page", "claim", "quantity", "of", "here", "there", "difference")
    for row in records.compared(run, other or checkout.part("results/records")).fillna("").to_dict("records"):
        of = ", ".join(filter(None, (row["dataset"], row["model"], row["parameters"])))
        table.add_row(row["notebook"], row["claim"], row["quantity"], escape(of),
                      *(f"{row[key]:.4g}" for key in ("mine", "theirs", "difference")))
    out.print(table)


@app.command(epilog="Examples: pcgraph book --profile laptop  |  pcgraph book --published")
def book(
    profile: Annotated[str, typer.Option(help="One's own runs with this profile; if empty, laptop.")] = "",
    published: Annotated[bool, typer.Option("--published", help="The committed results of the paper profile.")] = False,
) -> None:
    """Build the website from notebooks that have run; nothing is executed."""
    from .book import site
    from .evidence import config
    if profile and published:
        raise BadInput("--published shows the committed results, --profile one's own runs; give one of them.")
    name = "paper" if published else profile or "laptop"
    config.load_profile(name)
    say(f"the book: {site.make(name, published).absolute().as_uri()}")


@app.command(epilog="Examples: pcgraph bench  |  pcgraph bench --only fully-connected --only memory  |  "
                    "pcgraph bench --device cuda")
def bench(
    only: Annotated[list[str] | None, typer.Option(metavar="ROW", help="Only this row; may be repeated.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes, seconds: shows that everything works.")] = False,
    device: Device = "cpu",
    threads: Annotated[int, typer.Option(help="CPU threads; targets are meant for one.")] = 1,
    tf32: Annotated[bool, typer.Option("--tf32", help="On a GPU multiply in TensorFloat-32 (three digits).")] = False,
    cuda_graphs: Annotated[bool, typer.Option("--cuda-graphs", help="On a GPU record plain steps.")] = False,
    folder: Annotated[str, typer.Option("--out", help="Folder for tables, JSON and figures.")] = "",
) -> None:
    """Measure speed, memory and scaling, compared with the bare matrix products. Writes under _build/bench."""
    folder = str(placed(folder, "--out")) if folder else ""
    target = Path(folder) / "bench.json" if folder else None
    suite, report = (checkout.from_checkout("benchmarks", name) for name in ("suite", "report"))
    part = "-tf32" * tf32 + "-graphs" * cuda_graphs + ("-quick" if quick else "-part" if only else "")
    for made in suite.run(only or (), quick, device, threads, tf32, cuda_graphs, lambda row: say(f"measuring {row}"),
                          target):
        place = Path(folder) if folder else checkout.ROOT / f"_build/bench/{made.setting['device']}{part}"
        report.keep(made, place)                           # a run that is stopped leaves the rows that it measured
    path = report.write(made, place)
    for table in report.shown(made):
        out.print(table)
    say(f"the benchmark: {checkout.relative(path)}")


@app.command(epilog="Example: pcgraph info --profile paper")
def info(profile: ProfileName = "laptop") -> None:
    """Show what a run here would use: versions, device, threads, precision, data, commit."""
    from pcgraph_lite import hardware
    from pcgraph_lite.images import datasets

    from .evidence import config, records
    settings = config.load_profile(profile)
    chosen = hardware.prepare(settings.threads)
    facts = records.provenance(hardware.describe(hardware.pick_device("auto")))
    facts |= {"profile": f"{settings.name}: {settings.description}"}
    facts |= {key: f"{value:.2g}" if isinstance(value, float) else value for key, value in chosen.items()}
    facts["precision"] = (f"{settings.dtype} (float32 products by oneDNN's setting {chosen['precision']!r}, which "
                          "keeps their digits here)")
    facts["data"] = ", ".join(f"{row['name']} {row['split']} {row['checked']}" for row in datasets.status())
    table = Table(show_header=False)
    for key, value in facts.items():
        if value is not None:
            table.add_row(key.replace("_", " "), escape(str(value)))
    out.print(table)


def _joined_pairs(arguments: list[str]) -> list[str]:
    """Join papermill's ``-p NAME VALUE`` to one argument, because typer has no repeated options with two values."""
    joined, rest = [], list(arguments)
    while rest:
        joined.append(rest.pop(0))
        apart = len(rest) >= 2 and "=" not in rest[0] and rest[1][:2] not in ("--", "-p")
        if joined[-1] in ("-p", "--parameter") and apart:
            joined.append(f"{rest.pop(0)}={rest.pop(0)}")
    return joined


def _pairs(given: list[str]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for name, equals, value in (entry.partition("=") for entry in given):
        if not equals:
            raise BadInput(f"-p {name}: expected a name and a value, for example -p seed 1.")
        if name in pairs:
            raise BadInput(f"-p {name} is given twice: {pairs[name]!r} and {value!r}.")
        pairs[name] = value
    return pairs
