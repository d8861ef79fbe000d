"""What a rater did, before it becomes a rating: the types between a tool's edge and the table.

    tool or file -> Unit with its Annotations -> Answer per question -> Ratings

Ids are strings from here inwards. Times are the tool's own ISO 8601 text (or None): they are parsed only where
two annotations of one rater on one unit compete.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol, final

Status = Literal["submitted", "cancelled", "draft"]
Value = str | float | tuple[Any, ...]
"""A normalised answer, hashable and compared by equality.

    choice, pairwise   str
    choices            tuple of distinct str, sorted (a set)
                       both, where a task brings its own choices along: tuple of `choices.Placed`
    paths              tuple of distinct tuple[str, ...], sorted (a set of paths)
    rating, number     float
    date               float, seconds since 1970 UTC
    text               str
    spans              (length, marks) of a document: int of code points or frames, float on a time line measured in
                       seconds, say; marks = sorted tuple of (start, end, labels), labels a sorted tuple, maybe empty
    regions            sorted tuple of (shape, geometry, labels, frame), see `annotations.regions`
    ranking            tuple of (item, rank) sorted by item, ties with equal ranks
    relations          sorted tuple of (region, label, region, direction), see `annotations.relations`
"""


class Annotation(NamedTuple):
    """One submission (or skip, or draft) of one rater on one unit, its result still in the tool's own form."""

    id: str
    rater: str | None
    result: Sequence[Any]
    status: Status = "submitted"
    created_at: str | None = None
    updated_at: str | None = None
    updated_by: str | None = None
    ground_truth: bool = False
    lead_time: float | None = None
    parent_annotation: str | None = None
    parent_prediction: str | None = None


class Unit(NamedTuple):
    """One task or record with everything that was submitted on it.

    `declared` is the number of submitted annotations the tool says there are (None where it does not say);
    `declared_cancelled` likewise. `data` is the task's own content, used for unit keys and filters.
    `predictions` maps a prediction's id to its result where the source carries them.
    `metadata` is what programs say of the unit, of a tool that keeps it apart from the content (`data` holds it too);
    None: they say it in `data`. `bare`: the unit has no metadata at all, not even empty ones.
    """

    id: str
    annotations: Sequence[Annotation]
    data: Mapping[str, Any] = {}
    created_at: str | None = None
    updated_at: str | None = None
    declared: int | None = None
    declared_cancelled: int | None = None
    predictions: Mapping[str, Sequence[Any]] = {}
    metadata: Mapping[str, Any] | None = None
    bare: bool = False

    @property
    def fields(self) -> Mapping[str, Any]:
        """Where fields of ours stand on it."""
        return self.data if self.metadata is None else self.metadata


@dataclass(frozen=True, slots=True)
class Question:
    """One thing that raters were asked about a unit: a control, a question, a column.

    `kind` is a key of the kinds registry, or the tool's own type name where that kind is not measured yet.
    `categories` are the declared ones, in the tool's order (None: not declared); labels, or paths for kind `paths`.
    `bounds` is the declared range of a scalar (lowest, highest), else None.
    `level`, `distance` and `empty` are None for the kind's default; `empty` is "missing" or "none" (no answer is the
    answer "nothing of it").
    `inferred` says that no settings named the question: its kind was read off the values.
    `conditional` says that the tool shows it only under a condition.
    `not_measured` says why its answers, though stored, are not compared (None: they are, where `kind` is known).
    `own_choices` says that each task brings its own choices along, so that places can be compared (`by: position`);
    `not_measured` says then that the choices differ.
    `position` is what one place of marked stretches is called: a character, a frame, a second (None: not known).
    """

    name: str
    kind: str
    categories: tuple[Any, ...] | None = None
    bounds: tuple[float, float] | None = None
    level: str | None = None
    distance: str | None = None
    empty: Literal["missing", "none"] | None = None
    required: bool = True
    relabel: Mapping[str, str] = field(default_factory=dict)
    inferred: bool = False
    conditional: bool = False
    not_measured: str | None = None
    own_choices: bool = False
    position: str | None = None


@final
@dataclass(frozen=True, slots=True)
class Missing:
    """Why an annotation holds no rating for a question: one of `tabulate.ANSWER_REASONS`."""

    reason: str


@final
@dataclass(frozen=True, slots=True)
class PerItem:
    """The answers to a question that is asked of each item of a task: item -> answer."""

    answers: Mapping[str, Value | Missing]


class Region(NamedTuple):
    """A place that a rater marked. It is known by itself: its id in the tool is each rater's own.

    on : the object that was marked. parts : what the kinds `spans` and `regions` hold of one mark, (start, end, labels)
    or (shape, geometry, labels, frame); one, but for tracks and for labels with several ranges.
    """

    on: str
    parts: tuple[tuple[Any, ...], ...]


@final
@dataclass(frozen=True, slots=True)
class PerRegion:
    """The answers to a question that is asked of each region that a rater marked: region -> answer.

    Regions without an answer are there too, with the reason.
    """

    answers: Mapping[Region, Value | Missing]


@final
@dataclass(frozen=True, slots=True)
class BetweenRegions:
    """An answer that speaks of regions, and all that its rater marked."""

    answer: tuple[Any, ...]
    regions: Sequence[Region]


Answer = Value | Missing | PerItem | PerRegion | BetweenRegions
"""What an annotation says to one question."""


class Schema(Protocol):
    """What a source asks its raters, and how their results are read.

    A schema that mends answers as it reads them may have `notes`: sentences about that, and `mended`: by question and
    code (`Kind.notes`) how often; both complete after the last unit.
    """

    @property
    def questions(self) -> Mapping[str, Question]:
        """Question by name. A source without settings finds them as results come in: read it after the last unit."""

    def answers(self, annotation: Annotation, unit: Unit) -> Mapping[str, Answer]:
        """The annotation's answer to every question it speaks of.

        A question of `questions` that is absent from the mapping was not answered (`empty`). Raises SkippedTask for a
        result that cannot be read at all.
        """
