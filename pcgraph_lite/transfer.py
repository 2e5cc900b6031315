"""Results as one archive: packed where they were made, checked and taken over where they are shown.

An archive holds, of one profile and one commit, the executed notebooks, their records, figures and rows of sweeps if
there are any, weights if asked for, and a manifest that names the commit, the device and the SHA-256 of every file.
"""

import json
import math
import re
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal

import pandas as pd
from pydantic import Field

from . import checkout, claims, config, hardware, notebooks, records
from .config import Strict
from .errors import BadFile, BadInput, unknown
from .files import digest, write_aside

SCHEMA = 1
LARGEST = 4_000_000_000                    # bytes that an archive may unpack to
MEMBER = re.compile(r"manifest\.json|records/\w[\w.-]*\.json|notebooks/\w[\w.-]*\.ipynb|figures/\w[\w.-]*\.png"
                    r"|models/\w[\w.-]*\.(safetensors|csv)|sweeps/\w[\w.-]*\.csv")
SAME_QUANTITY = ["claim", "quantity", "dataset", "model", "parameters"]


class Manifest(Strict):
    """What an archive says of itself; ``files`` maps each path in it to its SHA-256."""

    schema_version: Literal[1]
    profile: str
    commit: Annotated[str, Field(min_length=1)]
    provenance: dict[str, str | float | bool | None]
    files: dict[str, str]


@dataclass(frozen=True)
class Change:
    """What an import does to one notebook or sweep: words for what is there and what comes, and what would be lost."""

    notebook: str
    here: str
    incoming: str
    lost: tuple[str, ...]


# ---------------------------------------------------------------------------------------------------------- packing

def export(profile: str = "paper", folder: Path | str = ".", weights: bool = False) -> tuple[Path, list[str]]:
    """Pack this commit's finished runs of a profile.

    Args:
        folder: where the archive goes.
        weights: whether trained weights go along (16 MB for a fully connected graph).

    Returns:
        The archive, and the notebooks that are not in it because they have not run.

    Raises:
        UnknownName: the profile. BadInput: no notebook has run with this commit's code.
    """
    names = config.notebook_names()
    done = [name for name in names if notebooks.is_done(name, profile)]
    if not done:
        raise BadInput(f"there is nothing to pack: no notebook has run in profile {profile} with the code of this "
                       f"commit, unchanged. Run one: pcgraph run {names[0]} --profile {profile}")
    built = records.folder(profile)
    paths = [path for name in done for path in (f"notebooks/{name}.ipynb", f"records/{name}.json")]
    kinds = ("figures", "sweeps", *["models"] * weights)
    for path in sorted(path for kind in kinds for path in (built / kind).glob("*")):
        paths += [name] if MEMBER.fullmatch(name := str(path.relative_to(built))) else []
    made = records.provenance(hardware.describe(hardware.pick_device("auto")))
    manifest = Manifest(schema_version=SCHEMA, profile=profile, commit=made["commit"], provenance=made,
                        files={path: digest(built / path) for path in paths})
    target = Path(folder) / f"results-{profile}-{manifest.commit[:9]}.tar.gz"
    _write_archive(target, built, manifest)
    return target, [name for name in names if name not in done]


def _write_archive(target: Path, built: Path, manifest: Manifest) -> None:
    with write_aside(target) as part, TemporaryDirectory() as scratch, tarfile.open(part, "w:gz") as archive:
        note = Path(scratch) / "manifest.json"
        note.write_text(manifest.model_dump_json(indent=1) + "\n", encoding="utf-8")
        archive.add(note, "manifest.json")
        for path in manifest.files:
            archive.add(built / path, path, recursive=False)


# ---------------------------------------------------------------------------------------------------------- importing

def add(archive: Path | str, profile: str = "paper", replace: bool = False, other_code: bool = False) -> list[Change]:
    """Check an archive and take its results over: all of them or, where anything is wrong, none.

    Results of the paper profile go where the published ones are (``results``, ``book/notebooks``), those of another
    profile where its runs are (``_build/<profile>``), weights always there.

    Args:
        profile: the profile that the archive has to be of.
        replace: take over also where what is here holds more seeds, more examples or later results.
        other_code: take over also what was made by a commit that this history lacks, or by changed code.

    Returns:
        what changed, one entry a notebook.

    Raises:
        UnknownName: the profile. BadFile: the archive, or a file in it. BadInput: another profile, an unknown commit,
        or something would be lost. Nothing was changed then.
    """
    config.load_profile(profile)
    with _opened(Path(archive)) as (folder, manifest):
        _check_origin(manifest, profile, other_code)
        _check_contents(folder, manifest)
        changes = compare(folder, manifest)
        losing = [f"\n  {change.notebook}: {one}" for change in changes for one in change.lost]
        if losing and not replace:
            raise BadInput(f"taking over {archive} would lose something:{''.join(losing)}\nNothing was changed. To "
                           "take it over all the same, add --replace.")
        _put({home(path, profile): folder / path for path in manifest.files})
    return changes


def home(path: str, profile: str) -> Path:
    """Where a file of an archive goes."""
    kind, name = path.split("/")
    published = {"records": "results/records", "figures": "results/figures", "sweeps": "results/sweeps",
                 "notebooks": "book/notebooks"}
    if profile == "paper" and kind in published:
        return config.ROOT / published[kind] / name
    return config.ROOT / "_build" / profile / kind / name


def compare(folder: Path, manifest: Manifest) -> list[Change]:
    """What taking over the unpacked archive in ``folder`` would change."""
    changes = []
    for path in (path for path in manifest.files if path.startswith("records/")):
        here, incoming = home(path, manifest.profile), folder / path
        lost = _lost(here, incoming) if here.is_file() else ()
        changes.append(Change(here.stem, _described(here), _described(incoming), tuple(lost)))
    for path in (path for path in manifest.files if path.startswith("sweeps/")):
        here, incoming = (_sweep_runs(place) for place in (home(path, manifest.profile), folder / path))
        lost = [f"{len(here - incoming)} of its runs are here and not in the archive"] if here - incoming else []
        changes.append(Change(f"sweep {Path(path).stem}", f"{len(here)} runs", f"{len(incoming)} runs", tuple(lost)))
    return changes


def _sweep_runs(path: Path) -> set[str]:
    """Which runs the rows of a sweep hold; none where there is no file. Raises BadFile."""
    from . import sweeps  # only here: it needs the whole zoo
    return set(sweeps.read(path, "Nothing was changed.")["identity"]) if path.is_file() else set()


@contextmanager
def _opened(path: Path) -> Iterator[tuple[Path, Manifest]]:
    """Unpack an archive aside, with every path and digest checked; the folder is gone afterwards."""
    with TemporaryDirectory(prefix="pcgraph-import-") as scratch:
        try:
            with tarfile.open(path) as archive:
                _check_members(path, archive.getmembers())
                archive.extractall(scratch, filter="data")
        except (tarfile.TarError, zlib.error, EOFError, OSError) as error:
            raise BadFile(f"{path} cannot be unpacked ({error}). Copy it again from where it was made.") from error
        manifest = _read_manifest(path, Path(scratch) / "manifest.json")
        _check_digests(path, Path(scratch), manifest)
        yield Path(scratch), manifest


def _check_members(path: Path, members: list[tarfile.TarInfo]) -> None:
    """Before a byte is written: plain files alone, under names that we give, each once, not too large."""
    names = [member.name for member in members]
    for member in members:
        if not member.isreg() or not MEMBER.fullmatch(member.name):
            raise BadFile(f"{path} holds {member.name!r}, which no archive of results has: expected plain files in "
                          "records, notebooks, figures, sweeps and models. Nothing was unpacked.")
        if names.count(member.name) > 1:
            raise BadFile(f"{path} holds {member.name!r} twice. Nothing was unpacked.")
    if (size := sum(member.size for member in members)) > LARGEST:
        raise BadFile(f"{path} would unpack to {size / 1e9:.1f} GB; at most {LARGEST / 1e9:.0f} GB are expected.")


def _read_manifest(path: Path, note: Path) -> Manifest:
    try:
        content = json.loads(note.read_text(encoding="utf-8"))
        found = content["schema_version"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadFile(f"{path} has no manifest that can be read ({type(error).__name__}: {error}); it was not made by "
                      "pcgraph export.") from error
    if found != SCHEMA:
        raise BadFile(f"{path} has schema {found!r}, and this version reads {SCHEMA}. Use the version that made it.")
    return config.validated(Manifest, content, path / "manifest.json")


def _check_digests(path: Path, folder: Path, manifest: Manifest) -> None:
    found = {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}
    for name in sorted(found ^ {"manifest.json", *manifest.files}):
        raise BadFile(f"{path}: {name!r} is {'not in the manifest' if name in found else 'missing'}. Nothing was "
                      "changed.")
    for name, expected in manifest.files.items():
        if (content := digest(folder / name)) != expected:
            raise BadFile(f"{path}: {name!r} is damaged: expected SHA-256 {expected}, found {content}. Nothing was "
                          "changed; copy the archive again.")


def _check_origin(manifest: Manifest, profile: str, other_code: bool) -> None:
    if manifest.profile != profile:
        raise BadInput(f"the archive is of profile {manifest.profile!r}; expected {profile!r}. What is published is of "
                       f"profile 'paper'; to keep this one under _build, add --profile {manifest.profile}.")
    if not other_code and not checkout.knows(manifest.commit):
        raise BadInput(f"the archive was made at commit {manifest.commit!r}, which is not in the history of this "
                       "checkout: its numbers belong to other code. Fetch or merge that commit, or, knowing that, add "
                       "--allow-other-code.")
    if not other_code and manifest.provenance.get("dirty"):
        raise BadInput(f"the archive was made with code that differed from its commit {manifest.commit[:9]}. Run it "
                       "again with a fresh bundle or, knowing that, add --allow-other-code.")


def _check_contents(folder: Path, manifest: Manifest) -> None:
    """Records that our own schema and claims accept, and the executed notebook of each."""
    from . import site  # only here: it needs nbformat
    known = claims.load_claims()
    for name in sorted({path.stem for kind in ("records", "notebooks") for path in folder.glob(f"{kind}/*")}):
        if name not in config.notebook_names():
            raise unknown("notebook", name, config.notebook_names())
        try:
            _check_records(folder / "records" / f"{name}.json", manifest, known)
            site.read_notebook(folder / "notebooks" / f"{name}.ipynb", manifest.profile)
        except BadFile as error:
            raise BadFile(f"the archive cannot be used, and nothing was changed: {error}") from error


def _check_records(path: Path, manifest: Manifest, known: Mapping[str, claims.Claim]) -> None:
    notebook, profile, rows = records.read_file(path)
    provenance = json.loads(path.read_text(encoding="utf-8"))["provenance"]
    for what, found, expected in (("notebook", notebook, path.stem), ("profile", profile, manifest.profile),
                                  ("commit", provenance["commit"], manifest.commit),
                                  ("dirty", provenance["dirty"], manifest.provenance.get("dirty"))):
        if found != expected:
            raise BadFile(f"records/{path.name} says {what} {found!r}, its archive {expected!r}.")
    keys = [records.Record.model_validate({key: row[key] for key in records.Record.model_fields}).key() for row in rows]
    for row, key in zip(rows, keys, strict=True):
        claims.check_known(row["claim"], row["quantity"], known)
        if not math.isfinite(row["value"]) or keys.count(key) > 1:
            raise BadFile(f"records/{path.name}: {row['quantity']} of claim {row['claim']} (seed {row['seed']}) is "
                          f"{row['value']}, or there twice.")


def _lost(here: Path, incoming: Path) -> Iterator[str]:
    """What the records here have that the incoming ones have not: quantities, seeds, examples, or a later date."""
    ours, theirs = (_by_quantity(path) for path in (here, incoming))
    for key, (seeds, examples) in ours.items():
        name = f"{key[1]} of claim {key[0]} ({', '.join(part for part in key[2:] if part not in ('', '{}'))})"
        if key not in theirs:
            yield f"{name} is here and not in the archive"
            continue
        for what, now, then in (("seeds", seeds, theirs[key][0]), ("examples", examples, theirs[key][1])):
            if now > then:
                yield f"{name} is here with {now} {what}, in the archive with {then}"
    dates = [datetime.fromisoformat(_provenance(path)["date"]) for path in (here, incoming)]
    if dates[0] > dates[1]:
        yield f"what is here was made later, {dates[0]:%Y-%m-%d %H:%M} against {dates[1]:%Y-%m-%d %H:%M}"


def _by_quantity(path: Path) -> dict[tuple[str, ...], tuple[int, int]]:
    """How many seeds, and how many examples behind the weakest of them, each quantity has."""
    _, _, rows = records.read_file(path)
    frame = pd.DataFrame([{**row, "parameters": json.dumps(row["parameters"], sort_keys=True)} for row in rows],
                         columns=records.COLUMNS).fillna({"dataset": "", "model": ""})
    return {key: (max(1, group["seed"].nunique()), int(group["n"].fillna(0).min()))
            for key, group in frame.groupby(SAME_QUANTITY)}


def _described(path: Path) -> str:
    """One line on a records file, for people who decide between two."""
    if not path.is_file():
        return "nothing"
    _, _, rows = records.read_file(path)
    made, seeds = _provenance(path), {row["seed"] for row in rows} - {None}
    return (f"{len(rows)} records, {len(seeds)} seed{'s' * (len(seeds) != 1)}, {made['device']}, "
            f"commit {made['commit'][:9]}, {made['date'][:16].replace('T', ' ')}")


def _provenance(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))["provenance"]


def _put(files: Mapping[Path, Path]) -> None:
    """Copy every file aside, and only when all are written rename them; if a rename fails, put the old ones back."""
    before = {target: target.read_bytes() if target.is_file() else None for target in files}
    try:
        with ExitStack() as stack:
            for target, source in files.items():
                stack.enter_context(write_aside(target)).write_bytes(source.read_bytes())
    except BaseException:
        for target, content in before.items():
            if content is None:
                target.unlink(missing_ok=True)
            elif target.read_bytes() != content:
                target.write_bytes(content)
        raise
