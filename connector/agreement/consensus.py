"""What each unit's ratings say together: agreement, the consensus and how it is shared, and a status."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from connector.agreement.distances import COMPARISONS, Comparison
from connector.agreement.kappa import pair_agreement
from connector.agreement.patterns import Patterns, tally
from connector.agreement.ratings import Codebook, Floats, Ints, Level

TOLERANCE = 1e-9
STATUSES = ("agreed", "majority", "conflict", "single", "unrated")
WORST_FIRST = ("conflict", "majority", "agreed", "single", "unrated")


class UnitResult(NamedTuple):
    """One unit's results for one question.

    n_ratings : ratings counted.
    agreement : 0 to 1, rounded; None under two ratings, and for graded kinds without a declared range.
    top_share : share of the commonest answer, None without a rating. Of whole answers but sets the mean of 1 - the
        distance of each rating to the consensus (`majority`); None under two ratings and without a consensus.
    majority : the commonest answer, None on a tie or without a rating; of numbers the median, of whole answers their
        consensus.
    status : agreed, majority, conflict, single or unrated; None for graded kinds without a declared range unless all
        equal.
    """

    n_ratings: int
    agreement: float | None
    top_share: float | None
    majority: Any
    status: str | None


UNRATED = UnitResult(0, None, None, None, "unrated")


@dataclass(frozen=True, eq=False)
class UnitResults:
    """Results of every known unit of a question, as columns of equal length and by id.

    answers : `top_share` and `majority`, worked out when first asked for, since a consensus of whole answers is dear.
    """

    unit_ids: Sequence[Any]
    n_ratings: list[int]
    agreement: list[float | None]
    status: list[str | None]
    answers: Callable[[], tuple[list[float | None], list[Any]]]

    @property
    def top_share(self) -> list[float | None]:
        """As in `UnitResult`."""
        return self._answers[0]

    @property
    def majority(self) -> list[Any]:
        """As in `UnitResult`."""
        return self._answers[1]

    @cached_property
    def _answers(self) -> tuple[list[float | None], list[Any]]:
        return self.answers()

    @cached_property
    def _place(self) -> dict[Any, int]:
        return {unit: place for place, unit in enumerate(self.unit_ids)}

    def __len__(self) -> int:
        return len(self.unit_ids)

    def __contains__(self, unit: Any) -> bool:
        return unit in self._place

    def ratings_of(self, unit: Any) -> int:
        """How many ratings a unit has that count. Raises KeyError for an unknown unit."""
        return self.n_ratings[self._place[unit]]

    def __getitem__(self, unit: Any) -> UnitResult:
        """The results of one unit by its id. Raises KeyError for an unknown unit."""
        place = self._place[unit]
        return UnitResult(
            self.n_ratings[place],
            self.agreement[place],
            self.top_share[place],
            self.majority[place],
            self.status[place],
        )


def unit_results(
    patterns: Patterns,
    unit_ids: Sequence[Any],
    book: Codebook,
    *,
    level: Level,
    distance: str,
    bounds: tuple[float, float] | None = None,
    share_below: float = 0.6,
    reason: str | None = None,
) -> UnitResults:
    """Results per unit, computed once per pattern.

    Agreement is the share of agreeing pairs of ratings, rounded to 4 places. For whole answers (sets, rankings, ...) it
    is 1 - the mean pairwise distance, for ordered levels 1 - the mean pairwise distance on the declared range alone, so
    that one rating never moves another unit's score; both rounded to 2 places. Status: by the share of the commonest
    answer against `share_below`; for graded answers by the agreement. Majority: the commonest answer; of numbers the
    median, of whole answers the consensus that their comparison knows; of graded ones `top_share` is how like it the
    ratings are, since two sets of twenty regions that differ by one are not equal.

    reason : wrong_level where the values are not what the distance compares.
    """
    comparison = COMPARISONS.get(distance)
    graded = level.ordered or (comparison is not None and comparison.graded)
    exact = _agreement(patterns, book, level, comparison, bounds, comparable=reason != "wrong_level")
    top, tied, best = _top(patterns)
    rounded = np.round(exact, 2 if graded or comparison is not None else 4)
    # two hands never draw the same numbers: what is no distance apart is the same answer
    by_likeness = comparison is not None and comparison.graded
    enough = (exact if graded else np.where(tied, 0.0, top)) >= share_below - TOLERANCE
    status: list[str | None] = []
    for size, distinct, passed, value in zip(
        patterns.size.tolist(), patterns.distinct.tolist(), enough.tolist(), exact.tolist(), strict=True
    ):
        if size < 2:
            status.append("single")
        elif distinct == 1 or (by_likeness and value >= 1 - TOLERANCE):
            status.append("agreed")
        elif graded and math.isnan(value):
            status.append(None)
        else:
            status.append("majority" if passed else "conflict")
    index = patterns.index.tolist()
    agreement = [None if math.isnan(value) else value for value in rounded.tolist()]

    def answers() -> tuple[list[float | None], list[Any]]:
        shares: list[float | None] = np.round(top, 4).tolist()
        majority = [
            None if tie else book.categories[code] for tie, code in zip(tied.tolist(), best.tolist(), strict=True)
        ]
        if reason != "wrong_level":
            _settle(majority, patterns, book, level, comparison)
            if comparison is not None and comparison.graded:
                shares = _likeness(majority, patterns, book, comparison)
        return _spread([*shares, UNRATED.top_share], index), _spread([*majority, UNRATED.majority], index)

    # index -1, a unit without a rating, finds the last place
    return UnitResults(
        unit_ids,
        _spread([*patterns.size.tolist(), UNRATED.n_ratings], index),
        _spread([*agreement, UNRATED.agreement], index),
        _spread([*status, UNRATED.status], index),
        answers,
    )


def by_task(results: UnitResults, task_of: Mapping[Any, Any], *, of_regions: bool = False) -> UnitResults:
    """The results of tasks out of those of their items.

    Of a task's items with a rating: the fewest ratings, the mean agreement, the worst status; items have no common
    answer. Of regions the most ratings: one that a single rater marked lacks no rating.
    """
    places = {unit: place for place, unit in enumerate(results.unit_ids)}
    items: dict[Any, list[int]] = {}
    for unit, task in task_of.items():
        items.setdefault(task, []).append(places[unit])
    if not items:
        return results
    nothing = [None] * len(items)
    tasks = [_of_items(results, own, max if of_regions else min) for own in items.values()]
    counts, agreements, statuses = (list(column) for column in zip(*tasks, strict=True))
    return UnitResults(list(items), counts, agreements, statuses, lambda: ([*nothing], [*nothing]))


def _of_items(
    results: UnitResults, items: Sequence[int], count: Callable[[list[int]], int]
) -> tuple[int, float | None, str | None]:
    rated = [place for place in items if results.n_ratings[place]]
    known = [one for place in rated if (one := results.agreement[place]) is not None]
    statuses = {results.status[place] for place in rated or items}
    return (
        count([results.n_ratings[place] for place in rated] or [0]),
        round(sum(known) / len(known), 4) if known else None,
        next((status for status in WORST_FIRST if status in statuses), None),
    )


def _settle(
    majority: list[Any], patterns: Patterns, book: Codebook, level: Level, comparison: Comparison | None
) -> None:
    """Puts the median of numbers, and the consensus of whole answers, in the place of the commonest answer."""
    measured = level in (Level.INTERVAL, Level.RATIO)
    if comparison is None and not measured:
        return
    several = np.flatnonzero(patterns.distinct > 1).tolist()
    if comparison is not None:
        found = comparison.consensus_each(book.categories, patterns)
        for g in several:
            majority[g] = found[g]
        return
    medians = _medians(patterns, book.numbers).tolist()
    for g in several:
        majority[g] = medians[g]


def _likeness(
    majority: Sequence[Any], patterns: Patterns, book: Codebook, comparison: Comparison
) -> list[float | None]:
    """(G,) how like the consensus a unit's ratings are on average, rounded; None under two and without a consensus."""
    known = (patterns.size >= 2) & np.array([one is not None for one in majority], dtype=np.bool_)
    likeness = np.where(known, 1.0, math.nan)
    differing = np.flatnonzero(known & (patterns.distinct > 1))
    place = np.full(patterns.n_patterns, -1, dtype=np.int64)
    place[differing] = np.arange(len(differing))
    which = place[patterns.row]
    entries = np.flatnonzero(which >= 0)
    if len(entries):
        consensus = [majority[g] for g in differing.tolist()]
        apart = comparison.apart_from(book.categories, patterns.col[entries], consensus, which[entries])
        far = tally(which[entries], patterns.n[entries] * apart, len(differing))
        likeness[differing] = 1 - np.clip(far / patterns.size[differing], 0.0, 1.0)
    return [None if math.isnan(one) else one for one in np.round(likeness, 2).tolist()]


def _medians(patterns: Patterns, numbers: Floats) -> Floats:
    """(G,) the median of each pattern's ratings; the numbers of the codes ascend."""
    reach = np.cumsum(patterns.n)
    ahead = np.cumsum(patterns.size) - patterns.size
    lower, upper = (
        numbers[patterns.col[np.searchsorted(reach, ahead + middle, side="right")]]
        for middle in ((patterns.size - 1) // 2, patterns.size // 2)
    )
    with np.errstate(over="ignore"):
        between = (lower + upper) / 2
    # halved first where their sum would overflow
    return np.where(np.isfinite(between), between, lower / 2 + upper / 2)


def _spread(per_pattern: list[Any], index: list[int]) -> list[Any]:
    return [per_pattern[place] for place in index]


def _top(patterns: Patterns) -> tuple[Floats, Any, Ints]:
    """Share of the commonest value, whether it is tied, and its code, per pattern."""
    most = np.zeros(patterns.n_patterns, dtype=np.int64)
    np.maximum.at(most, patterns.row, patterns.n)
    is_top = patterns.n == most[patterns.row]
    tops = np.bincount(patterns.row[is_top], minlength=patterns.n_patterns)
    best = np.zeros(patterns.n_patterns, dtype=np.int64)
    best[patterns.row[is_top]] = patterns.col[is_top]
    return most / np.maximum(patterns.size, 1), tops > 1, best


def _agreement(
    patterns: Patterns,
    book: Codebook,
    level: Level,
    comparison: Comparison | None,
    bounds: tuple[float, float] | None,
    *,
    comparable: bool,
) -> Floats:
    """(G,) agreement, NaN where there is none."""
    if comparison is not None:
        if not comparable:
            return np.full(patterns.n_patterns, math.nan)
        agreement = 1 - _mean_distance(patterns, _value_distances(patterns, book, comparison))
    elif level.ordered:
        places = declared_places(book, level, bounds)
        first, second = patterns.entry_pairs
        apart = np.abs(places[patterns.col[first]] - places[patterns.col[second]])
        agreement = 1 - _mean_distance(patterns, np.minimum(apart, 1.0))
        # without a declared range there is no number, not even for units where all are equal
        agreement[np.isnan(tally(patterns.row, places[patterns.col], patterns.n_patterns))] = math.nan
    else:
        agreement = pair_agreement(patterns)
    return np.where(patterns.size >= 2, agreement, math.nan)


def declared_places(book: Codebook, level: Level, bounds: tuple[float, float] | None) -> Floats:
    """(V,) place of each category on the declared range, 0 to 1; NaN where nothing declared says."""
    places = np.full(len(book), math.nan)
    if level is Level.ORDINAL and book.n_declared > 1:
        places[: book.n_declared] = np.arange(book.n_declared) / (book.n_declared - 1)
        return places
    if bounds is None or not bounds[1] > bounds[0]:
        return places
    return (book.numbers - bounds[0]) / (bounds[1] - bounds[0])


def _value_distances(patterns: Patterns, book: Codebook, comparison: Comparison) -> Floats:
    first, second = patterns.entry_pairs
    a, b = patterns.col[first], patterns.col[second]
    kinds, kind = np.unique(a * len(book) + b, return_inverse=True)
    if len(book) <= comparison.most_values and 4 * len(kinds) > len(book) ** 2:
        return comparison.matrix(book.categories)[a, b]
    return comparison.pairs(book.categories, *np.divmod(kinds, len(book)))[kind]


def _mean_distance(patterns: Patterns, distances: Floats) -> Floats:
    """(G,) mean distance over the unordered pairs of ratings, given those of the pairs of different values."""
    first, second = patterns.entry_pairs
    sums = tally(patterns.row[first], distances * patterns.n[first] * patterns.n[second], patterns.n_patterns)
    pairs = patterns.size * (patterns.size - 1) / 2
    mean: Floats = np.divide(sums, pairs, out=np.zeros(patterns.n_patterns), where=pairs > 0)
    return mean
