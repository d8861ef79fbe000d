"""Rows of long tables -> units with annotations, so that tables and tools go through one collector."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from connector.annotations.choices import EMPTY, label_set
from connector.annotations.dates import moment
from connector.annotations.model import Annotation, Missing, Question, Unit, Value
from connector.errors import SkippedTask
from connector.tools.tables.read import Row


class TableSchema:
    """The questions of long tables: nominal unless told otherwise. `questions` is right after the last unit."""

    def __init__(self) -> None:
        self._kinds: dict[str, str] = {}

    @property
    def questions(self) -> Mapping[str, Question]:
        """One per name in the question column, or `value` alone."""
        return {name: Question(name, kind, inferred=True) for name, kind in sorted(self._kinds.items())}

    def note(self, question: str, value: Any) -> None:
        """A list among the values makes the whole question one of sets."""
        if isinstance(value, list):
            self._kinds[question] = "choices"
        else:
            self._kinds.setdefault(question, "choice")

    def answers(self, annotation: Annotation, unit: Unit) -> Mapping[str, Value | Missing]:  # noqa: ARG002 - Schema's form
        """The values of the annotation's rows."""
        return {
            question: label_set(value) if isinstance(value, list) else value for question, value in annotation.result
        }


def units_of(
    rows: Iterable[Row | SkippedTask], schema: TableSchema, missing: Collection[str] = ()
) -> Iterator[Unit | SkippedTask]:
    """All units of the rows of one or several tables, malformed rows first.

    A rater's rows on one unit are one annotation, with the newest row of each question; older rows make annotations of
    their own, which lose against it. The newest is told by the time column, else it is the last row.
    """
    by_unit: dict[str, dict[str | None, list[tuple[int, Row]]]] = {}
    absent = frozenset(missing)
    for number, row in enumerate(rows, 1):
        if isinstance(row, SkippedTask):
            yield row
            continue
        schema.note(row.question, row.value)
        kept = row._replace(value=None) if isinstance(row.value, str) and row.value in absent else row
        by_unit.setdefault(row.unit, {}).setdefault(row.rater, []).append((number, kept))
    for unit, raters in by_unit.items():
        annotations: list[Annotation] = []
        for rater, numbered in raters.items():
            annotations += _annotations(rater, numbered)
        yield Unit(unit, annotations)


def _annotations(rater: str | None, numbered: list[tuple[int, Row]]) -> Iterator[Annotation]:
    if rater is None:
        # nobody knows whether two rows without a rater are one person's: each stands alone
        for number, row in numbered:
            yield _annotation(None, [(number, row)])
        return
    by_question: dict[str, list[tuple[int, Row]]] = {}
    for number, row in numbered:
        by_question.setdefault(row.question, []).append((number, row))
    for rows in by_question.values():
        if len(rows) > 1:
            rows.sort(key=_age, reverse=True)
    for depth in range(max(map(len, by_question.values()))):
        yield _annotation(rater, [rows[depth] for rows in by_question.values() if depth < len(rows)])


def _age(numbered: tuple[int, Row]) -> tuple[float, int]:
    number, row = numbered
    when = moment(row.time) if row.time else None
    return when.timestamp() if when else float("-inf"), number


def _annotation(rater: str | None, numbered: list[tuple[int, Row]]) -> Annotation:
    newest_number, newest = max(numbered, key=_age)
    result = [(row.question, EMPTY if row.value is None else row.value) for _, row in numbered]
    return Annotation(str(newest_number), rater, result, created_at=newest.time)
