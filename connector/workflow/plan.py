"""The plan of writes: a pure difference between what should be there and what the ledger says is there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from connector.annotations.collect import natural_key
from connector.annotations.display import counted, few
from connector.tools.base import (
    ClearFields,
    DrawMarks,
    PutFields,
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
AT_ONCE = 100
"""Units per step where each is a write of its own: a step is what a crash can repeat, and what a tool's other users may
have to wait for."""

Fields = Mapping[str, Mapping[str, FieldValue]]
"""field -> unit -> value"""
Held = Mapping[str, Mapping[str, FieldValue | None]]
"""The same of what stands in a tool; None where it is not known whether the last write arrived."""


@dataclass(frozen=True, slots=True)
class WritePlan:
    """What to write, in this order. Empty when everything is as it should be. `noun` is what people call a unit of the
    tool."""

    operations: tuple[WriteOp, ...] = ()
    noun: str = "unit"

    def __bool__(self) -> bool:
        return bool(self.operations)

    def lines(self) -> list[str]:
        """The plan for people, one line for each kind of change."""
        return [
            *_field_lines(self.operations, self.noun),
            *(line for op in self.operations if (line := _describe(op, self.noun))),
        ]


def plan_fields(desired: Fields, held: Held) -> list[SetField | ClearFields]:
    """The operations that turn the field values `held` into those `desired`; equal values of a field go in one
    operation."""
    sets: dict[tuple[str, FieldValue], list[str]] = defaultdict(list)
    gone: dict[str, list[str]] = defaultdict(list)
    for field, unit, value in _differences(desired, held):
        if value is None:
            gone[unit].append(field)
        else:
            sets[field, value].append(unit)
    return [
        *(SetField(field, value, tuple(units)) for (field, value), units in sets.items()),
        *_clears({unit: tuple(sorted(fields)) for unit, fields in gone.items()}),
    ]


def plan_units(desired: Fields, held: Held, created: Mapping[str, str | None]) -> list[PutFields]:
    """The same for a tool that is written unit by unit: all fields of a unit in one operation, in steps.

    The oldest units (by `created`) come first, since neighbours are read and written faster.
    """
    changes: dict[str, dict[str, FieldValue | None]] = defaultdict(dict)
    for field, unit, value in _differences(desired, held):
        changes[unit][field] = value
    return _put({unit: changes[unit] for unit in sorted(changes, key=lambda unit: _age(unit, created))})


def plan_removal(fields: Mapping[str, tuple[str, ...]], *, per_unit: bool) -> list[ClearFields] | list[PutFields]:
    """The operations that take these fields away: unit -> names."""
    return _put({unit: dict.fromkeys(names) for unit, names in fields.items()}) if per_unit else _clears(fields)


def _differences(desired: Fields, held: Held) -> Iterator[tuple[str, str, FieldValue | None]]:
    """(field, unit, value), None where a value that is held, or may be, is no longer wanted."""
    for field, values in desired.items():
        there = held.get(field, {})
        yield from ((field, unit, value) for unit, value in values.items() if not same(there.get(unit), value))
    for field, units in held.items():
        wanted = desired.get(field, {})
        yield from ((field, unit, None) for unit in units if unit not in wanted)


def _clears(fields: Mapping[str, tuple[str, ...]]) -> list[ClearFields]:
    """Units with the same names go together."""
    units: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for unit, names in fields.items():
        units[names].append(unit)
    return [ClearFields(names, part) for names, found in sorted(units.items()) for part in _steps(found)]


def _put(changes: Mapping[str, Mapping[str, FieldValue | None]]) -> list[PutFields]:
    return [PutFields({unit: changes[unit] for unit in part}) for part in _steps(list(changes))]


def _steps(units: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for start in range(0, len(units), AT_ONCE):
        yield tuple(units[start : start + AT_ONCE])


def _age(unit: str, created: Mapping[str, str | None]) -> tuple[str, tuple[int, int, str, str]]:
    return created.get(unit) or "", natural_key(unit)


def same(held: object, wanted: object) -> bool:
    """Whether a value read back is the one wanted: 1 and 1.0 are, 1 and "1" are not."""
    if isinstance(held, bool) or isinstance(held, str) is not isinstance(wanted, str):
        return False
    return held == wanted


def _field_lines(operations: Iterable[WriteOp], noun: str) -> list[str]:
    written: dict[str, set[str]] = defaultdict(set)
    cleared: dict[str, set[str]] = defaultdict(set)
    for op in operations:
        if isinstance(op, SetField):
            written[op.field].update(op.units)
        elif isinstance(op, ClearFields):
            for field in op.fields:
                cleared[field].update(op.units)
        elif isinstance(op, PutFields):
            for unit, fields in op.units.items():
                for field, value in fields.items():
                    (cleared if value is None else written)[field].add(unit)
    return [
        *(f"set {field} on {_units(units, noun)}" for field, units in written.items()),
        *(f"take {field} away from {_units(units, noun)}" for field, units in cleared.items()),
    ]


def _units(units: set[str], noun: str) -> str:
    shown = sorted(units, key=natural_key)
    # Ids of some tools are long: five of them hide what the line says.
    named = few(shown, most=5 if len(shown[0]) <= 12 else 1)
    return f"{counted(len(shown), noun)} ({named})"


def _describe(op: WriteOp, noun: str) -> str | None:
    match op:
        case PutView(title=title, status_field=field, status_value=value, order_field=order):
            return f'put the tab "{title}" ({field} = {value}, lowest {order} first)'
        case PutSummary(text=text):
            return f"put into the description: {text}"
        case PutReviewTasks(items=items):
            return f"make review tasks for {_units({item.unit for item in items}, noun)}"
        case DrawMarks(items=items):
            return f"show each rater's marks on the review tasks of {_units({item.unit for item in items}, noun)}"
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
