"""What the book says of its own code whenever it is built: a drawing of its rooms, and the licences of its packages."""

import re
import tomllib
from collections import Counter
from importlib import metadata
from pathlib import Path
from textwrap import fill

import grimp
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, Rectangle
from packaging.requirements import Requirement

from ..checkout import ROOT
from . import render

PACKAGES = ("reproduction", "pcgraph_lite")                                # from top to bottom
BASE = "ground"                                                            # the files that lie outside the rooms
LONGEST = 60                                                               # letters of a licence that are shown
STEP, WIDTH = 1.25, 9.0                                                    # height of a floor, width of a room


def imports() -> tuple[dict[str, list[str]], Counter[tuple[str, str]]]:
    """The files of each room, and how many files of one room import from another.

    The rooms are in the order in which the import rules in ``pyproject.toml`` list them, from top to bottom.
    """
    rules = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    layers = {rule["containers"][0]: " ".join(rule["layers"]) for rule in rules if "containers" in rule}
    floors = [floor for package in PACKAGES for floor in re.findall(r"\w+", layers[package])]
    rooms: dict[str, list[str]] = {room: [] for room in floors if room == "cli" or _is_room(room)}
    rooms[BASE] = []
    graph, home = grimp.build_graph(*PACKAGES, cache_dir=None), {}
    for module in sorted(graph.modules - {*PACKAGES, "reproduction.__main__"}):
        _, room, *inside = module.split(".")
        home[module] = room if room in rooms else BASE
        if inside or not _is_room(room):
            rooms[home[module]].append(module.rpartition(".")[2])
    uses = Counter((room, used) for module, room in home.items() for used in
                   {home[other] for other in graph.find_modules_directly_imported_by(module) if other in home} - {room})
    return rooms, uses


def _is_room(name: str) -> bool:
    return any((ROOT / package / name).is_dir() for package in PACKAGES)


def includes(folder: Path) -> dict[str, str]:
    """Write ``house.svg`` into a folder. Returns the Markdown that shows it, with a text that says the same, and the
    licences as CSV.
    """
    rooms, uses = imports()
    draw(rooms, uses).savefig(folder / "house.svg", metadata={"Date": None})
    used = {room: [other for other in rooms if uses[room, other]] for room in rooms}
    return {"house.md": render.template("house.md", used=used), "licences.csv": licences().to_csv(index=False)}


def licences() -> pd.DataFrame:
    """What each package that is locked for this machine says of itself: package, version, licence."""
    locked = map(Requirement, re.findall(r"(?m)^(\w[^\\\n]*) \\$", (ROOT / "requirements.txt").read_text()))
    return pd.DataFrame([{"package": one.name, "version": str(one.specifier)[2:], "licence": _licence(one.name)}
                         for one in locked if not one.marker or one.marker.evaluate()])


def _licence(package: str) -> str:
    try:
        about, prefix = metadata.metadata(package), "License :: OSI Approved :: "
    except metadata.PackageNotFoundError:
        return "not installed where this page was built"
    named = [text.removeprefix(prefix) for text in about.get_all("Classifier", []) if text.startswith(prefix)]
    text = about.get("License-Expression") or ", ".join(named) or (about.get("License") or "").partition("\n")[0]
    return text if 0 < len(text) <= LONGEST else f"{text[:LONGEST]} …" if text else "not said"


def draw(rooms: dict[str, list[str]], uses: Counter[tuple[str, str]]) -> Figure:
    """Draw one floor per room. Arrows run down the right side from a room to each room that it uses."""
    figure = Figure(figsize=(9, 7.5))
    axis = figure.add_axes((0, 0, 1, 1))
    height = {room: -STEP * floor for floor, room in enumerate(rooms)}
    for room, files in rooms.items():
        axis.add_patch(Rectangle((0, height[room] - 0.42), WIDTH, 0.84, facecolor="#eef2f7", edgecolor="#33475b"))
        axis.text(0.2, height[room], room, weight="bold", size=12, va="center")
        axis.text(2.2, height[room], fill("   ".join(files), 76), size=9, va="center", linespacing=1.3)
    for (user, used), count in sorted(uses.items()):
        axis.add_patch(FancyArrowPatch(
            (WIDTH, height[user] - 0.15), (WIDTH, height[used] + 0.15), arrowstyle="-|>", mutation_scale=11,
            connectionstyle="arc3,rad=-0.55", linewidth=0.6 + 0.25 * count, color="#1f5a96", alpha=0.7))
    axis.set(xlim=(-0.1, WIDTH + 3.4), ylim=(height[BASE] - 0.6, 0.6))
    axis.axis("off")
    return figure
