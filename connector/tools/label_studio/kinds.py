"""Label Studio's result types -> answers.

A result that belongs to a region or to one item of a list (it carries coordinates, an item index, or its region's id)
says nothing about the task and is kept apart from those that do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from connector.annotations.choices import EMPTY, UNREADABLE, label_set
from connector.annotations.dates import date
from connector.annotations.kinds import KINDS, NOT_MEASURED_YET
from connector.annotations.model import Missing, Unit, Value
from connector.annotations.paths import path_set
from connector.annotations.rankings import in_buckets, ranking
from connector.annotations.scalars import number
from connector.annotations.text import texts
from connector.tools.label_studio.regions import REGION_TYPES, RegionReader, is_region
from connector.tools.label_studio.spans import SPAN_TYPES, Source, SpanReader, is_span

VALUE_KEYS = {
    "choices": "choices",
    "taxonomy": "taxonomy",
    "rating": "rating",
    "number": "number",
    "pairwise": "selected",
    "datetime": "datetime",
}
"""Result types of one answer to the task, and the key under which `value` holds it."""

SCALARS = {"rating": "rating", "number": "number", "datetime": "date"}
"""Result types with one value -> kind."""


class Reader(NamedTuple):
    """How the results of one type are read, all those of one control in one annotation together.

    kind : of annotation. read : (the results as they are stored, the task) -> the answer.
    region : each result is a region of its own; others say something of the task, unless they belong to a region.
    always : an annotation without a result says something too: that there is nothing; `read` is called with none.
    takes : which results of a type that several kinds share it reads; None: all. mended : by code, what was mended or
        left out while it read, where it counts that.
    """

    kind: str
    read: Callable[[Sequence[Mapping[str, Any]], Unit], Value | Missing]
    region: bool = True
    always: bool = False
    takes: Callable[[Mapping[str, Any]], bool] | None = None
    mended: Counter[str] | None = None


def span_reader(name: str, source: Source | None = None, spellings: Mapping[str, str] | None = None) -> Reader:
    """The reader of one control that marks stretches; each control has its own, which remembers the task at hand."""
    own = SpanReader(name, source, spellings)
    return Reader("spans", own.read, always=True, takes=is_span, mended=own.notes)


def region_reader(name: str, spellings: Mapping[str, str] | None = None) -> Reader:
    """The reader of one control that draws regions; each control has its own, which remembers the task at hand."""
    own = RegionReader(name, spellings)
    return Reader("regions", own.read, always=True, takes=is_region, mended=own.notes)


READERS: dict[str, Reader] = {
    "textarea": Reader("text", lambda results, _: read_texts(results), region=False),
    "ranker": Reader("ranking", lambda results, _: read_ranker(results), region=False),
    **{kind: span_reader("") for kind in SPAN_TYPES},
    **{kind: region_reader("") for kind in REGION_TYPES},
    # of a text, a time line or an image
    "labels": span_reader("")._replace(takes=lambda one: is_span(one) or is_region(one)),
    # what other packages measure
    **{
        name: Reader(kind, one.read, always=one.empty == "none")
        for kind, one in KINDS.items()
        if one.read is not None
        for name in one.types.get("label_studio", ())
    },
}
"""Result types -> how they are read, of those that `VALUE_KEYS` does not know."""


def reader_of(kind: str, name: str, results: Sequence[Mapping[str, Any]]) -> Reader:
    """The reader of one control of a type in `READERS`, as far as a source without a label config tells.

    results : the first of the control that came.
    """
    if kind in REGION_TYPES or (kind in SPAN_TYPES and is_region(results[0])):
        return region_reader(name)
    return span_reader(name) if kind in SPAN_TYPES else READERS[kind]


_TASK_LEVEL = frozenset({*VALUE_KEYS, "textarea", "ranker", "relation", "chatmessage", "reactcode"})
"""Result types that are never regions by themselves."""

_COORDINATES = frozenset(
    {
        *("start", "end", "startOffset", "endOffset", "globalOffsets"),
        *("x", "y", "width", "height", "radiusX", "radiusY", "rotation", "points", "vertices", "closed"),
        *("format", "rle", "imageDataURL", "sequence", "ranges", "channel", "instant"),
    }
)


_WHY_NOT = {
    **dict.fromkeys(("chat", "chatmessage"), "each rater's conversation goes its own way: they have no unit in common"),
    "reactcode": "its results have whatever form the project's own program gives them",
}


def not_measured(kind: str) -> str:
    """Why results of a type without a reader are not compared."""
    return _WHY_NOT.get(kind, NOT_MEASURED_YET)


class Results(NamedTuple):
    """An annotation's results, sorted.

    answers : control -> (result type, what its task-level results hold).
    whole : control -> (result type, its results as they are), of the types in `READERS`.
    others : control -> result type, of results whose type is not measured.
    per_region : control -> (result type, its results as they are), of measured types about one region or item.
    relations : between regions; they name no control.
    """

    answers: dict[str, tuple[str, list[Any]]]
    whole: dict[str, tuple[str, list[Any]]]
    others: dict[str, str]
    per_region: dict[str, tuple[str, list[Any]]]
    relations: list[Any]


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
    whole: dict[str, tuple[str, list[Any]]] = {}
    others: dict[str, str] = {}
    per_region: dict[str, tuple[str, list[Any]]] = {}
    relations: list[Any] = []
    region_ids: frozenset[str | int | None] | None = None
    for one in result:
        kind = one.get("type")
        name = one.get("from_name")
        key = VALUE_KEYS.get(kind) if type(kind) is str else None
        reader = READERS.get(kind) if key is None and type(kind) is str and type(name) is str else None
        if region_ids is None and (reader is None or not reader.region):
            region_ids = _region_ids(result) if len(result) > 1 else frozenset()
        if reader is not None:
            if not reader.region and _of_a_region(one, region_ids or frozenset()):
                _keep(per_region, name, kind, one)
            elif reader.takes is not None and not reader.takes(one):
                others[name] = kind
            elif whole.setdefault(name, (kind, []))[0] == kind:
                whole[name][1].append(one)
            else:
                others[name] = kind
            continue
        if kind == "relation":
            relations.append(one)
            continue
        if key is None or type(name) is not str:
            others[_text(name) or _text(kind) or "without a name"] = _text(kind) or "unknown"
            continue
        value = one.get("value", _NOTHING_TO_READ)
        if type(value) is not dict:
            raw = None if value is None else _NOTHING_TO_READ
        elif "item_index" in one or _has_coordinates(value) or (region_ids and id_of(one) in region_ids):
            _keep(per_region, name, kind, one)
            continue
        else:
            raw = value.get(key, _NOTHING_TO_READ)
        known = answers.get(name)
        if known is None:
            answers[name] = (kind, [raw])
        else:
            known[1].append(raw if known[0] == kind else _NOTHING_TO_READ)
    return Results(answers, whole, others, per_region, relations)


def _keep(per_region: dict[str, tuple[str, list[Any]]], name: str, kind: str, one: Any) -> None:
    known = per_region.setdefault(name, (kind, []))
    # of another type than the control's first: nothing that its reader could read
    known[1].append(one if known[0] == kind else {**one, "value": {}})


def _of_a_region(one: Mapping[str, Any], region_ids: frozenset[str | int | None]) -> bool:
    value = one.get("value")
    return "item_index" in one or (isinstance(value, dict) and _has_coordinates(value)) or id_of(one) in region_ids


_NOTHING_TO_READ = object()
"""Stands for a result without the answer that its type should hold, or of another type than the control's first."""


def raws_of(kind: str, results: Sequence[Mapping[str, Any]]) -> list[Any]:
    """What the results of one control hold, as the readers of their type take it."""
    key = VALUE_KEYS.get(kind)
    if key is None:
        return list(results)
    values = [one.get("value") for one in results]
    return [value.get(key, _NOTHING_TO_READ) if isinstance(value, dict) else None for value in values]


def read_labels(raws: Sequence[Any], *, paths: bool = False) -> Value | Missing:
    """The labels of a control's results: one label, a set of several, or a set of paths where any of them is a path.

    paths : of a taxonomy a list of nothing but labels is one path, as it once was stored.
    """
    items: list[Any] = []
    for raw in raws:
        if paths and isinstance(raw, list) and raw and all(isinstance(step, str) for step in raw):
            items.append(raw)
        elif isinstance(raw, list):
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


def read_texts(results: Sequence[Mapping[str, Any]]) -> Value | Missing:
    """The texts of a control: one, or several in their order."""
    given: list[Any] = []
    for one in results:
        value = one.get("value")
        raw = value.get("text") if isinstance(value, dict) else _NOTHING_TO_READ
        given += raw if isinstance(raw, list) else [raw]
    return texts(given)


def read_ranker(results: Sequence[Mapping[str, Any]], buckets: Sequence[str] | None = None) -> Value | Missing:
    """An order of items (their ids), or buckets of them.

    buckets : their names in the order of the label config; None: not known, they come as they are stored. Items that
        were left in the list, "_", come last.
    """
    if len(results) != 1:
        return UNREADABLE
    value = results[0].get("value")
    given = value.get("ranker") if isinstance(value, dict) else None
    if isinstance(given, dict) and list(given) == [results[0].get("from_name")] and not buckets:
        given = next(iter(given.values()))
    if isinstance(given, list):
        return ranking((item, place) for place, item in enumerate(given))
    if not isinstance(given, dict) or not all(isinstance(items, list) for items in given.values()):
        return UNREADABLE
    known = [*(buckets or ()), *(name for name in given if name not in (buckets or ()) and name != "_"), "_"]
    return in_buckets(given.get(name, ()) for name in known)


def _region_ids(result: Sequence[Any]) -> frozenset[str | int | None]:
    found: set[str | int | None] = set()
    for one in result:
        value = one.get("value")
        carries = isinstance(value, dict) and _has_coordinates(value)
        if carries or _text(one.get("type")) not in _TASK_LEVEL:
            found.add(id_of(one))
    return frozenset(found - {None})


def id_of(one: Mapping[Any, Any]) -> str | int | None:
    """A result's id; that of a region is also on the results about it."""
    ident = one.get("id")
    return ident if isinstance(ident, str | int) else None


def _has_coordinates(value: Mapping[Any, Any]) -> bool:
    return len(value) > 1 and not _COORDINATES.isdisjoint(value)


def _text(raw: Any) -> str | None:
    return raw if isinstance(raw, str) and raw else None
