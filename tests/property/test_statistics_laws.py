"""Laws that hold for every table: against the definition, under permutation, relabelling, shift, and folding."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from connector import QuestionRatings, Ratings, assess, krippendorff_alpha
from connector.agreement.alpha import AlphaStatistic, alpha_statistic, prepare
from connector.agreement.distances import COMPARISONS
from connector.agreement.gwet import ChanceStatistic, fleiss_kappa
from connector.agreement.intervals import bootstrap, interval_of, jackknife, value_of
from connector.agreement.kappa import percent_agreement
from connector.agreement.patterns import Patterns, fold
from connector.agreement.ratings import Level

Table = list[list[Any]]
LEVELS = ["nominal", "ordinal", "interval", "ratio"]


def tables(values: st.SearchStrategy[Any], most_units: int = 12, most_raters: int = 5) -> st.SearchStrategy[Table]:
    cell = st.one_of(st.none(), values, values)
    return st.integers(1, most_raters).flatmap(
        lambda width: st.lists(st.lists(cell, min_size=width, max_size=width), min_size=1, max_size=most_units)
    )


numbers = st.integers(0, 5)
letters = st.sampled_from("abcd")
sets = st.frozensets(st.sampled_from("abc"), max_size=3).map(lambda members: tuple(sorted(members)))


def by_definition(units: Table, d2: Callable[[Any, Any], float]) -> float | None:
    """Alpha from its definition: every pair within units against every pair of ratings."""
    paired = [[value for value in unit if value is not None] for unit in units]
    paired = [unit for unit in paired if len(unit) > 1]
    pool = [value for unit in paired for value in unit]
    n = len(pool)
    observed = sum(sum(d2(a, b) for a, b in itertools.permutations(unit, 2)) / (len(unit) - 1) for unit in paired)
    expected = sum(d2(a, b) for a, b in itertools.permutations(pool, 2))
    return None if n == 0 or expected == 0 else 1 - (n - 1) * observed / expected


def d2_of(level: str, units: Table) -> Callable[[Any, Any], float]:
    pool = [v for unit in units if sum(x is not None for x in unit) > 1 for v in unit if v is not None]
    if level == "nominal":
        return lambda a, b: float(a != b)
    if level == "interval":
        return lambda a, b: float((a - b) ** 2)
    if level == "ratio":
        return lambda a, b: 0.0 if a == b else ((a - b) / (a + b)) ** 2

    def ordinal(a: Any, b: Any) -> float:
        low, high = min(a, b), max(a, b)
        between = sum(low <= v <= high for v in pool) - (pool.count(low) + pool.count(high)) / 2
        return float(between**2) if a != b else 0.0

    return ordinal


def masi(a: tuple[str, ...], b: tuple[str, ...]) -> float:
    one, two = set(a), set(b)
    if one == two:
        return 0.0
    shared = one & two
    m = 0.0 if not shared else 2 / 3 if one <= two or two <= one else 1 / 3
    return 1 - m * len(shared) / len(one | two)


def close(found: float | None, expected: float | None) -> None:
    assert (found is None) == (expected is None)
    if found is not None:
        assert found == pytest.approx(expected, abs=1e-9)


@given(tables(numbers))
@pytest.mark.parametrize("level", LEVELS)
def test_alpha_is_its_definition(level: str, units: Table) -> None:
    close(krippendorff_alpha(units, level).value, by_definition(units, d2_of(level, units)))


@given(tables(sets))
def test_alpha_of_sets_is_its_definition(units: Table) -> None:
    close(krippendorff_alpha(units, distance="masi").value, by_definition(units, masi))


@given(tables(numbers), st.randoms(use_true_random=False))
@pytest.mark.parametrize("level", LEVELS)
def test_order_of_units_raters_and_rows(level: str, units: Table, random: Any) -> None:
    expected = krippendorff_alpha(units, level).value
    turned = [list(row) for row in units]
    random.shuffle(turned)
    columns = list(range(len(units[0])))
    random.shuffle(columns)
    close(krippendorff_alpha([[row[column] for column in columns] for row in turned], level).value, expected)
    rows = [(u, r, v) for u, row in enumerate(units) for r, v in enumerate(row)]
    random.shuffle(rows)
    close(krippendorff_alpha(Ratings.from_long(*zip(*rows, strict=True)), level).value, expected)


@given(tables(letters), st.permutations("abcd"))
def test_names_of_nominal_labels_do_not_matter(units: Table, names: list[str]) -> None:
    renamed = [[None if v is None else names["abcd".index(v)] for v in row] for row in units]
    close(krippendorff_alpha(renamed).value, krippendorff_alpha(units).value)
    close(
        percent_agreement(fold(Ratings.from_wide(renamed))).value,
        percent_agreement(fold(Ratings.from_wide(units))).value,
    )
    close(fleiss_kappa(Ratings.from_wide(renamed)).value, fleiss_kappa(Ratings.from_wide(units)).value)


@given(tables(numbers), st.lists(numbers, max_size=5))
@pytest.mark.parametrize("level", LEVELS)
def test_single_ratings_change_nothing(level: str, units: Table, singles: list[int]) -> None:
    width = len(units[0])
    more = [*units, *([value] + [None] * (width - 1) for value in singles)]
    before, after = krippendorff_alpha(units, level, 0.95), krippendorff_alpha(more, level, 0.95)
    close(after.value, before.value)
    close(after.low, before.low)
    close(after.high, before.high)


@given(tables(numbers), st.floats(-1e6, 1e6), st.floats(1e-3, 1e3))
def test_interval_alpha_under_shift_and_scale(units: Table, shift: float, scale: float) -> None:
    moved = [[None if v is None else v * scale + shift for v in row] for row in units]
    expected = krippendorff_alpha(units, "interval").value
    found = krippendorff_alpha(moved, "interval").value
    assert (found is None) == (expected is None)
    if found is not None:
        assert found == pytest.approx(expected, abs=1e-4)


@given(tables(numbers), st.floats(1e-3, 1e3))
def test_ratio_alpha_under_scale(units: Table, scale: float) -> None:
    scaled = [[None if v is None else v * scale for v in row] for row in units]
    close(krippendorff_alpha(scaled, "ratio").value, krippendorff_alpha(units, "ratio").value)


@given(tables(letters), st.integers(2, 4))
def test_folding_is_counting(units: Table, times: int) -> None:
    """Units repeated fold to the same patterns with more weight, and both ways to fold agree."""
    once, often = (fold(Ratings.from_wide(rows), drawn=False) for rows in (units, units * times))
    assert np.array_equal(once.weights * times, often.weights)
    assert np.array_equal(once.dense(once.n), often.dense(often.n))
    for unit, place in zip(units, once.index.tolist(), strict=True):
        counts = {v: unit.count(v) for v in unit if v is not None}
        if place < 0:
            assert not counts
            continue
        own = once.row == place
        shown = {Ratings.from_wide(units).codebook.categories[c] for c in once.col[own].tolist()}
        assert shown == set(counts)
        assert sorted(once.n[own].tolist()) == sorted(counts.values())


@given(st.lists(st.lists(st.integers(0, 60), min_size=1, max_size=4), min_size=1, max_size=30))
def test_many_values_fold_like_few(rows: list[list[int]]) -> None:
    """60 values do not fit one number per unit and are folded by sums: the same patterns as counted by hand."""
    units = [unit for unit, row in enumerate(rows) for _ in row]
    raters = [rater for row in rows for rater in range(len(row))]
    values = [value for row in rows for value in row]
    folded = fold(Ratings.from_codes(units, raters, values, categories=list(range(61))))
    by_hand: dict[tuple[int, ...], int] = {}
    for row in rows:
        key = tuple(sorted(row))
        by_hand[key] = by_hand.get(key, 0) + 1
    found = {
        tuple(np.repeat(folded.col[folded.row == g], folded.n[folded.row == g]).tolist()): int(folded.weights[g])
        for g in range(folded.n_patterns)
    }
    assert found == by_hand


def _statistic(units: Table, level: str, distance: str | None = None) -> AlphaStatistic:
    name = distance or level
    found = alpha_statistic(prepare(Ratings.from_wide(units), Level(level), name), name)
    assert isinstance(found, AlphaStatistic)
    return found


def _varied(units: Table, level: str, distance: str | None = None) -> AlphaStatistic:
    """The statistic of a drawn table, where alpha is defined for it."""
    statistic = _statistic(units, level, distance)
    assume(np.count_nonzero(statistic.patterns.marginals) > 1)
    return statistic


def _unfolded(patterns: Patterns, weights: list[int], values: list[Any]) -> Table:
    """A table with weights[g] units of pattern g."""
    rows = []
    for g, weight in enumerate(weights):
        own = patterns.row == g
        row = np.repeat(patterns.col[own], patterns.n[own]).tolist()
        rows += [[values[code] for code in row]] * weight
    width = max(map(len, rows), default=0)
    return [row + [None] * (width - len(row)) for row in rows]


@given(tables(numbers, most_units=8), st.data())
@pytest.mark.parametrize("level", LEVELS)
def test_a_resample_is_the_alpha_of_its_table(level: str, units: Table, data: st.DataObject) -> None:
    """Each bootstrap replicate by pattern weights equals alpha computed afresh on those units, expectation included."""
    statistic = _varied(units, level)
    g = statistic.patterns.n_patterns
    weights = data.draw(st.lists(st.lists(st.integers(0, 4), min_size=g, max_size=g), min_size=1, max_size=4))
    values = sorted({v for row in units for v in row if v is not None})
    found = statistic.evaluate(np.array(weights, dtype=np.float64))
    for one, value in zip(weights, found.tolist(), strict=True):
        afresh = krippendorff_alpha(_unfolded(statistic.patterns, one, values), level).value if any(one) else None
        close(None if math.isnan(value) else value, afresh)


@given(tables(sets, most_units=8), st.data())
def test_a_resample_of_sets_is_the_alpha_of_its_table(units: Table, data: st.DataObject) -> None:
    statistic = _varied(units, "nominal", "masi")
    g = statistic.patterns.n_patterns
    weights = data.draw(st.lists(st.integers(0, 4), min_size=g, max_size=g))
    found = float(statistic.evaluate(np.array([weights], dtype=np.float64))[0])
    values = list(Ratings.from_wide(units).codebook.categories)
    afresh = (
        krippendorff_alpha(_unfolded(statistic.patterns, weights, values), distance="masi").value
        if any(weights)
        else None
    )
    close(None if math.isnan(found) else found, afresh)


@given(tables(numbers, most_units=8))
@pytest.mark.parametrize("level", LEVELS)
def test_jackknife_leaves_out_one_unit_at_a_time(level: str, units: Table) -> None:
    statistic = _varied(units, level)
    values, times = jackknife(statistic)
    by_pattern = np.repeat(values, times.astype(int)).tolist()
    paired = [row for row in units if sum(v is not None for v in row) > 1]
    by_hand = [krippendorff_alpha(paired[:i] + paired[i + 1 :], level).value for i in range(len(paired))]
    ours = sorted(-9.0 if math.isnan(v) else round(v, 9) + 0.0 for v in by_pattern)
    theirs = sorted(-9.0 if v is None else round(v, 9) + 0.0 for v in by_hand)
    assert ours == pytest.approx(theirs, abs=2e-9)


@given(tables(letters, most_units=10))
def test_fleiss_of_pattern_weights_is_that_of_the_table(units: Table) -> None:
    patterns = fold(Ratings.from_wide(units))
    assume(patterns.pairable.n_units)
    close(value_of(ChanceStatistic(patterns, "fleiss", 4)), fleiss_kappa(Ratings.from_wide(units)).value)


def test_bootstrap_spread_is_that_of_redrawn_units() -> None:
    """The multinomial over patterns against redrawing the units one by one."""
    random = np.random.default_rng(4)
    truth = random.integers(0, 3, (120, 1))
    data = np.where(random.random((120, 3)) < 0.8, truth, random.integers(0, 3, (120, 3)))
    by_patterns = bootstrap(_statistic(data.tolist(), "nominal"), 2000, seed=1)
    by_units = np.array([krippendorff_alpha(data[random.integers(0, 120, 120)]).value for _ in range(600)], dtype=float)
    assert by_patterns.mean() == pytest.approx(by_units.mean(), abs=0.01)
    assert by_patterns.std() == pytest.approx(by_units.std(), rel=0.15)


@given(tables(numbers))
@settings(max_examples=40)
@pytest.mark.parametrize("level", LEVELS)
def test_an_interval_holds_its_value_and_repeats(level: str, units: Table) -> None:
    found = krippendorff_alpha(units, level, 0.95)
    if found.interval is not None and found.value is not None:
        assert -1 <= found.interval.low <= found.value <= found.interval.high <= 1
        assert found == krippendorff_alpha(units, level, 0.95)
        again = interval_of(_statistic(units, level), found.value, 0.5)
        assert again is not None
        assert again.high - again.low <= found.interval.high - found.interval.low + 1e-12


@given(st.lists(sets, min_size=1, max_size=8, unique=True))
@pytest.mark.parametrize("distance", ["masi", "jaccard"])
def test_set_distances_by_matrix_and_by_pair(distance: str, members: list[tuple[str, ...]]) -> None:
    matrix = COMPARISONS[distance].matrix(members)
    a, b = (axis.ravel() for axis in np.indices(matrix.shape))
    assert matrix.ravel() == pytest.approx(COMPARISONS[distance].pairs(members, a, b), abs=1e-12)
    assert np.all(np.diag(matrix) == 0)
    assert np.array_equal(matrix, matrix.T)
    if distance == "masi":
        assert matrix.ravel().tolist() == pytest.approx(
            [masi(members[i], members[j]) for i, j in zip(a.tolist(), b.tolist(), strict=True)], abs=1e-7
        )


@given(tables(st.sampled_from(["p", "q", "r"])), st.randoms(use_true_random=False))
def test_a_report_does_not_depend_on_the_order_of_rows(units: Table, random: Any) -> None:
    rows = [(f"u{u}", f"r{r}", v) for u, row in enumerate(units) for r, v in enumerate(row)]
    expected = assess(Ratings.from_long(*zip(*rows, strict=True)))
    random.shuffle(rows)
    found = assess(Ratings.from_long(*zip(*rows, strict=True)))
    assert found.to_json() == expected.to_json()
    for unit in expected.questions["value"].units.unit_ids:
        assert found.questions["value"].units[unit] == expected.questions["value"].units[unit]


@given(tables(letters))
def test_per_unit_results_by_hand(units: Table) -> None:
    results = assess(Ratings.from_wide(units), confidence=None).questions["value"].units
    for place, row in enumerate(units):
        given_ = [v for v in row if v is not None]
        found = results[place]
        assert found.n_ratings == len(given_)
        top = max((given_.count(v) for v in given_), default=0)
        tops = {v for v in given_ if given_.count(v) == top}
        assert found.majority == (tops.pop() if len(tops) == 1 else None)
        assert found.top_share == (round(top / len(given_), 4) if given_ else None)
        pairs = list(itertools.combinations(given_, 2))
        assert found.agreement == (round(sum(a == b for a, b in pairs) / len(pairs), 4) if pairs else None)
        if len(given_) < 2:
            assert found.status == ("single" if given_ else "unrated")
        elif len(set(given_)) == 1:
            assert found.status == "agreed"
        else:
            assert found.status == ("majority" if top / len(given_) >= 0.6 else "conflict")


@given(tables(sets))
def test_labels_of_sets_one_against_the_rest(units: Table) -> None:
    question = QuestionRatings(
        "labels", "choices", Ratings.from_wide(units), distance="masi", categories=("a", "b", "c")
    )
    findings = assess([question], confidence=None).questions["labels"].categories
    assert [one.category for one in findings] == ["a", "b", "c"]
    for one in findings:
        has = [[None if v is None else float(one.category in v) for v in row] for row in units]
        close(one.one_vs_rest, krippendorff_alpha(has).value)
        pool = [v for row in has for v in row if v is not None]
        assert one.share == pytest.approx(sum(pool) / len(pool) if pool else 0.0)
