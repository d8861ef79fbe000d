"""Label Studio's results that mark a stretch of a text or of a time line -> spans.

Where a mark lies is told in many ways: by offsets into a text, by a phrase and an offset in it, by paths into an HTML
page with or without offsets into all of its visible text, by seconds, by the column of a series, by frames.
"""

from __future__ import annotations

import html
import math
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from connector.annotations.dates import date
from connector.annotations.model import Missing, Unit, Value
from connector.annotations.spans import Labels, Raw, Text, number, text_spans, time_spans, whole

SPAN_TYPES = frozenset({"labels", "hypertextlabels", "paragraphlabels", "timeserieslabels", "timelinelabels"})
"""Result types that mark stretches; `labels` does so of a text or a time line, and holds shapes of an image as well."""
TIME_LINES = frozenset({"audio", "audioplus", "video", "timeseries"})
"""Object tags whose marks have no text under them."""
POSITIONS = {
    **dict.fromkeys(("text", "hypertext", "paragraphs"), "character"),
    **dict.fromkeys(("audio", "audioplus"), "second"),
    **dict.fromkeys(("video", "timelinelabels"), "frame"),
}
"""Object tags, and a control's that says it alone -> what a place is called that its marks cover."""

Result = Mapping[str, Any]
Reading = Callable[[Sequence[Result], Counter[str]], Value | Missing]
About = Callable[[float], tuple[float, float]]
"""A moment of a series -> the time that is nearest to its sample."""

_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://|/)\S+")
_UNSEEN = re.compile(r"<(script|style)", re.IGNORECASE)
_CLOSED = {name: re.compile(f"</{name}", re.IGNORECASE) for name in ("script", "style")}
_SHAPE = frozenset({"x", "y", "points", "vertices", "rle", "sequence", "imageDataURL"})
_new = tuple.__new__


@dataclass(frozen=True, slots=True)
class Source:
    """What a control's marks lie in.

    type : of the object tag, in lower case; "" where no config tells. shows : the field of a task's data that it shows.
    attributes : of the tag, their names in lower case.
    """

    type: str = ""
    shows: str | None = None
    attributes: Mapping[str, str] = field(default_factory=dict)


def is_span(one: Result) -> bool:
    """Whether a result marks a stretch of a text or of a time line."""
    value = one.get("value")
    return (
        one.get("type") in SPAN_TYPES
        and type(value) is dict
        and ("start" in value or "ranges" in value or "globalOffsets" in value)
        and _SHAPE.isdisjoint(value)
    )


class SpanReader:
    """Reads the marks of one control, and counts in `notes` what was mended or left out."""

    def __init__(self, name: str, source: Source | None = None, spellings: Mapping[str, str] | None = None) -> None:
        self.notes: Counter[str] = Counter()
        self._name = name
        self._source = source or Source()
        self._labels = Labels(spellings or {})
        self._unit: Unit | None = None
        self._reading: Reading | None = None

    def read(self, results: Sequence[Result], unit: Unit) -> Value | Missing:
        """The value of what one annotation of the unit holds of this control; unreadable where nothing of it can be
        used."""
        if self._reading is None or unit is not self._unit:
            self._unit, self._reading = unit, self._reading_of(unit)
        return self._reading(results, self.notes)

    def _reading_of(self, unit: Unit) -> Reading:
        """How the marks of a unit are read; all its annotations are looked at where one alone does not tell."""
        example = next(self._all(unit), None)
        shown = self._shown(unit, example)
        form = _form(example, self._source.type)
        if form == "text" and isinstance(shown, str):
            return partial(self._in_text, Text(shown))
        results = list(self._all(unit))
        if form == "frames":
            length = _largest((one["value"].get("framesCount") for one in results), self.notes)
            return _until(partial(self._frames, length), results)
        if form == "time" or any(isinstance(one["value"].get("start"), float) for one in results):
            return self._time_reading(shown, results)
        if form == "phrases" and (phrases := Phrases.of(shown, self._source.attributes.get("textkey", "text"))):
            return partial(self._in_phrases, phrases)
        if form in ("paths", "phrases"):
            return self._path_reading(shown, results)
        return _until(partial(self._in_text, None), results)

    def _all(self, unit: Unit) -> Iterator[Result]:
        for annotation in unit.annotations:
            if annotation.status == "submitted":
                yield from (one for one in annotation.result if one.get("from_name") == self._name and is_span(one))

    def _shown(self, unit: Unit, example: Result | None) -> Any:
        """What the raters saw, None where the task's data do not hold it."""
        if self._source.attributes.get("valuetype", "").lower() == "url":
            return None
        found = unit.data.get(self._source.shows) if self._source.shows else None
        if not self._source.type and example is not None:
            texts = [one for one in unit.data.values() if isinstance(one, str)]
            found = unit.data.get(str(example.get("to_name")), texts[0] if len(texts) == 1 else None)
        return None if isinstance(found, str) and _ADDRESS.fullmatch(found.strip()) else found

    def _in_text(
        self, text: Text | None, results: Sequence[Result], notes: Counter[str], seen: int = 0
    ) -> Value | Missing:
        labels = self._labels.of
        raws = []
        for one in results:
            value = one["value"]
            raws.append(
                _new(Raw, (value.get("start"), value.get("end"), labels(_label_list(value, one["type"])), _text(value)))
            )
        return text_spans(raws, text, notes, seen=seen)

    def _in_phrases(self, phrases: Phrases, results: Sequence[Result], notes: Counter[str]) -> Value | Missing:
        raws = []
        for one in results:
            value = one["value"]
            start = phrases.place(value.get("start"), value.get("startOffset"), notes)
            end = phrases.place(value.get("end"), value.get("endOffset"), notes)
            # of several phrases the tool stores more than their texts
            stored = _text(value) if value.get("start") == value.get("end") else None
            raws.append(Raw(start, end, self._labels_of(one), stored))
        return text_spans(raws, phrases.text, notes)

    def _path_reading(self, shown: Any, results: Sequence[Result]) -> Reading:
        """Marks in a page: by their offsets into its visible text where they have them, else by their paths alone."""
        told = _told_of((_path(one), _offsets(one["value"])) for one in results)
        # one place however the raters' programs counted: the offsets of most, of those the smallest
        known = {path: min(places, key=lambda place: (-places[place], place)) for path, places in told.items()}
        last = max((end for _, end in known.values()), default=0)
        visible = len(visible_text(shown)) if isinstance(shown, str) else None
        alone = [one for one in results if _path(one) not in known]
        texts = _told_of((_path(one), _text(one["value"])) for one in alone)
        for path in sorted({_path(one) for one in alone}, key=_in_order):
            stored = texts.get(path) or {"-": 1}
            width = len(max(stored, key=lambda text: (stored[text], len(text))) or "-")
            known[path] = (last, last + width)
            last += width
        self.notes["paths_differ"] += sum(len(each) > 1 for each in (*told.values(), *texts.values()))
        length = None if visible is None else max(visible, last)
        return partial(self._by_path, known, length, last)

    def _by_path(
        self,
        known: Mapping[Any, tuple[int, int]],
        length: int | None,
        last: int,
        results: Sequence[Result],
        notes: Counter[str],
    ) -> Value | Missing:
        notes["paths"] += sum(_offsets(one["value"]) is None for one in results)
        raws = [Raw(*known[_path(one)], self._labels_of(one), _text(one["value"])) for one in results]
        return text_spans(raws, None, notes, length=length, seen=last)

    def _time_reading(self, shown: Any, results: Sequence[Result]) -> Reading:
        edges = [_moment(one["value"].get(edge)) for one in results for edge in ("start", "end")]
        moments = [one for one in edges if one is not None]
        if self._source.type == "timeseries" or any(one.get("type") == "timeserieslabels" for one in results):
            return self._series_reading(shown, moments)
        length = _largest((one.get("original_length") for one in results), self.notes)
        return partial(self._in_time, 0.0, length, max(moments, default=0.0), None)

    def _series_reading(self, shown: Any, moments: Sequence[float]) -> Reading:
        column = self._source.attributes.get("timecolumn")
        # the tool numbers the samples of a series that names no column of times
        numbered = bool(self._source.type) and not column
        samples = _samples(shown, column) if column else _numbers_of(shown) if numbered else ()
        ends = [one for one in (_moment(samples[0]), _moment(samples[-1])) if one is not None] if samples else []
        about: About | None = partial(_about, samples) if samples else _about_number if numbered else None
        moments = [0.0, *moments] if numbered else moments
        first = min(ends or moments, default=0.0)
        length = max(ends) - first if ends else None
        return partial(self._in_time, first, length, max(moments, default=first) - first, about)

    def _in_time(
        self,
        first: float,
        length: float | None,
        seen: float,
        about: About | None,
        results: Sequence[Result],
        notes: Counter[str],
    ) -> Value | Missing:
        raws = []
        for one in results:
            start, end = (_moment(one["value"].get(edge)) for edge in ("start", "end"))
            if start is not None and start == end and about is not None:
                start, end = about(start)
                notes["samples"] += start < end
            start, end = (None if edge is None else edge - first for edge in (start, end))
            raws.append(Raw(start, end, self._labels_of(one)))
        return time_spans(raws, length, notes, seen)

    def _frames(
        self, length: float | None, results: Sequence[Result], notes: Counter[str], seen: int = 0
    ) -> Value | Missing:
        raws = []
        for one in results:
            ranges = one["value"].get("ranges")
            for part in ranges if isinstance(ranges, list) and ranges else (None,):
                first, last = (whole(part.get(edge)) for edge in ("start", "end")) if isinstance(part, dict) else (0, 0)
                # both frames belong to the range, and the first frame is 1
                raws.append(Raw(None if not first else first - 1, last, self._labels_of(one)))
        return text_spans(raws, None, notes, length=None if length is None else int(length), seen=seen)

    def _labels_of(self, one: Result) -> tuple[str, ...]:
        return self._labels.of(_label_list(one["value"], one["type"]))


class Phrases:
    """The phrases of a dialogue as one text, a line each."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._phrases = [Text(one) for one in texts]
        lengths = [one.length + 1 for one in self._phrases]
        self._starts = [sum(lengths[:place]) for place in range(len(lengths))]
        self.text = Text("\n".join(texts))
        # offsets are turned into code points phrase by phrase
        self.text.astral = False

    @classmethod
    def of(cls, shown: Any, key: str) -> Phrases | None:
        """The phrases of a task's data, None where it does not hold them."""
        if not isinstance(shown, list) or not all(isinstance(one, dict) for one in shown):
            return None
        return cls([text if isinstance(text := one.get(key), str) else "" for one in shown])

    def place(self, phrase: Any, offset: Any, notes: Counter[str]) -> int | None:
        """The offset in the whole text of an offset in a phrase, None where there is no such place."""
        place, inside = whole(phrase), whole(offset)
        if place is None or inside is None or not 0 <= place < len(self._phrases) or inside < 0:
            return None
        text = self._phrases[place]
        if text.astral:
            turned = text.code_point(inside)
            notes["utf16"] += turned != inside
            inside = turned
        return self._starts[place] + min(inside, text.length)


def visible_text(page: str) -> str:
    """The text of an HTML page without tags, comments, scripts and styles; in one pass, whatever the page is like."""
    parts: list[str] = []
    place = 0
    while (opened := page.find("<", place)) >= 0:
        parts.append(page[place:opened])
        place = _behind(page, "-->" if page.startswith("<!--", opened) else ">", opened)
        unseen = _UNSEEN.match(page, opened)
        if unseen:
            closed = _CLOSED[unseen[1].lower()].search(page, place)
            place = _behind(page, ">", closed.end() if closed else len(page))
    return html.unescape("".join(parts) + page[place:])


def _behind(page: str, sign: str, place: int) -> int:
    """The place behind the next such sign, the end of the page where there is none."""
    found = page.find(sign, place)
    return len(page) if found < 0 else found + len(sign)


def _form(example: Result | None, source: str) -> str:
    """text, phrases, paths, time or frames: how a control's marks are told, by one of them or by what they lie in."""
    if example is None:
        known = {"hypertext": "paths", "paragraphs": "phrases", "video": "frames"}
        return "time" if source in TIME_LINES - {"video"} else known.get(source, "text")
    value = example["value"]
    if "ranges" in value:
        return "frames"
    if source in TIME_LINES or example.get("type") == "timeserieslabels" or "original_length" in example:
        return "time"
    if source == "paragraphs" or ("startOffset" in value and whole(value.get("start")) is not None):
        return "phrases"
    paths = source == "hypertext" or example.get("type") == "hypertextlabels" or "globalOffsets" in value
    return "paths" if paths or "startOffset" in value else "text"


def _until(reading: Callable[..., Value | Missing], results: Sequence[Result]) -> Reading:
    """A reading that knows the largest end of all the unit's marks."""
    seen = reading(results, Counter())
    return partial(reading, seen=seen[0] if isinstance(seen, tuple) else 0)


def _label_list(value: Mapping[str, Any], kind: str) -> Any:
    """The labels of a mark: under its type's name, or under another that older versions gave them."""
    found = value.get(kind)
    if found is None:
        found = next((one for key, one in value.items() if key.endswith("labels")), None)
    return found


def _text(value: Mapping[str, Any]) -> str | None:
    text = value.get("text")
    return text if type(text) is str else None


def _path(one: Result) -> tuple[str, ...]:
    value = one["value"]
    parts = ("start", "startOffset", "end", "endOffset") if "start" in value else ("globalOffsets",)
    return tuple(str(value.get(key)) for key in parts)


def _told_of(told: Iterable[tuple[tuple[str, ...], Any]]) -> dict[tuple[str, ...], Counter[Any]]:
    """What marks tell of each path, and how many of them tell it; what is not told does not count."""
    found: dict[tuple[str, ...], Counter[Any]] = {}
    for path, one in told:
        if one is not None:
            found.setdefault(path, Counter())[one] += 1
    return found


def _in_order(path: tuple[str, ...]) -> list[tuple[int, str]]:
    """Sorts paths as their numbers go, whatever their length."""
    parts = [part for one in path for part in re.split(r"(\d+)", one)]
    return [(len(part.lstrip("0")), part.lstrip("0")) if part.isdecimal() else (-1, part) for part in parts]


def _offsets(value: Mapping[str, Any]) -> tuple[int, int] | None:
    """Offsets into the visible text of a page."""
    given = value.get("globalOffsets")
    start, end = (whole(given.get(edge)) for edge in ("start", "end")) if isinstance(given, dict) else (None, None)
    if start is None and end is None and "startOffset" not in value:
        start, end = whole(value.get("start")), whole(value.get("end"))
    return (start, end) if start is not None and end is not None and 0 <= start < end else None


def _moment(raw: Any) -> float | None:
    """A place on a time line: a number, or a date and time as seconds since 1970."""
    if isinstance(raw, bool) or not isinstance(raw, int | float | str):
        return None
    try:
        float(raw)
    except ValueError:
        dated = date(raw)
        return None if isinstance(dated, Missing) else dated
    except OverflowError:
        return None
    return number(raw)


def _largest(lengths: Iterable[Any], notes: Counter[str]) -> float | None:
    """The largest length that is told; None where there is none."""
    told = [one for one in lengths if isinstance(one, int | float) and not isinstance(one, bool)]
    usable = [length for one in told if (length := number(one)) is not None and length >= 0]
    notes["length_invalid"] += len(told) - len(usable)
    return max((length for length in usable if length > 0), default=None)


def _samples(shown: Any, column: str) -> Sequence[Any]:
    """The times of a series as the task's data hold them; none where they do not."""
    if isinstance(shown, dict):
        times = shown.get(column)
        return times if isinstance(times, list) else ()
    if isinstance(shown, list):
        return [one.get(column) if isinstance(one, dict) else None for one in shown]
    return ()


def _numbers_of(shown: Any) -> Sequence[int]:
    """The numbers of a series' samples where it names no times; none where the task's data do not hold it."""
    columns = shown.values() if isinstance(shown, dict) else [shown]
    return range(max((len(one) for one in columns if isinstance(one, list)), default=0))


def _about(samples: Sequence[Any], at: float) -> tuple[float, float]:
    """What lies nearer to the sample of a moment than to others; the moment itself where there is no such sample."""

    def time(place: int) -> float:
        found = _moment(samples[place])
        return math.nan if found is None else found

    place = bisect_left(range(len(samples)), at, key=time)
    near = min((one for one in (place - 1, place) if 0 <= one < len(samples)), key=lambda one: abs(time(one) - at))
    start = (time(max(near - 1, 0)) + time(near)) / 2
    end = (time(near) + time(min(near + 1, len(samples) - 1))) / 2
    inside = time(0) <= at <= time(len(samples) - 1)
    return (start, end) if inside and start < end else (at, at)


def _about_number(at: float) -> tuple[float, float]:
    """The same of samples that are numbered from 0 on."""
    return max(at - 0.5, 0.0), at + 0.5
