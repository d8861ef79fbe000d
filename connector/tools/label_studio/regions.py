"""Label Studio's results that draw a region of an image or a video -> regions.

Coordinates are in percent of the image. A brush is the alpha channel of an image, packed by runs; a box in a video is a
list of key frames between which it moves evenly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from connector.annotations import regions
from connector.annotations.model import Unit, Value
from connector.annotations.regions import Geometry, Image
from connector.annotations.spans import Labels, whole

LABELLED = ("rectanglelabels", "ellipselabels", "polygonlabels", "keypointlabels", "brushlabels")
REGION_TYPES = frozenset({*LABELLED, *(name.removesuffix("labels") for name in LABELLED), "videorectangle"})
"""Result types that draw regions; `labels` does so on an image, where a control of its own has the shapes."""

Result = Mapping[str, Any]

_SHAPE = frozenset({"x", "points", "rle", "sequence"})
_BOXES = frozenset({"rectanglelabels", "rectangle"})
_NUMBERS = frozenset({int, float})
MOST_PIXELS = 2**28
"""Of a mask: more is a mistake."""


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
        self._images: dict[int, Image] = {}
        self._frames: tuple[Sequence[int], bool] | None = None

    def read(self, results: Sequence[Result], unit: Unit) -> Value:
        """The value of what one annotation of the unit holds of this control."""
        if unit is not self._unit:
            self._unit, self._images, self._frames = unit, {}, None
        found: list[Any] = []
        image = self._images.get(0) or (self._image(0) if results else Image())
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
        return regions.answer(found, self.notes)

    def _regions(
        self, one: Result, value: Mapping[str, Any], kind: str, labels: tuple[str, ...]
    ) -> Sequence[tuple[Any, ...]]:
        """The regions of one result: of a track its box in every frame that is compared, else one or none."""
        place = whole(one.get("item_index")) or 0
        image = self._images.get(place) or self._image(place)
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
        if "points" in value:
            return regions.polygon(get("points"), image, self.notes)
        turn = get("rotation") or 0
        if "radiusX" in value:
            return regions.ellipse((get("x"), get("y"), get("radiusX"), get("radiusY"), turn), image, self.notes)
        if "height" in value and not kind.startswith("keypoint"):
            return regions.rectangle((get("x"), get("y"), get("width"), get("height"), turn), image, self.notes)
        return regions.keypoint(get("x"), get("y"), image, self.notes)

    def _mask(self, value: Mapping[str, Any], one: Result, image: Image) -> tuple[str, Geometry] | None:
        own = whole(one.get("original_width")), whole(one.get("original_height"))
        width, height = own if None not in own else (int(image.width), int(image.height))
        runs = mask_runs(value["rle"], width, height) if width and height else None
        if runs is None or not width or not height:
            self.notes["invalid"] += 1
            return None
        return regions.mask(runs, width, height, self.notes)

    def _track(self, value: Mapping[str, Any], image: Image) -> Iterator[tuple[int, tuple[str, Geometry]]]:
        keys = _key_frames(value.get("sequence"))
        if not keys:
            self.notes["invalid"] += 1
            return
        if self._frames is None:
            tracks = [one["value"] for one in self._all() if "sequence" in one["value"]]
            self._frames = regions.compared_frames(part for one in tracks for part in _stretches(one))
        compared, sampled = self._frames
        self.notes["frames_sampled"] += sampled
        once: Counter[str] = Counter()
        for frame, box in regions.track(keys, _last_frame(value, keys), compared):
            shape = regions.rectangle(box, image, once)
            if shape is not None:
                yield frame, shape
        # a track is one region, in however many of its frames there is something to say
        self.notes.update(dict.fromkeys(+once, 1))

    def _all(self) -> Iterator[Result]:
        for annotation in self._unit.annotations if self._unit else ():
            if annotation.status == "submitted":
                yield from (one for one in annotation.result if one.get("from_name") == self._name and is_region(one))

    def _image(self, place: int) -> Image:
        """The image's size as any of its regions tells, since percents of it are what all raters drew."""
        sizes = (
            (whole(one.get("original_width")), whole(one.get("original_height")))
            for one in self._all()
            if (whole(one.get("item_index")) or 0) == place
        )
        known = next(((float(width), float(height)) for width, height in sizes if width and height), None)
        image = self._images[place] = Image(*known, known=True) if known else Image()
        return image


def mask_runs(packed: Any, width: int, height: int) -> list[int] | None:
    """The lengths of the runs of a mask, row by row, the first outside it; None for what is no such mask.

    packed : bytes as whole numbers, of an image of four channels whose last one is the mask. After four bytes with the
    number of values, five bits with the length of a value less one, and four times four bits with lengths of counts
    less one, each run is: one bit, whether all its values are the same; two bits, which of the lengths its count has;
    the count less one; and the value, or the values.
    """
    n_values = 4 * width * height
    try:
        bits = "".join(map("{:08b}".format, bytes(packed)))
        if int(bits[:32], 2) != n_values or width * height > MOST_PIXELS:
            return None
        size = int(bits[32:37], 2) + 1
        lengths = [int(bits[place : place + 4], 2) + 1 for place in range(37, 53, 4)]
        values = _unpacked(bits, 53, n_values, size, lengths)
    except (TypeError, ValueError):
        return None
    inside = values[3::4] > 0
    edges = np.flatnonzero(np.diff(inside, prepend=False))
    found: list[int] = np.diff(edges, prepend=0, append=len(inside)).tolist()
    return found


def _unpacked(bits: str, at: int, n_values: int, size: int, lengths: Sequence[int]) -> Any:
    values = np.zeros(n_values, dtype=np.uint32)
    done = 0
    while done < n_values:
        same = bits[at] == "1" if at < len(bits) else _cut_short()
        length = lengths[int(bits[at + 1 : at + 3], 2)]
        at += 3
        until = done + int(bits[at : at + length], 2) + 1
        at += length
        if same:
            values[done:until] = int(bits[at : at + size], 2)
            at += size
        else:
            several = bits[at : at + size * (until - done)]
            values[done:until] = [int(several[one : one + size], 2) for one in range(0, len(several), size)]
            at += len(several)
        done = until
    return values


def _cut_short() -> bool:
    raise ValueError("a mask ends before its last pixel")


def _key_frames(sequence: Any) -> list[tuple[int, bool, Sequence[float]]]:
    """The usable key frames of a track, in order."""
    found = {}
    for key in sequence if isinstance(sequence, list) else ():
        if not isinstance(key, dict):
            continue
        frame = whole(key.get("frame"))
        box = regions.numbers(*(key.get(part) for part in ("x", "y", "width", "height")), key.get("rotation") or 0)
        if frame is not None and frame > 0 and box is not None:
            found[frame] = bool(key.get("enabled", True)), box
    return [(frame, *found[frame]) for frame in sorted(found)]


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
