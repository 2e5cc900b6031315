"""Small linear models of causes. Oracles: closed forms worked out by hand for a common cause, a chain and a collider;
the covariance of many draws."""

import pytest
import torch

from pcgraph_lite.studies import causal
from pcgraph_lite.studies.causal import EXAMPLES


def by_hand(name: str) -> dict[str, float]:
    """What is at 2 is observed or set; in the counterfactual everything was 1, and a cause is set to 2."""
    a, b, *c = EXAMPLES[name].edges.values()
    if name == "common cause":                                             # z -> x (a), z -> y (b), x -> y (c)
        return {"observed": 2 * (c[0] + a * b / (1 + a * a)), "set": 2 * c[0], "would have been": 1 + c[0]}
    if name == "chain":                                                    # x -> z (a), z -> y (b)
        return {"observed": 2 * a / (1 + a * a), "set": 0, "would have been": 1 + b}
    return {"observed": 2 * a / (1 + a * a + b * b), "set": 0, "would have been": 1 + a}           # x -> z <- y


@pytest.mark.parametrize("name", EXAMPLES)
def test_graphs_and_linear_algebra_agree_with_hand(name: str) -> None:
    example = EXAMPLES[name]
    assert causal.exact(example) == pytest.approx(by_hand(name), abs=1e-12)
    assert causal.answers(causal.model(example.edges), example) == pytest.approx(by_hand(name), abs=1e-6)


def test_observations_have_the_covariance_of_the_model() -> None:
    """x has variance 1 + a^2, y has 1 + (b + c a)^2 + c^2, each within five errors of 40,000 draws."""
    graph = causal.model(EXAMPLES["common cause"].edges)
    drawn = causal.observations(graph, 40_000, torch.Generator().manual_seed(1))
    for group, variance in (("x", 1 + 0.8**2), ("y", 1 + (-1.5 + 0.6 * 0.8) ** 2 + 0.6**2), ("z", 1)):
        assert float(drawn[group].var()) == pytest.approx(variance, rel=5 * (2 / 40_000) ** 0.5)
