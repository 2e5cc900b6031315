"""The weights in ``results/weights`` do what the pages say of such graphs, on images that come with the package.
Oracles: the mean image (a completion that knows nothing of the upper half), chance, the stored images themselves."""

import base64
import re
from pathlib import Path

import export_live
import live_files
import numpy as np
import pytest
import torch

from pcgraph_lite import observed, query
from pcgraph_lite.errors import BadFile, BadInput
from pcgraph_lite.images import datasets, metrics
from pcgraph_lite.images.judge import load_judge, read
from pcgraph_lite.studies import memory
from reproduction.evidence import zoo

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def digits() -> datasets.ImageSet:
    return datasets.load("mnist", "test", sample=True).subset(60)


def test_all_of_them_are_small_enough_for_a_repository() -> None:
    sizes = [zoo.committed_path(name).stat().st_size for name in export_live.COMMITTED]
    assert sum(sizes) < 5_000_000
    assert sorted(zoo.committed_path("x").parent.glob("*")) == sorted(map(zoo.committed_path, export_live.COMMITTED))


def test_the_how_to_page_draws_ten_different_digits() -> None:
    (snippet,) = re.findall(r"```python\n(.*?)```", (ROOT / "book/how-to.md").read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, torch.Tensor] = {}
    exec(snippet, names)
    assert (read(load_judge("mnist"), names["digits"].flatten(1)) == torch.arange(10)).sum() >= 9


def test_the_layered_graph_reads_labels(digits: datasets.ImageSet) -> None:
    graph = zoo.committed("generative-labels-mnist")
    answer = query(graph, {"pixels": digits.images}, steps=200, momentum=0.95).values["labels"]
    assert (answer.argmax(-1) == digits.labels).double().mean() > 0.6      # chance is 0.1


def test_the_fully_connected_graph_completes_better_than_the_mean_image(digits: datasets.ImageSet) -> None:
    graph, known = zoo.committed("fully-connected-pixels-equal-mnist"), datasets.top_half(digits.shape)
    answer = query(graph, {"pixels": observed(digits.images, known)}, steps=200, momentum=0.95).values["pixels"]
    mean = datasets.load("mnist", "train", sample=True).images.mean(0).expand_as(digits.images)
    completed, trivial = (metrics.mse(images[:, ~known], digits.images[:, ~known]).mean() for images in (answer, mean))
    assert completed < 0.9 * trivial


@pytest.mark.parametrize("name", export_live.COMMITTED)
def test_unknown_values_may_start_at_random(name: str, digits: datasets.ImageSet) -> None:
    """As in the paper (point 23 of the ambiguities): the lower halves differ by less than one grey level."""
    graph, known = zoo.committed(name), datasets.top_half(digits.shape)
    half = {"pixels": observed(digits.images[:10], known)}
    zeros, random = (query(graph, half, steps=1000, momentum=0.95, start=start) for start in ("zeros", "random"))
    assert metrics.mse(random.values["pixels"], zeros.values["pixels"]).mean() < (1 / 255) ** 2


def test_the_memory_returns_what_it_stores_from_its_upper_half() -> None:
    data = live_files.content(ROOT / "book/live/data/memories.js")
    pixels = np.frombuffer(base64.b64decode(data["images"]), np.uint8).reshape(-1, 784)
    stored = torch.from_numpy(pixels[:10] / 255).float()
    known = datasets.top_half((1, 28, 28))
    graph = zoo.committed("memory-mnist")
    assert (metrics.mse(memory.from_part(graph, stored, known).images, stored) < 1e-3).double().mean() > 0.9
    answer = query(graph, clamp={"pixels": observed(stored, known)}, momentum=0.95, tolerance=1e-9).values["pixels"]
    assert (metrics.mse(answer, stored) < 1e-3).double().mean() > 0.9      # in [0, 1], whatever its scale inside


def test_unknown_or_changed_weights_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadInput, match=r"no committed weights of 'unheard-of'.*generative-labels-mnist"):
        zoo.committed("unheard-of")
    damaged = bytearray(zoo.committed_path("memory-mnist").read_bytes())
    damaged[len(damaged) // 2] ^= 1
    monkeypatch.setattr(zoo, "committed_path", lambda name: tmp_path / f"{name}.safetensors")
    zoo.committed_path("memory-mnist").write_bytes(damaged)
    with pytest.raises(BadFile, match="damaged"):
        zoo.committed("memory-mnist")
