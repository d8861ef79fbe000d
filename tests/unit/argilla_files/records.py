"""Argilla's files and records, made small, and the tables of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from connector.annotations.collect import Collector, QuestionTable, Table
from connector.annotations.model import Unit
from connector.errors import SkippedTask
from connector.tools.files import FileSource, open_files

CASES = Path(__file__).parents[2] / "cases"
REPORTS: dict[str, Any] = json.loads((CASES / "reports.json").read_text(encoding="utf-8"))["reports"]


class Read(NamedTuple):
    """All that files gave."""

    source: FileSource
    units: list[Unit]
    skipped: list[SkippedTask]
    table: Table

    @property
    def notes(self) -> str:
        return "\n".join([*self.source.notes(), *self.table.notes])


def report(case: str) -> tuple[Any, Any]:
    """A reported fault's input and its right value."""
    return REPORTS[case]["input"], REPORTS[case]["expected"]


def read(*paths: Path, **options: Any) -> Read:
    source = open_files(list(paths), **options)
    collector = Collector(source.schema)
    units: list[Unit] = []
    skipped: list[SkippedTask] = []
    for one in source.units:
        if isinstance(one, SkippedTask):
            skipped.append(one)
            collector.skip(one)
        else:
            units.append(one)
            collector.add(one)
    return Read(source, units, skipped, collector.table())


def read_rows(folder: Path, rows: Sequence[Any], name: str = "records.json", **options: Any) -> Read:
    """What is read of these records, written as an array or, with another ending, as lines."""
    path = folder / name
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    else:
        path.write_text(json.dumps(rows), encoding="utf-8")
    return read(path, **options)


def record(ident: str, *responses: dict[str, Any], text: str = "Some text", **more: Any) -> dict[str, Any]:
    """A record as the API gives it."""
    return {"id": ident, "fields": {"text": text}, "metadata": {}, "responses": list(responses), **more}


def response(rater: str | None, status: str = "submitted", **answers: Any) -> dict[str, Any]:
    """A rater's response, without times."""
    return {"user_id": rater, "status": status, "values": {name: {"value": raw} for name, raw in answers.items()}}


def flat(ident: str, *responses: tuple[str | None, str, str, Any], **more: Any) -> dict[str, Any]:
    """A record as the SDK flattens it, of (rater, status, question, answer)."""
    row: dict[str, Any] = {"id": ident, "status": "completed", "_server_id": f"server-{ident}", "text": "Some text"}
    for rater, status, question, raw in responses:
        row.setdefault(f"{question}.responses", []).append(raw)
        row.setdefault(f"{question}.responses.users", []).append(str(rater))
        row.setdefault(f"{question}.responses.status", []).append(status)
    return {**row, **more}


def values(question: QuestionTable) -> dict[tuple[str, str], Any]:
    """(unit, rater) -> value."""
    ratings = question.ratings
    codes = zip(ratings.units.tolist(), ratings.raters.tolist(), ratings.values.tolist(), strict=True)
    return {
        (ratings.unit_ids[unit], ratings.rater_ids[rater]): ratings.codebook.categories[value]
        for unit, rater, value in codes
    }
