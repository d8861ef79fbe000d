"""Argilla's records in files: JSON arrays and lines, pages of its API, parquet, and tables made of flat records."""

from __future__ import annotations

import ast
import json
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from connector.annotations.model import Annotation, Unit
from connector.errors import DataNotTrusted, FixConfiguration, SkippedTask
from connector.tools.argilla.forms import Record, Response, read_record
from connector.tools.argilla.inferred import InferredSchema, find_span_fields
from connector.tools.argilla.shape import result_of
from connector.tools.csv_files import read_records
from connector.tools.json_files import read_array, read_lines
from connector.tools.parquet_files import read_batches

PAGE = re.compile(rb'\s*\{\s*"items"\s*:\s*\[')
"""How a page of the API begins."""
_SPANS = (b'"start"', b"'start'")
_BLOCK = 1 << 20


class ArgillaExport:
    """The records of Argilla's files as units.

    assume_submitted : a response without a status was submitted; else the form that leaves statuses out is refused.
    schema : complete after the last unit, as are `notes` and `incomplete`.
    """

    def __init__(self, paths: Sequence[Path], *, assume_submitted: bool = False) -> None:
        self._paths = paths
        self._assume = assume_submitted
        self._reading = _Reading(paths, assume_submitted=assume_submitted)
        self.schema = InferredSchema()

    def units(self) -> Iterator[Unit | SkippedTask]:
        """The units in the files' order; a malformed record comes as the SkippedTask that says what is wrong.

        Where there are spans the files are read twice: an answer without any mark says "nothing here", and only who
        knows the questions can tell it from no answer.

        Raises FixConfiguration for responses without a status; DataNotTrusted for a file that is truncated or not what
        it seems, and for records that came without their responses.
        """
        if any(_mentions_spans(path) for path in self._paths):
            first = _Reading(self._paths, assume_submitted=self._assume)
            self.schema.span_fields = find_span_fields(record for _, _, record in first.records())
        yield from self._reading.units()

    def notes(self) -> list[str]:
        """What a reader of the report should know about the files; the schema has notes of its own."""
        return list(self._reading.notes())

    def incomplete(self) -> str | None:
        """Why the files are not all of the dataset, where that shows."""
        return self._reading.incomplete()


class _Reading:
    """One pass over the files, and what was noticed on the way."""

    def __init__(self, paths: Sequence[Path], *, assume_submitted: bool) -> None:
        self._paths = paths
        self._assume = assume_submitted
        self._content: dict[str, int] = {}
        self._clashes: dict[str, int] = {}
        self._total = 0
        self._seen: set[str] = set()
        self._without_id = 0
        self._without_status = 0
        self._repeats = 0
        self._suggested = 0
        self._as_suggested = 0

    def units(self) -> Iterator[Unit | SkippedTask]:
        for path, place, record in self.records():
            yield record if isinstance(record, SkippedTask) else self._unit(record, path, place)

    def records(self) -> Iterator[tuple[Path, str, Record | SkippedTask]]:
        """The records, each with its file and its place there."""
        for path in self._paths:
            for place, row in self._rows(path):
                try:
                    record = read_record(row, place)
                except SkippedTask as malformed:
                    yield path, place, malformed
                else:
                    yield path, place, record

    def notes(self) -> Iterator[str]:
        if self._without_status:
            yield (
                f"{self._without_status:,} responses carry no status and were assumed to be submitted, as asked:"
                " drafts and discarded ones are among the ratings."
            )
        if self._clashes:
            some = ", ".join(f"'{one}'" for one in list(self._clashes)[:3])
            yield (
                f"{sum(self._clashes.values()):,} records have the id of a record with other content ({some}); they"
                " count as units of their own. In flat exports a metadata key `id` takes the place of the record's id."
            )
        if self._without_id:
            yield f"{self._without_id:,} records carry no id; they go by their place in the file."
        if self._repeats:
            yield (
                f"{self._repeats:,} times a rater answered a record again and no time says when: the last of the"
                " record's list counts, since answers are added at its end."
            )
        if self._suggested:
            yield (
                f"{self._as_suggested:,} of {self._suggested:,} answers equal the suggestion that stood beside them;"
                " suggestions are no ratings."
            )

    def incomplete(self) -> str | None:
        if self._total <= len(self._seen):
            return None
        return f"The API counted {self._total:,} records and {len(self._seen):,} are here: pages are missing."

    def _rows(self, path: Path) -> Iterator[tuple[str, Any]]:
        """The records of one file and where they stand."""
        with path.open("rb") as file:
            head = file.read(1 << 10).removeprefix(b"\xef\xbb\xbf")
        if head.startswith(b"PAR1"):
            yield from _parquet_rows(path)
        elif PAGE.match(head):
            yield from self._page(path)
        elif head.lstrip().startswith(b"["):
            yield from ((f"at record {number}", row) for number, row in enumerate(read_array(path), 1))
        elif head.lstrip().startswith(b"{"):
            yield from ((f"at line {number}", row) for number, row in read_lines(path))
        else:
            yield from _csv_rows(path)

    def _page(self, path: Path) -> Iterator[tuple[str, Any]]:
        try:
            page = json.loads(path.read_bytes().decode("utf-8-sig"))
        except (ValueError, RecursionError) as fault:
            raise DataNotTrusted(f"{path} is not valid JSON.", "It may be truncated: fetch it again.") from fault
        items = page["items"]
        if type(page.get("total")) is int:
            self._total = max(self._total, page["total"])
            self._seen.update(str(one.get("id")) for one in items if isinstance(one, dict))
        return ((f"at record {number}", row) for number, row in enumerate(items, 1))

    def _unit(self, record: Record, path: Path, place: str) -> Unit:
        unit = record.id
        if unit is None:
            self._without_id += 1
            number = place.rpartition(" ")[2]
            unit = number if len(self._paths) == 1 else f"{path.name}:{number}"
        elif not record.by_server:
            unit = self._told_apart(unit, record)
        return Unit(
            unit,
            self._annotations(record, unit, path),
            record.data,
            record.created_at,
            record.updated_at,
        )

    def _told_apart(self, unit: str, record: Record) -> str:
        """The id of a record that the server has not named, made another's where another record has it already.

        The same record again has the same fields.
        """
        fields = record.data if record.fields is None else record.fields
        content = zlib.crc32(repr(sorted(fields.items())).encode("utf-8", "surrogatepass"))
        if self._content.setdefault(unit, content) == content:
            return unit
        own = f"{unit}~{content:08x}"
        if own not in self._content:
            self._content[own] = content
            self._clashes[unit] = self._clashes.get(unit, 0) + 1
        return own

    def _annotations(self, record: Record, unit: str, path: Path) -> list[Annotation]:
        times: dict[str, int] = {}
        found = []
        for place, response in enumerate(record.responses):
            one = response if response.status else self._assumed(response, unit, path)
            if one.status == "submitted":
                if record.suggestions:
                    self._compare(one, record.suggestions)
                if one.rater is not None and not one.updated_at and not one.created_at:
                    times[one.rater] = times.get(one.rater, 0) + 1
            found.append(
                Annotation(
                    one.id or _made_up_id(one, place),
                    one.rater,
                    result_of(one),
                    one.status or "submitted",
                    one.created_at,
                    one.updated_at,
                )
            )
        self._repeats += sum(time - 1 for time in times.values())
        return found

    def _assumed(self, response: Response, unit: str, path: Path) -> Response:
        if not self._assume:
            raise _no_status(unit, path)
        self._without_status += 1
        return response._replace(status="submitted")

    def _compare(self, response: Response, suggestions: Mapping[str, Any]) -> None:
        for question, raw in response.answers:
            suggested = suggestions.get(question)
            if type(suggested) is type(raw):
                self._suggested += 1
                self._as_suggested += suggested == raw


def _parquet_rows(path: Path) -> Iterator[tuple[str, Any]]:
    number = 0
    for batch in read_batches(path, size=1000):
        for row in batch.to_pylist():
            number += 1
            yield f"at row {number}", row


_TEXT = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
_NO_COMMA = re.compile(r"[\w\]]\s+[\w\[]|\barray\b|\.\.\.")


def _csv_rows(path: Path) -> Iterator[tuple[str, Any]]:
    """Flat records whose lists were written into cells as JSON or as Python does."""
    for number, row in read_records(path, ["id"]):
        place = f"at line {number}"
        yield place, {column: _cell(column, text, path, place) for column, text in row.items()}


def _cell(column: str, text: str, path: Path, place: str) -> Any:
    """A cell's content. A list that was an array of NumPy's has no commas: its texts would run together unseen."""
    if not text or not column.endswith((".responses", ".responses.users", ".responses.status")):
        return text or None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    if not _NO_COMMA.search(_TEXT.sub("0", text)):
        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            pass
    raise FixConfiguration(
        f"{path} holds a list that cannot be read back, {place} in '{column}': a table's cell is no list.",
        "Export the records as JSON: to_list(flatten=True), or to_json of the data set.",
    )


def _mentions_spans(path: Path) -> bool:
    with path.open("rb") as file:
        if file.read(4) == b"PAR1":
            return True  # its schema would say, and is read in the same way
        before = b""
        while block := file.read(_BLOCK):
            if any(key in before + block for key in _SPANS):
                return True
            before = block[-16:]
    return False


def _made_up_id(one: Response, place: int) -> str:
    """A response without an id goes by its rater, its place among the record's and its content: a copy of the record
    brings the same one, and of a rater's two the last is the larger."""
    content = zlib.crc32(repr((one.status, one.answers)).encode("utf-8", "surrogatepass"))
    return f"{one.rater}:{place:04}:{content:08x}"


def _no_status(unit: str, path: Path) -> FixConfiguration:
    return FixConfiguration(
        f"{path} has responses without a status (record {unit}): drafts and discarded answers cannot be told from"
        " submitted ones. The SDK's to_list() and to_json() leave statuses out.",
        "Export with to_list(flatten=True), or give --assume-submitted where every answer in the file was submitted.",
    )
