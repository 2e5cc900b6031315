"""What a memory recalls of its stored images, in a few kilobytes for its card (see ``cards``)."""

from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, Annotated

import pandas as pd
import torch
from pydantic import Field, model_validator

from pcgraph_lite.images import datasets

from . import zoo
from .config import Model
from .strict import Strict

if TYPE_CHECKING:
    from pcgraph_lite.studies.trials import Trial

USUAL = {"variance": 0.2, "steps": 2000}           # the paper's noise on scaled pixels, and its T
ASKED, SHOWN = 100, 8                              # the largest numbers of recalled images and of kept pictures


class Recalled(Strict):
    """The result of asking for stored images in one way: squared errors, whether each query converged, and the first
    recalled pictures as bytes in base64.
    """

    mse: Annotated[list[Annotated[float, Field(ge=0, allow_inf_nan=False)]], Field(min_length=1)]
    converged: list[bool]
    pictures: str

    @model_validator(mode="after")
    def _fits(self) -> "Recalled":
        count = len(b64decode(self.pictures, validate=True))
        if len(self.converged) != len(self.mse) or not count or count % min(SHOWN, len(self.mse)):
            raise ValueError(f"{len(self.mse)} errors, {len(self.converged)} ends, {count} bytes of pictures")
        return self

    def trial(self) -> "Trial":
        """The result as ``trials.recalled`` returns it, with only the kept pictures."""
        from pcgraph_lite.studies import memory, trials  # here: these imports take seconds
        each = pd.DataFrame({"mse": self.mse, "agrees": [one < memory.RETRIEVED for one in self.mse],
                             "converged": self.converged})
        shown = min(SHOWN, len(self.mse))
        images = torch.frombuffer(bytearray(b64decode(self.pictures)), dtype=torch.uint8).view(shown, -1).float() / 255
        return trials.Trial(images, torch.arange(shown), each)


def is_memory(spec: Model) -> bool:
    """Whether a model is a memory: it holds no images out, because it is asked for those that it stores."""
    return spec.kind == "pcgraph" and not spec.validation_count and spec.train.score == "energy"


def of(trained: zoo.Trained, **asked: float) -> dict[str, Recalled]:
    """Recalls of a memory's first images, at most ``ASKED``, by way of asking. ``asked``: variance and steps, if not
    the usual ones.
    """
    from pcgraph_lite.studies import memory, trials
    images = trained.images()[0].images[:ASKED]
    found, shape = {}, datasets.SHAPES[trained.spec.data]
    for way, recall in memory.asked(trained.graph, images, shape, seed=trained.seed, **USUAL | asked).items():
        trial = trials.recalled(recall, images)
        pictures = (trial.images[:SHOWN] * 255).round().to(torch.uint8)
        found[way] = Recalled(mse=trial.each["mse"].tolist(), converged=trial.each["converged"].tolist(),
                              pictures=b64encode(pictures.numpy().tobytes()).decode())
    return found
