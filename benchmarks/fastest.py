"""What the committed table of other projects says about the fastest of them."""

import json
from pathlib import Path

import pandas as pd

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
    rows = pd.read_csv(table, thousands=",").query("work == @work").dropna(subset="median, ms")
    took = dict(zip(rows["by"], rows["median, ms"], strict=True))
    peers = [took[name] for name in took if name not in (base, OURS)]
    return min(peers) / took[base] if base in took and peers else None
