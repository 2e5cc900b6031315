"""Pages say why, show the query or the training that they are about, and what was published of them is whole. Oracles:
the cells themselves; a fresh interpreter's namespace, for what runs by itself."""

import re
import shlex
from pathlib import Path
from unittest import mock

import jupytext
import nbformat
import pytest
import renew_published
import yaml
from nbformat import NotebookNode

import pcgraph_lite as pcg
from pcgraph_lite.images import datasets
from reproduction import checkout
from reproduction.book import gate, notebooks, pages, site
from reproduction.evidence import claims, config


def tags(cell: NotebookNode) -> list[str]:
    return cell.metadata.get("tags", [])


PUBLISHED = sorted((checkout.ROOT / "book" / "notebooks").glob("*.ipynb"))
PAGES = sorted((checkout.ROOT / "notebooks").glob("*.md"))
ASKING = [page.stem for page in PAGES if any("science" in tags(cell) for cell in notebooks.cells(page.stem))]
SERVES = {claim.notebook for claim in claims.load_claims().values()}       # the others have no claim to begin with
LONGEST, VISIBLE = 25, 12                                  # lines of a cell that are not blank
ENOUGH, STEPS = 200, 100                                   # images, and steps of a query


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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_plain_papermill_gives_a_page_what_our_command_gives_it(page: Path) -> None:
    ours, plain = (re.search(rf"^{start} (.*)$", page.read_text(), re.MULTILINE) for start in (
        f"pcgraph run {page.stem} --profile laptop",
        re.escape(f"jupytext --to ipynb -o - notebooks/{page.stem}.md | papermill - out.ipynb")))
    assert ours and plain and given(plain[1]) == given(ours[1]) | {"out": "my-run"}


def given(options: str) -> dict[str, object]:
    """Parameters on a command line, as ``-p NAME VALUE`` or papermill's ``-y YAML``, which alone can give lists."""
    words, found = iter(shlex.split(options)), {}
    for option in words:
        assert option in ("-p", "-y")
        found |= {next(words): yaml.safe_load(next(words))} if option == "-p" else yaml.safe_load(next(words))
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_ci_executes_is_the_page_s_code(page: Path) -> None:
    """Of the smoke outputs; text may differ, because nothing of it is compared."""
    kept = nbformat.read(checkout.ROOT / "tests/notebooks" / f"{page.stem}.ipynb", as_version=4)
    ran = [cell.source.strip() for cell in kept.cells
           if cell.cell_type == "code" and "injected-parameters" not in tags(cell)]
    assert ran == [cell.source.strip() for cell in jupytext.read(page).cells if cell.cell_type == "code"], (
        f"run python tests/renew.py {page.stem} and commit the result alone")


def test_every_reference_is_cited() -> None:
    pages = [*PAGES, *(checkout.ROOT / "book").rglob("*.md")]
    cited = {key for page in pages for keys in re.findall(r"\{cite:?[a-z]*\}`([^`]+)`", page.read_text())
             for key in keys.split(",")}
    assert set(re.findall(r"@\w+\{(\w+),", (checkout.ROOT / "book/references.bib").read_text())) == cited


@pytest.mark.parametrize("page", PUBLISHED, ids=lambda page: page.stem)
def test_a_published_page_has_figures_no_warning_no_folder_of_one_machine_and_its_parameters(page: Path) -> None:
    """No cell warned, which would name the file of the cell, and the folder is relative, see results/README.md. What
    papermill noted are the parameters of the profile, but of a page that ran with earlier code."""
    notebook = site.read_notebook(page, "paper")
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


def lines(code: str) -> int:
    return sum(bool(line.strip()) for line in code.splitlines())


@pytest.mark.parametrize("page", ASKING)
def test_a_page_shows_what_it_asks(page: str) -> None:
    """The cell tagged science is short and not folded away; no cell is long."""
    cells = notebooks.cells(page)
    shown = [cell for cell in cells if "science" in tags(cell)]
    assert shown and all("hide-input" not in tags(cell) and lines(cell.source) <= VISIBLE for cell in shown)
    assert max(lines(cell.source) for cell in cells) <= LONGEST


@pytest.mark.parametrize("page", ASKING)
def test_what_a_page_shows_runs_by_itself(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In an empty folder, with nothing but the cell; fewer images, epochs and steps show as well whether it runs."""
    load, fit, query = datasets.load, pcg.fit, pcg.query
    monkeypatch.setattr(datasets, "load", lambda *asked, **options: load(*asked, **options).subset(ENOUGH))
    monkeypatch.setattr(pcg, "fit", lambda *given, **settings: fit(*given, **settings | {"epochs": 1}))
    monkeypatch.setattr(pcg, "query", lambda *given, **settings: query(*given, **settings | {
        "steps": min(settings.get("steps", STEPS), STEPS)}))
    monkeypatch.chdir(tmp_path)
    for cell in notebooks.cells(page):
        if "science" in tags(cell):
            exec(compile(cell.source, page, "exec"), {"__name__": "reader"})


def test_what_a_page_leaves_out_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A data set of which the sample has nothing, and seeds beyond its own."""
    page = pages.start("03b-classification", "smoke", "cpu", tmp_path)
    assert page.here({"mnist": 1, "svhn": 1, "fashion": 0}) == ["mnist"]
    with mock.patch.object(pages.zoo, "ModelRun", mock.MagicMock()):
        assert len(page.models(["a", "b"], ["mnist"], 3)) == 2
    assert capsys.readouterr().out == (
        "Not run: svhn (profile smoke uses the bundled sample, which has none), fashion (no seeds asked for)\n"
        "a, b (mnist): 1 of 3 seeds, as the page has no more (parameter seeds).\n")
