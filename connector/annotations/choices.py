"""Choices: one label, or a set of labels."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

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


class Placed(NamedTuple):
    """A label with its place, from 1, among the choices that its task brings along; 0 where it is none of them."""

    label: str
    place: int


def as_choice(value: Value) -> Value | Missing:
    """One label, from a label or a set of exactly one."""
    if isinstance(value, tuple):
        labels = _labels(value)
        return labels[0] if len(labels) == 1 and isinstance(labels[0], str) else UNREADABLE
    return label(value)


def as_set(value: Value) -> Value | Missing:
    """A set of labels, from a set or one label."""
    if isinstance(value, tuple):
        labels = _labels(value)
        return labels if all(isinstance(item, str) for item in labels) else UNREADABLE
    one = label(value)
    return (one,) if isinstance(one, str) else one


def _labels(value: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(one.label if type(one) is Placed else one for one in value)


def as_place(value: Value) -> Value | Missing:
    """The place of the one label that was chosen."""
    found = as_places(value)
    return found[0] if isinstance(found, tuple) and len(found) == 1 else UNREADABLE


def as_places(value: Value) -> Value | Missing:
    """The set of places of the labels that were chosen."""
    places = [one.place for one in value if type(one) is Placed] if isinstance(value, tuple) else []
    if not places or len(places) < len(value if isinstance(value, tuple) else ()) or 0 in places:
        return UNREADABLE
    return tuple(str(place) for place in sorted(set(places)))


def renamed(value: Any, relabel: Mapping[str, str]) -> Value:
    """A label, a set of labels or a set of paths with every label that has a new name under it."""
    found = _renamed(value, relabel)
    return tuple(sorted(set(found))) if isinstance(found, tuple) else found


def _renamed(value: Any, relabel: Mapping[str, str]) -> Any:
    if isinstance(value, tuple):
        return tuple(_renamed(item, relabel) for item in value)
    return relabel.get(value, value) if isinstance(value, str) else value
