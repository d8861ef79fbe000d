"""A normalised answer as text for people: the same on every surface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from connector.agreement.report import category_key
from connector.annotations.kinds import KINDS

LONG_ID = 20
NOTHING = "(none)"
"""An answer that is an empty set."""


def text_of(value: Any, kind: str = "") -> str:
    """The answer as text.

    Numbers stand without ".0", dates in ISO 8601 (the time only where there is one), the members of a set are joined
    by ", " and the labels of a path by "/"; other kinds know their own form (`Kind.text`).

    >>> text_of(4.0), text_of(("a", "b")), text_of((("x", "y"),)), text_of(0.0, "date")
    ('4', 'a, b', 'x/y', '1970-01-01')
    """
    if kind == "date" and isinstance(value, float):
        return _date(value)
    if kind in KINDS and (own := KINDS[kind].text) is not None:
        return own(value)
    if isinstance(value, tuple):
        return ", ".join(category_key(member) for member in value) or NOTHING
    return category_key(value)


def mended_text(mended: Mapping[str, int], kind: str) -> str:
    """What was mended or left out while answers of a kind were read, with counts.

    >>> mended_text({"repeated": 2}, "spans")
    'spans made twice by one rater, counted once: 2'
    """
    words = KINDS[kind].notes if kind in KINDS else {}
    return "; ".join(f"{words.get(code, code)}: {n:,}" for code, n in mended.items())


def counted(n: int, one: str, many: str | None = None) -> str:
    """A count with its noun.

    >>> counted(1, "task"), counted(1200, "task was", "tasks were")
    ('1 task', '1,200 tasks were')
    """
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def few(ids: Sequence[str], most: int = 5) -> str:
    """The first ids of a list, for a sentence: of long ones fewer.

    >>> few(["1", "2", "3"], most=2), few(["1"])
    ('1, 2, ...', '1')
    """
    if any(len(one) > LONG_ID for one in ids[:most]):
        most = 1
    return ", ".join(ids[:most]) + (", ..." if len(ids) > most else "")


def _date(seconds: float) -> str:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    if moment.time() == datetime.min.time():
        return moment.date().isoformat()
    return moment.isoformat(timespec="auto").replace("+00:00", "Z")
