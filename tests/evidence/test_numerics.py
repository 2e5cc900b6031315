"""The numbers of the code that trains, and which weights they make stale. Oracle: the committed numbers; changes of the
numbers and of the sources made by the test."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import golden
import pytest
import torch

from pcgraph_lite.baselines import dam
from pcgraph_lite.engine import learning, topology
from pcgraph_lite.engine.weights import Sparse
from pcgraph_lite.errors import BadFile
from reproduction import checkout
from reproduction.checkout import ROOT
from reproduction.evidence import config, numerics, zoo

TRAININGS = dict(golden.trainings())


@pytest.mark.parametrize("part", TRAININGS)
def test_the_code_computes_the_committed_numbers(part: str) -> None:
    """If the change is meant: commit the new numbers, and weights of the old ones are of other code."""
    now = [golden.numbers(settings) for settings in TRAININGS[part]]
    assert not golden.moved(part, now), f"numbers of {part!r} have changed. If that is meant: {numerics.COMMAND}"


def test_everything_that_settings_name_has_numbers() -> None:
    """And the file holds nothing that is no more."""
    assert numerics.committed().keys() == TRAININGS.keys()
    for profile in config.profile_names():
        settings = config.load_profile(profile)
        for name in settings.models or config.load_models():
            assert set(numerics.parts(config.load_model(name, settings))) <= TRAININGS.keys()


WEIGHT_GRADIENT = learning.Spreading.weight_gradient


@pytest.mark.parametrize(("change", "parts"), [
    (lambda patch: patch.setattr(dam, "START_STD", 0.301), ["dam", "rbm", "pcgraph"]),
    (lambda patch: patch.setattr(learning.Spreading, "weight_gradient",                # eq. 4 with the other sign
                                 lambda self, share: WEIGHT_GRADIENT(self, -share)), ["pcgraph", "dam"]),
    (lambda patch: patch.setitem(topology.CONSTRUCTORS, "recurrent", topology.lateral),
     ["topology recurrent", "topology small_world"])], ids=["a baseline", "the engine", "a constructor"])
def test_a_change_moves_its_part_alone(monkeypatch: pytest.MonkeyPatch, change: Callable, parts: list[str]) -> None:
    change(monkeypatch)
    assert [part for part in parts if golden.moved(part, [golden.numbers(one) for one in TRAININGS[part]])] == parts[:1]


def test_a_version_follows_what_a_model_is_made_of(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Digest of the committed numbers of its parts; one without numbers is refused with the command."""
    graph, other = zoo.spec("generative-mnist", "smoke"), zoo.spec("dam-mnist", "smoke")
    before, known = [numerics.version(spec) for spec in (graph, other)], dict(numerics.committed())
    changed = known | {"activation hardtanh": [[1.0]]}
    monkeypatch.setattr(numerics, "committed", lambda: changed)
    assert numerics.version(graph) != before[0] and numerics.version(other) == before[1]
    assert zoo.ModelRun("dam-mnist", "smoke").fingerprint.split()[0] == zoo.ModelRun("dam-mnist", "smoke").identity
    del changed["topology generative"]
    with pytest.raises(BadFile, match=r"no numbers for 'topology generative' yet.*python tests/golden.py"):
        numerics.version(graph)


def test_published_pages_compute_the_same_numbers() -> None:
    """Each names the digest of its commit's numbers, which today's code computes: pages of several commits compare.
    Part by part, so that a new constructor, activation or baseline leaves them as they are."""
    places, now = (numerics.FILE.relative_to(ROOT), "pcgraph_lite/evidence/numerics.json"), numerics.committed()
    known = {}
    for file in (ROOT / "results/records").glob("*.json"):
        facts = json.loads(file.read_text())["provenance"]
        if text := next(filter(None, (checkout.git("show", f"{facts['commit']}:{place}") for place in places)), ""):
            known[file.stem] = facts["numerics"], f"{text}\n"
    if not known:
        pytest.skip("the history of the repository is not here")
    for page, (digest, text) in known.items():
        assert digest == hashlib.sha256(text.encode()).hexdigest()[:16], page
        assert {part for part, numbers in json.loads(text).items() if now.get(part) != numbers} == set(), page


def test_committing_leaves_unmoved_numbers_bit_for_bit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Within rounding nothing is written anew; what moved and what is new is."""
    file = tmp_path / "numerics.json"
    file.write_text('{"a": [[1.00001]], "b": [[1.0]], "gone": [[1.0]]}')
    for module in (golden, numerics):
        monkeypatch.setattr(module, "FILE", file)
    monkeypatch.setattr(golden, "trainings", lambda: [(part, [{}]) for part in ("a", "b", "c")])
    values = iter([[1.0], [1.01], [2.0]])
    monkeypatch.setattr(golden, "numbers", lambda settings: next(values))
    numerics.committed.cache_clear()
    try:
        assert golden.commit() == ["b", "c"]
        assert numerics.committed() == {"a": [[1.00001]], "b": [[1.01]], "c": [[2.0]]}
    finally:
        numerics.committed.cache_clear()


def test_every_plan_is_trained() -> None:
    """Dense, blocks, and blocks stored by their edges, which big assemblies are."""
    graphs = {part: zoo.build(config.checked("a", TRAININGS[part][0], Path("a")), 0, torch.device("cpu"))[0]
              for part in TRAININGS if part.startswith("topology")}
    assert len(graphs["topology fully_connected"].blocks) == 1 < len(graphs["topology generative"].blocks)
    assert any(isinstance(block, Sparse) for block in graphs["topology assemblies"].blocks)
