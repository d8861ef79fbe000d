"""The real data that ship with the package, and the settings that the offline demo measures them with.

130 police narratives, each read by two or three raters of a team (Label Studio, 2024; MIT, see NOTICE): stretches of
text marked with labels, and a taxonomy of what happened.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

TITLE = "LEOKA narratives, team 4"
"""What the data are called in a report."""

CREDIT = "J. Osorio, LEOKA_ML (github.com/javierosorio/LEOKA_ML, MIT licence)"
"""Who made them; shown wherever the data are."""

SIZE = 100
"""The fewest units that the demo's gate asks of the batch (there are 130)."""

THRESHOLD = 0.70
"""What agreement has to reach."""


@contextlib.contextmanager
def export_path() -> Iterator[Path]:
    """The Label Studio JSON export, as a file for the time of the block (also from a zipped package)."""
    with resources.as_file(resources.files("connector.demo") / "data" / "leoka_team_4.json") as path:
        yield path
