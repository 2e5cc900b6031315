"""Cards: what a page needs of a trained model, its training and its answers. All weights take gigabytes and days, cards
kilobytes, so ``results/cards`` has them. One of other settings or other numbers does not count.
"""

from base64 import b64decode, b64encode
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import torch
from pydantic import Field, ValidationError, model_validator

from pcgraph_lite.engine.graph import PCGraph
from pcgraph_lite.errors import BadFile, BadInput
from pcgraph_lite.files import read_text, write_aside
from pcgraph_lite.images import datasets, judge
from pcgraph_lite.images.datasets import ImageSet
from pcgraph_lite.studies import memory, trials
from pcgraph_lite.studies.trials import Trial

from .. import checkout
from . import config, strict, zoo
from .config import Model
from .records import Name, Scalar
from .zoo import ModelRun

PUBLISHED = "paper"                                # only cards of this profile are committed
USUAL: dict[str, Any] = {"variance": 0.2, "steps": 2000}      # the paper's noise on scaled pixels, and its T
ASKED, SHOWN = 100, 8                              # the largest numbers of recalled images and of kept pictures


class Recalled(strict.Strict):
    """Recalls in one way of asking: squared errors, whether queries converged, first pictures as bytes in base64."""

    mse: Annotated[list[Annotated[float, Field(ge=0, allow_inf_nan=False)]], Field(min_length=1)]
    converged: list[bool]
    pictures: str

    @model_validator(mode="after")
    def _fits(self) -> "Recalled":
        count = len(b64decode(self.pictures, validate=True))
        if len(self.converged) != len(self.mse) or not count or count % min(SHOWN, len(self.mse)):
            raise ValueError(f"{len(self.mse)} errors, {len(self.converged)} ends, {count} bytes of pictures")
        return self

    def trial(self) -> Trial:
        """The result as ``trials.recalled`` returns it, with only the kept pictures."""
        each = pd.DataFrame({"mse": self.mse, "agrees": [one < memory.RETRIEVED for one in self.mse],
                             "converged": self.converged})
        shown = min(SHOWN, len(self.mse))
        images = torch.frombuffer(bytearray(b64decode(self.pictures)), dtype=torch.uint8).view(shown, -1).float() / 255
        return Trial(images, torch.arange(shown), each)


class Card(strict.Strict):
    """A trained model. A classifier has ``answers``, the digit of each test image's class; a graph also the share of
    queries that ``converged`` and the largest ``energy`` left; one that can draw, the share ``drawn`` of the ten labels
    whose picture the judge reads as that class. A memory has ``recalled``, by way of asking.
    """

    model: Name
    profile: Name
    seed: Annotated[int, Field(ge=0)]
    fingerprint: str
    weights: str | None = None
    provenance: dict[str, Scalar]
    epochs: dict[str, list[float]]
    vertices: int | None
    parameters: int
    answers: Annotated[str, Field(pattern=r"^[0-9]+$")] | None = None
    recalled: dict[str, Recalled] | None = None
    converged: float | None = None
    energy: float | None = None
    drawn: float | None = None

    @property
    def spec(self) -> Model:
        """The settings, as ``zoo.spec`` returns them."""
        return zoo.spec(self.model, self.profile)

    @property
    def history(self) -> pd.DataFrame:
        """One row per epoch, as in ``zoo.Trained``."""
        return pd.DataFrame(self.epochs)

    @property
    def seconds(self) -> float:
        """Time of all epochs."""
        return sum(self.epochs["seconds"])

    def read(self, test: ImageSet) -> torch.Tensor:
        """The classes ``(batch,)`` that it answered. Raises BadInput: there is another number of images."""
        answers = self.answers or ""
        if len(test) != len(answers):
            raise BadInput(f"the card of {self.model} answers {len(answers)} test images; there are {len(test)}.")
        return torch.tensor([int(answer) for answer in answers])


def load(name: str, profile: str, seed: int = 0, device: str = "auto", images: int = 0, **asked: float) -> Card:
    """The committed card of a model, or one made from its weights, which are trained first if they are missing; with
    the usual questions it is also written. ``images``: number of test images, drawn at random; 0: all. ``asked``:
    variance and steps with which a memory is asked, if not the usual ones. Raises as ``zoo.ModelRun.load``, and
    BadFile: the card is damaged.
    """
    training, asked = ModelRun(name, profile, seed), dict(asked.items() - USUAL.items())
    usual = not images and not asked
    if usual and is_committed(training):
        return _read(committed_path(training))
    card = of(training, device, images, **asked)
    if usual:
        write(card)
    return card


def of(training: ModelRun, device: str = "auto", images: int = 0, **asked: float) -> Card:
    """The card of a model, made from its weights. Arguments and errors are those of ``load``."""
    trained = training.load(device)
    spec, graph = trained.spec, trained.graph          # a memory holds no images out: it is asked for those it stores
    said = {"recalled": _recalls(trained, graph, **asked)} if isinstance(graph, PCGraph) and not (
        spec.validation_count or spec.train.score != "energy") else _answers(trained, images)
    return Card(model=trained.name, profile=trained.profile, seed=trained.seed, provenance=trained.provenance,
                fingerprint=trained.fingerprint, weights=trained.weights, vertices=trained.vertices,
                parameters=trained.parameters, epochs=trained.history.astype(float).to_dict("list"), **said)


def _recalls(trained: zoo.Trained, graph: PCGraph, **asked: float) -> dict[str, Recalled]:
    """Recalls of a memory's first images, by way of asking. ``asked``: variance and steps, if not the usual ones."""
    images = trained.images()[0].images[:ASKED]
    found, shape = {}, datasets.SHAPES[trained.spec.data]
    for way, recall in memory.asked(graph, images, shape, seed=trained.seed, **USUAL | asked).items():
        trial = trials.recalled(recall, images)
        pictures = (trial.images[:SHOWN] * 255).round().to(torch.uint8)
        found[way] = Recalled(mse=trial.each["mse"].tolist(), converged=trial.each["converged"].tolist(),
                              pictures=b64encode(pictures.numpy().tobytes()).decode())
    return found


def _answers(trained: zoo.Trained, images: int) -> dict[str, Any]:
    """A classifier's answers to ``images`` test images (0: all), and where edges lead to pixels the share of labels
    that the judge recognises in their pictures.
    """
    test = zoo.images(trained.spec.data, "test", config.load_profile(trained.profile))
    test = test.subset(images, torch.Generator().manual_seed(0)) if images else test
    onwards = isinstance(trained.graph, PCGraph) and trained.graph.topology.leads_on(["pixels"])
    how = {"start": "prediction", "steps": 10} if onwards else {}          # then the predictions are the answer
    trial, known = trials.classify(trained.graph, test, **how), {}  # type: ignore[arg-type]  # a graph or Classifier
    if "converged" in trial.each:
        known = {"converged": float(trial.each["converged"].mean()), "energy": float(trial.each["energy"].max())}
    if isinstance(trained.graph, PCGraph) and test.name in judge.JUDGES and (
            (topology := trained.graph.topology).in_degree()[topology.slice("pixels")].any()):
        about = trials.Case(test, test, judge.load_judge(test.name))        # of which a drawing needs the judge alone
        known["drawn"] = float(trials.draw(trained.graph, about).each["agrees"].mean())
    return {"answers": "".join(map(str, trial.read.tolist()))} | known


def write(card: Card) -> Path:
    """Write a card into ``_build/<profile>/cards``. Published cards are kept in ``results/cards``."""
    target = checkout.ROOT / "_build" / card.profile / "cards" / f"{card.model}-seed{card.seed}.json"
    with write_aside(target) as part:
        part.write_text(card.model_dump_json() + "\n", encoding="utf-8")
    return target


def committed_path(training: ModelRun) -> Path:
    """The path of the committed card of a model, whether or not it exists."""
    return checkout.ROOT / "results" / "cards" / f"{training.path.stem}.json"


def is_committed(training: ModelRun) -> bool:
    """Whether a card of exactly these settings and numerics is committed. Raises BadFile: it is damaged."""
    file = committed_path(training)
    return training.profile == PUBLISHED and file.is_file() and _read(file).fingerprint == training.fingerprint


def _read(file: Path) -> Card:
    try:
        return Card.model_validate_json(read_text(file))
    except ValidationError as error:
        raise BadFile(f"{checkout.relative(file)} is not a card ({strict.explain(error.errors()[0], '')}). Take it "
                      "from the repository again, or delete it and its model is trained.") from None
