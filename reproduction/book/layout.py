"""Lay out a notebook's page: its result on top, tables and figures with links to their files, settings folded away."""

import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from ..evidence import claims, findings, records, words
from ..evidence.findings import Finding
from . import figures, live, render
from .handover import KIND, NUMBERS, Table, text_of

VERDICTS = "verdicts-"                             # how the name of a page's table of verdicts begins
# Tags of cells that are folded away, and the texts of their buttons.
PROMPTS = {"parameters": "Parameters", "injected-parameters": "Values used here", "hide-input": "Code"}
TOP = "Code, first figure"


@dataclass(frozen=True, eq=False)
class Judged:
    """The records and what was found of each claim, judged once for all pages of the book."""

    records: Sequence[Mapping[str, Any]]
    found: Mapping[str, Finding]

    @classmethod
    def judge(cls, kept: Sequence[Mapping[str, Any]]) -> "Judged":
        """Judge records that ``records.read`` returned."""
        return cls(kept, findings.findings(kept))

    def of(self, page: str) -> list[Finding]:
        """The findings of a page's claims, measured ones first."""
        own = [one for one in self.found.values() if one.claim.notebook == page]
        return sorted(own, key=lambda one: one.verdict == "not run")

    def write(self, saved: Path, folder: Path) -> None:
        """Write what readers can download: the records, the rules, the scorecard, and ``NAME.csv`` for each page: one
        row per recorded number, one column ``parameters.NAME`` per parameter that differs.
        """
        folder.mkdir(parents=True, exist_ok=True)
        for path in [*saved.glob("*.json"), claims.FILE]:
            shutil.copy2(path, folder)
        pd.DataFrame([one.row() for one in self.found.values()]).to_csv(folder / "scorecard.csv", index=False)
        names = {name: one.claim.name for name, one in self.found.items()}
        for page, rows in pd.DataFrame(self.records, columns=records.COLUMNS).groupby("notebook"):
            rest = pd.DataFrame(rows["parameters"].tolist(), index=rows.index).add_prefix("parameters.")
            table = rows.drop(columns=["notebook", "parameters"]).join(rest)
            table.insert(0, "name", table["claim"].map(names))
            table.to_csv(folder / f"{page}.csv", index=False)


@dataclass(frozen=True, eq=False)
class Page:
    """A notebook of the book. ``ran``: it has been executed. ``older``: it ran with code of an earlier commit."""

    name: str
    notebook: NotebookNode
    ran: bool
    older: bool
    run: Mapping[str, Any]

    @cached_property
    def figures(self) -> dict[str, figures.Figure]:
        """Its captioned figures, by name."""
        return figures.of(self.notebook)


Drawn = Mapping[str, tuple[str, figures.Figure]]           # name of a figure -> its page, and the figure


def drawn(pages: Mapping[str, Page]) -> Drawn:
    """The figures of all pages."""
    return {name: (page.name, figure) for page in pages.values() for name, figure in page.figures.items()}


def lay_out(page: Page, judged: Judged, root: Path, source: Path, every: Drawn) -> None:
    """Turn a notebook's outputs into what readers see, and write their downloads into ``source``, the staged book."""
    found, recorded = judged.of(page.name), any(row["notebook"] == page.name for row in judged.records)
    _describe_figures(page, found, source / "vendor/records/figures")
    _put_result(page, found, recorded, source, every)
    _show_tables(page, found, source / "vendor/records/tables")
    for cell in page.notebook.cells:
        _label(cell)
    live.insert(root, page.notebook)
    first = new_code_cell(render.template("install.py.txt").strip(), id="install", metadata={"tags": ["remove-cell"]})
    page.notebook.cells.insert(0, first)                                   # the site does not show it


def _put_result(page: Page, found: Sequence[Finding], recorded: bool, source: Path, every: Drawn) -> None:
    """Put findings, the figure that shows them, perhaps another page's, and a line about the run below the title."""
    title = next((cell for cell in page.notebook.cells if cell.source.startswith("# ")), None)
    if title is None:
        return
    told = words.load().pages.get(page.name)
    own = next(((page.name, figure) for figure in page.figures.values()), ("", None))
    home, shown = every.get(told.figure if told else "", own)
    if shown:
        (folder := source / "book/generated/figures").mkdir(parents=True, exist_ok=True)
        (folder / f"{shown.name}.png").write_bytes(shown.png)
    if shown and home == page.name:                            # on top, and no longer below the code that drew it
        shown.cell.metadata.tags = [*shown.cell.metadata.get("tags", []), "remove-output"]
    first, _, rest = title.source.partition("\n")
    title.source = render.template("result.md", title=first, rest=rest.strip(), page=page, figure=shown, home=home,
                                   found=found, aim=_aim(page), recorded=recorded)


def _aim(page: Page) -> str:
    """What a page without claims found, with numbers of its own tables; what it is for, if it has no such tables."""
    if (about := words.load().pages.get(page.name)) is None:
        return ""
    shown = [output.data[KIND] for cell in page.notebook.cells for output in cell.get("outputs", [])
             if KIND in output.get("data", {})]
    tables, told = {table.name: table.data for table in map(Table.model_validate, shown)}, {}
    for name, cell in about.cells.items():
        rows = tables.get(cell.table, pd.DataFrame(columns=[*cell.row, cell.column]))
        for column, value in cell.row.items():
            rows = rows[rows[column] == value]
        if len(rows):
            told[name] = text_of(rows[cell.column].iloc[0]).partition(" ±")[0]
    return about.finding.format(**told) if about.finding and told.keys() == about.cells.keys() else about.aim


def _show_tables(page: Page, found: Sequence[Finding], folder: Path) -> None:
    """Turn every table into HTML with a link to its numbers, and fold away tables of settings."""
    folder.mkdir(parents=True, exist_ok=True)
    seen, rules = Counter[str](), claims.load_claims()      # a verdict may rest on other graphs than those of the table
    for cell in page.notebook.cells:
        for output in cell.get("outputs", []):
            if KIND not in output.get("data", {}):
                continue
            table = Table.model_validate(output.data[KIND])
            seen[table.name] += 1
            label = f"{table.name} {seen[table.name]}".removesuffix(" 1")
            file = folder / f"{page.name}-{label.replace(' ', '-')}.csv"
            link = f"../../records/tables/{file.name}"
            if table.name.startswith(VERDICTS):                            # shown by the rules of today
                html = render.verdicts([one for one in found if one.verdict != "not run" or one.readings])
            else:
                table.to_csv(file)
                says = [one.sentences[0] for one in found if one.claim.table == label and one.sentences
                        and one.claim.decided_by == rules[one.name].decided_by]
                html = render.table(table, " ".join(says), link)
            output.data = NotebookNode({"text/html": html})
            if table.settings:
                shown = [tag for tag in cell.metadata.get("tags", []) if tag != "hide-input"]
                cell.metadata["tags"] = [*shown, "hide-cell"]
                _prompt(cell, "Numbers by setting" if table.name.startswith("by-") else "Settings")


def _describe_figures(page: Page, found: Sequence[Finding], folder: Path) -> None:
    """Give every figure a text for readers who do not see it, and write its numbers into a file."""
    folder.mkdir(parents=True, exist_ok=True)
    for figure in page.figures.values():
        said = [f"{one.title}: {one.sentences[0]}" for one in found
                if one.figure == figure.name and one.sentences and not one.claim.exact]
        ends = figure.alt.endswith((".", "?", "!"))
        figure.cell.metadata.mystnb.image = NotebookNode(alt=" ".join([figure.alt + "." * (not ends), *said]))
        if numbers := figure.numbers:
            file = folder / f"{page.name}-{figure.name.removeprefix('fig-')}.csv"
            file.write_text(numbers, encoding="utf-8")
            about = figure.cell.metadata.mystnb.figure
            about["caption"] = about.get("caption", "") + render.template("numbers.md", file=file.name)
        for output in figure.cell.outputs:
            output.get("data", {}).pop(NUMBERS, None)                  # the builder knows no such output


def _label(cell: NotebookNode) -> None:
    tags = cell.metadata.get("tags", [])
    if prompt := next((PROMPTS[tag] for tag in PROMPTS if tag in tags), ""):
        cell.metadata.tags = list(dict.fromkeys([*tags, "hide-input"]))
        moved = "remove-output" in tags and "figure" in cell.metadata.get("mystnb", {})
        _prompt(cell, TOP if moved else prompt)


def _prompt(cell: NotebookNode, text: str) -> None:
    shown = cell.metadata.setdefault("mystnb", NotebookNode())
    shown["code_prompt_show"], shown["code_prompt_hide"] = text, f"Hide: {text[0].lower()}{text[1:]}"
