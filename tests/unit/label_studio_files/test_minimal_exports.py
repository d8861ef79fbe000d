"""JSON-MIN and CSV exports, made by Label Studio's own converter out of the JSON export that they are compared with."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from connector.annotations.collect import Collector, Table
from connector.errors import FixConfiguration, SkippedTask
from connector.tools.files import open_files
from tests.unit.label_studio_files.tasks import annotation, choose, result, task, values

CONFIG = """
<View>
  <Text name="text" value="$text"/>
  <Choices name="sent" toName="text" choice="single"><Choice value="Good"/><Choice value="[1]"/></Choices>
  <Choices name="topics" toName="text" choice="multiple"><Choice value="a"/><Choice value="b"/></Choices>
  <Choices name="tree" toName="text" choice="single">
    <Choice value="A"><Choice value="A1"/></Choice><Choice value="B"/>
  </Choices>
  <Taxonomy name="tax" toName="text"><Choice value="X"><Choice value="Y"/></Choice></Taxonomy>
  <Rating name="stars" toName="text"/>
  <Number name="count" toName="text"/>
  <DateTime name="day" toName="text"/>
  <TextArea name="note" toName="text"/>
  <Labels name="ner" toName="text"><Label value="PER"/><Label value="ORG"/></Labels>
  <Choices name="polarity" toName="text" perRegion="true"><Choice value="good"/><Choice value="bad"/></Choices>
</View>"""
TEXT = "Ann met Bob at Acme."
ENDINGS = {"json_min": "json", "csv": "csv", "tsv": "tsv"}


def span(start: int, end: int, label: str, ident: str) -> dict[str, Any]:
    value = {"start": start, "end": end, "text": TEXT[start:end], "labels": [label]}
    return {"id": ident, "from_name": "ner", "to_name": "text", "type": "labels", "value": value}


def polarity(of: dict[str, Any], label: str) -> dict[str, Any]:
    value = {**{key: of["value"][key] for key in ("start", "end", "text")}, "choices": [label]}
    return {"id": of["id"], "from_name": "polarity", "to_name": "text", "type": "choices", "value": value}


def everything(sent: str, topics: list[str], tree: list[str], stars: int, note: list[str]) -> list[dict[str, Any]]:
    bob = span(8, 11, "PER", "r1")
    return [
        *choose(sent),
        result("topics", "choices", topics),
        result("tree", "choices", [tree]),
        result("tax", "taxonomy", [["X", "Y"], ["X"]]),
        result("stars", "rating", stars),
        result("count", "number", stars * 2),
        result("day", "datetime", "2026-01-04"),
        result("note", "textarea", note),
        span(0, 3, "PER", "r0"),
        bob,
        polarity(bob, "good"),
    ]


TASKS = [
    task(
        1,
        annotation(11, 2, everything("Good", ["a", "b"], ["A", "A1"], 4, ["fine, really"])),
        annotation(12, 3, everything("[1]", ["a"], ["B"], 5, ["two", "lines"])),
        data={"text": TEXT, "sent_by": "x"},
    ),
    task(
        2,
        annotation(21, 2, everything("Good", ["b"], ["A"], 1, ['say "it"'])),
        annotation(22, 3, choose("Good"), updated_at="2024-03-02T10:00:00Z"),
        annotation(23, 3, choose("[1]")),
        annotation(24, 4, choose("Good"), was_cancelled=True),
        data={"text": TEXT, "sent_by": "y"},
    ),
    task(3, data={"text": "Nobody has seen this.", "sent_by": "x"}),
]
MEASURED = ("sent", "topics", "tree", "tax", "stars", "count", "day", "note", "ner")


@pytest.fixture(params=ENDINGS)
def convert(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., Path]:
    """Writes tasks as Label Studio's converter does."""
    from label_studio_sdk.converter import Converter

    def convert(tasks: list[dict[str, Any]], config: str = CONFIG) -> Path:
        source = tmp_path / "export.json"
        source.write_text(json.dumps(tasks), encoding="utf-8")
        converter, folder = Converter(config, str(tmp_path)), tmp_path / "converted"
        if request.param == "json_min":
            converter.convert_to_json_min(str(source), str(folder), is_dir=False)
            return folder / "result.json"
        converter.convert_to_csv(str(source), str(folder), is_dir=False, sep="\t" if request.param == "tsv" else ",")
        return folder / "result.csv"

    return convert


def table_of(path: Path, config: str | None = CONFIG) -> tuple[Table, str]:
    source = open_files([path], label_config=config)
    collector = Collector(source.schema)
    for one in source.units:
        assert not isinstance(one, SkippedTask)
        collector.add(one)
    return collector.table(), " ".join(source.notes())


def test_every_answer_about_a_task_is_that_of_the_json_export(convert: Callable[..., Path], tmp_path: Path) -> None:
    found, notes = table_of(convert(TASKS))
    whole, _ = table_of(tmp_path / "export.json")
    assert found.unit_ids == whole.unit_ids == ["1", "2", "3"]
    assert set(found.questions) == set(whole.questions) - {"polarity"}
    for name in set(MEASURED) & set(found.questions):
        assert values(found.questions[name]) == values(whole.questions[name]), name
    assert values(found.questions["sent"]) == {
        ("1", "2"): "Good",
        ("1", "3"): "[1]",
        ("2", "2"): "Good",
        ("2", "3"): "Good",  # the newer of two
    }
    assert found.copies == 0
    assert (whole.left_out["cancelled"], "cancelled" in found.left_out) == (1, False)
    assert "leave out skipped annotations" in notes


def test_an_answer_about_a_region_is_not_read_as_one_about_the_task(convert: Callable[..., Path]) -> None:
    found, _ = table_of(convert(TASKS))
    (refused,) = (one for one in found.not_measured if one.question == "polarity")
    assert "does not tell which region" in refused.reason


def test_without_the_label_config_nothing_tells_answers_from_data(convert: Callable[..., Path]) -> None:
    path = convert(TASKS)
    with pytest.raises(FixConfiguration, match="--label-config"):
        open_files([path])


@pytest.mark.parametrize("rater", [None, {"id": 5, "email": ""}])
def test_an_annotation_whose_rater_is_gone_has_none(rater: Any, convert: Callable[..., Path]) -> None:
    tasks = [task(1, annotation(1, rater, choose("Good")), annotation(2, 3, choose("Good")))]
    found, _ = table_of(convert(tasks))
    assert found.left_out["no_rater"] == 1
    assert list(found.rater_ids) == ["3"]


def test_data_of_the_same_name_as_a_question_is_no_answer(convert: Callable[..., Path]) -> None:
    tasks = [
        task(1, annotation(1, 2, choose("Good")), data={"text": "t", "sent": "data"}),
        task(2, data={"text": "u", "sent": "data"}),
    ]
    found, _ = table_of(convert(tasks))
    assert values(found.questions["sent"]) == {("1", "2"): "Good"}


def test_the_data_is_there_for_batches(convert: Callable[..., Path]) -> None:
    units = list(open_files([convert(TASKS)], label_config=CONFIG).units)
    assert [getattr(unit, "data", {}).get("sent_by") for unit in units] == ["x", "y", "x"]


def test_a_label_config_of_another_project_leaves_its_questions_unanswered(convert: Callable[..., Path]) -> None:
    other = """<View><Text name="text" value="$text"/>
      <Choices name="other" toName="text"><Choice value="a"/></Choices></View>"""
    found, _ = table_of(convert(TASKS), other)
    assert found.unanswered == ["other"]


def test_rows_that_are_none_are_left_out_with_their_reason(tmp_path: Path) -> None:
    row = {"id": 1, "text": "t", "sent": "Good", "annotator": 2, "annotation_id": 5}
    path = tmp_path / "min.json"
    path.write_text(json.dumps([row, 7, {"annotation_id": 6, "annotator": 2}, {**row, "id": 2}]), encoding="utf-8")
    found = list(open_files([path], label_config=CONFIG).units)
    assert [one.reason for one in found if isinstance(one, SkippedTask)] == ["not an object but a number"]
    assert [getattr(one, "id", None) for one in found] == ["1", None, "2"]


def test_relations_are_not_in_them_and_said_so(convert: Callable[..., Path]) -> None:
    config = CONFIG.replace("</View>", '<Relations><Relation value="knows"/></Relations></View>')
    relation = {"type": "relation", "from_id": "r0", "to_id": "r1", "direction": "right", "labels": ["knows"]}
    results = [*everything("Good", ["a"], ["A"], 4, ["x"]), relation]
    tasks = [task(1, annotation(1, 2, results), annotation(2, 3, results), data={"text": TEXT})]
    found, _ = table_of(convert(tasks, config), config)
    assert "relations" not in found.questions
    assert {one.question for one in found.not_measured} == {"polarity", "relations"}


def test_regions_in_a_repeater_are_refused(convert: Callable[..., Path]) -> None:
    config = """<View><Repeater on="$pages" indexFlag="{{idx}}"><Image name="page_{{idx}}" value="$pages[{{idx}}].url"/>
        <RectangleLabels name="box_{{idx}}" toName="page_{{idx}}"><Label value="Car"/></RectangleLabels>
        <Rating name="sharp_{{idx}}" toName="page_{{idx}}" perRegion="true"/></Repeater></View>"""
    place = {"x": 0, "y": 0, "width": 10, "height": 10, "rotation": 0}
    made = {"id": "b", "to_name": "page_1", "original_width": 100, "original_height": 100}
    results = [
        {**made, "from_name": "box_1", "type": "rectanglelabels", "value": {**place, "rectanglelabels": ["Car"]}},
        {**made, "from_name": "sharp_1", "type": "rating", "value": {**place, "rating": 3}},
    ]
    tasks = [task(1, annotation(1, 2, results), annotation(2, 3, []), data={"pages": [{"url": "a"}, {"url": "b"}]})]
    found, _ = table_of(convert(tasks, config), config)
    # the converter loses them, and "nothing marked" would be no true answer
    assert [one.question for one in found.not_measured] == ["box_{{idx}}", "sharp_{{idx}}"]
