"""Ratings and numbers."""

from __future__ import annotations

import math
from typing import Any

from connector.annotations.choices import EMPTY, UNREADABLE
from connector.annotations.model import Missing


def number(raw: Any) -> float | Missing:
    """A finite number. "4", 4 and 4.0 are one number; True, "n/a", NaN and infinity are none."""
    if isinstance(raw, bool):
        return UNREADABLE
    if raw is None or (isinstance(raw, str) and not raw.strip()):
        return EMPTY
    # float() takes "1_000" as Python source does; no tool writes that and means a number
    if not isinstance(raw, int | float | str) or (isinstance(raw, str) and "_" in raw):
        return UNREADABLE
    try:
        found = float(raw)
    except (ValueError, OverflowError):
        return UNREADABLE
    return found + 0.0 if math.isfinite(found) else UNREADABLE
