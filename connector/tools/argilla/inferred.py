"""The questions of an Argilla export, which carries no settings: read off the answers themselves.

Whole numbers are a rating, lists of texts a set of labels, entries with `start` spans, with `rank` a ranking. Texts are
labels where most of them come again, else free text.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from connector.annotations.choices import EMPTY, UNREADABLE, label, label_set
from connector.annotations.model import Annotation, Missing, Question, Unit, Value
from connector.annotations.scalars import number
from connector.errors import SkippedTask
from connector.tools.argilla.forms import Record
from connector.tools.argilla.kinds import as_objects, code_point, cuts, read_ranking, read_spans
from connector.tools.argilla.schema import notes_on_spans

LONGEST_LABEL = 200
"""Characters that Argilla allows a label."""
RANKS_LOST = (
    "its answers are the same items in different orders: a ranking whose ranks the SDK's export leaves out, so that"
    " equal ranks cannot be told from different ones; export the records through the API to have them"
)
_MARKS_LOOKED_AT = 5_000
_LABELS_KEPT = 1_000


class InferredSchema:
    """A growing schema: `questions` is right after the last unit.

    span_fields : question -> the field that its spans mark (None: no field goes with them). What is not marked is an
        answer too, so these questions are known before the first unit.
    marks : of the spans read so far, those that were mended ("shifted", "beyond", "trimmed") or fit two readings
        ("unsure").
    """

    def __init__(self) -> None:
        self.span_fields: dict[str, str | None] = {}
        self.marks: Counter[str] = Counter()
        self._seen: dict[str, _Seen] = {}

    @property
    def questions(self) -> Mapping[str, Question]:
        """Every question that somebody answered."""
        return {name: seen.question(name) for name, seen in self._seen.items()}

    @property
    def notes(self) -> list[str]:
        """What a reader of the numbers should know of the spans."""
        fields = (
            f"The spans of '{question}' are taken to mark '{place}': the file does not say which field."
            for question, place in self.span_fields.items()
            if place is not None
        )
        return [*fields, *notes_on_spans(self.marks)]

    def answers(self, annotation: Annotation, unit: Unit) -> Mapping[str, Value | Missing]:
        """The annotation's answers, and "nothing here" for spans it does not speak of.

        One that answers no question says nothing at all.
        """
        found: dict[str, Value | Missing] = {}
        if not annotation.result:
            return found
        for one in annotation.result:
            name, raw = one["question"], one["value"]
            seen = self._seen.get(name)
            if seen is None:
                seen = self._seen[name] = _Seen()
            if name not in self.span_fields:
                found[name] = seen.read(raw)
        for name, place in self.span_fields.items():
            raw = next((one["value"] for one in annotation.result if one["question"] == name), None)
            found[name] = self._spans(name, raw, unit.data.get(place) if place is not None else None)
        return found

    def _spans(self, name: str, raw: Any, text: Any) -> Value | Missing:
        self._seen.setdefault(name, _Seen()).spans += 1
        if not isinstance(text, str):
            return read_spans(raw).value if raw else EMPTY
        spans = read_spans(raw, text)
        if spans.shifted or spans.beyond or spans.trimmed:
            self.marks.update(shifted=spans.shifted, beyond=spans.beyond, unsure=spans.unsure, trimmed=spans.trimmed)
        return spans.value


def _hashes() -> array[int]:
    return array("q")


@dataclass(slots=True)
class _Seen:
    """What the answers to one question looked like so far.

    numbers, sets, rankings, spans : how many answers of each form. texts : the hash of every text.
    long : a text came that is too long for a label. known : the values of the texts that came first.
    items : what every list holds, in the first one's order; None before the first.
    """

    numbers: int = 0
    sets: int = 0
    rankings: int = 0
    spans: int = 0
    texts: array[int] = field(default_factory=_hashes)
    long: bool = False
    known: dict[str, Value | Missing] = field(default_factory=dict)
    items: list[Any] | None = None
    same_items: bool = True
    several_orders: bool = False

    def read(self, raw: Any) -> Value | Missing:
        """An answer's value, by its own form."""
        if type(raw) is str:
            self.texts.append(hash(raw))
            known = self.known.get(raw)
            if known is None:
                known = label(raw)
                self.long = self.long or len(raw) > LONGEST_LABEL
                if len(self.known) < _LABELS_KEPT:
                    self.known[raw] = known
            return known
        if isinstance(raw, int | float):
            self.numbers += 1
            return number(raw)
        if isinstance(raw, list) and all(isinstance(item, str) for item in raw):
            if not raw:
                return EMPTY
            self.sets += 1
            self._note_order(raw)
            return label_set(raw)
        entries = as_objects(raw)
        if entries and "rank" in entries[0]:
            self.rankings += 1
            return read_ranking(raw)
        return UNREADABLE

    def question(self, name: str) -> Question:
        """The question, of the form that most answers have."""
        forms = {"spans": self.spans, "ranking": self.rankings, "choices": self.sets, "rating": self.numbers}
        kind = max(forms, key=lambda one: forms[one]) if any(forms.values()) else "choices"
        if len(self.texts) > forms[kind]:
            kind = "choice" if self._are_labels() else "text"
        if kind == "choices" and self.same_items and self.several_orders:
            return Question(name, "ranking", inferred=True, not_measured=RANKS_LOST)
        return Question(name, kind, required=kind != "text", inferred=True)

    def _note_order(self, items: list[Any]) -> None:
        if self.items is None:
            self.items = items
        elif items != self.items:
            self.same_items = self.same_items and sorted(items) == sorted(self.items)
            self.several_orders = True

    def _are_labels(self) -> bool:
        """Whether at least half of the texts come more than once, and none is too long for a label."""
        if self.long:
            return False
        _, counts = np.unique(np.array(self.texts, dtype=np.int64), return_counts=True)
        return 2 * int(counts[counts > 1].sum()) >= len(self.texts)


def find_span_fields(records: Iterable[Record | SkippedTask]) -> dict[str, str | None]:
    """The questions that are answered by spans, and the field that each of them marks.

    A file does not say which; it is the field in which most marks end within the text and cut no word, of equals the
    one that the records name first.
    """
    fitting: dict[str, Counter[str]] = {}
    looked_at: Counter[str] = Counter()
    for record in records:
        if isinstance(record, SkippedTask):
            continue
        answers = [answer for one in record.responses if one.status in ("submitted", None) for answer in one.answers]
        for name, raw in answers:
            if type(raw) is str or type(raw) is int or looked_at[name] > _MARKS_LOOKED_AT:
                continue
            entries = as_objects(raw)
            if entries and "start" in entries[0]:
                looked_at[name] += len(entries)
                fitting.setdefault(name, Counter()).update(_fits(entries, _markable(record)))
    return {name: max(fields, key=fields.__getitem__, default=None) for name, fields in fitting.items()}


def _markable(record: Record) -> dict[str, str]:
    """The texts that spans may mark, by their keys in the record's data: never metadata, where the form tells them."""
    if record.fields is None:
        keys = [key for key in record.data if key != "external_id"]
    else:
        keys = [f"field:{name}" if f"field:{name}" in record.data else name for name in record.fields]
    return {key: text for key in keys if isinstance(text := record.data.get(key), str)}


def _fits(entries: Sequence[Mapping[str, Any]], texts: Mapping[str, str]) -> Counter[str]:
    """Field -> how many of the marks' edges fit its text, in whichever unit the answer seems to count."""
    found: Counter[str] = Counter()
    for name, text in texts.items():
        edges = [
            (start, end)
            for entry in entries
            if type(start := entry.get("start")) is int and type(end := entry.get("end")) is int and 0 <= start < end
        ]
        readings = [edges]
        if not text.isascii() and max(text) > "\uffff":
            readings.append([(code_point(start, text), code_point(end, text)) for start, end in edges])
        found[name] += max(sum(_edges_that_fit(start, end, text) for start, end in reading) for reading in readings)
    return found


def _edges_that_fit(start: int, end: int, text: str) -> int:
    return 2 - cuts(start, end, text) if end <= len(text) else 0
