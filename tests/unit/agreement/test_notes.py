"""What in the data looks like a mistake is said, never passed over."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from connector import Ratings, assess, krippendorff_alpha
from connector.agreement.ratings import NOTES

UNITS = [["a", "b"], ["b", "b"], ["a", "a"]] * 4


def test_a_table_that_lies_on_its_side_is_noticed() -> None:
    turned = [list(column) for column in zip(*UNITS, strict=True)]
    for data in (turned, np.array(turned, dtype=object), np.array([[ord(cell) for cell in row] for row in turned])):
        found = krippendorff_alpha(data)
        assert found.notes == ("maybe_turned",)
        assert found.value is not None
    assert assess(Ratings.from_wide(turned)).questions["value"].notes[0] == "maybe_turned"
    assert "maybe_turned" in assess(Ratings.from_wide(turned)).to_json()["questions"]["value"]["notes"]
    assert "columns" in NOTES["maybe_turned"]


@pytest.mark.parametrize(
    "data",
    [
        UNITS,
        [["a"] * 6, ["b"] * 6],
        [["a", "b"] * 5] * 4,
        np.zeros((12, 30)),
        np.zeros((0, 30)),
    ],
)
def test_other_tables_are_not(data: Any) -> None:
    assert krippendorff_alpha(data).notes == ()


def test_long_ratings_cannot_lie_on_their_side() -> None:
    units, raters = zip(*[(u, r) for u in range(2) for r in range(30)], strict=True)
    assert Ratings.from_long(units, raters, ["a", "b"] * 30).notes == ()


def test_numbers_beside_text_are_noticed_and_stay_two_categories() -> None:
    rows: list[list[Any]] = [[1, "1"], [2, "2"], [1, 1], [2, 2]]
    found = krippendorff_alpha(rows)
    assert found.notes == ("mixed_types",)
    assert found.value is not None
    assert found.value < 1
    # where the level makes them numbers they are the same ones
    assert krippendorff_alpha(rows, "interval").value == pytest.approx(1.0)
    assert krippendorff_alpha([["1", "1"], ["2", "2"]]).notes == ()


@pytest.mark.parametrize("nothing", [None, "", math.nan, np.nan, np.float32("nan")])
def test_what_is_missing_is_counted(nothing: Any) -> None:
    rows: list[list[Any]] = [["a", nothing], ["a", "b"], ["b", "b"]]
    by_table, plain = Ratings.from_wide(rows), krippendorff_alpha([["a", None], ["a", "b"], ["b", "b"]])
    units, raters, values = zip(*[(u, r, v) for u, row in enumerate(rows) for r, v in enumerate(row)], strict=True)
    by_rows = Ratings.from_long(units, raters, values)
    for ratings in (by_table, by_rows):
        assert (ratings.n_ratings, ratings.n_missing) == (5, 1)
        assert assess(ratings).to_json()["questions"]["value"]["left_out"] == {"missing": 1}
        assert krippendorff_alpha(ratings).value == plain.value


def test_repeats_are_counted() -> None:
    ratings = Ratings.from_long(["u", "u", "u"], ["r", "r", "s"], ["a", "b", "b"])
    assert assess(ratings).questions["value"].left_out == {"repeat": 1}


def test_rankings_are_written_as_dictionaries_or_pairs() -> None:
    by_name: list[list[Any]] = [[{"p": 1, "q": 2}, {"q": 1, "p": 2}], [{"p": 1, "q": 2}, {"q": 2, "p": 1}]]
    by_pair = [[tuple(cell.items()) for cell in row] for row in by_name]
    found = krippendorff_alpha(by_name, distance="kendall")
    assert found.value == krippendorff_alpha(by_pair, distance="kendall").value == pytest.approx(0.0)
