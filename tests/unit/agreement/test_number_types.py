"""Numbers at the edge of what their type holds: narrow floats with gaps, whole numbers above 2^53, 1e308."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import pytest

from connector import (
    InvalidRatings,
    QuestionRatings,
    Ratings,
    assess,
    cohen_kappa,
    gwet_ac2,
    intraclass,
    krippendorff_alpha,
    weighted_kappa,
)
from connector.agreement.ratings import as_value

LEVELS = ("nominal", "ordinal", "interval", "ratio")
NAN = float("nan")
VAST = 2**53
CLOSE = [[0, 1], [1, 1], [0, 0], [2, 2]]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("rows", [1, 20_000])
@pytest.mark.parametrize(
    ("dtype", "low", "step"), [("f4", 2**24 + 2, 2), ("f4", 2**30, 128), ("f2", 2048, 2), ("f2", 4096, 4)]
)
def test_whole_numbers_with_gaps_in_a_narrow_type_count_as_in_float64(
    level: str, rows: int, dtype: str, low: int, step: int
) -> None:
    """The number below the smallest, which stands for a missing one, is none of such a type."""
    part = [[0, 0, NAN], [1, 1, NAN], [NAN, 1, 1], [0, 1, NAN], [2, NAN, NAN]]
    table = low + step * np.array(part * rows)
    narrow = table.astype(dtype)
    assert np.array_equal(narrow.astype(np.float64), table, equal_nan=True)
    assert krippendorff_alpha(narrow, level).value == krippendorff_alpha(table, level).value
    assert krippendorff_alpha(narrow, level).value == pytest.approx(
        krippendorff_alpha(Ratings.from_wide(table.tolist()), level).value, abs=1e-9
    )


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_the_limits_of_every_integer_type(dtype: str, level: str) -> None:
    limits = np.iinfo(dtype)
    values = [limits.min, limits.min + 1, limits.max - 1, limits.max]
    places = np.random.default_rng(0).integers(0, 4, (30, 4))
    # on a line from 0 to 1 float64 holds the two ends and hardly what is next to them
    truth = (
        np.array([one - limits.min for one in values]) / (limits.max - limits.min) if level == "interval" else values
    )
    expected = krippendorff_alpha([[truth[place] for place in row] for row in places.tolist()], level).value
    for table in (np.array(values, dtype=dtype)[places], [[values[place] for place in row] for row in places.tolist()]):
        assert krippendorff_alpha(table, level).value == pytest.approx(expected, abs=1e-12)
    if level != "interval":
        assert expected == pytest.approx(krippendorff_alpha(places, level).value)


def vast_forms() -> list[Any]:
    table = np.array(CLOSE) + VAST
    rows = table.tolist()
    units, raters = np.divmod(np.arange(8), 2)
    codes = np.array(CLOSE).ravel()
    return [
        table,
        table.astype(np.uint64),
        rows,
        Ratings.from_long(units, raters, table.ravel()),
        Ratings.from_codes(units, raters, codes, categories=[VAST, VAST + 1, VAST + 2]),
        [[str(value) for value in row] for row in rows],
    ]


@pytest.mark.parametrize("form", range(6))
def test_whole_numbers_that_float64_does_not_hold_stay_apart(form: int) -> None:
    data = vast_forms()[form]
    for level in ("nominal", "ordinal", "interval"):
        assert krippendorff_alpha(data, level).value == pytest.approx(krippendorff_alpha(CLOSE, level).value)
    assert krippendorff_alpha(data).value == pytest.approx(2 / 3)
    assert krippendorff_alpha(data, "ordinal").value == pytest.approx(0.79)
    assert cohen_kappa(data).value == pytest.approx(cohen_kappa(CLOSE).value)
    assert weighted_kappa(data).value == pytest.approx(weighted_kappa(CLOSE).value)
    assert gwet_ac2(data).value == pytest.approx(gwet_ac2(CLOSE).value)
    assert intraclass(data)["icc_2"].value == pytest.approx(intraclass(CLOSE)["icc_2"].value)
    with pytest.raises(InvalidRatings, match="too close together for the ratio level"):
        krippendorff_alpha(data, "ratio")


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_the_report_of_vast_whole_numbers_names_each(level: str) -> None:
    question = QuestionRatings("q", "number", Ratings.from_wide(np.array(CLOSE) + VAST), level=level)
    found = json.loads(json.dumps(assess(question).to_json()))["questions"]["q"]
    assert list(found["categories"]) == [str(VAST), str(VAST + 1), str(VAST + 2)]
    assert [pair["a"] for pair in found["pairs"]] == [VAST]


def test_vast_whole_numbers_beside_small_ones_have_every_level() -> None:
    table = [[1, 1], [VAST + 1, VAST + 1], [1, VAST + 1], [3, 3]]
    for level in LEVELS:
        about = krippendorff_alpha([[float(value) for value in row] for row in table], level).value
        assert krippendorff_alpha(table, level).value == pytest.approx(about, abs=1e-12)


def test_numbers_that_float64_holds_are_float() -> None:
    assert [type(as_value(value)) for value in (1, True, VAST, VAST + 2, 10**22)] == [float] * 5
    assert as_value(VAST + 1) == VAST + 1
    assert as_value(np.longdouble(0.5)) == 0.5


@pytest.mark.parametrize("form", [list, np.array])
def test_the_largest_numbers_have_a_ratio_level_without_a_warning(form: Any) -> None:
    shares = [[1.0, 1.0], [1.0, 0.25], [1.0, 0.5], [0.5, 0.5]]
    huge = [[1e308 * share for share in row] for row in shares]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert krippendorff_alpha(form(huge), "ratio").value == pytest.approx(krippendorff_alpha(shares, "ratio").value)
        question = QuestionRatings("q", "number", Ratings.from_wide(form(huge)), level="ratio", bounds=(0, 1e308))
        found = assess(question).questions["q"]
        assert found.units[1].majority == pytest.approx(0.625e308)
        json.dumps(found.to_json(), allow_nan=False)
