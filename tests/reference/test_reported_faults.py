"""Faults that people reported to other programs: each input with the right value."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from connector import GateRule, QuestionRatings, Ratings, assess, decide, krippendorff_alpha
from connector.agreement.distances import COMPARISONS
from tests.reference.support import records, table

FAULTS = {record["id"]: record for record in records("reported_faults.json")}
NOMINAL = sorted(
    fault for fault, record in FAULTS.items() if "units" in record["input"] and "alpha_nominal" in record["expected"]
)


@pytest.mark.parametrize("fault", NOMINAL)
def test_alpha_of_the_reported_input(fault: str) -> None:
    expected = FAULTS[fault]["expected"]["alpha_nominal"]
    found = krippendorff_alpha(table(FAULTS[fault]["input"]["units"]))
    assert found.value == (None if expected is None else pytest.approx(expected, abs=5e-6))
    assert (found.reason is None) == (found.value is not None)


def test_st01_zero_alpha_comes_with_a_caution_and_its_company() -> None:
    question = assess(table(FAULTS["ST-01"]["input"]["units"])).questions["value"]
    assert question.alpha.value == pytest.approx(0.0, abs=1e-12)
    assert question.notes == ("low_variation",)
    assert question.coefficients["percent_agreement"].value == pytest.approx(0.92)
    assert [one.share for one in question.categories] == [pytest.approx(1 / 22), pytest.approx(21 / 22)]


@pytest.mark.parametrize(
    ("fault", "reason"), [("ST-02", "no_variation"), ("ST-03", "no_pairable_units"), ("ST-04", "no_variation")]
)
def test_undefined_has_a_reason_and_is_never_decided(fault: str, reason: str) -> None:
    report = assess(table(FAULTS[fault]["input"]["units"]))
    assert report.questions["value"].alpha.reason == reason
    assert report.to_json()["questions"]["value"]["coefficients"]["krippendorff_alpha"]["value"] is None
    for rule in ("point", "confident"):
        decision = decide(report, GateRule(size=1, coverage=0, rule=rule))
        assert decision.verdict == "UNDECIDED"
        assert reason in decision.reasons


def test_st04_one_pairable_unit_is_reported() -> None:
    assert assess(table(FAULTS["ST-04"]["input"]["units"])).questions["value"].n_pairable_units == 1


def test_st07_the_record_is_the_unit() -> None:
    rows = [
        (record["id"], rater, value)
        for record in FAULTS["ST-07"]["input"]["records"]
        for rater, value in record["label"].items()
    ]
    units, raters, values = zip(*rows, strict=True)
    assert krippendorff_alpha(Ratings.from_long(units, raters, values)).value == pytest.approx(1.0)


def test_st08_sets_have_no_order() -> None:
    first, second = FAULTS["ST-08"]["input"]["values"]
    ratings = Ratings.from_long(["u", "u"], ["r", "s"], [first, second])
    assert ratings.codebook.categories == (("a", "b"),)


@pytest.mark.parametrize(
    ("name", "distance"), [("alpha_jaccard", "jaccard"), ("alpha_masi", "masi"), ("alpha_exact", None)]
)
def test_st09_sets_by_distance(name: str, distance: str | None) -> None:
    fault = FAULTS["ST-09"]
    found = krippendorff_alpha(table(fault["input"]["units"]), distance=distance)
    assert found.value == pytest.approx(fault["expected"][name], abs=5e-6)


def test_st09_each_label_stands_beside_the_sets() -> None:
    fault = FAULTS["ST-09"]
    question = QuestionRatings("labels", "choices", table(fault["input"]["units"]), distance="masi")
    found = assess([question]).questions["labels"]
    assert found.alpha.value == pytest.approx(fault["expected"]["alpha_masi"], abs=5e-6)
    assert found.coefficients["krippendorff_alpha_exact"].value == pytest.approx(0.16)
    assert [one.category for one in found.categories] == ["l1", "l2", "l3"]
    # l1: units (1,1) (1,1) (0,0) (0,1) by two raters
    has_l1 = [[1, 1], [1, 1], [0, 0], [0, 1]]
    assert found.categories[0].one_vs_rest == pytest.approx(krippendorff_alpha(has_l1).value, abs=1e-12)


def test_st11_labels_are_compared_by_equality() -> None:
    (first, second), *_ = FAULTS["ST-11"]["input"]["sets"]
    ratings = Ratings.from_wide([[first, second]])
    assert len(ratings.codebook) == 2
    ones, twos = np.array([0]), np.array([1])
    assert COMPARISONS["jaccard"].pairs(ratings.codebook.categories, ones, twos)[0] == 1.0


def test_st12_a_negative_alpha_is_kept_and_no_go() -> None:
    decision = decide(assess(table(FAULTS["ST-12"]["input"]["units"])), GateRule(size=1))
    assert decision.verdict == "NO-GO"
    assert decision.value == pytest.approx(-0.5)
    assert any("less than chance" in message for message in decision.messages)


def test_st15_ordinal_is_krippendorffs() -> None:
    fault = FAULTS["ST-15"]
    data = next(one for one in records("tables.json") if one["id"] == fault["input"]["table"])["data"]
    found = krippendorff_alpha(table(data), "ordinal").value
    assert found == pytest.approx(fault["expected"]["alpha_ordinal"], abs=5e-6)


def test_st16_neither_ratings_nor_distinct_values_are_squared() -> None:
    fault = FAULTS["ST-16"]
    size = fault["input"]["generate"]
    random = np.random.default_rng(1)
    n = size["units"] * size["raters"]
    units = np.repeat(np.arange(size["units"]), size["raters"])
    raters = np.tile(np.arange(size["raters"]), size["units"])
    began = time.perf_counter()
    labels = Ratings.from_codes(units, raters, random.integers(0, size["labels"], n))
    assert krippendorff_alpha(labels).value == pytest.approx(0.0, abs=0.01)
    texts = [f"text {one}" for one in random.integers(0, fault["input"]["free_text_distinct"], n)]
    assert krippendorff_alpha(Ratings.from_long(units, raters, texts)).value == pytest.approx(0.0, abs=0.01)
    assert time.perf_counter() - began < fault["expected"]["seconds_max"]


def test_st17_the_order_of_rows_does_not_matter() -> None:
    rows: list[list[Any]] = FAULTS["ST-17"]["input"]["rows"]
    reports = []
    for order in (rows, rows[::-1], sorted(rows)):
        raters, units, values = zip(*order, strict=True)
        found = assess(Ratings.from_long(units, raters, values))
        assert found.questions["value"].alpha.value == pytest.approx(1.0)
        reports.append(found.to_json())
    assert reports[0] == reports[1] == reports[2]
