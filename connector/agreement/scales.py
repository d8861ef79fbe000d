"""What a coefficient's size is called, and what people do about it: published scales, chosen by name.

No scale decides anything: a band says nothing of how sure the value is, and a category's rarity moves every value.
"""

from __future__ import annotations

from typing import NamedTuple


class Band(NamedTuple):
    """One band of a scale: values from `low` up to `high` are called `name`; `advice` is what to do.

    low is None where the band has no lower end, high where it has no upper end.
    """

    name: str
    low: float | None
    high: float | None
    advice: str


class ReadingScale(NamedTuple):
    """A scale's bands, ascending, and its source.

    of_lower : the borders that belong to the band below them (.20 is "slight" in Landis and Koch); others belong to the
        band above.
    """

    bands: tuple[Band, ...]
    source: str
    of_lower: tuple[float, ...] = ()


SCALES: dict[str, ReadingScale] = {
    "landis_koch": ReadingScale(
        (
            Band("poor", None, 0.0, "Look for conflicting standards."),
            Band("slight", 0.0, 0.20, "Retrain the raters."),
            Band("fair", 0.20, 0.40, "Rewrite the guideline."),
            Band("moderate", 0.40, 0.60, "Try it and watch."),
            Band("substantial", 0.60, 0.80, "Ready for use."),
            Band("almost perfect", 0.80, None, "A candidate for gold data."),
        ),
        "Landis and Koch (1977), Biometrics 33, 159-174; the advice is practice, not theirs",
        of_lower=(0.20, 0.40, 0.60, 0.80),
    ),
    "fleiss": ReadingScale(
        (
            Band("poor", None, 0.40, "Poor: not to be used."),
            Band("fair to good", 0.40, 0.75, "Review the conflicts."),
            Band("excellent", 0.75, None, "Train on it."),
        ),
        "Fleiss (1981), Statistical Methods for Rates and Proportions, 2nd ed.",
    ),
    "daily": ReadingScale(
        (
            Band("redo", None, 0.60, "The batch is redone."),
            Band("discuss", 0.60, 0.70, "The disagreements are gone through."),
            Band("release", 0.70, None, "The batch is released."),
        ),
        "daily checks of finished work by two raters: under .6, .6 to .7, above .7",
        of_lower=(0.70,),
    ),
    "krippendorff": ReadingScale(
        (
            Band("unreliable", None, 0.667, "Draw no conclusions from it."),
            Band("tentative", 0.667, 0.800, "Tentative conclusions only."),
            Band("reliable", 0.800, None, "To be relied on."),
        ),
        "Krippendorff (2004), Content Analysis, 2nd ed., p. 241",
    ),
}


def read(value: float, scale: str = "krippendorff") -> Band:
    """The band in which a value lies, unrounded, by a scale's name: landis_koch, fleiss, daily or krippendorff.

    Raises ValueError for an unknown scale or a value that is not a coefficient (NaN, above 1).

    >>> read(0.71).name, read(0.71, "landis_koch").advice
    ('tentative', 'Ready for use.')
    """
    if scale not in SCALES:
        raise ValueError(f"unknown scale {scale!r}: one of {', '.join(SCALES)}")
    # rounding in sums of shares may leave 1 a trace above itself
    if not value <= 1 + 1e-9:
        raise ValueError(f"a coefficient is at most 1, not {value}")
    chosen = SCALES[scale]
    for band in reversed(chosen.bands):
        if band.low is None or value > band.low or (value == band.low and band.low not in chosen.of_lower):
            return band
    raise AssertionError("the lowest band has no lower end")
