"""A Label Studio JSON export, read as a stream, or the tasks and annotations of a target storage, one a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from connector.annotations.model import Unit
from connector.errors import SkippedTask
from connector.tools.json_files import read_array, read_lines, read_object
from connector.tools.label_studio.shape import unit_of


def read_export(path: str | Path) -> Iterator[Unit | SkippedTask]:
    """The units of an export file, in its order; a malformed task comes as the SkippedTask that says what is wrong.

    Raises DataNotTrusted, saying at which byte, for a file that ends too early or is not JSON, and OSError.
    """
    for task in _tasks(path):
        try:
            unit = unit_of(_with_its_annotation(task))
        except SkippedTask as malformed:
            yield malformed
        else:
            yield unit


def _tasks(path: str | Path) -> Iterator[Any]:
    """What the file holds: an array of tasks, one task, or one a line."""
    with Path(path).open("rb") as file:
        if not file.read(64).removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{"):
            yield from read_array(path)
            return
        file.seek(0)
        whole_on_a_line = file.readline().rstrip().endswith(b"}")
    if whole_on_a_line:
        yield from (task for _, task in read_lines(path))
    else:
        yield read_object(path)


def _with_its_annotation(task: Any) -> Any:
    """A task; of an annotation that holds its task, as a target storage keeps it, the task with that annotation."""
    if not isinstance(task, dict) or "annotations" in task or not isinstance(task.get("task"), dict):
        return task
    return {**task["task"], "annotations": [{key: value for key, value in task.items() if key != "task"}]}
