"""The pairwise similarity of regions beside what Label Studio's older open engine (label-studio-evalme) gives.

Of one box per image, and of boxes that match or do not, it gives F1. Of videos it gives the intersection over the union
of frames; ours is F1 over them, the same told otherwise: F1 / (2 - F1). Neither is corrected for chance.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from connector.agreement.regions import IOU_50
from connector.agreement.shapes import figures_of
from connector.annotations.model import Annotation, Unit
from connector.tools.label_studio.regions import RegionReader, is_region

CASES = json.loads((Path(__file__).parent / "cases" / "evalme_regions.json").read_text(encoding="utf-8"))["cases"]
KNOWN = {one["id"]: one for one in CASES}


def answers(case: str, control: str | None = None) -> list[Any]:
    """Both raters' answers to one control."""
    given = [
        [
            {**one, "from_name": "q"}
            for one in KNOWN[case][side]
            if is_region(one) and control in (None, one.get("from_name"))
        ]
        for side in ("x", "y")
    ]
    unit = Unit("1", [Annotation(str(place), str(place), results) for place, results in enumerate(given)])
    reader = RegionReader("q")
    return [reader.read(results, unit) for results in given]


def f1(case: str, control: str | None = None) -> float:
    return 1 - float(IOU_50.pairs(answers(case, control), np.array([0]), np.array([1]))[0])


@pytest.mark.parametrize(
    "case",
    ["evalme-069", "evalme-103", "evalme-111", "evalme-124", "evalme-134", "evalme-136", "evalme-137"],
)
def test_boxes_polygons_and_key_points_match_or_not(case: str) -> None:
    assert f1(case) == KNOWN[case]["expected"]


def test_the_labels_of_shapes_that_another_control_drew() -> None:
    assert f1("evalme-148", "label") == KNOWN["evalme-148"]["expected"]
    assert f1("evalme-160", "label") == KNOWN["evalme-160"]["expected"]


@pytest.mark.parametrize("case", ["evalme-225", "evalme-227", "evalme-231", "evalme-233", "evalme-235"])
def test_boxes_in_videos_match_by_frame(case: str) -> None:
    found = f1(case)
    assert found / (2 - found) == pytest.approx(KNOWN[case]["expected"])


@pytest.mark.parametrize("case", ["evalme-152", "evalme-154", "evalme-156"])
def test_the_region_under_a_text_is_the_same_where_the_texts_differ_alone(case: str) -> None:
    # the engine's .8 is the likeness of the texts, which are another question
    assert (f1(case), KNOWN[case]["expected"]) == (1, 0.8)


@pytest.mark.parametrize("case", ["evalme-139", "evalme-140", "evalme-146"])
def test_polygons_that_cross_themselves_are_made_valid(case: str) -> None:
    points = tuple(part for point in KNOWN[case]["points"] for part in point)
    (figure,) = figures_of(["polygon"], [points])
    assert figure.is_valid
    assert KNOWN[case]["expected"].startswith(f"<{figure.geom_type.upper()} ")


def test_where_the_engine_is_wrong_a_region_too_many_counts() -> None:
    # it drops the surplus region: 1 of 2 and 1, which is F1 2/3
    assert [len(one) for one in answers("evalme-150", "label")] == [2, 1]
    assert f1("evalme-150", "label") == pytest.approx(2 / 3)
    assert KNOWN["evalme-150"]["expected"] == 0.5


def test_where_the_engine_is_wrong_another_label_is_another_region() -> None:
    # it compares the key frames alone, whatever their label
    assert (f1("evalme-237"), KNOWN["evalme-237"]["expected"]) == (0, 1)


def test_a_box_that_moves_is_followed_from_frame_to_frame() -> None:
    # 3 frames of 4 and 4 in common, in each of which the boxes overlap by more than half; the engine weighs each by how
    # much
    assert f1("evalme-229") == pytest.approx(0.75)
    assert KNOWN["evalme-229"]["expected"] == pytest.approx(0.4168, abs=1e-4)
