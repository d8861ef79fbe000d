"""Whole answers are more or less alike: how like the consensus a unit's are, and how like gold a rater's."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from connector.agreement.distances import COMPARISONS
from connector.agreement.raters import wilson
from connector.agreement.ratings import Codebook, Ratings
from connector.agreement.report import QuestionRatings, QuestionReport, assess
from connector.annotations.kinds import KINDS
from connector.annotations.rankings import BY_TASK

A, B = ("A",), ("B",)
ABC, BAC, CBA = (tuple(sorted(zip(order, (1.0, 2.0, 3.0), strict=True))) for order in ("abc", "bac", "cba"))
HALF_MARKED, ALL_MARKED = (20, ((0, 10, A),)), (20, ((0, 10, A), (10, 20, B)))


def report(kind: str, rows: Sequence[Sequence[Any]], distance: str | None = None, **more: Any) -> QuestionReport:
    """The report of answers as a tool's reader gives them: unit by unit, one answer per rater, None not rated."""
    cells = [
        (unit, rater, value) for unit, row in enumerate(rows) for rater, value in enumerate(row) if value is not None
    ]
    book = Codebook.of([value for _, _, value in cells], None)
    code_of = {value: code for code, value in enumerate(book.categories)}
    ratings = Ratings(
        np.array([unit for unit, _, _ in cells], dtype=np.int32),
        np.array([rater for _, rater, _ in cells], dtype=np.int32),
        np.array([code_of[value] for _, _, value in cells], dtype=np.int32),
        [f"u{unit}" for unit in range(len(rows))],
        [f"r{rater}" for rater in range(max(map(len, rows)))],
        book,
    )
    question = QuestionRatings("q", kind, ratings, distance=distance or KINDS[kind].distance, **more)
    return assess(question, confidence=None).questions["q"]


def shares(kind: str, *rows: Sequence[Any], distance: str | None = None) -> list[float | None]:
    return report(kind, rows, distance).units.top_share


def box(place: int, label: str = "Car") -> Any:
    return "rectangle", (20.0 * place, 0.0, 10.0, 10.0, 0.0), (label,), 0


def boxes(*places: int) -> Any:
    return tuple(sorted(box(place) for place in places))


# Consensus


def test_spans_are_as_like_their_consensus_as_their_characters_are() -> None:
    # consensus: A over 0 to 10, which two of three marked; F1 of 10 common characters of 20 and 10 marked is 2/3
    assert shares("spans", [HALF_MARKED, HALF_MARKED, ALL_MARKED]) == [round((1 + 1 + 2 / 3) / 3, 2)]


def test_twenty_regions_that_differ_by_one_are_nearly_the_consensus() -> None:
    # of two raters each is a half: the consensus holds the 21 that either marked, F1 = 2 x 20 / (20 + 21)
    mine, theirs = boxes(*range(20)), boxes(*range(19), 30)
    assert shares("regions", [mine, theirs]) == [round(40 / 41, 2)]
    # of three the one that a single rater marked is out of it: F1 1, 1 and 2 x 19 / (20 + 20)
    assert shares("regions", [mine, mine, theirs]) == [round((1 + 1 + 38 / 40) / 3, 2)]


def test_rankings_and_texts_by_the_consensus_that_their_comparison_names() -> None:
    # Borda's order is a, b, c; one of three pairs of items is turned round in b, a, c
    assert shares("ranking", [ABC, ABC, BAC]) == [round((1 + 1 + 2 / 3) / 3, 2)]
    assert shares("ranking", [ABC, ABC, BAC], distance=BY_TASK) == [round((1 + 1 + 2 / 3) / 3, 2)]
    # the commonest text; one sign of four is too many
    assert shares("text", ["cat", "cat", "cart"]) == [round((1 + 1 + 3 / 4) / 3, 2)]


@pytest.mark.parametrize(
    ("kind", "one", "other"), [("spans", HALF_MARKED, ALL_MARKED), ("text", "cat", "cow"), ("ranking", ABC, CBA)]
)
def test_without_two_ratings_or_a_consensus_there_is_nothing_to_be_like(kind: str, one: Any, other: Any) -> None:
    alone, equal, unrated = shares(kind, [one, None], [other, other], [None, None])
    assert (alone, equal, unrated) == (None, 1.0, None)


def test_a_tie_without_a_consensus_has_no_likeness() -> None:
    found = report("text", [["cat", "cow"], ["cat", "cat"]])
    assert (found.units["u0"].majority, found.units["u0"].top_share) == (None, None)
    found = report("ranking", [[ABC, CBA], [ABC, ABC]])
    assert (found.units["u0"].majority, found.units["u0"].top_share) == (None, None)


def test_sets_and_scalars_keep_the_share_of_the_commonest() -> None:
    assert shares("choices", [("a",), ("a",), ("a", "b")], distance="masi") == [0.6667]
    ordered = assess(
        QuestionRatings("q", "rating", Ratings.from_wide([[1, 2, 2]]), "ordinal", bounds=(1, 5)), confidence=None
    )
    assert ordered.questions["q"].units.top_share == [0.6667]
    equal = report("spans", [[HALF_MARKED, HALF_MARKED, ALL_MARKED]], distance="nominal")
    assert equal.units.top_share == [0.6667], "answers that are equal or not have no likeness"


def test_values_that_are_not_compared_have_none() -> None:
    question = QuestionRatings("q", "text", Ratings.from_wide([["a", 1.0], ["a", "a"]]), distance="edit")
    assert assess(question, confidence=None).questions["q"].units.top_share == [0.5, 1.0]


marks = st.lists(
    st.tuples(st.integers(0, 15), st.integers(1, 5), st.sampled_from([A, B, ()])),
    max_size=4,
    unique_by=lambda one: one[0],
).map(lambda given: (20, tuple(sorted((start, start + size, labels) for start, size, labels in given))))
regions = st.lists(st.tuples(st.integers(0, 4), st.sampled_from("xy")), max_size=4, unique=True).map(
    lambda given: tuple(sorted(box(place, label) for place, label in given))
)
rankings = st.permutations("abcd").map(lambda order: tuple(sorted(zip(order, (1.0, 2.0, 2.0, 3.0), strict=True))))
ANSWERS: Mapping[str, Any] = {
    "spans": marks,
    "regions": regions,
    "ranking": rankings,
    "text": st.text("ab", max_size=4),
}


@pytest.mark.parametrize("kind", ANSWERS)
@given(data=st.data())
def test_likeness_is_the_mean_of_one_minus_the_distance_to_what_stands_as_the_majority(
    kind: str, data: st.DataObject
) -> None:
    rows = data.draw(st.lists(st.lists(ANSWERS[kind], min_size=1, max_size=4), min_size=1, max_size=4))
    rows = [[value for value in row if value != ""] or ["a"] for row in rows]
    found = report(kind, rows)
    comparison = COMPARISONS[found.distance]
    for place, row in enumerate(rows):
        unit = found.units[f"u{place}"]
        if len(row) < 2 or unit.majority is None:
            assert unit.top_share is None
            continue
        apart = [
            0.0 if one == unit.majority else float(comparison.pairs([one, unit.majority], *np.array([[0], [1]]))[0])
            for one in row
        ]
        assert unit.top_share is not None
        assert unit.top_share == pytest.approx(1 - math.fsum(apart) / len(row), abs=0.00501)
        assert 0 <= unit.top_share <= 1
    shuffled = [random.Random(3).sample(row, len(row)) for row in rows]
    assert report(kind, shuffled).units.top_share == found.units.top_share, "the order of raters changes nothing"


# Gold, and a rater against himself


def rater(found: QuestionReport, name: str) -> Any:
    assert found.diagnosis is not None
    return next(one for one in found.diagnosis.raters if one.rater == name)


@pytest.mark.parametrize(
    ("kind", "rows", "gold", "expected"),
    [
        ("spans", [[HALF_MARKED, ALL_MARKED], [ALL_MARKED, ALL_MARKED]], {"u0": HALF_MARKED, "u1": ALL_MARKED}, 5 / 6),
        ("regions", [[boxes(1, 2), boxes(1, 3)], [boxes(1), boxes(1)]], {"u0": boxes(1, 2), "u1": boxes(1)}, 3 / 4),
        ("ranking", [[ABC, BAC], [CBA, CBA]], {"u0": ABC, "u1": CBA}, 5 / 6),
        ("text", [["cat", "cart"], ["cow", "cow"]], {"u0": "cat", "u1": "cow"}, 7 / 8),
    ],
)
def test_accuracy_against_gold_is_the_mean_likeness(kind: str, rows: Any, gold: Any, expected: float) -> None:
    found = report(kind, rows, gold=gold)
    exact, near = rater(found, "r0").gold, rater(found, "r1").gold
    assert (exact.n, exact.accuracy) == (2, 1.0)
    assert near.accuracy == pytest.approx(expected)
    assert (near.low, near.high) == pytest.approx(wilson(2 * expected, 2))
    assert 0 <= near.low < near.accuracy < near.high <= 1
    assert not near.leaning, "nobody leans to a whole answer"
    body = found.to_json()["raters"]
    assert {one["rater"]: one["gold"]["accuracy"] for one in body}["r1"] == near.accuracy


def test_gold_that_nobody_gave_and_gold_that_cannot_be_compared() -> None:
    rows = [[HALF_MARKED, HALF_MARKED], [HALF_MARKED, HALF_MARKED], [HALF_MARKED, HALF_MARKED]]
    found = report("spans", rows, gold={"u0": ALL_MARKED, "u1": "PER", "u9": HALF_MARKED})
    assert rater(found, "r0").gold.n == 1, "an answer of another form is no gold, nor is that of another unit"
    assert rater(found, "r0").gold.accuracy == pytest.approx(2 / 3)
    assert rater(report("spans", rows, gold={"u1": "PER"}), "r0").gold is None


def test_gold_of_a_ranking_may_be_written_as_a_mapping() -> None:
    found = report("ranking", [[ABC, BAC], [ABC, CBA]], gold={"u0": {"a": 1, "b": 2, "c": 3}})
    assert [rater(found, name).gold.accuracy for name in ("r0", "r1")] == pytest.approx([1, 2 / 3])


@pytest.mark.parametrize(("kind", "answers"), [("spans", (ALL_MARKED, HALF_MARKED)), ("choice", ("a", "b"))])
def test_nobody_is_measured_by_their_own_answer(kind: str, answers: Any) -> None:
    """Else whoever made the gold would be right by definition."""
    one, other = answers
    rows: list[list[Any]] = [[one, other], [one, one], [other, one]]
    gold = {"u0": one, "u1": one, "u2": one}
    found = report(kind, rows, gold=gold, gold_by={"u0": "r0", "u1": "r1", "u2": "a reviewer"})
    assert [rater(found, name).gold.n for name in ("r0", "r1")] == [2, 2]
    assert 0 < rater(found, "r0").gold.accuracy == rater(found, "r1").gold.accuracy < 1
    assert rater(report(kind, rows, gold=gold, gold_by=dict.fromkeys(gold, "r0")), "r0").gold is None


@pytest.mark.parametrize(
    ("kind", "counts", "earlier", "expected"),
    [
        ("spans", HALF_MARKED, (ALL_MARKED, HALF_MARKED), (2 / 3, 1)),
        ("regions", boxes(1, 2), (boxes(1, 3), boxes(1, 2)), (1 / 2, 1)),
        ("ranking", ABC, (BAC, ABC), (2 / 3, 1)),
        ("text", "cart", ("cat", "cart"), (3 / 4, 1)),
    ],
)
def test_earlier_answers_are_as_like_the_one_that_counts(kind: str, counts: Any, earlier: Any, expected: Any) -> None:
    repeats = [("u0", "r0", earlier[0]), ("u0", "r0", earlier[1]), ("u7", "r0", counts)]
    one = rater(report(kind, [[counts, counts]], repeats=repeats), "r0")
    assert (one.repeated, one.repeated_alike) == (2, pytest.approx(sum(expected) / 2))


def test_answers_that_are_equal_or_not_are_counted() -> None:
    rows: list[list[Any]] = [[("a", "b"), ("a",)], [("c",), ("c",)]]
    found = report("choices", rows, gold={"u0": ("a", "b"), "u1": ("c",)}, repeats=[("u0", "r1", ("a", "b"))])
    assert [rater(found, name).gold.accuracy for name in ("r0", "r1")] == [1.0, 0.5]
    assert rater(found, "r1").repeated_alike == 0.0


@pytest.mark.parametrize("kind", ANSWERS)
@given(data=st.data())
def test_two_raters_are_as_alike_as_their_answers_on_average(kind: str, data: st.DataObject) -> None:
    one = ANSWERS[kind].filter(lambda value: value != "")
    rows = data.draw(st.lists(st.lists(st.none() | one, min_size=3, max_size=3), min_size=1, max_size=4))
    if not any(value is not None for row in rows for value in row):
        return
    found = report(kind, rows)
    assert found.diagnosis is not None
    comparison = COMPARISONS[found.distance]
    pairs = {(pair.a, pair.b): pair for pair in found.diagnosis.rater_pairs}
    for a, b in ((0, 1), (0, 2), (1, 2)):
        both = [(row[a], row[b]) for row in rows if row[a] is not None and row[b] is not None]
        if not both:
            assert (f"r{a}", f"r{b}") not in pairs
            continue
        alike = [1 if x == y else 1 - float(comparison.pairs([x, y], *np.array([[0], [1]]))[0]) for x, y in both]
        pair = pairs[f"r{a}", f"r{b}"]
        assert (pair.n, pair.kappa) == (len(both), None)
        assert pair.agreement == pytest.approx(np.mean(alike))


def test_pairs_of_raters_are_left_out_where_too_many_answers_would_be_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [[ABC, BAC, CBA]] * 4 + [[BAC, ABC, CBA]] * 4
    for most, there in ((5, False), (6, True)):  # three pairs in either of the two distinct rows
        monkeypatch.setattr("connector.agreement.raters.MOST_GRADED", most)
        diagnosis = report("ranking", rows).diagnosis
        assert diagnosis is not None
        assert bool(diagnosis.rater_pairs) is there
