"""Faults that people reported, each with its right value, and others of the same kind beside it."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from connector.annotations.model import Annotation, Unit
from connector.tools.argilla.kinds import read_ranking, read_spans
from tests.unit.argilla_files.records import Read, flat, read_rows, record, report, response, values

ANN, BOB, CID = (f"00000000-0000-4000-8000-00000000000{n}" for n in (1, 2, 3))


def answers(found: Read, question: str) -> list[Any]:
    """The submitted answers to a question, whether its kind is measured or not."""
    schema = found.source.schema
    read = [(one, unit) for unit in found.units for one in unit.annotations if one.status == "submitted"]
    return [value for one, unit in read if (value := schema.answers(one, unit).get(question)) is not None]


def counted(found: Read) -> int:
    """Responses that came, of every status."""
    return sum(len(unit.annotations) for unit in found.units)


def test_ar_02_every_response_of_every_user_is_read(tmp_path: Path) -> None:
    case, expected = report("AR-02")
    found = read_rows(tmp_path, [case])
    assert answers(found, "q") == ["a", "b"]
    assert len(answers(found, "q")) == expected["ratings"]


def test_ar_02_what_comes_in_is_ratings_and_what_is_left_out(tmp_path: Path) -> None:
    responses = [response(rater, status, q=f"label {n % 2}") for n in range(3) for rater, status in STATUSES]
    found = read_rows(tmp_path, [record(f"r{n}", *responses[4 * n : 4 * n + 4]) for n in range(3)])
    left_out = sum(found.table.left_out.values())
    assert counted(found) == 12
    assert found.table.questions["q"].ratings.n_ratings + left_out == 12


STATUSES = ((ANN, "submitted"), (BOB, "draft"), (CID, "discarded"), (None, "submitted"))


def test_ar_03_a_draft_without_values_is_no_rating_and_stops_nothing(tmp_path: Path) -> None:
    case, expected = report("AR-03")
    found = read_rows(tmp_path, [case])
    assert answers(found, "q") == ["a"]
    assert len(answers(found, "q")) == expected["ratings"]
    assert found.table.left_out["draft"] == 1


@pytest.mark.parametrize("nothing", [None, {}, {"q": None}, {"q": {}}, {"q": {"value": None}}, {"q": {"value": ""}}])
def test_ar_03_a_submitted_response_without_an_answer_has_no_rating(nothing: Any, tmp_path: Path) -> None:
    blank = {"user_id": ANN, "status": "submitted", "values": nothing}
    found = read_rows(tmp_path, [record("1", blank, response(BOB, q="a")), record("2", response(BOB, q="a"))])
    assert values(found.table.questions["q"]) == {("1", BOB): "a", ("2", BOB): "a"}
    assert found.table.left_out == {"empty": 1}


def test_ar_04_a_browsers_offsets_behind_an_emoji_mark_the_same_word(tmp_path: Path) -> None:
    case, _ = report("AR-04")
    ann, bob = case["responses"]
    found = read_rows(tmp_path, [record("1", response(ANN, s=ann), response(BOB, s=bob), text=case["text"])])
    assert answers(found, "s") == [(23, ((17, 23, ("X",)),))] * 2
    assert "spans count UTF-16 units" in found.notes
    assert "emoji" in found.notes


def test_ar_04_offsets_that_fit_as_they_are_stay(tmp_path: Path) -> None:
    marks = [{"start": 7, "end": 10, "label": "X"}]
    found = read_rows(tmp_path, [record("1", response(ANN, s=marks), text="Yeah \U0001f680 Cid left")])
    assert answers(found, "s") == [(15, ((7, 10, ("X",)),))]
    assert "UTF-16" not in found.notes


def test_ar_04_a_mark_past_the_end_is_cut_there_and_counted(tmp_path: Path) -> None:
    marks = [{"start": 5, "end": 99, "label": "X"}]
    found = read_rows(tmp_path, [record("1", response(ANN, s=marks), text="Some text")])
    assert answers(found, "s") == [(9, ((5, 9, ("X",)),))]
    assert "1 spans reach past the end of their text" in found.notes


def test_ar_08_the_text_none_is_no_rater(tmp_path: Path) -> None:
    case, expected = report("AR-08")
    found = read_rows(tmp_path, [case])
    assert found.table.left_out["no_rater"] == expected["unknown_rater_responses"]
    assert found.table.rater_ids == []


@pytest.mark.parametrize("nobody", [None, "None", "none", "null", "NaN", "", " "])
def test_ar_08_a_missing_user_is_nobody_however_it_is_written(nobody: Any, tmp_path: Path) -> None:
    rows = [record(str(n), response(nobody, q="a"), response(ANN, q="a"), response(nobody, q="b")) for n in range(3)]
    found = read_rows(tmp_path, rows)
    assert found.table.left_out["no_rater"] == 6
    assert found.table.rater_ids == [ANN]


def test_ar_09_records_whose_id_the_metadata_took_are_units_of_their_own(tmp_path: Path) -> None:
    case, expected = report("AR-09")
    found = read_rows(tmp_path, case["flat"])
    assert len(found.table.unit_ids) == expected["units"]
    assert values(found.table.questions["q"]).keys() == {
        (unit, rater) for unit in found.table.unit_ids for rater in (ANN, BOB)
    }
    assert "have the id of a record with other content ('CLOBBER')" in found.notes


def test_ar_09_the_same_record_twice_is_one_unit(tmp_path: Path) -> None:
    case, _ = report("AR-09")
    found = read_rows(tmp_path, [*case["flat"], *case["flat"]])
    assert (len(found.table.unit_ids), found.table.copies) == (2, 2)
    assert "repeat" not in found.table.left_out
    assert "1 records have the id" in found.notes


def test_ar_09_the_servers_id_settles_it(tmp_path: Path) -> None:
    case, _ = report("AR-09")
    rows = [{**row, "_server_id": f"s{n}"} for n, row in enumerate(case["flat"])]
    found = read_rows(tmp_path, rows)
    assert found.table.unit_ids == ["s0", "s1"]
    assert found.notes == ""


def test_ar_09_metadata_that_changed_makes_no_other_record_where_the_form_tells_it_from_fields(tmp_path: Path) -> None:
    def row(score: int) -> dict[str, Any]:
        column = [{"user_id": ANN, "value": "a", "status": "submitted"}]
        return {"text": "t", "q": column, "external_id": "1", "metadata": json.dumps({"score": score})}

    assert read_rows(tmp_path, [row(1), row(2)], "rows.jsonl").table.unit_ids == ["1"]


def test_ar_10_a_ranking_keeps_ties_and_a_drafts_is_not_read(tmp_path: Path) -> None:
    case, expected = report("AR-10")
    found = read_rows(tmp_path, [case])
    assert answers(found, "rk") == [(("a", 1), ("b", 1), ("c", 2))]
    assert len(answers(found, "rk")) == expected["ratings"]
    assert found.source.schema.questions["rk"].kind == "ranking"
    assert found.table.left_out["draft"] == 1


def test_ar_10_what_a_submitted_ranking_leaves_unranked_is_missing_from_it() -> None:
    assert read_ranking([{"value": "a", "rank": 1}, {"value": "b"}, {"value": "c", "rank": None}]) == (("a", 1),)


def test_ar_11_a_suggestion_is_no_rating_and_those_equal_to_it_are_counted(tmp_path: Path) -> None:
    case, expected = report("AR-11")
    found = read_rows(tmp_path, [case], "rows.jsonl")
    assert answers(found, "label") == ["a"]
    assert len(answers(found, "label")) == expected["ratings"]
    assert f"{expected['equal_to_suggestion']} of 1 answers equal the suggestion" in found.notes
    assert set(found.source.schema.questions) == {"label"}


def test_ar_11_in_the_form_of_either_version(tmp_path: Path) -> None:
    row = flat("1", (ANN, "submitted", "label", "a"), (BOB, "submitted", "label", "b"))
    suggested = {"label.suggestion": "a", "label.suggestion.score": 0.9, "label.suggestion.agent": "m"}
    unrated: dict[str, Any] = {"label.responses": None, "label.responses.users": None, "label.responses.status": None}
    found = read_rows(tmp_path, [{**row, **suggested}, {**flat("2"), **unrated, **suggested}])
    assert answers(found, "label") == ["a", "b"]
    assert found.table.unit_ids == ["server-1", "server-2"]
    assert "1 of 2 answers equal the suggestion" in found.notes


def test_ar_12_spans_as_a_list_of_objects_or_an_object_of_lists() -> None:
    one, other = report("AR-12")[0]["values"]
    assert read_spans(one, "abcdefgh") == read_spans(other, "abcdefgh")
    assert read_spans(one, "abcdefgh").value == (8, ((0, 3, ("A",)), (4, 6, ("B",))))


def test_ar_12_rankings_and_whole_columns_too(tmp_path: Path) -> None:
    ranked = {"rank": [1, 1, 2], "value": ["a", "b", "c"]}
    assert read_ranking(ranked) == (("a", 1), ("b", 1), ("c", 2))
    column = {"user_id": [ANN, BOB], "value": [ranked, ranked], "status": ["submitted", "draft"]}
    found = read_rows(tmp_path, [{"text": "t", "rk": column, "external_id": "1", "metadata": None}], "rows.jsonl")
    assert answers(found, "rk") == [(("a", 1), ("b", 1), ("c", 2))]
    assert found.table.left_out["draft"] == 1


def test_the_order_of_records_and_responses_decides_nothing(tmp_path: Path) -> None:
    timed = [
        {
            **response(ANN, q="old"),
            "id": "b",
            "updated_at": "2026-01-01T10:00:00",
            "inserted_at": "2026-01-01T10:00:00",
        },
        {
            **response(ANN, q="new"),
            "id": "a",
            "updated_at": "2026-01-02T10:00:00",
            "inserted_at": "2026-01-01T09:00:00",
        },
        {
            **response(BOB, q="new"),
            "id": "c",
            "updated_at": "2026-01-01T10:00:00",
            "inserted_at": "2026-01-01T10:00:00",
        },
    ]
    for order in itertools.permutations(timed):
        found = read_rows(tmp_path, [record("1", *order), record("2", *order)])
        assert set(values(found.table.questions["q"]).values()) == {"new"}
        assert found.table.left_out == {"repeat": 2}
        assert found.notes == ""


def test_answers_of_a_unit_are_annotations_with_ids_of_their_own(tmp_path: Path) -> None:
    found = read_rows(tmp_path, [record("1", response(ANN, q="a"), response(ANN, q="a"), response(None, q="a"))])
    (unit,) = found.units
    assert isinstance(unit, Unit)
    assert len({one.id for one in unit.annotations}) == 3
    assert all(isinstance(one, Annotation) for one in unit.annotations)
    json.dumps([one.result for one in unit.annotations])
