"""A record of Argilla -> Unit. Pages of the API and files have the same content in different forms (`forms.py`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from connector.annotations.model import Annotation, Unit
from connector.errors import SkippedTask
from connector.tools.argilla.forms import Record, Response, read_record


def unit_of(row: Any) -> Unit:
    """The unit of one record as the API gives it with `include=responses`.

    Its id is the server's; `data` holds metadata, fields and the `external_id`, and where the metadata are null it is
    `bare`. A discarded response is cancelled. Of it and of a draft nothing but the fact is kept: they hold what the
    page filled in. Suggestions are left out.

    Raises SkippedTask for a malformed record, and DataNotTrusted for one that came without its responses.
    """
    record = read_record(row, "without id")
    if record.id is None:
        raise SkippedTask("without id", "the record has no id")
    metadata = row.get("metadata")
    return Unit(
        record.id,
        list(_annotations(record)),
        record.data,
        record.created_at,
        state_of(record),
        metadata=metadata if isinstance(metadata, dict) else {},
        bare=metadata is None,
    )


def state_of(record: Record) -> str | None:
    """A text that differs whenever the record or one of its responses does.

    The record's own time does not move when a response comes, changes or goes. Its newest time of all and the number of
    responses do.
    """
    times = [record.updated_at, *(one.updated_at for one in record.responses)]
    newest = max((time for time in times if time is not None), default=None)
    return None if newest is None else f"{newest} {len(record.responses)}"


def result_of(response: Response) -> list[dict[str, Any]]:
    """What an annotation's `result` holds: one object for each question answered, `{"question", "value"}`."""
    if response.status != "submitted":
        return []
    return [{"question": question, "value": value} for question, value in response.answers]


def _annotations(record: Record) -> Iterator[Annotation]:
    for place, one in enumerate(record.responses):
        yield Annotation(
            one.id or f"{record.id}/{place}",
            one.rater,
            result_of(one),
            one.status or "submitted",
            one.created_at,
            one.updated_at,
        )
