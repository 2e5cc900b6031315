"""Which version of the numbers the code computes: the digest of small trainings that are committed in numerics.json.

Weights depend on their settings and on the code. A hash of the sources would change with every comment; here the code
has changed when one of those trainings gives other numbers (tests/golden.py). Each stands for one thing that settings
can name, and a model has the version of what it is made of. So a change of one baseline leaves graphs as they are, and
a new activation leaves everything as it is.
"""

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pcgraph_lite.errors import BadFile

if TYPE_CHECKING:
    from .config import Model  # only there: it needs torch

PLAIN = "[0, 1]"                                           # of the scales, the one without a part of its own
COMMAND = "python tests/golden.py"
FILE = Path(__file__).with_suffix(".json")


def parts(spec: "Model") -> list[str]:
    """What a model is made of, as numerics.json names it."""
    if spec.kind != "pcgraph":
        return [spec.kind]
    return ["pcgraph", f"activation {spec.activation}", f"topology {spec.topology.constructor}",
            *(["top-k"] if spec.top_k else []), *([f"scale {spec.scale}"] if spec.scale != PLAIN else [])]


def version(spec: "Model") -> str:
    """Digest of the committed numbers of what a model is made of. Raises BadFile where one has none yet."""
    known = committed()
    if missing := [part for part in parts(spec) if part not in known]:
        raise BadFile(f"numerics.json has no numbers for {missing[0]!r} yet; commit them: {COMMAND}")
    return hashlib.sha256(json.dumps([known[part] for part in parts(spec)]).encode()).hexdigest()[:16]


def digest() -> str:
    """Of all committed numbers: alike where no number has moved."""
    return hashlib.sha256(FILE.read_bytes()).hexdigest()[:16]


@cache
def committed() -> dict[str, list[list[float]]]:
    """The numbers of numerics.json: part -> a row for each training."""
    return json.loads(FILE.read_text()) if FILE.is_file() else {}
