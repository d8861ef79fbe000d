"""Spans of texts and time lines: what is mended, what is left out, and that it is counted."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from typing import Any

import pytest

from connector.agreement.ratings import Ratings
from connector.agreement.report import QuestionRatings, assess
from connector.annotations.choices import UNREADABLE
from connector.annotations.display import text_of
from connector.annotations.kinds import KINDS
from connector.annotations.model import Missing, Question
from connector.annotations.spans import FARTHEST, NOTES, SPANS, Labels, Raw, Text, text_spans, time_spans

A, B = ("A",), ("B",)
ROCKET = "Some text yeah \N{ROCKET} rocket"


def read(text: str | None, *raws: tuple[Any, ...], **more: Any) -> tuple[Any, dict[str, int]]:
    notes: Counter[str] = Counter()
    value = text_spans([Raw(*one) for one in raws], None if text is None else Text(text), notes, **more)
    assert set(notes) <= set(NOTES)
    return value, dict(+notes)


def read_times(length: float | None, *raws: tuple[Any, ...], **more: Any) -> tuple[Any, dict[str, int]]:
    notes: Counter[str] = Counter()
    return time_spans([Raw(*one) for one in raws], length, notes, **more), dict(+notes)


def test_a_value_is_the_length_and_the_marks_in_order() -> None:
    assert read("Ana in Rome", (7, 11, B), (0, 3, A)) == ((11, ((0, 3, A), (7, 11, B))), {})


def test_nothing_marked_is_an_answer() -> None:
    assert read("Ana in Rome") == ((11, ()), {})


@pytest.mark.parametrize(
    ("start", "end", "kept"),
    [(6, 12, (7, 11)), (6, 11, (7, 11)), (7, 12, (7, 11)), (3, 4, None), (3, 7, (4, 6))],
)
def test_blanks_at_the_edges_are_cut_off_and_counted(start: int, end: int, kept: tuple[int, int] | None) -> None:
    value, notes = read("Ana in Rome now", (start, end, A))
    assert value == UNREADABLE if kept is None else value[:2] == (15, ((*kept, A),))
    assert notes == ({"empty": 1} if kept is None else {"trimmed": 1})


def test_the_blanks_can_be_kept() -> None:
    value, _ = read("Ana in Rome now", (6, 12, A), (0, 3, B))
    assert SPANS.readings["untrimmed"](value) == (15, ((0, 3, B), (6, 12, A)))
    clean, _ = read("Ana in Rome now", (7, 11, A))
    assert SPANS.readings["untrimmed"](clean) == clean


def test_blanks_within_a_span_stay() -> None:
    assert read("Text: Berlin,  Germany.", (6, 22, A))[0] == (23, ((6, 22, A),))


@pytest.mark.parametrize("stored", ["Berlin, German", "Berlin,  German", "Berlin,\\nGerman", None])
def test_a_stored_text_that_differs_in_blanks_alone_is_the_same(stored: str | None) -> None:
    assert read("Text: Berlin,  Germany.", (6, 21, A, stored)) == ((23, ((6, 21, A),)), {})


def test_offsets_decide_where_the_stored_text_is_another_and_that_is_counted() -> None:
    assert read("Ana in Rome", (0, 3, A, "Rome")) == ((11, ((0, 3, A),)), {"text_differs": 1})


def test_an_end_behind_the_text_is_cut_off_and_counted() -> None:
    value, notes = read("Ana in Rome", (7, 12, A))
    assert (value, notes) == ((11, ((7, 11, A),)), {"clamped": 1})


@pytest.mark.parametrize("edges", [(None, 0), (3, None), (-1, 4), (5, 3), (12, 14), ("a", 4), (True, 4), (0.5, 4)])
def test_edges_that_are_none_are_left_out_and_counted(edges: tuple[Any, Any]) -> None:
    assert read("Ana in Rome", (*edges, A), (0, 3, B)) == ((11, ((0, 3, B),)), {"invalid": 1})


@pytest.mark.parametrize("edges", [("0", "3"), (0.0, 3.0), ("0", 3)])
def test_offsets_written_otherwise_are_read(edges: tuple[Any, Any]) -> None:
    assert read("Ana in Rome", (*edges, A))[0] == (11, ((0, 3, A),))


def test_a_span_without_extent_is_left_out_and_counted() -> None:
    assert read("Ana in Rome", (3, 3, A), (0, 3, B)) == ((11, ((0, 3, B),)), {"empty": 1})


BROKEN = [(None, None), (3, 3), (3, 4), (5, 3), (12, 14), (0, 2**63), (0, 1e308), (0, 10**400), (2**62 + 1, 2**63)]


@pytest.mark.parametrize("edges", BROKEN)
def test_an_answer_whose_marks_can_all_not_be_used_is_unreadable_and_not_nothing(edges: tuple[Any, Any]) -> None:
    for text in ("Ana in Rome", None):
        given = (*edges, A, " " if edges == (3, 4) else None)
        if text is None and edges == (12, 14):
            continue
        value, notes = read(text, given, given)
        assert (value, sum(notes.values())) == (UNREADABLE, 2)
    assert read("Ana in Rome")[0] == (11, ())


@pytest.mark.parametrize(
    "edges", [(None, 1), (2, 2), (3, 1), (1, math.inf), (1, 1e200), (1, 10**400), (8, 9), ("x", 2)]
)
def test_of_a_time_line_too(edges: tuple[Any, Any]) -> None:
    value, notes = read_times(5.0, (*edges, A))
    assert (value, sum(notes.values())) == (UNREADABLE, 1)
    assert read_times(5.0)[0] == (5.0, ())
    assert read_times(5.0, (*edges, A), (1, 2, B))[0] == (5.0, ((1.0, 2.0, B),))


def test_the_farthest_position_is_one_and_no_sum_of_it_overflows() -> None:
    far = FARTHEST
    answers = [read(None, (start, far, A), seen=far)[0] for start in (0, far // 2)]
    assert answers == [(far, ((0, far, A),)), (far, ((far // 2, far, A),))]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ratings = Ratings.from_long(["1", "1", "2", "2"], ["a", "b", "a", "b"], [*answers, *answers[::-1]])
        found = assess(QuestionRatings("q", "spans", ratings, distance="character")).questions["q"].coefficients
    assert found["krippendorff_alpha"].value is not None
    assert all(one.value is None or math.isfinite(one.value) for one in found.values())


def test_a_span_without_a_label_is_marked_all_the_same() -> None:
    assert read("Ana in Rome", (0, 3, ())) == ((11, ((0, 3, ()),)), {"unlabelled": 1})


def test_a_span_made_twice_counts_once() -> None:
    assert read("Ana in Rome", (0, 3, A), (0, 3, A), (0, 3, B)) == (
        (11, ((0, 3, A), (0, 3, B))),
        {"repeated": 1},
    )


def test_offsets_in_utf16_units_are_told_by_the_stored_text_span_by_span() -> None:
    value, notes = read(ROCKET, (18, 24, A, "rocket"), (17, 23, B, "rocket"), (0, 4, A, "Some"))
    assert value == (23, ((0, 4, A), (17, 23, A), (17, 23, B)))
    assert notes == {"utf16": 1}


@pytest.mark.parametrize(
    ("text", "edges", "kept"),
    [
        (ROCKET, [(18, 24)], [(17, 23)]),
        (ROCKET, [(17, 23)], [(17, 23)]),
        # one end behind the text shows how all of the answer's spans count
        (ROCKET, [(0, 4), (18, 24)], [(0, 4), (17, 23)]),
        # neither is behind the text, but so the edges fall between words
        ("\N{ROCKET} one two three", [(3, 6)], [(2, 5)]),
        ("\N{ROCKET} one two three", [(2, 5)], [(2, 5)]),
    ],
)
def test_without_a_stored_text_words_tell_how_offsets_count(
    text: str, edges: list[tuple[int, int]], kept: list[tuple[int, int]]
) -> None:
    value, notes = read(text, *((*pair, A) for pair in edges))
    assert value == (len(text), tuple((*pair, A) for pair in kept))
    assert notes == {"utf16_guessed": len(edges)}


def test_a_text_without_such_characters_is_never_guessed_at() -> None:
    assert read("déjà vu 漢字", (8, 10, A)) == ((10, ((8, 10, A),)), {})


def test_of_an_unknown_text_the_largest_end_seen_is_the_length() -> None:
    assert read(None, (100, 110, A), seen=120) == ((120, ((100, 110, A),)), {"length_unknown": 1})
    assert read(None, (100, 130, A), seen=120)[0] == (130, ((100, 130, A),))


def test_of_an_unknown_text_blanks_are_cut_off_by_the_stored_text() -> None:
    value, notes = read(None, (10, 16, A, " Rome "), (20, 26, B, "Rome"))
    assert value[1] == ((11, 15, A), (20, 26, B))
    assert notes == {"trimmed": 1, "length_unknown": 1}


def test_times_are_cut_to_the_line_and_moments_left_out() -> None:
    value, notes = read_times(30.0, (1.5, 4, A), (28, 31.5, B), (7, 7, A), (9, 8, A), (None, 2, A), (5.0, 6.0, ()))
    assert value == (30.0, ((1.5, 4.0, A), (5.0, 6.0, ()), (28.0, 30.0, B)))
    assert notes == {"clamped": 1, "instants": 1, "invalid": 2, "unlabelled": 1}
    assert all(type(edge) is float for mark in value[1] for edge in mark[:2])


def test_a_line_of_unknown_length_ends_with_the_last_mark_seen() -> None:
    assert read_times(None, (1.0, 4.0, A), seen=9.5) == ((9.5, ((1.0, 4.0, A),)), {"length_unknown": 1})


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (["PER"], ("Person",)),
        (["Person"], ("Person",)),
        (["b", "PER"], ("Person", "b")),
        ([], ()),
        (None, ()),
        ("x", "x"),
    ],
)
def test_labels_come_in_one_spelling_and_order(raw: Any, expected: Any) -> None:
    assert Labels({"PER": "Person", "Person": "Person"}).of(raw) == tuple(expected)


def test_relabelling_renames_the_labels_of_marks_and_merges_what_becomes_equal() -> None:
    value = (20, ((0, 3, ("LOC",)), (0, 3, ("Place",)), (5, 9, ("LOC", "Place"))))
    assert SPANS.rename(value, {"Place": "LOC"}) == (20, ((0, 3, ("LOC",)), (5, 9, ("LOC",))))


def test_all_answers_to_a_document_have_its_length() -> None:
    question = Question("q", "spans")
    values = [(0, ()), (30, ((0, 3, A),)), (12, ())]
    assert SPANS.settle is not None
    _, settled = SPANS.settle(question, [0, 0, 1], values)
    assert settled == [(30, ()), (30, ((0, 3, A),)), (12, ())]


@pytest.mark.parametrize("value", ["text", 4.0, (3,), ((0, 3, A),), ("a", "b")])
def test_what_is_no_spans_is_unreadable(value: Any) -> None:
    assert SPANS.canonical(value) == Missing("unreadable")


def test_spans_as_text() -> None:
    marks = ((0, 4, ("PER",)), (10, 16, ()), (20, 22, ("A", "B")))
    assert text_of((30, marks), "spans") == "0-4 PER, 10-16, 20-22 A B"
    assert text_of((30.0, ((0.5, 1.25, A),)), "spans") == "0.5-1.25 A"
    assert text_of((30, ()), "spans") == "(nothing marked)"
    assert (text_of("PER", "spans"), text_of(("A", "B"), "spans")) == ("PER", "A, B")


def test_an_annotation_without_spans_says_that_there_is_nothing() -> None:
    assert (KINDS["spans"].empty, KINDS["spans"].nothing) == ("none", (0, ()))
