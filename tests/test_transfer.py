"""Archives of results: what is exported arrives unchanged, and whatever is wrong is refused whole.

Oracle: the files that the test itself made; archives that the test damages, one thing at a time.
"""

import hashlib
import io
import json
import os
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path

import nbformat
import pandas as pd
import pytest
from project import HERE, git

from pcgraph_lite import config, files, notebooks, records, sweeps, transfer
from pcgraph_lite.errors import BadFile, BadInput, PCGraphError

NAME = "01-tiny"
Edit = Callable[[dict[str, bytes]], None]
EARLIER, THEN, LATER = (f"20{year}-01-01T00:00:00+00:00" for year in (11, 22, 33))


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The small project with a paper profile, committed, as the checkout."""
    root = tmp_path / "checkout"
    shutil.copytree(HERE / "fixtures" / "project", root)
    shutil.copy(root / "config/profiles/smoke.yaml", root / "config/profiles/paper.yaml")
    (root / ".gitignore").write_text("_build/\n")
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "first")
    monkeypatch.setattr(config, "ROOT", root)
    monkeypatch.delenv("PCGRAPH_COMMIT", raising=False)
    return root


def ran(profile: str = "paper", seeds: int = 3, n: int = 20, quantities: tuple[str, ...] = ("denoised_mse",),
        date: str = THEN) -> None:
    """Leave what a run of the small notebook leaves."""
    recorder = records.Recorder(NAME, profile, "a processor")
    for quantity in quantities:
        for seed in range(seeds):
            recorder.add(claim="gen-c", quantity=quantity, value=seed / 7, dataset="mnist", model="tiny", seed=seed,
                         n=n)
    saved = recorder.save()
    content = json.loads(saved.read_text())
    content["provenance"]["date"] = date
    saved.write_text(json.dumps(content))
    page = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 + 1", id="a")])
    target = saved.parent.with_name("notebooks") / f"{NAME}.ipynb"
    target.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(page, target)


def exported(folder: Path, profile: str = "paper") -> Path:
    """The archive of what has run, and the run itself gone."""
    archive, _ = transfer.export(profile, folder)
    shutil.rmtree(config.ROOT / "_build")
    return archive


def published(root: Path) -> dict[str, bytes]:
    """Everything below the checkout but git's own files."""
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*")
            if path.is_file() and ".git" not in path.parts}


def edited(archive: Path, edit: Edit, sign: bool = True) -> Path:
    """The archive with other content; ``sign`` makes the manifest fit it again."""
    with tarfile.open(archive) as old:
        content = {member.name: old.extractfile(member).read() for member in old.getmembers()}
    edit(content)
    if sign:
        manifest = json.loads(content["manifest.json"])
        manifest["files"] = {name: hashlib.sha256(data).hexdigest() for name, data in content.items()
                             if name != "manifest.json"}
        content["manifest.json"] = json.dumps(manifest).encode()
    with tarfile.open(archive, "w:gz") as new:
        for name, data in content.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            new.addfile(member, io.BytesIO(data))
    return archive


def changed_json(name: str, change: Callable[[dict], None]) -> Edit:
    """An edit of one JSON file of the archive."""
    def edit(content: dict[str, bytes]) -> None:
        data = json.loads(content[name])
        change(data)
        content[name] = json.dumps(data).encode()
    return edit


def refused(root: Path, archive: Path, words: str, cls: type[PCGraphError] = BadFile, **options: object) -> None:
    """The import stops with these words, and no file of the checkout is other than before."""
    before = published(root)
    with pytest.raises(cls, match=words):
        transfer.add(archive, **options)
    assert published(root) == before


def test_what_is_exported_arrives_unchanged(root: Path, tmp_path: Path) -> None:
    """Byte by byte where the published results are; a second import changes nothing."""
    ran()
    made = {path.name: path.read_bytes() for path in (root / "_build/paper").rglob(f"{NAME}.*")}
    archive = exported(tmp_path)
    changes = transfer.add(archive)
    assert [(change.notebook, change.here, change.lost) for change in changes] == [(NAME, "nothing", ())]
    assert (root / f"results/records/{NAME}.json").read_bytes() == made[f"{NAME}.json"]
    assert (root / f"book/notebooks/{NAME}.ipynb").read_bytes() == made[f"{NAME}.ipynb"]
    before = published(root)
    transfer.add(archive)
    assert published(root) == before
    assert set(records.read(root / "results/records")["commit"]) == {git(root, "rev-parse", "HEAD")}


def test_rows_of_sweeps_go_along_and_none_is_lost_unasked(root: Path, tmp_path: Path) -> None:
    """Published beside the records; a file with fewer runs than the one here is refused."""
    ran()
    made = root / "_build/paper/sweeps/tiny.csv"
    made.parent.mkdir()
    columns = ["seed", *sweeps.EPOCHS, *sweeps.FACTS]
    frame = pd.DataFrame([{**dict.fromkeys(columns, 0), "identity": f"run {k}"} for k in range(2)])
    frame.to_csv(made, index=False)
    content, archive = made.read_bytes(), exported(tmp_path)
    assert [change.notebook for change in transfer.add(archive)] == [NAME, "sweep tiny"]
    here = root / "results/sweeps/tiny.csv"
    assert here.read_bytes() == content
    pd.concat([frame, frame.tail(1).assign(identity="one more")]).to_csv(here, index=False)
    refused(root, archive, "sweep tiny: 1 of its runs are here and not in the archive", BadInput)


def test_results_of_another_profile_stay_under_build(root: Path, tmp_path: Path) -> None:
    """Refused unless asked for, and then never among the published ones."""
    ran("smoke")
    archive = exported(tmp_path, "smoke")
    refused(root, archive, "profile 'smoke'; expected 'paper'.*--profile smoke", BadInput)
    transfer.add(archive, "smoke")
    assert (root / f"_build/smoke/records/{NAME}.json").is_file()
    assert not (root / "results").exists() and not (root / "book").exists()


def test_weights_and_figures_go_along_when_asked(root: Path, tmp_path: Path) -> None:
    """Weights only with the option, and not what lies beside them."""
    ran()
    for name in ("models/tiny-seed0.safetensors", "models/tiny-seed0.csv", "models/tiny-seed0.lock", "figures/a.png"):
        (root / "_build/paper" / name).parent.mkdir(exist_ok=True)
        (root / "_build/paper" / name).write_bytes(name.encode())
    light, _ = transfer.export("paper", tmp_path / "light")
    heavy, _ = transfer.export("paper", tmp_path / "heavy", weights=True)
    with tarfile.open(light) as one, tarfile.open(heavy) as other:
        assert set(other.getnames()) - set(one.getnames()) == {"models/tiny-seed0.safetensors", "models/tiny-seed0.csv"}
    shutil.rmtree(root / "_build")
    transfer.add(heavy)
    assert (root / "_build/paper/models/tiny-seed0.csv").read_text() == "models/tiny-seed0.csv"
    assert (root / "results/figures/a.png").read_text() == "figures/a.png"


def test_only_this_commits_runs_are_exported(root: Path, tmp_path: Path) -> None:
    """Nothing has run; something has; the code moved on since."""
    with pytest.raises(BadInput, match=r"nothing to pack.*pcgraph run 01-tiny --profile paper"):
        transfer.export("paper", tmp_path)
    shutil.copy(root / f"notebooks/{NAME}.md", root / "notebooks/02-other.md")
    ran()
    _, missing = transfer.export("paper", tmp_path)
    assert missing == ["02-other"] and notebooks.is_done(NAME, "paper") and not notebooks.is_done("02-other", "paper")
    git(root, "commit", "-qm", "second", "--allow-empty")
    assert not notebooks.is_done(NAME, "paper")
    with pytest.raises(BadInput, match="nothing to pack"):
        transfer.export("paper", tmp_path)


def test_runs_of_changed_code_are_not_exported(root: Path, tmp_path: Path) -> None:
    """A number that no commit accounts for does not travel."""
    (root / "config/models.yaml").open("a").write("\n# edited\n")
    ran()
    with pytest.raises(BadInput, match="nothing to pack"):
        transfer.export("paper", tmp_path)


@pytest.mark.parametrize(("edit", "words"), [
    (changed_json(f"records/{NAME}.json", lambda data: data["records"][0].update(value=0.9)),
     "'records/01-tiny.json' is damaged: expected SHA-256 .* found"),
    (lambda content: content.pop(f"notebooks/{NAME}.ipynb"), "'notebooks/01-tiny.ipynb' is missing"),
    (lambda content: content.update({"figures/extra.png": b""}), "'figures/extra.png' is not in the manifest"),
    (lambda content: content.pop("manifest.json"), "no manifest"),
    (lambda content: content.update({"manifest.json": b"{"}), "no manifest"),
    (changed_json("manifest.json", lambda data: data.update(schema_version=2)), "schema 2.* reads 1"),
    (changed_json("manifest.json", lambda data: data.update(schema_version="1")), "schema '1'.* reads 1"),
], ids=["byte", "missing", "extra", "no manifest", "broken manifest", "later schema", "schema as text"])
def test_archives_that_are_not_whole(root: Path, tmp_path: Path, edit: Edit, words: str) -> None:
    """Damage between the two hosts, with the file and the digests."""
    ran()
    refused(root, edited(exported(tmp_path), edit, sign=False), words)


def test_misspelt_manifest(root: Path, tmp_path: Path) -> None:
    """A key that the schema does not have."""
    ran()
    edit = changed_json("manifest.json", lambda data: data.update(comit="x"))
    refused(root, edited(exported(tmp_path), edit, sign=False), "no key 'comit'.*Did you mean 'commit'", BadInput)


@pytest.mark.parametrize("keep", [0, 100, 0.5])
def test_cut_archives(root: Path, tmp_path: Path, keep: float) -> None:
    """A copy that stopped early, or is no archive at all."""
    ran()
    archive = exported(tmp_path)
    content = archive.read_bytes()
    archive.write_bytes(content[:keep if isinstance(keep, int) else int(keep * len(content))])
    refused(root, archive, "cannot be unpacked")
    refused(root, tmp_path / "no-such.tar.gz", "cannot be unpacked.*No such file")


@pytest.mark.parametrize("name", ["../evil.json", "/evil.json", "records/../../evil.json", "records/a/b.json",
                                  "records/.hidden.json", "notebooks/x.py", "evil.json", "records", "./manifest.json"])
def test_names_that_lead_elsewhere(root: Path, tmp_path: Path, name: str) -> None:
    """Refused before a byte is unpacked, however well signed."""
    ran()
    archive = edited(exported(tmp_path), lambda content: content.update({name: b"{}"}))
    refused(root, archive, "which no archive of results has.*Nothing was unpacked")
    assert not list(tmp_path.rglob("evil*"))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE])
def test_members_that_are_no_plain_files(root: Path, tmp_path: Path, kind: bytes) -> None:
    """Links, pipes and folders."""
    ran()
    archive = exported(tmp_path)
    member = tarfile.TarInfo("records/link.json")
    member.type, member.linkname = kind, "../../../etc/passwd"
    with tarfile.open(archive) as old:
        content = [(one, old.extractfile(one).read()) for one in old.getmembers()]
    with tarfile.open(archive, "w:gz") as new:
        for one, data in content:
            new.addfile(one, io.BytesIO(data))
        new.addfile(member)
    refused(root, archive, "'records/link.json', which no archive of results has")


def test_a_name_given_twice_and_too_much(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second of two files could hide behind the first; a small archive can unpack to a full disk."""
    ran()
    archive = exported(tmp_path)
    monkeypatch.setattr(transfer, "LARGEST", 100)
    refused(root, archive, "would unpack to")
    monkeypatch.undo()
    monkeypatch.setattr(config, "ROOT", root)
    with tarfile.open(archive) as old:
        content = [(one, old.extractfile(one).read()) for one in old.getmembers()]
    with tarfile.open(archive, "w:gz") as new:
        for one, data in [*content, content[-1]]:
            new.addfile(one, io.BytesIO(data))
    refused(root, archive, "twice")


def other_commit(content: dict[str, bytes]) -> None:
    """As if everything had been made at a commit of another history."""
    for name in ("manifest.json", f"records/{NAME}.json"):
        data = json.loads(content[name])
        data["provenance"]["commit"] = "a" * 40
        content[name] = json.dumps(data | ({"commit": "a" * 40} if name == "manifest.json" else {})).encode()


def changed_code(content: dict[str, bytes]) -> None:
    """As if the code had been edited on the host."""
    for name in ("manifest.json", f"records/{NAME}.json"):
        data = json.loads(content[name])
        data["provenance"]["dirty"] = True
        content[name] = json.dumps(data).encode()


@pytest.mark.parametrize(("edit", "words"), [(other_commit, "'aaaaa.*not in the history"),
                                             (changed_code, "code that differed from its commit")])
def test_numbers_of_other_code(root: Path, tmp_path: Path, edit: Edit, words: str) -> None:
    """Refused, unless the reader says that it is known."""
    ran()
    archive = edited(exported(tmp_path), edit)
    refused(root, archive, words, BadInput)
    transfer.add(archive, other_code=True)
    assert (root / f"results/records/{NAME}.json").is_file()


def test_a_commit_that_exists_on_another_branch_is_not_in_this_history(root: Path, tmp_path: Path) -> None:
    """That git has the object is not enough; merging it is."""
    main = git(root, "branch", "--show-current")
    git(root, "checkout", "-qb", "side")
    git(root, "commit", "-qm", "beside", "--allow-empty")
    ran()
    archive = exported(tmp_path)
    git(root, "checkout", "-q", main)
    refused(root, archive, "not in the history", BadInput)
    git(root, "merge", "-q", "side")
    transfer.add(archive)


def first_row(change: Callable[[dict], None]) -> Edit:
    """An edit of the first record."""
    return changed_json(f"records/{NAME}.json", lambda data: change(data["records"][0]))


def failing_page(content: dict[str, bytes]) -> None:
    """An executed notebook that stopped with an error."""
    page = nbformat.reads(content[f"notebooks/{NAME}.ipynb"].decode(), as_version=4)
    page.cells[0].outputs = [nbformat.v4.new_output("error", ename="ValueError", evalue="no", traceback=[])]
    content[f"notebooks/{NAME}.ipynb"] = nbformat.writes(page).encode()


def renamed(content: dict[str, bytes]) -> None:
    """Notebook and records of a page that this checkout does not have."""
    for name in [name for name in content if NAME in name]:
        content[name.replace(NAME, "01-tinny")] = content.pop(name)


@pytest.mark.parametrize(("edit", "words"), [
    (renamed, "no notebook '01-tinny'.*Did you mean '01-tiny'"),
    (first_row(lambda row: row.update(value="0.5")), r"is not a records file"),
    (first_row(lambda row: row.update(valeu=1)), r"(?s)is not a records file.*valeu"),
    (first_row(lambda row: row.update(value=float("nan"))), "is nan, or there twice"),
    (first_row(lambda row: row.update(seed=1)), "or there twice"),
    (first_row(lambda row: row.update(claim="gen-z")), "no claim 'gen-z'"),
    (first_row(lambda row: row.update(quantity="denoised_mes")), "Did you mean 'denoised_mse'"),
    (changed_json(f"records/{NAME}.json", lambda data: data.update(profile="smoke")), "says profile 'smoke'"),
    (changed_json(f"records/{NAME}.json", lambda data: data.update(notebook="02")), "says notebook '02'"),
    (changed_json(f"records/{NAME}.json", lambda data: data["provenance"].update(commit="b")), "says commit 'b'"),
    (changed_json(f"records/{NAME}.json", lambda data: data["provenance"].update(dirty=True)), "says dirty True"),
    (changed_json(f"records/{NAME}.json", lambda data: data["provenance"].pop("device")), "is not a records file"),
    (failing_page, "stopped with ValueError: no"),
    (lambda content: content.pop(f"notebooks/{NAME}.ipynb"), "needs the executed notebook '01-tiny'"),
    (lambda content: content.pop(f"records/{NAME}.json"), "is not a records file"),
    (lambda content: content.update({f"notebooks/{NAME}.ipynb": b"{}"}), "is not a notebook"),
])
def test_well_signed_archives_with_wrong_content(root: Path, tmp_path: Path, edit: Edit, words: str) -> None:
    """A digest says that a file arrived, not that it is right: the schemas say that."""
    ran()
    refused(root, edited(exported(tmp_path), edit), words, PCGraphError)


@pytest.mark.parametrize(("more", "words"), [
    ({"seeds": 5}, r"denoised_mse of claim gen-c \(mnist, tiny\) is here with 5 seeds, in the archive with 3"),
    ({"n": 500}, "is here with 500 examples, in the archive with 20"),
    ({"quantities": ("denoised_mse", "noisy_mse")}, "noisy_mse of claim gen-c .* is here and not in the archive"),
    ({"date": LATER}, "what is here was made later, 2033-01-01"),
])
def test_what_is_published_is_not_lost_unasked(root: Path, tmp_path: Path, more: dict, words: str) -> None:
    """More seeds, more examples, more quantities or a later run stay, unless --replace is given."""
    ran()
    weaker = exported(tmp_path / "weaker")
    ran(**more)
    stronger = exported(tmp_path / "stronger")
    transfer.add(stronger)
    refused(root, weaker, words, BadInput)
    change, = transfer.add(weaker, replace=True)
    assert len(change.lost) == 1 and len(records.read(root / "results/records")) == 3


@pytest.mark.parametrize("more", [{"seeds": 5}, {"n": 500}, {"quantities": ("denoised_mse", "noisy_mse")}, {}])
def test_what_is_more_is_taken_over(root: Path, tmp_path: Path, more: dict) -> None:
    """Over an earlier run with less, without further ado."""
    ran(date=EARLIER)
    transfer.add(exported(tmp_path / "weaker"))
    ran(**more)
    change, = transfer.add(exported(tmp_path / "stronger"))
    assert change.lost == () and change.here.startswith("3 records, 3 seeds, a processor, commit ")


def test_all_or_nothing(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that fails at the second of two files leaves the first as it was."""
    ran(date=EARLIER)
    transfer.add(exported(tmp_path / "first"))
    ran(seeds=5)
    archive = exported(tmp_path / "second")
    real = os.rename
    for failing in (1, 2):
        calls: list[Path] = []

        def replace(source: Path, target: Path, calls: list[Path] = calls, failing: int = failing) -> None:
            calls.append(target)
            if len(calls) == failing:
                raise OSError(28, "No space left on device")
            real(source, target)

        with monkeypatch.context() as patch:
            patch.setattr(files.os, "replace", replace)
            refused(root, archive, "No space left", PCGraphError)
        assert len(calls) == failing
    assert transfer.add(archive)
