from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from connector import QuestionRatings, Ratings, UnitResult, assess
from connector.agreement.consensus import STATUSES


def results(rows: list[list[Any]], **question: Any) -> list[UnitResult]:
    share_below = question.pop("share_below", 0.6)
    width = max(map(len, rows))
    ratings = Ratings.from_wide([row + [None] * (width - len(row)) for row in rows])
    source = QuestionRatings("q", question.pop("kind", "choice"), ratings, **question)
    found = assess([source], confidence=None, share_below=share_below).questions["q"].units
    return [found[place] for place in range(len(rows))]


def test_the_funnel() -> None:
    """(1,1,1) and (1,2,1) are accepted, (0,1,2) goes to the expert."""
    found = results([[1, 1, 1], [1, 2, 1], [0, 1, 2]])
    assert found == [
        UnitResult(3, 1.0, 1.0, 1.0, "agreed"),
        UnitResult(3, 0.3333, 0.6667, 1.0, "majority"),
        UnitResult(3, 0.0, 0.3333, None, "conflict"),
    ]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ([], UnitResult(0, None, None, None, "unrated")),
        (["a"], UnitResult(1, None, 1.0, "a", "single")),
        (["a", "b"], UnitResult(2, 0.0, 0.5, None, "conflict")),
        (["a", "a"], UnitResult(2, 1.0, 1.0, "a", "agreed")),
        (["a", "a", "b", "b"], UnitResult(4, 0.3333, 0.5, None, "conflict")),
        # three of five is exactly the share of .6
        (["a", "a", "a", "b", "b"], UnitResult(5, 0.4, 0.6, "a", "majority")),
        (["a", "a", "a", "b", "c", "d"], UnitResult(6, 0.2, 0.5, "a", "conflict")),
    ],
)
def test_nominal_units(row: list[str], expected: UnitResult) -> None:
    assert results([row, ["z"] * 6])[0] == expected


def test_the_share_below_which_a_unit_is_a_conflict_is_set_by_the_caller() -> None:
    rows = [["a", "a", "b"], ["a", "b"], ["a", "a", "b", "c"]]
    assert [one.status for one in results(rows, share_below=0.7)] == ["conflict"] * 3
    # a tie has no majority, whatever the share
    assert [one.status for one in results(rows, share_below=0.5)] == ["majority", "conflict", "majority"]


def test_ratings_are_graded_on_the_declared_categories_alone() -> None:
    rows = [[1, 5], [4, 5], [3, 3], [1, 2, 5], [2]]
    found = results(rows, kind="rating", level="ordinal", categories=[1, 2, 3, 4, 5])
    assert [one.agreement for one in found] == [0.0, 0.75, 1.0, 0.33, None]
    assert [one.status for one in found] == ["conflict", "majority", "agreed", "conflict", "single"]
    assert [one.majority for one in found] == [None, None, 3.0, None, 2.0]


def test_one_rating_never_moves_another_units_score() -> None:
    options: dict[str, Any] = {"kind": "number", "level": "interval", "bounds": (0.0, 10.0)}
    assert results([[2, 4]], **options)[0] == results([[2, 4], [0, 10]], **options)[0]
    assert results([[2, 4]], **options)[0].agreement == 0.8


def test_numbers_without_a_declared_range_have_no_score_and_no_status_unless_equal() -> None:
    found = results([[2, 4], [3, 3], [1]], kind="number", level="interval")
    assert [(one.agreement, one.status) for one in found] == [(None, None), (None, "agreed"), (None, "single")]


def test_ratings_with_a_declared_range_but_no_categories() -> None:
    found = results([[1, 5], [4, 5]], kind="rating", level="ordinal", bounds=(1, 5))
    assert [one.agreement for one in found] == [0.0, 0.75]


def test_a_number_outside_the_declared_range_does_not_make_agreement_negative() -> None:
    assert results([[0, 50]], kind="number", level="interval", bounds=(0, 10))[0].agreement == 0.0


def test_a_range_of_one_point_is_no_range() -> None:
    assert results([[5, 6]], kind="number", level="interval", bounds=(5, 5))[0].agreement is None


def test_sets_are_graded_by_distance_and_judged_by_whole_answers() -> None:
    a, ab, c = ("a",), ("a", "b"), ("c",)
    found = results([[a, a, ab], [a, ab, c], [a, a]], kind="choices", distance="masi")
    # distances of {a} and {a,b}: 1 - 1/2 x 2/3 = 2/3
    assert found[0] == UnitResult(3, 0.56, 0.6667, a, "majority")
    assert found[1] == UnitResult(3, 0.11, 0.3333, None, "conflict")
    assert found[2] == UnitResult(2, 1.0, 1.0, a, "agreed")


def test_an_empty_set_is_an_answer() -> None:
    found = results([[(), ()], [(), ("a",)]], kind="choices", distance="masi")
    assert found[0] == UnitResult(2, 1.0, 1.0, (), "agreed")
    assert found[1] == UnitResult(2, 0.0, 0.5, None, "conflict")


def test_unknown_units_are_a_key_error() -> None:
    found = assess(Ratings.from_wide([["a", "b"]], unit_ids=["u1"])).questions["value"].units
    assert "u1" in found
    assert "u2" not in found
    with pytest.raises(KeyError):
        found["u2"]


def test_a_hundred_thousand_units_are_columns() -> None:
    random = np.random.default_rng(1)
    n = 100_000
    units, raters = np.repeat(np.arange(n), 3), np.tile(np.arange(3), n)
    ratings = Ratings.from_codes(units, raters, random.integers(0, 4, 3 * n))
    began = time.perf_counter()
    found = assess(ratings, confidence=None).questions["value"].units
    assert time.perf_counter() - began < 5
    assert {len(column) for column in (found.n_ratings, found.agreement, found.majority, found.status)} == {n}
    assert set(found.status) <= set(STATUSES)


def test_the_median_of_numbers_is_the_middle_one_or_the_mean_of_the_two() -> None:
    random = np.random.default_rng(8)
    table = np.round(random.normal(size=(400, 7)) * 10.0 ** random.integers(-3, 4, (400, 1)), 3)
    table[random.random(table.shape) < 0.4] = np.nan
    table = table[~np.isnan(table).all(axis=1)]
    question = QuestionRatings("q", "number", Ratings.from_wide(table), level="interval")
    found = assess(question, confidence=None, diagnose=False).questions["q"].units
    assert [found[unit].majority for unit in range(len(table))] == np.nanmedian(table, axis=1).tolist()
