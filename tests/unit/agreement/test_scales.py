from __future__ import annotations

import math
from itertools import pairwise

import pytest

from connector.agreement.scales import SCALES, read


@pytest.mark.parametrize(
    ("scale", "value", "name", "advice"),
    [
        ("landis_koch", -0.01, "poor", "conflicting standards"),
        ("landis_koch", 0.0, "slight", "Retrain"),
        ("landis_koch", 0.20, "slight", "Retrain"),
        ("landis_koch", 0.21, "fair", "Rewrite the guideline"),
        ("landis_koch", 0.41, "moderate", "watch"),
        ("landis_koch", 0.60, "moderate", "watch"),
        ("landis_koch", 0.61, "substantial", "Ready"),
        ("landis_koch", 0.81, "almost perfect", "gold"),
        ("landis_koch", 1.0, "almost perfect", "gold"),
        ("fleiss", 0.39, "poor", "Poor"),
        ("fleiss", 0.40, "fair to good", "Review the conflicts"),
        ("fleiss", 0.7499, "fair to good", "Review the conflicts"),
        ("fleiss", 0.75, "excellent", "Train on it"),
        ("daily", 0.59, "redo", "redone"),
        ("daily", 0.60, "discuss", "gone through"),
        ("daily", 0.70, "discuss", "gone through"),
        ("daily", 0.701, "release", "released"),
        ("krippendorff", 0.6669, "unreliable", "no conclusions"),
        ("krippendorff", 0.667, "tentative", "Tentative"),
        ("krippendorff", 0.7999, "tentative", "Tentative"),
        ("krippendorff", 0.8, "reliable", "relied on"),
    ],
)
def test_bands(scale: str, value: float, name: str, advice: str) -> None:
    band = read(value, scale)
    assert band.name == name
    assert advice in band.advice


@pytest.mark.parametrize("scale", SCALES)
def test_bands_meet_and_cover_everything(scale: str) -> None:
    bands = SCALES[scale].bands
    assert bands[0].low is None
    assert bands[-1].high is None
    assert all(below.high == above.low for below, above in pairwise(bands))
    assert set(SCALES[scale].of_lower) <= {band.low for band in bands}
    assert read(-1.0, scale) == bands[0]
    assert read(1 + 1e-12, scale) == bands[-1]


@pytest.mark.parametrize("value", [math.nan, 1.2, math.inf])
def test_no_band_for_what_is_no_coefficient(value: float) -> None:
    with pytest.raises(ValueError, match="at most 1"):
        read(value)


def test_an_unknown_scale_is_named() -> None:
    with pytest.raises(ValueError, match="landis_koch"):
        read(0.5, "landis")
