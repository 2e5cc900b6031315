"""Run pages in the smoke profile as scripts, in a folder of their own where nothing is trained yet:

    python tests/smoke.py FOLDER PAGE [PAGE ...] [--changed]

``--changed``: the first weights of every model differ by ``CHANGE`` of themselves. What a quantity then moves by,
rounding may move it by as well, and rounding differs between processors. Pages compute with as many threads as
OMP_NUM_THREADS says. Cells tagged ``science`` are left out: they record nothing.
"""

import contextlib
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn

from pcgraph_lite import PCGraph
from reproduction import checkout
from reproduction.book import notebooks
from reproduction.evidence import config, zoo

CHANGE = 1e-6                                                              # relative, of the first weights


def run(folder: Path, pages: Sequence[str]) -> None:
    """Their records, models and figures go to ``folder/_build/smoke``."""
    folder.mkdir(parents=True, exist_ok=True)
    for part in ("notebooks", "results"):
        (folder / part).symlink_to(checkout.ROOT / part)
    shutil.copytree(checkout.ROOT / "config", folder / "config")
    profile = folder / "config/profiles/smoke.yaml"
    profile.write_text(profile.read_text().replace("threads: 1", f"threads: {os.environ.get('OMP_NUM_THREADS', '1')}"))
    checkout.ROOT = folder.absolute()
    os.environ.setdefault("MPLBACKEND", "Agg")
    with contextlib.chdir(folder):
        for page in pages:
            namespace: dict[str, Any] = {"__name__": "__main__", "display": print}
            for cell in notebooks.cells(page):
                tags = cell.metadata.get("tags", [])
                exec("" if "science" in tags else compile(cell.source, page, "exec"), namespace)
                if "parameters" in tags:
                    namespace |= notebooks.resolve(page, config.load_profile("smoke"), {})


def change_first_weights() -> None:
    """From now on in this process: of every graph that is made, and of every baseline of ``zoo.build``."""
    generator = torch.Generator().manual_seed(1)
    first, made = PCGraph._draw, zoo.build

    def changed(model: nn.Module) -> None:
        for p in model.parameters():
            p.data.mul_(1 + CHANGE * torch.randn(p.shape, generator=generator).to(p))

    def drawn(self: PCGraph, *given: Any) -> None:
        first(self, *given)
        changed(self)

    def build(*given: Any) -> tuple[nn.Module, torch.Generator]:
        model, left = made(*given)
        if not isinstance(model, PCGraph):
            changed(model)
        return model, left

    PCGraph._draw, zoo.build = drawn, build


if __name__ == "__main__":
    if "--changed" in sys.argv:
        sys.argv.remove("--changed")
        change_first_weights()
    run(Path(sys.argv[1]), sys.argv[2:])
