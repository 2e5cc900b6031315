"""How large the step size of the values may be: by the largest eigenvalue of the energy's Hessian."""

import torch
from torch import Tensor

from .conditioned import Conditioned
from .nodes import Nodes


def largest_eigenvalue(problem: Conditioned, steps: int = 30) -> Tensor:
    """Largest eigenvalue of the energy's Hessian over the free vertices for f = identity, by power iteration.

    That is the largest eigenvalue of the free block of (I - W)(I - W)^T. Plain descent is stable below
    2 / eigenvalue where f is linear; elsewhere it is a guide.

    Returns:
        a number for each replica, ``(...)``: a 0-d tensor without replicas. 0 where the energy depends on no free
        vertex, NaN where the estimate overflows.
    """
    generator = torch.Generator().manual_seed(0)                           # a start direction, not a result
    vectors = {nodes: torch.randn((1, nodes.x.shape[-1]), generator=generator, dtype=nodes.x.dtype).to(nodes.x.device)
               .expand(*nodes.x.shape[:-2], 1, -1)                         # the same for each replica
               for nodes in problem.free}                                  # (..., 1, free)
    norm = torch.ones(())
    for _ in range(steps):
        vectors = _hessian_product(problem, vectors)
        norm = _length(list(vectors.values()))
        vectors = {nodes: v / norm.clamp_min(torch.finfo(v.dtype).tiny) for nodes, v in vectors.items()}
    return norm[..., 0, 0]


def _length(parts: list[Tensor]) -> Tensor:
    """Euclidean length of a vector in parts ``(..., 1, size)``, ``(..., 1, 1)``; NaN unless all of it is finite.

    The square of a length overflows long before the length does, and would then be divided by.
    """
    plain = sum(part.square().sum((-2, -1), keepdim=True) for part in parts).sqrt()  # type: ignore[union-attr]
    if not plain.is_cuda and plain.isfinite().all():                       # to ask a GPU would mean to wait for it
        return plain
    largest = torch.stack([part.abs().amax((-2, -1), keepdim=True) for part in parts]).amax(0)
    shares = [(part / largest).square().sum((-2, -1), keepdim=True) for part in parts]
    scaled = sum(shares).sqrt()  # type: ignore[union-attr]
    return torch.where(plain.isfinite(), plain, largest * scaled)


def _hessian_product(problem: Conditioned, vectors: dict[Nodes, Tensor]) -> dict[Nodes, Tensor]:
    """H v with H = (I - W)(I - W)^T restricted to the free vertices; one row ``(..., 1, free)`` a segment."""
    errors, products = {}, {}
    for nodes in problem.nodes:
        errors[nodes] = torch.zeros_like(nodes.start[..., :1, :])          # (..., 1, size)
        if nodes in problem.changing:
            if nodes in vectors:
                errors[nodes][..., nodes.free] += vectors[nodes]
            for source, weight in problem.incoming[nodes]:
                errors[nodes] -= weight(vectors[source])
        if nodes.pays is not None and nodes.pays.ndim == 1:
            errors[nodes] *= nodes.pays                                    # the same vertices in all examples
    for nodes in vectors:
        products[nodes] = errors[nodes][..., nodes.free].clone()
        for target, weight in problem.outgoing[nodes]:
            products[nodes] -= weight(errors[target])
        if nodes.moves is not None and nodes.moves.ndim == 1:
            products[nodes] *= nodes.moves                                 # clamped alike in all examples
    return products
