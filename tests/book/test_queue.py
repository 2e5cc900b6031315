"""The queue of what final verdicts wait for: what is in it, what it costs, in which order."""

import json
from types import SimpleNamespace

import pandas as pd
import pytest

from pcgraph_lite.images import datasets
from reproduction import checkout
from reproduction.book import queue
from reproduction.evidence import claims, config, verdicts, zoo


def page(name: str, count: int, *trainings: tuple[str, int], seconds: float = 0.0) -> queue.Page:
    """A page that so many claims wait for."""
    return queue.Page(name, tuple(f"{name}{k}" for k in range(count)), frozenset(trainings), (), seconds)


@pytest.fixture
def an_hour_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every training takes an hour."""
    monkeypatch.setattr(queue, "rates", lambda profile: lambda spec: 3600.0)
    monkeypatch.setattr(queue, "products", lambda spec: 1.0)
    monkeypatch.setattr(zoo, "spec", lambda model, profile: model)


def test_most_verdicts_an_hour_come_first(monkeypatch: pytest.MonkeyPatch, an_hour_each: None) -> None:
    """2 claims for 4 hours, 1 for 1, 3 for 2; what two pages need is paid once, by the first of them."""
    shared = ("m", 0)
    slow, quick, best = (page("slow", 2, shared, ("a", 0), ("a", 1), ("a", 2)), page("quick", 1, ("b", 0)),
                         page("best", 3, shared, ("c", 0)))
    monkeypatch.setattr(queue, "pages", lambda profile: [slow, quick, best])
    rows = queue.ordered("paper")
    assert list(rows["page"]) == ["best", "quick", "slow"]
    assert list(rows["hours"]) == [2, 1, 3] and list(rows["hours so far"]) == [2, 3, 6]
    assert list(rows["trainings"]) == [2, 1, 3]


def test_runs_of_a_sweep_cost_what_their_settings_took_else_their_products(an_hour_each: None) -> None:
    """Two that took 100 seconds before, and one that never ran: an hour."""
    run = SimpleNamespace(spec="m")
    waiting = queue.Page("p", ("c",), frozenset(), ((run, 100.0), (run, 100.0), (run, None)), 7.0)
    assert queue._cost(waiting, set(), "paper", queue.rates("paper")) == 7 + 200 + 3600


def test_open_claims_alone_make_a_page_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """A preliminary verdict and one that was not run wait; a final one and one without data here do not."""
    judged = {"gen-a": "preliminary: partly", "gen-d": "not run", "fid": "reproduced", "class-svhn": "not run"}
    rules = claims.load_claims()
    card = pd.DataFrame([{"claim": name, "notebook": rules[name].notebook, "verdict": verdict}
                         for name, verdict in judged.items()])
    monkeypatch.setattr(verdicts, "scorecard", lambda records: card)
    monkeypatch.setattr(datasets, "status", lambda: [{"name": "mnist", "checked": "yes"},
                                                     {"name": "svhn", "checked": "no"}])
    [waiting] = queue.pages("smoke")
    assert (waiting.name, waiting.claims) == ("03a-fully-connected", ("gen-a", "gen-d"))
    assert queue.unavailable(judged) == ["class-svhn"]


def test_products_are_counted_by_hand() -> None:
    """Smoke's generative graph: 1000 images x 3 epochs x (8 + 2) x (10 64 + 64 64 + 64 784) edges."""
    assert queue.products(zoo.spec("generative-mnist", "smoke")) == 1000 * 3 * 10 * (10 * 64 + 64 * 64 + 64 * 784)


KINDS = {spec.kind: name for name, spec in config.load_models().items() if name.endswith("-mnist")}


@pytest.mark.parametrize("name", KINDS.values(), ids=KINDS)
def test_every_kind_of_model_has_a_cost(name: str) -> None:
    """A rate is seconds by products, so none may have 0."""
    assert queue.products(zoo.spec(name, "paper")) >= 1


def test_a_rate_is_the_models_own_else_that_of_its_kind(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    """Two trainings of one graph took 10 and 20 seconds: a third takes 15, and another graph as much a product."""
    folder = tmp_path / "_build" / "smoke" / "models"
    folder.mkdir(parents=True)
    for seed, seconds in ((0, 10.0), (1, 20.0)):
        (folder / f"generative-mnist-seed{seed}.safetensors").touch()
        pd.DataFrame({"seconds": [seconds / 2, seconds / 2]}).to_csv(folder / f"generative-mnist-seed{seed}.csv")
    graph, other, copier = (zoo.spec(name, "smoke")
                            for name in ("generative-mnist", "recurrent-mnist", "autoencoder-mnist"))
    monkeypatch.setattr(checkout, "ROOT", tmp_path)
    monkeypatch.setattr(zoo, "read_header", lambda file: {"model": "generative-mnist"})
    monkeypatch.setattr(queue.config, "load_models", lambda: {"generative-mnist": graph})
    monkeypatch.setattr(zoo, "spec", lambda name, profile: graph)
    rate = queue.rates("smoke")
    assert rate(graph) * queue.products(graph) == pytest.approx(15)
    assert rate(other) == pytest.approx(rate(graph))
    assert rate(copier) == queue.ASSUMED


def test_the_command_lists_what_is_left(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture,
                                        an_hour_each: None) -> None:
    """As JSON, and as a sentence where nothing is."""
    from reproduction.cli import main
    monkeypatch.setattr(queue, "pages", lambda profile: [page("only", 2, ("m", 0), seconds=1800)])
    with pytest.raises(SystemExit, match="0"):
        main(["queue", "--json"])
    [row] = json.loads(capsys.readouterr().out)
    assert (row["page"], row["claims"], row["hours"]) == ("only", "only0, only1", 1.5)
    monkeypatch.setattr(queue, "pages", lambda profile: [])
    with pytest.raises(SystemExit, match="0"):
        main(["queue"])
    assert "final verdict" in capsys.readouterr().out


def test_running_it_trains_then_runs(monkeypatch: pytest.MonkeyPatch, an_hour_each: None) -> None:
    """All models of a page by seed, then the page; the page that is worth most first."""
    monkeypatch.setattr(queue, "pages", lambda profile: [page("02-pc-graphs", 1, ("b", 1), ("a", 1), ("a", 0)),
                                                         page("a-drawings", 1)])
    did = []
    monkeypatch.setattr(zoo, "train", lambda model, profile, seed, device: did.append((model, seed)))
    monkeypatch.setattr(queue.notebooks, "run", lambda name, profile: did.append(name) or checkout.ROOT / name)
    queue.run("smoke", say=lambda text: None)
    assert did == ["a-drawings", ("a", 0), ("a", 1), ("b", 1), "02-pc-graphs"]
