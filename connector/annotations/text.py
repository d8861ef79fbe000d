"""Free text."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from connector.agreement.distances.texts import EDIT, LONG, is_long
from connector.annotations.choices import EMPTY, UNREADABLE, label
from connector.annotations.kind import Kind
from connector.annotations.model import Missing, Question, Value


def text(raw: Any) -> str | Missing:
    """One text: composed (NFC), with every run of blanks as one blank and none at its ends. Case is kept."""
    found = label(raw)
    return " ".join(unicodedata.normalize("NFC", found).split()) if isinstance(found, str) else found


def texts(raws: Sequence[Any]) -> Value | Missing:
    """An answer of one text as it is, of several as a tuple in their order; blank ones are none."""
    found = [label(raw) for raw in raws]
    if UNREADABLE in found:
        return UNREADABLE
    given = tuple(one for one in found if isinstance(one, str))
    return given if len(given) > 1 else given[0] if given else EMPTY


def as_text(value: Value) -> Value | Missing:
    """One text, of several each in a line of its own."""
    if not isinstance(value, tuple):
        return text(value)
    lines = [text(one) for one in value]
    if UNREADABLE in lines:
        return UNREADABLE
    return "\n".join(one for one in lines if isinstance(one, str)) or EMPTY


def long_ones(question: Question, answers: Iterable[Any]) -> Mapping[str, int]:
    """How many texts are too long to be compared by their characters."""
    return {"long": sum(map(is_long, answers))} if question.distance == EDIT.name else {}


TEXT = Kind(
    distances=(EDIT.name, "nominal"),
    canonical=as_text,
    required=False,
    counted=long_ones,
    notes={"long": f"texts of more than {LONG:,} characters, compared by words"},
)
"""Compared by edit distance, or as equal or not. A gate rests on it only where it is asked to."""
