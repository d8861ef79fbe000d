"""Fields of ours as metadata of the records: the dataset's properties, and the values.

The server replaces a record's metadata as a whole and knows no condition for a write. So each batch is read right
before it is written, and what is there is sent back with ours. What remains: a value that somebody else's script
writes into the metadata of the same record after that reading and before the server has taken our batch (under two
seconds for 100 records with three responses) is lost. Nobody writes metadata on the page.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any
from uuid import UUID

from connector.errors import FixConfiguration, NotThere, UnexpectedAnswer
from connector.tools.argilla.client import Client, items_of
from connector.tools.argilla.read import Reader, Unreadable
from connector.tools.base import PutFields, Receipt
from connector.tools.http import Refused

BATCH = 100
"""Records per bulk write: the server is busy with it for a second or two, and the raters wait."""
SINGLY = 10
"""So many records are rather asked for one by one than by pages."""
GAP, WINDOW = 50, 500
"""Records that are read along with those wanted, at most: between two of them, and in all of one answer."""
REFUSED = 10
"""Records that a batch may have refused, one by one, before it is given up."""
PAUSE = 1.0
"""Seconds before a write that failed in the server is tried again."""
LONGEST = 500
"""The most characters of a term: longer ones are of no use in a filter."""
LARGEST = 32_766
"""The most bytes of a term that the server's index takes."""

MARK = " [agreement-connector]"
"""The end of the title of a metadata property of ours; its name has to be the field's."""
FLOATS, INTEGERS = ("agreement", "consensus"), ("raters",)
"""The fields (after the prefix) that hold numbers; the others hold terms."""

Metadata = dict[str, Any]


class Writer:
    """Writes into the records of one dataset. `prefix` begins the name of every field of ours."""

    def __init__(self, client: Client, reader: Reader, dataset: str, prefix: str) -> None:
        self.client = client
        self.reader = reader
        self.dataset = dataset
        self.prefix = prefix
        self.records = Records(client, reader, dataset)
        self._properties: dict[str, dict[str, Any]] | None = None

    def put(self, op: PutFields) -> Receipt:
        """Set and take away fields, all of a record in one write; the properties they need are made first.

        Raises FixConfiguration, before anything is written, where a property of that name is not as ours would be.
        """
        changes: dict[str, dict[str, Any]] = {unit: {} for unit in op.units if is_id(unit)}
        missing = [unit for unit in op.units if unit not in changes]
        for unit, new in changes.items():
            for name, value in op.units[unit].items():
                new[name] = None if value is None else typed(value, self.kind(name))
                if new[name] is None and value is not None:
                    kind, shown = self.kind(name), repr(value)[:60]
                    return Receipt(failed=f"{name} would be {shown}, which a property of type {kind} does not hold")
        self._make_properties({name for new in changes.values() for name in new if new[name] is not None})
        written: list[str] = []
        bare: list[str] = []
        failed: str | None = None
        for start in range(0, len(changes), BATCH):
            part = {unit: changes[unit] for unit in list(changes)[start : start + BATCH]}
            try:
                done = self._write(part, op.bare)
            except Refused as refused:
                if not written:
                    raise
                done = Receipt(failed=refused.message)
            written += done.written
            missing += done.missing
            bare += done.bare
            failed = done.failed
            if failed:
                break
        return Receipt(tuple(written), tuple(missing), failed=failed, bare=tuple(bare))

    def columns(self) -> list[str]:
        """The names of the metadata properties that we made."""
        return [name for name, item in self.properties(fresh=True).items() if is_ours(item)]

    def accept(self, names: Collection[str]) -> None:
        """Raises FixConfiguration where a property of one of these names is there and not as ours would be."""
        there = self.properties()
        for name in sorted(names):
            if name in there:
                self._accept(there[name])

    def reset_columns(self) -> Receipt:
        """Delete the properties that we made. One that still has a value on a record stays: without it the server
        refuses every later write of that record's metadata."""
        ours = {name: item for name, item in self.properties(fresh=True).items() if is_ours(item)}
        held = self._held(ours)
        for name in ours.keys() - held:
            try:
                self.client.call("DELETE", f"api/v1/metadata-properties/{ours[name]['id']}")
            except NotThere:
                continue
        self._properties = None
        return Receipt(remote={"kept_columns": ", ".join(sorted(held))} if held else {})

    def properties(self, *, fresh: bool = False) -> dict[str, dict[str, Any]]:
        """The dataset's metadata properties by name, read once unless `fresh`."""
        if self._properties is None or fresh:
            answer = self.client.get(f"api/v1/me/datasets/{self.dataset}/metadata-properties")
            self._properties = {str(item["name"]): item for item in items_of(answer, "metadata properties")}
        return self._properties

    def kind(self, field: str) -> str:
        """The type of the property that holds `field`."""
        rest = field.removeprefix(self.prefix)
        return "float" if rest.startswith(FLOATS) else "integer" if rest.startswith(INTEGERS) else "terms"

    # Properties

    def _make_properties(self, names: Collection[str]) -> None:
        self.accept(names)
        there = self.properties()
        for name in sorted(names - there.keys()):
            there[name] = self._make_property(name)

    def _make_property(self, name: str) -> dict[str, Any]:
        body = {
            "name": name,
            "title": name + MARK,
            # Without a list of terms, which could not be changed later.
            "settings": {"type": self.kind(name)},
            "visible_for_annotators": False,
        }
        try:
            made = self.client.call(
                "POST", f"api/v1/datasets/{self.dataset}/metadata-properties", body=body, repeatable=False
            )
        except Refused as refused:
            made = self.properties(fresh=True).get(name)
            if made is not None and refused.status >= 500:
                # Without the index it is a property that no filter knows, for good.
                with suppress(Refused, NotThere):
                    self.client.call("DELETE", f"api/v1/metadata-properties/{made['id']}")
            if made is None or refused.status != 409:
                raise
        if not isinstance(made, dict):
            raise UnexpectedAnswer("Argilla made a metadata property but did not say which.")
        self._accept(made)
        return made

    def _accept(self, item: Mapping[str, Any]) -> None:
        """Let an existing property hold our values if it is ours, or just like ours.

        Raises FixConfiguration otherwise.
        """
        wanted = self.kind(str(item.get("name")))
        trouble = unlike_ours(item, wanted)
        if trouble is not None:
            raise FixConfiguration(
                f"The dataset has a metadata property '{item.get('name')}' already, {trouble}; this program needs one"
                f" of type {wanted}, without limits and hidden from annotators.",
                "Nothing was written into it. Set another `push.prefix`, or delete the property in the dataset's"
                " settings.",
            )

    def _held(self, names: Collection[str]) -> set[str]:
        held: set[str] = set()
        if names:
            for rows in self.reader.scan(self.dataset):
                for record in rows.records:
                    held.update(names & _metadata(record).keys())
        return held

    # Values

    def _write(self, changes: Mapping[str, Mapping[str, Any]], bare: Collection[str]) -> Receipt:
        """One bulk write.

        A record that holds the values already is sent too: after a failure the database has them, and the index may
        not.
        """
        now = self.records.now(list(changes))
        missing = [unit for unit in changes if unit not in now]
        held = {unit: record.get("metadata") for unit, record in now.items()}
        todo = {unit: merged(metadata, changes[unit], bare=unit in bare) for unit, metadata in held.items()}
        refusals: list[str] = []
        while todo and len(refusals) < REFUSED:
            items = [{"id": unit, "metadata": metadata} for unit, metadata in todo.items()]
            try:
                records = put_records(self.client, self.dataset, items)
            except Refused as refused:
                unit = refused_unit(refused, list(todo))
                if unit is not None:
                    del todo[unit]
                    if self.records.one(unit) is None:
                        missing.append(unit)
                    else:
                        refusals.append(_why(unit, refused))
                    continue
                # The answer holds the suggestions too. Where it cannot be sent for one of them, all is written.
                records = list(self.records.now(list(todo)).values()) if refused.status == 422 else []
                if not any(todo[record["id"]] == record.get("metadata") for record in records):
                    raise
            stored = {record["id"]: record.get("metadata") for record in records}
            done = [unit for unit, metadata in todo.items() if unit in stored and stored[unit] == metadata]
            lacking = [unit for unit in todo if unit not in set(done)]
            if lacking:
                refusals.append(f"Argilla did not store the metadata of {len(lacking)} records, such as {lacking[0]}")
            new = tuple(unit for unit in done if held[unit] is None and todo[unit])
            return Receipt(tuple(done), tuple(missing), failed=refusals[0] if refusals else None, bare=new)
        return Receipt(missing=tuple(missing), failed=refusals[0] if refusals else None)


class Records:
    """The records of one dataset as they are now, by id.

    Many are read by pages that span them: where each stands in the dataset's order is known from the last reading of
    all, and looked up again where that does not hold any more.
    """

    def __init__(self, client: Client, reader: Reader, dataset: str) -> None:
        self.client = client
        self.reader = reader
        self.dataset = dataset
        self._places: dict[str, int] = {}

    def now(self, units: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Those of `units` that are there, in this order."""
        found: dict[str, dict[str, Any]] = {}
        for fresh in (False, True):  # a second time where deletions have moved the others
            rest = [unit for unit in units if unit not in found]
            if len(rest) <= SINGLY:
                break
            if fresh or not self._places:
                self._places = self.reader.places(self.dataset, fresh=fresh)
            found |= self._by_pages(rest)
        singly = {unit: self.one(unit) for unit in units if unit not in found}
        return {unit: record for unit in units if (record := found.get(unit) or singly.get(unit)) is not None}

    def one(self, unit: str) -> dict[str, Any] | None:
        """One record, None where it is not (or no longer) in the dataset."""
        try:
            record = self.client.get(f"api/v1/records/{unit}")
        except NotThere:
            return None
        except Refused as refused:
            if refused.status != 422:
                raise
            # It comes with its suggestions, and the server cannot send what is in one of them.
            self._places = self._places or self.reader.places(self.dataset)
            return self._by_pages([unit]).get(unit)
        if not isinstance(record, dict) or record.get("id") != unit:
            raise UnexpectedAnswer("Argilla's record has another form than expected.")
        return record if record.get("dataset_id") == self.dataset else None

    def _by_pages(self, units: Iterable[str]) -> dict[str, dict[str, Any]]:
        wanted = set(units)
        found: dict[str, dict[str, Any]] = {}
        for offset, limit in windows(sorted(self._places[unit] for unit in wanted & self._places.keys())):
            for record in self.reader.rows(self.dataset, offset, limit)[0]:
                if record["id"] in wanted and not isinstance(record, Unreadable):
                    found[record["id"]] = record
        return found


def put_records(client: Client, dataset: str, items: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A bulk write: records by id or external id, of which only what is named is replaced. Gives them as they are now.

    A failure is tried once more: raters keep an SQLite database locked, and the index misses a beat.
    """
    path, body = f"api/v1/datasets/{dataset}/records/bulk", {"items": list(items)}
    try:
        answer = client.call("PUT", path, body=body)
    except Refused as refused:
        if refused.status < 500:
            raise
        time.sleep(PAUSE)
        answer = client.call("PUT", path, body=body)
    return items_of(answer, "records written")


def windows(places: Sequence[int]) -> list[tuple[int, int]]:
    """Stretches (first, count) that hold all of these ascending places.

    >>> windows([3, 4, 60, 900])
    [(3, 2), (60, 1), (900, 1)]
    """
    found: list[tuple[int, int]] = []
    for place in places:
        if found and place - sum(found[-1]) < GAP and place - found[-1][0] < WINDOW:
            found[-1] = (found[-1][0], place - found[-1][0] + 1)
        else:
            found.append((place, 1))
    return found


def merged(metadata: Any, fields: Mapping[str, Any], *, bare: bool = False) -> Metadata | None:
    """A record's metadata with these fields, None taken away, and otherwise as they are.

    Null stays null, and comes back where it was before our first field (`bare`) once nothing else is left. Records that
    came through the API without metadata hold null, those of the `argilla` library an empty object.
    """
    new = {key: value for key, value in (metadata or {}).items() if key not in fields}
    new |= {name: value for name, value in fields.items() if value is not None}
    return None if (metadata is None or bare) and not new else new


def typed(value: str | float, kind: str) -> str | float | None:
    """The value as a property of this type takes it, None where it does not: 1 is no float to the server."""
    if kind == "terms":
        return value if isinstance(value, str) and _is_sound(value) else None
    if isinstance(value, str | bool) or not math.isfinite(value):
        return None
    if kind == "float":
        return float(value)
    return int(value) if value == int(value) else None


def _why(unit: str, refused: Refused) -> str:
    """Why a record's metadata were refused, in most cases for something in them that was there before."""
    said = f"Argilla refused the metadata of record {unit}: {refused.detail}"
    if "extra metadata" not in refused.detail:
        return said
    return f"{said.rstrip('.')}. Make that property again, or allow extra metadata in the dataset's settings"


def _is_sound(text: str) -> bool:
    """Whether a record with this text can be read again (half of a surrogate pair spoils it for good), by every
    database, and indexed."""
    try:
        return "\0" not in text and len(text.encode()) <= LARGEST
    except UnicodeEncodeError:
        return False


def unlike_ours(item: Mapping[str, Any], kind: str) -> str | None:
    """What keeps our values out of an existing metadata property, None where nothing does."""
    settings = item.get("settings")
    settings = settings if isinstance(settings, dict) else {}
    limits = [key for key, value in settings.items() if key != "type" and value is not None]
    shown = item.get("visible_for_annotators") is not False and not is_ours(item)
    if settings.get("type") == kind and not limits and not shown:
        return None
    with_limits = f" with {', '.join(limits)}" if limits else ""
    return f"of type {settings.get('type')}{with_limits}{', shown to annotators' if shown else ''}"


def is_ours(item: Mapping[str, Any]) -> bool:
    """Whether we made this metadata property; one whose title a person changed is theirs."""
    return str(item.get("title")).endswith(MARK)


def is_id(unit: str) -> bool:
    """Whether a record can have this id: the server's are UUIDs in lower case."""
    try:
        return str(UUID(unit)) == unit
    except ValueError:
        return False


def refused_unit(refused: Refused, units: Sequence[str]) -> str | None:
    """The one of the units sent that the server names by its position; None where it says something else."""
    said = re.search(r"at position (\d+)|\bitems\.(\d+)\b", refused.detail) if refused.status == 422 else None
    place = int(said[1] or said[2]) if said else len(units)
    return units[place] if place < len(units) else None


def page_of(url: str, dataset: str) -> str:
    """Where people open a dataset. No address opens one record of it."""
    return f"{url}dataset/{dataset}/annotation-mode"


def conflicts_link(url: str, dataset: str, prefix: str) -> str:
    """Where the page lists the conflicts, lowest agreement first: those that are not completed, since it shows a
    completed record to nobody but those who answered it."""
    return (
        f"{page_of(url, dataset)}?page=1&status=pending&metadata={prefix}status.conflict"
        f"&sort=metadata.{prefix}agreement.asc"
    )


def _metadata(record: Mapping[str, Any]) -> Metadata:
    metadata = record.get("metadata")
    return metadata if isinstance(metadata, dict) else {}
