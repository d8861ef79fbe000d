"""The diagnosis against brute force: leaving out, resolving, leaning, costs, and a plain Dawid and Skene."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from connector import QuestionRatings, Ratings, assess, krippendorff_alpha
from connector.agreement.alpha import alpha_statistic, prepare
from connector.agreement.dawid_skene import dawid_skene
from connector.agreement.diagnosis import Diagnosis, category_findings
from connector.agreement.influence import Influence
from connector.agreement.patterns import fold
from connector.agreement.ratings import Level
from connector.agreement.rows import fold_rows

Table = list[list[Any]]
LEVELS = ["nominal", "ordinal", "interval", "ratio"]


def tables(values: st.SearchStrategy[Any], most_units: int = 10, most_raters: int = 5) -> st.SearchStrategy[Table]:
    cell = st.one_of(st.none(), values, values)
    return st.integers(2, most_raters).flatmap(
        lambda width: st.lists(st.lists(cell, min_size=width, max_size=width), min_size=1, max_size=most_units)
    )


numbers = st.integers(0, 4)
letters = st.sampled_from("abcd")
sets = st.frozensets(st.sampled_from("abc"), max_size=3).map(lambda members: tuple(sorted(members)))


def diagnosis(units: Table, level: str = "nominal", distance: str | None = None, **given: Any) -> Diagnosis:
    question = QuestionRatings("q", "choice", Ratings.from_wide(units), level, distance, **given)
    found = assess(question, confidence=None).questions["q"].diagnosis
    assert found is not None
    return found


def alpha_of(units: Any, level: str = "nominal", distance: str | None = None) -> float | None:
    return krippendorff_alpha(units, level, distance=distance).value if len(units) else None


def close(found: float | None, expected: float | None) -> None:
    assert (found is None) == (expected is None)
    if found is not None:
        assert found == pytest.approx(expected, abs=1e-9)


def influence_of(units: Table, level: str, distance: str | None = None) -> tuple[Influence, list[int]]:
    name = distance or level
    prepared = prepare(Ratings.from_wide(units), Level(level), name)
    assume(np.count_nonzero(prepared.patterns.pairable.marginals) > 1)
    found = Influence.of(alpha_statistic(prepared, name))
    assert found is not None
    keep = prepared.patterns.size >= 2
    place = np.append(np.where(keep, np.cumsum(keep) - 1, -1), -1)
    return found, place[prepared.patterns.index].tolist()


@given(tables(numbers))
@pytest.mark.parametrize("level", LEVELS)
def test_leaving_out_a_unit_in_closed_form_is_leaving_it_out(level: str, units: Table) -> None:
    influence, index = influence_of(units, level)
    for place, g in enumerate(index):
        if g >= 0:
            without = alpha_of(units[:place] + units[place + 1 :], level)
            change = float(influence.change[g])
            close(None if math.isnan(change) else influence.alpha + change, without)


@given(tables(sets, most_units=6))
def test_leaving_out_a_unit_of_sets(units: Table) -> None:
    influence, index = influence_of(units, "nominal", "masi")
    for place, g in enumerate(index):
        if g >= 0:
            change = float(influence.change[g])
            without = alpha_of(units[:place] + units[place + 1 :], distance="masi")
            close(None if math.isnan(change) else influence.alpha + change, without)


def test_leaving_out_a_unit_of_a_continuum_of_ordinal_values() -> None:
    """Too many values for the closed form: the listed units are computed anew."""
    random = np.random.default_rng(3)
    truth = random.random((3_000, 1))
    table = truth + random.normal(0, 0.3, (3_000, 3))
    found = diagnosis(table.tolist(), "ordinal")
    assert len(found.units_by_influence) == 100
    alpha = alpha_of(table, "ordinal")
    assert alpha is not None
    for one in found.units_by_influence[:3]:
        without = alpha_of(np.delete(table, one.unit, axis=0), "ordinal")
        assert without is not None
        assert one.influence == pytest.approx(without - alpha, abs=1e-9)


@given(tables(numbers))
@pytest.mark.parametrize("level", LEVELS)
def test_leaving_out_a_rater_is_leaving_them_out(level: str, units: Table) -> None:
    found = diagnosis(units, level)
    alpha = alpha_of(units, level)
    present = {rater for row in units for rater, value in enumerate(row) if value is not None}
    assert {one.rater for one in found.raters} == present
    for one in found.raters:
        without = alpha_of([[v for r, v in enumerate(row) if r != one.rater] for row in units], level)
        if alpha is None:
            assert one.alpha_without is None
            continue
        close(one.alpha_without, without)
        close(one.change, None if without is None else without - alpha)


@given(tables(sets, most_units=6))
def test_leaving_out_a_rater_of_sets(units: Table) -> None:
    for one in diagnosis(units, distance="masi").raters:
        if alpha_of(units, distance="masi") is not None:
            close(
                one.alpha_without,
                alpha_of([[v for r, v in enumerate(row) if r != one.rater] for row in units], distance="masi"),
            )


@given(tables(numbers))
@pytest.mark.parametrize("level", LEVELS)
def test_costs_add_up_to_what_is_missing_from_one(level: str, units: Table) -> None:
    found = diagnosis(units, level)
    alpha = alpha_of(units, level)
    if alpha is None:
        assert found.way_to_threshold is None
        assert not found.units_by_disagreement
        return
    assert found.way_to_threshold is not None
    assert sum(one.cost for one in found.way_to_threshold.pairs) == pytest.approx(1 - alpha, abs=1e-9)
    assert sum(one.cost for one in found.units_by_disagreement) == pytest.approx(1 - alpha, abs=1e-9)
    assert sum(one.cost or 0.0 for one in found.raters) == pytest.approx(1 - alpha, abs=1e-9)


def resolved(units: Table, order: list[int], k: int, values: list[Any], *, ordered: bool) -> Table:
    """The units with the first k of the order resolved, by the rule of the docstring."""
    paired = [[v for v in row if v is not None] for row in units]
    use = {value: sum(row.count(value) for row in paired if len(row) > 1) for value in values}
    table = [list(row) for row in paired]
    for place in order[:k]:
        row = sorted(paired[place], key=values.index)
        top = max(row.count(v) for v in row)
        tied = [v for v in values if row.count(v) == top]
        if len(tied) == 1:
            chosen = tied[0]
        elif ordered:
            chosen = row[(len(row) - 1) // 2]
        else:
            chosen = max(tied, key=lambda v: (use[v], -values.index(v)))
        table[place] = [chosen] * len(row)
    width = max(map(len, table))
    return [row + [None] * (width - len(row)) for row in table]


@given(tables(numbers))
@pytest.mark.parametrize("level", LEVELS)
def test_the_way_is_alpha_of_the_resolved_table(level: str, units: Table) -> None:
    found = diagnosis(units, level).way_to_threshold
    if found is None:
        assert alpha_of(units, level) is None
        return
    influence, index = influence_of(units, level)
    cost = influence.cost.tolist()
    # units of one pattern are alike: any order among them gives the same table of counts
    places = [place for place, g in enumerate(index) if g >= 0 and influence.patterns.distinct[g] > 1]
    order = sorted(places, key=lambda place: (-cost[index[place]], index[place]))
    assert found.n_conflicts == len(order)
    values = sorted({v for row in units for v in row if v is not None})
    ties = len({round(c, 12) for c in cost}) < len(cost)
    for k, alpha in found.curve:
        if k in (0, len(order)) or not ties:
            close(alpha, alpha_of(resolved(units, order, k, values, ordered=level != "nominal"), level))
    last = found.curve[-1]
    assert last[0] == len(order)
    assert last[1] is None or last[1] == pytest.approx(1.0)


@given(tables(letters, most_units=30), st.floats(0.0, 1.0))
@settings(max_examples=50)
def test_the_fewest_conflicts_reach_the_threshold_and_one_less_does_not(units: Table, threshold: float) -> None:
    report = assess(QuestionRatings("q", "choice", Ratings.from_wide(units)), confidence=None, threshold=threshold)
    found = report.questions["q"].diagnosis
    assert found is not None
    way = found.way_to_threshold
    if way is None:
        return
    reached = {k: alpha is not None and alpha >= threshold - 1e-9 for k, alpha in way.curve}
    if way.needed is None:
        assert not any(reached.values())
        return
    assert reached[way.needed]
    assert all(not ok for k, ok in reached.items() if k < way.needed)
    assert way.alpha_then == dict(way.curve)[way.needed]


@given(tables(letters))
def test_pairs_of_raters_by_hand(units: Table) -> None:
    found = {(pair.a, pair.b): pair for pair in diagnosis(units).rater_pairs}
    for a, b in itertools.combinations(range(len(units[0])), 2):
        both = [(row[a], row[b]) for row in units if row[a] is not None and row[b] is not None]
        if not both:
            assert (a, b) not in found
            continue
        pair = found.pop((a, b))
        observed = sum(x == y for x, y in both) / len(both)
        expected = sum(sum(x == c for x, _ in both) * sum(y == c for _, y in both) / len(both) ** 2 for c in "abcd")
        assert pair.n == len(both)
        assert pair.agreement == pytest.approx(observed)
        close(pair.kappa, None if expected > 1 - 1e-12 else (observed - expected) / (1 - expected))
    assert not found


@given(tables(numbers))
def test_leaning_by_hand(units: Table) -> None:
    for one in diagnosis(units, "interval").raters:
        shared = [
            (row[one.rater], [v for r, v in enumerate(row) if r != one.rater and v is not None])
            for row in units
            if row[one.rater] is not None
        ]
        shared = [(own, others) for own, others in shared if others]
        if not shared:
            assert not one.leaning
            assert one.shift is None
            continue
        assert one.shift == pytest.approx(
            sum(own - sum(others) / len(others) for own, others in shared) / len(shared), abs=1e-12
        )
        by_category = {leaning.category: leaning for leaning in one.leaning}
        for c in range(5):
            own = sum(x == c for x, _ in shared) / len(shared)
            others = sum(o.count(c) / len(o) for _, o in shared) / len(shared)
            if own or others:
                assert by_category[c].own == pytest.approx(own)
                assert by_category[c].others == pytest.approx(others, abs=1e-12)
            else:
                assert c not in by_category


@given(tables(letters), st.randoms(use_true_random=False))
def test_order_of_rows_does_not_matter(units: Table, random: Any) -> None:
    rows = [(f"u{u}", f"r{r}", v) for u, row in enumerate(units) for r, v in enumerate(row)]
    gold = {f"u{u}": "a" for u in range(0, len(units), 2)}

    def found(given_rows: list[Any]) -> Any:
        ratings = Ratings.from_long(*zip(*given_rows, strict=True))
        return assess(QuestionRatings("q", "choice", ratings, gold=gold), confidence=None).to_json()

    expected = found(rows)
    random.shuffle(rows)
    assert found(rows) == expected


@given(tables(letters), st.integers(1, 3))
def test_rows_are_the_table(units: Table, times: int) -> None:
    rows = fold_rows(Ratings.from_wide(units * times))
    for unit, place in zip(units * times, rows.index.tolist(), strict=True):
        given_ = {r: v for r, v in enumerate(unit) if v is not None}
        if place < 0:
            assert not given_
            continue
        own = rows.row == place
        book = Ratings.from_wide(units).codebook.categories
        pairs = zip(rows.rater[own].tolist(), rows.value[own].tolist(), strict=True)
        assert {r: book[v] for r, v in pairs} == given_
    assert rows.weights.sum() == sum(any(v is not None for v in row) for row in units) * times


@given(tables(letters, most_units=8))
def test_intervals_of_categories_are_those_of_this_category_or_not(units: Table) -> None:
    ratings = Ratings.from_wide(units)
    for one in category_findings(fold(ratings), ratings.codebook.categories, 0.95):
        has = [[None if v is None else float(v == one.category) for v in row] for row in units]
        expected = krippendorff_alpha(has, confidence=0.95)
        close(one.one_vs_rest, expected.value)
        close(one.interval.low if one.interval else None, expected.low)
        close(one.interval.high if one.interval else None, expected.high)


def plain_dawid_skene(units: Table, iterations: int) -> tuple[list[list[float]], float]:
    """Dawid and Skene (1979) from its equations, loops and all."""
    classes = sorted({v for row in units for v in row if v is not None})
    rated = [row for row in units if any(v is not None for v in row)]
    raters = range(len(units[0]))
    chances = []
    for row in rated:
        given_ = [v for v in row if v is not None]
        chances.append([given_.count(c) / len(given_) for c in classes])
    likelihood = 0.0
    for _ in range(iterations):
        shares = [sum(t[c] for t in chances) / len(rated) for c in range(len(classes))]
        likelihood = 0.0
        new = []
        tables_: dict[tuple[int, int, Any], float] = {}
        for r in raters:
            for c in range(len(classes)):
                of = [(t[c], row[r]) for t, row in zip(chances, rated, strict=True) if row[r] is not None]
                total = sum(t for t, _ in of)
                for k in classes:
                    tables_[r, c, k] = sum(t for t, v in of if v == k) / total if total else 0.0
        for row in rated:
            joint = [
                shares[c] * math.prod(tables_[r, c, row[r]] for r in raters if row[r] is not None)
                for c in range(len(classes))
            ]
            likelihood += math.log(sum(joint))
            new.append([one / sum(joint) for one in joint])
        chances = new
    return chances, likelihood


@given(tables(letters, most_units=8))
@settings(max_examples=60)
def test_dawid_skene_is_that_of_its_equations(units: Table) -> None:
    ratings = Ratings.from_wide(units)
    if not ratings.n_ratings:
        with pytest.raises(ValueError, match="no rating"):
            dawid_skene(ratings)
        return
    found = dawid_skene(ratings)
    chances, likelihood = plain_dawid_skene(units, found.iterations)
    assert found.log_likelihood == pytest.approx(likelihood, abs=1e-6)
    rated = [place for place, row in enumerate(units) if any(v is not None for v in row)]
    for place, expected in zip(rated, chances, strict=True):
        assert found.probabilities[place].tolist() == pytest.approx(expected, abs=1e-6)
    for place, (label, tied) in enumerate(zip(found.labels, found.tied, strict=True)):
        if place not in rated:
            assert (label, tied) == (None, False)
            continue
        chance = found.probabilities[place]
        tops = [c for c, p in zip(found.classes, chance.tolist(), strict=True) if p >= max(chance) - 1e-9]
        assert label == (tops[0] if len(tops) == 1 else None)
        assert tied == (len(tops) > 1)
