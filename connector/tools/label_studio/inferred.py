"""The questions of a Label Studio source that came without its label config: read off the results themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from connector.annotations.choices import UNREADABLE
from connector.annotations.kinds import NOT_MEASURED_YET
from connector.annotations.model import Annotation, Missing, Question, Unit, Value
from connector.tools.label_studio.kinds import (
    SCALARS,
    Reader,
    only_choice,
    read_labels,
    read_scalar,
    reader_of,
    sort_results,
)

PER_REGION = "answers about one region or item of a task are stored but not compared yet"


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
        self._known: dict[tuple[str, str], Mapping[str, Value | Missing]] = {}

    @property
    def questions(self) -> Mapping[str, Question]:
        """Every control that a result named: its type is its first result's."""
        measured = {name: Question(name, self._kind(name, kind), inferred=True) for name, kind in self._types.items()}
        whole = {name: Question(name, reader.kind, inferred=True) for name, (_, reader) in self._whole.items()}
        return {**self._others, **measured, **whole}

    @property
    def mended(self) -> Mapping[str, Mapping[str, int]]:
        """By question and code, what was mended or left out while its answers were read."""
        return {name: dict(+reader.mended) for name, (_, reader) in self._whole.items() if reader.mended}

    def answers(self, annotation: Annotation, unit: Unit) -> Mapping[str, Value | Missing]:
        """The annotation's task-level answers."""
        choice = only_choice(annotation.result)
        if choice is None:
            return self._answers(annotation, unit)
        known = self._known.get(choice)
        if known is None:
            known = self._known[choice] = self._answers(annotation, unit)
        return known

    def _answers(self, annotation: Annotation, unit: Unit) -> Mapping[str, Value | Missing]:
        results = sort_results(annotation.result)
        if results.others:
            for name, kind in results.others.items():
                if name not in self._others:
                    self._others[name] = Question(name, kind, inferred=True, not_measured=NOT_MEASURED_YET)
        if results.per_region:
            for name, kind in results.per_region.items():
                if name not in self._others:
                    self._others[name] = Question(name, kind, inferred=True, not_measured=PER_REGION)
        found = {name: self._read(name, kind, raws) for name, (kind, raws) in results.answers.items()}
        # of a control that an annotation does not speak of nothing is said here: later ones are not known yet
        for name, (kind, given) in results.whole.items():
            known = self._whole.get(name)
            if known is None:
                known = self._whole[name] = kind, reader_of(kind, name, given)
            found[name] = known[1].read(given, unit) if known[0] == kind else UNREADABLE
        return found

    def _read(self, name: str, kind: str, raws: list[object]) -> Value | Missing:
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
