"""Boxes, ellipses, polygons, key points, masks and tracks as Label Studio stores them, and reported faults."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from connector.agreement.report import QuestionRatings, QuestionReport, assess
from connector.annotations.collect import QuestionChoice, QuestionTable
from connector.tools.label_studio.config import schema_of
from connector.tools.label_studio.regions import mask_runs
from tests.unit.label_studio_files.tasks import CASES, annotation, report, table_of, task, values

LABELS = '<Label value="Car"/><Label value="Tree" alias="Plant"/>'
IMAGE = '<Image name="image" value="$image"/>'
BOXES = f'<View><RectangleLabels name="q" toName="image">{LABELS}</RectangleLabels>{IMAGE}</View>'
TOOLS = (
    f'<View>{IMAGE}<Labels name="q" toName="image">{LABELS}</Labels><Rectangle name="box" toName="image"/>'
    '<Brush name="brush" toName="image"/></View>'
)
VIDEO = (
    '<View><Video name="video" value="$video"/><VideoRectangle name="q" toName="video"/>'
    f'<Labels name="names" toName="video">{LABELS}</Labels></View>'
)
EXAMPLES = {one["example"]: one for one in json.loads((CASES / "shapes.json").read_text())["shapes"]}


def draw(
    kind: str = "rectanglelabels", labels: list[str] | None = None, name: str = "q", **value: Any
) -> dict[str, Any]:
    more: dict[str, Any] = {part: value.pop(part) for part in ("item_index", "image_rotation") if part in value}
    found = {kind: labels} if labels is not None else {}
    if "names" in value:
        found = {"labels": value.pop("names")}
    sides = {"original_width": 200, "original_height": 100}
    return {
        "id": "r",
        "from_name": name,
        "to_name": "image",
        "type": kind,
        "value": {**value, **found},
        **sides,
        **more,
    }


def box(
    *labels: str, x: float = 10, y: float = 10, width: float = 20, height: float = 20, **more: Any
) -> dict[str, Any]:
    return draw(labels=list(labels), x=x, y=y, width=width, height=height, rotation=0, **more)


def read(config: str | None, *answers: list[dict[str, Any]], **choice: Any) -> QuestionTable:
    """One task with these answers, one rater each."""
    made = [annotation(place, place + 10, results) for place, results in enumerate(answers, 1)]
    choices = {"q": QuestionChoice(**choice)} if choice else None
    return table_of([task(1, *made)], config, choices=choices).questions["q"]


def value(config: str | None, *results: dict[str, Any]) -> Any:
    return values(read(config, list(results)))["1", "11"]


def assessed(found: QuestionTable) -> QuestionReport:
    question = QuestionRatings("q", "regions", found.ratings, distance=found.question.distance, mended=found.mended)
    return assess(question, confidence=None).questions["q"]


def agreement(found: QuestionTable) -> float | None:
    return assessed(found).units["1"].agreement


def packed(pixels: Any, *, lone: bool = False) -> list[int]:
    """A mask as Label Studio packs it: one run of equal values at a time, or each value alone."""
    values = np.repeat(np.asarray(pixels, dtype=np.uint8).ravel() * 255, 4).tolist()
    bits = f"{len(values):032b}{7:05b}" + "".join(f"{one:04b}" for one in (2, 4, 7, 15))
    place = 0
    while place < len(values):
        same = next((n for n, one in enumerate(values[place:]) if one != values[place]), len(values) - place)
        if lone:
            n = min(5, len(values) - place)
            bits += f"000{n - 1:03b}" + "".join(f"{one:08b}" for one in values[place : place + n])
        else:
            n = min(same, 2**16)
            bits += f"111{n - 1:016b}{values[place]:08b}"
        place += n
    bits += "0" * (-len(bits) % 8)
    return [int(bits[at : at + 8], 2) for at in range(0, len(bits), 8)]


# Forms


def test_boxes_on_an_image() -> None:
    assert value(BOXES, box("Plant", x=50), box("Car")) == (
        ("rectangle", (20.0, 10.0, 40.0, 20.0, 0.0), ("Car",), 0),
        ("rectangle", (100.0, 10.0, 40.0, 20.0, 0.0), ("Tree",), 0),
    )


def test_the_declared_labels_are_known_and_others_are_stale() -> None:
    found = read(BOXES, [box("Car")], [box("Bus")])
    assert (found.question.kind, found.question.categories) == ("regions", ("Car", "Tree"))
    assert found.stale == {"Bus": 1}


def test_labels_can_be_renamed() -> None:
    found = read(BOXES, [box("Bus")], [box("Car")], relabel={"Bus": "Car"})
    assert agreement(found) == 1
    assert found.stale == {}


@pytest.mark.parametrize("config", [BOXES, None])
def test_an_annotation_without_regions_says_that_there_are_none(config: str | None) -> None:
    found = read(config, [], [box("Car")])
    assert values(found)["1", "11"] == ()
    assert (found.left_out, agreement(found)) == ({}, 0)


def test_an_annotation_without_regions_is_missing_where_the_settings_say_so() -> None:
    assert read(None, [], [box("Car")], empty="missing").left_out == {"empty": 1}


def test_the_stricter_distance_can_be_asked_for() -> None:
    assert read(BOXES, [box("Car")], distance="iou_50_95").question.distance == "iou_50_95"


def test_a_box_is_turned_about_its_corner_in_pixels() -> None:
    # a quarter turn of a 40 x 20 box about (100, 20) leaves a box of 20 x 40 on the left of it
    assert value(BOXES, draw(labels=["Car"], x=50, y=20, width=20, height=20, rotation=90)) == (
        ("rectangle", (80.0, 20.0, 20.0, 40.0, 0.0), ("Car",), 0),
    )


def test_ellipses_polygons_and_key_points() -> None:
    ellipse = draw("ellipselabels", ["Car"], x=50, y=50, radiusX=10, radiusY=20, rotation=0)
    polygon = draw("polygonlabels", ["Car"], points=[[10, 10], [20, 10], [20, 30]], closed=True)
    point = draw("keypointlabels", ["Car"], x=50, y=50, width=0.5)
    assert value(None, ellipse) == (("ellipse", (100.0, 50.0, 20.0, 20.0, 0.0), ("Car",), 0),)
    assert value(None, polygon) == (("polygon", (20.0, 10.0, 40.0, 10.0, 40.0, 30.0), ("Car",), 0),)
    assert value(None, point) == (("keypoint", (100.0, 50.0, 0.01 * 50000**0.5), ("Car",), 0),)


def test_regions_that_another_control_labels() -> None:
    shape: dict[str, Any] = {"x": 10, "y": 10, "width": 20, "height": 20, "rotation": 0}
    results = [draw("rectangle", None, "box", **shape), draw("labels", ["Car"], **shape)]
    table = table_of([task(1, annotation(1, 2, results))], TOOLS)
    assert {name: values(one)["1", "2"] for name, one in table.questions.items()} == {
        "q": (("rectangle", (20.0, 10.0, 40.0, 20.0, 0.0), ("Car",), 0),),
        "box": (("rectangle", (20.0, 10.0, 40.0, 20.0, 0.0), (), 0),),
        "brush": (),
    }
    # what has no labels to carry is not without one
    assert not any(one.mended for one in table.questions.values())
    assert table.not_measured == []


def test_without_a_config_labels_are_of_regions_or_of_spans_as_they_come() -> None:
    region = draw("labels", ["Car"], x=10, y=10, width=20, height=20, rotation=0)
    span = {
        "id": "s",
        "from_name": "s",
        "to_name": "text",
        "type": "labels",
        "value": {"start": 0, "end": 1, "labels": ["A"]},
    }
    table = table_of([task(1, annotation(1, 2, [region, span]))])
    assert {name: one.question.kind for name, one in table.questions.items()} == {"q": "regions", "s": "spans"}


def test_images_of_one_task_are_kept_apart() -> None:
    found = read(BOXES, [box("Car", item_index=1)], [box("Car", item_index=2)])
    assert values(found)["1", "11"] == (("rectangle", (20.0, 10.0, 40.0, 20.0, 0.0), ("Car",), 1),)
    assert agreement(found) == 0


def test_the_size_of_an_image_is_what_any_of_its_regions_tells() -> None:
    bare = box("Car")
    del bare["original_width"]
    assert agreement(read(BOXES, [bare], [box("Car")])) == 1
    small = box("Car") | {"original_width": 20, "original_height": 10}
    assert len(set(values(read(BOXES, [small], [box("Car")])).values())) == 1


def test_what_answers_about_a_region_is_no_region() -> None:
    per_region = draw("choices", ["yes"], "sure", x=10, y=10, width=20, height=20, rotation=0)
    table = table_of([task(1, annotation(1, 2, [box("Car"), per_region]))])
    assert len(values(table.questions["q"])["1", "2"]) == 1
    assert values(table.questions["sure"]) == {("1#1", "2"): "yes"}


# Masks


@pytest.mark.parametrize("lone", [False, True])
def test_a_mask_is_decoded_as_the_tool_s_own_converter_does(lone: bool) -> None:
    from label_studio_sdk.converter.brush import decode_rle

    rng = random.Random(4)
    for width, height in ((1, 1), (7, 5), (40, 30)):
        pixels = np.array([rng.random() < 0.3 for _ in range(width * height)])
        rle = packed(pixels, lone=lone)
        runs = mask_runs(rle, width, height)
        assert runs is not None
        decoded = decode_rle(rle).reshape(height, width, 4)[:, :, 3] > 0
        assert np.repeat(np.arange(len(runs)) % 2, runs).tolist() == decoded.ravel().tolist() == pixels.tolist()


def test_masks_overlap_by_pixel() -> None:
    one = np.zeros((100, 200), dtype=np.uint8)
    other = one.copy()
    one[10:30, 10:50] = 1
    other[10:30, 20:50] = 1
    drawn = [draw("brushlabels", ["Car"], format="rle", rle=packed(pixels)) for pixels in (one, other)]
    found = assessed(read(None, *([mask] for mask in drawn)))
    assert found.units["1"].agreement == 1
    assert found.coefficients["mean_iou"].value == pytest.approx(0.75)


@pytest.mark.parametrize("rle", [None, [], [1, 2, 3], "abc", [300], packed(np.ones(10))[:-3], packed(np.ones(12))])
def test_a_mask_that_cannot_be_decoded_is_left_out(rle: Any) -> None:
    found = read(
        None, [draw("brushlabels", ["Car"], format="rle", rle=rle) | {"original_width": 5, "original_height": 2}]
    )
    assert (values(found), found.mended) == ({}, {"invalid": 1})


def test_an_empty_mask_is_left_out() -> None:
    mask = draw("brushlabels", ["Car"], format="rle", rle=packed(np.zeros((100, 200))))
    assert read(None, [mask]).mended == {"flat": 1}


# Videos


def key(frame: int, x: float, *, enabled: bool = True) -> dict[str, Any]:
    return {"frame": frame, "enabled": enabled, "x": x, "y": 10, "width": 10, "height": 10, "rotation": 0, "time": 1}


def track(*keys: dict[str, Any], frames: int = 10) -> dict[str, Any]:
    return draw("videorectangle", None, sequence=list(keys), framesCount=frames, names=["Car"])


def test_a_track_is_a_box_in_every_frame() -> None:
    found = value(VIDEO, track(key(1, 10), key(3, 20, enabled=False), key(9, 10)))
    assert [(frame, geometry[0] / 2) for _, geometry, _, frame in sorted(found, key=lambda one: one[3])] == [
        *((1, 10.0), (2, 15.0), (3, 20.0)),
        *((9, 10.0), (10, 10.0)),
    ]
    assert {labels for _, _, labels, _ in found} == {("Car",)}


def test_tracks_agree_by_frame() -> None:
    found = read(VIDEO, [track(key(1, 10), key(4, 10, enabled=False))], [track(key(2, 10), key(5, 10, enabled=False))])
    assert agreement(found) == 0.75


def test_the_labels_of_a_video_s_regions_stand_with_them() -> None:
    table = table_of([task(1, annotation(1, 2, [track(key(1, 10))]))], VIDEO)
    assert [(one.question, one.kind) for one in table.not_measured] == [("names", "labels")]
    assert table.questions["q"].question.categories == ("Car", "Tree")


def test_a_long_track_costs_no_more_than_a_thousand_frames() -> None:
    found = read(VIDEO, [track(key(1, 10), frames=10_000_000)], [track(key(1, 10), frames=10_000_000)])
    assert found.mended == {"frames_sampled": 2}
    assert agreement(found) == 1


@pytest.mark.parametrize("sequence", [None, [], [{"frame": 0}], [{"frame": "x", "x": 1}], [7]])
def test_a_track_without_key_frames_is_left_out(sequence: Any) -> None:
    found = read(None, [draw("videorectangle", None, sequence=sequence, framesCount=10)])
    assert (values(found), found.mended) == ({}, {"invalid": 1})


# Faults


def reported(case: str) -> tuple[QuestionTable, Any]:
    tasks, expected = report(case)
    (found,) = table_of(tasks).questions.values()
    return found, expected


def test_reported_a_box_stretched_beyond_the_edge_is_cut_there() -> None:
    found, expected = reported("LS-35")
    assert found.mended == {"clipped": expected["clipped"]}
    assert assessed(found).coefficients["mean_iou"].value == expected["iou"]


def test_reported_coordinates_times_a_hundred_are_left_out_and_counted() -> None:
    found, expected = reported("LS-36")
    assert found.mended == {"outside": expected["invalid_regions"]}
    assert list(map(len, values(found).values())) == [1]
    assert found.left_out == {"unreadable": 1}


def test_a_region_without_labels_is_counted_and_no_category() -> None:
    found = read(BOXES, [draw(x=10, y=10, width=20, height=20)], [box("Car")])
    assert found.mended == {"unlabelled": 1}
    assert [one.category for one in assessed(found).categories] == ["Car"]


def test_a_region_with_several_labels_has_all_of_them() -> None:
    assert value(BOXES, box("Plant", "Car")) == (("rectangle", (20.0, 10.0, 40.0, 20.0, 0.0), ("Car", "Tree"), 0),)


@pytest.mark.parametrize(
    ("region", "code"),
    [
        (box("Car", x=float("nan")), "invalid"),
        (draw(labels=["Car"], x=1, y=1, width=2, height=None), "invalid"),
        (box("Car", width=0), "flat"),
        (box("Car", x=120), "outside"),
        (draw("keypointlabels", ["Car"], x=None, y=2), "invalid"),
        (draw("polygonlabels", ["Car"], points=[[1, 2], [3, 4]]), "flat"),
        ({"id": "r", "from_name": "q", "to_name": "image", "type": "rectanglelabels", "value": None}, None),
    ],
)
def test_what_cannot_be_compared_is_left_out_and_counted(region: dict[str, Any], code: str | None) -> None:
    table = table_of([task(1, annotation(1, 2, [region, box("Tree", name="other")]))])
    found = table.questions.get("q")
    if code is None:
        assert found is None
    else:
        assert found is not None
        assert (values(found), found.mended, found.left_out) == ({}, {code: 1}, {"unreadable": 1})


def test_the_same_box_twice_counts_once() -> None:
    found = read(BOXES, [box("Car"), box("Car")], [box("Car")])
    assert (agreement(found), found.mended) == (1, {"repeated": 1})


def test_regions_on_a_turned_image_are_counted() -> None:
    assert read(BOXES, [box("Car", image_rotation=90)]).mended == {"turned": 1}


# Examples


@pytest.mark.parametrize(
    ("example", "shapes"),
    [
        ("image_bbox", {"tag": ["rectangle"] * 5}),
        ("image_ellipses", {"tag": ["ellipse"]}),
        ("image_keypoints", {"tag": ["keypoint"] * 2}),
        ("image_polygons", {"tag": ["polygon"]}),
        ("image_multilabel", {"tag": ["rectangle"]}),
        ("image_list", {"tag": ["rectangle"]}),
        ("image_list_large", {"tag": ["rectangle"]}),
        ("image_list_perregion", {"tag": ["rectangle"]}),
        ("video_bboxes", {"box": ["rectangle", "polygon"]}),
    ],
)
def test_examples_of_every_shape_are_read(example: str, shapes: dict[str, list[str]]) -> None:
    one = EXAMPLES[example]
    for config in (one["config"], None):
        table = table_of([task(1, annotation(1, 2, one["result"]))], config)
        found = {
            name: values(question)["1", "2"]
            for name, question in table.questions.items()
            if question.question.kind == "regions"
        }
        assert set(found) == set(shapes)
        for name, wanted in shapes.items():
            read_shapes = [shape for shape, *_ in found[name]]
            assert set(read_shapes) == set(wanted)
            if len(one["result"]) == one["result_count"] and example not in ("video_bboxes", "image_list_large"):
                assert len(read_shapes) == len([each for each in one["result"] if each["from_name"] == name])


def test_the_example_with_all_tools_is_read_by_control() -> None:
    one = EXAMPLES["image_tools"]
    table = table_of([task(1, annotation(1, 2, one["result"]))], one["config"])
    drawn = {name: {shape for shape, *_ in values(found)["1", "2"]} for name, found in table.questions.items()}
    assert drawn["rect"] == {"rectangle"}
    assert drawn["ellipse"] == {"ellipse"}
    assert drawn["kp"] == {"keypoint"}
    assert drawn["polygon"] == {"polygon"}
    assert drawn["labels"] >= {"rectangle", "ellipse"}


SDK = Path(__file__).parents[2] / "cases" / "sdk"


@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        ("yolo_data", {"label": {"rectangle"}}),
        ("yolo_data_obb", {"label": {"rectangle", "polygon"}}),
        ("yolo_data_polygons", {"label": {"polygon"}}),
        ("yolo_data_keypoints", {"keypoints": {"keypoint"}, "bbox": {"rectangle"}}),
        ("coco_data", {"rectangle_label": {"rectangle"}, "polygon_label": {"polygon"}, "keypoint_label": {"keypoint"}}),
    ],
)
def test_exports_of_the_sdk_are_read(name: str, shapes: dict[str, set[str]]) -> None:
    tasks = json.loads((SDK / f"{name}.json").read_text())
    config = (SDK / f"{name.replace('data', 'label_config')}.xml").read_text()
    for one in tasks:
        for made in one["annotations"]:
            made.setdefault("completed_by", 1)
    table = table_of(tasks, config)
    assert {question.kind for question in schema_of(config).questions.values()} == {"regions"}
    n_regions = 0
    for control, wanted in shapes.items():
        answers = values(table.questions[control]).values()
        found = [shape for answer in answers for shape, *_ in answer]
        assert set(found) <= wanted
        n_regions += len(found)
        assert set(table.questions[control].mended) <= {"clipped"}
    assert n_regions == sum("value" in each for one in tasks for made in one["annotations"] for each in made["result"])


def test_three_raters_of_the_older_engine_s_example_agree_as_computed_by_hand() -> None:
    tasks = json.loads((CASES / "evalme_bbox.json").read_text())
    table = table_of(tasks)
    found = table.questions["label"]
    assert (found.ratings.n_ratings, len(table.unit_ids)) == (15, 5)
    report = assessed(found)
    for one in tasks:
        answers = [
            [result for result in made["result"] if result["type"] == "rectanglelabels"] for made in one["annotations"]
        ]
        scores = [_greedy_f1(a, b) for place, a in enumerate(answers) for b in answers[place + 1 :]]
        assert report.units[str(one["id"])].agreement == pytest.approx(np.mean(scores), abs=0.0051)


def _greedy_f1(one: list[Any], other: list[Any]) -> float:
    """F1 where the best pairs are taken first, which is the best matching where boxes lie apart."""
    pairs = sorted(
        ((_overlap(a["value"], b["value"]), i, j) for i, a in enumerate(one) for j, b in enumerate(other)), reverse=True
    )
    left, right = set(range(len(one))), set(range(len(other)))
    n = 0
    for overlap, i, j in pairs:
        if overlap >= 0.5 - 1e-9 and i in left and j in right:
            left.discard(i)
            right.discard(j)
            n += 1
    return 2 * n / (len(one) + len(other)) if one or other else 1.0


def _overlap(a: Any, b: Any) -> float:
    if a["rectanglelabels"] != b["rectanglelabels"]:
        return 0.0
    across = min(a["x"] + a["width"], b["x"] + b["width"]) - max(a["x"], b["x"])
    down = min(a["y"] + a["height"], b["y"] + b["height"]) - max(a["y"], b["y"])
    common = max(across, 0) * max(down, 0)
    whole: float = a["width"] * a["height"] + b["width"] * b["height"] - common
    return float(common / whole)
