"""The judge: a small convolutional network, trained with backpropagation, that reads generated images.

It is only a measuring instrument. ``scripts/train_judges.py`` trains it, and ``calibration`` measures its reliability.
A picture that shows nothing gets no class: it is unreadable.
"""

from pathlib import Path

import torch
from torch import Tensor, nn

from .. import valid
from ..engine.scale import unscaled
from ..errors import BadFile, BadInput, one_of
from ..files import load_tensors, placed, tensor_digest
from ..precision import Exact, exactly

WEIGHTS = Path(__file__).parent / "weights"
JUDGES = ("mnist", "fashion")
PIXELS, SIDE, CLASSES = 784, 28, 10
UNREADABLE = -1
LEAST_CONTRAST = 0.05                          # brightest less darkest pixel; a person sees less as blank
READ_BATCH = 1_000


class Judge(Exact):
    """Four convolutions and two dense layers; 70,000 weights.

    Pixels are first clipped to [0, 1], so that the judge sees what a viewer sees. Then each picture is divided by its
    brightest pixel, so that faint pictures read like bright ones.
    """

    feature_size = 64

    def __init__(self, generator: torch.Generator | None = None) -> None:
        super().__init__()
        generator = generator or torch.Generator().manual_seed(0)
        self.body = nn.Sequential(
            nn.Conv2d(1, 16, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),    # (batch, 16, 14, 14)
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
            nn.Conv2d(32, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),   # (batch, 32, 7, 7)
            nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),     # (batch, 64 * 3 * 3)
            nn.Linear(576, self.feature_size), nn.ReLU(),
        )
        self.head = nn.Linear(self.feature_size, CLASSES + 1)
        self.provenance: dict[str, str] = {}
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d | nn.Linear):
                nn.init.kaiming_normal_(layer.weight, nonlinearity="relu", generator=generator)
                nn.init.zeros_(layer.bias)  # type: ignore[arg-type]  # torch would draw it from its global generator

    @exactly
    def features(self, images: Tensor) -> Tensor:
        """The last hidden layer, ``(batch, 64)``, of images ``(batch, 784)``. It does not depend on contrast."""
        seen = unscaled(images, pixels=PIXELS).to(self.head.weight).clamp(0, 1)
        seen = seen / seen.amax(1, keepdim=True).clamp(min=LEAST_CONTRAST)
        return self.body(seen.reshape(-1, 1, SIDE, SIDE))         # black is 0, as beyond the border

    @exactly
    def forward(self, images: Tensor) -> Tensor:
        """Logits ``(batch, 11)`` of images ``(batch, 784)``; the last one is that of a picture of nothing."""
        return self.head(self.features(images))


@valid.checked
@torch.no_grad()
def read(judge: nn.Module, images: Tensor) -> Tensor:
    """The class that the judge reads in each image: ``(batch, 784)`` -> ``(batch,)`` int64.

    A picture that shows nothing gets -1: its contrast is below ``LEAST_CONTRAST``, or the judge says so.

    Raises:
        WrongShape: not ``(batch, 784)`` with at least one image. BadValues: NaN or infinite pixels.
    """
    images = unscaled(images, pixels=PIXELS)
    if type(judge).forward is nn.Module.forward:
        raise BadInput(f"judge is a {type(judge).__name__}, which reads no images; expected judge.load_judge(name).")
    device = next(judge.parameters()).device
    seen = torch.cat([judge(part.to(device, torch.float32)).argmax(1) for part in images.split(READ_BATCH)])
    darkest, brightest = images.clamp(0, 1).aminmax(dim=1)                 # (batch,)
    seen = seen.to(images.device)
    return seen.where((seen < CLASSES) & (brightest - darkest >= LEAST_CONTRAST), UNREADABLE)


@valid.checked
def weights_path(name: str) -> Path:
    """The file of a judge's committed weights; a ``.json`` beside it has its calibration. Raises UnknownName."""
    one_of("judge", name, JUDGES)
    return WEIGHTS / f"judge-{name}.safetensors"


@valid.checked
def load_judge(name: str, path: Path | str | None = None) -> Judge:
    """Load a judge, frozen and in evaluation mode. ``judge.provenance`` says how it was trained.

    Args:
        name: ``mnist`` or ``fashion``.
        path: weights other than the committed ones.

    Raises:
        UnknownName: no such judge.
        BadFile: the weights are missing, damaged or of another network.
    """
    committed = weights_path(name)                                         # or UnknownName
    path = placed(path or committed, "path")
    again = f"Train it again: python scripts/train_judges.py {name}"
    try:
        if not path.is_file():
            raise FileNotFoundError
        provenance, state = load_tensors(path)
        judge = Judge()
        judge.load_state_dict(state)
    except OSError as error:
        raise BadFile(f"no judge weights at {path} ({error.strerror or 'no such file'}). {again}") from error
    except (BadFile, RuntimeError) as error:
        raise BadFile(f"{path} does not hold the weights of a judge ({str(error).splitlines()[0]}). {again}") from error
    expected, found = provenance.get("weights_sha256"), tensor_digest(state)
    if provenance.get("judge") != name or expected != found:
        raise BadFile(f"{path} is damaged or another judge: expected {name!r} with SHA-256 {expected}, found "
                      f"{provenance.get('judge')!r} with {found}. {again}")
    judge.provenance = provenance
    return judge.eval().requires_grad_(False)
