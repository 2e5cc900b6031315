"""The page on speed: the committed benchmark, one section per device, and other projects on the same work."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pandas as pd

from ..evidence import words
from . import render, runs
from .handover import DASH

# Heading of a section -> its folder, the run behind it, the command of that.
SECTIONS = {"On a CPU": ("cpu", "bench.json", "pcgraph bench"), "On a GPU": ("cuda", "bench.json", "pcgraph bench"),
            "Other projects": ("", "peers.json", "python -m benchmarks.peers.compare")}
PEERS = {"fabricpc": "FabricPC", "pcx": "PCX"}              # other projects
LONG = re.compile(r"^\d{4}$|(?<![\w.,])(?:\d{5,}|\d(?:\.\d+)?e\+\d+)(?![\w.])")
RACED = re.compile(r"\b(quality)?-?\b(mnist|fashion)\b")


def includes(results: Path, folder: Path) -> dict[str, str]:
    """Copy the committed benchmark to ``folder``/bench in readers' words. Returns the pages that show it, by name."""
    bench = folder / "bench"
    if results.is_dir():
        shutil.copytree(results, bench, dirs_exist_ok=True)
        for table in bench.rglob("*.csv"):
            _readable(table)
    parts = [_part(heading, place, command, bench / place / run) for heading, (place, run, command) in SECTIONS.items()
             if (bench / place / run).is_file()]
    found = [_found(file, heading) for heading, (place, *_) in SECTIONS.items()
             if (file := bench / place / "targets.csv").is_file()]
    page = render.template("speed.md", parts=parts, counted=(bench / "launches.csv").is_file())
    return {"speed.md": page, "speed-lead.md": "\n\n".join(found) + "\n"}


def _part(heading: str, place: str, command: str, made: Path) -> dict[str, Any]:
    """A section of the page: the run behind it, ``made``, and the tables and figures beside that."""
    run = json.loads(made.read_text(encoding="utf-8"))
    run = run.get("provenance", run)
    files = {file.name: file.read_text(encoding="utf-8") if file.suffix == ".csv" else ""
             for file in made.parent.glob("*.*")}
    return {"heading": heading, "command": command, "device": runs.escaped(run["device"]), **runs.origin(run),
            "folder": place, "files": files}


def _found(targets: Path, where: str) -> str:
    """A benchmark in two sentences: the ratios to the bare products ``where`` it ran, and which targets are met."""
    asked = pd.read_csv(targets, dtype=str, keep_default_na=False)
    asked = asked[asked.get("measured", pd.Series(DASH, asked.index)) != DASH]
    if asked.empty:
        return ""
    ratios, missed = asked[asked["quantity"] == "ours / products"], asked[asked["met"] == "no"]
    ratios = ratios.sort_values("measured", key=pd.to_numeric)
    return render.template("speed-lead.md", where=where, count=len(asked), ratios=ratios.to_dict("records"),
                           missed=missed.to_dict("records")).strip()


def _readable(table: Path) -> None:
    """Rewrite a table of the benchmark for readers: 16,590 for 1.659e+04, titles of data sets, and only targets."""
    cells, called = pd.read_csv(table, dtype=str, keep_default_na=False).replace({"by": PEERS}), words.load().words
    if "commit" in cells and cells["commit"].nunique() == 1:               # it stands above the table
        cells = cells.drop(columns="commit")
    for column in cells.columns.drop("commit", errors="ignore"):
        texts = [LONG.sub(lambda one: f"{float(one[0]):,.0f}", text) for text in cells[column]]
        texts = [render.SETTING.sub(lambda one: called.get(one[0], one[0]), text) for text in texts]
        cells[column] = [RACED.sub(lambda one: " on ".join(filter(None, (one[1], called[one[2]]))), text)
                         for text in texts]
    if "target" in cells:
        cells = cells[cells["target"] != DASH]
    cells.to_csv(table, index=False)
