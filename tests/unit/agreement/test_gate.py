from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from connector import GateDecision, GateRule, Obstacle, QuestionRatings, Ratings, assess, decide, krippendorff_alpha
from connector.agreement.alpha import alpha_statistic, prepare
from connector.agreement.gate import MOST_TIMES, printed, units_more
from connector.agreement.ratings import Level
from connector.errors import FixConfiguration


def batch(agreeing: int, conflicts: int, raters: int = 2) -> list[list[Any]]:
    """Balanced units on which all agree, and units that split."""
    half = agreeing // 2
    return [["a"] * raters] * half + [["b"] * raters] * (agreeing - half) + [["a"] * (raters - 1) + ["b"]] * conflicts


def gate(
    rows: list[list[Any]], *, size: int = 1, look: int = 1, question: dict[str, Any] | None = None, **rule: Any
) -> GateDecision:
    source = QuestionRatings("q", "choice", Ratings.from_wide(rows), **(question or {}))
    decision = decide(assess([source]), GateRule(size=size, **rule), look=look)
    json.dumps(decision.to_json(), allow_nan=False)
    return decision


def test_go_at_or_above_and_no_go_below() -> None:
    assert gate(batch(95, 5)).verdict == "GO"
    assert gate(batch(60, 40)).verdict == "NO-GO"
    # the fewest units are 500 unless set
    assert decide(assess(Ratings.from_wide(batch(495, 4)))).reasons == ("missing_units",)
    assert decide(assess(Ratings.from_wide(batch(495, 5)))).verdict == "GO"


def test_the_comparison_is_unrounded_with_a_tolerance_for_rounding_alone() -> None:
    value = gate(batch(85, 15)).value
    assert value is not None
    assert gate(batch(85, 15), threshold=value).verdict == "GO"
    assert gate(batch(85, 15), threshold=value + 5e-10).verdict == "GO"
    assert gate(batch(85, 15), threshold=value + 2e-9).verdict == "NO-GO"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.6999999, "0.6999999"),
        (0.699, "0.699"),
        (0.7, "0.70"),
        (0.70004, "0.70"),
        (0.697, "0.697"),
        (0.69, "0.69"),
        (0.8, "0.80"),
        (None, "undefined"),
        (0.7 - 1e-10, "0.70"),
    ],
)
def test_a_value_is_printed_on_its_own_side_of_the_threshold(value: float | None, shown: str) -> None:
    assert printed(value, 0.70) == shown


def test_too_few_units() -> None:
    decision = gate(batch(95, 5), size=101)
    assert (decision.verdict, decision.reasons) == ("UNDECIDED", ("missing_units",))
    assert "100 units; 101 are needed" in decision.messages[0]
    # size is the fewest, never a cut
    assert gate(batch(95, 5), size=50).deciding.n_units == 100


def test_unrated_units_count_as_units_but_not_as_complete_ones() -> None:
    ratings = Ratings.from_wide(batch(90, 0) + [[None, None]] * 10)
    decision = decide(assess(ratings), GateRule(size=100))
    assert decision.reasons == ("incomplete",)
    assert decide(assess(ratings), GateRule(size=100, coverage=0.9)).verdict == "GO"


def test_named_units_that_are_not_there() -> None:
    ratings = Ratings.from_wide(batch(20, 0), unit_ids=[f"t{i}" for i in range(20)])
    asked = [*(f"t{i}" for i in range(5, 15)), "t99", "t98"]
    decision = decide(assess(ratings.restrict(asked)), GateRule(size=10), batch=asked)
    assert (decision.verdict, decision.reasons) == ("UNDECIDED", ("missing_units",))
    assert "2 of the named units are not there: t99, t98" in decision.messages[0]
    assert decide(assess(ratings.restrict(asked[:10])), GateRule(size=10), batch=asked[:10]).verdict == "GO"


def test_expected_raters_make_a_unit_complete() -> None:
    rows = [["a", "a", "a"]] * 50 + [["b", "b", None]] * 50
    assert gate(rows).verdict == "GO"
    decision = gate(rows, expected_raters=3)
    assert decision.reasons == ("incomplete",)
    assert "50 of 100 units have all ratings required (3)" in decision.messages[0]
    assert gate(rows, expected_raters=3, coverage=0.5).verdict == "GO"


def test_what_the_source_found_wanting_makes_it_undecided() -> None:
    report = assess(Ratings.from_wide(batch(95, 5)))
    short = Obstacle("pull_cut_short", "The server went away.")
    decision = decide(report, GateRule(size=1), incomplete=[short])
    assert (decision.verdict, decision.reasons, decision.messages[0]) == (
        "UNDECIDED",
        ("pull_cut_short",),
        "The server went away.",
    )
    assert decision.value == pytest.approx(report.questions["value"].alpha.value)


@pytest.mark.parametrize("coefficient", ["gwet_ac1", "gwet_ac2", "brennan_prediger", "pabak", "percent_agreement"])
def test_coefficients_no_gate_should_rest_on_are_refused(coefficient: str) -> None:
    with pytest.raises(FixConfiguration, match=coefficient):
        GateRule(coefficient)


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({"coefficient": "krippendorf_alpha"}, "krippendorff_alpha"),
        ({"rule": "confidence"}, "point or confident"),
        ({"threshold": 70}, "threshold"),
        ({"threshold": float("nan")}, "threshold"),
        ({"coverage": 95}, "coverage"),
        ({"size": 0}, "size"),
        ({"size": float("nan")}, "size"),
        ({"coverage": float("nan")}, "coverage"),
        ({"min_ratings": float("nan")}, "two ratings"),
        ({"min_ratings": 1}, "two ratings"),
        ({"expected_raters": 1}, "two ratings"),
    ],
)
def test_rules_that_make_no_sense_are_refused(rule: dict[str, Any], said: str) -> None:
    with pytest.raises(FixConfiguration, match=said):
        GateRule(**rule)


def test_fleiss_on_ragged_data_is_undecided() -> None:
    ragged = [*batch(95, 5, 3), ["a", "a", None]]
    assert gate(ragged, coefficient="fleiss_kappa").reasons == ("ragged",)
    assert gate(batch(95, 5, 3), coefficient="fleiss_kappa").verdict == "GO"
    assert gate(ragged).verdict == "GO"


def test_cohen_on_three_raters_is_undecided() -> None:
    assert gate(batch(95, 5, 3), coefficient="cohen_kappa").reasons == ("not_two_raters",)
    assert gate(batch(95, 5), coefficient="cohen_kappa").verdict == "GO"


def test_weighted_kappa_of_labels_without_order_is_undecided() -> None:
    assert gate(batch(95, 5), coefficient="weighted_kappa").reasons == ("wrong_level",)


@pytest.mark.parametrize(
    ("rows", "question", "used"),
    [
        (batch(95, 5), {}, "cohen_kappa"),
        (batch(95, 5, 3), {}, "fleiss_kappa"),
        ([*batch(95, 5), ["a", None]], {}, "krippendorff_alpha"),
        ([*batch(95, 5, 3), ["a", "a", None]], {}, "krippendorff_alpha"),
        ([[1, 2], [2, 2], [3, 4]] * 10, {"level": "ordinal"}, "weighted_kappa"),
        ([[1, 2, 2], [2, 2, 2], [3, 4, 4]] * 10, {"level": "ordinal"}, "krippendorff_alpha"),
        ([[1, 2], [2, 2], [3, None]] * 10, {"level": "ordinal"}, "krippendorff_alpha"),
        ([[("a",), ("a", "b")], [("b",), ("b",)]] * 10, {"distance": "masi"}, "krippendorff_alpha"),
    ],
)
def test_auto_follows_the_three_questions_and_says_which(rows: Any, question: dict[str, Any], used: str) -> None:
    decision = gate(rows, question=question, coefficient="auto", coverage=0.5)
    assert decision.deciding.coefficient == used
    assert decision.to_json()["coefficient"] == used
    assert any(message.startswith("auto: ") for message in decision.messages)


def two_of_five(units: int = 500) -> list[list[Any]]:
    """Every unit has two ratings, by raters who take turns."""
    random = np.random.default_rng(0)
    rows: list[list[Any]] = [[None] * 5 for _ in range(units)]
    for place, row in enumerate(rows):
        first, second = random.choice(5, 2, replace=False)
        row[first] = "abc"[place % 3]
        row[second] = row[first] if random.random() < 0.9 else "abc"[random.integers(3)]
    return rows


def test_equal_numbers_of_ratings_by_raters_who_take_turns_are_gaps() -> None:
    decision = gate(two_of_five(), coefficient="auto")
    assert decision.deciding.coefficient == "krippendorff_alpha"
    assert "gaps" in decision.messages[0]
    assert decision.deciding.beside == {}
    assert gate(two_of_five()).deciding.beside == {}


def test_kappa_stands_beside_alpha_on_complete_data() -> None:
    assert set(gate(batch(95, 5)).deciding.beside) == {"cohen_kappa"}
    assert set(gate(batch(95, 5, 3)).deciding.beside) == {"fleiss_kappa"}
    assert set(gate(batch(95, 5), coefficient="cohen_kappa").deciding.beside) == {"krippendorff_alpha"}
    assert gate([*batch(95, 5, 3), ["a", "a", None]]).deciding.beside == {}
    assert not any("different sides" in message for message in gate(batch(95, 5)).messages)


def test_different_sides_of_the_threshold_are_said() -> None:
    decision = gate(batch(17, 3))
    alpha, kappa = decision.value, decision.deciding.beside["cohen_kappa"]
    assert alpha is not None
    assert kappa is not None
    decision = gate(batch(17, 3), threshold=(alpha + kappa) / 2)
    assert any("fall on different sides" in message for message in decision.messages)


def test_the_worst_question_decides() -> None:
    good, bad, none = (Ratings.from_wide(rows) for rows in (batch(95, 5), batch(60, 40), batch(100, 0)[:50] * 2))
    sources = [QuestionRatings("good", "choice", good), QuestionRatings("bad", "choice", bad)]
    decision = decide(assess(sources), GateRule(size=1))
    assert (decision.verdict, decision.deciding.name) == ("NO-GO", "bad")
    assert {name: one.verdict for name, one in decision.questions.items()} == {"good": "GO", "bad": "NO-GO"}
    body = decision.to_json()
    assert (body["verdict"], body["question"], body["value"]) == ("NO-GO", "bad", decision.questions["bad"].value)
    undefined = QuestionRatings("none", "choice", none)
    assert decide(assess([*sources[:1], undefined]), GateRule(size=1)).verdict == "UNDECIDED"
    assert decide(assess([sources[0]]), GateRule(size=1)).verdict == "GO"


def test_questions_that_are_not_required_do_not_decide() -> None:
    good, bad = Ratings.from_wide(batch(95, 5)), Ratings.from_wide(batch(60, 40))
    optional = QuestionRatings("bad", "choice", bad, required=False)
    assert decide(assess([QuestionRatings("good", "choice", good), optional]), GateRule(size=1)).verdict == "GO"
    assert decide(assess([optional]), GateRule(size=1)).reasons == ("no_question",)


def conditional(shown: int, times: int, seen: dict[Any, int] | None = None) -> GateDecision:
    """200 units answered on the main question; the conditional one shown to `times` raters in `shown` of them."""
    main = Ratings.from_wide(batch(190, 10))
    rows = [(["x", "y"][i % 2],) * times + (None,) * (2 - times) if i < shown else (None, None) for i in range(200)]
    sub = QuestionRatings("sub", "choice", Ratings.from_wide(rows), conditional=True, times_shown=seen)
    return decide(assess([QuestionRatings("main", "choice", main), sub]), GateRule(size=200))


def test_a_conditional_question_is_judged_where_it_was_shown() -> None:
    decision = conditional(60, 2)
    assert decision.verdict == "GO"
    assert decision.questions["sub"].n_units == 60
    assert conditional(49, 2).questions["sub"].reasons == ("missing_units",)
    assert "missing_units" in conditional(60, 1).questions["sub"].reasons
    unanswered = conditional(60, 2, dict.fromkeys(range(120), 2))
    assert unanswered.questions["sub"].reasons == ("incomplete",)


def test_confident_needs_the_bound() -> None:
    assert gate(batch(480, 20), rule="confident").verdict == "GO"
    assert gate(batch(200, 300), rule="confident").verdict == "NO-GO"
    close = gate(batch(450, 66), rule="confident")
    assert (close.verdict, close.reasons) == ("UNDECIDED", ("not_confident",))
    assert close.low is not None
    assert close.high is not None
    assert close.low < 0.70 < close.high
    assert gate(batch(450, 66)).verdict == "GO"


def test_confident_says_about_how_many_more() -> None:
    decision = gate(batch(435, 65), rule="confident")
    more = decision.deciding.units_more
    assert more is not None
    assert f"about {more} more units" in decision.messages[0]
    hopeless = gate(batch(424, 76), rule="confident")
    assert (hopeless.verdict, hopeless.deciding.units_more) == ("UNDECIDED", None)
    assert "No practical number" in hopeless.messages[0]


@pytest.mark.parametrize("conflicts", [84, 85])
def test_never_more_units_than_are_practical(conflicts: int) -> None:
    rows = [["a", "a"]] * 265 + [["b", "b"]] * (335 - conflicts) + [["a", "b"]] * conflicts
    decision = gate(rows, rule="confident")
    more = decision.deciding.units_more
    assert more is None or 10_000 < more <= (MOST_TIMES - 1) * 600
    assert ("No practical number" in decision.messages[0]) is (more is None)
    assert (more is None) is (conflicts == 85)


def test_without_an_interval_it_is_undecided_and_says_so() -> None:
    decision = gate([["a", "b"]] * 300, rule="confident")
    assert (decision.verdict, decision.reasons, decision.low) == ("UNDECIDED", ("not_confident",), None)
    assert "No interval can be given" in decision.messages[0]
    assert gate([["a", "b"]] * 300).verdict == "NO-GO"


def test_no_value_is_said_to_rest_on_anything() -> None:
    decision = gate(batch(0, 0) + [["a", "a"]] * 40)
    assert decision.value is None
    assert not any("the value" in message for message in decision.messages)
    assert "All pairable ratings lie in one category." in decision.messages


def test_units_more_reaches_the_published_number() -> None:
    """3 raters, 3 balanced classes, true alpha .75: 490 units for 80% power of a one-sided 5% bound at .70."""
    random = np.random.default_rng(3)
    found: list[int] = []
    while len(found) < 9:
        truth = random.integers(0, 3, (300, 1))
        data = np.where(random.random((300, 3)) < np.sqrt(0.75), truth, random.integers(0, 3, (300, 3)))
        value = krippendorff_alpha(data).value
        if value is not None and abs(value - 0.75) < 5e-3:
            statistic = alpha_statistic(prepare(Ratings.from_wide(data), Level.NOMINAL, "nominal"), "nominal")
            found.append(300 + (units_more(statistic, value, 0.70, 0, 1) or 0))
    assert sorted(found)[4] == pytest.approx(490, rel=0.1)


def test_every_look_spends_half_of_what_is_left() -> None:
    first, third = (gate(batch(460, 40), rule="confident", look=look) for look in (1, 3))
    assert first.deciding.interval is not None
    assert third.deciding.interval is not None
    assert first.deciding.interval.confidence == pytest.approx(0.95)
    assert third.deciding.interval.confidence == pytest.approx(1 - 2 * 0.05 / 8)
    assert third.deciding.interval.low < first.deciding.interval.low
    with pytest.raises(ValueError, match="looks count from 1"):
        gate(batch(460, 40), look=0)


def test_low_variation_is_undecided_under_confident_and_a_caution_under_point() -> None:
    rows = [["a", "a"]] * 490 + [["b", "b"]] * 9 + [["a", "b"]]
    assert gate(rows, rule="confident").reasons == ("low_variation",)
    point = gate(rows)
    assert point.verdict == "GO"
    assert any("Only 19 ratings lie outside" in message for message in point.messages)


def test_no_disagreement_at_all_is_not_certainty() -> None:
    decision = gate([["a", "a"]] * 20 + [["b", "b"]] * 20, rule="confident", threshold=0.99)
    assert decision.verdict == "UNDECIDED"
    assert decision.low is not None
    assert decision.low < 0.99


def test_the_tentative_range_is_said() -> None:
    assert any("tentative" in message for message in gate(batch(95, 5)).messages)
    assert not any("tentative" in message for message in gate(batch(95, 5), threshold=0.8).messages)


@pytest.mark.parametrize(
    "coefficient",
    ["cohen_kappa", "scott_pi", "weighted_kappa", "weighted_kappa_linear", "fleiss_kappa", "conger_kappa"],
)
def test_every_kappa_can_decide_by_both_rules(coefficient: str) -> None:
    rows = [["1", "1"], ["2", "2"], ["3", "3"]] * 60 + [["1", "2"], ["2", "3"]] * 4
    question = {"level": "ordinal"}
    value = assess([QuestionRatings("q", "rating", Ratings.from_wide(rows), level="ordinal")]).questions["q"]
    for rule in ("point", "confident"):
        found = gate(rows, coefficient=coefficient, rule=rule, question=question)
        assert (found.verdict, found.value) == ("GO", value.coefficients[coefficient].value)
        assert found.low is not None
        assert found.value is not None
        assert 0.7 < found.low < found.value


@pytest.mark.parametrize("coefficient", ["fleiss_kappa", "conger_kappa"])
def test_no_kappa_decides_on_ragged_data(coefficient: str) -> None:
    rows: list[list[Any]] = [["a", "a", "a"], ["b", "b", None], ["b", "b", "b"]] * 40
    assert gate(rows, coefficient=coefficient).reasons == ("ragged",)


@pytest.mark.parametrize("coefficient", ["gwet_ac1", "gwet_ac2", "brennan_prediger", "pabak", "percent_agreement"])
def test_coefficients_that_forgive_guessing_are_refused(coefficient: str) -> None:
    with pytest.raises(FixConfiguration, match="cannot decide"):
        GateRule(coefficient=coefficient)
