"""Count what the tests try against the package, and write it down for the book's page "How far to trust this".

    python scripts/trust.py [--tests]             # --tests: run the tests that count, and coverage; else keep theirs

Writes ``results/trust.json``, and from it, ``results/mutants.json`` and the installed packages ``book/trust.csv`` and
``book/licences.csv``.
"""

import csv
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from importlib import metadata
from pathlib import Path
from typing import Any

from mutants import source
from packaging.requirements import Requirement

from pcgraph_lite.files import digest, write_aside
from reproduction import checkout
from reproduction.evidence.config import read_yaml

ROOT = Path(__file__).resolve().parent.parent
COUNTED = ["tests/test_fuzz.py", "tests/test_hostile.py", "tests/test_files.py"]
LICENCE = "License :: OSI Approved :: "
EQUIVALENT = ROOT / "results/equivalent.yaml"
MOST = 60                                                                  # letters of a licence that are shown


def counts() -> dict[str, Any]:
    """What the tests count, by running them, with the commit."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "counts"
        subprocess.run([sys.executable, "-m", "pytest", *COUNTED], cwd=ROOT, check=True,
                       env=os.environ | {"PCGRAPH_COUNTS": str(path)})
        found: Counter[str] = Counter()
        for line in path.read_text().splitlines():
            what, number = line.split()
            found[what] += int(number)
    return {**found, "commit": checkout.version()[0]}


def coverage() -> float:
    """Branch coverage of the package by all tests that are not slow, in per cent."""
    subprocess.run(["make", "coverage"], cwd=ROOT, check=True)
    done = subprocess.run([sys.executable, "-m", "coverage", "report", "--data-file=_build/coverage", "--format=total",
                           "--precision=1"], cwd=ROOT, check=True, capture_output=True, text=True)
    return float(done.stdout)


def locked() -> list[Requirement]:
    """The packages of requirements.txt, for any machine."""
    return [Requirement(line) for line in re.findall(r"(?m)^(\w[^\\\n]*) \\$", (ROOT / "requirements.txt").read_text())]


def licences() -> list[tuple[str, str, str]]:
    """Name, version and licence of each package that is locked for this machine, as its own metadata has it."""
    return [(one.name, str(one.specifier)[2:], _licence(one.name)) for one in locked()
            if not one.marker or one.marker.evaluate()]


def _licence(name: str) -> str:
    given = metadata.metadata(name)
    named = [text.removeprefix(LICENCE) for text in given.get_all("Classifier", []) if text.startswith(LICENCE)]
    text = given.get("License-Expression") or ", ".join(named) or (given.get("License") or "").partition("\n")[0]
    return text if 0 < len(text) <= MOST else f"{text[:MOST]} …" if text else "not said"


def rows(kept: dict[str, Any], mutants: dict[str, Any]) -> list[tuple[str, str]]:
    """What the page shows."""
    words = {"calls": "calls of every public name with bad values: each gave an error of ours or an answer without NaN",
             "hostile": "damaged and hostile files: each was refused in a line, within 1 GiB",
             "flips": "flipped bits of checkpoints: each was named, or the result was the same",
             "coverage": "branches of the package that tests run, per cent"}
    shown = [(text, f"{kept[key]:,}") for key, text in words.items() if key in kept]
    for whole, text in ((True, "all changes tried so far of"), (False, "a random sample of the changes of")):
        some = {file: row for file, row in mutants.items() if row["whole"] == whole and row["tried"]}
        if some:
            tried, dead, chosen = (sum(some[file][key] if key != "tried" else len(some[file][key]) for file in some)
                                   for key in ("tried", "killed", "chosen"))
            rest = f", {chosen - tried} still to be tried" if chosen > tried else ""
            shown.append((f"small changes of the code that tests notice ({text} {', '.join(some)}{rest})",
                          f"{dead} of {tried}"))
    if mutants:
        shown.append(("changes that no test noticed and that do nothing (listed below); any other is a gap",
                      f"{len(survivors(mutants))} of {sum(len(row['survivors']) for row in mutants.values())}"))
    shown.append(("packages locked by version and content", str(len(locked()))))
    return shown


def survivors(mutants: dict[str, Any]) -> list[tuple[str, str, str]]:
    """File, changed line and reason of the changes that nothing can notice, as ``results/equivalent.yaml`` has them."""
    reasons = read_yaml(EQUIVALENT)
    return [(file, f"``{line}``", reasons[file][line]) for file, row in mutants.items()
            for change in row["survivors"] if (line := added(change)) in reasons.get(file, {})]


def added(change: str) -> str:
    """What a change puts in, as one line."""
    return " ".join(line[1:].strip() for line in change.splitlines() if line.startswith("+"))


def table(header: tuple[str, ...], lines: list[tuple[str, ...]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *lines])
    return text.getvalue()


def files() -> dict[str, str]:
    """The tables of the page, from what was counted."""
    read = {name: json.loads(path.read_text()) if (path := ROOT / f"results/{name}.json").is_file() else {}
            for name in ("trust", "mutants")}
    read["mutants"] = {file: row for file, row in read["mutants"].items()      # of the code as it is
                       if digest(source(file)) == row["digest"]}
    lines = survivors(read["mutants"]) or [("–", "–", "–")]
    return {"book/survivors.csv": table(("file", "changed to", "why nothing can notice it"), lines),
            "book/trust.csv": table(("what was tried", "number"), rows(read["trust"], read["mutants"])),
            "book/licences.csv": table(("package", "version", "licence"), licences())}


def main() -> None:
    if "--tests" in sys.argv:
        with write_aside(ROOT / "results/trust.json") as part:
            part.write_text(json.dumps(counts() | {"coverage": coverage()}, indent=1) + "\n")
    for name, text in files().items():
        with write_aside(ROOT / name) as part:
            part.write_text(text)


if __name__ == "__main__":
    main()
