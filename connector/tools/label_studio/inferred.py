"""The questions of a Label Studio source that came without its label config: read off the results themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from connector.annotations.choices import EMPTY, UNREADABLE
from connector.annotations.model import (
    Annotation,
    Answer,
    Missing,
    PerItem,
    PerRegion,
    Question,
    Region,
    Unit,
    Value,
)
from connector.annotations.spans import whole
from connector.tools.label_studio.kinds import (
    READERS,
    SCALARS,
    Reader,
    Results,
    not_measured,
    only_choice,
    raws_of,
    read_labels,
    read_scalar,
    reader_of,
    region_reader,
    sort_results,
    span_reader,
)
from connector.tools.label_studio.marked import (
    NOWHERE,
    RelationReader,
    about_regions,
    marks_of,
    one_answer,
    reading_places,
)
from connector.tools.label_studio.regions import is_region
from connector.tools.label_studio.spans import POSITIONS

NOT_SHOWN = Missing("not_shown")
NOTHING_TO_ASK = Missing("nothing_to_ask")
NO_PART = "?"
"""Stands for the part of a task of an answer that should be about one and is not."""
PER_REGION = (
    "this form of export does not tell which region or image an answer is about, nor which two a relation joins"
)


@dataclass(slots=True)
class Labels:
    """What the labels of one control looked like so far: the kind grows from one label to a set to a set of paths."""

    several: bool = False
    nested: bool = False

    def note(self, value: Value | Missing) -> None:
        """Take in one value."""
        if type(value) is tuple and value:
            self.nested = self.nested or isinstance(value[0], tuple)
            self.several = True

    @property
    def kind(self) -> str:
        """The kind that holds all of them."""
        return "paths" if self.nested else "choices" if self.several else "choice"


class InferredSchema:
    """A growing schema: `questions` is right after the last unit."""

    def __init__(self) -> None:
        self._types: dict[str, str] = {}
        self._labels: dict[str, Labels] = {}
        self._whole: dict[str, tuple[str, Reader]] = {}
        self._others: dict[str, Question] = {}
        self._known: dict[tuple[str, str], Mapping[str, Answer]] = {}
        self._task: _Task | None = None
        self._by_itself: dict[str, Reader] = {}
        self._relations: str | None = None
        self._relation_reader = RelationReader(Counter())

    @property
    def questions(self) -> Mapping[str, Question]:
        """Every control that a result named: its type is its first result's."""
        measured = {name: Question(name, self._kind(name, kind), inferred=True) for name, kind in self._types.items()}
        whole = {
            name: Question(name, reader.kind, inferred=True, position=POSITIONS.get(kind))
            for name, (kind, reader) in self._whole.items()
        }
        related = {self._relations: Question(self._relations, "relations", inferred=True)} if self._relations else {}
        return {**self._others, **measured, **whole, **related}

    @property
    def mended(self) -> Mapping[str, Mapping[str, int]]:
        """By question and code, what was mended or left out while its answers were read."""
        found = {name: dict(+reader.mended) for name, (_, reader) in self._whole.items() if reader.mended}
        return {**found, self._relations: dict(+self._relation_reader.notes)} if self._relations else found

    def answers(self, annotation: Annotation, unit: Unit) -> Mapping[str, Answer]:
        """The annotation's answers."""
        choice = only_choice(annotation.result)
        if choice is None:
            return self._answers(annotation, unit)
        known = self._known.get(choice)
        if known is None:
            known = self._known[choice] = self._answers(annotation, unit)
        return known

    def _answers(self, annotation: Annotation, unit: Unit) -> Mapping[str, Answer]:
        if self._task is None or self._task.unit is not unit:
            self._task = _Task(unit)
        task = self._task
        results = task.results_of(annotation)
        for name, kind in results.others.items():
            if name not in self._others:
                self._others[name] = Question(name, kind, inferred=True, not_measured=not_measured(kind))
        found: dict[str, Answer] = {
            name: self._read(name, kind, raws, unit) for name, (kind, raws) in results.answers.items()
        }
        # of a control that an annotation does not speak of nothing is said here: later ones are not known yet
        for name, (kind, given) in results.whole.items():
            found[name] = self._read(name, kind, given, unit)
        for name, kind in results.others.items():
            if kind in READERS:
                # something was marked that is nowhere, if this is a control of marks
                found.setdefault(name, UNREADABLE)
        if task.about or task.related:
            found |= self._about_parts(task, results)
        return found

    def _about_parts(self, task: _Task, results: Results) -> dict[str, Answer]:
        """What is said of images and regions, and the relations; of all regions if anybody spoke of them."""
        found: dict[str, Answer] = {}
        marks = marks_of(results, task.unit, self._reader_by_itself)
        if task.related:
            self._relations = self._relations or _free_name(self._types.keys() | self._whole.keys())
            found[self._relations] = self._relation_reader.read(results.relations, marks)
        for name, (kind, objects) in task.about.items():
            given = results.per_region.get(name, (kind, []))[1]
            whole_task = {NO_PART: UNREADABLE} if name in results.answers or name in results.whole else {}
            if objects is None:
                by_image: dict[str, list[Any]] = {}
                for one in given:
                    by_image.setdefault(str(whole(one["item_index"])), []).append(one)
                read = {image: self._read(name, kind, raws_of(kind, own), task.unit) for image, own in by_image.items()}
                if read or whole_task:
                    found[name] = PerItem({**read, **whole_task})
                continue
            asked: dict[Region, Value | Missing] = {NOWHERE.region: UNREADABLE} if whole_task else {}
            for mark, own in about_regions(given, marks, task.unit, self._reader_by_itself):
                if not own and mark.region.on and objects and mark.region.on not in objects:
                    continue
                value = self._read(name, kind, raws_of(kind, own), task.unit) if own else EMPTY
                if mark is NOWHERE and type(value) is not Missing:
                    value = UNREADABLE
                asked[mark.region] = one_answer(asked.get(mark.region), value)
            found[name] = PerRegion(asked) if asked else NOTHING_TO_ASK
        return found

    def _reader_by_itself(self, one: Mapping[str, Any]) -> Reader | None:
        """Of a result that is a region, or that is about one without a result of its own."""
        name, kind = one.get("from_name"), one.get("type")
        if not isinstance(name, str) or not isinstance(kind, str):
            return None
        if name not in self._by_itself:
            if kind in READERS and READERS[kind].region:
                reader = reader_of(kind, name, [one])
            else:
                reader = reading_places(name, region_reader(name) if is_region(one) else span_reader(name))
            self._by_itself[name] = reader
        return self._by_itself[name]

    def _read(self, name: str, kind: str, raws: Sequence[Any], unit: Unit) -> Value | Missing:
        if kind in READERS:
            known = self._whole.get(name)
            if known is None:
                known = self._whole[name] = kind, reader_of(kind, name, raws)
            return known[1].read(raws, unit) if known[0] == kind else UNREADABLE
        if self._types.setdefault(name, kind) != kind:
            return UNREADABLE
        if kind in SCALARS:
            return read_scalar(kind, raws)
        value = read_labels(raws, paths=kind == "taxonomy")
        if type(value) is not str:
            self._labels.setdefault(name, Labels()).note(value)
        return value

    def _kind(self, name: str, kind: str) -> str:
        if kind in SCALARS:
            return SCALARS[kind]
        if kind == "pairwise":
            return "pairwise"
        if kind == "taxonomy":
            return "paths"
        return self._labels.get(name, Labels()).kind


class _Task:
    """What the annotations of one task speak of together: who is silent on a region was asked about it all the same.

    about : control -> its type, and the objects whose regions it speaks of; None: it speaks of whole images.
    related : somebody drew a relation.
    """

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.about: dict[str, tuple[str, set[str] | None]] = {}
        self.related = False
        self._results: dict[int, Results] = {}
        for annotation in unit.annotations:
            if annotation.status == "submitted" and only_choice(annotation.result) is None:
                results = self._results[id(annotation.result)] = sort_results(annotation.result)
                self.related = self.related or bool(results.relations)
                for name, (kind, given) in results.per_region.items():
                    self._note(name, kind, given)

    def results_of(self, annotation: Annotation) -> Results:
        """The annotation's results, sorted."""
        known = self._results.get(id(annotation.result))
        return sort_results(annotation.result) if known is None else known

    def _note(self, name: str, kind: str, given: Sequence[Any]) -> None:
        known, objects = self.about.get(name, (kind, None))
        if not all(map(_is_of_image, given)):
            objects = (objects or set()) | {on for one in given if isinstance(on := one.get("to_name"), str)}
        self.about[name] = known, objects


def _is_of_image(one: Mapping[str, Any]) -> bool:
    """Whether a result is about one image of several as a whole."""
    value = one.get("value")
    return whole(one.get("item_index")) is not None and isinstance(value, dict) and len(value) == 1


def _free_name(taken: Collection[str]) -> str:
    return "relations" if "relations" not in taken else "relations_2"
