from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from connector import Interval, Ratings, assess, krippendorff_alpha
from connector.agreement.alpha import alpha_statistic, prepare
from connector.agreement.gwet import fleiss_kappa, gwet_ac1
from connector.agreement.intervals import bootstrap
from connector.agreement.kappa import scott_pi
from connector.agreement.ratings import Level

SPLIT: list[list[Any]] = [["a", "a"]] * 60 + [["b", "b"]] * 60


def interval(rows: list[list[Any]], confidence: float = 0.95, **more: Any) -> Interval:
    found = krippendorff_alpha(rows, confidence=confidence, **more).interval
    assert found is not None
    return found


@pytest.mark.parametrize("conflicts", [0, 1])
@pytest.mark.parametrize("units", [[["a", "a"]] * 20 + [["b", "b"]] * 20, SPLIT])
def test_disagreement_in_at_most_one_task_gets_one_conflict_more(units: list[list[Any]], conflicts: int) -> None:
    found = interval(units + [["a", "b"]] * conflicts)
    assert found.added_conflict
    assert found.low < 0.99
    assert found.high == 1.0 if not conflicts else found.high <= 1.0


def test_two_conflicts_stand_for_themselves() -> None:
    assert not interval([*SPLIT, ["a", "b"], ["b", "a"]]).added_conflict


def test_the_added_conflict_is_between_the_two_commonest_categories() -> None:
    """With a third, rare category the interval is that of the data with one (a, b) unit more."""
    rows = [["a", "a"]] * 30 + [["b", "b"]] * 25 + [["c", "c"]] * 4
    with_one = krippendorff_alpha([*rows, ["a", "b"], ["a", "b"]], confidence=0.95)
    found = interval([*rows, ["a", "b"]])
    assert with_one.interval is not None
    assert found.low == pytest.approx(with_one.interval.low)
    assert found.high >= with_one.interval.high


def test_few_tasks_take_the_jackknife_and_many_the_bootstrap() -> None:
    mixed = [["a", "a"], ["a", "b"], ["b", "b"]]
    assert interval(mixed * 33).method == "jackknife"
    found = interval(mixed * 34, seed=5)
    assert (found.method, found.replicates, found.seed) == ("bootstrap", 2000, 5)


def test_the_seed_decides_the_draw() -> None:
    mixed = [["a", "a"], ["a", "b"], ["b", "b"]] * 40
    assert interval(mixed, seed=1) == interval(mixed, seed=1)
    assert interval(mixed, seed=1) != interval(mixed, seed=2)


def test_more_confidence_is_wider() -> None:
    for rows in (SPLIT + [["a", "b"]] * 20, SPLIT[40:80] + [["a", "b"]] * 5):
        widths = [one.high - one.low for one in (interval(rows, c) for c in (0.5, 0.9, 0.99))]
        assert widths == sorted(widths)
        assert widths[0] < widths[-1]


def test_the_interval_covers_a_known_alpha() -> None:
    """Raters who know the truth with probability sqrt(.7) and else draw from the shares agree at alpha .7."""
    random = np.random.default_rng(8)
    hits = 0
    for _ in range(120):
        truth = random.integers(0, 3, (150, 1))
        data = np.where(random.random((150, 3)) < np.sqrt(0.7), truth, random.integers(0, 3, (150, 3)))
        found = interval(data.tolist())
        hits += found.low <= 0.7 <= found.high
    # 95% of 120 is 114; 105 is four standard errors below
    assert hits >= 105


def test_numbers_too_many_to_fold_are_resampled_too() -> None:
    random = np.random.default_rng(9)
    truth = random.normal(0, 1, (300, 1))
    data = truth + random.normal(0, 0.5, (300, 3))
    for level in ("interval", "ordinal"):
        found = krippendorff_alpha(data, level, 0.95)
        assert found.interval is not None
        assert found.interval.low < (found.value or 0) < found.interval.high
        assert 0.02 < found.interval.high - found.interval.low < 0.2


def test_one_agreement_more_where_nobody_agreed_on_a_rare_category() -> None:
    """98 tasks alike and 2 conflicts: alpha is about 0, but what the raters do on the rare category nobody has seen."""
    skewed = [["a", "a"]] * 98 + [["a", "b"], ["b", "a"]]
    found = interval(skewed)
    assert (found.method, found.added_agreement, found.added_conflict) == ("jackknife", True, False)
    assert found.low < 0.05
    assert found.high > 0.7
    # one agreement seen, or as many of either category, and nothing is added
    assert not interval([*skewed, ["b", "b"]]).added_agreement
    assert not interval([["a", "b"], ["b", "a"], ["b", "b"]] * 5).added_agreement


def test_a_rare_category_takes_the_jackknife_however_many_the_tasks() -> None:
    rare = [["a", "a"]] * 960 + [["b", "b"]] * 30 + [["a", "b"]] * 10
    assert interval(rare).method == "jackknife"
    assert interval(rare * 2).method == "bootstrap"


def test_many_patterns_take_the_infinitesimal_jackknife_which_agrees_with_the_bootstrap() -> None:
    random = np.random.default_rng(9)
    truth = random.normal(0, 1, (1_600, 1))
    data = truth + random.normal(0, 0.5, (1_600, 3))
    for level in ("interval", "ordinal"):
        found = krippendorff_alpha(data, level, 0.95).interval
        assert found is not None
        assert (found.method, found.replicates, found.seed) == ("infinitesimal_jackknife", None, None)
        statistic = alpha_statistic(prepare(Ratings.from_wide(data), Level(level), level), level)
        drawn = np.quantile(bootstrap(statistic, 400, seed=1), [0.025, 0.975])
        assert [found.low, found.high] == pytest.approx(drawn.tolist(), abs=0.004)


@pytest.mark.parametrize("units", [30, 300])
def test_no_interval_where_every_unit_conflicts(units: int) -> None:
    """No resample differs from another: an interval of no width would be certainty."""
    question = assess(Ratings.from_wide([["a", "b"]] * units)).questions["value"]
    assert {name: one.interval for name, one in question.coefficients.items()} == dict.fromkeys(question.coefficients)
    assert all(one.value is not None for one in question.coefficients.values())
    assert "no_interval" in question.to_json()["notes"]
    assert (
        "no_interval" not in assess(Ratings.from_wide([["a", "b"]] * units), confidence=None).questions["value"].notes
    )
    # one unit that differs is something to resample
    other = assess(Ratings.from_wide([["a", "b"]] * units + [["a", "a"]] * 3)).questions["value"]
    assert other.alpha.interval is not None
    assert other.alpha.interval.low < other.alpha.interval.high
    assert "no_interval" not in other.notes


def test_coefficients_of_one_table_share_their_resamples() -> None:
    """Together they have the same intervals as apart."""
    rows = [["a", "a"], ["a", "b"], ["b", "b"], ["c", "c"]] * 50
    together = assess(Ratings.from_wide(rows)).questions["value"].coefficients
    ratings = Ratings.from_wide(rows)
    for name, of in (("fleiss_kappa", fleiss_kappa), ("gwet_ac1", gwet_ac1), ("scott_pi", scott_pi)):
        assert together[name] == of(ratings, 0.95)
    assert together["krippendorff_alpha"] == krippendorff_alpha(rows, confidence=0.95)
