"""Regions of images against their definitions box by box, and laws that hold for every set of images."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from connector.agreement.alpha import krippendorff_alpha, prepare
from connector.agreement.ratings import Level, Ratings
from connector.agreement.regions import IOU_50, IOU_50_95, Regions
from connector.annotations.kinds import KINDS
from connector.annotations.regions import MOST_FRAMES, compared_frames

Region = tuple[str, tuple[float, ...], tuple[str, ...], int]
Answer = tuple[Region, ...]
SIDE = 12
DISTANCES = pytest.mark.parametrize("distance", [IOU_50, IOU_50_95], ids=lambda one: one.name)


def rectangles() -> st.SearchStrategy[Region]:
    corner, side = st.integers(0, SIDE - 4), st.integers(1, 4)
    labels = st.frozensets(st.sampled_from("AB"), max_size=2).map(lambda found: tuple(sorted(found)))
    return st.builds(
        lambda x, y, w, h, labels, frame: ("rectangle", (float(x), float(y), float(w), float(h), 0.0), labels, frame),
        *(corner, corner, side, side, labels, st.integers(0, 1)),
    )


def shapes() -> st.SearchStrategy[Region]:
    number, turn = st.integers(1, SIDE).map(float), st.sampled_from([0.0, 10.0, 45.0, 100.0])
    sides = st.tuples(number, number, number, number, turn)
    triangle = st.tuples(number, number).map(lambda at: (at[0], at[1], at[0] + 5, at[1] + 1, at[0] + 2, at[1] + 6))
    runs = st.tuples(st.integers(0, 8), st.integers(1, 8)).map(lambda at: (4, 4, at[0], at[1], 16 - sum(at)))
    geometries = st.one_of(
        st.tuples(st.sampled_from(["rectangle", "ellipse"]), sides),
        st.tuples(st.just("polygon"), triangle),
        st.tuples(st.just("keypoint"), st.tuples(number, number, st.just(1.0))),
        st.tuples(st.just("brush"), runs),
        st.tuples(st.just("line"), st.tuples(number, number, number, number, st.just(1.0))),
    )
    labels = st.sampled_from([(), ("A",), ("B",)])
    return st.tuples(geometries, labels).map(lambda one: (*one[0], one[1], 0))


def answers(region: st.SearchStrategy[Region] | None = None, most: int = 4) -> st.SearchStrategy[Answer]:
    return st.lists(rectangles() if region is None else region, max_size=most).map(
        lambda found: tuple(sorted(set(found)))
    )


def images(fewest: int = 2) -> st.SearchStrategy[list[list[Answer]]]:
    return st.lists(st.lists(answers(), min_size=fewest, max_size=3), min_size=1, max_size=4)


def ratings_of(units: Sequence[Sequence[Answer]], order: Sequence[int] = (0, 1, 2)) -> Ratings:
    cells = [(unit, order[rater], answer) for unit, given in enumerate(units) for rater, answer in enumerate(given)]
    return Ratings.from_long(*zip(*cells, strict=True))


def apart(one: Answer, other: Answer, distance: Regions = IOU_50) -> float:
    return float(distance.pairs([one, other], np.array([0]), np.array([1]))[0])


def overlap(one: Region, other: Region) -> float:
    (x, y, width, height, _), (x2, y2, width2, height2, _) = one[1], other[1]
    across = max(0.0, min(x + width, x2 + width2) - max(x, x2))
    common = across * max(0.0, min(y + height, y2 + height2) - max(y, y2))
    return common / (width * height + width2 * height2 - common)


def most_matches(edges: Sequence[tuple[Any, Any]]) -> int:
    """The size of the largest matching, every way tried."""
    if not edges:
        return 0
    (i, j), *others = edges
    with_it = [edge for edge in others if edge[0] != i and edge[1] != j]
    return max(1 + most_matches(with_it), most_matches(others))


def by_hand(one: Answer, other: Answer, floor: float) -> float:
    """1 - F1 straight from its definition."""
    mine, theirs = ([(region, label) for region in answer for label in region[2] or ("",)] for answer in (one, other))
    if not mine and not theirs:
        return 0.0
    edges = [
        (a, b)
        for a, b in itertools.product(mine, theirs)
        if (a[1], a[0][3]) == (b[1], b[0][3]) and overlap(a[0], b[0]) >= floor - 1e-9
    ]
    return 1 - 2 * most_matches(edges) / (len(mine) + len(theirs))


@given(answers(), answers())
def test_the_distance_is_one_minus_f1_of_the_best_matching(one: Answer, other: Answer) -> None:
    assert apart(one, other) == pytest.approx(by_hand(one, other, 0.5))
    floors = [0.5 + 0.05 * step for step in range(10)]
    assert apart(one, other, IOU_50_95) == pytest.approx(np.mean([by_hand(one, other, floor) for floor in floors]))


@given(st.lists(answers(shapes()), min_size=2, max_size=4))
@DISTANCES
def test_a_distance_is_nothing_for_equals_symmetric_and_in_range(distance: Regions, values: list[Answer]) -> None:
    matrix = distance.matrix(values)
    assert matrix == pytest.approx(matrix.T)
    assert matrix.min() >= 0
    assert matrix.max() <= 1
    for i, j in itertools.product(range(len(values)), repeat=2):
        assert matrix[i, j] == 0 or values[i] != values[j]


@given(answers(shapes(), most=5).filter(len))
def test_shapes_of_every_kind_match_themselves(answer: Answer) -> None:
    moved = tuple((*region[:2], region[2] or ("C",), 0) for region in answer)
    again = tuple((shape, tuple(geometry), labels, frame) for shape, geometry, labels, frame in moved)
    other = (*again, ("rectangle", (500.0, 500.0, 1.0, 1.0, 0.0), ("A",), 0))
    n = sum(len(region[2]) for region in again)
    assert apart(again, other) == pytest.approx(1 - 2 * n / (2 * n + 1))


@given(images(), st.permutations([0, 1, 2]))
@settings(deadline=None)
def test_the_order_of_raters_and_of_images_changes_nothing(units: list[list[Answer]], order: list[int]) -> None:
    one, other = ratings_of(units), ratings_of(units[::-1], order)
    for distance in KINDS["regions"].distances[:2]:
        found, again = (krippendorff_alpha(ratings, distance=distance) for ratings in (one, other))
        assert found.value == pytest.approx(again.value)
    companions, others = (
        {name: case.found.value for name, case in IOU_50.companions(prepare(ratings, Level.NOMINAL, "iou_50")).items()}
        for ratings in (one, other)
    )
    assert companions == pytest.approx(others, nan_ok=True) if None not in companions.values() else True


@given(st.lists(answers(), min_size=1, max_size=3))
def test_the_consensus_of_equal_answers_is_that_answer(values: list[Answer]) -> None:
    for answer in values:
        assert IOU_50.consensus([answer, ()], [3, 1]) == answer
        assert IOU_50.consensus([answer, ()], [1, 3]) == ()


@given(st.lists(answers(), min_size=2, max_size=4), st.randoms(use_true_random=False))
def test_the_consensus_does_not_depend_on_the_order_of_the_answers(values: list[Answer], random: Any) -> None:
    distinct = list(dict.fromkeys(values))
    shuffled = random.sample(distinct, len(distinct))
    ones = [1] * len(distinct)
    assert IOU_50.consensus(distinct, ones) == IOU_50.consensus(shuffled, ones)


@given(st.lists(st.tuples(st.integers(0, 3_000), st.integers(1, 1_500)), min_size=1, max_size=4))
@example([(1, MOST_FRAMES)])
@example([(1, MOST_FRAMES + 1)])
@example([(1, MOST_FRAMES // 2), (900, MOST_FRAMES // 2)])
@example([(1, 2 * MOST_FRAMES)])
@example([(1, 2 * MOST_FRAMES + 1)])
def test_as_few_frames_are_left_out_as_must_be(stretches: list[tuple[int, int]]) -> None:
    """stretches : the frames without marks before each, and its own."""
    ends = itertools.accumulate(gap + length for gap, length in stretches)
    marked = [(end - length, end - 1) for end, (_, length) in zip(ends, stretches, strict=True)]
    frames = sorted({frame for first, last in marked for frame in range(first, last + 1)})
    found, sampled = compared_frames(marked)
    step = next(step for step in itertools.count(1) if len(frames[::step]) <= MOST_FRAMES)
    assert found == frames[::step]
    assert sampled == (len(frames) > MOST_FRAMES)


@given(images())
@settings(deadline=None)
def test_what_is_found_by_label_adds_up(units: list[list[Answer]]) -> None:
    prepared = prepare(ratings_of(units), Level.NOMINAL, "iou_50")
    findings = IOU_50.findings(prepared, ("A", "B"), None, 1)
    given = [label for unit in units for answer in unit for region in answer for label in region[2] or ("",)]
    for one in findings:
        assert one.share == pytest.approx(given.count(one.category) / len(given) if given else 0.0)
    if len(units) > 1 and set(given) == {"A"}:
        alone = krippendorff_alpha(ratings_of(units), distance="iou_50").value
        assert findings[0].one_vs_rest == pytest.approx(alone)
