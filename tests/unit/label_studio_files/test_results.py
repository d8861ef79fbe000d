"""Which results are answers about the task, and what kind of question they make."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.unit.label_studio_files.tasks import CASES, annotation, choose, result, table_of, task, values

SHAPES = json.loads((CASES / "shapes.json").read_text())["shapes"]
SPAN = {
    "id": "r1",
    "from_name": "ner",
    "to_name": "text",
    "type": "labels",
    "value": {"start": 0, "end": 7, "labels": ["PER"]},
}


def test_a_control_is_single_until_an_annotation_holds_several_labels() -> None:
    one = task(1, annotation(1, 2, choose("a")), annotation(2, 3, choose("b")))
    assert table_of([one]).questions["sent"].question.kind == "choice"
    two = task(2, annotation(3, 2, choose("b", "a")))
    for tasks in ([one, two], [two, one]):
        question = table_of(tasks).questions["sent"]
        assert question.question.kind == "choices"
        assert values(question) == {("1", "2"): ("a",), ("1", "3"): ("b",), ("2", "2"): ("a", "b")}


def test_results_of_one_control_are_one_answer() -> None:
    question = table_of([task(1, annotation(1, 2, [*choose("b"), *choose("a")]))]).questions["sent"]
    assert values(question) == {("1", "2"): ("a", "b")}


def test_two_numbers_of_one_control_are_unreadable_unless_equal() -> None:
    equal = [result("q", "rating", 4), result("q", "rating", "4")]
    differ = [result("q", "rating", 4), result("q", "rating", 5)]
    question = table_of([task(1, annotation(1, 2, equal), annotation(2, 3, differ))]).questions["q"]
    assert values(question) == {("1", "2"): 4.0}
    assert question.left_out == {"unreadable": 1}


@pytest.mark.parametrize(
    ("of_part", "unit"),
    [
        ({"id": "r1", "value": {"start": 0, "end": 7, "choices": ["good"]}}, "1#1"),
        ({"id": "r1", "value": {"choices": ["good"]}}, "1#1"),
        ({"id": "other", "value": {"start": 8, "end": 9, "choices": ["good"]}}, "1#2"),
        ({"id": "other", "value": {"choices": ["good"]}, "item_index": 3}, "1#3"),
    ],
)
def test_an_answer_about_a_part_is_never_one_about_the_task(of_part: dict[str, Any], unit: str) -> None:
    per_part = {"from_name": "polarity", "to_name": "text", "type": "choices", **of_part}
    for results in ([SPAN, per_part], [per_part, SPAN]):
        table = table_of([task(1, annotation(1, 2, results), data={"text": "x" * 10})])
        assert {name: one.question.kind for name, one in table.questions.items()} == {
            "ner": "spans",
            "polarity": "choice",
        }
        assert values(table.questions["polarity"]) == {(unit, "2"): "good"}


def test_a_task_level_answer_beside_a_region_is_read() -> None:
    table = table_of([task(1, annotation(1, 2, [SPAN, *choose("pos")]))])
    assert values(table.questions["sent"]) == {("1", "2"): "pos"}


@pytest.mark.parametrize(
    ("kind", "raw", "expected_kind", "value"),
    [
        ("choices", ["pos"], "choice", "pos"),
        ("choices", [1], "choice", "1"),
        ("choices", "pos", "choice", "pos"),
        ("taxonomy", [["Animal", "Dog"], ["Plant"]], "paths", (("Animal", "Dog"), ("Plant",))),
        ("rating", 2, "rating", 2.0),
        ("number", 7.5, "number", 7.5),
        ("number", "-1e3", "number", -1000.0),
        ("pairwise", "left", "pairwise", "left"),
        ("datetime", "1970-01-02", "date", 86400.0),
        ("datetime", "1970-01-01T01:00:00+01:00", "date", 0.0),
        ("datetime", "1970-02", "date", 31 * 86400.0),
        ("datetime", 1971, "date", 365 * 86400.0),
        ("datetime", "00:01", "date", 60.0),
        ("datetime", "1:00:30", "date", 3630.0),
    ],
)
def test_every_measured_type(kind: str, raw: Any, expected_kind: str, value: Any) -> None:
    question = table_of([task(1, annotation(1, 2, [result("q", kind, raw)]))]).questions["q"]
    assert (question.question.kind, values(question)) == (expected_kind, {("1", "2"): value})


@pytest.mark.parametrize("raw", ["", None, []])
def test_an_emptied_answer_is_empty(raw: Any) -> None:
    question = table_of([task(1, annotation(1, 2, [result("q", "taxonomy", raw)]))]).questions["q"]
    assert question.left_out == {"empty": 1}


def test_a_label_may_be_called_what_a_reason_is_called() -> None:
    given = [choose("empty", "x"), choose("empty"), choose("unreadable"), choose({}), choose()]
    question = table_of([task(1, *(annotation(n, n, one) for n, one in enumerate(given, 1)))]).questions["sent"]
    assert list(values(question).values()) == [("empty", "x"), ("empty",), ("unreadable",)]
    assert question.left_out == {"unreadable": 1, "empty": 1}


def test_types_that_differ_under_one_name_are_unreadable_not_mixed() -> None:
    tasks = [task(1, annotation(1, 2, [result("q", "rating", 4)]), annotation(2, 3, choose("4", name="q")))]
    question = table_of(tasks).questions["q"]
    assert (question.question.kind, question.left_out) == ("rating", {"unreadable": 1})


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape["example"])
def test_every_known_type_is_either_a_question_or_listed_as_not_measured(shape: dict[str, Any]) -> None:
    for config in (None, shape["config"]):
        table = table_of([task(1, annotation(1, 2, shape["result"]), data={})], config)
        named = {*table.questions, *(one.question for one in table.not_measured)}
        made = {one.get("from_name", "relations") for one in shape["result"]}
        assert {name for name in made if re.sub(r"_\d+$", "_{{idx}}", name) not in named} <= named
        assert not table.malformed
        answered = [name for name, one in table.questions.items() if one.ratings.n_ratings]
        declared_and_empty = set(table.unanswered)
        assert set(table.questions) - declared_and_empty == set(answered)
