"""Numbers of the smoke run against committed ones: this detects change and proves nothing.

Oracle: ``tests/notebooks/NAME.records.json``, renewed by ``make smoke-outputs`` in a commit of its own that says why.
The run is that of nbval (``make test``), or one made here where there is none.
"""

import json
import math
from pathlib import Path

import pytest

from reproduction import checkout
from reproduction.book import notebooks
from reproduction.evidence import config
from reproduction.evidence.records import Record

COMMITTED = sorted((Path(__file__).parent.parent / "notebooks").glob("*.records.json"))
ROUNDING = 1e-9          # exactness is recorded as errors near 0, whose digits are noise
RENEW = "If the change is meant: make smoke-outputs, and commit the result alone, saying why."


def numbers(rows: list[dict[str, object]]) -> dict[tuple[str, ...], Record]:
    """Records by what they are."""
    return {record.key(): record for record in map(Record.model_validate, rows)}


def differences(expected: list[dict[str, object]], got: list[dict[str, object]],
                tolerances: dict[str, float | None]) -> list[str]:
    """One line a number that is missing, new, or further off than its relative tolerance."""
    ours, theirs, lines = numbers(got), numbers(expected), []
    for key in sorted(ours.keys() | theirs.keys()):
        record = theirs.get(key) or ours[key]
        allowed = tolerances.get(record.quantity, tolerances["*"])
        old, new = (side[key].value if key in side else None for side in (theirs, ours))
        if old is None or new is None or (allowed is not None and not _close(old, new, allowed)):
            what = ", ".join(part for part in (record.dataset, record.model, f"seed {record.seed}") if part)
            lines.append(f"{record.claim} {record.quantity} ({what}, {record.parameters}): expected {old}, got {new}, "
                         f"relative tolerance {allowed}")
    return lines


def _close(old: float, new: float, allowed: float) -> bool:
    return math.isclose(old, new, rel_tol=allowed, abs_tol=ROUNDING)


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.name.partition(".")[0])
def test_smoke_numbers_are_the_committed_ones(path: Path) -> None:
    """A number that moved is named with its claim, both values and the tolerance."""
    name = path.name.partition(".")[0]
    fresh = checkout.ROOT / "_build" / "smoke" / "records" / f"{name}.json"
    if not fresh.exists():
        notebooks.run(name, "smoke")
    committed = json.loads(path.read_text())
    moved = differences(committed["records"], json.loads(fresh.read_text())["records"], committed["tolerances"])
    assert not moved, "\n".join([*moved, RENEW])


def test_every_notebook_has_committed_outputs() -> None:
    """A new notebook comes with what CI compares."""
    folder = Path(__file__).parent.parent / "notebooks"
    for name in config.notebook_names():
        assert (folder / f"{name}.ipynb").is_file() and (folder / f"{name}.records.json").is_file(), f"{name}: {RENEW}"


ROW = {"claim": "gen-c", "quantity": "denoised_mse", "value": 2.0, "dataset": "mnist", "seed": 0}


@pytest.mark.parametrize(("got", "count"), [
    ([ROW], 0), ([ROW | {"value": 2.01}], 0), ([ROW | {"value": 2.1}], 1), ([], 1),
    ([ROW, ROW | {"seed": 1}], 1), ([ROW | {"quantity": "noisy_mse"}], 2)])
def test_what_counts_as_a_difference(got: list[dict[str, object]], count: int) -> None:
    """Beyond the tolerance, missing, or new."""
    assert len(differences([ROW], got, {"*": 0.01})) == count


def test_a_difference_says_all_that_is_needed() -> None:
    """Claim, quantity, expected, got, tolerance; a quantity can have a tolerance of its own, or none."""
    row = ROW | {"value": 3.0}
    line, = differences([ROW], [row], {"*": 0.01})
    assert all(word in line for word in ("gen-c", "denoised_mse", "expected 2.0", "got 3.0", "tolerance 0.01"))
    assert not differences([ROW], [row], {"*": 0.01, "denoised_mse": 0.6})
    assert not differences([ROW], [row], {"*": 0.01, "denoised_mse": None})
