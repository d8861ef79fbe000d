"""Agreement on marked stretches of a continuum: of a text, by character; of a time line, by time.

Every position of a document is judged by every rater who submitted it: his value there is the set of labels of his
marks over it, or blank. Overlapping and nested marks of one rater make a set, which is a category of its own: two sets
agree or they do not. A mark without a label is marked matter with a value of its own, and no category.

by character : Krippendorff's nominal alpha over positions.
unitized : _u_alpha, |_u_alpha, _cu_alpha and _(k)u_alpha of Krippendorff, Mathet, Bouvry and Widloecher (2016), On the
    reliability of unitizing textual continua: further developments, Quality & Quantity 50, 2347-2364; also
    Krippendorff (2019), Content Analysis, 4th ed., 12.6. A rater's units are cut where his marks overlap.

All of them are 1 - (n - S / n) D / P with the coincidences of c and k

    o_ck = sum over documents and ordered pairs of raters of |i's c and j's k| / (m - 1),

their sum n, their sums n_c by value, D = n - sum_c o_cc, P = n^2 - sum_c n_c^2, and S the coincidences of units with
themselves, which chance must not count: a unit of length l coincides with itself l^2 times, a blank position (or any
position, by character) once. Several documents are one continuum with cuts between them. On a time line measured in
seconds a position has no extent and coincides with itself never.

F1 : of two raters' marks, over all pairs of raters and documents together: exact (same edges and label) and partial
    (same label and any overlap: the inexact match of Uzuner, South, Shen and DuVall 2011, J. Am. Med. Inform. Assoc.
    18).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from connector.agreement.continua import BLANK, NO_LABEL, Documents, Levels, Marks, levels, spread
from connector.agreement.intervals import Case, Coefficient, value_of
from connector.agreement.patterns import DENSE, NOWHERE, Patterns, Skew, dot, tally
from connector.agreement.ratings import Floats, Ints

NOTHING = 1e-12
"""Relative size under which what is left of a subtraction counts as zero."""


class Counts(NamedTuple):
    """Amounts by document and value: (K,) document, value and amount."""

    row: Ints
    col: Ints
    amount: Floats
    n_values: int

    def of(self, rows: Ints) -> Counts:
        """Those of these documents, numbered anew in this order; a document may come several times."""
        order = np.argsort(self.row, kind="stable")
        bounds = np.searchsorted(self.row[order], np.stack([rows, rows + 1]))
        times = bounds[1] - bounds[0]
        kept = order[spread(bounds[0], times)]
        return Counts(np.repeat(np.arange(len(rows)), times), self.col[kept], self.amount[kept], self.n_values)

    def sums(self, weights: Floats) -> Floats:
        """(B, C) totals by value for (B, G) weights of the documents."""
        if len(weights) > 1 and weights.shape[1] * self.n_values <= DENSE:
            table = np.zeros((weights.shape[1], self.n_values))
            table[self.row, self.col] = self.amount
            totals: Floats = weights @ table
            return totals
        return np.array([tally(self.col, one[self.row] * self.amount, self.n_values) for one in weights])


@dataclass(frozen=True, eq=False)
class ContinuumAlpha:
    """1 - (n - S / n) D / P as a function of the weights of G documents.

    weights : (G,) observed documents of each pattern. n, d, own : (G,) each one's part of n, D and S.
    counts : its parts of n_c. marks : (G,) marks in it. unit : mean length of a mark.
    """

    weights: Ints
    n: Floats
    d: Floats
    own: Floats
    counts: Counts
    marks: Ints
    unit: float

    @property
    def disagreeing(self) -> NDArray[np.bool_]:
        """(G,) whether the raters of such a document differ."""
        return self.d > 0

    @property
    def cells(self) -> int:
        """Numbers that one replicate holds at a time."""
        return max(len(self.weights), self.counts.n_values)

    @cached_property
    def observed(self) -> Floats:
        """(C,) n_c."""
        sums: Floats = self.counts.sums(self.weights[None, :].astype(np.float64))[0]
        return sums

    def totals(self, weights: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """(B,) n, D, P and S for (B, G) weights; P is 0 where there is no variation."""
        n, d, own = (dot(weights, part) for part in (self.n, self.d, self.own))
        by_value = self.counts.sums(weights)
        p = n * n - np.einsum("bc,bc->b", by_value, by_value)
        return n, d, np.where(p > NOTHING * n * n, p, 0.0), own

    def evaluate(self, weights: Floats) -> Floats:
        """(B,) the coefficient, NaN where undefined."""
        return _alpha(*self.totals(weights))

    @property
    def skew(self) -> Skew:
        """How few marks there are beside what is left blank, counted in marks: characters are not independent."""
        marked = int(self.weights @ self.marks)
        agreeing = self.weights[(self.marks > 0) & ~self.disagreeing]
        return Skew(marked + int(self.weights.sum()), marked, int(agreeing.sum()))

    def influence(self) -> Floats:
        """(G,) of one document more of each pattern."""
        weights = self.weights.astype(np.float64)
        n, d, p, own = (float(total[0]) for total in self.totals(weights[None, :]))
        counts = self.counts
        pull = tally(counts.row, counts.amount * self.observed[counts.col], len(weights))
        of_p = 2 * (n * self.n - pull)
        factor = n - own / n
        of_factor = self.n - self.own / n + own * self.n / (n * n)
        moved: Floats = of_factor * d / p + factor * self.d / p - factor * d * of_p / (p * p)
        size = float(weights.sum())
        centred: Floats = moved - float(moved @ weights) / size
        return -size * centred

    def linearised(self) -> Floats | None:
        """None: no analytic interval is published."""
        return None

    def without_one(self) -> Floats:
        """(G,) the coefficient without one document of each pattern, NaN where undefined then."""
        n, d, _, own = (float(total[0]) for total in self.totals(self.weights[None, :].astype(np.float64)))
        counts = self.counts
        squares = float(self.observed @ self.observed)
        pull = tally(counts.row, counts.amount * self.observed[counts.col], len(self.weights))
        alone = tally(counts.row, counts.amount**2, len(self.weights))
        left = n - self.n
        p_left = left * left - (squares - 2 * pull + alone)
        p_left = np.where(p_left > NOTHING * n * n, p_left, 0.0)
        return _alpha(left, np.maximum(d - self.d, 0.0), p_left, own - self.own)

    def with_conflict(self) -> ContinuumAlpha:
        """With one document more, as long as a mark, that one rater gave the commonest value and another the next."""
        return self._with_document(self._commonest[:2], 2 * self.unit)

    def with_agreement(self) -> ContinuumAlpha:
        """With one document more, as long as a mark, that two raters gave the second commonest value."""
        return self._with_document(self._commonest[1:2], 0.0)

    @property
    def _commonest(self) -> Ints:
        return np.argsort(-self.observed, kind="stable")

    def _with_document(self, values: Ints, d: float) -> ContinuumAlpha:
        counts, length = self.counts, 2 * self.unit
        more = counts._replace(
            row=np.append(counts.row, np.full(len(values), len(self.weights))),
            col=np.append(counts.col, values),
            amount=np.append(counts.amount, np.full(len(values), length / max(len(values), 1))),
        )
        # its two units coincide with themselves as the others do
        own = length * float(self.weights @ self.own) / float(self.weights @ self.n)
        return replace(
            self,
            weights=np.append(self.weights, 1),
            n=np.append(self.n, length),
            d=np.append(self.d, d),
            own=np.append(self.own, own),
            counts=more,
            marks=np.append(self.marks, 2),
        )


@dataclass(frozen=True, eq=False)
class CharacterAlpha(ContinuumAlpha):
    """Alpha by character with what the diagnosis takes it apart by. documents : those it was made of."""

    documents: Documents

    @property
    def patterns(self) -> Patterns:
        """The pairable patterns of answers."""
        return self.documents.patterns

    @cached_property
    def found(self) -> Coefficient:
        """Its value with observed and expected disagreement, or why it is undefined."""
        return case_of(self).found

    @property
    def sampled(self) -> bool:
        """Expected disagreement is exact."""
        return False

    @property
    def cost(self) -> Floats:
        """(G,) points of alpha that one document of each pattern takes away."""
        return self._points * self.d

    def apart(self, a: Ints, b: Ints) -> Floats:
        """(K,) points of alpha that answers a[k] and b[k] cost each other, times (m - 1)."""
        return self._points * lengths_apart(self.documents.marks, a, b)

    @property
    def _points(self) -> float:
        n, _, p, own = (float(total[0]) for total in self.totals(self.weights[None, :].astype(np.float64)))
        return (n - own / n) / p

    def on(self, patterns: Patterns) -> CharacterAlpha:
        """The same of other patterns of the same answers; documents that were there before are not looked at again."""
        place = _places_among(self.patterns, patterns)
        new = np.flatnonzero(place < 0)
        known = np.flatnonzero(place >= 0)
        fresh = Unitizing(Documents(_rows_of(patterns, new), self.documents.marks)).by_character
        order = np.argsort(np.concatenate([known, new]))
        kept = place[known]
        columns = {
            name: np.concatenate([getattr(self, name)[kept], getattr(fresh, name)])[order]
            for name in ("n", "d", "own", "marks")
        }
        old, more = self.counts.of(kept), fresh.counts
        return replace(
            self,
            weights=patterns.weights,
            counts=Counts(
                np.concatenate([known[old.row], new[more.row]]),
                np.concatenate([old.col, more.col]),
                np.concatenate([old.amount, more.amount]),
                self.counts.n_values,
            ),
            documents=Documents(patterns, self.documents.marks),
            **columns,
        )


def _rows_of(patterns: Patterns, rows: Ints) -> Patterns:
    """Some of the patterns, in their order."""
    place = np.full(patterns.n_patterns, -1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    kept = place[patterns.row] >= 0
    return Patterns(
        place[patterns.row[kept]],
        patterns.col[kept],
        patterns.n[kept],
        patterns.size[rows],
        patterns.weights[rows],
        patterns.n_values,
        NOWHERE,
    )


def _places_among(known: Patterns, others: Patterns) -> Ints:
    """(G',) where each of the other patterns stands among the known ones, -1 for those that do not.

    Patterns are told by the sum of a random number of 64 bits for each answer.
    """
    random = np.random.Generator(np.random.PCG64(known.n_values))
    sign = random.integers(1, 2**63, known.n_values).astype(np.uint64)
    of_known, of_others = (
        np.add.reduceat(sign[one.col] * one.n.astype(np.uint64), np.searchsorted(one.row, np.arange(one.n_patterns)))
        if one.n_patterns
        else np.zeros(0, dtype=np.uint64)
        for one in (known, others)
    )
    order = np.argsort(of_known, kind="stable")
    place = np.minimum(np.searchsorted(of_known, of_others, sorter=order), len(order) - 1)
    there: Ints = np.where(of_known[order[place]] == of_others, order[place], -1)
    return there


def _alpha(n: Floats, d: Floats, p: Floats, own: Floats) -> Floats:
    chance: Floats = n - np.divide(own, n, out=np.zeros_like(n), where=n > 0)
    ratio: Floats = np.divide(chance * d, p, out=np.full_like(p, math.nan), where=p > 0)
    return 1 - ratio


@dataclass(frozen=True, eq=False)
class SpanF1:
    """F1 over pairs of raters as a function of the weights of G documents.

    weights : (G,) observed documents of each pattern. found : (G,) marks of either rater that the other has too, over
        all pairs of raters; marks : (G,) all their marks, counted so.
    """

    weights: Ints
    found: Floats
    marks: Floats

    @property
    def disagreeing(self) -> NDArray[np.bool_]:
        """(G,) whether the raters of such a document differ."""
        return self.found < self.marks

    @property
    def cells(self) -> int:
        """Numbers that one replicate holds at a time."""
        return len(self.weights)

    def evaluate(self, weights: Floats) -> Floats:
        """(B,) F1, NaN where nobody marked anything."""
        found, marks = dot(weights, self.found), dot(weights, self.marks)
        f1: Floats = np.divide(found, marks, out=np.full_like(marks, math.nan), where=marks > 0)
        return f1

    @property
    def skew(self) -> None:
        """None: a share is not corrected for chance."""
        return None

    def influence(self) -> Floats:
        """(G,) of one document more of each pattern."""
        found, marks = (float(self.weights @ part) for part in (self.found, self.marks))
        moved: Floats = (self.found - found / marks * self.marks) / marks
        return float(self.weights.sum()) * moved

    def linearised(self) -> Floats | None:
        """None: no analytic interval is published."""
        return None

    def with_conflict(self) -> SpanF1:
        """With one document more, where one of two raters marked what the other left out."""
        return self._with_document(0.0, 1.0)

    def with_agreement(self) -> SpanF1:
        """With one document more, where two raters marked the same."""
        return self._with_document(2.0, 2.0)

    def _with_document(self, found: float, marks: float) -> SpanF1:
        return SpanF1(np.append(self.weights, 1), np.append(self.found, found), np.append(self.marks, marks))


class LabelAgreement(NamedTuple):
    """One label of marks against everything else; each figure None where undefined.

    share : of all positions judged in company. specific : the chance that another rater has the label at a position
        where one has it. one_vs_rest : the alpha by character of "has it or not". coding : _(k)u_alpha, within what
        several marked; coverage : the share of its matter that lies there.
    too_rare : chance lets two raters meet on fewer than about five of its positions.
    """

    label: str
    share: float
    specific: float | None
    one_vs_rest: float | None
    coding: float | None
    coverage: float | None
    too_rare: bool
    statistic: ContinuumAlpha


@dataclass(frozen=True, eq=False)
class Unitizing:
    """Every coefficient of the marks in G documents of two raters or more."""

    documents: Documents

    @cached_property
    def by_character(self) -> CharacterAlpha:
        """Nominal alpha over positions."""
        own, patterns = self._n * self._position, self.documents.patterns
        columns = (self._n, self._apart, own, self._counts, self._n_marks, self._unit)
        return CharacterAlpha(patterns.weights, *columns, self.documents)

    @cached_property
    def unitized(self) -> ContinuumAlpha:
        """_u_alpha: units and their labels."""
        return self._alpha(self._n, self._apart, self._own, self._counts)

    @cached_property
    def marked(self) -> ContinuumAlpha:
        """|_u_alpha: marked matter, whatever its label, against what is left blank."""
        found = self.documents.anything[0]
        return self._two_sided(found.group, found.first, found.second, self._own)

    @cached_property
    def coding(self) -> ContinuumAlpha:
        """_cu_alpha: the labels within what several raters marked."""
        pieces, times = self.documents.pieces
        pairable = self._pairable
        g, codes = self._size(), len(self.documents.marks.pieces[1])
        cell, amount = _summed(pieces.of * codes + pieces.code, times * pairable)
        row, col = np.divmod(cell, codes)
        anything = self.documents.anything[0]
        apart = tally(anything.group, anything.second, g) - tally(self._levels.group, self._levels.second, g)
        n = tally(pieces.of, times * pairable, g)
        return self._alpha(
            n,
            self._settled(apart) / self._others,
            tally(pieces.of, times * pairable * pairable, g),
            Counts(row, col, amount, codes),
        )

    @cached_property
    def exact(self) -> SpanF1:
        """F1 of marks with the same edges and label."""
        rows, times = self.documents.of_entries(self.documents.marks.by_label)
        order = np.lexsort((rows.end, rows.start, rows.code, rows.of))
        rows, times = rows.take(order), times[order]
        new = np.ones(len(times), dtype=np.bool_)
        new[1:] = np.any([column[1:] != column[:-1] for column in rows], axis=0)
        raters = np.add.reduceat(times, np.flatnonzero(new)) if len(times) else times
        return self._f1(tally(rows.of[new], raters * (raters - 1), self._size()))

    @cached_property
    def partial(self) -> SpanF1:
        """F1 of marks with the same label and any overlap."""
        patterns, marks = self.documents.patterns, self.documents.marks
        first, second = patterns.entry_pairs
        a, b = patterns.col[first], patterns.col[second]
        met = np.zeros(len(a))
        for part in marks.parts(a, b):
            for one, other in ((a[part], b[part]), (b[part], a[part])):
                found = marks.overlaps(marks.by_label, marks.cover, len(marks.labels), one, other)
                met[part] += tally(found.k, np.minimum(found.met, 1), len(one))
        own = np.bincount(marks.by_label.of, minlength=len(marks.length))[patterns.col]
        alike = tally(patterns.row, patterns.n * (patterns.n - 1) * own, self._size())
        return self._f1(alike + tally(patterns.row[first], met * patterns.n[first] * patterns.n[second], self._size()))

    @cached_property
    def labels(self) -> Sequence[LabelAgreement]:
        """Every label that a mark carries, sorted."""
        return [self._label(code) for code, label in enumerate(self.documents.marks.labels) if label != NO_LABEL]

    def pairs(self) -> list[tuple[tuple[str, ...], tuple[str, ...], float]]:
        """Every two different values (sets of labels, () for blank) that two raters gave one position, and over what
        length, for each pair of raters; the longest first."""
        patterns, sets = self.documents.patterns, self.documents.marks.pieces[1]
        first, second = patterns.entry_pairs
        times = patterns.weights[patterns.row[first]] * patterns.n[first] * patterns.n[second]
        lengths: Counter[tuple[int, int]] = Counter()
        for part in self.documents.marks.parts(patterns.col[first], patterns.col[second]):
            one, other, amount = self._apart_by_values(
                patterns.col[first[part]], patterns.col[second[part]], times[part]
            )
            kinds, amounts = _summed(np.minimum(one, other) * len(sets) + np.maximum(one, other), amount)
            for kind, length in zip(kinds.tolist(), amounts.tolist(), strict=True):
                lengths[divmod(kind, len(sets))] += length
        found = [(sets[a], sets[b], length) for (a, b), length in lengths.items() if a != b and length > NOTHING]
        return sorted(found, key=lambda one: (-one[2], one[0], one[1]))

    def _apart_by_values(self, a: Ints, b: Ints, times: Ints) -> tuple[Ints, Ints, Floats]:
        """The values of answers a[k] and b[k] where either is not blank, and over what length, times[k] over."""
        marks = self.documents.marks
        pieces, _ = marks.pieces
        anything = pieces._replace(code=np.zeros_like(pieces.code))
        there, back = (marks.overlaps(anything, anything, 1, *pair) for pair in ((a, b), (b, a)))
        alone = [(found.row, (pieces.length[found.row] - found.covered) * times[found.k]) for found in (there, back)]
        return (
            np.concatenate([pieces.code[there.row[there.mine]], *(pieces.code[row] for row, _ in alone)]),
            np.concatenate([pieces.code[there.theirs], np.full(sum(len(row) for row, _ in alone), BLANK)]),
            np.concatenate([there.length * times[there.k[there.mine]], *(length for _, length in alone)]),
        )

    def _size(self) -> int:
        return self.documents.patterns.n_patterns

    @cached_property
    def _n(self) -> Floats:
        patterns = self.documents.patterns
        return patterns.size * self.documents.length

    @property
    def _others(self) -> Ints:
        """(G,) m - 1."""
        return self.documents.patterns.size - 1

    @property
    def _position(self) -> float:
        """How often a position coincides with itself."""
        return 1.0 if self.documents.marks.whole else 0.0

    @cached_property
    def _levels(self) -> Levels:
        pieces, times = self.documents.pieces
        return levels(pieces, times, len(self.documents.marks.pieces[1]))

    @cached_property
    def _marked(self) -> Floats:
        """(G,) length that raters marked, for each rater."""
        found = self.documents.anything[0]
        return tally(found.group, found.first, self._size())

    @cached_property
    def _apart(self) -> Floats:
        """(G,) D: the length over which two raters' values differ, over ordered pairs, by m - 1."""
        found, anything, m = self._levels, self.documents.anything[0], self.documents.patterns.size
        marked_twice = tally(anything.group, anything.second, self._size())
        alike = tally(found.group, found.second, self._size())
        return self._settled(2 * m * self._marked - marked_twice - alike) / self._others

    def _settled(self, apart: Floats) -> Floats:
        """What a subtraction left, without rounding."""
        size = self.documents.patterns.size
        return np.where(apart > NOTHING * size * (self._marked + 1), apart, 0.0)

    @cached_property
    def _own(self) -> Floats:
        """(G,) S of units: their lengths squared, and the blank positions."""
        pieces, times = self.documents.pieces
        squares = tally(pieces.of, times * pieces.length**2, self._size())
        return squares + self._position * (self._n - self._marked)

    @cached_property
    def _counts(self) -> Counts:
        """n_c, what is blank included."""
        found = self._levels
        every = np.arange(self._size())
        return Counts(
            np.append(found.group, every),
            np.append(found.key, np.full(len(every), BLANK)),
            np.append(found.first, self._n - self._marked),
            len(self.documents.marks.pieces[1]),
        )

    @cached_property
    def _pairable(self) -> Floats:
        """(R,) of each piece: the length that another rater marked too, the mean over the other raters."""
        pieces, _ = self.documents.pieces
        under: Floats = (self.documents.anything[1] - pieces.length) / self._others[pieces.of]
        return np.where(under > NOTHING * pieces.length, under, 0.0)

    def _alpha(self, n: Floats, d: Floats, own: Floats, counts: Counts) -> ContinuumAlpha:
        patterns = self.documents.patterns
        return ContinuumAlpha(patterns.weights, n, d, own, counts, self._n_marks, self._unit)

    def _two_sided(self, group: Ints, first: Floats, second: Floats, own: Floats) -> ContinuumAlpha:
        """Of those who have something at a position against those who have it not, from their integrated number."""
        patterns, every = self.documents.patterns, np.arange(self._size())
        with_it, squares = (tally(group, part, self._size()) for part in (first, second))
        d = 2 * self._settled(patterns.size * with_it - squares) / self._others
        counts = Counts(
            np.concatenate([every, every]),
            np.repeat([0, 1], len(every)),
            np.concatenate([self._n - with_it, with_it]),
            2,
        )
        return self._alpha(self._n, d, own, counts)

    @cached_property
    def _n_marks(self) -> Ints:
        """(G,) marks of all raters."""
        patterns, marks = self.documents.patterns, self.documents.marks
        of_answer = np.bincount(marks.rows.of, minlength=len(marks.length))
        return np.rint(tally(patterns.row, patterns.n * of_answer[patterns.col], self._size())).astype(np.int64)

    @cached_property
    def _unit(self) -> float:
        """Mean length of a mark."""
        rows = self.documents.marks.rows
        return float(rows.length.mean()) if len(rows.of) else 1.0

    @cached_property
    def _label_levels(self) -> Levels:
        cover, times = self.documents.cover
        return levels(cover, times, len(self.documents.marks.labels))

    @cached_property
    def _inside(self) -> tuple[Floats, Floats]:
        """(C,) by set of labels: the length of its pieces that other raters marked too, and S of those."""
        pieces, times = self.documents.pieces
        weights = times * self.documents.patterns.weights[pieces.of]
        n_sets = len(self.documents.marks.pieces[1])
        return (
            tally(pieces.code, weights * self._pairable, n_sets),
            tally(pieces.code, weights * self._pairable**2, n_sets),
        )

    def _label(self, code: int) -> LabelAgreement:
        marks, patterns = self.documents.marks, self.documents.patterns
        label = marks.labels[code]
        here = self._label_levels.key == code
        group, first, second = (part[here] for part in (self._label_levels.group, *self._label_levels[2:]))
        weights, m = patterns.weights[group], patterns.size[group]
        statistic = self._two_sided(group, first, second, self._n * self._position)
        with_it, chances = float(weights @ first), float(weights @ ((m - 1) * first))
        n = float(patterns.weights @ self._n)
        holds = np.array([label in labels for labels in marks.pieces[1]], dtype=np.bool_)
        inside, own = (float(part[holds].sum()) for part in self._inside)
        twice = float(weights @ ((second - first) / (m - 1)))
        # what is measured, not counted, is counted in marks of mean length
        step = 1.0 if marks.whole else self._unit
        return LabelAgreement(
            label,
            with_it / n if n else 0.0,
            float(weights @ (second - first)) / chances if chances else None,
            value_of(statistic),
            self._coding_of(inside, own, twice),
            inside / with_it if with_it else None,
            with_it / step < math.sqrt(5 * n / step),
            statistic,
        )

    def _coding_of(self, inside: float, own: float, twice: float) -> float | None:
        """_(k)u_alpha from the label's length within what several marked, its S, and what two raters gave it."""
        n = float(self._inside[0].sum())
        rest = inside * (n - inside)
        if inside <= 0 or rest <= NOTHING * n * n:
            return None
        return 1 - (inside * n - own) / inside * max(inside - twice, 0.0) / rest

    def _f1(self, found: Floats) -> SpanF1:
        """Of marks found by the other rater, over ordered pairs of raters."""
        marks, patterns = self.documents.marks, self.documents.patterns
        rows = np.bincount(marks.by_label.of, minlength=len(marks.length))[patterns.col]
        whole = tally(patterns.row, patterns.n * rows, self._size())
        return SpanF1(patterns.weights, found, self._others * whole)


def case_of(statistic: ContinuumAlpha | SpanF1) -> Case:
    """A coefficient before its interval."""
    if not len(statistic.weights):
        return Case(None, Coefficient(None, "no_pairable_units"))
    value = value_of(statistic)
    if value is None:
        return Case(None, Coefficient(None, "no_variation"))
    if isinstance(statistic, SpanF1):
        return Case(statistic, Coefficient(value))
    n, d, p, own = (float(total[0]) for total in statistic.totals(statistic.weights[None, :].astype(np.float64)))
    if n <= 0 or n * n <= own:
        return Case(None, Coefficient(None, "no_variation"))
    return Case(statistic, Coefficient(value, None, d / n, p / (n * n - own)))


def lengths_apart(marks: Marks, a: Ints, b: Ints) -> Floats:
    """(K,) over what length the values of answers a[k] and b[k] differ."""
    pieces, _ = marks.pieces
    anything = pieces._replace(code=np.zeros_like(pieces.code))
    marked = tally(pieces.of, pieces.length, len(marks.length))
    apart = marked[a] + marked[b]
    for part in marks.parts(a, b):
        found = marks.overlaps(anything, anything, 1, a[part], b[part])
        alike = pieces.code[found.row[found.mine]] == pieces.code[found.theirs]
        # where both marked something it is in the sum twice, and alike it is in it once too often
        apart[part] -= tally(found.k[found.mine], found.length * (1 + alike), len(a[part]))
    return np.where(apart > NOTHING * (marked[a] + marked[b]), apart, 0.0)


def distances(marks: Marks, a: Ints, b: Ints) -> Floats:
    """(K,) 1 - F1 over (position, label) of answers a[k] and b[k]: 0 where both left everything blank."""
    shared = np.zeros(len(a))
    for part in marks.parts(a, b):
        found = marks.overlaps(marks.cover, marks.cover, len(marks.labels), a[part], b[part])
        shared[part] = tally(found.k[found.mine], found.length, len(a[part]))
    size = marks.size[a] + marks.size[b]
    f1: Floats = np.divide(2 * shared, size, out=np.ones(len(a)), where=size > 0)
    return np.where(f1 > 1 - NOTHING, 0.0, 1 - f1)


def consensus(answers: Sequence[Any], times: Sequence[int]) -> Any:
    """The answer (length, marks) of the stretches that at least half of the raters marked with a label.

    answers, times : the distinct answers of one document, and how many raters gave each. A stretch is cut where half
    of the raters end one mark and half begin another.
    """
    half = sum(times) / 2
    edges: dict[str, list[tuple[float, int, int]]] = {}
    for (_, marks), n in zip(answers, times, strict=True):
        for label, start, end in _stretches(marks):
            edges.setdefault(label, []).extend(((start, n, 0), (end, 0, n)))
    stretches: dict[tuple[float, float], list[str]] = {}
    for label, at in edges.items():
        for stretch in _held_by(sorted(at), half):
            stretches.setdefault(stretch, []).append(label)
    found = [(*stretch, tuple(sorted(labels))) for stretch, labels in stretches.items()]
    if NO_LABEL in edges:
        found = [(start, end, tuple(label for label in labels if label)) for start, end, labels in found]
    return max(length for length, _ in answers), tuple(sorted(found))


def _stretches(marks: Sequence[Any]) -> Iterator[tuple[str, float, float]]:
    """What one rater's marks cover with each label, those that overlap as one; marks are sorted."""
    last: dict[str, tuple[float, float]] = {}
    for start, end, labels in marks:
        for label in labels or (NO_LABEL,):
            before = last.get(label)
            if before is None:
                last[label] = start, end
            elif start < before[1]:
                last[label] = before[0], max(before[1], end)
            else:
                yield label, *before
                last[label] = start, end
    for label, before in last.items():
        yield label, *before


def _held_by(edges: Sequence[tuple[float, int, int]], half: float) -> Iterator[tuple[float, float]]:
    """The stretches over which as many as half hold a mark.

    edges : in order, each with the number of raters who begin a mark there and of those who end one.
    """
    level, place, begun, ended, since = 0, -math.inf, 0, 0, None
    for next_place, begin, end in (*edges, (math.inf, 0, 0)):
        if next_place == place:
            begun, ended = begun + begin, ended + end
            continue
        level += begun - ended
        if since is not None and (level < half or (begun >= half and ended >= half)):
            yield since, place
            since = None
        if since is None and level >= half:
            since = place
        place, begun, ended = next_place, begin, end


def _summed(kind: Ints, amount: Floats) -> tuple[Ints, Floats]:
    """The kinds met, and the sum of the amounts of each."""
    kinds, place = np.unique(kind, return_inverse=True)
    return kinds, tally(place, amount, len(kinds))
