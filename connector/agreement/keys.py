"""Values as JSON has them, and an order of ids."""

from __future__ import annotations

from typing import Any


def category_key(category: Any) -> str:
    r"""A category as a JSON key: text as it is, whole numbers without ".0", a path's labels joined by "/", with "/"
    and "\" inside a label escaped by "\".

    >>> category_key(("a/b", "c"))
    'a\\/b/c'
    """
    if isinstance(category, str):
        return category
    if isinstance(category, int | float):
        return str(int(category)) if float(category).is_integer() else repr(float(category))
    return "/".join(_escaped(str(label)) for label in category)


def _escaped(label: str) -> str:
    return label.replace("\\", "\\\\").replace("/", "\\/")


def json_value(value: Any) -> Any:
    """A value as JSON: text and numbers as they are, a set as an array of its labels (of its paths' keys)."""
    if isinstance(value, tuple):
        return [category_key(member) for member in value]
    return value


def id_order(identifier: Any) -> tuple[int, str]:
    """Sorts ids of any type, whole numbers as numbers: shorter ones first, then as text."""
    text = str(identifier)
    return len(text), text
