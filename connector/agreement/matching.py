"""Regions of two answers matched one to one: as many as can be, and of all such matchings the one with most overlap."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from connector.agreement.ratings import Ints
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
