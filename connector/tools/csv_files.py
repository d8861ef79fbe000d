"""Tables of text: how a header tells its delimiter, and rows with the line they end in."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

from connector.errors import DataNotTrusted

LONGEST_CELL = 64 << 20
"""Characters of a cell; one may hold a whole document."""


def delimiter_of(header: str, wanted: Sequence[str]) -> str:
    """The delimiter under which a header line has the columns wanted; a comma where none does."""
    for delimiter in (",", ";", "\t"):
        if set(wanted) <= header_cells(header, delimiter):
            return delimiter
    return ","


def header_cells(header: str, delimiter: str) -> set[str]:
    """The names in a header line; none where it cannot be read as one."""
    try:
        return {cell.strip() for cell in next(csv.reader([header.rstrip("\r\n")], delimiter=delimiter), [])}
    except csv.Error:
        return set()


def read_records(path: Path, wanted: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows under a header with the columns `wanted`, each with the number of the line it ends in.

    Cells that a row lacks are absent, those beyond the header are dropped. Raises DataNotTrusted.
    """
    before = csv.field_size_limit(LONGEST_CELL)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            delimiter = delimiter_of(file.readline(), wanted)
            file.seek(0)
            lines = csv.reader(file, delimiter=delimiter, strict=True)
            header = next(lines, [])
            for cells in lines:
                yield lines.line_num, dict(zip(header, cells, strict=False))
    except UnicodeDecodeError as fault:
        raise DataNotTrusted(f"{path} is not UTF-8 text.", "Save it as UTF-8.") from fault
    except csv.Error as fault:
        raise DataNotTrusted(
            f"{path} cannot be read as csv: {fault}.", "A quote may be open to the end of the file."
        ) from fault
    finally:
        csv.field_size_limit(before)
