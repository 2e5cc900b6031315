"""The book builds with warnings as errors, shows what the records say, and loads nothing from the net. Oracle: the
files given in, for what the built pages must show."""

import json
import re
import shutil
from pathlib import Path

import jupytext
import nbformat
import numpy as np
import pandas as pd
import pytest
import typer
from bs4 import BeautifulSoup
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from pictures import encoded
from PIL import Image
from sphinx.search.en import SearchEnglish

from pcgraph_lite.errors import BadFile, PCGraphError
from reproduction.book import site, tables
from reproduction.book.handover import KIND
from reproduction.checkout import ROOT
from reproduction.cli import app
from reproduction.evidence.claims import load_claims

RECORDS = {
    "notebook": "02-pc-graphs", "profile": "smoke",
    "provenance": {"commit": "0123456789", "dirty": False, "device": "the test's device", "seconds": 7.0,
                   "date": "now", "memory": "1 MiB", "numerics": "0123"},
    "records": [{"claim": "eq3", "quantity": "max_relative_error", "value": 3e-15, "parameters": {"dtype": "float64"}}]}
HOSTILE = ("g-efficiency", "h-judge", "i-relaxed-time", "j-pixel-scale")
SECRET = "what-no-page-may-show"
CAPTION = "What to look at in the picture."


def notebook(name: str) -> nbformat.NotebookNode:
    """A tiny notebook as papermill leaves it: equation, table, captioned figure, links into the book."""
    drawn = new_output("display_data", {"image/png": encoded(Image.new("L", (8, 8)))})
    figure = new_code_cell("plot()", execution_count=2, outputs=[drawn],
                           metadata={"mystnb": {"figure": {"caption": CAPTION, "name": f"figure-{name}"}}})
    title = f"# Page {name}\n\n**Claim.** $x_i$, {{doc}}`../scorecard`, [partly]{{.verdict .partly}}\n\n$$\\mu = 1$$"
    handed = tables.plain(pd.DataFrame({"a": [1]}), "t").model_dump()
    table = new_output("execute_result", {KIND: handed}, execution_count=3)
    return new_notebook(
        cells=[new_markdown_cell(title), new_code_cell("seed: int = 0", execution_count=1), figure,
               new_code_cell("frame", execution_count=3, outputs=[table])],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
                  "language_info": {"name": "python"}, "papermill": {"duration": 12.5}})


def small_book(root: Path) -> Path:
    """A copy of the book's sources under ``root``, with tiny executed notebooks of the profile ``smoke``."""
    shutil.copytree(ROOT / "book", root / "book", ignore=shutil.ignore_patterns("*.ipynb"))
    for name in ("_config.yml", "_toc.yml", "CITATION.cff"):
        shutil.copy2(ROOT / name, root / name)
    shutil.copytree(ROOT / "results/bench", root / "results/bench")
    folder = root / "_build/smoke/notebooks"
    folder.mkdir(parents=True)
    for name in site.notebook_names(root / "_toc.yml"):
        nbformat.write(notebook(name), folder / f"{name}.ipynb")
        (root / "notebooks").mkdir(exist_ok=True)
        jupytext.write(notebook(name), root / "notebooks" / f"{name}.md", fmt="md:myst")
    (root / "_build/smoke/records").mkdir()
    (root / "_build/smoke/records/02-pc-graphs.json").write_text(json.dumps(RECORDS))
    return root


@pytest.fixture(scope="session")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_book(tmp_path_factory.mktemp("repository"))


def reading(file: Path) -> list[str]:
    """Directives that read a file, each between two lines of text."""
    return [f"a\n\n```{one}\n```\n\nb" for one in (
        f"{{literalinclude}} {file}", f"{{include}} {file}", f"{{raw}} html\n:file: {file}",
        f"{{eval-rst}}\n.. include:: {file}")]


def provoke(source: Path) -> None:
    """Ask the builder, past the gate, to execute cells and to read a file: in a page of prose and in notebooks."""
    executed, secret = source.parent / "executed", source.parent / "secret.txt"
    secret.write_text(SECRET)
    run = f"from pathlib import Path\nPath({str(executed)!r}).touch()"
    page = source / "book/glossary.md"
    page.write_text("---\nfile_format: mystnb\nkernelspec: {name: python3, language: python}\n"
                    "mystnb: {execution_mode: force}\n---\n"
                    f"{page.read_text()}\n\n```{{code-cell}} ipython3\n{run}\n```\n")
    outputs = [new_output("stream", text=text) for text in reading(secret)]
    outputs += [new_output("display_data", {kind: text}) for text in reading(secret)
                for kind in ("text/plain", "text/html")]
    for name, mode in zip(HOSTILE, ("force", "cache", "auto", "inline"), strict=True):
        path = source / f"book/notebooks/{name}.ipynb"
        hostile = nbformat.read(path, as_version=4)
        hostile.cells += [new_code_cell(run), new_code_cell("read()", outputs=outputs)]
        hostile.metadata["mystnb"] = {"execution_mode": mode, "render_markdown_format": "myst"}
        nbformat.write(hostile, path)


@pytest.fixture(scope="session")
def built(root: Path) -> Path:
    """The folder of the website built from the small book, some of whose staged pages are hostile."""
    provoke(source := site.stage("smoke", root=root))
    return site.build(source, root / "_build/smoke/site").parent


@pytest.fixture(scope="session")
def page(built: Path) -> str:
    """The one that has a record."""
    return (built / "book/notebooks/02-pc-graphs.html").read_text(encoding="utf-8")


def test_the_builder_executes_nothing_and_reads_no_file_for_an_output(built: Path) -> None:
    """Whatever the metadata of a page say; the gate, which refuses such pages, is not asked here."""
    for name in ("glossary", *(f"notebooks/{name}" for name in HOSTILE)):
        assert ".touch()" in BeautifulSoup((built / f"book/{name}.html").read_text(), "html.parser").get_text()
    assert not (built.parent / "executed").exists()
    files = [path for path in built.rglob("*") if path.suffix in (".html", ".js", ".txt", ".md", ".ipynb")]
    assert not [path for path in files if SECRET in path.read_text(encoding="utf-8")]


@pytest.fixture(scope="module")
def refused(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder in which a build failed over the last good site, and what was said of a wrong link and of Markdown."""
    folder = tmp_path_factory.mktemp("refused")
    (secret := folder / "secret.txt").write_text(SECRET)
    (source := folder / "source").mkdir()
    (target := folder / "site").mkdir()
    (target / "index.html").write_text("the last good one")
    key = site.read_yaml(ROOT / "_config.yml")["sphinx"]["config"]["nb_metadata_key"]
    (source / "_config.yml").write_text(json.dumps({"title": "t", "sphinx": {"config": {"nb_metadata_key": key}}}))
    (source / "_toc.yml").write_text("format: jb-book\nroot: index\n")
    outputs = [new_output("display_data", {"text/markdown": text}) for text in reading(secret)]
    page = new_notebook(cells=[new_markdown_cell("# T\n\n{doc}`no-such-page`"), new_code_cell("x", outputs=outputs)],
                        metadata={"mystnb": {"render_markdown_format": "myst"}})
    nbformat.write(page, source / "index.ipynb")
    with pytest.raises(PCGraphError) as caught:
        site.build(source, target)
    return folder, str(caught.value)


def test_markdown_of_an_output_is_no_directive(refused: tuple[Path, str]) -> None:
    """The builder takes its name for a language that it does not know, and stops, whatever the page asks for."""
    assert re.search(r"'\{literalinclude\}' is not known(.|\n)*'\{eval-rst\}' is not known", refused[1])
    assert not [page for page in refused[0].rglob("*.html") if SECRET in page.read_text()]


OUTSIDE = re.compile(r"""<(?:script|img|source|link(?! rel="canonical"))[^>]*\s(?:src|srcset|href)=["'](?:https?:)?//"""
                     r"""|(?:url\(|@import)\s*['"]?(?:https?:)?//""")


def test_pages_load_nothing_from_the_net_and_mathjax_from_the_site(built: Path, page: str) -> None:
    """By their text: a browser does not ask for pictures far down (test_browser_pages.py)."""
    assert OUTSIDE.search('<img alt="a" src="//x.org/a.png">') and OUTSIDE.search("{src: url( 'https://x.org/a')}")
    assert not [path.name for path in built.rglob("*") if path.suffix in (".html", ".css")
                and OUTSIDE.search(path.read_text(encoding="utf-8"))]
    assert not any("unpkg.com" in path.read_text(encoding="utf-8") for path in built.rglob("*.html"))
    assert 'src="../../_static/../mathjax/tex-mml-chtml.js' in page
    assert (built / "mathjax/tex-mml-chtml.js").stat().st_size > 500_000
    assert list((built / "mathjax/output/chtml/fonts/woff-v2").glob("*.woff"))


def test_pages_and_pictures_describe_themselves(built: Path, page: str) -> None:
    alts = [(file.name, alt) for file in (built / "book").rglob("*.html")
            for alt in re.findall(r'<img[^>]*?alt="([^"]*)"', file.read_text()) if "logo" not in alt.lower()]
    assert {name for name, alt in alts if alt == CAPTION} >= {"02-pc-graphs.html"}
    assert not [(name, alt) for name, alt in alts if ".png" in alt or not alt]
    assert re.search(r'<meta name="description" content="The printed rule swaps the two indices', page)


def test_records_reach_the_pages_and_causes_those_of_what_is_not_reproduced(built: Path, page: str) -> None:
    """Of one record: the count, its row with rule, record and command, and the box on its page."""
    landing, full = ((built / f"book/{name}.html").read_text() for name in ("index", "scorecard"))
    assert all(f'<tr id="{claim}"' in full for claim in load_claims())
    exact = sum(claim.needs.profile == "any" and not claim.beyond for claim in load_claims().values())
    assert f"checked exactly ({exact}): 1 reproduced, {exact - 1} not run, 1 of them with the printed" in landing
    row = full.partition('<tr id="eq3"')[2].partition("</tr>")[0]
    assert "3e-15" in row and "pcgraph run 02-pc-graphs" in row and 'href="../records/02-pc-graphs.json"' in row
    assert (built / "records/02-pc-graphs.json").is_file() and (built / "records/claims.yaml").is_file()
    assert 'id="claim-eq3"' in page and "(with the printed indices swapped)</span>" in page
    assert "the test" in (built / "book/audit.html").read_text()
    why = (built / "book/why.html").read_text()
    assert "Classifying house numbers with a fully connected graph" in why and "SVHN" in why
    assert "Equation 3" not in why.partition("<article")[2]


def test_inner_links_and_anchors_lead_somewhere(built: Path) -> None:
    pages = {page: page.read_text(encoding="utf-8") for page in built.rglob("*.html")}
    anchors = {page: set(re.findall(r'\bid="([^"]+)"', text)) for page, text in pages.items()}
    for page, text in pages.items():
        for address in re.findall(r'<a[^>]*\bhref="([^"]+)"', text):
            file, _, anchor = address.partition("#")
            if "://" in file or file.startswith("mailto:"):
                continue
            target = (page.parent / file).resolve() if file else page
            assert target.exists(), (page.name, address)
            assert not anchor or target not in anchors or anchor in anchors[target], (page.name, address)


def test_the_notebook_of_a_page_installs_what_it_needs(built: Path, page: str) -> None:
    first = nbformat.read(built / "_sources/book/notebooks/02-pc-graphs.ipynb", as_version=4).cells[0]
    assert "find_spec" in first.source and "find_spec" not in page


def test_the_search_finds_claims_by_their_names(built: Path) -> None:
    """Every word of every claim's name leads to the scorecard, in the index that the search field reads."""
    index = json.loads((built / "searchindex.js").read_text().removeprefix("Search.setIndex(").removesuffix(")"))
    place, english = index["docnames"].index("book/scorecard"), SearchEnglish({})
    for words in load_claims().values():
        stems = {english.stem(word.lower()) for word in english.split(words.name)}
        for stem in filter(english.word_filter, stems):                    # without "the", "of", ...
            found = [np.atleast_1d(index[kind].get(stem, [])) for kind in ("terms", "titleterms")]
            assert any(place in pages for pages in found), (words.name, stem)


def test_references_lead_to_the_papers(built: Path) -> None:
    """All but two, of which one has no address and the other's is not known for sure."""
    entries = re.split(r"\n(?=@)", (ROOT / "book/references.bib").read_text())
    assert sum("doi " in entry or "url " in entry for entry in entries) >= len(entries) - 2
    page = (built / "book/references.html").read_text()
    assert all(f'href="https://doi.org/{doi}"' in page for doi in re.findall(r"doi +. {(.*?)}", "".join(entries)))


def test_the_page_on_speed_shows_the_committed_benchmark(built: Path) -> None:
    """Each target with its limit, the figures, and the device that it was measured on."""
    page = (built / "book/design.html").read_text(encoding="utf-8")
    bench = json.loads((ROOT / "results/bench/cpu/bench.json").read_text(encoding="utf-8"))
    assert bench["provenance"]["commit"][:9] in page and "floor.svg" in page and "scaling.svg" in page
    for row in bench["rows"]:
        name = row["name"].replace("-mnist", " on digits").replace("-fashion", " on clothing")
        assert f">{name}<" in page
        assert all(target["quantity"] in page for target in row["targets"])
    assert "fabricpc" in page and "pcx" in page


def test_a_notebook_that_is_missing_or_stopped_with_an_error_is_named_with_its_command(tmp_path: Path) -> None:
    path = small_book(tmp_path) / "_build/smoke/notebooks/02-pc-graphs.ipynb"
    broken = nbformat.read(path, as_version=4)
    broken.cells[1].outputs = [new_output("error", ename="ValueError", evalue="no such seed", traceback=[])]
    nbformat.write(broken, path)
    with pytest.raises(BadFile, match=r"stopped with ValueError: no such seed.*pcgraph run 02-pc-graphs"):
        site.stage("smoke", root=tmp_path)
    path.unlink()
    with pytest.raises(BadFile, match=r"02-pc-graphs.*pcgraph run 02-pc-graphs --profile smoke"):
        site.stage("smoke", root=tmp_path)
    assert not (tmp_path / "_build/smoke/site-source").exists()


def test_a_page_without_a_published_run_is_shown_without_results_and_says_so(tmp_path: Path) -> None:
    """Of all pages only one was run; the others come from their sources."""
    small_book(tmp_path)
    for path in (ROOT / "notebooks").glob("*.md"):
        if path.stem != "02-pc-graphs":                                    # whose source is that of the small book
            shutil.copy2(path, tmp_path / "notebooks")
    (tmp_path / "book/notebooks").mkdir(exist_ok=True)
    nbformat.write(notebook("02-pc-graphs"), tmp_path / "book/notebooks/02-pc-graphs.ipynb")
    staged = site.stage("paper", published=True, root=tmp_path) / "book/notebooks"
    ran, other = (nbformat.read(staged / f"{name}.ipynb", as_version=4) for name in ("02-pc-graphs", "04a-topologies"))
    assert "Not run yet" not in ran.cells[1].source and any(cell.get("outputs") for cell in ran.cells)
    assert "Not run yet" in other.cells[1].source and "pcgraph run 04a-topologies" in other.cells[1].source
    assert not any(cell.get("outputs") for cell in other.cells)
    ledger = (staged.parent / "generated/ledger.csv").read_text()
    assert "02-pc-graphs" in ledger and "04a-topologies" not in ledger


def test_a_book_is_staged_the_same_again(tmp_path: Path) -> None:
    root = small_book(tmp_path)

    def staged() -> dict[Path, bytes]:
        source = site.stage("smoke", root=root)
        return {path.relative_to(source): path.read_bytes() for path in source.rglob("*") if path.is_file()}

    first, second = staged(), staged()
    assert first.keys() == second.keys() and [path for path in first if first[path] != second[path]] == []


def test_pages_of_the_papers_sizes_leave_out_that_they_are_so() -> None:
    """In text and captions; code and the tables that it makes stay."""
    said = "At full size\nthe curve rises. Depth matters little at full\nsize (at full size 100 images)."
    figure = {"mystnb": {"figure": {"name": "fig-a", "caption": said}}}
    page = new_notebook(cells=[new_markdown_cell(said), new_code_cell("# At full size", metadata=figure)])
    site._at_full_size(page)
    plain = "The curve rises. Depth matters little (100 images)."
    assert [page.cells[0].source, page.cells[1].metadata.mystnb.figure.caption] == [plain, plain]
    assert page.cells[1].source == "# At full size"


def test_a_warning_stops_the_build_and_the_last_good_site_stays(refused: tuple[Path, str]) -> None:
    source, target = (refused[0] / name for name in ("source", "site"))
    assert "no-such-page" in refused[1] and (target / "index.html").read_text() == "the last good one"
    (source / "index.ipynb").unlink()
    (source / "index.md").write_text("# Title\n\nText.\n")
    assert "Text." in site.build(source, target).read_text()
    assert sorted(path.name for path in refused[0].iterdir()) == ["secret.txt", "site", "source"]


PROSE = sorted([ROOT / "README.md", *(ROOT / "book").rglob("*.md")])


@pytest.mark.parametrize("page", PROSE, ids=lambda page: page.name)
def test_every_command_that_a_page_names_exists(page: Path) -> None:
    known = set(typer.main.get_command(app).commands)
    text = page.read_text()
    assert set(re.findall(r"(?m)(?:`|^|/)pcgraph ([a-z]+)", text)) <= known
    targets = set(re.findall(r"(?m)^([a-z-]+):", (ROOT / "Makefile").read_text()))
    assert set(re.findall(r"(?m)(?:`|^)make ([a-z-]+)", text)) <= targets


def test_links_of_the_readme_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)]+)\)", (ROOT / "README.md").read_text())
    assert links and all((ROOT / link).exists() for link in links if "://" not in link)
    tests = re.findall(r"^\| `(\S+)` \|", (ROOT / "tests/README.md").read_text(), re.MULTILINE)
    assert tests and all((ROOT / "tests" / name).is_file() for name in tests)


def test_every_ambiguity_has_its_number_its_choice_and_its_page() -> None:
    _, *parts = re.split(r"(?m)^\(ambiguity-(\d+)\)=$", (ROOT / "book/ambiguities.md").read_text())
    points = dict(zip(parts[::2], parts[1::2], strict=True))               # the two that decide most stand first
    assert sorted(map(int, points)) == list(range(1, len(points) + 1))
    slips = {"1", "3", "4", "15", "16"}                                    # nothing is there to choose
    assert all(f"**{number}. " in points[number] and "{doc}`" in points[number] for number in slips)
    for number in points.keys() - slips:
        point = points[number]
        assert f"### {number}. " in point
        assert all(f"**{part}" in point for part in ("Unclear.", "Choice.", "Matters on")), number
        assert "{dropdown} To change it\n" in point, number
