"""Regions of images: what is mended, what is left out, and that it is counted."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pytest
import shapely

from connector.agreement.shapes import corners, figures_of
from connector.annotations import regions
from connector.annotations.display import text_of
from connector.annotations.regions import NOTES, REGIONS, Image

IMAGE = Image(200.0, 100.0, known=True)


def box(*sides: Any, image: Image = IMAGE) -> tuple[Any, dict[str, int]]:
    notes: Counter[str] = Counter()
    found = regions.rectangle((*sides, 0)[:5], image, notes)
    assert set(notes) <= set(NOTES)
    return found and found[1], dict(+notes)


def drawn(points: list[Any]) -> tuple[Any, dict[str, int]]:
    notes: Counter[str] = Counter()
    found = regions.polygon(points, IMAGE, notes)
    return found and found[1], dict(+notes)


def test_a_box_is_in_pixels_from_the_top_left_corner() -> None:
    assert box(10, 20, 30, 40) == ((20.0, 20.0, 60.0, 40.0, 0.0), {})


def test_without_the_image_s_size_it_is_in_percent() -> None:
    assert box(10, 20, 30, 40, image=Image()) == ((10.0, 20.0, 30.0, 40.0, 0.0), {})


@pytest.mark.parametrize(
    ("sides", "kept"),
    [
        ((-5, 0, 15, 50), (0.0, 0.0, 20.0, 50.0, 0.0)),
        ((90, 0, 15, 50), (180.0, 0.0, 20.0, 50.0, 0.0)),
        ((0, -10, 10, 20), (0.0, 0.0, 20.0, 10.0, 0.0)),
        ((0, 90, 10, 20), (0.0, 90.0, 20.0, 10.0, 0.0)),
    ],
)
def test_a_box_that_reaches_beyond_its_image_is_cut_there(sides: Any, kept: Any) -> None:
    assert box(*sides) == (kept, {"clipped": 1})


def test_rounding_at_the_edge_is_no_reaching_beyond() -> None:
    found, notes = box(90, 0, 10.0000000001, 50)
    assert (found[0] + found[2], notes) == (200.0, {})


@pytest.mark.parametrize(
    "sides", [(2560, 6130, 520, 890), (-30, 0, 20, 20), (105, 0, 20, 20), (50, 20, 520, 30), (0, 0, 10, 250)]
)
def test_a_box_that_cannot_be_right_is_left_out_and_not_guessed_at(sides: Any) -> None:
    assert box(*sides) == (None, {"outside": 1})


@pytest.mark.parametrize(
    "sides",
    [(math.nan, 0, 1, 1), (0, math.inf, 1, 1), (None, 0, 1, 1), (0, 0, "wide", 1), (0, 0, True, 1), (0, 0, 10**400, 1)],
)
def test_a_box_without_numbers_is_left_out(sides: Any) -> None:
    assert box(*sides) == (None, {"invalid": 1})


@pytest.mark.parametrize("sides", [(10, 10, 0, 5), (10, 10, 5, 0)])
def test_a_box_without_extent_is_left_out(sides: Any) -> None:
    assert box(*sides) == (None, {"flat": 1})


def test_a_box_drawn_towards_the_top_left_is_the_same_box() -> None:
    assert box(40, 60, -30, -40) == box(10, 20, 30, 40)


@pytest.mark.parametrize(
    ("turn", "corner"), [(90, (40, 20)), (180, (40, 60)), (270, (10, 60)), (360, (10, 20)), (-270, (40, 20))]
)
def test_a_box_turned_by_right_angles_stands_straight(turn: float, corner: tuple[float, float]) -> None:
    square = Image(100.0, 100.0, known=True)
    sides = (30, 40) if turn % 180 == 0 else (40, 30)
    assert box(*corner, *sides, turn, image=square) == (box(10, 20, 30, 40, image=square))


def test_a_box_is_turned_about_its_corner_in_pixels() -> None:
    notes: Counter[str] = Counter()
    found = regions.rectangle((50, 50, 10, 20, 30), IMAGE, notes)
    assert found is not None
    assert found[1] == pytest.approx((100, 50, 20, 20, 30))
    second = corners(*found)[1]
    assert second.tolist() == pytest.approx([100 + 20 * math.cos(math.pi / 6), 50 + 20 * math.sin(math.pi / 6)])


def test_a_turned_box_on_an_image_of_unknown_size_is_counted() -> None:
    assert box(50, 50, 10, 20, 30, image=Image())[1] == {"size_unknown": 1}


def test_a_turned_box_beyond_the_edge_becomes_the_polygon_that_is_left() -> None:
    notes: Counter[str] = Counter()
    found = regions.rectangle((0, 0, 50, 50, 45), Image(100.0, 100.0, known=True), notes)
    assert found is not None
    # the left half of the square is outside
    assert (found[0], dict(+notes)) == ("polygon", {"clipped": 1})
    assert shapely.area(figures_of([found[0]], [found[1]])[0]) == pytest.approx(50 * 50 / 2)


def test_a_polygon_is_the_same_whichever_corner_was_drawn_first() -> None:
    corners = [[10, 10], [50, 10], [50, 60], [30, 80]]
    found = {drawn(corners[first:] + corners[:first])[0] for first in range(4)}
    assert found | {drawn(corners[::-1])[0]} == {(20.0, 10.0, 60.0, 80.0, 100.0, 60.0, 100.0, 10.0)}


@pytest.mark.parametrize(
    "points", [None, [], "abc", [[1]], [[1, 2], [3, None], [4, 5]], [[1, 2], [3, math.nan], [4, 5]]]
)
def test_a_polygon_without_points_is_left_out(points: Any) -> None:
    assert drawn(points) == (None, {"invalid": 1})


@pytest.mark.parametrize("points", [[[1, 2]], [[1, 2], [3, 4]], [[1, 1], [2, 2], [3, 3]], [[1, 1], [2, 2], [1, 1]]])
def test_a_polygon_without_area_is_left_out(points: Any) -> None:
    assert drawn(points) == (None, {"flat": 1})


def test_a_polygon_beyond_the_edge_is_cut_there() -> None:
    assert drawn([[-10, 0], [50, 0], [50, 50], [-10, 50]]) == (
        (0.0, 0.0, 0.0, 50.0, 100.0, 50.0, 100.0, 0.0),
        {"clipped": 1},
    )


def test_a_polygon_far_outside_is_left_out() -> None:
    assert drawn([[1000, 0], [5000, 0], [5000, 5000]]) == (None, {"outside": 1})


def test_an_ellipse_is_in_pixels() -> None:
    notes: Counter[str] = Counter()
    assert regions.ellipse((50, 50, 10, 20, 190), IMAGE, notes) == ("ellipse", (100.0, 50.0, 20.0, 20.0, 10.0))
    assert not +notes


def test_a_key_point_outside_is_moved_to_the_edge_and_a_far_one_left_out() -> None:
    notes: Counter[str] = Counter()
    reach = 0.01 * math.hypot(200, 100)
    assert regions.keypoint(101, 50, IMAGE, notes) == ("keypoint", (200.0, 50.0, reach))
    assert regions.keypoint(1010, 50, IMAGE, notes) is None
    assert notes == {"clipped": 1, "outside": 1}


def lines(*pieces: Any) -> tuple[Any, dict[str, int]]:
    notes: Counter[str] = Counter()
    found = regions.line(pieces, IMAGE, notes)
    assert set(notes) <= set(NOTES)
    return found and found[1][:-1], dict(+notes)


def test_a_line_is_in_pixels_with_a_reach_of_a_hundredth_of_the_diagonal() -> None:
    notes: Counter[str] = Counter()
    found = regions.line([(0, 10, 50, 20), (50, 20, 50, 90)], IMAGE, notes)
    assert found == ("line", (0.0, 10.0, 100.0, 20.0, 100.0, 20.0, 100.0, 90.0, 0.01 * math.hypot(200, 100)))


def test_a_line_is_the_same_whichever_end_was_drawn_first() -> None:
    assert lines((50, 90, 50, 20), (50, 20, 0, 10)) == lines((0, 10, 50, 20), (50, 20, 50, 90))
    assert lines((0, 10, 50, 20), (0, 10, 50, 20))[0] == (0.0, 10.0, 100.0, 20.0)


@pytest.mark.parametrize(
    ("piece", "kept"),
    [
        ((-50, 50, 50, 50), (0, 50, 100, 50)),
        ((50, -50, 50, 150), (100, 0, 100, 100)),
        ((-10, 40, 10, 60), (0, 50, 20, 60)),
        ((90, 90, 110, 110), (180, 90, 200, 100)),
        # along the edge it is inside
        ((0, 0, 100, 0), (0, 0, 200, 0)),
        ((100, 0, 100, 120), (200, 0, 200, 100)),
    ],
)
def test_a_line_beyond_the_edge_is_cut_there(piece: Any, kept: Any) -> None:
    found, notes = lines(piece)
    assert found == pytest.approx(kept)
    inside = all(0 <= part <= 100 for part in piece)
    assert notes == {"lines": 1} | ({} if inside else {"clipped": 1})
    # what is beside the image goes, the rest stays
    assert lines(piece, (-20, 10, -10, 20)) == (found, {"lines": 1, "clipped": 1})


@pytest.mark.parametrize(
    "piece", [(-20, 10, -10, 20), (110, 50, 120, 50), (20, 101, 60, 130), (-10, 90, 10, 115), (50, 50, 250, 50)]
)
def test_a_line_beside_its_image_is_left_out(piece: Any) -> None:
    assert lines(piece) == (None, {"outside": 1})


def test_a_line_without_length_is_left_out() -> None:
    assert lines((50, 50, 50, 50)) == (None, {"flat": 1})


def test_a_mask_needs_all_its_pixels_and_one_inside() -> None:
    notes: Counter[str] = Counter()
    assert regions.mask([2, 3, 1], 3, 2, notes) == ("brush", (3, 2, 2, 3, 1))
    assert regions.mask([6], 3, 2, notes) is None
    assert regions.mask([2, 3], 3, 2, notes) is None
    assert notes == {"flat": 1, "invalid": 1}


def test_a_track_moves_evenly_between_its_key_frames_and_rests_where_it_is_switched_off() -> None:
    keys = [(1, True, (0, 0, 10, 10, 0)), (3, False, (4, 0, 10, 10, 0)), (6, True, (9, 9, 1, 1, 0))]
    found = [(frame, sides[0]) for frame, sides in regions.track(keys, 8, range(1, 20))]
    assert found == [(1, 0), (2, 2), (3, 4), (6, 9), (7, 9), (8, 9)]
    assert list(regions.stretches(keys, 8)) == [(1, 2), (3, 3), (6, 8)]


def test_every_frame_that_somebody_marked_is_compared() -> None:
    assert regions.compared_frames([(6, 8), (1, 2), (2, 3), (7, 7)]) == ([1, 2, 3, 6, 7, 8], False)


def test_of_very_many_marked_frames_evenly_spaced_ones_are_compared() -> None:
    found, sampled = regions.compared_frames([(1, 1), (5_000_001, 6_000_000), (1, 3)])
    assert sampled
    assert len(found) == regions.MOST_FRAMES
    assert found[:3] == [1, 5_000_999, 5_002_000]


def test_a_region_drawn_twice_counts_once() -> None:
    notes: Counter[str] = Counter()
    one = ("rectangle", (0.0, 0.0, 1.0, 1.0, 0.0), ("A",), 0)
    assert regions.answer([one, one], notes) == (one,)
    assert notes == {"repeated": 1}


def test_labels_are_renamed_and_regions_that_become_equal_are_one() -> None:
    a, b = (("rectangle", (0.0, 0.0, 1.0, 1.0, 0.0), (label,), 0) for label in ("Auto", "Car"))
    assert REGIONS.rename((a, b), {"Auto": "Car"}) == (b,)


@pytest.mark.parametrize(
    ("region", "text"),
    [
        (("rectangle", (10.0, 20.0, 30.04, 40.0, 0.0), ("Car", "Red"), 0), "Car, Red: rectangle 30 x 40 at 10, 20"),
        (("ellipse", (10.0, 20.0, 3.0, 4.0, 0.0), (), 7), "ellipse 3 x 4 around 10, 20 (frame 7)"),
        (("polygon", (1.0, 2.0, 3.0, 4.0, 5.0, 0.0), ("A",), 0), "A: polygon of 3 corners at 1, 2"),
        (("keypoint", (1.5, 2.0, 3.0), ("A",), 0), "A: key point at 1.5, 2"),
        (("line", (1.5, 2.0, 3.0, 4.0, 1.0), ("A",), 0), "A: line from 1.5, 2"),
        (("brush", (3, 2, 2, 3, 1), ("A",), 0), "A: mask of 3 pixels"),
    ],
)
def test_people_read_a_region_as_words(region: Any, text: str) -> None:
    assert text_of((region,), "regions") == text


def test_people_read_nothing_labels_and_sets_of_labels() -> None:
    assert [text_of(one, "regions") for one in ((), "Car", ("Car", "Red"))] == ["(nothing marked)", "Car", "Car, Red"]


def test_of_very_many_regions_people_read_how_many_there_are() -> None:
    answer = tuple(("rectangle", (0.0, 0.0, 1.0, 1.0, 0.0), ("Car",) if n < 25 else (), n) for n in range(30))
    assert text_of(answer, "regions") == "30 regions: Car 25; no label 5"
