"""What a kind of annotation is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from connector.agreement.distances import Comparison
from connector.annotations.choices import renamed
from connector.annotations.model import Missing, Question, Region, Unit, Value


def as_it_is(value: Value) -> Value | Missing:
    """The value itself."""
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """How answers of one kind are read and compared.

    level : level of measurement unless the question's settings say otherwise.
    distances : of an answer that is compared as a whole, the distances that the settings can ask for, the default
        first; its level is then fixed. Empty: the distance is the level's own.
    comparisons : distances that come with the kind (`agreement.distances.register`).
    canonical : a value read loosely (one label where others gave several, say) in this kind's own form.
    parts : the declared categories that an answer is made of; None: the answer is one itself.
    nothing : the answer "nothing of it"; None: there is none. empty : what a submitted but empty answer means unless
        the settings say otherwise: `missing`, or `none`, which is `nothing`.
    required : a gate decides such a question unless its settings say otherwise.
    rename : an answer under the settings' `relabel`, old label -> new label.
    readings : other ways to read an answer that the settings' `by` can ask for. by_place : the same for `position`,
        where each task brings its own choices along: in the place of `canonical`.
    counted : what is to be said of how answers that count are compared: (question, those answers) -> code of `notes` ->
        how many.
    settle : a last look at all answers of a question together: (question, unit of each answer, the answers) -> the
        question, with a distance of its own say, and the answers.
    between : an answer that speaks of regions (`model.BetweenRegions`) with the names that they have once those of all
        raters are matched: (answer, region -> its name and its place for people, None where it has none).
    text : an answer for people, where `display.text_of` would not do.
    notes : what is counted while answers are read (`QuestionTable.mended`): code -> words for what is counted.
    types : a tool's name -> its own types of results that are of this kind, where the tool's folder does not know them.
    read : what an annotation holds for one control of such a type, as the tool stores it -> its value.
    """

    level: str = "nominal"
    distances: tuple[str, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    canonical: Callable[[Value], Value | Missing] = as_it_is
    parts: Callable[[Any], Iterable[Any]] | None = None
    nothing: Value | None = None
    empty: Literal["missing", "none"] = "missing"
    required: bool = True
    rename: Callable[[Any, Mapping[str, str]], Value | Missing] = renamed
    readings: Mapping[str, Callable[[Any], Value]] = field(default_factory=dict)
    by_place: Callable[[Value], Value | Missing] | None = None
    counted: Callable[[Question, Iterable[Any]], Mapping[str, int]] | None = None
    settle: Callable[[Question, Sequence[int], Sequence[Value]], tuple[Question, Sequence[Value]]] | None = None
    between: Callable[[Any, Callable[[Region], tuple[str, str] | None]], Value] | None = None
    text: Callable[[Any], str] | None = None
    notes: Mapping[str, str] = field(default_factory=dict)
    types: Mapping[str, Sequence[str]] = field(default_factory=dict)
    read: Callable[[Sequence[Any], Unit], Value | Missing] | None = None

    @property
    def distance(self) -> str:
        """The distance unless the settings say otherwise."""
        return self.distances[0] if self.distances else self.level
