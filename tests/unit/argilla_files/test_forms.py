"""Argilla's files in every form: what is read, what is inferred, and what is refused with what to do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from connector.agreement.alpha import krippendorff_alpha
from connector.errors import DataNotTrusted, FixConfiguration
from connector.tools.files import open_files
from connector.workflow.batch import Batch, Restricted
from tests.unit.argilla_files.records import CASES, flat, read, read_rows, record, response, values

ANN, BOB, CID = (f"00000000-0000-4000-8000-00000000000{n}" for n in (1, 2, 3))
KNOWN = json.loads((CASES / "argilla" / "known.json").read_text(encoding="utf-8"))
HAYES = next(iter(KNOWN.values()))


@pytest.mark.parametrize("name", ["hayes_v1_feedback_records.jsonl", "hayes_v1_hf_rows.jsonl"])
def test_records_of_1x_give_the_published_table_with_the_last_answer_of_a_rater_without_times(name: str) -> None:
    found = read(CASES / "argilla" / name)
    question = found.table.questions["rating"]
    assert (len(found.table.unit_ids), len(found.table.rater_ids)) == (HAYES["records"], HAYES["users"])
    assert (question.question.kind, question.question.level) == ("rating", "ordinal")
    alpha = krippendorff_alpha(question.ratings, "ordinal").value
    assert alpha == pytest.approx(HAYES["rating ordinal, submitted only"]["last"], abs=5e-6)
    assert question.repeats == 1
    assert "1 times a rater answered a record again and no time says when: the last" in found.notes
    assert found.units[0].data["batch"] == "pilot-1"
    assert [one.question.kind for one in found.table.questions.values()].count("choices") == 1


@pytest.mark.parametrize("name", ["records.json", "records.jsonl"])
def test_an_array_and_lines_are_read_alike(name: str, tmp_path: Path) -> None:
    rows = [record(str(n), response(ANN, q="a"), response(BOB, q="b")) for n in range(5)]
    assert len(values(read_rows(tmp_path, rows, name).table.questions["q"])) == 10


def test_a_record_that_is_longer_than_a_look_at_it(tmp_path: Path) -> None:
    for form in (
        record("1", response(ANN, q="a"), text="x" * 100_000),
        flat("1", (ANN, "submitted", "q", "a"), text="x" * 100_000),
    ):
        for name in ("records.json", "records.jsonl"):
            found = read_rows(tmp_path, [form, form], name)
            assert found.source.form == "argilla"
            assert found.table.copies == 1


def test_a_dataset_that_nobody_has_rated(tmp_path: Path) -> None:
    for row in (flat("1"), record("1"), {**record("1"), "responses": {}, "suggestions": {}}):
        found = read_rows(tmp_path, [row])
        assert len(found.table.unit_ids) == 1
        assert found.table.questions == {}


def test_values_are_kinds(tmp_path: Path) -> None:
    marks = [{"start": 0, "end": 4, "label": "X"}]
    ranks = [{"value": "a", "rank": 2}, {"value": "b", "rank": 1}]
    answers: dict[str, Any] = {
        "label": "yes",
        "several": ["b", "a"],
        "stars": 4,
        "ranks": ranks,
        "marks": marks,
        "words": "Said once by each.",
    }
    rows = [
        record(str(n), response(ANN, **answers), response(BOB, **{**answers, "words": f"Said {n}."})) for n in range(3)
    ]
    rows[1]["responses"][0]["values"]["words"] = {"value": "And another."}
    rows[2]["responses"][0]["values"]["words"] = {"value": "And a third."}
    questions = read_rows(tmp_path, rows).source.schema.questions
    assert {name: one.kind for name, one in questions.items()} == {
        "label": "choice",
        "several": "choices",
        "stars": "rating",
        "ranks": "ranking",
        "marks": "spans",
        "words": "text",
    }


def test_texts_are_labels_where_most_come_again_and_none_is_longer_than_a_label_can_be(tmp_path: Path) -> None:
    def kind(*texts: str) -> str:
        rows = [record(str(n), response(ANN, q=text)) for n, text in enumerate(texts)]
        return read_rows(tmp_path, rows).source.schema.questions["q"].kind

    assert kind("a", "a", "b", "b", "c") == "choice"
    assert kind("a", "a", "b", "c", "d") == "text"
    assert kind("x" * 201, "x" * 201) == "text"
    assert kind("x" * 200, "x" * 200) == "choice"


@pytest.mark.parametrize(
    "sign", ["\n", "\r\n", "\r", "\t", "\u2028", "\u0085", "\x0b", "|", '"', "'", ",", "<br>", "😀", "\u200d"]
)
def test_a_label_that_comes_again_is_one_whatever_signs_it_holds(sign: str, tmp_path: Path) -> None:
    one, two = f"one{sign}two", f"one{sign}three"
    rows = [record(str(n), response(ANN, q=one), response(BOB, q=one if n else two)) for n in range(3)]
    found = read_rows(tmp_path, rows)
    assert found.source.schema.questions["q"].kind == "choice"
    ratings = found.table.questions["q"].ratings
    assert len(ratings.codebook.categories) == 2
    # Of three pairs one disagrees; of all pairs of the six ratings, five alike, a third does: 1 - (1 / 3) / (1 / 3).
    assert krippendorff_alpha(ratings, "nominal").value == pytest.approx(0.0)


def test_multi_label_answers_in_any_order_are_sets_and_an_empty_one_is_missing(tmp_path: Path) -> None:
    rows = [record("1", response(ANN, q=["b", "a"]), response(BOB, q=["a", "b"])), record("2", response(ANN, q=[]))]
    rows.append(record("3", response(ANN, q=["c"])))
    question = read_rows(tmp_path, rows).table.questions["q"]
    assert values(question) == {("1", ANN): ("a", "b"), ("1", BOB): ("a", "b"), ("3", ANN): ("c",)}
    assert question.left_out == {"empty": 1}


def test_an_empty_list_is_nothing_here_where_the_question_has_spans_wherever_those_come(tmp_path: Path) -> None:
    marks = [{"start": 0, "end": 4, "label": "X"}]
    rows = [
        record("1", response(ANN, marks=[], q="a"), response(BOB, q="a")),
        record("2", response(CID), response(ANN, marks=marks, q="a")),
    ]
    found = read_rows(tmp_path, rows)
    read_again = {
        (unit.id, one.rater): found.source.schema.answers(one, unit).get("marks")
        for unit in found.units
        for one in unit.annotations
    }
    nothing = (9, ())
    assert read_again == {
        ("1", ANN): nothing,
        ("1", BOB): nothing,
        ("2", CID): None,  # a response without any answer says nothing at all
        ("2", ANN): (9, ((0, 4, ("X",)),)),
    }


def test_spans_are_taken_to_mark_the_field_that_they_fit(tmp_path: Path) -> None:
    fields = {"about": "Title", "zz": "A text about Alice.", "body": "Nothing that fits there, long as it may be."}
    rows = [
        record("1", response(ANN, marks=[{"start": 13, "end": 18, "label": "PER"}]), metadata={"a": "Alice of b."})
        | {"fields": fields}
    ]
    assert "taken to mark 'zz'" in read_rows(tmp_path, rows).notes


def test_a_browsers_offsets_choose_the_field_that_they_fit_when_read_as_utf16(tmp_path: Path) -> None:
    marks = [{"start": 5, "end": 9, "label": "P"}]
    fields = {
        "text": "I \U0001f600 love this thing",
        "note": "abcd efgh ijkl",
    }  # fits in code points alike, and comes later
    rows = [record(str(n), response(ANN, m=marks), response(BOB, m=marks)) | {"fields": fields} for n in range(3)]
    found = read_rows(tmp_path, rows)
    assert "taken to mark 'text'" in found.notes
    assert set(values(found.table.questions["m"]).values()) == {(19, ((4, 8, ("P",)),))}


def test_more_marks_that_fit_as_utf16_outdo_the_field_that_comes_first(tmp_path: Path) -> None:
    fields = {"note": "abcdefgh ijklmnop", "text": "I \U0001f600 love this thing"}
    found = read_rows(
        tmp_path, [record("1", response(ANN, m=[{"start": 5, "end": 9, "label": "P"}])) | {"fields": fields}]
    )
    assert "taken to mark 'text'" in found.notes


def test_spans_mark_no_metadata_and_no_external_id(tmp_path: Path) -> None:
    marks = [{"start": 2, "end": 6, "label": "P"}]  # within words of the text, and on words of what stands beside it
    rows = [
        record("1", response(ANN, m=marks), text="abcdefgh", metadata={"about": "a word b"}, external_id="b word c")
    ]
    assert "taken to mark 'text'" in read_rows(tmp_path, rows).notes


def test_spans_of_flat_records_mark_no_external_id(tmp_path: Path) -> None:
    marks = [{"start": 2, "end": 6, "label": "P"}]
    row = flat("b word c", (ANN, "submitted", "m", marks), text="abcdefgh")
    assert "taken to mark 'text'" in read_rows(tmp_path, [row]).notes


def test_a_marked_field_is_found_where_metadata_has_its_name(tmp_path: Path) -> None:
    marks = [{"start": 2, "end": 6, "label": "P"}]
    rows = [record("1", response(ANN, m=marks), text="a word b", metadata={"text": "abcdefgh"})]
    assert "taken to mark 'field:text'" in read_rows(tmp_path, rows).notes


def test_a_metadata_key_called_like_a_field_keeps_its_name(tmp_path: Path) -> None:
    found = read_rows(tmp_path, [record("1", response(ANN, q="a"), metadata={"text": "mine"}, text="the record's")])
    assert found.units[0].data["text"] == "mine"
    assert "the record's" in found.units[0].data.values()


@pytest.mark.parametrize("status", [None, "absent"])
def test_a_response_without_a_status_is_refused(status: Any, tmp_path: Path) -> None:
    one = response(ANN, q="a")
    one["status"] = None
    if status == "absent":
        del one["status"]
    with pytest.raises(FixConfiguration, match="without a status"):
        read_rows(tmp_path, [record("1", response(BOB, q="a"), one)])
    found = read_rows(tmp_path, [record("1", response(BOB, "draft", q="a"), one)], assume_submitted=True)
    assert found.table.left_out == {"draft": 1}, "a status that is there still holds"


def test_records_that_came_without_their_responses_are_a_fault_of_the_read(tmp_path: Path) -> None:
    row = record("1")
    del row["responses"]
    with pytest.raises(DataNotTrusted, match=r"Record 1 came without its responses.*include=responses"):
        read_rows(tmp_path, [row, row])


def test_pages_of_the_api_are_one_source_and_a_missing_one_is_told(tmp_path: Path) -> None:
    rows = [record(str(n), response(ANN, q="a"), response(BOB, q="b")) for n in range(4)]
    pages = [tmp_path / "one.json", tmp_path / "two.json"]
    for page, items in zip(pages, (rows[:2], rows[2:]), strict=True):
        page.write_text(json.dumps({"items": items, "total": 4}), encoding="utf-8")
    whole, half = read(*pages), read(pages[0])
    assert len(whole.table.unit_ids) == 4
    assert whole.source.incomplete() is None
    assert half.source.incomplete() == "The API counted 4 records and 2 are here: pages are missing."


@pytest.mark.parametrize("name", ["records.json", "records.jsonl"])
def test_records_come_before_the_file_is_read_to_its_end(name: str, tmp_path: Path) -> None:
    one = json.dumps(record("1", response(ANN, q="a"), text="x" * 1000))
    between, opening = ("\n", "") if name.endswith("l") else (",", "[")
    path = tmp_path / name
    path.write_text(opening + between.join([one] * 3000) + between + "{broken", encoding="utf-8")
    units = open_files([path]).units
    assert [getattr(next(units), "id", None) for _ in range(1000)] == ["1"] * 1000
    with pytest.raises(DataNotTrusted):
        list(units)


def test_a_truncated_page_is_not_trusted(tmp_path: Path) -> None:
    page = tmp_path / "page.json"
    page.write_text(json.dumps({"items": [record("1", response(ANN, q="a"))], "total": 1})[:-9], encoding="utf-8")
    with pytest.raises(DataNotTrusted, match="truncated"):
        read(page)


def test_lines_that_are_cut_say_where(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    line = json.dumps(record("1", response(ANN, q="a")))
    path.write_text(f"{line}\n{line[:-5]}", encoding="utf-8")
    with pytest.raises(DataNotTrusted, match="not valid JSON at line 2"):
        read(path)


MALFORMED: list[tuple[Any, str]] = [
    (5, "not an object"),
    ({"id": "x", "fields": {}, "responses": [5]}, "a response is not an object"),
    (record("x", {"user_id": ANN, "status": "submitted", "values": [1]}), "values are not an object"),
    (record("x", response(ANN, "pending", q="a")), "status is 'pending'"),
    (flat("x", **{"q.responses": ["a"], "q.responses.users": [ANN, BOB]}), "not as many as"),
    (flat("x", **{"q.responses": "a", "q.responses.users": [ANN]}), "not a list"),
    (flat("x", (ANN, "submitted", "q", "a"), (ANN, "draft", "p", "a")), "draft at once"),
    ({"id": "x", "fields": {}, "responses": {"q": 5}}, "not a list"),
    ({"id": "x", "fields": {}, "responses": {"q": [5]}}, "not an object"),
]


@pytest.mark.parametrize(("bad", "reason"), MALFORMED)
def test_a_malformed_record_is_left_out_with_its_reason(bad: Any, reason: str, tmp_path: Path) -> None:
    good = [record(str(n), response(ANN, q="a")) for n in range(2)]
    found = read_rows(tmp_path, [good[0], bad, good[1]])
    assert found.table.unit_ids == ["0", "1"]
    (skipped,) = found.skipped
    assert reason in skipped.reason
    assert skipped.unit == ("at record 2" if bad == 5 else skipped.unit)


def test_records_without_an_id_go_by_their_place(tmp_path: Path) -> None:
    rows = [{"text": f"t{n}", "q": [{"user_id": ANN, "value": "a", "status": "submitted"}]} for n in range(3)]
    found = read_rows(tmp_path, rows, "rows.jsonl")
    assert found.table.unit_ids == ["1", "2", "3"]
    assert "3 records carry no id" in found.notes
    two = [tmp_path / "rows.jsonl", tmp_path / "more.jsonl"]
    two[1].write_text(two[0].read_text(encoding="utf-8"), encoding="utf-8")
    assert len(read(*two).table.unit_ids) == 6, "rows of two files are not the same for standing at the same place"


def test_two_exports_in_which_a_rater_differs_count_once_in_either_order(tmp_path: Path) -> None:
    one, two = tmp_path / "one.json", tmp_path / "two.json"
    for path, label in ((one, "a"), (two, "b")):
        rows = [flat(str(n), (ANN, "submitted", "q", label), (BOB, "submitted", "q", "b")) for n in range(3)]
        path.write_text(json.dumps(rows), encoding="utf-8")
    tables = [read(*paths).table for paths in ((one, two), (two, one))]
    assert values(tables[0].questions["q"]) == values(tables[1].questions["q"])
    assert [table.left_out for table in tables] == [{"repeat": 3}] * 2
    assert len(values(tables[0].questions["q"])) == 6


def test_the_first_records_are_those_that_were_inserted_first(tmp_path: Path) -> None:
    """The server's ids are drawn at random: they say nothing of an order."""
    idents = [f"{digit}{BOB[1:]}" for digit in "9350"]
    by_time = [record(one, inserted_at=f"2026-01-0{n}T00:00:00") for n, one in enumerate(idents, 1)]
    by_place = [flat(f"doc {n}", _server_id=one) for n, one in enumerate(idents)]
    for rows in (by_time[::-1], by_place):
        first = Restricted(read_rows(tmp_path, rows).units, Batch(first=2))
        assert [getattr(unit, "id", None) for unit in first] == idents[:2]


def test_options_of_other_sources_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "records.json"
    path.write_text(json.dumps([record("1", response(ANN, q="a"))]), encoding="utf-8")
    table = tmp_path / "table.csv"
    table.write_text("unit,rater,value\n1,a,b\n", encoding="utf-8")
    with pytest.raises(FixConfiguration, match="long table, and the source is an Argilla export"):
        open_files([path], columns={"unit": "id"})
    with pytest.raises(FixConfiguration, match="Label Studio export, and the source is an Argilla export"):
        open_files([path], label_config="<View/>")
    with pytest.raises(FixConfiguration, match="--assume-submitted belongs to an Argilla export"):
        open_files([table], assume_submitted=True)
    with pytest.raises(FixConfiguration, match="An Argilla export and a long table are not one source"):
        open_files([path, table])


def test_a_long_table_as_lines_is_still_one(tmp_path: Path) -> None:
    path = tmp_path / "table.jsonl"
    path.write_text(json.dumps({"unit": "1", "rater": "a", "value": "b", "responses": 3}) + "\n", encoding="utf-8")
    assert open_files([path]).form == "table"


def test_not_a_number_in_a_record_is_read_as_pythons_json_writes_it(tmp_path: Path) -> None:
    rows = [flat(str(n), (ANN, "submitted", "q", float("nan")), (BOB, "submitted", "q", 3)) for n in range(3)]
    for name in ("records.json", "records.jsonl"):
        question = read_rows(tmp_path, rows, name).table.questions["q"]
        assert len(values(question)) == 3
