"""Whole answers by the thousand: how alpha moves with every unit is known, though expected disagreement is sampled."""

from __future__ import annotations

import random

import numpy as np
import pytest

from connector.agreement.alpha import AlphaStatistic, alpha_statistic, prepare
from connector.agreement.intervals import bootstrap, influence_error, interval_of, value_of
from connector.agreement.power import units_of
from connector.agreement.ratings import Level, Ratings


def of_texts(units: int, seed: int = 5) -> AlphaStatistic:
    """Two raters' texts, no two alike: copies of each other with some letters changed."""
    rng = random.Random(seed)
    rows = []
    for _ in range(units):
        one = "".join(rng.choices("abcdef", k=rng.randint(4, 12)))
        keep = rng.random()
        rows.append([one, "".join(letter if rng.random() < keep else "z" for letter in one)])
    statistic = alpha_statistic(prepare(Ratings.from_wide(rows), Level.NOMINAL, "edit"), "edit")
    assert isinstance(statistic, AlphaStatistic)
    return statistic


@pytest.fixture(scope="module")
def statistic() -> AlphaStatistic:
    found = of_texts(2_500)
    assert found.sampled
    return found


def test_the_slope_of_expected_disagreement_is_that_of_its_sum(statistic: AlphaStatistic) -> None:
    slopes = statistic.metric.slopes()
    assert slopes is not None
    weights = statistic.weights.astype(np.float64)
    # P is of the second degree in the weights less what pairs of one rating would add
    p = float(statistic.metric.totals(weights[None, :])[1][0])
    n = float(statistic.patterns.n_ratings)
    assert float(slopes[1] @ weights) == pytest.approx(2 * p, rel=2 / n)
    # all units of one half of the patterns a hundredth heavier
    more = np.arange(len(weights)) % 2 == 0
    moved = float(statistic.metric.totals((weights * (1 + 0.01 * more))[None, :])[1][0])
    assert moved - p == pytest.approx(0.01 * float(slopes[1][more] @ weights[more]), rel=0.02)


def test_the_error_is_that_of_resampled_tasks(statistic: AlphaStatistic) -> None:
    error = influence_error(statistic)
    spread = float(np.std(bootstrap(statistic, 400, 7)))
    assert error == pytest.approx(spread, rel=0.12)  # 400 replicates know it within 3.5%


def test_neither_interval_nor_power_resamples(statistic: AlphaStatistic, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("resampled")

    value = value_of(statistic)
    assert value is not None
    monkeypatch.setattr("connector.agreement.intervals.bootstrap_together", refuse)
    interval = interval_of(statistic, value, 0.95)
    assert interval is not None
    assert interval.method == "infinitesimal_jackknife"
    half = (interval.high - interval.low) / 2
    units = units_of(statistic, half, 0.95)
    assert units == pytest.approx(2_500, rel=0.05)
