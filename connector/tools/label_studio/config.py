"""A Label Studio label config (XML) -> what it asks its raters, and how their results are read.

The SDK's `LabelInterface` finds the controls; the tree it parsed says how choices nest and what is shown when.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal
from xml.parsers import expat

from connector.annotations.choices import EMPTY, UNREADABLE, Placed, label
from connector.annotations.kinds import KINDS
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
from connector.errors import FixConfiguration, InstallExtra
from connector.tools.label_studio.inferred import NO_PART, NOT_SHOWN, NOTHING_TO_ASK, PER_REGION, Labels
from connector.tools.label_studio.kinds import (
    READERS,
    Reader,
    Results,
    not_measured,
    only_choice,
    raws_of,
    read_labels,
    read_ranker,
    read_scalar,
    region_reader,
    sort_results,
    span_reader,
)
from connector.tools.label_studio.marked import (
    NOWHERE,
    Mark,
    RelationReader,
    about_regions,
    marks_of,
    one_answer,
    reading_places,
)
from connector.tools.label_studio.regions import REGION_TYPES
from connector.tools.label_studio.repeated import (
    NO_ITEM,
    USUAL_FLAG,
    Item,
    ItemView,
    RepeatedName,
    Repeater,
    resolved,
)
from connector.tools.label_studio.spans import POSITIONS, SPAN_TYPES, Source

STALE_CHILD = Missing("stale_child")

REPEATED = (
    "a Repeater makes one such control per item of a task, with choices from the task's data: those of different items"
    " are not comparable"
)
OWN_CHOICES_BY_REGION = "it asks about regions or items with choices from the task's data, which are not compared yet"
MARKS_REPEATED = "this form of export may leave out what was marked, or not shown, in the items of a Repeater"
LABELS_OF_VIDEO = "its labels are stored with the regions that carry them, and measured there"
DIFFERENT_CHOICES = "the choices come from each task's data and differ by task: not comparable, unless `by: position`"
NOT_IN_CONFIG = "the label config has no control of this name any more"

_KINDS = {"taxonomy": "paths", "rating": "rating", "number": "number", "pairwise": "pairwise", "datetime": "date"}
_DEFAULT_STARS = 5
RELATIONS = "relations"
"""The question that relations between regions answer; they name no control."""
_CONTINUA = frozenset({"text", "hypertext", "paragraphs", "audio", "audioplus", "timeseries"})
"""Object tags in which `Labels` mark stretches; in others they name shapes."""


Spellings = dict[tuple[str, ...], dict[str, str]]
"""Path of the parent choice -> every spelling of a choice under it (alias and value) -> the one that stands for it."""


@dataclass(frozen=True, slots=True)
class Condition:
    """One `visibleWhen`: what it asks, of which control (None: of any choices), for which labels (empty: for any)."""

    asks: str
    control: str | None
    labels: tuple[str, ...]


@dataclass(slots=True)
class Control:
    """One control of the config, or what a Repeater makes one of for each item.

    asks_of : what it asks about: the task (or an item of a Repeater), each region, or each image of several.
    on : the objects that it asks about or marks.
    steps : of the choices that the config declares.
    options : data field that holds a task's own choices. reader : of results that are read together.
    make : another such one, for an item of a Repeater; where it asks about regions, one that reads of such a result
        where its region lies.
    repeaters : those around it, the outermost first.
    """

    question: Question
    type: str
    asks_of: Literal["task", "region", "image"] = "task"
    on: tuple[str, ...] = ()
    written_as: str | None = None
    conditions: tuple[Condition, ...] = ()
    steps: Spellings = field(default_factory=dict)
    options: str | None = None
    reader: Reader | None = None
    make: Callable[[Item], Reader | None] | None = None
    repeaters: tuple[Repeater, ...] = ()


def schema_of(label_config: str) -> ConfiguredSchema:
    """The schema of a label config.

    Raises FixConfiguration for text that is not a label config, or that declares entities (a label config never does;
    such text is an attack), and InstallExtra without the SDK.
    """
    _refuse_declarations(label_config)
    try:
        from label_studio_sdk.label_interface import LabelInterface
    except ImportError as absent:
        raise InstallExtra("label-studio", "Reading a label config") from absent
    text = re.sub(r"^\s*<\?xml[^>]*\?>", "", label_config)
    try:
        controls, _objects, _labels, tree = LabelInterface(text).parse(text)
    except Exception as fault:  # the SDK raises whatever its parsers raise
        raise FixConfiguration(f"The label config cannot be read: {fault}") from fault
    # a name does not make a control of what declares the relations' labels
    asking = [tag for tag in controls.values() if tag.tag.lower() != "relations"]
    elements = [_element(tree, tag) for tag in asking]
    found = [_control(one.tag, tag.name, one) for tag, one in zip(asking, elements, strict=True)]
    known = {one.question.name for one in found}
    # a text area beside what it is about need not say what that is; to the SDK it is no control then
    found += [
        _control(one.tag, one.get("name"), one)
        for one in tree.iter()
        if str(one.tag).lower() == "textarea" and one.get("name") and one.get("name") not in known
    ]
    return ConfiguredSchema(found, _relations(tree))


class ConfiguredSchema:
    """The questions of a label config. Controls that only results know of are added as they come, as not measured."""

    def __init__(self, controls: Sequence[Control], relations: tuple[str, ...] | None = None) -> None:
        """`relations` : the labels that the config declares for relations; None: it does not speak of any."""
        self._controls = {one.question.name: one for one in controls}
        self._repeated = {name: RepeatedName(name) for name in self._controls if "{{" in name}
        self._found: dict[str, tuple[Control, Item] | None] = {}
        self._conditional = [
            name
            for name, one in self._controls.items()
            if one.conditions and _measured(one) and one.asks_of == "task" and name not in self._repeated
        ]
        conditions = [condition for one in self._controls.values() for condition in one.conditions]
        self._hangs_on_regions = any(one.asks == "region-selected" for one in conditions)
        # a condition without a control asks all choices
        named = {one.control for one in conditions}
        self._asked = [name for name, one in self._controls.items() if None in named or name in named]
        self._seen: dict[tuple[Value | None, ...], Mapping[str, bool | None]] = {}
        self._dynamic = {name: Labels() for name, one in self._controls.items() if one.options is not None}
        self._options: dict[str, Any] = {}
        self._spellings: dict[str, tuple[Any, Spellings]] = {}
        self._differ: set[str] = set()
        self._strangers: dict[str, Question] = {}
        self._always = {
            name: one.reader
            for name, one in self._controls.items()
            if one.reader is not None and one.reader.always and _measured(one) and name not in self._repeated
        }
        self._by_region = [name for name, one in self._controls.items() if one.asks_of == "region" and _measured(one)]
        self._readers: dict[tuple[str, bool], Reader | None] = {}
        self._relations = _free_name(self._controls)
        self._declared = relations
        self._regions_lost = False
        self._related = _Related()
        self._relation_reader = RelationReader(Counter())
        # an answer that hangs on nothing but its label is read once per label
        hangs = self._conditional or self._dynamic or self._always or self._repeated
        self._known: dict[tuple[str, str], Mapping[str, Answer]] | None = None if hangs else {}

    @property
    def questions(self) -> Mapping[str, Question]:
        """Every control of the config in its order, then relations, then controls that only results name."""
        found = {name: self._question(name, one) for name, one in self._controls.items()}
        if self._declared is not None or self._related.ever:
            found[self._relations] = Question(
                self._relations,
                RELATIONS,
                categories=self._declared or None,
                required=self._declared is not None,
                inferred=self._declared is None,
                not_measured=PER_REGION if self._regions_lost else None,
            )
        return {**found, **self._strangers}

    @property
    def mended(self) -> Mapping[str, Mapping[str, int]]:
        """By question and code, what was mended or left out while its answers were read."""
        found: dict[str, Counter[str]] = {self._relations: self._relation_reader.notes}
        for name, one in self._controls.items():
            if one.reader is not None and one.reader.mended:
                found[name] = one.reader.mended
        for (name, by_itself), reader in self._readers.items():
            of_item = self._of_item(name)
            if of_item is not None and reader is not None and reader.mended and not by_itself:
                found.setdefault(of_item[0].question.name, Counter()).update(reader.mended)
        return {name: dict(+counts) for name, counts in found.items() if +counts}

    def answers(self, annotation: Annotation, unit: Unit) -> Mapping[str, Answer]:
        """The annotation's answers to the config's questions, conditions applied."""
        choice = None if self._known is None else only_choice(annotation.result)
        if choice is None or self._known is None:
            return self._answers(annotation, unit)
        known = self._known.get(choice)
        if known is None:
            known = self._known[choice] = self._answers(annotation, unit)
        return known

    def lose_regions(self) -> None:
        """Note that the source does not tell which region or image an answer belongs to, nor which two a relation, and
        that what was marked in a Repeater may be left out of it."""
        self._regions_lost = True
        self._by_region = []
        for name, control in self._controls.items():
            lost = MARKS_REPEATED if name in self._repeated and self._fills(name) else None
            lost = PER_REGION if control.asks_of != "task" else lost
            if lost is not None and control.question.not_measured is None:
                control.question = replace(control.question, not_measured=lost)

    def _answers(self, annotation: Annotation, unit: Unit) -> Mapping[str, Answer]:
        results = sort_results(annotation.result)
        if results.others:
            self._note_strangers(results.others)
        found, parts = self._given(results, unit)
        if self._dynamic:
            self._note_options(unit)
        if self._conditional:
            self._apply_conditions(found, results, annotation)
        # a control that was not shown says nothing, not that there is nothing
        for name, reader in self._always.items():
            if name not in found:
                found[name] = reader.read((), unit)
        for name in self._dynamic:
            found |= self._placed(name, found.get(name), unit)
        if self._repeated:
            self._settle_items(parts, found, results, annotation, unit)
        answers: dict[str, Answer] = {**found, **{name: PerItem(of_parts) for name, of_parts in parts.items()}}
        for name in self._repeated:
            if not parts.get(name) and self._has_no_items(name, unit):
                answers[name] = NOTHING_TO_ASK
        related = not self._regions_lost and self._related.has(unit, declared=self._declared is not None)
        if self._by_region or related:
            marks = marks_of(results, unit, self._reader_by_itself)
            if related:
                answers[self._relations] = self._relation_reader.read(results.relations, marks)
            if self._by_region:
                answers |= self._about_regions(results, marks, found, parts, annotation, unit)
        return answers

    def _given(
        self, results: Results, unit: Unit
    ) -> tuple[dict[str, Value | Missing], dict[str, dict[str, Value | Missing]]]:
        """The answers about the task, and those about its items or images; conditions are not looked at."""
        found: dict[str, Value | Missing] = {}
        parts: dict[str, dict[str, Value | Missing]] = {}
        given = {**results.answers, **results.whole} if results.whole else results.answers
        for name, (kind, raws) in given.items():
            known = self._control_of(name, kind)
            if known is None or not _measured(known[0]):
                continue
            control, item = known
            if control.asks_of != "task":
                # the config asks about parts of the task, the result speaks of all of it
                parts.setdefault(control.question.name, {})[NO_PART] = UNREADABLE
            elif item.places:
                own = parts.setdefault(control.question.name, {})
                own[item.name] = self._read(control, kind, raws, unit, name)
            else:
                found[name] = self._read(control, kind, raws, unit, name)
        for name, (kind, about) in results.per_region.items():
            known = self._control_of(name, kind)
            if known is None or not _measured(known[0]) or known[0].asks_of == "region":
                continue
            control, item = known
            if control.asks_of == "image":
                parts.setdefault(name, {}).update(self._by_image(control, kind, about, unit))
            elif item.places:
                parts.setdefault(control.question.name, {}).setdefault(item.name, UNREADABLE)
            else:
                # the config asks about the task, the result speaks of a region: no answer, and not nothing either
                found.setdefault(name, UNREADABLE)
        for name in results.others:
            known = (self._controls[name], NO_ITEM) if name in self._controls else self._of_item(name)
            if known is None or known[0].reader is None or known[0].asks_of != "task" or not _measured(known[0]):
                continue
            control, item = known
            # something was marked that is nowhere
            own = parts.setdefault(control.question.name, {}) if item.places else found
            own.setdefault(item.name if item.places else name, UNREADABLE)
        return found, parts

    def _by_image(self, control: Control, kind: str, about: Sequence[Any], unit: Unit) -> Mapping[str, Value | Missing]:
        by_image: dict[str, list[Any]] = {}
        for one in about:
            place = whole(one.get("item_index"))
            by_image.setdefault(NO_PART if place is None else str(place), []).append(one)
        return {
            image: UNREADABLE if image == NO_PART else self._read(control, kind, raws_of(kind, own), unit)
            for image, own in by_image.items()
        }

    def type_of(self, name: str) -> str | None:
        """The type of results that a control of this name makes; None for what is no control."""
        of_item = self._of_item(name)
        control = self._controls.get(name) or (of_item[0] if of_item else None)
        return control.type if control else None

    def _control_of(self, name: str, kind: str) -> tuple[Control, Item] | None:
        """The control of a result, and the item it is about; where there is none, that is noted."""
        control = self._controls.get(name)
        known = self._of_item(name) if control is None else (control, NO_ITEM)
        if known is None:
            self._note_strangers({name: kind})
        return known

    def _of_item(self, name: str) -> tuple[Control, Item] | None:
        """The control of a Repeater that makes controls of this name, and the item it is about."""
        if name not in self._found:
            matches = ((self._controls[one], pattern.item_of(name)) for one, pattern in self._repeated.items())
            self._found[name] = next(((control, item) for control, item in matches if item is not None), None)
        return self._found[name]

    def _question(self, name: str, control: Control) -> Question:
        if name not in self._dynamic:
            return control.question
        kind = "paths" if control.type == "taxonomy" else self._dynamic[name].kind
        if control.question.kind == "choices" and kind == "choice":
            kind = "choices"
        differ = name in self._differ
        return replace(
            control.question,
            kind=kind,
            categories=None if differ or kind == "paths" else _option_labels(self._options.get(name)),
            not_measured=control.question.not_measured or (DIFFERENT_CHOICES if differ else None),
            own_choices=control.type == "choices" and control.question.not_measured is None,
        )

    def _read(
        self, control: Control, kind: str, raws: Sequence[Any], unit: Unit, name: str | None = None
    ) -> Value | Missing:
        """An answer of a control. `name` : of the one that a Repeater made of it."""
        if kind != control.type:
            return UNREADABLE
        if control.reader is not None:
            of_item = name is not None and name not in self._controls
            reader = self._reader(name or "", by_itself=False) if of_item else control.reader
            return UNREADABLE if reader is None else reader.read(raws, unit)
        if kind in ("rating", "number", "datetime"):
            return read_scalar(kind, raws, control.written_as)
        value = read_labels(raws, paths=kind == "taxonomy")
        if type(value) is Missing:
            return value
        if control.options is not None:
            value = _spelled(value, self._own_spellings(control.question.name, unit.data.get(control.options)))
            self._dynamic[control.question.name].note(value)
            return value
        return _normal(value, control)

    def _reader(self, name: str, *, by_itself: bool) -> Reader | None:
        """A reader of a control of this name alone: of an item's, and of regions that are read one by one."""
        key = name, by_itself
        if key not in self._readers:
            of_item = self._of_item(name)
            control, item = (self._controls[name], NO_ITEM) if name in self._controls else of_item or (None, NO_ITEM)
            self._readers[key] = None if control is None or control.make is None else control.make(item)
        return self._readers[key]

    def _reader_by_itself(self, one: Mapping[str, Any]) -> Reader | None:
        """Of a result that is a region, or that is about one without a result of its own."""
        name = one.get("from_name")
        return self._reader(name, by_itself=True) if isinstance(name, str) else None

    def _own_spellings(self, name: str, given: Any) -> Spellings:
        """Every spelling of the choices that a task brings along; mostly those of the task before."""
        known = self._spellings.get(name)
        if known is None or known[0] != given:
            steps: Spellings = {}
            _note_spellings(given, (), steps)
            known = self._spellings[name] = given, steps
        return known[1]

    def _note_options(self, unit: Unit) -> None:
        for name in self._dynamic:
            options = self._controls[name].options
            given = unit.data.get(options) if options else None
            if given is None or self._options.setdefault(name, given) != given:
                self._differ.add(name)

    def _placed(self, name: str, value: Value | Missing | None, unit: Unit) -> Mapping[str, Value]:
        """An answer in labels with their places among the task's own choices."""
        if value is None or type(value) is Missing or self._controls[name].type != "choices":
            return {}
        chosen = value if isinstance(value, tuple) else (value,)
        if not all(isinstance(one, str) for one in chosen):
            return {}
        options = _option_labels(unit.data.get(self._controls[name].options or "")) or ()
        return {name: tuple(Placed(str(one), options.index(one) + 1 if one in options else 0) for one in chosen)}

    def _note_strangers(self, types: Mapping[str, str]) -> None:
        for name, kind in types.items():
            if name not in self._controls and name not in self._strangers and self._of_item(name) is None:
                self._strangers[name] = Question(name, kind, inferred=True, not_measured=NOT_IN_CONFIG)

    def _apply_conditions(self, found: dict[str, Value | Missing], results: Results, annotation: Annotation) -> None:
        for name, verdict in self._verdicts(found, results, annotation).items():
            value = _as_shown(found.get(name), verdict)
            if value is not None:
                found[name] = value

    def _verdicts(
        self, found: Mapping[str, Value | Missing], results: Results, annotation: Annotation
    ) -> Mapping[str, bool | None]:
        """Which conditional controls were shown; the same answers to what is asked give the same verdicts."""
        asked = tuple(None if type(value := found.get(name)) is Missing else value for name in self._asked)
        known = None if self._hangs_on_regions else self._seen.get(asked)
        if known is None:
            shown = _Shown(self._controls, found, results, annotation)
            known = {name: shown.control(name) for name in self._conditional}
            if not self._hangs_on_regions:
                self._seen[asked] = known
        return known

    def _fills(self, name: str) -> bool:
        """Whether there is something to say of items of which the annotation says nothing."""
        control = self._controls[name]
        always = control.reader is not None and control.reader.always
        return _measured(control) and control.asks_of == "task" and (always or bool(control.conditions))

    def _settle_items(
        self,
        parts: dict[str, dict[str, Value | Missing]],
        found: Mapping[str, Value | Missing],
        results: Results,
        annotation: Annotation,
        unit: Unit,
    ) -> None:
        """Items in which nothing was marked, or whose control was not shown."""
        settled: dict[str, dict[str, Value | Missing]] = {}
        for name in filter(self._fills, self._repeated):
            control, pattern = self._controls[name], self._repeated[name]
            given = parts.get(name, {})
            of_data = {item.name: item for item in pattern.items(control.repeaters, unit.data)}
            named = (
                known[1]
                for known in map(self._of_item, (*results.answers, *results.whole))
                if known is not None and known[0] is control
            )
            own = settled[name] = {}
            for place, item in {**of_data, **{item.name: item for item in named}}.items():
                value = given.get(place)
                if control.conditions:
                    view = {**found, **{other: of.get(place, EMPTY) for other, of in parts.items()}}
                    verdict = _Shown(self._controls, view, results, annotation, item=item).control(name)
                    value = _as_shown(value, verdict)
                if value is None and control.reader is not None and control.reader.always:
                    value = self._read(control, control.type, (), unit, item.fill(name))
                if value is not None:
                    own[place] = value
        parts.update(settled)

    def _has_no_items(self, name: str, unit: Unit) -> bool:
        """Whether a task has nothing that a control of a Repeater could ask about."""
        control = self._controls[name]
        by_item = _measured(control) and control.asks_of == "task" and control.repeaters
        if not by_item or not isinstance(resolved(unit.data, control.repeaters[0].on), list):
            return False
        return not self._repeated[name].items(control.repeaters, unit.data)

    def _about_regions(
        self,
        results: Results,
        marks: Mapping[Any, Mark],
        found: Mapping[str, Value | Missing],
        parts: Mapping[str, Mapping[str, Value | Missing]],
        annotation: Annotation,
        unit: Unit,
    ) -> dict[str, Answer]:
        """The answers to the questions that are asked of each region."""
        given: dict[str, dict[Mark, Value | Missing]] = {}
        items: dict[Mark, Item] = {}
        for name in self._by_region:
            control, own = self._controls[name], given.setdefault(name, {})
            if name in parts:
                own[NOWHERE] = UNREADABLE
            for mark, answered in about_regions(self._results_of(name, results), marks, unit, self._reader_by_itself):
                item = self._asked_on(name, mark.region.on)
                if item is None and not answered:
                    continue
                value = self._read(control, control.type, raws_of(control.type, answered), unit) if answered else EMPTY
                if mark.region == NOWHERE.region and type(value) is not Missing:
                    value = UNREADABLE
                own[mark] = one_answer(own.get(mark), value)
                items[mark] = item or NO_ITEM
        answers: dict[str, Answer] = {}
        for name, own in given.items():
            if self._controls[name].conditions:
                for mark, value in own.items():
                    item = items.get(mark, NO_ITEM)
                    view = {
                        **found,
                        **{other: of.get(item.name, EMPTY) for other, of in parts.items()},
                        **{other: of.get(mark, EMPTY) for other, of in given.items()},
                    }
                    shown = _Shown(self._controls, view, results, annotation, mark=mark, item=item)
                    own[mark] = _as_shown(value, shown.control(name)) or EMPTY
            by_region: dict[Region, Value | Missing] = {}
            for mark, value in own.items():
                by_region[mark.region] = one_answer(by_region.get(mark.region), value)
            answers[name] = PerRegion(by_region) if by_region else NOTHING_TO_ASK
        return answers

    def _results_of(self, name: str, results: Results) -> list[Any]:
        """The results about regions of a control, of one in a Repeater those of all items."""
        given = [
            (kind, about)
            for other, (kind, about) in results.per_region.items()
            if other == name or ((known := self._of_item(other)) is not None and known[0] is self._controls[name])
        ]
        wanted = self._controls[name].type
        return [one if kind == wanted else {**one, "value": {}} for kind, about in given for one in about]

    def _asked_on(self, name: str, on: str) -> Item | None:
        """The item of the regions of an object that a control asks about; None where it does not."""
        wanted = self._controls[name].on
        if not wanted or not on or on in wanted:
            return NO_ITEM
        return next(
            (item for one in wanted if "{{" in one and (item := RepeatedName(one).item_of(on)) is not None), None
        )


class _Related:
    """Which tasks have relations, whoever drew them: all their annotations are then asked for theirs."""

    def __init__(self) -> None:
        self.ever = False
        self._last: tuple[Unit, bool] | None = None

    def has(self, unit: Unit, *, declared: bool) -> bool:
        """Whether relations of this task are to be read; always where the config declares some."""
        if self._last is None or self._last[0] is not unit:
            drawn = any(
                one.get("type") == "relation"
                for annotation in unit.annotations
                if annotation.status == "submitted"
                for one in annotation.result
            )
            self._last = unit, drawn
            self.ever |= drawn
        return declared or self._last[1]


def _free_name(controls: Collection[str]) -> str:
    name, number = RELATIONS, 2
    while name in controls:
        name, number = f"{RELATIONS}_{number}", number + 1
    return name


def _as_shown(value: Value | Missing | None, verdict: bool | None) -> Value | Missing | None:
    """An answer in the light of whether its control was shown; None: that cannot be told."""
    answered = value is not None and type(value) is not Missing
    if verdict is False:
        return STALE_CHILD if answered else NOT_SHOWN
    return NOT_SHOWN if verdict is None and not answered else value


class _Shown:
    """Which controls the tool showed for one annotation's answers. None where that cannot be told afterwards.

    mark : the region that was selected, item : the item of a Repeater, where that is what a control asks about; `found`
        then holds the answers about it.
    """

    def __init__(
        self,
        controls: Mapping[str, Control],
        found: Mapping[str, Value | Missing],
        results: Results,
        annotation: Annotation,
        mark: Mark | None = None,
        item: Item = NO_ITEM,
    ) -> None:
        self._controls = controls
        self._found = dict(found)
        self._results = results
        self._annotation = annotation
        self._mark = mark
        self._item = item
        self._known: dict[str, bool | None] = {}

    def control(self, name: str) -> bool | None:
        if name not in self._known:
            # a control that hangs on itself counts as shown while its own condition is looked at
            self._known[name] = True
            verdicts = [self._holds(one) for one in self._controls[name].conditions]
            self._known[name] = False if False in verdicts else None if None in verdicts else True
        return self._known[name]

    def _holds(self, condition: Condition) -> bool | None:
        match condition.asks:
            case "choice-selected":
                return self._selected(condition)
            case "choice-unselected":
                selected = self._selected(condition)
                return None if selected is None else not selected
            case "no-region-selected":
                return True
            case "region-selected" if self._mark is not None:
                return self._is_mark(self._mark, condition)
            case "region-selected":
                return None if self._region(condition) else False
            case _:
                return None

    def _selected(self, condition: Condition) -> bool | None:
        if condition.control is None:
            names = [name for name, one in self._controls.items() if one.type == "choices"]
            return any(self._labels_of(name, condition.labels) for name in names)
        control = self._controls.get(condition.control)
        if control is None:
            return False
        if not _measured(control) or not self._is_known(control):
            return None
        return self._labels_of(condition.control, condition.labels)

    def _labels_of(self, name: str, wanted: Sequence[str]) -> bool:
        """Whether a control that is shown itself has one of these labels selected (any, where none are named)."""
        value = self._found.get(name)
        if value is None or type(value) is Missing or self.control(name) is False:
            return False
        if not wanted:
            return True
        selected = _last_labels(value)
        spellings = self._controls[name].steps
        return any(one in selected or any(steps.get(one) in selected for steps in spellings.values()) for one in wanted)

    def _is_known(self, control: Control) -> bool:
        """Whether there is one answer of a control that a condition can be about."""
        match control.asks_of:
            case "region":
                return self._mark is not None
            case "image":
                return False
            case _:
                return bool(self._item.places) or "{{" not in control.question.name

    def _is_mark(self, mark: Mark, condition: Condition) -> bool:
        by_control = condition.control is None or self._item.fill(condition.control) in mark.controls
        return by_control and (not condition.labels or not mark.labels.isdisjoint(condition.labels))

    def _region(self, condition: Condition) -> bool:
        """Whether the annotation has a region that could have been selected."""
        marked = {name for name, (kind, _) in self._results.whole.items() if READERS[kind].region}
        for one in self._annotation.result:
            value = one.get("value")
            if one.get("from_name") not in marked.union(self._results.others) or not isinstance(value, dict):
                continue
            if condition.control is not None and one.get("from_name") != self._item.fill(condition.control):
                continue
            labels = value.get(one.get("type"))
            if not condition.labels or (
                isinstance(labels, list) and not set(condition.labels).isdisjoint(map(str, labels))
            ):
                return True
        return False


def _measured(control: Control) -> bool:
    return control.question.not_measured is None and control.question.kind in KINDS


def _normal(value: Value, control: Control) -> Value | Missing:
    """The value with every choice in its one spelling, in the form of the control's kind."""
    kind = control.question.kind
    if kind == "paths":
        paths = value if isinstance(value, tuple) else (value,)
        return tuple(sorted({_normal_path(one if isinstance(one, tuple) else (one,), control.steps) for one in paths}))
    top = control.steps.get((), {})
    if isinstance(value, str):
        value = top.get(value, value)
        return (value,) if kind == "choices" else value
    if not isinstance(value, tuple):
        return UNREADABLE
    labels = [one[0] if isinstance(one, tuple) and len(one) == 1 else one for one in value]
    if not all(isinstance(one, str) for one in labels):
        return UNREADABLE
    found = tuple(sorted({top.get(one, one) for one in labels}))
    if kind == "choices":
        return found
    return found[0] if len(found) == 1 else UNREADABLE


def _normal_path(path: tuple[str, ...], steps: Mapping[tuple[str, ...], Mapping[str, str]]) -> tuple[str, ...]:
    found: tuple[str, ...] = ()
    for step in path:
        found += (steps.get(found, {}).get(step, step),)
    return found


def _note_spellings(given: Any, above: tuple[str, ...], steps: Spellings) -> None:
    """Fills in what stands for the choices that a task brings along: the alias, as the tool stores it."""
    options = [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []
    values = [label(one.get("value")) for one in options]
    for one, value in zip(options, values, strict=True):
        final = label(one.get("alias") or one.get("value"))
        if not isinstance(final, str):
            continue
        # two choices of one value are told apart by their aliases alone
        if isinstance(value, str) and values.count(value) == 1:
            steps.setdefault(above, {}).setdefault(value, final)
        _note_spellings(one.get("children"), (*above, final), steps)


def _spelled(value: Value, steps: Spellings) -> Value:
    """The answer with every choice in its one spelling, in the form it has."""
    if not steps:
        return value
    if isinstance(value, str):
        return steps.get((), {}).get(value, value)
    if not isinstance(value, tuple):
        return value
    spelled = {_normal_path(one, steps) if isinstance(one, tuple) else steps.get((), {}).get(one, one) for one in value}
    return tuple(sorted(spelled))


def _last_labels(value: Value) -> set[str]:
    if isinstance(value, tuple):
        return {one[-1] if isinstance(one, tuple) else one for one in value}
    return {value} if isinstance(value, str) else set()


def _refuse_declarations(text: str) -> None:
    """A document type or entity is refused before any parser could expand it."""

    def refuse(*_declaration: Any) -> None:
        raise FixConfiguration(
            "The label config declares a document type or entities; a label config never needs them."
        )

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(
            text.encode("utf-8", "replace") if not text.lstrip().startswith("<?xml") else _without_encoding(text), True
        )
    except expat.ExpatError as fault:
        raise FixConfiguration(f"The label config cannot be read as XML: {fault}") from fault


def _without_encoding(text: str) -> bytes:
    return re.sub(r"^\s*<\?xml[^>]*\?>", "", text).encode("utf-8", "replace")


def _element(tree: Any, tag: Any) -> Any:
    """The element that the SDK made this tag from; of several with one name it, too, keeps the last."""
    named = [one for one in tree.iter() if one.get("name") == tag.name]
    # of what is its own object (`Chat`, `ReactCode`) the SDK makes a control that is called otherwise
    return ([one for one in named if one.tag == tag.tag] or named)[-1]


def _relations(tree: Any) -> tuple[str, ...] | None:
    """The labels that relations can have; None where the config does not speak of any."""
    declaring = [one for one in tree.iter() if str(one.tag).lower() == "relations"]
    if not declaring:
        return None
    tags = (one for parent in declaring for one in parent.iter() if str(one.tag).lower() == "relation")
    found = (label(_attributes(one).get("value")) for one in tags)
    return tuple(dict.fromkeys(one for one in found if isinstance(one, str)))


def _control(tag: str, name: str, element: Any) -> Control:
    """The control of one tag. Attribute names are compared in lower case, as the tool does."""
    attributes = _attributes(element)
    kind = tag.lower()
    steps: Spellings = {}
    categories = tuple(path for one in _declaring(kind, element) for path in _choices(one, (), steps))
    reader = _reader(kind, element, steps.get((), {}), NO_ITEM)
    asks_of = _asks_of(attributes, reader)
    conditions = tuple(_conditions(element))
    if asks_of == "region" and attributes.get("whenlabelvalue"):
        # the tool looks at the region's labels whether or not `visibleWhen` asks it to
        conditions += (Condition("region-selected", None, _wanted(attributes["whenlabelvalue"])),)
    of_places = partial(_place_reader, element)
    not_measured = _why_not_measured(kind, name, attributes, reader, asks_of)
    options = _options(kind, attributes)
    question = Question(
        name,
        _kind(kind, attributes, categories, reader) if not_measured is None else kind,
        categories=None if options else _categories(kind, attributes, categories),
        bounds=_bounds(kind, attributes),
        not_measured=not_measured,
        position=_position(kind, element),
    )
    if question.kind in ("choice", "choices", "spans", "regions") and question.categories is not None:
        question = replace(question, categories=tuple(path[0] for path in question.categories))
    return Control(
        question=replace(question, conditional=any(_narrows(one, asks_of) for one in conditions)),
        type=kind,
        asks_of=asks_of,
        on=tuple(one.strip() for one in attributes.get("toname", "").split(",") if one.strip()),
        written_as=attributes.get("format"),
        conditions=conditions,
        steps=steps,
        options=options,
        reader=reader,
        make=of_places if asks_of == "region" else partial(_reader, kind, element, steps.get((), {})),
        repeaters=tuple(_repeaters(element)),
    )


def _asks_of(attributes: Mapping[str, str], reader: Reader | None) -> Literal["task", "region", "image"]:
    if reader is not None and reader.region:
        return "task"
    # a taxonomy that labels marks regions that have no other result
    if any(attributes.get(one, "").lower() == "true" for one in ("perregion", "labeling")):
        return "region"
    return "image" if attributes.get("peritem", "").lower() == "true" else "task"


def _repeaters(element: Any) -> Iterator[Repeater]:
    """Those around an element, the outermost first."""
    around = [one for one in element.iterancestors() if str(one.tag).lower() == "repeater"]
    for one in reversed(around):
        attributes = _attributes(one)
        yield Repeater(attributes.get("on", ""), attributes.get("indexflag") or USUAL_FLAG)


def _declaring(kind: str, element: Any) -> Sequence[Any]:
    """The elements that declare a control's choices: itself; of boxes in a video the `Labels` of that video."""
    if kind == "videorectangle":
        of_video = _attributes(element).get("toname")
        beside = (one for one in element.getroottree().getroot().iter() if str(one.tag).lower() == "labels")
        return [one for one in beside if _attributes(one).get("toname") == of_video]
    return [element] if kind in {"choices", "taxonomy", *SPAN_TYPES, *REGION_TYPES} else []


def _reader(kind: str, element: Any, spellings: Mapping[str, str], item: Item) -> Reader | None:
    """The reader of a control, of one in a Repeater that of an item."""
    name = item.fill(_attributes(element).get("name", ""))
    if kind in SPAN_TYPES:
        return _span_reader(kind, element, name, spellings, item)
    if kind in REGION_TYPES:
        return region_reader(name, spellings)
    if kind == "ranker":
        buckets = [_attributes(one).get("name", "") for one in element if str(one.tag).lower() == "bucket"]
        return READERS[kind]._replace(read=lambda results, _: read_ranker(results, buckets))
    return READERS.get(kind)


def _place_reader(element: Any, item: Item) -> Reader:
    """The reader of places in the object that a control is about."""
    name = item.fill(_attributes(element).get("name", ""))
    return reading_places(name, _span_reader("labels", element, name, {}, item) or region_reader(name))


def _object_of(element: Any) -> Any:
    """The element that a control is about, the first where there are several; None where it is not there."""
    wanted = _attributes(element).get("toname", "").split(",")[0].strip()
    root = element.getroottree().getroot()
    return next((one for one in root.iter() if isinstance(one.tag, str) and one.get("name") == wanted), None)


def _position(kind: str, element: Any) -> str | None:
    """What a place is called that the marks of a control cover."""
    if kind not in SPAN_TYPES or (shown := _object_of(element)) is None:
        return None
    return POSITIONS.get(shown.tag.lower())


def _span_reader(kind: str, element: Any, name: str, spellings: Mapping[str, str], item: Item) -> Reader | None:
    """The reader of marks in a text or on a time line, of `Labels` of an image's regions; None for those of a video's,
    which are stored with the regions."""
    shown = _object_of(element)
    if shown is None:
        return span_reader(name, None, spellings)
    shows = _attributes(shown)
    type_of_object, value = shown.tag.lower(), shows.get("value", "")
    if kind == "labels" and type_of_object == "video":
        return None
    if kind == "labels" and type_of_object not in _CONTINUA:
        return region_reader(name, spellings)
    path = item.fill(value[1:]) if value.startswith("$") else None
    reader = span_reader(name, Source(type_of_object, path, shows), spellings)
    if not item.places:
        return reader
    view = ItemView(path)
    return reader._replace(read=lambda results, unit: reader.read(results, view.of(unit)))


def _options(kind: str, attributes: Mapping[str, str]) -> str | None:
    """The data field that holds a task's own choices."""
    from_data = attributes.get("value", "") if kind in {"choices", "taxonomy"} else ""
    return from_data[1:] if from_data.startswith("$") else None


def _option_labels(given: Any) -> tuple[str, ...] | None:
    """The labels of the choices that a task brings along, as the tool stores them; None where they are no flat list."""
    if not isinstance(given, list):
        return None
    raws = [(one.get("alias") or one.get("value")) if isinstance(one, dict) else one for one in given]
    found = [label(raw) for raw in raws]
    nested = any(isinstance(one, dict) and one.get("children") for one in given)
    return None if nested else tuple(one for one in found if isinstance(one, str)) or None


def _kind(kind: str, attributes: Mapping[str, str], paths: Sequence[tuple[str, ...]], reader: Reader | None) -> str:
    if reader is not None:
        return reader.kind
    if kind != "choices":
        return _KINDS.get(kind, kind)
    if any(len(path) > 1 for path in paths):
        return "paths"
    return "choices" if attributes.get("choice", "").lower() == "multiple" else "choice"


def _categories(kind: str, attributes: Mapping[str, str], paths: tuple[tuple[str, ...], ...]) -> tuple[Any, ...] | None:
    if kind == "pairwise":
        return ("left", "right")
    if kind == "rating":
        return tuple(float(star) for star in range(1, _stars(attributes) + 1))
    return paths or None


def _bounds(kind: str, attributes: Mapping[str, str]) -> tuple[float, float] | None:
    if kind == "rating":
        return (1.0, float(_stars(attributes)))
    if kind == "number":
        try:
            low, high = float(attributes["min"]), float(attributes["max"])
        except (KeyError, ValueError):
            return None
        return (low, high) if low < high else None
    return None


def _stars(attributes: Mapping[str, str]) -> int:
    text = attributes.get("maxrating", "")
    return int(text) if text.isascii() and text.isdigit() and 0 < int(text) <= 1000 else _DEFAULT_STARS


def _why_not_measured(
    kind: str, name: str, attributes: Mapping[str, str], reader: Reader | None, asks_of: str
) -> str | None:
    if _options(kind, attributes) is not None and ("{{" in name or asks_of != "task"):
        return OWN_CHOICES_BY_REGION if asks_of != "task" else REPEATED
    if _KINDS.get(kind, kind) not in KINDS and kind != "choices" and reader is None:
        return LABELS_OF_VIDEO if kind == "labels" else not_measured(kind)
    return None


def _choices(element: Any, above: tuple[str, ...], steps: Spellings) -> Iterator[tuple[str, ...]]:
    """The paths of all choices under an element, in document order; fills in every spelling's final one."""
    here = list(_child_choices(element))
    values = [_attributes(one).get("value") for one in here]
    spellings = steps.setdefault(above, {})
    for one, value in zip(here, values, strict=True):
        alias = _attributes(one).get("alias")
        written = label(alias or value)
        if not isinstance(written, str):
            continue
        # two choices of one value are told apart by their aliases alone
        plain = label(value)
        final = plain if isinstance(plain, str) and values.count(value) == 1 else written
        spellings[written] = final
        if isinstance(plain, str):
            spellings.setdefault(plain, final)
        path = (*above, final)
        yield path
        yield from _choices(one, path, steps)


def _child_choices(element: Any) -> Iterator[Any]:
    """The choices nearest below an element, through views in between."""
    for child in element:
        if not isinstance(child.tag, str):
            continue
        if child.tag.lower() in ("choice", "label"):
            yield child
        else:
            yield from _child_choices(child)


def _conditions(element: Any) -> Iterator[Condition]:
    """The element's own condition and those of everything around it."""
    while element is not None:
        attributes = _attributes(element)
        asks = attributes.get("visiblewhen")
        labels = attributes.get("whenchoicevalue") or attributes.get("whenlabelvalue")
        wanted = _wanted(labels) if labels else ()
        if asks:
            yield Condition(asks, attributes.get("whentagname"), wanted)
        elif attributes.get("whenchoicevalue"):
            yield Condition("choice-selected", None, wanted)
        element = element.getparent()


def _wanted(labels: str) -> tuple[str, ...]:
    """One label, maybe with a comma in it, or several."""
    return tuple(dict.fromkeys((labels, *labels.split(","))))


def _narrows(condition: Condition, asks_of: str) -> bool:
    """Whether raters see less of a control by its condition: a question about regions always needs one."""
    of_any = condition.asks == "region-selected" and condition.control is None and not condition.labels
    return condition.asks != "no-region-selected" and not (asks_of == "region" and of_any)


def _attributes(element: Any) -> dict[str, str]:
    return {str(name).lower(): str(value) for name, value in element.attrib.items()}
