from __future__ import annotations

import math

import numpy as np
import pytest

from connector import Ratings, assess, krippendorff_alpha, units_for_half_width
from connector.agreement.power import bloch_kraemer_units, round_up
from connector.agreement.ratings import Floats


@pytest.mark.parametrize(("alpha", "units"), [(0.8, 139), (0.667, 81)])
def test_bloch_and_kraemer_as_published(alpha: float, units: int) -> None:
    """Krippendorff's table: four equally common values, significance .05."""
    assert bloch_kraemer_units(alpha, 1 / 4) == units


def test_rarer_and_closer_need_more() -> None:
    assert bloch_kraemer_units(0.8, 0.05) > bloch_kraemer_units(0.8, 0.25) > bloch_kraemer_units(0.8, 0.5)
    assert bloch_kraemer_units(0.9, 0.25) > bloch_kraemer_units(0.8, 0.25)
    assert bloch_kraemer_units(0.8, 0.25, 0.005) > bloch_kraemer_units(0.8, 0.25)


@pytest.mark.parametrize(
    ("alpha", "share", "significance"),
    [
        *((1, 0.25, 0.05), (0.8, 0, 0.05), (0.8, 0.6, 0.05), (0.8, 0.2, 0)),
        *((0.8, 5e-324, 0.05), (0.8, 1e-300, 0.05), (0.8, 1e-7, 0.05)),
        *((math.nan, 0.25, 0.05), (0.8, math.nan, 0.05), (0.8, 0.25, math.nan)),
    ],
)
def test_plans_out_of_range_are_refused(alpha: float, share: float, significance: float) -> None:
    with pytest.raises(ValueError, match="must lie between"):
        bloch_kraemer_units(alpha, share, significance)


@pytest.mark.parametrize(("alpha", "share"), [(0.9, 1e-6), (1 - 1e-16, 0.25), (1 - 1e-16, 1e-6)])
def test_plans_that_nobody_can_label_are_refused(alpha: float, share: float) -> None:
    with pytest.raises(ValueError, match="over 10,000,000 units"):
        bloch_kraemer_units(alpha, share)
    assert bloch_kraemer_units(0.8, 0.25, 1e-300) < 300_000


@pytest.mark.parametrize("half_width", [0, -1, math.nan, math.inf])
def test_half_widths_that_no_interval_has_are_refused(half_width: float) -> None:
    with pytest.raises(ValueError, match="half_width must be a positive number"):
        units_for_half_width(table(50), half_width)
    with pytest.raises(ValueError, match="half_width must be a positive number"):
        assess(Ratings.from_wide(table(50)), half_width=half_width)


def table(units: int, seed: int = 0) -> Floats:
    random = np.random.default_rng(seed)
    truth = random.integers(0, 3, (units, 1))
    guess = random.integers(0, 3, (units, 3))
    return np.where(random.random((units, 3)) < np.sqrt(0.7), truth, guess).astype(np.float64)


def test_units_for_a_half_width_as_simulated() -> None:
    """Three raters, three balanced classes, alpha .70: 356 units give +- .05."""
    assert units_for_half_width(table(20_000), 0.05) == pytest.approx(356, rel=0.06)


def test_that_many_units_do_give_it() -> None:
    wanted = units_for_half_width(table(250), 0.06)
    assert wanted is not None
    found = krippendorff_alpha(table(wanted, seed=4), confidence=0.95).interval
    assert found is not None
    assert (found.high - found.low) / 2 == pytest.approx(0.06, rel=0.15)


def test_no_number_where_nothing_is_known() -> None:
    assert units_for_half_width([["a", "a"], ["a", "a"]], 0.05) is None
    assert units_for_half_width([["a", "a"], ["b", "b"]] * 10, 0.05) is None
    assert units_for_half_width([["a", "b"], ["b", "b"], ["a", "a"]] * 10, 1e-6) is None
    with pytest.raises(ValueError, match="half_width"):
        units_for_half_width([["a", "b"]], 0)


def test_rounded_up_to_two_digits() -> None:
    assert [round_up(number) for number in (7, 42, 101, 350, 1468)] == [7, 42, 110, 350, 1500]
