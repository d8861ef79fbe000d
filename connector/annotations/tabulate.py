"""One question's answers -> its ratings, with what is missing from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

import numpy as np

from connector.agreement.ratings import Codebook, Floats, Ints, Ratings
from connector.agreement.report import category_key
from connector.annotations.columns import AnswerColumn
from connector.annotations.kinds import KINDS, LEVELS, SET_DISTANCES, Kind
from connector.annotations.model import Missing, Question, Value
from connector.annotations.paths import READINGS
from connector.annotations.settled import CODE, Mask, Settled
from connector.errors import FixConfiguration

ANSWER_REASONS = ("empty", "not_shown", "stale_child", "unreadable")
"""Why an annotation that counts holds no rating for a question."""


class QuestionSettings(Protocol):
    """What a configuration may say of a question; None everywhere is the default."""

    @property
    def level(self) -> str | None:
        """Level of measurement."""

    @property
    def distance(self) -> str | None:
        """Distance between sets."""

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
        """How a set of paths is read."""


@dataclass(frozen=True, slots=True)
class QuestionTable:
    """One question's ratings, and what is missing from them.

    question : with level and distance resolved. ratings : every unit of the source is known to it, rated or not.
    left_out : annotations that gave no rating, by reason: those that do not count at all, and those that do but hold no
        answer. stale : ratings by label, of labels that the tool no longer declares (kept as categories of their own).
    repeats : ratings by a rater who gave a newer one on the same unit; replaced : the same, as (unit, rater, value).
    lead_times : (n,) seconds spent on each of `ratings`, NaN unknown; None where none is known.
    gold : unit -> value of its newest annotation marked as ground truth, whoever made it.
    times_shown : unit -> how many of the annotations that count were asked a conditional question; None for the others.
    """

    question: Question
    ratings: Ratings
    left_out: Mapping[str, int]
    stale: Mapping[str, int]
    repeats: int
    gold: Mapping[str, Value]
    times_shown: Mapping[str, int] | None = None
    lead_times: Floats | None = None
    replaced: Sequence[tuple[str, str, Value]] = ()


def resolve(question: Question, settings: QuestionSettings | None = None) -> Question:
    """The question with everything decided: as the settings say, else the tool, else the kind's default.

    Raises FixConfiguration for a level or distance that does not exist or does not go with the kind.
    """
    kind = KINDS[question.kind]
    level = (settings and settings.level) or question.level or kind.level
    if level not in LEVELS:
        raise FixConfiguration(f"Question '{question.name}': no level '{level}'.", f"Use one of {', '.join(LEVELS)}.")
    if kind.holds_set and level != kind.level:
        raise FixConfiguration(
            f"Question '{question.name}' of kind {question.kind} holds sets, which have no {level} level.",
            f"Leave its level out; its distance can be one of {', '.join(SET_DISTANCES)}.",
        )
    distance = (settings and settings.distance) or question.distance or (kind.distance if kind.holds_set else level)
    allowed = SET_DISTANCES if kind.holds_set else (level,)
    if distance not in allowed:
        raise FixConfiguration(
            f"Question '{question.name}' of kind {question.kind}: no distance '{distance}'.",
            f"Use one of {', '.join(allowed)}." if kind.holds_set else "Set its level instead.",
        )
    return replace(
        question,
        level=level,
        distance=distance,
        empty=_empty(question, settings),
        required=question.required if settings is None or settings.required is None else settings.required,
        relabel={**question.relabel, **((settings and settings.relabel) or {})},
    )


class Tabulation:
    """The table of one question in the making.

    question : resolved. settled : which annotations count. column : the answers as they came.
    missing : reason -> (n,) which annotations that count lack an answer for it.
    """

    def __init__(
        self, question: Question, settings: QuestionSettings | None, column: AnswerColumn, settled: Settled
    ) -> None:
        self.question = question
        self._kind = KINDS[question.kind]
        self._settled = settled
        read = _reader(question, self._kind, settings)
        self._final: list[Value | Missing] = [read(value) for value in column.code_of]
        rows = np.array(column.rows, dtype=np.int64)
        codes = np.array(column.codes, dtype=np.int64)
        unreadable = np.array([type(value) is Missing for value in self._final], dtype=np.bool_)
        bad = unreadable[codes] if len(codes) else np.zeros(0, dtype=np.bool_)
        self.missing = self._known_gaps(column, rows[bad])
        self._rows, self._codes = rows[~bad], codes[~bad]
        self._counted = settled.counted[self._rows]
        self._n_repeats = int(np.count_nonzero(settled.reason[rows] == CODE["repeat"]))

    def table(self) -> QuestionTable:
        """The finished table; `missing` is complete after it."""
        rows, codes = self._rows[self._counted], self._codes[self._counted]
        answered = np.zeros(self._settled.n, dtype=np.bool_)
        answered[rows] = True
        for mask in self.missing.values():
            answered |= mask
        empty = self._settled.counted & ~answered | self.missing["empty"]
        final = list(self._final)
        if self.question.empty == "none" and self._kind.holds_set:
            nothing = np.flatnonzero(empty)
            rows = np.append(rows, nothing)
            codes = np.append(codes, np.full(len(nothing), len(final)))
            final.append(())
            empty = np.zeros(self._settled.n, dtype=np.bool_)
        self.missing["empty"] = empty
        used = np.bincount(codes, minlength=len(final))
        # one order, whatever the order of the input
        order = np.lexsort((self._settled.rater[rows], self._settled.unit[rows]))
        rows, codes = rows[order], codes[order]
        seconds = self._settled.seconds[rows]
        gaps = {reason: int(np.count_nonzero(mask)) for reason, mask in self.missing.items()}
        return QuestionTable(
            question=self.question,
            ratings=self._ratings(rows, codes, final, used),
            left_out={**self._settled.left_out, **{reason: n for reason, n in gaps.items() if n}},
            stale=self._stale(final, used),
            repeats=self._n_repeats,
            gold=self._gold(),
            times_shown=self._times_shown() if self.question.conditional else None,
            lead_times=None if np.isnan(seconds).all() else seconds,
            replaced=self._replaced(),
        )

    def _known_gaps(self, column: AnswerColumn, unreadable: Ints) -> dict[str, Mask]:
        masks = {reason: np.zeros(self._settled.n, dtype=np.bool_) for reason in ANSWER_REASONS}
        for reason, rows in column.missing.items():
            masks[reason][np.array(rows, dtype=np.int64)] = True
        masks["unreadable"][unreadable] = True
        return {reason: mask & self._settled.counted for reason, mask in masks.items()}

    def _ratings(self, rows: Ints, codes: Ints, final: Sequence[Value | Missing], used: Ints) -> Ratings:
        # the categories of a set question are the sets that were given, not the labels declared
        declared = None if self._kind.holds_set else self.question.categories
        book = Codebook.of((final[code] for code in np.flatnonzero(used).tolist()), declared)
        code_of = {category: code for code, category in enumerate(book.categories)}
        recode = np.array([code_of.get(value, -1) for value in final], dtype=np.int64)
        return Ratings(
            units=self._settled.unit[rows].astype(np.int32),
            raters=self._settled.rater[rows].astype(np.int32),
            values=(recode[codes] if len(codes) else codes).astype(np.int32),
            unit_ids=self._settled.unit_ids,
            rater_ids=self._settled.rater_ids,
            codebook=book,
        )

    def _stale(self, final: Sequence[Value | Missing], used: Ints) -> dict[str, int]:
        found: dict[str, int] = {}
        for value, n in zip(final, used.tolist(), strict=True):
            if not n or type(value) is Missing:
                continue
            for item in value if self._kind.holds_set and isinstance(value, tuple) else (value,):
                if self._is_stale(item):
                    text = category_key(item)
                    found[text] = found.get(text, 0) + n
        return dict(sorted(found.items()))

    def _is_stale(self, item: Any) -> bool:
        if self.question.categories is not None:
            return item not in self.question.categories
        bounds = self.question.bounds
        return bounds is not None and not bounds[0] <= item <= bounds[1]

    def _gold(self) -> dict[str, Value]:
        gold_rows = self._settled.gold_rows()
        if not gold_rows:
            return {}
        wanted = np.isin(self._rows, np.array(gold_rows, dtype=np.int64))
        code_at = dict(zip(self._rows[wanted].tolist(), self._codes[wanted].tolist(), strict=True))
        found: dict[str, Value] = {}
        for row in gold_rows:
            value = self._final[code_at[row]] if row in code_at else None
            if value is not None and type(value) is not Missing:
                found[self._settled.unit_ids[int(self._settled.unit[row])]] = value
        return found

    def _replaced(self) -> list[tuple[str, str, Value]]:
        settled = self._settled
        older = np.flatnonzero((settled.reason[self._rows] == CODE["repeat"]) & settled.alive[self._rows])
        found: list[tuple[str, str, Value]] = []
        for row, code in zip(self._rows[older].tolist(), self._codes[older].tolist(), strict=True):
            value, rater = self._final[code], int(settled.rater[row])
            if type(value) is not Missing:
                found.append((settled.unit_ids[int(settled.unit[row])], settled.rater_ids[rater], value))
        # one order, whatever the order of the input
        return sorted(found, key=lambda one: (one[0], one[1], category_key(one[2])))

    def _times_shown(self) -> dict[str, int]:
        asked = self._settled.counted & ~self.missing["not_shown"] & ~self.missing["stale_child"]
        times = np.bincount(self._settled.unit[asked], minlength=len(self._settled.unit_ids)).tolist()
        return dict(zip(self._settled.unit_ids, times, strict=True))


def _empty(question: Question, settings: QuestionSettings | None) -> Literal["missing", "none"]:
    asked = (settings and settings.empty) or question.empty
    if asked not in {"missing", "none"}:
        raise FixConfiguration(f"Question '{question.name}': empty is '{asked}'.", "Use missing or none.")
    return "none" if asked == "none" else "missing"


def _reader(question: Question, kind: Kind, settings: QuestionSettings | None) -> Callable[[Value], Value | Missing]:
    """A raw value in the question's final form: canonical, relabelled, and read as its settings ask."""
    reading = _reading(question, settings.by if settings else None)
    relabel = question.relabel

    def renamed(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(renamed(item) for item in value)
        return relabel.get(value, value) if isinstance(value, str) else value

    def read(value: Value) -> Value | Missing:
        found: Any = kind.canonical(value)
        if type(found) is Missing:
            return found
        if relabel:
            found = renamed(found)
            found = tuple(sorted(set(found))) if isinstance(found, tuple) else found
        answer: Value = reading(found) if reading else found
        return answer

    return read


def _reading(question: Question, by: str | None) -> Callable[[Any], Value] | None:
    if by is None or (by == "path" and question.kind == "paths"):
        return None
    if question.kind == "paths" and by in READINGS:
        return READINGS[by]
    raise FixConfiguration(
        f"Question '{question.name}' of kind {question.kind} cannot be read by '{by}'.",
        f"Paths can be read by path, {', '.join(READINGS)}." if question.kind == "paths" else "Leave `by` out.",
    )
