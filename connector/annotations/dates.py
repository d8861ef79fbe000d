"""Dates and times."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

from connector.annotations.choices import EMPTY, UNREADABLE
from connector.annotations.model import Missing

_SHORT_FORMS = (("%Y", re.compile(r"\d{4}")), ("%Y-%m", re.compile(r"\d{4}-\d{2}")))
_TIME_OF_DAY = re.compile(r"\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?")


def moment(text: Any) -> datetime | None:
    """A point in time from ISO 8601 text; without an offset it is UTC. None where the text is none."""
    if not isinstance(text, str):
        return None
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def date(raw: Any, written_as: str | None = None) -> float | Missing:
    """Seconds since 1970 UTC of a date, a date with time, a year, a year and month, or a time of day (of 1970-01-01).

    `written_as` is the strftime form that the question declares; the ISO forms are tried after it.
    """
    if isinstance(raw, float | int | str) and number_is_date(raw):
        raw = str(raw)
    if raw is None or (isinstance(raw, str) and not raw.strip()):
        return EMPTY
    if not isinstance(raw, str):
        return UNREADABLE
    found = _declared(raw.strip(), written_as) or _short(raw.strip()) or moment(raw)
    if found is None:
        return UNREADABLE
    return (found - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()


def number_is_date(raw: float | str) -> bool:
    """A year stored as a number."""
    return isinstance(raw, int) and not isinstance(raw, bool) and 1000 <= raw <= 9999


def _declared(text: str, written_as: str | None) -> datetime | None:
    if not written_as:
        return None
    try:
        found = datetime.strptime(text, written_as)  # noqa: DTZ007 - the zone is added below
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _short(text: str) -> datetime | None:
    for form, pattern in _SHORT_FORMS:
        if pattern.fullmatch(text):
            return _declared(text, form)
    if _TIME_OF_DAY.fullmatch(text):
        return moment(
            f"1970-01-01T{text:0>8}" if text.count(":") == 2 and "." not in text else f"1970-01-01T{text.zfill(5)}"
        )
    return None
