"""The book: its pages, the executed notebooks and tables made from records, gathered in one folder and built there.

``pcgraph book --profile laptop`` builds what ran on this machine, ``pcgraph book --published`` the committed results.
Nothing is executed and nothing outside ``_build/`` is written.
"""

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import jupytext
import nbformat
from nbformat import NotebookNode

from ..checkout import ROOT, shown
from ..errors import BadFile, PCGraphError
from ..evidence import claims, records
from ..evidence.config import read_yaml
from . import house, tables

BUILDER = "from jupyter_book.cli.main import main; main()"  # Jupyter Book has no `python -m` form
NOT_RUN = ("[**Not run yet at the paper's sizes**: this page has no results, and what it says is what it will test. "
           "To run it: `pcgraph run {name} --profile laptop` (a small version) or `--profile paper`.]{{.made-by}}")
MATHJAX = ("tex-mml-chtml.js", "input/tex/extensions", "output/chtml/fonts")


def stage(profile: str, published: bool = False, root: Path = ROOT) -> Path:
    """Gather all that the book is made of in ``_build/<profile>/site-source``, or in ``_build/published/site-source``.

    Args:
        profile: whose notebooks and records to show.
        published: take the committed notebooks and records, which are of the paper profile, instead; a page that has
            not been run yet is shown without results and says so.
        root: the repository.

    Returns:
        The folder to give to :func:`build`.

    Raises:
        BadFile: a listed notebook is missing, damaged or stopped with an error; a records file is damaged.
    """
    made = root / "_build" / ("published" if published else profile)
    executed, saved = ((root / "book/notebooks", root / "results/records") if published
                       else (made / "notebooks", made / "records"))
    names = notebook_names(root / "_toc.yml")
    ran = [name for name in names if not published or (executed / f"{name}.ipynb").is_file()]
    notebooks = {name: read_notebook(executed / f"{name}.ipynb", "paper" if published else profile) if name in ran
                 else jupytext.read(root / "notebooks" / f"{name}.md") for name in names}
    card = claims.scorecard(records.read(saved))
    source = made / "site-source"
    _copy_pages(root, source)
    tables.write_scorecard(source / "book/generated", card, notebooks)
    tables.write_ledger(source / "book/generated", saved, {name: notebooks[name] for name in ran})
    tables.write_lead(source / "book/generated", notebooks)
    house.write(source / "book/generated")
    tables.write_speed(source / "book/generated", root / "results/bench")
    for name, notebook in notebooks.items():
        _describe_pictures(notebook)
        _say_what_made_it(notebook, tables.made_by(tables.run_of(saved / f"{name}.json", notebook)) if name in ran
                          else NOT_RUN.format(name=name))
        nbformat.write(notebook, source / "book/notebooks" / f"{name}.ipynb")
    return source


def build(source: Path, target: Path) -> Path:
    """Build a staged book with warnings as errors and put it at ``target``.

    Args:
        source: a folder made by :func:`stage`.
        target: where the website goes. What is there is replaced only when the new one is whole and loads nothing
            from the net.

    Returns:
        The first page.

    Raises:
        PCGraphError: the build failed; the message ends with the last warnings, the site at ``target`` is untouched.
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
    """Names of the notebooks in a table of contents, in its order."""
    files = [chapter["file"] for part in read_yaml(toc)["parts"] for chapter in part["chapters"]]
    return [Path(file).name for file in files if file.startswith("book/notebooks/")]


def read_notebook(path: Path, profile: str) -> NotebookNode:
    """Read one executed notebook.

    Raises:
        BadFile: it is missing, unreadable or holds an error; the message gives the command that makes it.
    """
    again = f"Make it: pcgraph run {path.stem} --profile {profile}"
    if not path.is_file():
        raise BadFile(f"the book needs the executed notebook {path.stem!r}, and {shown(path)} is not there. {again}")
    try:
        text = path.read_text(encoding="utf-8")
        nbformat.validate(json.loads(text), version=4)
        notebook = nbformat.reads(text, as_version=4)
    except (ValueError, TypeError, AttributeError, nbformat.ValidationError) as error:
        raise BadFile(f"{shown(path)} is not a notebook ({type(error).__name__}). {again}") from error
    failed = [out for cell in notebook.cells for out in cell.get("outputs", []) if out.output_type == "error"]
    if failed:
        raise BadFile(f"{shown(path)} stopped with {failed[0].ename}: {failed[0].evalue}. {again}")
    return notebook


def outside_references(site: Path) -> list[str]:
    """What the pages and styles of a website load from elsewhere, as ``page: address``. Plain links do not count."""
    found = [f"{page.relative_to(site)}: {address}" for page in sorted(site.rglob("*.html"))
             for address in _Loaded.addresses(page.read_text(encoding="utf-8")) if _is_outside(address)]
    styles = (style for style in sorted(site.rglob("*.css")))
    return found + [f"{style.relative_to(site)}: {address}" for style in styles
                    for address in _style_addresses(style.read_text(encoding="utf-8")) if _is_outside(address)]


class _Loaded(HTMLParser):
    """Collects the addresses that a browser fetches on its own when it opens a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    @classmethod
    def addresses(cls, page: str) -> list[str]:
        parser = cls()
        parser.feed(page)
        return parser.found + list(_style_addresses("".join(re.findall(r"<style.*?</style>", page, re.S))))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("src", "srcset", "poster", "data") or (name == "href" and tag == "link"):
                self.found.append(value or "")
            elif name == "style":
                self.found.extend(_style_addresses(value or ""))


def _style_addresses(style: str) -> Iterator[str]:
    for match in re.finditer(r"""url\(\s*['"]?([^'")]+)|@import\s+['"]([^'"]+)""", style):
        yield match.group(1) or match.group(2)


def _is_outside(address: str) -> bool:
    return re.match(r"\s*(https?:)?//", address, re.I) is not None


def _run_builder(source: Path, folder: Path) -> Path:
    """Build ``source`` somewhere below ``folder`` and return the website's folder, or say why it is not good."""
    arguments = ["build", str(source), "--path-output", str(folder), "-W", "-n", "--keep-going"]
    run = subprocess.run([sys.executable, "-c", BUILDER, *arguments], capture_output=True, text=True)
    if run.returncode:
        raise PCGraphError(f"the book was not built from {shown(source)}. {_last_warnings(run.stdout + run.stderr)}")
    _drop_live_code(folder / "_build/html")
    if outside := outside_references(folder / "_build/html"):
        raise PCGraphError("these pages load something from the net, and the book must work without one: "
                           + "; ".join(outside[:8]))
    return folder / "_build/html"


def _drop_live_code(site: Path) -> None:
    """Jupyter Book names the address of a live-code library on every page, used or not; we use none."""
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        page.write_text(re.sub(r"<script>const THEBE_JS_URL.*?</script>", "", text, flags=re.DOTALL), encoding="utf-8")


def _last_warnings(log: str, count: int = 12) -> str:
    lines = [line for line in re.sub(r"\x1b\[[0-9;]*m", "", log).splitlines() if line.strip()]
    warnings = [line for line in lines if re.search(r"WARNING|ERROR|CRITICAL", line)]
    return "Last warnings:\n" + "\n".join((warnings or lines)[-count:])


def _copy_pages(root: Path, source: Path) -> None:
    """Start a new staged book with everything that needs no result: prose, style, settings, MathJax."""
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(root / "book", source / "book", ignore=shutil.ignore_patterns("*.ipynb", "generated"))
    (source / "book/notebooks").mkdir(exist_ok=True)
    for name in ("_config.yml", "_toc.yml"):
        shutil.copy2(root / name, source / name)
    _copy_mathjax(source / "vendor/mathjax")


def _copy_mathjax(target: Path) -> None:
    """Put the part of MathJax that pages use under ``target``; it is installed as files of a Python package."""
    package = importlib.util.find_spec("sphinx-mathjax-offline")
    if package is None or package.origin is None:
        raise BadFile("MathJax is not installed. Run: pip install -r requirements.txt")
    mathjax = Path(package.origin).parent / "static/mathjax"
    for name in MATHJAX:
        if (mathjax / name).is_dir():
            shutil.copytree(mathjax / name, target / name)
        else:
            target.mkdir(parents=True, exist_ok=True)
            shutil.copy2(mathjax / name, target / name)


def _describe_pictures(notebook: NotebookNode) -> None:
    """Give every picture a text for readers who do not see it; the builder would take the name of its file."""
    for cell in notebook.cells:
        if any("image/png" in out.get("data", {}) for out in cell.get("outputs", [])):
            alt = tables.alt_text(cell)
            cell.metadata.setdefault("mystnb", NotebookNode()).setdefault("image", NotebookNode())["alt"] = alt


def _say_what_made_it(notebook: NotebookNode, line: str) -> None:
    """Put a line under the title of a page."""
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and cell.source.startswith("# "):
            title, _, rest = cell.source.partition("\n")
            cell.source = f"{title}\n\n{line}\n{rest}" if line else cell.source
            return
