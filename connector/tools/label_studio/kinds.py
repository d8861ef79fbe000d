"""Label Studio's result types -> answers about a whole task.

A result of a task-level control is read here. One that belongs to a region or to one item of a list (it carries
coordinates, an item index, or its region's id) says nothing about the task and is kept apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from connector.annotations.choices import EMPTY, UNREADABLE, label_set
from connector.annotations.dates import date
from connector.annotations.model import Missing, Value
from connector.annotations.paths import path_set
from connector.annotations.scalars import number

VALUE_KEYS = {
    "choices": "choices",
    "taxonomy": "taxonomy",
    "rating": "rating",
    "number": "number",
    "pairwise": "selected",
    "datetime": "datetime",
}
"""The result types that are measured, and the key under which `value` holds the answer."""

SCALARS = {"rating": "rating", "number": "number", "datetime": "date"}
"""Result types with one value -> kind."""

_TASK_LEVEL = frozenset({*VALUE_KEYS, "textarea", "ranker", "relation", "chatmessage", "reactcode"})
"""Result types that are never regions by themselves."""

_COORDINATES = frozenset(
    {
        *("start", "end", "startOffset", "endOffset", "globalOffsets"),
        *("x", "y", "width", "height", "radiusX", "radiusY", "rotation", "points", "vertices", "closed"),
        *("format", "rle", "imageDataURL", "sequence", "ranges", "channel", "instant"),
    }
)


class Results(NamedTuple):
    """An annotation's results, sorted.

    answers : control -> (result type, what its task-level results hold).
    others : control -> result type, of results whose type is not measured.
    per_region : control -> result type, of results of measured types about one region or item.
    """

    answers: dict[str, tuple[str, list[Any]]]
    others: dict[str, str]
    per_region: dict[str, str]


def only_choice(result: Sequence[Any]) -> tuple[str, str] | None:
    """(control, label) of an annotation that is one label and nothing else, by far the commonest; else None."""
    if len(result) != 1:
        return None
    one = result[0]
    value = one.get("value")
    if one.get("type") != "choices" or type(value) is not dict or len(value) != 1 or "item_index" in one:
        return None
    labels = value.get("choices")
    name = one.get("from_name")
    if type(labels) is list and len(labels) == 1 and type(labels[0]) is str and type(name) is str:
        return name, labels[0]
    return None


def sort_results(result: Sequence[Any]) -> Results:
    """Which results of an annotation are answers about the task."""
    answers: dict[str, tuple[str, list[Any]]] = {}
    others: dict[str, str] = {}
    per_region: dict[str, str] = {}
    region_ids = _region_ids(result) if len(result) > 1 else frozenset()
    for one in result:
        kind = one.get("type")
        name = one.get("from_name")
        key = VALUE_KEYS.get(kind) if type(kind) is str else None
        if key is None or type(name) is not str:
            others[_text(name) or _text(kind) or "without a name"] = _text(kind) or "unknown"
            continue
        value = one.get("value", _NOTHING_TO_READ)
        if type(value) is not dict:
            raw = None if value is None else _NOTHING_TO_READ
        elif "item_index" in one or _has_coordinates(value) or (region_ids and _id(one) in region_ids):
            per_region[name] = kind
            continue
        else:
            raw = value.get(key, _NOTHING_TO_READ)
        known = answers.get(name)
        if known is None:
            answers[name] = (kind, [raw])
        else:
            known[1].append(raw if known[0] == kind else _NOTHING_TO_READ)
    return Results(answers, others, per_region)


_NOTHING_TO_READ = object()
"""Stands for a result without the answer that its type should hold, or of another type than the control's first."""


def read_labels(raws: Sequence[Any]) -> Value | Missing:
    """The labels of a control's results: one label, a set of several, or a set of paths where any of them is a path."""
    items: list[Any] = []
    for raw in raws:
        if isinstance(raw, list):
            items += raw
        else:
            items.append(raw)
    if any(isinstance(item, list) for item in items):
        return path_set(items)
    found = label_set(items)
    return found[0] if type(found) is tuple and len(found) == 1 else found


def read_scalar(kind: str, raws: Sequence[Any], written_as: str | None = None) -> Value | Missing:
    """The one number of a control's results; several that differ are unreadable."""
    found: set[float] = set()
    for raw in raws:
        value = date(raw, written_as) if kind == "datetime" else number(raw)
        if isinstance(value, float):
            found.add(value)
        elif value.reason == "unreadable":
            return UNREADABLE
    if len(found) > 1:
        return UNREADABLE
    return found.pop() if found else EMPTY


def _region_ids(result: Sequence[Any]) -> frozenset[str | int | None]:
    found: set[str | int | None] = set()
    for one in result:
        value = one.get("value")
        carries = isinstance(value, dict) and _has_coordinates(value)
        if carries or _text(one.get("type")) not in _TASK_LEVEL:
            found.add(_id(one))
    return frozenset(found - {None})


def _id(one: Mapping[Any, Any]) -> str | int | None:
    ident = one.get("id")
    return ident if isinstance(ident, str | int) else None


def _has_coordinates(value: Mapping[Any, Any]) -> bool:
    return len(value) > 1 and not _COORDINATES.isdisjoint(value)


def _text(raw: Any) -> str | None:
    return raw if isinstance(raw, str) and raw else None
