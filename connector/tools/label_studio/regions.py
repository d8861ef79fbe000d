"""Label Studio's results that draw a region of an image or a video -> regions.

Coordinates are in percent of the image. A mask is the alpha channel of an image, packed by runs (brushes) or as a
picture (`pictures`); a vector is a list of points (`vectors`); what is tracked in a video is a list of key frames
between which it moves evenly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from connector.annotations import regions
from connector.annotations.choices import UNREADABLE
from connector.annotations.model import Annotation, Missing, Unit, Value
from connector.annotations.regions import Geometry, Image
from connector.annotations.spans import Labels, whole
from connector.tools.label_studio import pictures
from connector.tools.label_studio.pictures import MOST_PIXELS
from connector.tools.label_studio.vectors import Vector

LABELLED = (
    *("rectanglelabels", "ellipselabels", "polygonlabels", "keypointlabels", "brushlabels"),
    *("bitmasklabels", "vectorlabels", "videovectorlabels"),
)
REGION_TYPES = frozenset(
    {*LABELLED, *(name.removesuffix("labels") for name in LABELLED), "videorectangle", "magicwand", "ocrlabels"}
)
"""Result types that draw regions; `labels` does so on an image, where a control of its own has the shapes."""

Result = Mapping[str, Any]

_SHAPE = frozenset({"x", "points", "rle", "sequence", "imageDataURL", "vertices"})
_BOXES = frozenset({"rectanglelabels", "rectangle"})
_NUMBERS = frozenset({int, float})


def is_region(one: Result) -> bool:
    """Whether a result draws a region of an image or a video."""
    value = one.get("value")
    return type(value) is dict and not _SHAPE.isdisjoint(value)


class RegionReader:
    """Reads the regions of one control, and counts in `notes` what was mended or left out."""

    def __init__(self, name: str, spellings: Mapping[str, str] | None = None) -> None:
        self.notes: Counter[str] = Counter()
        self._name = name
        self._labels = Labels(spellings or {})
        self._unit: Unit | None = None
        self._images: dict[int, Image] | None = None
        self._frames: tuple[Sequence[int], bool] | None = None

    def read(self, results: Sequence[Result], unit: Unit) -> Value | Missing:
        """The value of what one annotation of the unit holds of this control; unreadable where nothing of it can be
        used."""
        if unit is not self._unit:
            self._unit, self._images, self._frames = unit, None, None
        if not results:
            return ()
        found: list[Any] = []
        image = self._image(0)
        across, down = image.width / 100, image.height / 100
        for one in results:
            value = one.get("value")
            if type(value) is not dict:
                self.notes["invalid"] += 1
                continue
            kind = one["type"]
            labels = self._labels.of(value[kind] if kind in value else _label_list(value))
            if _is_plain(one, value) and labels:
                box = value["x"] * across, value["y"] * down, value["width"] * across, value["height"] * down, 0.0
                found.append(("rectangle", box, labels, 0))
            else:
                found += self._regions(one, value, kind, labels)
        return regions.answer(found, self.notes) if found else UNREADABLE

    def _regions(
        self, one: Result, value: Mapping[str, Any], kind: str, labels: tuple[str, ...]
    ) -> Sequence[tuple[Any, ...]]:
        """The regions of one result: of a track what it is in every frame that is compared, else one or none."""
        place = _place(one)
        if place is None:
            self.notes["invalid"] += 1
            return []
        image = self._image(place)
        if "sequence" in value:
            found = [(*shape, labels, frame) for frame, shape in self._track(value, image)]
        else:
            shape = self._shape(value, one, kind, image)
            found = [] if shape is None else [(*shape, labels, place)]
        if found:
            self.notes["unlabelled"] += not labels and kind.endswith("labels")
            self.notes["turned"] += bool(one.get("image_rotation"))
        return found

    def _shape(self, value: Mapping[str, Any], one: Result, kind: str, image: Image) -> tuple[str, Geometry] | None:
        get = value.get
        if "rle" in value:
            return self._mask(value, one, image)
        if "imageDataURL" in value:
            return self._picture(value, one, image)
        if "vertices" in value:
            return self._vector(Vector.of(value), image, self.notes)
        if "points" in value:
            return regions.polygon(get("points"), image, self.notes)
        turn = get("rotation") or 0
        if "radiusX" in value:
            return regions.ellipse((get("x"), get("y"), get("radiusX"), get("radiusY"), turn), image, self.notes)
        if "height" in value and not kind.startswith("keypoint"):
            return regions.rectangle((get("x"), get("y"), get("width"), get("height"), turn), image, self.notes)
        return regions.keypoint(get("x"), get("y"), image, self.notes)

    def _mask(self, value: Mapping[str, Any], one: Result, image: Image) -> tuple[str, Geometry] | None:
        width, height = _size(one) or (int(image.width), int(image.height))
        runs = mask_runs(value["rle"], width, height)
        if runs is None:
            self.notes["invalid"] += 1
            return None
        return regions.mask(runs, width, height, self.notes)

    def _picture(self, value: Mapping[str, Any], one: Result, image: Image) -> tuple[str, Geometry] | None:
        found = pictures.marked(value["imageDataURL"])
        width, height = _size(one) or (int(image.width), int(image.height))
        if found is None or width * height > MOST_PIXELS:
            self.notes["invalid"] += 1
            return None
        inside, transparent = found
        high, wide = inside.shape
        if (high, wide) != (height, width):
            inside = inside[np.ix_(np.arange(height) * high // height, np.arange(width) * wide // width)]
            self.notes["scaled"] += 1
        self.notes["opaque"] += not transparent
        return regions.mask(_run_lengths(inside.ravel()), width, height, self.notes)

    def _vector(self, given: Vector | None, image: Image, notes: Counter[str]) -> tuple[str, Geometry] | None:
        """A polygon where the vector encloses something, else a line; a key point where it is one point alone."""
        if given is None:
            notes["invalid"] += 1
            return None
        outline = given.outline()
        if outline is not None:
            return regions.polygon(outline, image, notes)
        if len(given.vertices) == 1:
            return regions.keypoint(*given.vertices[0].at, image, notes)
        pieces = given.pieces()
        if not pieces:
            notes["invalid"] += 1
            return None
        return regions.line(pieces, image, notes)

    def _track(self, value: Mapping[str, Any], image: Image) -> Iterator[tuple[int, tuple[str, Geometry]]]:
        keys = _key_frames(value.get("sequence"))
        if not keys:
            self.notes["invalid"] += 1
            return
        if self._frames is None:
            tracks = [
                one["value"] for each in self._submitted() for one in self._own(each) if "sequence" in one["value"]
            ]
            self._frames = regions.compared_frames(part for one in tracks for part in _stretches(one))
        compared, sampled = self._frames
        self.notes["frames_sampled"] += sampled
        once: Counter[str] = Counter()
        for frame, here in regions.track(keys, _last_frame(value, keys), compared, _between):
            vector = isinstance(here, Vector)
            shape = self._vector(here, image, once) if vector else regions.rectangle(here, image, once)
            if shape is not None:
                yield frame, shape
        # a track is one region, in however many of its frames there is something to say
        self.notes.update(dict.fromkeys(+once, 1))

    def _submitted(self) -> Iterator[Annotation]:
        annotations = self._unit.annotations if self._unit else ()
        return (one for one in annotations if one.status == "submitted")

    def _own(self, annotation: Annotation) -> Iterator[Result]:
        return (one for one in annotation.result if one.get("from_name") == self._name and is_region(one))

    def _image(self, place: int) -> Image:
        if self._images is None:
            self._images = self._images_of_unit()
        return self._images.get(place) or _UNKNOWN

    def _images_of_unit(self) -> dict[int, Image]:
        """The sizes of a task's images, since percents of them are what all raters drew: of several sizes of one that
        which most annotations tell, of those the largest."""
        told: dict[int, Counter[tuple[int, int]]] = {}
        for annotation in self._submitted():
            sizes = set()
            for one in self._own(annotation):
                size = _size(one) or _picture_size(one)
                if size is not None:
                    sizes.add((_place(one), size))
                self.notes["sizes_invalid"] += _tells_no_size(one)
            for place, size in sizes:
                if place is not None:
                    told.setdefault(place, Counter())[size] += 1
        self.notes["sizes_differ"] += sum(len(sizes) > 1 for sizes in told.values())
        best = {place: max(sizes, key=lambda size: (sizes[size], size)) for place, sizes in told.items()}
        return {place: Image(float(width), float(height), known=True) for place, (width, height) in best.items()}


_UNKNOWN = Image()


def _place(one: Result) -> int | None:
    """Which of several images, or pages, of a task a region lies on; None where it is no place that can be."""
    told = one.get("item_index")
    told = one["value"].get("pageIndex") if told is None else told
    return 0 if told is None else whole(told)


def _size(one: Result) -> tuple[int, int] | None:
    """Width and height of its image as a result tells."""
    width, height = whole(one.get("original_width")), whole(one.get("original_height"))
    return (width, height) if width and height and width > 0 < height else None


def _tells_no_size(one: Result) -> bool:
    """Whether a result gives its image a size, or its video a number of frames, that cannot be right."""
    told = one.get("original_width"), one.get("original_height"), one["value"].get("framesCount")
    return any(type(raw) in _NUMBERS and ((size := whole(raw)) is None or size < 0) for raw in told)


def _picture_size(one: Result) -> tuple[int, int] | None:
    return pictures.size_of(one["value"].get("imageDataURL"))


def mask_runs(packed: Any, width: int, height: int) -> list[int] | None:
    """The lengths of the runs of a mask, row by row, the first outside it; None for what is no such mask.

    packed : bytes as whole numbers, of an image of four channels whose last one is the mask. After four bytes with the
    number of values, five bits with the length of a value less one, and four times four bits with lengths of counts
    less one, each run is: one bit, whether all its values are the same; two bits, which of the lengths its count has;
    the count less one; and the value, or the values.
    """
    n_values = 4 * width * height
    # a number alone would be taken for so many bytes
    if not isinstance(packed, list) or width * height > MOST_PIXELS:
        return None
    try:
        bits = "".join(map("{:08b}".format, bytes(packed)))
        if int(bits[:32], 2) != n_values:
            return None
        size = int(bits[32:37], 2) + 1
        lengths = [int(bits[place : place + 4], 2) + 1 for place in range(37, 53, 4)]
        return _joined(_unpacked(bits, 53, n_values, size, lengths))
    except (TypeError, ValueError):
        return None


def _joined(stretches: Iterable[tuple[bool, int]]) -> list[int]:
    """The lengths of runs, the first of them outside, of (inside, pixels) in order."""
    found, within = [0], False
    for inside, pixels in stretches:
        if inside == within:
            found[-1] += pixels
        elif pixels:
            found.append(pixels)
            within = inside
    return found


def _run_lengths(inside: NDArray[np.bool_]) -> list[int]:
    """The lengths of runs, the first of them outside."""
    edges = np.flatnonzero(np.diff(inside, prepend=False))
    found: list[int] = np.diff(edges, prepend=0, append=len(inside)).tolist()
    return found


def _unpacked(bits: str, at: int, n_values: int, size: int, lengths: Sequence[int]) -> Iterator[tuple[bool, int]]:
    """Whether the last of the four channels is set, and over how many pixels, run by run; no pixel is laid out."""
    done = 0
    while done < n_values:
        same = bits[at] == "1" if at < len(bits) else _cut_short()
        length = lengths[int(bits[at + 1 : at + 3], 2)]
        at += 3
        until = done + int(bits[at : at + length], 2) + 1
        at += length
        until = min(until, n_values) if same else until
        if until > n_values or at + size * (1 if same else until - done) > len(bits):
            _cut_short()
        if same:
            yield int(bits[at : at + size], 2) > 0, until // 4 - done // 4
            at += size
        else:
            # the values of the last channel stand at 3, 7, 11, ...
            for one in range(at + size * (3 - done % 4), at + size * (until - done), 4 * size):
                yield int(bits[one : one + size], 2) > 0, 1
            at += size * (until - done)
        done = until


def _cut_short() -> bool:
    raise ValueError("a mask ends before its last pixel")


def _key_frames(sequence: Any) -> list[tuple[int, bool, Any]]:
    """The usable key frames of a track, in order."""
    found = {}
    for key in sequence if isinstance(sequence, list) else ():
        if not isinstance(key, dict):
            continue
        frame = whole(key.get("frame"))
        here = Vector.of(key) if "vertices" in key else _box(key)
        if frame is not None and frame > 0 and here is not None:
            found[frame] = bool(key.get("enabled", True)), here
    return [(frame, *found[frame]) for frame in sorted(found)]


def _box(key: Mapping[str, Any]) -> list[float] | None:
    return regions.numbers(*(key.get(part) for part in ("x", "y", "width", "height")), key.get("rotation") or 0)


def _between(one: Any, other: Any, part: float) -> Any:
    """Where a track is between two of its key frames."""
    if isinstance(one, Vector) or isinstance(other, Vector):
        return one.towards(other, part) if isinstance(one, Vector) and isinstance(other, Vector) else one
    return regions.evenly(one, other, part)


def _stretches(value: Mapping[str, Any]) -> Iterator[tuple[int, int]]:
    keys = _key_frames(value.get("sequence"))
    return regions.stretches(keys, _last_frame(value, keys))


def _last_frame(value: Mapping[str, Any], keys: regions.KeyFrames) -> int:
    return max(whole(value.get("framesCount")) or 0, keys[-1][0] if keys else 0)


def _label_list(value: Mapping[str, Any]) -> Any:
    """The labels of a region that are not stored under its type's name."""
    return next((one for key, one in value.items() if key.endswith("labels")), None)


def _is_plain(one: Result, value: Mapping[str, Any]) -> bool:
    """Whether a region is a box that stands straight within the only image of its task, as nearly all are."""
    try:
        x, y, width, height = value["x"], value["y"], value["width"], value["height"]
        return (
            not value.get("rotation")
            and one["type"] in _BOXES
            and "item_index" not in one
            and "pageIndex" not in value
            and not one.get("image_rotation")
            and type(x) in _NUMBERS
            and type(y) in _NUMBERS
            and type(width) in _NUMBERS
            and type(height) in _NUMBERS
            and x >= 0 < width
            and y >= 0 < height
            and x + width <= 100
            and y + height <= 100
        )
    except KeyError:
        return False
