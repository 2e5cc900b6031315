"""Renew what CI compares with: run every notebook in the smoke profile and keep the outputs and the numbers.

Run by ``make smoke-outputs``. ``tests/notebooks/NAME.ipynb`` is what nbval executes and compares;
``NAME.records.json`` holds the numbers and their relative tolerances, which a renewal keeps.
"""

import json
import sys
from pathlib import Path

import nbformat

from reproduction.book import notebooks
from reproduction.evidence import config

HERE = Path(__file__).resolve().parent
# Relative, for a notebook that has none yet; null: present, but not compared. Shares of few images move in steps.
TOLERANCES = {"*": 0.02, "seconds": None, "training_seconds": None, "epoch_seconds": None, "epoch_seconds_ratio": None,
              "completion_seconds": None, "denoising_seconds": None, "gpus": None,
              "best_step": None, "mse_difference": 0.2, "mse_difference_sd": 0.2,
              "improved_share": 0.1, "judge_agreement": 0.2, "noisy_judge_agreement": 0.5,
              "unlabelled_judge_agreement": 0.2, "completion_judge_agreement": 0.2, "denoised_judge_agreement": 0.5}


def main(names: list[str]) -> None:
    """Renew the notebooks named, or all."""
    for name in names or config.notebook_names():
        executed = notebooks.run(name, "smoke")
        keep_notebook(executed, HERE / "notebooks" / f"{name}.ipynb")
        keep_numbers(executed.parent.parent / "records" / f"{name}.json",
                     HERE / "notebooks" / f"{name}.records.json")


def keep_notebook(executed: Path, target: Path) -> None:
    """Without times, which would change at every renewal, and without pictures, which nbval does not compare."""
    notebook = nbformat.read(executed, as_version=4)
    notebook.metadata.pop("papermill", None)
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
        cell.metadata.pop("papermill", None)
        cell.metadata.pop("execution", None)
        for output in cell.get("outputs", []):
            if "image/png" in output.get("data", {}):
                del output.data["image/png"]
    target.parent.mkdir(exist_ok=True)
    nbformat.write(notebook, target)


def keep_numbers(saved: Path, target: Path) -> None:
    """The records without their provenance; tolerances stay as they are."""
    tolerances = json.loads(target.read_text())["tolerances"] if target.exists() else TOLERANCES
    rows = json.loads(saved.read_text())["records"]
    target.write_text(json.dumps({"tolerances": tolerances, "records": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
