"""Paths through a tree of choices: taxonomies and nested choices. A value is a set of paths."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from connector.annotations.choices import EMPTY, UNREADABLE, label
from connector.annotations.model import Missing, Value

Path = tuple[str, ...]


def path_set(raw: Iterable[Any]) -> tuple[Path, ...] | Missing:
    """A set of paths, distinct and sorted; an item that is not a list is a path of one step."""
    found: set[Path] = set()
    for item in raw:
        steps = [label(step) for step in (item if isinstance(item, list | tuple) else [item])]
        if any(isinstance(step, Missing) and step.reason == "unreadable" for step in steps):
            return UNREADABLE
        path = tuple(step for step in steps if isinstance(step, str))
        if path:
            found.add(path)
    return tuple(sorted(found)) if found else EMPTY


def as_paths(value: Value) -> Value | Missing:
    """A set of paths, from a set of paths, a set of labels or one label."""
    return path_set(value if isinstance(value, tuple) else (value,))


def prefixes(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Each path replaced by all its prefixes, so that two paths under one branch agree in part."""
    return tuple(sorted({path[:n] for path in paths for n in range(1, len(path) + 1)}))


def leaves(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Each path's last step alone."""
    return tuple(sorted({path[-1:] for path in paths}))


def tops(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Each path's first step alone."""
    return tuple(sorted({path[:1] for path in paths}))


READINGS: dict[str, Callable[[Iterable[Path]], tuple[Path, ...]]] = {"prefix": prefixes, "leaf": leaves, "top": tops}
"""The other ways to read a set of paths that a question's `by` can ask for."""
