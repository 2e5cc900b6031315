"""The score, the scorecard and the causes show what the findings say. Oracles: records made here, numbers by hand."""

import base64
import dataclasses
import re
import statistics
from html import unescape
from io import BytesIO
from pathlib import Path

import matplotlib.figure
import numpy as np
import pandas as pd
import pytest
from bs4 import BeautifulSoup
from nbformat.v4 import new_code_cell, new_notebook, new_output
from PIL import Image

from reproduction.book import figures, render, score
from reproduction.book.figures import Figure
from reproduction.book.judged import Judged
from reproduction.book.layout import Page
from reproduction.checkout import ROOT
from reproduction.evidence import claims, grid, records
from reproduction.evidence.verdicts import Beside, Case

RULES = claims.load_claims()


def kept() -> pd.DataFrame:
    """Two seeds of one model (80 and 90 %), and one equation."""
    accuracy = {"claim": "mlp-mnist", "quantity": "accuracy", "dataset": "mnist", "model": "discriminative",
                "parameters": {}, "n": None}
    rows = [accuracy | {"value": value, "seed": float(seed)} for seed, value in enumerate((0.8, 0.9))]
    rows.append({"claim": "eq1", "quantity": "max_relative_error", "dataset": None, "model": None, "value": 1e-16,
                 "n": None, "seed": None, "parameters": {"dtype": "float64"}})
    return pd.DataFrame(rows).assign(profile="paper", device="cpu", notebook="d-multilayer")


@pytest.fixture
def written(tmp_path: Path) -> dict[str, str]:
    return score.includes(Judged.judge(kept()), {}, ROOT, tmp_path)


def test_equations_are_counted_apart_from_trained_models(written: dict[str, str]) -> None:
    text = written["score.html"]
    summary = re.findall(r"<li>(.*?)</li>", text.partition("</ul>")[0])
    trained = [claim for claim in RULES.values() if claim.needs.profile != "any" and not claim.beyond]
    beyond = [claim for claim in RULES.values() if claim.beyond]
    assert f"Beyond the paper</strong> ({len(beyond)}): <strong>{len(beyond)}</strong> not run" in summary[-1]
    assert f"({len(trained)})" in summary[0] and "so far 1 not reproduced" in summary[0]
    assert f"({len(RULES) - len(trained) - len(beyond)})" in summary[1]
    assert "<strong>1</strong> reproduced," in summary[1]


def test_home_concludes_with_the_verdicts_and_what_rests_outside_the_grid(written: dict[str, str]) -> None:
    """No final verdict in these records, and no equation but the first: only what they say is said."""
    text = " ".join(written["conclusion.md"].split())
    trained = sum(claim.needs.profile != "any" and not claim.beyond for claim in RULES.values())
    assert f"{trained} claims about trained models, 0 hold, 0 hold in part and 0 fail" in text
    assert "mechanism works" not in text and "simple methods" not in text
    outside = sum(bool(grid.departures_of(tuple(claim.decided_by))) for claim in RULES.values())
    assert f"the paper does not name ({outside} claims)" in text


def test_a_row_says_where_its_graphs_leave_the_paper(written: dict[str, str]) -> None:
    rows = dict(re.findall(r'<tr id="([\w-]+)"(.*?)</tr>', written["scorecard.html"], re.DOTALL))
    assert "paper’s settings" in rows["mlp-mnist"] and "settings<" not in rows["eq1"]
    assert "our settings" in rows["gen-c"] and "f ReLU (the paper names HardTanh)" in rows["gen-c"]


def test_dots_stand_where_the_numbers_are(written: dict[str, str]) -> None:
    """Scale from 80 to 100: 85 ± 7.07 lies at a quarter, its band from 0 (cut) to 60.36 - by hand."""
    text = written["score.html"]
    row = text.partition('<th scope="row">layered classifier</th>')[2].partition("</tr>")[0]
    assert 'class="ours" style="left:25.0%"' in row and 'class="ours-sd" style="left:0.0%;width:60.36%"' in row
    assert 'class="paper" style="left:92.35%"' in row and "98.47 % / <strong>85.0 ± 7.1 %</strong>" in row
    assert "2 seeds" in row and "not measured" in text.partition('row">backpropagation<')[2].partition("</tr>")[0]


def test_every_claim_has_a_row_with_its_rule_record_and_command(written: dict[str, str]) -> None:
    text = written["scorecard.html"]
    rows = dict(re.findall(r'<tr id="([^"]+)"(.*?)</tr>', text, re.DOTALL))
    assert list(rows) == sorted(RULES, key=lambda name: RULES[name].needs.profile == "any")     # trained ones first
    assert all(f"pcgraph run {claim.notebook}" in rows[name] for name, claim in RULES.items())
    assert 'data-verdict="preliminary: not reproduced"' in rows["mlp-mnist"]
    assert "../records/d-multilayer.json" in rows["mlp-mnist"]
    assert "../records/" + RULES["fid"].notebook not in rows["fid"] and "of 25.61" in rows["fid"]


def test_a_row_can_be_read_in_five_seconds(tmp_path: Path) -> None:
    """Of the committed records: at most 35 words without what folds away, with one line of ticks and one of crosses."""
    html = score.includes(Judged.judge(records.read(ROOT / "results/records")), {}, ROOT, tmp_path)["scorecard.html"]
    rows = {row["id"]: row for row in BeautifulSoup(html, "html.parser").select('tr[data-verdict$="partly"]')}
    words, lines = [], {}
    for name, row in rows.items():
        row.details.extract()
        words.append(len(row.get_text(" ").split()))
        lines[name] = [line.get_text(" ").split()[0] for line in row.select(".ticks")]
    assert len(rows) > 5 and statistics.median(words) <= 35, sorted(words)
    assert set(map(tuple, lines.values())) == {("✓", "✗")}, lines


def test_causes_stand_under_their_kind_and_only_for_what_is_not_reproduced(written: dict[str, str]) -> None:
    text = written["why.md"]
    names = RULES
    assert names["eq1"].name not in text and names["mlp-mnist"].name in text
    data = text.partition("## In files that could not be reached")[2].partition("\n## ")[0]
    assert names["class-svhn"].name in data and names["mlp-mnist"].name not in data


def figure(picture: Image.Image) -> Figure:
    picture.save(file := BytesIO(), "png")
    shown = new_output("display_data", {"image/png": base64.b64encode(file.getvalue()).decode()})
    about = {"mystnb": {"figure": {"name": "fig-x", "caption": "A {term}`b`"}}}
    cell = new_code_cell("", outputs=[shown], metadata=about)
    return Figure("page", "fig-x", cell)


def test_a_figure_stands_once_among_the_causes_and_beside_no_claim_that_was_not_run(tmp_path: Path) -> None:
    judged, claim = Judged.judge(kept()), RULES["mlp-mnist"]
    first = dataclasses.replace(judged.found["mlp-mnist"], figure="fig-x")
    found = {"a": dataclasses.replace(first, verdict="not run"), "b": first, "c": first}
    shown = figure(Image.new("RGB", (40, 40), "blue"))
    page = Page(claim.notebook, new_notebook(cells=[shown.cell]), True, False, {})
    kinds = score.causes(dataclasses.replace(judged, found=found), {claim.notebook: page}, tmp_path)
    told = render.template("why.md", kinds=kinds, rules=RULES, pages={claim.notebook: page}).split("### ")[1:]
    assert ["<img" in html for html in told] == [False, True, False]
    assert "will measure it" in told[0] and f"beside “{first.name}”" in unescape(told[2])
    assert (tmp_path / "fig-x.png").is_file()


@pytest.mark.parametrize("photo", [True, False])
def test_only_a_small_picture_of_photographs_has_another_for_the_dark_theme(tmp_path: Path, photo: bool) -> None:
    pixels = np.full((200, 200, 3), 255, np.uint8)
    pixels[20:180, 20:180] = np.random.default_rng(0).integers(0, 256, (160, 160, 3)) if photo else (0, 0, 255)
    made = figures.thumbnail(figure(Image.fromarray(pixels)), tmp_path)
    assert made.in_dark == photo == (tmp_path / "fig-x.dark.png").is_file() and (tmp_path / made.file).is_file()


def test_the_small_picture_of_many_thin_lines_is_no_photograph(tmp_path: Path) -> None:
    """Drawn smaller, their edges have as many shades as one."""
    drawn = matplotlib.figure.Figure(figsize=(11, 9), dpi=100)
    for k, axis in enumerate(drawn.subplots(3, 3).flat):
        for line in range(6):
            axis.plot(np.random.default_rng(10 * k + line).normal(size=60).cumsum(), linewidth=0.8)
    drawn.savefig(file := BytesIO())
    made = figures.thumbnail(figure(Image.open(file).convert("RGB")), tmp_path)
    assert not made.in_dark and max(made.width, made.height) == figures.THUMBNAIL


def test_the_citation_is_that_of_the_file(written: dict[str, str]) -> None:
    text = written["cite.md"]
    assert "@software{pcgraph-lite," in text and "Salvatori, Tommaso and Pinchetti, Luca" in text
    assert "pages = {38232--38244}" in text
    assert text.count("  year = {20") == 2, "BibTeX styles warn of an entry without a year"


def test_rows_link_to_what_changed(written: dict[str, str]) -> None:
    """Every anchor of the page of changes is a claim's, and its row leads there; the others lead to the runs."""
    told = set(re.findall(r"^\(change-(\S+)\)=$", (ROOT / "book/changes.md").read_text(), re.MULTILINE))
    text = written["scorecard.html"]
    assert told and told <= {name.lower() for name in RULES}
    for name in RULES:
        assert f'"changes.html#{f"change-{name.lower()}" if name.lower() in told else "runs"}"' in text


def test_comparisons_with_simple_methods_are_counted(tmp_path: Path) -> None:
    """Each of the scorecard's comparisons once, by its outcome."""
    judged, rule = Judged.judge(kept()), next(rival for claim in RULES.values() for rival in claim.rivals)
    outcomes = [("a", True, False), ("b", False, True), ("c", False, True)]
    beside = tuple(Beside(rule, Case("", "", {}, 1, 1, np.ones(1), np.ones(1), holds, opposite), (name,))
                   for name, holds, opposite in outcomes)
    some = dataclasses.replace(judged.verdicts["eq1"], rivals=beside)
    one = dataclasses.replace(judged, verdicts={"eq1": some}, found={"eq1": judged.found["eq1"]})
    html = score.includes(one, {}, ROOT, tmp_path)["score.html"]
    assert "better in <strong>1</strong>, level in <strong>0</strong>, worse in <strong>2</strong>." in html


@pytest.mark.parametrize(("sd", "seeds", "said"), [(0.2, 5, "98.3 ± 0.2 %"), (0.041, 3, "98.3 ± 0.04 %"),
                                                   (0.0, 1, "98.3 %")])
def test_every_number_of_several_seeds_has_its_spread(sd: float, seeds: int, said: str) -> None:
    assert render.per_cent(98.27, sd, seeds) == said
