"""Relations that a rater drew between the regions marked in a task.

An answer as it is read is a tuple of (region, label, region, direction), the regions as `model.Region`; once those of
all raters are matched, each region is a tuple of its name, one for all raters, and its place for people. The direction
is ARROW from the first region to the second, or BOTH ways, with the regions in order. A relation with several labels is
one for each, one without a label has "". An answer without relations says that there are none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from connector.agreement.relations import JACCARD_OF_RELATIONS, MASI_OF_RELATIONS
from connector.annotations.choices import UNREADABLE
from connector.annotations.kind import Kind
from connector.annotations.model import Missing, Region, Value
from connector.annotations.regions import regions_text
from connector.annotations.spans import spans_text

ARROW, BOTH = "->", "<->"
NOTHING = "(none)"
NOTES = {
    "loose": "relations to a region that is not there or cannot be read, left out",
    "repeated": "relations drawn twice by one rater, counted once",
}
"""What is counted while relations are read, by code."""


def as_relations(value: Value) -> Value | Missing:
    """A tuple of relations."""
    return value if MASI_OF_RELATIONS.comparable(value) else UNREADABLE


def labels_of(value: Any) -> list[str]:
    """The labels that an answer's relations carry, each once."""
    return list(dict.fromkeys(label for _, label, _, _ in value if label))


def relabelled(value: Any, relabel: Mapping[str, str]) -> Value | Missing:
    """The answer with its labels renamed."""
    return tuple(dict.fromkeys((a, relabel.get(label, label), b, direction) for a, label, b, direction in value))


def between(value: Any, name: Callable[[Region], tuple[str, str] | None]) -> Value:
    """The answer with matched regions in the place of the rater's own; a relation to one without a name is left out."""
    found = set()
    for start, label, end, direction in value:
        a, b = name(start), name(end)
        if a is not None and b is not None:
            found.add((min(a, b), label, max(a, b), direction) if direction == BOTH else (a, label, b, direction))
    return tuple(sorted(found))


def place_text(region: Region) -> str:
    """A region for people.

    >>> place_text(Region("text", ((0, 3, ("PER",)),)))
    '0-3 PER'
    """
    first, last = region.parts[0], region.parts[-1]
    if len(first) == 3:
        return spans_text((0, region.parts))
    text = regions_text((first,))
    return text if first is last else f"{text} to frame {last[3]}"


def relations_text(value: Any) -> str:
    """An answer or a label for people.

    >>> relations_text(((("7#1", "0-3 PER"), "lives_in", ("7#2", "13-17 LOC"), "->"),))
    '0-3 PER -> lives_in -> 13-17 LOC'
    """
    if isinstance(value, str):
        return value
    return "; ".join(_relation_text(*one) for one in value) or NOTHING


def _relation_text(start: tuple[str, str], label: str, end: tuple[str, str], direction: str) -> str:
    steps = [start[1], label, end[1]] if label else [start[1], end[1]]
    return f" {direction} ".join(steps)


RELATIONS = Kind(
    distances=(MASI_OF_RELATIONS.name, JACCARD_OF_RELATIONS.name, "nominal"),
    comparisons=(MASI_OF_RELATIONS, JACCARD_OF_RELATIONS),
    canonical=as_relations,
    parts=labels_of,
    nothing=(),
    empty="none",
    rename=relabelled,
    between=between,
    text=relations_text,
    notes=NOTES,
)
