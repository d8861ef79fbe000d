"""Label Studio's JSON-MIN and CSV exports: a row per annotation, in which data and answers stand side by side.

Which columns are answers only a label config tells. Skipped annotations, drafts and ground truth marks are not in these
exports, nor is the region that an answer belongs to: questions about regions are not read from them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from connector.annotations.model import Unit
from connector.errors import SkippedTask
from connector.tools.csv_files import read_records
from connector.tools.json_files import read_array
from connector.tools.label_studio.config import ConfiguredSchema
from connector.tools.label_studio.inferred import PER_REGION
from connector.tools.label_studio.shape import unit_of

KEYS = ("annotation_id", "annotator")
"""Columns by which these exports are known."""
NOTE = (
    "JSON-MIN and CSV exports leave out skipped annotations, drafts, ground truth marks and which region an answer"
    " belongs to; a JSON export has them."
)
_OWN = frozenset({"id", *KEYS, "created_at", "updated_at", "lead_time", "agreement", "history"})
_SIZES = ("original_width", "original_height")
_PLAIN = {"choices": "choices", "textarea": "text"}
"""Result types whose single answer stands in a row as it is, and the key under which a result holds it."""


def read_minimal(path: Path, form: str, schema: ConfiguredSchema) -> Iterator[Unit | SkippedTask]:
    """The units of an export of form json_min or csv_min, the rows of one task together.

    Raises DataNotTrusted as `read_export`.
    """
    schema.lose_regions()
    of_csv = form == "csv_min"
    rows = (_from_csv(row, schema) for _, row in read_records(path, KEYS)) if of_csv else read_array(path)
    for _, group in groupby(rows, key=lambda row: row.get("id") if isinstance(row, dict) else None):
        try:
            unit = unit_of(_task(list(group), schema))
        except SkippedTask as malformed:
            yield malformed
        else:
            yield unit


def _task(rows: list[Any], schema: ConfiguredSchema) -> Any:
    """The rows of one task as a JSON export has it."""
    first = rows[0]
    if not isinstance(first, dict):
        return first
    data = {column: cell for column, cell in first.items() if column not in _OWN and schema.type_of(column) is None}
    # a task that nobody has annotated has a row as well
    annotated = [row for row in rows if isinstance(row, dict) and row.get("annotation_id") is not None]
    return {"id": first.get("id"), "data": data, "annotations": [_annotation(row, schema) for row in annotated]}


def _annotation(row: Mapping[str, Any], schema: ConfiguredSchema) -> dict[str, Any]:
    rater = row.get("annotator")
    questions = schema.questions
    result: list[dict[str, Any]] = []
    for column, cell in row.items():
        kind = schema.type_of(column)
        question = questions.get(column)
        if kind is None or column in _OWN or cell is None:
            continue
        if question is None or question.not_measured != PER_REGION:
            is_path = question is not None and question.kind == "paths"
            result += (_result(column, kind, part) for part in _parts(kind, cell, is_path=is_path))
    return {
        "id": row.get("annotation_id"),
        "completed_by": None if rater in ("None", "") else rater,
        "created_at": row.get("created_at"),
        "updated_at": row.get("updated_at"),
        "lead_time": row.get("lead_time"),
        "result": result,
    }


def _parts(kind: str, cell: Any, *, is_path: bool) -> list[Any]:
    """What several results of one control left in a cell; a nested choice's path is one of them."""
    path = is_path and kind == "choices" and isinstance(cell, list) and all(isinstance(step, str) for step in cell)
    return cell if isinstance(cell, list) and not path else [cell]


def _result(name: str, kind: str, part: Any) -> dict[str, Any]:
    one: dict[str, Any] = {"from_name": name, "type": kind}
    if isinstance(part, dict):
        sizes = {size: part[size] for size in _SIZES if size in part}
        return {**one, **sizes, "value": {key: value for key, value in part.items() if key not in _SIZES}}
    key = _PLAIN.get(kind)
    return {**one, "value": {key: [part]} if key else part}


def _from_csv(row: Mapping[str, str], schema: ConfiguredSchema) -> dict[str, Any]:
    """A row of a CSV export as JSON-MIN has it. A data field called like a question has `_data_` before its name."""
    found: dict[str, Any] = {}
    for column, text in row.items():
        kind = schema.type_of(column)
        if column == "lead_time":
            found[column] = _number(text)
        elif column in _OWN or kind is None:
            found[column.removeprefix("_data_")] = text or None
        elif text:
            found[column] = _answer(text, _PLAIN[kind]) if kind in _PLAIN else _json(text, text)
    return found


def _answer(text: str, key: str) -> Any:
    """A choice or a text as it stands, unless it is what several of them make: an object or a list."""
    found = _json(text, None)
    if isinstance(found, dict):
        return found if key in found else text
    several = isinstance(found, list) and bool(found) and all(isinstance(one, dict | str | list) for one in found)
    return found if several else text


def _json(text: str, otherwise: Any) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return otherwise


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
