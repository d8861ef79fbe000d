"""The fields that stand on each unit in the tool: their names, and their values out of a report."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

AGREEMENT, CONSENSUS, MAJORITY, RATERS, STATUS = "agreement", "consensus", "majority", "raters", "status"
STATUSES = ("conflict", "majority", "agreed", "single", "unrated", "adjudicated")
WORST_FIRST = ("conflict", "majority", "agreed", "single", "unrated")


def slugs(questions: Iterable[str]) -> dict[str, str]:
    """Question -> the piece of a field's name that stands for it.

    Lower case, runs outside [a-z0-9] become one `_`; of clashing ones the later gets `_2`, `_3`. A name without any such letter is `q`.
    (A double underscore would break Label Studio's filters.)
    """
    taken: dict[str, str] = {}
    for name in questions:
        base = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_") or "q"
        slug, number = base, 2
        while slug in taken.values():
            slug, number = f"{base}_{number}", number + 1
        taken[name] = slug
    return taken


def our_fields(data: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """Those of a unit's own fields whose names are ours."""
    ours = re.compile(rf"{re.escape(prefix)}({AGREEMENT}|{CONSENSUS}|{MAJORITY}|{RATERS}|{STATUS})(_[a-z0-9]+)*")
    return {key: value for key, value in data.items() if ours.fullmatch(key)}


def foreign_field(fields: Mapping[str, Any], prefix: str) -> str | None:
    """The first field whose value we would never have written, or None."""
    for name, value in fields.items():
        kind = name.removeprefix(prefix).split("_")[0]
        number = isinstance(value, int | float) and not isinstance(value, bool)
        plausible = {
            AGREEMENT: number and 0 <= value <= 1,
            CONSENSUS: number and 0 <= value <= 1,
            RATERS: number and value >= 0 and value == int(value),
            MAJORITY: isinstance(value, str),
            STATUS: value in STATUSES,
        }
        if not plausible[kind]:
            return name
    return None
