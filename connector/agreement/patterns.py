"""Units folded to distinct count vectors: the seam between the data and the statistics.

Units with the same counts of values are exchangeable for every statistic here, so that a table of any length becomes a
histogram of few rows: alpha, the kappas, the bootstrap and the per-unit results all read that histogram alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from connector.agreement.ratings import Codes, Floats, Ints, Ratings

EXACT = 2**53
"""Sums of whole numbers below this are exact in float64, the type in which np.bincount adds weights."""
DENSE = 4_000_000
"""Most cells of a dense patterns x values (or replicates x patterns) array: 32 MB."""

MOST_ORDERED = 50_000
"""Entries of patterns up to which they are put in their own order."""
REFINEMENTS = 3

NOWHERE = np.zeros(0, dtype=np.int64)
"""The index of patterns whose units nobody asked for."""


class Skew(NamedTuple):
    """ratings : all; outside : those outside the commonest value; agreeing : units that agree on another value."""

    ratings: int
    outside: int
    agreeing: int


@dataclass(frozen=True, eq=False)
class Patterns:
    """G distinct count vectors over V values, and how many units have each.

    row, col, n : (K,) the non-zero counts, sorted by row then col: `n[k]` ratings of value `col[k]` in pattern
        `row[k]`.
    size : (G,) ratings per unit, m_u.
    weights : (G,) units with that pattern.
    index : (N,) pattern of every unit, -1 for a unit without a rating; empty where nobody asked for the units' places.
    """

    row: Ints
    col: Ints
    n: Ints
    size: Ints
    weights: Ints
    n_values: int
    index: Ints

    @property
    def n_patterns(self) -> int:
        """G."""
        return len(self.size)

    @property
    def n_units(self) -> int:
        """Units with a rating."""
        return int(self.weights.sum())

    @property
    def n_ratings(self) -> int:
        """Ratings of those units."""
        return int(self.weights @ self.size) if len(self.size) else 0

    @cached_property
    def marginals(self) -> Ints:
        """(V,) n_c, ratings of every value."""
        return whole_tally(self.col, self.n * self.weights[self.row], self.n_values)

    @cached_property
    def distinct(self) -> Ints:
        """(G,) distinct values in each pattern."""
        return np.bincount(self.row, minlength=self.n_patterns)

    @cached_property
    def pairable(self) -> Patterns:
        """The patterns with two ratings or more, the only ones that alpha sees; without the units' places."""
        keep = self.size >= 2
        if keep.all():
            return self
        new = np.cumsum(keep) - 1
        entries = keep[self.row]
        return Patterns(
            new[self.row[entries]],
            self.col[entries],
            self.n[entries],
            self.size[keep],
            self.weights[keep],
            self.n_values,
            NOWHERE,
        )

    @cached_property
    def kept(self) -> dict[str, Any]:
        """What was made of these patterns and is asked for again, by name."""
        return {}

    @cached_property
    def entry_pairs(self) -> tuple[Ints, Ints]:
        """Places i < j in row/col/n of every two different values met in one pattern."""
        return pairs_within(self.distinct)

    def sums(self, weights: Floats, per_entry: Floats) -> Floats:
        """(B, V) totals over units, for B rows of pattern weights, of a quantity given per entry, by value."""
        if self.n_patterns * self.n_values <= DENSE:
            return weights @ self.dense(per_entry)
        totals = np.empty((len(weights), self.n_values))
        for place, one in enumerate(weights):
            totals[place] = tally(self.col, one[self.row] * per_entry, self.n_values)
        return totals

    def dense(self, per_entry: Floats | Ints) -> Floats:
        """(G, V) array of a quantity given per entry."""
        table = np.zeros((self.n_patterns, self.n_values))
        table[self.row, self.col] = per_entry
        return table

    @cached_property
    def skew(self) -> Skew:
        """How far one value outweighs the others."""
        counts = self.marginals
        commonest = int(np.argmax(counts)) if len(counts) else -1
        alike = (self.size >= 2) & (self.distinct == 1)
        # rows are sorted, so that the first entry of a pattern of one value is that value
        value = self.col[np.searchsorted(self.row, np.arange(self.n_patterns))]
        agreeing = self.weights[alike & (value != commonest)]
        total = int(counts.sum())
        return Skew(total, total - int(counts.max(initial=0)), int(agreeing.sum()))

    def with_conflict(self) -> Patterns:
        """One more unit, with one rating of each of the two commonest values."""
        return self._with_unit(np.sort(np.argsort(-self.marginals, kind="stable")[:2]), 1)

    def with_agreement(self) -> Patterns:
        """One more unit, with two ratings of the second commonest value."""
        return self._with_unit(np.argsort(-self.marginals, kind="stable")[1:2], 2)

    def _with_unit(self, values: Ints, times: int) -> Patterns:
        new = self.n_patterns
        return Patterns(
            np.append(self.row, np.full(len(values), new)),
            np.append(self.col, values),
            np.append(self.n, np.full(len(values), times)),
            np.append(self.size, times * len(values)),
            np.append(self.weights, 1),
            self.n_values,
            self.index,
        )


def fold(ratings: Ratings, *, placed: bool = True, drawn: bool = True) -> Patterns:
    """The patterns of the ratings: one pass for few values, a sort of the units for many.

    placed : whether the units' own patterns are wanted (`index`). drawn : whether samples of the patterns are to be
        drawn, whose order must then not depend on how values are called.
    """
    folded = _fold(ratings, placed=placed)
    return in_own_order(folded) if drawn else folded


def in_own_order(patterns: Patterns) -> Patterns:
    """The same patterns in an order that depends on the data alone, neither on codes nor on who is called what.

    Colours are refined as in Weisfeiler and Leman's test of graphs: a value by the patterns it stands in and how often,
    a pattern by its size, its weight and its values. What has the same colour in the end can be exchanged, but for rare
    data. Patterns too many to be resampled stay as they are.
    """
    if len(patterns.row) > MOST_ORDERED or patterns.n_patterns < 2:
        return patterns
    start = np.searchsorted(patterns.row, np.arange(patterns.n_patterns))
    times = _mixed(patterns.n.astype(np.uint64))
    itself = _mixed(_mixed(patterns.size.astype(np.uint64)) + patterns.weights.astype(np.uint64))
    of_value = np.zeros(patterns.n_values, dtype=np.uint64)
    of_pattern = itself
    for _ in range(REFINEMENTS):
        of_pattern = _mixed(itself + np.add.reduceat(_mixed(times + of_value[patterns.col]), start))
        of_value = np.zeros(patterns.n_values, dtype=np.uint64)
        np.add.at(of_value, patterns.col, _mixed(times + of_pattern[patterns.row]))
    order = np.argsort(of_pattern, kind="stable")
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    row = place[patterns.row]
    entries = np.argsort(row, kind="stable")
    index = patterns.index
    if len(index):
        index = np.append(place, -1)[index]
    return Patterns(
        row[entries],
        patterns.col[entries],
        patterns.n[entries],
        patterns.size[order],
        patterns.weights[order],
        patterns.n_values,
        index,
    )


def pairs_within(sizes: Ints) -> tuple[Ints, Ints]:
    """Places i < j of every two members of one group, where groups of these sizes stand one after the other.

    >>> [places.tolist() for places in pairs_within(np.array([2, 1, 3]))]
    [[0, 3, 3, 4], [1, 4, 5, 5]]
    """
    later = np.repeat(np.cumsum(sizes), sizes) - np.arange(int(np.sum(sizes))) - 1
    first = np.repeat(np.arange(len(later)), later)
    return first, first + 1 + np.arange(len(first)) - np.repeat(np.cumsum(later) - later, later)


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Numbers scattered over 64 bits (SplitMix64: Steele, Lea and Flood 2014)."""
    mixed = numbers + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    found: NDArray[np.uint64] = mixed ^ (mixed >> np.uint64(31))
    return found


def _fold(ratings: Ratings, *, placed: bool) -> Patterns:
    n_units, n_values = len(ratings.unit_ids), len(ratings.codebook)
    if not ratings.n_ratings:
        none = np.zeros(0, dtype=np.int64)
        return Patterns(none, none, none, none, none, n_values, np.full(n_units, -1, dtype=np.int64))
    used: Ints = np.arange(n_values)
    codes: Codes = ratings.values
    widest = len(ratings.rater_ids) + 1
    if not _fits(widest, n_values):
        used = np.flatnonzero(ratings.value_counts)
    if len(used) < n_values:
        compact = np.zeros(n_values, dtype=np.int64)
        compact[used] = np.arange(len(used))
        codes = compact[ratings.values]
    for first_try in (True, False):
        base = widest if first_try else int(ratings.per_unit.max()) + 1
        if _fits(base, len(used)):
            folded = _fold_digits(ratings.units, codes, n_units, used, n_values, base=base, placed=placed)
            if folded is not None:
                return folded
    return _fold_hashed(ratings.units, codes, n_units, used, n_values)


def _fits(base: int, digits: int) -> bool:
    """Whether float64 holds every whole number of so many digits; without making the number, which may be vast."""
    return digits * math.log2(base) < math.log2(EXACT)


def dot(weights: Floats, amounts: Floats) -> Floats:
    """(B,) weighted totals of (G,) amounts for (B, G) weights."""
    if len(weights) == 1:
        # BLAS would start threads for one long row, and wait longer for them than the sum takes
        return np.array([(weights[0] * amounts).sum()])
    totals: Floats = weights @ amounts
    return totals


def tally(codes: Codes, amounts: Ints | Floats, length: int) -> Floats:
    """(length,) sums of the amounts by code."""
    # of no codes at all np.bincount makes whole zeros
    return np.bincount(codes, amounts.astype(np.float64, copy=False), length).astype(np.float64, copy=False)


def whole_tally(codes: Codes, amounts: Ints, length: int) -> Ints:
    """(length,) sums of whole amounts by code."""
    return np.rint(tally(codes, amounts, length)).astype(np.int64)


def _fold_digits(
    units: Codes, codes: Codes, n_units: int, used: Ints, n_values: int, *, base: int, placed: bool
) -> Patterns | None:
    """Each unit's counts as the digits of one number, summed in one pass; None where a count outgrows its digit."""
    powers = base ** np.arange(len(used), dtype=np.int64)
    keys = tally(units, powers.astype(np.float64).take(codes), n_units).astype(np.int64)
    span = base ** len(used)
    if int(keys.max()) >= span:
        return None
    index: Ints = NOWHERE
    if span <= max(4 * n_units, 65_536):
        histogram = np.bincount(keys, minlength=1)
        distinct: Ints = np.flatnonzero(histogram)
        weights: Ints = histogram[distinct]
        if placed:
            place = np.zeros(len(histogram), dtype=np.int64)
            place[distinct] = np.arange(len(distinct))
            index = place[keys]
    else:
        distinct, index, weights = np.unique(keys, return_inverse=True, return_counts=True)
    digits = (distinct[:, None] // powers) % base
    if int(weights @ digits.sum(axis=1)) != len(units):
        return None
    if len(distinct) and distinct[0] == 0:
        digits, weights, index = digits[1:], weights[1:], index - 1
    row, place_used = np.nonzero(digits)
    return Patterns(
        row, used[place_used], digits[row, place_used], digits.sum(axis=1), weights.astype(np.int64), n_values, index
    )


def _fold_hashed(units: Codes, codes: Codes, n_units: int, used: Ints, n_values: int) -> Patterns:
    """Units grouped by two 40-bit sums over their values: one clash in 10^6 units has a chance under 10^-12."""
    random = np.random.Generator(np.random.PCG64(len(used)))
    marks = random.integers(1, 2**40, size=(2, len(used))).astype(np.float64)
    sums = np.empty(n_units, dtype=np.complex128)
    sums.real = tally(units, marks[0][codes], n_units)
    sums.imag = tally(units, marks[1][codes], n_units)
    rated = np.flatnonzero(sums.real)
    _, first, group, weights = np.unique(sums[rated], return_index=True, return_inverse=True, return_counts=True)
    index = np.full(n_units, -1, dtype=np.int64)
    index[rated] = group
    stands_for = np.full(n_units, -1, dtype=np.int64)
    stands_for[rated[first]] = np.arange(len(first))
    row_of_rating = stands_for[units]
    shown = row_of_rating >= 0
    cells, n = np.unique(row_of_rating[shown] * len(used) + codes[shown], return_counts=True)
    row, place = np.divmod(cells, len(used))
    return Patterns(row, used[place], n, whole_tally(row, n, len(first)), weights.astype(np.int64), n_values, index)
