"""Matched regions against their definition, pair by pair, and that no order or name decides anything."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from connector.agreement.overlaps import overlaps
from connector.annotations.collect import Collector
from connector.annotations.model import Annotation, Answer, PerRegion, Question, Region, Unit

Marked = tuple[int, int, Region]
"""Task, rater, region."""


def spans() -> st.SearchStrategy[Region]:
    """Of one range, or of two with a gap between them."""

    def region(on: str, edges: list[int], labels: tuple[str, ...]) -> Region:
        ends = sorted(edges)
        return Region(on, tuple((*ends[place : place + 2], labels) for place in range(0, len(ends) - 1, 2)))

    edges = st.lists(st.integers(0, 12), min_size=2, max_size=4, unique=True)
    return st.builds(region, st.sampled_from(["one", "two"]), edges, st.sampled_from([(), ("A",), ("B",)]))


def boxes() -> st.SearchStrategy[Region]:
    part = st.builds(
        lambda x, y, w, h, labels, frame: ("rectangle", (float(x), float(y), float(w), float(h), 0.0), labels, frame),
        *(st.integers(0, 4), st.integers(0, 4), st.integers(1, 4), st.integers(1, 4)),
        *(st.sampled_from([(), ("A",)]), st.integers(0, 1)),
    )
    return part.map(lambda part: Region("one", (part,)))


def tracks() -> st.SearchStrategy[Region]:
    def track(first: int, n: int, x: int) -> Region:
        box = (float(x), 0.0, 4.0, 4.0, 0.0)
        return Region("one", tuple(("rectangle", box, (), first + frame) for frame in range(n)))

    return st.builds(track, st.integers(0, 5), st.integers(1, 5), st.integers(0, 2))


def marked(region: st.SearchStrategy[Region] | None = None) -> st.SearchStrategy[list[Marked]]:
    one = st.tuples(st.integers(0, 1), st.integers(0, 3), spans() | boxes() | tracks() if region is None else region)
    return st.lists(one, max_size=14, unique=True)


def alike(one: Region, other: Region) -> Fraction:
    """How alike two regions are, frame by frame."""
    if one.on != other.on or len(one.parts[0]) != len(other.parts[0]):
        return Fraction(0)
    if len(one.parts[0]) == 3:
        common = sum(max(0, min(b, d) - max(a, c)) for a, b, _ in one.parts for c, d, _ in other.parts)
        return Fraction(common, sum(end - start for start, end, _ in (*one.parts, *other.parts)) - common)
    total = Fraction(0)
    for _, (x, y, w, h, _), _, frame in one.parts:
        for _, (x2, y2, w2, h2, _), _, frame2 in other.parts:
            across, down = min(x + w, x2 + w2) - max(x, x2), min(y + h, y2 + h2) - max(y, y2)
            common = Fraction(max(across, 0.0) * max(down, 0.0))
            part = common / (Fraction(w * h + w2 * h2) - common)
            total += part if frame == frame2 and part >= Fraction(1, 2) else 0
    return total / len({part[3] for part in (*one.parts, *other.parts)})


@settings(max_examples=200, deadline=None)
@given(marked())
def test_overlaps_are_those_of_every_two_regions(rows: list[Marked]) -> None:
    task, rater, regions = (list(column) for column in zip(*rows, strict=True)) if rows else ([], [], [])
    found = overlaps(np.array(task, dtype=np.int64), np.array(rater, dtype=np.int64), regions)
    expected = {}
    for i in range(len(rows)):
        for j in range(i + 1, len(rows)):
            value = alike(regions[i], regions[j])
            if task[i] == task[j] and rater[i] != rater[j] and value >= Fraction(1, 2):
                expected[i, j] = float(value)
    assert {
        pair: round(value, 9)
        for *pair_, value in zip(*(c.tolist() for c in found), strict=True)
        if (pair := tuple(pair_))
    } == {pair: round(value, 9) for pair, value in expected.items()}


def lots_by_definition(rows: Sequence[Marked]) -> set[frozenset[Marked]]:
    """The two most alike come together first, unless a rater would be in a lot twice or two regions of it not alike."""
    lots = [{row} for row in rows]

    def key(pair: tuple[Marked, Marked]) -> Any:
        (_, _, one), (_, _, other) = sorted(pair, key=lambda row: place(row[2]))
        return -alike(one, other), labels(one) != labels(other), place(one), place(other)

    pairs = [
        (one, other)
        for n, one in enumerate(rows)
        for other in rows[n + 1 :]
        if one[0] == other[0] and one[1] != other[1] and alike(one[2], other[2]) >= Fraction(1, 2)
    ]
    for one, other in sorted(pairs, key=key):
        first, second = (next(lot for lot in lots if row in lot) for row in (one, other))
        apart = {row[1] for row in first}.isdisjoint(row[1] for row in second)
        every_two = all(alike(a[2], b[2]) >= Fraction(1, 2) for a in first for b in second)
        if first is not second and apart and every_two:
            lots.remove(second)
            first |= second
    return {frozenset(lot) for lot in lots}


def labels(region: Region) -> Any:
    return [part[2] for part in region.parts]


def place(region: Region) -> Any:
    return region.on, [
        (0, *part) if len(part) == 3 else (1, part[3], part[0], part[1], part[2]) for part in region.parts
    ]


class Marks:
    """A schema whose only question asks of every region which of its rater's it is."""

    @property
    def questions(self) -> dict[str, Question]:
        return {"q": Question("q", "number")}

    def answers(self, annotation: Annotation, unit: Unit) -> dict[str, Answer]:
        return {"q": PerRegion({region: float(number) for number, region in annotation.result})}


def lots_of(rows: Sequence[Marked], shuffle: random.Random, names: Sequence[str]) -> dict[str, frozenset[Marked]]:
    numbered = list(enumerate(rows))
    shuffle.shuffle(numbered)
    units = []
    for task in {row[0] for row in rows}:
        made = []
        for rater in shuffle.sample(range(4), 4):
            own = [(number, row[2]) for number, row in numbered if row[:2] == (task, rater)]
            made.append(Annotation(f"{task}{rater}", names[rater], own))
        units.append(Unit(str(task), made))
    shuffle.shuffle(units)
    collector = Collector(Marks())
    for unit in units:
        collector.add(unit)
    ratings = collector.table().questions["q"].ratings
    found: dict[str, set[Marked]] = {}
    for unit, code in zip(ratings.units.tolist(), ratings.values.tolist(), strict=True):
        found.setdefault(ratings.unit_ids[unit], set()).add(rows[int(ratings.codebook.categories[code])])
    return {unit: frozenset(lot) for unit, lot in found.items()}


@settings(max_examples=200, deadline=None)
@given(marked(), st.randoms(use_true_random=False))
def test_the_most_alike_come_together_first(rows: list[Marked], shuffle: random.Random) -> None:
    found = lots_of(rows, shuffle, ["a", "b", "c", "d"])
    assert set(found.values()) == lots_by_definition(rows)
    assert lots_of(rows, shuffle, ["3", "1", "2", "0"]) == found


def row_of_boxes() -> st.SearchStrategy[list[Marked]]:
    """Chains: each box of a rater of its own, shifted by a few places from those beside it."""

    def one(rater: int, x: int) -> Marked:
        return 0, rater, Region("one", (("rectangle", (float(x), 0.0, 9.0, 9.0, 0.0), (), 0),))

    return st.lists(st.builds(one, st.integers(0, 3), st.integers(0, 14)), max_size=10, unique=True)


@settings(max_examples=200, deadline=None)
@given(row_of_boxes(), st.randoms(use_true_random=False))
def test_every_two_regions_of_one_overlap_by_half(rows: list[Marked], shuffle: random.Random) -> None:
    found = lots_of(rows, shuffle, ["a", "b", "c", "d"])
    assert set(found.values()) == lots_by_definition(rows)
    assert all(alike(a[2], b[2]) >= Fraction(1, 2) for lot in found.values() for a in lot for b in lot)


def test_a_chain_is_not_one_region() -> None:
    """Boxes at 0, 3, 6, 9 of width 9: neighbours overlap by half (6 of 12), the next but one by a fifth (3 of 15)."""
    chain = [(0, n, Region("one", (("rectangle", (3.0 * n, 0.0, 9.0, 9.0, 0.0), (), 0),))) for n in range(4)]
    found = lots_of(chain, random.Random(1), ["a", "b", "c", "d"])
    assert sorted(sorted(row[1] for row in lot) for lot in found.values()) == [[0, 1], [2, 3]]


@settings(max_examples=100, deadline=None)
@given(marked(spans()), st.randoms(use_true_random=False))
def test_nobody_is_in_a_region_twice_and_every_region_is_in_one(rows: list[Marked], shuffle: random.Random) -> None:
    found = lots_of(rows, shuffle, ["a", "b", "c", "d"])
    assert sorted(row for lot in found.values() for row in lot) == sorted(rows)
    for lot in found.values():
        assert len({row[1] for row in lot}) == len(lot)
        assert len({(row[0], row[2].on) for row in lot}) == 1
