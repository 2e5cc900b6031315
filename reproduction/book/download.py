"""What readers take away: records and their numbers, and a notebook that installs what it needs."""

import shutil
from pathlib import Path

import pandas as pd
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from ..evidence import claims, verdicts
from ..evidence.strict import read_yaml
from .judged import Judged

# Tags hide it on the site; models and settings are read from the clone, so the package alone would not do.
FIRST = '''# Where pcgraph_lite is missing, install it from a clone of its repository.
import importlib.util
import subprocess
import sys

if importlib.util.find_spec("pcgraph_lite") is None:
    subprocess.run(["git", "clone", "--depth=1", "{address}", "pcgraph-lite"], check=True)
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "-e", "./pcgraph-lite[book]"], check=True)
    sys.path.insert(0, "pcgraph-lite")
'''
NO_ADDRESS = '''# CITATION.cff names no repository-code, from which pcgraph_lite could be installed.
import importlib.util

if importlib.util.find_spec("pcgraph_lite") is None:
    raise ModuleNotFoundError("pcgraph_lite is not installed. In a clone of its repository: pip install -e '.[book]'")
'''


def write(judged: Judged, saved: Path, folder: Path) -> None:
    """Write the records, the rules, the scorecard, and ``NAME.csv`` for each page: one row a number as it was recorded.

    What else differs between the records of a page gets a column each, ``parameters.NAME``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for path in [*saved.glob("*.json"), claims.FILE]:
        shutil.copy2(path, folder)
    verdicts.scorecard(judged.verdicts).to_csv(folder / "scorecard.csv", index=False)
    names = {name: one.claim.name for name, one in judged.verdicts.items()}
    for page, rows in judged.records.groupby("notebook"):
        rest = pd.DataFrame(rows["parameters"].tolist(), index=rows.index).add_prefix("parameters.")
        table = rows.drop(columns=["notebook", "parameters"]).join(rest)
        table.insert(0, "name", table["claim"].map(names))
        table.to_csv(folder / f"{page}.csv", index=False)


def of(name: str, judged: Judged) -> list[tuple[str, str]]:
    """What can be taken away from a notebook's page: its words and its address, from there."""
    record = [("The numbers of this page (CSV)", f"../../records/{name}.csv"),
              ("its record", f"../../records/{name}.json")]
    return [*record * (name in set(judged.records["notebook"])),
            ("the notebook", f"../../_sources/book/notebooks/{name}.ipynb")]


def first_cell(root: Path) -> NotebookNode:
    """The cell that makes a downloaded notebook run anywhere; the site does not show it."""
    address = read_yaml(root / "CITATION.cff").get("repository-code")
    source = FIRST.replace("{address}", address) if address else NO_ADDRESS
    return new_code_cell(source.strip(), id="install", metadata={"tags": ["remove-cell"]})
