"""Make the bundled sample: 5,000 + 1,000 real images each of MNIST and FashionMNIST, the same number of every class.

The full sets come from where ``pcgraph data`` finds them, or from a folder given with ``--from`` that holds
``MNIST/raw`` and ``FashionMNIST/raw``. Which images are drawn depends
only on the seed and the checked content, and the files carry no time stamp: every run writes the same bytes.
"""

import argparse
import gzip
import hashlib
import json
import struct
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
    rows = []
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        rows.append(members[torch.randperm(len(members), generator=generator)[:a_class].numpy()])
    chosen = np.concatenate(rows)
    return chosen[torch.randperm(len(chosen), generator=generator).numpy()]


def idx(array: np.ndarray) -> bytes:
    """An array of bytes in the idx format of the full sets."""
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes()


def write(path: Path, content: bytes) -> str:
    """Write gzip without a time stamp; return the SHA-256 of the unpacked content."""
    with write_aside(path) as part:
        part.write_bytes(gzip.compress(content, compresslevel=9, mtime=0))
    return hashlib.sha256(content).hexdigest()


def make(out: Path, given: Path | None) -> dict[str, dict[str, str]]:
    """Draw and write both data sets below ``out``; return the digests of the unpacked files."""
    digests: dict[str, dict[str, str]] = {}
    generator = torch.Generator().manual_seed(SEED)
    for name in ("mnist", "fashion"):
        digests[name] = {}
        for split, a_class in A_CLASS.items():
            full = sources.find(name, split, root=given)
            rows = draw(full.labels, a_class, generator)
            parts = {"images-idx3": full.images[rows].reshape(-1, 28, 28), "labels-idx1": full.labels[rows]}
            for part, array in parts.items():
                file = f"{PREFIX[split]}-{part}-ubyte"
                digests[name][file] = write(out / name / f"{file}.gz", idx(array))
    return digests


def main() -> None:
    """Read the command line, make the sample, say how large it is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--from", dest="given", type=Path, default=None, metavar="FOLDER",
                        help="folder with the full sets; default: the usual places")
    parser.add_argument("--out", type=Path, default=sources.SAMPLE, help="default: the package's sample folder")
    options = parser.parse_args()
    digests = make(options.out, options.given)
    full = {name: sources.DIGESTS[name] for name in digests}
    about = {"seed": SEED, "images a class": A_CLASS, "drawn from": full, "files": digests}
    with write_aside(options.out / "digests.json") as part:
        part.write_text(json.dumps(about, indent=1) + "\n")
    size = sum(file.stat().st_size for file in options.out.rglob("*") if file.is_file())
    print(f"{options.out}: {size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
