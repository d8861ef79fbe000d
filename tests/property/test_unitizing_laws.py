"""Agreement of spans against its definitions position by position, and laws that hold for every set of documents."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from connector.agreement.continua import Documents, Marks
from connector.agreement.intervals import jackknife
from connector.agreement.patterns import Patterns, fold
from connector.agreement.ratings import Ratings
from connector.agreement.spans import CHARACTER
from connector.agreement.unitizing import (
    ContinuumAlpha,
    SpanF1,
    Unitizing,
    case_of,
    consensus,
    distances,
    lengths_apart,
)

Answer = tuple[int, tuple[tuple[int, int, tuple[str, ...]], ...]]
Document = list[Answer]
LENGTH = 18


def answers(length: int = LENGTH) -> st.SearchStrategy[Answer]:
    edges = st.tuples(st.integers(0, length), st.integers(0, length)).filter(lambda pair: pair[0] != pair[1])
    labels = st.frozensets(st.sampled_from("AB"), max_size=2).map(lambda found: tuple(sorted(found)))
    mark = st.tuples(edges, labels).map(lambda one: (min(one[0]), max(one[0]), one[1]))
    return st.lists(mark, max_size=4).map(lambda marks: (length, tuple(sorted(set(marks)))))


def corpora(fewest: int = 1) -> st.SearchStrategy[list[Document]]:
    document = st.integers(1, LENGTH).flatmap(lambda length: st.lists(answers(length), min_size=fewest, max_size=4))
    return st.lists(document, min_size=1, max_size=4)


def patterns_of(corpus: list[Document]) -> tuple[Patterns, list[Answer]]:
    values = sorted({answer for document in corpus for answer in document}, key=repr)
    code = {value: place for place, value in enumerate(values)}
    cells = [
        (unit, rater, code[answer]) for unit, document in enumerate(corpus) for rater, answer in enumerate(document)
    ]
    units, raters, codes = zip(*cells, strict=True)
    ratings = Ratings.from_codes(units, raters, codes, n_units=len(corpus), categories=values)
    return fold(ratings).pairable, values


def measured(corpus: list[Document]) -> Unitizing:
    patterns, values = patterns_of(corpus)
    return Unitizing(Documents(patterns, Marks.of(values)))


def at_positions(answer: Answer, length: int) -> list[frozenset[str]]:
    """The labels at each position, "" for marked without one."""
    found = []
    for place in range(length):
        here = {label for start, end, labels in answer[1] if start <= place < end for label in labels or ("",)}
        found.append(frozenset(here - {""} or here))
    return found


def units_of(answer: Answer, length: int) -> list[tuple[int, int, frozenset[str]]]:
    """The rater's units, cut where any of his marks begins or ends."""
    edges = sorted({edge for start, end, _ in answer[1] for edge in (start, end)})
    values = at_positions(answer, length)
    return [(start, end, values[start]) for start, end in itertools.pairwise(edges) if values[start]]


def rows_of(answer: Answer) -> set[tuple[int, int, str]]:
    return {(start, end, label) for start, end, labels in answer[1] for label in labels or ("",)}


class Defined(NamedTuple):
    """What the definitions give, by counting positions."""

    coincidences: defaultdict[tuple[frozenset[str], frozenset[str]], float]
    of_value: defaultdict[frozenset[str], float]
    inside: defaultdict[frozenset[str], float]
    n: float
    own: float
    own_inside: defaultdict[frozenset[str], float]


def by_definition(corpus: list[Document]) -> Defined:
    found = Defined(defaultdict(float), defaultdict(float), defaultdict(float), 0.0, 0.0, defaultdict(float))
    n = own = 0.0
    for document in (one for one in corpus if len(one) > 1):
        m, length = len(document), document[0][0]
        values = [at_positions(answer, length) for answer in document]
        n += m * length
        for (i, one), (j, other) in itertools.permutations(enumerate(values), 2):
            assert i != j
            for c, k in zip(one, other, strict=True):
                found.coincidences[c, k] += 1 / (m - 1)
                found.of_value[c] += 1 / (m - 1)
                if c and k:
                    found.inside[c] += 1 / (m - 1)
        for i, answer in enumerate(document):
            own += sum(not value for value in values[i])
            for start, end, value in units_of(answer, length):
                own += (end - start) ** 2
                others = [values[j][place] for j in range(m) if j != i for place in range(start, end)]
                found.own_inside[value] += (sum(map(bool, others)) / (m - 1)) ** 2
    return found._replace(n=n, own=own)


def alpha(n: float, d: float, p: float, own: float) -> float | None:
    return None if n == 0 or p <= 1e-9 else 1 - (n - own / n) * d / p


def family(found: Defined) -> dict[str, float | None]:
    blank: frozenset[str] = frozenset()
    values = list(found.of_value)
    apart = found.n - sum(found.coincidences[c, c] for c in values)
    p = found.n**2 - sum(times**2 for times in found.of_value.values())
    empty = found.of_value[blank]
    inside = sum(found.inside.values())
    alike = sum(found.coincidences[c, c] for c in values if c)
    return {
        "by_character": alpha(found.n, apart, p, found.n),
        "unitized": alpha(found.n, apart, p, found.own),
        "marked": alpha(
            found.n, 2 * (empty - found.coincidences[blank, blank]), 2 * empty * (found.n - empty), found.own
        ),
        "coding": alpha(
            inside,
            inside - alike,
            inside**2 - sum(times**2 for times in found.inside.values()),
            sum(found.own_inside.values()),
        ),
    }


@settings(max_examples=80, deadline=None)
@given(corpora())
def test_the_unitized_family_is_what_counting_positions_gives(corpus: list[Document]) -> None:
    found = measured(corpus)
    for name, expected in family(by_definition(corpus)).items():
        assert case_of(getattr(found, name)).found.value == pytest.approx(expected, abs=1e-9), name


@settings(max_examples=40, deadline=None)
@given(corpora())
def test_each_label_against_the_rest_is_what_counting_positions_gives(corpus: list[Document]) -> None:
    assume(any(len(document) > 1 for document in corpus))
    defined = by_definition(corpus)
    inside = sum(defined.inside.values())
    for one in measured(corpus).labels:
        has = [value for value in defined.of_value if one.label in value]
        n_k, alike = sum(defined.of_value[c] for c in has), sum(defined.coincidences[c, k] for c in has for k in has)
        expected = alpha(defined.n, 2 * (n_k - alike), 2 * n_k * (defined.n - n_k), defined.n)
        assert one.one_vs_rest == pytest.approx(expected, abs=1e-9)
        assert one.share == pytest.approx(n_k / defined.n)
        # at a position with m raters n (n - 1) / (m - 1) coincide, of n (m - 1) / (m - 1) that could
        in_k, own_k = sum(defined.inside[c] for c in has), sum(defined.own_inside[c] for c in has)
        if in_k > 1e-9 and inside - in_k > 1e-9:
            coding = 1 - (in_k * inside - own_k) / in_k * (in_k - alike) / (in_k * (inside - in_k))
            assert one.coding == pytest.approx(coding, abs=1e-9)
        else:
            assert one.coding is None


@settings(max_examples=40, deadline=None)
@given(corpora())
def test_f1_is_what_comparing_every_two_raters_gives(corpus: list[Document]) -> None:
    exact = partial = marks = 0
    for document in corpus:
        for one, other in itertools.permutations(map(rows_of, document), 2):
            marks += len(one)
            exact += len(one & other)
            partial += sum(any(s < e2 and s2 < e and k == k2 for s2, e2, k2 in other) for s, e, k in one)
    found = measured(corpus)
    expected = [part / marks if marks else None for part in (exact, partial)]
    assert [case_of(one).found.value for one in (found.exact, found.partial)] == pytest.approx(expected)


@settings(max_examples=40, deadline=None)
@given(corpora())
def test_confusions_count_positions_for_each_pair_of_raters(corpus: list[Document]) -> None:
    expected: Counter[frozenset[frozenset[str]]] = Counter()
    for document in corpus:
        values = [at_positions(answer, document[0][0]) for answer in document]
        for one, other in itertools.combinations(values, 2):
            expected.update(frozenset((c, k)) for c, k in zip(one, other, strict=True) if c != k)
    found = {frozenset((frozenset(a), frozenset(b))): length for a, b, length in measured(corpus).pairs()}
    assert found == dict(expected)


@settings(max_examples=80, deadline=None)
@given(answers(), answers())
def test_a_distance_is_one_minus_f1_over_positions_and_labels(one: Answer, other: Answer) -> None:
    cells = [
        {(place, label) for start, end, labels in answer[1] for place in range(start, end) for label in labels or ("",)}
        for answer in (one, other)
    ]
    size = len(cells[0]) + len(cells[1])
    expected = 1 - 2 * len(cells[0] & cells[1]) / size if size else 0.0
    there, back, self_distance = distances(Marks.of([one, other]), np.array([0, 1, 0]), np.array([1, 0, 0])).tolist()
    assert there == back == pytest.approx(expected)
    assert self_distance == 0
    assert 0 <= there <= 1
    values = [at_positions(answer, LENGTH) for answer in (one, other)]
    apart = sum(c != k for c, k in zip(*values, strict=True))
    assert lengths_apart(Marks.of([one, other]), np.array([0]), np.array([1]))[0] == apart


@settings(max_examples=40, deadline=None)
@given(st.lists(answers(), min_size=2, max_size=4), st.data())
def test_the_consensus_is_what_at_least_half_marked(document: Document, data: st.DataObject) -> None:
    times = [data.draw(st.integers(1, 2)) for _ in document]
    marked: Counter[tuple[int, str]] = Counter()
    for answer, n in zip(document, times, strict=True):
        for cell in {(p, label) for s, e, labels in answer[1] for p in range(s, e) for label in labels or ("",)}:
            marked[cell] += n
    length, marks = consensus(document, times)
    found = {(p, label) for s, e, labels in marks for p in range(s, e) for label in labels or ("",)}
    wanted = {cell for cell, n in marked.items() if 2 * n >= sum(times)}
    # of labelled and unlabelled marks with the same edges the label alone is kept
    assert length == LENGTH
    assert {cell for cell in found if cell[1]} == {cell for cell in wanted if cell[1]}
    assert found <= wanted


def values_of(found: Unitizing) -> list[float | None]:
    statistics = (found.by_character, found.unitized, found.marked, found.coding, found.exact, found.partial)
    return [case_of(one).found.value for one in statistics]


@settings(max_examples=40, deadline=None)
@given(corpora(), st.randoms(use_true_random=False))
def test_neither_the_order_of_raters_nor_that_of_documents_changes_anything(
    corpus: list[Document], random: Any
) -> None:
    moved = [random.sample(document, len(document)) for document in corpus]
    random.shuffle(moved)
    assert values_of(measured(moved)) == pytest.approx(values_of(measured(corpus)))


@settings(max_examples=40, deadline=None)
@given(corpora(), st.sampled_from([0.001, 0.25, 1000.0]))
def test_on_a_time_line_the_unit_of_time_changes_nothing(corpus: list[Document], unit: float) -> None:
    def scaled(by: float) -> Unitizing:
        lines: Any = [
            [(n * by, tuple((s * by, e * by, labels) for s, e, labels in marks)) for n, marks in document]
            for document in corpus
        ]
        return measured(lines)

    assert values_of(scaled(unit)) == pytest.approx(values_of(scaled(1.0)), abs=1e-7)


@settings(max_examples=40, deadline=None)
@given(answers(), st.integers(2, 4))
def test_raters_who_mark_alike_agree_wholly(answer: Answer, raters: int) -> None:
    again = (answer[0], tuple(reversed(answer[1])))
    assert CHARACTER.pairs([answer, again], np.array([0]), np.array([1])).tolist() == [0.0]
    found = measured([[answer] * raters, [(LENGTH, ())] * raters])
    for value in values_of(found):
        assert value is None or value == pytest.approx(1.0, abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(corpora(fewest=2))
def test_one_who_leaves_everything_blank_lowers_agreement_where_the_others_marked_alike(corpus: list[Document]) -> None:
    alike = [[document[0], document[0]] for document in corpus]
    assume(any(answer[1] for document in alike for answer in document))
    lower = measured([[*document, (document[0][0], ())] for document in alike])
    found = case_of(lower.by_character).found.value
    assert found is None or found < 1
    before = case_of(measured(alike).by_character).found.value
    assert before is None or (found is not None and found < before)


@settings(max_examples=40, deadline=None)
@given(corpora())
def test_what_the_diagnosis_takes_apart_adds_up(corpus: list[Document]) -> None:
    statistic = measured(corpus).by_character
    assume(statistic.found.value is not None)
    assert 1 - statistic.weights @ statistic.cost == pytest.approx(statistic.found.value)
    patterns = statistic.patterns
    first, second = patterns.entry_pairs
    pairs = 2 * patterns.n[first] * patterns.n[second] * statistic.apart(patterns.col[first], patterns.col[second])
    by_pairs = np.bincount(patterns.row[first], pairs, patterns.n_patterns) / (patterns.size - 1)
    assert by_pairs == pytest.approx(statistic.cost)


@settings(max_examples=40, deadline=None)
@given(corpora(), corpora())
def test_other_patterns_of_the_same_answers_are_measured_as_if_anew(
    corpus: list[Document], others: list[Document]
) -> None:
    patterns, values = patterns_of([*corpus, *others])
    marks = Marks.of(values)
    some = np.arange(0, patterns.n_patterns, 2)
    keep = np.isin(patterns.row, some)
    place = np.cumsum(np.isin(np.arange(patterns.n_patterns), some)) - 1
    part = Patterns(
        place[patterns.row[keep]],
        patterns.col[keep],
        patterns.n[keep],
        patterns.size[some],
        patterns.weights[some],
        patterns.n_values,
        patterns.index,
    )
    there = Unitizing(Documents(part, marks)).by_character
    moved, anew = there.on(patterns), Unitizing(Documents(patterns, marks)).by_character
    for one, other in ((moved.n, anew.n), (moved.d, anew.d), (moved.own, anew.own), (moved.marks, anew.marks)):
        assert one == pytest.approx(other)
    weights = np.array([patterns.weights, np.arange(patterns.n_patterns)], dtype=np.float64)
    assert moved.evaluate(weights) == pytest.approx(anew.evaluate(weights), nan_ok=True)


def every_alpha(found: Unitizing) -> list[ContinuumAlpha]:
    return [found.by_character, found.unitized, found.marked, found.coding]


@settings(max_examples=40, deadline=None)
@given(corpora(fewest=2))
def test_leaving_one_out_in_closed_form_is_leaving_it_out(corpus: list[Document]) -> None:
    for statistic in every_alpha(measured(corpus)):
        exact, _ = jackknife(statistic)
        assert statistic.without_one() == pytest.approx(exact, nan_ok=True, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(corpora(fewest=2))
def test_the_influence_of_a_document_is_what_a_trace_more_of_it_changes(corpus: list[Document]) -> None:
    found = measured(corpus)
    step = 1e-6
    statistics: list[ContinuumAlpha | SpanF1] = [*every_alpha(found), found.exact, found.partial]
    for statistic in statistics:
        if case_of(statistic).found.value is None:
            continue
        weights = statistic.weights.astype(np.float64)
        n, influence = weights.sum(), statistic.influence()
        moved = (1 - step) * weights + step * n * np.eye(len(weights))
        changes = (statistic.evaluate(moved) - statistic.evaluate(weights[None, :])) / step
        assert influence == pytest.approx(changes, abs=1e-2, rel=1e-3)
        assert math.isclose(influence @ weights, 0, abs_tol=1e-6 * n)
