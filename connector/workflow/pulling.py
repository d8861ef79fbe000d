"""Bring the store up to date with the tool: what changed since, or everything, in one transaction."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from connector.annotations.display import counted
from connector.annotations.model import Unit
from connector.errors import FixAccess, NotThere, UnexpectedAnswer
from connector.store import Store, StoredSource
from connector.tools.base import Cursor, Page, Project, Tool
from connector.workflow.fields import sort_fields
from connector.workflow.writing import (
    BARE,
    FIELD,
    FOREIGN,
    INTENT,
    REVIEW_MARKS,
    REVIEW_PROJECT,
    REVIEW_TASK,
    SUMMARY,
    UNFINISHED,
    VIEW,
    Known,
    Progress,
    columns_of,
    earlier_reviews,
    fields_known,
)

FULL_PULL_EVERY = 24 * 3600.0
"""Seconds between full pulls: what is deleted, users too, and in Argilla responses that a script uploads in bulk, show
in nothing cheaper."""


@dataclass(slots=True)
class _Missing:
    """The ratings that the store holds and the tool does not any more: those of users who were deleted are kept."""

    tool: Tool
    gone: int = 0
    kept: int = 0
    asked: list[Collection[str]] = field(default_factory=list)

    def put_back(self, store: Store, source: str, unit: Unit) -> Unit:
        """The unit with the stored ratings that went with their users."""
        missing = store.missing_from(source, unit)
        if not missing:
            return unit
        here = {one.rater for one in unit.annotations}
        kept = [one for one in missing if one.rater not in here and self._was_deleted(one.rater)]
        n_kept = sum(one.status == "submitted" for one in kept)
        self.kept += n_kept
        self.gone += sum(one.status == "submitted" for one in missing) - n_kept
        return unit._replace(annotations=[*unit.annotations, *kept])

    def _was_deleted(self, rater: str | None) -> bool:
        if rater is None or self.tool.capabilities.outlive_users:
            return False
        if not self.asked:
            self.asked.append(_people(self.tool))
        return bool(self.asked[0]) and rater not in self.asked[0]


def _people(tool: Tool) -> Collection[str]:
    """The users that there are; none where the tool does not tell us. Trouble that passes fails the pull instead."""
    try:
        return tool.rater_names().keys()
    except (FixAccess, NotThere, UnexpectedAnswer):
        return ()


@dataclass(frozen=True, slots=True)
class Pulled:
    """What a pull brought: units fetched and gone, whether it was a full one, and how many units are malformed now.

    Of the units fetched, `ratings_gone` were there at the last pull and are no more; `ratings_kept` went with their
    users and stay in the store. `earlier_reviews` are review projects of projects that had this one's name and are
    gone; only a full pull looks for them.
    """

    fetched: int
    gone: int
    full: bool
    skipped: dict[str, str]
    ratings_gone: int = 0
    ratings_kept: int = 0
    earlier_reviews: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether it brought anything."""
        return self.full or bool(self.fetched or self.gone)

    def notes(self) -> list[str]:
        """What became of ratings that the tool does not hold any more, for people."""
        gone, kept = self.ratings_gone, self.ratings_kept
        notes = [f"{counted(gone, 'rating is', 'ratings are')} gone since the last pull."] if gone else []
        one, many = "rating of a user who was deleted since is", "ratings of users who were deleted since are"
        return [*notes, f"{counted(kept, one, many)} kept."] if kept else notes


def reach(tool: Tool, store: Store, *, now: float, full: bool) -> Project:
    """Open the project with what the store knows of it, or, before a full pull, as if for the first time.

    What the store holds of a project that has another name now goes on under that one.
    """
    stored = store.source(tool.source)
    project = tool.open() if stored is None else _opened(tool, stored, fresh=_is_due(stored, store, now, full=full))
    if project.is_named:
        with store.transaction():
            _take_over(store, project)
    return project


def _opened(tool: Tool, stored: StoredSource, *, fresh: bool) -> Project:
    if fresh:
        with suppress(NotThere):
            project = tool.open()
            if not project.is_named or project.link == stored.link:
                return project
    # Only with what is known can the tool say what became of the project that had the name.
    return tool.open(stored.settings)


def _take_over(store: Store, project: Project) -> None:
    there = store.source(project.source)
    if there is not None and there.link == project.link:
        return
    same = next((one for one in store.sources() if one.link == project.link), None)
    if there is not None:
        if same is None and not project.former_stays:
            return  # made again: what is not there any more goes with the pull
        store.rename_source(project.source, there.link)  # set aside until it is asked for by its new name
    if same is not None:
        store.rename_source(same.source, project.source)


def _is_due(stored: StoredSource, store: Store, now: float, *, full: bool) -> bool:
    """Whether everything is to be read: when asked, once a day, and after a removal that did not come to its end, whose
    last step may be done without the ledger knowing."""
    if full or stored.full_pull_at is None or store.item(stored.source, UNFINISHED):
        return True
    return not 0 <= now - stored.full_pull_at < FULL_PULL_EVERY


def pull(
    tool: Tool,
    store: Store,
    project: Project,
    prefix: str,
    *,
    now: float,
    full: bool,
    progress: Progress,
) -> Pulled:
    """Pull into the store: rows and cursor together or not at all.

    A full pull also reads back what of ours stands in the tool, so that a lost or stale ledger is mended from it.
    `now` is the time at which the run started, in seconds since 1970.

    Raises
    ------
    DataNotTrusted : the pull was cut short; nothing of it is kept.
    """
    stored = store.source(project.source)
    whole = stored is None or project.is_new or _is_due(stored, store, now, full=full)
    missing = _Missing(tool)
    earlier: tuple[str, ...] = ()
    with store.transaction():
        if whole or stored is None:
            found = tool.find_ours()
            earlier = earlier_reviews(found)
            known = fields_known(store, project.source, columns_of(found))
            fetched, cursor, gone = _everything(tool, store, project.source, prefix, known, missing, progress)
            _mend_ledger(store, project.source, found)
            mend_reviews(tool, store, project.source, found.get(REVIEW_PROJECT))
            if store.item(project.source, UNFINISHED):
                store.record(project.source, UNFINISHED, {"": False})
        else:
            fetched, cursor, gone = _changes(tool, store, project, stored, prefix, missing, progress)
        full_pull_at = now if whole or stored is None else stored.full_pull_at
        store.put_source(
            StoredSource(
                project.source,
                tool.name,
                project.title,
                project.link,
                project.settings,
                cursor,
                full_pull_at,
                project.required_ratings,
            )
        )
    return Pulled(fetched, gone, whole, store.skipped(project.source), missing.gone, missing.kept, earlier)


def _everything(
    tool: Tool, store: Store, source: str, prefix: str, known: Known, missing: _Missing, progress: Progress
) -> tuple[int, Cursor, int]:
    seen: set[str] = set()
    cursor = Cursor()
    for page in tool.pull():
        _keep(store, source, page, prefix, known, missing)
        seen.update(unit.id for unit in page.units)
        seen.update(skipped.unit for skipped in page.skipped)
        cursor = page.cursor
        progress(len(seen), page.total)
    gone = [unit for unit in (*store.known(source), *store.skipped(source)) if unit not in seen]
    store.forget_units(source, gone)
    _claim(store, source, prefix)
    return len(seen), cursor, len(gone)


def _claim(store: Store, source: str, prefix: str) -> None:
    """Where a person took over one field of a unit its others are ours all the same: the rest of the units say so."""
    proven: dict[str, tuple[Any, ...]] = {item.removeprefix(FIELD): () for item in store.ledger(source, FIELD)}
    for unit in {unit for units in store.ledger(source, FOREIGN).values() for unit in units}:
        items = store.items_of(source, unit)
        if any(item.startswith((FIELD, INTENT)) for item in items):
            continue
        data = store.data_of(source, unit)
        # Nothing else of its content stands where fields of ours do.
        held = {name: data[name] for name in data if FOREIGN + name in items}
        ours, foreign = sort_fields(held, prefix, proven)
        store.put_data(source, unit, _without(data, ours))
        _enter_fields(store, source, unit, ours, foreign)


def _changes(
    tool: Tool,
    store: Store,
    project: Project,
    stored: StoredSource,
    prefix: str,
    missing: _Missing,
    progress: Progress,
) -> tuple[int, Cursor, int]:
    source, cursor, fetched = project.source, stored.cursor, 0
    known: Known | None = None
    for page in tool.pull_changed(stored.cursor, store.known(source)):
        if known is None:
            known = fields_known(store, source, None if store.wrote_fields(source) else columns_of(tool.find_ours()))
        _keep(store, source, page, prefix, known, missing)
        fetched += len(page.units) + len(page.skipped)
        cursor = page.cursor
        progress(fetched, page.total)
    gone: list[str] = []
    here = [*store.known(source), *store.skipped(source)]
    if project.n_units is not None and project.n_units < len(here):
        there = tool.unit_ids()
        gone = [unit for unit in here if unit not in there]
        store.forget_units(source, gone)
    return fetched, cursor, len(gone)


def _keep(store: Store, source: str, page: Page, prefix: str, known: Known, missing: _Missing) -> None:
    for found in page.units:
        unit = missing.put_back(store, source, found)
        ours, foreign = sort_fields(unit.fields, prefix, known(unit.id))
        store.put_unit(source, unit._replace(data=_without(unit.data, ours)))
        if unit.bare:
            store.record(source, BARE, {unit.id: True})
        elif not ours:
            store.strike(source, BARE, [unit.id])
        _enter_fields(store, source, unit.id, ours, foreign)
    for skipped in page.skipped:
        store.put_skipped(source, skipped.unit, skipped.reason)


def _enter_fields(store: Store, source: str, unit: str, ours: Mapping[str, Any], foreign: Iterable[str]) -> None:
    there = {FIELD + name: value for name, value in ours.items()}
    store.put_fields(source, unit, there | {FOREIGN + name: True for name in foreign})


def _without(data: Mapping[str, Any], fields: Collection[str]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key not in fields}


def _mend_ledger(store: Store, source: str, there: Mapping[str, str]) -> None:
    ledger = store.ledger(source)
    for item in (VIEW, SUMMARY):
        if item not in there:
            store.strike(source, item, [""])
        elif item == SUMMARY or item not in ledger:
            store.record(source, item, {"": there[item] if item == SUMMARY else None})


def mend_reviews(tool: Tool, store: Store, source: str, marked: str | None) -> None:
    """Let the ledger hold the review tasks that are there: in the project with our marker, else in the ledger's."""
    ledger = store.ledger(source, "review")
    project = marked or ledger.get(REVIEW_PROJECT, {}).get("")
    there: Mapping[str, str] = {}
    if project is not None:
        try:
            there = tool.review_tasks(project)
        except NotThere:
            project = None
    store.strike(source, REVIEW_TASK, [unit for unit in ledger.get(REVIEW_TASK, {}) if unit not in there])
    store.strike(source, REVIEW_MARKS, [unit for unit in ledger.get(REVIEW_MARKS, {}) if unit not in there])
    store.record(source, REVIEW_TASK, there)
    store.strike(source, REVIEW_PROJECT, [""])
    if project is not None:
        store.record(source, REVIEW_PROJECT, {"": project})
