"""The score, the scorecard and the causes show what the findings say. Oracles: records made here, numbers by hand."""

import dataclasses
import re
import statistics
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace

import matplotlib.figure
import numpy as np
import pytest
from bs4 import BeautifulSoup
from nbformat.v4 import new_code_cell, new_notebook, new_output
from pictures import encoded
from PIL import Image

from reproduction.book import figures, render, score
from reproduction.book.figures import Figure
from reproduction.book.layout import Judged, Page
from reproduction.checkout import ROOT
from reproduction.evidence import claims, findings, records
from reproduction.evidence.verdicts import AgainstRival, Case

RULES = claims.load_claims()


def kept() -> list[dict[str, object]]:
    """Two seeds of one model (80 and 90 %), and one equation."""
    accuracy = {"claim": "mlp-mnist", "quantity": "accuracy", "dataset": "mnist", "model": "discriminative",
                "parameters": {}, "n": None, "profile": "paper", "device": "cpu", "notebook": "d-multilayer"}
    rows = [accuracy | {"value": value, "seed": float(seed)} for seed, value in enumerate((0.8, 0.9))]
    return [*rows, accuracy | {"claim": "eq1", "quantity": "max_relative_error", "dataset": None, "model": None,
                               "value": 1e-16, "seed": None, "parameters": {"dtype": "float64"}}]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return score.includes(Judged.judge(kept()), {}, ROOT, tmp_path_factory.mktemp("source"))


def test_the_home_page_has_a_row_for_each_trained_claim_and_concludes(written: dict[str, str]) -> None:
    """What was measured stands first, with its finding, the others under their names. Only what records say is said."""
    page = BeautifulSoup(written["score.html"], "html.parser")
    trained = [claim for claim in RULES.values() if claim.needs.profile != "any" and not claim.beyond]
    beyond = [claim for claim in RULES.values() if claim.beyond]
    rows = [[row.get_text(" ") for row in part.select("li")] for part in page.select("ul.score")]
    assert list(map(len, rows)) == [len(trained), len(beyond)]
    assert all(any(claim.name in row for row in rows[0]) for claim in trained if claim is not RULES["mlp-mnist"])
    one = " ".join(next(row for row in rows[0] if "preliminary: not reproduced" in row).split())
    assert "Paper: graph 98.47 ± 0.12" in one and "✗ paper's accuracy" in one
    assert f"({len(RULES) - len(trained) - len(beyond)}): 1 reproduced," in page.find_all("p", recursive=False)[-1].text
    text = " ".join(written["conclusion.md"].split())
    assert f"its verdicts on the paper's {len(trained)} claims about trained models are preliminary" in text
    assert " hold" not in text and "fail" not in text
    assert "learn by local rules" not in text and "simple methods" not in text and "older networks" not in text
    assert "that the paper names" not in text                              # a smaller run has settings of its own


def test_a_smaller_run_says_what_was_found_at_full_size(tmp_path: Path) -> None:
    """The counts of the committed records stand in its conclusion, and each claim's verdict at its row."""
    committed = Judged.judge(records.read(ROOT / "results/records")).found
    written = score.includes(Judged.judge(kept()), {}, ROOT, tmp_path, ROOT / "results/records")
    trained = [one.verdict for one in committed.values() if not one.claim.exact and not one.claim.beyond]
    hold, partly, fail = map(trained.count, ("reproduced", "partly", "not reproduced"))
    text = " ".join(written["conclusion.md"].split())
    assert f"At full size, {hold} of them hold, {partly} hold in part and {fail} fail" in text
    under = sum(one.remark.startswith("if ") for one in committed.values() if one.remark)
    said = (f"Of the paper's {len(trained)} claims about trained models, {hold} hold ({under} of them under a "
            f"condition), {partly} hold in part, {fail} fail, and {len(trained) - hold - partly - fail} have no final")
    assert said in " ".join((ROOT / "README.md").read_text().split())
    rows = BeautifulSoup(written["score.html"], "html.parser").select("ul.score li")
    for one in committed.values():
        if not one.claim.exact and one.name != "mlp-mnist":                # that one has its title in its row
            row = next(row.get_text(" ") for row in rows if one.claim.name in row.get_text(" "))
            assert f"At full size: {one.verdict}" in " ".join(row.split())


def accuracies(claim: str, graph: float, other: float) -> list[dict[str, object]]:
    rows = [(model, value) for model, value in (("fully-connected", graph), ("hopfield", other), ("boltzmann", other),
                                                ("almeida-pineda", other))]
    told = {"claim": claim, "quantity": "accuracy", "n": None, "seed": 0.0, "parameters": {}, "profile": "paper",
            "dataset": claim.removeprefix("class-"), "device": "cpu", "notebook": "03b-classification"}
    return [told | {"model": model, "value": value} for model, value in rows]


def test_the_lead_over_older_networks_is_said_to_hold_only_where_it_does() -> None:
    ahead, behind = accuracies("class-mnist", 0.9, 0.8), accuracies("class-fashion", 0.7, 0.8)
    assert score.lead(Judged.judge(ahead)) == dict.fromkeys(score.OLDER.values(), True)
    assert score.lead(Judged.judge(kept())) == {}
    assert score.lead(Judged.judge(ahead + behind)) == dict.fromkeys(score.OLDER.values(), False)


def test_dots_stand_where_the_numbers_are(written: dict[str, str]) -> None:
    """Scale from 80 to 100: 85 ± 7.07 lies at a quarter, its band from 0 (cut) to 60.36 - by hand."""
    text = written["dots.html"]
    row = text.partition('<th scope="row">layered classifier</th>')[2].partition("</tr>")[0]
    assert 'class="ours" style="left:25.0%"' in row and 'class="ours-sd" style="left:0.0%;width:60.36%"' in row
    assert 'class="paper" style="left:92.35%"' in row and "98.47 % / <strong>85.0 ± 7.1 %</strong>" in row
    assert "2 seeds" in row and "not measured" in text.partition('row">backpropagation<')[2].partition("</tr>")[0]


def test_every_claim_has_a_row_with_its_rule_record_command_and_changes(written: dict[str, str]) -> None:
    """A row leads to its changes, or else to those of all runs, and says where its graphs leave the paper."""
    text = written["scorecard.html"]
    rows = dict(re.findall(r'<tr id="([^"]+)"(.*?)</tr>', text, re.DOTALL))
    assert list(rows) == sorted(RULES, key=lambda name: RULES[name].needs.profile == "any")     # trained ones first
    assert all(f"pcgraph run {claim.notebook}" in rows[name] for name, claim in RULES.items())
    assert 'data-verdict="preliminary: not reproduced"' in rows["mlp-mnist"]
    assert "../records/d-multilayer.json" in rows["mlp-mnist"]
    assert "../records/" + RULES["fid"].notebook not in rows["fid"] and "of 25.61" in rows["fid"]
    told = set(re.findall(r"^\(change-(\S+)\)=$", (ROOT / "book/changes.md").read_text(), re.MULTILINE))
    assert told and told <= {name.lower() for name in RULES}
    for name in RULES:
        assert f'"changes.html#{f"change-{name.lower()}" if name.lower() in told else "runs"}"' in text
    assert "our settings" not in rows["mlp-mnist"] + rows["eq1"]
    assert "our settings" in rows["gen-c"] and "f ReLU (the paper names HardTanh)" in rows["gen-c"]


def test_every_check_that_counts_asks_for_words_of_the_paper() -> None:
    """In each claim about trained models, inside the paper's settings where they decide; else it is said to be ours."""
    for name, rule in RULES.items():
        claim = rule.in_grid or rule
        counted = {check for check, one in claim.checks.items() if not one.further and not one.guard}
        quoted = {check for checks in claim.says.values() for check in checks}
        assert counted <= quoted or rule.needs.profile == "any" or rule.beyond, name
    assert score.asked(RULES["linear"]) == ["“a linear classifier (obtaining 88 % accuracy on MNIST)”: "
                                            "a common method is within a point of 88 %"]
    assert score.asked(RULES["any-ff"])[1] == "added by us: removes noise; completes better than the mean image"
    assert score.asked(RULES["eq1"]) == []


def test_a_row_can_be_read_in_five_seconds(tmp_path: Path) -> None:
    """Of the committed records: at most 35 words without what folds away, with one line of ticks and one of crosses."""
    html = score.includes(Judged.judge(records.read(ROOT / "results/records")), {}, ROOT, tmp_path)["scorecard.html"]
    rows = BeautifulSoup(html, "html.parser").select('tr[data-verdict$="partly"]')
    for row in rows:
        row.details.extract()
        assert [line.get_text(" ").split()[0] for line in row.select(".ticks")] == ["✓", "✗"], row["id"]
    words = [len(row.get_text(" ").split()) for row in rows]
    assert len(rows) > 5 and statistics.median(words) <= 35, sorted(words)


def test_checks_that_share_words_say_how_many_they_are() -> None:
    """Of three that are called alike, two or all three; of one, no number."""
    claim = SimpleNamespace(short={"a": "rises", "b": "rises", "c": "rises", "d": "falls", "e": "falls", "f": "ends"})
    assert score._short(claim, "abdef") == ["rises (2 of 3)", "falls (both)", "ends"]
    assert score._short(claim, "abc") == ["rises (all 3)"]


def test_a_claim_that_no_setting_decides_is_not_filed_under_open_settings() -> None:
    """Of the committed records, by whether one of the readings that were tried turns it."""
    found = findings.findings(records.read(ROOT / "results/records")).values()
    tried = {one.name for one in found if one.kind == "tried"}
    assert {"hyper", "width-rec"} <= tried and not tried & {"gen-b", "class-mnist", "converge-48"}


def test_causes_stand_under_their_kind_and_only_for_what_is_not_reproduced(written: dict[str, str]) -> None:
    text = written["why.md"]
    assert RULES["eq1"].name not in text and "Layers read 85.00 % of the digits right" not in text
    data = text.partition("## Files that could not be reached")[2].partition("\n## ")[0]
    assert RULES["class-svhn"].name in data and RULES["mlp-mnist"].statement not in data
    assert RULES["mlp-mnist"].statement in text


def figure(picture: Image.Image) -> Figure:
    shown = new_output("display_data", {"image/png": encoded(picture)})
    about = {"mystnb": {"figure": {"name": "fig-x", "caption": "A {term}`b`"}}}
    cell = new_code_cell("", outputs=[shown], metadata=about)
    return figures.of(new_notebook(cells=[cell]))["fig-x"]


def test_a_cause_has_its_figure_unless_the_claim_was_not_run(tmp_path: Path) -> None:
    judged = Judged.judge(kept())
    first = dataclasses.replace(judged.found["mlp-mnist"], figure="fig-x", tested="")
    found = {"a": dataclasses.replace(first, verdict="not run"), "b": first,
             "c": dataclasses.replace(first, tested="With half the width it holds.")}
    shown = figure(Image.new("RGB", (40, 40), "blue"))
    pages = {"l-settings": Page("l-settings", new_notebook(cells=[shown.cell]), True, False, {})}      # not the claim's
    every = score.entries(dataclasses.replace(judged, found=found), pages, ROOT, tmp_path)
    rows = BeautifulSoup(render.template("why.md", kinds=findings.KINDS, every=every, pages=pages),
                         "html.parser").select("ul.causes > li")
    assert [bool(row.img) for row in rows] == [False, True, True] and (tmp_path / "fig-x.png").is_file()
    assert rows[1].a["href"] == "notebooks/l-settings.html#fig-x"
    lines = [row.select("p")[1].get_text() for row in rows]
    assert lines[1].startswith("Open: ") and lines[2] == "Tested: With half the width it holds."
    assert all(len(row.details.extract()) and row.get_text().count("\n") <= 3 for row in rows)


def test_a_small_picture_says_whether_it_shows_photographs(tmp_path: Path) -> None:
    """Colours of chance are photographs; of many thin lines, drawn smaller, the edges have as many shades as one."""
    pixels = np.full((200, 200, 3), 255, np.uint8)
    pixels[20:180, 20:180] = np.random.default_rng(0).integers(0, 256, (20, 20, 3)).repeat(8, 0).repeat(8, 1)
    drawn = matplotlib.figure.Figure(figsize=(11, 9), dpi=100)
    for k, axis in enumerate(drawn.subplots(3, 3).flat):
        for line in range(6):
            axis.plot(np.random.default_rng(10 * k + line).normal(size=60).cumsum(), linewidth=0.8)
    drawn.savefig(file := BytesIO())
    pictures = Image.fromarray(pixels), Image.open(file).convert("RGB")
    photo, lines = (figures.thumbnail(figure(picture), tmp_path, 480) for picture in pictures)
    assert photo["photograph"] and not lines["photograph"]
    assert max(lines["width"], lines["height"]) == 480 and len(list(tmp_path.glob("*.png"))) == 1


def test_the_citation_is_that_of_the_file(written: dict[str, str]) -> None:
    text = written["cite.md"]
    assert "@software{pcgraph-lite," in text and "Salvatori, Tommaso and Pinchetti, Luca" in text
    assert "pages = {38232--38244}" in text
    assert text.count("  year = {20") == 2, "BibTeX styles warn of an entry without a year"


def test_comparisons_with_simple_methods_are_counted() -> None:
    rule = next(rival for claim in RULES.values() for rival in claim.rivals)
    outcomes = [("a", True, False), ("b", False, True), ("c", False, True)]
    beside = [AgainstRival(rule, Case("", "", {}, 1, 1, np.ones(1), np.ones(1), holds, opposite), (name,))
              for name, holds, opposite in outcomes]
    assert render.counted(beside) == {"better": 1, "level": 0, "worse": 2}
    group = {"count": 1, "final": [], "remarks": []}
    text = render.template("conclusion.md", summaries={"a": group, "b": group}, trained_title="a", exact_title="b",
                           rivals=render.counted(beside), lead={}, every=[], full={})
    assert "beat our graphs in 2 of 3 comparisons, some of which overlap, and lose in 1." in text
    assert "that the paper names" not in text
    outside = {"group": "a", "one": SimpleNamespace(claim=SimpleNamespace(departures=["f"]))}
    for every, said in (([], "names. What"), ([outside], "names (1 exception). What")):
        final = {"a": group | {"final": [("reproduced", 1)]}, "b": group}
        assert said in render.template("conclusion.md", summaries=final, trained_title="a", exact_title="b", rivals={},
                                       lead={}, every=every, full={})


@pytest.mark.parametrize(("sd", "seeds", "said"), [(0.2, 5, "98.3 ± 0.2 %"), (0.041, 3, "98.3 ± 0.04 %"),
                                                   (0.0, 1, "98.3 %")])
def test_every_number_of_several_seeds_has_its_spread(sd: float, seeds: int, said: str) -> None:
    assert render.per_cent(98.27, sd, seeds) == said
