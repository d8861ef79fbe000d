"""`connector remove`: take away everything that we put into the tool, and nothing else.

Each step is entered in the ledger as it is confirmed, so that a removal that was cut short goes on where it stopped.
Fields are found in the tool itself, not in the ledger: a lost store leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from connector.errors import WritesFailed
from connector.store import Store
from connector.tools.base import RemoveReview, RemoveSummary, RemoveView, ResetColumns, Tool, WriteOp
from connector.workflow.fields import sort_fields
from connector.workflow.plan import WritePlan, plan_removal
from connector.workflow.pulling import reach
from connector.workflow.sources import Reached, Source, opened
from connector.workflow.writing import (
    BARE,
    COLUMNS,
    DEFAULT_VIEW,
    FOREIGN,
    REVIEW_LETTER,
    REVIEW_MARKS,
    REVIEW_PROJECT,
    REVIEW_TASK,
    UNFINISHED,
    VIEW,
    Known,
    Progress,
    Written,
    apply_plan,
    columns_of,
    earlier_reviews,
    failed_together,
    fields_known,
)


@dataclass(frozen=True, slots=True)
class Removal:
    """What is to be taken away from a project (`plan`), and what was, or in a dry run would be, in `lines` for people.

    review_project : one that stays. earlier_reviews : those of projects that had this one's name and are gone, which
    stay too. noun : what people call one of its units. unread : units that cannot be read, so that what of ours stands
    on them stays.
    """

    name: str
    noun: str
    plan: WritePlan
    lines: list[str]
    written: Written | None = None
    review_project: str | None = None
    earlier_reviews: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()


def remove(
    sources: Sequence[Source],
    store: Store,
    prefix: str,
    *,
    review: bool,
    dry_run: bool,
    reading: Progress,
    writing: Progress,
) -> tuple[Removal, ...]:
    """Take our fields, tab, description line and columns out of each project; with `review`, our review project too.

    Every project is read before anything is taken away.

    Raises
    ------
    WritesFailed : something did not arrive; running again goes on from there.
    """
    reached = opened(sources, lambda tool: reach(tool, store, now=0.0, full=True))
    planned = [_planned(one, store, prefix, review=review, reading=reading) for one in reached]
    if dry_run:
        return tuple(planned)
    done: list[Removal] = []
    arrived: dict[str, Written] = {}
    failures: dict[str, WritesFailed] = {}
    # The last first: a review project that several share goes with the project that it was made for, the first.
    for one, removal in reversed(list(zip(reached, planned, strict=True))):
        source = one.project.source
        store.record(source, UNFINISHED, {"": True})
        try:
            written = apply_plan(one.tool, store, source, removal.plan, writing)
        except WritesFailed as error:
            failures[one.name] = error
            continue
        arrived[one.name] = written
        store.forget_writes(source, keep_review=not review, left=removal.unread)
        done.append(replace(removal, written=written, lines=written.arrived()))
    if failures:
        failures = {one.name: failures[one.name] for one in reached if one.name in failures}
        raise failed_together(failures, arrived, alone=len(reached) == 1)
    return tuple(done[::-1])


def _planned(one: Reached, store: Store, prefix: str, *, review: bool, reading: Progress) -> Removal:
    tool, source = one.tool, one.project.source
    found = tool.find_ours()
    known = fields_known(store, source, columns_of(found))
    fields, unread = _fields_in_tool(tool, prefix, known, reading)
    operations: list[WriteOp] = []
    ledger = store.ledger(source)
    default = ledger.get(DEFAULT_VIEW, {}).get("")
    if VIEW in found or default is not None:
        operations.append(RemoveView(None if default is None else str(default)))
    operations += plan_removal(fields, per_unit=tool.capabilities.per_unit)
    if "summary" in found:
        operations.append(RemoveSummary())
    earlier = earlier_reviews(found)
    review_project = found.get(REVIEW_PROJECT) or ledger.get(REVIEW_PROJECT, {}).get("")
    review_project = None if review_project in earlier else review_project
    if review:
        operations += [RemoveReview(one) for one in (review_project, *earlier) if one is not None]
    left_over = any(
        not item.startswith(FOREIGN) and item not in {BARE, REVIEW_PROJECT, REVIEW_TASK, REVIEW_MARKS, REVIEW_LETTER}
        for item in ledger
    )
    if fields or found.get(COLUMNS) or left_over:
        operations.append(ResetColumns())
    plan = WritePlan(tuple(operations), tool.capabilities.noun)
    removal = Removal(one.name, plan.noun, plan, plan.lines(), unread=unread if plan else ())
    return removal if review else replace(removal, review_project=review_project, earlier_reviews=earlier)


def _fields_in_tool(
    tool: Tool, prefix: str, known: Known, progress: Progress
) -> tuple[Mapping[str, tuple[str, ...]], tuple[str, ...]]:
    """The fields of ours on each unit, and the units that cannot be read."""
    fields: dict[str, tuple[str, ...]] = {}
    unread: list[str] = []
    done = 0
    for page in tool.pull():
        for unit in page.units:
            if names := tuple(sorted(sort_fields(unit.fields, prefix, known(unit.id))[0])):
                fields[unit.id] = names
        unread += [skipped.unit for skipped in page.skipped]
        done += len(page.units) + len(page.skipped)
        progress(done, page.total)
    return fields, tuple(unread)
