"""What holds of every baseline. Oracles: an undisturbed training; images whose class is plain; words of our errors."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
import torch
from pictures import bars
from torch import nn

from pcgraph_lite.baselines.kinds import KINDS
from pcgraph_lite.errors import BadFile, BadInput, UnknownName

# kind -> what a small model is made of beside its 3 labels; of those that learn by epochs a setting of another model
MODELS: dict[str, tuple[dict[str, object], dict[str, object]]] = {
    "almeida-pineda": ({"pixels": 12, "internal": 6}, {"damping": 0.1}),
    "autoencoder": ({"pixels": 12, "hidden": [6]}, {"hidden": [5]}),
    "boltzmann": ({"pixels": 12, "hidden": 4}, {"free_steps": 2}), "dam": ({"pixels": 12, "memories": 4}, {"power": 4}),
    "mlp": ({"pixels": 12, "hidden": [8]}, {"activation": "tanh"}), "rbm": ({"pixels": 12, "hidden": 4}, {"gibbs": 2}),
    "linear": ({"pixels": 12}, {}), "hopfield": ({"shape": (1, 3, 4)}, {})}
BY_EPOCHS = [kind for kind, (_, other) in MODELS.items() if other]


def small(kind: str, **other: object) -> nn.Module:
    labels = {} if kind == "autoencoder" else {"labels": 3}
    return KINDS[kind].make(**MODELS[kind][0] | labels | other)


def fitted(kind: str, model: nn.Module, **settings: object) -> nn.Module:
    """Trained on 40 bars."""
    images, labels = bars(40)
    KINDS[kind].fit(model, images, labels, progress=False, **settings)
    return model


@pytest.mark.parametrize("kind", BY_EPOCHS)
def test_a_resumed_training_ends_where_one_run_does(kind: str, tmp_path: Path) -> None:
    half = {"checkpoint": tmp_path / "state", "batch_size": 15}
    first = fitted(kind, fitted(kind, small(kind), epochs=2, **half), epochs=4, **half)
    second = fitted(kind, small(kind), epochs=4, batch_size=15)
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))
    with pytest.raises(BadFile, match="another training"):
        fitted(kind, small(kind, **MODELS[kind][1]), **half)


# kind -> settings that let it learn the bars, and what holds of what it ends with
LEARNED: dict[str, tuple[dict[str, object], Callable[[nn.Module, pd.DataFrame], bool]]] = {
    "almeida-pineda": ({"epochs": 30, "weight_lr": 0.1, "optimizer": "sgd"}, lambda model, history: (
        history.loss.min() < 0.1 * history.loss[0] and history.settled.iloc[-1] == 1
        and not model.weight.diagonal().any())),
    "boltzmann": ({"epochs": 20, "weight_lr": 1e-2, "weight_decay": 1e-4}, lambda model, history: (
        history.reconstruction.iloc[-1] < 0.5 * history.reconstruction[0]
        and torch.equal(model.weight, model.weight.T) and not model.weight.diagonal().any())),
    "dam": ({"epochs": 30, "ramp": 10}, lambda model, history: (
        history.temperature.iloc[-1] == pytest.approx(0.125) and model.memory.abs().max() <= 1)),
    "mlp": ({"epochs": 20, "weight_lr": 1e-2}, lambda model, history: history.loss.iloc[-1] < 0.2 * history.loss[0]),
    "rbm": ({"epochs": 40, "weight_lr": 1e-2}, lambda model, history: (
        history.reconstruction.iloc[-1] < 0.5 * history.reconstruction[0]))}


@pytest.mark.parametrize(("kind", "settings"), [("linear", {"method": "least-squares"}), ("hopfield", {"sizes": [3]}),
                                                ("mlp", {"epochs": 2})])
def test_the_call_of_every_training_has_its_name_and_a_callback(kind: str, settings: dict[str, object]) -> None:
    fit, model, rows = KINDS[kind].fit, small(kind), []
    history = fit(model, *bars(40), progress=False, callback=lambda *seen: rows.append(seen), **settings)
    assert [row for _, row in rows] == history.to_dict("records") and all(seen is model for seen, _ in rows)
    assert (fit.__name__, fit.__module__) == (f"fit_{kind}", type(model).__module__)
    with pytest.raises(UnknownName, match=f"no argument of fit_{kind} 'validaton'.*Did you mean 'validation'"):
        fit(model, *bars(40), validaton=None)
    assert "settings: fields of Annealing, but not weight_decay and optimizer." in KINDS["dam"].fit.__doc__


@pytest.mark.parametrize("kind", LEARNED)
def test_training_classifies_and_keeps_the_best_epoch(kind: str) -> None:
    model, (settings, holds), (images, labels) = small(kind), LEARNED[kind], bars(30)
    before = (model.classify(images) == labels).double().mean()
    history = KINDS[kind].fit(model, *bars(90), validation=(images, labels), batch_size=10, progress=False, **settings)
    assert before < 0.9 and torch.equal(model.classify(images), labels) and history.validation.max() == 1
    assert holds(model, history)


@pytest.mark.parametrize(("kind", "setting"), [
    *((kind, {name: value}) for kind in BY_EPOCHS for name, value in {"weight_decay": 10.0, "optimizer": "sgd"}.items()
      if name in KINDS[kind].without), ("mlp", {"patience": 1})])
def test_a_setting_without_effect_is_refused(kind: str, setting: dict[str, object]) -> None:
    with pytest.raises(BadInput, match=f"{next(iter(setting))} = .*(has no effect on the training of|no validation)"):
        fitted(kind, small(kind), **setting)
