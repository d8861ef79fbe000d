"""Tasks, annotations and tables, made small."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from connector.agreement.alpha import krippendorff_alpha
from connector.annotations.collect import Collector, CountingRules, QuestionChoice, QuestionTable, Table
from connector.annotations.model import Schema
from connector.errors import SkippedTask
from connector.tools.label_studio.config import schema_of
from connector.tools.label_studio.inferred import InferredSchema
from connector.tools.label_studio.shape import unit_of

CASES = Path(__file__).parents[2] / "cases"
REPORTS: dict[str, Any] = json.loads((CASES / "reports.json").read_text())["reports"]


def report(case: str) -> tuple[Any, Any]:
    """A reported fault's input and its right value."""
    return REPORTS[case]["input"], REPORTS[case]["expected"]


def result(name: str, kind: str, value: Any, **more: Any) -> dict[str, Any]:
    """One result of a task-level control, `value` being what its key holds."""
    key = {"datetime": "datetime", "pairwise": "selected", "textarea": "text"}.get(kind, kind)
    return {"id": name, "from_name": name, "to_name": "text", "type": kind, "value": {key: value}, **more}


def choose(*labels: Any, name: str = "sent") -> list[dict[str, Any]]:
    return [result(name, "choices", list(labels))]


def annotation(ident: int, rater: Any, results: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {
        "id": ident,
        "completed_by": rater,
        "result": results,
        "was_cancelled": False,
        "ground_truth": False,
        "created_at": "2024-03-01T10:00:00Z",
        "updated_at": "2024-03-01T10:00:00Z",
        **more,
    }


def task(ident: Any, *annotations: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": ident, "data": {"text": "x"}, "annotations": list(annotations), **more}


def table_of(
    tasks: Iterable[Any],
    schema: Schema | str | None = None,
    rules: CountingRules | None = None,
    choices: Mapping[str, QuestionChoice] | None = None,
) -> Table:
    """The table of these tasks; `schema` may be a label config."""
    if isinstance(schema, str):
        schema = schema_of(schema)
    collector = Collector(schema or InferredSchema(), rules, choices)
    for one in tasks:
        try:
            unit = unit_of(one)
        except SkippedTask as malformed:
            collector.skip(malformed)
        else:
            collector.add(unit)
    return collector.table()


def values(question: QuestionTable) -> dict[tuple[str, str], Any]:
    """(unit, rater) -> value."""
    ratings = question.ratings
    return {
        (ratings.unit_ids[unit], ratings.rater_ids[rater]): ratings.codebook.categories[value]
        for unit, rater, value in zip(
            ratings.units.tolist(), ratings.raters.tolist(), ratings.values.tolist(), strict=True
        )
    }


def alpha(question: QuestionTable) -> float | None:
    level, distance = question.question.level, question.question.distance
    assert level is not None
    return krippendorff_alpha(question.ratings, level, distance=distance).value
