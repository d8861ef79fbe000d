"""Records and their responses over the API, page by page, every page checked against the one before.

The server pages by offset, in the order of insertion. A record that goes in mid-pull shifts all later ones, and one
would be lost without a trace; so each page but the first begins with the last record of the page before. Where it does
not, or where fewer records come than the server counts, everything is read once more.

Half of a surrogate pair that a script put into metadata or into an answer is kept by the server, which then refuses
(422) every page that holds the record. Such a page is asked for in ever smaller parts, until the record stands alone.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, TypeVar

from connector.annotations.choices import clean
from connector.annotations.display import few
from connector.annotations.model import Unit
from connector.errors import DataNotTrusted, SkippedTask, UnexpectedAnswer
from connector.tools.argilla.client import Client
from connector.tools.argilla.shape import unit_of
from connector.tools.base import Cursor, Page
from connector.tools.http import Refused
from connector.tools.sound import sound

T = TypeVar("T")

PAGE = 1000
"""The server gives no more."""
ATTEMPTS = 4
_PAUSE = 0.5
BEYOND = 1_000_000_000
"""An offset behind all records: what is answered there is their number alone."""
MOST_UNREADABLE = 20
"""Records of one page that are looked for, one by one, before the server is held to be at fault."""
LEAVE = 5.0
"""Seconds that a reading which is broken off waits for the answer that is under way; a page of 1,000 takes one."""


class Rows(NamedTuple):
    """The new records of one answer. `total` is how many the reading expects; `last` says that it has them all."""

    records: list[dict[str, Any]]
    total: int
    last: bool


class Unreadable(dict[str, Any]):
    """Stands for a record that the server does not send: what is known of it, at least an "id". Its own, where the
    record comes without its responses, else where it stands."""

    def __init__(self, known: Mapping[str, Any], why: str) -> None:
        super().__init__({key: value for key, value in known.items() if key != "responses"})
        self.why = why


class Reader:
    """Reads the records of one dataset, `page_size` (2 or more) at a time."""

    def __init__(self, client: Client, page_size: int = PAGE) -> None:
        self.client = client
        self.page_size = page_size
        self._order: dict[str, list[str]] = {}

    def pages(self, dataset: str, activity: str) -> Iterator[Page]:
        """Every record with its responses. `activity` is the dataset's as it was before.

        Raises DataNotTrusted where records come and go faster than they can be read.
        """
        seen = 0
        for rows in self.scan(dataset, include="responses"):
            seen += len(rows.records)
            # What was read and is gone by now stays in the number, so that the next run sees the difference.
            yield shaped(rows, Cursor(activity, str(seen)) if rows.last else Cursor())

    def changed(self, dataset: str, activity: str, known: Mapping[str, str | None]) -> Iterator[Page]:
        """As `pages`, without the records whose state is `known`."""
        for page in self.pages(dataset, activity):
            units = [unit for unit in page.units if unit.updated_at is None or known.get(unit.id) != unit.updated_at]
            yield page._replace(units=units)

    def created(self, dataset: str) -> dict[str, str | None]:
        """Every record's id and time of insertion."""
        rows = (record for rows in self.scan(dataset) for record in rows.records)
        return {record["id"]: _time(record.get("inserted_at")) for record in rows}

    def places(self, dataset: str, *, fresh: bool = False) -> dict[str, int]:
        """Where each record stands in the dataset's order, by id: as it was when all were last read unless `fresh`."""
        if fresh or dataset not in self._order:
            self.created(dataset)
        return {unit: place for place, unit in enumerate(self._order[dataset])}

    def total(self, dataset: str) -> int:
        """How many records there are."""
        return self.rows(dataset, 0, 1)[1]

    def first(self, dataset: str, count: int, include: str) -> list[dict[str, Any]]:
        """The first records, as the API gives them."""
        return self.rows(dataset, 0, count, include)[0]

    def scan(self, dataset: str, include: str | None = None) -> Iterator[Rows]:
        """Every record once, in the order of insertion, as the API gives it. What comes in meanwhile is left out."""
        seen: dict[str, None] = {}
        for attempt in range(ATTEMPTS):
            # Another page size, so that records of one and the same time do not stand at the same seam again.
            for rows in self._pass(dataset, max(2, self.page_size - 7 * attempt), include):
                new = [record for record in rows.records if record["id"] not in seen]
                seen.update(dict.fromkeys(record["id"] for record in new))
                if rows.last:
                    self._order[dataset] = list(seen)
                yield rows._replace(records=new)
                if rows.last:
                    return
            time.sleep(_PAUSE * attempt)
        raise DataNotTrusted(
            f"Argilla's records could not be read whole in {ATTEMPTS} attempts: some go, or fewer come than it counts.",
            "Nothing was counted. If records are being deleted, run the command again after it.",
        )

    def _pass(self, dataset: str, size: int, include: str | None) -> Iterator[Rows]:
        """One reading from the start; it ends without a last one where something was lost."""
        records, total = self.rows(dataset, 0, size, include)
        here = {record["id"] for record in records}
        if len(here) > total:  # counted after some of them were deleted
            return
        while True:
            if len(here) == total:
                yield Rows(records, total, last=True)
                return
            if not records:
                return
            last, done = records[-1]["id"], len(here)
            # Asked for while the caller works on this page: the server takes as long as everything else together.
            with ahead(self.rows, dataset, done - 1, min(size, total - done + 1), include) as upcoming:
                yield Rows(records, total, last=False)
                again, _ = upcoming()
            records = again[1:]
            if not again or again[0]["id"] != last or not here.isdisjoint(record["id"] for record in records):
                return
            here.update(record["id"] for record in records)

    def rows(
        self, dataset: str, offset: int, limit: int, include: str | None = None
    ) -> tuple[list[dict[str, Any]], int]:
        """The records that stand there, and how many there are in all. One that the server does not send is
        `Unreadable`; no records come where some went while it was looked for.

        Raises DataNotTrusted where it cannot be told which those are.
        """
        try:
            return self._ask(dataset, offset, limit, include)
        except Refused as refused:
            if refused.status != 422:
                raise
            why = refused.detail
        try:
            records, total = self._narrowed(dataset, offset, limit, include, why)
        except Refused as refused:
            records, total, why = [], 0, f"{why}; asked for alone: {refused.detail}"
        else:
            if sum(isinstance(record, Unreadable) for record in records) <= MOST_UNREADABLE:
                return records, total
        raise DataNotTrusted(
            f"Argilla does not send {_one_of(records, offset, limit)}: {clean(why)}",
            "Mend there what no program can read, or delete it. Places count from 0, in the order of insertion.",
        )

    def _narrowed(
        self, dataset: str, offset: int, limit: int, include: str | None, why: str
    ) -> tuple[list[dict[str, Any]], int]:
        """What was refused, in halves, of which one that is refused too is halved again."""
        if limit == 1:
            return [self._unreadable(dataset, offset, include, why)], self._ask(dataset, BEYOND, 1, None)[1]
        records: list[dict[str, Any]] = []
        totals: set[int] = set()
        for start, count in ((offset, limit // 2), (offset + limit // 2, limit - limit // 2)):
            try:
                part, total = self._ask(dataset, start, count, include)
            except Refused as refused:
                if refused.status != 422:
                    raise
                part, total = self._narrowed(dataset, start, count, include, refused.detail)
            records += part
            totals.add(total)
            if sum(isinstance(record, Unreadable) for record in records) > MOST_UNREADABLE:
                return records, total
        # Where one has gone meanwhile another may stand in neither half.
        return (records if len(totals) == 1 else []), max(totals)

    def _unreadable(self, dataset: str, offset: int, include: str | None, why: str) -> Unreadable:
        """Without its responses, where what is wrong is in them, the record does come."""
        known: Mapping[str, Any] = {"id": f"at place {offset}"}
        if include is not None:
            with suppress(Refused, IndexError):
                known = self._ask(dataset, offset, 1, None)[0][0]
        return Unreadable(known, f"Argilla does not send it: {clean(why)}")

    def _ask(self, dataset: str, offset: int, limit: int, include: str | None) -> tuple[list[dict[str, Any]], int]:
        params: dict[str, str | int] = {"offset": offset, "limit": limit}
        if include is not None:
            params["include"] = include
        return _checked(self.client.get(f"api/v1/datasets/{dataset}/records", params), limit)


@contextmanager
def ahead(call: Callable[..., T], *given: Any) -> Iterator[Callable[[], T]]:
    """Begins a call at once, in a thread of its own; its outcome, failure included, comes from what is given.

    A block that is left without it waits a few seconds for the call's end, so that no thread and no connection of it
    are left. One that takes longer is left behind: it never keeps the program from ending.
    """
    outcome: list[T] = []
    failure: list[BaseException] = []

    def work() -> None:
        try:
            outcome.append(call(*given))
        except BaseException as fault:  # noqa: BLE001 - raised where the outcome is asked for
            failure.append(fault)

    worker = threading.Thread(target=work, daemon=True, name="ahead")
    worker.start()

    def result() -> T:
        worker.join()
        if failure:
            raise failure.pop()  # not kept: it holds the frames that hold it, and a connection among them
        return outcome[0]

    try:
        yield result
    finally:
        worker.join(LEAVE)


def shaped(rows: Rows, cursor: Cursor) -> Page:
    """A page of units; records that cannot be read go to `skipped`.

    Raises DataNotTrusted for a record that came without its responses.
    """
    units: list[Unit] = []
    skipped = [SkippedTask(one["id"], one.why) for one in rows.records if isinstance(one, Unreadable)]
    for record in sound([one for one in rows.records if not isinstance(one, Unreadable)]):
        try:
            if isinstance(record, SkippedTask):
                raise record
            units.append(unit_of(record))
        except SkippedTask as malformed:
            skipped.append(malformed)
    return Page(units, skipped, cursor, rows.total)


def _one_of(found: Sequence[Mapping[str, Any]], offset: int, limit: int) -> str:
    """Which records do not come, of so many that were asked for."""
    named = [record["id"] for record in found if isinstance(record, Unreadable)]
    among = f"those at the places {offset} to {offset + limit - 1}" if limit > 1 else f"that at place {offset}"
    return f"{len(named)} records and more among {among} ({few(named)})" if named else f"a record among {among}"


def _checked(answer: Any, limit: int) -> tuple[list[dict[str, Any]], int]:
    records = answer.get("items") if isinstance(answer, dict) else None
    total = answer.get("total") if isinstance(answer, dict) else None
    if not isinstance(records, list) or type(total) is not int:
        raise UnexpectedAnswer("Argilla's list of records has another form than expected (no items or no total).")
    ids = {record.get("id") if isinstance(record, dict) else None for record in records}
    if not all(isinstance(one, str) and one.strip() for one in ids) or len(ids) < len(records):
        raise UnexpectedAnswer("Argilla's list of records holds one without an id, or one twice.")
    if len(records) > limit:
        raise UnexpectedAnswer(f"Argilla sent {len(records)} records where {limit} were asked for.")
    return records, total


def _time(raw: Any) -> str | None:
    return clean(raw) if isinstance(raw, str) else None
