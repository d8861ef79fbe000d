"""A numeric units x raters array counted without its long form: little more than one pass over the input.

Blocks of rows that stay in the processor's cache are read once. Where the values are few whole numbers, a row of them
is one number (the answers as digits), so that a histogram of those numbers holds everything that alpha needs. At the
interval level any numbers will do, by each unit's sum of squares around its own mean.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from connector.agreement.distances import ratio_d2
from connector.agreement.intervals import Coefficient
from connector.agreement.patterns import DENSE, EXACT, Patterns, in_own_order
from connector.agreement.ratings import Floats, Ints, InvalidRatings, Level

Table = NDArray[Any]

CELLS = 40_960
"""Cells of one block of rows: 320 KB of numbers."""
PIECE = 4_096
FEW_ROWS = 65_536
"""Places of a histogram that is always affordable; above it, four for each unit are."""
MOST_SPAN = 64
"""Whole numbers from the smallest to the largest value: their distances are one small matrix."""
HUGE = 1e150
"""Above it a square might overflow."""


@dataclass(frozen=True, eq=False)
class Counts:
    """Units folded to rows of counts.

    counts : (G, V) ratings of each value in such a unit; two rows may be equal. size : (G,) their sums.
    weights : (G,) units with that row.
    values : (V,) ascending numbers; the first and the last are used by somebody, those between need not be.
    """

    counts: Floats
    size: Floats
    weights: Floats
    values: Floats

    def without_unused(self) -> Counts:
        """The same with the values that somebody used."""
        used = self.counts.any(axis=0)
        return replace(self, counts=self.counts[:, used], values=self.values[used])

    def patterns(self) -> Patterns:
        """The patterns of these units, in the order in which `patterns.fold` has them; no unit's place is known."""
        rated = self.size > 0
        counts, weights = self.counts[rated], self.weights[rated]
        order = np.lexsort(counts.T) if counts.size else np.zeros(0, dtype=np.int64)
        counts, weights = counts[order], weights[order]
        new = np.ones(len(counts), dtype=np.bool_)
        new[1:] = (counts[1:] != counts[:-1]).any(axis=1)
        starts = np.flatnonzero(new)
        distinct = counts[starts].astype(np.int64)
        merged = np.add.reduceat(weights, starts).astype(np.int64) if len(starts) else np.zeros(0, dtype=np.int64)
        row, col = np.nonzero(distinct)
        nowhere = np.zeros(0, dtype=np.int64)
        return in_own_order(
            Patterns(row, col, distinct[row, col], distinct.sum(axis=1), merged, len(self.values), nowhere)
        )


def is_numeric(data: Any) -> bool:
    """Whether this is a units x raters array of real numbers."""
    plain = isinstance(data, np.ndarray) and not isinstance(data, np.ma.MaskedArray | np.matrix)
    return plain and data.ndim == 2 and data.dtype.kind in "fiub"


def count(table: Table) -> Counts | None:
    """The counts of a units x raters array with NaN where a rating is missing; None where its values are not few
    whole numbers.

    Raises InvalidRatings for an infinite value.
    """
    limits = _limits(table)
    if limits is None:
        return Counts(np.zeros((0, 0)), np.zeros(0), np.zeros(0), np.zeros(0))
    low, high = limits
    most_rows = max(FEW_ROWS, 4 * len(table))
    if (max(abs(low), abs(high)) + 1) * most_rows >= EXACT or high - low >= MOST_SPAN or low != int(low):
        return None
    span = int(high - low) + 1
    if table.size <= CELLS:
        rows = _as_it_is(table, low, span)
    elif (span + 1) ** table.shape[1] <= most_rows:
        rows = _by_row(table, low, span)
    else:
        rows = _by_groups(table, low, span, most_rows)
    if rows is None:
        return None
    counts, weights = rows
    # column 0 counts what is missing
    return Counts(counts[:, 1:], table.shape[1] - counts[:, 0], weights, low + np.arange(span, dtype=np.float64))


def is_held(table: Table) -> bool:
    """Whether float64 holds the numbers of an array exactly."""
    limits = _limits(table) if table.dtype.kind in "iu" else None
    return limits is None or max(abs(limits[0]), abs(limits[1])) < EXACT


def alpha_of_counts(found: Counts, level: Level) -> Coefficient:
    """Alpha of counted units, without an interval."""
    size = found.size
    weights = np.where(size >= 2, found.weights, 0.0)
    marginals = weights @ found.counts
    n = float(marginals.sum())
    if not n:
        return Coefficient(None, "no_pairable_units")
    if level is Level.RATIO and len(found.values) and found.values[0] < 0:
        return Coefficient(None, "wrong_level")
    if np.count_nonzero(marginals) < 2:
        return Coefficient(None, "no_variation")
    if level is Level.NOMINAL:  # pairs of unlike ratings are all pairs less the like ones
        pairs = size * size - np.einsum("gv,gv->g", found.counts, found.counts)
        expected = n * n - float(marginals @ marginals)
    else:
        d2 = _distances(found.values, marginals, level)
        pairs = np.einsum("gv,gv->g", found.counts @ d2, found.counts)
        expected = float(marginals @ d2 @ marginals)
    return _alpha(n, float(weights @ (pairs / np.maximum(size - 1, 1))), expected)


def interval_alpha(table: Table) -> Coefficient:
    """Alpha at the interval level of any numbers, without an interval.

    With SS_u the sum of squares of a unit around its mean, D_u = 2 m_u SS_u / (m_u - 1) and P = 2 n SS, where SS is the
    sum of all SS_u and of the squares between the units' means: nothing is subtracted from anything of its own size.
    Raises InvalidRatings for an infinite value.
    """
    _limits(table)
    sizes, means, within = (np.zeros(len(table)) for _ in range(3))
    paired_limits = _paired_limits(table)
    if paired_limits is not None:
        _squares(table, *paired_limits, sizes, means, within)
    paired = sizes >= 2
    m, mean, inside = sizes[paired], means[paired], within[paired]
    n = float(m.sum())
    if not n:
        return Coefficient(None, "no_pairable_units")
    between = mean - float((m * mean).sum()) / n
    total = float(inside.sum() + (m * between * between).sum())
    if total <= 0:
        return Coefficient(None, "no_variation")
    return _alpha(n, float((2 * m / (m - 1) * inside).sum()), 2 * n * total)


def _alpha(n: float, d: float, p: float) -> Coefficient:
    return Coefficient(1 - (n - 1) * d / p, None, d / n, p / (n * (n - 1)))


def _limits(table: Table) -> tuple[float, float] | None:
    """The smallest and the largest value, None where there is none."""
    if not table.size:
        return None
    if table.dtype.kind != "f":
        return float(table.min()), float(table.max())
    if table.size <= CELLS:
        low, high = float(np.fmin.reduce(table, axis=None)), float(np.fmax.reduce(table, axis=None))
    else:
        low, high = _limits_by_blocks(table)
    if math.isinf(low) or math.isinf(high):
        raise InvalidRatings("a rating is infinite")
    return None if math.isnan(low) else (low, high)


def _limits_by_blocks(table: Table) -> tuple[float, float]:
    lows, highs = [], []
    for start, end in _blocks(table):
        block = table[start:end]
        lows.append(np.fmin.reduce(block, axis=None))
        highs.append(np.fmax.reduce(block, axis=None))
    return float(np.fmin.reduce(lows)), float(np.fmax.reduce(highs))


def _blocks(table: Table) -> Iterator[tuple[int, int]]:
    step = max(1, CELLS // max(table.shape[1], 1))
    for start in range(0, len(table), step):
        yield start, min(start + step, len(table))


def _as_it_is(table: Table, low: float, span: int) -> tuple[Floats, Floats] | None:
    """The counts of a small table, row by row."""
    # in float64: the type of the table may not hold the number below its smallest
    filled = np.fmax(table, low - 1, dtype=np.float64)
    if table.dtype.kind == "f" and not (np.rint(filled) == filled).all():
        return None
    return _counts((filled - (low - 1)).astype(np.int64), span), np.ones(len(table))


def _counts(digits: Ints, span: int) -> Floats:
    """(G, 1 + span) how often each of the digits 0 (a missing rating) ... span stands in a row of (G, R) digits."""
    base = span + 1
    cells = digits + np.arange(0, len(digits) * base, base)[:, None]
    return np.bincount(cells.ravel(), minlength=len(digits) * base).astype(np.float64).reshape(len(digits), base)


def _by_row(table: Table, low: float, span: int) -> tuple[Floats, Floats] | None:
    """Counts of the distinct rows, each row being one number."""
    base, width = span + 1, table.shape[1]
    powers = base ** np.arange(width, dtype=np.int64)
    keys = np.empty(len(table), dtype=np.int64)
    for start, end, numbers in _numbers(table, low, powers[:, None].astype(np.float64)):
        if numbers is None:
            return None
        keys[start:end] = numbers[:, 0]
    histogram = np.bincount(keys)
    distinct = np.flatnonzero(histogram)
    return _counts(distinct[:, None] // powers % base, span), histogram[distinct].astype(np.float64)


def _by_groups(table: Table, low: float, span: int, most_rows: int) -> tuple[Floats, Floats] | None:
    """Counts where a row has too many raters to be one number: raters by groups, whose counts are looked up and added.

    The counts of a unit are digits again, one for each value.
    """
    base, width = span + 1, table.shape[1]
    wide = width + 1
    if wide**span >= EXACT:
        return None
    group = max(1, int(math.log(FEW_ROWS, base)))
    powers = np.zeros((width, -(-width // group)))
    for place in range(width):
        powers[place, place // group] = base ** (place % group)
    digits = np.arange(base**group)[:, None] // base ** np.arange(group) % base
    looked_up = _counts(digits, span)[:, 1:].astype(np.int64) @ wide ** np.arange(span, dtype=np.int64)
    keys = np.empty(len(table), dtype=np.int64)
    for start, end, numbers in _numbers(table, low, powers):
        if numbers is None:
            return None
        keys[start:end] = looked_up[numbers.astype(np.int64)].sum(axis=1)
    if wide**span <= most_rows:
        histogram = np.bincount(keys)
        distinct = np.flatnonzero(histogram)
        weights = histogram[distinct]
    else:
        distinct, weights = np.unique(keys, return_counts=True)
    if len(distinct) * span > DENSE:
        return None
    counts = np.empty((len(distinct), span + 1))
    counts[:, 1:] = distinct[:, None] // wide ** np.arange(span, dtype=np.int64) % wide
    counts[:, 0] = width - counts[:, 1:].sum(axis=1)
    return counts, weights.astype(np.float64)


def _numbers(table: Table, low: float, powers: Floats) -> Iterator[tuple[int, int, Floats | None]]:
    """Blocks of rows as (rows, groups) whole numbers with the answers for digits; None where an answer is not whole."""
    shift = (low - 1) * powers.sum(axis=0)
    step = max(1, CELLS // table.shape[1])
    filled, whole = (np.empty((step, table.shape[1])) for _ in range(2))
    for start in range(0, len(table), step):
        end = min(start + step, len(table))
        block, rounded = filled[: end - start], whole[: end - start]
        np.fmax(table[start:end], low - 1, out=block, dtype=np.float64)
        if table.dtype.kind == "f" and not np.array_equal(np.rint(block, out=rounded), block):
            yield start, end, None
            return
        # exact: all sums are whole numbers that float64 holds
        yield start, end, _products(block, powers) - shift


def _products(block: NDArray[Any], columns: Floats) -> Floats:
    """Block @ columns, in pieces too small for BLAS to start threads, which would cost more than the sums."""
    piece = max(1, PIECE // block.shape[1])
    whole = len(block) // piece * piece
    found = np.empty((len(block), *columns.shape[1:]))
    pieces = block[:whole].reshape(-1, piece, block.shape[1])
    np.matmul(pieces, columns, out=found[:whole].reshape(-1, piece, *columns.shape[1:]))
    np.matmul(block[whole:], columns, out=found[whole:])
    return found


def _paired_limits(table: Table) -> tuple[float, float] | None:
    """The smallest and the largest value of units with two ratings, None where there is none."""
    low, high = math.inf, -math.inf
    for start, end in _blocks(table):
        block = table[start:end]
        paired = np.count_nonzero(np.isnan(block), axis=1) <= table.shape[1] - 2
        if paired.any():
            block = block if paired.all() else block[paired]
            low = min(low, float(np.fmin.reduce(block, axis=None)))
            high = max(high, float(np.fmax.reduce(block, axis=None)))
    return (low, high) if low <= high else None


def _squares(table: Table, low: float, high: float, sizes: Floats, means: Floats, within: Floats) -> None:
    """Fills in each unit's number of ratings, their mean and sum of squares around it, on a scale from -1 to 1.

    low, high : limits of the units with two ratings; the others are left as they are.
    """
    shrink = 0.25 if max(abs(low), abs(high)) > HUGE else 1.0
    middle, reach = (low * shrink + high * shrink) / 2, (high * shrink - low * shrink) / 2
    ones = np.ones(table.shape[1])
    for start, end in _blocks(table):
        x = np.multiply(table[start:end], shrink, dtype=np.float64)
        missing = np.isnan(x)
        m = len(ones) - _products(missing, ones)
        single = m < 2
        missing |= single[:, None]
        x -= middle
        np.copyto(x, 0.0, where=missing)
        if reach > 0:
            x /= reach
        mean = _products(x, ones)
        mean /= np.maximum(m, 1)
        x -= mean[:, None]
        np.copyto(x, 0.0, where=missing)
        np.multiply(x, x, out=x)
        sizes[start:end], means[start:end], within[start:end] = m, mean, _products(x, ones)


def _distances(values: Floats, marginals: Floats, level: Level) -> Floats:
    """(V, V) squared distances of the values, at the ordered levels."""
    if level is Level.RATIO:
        return ratio_d2(values[:, None], values[None, :])
    places = values if level is Level.INTERVAL else np.cumsum(marginals) - marginals / 2
    apart = places[:, None] - places[None, :]
    squared: Floats = apart * apart
    return squared
