"""An array counted without its long form gives what the long form gives."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from connector import Ratings, krippendorff_alpha
from connector.agreement import wide
from connector.agreement.ratings import InvalidRatings

LEVELS = ["nominal", "ordinal", "interval", "ratio"]
few = st.one_of(st.just(math.nan), st.integers(0, 4).map(float))
any_numbers = st.one_of(
    st.just(math.nan), st.floats(-1e300, 1e300), st.integers(-3, 3).map(float), st.floats(0, 1), st.just(1e-300)
)


def tables(cells: st.SearchStrategy[float]) -> st.SearchStrategy[Any]:
    return arrays.arrays(np.float64, st.tuples(st.integers(0, 12), st.integers(0, 5)), elements=cells)


def same(table: Any, level: str, confidence: float | None = None) -> None:
    short = krippendorff_alpha(table, level, confidence)
    long = krippendorff_alpha(Ratings.from_wide(table), level, confidence)
    assert short.reason == long.reason
    assert (short.value is None) == (long.value is None)
    if short.value is not None:
        assert short.value == pytest.approx(long.value, abs=1e-12, rel=1e-12)
        assert short.low == pytest.approx(long.low, abs=1e-9)
        assert short.high == pytest.approx(long.high, abs=1e-9)


@given(tables(few))
@pytest.mark.parametrize("level", LEVELS)
def test_few_whole_numbers(level: str, table: Any) -> None:
    same(table, level)
    same(table, level, 0.95)


@given(tables(any_numbers))
@pytest.mark.parametrize("level", LEVELS)
def test_any_numbers(level: str, table: Any) -> None:
    same(table, level)


def drawn(n: int, raters: int, values: int, low: int = 0, seed: int = 1) -> Any:
    random = np.random.default_rng(seed)
    truth = random.integers(0, values, (n, 1))
    table = np.where(random.random((n, raters)) < 0.7, truth, random.integers(0, values, (n, raters))) + float(low)
    table[random.random(table.shape) < 0.4] = math.nan
    return table


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("n", "raters", "values", "low"),
    [
        (9_000, 5, 5, 0),  # a row of answers is one number
        (30_000, 2, 60, 1_990),  # years
        (5_000, 12, 4, 1),  # raters by groups
        (5_000, 40, 3, 0),
        (5_000, 60, 9, 0),  # more than a number can hold: the long form serves
        (20_000, 3, 2, -1),
    ],
)
def test_large_tables_in_every_way_of_counting(level: str, n: int, raters: int, values: int, low: int) -> None:
    table = drawn(n, raters, values, low)
    same(table, level)
    same(np.asfortranarray(table), level)
    same(np.repeat(table, 2, axis=1)[:, ::2], level)


def test_the_ways_of_counting_are_all_taken() -> None:
    assert wide.count(drawn(9_000, 5, 5)) is not None
    assert wide.count(drawn(5_000, 40, 3)) is not None
    assert wide.count(drawn(5_000, 60, 9)) is None
    assert wide.count(drawn(9_000, 5, 5) / 2) is None


@pytest.mark.parametrize("place", [0, 4_000, 8_999])
def test_one_value_that_is_not_whole_is_seen_wherever_it_stands(place: int) -> None:
    table = drawn(9_000, 5, 5)
    table[place] = [0.5, 1.0, 1.0, math.nan, 0.5]
    assert wide.count(table) is None
    for level in LEVELS:
        same(table, level)
    # the digits of halves may add up to a whole number: they are looked at one by one
    table[place] = [0.5, 0.5, 0.5, 0.5, 0.5]
    assert wide.count(table) is None


@pytest.mark.parametrize("dtype", ["bool", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "g"])
def test_every_type_of_number_and_no_overflow(dtype: str) -> None:
    random = np.random.default_rng(5)
    kind = np.dtype(dtype)
    high = 2 if kind.kind == "b" else 128
    truth = random.integers(0, high, (300, 1))
    table = np.where(random.random((300, 4)) < 0.6, truth, random.integers(0, high, (300, 4)))
    for level in LEVELS:
        expected = krippendorff_alpha(table.tolist(), level).value
        assert krippendorff_alpha(table.astype(kind), level).value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("level", LEVELS)
def test_what_has_no_alpha_says_why_and_never_warns(level: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nan = math.nan
        for table, reason in (
            (np.zeros((0, 3)), "no_pairable_units"),
            (np.zeros((3, 0)), "no_pairable_units"),
            (np.full((4, 3), nan), "no_pairable_units"),
            (np.full((20_000, 3), nan), "no_pairable_units"),
            (np.array([[1.0, nan], [nan, 2.0]]), "no_pairable_units"),
            (np.array([[1.0], [2.0]]), "no_pairable_units"),
            (np.ones((4, 3)), "no_variation"),
            (np.full((20_000, 3), 0.1), "no_variation"),
            (np.array([[1.0, 1.0], [2.0, nan]]), "no_variation"),
            (np.array([[0.1, 0.1], [0.2, nan]]), "no_variation"),
        ):
            found = krippendorff_alpha(table, level)
            assert (found.value, found.reason) == (None, reason)
            same(table, level)


@pytest.mark.parametrize("bad", [math.inf, -math.inf])
@pytest.mark.parametrize("place", [0, 19_999])
def test_an_infinite_value_is_an_error_wherever_it_stands(bad: float, place: int) -> None:
    table = drawn(20_000, 5, 5)
    table[place, 2] = bad
    for level in LEVELS:
        with pytest.raises(InvalidRatings):
            krippendorff_alpha(table, level)


@given(tables(any_numbers))
@settings(max_examples=200)
def test_perfect_agreement_on_any_numbers_is_exactly_one(table: Any) -> None:
    if table.shape[1] < 2:
        return
    alike = np.where(np.isnan(table), math.nan, table[:, :1])
    found = krippendorff_alpha(alike, "interval")
    assert found.value in (None, 1.0)


@given(tables(few), st.integers(1, 3))
def test_patterns_of_an_array_are_those_of_its_long_form(table: Any, times: int) -> None:
    from connector.agreement.patterns import fold

    table = np.concatenate([table] * times)
    counted = wide.count(table)
    assert counted is not None
    short, long = counted.without_unused().patterns(), fold(Ratings.from_wide(table))
    for name in ("row", "col", "n", "size", "weights"):
        assert getattr(short, name).tolist() == getattr(long, name).tolist()
