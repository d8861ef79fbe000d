"""A dataset's questions, and the answers that a response gives to them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from connector.annotations.collect import Collector, QuestionChoice, Table
from connector.annotations.model import Annotation, Missing, Unit
from connector.errors import DataNotTrusted
from connector.tools.argilla.schema import ArgillaSchema, Dataset, question_of, read_schema
from connector.tools.argilla.shape import unit_of
from tests.contract.argilla_conversation import TEXT
from tests.contract.recorded_argilla import RECORDED

QUESTIONS: list[dict[str, Any]] = RECORDED["questions"]["answer"]["items"]
RATERS = [user["id"] for user in RECORDED["users"]["answer"]["items"]]
RECORDS = [item["id"] for item in RECORDED["records"]["answer"]["items"]]


def table() -> Table:
    """The recorded dataset's."""
    collector = Collector(ArgillaSchema(QUESTIONS))
    for item in RECORDED["records"]["answer"]["items"]:
        collector.add(unit_of(item))
    return collector.table()


def values(name: str) -> dict[tuple[int, int], Any]:
    """(record, rater) -> value"""
    ratings = table().questions[name].ratings
    return {
        (RECORDS.index(str(ratings.unit_ids[unit])), RATERS.index(str(ratings.rater_ids[rater]))): (
            ratings.codebook.categories[value]
        )
        for unit, rater, value in zip(
            ratings.units.tolist(), ratings.raters.tolist(), ratings.values.tolist(), strict=True
        )
    }


def answers(result: Mapping[str, Any], data: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
    given = [{"question": name, "value": value} for name, value in result.items()]
    one = Annotation("1", "r", given)
    return ArgillaSchema(QUESTIONS).answers(one, Unit("u", [one], {"text": TEXT} if data is None else data))


# Questions


def test_each_type_of_question_becomes_its_kind() -> None:
    kinds = {one.name: one.kind for one in map(question_of, QUESTIONS)}
    assert kinds == {
        "label": "choice",
        "labels": "choices",
        "stars": "rating",
        "order": "ranking",
        "why": "text",
        "names": "spans",
    }


def test_categories_are_the_values_in_the_datasets_order_and_not_their_titles() -> None:
    found = {one.name: one for one in map(question_of, QUESTIONS)}
    assert found["label"].categories == ("pos", "neg")
    assert found["labels"].categories == found["order"].categories == found["names"].categories == ("a", "b", "c")
    assert found["stars"].categories == (1.0, 2.0, 3.0, 4.0, 5.0)
    assert found["stars"].bounds == (1.0, 5.0)
    assert found["why"].categories is None


@pytest.mark.parametrize(
    "item",
    [
        {"name": "q", "settings": {"type": "drawing"}},
        {"name": "q", "settings": None},
        {"name": "q"},
        {"name": "q", "settings": {"type": "rating", "options": []}},
        {"name": "q", "settings": {"type": "rating", "options": [{"value": "x"}, None, {}]}},
        {"name": "q", "settings": {"type": "label_selection", "options": "abc"}},
    ],
)
def test_a_question_of_any_form_is_no_bug(item: Any) -> None:
    question = question_of(item)
    assert question.name == "q"
    assert question.bounds is None
    ArgillaSchema([item])


def test_a_type_that_is_not_known_is_stored_and_not_measured() -> None:
    drawing = {"name": "drawing", "settings": {"type": "drawing"}}
    collector = Collector(ArgillaSchema([*QUESTIONS, drawing]))
    one = Annotation("1", "r", [{"question": "drawing", "value": {"x": 1}}])
    collector.add(Unit("u", [one], {"text": "t"}))
    assert [(name, kind) for name, kind, _ in collector.table().not_measured] == [("drawing", "drawing")]


def test_a_question_that_only_responses_name_is_told() -> None:
    collector = Collector(ArgillaSchema(QUESTIONS))
    collector.add(Unit("u", [Annotation("1", "r", [{"question": "old", "value": "x"}])], {"text": "t"}))
    (question,) = collector.table().not_measured
    assert (question.question, question.reason) == ("old", "the dataset does not ask it any more")


# What is remembered


def test_the_questions_survive_the_store() -> None:
    dataset = Dataset("d", "name", "ws", "w", "2026", 3, 2, QUESTIONS)
    assert Dataset.from_text(dataset.to_text()) == dataset
    assert dict(read_schema(dataset.to_text()).questions) == dict(ArgillaSchema(QUESTIONS).questions)


@pytest.mark.parametrize("text", ["", "<View/>", "null", "[]", "7", "{}", '{"id": "d", "questions": []}', "[" * 99999])
def test_settings_of_anything_else_are_not_read(text: str) -> None:
    assert Dataset.from_text(text) is None
    with pytest.raises(DataNotTrusted):
        read_schema(text)


def test_what_a_later_version_may_add_is_not_misread() -> None:
    text = Dataset("d", "name", "ws", "w", "2026", 3, 2, QUESTIONS).to_text()
    assert Dataset.from_text(json.dumps({**json.loads(text), "more": 1})) is None


# Answers


def test_only_submitted_responses_are_ratings() -> None:
    """The discarded one said "neg"."""
    assert values("label") == {(0, 0): "pos", (0, 1): "pos", (1, 0): "neg", (2, 2): "pos"}


def test_labels_are_a_set() -> None:
    assert values("labels") == {(0, 0): ("a", "b"), (0, 1): ("a", "b")}


def test_a_rating_is_a_number() -> None:
    assert values("stars") == {(0, 0): 4.0, (0, 1): 4.0}


def test_ties_of_a_ranking_are_kept() -> None:
    (value,) = set(values("order").values())
    ranks = dict(value)
    assert ranks["a"] == ranks["b"] < ranks["c"]


def test_all_that_is_left_out_is_counted() -> None:
    found = table()
    assert {key: found.left_out[key] for key in ("draft", "cancelled")} == {"draft": 3, "cancelled": 2}
    assert found.n_annotations + found.left_out["draft"] == 9
    assert found.questions["labels"].left_out["empty"] == 2
    assert found.questions["stars"].left_out["empty"] == 2


def test_labels_left_open_can_be_made_to_mean_none_of_them() -> None:
    collector = Collector(ArgillaSchema(QUESTIONS), choices={"labels": QuestionChoice(empty="none")})
    for item in RECORDED["records"]["answer"]["items"]:
        collector.add(unit_of(item))
    ratings = collector.table().questions["labels"].ratings
    assert sorted(ratings.codebook.categories[value] for value in ratings.values.tolist()) == [
        (),
        (),
        ("a", "b"),
        ("a", "b"),
    ]


# Spans


def test_the_pages_offsets_and_the_apis_are_one_span() -> None:
    """Behind an emoji the page counts one more than code points."""
    one, other = values("names")[0, 0], values("names")[0, 1]
    assert one == other == (len(TEXT), ((17, 23, ("a",)),))
    assert TEXT[17:23] == "rocket"


def test_what_was_mended_is_told() -> None:
    (note,) = table().notes
    assert note.startswith("1 spans count UTF-16 units")
    assert "could be either" not in note


def test_a_span_that_could_be_either_is_taken_as_the_pages_and_counted() -> None:
    """Between signs that are no words every place is as good as the next."""
    schema = ArgillaSchema(QUESTIONS)
    one = Annotation("1", "r", [{"question": "names", "value": [{"label": "a", "start": 4, "end": 5}]}])
    found = schema.answers(one, Unit("u", [one], {"text": "🚀--------"}))
    assert found["names"] == (9, ((3, 4, ("a",)),))
    assert any("could be either" in note for note in schema.notes)


def test_spans_before_the_emoji_are_left_alone() -> None:
    schema = ArgillaSchema(QUESTIONS)
    one = Annotation("1", "r", [{"question": "names", "value": [{"label": "a", "start": 5, "end": 9}]}])
    assert schema.answers(one, Unit("u", [one], {"text": TEXT}))["names"] == (len(TEXT), ((5, 9, ("a",)),))
    assert schema.notes == []


def test_no_mark_is_the_answer_that_nothing_is_there() -> None:
    """Untouched in the page ([]) or left out: the same."""
    nothing = (len(TEXT), ())
    assert answers({"label": "pos", "names": []})["names"] == nothing
    assert answers({"label": "pos"})["names"] == nothing


def test_a_response_without_any_answer_says_nothing() -> None:
    assert answers({}) == {}


def test_a_record_without_the_field_did_not_show_the_question() -> None:
    assert answers({"label": "pos"}, data={})["names"] == Missing("not_shown")


def test_the_text_that_metadata_of_the_same_name_hides_is_found() -> None:
    found = answers({"names": [{"label": "a", "start": 0, "end": 4}]}, {"text": "metadata", "field:text": TEXT})
    assert found["names"] == (len(TEXT), ((0, 4, ("a",)),))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("label", ["pos", {}]), ("label", {"a": 1}), ("labels", [{}]), ("stars", "many"), ("stars", True)),
        *(("order", "abc"), ("order", [7]), ("order", [{"value": "a", "rank": "first"}]), ("why", 7)),
        *(("names", "text"), ("names", [{"label": "a"}]), ("names", [{"label": "a", "start": -1, "end": 2}])),
        ("names", [{"label": {}, "start": 0, "end": 2}]),
    ],
)
def test_an_answer_that_cannot_be_read_is_counted_as_such(name: str, value: Any) -> None:
    assert answers({name: value})[name] == Missing("unreadable")


@pytest.mark.parametrize("name", ["label", "labels", "stars", "order", "why"])
@pytest.mark.parametrize("value", [None, "", "  ", [], float("nan")])
def test_no_answer_is_never_a_category(name: str, value: Any) -> None:
    assert isinstance(answers({name: value})[name], Missing)


def test_what_was_stored_is_read_as_it_came() -> None:
    """Through the store every value goes as JSON."""
    item = RECORDED["records"]["answer"]["items"][0]
    unit = unit_of(item)
    stored = json.loads(json.dumps(unit.annotations[0].result))
    schema = ArgillaSchema(QUESTIONS)
    assert schema.answers(unit.annotations[0]._replace(result=stored), unit) == schema.answers(
        unit.annotations[0], unit
    )
