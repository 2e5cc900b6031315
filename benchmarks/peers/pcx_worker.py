"""pcx: layered networks of vectorised value nodes; here with one graph written by hand. Needs pcx.txt installed."""

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path

import jax
import jax.numpy as jnp
import optax
import pcx
import pcx.functional as pxf
import pcx.nn as pxnn
import pcx.predictive_coding as pxc
import pcx.utils as pxu
from worker import Course, Learner, Size, Work, serve

BATCHED = pxu.M(pxc.VodeParam | pxc.VodeParam.Cache).to((None, 0))
VALUES, WEIGHTS = pxu.M_hasnot(pxc.VodeParam, frozen=True), pxu.M(pxnn.LayerParam)


class Layered(pxc.EnergyModule):
    """pixels -> hidden -> ... -> labels; the labels are held at the target."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        widths = [size.pixels, *size.hidden, size.labels]
        self.layers = [pxnn.Linear(a, b, bias=False) for a, b in pairwise(widths)]
        self.vodes = [pxc.Vode() for _ in size.hidden] + [pxc.Vode()]
        self.vodes[-1].h.frozen = True

    def __call__(self, x: jax.Array, y: jax.Array | None) -> jax.Array:
        for k, (layer, vode) in enumerate(zip(self.layers, self.vodes, strict=True)):
            x = vode(layer(x if k == 0 else jnp.clip(x, -1, 1)))
        if y is not None:
            self.vodes[-1].set("h", y)
        return self.vodes[-1].get("u")


class Full(pxc.EnergyModule):
    """Every vertex to every vertex, itself included: one held node, one free, and four matrices between them."""

    def __init__(self, held: int, free: int) -> None:
        super().__init__()
        self.sizes = pcx.static((held, free))
        self.layers = [pxnn.Linear(a, b, bias=False) for a in (held, free) for b in (held, free)]
        for layer in self.layers:
            layer.nn.weight.set(layer.nn.weight.get() * 0 + 0.02 * jax.random.normal(
                jax.random.PRNGKey(0), layer.nn.weight.get().shape))
        self.vodes = [pxc.Vode(), pxc.Vode()]
        self.vodes[0].h.frozen = True

    def __call__(self, x: jax.Array, y: jax.Array | None) -> jax.Array:
        if y is not None:                                                  # the start: data, and its prediction
            self.vodes[0].set("h", y)
            self.vodes[1].set("h", self.layers[1](jax.nn.relu(y)))
        held, free = (jax.nn.relu(vode.get("h")) for vode in self.vodes)
        self.vodes[0](self.layers[0](held) + self.layers[2](free))
        self.vodes[1](self.layers[1](held) + self.layers[3](free))
        return self.vodes[0].get("u")


@dataclass(frozen=True)
class Example:
    """Settings of a classifier with squared errors, tuned by the authors of pcx (compare.py names the file)."""

    steps: int
    value_lr: float
    momentum: float
    weight_lr: float
    decay: float
    batch: int = 128
    epochs: int = 25


EXAMPLES = {"quality-mnist": Example(8, 0.0105348, 0.65, 2.96893e-4, 3.55024e-4),
            "quality-fashion": Example(5, 0.0260709, 0.1, 2.97221e-4, 1.83833e-3)}


class Classifier(pxc.EnergyModule):
    """pixels -> hidden -> ... -> labels as in that example: biases, and GELU outside the sum."""

    def __init__(self, widths: list[int]) -> None:
        super().__init__()
        self.layers = [pxnn.Linear(a, b) for a, b in pairwise(widths)]
        self.vodes = [pxc.Vode() for _ in self.layers]
        self.vodes[-1].h.frozen = True

    def __call__(self, x: jax.Array, y: jax.Array | None) -> jax.Array:
        for layer, vode in zip(self.layers[:-1], self.vodes[:-1], strict=True):
            x = vode(jax.nn.gelu(layer(x)))
        self.vodes[-1](self.layers[-1](x))
        if y is not None:
            self.vodes[-1].set("h", y)
        return self.vodes[-1].get("u")

    def output(self, x: jax.Array) -> jax.Array:
        """The same without nodes: ``(count, pixels)`` to ``(count, labels)``."""
        for k, layer in enumerate(self.layers):
            x = (x if k == 0 else jax.nn.gelu(x)) @ layer.nn.weight.get().T + layer.nn.bias.get()
        return x


@pxf.vmap(BATCHED, in_axes=(0, 0), out_axes=0)
def start(x: jax.Array, y: jax.Array, *, model: pxc.EnergyModule) -> jax.Array:
    """Set the values once."""
    return model(x, y)


@pxf.vmap(BATCHED, in_axes=0, out_axes=(None, 0), axis_name="batch")
def energy(x: jax.Array, *, model: pxc.EnergyModule) -> tuple[jax.Array, jax.Array]:
    """Energy summed over the batch."""
    predicted = model(x, None)
    return jax.lax.psum(model.energy().sum(), "batch"), predicted


def relaxation(size: Size, status: str | None):
    """T steps of the values; the loop is compiled as one."""

    def relax(x: jax.Array, y: jax.Array, *, model: pxc.EnergyModule, values: pxu.Optim) -> None:
        with pxu.step(model, (status, None), clear_params=pxc.VodeParam.Cache):
            start(x, y, model=model)
        values.init(VALUES(model))

        def move(k, x, *, model: pxc.EnergyModule, values: pxu.Optim):
            with pxu.step(model, clear_params=pxc.VodeParam.Cache):
                _, gradient = pxf.value_and_grad(pxu.M_hasnot(pxc.VodeParam, frozen=True).to([False, True]),
                                                 has_aux=True)(energy)(x, model=model)
            values.step(model, gradient["model"])
            return x, None

        pxf.scan(move, xs=jnp.arange(size.steps))(x, model=model, values=values)
        values.clear()

    return relax


def training(model: pxc.EnergyModule, size: Size, x: jax.Array, y: jax.Array, status: str | None) -> Work:
    """The step of a fixed batch."""
    train = trainer(model, size, optax.sgd(size.value_lr), optax.adam(size.weight_lr), x, y, status)

    def call() -> None:
        assert jnp.isfinite(jax.block_until_ready(train(x, y)))

    return Work(call, edges(model))


def trainer(model: pxc.EnergyModule, size: Size, of_values: optax.GradientTransformation,
            of_weights: optax.GradientTransformation, x: jax.Array, y: jax.Array, status: str | None):
    """Relax, then one step of the weights, compiled together; x and y are a batch to make the nodes from."""
    values = pxu.Optim(lambda: of_values)
    with pxu.step(model, (status, None), clear_params=pxc.VodeParam.Cache):
        start(x, y, model=model)
    weights, relax = pxu.Optim(lambda: of_weights, WEIGHTS(model)), relaxation(size, status)

    @pxf.jit()
    def train(x, y, *, model, values, weights):
        relax(x, y, model=model, values=values)
        with pxu.step(model, clear_params=pxc.VodeParam.Cache):
            (total, _), gradient = pxf.value_and_grad(pxu.M(pxnn.LayerParam).to([False, True]), has_aux=True)(energy)(
                x, model=model)
        weights.step(model, gradient["model"], scale_by=1.0 / size.batch)
        return total

    return partial(train, model=model, values=values, weights=weights)


def edges(model: pxc.EnergyModule) -> int:
    """Number of weights."""
    return sum(layer.nn.weight.get().size for layer in model.layers)


def layered(size: Size) -> Work:
    """Pixels are the input and no node; the first product is made anew at each step."""
    return training(Layered(size), size, jnp.array(size.images()), jnp.array(size.one_hot()), pxc.STATUS.INIT)


def fully_connected(size: Size) -> Work:
    """Written by hand."""
    data = jnp.concatenate([jnp.array(size.images()), jnp.array(size.one_hot())], 1)
    return training(Full(size.pixels + size.labels, size.internal), size, data, data, None)


def query(size: Size) -> Work:
    """The same graph by hand, cut between the clamped half of the pixels and the rest."""
    half = size.pixels // 2
    model, data = Full(half, size.internal + size.pixels - half), jnp.array(size.images())[:, :half]
    values, relax = pxu.Optim(lambda: optax.sgd(size.value_lr)), relaxation(size, None)
    with pxu.step(model, None, clear_params=pxc.VodeParam.Cache):
        start(data, data, model=model)

    @pxf.jit()
    def ask(x, *, model, values):
        relax(x, x, model=model, values=values)
        return model.vodes[1].get("h")

    return Work(lambda: jax.block_until_ready(ask(data, model=model, values=values)), edges(model))


def quality(file: Path) -> Course:
    """The example's training, on pixels from -1 to 1; its learning rate rises and falls over 25 epochs."""
    example = EXAMPLES[file.stem]
    size, model = Size(example.batch, example.steps), Classifier([784, 256, 256, 10])
    total = example.epochs * (60000 // example.batch)
    rate = optax.warmup_cosine_decay_schedule(example.weight_lr, 1.1 * example.weight_lr, total // 10, total,
                                              0.1 * example.weight_lr)
    train = trainer(model, size, optax.sgd(example.value_lr, example.momentum),
                    optax.adamw(rate, weight_decay=example.decay), jnp.array(size.images()), jnp.array(size.one_hot()),
                    pxc.STATUS.INIT)
    learner = Learner(example.batch, lambda x, y: train(jnp.array(x), jnp.array(y)),
                      lambda: jax.block_until_ready(model.layers[0].nn.weight.get()),
                      lambda x: jax.device_get(model.output(jnp.array(x)).argmax(-1)), edges(model))
    return Course(learner, file, 0.5, 0.5)


if __name__ == "__main__":
    serve({"layered": layered, "fully-connected": fully_connected, "query": query},
          dict.fromkeys(EXAMPLES, quality), ["pcx", "jax"])
