"""Agreement on regions: what the coefficients beside alpha mean, and where alpha goes."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import shapely

from connector.agreement.alpha import alpha_statistic, prepare
from connector.agreement.ratings import Level, Ratings
from connector.agreement.regions import IOU_50, IOU_50_95
from connector.agreement.report import QuestionRatings, QuestionReport, assess
from connector.agreement.shapes import Edges, Shapes, figures_of
from connector.annotations.kinds import KINDS


def box(x: float, y: float, *labels: str, side: float = 10, frame: int = 0) -> Any:
    return "rectangle", (float(x), float(y), float(side), float(side), 0.0), labels, frame


def report(*units: Sequence[Any], **more: Any) -> QuestionReport:
    cells = [
        (unit, rater, tuple(sorted(answer)))
        for unit, given in enumerate(units)
        for rater, answer in enumerate(given)
        if answer is not None
    ]
    ratings = Ratings.from_long(*zip(*cells, strict=True))
    question = QuestionRatings("q", "regions", ratings, distance=KINDS["regions"].distance, **more)
    return assess(question, confidence=None).questions["q"]


def apart(one: Sequence[Any], other: Sequence[Any], distance: Any = IOU_50) -> float:
    return float(distance.pairs([tuple(one), tuple(other)], np.array([0]), np.array([1]))[0])


def value(found: QuestionReport, name: str) -> float | None:
    return found.coefficients[name].value


A, B, C = box(0, 0, "Car"), box(30, 0, "Car"), box(60, 60, "Tree")


def test_two_boxes_are_the_same_from_half_their_union_on() -> None:
    assert apart([box(0, 0, "Car", side=10)], [("rectangle", (0.0, 0.0, 5.0, 10.0, 0.0), ("Car",), 0)]) == 0
    assert apart([box(0, 0, "Car", side=10)], [("rectangle", (0.0, 0.0, 4.9, 10.0, 0.0), ("Car",), 0)]) == 1


def test_the_stricter_distance_counts_the_overlaps_that_are_reached() -> None:
    # intersection over union is .8: seven of the ten overlaps
    assert apart([A], [("rectangle", (0.0, 0.0, 8.0, 10.0, 0.0), ("Car",), 0)], IOU_50_95) == pytest.approx(0.3)


def test_regions_of_another_label_or_frame_are_others() -> None:
    assert apart([A], [box(0, 0, "Tree")]) == 1
    assert apart([A], [box(0, 0, "Car", frame=1)]) == 1


def test_a_region_with_two_labels_counts_once_for_each() -> None:
    assert apart([box(0, 0, "Car", "Red")], [A]) == pytest.approx(1 / 3)


def test_both_empty_agree_and_one_empty_does_not() -> None:
    assert (apart([], []), apart([A], [])) == (0, 1)


def test_what_is_matched_is_as_much_as_can_be() -> None:
    # the middle one overlaps both of the other rater's; only without it both find a partner
    one = [
        ("rectangle", (0.0, 0.0, 10.0, 10.0, 0.0), ("Car",), 0),
        ("rectangle", (3.0, 0.0, 10.0, 10.0, 0.0), ("Car",), 0),
    ]
    two = [
        ("rectangle", (1.0, 0.0, 10.0, 10.0, 0.0), ("Car",), 0),
        ("rectangle", (-3.0, 0.0, 10.0, 10.0, 0.0), ("Car",), 0),
    ]
    assert apart(one, two) == 0


def test_polygons_ellipses_and_turned_boxes_overlap_by_area() -> None:
    square = ("polygon", (0.0, 0.0, 0.0, 10.0, 10.0, 10.0, 10.0, 0.0), ("Car",), 0)
    assert apart([A], [square], IOU_50_95) == 0
    # a square turned by 45 degrees about its own middle shares .7071 of the union of both
    turned = ("rectangle", (5.0, 5 - 50**0.5, 10.0, 10.0, 45.0), ("Car",), 0)
    assert apart([A], [turned], IOU_50_95) == pytest.approx(0.5)
    # a circle within covers .785 of it
    assert apart([A], [("ellipse", (5.0, 5.0, 5.0, 5.0, 0.0), ("Car",), 0)], IOU_50_95) == pytest.approx(0.4)


def test_a_polygon_that_crosses_itself_has_the_area_of_its_parts() -> None:
    bow = ("polygon", (0.0, 0.0, 10.0, 10.0, 10.0, 0.0, 0.0, 10.0), ("Car",), 0)
    assert Shapes.of_answers([(bow,)]).area.tolist() == pytest.approx([50])
    assert apart([bow], [bow, C]) == pytest.approx(1 / 3)


def test_masks_overlap_by_pixel_where_their_grids_are_equal() -> None:
    one = ("brush", (4, 4, 0, 8, 8), ("Car",), 0)
    assert apart([one], [("brush", (4, 4, 2, 6, 8), ("Car",), 0)], IOU_50_95) == pytest.approx(0.4)
    assert apart([one], [("brush", (4, 4, 1, 3, 1, 3, 8), ("Car",), 0)]) == pytest.approx(0)
    assert apart([one], [("brush", (8, 2, 0, 8, 8), ("Car",), 0)]) == 1


@pytest.mark.parametrize(
    ("shape", "alike"),
    [
        # of the mask's 32 pixels all, six of eight columns, and the upper six of eight rows
        (("polygon", (0.0, 0.0, 8.0, 0.0, 8.0, 4.0, 0.0, 4.0)), 1.0),
        (("rectangle", (0.0, 0.0, 6.0, 4.0, 0.0)), 24 / 32),
        (("rectangle", (0.0, 0.0, 8.0, 6.0, 0.0)), 32 / 48),
        # a box turned about its corner onto the same place
        (("rectangle", (8.0, 0.0, 4.0, 8.0, 90.0)), 1.0),
        # a disc about the middle of the eight by eight: 16 of its 32 pixels are in the upper half
        (("ellipse", (4.0, 4.0, 3.2, 3.2, 0.0)), 16 / 48),
        (("rectangle", (0.0, 4.0, 8.0, 4.0, 0.0)), 0.0),
    ],
)
def test_a_mask_and_an_outline_of_one_place_are_the_same(shape: Any, alike: float) -> None:
    mask = ("brush", (8, 8, 0, 32, 32), ("Car",), 0)
    outline = (*shape, ("Car",), 0)
    reached = sum(alike >= 0.5 + 0.05 * step - 1e-9 for step in range(10))
    assert apart([mask], [outline], IOU_50_95) == pytest.approx(1 - reached / 10)
    assert apart([outline], [mask], IOU_50_95) == pytest.approx(1 - reached / 10)
    assert apart([mask], [(*shape, ("Tree",), 0)]) == 1
    assert apart([mask], [(*shape, ("Car",), 1)]) == 1
    found = report([(mask,), (outline,)], [(C,), (C,)])
    assert value(found, "mean_iou") == pytest.approx((alike + 1) / 2 if alike >= 0.5 else 1)


def test_masks_and_outlines_among_many_match_as_pixel_by_pixel() -> None:
    random_ = random.Random(3)
    side, answers = 40, []
    for _ in range(30):
        regions: list[Any] = []
        for _ in range(random_.randint(1, 5)):
            x, y, w, h = (
                random_.randint(0, 24),
                random_.randint(0, 24),
                random_.randint(4, 14),
                random_.randint(4, 14),
            )
            if random_.random() < 0.5:
                regions.append(("rectangle", (x + 0.3, y + 0.4, float(w), float(h), 0.0), ("Car",), 0))
            else:
                # the box as a mask, row by row
                runs = [y * side + x, *([w, side - w] * h)]
                runs[-1] += side * side - sum(runs)
                regions.append(("brush", (side, side, *runs), ("Car",), 0))
        answers.append(tuple(sorted(set(regions))))

    def painted(region: Any) -> Any:
        rows, columns = np.mgrid[0:side, 0:side] + 0.5
        if region[0] == "rectangle":
            x, y, w, h, _ = region[1]
            return (x <= columns) & (columns < x + w) & (y <= rows) & (rows < y + h)
        lengths = region[1][2:]
        return np.repeat(np.arange(len(lengths)) % 2 == 1, lengths).reshape(side, side)

    def alike(one: Any, other: Any) -> float:
        if one[0] == other[0] == "rectangle":
            (x, y, w, h, _), (x2, y2, w2, h2, _) = one[1], other[1]
            across, down = min(x + w, x2 + w2) - max(x, x2), min(y + h, y2 + h2) - max(y, y2)
            common = max(across, 0) * max(down, 0)
            return float(common / (w * h + w2 * h2 - common))
        a, b = painted(one), painted(other)
        return float((a & b).sum() / (a | b).sum())

    shapes = Shapes.of_answers(answers)
    a, b = np.triu_indices(len(answers), 1)
    edges = Edges.joined(shapes.edges(shapes.whole, a, b))
    region = shapes.whole.region
    found = {
        (i, j): near
        for i, j, near in zip(region[edges.mine].tolist(), region[edges.theirs].tolist(), edges.alike, strict=True)
    }
    expected = {
        (i, j): near
        for i, one in enumerate(shapes.regions)
        for j, other in enumerate(shapes.regions)
        if shapes.of[i] < shapes.of[j] and (near := alike(one, other)) >= 0.5 - 1e-9
    }
    assert any(shapes.regions[i][0] != shapes.regions[j][0] for i, j in expected)
    assert found == pytest.approx(expected)


def test_lines_match_as_bands_of_their_reach_to_both_sides() -> None:
    def line(*ends: float, reach: float = 3) -> Any:
        return "line", (*map(float, ends), float(reach)), ("Road",), 0

    # long straight lines d apart share (2 r - d) / (2 r + d): half of it at two thirds of their reach
    far = 100_000
    assert apart([line(0, 0, far, 0)], [line(0, 1.99, far, 1.99)]) == 0
    assert apart([line(0, 0, far, 0)], [line(0, 2.01, far, 2.01)]) == 1
    assert apart([line(0, 0, far, 0)], [line(0, 1, far, 1)], IOU_50_95) == pytest.approx(1 - 5 / 10)
    # one drawn in two pieces, and a branch that is a tenth of it
    assert apart([line(0, 0, 50, 0, 50, 0, 100, 0)], [line(0, 0, 100, 0)], IOU_50_95) == 0
    assert apart([line(0, 0, far, 0, 0, 0, 0, far / 9)], [line(0, 0, far, 0)], IOU_50_95) == pytest.approx(1 - 9 / 10)
    # what has an area is something else
    assert apart([line(0, 0, 10, 0)], [("rectangle", (0.0, -3.0, 10.0, 6.0, 0.0), ("Road",), 0)]) == 1


def wandering(n: int, seed: int) -> list[tuple[float, float]]:
    rng = random.Random(seed)
    return [(rng.uniform(0, 1000), rng.uniform(0, 1000)) for _ in range(n)]


def test_the_band_of_a_line_is_what_lies_within_its_reach() -> None:
    corners = wandering(20, 3)
    pieces = [part for one, other in pairwise(corners) for part in (*one, *other)]
    (band,) = figures_of(["line"], [(*pieces, 14.0)])
    whole = shapely.buffer(shapely.multilinestrings(list(pairwise(corners))), 14.0)
    assert shapely.symmetric_difference(band, whole).area < 1e-6


def test_what_a_crossed_ring_holds_is_what_it_goes_round_an_odd_number_of_times() -> None:
    rng = np.random.default_rng(6)
    x, y = rng.random((2, 500)) * 5
    for _ in range(60):
        # corners on a grid, so that sides run along each other and through corners
        ring = rng.integers(0, 6, (int(rng.integers(4, 20)), 2)).astype(float)
        (figure,) = figures_of(["polygon"], [tuple(ring.ravel())])
        (x1, y1), (x2, y2) = ring.T[:, :, None], np.roll(ring, -1, axis=0).T[:, :, None]
        passed = (y1 > y) != (y2 > y)
        at = x1 + (y - y1) * np.divide(x2 - x1, y2 - y1, out=np.zeros_like(x1), where=y2 != y1)
        odd = np.count_nonzero(passed & (x < at), axis=0) % 2 == 1
        assert (shapely.contains_xy(figure, x, y) == odd).all()
        assert shapely.is_valid(figure)


def test_outlines_that_cross_themselves_thousands_of_times_take_seconds() -> None:
    started = time.process_time()
    for place in range(2):
        corners = wandering(1000, place)
        pieces = [part for one, other in pairwise(corners) for part in (*one, *other)]
        figures_of(["line", "polygon"], [(*pieces, 14.0), [part for one in corners[:300] for part in one]])
    assert time.process_time() - started < 8


def test_an_outline_is_looked_at_no_farther_than_the_grid_of_a_mask_goes() -> None:
    whole, half = ("brush", (4, 4, 0, 16), ("a",), 0), ("brush", (4, 4, 0, 7, 9), ("a",), 0)
    far = ("rectangle", (0.0, 0.0, 1e15, 1e15, 0.0), ("a",), 0)
    assert apart([whole], [far]) == 0
    assert apart([half], [far]) == 1


def test_every_overlap_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    import shapely

    random_ = random.Random(7)

    def blob(x: float, y: float, label: str) -> Any:
        corners = [(x + random_.uniform(0, 2), y), (x + 10, y + random_.uniform(0, 2)), (x + 10, y + 10), (x, y + 9)]
        return "polygon", tuple(float(part) for corner in corners for part in corner), (label,), 0

    units = [[[blob(12 * n, 0, random_.choice("AB")) for n in range(4)] for _ in range(3)] for _ in range(6)]
    pairs: list[tuple[str, str]] = []
    intersection = shapely.intersection

    def counted(one: Any, other: Any) -> Any:
        pairs.extend(tuple(sorted(pair)) for pair in zip(shapely.to_wkt(one), shapely.to_wkt(other), strict=True))
        return intersection(one, other)

    monkeypatch.setattr(shapely, "intersection", counted)
    cells = [(unit, rater, tuple(answer)) for unit, given in enumerate(units) for rater, answer in enumerate(given)]
    prepared = prepare(Ratings.from_long(*zip(*cells, strict=True)), Level.NOMINAL, "iou_50")
    # alpha and the labels one by one compare within labels, the others whatever the label
    alpha_statistic(prepared, "iou_50")
    found = IOU_50.companions(prepared)
    assert [one.category for one in IOU_50.findings(prepared, (), None, 1)] == ["A", "B"]
    assert IOU_50.confusions(prepared)[0].n > 0
    assert found["detection_f1"].found.value == 1
    assert len(pairs) == len(set(pairs)) > 0


def test_key_points_match_by_distance() -> None:
    def point(x: float) -> Any:
        return "keypoint", (x, 50.0, 2.0), ("Nose",), 0

    assert apart([point(10)], [point(12)]) == 0
    assert apart([point(10)], [point(12.1)]) == 1
    assert apart([point(10)], [point(11)], IOU_50_95) == pytest.approx(0.4)


def test_identical_regions_in_another_order_agree_fully() -> None:
    found = report([(A, B), (B, A)], [(C,), (C,)])
    assert value(found, "krippendorff_alpha") == value(found, "detection_f1") == value(found, "mean_iou") == 1
    assert value(found, "krippendorff_alpha_labels") == 1
    assert [found.units[unit].status for unit in (0, 1)] == ["agreed", "agreed"]


def test_what_is_no_distance_apart_is_agreed_and_what_is_some_is_not() -> None:
    """Two hands never draw the same numbers."""
    moved = ("rectangle", (*(part + 0.5 for part in A[1][:4]), 0.0), A[2], A[3])
    found = report([(A,), (moved,)], [(A, B), (moved,)], [(A,), (A,)])
    assert [(found.units[unit].agreement, found.units[unit].status) for unit in (0, 1, 2)] == [
        (1.0, "agreed"),
        (0.67, "majority"),
        (1.0, "agreed"),
    ]


def test_one_who_marks_nothing_against_one_who_marks_lowers_alpha() -> None:
    full = report([(A,), (A,)], [(B,), (B,)], [(C,), (C,)])
    less = report([(A,), (A,)], [(B,), (B,)], [(C,), ()])
    assert value(full, "krippendorff_alpha") == 1
    assert value(less, "krippendorff_alpha") == pytest.approx(1 - (1 / 3) / (13 / 15))
    assert (less.units[2].agreement, less.units[2].status) == (0.0, "conflict")


def test_nothing_on_both_sides_is_agreement() -> None:
    assert value(report([(), ()], [(A,), (A,)]), "krippendorff_alpha") == 1


def test_nothing_anywhere_is_undefined_and_not_agreement() -> None:
    found = report([(), ()], [(), ()])
    assert {
        one.reason
        for name, one in found.coefficients.items()
        if name not in ("percent_agreement", "cohen_kappa", "fleiss_kappa")
    } == {"no_variation"}
    assert (found.categories, found.pairs) == ([], [])


def test_one_label_and_two_raters_who_nearly_agree_give_a_high_alpha() -> None:
    rng = random.Random(5)
    units = []
    for _ in range(60):
        regions = [box(rng.randrange(0, 900), 20 * place, "Car") for place in range(10)]
        units.append((tuple(regions), tuple(one for one in regions if rng.random() < 0.9)))
    found = report(*units)
    f1, alpha = value(found, "detection_f1"), value(found, "krippendorff_alpha")
    assert f1 is not None
    assert alpha is not None
    assert f1 == pytest.approx(0.95, abs=0.02)
    assert alpha == pytest.approx(0.94, abs=0.03)
    # labels never differ: nothing to agree on there
    assert found.coefficients["krippendorff_alpha_labels"].reason == "no_variation"


def test_detection_and_overlap_do_not_ask_for_the_label() -> None:
    found = report(
        [(A, B), (box(0, 0, "Tree"), ("rectangle", (30.0, 0.0, 10.0, 8.0, 0.0), ("Car",), 0))], [(C,), (C, A)]
    )
    # 3 of the 4 and 3 regions match
    assert value(found, "detection_f1") == pytest.approx(6 / 7)
    assert value(found, "mean_iou") == pytest.approx((1 + 0.8 + 1) / 3)
    assert [(one.a, one.b, one.n, one.share) for one in found.pairs] == [("Car", "Tree", 1, 1.0)]


def test_alpha_of_labels_is_krippendorffs_over_matched_regions() -> None:
    found = report([(A, B), (box(0, 0, "Tree"), B)], [(C,), (C,)])
    # Car-Tree, Car-Car, Tree-Tree: nominal alpha of those three units
    assert value(found, "krippendorff_alpha_labels") == pytest.approx(1 - 5 * 2 / (36 - 9 - 9))


def test_regions_without_a_label_are_found_but_are_no_category() -> None:
    found = report([(box(0, 0),), (A,)], [(C,), (C,)])
    assert value(found, "detection_f1") == 1
    assert [one.category for one in found.categories] == ["Car", "Tree"]
    assert [(one.a, one.b) for one in found.pairs] == [("Car", "(no label)")]
    assert found.coefficients["krippendorff_alpha_labels"].reason == "no_variation"


def test_three_raters_of_whom_two_are_equal_weigh_as_three() -> None:
    found = report([(A,), (A,), (B,)], [(C,), (C,), (C,)])
    assert found.units[0].agreement == 0.33
    # of the 3 + 3 pairs of regions 1 + 3 match
    assert value(found, "detection_f1") == pytest.approx(4 / 6)


def test_each_label_stands_by_itself() -> None:
    found = report([(A, C), (A,)], [(B, C), (B, C)], categories=("Car", "Tree", "Dog"))
    car, tree, dog = found.categories
    assert (car.specific_agreement, car.one_vs_rest) == (1, 1)
    assert tree.specific_agreement == pytest.approx(2 / 3)
    # one C is missing: (3 pairs of six agree), one of the four answers differs from its partner
    assert tree.one_vs_rest == pytest.approx(1 - (1 / 2) / (3 / 6))
    assert (dog.share, dog.one_vs_rest, dog.reason) == (0, None, "no_variation")
    assert found.n_categories == 3


def test_the_consensus_holds_what_at_least_half_of_the_raters_marked() -> None:
    near = ("rectangle", (1.0, 0.0, 10.0, 10.0, 0.0), ("Car",), 0)
    far = ("rectangle", (-1.0, 0.0, 10.0, 10.0, 0.0), ("Car",), 0)
    found = report([(A, B), (near, C), (far,), ()])
    # the one in the middle stands for the three that overlap
    assert found.units[0].majority == (A,)


def test_two_raters_are_each_half() -> None:
    assert report([(A, B), (A, C)]).units[0].majority == (A, B, C)


def test_many_answers_estimate_what_is_expected_and_say_how_sure_that_is() -> None:
    rng = random.Random(1)
    units = []
    for _ in range(300):
        regions = [box(rng.randrange(0, 60), 20 * place, rng.choice(("Car", "Tree"))) for place in range(3)]
        units.append((tuple(regions), tuple(one for one in regions if rng.random() < 0.8)))
    sampled = report(*units)
    error = sampled.alpha.expected_error
    assert error is not None
    assert 0 < error < 0.002
    exact = IOU_50.matrix(sampled.prepared.ratings.codebook.categories)
    counts = sampled.patterns.marginals
    n = counts.sum()
    assert sampled.alpha.expected == pytest.approx(counts @ exact @ counts / (n * (n - 1)), abs=0.01)
    tree = next(one for one in sampled.categories if one.category == "Tree")
    assert tree.one_vs_rest == pytest.approx(sampled.alpha.value, abs=0.1)


def test_what_is_no_set_of_regions_is_the_wrong_level() -> None:
    ratings = Ratings.from_long([0, 0], ["a", "b"], ["Car", "Tree"])
    found = assess(
        QuestionRatings("q", "regions", ratings, distance=KINDS["regions"].distance), confidence=None
    ).questions["q"]
    assert found.alpha.reason == "wrong_level"


def test_intervals_redraw_whole_images() -> None:
    units = [((box(place, 0, "Car"),), (box(place, 0, "Car"),) if place % 50 else ()) for place in range(0, 1200, 10)]
    cells = [(unit, rater, answer) for unit, given in enumerate(units) for rater, answer in enumerate(given)]
    question = QuestionRatings(
        "q", "regions", Ratings.from_long(*zip(*cells, strict=True)), distance=KINDS["regions"].distance
    )
    found = assess(question).questions["q"].coefficients
    for name in ("krippendorff_alpha", "detection_f1"):
        one = found[name]
        assert one.low is not None
        assert one.high is not None
        assert one.value is not None
        assert one.low < one.value < one.high
        assert one.high - one.low < 0.3


def test_the_interval_of_a_sampled_expectation_is_no_wider_than_the_data_make_it() -> None:
    rng = random.Random(2)
    units = []
    for number in range(600):
        regions = [box(1000 * number, 20 * place, "Car") for place in range(10)]
        units.append((tuple(regions), tuple(one for one in regions if rng.random() < 0.8)))
    cells = [(unit, rater, answer) for unit, given in enumerate(units) for rater, answer in enumerate(given)]
    ratings = Ratings.from_long(*zip(*cells, strict=True))
    found = assess(QuestionRatings("q", "regions", ratings, distance=KINDS["regions"].distance)).questions["q"]
    # nothing is alike across images, so that alpha is 1 less the mean distance, and its error that of a mean
    distances = np.array([apart(*unit) for unit in units])
    width = 2 * 1.96 * distances.std() / len(units) ** 0.5
    assert found.alpha.value == pytest.approx(1 - distances.mean(), abs=0.001)
    assert found.alpha.low is not None
    assert found.alpha.high is not None
    assert found.alpha.high - found.alpha.low == pytest.approx(width, rel=0.1)
