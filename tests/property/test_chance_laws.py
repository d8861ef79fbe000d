"""The coefficients corrected for chance, intraclass correlations and distances against their definitions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from connector import QuestionRatings, Ratings, assess, krippendorff_alpha
from connector.agreement.alpha import alpha_statistic, prepare
from connector.agreement.distances import COMPARISONS
from connector.agreement.gwet import (
    ChanceStatistic,
    Scale,
    brennan_prediger,
    chance_statistic,
    conger_kappa,
    conger_statistic,
    declared_line,
    fleiss_kappa,
    gwet_ac1,
    gwet_ac2,
    quadratic_scale,
)
from connector.agreement.icc import NAMES, intraclass
from connector.agreement.intervals import Statistic
from connector.agreement.kappa import (
    PercentStatistic,
    cohen_kappa,
    cohen_statistic,
    pair_agreement,
    percent_agreement,
    scott_pi,
    weighted_statistic,
)
from connector.agreement.patterns import fold
from connector.agreement.ratings import Floats, Level

Table = list[list[Any]]


def tables(least_raters: int = 2, most_units: int = 10) -> st.SearchStrategy[Table]:
    cell = st.one_of(st.none(), st.integers(0, 4), st.integers(0, 2))
    return st.integers(least_raters, 4).flatmap(
        lambda width: st.lists(st.lists(cell, min_size=width, max_size=width), min_size=1, max_size=most_units)
    )


def complete(raters: int, units: int = 10, least: int = 1) -> st.SearchStrategy[Table]:
    row = st.lists(st.integers(0, 3), min_size=raters, max_size=raters)
    return st.lists(row, min_size=least, max_size=units)


def close(found: float | None, expected: float | None) -> None:
    assert (found is None) == (expected is None)
    if found is not None:
        assert found == pytest.approx(expected, abs=1e-9)


def similarity(values: list[int], weighted: bool) -> Callable[[int, int], float]:
    reach = max(values) - min(values)
    if not weighted:
        return lambda a, b: float(a == b)
    return lambda a, b: 1 - (a - b) ** 2 / reach**2 if reach else 1.0


def by_definition(units: Table, name: str, weighted: bool) -> float | None:
    """Gwet's formulas with a weight for every pair of categories, and loops over pairs of ratings."""
    rated = [[v for v in unit if v is not None] for unit in units]
    rated = [unit for unit in rated if unit]
    paired = [unit for unit in rated if len(unit) > 1]
    if not paired:
        return None
    values = sorted({v for unit in rated for v in unit})
    m = len(values)
    if m < 2:
        return None
    w = similarity(values, weighted)
    observed = float(np.mean([np.mean([w(a, b) for a, b in itertools.permutations(u, 2)]) for u in paired]))
    shares = {v: float(np.mean([u.count(v) / len(u) for u in rated])) for v in values}
    total = sum(w(a, b) for a in values for b in values)
    if name == "fleiss":
        expected = sum(w(a, b) * shares[a] * shares[b] for a in values for b in values)
    elif name == "brennan_prediger":
        expected = total / m**2
    elif name == "gwet":
        expected = total / (m * (m - 1)) * sum(p * (1 - p) for p in shares.values())
    else:
        columns = [[v for v in column if v is not None] for column in zip(*units, strict=True)]
        columns = [column for column in columns if column]
        own = [{v: column.count(v) / len(column) for v in values} for column in columns]
        if len(own) < 2:
            return None
        between = [
            sum(w(a, b) * p[a] * q[b] for a in values for b in values) for p, q in itertools.permutations(own, 2)
        ]
        expected = float(np.mean(between))
    return None if 1 - expected < 1e-12 else (observed - expected) / (1 - expected)


@given(tables())
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["fleiss", "brennan_prediger", "gwet", "conger"])
def test_the_family_is_its_definition(name: str, weighted: bool, units: Table) -> None:
    ratings = Ratings.from_wide(units)
    weights = "quadratic" if weighted else None
    found = {
        "fleiss": lambda: fleiss_kappa(ratings, weights=weights),
        "brennan_prediger": lambda: brennan_prediger(ratings, weights=weights),
        "gwet": lambda: gwet_ac2(ratings) if weighted else gwet_ac1(ratings),
        "conger": lambda: conger_kappa(ratings, weights=weights),
    }[name]()
    close(found.value, by_definition(units, name, weighted))


@given(tables(), st.randoms(use_true_random=False))
def test_order_of_units_and_raters(units: Table, random: Any) -> None:
    turned = [list(row) for row in units]
    random.shuffle(turned)
    columns = list(range(len(units[0])))
    random.shuffle(columns)
    turned = [[row[column] for column in columns] for row in turned]
    before, after = Ratings.from_wide(units), Ratings.from_wide(turned)
    for of in (fleiss_kappa, brennan_prediger, gwet_ac1, gwet_ac2, conger_kappa, scott_pi):
        close(of(after).value, of(before).value)
    for name in NAMES:
        close(intraclass(after)[name].value, intraclass(before)[name].value)


@given(complete(2))
def test_for_two_complete_raters_conger_is_cohen_and_fleiss_is_scott(units: Table) -> None:
    ratings = Ratings.from_wide(units)
    close(conger_kappa(ratings).value, cohen_kappa(ratings).value)
    close(fleiss_kappa(ratings).value, scott_pi(ratings).value)


@given(complete(2))
def test_brennan_prediger_is_pabak(units: Table) -> None:
    ratings = Ratings.from_wide(units, categories=[0, 1, 2, 3])
    share = percent_agreement(fold(ratings)).value
    assert share is not None
    close(brennan_prediger(ratings).value, (share - 1 / 4) / (1 - 1 / 4))


def test_declared_categories_count_for_m_and_so_do_undeclared_ones() -> None:
    rows = [["a", "a"], ["a", "b"]]
    assert brennan_prediger(Ratings.from_wide(rows)).value == pytest.approx((0.5 - 1 / 2) / (1 - 1 / 2))
    four = Ratings.from_wide(rows, categories=["a", "b", "c", "d"])
    assert brennan_prediger(four).value == pytest.approx((0.5 - 1 / 4) / (1 - 1 / 4))
    beside = Ratings.from_wide(rows, categories=["a"])
    assert brennan_prediger(beside).value == pytest.approx(0.0)


@given(tables())
def test_ragged_stands_beside_the_number(units: Table) -> None:
    sizes = {sum(v is not None for v in row) for row in units} - {0}
    for of in (fleiss_kappa, brennan_prediger, gwet_ac1, gwet_ac2):
        found = of(Ratings.from_wide(units))
        if found.value is not None:
            assert found.reason == ("ragged" if len(sizes) > 1 else None)


def _statistics(units: Table) -> dict[str, Statistic | str]:
    ratings = Ratings.from_wide(units)
    patterns = fold(ratings)
    found: dict[str, Statistic | str] = {}
    for level in Level:
        prepared = prepare(ratings, level, str(level.value))
        if np.count_nonzero(prepared.patterns.pairable.marginals) > 1:
            found[f"alpha {level}"] = alpha_statistic(prepared, str(level.value))
    line = declared_line(ratings)
    scale = Scale(int(np.count_nonzero(ratings.value_counts)))
    found["fleiss"] = chance_statistic(patterns, "fleiss", scale, weighted=False)
    found["gwet"] = chance_statistic(patterns, "gwet", scale, weighted=False)
    found["uniform"] = chance_statistic(patterns, "brennan_prediger", scale, weighted=False)
    if line is not None:
        placed = quadratic_scale(*line)
        found["fleiss quadratic"] = chance_statistic(fold(line[0]), "fleiss", placed, weighted=True)
        found["gwet quadratic"] = chance_statistic(fold(line[0]), "gwet", placed, weighted=True)
        found["conger quadratic"] = conger_statistic(line[0], placed.places)
    found["conger"] = conger_statistic(ratings)
    if patterns.pairable.n_units:
        found["percent"] = PercentStatistic(pair_agreement(patterns.pairable), patterns.pairable.weights)
    found["cohen"], found["scott"] = cohen_statistic(ratings), cohen_statistic(ratings, pooled=True)
    found["linear"], found["quadratic"] = (weighted_statistic(ratings, weights) for weights in ("linear", "quadratic"))
    return found


@given(st.one_of(tables(), complete(2), complete(3)))
def test_influence_is_the_slope_of_the_coefficient(units: Table) -> None:
    """Leaving out a trace of a unit, by differences; alpha's is that of 1 - n D / P, without its factor (n - 1) / n."""
    for name, statistic in _statistics(units).items():
        if isinstance(statistic, str):
            continue
        weights = statistic.weights.astype(np.float64)
        value = float(statistic.evaluate(weights[None, :])[0])
        influence = statistic.influence()
        if math.isnan(value) or influence is None:
            continue
        n_units = float(weights.sum())
        assert float(influence @ weights) == pytest.approx(0, abs=1e-8 * n_units)

        def evaluate(rows: Floats, of: Statistic = statistic, alpha: bool = name.startswith("alpha")) -> Floats:
            values = of.evaluate(rows)
            if not alpha:
                return values
            ratings = rows @ of.patterns.size  # type: ignore[attr-defined]
            whole: Floats = 1 - (1 - values) * ratings / (ratings - 1)
            return whole

        trace = 1e-5 * np.eye(len(weights))
        slope = (evaluate(weights + trace) - evaluate(weights - trace)) / 2e-5
        assert influence == pytest.approx(slope * n_units, rel=1e-4, abs=1e-4 * n_units), name


@given(tables(), st.data())
def test_a_resample_of_conger_is_that_of_its_table(units: Table, data: st.DataObject) -> None:
    statistic = conger_statistic(Ratings.from_wide(units))
    assume(not isinstance(statistic, str))
    assert not isinstance(statistic, str)
    g, width = statistic.patterns.n_patterns, statistic.n_raters
    weights = data.draw(st.lists(st.integers(0, 3), min_size=g, max_size=g).filter(any))
    rows: Table = []
    for pattern, times in enumerate(weights):
        row: list[Any] = [None] * width
        for cell in statistic.patterns.col[statistic.patterns.row == pattern].tolist():
            row[cell // statistic.n_values] = cell % statistic.n_values
        rows += [row] * times
    found = float(statistic.evaluate(np.array([weights], dtype=np.float64))[0])
    afresh = conger_kappa(Ratings.from_wide(rows)).value
    close(None if math.isnan(found) else found, afresh)


@given(tables())
def test_what_is_added_before_resampling_is_one_unit(units: Table) -> None:
    for statistic in _statistics(units).values():
        if isinstance(statistic, str | PercentStatistic):
            continue
        for more, differs in ((statistic.with_conflict(), True), (statistic.with_agreement(), False)):
            assert more.weights.sum() == statistic.weights.sum() + 1
            assert more.weights[-1] == 1
            values = statistic.skew
            assert values is not None
            if values.outside:
                assert bool(more.disagreeing[-1]) == differs


def _shares_of_variance(x: Floats) -> dict[str, float]:
    """Shrout and Fleiss' six, from mean squares by subtraction of sums of squares."""
    n, k = x.shape
    correction = x.sum() ** 2 / (n * k)
    of_units = (x.sum(axis=1) ** 2).sum() / k - correction
    of_raters = (x.sum(axis=0) ** 2).sum() / n - correction
    total = (x * x).sum() - correction
    bms, wms = of_units / (n - 1), (total - of_units) / (n * (k - 1))
    jms, ems = of_raters / (k - 1), (total - of_units - of_raters) / ((n - 1) * (k - 1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return {
            "icc_1": (bms - wms) / (bms + (k - 1) * wms),
            "icc_2": (bms - ems) / (bms + (k - 1) * ems + k * (jms - ems) / n),
            "icc_3": (bms - ems) / (bms + (k - 1) * ems),
            "icc_1k": (bms - wms) / bms,
            "icc_2k": (bms - ems) / (bms + (jms - ems) / n),
            "icc_3k": (bms - ems) / bms,
        }


@given(complete(3, least=2), st.floats(0.01, 100), st.floats(-1000, 1000))
def test_intraclass_correlations_are_their_mean_squares(units: Table, scale: float, shift: float) -> None:
    x = np.array(units, dtype=np.float64)
    assume(x.mean(axis=1).std() > 0.05)
    found = intraclass(Ratings.from_wide(x), 0.9)
    for name, expected in _shares_of_variance(x).items():
        one = found[name]
        if one.value is None:
            assert one.reason == "no_variation"
            continue
        assert one.value == pytest.approx(expected, abs=1e-8)
        assert intraclass(Ratings.from_wide(x * scale + shift))[name].value == pytest.approx(one.value, abs=1e-5)
        if one.interval is not None:
            assert one.interval.low <= one.value <= one.interval.high


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([[1, 2], [2, None]], "ragged"),
        ([["good", "bad"], ["bad", "bad"]], "wrong_level"),
        ([[1, None], [2, None]], "no_pairable_units"),
        ([], "no_pairable_units"),
        ([[2, 2], [2, 2]], "no_variation"),
        ([[1, 2]], "no_variation"),
        ([[0.1, 0.1], [0.1, 0.1], [0.1, 0.1]], "no_variation"),
    ],
)
def test_intraclass_correlations_without_a_value(rows: Table, reason: str) -> None:
    assert {one.reason for one in intraclass(Ratings.from_wide(rows), 0.95).values()} == {reason}
    assert {one.value for one in intraclass(Ratings.from_wide(rows), 0.95).values()} == {None}


def test_squares_that_cancel_are_no_denominator() -> None:
    """Between-rater and residual squares cancel the units' exactly: (2k) has no value, in any order of the units."""
    for rows in itertools.permutations([[0, 1], [1, 0], [1, 1]]):
        found = intraclass(Ratings.from_wide(list(rows)), 0.95)["icc_2k"]
        assert (found.value, found.reason) == (None, "no_variation")


def test_perfect_raters_have_correlation_one_and_no_bounds() -> None:
    for one in intraclass(Ratings.from_wide([[1, 1], [2, 2], [5, 5]]), 0.95).values():
        assert one.value == pytest.approx(1.0)
        assert one.interval is None


rankings = st.dictionaries(st.sampled_from("pqrs"), st.integers(1, 3), max_size=4)


def kendall(a: dict[str, int], b: dict[str, int], items: list[str]) -> float:
    """Pair by pair: opposite order 1, tied in one alone a half; items left out are tied last."""
    pairs = list(itertools.combinations(items, 2))
    apart = 0.0
    for one, other in pairs:
        x, y = (
            (ranking.get(one, 99) > ranking.get(other, 99)) - (ranking.get(one, 99) < ranking.get(other, 99))
            for ranking in (a, b)
        )
        apart += 1.0 if x * y < 0 else 0.5 if (x == 0) != (y == 0) else 0.0
    return apart / len(pairs) if pairs else 0.0


@given(st.lists(rankings, min_size=1, max_size=6))
def test_kendall_distance_is_its_definition(answers: list[dict[str, int]]) -> None:
    values = [tuple(sorted(one.items())) for one in answers]
    items = sorted({item for one in answers for item in one})
    matrix = COMPARISONS["kendall"].matrix(values)
    a, b = (axis.ravel() for axis in np.indices(matrix.shape))
    by_hand = [kendall(answers[i], answers[j], items) for i, j in zip(a.tolist(), b.tolist(), strict=True)]
    assert matrix.ravel() == pytest.approx(by_hand, abs=1e-12)
    assert COMPARISONS["kendall"].pairs(values, a, b) == pytest.approx(by_hand, abs=1e-12)


def levenshtein(a: str, b: str) -> int:
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row, last = [i], row
        for j, y in enumerate(b, 1):
            row.append(min(last[j] + 1, row[-1] + 1, last[j - 1] + (x != y)))
    return row[-1]


@given(st.lists(st.text("abé ", min_size=1, max_size=6), min_size=1, max_size=6))
def test_edit_distance_is_its_definition(texts: list[str]) -> None:
    matrix = COMPARISONS["edit"].matrix(texts)
    a, b = (axis.ravel() for axis in np.indices(matrix.shape))
    by_hand = [levenshtein(x, y) / max(len(x), len(y)) for x in texts for y in texts]
    assert matrix.ravel() == pytest.approx(by_hand, abs=1e-12)
    assert COMPARISONS["edit"].pairs(texts, a, b) == pytest.approx(by_hand, abs=1e-12)


def _alpha(units: Table, d2: Callable[[Any, Any], float]) -> float | None:
    paired = [[v for v in unit if v is not None] for unit in units]
    paired = [unit for unit in paired if len(unit) > 1]
    pool = [v for unit in paired for v in unit]
    observed = sum(sum(d2(a, b) for a, b in itertools.permutations(u, 2)) / (len(u) - 1) for u in paired)
    expected = sum(d2(a, b) for a, b in itertools.permutations(pool, 2))
    return None if expected == 0 else 1 - (len(pool) - 1) * observed / expected


full = st.permutations("pqr").map(lambda order: {item: place for place, item in enumerate(order, 1)})


@given(st.lists(st.lists(st.one_of(st.none(), full), min_size=3, max_size=3), min_size=1, max_size=8))
def test_alpha_of_rankings_and_its_report(units: Table) -> None:
    found = krippendorff_alpha(units, distance="kendall")
    close(found.value, _alpha(units, lambda a, b: kendall(a, b, ["p", "q", "r"])))
    question = QuestionRatings("order", "ranking", Ratings.from_wide(units), distance="kendall")
    report = assess(question).questions["order"]
    close(report.alpha.value, found.value)
    for place, row in enumerate(units):
        given_ = [one for one in row if one is not None]
        pairs = [1 - kendall(a, b, ["p", "q", "r"]) for a, b in itertools.combinations(given_, 2)]
        agreement = report.units[place].agreement
        assert agreement == (pytest.approx(np.mean(pairs), abs=0.0051) if pairs else None)


texts = st.one_of(st.none(), st.sampled_from(["cat", "cats", "dog", "the dog"]))


@given(st.lists(st.lists(texts, min_size=3, max_size=3), min_size=1, max_size=8))
def test_alpha_of_texts(units: Table) -> None:
    found = krippendorff_alpha(units, distance="edit")
    close(found.value, _alpha(units, lambda a, b: levenshtein(a, b) / max(len(a), len(b))))


def test_a_distance_that_does_not_fit_the_values_says_so() -> None:
    assert krippendorff_alpha([["a", "b"], ["a", "a"]], distance="kendall").reason == "wrong_level"
    assert krippendorff_alpha([[["a"], ["b"]], [["a"], ["a"]]], distance="kendall").reason == "wrong_level"
    twice = (("a", 1), ("a", 2))
    assert krippendorff_alpha([[twice, (("a", 1),)]], distance="kendall").reason == "wrong_level"
    assert krippendorff_alpha([[1, 2], [1, 1]], distance="edit").reason == "wrong_level"


def test_many_distinct_texts_are_estimated_with_their_error() -> None:
    random = np.random.default_rng(5)
    texts = ["".join(random.choice(list("abcdefgh"), 8)) for _ in range(2_600)]
    few = [[texts[i], texts[i] if i % 2 else texts[i + 1]] for i in range(1_900)]
    many = few + [[texts[i], texts[i]] for i in range(1_901, 2_599)]
    exact, sampled = (krippendorff_alpha(rows, distance="edit") for rows in (few[:900], many))
    assert exact.expected_error is None
    assert sampled.expected_error is not None
    values = sorted({text for row in many for text in row})
    assert len(values) > 2_000
    pool = [text for row in many for text in row]
    code = {value: place for place, value in enumerate(values)}
    counts = np.bincount([code[text] for text in pool], minlength=len(values)).astype(float)
    whole = float(counts @ COMPARISONS["edit"].matrix(values) @ counts) / (len(pool) * (len(pool) - 1))
    assert sampled.expected == pytest.approx(whole, rel=0.005)


def test_agreement_alone_gives_no_statistic() -> None:
    assert isinstance(chance_statistic(fold(Ratings.from_wide([["a", "a"]])), "fleiss", Scale(1), weighted=False), str)
    assert isinstance(
        chance_statistic(fold(Ratings.from_wide([["a", "b"]])), "fleiss", Scale(2), weighted=False), ChanceStatistic
    )
