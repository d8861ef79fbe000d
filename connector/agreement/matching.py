"""Regions of two answers matched one to one: as many as can be, and of all such matchings the one with most overlap;
and regions of any number of raters brought together, those most alike first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from connector.agreement.ratings import Floats, Ints
from connector.agreement.shapes import Edges


def matched(edges: Edges) -> NDArray[np.bool_]:
    """(E,) which of the edges belong to the matching of their pair of answers.

    Most regions overlap one other at most; an assignment is solved for the rest alone.
    """
    chosen: NDArray[np.bool_] = (_degree(edges.k, edges.mine) == 1) & (_degree(edges.k, edges.theirs) == 1)
    contested = np.flatnonzero(~chosen)
    if len(contested):
        contested = contested[np.argsort(edges.k[contested], kind="stable")]
        cuts = np.flatnonzero(np.diff(edges.k[contested])) + 1
        for part in np.split(contested, cuts):
            chosen[part[_assigned(edges.take(part))]] = True
    return chosen


def _degree(k: Ints, row: Ints) -> Ints:
    """(E,) edges of the same pair that have the same row."""
    if not len(k):
        return np.zeros(0, dtype=np.int64)
    _, place, times = np.unique(k * (int(row.max()) + 1) + row, return_inverse=True, return_counts=True)
    degree: Ints = times[place]
    return degree


def _assigned(edges: Edges) -> Ints:
    """Places of the best matching among the edges of one pair of answers."""
    from scipy.optimize import linear_sum_assignment

    mine, row = np.unique(edges.mine, return_inverse=True)
    theirs, col = np.unique(edges.theirs, return_inverse=True)
    # all the overlap together weighs less than one match more
    gain = np.zeros((len(mine), len(theirs)))
    gain[row, col] = 1 + edges.alike / (len(mine) + 1)
    place = np.full(gain.shape, -1, dtype=np.int64)
    place[row, col] = np.arange(len(row))
    found: Ints = place[linear_sum_assignment(gain, maximize=True)]
    return found[found >= 0]


def clusters(i: Ints, j: Ints, order: Sequence[Floats | Ints], region: Ints, rater: Ints, n: int) -> Ints:
    """(n,) which regions are one: that of the smallest number in each lot.

    Edge by edge, the lots of its two regions become one unless a rater would be in it twice, or two regions of it have
    no edge between them (complete linkage: a chain of regions is not one region).

    i, j : (E,) edges, each once. order : what the edges are sorted by, each (E,), the first before the others; no two
        edges may be equal in all of it, else who comes first would matter.
    region, rater : (H,) which regions were marked by whom.
    """
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    if not len(i):
        return np.arange(n)
    links = coo_matrix((np.ones(len(i), dtype=np.bool_), (i, j)), shape=(n, n))
    together = connected_components(links, directed=False)[1]
    held = together[region] * (int(rater.max(initial=0)) + 1) + rater
    _, place, times = np.unique(held, return_inverse=True, return_counts=True)
    # where nobody is twice in all that hangs together, and all of it is linked, no edge can be refused
    size = np.bincount(together)
    contested = 2 * np.bincount(together[i], minlength=len(size)) < size * (size - 1)
    contested[together[region[times[place] > 1]]] = True
    first = np.full(n, n, dtype=np.int64)
    np.minimum.at(first, together, np.arange(n))
    found: Ints = first[together]
    alone = contested[together]
    if alone.any():
        found[alone] = np.flatnonzero(alone)
        raters: dict[int, set[int]] = {}
        marked = alone[region]
        for one, by in zip(region[marked].tolist(), rater[marked].tolist(), strict=True):
            raters.setdefault(one, set()).add(by)
        edges = np.flatnonzero(alone[i])
        _join(found, raters, i[edges], j[edges], np.lexsort([key[edges] for key in reversed(order)]))
    return found


def _join(found: Ints, raters: dict[int, set[int]], i: Ints, j: Ints, order: Ints) -> None:
    lots = {one: [one] for one in raters}
    # edges between every two lots
    links: dict[int, dict[int, int]] = {one: {} for one in raters}
    for a, b in zip(i.tolist(), j.tolist(), strict=True):
        links[a][b] = links[b][a] = 1
    for a, b in zip(i[order].tolist(), j[order].tolist(), strict=True):
        one, other = sorted((int(found[a]), int(found[b])))
        if one == other or links[one][other] < len(lots[one]) * len(lots[other]):
            continue
        if raters[one].isdisjoint(raters[other]):
            raters[one] |= raters.pop(other)
            moved = lots.pop(other)
            found[moved] = one
            lots[one] += moved
            del links[one][other]
            for third, n in links.pop(other).items():
                if third != one:
                    del links[third][other]
                    links[one][third] = links[third][one] = links[one].get(third, 0) + n
