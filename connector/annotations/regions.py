"""Regions that a rater drew on an image: boxes, ellipses, polygons, key points, lines, masks; in a video, by frame.

A value is a sorted tuple of distinct regions (shape, geometry, labels, frame), coordinates in pixels where the image's
size is known, else in percent of its sides; `agreement.shapes` says what a geometry holds. The frame is that of a
video, or the place of the image among several of one task, else 0. An answer without regions says "nothing here".

What lies outside the image is cut off; regions without usable coordinates, without extent or far outside the image are
left out. All that is mended or left out is counted; an answer whose regions are all left out is unreadable, since its
rater did mark something.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from connector.agreement.regions import IOU_50, IOU_50_95
from connector.agreement.shapes import corners
from connector.annotations.choices import UNREADABLE
from connector.annotations.kind import Kind
from connector.annotations.model import Missing, Value
from connector.annotations.spans import FARTHEST

NOTES = {
    "clipped": "regions that reached beyond their image, cut at its edge",
    "outside": "regions outside their image, or so far beyond it that their coordinates cannot be right, left out",
    "invalid": "regions without usable coordinates, left out",
    "flat": "regions without extent, left out",
    "unlabelled": "regions without a label: found there, but no category",
    "repeated": "regions drawn twice by one rater, counted once",
    "turned": "regions drawn on an image that its rater had turned, taken as they stand",
    "size_unknown": "turned boxes and ellipses on images of unknown size, taken as if the images were square",
    "lines": "lines that enclose nothing, compared as bands of 1% of their image's diagonal to both sides",
    "opaque": "masks stored as pictures that know no transparency: all is marked, as the tool shows it",
    "scaled": "masks stored in another size than their image's, stretched to it",
    "frames_sampled": "tracks in long videos, compared at evenly spaced frames",
    "sizes_differ": "images whose size raters' annotations give differently: that of most annotations was taken",
    "sizes_invalid": "regions with a size of their image (or a number of frames) that cannot be right, read without it",
}
"""What is counted while regions are read, by code."""

NEAR = 0.01
"""As a share of the image's diagonal: distance of two key points that are half alike, and half the breadth of lines."""
FAR = 1.0
"""How many sides of its image a region can lie beyond it: more is no slip of the hand."""
SLACK = 1e-6
"""Share of a side by which a region can reach beyond its image without being cut: rounding."""
MOST_FRAMES = 1_000
"""Of a video with more marked frames so many, evenly spaced, are compared."""

MOST_SHOWN = 20
"""Regions of an answer that are named one by one; of more (a track in a video, say) people read how many there are."""

Geometry = tuple[float, ...]
Box = tuple[float, float, float, float, float]


class Image(NamedTuple):
    """The sides of an image in pixels, or 100 and 100 where they are not `known`."""

    width: float = 100.0
    height: float = 100.0
    known: bool = False


def as_regions(value: Value) -> Value | Missing:
    """A tuple of regions."""
    return value if IOU_50.comparable(value) else UNREADABLE


def labels_of(value: Any) -> list[str]:
    """The labels that an answer's regions carry, each once."""
    return list(dict.fromkeys(label for _, _, labels, _ in value for label in labels))


def relabelled(value: Any, relabel: Mapping[str, str]) -> Value | Missing:
    """The answer with its labels renamed."""
    return tuple(
        sorted(
            {
                (shape, geometry, tuple(sorted({relabel.get(label, label) for label in labels})), frame)
                for shape, geometry, labels, frame in value
            }
        )
    )


def regions_text(value: Any) -> str:
    """An answer, a label or the labels of a region for people.

    >>> regions_text((("rectangle", (10.0, 20.0, 30.0, 40.0, 0.0), ("Car",), 0),))
    'Car: rectangle 30 x 40 at 10, 20'
    """
    if isinstance(value, str):
        return value
    if not value or isinstance(value[0], str):
        return ", ".join(value) or "(nothing marked)"
    if len(value) <= MOST_SHOWN:
        return "; ".join(_region_text(*one) for one in value)
    n = Counter(", ".join(labels) or "no label" for _, _, labels, _ in value)
    return f"{len(value)} regions: {'; '.join(f'{label} {times}' for label, times in n.most_common())}"


def _region_text(shape: str, geometry: Sequence[float], labels: Sequence[str], frame: int) -> str:
    numbers = [f"{round(one, 1):.15g}" for one in geometry[:4]]
    match shape:
        case "rectangle":
            text = f"rectangle {numbers[2]} x {numbers[3]} at {numbers[0]}, {numbers[1]}"
        case "ellipse":
            text = f"ellipse {numbers[2]} x {numbers[3]} around {numbers[0]}, {numbers[1]}"
        case "polygon":
            text = f"polygon of {len(geometry) // 2} corners at {numbers[0]}, {numbers[1]}"
        case "line":
            text = f"line from {numbers[0]}, {numbers[1]}"
        case "brush":
            text = f"mask of {sum(geometry[3::2]):.0f} pixels"
        case _:
            text = f"key point at {numbers[0]}, {numbers[1]}"
    text = f"{', '.join(labels)}: {text}" if labels else text
    return f"{text} (frame {frame})" if frame else text


REGIONS = Kind(
    distances=(IOU_50.name, IOU_50_95.name, "nominal"),
    comparisons=(IOU_50, IOU_50_95),
    canonical=as_regions,
    parts=labels_of,
    nothing=(),
    empty="none",
    rename=relabelled,
    text=regions_text,
    notes=NOTES,
)


def answer(regions: Sequence[Any], notes: Counter[str]) -> Value:
    """The value of one rater's regions."""
    found = set(regions)
    if len(found) < len(regions):
        notes["repeated"] += len(regions) - len(found)
    return tuple(sorted(found))


def numbers(*raw: Any) -> list[float] | None:
    """Numbers, None where one of them is none or lies beyond `FARTHEST`."""
    try:
        found = [float(one) for one in raw if not isinstance(one, bool)]
    except (TypeError, ValueError, OverflowError):
        return None
    return found if len(found) == len(raw) and all(abs(one) <= FARTHEST for one in found) else None


def rectangle(box: Sequence[Any], image: Image, notes: Counter[str]) -> tuple[str, Geometry] | None:
    """A box (x, y, width, height, rotation) in percent of its image, turned by degrees about its top left corner in
    pixels."""
    given = numbers(*box)
    if given is None:
        notes["invalid"] += 1
        return None
    left, across = (part * (image.width / 100) for part in given[:4:2])
    top, down = (part * (image.height / 100) for part in given[1:4:2])
    turn = given[4] % 360
    # a box drawn towards the left or the top
    cos, sin = math.cos(math.radians(turn)), math.sin(math.radians(turn))
    if across < 0:
        left, top, across = left + across * cos, top + across * sin, -across
    if down < 0:
        left, top, down = left - down * sin, top + down * cos, -down
    if turn and turn % 90 == 0:
        left, top, across, down, turn = _straight(left, top, across, down, turn)
    if across == 0 or down == 0:
        notes["flat"] += 1
        return None
    if turn:
        notes["size_unknown"] += not image.known
        return _within("rectangle", (left, top, across, down, turn), image, notes)
    right, bottom = min(left + across, image.width), min(top + down, image.height)
    if left < 0 or top < 0 or right < left + across or bottom < top + down:
        if _is_outside(left, top, left + across, top + down, image):
            notes["outside"] += 1
            return None
        notes["clipped"] += _is_cut(left, top, left + across, top + down, image)
        left, top = max(left, 0.0), max(top, 0.0)
        return "rectangle", (left, top, right - left, bottom - top, 0.0)
    return "rectangle", (left, top, across, down, 0.0)


def ellipse(drawn: Sequence[Any], image: Image, notes: Counter[str]) -> tuple[str, Geometry] | None:
    """An ellipse (x, y of its centre, radii, rotation) in percent of its image, turned by degrees in pixels."""
    given = numbers(*drawn)
    if given is None:
        notes["invalid"] += 1
        return None
    centre_x, across = (part * (image.width / 100) for part in given[:4:2])
    centre_y, down = (part * (image.height / 100) for part in given[1:4:2])
    if across == 0 or down == 0:
        notes["flat"] += 1
        return None
    turn = given[4] % 180
    notes["size_unknown"] += bool(turn) and not image.known
    return _within("ellipse", (centre_x, centre_y, abs(across), abs(down), turn), image, notes)


def polygon(points: Any, image: Image, notes: Counter[str]) -> tuple[str, Geometry] | None:
    """A polygon in percent of its image."""
    pairs = points if isinstance(points, list | tuple) else ()
    if not pairs or not all(isinstance(one, list | tuple) and len(one) == 2 for one in pairs):
        notes["invalid"] += 1
        return None
    given = numbers(*(part for one in pairs for part in one))
    if given is None:
        notes["invalid"] += 1
        return None
    flat = [part * side / 100 for part, side in zip(given, (image.width, image.height) * len(pairs), strict=True)]
    return _within("polygon", tuple(flat), image, notes)


def keypoint(x: Any, y: Any, image: Image, notes: Counter[str]) -> tuple[str, Geometry] | None:
    """A point in percent of its image."""
    given = numbers(x, y)
    if given is None:
        notes["invalid"] += 1
        return None
    across, down = given[0] * image.width / 100, given[1] * image.height / 100
    if _is_far(across, down, across, down, image):
        notes["outside"] += 1
        return None
    notes["clipped"] += _is_cut(across, down, across, down, image)
    place = min(max(across, 0.0), image.width), min(max(down, 0.0), image.height)
    return "keypoint", (*place, _near(image))


def line(pieces: Sequence[Sequence[float]], image: Image, notes: Counter[str]) -> tuple[str, Geometry] | None:
    """A line that encloses nothing and may branch: its straight pieces (x1, y1, x2, y2) in percent of its image."""
    sides = (image.width / 100, image.height / 100) * 2
    drawn = [tuple(part * side for part, side in zip(one, sides, strict=True)) for one in pieces]
    across, down = ([part for one in drawn for part in one[axis::2]] for axis in (0, 1))
    edges = min(across), min(down), max(across), max(down)
    cut = _is_cut(*edges, image)
    if cut:
        drawn = [kept for one in drawn if (kept := _cut_piece(one, image)) is not None]
    if not drawn or _is_far(*edges, image):
        notes["outside"] += 1
        return None
    notes["clipped"] += cut
    # the same pieces whichever end of them was drawn first
    ends = {(min(one[:2], one[2:]), max(one[:2], one[2:])) for one in drawn if one[:2] != one[2:]}
    if not ends:
        notes["flat"] += 1
        return None
    notes["lines"] += 1
    return "line", (*(part for one in sorted(ends) for end in one for part in end), _near(image))


KeyFrames = Sequence[tuple[int, bool, Any]]
"""Of a track: (frame, whether the track goes on after it, where it is then), in order."""


def stretches(keys: KeyFrames, last: int) -> Iterator[tuple[int, int]]:
    """The first and the last frame from each key frame of a track to the next; `last` is the video's."""
    for place, (frame, goes_on, _) in enumerate(keys):
        yield frame, frame if not goes_on else keys[place + 1][0] - 1 if place + 1 < len(keys) else last


def compared_frames(marked: Iterable[tuple[int, int]]) -> tuple[list[int], bool]:
    """The frames to be compared, of those in which somebody marked something, and whether these are not all of them.

    marked : first and last frame of stretches.
    """
    ends: list[tuple[int, int]] = []
    for first, last in sorted(marked):
        if ends and first <= ends[-1][1] + 1:
            ends[-1] = ends[-1][0], max(last, ends[-1][1])
        else:
            ends.append((first, last))
    step = max(1, math.ceil(sum(last - first + 1 for first, last in ends) / MOST_FRAMES))
    found: list[int] = []
    passed = 0
    for first, last in ends:
        found += range(first + -passed % step, last + 1, step)
        passed += last - first + 1
    return found, step > 1


def evenly(one: Sequence[float], other: Sequence[float], part: float) -> Sequence[float]:
    """Numbers on the way from one to the other."""
    return [a + (b - a) * part for a, b in zip(one, other, strict=True)]


def track(
    keys: KeyFrames, last: int, compared: Sequence[int], between: Callable[[Any, Any, float], Any] = evenly
) -> Iterator[tuple[int, Any]]:
    """Where a track is in the frames that are compared: from one key frame to the next it changes evenly.

    between : (where it was, where it will be, share of the way) -> where it is.
    """
    for place, (first, until) in enumerate(stretches(keys, last)):
        frame, _, here = keys[place]
        for now in compared[bisect_left(compared, first) : bisect_right(compared, until)]:
            if now == frame or place + 1 == len(keys):
                yield now, here
            else:
                following, _, there = keys[place + 1]
                yield now, between(here, there, (now - frame) / (following - frame))


def mask(runs: Sequence[int], width: int, height: int, notes: Counter[str]) -> tuple[str, Geometry] | None:
    """A mask by the lengths of its runs row by row, the first of them outside it."""
    if sum(runs) != width * height:
        notes["invalid"] += 1
        return None
    if not any(runs[1::2]):
        notes["flat"] += 1
        return None
    return "brush", (width, height, *runs)


def _near(image: Image) -> float:
    return NEAR * math.hypot(image.width, image.height)


def _straight(x: float, y: float, across: float, down: float, turn: float) -> Box:
    """A box turned by a right angle or two as one that stands straight."""
    match round(turn):
        case 90:
            return x - down, y, down, across, 0.0
        case 180:
            return x - across, y - down, across, down, 0.0
        case _:
            return x, y - across, down, across, 0.0


def _within(shape: str, geometry: Geometry, image: Image, notes: Counter[str]) -> tuple[str, Geometry] | None:
    """The region as far as it lies in its image; a polygon where something was cut off."""
    outline = corners(shape, geometry)
    (left, top), (right, bottom) = outline.min(axis=0).tolist(), outline.max(axis=0).tolist()
    if _is_outside(left, top, right, bottom, image):
        notes["outside"] += 1
        return None
    if not _is_cut(left, top, right, bottom, image):
        points = [tuple(point) for point in outline.tolist()]
    else:
        notes["clipped"] += 1
        points = _clipped([tuple(point) for point in outline.tolist()], image)
        shape = "polygon"
    if _area(points) <= 0:
        notes["flat"] += 1
        return None
    return shape, _in_one_order(points) if shape == "polygon" else geometry


def _area(points: Sequence[tuple[float, ...]]) -> float:
    """0 where all points lie on one line."""
    if len(set(points)) < 3:
        return 0.0
    (x, y), others = points[0], points[1:]
    turns = [abs((a - x) * (d - y) - (c - x) * (b - y)) for (a, b), (c, d) in pairwise(others)]
    reach = max(abs(part) for point in points for part in point)
    return max(turns) if max(turns) > 1e-12 * reach * reach else 0.0


def _in_one_order(points: Sequence[tuple[float, ...]]) -> Geometry:
    """The same corners whichever of them was drawn first, and whichever way round."""
    kept = [one for place, one in enumerate(points) if one != points[place - 1]]
    first = kept.index(min(kept))
    turned = kept[first:] + kept[:first]
    if turned[-1] < turned[1]:
        turned = [turned[0], *reversed(turned[1:])]
    return tuple(part for point in turned for part in point)


def _clipped(points: list[tuple[float, ...]], image: Image) -> list[tuple[float, ...]]:
    """A polygon cut at the edges of its image, one after the other (Sutherland and Hodgman 1974)."""
    for axis, edge, sign in ((0, 0.0, 1), (0, image.width, -1), (1, 0.0, 1), (1, image.height, -1)):
        found: list[tuple[float, ...]] = []
        for place, now in enumerate(points):
            before = points[place - 1]
            inside, was_inside = (sign * (one[axis] - edge) >= 0 for one in (now, before))
            if inside != was_inside:
                part = (edge - before[axis]) / (now[axis] - before[axis])
                crossing = [a + (b - a) * part for a, b in zip(before, now, strict=True)]
                crossing[axis] = edge
                found.append(tuple(crossing))
            if inside:
                found.append(now)
        points = found
    return points


def _cut_piece(piece: tuple[float, ...], image: Image) -> tuple[float, ...] | None:
    """A straight piece as far as it lies in its image (Liang and Barsky 1984), None where it does not."""
    x, y, x2, y2 = piece
    enters, leaves = 0.0, 1.0
    for start, step, side in ((x, x2 - x, image.width), (y, y2 - y, image.height)):
        if step == 0:
            if not 0 <= start <= side:
                return None
            continue
        first, last = sorted((-start / step, (side - start) / step))
        enters, leaves = max(enters, first), min(leaves, last)
    if enters > leaves:
        return None
    return x + (x2 - x) * enters, y + (y2 - y) * enters, x + (x2 - x) * leaves, y + (y2 - y) * leaves


def _is_cut(left: float, top: float, right: float, bottom: float, image: Image) -> bool:
    x, y = SLACK * image.width, SLACK * image.height
    return left < -x or top < -y or right > image.width + x or bottom > image.height + y


def _is_outside(left: float, top: float, right: float, bottom: float, image: Image) -> bool:
    nothing_inside = right <= 0 or bottom <= 0 or left >= image.width or top >= image.height
    return nothing_inside or _is_far(left, top, right, bottom, image)


def _is_far(left: float, top: float, right: float, bottom: float, image: Image) -> bool:
    x, y = FAR * image.width, FAR * image.height
    return left < -x or top < -y or right > image.width + x or bottom > image.height + y
