"""The version of the numbers that the code computes: a digest of small trainings in numerics.json, one for each part of
a model that settings can name (tests/golden.py). So neither a comment nor a changed baseline makes weights of graphs
stale.
"""

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pcgraph_lite.errors import BadFile

if TYPE_CHECKING:
    from .config import Model  # only there: it needs torch

PLAIN = "[0, 1]"                                           # the scale without a part of its own
COMMAND = "python tests/golden.py"
FILE = Path(__file__).with_suffix(".json")


def parts(spec: "Model") -> list[str]:
    """The parts of a model, by their names in numerics.json."""
    if spec.kind != "pcgraph":
        return [spec.kind]
    return ["pcgraph", f"activation {spec.activation}", f"topology {spec.topology.constructor}",
            *(["top-k"] if spec.top_k else []), *([f"scale {spec.scale}"] if spec.scale != PLAIN else [])]


def version(spec: "Model") -> str:
    """Digest of the committed numbers of a model's parts. Raises BadFile: a part has no numbers yet."""
    known = committed()
    if missing := [part for part in parts(spec) if part not in known]:
        raise BadFile(f"numerics.json has no numbers for {missing[0]!r} yet; commit them: {COMMAND}")
    return hashlib.sha256(json.dumps([known[part] for part in parts(spec)]).encode()).hexdigest()[:16]


@cache
def committed() -> dict[str, list[list[float]]]:
    """The numbers of numerics.json: part -> one row per training."""
    return json.loads(FILE.read_text()) if FILE.is_file() else {}
