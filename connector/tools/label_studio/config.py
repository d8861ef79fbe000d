"""A Label Studio label config (XML) -> what it asks its raters, and how their results are read.

The SDK's `LabelInterface` finds the controls; the tree it parsed says how choices nest and what is shown when.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from xml.parsers import expat

from connector.annotations.choices import UNREADABLE, Placed, label
from connector.annotations.kinds import KINDS, NOT_MEASURED_YET
from connector.annotations.model import Annotation, Missing, PerItem, Question, Unit, Value
from connector.errors import FixConfiguration, InstallExtra
from connector.tools.label_studio.inferred import PER_REGION, Labels
from connector.tools.label_studio.kinds import (
    READERS,
    Reader,
    Results,
    only_choice,
    read_labels,
    read_ranker,
    read_scalar,
    region_reader,
    sort_results,
    span_reader,
)
from connector.tools.label_studio.regions import REGION_TYPES
from connector.tools.label_studio.spans import SPAN_TYPES, Source

NOT_SHOWN = Missing("not_shown")
STALE_CHILD = Missing("stale_child")

REPEATED = "a Repeater makes one such control per item of a task: regions and conditions in it are not compared yet"
LABELS_OF_VIDEO = "its labels are stored with the regions that carry them, and measured there"
DIFFERENT_CHOICES = "the choices come from each task's data and differ by task: not comparable, unless `by: position`"
NOT_IN_CONFIG = "the label config has no control of this name any more"

_KINDS = {"taxonomy": "paths", "rating": "rating", "number": "number", "pairwise": "pairwise", "datetime": "date"}
_DEFAULT_STARS = 5
_CONTINUA = frozenset({"text", "hypertext", "paragraphs", "audio", "audioplus", "timeseries"})
"""Object tags in which `Labels` mark stretches; in others they name shapes."""


@dataclass(frozen=True, slots=True)
class Condition:
    """One `visibleWhen`: what it asks, of which control (None: of any choices), for which labels (empty: for any)."""

    asks: str
    control: str | None
    labels: tuple[str, ...]


@dataclass(slots=True)
class Control:
    """One control of the config.

    steps : path of the parent choice -> every spelling of a choice under it (alias and value) -> the one that stands
        for it.
    options : data field that holds a task's own choices. reader : of results that are read together.
    """

    question: Question
    type: str
    written_as: str | None = None
    conditions: tuple[Condition, ...] = ()
    steps: dict[tuple[str, ...], dict[str, str]] = field(default_factory=dict)
    options: str | None = None
    reader: Reader | None = None


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
    found = [_control(tag.tag, tag.name, _element(tree, tag)) for tag in controls.values()]
    known = {one.question.name for one in found}
    # a text area beside what it is about need not say what that is; to the SDK it is no control then
    found += [
        _control(one.tag, one.get("name"), one)
        for one in tree.iter()
        if str(one.tag).lower() == "textarea" and one.get("name") and one.get("name") not in known
    ]
    return ConfiguredSchema(found)


class ConfiguredSchema:
    """The questions of a label config. Controls that only results know of are added as they come, as not measured."""

    def __init__(self, controls: Sequence[Control]) -> None:
        self._controls = {one.question.name: one for one in controls}
        self._repeated = {name: _repeated_name(name) for name in self._controls if "{{" in name}
        self._found: dict[str, tuple[Control, str] | None] = {}
        self._conditional = [name for name, one in self._controls.items() if one.conditions and _measured(one)]
        conditions = [condition for one in self._controls.values() for condition in one.conditions]
        self._hangs_on_regions = any(one.asks == "region-selected" for one in conditions)
        # a condition without a control asks all choices
        named = {one.control for one in conditions}
        self._asked = [name for name, one in self._controls.items() if None in named or name in named]
        self._seen: dict[tuple[Value | None, ...], Mapping[str, bool | None]] = {}
        self._dynamic = {name: Labels() for name, one in self._controls.items() if one.options is not None}
        self._options: dict[str, Any] = {}
        self._differ: set[str] = set()
        self._strangers: dict[str, Question] = {}
        self._always = {
            name: one.reader
            for name, one in self._controls.items()
            if one.reader is not None and one.reader.always and _measured(one)
        }
        # an answer that hangs on nothing but its label is read once per label
        self._known: dict[tuple[str, str], Mapping[str, Value | Missing | PerItem]] | None = (
            None if self._conditional or self._dynamic or self._always else {}
        )

    @property
    def questions(self) -> Mapping[str, Question]:
        """Every control of the config in its order, then controls that only results name."""
        found = {name: self._question(name, one) for name, one in self._controls.items()}
        return {**found, **self._strangers}

    @property
    def mended(self) -> Mapping[str, Mapping[str, int]]:
        """By question and code, what was mended or left out while its answers were read."""
        readers = {name: one.reader for name, one in self._controls.items()}
        return {name: dict(+one.mended) for name, one in readers.items() if one is not None and one.mended}

    def answers(self, annotation: Annotation, unit: Unit) -> Mapping[str, Value | Missing | PerItem]:
        """The annotation's answers to the config's task-level questions, conditions applied."""
        choice = None if self._known is None else only_choice(annotation.result)
        if choice is None or self._known is None:
            return self._answers(annotation, unit)
        known = self._known.get(choice)
        if known is None:
            known = self._known[choice] = self._answers(annotation, unit)
        return known

    def _answers(self, annotation: Annotation, unit: Unit) -> Mapping[str, Value | Missing | PerItem]:
        results = sort_results(annotation.result)
        if results.others or results.per_region:
            self._note_strangers({**results.others, **results.per_region})
        found: dict[str, Value | Missing] = {}
        items: dict[str, dict[str, Value | Missing]] = {}
        given = {**results.answers, **results.whole} if results.whole else results.answers
        for name, (kind, raws) in given.items():
            control = self._controls.get(name)
            if control is not None:
                if _measured(control):
                    found[name] = self._read(control, kind, raws, unit)
            elif (of_item := self._of_item(name)) is not None and _measured(of_item[0]):
                control, item = of_item
                items.setdefault(control.question.name, {})[item] = self._read(control, kind, raws, unit)
            else:
                self._note_strangers({name: kind})
        for name in results.per_region:
            # the config asks about the task, the result speaks of a region: no answer, and not nothing either
            if name in self._controls and _measured(self._controls[name]):
                found.setdefault(name, UNREADABLE)
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
        return {**found, **{name: PerItem(answers) for name, answers in items.items()}} if items else found

    def type_of(self, name: str) -> str | None:
        """The type of results that a control of this name makes; None for what is no control."""
        of_item = self._of_item(name)
        control = self._controls.get(name) or (of_item[0] if of_item else None)
        return control.type if control else None

    def _of_item(self, name: str) -> tuple[Control, str] | None:
        """The control of a Repeater that makes controls of this name, and the item it is about."""
        if name not in self._found:
            matches = ((self._controls[one], pattern.fullmatch(name)) for one, pattern in self._repeated.items())
            self._found[name] = next(((control, ".".join(match.groups())) for control, match in matches if match), None)
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
            not_measured=DIFFERENT_CHOICES if differ else control.question.not_measured,
            own_choices=control.type == "choices" and control.question.not_measured is None,
        )

    def _read(self, control: Control, kind: str, raws: list[Any], unit: Unit) -> Value | Missing:
        if kind != control.type:
            return UNREADABLE
        if control.reader is not None:
            return control.reader.read(raws, unit)
        if kind in ("rating", "number", "datetime"):
            return read_scalar(kind, raws, control.written_as)
        value = read_labels(raws, paths=kind == "taxonomy")
        if type(value) is Missing:
            return value
        if control.options is not None:
            self._dynamic[control.question.name].note(value)
            return value
        return _normal(value, control)

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
            if name in self._controls or name in self._strangers:
                continue
            known = kind == "relation"
            reason = REPEATED if self._of_item(name) else NOT_MEASURED_YET if known else NOT_IN_CONFIG
            self._strangers[name] = Question(name, kind, inferred=True, not_measured=reason)

    def _apply_conditions(self, found: dict[str, Value | Missing], results: Results, annotation: Annotation) -> None:
        for name, verdict in self._verdicts(found, results, annotation).items():
            value = found.get(name)
            answered = value is not None and type(value) is not Missing
            if verdict is False:
                found[name] = STALE_CHILD if answered else NOT_SHOWN
            elif verdict is None and not answered:
                found[name] = NOT_SHOWN

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


class _Shown:
    """Which controls the tool showed for one annotation's answers. None where that cannot be told afterwards."""

    def __init__(
        self,
        controls: Mapping[str, Control],
        found: Mapping[str, Value | Missing],
        results: Results,
        annotation: Annotation,
    ) -> None:
        self._controls = controls
        self._found = dict(found)
        self._results = results
        self._annotation = annotation
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
        if not _measured(control) or "{{" in condition.control:
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

    def _region(self, condition: Condition) -> bool:
        """Whether the annotation has a region that could have been selected."""
        marked = {name for name, (kind, _) in self._results.whole.items() if READERS[kind].region}
        for one in self._annotation.result:
            value = one.get("value")
            if one.get("from_name") not in marked.union(self._results.others) or not isinstance(value, dict):
                continue
            if condition.control is not None and one.get("from_name") != condition.control:
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
    return [one for one in tree.iter() if one.get("name") == tag.name and one.tag == tag.tag][-1]


def _control(tag: str, name: str, element: Any) -> Control:
    """The control of one tag. Attribute names are compared in lower case, as the tool does."""
    attributes = _attributes(element)
    kind = tag.lower()
    steps: dict[tuple[str, ...], dict[str, str]] = {}
    categories = tuple(path for one in _declaring(kind, element) for path in _choices(one, (), steps))
    reader = _reader(kind, element, steps.get((), {}))
    conditions = tuple(_conditions(element))
    not_measured = _why_not_measured(kind, name, attributes, reader, conditions)
    options = _options(kind, attributes)
    question = Question(
        name,
        _kind(kind, attributes, categories, reader) if not_measured is None else kind,
        categories=None if options else _categories(kind, attributes, categories),
        bounds=_bounds(kind, attributes),
        not_measured=not_measured,
    )
    if question.kind in ("choice", "choices", "spans", "regions") and question.categories is not None:
        question = replace(question, categories=tuple(path[0] for path in question.categories))
    return Control(
        question=replace(question, conditional=any(one.asks != "no-region-selected" for one in conditions)),
        type=kind,
        written_as=attributes.get("format"),
        conditions=conditions,
        steps=steps,
        options=options,
        reader=reader,
    )


def _declaring(kind: str, element: Any) -> Sequence[Any]:
    """The elements that declare a control's choices: itself; of boxes in a video the `Labels` of that video."""
    if kind == "videorectangle":
        of_video = _attributes(element).get("toname")
        beside = (one for one in element.getroottree().getroot().iter() if str(one.tag).lower() == "labels")
        return [one for one in beside if _attributes(one).get("toname") == of_video]
    return [element] if kind in {"choices", "taxonomy", *SPAN_TYPES, *REGION_TYPES} else []


def _reader(kind: str, element: Any, spellings: Mapping[str, str]) -> Reader | None:
    if kind in SPAN_TYPES:
        return _span_reader(kind, element, spellings)
    if kind in REGION_TYPES:
        return region_reader(_attributes(element).get("name", ""), spellings)
    if kind == "ranker":
        buckets = [_attributes(one).get("name", "") for one in element if str(one.tag).lower() == "bucket"]
        return READERS[kind]._replace(read=lambda results, _: read_ranker(results, buckets))
    return READERS.get(kind)


def _span_reader(kind: str, element: Any, spellings: Mapping[str, str]) -> Reader | None:
    """The reader of marks in a text or on a time line, of `Labels` of an image's regions; None for those of a video's,
    which are stored with the regions."""
    attributes = _attributes(element)
    wanted = attributes.get("toname", "").split(",")[0].strip()
    root = element.getroottree().getroot()
    shown = next((one for one in root.iter() if isinstance(one.tag, str) and one.get("name") == wanted), None)
    if shown is None:
        return span_reader(attributes.get("name", ""), None, spellings)
    shows = _attributes(shown)
    type_of_object, value = shown.tag.lower(), shows.get("value", "")
    if kind == "labels" and type_of_object == "video":
        return None
    if kind == "labels" and type_of_object not in _CONTINUA:
        return region_reader(attributes.get("name", ""), spellings)
    source = Source(type_of_object, value[1:] if value.startswith("$") else None, shows)
    return span_reader(attributes.get("name", ""), source, spellings)


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
    kind: str, name: str, attributes: Mapping[str, str], reader: Reader | None, conditions: Sequence[Condition]
) -> str | None:
    if "{{" in name and (
        conditions or (reader is not None and reader.region) or _options(kind, attributes) is not None
    ):
        return REPEATED
    if any(attributes.get(one, "").lower() == "true" for one in ("perregion", "peritem", "labeling")):
        return PER_REGION
    if _KINDS.get(kind, kind) not in KINDS and kind != "choices" and reader is None:
        return LABELS_OF_VIDEO if kind == "labels" else NOT_MEASURED_YET
    return None


def _choices(
    element: Any, above: tuple[str, ...], steps: dict[tuple[str, ...], dict[str, str]]
) -> Iterator[tuple[str, ...]]:
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
        wanted = tuple(labels.split(",")) if labels else ()
        if asks:
            yield Condition(asks, attributes.get("whentagname"), wanted)
        elif attributes.get("whenchoicevalue"):
            yield Condition("choice-selected", None, wanted)
        element = element.getparent()


def _attributes(element: Any) -> dict[str, str]:
    return {str(name).lower(): str(value) for name, value in element.attrib.items()}


def _repeated_name(name: str) -> re.Pattern[str]:
    parts = re.split(r"\{\{[^}]*\}\}", name)
    return re.compile(r"(\d+)".join(re.escape(part) for part in parts))
