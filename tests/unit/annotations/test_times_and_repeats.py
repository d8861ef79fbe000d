"""Time spent and replaced answers come through to the question they belong to, row by row."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from connector.agreement.report import QuestionRatings, assess
from connector.annotations.collect import Collector, CountingRules, QuestionChoice, Table
from connector.annotations.model import Annotation, Missing, Question, Unit, Value

EARLY, LATE = "2026-01-01T10:00:00Z", "2026-01-02T10:00:00Z"


class Given:
    """A schema whose results are (question, value) pairs."""

    def __init__(self, *questions: Question) -> None:
        self.questions: Mapping[str, Question] = {one.name: one for one in questions}

    def answers(self, annotation: Annotation, unit: Unit) -> Mapping[str, Value | Missing]:
        return dict(annotation.result)


def rating(ident: str, rater: str, seconds: float | None, updated: str = EARLY, **answers: Any) -> Annotation:
    return Annotation(ident, rater, list(answers.items()), updated_at=updated, lead_time=seconds)


def collected(units: Sequence[Unit], rules: CountingRules | None = None, **choices: QuestionChoice) -> Table:
    collector = Collector(Given(Question("q", "choice"), Question("p", "choices")), rules, choices)
    for unit in units:
        collector.add(unit)
    return collector.table()


def seconds_of(table: Table, question: str = "q") -> dict[tuple[str, str], float]:
    one = table.questions[question]
    assert one.lead_times is not None
    ratings = one.ratings
    return {
        (ratings.unit_ids[u], ratings.rater_ids[r]): seconds
        for u, r, seconds in zip(ratings.units.tolist(), ratings.raters.tolist(), one.lead_times.tolist(), strict=True)
    }


def test_each_rating_keeps_its_own_time_whatever_the_order() -> None:
    units = [Unit(str(u), [rating(f"{u}-{r}", str(r), 10.0 * u + r, q="a") for r in range(3)]) for u in range(1, 20)]
    expected = {(str(u), str(r)): 10.0 * u + r for u in range(1, 20) for r in range(3)}
    assert seconds_of(collected(units)) == expected
    shuffler = random.Random(4)
    turned = [unit._replace(annotations=shuffler.sample(unit.annotations, 3)) for unit in units]
    shuffler.shuffle(turned)
    assert seconds_of(collected(turned)) == expected


def test_unknown_times_are_not_numbers_and_none_at_all_is_none() -> None:
    table = collected([Unit("1", [rating("1", "x", None, q="a"), rating("2", "y", 3.5, q="b")])])
    found = seconds_of(table)
    assert math.isnan(found["1", "x"])
    assert found["1", "y"] == 3.5
    assert collected([Unit("1", [rating("1", "x", None, q="a")])]).questions["q"].lead_times is None
    assert collected([]).questions["q"].lead_times is None


def test_times_of_the_empty_set_where_empty_is_an_answer() -> None:
    units = [Unit("1", [rating("1", "x", 2.0, q="a"), rating("2", "y", 4.0, q="a", p=("l",))])]
    assert seconds_of(collected(units, p=QuestionChoice(empty="none")), "p") == {("1", "x"): 2.0, ("1", "y"): 4.0}
    assert seconds_of(collected(units), "p") == {("1", "y"): 4.0}


def test_a_replaced_answer_is_kept_and_the_newest_state_counts_once() -> None:
    first = Unit("7", [rating("1", "x", 1.0, EARLY, q="old"), rating("2", "x", 2.0, LATE, q="new")])
    again = Unit("7", [rating("1", "x", 9.0, "2026-01-01T11:00:00Z", q="older state's successor")])
    one = collected([first]).questions["q"]
    assert (one.repeats, list(one.replaced)) == (1, [("7", "x", "old")])
    merged = collected([first, again]).questions["q"]
    assert list(merged.replaced) == [("7", "x", "older state's successor")]
    assert seconds_of(collected([first, again])) == {("7", "x"): 2.0}


def test_what_never_counts_is_no_replaced_answer() -> None:
    units = [
        Unit(
            "7",
            [
                rating("1", "x", 1.0, EARLY, q="old")._replace(status="cancelled"),
                rating("2", "x", 2.0, LATE, q="new"),
                rating("3", "boss", 2.0, EARLY, q="old"),
                rating("4", "boss", 2.0, LATE, q="new"),
            ],
        )
    ]
    rules = CountingRules(reviewers=frozenset({"boss"}))
    assert list(collected(units, rules).questions["q"].replaced) == []


def test_a_table_tells_of_its_raters() -> None:
    units = [
        Unit(
            str(u),
            [
                rating(f"{u}a", "x", 5.0, EARLY, q="a" if u % 4 else "b"),
                rating(f"{u}b", "x", 7.0 + u, LATE, q="a"),
                rating(f"{u}c", "y", 1.0, EARLY, q="a")._replace(ground_truth=True),
            ],
        )
        for u in range(8)
    ]
    one = collected(units).questions["q"]
    question = QuestionRatings(
        "q", "choice", one.ratings, gold=one.gold, gold_by=one.gold_by, lead_times=one.lead_times, repeats=one.replaced
    )
    found = assess(question, confidence=None).questions["q"].diagnosis
    assert found is not None
    x = next(rater for rater in found.raters if rater.rater == "x")
    assert (x.seconds, x.n_timed) == (float(np.median(np.arange(8) + 7.0)), 8)
    assert (x.repeated, x.repeated_alike) == (8, 0.75)
    assert x.gold is not None
    assert (x.gold.n, x.gold.accuracy) == (8, 1.0)
