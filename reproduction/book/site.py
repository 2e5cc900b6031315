"""Gather prose, executed notebooks and tables in one folder below ``_build/``, and build the website there."""

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import jupytext
import nbformat
from nbformat import NotebookNode
from sphinx_external_toc.parsing import parse_toc_data

from pcgraph_lite.errors import BadFile, PCGraphError
from pcgraph_lite.files import read_text, ready

from ..checkout import ROOT, relative
from ..evidence import records
from ..evidence.strict import read_yaml
from . import gate, live, polish, runs, score, settings, speed
from .layout import Judged, Page, drawn, lay_out

BUILDER = "from jupyter_book.cli.main import main; main()"  # Jupyter Book has no `python -m` form
LARGEST = 2**26                                              # bytes of an executed notebook
FULL = re.compile(r"\bAt\s+full\s+size,?\s+(\w)")
SMALLER = re.compile(r"\s+at\s+full\s+size\b|(?<=\()at\s+full\s+size\s")
MATHJAX = ("input/tex/extensions", "output/chtml/fonts")     # folders that pages use besides its script


def stage(profile: str, published: bool = False, root: Path = ROOT) -> Path:
    """Gather everything that the book needs in ``_build/<profile>/site-source`` and return that folder. ``published``:
    the committed notebooks and records, of the paper profile; a page that has not run yet then says so. Raises BadFile:
    a listed notebook is missing, damaged or stopped with an error, or a records file is damaged.
    """
    made = root / "_build" / ("published" if published else profile)
    executed, saved = ((root / "book/notebooks", root / "results/records") if published
                       else (made / "notebooks", made / "records"))
    pages = {name: _page(name, executed, saved, root, "" if published else profile)
             for name in notebook_names(root / "_toc.yml")}
    judged = Judged.judge(records.read(saved))
    source = _copy_prose(root, made / "site-source")
    judged.write(saved, source / "vendor/records")
    live.place(root, source, live.shares(judged.records))
    folder = source / "book/generated"                                     # what prose pages include
    texts = runs.ledger({name: page.run for name, page in pages.items() if page.ran})
    texts |= speed.includes(root / "results/bench", folder)
    texts |= score.includes(judged, pages, root, source, None if published else root / "results/records")
    texts |= settings.includes()
    texts["licences.csv"] = runs.licences().to_csv(index=False)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    every = drawn(pages)
    for name, page in pages.items():
        lay_out(page, judged, root, source, every)
        for k, cell in enumerate(page.notebook.cells):                     # the same in every build
            cell.id = f"cell-{k}"
        nbformat.write(page.notebook, source / "book/notebooks" / f"{name}.ipynb")
    return source


def _page(name: str, executed: Path, saved: Path, root: Path, profile: str) -> Page:
    """A page of the book. ``profile``: that of one's own runs, which need every page; empty: the committed runs."""
    file, record = executed / f"{name}.ipynb", saved / f"{name}.json"
    if not profile and not file.is_file():
        return Page(name, jupytext.read(root / "notebooks" / f"{name}.md"), ran=False, older=False, run={})
    notebook, older = gate.admit(read_notebook(file, profile or "paper"), name, root)
    run = runs.of(record)
    if run.get("profile") == "paper":
        _at_full_size(notebook)
    return Page(name, notebook, ran=True, older=older, run=run)


def _at_full_size(notebook: NotebookNode) -> None:
    """Leave out of text and captions that something is so at full size, where that is the size of the page itself."""
    def plain(text: str) -> str:
        return SMALLER.sub("", FULL.sub(lambda said: said[1].upper(), text))

    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = plain(cell.source)
        if caption := cell.metadata.get("mystnb", {}).get("figure", {}).get("caption"):
            cell.metadata.mystnb.figure.caption = plain(caption)


def make(profile: str, published: bool = False) -> Path:
    """``stage`` and ``build`` a book. Returns the first page. Raises PCGraphError: nothing can be written there."""
    ready(ROOT / "_build" / ("published" if published else profile) / "site-source/_toc.yml")
    staged = stage(profile, published)
    return build(staged, staged.with_name("site"))


def build(source: Path, target: Path) -> Path:
    """Build a staged book with warnings as errors, replace ``target`` by it once it is whole, and return its first
    page. Raises PCGraphError with the last warnings: the build failed.
    """
    aside = target.with_name(f"{target.name}.part")
    shutil.rmtree(aside, ignore_errors=True)
    arguments = ["build", str(source), "--path-output", str(aside), "-W", "-n", "--keep-going"]
    run = subprocess.run([sys.executable, "-c", BUILDER, *arguments], capture_output=True, text=True)
    if run.returncode:
        lines = re.sub(r"\x1b\[[0-9;]*m", "", run.stdout + run.stderr).strip().splitlines()
        warnings = [line for line in lines if re.search(r"WARNING|ERROR|CRITICAL", line)] or lines
        raise PCGraphError(f"the book was not built from {relative(source)}. Last warnings:\n"
                           + "\n".join(warnings[-12:]))
    polish.polish(aside / "_build/html")
    shutil.rmtree(target, ignore_errors=True)
    (aside / "_build/html").rename(target)
    shutil.rmtree(aside)
    return target / "index.html"


def notebook_names(toc: Path) -> list[str]:
    """The names of the notebooks in a table of contents, in its order."""
    return [Path(file).name for file in parse_toc_data(read_yaml(toc)) if file.startswith("book/notebooks/")]


def read_notebook(path: Path, profile: str) -> NotebookNode:
    """Read an executed notebook. Raises BadFile with the command that makes it: it is missing or holds an error."""
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


def _copy_prose(root: Path, source: Path) -> Path:
    """Start a new staged book with everything that does not depend on results: prose, style, settings, MathJax."""
    package = importlib.util.find_spec("sphinx-mathjax-offline")           # files, installed as a Python package
    if package is None or package.origin is None:
        raise BadFile("MathJax is not installed. Run: pip install -r requirements.txt")
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(root / "book", source / "book", ignore=shutil.ignore_patterns("*.ipynb", "generated", "live"))
    (source / "book/notebooks").mkdir(exist_ok=True)
    for name in ("_config.yml", "_toc.yml"):
        shutil.copy2(root / name, source / name)
    mathjax, target = Path(package.origin).parent / "static/mathjax", source / "vendor/mathjax"
    for name in MATHJAX:
        shutil.copytree(mathjax / name, target / name)
    shutil.copy2(mathjax / "tex-mml-chtml.js", target)
    return source
