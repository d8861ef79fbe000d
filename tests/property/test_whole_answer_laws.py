"""Laws of everything that compares whole answers: sets, rankings, texts, stretches, regions, relations, and what else a
kind registers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from connector import QuestionRatings, Ratings, assess
from connector.agreement.distances import COMPARISONS, Comparison
from connector.annotations.kinds import KINDS, LEVELS
from connector.annotations.model import Missing
from connector.annotations.rankings import ranking, settled, shown
from connector.annotations.relations import ARROW, BOTH, as_relations
from connector.annotations.text import as_text, text
from tests.property import test_region_laws, test_unitizing_laws

labels = st.frozensets(st.sampled_from("abcd"), max_size=4).map(lambda members: tuple(sorted(members)))
orders = st.dictionaries(st.sampled_from("pqrs"), st.integers(1, 3), min_size=1).map(lambda one: ranking(one.items()))
words = st.text("ab é\u0301 ", min_size=1).map(text).filter(lambda found: not isinstance(found, Missing))
regions = test_region_laws.answers()
ends = st.sampled_from([(f"1#{place}", f"place {place}") for place in range(1, 4)])
one_relation = st.tuples(ends, st.sampled_from(["in", "near", ""]), ends, st.sampled_from([ARROW, BOTH]))
relations = st.lists(one_relation, max_size=4).map(lambda found: as_relations(tuple(sorted(set(found)))))
ANSWERS: dict[str, st.SearchStrategy[Any]] = {
    "masi": labels,
    "jaccard": labels,
    "kendall": orders,
    "kendall_by_task": orders,
    "edit": words,
    "character": test_unitizing_laws.answers(),
    "iou_50": regions,
    "iou_50_95": regions,
    "masi_of_relations": relations,
    "jaccard_of_relations": relations,
}
NAMES = sorted(ANSWERS)
SAME_WITHOUT_BEING_EQUAL = {
    *("kendall", "kendall_by_task"),  # an item left out is as good as one put last
    "character",  # two marks side by side are as good as one over both
    *("iou_50", "iou_50_95"),  # two regions that overlap enough are one
}


def several(name: str, most: int = 6) -> st.SearchStrategy[list[Any]]:
    return st.lists(ANSWERS[name], min_size=1, max_size=most, unique=True)


def distances(comparison: Comparison, values: Sequence[Any]) -> Any:
    v = len(values)
    a, b = (axis.ravel() for axis in np.indices((v, v)))
    return comparison.pairs(values, a, b).reshape(v, v)


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_a_distance_is_nothing_for_equals_symmetric_and_within_its_range(name: str, data: st.DataObject) -> None:
    values = data.draw(several(name))
    comparison = COMPARISONS[name]
    found = distances(comparison, values)
    assert np.diag(found) == pytest.approx(0)
    assert found == pytest.approx(found.T)
    assert found.min() >= 0
    assert found.max() <= 1 + 1e-12
    if name not in SAME_WITHOUT_BEING_EQUAL:
        assert (found[~np.eye(len(values), dtype=bool)] > 0).all()
    assert comparison.matrix(values) == pytest.approx(found, abs=1e-6)


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_neither_names_nor_order_of_the_raters_matter(name: str, data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.lists(ANSWERS[name], min_size=3, max_size=3), min_size=1, max_size=6))
    order = data.draw(st.permutations(range(3)))
    turned = [[row[place] for place in order] for row in rows]

    def report(table: list[list[Any]], names: list[str]) -> Any:
        ratings = Ratings.from_wide(table, rater_ids=names)
        question = QuestionRatings("q", "x", ratings, distance=name)
        return assess(question, confidence=None, diagnose=False).questions["q"]

    one, other = report(rows, ["a", "b", "c"]), report(turned, ["x", "z", "y"])
    for coefficient, found in one.coefficients.items():
        same = other.coefficients[coefficient]
        assert (found.value, found.reason) == (pytest.approx(same.value), same.reason)
    assert [one.units[unit] for unit in range(len(rows))] == [other.units[unit] for unit in range(len(rows))]


@given(st.lists(orders, min_size=1, max_size=5), st.data())
def test_a_consensus_order_does_not_depend_on_the_order_of_the_answers(answers: list[Any], data: st.DataObject) -> None:
    comparison = COMPARISONS["kendall"]
    distinct = sorted(set(answers))
    times = [answers.count(one) for one in distinct]
    turned = data.draw(st.permutations(list(zip(distinct, times, strict=True))))
    found = comparison.consensus(distinct, times)
    assert found == comparison.consensus([one for one, _ in turned], [n for _, n in turned])
    if found is not None:
        assert found == ranking(found)


def tau_b(a: dict[str, float], b: dict[str, float]) -> float | None:
    """Kendall's definition, pair by pair; items left out are tied last."""
    items = sorted({*a, *b})
    order = [
        [np.sign(side.get(y, 99) - side.get(x, 99)) for x, y in itertools.combinations(items, 2)] for side in (a, b)
    ]
    strict = math.sqrt(sum(map(abs, order[0])) * sum(map(abs, order[1])))
    return sum(x * y for x, y in zip(*order, strict=True)) / strict if strict else None


@given(st.lists(st.lists(orders, min_size=2, max_size=4), min_size=1, max_size=6))
def test_tau_b_is_the_mean_over_tasks_of_the_mean_over_pairs_of_raters(units: list[list[Any]]) -> None:
    width = max(map(len, units))
    ratings = Ratings.from_wide([row + [None] * (width - len(row)) for row in units])
    by_hand = []
    for row in units:
        pairs = [tau_b(dict(one), dict(other)) for one, other in itertools.combinations(row, 2)]
        known = [one for one in pairs if one is not None]
        by_hand += [np.mean(known)] if known else []
    for distance in ("kendall", "kendall_by_task"):
        question = QuestionRatings("q", "ranking", ratings, distance=distance)
        found = assess(question, confidence=None, diagnose=False).questions["q"].coefficients["kendall_tau_b"]
        expected = pytest.approx(np.mean(by_hand), abs=1e-9) if by_hand else None
        assert (found.value, found.reason) == (expected, None if by_hand else "no_variation")


@given(st.dictionaries(st.text(min_size=1).filter(str.strip), st.integers(-5, 5), min_size=1))
def test_of_a_rankings_numbers_the_order_alone_counts(ranks: dict[str, int]) -> None:
    found = ranking(ranks.items())
    assert found == ranking((item, 3 * rank + 7) for item, rank in reversed(ranks.items()))
    assert isinstance(found, tuple)
    assert sorted({rank for _, rank in found}) == list(range(1, len(set(ranks.values())) + 1))
    assert shown(found).count(" > ") == sum(item.count(" > ") for item in ranks) + len(set(ranks.values())) - 1


@given(st.lists(st.tuples(st.integers(0, 3), orders), max_size=8))
def test_rankings_of_the_same_items_everywhere_are_comparable(answers: list[tuple[int, Any]]) -> None:
    from connector.annotations.model import Question

    units, values = [unit for unit, _ in answers], [value for _, value in answers]
    items: dict[int, set[str]] = {}
    for unit, value in answers:
        items.setdefault(unit, set()).update(item for item, _ in value)
    question, same = settled(Question("q", "ranking", distance="kendall"), units, values)
    shared = len({frozenset(one) for one in items.values()}) < 2
    assert (question.distance, question.required) == (("kendall", True) if shared else ("kendall_by_task", False))
    assert list(same) == values


@given(st.text())
def test_a_normalised_text_stays_as_it_is(raw: str) -> None:
    found = as_text(raw)
    if isinstance(found, str):
        assert as_text(found) == found
        assert found == found.strip()
        assert "  " not in found


def test_every_kinds_distances_are_known_and_obey_these_laws() -> None:
    of_kinds = {distance for kind in KINDS.values() for distance in kind.distances}
    assert of_kinds <= {*COMPARISONS, "nominal"}
    # a new distance needs answers to be drawn for it, in ANSWERS
    assert (of_kinds | set(COMPARISONS)) - set(LEVELS) == set(NAMES)


def test_no_kind_is_without_a_level_or_a_distance() -> None:
    # those without a distance of their own obey the laws of their level (test_statistics_laws)
    assert {kind.distance for kind in KINDS.values() if not kind.distances} <= set(LEVELS)
