"""Live parts reach their pages, and what they load is what the export says. Oracles: files written by the test; the
matrices before they were rounded; the constructors and results that the exported files are made from."""

import base64
import hashlib
import re
from pathlib import Path

import export_live
import jupytext
import live_files
import numpy as np
import pytest
import torch
from PIL import Image

from reproduction.book import live
from reproduction.checkout import ROOT

DATA = ROOT / "book/live/data"
MODELS = sorted(path.stem for path in DATA.glob("model-*.js"))


def test_a_part_stands_where_a_page_names_it() -> None:
    """In a cell of its own; the others stay as they are."""
    found = {}
    for path in sorted((ROOT / "notebooks").glob("*.md")):
        notebook = jupytext.read(path)
        before = [cell.source for cell in notebook.cells]
        live.insert(ROOT, notebook)
        for was, cell in zip(before, notebook.cells, strict=True):
            if was != cell.source:
                assert cell.cell_type == "markdown" and cell.source.startswith('<section class="pc-live"')
                found[path.stem] = was
    assert found == {"02-pc-graphs": "<!-- live: ring -->", "04a-topologies": "<!-- live: masks -->",
                     "i-relaxed-time": "<!-- live: relaxed -->"}


def test_a_staged_book_holds_scripts_and_words(tmp_path: Path) -> None:
    live.place(ROOT, tmp_path, {"noise": "99.4 %"})
    assert {path.name for path in (tmp_path / "vendor/live").iterdir()} >= {"start.js", "engine.js", "live.css", "data"}
    for part, words in live.parts(ROOT).items():
        alt, text = live.IMAGE.search(words)[1], (tmp_path / f"book/generated/live-{part}.md").read_text()
        with Image.open(ROOT / f"book/live/stills/{part}.png") as still:
            assert still.width > 1500 and f'width="{still.width // 2}"' in text           # as sharp as a phone shows it
        assert f'src="../live/stills/{part}.png"' in text and f'alt="{alt}"' in text and len(alt) > 40
        assert len(text.partition("</script>")[2].split()) > 30            # says what to see
    home, memory = ((tmp_path / f"book/generated/{name}.md").read_text() for name in ("home", "live-memory"))
    assert 'data-brief="yes"' in home and "data-brief" not in memory and 'data-noise="99.4 %"' in memory
    play = (ROOT / "book/play.md").read_text()
    assert all(f"generated/live-{part}.md" in play for part in live.parts(ROOT))


def test_every_script_that_starts_is_there_and_nothing_comes_from_elsewhere() -> None:
    folder = ROOT / "book/live"
    start = (folder / "start.js").read_text()
    assert set(re.findall(r'"(\w+\.js)"', start)) <= {path.name for path in folder.glob("*.js")}
    assert set(re.findall(r"(\w+): \[", start)) == live.parts(ROOT).keys()
    for path in [*folder.glob("*.js"), folder / "live.css"]:
        text = path.read_text().replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?://|\bfetch\(|^\s*(import|export)\b|XMLHttpRequest", text, re.MULTILINE), path.name


def test_weights_come_back_as_near_as_one_of_255_levels_allows() -> None:
    matrix = torch.randn(7, 12) * torch.logspace(-3, 1, 7)[:, None]
    matrix[3] = 0
    block = export_live.quantized(matrix)
    largest = matrix.abs().amax(1, keepdim=True)
    assert ((live_files.restored(block) - matrix).abs() <= 0.51 / 127 * largest + 1e-7).all()


@pytest.mark.parametrize("file", MODELS)
def test_an_exported_model_says_where_it_comes_from(file: str) -> None:
    about = live_files.content(DATA / f"{file}.js")
    made = about["provenance"]
    assert f"model-{made['model']}" == file and made["profile"] == "paper" and len(made["weights_sha256"]) == 64
    assert made["exported_sha256"] == hashlib.sha256("".join(b["data"] for b in about["blocks"]).encode()).hexdigest()
    assert len(made["exported_at"].removesuffix("-dirty")) == 40 and len(made["trained"]["commit"]) == 40
    assert sum(stop - start for start, stop in about["groups"].values()) == about["n"]


def test_exported_files_are_what_they_were_made_from() -> None:
    """Models that are there, six test digits of each class, recorded scores. Where the last fails, results moved:
    python scripts/export_live.py scores."""
    listed = live_files.content(DATA / "models.js")
    assert sorted(one["file"] for one in [*listed["graphs"], listed["memory"]]) == MODELS
    assert len(live_files.content(DATA / "memories.js")["labels"]) == 100
    held, shown = live_files.content(DATA / "digits.js"), export_live.chosen_digits()
    assert np.bincount(held["labels"]).tolist() == [6] * 10 and held["labels"] == shown.labels.tolist()
    assert base64.b64decode(held["images"]) == export_live.to_bytes(shown.images).tobytes()
    assert live_files.content(DATA / "relaxed-time.js") == export_live.scores()


def test_masks_are_what_the_constructors_make() -> None:
    for row in live_files.content(DATA / "masks.js"):
        topology = export_live.made(*export_live.TOPOLOGIES[row["title"]]["small"])
        bits = np.unpackbits(np.frombuffer(base64.b64decode(row["mask"]), np.uint8))[:row["n"] ** 2]
        assert bits.reshape(row["n"], row["n"]).tolist() == topology.mask().int().tolist()
        assert row["edges"] == int(topology.mask().sum()) == sum(pair["edges"] for pair in row["pairs"])
