from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from connector import InvalidRatings, QuestionRatings, Ratings, assess, krippendorff_alpha


def test_long_columns_become_a_table() -> None:
    ratings = Ratings.from_long(["t2", "t1", "t1"], ["ann", "ann", "bob"], ["x", "y", "x"])
    assert (ratings.unit_ids, ratings.rater_ids) == (["t2", "t1"], ["ann", "bob"])
    assert ratings.wide() == [["x", None], ["y", "x"]]
    assert (ratings.n_ratings, ratings.n_raters, ratings.n_repeats) == (3, 2, 0)


def test_the_last_of_a_raters_repeats_wins_and_the_others_are_counted() -> None:
    """OT-01: a task served again to the same person is one rating."""
    rows = [["t1", "s-a", "x"], ["t1", "s-a", "y"], ["t1", "s-b", "y"], ["t2", "s-b", "x"]]
    ratings = Ratings.from_long(*zip(*rows, strict=True))
    assert ratings.wide() == [["y", "y"], [None, "x"]]
    assert ratings.n_repeats == 1


def test_a_missing_last_answer_does_not_erase_an_earlier_one() -> None:
    ratings = Ratings.from_long(["u", "u"], ["r", "r"], ["x", None])
    assert ratings.wide() == [["x"]]
    assert ratings.n_repeats == 0


@pytest.mark.parametrize("missing", [None, math.nan, "", np.nan, np.float64("nan")])
def test_missing_is_never_a_category_but_its_unit_is_known(missing: Any) -> None:
    for ratings in (
        Ratings.from_long(["a", "b", "b"], ["r", "r", "s"], [missing, "x", "y"]),
        Ratings.from_wide([[missing, missing], ["x", "y"]], unit_ids=["a", "b"]),
    ):
        assert ratings.codebook.categories == ("x", "y")
        assert list(ratings.unit_ids) == ["a", "b"]
        assert ratings.per_unit.tolist() == [0, 2]


def test_numbers_equal_by_value_are_one_category_and_text_is_another() -> None:
    ratings = Ratings.from_long("abcd", "rrrr", [1, 1.0, np.int8(1), "1"])
    assert ratings.codebook.categories == (1.0, "1")


def test_numeric_levels_read_numbers_from_text() -> None:
    """4, "4" and "4.0" are one value at a numeric level."""
    as_text = [["4", "4.0"], ["3", "3"], ["5", "2"], ["1", "1"]]
    as_numbers = [[4, 4], [3, 3], [5, 2], [1, 1]]
    for level in ("ordinal", "interval", "ratio"):
        assert krippendorff_alpha(as_text, level).value == krippendorff_alpha(as_numbers, level).value
    assert krippendorff_alpha(as_numbers, "interval").value == pytest.approx(0.47059, abs=5e-6)
    assert krippendorff_alpha(as_numbers, "ordinal").value == pytest.approx(0.45988, abs=5e-6)


def test_order_of_numbers_is_not_that_of_their_text() -> None:
    as_text = [["9", "10"], ["10", "11"], ["2", "2"], ["11", "2"]]
    as_numbers = [[9, 10], [10, 11], [2, 2], [11, 2]]
    assert krippendorff_alpha(as_text, "ordinal").value == krippendorff_alpha(as_numbers, "ordinal").value


def test_declared_order_serves_the_ordinal_level() -> None:
    rows = [["low", "mid"], ["mid", "high"], ["low", "low"], ["high", "low"]]
    codes = [[0, 1], [1, 2], [0, 0], [2, 0]]
    declared = Ratings.from_wide(rows, categories=["low", "mid", "high"])
    assert krippendorff_alpha(declared, "ordinal").value == krippendorff_alpha(codes, "ordinal").value
    assert krippendorff_alpha(Ratings.from_wide(rows), "ordinal").reason == "wrong_level"
    undeclared_value = Ratings.from_wide([*rows, ["other", "low"]], categories=["low", "mid", "high"])
    assert krippendorff_alpha(undeclared_value, "ordinal").reason == "wrong_level"


def test_sets_of_labels_and_of_paths_are_compared_as_sets() -> None:
    ratings = Ratings.from_long(["u"] * 4, "abcd", [["y", "x"], {"x", "y"}, ("x", "y", "x"), [["n", "k"], ["k", "n"]]])
    assert ratings.codebook.categories == (("x", "y"), (("k", "n"), ("n", "k")))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64])
def test_codes_of_any_integer_type(dtype: Any) -> None:
    units = np.repeat(np.arange(100), 2).astype(dtype)
    raters = np.tile([0, 1], 100).astype(dtype)
    random = np.random.default_rng(1)
    values = random.integers(100, 127, 200)
    expected = krippendorff_alpha(values.reshape(100, 2).astype(float), "interval").value
    found = krippendorff_alpha(Ratings.from_codes(units, raters, values.astype(dtype)), "interval").value
    assert found == pytest.approx(expected, abs=1e-12)


def test_codes_beyond_their_own_type_do_not_overflow() -> None:
    """200 units x 5 ratings in uint8: sums and keys far exceed 255."""
    units = np.repeat(np.arange(200, dtype=np.uint8), 5)
    raters = np.tile(np.arange(5, dtype=np.uint8), 200)
    values = np.random.default_rng(2).integers(0, 250, 1000).astype(np.uint8)
    wide = values.astype(float).reshape(200, 5)
    for level in ("nominal", "ordinal", "interval", "ratio"):
        found = krippendorff_alpha(Ratings.from_codes(units, raters, values), level).value
        assert found == pytest.approx(krippendorff_alpha(wide, level).value, abs=1e-12)


def test_more_ratings_by_one_rater_than_raters_are_counted_right() -> None:
    """Repeats are the caller's matter with codes: counts above the number of raters still fold to the truth."""
    ratings = Ratings.from_codes([0, 0, 0, 1, 1, 1, 1], [0] * 7, [0, 0, 1, 1, 1, 1, 1])
    expected = krippendorff_alpha([["a", "a", "b", None], ["b", "b", "b", "b"]]).value
    assert krippendorff_alpha(ratings).value == pytest.approx(expected)


def test_codes_name_units_and_categories_without_a_rating() -> None:
    ratings = Ratings.from_codes(
        [0, 2], [0, 0], [1, 1], unit_ids=["a", "b", "c", "d"], rater_ids=["r"], categories=["no", "yes"]
    )
    assert ratings.per_unit.tolist() == [1, 0, 1, 0]
    assert ratings.value_counts.tolist() == [0, 2]
    assert (len(Ratings.from_codes([], [], [], n_units=3).unit_ids), ratings.codebook.n_declared) == (3, 2)


@pytest.mark.parametrize(
    ("columns", "more", "said"),
    [
        (([0], [0], [0, 1]), {}, "differ in length"),
        (([-1], [0], [0]), {}, "negative"),
        (([0.5], [0], [0]), {}, "integer codes"),
        (([[0]], [0], [0]), {}, "one dimension"),
        (([3], [0], [0]), {"n_units": 2}, "code 3"),
        (([0], [0], [2]), {"categories": ["a"]}, "code 2"),
    ],
)
def test_wrong_codes_are_refused(columns: Any, more: Any, said: str) -> None:
    with pytest.raises(InvalidRatings, match=said):
        Ratings.from_codes(*columns, **more)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ((["u"], ["r"], ["x", "y"]), "differ in length"),
        ((["u"], [None], ["x"]), "rater id is missing"),
        (([""], ["r"], ["x"]), "unit id is missing"),
        (([math.nan], ["r"], ["x"]), "unit id is missing"),
        ((["u"], ["r"], [math.inf]), "infinite"),
        ((["u"], ["r"], [10**400]), "infinite"),
        ((["u"], ["r"], [object()]), "must be text"),
    ],
)
def test_wrong_columns_are_refused(columns: Any, said: str) -> None:
    with pytest.raises(InvalidRatings, match=said):
        Ratings.from_long(*columns)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ([["a", "b"], ["a"]], "row 1 has 1 cells"),
        (np.array([[1.0, np.inf]]), "infinite"),
        (np.array([1.0, 2.0]), "two dimensions"),
        (np.array(["a", "b"]), "two dimensions"),
        (["ab", "cd"], "row 0 is not a row"),
        ([1, 2], "row 0 is not a row"),
    ],
)
def test_wrong_tables_are_refused(data: Any, said: str) -> None:
    with pytest.raises(InvalidRatings, match=said):
        Ratings.from_wide(data)
    with pytest.raises(ValueError, match=said):
        krippendorff_alpha(data)


@pytest.mark.parametrize("ids", [["a", "a"], ["a"], ["a", "b", "c"]])
def test_ids_that_do_not_name_each_row_are_refused(ids: list[str]) -> None:
    with pytest.raises(InvalidRatings, match="unit_ids"):
        Ratings.from_wide([[1, 2], [1, 1]], unit_ids=ids)
    if len(ids) < 3:
        with pytest.raises(InvalidRatings, match="unit"):
            Ratings.from_codes([0, 1], [0, 0], [0, 0], unit_ids=ids)


def test_tables_of_objects_and_of_text() -> None:
    rows = [["x", None], ["x", "y"]]
    expected = Ratings.from_wide(rows).wide()
    assert Ratings.from_wide(np.array(rows, dtype=object)).wide() == expected
    assert Ratings.from_wide(np.array([["x", ""], ["x", "y"]])).wide() == expected


def test_restriction_to_a_batch_keeps_its_order_and_unrated_units() -> None:
    ratings = Ratings.from_long("aabbc", "rsrsr", [1, 2, 1, 1, 2], unit_ids="abcd")
    batch = ratings.restrict(["d", "b", "b", "nowhere"])
    assert (list(batch.unit_ids), batch.per_unit.tolist()) == (["d", "b"], [0, 2])
    assert batch.wide() == [[None, None], [1.0, 1.0]]


def test_strings_of_digits_and_numbers_are_two_units() -> None:
    assert len(Ratings.from_long([1, "1"], ["r", "r"], ["x", "x"]).unit_ids) == 2


@pytest.mark.parametrize(
    "categories", [["a", "a", "b"], [1, 1.0, 2], [True, 1, 2], [("x", "y"), ["y", "x"], ("x",)], [np.int8(1), 1, "1"]]
)
def test_codes_of_equal_categories_are_one(categories: list[Any]) -> None:
    ratings = Ratings.from_codes([0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1], [0, 1, 1, 1, 2, 2], categories=categories)
    assert len(ratings.codebook) == ratings.codebook.n_declared == 2
    assert krippendorff_alpha(ratings).value == 1
    by_value = Ratings.from_wide([[categories[0], categories[1]], [categories[1]] * 2, [categories[2]] * 2])
    assert ratings.wide() == by_value.wide()


@pytest.mark.parametrize("missing", ["", None, math.nan, np.float64("nan")])
def test_codes_of_what_is_missing_are_no_ratings(missing: Any) -> None:
    ratings = Ratings.from_codes(
        [0, 0, 1, 1, 2], [0, 1, 0, 1, 0], [1, 0, 1, 1, 2], categories=["x", missing, 1.0], n_declared=2
    )
    assert ratings.wide() == [[None, "x"], [None, None], [1.0, None]]
    assert (ratings.n_ratings, ratings.n_missing, ratings.codebook.n_declared) == (2, 3, 1)
    body = assess(ratings).to_json()
    assert body["questions"]["value"]["left_out"] == {"missing": 3}
    json.dumps(body, allow_nan=False)


@pytest.mark.parametrize("categories", [[math.inf, 1.0], [1.0, -np.inf], [1.0, 10**400]])
def test_an_infinite_category_of_a_code_is_refused(categories: list[Any]) -> None:
    with pytest.raises(InvalidRatings, match="infinite"):
        Ratings.from_codes([0, 0], [0, 1], [0, 1], categories=categories)


def test_a_declared_category_counts_once() -> None:
    rows = Ratings.from_wide([["a", "b"], ["a", "a"]])
    question = QuestionRatings("q", "choice", rows, categories=["a", "b", "b", "", None])
    assert assess(question).questions["q"].n_categories == 2
    sets = Ratings.from_wide([[["a"], ["c"]], [["d"], ["d"]]])
    labels = QuestionRatings("q", "choices", sets, distance="masi", categories=["a", "b", "b", "c"])
    assert [one.category for one in assess(labels).questions["q"].categories] == ["a", "b", "c", "d"]


@pytest.mark.parametrize("text", ["nan", "NaN", "NAN"])
def test_what_numpy_makes_of_nan_beside_text_is_missing(text: str) -> None:
    ratings = Ratings.from_wide(np.array([["a", text], ["a", "b"], ["", "b"]]))
    assert ratings.wide() == [["a", None], ["a", "b"], [None, "b"]]
    assert ratings.n_missing == 2
    assert Ratings.from_wide([["a", text]]).wide() == [["a", text]]
    assert Ratings.from_wide(np.array([["a", np.nan]])).wide() == [["a", None]]
