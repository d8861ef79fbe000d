from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from connector import Ratings, krippendorff_alpha, paired_difference
from connector.agreement.comparison import COMPARABLE
from connector.agreement.gwet import fleiss_kappa
from connector.agreement.kappa import cohen_kappa

Table = list[list[Any]]


def raters(seed: int, units: int, skill: float, width: int = 3) -> np.ndarray[Any, np.dtype[np.float64]]:
    random = np.random.default_rng(seed)
    truth = np.random.default_rng(99).integers(0, 3, (units, 1))
    guess = random.integers(0, 3, (units, width))
    return np.where(random.random((units, width)) < skill, truth, guess).astype(float)


def test_the_difference_is_of_the_two_coefficients() -> None:
    before, after = raters(1, 300, 0.7), raters(2, 300, 0.9)
    found = paired_difference(before, after)
    assert found.a == pytest.approx(krippendorff_alpha(before).value)
    assert found.b == pytest.approx(krippendorff_alpha(after).value)
    assert found.a is not None
    assert found.b is not None
    assert found.value == pytest.approx(found.b - found.a)
    assert found.low is not None
    assert found.high is not None
    assert found.value is not None
    assert 0 < found.low < found.value < found.high
    assert found.p is not None
    assert 0 < found.p < 0.01
    assert (found.method, found.n_units) == ("bootstrap", 300)
    json.dumps(found.to_json(), allow_nan=False)


def test_the_other_way_round_it_is_the_negative() -> None:
    before, after = raters(1, 300, 0.8), raters(2, 300, 0.85)
    there, back = paired_difference(before, after), paired_difference(after, before)
    assert there.value == pytest.approx(-(back.value or 0))
    assert (there.low, there.high) == pytest.approx((-(back.high or 0), -(back.low or 0)), abs=0.02)
    assert there.p == pytest.approx(back.p, abs=0.1)


def test_the_same_table_twice_does_not_differ() -> None:
    for units in (60, 300):
        table = raters(1, units, 0.8)
        found = paired_difference(table, table)
        assert (found.value, found.low, found.p) == (0.0, None, None)


def test_pairing_makes_it_narrower_than_two_samples() -> None:
    """Two raters of the three are the same on both sides: the difference varies far less than either coefficient."""
    table = raters(3, 400, 0.8)
    with_one, without = Ratings.from_wide(table), Ratings.from_wide(table[:, :2])
    found = paired_difference(with_one, without)
    apart = [krippendorff_alpha(one, confidence=0.95) for one in (with_one, without)]
    squares = [(one.interval.high - one.interval.low) ** 2 for one in apart if one.interval]
    assert found.low is not None
    assert found.high is not None
    assert found.high - found.low < 0.8 * sum(squares) ** 0.5


def test_units_are_matched_by_their_id() -> None:
    units = [f"u{place}" for place in range(120)]
    before, after = raters(1, 120, 0.7), raters(2, 120, 0.9)
    order = np.random.default_rng(0).permutation(120)
    straight = paired_difference(Ratings.from_wide(before, unit_ids=units), Ratings.from_wide(after, unit_ids=units))
    shuffled = Ratings.from_wide(after[order], unit_ids=[units[place] for place in order])
    again = paired_difference(Ratings.from_wide(before, unit_ids=units), shuffled)
    assert again == straight


@pytest.mark.parametrize("coefficient", COMPARABLE)
def test_units_of_one_side_alone_are_left_out_of_both(coefficient: str) -> None:
    """The same ratings cannot differ from themselves, however hard the units are that the other side did not rate."""
    easy, hard = raters(1, 100, 0.95, 2), raters(2, 60, 0.0, 2)
    both, one = [f"u{place}" for place in range(100)], [f"v{place}" for place in range(60)]
    all_units = Ratings.from_wide(np.vstack([hard, easy]), unit_ids=one + both)
    some = all_units.restrict(both)
    alone = paired_difference(some, some, "ordinal", coefficient=coefficient)
    for a, b in ((all_units, some), (some, all_units)):
        found = paired_difference(a, b, "ordinal", coefficient=coefficient)
        assert (found.value, found.p) == (0.0, None)
        assert (found.a, found.b) == (alone.a, alone.b)
        assert (found.n_units, found.n_common, found.n_left_out) == (160, 100, 60)
        assert found.to_json()["n_left_out"] == 60


def test_a_unit_with_one_rating_on_a_side_is_left_out_of_both() -> None:
    """Without the third rater the last 40 units have one rating: on the other 80 nothing changed."""
    table = raters(1, 120, 0.8)
    table[:80, 2], table[80:, 1] = np.nan, np.nan
    ratings = Ratings.from_wide(table, rater_ids=["ann", "bob", "cy"])
    found = paired_difference(ratings, ratings.without(["cy"]))
    assert found.a == found.b == pytest.approx(krippendorff_alpha(table[:80, :2]).value)
    assert (found.value, found.n_units, found.n_common) == (0.0, 120, 80)


def test_two_coefficients_stand_on_the_same_units() -> None:
    """Alpha does not see units with one rating; Fleiss' shares would."""
    table = raters(1, 120, 0.8)
    alone = np.full((60, 3), np.nan)
    alone[:, 0] = 2
    found = paired_difference(table, table, other="fleiss_kappa")
    more = np.vstack([table, alone])
    with_alone = paired_difference(more, more, other="fleiss_kappa")
    assert (with_alone.a, with_alone.b, with_alone.low) == (found.a, found.b, found.low)
    assert (with_alone.n_common, with_alone.n_left_out) == (120, 60)


def test_few_units_take_the_jackknife_with_students_t() -> None:
    found = paired_difference(raters(1, 40, 0.6), raters(2, 40, 0.9))
    assert found.method == "jackknife"
    assert found.value is not None
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.value < found.high
    by_hand = [
        (krippendorff_alpha(np.delete(raters(2, 40, 0.9), i, 0)).value or 0)
        - (krippendorff_alpha(np.delete(raters(1, 40, 0.6), i, 0)).value or 0)
        for i in range(40)
    ]
    error = float(np.sqrt(39 / 40 * ((np.array(by_hand) - np.mean(by_hand)) ** 2).sum()))
    # Student's t with 39 degrees of freedom
    assert found.high - found.value == pytest.approx(2.0227 * error, rel=1e-4)


def test_it_errs_as_often_as_it_says() -> None:
    """No difference in truth: p under .1 in about a tenth of 200 samples."""
    low = sum((paired_difference(raters(i, 120, 0.8), raters(10_000 + i, 120, 0.8)).p or 1) < 0.1 for i in range(200))
    # four standard errors: 20 +- 17
    assert 3 <= low <= 37


@pytest.mark.parametrize(
    "coefficient",
    COMPARABLE[1:],
)
def test_every_coefficient_resamples_itself(coefficient: str) -> None:
    before, after = raters(1, 150, 0.6, 2), raters(2, 150, 0.95, 2)
    found = paired_difference(before, after, "ordinal", coefficient=coefficient)
    assert found.value is not None
    assert found.low is not None
    assert found.high is not None
    assert 0 < found.low < found.value < found.high
    again = paired_difference(before, before, "ordinal", coefficient=coefficient)
    assert (again.value, again.low) == (0.0, None)


def test_two_coefficients_of_one_table() -> None:
    table = Ratings.from_wide(raters(5, 200, 0.8, 2))
    found = paired_difference(table, table, coefficient="cohen_kappa", other="fleiss_kappa")
    assert found.a == pytest.approx(cohen_kappa(table).value)
    assert found.b == pytest.approx(fleiss_kappa(table).value)
    assert found.high is not None
    # Scott's chance agreement is never below Cohen's
    assert found.value is not None
    assert found.value < 0
    assert found.high <= 0


def test_many_distinct_numbers_by_level() -> None:
    random = np.random.default_rng(2)
    truth = random.normal(0, 1, (150, 1))
    rough, fine = truth + random.normal(0, 1, (150, 3)), truth + random.normal(0, 0.2, (150, 3))
    found = paired_difference(rough, fine, "interval")
    assert found.low is not None
    assert found.low > 0.2


@pytest.mark.parametrize(
    ("before", "reason"),
    [([["a", "a"], ["a", "a"]], "no_variation"), ([["a", None], [None, "b"]], "no_pairable_units")],
)
def test_an_undefined_side_says_why(before: Table, reason: str) -> None:
    found = paired_difference(before, [["a", "b"], ["b", "b"]])
    assert (found.value, found.low, found.p, found.reason) == (None, None, None, reason)
    json.dumps(found.to_json(), allow_nan=False)


def test_no_unit_in_common_is_no_pair() -> None:
    table = raters(1, 120, 0.8)
    other = Ratings.from_wide(table, unit_ids=[f"v{place}" for place in range(120)])
    found = paired_difference(table, other)
    assert (found.value, found.reason, found.n_units, found.n_common) == (None, "no_common_units", 240, 0)
    assert (found.a, found.b) == (None, None)
    # each side has units with two ratings, but not the same ones
    halves = table[:, :2].copy(), table[:, :2].copy()
    halves[0][:60, 0], halves[1][60:, 0] = np.nan, np.nan
    found = paired_difference(*halves)
    assert (found.value, found.reason, found.n_units, found.n_common) == (None, "no_common_units", 120, 0)


def test_many_distinct_units_by_the_infinitesimal_jackknife_as_by_the_bootstrap(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    random = np.random.default_rng(2)
    truth = random.normal(0, 1, (1_700, 1))
    rough, fine = truth + random.normal(0, 1, (1_700, 3)), truth + random.normal(0, 0.9, (1_700, 3))
    for coefficient in ("krippendorff_alpha", "percent_agreement"):
        linear = paired_difference(rough, fine, "interval", coefficient=coefficient)
        if coefficient == "percent_agreement":
            assert (linear.value, linear.p) == (0.0, None)
            continue
        assert linear.method == "infinitesimal_jackknife"
        monkeypatch.setattr("connector.agreement.comparison.MOST_CELLS", 10_000)
        drawn = paired_difference(rough, fine, "interval")
        assert drawn.method == "bootstrap"
        assert linear.value == drawn.value
        assert (linear.low, linear.high) == pytest.approx((drawn.low, drawn.high), abs=0.004)


def test_without_a_rater() -> None:
    table = raters(3, 200, 0.9)
    table[:, 2] = np.random.default_rng(8).integers(0, 3, 200)
    ratings = Ratings.from_wide(table, rater_ids=["ann", "bob", "cy"])
    fewer = ratings.without(["cy"])
    assert fewer.wide() == [[*row[:2], None] for row in ratings.wide()]
    found = paired_difference(ratings, fewer)
    assert found.b == pytest.approx(krippendorff_alpha(table[:, :2]).value)
    assert found.low is not None
    assert found.low > 0.2


def test_declared_order_and_numbers_are_the_same_scale_on_both_sides() -> None:
    """Weighted coefficients by the declared order, which a side may use in part only."""
    order = ["low", "mid", "high"]
    names = np.array(order)
    before, after = raters(1, 150, 0.5, 2).astype(int), raters(2, 150, 0.95, 2).astype(int)
    sides = [Ratings.from_wide(names[side].tolist(), categories=order) for side in (before, after)]
    for coefficient in ("weighted_kappa", "weighted_kappa_linear", "gwet_ac2", "krippendorff_alpha"):
        named = paired_difference(sides[0], sides[1], "ordinal", coefficient=coefficient)
        numbered = paired_difference(before, after, "ordinal", coefficient=coefficient)
        assert named.value == pytest.approx(numbered.value, abs=1e-12), coefficient
        assert named.low == pytest.approx(numbered.low, abs=1e-12), coefficient
    text = paired_difference(names[before].tolist(), names[after].tolist(), coefficient="gwet_ac2")
    assert (text.value, text.reason) == (None, "wrong_level")


def test_one_unit_and_unknown_names() -> None:
    assert paired_difference([["a", "b"]], [["b", "a"]]).p is None
    with pytest.raises(ValueError, match="no paired difference"):
        paired_difference([["a", "b"]], [["b", "a"]], coefficient="kappa")
    with pytest.raises(ValueError, match="confidence"):
        paired_difference([["a", "b"]], [["b", "a"]], confidence=95)
