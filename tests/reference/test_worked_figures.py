"""Worked figures from texts that people learn agreement from, rebuilt from their counts."""

from __future__ import annotations

import pytest

from connector import Ratings, assess
from connector.agreement.kappa import cohen_kappa, fleiss_kappa
from connector.agreement.patterns import fold
from tests.reference.support import square


def test_nine_of_ten_alike_and_kappa_point_two() -> None:
    """900 of 1,000 alike; each rater said "complaint" 67 times, only 17 of them together."""
    report = assess(square([[17, 50], [50, 883]], "CO")).questions["value"]
    kappa = report.coefficients["cohen_kappa"]
    assert report.coefficients["percent_agreement"].value == pytest.approx(0.900)
    assert kappa.value == pytest.approx(0.2001, abs=5e-5)
    assert kappa.observed == pytest.approx(0.900)
    assert kappa.expected == pytest.approx(0.874978, abs=5e-7)
    rare, common = report.categories
    assert rare.specific_agreement == pytest.approx(0.2537, abs=5e-5)
    assert common.specific_agreement == pytest.approx(0.9464, abs=5e-5)


def test_two_raters_at_ninety_ten_agree_by_chance() -> None:
    assert cohen_kappa(square([[81, 9], [9, 1]], "AB")).expected == pytest.approx(0.82)


def test_twenty_restaurants() -> None:
    kappa = cohen_kappa(square([[10, 2], [2, 6]], "GB"))
    assert kappa.observed == pytest.approx(0.8)
    assert kappa.expected == pytest.approx(0.52)
    assert kappa.value == pytest.approx(0.583, abs=5e-4)


def test_twenty_reviews() -> None:
    assert cohen_kappa(square([[8, 3], [3, 6]], "PN")).value == pytest.approx(0.3939, abs=5e-5)


def test_four_units_three_raters() -> None:
    units = [["a", "a", "a"], ["a", "a", "a"], ["b", "b", "b"], ["a", "a", "b"]]
    assert fleiss_kappa(fold(Ratings.from_wide(units))).value == pytest.approx(0.6250)


@pytest.mark.parametrize(("cells", "expected"), [([[2, 8], [8, 782]], 0.19), ([[0, 1], [1, 98]], -0.01)])
def test_kappa_paradox_at_98_percent(cells: list[list[int]], expected: float) -> None:
    kappa = cohen_kappa(square(cells, "AB"))
    assert kappa.observed == pytest.approx(0.98)
    assert kappa.value == pytest.approx(expected, abs=5e-3)


def test_disagreement_by_pair_of_categories() -> None:
    """600 tickets: agreement .7683, kappa .6477, and two pairs of categories that hold all 139 disagreements."""
    # Complaint, Refund, Enquiry, Other
    report = assess(square([[22, 42, 0, 0], [46, 65, 0, 0], [0, 0, 282, 51], [0, 0, 0, 92]], "CREO")).questions["value"]
    assert report.coefficients["percent_agreement"].value == pytest.approx(0.7683, abs=5e-5)
    assert report.coefficients["cohen_kappa"].value == pytest.approx(0.6477, abs=5e-5)
    assert [(pair.a, pair.b, pair.n) for pair in report.pairs] == [("C", "R", 88), ("E", "O", 51)]
    assert [pair.share for pair in report.pairs] == [pytest.approx(0.633, abs=5e-4), pytest.approx(0.367, abs=5e-4)]
    # the text gives each class's kappa against the rest; alpha's small-sample term and common shares move it a little
    one_vs_rest = {one.category: one.one_vs_rest for one in report.categories}
    assert one_vs_rest == pytest.approx({"E": 0.8311, "C": 0.2510, "R": 0.5068, "O": 0.7332}, abs=3e-3)
