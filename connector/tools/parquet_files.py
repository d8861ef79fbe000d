"""Parquet files, read by the batch; pyarrow is an extra."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from connector.errors import DataNotTrusted, InstallExtra


def read_names(path: Path) -> list[str]:
    """The names of a file's columns. Raises InstallExtra and DataNotTrusted."""
    return list(_file(path).schema_arrow.names)


def read_batches(path: Path, columns: Sequence[str] | None = None, size: int = 1 << 16) -> Iterator[Any]:
    """A file's record batches of at most so many rows, with these columns (None: all). Raises as `read_names`."""
    file = _file(path)
    import pyarrow as pa

    try:
        yield from file.iter_batches(batch_size=size, columns=columns)
    except pa.ArrowException as fault:
        raise _damaged(path, fault) from fault


def _file(path: Path) -> Any:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as absent:
        raise InstallExtra("parquet", "Reading a parquet file") from absent
    try:
        return pq.ParquetFile(path)
    except pa.ArrowException as fault:
        raise _damaged(path, fault) from fault


def _damaged(path: Path, fault: Exception) -> DataNotTrusted:
    return DataNotTrusted(f"{path} cannot be read as parquet: {fault}")
