"""Predictive coding on a graph: section 2 of the paper, equations 1 to 4, in closed form and without autograd.

``x`` is ``(..., batch, n)``; ``weight[j, i]`` is theta_{j,i}, the edge j -> i, so mu = f(x) W. With replicas every
tensor gets one leading axis ``(replica, batch, n)`` and every weight ``(replica, source, target)``.

Weights are stored in blocks between segments of vertices (layout.py, weights.py); whichever way, it is the same graph,
and tests hold it against ``pcgraph_lite.equations``.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import torch
from annotated_types import Ge
from torch import Tensor, nn

from .. import valid
from ..errors import BadInput, WrongShape, one_of, require_memory, shown
from ..files import tensor_digest
from ..precision import Exact, exactly
from ..valid import NotNegative, OneOf, PartOf
from . import activations
from .activations import ACTIVATIONS, Activation
from .layout import Layout, homes
from .scale import PLAIN, Scale
from .topk import TopK
from .topology import Edges, Topology
from .weights import Dense, Matrix, Sparse

if TYPE_CHECKING:
    import pandas as pd


FIXED = ("topology", "activation", "top_k", "prior")                       # what a graph is made of


class PCGraph(Exact):
    """A predictive coding graph: a topology with weights.

    Args:
        topology: which edges exist.
        activation: f of eq. 1, by its name in ``engine.activations.ACTIVATIONS``, or an Activation of your own.
        top_k: share of each pool of vertices that fires (section 6). None: all.
        bias: learn a constant b_i in mu_i. The paper has none.
        prior: what a vertex without incoming edges pays. "zero": eq. 2 to the letter, an error of x_i - 0
            (with a bias, x_i - b_i);
            "flat": nothing, so that any value of it is as good (ambiguity log, point 14).
        init_std: standard deviation of the initial weights. None: 1 / sqrt(number of incoming edges). A mapping such
            as ``{"labels -> hidden1": 1.0}`` says it for the edges between two groups, None holding for the others.
            Edges that the topology gives first weights (Edges, ``from_networkx``) start from those.
        generator: draws the initial weights. None: a new one seeded with 0, whatever ``torch.manual_seed`` says.
        pixel_scale: how the group "pixels" is scaled (scale.Scale). Pictures stay in [0, 1] for ``query``, ``fit`` and
            the scores; methods of the graph and ``relax`` take ``x`` as it is inside, scaled. A ``state_dict`` holds
            weights alone, so a graph that loads one is made with the same scale, activation and prior; ``pcg.save``
            keeps them all.
        layout: how it is held and computed: ``plan``, ``replicas``, ``dtype``, ``device``, ``cuda_graphs``
            (layout.Layout).

    Raises:
        UnknownName, BadInput: an argument that is not one of the above.

    Example:
        >>> graph = pcg.PCGraph(pcg.topology.from_mask([[0, 1], [0, 0]]), "linear")
        >>> graph.set_weight([[0, 2], [0, 0]])                           # x_0 predicts 2 x_0 at vertex 1
        >>> graph.energy(torch.tensor([[1.0, 2.0], [1.0, 3.0]]))         # vertex 0 pays 1/2: nothing predicts it
        tensor([0.5000, 1.0000])
    """

    history: "pd.DataFrame | None" = None                                  # of the last training, one row an epoch
    blocks: Sequence[Dense]
    bias: nn.Parameter | None
    sources: Tensor | None
    scale: Tensor

    @valid.checked
    def __init__(self, topology: Topology,
                 activation: Annotated[str, OneOf(ACTIVATIONS)] | Callable[[Tensor], Tensor] = "hardtanh", *,
                 top_k: PartOf | None = None, bias: bool = False, prior: Literal["zero", "flat"] = "zero",
                 init_std: NotNegative | Mapping[str, NotNegative | None] | None = None,
                 generator: torch.Generator | None = None, pixel_scale: Scale = PLAIN,
                 **layout: Annotated[Any, Layout]) -> None:
        super().__init__()
        stds = _stds(init_std, topology)
        self.topology, self.prior, self.layout = topology, prior, Layout(**layout)
        self.activation, self.top_k = activations.named(activation), top_k
        self.pixel_scale = pixel_scale
        self.segments = self.layout.segments(topology)
        self.blocks = nn.ModuleList(self.layout.blocks(topology, self.segments))  # type: ignore[assignment]
        self.home = homes(topology, self.segments)
        self._places = {(block.source, block.target): k for k, block in enumerate(self.blocks)}
        self.activations = self._functions(self.activation, top_k)
        self.weights = nn.ParameterList(self._zeros(*block.stored) for block in self.blocks)
        self.bias = self._zeros(1, topology.n) if bias else None
        sources = topology.in_degree() == 0
        self.register_buffer("sources", sources if prior == "flat" and sources.any() else None, persistent=False)
        self.register_buffer("scale", torch.ones((), dtype=self.layout.dtype), persistent=False)    # dtype and device
        self._draw(stds, generator or torch.Generator().manual_seed(0))
        self.to(self.layout.device)
        self.register_state_dict_post_hook(_with_edges)

    def __setattr__(self, name: str, value: Any) -> None:
        """Raise BadInput for what a graph is made of: all that was made from it would stay as it is."""
        if name in FIXED and name in self.__dict__:
            raise BadInput(f"{name} = {shown(value)} comes too late: the graph is already made. Make another one, "
                           f"PCGraph(..., {name}=...); if its edges are the same, load_state_dict(graph.state_dict()) "
                           "hands over the weights.")
        super().__setattr__(name, value)

    def extra_repr(self) -> str:
        """What ``repr`` says beside the weights."""
        f = self.activation.registered() or "your own"
        return (f"{self.topology}, activation={f}, top_k={self.top_k}, bias={self.bias is not None}, "
                f"prior={self.prior}, pixel_scale={self.pixel_scale.name}, replicas={self.replicas}")

    def forward(self, *inputs: object) -> None:
        """Raise BadInput: a graph answers many questions, so calling it says nothing."""
        raise BadInput("a graph is not called. Ask it: pcg.query(graph, clamp={'pixels': images}).values['labels'], or "
                       "for one step of eq. 1 graph.prediction(x).")

    # ---- section 2, equation by equation -------------------------------------------------------------------------

    @exactly
    def prediction(self, x: Tensor) -> Tensor:
        """mu_i = sum_j theta_{j,i} f(x_j) (+ b_i), eq. 1. ``(..., batch, n)`` to the same shape.

        Raises WrongShape, BadInput: not a tensor of that shape and the graph's dtype.
        """
        self.check_values(x)
        mu = torch.zeros_like(x) if self.bias is None else self.bias.expand_as(x).clone()
        fx = self.activate(x)
        for block, weight in zip(self.blocks, self.matrices(), strict=True):
            mu[..., self.segments[block.target]] += weight(fx[block.source])
        return mu

    @exactly
    def group_prediction(self, x: Tensor, group: str) -> Tensor:
        """mu of one vertex group alone, ``(..., batch, size)``. Raises UnknownGroup; else as ``prediction``."""
        self.check_values(x)
        where, (segment, columns) = self.topology.slice(group), self.home[group]
        mu = torch.zeros_like(x[..., where])
        if self.bias is not None:
            mu += self.bias[..., where]
        for block, weight in zip(self.blocks, self.matrices(), strict=True):
            if block.target == segment:
                fx = self.activations[block.source](x[..., self.segments[block.source]])
                mu = mu + weight(fx)[..., columns]
        return mu

    def error(self, x: Tensor) -> Tensor:
        """eps_i = x_i - mu_i; 0 for vertices without incoming edges under a flat prior. ``(..., batch, n)``."""
        error = x - self.prediction(x)
        return error if self.sources is None else error.masked_fill(self.sources, 0)

    def energy(self, x: Tensor) -> Tensor:
        """E = 1/2 sum_i eps_i^2 of each example, eq. 2. ``(..., batch, n)`` to ``(..., batch)``."""
        return self.error(x).square().sum(-1) / 2

    def energies(self, x: Tensor) -> dict[str, Tensor]:
        """The part of each group in the energy, eq. 2: group -> ``(..., batch)``, whose sum is ``energy``."""
        error = self.error(x)
        return {name: error[..., self.topology.slice(name)].square().sum(-1) / 2 for name in self.topology.groups}

    @exactly
    @torch.no_grad()
    def value_gradient(self, x: Tensor) -> Tensor:
        """dE/dx_i = eps_i - f'(x_i) sum_k theta_{i,k} eps_k: eq. 3 with the sign reversed. ``(..., batch, n)``.

        The printed eq. 3 sums theta_{k,i}; with eq. 1 the gradient needs theta_{i,k} (ambiguity log, point 1).
        """
        error = self.error(x)                                              # (..., batch, n)
        feedback = torch.zeros_like(error)
        for block, weight in zip(self.blocks, self.matrices(), strict=True):
            feedback[..., self.segments[block.source]] += weight.mT(error[..., self.segments[block.target]])
        return error - self.slope(x) * feedback

    @torch.no_grad()
    def weight_gradient(self, x: Tensor) -> dict[str, Tensor]:
        """dE/dtheta_{i,j} = -f(x_i) eps_j on existing edges, summed over the batch: eq. 4 with the sign reversed.

        Autograd through ``energy`` gives the same on edges, after ``graph.requires_grad_()``. Where a mask leaves pairs
        out, it gives those a gradient as well: multiply that by the mask before your own optimizer steps along it.

        Returns:
            parameter name -> gradient of its shape; for the bias dE/db_i = -eps_i. A parameter may hold the edges of
            several groups (``layout.plan``); ``edge_weights`` and ``set_edge_weights`` go by ``topology.edges``.
        """
        error = self.error(x)
        fx, parts = self.activate(x), [error[..., s] for s in self.segments]
        return self.weight_gradient_of(fx, parts)

    @exactly
    def weight_gradient_of(self, fx: Sequence[Tensor] | Mapping[int, Tensor], error: Sequence[Tensor],
                           share: float = 1.0) -> dict[str, Tensor]:
        """The same times ``share`` from f(x) and the errors of each segment, where a relaxation has them already."""
        gradient = {f"weights.{k}": block.outer(fx[block.source], error[block.target], -share)
                    for k, block in enumerate(self.blocks)}
        if self.bias is not None:
            gradient["bias"] = torch.cat(list(error), -1).sum(-2, keepdim=True) * -share
        return gradient

    # ---- weights as one matrix ------------------------------------------------------------------------------------

    @property
    def weight(self) -> Tensor:
        """All weights as ``(..., n, n)``, rows are sources, 0 where there is no edge; without the bias.

        It is a copy: ``set_weight`` and ``set_edge_weights`` change the graph.
        """
        shape = (*self.layout.lead, self.topology.n, self.topology.n)
        require_memory(2 * math.prod(shape), f"the weights of {self.topology.n} vertices as a matrix, and its blocks,",
                       self.dtype.itemsize)
        matrix = torch.zeros(shape, dtype=self.dtype, device=self.device)
        for block, weight in zip(self.blocks, self.weights, strict=True):
            matrix[..., self.segments[block.source], self.segments[block.target]] = block.dense(weight)
        return matrix

    @torch.no_grad()
    def set_weight(self, matrix: Any) -> None:
        """Take all weights from a ``(..., n, n)`` matrix. Raises WrongShape, BadValues, BadInput (a missing edge)."""
        expected = (*self.layout.lead, self.topology.n, self.topology.n)
        matrix = valid.finite(matrix, "the weight matrix", self.dtype)
        if matrix.shape != expected:
            raise WrongShape(f"the weight matrix is {tuple(matrix.shape)}; expected {expected}.")
        if bool((matrix[..., ~self.topology.mask().to(matrix.device)] != 0).any()):
            raise BadInput("the weight matrix is non-zero where the topology has no edge; mask it first.")
        for weight, stored in zip(self.weights, self.gather(matrix), strict=True):
            weight.copy_(stored)

    def gather(self, matrix: Tensor) -> list[Tensor]:
        """The parts of a ``(..., n, n)`` matrix that ``weights`` hold, in their shapes."""
        return [b.gather(matrix[..., self.segments[b.source], self.segments[b.target]]) for b in self.blocks]

    def matrices(self) -> list[Matrix]:
        """The weights of each block as something to multiply with, ``(..., source, target)``."""
        return [block.matrix(weight) for block, weight in zip(self.blocks, self.weights, strict=True)]

    # ---- helpers ------------------------------------------------------------------------------------------------

    @property
    def replicas(self) -> int | None:
        return self.layout.replicas

    @valid.checked
    @torch.no_grad()
    def replica(self, k: Annotated[int, Ge(0)]) -> "PCGraph":
        """A single graph with the weights of replica ``k``, counted from 0: to be scored, asked or saved by itself.

        Raises BadInput: there is no such replica.

        Example:
            >>> graph = pcg.PCGraph(pcg.topology.generative(labels=2, hidden=[3], pixels=4), replicas=5)
            >>> bool((graph.replica(1).weight == graph.weight[1]).all())
            True
        """
        if k >= (self.replicas or 0):
            raise BadInput(f"replica {k} of {self.replicas or 0}: they are counted from 0, and made by replicas=...")
        layout = vars(self.layout) | {"replicas": None, "dtype": self.dtype, "device": self.device}
        made = PCGraph(self.topology, self.activation, top_k=self.top_k, bias=self.bias is not None, prior=self.prior,
                       init_std=0.0, pixel_scale=self.pixel_scale, **layout)
        made.set_edge_weights([weights[k] for weights in self.edge_weights()])
        if self.bias is not None and made.bias is not None:
            made.bias.copy_(self.bias[k])
        return made

    @property
    def dtype(self) -> torch.dtype:
        return self.scale.dtype

    @property
    def device(self) -> torch.device:
        return self.scale.device

    def activate(self, x: Tensor) -> list[Tensor]:
        """f(x), one tensor ``(..., batch, size)`` a segment."""
        return [f(x[..., s]) for f, s in zip(self.activations, self.segments, strict=True)]

    def slope(self, x: Tensor) -> Tensor:
        """f'(x), ``(..., batch, n)``."""
        parts = [x[..., s] for s in self.segments]
        return torch.cat([f.slope(part) for f, part in zip(self.activations, parts, strict=True)], -1)

    def check_values(self, x: Tensor) -> None:
        """Raise WrongShape, BadInput unless ``x`` is a tensor ``(..., batch, n)`` of this graph, with its replicas."""
        lead = self.layout.lead
        if not isinstance(x, Tensor):
            raise BadInput(f"x is a {type(x).__name__}; expected a tensor: torch.as_tensor(x, dtype=graph.dtype).")
        if x.ndim != 2 + len(lead) or x.shape[-1] != self.topology.n or x.shape[:-2] != lead:
            wanted = ", ".join(map(str, (*lead, "batch", self.topology.n)))
            raise WrongShape(f"x is {tuple(x.shape)}; expected ({wanted}).")
        if x.dtype != self.dtype:
            raise WrongShape(f"x is {x.dtype}, the graph {self.dtype}; convert one of them with .to().")

    def _zeros(self, *shape: int) -> nn.Parameter:
        """A parameter in every replica. Its gradient is written by hand (eq. 4)."""
        return nn.Parameter(torch.zeros(*self.layout.lead, *shape, dtype=self.layout.dtype), requires_grad=False)

    def _functions(self, base: Activation, top_k: float | None) -> list[Activation | TopK]:
        """One f for each segment; the layout keeps the groups of a top-k pool in one."""
        if top_k is None:
            return [base] * len(self.segments)
        pools: list[list[list[slice]]] = [[] for _ in self.segments]
        for pool in self.topology.pools:
            pools[self.home[pool[0]][0]].append([self.home[group][1] for group in pool])
        return [TopK(base, top_k, p) for p in pools]

    def edge_weights(self) -> list[Tensor]:
        """The weights by entries of ``topology.edges``, whatever the plan: ``(..., edges)``, in the order of their
        pairs (``topology.pairs``).
        """
        return [self._of_edges(e)[0] for e in self.topology.edges]

    @valid.checked
    @torch.no_grad()
    def set_edge_weights(self, weights: Sequence[Tensor | None]) -> None:
        """Take the weights of each entry of ``topology.edges``, as ``edge_weights`` gives them, or ``(edges,)`` for all
        replicas alike; None leaves one.

        Raises:
            WrongShape, BadValues, BadInput: not one for each entry, or weights that do not fit it.
        """
        if len(weights) != len(self.topology.edges):
            raise WrongShape(f"{len(weights)} weights; expected one tensor, or None, for each of the "
                             f"{len(self.topology.edges)} entries of topology.edges.")
        checked = []                                                       # all of them, before the first is taken
        for e, given in zip(self.topology.edges, weights, strict=True):
            if given is not None:
                now, stored, where = self._of_edges(e)
                made = valid.finite(given, what := f"the weights of {_pair(e)!r}", self.dtype)
                if made.shape not in (now.shape, now.shape[-1:]):
                    raise WrongShape(f"{what} are {tuple(made.shape)}; expected {tuple(now.shape)}.")
                checked.append((stored, where, made))
        for stored, where, made in checked:
            stored[..., *where] = made.to(stored)

    def _of_edges(self, e: Edges) -> tuple[Tensor, Tensor, Any]:
        """The weights between two groups ``(..., edges)``, the parameter that holds them, and where in it."""
        (s, rows), (t, columns) = self.home[e.source], self.home[e.target]
        block, stored = self.blocks[k := self._places[s, t]], self.weights[k]
        if isinstance(block, Sparse):
            where = (block.inside(rows, columns),)
        else:
            where = tuple(self.topology.pairs(e).to(stored.device) + torch.tensor(
                [[rows.start], [columns.start]], device=stored.device))
        return stored[..., *where], stored, where

    def _edges(self) -> Tensor | None:
        """Digest of which edges there are between groups, 32 bytes. None: wherever some are, all are."""
        partly = {_pair(e): pairs for e in self.topology.edges
                  if e.mask is not None and 0 < (pairs := e.pairs().cpu()).shape[1] < e.mask.numel()}
        return torch.tensor(list(bytes.fromhex(tensor_digest(partly))), dtype=torch.uint8) if partly else None

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """As torch's. Raises BadInput: names that are missing or unknown, weights of other shapes or of other edges."""
        if not isinstance(state_dict, Mapping):
            raise BadInput(f"state_dict is {shown(state_dict)}; it should be what graph.state_dict() gives.")
        try:
            return super().load_state_dict(state_dict, strict=strict, assign=assign)
        except RuntimeError as error:                                      # torch's has a line for each name
            why = " ".join(str(error).partition(":")[2].split())
            raise BadInput(f"these weights do not fit {self.topology}: {why} They should be the state_dict() of a "
                           "graph of the same topology and plan; pcg.save and pcg.load take any plan.") from error

    def _load_from_state_dict(self, state_dict: dict[str, Tensor], prefix: str, *rest: object) -> None:
        """Take up weights whichever plan wrote them: as a matrix, or of existing edges alone."""
        whose, own = state_dict.pop(f"{prefix}edges", None), self._edges()
        if whose is not None and (own is None or not torch.equal(torch.as_tensor(whose).cpu(), own)):
            raise BadInput(f"these weights belong to another graph than {self.topology}: its edges are not the same.")
        for k, block in enumerate(self.blocks):
            if (key := f"{prefix}weights.{k}") in state_dict:
                saved = valid.finite(state_dict[key], key, self.dtype)
                mask = block.mask if saved.shape[-2:] == block.shape else None
                if mask is not None and bool(saved[..., ~mask.to(saved.device)].any()):
                    raise BadInput(f"{key} is non-zero where the topology has no edge; these weights belong to another "
                                   "graph.")
                state_dict[key] = block.adopted(saved)
        if (key := f"{prefix}bias") in state_dict:
            valid.finite(state_dict[key], key, self.dtype)
        super()._load_from_state_dict(state_dict, prefix, *rest)

    @torch.no_grad()
    def _draw(self, stds: Mapping[str, float | None], generator: torch.Generator) -> None:
        """Draw group by group, so that all plans start from the same weights; where edges are listed, those alone."""
        degree = self.topology.in_degree().clamp_min(1).to(self.dtype)     # (n,)
        few = any(e.listed for e in self.topology.edges)
        matrix = {(b.source, b.target): torch.zeros(*self.layout.lead, *b.shape, dtype=self.dtype)
                  for b in self.blocks if not (few and isinstance(b, Sparse))}
        for e in self.topology.edges:
            (s, rows), (t, columns) = self.home[e.source], self.home[e.target]
            if (s, t) not in matrix:
                continue
            shape = (*self.layout.lead, self.topology.size(e.source), self.topology.size(e.target))
            drawn = torch.randn(shape, generator=generator, dtype=self.dtype)
            std = stds.get(_pair(e))
            drawn *= degree[self.topology.slice(e.target)].rsqrt() if std is None else std
            matrix[s, t][..., rows, columns] = drawn if (mask := e.dense()) is None else drawn * mask
        for block, weight in zip(self.blocks, self.weights, strict=True):
            whole = matrix.get((block.source, block.target))
            weight.copy_(self._drawn(block, stds, degree, generator)  # type: ignore[arg-type]  # a sparse one
                         if whole is None else block.gather(whole))
        self.set_edge_weights([e.weights for e in self.topology.edges])

    def _drawn(self, block: Sparse, stds: Mapping[str, float | None], degree: Tensor,
               generator: torch.Generator) -> Tensor:
        """First weights of existing edges alone, ``(edges,)``; ``degree`` ``(n,)``."""
        scale = degree[self.segments[block.target]].rsqrt()[block.columns.long()]                # (edges,)
        for e in self.topology.edges:
            (s, source), (t, target) = self.home[e.source], self.home[e.target]
            if (s, t) == (block.source, block.target) and (std := stds.get(_pair(e))) is not None:
                scale[block.inside(source, target)] = std
        return torch.randn(block.edges, generator=generator, dtype=self.dtype) * scale


def _with_edges(graph: PCGraph, state: dict[str, Tensor], prefix: str, about: dict[str, Any]) -> None:
    """Note in a ``state_dict`` whose edges its weights are of, as a tensor, which every kind of file keeps."""
    if (edges := graph._edges()) is not None:
        state[f"{prefix}edges"] = edges


def _stds(given: float | Mapping[str, float | None] | None, topology: Topology) -> Mapping[str, float | None]:
    """The standard deviation of each pair of groups. Raises UnknownName."""
    pairs = [_pair(e) for e in topology.edges]
    stds = given if isinstance(given, Mapping) else dict.fromkeys(pairs, given)
    return {one_of("pair of groups in init_std", pair, pairs): std for pair, std in stds.items()}


def _pair(edges: Edges) -> str:
    return f"{edges.source} -> {edges.target}"
