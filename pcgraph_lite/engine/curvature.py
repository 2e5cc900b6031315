"""How large a value step may be: the curvature of the energy, by power iteration."""

import torch
from torch import Tensor

from .conditioned import Conditioned


def curvature(problem: Conditioned, steps: int = 30) -> Tensor:
    """Largest eigenvalue of the energy's Hessian over the free vertices for f = identity, by power iteration.

    That is the largest eigenvalue of the free block of (I - W)(I - W)^T. Plain descent is stable below
    2 / curvature where f is linear; elsewhere it is a guide.

    Returns:
        a number for each replica, ``(...)``: a 0-d tensor without replicas.
    """
    generator = torch.Generator().manual_seed(0)                           # a start direction, not a result
    vectors = {k: torch.randn((*nodes.x.shape[:-2], 1, nodes.x.shape[-1]), generator=generator,
                              dtype=nodes.x.dtype).to(nodes.x.device)
               for k, nodes in problem.free.items()}                       # (..., 1, free)
    norm = torch.ones(())
    for _ in range(steps):
        vectors = _hessian_product(problem, vectors)
        norm = sum(v.square().sum((-2, -1), keepdim=True) for v in vectors.values()).sqrt()
        vectors = {k: v / norm.clamp_min(torch.finfo(v.dtype).tiny) for k, v in vectors.items()}
    return norm[..., 0, 0]


def _hessian_product(problem: Conditioned, vectors: dict[int, Tensor]) -> dict[int, Tensor]:
    """H v with H = (I - W)(I - W)^T restricted to the free vertices; one row ``(..., 1, free)`` a segment."""
    errors, products = {}, {}
    for k, nodes in enumerate(problem.errors):
        errors[k] = torch.zeros_like(problem.xs[k][..., :1, :])
        if nodes.moves and k in vectors:
            errors[k][..., nodes.roles.free] += vectors[k]
        for source, rows in problem.arriving[k] if nodes.moves else ():
            errors[k] -= rows(vectors[source])
        if nodes.roles.owes is not None:
            errors[k] *= nodes.roles.owes
    for k in vectors:
        roles = problem.roles[k]
        products[k] = errors[k][..., roles.free].clone()
        for target, rows in problem.leaving[k]:
            products[k] -= rows(errors[target])
        if roles.hold is not None and roles.hold.ndim == 1:
            products[k] *= roles.hold                                      # clamped alike in all examples
    return products
