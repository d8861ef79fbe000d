"""SOURCE of the command line: files, recognised by what is in them, as one source of units."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from connector.annotations.model import Schema, Unit
from connector.annotations.order import natural_key
from connector.errors import DataNotTrusted, FixConfiguration, SkippedTask
from connector.tools.argilla.export import PAGE, ArgillaExport
from connector.tools.argilla.forms import is_columns, is_flat
from connector.tools.csv_files import delimiter_of, header_cells
from connector.tools.label_studio.export import read_export
from connector.tools.label_studio.inferred import InferredSchema
from connector.tools.parquet_files import read_names
from connector.tools.tables.read import REQUIRED, read_rows
from connector.tools.tables.units import TableSchema, units_of

Form = Literal["label_studio", "json_min", "csv_min", "argilla", "csv", "jsonl", "parquet"]
_HEAD = 1 << 16
_KNOWN = (
    "A source is a Label Studio JSON export, an Argilla export (json, jsonl), or a long table (csv, jsonl, parquet)"
    " with unit, rater and value."
)
_KIND_OF = {"label_studio": "label_studio", "json_min": "label_studio", "csv_min": "label_studio", "argilla": "argilla"}
_NOUNS = {"label_studio": "task", "argilla": "record", "table": "unit"}
_NAMES = {"label_studio": "a Label Studio export", "argilla": "an Argilla export", "table": "a long table"}


def _no_notes() -> Sequence[str]:
    return ()


def _complete() -> str | None:
    return None


@dataclass(frozen=True, slots=True)
class FileSource:
    """Files read as one source. `units` can be gone through once; all else is complete after the last of them.

    notes : sentences about the files for the report. incomplete : why they are not all there is, where that shows.
    """

    form: Literal["label_studio", "argilla", "table"]
    schema: Schema
    units: Iterator[Unit | SkippedTask]
    notes: Callable[[], Sequence[str]] = _no_notes
    incomplete: Callable[[], str | None] = _complete

    @property
    def noun(self) -> str:
        """What people call one unit of them."""
        return _NOUNS[self.form]


def open_files(
    paths: Sequence[str | Path],
    *,
    label_config: str | None = None,
    columns: Mapping[str, str] | None = None,
    missing: Collection[str] = (),
    assume_submitted: bool = False,
) -> FileSource:
    """The units of files of one form, merged by unit and annotation.

    paths : Label Studio JSON exports of one project, Argilla exports of one dataset, or long tables; of a folder, such
        as a target storage with a file per annotation, all files in it.
    label_config : the project's label config (XML text); without it the questions are inferred.
    columns : role (unit, rater, value, question, time) -> column of a long table.
    missing : values of a long table that are no rating, beside the empty cell and `nan`.
    assume_submitted : responses of an Argilla export that carries no statuses were all submitted.

    Raises FixConfiguration for a file that is missing, unreadable or of unknown form; DataNotTrusted, here or while
    `units` is gone through, for one that is truncated or not what it seems.
    """
    if not paths:
        raise FixConfiguration("No source is named.", _KNOWN)
    files = [file for path in paths for file in _files_of(Path(path))]
    forms = {file: form_of(file, columns or {}) for file in files}
    kinds = sorted({_KIND_OF.get(form, "table") for form in forms.values()})
    if len(kinds) > 1:
        names = " and ".join(_NAMES[kind] for kind in kinds)
        raise FixConfiguration(f"{names[0].upper()}{names[1:]} are not one source; name one of them.")
    kind = kinds[0]
    _refuse(kind, "table", "Columns belong", columns)
    _refuse(kind, "label_studio", "A label config belongs", label_config is not None)
    _refuse(kind, "argilla", "--assume-submitted belongs", assume_submitted)
    if kind == "label_studio":
        return _label_studio(forms, label_config)
    if kind == "argilla":
        export = ArgillaExport(files, assume_submitted=assume_submitted)
        return FileSource("argilla", export.schema, export.units(), export.notes, export.incomplete)
    schema = TableSchema()
    rows = (row for file in files for row in read_rows(file, forms[file], columns or {}))
    return FileSource("table", schema, units_of(rows, schema, missing))


def _files_of(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = [file for file in path.iterdir() if file.is_file() and not file.name.startswith(".")]
    if not found:
        raise FixConfiguration(f"The folder {path} holds no file.", _KNOWN)
    return sorted(found, key=lambda file: natural_key(file.stem))


def _refuse(kind: str, meant_for: str, what: str, given: object) -> None:
    if given and kind != meant_for:
        raise FixConfiguration(f"{what} to {_NAMES[meant_for]}, and the source is {_NAMES[kind]}.")


def form_of(path: Path, columns: Mapping[str, str] | None = None) -> Form:
    """What a file is, by its content.

    Raises FixConfiguration where that is nothing we read, DataNotTrusted where it is empty.
    """
    head = _head(path)
    if head.startswith(b"PAR1"):
        return _parquet_form(path, columns or {})
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


def noun_of(form: Form) -> str:
    """What people call one unit of a file of that form."""
    return _NOUNS[_KIND_OF.get(form, "table")]


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_HEAD)
    except FileNotFoundError:
        raise FixConfiguration(f"There is no file {path}.") from None
    except OSError as fault:
        raise FixConfiguration(f"{path} cannot be read: {fault.strerror}.") from fault


def _array_form(text: str, path: Path) -> Form:
    inside = text[1:].lstrip()
    if not inside or inside.startswith("]"):
        return "label_studio"
    if not inside.startswith("{"):
        raise FixConfiguration(f"{path} is a JSON array of something else than tasks.", _KNOWN)
    seen = _object(inside)
    keys = _keys_in(inside) if seen is None else set(seen)
    form = _export_form(keys, seen)
    if form is not None:
        return form
    if "annotation_id" in keys or "annotator" in keys:
        return "json_min"
    if seen is None:
        return "label_studio"  # too long to see whole, or broken: its reader says which
    raise FixConfiguration(f"{path} is JSON of an unknown form.", _KNOWN)


def _object_form(text: str, path: Path, columns: Mapping[str, str]) -> Form:
    if PAGE.match(text.encode("utf-8", "surrogatepass")):
        return "argilla"
    first, newline, rest = text.partition("\n")
    seen = _object(first.strip())
    keys = _keys_in(text) if seen is None else set(seen)
    if seen is None and newline:
        if keys & {"annotations", "completions"} or {"result", "task"} <= set(_object(text) or ()):
            return "label_studio"
        raise FixConfiguration(
            f"{path} is a single JSON object, neither an export nor a task.",
            "An export is one JSON array, or one record a line.",
        )
    wanted = {columns.get(role, role) for role in REQUIRED}
    form = None if wanted <= keys else _export_form(keys, seen)
    if form is not None or {"result", "task"} <= keys:
        return form or "label_studio"
    if not rest.strip() and not keys & wanted:
        raise FixConfiguration(f"{path} is a single JSON object, neither an export nor a row of a long table.", _KNOWN)
    return "jsonl"


def _export_form(keys: Collection[str], seen: Mapping[str, Any] | None) -> Literal["label_studio", "argilla"] | None:
    """Whose export a task or record with these keys is from. `seen` is all of it where the look was long enough."""
    if is_flat(keys):
        return "argilla"
    if {"annotations", "completions"} & set(keys) or {"id", "data"} <= set(keys):
        return "label_studio"
    beside = {"suggestions", "metadata", "external_id"} & set(keys)
    if "responses" in keys or ("fields" in keys and (beside or seen is None)):
        return "argilla"
    return "argilla" if is_columns(seen if seen is not None else dict.fromkeys(keys)) else None


_TELLING = re.compile(
    r'"(annotations|completions|data|id|annotation_id|annotator|responses|suggestions|fields|metadata|external_id'
    r'|_server_id|[^"\\]+\.responses|[^"\\]+-suggestion-metadata)"\s*:'
)


def _keys_in(text: str) -> set[str]:
    """The keys that tell exports apart, of an object that is too long to be seen whole."""
    return set(_TELLING.findall(text))


def _parquet_form(path: Path, columns: Mapping[str, str]) -> Form:
    names = read_names(path)
    if {columns.get(role, role) for role in REQUIRED} <= set(names):
        return "parquet"
    return "argilla" if is_flat(names) or is_columns(dict.fromkeys(names)) else "parquet"


def _text_form(text: str, path: Path, columns: Mapping[str, str]) -> Form:
    header = re.split(r"[\r\n]", text, maxsplit=1)[0]
    wanted = [columns.get(role, role) for role in REQUIRED]
    cells = header_cells(header, delimiter_of(header, wanted))
    if set(wanted) <= cells:
        return "csv"
    if is_flat(cells):
        return "argilla"
    if {"annotation_id", "annotator"} <= header_cells(header, delimiter_of(header, ["annotation_id", "annotator"])):
        return "csv_min"
    if path.suffix.lower() in {".csv", ".tsv"}:
        return "csv"  # its reader says which columns are lacking
    raise FixConfiguration(f"{path} is of an unknown form.", _KNOWN)


def _object(text: str) -> dict[str, Any] | None:
    try:
        found, _end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _label_studio(forms: Mapping[Path, Form], label_config: str | None) -> FileSource:
    minimal = [file for file, form in forms.items() if form != "label_studio"]
    if label_config is None:
        if minimal:
            raise FixConfiguration(
                f"{minimal[0]} is Label Studio's JSON-MIN or CSV export: without the label config nothing tells answers"
                " from data in it.",
                "Add --label-config, or export as JSON.",
            )
        return FileSource("label_studio", InferredSchema(), (unit for file in forms for unit in read_export(file)))
    from connector.tools.label_studio.config import schema_of
    from connector.tools.label_studio.minimal import NOTE, read_minimal

    schema = schema_of(label_config)
    units = (
        unit
        for file, form in forms.items()
        for unit in (read_minimal(file, form, schema) if form in ("json_min", "csv_min") else read_export(file))
    )
    return FileSource("label_studio", schema, units, (lambda: (NOTE,)) if minimal else _no_notes)
