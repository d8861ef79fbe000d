"""Comparisons of whole answers: how one is made known, and what it may bring along."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from connector import QuestionRatings, Ratings, assess, krippendorff_alpha
from connector.agreement.alpha import Prepared, alpha_case, prepare
from connector.agreement.consensus import by_task
from connector.agreement.distances import COMPARISONS, Comparison, register
from connector.agreement.distances.base import Alpha
from connector.agreement.patterns import Patterns
from connector.agreement.ratings import Floats, Ints, Level


class Hours(Comparison):
    """Hours on a clock of twelve."""

    name = "hours"

    def comparable(self, value: Any) -> bool:
        return isinstance(value, float)

    def pairs(self, values: Sequence[Any], a: Ints, b: Ints) -> Floats:
        apart: Floats = np.abs(np.array(values)[a] - np.array(values)[b]) % 12
        nearest: Floats = np.minimum(apart, 12 - apart) / 6
        return nearest


@pytest.fixture
def hours() -> Iterator[Comparison]:
    yield register(Hours())
    del COMPARISONS["hours"]


ROWS: list[list[Any]] = [[11, 1], [12, 12], [5, 7], [1, None], [6, 6], [3, 4]]


def test_a_distance_needs_a_name_and_two_methods(hours: Comparison) -> None:
    found = krippendorff_alpha(ROWS, distance="hours")
    pool = [value for row in ROWS if None not in row for value in row]

    def apart(x: float, y: float) -> float:
        return min(abs(x - y) % 12, 12 - abs(x - y) % 12) / 6

    observed = sum(2 * apart(*row) for row in ROWS if None not in row)
    expected = sum(apart(x, y) for x in pool for y in pool)
    assert found.value == pytest.approx(1 - (len(pool) - 1) * observed / expected)
    report = assess(QuestionRatings("q", "hour", Ratings.from_wide(ROWS * 3), distance="hours")).questions["q"]
    assert report.units[0].agreement == 0.67
    assert report.comparison is hours
    assert report.categories == []
    assert report.diagnosis is not None
    assert report.diagnosis.units_by_disagreement[0].unit in (0, 2, 6, 8, 12, 14)


def test_a_name_is_given_once(hours: Comparison) -> None:
    assert register(hours) is hours
    for taken in (Hours(), type("Other", (Hours,), {"name": "nominal"})(), type("Other", (Hours,), {"name": "masi"})()):
        with pytest.raises(ValueError, match="already"):
            register(taken)


def test_values_it_does_not_compare_are_wrong(hours: Comparison) -> None:
    report = assess(QuestionRatings("q", "hour", Ratings.from_wide([["a", 1], [2, 2]]), distance="hours"))
    question = report.questions["q"]
    assert question.alpha.reason == "wrong_level"
    assert [question.units[0].agreement, question.units[0].status] == [None, None]


def test_declared_categories_that_nobody_gave_need_not_be_comparable(hours: Comparison) -> None:
    ratings = Ratings.from_wide(ROWS).declare(["a", 1, 12])
    assert krippendorff_alpha(ratings, distance="hours").value == krippendorff_alpha(ROWS, distance="hours").value


class Whole(Hours):
    """With everything a comparison may bring along."""

    name = "whole"
    graded = False
    asked: list[str]

    def consensus(self, values: Sequence[Any], times: Sequence[int]) -> Any:
        return f"{values} {times}"

    def statistic(self, patterns: Patterns, values: Sequence[Any]) -> Alpha | None:
        self.asked.append(f"statistic of {patterns.n_units} units and {len(values)} values")
        return None

    def companions(self, prepared: Prepared) -> dict[str, Any]:
        return {"hours_apart": alpha_case(prepared, "nominal")}


def test_what_a_comparison_brings_along_stands_in_the_report() -> None:
    Whole.asked = []
    register(Whole())
    try:
        report = assess(QuestionRatings("q", "hour", Ratings.from_wide(ROWS * 3), distance="whole")).questions["q"]
    finally:
        del COMPARISONS["whole"]
    names = list(report.coefficients)
    assert names[:4] == ["krippendorff_alpha", "krippendorff_alpha_exact", "hours_apart", "percent_agreement"]
    assert report.coefficients["hours_apart"].interval is not None
    assert report.coefficients["hours_apart"].value == report.coefficients["krippendorff_alpha_exact"].value
    assert report.units[0].majority == "[1.0, 11.0] [1, 1]"
    assert report.units[1].majority == 12.0  # where all say the same nothing is asked
    assert report.units[0].status == "conflict"  # not graded: by the share of the commonest
    assert Whole.asked[0] == "statistic of 15 units and 8 values"


def test_answers_that_share_nothing_across_units_have_no_alpha(hours: Comparison) -> None:
    prepared = prepare(Ratings.from_wide([[(("a", 1),), (("a", 1),)]]), Level.NOMINAL, "kendall_by_task")
    assert prepared.reason == "not_comparable"


def test_kendalls_tau_b_with_ties() -> None:
    """scipy 1.17's own example of tau-b with ties: [12, 2, 1, 12, 2] and [1, 4, 7, 1, 0] give -0.4714."""
    one, other = (
        {str(item): rank for item, rank in enumerate(ranks)} for ranks in ([12, 2, 1, 12, 2], [1, 4, 7, 1, 0])
    )
    question = QuestionRatings("q", "ranking", Ratings.from_wide([[one, other]]), distance="kendall")
    found = assess(question).questions["q"].coefficients["kendall_tau_b"]
    assert found.value == pytest.approx(-0.47140452079103173)


def test_tau_b_may_be_under_zero_and_so_may_its_interval() -> None:
    up, down = {"a": 1, "b": 2, "c": 3}, {"a": 3, "b": 2, "c": 1}
    rows = [[up, down]] * 60 + [[up, up]] * 40 + [[down, down]] * 20
    question = QuestionRatings("q", "ranking", Ratings.from_wide(rows), distance="kendall")
    found = assess(question).questions["q"].coefficients["kendall_tau_b"]
    assert found.value == pytest.approx(0.0)
    assert found.low is not None
    assert found.high is not None
    assert found.low < -0.1 < 0.1 < found.high


def test_rankings_that_tie_everything_have_no_tau() -> None:
    tied = {"a": 1, "b": 1}
    question = QuestionRatings(
        "q", "ranking", Ratings.from_wide([[tied, tied], [tied, {"a": 1, "b": 2}]]), distance="kendall"
    )
    found = assess(question).questions["q"].coefficients["kendall_tau_b"]
    assert (found.value, found.reason) == (None, "no_variation")


def test_a_task_of_several_items_has_the_worst_of_their_results() -> None:
    rows = [["x", "x"], ["x", "y"], ["x", "x"], ["x", None], [None, None]]
    names = ["1#0", "1#1", "2#0", "3#0", "4"]
    task_of = {name: name[0] for name in names}
    source = QuestionRatings("q", "choice", Ratings.from_wide(rows, unit_ids=names), task_of=task_of)
    question = assess([source]).questions["q"]
    tasks = question.tasks
    assert list(tasks.unit_ids) == ["1", "2", "3", "4"]
    assert tasks["1"] == (2, 0.5, None, None, "conflict")
    assert tasks["2"] == (2, 1.0, None, None, "agreed")
    assert tasks["3"] == (1, None, None, None, "single")
    assert tasks["4"] == (0, None, None, None, "unrated")
    assert by_task(question.units, task_of)["1"] == tasks["1"]
