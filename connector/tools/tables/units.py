"""Rows of long tables -> units with annotations, so that tables and tools go through one collector."""

from __future__ import annotations

import math
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np

from connector.annotations.choices import EMPTY, label_set
from connector.annotations.model import Annotation, Missing, Question, Unit, Value
from connector.annotations.order import when
from connector.errors import SkippedTask
from connector.tools.tables.read import Row

_EARLIEST = datetime(1, 1, 1, tzinfo=UTC).timestamp()
_LATEST = datetime(9999, 12, 31, tzinfo=UTC).timestamp()


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
        return dict(annotation.result)


def units_of(
    rows: Iterable[Row | SkippedTask], schema: TableSchema, missing: Collection[str] = ()
) -> Iterator[Unit | SkippedTask]:
    """All units of the rows of one or several tables, malformed rows first.

    A rater's rows on one unit are one annotation, with the newest row of each question; older rows make annotations of
    their own, which lose against it. The newest is told by the time column, else it is the last row.
    """
    table = _Rows()
    absent = frozenset(missing)
    for row in rows:
        if isinstance(row, SkippedTask):
            yield row
            continue
        schema.note(row.question, row.value)
        value: Value | Missing = row.value
        if row.value is None or (isinstance(row.value, str) and row.value in absent):
            value = EMPTY
        elif isinstance(row.value, list):
            value = label_set(row.value)
        table.add(row, value)
    yield from table.units()


class _Names(NamedTuple):
    """What the codes stand for."""

    raters: Sequence[str]
    questions: Sequence[str]
    values: Sequence[Value | Missing]


def _integers() -> array[int]:
    return array("i")


@dataclass(slots=True)
class _Rows:
    """All rows, coded: a table may be long, and its units can only be told apart once all of it is read."""

    unit_code: dict[str, int] = field(default_factory=dict)
    rater_code: dict[str, int] = field(default_factory=dict)
    question_code: dict[str, int] = field(default_factory=dict)
    value_code: dict[tuple[type, Value | Missing], int] = field(default_factory=dict)
    unit: array[int] = field(default_factory=_integers)
    rater: array[int] = field(default_factory=_integers)
    question: array[int] = field(default_factory=_integers)
    value: array[int] = field(default_factory=_integers)
    time: array[float] = field(default_factory=lambda: array("d"))

    def add(self, row: Row, value: Value | Missing) -> None:
        self.unit.append(self.unit_code.setdefault(row.unit, len(self.unit_code)))
        self.rater.append(-1 if row.rater is None else self.rater_code.setdefault(row.rater, len(self.rater_code)))
        self.question.append(self.question_code.setdefault(row.question, len(self.question_code)))
        # by type as well: a set of the label "empty" equals the mark of a missing answer
        self.value.append(self.value_code.setdefault((type(value), value), len(self.value_code)))
        time = when(row.time) if row.time else -math.inf
        self.time.append(time if _EARLIEST <= time < _LATEST else -math.inf)

    def units(self) -> Iterator[Unit]:
        time = np.array(self.time)
        newest_first = (-np.arange(len(time)), -time)
        order = np.lexsort((*newest_first, np.array(self.question), np.array(self.rater), np.array(self.unit)))
        edges = np.searchsorted(np.array(self.unit)[order], np.arange(len(self.unit_code) + 1)).tolist()
        rows = order.tolist()
        names = _Names(list(self.rater_code), list(self.question_code), [value for _, value in self.value_code])
        for unit, first, end in zip(self.unit_code, edges, edges[1:], strict=False):
            yield Unit(unit, list(self._annotations(rows[first:end], names)))

    def _annotations(self, rows: Sequence[int], names: _Names) -> Iterator[Annotation]:
        """The annotations of one unit's rows, which come by rater and question, the newest first."""
        by_rater: dict[tuple[int, int], list[int]] = {}
        depth, before = 0, (-1, -1)
        for row in rows:
            rater, question = self.rater[row], self.question[row]
            depth = depth + 1 if (rater, question) == before else 0
            before = (rater, question)
            # nobody knows whether two rows without a rater are one person's: each stands alone
            by_rater.setdefault((rater, depth if rater >= 0 else row), []).append(row)
        for (rater, _), own in by_rater.items():
            newest = max(own, key=lambda row: (self.time[row], row))
            yield Annotation(
                str(newest + 1),
                names.raters[rater] if rater >= 0 else None,
                [(names.questions[self.question[row]], names.values[self.value[row]]) for row in own],
                created_at=_iso(self.time[newest]),
            )


def _iso(seconds: float) -> str | None:
    return None if math.isinf(seconds) else datetime.fromtimestamp(seconds, UTC).isoformat()
