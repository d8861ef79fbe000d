"""Rankings of items, ties and all. A value is a tuple of (item, rank), sorted by item; ranks count from 1."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from connector.annotations.choices import EMPTY, UNREADABLE, label
from connector.annotations.kind import Kind
from connector.annotations.model import Missing, Question, Value
from connector.annotations.scalars import number

BY_TASK = "kendall_by_task"


def ranking(pairs: Iterable[tuple[Any, Any]]) -> Value | Missing:
    """A ranking from items with their ranks, of which the order alone matters: (1, 5, 5) and (1, 2, 2) are the same.

    An item twice, or one without a rank, makes it unreadable.
    """
    found: dict[str, float] = {}
    for raw, place in pairs:
        item, rank = label(raw), number(place)
        if not isinstance(item, str) or not isinstance(rank, float) or item in found:
            return UNREADABLE
        found[item] = rank
    order = {rank: float(place) for place, rank in enumerate(sorted(set(found.values())), start=1)}
    return tuple(sorted((item, order[rank]) for item, rank in found.items())) if found else EMPTY


def in_buckets(buckets: Iterable[Iterable[Any]]) -> Value | Missing:
    """A ranking from ordered buckets, best first; the items of one bucket are tied."""
    return ranking((item, place) for place, bucket in enumerate(buckets) for item in bucket)


def as_ranking(value: Value) -> Value | Missing:
    """A ranking from pairs of item and rank."""
    pairs = isinstance(value, tuple) and all(isinstance(one, tuple) and len(one) == 2 for one in value)
    return ranking(value) if pairs and isinstance(value, tuple) else UNREADABLE


def renamed(value: Any, relabel: Mapping[str, str]) -> Value | Missing:
    """The ranking with new names of its items."""
    return ranking((relabel.get(item, item), rank) for item, rank in value)


def settled(question: Question, units: Sequence[int], values: Sequence[Any]) -> tuple[Question, Sequence[Value]]:
    """Rankings of items that differ by task are compared within each task alone, and no gate rests on them unasked."""
    if question.categories is not None:
        return question, values
    items: dict[int, set[str]] = {}
    for unit, value in zip(units, values, strict=True):
        items.setdefault(unit, set()).update(item for item, _ in value)
    if len(set(map(frozenset, items.values()))) < 2:
        return question, values
    return replace(question, distance=BY_TASK, required=False), values


def shown(value: Any) -> str:
    """The order for people, best first.

    >>> shown((("a", 2.0), ("b", 1.0), ("c", 2.0)))
    'b > a = c'
    """
    by_rank = sorted(value, key=lambda one: (one[1], one[0]))
    return " > ".join(" = ".join(item for item, _ in tied) for _, tied in groupby(by_rank, key=lambda one: one[1]))


def items_of(value: Any) -> list[str]:
    """The items ranked."""
    return [item for item, _ in value]


RANKING = Kind(
    distances=("kendall", BY_TASK, "nominal"),
    canonical=as_ranking,
    parts=items_of,
    rename=renamed,
    settle=settled,
    text=shown,
)
"""Compared by Kendall's distance where all tasks share their items, else within each task."""
