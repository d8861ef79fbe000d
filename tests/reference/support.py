"""Reads the published tables beside this file."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from connector.agreement.ratings import Ratings

CASES = Path(__file__).parent / "cases"


def records(name: str) -> list[dict[str, Any]]:
    loaded: list[dict[str, Any]] = json.loads((CASES / name).read_text(encoding="utf-8"))
    return loaded


def table(rows: list[list[Any]], width: int | None = None) -> Ratings:
    """Ratings of a units x raters table whose short rows lack their last raters."""
    wide = max([width or 0, *map(len, rows)]) if rows else 0
    return Ratings.from_wide([row + [None] * (wide - len(row)) for row in rows])


def convabuse() -> Ratings:
    with (CASES / "convabuse.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return Ratings.from_long(*([row[column] for row in rows] for column in ("unit", "rater", "value")))


def square(cells: list[list[int]], names: str) -> Ratings:
    """Two raters' ratings from their table of counts: cells[a][b] units where the first said a and the second b."""
    pairs = [[names[a], names[b]] for a, row in enumerate(cells) for b, count in enumerate(row) for _ in range(count)]
    return Ratings.from_wide(pairs)
