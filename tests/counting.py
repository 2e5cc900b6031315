"""What tests count for the page "How far to trust this", see scripts/trust.py."""

import os
from pathlib import Path


def counted(what: str, number: int) -> None:
    """Note how many of a kind were tried, where somebody asks for it."""
    if path := os.environ.get("PCGRAPH_COUNTS"):
        with Path(path).open("a") as file:
            file.write(f"{what} {number}\n")
