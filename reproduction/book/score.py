"""The pages about all claims: the score in one view, the scorecard, and why claims failed."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..evidence import claims, findings, records, strict, verdicts, words
from . import figures, render
from .layout import Judged, Page, drawn

TRAINED, EXACT = "Claims about trained models", "Equations, masks and drawings, checked exactly"
BEYOND = "Beyond the paper"
PAGES = ("score.html", "dots.html", "conclusion.md", "scorecard.html", "why.md", "cite.md")
SMALL = 160                                        # pixels of a small picture, shown at half of it
CLASSIFIERS = ("class-mnist", "class-fashion", "class-svhn")
OLDER = {"over_hopfield": "the Hopfield network", "over_boltzmann": "the Boltzmann machine",
         "over_almeida_pineda": "recurrent backpropagation"}


def includes(judged: Judged, pages: Mapping[str, Page], root: Path, source: Path,
             committed: Path | None = None) -> dict[str, str]:
    """The files that prose pages include, by name. ``committed``: the paper's sizes, for a book of smaller runs."""
    every, order = entries(judged, pages, root, source / "book/_static/score"), list(findings.LEADS)
    full = {name: one.verdict for name, one in findings.findings(records.read(committed)).items()} if committed else {}
    ranked = sorted(every, key=lambda entry: order.index(entry["one"].verdict))                # what holds first
    groups = {title: [entry for entry in ranked if entry["group"] == title] for title in (TRAINED, EXACT, BEYOND)}
    rivals = [rival for one in judged.found.values() if not one.claim.beyond for rival in one.rivals]
    given = {"every": every, "groups": groups, "trained_title": TRAINED, "exact_title": EXACT, "pages": pages,
             "summaries": {title: summary([entry["one"] for entry in group]) for title, group in groups.items()},
             "rivals": render.counted(rivals), "lead": lead(judged), "dots": dots(judged), "kinds": findings.KINDS,
             "work": strict.read_yaml(root / "CITATION.cff"), "full": full,
             "at_full_size": Counter(full.get(entry["one"].name) for entry in groups[TRAINED])}
    return {name: render.template(name, **given) for name in PAGES}


def entries(judged: Judged, pages: Mapping[str, Page], root: Path, folder: Path) -> list[dict[str, Any]]:
    """What the pages say of each claim, and a small picture of the figure that shows it, in ``folder``."""
    every, told, places = [], (root / "book/changes.md").read_text(encoding="utf-8"), drawn(pages)
    for one in judged.found.values():
        claim, anchor = one.claim, f"change-{one.name.lower()}"
        place, figure = places.get(one.figure, ("", None)) if one.verdict != "not run" else ("", None)
        figure = None if figure and figure.numbers else figure             # a chart is grey dust at this size
        every.append({
            "one": one, "group": BEYOND if claim.beyond else EXACT if claim.exact else TRAINED, "place": place,
            "figure": figure, "image": figures.thumbnail(figure, folder, SMALL) if figure else None,
            "ticks": ticks(one), "asked": asked(claim),
            "changes": anchor if f"\n({anchor})=\n" in told else "runs"})
    return every


def lead(judged: Judged) -> dict[str, bool]:
    """Older network -> whether the fully connected graph beats it on every data set that was run. Empty: none was."""
    ran = [(OLDER[check], bool(outcome.passed)) for claim in CLASSIFIERS if claim in judged.found
           for check, outcome in judged.found[claim].outcomes.items() if check in OLDER and outcome.cases]
    return {network: all(passed for name, passed in ran if name == network) for network in dict(ran)}


def summary(group: Sequence[findings.Finding]) -> dict[str, Any]:
    """Counts of a group of claims: of all, by final verdict, and by remark."""
    final = Counter(one.verdict for one in group if not one.verdict.startswith("preliminary"))
    return {"count": len(group), "final": [(word, final[word]) for word in findings.LEADS if final[word]],
            "remarks": list(Counter(one.remark for one in group if one.remark).items())}


def ticks(one: verdicts.Verdict) -> dict[str, Any]:
    """Which checks hold and which fail, in few words each, how many, and which guards fail; nothing for exact ones."""
    if one.claim.exact or not one.claim.comparable:
        return {"held": [], "failed": [], "guards": [], "count": ""}
    held, failed, guards = (list(one.named(*how)) for how in ((True,), (False,), (False, True)))
    count = len(held) + len(failed)
    return {"held": _short(one.claim, held), "count": f"{len(held)} of {count} checks" if count > 1 else "",
            "failed": _short(one.claim, failed), "guards": _short(one.claim, guards)}


def asked(claim: claims.Claim) -> list[str]:
    """One line for each quotation of the paper: the checks that ask for it; and one for those that we added."""
    if not claim.says:
        return []
    lines = {f"“{said}”": names for said, names in claim.says.items()}
    of_paper = {name for names in claim.says.values() for name in names}
    ours = [name for name, check in claim.checks.items() if not check.further and name not in of_paper]
    lines |= {"added by us": ours} if ours else {}
    return [f"{said}: {'; '.join(_short(claim, names))}" for said, names in lines.items()]


def _short(claim: claims.Claim, names: Iterable[str]) -> list[str]:
    """What checks ask, in a few words each; of those that share words, with their number."""
    said = Counter(claim.short.get(name, name.replace("_", " ")) for name in names)
    every = Counter(claim.short.values())
    whole = {1: "", 2: " (both)"}
    return [text + (f" ({count} of {every[text]})" if count < every[text] else whole.get(count, f" (all {count})"))
            for text, count in said.items()]


def dots(judged: Judged) -> dict[str, Any] | None:
    """The paper's accuracies and ours by claim, one row per number, on a common scale; None if there are none."""
    groups = {one.claim.name: rows for one in judged.found.values() if (rows := _accuracies(one))}
    every = [row for rows in groups.values() for row in rows]
    if not (values := [value for row in every for value in (row["paper"], row["ours"]) if value]):
        return None
    low = 10 * np.floor(min(values) / 10)
    for row in every:
        row["marks"] = [_mark(side, row[side], row[f"{side}_sd"], low) for side in ("paper", "ours")
                        if row[side] is not None]
    return {"groups": groups, "low": low}


def _accuracies(one: verdicts.Verdict) -> list[dict[str, Any]]:
    """The rows of one claim, in per cent: model, the paper's value, ours (None if not measured), deviations, seeds."""
    pairs, rows = re.findall(r"(\d+(?:\.\d+)?) ± (\d+(?:\.\d+)?)", one.claim.paper), []        # where it prints them
    for outcome in one.outcomes.values():
        check = outcome.check
        if not (check.near and check.percent and check.quantity == "accuracy"):
            continue
        paper = 100 * check.near.value
        paper_sd = next((float(sd) for value, sd in pairs if np.isclose(float(value), paper)), 0.)
        for case in outcome.cases or [None]:
            values = 100 * case.values if case else np.empty(0)
            model = check.model or (case.model if case else one.name)
            rows.append({"model": words.load().words.get(model, model), "paper": paper, "paper_sd": paper_sd,
                         "printed": findings.printed(check, one.claim.paper),
                         "ours": values.mean() if case else None, "seeds": len(values),
                         "ours_sd": values.std(ddof=1) if len(values) > 1 else 0.})
    return rows if any(row["ours"] is not None for row in rows) else []


def _mark(side: str, value: float, sd: float, low: float) -> dict[str, Any]:
    """The position of a mark on its track, and the beginning and width of its band, in per cent of the track."""
    at, begin, end = (100 * np.clip((place - low) / (100 - low), 0, 1) for place in (value, value - sd, value + sd))
    return {"side": side, "at": round(at, 2), "begin": round(begin, 2), "width": round(end - begin, 2)}
