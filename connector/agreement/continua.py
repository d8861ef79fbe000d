"""Marked stretches of continua: what raters marked in a text or on a time line, as arrays of edges.

A mark is (start, end, labels). Every sum here is an integral over the stretches between edges, so that its cost goes by
the marks and not by the length: nothing ever counts characters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from connector.agreement.patterns import Patterns, tally
from connector.agreement.ratings import Floats, Ints

NO_LABEL = ""
"""Stands for the label of a mark that carries none: marked matter all the same."""
BLANK = 0
"""Code of what a rater left unmarked."""
ROWS = 2_000_000
"""Marks that are compared at a time."""


class Rows(NamedTuple):
    """Stretches: (R,) the answer (or other group) that each belongs to, its code, and its edges."""

    of: Ints
    code: Ints
    start: Floats
    end: Floats

    def take(self, places: Any) -> Rows:
        """Some of the rows."""
        return Rows(self.of[places], self.code[places], self.start[places], self.end[places])

    @property
    def length(self) -> Floats:
        """(R,) how long each is."""
        extent: Floats = self.end - self.start
        return extent


class Overlaps(NamedTuple):
    """k, row : (R,) the pair of answers and the row of its first one, of every row looked up. mine, theirs : (S,) the
    place in `row`, and the row of the other answer, of every overlap; length : (S,) how long it is.
    """

    k: Ints
    row: Ints
    mine: Ints
    theirs: Ints
    length: Floats

    @property
    def met(self) -> Ints:
        """(R,) overlaps of every row looked up."""
        return np.bincount(self.mine, minlength=len(self.row))

    @property
    def covered(self) -> Floats:
        """(R,) how much of every row looked up overlaps."""
        return tally(self.mine, self.length, len(self.row))


@dataclass(frozen=True, eq=False)
class Marks:
    """The marks of V answers.

    answers : as they are. length : (V,) of the answer's continuum. whole : it is counted (characters, frames), not
        measured (seconds).
    rows : every mark by answer and start, its code one of `sets`. sets : the sets of labels that marks carry.
    """

    answers: Sequence[Any]
    length: Floats
    whole: bool
    rows: Rows
    sets: Sequence[tuple[str, ...]]

    @classmethod
    def of(cls, answers: Sequence[Any]) -> Marks:
        """The marks of answers (length, marks); marks without extent are passed over."""
        lengths = [length for length, _ in answers]
        flat = list(chain.from_iterable(mark for _, marks in answers for mark in marks))
        starts, ends, labels = flat[0::3], flat[1::3], flat[2::3]
        code_of: dict[tuple[str, ...], int] = {}
        codes = [code_of.setdefault(one, len(code_of)) for one in labels]
        answer = np.repeat(np.arange(len(answers)), [len(marks) for _, marks in answers])
        rows = Rows(answer, np.array(codes, dtype=np.int64), _floats(starts), _floats(ends))
        whole = {*map(type, lengths), *map(type, starts), *map(type, ends)} <= {int}
        return cls(answers, _floats(lengths), whole, _sorted(rows.take(rows.end > rows.start)), list(code_of))

    @cached_property
    def labels(self) -> Sequence[str]:
        """Every label seen, sorted; `NO_LABEL` among them where a mark carries none."""
        return sorted({label for labels in self.sets for label in labels or (NO_LABEL,)})

    @cached_property
    def by_label(self) -> Rows:
        """Every mark once per label it carries, by answer, label and start; one that a rater made twice counts once."""
        place = {label: code for code, label in enumerate(self.labels)}
        codes = [[place[label] for label in labels or (NO_LABEL,)] for labels in self.sets]
        times = np.array([len(one) for one in codes], dtype=np.int64)
        flat = np.array([code for one in codes for code in one], dtype=np.int64)
        mark = np.repeat(np.arange(len(self.rows.of)), times[self.rows.code])
        label = flat[spread(np.cumsum(times)[self.rows.code] - times[self.rows.code], times[self.rows.code])]
        rows = self.rows.take(mark)._replace(code=label)
        rows = rows.take(np.lexsort((rows.end, rows.start, rows.code, rows.of)))
        again = np.ones(len(rows.of), dtype=np.bool_)
        again[1:] = np.any([column[1:] != column[:-1] for column in rows], axis=0)
        return rows.take(again)

    @cached_property
    def cover(self) -> Rows:
        """What each answer covers with each label: disjoint stretches by answer, label and start."""
        return _merged(self.by_label, len(self.labels))

    @cached_property
    def pieces(self) -> tuple[Rows, Sequence[tuple[str, ...]]]:
        """Each answer cut where any of its marks begins or ends, and the sets of labels that the pieces' codes name.

        Of overlapping marks a piece carries all labels. Code `BLANK` names nothing: what is left unmarked is no piece.
        """
        rows = self.rows
        clash = np.zeros(len(self.length), dtype=np.bool_)
        clash[rows.of[1:][(rows.of[1:] == rows.of[:-1]) & (rows.start[1:] < rows.end[:-1])]] = True
        sets: dict[tuple[str, ...], int] = {(): BLANK}
        final = np.array([sets.setdefault(one or (NO_LABEL,), len(sets)) for one in self.sets], dtype=np.int64)
        plain = rows.take(~clash[rows.of])
        plain = plain._replace(code=final[plain.code])
        if not clash.any():
            return plain, list(sets)
        cut = _cut(rows.take(clash[rows.of]), self.cover.take(clash[self.cover.of]), self.labels, sets)
        return _sorted(_joined(plain, cut)), list(sets)

    @cached_property
    def size(self) -> Floats:
        """(V,) length covered, once for each label."""
        return tally(self.cover.of, self.cover.length, len(self.length))

    @cached_property
    def places(self) -> Floats:
        """Every edge there is, ascending."""
        places: Floats = np.unique(np.concatenate([self.rows.start, self.rows.end]))
        return places

    def key(self, group: Ints, place: Floats) -> Ints:
        """A number that sorts by group, then by place; places must be edges of marks."""
        keys: Ints = group * len(self.places) + np.searchsorted(self.places, place)
        return keys

    def parts(self, a: Ints, b: Ints) -> Iterator[slice]:
        """Stretches of the pairs of answers a[k], b[k] that hold about `ROWS` marks each."""
        of_answer = np.bincount(self.by_label.of, minlength=len(self.length))
        held = np.cumsum(of_answer[a] + of_answer[b])
        cuts = np.searchsorted(held, np.arange(ROWS, held[-1] + ROWS, ROWS)).tolist() if len(held) else []
        start = 0
        for cut in cuts:
            stop = min(cut + 1, len(a))
            if stop > start:
                yield slice(start, stop)
            start = stop

    def overlaps(self, rows: Rows, into: Rows, n_codes: int, a: Ints, b: Ints) -> Overlaps:
        """Where the rows of answers a[k] overlap the rows of answers b[k] of the same code.

        `rows` and `into` are sorted by answer and code, and those of one answer and code in `into` are disjoint.
        """
        bounds = np.searchsorted(rows.of, np.arange(len(self.length) + 1))
        times = (bounds[1:] - bounds[:-1])[a]
        k = np.repeat(np.arange(len(a)), times)
        row = spread(bounds[:-1][a], times)
        group = b[k] * n_codes + rows.code[row]
        groups = into.of * n_codes + into.code
        low = np.searchsorted(self.key(groups, into.end), self.key(group, rows.start[row]), side="right")
        high = np.searchsorted(self.key(groups, into.start), self.key(group, rows.end[row]))
        partners = np.maximum(high - low, 0)
        mine, theirs = np.repeat(np.arange(len(k)), partners), spread(low, partners)
        start = np.maximum(rows.start[row[mine]], into.start[theirs])
        return Overlaps(k, row, mine, theirs, np.minimum(rows.end[row[mine]], into.end[theirs]) - start)


def _floats(numbers: Sequence[float]) -> Floats:
    return np.array(numbers, dtype=np.float64)


def _sorted(rows: Rows) -> Rows:
    ahead = (rows.of[1:] > rows.of[:-1]) | ((rows.of[1:] == rows.of[:-1]) & (rows.start[1:] >= rows.start[:-1]))
    return rows if ahead.all() else rows.take(np.lexsort((rows.end, rows.start, rows.of)))


def _joined(one: Rows, other: Rows) -> Rows:
    of, code = np.concatenate([one.of, other.of]), np.concatenate([one.code, other.code])
    return Rows(of, code, np.concatenate([one.start, other.start]), np.concatenate([one.end, other.end]))


def spread(first: Ints, times: Ints) -> Ints:
    """first[0], first[0] + 1, ... for times[0] steps, then the same of the next."""
    places: Ints = np.arange(int(times.sum())) - np.repeat(np.cumsum(times) - times - first, times)
    return places


def _merged(rows: Rows, n_labels: int) -> Rows:
    """Overlapping stretches of one answer and label as one."""
    group = rows.of * n_labels + rows.code
    if not np.any((group[1:] == group[:-1]) & (rows.start[1:] < rows.end[:-1])):
        return rows
    places, rank = np.unique(np.concatenate([rows.start, rows.end]), return_inverse=True)
    start, end = rank[: len(group)], rank[len(group) :]
    # a group's ranks lie above those of all groups before it
    reach = np.maximum.accumulate(group * len(places) + end)
    first = np.ones(len(group), dtype=np.bool_)
    first[1:] = group[1:] * len(places) + start[1:] >= reach[:-1]
    opening = np.flatnonzero(first)
    last = np.append(opening[1:], len(group)) - 1
    return Rows(rows.of[opening], rows.code[opening], rows.start[opening], places[reach[last] % len(places)])


def _cut(marks: Rows, cover: Rows, labels: Sequence[str], sets: dict[tuple[str, ...], int]) -> Rows:
    """The pieces of answers with overlapping marks; new sets of labels are added to `sets`.

    A set of labels is told by the sum of random numbers of 64 bits, one for each label.
    """
    random = np.random.Generator(np.random.PCG64(len(labels)))
    mark_of = random.integers(1, 2**63, len(labels)).astype(np.uint64)[cover.code]
    nothing = np.zeros(len(marks.of), dtype=np.uint64)
    of = np.concatenate([cover.of, cover.of, marks.of, marks.of])
    place = np.concatenate([cover.start, cover.end, marks.start, marks.end])
    # sums wrap around, so that what is taken away at an end is what was added at the start
    change = np.concatenate([mark_of, np.uint64(0) - mark_of, nothing, nothing])
    order = np.lexsort((place, of))
    of, place, held = of[order], place[order], np.cumsum(change[order], dtype=np.uint64)
    piece = np.flatnonzero((of[1:] == of[:-1]) & (place[1:] > place[:-1]) & (held[:-1] != 0))
    kinds, where, kind = np.unique(held[piece], return_index=True, return_inverse=True)
    code = np.empty(len(kinds), dtype=np.int64)
    for number, example in enumerate(piece[where].tolist()):
        own = slice(*np.searchsorted(cover.of, [of[example], of[example] + 1]).tolist())
        here = (cover.start[own] <= place[example]) & (cover.end[own] > place[example])
        found = {labels[one] for one in cover.code[own][here].tolist()}
        code[number] = sets.setdefault(tuple(sorted(found - {NO_LABEL} or found)), len(sets))
    return Rows(of[piece], code[kind], place[piece], place[piece + 1])


class Levels(NamedTuple):
    """How many raters do something along continua, integrated.

    group, key : (K,) the groups and codes met, sorted. first, second : (K,) integrals of the number of raters and of
        its square over the continuum.
    """

    group: Ints
    key: Ints
    first: Floats
    second: Floats


def levels(rows: Rows, times: Ints, n_codes: int) -> Levels:
    """The number of raters by group (`rows.of`) and code, integrated; `times` : (R,) raters of each row.

    The rows of one rater must not overlap within a group and code.
    """
    return _integrated(_Steps.of(rows, times, n_codes), n_codes)


class _Steps(NamedTuple):
    """A number of raters that changes at places: (E,) group x code and place, the number behind it, in order.

    back : (2 R,) where the start and the end of every row went.
    """

    key: Ints
    place: Floats
    level: Ints
    back: Ints

    @classmethod
    def of(cls, rows: Rows, times: Ints, n_codes: int) -> _Steps:
        key = np.concatenate([rows.of, rows.of]) * n_codes + np.concatenate([rows.code, rows.code])
        place = np.concatenate([rows.start, rows.end])
        order = _order(key, place)
        level = np.cumsum(np.concatenate([times, -times])[order])
        back = np.empty(len(order), dtype=np.int64)
        back[order] = np.arange(len(order))
        return cls(key[order], place[order], level, back)

    def areas(self) -> Floats:
        """(E,) the integral from each place to the next; the number is 0 behind the last of a group."""
        areas = np.zeros(len(self.key))
        areas[:-1] = self.level[:-1] * np.diff(self.place)
        return areas


def _order(key: Ints, place: Floats) -> Ints:
    """Sorts by key, then place: in one number of 64 bits where they fit, which is twice as fast."""
    order: Ints
    whole = place.astype(np.int64)
    fits = bool(len(place)) and place.min() >= 0 and (key.max() + 1.0) * (place.max() + 1.0) < 2**62
    if fits and np.array_equal(whole, place):
        order = np.argsort(key * (int(place.max()) + 1) + whole, kind="stable")
    else:
        order = np.lexsort((place, key))
    return order


def _integrated(steps: _Steps, n_codes: int) -> Levels:
    areas = steps.areas()
    kinds, kind = np.unique(steps.key, return_inverse=True)
    group, key = np.divmod(kinds, n_codes)
    return Levels(group, key, tally(kind, areas, len(kinds)), tally(kind, areas * steps.level, len(kinds)))


@dataclass(frozen=True, eq=False)
class Documents:
    """G documents, each with the answers of its raters: a pattern of answers is a document, or several alike.

    patterns : of pairable units, their values the answers of `marks`.
    """

    patterns: Patterns
    marks: Marks

    @cached_property
    def length(self) -> Floats:
        """(G,) length of each document: the longest that any of its raters' answers tells."""
        own = self.marks.length.copy()
        np.maximum.at(own, self.marks.rows.of, self.marks.rows.end)
        longest = np.zeros(self.patterns.n_patterns)
        np.maximum.at(longest, self.patterns.row, own[self.patterns.col])
        return longest

    @cached_property
    def pieces(self) -> tuple[Rows, Ints]:
        """The pieces of every rater's answer by document, and how many raters gave each."""
        return self.of_entries(self.marks.pieces[0])

    @cached_property
    def cover(self) -> tuple[Rows, Ints]:
        """What every rater covers with each label by document, and how many raters gave it."""
        return self.of_entries(self.marks.cover)

    def of_entries(self, rows: Rows) -> tuple[Rows, Ints]:
        """Rows of answers, sorted by answer, as rows of the documents that hold the answer."""
        patterns = self.patterns
        bounds = np.searchsorted(rows.of, np.arange(len(self.marks.length) + 1))
        times = (bounds[1:] - bounds[:-1])[patterns.col]
        found = rows.take(spread(bounds[:-1][patterns.col], times))
        return found._replace(of=np.repeat(patterns.row, times)), np.repeat(patterns.n, times)

    @cached_property
    def anything(self) -> tuple[Levels, Floats]:
        """How many raters marked anything, and (R,) of each of `pieces` the integral of that number over it."""
        rows, times = self.pieces
        steps = _Steps.of(rows._replace(code=np.zeros_like(rows.code)), times, 1)
        areas = steps.areas()
        before = np.cumsum(areas) - areas
        under = before[steps.back[len(rows.of) :]] - before[steps.back[: len(rows.of)]]
        return _integrated(steps, 1), under
