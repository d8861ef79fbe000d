"""Rankings with ties. A ranking is a tuple of (item, rank); items that it leaves out are tied behind all others.

kendall : the share of pairs of items that two rankings put in opposite order, a pair tied in one of them alone counted
    half: Kendall's distance K with p = 1/2 of Fagin, Kumar, Mahdian, Sivakumar and Vee (2006), Comparing partial
    rankings, SIAM J. Discrete Math. 20, over the number of pairs of all items that anybody ranked.
kendall_by_task : the same over the pairs of items that either of the two ranked, for items that differ by task. What
    two raters of different tasks would say of each other's items by chance is unknown: alpha is not comparable.

Beside them stands the mean over tasks of the mean tau-b (Kendall 1945, Biometrika 33) of their raters, two by two;
rankings that tie all their items have none. The consensus is Borda's order: items by the number of items that raters
put behind them, half for a tie.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from connector.agreement.distances.base import Comparison
from connector.agreement.intervals import Case, Coefficient
from connector.agreement.kappa import PercentStatistic
from connector.agreement.patterns import Patterns, Skew, tally
from connector.agreement.ratings import Floats, Ints

if TYPE_CHECKING:
    from connector.agreement.alpha import Prepared

TAU_B = "kendall_tau_b"

CELLS = 4_000_000
"""Pairs of items x pairs of rankings compared at a time."""


class Rankings(Comparison):
    """What rankings have in common, whether or not they are of the same items."""

    majority_by = "borda"

    def comparable(self, value: Any) -> bool:
        """A tuple of (item, rank) that names each item once."""
        return isinstance(value, tuple) and all(map(_is_place, value)) and _names_items_once(value)

    def consensus(self, values: Sequence[Any], times: Sequence[int]) -> Any:
        """Borda's order of the items; None where it ties all of them."""
        items = sorted({item for ranking in values for item, _ in ranking})
        places = _places(values, items)
        ahead = places[:, :, None] < places[:, None, :]
        points = np.array(times) @ (ahead.sum(axis=2) - ahead.sum(axis=1))
        distinct = np.unique(-points)
        ranks = np.searchsorted(distinct, -points) + 1.0
        return None if len(distinct) < 2 else tuple(zip(items, ranks.tolist(), strict=True))

    def companions(self, prepared: Prepared) -> Mapping[str, Case]:
        """Kendall's tau-b."""
        return {TAU_B: tau_b_case(prepared.patterns.pairable, prepared.ratings.codebook.categories)}


class Kendall(Rankings):
    """Kendall distance of rankings of the same items."""

    name = "kendall"

    def matrix(self, values: Sequence[Any]) -> Floats:
        """(V, V) distances of V rankings."""
        places = _places(values, _items(values))
        apart = np.zeros((len(values), len(values)))
        for order in _orders(places):
            strict = order * order
            orders = strict.sum(axis=1)
            # pairs in opposite order, and half of those that one of the two leaves tied
            apart += (orders[:, None] + orders - strict @ strict.T - order @ order.T) / 2
        return apart / max(places.shape[1] * (places.shape[1] - 1) // 2, 1)

    def pairs(self, values: Sequence[Any], a: Ints, b: Ints) -> Floats:
        """(K,) distances of the rankings a[k] and b[k]."""
        places = _places(values, _items(values))
        n_pairs = max(places.shape[1] * (places.shape[1] - 1) // 2, 1)
        apart = np.zeros(len(a))
        step = max(1, CELLS // n_pairs)
        for start in range(0, len(a), step):
            part = slice(start, start + step)
            for one, other in zip(_orders(places[a[part]]), _orders(places[b[part]]), strict=True):
                apart[part] += np.abs(one - other).sum(axis=1) / 2
        return apart / n_pairs


class KendallByTask(Rankings):
    """Kendall distance of two rankings over the items that either of them ranked."""

    name = "kendall_by_task"
    not_comparable = True
    headline = TAU_B

    def pairs(self, values: Sequence[Any], a: Ints, b: Ints) -> Floats:
        """(K,) distances of the rankings a[k] and b[k]."""
        apart = np.zeros(len(a))
        for places, one, other in _orders_of_pairs(values, a, b):
            apart[places] = np.abs(one - other).sum(axis=1) / (2 * max(one.shape[1], 1))
        return apart


KENDALL = Kendall()
KENDALL_BY_TASK = KendallByTask()


@dataclass(frozen=True, eq=False)
class MeanTau(PercentStatistic):
    """The mean over units of what `agreement` holds of each: the mean tau-b of its raters, two by two.

    of : the patterns it was taken of.
    """

    of: Patterns | None = None

    @property
    def skew(self) -> Skew:
        """How far one ranking outweighs the others: tau-b may be negative, as what is corrected for chance."""
        assert self.of is not None
        return self.of.skew

    def with_conflict(self) -> MeanTau:
        """The same with one unit added whose two raters are opposed."""
        return self._with(-1.0)

    def with_agreement(self) -> MeanTau:
        """The same with one unit added whose two raters agree."""
        return self._with(1.0)

    def _with(self, tau: float) -> MeanTau:
        return MeanTau(np.append(self.agreement, tau), np.append(self.weights, 1), self.of)


def tau_b_case(patterns: Patterns, rankings: Sequence[Any]) -> Case:
    """The mean over units of the mean tau-b of every two of their rankings, of those that have one."""
    if not patterns.n_units:
        return Case(None, Coefficient(None, "no_pairable_units"))
    strict = np.array([len({rank for _, rank in ranking}) > 1 for ranking in rankings], dtype=np.bool_)
    first, second = patterns.entry_pairs
    kinds, kind = np.unique(patterns.col[first] * patterns.n_values + patterns.col[second], return_inverse=True)
    taus = _tau_b(rankings, *np.divmod(kinds, patterns.n_values))[kind]
    times = (patterns.n[first] * patterns.n[second]).astype(np.float64) * ~np.isnan(taus)
    alike = patterns.n * (patterns.n - 1) / 2 * strict[patterns.col]
    g = patterns.n_patterns
    total = tally(patterns.row[first], np.nan_to_num(taus) * times, g) + tally(patterns.row, alike, g)
    pairs = tally(patterns.row[first], times, g) + tally(patterns.row, alike, g)
    known = pairs > 0
    if not known.any():
        return Case(None, Coefficient(None, "no_variation"))
    statistic = MeanTau(total[known] / pairs[known], patterns.weights[known], patterns)
    value = float(statistic.evaluate(statistic.weights[None, :].astype(np.float64))[0])
    return Case(statistic, Coefficient(value, None, value))


def _tau_b(rankings: Sequence[Any], a: Ints, b: Ints) -> Floats:
    """(K,) tau-b of the rankings a[k] and b[k], NaN where one of them ties everything."""
    tau = np.full(len(a), math.nan)
    for places, one, other in _orders_of_pairs(rankings, a, b):
        known = np.sqrt(np.abs(one).sum(axis=1) * np.abs(other).sum(axis=1))
        tau[places] = np.divide((one * other).sum(axis=1), known, out=np.full(len(known), math.nan), where=known > 0)
    return tau


def _orders_of_pairs(rankings: Sequence[Any], a: Ints, b: Ints) -> Iterator[tuple[Ints, Floats, Floats]]:
    """In groups of pairs that rank as many items: which pairs, and (k, J) orders of each of the two over those."""
    ranks = [dict(ranking) for ranking in rankings]
    items = [list(ranks[i] | ranks[j]) for i, j in zip(a.tolist(), b.tolist(), strict=True)]
    widths = np.array([len(one) for one in items], dtype=np.int64)
    for width in np.unique(widths).tolist():
        places = np.flatnonzero(widths == width)
        step = max(1, CELLS // (width * width + 1))
        for start in range(0, len(places), step):
            part = places[start : start + step]
            sides = [
                np.array([[ranks[codes[k]].get(item, math.inf) for item in items[k]] for k in part.tolist()])
                for codes in (a, b)
            ]
            for one, other in zip(_orders(sides[0]), _orders(sides[1]), strict=True):
                # a block of `_orders` holds all pairs of items: there are few enough rankings in a part
                yield part, one, other


def _is_place(member: Any) -> bool:
    return isinstance(member, tuple) and len(member) == 2 and isinstance(member[1], int | float)


def _names_items_once(ranking: Sequence[Any]) -> bool:
    return len({item for item, _ in ranking}) == len(ranking)


def _items(rankings: Sequence[Any]) -> list[Hashable]:
    """The items of any of the rankings."""
    return list(dict.fromkeys(item for ranking in rankings for item, _ in ranking))


def _places(rankings: Sequence[Any], items: Sequence[Hashable]) -> Floats:
    """(V, I) rank of every item in each ranking; items left out are tied last."""
    code = {item: place for place, item in enumerate(items)}
    places = np.full((len(rankings), len(items)), np.inf)
    for row, ranking in enumerate(rankings):
        for item, rank in ranking:
            places[row, code[item]] = rank
    return places


def _orders(places: Floats) -> Iterator[Floats]:
    """(V, J) blocks of which of two items comes first: -1, 0 for a tie, 1; all pairs of items once."""
    first, second = np.triu_indices(places.shape[1], 1)
    step = max(1, CELLS // max(len(places), 1))
    for start in range(0, len(first), step):
        one, other = places[:, first[start : start + step]], places[:, second[start : start + step]]
        yield (one > other).astype(np.float64) - (one < other)
