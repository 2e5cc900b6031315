"""What readers take away: numbers, tables and figures of a page as CSV, and a notebook that installs what it needs."""

import csv
import itertools
import re
from collections.abc import Iterable
from os.path import relpath
from pathlib import Path

import pandas as pd
from bs4 import BeautifulSoup
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from ..evidence import claims
from ..evidence.strict import read_yaml
from . import drawn

COUNTS = re.compile("<summary>.*?</summary>")                              # of comparisons, which are listed behind it
TABLE = re.compile(r'<table [^>]*?id="T_[^"]*".*?</table>', re.DOTALL)     # that a notebook showed

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


def numbers(kept: pd.DataFrame, folder: Path) -> None:
    """Write ``NAME.csv`` for each page that has records: one row a number, values as they were recorded.

    Args:
        kept: as ``records.read`` gives it. What else differs between records gets a column each, ``parameters.NAME``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    names = {name: claim.name for name, claim in claims.load_claims().items()}
    for page, rows in kept.groupby("notebook"):
        rest = pd.DataFrame(rows["parameters"].tolist(), index=rows.index).add_prefix("parameters.")
        table = rows.drop(columns=["notebook", "parameters"]).join(rest)
        table.insert(0, "name", table["claim"].map(names))
        table.to_csv(folder / f"{page}.csv", index=False)


def links(name: str, recorded: Iterable[str]) -> str:
    """A line of Markdown with what can be taken away from a notebook's page."""
    record = f'<a href="../../records/{name}'
    some = [f'{record}.csv" download>The numbers of this page (CSV)</a>', f'{record}.json">its record</a>']
    own = f'<a href="../../_sources/book/notebooks/{name}.ipynb" download>the notebook</a>'
    return f'<span class="made-by">Take away: {", ".join([*some * (name in recorded), own])}.</span>'


def figures(name: str, notebook: NotebookNode, folder: Path) -> None:
    """Write the numbers of each figure of a page as ``NAME-FIGURE.csv``, and put a link to them into its caption."""
    folder.mkdir(parents=True, exist_ok=True)
    for cell in notebook.cells:
        texts = [out.data.pop(drawn.KIND) for out in cell.get("outputs", []) if drawn.KIND in out.get("data", {})]
        if texts and (figure := cell.metadata.get("mystnb", {}).get("figure")):
            file = folder / f"{name}-{figure['name'].removeprefix('fig-')}.csv"
            file.write_text(texts[0], encoding="utf-8")
            figure["caption"] += (f' <a class="made-by" href="../../records/figures/{file.name}" download>'
                                  "Its numbers (CSV)</a>")


def tables(text: str, page: Path, folder: Path) -> str:
    """A built page with a link under each table that its notebook showed, to the same cells as a CSV in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    numbers = itertools.count(1)

    def linked(found: re.Match[str]) -> str:
        """The table, written down, and a link to that."""
        file = folder / f"{page.stem}-{next(numbers)}.csv"
        with file.open("w", newline="", encoding="utf-8") as target:
            csv.writer(target, lineterminator="\n").writerows(
                [" ".join(cell.get_text(" ").split()) for cell in row.find_all(["th", "td"])]
                for row in BeautifulSoup(COUNTS.sub("", found[0]), "html.parser").find_all("tr"))
        return f'{found[0]}<p class="made-by"><a href="{relpath(file, page.parent)}" download>This table (CSV)</a></p>'

    return TABLE.sub(linked, text)


def first_cell(root: Path) -> NotebookNode:
    """The cell that makes a downloaded notebook run anywhere; the site does not show it."""
    address = read_yaml(root / "CITATION.cff").get("repository-code")
    source = FIRST.replace("{address}", address) if address else NO_ADDRESS
    return new_code_cell(source.strip(), id="install", metadata={"tags": ["remove-cell"]})
