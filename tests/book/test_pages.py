"""The commands that each page shows are there, and they work as they stand. Oracle: the shell itself, run on the line
of the page."""

import re
from pathlib import Path

import jupytext
import nbformat
import pytest
import renew_published

from reproduction import checkout
from reproduction.book import gate, notebooks
from reproduction.evidence import claims, config

PUBLISHED = sorted((checkout.ROOT / "book" / "notebooks").glob("*.ipynb"))
PAGES = sorted((checkout.ROOT / "notebooks").glob("*.md"))
SERVES = {claim.notebook for claim in claims.load_claims().values()}       # the others have no claim to begin with


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_says_why_and_how_to_run_it_and_asks_one_question(page: Path) -> None:
    text = " ".join(page.read_text().split())
    begin, _, turn = text.partition("## Your turn")
    opens = ["**Claim.**"] if page.stem in SERVES else ["**Claim.**", "**What this page shows.**"]
    assert sum(begin.count(words) for words in opens) == 1
    assert all(begin.count(f"**{words}**") == 1 for words in ("Why it matters.", "How it is tested."))
    assert "## Verdict" in begin and turn.index("```{dropdown} Answer ") < turn.index(
        f"pcgraph run {page.stem} --profile laptop -p ")
    assert turn.count("**Question.**") == text.count("**Question.**") == turn.count("```{dropdown} Answer ") == 1
    assert f"jupytext --to ipynb -o - notebooks/{page.stem}.md | papermill - out.ipynb -p " in turn


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_ci_executes_is_the_page_s_code(page: Path) -> None:
    """Of the smoke outputs; text may differ, because nothing of it is compared."""
    kept = nbformat.read(checkout.ROOT / "tests/notebooks" / f"{page.stem}.ipynb", as_version=4)
    ran = [cell.source.strip() for cell in kept.cells
           if cell.cell_type == "code" and "injected-parameters" not in cell.metadata.get("tags", [])]
    assert ran == [cell.source.strip() for cell in jupytext.read(page).cells if cell.cell_type == "code"], (
        f"run python tests/renew.py {page.stem} and commit the result alone")


def test_every_reference_is_cited() -> None:
    pages = [*PAGES, *(checkout.ROOT / "book").rglob("*.md")]
    cited = {key for page in pages for keys in re.findall(r"\{cite:?[a-z]*\}`([^`]+)`", page.read_text())
             for key in keys.split(",")}
    assert set(re.findall(r"@\w+\{(\w+),", (checkout.ROOT / "book/references.bib").read_text())) == cited


@pytest.mark.parametrize("page", PUBLISHED, ids=lambda page: page.stem)
def test_a_published_page_has_figures_no_warning_no_folder_of_one_machine_and_its_parameters(page: Path) -> None:
    """A cell with a caption shows a picture. The run was given a folder relative to the checkout, see
    results/README.md; no cell warned, which would name the file of the cell. What papermill noted stands against the
    parameters of the profile and of its key `published`; a page that ran with earlier code may have had others then."""
    notebook = nbformat.read(page, as_version=4)
    for cell in notebook.cells:
        if figure := cell.metadata.get("mystnb", {}).get("figure"):
            assert any("image/png" in out.get("data", {}) for out in cell.outputs), figure["name"]
        assert not [out for out in cell.get("outputs", []) if "Warning: " in out.get("text", "")]
    run = notebook.metadata["papermill"]
    assert not Path(run["parameters"]["out"]).is_absolute() and not Path(run["output_path"]).is_absolute()
    ran, paper = run["parameters"], config.load_profile("paper")
    given = notebooks.resolve(page.stem, paper, paper.published.get(page.stem, {}))
    where = {"out": "", "device": ""}                                      # decides no result
    if not gate.admit(notebook, page.stem, checkout.ROOT)[1]:
        assert ran | where == given | where
    assert [key for key in ran.keys() & given.keys() - where.keys() if ran[key] != given[key]] == []


def test_the_readme_shows_a_published_figure() -> None:
    if renew_published.PICTURE.read_bytes() != renew_published.picture():
        pytest.fail("the README's picture is not that of the published page; run python scripts/renew_published.py")
