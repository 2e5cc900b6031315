"""Records: single measured numbers, each with its claim and its provenance."""

import json
import platform
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from pcgraph_lite.errors import BadFile, BadInput, one_of, shown
from pcgraph_lite.files import digest, read_text, write_aside

from .. import checkout
from . import claims, numerics, strict

if TYPE_CHECKING:
    import pandas as pd
    import torch

PACKAGES = ("torch", "torchvision", "torchmetrics", "numpy")
PROVENANCE = ["device", "commit", "dirty", "seconds", "date"]
Scalar = str | int | float | bool | None
# The name of a file that stays in its folder. A limit inside the pattern would take long to compile.
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][\w-]*$", max_length=100)]


class Record(strict.Strict):
    """One measured number. ``seed`` None: nothing was drawn. ``n``: the number of examples behind the value.
    ``parameters``: other differences between records of the same quantity (noise variance, steps, ...).
    """

    claim: str
    quantity: str
    value: float
    dataset: str | None = None
    model: str | None = None
    seed: int | None = None
    n: int | None = None
    parameters: dict[str, Scalar] = Field(default_factory=dict)

    def key(self) -> tuple[str, ...]:
        """The key that is unique within a notebook and sorts the file."""
        return (self.claim, self.quantity, self.dataset or "", self.model or "",
                "" if self.seed is None else f"{self.seed:09d}", json.dumps(self.parameters, sort_keys=True))


class Saved(strict.Strict):
    """A file of records. ``models``: by name and seed, fingerprint, and SHA-256 of weights, which older cards lack."""

    notebook: Name
    profile: Name
    provenance: dict[str, Scalar]
    parameters: dict[str, Scalar | list[Scalar]] = Field(default_factory=dict)
    models: dict[str, dict[str, str | None]] = Field(default_factory=dict)
    records: list[Record]


COMPARED = ["notebook", "claim", "quantity", "dataset", "model", "parameters"]         # what makes two numbers the same
COLUMNS = ["notebook", "profile", *Record.model_fields, *PROVENANCE]


class Recorder:
    """Collects the records of a notebook for one JSON file in the folder of the run. ``device``: what computes.
    Raises UnknownName: no such profile. BadInput: no such device, or the notebook's name cannot be a file's name.
    """

    def __init__(self, notebook: str, profile: str, device: "torch.device | str", out: str | Path = "") -> None:
        from pcgraph_lite import hardware  # only here: it needs torch
        try:
            TypeAdapter(Name).validate_python(notebook)
        except ValidationError:
            raise BadInput(f"notebook = {shown(notebook)}; expected the name of a page, of letters, digits, '-' and "
                           "'_'.") from None
        self.notebook, self.profile, self.device = notebook, profile, hardware.describe(device)
        self.folder = checkout.ROOT / (out or f"_build/{one_of('profile', profile, checkout.profile_names())}")
        self.rows: dict[tuple[str, ...], Record] = {}
        self.models: dict[str, dict[str, str | None]] = {}
        self._claims = claims.load_claims()
        self._started, self._version = time.monotonic(), checkout.version()

    def add(self, *, claim: str, quantity: str, value: float, dataset: str | None = None, model: str | None = None,
            seed: int | None = None, n: int | None = None, **parameters: Scalar) -> Record:
        """Add one number. Raises UnknownName: ``claims.yaml`` has no such claim or quantity. BadInput: the number is
        none, or not finite; the record exists already; JSON cannot hold a parameter.
        """
        claims.check_known(claim, quantity, self._claims)
        what = f"{quantity} of claim {claim} (dataset {dataset}, model {model}, seed {seed})"
        number = _bare(value)
        number = int(number) if isinstance(number, bool) else number       # whether something is so
        try:
            record = Record(claim=claim, quantity=quantity, value=number, dataset=dataset, model=model,
                            seed=_bare(seed), n=_bare(n), parameters={k: _bare(v) for k, v in parameters.items()})
        except ValidationError as error:
            raise BadInput(f"{what}: {strict.explain(error.errors()[0], '')}.") from None
        if record.key() in self.rows:
            raise BadInput(f"{what} with parameters {record.parameters} is recorded twice; tell the two apart by a "
                           "parameter.")
        self.rows[record.key()] = record
        return record

    def add_frame(self, frame: "pd.DataFrame", quantities: Sequence[str] | Mapping[str, str], *,
                  parameters: Sequence[str] = (), **common: Any) -> None:
        """Add one number per row of a frame and column in ``quantities`` (columns, or column -> quantity). Its columns
        claim, dataset, model, seed and n are used if they exist, ``parameters`` are further ones; ``common``: arguments
        of ``add`` that all records share. Raises as ``add``, and BadInput: the frame has no such column.
        """
        named = quantities if isinstance(quantities, Mapping) else {name: name for name in quantities}
        for column in (*named, *parameters):
            if column not in frame:
                raise BadInput(f"the frame has no column {column!r}; it has {', '.join(map(str, frame))}.")
        taken = [key for key in ("claim", "dataset", "model", "seed", "n") if key in frame and key not in common]
        for row in frame.to_dict("records"):
            for column, quantity in named.items():
                self.add(quantity=quantity, value=row[column], **{key: row[key] for key in (*taken, *parameters)},
                         **common)

    def uses(self, model: str, seed: int, fingerprint: str, weights: str | None) -> None:
        """Note a model behind the numbers, see ``Saved``."""
        self.models[f"{model}, seed {seed}"] = {"fingerprint": fingerprint, "weights": weights}

    def save(self) -> Path:
        """Write ``records/<notebook>.json`` in the folder of the run and return its path."""
        path = self.folder / "records" / f"{self.notebook}.json"
        _write(path, Saved(notebook=self.notebook, profile=self.profile, models=self.models, provenance=provenance(
            self.device, time.monotonic() - self._started, self._version),
            records=[self.rows[key] for key in sorted(self.rows)]))
        return path


def note_parameters(path: Path, values: Mapping[str, Any]) -> None:
    """Add the parameters of a run to the records that it wrote, if it wrote any."""
    if path.is_file():
        _write(path, Saved.model_validate_json(read_text(path)).model_copy(update={"parameters": dict(values)}))


def _write(path: Path, saved: Saved) -> None:
    with write_aside(path) as part:
        part.write_text(json.dumps(saved.model_dump(), indent=1, allow_nan=False) + "\n", encoding="utf-8")


def provenance(device: str, seconds: float | None = None,
               version: tuple[str, bool] | None = None) -> dict[str, Any]:
    """The origin of a number: code, versions, device (in words), time, peak memory. ``version``: commit, and whether
    the code differed from it, at the beginning of a long run; None: those of now.
    """
    from pcgraph_lite import hardware  # only here: it needs torch
    commit, dirty = version or checkout.version()
    return {"commit": commit, "dirty": dirty, "numerics": digest(numerics.FILE)[:16],
            "device": device, "memory": f"{hardware.peak_memory():.0f} MiB",
            "seconds": None if seconds is None else round(seconds, 1),
            "date": datetime.now(UTC).isoformat(timespec="seconds"), "python": platform.python_version(),
            **{package: metadata.version(package) for package in PACKAGES}}


def made(device: str, began: float, version: tuple[str, bool] | None = None) -> dict[str, Any]:
    """The columns PROVENANCE of work that began at ``began``, a value of ``time.monotonic``."""
    facts = provenance(device, time.monotonic() - began, version)
    return {key: facts[key] for key in PROVENANCE}


def read(*folders: Path | str) -> list[dict[str, Any]]:
    """All records in some folders or files, each with the keys ``COLUMNS``. Of the same notebook and profile the later
    one counts. A missing folder counts as empty. Raises BadFile, naming the file: it is not a file of records.
    """
    files: dict[tuple[str, str], list[dict[str, Any]]] = {}
    places = ([place] if place.is_file() else sorted(place.glob("*.json")) for place in map(Path, folders))
    for path in (path for paths in places for path in paths):
        try:
            saved = Saved.model_validate_json(read_text(path))
            common = {key: saved.provenance[key] for key in PROVENANCE} | {
                "notebook": saved.notebook, "profile": saved.profile}
        except (BadFile, ValueError, KeyError) as error:
            why = strict.explain(error.errors()[0], "") if isinstance(error, ValidationError) else error
            run = path.parent.parent                                       # of _build/PROFILE/records
            option = f" --profile {run.name}" if run.parent == checkout.ROOT / "_build" else ""
            raise BadFile(f"{checkout.relative(path)} is not a records file ({type(error).__name__}: {why}). Expected "
                          "a folder of records such as results/records; a records file that is damaged is made again "
                          f"by its notebook: pcgraph run {path.stem}{option}") from error
        files[saved.notebook, saved.profile] = [row.model_dump() | common for row in saved.records]
    return [row for key in sorted(files) for row in files[key]]


def compared(mine: Path, theirs: Path) -> "pd.DataFrame":
    """The numbers that two runs have both recorded, means over seeds: one row each with COMPARED, mine, theirs,
    difference. ``mine``, ``theirs``: folders of runs or of records, or files of these. Raises BadFile: one is no file
    of records. BadInput: a folder has no records, or they have no number in common.
    """
    import pandas as pd  # only here: the import takes long
    means = []
    for place in (mine, theirs):
        rows = pd.DataFrame(read(place / "records" if (place / "records").is_dir() else place), columns=COLUMNS)
        if rows.empty:
            raise BadInput(f"{checkout.relative(place)} has no records; expected the folder of a run, the file of its "
                           "numbers, as pcgraph run prints it, or a folder of records such as results/records.")
        rows["parameters"] = [", ".join(f"{key} = {one[key]}" for key in sorted(one)) for one in rows["parameters"]]
        means.append(rows.groupby(COMPARED, dropna=False, sort=False)["value"].mean())
    both = pd.concat(means, axis=1, join="inner", keys=["mine", "theirs"])
    if both.empty:
        raise BadInput(f"{checkout.relative(mine)} and {checkout.relative(theirs)} have no number in common: give runs "
                       "of the same notebook.")
    return both.assign(difference=both["mine"] - both["theirs"]).reset_index()


def _bare(value: Any) -> Any:
    return value.item() if getattr(value, "ndim", 1) == 0 else value
