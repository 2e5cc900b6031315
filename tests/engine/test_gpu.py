"""What a GPU would refuse, and how often the CPU would wait for it, on a pretended one where there is none. Oracles:
the same call on the CPU, number for number; the rules of the pretended GPU, tried first by breaking them."""

import pytest
import torch
from pretended_gpu import pretended_gpu, waited
from strategies import values

from pcgraph_lite import PCGraph, fit, hardware, observed, query, relax, topology
from reproduction.evidence import config, zoo


def graph(device: str = "cpu", **arguments: object) -> PCGraph:
    """A recurrent graph, always the same."""
    return PCGraph(topology.recurrent(3, [8, 9], 12), "tanh", device=device, **arguments)


@pytest.fixture
def gpu():
    with pretended_gpu():
        yield


@pytest.mark.parametrize("broken", [
    lambda there, here: there + here, lambda there, here: here @ there.T, lambda there, here: torch.mm(there, here.T),
    lambda there, here: torch.cat([there, here]), lambda there, here: here[there[0].long()],
    lambda there, here: there.numpy(), lambda there, here: here.add_(there),
    lambda there, here: torch.add(there, there, out=here), lambda there, here: torch.stack([there.sum(), here.sum()]),
    lambda there, here: there.long().index_put_((torch.tensor([0]),), here[0].long()),
    lambda there, here: torch.randn(3, device="cuda", generator=torch.Generator())])
def test_the_pretended_gpu_refuses_what_a_gpu_refuses(gpu, broken):
    here = torch.ones(2, 3)
    with pytest.raises((RuntimeError, TypeError), match="cuda"):
        broken(here.cuda(), here)


@pytest.mark.parametrize("replicas", [None, 2])
@pytest.mark.parametrize("ask", [
    {"value_lr": "safe", "tolerance": 1e-3, "steps": 21}, {"start": "prediction"}, {"start": "random"},
    {"batch_size": 2}])
def test_queries_answer_as_on_the_cpu(gpu, replicas, ask):
    images = torch.rand(3, 12)
    half = observed(images, torch.arange(12) < 6)
    given, questions = {"steps": 6, "value_lr": 0.1} | ask, [({"labels": torch.eye(3)}, {"pixels": half})]
    if not replicas:                                                       # one question is enough for two graphs
        questions += [({"pixels": half}, None), (None, {"pixels": images})]
    for clamp, init in questions:
        expected = query(graph(replicas=replicas), clamp, init=init, **given)
        got = query(graph("cuda", replicas=replicas), clamp, init=init, **given)
        for name, answer in got.values.items():
            assert torch.equal(answer.cpu(), expected.values[name].cpu())


@pytest.mark.parametrize("settings", [
    {}, {"optimizer": "sgd", "weight_decay": 0.1, "value_lr": 0.1},
    {"validation": 0.25, "patience": 1, "score": "energy", "value_lr": 0.1}])
@pytest.mark.parametrize("replicas", [None, 2])
def test_training_is_that_of_the_cpu_and_resumes(gpu, tmp_path, replicas, settings):
    data, settings = (torch.rand(20, 12), torch.arange(20) % 3), {"steps": 5} | settings
    here, there = graph(replicas=replicas), graph("cuda", replicas=replicas)
    fit(here, data, epochs=2, batch_size=8, progress=False, **settings)
    for epochs in (1, 2):
        fit(there, data, epochs=epochs, batch_size=8, progress=False, checkpoint=tmp_path / "state", **settings)
    for expected, got in zip(here.parameters(), there.parameters(), strict=True):
        assert torch.equal(got.cpu(), expected)


@pytest.mark.parametrize("replicas", [None, 2])
def test_a_plain_step_never_waits(gpu, replicas):
    """Only the looks at the energy do, one every 10 steps: else a GPU would idle between its kernels."""
    there = graph("cuda", replicas=replicas)
    x, clamped = values(there).cuda(), torch.arange(there.topology.n) < 12
    counts = {}
    for steps in (10, 50):
        waited.clear()
        relax(there, x, clamped, steps=steps, value_lr=0.1, trace=False)
        counts[steps] = sum(waited.values())
    assert 0 < counts[10] <= counts[50] <= counts[10] + 4


def test_the_gpu_s_own_precision_is_measured(gpu):
    chosen = hardware.prepare()
    assert chosen["gpu_precision"] == "ieee" and chosen["gpu_product_error"] < 1e-5


@pytest.mark.parametrize("name", [
    "fully-connected-mnist", "small-world-mnist", "autoencoder-mnist", "memory-mnist", "hopfield-mnist",
    "boltzmann-mnist", "almeida-pineda-mnist", "least-squares-mnist", "logistic-regression-mnist", "mlp-2-mnist",
    "rbm-mnist", "dam-mnist"])
def test_each_kind_of_model_trains_as_on_the_cpu(gpu, name):
    """The baselines as well, with the settings of the smoke profile and 40 images."""
    settings, trained = zoo.spec(name, "smoke"), {}
    if "epochs" in type(settings.train).model_fields:
        settings = settings.model_copy(update={"train": settings.train.model_copy(update={"epochs": 2})})
    for device in ("cpu", "cuda"):
        trained[device], generator = zoo.build(settings, 0, torch.device(device))
        rest, held_out = zoo.split(settings, config.load_profile("smoke"), generator)
        rest = rest.subset(min(40, len(rest)), torch.Generator().manual_seed(0))
        zoo.fit(trained[device], settings, rest, held_out, progress=False, generator=generator)
    for key, expected in trained["cpu"].state_dict().items():
        got = trained["cuda"].state_dict()[key]
        assert (got.is_cuda or key == "edges") and torch.equal(got.cpu(), expected)        # whose weights they are
