"""Predictive coding on a graph: section 2 of the paper, equations 1 to 4, in closed form and without autograd.

``x`` is ``(..., batch, n)``; ``weight[j, i]`` is theta_{j,i}, the edge j -> i, so mu = f(x) W. With replicas every
tensor gets one leading axis ``(replica, batch, n)`` and every weight ``(replica, source, target)``.

Weights are stored as blocks between vertex groups ("blocks"), or, where most pairs of vertices are joined, as one n x n
block ("dense"); a block with few edges can store those alone ("sparse"). All are the same graph; tests hold them
against each other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

import torch
from torch import Tensor, nn

from ..errors import BadInput, BadValues, WrongShape, number, unknown, whole
from . import activations
from .arguments import NotNegative, OneOf, PartOf
from .sparse import Matrix, Pattern, SparseMatrix
from .topology import Edges, Topology

PLANS = ("auto", "dense", "blocks", "sparse")
PRIORS = ("zero", "flat")
# A block is stored by its edges where that was measured to be faster (results/bench): big, and at most so full.
SPARSE_SHARE, SPARSE_SIZE = 0.15, 512 * 512


@dataclass(frozen=True, eq=False)
class Block:
    """The edges from one segment of vertices to another, and where their weights are in ``PCGraph.weights``."""

    source: int
    target: int
    mask: Tensor | None                                                    # (source, target) bool; None: all


class PCGraph(nn.Module):
    """A predictive coding graph: a topology with weights.

    Args:
        topology: which edges exist.
        activation: f of eq. 1: "linear", "hardtanh", "tanh", "relu" or "sigmoid".
        top_k: share of each pool of vertices that fires (section 6). None: all.
        bias: learn a constant b_i in mu_i. The paper has none.
        prior: what a vertex without incoming edges pays. "zero": eq. 2 to the letter, an error of x_i - 0;
            "flat": nothing, so that any value of it is as good (ambiguity log, point 14).
        init_std: standard deviation of the initial weights. None: 1 / sqrt(number of incoming edges).
        replicas: number of independent copies (seeds, hyper-parameters) computed as one. None: a single graph.
        plan: "dense"; "blocks"; "sparse", which is blocks with only their existing edges; or "auto" for what stores
            and multiplies less. Sparse blocks do not do replicas.
        generator: draws the initial weights. None: a new one seeded with 0.

    Raises:
        UnknownName, BadInput: an argument that is not one of the above.
    """

    def __init__(self, topology: Topology, activation: Annotated[str, OneOf(activations.ELEMENTWISE)] = "hardtanh", *,
                 top_k: PartOf | None = None, bias: bool = False, prior: Annotated[str, OneOf(PRIORS)] = "zero",
                 init_std: NotNegative | None = None, replicas: int | None = None,
                 plan: str = "auto", generator: torch.Generator | None = None, dtype: torch.dtype = torch.float32,
                 device: torch.device | str | None = None) -> None:
        super().__init__()
        if prior not in PRIORS:
            raise unknown("prior", prior, PRIORS)
        if init_std is not None:
            number(init_std, "init_std", "a standard deviation of at least 0, or None", lambda std: std >= 0)
        if replicas is not None:
            whole(replicas, "replicas")
        self.topology, self.prior, self.replicas = topology, prior, replicas
        self.segments, self.blocks = _plan(topology, plan)
        self.patterns = nn.ModuleDict({str(k): Pattern(b.mask) for k, b in enumerate(self.blocks)
                                       if _is_sparse(b, plan, replicas)})
        self.home = _home(topology, self.segments)
        self.activations = _activations(topology, self.segments, activation, top_k)
        lead = () if replicas is None else (replicas,)
        self.weights = nn.ParameterList(
            nn.Parameter(torch.zeros(*lead, *self._weight_shape(k), dtype=dtype), requires_grad=False)
            for k in range(len(self.blocks)))
        self.bias = nn.Parameter(torch.zeros(*lead, 1, topology.n, dtype=dtype), requires_grad=False) if bias else None
        sources = topology.in_degree() == 0
        self.register_buffer("sources", sources if prior == "flat" and sources.any() else None, persistent=False)
        self.register_buffer("scale", torch.ones((), dtype=dtype), persistent=False)   # says dtype and device
        for k, block in enumerate(self.blocks):
            mask = None if str(k) in self.patterns else block.mask
            self.register_buffer(f"mask{k}", mask, persistent=False)
        self._draw(init_std, generator or torch.Generator().manual_seed(0))
        self.to(device)

    # ---- section 2, equation by equation -------------------------------------------------------------------------

    def prediction(self, x: Tensor) -> Tensor:
        """mu_i = sum_j theta_{j,i} f(x_j) (+ b_i), eq. 1. ``(..., batch, n)`` to the same shape."""
        self.check_values(x)
        mu = torch.zeros_like(x) if self.bias is None else self.bias.expand_as(x).clone()
        fx = self.activate(x)
        for block, weight in zip(self.blocks, self.matrices(), strict=True):
            mu[..., self.segments[block.target]] += fx[block.source] @ weight
        return mu

    def group_prediction(self, x: Tensor, group: str) -> Tensor:
        """mu of one vertex group alone, ``(..., batch, size)``. Raises UnknownGroup."""
        where = self.topology.slice(group)
        segment, columns = self.home[group]
        mu = torch.zeros_like(x[..., where])
        if self.bias is not None:
            mu += self.bias[..., where]
        for block, weight in zip(self.blocks, self.matrices(), strict=True):
            if block.target == segment:
                fx = self.activations[block.source](x[..., self.segments[block.source]])
                mu += fx @ weight[..., columns] if isinstance(weight, Tensor) else (fx @ weight)[..., columns]
        return mu

    def error(self, x: Tensor) -> Tensor:
        """eps_i = x_i - mu_i; 0 for vertices without incoming edges under a flat prior. ``(..., batch, n)``."""
        error = x - self.prediction(x)
        return error if self.sources is None else error.masked_fill(self.sources, 0)

    def energy(self, x: Tensor) -> Tensor:
        """E = 1/2 sum_i eps_i^2 of each example, eq. 2. ``(..., batch, n)`` to ``(..., batch)``."""
        return self.error(x).square().sum(-1) / 2

    def value_gradient(self, x: Tensor) -> Tensor:
        """dE/dx_i = eps_i - f'(x_i) sum_k theta_{i,k} eps_k: eq. 3 with the sign reversed. ``(..., batch, n)``.

        The printed eq. 3 sums theta_{k,i}; with eq. 1 the gradient needs theta_{i,k} (ambiguity log, point 1).
        """
        error = self.error(x)                                              # (..., batch, n)
        feedback = torch.zeros_like(error)
        for block, weight in zip(self.blocks, self.matrices(), strict=True):
            feedback[..., self.segments[block.source]] += error[..., self.segments[block.target]] @ weight.mT
        return error - self.slope(x) * feedback

    def weight_gradient(self, x: Tensor) -> dict[str, Tensor]:
        """dE/dtheta_{i,j} = -f(x_i) eps_j on existing edges, summed over the batch: eq. 4 with the sign reversed.

        Returns:
            parameter name -> gradient of its shape; for the bias dE/db_i = -eps_i.
        """
        error = self.error(x)
        fx, parts = self.activate(x), [error[..., s] for s in self.segments]
        return self.weight_gradient_of(fx, parts)

    def weight_gradient_of(self, fx: Sequence[Tensor] | Mapping[int, Tensor], error: Sequence[Tensor],
                           share: float = 1.0) -> dict[str, Tensor]:
        """The same times ``share`` from f(x) and the errors of each segment, where a relaxation has them already."""
        scaled = {k: error[k] * -share for k in {block.target for block in self.blocks}}     # fewer than the weights
        gradient = {}
        for k, block in enumerate(self.blocks):
            if str(k) in self.patterns:
                outer = self.patterns[str(k)].outer(fx[block.source], scaled[block.target])         # (edges,)
            else:
                outer = fx[block.source].mT @ scaled[block.target]         # (..., source, target)
            gradient[f"weights.{k}"] = _masked(outer, getattr(self, f"mask{k}"))
        if self.bias is not None:
            gradient["bias"] = torch.cat(list(error), -1).sum(-2, keepdim=True) * -share
        return gradient

    # ---- weights as one matrix ------------------------------------------------------------------------------------

    @property
    def weight(self) -> Tensor:
        """All weights as ``(..., n, n)``, rows are sources, 0 where there is no edge (a copy)."""
        n, lead = self.topology.n, () if self.replicas is None else (self.replicas,)
        matrix = torch.zeros(*lead, n, n, dtype=self.dtype, device=self.device)
        for k, block in enumerate(self.blocks):
            matrix[..., self.segments[block.source], self.segments[block.target]] = self._dense(k)
        return matrix

    @torch.no_grad()
    def set_weight(self, matrix: Tensor) -> None:
        """Take all weights from a ``(..., n, n)`` matrix. Raises WrongShape, BadValues, BadInput (a missing edge)."""
        expected, matrix = self.weight.shape, torch.as_tensor(matrix)
        if matrix.shape != expected:
            raise WrongShape(f"the weight matrix is {tuple(matrix.shape)}; expected {tuple(expected)}.")
        if not torch.isfinite(matrix).all():
            raise BadValues("the weight matrix holds NaN or infinite entries.")
        if bool((matrix[..., ~self.topology.mask().to(matrix.device)] != 0).any()):
            raise BadInput("the weight matrix is non-zero where the topology has no edge; mask it first.")
        for weight, stored in zip(self.weights, self.cut(matrix), strict=True):
            weight.copy_(stored)

    def cut(self, matrix: Tensor) -> list[Tensor]:
        """The parts of a ``(..., n, n)`` matrix that ``weights`` hold, in their shapes."""
        blocks = [matrix[..., self.segments[b.source], self.segments[b.target]] for b in self.blocks]
        return [self.patterns[str(k)].existing(m) if str(k) in self.patterns else m for k, m in enumerate(blocks)]

    def matrices(self) -> list[Matrix]:
        """The weights of each block as something to multiply with, ``(..., source, target)``."""
        return [SparseMatrix(self.patterns[str(k)], w) if str(k) in self.patterns else w
                for k, w in enumerate(self.weights)]

    # ---- helpers ------------------------------------------------------------------------------------------------

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
        """Raise WrongShape unless ``x`` is ``(..., batch, n)`` of this graph, with its replicas."""
        lead = () if self.replicas is None else (self.replicas,)
        if x.ndim != 2 + len(lead) or x.shape[-1] != self.topology.n or x.shape[:-2] != lead:
            wanted = ", ".join(map(str, (*lead, "batch", self.topology.n)))
            raise WrongShape(f"x is {tuple(x.shape)}; expected ({wanted}).")
        if x.dtype != self.dtype:
            raise WrongShape(f"x is {x.dtype}, the graph {self.dtype}; convert one of them with .to().")

    def _block_shape(self, k: int) -> tuple[int, int]:
        source, target = self.segments[self.blocks[k].source], self.segments[self.blocks[k].target]
        return source.stop - source.start, target.stop - target.start

    def _weight_shape(self, k: int) -> tuple[int, ...]:
        return (self.patterns[str(k)].count,) if str(k) in self.patterns else self._block_shape(k)

    def _dense(self, k: int) -> Tensor:
        return self.patterns[str(k)].dense(self.weights[k]) if str(k) in self.patterns else self.weights[k]

    def _load_from_state_dict(self, state_dict: dict[str, Tensor], prefix: str, *rest: object) -> None:
        """Take up weights whichever plan wrote them: as a matrix, or of existing edges alone."""
        for k, block in enumerate(self.blocks):
            saved = state_dict.get(key := f"{prefix}weights.{k}")
            if saved is None or saved.shape == self.weights[k].shape:
                continue
            if str(k) in self.patterns and saved.shape == self._block_shape(k):
                state_dict[key] = self.patterns[str(k)].existing(saved)
            elif block.mask is not None and self.replicas is None and saved.shape == (int(block.mask.sum()),):
                state_dict[key] = torch.zeros(self._block_shape(k), dtype=saved.dtype).masked_scatter(
                    block.mask, saved.cpu())
        super()._load_from_state_dict(state_dict, prefix, *rest)

    @torch.no_grad()
    def _draw(self, std: float | None, generator: torch.Generator) -> None:
        """Draw group by group, so that both plans start from the same weights."""
        degree = self.topology.in_degree().clamp_min(1).to(self.dtype)     # (n,)
        lead = () if self.replicas is None else (self.replicas,)
        matrix = [torch.zeros(*lead, *self._block_shape(k), dtype=self.dtype) for k in range(len(self.blocks))]
        at = {(b.source, b.target): m for b, m in zip(self.blocks, matrix, strict=True)}
        for e in self.topology.edges:
            (s, rows), (t, columns) = self.home[e.source], self.home[e.target]
            shape = (*lead, self.topology.size(e.source), self.topology.size(e.target))
            drawn = torch.randn(shape, generator=generator, dtype=self.dtype)
            drawn *= degree[self.topology.slice(e.target)].rsqrt() if std is None else std
            at[s, t][..., rows, columns] = drawn if e.mask is None else drawn * e.mask
        for k, (weight, drawn) in enumerate(zip(self.weights, matrix, strict=True)):
            weight.copy_(self.patterns[str(k)].existing(drawn) if str(k) in self.patterns else drawn)


def _masked(matrix: Tensor, mask: Tensor | None, rows: int = 32) -> Tensor:
    """``matrix *= mask``, some rows at a time: torch makes a float copy of a bool mask."""
    if mask is not None:
        for some, there in zip(matrix.split(rows, -2), mask.split(rows, -2), strict=True):
            some.mul_(there)
    return matrix


def _plan(topology: Topology, plan: str) -> tuple[list[slice], list[Block]]:
    """Cut the vertices into segments and the edges into blocks between them."""
    if plan not in PLANS:
        raise unknown("plan", plan, PLANS)
    area = sum(topology.size(e.source) * topology.size(e.target) for e in topology.edges)
    segments = [] if plan == "dense" or (plan == "auto" and area > topology.n**2 / 2) else _pool_segments(topology)
    if not segments:
        if plan in ("blocks", "sparse"):
            raise BadInput(f"plan={plan!r} needs the groups of each top-k pool side by side; got {topology.pools}.")
        segments = [slice(0, topology.n)]
    home, pairs = _home(topology, segments), {}
    for e in topology.edges:
        pairs.setdefault((home[e.source][0], home[e.target][0]), []).append(e)
    return segments, [Block(s, t, _merged(edges, segments[s], segments[t], home)) for (s, t), edges in pairs.items()]


def _is_sparse(block: Block, plan: str, replicas: int | None) -> bool:
    """Whether a block is stored by its edges."""
    if plan == "sparse" and replicas is not None:
        raise BadInput("plan='sparse' does not do replicas; use plan='auto', or one graph after the other.")
    if block.mask is None or replicas is not None:
        return False
    few = block.mask.numel() >= SPARSE_SIZE and int(block.mask.sum()) <= SPARSE_SHARE * block.mask.numel()
    return plan == "sparse" or (plan == "auto" and few)


def _pool_segments(topology: Topology) -> list[slice]:
    """One segment for each pool, in vertex order; none at all if the groups of a pool are not side by side."""
    segments = []
    for pool in topology.pools:
        cuts = sorted((topology.slice(name) for name in pool), key=lambda cut: cut.start)
        if any(a.stop != b.start for a, b in pairwise(cuts)):
            return []
        segments.append(slice(cuts[0].start, cuts[-1].stop))
    return sorted(segments, key=lambda cut: cut.start)


def _merged(edges: list[Edges], source: slice, target: slice, home: dict[str, tuple[int, slice]]) -> Tensor | None:
    """The mask of one block, put together from those of the groups in it; None where no edge is missing."""
    mask = torch.zeros(source.stop - source.start, target.stop - target.start, dtype=torch.bool)
    for e in edges:
        mask[home[e.source][1], home[e.target][1]] = True if e.mask is None else e.mask
    return None if mask.all() else mask


def _home(topology: Topology, segments: list[slice]) -> dict[str, tuple[int, slice]]:
    """Group name -> (segment, where in that segment)."""
    home = {}
    for name in topology.groups:
        where = topology.slice(name)
        k = next(k for k, s in enumerate(segments) if s.start <= where.start and where.stop <= s.stop)
        home[name] = (k, slice(where.start - segments[k].start, where.stop - segments[k].start))
    return home


def _activations(topology: Topology, segments: list[slice], name: str, top_k: float | None) -> list:
    """One f for each segment; with top-k each pool must lie inside one segment."""
    base = activations.named(name)
    if top_k is None:
        return [base] * len(segments)
    activations.check_fraction(top_k)
    home = _home(topology, segments)
    pools: list[list[list[slice]]] = [[] for _ in segments]
    for pool in topology.pools:
        if len({home[group][0] for group in pool}) > 1:
            raise BadInput(f"the top-k pool {pool} spans several blocks; build the graph with plan='dense'.")
        pools[home[pool[0]][0]].append([home[group][1] for group in pool])
    return [activations.TopK(base, top_k, p) for p in pools]
