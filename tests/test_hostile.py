"""Damaged and hostile data, settings, records and notebooks: refused in one line, within a GiB of memory and a minute.
Oracle: the limits of the operating system, in a process of its own for each file; the types of our errors. Each file is
of one class: too much in little (gzip, xz, pictures, arrays), nested by the thousand, other encodings and types."""

import gzip
import io
import lzma
import multiprocessing
import os
import resource
import signal
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

import jupytext  # noqa: F401  (what a case imports is loaded before the memory is counted)
import numpy as np
import pytest
import torchvision.datasets  # noqa: F401

from pcgraph_lite.errors import PCGraphError
from pcgraph_lite.images import sources
from reproduction.book import site
from reproduction.evidence import claims, config, records, zoo

MEMORY, SECONDS, LONGEST = 2**30, 20, 2_000
DEEP = 100_000
YAML = {"a list": "[1]", "a word": "word", "nothing": "", "a number": "1", "a date": "2001-01-01",
        "many documents": "--- {}\n" * 3, "keys that are lists": "? [a]\n: b", "keys that are nothing": "~: 1",
        "an impossible date": "a: 2001-99-99", "a program": "a: !!python/object/apply:os.abort []",
        "much": "a: " + "x" * 2**21}
BYTES = {"UTF-16": "a: b".encode("utf-16"), "latin-1": "a: \xe9".encode("latin-1"), "zeros": bytes(99),
         "random": np.random.default_rng(0).bytes(999), "half a letter": b"a: \xe2\x82"}
JSON = {"deep lists": "[" * DEEP, "deep objects": '{"a":' * DEEP, "closed lists": "[" * DEEP + "]" * DEEP,
        "a list": "[]", "a word": '"word"', "nothing": "", "null": "null", "a long number": "9" * 5_000,
        "half": '{"a": 1', "two": "{} {}", "NaN": "NaN", "infinity": "1e999"}


def told(call: Callable[[], object]) -> tuple[str, str]:
    """Kind and text of what a call raises."""
    try:
        return "nothing", f"returned {str(call())[:200]}"
    except BaseException as error:
        return "own" if isinstance(error, PCGraphError) else type(error).__name__, str(error)


def limited(calls: Mapping[str, Callable[[], object]], pipe: Connection) -> None:
    """Tell what each call raises, when all may have so much more memory than now, and each so much time."""
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, size + MEMORY))
    for call in calls.values():
        signal.setitimer(signal.ITIMER_PROF, SECONDS)                      # of its own work, on a busy machine too
        pipe.send(told(call))


def refused(calls: Mapping[str, Callable[[], object]], words: str) -> None:
    """Every call, in a process of their own, ends with an error of ours: a line for each fault, with these words."""
    ours, theirs = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=limited, args=(calls, theirs))
    process.start()
    theirs.close()
    wrong = {}
    for name in calls:
        try:
            kind, text = ours.recv()
        except EOFError:
            process.join()
            wrong[name] = f"killed by signal {-process.exitcode}"
            break
        if kind != "own" or len(text) > LONGEST or any(words not in line for line in text.splitlines()):
            wrong[name] = f"{kind}: {text[:300]}"
    process.join()
    assert not wrong, "\n".join(f"{name}: {what}" for name, what in wrong.items())


def written(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def each(path: Path, contents: Mapping[str, str | bytes], read: Callable[[], object]) -> dict[str, Callable]:
    """The file with each of the contents, then read."""
    def call(content: str | bytes) -> object:
        written(path, content)
        return read()
    return {name: partial(call, content) for name, content in contents.items()}


@pytest.mark.parametrize(("name", "contents", "read", "words"), [
    ("config/models.yaml", YAML, lambda path: config.load_models(), "models.yaml"),
    ("config/profiles/smoke.yaml", YAML, lambda path: zoo.spec("tiny", "smoke"), "smoke.yaml"),
    ("claims.yaml", YAML, claims.load_claims, "claims.yaml"),
    ("records/page.json", JSON, lambda path: records.read(path.parent), "page.json is not a records file"),
    ("page.ipynb", JSON, lambda path: site.read_notebook(path, "paper"), "page.ipynb is not a notebook")])
def test_texts(root: Path, name: str, contents: dict[str, str], read: Callable[[Path], object], words: str) -> None:
    refused(each(root / name, contents | BYTES, lambda: read(root / name)), words)


def bomb(pack: Callable[[bytes], bytes]) -> bytes:
    """4 GiB of zeros, member by member."""
    return 2**10 * pack(bytes(2**22))


def png(width: int, height: int) -> bytes:
    """A picture that says it is so large."""
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(2**20))) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


PLAIN = {"40 GB": ("", None), "nothing": ("", b""), "random": ("", BYTES["random"])}       # ending, content
PACKED = {"a gzip bomb": (".gz", bomb(partial(gzip.compress, compresslevel=1))), "40 GB": ("", None),
          "an xz bomb": (".xz", bomb(partial(lzma.compress, preset=0))), "no gzip": (".gz", b"\x1f\x8b" + bytes(99)),
          "no xz": (".xz", BYTES["random"])}


@pytest.mark.parametrize(("data", "file", "contents"), [
    ("mnist", "MNIST/raw/train-images-idx3-ubyte", PACKED), ("svhn", "SVHN/train_32x32.mat", PLAIN),
    ("cifar10", "CIFAR10/cifar-10-batches-py/data_batch_1", PLAIN)])
def test_files_of_a_data_set(tmp_path: Path, data: str, file: str, contents: dict[str, tuple]) -> None:
    for name, (ending, content) in contents.items():
        made = written(tmp_path / name / f"{file}{ending}", content or b"")
        if content is None:                                                # 40 GB that take none
            os.truncate(made, 40 * 10**9)
    refused({name: partial(sources.find, data, "train", tmp_path / name) for name in contents}, Path(file).name)


SHEETS = {"endless": png(2**31 - 1, 2**31 - 1), "a bomb": png(30_000, 30_000), "half a bomb": png(13_000, 13_000),
          "empty": png(0, 0), "of the right size": png(1280, 800), "nothing": b"", "random": BYTES["random"],
          "webp": b"RIFF\xff\xff\xff\xffWEBPVP8L" + bytes(99), "ppm": b"P6 99999 99999 255 ",
          "PostScript, which a program would run": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 1280 800\n"}


def test_sheets(tmp_path: Path) -> None:
    path = written(tmp_path / "CIFAR10/labels.npz", b"").with_name("train_00.webp")
    refused(each(path, SHEETS, lambda: sources.find("cifar10", "train", tmp_path)), "train_00.webp is damaged")


def array(shape: str, kind: str = "|u1", content: bytes = b"") -> bytes:
    """A .npy file that says it has this shape."""
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}}}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + content


def packed(content: bytes, name: str = "train.npy") -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr(name, content)
    return file.getvalue()


LABELS = {"nothing": b"", "random": BYTES["random"], "a bomb": packed(bytes(2**27)), "other": packed(b"x", "x"),
          "endless": packed(array("(9223372036854775807,)")), "of 8 TB": packed(array("(8000000000000,)")),
          "negative": packed(array("(-1,)")), "deep": packed(array("(" * 50_000)), "empty": packed(b""),
          "objects": packed(array("(1,)", "|O", b"cos\nabort\n(tR.")), "words": packed(array("(2,)", "<U4", bytes(32))),
          "cut": packed(array("(50000,)", content=bytes(50_000)))[:-60],
          "a long header": packed(b"\x93NUMPY\x02\x00\xff\xff\xff\x7f")}


def test_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "_sheet", lambda path: np.zeros((1, 3072), np.uint8))
    path = tmp_path / "CIFAR10/labels.npz"
    refused(each(path, LABELS, lambda: sources.find("cifar10", "train", tmp_path)), "labels.npz is damaged")
