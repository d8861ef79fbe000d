"""Carry out a plan, operation by operation, and enter each receipt in the ledger before the next one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from connector.errors import FixConfiguration, ToolTrouble, WritesFailed
from connector.store import Store
from connector.tools.base import (
    ClearFields,
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
COLUMNS = "columns"
VIEW = "view"
SUMMARY = "summary"
REVIEW_TASK = "review_task"
REVIEW_PROJECT = "review_project"
DEFAULT_VIEW = "default_view"
VIEW_LINK = "view_link"

Progress = Callable[[int, int | None], None]


@dataclass(slots=True)
class Written:
    """What arrived: field values by unit, taken away, units that are gone from the tool, review tasks made."""

    values: int = 0
    cleared: int = 0
    missing: set[str] = field(default_factory=set)
    review_tasks: int = 0
    remote: dict[str, str] = field(default_factory=dict)


def columns_of(found: Mapping[str, str]) -> tuple[str, ...]:
    """The columns that a tool says are ours (`Tool.find_ours`)."""
    return tuple(found[COLUMNS].split(",")) if COLUMNS in found else ()


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
    """Apply every operation of `plan`; a failed one does not keep the others from being tried, unless the tool is gone.

    Raises
    ------
    WritesFailed : some operations did not arrive; the ledger holds those that did.
    """
    written = Written()
    failures: list[str] = []
    total = sum(_size(op) for op in plan.operations)
    done = 0
    for op in plan.operations:
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
            failures.append(error.message)
            break
        with store.transaction():
            _enter(store, source, op, receipt, written)
        if receipt.failed is not None:
            failures.append(receipt.failed)
        done += _size(op)
        progress(done, total)
    if failures:
        rest = f" ({len(failures)} operations failed)" if len(failures) > 1 else ""
        raise WritesFailed(
            f"Some writes did not arrive{rest}: {failures[0]}", "What arrived is recorded: run the same command again."
        )
    return written


def failed_together(failures: Sequence[tuple[str, WritesFailed | FixConfiguration]], *, alone: bool) -> WritesFailed:
    """What failed in several projects, by their names, as one failure; `alone`: there is but one project."""
    said = "; ".join(error.message if alone else f"{name}: {error.message}" for name, error in failures)
    return WritesFailed(said, failures[0][1].hint)


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
            for name, of_units in values.items():
                store.record(source, FIELD + name, of_units)
                store.strike(source, INTENT + name, of_units)
                written.values += len(of_units)
            _strike(store, source, gone)
            written.cleared += len({unit for units in gone.values() for unit in units})
        case PutReviewTasks():
            tasks = {unit: remote for unit, remote in receipt.remote.items() if unit in set(receipt.written)}
            store.record(source, REVIEW_TASK, tasks)
            written.review_tasks += len(tasks)
            if REVIEW_PROJECT in receipt.remote:
                store.record(source, REVIEW_PROJECT, {"": receipt.remote[REVIEW_PROJECT]})
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


def _strike(store: Store, source: str, gone: Mapping[str, Iterable[str]]) -> None:
    for name, units in gone.items():
        store.strike(source, FIELD + name, units)
        store.strike(source, INTENT + name, units)


def view_value(op: PutView) -> list[object]:
    """What the ledger remembers of a tab: what it was asked to show."""
    return [op.title, op.status_field, op.status_value, op.order_field, list(op.columns)]
