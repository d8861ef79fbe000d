"""Values as JSON has them, and an order of ids."""

from __future__ import annotations

import hashlib
import json
from typing import Any

LONGEST = 1_000
"""Characters of a category that stands in a report as it is."""


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
    if not all(isinstance(label, str) for label in category):
        return json.dumps(json_value(category), ensure_ascii=False)
    return "/".join(_escaped(label) for label in category)


def _escaped(label: str) -> str:
    return label.replace("\\", "\\\\").replace("/", "\\/")


def json_value(value: Any) -> Any:
    """A value as JSON: text and numbers as they are, a set as an array of its labels (of its paths' keys), a ranking
    and the like as nested arrays."""
    if not isinstance(value, tuple):
        return value
    labels = all(isinstance(one, str) or (isinstance(one, tuple) and set(map(type, one)) <= {str}) for one in value)
    return [category_key(member) if labels else json_value(member) for member in value]


def brief_key(category: Any) -> str:
    """The key of a category in a report: a text of more than `LONGEST` characters by its ends, how many it has and a
    sign of what it is, so that two texts with the same ends have two keys."""
    key = category_key(category)
    if len(key) <= LONGEST:
        return key
    sign = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{key[: LONGEST * 2 // 3]}… ({len(key)} characters, {sign}) …{key[-LONGEST // 4 :]}"


def brief_value(value: Any) -> Any:
    """A value as JSON in a report: long texts as `brief_key` has them."""
    return brief_key(value) if isinstance(value, str) else json_value(value)


def id_order(identifier: Any) -> tuple[int, str]:
    """Sorts ids of any type, whole numbers as numbers: shorter ones first, then as text."""
    text = str(identifier)
    return len(text), text
