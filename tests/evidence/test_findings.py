"""Sentences say what the records say: the numbers given in, and never a success where the checks fail. Oracles: records
made here, worked out by hand; the committed records; cases made to hold or to fail."""

import re
from dataclasses import replace
from pathlib import Path
from string import Formatter

import nbformat
import numpy as np
import pytest

from reproduction.book import render, site
from reproduction.book.handover import KIND
from reproduction.checkout import ROOT
from reproduction.evidence import claims, findings, records
from reproduction.evidence.claims import Check
from reproduction.evidence.findings import Quantity
from reproduction.evidence.verdicts import Case

RULES, BOOK = claims.load_claims(), findings.load()
SUCCESS = re.compile(r"(?i)\b(holds|reproduc|succe|confirm|as the paper says|agrees with the paper|which is rounding)")


def rows(claim: str, *measured: tuple[str, str | None, str | None, float], seeds: int = 1,
         **more: object) -> list[dict[str, object]]:
    """Records of a claim: (quantity, data set, model, value), the same for every seed."""
    usual = {"claim": claim, "n": None, "parameters": {}, "profile": "paper", "device": "cpu",
             "notebook": RULES[claim].notebook} | more
    return [
        usual | {"quantity": quantity, "dataset": data, "model": model, "seed": float(seed), "value": value}
        for quantity, data, model, value in measured for seed in range(seeds)]


def told(kept: list[dict[str, object]], claim: str) -> findings.Finding:
    return findings.findings(kept)[claim]


def case(value: float = 1.0, theirs: float | None = 2.0, holds: bool = False, **about: object) -> Case:
    return Case(about.get("dataset", "mnist"), "model", about.get("parameters", {}), 1, float("nan"),
                np.array([value]), np.array([theirs]), holds, not holds)


def test_an_accuracy_stands_beside_the_papers() -> None:
    """By hand, to the paper's places: 92.90 % is 1.14 points more than 91.76 %, and 93.4 % beats nothing here."""
    read = {"fully-connected": 0.929, "hopfield": 0.65, "boltzmann": 0.934, "almeida-pineda": 0.95,
            "least-squares": 0.9}
    kept = rows("class-mnist", *(("accuracy", "mnist", model, share) for model, share in read.items()), seeds=2)
    one = told(kept, "class-mnist")
    assert one.sentences[0] == (
        "The graph classifies 92.90 % of test digits correctly. It beats the Hopfield network, loses to the Boltzmann "
        "machine and loses to recurrent backpropagation (Almeida-Pineda)."
    )
    assert one.sentences[1].startswith("Its accuracy is 1.14 points more than the paper's 91.76 %.")
    assert one.lead == "So far it holds in part." and one.lacks == ("Two seeds so far; the rule asks for five.",)
    assert one.kind == "paper" and "14.17 points more than the paper's 79.23 %" in one.cause[0]


def test_a_claim_that_holds_has_no_cause_and_lacks_nothing() -> None:
    """And a run is told in a line for each claim that it measured."""
    both = [row for decay, value in (("weak", 0.97), ("strong", 0.9)) for row in rows(
        "decay-class", ("accuracy", "mnist", "discriminative", value), seeds=5, parameters={"decay": decay})]
    one = told(both, "decay-class")
    assert (one.verdict, one.lead, one.cause, one.lacks) == ("reproduced", "It holds.", (), ())
    said = "With weak decay the classifier is right for 97 % of the digits, with strong decay for 90 %."
    assert one.sentences == (said,)
    assert findings.told(both) == [f"Classifiers want little decay. It holds. {said}"]
    assert findings.told([]) == []


def test_a_cause_that_does_not_fit_what_failed_is_not_given() -> None:
    """The cause of this claim is the decay of the autoencoder in denoising; here completion fails."""
    kept = rows("any-ae", *((quantity, "mnist", model, value) for quantity, values in {
        "settled_psnr": (15.0, 15.0), "completion_mse": (0.2, 0.1)}.items() for model, value in zip(
            ("generative", "autoencoder-no-decay"), values, strict=True)), seeds=5)
    one = told(kept, "any-ae")
    assert one.verdict == "partly" and one.kind == "open" and one.cause == (findings.UNKNOWN,)


def test_a_claim_without_records_is_not_measured_and_says_why() -> None:
    kept = records.read(Path("/nowhere"))
    for name, one in findings.findings(kept).items():
        assert one.lead == "It has not been measured yet." and one.sentences == () and one.ours == "", name
        assert one.cause or not RULES[name].cause, name
    assert "SVHN" in told(kept, "class-svhn").cause[0]


@pytest.mark.parametrize(("values", "said"), [
    ({"mnist": 0.852, "fashion": 0.794}, "85.2 % (digits) and 79.4 % (clothing)"),
    ({"mnist": 0.5, "fashion": 0.5}, "50 %")])
def test_cases_are_listed_digits_first_unless_they_agree(values: dict[str, float], said: str) -> None:
    kept = rows("gen-b", *((quantity, data, "fully-connected", value) for data, value in values.items()
                           for quantity in ("judge_agreement", "original_judge_agreement")))
    assert told(kept, "gen-b").ours == f"{said} of completions recognised"


def test_words_follow_the_check_and_both_sides_of_it_stand_beside_each_other() -> None:
    check = Check(quantity="mse", less_than={"model": "b"})
    digits, clothing = case(16.04, 15.4), case(16.12, 15.82, dataset="fashion")
    for cases, said in (([digits], "16.0 compared with 15.4"), ([case(15.02, 14.97)], "15.02 compared with 14.97"),
                        ([case(15.0, 15.0)], "15 compared with 15"), ([digits, digits], "16.0 compared with 15.4"),
                        ([digits, clothing], "digits: 16.0 compared with 15.4, clothing: 16.1 compared with 15.8"),
                        ([digits, clothing] * 2, "16.0 to 16.1 compared with 15.4 to 15.8")):
        assert Quantity(check, cases).both == said
    check = Check(quantity="accuracy", model="a", greater_than={"model": "b"})
    held, failed = (Quantity(check, [case(holds=holds)]) for holds in (True, False))
    level = Quantity(check, [case(holds=True), case(holds=False)])
    assert [f"{one:beats|loses to|is level with}" for one in (held, failed, level)] == [
        "beats", "loses to", "is level with"]
    assert [one.held for one in (held, failed, level)] == ["one of one", "none of one", "one of two"]
    assert [Quantity(check, [case(holds=True)] * n).held for n in (2, 4)] == ["both", "all four"]
    assert [f"{one:more|fewer|no more|not always more}" for one in (held, failed, level)] == [
        "more", "fewer", "not always more"]


def test_ranks_are_words_numbers_are_short_and_limits_are_as_the_rule_has_them() -> None:
    share, plain = (Check(quantity="q", at_least=0, percent=percent) for percent in (True, False))
    assert [findings.rounded(value, share) for value in (1, 0, 0.929, 0.9996, 0.99997, 0.0000004)] == [
        "100 %", "0 %", "92.9 %", "99.96 %", "99.997 %", "0.00004 %"]
    assert [findings.rounded(value, plain) for value in (0, 9.2e-17, 0.03858, 15.63, 1234.5)] == [
        "0", "9e-17", "0.0386", "15.6", "1,234"]
    # Python writes 0.00007349 as 7.35e-05, and 0.0001412 without a power
    assert [findings.rounded(value, plain) for value in (0.0001412, 0.00007349, -0.0000123, 0.000001)] == [
        "0.000141", "0.0000735", "-0.0000123", "0.00000100"]
    check = Check(quantity="rank", at_most=0.01)
    ranks = [case(value, parameters={"task": task}) for value, task in ((3.0, "completion"), (2.0, "denoising"))]
    assert Quantity(check, ranks).place == "third (completion) and second (denoising)"
    by_seed = replace(case(), values=np.array([2.0, 3.0, 1.0]))
    assert [Quantity(check, [one]).place for one in (case(1.0), by_seed)] == ["first", "first to third"]
    assert Quantity(check, ranks).asked == "0.01"


def test_a_negative_gain_raises_an_error() -> None:
    """No sentence lowers by less than nothing."""
    check = Check(quantity="deep_gain", at_most=0)
    five, six = ({"layers": 5.0}, {"layers": 6.0})
    for values, said in (((0.25, 0.5), "lower by 0.250 (five layers) and 0.500 (six layers)"),
                         ((0.25, -0.00482), "lower by 0.250 (five layers) and higher by 0.00482 (six layers)"),
                         ((-0.25, -0.5), "higher by 0.250 (five layers) and 0.500 (six layers)")):
        cases = [case(value, parameters=about) for value, about in zip(values, (five, six), strict=True)]
        assert Quantity(check, cases).lowered == said
    assert Quantity(check, [case(-0.00482)]).lowered == "higher by 0.00482"


def test_what_a_result_is_worth_is_told_by_task() -> None:
    """One rival, two data sets and two measures: each outcome once, at most two numbers a sentence."""
    quantities = {"fixed_point_psnr": (14.5, 13.25), "denoised_psnr": (15.5, 15.5), "linear_psnr": (16.25, 16.25)}
    kept = rows("gen-c", *((name, data, "fully-connected", value) for name, values in quantities.items()
                           for data, value in zip(("fashion", "mnist"), values, strict=True)))
    assert told(kept, "gen-c").hangs[-1] == (
        "Compared with the best linear map: worse at the end of the query. Digits: 13.2 compared with 16.2 dB. "
        "Clothing: 14.5 compared with 16.2 dB. Worse in denoising. Digits: 15.5 compared with 16.2 dB. "
        "Clothing: 15.5 compared with 16.2 dB.")


def test_other_readings_are_told_as_the_verdict_is() -> None:
    kept = rows("any-ff", ("denoised_psnr", "mnist", "generative", 15.0), ("settled_psnr", "mnist", "generative", 3.0))
    said = " ".join(told(kept, "any-ff").hangs)
    assert "(the larger fully connected graph of section 3) it has not been measured yet." in said
    assert "the verdict is" not in said


def test_a_reading_of_one_check_shows_its_numbers() -> None:
    """-0.5 and 0.25 in each of five seeds: the order holds. With seeds that disagree the test tells nothing apart."""
    def hangs(*values: tuple[float, float]) -> str:
        kept = [row | {"seed": seed} for seed, (recurrent, generative) in enumerate(values) for row in rows(
            "width-rec", ("wide_penalty", "mnist", "recurrent", 1.0),
            ("decay_penalty", "mnist", "recurrent", recurrent), ("decay_penalty", "mnist", "generative", generative),
            parameters={"decay": "strong"})]
        return next(line for line in told(kept, "width-rec").hangs if "(strong decay alone)" in line)

    holds = "it holds: -0.500 compared with 0.250."
    assert hangs(*[(-0.5, 0.25)] * 5) == f"Under another reading (strong decay alone) {holds}"
    assert hangs((-0.5, 0.25)) == f"Under another reading (strong decay alone) so far {holds}"
    assert hangs(*[(-0.5, 0.25), (0.5, 0.0)] * 3) == (
        "Under another reading (strong decay alone) it does not hold: 0 compared with 0.125, which the test does not "
        "tell apart.")


def test_a_sentence_asks_of_its_checks_what_they_have_and_a_cause_of_readings_that_are_there() -> None:
    """The other side of a comparison, or the number that the paper prints."""
    for name, claim in RULES.items():
        assert len(claim.name) <= 60, name
        for text in [*claim.finding, claim.ours, *(claim.cause.finding if claim.cause else [])]:
            for _, field, _, _ in Formatter().parse(text):
                if field:
                    one, _, what = field.partition(".")
                    check = claim.checks[one]
                    assert {"theirs": check.other, "beside": check.near, "paper": check.near}.get(what, True), (
                        name, field)
        for part in filter(None, (claim, claim.in_grid)):
            if part.cause and (test := part.cause.tested):
                assert {*test.tried, *filter(None, [test.reading])} <= set(part.readings), name


def test_every_claim_that_can_fail_has_a_cause_and_every_figure_and_table_is_there() -> None:
    every = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "notebooks").glob("*.md"))
    for name, words in RULES.items():
        source = ROOT / "notebooks" / f"{words.notebook}.md"
        assert source.is_file() and words.notebook in BOOK.pages, (
            f"{name}: add the page notebooks/{words.notebook}.md first, and name its figure in words.yaml under pages")
        assert words.cause or RULES[name].needs.profile == "any" or not RULES[name].comparable, name
        figure = words.figure or BOOK.pages[words.notebook].figure
        assert figure == "none" or f"name: {figure}\n" in every, name
        table, _, number = words.table.partition(" ")
        runs = (ROOT / folder / f"{words.notebook}.ipynb" for folder in ("book/notebooks", "tests/notebooks"))
        cells = nbformat.read(next(run for run in runs if run.is_file()), as_version=4).cells
        shown = [output.data[KIND]["name"] for cell in cells for output in cell.get("outputs", [])
                 if KIND in output.get("data", {})]
        assert shown.count(table) >= int(number or 1) or not table, name
    assert {rule.notebook for rule in RULES.values()} <= set(BOOK.pages) <= set(site.notebook_names(ROOT / "_toc.yml"))
    assert all(f"name: {page.figure}\n" in every for page in BOOK.pages.values())


@pytest.mark.parametrize("name", list(RULES))
def test_what_fails_never_reads_as_a_success(name: str) -> None:
    """Every check of the claim made to fail: the words before say so, and no sentence says otherwise."""
    quantities = {one: Quantity(check, [case()], paper="50 %")
                  for one, check in RULES[name].checks.items()}
    sentences = findings.said(RULES[name].finding, quantities)
    assert len(sentences) == len(RULES[name].finding)
    assert not [text for text in sentences if SUCCESS.search(text)]
    for verdict, lead in findings.LEADS.items():
        assert bool(re.search(r"holds\b(?! in part)", lead)) == (verdict.removeprefix("preliminary: ") == "reproduced")


def test_committed_records_give_sentences_without_gaps_and_show_every_rival() -> None:
    """Of every claim with a verdict. A rule that asks for records that are not there would say nothing of a rival."""
    kept = records.read(ROOT / "results/records")
    found = findings.findings(kept)
    for one in found.values():
        text = " ".join([one.lead, *one.sentences, one.ours, *one.lacks, *one.hangs, *one.cause])
        assert "{" not in text and "nan" not in text.split(), one.claim
        assert bool(one.sentences) == (one.verdict != "not run"), one.claim
        explained = one.verdict.removeprefix("preliminary: ") not in ("reproduced", "not comparable", "not run")
        assert explained == bool(one.cause) or one.verdict == "not run", one.claim
    asked = {"claim": "mlp-mnist", "model": "discriminative", "quantity": "accuracy"}
    values = [row["value"] for row in kept if asked.items() <= row.items()]
    assert f"{100 * np.mean(values):.2f} %" in found["mlp-mnist"].sentences[0]
    for name, one in found.items():
        rivals = {beside.rival.name for beside in one.rivals}
        measured = {record["quantity"] for record in kept if record["claim"] == name}
        lost = {rival.name for rival in one.claim.rivals if rival.other.quantity in measured} - rivals
        assert not lost, (name, lost)


def test_equations_printed_in_another_index_order_say_so() -> None:
    kept = rows("eq3", ("max_relative_error", None, None, 1e-16), parameters={"dtype": "float64"})
    one = told(kept, "eq3")
    assert one.lead == "It holds with the printed indices swapped."
    assert one.remark in render.template("box.html", found=[one], aim="")
    assert "swaps the two indices of θ" in one.sentences[0]
