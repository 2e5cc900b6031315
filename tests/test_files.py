"""Files that say what they hold, and nothing that a kill left lies about. Oracle: the file as it was; every flipped bit
makes an error or changes nothing."""

import errno
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import save_file

from pcgraph_lite import PCGraph, files, fit, topology
from pcgraph_lite.errors import BadFile, PCGraphError

DATA = (torch.rand(20, 4, generator=torch.Generator().manual_seed(0)), torch.arange(20) % 2)


def trained(path: Path, epochs: int = 2) -> tuple[PCGraph, list]:
    """A graph trained with a checkpoint at ``path``, and its history without times."""
    graph = PCGraph(topology.generative(2, [3], 4))
    history = fit(graph, DATA, epochs=epochs, steps=3, batch_size=10, checkpoint=path, progress=False, validation=0.2)
    return graph, history.drop(columns="seconds").to_numpy().tolist()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes, PCGraph, list]:
    path = tmp_path_factory.mktemp("state") / "s"
    graph, history = trained(path)
    return path, path.read_bytes(), graph, history


@settings(max_examples=120)
@given(st.data())
def test_a_flipped_bit_never_resumes_to_another_result(whole, data):
    path, content, expected, history = whole
    bit = data.draw(st.integers(0, 8 * len(content) - 1))
    flipped = bytearray(content)
    flipped[bit // 8] ^= 1 << bit % 8
    path.write_bytes(flipped)
    try:
        graph, found = trained(path)
    except BadFile:
        return
    assert torch.equal(graph.weight, expected.weight) and found == history


def test_a_checkpoint_from_before_there_was_a_digest_is_taken_up(whole):
    path, content, expected, history = whole
    path.write_bytes(content)
    header, tensors = files.load_tensors(path)
    save_file(tensors, path, header)                                       # as it was written then
    graph, found = trained(path)
    assert torch.equal(graph.weight, expected.weight) and found == history


def test_fewer_epochs_than_a_checkpoint_has_are_refused(whole):
    path, content, *_ = whole
    path.write_bytes(content)
    with pytest.raises(BadFile, match=r"holds 2 epochs, more than the 1 .*Ask for at least as many"):
        trained(path, epochs=1)


@settings(max_examples=20)
@given(st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=3),
       st.sampled_from([torch.int64, torch.bool, torch.bfloat16]))
def test_tensors_come_back_with_their_header(tmp_path_factory, header, dtype):
    path = tmp_path_factory.mktemp("tensors") / "t"
    header.pop("sha256", None)
    files.save_tensors(path, {"a": torch.ones(2, 3).to(dtype), "b": torch.tensor(1.5)}, header)
    found, tensors = files.load_tensors(path, header.keys())
    assert found == header and tensors["a"].dtype == dtype and tensors["b"].item() == 1.5


def test_a_header_has_one_order_however_the_file_gives_it(tmp_path: Path):
    """A page shows the columns of a judge's header. safetensors gives them in another order in every process."""
    header = dict.fromkeys("zyxwabcd", "")
    files.save_tensors(tmp_path / "t", {"a": torch.ones(1)}, header)
    assert list(files.load_tensors(tmp_path / "t")[0]) == sorted(header)


def test_parts_of_processes_that_are_no_more_are_swept(tmp_path: Path):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    old, mine = (tmp_path / f"a.{files.SPACE}-{pid}.7.part" for pid in (ended.pid, os.getpid()))
    others = tmp_path / f"a.else{files.SPACE}-{ended.pid}.7.part"           # another host's, which may be alive
    for part in (old, mine, others):
        part.touch()
    with files.write_aside(tmp_path / "b") as part:
        part.write_text("")
    assert {path.name for path in tmp_path.iterdir()} == {"b", mine.name, others.name}


def test_two_writers_of_a_file_in_one_process_write_to_names_of_their_own(tmp_path: Path):
    """As threads do: the file is always one of the two whole, here that of the last to end."""
    with files.write_aside(tmp_path / "a") as first:
        first.write_text("first")
        with files.write_aside(tmp_path / "a") as second:
            second.write_text("second")
        assert (tmp_path / "a").read_text() == "second"
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a", "first")]


@pytest.mark.parametrize("name", ["a folder", "a file/x", "a file/x/y", "a" * 300, "a" * 250, "\0",
                                  *["closed/x"] * (os.getuid() > 0)])      # root may write anywhere
def test_what_could_not_be_written_is_refused_before_the_work(tmp_path: Path, name: str):
    (tmp_path / "a folder").mkdir()
    (tmp_path / "closed").mkdir(mode=0o500)
    (tmp_path / "a file").write_text("before")
    with pytest.raises(PCGraphError, match="could not write"):
        files.ready(tmp_path / name)
    with pytest.raises(PCGraphError, match="could not write"), files.write_aside(tmp_path / name):
        pytest.fail("the work was begun")
    assert {path.name for path in tmp_path.rglob("*")} == {"a file", "a folder", "closed"}
    assert files.ready(tmp_path / "new/file") == tmp_path / "new/file"     # it can be, and is not touched
    assert not list((tmp_path / "new").iterdir())


def test_no_epoch_is_trained_for_a_checkpoint_that_cannot_be_written(tmp_path: Path):
    graph = PCGraph(topology.generative(2, [3], 4))
    before = graph.weight
    with pytest.raises(PCGraphError, match="could not write"):
        fit(graph, DATA, epochs=1, checkpoint=tmp_path / ("a" * 250), progress=False)
    assert torch.equal(graph.weight, before)


FULL = (errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize(("error", "ours"), [
    *((lambda part, error=error: error, False) for error in (              # of something else: it passes as it is
        FileNotFoundError(2, "No such file or directory", "elsewhere"), ConnectionError("the server is gone"),
        PermissionError(13, "Permission denied", "/a", None, "/b"), BrokenPipeError(32, "Broken pipe"))),
    (lambda part: OSError(*FULL), True),                                   # of a write, which knows no name
    (lambda part: OSError(*FULL, "source", None, str(part)), True),        # shutil.copyfile
    (lambda part: PermissionError(errno.EACCES, "Permission denied", part), True),
    (lambda part: PermissionError(errno.EACCES, "Permission denied", str(part.parent)), True)])
def test_an_error_of_its_own_file_is_said_in_a_line(tmp_path: Path, error, ours: bool):
    (tmp_path / "a").write_text("before")
    with pytest.raises((OSError, PCGraphError)) as raised, files.write_aside(tmp_path / "a") as part:
        raise (wrong := error(part))
    assert ours or raised.value is wrong
    assert not ours or re.match(r"could not write .*a: (No space|Permission)", str(raised.value))
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a", "before")]
