"""`connector remove`: take away everything that we put into the tool, and nothing else.

Each step is entered in the ledger as it is confirmed, so that a removal that was cut short goes on where it stopped.
Fields are found in the tool itself, not in the ledger: a lost store leaves nothing behind.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from connector.store import Store
from connector.tools.base import ClearFields, RemoveReview, RemoveSummary, RemoveView, ResetColumns, Tool, WriteOp
from connector.workflow.fields import sort_fields
from connector.workflow.plan import WritePlan, in_steps
from connector.workflow.pulling import Known
from connector.workflow.writing import (
    DEFAULT_VIEW,
    FOREIGN,
    REVIEW_PROJECT,
    REVIEW_TASK,
    VIEW,
    Progress,
    Written,
    apply_plan,
    fields_known,
)

UNFINISHED = "removal"
"""In the ledger from the first step of a removal to its end: the columns are still to be reset after a crash."""


@dataclass(frozen=True, slots=True)
class Removal:
    """What stood in the tool and was, or would be, taken away; `review_project` is one that stays."""

    plan: WritePlan
    lines: list[str]
    written: Written | None
    review_project: str | None = None


def remove(
    tool: Tool, store: Store, prefix: str, *, review: bool, dry_run: bool, reading: Progress, writing: Progress
) -> Removal:
    """Take our fields, tab, description line and columns out of the tool; with `review`, our review project too.

    Raises
    ------
    WritesFailed : something did not arrive; running again goes on from there.
    """
    project = tool.open()
    found = tool.find_ours()
    fields = _fields_in_tool(tool, prefix, fields_known(store, project.source), reading)
    operations: list[WriteOp] = []
    ledger = store.ledger(project.source)
    default = ledger.get(DEFAULT_VIEW, {}).get("")
    if VIEW in found or default is not None:
        operations.append(RemoveView(None if default is None else str(default)))
    by_fields: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for unit, names in fields.items():
        by_fields[names].append(unit)
    operations += in_steps([ClearFields(names, tuple(units)) for names, units in sorted(by_fields.items())])
    if "summary" in found:
        operations.append(RemoveSummary())
    review_project = found.get(REVIEW_PROJECT) or ledger.get(REVIEW_PROJECT, {}).get("")
    if review and review_project is not None:
        operations.append(RemoveReview(review_project))
    if fields or any(not item.startswith(FOREIGN) and item not in {REVIEW_PROJECT, REVIEW_TASK} for item in ledger):
        operations.append(ResetColumns())
    kept = None if review else review_project
    plan = WritePlan(tuple(operations))
    lines = plan.lines()
    if dry_run:
        return Removal(plan, lines, None, kept)
    store.record(project.source, UNFINISHED, {"": True})
    written = apply_plan(tool, store, project.source, plan, writing)
    store.forget_writes(project.source, keep_review=not review)
    return Removal(plan, lines, written, kept)


def _fields_in_tool(tool: Tool, prefix: str, known: Known, progress: Progress) -> Mapping[str, tuple[str, ...]]:
    fields: dict[str, tuple[str, ...]] = {}
    done = 0
    for page in tool.pull():
        for unit in page.units:
            if names := tuple(sorted(sort_fields(unit.data, prefix, known(unit.id))[0])):
                fields[unit.id] = names
        done += len(page.units)
        progress(done, page.total)
    return fields
