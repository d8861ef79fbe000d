"""Regions of images as arrays, and how much two of them overlap.

A region is (shape, geometry, labels, frame); coordinates run from the top left corner, rotations clockwise in degrees:

    rectangle  x, y, width, height, rotation about (x, y)
    ellipse    x, y of the centre, horizontal and vertical radius, rotation about the centre
    polygon    x1, y1, x2, y2, ...
    keypoint   x, y, and the distance at which two points are half alike (1% of the image's diagonal)
    line       x1, y1, x2, y2 of every straight piece of an open line, which may branch, and the distance up to which
               what lies beside it belongs to it (1% of the image's diagonal)
    brush      width, height, then the lengths of the runs of pixels row by row, the first of them outside the mask

Two regions of one frame are as alike as their intersection over union. Rectangles, ellipses, polygons and masks can
overlap each other: two masks by their pixels where their grids are equal, a mask and an outline by the pixels whose
middle the outline holds (`pixels`). Lines overlap lines, as bands of that breadth to both sides, which is how lane
markings are compared (Pan, Shi, Luo, Wang and Tang 2018, Spatial as deep: spatial CNN for traffic scene understanding,
AAAI: 30 pixels of 1640 x 590). Two key points are alike by 1 - d / (2 r), with d their distance and r the half-way one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from connector.agreement.continua import spread
from connector.agreement.pixels import Runs, in_parts, laid_on_grids
from connector.agreement.ratings import Floats, Ints

AREA, MASK, POINT, LINE = 0, 1, 2, 3
FAMILIES = {"rectangle": AREA, "ellipse": AREA, "polygon": AREA, "brush": MASK, "keypoint": POINT, "line": LINE}
"""Shapes -> how they are compared; a mask can overlap what has an area, others only their own."""
NO_LABEL = ""
"""Stands for the label of a region that carries none."""
HALF = 0.5
"""Intersection over union from which on two regions are taken for the same."""
ROUNDING = 1e-9
CORNERS = 96
"""Of the polygon that stands for an ellipse."""
CANDIDATES = 2_000_000
"""Most pairs of regions looked at together."""


class Edges(NamedTuple):
    """Regions of two answers that may be the same: (E,) the pair of answers, the row of either, how alike they are."""

    k: Ints
    mine: Ints
    theirs: Ints
    alike: Floats

    @classmethod
    def joined(cls, parts: Iterable[Edges]) -> Edges:
        """All of them, one after the other."""
        none = np.zeros(0, dtype=np.int64)
        k, mine, theirs, alike = zip((none, none, none, np.zeros(0)), *parts, strict=True)
        return cls(np.concatenate(k), np.concatenate(mine), np.concatenate(theirs), np.concatenate(alike))

    def take(self, places: Any) -> Edges:
        """Some of the edges."""
        return Edges(*(column[places] for column in self))


class Known:
    """Numbers by key, as far as they were found."""

    def __init__(self) -> None:
        self._keys: Ints = np.zeros(0, dtype=np.int64)
        self._found: Floats = np.zeros(0)

    def of(self, keys: Ints, find: Callable[[Ints], Floats]) -> Floats:
        """(K,) the number of each key; `find` is asked for those of new keys, ascending and each once."""
        kinds, kind = np.unique(keys, return_inverse=True)
        new = np.setdiff1d(kinds, self._keys, assume_unique=True)
        if len(new):
            self.remember(new, find(new))
        found: Floats = self._found[np.searchsorted(self._keys, kinds)][kind]
        return found

    def remember(self, keys: Ints, found: Floats) -> None:
        """Take in numbers; of a key that is known already the number stays."""
        self._keys, place = np.unique(np.concatenate([self._keys, keys]), return_index=True)
        self._found = np.concatenate([self._found, found])[place]


@dataclass(frozen=True, eq=False)
class Items:
    """Rows to be matched, sorted by answer and key: only those of one key are.

    region : (R,) of each. starts : (V + 1,) where each answer's rows begin. keys : (R,).
    """

    region: Ints
    starts: Ints
    keys: Ints
    n_keys: int

    @property
    def sizes(self) -> Ints:
        """(V,) rows of each answer."""
        return np.diff(self.starts)

    @cached_property
    def places(self) -> Ints:
        """(R,) answer and key as one number, ascending."""
        answer = np.repeat(np.arange(len(self.starts) - 1), self.sizes)
        return answer * self.n_keys + self.keys


@dataclass(frozen=True, eq=False)
class Shapes:
    """The regions of V answers.

    answers : as they are. regions : all of them, answer by answer. of : (R,) the answer of each. family, frame : (R,).
    sets : the sets of labels that regions carry; labels : (R,) which one. bounds : four (R,) edges, left, top, right
    and bottom. area : (R,). plain : (R,) whether the bounds are all of it; figures : (R,) polygons of outlines and of
    bands about lines, else None. runs : the pixels of masks; mask : (R,) each one's place there, else -1.
    known : how alike two regions are that are no plain rectangles, by first x R + second.
    """

    answers: Sequence[Any]
    regions: Sequence[Any]
    of: Ints
    family: Ints
    frame: Ints
    labels: Ints
    sets: Sequence[tuple[str, ...]]
    bounds: tuple[Floats, Floats, Floats, Floats]
    area: Floats
    plain: NDArray[np.bool_]
    figures: NDArray[Any]
    runs: Runs
    mask: Ints
    known: Known = field(default_factory=Known)

    @classmethod
    def of_answers(cls, answers: Sequence[Any]) -> Shapes:
        """The regions of answers, each a sequence of regions."""
        regions = list(chain.from_iterable(answers))
        of = np.repeat(np.arange(len(answers)), np.fromiter(map(len, answers), np.int64, len(answers)))
        names, geometries, labels, frames = zip(*regions, strict=True) if regions else ((), (), (), ())
        code_of: dict[tuple[str, ...], int] = {}
        codes = np.array([code_of.setdefault(one, len(code_of)) for one in labels], dtype=np.int64)
        family = np.array([FAMILIES[name] for name in names], dtype=np.int64)
        return cls(
            answers,
            regions,
            of,
            family,
            np.array(frames, dtype=np.int64),
            codes,
            list(code_of),
            *_outlines(names, geometries, family),
        )

    @cached_property
    def label_names(self) -> Sequence[str]:
        """Every label seen, sorted; `NO_LABEL` among them where a region carries none."""
        return sorted({label for labels in self.sets for label in labels or (NO_LABEL,)})

    @cached_property
    def whole(self) -> Items:
        """Every region once, whatever its labels."""
        return self._items(np.arange(len(self.of)), np.zeros(len(self.of), dtype=np.int64), 1)

    @cached_property
    def by_label(self) -> Items:
        """Every region once for each label it carries."""
        place = {label: code for code, label in enumerate(self.label_names)}
        codes = [[place[label] for label in labels or (NO_LABEL,)] for labels in self.sets]
        times = np.array([len(one) for one in codes], dtype=np.int64)
        flat = np.array([code for one in codes for code in one], dtype=np.int64)
        region = np.repeat(np.arange(len(self.of)), times[self.labels])
        first = np.cumsum(times) - times
        label = flat[spread(first[self.labels], times[self.labels])]
        return self._items(region, label, max(len(place), 1))

    @cached_property
    def mixed(self) -> bool:
        """Whether masks and outlines are both among them."""
        return bool((self.family == MASK).any() and (self.family == AREA).any())

    def label_of(self, keys: Ints) -> Ints:
        """(R,) the label of keys of `by_label`."""
        return keys % max(len(self.label_names), 1)

    def _items(self, region: Ints, label: Ints, n_labels: int) -> Items:
        frames, frame = np.unique(self.frame, return_inverse=True)
        partners = np.where(self.family == MASK, AREA, self.family)
        key = (frame * len(FAMILIES) + partners)[region] * n_labels + label
        n_keys = max(len(frames), 1) * len(FAMILIES) * n_labels
        order = np.argsort(self.of[region] * n_keys + key, kind="stable")
        starts = np.searchsorted(self.of[region], np.arange(len(self.answers) + 1))
        return Items(region[order], starts, key[order], n_keys)

    def edges(self, items: Items, a: Ints, b: Ints) -> Iterator[Edges]:
        """What may be the same in the answers a[k] and b[k], many pairs at a time, at `HALF` or above."""
        effort = np.cumsum(items.sizes[a] * items.sizes[b])
        bounds = np.searchsorted(effort, np.arange(CANDIDATES, effort[-1] if len(effort) else 0, CANDIDATES))
        cuts = np.unique(np.concatenate([[0], bounds, [len(a)]])).tolist()
        for first, last in pairwise(cuts):
            found = self._edges(items, a[first:last], b[first:last])
            yield found._replace(k=found.k + first)

    def _edges(self, items: Items, a: Ints, b: Ints) -> Edges:
        times = items.sizes[a]
        mine = spread(items.starts[a], times)
        k = np.repeat(np.arange(len(a)), times)
        wanted = b[k] * items.n_keys + items.keys[mine]
        low = np.searchsorted(items.places, wanted, side="left")
        met = np.searchsorted(items.places, wanted, side="right") - low
        k, mine, theirs = np.repeat(k, met), np.repeat(mine, met), spread(low, met)
        alike, near = self._alike(items.region[mine], items.region[theirs])
        return Edges(k[near], mine[near], theirs[near], alike)

    def _alike(self, i: Ints, j: Ints) -> tuple[Floats, Ints]:
        """How alike the regions i[e] and j[e] of one frame are, which can overlap, and where they are alike by half."""
        left, top, right, bottom = self.bounds
        width = np.minimum(right[i], right[j]) - np.maximum(left[i], left[j])
        near = np.flatnonzero(width >= 0)
        i, j, width = i[near], j[near], width[near]
        height = np.minimum(bottom[i], bottom[j]) - np.maximum(top[i], top[j])
        # no more than the overlap of their bounds, nor than the smaller one, can be common to both
        common = np.minimum(width * np.maximum(height, 0.0), np.minimum(self.area[i], self.area[j]))
        whole = self.area[i] + self.area[j]
        alike = np.divide(common, whole - common, out=np.zeros(len(common)), where=whole > common)
        points = self.family[i] == POINT
        possible = (alike >= HALF - ROUNDING) | (points & (height >= 0))
        if self.mixed:
            possible |= self._mixed_possible(i, j, width, height)
        kept = np.flatnonzero(possible)
        near, i, j, alike = near[kept], i[kept], j[kept], np.minimum(alike[kept], 1.0)
        dear = np.flatnonzero(~(self.plain[i] & self.plain[j]))
        if len(dear):
            alike[dear] = self._exactly(i[dear], j[dear])
            kept = np.flatnonzero(alike >= HALF - ROUNDING)
            near, alike = near[kept], alike[kept]
        return alike, near

    def _mixed_possible(self, i: Ints, j: Ints, width: Floats, height: Floats) -> NDArray[np.bool_]:
        """Where i[e] and j[e] are a mask and an outline that may be alike by half.

        In pixels an outline can reach half a pixel further than its bounds on each side.
        """
        of_mask = np.where(self.family[i] == MASK, self.area[i], self.area[j])
        possible: NDArray[np.bool_] = (self.family[i] != self.family[j]) & (height >= 0)
        return possible & ((width + 1) * (height + 1) >= HALF * of_mask - ROUNDING)

    def _exactly(self, i: Ints, j: Ints) -> Floats:
        # one order, so that rounding does not depend on whose answer comes first
        return self.known.of(np.minimum(i, j) * len(self.of) + np.maximum(i, j), self._compared)

    def _compared(self, pairs: Ints) -> Floats:
        i, j = np.divmod(pairs, len(self.of))
        alike = np.zeros(len(i))
        mask_i, mask_j = self.family[i] == MASK, self.family[j] == MASK
        points = self.family[i] == POINT
        for here, overlap in (
            (~mask_i & ~mask_j & ~points, self._of_areas),
            (mask_i & mask_j, self._of_masks),
            (mask_i != mask_j, self._of_mixed),
            (points, self._of_points),
        ):
            places = np.flatnonzero(here)
            if len(places):
                alike[places] = overlap(i[places], j[places])
        return np.clip(np.where(alike > 1 - ROUNDING, 1.0, alike), 0.0, 1.0)

    def _of_points(self, i: Ints, j: Ints) -> Floats:
        x, y, reach = np.array([self.regions[one][1] for one in i.tolist()]).T
        x2, y2, _ = np.array([self.regions[one][1] for one in j.tolist()]).T
        apart = np.hypot(x - x2, y - y2)
        # a reach that is not known leaves points alike that are equal
        near: Floats = 1 - np.divide(apart, 2 * reach, out=(apart > 0).astype(np.float64), where=reach > 0)
        return near

    def _of_areas(self, i: Ints, j: Ints) -> Floats:
        import shapely

        used, place = np.unique(np.concatenate([i, j]), return_inverse=True)
        figures = self._figures(used)
        common = shapely.area(shapely.intersection(figures[place[: len(i)]], figures[place[len(i) :]]))
        return _over_union(common, self.area[i], self.area[j])

    def _of_masks(self, i: Ints, j: Ints) -> Floats:
        fewer = self.runs.sizes[self.mask[i]] <= self.runs.sizes[self.mask[j]]
        one, other = self.mask[np.where(fewer, i, j)], self.mask[np.where(fewer, j, i)]
        common = self.runs.common(one, self.runs, other)
        common[np.any(self._grids(i) != self._grids(j), axis=0)] = 0.0
        return _over_union(common, self.area[i], self.area[j])

    def _of_mixed(self, i: Ints, j: Ints) -> Floats:
        masks = self.family[i] == MASK
        mask, outline = np.where(masks, i, j), np.where(masks, j, i)
        # one outline may meet several masks of one grid: it is laid on it once
        kinds, kind = np.unique(np.stack([outline, *self._grids(mask)]), axis=1, return_inverse=True)
        kind = kind.reshape(-1)
        found = np.zeros(len(i))
        order = np.argsort(kind, kind="stable")
        bounds = np.searchsorted(kind[order], np.arange(kinds.shape[1] + 1))
        # no more rows than the grid has, however far an outline goes beyond it
        rows = np.minimum(np.ceil(self.bounds[3] - self.bounds[1])[kinds[0]], kinds[2])
        for part in in_parts(rows):
            drawn = laid_on_grids(self._figures(kinds[0, part]), kinds[1, part], kinds[2, part])
            here = order[bounds[part.start] : bounds[part.stop]]
            of = kind[here] - part.start
            common = drawn.common(of, self.runs, self.mask[mask[here]])
            found[here] = _over_union(common, drawn.area[of], self.area[mask[here]])
        return found

    def _grids(self, masks: Ints) -> Ints:
        """(2, K) width and height of masks."""
        sizes = [self.regions[one][1][:2] for one in masks.tolist()]
        return np.array(sizes, dtype=np.int64).reshape(-1, 2).T

    def _figures(self, regions: Ints) -> NDArray[Any]:
        """(K,) polygons of regions that have an area."""
        import shapely

        figures = self.figures[regions]
        straight = self.plain[regions]
        figures[straight] = shapely.box(*(edge[regions[straight]] for edge in self.bounds))
        return figures


def _over_union(common: Floats, one: Floats, other: Floats) -> Floats:
    whole = one + other - common
    return np.divide(common, whole, out=np.zeros(len(common)), where=whole > 0)


class _Outlines(NamedTuple):
    """The last columns of `Shapes`."""

    bounds: tuple[Floats, Floats, Floats, Floats]
    area: Floats
    plain: NDArray[np.bool_]
    figures: NDArray[Any]
    runs: Runs
    mask: Ints


def _outlines(names: Sequence[str], geometries: Sequence[Any], family: Ints) -> _Outlines:
    """Bounds and area of every region, whether it is a rectangle that stands straight, and else what it covers."""
    n = len(names)
    rectangle = np.array([name == "rectangle" for name in names], dtype=np.bool_)
    left, top, width, height, rotation = np.zeros((5, n))
    if rectangle.any():
        boxes = [one for one, it in zip(geometries, rectangle.tolist(), strict=True) if it]
        flat = np.fromiter(chain.from_iterable(boxes), np.float64, 5 * len(boxes)).reshape(-1, 5)
        left[rectangle], top[rectangle], width[rectangle], height[rectangle], rotation[rectangle] = flat.T
    bounds = left, top, left + width, top + height
    area = width * height
    plain = rectangle & (rotation == 0)
    figures = np.full(n, None, dtype=object)
    drawn = np.flatnonzero(~plain & ((family == AREA) | (family == LINE)))
    if len(drawn):
        figures[drawn] = figures_of([names[place] for place in drawn], [geometries[place] for place in drawn])
        _outline(figures[drawn], drawn, bounds, area)
    masks = np.flatnonzero(family == MASK)
    runs = Runs.of_masks([geometries[place] for place in masks])
    mask = np.full(n, -1, dtype=np.int64)
    if len(masks):
        mask[masks] = np.arange(len(masks))
        area[masks] = runs.area
        widths = np.array([geometries[place][0] for place in masks], dtype=np.int64)
        for edge, found in zip(bounds, runs.bounds(widths), strict=True):
            edge[masks] = found
    points = np.flatnonzero(family == POINT)
    if len(points):
        x, y, reach = np.array([geometries[place] for place in points], dtype=np.float64).T
        for edge, found in zip(bounds, (x - reach, y - reach, x + reach, y + reach), strict=True):
            edge[points] = found
    return _Outlines(bounds, area, plain, figures, runs, mask)


def _outline(figures: NDArray[Any], places: Ints, bounds: Sequence[Floats], area: Floats) -> None:
    import shapely

    area[places] = shapely.area(figures)
    for edge, found in zip(bounds, shapely.bounds(figures).T, strict=True):
        edge[places] = found


def figures_of(shapes: Sequence[str], geometries: Sequence[Sequence[float]]) -> NDArray[Any]:
    """(N,) valid polygons (several in one where edges cross) of rectangles, ellipses, polygons and lines."""
    figures = np.full(len(shapes), None, dtype=object)
    lines = [place for place, shape in enumerate(shapes) if shape == "line"]
    others = [place for place, shape in enumerate(shapes) if shape != "line"]
    if others:
        figures[others] = _polygons([corners(shapes[place], geometries[place]) for place in others])
    if lines:
        figures[lines] = _bands([geometries[place] for place in lines])
    return figures


def _polygons(rings: Sequence[Floats]) -> NDArray[Any]:
    import shapely

    of = np.repeat(np.arange(len(rings)), [len(ring) for ring in rings])
    figures: NDArray[Any] = shapely.polygons(shapely.linearrings(np.concatenate(rings), indices=of))
    for place in np.flatnonzero(~shapely.is_valid(figures)).tolist():
        figures[place] = _uncrossed(rings[place], figures[place])
    return figures


def _uncrossed(ring: Floats, figure: Any) -> Any:
    """What a ring that crosses itself encloses an odd number of times.

    `shapely.make_valid` takes half a minute for 300 corners at random, and is wrong where sides run along each other.
    """
    import shapely

    ends = np.roll(ring, -1, axis=0)
    sides = shapely.union_all(shapely.linestrings(np.stack([ring, ends], axis=1)))
    faces = shapely.get_parts(shapely.polygonize([sides]))
    middles = shapely.get_coordinates(shapely.point_on_surface(faces))
    (x, y), (x2, y2) = ring.T, ends.T
    odd = np.zeros(len(faces), dtype=np.bool_)
    step = max(1, CANDIDATES // len(ring))
    for start in range(0, len(faces), step):
        across, down = middles[start : start + step].T[:, :, None]
        passed = (y > down) != (y2 > down)
        at = x + (down - y) * np.divide(x2 - x, y2 - y, out=np.zeros(len(ring)), where=y2 != y)
        odd[start : start + step] = np.count_nonzero(passed & (across < at), axis=1) % 2 == 1
    if not odd.any():
        return shapely.make_valid(figure)
    # neighbours differ by one, so that odd faces meet in points alone unless the ring runs twice along one way
    found = shapely.multipolygons(faces[odd])
    return found if shapely.is_valid(found) else shapely.union_all(faces[odd])


def _bands(geometries: Sequence[Sequence[float]]) -> NDArray[Any]:
    """What lies within its reach of each line: of each of its pieces, and then of all of them together, which is many
    times faster than of the whole line where it crosses itself often."""
    import shapely

    pieces = [np.array(one[:-1], dtype=np.float64).reshape(-1, 2, 2) for one in geometries]
    sizes = [len(one) for one in pieces]
    reach = np.repeat([one[-1] for one in geometries], sizes)
    of_pieces = shapely.buffer(shapely.linestrings(np.concatenate(pieces)), reach)
    bands = np.full(len(pieces), None, dtype=object)
    bands[:] = [shapely.union_all(part) for part in np.split(of_pieces, np.cumsum(sizes)[:-1])]
    return bands


def corners(shape: str, geometry: Sequence[float]) -> Floats:
    """(C, 2) corners of a rectangle, an ellipse (as a polygon of the same area) or a polygon."""
    if shape == "polygon":
        return np.array(geometry, dtype=np.float64).reshape(-1, 2)
    x, y, width, height, rotation = geometry
    turn = math.radians(rotation)
    if shape == "rectangle":
        along, down = np.array([0, width, width, 0]), np.array([0, 0, height, height])
    else:
        angles = 2 * math.pi * np.arange(CORNERS) / CORNERS
        larger = math.sqrt(2 * math.pi / CORNERS / math.sin(2 * math.pi / CORNERS))
        along, down = larger * width * np.cos(angles), larger * height * np.sin(angles)
    cos, sin = math.cos(turn), math.sin(turn)
    return np.stack([x + along * cos - down * sin, y + along * sin + down * cos], axis=1)
