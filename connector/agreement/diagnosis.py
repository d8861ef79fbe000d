"""Where the disagreement sits: by pair of categories and by category, each one against the rest, by rater and by unit.

Specific agreement is Cicchetti and Feinstein's (1990), for any number of raters: sum n (n - 1) / sum n (m - 1).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from connector.agreement.alpha import AlphaStatistic, Prepared, alpha_statistic
from connector.agreement.distances import COMPARISONS
from connector.agreement.influence import Influence, UnitFinding, WayToThreshold
from connector.agreement.intervals import SEED, Interval, interval_of
from connector.agreement.keys import id_order
from connector.agreement.patterns import NOWHERE, Patterns, tally, whole_tally
from connector.agreement.raters import RaterData, RaterFinding, RaterPair, rater_findings, rater_pairs
from connector.agreement.ratings import Floats, Ints, Ratings
from connector.agreement.rows import fold_rows

CONCENTRATED = 6
"""Tenths of the disagreement that two pairs of categories must hold more than to be mended first."""
HIGH_PERCENT = 0.8
LOW_ALPHA = 0.4
MANY_PATTERNS = 5_000
"""Distinct count vectors above which categories get no interval of their own."""
MOST_INTERVALS = 50
MOST_SPECIFIC = 20


@dataclass(frozen=True, slots=True)
class CategoryFinding:
    """One category (or one label of sets) against the rest.

    share : of all counted ratings (sets: the share of ratings that hold the label).
    specific_agreement : chance that another rater says so too where one does, None where nobody said it in company.
    one_vs_rest : nominal alpha of "this category or not", None with `reason` where undefined; `interval` : its interval
        where one was asked for.
    too_rare : fewer than about five agreements on it are due by chance, n_c < sqrt(5 (n - 1)): its own coefficient does
        not mean much.
    further : other figures of it by name, None where undefined.
    """

    category: Any
    share: float
    specific_agreement: float | None
    one_vs_rest: float | None
    reason: str | None
    interval: Interval | None = None
    too_rare: bool = False
    further: Mapping[str, float | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PairFinding:
    """Two categories that raters of one unit disagreed between.

    n : unordered pairs of ratings that disagree so; share : of all disagreeing pairs of the question.
    """

    a: Any
    b: Any
    n: int
    share: float


@dataclass(frozen=True, slots=True)
class Concentration:
    """One or two pairs of categories that hold over 60% of the disagreement: their wording in the guideline
    is to be mended, nobody needs retraining.

    share : of all disagreeing pairs of ratings, of these pairs together.
    """

    pairs: Sequence[PairFinding]
    share: float


@dataclass(frozen=True, slots=True)
class Paradox:
    """High percent agreement beside a low alpha, because one category rules (Feinstein and Cicchetti 1990).

    category, share : the commonest one. brennan_prediger (PABAK), gwet_ac1 : to read beside alpha, never to decide on:
    raters that guess from the shares reach high values of both. specific : agreement on each category by itself, the
    rarest first, None where nobody chose it in company.
    """

    percent_agreement: float
    alpha: float
    category: Any
    share: float
    brennan_prediger: float | None
    gwet_ac1: float | None
    specific: Sequence[tuple[Any, float | None]]


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """Who and what keeps raters from agreeing on one question. Nothing in it is to be gated on.

    raters : one finding per rater; `data` : what they were found from.
    units_by_influence : units without which alpha would be higher; units_by_disagreement : by what they cost.
    way_to_threshold : what resolving the strongest conflicts would give. mend : the pairs of categories to mend first.
    All are empty or None where alpha is undefined, `rater_pairs` and what concerns gold and time alone excepted.
    """

    raters: Sequence[RaterFinding]
    data: RaterData = field(repr=False)
    units_by_influence: Sequence[UnitFinding]
    units_by_disagreement: Sequence[UnitFinding]
    way_to_threshold: WayToThreshold | None
    paradox: Paradox | None
    mend: Concentration | None

    @cached_property
    def rater_pairs(self) -> Sequence[RaterPair]:
        """Every two raters, a diagnostic only; worked out when first asked for, since many raters make it dear."""
        return rater_pairs(self.data)

    @cached_property
    def unit_costs(self) -> tuple[list[float | None], list[float | None]]:
        """Cost and influence of every known unit, as in `UnitFinding`; None where undefined and under two ratings."""
        influence, index = self.data.influence, _pairable_index(self.data.patterns)
        if influence is None:
            nothing: list[float | None] = [None] * len(index)
            return nothing, nothing
        # a unit that does not count, index -1, finds the last place
        costs, changes = ([*map(_known, of.tolist()), None] for of in (influence.cost, influence.change))
        return [costs[place] for place in index.tolist()], [changes[place] for place in index.tolist()]


def diagnose(
    prepared: Prepared,
    distance: str,
    *,
    threshold: float,
    ordered: bool,
    labels: Sequence[Any] | None = None,
    gold: Mapping[Any, Any] | None = None,
    gold_by: Mapping[Any, Any] | None = None,
    lead_times: NDArray[np.float64] | None = None,
    repeats: Sequence[tuple[Any, Any, Any]] | None = None,
) -> Diagnosis:
    """The diagnosis of prepared ratings, without what needs the coefficients (`paradox`, `mend`).

    labels : of sets, in the order in which they are listed. The others as in `report.QuestionRatings`.
    """
    ratings, patterns = _raters_in_order(prepared.ratings), prepared.patterns
    influence = None if prepared.reason else Influence.of(alpha_statistic(prepared, distance))
    members, categories = _membership(ratings.codebook.categories, labels)
    comparison = COMPARISONS.get(distance)
    by_likeness = comparison is not None and comparison.graded and prepared.reason != "wrong_level"
    graded = comparison if by_likeness else None
    places = _places(ratings) if ordered else None
    data = RaterData(ratings, patterns, fold_rows(ratings), influence, members, categories, places, graded)
    raters = rater_findings(data, gold=gold, gold_by=gold_by, lead_times=lead_times, repeats=repeats)
    if influence is None:
        return Diagnosis(raters, data, (), (), None, None, None)
    index = _pairable_index(patterns)
    return Diagnosis(
        raters,
        data,
        influence.units(index, ratings.unit_ids, np.nan_to_num(influence.change)),
        influence.units(index, ratings.unit_ids, influence.cost),
        influence.way(threshold, None if graded else ratings.codebook.categories, ordered=ordered),
        None,
        None,
    )


def concentration(pairs: Sequence[PairFinding], n_categories: int) -> Concentration | None:
    """The top two pairs where they hold over 60% of the disagreement between four or more categories, else None."""
    top = tuple(pairs[:2])
    n, whole = sum(pair.n for pair in top), sum(pair.n for pair in pairs)
    # in whole numbers: exactly 60% is not over it
    return Concentration(top, n / whole) if n_categories >= 4 and 10 * n > CONCENTRATED * whole else None


def paradox(
    percent: float | None,
    alpha: float | None,
    categories: Sequence[CategoryFinding],
    *,
    brennan_prediger: float | None = None,
    gwet_ac1: float | None = None,
) -> Paradox | None:
    """The paradox where percent agreement is at least .80 and alpha under .40, else None."""
    if percent is None or alpha is None or percent < HIGH_PERCENT or alpha >= LOW_ALPHA or not categories:
        return None
    commonest = max(categories, key=lambda one: one.share)
    by_share = sorted((one for one in categories if one.share > 0), key=lambda one: one.share)
    specific = tuple((one.category, one.specific_agreement) for one in by_share[:MOST_SPECIFIC])
    return Paradox(percent, alpha, commonest.category, commonest.share, brennan_prediger, gwet_ac1, specific)


def _raters_in_order(ratings: Ratings) -> Ratings:
    """The ratings with raters coded in the order of their ids, so that no sum depends on the order of the rows."""
    order = sorted(range(len(ratings.rater_ids)), key=lambda code: id_order(ratings.rater_ids[code]))
    if order == list(range(len(order))):
        return ratings
    recode = np.zeros(len(order), dtype=np.int64)
    recode[order] = np.arange(len(order))
    return replace(ratings, raters=recode[ratings.raters], rater_ids=[ratings.rater_ids[code] for code in order])


def _membership(values: Sequence[Any], labels: Sequence[Any] | None) -> tuple[Floats | None, Sequence[Any]]:
    """(V, L) which set holds which label, and the labels; None and the values themselves where they are no sets."""
    if labels is None:
        return None, values
    places = {label: place for place, label in enumerate(labels)}
    members = np.zeros((len(values), len(places)))
    for code, value in enumerate(values):
        members[code, [places[label] for label in _members(value) if label in places]] = 1
    return members, labels


def _places(ratings: Ratings) -> Floats:
    """(V,) the numbers of the values, or their places in the order where they are no numbers."""
    numbers = ratings.codebook.line
    return np.arange(len(numbers), dtype=np.float64) if np.isnan(numbers).any() else numbers


def _pairable_index(patterns: Patterns) -> Ints:
    """(N,) pattern among the pairable ones of every unit, -1 for the others."""
    pairable = patterns.size >= 2
    # index -1, a unit without a rating, finds the last place
    return np.append(np.where(pairable, np.cumsum(pairable) - 1, -1), -1)[patterns.index]


def disagreeing_pairs(patterns: Patterns, categories: Sequence[Any]) -> list[PairFinding]:
    """Every pair of categories met in one unit, commonest first."""
    first, second = patterns.entry_pairs
    if not len(first):
        return []
    row = patterns.row[first]
    counts = patterns.weights[row] * patterns.n[first] * patterns.n[second]
    kinds, kind = np.unique(patterns.col[first] * patterns.n_values + patterns.col[second], return_inverse=True)
    totals = whole_tally(kind, counts, len(kinds))
    order = np.argsort(-totals, kind="stable")
    a, b = np.divmod(kinds[order], patterns.n_values)
    whole = int(totals.sum())
    return [
        PairFinding(categories[i], categories[j], n, n / whole)
        for i, j, n in zip(a.tolist(), b.tolist(), totals[order].tolist(), strict=True)
    ]


def category_findings(
    patterns: Patterns, categories: Sequence[Any], confidence: float | None = None, seed: int = SEED
) -> list[CategoryFinding]:
    """Every category of the codebook, used or not, in its order; with intervals where a confidence is given."""
    entries = (patterns.row, patterns.col, patterns.n)
    return _with_intervals(_one_vs_rest(patterns, *entries, categories), patterns, *entries, confidence, seed)


def label_findings(
    patterns: Patterns,
    sets: Sequence[Any],
    declared: Sequence[Any] = (),
    confidence: float | None = None,
    seed: int = SEED,
) -> list[CategoryFinding]:
    """Every label of sets, declared ones first: each rating has it or not."""
    used = np.unique(patterns.col)
    code_of = {label: code for code, label in enumerate(dict.fromkeys(declared))}
    for code in used:
        for label in _members(sets[code]):
            code_of.setdefault(label, len(code_of))
    if not code_of:
        return []
    held = [[code_of[label] for label in _members(sets[code])] for code in used]
    per_set = np.array([len(codes) for codes in held], dtype=np.int64)
    place = np.searchsorted(used, patterns.col)
    times = per_set[place]
    flat = np.array([code for codes in held for code in codes], dtype=np.int64)
    start = (np.cumsum(per_set) - per_set)[place]
    within = np.arange(int(times.sum())) - np.repeat(np.cumsum(times) - times, times)
    label = flat[np.repeat(start, times) + within]
    row, n = np.repeat(patterns.row, times), np.repeat(patterns.n, times)
    cells, cell = np.unique(row * len(code_of) + label, return_inverse=True)
    merged = whole_tally(cell, n, len(cells))
    row, label = np.divmod(cells, len(code_of))
    found = _one_vs_rest(patterns, row, label, merged, list(code_of))
    return _with_intervals(found, patterns, row, label, merged, confidence, seed)


def _members(answer: Any) -> tuple[Any, ...]:
    return answer if isinstance(answer, tuple) else (answer,)


def _one_vs_rest(patterns: Patterns, row: Ints, col: Ints, n: Ints, categories: Sequence[Any]) -> list[CategoryFinding]:
    v = len(categories)
    size, weight = patterns.size[row], patterns.weights[row].astype(np.float64)
    company = size >= 2
    counts = tally(col, weight * n, v)
    alike = tally(col, weight * n * (n - 1), v)
    chances = tally(col, weight * n * (size - 1), v)
    d = tally(col[company], (weight * 2 * n * (size - n))[company] / (size[company] - 1), v)
    pairable = tally(col[company], (weight * n)[company], v)
    total = float(patterns.pairable.n_ratings)
    p = 2 * pairable * (total - pairable)
    shares = counts / max(patterns.n_ratings, 1)
    specific = _quotient(alike, chances)
    alphas = 1 - _quotient((total - 1) * d, p)
    reason = "no_variation" if total else "no_pairable_units"
    rare = pairable < math.sqrt(5 * max(total - 1, 0.0))
    return [
        CategoryFinding(
            category, share, _known(own), _known(value), reason if math.isnan(value) else None, too_rare=too_rare
        )
        for category, share, own, value, too_rare in zip(
            categories, shares.tolist(), specific.tolist(), alphas.tolist(), rare.tolist(), strict=True
        )
    ]


def _with_intervals(
    findings: list[CategoryFinding],
    patterns: Patterns,
    row: Ints,
    col: Ints,
    n: Ints,
    confidence: float | None,
    seed: int,
) -> list[CategoryFinding]:
    """The findings with the interval of each one's alpha; of many categories, of the commonest."""
    if confidence is None or patterns.n_patterns > MANY_PATTERNS:
        return findings
    commonest = sorted(range(len(findings)), key=lambda place: -findings[place].share)[:MOST_INTERVALS]
    found = list(findings)
    for place in commonest:
        value = findings[place].one_vs_rest
        if value is not None:
            own = col == place
            statistic = AlphaStatistic(_two_sided(patterns, row[own], n[own]), None, "nominal")
            found[place] = replace(findings[place], interval=interval_of(statistic, value, confidence, seed))
    return found


def _two_sided(patterns: Patterns, row: Ints, n: Ints) -> Patterns:
    """Pairable patterns of one category (code 0) against the rest (code 1), given its counts."""
    counts = np.zeros(patterns.n_patterns, dtype=np.int64)
    counts[row] = n
    company = patterns.size >= 2
    widest = int(patterns.size.max()) + 1
    kinds, kind = np.unique(patterns.size[company] * widest + counts[company], return_inverse=True)
    size, own = np.divmod(kinds, widest)
    both = np.stack([own, size - own], axis=1)
    rows, cols = np.nonzero(both)
    weights = whole_tally(kind, patterns.weights[company], len(kinds))
    return Patterns(rows, cols, both[rows, cols], size, weights, 2, NOWHERE)


def _quotient(above: Floats, below: Floats) -> Floats:
    quotient: Floats = np.divide(above, below, out=np.full_like(below, math.nan), where=below > 0)
    return quotient


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value
