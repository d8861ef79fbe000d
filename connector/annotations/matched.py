"""Regions that the raters of a task marked, brought together: which regions of different raters are one.

Regions can be one where every two of them overlap by half (`agreement.overlaps`), whatever their labels; those that
overlap most come together first, and no rater is in one matched region twice. The order of annotations, of results and
of raters' names decides nothing: ties go by labels that are equal, then by place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from connector.agreement.matching import clusters
from connector.agreement.overlaps import overlaps
from connector.agreement.ratings import Ints
from connector.annotations.model import Region
from connector.annotations.order import natural_key
from connector.annotations.relations import place_text
from connector.annotations.settled import CODE, Settled

UNMATCHED = -1


class MatchedRegions:
    """The regions of a source by task.

    Parameters
    ----------
    marked : M different pairs of an annotation and a region that it holds. settled : which annotations count.

    Attributes
    ----------
    of : (M,) which matched region each is; UNMATCHED for one of an annotation that does not count which is none of
        those that others marked. lot_of : the same by pair, without the unmatched ones. task : of each matched region;
        sorted. place : its number in its task, from 1. mark : the one of its regions that most raters marked.
    """

    def __init__(self, marked: Collection[tuple[int, Region]], settled: Settled) -> None:
        rows: Ints = np.array([row for row, _ in marked], dtype=np.int64)
        regions = [region for _, region in marked]
        counted = settled.counted[rows]
        beside = ~counted & settled.alive[rows] & (settled.reason[rows] == CODE["repeat"])
        gold = settled.gold_rows()
        beside |= ~counted & np.isin(rows, np.array(gold, dtype=np.int64))
        # one rater's earlier work is another's, as far as matching goes
        rater = np.where(counted, settled.rater[rows], len(settled.rater_ids) + rows)
        used = np.flatnonzero(counted | beside)
        task = settled.unit[rows[used]]
        code, distinct = _in_order(task, [regions[place] for place in used.tolist()])
        i, j, order = _edges(code, task, rater[used], [regions[place] for place in used.tolist()], distinct)
        lots = _lots(code, rater[used], counted[used], i, j, order, len(distinct))
        self._name(used, code, lots, counted[used], distinct, len(rows))
        self.lot_of = {one: lot for one, lot in zip(marked, self.of.tolist(), strict=True) if lot != UNMATCHED}

    def ids(self, unit_ids: Sequence[str]) -> list[str]:
        """The name of every matched region, given those of the tasks."""
        return [
            f"{unit_ids[task]}#{place}" for task, place in zip(self.task.tolist(), self.place.tolist(), strict=True)
        ]

    def names(self, unit_ids: Sequence[str]) -> list[tuple[str, str]]:
        """The name of every matched region and its place for people."""
        return list(zip(self.ids(unit_ids), self._places, strict=True))

    @cached_property
    def _places(self) -> list[str]:
        return [place_text(mark) for mark in self.mark]

    def _name(
        self, used: Ints, code: Ints, lots: Ints, counted: Any, distinct: Sequence[tuple[int, Region]], n: int
    ) -> None:
        first, lot = np.unique(lots[code[counted]], return_inverse=True)
        self.task: Ints = np.array([distinct[one][0] for one in first.tolist()], dtype=np.int64)
        start = np.searchsorted(self.task, self.task)
        self.place: Ints = np.arange(len(first)) - start + 1
        # one region of a lot stands for it: that of most raters, of those the first
        times = np.bincount(code[counted], minlength=len(distinct))
        best = np.lexsort((code[counted], -times[code[counted]], lot))
        stands = code[counted][best[np.searchsorted(lot[best], np.arange(len(first)))]]
        self.mark = [distinct[one][1] for one in stands.tolist()]
        self.of: Ints = np.full(n, UNMATCHED, dtype=np.int64)
        place = np.searchsorted(first, lots[code])
        known = place < len(first)
        known[known] = first[place[known]] == lots[code][known]
        self.of[used[known]] = place[known]


def _in_order(task: Ints, regions: Sequence[Region]) -> tuple[Ints, list[tuple[int, Region]]]:
    """(M,) the code of each region in its task, and the regions by code: by task, object, frame and geometry."""
    names = {on: natural_key(on) for on in {region.on for region in regions}}
    members: dict[int, dict[Region, list[int]]] = {}
    for n, (of, region) in enumerate(zip(task.tolist(), regions, strict=True)):
        members.setdefault(of, {}).setdefault(region, []).append(n)
    codes = np.empty(len(regions), dtype=np.int64)
    distinct: list[tuple[int, Region]] = []
    for of in sorted(members):
        known = members[of]
        for region in sorted(known, key=lambda one: (names[one.on], [_place(part) for part in one.parts])):
            codes[known[region]] = len(distinct)
            distinct.append((of, region))
    return codes, distinct


def _place(part: tuple[Any, ...]) -> tuple[Any, ...]:
    if len(part) == 3:
        start, end, labels = part
        return 0, start, end, labels
    shape, geometry, labels, frame = part
    return 1, frame, shape, geometry, labels


def _edges(
    code: Ints, task: Ints, rater: Ints, regions: Sequence[Region], distinct: Sequence[tuple[int, Region]]
) -> tuple[Ints, Ints, Sequence[Any]]:
    """Pairs of distinct regions that may be one, each once, and what they are sorted by."""
    found = overlaps(task, rater, regions)
    i, j = np.minimum(code[found.i], code[found.j]), np.maximum(code[found.i], code[found.j])
    _, place = np.unique(i * max(len(distinct), 1) + j, return_index=True)
    i, j, alike = i[place], j[place], found.alike[place]
    kept = i != j
    i, j, alike = i[kept], j[kept], alike[kept]
    labels = [tuple(part[-1] if len(part) == 3 else part[2] for part in region.parts) for _, region in distinct]
    differ = np.array([labels[a] != labels[b] for a, b in zip(i.tolist(), j.tolist(), strict=True)], dtype=np.bool_)
    return i, j, (-alike, differ, i, j)


def _lots(code: Ints, rater: Ints, counted: Any, i: Ints, j: Ints, order: Sequence[Any], n: int) -> Ints:
    """(n,) the lot of every distinct region: those of annotations that count first, then what others come to lie on."""
    marks = np.zeros(n, dtype=np.bool_)
    marks[code[counted]] = True
    among = np.flatnonzero(marks[i] & marks[j])
    lots = clusters(i[among], j[among], [key[among] for key in order], code[counted], rater[counted], n)
    if marks.all():
        return lots
    taken = {(int(lots[one]), by) for one, by in zip(code.tolist(), rater.tolist(), strict=True) if marks[one]}
    raters: dict[int, set[int]] = {}
    for one, by in zip(code.tolist(), rater.tolist(), strict=True):
        raters.setdefault(one, set()).add(by)
    size = np.bincount(lots[marks], minlength=n)
    # (region, lot) : how many regions of the lot it overlaps
    near = Counter(
        (one, int(lots[other]))
        for one, other in chain(zip(i.tolist(), j.tolist(), strict=True), zip(j.tolist(), i.tolist(), strict=True))
        if marks[other] and not marks[one]
    )
    for edge in np.lexsort(list(reversed(order))).tolist():
        ends = (int(i[edge]), int(j[edge]))
        for one, other in (ends, ends[::-1]):
            lot = int(lots[other])
            if marks[one] or not marks[other] or lots[one] != one or near[one, lot] < size[lot]:
                continue
            if not taken & {(lot, by) for by in raters[one]}:
                lots[one] = lot
                taken |= {(lot, by) for by in raters[one]}
    return lots
