"""The regions that a Label Studio annotation holds, each by itself, and what speaks of them: answers about a region
carry its id, relations the ids of two."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from connector.annotations.choices import label_set
from connector.annotations.model import BetweenRegions, Missing, Region, Unit, Value
from connector.annotations.relations import ARROW, BOTH
from connector.tools.label_studio.kinds import READERS, Reader, Results, id_of
from connector.tools.label_studio.regions import is_region
from connector.tools.label_studio.spans import is_span

Result = Mapping[str, Any]
ReaderOf = Callable[[Result], Reader | None]
"""A result that is a region -> the reader of its control, one that reads nothing else; None: it is not to be read."""

EMPTY = Missing("empty")
UNREADABLE = Missing("unreadable")


class Mark(NamedTuple):
    """One region of an annotation, with the controls that made it, and their labels as they are stored."""

    region: Region
    controls: frozenset[str]
    labels: frozenset[str]


NOWHERE = Mark(Region("", ()), frozenset(), frozenset())
"""Stands for a region that is not there or cannot be read."""


def marks_of(results: Results, unit: Unit, reader_of: ReaderOf) -> dict[Any, Mark]:
    """The regions of an annotation by their ids; one without an id has a place of its own."""
    found: dict[Any, Mark] = {}
    for name, (kind, given) in results.whole.items():
        if not READERS[kind].region:
            continue
        for place, one in enumerate(given):
            mark = _mark(one, name, unit, reader_of(one))
            if mark is not None:
                known = id_of(one)
                ident: Any = (name, place) if known is None else known
                if ident in found and not _is_same_place(found[ident], mark):
                    # the id is taken: nothing that speaks of it speaks of this region
                    ident = name, place
                found[ident] = _joined(found[ident], mark) if ident in found else mark
    return found


def _is_same_place(one: Mark, other: Mark) -> bool:
    """Whether two results are of one region, as those of a control that draws and of one that names are."""
    places = [[(*part[:2], *part[3:]) for part in mark.region.parts] for mark in (one, other)]
    return one.region.on == other.region.on and places[0] == places[1]


def about_regions(
    given: Sequence[Result], marks: Mapping[Any, Mark], unit: Unit, reader_of: ReaderOf
) -> Iterator[tuple[Mark, list[Result]]]:
    """Every region with the results of one control about it; of a region without a result of its own those that speak
    of it tell the place."""
    found: dict[Any, list[Result]] = {}
    for one in given:
        found.setdefault(id_of(one), []).append(one)
    for ident, mark in marks.items():
        yield mark, found.pop(ident, [])
    for results in found.values():
        place = _place(results[0])
        reader = reader_of(results[0]) if is_span(place) or is_region(place) else None
        yield _mark(place, "", unit, reader) or NOWHERE, results


def reading_places(name: str, reader: Reader) -> Reader:
    """The reader of marks, made to read where the regions lie that results of another control speak of."""
    last: list[tuple[Unit, Unit]] = []

    def read(results: Sequence[Result], unit: Unit) -> Value | Missing:
        if not last or last[0][0] is not unit:
            places = [
                one._replace(result=[_place(result) for result in one.result if result.get("from_name") == name])
                for one in unit.annotations
            ]
            last[:] = [(unit, unit._replace(annotations=places))]
        return reader.read(results, last[0][1])

    return reader._replace(read=read)


def _place(one: Result) -> Result:
    """A result about a region as if it had made it: what it holds beside its place is an answer, and no label."""
    return {**one, "type": "labels"}


def one_answer(known: Value | Missing | None, value: Value | Missing) -> Value | Missing:
    """The answer about a region that a rater marked twice: the one that there is; two that differ are unreadable."""
    if known is None or known == EMPTY:
        return value
    return known if value in (known, EMPTY) else UNREADABLE


@dataclass(slots=True)
class RelationReader:
    """Reads the relations of annotations; `notes` counts what was left out."""

    notes: Counter[str]

    def read(self, results: Sequence[Result], marks: Mapping[Any, Mark]) -> BetweenRegions:
        """The relations of one annotation, between its regions by id."""
        found: Counter[tuple[Region, str, Region, str]] = Counter()
        for one in results:
            ends = [marks.get(one.get(end)) for end in ("from_id", "to_id") if _is_id(one.get(end))]
            start, end = ends if len(ends) == 2 else (None, None)
            if start is None or end is None:
                self.notes["loose"] += 1
                continue
            if one.get("direction") == "left":
                start, end = end, start
            direction = BOTH if one.get("direction") == "bi" else ARROW
            given = one.get("labels")
            labels = label_set(given if isinstance(given, list) else ())
            for label in ("",) if isinstance(labels, Missing) else labels:
                found[start.region, label, end.region, direction] += 1
        self.notes["repeated"] += found.total() - len(found)
        return BetweenRegions(tuple(found), tuple(dict.fromkeys(mark.region for mark in marks.values())))


def _mark(one: Result, name: str, unit: Unit, reader: Reader | None) -> Mark | None:
    value = None if reader is None else reader.read((one,), unit)
    if not isinstance(value, tuple) or reader is None:
        return None
    parts = value[1] if reader.kind == "spans" else value
    if not isinstance(parts, tuple) or not parts:
        return None
    given = one["value"].get(one["type"])
    labels = frozenset(map(str, given)) if isinstance(given, list) and name else frozenset[str]()
    on = one.get("to_name")
    return Mark(Region(on if isinstance(on, str) else "", parts), frozenset({name} - {""}), labels)


def _joined(one: Mark, other: Mark) -> Mark:
    """One region out of the results of two controls: of the one that drew it and of the one that named it."""
    labels = tuple(sorted({label for mark in (one, other) for label in _labels(mark.region.parts[0])}))
    parts = tuple((*part[:2], labels, *part[3:]) for part in one.region.parts)
    return Mark(one.region._replace(parts=parts), one.controls | other.controls, one.labels | other.labels)


def _labels(part: tuple[Any, ...]) -> Sequence[str]:
    found: Sequence[str] = part[2]
    return found


def _is_id(raw: Any) -> bool:
    return isinstance(raw, str | int)
