"""Carry out a plan, operation by operation, and enter each receipt in the ledger before the next one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from connector.annotations.display import counted
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
    RemoveReview,
    RemoveSummary,
    RemoveView,
    SetField,
    Tool,
    WriteOp,
)
from connector.workflow.plan import FieldValue, WritePlan

FIELD = "field:"
INTENT = "intent:"
"""A value about to be written, or (null) taken away: entered before the call, so that a crash leaves no doubt whose it
is, and until the call is confirmed nobody takes it for known what stands there."""
FOREIGN = "foreign:"
"""A field of our name that holds a person's value."""
BARE = "bare"
"""A unit that had no place for fields before the first of ours, not even an empty one (`Unit.bare`, `Receipt.bare`)."""
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

UNFINISHED = "removal"
"""In the ledger from the first step of a removal to its end: the columns are still to be reset after a crash. True
until a full pull has shown what the removal left, then False."""
UNSURE = False
"""In place of what a tab or a line was asked to show, while a call that changes it is under way."""
AGAIN = "What arrived is recorded: run the same command again."

MOST_REFUSED = 5
"""Operations that a tool may refuse one after the other before the rest is not tried any more."""

Progress = Callable[[int, int | None], None]


class KeptReview(NamedTuple):
    """A review project that stays after its removal, since there is more in it than our untouched tasks.

    taken : our tasks that went. with_work : ours that somebody has worked on. others : tasks that are not ours.
    """

    project: str
    taken: int
    with_work: int
    others: int


@dataclass(slots=True)
class Written:
    """What arrived: field values by unit, taken away, units that are gone from the tool, review tasks made.

    done : what arrived, as operations. failed : what did not, and why. kept : review projects that stay.
    """

    noun: str = "unit"

    values: int = 0
    cleared: int = 0
    missing: set[str] = field(default_factory=set)
    review_tasks: int = 0
    remote: dict[str, str] = field(default_factory=dict)
    done: list[WriteOp] = field(default_factory=list)
    failed: list[tuple[WriteOp, str]] = field(default_factory=list)
    kept: list[KeptReview] = field(default_factory=list)

    def arrived(self) -> list[str]:
        """What was done, one line for each kind of change."""
        return WritePlan(tuple(self.done), self.noun).lines()

    def staying(self) -> list[str]:
        """Which review projects stay, and why."""
        return [
            f"The review project {kept.project} stays: it holds {counted(kept.with_work, 'review task')} with"
            f" work in it, {counted(kept.others, f'other {self.noun}')}."
            + (f" {counted(kept.taken, 'review task')} without work went." if kept.taken else "")
            for kept in self.kept
        ]

    def lines(self) -> list[str]:
        """For people."""
        written = self.arrived()
        lines = ["Written:", *(f"  {line}" for line in written)] if written else ["Nothing was written."]
        lines += self.staying()
        by_reason: dict[str, list[WriteOp]] = {}
        for op, reason in self.failed:
            by_reason.setdefault(reason, []).append(op)
        for reason, operations in by_reason.items():
            lines += [f"Not written ({reason.rstrip('.')}):"]
            lines += [f"  {line}" for line in WritePlan(tuple(operations), self.noun).lines()]
        return lines


def columns_of(found: Mapping[str, str]) -> tuple[str, ...] | None:
    """The columns that a tool says are ours (`Tool.find_ours`); None of a tool that does not tell."""
    return tuple(filter(None, found[COLUMNS].split(","))) if COLUMNS in found else None


def earlier_reviews(found: Mapping[str, str]) -> tuple[str, ...]:
    """The review projects, of those that a tool says are ours, which no project of now has."""
    return tuple(found[EARLIER_REVIEWS].split(",")) if EARLIER_REVIEWS in found else ()


Known = Callable[[str], Mapping[str, Collection[Any]] | None]


def fields_known(store: Store, source: str, columns: Sequence[str] | None = None) -> Known:
    """Unit -> the fields that the ledger says we wrote, or were about to, with the values that it says.

    Of a unit that the ledger does not know those are the `columns` that are ours by the tool's own marks; None for all
    units where there is no ledger, and the tool does not tell columns of ours from others.
    """
    if not store.wrote_fields(source):
        by_mark = None if columns is None else dict.fromkeys(columns, ())
        return lambda unit: by_mark  # noqa: ARG005 - nothing is known of any unit

    def known(unit: str) -> Mapping[str, Collection[Any]]:
        items = store.items_of(source, unit)
        wrote: dict[str, Collection[Any]] = {}
        for item, value in items.items():
            if item.startswith((FIELD, INTENT)):
                name = item.partition(":")[2]
                wrote[name] = (*wrote.get(name, ()), value)
        return wrote or dict.fromkeys(set(columns or ()) - {item.removeprefix(FOREIGN) for item in items}, ())

    return known


def held_fields(ledger: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, FieldValue | None]]:
    """What stands on each unit as far as the ledger knows; None where a write was begun and never confirmed."""
    held: dict[str, dict[str, FieldValue | None]] = {}
    for item, values in ledger.items():
        if item.startswith(FIELD):
            held[item.removeprefix(FIELD)] = dict(values)
    for item, values in ledger.items():
        if item.startswith(INTENT):
            held.setdefault(item.removeprefix(INTENT), {}).update(dict.fromkeys(values))
    return held


def apply_plan(tool: Tool, store: Store, source: str, plan: WritePlan, progress: Progress) -> Written:
    """Apply every operation of `plan`; one that is refused does not keep the others from being tried, unless the tool
    is gone, lets us in no more, or refuses `MOST_REFUSED` of them one after the other.

    Raises
    ------
    WritesFailed : some operations did not arrive; the ledger holds those that did.
    """
    written = Written(noun=plan.noun)
    bare = store.ledger(source, BARE).get(BARE, {}).keys()
    pending = store.ledger(source, INTENT)
    total = sum(_size(op) for op in plan.operations)
    done = refused = 0
    hints: dict[str, None] = {}
    for place, planned in enumerate(plan.operations):
        op = replace(planned, bare=planned.units.keys() & bare) if isinstance(planned, PutFields) else planned
        intents = _intents(op)
        with store.transaction():
            for name, values in intents.items():
                store.record(source, INTENT + name, values)
            _doubt(store, source, op)
        try:
            receipt = tool.apply(op)
        except FixConfiguration:  # raised before anything is sent
            with store.transaction():
                for name, values in intents.items():
                    store.strike(source, INTENT + name, values)
                    earlier = pending.get(INTENT + name, {})
                    store.record(source, INTENT + name, {unit: earlier[unit] for unit in values if unit in earlier})
            raise
        except ToolTrouble as error:
            refused += 1
            if error.hint:
                hints[error.hint] = None
            if refused == MOST_REFUSED or isinstance(error, RetryLater | FixAccess | NotThere | UnexpectedAnswer):
                written.failed += [(left, error.message) for left in plan.operations[place:]]
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
        raise WritesFailed(
            f"Some writes did not arrive ({many}): {written.failed[0][1]}",
            " ".join((*hints, AGAIN)),
            report=written.lines(),
        )
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
    hints = dict.fromkeys((error.hint or "").removesuffix(AGAIN).strip() for error in failures.values())
    again = [AGAIN] if any((error.hint or "").endswith(AGAIN) for error in failures.values()) else []
    return WritesFailed(said, " ".join([*filter(None, hints), *again]) or None, report)


def _in(lines: Iterable[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def _size(op: WriteOp) -> int:
    """How much of the work an operation is: units for fields, one for the rest."""
    return max(1, len(op.units)) if isinstance(op, SetField | ClearFields | PutFields) else 1


def _intents(op: WriteOp) -> dict[str, dict[str, FieldValue | None]]:
    """The values that an operation is about to write, None for those it takes away: field -> unit -> value."""
    intents: dict[str, dict[str, FieldValue | None]] = defaultdict(dict)
    match op:
        case SetField(field=name, value=value, units=units):
            intents[name] = dict.fromkeys(units, value)
        case ClearFields(fields=names, units=units):
            intents.update({name: dict.fromkeys(units) for name in names})
        case PutFields(units=changes):
            for unit, fields in changes.items():
                for name, new in fields.items():
                    intents[name][unit] = new
        case _:
            pass
    return intents


def _doubt(store: Store, source: str, op: WriteOp) -> None:
    """Until a call on the tab or the line is confirmed the ledger says of neither what it shows."""
    items = {PutView: VIEW, RemoveView: VIEW, PutSummary: SUMMARY, RemoveSummary: SUMMARY}
    item = items.get(type(op))
    if item is not None and item in store.ledger(source, item):
        store.record(source, item, {"": UNSURE})


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
    if isinstance(op, RemoveReview) and "kept_project" in receipt.remote:
        said = receipt.remote
        with_work, others = int(said.get("kept", "0")), int(said.get("kept_others", "0"))
        written.kept.append(KeptReview(said["kept_project"], len(receipt.written), with_work, others))
    elif arrived:
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
