"""Train both judges on the full data sets, over the committed weights and their calibration: 10 minutes of a core."""

import argparse
from pathlib import Path

from pcgraph_lite.images import judge, judge_training


def main() -> None:
    """Read the command line and train."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(judge.JUDGES), help="judges to train (default: all)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--epochs", type=int, default=None, help="default: the recipe's")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--data", type=Path, default=None, help="folder with the data sets; default: the usual places")
    parser.add_argument("--out", type=Path, default=None, help="folder for the weights; default: the package's")
    parser.add_argument("--checkpoints", type=Path, default=None, help="folder to resume from; default: none")
    options = parser.parse_args()
    for name in options.names:
        out = options.out and options.out / judge.weights_path(name).name
        path = judge_training.train(name, options.seed, options.epochs, options.device, data_root=options.data, out=out,
                                    checkpoint=options.checkpoints and options.checkpoints / f"{name}.safetensors")
        facts = judge.load_judge(name, path=path).provenance
        print(f"{path}: {float(facts['validation']):.2%} held out, {float(facts['test']):.2%} test")


if __name__ == "__main__":
    main()
