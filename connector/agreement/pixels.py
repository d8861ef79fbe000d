"""Masks as runs of pixels, and outlines laid on the grid of a mask.

Pixels are numbered as one reads, row by row from the top left corner. A pixel belongs to an outline if its middle lies
within, so that what an outline covers differs from its area by less than a band of 1 / sqrt(2) pixels to both sides of
its edge: no more than sqrt(2) times its perimeter (and pi / 2 for each of its parts).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from connector.agreement.continua import spread
from connector.agreement.patterns import tally
from connector.agreement.ratings import Floats, Ints

ROWS = 2_000_000
"""Runs, or crossings of outlines with rows of pixels, that are looked at together."""


@dataclass(frozen=True, eq=False)
class Runs:
    """The pixels of M masks.

    of : (R,) the mask of each run, ascending. first, behind : (R,) its first pixel and the one behind its last,
        ascending within a mask. n_masks : M.
    """

    of: Ints
    first: Ints
    behind: Ints
    n_masks: int

    @classmethod
    def of_masks(cls, geometries: Sequence[Sequence[int]]) -> Runs:
        """Of masks as `shapes` has them: width, height, then lengths of runs, the first of them outside."""
        sizes = np.array([len(one) - 2 for one in geometries], dtype=np.int64)
        lengths = np.fromiter(chain.from_iterable(one[2:] for one in geometries), np.int64, int(sizes.sum()))
        of = np.repeat(np.arange(len(sizes)), sizes)
        edges = np.cumsum(lengths)
        start = np.cumsum(sizes) - sizes
        before = np.concatenate([[0], edges])[start][of]
        inside = ((np.arange(len(lengths)) - start[of]) % 2 == 1) & (lengths > 0)
        behind = (edges - before)[inside]
        return cls(of[inside], behind - lengths[inside], behind, len(sizes))

    @cached_property
    def starts(self) -> Ints:
        """(M + 1,) where each mask's runs begin."""
        starts: Ints = np.searchsorted(self.of, np.arange(self.n_masks + 1))
        return starts

    @cached_property
    def sizes(self) -> Ints:
        """(M,) runs of each mask."""
        return np.diff(self.starts)

    @cached_property
    def area(self) -> Floats:
        """(M,) pixels of each mask."""
        return tally(self.of, self.behind - self.first, self.n_masks)

    def bounds(self, width: Ints) -> tuple[Ints, Ints, Ints, Ints]:
        """Four (M,) edges, left, top, right and bottom, of masks whose grids are width[m] pixels wide."""
        wide = width[self.of]
        top, left = np.divmod(self.first, np.maximum(wide, 1))
        bottom, right = np.divmod(self.behind - 1, np.maximum(wide, 1))
        # a run that goes on in the next row reaches both sides of the grid
        left, right = np.where(bottom > top, 0, left), np.where(bottom > top, wide - 1, right)
        found = []
        for edge, reach in ((left, np.minimum), (top, np.minimum), (right + 1, np.maximum), (bottom + 1, np.maximum)):
            outermost = np.zeros(self.n_masks, dtype=np.int64)
            held = np.flatnonzero(self.sizes)
            if len(held):
                outermost[held] = reach.reduceat(edge, self.starts[held])
            found.append(outermost)
        return found[0], found[1], found[2], found[3]

    def common(self, i: Ints, others: Runs, j: Ints) -> Floats:
        """(K,) pixels that mask i[k] of these and mask j[k] of the others, on one grid, both hold."""
        found = np.zeros(len(i))
        for part in in_parts(self.sizes[i]):
            times = self.sizes[i[part]]
            k = np.repeat(np.arange(len(times)), times)
            run = spread(self.starts[i[part]], times)
            there = j[part][k]
            held = others._before(there, self.behind[run]) - others._before(there, self.first[run])
            found[part] = tally(k, held, len(times))
        return found

    def _before(self, mask: Ints, pixel: Ints) -> Ints:
        """(N,) pixels of the masks mask[n] in front of pixel[n]."""
        keys, span, total = self._keys
        begun = np.searchsorted(keys, mask * span + np.minimum(pixel, span - 1))
        none = begun == self.starts[mask]
        # of the run that began last, what lies behind the pixel does not count
        ahead = np.maximum(self.behind[begun - 1] - pixel, 0) if len(keys) else np.zeros_like(pixel)
        held: Ints = total[begun] - total[self.starts[mask]] - np.where(none, 0, ahead)
        return held

    @cached_property
    def _keys(self) -> tuple[Ints, int, Ints]:
        """A number for each run that sorts by mask and place, what a mask takes up in it, and the pixels of all runs
        in front of each."""
        span = int(self.behind.max()) + 1 if len(self.behind) else 1
        total = np.concatenate([[0], np.cumsum(self.behind - self.first)])
        return self.of * span + self.first, span, total


def laid_on_grids(figures: NDArray[Any], width: Ints, height: Ints) -> Runs:
    """The pixels of (M,) polygons (shapely's, valid), each on a grid of width[m] x height[m]."""
    outline, x1, y1, x2, y2 = _sides(figures)
    top, bottom = np.minimum(y1, y2), np.maximum(y1, y2)
    last_row = height[outline]
    first = np.clip(np.ceil(top - 0.5), 0, last_row).astype(np.int64)
    times = np.maximum(np.clip(np.ceil(bottom - 0.5), 0, last_row).astype(np.int64) - first, 0)
    side, row = np.repeat(np.arange(len(times)), times), spread(first, times)
    x = x1[side] + (row + 0.5 - y1[side]) * ((x2 - x1)[side] / (y2 - y1)[side])
    order = np.lexsort((x, row, outline[side]))
    # every second crossing along a row leads out again
    mask, row, x = outline[side][order][::2], row[order][::2], x[order]
    wide = width[mask]
    left, right = (np.clip(np.ceil(edge - 0.5), 0, wide).astype(np.int64) for edge in (x[::2], x[1::2]))
    held = left < right
    line = row[held] * wide[held]
    return Runs(mask[held], line + left[held], line + right[held], len(figures))


def _sides(figures: NDArray[Any]) -> tuple[Ints, Floats, Floats, Floats, Floats]:
    """Every side of every ring: (S,) its polygon, and x and y of its ends."""
    import shapely

    # what several valid polygons are made of, where one crossed itself, can lie in a collection within a collection
    parts, figure = shapely.get_parts(figures, return_index=True)
    parts, part = shapely.get_parts(parts, return_index=True)
    areas = np.flatnonzero(shapely.get_type_id(parts) == shapely.GeometryType.POLYGON)
    rings, ring_of = shapely.get_rings(parts[areas], return_index=True)
    points, ring = shapely.get_coordinates(rings, return_index=True)
    same = np.flatnonzero(ring[1:] == ring[:-1])
    return figure[part[areas[ring_of[ring[same]]]]], *points[same].T, *points[same + 1].T


def in_parts(effort: Ints | Floats) -> Iterator[slice]:
    """Slices of what takes that much effort one by one, each of about `ROWS`."""
    done = np.cumsum(effort)
    cuts = np.searchsorted(done, np.arange(ROWS, done[-1] if len(done) else 0, ROWS)).tolist()
    start = 0
    for stop in (*cuts, len(effort)):
        if stop > start:
            yield slice(start, stop)
            start = stop
