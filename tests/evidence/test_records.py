"""Records: finite, unique, known to a claim, and read back as written. Oracle: what the test itself put in."""

import json
import re
from functools import partial
from itertools import product
from pathlib import Path

import pandas as pd
import pytest
import torch

from pcgraph_lite import hardware
from pcgraph_lite.errors import BadFile, BadInput, UnknownName
from reproduction import checkout
from reproduction.evidence import records

CPU = hardware.describe("cpu")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Runs write below a temporary folder; settings are the committed ones."""
    monkeypatch.setattr(records, "Recorder", partial(records.Recorder, out=tmp_path / "laptop"))
    return tmp_path


def filled(order: list[int]) -> records.Recorder:
    """A recorder with three seeds, added in the order given."""
    recorder = records.Recorder("03a-fully-connected", "laptop", "cpu")
    for seed in order:
        recorder.add(claim="gen-c", quantity="denoised_mse", value=0.1 * seed, dataset="mnist", model="tiny", seed=seed,
                     n=20, variance=0.5)
    return recorder


def test_what_is_saved_is_read_in_an_order_that_is_not_that_of_adding(root: Path) -> None:
    path = filled([0, 1]).save()
    assert path == root / "laptop/records/03a-fully-connected.json"
    rows = records.read(path.parent)
    assert all(row.keys() == set(records.COLUMNS) for row in rows)
    assert [row["value"] for row in rows] == [0.0, 0.1]
    row = rows[1]
    assert (row["claim"], row["seed"], row["n"], row["parameters"]) == ("gen-c", 1, 20, {"variance": 0.5})
    assert (row["notebook"], row["profile"], row["device"]) == ("03a-fully-connected", "laptop", CPU)
    contents = [json.loads(filled(order).save().read_text())["records"] for order in ([2, 0, 10], [10, 2, 0])]
    assert contents[0] == contents[1]
    assert [row["seed"] for row in contents[0]] == [0, 2, 10]


@pytest.mark.parametrize(("given", "error", "says"), [
    *(({"value": value}, BadInput, r"denoised_mse of claim gen-c .*seed 7.*value: input should be a ") for value in (
        float("nan"), float("inf"), -float("inf"), "nan", torch.tensor(float("nan")), "x", None, 1j, [1], 10**400,
        torch.ones(2), pd.NA)),
    ({"seed": "one"}, BadInput, "seed: input should be a valid integer; got 'one'"),
    *(({"variance": wrong}, BadInput, "parameters") for wrong in (float("nan"), float("inf"), object())),
    ({"seed": 0, "n": 9, "variance": 0.5}, BadInput, "recorded twice"),    # but for another variance
    ({"claim": "gen-z"}, UnknownName, r"no claim 'gen-z'.*Did you mean 'gen-"),
    ({"quantity": "denoised_mes"}, UnknownName, r"'denoised_mes'.*Did you mean 'denoised_mse'.*claims\.yaml")])
def test_what_cannot_be_kept_is_refused(root: Path, given: dict, error: type[Exception], says: str) -> None:
    """Where it is added: later it would lose all records of the page."""
    recorder = filled([0])
    usual = {"claim": "gen-c", "quantity": "denoised_mse", "value": 1.0, "dataset": "mnist", "model": "tiny", "seed": 7}
    with pytest.raises(error, match=says):
        recorder.add(**usual | given)
    recorder.add(**usual | {"seed": 0, "variance": 0.7})
    assert len(records.read(recorder.save().parent)) == 2


@pytest.mark.parametrize(("place", "number"), [
    *product(['"value": ', '"variance": ', '"seconds": ', '"n": '], ["NaN", "Infinity", "-Infinity", "1e999", "[1]"]),
    *product(['"value": ', '"n": '], ["true", '"1"'])])                  # parameters may be words
def test_numbers_that_are_none_are_refused_where_they_are_read(root: Path, place: str, number: str) -> None:
    """By whatever hand they came into the file."""
    path = filled([1]).save()
    path.write_text(re.sub(rf"{place}[\d.]+", place + number, path.read_text()))
    with pytest.raises(BadFile, match="not a records file"):
        records.read(path.parent)


@pytest.mark.parametrize(("given", "error", "says"), [
    *(((name, "laptop", "cpu"), BadInput, "expected the name of a page") for name in (
        "../x", "/tmp/x", "a/b", "", ".", "a" * 300, "a\nb", "a\0", None, 3)),
    (("n", "labtop", "cpu"), UnknownName, "Did you mean 'laptop'"),
    *((("n", "laptop", device), BadInput, "device") for device in (3, None, "cuda", torch.device("cuda", 99)))])
def test_a_recorder_of_no_page_profile_or_device_is_refused_before_the_page_has_run(
        monkeypatch: pytest.MonkeyPatch, given: tuple[object, ...], error: type[Exception], says: str) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(error, match=says):
        records.Recorder(*given)


def test_later_folder_counts(root: Path, tmp_path: Path) -> None:
    """The same notebook and profile in two folders: the later folder replaces the earlier one as a whole."""
    first, second = tmp_path / "first", tmp_path / "second"
    filled([0, 1, 2]).save().rename(first.mkdir() or first / "03a-fully-connected.json")
    filled([5]).save().rename(second.mkdir() or second / "03a-fully-connected.json")
    assert [row["seed"] for row in records.read(first, second)] == [5]
    assert [row["seed"] for row in records.read(second, first)] == [0, 1, 2]


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"notebook": "n", "profile": "p"}'])
@pytest.mark.parametrize(("place", "option"), [("mine", ""), ("_build/smoke/records", " --profile smoke")])
def test_damaged_file_is_named(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, option: str, content: str) -> None:
    """With the command that makes it again. It may be no damage but another folder's good file, which is to stay."""
    monkeypatch.setattr(checkout, "ROOT", tmp_path)
    (tmp_path / place).mkdir(parents=True)
    (tmp_path / place / "02-pc-graphs.json").write_text(content)
    with pytest.raises(BadFile, match=rf"graphs\.json is not a records file.* run 02-pc-graphs{option}$") as caught:
        records.read(tmp_path / place)
    assert "Expected a folder of records" in str(caught.value) and "elete" not in str(caught.value)


def test_provenance_says_commit_versions_and_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a checkout the commit is git's; a copy without git takes it from a variable."""
    facts = records.provenance(CPU, 1.234)
    assert len(facts["commit"]) == 40
    assert (facts["device"], facts["seconds"]) == (CPU, 1.2)
    assert set(records.PACKAGES) <= facts.keys()
    monkeypatch.setenv("PCGRAPH_COMMIT", "abc")
    monkeypatch.setattr(checkout, "ROOT", Path("/"))
    assert records.provenance(CPU)["commit"] == "abc"


def test_a_frame_is_recorded_row_by_row(root: Path) -> None:
    """As if each number had been added by hand; columns that are neither asked for nor keys are left alone."""
    frame = pd.DataFrame({"dataset": "mnist", "model": "tiny", "seed": [0, 1], "n": [20, 30], "mse": [0.1, 0.2],
                          "variance": [0.5, 0.7], "other": "words"})
    by_frame, by_hand, by_column = (records.Recorder("n", "laptop", "cpu") for _ in range(3))
    by_frame.add_frame(frame, {"mse": "denoised_mse"}, claim="gen-c", parameters=["variance"], steps=3)
    by_column.add_frame(frame.assign(claim="gen-c"), {"mse": "denoised_mse"}, parameters=["variance"], steps=3)
    for seed, n, value, variance in ((0, 20, 0.1, 0.5), (1, 30, 0.2, 0.7)):
        by_hand.add(claim="gen-c", quantity="denoised_mse", value=value, dataset="mnist", model="tiny", seed=seed, n=n,
                    variance=variance, steps=3)
    assert by_frame.rows == by_column.rows == by_hand.rows
    shared = records.Recorder("n", "laptop", "cpu")
    shared.add_frame(frame.rename(columns={"mse": "denoised_mse"}), ["denoised_mse"], claim="gen-c", n=7)
    assert [record.n for record in shared.rows.values()] == [7, 7]


def test_two_runs_are_compared_by_what_both_recorded(root: Path) -> None:
    """Means over seeds; a number of one run alone is left out. The folder of a run stands for its records, and so does
    a file of them."""
    for name, values in (("mine", {0: 1.0, 1: 3.0}), ("theirs", {5: 5.0})):
        recorder = records.Recorder("n", "laptop", "cpu")
        recorder.folder = root / name
        for seed, value in values.items():
            recorder.add(claim="gen-c", quantity="denoised_mse", value=value, seed=seed, dataset="mnist", variance=0.5)
        recorder.add(claim="gen-c", quantity="noisy_mse" if name == "mine" else "noisy_psnr", value=1.0)
        recorder.save()
    row = records.compared(root / "mine", root / "theirs/records").to_dict("records")
    assert [(one["quantity"], one["parameters"], one["mine"], one["theirs"], one["difference"]) for one in row] == [
        ("denoised_mse", "variance = 0.5", 2.0, 5.0, -3.0)]
    folder, file = (records.compared(root / "mine" / place, root / "theirs") for place in ("", "records/n.json"))
    assert file.equals(folder)
    (root / "empty").mkdir()
    with pytest.raises(BadInput, match="empty has no records; expected the folder of a run"):
        records.compared(root / "mine", root / "empty")
