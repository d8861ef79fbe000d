"""Dawid and Skene's consensus and the power as the report holds them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from connector import QuestionRatings, Ratings, assess, dawid_skene, units_for_half_width
from connector.agreement.dawid_skene import DawidSkene
from connector.agreement.report import QuestionReport
from connector.agreement.rows import fold_rows

LABELS = np.array(["a", "b", "c"])


def crowd(units: int = 300, seed: int = 3) -> Ratings:
    """Five raters of different skill, ragged; the last one mostly says "a"."""
    random = np.random.default_rng(seed)
    truth = random.integers(0, 3, (units, 1))
    skills = np.array([0.9, 0.85, 0.7, 0.6, 0.2])
    said = np.where(random.random((units, 5)) < skills, truth, random.integers(0, 3, (units, 5)))
    said[:, 4] = np.where(random.random(units) < 0.7, 0, said[:, 4])
    table = LABELS[said].astype(object)
    table[random.random((units, 5)) < 0.3] = None
    table[:2] = None
    ids = [f"u{place}" for place in range(units)]
    return Ratings.from_wide(table, unit_ids=ids, rater_ids=["ann", "bob", "cy", "di", "ed"])


def question(ratings: Ratings, **more: Any) -> QuestionReport:
    return assess([QuestionRatings("q", "choice", ratings, **more)]).questions["q"]


def consensus(report: QuestionReport) -> DawidSkene:
    assert isinstance(report.dawid_skene, DawidSkene)
    return report.dawid_skene


def test_the_report_holds_the_consensus_of_its_ratings() -> None:
    ratings = crowd()
    found, alone = consensus(question(ratings)), dawid_skene(ratings)
    assert (found.labels, found.iterations, found.converged) == (alone.labels, alone.iterations, True)
    assert found.log_likelihood == pytest.approx(alone.log_likelihood)


def test_units_are_counted_against_the_majority() -> None:
    report = question(crowd())
    found = consensus(report)
    pairs = list(zip(report.units.majority, found.labels, report.units.n_ratings, strict=True))
    rated = [(majority, label) for majority, label, n in pairs if n]
    assert found.n_units == len(rated) == 298
    assert found.n_other == sum(m is not None and label is not None and m != label for m, label in rated) > 0
    assert found.n_settled == sum(m is None and label is not None for m, label in rated) > 0
    assert found.n_tied == sum(label is None for _, label in rated)
    assert found.certainty[:2] == [None, None]
    for place, (certainty, row) in enumerate(zip(found.certainty, found.probabilities.tolist(), strict=True)):
        if place >= 2:
            assert certainty == pytest.approx(max(row), abs=1e-12)


def test_an_answer_is_unlike_the_consensus_as_often_as_its_class_is_another() -> None:
    ratings = crowd()
    found = consensus(question(ratings))
    place = {label: code for code, label in enumerate(found.classes)}
    for r, rater in enumerate(found.rater_ids):
        own = ratings.rater_ids.index(rater)
        said = [(unit, row[own]) for unit, row in enumerate(ratings.wide()) if row[own] is not None]
        chances = [found.probabilities[unit, place[label]] for unit, label in said]
        assert found.answers[r] == len(chances)
        assert found.errors[r] == pytest.approx(1 - np.mean(chances), abs=1e-9), rater
    assert found.rater_ids[found.worst_raters[0]] == "ed"
    assert found.rater_ids[found.worst_raters[-1]] in ("ann", "bob")


def test_units_that_differ_come_first_then_ties_then_the_least_certain() -> None:
    report = question(crowd())
    found = consensus(report)
    listed = found.units(1_000)
    assert len(listed) == found.n_units
    standing = [1 if one.majority is None else 2 if one.majority == one.label else 0 for one in listed]
    assert standing == sorted(standing)
    assert standing.count(0) == found.n_other
    for kind in (0, 1, 2):
        certain = [one.probability for one, own in zip(listed, standing, strict=True) if own == kind]
        assert certain == sorted(certain)
    label_of = dict(zip(found.unit_ids, found.labels, strict=True))
    for one in listed:
        assert one.label == label_of[one.unit]
        assert one.majority == report.units[one.unit].majority
    assert found.units(10) == listed[:10]


def test_plain_data_are_bounded_and_say_what_is_left_out() -> None:
    report = question(crowd(700))
    body = report.to_json()["dawid_skene"]
    json.dumps(body, allow_nan=False)
    assert len(body["units"]) == 500
    assert body["units_left_out"] == body["n_units"] - 500 == 198
    assert body["classes"] == ["a", "b", "c"]
    assert sum(body["shares"]) == pytest.approx(1)
    assert {one["rater"] for one in body["raters"]} == {"ann", "bob", "cy", "di", "ed"}
    assert "raters_left_out" not in body
    errors = [one["error"] for one in body["raters"]]
    assert errors == sorted(errors, reverse=True)
    for one in body["raters"]:
        for row in one["confusion"]:
            assert sum(row) == pytest.approx(1)


def test_a_class_that_none_of_a_raters_units_can_have_is_null() -> None:
    rows = [["a", "a", None], ["b", "b", None], ["a", None, "a"], ["b", "b", None]] * 3
    body = question(Ratings.from_wide(rows)).to_json()["dawid_skene"]
    third = next(one for one in body["raters"] if one["rater"] == 2)
    assert third["confusion"] == [[pytest.approx(1), pytest.approx(0, abs=1e-9)], [None, None]] or None not in [
        cell for row in third["confusion"] for cell in row
    ]
    json.dumps(body, allow_nan=False)


@pytest.mark.parametrize(
    ("data", "more", "reason"),
    [
        ([["1", "2"], ["2", "2"]], {"level": "ordinal"}, "wrong_level"),
        ([[("a",), ("a", "b")], [("b",), ("b",)]], {"distance": "masi"}, "wrong_level"),
        ([["a", None], [None, "b"]], {}, "no_pairable_units"),
        ([[None, None]], {}, "no_pairable_units"),
        ([[f"x{u}", f"y{u}"] for u in range(1_500)], {}, "too_large"),
    ],
)
def test_where_there_is_none_there_is_a_reason(data: list[list[Any]], more: dict[str, Any], reason: str) -> None:
    report = question(Ratings.from_wide(data), **more)
    assert report.dawid_skene == reason
    assert report.to_json()["dawid_skene"] == {"reason": reason}


def test_a_diagnosis_that_was_not_wanted_brings_neither() -> None:
    report = assess([QuestionRatings("q", "choice", crowd())], diagnose=False).questions["q"]
    assert report.dawid_skene == "not_asked_for"
    assert report.power is None
    assert not {"dawid_skene", "power"} & set(report.to_json())


def test_the_order_of_units_raters_and_rows_changes_nothing() -> None:
    ratings = crowd()
    rows = [
        (ratings.unit_ids[u], ratings.rater_ids[r], ratings.codebook.categories[v])
        for u, r, v in zip(ratings.units.tolist(), ratings.raters.tolist(), ratings.values.tolist(), strict=True)
    ]
    bodies = []
    for order in (rows, rows[::-1], sorted(rows, key=lambda row: row[1])):
        units, raters, values = zip(*order, strict=True)
        bodies.append(question(Ratings.from_long(units, raters, values)).to_json())
    for body in bodies[1:]:
        assert body["power"] == bodies[0]["power"]
        for one, first in zip(body["dawid_skene"]["units"], bodies[0]["dawid_skene"]["units"], strict=True):
            assert one == {**first, "probability": pytest.approx(first["probability"], abs=1e-9)}
        assert body["dawid_skene"]["iterations"] == bodies[0]["dawid_skene"]["iterations"]


def test_work_that_is_cut_short_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    ratings = crowd()
    monkeypatch.setattr("connector.agreement.dawid_skene.WORK", 20 * 3 * len(fold_rows(ratings).row))
    found = consensus(question(ratings))
    assert (found.converged, found.iterations) == (False, 20)


@pytest.mark.parametrize("half_width", [0.05, 0.02])
def test_units_for_a_half_width(half_width: float) -> None:
    ratings = crowd()
    report = assess([QuestionRatings("q", "choice", ratings)], half_width=half_width).questions["q"]
    assert report.power is not None
    assert report.power.units == units_for_half_width(ratings, half_width)
    assert report.to_json()["power"] == {"half_width": half_width, "confidence": 0.95, "units": report.power.units}


def test_no_units_where_nothing_is_known_of_the_spread() -> None:
    assert question(Ratings.from_wide([["a", "a"], ["a", "a"]])).to_json()["power"] is None
    agreed = question(Ratings.from_wide([["a", "a"], ["b", "b"]] * 20)).to_json()["power"]
    assert agreed == {"half_width": 0.05, "confidence": 0.95, "units": None}
    assert assess(crowd(), confidence=None).questions["value"].power is None
    with pytest.raises(ValueError, match="half_width"):
        assess(crowd(), half_width=0)


def test_many_distinct_numbers_are_counted_for_without_resampling(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(2)
    table = random.normal(0, 1, (1_600, 1)) + random.normal(0, 0.5, (1_600, 3))
    drawn = units_for_half_width(table[:1_400], 0.01, "interval")
    assert drawn is not None

    def refuse(*_: Any) -> None:
        raise AssertionError

    monkeypatch.setattr("connector.agreement.power.bootstrap", refuse)
    assert units_for_half_width(table, 0.01, "interval") == pytest.approx(drawn, rel=0.08)
