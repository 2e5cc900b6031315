"""FabricPC: graphs of vector nodes, mu = act(sum W x). Run in an environment with fabricpc.txt installed."""

from itertools import pairwise
from pathlib import Path

import jax
import jax.numpy as jnp
import optax
from fabricpc.core.activations import (
    HardTanhActivation,
    IdentityActivation,
    ReLUActivation,
    SigmoidActivation,
    SoftmaxActivation,
)
from fabricpc.core.energy import CrossEntropyEnergy
from fabricpc.core.inference import InferenceSGD, run_inference
from fabricpc.core.initializers import NormalInitializer, XavierInitializer
from fabricpc.core.topology import Edge
from fabricpc.graph_assembly import TaskMap, graph
from fabricpc.graph_initialization import initialize_params
from fabricpc.graph_initialization.state_initializer import initialize_graph_state
from fabricpc.nodes import IdentityNode, Linear
from fabricpc.nodes.linear_explicit_grad import LinearExplicitGrad
from fabricpc.training.trainer import _make_step
from worker import Course, Learner, Size, Work, serve

KEY = jax.random.PRNGKey(0)


def layered(size: Size) -> Work:
    """pixels -> hidden -> ... -> labels."""
    widths = {"pixels": size.pixels, **{f"h{k}": w for k, w in enumerate(size.hidden)}, "labels": size.labels}
    nodes = [node(name, width, HardTanhActivation() if name.startswith("h") else IdentityActivation(), 0.05)
             for name, width in widths.items()]
    chain = [Edge(source=a, target=b.slot("in")) for a, b in pairwise(nodes)]
    structure = graph(nodes=nodes, edges=chain, task_map=TaskMap(x=nodes[0], y=nodes[-1]),
                      inference=InferenceSGD(eta_infer=size.value_lr, infer_steps=size.steps))
    return training(structure, size, {"x": jnp.array(size.images()), "y": jnp.array(size.one_hot())})


def fully_connected(size: Size) -> Work:
    """All edges between eleven nodes; those inside a node are missing, because a node has no edge to itself."""
    structure = mesh(size)
    images = jnp.split(jnp.array(size.images()), 4, axis=1)
    batch = {f"x{k}": image for k, image in enumerate(images)} | {"y": jnp.array(size.one_hot())}
    return training(structure, size, batch)


def query(size: Size) -> Work:
    """The upper half of the pixels clamped, everything else relaxed."""
    structure = mesh(size)
    params = initialize_params(structure, KEY)
    halves = jnp.split(jnp.array(size.images()), 4, axis=1)[:2]
    clamps = {f"x{k}": values for k, values in enumerate(halves)}

    @jax.jit
    def ask(params, clamps):
        state = initialize_graph_state(structure, size.batch, KEY, clamps=clamps, params=params)
        return run_inference(params, state, clamps, structure)

    return Work(lambda: jax.block_until_ready(ask(params, clamps)), edges(params))


def mesh(size: Size):
    """Pixels in four nodes, internal vertices in six, labels in one if there are any; edges between all of them."""
    widths = {f"x{k}": size.pixels // 4 for k in range(4)} | ({"y": size.labels} if size.labels else {})
    widths |= {f"h{k}": (size.internal + k) // 6 for k in range(6)}
    nodes = {name: node(name, width, ReLUActivation(), 0.02) for name, width in widths.items()}
    joined = [Edge(source=a, target=b.slot("in")) for a in nodes.values() for b in nodes.values() if a is not b]
    tasks = {f"x{k}": nodes[f"x{k}"] for k in range(4)} | ({"y": nodes["y"]} if size.labels else {})
    return graph(nodes=list(nodes.values()), edges=joined, task_map=TaskMap(**tasks), unroll=1,
                 inference=InferenceSGD(eta_infer=size.value_lr, infer_steps=size.steps))


def node(name: str, width: int, activation, std: float) -> LinearExplicitGrad:
    """A vector of vertices without bias; explicit gradients are its faster kind."""
    return LinearExplicitGrad(shape=(width,), name=name, activation=activation, use_bias=False,
                              weight_init=NormalInitializer(std=std), latent_init=NormalInitializer(std=0.01))


def training(structure, size: Size, batch: dict) -> Work:
    """The compiled step that its own training loop uses, buffers given away from step to step."""
    optimizer = optax.adam(size.weight_lr)
    step = _make_step(structure, optimizer, algorithm="pc", with_state=False, donate=True)
    kept = {"params": initialize_params(structure, KEY)}
    kept["moments"] = optimizer.init(kept["params"])

    def train() -> None:
        kept["params"], kept["moments"], metrics = step(kept["params"], kept["moments"], batch, KEY)
        jax.block_until_ready((kept["params"], metrics))
        assert jnp.isfinite(metrics["energy"])

    return Work(train, edges(kept["params"]))


def quality(file: Path) -> Course:
    """The training of its MNIST example (compare.py names the file), hidden nodes of the faster kind."""
    pixels = IdentityNode(shape=(784,), name="pixels")
    hidden = [LinearExplicitGrad(shape=(256,), name=f"h{k}", activation=SigmoidActivation(),
                                 weight_init=XavierInitializer()) for k in range(2)]
    labels = Linear(shape=(10,), name="labels", activation=SoftmaxActivation(), energy=CrossEntropyEnergy(),
                    weight_init=XavierInitializer())
    nodes = [pixels, *hidden, labels]
    structure = graph(nodes=nodes, edges=[Edge(source=a, target=b.slot("in")) for a, b in pairwise(nodes)],
                      task_map=TaskMap(x=pixels, y=labels), inference=InferenceSGD(eta_infer=0.05, infer_steps=20))
    optimizer, kept = optax.adamw(1e-3, weight_decay=0.1), {"params": initialize_params(structure, KEY)}
    step = _make_step(structure, optimizer, algorithm="pc", with_state=False, donate=True)
    kept["moments"] = optimizer.init(kept["params"])

    def learn(x, y) -> None:
        kept["params"], kept["moments"], _ = step(kept["params"], kept["moments"], {"x": x, "y": y}, KEY)

    @jax.jit
    def classify(params, x):
        return initialize_graph_state(structure, len(x), KEY, clamps={"pixels": x}, params=params).nodes[
            "labels"].z_mu.argmax(-1)

    learner = Learner(200, learn, lambda: jax.block_until_ready(kept["params"]),
                      lambda x: jax.device_get(classify(kept["params"], x)), edges(kept["params"]))
    return Course(learner, file, 0.1307, 0.3081)


def edges(params) -> int:
    """Number of weights."""
    return sum(leaf.size for leaf in jax.tree_util.tree_leaves(params))


if __name__ == "__main__":
    serve({"layered": layered, "fully-connected": fully_connected, "query": query},
          dict.fromkeys(["quality-mnist", "quality-fashion"], quality), ["fabricpc", "jax"])
