"""A Hopfield network as a classifier, after Belyaev and Velichko (2020), the source that the paper names in section 3.

Said in the source's abstract and done here: binary patterns are stored by Storkey's rule, since they are too alike for
Hebb's; the threshold that makes them binary, their size, and the threshold of the images to be classified are chosen
for accuracy (here on validation images). Left open there and chosen here: the pattern of a class is its mean image;
size means a square cut from the middle of the image; each pattern carries its label on more vertices, one a class, so
that the network is asked like a PC graph (section 3): pixels held, labels free.

States are -1 and 1; a label vertex starts at 0, which says nothing. Vertices change one at a time in random order until
none wants to change, and the label with the largest field wins: states alone could name no class, or two.
"""

import time
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Annotated

import pandas as pd
import torch
from annotated_types import MinLen
from torch import Tensor, nn
from tqdm import tqdm

from .. import valid
from ..engine.epochs import Callback, no_bar
from ..errors import BadInput
from ..valid import Count, OneOf, Shape, Share, Sizes
from .kinds import KINDS, Classifier, Kind, Labelled, in_one_row

Shares = Annotated[Sequence[Share], MinLen(1)]
MOST_SWEEPS = 100                                                          # far more than ever needed


def hebb(patterns: Tensor) -> Tensor:
    """w_ij = 1/n sum_p x_i x_j, w_ii = 0 (Hopfield 1982). ``(count, n)`` of -1 and 1 to ``(n, n)``."""
    return (patterns.T @ patterns / patterns.shape[1]).fill_diagonal_(0)


def storkey(patterns: Tensor) -> Tensor:
    """w_ij += 1/n (x_i x_j - x_i h_ji - h_ij x_j) pattern by pattern, w_ii = 0 (Storkey 1997).

    h_ij = sum_k w_ik x_k over k other than i and j: the field that the patterns stored before put on i. The result
    depends on the order of the patterns.
    """
    n = patterns.shape[1]
    weight = patterns.new_zeros(n, n)
    for x in patterns:
        field = (weight @ x)[:, None] - weight * x                         # (n, n): h_ij, as w_ii = 0
        correction = field * x                                             # h_ij x_j
        weight += (torch.outer(x, x) - (correction + correction.T)) / n
        weight.fill_diagonal_(0)
    return weight


RULES: dict[str, Callable[[Tensor], Tensor]] = {"hebb": hebb, "storkey": storkey}


class Hopfield(Classifier):
    """pixels + labels vertices, all joined in both directions with the same weight; none to itself.

    Args:
        shape: ``(channels, height, width)`` of an image.
        labels: number of classes.
    """

    labels: int
    level: Tensor

    @valid.checked
    def __init__(self, shape: Shape = (1, 28, 28), labels: Count = 10) -> None:
        super().__init__()
        self.shape, self.labels = tuple(shape), labels
        self.pixels = shape[0] * shape[1] * shape[2]
        n = self.pixels + labels
        self.weight = nn.Parameter(torch.zeros(n, n), requires_grad=False)
        self.register_buffer("level", torch.zeros(()))                     # images: 1 above, -1 below

    def settle(self, state: Tensor, free: Tensor) -> Tensor:
        """Update free vertices one by one, in a random order for each sweep, until none changes.

        Args:
            state: ``(batch, n)`` of -1, 0 and 1; not changed. A vertex whose field is 0 stays as it is.
            free: numbers of the vertices that may change; the others are held.
        """
        generator, state = torch.Generator().manual_seed(0), state.clone()
        held = state.clone()
        held[:, free] = 0
        constant = held @ self.weight[:, free]                             # (batch, free): what held vertices say
        moving, coupling = state[:, free], self.weight[free[:, None], free]
        for _ in range(MOST_SWEEPS):
            before = moving.clone()
            for i in torch.randperm(len(free), generator=generator).tolist():
                field = constant[:, i] + moving @ coupling[:, i]           # (batch,)
                moving[:, i] = torch.where(field == 0, moving[:, i], field.sign())
            if torch.equal(moving, before):
                break
        state[:, free] = moving
        return state

    def scores(self, images: Tensor) -> Tensor:
        """Hold the pixels, let the labels settle, and take their fields."""
        binary = _binary(images.to(self.weight), self.level)
        state = torch.cat([binary, binary.new_zeros(len(images), self.labels)], -1)
        return self.settle(state, torch.arange(self.pixels, state.shape[1])) @ self.weight[:, self.pixels:]

    def store(self, patterns: Tensor, rule: str, size: int, order: Tensor) -> None:
        """Set the weights so that each class's pattern ``(labels, pixels)`` of -1 and 1 is remembered with its label.

        Args:
            size: side of the square in the middle of the image whose pixels take part; the others get no weight.
            order: ``(labels,)``, in which order the classes are stored.
        """
        used = torch.cat([self._middle(size), torch.ones(self.labels, dtype=torch.bool)]).nonzero()[:, 0]
        named = torch.cat([patterns, 2 * torch.eye(self.labels).to(patterns) - 1], -1)      # (labels, n)
        self.weight.zero_()
        self.weight[used[:, None], used] = RULES[rule](named[order][:, used].to(self.weight))

    def _middle(self, size: int) -> Tensor:
        """The pixels inside the square, ``(pixels,)`` bool."""
        _, height, width = self.shape
        mask = torch.zeros(self.shape, dtype=torch.bool)
        top, left = (height - size) // 2, (width - size) // 2
        mask[:, top:top + size, left:left + size] = True
        return mask.flatten()


@valid.checked
def fit_hopfield(model: Hopfield, images: Tensor, labels: Tensor, *, validation: Labelled | None = None,
                 rule: Annotated[str, OneOf(RULES)] = "storkey", sizes: Sizes | None = None,
                 thresholds: Shares = (0.3,), levels: Shares = (0.3,), checkpoint: Path | str | None = None,
                 generator: torch.Generator | None = None, progress: bool = True,
                 callback: Callback | None = None) -> pd.DataFrame:
    """Store the mean image of each class, with the sizes and thresholds that classify most validation images rightly.

    Args:
        images, labels: ``(count, pixels)`` in [0, 1] and ``(count,)`` class numbers, each class at least once.
        rule: "storkey", or "hebb" for Hopfield's own.
        sizes: sides of the middle square to try, see Hopfield.store. None: the shorter side of the images.
        thresholds: to try on the mean images: 1 above, -1 below.
        levels: to try on the images that are classified.
        checkpoint: not used, but all models have the same call.
        generator: draws the order in which classes are stored. None: a new one seeded with 0.
        callback: called with the model and the row of the history at the end.

    Returns:
        One row of epoch, size, threshold, level, tried, validation and seconds.

    Raises:
        WrongShape, BadValues, BadInput: data or settings that do not fit, or a choice without validation images.
    """
    sizes = (min(model.shape[1:]),) if sizes is None else sizes
    choices = {"size": sizes, "threshold": thresholds, "level": levels}
    images, labels = _check(model, (images, labels), validation, choices)
    began, generator = time.perf_counter(), generator or torch.Generator().manual_seed(0)
    means = torch.stack([images[labels == c].mean(0) for c in range(model.labels)])         # (labels, pixels)
    order, tried = torch.randperm(model.labels, generator=generator), {}
    for size, threshold in tqdm(list(product(sizes, thresholds)), desc="patterns", disable=no_bar(progress)):
        model.store(_binary(means, threshold), rule, size, order)
        for level in levels:                                               # of the images: the weights stay
            model.level.fill_(level)
            tried[size, threshold, level] = 0.0 if validation is None else model.score(validation)
    size, threshold, level = best = max(tried, key=lambda choice: (tried[choice], choice))
    model.store(_binary(means, threshold), rule, size, order)
    model.level.fill_(level)
    found = {} if validation is None else {"validation": tried[best]}
    return in_one_row(model, {"epoch": 1} | dict(zip(choices, best, strict=True)) | {
        "tried": len(tried), **found, "seconds": time.perf_counter() - began}, callback)


KINDS["hopfield"] = Kind(Hopfield, fit_hopfield, fit_hopfield)


def _binary(values: Tensor, threshold: float | Tensor) -> Tensor:
    """1 above the threshold, -1 elsewhere."""
    return torch.where(values > threshold, 1.0, -1.0).to(values)


def _check(model: Hopfield, data: Labelled, validation: Labelled | None,
           choices: dict[str, Sequence[float]]) -> Labelled:
    data, _ = model.check(data), None if validation is None else model.check(validation)
    if absent := sorted(set(range(model.labels)) - set(data[1].tolist())):
        raise BadInput(f"no training image of class {absent[0]}; each of the {model.labels} classes needs one.")
    for name, values in choices.items():
        if len(values) > 1 and validation is None:
            raise BadInput(f"{len(values)} {name}s to choose from, but no validation images; give some, or one value.")
    if bad := [size for size in choices["size"] if size > min(model.shape[1:])]:
        raise BadInput(f"size {bad[0]} does not fit into {model.shape[1]} x {model.shape[2]} pixels.")
    return data
