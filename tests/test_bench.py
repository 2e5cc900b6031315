"""The benchmark measures what it says. Oracles: calls that note their own order; allocations of known size; products
counted as torch dispatches them; the engine's own training step; a power law made by the test."""

import csv
import json
import time
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
import torch
from command import call
from pretended_gpu import pretended_gpu

from benchmarks import edges, floor, launches, quality, replicas, report, rows, scaling, suite, timing, training
from benchmarks.counting import Products, product_flops
from benchmarks.fastest import fastest_peer
from benchmarks.memory import peak_bytes
from benchmarks.peers import courses, worker
from benchmarks.queries import Question, linear_answer
from benchmarks.textbook import flops as textbook_flops
from pcgraph_lite import PCGraph, fit, query, topology
from pcgraph_lite.baselines import mlp
from pcgraph_lite.engine import learning
from pcgraph_lite.errors import BadFile
from pcgraph_lite.studies import oracles
from reproduction import checkout

QUICK = rows.Sizes(quick=True)
WORKS = [training.fully_connected, training.layered, training.generative]


def test_contenders_take_turns_and_a_ratio_is_taken_turn_by_turn() -> None:
    """A machine that is ten times slower in two turns of three changes no ratio."""
    called: list[str] = []
    times = timing.interleaved({name: lambda name=name: called.append(name) for name in "abc"}, repeats=4, warmup=2)
    assert called == list("abc") * 6
    assert all(len(t.seconds) == 4 for t in times.values())
    ours, other = timing.Timing((2.0, 20.0, 20.0)), timing.Timing((1.0, 10.0, 10.0))
    assert ours.over(other) == 2 and ours.median == 20
    assert timing.Timing((3.0, 10.0, 10.0)).over(timing.Timing((1.0, 10.0, 5.0))) == 2


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_kernels_of_a_step_are_counted_as_by_hand(device: str) -> None:
    """Two hidden layers of 16, B = 20. Each: f, error before products, f' times feedback, gradient and move. The labels
    take one pass. Between the layers, and from the second one to the labels, are two products each."""
    work, (b, h, n) = training.layered(QUICK), (20, 16, 10)
    with pretended_gpu():
        seen = launches.counted(work, device)
    passes = 2 * (2 + 3 + 3 + 3) * b * h + (3 + 2) * b * h + 2 * b * n     # the errors start as a sum and as copies
    between = (b * h + h * h + 2 * b * h) + (b * h + h * h + b * h)        # predictions add to what is there
    labels = (b * h + h * n + 2 * b * n) + (b * n + h * n + b * h)
    assert (seen.launches, seen.products) == (15, 4)
    assert seen.bytes == 4 * (passes + between + labels)


def test_the_committed_launches_are_those_of_the_code() -> None:
    """They hold no time, so any machine counts the same."""
    with launches.FILE.open(newline="", encoding="utf-8") as file:
        assert [tuple(row) for row in csv.reader(file)] == [launches.COLUMNS, *launches.lines(rows.Sizes(quick=False))]


def test_time_that_others_had_the_processor_is_not_counted() -> None:
    """One thread that sleeps used no processor; with two threads, or on a GPU, the wall's clock counts."""
    assert timing.timed(lambda: time.sleep(0.2)) < 0.1
    assert timing.clock_name("cpu") == timing.PROCESSOR and timing.clock_name("cuda") == timing.WALL
    torch.set_num_threads(2)
    assert timing.timed(lambda: time.sleep(0.2)) >= 0.2


def test_peak_memory_is_exact_for_tensors() -> None:
    """Two of three buffers at once, what was there before not counted."""
    before = [torch.zeros(1000)]

    def work() -> None:
        a = torch.zeros(3000)
        del a
        b, c = torch.zeros(1000), torch.zeros(2500)
        del before[:], b, c

    assert peak_bytes(work) == 4 * 3500
    before.append(torch.zeros(1000))
    assert peak_bytes(before.clear) == 0


@pytest.mark.parametrize("learn", [True, False])
@pytest.mark.parametrize("make", WORKS)
def test_the_floor_computes_what_it_counts(make, learn: bool) -> None:
    """Products as dispatched; shapes cover every edge of the topology (and the diagonal of a full one)."""
    work = make(QUICK)
    products = floor.Floor(work.shapes, work.batch, work.steps, learn=learn)
    assert product_flops(products) == floor.flops(work.shapes, work.batch, work.steps, learn)
    pairs, diagonal = sum((s.free + s.clamped) * s.target for s in work.shapes), work.topology.n
    assert pairs - work.topology.edge_count() == (diagonal if make is training.fully_connected else 0)


@pytest.mark.parametrize("make", WORKS)
def test_the_engine_needs_the_floor(make) -> None:
    """The engine's products are those of the floor, but for those of errors that are still 0; the start costs none. In
    a chain of layers errors spread from its last one by an edge a step: the weights k layers before the last ones have
    nothing to predict and nothing to feed back in the first k steps."""
    work = make(QUICK)
    call = training.trainer(work.graph("cpu"), training.first_images(work.topology, work.batch), work.steps)
    with torch.no_grad(), Products() as seen:
        call()
    zeros = sum(2 * min(work.steps, len(work.shapes) - 1 - k) * s.free * s.target for k, s in enumerate(work.shapes))
    assert bool(zeros) == (make is not training.fully_connected)
    assert seen.flops == floor.flops(work.shapes, work.batch, work.steps) - 2 * work.batch * zeros


@pytest.mark.parametrize("make", WORKS)
def test_the_textbook_loop_takes_the_same_step(make) -> None:
    """The same weights after a batch as the engine's, and the products that it counts."""
    work = make(QUICK)
    graph = PCGraph(work.topology, work.activation, init_std=work.init_std, dtype=torch.float64)
    batch = {name: values.double() for name, values in training.first_images(work.topology, work.batch).items()}
    plain, first = training.textbook_of(work, graph, batch), graph.weight
    with Products() as seen:
        plain()
    start = sum(2 * work.batch * (s.free + s.clamped) * s.target for s in work.shapes)
    counted = textbook_flops(work.topology.n, work.batch, work.steps)
    assert counted <= seen.flops <= counted + start
    training.trainer(graph, batch, work.steps)()
    assert float((graph.weight - first).abs().max()) > 0.5 * training.WEIGHT_LR
    assert torch.allclose(graph.weight, plain.weight, rtol=0, atol=1e-6 * training.WEIGHT_LR)


def test_products_are_counted_whoever_asks() -> None:
    """2 a b c for each product, batched or added to something, and nothing for anything else."""
    a, b, out, many = torch.ones(3, 4), torch.ones(4, 5), torch.ones(3, 5), torch.ones(2, 3, 4)

    def work() -> None:
        torch.mm(a, b, out=out)
        out.addmm_(a, b)
        torch.ones(2, 3, 5).baddbmm_(many, b.expand(2, 4, 5))
        a + a

    assert product_flops(work) == 2 * 3 * 4 * 5 * (1 + 1 + 2)


def test_the_linear_answer_is_that_of_the_oracle() -> None:
    made = topology.fully_connected(pixels=6, labels=0, internal=9)
    graph = PCGraph(made, "linear", init_std=0.2, dtype=torch.float64)
    question = Question(graph, torch.rand(5, 6, dtype=torch.float64), torch.arange(6) < 3, steps=10)
    clamped = torch.arange(15) < 3
    x = torch.cat([question.images, torch.zeros(5, 9, dtype=torch.float64)], 1)
    x[:, 3:6] = 0
    expected, unique = oracles.linear_solution(graph, x, clamped)
    assert unique and torch.allclose(linear_answer(question), expected, atol=1e-9)


def test_replicas_start_and_stay_as_their_graphs_alone() -> None:
    made = replicas.family(8, "cpu")
    batch = training.first_images(made.together.topology, 10)
    together, alone = made.batched(batch, 3), made.serial(batch, 3)
    assert len(alone) == 16 and made.difference() == 0
    for _ in range(2):
        together()
        for train in alone:
            train()
    assert 0 < made.difference() < 1e-4
    assert len({float(graph.weights[1].sum()) for graph in made.alone}) == 16


def short_course(**changes: object) -> tuple[quality.Course, quality.Splits]:
    """A few images of the bundled sample; the learning rate falls in the third epoch."""
    asked = quality.Course("quality-mnist", "mnist", 0.5, (2e-3, 2e-3, 4e-4), batch=30, sample=True, **changes)
    data = quality.splits(asked)
    return asked, quality.Splits(data.images[:100], data.labels[:100], data.test_images, data.test_labels)


@pytest.mark.parametrize("learner", [quality.Graph, quality.Backpropagation])
def test_learners_learn_on_a_gpu_as_on_the_cpu(learner: type) -> None:
    asked, data = short_course()
    here = learner(asked, data, seed=3)
    here.epoch()
    with pretended_gpu():
        there = learner(asked, quality.Splits(*(part.to("cuda") for part in vars(data).values())), seed=3)
        there.epoch()
        assert all(got.is_cuda and torch.equal(got.detach().cpu(), expected.detach())
                   for got, expected in zip(there.weights, here.weights, strict=True))


def test_the_timed_epochs_are_those_of_fit() -> None:
    """Bit for bit the weights of ``fit``, called again where the learning rate falls; the answer is that of a query."""
    asked, data = short_course()
    made, shuffle = quality.Graph(asked, data, seed=3), torch.Generator().manual_seed(3)
    graph = PCGraph(made.graph.topology, "relu", generator=torch.Generator().manual_seed(3))
    for count, rate in [(2, 2e-3), (1, 4e-4)]:
        fit(graph, (data.images, data.labels), epochs=count, weight_lr=rate, steps=asked.steps, batch_size=30,
            value_lr=asked.value_lr, generator=shuffle, progress=False)
    for _ in range(3):
        made.epoch()
    assert all(torch.equal(a, b) for a, b in zip(made.weights, graph.weights, strict=True))
    answer = query(graph, {"pixels": data.test_images[:50]}, start="prediction", steps=3).values["labels"]
    assert torch.allclose(quality.output(made.weights, data.test_images[:50]), answer, atol=1e-5)


def test_the_rival_is_the_baseline_of_the_book() -> None:
    """The weights of ``fit_mlp`` from the same start, whose loss and optimizer are the same."""
    asked, data = short_course()
    rival = quality.Backpropagation(asked, data, seed=3)
    model = mlp.MLP(generator=torch.Generator().manual_seed(3))
    first = [weight.detach().clone() for weight in model.weights]
    assert all(torch.allclose(a, b) for a, b in zip(rival.weights, first, strict=True))
    mlp.fit_mlp(model, data.images, data.labels, epochs=2, weight_lr=2e-3, batch_size=30, progress=False,
                generator=torch.Generator().manual_seed(3))
    for _ in range(2):
        rival.epoch()
    for ours, theirs, start in zip(rival.weights, model.weights, first, strict=True):
        assert (theirs - start).abs().max() > 1e-3 and (ours - theirs).abs().max() < 1e-5


@pytest.mark.parametrize(("steps", "times"), [(3, 1.45), (5, 2.33)])
def test_products_of_a_training_beside_those_of_backpropagation(steps: int, times: float) -> None:
    """What the page on speed says of three hidden layers of 512, whatever the batch; counted as torch is asked."""
    wide, images, labels = [512] * 3, torch.rand(2, 784), torch.tensor([3, 8])
    graph, rival = PCGraph(topology.discriminative(hidden=wide), "relu"), mlp.MLP(hidden=wide)
    train = training.trainer(graph, learning.as_batch(graph, (images, labels)), steps, 0.02)
    with Products() as seen, torch.enable_grad():
        mlp.loss(rival, images, labels).backward()
    assert round(product_flops(train) / seen.flops, 2) == times


def test_a_race_ends_for_each_at_the_bar() -> None:
    """An epoch each in turns; who is there rests, who never gets there stops at the limit."""
    called: list[str] = []

    def scripted(name: str, accuracies: list[float]):
        rest = iter(accuracies)
        return lambda: (called.append(name), (2.0, next(rest)))[1]

    runs = quality.race({"fast": scripted("fast", [0.5, 0.98]), "slow": scripted("slow", [0.6, 0.7, 0.65])}, 0.98, 3)
    assert called == ["fast", "slow", "fast", "slow", "slow"]
    assert runs["fast"].reached and runs["fast"].seconds == [2.0, 2.0] and not runs["slow"].reached
    late = courses._line("quality-mnist", "slow", runs["slow"], runs["fast"])
    there = courses._line("quality-mnist", "fast", runs["fast"], runs["fast"])
    assert late["median, ms"] == late["over ours"] == "" and "98% not reached in 3 epochs" in late["note"]
    assert "best 70.00%" in late["note"] and there["median, ms"] == "4000" and there["over ours"] == "1.00"


def test_a_missing_data_set_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """No time, no target judged, the first line of the reason in the table of targets."""
    monkeypatch.setattr(quality.datasets, "load", mock.Mock(side_effect=BadFile("no place has it\nelse")))
    row = rows.judged(quality.measure("quality-mnist", rows.Sizes(quick=False)), quick=False)
    assert not row.contenders and row.note == "not measured: no place has it"
    assert [target.met for target in row.targets] == [None, None] and not row.quantities
    assert report._targets(row)[0][-1] == row.note


def test_the_fastest_peer_is_held_against_the_same_base(tmp_path: Path) -> None:
    """12 s against 4 s of the base; who never reached the bar or could not do it has no time; one processor alone."""
    here, another = "cpu: this one, 1 thread", "cpu: another, 1 thread"
    (tmp_path / "peers.csv").write_text(
        'work,by,"median, ms"\nquality,ours,7e3\nquality,products,4e3\nquality,slow,2e4\nquality,fast,1.2e4\n'
        "quality,late,\nquery,fast,9e3\n")
    (tmp_path / "peers.json").write_text(json.dumps({"device": here}))
    assert fastest_peer("quality", here, "products", tmp_path) == 3
    assert fastest_peer("quality", here, "backpropagation", tmp_path) is None
    assert fastest_peer("query", here, "products", tmp_path) is None
    assert fastest_peer("quality", another, "products", tmp_path) is None
    assert fastest_peer("quality", here, "products", tmp_path / "nothing") is None


def test_a_peer_learns_from_full_batches_of_scaled_pixels(tmp_path: Path) -> None:
    """Each image at most once an epoch; its answers are counted against the test labels."""
    np.savez(tmp_path / "some.npz", images=np.arange(8.0).reshape(8, 1), labels=np.arange(8), test_labels=np.arange(4),
             test_images=np.full((4, 1), 3.0))
    seen: list[np.ndarray] = []
    learner = worker.Learner(3, lambda x, y: seen.append(np.hstack([x, y])), lambda: None,
                             lambda x: x[:, 0].astype(int), edges=1)
    answer = worker.Course(learner, tmp_path / "some.npz", mean=1.0, std=2.0).epoch()
    pixels = np.concatenate([batch[:, 0] for batch in seen]) * 2 + 1
    assert [len(batch) for batch in seen] == [3, 3] and len(set(pixels)) == 6
    assert (np.concatenate([batch[:, 1:].argmax(1) for batch in seen]) == pixels).all()
    assert answer["accuracy"] == 0.25 and answer["seconds"] > 0            # (3 - 1) / 2 = 1


@pytest.mark.parametrize("sizes", [rows.Sizes(quick=False), QUICK])
def test_peers_do_the_same_work(sizes: rows.Sizes) -> None:
    theirs = worker.QUICK if sizes.quick else worker.FULL
    full, layers = training.fully_connected(sizes), training.layered(sizes)
    size = theirs["fully-connected"]
    assert (size.batch, size.steps, size.internal) == (full.batch, full.steps, full.topology.size("internal"))
    size = theirs["layered"]
    assert (size.batch, size.steps) == (layers.batch, layers.steps)
    assert size.hidden == tuple(n for name, n in layers.topology.groups.items() if name.startswith("hidden"))
    assert (size.value_lr, size.weight_lr) == (training.VALUE_LR, training.WEIGHT_LR)


def test_targets_and_rates() -> None:
    """Met at the limit, missed beyond it, not judged in a quick run or without a measurement; a rate by the median."""
    assert rows.Contender(name="ours", seconds=[1.0, 2.0, 9.0], flops=4 * 10**9).gflops == pytest.approx(2)
    target = rows.Target(quantity="a / b", rule="at most", limit=1.5)
    assert target.judged({"a / b": 1.5}, quick=False).met is True
    assert target.judged({"a / b": 1.51}, quick=False).met is False
    assert target.model_copy(update={"rule": "at least"}).judged({"a / b": 1.51}, quick=False).met is True
    quick = target.judged({"a / b": 9.0}, quick=True)
    assert quick.met is None and quick.measured == 9 and "quick" in quick.note
    missing = target.judged({}, quick=False)
    assert missing.met is None and missing.measured is None and missing.note == "not measured"


def test_a_fitted_exponent_is_that_of_the_law() -> None:
    """seconds = 3 N^2.5."""
    at = [10.0, 20.0, 80.0]
    exponent, factor = scaling.fitted(at, [3 * n**2.5 for n in at])
    assert exponent == pytest.approx(2.5) and factor == pytest.approx(3)
    curve = scaling.Curve(x="N", label="", at=[1, 2, *at], seconds=[9, 9, *(3 * n**2.5 for n in at)])
    assert curve.upper[0] == at and curve.exponent == pytest.approx(2.5)       # overhead at small sizes left out
    assert scaling.Curve(x="N", label="", at=[1, 2], seconds=[1, 4]).exponent == pytest.approx(2)


def test_a_quick_run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Every part: JSON that reads back as what was measured, a line in each table, figures, nothing half written. Edges
    are measured in this process; `test_a_large_parent_does_not_hide_the_memory_of_edges` has one of its own."""
    monkeypatch.setattr(edges, "_apart", edges.one)
    assert call("bench", "--quick", "--out", str(tmp_path)) == 0
    text = capsys.readouterr().out
    assert all(f"measuring {name}" in text for name in [*suite.ROWS, suite.SCALING]) and "not judged" in text
    made = report.read(tmp_path / "bench.json")
    assert [row.name for row in made.rows] == list(suite.ROWS)
    assert {curve.x for curve in made.curves} == {"N", "B", "T", "edges"}
    assert made.setting["quick"] is True and {"commit", "device", "torch"} <= made.provenance.keys()
    assert report.write(made, tmp_path / "again").read_text() == (tmp_path / "bench.json").read_text()
    for table in ("works", "times", "numbers", "targets", "scaling"):
        header, *lines = csv.reader((tmp_path / f"{table}.csv").open(encoding="utf-8"))
        assert lines and all(len(line) == len(header) for line in lines)
    for figure in ("floor", "scaling"):
        assert (tmp_path / f"{figure}.png").stat().st_size and (tmp_path / f"{figure}.svg").stat().st_size
    assert not list(tmp_path.rglob("*.part"))


def test_a_run_that_is_stopped_keeps_the_rows_that_it_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = rows.Row(name="first", title="nothing", quantities={"bytes": 1.0})
    monkeypatch.setattr(suite, "ROWS", {"first": lambda sizes: first,
                                       "second": mock.Mock(side_effect=KeyboardInterrupt)})
    assert call("bench", "--out", str(tmp_path)) != 0
    assert report.read(tmp_path / "bench.json").rows == [first]


@pytest.mark.parametrize(("arguments", "folder"), [
    ([], "cpu"), (["--quick"], "cpu-quick"), (["--only", "memory"], "cpu-part"),
    (["--only", "memory", "--tf32"], "cpu-tf32-part"), (["--tf32", "--cuda-graphs"], "cpu-tf32-graphs")])
def test_runs_stay_apart(arguments: list[str], folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """--tf32 reaches ``hardware.prepare``, --cuda-graphs the rows; both name the folder, so no run replaces another."""
    made, prepare = tmp_path / "_build/bench", mock.Mock(return_value={"threads": 1})
    measured = mock.Mock(return_value=rows.Row(name="memory", title="nothing", quantities={"bytes": 1.0}))
    monkeypatch.setattr(checkout, "from_checkout", lambda package, name: {"suite": suite, "report": report}[name])
    monkeypatch.setattr(checkout, "ROOT", tmp_path)
    monkeypatch.setattr(scaling, "measure", lambda sizes: [])
    monkeypatch.setattr(suite, "ROWS", {"memory": measured})
    monkeypatch.setattr(suite.hardware, "prepare", prepare)
    assert call("bench", *arguments) == 0
    assert prepare.call_args.kwargs["tf32"] == ("--tf32" in arguments)
    assert measured.call_args.args[0].cuda_graphs == ("--cuda-graphs" in arguments)
    assert [path.name for path in made.iterdir()] == [folder]
    assert report.read(made / folder / "bench.json").setting["cuda_graphs"] == ("--cuda-graphs" in arguments)


@pytest.mark.parametrize(("arguments", "words"), [
    (["--only", "fully-conected"], ["no row 'fully-conected'", "Did you mean 'fully-connected'"]),
    (["--device", "gpu"], ["no device 'gpu'"]),
    (["--threads", "0"], ["threads = 0"]),
])
def test_bad_calls(arguments: list[str], words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("bench", "--quick", "--out", str(tmp_path / "made"), *arguments) == 2
    text = " ".join(capsys.readouterr().err.split())
    assert all(word in text for word in words), text
    assert not (tmp_path / "made").exists()


def test_a_large_parent_does_not_hide_the_memory_of_edges() -> None:
    """200,000 edges keep 40 bytes each at the least: a weight and its gradient, two moments of Adam, two orders."""
    torch.ones(2**27)                                                      # half a GiB, touched and freed
    assert edges._apart(200_000, "near")["MiB"] > 200_000 * 40 / 2**20
