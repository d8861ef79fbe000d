"""The plan of writes: a pure difference between what should be there and what the ledger says is there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from connector.annotations.collect import natural_key
from connector.annotations.display import few
from connector.tools.base import (
    ClearFields,
    PutReviewTasks,
    PutSummary,
    PutView,
    RemoveReview,
    RemoveSummary,
    RemoveView,
    ResetColumns,
    SetField,
    WriteOp,
)

FieldValue = str | float
CLEARED_AT_ONCE = 100
"""Units per step when fields are taken away: each is one request of its own, and a step is what a crash can repeat."""

Fields = Mapping[str, Mapping[str, FieldValue]]
"""field -> unit -> value"""


@dataclass(frozen=True, slots=True)
class WritePlan:
    """What to write, in this order. Empty when everything is as it should be."""

    operations: tuple[WriteOp, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.operations)

    def lines(self) -> list[str]:
        """The plan for people, one line for each kind of change."""
        return [*_field_lines(self.operations), *(line for op in self.operations if (line := _describe(op)))]


def plan_fields(desired: Fields, held: Fields) -> list[SetField | ClearFields]:
    """The operations that turn the field values `held` into those `desired`; equal values of a field go in one
    operation."""
    sets: dict[tuple[str, FieldValue], list[str]] = defaultdict(list)
    for field, values in desired.items():
        there = held.get(field, {})
        for unit, value in values.items():
            if not same(there.get(unit), value):
                sets[field, value].append(unit)
    gone: dict[str, list[str]] = defaultdict(list)
    for field, values in held.items():
        wanted = desired.get(field, {})
        for unit in values:
            if unit not in wanted:
                gone[unit].append(field)
    clears: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for unit, fields in gone.items():
        clears[tuple(sorted(fields))].append(unit)
    return [
        *(SetField(field, value, tuple(units)) for (field, value), units in sets.items()),
        *(ClearFields(fields, tuple(units)) for fields, units in sorted(clears.items())),
    ]


def in_steps(operations: Iterable[WriteOp]) -> list[WriteOp]:
    """The same operations with long removals cut into steps."""
    cut: list[WriteOp] = []
    for op in operations:
        if isinstance(op, ClearFields):
            cut += [
                ClearFields(op.fields, op.units[start : start + CLEARED_AT_ONCE])
                for start in range(0, len(op.units), CLEARED_AT_ONCE)
            ]
        else:
            cut.append(op)
    return cut


def same(held: object, wanted: object) -> bool:
    """Whether a value read back is the one wanted: 1 and 1.0 are, 1 and "1" are not."""
    if isinstance(held, bool) or isinstance(held, str) is not isinstance(wanted, str):
        return False
    return held == wanted


def _field_lines(operations: Iterable[WriteOp]) -> list[str]:
    written: dict[str, set[str]] = defaultdict(set)
    cleared: dict[str, set[str]] = defaultdict(set)
    for op in operations:
        if isinstance(op, SetField):
            written[op.field].update(op.units)
        elif isinstance(op, ClearFields):
            for field in op.fields:
                cleared[field].update(op.units)
    return [
        *(f"set {field} on {_units(units)}" for field, units in written.items()),
        *(f"take {field} away from {_units(units)}" for field, units in cleared.items()),
    ]


def _units(units: set[str]) -> str:
    shown = sorted(units, key=natural_key)
    return f"{len(shown):,} unit{'' if len(shown) == 1 else 's'} ({few(shown)})"


def _describe(op: WriteOp) -> str | None:
    match op:
        case PutView(title=title, status_field=field, status_value=value, order_field=order):
            return f'put the tab "{title}" ({field} = {value}, lowest {order} first)'
        case PutSummary(text=text):
            return f"put into the description: {text}"
        case PutReviewTasks(items=items):
            return f"make review tasks for {_units({item.unit for item in items})}"
        case RemoveView():
            return "delete our tab"
        case RemoveSummary():
            return "take our line out of the description"
        case RemoveReview(remote=remote):
            return f"delete the review project {remote} with the reviewers' work in it"
        case ResetColumns():
            return "let the tool forget the columns of fields that are gone"
        case _:
            return None
