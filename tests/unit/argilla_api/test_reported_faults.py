"""Faults that people reported of Argilla's records over the API, each with its right value, and others of its kind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from connector import krippendorff_alpha
from connector.annotations.collect import Collector, Table
from connector.tools.argilla.check import compare
from connector.tools.argilla.schema import ArgillaSchema
from connector.tools.argilla.shape import unit_of

REPORTS: dict[str, Any] = json.loads((Path(__file__).parents[2] / "cases" / "reports.json").read_text("utf-8"))[
    "reports"
]
LABELS = [{"value": one} for one in ("a", "b", "X")]


def question(name: str, kind: str, **settings: Any) -> dict[str, Any]:
    return {
        "id": f"id-of-{name}",
        "name": name,
        "required": True,
        "settings": {"type": kind, "options": LABELS, **settings},
    }


def record(responses: list[dict[str, Any]], number: str = "r1", **changes: Any) -> dict[str, Any]:
    """A record of the API; responses are given what a real server adds."""
    added = [
        {"id": f"{number}-{place}", "inserted_at": "2026-11-30T08:00:00", "updated_at": "2026-11-30T08:00:00", **one}
        for place, one in enumerate(responses)
    ]
    return {"id": number, "fields": {"text": "t"}, "metadata": None, "responses": added, **changes}


def table_of(records: list[dict[str, Any]], *questions: dict[str, Any]) -> Table:
    collector = Collector(ArgillaSchema(questions))
    for one in records:
        collector.add(unit_of(one))
    return collector.table()


def test_ar_02_all_responses_of_all_users() -> None:
    report = REPORTS["AR-02"]
    table = table_of([record(report["input"]["responses"])], question("q", "label_selection"))
    assert table.questions["q"].ratings.n_ratings == report["expected"]["ratings"]


def test_ar_02_what_came_is_what_counts_and_what_is_left_out() -> None:
    submitted = [{"user_id": f"u{n}", "status": "submitted", "values": {"q": {"value": "a"}}} for n in range(5)]
    others = [
        {"user_id": "d1", "status": "draft", "values": {"q": {"value": "a"}}},
        {"user_id": "d2", "status": "discarded", "values": {"q": {"value": "a"}}},
        {"user_id": "d3", "status": "submitted", "values": {"other": {"value": "a"}}},
    ]
    table = table_of([record([*submitted, *others])], question("q", "label_selection"))
    assert table.questions["q"].ratings.n_ratings == 5
    assert sum(table.left_out.values()) == 3


def test_ar_03_a_cleared_form_is_no_rating() -> None:
    report = REPORTS["AR-03"]
    table = table_of([record(report["input"]["responses"])], question("q", "label_selection"))
    assert table.questions["q"].ratings.n_ratings == report["expected"]["ratings"]
    assert table.left_out == {"draft": 1, "empty": 1}


@pytest.mark.parametrize("status", ["draft", "discarded", "submitted"])
@pytest.mark.parametrize("values", [None, {}, {"q": None}, {"q": {}}, {"q": {"value": None}}, {"gone": {"value": "a"}}])
@pytest.mark.parametrize("kind", ["label_selection", "multi_label_selection", "rating", "ranking", "text"])
def test_ar_03_nor_are_values_that_are_not_there(status: str, values: Any, kind: str) -> None:
    table = table_of([record([{"user_id": "u", "status": status, "values": values}])], question("q", kind))
    assert table.questions["q"].ratings.n_ratings == 0
    assert sum(table.left_out.values()) == 1


def test_ar_04_an_emoji_shifts_no_span() -> None:
    report = REPORTS["AR-04"]
    responses = [
        {"user_id": f"u{place}", "status": "submitted", "values": {"q": {"value": spans}}}
        for place, spans in enumerate(report["input"]["responses"])
    ]
    text = report["input"]["text"]
    table = table_of([record(responses, fields={"text": text})], question("q", "span", field="text"))
    ratings = table.questions["q"].ratings
    first, second = (ratings.codebook.categories[value] for value in ratings.values.tolist())
    assert float(first == second) == report["expected"]["agree_after_repair"]
    ((start, end, labels),) = first[1]
    assert (text[start:end], labels) == ("rocket", ("X",))
    assert "UTF-16" in table.notes[0]


@pytest.mark.parametrize("before", ["", "🚀", "🚀🚀 ", "👩‍👩‍👧 and ", "𝒳 is ", "e\u0301 ", "漢字 ", "🏳️‍🌈: "])
@pytest.mark.parametrize("behind", [" ends here.", " 🎉 ends"])
def test_ar_04_any_sign_that_takes_two_units(before: str, behind: str) -> None:
    """Marked in the page (UTF-16) and by a program (code points), the same word is the same span."""
    text = f"{before}rocket{behind}"
    start = len(before)
    unit = len(before.encode("utf-16-le")) // 2
    answers = [(start, start + 6), (unit, unit + 6)]
    responses = [
        {
            "user_id": f"u{place}",
            "status": "submitted",
            "values": {"q": {"value": [{"start": first, "end": last, "label": "X"}]}},
        }
        for place, (first, last) in enumerate(answers)
    ]
    table = table_of([record(responses, fields={"text": text})], question("q", "span", field="text"))
    (value,) = table.questions["q"].ratings.codebook.categories
    assert value[1] == ((start, start + 6, ("X",)),)


def test_ar_05_a_user_who_is_not_on_the_server_is_a_rater_all_the_same() -> None:
    given = REPORTS["AR-05"]["input"]
    responses = [
        {"user_id": user, "status": "submitted", "values": {"q": {"value": "a"}}} for user in given["responses_by"]
    ]
    table = table_of([record(responses)], question("q", "label_selection"))
    assert sorted(table.rater_ids) == sorted(given["responses_by"])


@pytest.mark.parametrize("nobody", [None, "None", "null", "", "  "])
def test_ar_08_a_missing_id_is_nobody_and_counted(nobody: Any) -> None:
    responses = [{"user_id": nobody, "status": "submitted", "values": {"q": {"value": one}}} for one in ("a", "b")]
    table = table_of([record(responses)], question("q", "label_selection"))
    assert table.left_out == {"no_rater": REPORTS["AR-08"]["expected"]["unknown_rater_responses"]}
    assert list(table.rater_ids) == []


def test_ar_10_ties_count_and_partial_rankings_of_drafts_do_not() -> None:
    report = REPORTS["AR-10"]
    table = table_of([record(report["input"]["responses"])], question("rk", "ranking"))
    ratings = table.questions["rk"].ratings
    assert ratings.n_ratings == report["expected"]["ratings"]
    ranks = dict(ratings.codebook.categories[0])
    assert ranks["a"] == ranks["b"] < ranks["c"]


def test_ar_11_a_suggestion_is_no_rating() -> None:
    report = REPORTS["AR-11"]
    (given,) = report["input"]["label"]
    suggested = {
        "question_id": "id-of-label",
        "value": report["input"]["label-suggestion"],
        **report["input"]["label-suggestion-metadata"],
    }
    response = {"user_id": given["user_id"], "status": given["status"], "values": {"label": {"value": given["value"]}}}
    item = record([response], suggestions=[suggested])
    label = question("label", "label_selection")
    assert table_of([item], label).questions["label"].ratings.n_ratings == report["expected"]["ratings"]
    assert compare([item], [label]) == (1, report["expected"]["equal_to_suggestion"])


def test_st_07_the_unit_is_the_record_and_not_the_question() -> None:
    report = REPORTS["ST-07"]
    records = [
        record(
            [
                {"user_id": user, "status": "submitted", "values": {"label": {"value": value}}}
                for user, value in one["label"].items()
            ],
            one["id"],
        )
        for one in report["input"]["records"]
    ]
    ratings = table_of(records, question("label", "label_selection")).questions["label"].ratings
    assert krippendorff_alpha(ratings).value == report["expected"]["alpha_nominal"]


def test_st_08_labels_are_compared_as_sets() -> None:
    responses = [
        {"user_id": f"u{place}", "status": "submitted", "values": {"q": {"value": value}}}
        for place, value in enumerate(REPORTS["ST-08"]["input"]["values"])
    ]
    table = table_of([record(responses)], question("q", "multi_label_selection"))
    assert list(table.questions["q"].ratings.codebook.categories) == [("a", "b")]
