"""Files are written aside and renamed, so a kill or a full disk never leaves half a file under the real name."""

import errno
import hashlib
import json
import os
import re
import stat
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from platform import node
from typing import TYPE_CHECKING

from .errors import BadFile, BadInput, PCGraphError, shown

if TYPE_CHECKING:                                  # commands that only read and write files need no torch
    from torch import Tensor


FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)                # what a write says, naming no file


def _space() -> str:
    """Where process numbers mean something: a host since its last start, and there a space of processes.

    Containers of one host name may share a folder, and each counts its processes from 1.
    """
    facts = [node()]
    with suppress(OSError):                                                # only Linux tells
        facts += [Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii"), os.readlink("/proc/self/ns/pid")]
    return f"{re.sub(r'[^A-Za-z0-9]', '', node())[:30]}{hashlib.sha256(' '.join(facts).encode()).hexdigest()[:8]}"


SPACE, WRITERS = _space(), count()


def placed(path: Path | str, what: str = "path") -> Path:
    """A path as a user wrote it, absolute and with ``~`` as the home folder, so that it means the same from then on.

    Raises BadInput: there is no such home folder, or it is not a path.
    """
    try:
        return Path(os.path.abspath(Path(path).expanduser()))
    except (RuntimeError, TypeError, ValueError, OSError) as error:
        raise BadInput(f"{what} = {shown(str(path))}: {str(error).rstrip('.')}; expected a path without '~', such as "
                       "/data/run.") from None


@contextmanager
def write_aside(path: Path | str) -> Iterator[Path]:
    """Yield a name beside ``path`` to write to, this writer's own; rename it on success, remove it on failure.

    The file gets the rights of the one that it replaces, else those of any new file of this user; a link stays a link.

    Raises PCGraphError: the disk is full, or the file cannot be there, which is said before anything is done; an older
    file at ``path`` is untouched. Other errors of what is done meanwhile, such as a file that cannot be read, pass as
    they are.
    """
    path = _target(path)
    part = _part(path)
    with _told(path, part):
        try:
            rights = _try(path, part)
            yield part
            part.chmod(rights)
            os.replace(part, path)
        finally:
            with suppress(OSError, ValueError):                            # the folder may be what cannot be written
                part.unlink(missing_ok=True)


def ready(path: Path | str) -> Path:
    """A file that work is to be written to, before the work: its folder is there then. Raises PCGraphError: it could
    not be written.
    """
    target = _target(path)
    part = _part(target)
    with _told(target, part):
        _try(target, part)
    return Path(path)


def _target(path: Path | str) -> Path:
    """The file itself where ``path`` is a link to one."""
    with suppress(OSError, ValueError):                                    # which is said when it is written
        if Path(path).is_symlink():
            return Path(os.path.realpath(path))
    return Path(path)


def _part(path: Path) -> Path:
    return path.with_name(f"{path.name}.{SPACE}-{os.getpid()}.{next(WRITERS)}.part")


def _try(path: Path, part: Path) -> int:
    """Make the folder, and see that it takes files and that ``path`` is none itself. Returns the rights of the file."""
    if wrong := errno.EINVAL if "\0" in str(path) else errno.EISDIR if path.is_dir() else 0:
        raise OSError(wrong, os.strerror(wrong), str(path))
    if path.exists() and not path.is_file():                               # /dev/null, a pipe: a rename would end it
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    _sweep(path.parent)
    part.touch()
    rights = stat.S_IMODE((path if path.exists() else part).stat().st_mode)
    part.unlink()
    return rights


@contextmanager
def _told(path: Path, part: Path) -> Iterator[None]:
    """What cannot be written as an error of ours."""
    try:
        yield
    except OSError as error:
        if not _of_writing(error, path, part):
            raise
        raise PCGraphError(f"could not write {path}: {error.strerror or error}. Free space or choose a folder that "
                           "can be written; what was there before is untouched.") from error


def _of_writing(error: OSError, path: Path, part: Path) -> bool:
    """Whether an error is of the file that is written: it names that or a folder above, or a disk that takes no more.
    """
    names = [Path(str(name)) for name in (error.filename, error.filename2) if name is not None]
    ours = any(name.name.startswith(part.stem) or path.is_relative_to(name) for name in names)
    return ours or (not names and error.errno in FULL)


def _sweep(folder: Path) -> None:
    """Remove what processes of this space that are no more left half written."""
    for part in folder.glob(f"*.{SPACE}-*.part"):
        owner = re.search(r"-(\d+)\.\d+\.part$", part.name)
        if owner and not _runs(int(owner[1])):
            with suppress(OSError):                                        # another user's may have to stay
                part.unlink()


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)                                                # asks, and sends nothing
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:                                                # another user's
        pass
    return True


def read_text(path: Path, largest: int = 2**24) -> str:
    """A text file, without the mark that some editors put first. Raises BadFile: it is not there, not UTF-8, or larger
    than any that is written here.
    """
    try:
        if path.stat().st_size > largest:
            raise BadFile(f"{path} holds {path.stat().st_size} bytes; expected at most {largest}")
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise BadFile(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error


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


def _all_of_it(tensors: "Mapping[str, Tensor]", header: Mapping[str, str]) -> str:
    """SHA-256 of everything that a file of tensors says: header, names, types, shapes, contents."""
    import torch
    content = hashlib.sha256(json.dumps(dict(header), sort_keys=True).encode())
    for name in sorted(tensors):
        tensor = tensors[name].detach().cpu().contiguous()
        content.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        content.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return content.hexdigest()


def save_tensors(path: Path, tensors: "Mapping[str, Tensor]", header: Mapping[str, str]) -> None:
    """Write tensors as safetensors with a header and the digest of both. Raises PCGraphError, see ``write_aside``."""
    from safetensors import SafetensorError
    from safetensors.torch import save_file
    with write_aside(path) as part:
        kept = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
        try:
            save_file(kept, part, {**header, "sha256": _all_of_it(kept, header)})
        except SafetensorError as error:
            raise OSError(errno.EIO, str(error), str(part)) from error


def load_tensors(path: Path, keys: Collection[str] | None = None,
                 signed: str | None = None) -> "tuple[dict[str, str], dict[str, Tensor]]":
    """The header and the tensors of a safetensors file. Raises BadFile, saying why it cannot be read.

    ``keys``: all that its header may hold. Files from before there was a digest have none, and are taken as they are;
    not so one whose header has the entry ``signed``.
    """
    from safetensors import SafetensorError, safe_open
    try:
        with safe_open(path, "pt") as file:
            header = dict(sorted((file.metadata() or {}).items()))         # the file has them in any order
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise BadFile(f"{path} cannot be read ({error})") from error
    expected = header.pop("sha256", None)
    foreign = set() if keys is None else header.keys() - keys              # a damaged "sha256", perhaps
    if foreign or (expected is None and signed in header) or (expected and expected != _all_of_it(tensors, header)):
        raise BadFile(f"{path} is damaged: its content does not have the SHA-256 of its header")
    return header, tensors
