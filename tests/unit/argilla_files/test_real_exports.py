"""One dataset of a real server, exported in every way there is: the same ratings each time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from connector.errors import FixConfiguration
from tests.unit.argilla_files.records import CASES, Read, read, values

FOLDER = CASES / "argilla"
COMPLETE = ("kinds_flat.json", "kinds_page.json", "kinds_hf.jsonl", "kinds_hf.parquet", "kinds_pandas.csv")
FLAT = tuple(name for name in COMPLETE if name != "kinds_page.json")
PAGE = json.loads((FOLDER / "kinds_page.json").read_text(encoding="utf-8"))["items"]
DOC = {one["external_id"]: one["id"] for one in PAGE}
ANN, BOB, CID = "b8365c7a-77df-4266-8864-491e1ff2cb3c", "96806982-4d63-4c1a-9ce5-d0b198cfc5f9", ""
CID = next(one["user_id"] for row in PAGE for one in row["responses"] if one["user_id"] not in (ANN, BOB))
SENTIMENT = {
    ("doc-0", ANN): "pos",
    ("doc-0", BOB): "pos",
    ("doc-1", ANN): "neg",
    ("doc-1", BOB): "neg",
    ("doc-2", ANN): "neu",
    ("doc-2", BOB): "pos",
    ("doc-3", CID): "pos",
    ("doc-3", ANN): "pos",
}
TOPICS = {
    ("doc-0", ANN): ("price", "staff"),
    ("doc-0", BOB): ("price",),
    ("doc-1", ANN): ("staff",),
    ("doc-1", BOB): ("food", "staff"),
}
STARS = {
    ("doc-0", ANN): 4,
    ("doc-0", BOB): 5,
    ("doc-1", ANN): 2,
    ("doc-1", BOB): 2,
    ("doc-2", ANN): 3,
    ("doc-2", BOB): 3,
    ("doc-3", CID): 5,
    ("doc-3", ANN): 4,
}
NAMES = {
    ("doc-0", ANN): (20, ((0, 3, ("PER",)), (8, 11, ("PER",)), (15, 19, ("ORG",)))),
    ("doc-0", BOB): (20, ((0, 3, ("PER",)), (15, 20, ("ORG",)))),
    # Ann's offsets count UTF-16 units and Bob's code points: the same word
    ("doc-1", ANN): (20, ((7, 10, ("PER",)),)),
    ("doc-1", BOB): (20, ((7, 10, ("PER",)), (16, 20, ("ORG",)))),
    # an empty list, and no answer to this question at all
    ("doc-2", ANN): (12, ()),
    ("doc-2", BOB): (12, ()),
    ("doc-3", CID): (27, ((0, 4, ("PER",)), (14, 17, ("PER",)))),
    ("doc-3", ANN): (27, ((0, 4, ("PER",)), (14, 17, ("PER",)), (22, 26, ("ORG",)))),
}
"""What the raters were made to answer; one record has drafts and discarded answers only, one none."""


@pytest.fixture(params=COMPLETE)
def found(request: pytest.FixtureRequest) -> Read:
    return read(FOLDER / request.param)


def by_document(found: Read, question: str) -> dict[tuple[str, str], Any]:
    name = {ident: doc for doc, ident in DOC.items()}
    return {(name[unit], rater): value for (unit, rater), value in values(found.table.questions[question]).items()}


def test_units_go_by_the_servers_id_whoever_rated_them(found: Read) -> None:
    assert sorted(found.table.unit_ids) == sorted(DOC.values())
    assert {unit.data["external_id"]: unit.id for unit in found.units} == DOC
    assert found.units[0].data["source"] == "mail"
    assert found.units[0].data["text"] == "Ann met Bob at Acme."


def test_labels_sets_and_ratings_are_those_that_were_given(found: Read) -> None:
    assert by_document(found, "sentiment") == SENTIMENT
    assert by_document(found, "topics") == TOPICS
    assert by_document(found, "stars") == STARS
    assert [found.table.questions[one].question.kind for one in ("sentiment", "topics", "stars")] == [
        "choice",
        "choices",
        "rating",
    ]


def test_drafts_and_discarded_answers_are_counted_and_never_rated(found: Read) -> None:
    assert found.table.left_out["draft"] == 2
    assert found.table.left_out["cancelled"] == 2


def test_spans_are_in_code_points_and_an_answer_without_a_mark_says_nothing_here(found: Read) -> None:
    found_marks = {
        (unit.data["external_id"], one.rater): found.source.schema.answers(one, unit)["names"]
        for unit in found.units
        for one in unit.annotations
        if one.status == "submitted"
    }
    assert found_marks == NAMES
    assert found.source.schema.questions["names"].kind == "spans"
    assert "The spans of 'names' are taken to mark 'text'" in found.notes
    assert "2 spans count UTF-16 units" in found.notes


def test_every_question_says_that_its_kind_was_read_off_the_answers(found: Read) -> None:
    questions = found.source.schema.questions
    assert set(questions) == {"sentiment", "topics", "stars", "order", "names", "comment"}
    assert all(one.inferred for one in questions.values())
    assert questions["comment"].kind == "text"
    assert not questions["comment"].required


@pytest.mark.parametrize("name", FLAT)
def test_a_ranking_that_the_sdk_flattened_is_not_measured_because_ties_are_lost(name: str) -> None:
    table = read(FOLDER / name).table
    (order,) = [one for one in table.not_measured if one.question == "order"]
    assert "equal ranks cannot be told" in order.reason
    assert "order" not in table.questions


def test_the_apis_records_keep_ties() -> None:
    found = read(FOLDER / "kinds_page.json")
    ranks = {
        (unit.data["external_id"], one.rater): found.source.schema.answers(one, unit).get("order")
        for unit in found.units
        for one in unit.annotations
        if one.status == "submitted"
    }
    assert ranks["doc-0", ANN] == (("a", 1), ("b", 1), ("c", 3))
    assert ranks["doc-1", BOB] == (("a", 2), ("b", 2), ("c", 1))
    assert found.source.schema.questions["order"].kind == "ranking"


def test_the_same_records_in_two_forms_are_merged() -> None:
    found = read(FOLDER / "kinds_flat.json", FOLDER / "kinds_hf.jsonl")
    assert len(found.table.unit_ids) == 6
    assert found.table.copies == 6
    assert by_document(found, "sentiment") == SENTIMENT
    assert found.table.left_out["cancelled"] == 2
    assert "repeat" not in found.table.left_out


def test_the_nested_form_without_statuses_is_refused_with_what_to_do() -> None:
    with pytest.raises(FixConfiguration, match=r"drafts and discarded.*flatten=True.*--assume-submitted"):
        read(FOLDER / "kinds_nested.json")


def test_the_nested_form_counts_everything_where_that_is_asked_for_and_says_so() -> None:
    found = read(FOLDER / "kinds_nested.json", assume_submitted=True)
    assert len(by_document(found, "sentiment")) == 11
    assert "carry no status and were assumed to be submitted" in found.notes


def test_a_table_whose_cells_are_arrays_without_commas_is_refused() -> None:
    with pytest.raises(FixConfiguration, match=r"cannot be read back, at line \d+ in 'sentiment.responses'"):
        read(FOLDER / "kinds_hf.csv")


def test_columns_instead_of_records_are_refused() -> None:
    with pytest.raises(FixConfiguration, match="holds columns, not records"):
        read(FOLDER / "kinds_columns.json")


@pytest.mark.parametrize("name", ["clash_flat.json", "clash_page.json"])
def test_a_metadata_key_called_id_does_not_take_the_records_place(name: str) -> None:
    found = read(FOLDER / name)
    assert len(found.table.unit_ids) == 2
    assert sorted(values(found.table.questions["sentiment"]).values()) == ["neg", "pos", "pos", "pos"]


def test_the_forms_agree_in_every_number(tmp_path: Path) -> None:
    """The same answers through the flat form and through the API's, measured."""
    alone = [by_document(read(FOLDER / name), "topics") for name in COMPLETE]
    assert all(one == TOPICS for one in alone)
