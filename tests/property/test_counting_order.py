"""The table of a source does not depend on the order or the division in which its annotations come."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from connector.annotations.collect import Collector
from connector.annotations.model import Annotation, Missing, Question, Unit, Value

TIMES = st.sampled_from([None, "2026-01-01T10:00:00Z", "2026-01-02T10:00:00Z", "2026-01-03T10:00:00+02:00"])
PEOPLE = st.sampled_from([None, "1", "2", "10"])
ANSWERS: st.SearchStrategy[list[Any]] = st.sampled_from(
    [[], [("q", "a")], [("q", "b")], [("q", ("a", "c"))], [("p", "4"), ("q", "a")]]
)


@st.composite
def sources(draw: st.DrawFn) -> list[Unit]:
    units = []
    for unit in range(draw(st.integers(0, 4))):
        annotations = [
            Annotation(
                f"{unit}{number}",
                draw(PEOPLE),
                draw(ANSWERS),
                draw(st.sampled_from(["submitted", "submitted", "cancelled", "draft"])),
                draw(TIMES),
                draw(TIMES),
                draw(PEOPLE),
                draw(st.booleans()),
            )
            for number in range(draw(st.integers(0, 5)))
        ]
        units.append(Unit(str(unit), annotations, declared=draw(st.sampled_from([None, 0, 2, 9]))))
    return units


class Growing:
    """A schema that learns its kinds as the results come."""

    def __init__(self) -> None:
        self._kinds: dict[str, str] = {}

    @property
    def questions(self) -> Mapping[str, Question]:
        return {name: Question(name, kind, inferred=True) for name, kind in sorted(self._kinds.items())}

    def answers(self, annotation: Annotation, unit: Unit) -> Mapping[str, Value | Missing]:
        for name, value in annotation.result:
            if isinstance(value, tuple):
                self._kinds[name] = "choices"
            self._kinds.setdefault(name, "choice")
        return dict(annotation.result)


def summary(units: list[Unit]) -> Any:
    collector = Collector(Growing())
    for unit in units:
        collector.add(unit)
    table = collector.table()
    questions = {
        name: (one.question, one.ratings.wide(), one.ratings.codebook.categories, one.left_out, one.repeats, one.gold)
        for name, one in table.questions.items()
    }
    counts = (table.left_out, table.n_annotations, table.incomplete, table.edited_by_other, table.ground_truth)
    return questions, list(table.unit_ids), list(table.rater_ids), counts


@given(sources(), st.randoms(use_true_random=False))
def test_order_division_and_copies_change_nothing(units: list[Unit], shuffle: random.Random) -> None:
    expected = summary(units)
    pieces = list(units)
    for unit in units:
        some = [one for one in unit.annotations if shuffle.random() < 0.5]
        pieces.append(unit._replace(annotations=some))
    shuffle.shuffle(pieces)
    pieces = [unit._replace(annotations=shuffle.sample(unit.annotations, len(unit.annotations))) for unit in pieces]
    assert summary(pieces) == expected


@given(sources())
def test_every_annotation_is_either_a_rating_or_left_out_for_one_reason(units: list[Unit]) -> None:
    collector = Collector(Growing())
    for unit in units:
        collector.add(unit)
    table = collector.table()
    for question in table.questions.values():
        n = question.ratings.n_ratings + sum(question.left_out.values()) - question.left_out.get("draft", 0)
        assert n == table.n_annotations
        assert len(set(zip(question.ratings.units.tolist(), question.ratings.raters.tolist(), strict=True))) == (
            question.ratings.n_ratings
        )
