"""The order of ids and times: never that of a file."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from connector.agreement.ratings import Ints
from connector.annotations.dates import moment


def natural_key(identifier: str) -> tuple[int, int, str, str]:
    """Sorts ids: all-digit ones first and as numbers, then the rest as text. No int(): an id may have any length."""
    if identifier.isascii() and identifier.isdigit():
        digits = identifier.lstrip("0")
        return 0, len(digits), digits, identifier
    return 1, 0, identifier, identifier


def natural_order(identifiers: Sequence[str]) -> Ints:
    """The order of `natural_key`, as positions."""
    if len(identifiers) > 1000 and all(one.isascii() and one.isdigit() and len(one) < 19 for one in identifiers):
        numbers = np.array(identifiers).astype(np.int64)
        order = np.argsort(numbers, kind="stable").astype(np.int64)
        if (np.diff(numbers[order]) > 0).all():
            return order
    return np.array(sorted(range(len(identifiers)), key=lambda place: natural_key(identifiers[place])), dtype=np.int64)


def when(text: str | None) -> float:
    """A time as a number to compare; one that is absent or unreadable is older than any."""
    found = moment(text)
    return -math.inf if found is None else found.timestamp()
