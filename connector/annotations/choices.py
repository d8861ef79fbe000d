"""Choices: one label, or a set of labels."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from connector.annotations.model import Missing, Value

EMPTY = Missing("empty")
UNREADABLE = Missing("unreadable")


def label(raw: Any) -> str | Missing:
    """One label as text. None, NaN and blank text are no label; a label stored as a number is its text."""
    if isinstance(raw, str):
        return clean(raw) if raw.strip() else EMPTY
    if raw is None or (isinstance(raw, float) and math.isnan(raw)):
        return EMPTY
    if isinstance(raw, bool):
        return "true" if raw else "false"
    return number_text(raw) if isinstance(raw, int | float) else UNREADABLE


def clean(text: str) -> str:
    """Text that can be written as UTF-8: a lone surrogate, legal in a JSON escape, is spelt out."""
    if text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def number_text(number: float) -> str:
    """A number's shortest text: 4 and 4.0 are both "4"."""
    return str(int(number)) if abs(number) < 1e15 and number == int(number) else str(number)


def label_set(raw: Iterable[Any]) -> tuple[str, ...] | Missing:
    """A set of labels: distinct and sorted. Empty where nothing in it is a label."""
    found: set[str] = set()
    for item in raw:
        one = label(item)
        if isinstance(one, str):
            found.add(one)
        elif one.reason == "unreadable":
            return one
    return tuple(sorted(found)) if found else EMPTY


def as_choice(value: Value) -> Value | Missing:
    """One label, from a label or a set of exactly one."""
    if isinstance(value, tuple):
        return value[0] if len(value) == 1 and isinstance(value[0], str) else UNREADABLE
    return label(value)


def as_set(value: Value) -> Value | Missing:
    """A set of labels, from a set or one label."""
    if isinstance(value, tuple):
        return value if all(isinstance(item, str) for item in value) else UNREADABLE
    one = label(value)
    return (one,) if isinstance(one, str) else one
