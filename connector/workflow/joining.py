"""Several sources as one table: what its units and raters are called, and the tasks behind each unit.

    tasks of every source -> units under one name -> the table -> each source's own tasks again

One source without a `unit_key` or a map of raters passes through as it is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from connector.annotations.choices import label
from connector.annotations.collect import Table
from connector.annotations.display import counted, few
from connector.annotations.model import Annotation, Answer, Missing, Question, Schema, Unit
from connector.annotations.order import natural_key
from connector.config import Settings
from connector.errors import SkippedTask
from connector.tools.base import Project
from connector.workflow.questions import differing_labels, joined_questions

NOT_ASKED = Missing("not_shown")


def _no_notes() -> Sequence[str]:
    return ()


def _complete() -> str | None:
    return None


class Reading(NamedTuple):
    """One going-through of a source: its units, and what it asks, complete after the last of them.

    notes : sentences about a file for the report. incomplete : why it is not all there is, where that shows.
    """

    schema: Schema
    units: Iterable[Unit | SkippedTask]
    notes: Callable[[], Sequence[str]] = _no_notes
    incomplete: Callable[[], str | None] = _complete


@dataclass(frozen=True, slots=True)
class Part:
    """One source of a table.

    name : in ids. asked : the questions that are known before a unit is read. read : goes through it once more.
    project : what the tool says of it; None for a file. unit_is_key : a unit's id is what `unit_key` names.
    noun : what people call one of its units: a task, a record.
    """

    name: str
    asked: Mapping[str, Question]
    read: Callable[[], Reading]
    project: Project | None = None
    unit_is_key: bool = False
    noun: str = "task"


@dataclass(slots=True)
class Found:
    """What was met in a source on the way.

    tasks : how many came, malformed ones among them. malformed : how many of those there were.
    unit_of : task -> the table's unit. units : the same the other way; a unit may stand on several tasks.
    keyless : tasks without the field of `unit_key`; fields : those of the first of them.
    short : tasks that declare more submitted annotations than came. copies : times a task came again.
    raters : the ids that were met. notes, incomplete : as of `Reading`.
    """

    tasks: int = 0
    malformed: int = 0
    unit_of: dict[str, str] = field(default_factory=dict)
    units: dict[str, list[str]] = field(default_factory=dict)
    keyless: list[str] = field(default_factory=list)
    fields: tuple[str, ...] = ()
    short: dict[str, None] = field(default_factory=dict)
    copies: int = 0
    raters: set[str] = field(default_factory=set)
    notes: Sequence[str] = ()
    incomplete: str | None = None


class Joined:
    """The sources of one table.

    `read` goes through all of them; what it met stands in `found`, by source, complete after the last unit. `renames`
    says whether units and raters may bear other names than in their source.
    """

    def __init__(self, parts: Sequence[Part], settings: Settings) -> None:
        self.parts = tuple(parts)
        self.key = settings.unit_key
        self._settings = settings
        self.renames = len(parts) > 1 or settings.unit_key is not None or _names_accounts(parts, settings)
        self._names = [_Names(part, place, self.parts, settings) for place, part in enumerate(self.parts)]
        self.found = [Found() for _ in self.parts]
        self._holders: dict[str, list[tuple[int, str]]] | None = None

    @property
    def noun(self) -> str:
        """What people call a unit of the table: as its only source does, or where several tasks may be one, a unit."""
        return self.parts[0].noun if len(self.parts) == 1 and self.key is None else "unit"

    def check(self) -> None:
        """Raise FixConfiguration where sources ask questions of one name that are not one question."""
        joined_questions({part.name: part.asked for part in self.parts}, self._asking(), self._settings.questions)

    def read(self) -> Reading:
        """Every unit of every source, source by source; one that stands in several comes several times."""
        self.found = [Found() for _ in self.parts]
        self._holders = None
        if not self.renames:
            (part,) = self.parts
            reading = part.read()
            return Reading(reading.schema, self._noted(0, reading.units))
        schema = _JoinedSchema(self._questions, self._names, self.found)
        return Reading(schema, self._all(schema))

    def finished(self, table: Table) -> Table:
        """The table with what only its sources can tell, once it was read whole."""
        if not self.renames:
            return table
        short = [
            name.unit_alone(task) for name, found in zip(self._names, self.found, strict=True) for task in found.short
        ]
        return replace(table, incomplete=short, copies=sum(found.copies for found in self.found))

    def own(self, place: int, values: Mapping[str, str | float]) -> dict[str, str | float]:
        """Values by the table's units -> by the tasks of one source."""
        tasks = self.found[place].units
        return {task: value for unit, value in values.items() for task in tasks.get(unit, ())}

    def names_of(self, place: int, tasks: Iterable[str]) -> set[str]:
        """The units of these tasks of one source, whether they came in the last reading or not."""
        unit_of = self.found[place].unit_of
        return {unit_of.get(task) or self._names[place].unit_alone(task) for task in tasks}

    def holders(self, unit: str) -> list[tuple[int, str]]:
        """The tasks behind a unit, with the places of their sources, in the order of the sources."""
        if self._holders is None:
            self._holders = {}
            for place, found in enumerate(self.found):
                for name, tasks in found.units.items():
                    self._holders.setdefault(name, []).extend((place, task) for task in tasks)
        return self._holders.get(unit, [])

    def rater(self, place: int, rater: str) -> str:
        """What a rater of a source is called in the table."""
        return self._names[place].rater(rater) if self.renames else rater

    def accounts(self, place: int) -> Mapping[str, tuple[str, ...]] | None:
        """The table's raters -> their ids in a source; None where they are called by these."""
        if not self.renames:
            return None
        found: dict[str, tuple[str, ...]] = {}
        for rater in sorted(self.found[place].raters):
            name = self._names[place].rater(rater)
            found[name] = (*found.get(name, ()), rater)
        return found

    def notes(self) -> list[str]:
        """Sentences on how the sources came together, for people."""
        if not self.renames:
            return []
        notes = [self._overview()] if len(self.parts) > 1 or self.key else []
        for part, found in zip(self.parts, self.found, strict=True):
            notes += _key_notes(part, found, self.key)
            notes += [f"{part.name}: {note}" for note in (*found.notes, found.incomplete) if note]
        notes += differing_labels({part.name: part.asked for part in self.parts}, self._settings.questions)
        return notes + self._absent_raters()

    def listed(self) -> list[dict[str, Any]]:
        """The sources as plain data, for a report."""
        return [
            {
                "name": part.name,
                "title": None if part.project is None else part.project.title,
                "link": None if part.project is None else part.project.link,
                "tasks": found.tasks - found.malformed,
                "malformed": found.malformed,
                "without_unit_key": len(found.keyless) if self.key is not None else None,
            }
            for part, found in zip(self.parts, self.found, strict=True)
        ]

    def _all(self, schema: _JoinedSchema) -> Iterator[Unit | SkippedTask]:
        for place, part in enumerate(self.parts):
            reading = part.read()
            schema.schemas[place] = reading.schema
            for one in reading.units:
                yield self._renamed(place, one)
            self.found[place].notes, self.found[place].incomplete = reading.notes(), reading.incomplete()

    def _noted(self, place: int, units: Iterable[Unit | SkippedTask]) -> Iterator[Unit | SkippedTask]:
        found = self.found[place]
        for one in units:
            found.tasks += 1
            if isinstance(one, SkippedTask):
                found.malformed += 1
            else:
                found.unit_of[one.id] = one.id
                found.units[one.id] = [one.id]
            yield one

    def _renamed(self, place: int, one: Unit | SkippedTask) -> Unit | SkippedTask:
        found, names = self.found[place], self._names[place]
        found.tasks += 1
        if isinstance(one, SkippedTask):
            found.malformed += 1
            return SkippedTask(names.unit_alone(one.unit), one.reason)
        unit, keyed = names.unit(one)
        again = found.unit_of.get(one.id) == unit.id
        found.copies += again
        if not again:
            found.unit_of[one.id] = unit.id
            found.units.setdefault(unit.id, []).append(one.id)
            if not keyed:
                found.keyless.append(one.id)
                found.fields = found.fields or tuple(one.data)
        _note_shortfall(found, one, again=again)
        found.raters.update(rating.rater for rating in one.annotations if rating.rater is not None)
        return unit

    def _asking(self) -> dict[str, frozenset[str]]:
        """Question -> the sources that ask it."""
        asked: dict[str, set[str]] = {}
        for part in self.parts:
            for name in part.asked:
                asked.setdefault(name, set()).add(part.name)
        return {name: frozenset(sources) for name, sources in asked.items()}

    def _questions(self, schemas: Sequence[Schema | None]) -> Mapping[str, Question]:
        known = {
            part.name: part.asked if schema is None else schema.questions
            for part, schema in zip(self.parts, schemas, strict=True)
        }
        return joined_questions(known, self._asking(), self._settings.questions)

    def _overview(self) -> str:
        parts = [
            f"{part.name} ({counted(found.tasks, part.noun)})"
            for part, found in zip(self.parts, self.found, strict=True)
        ]
        several = " or ".join(dict.fromkeys(f"{part.noun}s" for part in self.parts))
        units = {unit for found in self.found for unit in found.units}
        shared = sum(len(self.holders(unit)) > 1 for unit in units)
        joined = (
            f"; {shared:,} of {counted(len(units), 'unit')} join several {several} by {self.key}" if self.key else ""
        )
        return f"One table of {', '.join(parts)}{joined}."

    def _absent_raters(self) -> list[str]:
        met = {name for part, found in zip(self.parts, self.found, strict=True) for name in _accounts(part, found)}
        if len(self.parts) == 1:
            met |= self.found[0].raters
        absent = sorted((rater for rater in self._settings.raters.map if rater not in met), key=natural_key)
        return [f"raters.map names raters who have rated nothing: {few(absent)}."] if absent else []


class _Names:
    """What the units, raters and annotations of one source are called in the table."""

    def __init__(self, part: Part, place: int, parts: Sequence[Part], settings: Settings) -> None:
        self.source = part.name
        self._unit_is_key = part.unit_is_key
        self._place = place
        self._several = len(parts) > 1
        self._key = settings.unit_key
        self._map = settings.raters.map
        self._apart = {*settings.raters.reviewers, *settings.raters.exclude}
        self._known: dict[str, str] = {}
        listed = "|".join(re.escape(one.name) for one in parts)
        self._like_ours = re.compile(rf"(key:)*({listed})/")
        self.gaps: Mapping[str, Missing] = {
            name: NOT_ASKED for one in parts for name in one.asked if name not in part.asked
        }

    def unit(self, task: Unit) -> tuple[Unit, bool]:
        """The task as the unit it belongs to, and whether it holds the key (True where none is set)."""
        key = None if self._key is None else self._key_of(task)
        name = self.unit_alone(task.id) if key is None else key
        ratings = [self._annotation(one, task.id) for one in task.annotations]
        # What a task declares is held against what it holds before several become one.
        return task._replace(id=name, annotations=ratings, declared=None), key is not None or self._key is None

    def unit_alone(self, task: str) -> str:
        """What a task is called that has no key of its own."""
        return f"{self.source}/{task}" if self._several or self._key is not None else task

    def rater(self, rater: str) -> str:
        """What a rater is called: as the map says, else by id, with the source where there are several."""
        name = self._known.get(rater)
        if name is None:
            name = self._known[rater] = self._rater(rater)
        return name

    def _rater(self, rater: str) -> str:
        account = f"{self.source}/{rater}"
        if account in self._apart:  # this account alone is left out, not the person
            return account
        if self._several:
            return self._map.get(account, account)
        return rater if rater in self._apart else self._map.get(account) or self._map.get(rater, rater)

    def _key_of(self, task: Unit) -> str | None:
        found = as_key(task.id if self._unit_is_key else task.data.get(self._key or ""))
        # A key must not be taken for the name of a task without one.
        return f"key:{found}" if found is not None and self._like_ours.match(found) else found

    def _annotation(self, one: Annotation, task: str) -> Annotation:
        return one._replace(
            id=_marked(one.id, task, self._place),
            rater=None if one.rater is None else self.rater(one.rater),
            updated_by=None if one.updated_by is None else self.rater(one.updated_by),
        )


class _JoinedSchema:
    """The questions of all sources; each answer is read as its own source's schema says.

    schemas : of each source, None until it is read.
    """

    def __init__(
        self,
        questions: Callable[[Sequence[Schema | None]], Mapping[str, Question]],
        names: Sequence[_Names],
        found: Sequence[Found],
    ) -> None:
        self._questions = questions
        self._names = names
        self._found = found
        self.schemas: list[Schema | None] = [None] * len(names)

    @property
    def questions(self) -> Mapping[str, Question]:
        return self._questions(self.schemas)

    @property
    def notes(self) -> Sequence[str]:
        return [
            f"{names.source}: {note}"
            for names, schema in zip(self._names, self.schemas, strict=True)
            for note in getattr(schema, "notes", ())
        ]

    @property
    def mended(self) -> Mapping[str, Mapping[str, int]]:
        found: dict[str, Counter[str]] = {}
        for schema in self.schemas:
            for name, counts in getattr(schema, "mended", {}).items():
                found.setdefault(name, Counter()).update(counts)
        return found

    def answers(self, annotation: Annotation, unit: Unit) -> Mapping[str, Answer]:
        task, place = _unmarked(annotation.id)
        schema, names = self.schemas[place], self._names[place]
        assert schema is not None, "a source's annotations come after its schema"
        try:
            answers = schema.answers(annotation, unit)
        except SkippedTask as malformed:
            self._found[place].malformed += 1
            raise SkippedTask(names.unit_alone(task), malformed.reason) from None
        return {**names.gaps, **answers} if names.gaps else answers


def as_key(value: Any) -> str | None:
    """The text of a unit's key: 1, 1.0 and "1" are one; blanks at its ends do not count. None where there is none."""
    found = label(value)
    return found.strip() if isinstance(found, str) else None


def _marked(annotation: str, task: str, place: int) -> str:
    """An annotation's id that no other of the unit has; of one length they sort as before, shorter ones first."""
    return f"{len(annotation):06}:{annotation}:{task}#{place}"


def _unmarked(annotation: str) -> tuple[str, int]:
    """The task and the source's place out of an id that `_marked` made."""
    rest, _, place = annotation.rpartition("#")
    return rest[8 + int(annotation[:6]) :], int(place)


def _note_shortfall(found: Found, task: Unit, *, again: bool) -> None:
    submitted = sum(one.status == "submitted" for one in task.annotations)
    if (task.declared or 0) <= submitted:
        found.short.pop(task.id, None)
    elif not again:
        found.short[task.id] = None


def _names_accounts(parts: Sequence[Part], settings: Settings) -> bool:
    """Whether the settings call raters of one source by other names than their ids."""
    raters = settings.raters
    prefixes = tuple(f"{part.name}/" for part in parts)
    return bool(raters.map) or any(one.startswith(prefixes) for one in (*raters.reviewers, *raters.exclude))


def _accounts(part: Part, found: Found) -> Iterator[str]:
    return (f"{part.name}/{rater}" for rater in found.raters)


def _key_notes(part: Part, found: Found, key: str | None) -> Iterator[str]:
    if key is None:
        return
    name, n = part.name, len(found.keyless)
    if n:
        alone = "holds no" if n == 1 else "hold no", "stands" if n == 1 else "stand"
        yield (
            f"{name}: {n:,} of {counted(found.tasks, part.noun)} {alone[0]} {key} and {alone[1]} alone, as {name}/ID"
            f" ({few(found.keyless)})."
        )
    double = {unit: tasks for unit, tasks in found.units.items() if len(tasks) > 1}
    if double:
        tasks = sum(map(len, double.values()))
        yield (
            f"{name}: {tasks:,} {part.noun}s share their {key} with another of the same source"
            f" ({few(list(double))}): they are one unit each, and of a rater's several ratings the newest counts."
        )
