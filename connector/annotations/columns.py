"""What a collector remembers of every annotation: a few machine words in parallel columns."""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from connector.annotations.model import (
    Annotation,
    Answer,
    BetweenRegions,
    Missing,
    PerItem,
    PerRegion,
    Region,
    Unit,
    Value,
)
from connector.annotations.order import when

NOT_ASKED = ("not_shown", "stale_child")
"""Reasons that say that a rater was not asked."""


def _integers() -> array[int]:
    return array("i")


@dataclass(slots=True)
class AnswerColumn:
    """The answers to one question as they come: annotation `rows[i]` gave the value of code `codes[i]`.

    of_parts : the question is asked of parts of a task.
    about : where it is, what each answer is about: an item or a region; None, or shorter than `rows`: the task.
    blank_rows, blank : parts about which a rater was asked and did not answer. hidden_rows, hidden : parts about which
        a condition kept the rater from being asked. marked_rows, marked : other regions.
    """

    rows: array[int] = field(default_factory=_integers)
    codes: array[int] = field(default_factory=_integers)
    code_of: dict[Value, int] = field(default_factory=dict)
    missing: dict[str, array[int]] = field(default_factory=dict)
    of_parts: bool = False
    about: list[str | Region | None] = field(default_factory=list)
    blank_rows: array[int] = field(default_factory=_integers)
    blank: list[str | Region] = field(default_factory=list)
    hidden_rows: array[int] = field(default_factory=_integers)
    hidden: list[str | Region] = field(default_factory=list)
    marked_rows: array[int] = field(default_factory=_integers)
    marked: list[Region] = field(default_factory=list)

    def add(self, row: int, answer: Answer) -> None:
        """Note an annotation's answer, or why it has none."""
        if type(answer) is Missing:
            self.missing.setdefault(answer.reason, array("i")).append(row)
            self.of_parts |= answer.reason == "nothing_to_ask"
        elif type(answer) is PerItem or type(answer) is PerRegion:
            self._add_parts(row, answer.answers)
        elif type(answer) is BetweenRegions:
            if answer.answer:
                self._add_value(row, answer.answer)
            self.marked_rows.extend([row] * len(answer.regions))
            self.marked += answer.regions
        else:
            # the busiest branch, without a call
            code_of = self.code_of
            self.rows.append(row)
            self.codes.append(code_of.setdefault(answer, len(code_of)))

    @property
    def regions(self) -> Iterator[tuple[int, Region]]:
        """Every region that it knows of, with the annotation that marked it."""
        rows = (*self.rows[: len(self.about)], *self.blank_rows, *self.hidden_rows, *self.marked_rows)
        parts = (*self.about, *self.blank, *self.hidden, *self.marked)
        return ((row, part) for row, part in zip(rows, parts, strict=True) if type(part) is Region and part.parts)

    def _add_value(self, row: int, value: Value) -> None:
        self.rows.append(row)
        self.codes.append(self.code_of.setdefault(value, len(self.code_of)))

    def _add_parts(self, row: int, answers: Mapping[Any, Value | Missing]) -> None:
        self.of_parts = True
        self.about += [None] * (len(self.rows) - len(self.about))
        reasons = set()
        for part, one in answers.items():
            if type(one) is not Missing:
                self._add_value(row, one)
                self.about.append(part)
                continue
            reasons.add(one.reason)
            if one.reason == "empty":
                self.blank_rows.append(row)
                self.blank.append(part)
            elif one.reason in NOT_ASKED:
                self.hidden_rows.append(row)
                self.hidden.append(part)
            elif type(part) is Region and part.parts:
                self.marked_rows.append(row)
                self.marked.append(part)
        # that a question was not asked of some parts alone is as it should be
        if len(reasons) > 1 or self.rows[-1:] == array("i", [row]):
            reasons.discard("not_shown")
        for reason in reasons:
            self.missing.setdefault(reason, array("i")).append(row)


@dataclass(slots=True)
class AnnotationColumns:
    """Every annotation that came, in batches of one unit each.

    unit_code, rater_code : id -> code, in the order of arrival.
    batch_unit, batch_start, batch_n : the unit of each batch, its first annotation and how many there are.
    first_batch, batches_of : the first batch of each unit, and the further ones of those that came more than once.
    declared : submitted annotations per unit as the source says, -1 unknown.
    rater : rater code or -1. reason : 0, or why the annotation does not count. ids, updated : as the tool gave them.
    seconds : time spent as the tool gave it, NaN unknown.
    created : the time that orders an annotation whose `updated_at` does not say when its rater last worked on it.
    superseded : annotations that came again in a newer state.
    marked, edited, copied, accepted : annotations with a property that few have.
    """

    unit_code: dict[str, int] = field(default_factory=dict)
    rater_code: dict[str, int] = field(default_factory=dict)
    batch_unit: array[int] = field(default_factory=_integers)
    batch_start: array[int] = field(default_factory=_integers)
    batch_n: array[int] = field(default_factory=_integers)
    batches_of: dict[int, list[int]] = field(default_factory=dict)
    first_batch: array[int] = field(default_factory=_integers)
    declared: array[int] = field(default_factory=_integers)
    rater: array[int] = field(default_factory=_integers)
    reason: array[int] = field(default_factory=lambda: array("b"))
    ids: list[str] = field(default_factory=list)
    updated: list[str | None] = field(default_factory=list)
    seconds: array[float] = field(default_factory=lambda: array("d"))
    created: dict[int, str | None] = field(default_factory=dict)
    superseded: set[int] = field(default_factory=set)
    marked: array[int] = field(default_factory=_integers)
    edited: array[int] = field(default_factory=_integers)
    copied: array[int] = field(default_factory=_integers)
    accepted: array[int] = field(default_factory=_integers)

    def new_in(self, unit: Unit) -> Sequence[Annotation]:
        """The unit's annotations without those that came before in the same or a newer state."""
        annotations = unit.annotations
        if len(annotations) > 1 and len({one.id for one in annotations}) < len(annotations):
            annotations = _newest_by_id(annotations)
        code = self.unit_code.get(unit.id)
        if code is None:
            return annotations
        known = {self.ids[row]: row for row in self._rows_of(code)}
        return [one for one in annotations if one.id not in known or self._is_newer(one, known[one.id])]

    def add(self, unit: Unit, annotations: Sequence[Annotation], why_not: Callable[[Annotation], int]) -> int:
        """Note these annotations of a unit; `why_not` gives their reason codes. Returns the first one's row."""
        first = len(self.ids)
        self._open_batch(unit, first, annotations)
        rater_code = self.rater_code
        for one in annotations:
            # unpacked once: this runs for every annotation of a source
            ident, rater, _, status, _, updated, updated_by, marked, seconds, parent, prediction = one
            self.ids.append(ident)
            self.updated.append(updated)
            self.seconds.append(math.nan if seconds is None else seconds)
            self.rater.append(-1 if rater is None else rater_code.setdefault(rater, len(rater_code)))
            self.reason.append(why_not(one))
            by_other = updated_by is not None and updated_by != rater
            if by_other or updated is None:
                # a star moves updated_at as an edit does: another's touch says nothing about the rater's own time
                self.created[len(self.ids) - 1] = one.created_at
            if status == "submitted" and (by_other or marked or parent is not None or prediction is not None):
                self._note_properties(len(self.ids) - 1, one, unit, by_other=by_other)
        return first

    def _note_properties(self, row: int, one: Annotation, unit: Unit, *, by_other: bool) -> None:
        if by_other:
            self.edited.append(row)
        if one.ground_truth:
            self.marked.append(row)
        if one.parent_annotation is not None:
            self.copied.append(row)
        if one.parent_prediction is not None and _unchanged(one, unit):
            self.accepted.append(row)

    def time(self, row: int) -> float:
        """When the annotation's rater last worked on it, as far as the tool tells."""
        return when(self.created[row] if row in self.created else self.updated[row])

    def _open_batch(self, unit: Unit, first: int, annotations: Sequence[Annotation]) -> None:
        declared = -1 if unit.declared is None else max(-1, min(unit.declared, 2**31 - 1))
        code = self.unit_code.get(unit.id)
        batch = len(self.batch_unit)
        if code is None:
            code = self.unit_code[unit.id] = len(self.unit_code)
            self.first_batch.append(batch)
            self.declared.append(declared)
        else:
            known = {self.ids[row]: row for row in self._rows_of(code)}
            self.superseded.update(known[one.id] for one in annotations if one.id in known)
            self.batches_of.setdefault(code, []).append(batch)
            self.declared[code] = max(self.declared[code], declared)
        self.batch_unit.append(code)
        self.batch_start.append(first)
        self.batch_n.append(len(annotations))

    def _rows_of(self, code: int) -> Iterator[int]:
        """The annotations of a unit that came so far, older states left out."""
        for batch in (self.first_batch[code], *self.batches_of.get(code, ())):
            start = self.batch_start[batch]
            for row in range(start, start + self.batch_n[batch]):
                if row not in self.superseded:
                    yield row

    def _is_newer(self, one: Annotation, row: int) -> bool:
        return one.updated_at != self.updated[row] and when(one.updated_at) > when(self.updated[row])


def _newest_by_id(annotations: Iterable[Annotation]) -> list[Annotation]:
    """One annotation per id: a copy inside a unit is merged like a copy of the unit."""
    kept: dict[str, Annotation] = {}
    for one in annotations:
        known = kept.get(one.id)
        if known is None or when(one.updated_at) > when(known.updated_at):
            kept[one.id] = one
    return list(kept.values())


def _unchanged(one: Annotation, unit: Unit) -> bool:
    """Whether an annotation says exactly what the prediction it started from said."""
    prediction = unit.predictions.get(one.parent_prediction) if one.parent_prediction is not None else None
    return prediction is not None and _content(one.result) == _content(prediction)


def _content(result: Sequence[Any]) -> list[str]:
    parts = ("from_name", "to_name", "type", "value")
    return sorted(
        json.dumps([one.get(part) for part in parts], sort_keys=True, default=str)
        for one in result
        if isinstance(one, dict)
    )
