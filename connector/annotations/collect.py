"""From units with their annotations to one coded table per question, with everything that was left out and why.

Which annotation counts: one per unit and rater, the newest submitted, never by its place in a file. Every annotation
that does not count is counted under one of `REASONS`.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from connector.annotations.columns import AnnotationColumns, AnswerColumn
from connector.annotations.kinds import KINDS, NOT_MEASURED_YET
from connector.annotations.matched import MatchedRegions
from connector.annotations.model import Annotation, Question, Schema, Unit
from connector.annotations.order import natural_key
from connector.annotations.settled import ANNOTATION_REASONS, CODE, COUNTS, NO_RATER, Settled
from connector.annotations.tabulate import ANSWER_REASONS, QuestionSettings, QuestionTable, Tabulation, resolve
from connector.errors import FixConfiguration, SkippedTask

__all__ = [
    "ANNOTATION_REASONS",
    "ANSWER_REASONS",
    "NO_RATER",
    "REASONS",
    "Collector",
    "CountingRules",
    "NotMeasured",
    "QuestionChoice",
    "QuestionSettings",
    "QuestionTable",
    "Table",
    "natural_key",
]

REASONS = ANNOTATION_REASONS + ANSWER_REASONS


@dataclass(frozen=True, slots=True)
class CountingRules:
    """Whose annotations count.

    reviewers, exclude : rater ids whose annotations are no ratings (a reviewer's ground truth is gold all the same).
    ground_truth : "exclude" leaves out every annotation that carries the mark.
    ours : ids of annotations that this package wrote.
    """

    reviewers: frozenset[str] = frozenset()
    exclude: frozenset[str] = frozenset()
    ground_truth: Literal["include", "exclude"] = "include"
    ours: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class QuestionChoice:
    """`QuestionSettings` without a configuration file."""

    level: str | None = None
    distance: str | None = None
    empty: str | None = None
    required: bool | None = None
    relabel: Mapping[str, str] | None = None
    by: str | None = None


class NotMeasured(NamedTuple):
    """A question whose answers are stored but not compared."""

    question: str
    kind: str
    reason: str


@dataclass(frozen=True, slots=True)
class Table:
    """Everything a source holds, as one table per measured question.

    left_out : distinct annotations by reason; one that lacks answers to two questions for one reason is counted once.
    unit_ids : every unit, rated or not, all-digit ids as numbers. rater_ids : raters with an annotation that counts.
    n_annotations : distinct annotations, skipped ones included, drafts not.
    incomplete : units for which the source declares more submitted annotations than came.
    copies : times a unit came again and was merged.
    edited_by_other, copied, accepted_unchanged : submitted annotations last changed by another person, made from
        another annotation, or equal to the prediction they started from.
    ground_truth : marks by rater. unanswered : declared questions that no annotation answers.
    notes : what the schema has to say of the answers it read.
    """

    questions: Mapping[str, QuestionTable]
    not_measured: Sequence[NotMeasured]
    left_out: Mapping[str, int]
    unit_ids: Sequence[str]
    rater_ids: Sequence[str]
    n_annotations: int
    incomplete: Sequence[str]
    malformed: Sequence[SkippedTask]
    copies: int
    edited_by_other: int
    copied: int
    accepted_unchanged: int
    ground_truth: Mapping[str, int]
    unanswered: Sequence[str]
    notes: Sequence[str] = ()


class Collector:
    """Takes units one by one, in any order and any number of times, and gives the table of what they hold.

    Memory is a few machine words per annotation. A unit that comes again is merged annotation by annotation, each in
    its newest state. `choices` are settings by question; `default` is for the other questions, where it goes with
    their kind.
    """

    def __init__(
        self,
        schema: Schema,
        rules: CountingRules | None = None,
        choices: Mapping[str, QuestionSettings] | None = None,
        default: QuestionSettings | None = None,
    ) -> None:
        self._schema = schema
        self._rules = rules or CountingRules()
        self._choices = choices or {}
        self._default = default
        self._annotations = AnnotationColumns()
        self._answers: dict[str, AnswerColumn] = {}
        self._malformed: list[SkippedTask] = []
        self._copies = 0
        self._why_not = self._by_rules if self._rules != CountingRules() else _by_itself

    def skip(self, task: SkippedTask) -> None:
        """Note a malformed task."""
        self._malformed.append(task)

    def add(self, unit: Unit) -> None:
        """Take in one unit. One whose results cannot be read is noted as malformed."""
        annotations = self._annotations.new_in(unit)
        read = self._schema.answers
        try:
            # all of them first: a unit that turns out malformed leaves nothing behind
            answered = [read(one, unit) if one.status == "submitted" else None for one in annotations]
        except SkippedTask as malformed:
            self.skip(malformed)
            return
        self._copies += unit.id in self._annotations.unit_code
        row = self._annotations.add(unit, annotations, self._why_not)
        columns = self._answers
        for answers in answered:
            if answers:
                for name, value in answers.items():
                    column = columns.get(name)
                    if column is None:
                        column = columns[name] = AnswerColumn()
                    column.add(row, value)
            row += 1

    def table(self) -> Table:
        """What was collected. More units may be added afterwards, and the table asked for again.

        Raises FixConfiguration for settings that name an unknown question, or that do not go with a question's kind.
        """
        questions = self._schema.questions
        self._check_names(questions)
        settled = Settled(self._annotations)
        tables: dict[str, QuestionTable] = {}
        not_measured: list[NotMeasured] = []
        unanswered: list[str] = []
        lacking = {reason: np.zeros(settled.n, dtype=np.bool_) for reason in ANSWER_REASONS}
        settings_of = self._settings_of(questions)
        mended: Mapping[str, Mapping[str, int]] = getattr(self._schema, "mended", {})
        regions = self._matched(settings_of, settled)
        for name, question in questions.items():
            if not _is_measured(question, self._choices.get(name)):
                not_measured.append(NotMeasured(name, question.kind, question.not_measured or NOT_MEASURED_YET))
                continue
            column = self._answers.get(name) or AnswerColumn()
            if not column.rows and not question.inferred:
                unanswered.append(name)
            settings = settings_of[name]
            tabulation = Tabulation(resolve(question, settings), settings, column, settled, regions)
            tables[name] = _with_counts(tabulation.table(), mended.get(name, {}))
            for reason, mask in tabulation.missing.items():
                lacking[reason] |= mask
        gaps = {reason: int(np.count_nonzero(mask)) for reason, mask in lacking.items()}
        return Table(
            questions=tables,
            not_measured=not_measured,
            left_out={**settled.left_out, **{reason: n for reason, n in gaps.items() if n}},
            unit_ids=settled.unit_ids,
            rater_ids=settled.rater_ids,
            n_annotations=settled.n_annotations,
            incomplete=settled.incomplete(),
            malformed=tuple(self._malformed),
            copies=self._copies,
            edited_by_other=settled.n_alive(self._annotations.edited),
            copied=settled.n_alive(self._annotations.copied),
            accepted_unchanged=settled.n_alive(self._annotations.accepted),
            ground_truth=settled.marks(),
            unanswered=unanswered,
            notes=tuple(getattr(self._schema, "notes", ())),
        )

    def _matched(self, measured: Iterable[str], settled: Settled) -> MatchedRegions:
        """All regions that measured questions speak of, those of different raters brought together."""
        columns = (self._answers[name] for name in measured if name in self._answers)
        return MatchedRegions(dict.fromkeys(one for column in columns for one in column.regions), settled)

    def _by_rules(self, one: Annotation) -> int:
        rules = self._rules
        if one.status != "submitted":
            return CODE[one.status]
        if one.id in rules.ours:
            return CODE["ours"]
        if one.rater is None:
            return CODE["no_rater"]
        if one.rater in rules.reviewers:
            return CODE["reviewer"]
        if one.rater in rules.exclude:
            return CODE["excluded"]
        if one.ground_truth and rules.ground_truth == "exclude":
            return CODE["ground_truth"]
        return COUNTS

    def _settings_of(self, questions: Mapping[str, Question]) -> dict[str, QuestionSettings | None]:
        """Each measured question's own settings, else the default ones where they go with its kind."""
        found = {
            name: self._choices.get(name)
            for name, question in questions.items()
            if _is_measured(question, self._choices.get(name))
        }
        if self._default is None:
            return found
        refusals = []
        others = [name for name in found if name not in self._choices]
        for name in others:
            try:
                resolve(questions[name], self._default)
            except FixConfiguration as refusal:
                refusals.append(refusal)
            else:
                found[name] = self._default
        if others and len(refusals) == len(others):
            raise refusals[0]
        return found

    def _check_names(self, questions: Mapping[str, Question]) -> None:
        for name in self._choices:
            if questions and name not in questions:
                near = difflib.get_close_matches(name, questions, 1)
                hint = f"Did you mean '{near[0]}'?" if near else f"There are: {', '.join(sorted(questions))}."
                raise FixConfiguration(f"The settings name a question '{name}' that the source does not have.", hint)


def _with_counts(table: QuestionTable, mended: Mapping[str, int]) -> QuestionTable:
    """The table with what was mended while its answers were read, and what its kind says of how they are compared."""
    counted = KINDS[table.question.kind].counted
    if counted is None:
        return replace(table, mended=mended)
    book = table.ratings.codebook.categories
    found = counted(table.question, (book[code] for code in table.ratings.values.tolist()))
    return replace(table, mended={**mended, **{code: n for code, n in found.items() if n}})


def _is_measured(question: Question, settings: QuestionSettings | None) -> bool:
    by_position = question.own_choices and settings is not None and settings.by == "position"
    return (question.not_measured is None or by_position) and question.kind in KINDS


def _by_itself(one: Annotation) -> int:
    """Why an annotation does not count where no rules are set."""
    if one.status != "submitted":
        return CODE[one.status]
    return CODE["no_rater"] if one.rater is None else COUNTS
