"""Files are written aside and renamed, so a kill or a full disk never leaves half a file under the real name."""

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import BadFile, PCGraphError

if TYPE_CHECKING:                                  # commands that only read and write files need no torch
    from torch import Tensor


@contextmanager
def write_aside(path: Path | str) -> Iterator[Path]:
    """Yield a name beside ``path`` to write to, this process's own; rename it on success, remove it on failure.

    Raises PCGraphError: the disk is full or the folder cannot be written; an older file at ``path`` is untouched.
    """
    path = Path(path)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield part
        os.replace(part, path)
    except OSError as error:
        raise PCGraphError(f"could not write {path}: {error.strerror or error}. Free space or choose a folder that "
                           "can be written; what was there before is untouched.") from error
    finally:
        with suppress(OSError):                                            # the folder may be what cannot be written
            part.unlink(missing_ok=True)


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def tensor_digest(tensors: "Mapping[str, Tensor]") -> str:
    """SHA-256 of the names and contents of tensors, in order of name."""
    content = hashlib.sha256()
    for name in sorted(tensors):
        content.update(name.encode())
        content.update(tensors[name].detach().cpu().contiguous().numpy().data)
    return content.hexdigest()


def save_tensors(path: Path, tensors: "Mapping[str, Tensor]", header: Mapping[str, str]) -> None:
    """Write tensors as safetensors with a header. Raises PCGraphError, see ``write_aside``."""
    from safetensors import SafetensorError
    from safetensors.torch import save_file
    with write_aside(path) as part:
        try:
            save_file({name: t.detach().cpu().contiguous().clone() for name, t in tensors.items()}, part, dict(header))
        except SafetensorError as error:
            raise OSError(str(error)) from error
        part.chmod(0o644)                                                  # safetensors writes for the owner only


def load_tensors(path: Path) -> "tuple[dict[str, str], dict[str, Tensor]]":
    """The header and the tensors of a safetensors file. Raises BadFile, saying why it cannot be read."""
    from safetensors import SafetensorError, safe_open
    try:
        with safe_open(path, "pt") as file:
            return file.metadata() or {}, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise BadFile(f"{path} cannot be read ({error})") from error
