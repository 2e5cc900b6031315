"""Change the code in small ways, one at a time, and see whether the tests notice: `make mutants`.

The changes are Cosmic Ray's; those that touch annotations alone are left out. Each runs in a fork of one process that
has loaded the libraries, and nothing on the disk is changed. Small files are tried completely, of the others a sample
with a fixed seed. What was done is kept in ``results/mutants.json``, and a run that was stopped goes on. What survived
is tried again: the tests may have become better.

    python scripts/mutants.py [FILE ...] [--most SECONDS]
"""

import argparse
import ast
import difflib
import hashlib
import importlib.util
import json
import os
import random
import resource
import sys
import time
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "results/mutants.json"
CPU = 60                                                                   # seconds of work; then it hangs: killed
SAMPLE = 16                                                                # of each file that is not tried completely
COMPLETE = ("equations", "engine/curvature", "engine/topk")
GRAPH, EXACT, QUERY, ENERGY, SPARSE, SOLVE, LEARN, TOPOLOGY, SCALE = (f"tests/engine/test_{name}.py" for name in (
    "graph", "exactness", "query", "energies", "sparse", "solvers", "learning", "topology", "pixel_scale"))
TESTS = {"equations": ["tests/engine/test_equations.py"], "engine/curvature": [QUERY, ENERGY],
         "engine/topk": [GRAPH, EXACT], "engine/graph": [GRAPH, SPARSE, EXACT], "engine/layout": [GRAPH, SPARSE, EXACT],
         "engine/weights": [GRAPH, SPARSE, EXACT, LEARN], "engine/inference": [QUERY, ENERGY, EXACT],
         "engine/query": [QUERY], "engine/conditioned": [SOLVE, QUERY, EXACT], "engine/solvers": [SOLVE, QUERY, ENERGY],
         "engine/activations": ["tests/engine/test_activations.py", EXACT, QUERY],
         "engine/topology": [TOPOLOGY, SPARSE],
         "engine/learning": [LEARN, SCALE, EXACT], "engine/epochs": [LEARN, "tests/test_files.py"],
         "engine/scale": [SCALE, "tests/images/test_scale.py"],
         "evidence/claims": ["tests/evidence/test_claims.py"], "evidence/verdicts": ["tests/evidence/test_claims.py"],
         "images/metrics": ["tests/images/test_metrics.py"]}


def mutants(file: str, most: int | None = None) -> tuple[list[dict[str, Any]], int]:
    """Changes of a file that compile and are more than one of its annotations, and the number of places to change.

    All of them, or as many as wanted from places drawn with a fixed seed.
    """
    from cosmic_ray import plugins
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.mutating import mutate_code
    text = source(file).read_text(encoding="utf-8")
    nodes = list(ast_nodes(get_ast(text)))
    kinds = [kind for name in plugins.operator_names() if not (kind := plugins.get_operator(name)).arguments()]
    places = [(kind, k) for kind in kinds for k in range(sum(1 for n in nodes for _ in kind().mutation_positions(n)))]
    seen, found = {plain(text)}, []
    for kind, k in random.Random(0).sample(places, len(places)):
        changed = mutate_code(text, kind(), k)
        if changed and (bare := plain(changed)) and bare not in seen:
            seen.add(bare)
            found.append({"file": file, "change": told(text, changed), "text": changed})
        if len(found) == most:
            break
    return found, len(places)


def package(file: str) -> str:
    return "reproduction" if file.startswith("evidence") else "pcgraph_lite"


def source(file: str) -> Path:
    return ROOT / package(file) / f"{file}.py"


def plain(text: str) -> str:
    """The code without annotations, as one string; empty where it is none."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return ""
    for node in ast.walk(tree):
        for name in ("annotation", "returns"):
            if getattr(node, name, None) is not None:
                setattr(node, name, ast.Constant(0))
    return ast.dump(tree)


def told(before: str, after: str) -> str:
    """The lines that differ, and where."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0)
    return "\n".join(line for line in lines if line[:3] not in ("+++", "---"))


def killed(file: str, text: str, tests: list[str]) -> bool:
    """Whether the tests fail with this text in place of the file's."""
    if (child := os.fork()) == 0:
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        resource.setrlimit(resource.RLIMIT_CPU, (CPU, CPU))
        sys.meta_path.insert(0, Changed(f"{package(file)}.{file}".replace("/", "."), source(file), text))
        import pytest
        os._exit(int(pytest.main(["-x", "-p", "no:cacheprovider", "-m", "not slow", *tests])))
    return os.waitpid(child, 0)[1] != 0


class Changed(SourceFileLoader):
    """Finds and loads one module, with another text."""

    def __init__(self, name: str, path: Path, text: str) -> None:
        super().__init__(name, str(path))
        self.text = text

    def find_spec(self, name: str, *_: object) -> object:
        return importlib.util.spec_from_file_location(name, self.path, loader=self) if name == self.name else None

    def get_code(self, name: str) -> object:
        return compile(self.text, self.path, "exec")


def try_file(file: str, until: float, kept: dict[str, Any]) -> None:
    """Try what is chosen of a file and was not tried yet, and write down each outcome."""
    some, places = mutants(file, None if file in COMPLETE else SAMPLE)
    of = hashlib.sha256(source(file).read_bytes()).hexdigest()             # a changed file is tried anew
    if kept.get(file, {}).get("digest") != of:
        kept[file] = {"digest": of, "whole": file in COMPLETE, "places": places, "chosen": len(some), "killed": 0,
                      "survivors": [], "tried": []}
    row = kept[file]
    row["tried"] = [change for change in row["tried"] if change not in row["survivors"]]
    row["survivors"] = []
    if not row["tried"] and killed(file, source(file).read_text(encoding="utf-8"), TESTS[file]):
        sys.exit(f"the tests of {file} fail without any change: {' '.join(TESTS[file])}")
    for mutant in some:
        if mutant["change"] in row["tried"] or time.monotonic() > until:
            continue
        fails = killed(file, mutant["text"], TESTS[file])
        row["tried"].append(mutant["change"])
        row["killed"] += fails
        row["survivors"] += [] if fails else [mutant["change"]]
        print(file, f"{row['killed']}/{len(row['tried'])}", "" if fails else mutant["change"], flush=True)
        part = RESULT.with_name(f"{RESULT.name}.part")
        part.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
        part.replace(RESULT)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", default=list(TESTS))
    parser.add_argument("--most", type=float, default=float("inf"), help="seconds after which nothing is begun")
    given = parser.parse_args()
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    sys.path.append(str(ROOT / "_build/cosmic"))
    import hypothesis.strategies  # noqa: F401  (loaded once, for all forks)
    import pandas  # noqa: F401
    import scipy.stats  # noqa: F401
    import torch
    torch.set_num_threads(1)
    kept = json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.is_file() else {}
    until = time.monotonic() + given.most
    for file in given.files:
        try_file(file, until, kept)


if __name__ == "__main__":
    main()
