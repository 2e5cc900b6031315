"""Find the files of data sets, and check that they are the right ones.

The places are, in this order, the folder in ``$PCGRAPH_DATA``, the user's cache, torchvision's download, and for
FashionMNIST the folder of its Debian package. SHA-256 checks the content, whatever its form:

- MNIST, FashionMNIST: the unpacked idx files, so gzip level and time stamps do not matter;
- CIFAR10: the official binary batches (a label byte, then 3072 pixel bytes, 10,000 times) rebuilt in memory, so
  torchvision's batches and lossless WebP sheets answer to the same six digests;
- SVHN: the .mat file as it is published.

A file with wrong content raises an error that names it. The search does not silently go on.
"""

import gzip
import hashlib
import json
import lzma
import os
import shutil
import socket
import struct
import tarfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from http.client import HTTPException
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import BadZipFile

import numpy as np

from ..errors import BadFile, BadInput, MissingPackage, needing, one_of, shown
from ..files import placed

SAMPLE = Path(__file__).parent / "sample"
DEBIAN_FASHION = Path("/usr/share/datasets/fashion-mnist")      # where the package dataset-fashion-mnist puts its files
TIMEOUT = 30                                                    # seconds without an answer before a server is given up

SPLITS = ("train", "test")
OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open, "": open}  # by the ending of an idx file
LARGEST = 2**26                                                            # bytes of one, unpacked; more is a bomb
LARGEST_MAT = 2**28                                                        # bytes of a .mat file
TORCHVISION = {"mnist": "MNIST", "fashion": "FashionMNIST", "cifar10": "CIFAR10", "svhn": "SVHN"}   # its classes
# Where a data set lies below a root folder; the first is also the cache's layout.
FOLDERS = {
    "mnist": ("MNIST/raw", "MNIST"),
    "fashion": ("FashionMNIST/raw", "FashionMNIST"),
    "cifar10": ("CIFAR10", "."),
    "svhn": ("SVHN", "."),
}
ADVICE = {
    "mnist": "put the four idx files (gzip, xz or neither) into FOLDER/MNIST/raw",
    "fashion": "put the four idx files (gzip, xz or neither) into FOLDER/FashionMNIST/raw, or install the Debian "
               "package dataset-fashion-mnist",
    "cifar10": "put the unpacked folder cifar-10-batches-py (of cifar-10-python.tar.gz) into FOLDER/CIFAR10",
    "svhn": "get train_32x32.mat and test_32x32.mat (format 2) where the network allows it, put them into FOLDER/SVHN",
}
DIGESTS = json.loads(Path(__file__).with_name("digests.json").read_text())       # SHA-256 of the content, see above
SHEET_ROWS, SHEET_COLUMNS, SIDE = 25, 40, 32                    # a CIFAR10 sheet: 25 x 40 pictures of 32 x 32
SHEETS_A_BATCH = 10                                             # 10 sheets of 1,000 make one official batch


class NotFound(BadFile):
    """A place lacks the data set, or all of them do. (A damaged one raises BadFile.)"""


@dataclass(frozen=True, eq=False)
class Pixels:
    """Checked content: ``images`` uint8 ``(count, pixels)``, ``labels`` uint8 ``(count,)``.

    ``folder`` is its place on this machine; ``source`` describes its origin without naming a machine.
    """

    images: np.ndarray
    labels: np.ndarray
    folder: Path
    source: str = ""


def cache() -> Path:
    """The folder for downloads: ``$PCGRAPH_CACHE``, else ``pcgraph`` in ``$XDG_CACHE_HOME`` or ``~/.cache``.

    Raises BadInput: no folder is named, and there is no home folder.
    """
    if own := os.environ.get("PCGRAPH_CACHE"):
        return placed(own, "PCGRAPH_CACHE")
    if shared := os.environ.get("XDG_CACHE_HOME"):
        return placed(shared, "XDG_CACHE_HOME") / "pcgraph"
    try:
        return Path.home() / ".cache/pcgraph"
    except RuntimeError as error:
        raise BadInput("there is no home folder for downloads; set PCGRAPH_CACHE to a folder of yours.") from error


def find(name: str, split: str, root: Path | str | None = None, download: bool = True) -> Pixels:
    """The checked content of one split, from the first place that has it.

    Args:
        root: look only in this folder.
        download: whether to use the network after the local folders.

    Raises:
        UnknownName: no such data set or split.
        NotFound: no place has it. The text gives a reason for each place, and says what to do.
        BadFile: a file is damaged. The text has its path, and the expected and the found digest.
    """
    one_of("data set", name, TORCHVISION)
    one_of("split", split, SPLITS)
    tried = []
    for source, attempt in _places(name, split, root, download):
        try:
            return replace(attempt(), source=source)
        except (NotFound, BadInput) as reason:
            tried.append(f"\n  {source}: {reason}")
        except OSError as error:                               # closed to this user, or no name for a file
            tried.append(f"\n  {source}: {error.strerror}: {shown(str(error.filename))}; ask for the right to read it, "
                         "or name another folder")
    sample = f", or use the bundled sample with load({name!r}, sample=True)" if name in ("mnist", "fashion") else ""
    raise NotFound(f"data set {name!r} ({split}) was not found. Tried:{''.join(tried)}\n"
                   f"What to do: {ADVICE[name]} and set PCGRAPH_DATA=FOLDER{sample}.")


def read_sample(name: str, split: str) -> Pixels:
    """The checked sample of ``mnist`` or ``fashion``. Writes nothing. Raises UnknownName, BadFile."""
    one_of("split", split, SPLITS)
    digests = json.loads((SAMPLE / "digests.json").read_text())["files"]
    one_of("bundled sample", name, digests)
    try:
        return replace(_read_idx(SAMPLE / name, split, digests[name]), source="bundled sample")
    except (NotFound, OSError) as reason:
        raise BadFile(f"the bundled sample is incomplete: {reason}. Reinstall the package.") from reason


# ---------------------------------------------------------------------------------------------------- the places

def _places(name: str, split: str, root: Path | str | None, download: bool) -> Iterator[tuple[str, Callable]]:
    if root is not None:
        yield "folder given", lambda: _read_root(name, split, placed(root, "root"))
        return
    given = os.environ.get("PCGRAPH_DATA")
    yield "$PCGRAPH_DATA", lambda: _read_root(name, split, placed(given, "PCGRAPH_DATA") if given else None)
    yield "user's cache", lambda: _read_root(name, split, cache())
    if download:
        yield "torchvision's download", lambda: _fetch(name, split)
    if name == "fashion":
        yield "Debian package", lambda: _read_idx(DEBIAN_FASHION, split, DIGESTS[name])


def _read_root(name: str, split: str, root: Path | None) -> Pixels:
    """Read a data set below a root folder, in any of the layouts of ``FOLDERS``."""
    if root is None:
        raise NotFound("not set")
    if not root.is_dir():
        raise NotFound(f"no such folder as {root}")
    reasons = []
    for home in FOLDERS[name]:
        try:
            return _read(name, split, root / home)
        except NotFound as reason:
            reasons.append(str(reason))
    raise NotFound("; ".join(reasons))


def _read(name: str, split: str, folder: Path) -> Pixels:
    readers = {"cifar10": _read_cifar10, "svhn": _read_svhn}
    with needing(f"reading {name}"):
        return readers[name](folder, split) if name in readers else _read_idx(folder, split, DIGESTS[name])


def _fetch(name: str, split: str) -> Pixels:
    """Download into a scratch folder, check the files, and then move them into the cache."""
    try:
        cache().mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=cache(), prefix=f"{name}-", suffix=".part") as scratch:
            folder = _from_torchvision(name, split, Path(scratch))
            pixels = _read(name, split, folder)
            home = cache() / FOLDERS[name][0]
            _keep(folder, home)
    except (MissingPackage, OSError, RuntimeError, HTTPException, tarfile.TarError) as error:
        raise NotFound(" ".join(str(error).split()) or type(error).__name__) from error
    except BadFile as error:
        raise BadFile(f"what was fetched was not kept: {error}") from error
    return replace(pixels, folder=home)


def _keep(folder: Path, home: Path) -> None:
    """Move data files from a scratch folder into the cache. If a file also exists as .gz, move only the .gz."""
    home.mkdir(parents=True, exist_ok=True)
    for item in sorted(folder.iterdir()):
        if item.with_name(item.name + ".gz").exists() or item.suffixes[-2:] == [".tar", ".gz"]:
            continue
        if (home / item.name).is_dir():
            shutil.rmtree(home / item.name)
        os.replace(item, home / item.name)


def _from_torchvision(name: str, split: str, scratch: Path) -> Path:
    """Set a time limit for connections, because torchvision sets none and would wait for ever."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(TIMEOUT)
    try:
        part = {"split": split} if name == "svhn" else {"train": split == "train"}
        _torchvision(name)(scratch, download=True, **part)
    finally:
        socket.setdefaulttimeout(before)
    return scratch if name in ("svhn", "cifar10") else scratch / FOLDERS[name][0]


def _torchvision(name: str) -> Any:
    """torchvision's class of a data set, imported here because the sample does not need it."""
    with needing("torchvision's reader"):
        from torchvision import datasets
    return getattr(datasets, TORCHVISION[name])


# ---------------------------------------------------------------------------------------------------- the formats

def _refuse(path: Path | str, expected: str, found: str, name: str = "") -> BadFile:
    """The error for a damaged file, with ``name`` if the file has another name."""
    than = f" than {name}" if name else ""
    return BadFile(f"{path} is damaged or another file{than}: expected {expected}, found {found}. "
                   "It was not used; delete or replace it.")


def _check(path: Path | str, content: Any, expected: str, name: str = "") -> None:
    if (found := hashlib.sha256(content).hexdigest()) != expected:
        raise _refuse(path, f"SHA-256 {expected}", found, name)


def _bytes(path: Path, largest: int) -> bytes:
    """The content of a file, unless it is larger than any right one."""
    if (size := path.stat().st_size) > largest:
        raise _refuse(path, f"at most {largest} bytes", f"{size}")
    return path.read_bytes()


def _read_idx(folder: Path, split: str, digests: dict[str, str]) -> Pixels:
    """Read images and labels of one split from idx files, compressed or not."""
    prefix = "train" if split == "train" else "t10k"
    images, labels = (_idx(folder, f"{prefix}-{part}-ubyte", digests) for part in ("images-idx3", "labels-idx1"))
    return Pixels(images.reshape(len(images), -1), labels, folder)


def _idx(folder: Path, name: str, digests: dict[str, str]) -> np.ndarray:
    """The array in one idx file: two zero bytes, a type byte (8: uint8), the number of axes, their sizes, the data."""
    content = _content(folder, name, digests)
    axes = content[3]
    sizes = struct.unpack(f">{axes}I", content[4:4 + 4 * axes])
    return np.frombuffer(content, np.uint8, offset=4 + 4 * axes).reshape(sizes).copy()


def _content(folder: Path, name: str, digests: dict[str, str]) -> bytes:
    """The unpacked and checked content of an idx file."""
    names = (name, name.replace("-idx", ".idx"))                           # unpackers make a dot of it
    here = [(p, OPENERS[kind]) for kind in OPENERS for one in names if (p := folder / (one + kind)).is_file()]
    if not here:
        raise NotFound(f"{folder} has no {name}, {name}.gz or {name}.xz")
    path, unpack = here[0]
    try:
        with unpack(path, "rb") as file:
            content = file.read(LARGEST)
    except PermissionError:
        raise                                                              # which says nothing of what is in it
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise _refuse(path, f"SHA-256 {digests[name]}", f"nothing that unpacks ({error})", name) from error
    _check(path, content, digests[name], name)
    return content


def _read_cifar10(folder: Path, split: str) -> Pixels:
    """Read CIFAR10 from torchvision's folder or from WebP sheets, and check the rebuilt official batches."""
    if (folder / "cifar-10-batches-py").is_dir():
        images, labels, named = _cifar10_batches(folder, split)
    elif (folder / "labels.npz").is_file():
        images, labels, named = _cifar10_sheets(folder, split)
    else:
        raise NotFound(f"{folder} has neither cifar-10-batches-py nor labels.npz with WebP sheets")
    batches = [batch for batch in DIGESTS["cifar10"] if batch.startswith("data") == (split == "train")]
    rows = np.array_split(np.arange(len(images)), len(batches))
    for path, batch, part in zip(named, batches, rows, strict=True):
        record = np.concatenate([labels[part, None], images[part]], axis=1)   # (10000, 1 + 3072), the official form
        _check(path, record, DIGESTS["cifar10"][batch])
    return Pixels(images, labels, folder)


def _cifar10_batches(folder: Path, split: str) -> tuple[np.ndarray, np.ndarray, list[str]]:
    kind = _torchvision("cifar10")
    for file, md5 in (*kind.train_list, *kind.test_list, (kind.meta["filename"], kind.meta["md5"])):
        path = folder / kind.base_folder / file                # these are unpickled: no byte is read before this check
        found = hashlib.md5(_bytes(path, LARGEST)).hexdigest() if path.is_file() else "no such file"
        if found != md5:
            raise _refuse(path, f"MD5 {md5}", found)
    data = kind(folder, train=split == "train")
    images = np.ascontiguousarray(data.data.transpose(0, 3, 1, 2)).reshape(len(data.data), -1)
    files = [file for file, _ in (kind.train_list if split == "train" else kind.test_list)]
    return images, np.asarray(data.targets, np.uint8), [str(folder / kind.base_folder / file) for file in files]


def _cifar10_sheets(folder: Path, split: str) -> tuple[np.ndarray, np.ndarray, list[str]]:
    batches = 5 if split == "train" else 1
    sheets = [folder / f"{split}_{number:02d}.webp" for number in range(SHEETS_A_BATCH * batches)]
    images = np.concatenate([_sheet(path) for path in sheets])
    try:
        with np.load(folder / "labels.npz", allow_pickle=False) as file:
            if file.zip.getinfo(f"{split}.npy").file_size > LARGEST:
                raise ValueError("labels beyond all measure")
            labels = np.asarray(file[split]).astype(np.uint8)
        if labels.shape != (len(images),):
            raise ValueError(f"{labels.shape} labels for {len(images)} images")
    except (OSError, ValueError, KeyError, EOFError, MemoryError, AttributeError, zlib.error, BadZipFile) as error:
        raise BadFile(f"{folder / 'labels.npz'} is damaged ({' '.join(str(error).split())}). It was not used; "
                      "replace it.") from error
    first, last = sheets[::SHEETS_A_BATCH], sheets[SHEETS_A_BATCH - 1::SHEETS_A_BATCH]
    return images, labels, [f"one of {a} to {b.name} or labels.npz" for a, b in zip(first, last, strict=True)]


def _sheet(path: Path) -> np.ndarray:
    """The 1,000 images of one sheet, ``(1000, 3072)``, colour planes first."""
    from PIL import Image
    if not path.is_file():
        raise NotFound(f"{path} is missing")
    try:
        with Image.open(path, formats=["WEBP"]) as picture:
            if picture.size != (SHEET_COLUMNS * SIDE, SHEET_ROWS * SIDE):      # before it is unpacked
                raise ValueError(f"{picture.size[0]} x {picture.size[1]} pixels")
            flat = np.asarray(picture.convert("RGB"))
        grid = flat.reshape(SHEET_ROWS, SIDE, SHEET_COLUMNS, SIDE, 3)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise BadFile(f"{path} is damaged: expected a WebP sheet of 25 x 40 pictures of 32 x 32, found {error}. "
                      "It was not used; replace it.") from error
    return grid.transpose(0, 2, 4, 1, 3).reshape(SHEET_ROWS * SHEET_COLUMNS, 3 * SIDE * SIDE)


def _read_svhn(folder: Path, split: str) -> Pixels:
    """Read SVHN through torchvision, which turns the label 10 into the digit 0."""
    path = folder / f"{split}_32x32.mat"
    if not path.is_file():
        raise NotFound(f"{folder} has no {path.name}")
    _check(path, _bytes(path, LARGEST_MAT), DIGESTS["svhn"][path.name])
    try:
        data = _torchvision("svhn")(folder, split=split)
    except ImportError:                        # of scipy, which its reader needs
        raise
    except Exception as error:                 # scipy's reader raises many kinds, all of which mean the same here
        raise BadFile(f"{path} is not a readable .mat file ({error}). It was not used; replace it.") from error
    images = np.ascontiguousarray(data.data).reshape(len(data.data), -1)
    return Pixels(images, data.labels.astype(np.uint8).reshape(-1), folder)
