"""Argilla's answers -> values of the kinds that are measured. The API and the export files hold the same ones.

label_selection        "pos"                                        choice
multi_label_selection  ["a", "b"]                                   choices
rating                 4                                            rating
ranking                [{"value": "a", "rank": 1}, ...]             ranking
text                   "as written"                                 text
span                   [{"start": 0, "end": 5, "label": "PER"}]     spans
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from connector.annotations.choices import EMPTY, UNREADABLE, clean, label, label_set
from connector.annotations.model import Missing, Value
from connector.annotations.scalars import number
from connector.annotations.spans import Raw, Text, text_spans

KIND_OF: Mapping[str, str] = {
    "label_selection": "choice",
    "multi_label_selection": "choices",
    "rating": "rating",
    "ranking": "ranking",
    "text": "text",
    "span": "spans",
}
"""Argilla's question types -> kinds."""

Mark = tuple[int, int, str | None]
"""Start, end (exclusive) and label of one span."""


def read_answer(kind: str, raw: Any, text: str | None = None) -> Value | Missing:
    """The answer to a question of this kind. `text` is the field that spans mark, None where it is not known."""
    match kind:
        case "choice":
            return label(raw)
        case "choices":
            return label_set(raw if isinstance(raw, list | tuple) else [raw])
        case "rating":
            return number(raw)
        case "ranking":
            return read_ranking(raw)
        case "text":
            return read_text(raw)
        case "spans":
            return read_spans(raw, text).value
    return UNREADABLE


def read_text(raw: Any) -> Value | Missing:
    """Text as written; blank text is no answer."""
    if raw is None:
        return EMPTY
    if not isinstance(raw, str):
        return UNREADABLE
    return clean(raw) if raw.strip() else EMPTY


def read_ranking(raw: Any) -> Value | Missing:
    """((item, rank), ...) by item; equal ranks are ties. An item without a rank, as drafts may have, is left out."""
    entries = as_objects(raw)
    if entries is None:
        return EMPTY if raw is None else UNREADABLE
    ranks: dict[str, int | float] = {}
    for entry in entries:
        item, rank = label(entry.get("value")), number(entry.get("rank"))
        if rank == EMPTY:
            continue
        if not isinstance(item, str) or not isinstance(rank, float) or item in ranks:
            return UNREADABLE
        ranks[item] = int(rank) if rank.is_integer() else rank
    return tuple(sorted(ranks.items())) if ranks else EMPTY


class Spans(NamedTuple):
    """What spans say, and what had to be mended.

    value : (length of the text, ((start, end, labels), ...)) in code points. `()` is "nothing here".
    shifted : marks whose offsets counted UTF-16 units, as a browser does. beyond : marks that reach past the text.
    unsure : marks that were read as a browser's although nothing in them tells. trimmed : marks with blanks at their
    edges, which were cut off.
    """

    value: Value | Missing
    shifted: int = 0
    beyond: int = 0
    unsure: int = 0
    trimmed: int = 0


def read_spans(raw: Any, text: str | None = None) -> Spans:
    """The marks of one answer, in code points. Without the text its length is taken to be the last mark's end."""
    entries = [] if raw is None else as_objects(raw)
    if entries is None:
        return Spans(UNREADABLE)
    marks: list[Mark] = []
    for entry in entries:
        start, end, name = entry.get("start"), entry.get("end"), label(entry.get("label"))
        if type(start) is not int or type(end) is not int or start < 0 or name == UNREADABLE:
            return Spans(UNREADABLE)
        marks.append((start, end, name if isinstance(name, str) else None))
    notes: Counter[str] = Counter()
    if text is None:
        return Spans(text_spans([_raw(mark, None) for mark in marks], None, notes))
    shifted = unsure = 0
    if marks and not text.isascii() and max(text) > "\uffff":
        in_points = [(code_point(start, text), code_point(end, text), name) for start, end, name in marks]
        differ = sum(one != other for one, other in zip(marks, in_points, strict=True))
        by_browser = counts_utf16(marks, in_points, text) if differ else False
        if by_browser is not False:
            marks, shifted = in_points, differ
        unsure = differ if by_browser is None else 0
    value = text_spans([_raw(mark, text) for mark in marks], Text(text), notes)
    return Spans(value, shifted, notes["clamped"] + notes["invalid"], unsure, notes["trimmed"])


def _raw(mark: Mark, text: str | None) -> Raw:
    """A mark whose offsets are settled: what stands there is the text that was marked."""
    start, end, name = mark
    return Raw(start, end, () if name is None else (name,), None if text is None else text[start:end])


def counts_utf16(marks: Sequence[Mark], in_points: Sequence[Mark], text: str) -> bool | None:
    """Whether an answer's offsets count UTF-16 units, as those made in a browser do, rather than code points.

    Nothing in the answer says so, and the two differ behind a sign such as an emoji. An end past the text settles it,
    then which of the two cuts fewer words. None where they do equally well. `in_points` are the marks as a browser's.
    """
    if any(end > len(text) for _, end, _ in marks):
        return True
    as_units = sum(cuts(start, end, text) for start, end, _ in in_points)
    as_points = sum(cuts(start, end, text) for start, end, _ in marks)
    return None if as_units == as_points else as_units < as_points


def as_objects(raw: Any) -> list[Mapping[str, Any]] | None:
    """A list of objects, also where it was stored as an object of lists, as Hugging Face's `Sequence({...})` is."""
    if isinstance(raw, dict):
        if not raw or not all(isinstance(column, list) for column in raw.values()):
            return None
        if len({len(column) for column in raw.values()}) > 1:
            return None
        return [dict(zip(raw, cells, strict=True)) for cells in zip(*raw.values(), strict=True)]
    if isinstance(raw, list | tuple) and all(isinstance(entry, dict) for entry in raw):
        return list(raw)
    return None


def code_point(offset: int, text: str) -> int:
    """The code points before an offset in UTF-16 units; past the text, as many more as there are units."""
    units = text.encode("utf-16-le", "surrogatepass")
    inside = units[: 2 * offset].decode("utf-16-le", "ignore")
    return len(inside) + max(0, offset - len(units) // 2)


def cuts(start: int, end: int, text: str) -> int:
    """How many of a mark's two edges lie within a word or on a blank, as nobody's choice does."""
    return _cut_at(start, text) + _cut_at(end, text) + text[start : start + 1].isspace() + text[end - 1 : end].isspace()


def _cut_at(place: int, text: str) -> bool:
    return 0 < place < len(text) and text[place - 1].isalnum() and text[place].isalnum()
