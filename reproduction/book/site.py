"""The book: its pages, the executed notebooks and tables made from records, gathered in one folder and built there.

``pcgraph book --profile laptop`` builds what ran on this machine, ``pcgraph book --published`` the committed results.
Nothing is executed and nothing outside ``_build/`` is written.
"""

import importlib.util
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import jupytext
import nbformat
from bs4 import BeautifulSoup
from filelock import FileLock, Timeout
from nbformat import NotebookNode

from pcgraph_lite.errors import BadFile, PCGraphError
from pcgraph_lite.files import read_text, ready

from ..checkout import ROOT, relative
from ..evidence import claims, findings, records, verdicts
from ..evidence.findings import Book, Finding
from ..evidence.strict import read_yaml
from . import download, gate, house, live, polish, result, score, tables, tidy

BUILDER = "from jupyter_book.cli.main import main; main()"  # Jupyter Book has no `python -m` form
LARGEST = 2**26                                              # bytes of an executed notebook
OLDER = (" [**The notebook has changed since this run.** Text and code on this page are those of the run, "
         "the verdict is that of today's rule.]{.made-by}")
NOT_RUN = ("[**Not run yet at the paper's sizes**: this page has no results, and what it says is what it will test. "
           "To run it: `pcgraph run {name} --profile laptop` (a small version) or `--profile paper`.]{{.made-by}}")
TABLE = re.compile(r'<table id="T_([^"]+)"')
MATHJAX = ("input/tex/extensions", "output/chtml/fonts")     # folders that pages use beside its script


def stage(profile: str, published: bool = False, root: Path = ROOT) -> Path:
    """Gather all that the book is made of in ``_build/<profile>/site-source`` and return that folder, for ``build``.

    ``published``: show the committed notebooks and records, which are of the paper profile, by way of
    ``_build/published``; a page that has not been run yet is shown without results and says so. Raises BadFile: a
    listed notebook is missing, damaged or stopped with an error; a records file is damaged.
    """
    made = root / "_build" / ("published" if published else profile)
    executed, saved = ((root / "book/notebooks", root / "results/records") if published
                       else (made / "notebooks", made / "records"))
    names = notebook_names(root / "_toc.yml")
    ran = [name for name in names if not published or (executed / f"{name}.ipynb").is_file()]
    notebooks = {name: gate.admit(read_notebook(executed / f"{name}.ipynb", "paper" if published else profile), name,
                                  root) if name in ran
                 else jupytext.read(root / "notebooks" / f"{name}.md") for name in names}
    source = made / "site-source"
    _copy_pages(root, source)
    (source / "vendor/records").mkdir(parents=True)
    for path in [*saved.glob("*.json"), claims.FILE]:                      # pages link to them
        shutil.copy2(path, source / "vendor/records")
    tables.write_ledger(source / "book/generated", saved, {name: notebooks[name] for name in ran})
    found = _write_generated(source / "book/generated", saved, notebooks, root)
    live.place(root, source)
    recorded = {path.stem for path in (source / "vendor/records").glob("*.csv")}
    for name, notebook in notebooks.items():
        made_by = (tables.made_by(tables.run_of(saved / f"{name}.json", notebook)) if name in ran
                   else NOT_RUN.format(name=name)) + OLDER * gate.outdated(notebook, name, root)
        _finish(name, notebook, found, f"{made_by} {download.links(name, recorded)}".strip(), root, source)
    return source


def _write_generated(folder: Path, saved: Path, notebooks: Mapping[str, NotebookNode],
                     root: Path) -> dict[str, Finding]:
    """Write what prose pages include, and return what was found about each claim."""
    kept = records.read(saved)
    judged = verdicts.verdicts(kept)
    card, found = verdicts.scorecard(judged), findings.findings(judged)
    download.numbers(kept, evidence := folder.parents[1] / "vendor/records")
    card.to_csv(evidence / "scorecard.csv", index=False)
    tables.write_lead(folder, notebooks)
    tables.write_speed(folder, root / "results/bench")
    score.write(folder, card, found, judged, notebooks, root)
    house.write(folder)
    return found


def _finish(name: str, notebook: NotebookNode, found: Mapping[str, Finding], made_by: str, root: Path,
            source: Path) -> None:
    """Give a page its result, its description and its live part, and write it."""
    rules, book = claims.load_claims(), findings.load()
    mine = [one for one in found.values() if rules[one.claim].notebook == name]
    result.put_on(notebook, mine, book.pages.get(name), made_by, source / "book/generated")
    _describe(notebook, book, mine)
    download.figures(name, notebook, source / "vendor/records/figures")
    live.insert(root, name, notebook)
    notebook.cells.insert(0, download.first_cell(root))
    nbformat.write(notebook, source / "book/notebooks" / f"{name}.ipynb")


def make(profile: str, published: bool = False) -> Path:
    """``stage`` and ``build``; returns the first page. Two at once share their folders, so one waits for the other."""
    path = ready(ROOT / "_build" / f"{'published' if published else profile}.lock")
    with suppress(Timeout), FileLock(path, timeout=0):
        return _make(profile, published)
    print("another build of this book is at work; waiting for it", flush=True)
    with FileLock(path):
        return _make(profile, published)


def _make(profile: str, published: bool) -> Path:
    staged = stage(profile, published)
    return build(staged, staged.with_name("site"))


def build(source: Path, target: Path) -> Path:
    """Build a staged book with warnings as errors, put it at ``target`` and return its first page.

    What is at ``target`` is replaced only when the new one is whole and loads nothing from the net. Raises
    PCGraphError: the build failed; the message ends with the last warnings.
    """
    aside, old = target.with_name(f"{target.name}.part"), target.with_name(f"{target.name}.old")
    if old.exists() and not target.exists():                 # killed between the two renames below
        old.rename(target)
    for leftover in (aside, old):
        shutil.rmtree(leftover, ignore_errors=True)
    made = _run_builder(source, aside)
    if target.exists():
        target.rename(old)
    made.rename(target)
    for leftover in (aside, old):
        shutil.rmtree(leftover, ignore_errors=True)
    return target / "index.html"


def notebook_names(toc: Path) -> list[str]:
    """Names of the notebooks in a table of contents, in its order. Raises BadFile."""
    content = read_yaml(toc)
    try:
        files = [chapter["file"] for part in content["parts"] for chapter in part["chapters"]]
        return [Path(file).name for file in files if file.startswith("book/notebooks/")]
    except (KeyError, TypeError, AttributeError) as error:
        raise BadFile(f"{relative(toc)} is no table of contents ({type(error).__name__}: {error}); expected parts with "
                      "chapters, and a file in each.") from error


def read_notebook(path: Path, profile: str) -> NotebookNode:
    """Read one executed notebook. Raises BadFile, with the command that makes it: it is missing, or holds an error."""
    again = f"Make it: pcgraph run {path.stem} --profile {profile}"
    if not path.is_file():
        raise BadFile(f"the book needs the executed notebook {path.stem!r}, and {relative(path)} is not there. {again}")
    try:
        nbformat.validate(notebook := nbformat.reads(read_text(path, LARGEST), as_version=4))
    except (BadFile, ValueError, TypeError, AttributeError, RecursionError, nbformat.ValidationError) as error:
        raise BadFile(f"{relative(path)} is not a notebook ({type(error).__name__}). {again}") from error
    failed = [out for cell in notebook.cells for out in cell.get("outputs", []) if out.output_type == "error"]
    if failed:
        raise BadFile(f"{relative(path)} stopped with {failed[0].ename}: {failed[0].evalue}. {again}")
    return notebook


def outside_references(site: Path) -> list[str]:
    """What the pages and styles of a website load from elsewhere, as ``page: address``. Plain links do not count."""
    found = [(page, address) for page in sorted(site.rglob("*.html"))
             for address in _loaded(BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser"))]
    found += [(style, address) for style in sorted(site.rglob("*.css"))
              for address in _in_style(style.read_text(encoding="utf-8"))]
    return [f"{file.relative_to(site)}: {address}" for file, address in found
            if re.match(r"\s*(https?:)?//", address, re.IGNORECASE)]


def _loaded(page: BeautifulSoup) -> list[str]:
    """The addresses that a browser fetches on its own when it opens a page."""
    found = [tag[name] for name in ("src", "srcset", "poster", "data") for tag in page.find_all(attrs={name: True})]
    found += [tag["href"] for tag in page.find_all("link", href=True) if tag.get("rel") != ["canonical"]]
    styles = [tag["style"] for tag in page.find_all(style=True)] + [tag.get_text() for tag in page.find_all("style")]
    return found + _in_style("\n".join(styles))


def _in_style(style: str) -> list[str]:
    found = re.findall(r"""url\(\s*['"]?([^'")]+)|@import\s+['"]([^'"]+)""", style)
    return [address or imported for address, imported in found]


def _run_builder(source: Path, folder: Path) -> Path:
    """Build ``source`` somewhere below ``folder`` and return the website's folder, or say why it is not good."""
    arguments = ["build", str(source), "--path-output", str(folder), "-W", "-n", "--keep-going"]
    run = subprocess.run([sys.executable, "-c", BUILDER, *arguments], capture_output=True, text=True)
    if run.returncode:
        lines = re.sub(r"\x1b\[[0-9;]*m", "", run.stdout + run.stderr).strip().splitlines()
        warnings = [line for line in lines if re.search(r"WARNING|ERROR|CRITICAL", line)] or lines
        raise PCGraphError(f"the book was not built from {relative(source)}. Last warnings:\n"
                           + "\n".join(warnings[-12:]))
    polish.polish(folder / "_build/html")
    if outside := outside_references(folder / "_build/html"):
        raise PCGraphError("these pages load something from the net, and the book must work without one: "
                           + "; ".join(outside[:8]))
    return folder / "_build/html"


def _copy_pages(root: Path, source: Path) -> None:
    """Start a new staged book with everything that needs no result: prose, style, settings, MathJax."""
    package = importlib.util.find_spec("sphinx-mathjax-offline")           # files, installed as a Python package
    if package is None or package.origin is None:
        raise BadFile("MathJax is not installed. Run: pip install -r requirements.txt")
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(root / "book", source / "book", ignore=shutil.ignore_patterns("*.ipynb", "generated"))
    (source / "book/notebooks").mkdir(exist_ok=True)
    for name in ("_config.yml", "_toc.yml"):
        shutil.copy2(root / name, source / name)
    mathjax, target = Path(package.origin).parent / "static/mathjax", source / "vendor/mathjax"
    for name in MATHJAX:
        shutil.copytree(mathjax / name, target / name)
    shutil.copy2(mathjax / "tex-mml-chtml.js", target)


def _describe(notebook: NotebookNode, book: Book, found: Sequence[Finding]) -> None:
    """Give every picture a text for readers who do not see it, and every table words for the names of records.

    A picture and a table that show a claim (``found``) say what was found of it.
    """
    seen: Counter[str] = Counter()
    for cell in notebook.cells:
        if "outputs" in cell:
            cell.outputs = tidy.joined(cell.outputs)
        for output in cell.get("outputs", []):
            if "text/html" in output.get("data", {}):
                html = output.data["text/html"]
                name = named[1] if (named := TABLE.search(html)) else ""
                seen[name] += 1
                name += f" {seen[name]}" * (seen[name] > 1)
                says = " ".join(one.sentences[0] for one in found if one.table == name and one.sentences)
                output.data["text/html"] = tidy.tidied(tables.in_words(html, book), says)
        if any("image/png" in out.get("data", {}) for out in cell.get("outputs", [])):
            shown = cell.metadata.setdefault("mystnb", NotebookNode())     # else the builder takes the name of its file
            said = [f"{one.name}: {one.sentences[0]}" for one in found
                    if one.figure == shown.get("figure", {}).get("name") and one.sentences and not one.exact]
            shown.setdefault("image", NotebookNode())["alt"] = " ".join([_sentence(tables.alt_text(cell)), *said])


def _sentence(text: str) -> str:
    return text if text.endswith((".", "?", "!")) else f"{text}."
