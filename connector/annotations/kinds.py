"""The kinds of answer that are measured, by name. No tool's names here.

A new kind is one module beside this one and one line in `KINDS`, or an object `Kind` in the entry-point group
`connector.kinds` of another package.
"""

from __future__ import annotations

from importlib.metadata import entry_points

from connector.agreement.distances import register
from connector.annotations.choices import as_choice, as_place, as_places, as_set
from connector.annotations.kind import Kind
from connector.annotations.paths import READINGS, as_paths
from connector.annotations.rankings import RANKING
from connector.annotations.regions import REGIONS
from connector.annotations.relations import RELATIONS
from connector.annotations.scalars import number
from connector.annotations.spans import SPANS
from connector.annotations.text import TEXT
from connector.errors import FixConfiguration

SET_DISTANCES = ("masi", "jaccard", "nominal")

KINDS: dict[str, Kind] = {
    "choice": Kind(canonical=as_choice, by_place=as_place),
    "choices": Kind(canonical=as_set, by_place=as_places, distances=SET_DISTANCES, parts=iter, nothing=()),
    "paths": Kind(canonical=as_paths, distances=SET_DISTANCES, parts=iter, nothing=(), readings=READINGS),
    "pairwise": Kind(canonical=as_choice),
    "rating": Kind(level="ordinal", canonical=number),
    "number": Kind(level="interval", canonical=number),
    "date": Kind(level="interval", canonical=number),
    "text": TEXT,
    "ranking": RANKING,
    "spans": SPANS,
    "regions": REGIONS,
    "relations": RELATIONS,
}

LEVELS = ("nominal", "ordinal", "interval", "ratio")
GROUP = "connector.kinds"

NOT_MEASURED_YET = "answers of this kind are stored but not compared yet"
"""The reason given for a question whose kind is not in `KINDS`."""


def known_distances() -> tuple[str, ...]:
    """Every distance that the settings of some question can ask for."""
    return tuple(dict.fromkeys(name for kind in KINDS.values() for name in kind.distances))


def _take_in_others() -> None:
    """The kinds that other packages offer."""
    for point in entry_points(group=GROUP):
        try:
            kind = point.load()
        except Exception as fault:  # whatever a package raises when it is loaded
            raise FixConfiguration(
                f"The kind of annotation '{point.name}' ({point.value}) cannot be loaded: {fault}",
                "Mend or remove the package that offers it.",
            ) from fault
        if point.name in KINDS or not isinstance(kind, Kind):
            what = "is there already" if point.name in KINDS else "is no connector.annotations.kind.Kind"
            raise FixConfiguration(f"The kind of annotation '{point.name}' ({point.value}) {what}.")
        KINDS[point.name] = kind


_take_in_others()
for _kind in KINDS.values():
    for _comparison in _kind.comparisons:
        register(_comparison)
