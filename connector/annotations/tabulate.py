"""One question's answers -> its ratings, with what is missing from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, Protocol

import numpy as np

from connector.agreement.ratings import Codebook, Floats, Ints, Ratings
from connector.agreement.report import category_key
from connector.annotations.columns import AnswerColumn
from connector.annotations.kind import Kind
from connector.annotations.kinds import KINDS, LEVELS
from connector.annotations.matched import UNMATCHED, MatchedRegions
from connector.annotations.model import Missing, Question, Region, Value
from connector.annotations.order import natural_key
from connector.annotations.settled import CODE, Mask, Settled
from connector.errors import FixConfiguration

ANSWER_REASONS = ("empty", "nothing_to_ask", "not_shown", "stale_child", "unreadable")
"""Why an annotation that counts holds no rating for a question; `nothing_to_ask`: the question is asked of parts of a
task, and there were none."""


class QuestionSettings(Protocol):
    """What a configuration may say of a question; None everywhere is the default."""

    @property
    def level(self) -> str | None:
        """Level of measurement."""

    @property
    def distance(self) -> str | None:
        """Distance between whole answers."""

    @property
    def empty(self) -> str | None:
        """What a submitted annotation without an answer means: missing, or none of the labels."""

    @property
    def required(self) -> bool | None:
        """Whether a gate decides on it."""

    @property
    def relabel(self) -> Mapping[str, str] | None:
        """Old label -> new label."""

    @property
    def by(self) -> str | None:
        """How an answer is read: a set of paths by prefix, for one."""


@dataclass(frozen=True, slots=True)
class QuestionTable:
    """One question's ratings, and what is missing from them.

    question : with level and distance resolved. ratings : every unit of the source is known to it, rated or not.
    left_out : annotations that gave no rating, by reason: those that do not count at all, and those that do but hold no
        answer (where the question is asked of parts of a task: of one of them).
        stale : ratings by label, of labels that the tool no longer declares (kept as categories of their own).
    repeats : ratings by a rater who gave a newer one on the same unit; replaced : the same, as (unit, rater, value).
    lead_times : (n,) seconds spent on each of `ratings`, NaN unknown; None where none is known.
    gold : unit -> value of its newest annotation marked as ground truth, whoever made it; gold_by : unit -> who that
        was, where it is a rater.
    times_shown : unit -> how many of the annotations that count were asked a conditional question, or one about parts
        of a task; None for the others. annotated : of the latter, task -> how many annotations of it count.
    task_of : where the question is asked of parts of a task, its items or the regions marked in it: unit of the ratings
        (such a part, or a task without any) -> task. of_regions : the parts are matched regions.
    mended : what was mended or left out while its answers were read, by code (`Kind.notes`).
    """

    question: Question
    ratings: Ratings
    left_out: Mapping[str, int]
    stale: Mapping[str, int]
    repeats: int
    gold: Mapping[str, Value]
    gold_by: Mapping[str, str]
    times_shown: Mapping[str, int] | None = None
    annotated: Mapping[str, int] | None = None
    lead_times: Floats | None = None
    replaced: Sequence[tuple[str, str, Value]] = ()
    mended: Mapping[str, int] = field(default_factory=dict)
    task_of: Mapping[str, str] | None = None
    of_regions: bool = False


def resolve(question: Question, settings: QuestionSettings | None = None) -> Question:
    """The question with everything decided: as the settings say, else the tool, else the kind's default.

    Raises FixConfiguration for a level or distance that does not exist or does not go with the kind.
    """
    kind = KINDS[question.kind]
    level = (settings and settings.level) or question.level or kind.level
    if level not in LEVELS:
        raise FixConfiguration(f"Question '{question.name}': no level '{level}'.", f"Use one of {', '.join(LEVELS)}.")
    if kind.distances and level != kind.level:
        raise FixConfiguration(
            f"Question '{question.name}' of kind {question.kind} has whole answers, which have no {level} level.",
            f"Leave its level out; its distance can be one of {', '.join(kind.distances)}.",
        )
    distance = (settings and settings.distance) or question.distance or (kind.distance if kind.distances else level)
    if distance not in (kind.distances or (level,)):
        raise FixConfiguration(
            f"Question '{question.name}' of kind {question.kind}: no distance '{distance}'.",
            f"Use one of {', '.join(kind.distances)}." if kind.distances else "Set its level instead.",
        )
    required = question.required and kind.required
    categories = question.categories
    if settings and settings.by == "position" and question.own_choices and categories is not None:
        categories = tuple(str(place) for place in range(1, len(categories) + 1))
    return replace(
        question,
        level=level,
        distance=distance,
        categories=categories,
        empty=_empty(question, kind, settings),
        required=required if settings is None or settings.required is None else settings.required,
        relabel={**question.relabel, **((settings and settings.relabel) or {})},
    )


class Tabulation:
    """The table of one question in the making.

    question : resolved. settled : which annotations count. column : the answers as they came.
    regions : all that were marked in the source, for questions that speak of them.
    missing : reason -> (n,) which annotations that count lack an answer for it.
    """

    def __init__(
        self,
        question: Question,
        settings: QuestionSettings | None,
        column: AnswerColumn,
        settled: Settled,
        regions: MatchedRegions,
    ) -> None:
        self.question = question
        self._kind = KINDS[question.kind]
        self._settled = settled
        self._regions = regions
        read = _reader(question, self._kind, settings)
        self._final: list[Value | Missing] = [read(value) for value in column.code_of]
        rows, codes, about = self._answers(column)
        unreadable = np.array([type(value) is Missing for value in self._final], dtype=np.bool_)
        bad = unreadable[codes] if len(codes) else np.zeros(0, dtype=np.bool_)
        self.missing = self._known_gaps(column, rows[bad])
        self._n_repeats = int(np.count_nonzero(settled.reason[rows] == CODE["repeat"]))
        self._rows, self._codes = rows[~bad], codes[~bad]
        self._unit_ids: Sequence[str] = settled.unit_ids
        self._unit: Ints = settled.unit[self._rows]
        self._task_of: Mapping[str, str] | None = None
        self._shown: list[int] = []
        self._of_parts = column.of_parts
        self._of_regions = any(type(part) is Region for part in (*about, *column.blank, *column.hidden, *column.marked))
        kept = [part for part, unread in zip(about, bad.tolist(), strict=True) if not unread] if about else []
        if self._kind.between is not None:
            self._name_regions(column)
        elif self._of_regions:
            unread = [
                (row, part) for row, part, is_bad in zip(rows.tolist(), about, bad.tolist(), strict=True) if is_bad
            ]
            self._match(kept, column, unread)
        elif kept:
            self._by_item(kept, column)
        self._fill_in_nothing()
        if self._kind.settle is not None:
            self._settle(self._kind.settle, settings)

    def table(self) -> QuestionTable:
        """The finished table."""
        counted = self._settled.counted[self._rows]
        rows, codes = self._rows[counted], self._codes[counted]
        used = np.bincount(codes, minlength=len(self._final))
        # one order, whatever the order of the input
        units = self._unit[counted]
        order = np.lexsort((self._settled.rater[rows], units))
        rows, codes, units = rows[order], codes[order], units[order]
        seconds = self._settled.seconds[rows]
        gaps = {reason: int(np.count_nonzero(mask)) for reason, mask in self.missing.items()}
        gold = self._gold()
        return QuestionTable(
            question=self.question,
            ratings=self._ratings(units, rows, codes, used),
            left_out={**self._settled.left_out, **{reason: n for reason, n in gaps.items() if n}},
            stale=self._stale(used),
            repeats=self._n_repeats,
            gold={unit: value for unit, (value, _) in gold.items()},
            gold_by={unit: by for unit, (_, by) in gold.items() if by is not None},
            times_shown=self._times_shown(),
            annotated=None if self._task_of is None else self._per_task(self._settled.counted),
            lead_times=None if np.isnan(seconds).all() else seconds,
            replaced=self._replaced(),
            task_of=self._task_of,
            of_regions=self._of_regions and self._task_of is not None,
        )

    def _answers(self, column: AnswerColumn) -> tuple[Ints, Ints, Sequence[Any]]:
        """The annotation of each answer, its code, and what part of the task it is about (empty: none is)."""
        rows, codes = np.array(column.rows, dtype=np.int64), np.array(column.codes, dtype=np.int64)
        if not (column.about or column.blank or column.hidden or column.marked) or self._kind.between is not None:
            return rows, codes, ()
        about = [*column.about, *[None] * (len(rows) - len(column.about))]
        if self._nothing is not None and column.blank:
            rows = np.append(rows, np.array(column.blank_rows, dtype=np.int64))
            codes = np.append(codes, np.full(len(column.blank), len(self._final)))
            about += column.blank
            self._final.append(self._nothing)
        return rows, codes, about

    @property
    def _nothing(self) -> Value | None:
        """The answer that no answer is; None: it is missing."""
        return self._kind.nothing if self.question.empty == "none" else None

    def _by_item(self, about: Sequence[Any], column: AnswerColumn) -> None:
        """Where each item of a task is asked about, the items are the units."""
        items = self._only([part if type(part) is str else None for part in about])
        tasks, ids = self._unit.tolist(), self._settled.unit_ids
        known = sorted(set(zip(tasks, items, strict=True)), key=lambda one: (one[0], natural_key(one[1])))
        place = {item: code for code, item in enumerate(known)}
        self._unit = np.array([place[item] for item in zip(tasks, items, strict=True)], dtype=np.int64)
        # the items of a task are there for all of its raters, but for those whom a condition kept from being asked
        times = np.bincount(self._settled.unit[self._settled.counted], minlength=len(ids))
        self._shown = times[[task for task, _ in known]].tolist()
        for row, item in zip(column.hidden_rows, column.hidden, strict=True):
            code = place.get((int(self._settled.unit[row]), item))
            if code is not None and self._settled.counted[row]:
                self._shown[code] -= 1
        self._name_parts([task for task, _ in known], [f"{ids[task]}#{item}" for task, item in known])

    def _match(self, about: Sequence[Any], column: AnswerColumn, unread: Sequence[tuple[int, Any]]) -> None:
        """Where regions are asked about, the matched ones are the units."""
        lot_of = self._regions.lot_of
        regions: Sequence[Region] = self._only([part if type(part) is Region else None for part in about])
        lots = [lot_of.get(one, UNMATCHED) for one in zip(self._rows.tolist(), regions, strict=True)]
        self._unit = np.array(lots, dtype=np.int64)
        self._keep(self._unit != UNMATCHED)
        # those without an answer are there too, of raters who were asked and of those who were not
        silent = (
            *unread,
            # where no answer is one, they are answered
            *(zip(column.blank_rows, column.blank, strict=True) if self._nothing is None else ()),
            *zip(column.marked_rows, column.marked, strict=True),
        )
        hidden = zip(column.hidden_rows, column.hidden, strict=True)
        asked = [(row, lot) for row, part in silent if (lot := lot_of.get((row, part))) is not None]
        lots = [*self._unit.tolist(), *(lot for _, lot in asked), *(lot_of[one] for one in hidden if one in lot_of)]
        known, code = np.unique(np.array(lots, dtype=np.int64), return_inverse=True)
        rows = np.append(self._rows, np.array([row for row, _ in asked], dtype=np.int64))
        counted = self._settled.counted[rows]
        self._shown = np.bincount(code[: len(rows)][counted], minlength=len(known)).tolist()
        self._unit = code[: len(self._unit)]
        names = self._regions.ids(self._settled.unit_ids)
        self._name_parts(self._regions.task[known].tolist(), [names[lot] for lot in known.tolist()])

    def _only(self, about: Sequence[Any]) -> list[Any]:
        """What the answers are about; one that is about something else than the others is unreadable."""
        other = np.array([part is None for part in about], dtype=np.bool_)
        if other.any():
            self.missing["unreadable"][self._rows[other]] |= self._settled.counted[self._rows[other]]
            self._keep(~other)
        return [part for part in about if part is not None]

    def _keep(self, kept: Mask) -> None:
        self._rows, self._codes, self._unit = self._rows[kept], self._codes[kept], self._unit[kept]

    def _name_parts(self, tasks: Sequence[int], names: Sequence[str]) -> None:
        """The units are these parts of tasks, and the tasks without any."""
        ids = self._settled.unit_ids
        task_of = dict(zip(names, (ids[task] for task in tasks), strict=True))
        rated = set(task_of.values())
        without = [task for task in ids if task not in rated]
        self._shown = [*self._shown, *[0] * len(without)]
        self._unit_ids = [*task_of, *without]
        self._task_of = {**task_of, **{task: task for task in without}}

    def _name_regions(self, column: AnswerColumn) -> None:
        """An answer that speaks of regions is given the names of the matched ones."""
        assert self._kind.between is not None
        names = self._regions.names(self._settled.unit_ids)
        lot_of = self._regions.lot_of
        name_of = {one: names[lot_of[one]] for one in column.regions if one in lot_of}
        code_of: dict[Value, int] = {}
        codes = []
        for row, code in zip(self._rows.tolist(), self._codes.tolist(), strict=True):
            answer = self._kind.between(self._final[code], partial(_name_in, name_of, row))
            codes.append(code_of.setdefault(answer, len(code_of)))
        self._codes, self._final = np.array(codes, dtype=np.int64), list(code_of)

    def _fill_in_nothing(self) -> None:
        """Annotations that count but hold no answer are empty, unless "nothing" is an answer."""
        answered = np.zeros(self._settled.n, dtype=np.bool_)
        answered[self._rows] = True
        for mask in self.missing.values():
            answered |= mask
        empty = self._settled.counted & ~answered | self.missing["empty"]
        if self._of_parts and self._nothing is not None:
            # said of each part by itself
            empty = self._settled.counted & ~answered
        elif self._nothing is not None:
            nothing = np.flatnonzero(empty)
            self._rows = np.append(self._rows, nothing)
            self._codes = np.append(self._codes, np.full(len(nothing), len(self._final)))
            self._unit = np.append(self._unit, self._settled.unit[nothing])
            self._final.append(self._nothing)
            empty = np.zeros(self._settled.n, dtype=np.bool_)
        self.missing["empty"] = empty

    def _settle(
        self,
        settle: Callable[[Question, Sequence[int], Sequence[Value]], tuple[Question, Sequence[Value]]],
        settings: QuestionSettings | None,
    ) -> None:
        answers = [self._final[code] for code in self._codes.tolist()]
        readable = [value for value in answers if type(value) is not Missing]
        question, values = settle(self.question, self._unit.tolist(), readable)
        asked = settings.distance if settings else None
        required = settings.required if settings else None
        self.question = replace(
            question,
            distance=asked or question.distance,
            required=question.required if required is None else required,
        )
        code_of: dict[Value, int] = {}
        self._codes = np.array([code_of.setdefault(value, len(code_of)) for value in values], dtype=np.int64)
        self._final = list(code_of)

    def _known_gaps(self, column: AnswerColumn, unreadable: Ints) -> dict[str, Mask]:
        masks = {reason: np.zeros(self._settled.n, dtype=np.bool_) for reason in ANSWER_REASONS}
        for reason, rows in column.missing.items():
            masks[reason][np.array(rows, dtype=np.int64)] = True
        masks["unreadable"][unreadable] = True
        return {reason: mask & self._settled.counted for reason, mask in masks.items()}

    def _ratings(self, units: Ints, rows: Ints, codes: Ints, used: Ints) -> Ratings:
        # the categories of a question of sets, say, are the sets that were given, not the labels declared
        declared = None if self._kind.distances else self.question.categories
        final = self._final
        book = Codebook.of((final[code] for code in np.flatnonzero(used).tolist()), declared)
        code_of = {category: code for code, category in enumerate(book.categories)}
        recode = np.array([code_of.get(value, -1) for value in final], dtype=np.int64)
        return Ratings(
            units=units.astype(np.int32),
            raters=self._settled.rater[rows].astype(np.int32),
            values=(recode[codes] if len(codes) else codes).astype(np.int32),
            unit_ids=self._unit_ids,
            rater_ids=self._settled.rater_ids,
            codebook=book,
        )

    def _stale(self, used: Ints) -> dict[str, int]:
        found: dict[str, int] = {}
        parts = self._kind.parts
        for value, n in zip(self._final, used.tolist(), strict=True):
            if not n or type(value) is Missing:
                continue
            for item in (value,) if parts is None else parts(value):
                if self._is_stale(item):
                    text = category_key(item)
                    found[text] = found.get(text, 0) + n
        return dict(sorted(found.items()))

    def _is_stale(self, item: Any) -> bool:
        if self.question.categories is not None:
            return item not in self.question.categories
        bounds = self.question.bounds
        return bounds is not None and not bounds[0] <= item <= bounds[1]

    def _gold(self) -> dict[str, tuple[Value, str | None]]:
        gold_rows = self._settled.gold_rows()
        if not gold_rows:
            return {}
        age = {row: place for place, row in enumerate(gold_rows)}
        wanted = np.flatnonzero(np.isin(self._rows, np.array(gold_rows, dtype=np.int64))).tolist()
        found: dict[str, tuple[Value, str | None]] = {}
        for place in sorted(wanted, key=lambda one: age[int(self._rows[one])]):
            value = self._final[int(self._codes[place])]
            if type(value) is not Missing:
                by = int(self._settled.rater[self._rows[place]])
                found[self._unit_ids[int(self._unit[place])]] = value, self._settled.rater_ids[by] if by >= 0 else None
        return found

    def _replaced(self) -> list[tuple[str, str, Value]]:
        settled = self._settled
        older = np.flatnonzero((settled.reason[self._rows] == CODE["repeat"]) & settled.alive[self._rows])
        found: list[tuple[str, str, Value]] = []
        for row, code, unit in zip(
            self._rows[older].tolist(), self._codes[older].tolist(), self._unit[older].tolist(), strict=True
        ):
            value, rater = self._final[code], int(settled.rater[row])
            if type(value) is not Missing:
                found.append((self._unit_ids[unit], settled.rater_ids[rater], value))
        # one order, whatever the order of the input
        return sorted(found, key=lambda one: (one[0], one[1], category_key(one[2])))

    def _times_shown(self) -> dict[str, int] | None:
        if self._task_of is not None:
            return dict(zip(self._unit_ids, self._shown, strict=True))
        if not self.question.conditional:
            return None
        return self._per_task(self._settled.counted & ~self.missing["not_shown"] & ~self.missing["stale_child"])

    def _per_task(self, which: Mask) -> dict[str, int]:
        times = np.bincount(self._settled.unit[which], minlength=len(self._settled.unit_ids)).tolist()
        return dict(zip(self._settled.unit_ids, times, strict=True))


def _name_in(names: Mapping[tuple[int, Region], tuple[str, str]], row: int, region: Region) -> tuple[str, str] | None:
    return names.get((row, region))


def _empty(question: Question, kind: Kind, settings: QuestionSettings | None) -> Literal["missing", "none"]:
    asked = (settings and settings.empty) or question.empty or kind.empty
    if asked not in {"missing", "none"}:
        raise FixConfiguration(f"Question '{question.name}': empty is '{asked}'.", "Use missing or none.")
    return "none" if asked == "none" else "missing"


def _reader(question: Question, kind: Kind, settings: QuestionSettings | None) -> Callable[[Value], Value | Missing]:
    """A raw value in the question's final form: canonical, relabelled, and read as its settings ask."""
    by = settings.by if settings else None
    if by == "position" and question.own_choices and kind.by_place is not None:
        return kind.by_place
    reading = _reading(question, kind, by)
    relabel = question.relabel

    def read(value: Value) -> Value | Missing:
        found = kind.canonical(value)
        if relabel and type(found) is not Missing:
            found = kind.rename(found, relabel)
        return reading(found) if reading and type(found) is not Missing else found

    return read


def _reading(question: Question, kind: Kind, by: str | None) -> Callable[[Any], Value] | None:
    if by is None or (by == "path" and question.kind == "paths"):
        return None
    if by in kind.readings:
        return kind.readings[by]
    raise FixConfiguration(
        f"Question '{question.name}' of kind {question.kind} cannot be read by '{by}'.",
        f"Paths can be read by path, {', '.join(kind.readings)}."
        if kind.readings
        else "`position` is for choices that each task brings along; leave `by` out.",
    )
