"""Data sets, their sources and checks. Oracles: the published digests, and small files that each test writes itself."""

import gzip
import hashlib
import json
import lzma
import pickle
import shutil
import struct
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pytest
import scipy.io
import torch
from pictures import seeded
from PIL import Image
from torchvision import datasets as vision

from pcgraph_lite.errors import BadFile
from pcgraph_lite.images import datasets, sources

# As other projects publish them: first hexadecimal digits of the unpacked files' SHA-256, in the order train images,
# train labels, test images, test labels. (9018921c... sometimes seen for the last one is an MD5, of the train labels.)
PUBLISHED = {
    "mnist": ("ba891046e6505d7a", "65a50cbbf4e906d7", "0fa7898d509279e4", "ff7bcfd416de3373"),
    "fashion": ("c59f468a2f672dc8", "bad3541b69d91243", "5b4141f0afbad91e", "0402a96d92fd2663"),
}
RNG = np.random.default_rng(0)
PACK = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress}


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path):
    """No network, no package manager, no data folder, an empty cache: a test sees only what it writes."""
    def offline(*_args, **_kwargs):
        raise URLError("no network in this test")

    monkeypatch.delenv("PCGRAPH_DATA", raising=False)
    monkeypatch.setenv("PCGRAPH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "others"))               # ours comes first
    monkeypatch.setattr(sources, "DEBIAN_FASHION", tmp_path / "no-debian-package")
    monkeypatch.setattr(sources.shutil, "which", lambda _: None)
    for kind in (vision.MNIST, vision.CIFAR10, vision.SVHN):
        monkeypatch.setattr(kind, "download", offline)


def idx(array: np.ndarray) -> bytes:
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes()


def tiny_idx(monkeypatch, folder: Path, ending: str = ".gz", name: str = "mnist") -> dict[str, np.ndarray]:
    """Write a data set of 20 + 10 images in the idx format, and make its digests the expected ones."""
    folder.mkdir(parents=True, exist_ok=True)
    arrays, digests = {}, {}
    for prefix, count in (("train", 20), ("t10k", 10)):
        arrays[f"{prefix}-images-idx3-ubyte"] = RNG.integers(0, 256, (count, 28, 28), dtype=np.uint8)
        arrays[f"{prefix}-labels-idx1-ubyte"] = np.arange(count, dtype=np.uint8) % 10
    for file, array in arrays.items():
        digests[file] = hashlib.sha256(idx(array)).hexdigest()
        (folder / (file + ending)).write_bytes(PACK[ending](idx(array)))
    monkeypatch.setitem(sources.DIGESTS, name, digests)
    return arrays


@pytest.mark.parametrize("name", ["mnist", "fashion"])
@pytest.mark.parametrize(("split", "a_class"), [("train", 500), ("test", 100)])
def test_sample_is_balanced_and_normalised(name, split, a_class):
    data = datasets.load(name, split, sample=True)
    assert data.images.shape == (10 * a_class, 784) and data.images.dtype == torch.float32
    assert data.labels.dtype == torch.int64 and data.labels.bincount().tolist() == [a_class] * 10
    assert (data.images.min(), data.images.max()) == (0, 1)
    assert torch.equal(data.images * 255, (data.images * 255).round()), "real bytes, nothing resampled"
    assert len(data.images.unique(dim=0)) == len(data), "no image twice"
    assert split == "train" or set(data.subset(100).labels.tolist()) == set(range(10)), "the first hold every class"
    assert data.shape == (1, 28, 28) and data.source == "bundled sample"


def test_a_sample_writes_nothing_and_is_refused_where_it_is_damaged(tmp_path, monkeypatch):
    datasets.load("mnist", "test", sample=True)
    assert not (tmp_path / "cache").exists()
    copy = tmp_path / "sample"
    shutil.copytree(sources.SAMPLE, copy)
    monkeypatch.setattr(sources, "SAMPLE", copy)
    file = copy / "mnist" / "t10k-labels-idx1-ubyte.gz"
    file.write_bytes(gzip.compress(b"something else"))
    with pytest.raises(BadFile, match=f"{file} is damaged.*expected SHA-256 .*found"):
        datasets.load("mnist", "test", sample=True)
    file.unlink()
    with pytest.raises(BadFile, match=r"sample is incomplete.*t10k-labels"):
        datasets.load("mnist", "test", sample=True)


def test_expected_digests_are_the_published_ones_of_the_sample_too():
    for name, prefixes in PUBLISHED.items():
        assert tuple(digest[:16] for digest in sources.DIGESTS[name].values()) == prefixes, name
    assert all(len(digest) == 64 for files in sources.DIGESTS.values() for digest in files.values())
    drawn_from = json.loads((sources.SAMPLE / "digests.json").read_text())["drawn from"]
    assert drawn_from == {name: sources.DIGESTS[name] for name in PUBLISHED}


@pytest.mark.parametrize("ending", ["", ".gz", ".xz"])
@pytest.mark.parametrize(("home", "dash"), [("MNIST/raw", "-"), ("MNIST", "-"), ("MNIST/raw", ".")])
def test_idx_files_are_read_packed_or_not_from_a_read_only_folder(monkeypatch, tmp_path, ending, home, dash):
    """Some unpackers write train-images.idx3-ubyte."""
    arrays = tiny_idx(monkeypatch, tmp_path / "data" / home, ending)
    for file in list((tmp_path / "data" / home).iterdir()):
        file.rename(file.with_name(file.name.replace("-idx", f"{dash}idx")))
    (tmp_path / "data" / home).chmod(0o555)
    monkeypatch.setenv("PCGRAPH_DATA", str(tmp_path / "data"))
    data = datasets.load("mnist", "test")
    expected = torch.from_numpy(arrays["t10k-images-idx3-ubyte"]).view(10, 784) / 255
    assert torch.equal(data.images, expected) and data.labels.tolist() == list(range(10))
    assert data.source == "$PCGRAPH_DATA" and not (tmp_path / "cache").exists()


def test_the_first_place_with_all_files_counts(monkeypatch, tmp_path):
    tiny_idx(monkeypatch, tmp_path / "cache" / "MNIST" / "raw")
    assert datasets.load("mnist").source == "user's cache"
    shutil.copytree(tmp_path / "cache", tmp_path / "data")
    monkeypatch.setenv("PCGRAPH_DATA", str(tmp_path / "data"))
    assert datasets.load("mnist").source == "$PCGRAPH_DATA"
    assert datasets.load("mnist", root=tmp_path / "cache").source == "folder given"
    with pytest.raises(BadFile, match="folder given: no such folder as"):
        datasets.load("mnist", root=tmp_path / "nowhere")
    (tmp_path / "cache" / "MNIST" / "raw" / "train-labels-idx1-ubyte.gz").unlink()
    with pytest.raises(sources.NotFound):                                  # which is no damage
        datasets.load("mnist", root=tmp_path / "cache")


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "other"])
@pytest.mark.parametrize("ending", [".gz", ".xz"])
def test_damaged_file_is_named_and_the_next_place_is_not_asked(monkeypatch, tmp_path, damage, ending):
    tiny_idx(monkeypatch, tmp_path / "cache" / "MNIST" / "raw", ending)
    shutil.copytree(tmp_path / "cache", tmp_path / "data")
    monkeypatch.setenv("PCGRAPH_DATA", str(tmp_path / "data"))
    file = tmp_path / "data" / "MNIST" / "raw" / f"train-images-idx3-ubyte{ending}"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes({"cut": content[:len(content) // 2], "flip": content, "empty": b"",
                      "other": gzip.compress(b"<html>log in first</html>")}[damage])
    expected = sources.DIGESTS["mnist"]["train-images-idx3-ubyte"]
    with pytest.raises(BadFile, match=f"{file} is damaged.*expected SHA-256 {expected}, found .*delete or replace"):
        datasets.load("mnist")


@pytest.mark.parametrize(("name", "advice"), [("mnist", "MNIST/raw"), ("fashion", "dataset-fashion-mnist"),
                                              ("cifar10", "cifar-10-batches-py"), ("svhn", "train_32x32.mat")])
def test_no_place_lists_each_with_its_reason_and_what_to_do(tmp_path, name, advice):
    with pytest.raises(BadFile) as caught:
        datasets.load(name)
    text = str(caught.value)
    for part in ("$PCGRAPH_DATA: not set", "user's cache: no such folder", "torchvision's download:", "no network in",
                 "What to do:", advice, "set PCGRAPH_DATA=FOLDER"):
        assert part in text, part
    assert ("sample=True" in text) == (name in ("mnist", "fashion"))
    assert list((tmp_path / "cache").glob("*")) == [], "nothing half downloaded"


def test_a_download_goes_into_the_cache_is_not_repeated_and_not_kept_where_it_is_damaged(monkeypatch, tmp_path):
    def download(self):
        shutil.copytree(tmp_path / "server", raw := Path(self.root) / "MNIST" / "raw")
        for file in (tmp_path / "server").iterdir():                      # torchvision also unpacks beside the .gz
            (raw / file.stem).write_bytes(gzip.decompress(file.read_bytes()))

    tiny_idx(monkeypatch, tmp_path / "server")
    monkeypatch.setattr(vision.MNIST, "download", download)
    with monkeypatch.context() as other:
        other.setitem(sources.DIGESTS["mnist"], "train-images-idx3-ubyte", "0" * 64)
        with pytest.raises(BadFile, match=r"was not kept.*expected SHA-256 0000"):
            datasets.load("mnist")
    assert list((tmp_path / "cache").iterdir()) == []
    assert datasets.load("mnist").source == "torchvision's download"
    assert datasets.load("mnist", "test").source == "user's cache"
    kept = sorted(path.relative_to(tmp_path / "cache").as_posix() for path in (tmp_path / "cache").rglob("*.*"))
    assert kept == [f"MNIST/raw/{file}.gz" for file in sorted(sources.DIGESTS["mnist"])]


def test_an_installed_debian_package_is_read_in_place_and_an_unwritable_cache_is_a_reason(monkeypatch, tmp_path):
    tiny_idx(monkeypatch, tmp_path / "usr", name="fashion")
    monkeypatch.setattr(sources, "DEBIAN_FASHION", tmp_path / "usr")
    assert datasets.load("fashion").source == "Debian package"
    assert len(list((tmp_path / "usr").iterdir())) == 4, "nothing moved away"
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PCGRAPH_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(BadFile, match=r"torchvision's download: .*Not a directory"):
        datasets.load("mnist")


@pytest.fixture
def tiny_cifar(monkeypatch):
    """Six batches of four images, sheets of 1 x 2 images, two sheets a batch; digests of the official form."""
    images = RNG.integers(0, 256, (24, 3, 32, 32), dtype=np.uint8)
    labels = RNG.integers(0, 10, 24, dtype=np.uint8)
    monkeypatch.setattr(sources, "SHEET_ROWS", 1)
    monkeypatch.setattr(sources, "SHEET_COLUMNS", 2)
    monkeypatch.setattr(sources, "SHEETS_A_BATCH", 2)
    names = [f"data_batch_{number}" for number in range(1, 6)] + ["test_batch"]
    for number, name in enumerate(names):
        content = b"".join(bytes([labels[row]]) + images[row].tobytes() for row in range(4 * number, 4 * number + 4))
        monkeypatch.setitem(sources.DIGESTS["cifar10"], name, hashlib.sha256(content).hexdigest())
    return images, labels, names


def test_cifar10_sheets_give_colour_planes_and_labels_and_damage_is_named(tiny_cifar, tmp_path):
    images, labels, _ = tiny_cifar
    (folder := tmp_path / "CIFAR10").mkdir()
    for sheet, pair in enumerate(images.reshape(12, 2, 3, 32, 32)):
        name = f"train_{sheet:02d}" if sheet < 10 else f"test_{sheet - 10:02d}"
        Image.fromarray(pair.transpose(2, 0, 3, 1).reshape(32, 64, 3)).save(folder / f"{name}.webp", lossless=True)
    np.savez(folder / "labels.npz", train=labels[:20], test=labels[20:])
    train, test = (datasets.load("cifar10", split, root=tmp_path) for split in ("train", "test"))
    assert torch.equal(train.images, torch.from_numpy(images[:20]).reshape(20, 3072) / 255)
    assert test.labels.tolist() == labels[20:].tolist() and test.shape == (3, 32, 32)
    good = (folder / "train_03.webp").read_bytes()
    shutil.copy(folder / "train_02.webp", folder / "train_03.webp")
    expected = sources.DIGESTS["cifar10"]["data_batch_2"]
    with pytest.raises(BadFile, match=rf"train_02\.webp to train_03\.webp or labels\.npz.*{expected}, found"):
        datasets.load("cifar10", root=tmp_path)
    (folder / "train_03.webp").write_bytes(good)
    np.savez(folder / "labels.npz", train=labels[:19], test=labels[20:])
    with pytest.raises(BadFile, match=r"labels\.npz is damaged"):
        datasets.load("cifar10", root=tmp_path)
    (folder / "train_03.webp").unlink()
    with pytest.raises(sources.NotFound):
        datasets.load("cifar10", root=tmp_path)


def test_cifar10_batches_go_through_torchvision_with_the_same_digests(tiny_cifar, tmp_path, monkeypatch):
    images, labels, names = tiny_cifar
    folder = tmp_path / "CIFAR10" / "cifar-10-batches-py"
    folder.mkdir(parents=True)
    sums = []
    for number, name in enumerate(names):
        rows = slice(4 * number, 4 * number + 4)
        content = pickle.dumps({"data": images[rows].reshape(4, 3072), "labels": labels[rows].tolist()})
        (folder / name).write_bytes(content)
        sums.append([name, hashlib.md5(content).hexdigest()])
    meta = pickle.dumps({"label_names": datasets.CLASS_NAMES["cifar10"]})
    (folder / "batches.meta").write_bytes(meta)
    monkeypatch.setattr(vision.CIFAR10, "train_list", sums[:5])
    monkeypatch.setattr(vision.CIFAR10, "test_list", sums[5:])
    monkeypatch.setattr(vision.CIFAR10, "meta", vision.CIFAR10.meta | {"md5": hashlib.md5(meta).hexdigest()})
    train = datasets.load("cifar10", root=tmp_path)
    assert torch.equal(train.images, torch.from_numpy(images[:20]).reshape(20, 3072) / 255)
    assert train.labels.tolist() == labels[:20].tolist()
    (folder / "data_batch_3").write_bytes(b"not what was published")
    with pytest.raises(BadFile, match=f"data_batch_3 is damaged or another file: expected MD5 {sums[2][1]}, found"):
        datasets.load("cifar10", root=tmp_path)


def accept(monkeypatch, content: bytes) -> None:
    monkeypatch.setitem(sources.DIGESTS["svhn"], "test_32x32.mat", hashlib.sha256(content).hexdigest())
    entry = [*vision.SVHN.split_list["test"][:2], hashlib.md5(content).hexdigest()]
    monkeypatch.setitem(vision.SVHN.split_list, "test", entry)


def test_svhn_is_read_through_torchvision_and_a_truncated_file_is_named(tmp_path, monkeypatch):
    """A .mat file of SVHN's format: X (32, 32, 3, count), y (count, 1) from 1 to 10, where 10 is the digit 0."""
    images, path = RNG.integers(0, 256, (7, 3, 32, 32), dtype=np.uint8), tmp_path / "SVHN" / "test_32x32.mat"
    path.parent.mkdir()
    labels = np.array([10, 1, 2, 9, 10, 5, 4], dtype=np.uint8)
    scipy.io.savemat(path, {"X": images.transpose(2, 3, 1, 0), "y": labels[:, None]})
    accept(monkeypatch, path.read_bytes())
    data = datasets.load("svhn", "test", root=tmp_path)
    assert torch.equal(data.images, torch.from_numpy(images).reshape(7, 3072) / 255)
    assert data.labels.tolist() == [0, 1, 2, 9, 0, 5, 4] and data.shape == (3, 32, 32)
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(BadFile, match=r"test_32x32\.mat is damaged.*expected SHA-256"):
        datasets.load("svhn", "test", root=tmp_path)
    accept(monkeypatch, path.read_bytes())                    # even if the digest were right
    with pytest.raises(BadFile, match=r"not a readable \.mat file"):
        datasets.load("svhn", "test", root=tmp_path)


def test_subset_and_split_share_nothing_and_lose_nothing():
    data = datasets.ImageSet("mnist", torch.arange(12).float()[:, None].expand(12, 784) / 12, torch.arange(12),
                             (1, 28, 28), "made here")
    assert data.subset(5).labels.tolist() == [0, 1, 2, 3, 4]
    drawn = data.subset(5, seeded())
    assert len(set(drawn.labels.tolist())) == 5 and torch.equal(drawn.images[:, 0] * 12, drawn.labels.float())
    assert torch.equal(drawn.labels, data.subset(5, seeded()).labels)
    rest, held_out = datasets.split_off(data, 4, seeded(1))
    assert sorted(rest.labels.tolist() + held_out.labels.tolist()) == list(range(12)) and len(held_out) == 4


@pytest.mark.parametrize(("size", "shape"), [((4, 6), (1, 4, 6)), ((3, 4, 6), (3, 4, 6))])
def test_image_set_takes_pictures_as_fit_does(size, shape):
    pictures, labels = torch.rand(2, *size), torch.tensor([1, 0])
    made = datasets.ImageSet("mine", pictures, labels)
    assert torch.equal(made.images, pictures.flatten(1)) and made.shape == shape and len(made) == 2
    assert made.take(torch.tensor([1])).labels.tolist() == [0]
    assert torch.equal(datasets.ImageSet("mine", pictures, labels.to(torch.uint16)).labels, labels)


def test_noise_has_the_variance_asked_for():
    clean = torch.full((500, 784), 0.5)
    noise = datasets.noisy(clean, 0.5, seeded()) - clean
    assert noise.mean().item() == pytest.approx(0, abs=5e-3)          # standard error 0.0011
    assert noise.var().item() == pytest.approx(0.5, rel=0.02)         # standard error 0.0011
    assert torch.equal(clean, torch.full((500, 784), 0.5)), "the input is not changed"
    assert torch.equal(datasets.noisy(clean, 0.5, seeded()), datasets.noisy(clean, 0.5, seeded()))
    clipped = datasets.noisy(clean, 0.5, seeded(), clip=True)
    assert (clipped.min(), clipped.max()) == (0, 1)
    assert torch.equal(datasets.noisy(clean, 0.0, seeded()), clean)


@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 32, 32)])
def test_masks_mark_whole_rows_of_every_colour(shape):
    channels, height, width = shape
    top, bottom = datasets.top_half(shape), datasets.bottom_half(shape)
    assert top.dtype == torch.bool and top.shape == (channels * height * width,)
    assert top.view(shape)[:, :height // 2].all() and not top.view(shape)[:, height // 2:].any()
    assert torch.equal(bottom, ~top)
    third = datasets.bottom_fraction(shape, 0.33).view(shape)
    assert third.any(2).sum(1).tolist() == [round(0.33 * height)] * channels
    assert third[:, -1].all() and not third[:, 0].any()
    assert datasets.bottom_fraction(shape, 1.0).all()


def test_status_tells_present_from_missing_from_damaged(monkeypatch, tmp_path):
    tiny_idx(monkeypatch, tmp_path / "MNIST" / "raw")
    (tmp_path / "MNIST" / "raw" / "t10k-labels-idx1-ubyte.gz").write_bytes(b"")
    monkeypatch.setenv("PCGRAPH_DATA", str(tmp_path))
    rows = {(row["name"], row["split"]): row for row in datasets.status()}
    assert rows["mnist (sample)", "train"]["count"] == 5000 and len(rows) == 12
    assert (rows["mnist", "train"]["checked"], rows["mnist", "train"]["count"]) == ("yes", 20)
    assert rows["mnist", "test"]["checked"] == "damaged" and "t10k-labels" in rows["mnist", "test"]["where"]
    assert rows["svhn", "train"]["checked"] == "missing" and "What to do" in rows["svhn", "train"]["where"]
