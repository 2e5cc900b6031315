"""Claims: the rules are complete, and verdicts follow from records alone. Oracle: records made by the test whose
verdict is plain to see; scipy.stats."""

import pandas as pd
import pytest
from scipy import stats

from pcgraph_lite.errors import BadInput
from reproduction.evidence import claims, records, verdicts
from reproduction.evidence.claims import Check, Claim


def frame(*rows: dict[str, object], profile: str = "paper") -> list[dict[str, object]]:
    """Records as ``records.read`` gives them."""
    empty = dict.fromkeys(records.COLUMNS) | {"profile": profile, "device": "cpu", "seed": 0, "parameters": {}}
    return [empty | {"claim": "c"} | row for row in rows]


def seeds(quantity: str, *values: float, **fields: object) -> list[dict[str, object]]:
    """One record a seed."""
    return [{"quantity": quantity, "value": value, "seed": seed, **fields} for seed, value in enumerate(values)]


def claim(*checks: dict[str, object], profile: str = "paper", needed: int = 3, least: dict[str, float] | None = None,
          **fields: object) -> dict[str, Claim]:
    """One claim under the id ``c``."""
    values = {"section": "3", "kind": "order", "statement": "s", "paper": "p", "notebook": "n",
              "needs": {"profile": profile, "seeds": needed, "least": least or {}}, "name": "C",
              "finding": ["{check0}"], "checks": {f"check{k}": check for k, check in enumerate(checks)}} | fields
    return {"c": Claim.model_validate(values)}


def card(rows: list[dict[str, object]], rules: dict[str, Claim] | None = None) -> pd.DataFrame:
    """The scorecard of some records."""
    return pd.DataFrame([one.row() for one in verdicts.verdicts(rows, rules).values()])


def cases(rows: list[dict[str, object]], rules: dict[str, Claim]) -> list[list[verdicts.Case]]:
    """Those behind each check of ``c``."""
    return [list(outcome.cases) for outcome in verdicts.verdicts(rows, rules)["c"].outcomes.values()]


def verdict(rules: dict[str, Claim], rows: list[dict[str, object]]) -> str:
    """The verdict on ``c``."""
    return card(rows, rules)["verdict"].item()


LESS, CHECK = {"quantity": "ours", "less_than": {"quantity": "theirs"}}, {"quantity": "q", "at_least": 1}
HIGH, LOW = {"quantity": "q", "at_least": 0.4}, {"quantity": "q", "at_most": 0.3}
SLOW, TESTED = {"quantity": "q", "less_than": {"quantity": "slow"}, "seeds": 2}, {"quantity": "q", "tested": True}
HOLDS, FAILS, SO_FAR = "reproduced", "not reproduced", "preliminary: reproduced"


def inside(**along: list[float]) -> dict[str, Claim]:
    """A claim with the same check inside the grid, of another model."""
    return claim(LESS, in_grid={"decided_by": ["some-sweep"], "along": along,
                                "checks": {"check0": LESS | {"model": "in-grid"}}})


def at_decay(decay: float, *ours: float) -> list[dict[str, object]]:
    """Records inside the grid; what they are compared with is 1."""
    where = {"model": "in-grid", "parameters": {"decay": decay}}
    return seeds("ours", *ours, **where) + seeds("theirs", *[1.0] * len(ours), **where)


def test_without_records_nothing_is_claimed() -> None:
    """No records: every row of the scorecard says so, with the command that runs it."""
    found = card(frame())
    assert set(found["verdict"]) == {"not run"}
    assert list(found["claim"]) == list(claims.load_claims())
    rules, how = claims.load_claims(), {"paper": "--published", "any": "--profile laptop"}
    assert {rule.needs.profile for rule in rules.values()} == how.keys()
    for name, command in zip(found["claim"], found["command"], strict=True):
        assert command == f"pcgraph run {rules[name].notebook} {how[rules[name].needs.profile]}"


@pytest.mark.parametrize(("rules", "rows", "expected"), [
    # the mean over seeds is held against the number
    *((claim({"quantity": "q"} | limit), seeds("q", value - 0.001, value, value + 0.001), expected)
      for limit, value, expected in (
          ({"at_least": 0.9}, 0.901, HOLDS), ({"at_least": 0.9}, 0.89, FAILS),
          ({"at_most": 0.1}, 0.099, HOLDS), ({"at_most": 0.1}, 0.11, FAILS),
          *(({"near": {"value": 0.5, "tolerance": 0.1}}, value, expected) for value, expected in (
              (0.59, HOLDS), (0.39, FAILS), (0.61, FAILS))),
          *(({"near": {"value": 0.5, "tolerance": 0.1, "or_more": True}}, value, expected) for value, expected in (
              (0.9, HOLDS), (0.39, FAILS))))),
    # one check, one of two, none
    *((claim(*checks), seeds("q", 0.5, 0.5, 0.5), expected) for checks, expected in (
        ([HIGH], HOLDS), ([HIGH, LOW], "partly"), ([LOW], FAILS))),
    # a smaller profile, fewer seeds, a check without records; equations hold in each of our profiles
    (claim(HIGH), seeds("q", 1, 1, 1, profile="laptop"), SO_FAR), (claim(HIGH), seeds("q", 1, 1), SO_FAR),
    (claim(HIGH, LESS), seeds("q", 1, 1, 1), SO_FAR),
    (claim(HIGH, profile="any", needed=1), seeds("q", 1, profile="smoke"), HOLDS),
    (claim(HIGH, profile="any", needed=1), seeds("q", 1, profile="of the reader's own"), SO_FAR),
    # two of what takes hours are enough where the rule says so, also beside three of what it is held against
    *((claim(*checks), seeds("q", 1, 1, 1) + seeds("slow", 2, 2), expected) for checks, expected in (
        ([CHECK, SLOW], HOLDS), ([CHECK, SLOW | {"seeds": 3}], SO_FAR),
        ([CHECK | {"quantity": "slow"}, SLOW], SO_FAR))),
    # on each data set that was recorded, or on the one that the rule names
    *((claim(HIGH | more), seeds("q", 1, 1, 1, dataset="mnist") + seeds("q", 0, 0, 0, dataset="fashion"), expected)
      for more, expected in (({}, FAILS), ({"dataset": "mnist"}, HOLDS))),
    (claim(LESS), [row for data, value in (("mnist", 2), ("fashion", 0)) for row in (
        *seeds("ours", 1, 1, 1, dataset=data), *seeds("theirs", value, value, value, dataset=data))], FAILS),
    # models and parameters beside each other
    (claim({"quantity": "q", "model": "a", "greater_than": {"model": "b"}}),
     seeds("q", 3, 4, 5, model="a") + seeds("q", 1, 2, 2, model="b"), HOLDS),
    (claim({"quantity": "q", "where": {"width": 9}, "greater_than": {"where": {"width": 1}}}),
     seeds("q", 3, 4, 5, parameters={"width": 9}) + seeds("q", 1, 2, 2, parameters={"width": 1}), HOLDS),
    # the mean image has no model: one of the same seed stands beside every model's, of no seed beside none
    (claim(LESS), seeds("ours", 1, 2, 2, model="a") + seeds("theirs", 3, 4, 5), HOLDS),
    (claim(LESS), seeds("ours", 1, 2, 2, model="a") + [row | {"seed": None} for row in seeds("theirs", 3, 4, 5)],
     "not run"),
    # 0.5 is below 1 on each seed; -9 has no seed, and would pull the first down to -4
    (claim(LESS), [*seeds("ours", 0.5, 0.5, 0.5), *seeds("theirs", 1, 1, 1),
                   {"quantity": "theirs", "value": -9.0, "seed": None}], HOLDS),
    # by scipy the one-sided p of 1, 2, x is 0.059 with x = 0.5, 0.029 with x = 1; of a lone seed the sign counts
    *((claim(LESS), seeds("ours", 0.0, 0.0, 0.0) + seeds("theirs", 1.0, 2.0, third), expected) for third, expected in (
        (0.5, FAILS), (1.0, HOLDS))),
    *((claim(TESTED | {limit: 0}), seeds("q", *(sign * value for value in values)), expected)
      for limit, sign in (("at_most", 1), ("at_least", -1)) for values, expected in (
          ((1.0, 2.0, 0.5), HOLDS), ((1.0, 2.0, 1.0), FAILS), ((-1.0, -2.0, -1.0), HOLDS))),
    (claim(TESTED | {"at_most": 0}), seeds("q", 0.5), "preliminary: not reproduced"),
    # close to another, however much seeds differ; better than it may contradict "similar" or not
    *((claim({"quantity": "q", "model": "a", "close_to": {"model": "b", "tolerance": 1, "or_more": more}}),
       seeds("q", mean - 2, mean, mean + 2, model="a") + seeds("q", 2, 1, 0, model="b"), expected)
      for more, means, expected in ((False, (1.5, 0.5), HOLDS), (False, (3, -1), FAILS),
                                    (True, (1.5, 0.5, 3), HOLDS), (True, (-1,), FAILS)) for mean in means),
    # what ran inside the grid decides, whatever holds outside
    *((inside(), seeds("ours", 0.1, 0.2, 0.3, model="ours") + seeds("theirs", 1, 1, 1, model="ours") + within, expected)
      for within, expected in (([], HOLDS), (at_decay(0.1, 2, 3, 4), FAILS))),
    # an order that the seeds share, however much they differ; neither a lower mean nor a tie is one
    *((claim({"quantity": "ours", order: {"quantity": "theirs"}}), seeds("ours", *ours) + seeds("theirs", *theirs),
       HOLDS if order == found else FAILS)
      for order in ("less_than", "greater_than") for ours, theirs, found in (
          ((0.1, 0.5, 0.9), (0.12, 0.53, 0.92), "less_than"), ((0.12, 0.53, 0.92), (0.1, 0.5, 0.9), "greater_than"),
          ((0.1, 0.5, 0.2), (0.9, 0.4, 0.1), None), ((1, 2, 3), (3, 3, 3), None),
          ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5), None)))])
def test_records_decide(rules: dict[str, Claim], rows: list[dict[str, object]], expected: str) -> None:
    assert verdict(rules, frame(*rows)) == expected


def test_one_case_can_be_enough() -> None:
    """Where the paper names no method, the nearest of several counts and is shown; else all must hold."""
    rows = frame(*seeds("q", 0.7, 0.7, 0.7, model="a"), *seeds("q", 0.9, 0.9, 0.9, model="b"))
    check = {"quantity": "q", "near": {"value": 0.88, "tolerance": 0.05}}
    assert verdict(claim(check), rows) == "not reproduced"
    row = card(rows, claim(check | {"any_case": True})).iloc[0]
    assert row["verdict"] == "reproduced" and "0.9" in row["ours"] and row["ours"].endswith("the best of 2")
    assert verdict(claim(check | {"any_case": True}), frame(*seeds("q", 0.5, 0.5, 0.5))) == "not reproduced"


def test_seconds_of_another_machine_are_shown_and_not_judged() -> None:
    """Whatever the rule says and however many seeds there are; without a record nothing is shown."""
    rules = claim({"quantity": "q", "at_most": 0.1}, comparable=False)
    for value in (0.05, 5.0):
        row = card(frame(*seeds("q", value)), rules).iloc[0]
        assert row["verdict"] == "not comparable" and f"{value:g}" in row["ours"]
    assert verdict(rules, frame()) == "not run"


@pytest.mark.parametrize(("graphs", "expected"), [
    ((48, 48, 48), "reproduced"), ((48, 6, 48), "preliminary: reproduced"), ((), "preliminary: reproduced")])
def test_a_run_that_was_cut_is_preliminary(graphs: tuple[int, ...], expected: str) -> None:
    """The least record of what a claim needs counts; without any it is missing, and the note says what."""
    rules = claim({"quantity": "q", "at_least": 0.4}, least={"graphs": 48})
    row = card(frame(*seeds("q", 1, 1, 1), *seeds("graphs", *graphs)), rules).iloc[0]
    assert row["verdict"] == expected
    assert ("asks for 48 graphs" in row["note"]) == (expected != "reproduced")
    assert "graphs" in rules["c"].quantities()


def test_each_case_is_told_by_its_own_model() -> None:
    """A rule for all models: every model of the records is a case; a rule that names one: that one."""
    rows = frame(*seeds("q", 1, 2, model="a"), *seeds("q", 3, 5, model="b"))
    for check, told in (({"quantity": "q"}, {"a": [1, 2], "b": [3, 5]}),
                        ({"quantity": "q", "model": "b"}, {"b": [3, 5]})):
        [found] = cases(rows, claim(check | {"at_least": 0}))
        assert {case.model: case.values.tolist() for case in found} == told
    others = [row | {"claim": name} for name in ("b", "d") for row in seeds("q", 7, 8, model="a")]
    rows = frame(*seeds("q", 1, 2, model="a"), *others)
    [found] = cases(rows, claim({"quantity": "q", "at_least": 0}))
    assert [case.values.tolist() for case in found] == [[1, 2]]


@pytest.mark.parametrize("smaller", ["laptop", "smoke", "any", "of the reader's own"])
def test_paper_records_count_before_smaller_ones(smaller: str) -> None:
    """Where both profiles have records of a claim, the larger decides alone."""
    rows = frame(*seeds("q", 0, 0, 0), profile="paper") + frame(*seeds("q", 1, 1, 1), profile=smaller)
    row = card(rows, claim({"quantity": "q", "at_least": 0.5})).iloc[0]
    assert (row["verdict"], row["profile"], row["n"]) == ("not reproduced", "paper", 3)


@pytest.mark.parametrize(("values", "said"), [((0.90, 0.91, 0.92), "91.00 % ± 1.00 %"), ((0.9,), "90.00 %")])
def test_our_value_is_shown_with_spread_and_unit(values: tuple[float, ...], said: str) -> None:
    """Mean ± sd, as per cent where the rule says so. Of one number there is no deviation."""
    rules = claim({"quantity": "q", "at_least": 0.5, "percent": True})
    assert card(frame(*seeds("q", *values)), rules)["ours"].item() == f"q {said} (at least 50 %)"


def test_a_share_has_its_interval_over_examples_beside_the_spread_over_seeds() -> None:
    """Wilson's, by SciPy."""
    rows = frame(*seeds("q", 0.8, 0.9, 1.0, n=10))
    row = card(rows, claim({"quantity": "q", "at_least": 0.5, "percent": True})).iloc[0]
    low, high = stats.binomtest(9, 10).proportion_ci(method="wilson")
    assert row["ours"] == (f"q 90.00 % ± 10.00 % (95 % interval of one seed's share of 10: {100 * low:.2f} % to "
                           f"{100 * high:.2f} %) (at least 50 %)")
    assert "examples" not in card(rows, claim({"quantity": "q", "at_least": 0.5}))["ours"].item()


@pytest.mark.parametrize(("check", "words"), [
    (Check(quantity="accuracy", dataset="mnist", at_least=0.9, percent=True), "accuracy [digits] at least 90 %"),
    (Check(quantity="max_relative_error", where={"dtype": "float64"}, at_most=1e-10),
     "max relative error [double precision] at most 1e-10"),
    (Check(quantity="accuracy", model="a", near={"value": 0.9176, "tolerance": 0.01}, percent=True),
     "accuracy [a] within 1 point of 91.76 %"),
    (Check(quantity="accuracy", near={"value": 0.88, "tolerance": 0.02, "or_more": True}, percent=True),
     "accuracy within 2 points of 88 % or above"),
    (Check(quantity="fixed_point_psnr", dataset="cifar10", where={"corruption": "half"}, at_least=1),
     "PSNR at the end [colour photographs, half hidden] at least 1"),
    (Check(quantity="rank", where={"setting": "weight_lr"}, at_most=1), "rank [setting learning rate] at most 1"),
    (Check(quantity="q", close_to={"model": "mlp", "tolerance": 0.005}, percent=True),
     "q within 0.5 points of backpropagation"),
    (Check(quantity="fid", near={"value": 25.61, "tolerance": 3}), "FID within 3 of 25.61"),
    (Check(quantity="psnr", model="a", greater_than={"model": "b", "where": {"width": "wide"}}),
     "PSNR [a] > b, width wide"),
    (Check(quantity="mse", less_than={"quantity": "mean_image_mse"}), "MSE < mean image MSE")])
def test_rules_read_as_words(check: Check, words: str) -> None:
    """The same words on the scorecard with and without a measurement."""
    assert claims.rule(check) == words


def test_every_claim_has_a_rule_that_records_can_serve_and_readings_of_claims_that_there_are() -> None:
    """A recorder takes every quantity that its rule asks for; of its page, test_findings.py asks."""
    rules = claims.load_claims()
    for name, rule in rules.items():
        for check in rule.checks.values():
            claims.check_known(name, check.quantity, rules)
    read = [check for one in rules.values() for checks in one.readings.values() for check in checks]
    named = {name for check in read for name in check.of}
    assert named and named <= rules.keys()
    assert not any(check.of for one in rules.values() for check in one.checks.values())


def test_a_guard_can_fail_a_claim_but_not_carry_it():
    """It is not among the checks that are counted, and spoken of where it fails."""
    rows, one, failing = frame(*seeds("q", 2, 2, 2)), "the one check", ", 1 sanity check fails"
    for check, guard, expected, said in (
            (HIGH, HIGH, HOLDS, f"{one} holds"), (HIGH, LOW, "partly", f"{one} holds{failing}"),
            (LOW, HIGH, FAILS, f"{one} fails"), (LOW, LOW, FAILS, f"{one} fails{failing}")):
        row = card(rows, claim(check, guard | {"guard": True})).iloc[0]
        assert (row["verdict"], row["note"]) == (expected, f"{said}.")
    assert verdict(claim(LOW | {"quantity": "never recorded"}, HIGH | {"guard": True}), rows) == "not run"


def test_a_further_measure_is_shown_and_counts_neither_for_a_claim_nor_against_it():
    """Not even where it has no record or fewer seeds than the claim needs."""
    rows = frame(*seeds("q", 2, 2, 2))
    for check, measure in ((HIGH, HIGH), (HIGH, LOW), (LOW, HIGH), (HIGH, HIGH | {"quantity": "never recorded"})):
        judged = verdicts.verdicts(rows, claim(check, measure | {"further": True}))["c"]
        assert judged.verdict == (HOLDS if check == HIGH else FAILS)
        assert judged.held.startswith("the one check") and not judged.lacks
        assert ("further measure" in judged.row()["ours"]) == (measure["quantity"] == "q")


@pytest.mark.parametrize(("check", "more", "says"), [
    ({"quantity": "q"}, {}, "exactly one of"), (CHECK | {"at_most": 2}, {}, "exactly one of"),
    ({"quantity": "q", "atleast": 1}, {}, "Did you mean 'at_least'"),
    ({"quantity": "q", "at_least": "high"}, {}, "valid number"),
    # guards and further measures alone, and a rival without an order
    (CHECK | {"guard": True}, {}, "neither a guard"), (CHECK | {"further": True}, {}, "nor a further measure"),
    (CHECK, {"readings": {"r": [CHECK | {"guard": True}]}}, "neither a guard"),
    (CHECK, {"rivals": [CHECK | {"name": "r"}]}, "less_than or greater_than"),
    # no sentence, or one of no check
    (CHECK, {"finding": []}, "at least 1 item"),
    (CHECK, {"finding": ["{chekc0}"]}, "speaks of the check 'chekc0'; there are check0"),
    (CHECK, {"cause": {"kind": "paper", "finding": [], "fails": ["other"]}}, "speaks of the check 'other'")])
def test_a_rule_that_cannot_decide_or_says_nothing_is_refused(check: dict, more: dict, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        claim(check, **more)


def test_what_has_no_counterpart_makes_a_verdict_preliminary():
    """Ours of a second data set, or a further seed, that theirs lack."""
    ours, theirs = [seeds("q", 1, 1.1, 1.2, model=model, dataset="mnist") for model in ("a", "b")]
    theirs = [row | {"value": row["value"] + 1} for row in theirs]
    rules = claim({"quantity": "q", "model": "a", "less_than": {"model": "b"}})
    assert verdict(rules, frame(*ours, *theirs)) == "reproduced"
    for more, said in ((seeds("q", 9, 9, 9, model="a", dataset="fashion"), "Three runs had no counterpart"),
                       ([ours[0] | {"seed": 3, "value": 9.0}], "One run had no counterpart")):
        row = card(frame(*ours, *theirs, *more), rules).iloc[0]
        assert row["verdict"] == "preliminary: reproduced" and said in row["note"]


def test_the_seeds_of_a_verdict_are_those_of_its_smallest_part():
    """Three of one data set and two of another are two; so are three of one check and two of another."""
    rows = frame(*seeds("q", 1, 1, 1, dataset="mnist"), *seeds("q", 1, 1, dataset="fashion"), *seeds("r", 1, 1, 1))
    for checks in ("q", "qr", "rq"):
        row = card(rows, claim(*({"quantity": name, "at_least": 1} for name in checks))).iloc[0]
        assert (row["n"], row["verdict"]) == (2, SO_FAR)


@pytest.mark.parametrize(("ours", "theirs", "n", "m"), [(81, 86, 100, 100), (20, 26, 100, 100), (5, 20, 100, 100),
                                                        (50, 50, 50, 50), (180, 50, 200, 50)])
def test_shares_of_one_seed_are_told_apart_by_fishers_test(ours: int, theirs: int, n: int, m: int) -> None:
    """Oracle: the test of scipy.stats."""
    found = [{"quantity": name, "value": hits / of, "seed": 0, "n": of}
             for name, hits, of in (("ours", ours, n), ("theirs", theirs, m))]
    case, = cases(frame(*found), claim(LESS | {"percent": True}, needed=1))[0]
    for holds, side in ((case.holds, "less"), (case.opposite, "greater")):
        assert holds == (stats.fisher_exact([[ours, n - ours], [theirs, m - theirs]], side).pvalue < 0.05)


def test_how_many_cases_fail_is_said_and_of_comparisons_the_first() -> None:
    """Of three data sets, one, two or three are below 0.5. Cases of different scale have no worst."""
    for below, said in ((1, "1 fails"), (2, "2 fail"), (3, "all fail"), (0, "all hold")):
        rows = frame(*(row for k, data in enumerate(("a", "b", "c"))
                       for row in seeds("q", 0.1 if k < below else 0.9, dataset=data)))
        shown = card(rows, claim({"quantity": "q", "at_least": 0.5}))["ours"].item()
        assert shown.endswith(f" on a, the worst of 3 cases ({said})"), shown
    pairs = [row for data, gap in (("fashion", -1.0), ("mnist", -2.0), ("svhn", -3.0)) for row in (
        *seeds("q", 5.0, 5.0, 5.0, model="a", dataset=data), *seeds("q", *[5.0 + gap] * 3, model="b", dataset=data))]
    rules = claim({"quantity": "q", "model": "a", "less_than": {"model": "b"}})
    assert card(frame(*pairs), rules)["ours"].item().endswith("b 4 on clothing, one of 3 cases (all fail)")


def test_another_reading_has_its_own_verdict() -> None:
    """The first rule decides; each other reading stands beside it, also where nothing was recorded for it."""
    a, b, c = ({"quantity": quantity, "at_least": 0.9} for quantity in "abc")
    rules = claim(a, readings={"in other units": [b], "tried in part": [b, c], "never tried": [c]})
    row = card(frame(*seeds("a", 1.0, 1.0, 1.0), *seeds("b", 0.0, 0.0, 0.0)), rules).iloc[0]
    assert (row["verdict"], row["hangs_on"]) == (
        "reproduced", "in other units: not reproduced; tried in part: preliminary: not reproduced; "
                      "never tried: not run")


def test_a_reading_may_look_at_what_another_claim_measured() -> None:
    """By hand: 0.9 of its own, seed by seed below the 0.95 of ``d``; a smaller run of ``d`` does not count."""
    order = {"quantity": "a", "model": "m", "less_than": {"model": "other"}}
    rules = claim({"quantity": "a", "at_least": 0.5}, needed=2, readings={"r": [order | {"of": ["c", "d"]}]})
    own = seeds("a", 0.9, 0.91, model="m")
    for profile, said in (("paper", "r: reproduced"), ("laptop", "r: not run")):
        others = [row | {"claim": "d", "profile": profile} for row in seeds("a", 0.95, 0.97, model="other")]
        assert card(frame(*own, *others), rules)["hangs_on"].item() == said


@pytest.mark.parametrize(("theirs", "expected"), [
    ((0.4, 0.5, 0.6), "better than ridge regression (0.2 compared with 0.5)"),
    ((0.05, 0.14, 0.2), "worse than ridge regression (0.2 compared with 0.13)"),
    ((0.0, 0.2, 0.7), "not told apart from ridge regression (0.2 compared with 0.3)")])
def test_a_rival_says_what_a_result_is_worth_and_decides_nothing(theirs: tuple[float, ...], expected: str) -> None:
    """The mean error of 0.1, 0.2 and 0.3 is 0.2; a t-test over three seeds tells the first two apart, by a margin."""
    simple = [{"name": "ridge regression", "quantity": "q", "model": "a", "less_than": {"quantity": "ridge"}}]
    rules = claim({"quantity": "q", "model": "a", "at_most": 0.3}, rivals=simple)
    ours = seeds("q", 0.1, 0.2, 0.3, model="a")
    row = card(frame(*ours, *seeds("ridge", *theirs, model="a")), rules).iloc[0]
    assert (row["verdict"], row["rival"]) == ("reproduced", f"q: {expected}")
    assert card(frame(*ours), rules)["rival"].item() == ""
    assert "ridge" in rules["c"].quantities()


def test_a_rival_is_named_for_every_case() -> None:
    """Two data sets, and two values of a parameter in one of them."""
    simple = [{"name": "a filter", "quantity": "q", "greater_than": {"quantity": "theirs"}, "percent": True}]
    rules = claim({"quantity": "q", "at_least": 0}, rivals=simple, needed=1)
    rows = frame(*seeds("q", 0.5, dataset="mnist", parameters={"variance": 2.0}),
                 *seeds("q", 0.1, dataset="fashion", parameters={"variance": 1.0}),
                 *seeds("theirs", 0.4, dataset="mnist", parameters={"variance": 2.0}),
                 *seeds("theirs", 0.2, dataset="fashion", parameters={"variance": 1.0}))
    assert card(rows, rules)["rival"].item().split("; ") == [
        "q, clothing, variance 1: worse than a filter (10.00 % compared with 20.00 %)",
        "q, digits, variance 2: better than a filter (50.00 % compared with 40.00 %)"]


def test_a_claim_holds_where_it_holds_at_one_value() -> None:
    """At a decay of 0.1 alone; the verdict says at which."""
    rules = inside(decay=[0.01, 0.1])
    found = verdicts.verdicts(frame(*at_decay(0.01, 2, 3, 4), *at_decay(0.1, 0.1, 0.2, 0.3)), rules)["c"]
    assert found.verdict == "reproduced" and found.claim.checks["check0"].where == {"decay": 0.1}


def test_several_tries_are_corrected_for() -> None:
    """By the t-test the order has p = 0.03: enough for one try, too little for two."""
    values = [0.2, 0.9, 1.02, 0.3, 0.6]
    assert 0.025 < stats.ttest_1samp([value - 1 for value in values], 0, alternative="less").pvalue < 0.05
    for rules, expected in ((inside(), HOLDS), (inside(decay=[0.1, 0.2]), FAILS)):
        assert verdict(rules, frame(*at_decay(0.1, *values))) == expected


def test_inside_the_grid_all_but_readings_rivals_and_sentences_is_the_claims_own() -> None:
    """Its sentences speak of its own checks."""
    whole = claim(LESS, readings={"r": [LESS]}, rivals=[LESS | {"name": "simple"}], in_grid={"decided_by": ["a"]})["c"]
    other = {"decided_by": ["a"], "in_grid": None, "readings": {}, "rivals": []}
    assert whole.in_grid == whole.model_copy(update=other)
    with pytest.raises(BadInput, match="speaks of the check 'check0'; there are other"):
        claims.strict.validated(Claim, claim(LESS)["c"].model_dump() | {"in_grid": {
            "decided_by": ["a"], "checks": {"other": LESS}, "finding": ["{check0}"]}}, claims.FILE)
