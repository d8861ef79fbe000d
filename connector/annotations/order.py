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
    if _all_short_numbers(identifiers):
        numbers = np.fromiter(map(int, identifiers), np.int64, len(identifiers))
        order = np.argsort(numbers, kind="stable").astype(np.int64)
        if (np.diff(numbers[order]) > 0).all():
            return order
        # "1" and "01" are two ids
    return np.array(sorted(range(len(identifiers)), key=lambda place: natural_key(identifiers[place])), dtype=np.int64)


def _all_short_numbers(identifiers: Sequence[str]) -> bool:
    lengths = {len(one) for one in identifiers}
    if not lengths or min(lengths) < 1 or max(lengths) > 18:
        return False
    together = "".join(identifiers)
    return together.isascii() and together.isdigit()


def when(text: str | None) -> float:
    """A time as a number to compare; one that is absent or unreadable is older than any."""
    found = moment(text)
    return -math.inf if found is None else found.timestamp()
