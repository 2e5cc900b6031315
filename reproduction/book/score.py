"""The pages of the whole: the score in one view, the scorecard and why claims failed, made from the findings."""

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from io import BytesIO
from pathlib import Path

import numpy as np
import pandas as pd
from nbformat import NotebookNode
from PIL import Image

from .. import checkout
from ..evidence import claims, findings, strict
from ..evidence.claims import Check, Claim
from ..evidence.findings import KINDS, Finding
from ..evidence.verdicts import Verdict
from . import polish, result

EXACT = "Equations, masks and drawings, checked exactly"
TRAINED = "Claims about trained models"
WORDS = ("reproduced", "partly", "not reproduced", "not comparable", "not run")
THUMBNAIL = 640                                    # pixels wide: a figure beside a cause
READABLE = 0.71                                    # of its natural size: letters of 9 pixels, as in the style sheet
LAST = 6                                           # commits in the history of a row


def write(folder: Path, card: pd.DataFrame, found: Mapping[str, Finding], judged: Mapping[str, Verdict],
          notebooks: Mapping[str, NotebookNode], root: Path) -> None:
    """Write what the prose pages include: ``score.html``, ``scorecard.html``, ``why.md``, ``cite.md``, ``play.md``.

    Args:
        card, judged: as ``verdicts.scorecard`` and ``verdicts.verdicts`` give them.
        found: as ``findings.findings`` gives it.
        notebooks: the pages of the book; only these are linked.
        root: the checkout, for the history of the records.
    """
    rules, rows = claims.load_claims(), {row["claim"]: row for row in card.to_dict("records")}
    shown = [one for one in found.values() if one.claim in rows]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "score.html").write_text(summary(shown, [str(row["rival"]) for row in rows.values()]) + dots(judged)
                                       + chips(shown, rules, notebooks), encoding="utf-8")
    past = {name: history(root, name) for name in {rules[one.claim].notebook for one in shown}}
    told = re.findall(r"^\(change-(\S+)\)=$", (root / "book/changes.md").read_text(encoding="utf-8"), re.MULTILINE)
    body = "".join(_row(one, rules[one.claim], rows[one.claim], notebooks, past, one.claim.lower() in told)
                   for one in shown)                                       # anchors are lower-case
    (folder / "scorecard.html").write_text(
        '<div id="claims-by-row"><table class="scorecard"><thead><tr><th scope="col">Claim</th><th scope="col">'
        f'Verdict</th><th scope="col">What was found</th></tr></thead><tbody>{body}</tbody></table></div>\n'
        '<p><a href="../records/scorecard.csv" download>This table (CSV)</a></p>\n'
        '<script src="../_static/scorecard.js" defer></script>\n', encoding="utf-8")
    (folder / "cite.md").write_text(cite(root / "CITATION.cff"), encoding="utf-8")
    play = ("**{doc}`Play with trained graphs <play>`** explains this one and has more: a memory, three vertices with "
            "every number in sight, masks, and relaxed time. Nothing is installed and nothing is sent.\n")
    (folder / "play.md").write_text(play * (root / "book/play.md").is_file(), encoding="utf-8")
    (folder / "why.md").write_text(why(shown, rules, notebooks, folder), encoding="utf-8")


def summary(found: Sequence[Finding], beside: Iterable[str] = ()) -> str:
    """How many hold, the exact ones apart from those about trained models; ``beside``: the scorecard's ``rival``."""
    lines = ""
    for title, group in _groups(found).items():
        final, so_far = ([one.verdict.removeprefix("preliminary: ") for one in group
                          if one.verdict.startswith("preliminary") == early] for early in (False, True))
        text = ", ".join(f"<strong>{final.count(word)}</strong> {word}" for word in WORDS if word in final)
        for remark in dict.fromkeys(one.remark for one in group if one.remark):
            text += f", {sum(one.remark == remark for one in group)} of them {escape(remark)}"
        early = ", ".join(f"{so_far.count(word)} {word}" for word in WORDS if word in so_far)
        lines += (f"<li><strong>{title}</strong> ({len(group)}): {text}"
                  + (f"; <strong>{len(so_far)}</strong> preliminary (so far {early})" if early else "") + ".</li>")
    return f'<ul class="score-summary">{lines}{_beside("; ".join(filter(None, beside)))}</ul>\n'


def _beside(said: str) -> str:
    """How often a result is better than that of a simple method; nothing where none was compared."""
    counts = [said.count(words) for words in ("better than", "not told apart from", "worse than")]
    return (f"<li><strong>Beside simple methods</strong> (linear maps, filters, nearest images; {sum(counts)} "
            "comparisons): better in <strong>{}</strong>, level in <strong>{}</strong>, worse in "
            "<strong>{}</strong>.</li>").format(*counts) if said else ""


def dots(judged: Mapping[str, Verdict]) -> str:
    """The paper's accuracies against ours: a row a number, a group a claim. The scale is that of all rows."""
    groups = {one.claim.name: rows for one in judged.values() if (rows := _numbers(one))}
    values = [value for rows in groups.values() for row in rows for value in (_percent(row[1]), row[3]) if value]
    if not values:
        return ""
    low = 10 * np.floor(min(values) / 10)
    body = "".join(f'<tr class="dots-group"><th colspan="3" scope="colgroup">{escape(name)}</th></tr>'
                   + "".join(_dot(row, low) for row in rows) for name, rows in groups.items())
    return ('<table class="dots"><caption>Test accuracy in per cent, where the paper gives a number. Dot: here, with '
            f'the standard deviation over seeds. Bar: the paper, with its own. The scale runs from {low:.0f} to 100 %.'
            '</caption><thead><tr><th scope="col">Model</th><th scope="col">Bar: paper, dot: here</th><th scope="col">'
            f'Paper / here</th></tr></thead><tbody>{body}</tbody></table>\n')


def chips(found: Sequence[Finding], rules: Mapping[str, Claim], notebooks: Iterable[str]) -> str:
    """Every claim by name, with its verdict and a link to where it is told."""
    text = ""
    for title, group in _groups(found).items():
        order = list(findings.LEADS)
        items = "".join(f"<li>{result.badge(one.verdict)} {_linked(one, rules, notebooks, one.name)}"
                        + f' <span class="remark">{escape(one.remark)}</span>' * bool(one.remark) + "</li>"
                        for one in sorted(group, key=lambda one: order.index(one.verdict)))
        text += f'<h3 class="chips-title">{title}</h3><ul class="chips">{items}</ul>\n'
    return text


def why(found: Sequence[Finding], rules: Mapping[str, Claim], notebooks: Mapping[str, NotebookNode],
        folder: Path) -> str:
    """The causes by kind, as Markdown: what the paper says, what was found, why, and the figure that shows it."""
    text, seen = "", {}                                                    # figures, and the claim each stood beside
    for kind, title in KINDS.items():
        of_kind = [one for one in found if one.kind == kind]
        if not of_kind:
            continue
        text += f"## {title}\n\n"
        for one in of_kind:
            text += f"### {one.name}\n\n{result.raw(_because(one, rules, notebooks, folder, seen))}\n\n"
    return text or "Every claim that was measured holds.\n"


def _because(one: Finding, rules: Mapping[str, Claim], notebooks: Mapping[str, NotebookNode], folder: Path,
             seen: dict[str, str]) -> str:
    """The cause of one claim. Its figure stands beside the first claim that it belongs to (``seen``), and beside none
    that was not run: it shows nothing of that one.
    """
    claim, measured = rules[one.claim], one.verdict != "not run"
    said = [f"{result.badge(one.verdict)} The paper: {escape(claim.statement)}", escape(" ".join(one.cause)),
            f'<span class="finding-lacks">{escape(" ".join(one.lacks[:1]))}</span>',
            _linked(one, rules, notebooks, "What was measured" if measured else "The page that will measure it")]
    figure = ""
    if measured and one.figure in seen:
        said[-1] += f". Its figure stands above, beside “{escape(seen[one.figure])}”."
    elif measured and (figure := _thumbnail(one, claim, notebooks, folder)):
        seen[one.figure] = one.name
    return (f'<div class="cause">{figure}<div>'
            + "".join(f"<p>{line}</p>" for line in said) + "</div></div>")


def history(root: Path, notebook: str) -> list[str]:
    """The last commits that changed the records of a page: date, commit and subject. Nothing in a copy without git."""
    return checkout.git("log", f"-{LAST}", "--format=%as %h %s", "--", f"results/records/{notebook}.json",
                        folder=root).splitlines()


def cite(file: Path) -> str:
    """BibTeX of this work and of the paper, from ``CITATION.cff``, as Markdown; the box has a button that copies it."""
    work = strict.read_yaml(file)
    paper = work["references"][0]
    authors = " and ".join(f"{one['family-names']}, {one['given-names']}" for one in paper["authors"])
    own = {"author": "{" + work["authors"][0]["name"] + "}", "title": "{" + work["title"] + "}",
           "year": work["date-released"].year, "version": work["version"], "note": "Reproduction of the paper below"}
    theirs = {"author": authors, "title": "{" + paper["title"] + "}", "booktitle": paper["collection-title"],
              "volume": paper["volume"], "pages": f"{paper['start']}--{paper['end']}", "year": paper["year"],
              "url": paper["url"]}
    entries = [_entry("software", "pcgraph-lite", own), _entry("inproceedings", "salvatori2022graphs", theirs)]
    return "```bibtex\n" + "\n\n".join(entries) + "\n```\n"


def _entry(kind: str, key: str, fields: Mapping[str, object]) -> str:
    lines = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields.items())
    return f"@{kind}{{{key},\n{lines}\n}}"


def _groups(found: Sequence[Finding]) -> dict[str, list[Finding]]:
    groups = {TRAINED: [one for one in found if not one.exact], EXACT: [one for one in found if one.exact]}
    return {title: group for title, group in groups.items() if group}


def _numbers(one: Verdict) -> list[tuple]:
    """Model, the paper's value as printed, its sd, our mean (None where not measured), sd and seeds, in per cent."""
    words, rows = findings.load().words, []
    for outcome in one.outcomes.values():
        check = outcome.check
        if not (check.near and check.percent and check.quantity == "accuracy"):
            continue
        label = words.get(check.model or "", check.model or "")
        for case in outcome.cases or [None]:
            values = 100 * case.values if case else np.empty(0)
            sd = values.std(ddof=1) if len(values) > 1 else 0.
            ours = (values.mean(), sd, len(values)) if case else (None, sd, 0)
            printed, paper_sd = findings.printed(check, one.claim.paper), _paper_sd(check, one.claim.paper)
            rows.append((label or words.get(case.model if case else "", one.name), printed, paper_sd, *ours))
    return rows if any(row[3] is not None for row in rows) else []


def _paper_sd(check: Check, paper: str) -> float:
    """The standard deviation that the paper prints behind a value; 0 without one."""
    pairs = re.findall(r"(\d+(?:\.\d+)?) ± (\d+(?:\.\d+)?)", paper)
    return next((float(sd) for value, sd in pairs if np.isclose(float(value), 100 * check.near.value)), 0.)


def _dot(row: tuple, low: float) -> str:
    label, printed, paper_sd, ours, sd, seeds = row
    paper = _percent(printed)

    def place(value: float) -> float:
        return round(100 * min(max((value - low) / (100 - low), 0.), 1.), 2)

    marks = _mark("paper", place(paper), place(paper - paper_sd), place(paper + paper_sd))
    if ours is not None:
        marks += _mark("ours", place(ours), place(ours - sd), place(ours + sd))
    spread = f" ± {sd:.{1 + (sd < 0.05)}f}" if seeds > 1 else ""            # 0.0 would say that there is none
    said = "not measured" if ours is None else f"{ours:.1f}{spread} %"
    seeds = "" if ours is None else f' <span class="seeds">{seeds} seed{"s" * (seeds != 1)}</span>'
    return (f'<tr><th scope="row">{escape(label)}</th><td><span class="track">{marks}</span></td>'
            f"<td>{printed} / <strong>{said}</strong>{seeds}</td></tr>")


def _percent(printed: str) -> float:
    return float(printed.removesuffix(" %"))


def _mark(kind: str, at: float, low: float, high: float) -> str:
    return (f'<i class="{kind}-sd" style="left:{low}%;width:{high - low:.2f}%"></i>'
            f'<i class="{kind}" style="left:{at}%"></i>')


def _linked(one: Finding, rules: Mapping[str, Claim], notebooks: Iterable[str], text: str) -> str:
    """A link to the claim on its page; the words alone where the page is not in the book."""
    name = rules[one.claim].notebook
    return (f'<a href="notebooks/{name}.html#claim-{one.claim}">{escape(text)}</a>' if name in notebooks
            else escape(text))


def _row(one: Finding, claim: Claim, row: Mapping[str, object], notebooks: Mapping[str, NotebookNode],
         past: Mapping[str, Sequence[str]], told: bool) -> str:
    """One claim of the scorecard; ``told``: the page of changes has a line about it."""
    name = claim.notebook
    links = []
    if name in notebooks and one.figure in result.figures(notebooks[name]):
        links.append(f'<a href="notebooks/{name}.html#{one.figure}">Figure</a>')
    if row["profile"]:
        links.append(f'<a href="../records/{name}.json">Record</a>')
    links.append('<a href="../records/claims.yaml">Rules</a>')
    links.append(f'<a href="changes.html#{f"change-{one.claim.lower()}" if told else "runs"}">Changes</a>')
    measured = str(row["ours"]).split("; ") if row["ours"] else [claims.rule(check) for check in claim.checks.values()]
    measured = [result.tables.told(text, findings.load()) for text in measured]
    more = (f"<p>The rule, and what was measured:</p>{result.listed(measured)}"
            + result.listed([*one.lacks, *one.hangs]) + f'<p>{" · ".join(links)}</p>'
            f"<pre>{escape(str(row['command']))}</pre>"
            + (f"<p>History of the record:</p>{result.listed(past[name])}" if past[name] else ""))
    numbers = "" if one.exact else f'<p class="finding-numbers">{result.numbers_of(one)}</p>'
    remark = f' <span class="remark">{escape(one.remark)}</span>' if one.remark else ""
    section = f"A{claim.section[1:]}" if claim.section.startswith("appendix") else f"Section {claim.section}"
    return (f'<tr id="{one.claim}" data-verdict="{escape(str(one.verdict))}" data-section="{escape(claim.section)}">'
            f"<th scope=\"row\">{_linked(one, {one.claim: claim}, notebooks, one.name)}"
            f'<span class="where">{section}</span></th><td>{result.badge(one.verdict)}{remark}</td>'
            f"<td><p>The paper: {escape(claim.statement)}</p><p><strong>{one.lead}</strong> "
            f"{escape(' '.join(one.sentences))}</p>{numbers}<details><summary>Rule, record, command</summary>{more}"
            "</details></td></tr>\n")


def _thumbnail(one: Finding, claim: Claim, notebooks: Mapping[str, NotebookNode], folder: Path) -> str:
    """A small picture of the figure of a claim, linked to it, and its caption; nothing where there is none."""
    cell = result.figures(notebooks[claim.notebook]).get(one.figure) if claim.notebook in notebooks else None
    if cell is None:
        return ""
    place = folder.parent / "_static/causes" / f"{one.figure}.png"
    place.parent.mkdir(parents=True, exist_ok=True)
    picture = Image.open(BytesIO(result.picture(cell))).convert("RGB")
    natural = picture.width
    wide = max(THUMBNAIL, round(READABLE * natural))                       # as far as its letters can be read
    dark = polish.darkened(np.asarray(picture))                            # small, even lines have many shades
    picture.thumbnail((wide, 2 * wide))
    if dark is not None:
        dark = np.asarray(Image.fromarray(dark).resize(picture.size, Image.Resampling.LANCZOS))
    polish.by_palette(picture).save(place, optimize=True)
    width, height = picture.size
    kind = ' class="wide"' if wide > THUMBNAIL else ""                     # its words stand below it
    image = (f'<img src="../_static/causes/{place.name}" width="{width}" height="{height}" '
             f'style="--natural: {natural}" loading="lazy" alt="{escape(result.tables.alt_text(cell))}">')
    if dark is not None:
        image = polish.in_both_themes(image, place, dark)
    linked = f'<a href="notebooks/{claim.notebook}.html#{one.figure}">{image}</a>'
    return f"<figure{kind}>{linked}<figcaption>{escape(result.tables.caption(cell))}</figcaption></figure>"
