"""Carry out a plan, operation by operation, and enter each receipt in the ledger before the next one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from connector.errors import (
    FixAccess,
    FixConfiguration,
    NotThere,
    RetryLater,
    ToolTrouble,
    UnexpectedAnswer,
    WritesFailed,
)
from connector.store import Store
from connector.tools.base import (
    ClearFields,
    DrawMarks,
    PutFields,
    PutReviewTasks,
    PutSummary,
    PutView,
    Receipt,
    RemoveSummary,
    RemoveView,
    SetField,
    Tool,
    WriteOp,
)
from connector.workflow.plan import WritePlan

FIELD = "field:"
INTENT = "intent:"
"""A value about to be written: entered before the call, so that a crash leaves no doubt whose it is."""
FOREIGN = "foreign:"
"""A field of our name that holds a person's value."""
BARE = "bare"
"""A unit that had no place for fields before the first of ours, not even an empty one (`Receipt.bare`)."""
COLUMNS = "columns"
VIEW = "view"
SUMMARY = "summary"
EARLIER_REVIEWS = "earlier_reviews"
"""Review projects of projects that had this one's name and are gone (`Tool.find_ours`)."""
REVIEW_TASK = "review_task"
REVIEW_LETTER = "review_letter"
"""By rater: the number of the letter that stands for them in review tasks."""
REVIEW_PROJECT = "review_project"
REVIEW_MARKS = "review_marks"
"""What was drawn on a unit's review task (`ReviewItem.version`)."""
DEFAULT_VIEW = "default_view"
VIEW_LINK = "view_link"

MOST_REFUSED = 5
"""Operations that a tool may refuse one after the other before the rest is not tried any more."""

Progress = Callable[[int, int | None], None]


@dataclass(slots=True)
class Written:
    """What arrived: field values by unit, taken away, units that are gone from the tool, review tasks made.

    done : what arrived, as operations. failed : what did not, and why.
    """

    values: int = 0
    cleared: int = 0
    missing: set[str] = field(default_factory=set)
    review_tasks: int = 0
    remote: dict[str, str] = field(default_factory=dict)
    done: list[WriteOp] = field(default_factory=list)
    failed: list[tuple[WriteOp, str]] = field(default_factory=list)

    def lines(self) -> list[str]:
        """For people."""
        written = WritePlan(tuple(self.done)).lines()
        lines = ["Written:", *(f"  {line}" for line in written)] if written else ["Nothing was written."]
        by_reason: dict[str, list[WriteOp]] = {}
        for op, reason in self.failed:
            by_reason.setdefault(reason, []).append(op)
        for reason, operations in by_reason.items():
            lines += [f"Not written ({reason.rstrip('.')}):"]
            lines += [f"  {line}" for line in WritePlan(tuple(operations)).lines()]
        return lines


def columns_of(found: Mapping[str, str]) -> tuple[str, ...]:
    """The columns that a tool says are ours (`Tool.find_ours`)."""
    return tuple(found[COLUMNS].split(",")) if COLUMNS in found else ()


def earlier_reviews(found: Mapping[str, str]) -> tuple[str, ...]:
    """The review projects, of those that a tool says are ours, which no project of now has."""
    return tuple(found[EARLIER_REVIEWS].split(",")) if EARLIER_REVIEWS in found else ()


def fields_known(store: Store, source: str, columns: Sequence[str] = ()) -> Callable[[str], Collection[str] | None]:
    """Unit -> the fields that the ledger says we wrote, or were about to.

    Of a unit that the ledger does not know those are the `columns` that are ours by the tool's own marks; None for all
    units where there is neither a ledger nor such a column.
    """
    if not store.wrote_fields(source):
        return lambda unit: columns or None  # noqa: ARG005 - nothing is known of any unit

    def known(unit: str) -> Collection[str]:
        items = store.items_of(source, unit)
        wrote = {item.partition(":")[2] for item in items if item.startswith((FIELD, INTENT))}
        return wrote or set(columns) - {item.removeprefix(FOREIGN) for item in items}

    return known


def apply_plan(tool: Tool, store: Store, source: str, plan: WritePlan, progress: Progress) -> Written:
    """Apply every operation of `plan`; one that is refused does not keep the others from being tried, unless the tool
    is gone, lets us in no more, or refuses `MOST_REFUSED` of them one after the other.

    Raises
    ------
    WritesFailed : some operations did not arrive; the ledger holds those that did.
    """
    written = Written()
    bare = store.ledger(source, BARE).get(BARE, {}).keys()
    total = sum(_size(op) for op in plan.operations)
    done = refused = 0
    hint = "What arrived is recorded: run the same command again."
    for place, planned in enumerate(plan.operations):
        op = replace(planned, bare=planned.units.keys() & bare) if isinstance(planned, PutFields) else planned
        intents = _intents(op)
        with store.transaction():
            for name, values in intents.items():
                store.record(source, INTENT + name, values)
        try:
            receipt = tool.apply(op)
        except FixConfiguration:  # raised before anything is sent
            with store.transaction():
                for name, values in intents.items():
                    store.strike(source, INTENT + name, values)
            raise
        except ToolTrouble as error:
            refused += 1
            if refused == MOST_REFUSED or isinstance(error, RetryLater | FixAccess | NotThere | UnexpectedAnswer):
                written.failed += [(left, error.message) for left in plan.operations[place:]]
                hint = f"{error.hint} {hint}" if error.hint else hint
                break
            written.failed.append((op, error.message))
            continue
        refused = 0
        with store.transaction():
            _enter(store, source, op, receipt, written)
        done += _size(op)
        progress(done, total)
    if written.failed:
        many = f"{len(written.failed):,} of {len(plan.operations):,} steps"
        raise WritesFailed(f"Some writes did not arrive ({many}): {written.failed[0][1]}", hint, report=written.lines())
    return written


def failed_together(
    failures: Mapping[str, WritesFailed | FixConfiguration], written: Mapping[str, Written], *, alone: bool
) -> WritesFailed:
    """What failed in several projects, by their names, as one failure, beside what was written in the others; `alone`:
    there is but one project."""
    said = "; ".join(error.message if alone else f"{name}: {error.message}" for name, error in failures.items())
    reports = {name: done.lines() for name, done in written.items()}
    reports |= {name: list(error.report) for name, error in failures.items() if isinstance(error, WritesFailed)}
    report = [line for name, lines in reports.items() for line in ([*lines] if alone else [f"{name}:", *_in(lines)])]
    return WritesFailed(said, next(iter(failures.values())).hint, report)


def _in(lines: Iterable[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def _size(op: WriteOp) -> int:
    """How much of the work an operation is: units for fields, one for the rest."""
    return max(1, len(op.units)) if isinstance(op, SetField | ClearFields | PutFields) else 1


def _intents(op: WriteOp) -> dict[str, dict[str, str | float]]:
    """The values that an operation is about to write: field -> unit -> value."""
    if isinstance(op, SetField):
        return {op.field: dict.fromkeys(op.units, op.value)}
    return _set_by(op, op.units)[0] if isinstance(op, PutFields) else {}


def _set_by(op: PutFields, units: Iterable[str]) -> tuple[dict[str, dict[str, str | float]], dict[str, list[str]]]:
    """What the operation sets on these units (field -> unit -> value), and what it takes away (field -> units)."""
    values: dict[str, dict[str, str | float]] = defaultdict(dict)
    gone: dict[str, list[str]] = defaultdict(list)
    for unit in units:
        for name, value in op.units[unit].items():
            if value is None:
                gone[name].append(unit)
            else:
                values[name][unit] = value
    return values, gone


def _enter(store: Store, source: str, op: WriteOp, receipt: Receipt, written: Written) -> None:
    _sort_out(op, receipt, written)
    written.missing.update(receipt.missing)
    written.remote.update(receipt.remote)
    if receipt.missing and not isinstance(op, PutReviewTasks):
        store.forget_units(source, receipt.missing)
    match op:
        case SetField(field=name, value=value):
            store.record(source, FIELD + name, dict.fromkeys(receipt.written, value))
            store.strike(source, INTENT + name, receipt.written)
            written.values += len(receipt.written)
        case ClearFields(fields=names):
            _strike(store, source, dict.fromkeys(names, receipt.written))
            written.cleared += len(receipt.written)
        case PutFields():
            values, gone = _set_by(op, receipt.written)
            store.record(source, BARE, dict.fromkeys(receipt.bare, True))
            for name, of_units in values.items():
                store.record(source, FIELD + name, of_units)
                store.strike(source, INTENT + name, of_units)
                written.values += len(of_units)
            _strike(store, source, gone)
            written.cleared += len({unit for units in gone.values() for unit in units})
        case PutReviewTasks():
            tasks = {unit: remote for unit, remote in receipt.remote.items() if unit in set(receipt.written)}
            store.record(source, REVIEW_TASK, tasks)
            store.strike(source, REVIEW_MARKS, tasks)
            written.review_tasks += len(tasks)
            if REVIEW_PROJECT in receipt.remote:
                store.record(source, REVIEW_PROJECT, {"": receipt.remote[REVIEW_PROJECT]})
        case DrawMarks(items=items):
            settled = set(receipt.written)
            store.record(source, REVIEW_MARKS, {item.unit: item.version for item in items if item.unit in settled})
        case PutView() if receipt.failed is None:
            store.record(source, VIEW, {"": view_value(op)})
            for item in {DEFAULT_VIEW, VIEW_LINK} & receipt.remote.keys():
                store.record(source, item, {"": receipt.remote[item]})
        case PutSummary(text=text) if receipt.failed is None:
            store.record(source, SUMMARY, {"": text})
        case RemoveView() if receipt.failed is None:
            for item in (VIEW, VIEW_LINK, DEFAULT_VIEW):
                store.strike(source, item, [""])
        case RemoveSummary() if receipt.failed is None:
            store.strike(source, SUMMARY, [""])
        case _:
            pass


def _sort_out(op: WriteOp, receipt: Receipt, written: Written) -> None:
    """Note which part of the operation arrived and which did not."""
    arrived = set(receipt.written)
    left = {*_units_of(op)} - arrived - set(receipt.missing)
    if not _units_of(op):
        arrived, left = ({""}, set()) if receipt.failed is None else (set(), {""})
    if arrived:
        written.done.append(_part(op, arrived))
    if receipt.failed is not None:
        written.failed.append((_part(op, left) if left else op, receipt.failed))


def _units_of(op: WriteOp) -> Collection[str]:
    """The units that an operation writes one by one; none of one that is done whole or not at all."""
    match op:
        case SetField(units=units) | ClearFields(units=units) | PutFields(units=units):
            return units
        case PutReviewTasks(items=items) | DrawMarks(items=items):
            return [item.unit for item in items]
        case _:
            return ()


def _part(op: WriteOp, units: Collection[str]) -> WriteOp:
    """The operation on these of its units alone."""
    match op:
        case SetField() | ClearFields():
            return replace(op, units=tuple(unit for unit in op.units if unit in units))
        case PutFields():
            return replace(op, units={unit: fields for unit, fields in op.units.items() if unit in units})
        case PutReviewTasks() | DrawMarks():
            return replace(op, items=tuple(item for item in op.items if item.unit in units))
        case _:
            return op


def _strike(store: Store, source: str, gone: Mapping[str, Iterable[str]]) -> None:
    for name, units in gone.items():
        store.strike(source, FIELD + name, units)
        store.strike(source, INTENT + name, units)


def view_value(op: PutView) -> list[object]:
    """What the ledger remembers of a tab: what it was asked to show."""
    return [op.title, op.status_field, op.status_value, op.order_field, list(op.columns)]
