"""Examples that come with Label Studio's own parts: of every type of result, and exports of its converter's tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from connector.annotations.collect import Collector, Table
from connector.errors import SkippedTask
from connector.tools.files import open_files
from connector.tools.label_studio.config import schema_of
from tests.unit.label_studio_files.tasks import CASES, annotation, table_of, task, values

SHAPES = json.loads((CASES / "shapes.json").read_text())["shapes"]
SPANS = ("labels", "hypertextlabels", "paragraphlabels", "timeserieslabels")
REGIONS = (
    *("rectanglelabels", "ellipselabels", "polygonlabels", "keypointlabels", "videorectangle"),
    *("rectangle", "ellipse", "polygon", "keypoint"),
)
KIND_OF = {
    "choices": "choice",
    "taxonomy": "paths",
    "number": "number",
    "datetime": "date",
    "textarea": "text",
    "pairwise": "pairwise",
    "ranker": "ranking",
    "relation": "relations",
    **dict.fromkeys(SPANS, "spans"),
    **dict.fromkeys(REGIONS, "regions"),
}
"""The types that the examples hold. Brushes and the magic wand stand in two of them that nobody has drawn in: they are
read in test_pictures_and_vectors, with bitmasks and vectors; ratings in test_results, timelines in test_spans."""
OTHERWISE = {
    # labels of shapes that another control draws
    (None, "labels"): "regions",
    # of several choices, which the example has one of
    ("audio_regions", "choice"): "choices",
}
WITHOUT_RESULTS = {
    "image_magic_wand": {"labels_1": "regions", "brush_1": "regions", "magicwand_1": "regions"},
    "image_segmentation": {"b": "regions", "tag": "regions"},
}


def test_the_examples_hold_every_type_that_is_told_a_kind() -> None:
    assert {one["type"] for shape in SHAPES for one in shape["result"]} == set(KIND_OF)
    assert {shape["example"] for shape in SHAPES if not shape["result"]} == set(WITHOUT_RESULTS)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape["example"])
def test_every_type_of_result_is_read_as_its_kind(shape: dict[str, Any]) -> None:
    # what was shown did not come with the examples: an address tells no length
    tasks = [task(1, annotation(1, 2, shape["result"]), data={"shown": "https://example.org/1"})]
    found = table_of(tasks)
    expected = {
        one.get("from_name", "relations"): OTHERWISE.get((None, one["from_name"]), KIND_OF[one["type"]])
        if "from_name" in one
        else "relations"
        for one in shape["result"]
    }
    assert {name: one.question.kind for name, one in found.questions.items()} == expected
    assert found.not_measured == []
    assert [name for name, one in found.questions.items() if one.left_out] == []


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape["example"])
def test_a_control_of_every_type_is_declared_as_its_kind(shape: dict[str, Any]) -> None:
    kinds = {name: one.kind for name, one in schema_of(shape["config"]).questions.items()}
    for one in shape["result"]:
        name = one.get("from_name", "relations")
        if shape["example"] == "repeater":
            name = name[:-1] + "{{idx}}"
        if shape["example"] == "image_ocr":
            assert name not in kinds, "the example was made with an older config"
            continue
        usual = OTHERWISE.get((None, name), KIND_OF[one["type"]])
        assert kinds[name] == OTHERWISE.get((shape["example"], name), usual)
    if not shape["result"]:
        assert kinds == WITHOUT_RESULTS[shape["example"]]


SDK = CASES / "sdk"


def table(name: str, config: Path | None = None) -> Table:
    source = open_files([SDK / f"{name}.json"], label_config=config.read_text() if config else None)
    collector = Collector(source.schema)
    for one in source.units:
        assert not isinstance(one, SkippedTask)
        collector.add(one)
    return collector.table()


@pytest.mark.parametrize(
    ("name", "question", "answers"),
    [
        ("csv_test2", "uri_selection", {("4", "1"): 'Yes " "" \n \t \t а б в \n'}),
        # a control of the same name as the text that it asks about
        ("csv_test_colliding_keys", "text", {("1", "1"): "positive"}),
        ("csv_test_colliding_keys_mixed", "text", {("1", "1"): "positive"}),
        # earlier versions of the annotation, which are no annotations
        ("csv_test_history", "sentiment", {("6141", "14"): "Positive"}),
    ],
)
def test_choices_of_the_converters_examples(name: str, question: str, answers: dict[tuple[str, str], str]) -> None:
    found = table(name)
    assert {one: (each.question.kind, values(each)) for one, each in found.questions.items()} == {
        question: ("choice", answers)
    }
    assert not found.not_measured


def test_boxes_that_a_reviewer_rejected_are_their_raters_still() -> None:
    found = table("csv_test")
    (label,) = found.questions.values()
    assert label.question.kind == "regions"
    assert {unit: [one[2] for one in answer] for (unit, _), answer in values(label).items()} == {
        "1": [("Car",)],
        "2": [("Car",), ("Car",)],
    }
    # 92.93% and 7.5% are more than the whole; one box is as small as can be
    assert label.mended == {"clipped": 1}


def test_a_page_with_its_layout_and_its_text_whose_raters_are_not_told() -> None:
    found = table("doclang_data")
    assert {name: one.question.kind for name, one in found.questions.items()} == {
        "docling": "regions",
        "doclang": "text",
    }
    assert found.left_out == {"no_rater": 2, "cancelled": 1}
    assert not any(one.ratings.n_ratings for one in found.questions.values())
    tasks = json.loads((SDK / "doclang_data.json").read_text())
    for one in tasks:
        one["annotations"][0]["completed_by"] = 1
    told = table_of(tasks)
    assert [labels for answer in values(told.questions["docling"]).values() for _, _, labels, _ in answer] == [
        ("Section-header",),
        ("Text",),
    ]
    assert list(values(told.questions["doclang"]).values()) == [
        "<doclang><section>Intro</section><page_break/><section>Body</section></doclang>"
    ]


@pytest.mark.parametrize("config", [None, SDK / "json_min_label_config.xml"], ids=["inferred", "declared"])
def test_a_polygon_of_the_converters_examples(config: Path | None) -> None:
    (label,) = table("json_min_data", config).questions.values()
    assert label.question.kind == "regions"
    ((shape, corners, labels, _),) = values(label)["87", "1"]
    assert (shape, labels) == ("polygon", ("Airplane",))
    # 44.44% and 48.25% of 128 pixels, and two more
    assert sorted(zip(corners[::2], corners[1::2], strict=True)) == [
        pytest.approx(one, abs=0.001) for one in ((54.451, 77.206), (56.889, 61.765), (71.924, 65.016))
    ]


def test_a_conversation_is_named_as_not_measured() -> None:
    found = table("json_min_chat_data")
    assert found.questions == {}
    assert [(one.question, one.kind) for one in found.not_measured] == [("chat", "chatmessage")]
    assert "no unit in common" in found.not_measured[0].reason
