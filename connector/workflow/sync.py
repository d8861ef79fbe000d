"""`connector sync`: pull, measure, push. What the scheduled job calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from connector.agreement.gate import printed
from connector.config import Settings
from connector.errors import DataNotTrusted, FixConfiguration
from connector.store import Store
from connector.tools.base import Project, PutReviewTasks, PutSummary, PutView, RemoveSummary, RemoveView, Tool, WriteOp
from connector.workflow.fields import AGREEMENT, STATUS, desired_fields, field_names
from connector.workflow.measure import Measured, collect, distrust, measure, required_ratings
from connector.workflow.plan import Fields, WritePlan, in_steps, plan_fields
from connector.workflow.pulling import Pulled, pull
from connector.workflow.review import review_items
from connector.workflow.writing import (
    DEFAULT_VIEW,
    FIELD,
    FOREIGN,
    INTENT,
    REVIEW_PROJECT,
    REVIEW_TASK,
    SUMMARY,
    VIEW,
    VIEW_LINK,
    Progress,
    Written,
    apply_plan,
    view_value,
)

VIEW_TITLE = "Conflicts"


@dataclass(frozen=True, slots=True)
class Synced:
    """What a sync did: the pull, the numbers, the plan, and (unless it was a dry run) what was written."""

    project: Project
    pulled: Pulled
    measured: Measured
    plan: WritePlan
    written: Written | None
    review_project: str | None
    view_link: str | None


@dataclass(frozen=True, slots=True)
class Watch:
    """What a run tells while it works: pages pulled and operations written. `now` is the clock, seconds since 1970."""

    pulling: Progress
    writing: Progress
    now: Callable[[], float]


def sync(tool: Tool, store: Store, settings: Settings, *, dry_run: bool, full: bool, watch: Watch) -> Synced:
    """Pull what changed, measure everything, write the difference.

    The store must have been opened with `keep=not dry_run`.

    Raises
    ------
    ToolTrouble : the tool can't be reached or refuses us; nothing is half written in the store.
    DataNotTrusted : over 1% of the tasks are malformed; nothing was pushed.
    WritesFailed : some writes did not arrive; the ledger holds those that did.
    """
    started = watch.now()
    project = tool.open()
    pulled = pull(tool, store, project, settings.push.prefix, now=started, full=full, progress=watch.pulling)
    run = store.start_run(project.source, "sync", started)
    measured = measure_stored(store, project, settings)
    try:
        distrust(measured.table)
    except DataNotTrusted as error:
        store.end_run(run, watch.now(), "not trusted", {"pulled": pulled.fetched})
        raise DataNotTrusted(error.message, f"{error.hint} Nothing was pushed.") from None
    plan = plan_writes(tool, store, project, settings, measured)
    written = None
    if not dry_run:
        written = apply_plan(tool, store, project.source, plan, watch.writing)
        counts = {"pulled": pulled.fetched, "gone": pulled.gone, "written": written.values + written.cleared}
        store.end_run(run, watch.now(), "done", counts)
    review, tab = (store.item(project.source, item) for item in (REVIEW_PROJECT, VIEW_LINK))
    return Synced(project, pulled, measured, plan, written, review, tab)


def measure_stored(store: Store, project: Project, settings: Settings) -> Measured:
    """The numbers of everything the store holds of a project."""
    return measure(collect(store.entries(project.source), project.schema, settings), settings, live=True)


@dataclass(frozen=True, slots=True)
class ReviewStatus:
    """Review tasks of a project: how many there are, how many conflicts wait for one, how many were made now."""

    project: str | None
    existing: int
    waiting: int
    made: int

    def lines(self) -> list[str]:
        """For people."""
        where = f" in project {self.project}" if self.project else ""
        made = f"{self.made:,} review tasks made; " if self.made else ""
        return [f"{made}{self.existing:,} review tasks{where}, {self.waiting:,} conflicts without one."]


def review(tool: Tool, store: Store, settings: Settings, *, create: bool, watch: Watch) -> ReviewStatus:
    """Count the conflicts without a review task and, with `create`, make their tasks. Nothing else is written.

    Raises
    ------
    ToolTrouble, WritesFailed : as for `sync`.
    """
    project = tool.open()
    pull(tool, store, project, settings.push.prefix, now=watch.now(), full=False, progress=watch.pulling)
    measured = measure_stored(store, project, settings)
    distrust(measured.table)
    operations = _reviews(tool, settings, measured, store.ledger(project.source))
    waiting = sum(len(op.items) for op in operations)
    made = 0
    if create and operations:
        made = apply_plan(tool, store, project.source, WritePlan(tuple(operations)), watch.writing).review_tasks
    existing = store.ledger(project.source, REVIEW_TASK).get(REVIEW_TASK, {})
    return ReviewStatus(store.item(project.source, REVIEW_PROJECT), len(existing), waiting - made, made)


def plan_writes(tool: Tool, store: Store, project: Project, settings: Settings, measured: Measured) -> WritePlan:
    """What is to be written so that the tool shows these numbers."""
    push, can = settings.push, tool.capabilities
    ledger = store.ledger(project.source)
    operations: list[WriteOp] = []
    if can.fields:
        desired = desired_fields(
            measured.report,
            prefix=push.prefix,
            required_ratings=required_ratings(settings),
            scores=push.scores,
            majority=push.majority == "complete",
        )
        desired = _spare(desired, ledger)
        held = {item.removeprefix(FIELD): values for item, values in ledger.items() if item.startswith(FIELD)}
        operations += in_steps(plan_fields(desired, held))
    if can.view:
        operations += _view(settings, measured, ledger)
    if can.summary:
        text = summary_line(measured, settings)
        if push.summary and ledger.get(SUMMARY, {}).get("") != text:
            operations.append(PutSummary(text))
        elif not push.summary and SUMMARY in ledger:
            operations.append(RemoveSummary())
    if can.review:
        operations += _reviews(tool, settings, measured, ledger)
    return WritePlan(tuple(operations))


def _spare(desired: Fields, ledger: Mapping[str, Mapping[str, object]]) -> dict[str, dict[str, str | float]]:
    """The desired values without those that would overwrite a person's."""
    foreign = {field: ledger.get(FOREIGN + field, {}) for field in desired}
    for field, units in foreign.items():
        if units and not ledger.get(FIELD + field) and not ledger.get(INTENT + field):
            raise FixConfiguration(
                f"{len(units):,} tasks already hold a field '{field}' that this program did not write"
                f" (such as task {next(iter(units))}).",
                "Nothing was written. Set another `push.prefix`.",
            )
    return {
        field: {unit: value for unit, value in values.items() if unit not in foreign[field]}
        for field, values in desired.items()
    }


def _reviews(
    tool: Tool, settings: Settings, measured: Measured, ledger: dict[str, dict[str, object]]
) -> list[PutReviewTasks]:
    review = settings.review
    if review is None:
        return []
    items = review_items(
        measured.report,
        required_ratings=required_ratings(settings),
        names=tool.rater_names if review.raters == "named" else None,
        existing=ledger.get(REVIEW_TASK, {}),
        limit=review.limit,
    )
    return [PutReviewTasks(items, review.project or review.workspace)] if items else []


def _view(settings: Settings, measured: Measured, ledger: dict[str, dict[str, object]]) -> list[WriteOp]:
    push = settings.push
    if not (push.view and push.scores):
        default = ledger.get(DEFAULT_VIEW, {}).get("")
        return [RemoveView(None if default is None else str(default))] if VIEW in ledger else []
    columns = field_names(
        measured.report.questions, prefix=push.prefix, scores=push.scores, majority=push.majority == "complete"
    )
    status = push.prefix + STATUS
    view = PutView(VIEW_TITLE, status, "conflict", push.prefix + AGREEMENT, columns)
    there = ledger.get(VIEW, {"": ()})[""]  # None: found in the tool by a store that did not make it, and left as it is
    return [] if there is None or there == view_value(view) else [view]


def summary_line(measured: Measured, settings: Settings) -> str:
    """One line for the project's description. Without a time, so that an unchanged sync writes nothing."""
    threshold = settings.gate.threshold
    parts = []
    for name, question in measured.report.questions.items():
        alpha = question.alpha
        if alpha.value is None:
            said = f"no alpha ({(alpha.reason or 'undefined').replace('_', ' ')})"
        else:
            said = f"alpha {printed(alpha.value, threshold, 3)}"
            if alpha.low is not None and alpha.high is not None:
                said += f" ({printed(alpha.low, threshold, 3)} to {printed(alpha.high, threshold, 3)})"
        label = f"{name}: " if len(measured.report.questions) > 1 else ""
        parts.append(
            f"{label}{said}, {question.n_pairable_units} of {question.n_units} tasks with two ratings or more,"
            f" {question.n_raters} raters"
        )
    if not parts:
        return "Agreement: no question measured yet"
    return f"Agreement: {'; '.join(parts)}; gate at {threshold:g}: {measured.decision.verdict}"
