"""A graph in one safetensors file, whole: edges by the names of their groups, weights, and all that it computes with.

The file does not depend on how a graph is held, so it loads in any plan, on any device. Its header names the form of
the file and holds a SHA-256 of everything in it.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from torch import Tensor

from .. import __version__, checkout, valid
from ..errors import BadFile, BadInput, shown
from ..files import load_tensors, save_tensors
from .activations import ACTIVATIONS, Activation, named
from .graph import PCGraph
from .layout import Layout
from .scale import Scale
from .topology import Edges, Topology

FORM = 1                                                                   # of the file: a reader knows those up to it
ALIKE = 1e-9                                                               # two machines may round f otherwise


@valid.checked
def save(graph: PCGraph, path: Path | str) -> None:
    """Write a graph whole: topology, names of vertices, weights, activation, top-k, prior, bias, pixel scale, replicas,
    and the version of the library, with its commit where it runs from a repository.

    Not in the file: plan and device, which ``load`` chooses, and an activation of your own, of which it keeps the name.

    Raises:
        BadValues: weights that are not finite.
        BadInput: a name of a vertex that JSON cannot hold (it holds text, numbers and tuples of them).
        PCGraphError: the file cannot be written; an older one is untouched.

    Example:
        >>> import tempfile
        >>> graph = pcg.PCGraph(pcg.topology.generative(labels=2, hidden=[3], pixels=4), "tanh")
        >>> path = f"{tempfile.mkdtemp()}/graph.safetensors"
        >>> pcg.save(graph, path)
        >>> bool((pcg.load(path).weight == graph.weight).all())
        True
    """
    tensors = {f"weights/{k}": valid.finite(weights, f"the weights of {e.source!r} -> {e.target!r}")
               for k, (e, weights) in enumerate(zip(graph.topology.edges, graph.edge_weights(), strict=True))}
    for k, e in enumerate(graph.topology.edges):
        if e.mask is not None:
            tensors |= {f"pairs/{k}": e.pairs()} if e.listed else {f"mask/{k}": e.mask}
    if graph.bias is not None:
        tensors["bias"] = valid.finite(graph.bias, "the biases")
    save_tensors(valid.file(path, "path"), tensors, {"pcgraph": json.dumps(_about(graph))})


@valid.checked
def load(path: Path | str, activation: str | Activation | None = None,
         **layout: Annotated[Any, Layout]) -> PCGraph:
    """Read a graph that ``save`` wrote; its weights are equal to the last bit in the same dtype.

    Args:
        activation: needed where the graph has one of its own, which is compared with the one that was saved.
        layout: ``plan``, ``dtype``, ``device``, ``cuda_graphs``, as of Layout. No dtype: that of the file. Replicas are
            those of the file.

    Raises:
        BadFile: the file is missing, damaged, of another program, or of a newer version.
        BadInput: an activation that is missing or not the one that was saved; a layout that cannot be used.

    Example:
        >>> import tempfile
        >>> own = pcg.Activation(torch.sin, torch.cos)
        >>> path = f"{tempfile.mkdtemp()}/graph.safetensors"
        >>> pcg.save(pcg.PCGraph(pcg.topology.generative(labels=2, hidden=[3], pixels=4), own), path)
        >>> pcg.load(path, activation=own, dtype=torch.float64).topology
        Topology(9 vertices: pixels 4, labels 2, hidden1 3; 18 edges)
    """
    path = valid.file(path, "path")
    about, tensors = _read(path)
    if "replicas" in layout:
        raise BadInput("replicas are those of the file; leave the argument out.")
    with torch.no_grad():
        first = next((value for value in tensors.values() if value.is_floating_point()), torch.zeros(()))
        saved = getattr(torch, about.get("dtype", ""), first.dtype)        # older files do not say it
        whole = Layout(**{"dtype": saved, **layout}, replicas=about.get("replicas"))
        return _graph(about, tensors, _activation(path, about, activation), vars(whole))


def _about(graph: PCGraph) -> dict[str, Any]:
    """All but the tensors, as JSON holds it."""
    t, scale = graph.topology, graph.pixel_scale
    nodes = None if isinstance(t.nodes, range) else [_json_name(name) for name in t.nodes]
    own, (commit, changed) = graph.activation.name not in ACTIVATIONS, checkout.version()
    return {"form": FORM, "program": f"pcgraph_lite {__version__}", "commit": commit, "changed": changed,
            "groups": list(t.groups.items()), "edges": [(e.source, e.target) for e in t.edges], "sensory": t.sensory,
            "pools": t.pools, "nodes": nodes,
            "activation": _called(graph.activation) if own else graph.activation.name,
            "values": graph.activation.values() if own else None, "top_k": graph.top_k, "prior": graph.prior,
            "pixel_scale": [scale.name, scale.offset, scale.unit], "replicas": graph.replicas,
            "dtype": str(graph.dtype).removeprefix("torch.")}


def _graph(about: Mapping[str, Any], tensors: Mapping[str, Tensor], f: Activation,
           layout: Mapping[str, Any]) -> PCGraph:
    groups = dict(about["groups"])
    edges = [Edges(source, target, _mask(tensors, k, (groups[source], groups[target])))
             for k, (source, target) in enumerate(about["edges"])]
    nodes = None if about["nodes"] is None else [_hashable(name) for name in about["nodes"]]
    graph = PCGraph(Topology(groups, edges, about["sensory"], about["pools"], nodes), f, top_k=about["top_k"],
                    bias="bias" in tensors, prior=about["prior"], pixel_scale=Scale(*about["pixel_scale"]),
                    init_std=0.0, **layout)
    graph.set_edge_weights([tensors[f"weights/{k}"] for k in range(len(edges))])
    if graph.bias is not None:
        graph.bias.copy_(tensors["bias"])
    return graph


def _mask(tensors: Mapping[str, Tensor], k: int, shape: tuple[int, int]) -> Tensor | None:
    """The mask of an entry of edges, dense or listed as it was."""
    if (pairs := tensors.get(f"pairs/{k}")) is None:
        return tensors.get(f"mask/{k}")
    return torch.sparse_coo_tensor(pairs, torch.ones(pairs.shape[1], dtype=torch.bool), shape, is_coalesced=True,
                                   check_invariants=True)


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """What a file says, if it is one of ``save`` and whole. Raises BadFile."""
    try:
        header, tensors = load_tensors(path, signed="pcgraph")
    except BadFile as error:
        raise BadFile(f"{error}; expected a file of pcg.save.") from error
    if "fingerprint" in header:
        raise BadFile(f"{path} is a checkpoint of fit; expected a file of pcg.save. The same fit(..., checkpoint=...) "
                      "on a graph like the first takes it up; then pcg.save(graph, another_path) writes that graph.")
    if "pcgraph" not in header:
        raise BadFile(f"{path} holds tensors and no graph; expected a file of pcg.save. Weights alone go into a graph "
                      "by graph.load_state_dict(safetensors.torch.load_file(path)).")
    about = json.loads(header["pcgraph"])
    if about["form"] > FORM:
        raise BadFile(f"{path} was written by {about['program']}, which is newer; this is pcgraph_lite {__version__}. "
                      "Update it: pip install --upgrade pcgraph_lite")
    return about, tensors


def _activation(path: Path, about: Mapping[str, Any], given: str | Activation | None) -> Activation:
    """The f of a file, handed over where it is not in the registry. Raises BadInput."""
    saved, values = about["activation"], about["values"]
    if given is None and values is not None:
        raise BadInput(f"the graph in {path} has an activation of its own, {saved}; hand it over: "
                       "pcg.load(path, activation=pcg.Activation(f, slope)).")
    f = named(saved if given is None else given)
    same = f.name == saved if values is None else torch.allclose(
        *(torch.tensor(some, dtype=torch.float64) for some in (f.values(), values)),  # type: ignore[misc, arg-type]
        rtol=ALIKE, atol=ALIKE)
    if not same:
        raise BadInput(f"activation = {f.name if f.name in ACTIVATIONS else _called(f)} is not that of the graph in "
                       f"{path}, which is {saved}; hand over the same one.")
    return f


def _called(activation: Activation) -> str:
    """What an f of somebody's own is called."""
    return getattr(activation.f, "__name__", None) or shown(activation.f)


def _json_name(name: Any) -> Any:
    """The name of a vertex for JSON, a tuple as a list. Raises BadInput."""
    if isinstance(name, tuple):
        return [_json_name(part) for part in name]
    name = name.item() if isinstance(name, np.generic) else name           # equal to it, also as the key of a mapping
    if not isinstance(name, str | int | float | bool | type(None)):
        raise BadInput(f"the vertex {shown(name)} has a name that is a {type(name).__name__}; expected text, a number "
                       "or a tuple of them. Rename the nodes, by nx.relabel_nodes for instance.")
    return name


def _hashable(name: Any) -> Any:
    return tuple(map(_hashable, name)) if isinstance(name, list) else name
