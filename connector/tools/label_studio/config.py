"""A Label Studio label config (XML) -> what it asks its raters, and how their results are read.

The SDK's `LabelInterface` finds the controls; the tree it parsed says how choices nest and what is shown when.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from xml.parsers import expat

from connector.annotations.choices import UNREADABLE, label
from connector.annotations.kinds import KINDS, NOT_MEASURED_YET
from connector.annotations.model import Annotation, Missing, Question, Unit, Value
from connector.errors import FixConfiguration, InstallExtra
from connector.tools.label_studio.inferred import PER_REGION, Labels
from connector.tools.label_studio.kinds import Results, only_choice, read_labels, read_scalar, sort_results

NOT_SHOWN = Missing("not_shown")
STALE_CHILD = Missing("stale_child")

REPEATED = "a Repeater makes one such control per item of a task: they are stored but not compared yet"
DIFFERENT_CHOICES = "the choices come from each task's data and differ by task: not comparable"
NOT_IN_CONFIG = "the label config has no control of this name any more"

_KINDS = {"taxonomy": "paths", "rating": "rating", "number": "number", "pairwise": "pairwise", "datetime": "date"}
_DEFAULT_STARS = 5


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
    options : data field that holds a task's own choices.
    """

    question: Question
    type: str
    written_as: str | None = None
    conditions: tuple[Condition, ...] = ()
    steps: dict[tuple[str, ...], dict[str, str]] = field(default_factory=dict)
    options: str | None = None


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
    return ConfiguredSchema([_control(tag, _element(tree, tag)) for tag in controls.values()])


class ConfiguredSchema:
    """The questions of a label config. Controls that only results know of are added as they come, as not measured."""

    def __init__(self, controls: Sequence[Control]) -> None:
        self._controls = {one.question.name: one for one in controls}
        self._repeated = [_repeated_name(name) for name in self._controls if "{{" in name]
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
        # an answer that hangs on nothing but its label is read once per label
        self._known: dict[tuple[str, str], Mapping[str, Value | Missing]] | None = (
            None if self._conditional or self._dynamic else {}
        )

    @property
    def questions(self) -> Mapping[str, Question]:
        """Every control of the config in its order, then controls that only results name."""
        found = {name: self._question(name, one) for name, one in self._controls.items()}
        return {**found, **self._strangers}

    def answers(self, annotation: Annotation, unit: Unit) -> Mapping[str, Value | Missing]:
        """The annotation's answers to the config's task-level questions, conditions applied."""
        choice = None if self._known is None else only_choice(annotation.result)
        if choice is None or self._known is None:
            return self._answers(annotation, unit)
        known = self._known.get(choice)
        if known is None:
            known = self._known[choice] = self._answers(annotation, unit)
        return known

    def _answers(self, annotation: Annotation, unit: Unit) -> Mapping[str, Value | Missing]:
        results = sort_results(annotation.result)
        if results.others or results.per_region:
            self._note_strangers({**results.others, **results.per_region})
        found: dict[str, Value | Missing] = {}
        for name, (kind, raws) in results.answers.items():
            control = self._controls.get(name)
            if control is None:
                self._note_strangers({name: kind})
            elif _measured(control):
                found[name] = self._read(control, kind, raws)
        for name in results.per_region:
            # the config asks about the task, the result speaks of a region: no answer, and not nothing either
            if name in self._controls and _measured(self._controls[name]):
                found.setdefault(name, UNREADABLE)
        if self._dynamic:
            self._note_options(unit)
        if self._conditional:
            self._apply_conditions(found, results, annotation)
        return found

    def _question(self, name: str, control: Control) -> Question:
        if name not in self._dynamic:
            return control.question
        kind = "paths" if control.type == "taxonomy" else self._dynamic[name].kind
        if control.question.kind == "choices" and kind == "choice":
            kind = "choices"
        return replace(
            control.question,
            kind=kind,
            not_measured=DIFFERENT_CHOICES if name in self._differ else control.question.not_measured,
        )

    def _read(self, control: Control, kind: str, raws: list[Any]) -> Value | Missing:
        if kind != control.type:
            return UNREADABLE
        if kind in ("rating", "number", "datetime"):
            return read_scalar(kind, raws, control.written_as)
        value = read_labels(raws)
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

    def _note_strangers(self, types: Mapping[str, str]) -> None:
        for name, kind in types.items():
            if name in self._controls or name in self._strangers:
                continue
            repeated = any(pattern.fullmatch(name) for pattern in self._repeated)
            known = kind == "relation"
            reason = REPEATED if repeated else NOT_MEASURED_YET if known else NOT_IN_CONFIG
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
        if not _measured(control):
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
        for one in self._annotation.result:
            value = one.get("value")
            if one.get("from_name") not in self._results.others or not isinstance(value, dict):
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


def _control(tag: Any, element: Any) -> Control:
    """The control of one tag. Attribute names are compared in lower case, as the tool does."""
    attributes = _attributes(element)
    kind = tag.tag.lower()
    name = tag.name
    steps: dict[tuple[str, ...], dict[str, str]] = {}
    categories = tuple(_choices(element, (), steps)) if kind in ("choices", "taxonomy") else ()
    not_measured = _why_not_measured(kind, name, attributes)
    from_data = attributes.get("value", "") if kind in {"choices", "taxonomy"} else ""
    options = from_data[1:] if from_data.startswith("$") else None
    question = Question(
        name,
        _kind(kind, attributes, categories) if not_measured is None else kind,
        categories=None if options else _categories(kind, attributes, categories),
        bounds=_bounds(kind, attributes),
        not_measured=not_measured,
    )
    conditions = tuple(_conditions(element))
    if question.kind in ("choice", "choices") and question.categories is not None:
        question = replace(question, categories=tuple(path[0] for path in question.categories))
    return Control(
        question=replace(question, conditional=any(one.asks != "no-region-selected" for one in conditions)),
        type=kind,
        written_as=attributes.get("format"),
        conditions=conditions,
        steps=steps,
        options=options,
    )


def _kind(kind: str, attributes: Mapping[str, str], paths: Sequence[tuple[str, ...]]) -> str:
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


def _why_not_measured(kind: str, name: str, attributes: Mapping[str, str]) -> str | None:
    if "{{" in name:
        return REPEATED
    if any(attributes.get(one, "").lower() == "true" for one in ("perregion", "peritem", "labeling")):
        return PER_REGION
    if _KINDS.get(kind, kind) not in KINDS and kind != "choices":
        return NOT_MEASURED_YET
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
        if child.tag.lower() == "choice":
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
    return re.compile(r"\d+".join(re.escape(part) for part in parts))
