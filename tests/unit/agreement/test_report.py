from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from connector import QuestionRatings, Ratings, assess, decide
from connector.agreement.report import MOST_LISTED, category_key, json_value

ROWS = [["a", "a", None], ["a", "b", "b"], ["b", "b", "b"], ["c", None, None], [None, None, None]]


def test_json_has_the_stable_names() -> None:
    question = QuestionRatings("topic", "choice", Ratings.from_wide(ROWS), left_out={"cancelled": 2, "empty": 1})
    missing = {"question": "box", "kind": "rectanglelabels", "reason": "not measured yet"}
    report = assess([question], not_measured=[missing])
    body = report.with_gate(decide(report)).to_json()
    assert body["version"] == 1
    assert body["not_measured"] == [missing]
    found = body["questions"]["topic"]
    counts = {name: found[name] for name in ("n_units", "n_pairable_units", "n_raters", "n_ratings", "n_categories")}
    assert counts == {"n_units": 4, "n_pairable_units": 3, "n_raters": 3, "n_ratings": 9, "n_categories": 3}
    assert (found["kind"], found["level"], found["distance"]) == ("choice", "nominal", "nominal")
    assert found["left_out"] == {"cancelled": 2, "empty": 1}
    kappas = {"cohen_kappa", "scott_pi", "fleiss_kappa", "conger_kappa", "brennan_prediger", "gwet_ac1"}
    assert set(found["coefficients"]) == {"krippendorff_alpha", "percent_agreement", *kappas}
    for one in found["coefficients"].values():
        assert set(one) - {"analytic"} == {"value", "low", "high", "reason", "observed", "expected"}
    assert set(found["coefficients"]["gwet_ac1"]["analytic"]) == {"low", "high", "standard_error"}
    assert found["coefficients"]["cohen_kappa"]["reason"] == "not_two_raters"
    assert found["coefficients"]["fleiss_kappa"]["reason"] == "ragged"
    assert found["pairs"] == [{"a": "a", "b": "b", "n": 2, "share": 1.0}]
    assert found["categories"]["c"] == {
        "share": pytest.approx(1 / 9),
        "specific_agreement": None,
        "one_vs_rest": None,
        "low": None,
        "high": None,
        "too_rare": True,
        "reason": "no_variation",
    }
    assert set(body["gate"]) >= {
        *("verdict", "coefficient", "rule", "threshold", "value", "low", "high", "size", "look", "reasons", "questions")
    }
    json.dumps(body, allow_nan=False)


def test_the_interval_says_how_it_was_made() -> None:
    few = assess(Ratings.from_wide(ROWS)).to_json()["questions"]["value"]["interval"]
    assert (few["method"], few["added_conflict"]) == ("jackknife", True)
    many = assess(Ratings.from_wide(ROWS * 40), seed=7).to_json()["questions"]["value"]["interval"]
    assert many == {
        "confidence": 0.95,
        "method": "bootstrap",
        "replicates": 2000,
        "seed": 7,
        "added_conflict": False,
        "added_agreement": False,
    }
    assert assess(Ratings.from_wide(ROWS), confidence=None).to_json()["questions"]["value"]["interval"] is None


def test_observed_and_expected_are_disagreement_for_alpha_and_agreement_for_the_kappas() -> None:
    found = assess(Ratings.from_wide([["a", "a"], ["a", "b"], ["b", "b"], ["b", "b"]])).questions["value"].coefficients
    alpha, kappa = found["krippendorff_alpha"], found["cohen_kappa"]
    assert alpha.observed == 0.25
    assert alpha.expected == pytest.approx(2 * 3 * 5 / (8 * 7))
    assert kappa.observed == 0.75
    assert kappa.expected == pytest.approx(0.5)
    assert alpha.value == pytest.approx(1 - (alpha.observed or 0) / (alpha.expected or 1))


def test_declared_categories_nobody_used_are_listed() -> None:
    source = QuestionRatings("q", "choice", Ratings.from_wide([["b", "a"], ["b", "b"]]), categories=["c", "b", "a"])
    found = assess([source]).questions["q"]
    assert [(one.category, one.share) for one in found.categories] == [("c", 0.0), ("b", 0.75), ("a", 0.25)]
    assert found.n_categories == 3


def test_declared_order_makes_labels_ordinal() -> None:
    rows = [["low", "mid"], ["mid", "high"], ["low", "low"]]
    source = QuestionRatings("q", "choice", Ratings.from_wide(rows), "ordinal", categories=["low", "mid", "high"])
    found = assess([source]).questions["q"]
    assert found.alpha.value is not None
    assert found.coefficients["weighted_kappa"].value is not None
    assert found.units[0].agreement == 0.5


def test_low_variation_stands_beside_the_number() -> None:
    few, enough = ([["a", "a"]] * 100 + [["b", "b"]] * n for n in (9, 10))
    assert assess(Ratings.from_wide(few)).questions["value"].notes == ("low_variation",)
    assert assess(Ratings.from_wide(enough)).questions["value"].notes == ()


@pytest.mark.parametrize(
    ("category", "key"),
    [
        ("plain", "plain"),
        ("a/b", "a/b"),
        (3.0, "3"),
        (2.5, "2.5"),
        (("animal", "cat"), "animal/cat"),
        (("a/b", "c\\d"), "a\\/b/c\\\\d"),
    ],
)
def test_categories_as_json_keys(category: Any, key: str) -> None:
    assert category_key(category) == key


def test_paths_and_sets_in_json() -> None:
    both, one = (("a", "x/y"), ("b",)), (("b",),)
    source = QuestionRatings("q", "paths", Ratings.from_wide([[both, one], [one, one]]), distance="masi")
    found = assess([source]).to_json()["questions"]["q"]
    assert list(found["categories"]) == ["a/x\\/y", "b"]
    assert found["pairs"] == [{"a": ["a/x\\/y", "b"], "b": ["b"], "n": 1, "share": 1.0}]
    assert json_value(("a/b", "c")) == ["a/b", "c"]


def test_a_number_and_its_text_do_not_share_a_key() -> None:
    found = assess(Ratings.from_wide([[1, "1"], [1, 1]])).to_json()["questions"]["value"]
    assert sum(one["share"] for one in found["categories"].values()) == pytest.approx(1.0)


def test_long_lists_say_what_they_leave_out() -> None:
    values = np.arange(2 * (MOST_LISTED + 100)).reshape(-1, 2)
    found = assess(Ratings.from_wide(values), confidence=None).to_json()["questions"]["value"]
    assert len(found["pairs"]) == MOST_LISTED
    assert found["pairs_left_out"] == 100
    assert len(found["categories"]) == MOST_LISTED
    assert found["categories_left_out"] == MOST_LISTED + 200


def test_several_questions_by_name() -> None:
    ratings = Ratings.from_wide([["a", "b"], ["a", "a"]])
    assert list(assess({"one": ratings, "two": ratings}).questions) == ["one", "two"]
    assert list(assess(QuestionRatings("three", "choice", ratings)).questions) == ["three"]
