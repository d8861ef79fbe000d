"""Worked figures from texts that people learn agreement from, rebuilt from their counts."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.stats.inter_rater import fleiss_kappa as statsmodels_fleiss

from connector import QuestionRatings, Ratings, assess, krippendorff_alpha
from connector.agreement.gwet import fleiss_kappa
from connector.agreement.kappa import cohen_kappa, weighted_kappa
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
    assert fleiss_kappa(Ratings.from_wide(units)).value == pytest.approx(0.6250)


@pytest.mark.parametrize(("cells", "expected"), [([[2, 8], [8, 782]], 0.19), ([[0, 1], [1, 98]], -0.01)])
def test_kappa_paradox_at_98_percent(cells: list[list[int]], expected: float) -> None:
    kappa = cohen_kappa(square(cells, "AB"))
    assert kappa.observed == pytest.approx(0.98)
    assert kappa.value == pytest.approx(expected, abs=5e-3)


def test_five_point_ratings_of_400_items() -> None:
    """NumPy's default_rng(3): two raters who add -1, 0, 0, 0 or 1 to a true rating from 1 to 5."""
    random = np.random.default_rng(3)
    truth = random.integers(1, 6, 400)
    first, second = (np.clip(truth + random.choice([-1, 0, 0, 0, 1], 400), 1, 5) for _ in range(2))
    ratings = Ratings.from_wide(np.column_stack([first, second]))
    assert cohen_kappa(ratings).value == pytest.approx(0.3964, abs=5e-5)
    assert weighted_kappa(ratings, "linear").value == pytest.approx(0.6747, abs=5e-5)
    assert weighted_kappa(ratings, "quadratic").value == pytest.approx(0.8510, abs=5e-5)
    report = assess(QuestionRatings("stars", "rating", ratings, level="ordinal")).questions["stars"]
    assert report.coefficients["weighted_kappa"].value == pytest.approx(0.8510, abs=5e-5)
    assert report.coefficients["weighted_kappa_linear"].value == pytest.approx(0.6747, abs=5e-5)


def test_twenty_units_five_raters() -> None:
    """Fleiss .757: the text's own table is not public; this one of its shape has its value, by statsmodels too."""
    counts = [
        *([5, 0, 0], [5, 0, 0], [5, 0, 0], [5, 0, 0], [4, 1, 0], [4, 1, 0], [3, 2, 0], [2, 0, 3], [0, 5, 0], [0, 5, 0]),
        *([0, 5, 0], [0, 5, 0], [0, 5, 0], [0, 5, 0], [0, 3, 2], [0, 3, 2], [0, 0, 5], [0, 0, 5], [0, 0, 5], [0, 0, 5]),
    ]
    units = [[label for label, n in zip("abc", row, strict=True) for _ in range(n)] for row in counts]
    found = fleiss_kappa(Ratings.from_wide(units))
    assert found.value == pytest.approx(0.757, abs=5e-4)
    assert found.reason is None
    assert statsmodels_fleiss(np.array(counts)) == pytest.approx(0.757, abs=5e-4)


def test_twelve_ragged_units() -> None:
    """Alpha .7071 by coincidences: n 30, counts 13, 8 and 9, D 6, so 1 - 29 x 6 / 594 = 70 / 99; likewise not the
    text's own table."""
    units = ["aa", "bb", "bcb", "bbb", "a", "ccc", "baaa", "aa", "ccc", "cccc", "aa", "cb"]
    found = krippendorff_alpha([[*unit, *[None] * (4 - len(unit))] for unit in units])
    assert found.value == pytest.approx(0.7071, abs=5e-5)
    assert found.value == pytest.approx(70 / 99, abs=1e-12)
    ragged = fleiss_kappa(Ratings.from_wide([[*unit, *[None] * (4 - len(unit))] for unit in units]))
    assert ragged.reason == "ragged", "Fleiss is never forced on it without a word"


def test_several_figures_at_98_percent() -> None:
    """Shares 98.75/1.25: percent .98 and kappa .2 beside PABAK (Po - 1/m) / (1 - 1/m) and AC1, which say otherwise."""
    report = assess(square([[2, 8], [8, 782]], "AB")).questions["value"]
    assert report.coefficients["percent_agreement"].value == pytest.approx(0.98)
    assert report.coefficients["brennan_prediger"].value == pytest.approx((0.98 - 1 / 2) / (1 - 1 / 2))
    assert report.coefficients["gwet_ac1"].value == pytest.approx(0.98, abs=0.005)
    assert [one.share for one in report.categories] == pytest.approx([0.0125, 0.9875])


def test_guessing_raters_score_high_without_a_correction_for_prevalence() -> None:
    """Shares 90/5/5, raters who draw from the shares: alpha 0, AC1 .796, Brennan-Prediger .722."""
    shares = [0.90, 0.05, 0.05]
    cells = [[round(400 * a * b) for b in shares] for a in shares]
    report = assess(square(cells, "ABC")).questions["value"]
    assert report.alpha.value == pytest.approx(0, abs=0.002)
    assert report.coefficients["gwet_ac1"].value == pytest.approx(0.796, abs=5e-4)
    assert report.coefficients["brennan_prediger"].value == pytest.approx(0.722, abs=5e-4)


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
