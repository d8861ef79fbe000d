"""Tasks and their annotations over the API, page by page, every page checked against what was asked.

Pages are cut by a keyset (`id` greater than the last one seen), so that tasks that come or go in mid-pull shift
nothing. The server answers a filter it does not understand with everything and an unknown page size with 100 rows:
therefore every row is held against the filter that asked for it, and the number of rows against the server's `total`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from connector.annotations.model import Unit
from connector.errors import DataNotTrusted, SkippedTask, UnexpectedAnswer
from connector.tools.base import Cursor, Page
from connector.tools.label_studio.client import Client
from connector.tools.label_studio.shape import timestamp, unit_of
from connector.tools.sound import sound

PAGE = 1000
THIN_PAGE = 2000
BY_ID = 200
"""Ids per `in_list` query: about 2 KB of address, under the 4 KB that common proxies allow."""

# `include` holds at every level, so the fields of a task and of its annotations stand in one list.
FIELDS = (
    "id,data,created_at,updated_at,total_annotations,cancelled_annotations,annotations,predictions,"
    "result,completed_by,updated_by,was_cancelled,ground_truth,lead_time,parent_annotation,parent_prediction"
)
OVERLAP = timedelta(seconds=1)
MOST_NEW = 10_000
"""Tasks that may come in while a listing goes on, before it is asked whether it ends at all."""


class Rows(NamedTuple):
    """The tasks of one answer, in the order of their ids, and how many the server says match the question."""

    tasks: list[dict[str, Any]]
    total: int


class Reader:
    """Reads the tasks of one project, `page_size` at a time."""

    def __init__(self, client: Client, project: str, page_size: int = PAGE) -> None:
        self.client = client
        self.project = project
        self.page_size = page_size

    def pages(self) -> Iterator[Page]:
        """Every task with its annotations.

        Raises DataNotTrusted where fewer tasks come than the server counts.
        """
        seen, total, newest = 0, None, None
        horizon: datetime | None = None
        for rows in self._sweep(FIELDS, self.page_size, whole=True):
            if total is None:
                total, horizon = rows.total, self.client.asked_at
            if rows.tasks:
                seen += len(rows.tasks)
                newest = _later(newest, _newest(rows.tasks))
                at = Cursor(_not_after(newest, horizon), str(rows.tasks[-1]["id"]))
                yield shaped(rows.tasks, at, max(total, seen))

    def changed(self, cursor: Cursor, known: Mapping[str, str | None]) -> Iterator[Page]:
        """The tasks that are new or changed since `cursor`; nothing at all where there are none.

        One question lists candidates thinly: `updated_at` from one second before the cursor on, or `id` above the last.
        The candidates whose `updated_at` differs from `known` are then read whole.
        """
        if cursor.newest_update is None or cursor.last_id is None:
            yield from self.pages()
            return
        since = _before(moment(cursor.newest_update))
        last = int(cursor.last_id)
        thin = self._candidates(since, last)
        horizon = self.client.asked_at
        newest = _later(cursor.newest_update, _not_after(_newest(thin), horizon))
        wanted = [row["id"] for row in thin if known.get(str(row["id"]), "") != row.get("updated_at")]
        for start in range(0, len(wanted), BY_ID):
            ids = wanted[start : start + BY_ID]
            last = max(last, ids[-1])
            # Later chunks may hold older changes: only the last page moves the time.
            done = start + BY_ID >= len(wanted)
            at = Cursor(newest if done else cursor.newest_update, str(last))
            yield shaped(self.by_id(ids, FIELDS, whole=True), at, len(wanted))

    def created(self) -> dict[str, str | None]:
        """Every task's id and `created_at`."""
        return {str(row["id"]): timestamp(row.get("created_at")) for row in self.scan("id,created_at", THIN_PAGE)}

    def scan(self, fields: str, size: int, *, whole: bool = False) -> Iterator[dict[str, Any]]:
        """Every task, with these fields only; `whole` where annotations are among them."""
        for rows in self._sweep(fields, size, whole=whole):
            yield from rows.tasks

    def _sweep(
        self,
        fields: str,
        size: int,
        *,
        after: int = 0,
        also: Sequence[dict[str, Any]] = (),
        whole: bool = False,
    ) -> Iterator[Rows]:
        """Every task with an id above `after` that passes `also`, an answer at a time.

        Raises DataNotTrusted where fewer come than the server counts, or where they do not end.
        """
        seen, first = 0, None
        while True:
            rows = self.page(after, fields, size, also=also, whole=whole)
            first = rows.total if first is None else first
            new = seen + rows.total - first
            if new > MOST_NEW and new > seen // 2:
                raise _endless(seen, first)
            if not rows.tasks and rows.total:
                raise _short(rows.total, seen)
            yield rows
            if len(rows.tasks) == rows.total:
                return
            after, seen = rows.tasks[-1]["id"], seen + len(rows.tasks)

    def page(
        self, after: int, fields: str, size: int, *, also: Sequence[dict[str, Any]] = (), whole: bool = False
    ) -> Rows:
        """The first tasks with an id above `after` that pass the filters of `also`."""
        rows = self._ask([_above(after), *also], "and", fields, size, whole=whole)
        if rows.tasks and rows.tasks[0]["id"] <= after:
            raise _ignored(f"id greater {after}")
        return rows

    def by_id(self, ids: Sequence[int], fields: str, *, whole: bool = False) -> list[dict[str, Any]]:
        """Those of these tasks that exist in the project."""
        found: list[dict[str, Any]] = []
        for start in range(0, len(ids), BY_ID):
            found.extend(self._by_id(list(ids[start : start + BY_ID]), fields, whole=whole))
        return found

    def _by_id(self, ids: list[int], fields: str, *, whole: bool) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        while ids:
            asked = {"filter": "filter:tasks:id", "operator": "in_list", "type": "List", "value": ids}
            rows = self._ask([asked], "and", fields, len(ids), whole=whole)
            if not {row["id"] for row in rows.tasks} <= set(ids):
                raise _ignored("id in list")
            found.extend(rows.tasks)
            if len(rows.tasks) == rows.total:
                break
            if not rows.tasks:
                raise _short(rows.total, len(found))
            ids = [number for number in ids if number > rows.tasks[-1]["id"]]
        return found

    def _candidates(self, since: datetime, last: int) -> list[dict[str, Any]]:
        rows = self._ask([_updated(since), _above(last)], "or", "id,updated_at", THIN_PAGE)
        self._hold(rows.tasks, since, last)
        if len(rows.tasks) == rows.total:
            return rows.tasks
        # More than a page: a number of a page drifts, and a keyset cannot be joined to an OR; so each half by itself.
        half = self._thin(after=last)
        changed = self._thin(also=[_updated(since)])
        self._hold(changed, since, last)
        return sorted({row["id"]: row for row in [*changed, *half]}.values(), key=lambda row: row["id"])

    def _thin(self, *, after: int = 0, also: Sequence[dict[str, Any]] = ()) -> list[dict[str, Any]]:
        sweep = self._sweep("id,updated_at", THIN_PAGE, after=after, also=also)
        return [row for rows in sweep for row in rows.tasks]

    @staticmethod
    def _hold(rows: Iterable[dict[str, Any]], since: datetime, last: int) -> None:
        for row in rows:
            if row["id"] <= last and moment(row.get("updated_at")) < since:
                raise _ignored("updated_at")

    def _ask(
        self, items: list[dict[str, Any]], conjunction: str, fields: str, size: int, *, whole: bool = False
    ) -> Rows:
        query = {"filters": {"conjunction": conjunction, "items": items}, "ordering": ["tasks:id"]}
        params: dict[str, str | int] = {
            "project": self.project,
            "page_size": size,
            # Storage addresses would come back signed, and be written back so.
            "resolve_uri": "false",
            "include": fields,
            "query": json.dumps(query, separators=(",", ":")),
        }
        if whole:
            params["fields"] = "all"
        answer = self.client.get("api/tasks", params)
        return _checked(answer)


def moment(text: Any) -> datetime:
    """A time as the server writes it, with its own offset."""
    try:
        at = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        at = None
    if at is None or at.tzinfo is None:
        raise UnexpectedAnswer(f"Label Studio gave a time that cannot be read: {ascii(text)[:40]}.")
    return at


def _before(at: datetime) -> datetime:
    try:
        return at - OVERLAP
    except OverflowError:
        return at


def shaped(tasks: list[dict[str, Any]], cursor: Cursor, total: int) -> Page:
    """A page of units; tasks that cannot be read go to `skipped`.

    Raises DataNotTrusted for a task that came without its annotations.
    """
    units: list[Unit] = []
    skipped: list[SkippedTask] = []
    for task in sound(tasks):
        if isinstance(task, SkippedTask):
            skipped.append(task)
            continue
        try:
            units.append(unit_of(task))
        except SkippedTask as malformed:
            skipped.append(malformed)
    return Page(units, skipped, cursor, total)


def _checked(answer: Any) -> Rows:
    """The answer's tasks and total, their ids strictly rising."""
    tasks = answer.get("tasks") if isinstance(answer, dict) else None
    total = answer.get("total") if isinstance(answer, dict) else None
    if not isinstance(tasks, list) or type(total) is not int:
        raise UnexpectedAnswer("Label Studio's task list has another form than expected (no tasks or no total).")
    previous = -1
    for task in tasks:
        number = task.get("id") if isinstance(task, dict) else None
        if type(number) is not int or number <= previous:
            raise UnexpectedAnswer("Label Studio's task list is not in the order of ids that was asked for.")
        previous = number
    if len(tasks) > total:
        raise UnexpectedAnswer(f"Label Studio sent {len(tasks)} tasks and says there are {total}.")
    return Rows(tasks, total)


def _above(number: int) -> dict[str, Any]:
    return {"filter": "filter:tasks:id", "operator": "greater", "type": "Number", "value": number}


def _updated(since: datetime) -> dict[str, Any]:
    # The server reads this as a time of its own zone, needs the fraction and the letter Z, and knows no offset.
    value = since.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
    return {"filter": "filter:tasks:updated_at", "operator": "greater_or_equal", "type": "Datetime", "value": value}


def _newest(tasks: list[dict[str, Any]]) -> str | None:
    times = [task["updated_at"] for task in tasks if task.get("updated_at")]
    return max(times, key=moment, default=None)


def _later(one: str | None, other: str | None) -> str | None:
    if one is None or other is None:
        return one or other
    return max(one, other, key=moment)


def _not_after(newest: str | None, horizon: datetime | None) -> str | None:
    """The newest time seen, but no later than when the pull began.

    A task of the first page that changes while the last page is read would otherwise lie before the cursor for good.
    """
    if newest is None or horizon is None:
        return newest
    at = moment(newest)
    return newest if at <= horizon else horizon.astimezone(at.tzinfo).isoformat().replace("+00:00", "Z")


def _short(total: int, seen: int) -> DataNotTrusted:
    return DataNotTrusted(
        f"Label Studio counts {total} more tasks than the {seen} it sent.",
        "Nothing was counted. Run the command again.",
    )


def _endless(seen: int, first: int) -> DataNotTrusted:
    return DataNotTrusted(
        f"Label Studio counted {first} tasks at first, has sent {seen} and counts more with every page.",
        "Nothing was counted. If an import is going on, run the command again after it.",
    )


def _ignored(what: str) -> UnexpectedAnswer:
    return UnexpectedAnswer(
        f"Label Studio ignored the filter '{what}' and sent other tasks.", "This server's version is not supported."
    )
