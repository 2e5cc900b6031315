"""pcx: layered networks of vectorised value nodes; here with one graph written by hand. Needs pcx.txt installed."""

from itertools import pairwise

import jax
import jax.numpy as jnp
import optax
import pcx
import pcx.functional as pxf
import pcx.nn as pxnn
import pcx.predictive_coding as pxc
import pcx.utils as pxu
from worker import Size, Work, serve

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
    """Relax, then one Adam step of the weights, compiled together."""
    values = pxu.Optim(lambda: optax.sgd(size.value_lr))
    with pxu.step(model, (status, None), clear_params=pxc.VodeParam.Cache):
        start(x, y, model=model)
    weights, relax = pxu.Optim(lambda: optax.adam(size.weight_lr), WEIGHTS(model)), relaxation(size, status)

    @pxf.jit()
    def train(x, y, *, model, values, weights):
        relax(x, y, model=model, values=values)
        with pxu.step(model, clear_params=pxc.VodeParam.Cache):
            (total, _), gradient = pxf.value_and_grad(pxu.M(pxnn.LayerParam).to([False, True]), has_aux=True)(energy)(
                x, model=model)
        weights.step(model, gradient["model"], scale_by=1.0 / size.batch)
        return total

    def call() -> None:
        total = train(x, y, model=model, values=values, weights=weights)
        assert jnp.isfinite(jax.block_until_ready(total))

    return Work(call, edges(model))


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


if __name__ == "__main__":
    serve({"layered": layered, "fully-connected": fully_connected, "query": query}, ["pcx", "jax"])
