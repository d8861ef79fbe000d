"""The kinds of answer that are measured, and how each is compared by default. No tool's names here.

A new kind is one module beside this one and one line in `KINDS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from connector.annotations.choices import as_choice, as_set
from connector.annotations.model import Missing, Value
from connector.annotations.paths import as_paths
from connector.annotations.scalars import number


@dataclass(frozen=True, slots=True)
class Kind:
    """How answers of one kind are compared unless a question's settings say otherwise.

    level : level of measurement. distance : the level's own, or a distance between sets.
    canonical : a value read loosely (one label where others gave several, say) in this kind's own form.
    holds_set : an answer is a set, so that `empty: none` can make "nothing ticked" an answer.
    """

    level: str
    distance: str
    canonical: Callable[[Value], Value | Missing]
    holds_set: bool = False


KINDS: dict[str, Kind] = {
    "choice": Kind("nominal", "nominal", as_choice),
    "choices": Kind("nominal", "masi", as_set, holds_set=True),
    "paths": Kind("nominal", "masi", as_paths, holds_set=True),
    "pairwise": Kind("nominal", "nominal", as_choice),
    "rating": Kind("ordinal", "ordinal", number),
    "number": Kind("interval", "interval", number),
    "date": Kind("interval", "interval", number),
}

LEVELS = ("nominal", "ordinal", "interval", "ratio")
SET_DISTANCES = ("masi", "jaccard", "nominal")

NOT_MEASURED_YET = "answers of this kind are stored but not compared yet"
"""The reason given for a question whose kind is not in `KINDS`."""
