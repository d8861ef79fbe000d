"""Units folded to distinct rows of answers: which rater gave which value, for everything that asks who said what."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from connector.agreement.patterns import EXACT, tally
from connector.agreement.ratings import Floats, Ints, Ratings

FEW_ROWS = 65_536
SPARSE = 16
"""Cells of the units x raters table per rating above which rows will hardly repeat."""


@dataclass(frozen=True, eq=False)
class Rows:
    """G rows of answers, and how many units have each.

    row, rater, value : (K,) who said what in which row, sorted by row and then rater.
    size : (G,) ratings in a row. weights : (G,) units with that row.
    index : (N,) row of every unit, -1 for a unit without a rating.
    """

    row: Ints
    rater: Ints
    value: Ints
    size: Ints
    weights: Ints
    index: Ints

    @cached_property
    def weight(self) -> Floats:
        """(K,) how often each answer stands for one."""
        return self.weights[self.row].astype(np.float64)


def fold_rows(ratings: Ratings) -> Rows:
    """The distinct rows where they can be told apart by one number each, else every rated unit as a row of its own."""
    n_units, n_raters = len(ratings.unit_ids), len(ratings.rater_ids)
    base = len(ratings.codebook) + 1
    narrow = n_raters * math.log2(base) < math.log2(EXACT)
    if ratings.n_ratings and narrow and n_units * n_raters <= SPARSE * (ratings.n_ratings + FEW_ROWS):
        seen = np.zeros(n_units * n_raters, dtype=np.bool_)
        seen[ratings.units.astype(np.int64) * n_raters + ratings.raters] = True
        # two ratings of one rater on one unit have no digit of their own
        if np.count_nonzero(seen) == ratings.n_ratings:
            return _folded(ratings, n_units, n_raters, base)
    return _as_they_are(ratings)


def _folded(ratings: Ratings, n_units: int, n_raters: int, base: int) -> Rows:
    powers = base ** np.arange(n_raters, dtype=np.int64)
    digits_given = powers.astype(np.float64)[ratings.raters] * (ratings.values + 1.0)
    keys = tally(ratings.units, digits_given, n_units).astype(np.int64)
    if base**n_raters <= max(4 * n_units, FEW_ROWS):
        histogram = np.bincount(keys)
        distinct: Ints = np.flatnonzero(histogram)
        weights: Ints = histogram[distinct]
        place = np.zeros(len(histogram), dtype=np.int64)
        place[distinct] = np.arange(len(distinct))
        index: Ints = place[keys]
    else:
        distinct, index, weights = np.unique(keys, return_inverse=True, return_counts=True)
    if len(distinct) and distinct[0] == 0:
        distinct, weights, index = distinct[1:], weights[1:], index - 1
    digits = distinct[:, None] // powers % base
    row, rater = np.nonzero(digits)
    return Rows(row, rater, digits[row, rater] - 1, np.count_nonzero(digits, axis=1), weights, index)


def _as_they_are(ratings: Ratings) -> Rows:
    per_unit = ratings.per_unit
    rated = per_unit > 0
    index = np.where(rated, np.cumsum(rated) - 1, -1)
    order = np.lexsort((ratings.raters, ratings.units))
    size = per_unit[rated]
    return Rows(
        index[ratings.units[order]],
        ratings.raters[order].astype(np.int64),
        ratings.values[order].astype(np.int64),
        size,
        np.ones(len(size), dtype=np.int64),
        index,
    )
