"""`connector sync`: pull, measure, push. What the scheduled job calls."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from connector.agreement.gate import printed
from connector.agreement.report import AgreementReport
from connector.annotations.display import counted
from connector.config import Settings
from connector.errors import DataNotTrusted, FixConfiguration, NotThere, ToolTrouble, WritesFailed
from connector.store import Store
from connector.tools.base import (
    DrawMarks,
    Project,
    PutReviewTasks,
    PutSummary,
    PutView,
    RemoveSummary,
    RemoveView,
    ResetColumns,
    ReviewItem,
    WriteOp,
)
from connector.workflow.fields import AGREEMENT, STATUS, desired_fields, field_names, fitting
from connector.workflow.joining import Joined
from connector.workflow.measure import Measured, collect_joined, distrust, measure, required_ratings
from connector.workflow.plan import Fields, WritePlan, plan_fields, plan_units
from connector.workflow.pulling import Pulled, mend_reviews, pull
from connector.workflow.review import dealt_letters, items_to_draw, review_items, unreviewed
from connector.workflow.sources import Reached, Source, join_stored, reach_all
from connector.workflow.writing import (
    DEFAULT_VIEW,
    FIELD,
    FOREIGN,
    INTENT,
    REVIEW_LETTER,
    REVIEW_MARKS,
    REVIEW_PROJECT,
    REVIEW_TASK,
    SUMMARY,
    VIEW,
    VIEW_LINK,
    Progress,
    Written,
    apply_plan,
    failed_together,
    held_fields,
    view_value,
)

VIEW_TITLE = "Conflicts"


@dataclass(frozen=True, slots=True)
class Synced:
    """What a sync did to one project: the pull, the numbers of the whole table, the plan, and (unless it was a dry run)
    what was written. `name` is the project's own among the sources, `noun` what people call one of its units."""

    name: str
    noun: str
    project: Project
    pulled: Pulled
    measured: Measured
    plan: WritePlan
    written: Written | None
    review_link: str | None
    view_link: str | None
    earlier_reviews: tuple[str, ...] = ()
    """Links to the review projects of projects that had this one's name and are gone."""
    reviews_seen: bool = True
    """Whether it was looked which review tasks are there; a run that finds nothing changed does without."""


@dataclass(frozen=True, slots=True)
class Watch:
    """What a run tells while it works: pages pulled and operations written. `now` is the clock, seconds since 1970."""

    pulling: Progress
    writing: Progress
    now: Callable[[], float]


def sync(
    sources: Sequence[Source], store: Store, settings: Settings, *, dry_run: bool, full: bool, watch: Watch
) -> tuple[Synced, ...]:
    """Pull what changed, measure everything, write the difference: what was done to each project.

    Every project is pulled before anything is measured, everything planned before anything is written. The store must
    have been opened with `keep=not dry_run`.

    Raises
    ------
    ToolTrouble : a tool can't be reached or refuses us; nothing is half written in the store.
    DataNotTrusted : over 1% of the tasks are malformed; nothing was pushed.
    WritesFailed : some writes did not arrive; the ledger holds those that did.
    """
    started = watch.now()
    reached = reach_all(sources, store, now=started, full=full)
    joined = join_stored(sources, reached, store, settings)
    pulls = [_pull(one, store, settings, started, watch, full=full) for one in reached]
    if settings.review is not None and any(pulled.changed for pulled in pulls):
        for one, pulled in zip(reached, pulls, strict=True):
            if not pulled.full:  # a full pull has looked already
                with store.transaction():
                    mend_reviews(one.tool, store, one.project.source, None)
    runs = [store.start_run(one.project.source, "sync", started) for one in reached]
    measured = measure_joined(joined, settings)
    try:
        distrust(measured.table, joined)
    except DataNotTrusted as error:
        for run, pulled in zip(runs, pulls, strict=True):
            store.end_run(run, watch.now(), "not trusted", {"pulled": pulled.fetched})
        raise DataNotTrusted(error.message, f"{error.hint} Nothing was pushed.") from None
    plans = plan_writes(reached, store, settings, measured)
    written: list[Written | None] = [None] * len(plans)
    if not dry_run:
        for place, done in enumerate(_write(reached, store, plans, measured.report, watch)):
            pulled, written[place] = pulls[place], done
            counts = {"pulled": pulled.fetched, "gone": pulled.gone, "written": done.values + done.cleared}
            store.end_run(runs[place], watch.now(), "done", counts)
    return tuple(
        Synced(
            one.name,
            one.tool.capabilities.noun,
            one.project,
            pulled,
            measured,
            plan,
            done,
            _review_link(one, store),
            store.item(one.project.source, VIEW_LINK) or _listed(one.project, settings),
            tuple(map(one.tool.review_link, pulled.earlier_reviews)),
            any(found.changed for found in pulls),
        )
        for one, pulled, plan, done in zip(reached, pulls, plans, written, strict=True)
    )


def _review_link(one: Reached, store: Store) -> str | None:
    project = store.item(one.project.source, REVIEW_PROJECT)
    return None if project is None else one.tool.review_link(str(project))


def _listed(project: Project, settings: Settings) -> str | None:
    """Where a tool without a tab of ours lists the conflicts."""
    return project.conflicts if settings.push.view and settings.push.scores else None


def _pull(one: Reached, store: Store, settings: Settings, now: float, watch: Watch, *, full: bool) -> Pulled:
    return pull(one.tool, store, one.project, settings.push.prefix, now=now, full=full, progress=watch.pulling)


def measure_joined(joined: Joined, settings: Settings) -> Measured:
    """The numbers of everything that the sources hold."""
    table, _ = collect_joined(joined, settings)
    return measure(table, settings, live=True, joined=joined)


def _write(
    reached: Sequence[Reached], store: Store, plans: Sequence[WritePlan], report: AgreementReport, watch: Watch
) -> list[Written]:
    """Carry out each project's plan; one that fails does not keep the others from being tried."""
    if any(isinstance(op, PutReviewTasks | DrawMarks) for plan in plans for op in plan.operations):
        known = known_letters([store.ledger(one.project.source, REVIEW_LETTER) for one in reached])
        with store.transaction():
            store.record(reached[0].project.source, REVIEW_LETTER, dealt_letters(report, known))
    written: dict[str, Written] = {}
    failures: dict[str, WritesFailed | FixConfiguration] = {}
    for one, plan in zip(reached, plans, strict=True):
        try:
            written[one.name] = apply_plan(one.tool, store, one.project.source, plan, watch.writing)
        except (WritesFailed, FixConfiguration) as error:
            failures[one.name] = error
    if failures:
        raise failed_together(failures, written, alone=len(reached) == 1)
    return list(written.values())


@dataclass(frozen=True, slots=True)
class ReviewStatus:
    """Review tasks of a project: how many there are, how many of them nobody has decided, how many conflicts wait for
    one, how many were made now.

    beyond : those of `waiting` for which `review.limit` leaves no room. orphans : review tasks, not among `existing`,
    whose units were deleted. noun : what people call a unit. notes : what became of ratings that are in no tool now.
    """

    project: str | None
    existing: int
    undecided: int
    waiting: int
    made: int
    beyond: int = 0
    orphans: int = 0
    noun: str = "task"
    notes: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """For people."""
        where = f" in project {self.project}" if self.project else ""
        made = f"{counted(self.made, 'review task')} made; " if self.made else ""
        undecided = f", {self.undecided:,} of them undecided" if self.existing else ""
        there, waiting = counted(self.existing, "review task"), counted(self.waiting, "conflict")
        part = f"{self.beyond:,} of them " if self.beyond < self.waiting else ""
        beyond = f", {part}beyond review.limit" if self.beyond else ""
        lines = [*self.notes, f"{made}{there}{where}{undecided}; {waiting} without one{beyond}."]
        if self.orphans:
            also = counted(self.orphans, "more review task belongs", "more review tasks belong")
            lines.append(f"{also} to {self.noun}s that were deleted since.")
        return lines


def review(sources: Sequence[Source], store: Store, settings: Settings, *, create: bool, watch: Watch) -> ReviewStatus:
    """Count the conflicts without a review task and, with `create`, make their tasks. Nothing else is written.

    Raises
    ------
    ToolTrouble, WritesFailed : as for `sync`.
    """
    started = watch.now()
    reached = reach_all(sources, store, now=started, full=False)
    joined = join_stored(sources, reached, store, settings)
    notes: list[str] = []
    for one in reached:
        pulled = _pull(one, store, settings, started, watch, full=False)
        notes += [note if len(reached) == 1 else f"{one.name}: {note}" for note in pulled.notes()]
        with store.transaction():
            mend_reviews(one.tool, store, one.project.source, None)
    measured = measure_joined(joined, settings)
    distrust(measured.table, joined)
    ledgers = [store.ledger(one.project.source) for one in reached]
    operations = _reviews(reached, settings, measured, ledgers)
    new = [op for found in operations.values() for op in found if isinstance(op, PutReviewTasks)]
    waiting = len(
        unreviewed(
            measured.report,
            required_ratings=required_ratings(settings),
            existing=_reviewed(joined, reached, ledgers),
            possible=lambda unit: _review_place(joined, reached, unit) is not None,
        )
    )
    beyond = waiting - sum(len(op.items) for op in new)
    made = 0
    if create and operations:
        plans = [WritePlan(operations.get(one.place, ()), one.tool.capabilities.noun) for one in reached]
        _verify(reached, plans)
        made = sum(written.review_tasks for written in _write(reached, store, plans, measured.report, watch))
    there = {one.name: store.item(one.project.source, REVIEW_PROJECT) for one in reached}
    projects = [str(place) if len(there) == 1 else f"{place} ({name})" for name, place in there.items() if place]
    tasks: dict[str, set[str]] = {}
    orphans = 0
    for one in reached:
        source = one.project.source
        of_all = store.ledger(source, REVIEW_TASK).get(REVIEW_TASK, {}).keys()
        tasks[one.name] = of_all & (store.known(source).keys() | store.skipped(source).keys())
        orphans += len(of_all - tasks[one.name])
    undecided = sum(
        len(tasks[one.name] & set(one.tool.undecided(str(there[one.name])))) for one in reached if tasks[one.name]
    )
    existing = sum(map(len, tasks.values()))
    nouns = {one.tool.capabilities.noun for one in reached}
    return ReviewStatus(
        ", ".join(projects) or None,
        existing,
        undecided,
        waiting - made,
        made,
        beyond,
        orphans,
        nouns.pop() if len(nouns) == 1 else "unit",
        tuple(notes),
    )


def plan_writes(reached: Sequence[Reached], store: Store, settings: Settings, measured: Measured) -> list[WritePlan]:
    """What is to be written so that each tool shows these numbers on its own tasks.

    Raises FixConfiguration, or NotThere, where a tool says that something of it cannot be written as configured.
    """
    ledgers = [store.ledger(one.project.source) for one in reached]
    reviews = _reviews(reached, settings, measured, ledgers)
    plans = [
        WritePlan(
            (
                *_shown(one, store, settings, measured, ledger),
                *reviews.get(one.place, ()),
            ),
            one.tool.capabilities.noun,
        )
        for one, ledger in zip(reached, ledgers, strict=True)
    ]
    _verify(reached, plans)
    return plans


def _verify(reached: Sequence[Reached], plans: Sequence[WritePlan]) -> None:
    """Refuse what cannot be written as configured while nothing is written yet, in any project."""
    for one, plan in zip(reached, plans, strict=True):
        which = f"{one.name}: " if len(reached) > 1 else ""
        for op in plan.operations:
            try:
                one.tool.verify(op)
            except (FixConfiguration, NotThere) as error:
                raise type(error)(which + error.message, error.hint) from None
            except ToolTrouble:  # a tool in trouble says so at the write itself, and what else can be written is
                continue


def _shown(
    one: Reached, store: Store, settings: Settings, measured: Measured, ledger: dict[str, dict[str, Any]]
) -> list[WriteOp]:
    """The fields, the tab and the line of one project: of the questions that it asks, as if it were alone."""
    push, can = settings.push, one.tool.capabilities
    report = _asked_by(one, measured)
    operations: list[WriteOp] = []
    if can.fields:
        desired = desired_fields(
            report,
            prefix=push.prefix,
            required_ratings=required_ratings(settings),
            scores=push.scores,
            majority=push.majority == "complete",
        )
        of = "" if measured.joined is None or len(measured.joined.parts) == 1 else f" of {one.name}"
        desired = _spare(fitting(_of_tasks(one, measured, desired), can.longest_text), ledger, can.noun, of)
        unread = store.skipped(one.project.source)
        held = {
            field: {unit: value for unit, value in values.items() if unit not in unread}
            for field, values in held_fields(ledger).items()
        }
        created = store.created(one.project.source) if can.per_unit else {}
        operations += plan_units(desired, held, created) if can.per_unit else plan_fields(desired, held)
        may_be = _columns(settings, report)
        if any(values for field, values in held.items() if field not in may_be):
            operations.append(ResetColumns())
    if can.view:
        operations += _view(settings, report, ledger)
    if can.summary:
        text = summary_line(report, measured, settings)
        if push.summary and ledger.get(SUMMARY, {}).get("") != text:
            operations.append(PutSummary(text))
        elif not push.summary and SUMMARY in ledger:
            operations.append(RemoveSummary())
    return operations


def _asked_by(one: Reached, measured: Measured) -> AgreementReport:
    """The report of those questions that a project of several asks."""
    joined = measured.joined
    if joined is None or len(joined.parts) == 1:
        return measured.report
    asked = joined.parts[one.place].asked
    return replace(
        measured.report,
        questions={name: question for name, question in measured.report.questions.items() if name in asked},
    )


def _of_tasks(one: Reached, measured: Measured, desired: Fields) -> Fields:
    """Values by the table's units -> by the project's tasks: every task of a unit holds what the unit does."""
    joined = measured.joined
    if joined is None:
        return desired
    own = {field: joined.own(one.place, values) for field, values in desired.items()}
    return {field: values for field, values in own.items() if values}


def _spare(
    desired: Fields, ledger: Mapping[str, Mapping[str, object]], noun: str, of: str
) -> dict[str, dict[str, str | float]]:
    """The desired values without those that would overwrite a person's."""
    foreign = {field: ledger.get(FOREIGN + field, {}) for field in desired}
    for field, units in foreign.items():
        if units and not ledger.get(FIELD + field) and not ledger.get(INTENT + field):
            raise FixConfiguration(
                already_held(field, units, noun, of),
                "Nothing was written. Set another `push.prefix`.",
            )
    return {
        field: {unit: value for unit, value in values.items() if unit not in foreign[field]}
        for field, values in desired.items()
    }


def already_held(field: str, units: Collection[str], noun: str, of: str = "") -> str:
    """A sentence: these tasks, or whatever the tool calls them, hold a person's value in a field of our name."""
    hold = "holds" if len(units) == 1 else "hold"
    return (
        f"{counted(len(units), noun)}{of} already {hold} a field '{field}' that this program did not write"
        f" (such as {noun} {next(iter(units))})."
    )


def known_letters(ledgers: Sequence[Mapping[str, Mapping[str, Any]]]) -> dict[str, int]:
    """The letters that the raters have in the review tasks made so far."""
    return {rater: int(place) for ledger in ledgers for rater, place in ledger.get(REVIEW_LETTER, {}).items()}


def _reviewed(
    joined: Joined, reached: Sequence[Reached], ledgers: Sequence[Mapping[str, Mapping[str, object]]]
) -> set[str]:
    """The table's units that have a review task."""
    return {
        unit
        for one, ledger in zip(reached, ledgers, strict=True)
        for unit in joined.names_of(one.place, ledger.get(REVIEW_TASK, {}))
    }


def _review_place(joined: Joined, reached: Sequence[Reached], unit: str) -> tuple[int, str] | None:
    """The source and the task that a unit's review task is made for: the first in a tool that has some."""
    reviewing = {one.place for one in reached if one.tool.capabilities.review}
    return next((held for held in joined.holders(unit) if held[0] in reviewing), None)


def _reviews(
    reached: Sequence[Reached],
    settings: Settings,
    measured: Measured,
    ledgers: Sequence[Mapping[str, Mapping[str, object]]],
) -> dict[int, tuple[WriteOp, ...]]:
    """The review tasks to be made and the marks to be drawn on them and on older ones, by the place of the source: a
    unit's task stands where its first task does.
    """
    review, joined = settings.review, measured.joined
    if review is None or joined is None:
        return {}
    tasks: dict[int, list[ReviewItem]] = {}

    def names() -> dict[str, str]:
        found: dict[str, str] = {}
        for one in reached:
            for rater, name in one.tool.rater_names().items():
                found.setdefault(joined.rater(one.place, rater), name)
        return found

    by_name = names if review.raters == "named" else None
    letters = known_letters(ledgers)
    items = review_items(
        measured.report,
        required_ratings=required_ratings(settings),
        letters=letters,
        names=by_name,
        existing=_reviewed(joined, reached, ledgers),
        limit=review.limit,
        possible=lambda unit: _review_place(joined, reached, unit) is not None,
    )
    for item in items:
        if (held := _review_place(joined, reached, item.unit)) is not None:
            tasks.setdefault(held[0], []).append(item._replace(unit=held[1]))
    found: dict[int, tuple[WriteOp, ...]] = {}
    for one, ledger in zip(reached, ledgers, strict=True):
        made, project = tasks.get(one.place, []), review.place(one.tool.name)
        marks = _marks(one, settings, measured, ledger, [item.unit for item in made], letters, by_name)
        found[one.place] = (
            *([PutReviewTasks(tuple(made), project)] if made else []),
            *([DrawMarks(marks, project)] if marks else []),
        )
    return {place: operations for place, operations in found.items() if operations}


def _marks(
    one: Reached,
    settings: Settings,
    measured: Measured,
    ledger: Mapping[str, Mapping[str, object]],
    made: Sequence[str],
    letters: Mapping[str, int],
    names: Callable[[], Mapping[str, str]] | None,
) -> tuple[ReviewItem, ...]:
    """The review tasks of one project, those about to be `made` among them, on which marks are to be drawn."""
    joined, can = measured.joined, one.tool.capabilities
    if joined is None or not can.draws:
        return ()
    unit_of = joined.found[one.place].unit_of
    task_of = {unit_of[task]: task for task in (*ledger.get(REVIEW_TASK, {}), *made) if task in unit_of}
    drawn = {task: str(version) for task, version in ledger.get(REVIEW_MARKS, {}).items()}
    items = items_to_draw(
        measured.report,
        units=task_of,
        kinds=can.draws,
        required_ratings=required_ratings(settings),
        letters=letters,
        names=names,
        drawn={unit: drawn[task] for unit, task in task_of.items() if task in drawn},
    )
    accounts = joined.accounts(one.place)
    if accounts is None:
        return items
    return tuple(
        item._replace(
            unit=task_of[item.unit],
            raters={label: accounts[name] for label, (name,) in item.raters.items() if name in accounts},
        )
        for item in items
    )


def _columns(settings: Settings, report: AgreementReport) -> tuple[str, ...]:
    """The fields that the settings ask for."""
    push = settings.push
    return field_names(report.questions, prefix=push.prefix, scores=push.scores, majority=push.majority == "complete")


def _view(settings: Settings, report: AgreementReport, ledger: dict[str, dict[str, object]]) -> list[WriteOp]:
    push = settings.push
    if not (push.view and push.scores):
        default = ledger.get(DEFAULT_VIEW, {}).get("")
        return [RemoveView(None if default is None else str(default))] if VIEW in ledger else []
    status, columns = push.prefix + STATUS, _columns(settings, report)
    view = PutView(VIEW_TITLE, status, "conflict", push.prefix + AGREEMENT, columns)
    there = ledger.get(VIEW, {"": ()})[""]  # None: found in the tool by a store that did not make it, and left as it is
    return [] if there is None or there == view_value(view) else [view]


def summary_line(report: AgreementReport, measured: Measured, settings: Settings) -> str:
    """One line for the project's description. Without a time, so that an unchanged sync writes nothing."""
    threshold = settings.gate.threshold
    noun = "task" if measured.joined is None else measured.joined.noun
    parts = []
    for name, question in report.questions.items():
        alpha = question.alpha
        if alpha.value is None:
            said = f"no alpha ({(alpha.reason or 'undefined').replace('_', ' ')})"
        else:
            said = f"alpha {printed(alpha.value, threshold, 3)}"
            if alpha.low is not None and alpha.high is not None:
                said += f" ({printed(alpha.low, threshold, 3)} to {printed(alpha.high, threshold, 3)})"
        label = f"{name}: " if len(report.questions) > 1 else ""
        parts.append(
            f"{label}{said}, {question.n_pairable_units} of {counted(question.n_units, noun)} with two ratings or more,"
            f" {counted(question.n_raters, 'rater')}"
        )
    if not parts:
        return "Agreement: no question measured yet"
    n_sources = 1 if measured.joined is None else len(measured.joined.parts)
    over = f"over {n_sources} sources: " if n_sources > 1 else ""
    return f"Agreement: {over}{'; '.join(parts)}; gate at {threshold:g}: {measured.decision.verdict}"
