"""Intervals are of the data, not of names and orders: resamples stay the same when labels, units or raters change."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connector import Ratings, krippendorff_alpha
from connector.agreement.gwet import brennan_prediger, conger_kappa, fleiss_kappa, gwet_ac1
from connector.agreement.intervals import Coefficient
from connector.agreement.kappa import cohen_kappa, percent_agreement, scott_pi
from connector.agreement.patterns import MOST_ORDERED, Patterns, fold, in_own_order

LABELS = np.array(["a", "b", "c", "d"])
OF = {
    "krippendorff_alpha": lambda ratings: krippendorff_alpha(ratings, confidence=0.95),
    "percent_agreement": lambda ratings: percent_agreement(fold(ratings), 0.95),
    "fleiss_kappa": lambda ratings: fleiss_kappa(ratings, 0.95),
    "conger_kappa": lambda ratings: conger_kappa(ratings, 0.95),
    "brennan_prediger": lambda ratings: brennan_prediger(ratings, 0.95),
    "gwet_ac1": lambda ratings: gwet_ac1(ratings, 0.95),
    "cohen_kappa": lambda ratings: cohen_kappa(ratings, 0.95),
    "scott_pi": lambda ratings: scott_pi(ratings, 0.95),
}


def table(seed: int, width: int) -> Any:
    random = np.random.default_rng(seed)
    truth = random.choice(4, (160, 1), p=[0.4, 0.3, 0.2, 0.1])
    said = np.where(random.random((160, width)) < 0.6, truth, random.integers(0, 4, (160, width)))
    cells = LABELS[said].astype(object)
    if width > 2:
        cells[random.random((160, width)) < 0.2] = None
    return cells


def same(found: Coefficient, other: Coefficient) -> None:
    assert found.interval is not None
    assert other.interval is not None
    assert found.interval.method == other.interval.method == "bootstrap"
    assert other.value == pytest.approx(found.value, abs=1e-12)
    assert (other.low, other.high) == pytest.approx((found.low, found.high), abs=1e-12)


@pytest.mark.parametrize("name", OF)
@given(
    seed=st.integers(0, 10_000),
    labels=st.permutations(LABELS.tolist()),
    shuffle=st.integers(0, 10_000),
)
@settings(max_examples=15, deadline=None)
def test_relabelled_and_shuffled_data_have_the_same_interval(
    name: str, seed: int, labels: list[str], shuffle: int
) -> None:
    width = 2 if name in ("cohen_kappa", "scott_pi") else 4
    cells = table(seed, width)
    renamed = dict(zip(LABELS.tolist(), labels, strict=True))
    random = np.random.default_rng(shuffle)
    again = np.array(
        [[None if cell is None else renamed[cell] for cell in row] for row in cells.tolist()], dtype=object
    )
    again = again[random.permutation(len(again))][:, random.permutation(width)]
    same(OF[name](Ratings.from_wide(cells)), OF[name](Ratings.from_wide(again)))


@given(seed=st.integers(0, 10_000), shuffle=st.integers(0, 10_000))
@settings(max_examples=10, deadline=None)
def test_an_array_and_its_long_form_and_declared_categories_have_the_same_interval(seed: int, shuffle: int) -> None:
    cells = table(seed, 4)
    numbers = np.array([[np.nan if cell is None else "abcd".index(cell) for cell in row] for row in cells.tolist()])
    order = np.random.default_rng(shuffle).permutation(LABELS).tolist()
    found = krippendorff_alpha(numbers, confidence=0.95)
    same(found, krippendorff_alpha(Ratings.from_wide(cells), confidence=0.95))
    same(found, krippendorff_alpha(Ratings.from_wide(cells, categories=order), confidence=0.95))
    units, raters = np.nonzero(~np.isnan(numbers))
    codes = Ratings.from_codes(units, raters, numbers[units, raters].astype(np.int8))
    same(found, krippendorff_alpha(codes, confidence=0.95))


@given(seed=st.integers(0, 10_000))
@settings(max_examples=20, deadline=None)
def test_the_own_order_moves_rows_and_nothing_else(seed: int) -> None:
    ratings = Ratings.from_wide(table(seed, 4))
    plain, own = fold(ratings, drawn=False), fold(ratings)
    assert own.n_units == plain.n_units
    assert (np.diff(own.row * own.n_values + own.col) > 0).all(), "sorted by row and value"
    for unit in range(len(ratings.unit_ids)):
        seen = []
        for patterns in (plain, own):
            row = patterns.index[unit]
            entries = patterns.row == row
            shown = sorted(zip(patterns.col[entries].tolist(), patterns.n[entries].tolist(), strict=True))
            seen.append(
                (shown, int(patterns.size[row]) if row >= 0 else 0, int(patterns.weights[row]) if row >= 0 else 0)
            )
        assert seen[0] == seen[1]
    again = in_own_order(own)
    assert (again.row == own.row).all()
    assert (again.col == own.col).all()


def test_patterns_too_many_to_be_drawn_stay_as_they_are() -> None:
    n = MOST_ORDERED + 1
    ones = np.ones(n, dtype=np.int64)
    many = Patterns(np.arange(n), np.arange(n), ones, ones, ones, n, np.arange(n))
    assert in_own_order(many) is many
