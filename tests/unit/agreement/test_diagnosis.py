"""What a diagnosis says of tables whose fault is known."""

from __future__ import annotations

import json
import math
import warnings
from typing import Any

import numpy as np
import pytest

from connector import QuestionRatings, Ratings, assess
from connector.agreement.dawid_skene import dawid_skene
from connector.agreement.diagnosis import Diagnosis
from connector.agreement.raters import RaterFinding, wilson
from connector.agreement.report import QuestionReport


def report_of(ratings: Ratings, **given: Any) -> QuestionReport:
    level = given.pop("level", "nominal")
    distance = given.pop("distance", None)
    threshold = given.pop("threshold", 0.7)
    question = QuestionRatings("q", "choice", ratings, level, distance, **given)
    return assess(question, confidence=None, threshold=threshold).questions["q"]


def diagnosis_of(ratings: Ratings, **given: Any) -> Diagnosis:
    found = report_of(ratings, **given).diagnosis
    assert found is not None
    return found


def rater(found: Diagnosis, name: Any) -> RaterFinding:
    return next(one for one in found.raters if one.rater == name)


def square(cells: list[list[int]], names: str) -> Ratings:
    pairs = [[names[a], names[b]] for a, row in enumerate(cells) for b, count in enumerate(row) for _ in range(count)]
    return Ratings.from_wide(pairs)


def test_two_pairs_of_categories_hold_all_disagreement() -> None:
    """600 tickets: agreement .7683, kappa .6477, 139 disagreements in two pairs of categories."""
    cells = [[22, 42, 0, 0], [46, 65, 0, 0], [0, 0, 282, 51], [0, 0, 0, 92]]
    report = report_of(square(cells, "CREO"))
    assert report.coefficients["percent_agreement"].value == pytest.approx(0.7683, abs=5e-5)
    assert report.coefficients["cohen_kappa"].value == pytest.approx(0.6477, abs=5e-5)
    assert report.diagnosis is not None
    mend = report.diagnosis.mend
    assert mend is not None
    assert [(pair.a, pair.b, pair.n) for pair in mend.pairs] == [("C", "R", 88), ("E", "O", 51)]
    assert [pair.share for pair in mend.pairs] == pytest.approx([0.633, 0.367], abs=5e-4)
    assert mend.share == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("pairs", "n_categories", "mended"),
    [
        ("ab ab cd ac bd ad bc", 4, False),  # 43%
        ("ab ab ab ab cd cd ac bd", 4, True),  # 75%
        ("ab ab ab cd cd ac bd ad", 4, True),  # 62.5%
        ("ab ab cd ac bd", 4, False),  # 60% is not over 60%
        ("ab ab ab ac", 3, False),  # of three categories the top two pairs always hold most
    ],
)
def test_mending_two_pairs_is_for_a_real_concentration(pairs: str, n_categories: int, mended: bool) -> None:
    rows = [list(pair) for pair in pairs.split()] + [[c, c] for c in "abcd"[:n_categories]]
    assert (diagnosis_of(Ratings.from_wide(rows)).mend is not None) == mended


def test_declared_categories_count_though_nobody_used_them() -> None:
    rows = [["a", "b"]] * 4 + [["a", "a"]] * 4
    assert diagnosis_of(Ratings.from_wide(rows)).mend is None
    assert diagnosis_of(Ratings.from_wide(rows), categories=("a", "b", "c", "d")).mend is not None


def test_the_paradox_is_named_with_what_to_read_beside_it() -> None:
    """900 of 1,000 alike and kappa .20; AC1 and PABAK look fine, and each category's own agreement tells why."""
    found = diagnosis_of(square([[17, 50], [50, 883]], "CO")).paradox
    assert found is not None
    assert found.percent_agreement == pytest.approx(0.9)
    assert found.alpha == pytest.approx(0.2, abs=2e-3)
    assert found.category == "O"
    assert found.share == pytest.approx(0.933)
    assert found.brennan_prediger == pytest.approx(0.8)
    assert found.gwet_ac1 is not None
    assert found.gwet_ac1 > 0.85
    assert dict(found.specific) == {"C": pytest.approx(0.2537, abs=5e-5), "O": pytest.approx(0.9464, abs=5e-5)}
    assert [category for category, _ in found.specific] == ["C", "O"]


@pytest.mark.parametrize("cells", [[[40, 10], [10, 40]], [[45, 1], [1, 53]], [[30, 30], [30, 30]]])
def test_no_paradox_where_both_are_high_or_both_are_low(cells: list[list[int]]) -> None:
    assert diagnosis_of(square(cells, "AB")).paradox is None


def test_a_category_needs_five_chance_agreements() -> None:
    """n_c >= sqrt(5 (n - 1)): of 200 ratings, 32 are enough and 30 are not."""
    for rare, too_rare in ((15, True), (16, False)):
        table = square([[rare, 0], [0, 100 - rare]], "RC")
        by_name = {one.category: one for one in report_of(table).categories}
        assert (by_name["R"].too_rare, by_name["C"].too_rare) == (too_rare, False)


def test_one_rater_who_is_off_is_found_by_every_measure() -> None:
    random = np.random.default_rng(2)
    truth = random.choice(list("abc"), 300)
    table = np.stack([np.where(random.random(300) < 0.9, truth, random.choice(list("abc"), 300)) for _ in range(4)], 1)
    table[:, 2] = np.where(random.random(300) < 0.6, "a", table[:, 2])
    gold = {unit: str(truth[unit]) for unit in range(0, 300, 3)}
    found = diagnosis_of(Ratings.from_wide(table.tolist(), rater_ids=["w", "x", "off", "z"]), gold=gold)
    worst = found.raters[0]
    assert worst.rater == "off"
    assert worst.change is not None
    assert worst.change > 0.1
    assert all(one.change is not None and one.change < 0 for one in found.raters[1:])
    assert worst.cost == max(one.cost or 0.0 for one in found.raters)
    assert worst.leaning[0].category == "a"
    assert worst.leaning[0].difference > 0.2
    assert worst.gold is not None
    assert worst.gold.n == 100
    expected = float(np.mean([table[unit, 2] == value for unit, value in gold.items()]))
    assert worst.gold.accuracy == pytest.approx(expected)
    assert worst.gold.low < expected < worst.gold.high
    assert worst.gold.leaning[0].category == "a"
    assert worst.gold.leaning[0].others == pytest.approx(list(gold.values()).count("a") / 100)
    pairs = {(pair.a, pair.b): pair.kappa or 0.0 for pair in found.rater_pairs}
    assert len(pairs) == 6
    assert all(("off" in pair) == (kappa < 0.6) for pair, kappa in pairs.items())


def test_leaning_against_the_adjudicated_share() -> None:
    """A rater who says "spam" to 112 of 1,000 where 67 are."""
    gold = {unit: "spam" if unit < 67 else "ok" for unit in range(1000)}
    values = ["spam" if unit < 112 else "ok" for unit in range(1000)]
    found = diagnosis_of(Ratings.from_long(range(1000), ["ann"] * 1000, values), gold=gold)
    mine = rater(found, "ann").gold
    assert mine is not None
    spam = next(one for one in mine.leaning if one.category == "spam")
    assert [spam.own, spam.others] == pytest.approx([0.112, 0.067])
    assert mine.accuracy == pytest.approx(0.955)


def test_gold_is_compared_as_the_level_reads_it() -> None:
    """At numeric levels the categories are numbers; gold may still be their text. A gold value nobody gave counts."""
    ratings = Ratings.from_wide([["1", "2"], ["3", "3"], ["2", "2"]])
    found = diagnosis_of(ratings, level="interval", gold={0: "1", 1: "3.0", 2: "9", 7: "1"})
    assert [one.gold.accuracy for one in sorted(found.raters, key=lambda one: one.rater) if one.gold] == [
        pytest.approx(2 / 3),
        pytest.approx(1 / 3),
    ]


def test_gold_of_sets_is_the_whole_set_and_leaning_is_by_label() -> None:
    rows = [[("a",), ("a", "b")], [("b",), ("b",)], [("a", "b"), ("a",)]]
    found = diagnosis_of(
        Ratings.from_wide(rows), distance="masi", categories=("a", "b", "c"), gold={0: ("a",), 2: ["b", "a"]}
    )
    first, second = rater(found, 0), rater(found, 1)
    assert first.gold is not None
    assert second.gold is not None
    assert (first.gold.accuracy, second.gold.accuracy) == (1.0, 0.0)
    assert {one.category for one in second.leaning} == {"a", "b"}
    for one in second.leaning:
        assert [one.own, one.others] == pytest.approx([2 / 3, 2 / 3])


def test_speed_is_the_median_of_what_is_known() -> None:
    ratings = Ratings.from_wide([["a", "b"], ["a", "a"], ["b", "a"], ["b", "b"]])
    times = np.array([1.0, math.nan, 3.0, math.nan, 100.0, -1.0, math.inf, math.nan])
    found = diagnosis_of(ratings, lead_times=times)
    assert (rater(found, 0).seconds, rater(found, 0).n_timed) == (3.0, 3)
    assert (rater(found, 1).seconds, rater(found, 1).n_timed) == (None, 0)


def test_times_that_do_not_fit_the_ratings_are_refused() -> None:
    with pytest.raises(ValueError, match="one number for each of 2 ratings"):
        diagnosis_of(Ratings.from_wide([["a", "b"]]), lead_times=np.array([1.0]))


def test_likeness_to_oneself() -> None:
    ratings = Ratings.from_wide([["a", "b"], ["a", "a"], [None, "a"]], rater_ids=["x", "y"])
    repeats = [(0, "x", "a"), (0, "x", "b"), (1, "x", "a"), (1, "y", "b"), (2, "x", "a"), (9, "x", "a"), (0, "q", "a")]
    found = diagnosis_of(ratings, repeats=repeats)
    assert rater(found, "x").repeated == 3
    assert rater(found, "x").repeated_alike == pytest.approx(2 / 3)
    assert (rater(found, "y").repeated, rater(found, "y").repeated_alike) == (1, 0.0)


def test_the_strongest_conflicts_lead_to_the_threshold() -> None:
    """30 units agreed, 10 in conflict: alpha .506, and with them resolved one by one up to 1."""
    rows = [["a", "a"]] * 15 + [["b", "b"]] * 15 + [["a", "b"]] * 10
    way = diagnosis_of(Ratings.from_wide(rows), threshold=0.8).way_to_threshold
    assert way is not None
    assert (way.n_conflicts, way.n_units) == (10, 40)
    assert way.needed == 7
    assert way.alpha_then is not None
    assert way.alpha_then >= 0.8
    assert dict(way.curve)[0] == way.alpha
    assert dict(way.curve)[10] == 1.0
    assert [(pair.a, pair.b) for pair in way.pairs] == [("a", "b")]
    assert way.pairs[0].cost == pytest.approx(1 - way.alpha)


def test_a_threshold_that_is_reached_and_one_that_cannot_be() -> None:
    rows = [["a", "a"]] * 15 + [["b", "b"]] * 15 + [["a", "b"]] * 2
    reached = diagnosis_of(Ratings.from_wide(rows), threshold=0.7).way_to_threshold
    assert reached is not None
    assert (reached.needed, reached.alpha_then) == (0, reached.alpha)
    # once resolved, everything is "a": nothing varies and there is no alpha left to reach anything
    hopeless = diagnosis_of(Ratings.from_wide([["a", "a"]] * 20 + [["a", "b"]]), threshold=0.7).way_to_threshold
    assert hopeless is not None
    assert (hopeless.needed, hopeless.alpha_then) == (None, None)
    assert hopeless.curve[-1] == (1, None)


def test_units_are_listed_up_to_a_hundred_the_costliest_first() -> None:
    rows = [["a", "b", "c"]] + [["a", "a", "b"]] * 300 + [["a", "a", "a"], ["b", "b", "b"]] * 200
    found = diagnosis_of(Ratings.from_wide(rows))
    assert len(found.units_by_disagreement) == 100
    assert [one.unit for one in found.units_by_disagreement[:3]] == [0, 1, 2]
    costs = [one.cost for one in found.units_by_disagreement]
    assert costs == sorted(costs, reverse=True)
    influences = [one.influence for one in found.units_by_influence]
    assert all(one is not None and one > 0 for one in influences)
    assert influences == sorted(influences, key=lambda one: -(one or 0.0))


DEGENERATE: list[Any] = [
    [],
    [[None, None]],
    [["a", None]],
    [["a"], ["b"]],
    [["a", "a"], ["a", "a"]],
    [["a", "a"], ["b", None]],
    [["a", "b"]],
]


@pytest.mark.parametrize("rows", DEGENERATE)
@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
def test_bad_data_gives_reasons_and_plain_json(rows: Any, level: str) -> None:
    rows = [[None if v is None else {"a": 1.0, "b": 2.0}[v] for v in row] for row in rows]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ratings = Ratings.from_wide(rows)
        body = assess(QuestionRatings("q", "choice", ratings, level, gold={0: 1.0})).to_json()["questions"]["q"]
    json.loads(json.dumps(body, allow_nan=False))
    if body["coefficients"]["krippendorff_alpha"]["value"] is None:
        assert body["way_to_threshold"] is None
        assert body["units_by_influence"] == body["units_by_disagreement"] == []
        assert all(one["alpha_without"] is None and one["cost"] is None for one in body["raters"])


def test_text_at_a_numeric_level_has_raters_but_no_alpha() -> None:
    ratings = Ratings.from_wide([["low", "high"], ["low", "low"]])
    body = report_of(ratings, level="interval", gold={0: "low"}).to_json()
    assert body["coefficients"]["krippendorff_alpha"]["reason"] == "wrong_level"
    assert [one["gold"]["accuracy"] for one in body["raters"]] == [1.0, 0.0]
    json.dumps(body, allow_nan=False)


def test_nothing_is_diagnosed_unless_wanted() -> None:
    report = assess(Ratings.from_wide([["a", "b"], ["a", "a"]]), diagnose=False)
    assert report.questions["value"].diagnosis is None
    assert "raters" not in report.to_json()["questions"]["value"]


def test_a_crowd_is_listed_up_to_a_bound() -> None:
    random = np.random.default_rng(8)
    units = np.repeat(np.arange(3_000), 3)
    raters = random.integers(0, 900, len(units))
    keep = np.unique(units * 900 + raters, return_index=True)[1]
    values = random.integers(0, 4, len(units))
    ratings = Ratings.from_codes(units[keep], raters[keep], values[keep])
    found = diagnosis_of(ratings)
    assert len(found.raters) == len(np.unique(raters[keep]))
    body = report_of(ratings).to_json()
    assert (len(body["raters"]), body["raters_left_out"]) == (200, len(found.raters) - 200)
    assert len(body["rater_pairs"]) + body["rater_pairs_left_out"] == len(found.rater_pairs)
    one = found.raters[0]
    others = np.flatnonzero(ratings.raters != one.rater)
    without = Ratings.from_codes(ratings.units[others], ratings.raters[others], ratings.values[others])
    assert one.alpha_without == pytest.approx(assess(without, confidence=None).questions["value"].alpha.value)


def test_as_many_values_as_ratings_make_no_table_of_pairs() -> None:
    """40,000 distinct values: a number for each pair of them would be 13 GB."""
    n = 20_000
    ratings = Ratings.from_codes(np.repeat(np.arange(n), 2), np.tile([0, 1], n), np.arange(2 * n))
    found = diagnosis_of(ratings)
    assert found.rater_pairs == []
    assert found.way_to_threshold is not None
    assert found.way_to_threshold.needed is not None


def test_wilson_never_leaves_the_shares() -> None:
    assert wilson(0, 5)[0] == 0.0
    assert wilson(5, 5)[1] == 1.0
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)  # Newcombe (1998), table I


def test_dawid_skene_says_whether_it_came_to_rest() -> None:
    random = np.random.default_rng(1)
    truth = random.integers(0, 3, (200, 1))
    table = np.where(random.random((200, 5)) < 0.7, truth, random.integers(0, 3, (200, 5)))
    found = dawid_skene(Ratings.from_wide(table))
    assert found.converged
    assert 1 < found.iterations < 500
    assert np.mean([label == one for label, one in zip(found.labels, truth[:, 0].tolist(), strict=True)]) > 0.9
    assert found.probabilities.sum(axis=1) == pytest.approx(np.ones(200))
    cut = dawid_skene(Ratings.from_wide(table), iterations=2)
    assert (cut.converged, cut.iterations) == (False, 2)
    assert cut.log_likelihood < found.log_likelihood


def test_dawid_skene_trusts_the_raters_who_agree_with_the_others() -> None:
    """Two careful raters outvote three who always say the same."""
    random = np.random.default_rng(6)
    truth = random.integers(0, 2, 400)
    careful = [np.where(random.random(400) < 0.95, truth, 1 - truth) for _ in range(3)]
    lazy = [np.zeros(400, dtype=np.int64) for _ in range(4)]
    ratings = Ratings.from_wide(np.stack([*careful, *lazy], axis=1))
    found = dawid_skene(ratings)
    right = np.mean(np.array(found.labels) == truth)
    by_majority = np.mean(np.array(assess(ratings).questions["value"].units.majority) == truth)
    assert right > 0.97
    assert by_majority < 0.6


def test_dawid_skene_names_a_tie() -> None:
    found = dawid_skene(Ratings.from_wide([["a", "b"], ["b", "a"], [None, None]]))
    assert found.labels == [None, None, None]
    assert found.tied == [True, True, False]


def test_dawid_skene_refuses_what_memory_cannot_hold() -> None:
    with pytest.raises(ValueError, match="too many"):
        dawid_skene(Ratings.from_codes(range(3_000), [0] * 3_000, range(3_000)))
