"""Rows of a csv, jsonl or parquet file, as text and in their order. A row that cannot be read comes as SkippedTask."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from connector.annotations.choices import clean, number_text
from connector.errors import DataNotTrusted, FixConfiguration, SkippedTask
from connector.tools.csv_files import LONGEST_CELL, delimiter_of
from connector.tools.parquet_files import read_batches, read_names

REQUIRED = ("unit", "rater", "value")
TIMES = ("updated_at", "created_at", "time")
"""Columns that say which of a rater's repeated ratings is the newest, the first that is there."""


class Row(NamedTuple):
    """One rating as the file has it. `value` is text, a list of labels, or None where it is missing."""

    unit: str
    rater: str | None
    value: Any
    question: str
    time: str | None


@dataclass(frozen=True, slots=True)
class Columns:
    """Which column holds what; `question` and `time` are None where the file has none."""

    unit: str = "unit"
    rater: str = "rater"
    value: str = "value"
    question: str | None = None
    time: str | None = None

    @classmethod
    def among(cls, header: Sequence[str], named: Mapping[str, str], name: str) -> Columns:
        """The columns of a file with this header; `named` says which to use instead of the usual ones.

        Raises FixConfiguration where one is not there.
        """
        unknown = set(named) - {*REQUIRED, "question", "time"}
        if unknown:
            raise FixConfiguration(
                f"No such role of a column: {', '.join(sorted(unknown))}.",
                "Roles are unit, rater, value, question, time.",
            )
        wanted = {role: named.get(role, role) for role in REQUIRED}
        wanted |= {role: named[role] for role in ("question", "time") if role in named}
        for column in wanted.values():
            roles = [role for role, used in wanted.items() if used == column]
            if len(roles) > 1:
                raise FixConfiguration(
                    f"The column {column!r} would be {' and '.join(roles)} at once.", "Name one column for each role."
                )
        absent = [column for column in wanted.values() if column not in header]
        if absent:
            raise FixConfiguration(
                f"{name} has no column {', '.join(repr(column) for column in absent)}; it has {_listed(header)}.",
                "Name them: --columns unit=..,rater=..,value=..[,question=..]",
            )
        free = [column for column in header if column not in wanted.values()]
        if "question" in free:
            wanted.setdefault("question", "question")
        time = next((one for one in TIMES if one in free), None)
        if time is not None:
            wanted.setdefault("time", time)
        for column in wanted.values():
            if header.count(column) > 1:
                raise FixConfiguration(f"{name} has {header.count(column)} columns called {column!r}.", "Rename them.")
        return cls(**wanted)


def read_rows(path: Path, form: str, named: Mapping[str, str]) -> Iterator[Row | SkippedTask]:
    """The rows of one file of form csv, jsonl or parquet. Raises FixConfiguration and DataNotTrusted."""
    match form:
        case "csv":
            return _csv_rows(path, named)
        case "jsonl":
            return _jsonl_rows(path, named)
        case _:
            return _parquet_rows(path, named)


def _row(where: str, *, unit: Any, rater: Any, value: Any, question: Any, time: Any) -> Row | SkippedTask:
    unit_id = _text(unit)
    if unit_id is None:
        return SkippedTask(where, "the unit is missing")
    name = "value" if question is _ABSENT else _text(question)
    if name is None:
        return SkippedTask(where, "the question is missing")
    if isinstance(value, dict):
        return SkippedTask(where, "the value is an object")
    return Row(unit_id, _text(rater), value if isinstance(value, list) else _text(value), name, _text(time))


_ABSENT = object()


def _text(cell: Any) -> str | None:
    """A cell as text; None for an empty one or `nan` in any case. Numbers are their shortest text, so that 4.0 is 4."""
    if isinstance(cell, str):
        return None if not cell.strip() or cell.strip().lower() == "nan" else clean(cell)
    if cell is None or cell is _ABSENT or (isinstance(cell, float) and math.isnan(cell)):
        return None
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, int | float):
        return number_text(cell)
    return clean(cell.isoformat() if hasattr(cell, "isoformat") else str(cell))


def _csv_rows(path: Path, named: Mapping[str, str]) -> Iterator[Row | SkippedTask]:
    before = csv.field_size_limit(LONGEST_CELL)  # an extra column may hold a whole document
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            yield from _csv_cells(file.readline(), file, str(path), named)
    except UnicodeDecodeError as fault:
        raise DataNotTrusted(f"{path} is not UTF-8 text.", "Save it as UTF-8.") from fault
    finally:
        csv.field_size_limit(before)


def _csv_cells(first: str, file: Iterator[str], name: str, named: Mapping[str, str]) -> Iterator[Row | SkippedTask]:
    delimiter = delimiter_of(first, [named.get(role, role) for role in REQUIRED])
    lines = csv.reader(_with_first(first, file), delimiter=delimiter, strict=True)
    try:
        header = [cell.strip() for cell in next(lines, [])]
        columns = Columns.among(header, named, name)
        at = {cell: place for place, cell in reversed(list(enumerate(header)))}
        unit, rater, value = at[columns.unit], at[columns.rater], at[columns.value]
        question = None if columns.question is None else at[columns.question]
        time = None if columns.time is None else at[columns.time]
        for cells in lines:
            if not cells:
                continue
            if len(cells) != len(header):
                yield SkippedTask(
                    f"at line {lines.line_num}", f"the row has {len(cells)} cells, the header {len(header)}"
                )
                continue
            yield _row(
                f"at line {lines.line_num}",
                unit=cells[unit],
                rater=cells[rater],
                value=cells[value],
                question=_ABSENT if question is None else cells[question],
                time=None if time is None else cells[time],
            )
    except csv.Error as fault:
        raise DataNotTrusted(
            f"{name} cannot be read as csv at line {lines.line_num}: {fault}.",
            "A quote may be open to the end of the file.",
        ) from fault


def _with_first(first: str, rest: Iterator[str]) -> Iterator[str]:
    yield first
    yield from rest


def _jsonl_rows(path: Path, named: Mapping[str, str]) -> Iterator[Row | SkippedTask]:
    columns = None
    number = 0
    try:
        with path.open(encoding="utf-8-sig") as file:
            for number, line in enumerate(file, 1):
                if not line.strip():
                    continue
                row = _json_object(line, str(path), number)
                if not isinstance(row, dict):
                    yield SkippedTask(f"at line {number}", "not an object")
                    continue
                columns = columns or Columns.among(list(row), named, str(path))
                if columns.value not in row and columns.unit not in row:
                    yield SkippedTask(f"at line {number}", "neither unit nor value is there")
                    continue
                yield _row(
                    f"at line {number}",
                    unit=row.get(columns.unit),
                    rater=row.get(columns.rater),
                    value=row.get(columns.value),
                    question=_ABSENT if columns.question is None else row.get(columns.question),
                    time=None if columns.time is None else row.get(columns.time),
                )
    except UnicodeDecodeError as fault:
        raise DataNotTrusted(f"{path} is not UTF-8 text after line {number}.", "Save it as UTF-8.") from fault


def _json_object(line: str, name: str, number: int) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as fault:
        raise DataNotTrusted(f"{name} is not valid JSON at line {number}.", "The file may be truncated.") from fault


def _parquet_rows(path: Path, named: Mapping[str, str]) -> Iterator[Row | SkippedTask]:
    columns = Columns.among(read_names(path), named, str(path))
    wanted = [one for one in (columns.unit, columns.rater, columns.value, columns.question, columns.time) if one]
    number = 0
    for batch in read_batches(path, list(dict.fromkeys(wanted))):
        cells = {name: batch.column(name).to_pylist() for name in wanted}
        for place in range(batch.num_rows):
            number += 1
            yield _row(
                f"at row {number}",
                unit=cells[columns.unit][place],
                rater=cells[columns.rater][place],
                value=cells[columns.value][place],
                question=_ABSENT if columns.question is None else cells[columns.question][place],
                time=None if columns.time is None else cells[columns.time][place],
            )


def _listed(header: Sequence[str]) -> str:
    shown = ", ".join(repr(str(column)[:40]) for column in header[:20])
    return (shown or "none") + (" ..." if len(header) > 20 else "")
