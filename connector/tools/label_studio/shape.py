"""A Label Studio task as JSON -> Unit. Pages of the API and export files have the same shape."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from connector.annotations.choices import clean
from connector.annotations.model import Annotation, Unit
from connector.errors import DataNotTrusted, SkippedTask

_NOTHING: Mapping[str, Any] = {}
_new = tuple.__new__
"""Makes a named tuple of a plain one, in half the time of its own constructor."""


def unit_of(task: Any) -> Unit:
    """The unit of one task, as the API (`fields=all`) or an export gives it; `completions` of exports before 1.0 are
    annotations.

    Raises SkippedTask for a malformed task, and DataNotTrusted for a task that came without its annotations: that is a
    fault of the read, not a task that nobody has rated.
    """
    if not isinstance(task, dict):
        raise SkippedTask("of unknown id", f"not an object but {_type_name(task)}")
    unit = identifier(task.get("id"))
    if unit is None:
        raise SkippedTask("without id", "the task has no id")
    annotations = task.get("annotations")
    if annotations is None:
        annotations = _completions(task, unit)
    if type(annotations) is not list:
        raise SkippedTask(unit, f"annotations is not a list but {_type_name(annotations)}")
    found = [_annotation(one, unit) for one in annotations]
    if drafts := task.get("drafts"):
        found += _drafts(drafts, unit)
    predictions = task.get("predictions")
    data = task.get("data")
    return Unit(
        unit,
        found,
        data if type(data) is dict else _NOTHING,
        timestamp(task.get("created_at")),
        timestamp(task.get("updated_at")),
        count(task.get("total_annotations")),
        count(task.get("cancelled_annotations")),
        _predictions(predictions) if predictions else _NOTHING,
    )


def identifier(raw: Any) -> str | None:
    """An id as text: 8, "8", 8.0 and {"id": 8} are one person or thing. None where there is none."""
    if type(raw) is int:
        return str(raw)
    if isinstance(raw, str):
        return clean(raw) if raw.strip() else None
    if isinstance(raw, float) and raw.is_integer():
        return str(int(raw))
    return None


def rater_of(raw: Any, unit: str) -> str | None:
    """The rater of `completed_by`: a number, its text, or a user object, where the e-mail serves only without an id."""
    if type(raw) is int:
        return str(raw)
    if raw is None:
        return None
    if isinstance(raw, dict):
        return identifier(raw.get("id")) or identifier(raw.get("email"))
    if isinstance(raw, str | float) and not isinstance(raw, bool):
        return identifier(raw)
    raise SkippedTask(unit, f"completed_by is {_type_name(raw)}")


def timestamp(raw: Any) -> str | None:
    """The tool's own ISO text; seconds since 1970, as exports before 1.0 have them, are written as such."""
    if isinstance(raw, str):
        return clean(raw)
    if isinstance(raw, int | float) and not isinstance(raw, bool):
        try:
            return datetime.fromtimestamp(raw, UTC).isoformat()
        except (OverflowError, OSError, ValueError):
            return None
    return None


def _completions(task: Mapping[str, Any], unit: str) -> Any:
    if "completions" in task:
        found = task["completions"]
        return [one for raw in found for one in _taken_apart(raw)] if isinstance(found, list) else found
    if "annotations" in task:
        raise SkippedTask(unit, "annotations is null")
    raise DataNotTrusted(
        f"Task {unit} came without its annotations.",
        "Export or fetch the tasks with their annotations (JSON export; in the API, fields=all).",
    )


def _taken_apart(raw: Any) -> Sequence[Any]:
    """The completions that were put together in one: it has a list of results, an id and a rater for each."""
    if not isinstance(raw, dict) or raw.get("aggregated") is not True:
        return [raw]
    parts = [raw.get(key) for key in ("aggregated_ids", "aggregated_completed_by", "result")]
    lists = [part for part in parts if isinstance(part, list)]
    if len(lists) < len(parts) or len({len(part) for part in lists}) > 1:
        return [raw]
    return [{**raw, "id": one, "completed_by": by, "result": result} for one, by, result in zip(*lists, strict=True)]


def _annotation(raw: Any, unit: str) -> Annotation:
    # the busiest function of a read: what is nearly always so is tested in place, and calls are for the rest
    if type(raw) is not dict:
        raise SkippedTask(unit, f"an annotation is not an object but {_type_name(raw)}")
    get = raw.get
    result = get("result")
    if type(result) is not list:
        raise SkippedTask(unit, f"an annotation's result is not a list but {_type_name(result)}")
    for part in result:
        if type(part) is not dict:
            raise SkippedTask(unit, f"an annotation's result holds {_type_name(part)} instead of objects")
    by = get("completed_by")
    updated_by = get("updated_by")
    parent, prediction = get("parent_annotation"), get("parent_prediction")
    one = get("id")
    made, updated, seconds = get("created_at"), get("updated_at"), get("lead_time")
    return _new(
        Annotation,
        (
            str(one) if type(one) is int else identifier(one) or _made_up_id(raw),
            str(by) if type(by) is int else rater_of(by, unit),
            result,
            "cancelled" if get("was_cancelled") or get("skipped") else "submitted",
            made if type(made) is str else timestamp(made),
            updated if type(updated) is str else timestamp(updated),
            None if updated_by is None else rater_of(updated_by, unit),
            bool(get("ground_truth")),
            seconds if type(seconds) is float else _seconds(seconds),
            None if parent is None else identifier(parent),
            None if prediction is None else identifier(prediction),
        ),
    )


def _made_up_id(raw: Any) -> str:
    """An annotation without an id is known by its `unique_id`, else by its content, so that its copies are one and its
    place says nothing."""
    unique = identifier(raw.get("unique_id"))
    if unique is not None:
        return unique
    content = json.dumps(raw, sort_keys=True, default=str)
    return f"content:{hashlib.sha256(content.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


def _drafts(raw: Any, unit: str) -> Iterable[Annotation]:
    """Unsubmitted work, kept to be counted: never its content."""
    if not isinstance(raw, list):
        raise SkippedTask(unit, f"drafts is not a list but {_type_name(raw)}")
    for place, draft in enumerate(raw):
        one = identifier(draft.get("id") if isinstance(draft, dict) else draft)
        yield Annotation(f"draft:{one or f'{unit}/{place + 1}'}", None, (), "draft")


def _predictions(raw: Any) -> Mapping[str, Sequence[Any]]:
    if not isinstance(raw, list):
        return _NOTHING
    found: dict[str, Sequence[Any]] = {}
    for prediction in raw:
        if isinstance(prediction, dict) and isinstance(prediction.get("result"), list):
            one = identifier(prediction.get("id"))
            if one is not None:
                found[one] = prediction["result"]
    return found


def count(raw: Any) -> int | None:
    """A number of things as the server says it; None where nobody can have so many."""
    return raw if type(raw) is int and 0 <= raw < _TOO_MANY else None


_TOO_MANY = 1 << 31


def _seconds(raw: Any) -> float | None:
    return float(raw) if type(raw) is int and abs(raw) < 1e15 else None


def _type_name(raw: Any) -> str:
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
    return names.get(type(raw), "a number")
