"""Run the command that each page gives under "Your turn", and note how long it takes and what its last lines say.

    python scripts/measure_turns.py [PAGE ...]

Writes ``results/turns.json`` and the records of each run below ``results/turns``; the website makes the lines below the
command of them. Seconds are of the processor, and other work changes them little. What the page itself would train is
trained before, as `make book` does; what its command needs beside that counts, so begin without
``_build/laptop/models``.
"""

import json
import re
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from pcgraph_lite import hardware
from pcgraph_lite.files import write_aside
from reproduction import checkout

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "results/turns.json"


def command(page: str) -> str:
    """What the page gives to run."""
    return re.search(rf"^pcgraph run {page} .*$", (ROOT / f"notebooks/{page}.md").read_text(), re.MULTILINE)[0]


def measured(page: str) -> dict[str, Any]:
    """Seconds of the processor, and what they were measured with; the records of the run are kept."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["pcgraph", "run", page, "--profile", "laptop", "--out", f"{folder}/usual"], check=True)
        before = _seconds()
        subprocess.run([*shlex.split(command(page)), "--out", f"{folder}/turn"], check=True)
        took = round(_seconds() - before, 1)
        with write_aside(RESULT.with_suffix("") / f"{page}.json") as part:
            shutil.copyfile(f"{folder}/turn/records/{page}.json", part)
    return {"command": command(page), "seconds": took, "device": hardware.describe("cpu"),
            "commit": checkout.version()[0]}


def _seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main(pages: list[str]) -> None:
    """Measure some pages, or all, and keep each as soon as it is known."""
    for page in pages or sorted(path.stem for path in (ROOT / "notebooks").glob("*.md")):
        found = measured(page)
        known = json.loads(RESULT.read_text()) if RESULT.is_file() else {}      # read late: two may measure at once
        kept = json.dumps(dict(sorted((known | {page: found}).items())), indent=1, ensure_ascii=False)
        with write_aside(RESULT) as part:
            part.write_text(kept + "\n", "utf-8")
        print(page, found["seconds"], flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
