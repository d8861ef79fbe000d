"""SOURCE of the command line: files, recognised by what is in them, as one source of units."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from connector.annotations.model import Schema, Unit
from connector.errors import DataNotTrusted, FixConfiguration, SkippedTask
from connector.tools.label_studio.export import read_export
from connector.tools.label_studio.inferred import InferredSchema
from connector.tools.tables.read import REQUIRED, delimiter_of, header_cells, read_rows
from connector.tools.tables.units import TableSchema, units_of

Form = Literal["label_studio", "csv", "jsonl", "parquet"]
_HEAD = 1 << 16
_KNOWN = "A source is a Label Studio JSON export or a long table (csv, jsonl, parquet) with unit, rater and value."


@dataclass(frozen=True, slots=True)
class FileSource:
    """Files read as one source. `units` can be gone through once; `schema` is complete after the last of them."""

    form: Literal["label_studio", "table"]
    schema: Schema
    units: Iterator[Unit | SkippedTask]


def open_files(
    paths: Sequence[str | Path],
    *,
    label_config: str | None = None,
    columns: Mapping[str, str] | None = None,
    missing: Collection[str] = (),
) -> FileSource:
    """The units of files of one form, merged by unit and annotation.

    paths : Label Studio JSON exports of one project, or long tables.
    label_config : the project's label config (XML text); without it the questions are inferred.
    columns : role (unit, rater, value, question, time) -> column of a long table.
    missing : values of a long table that are no rating, beside the empty cell and `nan`.

    Raises FixConfiguration for a file that is missing, unreadable or of unknown form; DataNotTrusted, here or while
    `units` is gone through, for one that is truncated or not what it seems.
    """
    if not paths:
        raise FixConfiguration("No source is named.", _KNOWN)
    files = [Path(path) for path in paths]
    forms = {file: form_of(file, columns or {}) for file in files}
    if len({form == "label_studio" for form in forms.values()}) > 1:
        raise FixConfiguration("A Label Studio export and a long table are two sources; name one of them.")
    if forms[files[0]] == "label_studio":
        if columns:
            raise FixConfiguration("Columns belong to a long table, and the source is a Label Studio export.")
        return FileSource("label_studio", _label_studio_schema(label_config), _export_units(files))
    if label_config is not None:
        raise FixConfiguration("A label config belongs to a Label Studio export, and the source is a long table.")
    schema = TableSchema()
    rows = (row for file in files for row in read_rows(file, forms[file], columns or {}))
    return FileSource("table", schema, units_of(rows, schema, missing))


def form_of(path: Path, columns: Mapping[str, str] | None = None) -> Form:
    """What a file is, by its content.

    Raises FixConfiguration where that is nothing we read, DataNotTrusted where it is empty.
    """
    head = _head(path)
    if head.startswith(b"PAR1"):
        return "parquet"
    for magic, what in ((b"PK\x03\x04", "a zip archive: unpack it"), (b"\x1f\x8b", "gzipped: unpack it")):
        if head.startswith(magic):
            raise FixConfiguration(f"{path} is {what} first.", _KNOWN)
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in head:
        raise FixConfiguration(f"{path} is not UTF-8 text.", "Save it as UTF-8.")
    text = head.decode("utf-8-sig", "replace").lstrip()
    if not text:
        raise DataNotTrusted(f"{path} is empty.", "Export it again.")
    if text.startswith("["):
        return _array_form(text, path)
    if text.startswith("{"):
        return _object_form(text, path, columns or {})
    return _text_form(text, path, columns or {})


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_HEAD)
    except FileNotFoundError:
        raise FixConfiguration(f"There is no file {path}.") from None
    except IsADirectoryError:
        raise FixConfiguration(f"{path} is a folder.", "Name the files in it.") from None
    except OSError as fault:
        raise FixConfiguration(f"{path} cannot be read: {fault.strerror}.") from fault


def _array_form(text: str, path: Path) -> Form:
    inside = text[1:].lstrip()
    if not inside or inside.startswith("]"):
        return "label_studio"
    if not inside.startswith("{"):
        raise FixConfiguration(f"{path} is a JSON array of something else than tasks.", _KNOWN)
    seen_whole = _keys(inside)
    keys = seen_whole or {key for key in _TELLING if f'"{key}"' in inside}
    if keys & {"annotations", "completions"} or {"id", "data"} <= keys:
        return "label_studio"
    if "annotation_id" in keys or "annotator" in keys:
        raise FixConfiguration(
            f"{path} is Label Studio's JSON-MIN export, which leaves out what counting needs.", "Export as JSON."
        )
    _refuse_argilla(keys, path)
    if seen_whole is None:
        return "label_studio"  # too long to see whole, or broken: its reader says which
    raise FixConfiguration(f"{path} is JSON of an unknown form.", _KNOWN)


_TELLING = (
    "annotations",
    "completions",
    "data",
    "id",
    "annotation_id",
    "annotator",
    "responses",
    "suggestions",
    "fields",
)


def _object_form(text: str, path: Path, columns: Mapping[str, str]) -> Form:
    first, _, rest = text.partition("\n")
    keys = _keys(first.strip())
    if keys is None:
        keys = {key for key in _TELLING if f'"{key}"' in text}
    else:
        _refuse_argilla(keys, path)
        if not keys & {"annotations", "completions"}:
            if not rest.strip() and not keys & {columns.get(role, role) for role in REQUIRED}:
                raise FixConfiguration(
                    f"{path} is a single JSON object, neither an export nor a row of a long table.", _KNOWN
                )
            return "jsonl"
    _refuse_argilla(keys, path)
    if keys & {"annotations", "completions"}:
        raise FixConfiguration(f"{path} is a single task, not an export.", "An export is one JSON array of tasks.")
    raise FixConfiguration(f"{path} is a single JSON object.", _KNOWN)


def _refuse_argilla(keys: Collection[str], path: Path) -> None:
    if "responses" in keys or {"fields", "suggestions"} <= set(keys):
        raise FixConfiguration(f"{path} is an Argilla export, which this version does not read yet.", _KNOWN)


def _text_form(text: str, path: Path, columns: Mapping[str, str]) -> Form:
    header = re.split(r"[\r\n]", text, maxsplit=1)[0]
    wanted = [columns.get(role, role) for role in REQUIRED]
    cells = header_cells(header, delimiter_of(header, wanted))
    if set(wanted) <= cells:
        return "csv"
    if {"annotation_id", "annotator"} <= cells:
        raise FixConfiguration(
            f"{path} is Label Studio's CSV export, which leaves out what counting needs.", "Export as JSON."
        )
    if path.suffix.lower() in {".csv", ".tsv"}:
        return "csv"  # its reader says which columns are lacking
    raise FixConfiguration(f"{path} is of an unknown form.", _KNOWN)


def _keys(text: str) -> set[str] | None:
    try:
        found, _end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return None
    return set(found) if isinstance(found, dict) else None


def _label_studio_schema(label_config: str | None) -> Any:
    if label_config is None:
        return InferredSchema()
    from connector.tools.label_studio.config import schema_of

    return schema_of(label_config)


def _export_units(files: Sequence[Path]) -> Iterator[Unit | SkippedTask]:
    for file in files:
        yield from read_export(file)
