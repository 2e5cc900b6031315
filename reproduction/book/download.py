"""What readers can download: records, their numbers as CSV, and notebooks that install what they need."""

import shutil
from pathlib import Path

import pandas as pd
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from ..evidence import claims, records
from . import render
from .judged import Judged


def write(judged: Judged, saved: Path, folder: Path) -> None:
    """Write the records, the rules, the scorecard, and ``NAME.csv`` for each page: one row per recorded number, one
    column ``parameters.NAME`` per parameter that differs.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for path in [*saved.glob("*.json"), claims.FILE]:
        shutil.copy2(path, folder)
    pd.DataFrame([one.row() for one in judged.verdicts.values()]).to_csv(folder / "scorecard.csv", index=False)
    names = {name: one.claim.name for name, one in judged.verdicts.items()}
    for page, rows in pd.DataFrame(judged.records, columns=records.COLUMNS).groupby("notebook"):
        rest = pd.DataFrame(rows["parameters"].tolist(), index=rows.index).add_prefix("parameters.")
        table = rows.drop(columns=["notebook", "parameters"]).join(rest)
        table.insert(0, "name", table["claim"].map(names))
        table.to_csv(folder / f"{page}.csv", index=False)


def of(name: str, judged: Judged) -> list[tuple[str, str]]:
    """The downloads of a notebook's page: the text of each link and its address relative to the page."""
    record = [("data (CSV)", f"../../records/{name}.csv"),
              ("record", f"../../records/{name}.json")]
    return [*record * any(row["notebook"] == name for row in judged.records),
            ("notebook", f"../../_sources/book/notebooks/{name}.ipynb")]


def first_cell() -> NotebookNode:
    """The cell that lets a downloaded notebook run anywhere. The site hides it by a tag."""
    source = render.template("install.py.txt")
    return new_code_cell(source.strip(), id="install", metadata={"tags": ["remove-cell"]})
