"""Imports run one way: agreement <- annotations <- tools/base, store, workflow, output <- tools/*, demo <- cli.

Late imports inside functions and those for the type checker count as well: they tie rooms together just the same.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "connector"

BELOW_THE_TOOLS = {"errors", "config", "agreement", "annotations", "tools.base", "store", "workflow", "output"}
FILES_OF_ANY_FORM = {"tools.csv_files", "tools.json_files", "tools.parquet_files"}
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "agreement": {"errors"},
    "annotations": {"errors", "agreement"},
    "config": {"errors", "agreement"},
    "tools.base": {"errors", "annotations", "agreement"},
    "store": {"errors", "annotations", "agreement", "tools.base"},
    "workflow": {"errors", "config", "annotations", "agreement", "tools.base", "store"},
    # What is shown needs nothing of how it was got.
    "output": {"errors", "annotations", "agreement"},
    "tools.registry": {"errors", "tools.base"},
    # What every tool's client is made of.
    "tools.http": {"errors"},
    # How files are read, whatever they hold.
    "tools.csv_files": {"errors"},
    "tools.json_files": {"errors"},
    "tools.parquet_files": {"errors"},
    "tools.sound": {"errors", "annotations"},
    # A tool's folder is readable alone: no other tool in it.
    "tools.label_studio": BELOW_THE_TOOLS | FILES_OF_ANY_FORM | {"tools.http", "tools.sound"},
    "tools.argilla": BELOW_THE_TOOLS | FILES_OF_ANY_FORM | {"tools.http", "tools.sound"},
    "tools.tables": BELOW_THE_TOOLS | FILES_OF_ANY_FORM,
    # SOURCE of the command line: it tells exports from tables, so it knows both.
    "tools.files": BELOW_THE_TOOLS | FILES_OF_ANY_FORM | {"tools.label_studio", "tools.argilla", "tools.tables"},
    "demo": BELOW_THE_TOOLS,
    # The suite that a new tool's author subclasses: it sees what such an author sees.
    "testing": {"errors", "annotations", "agreement", "tools.base"},
}
"""Room -> the rooms it may import, beside itself. `cli`, `__main__` and the package's own face may import all."""
EXCEPTIONS = {
    ("connector/workflow/setup.py", "tools.registry"): "`init` offers the tools there are, by name, and loads none",
}
FREE = {"cli", "__main__", "__init__"}


def room_of(module: str) -> str:
    """The room of a module of ours, e.g. "tools.label_studio" of connector.tools.label_studio.read."""
    parts = module.split(".")[1:] or ["__init__"]
    return ".".join(parts[:2]) if parts[0] == "tools" and len(parts) > 1 else parts[0]


def module_of(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(file: Path) -> Iterator[str]:
    """The full name of every module that a file imports, wherever in it the import stands."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import"
            for one in node.names:
                # `from connector.output import csv` imports a module, `from connector.store import Store` a name.
                inner = f"{node.module}.{one.name}"
                yield inner if _is_ours(inner) else str(node.module)


def _is_ours(module: str) -> bool:
    path = ROOT.joinpath(*module.split("."))
    return module.startswith("connector") and (path.with_suffix(".py").is_file() or (path / "__init__.py").is_file())


FILES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=[str(file.relative_to(ROOT)) for file in FILES])
def test_imports_run_one_way(file: Path) -> None:
    room = room_of(module_of(file))
    if room in FREE or (room == "tools" and file.name == "__init__.py"):
        return
    assert room in MAY_IMPORT, f"{file.name} stands in a room that has no place in the order yet: {room}"
    name = file.relative_to(ROOT).as_posix()
    for module in imported(file):
        if module.split(".")[0] == "connector":
            target = room_of(module)
            assert target == room or target in MAY_IMPORT[room] or (name, target) in EXCEPTIONS, (
                f"{name} imports {module}: {room} must not know {target}"
            )


def test_the_exceptions_are_still_needed() -> None:
    for (name, target), reason in EXCEPTIONS.items():
        assert any(room_of(module) == target for module in imported(ROOT / name)), f"{name} -> {target}: {reason}"


def test_the_order_has_no_circle() -> None:
    """Rooms can be numbered so that every one imports lower ones only."""
    left = dict(MAY_IMPORT)
    while left:
        free = [room for room, needs in left.items() if not needs & left.keys()]
        assert free, f"a circle among {sorted(left)}"
        for room in free:
            del left[room]


def test_nothing_imports_the_command_line_but_its_entry() -> None:
    for file in FILES:
        if file.name not in ("__main__.py", "cli.py"):
            assert "connector.cli" not in set(imported(file)), file


def test_the_statistics_know_no_input_output() -> None:
    """NumPy, SciPy and what the standard library has for computing."""
    banned = {"pathlib", "os", "io", "sqlite3", "socket", "urllib", "subprocess", "logging", "time", "datetime"}
    banned |= {"requests", "pydantic", "yaml", "jinja2", "rich", "typer", "filelock", "label_studio_sdk", "argilla"}
    for file in (PACKAGE / "agreement").rglob("*.py"):
        tops = {module.split(".")[0] for module in imported(file)}
        assert not tops & banned, f"{file.name} imports {sorted(tops & banned)}"


@pytest.mark.parametrize("sdk", ["label_studio_sdk", "argilla"])
def test_a_tools_own_library_is_imported_in_its_folder_alone(sdk: str) -> None:
    home = {"label_studio_sdk": "label_studio", "argilla": "argilla"}[sdk]
    for file in FILES:
        if any(module.split(".")[0] == sdk for module in imported(file)):
            assert home in file.parts, file
