"""What a notebook's page begins with: verdict and finding of each of its claims, and the figure that shows it.

Put there when the site is staged, from records and the executed notebook, so pages stay equal to their sources.
"""

import base64
import re
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from nbformat import NotebookNode

from ..evidence.findings import Finding, PageWords
from . import tables

MANY = 2                                           # claims on a page from which on the box keeps to one sentence each
CONTENTS = ('```{raw} html\n<details class="on-this-page"><summary>On this page</summary>\n```\n\n'
            '```{contents}\n:local:\n:depth: 1\n:backlinks: none\n```\n\n```{raw} html\n</details>\n```')
CITE = "[{ref}`Cite this book <cite>`.]{.made-by}"
# tables that tell how, not what
SETTINGS = re.compile(r'<table id="T_(?:(?:models|graphs)".*(?:>seconds<|Trained alike:)|sweep|base"'
                      r'|by(?:-[^-"]+){5,}")', re.DOTALL)


def put_on(notebook: NotebookNode, found: Sequence[Finding], words: PageWords | None, made_by: str,
           folder: Path) -> None:
    """Put the box under the title of a page, its figure into ``folder``/figures, and fold what is bookkeeping away.

    Args:
        found: of the claims that the page serves.
        words: what ``words.yaml`` says of the page, if anything.
        made_by: a line of Markdown that says what made the page; it stands below the figure.
    """
    title = next((cell for cell in notebook.cells if cell.source.startswith("# ")), None)
    if title is None:
        return
    first, _, rest = title.source.partition("\n")
    words, pictures = words or PageWords(figure=""), figures(notebook)
    figure = pictures.get(words.figure) or next(iter(pictures.values()), None)
    shown, below = _shown(figure, folder) if figure else ("", "")
    parts = [first, raw(box(found, words.aim)) if found or words.aim else "", shown,
             f"{below} {made_by} {CITE}".strip(), CONTENTS, rest.strip()]
    title.source = "\n\n".join(part for part in parts if part) + "\n"
    fold(notebook)


def box(found: Sequence[Finding], aim: str) -> str:
    """The findings of a page, those that were measured first; without claims what the page is for."""
    measured = sorted(found, key=lambda one: one.verdict == "not run")
    inside = "".join(_told(one, brief=len(found) > MANY) for one in measured) or f"<p>{escape(aim)}</p>"
    return f'<section class="result" aria-label="Result">{inside}</section>'


def badge(verdict: str) -> str:
    """A verdict as HTML with the class that colours it."""
    return f'<span class="verdict {tables.BADGES[verdict.partition(":")[0]]}">{escape(verdict)}</span>'


def raw(html: str) -> str:
    """HTML for a Markdown page."""
    return f"```{{raw}} html\n{html}\n```"


def figures(notebook: NotebookNode) -> dict[str, NotebookNode]:
    """The cells that show a captioned picture, by the name of the figure."""
    shown = [cell for cell in notebook.cells if _png(cell)]
    named = {cell.metadata.get("mystnb", {}).get("figure", {}).get("name"): cell for cell in shown}
    return {name: cell for name, cell in named.items() if name}


def fold(notebook: NotebookNode) -> None:
    """Hide what tells how a page was made behind a button that says so: parameters, imports, tables of settings."""
    for cell in notebook.cells:
        tags = cell.metadata.setdefault("tags", [])
        if any(SETTINGS.search(out.get("data", {}).get("text/html", "")) for out in cell.get("outputs", [])):
            cell.metadata["tags"] = [tag for tag in tags if tag != "hide-input"] + ["hide-cell"]
            _prompt(cell, "The settings, in a table")
        elif "parameters" in tags:
            _prompt(cell, "Parameters of this page")
        elif "injected-parameters" in tags:                                # those that papermill was given
            tags.append("hide-input")
            _prompt(cell, "Parameters of this run")
        elif "hide-input" in tags:
            _prompt(cell, "Code")


def picture(cell: NotebookNode) -> bytes:
    """The picture of a cell that has one."""
    return base64.b64decode(_png(cell))


def _told(one: Finding, brief: bool) -> str:
    """One claim: badge and name; the verdict in words and the finding; the numbers; what it hangs on."""
    remark = f' <span class="remark">{escape(one.remark)}</span>' if one.remark else ""
    head = f'{badge(one.verdict)}{remark} <strong class="finding-name">{escape(one.name)}</strong>'
    shown, later = (one.sentences[:1], one.sentences[1:]) if brief else (one.sentences, ())
    said = f'<span class="finding-said"><strong>{one.lead}</strong> {escape(" ".join(shown))}</span>'
    begin = f'<div class="finding" id="claim-{one.claim}">'
    if brief and (one.exact or not one.ours):                              # the number stands in the sentence
        return f"{begin}<p>{head}. {said}</p></div>"
    numbers = "" if one.exact else f'<p class="finding-numbers">{numbers_of(one)}</p>'
    lacks, more = escape(" ".join(one.lacks[:1])), listed([*later, *one.lacks[1:], *one.hangs])
    if more:
        title = f"{lacks} · What it hangs on".removeprefix(" · ")
        more = f"<details><summary>{title}</summary>{more}</details>"
    elif lacks:
        more = f'<p class="finding-lacks">{lacks}</p>'
    return f"{begin}<p>{head}</p><p>{said}</p>{numbers}{more}</div>"


def numbers_of(one: Finding) -> str:
    """Our number beside the paper's."""
    return "".join(f'<span class="numbers"><span class="side">{side}</span> {escape(text)}</span> '
                   for side, text in (("Here:", one.ours or "not measured"), ("Paper:", one.paper)))


def listed(lines: Iterable[str]) -> str:
    """Lines as a list; nothing without any."""
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f"<ul>{items}</ul>" if items else ""


def _shown(cell: NotebookNode, folder: Path) -> tuple[str, str]:
    """The picture of a cell, written to ``folder``/figures, and where it stands with its caption."""
    name = cell.metadata["mystnb"]["figure"]["name"]
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    (folder / "figures" / f"{name}.png").write_bytes(picture(cell))
    return (f":::{{container}} result-picture\n```{{image}} ../generated/figures/{name}.png\n"
            f":alt: {tables.alt_text(cell)}\n:class: result-figure\n```\n:::",
            f"[What to look for: the caption of {{numref}}`{name}` below.]{{.made-by}}")


def _png(cell: NotebookNode) -> str:
    pictures = [out["data"]["image/png"] for out in cell.get("outputs", []) if "image/png" in out.get("data", {})]
    return pictures[0] if pictures else ""


def _prompt(cell: NotebookNode, text: str) -> None:
    shown = cell.metadata.setdefault("mystnb", NotebookNode())
    shown["code_prompt_show"], shown["code_prompt_hide"] = text, f"Hide: {text[0].lower()}{text[1:]}"
