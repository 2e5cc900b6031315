"""Write what the live parts of the book load: trained weights, digits, masks, scores over relaxed time.

    python scripts/export_live.py                # everything
    python scripts/export_live.py scores         # a part: weights, scores or masks; only weights need models
    python scripts/export_live.py committed      # small graphs for zoo.committed into results/weights

Each file of ``book/live/data`` is a script that assigns to ``PCLive.data``, because a page opened from a folder may not
fetch JSON. Weights are int8 with a float32 scale for each source vertex, and say where they come from.
"""

import base64
import hashlib
import json
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pcgraph_lite.engine import topology
from pcgraph_lite.engine.topology import Topology
from pcgraph_lite.errors import BadInput
from pcgraph_lite.files import load_tensors, save_tensors, tensor_digest, write_aside
from pcgraph_lite.images import datasets
from reproduction import checkout
from reproduction.evidence import relaxed_time, strict, sweeps, zoo

DATA = checkout.ROOT / "book/live/data"
GRAPHS, MEMORY = ("generative-mnist", "generative-labels-mnist"), "memory-mnist"      # the first one opens first
COMMITTED = ("generative-labels-mnist", "fully-connected-pixels-equal-mnist", "memory-mnist")      # 5 MB in all
PROFILE, SEED, A_CLASS = "paper", 0, 6
TOLD = ("name", "description", "edges", "n", "provenance")      # what the page says of a model before it is loaded
TOPOLOGIES = strict.read_yaml(checkout.ROOT / "book/live/parts/masks.yaml")


def main(parts: list[str]) -> None:
    """Write the files of some parts, or of all, and say how big they are."""
    files = {name: content for part in parts or PARTS for name, content in PARTS[part]().items()}
    for name, content in files.items():
        path = DATA / f"{name}.js"
        with write_aside(path) as new:
            new.write_text(f'PCLive.data["{name}"] = {json.dumps(content, separators=(",", ":"))};\n', encoding="utf-8")
        print(f"{checkout.relative(path)}: {path.stat().st_size / 1e6:.2f} MB")
    for old in {path.stem for path in DATA.glob("model-*.js")} - files.keys() if "models" in files else ():
        (DATA / f"{old}.js").unlink()


def commit() -> None:
    """Write the weights that ``zoo.committed`` loads, each with the header of its training."""
    for name in COMMITTED:
        training = zoo.ModelRun(name, PROFILE)
        training.load()                                                    # refuses damaged weights
        header, tensors = load_tensors(training.path, zoo.HEADER)
        small = {key: values.half() if values.is_floating_point() else values for key, values in tensors.items()}
        save_tensors(zoo.committed_path(name), small, {key: header[key] for key in zoo.HEADER if key != "history"})


def weights() -> dict[str, object]:
    """The trained graphs, the digits that readers ask about, and the images that the memory stores."""
    files: dict[str, Any] = {f"model-{name}": model(name) for name in (*GRAPHS, MEMORY)}
    for name, source, images in (
            ("digits", "test digits of the bundled sample", chosen_digits()),
            ("memories", f"the images that {MEMORY} stores", zoo.trained_on(MEMORY, PROFILE, SEED))):
        files[name] = {"source": source, "images": packed(to_bytes(images.images)), "labels": images.labels.tolist()}
    told = {name: {"file": f"model-{name}"} | {key: files[f"model-{name}"][key] for key in TOLD}
            for name in (*GRAPHS, MEMORY)}
    return files | {"models": {"graphs": [told[name] for name in GRAPHS], "memory": told[MEMORY]}}


def model(name: str) -> dict[str, object]:
    """One trained graph. Raises BadInput: not trained, no graph, or with a prior, bias or top-k unknown to the page."""
    if not (training := zoo.ModelRun(name, PROFILE, SEED)).path.is_file():           # or the export would train it
        raise BadInput(f"{name} has no weights. Train it: pcgraph train {name} --profile {PROFILE} --seed {SEED}")
    trained = training.load("cpu")
    graph, spec = trained.graph, trained.spec
    if spec.kind != "pcgraph" or graph.prior != "zero" or graph.bias is not None or spec.top_k is not None:
        raise BadInput(f"{name} is a {spec.kind}; the page runs graphs with prior 'zero', no bias and no top-k.")
    starts = [segment.start for segment in graph.segments]
    blocks = [{"from": starts[block.source], "to": starts[block.target]}
              | quantized(block.dense(parameter.detach()).float())
              for block, parameter in zip(graph.blocks, graph.weights, strict=True)]
    groups = {group: [graph.topology.slice(group).start, graph.topology.slice(group).stop]
              for group in graph.topology.groups}
    (commit, dirty), scale = checkout.version(), graph.pixel_scale
    digest = hashlib.sha256("".join(block["data"] for block in blocks).encode()).hexdigest()
    made = {key: trained.provenance.get(key) for key in ("commit", "n", "date", "device", "epochs")}
    return {"name": name, "description": spec.description, "n": graph.topology.n, "groups": groups,
            "activation": spec.activation, "scale": {"offset": scale.offset, "unit": scale.unit},
            "edges": graph.topology.edge_count(), "blocks": blocks,
            "provenance": {"model": name, "profile": PROFILE, "seed": SEED, "trained": made, "kind": "int8",
                           "weights_sha256": tensor_digest(graph.state_dict()), "exported_sha256": digest,
                           "exported_at": commit + ("-dirty" if dirty else "")}}


def quantized(matrix: Tensor) -> dict[str, object]:
    """A block ``(source, target)`` as int8 with one scale a row."""
    scale = matrix.abs().amax(1).clamp_min(1e-30) / 127                    # (source,)
    whole = (matrix / scale[:, None]).round().clamp(-127, 127)
    return {"rows": len(matrix), "cols": matrix.shape[1], "kind": "int8",
            "scale": packed(scale.numpy().astype("<f4")), "data": packed(whole.numpy().astype(np.int8))}


def chosen_digits() -> datasets.ImageSet:
    """The first test digits of each class in the bundled sample, class by class in turn."""
    test = datasets.load("mnist", "test", sample=True)
    rows = torch.stack([(test.labels == digit).nonzero()[:A_CLASS, 0] for digit in range(10)])   # (10, A_CLASS)
    return test.take(rows.T.flatten())


def scores() -> dict[str, object]:
    """The points of the first figure of page I, one list a panel that shows a difference."""
    measured = relaxed_time.scores(sweeps.committed("relaxed-time"))
    usual = measured[measured["n"] == measured.groupby("task")["n"].transform("min")]
    usual = usual.groupby(["task", "scale"]).filter(
        lambda runs: runs["relaxed"].nunique() > 3 and runs["score"].nunique() > 1)    # the others answer nothing
    panels = []
    for task, runs in usual.groupby("task", sort=False):
        kept = runs[["relaxed", "T", "gamma", "decay", "score"]].sort_values("relaxed")
        points = json.loads(kept.assign(gamma=kept["gamma"].astype(str)).to_json(orient="records", double_precision=6))
        panels.append({"task": task.replace("\n", ": "), "more": bool(runs["more"].iloc[0]), "points": points})
    return {"source": "results/sweeps/relaxed-time.csv", "panels": panels}


def masks() -> Iterator[dict[str, object]]:
    """Small topologies, their masks as bits, row by row, the edges between groups, and how many the full size has."""
    for title, one in TOPOLOGIES.items():
        small, full = made(*one["small"]), made(*one["full"])
        pairs = [{"from": e.source, "to": e.target, "edges": small.pairs(e).shape[1]} for e in small.edges]
        yield {"title": title, "words": one["words"], "call": one["small"],
               "full": {"vertices": full.n, "edges": full.edge_count()}, "n": small.n, "groups": small.groups,
               "edges": small.edge_count(), "pairs": pairs,
               "mask": packed(np.packbits(small.mask().numpy().reshape(-1)))}


def made(name: str, arguments: Mapping[str, Any]) -> Topology:
    """A topology of ``engine.topology``; those that are drawn come from seed 0."""
    drawn = {"generator": torch.Generator().manual_seed(0)} if name in ("assemblies", "small_world") else {}
    return topology.CONSTRUCTORS[name](**arguments, **drawn)


def to_bytes(images: Tensor) -> np.ndarray:
    """Images in [0, 1] as bytes, which is what they were."""
    return (images * 255).round().to(torch.uint8).numpy()


def packed(array: np.ndarray) -> str:
    """The bytes of an array, base64."""
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()


PARTS = {"weights": weights, "scores": lambda: {"relaxed-time": scores()}, "masks": lambda: {"masks": list(masks())}}

if __name__ == "__main__":
    commit() if sys.argv[1:] == ["committed"] else main(sys.argv[1:])
