"""Spans: stretches of a text or of a time line that a rater marked with labels.

A value is (length, marks): the length of what was there to be marked, and (start, end, labels) sorted. Of a text both
count code points (int), of a time line they are what the tool measures in (float). An answer without marks says
"nothing here".

Offsets decide, and the text that a tool stored beside them is a hint: it tells UTF-16 offsets from code points, and
shows where both fit nothing. Blanks at the edges of a span are cut off. All that is mended or left out is counted; an
answer whose marks are all left out is unreadable, since its rater did mark something.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from connector.agreement.spans import CHARACTER
from connector.annotations.choices import UNREADABLE, label_set
from connector.annotations.kind import Kind
from connector.annotations.model import Missing, Question, Value

NOTES = {
    "trimmed": "spans with blanks at their edges, compared without them (unless read `by: untrimmed`)",
    "clamped": "spans that ended behind their document, cut at its end",
    "utf16": "spans whose stored text showed that they count UTF-16 units, turned into code points",
    "utf16_guessed": "spans without a stored text among characters beyond 16 bits: word edges told how they count",
    "text_differs": "spans with another text in the document than the one stored, taken by their offsets",
    "unlabelled": "spans without a label: marked matter, but no category",
    "invalid": "spans without usable edges, left out",
    "empty": "spans without extent or of blanks alone, left out",
    "repeated": "spans made twice by one rater, counted once",
    "instants": "marks of a single moment where no sample of a series is known for it: they cover nothing, left out",
    "samples": "marks of a single moment of a series, compared as the time that is nearest to its sample",
    "paths": "spans with paths into their page and no offsets: equal or different as the paths are, never overlapping",
    "length_unknown": "answers to documents of unknown length, for which the largest end seen was taken",
    "length_invalid": "spans with a length of their time line that cannot be right: they were read without it",
    "paths_differ": "paths into a page for which annotations store different offsets or texts, taken as most have them",
}
"""What is counted while spans are read, by code."""

FARTHEST = 2**62
"""Of every position, size and number of frames: what lies beyond it is no number of this world. Up to it positions fit
64 bits, squares and cubes of them a float; nanoseconds since 1970 lie within."""


class Raw(NamedTuple):
    """One span as a tool stored it: edges of any type, labels as a list or None, and its text where there is one."""

    start: Any
    end: Any
    labels: Any
    text: str | None = None


def as_spans(value: Value) -> Value | Missing:
    """A value (length, marks), or as `text_spans` gives it."""
    match value:
        case (int() | float(), tuple()) | (int() | float(), tuple(), tuple()):
            return value
        case _:
            return UNREADABLE


def labels_of(value: Any) -> list[str]:
    """The labels that an answer's marks carry, each once."""
    return list(dict.fromkeys(label for _, _, labels in value[1] for label in labels))


def relabelled(value: Any, relabel: Mapping[str, str]) -> Value | Missing:
    """The answer with its labels renamed."""

    def renamed(labels: Sequence[str]) -> tuple[str, ...]:
        return tuple(sorted({relabel.get(label, label) for label in labels}))

    length, *readings = value
    return length, *(
        tuple(sorted({(start, end, renamed(labels)) for start, end, labels in marks})) for marks in readings
    )


def untrimmed(value: Any) -> Value:
    """The answer with the blanks at the edges of its marks."""
    return value[0], value[-1]


def one_length(question: Question, units: Sequence[int], values: Sequence[Any]) -> tuple[Question, Sequence[Value]]:
    """The answers with the length of their document: the longest that any answer to it tells."""
    longest: dict[int, float] = {}
    for unit, value in zip(units, values, strict=True):
        longest[unit] = max(value[0], longest.get(unit, 0))
    return question, [
        value if value[0] == longest[unit] and len(value) == 2 else (longest[unit], value[1])
        for unit, value in zip(units, values, strict=True)
    ]


def spans_text(value: Any) -> str:
    """An answer, a label, or the labels of one place for people.

    >>> spans_text((20, ((0, 4, ("PER",)), (10, 16, ()))))
    '0-4 PER, 10-16'
    """
    if isinstance(value, str):
        return value
    if not value or isinstance(value[0], str):
        return ", ".join(value)
    marks = (" ".join([f"{start:.15g}-{end:.15g}", *labels]) for start, end, labels in value[1])
    return ", ".join(marks) or "(nothing marked)"


SPANS = Kind(
    distances=(CHARACTER.name, "nominal"),
    comparisons=(CHARACTER,),
    canonical=as_spans,
    parts=labels_of,
    nothing=(0, ()),
    empty="none",
    rename=relabelled,
    readings={"untrimmed": untrimmed},
    settle=one_length,
    text=spans_text,
    notes=NOTES,
)


class Labels:
    """Label lists in their final form; the same single label is looked at once.

    spellings : every spelling of a label that the tool knows -> the one that stands for it.
    """

    def __init__(self, spellings: Mapping[str, str] | None = None) -> None:
        self._spellings = spellings or {}
        self._single: dict[str, tuple[str, ...]] = {}

    def of(self, raw: Any) -> tuple[str, ...]:
        """Distinct and sorted; empty where nothing in it is a label."""
        if type(raw) is list and len(raw) == 1 and type(raw[0]) is str:
            known = self._single.get(raw[0])
            if known is None:
                known = self._single[raw[0]] = self._read(raw)
            return known
        return self._read(raw)

    def _read(self, raw: Any) -> tuple[str, ...]:
        found = label_set(raw if isinstance(raw, list | tuple) else [raw])
        return () if isinstance(found, Missing) else tuple(sorted({self._spellings.get(one, one) for one in found}))


class Text:
    """A document's text, as offsets see it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.length = len(text)
        self.astral = not text.isascii() and len(text.encode("utf-16-le", "surrogatepass")) // 2 != len(text)
        self._units: list[int] | None = None

    def code_point(self, units: int) -> int:
        """The offset in code points of an offset in UTF-16 units; those behind the text stay behind it."""
        if self._units is None:
            self._units = [0]
            for place, sign in enumerate(self.text):
                self._units += [place + 1] * (2 if sign > "\uffff" else 1)
        return self._units[units] if units < len(self._units) else self.length + units - len(self._units) + 1

    def at_word_edge(self, place: int) -> bool:
        """Whether no word goes on across this offset."""
        return not (0 < place < self.length and self.text[place - 1].isalnum() and self.text[place].isalnum())


def text_spans(
    raws: Sequence[Raw], text: Text | None, notes: Counter[str], *, length: int | None = None, seen: int = 0
) -> Value | Missing:
    """The value of spans of a text, their labels in final form (`Labels.of`); unreadable where none can be used.

    Where blanks were cut off the edges, a third member holds the marks with them.

    text : None where it is not known; its `length` may be known all the same, else `seen` is the largest end that any
        rater of the document reached.
    """
    if text is not None and text.astral:
        raws = _by_code_points(raws, text, notes)
    marks: list[tuple[int, int, tuple[str, ...]]] = []
    with_blanks: dict[int, tuple[int, int, tuple[str, ...]]] = {}
    plain = "" if text is None else text.text
    last = len(plain)
    for one in raws:
        start, end, labels, stored = one
        sound = type(start) is int and type(end) is int and 0 <= start < end <= last
        own = plain[start:end] if sound else " "
        if own[0].isspace() or own[-1].isspace() or (stored is not None and stored != own):
            edges = _mended(one, text, notes)
            if edges is None:
                continue
            first, behind, left, right = edges
            if left or right:
                with_blanks[len(marks)] = (first, behind, labels)
            marks.append((first + left, behind - right, labels))
        else:
            marks.append((start, end, labels))
        if not labels:
            notes["unlabelled"] += 1
    if raws and not marks:
        return UNREADABLE
    if text is None:
        notes["length_unknown"] += length is None
        last = max([length or seen, *(end for _, end, _ in marks)])
    found = _distinct(marks, notes)
    if not with_blanks:
        return last, found
    notes["trimmed"] += len(with_blanks)
    return last, found, tuple(sorted({with_blanks.get(place, mark) for place, mark in enumerate(marks)}))


def time_spans(raws: Sequence[Raw], length: float | None, notes: Counter[str], seen: float = 0.0) -> Value | Missing:
    """The value of spans of a time line, from 0 on; unreadable where none can be used. `seen` as for texts."""
    marks = []
    for one in raws:
        start, end = number(one.start), number(one.end)
        if start is None or end is None or end < start or end < 0:
            notes["invalid"] += 1
        elif start == end:
            notes["instants"] += 1
        else:
            if length is not None and end > length:
                notes["clamped"] += 1
            notes["unlabelled"] += not one.labels
            marks.append((max(start, 0.0), end if length is None else min(end, length), one.labels))
    marks = [mark for mark in marks if mark[0] < mark[1]]
    if raws and not marks:
        return UNREADABLE
    if length is None:
        notes["length_unknown"] += 1
        length = max([seen, *(end for _, end, _ in marks)])
    return length, _distinct(marks, notes)


def _distinct(marks: Sequence[Any], notes: Counter[str]) -> tuple[Any, ...]:
    found = set(marks)
    if len(found) < len(marks):
        notes["repeated"] += len(marks) - len(found)
    return tuple(sorted(found))


def whole(raw: Any) -> int | None:
    """A whole number as an offset: 4, 4.0 and "4"; None for anything else, and for what lies beyond `FARTHEST`."""
    if isinstance(raw, bool):
        return None
    if isinstance(raw, int):
        return raw if -FARTHEST <= raw <= FARTHEST else None
    if isinstance(raw, float):
        return int(raw) if raw.is_integer() and abs(raw) <= FARTHEST else None
    return int(raw) if isinstance(raw, str) and raw.isascii() and raw.isdigit() and len(raw) < 16 else None


def number(raw: Any) -> float | None:
    """A number as a place or a size, also one that is spelt out; None for anything else, and beyond `FARTHEST`."""
    if isinstance(raw, bool) or not isinstance(raw, int | float | str):
        return None
    try:
        found = float(raw)
    except (ValueError, OverflowError):
        return None
    return found if abs(found) <= FARTHEST else None


def _mended(one: Raw, text: Text | None, notes: Counter[str]) -> tuple[int, int, int, int] | None:
    """The edges of a span within the text, and the blanks at them; None for a span that has no edges."""
    start, end = whole(one.start), whole(one.end)
    if start is None or end is None or start < 0 or end < start or (text is not None and start > text.length):
        notes["invalid"] += 1
        return None
    if text is not None and end > text.length:
        notes["clamped"] += 1
        end = text.length
    own = _as_seen(one, start, end, text, notes)
    left, right = len(own) - len(own.lstrip()), len(own) - len(own.rstrip())
    if start == end or left == len(own) > 0:
        notes["empty"] += 1
        return None
    return start, end, left, right


def _as_seen(one: Raw, start: int, end: int, text: Text | None, notes: Counter[str]) -> str:
    """What the rater saw between the edges; "" where that is not known."""
    own = "" if text is None else text.text[start:end]
    if one.text is None or (text is not None and _alike(own, one.text)):
        return own
    if text is not None:
        notes["text_differs"] += 1
    return one.text if len(one.text) == end - start else ""


def _alike(one: str, other: str) -> bool:
    """Whether two texts are equal but for their blanks; some tools spell line breaks out."""
    return _squeezed(one) == _squeezed(other) or _squeezed(one) == _squeezed(other.replace("\\n", "\n"))


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _by_code_points(raws: Sequence[Raw], text: Text, notes: Counter[str]) -> list[Raw]:
    """The spans of a text with characters beyond 16 bits, each turned into code points where it counts UTF-16 units."""
    known = [(one, whole(one.start), whole(one.end)) for one in raws]
    usable = [(one, start, end) for one, start, end in known if start is not None and end is not None and start >= 0]
    guess = _counts_units(text, [(start, end) for one, start, end in usable if one.text is None])
    found = [one for one, start, end in known if start is None or end is None or start < 0]
    for one, start, end in usable:
        turned = text.code_point(start), text.code_point(end)
        stored = one.text
        if stored is None:
            notes["utf16_guessed"] += 1
            units = guess
        else:
            units = not _alike(text.text[start:end], stored) and _alike(text.text[turned[0] : turned[1]], stored)
            notes["utf16"] += units and turned != (start, end)
        found.append(one._replace(start=turned[0], end=turned[1]) if units else one)
    return found


def _counts_units(text: Text, edges: Sequence[tuple[int, int]]) -> bool:
    """Whether spans without a stored text count UTF-16 units: one ends behind the text otherwise, or more of their
    edges fall between words so."""
    if any(end > text.length for _, end in edges):
        return True
    places = [place for pair in edges for place in pair]
    as_they_are = sum(text.at_word_edge(place) for place in places)
    return sum(text.at_word_edge(text.code_point(place)) for place in places) > as_they_are
