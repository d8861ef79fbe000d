"""Free text and rankings: what is one answer, and how questions of them are measured."""

from __future__ import annotations

import json
import random
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from connector import assess
from connector.agreement.distances.texts import EDIT, LONG, MOST_WORDS
from connector.agreement.keys import brief_key, brief_value
from connector.agreement.report import QuestionRatings
from connector.annotations.collect import Collector, QuestionChoice, Table
from connector.annotations.display import mended_text, text_of
from connector.annotations.model import Annotation, Missing, Question, Unit, Value
from connector.annotations.rankings import as_ranking, in_buckets, ranking
from connector.annotations.text import as_text
from connector.errors import FixConfiguration

EMPTY, UNREADABLE = Missing("empty"), Missing("unreadable")
ABC = (("a", 1.0), ("b", 2.0), ("c", 3.0))
CBA = (("a", 3.0), ("b", 2.0), ("c", 1.0))
ACB = (("a", 1.0), ("b", 3.0), ("c", 2.0))


class Given:
    """A schema whose annotations hold their answers as they are."""

    def __init__(self, *questions: Question) -> None:
        self.questions = {one.name: one for one in questions}

    def answers(self, annotation: Annotation, unit: Unit) -> dict[str, Value | Missing]:
        return dict(annotation.result)


def table_of(rows: list[list[Any]], question: Question, choice: QuestionChoice | None = None) -> Table:
    """One row per unit, one answer per rater (None: not rated)."""
    collector = Collector(Given(question), None, {question.name: choice} if choice else None)
    for place, row in enumerate(rows):
        annotations = [
            Annotation(f"{place}/{rater}", f"r{rater}", [(question.name, value)])
            for rater, value in enumerate(row)
            if value is not None
        ]
        collector.add(Unit(str(place), annotations))
    return collector.table()


def measured(rows: list[list[Any]], question: Question, choice: QuestionChoice | None = None) -> Any:
    one = table_of(rows, question, choice).questions[question.name]
    asked = QuestionRatings(
        "q",
        one.question.kind,
        one.ratings,
        distance=one.question.distance,
        categories=one.question.categories,
        required=one.question.required,
    )
    return assess(asked).questions["q"]


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ("Two  words\n", "Two words"),
        ("a\tb\nc", "a b c"),
        ("e\u0301", "\u00e9"),
        ("Case IS kept", "Case IS kept"),
        (("one", "two"), "one\ntwo"),
        (("two", "one"), "two\none"),
        (("one", " ", "two "), "one\ntwo"),
        (" ", EMPTY),
        ((), EMPTY),
        ((" ",), EMPTY),
        (3.0, "3"),
        ((("a", "b"),), UNREADABLE),
        ("\ud800", "\\ud800"),
    ],
)
def test_what_is_one_text(raw: Any, value: Any) -> None:
    assert as_text(raw) == value


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ((("b", 2), ("a", 1)), (("a", 1.0), ("b", 2.0))),
        ((("a", 7), ("b", 7.5), ("c", "8")), ABC),
        ((("a", 2), ("b", 5), ("c", 2)), (("a", 1.0), ("b", 2.0), ("c", 1.0))),
        ((("a", 1), ("a", 2)), UNREADABLE),
        ((("a", None),), UNREADABLE),
        ((("", 1),), UNREADABLE),
        ("a", UNREADABLE),
        (("a", "b", "c"), UNREADABLE),
        ((), EMPTY),
    ],
)
def test_what_is_one_ranking(raw: Any, value: Any) -> None:
    assert as_ranking(raw) == value


def test_buckets_are_ordered_sets() -> None:
    assert in_buckets([["x", "y"], [], ["z"]]) == (("x", 1.0), ("y", 1.0), ("z", 2.0))
    assert in_buckets([["y", "x"], ["z"]]) == in_buckets([["x", "y"], ["z"]])
    assert in_buckets([[], []]) == EMPTY
    assert in_buckets([["x"], ["x"]]) == UNREADABLE


def test_texts_that_differ_in_blanks_and_composition_alone_are_one_answer() -> None:
    question = measured([["caf\u00e9  au lait", "cafe\u0301 au lait"], ["tea", "Tea"]], Question("q", "text"))
    assert question.units["0"].status == "agreed"
    assert question.units["1"].agreement == 0.67
    assert question.distance == "edit"


def test_a_text_can_be_compared_as_equal_or_not() -> None:
    rows = [["a b", "a  b"], ["tea", "Tea"], ["x", "x"]]
    question = measured(rows, Question("q", "text"), QuestionChoice(distance="nominal"))
    assert question.units["1"].agreement == 0.0
    # six ratings, one of three pairs apart: 1 - 5 x 2 / (36 - (4 + 1 + 1 + 4))
    assert question.alpha.value == pytest.approx(1 - 5 * 2 / 26)
    with pytest.raises(FixConfiguration, match="no distance 'masi'"):
        table_of(rows, Question("q", "text"), QuestionChoice(distance="masi"))
    with pytest.raises(FixConfiguration, match="have no interval level"):
        table_of(rows, Question("q", "text"), QuestionChoice(level="interval"))


def distance(one: str, other: str) -> float:
    values, pair = [one, other], (np.array([0]), np.array([1]))
    (apart,) = EDIT.pairs(values, *pair)
    assert EDIT.matrix(values).tolist() == [[0, apart], [apart, 0]]
    return float(apart)


def test_texts_are_compared_by_characters_up_to_a_length_and_by_words_from_there() -> None:
    # 2,500 words of one letter
    words = "a " * (LONG // 2)
    at_most, longer = words, words + "b"
    assert (len(at_most), len(longer)) == (LONG, LONG + 1)
    assert distance(at_most, at_most[:-2] + "b ") == pytest.approx(1 / LONG)
    # one word more among 2,501, although the other text is short enough
    assert distance(at_most, longer) == pytest.approx(1 / (LONG // 2 + 1))
    assert distance("a", longer) == pytest.approx(1 - 1 / (LONG // 2 + 1))
    # a word in another place is taken away and put in
    assert distance("b " + words, words + "b ") == pytest.approx(2 / (LONG // 2 + 1))


def test_of_very_long_texts_the_order_of_words_is_not_looked_at() -> None:
    words = [f"w{n}" for n in range(MOST_WORDS)]
    assert distance(" ".join(words), " ".join(words[::-1])) > 0.9
    words.append("w0")
    assert distance(" ".join(words), " ".join(words[::-1])) == 0
    assert distance(" ".join(words), " ".join([*words[:-2], "x", "w0"])) == pytest.approx(1 / len(words))
    assert distance(" ".join(words), " ".join(words[:100])) == pytest.approx(1 - 100 / len(words))


def test_megabytes_of_text_are_compared_in_seconds_and_counted_and_not_shown_whole() -> None:
    rng = random.Random(2)
    rows = [["".join(rng.choices("abcdefgh ", k=1_000_000)) for _ in range(2)] for _ in range(2)] + [["a", "a"]]
    started = time.process_time()
    made = table_of(rows, Question("q", "text")).questions["q"]
    asked = QuestionRatings("q", "text", made.ratings, distance="edit", mended=made.mended)
    bodies = [
        assess(replace(asked, distance=distance), confidence=None).to_json()["questions"]["q"]
        for distance in ("edit", "nominal")
    ]
    assert time.process_time() - started < 30
    assert made.mended == {"long": 4}
    assert "texts of more than 5,000 characters" in mended_text(made.mended, "text")
    assert max(len(json.dumps(body)) for body in bodies) < 100_000
    assert len(bodies[1]["categories"]) == 5
    assert len(bodies[1]["pairs"]) == 2
    as_they_are = table_of(rows, Question("q", "text"), QuestionChoice(distance="nominal")).questions["q"]
    assert as_they_are.mended == {}


def test_two_long_categories_with_the_same_ends_have_two_keys() -> None:
    one, other = "a" * 5000 + "b" + "a" * 5000, "a" * 5000 + "c" + "a" * 5000
    assert brief_key(one) != brief_key(other)
    assert max(len(brief_key(one)), len(brief_value(other))) < 1_200
    assert brief_key("a" * 1000) == "a" * 1000
    assert brief_value(("a", "b")) == ["a", "b"]


def test_rankings_of_shared_items_are_compared_by_kendalls_distance_and_gated() -> None:
    question = measured([[ABC, ABC], [ABC, CBA], [ACB, ABC]], Question("q", "ranking"))
    assert (question.distance, question.source.required) == ("kendall", True)
    assert [question.units[str(place)].agreement for place in range(3)] == [1.0, 0.0, 0.67]
    # tau-b of the three tasks: 1, -1, 1/3
    assert question.coefficients["kendall_tau_b"].value == pytest.approx(1 / 9)
    assert question.alpha.value is not None
    assert set(question.coefficients) >= {"krippendorff_alpha_exact", "percent_agreement"}


def test_rankings_of_items_that_differ_by_task_have_no_alpha_and_decide_no_gate() -> None:
    other = tuple((f"other {item}", rank) for item, rank in ABC)
    question = measured([[ABC, CBA], [other, other]], Question("q", "ranking"))
    assert (question.distance, question.source.required) == ("kendall_by_task", False)
    assert (question.alpha.value, question.alpha.reason) == (None, "not_comparable")
    assert question.coefficients["kendall_tau_b"].value == pytest.approx(0.0)
    assert [question.units[unit].agreement for unit in ("0", "1")] == [0.0, 1.0]
    assert "fleiss_kappa" not in question.coefficients


def test_settings_overrule_what_the_items_say() -> None:
    other = tuple((f"other {item}", rank) for item, rank in ABC)
    question = measured([[ABC, CBA], [other, other]], Question("q", "ranking"), QuestionChoice(distance="kendall"))
    assert (question.distance, question.source.required) == ("kendall", False)
    assert question.alpha.value is not None
    question = measured([[ABC, CBA], [other, other]], Question("q", "ranking"), QuestionChoice(required=True))
    assert (question.distance, question.source.required) == ("kendall_by_task", True)


def test_a_ranking_of_declared_items_may_leave_some_out() -> None:
    first_of = Question("q", "ranking", categories=("a", "b", "c"))
    question = measured([[(("a", 1),), ABC], [(("c", 1),), CBA]], first_of)
    assert question.distance == "kendall"
    assert question.units["0"].agreement == pytest.approx(0.83)


def test_items_that_are_not_declared_are_stale_and_can_be_renamed() -> None:
    rows = [[ABC, (("a", 1), ("old", 2), ("c", 3))]]
    declared = Question("q", "ranking", categories=("a", "b", "c"))
    assert table_of(rows, declared).questions["q"].stale == {"old": 1}
    renamed = table_of(rows, declared, QuestionChoice(relabel={"old": "b"})).questions["q"]
    assert (renamed.stale, list(renamed.ratings.codebook.categories)) == ({}, [ABC])
    merged = table_of(rows, declared, QuestionChoice(relabel={"old": "a"})).questions["q"]
    assert merged.left_out == {"unreadable": 1}


@pytest.mark.parametrize(
    ("row", "majority", "status"),
    [
        ([ABC, ABC, CBA], ABC, "conflict"),
        ([ABC, ACB], (("a", 1.0), ("b", 2.0), ("c", 2.0)), "majority"),
        ([ABC, CBA], None, "conflict"),
        ([ABC, ABC], ABC, "agreed"),
        ([ABC], ABC, "single"),
    ],
)
def test_the_consensus_of_rankings_is_bordas_order(row: list[Any], majority: Any, status: str) -> None:
    found = measured([row], Question("q", "ranking")).units["0"]
    assert (found.majority, found.status) == (majority, status)


@pytest.mark.parametrize(
    ("row", "majority"),
    [([1, 2, 9], 2.0), ([1, 2], 1.5), ([1, 1, 9], 1.0), ([4], 4.0), ([1, 3, 3, 9], 3.0)],
)
def test_the_consensus_of_numbers_is_their_median(row: list[float], majority: float) -> None:
    table = table_of([row], Question("q", "number")).questions["q"]
    asked = QuestionRatings("q", "number", table.ratings, level="interval")
    assert assess(asked, confidence=None).questions["q"].units["0"].majority == majority


def test_the_consensus_of_ratings_stays_the_commonest() -> None:
    table = table_of([[1, 5, 5, 2], [1, 2]], Question("q", "rating", categories=(1.0, 2.0, 3.0, 4.0, 5.0))).questions[
        "q"
    ]
    units = assess(QuestionRatings("q", "rating", table.ratings, level="ordinal")).questions["q"].units
    assert [units["0"].majority, units["1"].majority] == [5.0, None]


@pytest.mark.parametrize(
    ("value", "kind", "shown"),
    [
        (ABC, "ranking", "a > b > c"),
        (ranking([("x", 2), ("y", 1), ("z", 2)]), "ranking", "y > x = z"),
        ("a\nb", "text", "a\nb"),
    ],
)
def test_how_people_see_an_answer(value: Any, kind: str, shown: str) -> None:
    assert text_of(value, kind) == shown
