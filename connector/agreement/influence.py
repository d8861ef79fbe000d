"""What each unit, pair of categories and conflict costs, and the shortest way to a threshold.

1 - alpha = (n - 1) D / P is a sum over units, over pairs of values, and over raters, so that every one of them has a
cost in points of alpha, and the costs add up to what is missing from 1. What alpha would be without a unit is another
question: expected disagreement changes too (leave one out, exact).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from connector.agreement.distances import Alpha
from connector.agreement.keys import id_order
from connector.agreement.patterns import NOWHERE, Patterns, tally
from connector.agreement.ratings import Floats, Ints

MOST_UNITS = 100
"""Units listed in each ranking."""
CURVE_POINTS = 20
TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class UnitFinding:
    """A unit whose ratings differ.

    cost : points of alpha that its disagreement takes away; the costs of all units add up to 1 - alpha.
    influence : alpha without the unit minus alpha, None where alpha is undefined without it. Positive: the unit pulls
        alpha down.
    """

    unit: Any
    n_ratings: int
    cost: float
    influence: float | None


@dataclass(frozen=True, slots=True)
class PairCost:
    """What the disagreement between two values takes from alpha; over all pairs this adds up to 1 - alpha."""

    a: Any
    b: Any
    cost: float


@dataclass(frozen=True, slots=True)
class WayToThreshold:
    """What alpha would be if the strongest conflicts were resolved, the costliest unit first.

    A unit is resolved when all its ratings become its commonest value; on a tie, the one of the tied values that is
    commonest in all ratings (at ordered levels the lower median).

    alpha : as it is. n_conflicts : units whose ratings differ. n_units : units with two ratings.
    needed : fewest conflicts to resolve in this order until alpha reaches the threshold: 0 where it does already, None
        where no number of them does.
    alpha_then : alpha after `needed`. curve : (resolved, alpha) from 0 to all, alpha None where undefined.
    pairs : costs by pair of values, the costliest first.
    """

    threshold: float
    alpha: float
    n_conflicts: int
    n_units: int
    needed: int | None
    alpha_then: float | None
    curve: Sequence[tuple[int, float | None]]
    pairs: Sequence[PairCost]


@dataclass(frozen=True, eq=False)
class Influence:
    """Alpha of pairable patterns taken apart.

    statistic : of a defined alpha, whose value is `alpha`.
    """

    statistic: Alpha
    alpha: float

    @classmethod
    def of(cls, statistic: Alpha) -> Influence | None:
        """None where alpha is undefined."""
        value = statistic.found.value
        return None if value is None else cls(statistic, value)

    @property
    def patterns(self) -> Patterns:
        """The pairable patterns."""
        return self.statistic.patterns

    @cached_property
    def cost(self) -> Floats:
        """(G,) points of alpha that one unit of each pattern takes away."""
        return self.statistic.cost

    @cached_property
    def change(self) -> Floats:
        """(G,) alpha without one unit of each pattern minus alpha, NaN where undefined or not known."""
        without = self.statistic.without_one()
        return np.full(self.patterns.n_patterns, math.nan) if without is None else without - self.alpha

    @cached_property
    def pair_costs_each(self) -> Floats:
        """(K,) points of alpha that the pairs of values met in one unit, `patterns.entry_pairs`, cost each other."""
        first, second = self.patterns.entry_pairs
        return self.statistic.apart(self.patterns.col[first], self.patterns.col[second])

    def units(self, index: Ints, unit_ids: Sequence[Any], by: Floats) -> list[UnitFinding]:
        """Units that differ, largest first by a quantity per pattern, then by id; at most `MOST_UNITS`.

        index : (N,) pairable pattern of every unit, -1 for the others.
        """
        wanted = np.flatnonzero((self.patterns.distinct > 1) & (by > 0))
        wanted = wanted[np.argsort(-by[wanted], kind="stable")]
        enough = int(np.searchsorted(np.cumsum(self.patterns.weights[wanted]), MOST_UNITS)) + 1
        wanted = wanted[:enough]
        rank = np.full(self.patterns.n_patterns + 1, -1, dtype=np.int64)
        rank[wanted] = np.arange(len(wanted))
        ranks = rank[index]
        candidates = np.flatnonzero(ranks >= 0).tolist()
        listed = heapq.nsmallest(MOST_UNITS, candidates, key=lambda unit: (ranks[unit], *id_order(unit_ids[unit])))
        return [
            UnitFinding(unit_ids[unit], int(self.patterns.size[g]), float(self.cost[g]), _known(float(self.change[g])))
            for unit, g in zip(listed, index[listed].tolist(), strict=True)
        ]

    def pair_costs(self, categories: Sequence[Any]) -> list[PairCost]:
        """Costs by pair of values, the costliest first."""
        patterns = self.patterns
        first, second = patterns.entry_pairs
        if not len(first):
            return []
        a, b, row = patterns.col[first], patterns.col[second], patterns.row[first]
        d = 2.0 * patterns.weights[row] * patterns.n[first] * patterns.n[second] / (patterns.size[row] - 1)
        kinds, kind = np.unique(a * patterns.n_values + b, return_inverse=True)
        costs = tally(kind, d * self.pair_costs_each, len(kinds))
        order = np.argsort(-costs, kind="stable")
        x, y = np.divmod(kinds[order], patterns.n_values)
        return [
            PairCost(categories[i], categories[j], cost)
            for i, j, cost in zip(x.tolist(), y.tolist(), costs[order].tolist(), strict=True)
        ]

    def way(self, threshold: float, categories: Sequence[Any] | None, *, ordered: bool) -> WayToThreshold | None:
        """The way to a threshold, the costliest units first; None where expected disagreement is sampled.

        categories : None for whole answers that hardly two raters give alike, whose pairs tell nothing.
        """
        if self.statistic.sampled:
            return None
        path = _Path(self, ordered=ordered)
        needed = 0 if self.alpha >= threshold - TOLERANCE else path.fewest(threshold - TOLERANCE)
        steps = sorted({0, *_marks(0, path.length), needed or 0})
        curve = [(k, path.alpha(k) if k else self.alpha) for k in steps]
        return WayToThreshold(
            threshold,
            self.alpha,
            path.length,
            self.patterns.n_units,
            needed,
            None if needed is None else dict(curve)[needed],
            curve,
            [] if categories is None else self.pair_costs(categories),
        )


class _Path:
    """Conflicts resolved one after the other, as weights of the patterns and of their resolved forms."""

    def __init__(self, influence: Influence, *, ordered: bool) -> None:
        patterns = influence.patterns
        conflicts = np.flatnonzero(patterns.distinct > 1)
        conflicts = conflicts[np.argsort(-influence.cost[conflicts], kind="stable")]
        self.order = conflicts
        self.last = np.cumsum(patterns.weights[conflicts])
        self.length = int(self.last[-1]) if len(conflicts) else 0
        resolved = _settled_values(patterns, ordered=ordered)[conflicts]
        kinds, self.kind = np.unique(patterns.size[conflicts] * patterns.n_values + resolved, return_inverse=True)
        size, value = np.divmod(kinds, patterns.n_values)
        self.n_old = patterns.n_patterns
        self.statistic = influence.statistic.on(
            Patterns(
                np.concatenate([patterns.row, self.n_old + np.arange(len(kinds))]),
                np.concatenate([patterns.col, value]),
                np.concatenate([patterns.n, size]),
                np.concatenate([patterns.size, size]),
                np.concatenate([patterns.weights, np.zeros(len(kinds), dtype=np.int64)]),
                patterns.n_values,
                NOWHERE,
            )
        )
        self.start = self.statistic.weights.astype(np.float64)

    def alpha(self, resolved: int) -> float | None:
        """Alpha when the first so many conflicts are resolved, None where undefined."""
        before = np.concatenate([[0], self.last[:-1]])
        moved = np.clip(resolved - before, 0, self.last - before).astype(np.float64)
        weights = self.start.copy()
        weights[self.order] -= moved
        weights += np.bincount(self.n_old + self.kind, moved, len(weights))
        return _known(float(self.statistic.evaluate(weights[None, :])[0]))

    def fewest(self, threshold: float) -> int | None:
        """How many conflicts until alpha reaches the threshold, by halving; None where none of the marks tried does."""
        reached: int | None = None
        # where resolving makes one category rule, alpha may fall again: several marks are tried, not the last alone
        low = 0
        for mark in _marks(min(1, self.length), self.length):
            value = self.alpha(mark)
            if value is not None and value >= threshold:
                reached = mark
                break
            low = mark
        if reached is None:
            return None
        while reached - low > 1:
            middle = (low + reached) // 2
            value = self.alpha(middle)
            if value is not None and value >= threshold:
                reached = middle
            else:
                low = middle
        return reached


def _marks(first: int, last: int) -> list[int]:
    """Whole numbers from first to last, about evenly spread."""
    marks: list[int] = np.unique(np.rint(np.linspace(first, last, CURVE_POINTS + 1)).astype(np.int64)).tolist()
    return marks


def _settled_values(patterns: Patterns, *, ordered: bool) -> Ints:
    """(G,) the commonest value; on a tie the commonest of all ratings among the tied, at ordered levels the median."""
    most = np.zeros(patterns.n_patterns, dtype=np.int64)
    np.maximum.at(most, patterns.row, patterns.n)
    top = patterns.n == most[patterns.row]
    # last written wins: the commonest of the tied, then the first in the codebook
    by_use: Ints = np.flatnonzero(top)
    by_use = by_use[np.lexsort((-patterns.col[by_use], patterns.marginals[patterns.col[by_use]]))]
    settled = np.zeros(patterns.n_patterns, dtype=np.int64)
    settled[patterns.row[by_use]] = patterns.col[by_use]
    if ordered:
        tied = np.bincount(patterns.row[top], minlength=patterns.n_patterns) > 1
        before = np.cumsum(patterns.n) - patterns.n
        start = before[np.searchsorted(patterns.row, np.arange(patterns.n_patterns))]
        reach = before + patterns.n - start[patterns.row]
        # the first value in whose reach the lower of the middle ratings lies
        holds = np.flatnonzero(2 * reach >= patterns.size[patterns.row])[::-1]
        median = np.zeros(patterns.n_patterns, dtype=np.int64)
        median[patterns.row[holds]] = patterns.col[holds]
        settled[tied] = median[tied]
    return settled


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value
