"""What the committed table of other projects says about the fastest of them."""

import csv
import json
from pathlib import Path

from reproduction.checkout import ROOT

OURS = "ours"


def fastest_peer(work: str, device: str, base: str, folder: Path = ROOT / "results" / "bench") -> float | None:
    """Median time of the fastest other project over that of ``base``, a line of the same work; None: not known.

    Times of different runs cannot be compared on a shared machine, but both were measured beside the same base.

    Args:
        work: its name in the table.
        device: as ``hardware.describe`` says; a table of another processor says nothing.
    """
    table, origin = folder / "peers.csv", folder / "peers.json"
    if not table.is_file() or json.loads(origin.read_text(encoding="utf-8"))["device"] != device:
        return None
    with table.open(newline="", encoding="utf-8") as file:
        took = {row["by"]: float(row["median, ms"].replace(",", "")) for row in csv.DictReader(file)
                if row["work"] == work and row["median, ms"]}
    reference = took.pop(base, None)
    took.pop(OURS, None)
    return min(took.values()) / reference if reference and took else None
