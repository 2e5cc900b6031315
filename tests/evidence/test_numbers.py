"""Numbers of the smoke run against committed ones: this detects change and proves nothing. Oracle:
``tests/notebooks/NAME.records.json``, renewed by ``make smoke-outputs`` in a commit of its own that says why. A number
may differ by what it moves when all first weights change by a millionth of themselves, which is stored beside it. The
smoke profile computes in float64, where processors and threads differ by far less. The run is that of nbval (``make
test`` makes it before); other processors' arithmetic runs by itself, for many minutes: ``pytest -m arithmetic``."""

import json
import math
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import renew

from reproduction import checkout
from reproduction.book import notebooks
from reproduction.evidence import config
from reproduction.evidence.records import Record

TESTS = Path(__file__).parent.parent
COMMITTED = sorted((TESTS / "notebooks").glob("*.records.json"))
SINGLE = 1.1e-5          # relative: sweeps keep six digits; judge, FID and SSIM compute in float32, which rounds less
ROUNDING = 1e-9          # exactness is recorded as errors near 0, whose digits are noise
STABLE = 0.1             # a training whose numbers a millionth moves further is chaotic, and no baseline
PATIENCE = 120           # seconds
SLACK = 3                # times the spread, which one draw has measured
MANY = 100               # images of which one may change its class
RENEW = "If the change is meant: make smoke-outputs, and commit the result alone, saying why."
TRAINING = [path.name.partition(".")[0] for path in COMMITTED if json.loads(path.read_text())["records"]]
# What other processors compute with, and more threads: vector units of torch, of oneDNN, of MKL. Two settings are tried
# of a group of pages. With the plain run of nbval each page sees every value, and all pages together see every pair.
SETTINGS = ("ATEN_CPU_CAPABILITY", "ONEDNN_MAX_CPU_ISA", "MKL_CBWR", "OMP_NUM_THREADS")
ARITHMETIC = [[("default", "SSE41", "COMPATIBLE", "1"), ("avx2", "AVX2", "", "2")],
              [("default", "AVX2", "", "1"), ("avx2", "SSE41", "COMPATIBLE", "2")],
              [("default", "SSE41", "", "2"), ("avx2", "AVX2", "COMPATIBLE", "1")],
              [("default", "AVX2", "COMPATIBLE", "2"), ("avx2", "SSE41", "", "1")]]
TRIED = [(chosen, TRAINING[group::len(ARITHMETIC)]) for group, some in enumerate(ARITHMETIC) for chosen in some]


def saved(path: Path) -> list[dict[str, Any]]:
    return json.loads(path.read_text())["records"]


def numbers(rows: list[dict[str, Any]]) -> dict[tuple[str, ...], Record]:
    """Records by what they are."""
    return {record.key(): record for record in (
        Record.model_validate({k: v for k, v in row.items() if k != "spread"}) for row in rows)}


def differences(expected: list[dict[str, Any]], got: list[dict[str, Any]]) -> list[str]:
    """One line a number that is missing, new, or further off than first weights changed by a millionth bring it."""
    ours, theirs, lines = numbers(got), numbers(expected), []
    spreads = {key: row["spread"] for key, row in zip(theirs, expected, strict=True)}
    for key in sorted(ours.keys() | theirs.keys()):
        record, allowed = theirs.get(key) or ours[key], spreads.get(key)
        old, new = (side[key].value if key in side else None for side in (theirs, ours))
        if old is None or new is None or (allowed is not None and not _close(old, new, allowed, record.n)):
            what = ", ".join(part for part in (record.dataset, record.model, f"seed {record.seed}") if part)
            lines.append(f"{record.claim} {record.quantity} ({what}, {record.parameters}): expected {old}, got {new}; "
                         f"first weights changed by a millionth move it by {allowed}")
    return lines


def _close(old: float, new: float, spread: float, images: int | None) -> bool:
    """Of a share of many images one may fall to the other side: it can lie on a border, whatever the first weights."""
    of_images = images and images >= MANY and all(math.isclose(one * images, round(one * images)) for one in (old, new))
    return math.isclose(old, new, rel_tol=SINGLE, abs_tol=ROUNDING + SLACK * spread + (1 / images if of_images else 0))


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.name.partition(".")[0])
def test_smoke_numbers_are_the_committed_ones(path: Path, request: pytest.FixtureRequest) -> None:
    """A number that moved is named with its claim, both values and how much it may move."""
    fresh = checkout.ROOT / "_build/smoke/records" / f"{path.name.partition('.')[0]}.json"
    until = time.monotonic() + PATIENCE * request.config.getoption("nbval_lax", False)
    while not fresh.exists() and time.monotonic() < until:                 # another worker may be at it
        time.sleep(1)
    if not fresh.exists():
        pytest.skip(f"{checkout.relative(fresh)} is not there; make test runs the notebooks first, or alone: "
                    "pytest --nbval-lax tests/notebooks")
    moved = differences(saved(path), saved(fresh))
    assert not moved, "\n".join([*moved, RENEW])
    asked = any(re.search(r"\b(page\.models|cards(\.load)?)\(", cell.source) for cell in notebooks.cells(fresh.stem))
    models = json.loads(fresh.read_text()).get("models", {})
    assert bool(models) == asked and all(re.fullmatch(r"[0-9a-f]{64}", one["weights"]) for one in models.values())


@pytest.mark.arithmetic
@pytest.mark.slow
@pytest.mark.parametrize(("chosen", "pages"), TRIED, ids=[" ".join(filter(None, chosen)) for chosen, _ in TRIED])
def test_other_arithmetic_gives_the_committed_numbers(chosen: tuple[str], pages: list[str], tmp_path: Path) -> None:
    """A quarter of the pages that train, in a process that computes as other processors do."""
    plain = {key: value for key, value in os.environ.items() if key not in SETTINGS}
    more = {key: value for key, value in zip(SETTINGS, chosen, strict=True) if value}
    done = subprocess.run([sys.executable, TESTS / "smoke.py", tmp_path, *pages], text=True, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, env=plain | more | {"PYTHONPATH": str(checkout.ROOT)})
    assert done.returncode == 0, done.stderr
    moved = [f"{page}: {line}" for page in pages for line in differences(
        saved(TESTS / f"notebooks/{page}.records.json"), saved(tmp_path / f"_build/smoke/records/{page}.json"))]
    assert not moved, "\n".join(moved)


def test_every_notebook_has_committed_numbers() -> None:
    """A new notebook comes with what CI compares; of its code, book/test_pages.py asks."""
    for name in config.notebook_names():
        assert (TESTS / f"notebooks/{name}.records.json").is_file(), f"{name}: {RENEW}"


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.name.partition(".")[0])
def test_no_committed_number_is_chaotic(path: Path) -> None:
    """Where a millionth of the first weights decides what comes out, the smoke profile needs a setting that learns."""
    wild = [row for row in saved(path)
            if row["spread"] is not None and row["spread"] > ROUNDING + STABLE * abs(row["value"])]
    assert not wild, wild


ROW = {"claim": "gen-c", "quantity": "denoised_mse", "value": 2.0, "dataset": "mnist", "seed": 0, "spread": 0.01}
SHARE = ROW | {"value": 0.62, "n": 200, "spread": 0.0}


@pytest.mark.parametrize(("before", "now", "count"), [
    (ROW, [ROW], 0), (ROW, [ROW | {"value": 2.02}], 0), (ROW, [ROW | {"value": 2.04}], 1), (ROW, [], 1),
    (ROW, [ROW, ROW | {"seed": 1}], 1), (ROW, [ROW | {"quantity": "noisy_mse"}], 2),
    (ROW | {"spread": None}, [ROW | {"value": 3.0}], 0),
    *((SHARE, [SHARE | {"value": value}], count) for value, count in ((0.615, 0), (0.61, 1), (0.6162, 1))),
    (SHARE | {"value": 0.6, "n": 20}, [SHARE | {"value": 0.65, "n": 20}], 1)])
def test_what_counts_as_a_difference(before: dict[str, Any], now: list[dict[str, Any]], count: int) -> None:
    """Beyond three times the spread, missing, or new; but neither what the machine decides nor one of many images."""
    assert len(differences([before], now)) == count


def test_a_renewal_keeps_what_hardly_moved() -> None:
    """Within the spread the committed row stays, digit for digit, and so does a time; what moved or is new is taken."""
    timed, other = ROW | {"quantity": "training_seconds", "spread": None}, ROW | {"value": 1.0}
    assert 1 < renew.spread(ROW, other) < 1.2 and renew.spread(ROW, ROW) == 0 and renew.spread(timed, other) is None
    before = [ROW, ROW | {"seed": 1}, timed]
    rows = [ROW | {"value": 2.009}, ROW | {"seed": 1, "value": 2.02}, timed | {"value": 9.0}, ROW | {"seed": 2}]
    assert renew.unmoved(rows, before) == [ROW, rows[1], timed, rows[3]]
