"""What each rater does to the agreement: leave one out, cost, leaning, gold, speed, likeness to oneself; and by pairs.

The pairwise values are a diagnostic only: their mean is no coefficient of the whole and is biased on ragged data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from connector.agreement.alpha import AlphaStatistic
from connector.agreement.distances import MOST_VALUES, Alpha, Comparison
from connector.agreement.influence import Influence
from connector.agreement.intervals import value_of
from connector.agreement.keys import id_order
from connector.agreement.patterns import DENSE, NOWHERE, Patterns, pairs_within, tally
from connector.agreement.ratings import Floats, Ints, Ratings, as_value, parse_exact
from connector.agreement.rows import Rows

MOST_CELLS = 1_000
"""Raters x values up to which every pair of raters is compared; above it the busiest raters are."""
PRODUCT = 30
"""Multiplications of a matrix product in the time that one pair of answers takes."""
PAIRS = 250_000
"""Pairs of answers held at a time."""
NOTHING = 1e-12
"""Relative size under which what is left of a subtraction counts as zero."""
MOST_GRADED = 20_000
"""Pairs of whole answers up to which raters are compared by how alike theirs are."""
MOST_LEANINGS = 200
"""Values above which a rater's leaning is given by their mean alone."""
LEANINGS_LISTED = 20
MOST_WORK = 50_000_000
"""Answers read again for leave-one-rater-out at levels other than nominal; above it the busiest raters get theirs."""


@dataclass(frozen=True, slots=True)
class Leaning:
    """How often a rater chose a category and how often the others (or gold) did, on the same units."""

    category: Any
    own: float
    others: float

    @property
    def difference(self) -> float:
        """Positive: the rater chooses it more often."""
        return self.own - self.others


@dataclass(frozen=True, slots=True)
class GoldFinding:
    """A rater against known answers: n rated, the share that is equal with its Wilson interval, and the leaning.

    Of whole answers but sets, `accuracy` is the mean of 1 - the distance to the known answer, and nobody leans. (No
    mean of values between 0 and 1 varies more than a share that is as large, so that Wilson's interval holds for it.)
    """

    n: int
    accuracy: float
    low: float
    high: float
    leaning: Sequence[Leaning]


@dataclass(frozen=True, slots=True)
class RaterFinding:
    """One rater.

    alpha_without : alpha of the others, None where undefined or not computed. change : that minus alpha; positive: the
        rater pulls alpha down. cost : points of alpha that the rater's disagreements take away, each shared by its two
        raters; the costs of all raters add up to 1 - alpha.
    leaning : categories by how far the rater's share is from the others' on the same units, farthest first (the others'
        share is averaged over the units). shift : at ordered levels, the mean distance to the mean of the others, in
        the values' own unit (places of the order where they are no numbers).
    seconds : median time spent on an answer, over `n_timed`. repeated : answers given once more to the same unit,
        repeated_alike : the share of them that is equal to the one that counts (of whole answers but sets the mean of
        1 - their distance).
    """

    rater: Any
    n_ratings: int
    alpha_without: float | None
    change: float | None
    cost: float | None
    leaning: Sequence[Leaning]
    shift: float | None
    gold: GoldFinding | None
    seconds: float | None
    n_timed: int
    repeated: int
    repeated_alike: float | None


@dataclass(frozen=True, slots=True)
class RaterPair:
    """Two raters on the units that both rated: n of them, the share of equal answers, and Cohen's kappa.

    agreement : of whole answers but sets the mean of 1 - their distance. kappa : None where both gave one value
        throughout (no_variation), and of such answers. Diagnostic only.
    """

    a: Any
    b: Any
    n: int
    agreement: float
    kappa: float | None


@dataclass(frozen=True, eq=False)
class RaterData:
    """What is known of the raters' answers to one question.

    ratings : fitted to the level, so that their codes are those of `patterns`. patterns : of all rated units.
    rows : the same by rater. influence : of the pairable patterns, None where alpha is undefined.
    members : (V, L) whether set v holds label l; None where values are no sets. categories : those labels, else the
        values.
    places : (V,) numbers of the values at ordered levels, else None.
    comparison : of whole answers that are more or less alike; None where two are equal or not, and where an answer is
        not what it compares.
    """

    ratings: Ratings
    patterns: Patterns
    rows: Rows
    influence: Influence | None
    members: Floats | None
    categories: Sequence[Any]
    places: Floats | None
    comparison: Comparison | None = None


def rater_findings(
    data: RaterData,
    *,
    gold: Mapping[Any, Any] | None = None,
    gold_by: Mapping[Any, Any] | None = None,
    lead_times: NDArray[np.float64] | None = None,
    repeats: Sequence[tuple[Any, Any, Any]] | None = None,
) -> list[RaterFinding]:
    """Every rater with a rating, those that pull alpha down most first, then by id.

    gold : by unit, its known value; gold_by : by unit, the rater whose answer that is, and who is not measured by it.
    lead_times : (n,) seconds per rating in the order of the ratings, NaN unknown.
    repeats : (unit, rater, value) of answers that a later one of the same rater replaced.
    """
    ratings = data.ratings
    n = np.bincount(ratings.raters, minlength=len(ratings.rater_ids)) if ratings.n_ratings else NOWHERE
    present = np.flatnonzero(n)
    if not len(present):
        return []
    without = _alpha_without(data, n)
    costs = _costs(data)
    leanings, shifts = _leanings(data)
    golds = _golds(data, gold, gold_by or {})
    seconds = _seconds(data.ratings, lead_times)
    alike = _repeats(data.ratings, repeats, data.comparison)
    alpha = None if data.influence is None else data.influence.alpha
    found = []
    for rater in present.tolist():
        value = without.get(rater)
        times = seconds.get(rater)
        own = alike.get(rater, [])
        found.append(
            RaterFinding(
                ratings.rater_ids[rater],
                int(n[rater]),
                value,
                None if value is None or alpha is None else value - alpha,
                None if costs is None else float(costs[rater]),
                leanings.get(rater, ()),
                shifts.get(rater),
                golds.get(rater),
                None if times is None else float(np.median(times)),
                0 if times is None else len(times),
                len(own),
                sum(own) / len(own) if own else None,
            )
        )
    return sorted(found, key=lambda one: (math.inf if one.change is None else -one.change, *id_order(one.rater)))


def rater_pairs(data: RaterData) -> list[RaterPair]:
    """Every two raters with units in common, most units first.

    Of very many raters the busiest alone; none where hardly a value is given twice, and of whole answers but sets where
    those that would have to be compared are too many.
    """
    if data.comparison is not None:
        return _graded_pairs(data, data.comparison)
    rows, n_raters = data.rows, len(data.ratings.rater_ids)
    used = np.flatnonzero(data.patterns.marginals)
    most = MOST_CELLS // max(len(used), 1)
    if not len(rows.row) or most < 2:
        return []
    answers = tally(rows.rater, rows.weight, n_raters)
    busiest = np.sort(np.argsort(-answers, kind="stable")[: min(most, np.count_nonzero(answers))])
    joint = _joint(rows, busiest, used, n_raters).reshape(len(busiest), len(used), len(busiest), len(used))
    alike = np.einsum("avbv->ab", joint)
    of_first, of_second = joint.sum(axis=3), joint.sum(axis=1)
    n = of_first.sum(axis=1)
    by_chance = np.einsum("avb,abv->ab", of_first, of_second)
    ids = data.ratings.rater_ids
    found = []
    for i, j in zip(*(places.tolist() for places in np.nonzero(np.triu(n, 1))), strict=True):
        both = float(n[i, j])
        observed, expected = float(alike[i, j]) / both, float(by_chance[i, j]) / (both * both)
        kappa = (observed - expected) / (1 - expected) if 1 - expected > 1e-12 else None
        found.append(RaterPair(ids[busiest[i]], ids[busiest[j]], int(both), observed, kappa))
    return sorted(found, key=lambda pair: -pair.n)


def _graded_pairs(data: RaterData, comparison: Comparison) -> list[RaterPair]:
    """By how like each other the answers of two raters are."""
    rows, ids = data.rows, data.ratings.rater_ids
    of_row = np.bincount(rows.row, minlength=len(rows.size))
    if int((of_row * (of_row - 1)).sum()) > 2 * MOST_GRADED:
        return []
    first, second = pairs_within(of_row)
    two = rows.rater[first] != rows.rater[second]
    first, second = first[two], second[two]
    v = len(data.ratings.codebook)
    kinds, kind = np.unique(rows.value[first] * v + rows.value[second], return_inverse=True)
    apart = comparison.pairs(data.ratings.codebook.categories, *np.divmod(kinds, v))[kind]
    pairs, pair = np.unique(rows.rater[first] * len(ids) + rows.rater[second], return_inverse=True)
    n = tally(pair, rows.weight[first], len(pairs))
    alike = tally(pair, rows.weight[first] * (1 - np.clip(apart, 0.0, 1.0)), len(pairs)) / n
    found = [
        RaterPair(ids[a], ids[b], int(times), likeness, None)
        for a, b, times, likeness in zip(
            *(codes.tolist() for codes in np.divmod(pairs, len(ids))), n.tolist(), alike.tolist(), strict=True
        )
    ]
    return sorted(found, key=lambda one: -one.n)


def _joint(rows: Rows, raters: Ints, used: Ints, n_raters: int) -> Floats:
    """(R V, R V) how often a rater's value met that of a rater with a higher code."""
    v = len(used)
    place_of_rater = np.full(n_raters, -1, dtype=np.int64)
    place_of_rater[raters] = np.arange(len(raters))
    place_of_value = np.zeros(int(used[-1]) + 1, dtype=np.int64)
    place_of_value[used] = np.arange(v)
    kept = np.flatnonzero(place_of_rater[rows.rater] >= 0)
    column = place_of_rater[rows.rater[kept]] * v + place_of_value[rows.value[kept]]
    row, width = rows.row[kept], len(raters) * v
    of_row = np.bincount(row, minlength=len(rows.size))
    if int((of_row * (of_row - 1)).sum()) * PRODUCT <= len(rows.size) * width * width:
        return _joint_by_pairs(of_row, column, rows.weight[kept], width)
    joint = np.zeros((width, width))
    step = max(1, DENSE // (4 * width))
    for start in range(0, len(rows.size), step):
        first, last = np.searchsorted(row, [start, start + step])
        said = np.zeros((min(step, len(rows.size) - start), width))
        said[row[first:last] - start, column[first:last]] = 1.0
        joint += said.T @ (said * rows.weights[start : start + step, None])
    return joint


def _joint_by_pairs(of_row: Ints, column: Ints, weight: Floats, width: int) -> Floats:
    """The same from the pairs of answers of every row, where those are few.

    of_row : (G,) answers of each row. column, weight : (K,) in the order of rows and then of raters.
    """
    joint = np.zeros(width * width)
    place = np.arange(len(column))
    later = np.repeat(np.cumsum(of_row), of_row) - place - 1
    last = np.cumsum(later)
    start = 0
    while start < len(column):
        end = max(start + 1, int(np.searchsorted(last, (last[start - 1] if start else 0) + PAIRS, side="right")))
        left = later[start:end]
        first = np.repeat(place[start:end], left)
        second = first + 1 + np.arange(len(first)) - np.repeat(np.cumsum(left) - left, left)
        joint += tally(column[first] * width + column[second], weight[first], width * width)
        start = end
    return joint.reshape(width, width)


def _alpha_without(data: RaterData, n: Ints) -> dict[int, float | None]:
    if data.influence is None or data.influence.statistic.sampled:
        return {}
    statistic = data.influence.statistic
    if isinstance(statistic, AlphaStatistic):
        expected = _EXPECTED.get(statistic.distance, _by_matrix if hasattr(statistic.metric, "matrix") else None)
        if expected is not None:
            return _fixed_without(data, statistic, expected)
        if statistic.distance == "ordinal" and len(data.ratings.rater_ids) * statistic.patterns.n_values**2 <= DENSE:
            return _ordinal_without(data, statistic)
    return _read_again_without(data, data.influence, n)


class _Lost(NamedTuple):
    """What is lost with each rater: a rating, and with it the other one of a unit of two.

    left : (R,) ratings that count then. rater, value, times : (L,) the ratings lost, by rater.
    """

    left: Floats
    rater: Ints
    value: Ints
    times: Floats

    def counts(self, marginals: Ints, start: int, stop: int) -> Floats:
        """(stop - start, V) ratings of each value without the raters from start on."""
        own = (self.rater >= start) & (self.rater < stop)
        v = len(marginals)
        lost = tally((self.rater[own] - start) * v + self.value[own], self.times[own], (stop - start) * v)
        return marginals - lost.reshape(-1, v)


def _lost(patterns: Patterns, n_now: float, rater: Ints, entry: Ints, weight: Floats, n_raters: int) -> _Lost:
    pair = patterns.size[patterns.row[entry]] == 2
    return _Lost(
        n_now - tally(rater, weight * np.where(pair, 2, 1), n_raters),
        np.concatenate([rater, rater[pair]]),
        np.concatenate([patterns.col[entry], _other_of_two(patterns)[entry[pair]]]),
        np.concatenate([weight, weight[pair]]),
    )


def _fixed_without(
    data: RaterData, statistic: AlphaStatistic, expected: Callable[[AlphaStatistic, _Lost], Floats]
) -> dict[int, float | None]:
    """Of distances that do not depend on the marginals: each unit loses the pairs of the rater's answer."""
    patterns, n_raters = statistic.patterns, len(data.ratings.rater_ids)
    n_now, d_now, _ = statistic.observed
    rater, entry, weight = _places(data, patterns)
    g = patterns.row[entry]
    size, disagreement = patterns.size[g].astype(np.float64), statistic.metric.disagreement[g]
    pairs_left = disagreement * (size - 1) - 2 * _to_others(statistic)[entry]
    left = np.where(size > 2, np.maximum(pairs_left, 0.0) / np.maximum(size - 2, 1), 0.0)
    d = d_now + tally(rater, weight * (left - disagreement), n_raters)
    lost = _lost(patterns, n_now, rater, entry, weight, n_raters)
    return _quotients(lost.left, d, expected(statistic, lost))


def _quotients(n: Floats, d: Floats, p: Floats) -> dict[int, float | None]:
    alphas = 1 - np.divide((n - 1) * np.maximum(d, 0.0), p, out=np.full_like(p, math.nan), where=p > 0)
    return {rater: None if math.isnan(one) else one for rater, one in enumerate(alphas.tolist())}


def _to_others(statistic: AlphaStatistic) -> Floats:
    """(K,) sum of the distances of one rating of each entry to the others of its unit."""
    patterns = statistic.patterns
    if statistic.distance == "nominal":
        unlike: Floats = (patterns.size[patterns.row] - patterns.n).astype(np.float64)
        return unlike
    first, second = patterns.entry_pairs
    d2 = statistic.metric.d2(patterns.col[first], patterns.col[second])
    return tally(first, patterns.n[second] * d2, len(patterns.row)) + tally(
        second, patterns.n[first] * d2, len(patterns.row)
    )


def _by_counts(
    statistic: AlphaStatistic, lost: _Lost, of: Callable[[Floats, Floats], Floats], width: int | None = None
) -> Floats:
    """(R,) expected disagreement from the counts of values that are left, for some raters at a time."""
    n_raters, marginals = len(lost.left), statistic.patterns.marginals
    step = max(1, DENSE // (width or len(marginals)))
    parts = [
        of(lost.counts(marginals, start, min(start + step, n_raters)), lost.left[start : start + step])
        for start in range(0, n_raters, step)
    ]
    return np.concatenate(parts)


def _by_equality(statistic: AlphaStatistic, lost: _Lost) -> Floats:
    return _by_counts(statistic, lost, lambda counts, n: n * n - np.einsum("rv,rv->r", counts, counts))


def _by_matrix(statistic: AlphaStatistic, lost: _Lost) -> Floats:
    matrix: Floats = statistic.metric.matrix  # type: ignore[attr-defined] # there is one where this is called
    p = _by_counts(statistic, lost, lambda counts, _: np.einsum("rv,rv->r", counts @ matrix, counts))
    # what is left of distances that cancel is no variation
    return np.where(p > NOTHING * lost.left * lost.left, p, 0.0)


def _by_squares(statistic: AlphaStatistic, lost: _Lost) -> Floats:
    x: Floats = statistic.metric.x  # type: ignore[attr-defined] # there are such places where this is called
    t, q = (
        float(statistic.patterns.marginals @ power) - tally(lost.rater, lost.times * power[lost.value], len(lost.left))
        for power in (x, x * x)
    )
    spread = lost.left * q - t * t
    return np.where(spread > NOTHING * lost.left * q, 2 * spread, 0.0)


_EXPECTED: dict[str, Callable[[AlphaStatistic, _Lost], Floats]] = {"nominal": _by_equality, "interval": _by_squares}
"""P without each rater, by distance; of others with a matrix of distances `_by_matrix`."""


def _ordinal_without(data: RaterData, statistic: AlphaStatistic) -> dict[int, float | None]:
    """Of few ordered values: coincidences and marginals lose the rater's answers, ranks are anew for each rater."""
    patterns, n_raters = statistic.patterns, len(data.ratings.rater_ids)
    rater, entry, weight = _places(data, patterns)
    lost = _lost(patterns, statistic.observed[0], rater, entry, weight, n_raters)
    first, second = patterns.entry_pairs
    kinds, kind = np.unique(patterns.col[first] * patterns.n_values + patterns.col[second], return_inverse=True)
    a, b = np.divmod(kinds, patterns.n_values)
    row, size = patterns.row[first], patterns.size[patterns.row[first]]
    each = 2.0 * patterns.n[first] * patterns.n[second] / (size - 1)
    coincidences = tally(kind, each * patterns.weights[row], len(kinds)) - _coincidences_lost(
        patterns, rater * len(patterns.row) + entry, weight, kind, each, n_raters
    )

    def squares(counts: Floats, n: Floats) -> Floats:
        ranks = np.cumsum(counts, axis=1) - counts / 2 - n[:, None] / 2
        several = np.count_nonzero(counts, axis=1) > 1
        return np.where(several, 2 * n * np.einsum("rv,rv,rv->r", counts, ranks, ranks), 0.0)

    def distances(counts: Floats, n: Floats) -> Floats:
        ranks = np.cumsum(counts, axis=1) - counts / 2 - n[:, None] / 2
        apart: Floats = ranks[:, a] - ranks[:, b]
        return apart * apart

    d2 = _by_counts(statistic, lost, distances, len(kinds) + patterns.n_values).reshape(n_raters, len(kinds))
    d = np.einsum("rk,rk->r", np.maximum(coincidences, 0.0), d2)
    return _quotients(lost.left, d, _by_counts(statistic, lost, squares))


def _coincidences_lost(
    patterns: Patterns, cell: Ints, weight: Floats, kind: Ints, each: Floats, n_raters: int
) -> Floats:
    """(R, kinds) coincidences of two values that are lost with each rater.

    cell : rater and place among the entries, as one number, of every answer; weight : how often it stands for one.
    kind, each : (P,) of every pair of entries of one pattern, and its coincidences in one such unit.
    """
    first, second = patterns.entry_pairs
    n_kinds = int(kind.max(initial=-1)) + 1
    cells, place = np.unique(cell, return_inverse=True)
    times = tally(place, weight, len(cells))
    rater, entry = np.divmod(cells, len(patterns.row))
    of_pattern = np.bincount(patterns.row[first], minlength=patterns.n_patterns)
    starts = np.cumsum(of_pattern) - of_pattern
    pairs = of_pattern[patterns.row[entry]]
    lost = np.zeros(n_raters * n_kinds)
    for chosen in np.array_split(np.arange(len(cells)), max(1, int(pairs.sum()) // PAIRS)):
        left = pairs[chosen]
        answer = np.repeat(chosen, left)
        pair = np.repeat(starts[patterns.row[entry[chosen]]] - (np.cumsum(left) - left), left) + np.arange(len(answer))
        one, other = first[pair], second[pair]
        size = patterns.size[patterns.row[one]]
        remaining = 2.0 * (patterns.n[one] - (one == entry[answer])) * (patterns.n[other] - (other == entry[answer]))
        then = np.where(size > 2, remaining / np.maximum(size - 2, 1), 0.0)
        lost += tally(rater[answer] * n_kinds + kind[pair], times[answer] * (each[pair] - then), len(lost))
    return lost.reshape(n_raters, n_kinds)


def _read_again_without(data: RaterData, influence: Influence, n: Ints) -> dict[int, float | None]:
    """Alpha of the others' answers; of very many raters for the busiest alone."""
    rows, statistic = data.rows, influence.statistic
    v = influence.patterns.n_values
    work = len(rows.row) + _cells_per_rater(statistic, v)
    found: dict[int, float | None] = {}
    for rater in np.argsort(-n, kind="stable")[: max(1, MOST_WORK // work)].tolist():
        kept = rows.rater != rater
        size = np.bincount(rows.row[kept], minlength=len(rows.size))
        kept &= size[rows.row] >= 2
        place = np.cumsum(size >= 2) - 1
        cells, times = np.unique(place[rows.row[kept]] * v + rows.value[kept], return_counts=True)
        row, col = np.divmod(cells, v)
        others = Patterns(row, col, times, size[size >= 2], rows.weights[size >= 2], v, NOWHERE)
        several = np.count_nonzero(others.marginals) > 1
        found[rater] = value_of(statistic.on(others)) if several else None
    return found


def _cells_per_rater(statistic: Alpha, v: int) -> int:
    if not isinstance(statistic, AlphaStatistic):
        return statistic.cells
    # distances that are looked up in a matrix of all values are summed over it for every rater
    return v * v if statistic.distance not in ("ordinal", "interval") and v <= MOST_VALUES else 0


def _places(data: RaterData, patterns: Patterns) -> tuple[Ints, Ints, Floats]:
    """Raters, places among the entries of the pairable patterns, and weights of all answers in company."""
    rows, full = data.rows, data.patterns
    pattern_of_row = np.zeros(len(rows.size), dtype=np.int64)
    rated = rows.index >= 0
    pattern_of_row[rows.index[rated]] = full.index[rated]
    pairable = np.where(full.size >= 2, np.cumsum(full.size >= 2) - 1, -1)
    g = pairable[pattern_of_row[rows.row]]
    kept = g >= 0
    keys = patterns.row * patterns.n_values + patterns.col
    entry = np.searchsorted(keys, g[kept] * patterns.n_values + rows.value[kept])
    return rows.rater[kept], entry, rows.weight[kept]


def _other_of_two(patterns: Patterns) -> Ints:
    """(K,) in units of two ratings, the value of the other one."""
    total = np.rint(tally(patterns.row, patterns.n * patterns.col.astype(np.float64), patterns.n_patterns))
    other: Ints = total.astype(np.int64)[patterns.row] - patterns.col
    return other


def _costs(data: RaterData) -> Floats | None:
    influence = data.influence
    if influence is None:
        return None
    patterns = influence.patterns
    first, second = patterns.entry_pairs
    cost = influence.pair_costs_each
    to_others = tally(first, patterns.n[second] * cost, len(patterns.row))
    to_others += tally(second, patterns.n[first] * cost, len(patterns.row))
    rater, entry, weight = _places(data, patterns)
    share = to_others[entry] / (patterns.size[patterns.row[entry]] - 1)
    return tally(rater, weight * share, len(data.ratings.rater_ids))


def _leanings(data: RaterData) -> tuple[dict[int, list[Leaning]], dict[int, float]]:
    """By rater, on the units that others rated too."""
    patterns, n_raters, v = data.patterns.pairable, len(data.ratings.rater_ids), data.patterns.n_values
    if not patterns.n_patterns:
        return {}, {}
    rater, entry, weight = _places(data, patterns)
    g, value = patterns.row[entry], patterns.col[entry]
    n, each = tally(rater, weight, n_raters), weight / (patterns.size[g] - 1)
    shifts: dict[int, float] = {}
    if data.places is not None:
        # on a scale of their own, since sums of the largest numbers overflow; a mean distance may do so still
        scale = float(np.abs(data.places).max(initial=0.0)) or 1.0
        places = data.places / scale
        x = places[value]
        sums = tally(patterns.row, patterns.n * places[patterns.col], patterns.n_patterns)
        apart = tally(rater, weight * x - each * (sums[g] - x), n_raters)
        means = {place: float(apart[place] / n[place]) * scale for place in np.flatnonzero(n).tolist()}
        shifts = {place: mean for place, mean in means.items() if math.isfinite(mean)}
    if v > MOST_LEANINGS and data.members is None:
        return {}, shifts
    leanings: dict[int, list[Leaning]] = {}
    step = max(1, DENSE // max(patterns.n_patterns, v))
    for start in range(0, n_raters, step):
        width = min(step, n_raters - start)
        here = (rater >= start) & (rater < start + width)
        who, what = rater[here] - start, value[here]
        own = tally(who * v + what, weight[here], width * v).reshape(width, v)
        in_pattern = tally(who * patterns.n_patterns + g[here], each[here], width * patterns.n_patterns)
        all_of_unit = patterns.sums(in_pattern.reshape(width, -1), patterns.n.astype(np.float64))
        others = all_of_unit - tally(who * v + what, each[here], width * v).reshape(width, v)
        leanings.update(_listed(data, start, own, np.maximum(others, 0.0), n[start : start + width]))
    return leanings, shifts


def _listed(data: RaterData, start: int, own: Floats, others: Floats, n: Floats) -> dict[int, list[Leaning]]:
    if data.members is not None:
        own, others = own @ data.members, others @ data.members
    found = {}
    for place in np.flatnonzero(n).tolist():
        mine, theirs = own[place] / n[place], others[place] / n[place]
        apart = np.abs(mine - theirs)
        order = np.argsort(-apart, kind="stable")
        shown = order[(mine + theirs)[order] > 0][:LEANINGS_LISTED].tolist()
        found[start + place] = [Leaning(data.categories[c], float(mine[c]), float(theirs[c])) for c in shown]
    return found


def _golds(data: RaterData, gold: Mapping[Any, Any] | None, by: Mapping[Any, Any]) -> dict[int, GoldFinding]:
    ratings, v, n_raters = data.ratings, len(data.ratings.codebook), len(data.ratings.rater_ids)
    if not gold or not ratings.n_ratings:
        return {}
    if data.comparison is not None:
        return _graded_golds(ratings, gold, by, data.comparison)
    known = _gold_codes(ratings, gold)[ratings.units]
    asked = (known != NO_GOLD) & _of_others(ratings, by)
    rater, value, known = ratings.raters[asked].astype(np.int64), ratings.values[asked].astype(np.int64), known[asked]
    n = tally(rater, np.ones(len(rater)), n_raters)
    alike = tally(rater, value == known, n_raters)
    leanings: dict[int, list[Leaning]] = {}
    if data.members is not None or (v <= MOST_LEANINGS and n_raters * v <= DENSE):
        own = tally(rater * v + value, np.ones(len(rater)), n_raters * v).reshape(n_raters, v)
        seen = known >= 0
        truth = tally(rater[seen] * v + known[seen], np.ones(np.count_nonzero(seen)), n_raters * v).reshape(n_raters, v)
        leanings = _listed(data, 0, own, truth, n)
    return {
        place: GoldFinding(
            int(n[place]),
            float(alike[place] / n[place]),
            *wilson(int(alike[place]), int(n[place])),
            leanings.get(place, ()),
        )
        for place in np.flatnonzero(n).tolist()
    }


def _of_others(ratings: Ratings, by: Mapping[Any, Any]) -> NDArray[np.bool_]:
    """(n,) whether a rating's unit has its known answer from somebody else."""
    code_of = {rater: code for code, rater in enumerate(ratings.rater_ids)}
    author = np.array([code_of.get(by.get(unit), -1) for unit in ratings.unit_ids], dtype=np.int64)
    others: NDArray[np.bool_] = author[ratings.units] != ratings.raters
    return others


def _graded_golds(
    ratings: Ratings, gold: Mapping[Any, Any], by: Mapping[Any, Any], comparison: Comparison
) -> dict[int, GoldFinding]:
    """By how like the known answer each rater's is; known answers that cannot be compared are none."""
    others: list[Any] = []
    which: Ints = np.full(len(ratings.unit_ids), NO_GOLD, dtype=np.int64)
    for place, unit in enumerate(ratings.unit_ids):
        if unit in gold and (value := _answer(gold[unit], comparison)) is not None:
            which[place] = len(others)
            others.append(value)
    which = which[ratings.units]
    asked = np.flatnonzero((which != NO_GOLD) & _of_others(ratings, by))
    if not len(asked):
        return {}
    rater, codes = ratings.raters[asked].astype(np.int64), ratings.values[asked].astype(np.int64)
    alike = 1 - np.clip(comparison.apart_from(ratings.codebook.categories, codes, others, which[asked]), 0.0, 1.0)
    n = np.bincount(rater)
    total = tally(rater, alike, len(n))
    return {
        place: GoldFinding(
            int(n[place]), float(total[place] / n[place]), *wilson(float(total[place]), int(n[place])), ()
        )
        for place in np.flatnonzero(n).tolist()
    }


NO_GOLD = -1
NEVER_GIVEN = -2


def _gold_codes(ratings: Ratings, gold: Mapping[Any, Any]) -> Ints:
    """(N,) code of each unit's known value; NEVER_GIVEN for one that is no category here."""
    code_of = {category: code for code, category in enumerate(ratings.codebook.categories)}
    numbers = {number: code for code, number in enumerate(ratings.codebook.exact) if not math.isnan(number)}
    codes = np.full(len(ratings.unit_ids), NO_GOLD, dtype=np.int64)
    for place, unit in enumerate(ratings.unit_ids):
        if unit in gold and (value := as_value(gold[unit])) is not None:
            number = parse_exact(value)
            # at numeric levels the categories are numbers where gold may still be their text
            fallback = NEVER_GIVEN if number is None else numbers.get(number, NEVER_GIVEN)
            codes[place] = code_of.get(value, fallback)
    return codes


def _seconds(ratings: Ratings, lead_times: NDArray[np.float64] | None) -> dict[int, Floats]:
    """Known times by rater."""
    if lead_times is None:
        return {}
    times = np.asarray(lead_times, dtype=np.float64)
    if times.shape != (ratings.n_ratings,):
        raise ValueError(f"lead_times must hold one number for each of {ratings.n_ratings} ratings, not {times.shape}")
    known = np.flatnonzero(np.isfinite(times) & (times >= 0))
    known = known[np.argsort(ratings.raters[known], kind="stable")]
    raters, starts = np.unique(ratings.raters[known], return_index=True)
    return dict(zip(raters.tolist(), np.split(times[known], starts[1:]), strict=True)) if len(known) else {}


def _repeats(
    ratings: Ratings, repeats: Sequence[tuple[Any, Any, Any]] | None, comparison: Comparison | None
) -> dict[int, list[float]]:
    """By rater, whether each earlier answer equals the one that counts (or, 0 to 1, how like it is)."""
    if not repeats:
        return {}
    rater_code = {rater: code for code, rater in enumerate(ratings.rater_ids)}
    wanted = {unit for unit, _, _ in repeats}
    place_of = {unit: place for place, unit in enumerate(ratings.unit_ids) if unit in wanted}
    chosen = np.flatnonzero(np.isin(ratings.units, np.array(list(place_of.values()), dtype=np.int64)))
    given = {
        (unit, rater): value
        for unit, rater, value in zip(
            ratings.units[chosen].tolist(),
            ratings.raters[chosen].tolist(),
            ratings.values[chosen].tolist(),
            strict=True,
        )
    }
    earlier: list[tuple[int, int, Any]] = []
    for unit, rater, raw in repeats:
        place, code, value = place_of.get(unit), rater_code.get(rater), _answer(raw, comparison)
        if place is not None and code is not None and value is not None and (place, code) in given:
            earlier.append((code, given[place, code], value))
    found: dict[int, list[float]] = {}
    for (code, _, _), alike in zip(earlier, _alike(ratings.codebook.categories, earlier, comparison), strict=True):
        found.setdefault(code, []).append(alike)
    return found


def _alike(
    categories: Sequence[Any], earlier: Sequence[tuple[int, int, Any]], comparison: Comparison | None
) -> list[float]:
    if comparison is None:
        return [float(_equal(categories[counted], value)) for _, counted, value in earlier]
    counted = np.array([code for _, code, _ in earlier], dtype=np.int64)
    apart = comparison.apart_from(categories, counted, [value for _, _, value in earlier], np.arange(len(earlier)))
    likeness: list[float] = (1 - np.clip(apart, 0.0, 1.0)).tolist()
    return likeness


def _equal(counted: Any, value: Any) -> bool:
    return counted in (value, parse_exact(value) if isinstance(counted, int | float) else None)


def _answer(raw: Any, comparison: Comparison | None) -> Any:
    """An answer that is no rating here as one of those that are; None where it is missing or cannot be compared."""
    if comparison is None:
        return as_value(raw)
    # what is compared as it stands must stay so: `as_value` would make a set of its parts
    value = raw if isinstance(raw, tuple) and comparison.comparable(raw) else as_value(raw)
    return value if comparison.comparable(value) else None


def wilson(hits: float, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's interval (1927) of a share.

    >>> [round(bound, 3) for bound in wilson(8, 10)]
    [0.49, 0.943]
    """
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    centre = (hits + z * z / 2) / (n + z * z)
    reach = z / (n + z * z) * math.sqrt(hits * (n - hits) / n + z * z / 4)
    return max(0.0, centre - reach), min(1.0, centre + reach)
