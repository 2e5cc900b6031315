"""Make the bundled sample: 5,000 + 1,000 real images each of MNIST and FashionMNIST, the same number of every class.

    python scripts/make_sample.py [FOLDER]       # default: over the package's own

The full sets come from where ``pcgraph data`` finds them. Every run writes the same bytes.
"""

import gzip
import hashlib
import json
import struct
import sys
from pathlib import Path

import numpy as np
import torch

from pcgraph_lite.files import write_aside
from pcgraph_lite.images import sources

SEED = 0
A_CLASS = {"train": 500, "test": 100}
PREFIX = {"train": "train", "test": "t10k"}


def draw(labels: np.ndarray, a_class: int, generator: torch.Generator) -> np.ndarray:
    """Rows of ``a_class`` images of every class, shuffled: the first half of MNIST's test set is the easier one."""
    def shuffled(rows: np.ndarray) -> np.ndarray:
        return rows[torch.randperm(len(rows), generator=generator).numpy()]

    chosen = [shuffled(np.flatnonzero(labels == label))[:a_class] for label in np.unique(labels)]
    return shuffled(np.concatenate(chosen))


def write(path: Path, array: np.ndarray) -> str:
    """Write bytes in the idx format of the full sets, gzipped without a time stamp; the SHA-256 of what is unpacked."""
    content = struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes()
    with write_aside(path) as part:
        part.write_bytes(gzip.compress(content, compresslevel=9, mtime=0))
    return hashlib.sha256(content).hexdigest()


def main(out: Path) -> None:
    """Draw and write both data sets, and beside them what was drawn and the digests of the unpacked files."""
    digests, generator = {"mnist": {}, "fashion": {}}, torch.Generator().manual_seed(SEED)
    for name, found in digests.items():
        for split, a_class in A_CLASS.items():
            full = sources.find(name, split)
            rows = draw(full.labels, a_class, generator)
            images, chosen = full.images[rows].reshape(-1, 28, 28), full.labels[rows]
            for part, array in (("images-idx3", images), ("labels-idx1", chosen)):
                file = f"{PREFIX[split]}-{part}-ubyte"
                found[file] = write(out / name / f"{file}.gz", array)
    about = {"seed": SEED, "images a class": A_CLASS, "drawn from": {name: sources.DIGESTS[name] for name in digests},
             "files": digests}
    with write_aside(out / "digests.json") as part:
        part.write_text(json.dumps(about, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else sources.SAMPLE)
