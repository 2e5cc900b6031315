"""Write small trained graphs into ``results/weights``, as 16-bit numbers, for readers who play without training.

    python scripts/export_weights.py

``zoo.committed`` loads them. Each file's header says what was trained, by which commit, and has digests of the weights
as they were trained and of the file.
"""

import json

from pcgraph_lite.files import load_tensors, save_tensors
from reproduction import checkout
from reproduction.evidence import zoo

MODELS = ("generative-labels-mnist", "fully-connected-pixels-equal-mnist", "memory-mnist")
LARGEST = 5_000_000                                # bytes, all of them


def main() -> None:
    """Write the files, and say how big they are."""
    for name in MODELS:
        training = zoo.ModelRun(name, "paper")
        training.load(progress=False)                                      # refuses damaged weights
        header, tensors = load_tensors(training.path, zoo.HEADER)
        about = {key: header[key] for key in zoo.HEADER if key != "history"}
        target = zoo.committed_path(name)
        small = {key: values.half() if values.is_floating_point() else values for key, values in tensors.items()}
        save_tensors(target, small, about)
        trained = json.loads(header["provenance"])
        print(f"{checkout.relative(target)}: {target.stat().st_size / 1e6:.2f} MB, trained at {trained['commit'][:9]}")


if __name__ == "__main__":
    main()
