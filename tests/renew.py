"""Renew what CI compares with: run every notebook in the smoke profile and keep the outputs and the numbers. Run by
``make smoke-outputs``, or for some notebooks alone by ``python tests/renew.py NAME ...``.
``tests/notebooks/NAME.ipynb`` is what nbval executes. ``NAME.records.json`` holds the numbers, each with its
``spread``: by how much it moves at most when all first weights change by a millionth of themselves (``smoke.py``).
Times, and numbers that moved by less than that, stay as they were."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat

from reproduction import checkout
from reproduction.book import notebooks
from reproduction.evidence import config

HERE = Path(__file__).resolve().parent
OF_THE_MACHINE = ("seconds", "gpus")                                       # in the name of what is never compared


def main(names: list[str]) -> None:
    """Renew the notebooks named, or all."""
    names = names or config.notebook_names()
    fresh = {name: notebooks.run(name, "smoke") for name in names}
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, HERE / "smoke.py", folder, *names, "--changed"], check=True,
                       stdout=subprocess.DEVNULL, env=os.environ | {"PYTHONPATH": str(checkout.ROOT)})
        for name, executed in fresh.items():
            keep_notebook(executed, HERE / "notebooks" / f"{name}.ipynb")
            rows = [_rows(root, name) for root in (checkout.ROOT, Path(folder))]
            kept = [row | {"spread": spread(row, other)} for row, other in zip(*rows, strict=True)]
            if (file := committed(name)).is_file():
                kept = unmoved(kept, json.loads(file.read_text())["records"])
            file.write_text(json.dumps({"records": kept}, indent=1) + "\n")


def spread(row: dict[str, Any], other: dict[str, Any]) -> float | None:
    """How far the other is from a record, rounded up. None: the machine decides, and it is not compared."""
    if any(word in row["quantity"] for word in OF_THE_MACHINE):
        return None
    return float(f"{1.05 * abs(other['value'] - row['value']):.1e}")


def committed(name: str) -> Path:
    """The file of a notebook's numbers."""
    return HERE / "notebooks" / f"{name}.records.json"


def unmoved(rows: list[dict[str, Any]], before: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows, but those of before where the value moved by no more than their spread: another day's last digits."""
    known = {_key(row): row for row in before}
    pairs = [(row, known.get(_key(row))) for row in rows]
    return [old if old and (old["spread"] is None or abs(row["value"] - old["value"]) <= old["spread"]) else row
            for row, old in pairs]


def _key(row: dict[str, Any]) -> str:
    return json.dumps({name: value for name, value in row.items() if name not in ("value", "spread")}, sort_keys=True)


def keep_notebook(executed: Path, target: Path) -> None:
    """Without times, which would change at every renewal, prose and pictures, which nbval does not compare. nbval
    passes over the cells tagged ``science``: they record nothing, and ``book/test_pages.py`` runs each by itself."""
    notebook = nbformat.read(executed, as_version=4)
    notebook.metadata.pop("papermill", None)
    notebook.cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
        cell.metadata.pop("papermill", None)
        cell.metadata.pop("execution", None)
        if "science" in cell.metadata.get("tags", []):
            cell.metadata.tags.append("nbval-skip")
        cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]       # of a training
        for output in cell.outputs:
            if "image/png" in output.get("data", {}):
                del output.data["image/png"]
    target.parent.mkdir(exist_ok=True)
    nbformat.write(notebook, target)


def _rows(root: Path, name: str) -> list[dict[str, Any]]:
    return json.loads((root / "_build/smoke/records" / f"{name}.json").read_text())["records"]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="notebooks, such as 05-labels; all if none is named")
    main(parser.parse_args().names)
