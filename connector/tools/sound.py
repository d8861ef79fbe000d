"""JSON as tools send it, made fit for a store and a terminal."""

from __future__ import annotations

import json
import math
from typing import Any

from connector.annotations.choices import clean
from connector.errors import SkippedTask

_SPARE_LEVELS = 100


def sound(tasks: list[Any]) -> list[Any]:
    """The same tasks in a form that a store and a terminal take; one that is nested too deeply is its SkippedTask.

    A lone surrogate is spelt out, an infinity is its name, NaN is null. Where nothing is to be done, `tasks` itself.
    """
    try:
        # some levels to spare: later code writes it from deeper down the stack
        text = json.dumps(_wrapped(tasks), ensure_ascii=False, allow_nan=False, check_circular=False)
        text.encode()
    except (ValueError, RecursionError):
        return [_sound_task(task) for task in tasks]
    return tasks


def sound_value(value: Any) -> Any:
    """JSON as `sound` makes it. Raises RecursionError where it is nested too deeply."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(key): sound_value(item) for key, item in value.items()}
    if isinstance(value, list):
        return [sound_value(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def _wrapped(content: Any) -> Any:
    for _ in range(_SPARE_LEVELS):
        content = [content]
    return content


def _sound_task(task: Any) -> Any:
    try:
        return sound_value(task)
    except RecursionError:
        number = task.get("id") if isinstance(task, dict) else None
        named = isinstance(number, str | int) and not isinstance(number, bool) and str(number).strip()
        return SkippedTask(clean(str(number)) if named else "of unknown id", "it is nested too deeply")
