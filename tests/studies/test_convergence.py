"""Copies trained side by side. Oracles: ``fit`` with the same steps on the same images; the spectrum of
(I - W)(I - W)^T where f is linear; energies written by the test."""

import pytest
import torch

import pcgraph_lite as pcg
from pcgraph_lite.studies.convergence import Watched, watch


def data(count: int = 12) -> dict[str, torch.Tensor]:
    return {"pixels": torch.rand(count, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)}


def graph(replicas: int | None, f: str = "tanh", std: float = 0.3) -> pcg.PCGraph:
    """Fully connected, 5 pixels and 4 internal vertices; every replica starts from the same weights."""
    topology = pcg.topology.fully_connected(5, 0, 4)
    alone = pcg.PCGraph(topology, f, init_std=std, dtype=torch.float64)
    if replicas is None:
        return alone
    copies = pcg.PCGraph(topology, f, replicas=replicas, dtype=torch.float64)
    copies.set_weight(alone.weight.expand(replicas, -1, -1))
    return copies


def test_each_copy_learns_as_it_would_alone():
    """Batches are drawn, so every image is the same one: then the order of fit and of watch does not matter."""
    one = {"pixels": data(1)["pixels"].repeat(12, 1)}
    copies = graph(2)
    seen = watch(copies, one, [0.1, 0.05], [1e-2, 1e-3], steps=4, batches=5, batch_size=12)
    for k, (value_lr, weight_lr) in enumerate([(0.1, 1e-2), (0.05, 1e-3)]):
        alone = graph(None)
        history = pcg.fit(alone, one, epochs=5, batch_size=12, steps=4, value_lr=value_lr, weight_lr=weight_lr,
                          progress=False)
        assert torch.allclose(copies.weight[k], alone.weight, atol=1e-9)
        assert torch.allclose(seen.after[:, k], torch.tensor(history.energy.to_numpy()), rtol=1e-7)
    assert (seen.after < seen.before).all() and (seen.seconds.diff() > 0).all()


def test_the_bound_is_that_of_the_linear_graph_and_decides_who_diverges():
    """Free vertices are the last four: 2 / largest eigenvalue of that block of (I - W)(I - W)^T."""
    copies = graph(2, "linear")
    ring = torch.eye(9, dtype=torch.float64) - copies.weight[0]
    bound = 2 / float(torch.linalg.eigvalsh((ring @ ring.T)[5:, 5:])[-1])
    seen = watch(copies, data(), [0.9 * bound, 1.2 * bound], [1e-9, 1e-9], steps=400, batches=2, every=1)
    assert seen.looks == [0, 1] and seen.bound[0] == pytest.approx([bound, bound], rel=1e-3)
    assert seen.predicted(torch.tensor([0.9 * bound, 1.2 * bound])).tolist() == [False, True]
    assert (seen.after[:, 0] < seen.before[:, 0]).all() and (seen.after[:, 1] > 1e3 * seen.before[:, 1]).all()
    assert seen.rising().tolist() == [False, True]


def test_a_copy_that_leaves_the_numbers_does_not_disturb_the_other():
    copies, alone = graph(2, "linear"), graph(1, "linear")
    both = watch(copies, data(), [0.1, 50.0], [1e-3, 1e-3], steps=300, batches=6)
    single = watch(alone, data(), [0.1], [1e-3], steps=300, batches=6)
    assert both.diverged().tolist() == [False, True] and not both.converged()[1]
    assert torch.allclose(both.after[:, :1], single.after, rtol=1e-9)
    assert torch.allclose(copies.weight[0], alone.weight[0], atol=1e-12)


def curves(*after: torch.Tensor) -> Watched:
    """Energies as given, each twice as high before the value steps."""
    energy = torch.stack(after, -1)
    return Watched(torch.arange(len(energy)).double(), 2 * energy, energy, [0], torch.ones(1, len(after)))


def test_who_has_settled():
    """An exponential that has run for ten time constants has, a straight line and a rising one have not."""
    at = torch.linspace(0, 1, 100)
    seen = curves(torch.exp(-10 * at), 1 - 0.9 * at, 0.5 + at, torch.ones(100))
    assert seen.settled().tolist() == [True, False, False, False]
    assert seen.converged().tolist() == [True, False, False, False]
    worse = Watched(seen.seconds, seen.after / 2, seen.after, [0], seen.bound)
    assert worse.rising().all() and not worse.converged().any()
