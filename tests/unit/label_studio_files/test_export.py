"""An export is read as a stream; what is wrong with a file is said, with the byte where it is wrong."""

from __future__ import annotations

import gc
import json
import re
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from connector.annotations.collect import Collector
from connector.annotations.model import Unit
from connector.errors import DataNotTrusted, FixConfiguration, SkippedTask
from connector.tools import json_files
from connector.tools.files import open_files
from connector.tools.json_files import read_array
from connector.tools.label_studio.export import read_export
from tests.unit.label_studio_files.tasks import CASES, annotation, choose, report, task

EMPTY = b'{"id":1,"annotations":[]}'


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def write(content: bytes | str | list[Any], name: str = "export.json") -> Path:
        path = tmp_path / name
        if isinstance(content, list):
            content = json.dumps(content, ensure_ascii=False)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def read(path: Path) -> list[Unit | SkippedTask]:
    return list(open_files([path]).units)


def ids(path: Path) -> list[str]:
    return [one.id for one in read(path) if isinstance(one, Unit)]


@pytest.mark.parametrize("window", [1, 2, 7, 64, 1 << 20])
@pytest.mark.parametrize("indent", [None, 2])
def test_whatever_the_window_the_tasks_are_those_of_json_load(
    window: int, indent: int | None, write: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_files, "WINDOW", window)
    monkeypatch.setattr(json_files, "SMALL_WINDOW", max(1, window // 2))
    content = [
        1.5e3,
        -12,
        'a\\"b\u00e9\U0001f600',
        None,
        True,
        {"a": [1, {"b": "\n"}], "c": ""},
        [],
        [[]],
        "]",
        123456789,
    ]
    path = write(json.dumps(content, ensure_ascii=False, indent=indent))
    assert list(read_array(path)) == content


def test_a_byte_order_mark_blanks_and_an_empty_array(write: Any) -> None:
    for content in (b"[]", b"\xef\xbb\xbf[]", b" [ ] \n\n", b"\xef\xbb\xbf\r\n[ \t]"):
        assert read(write(content)) == []


def test_a_task_larger_than_the_window(write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_files, "WINDOW", 100)
    monkeypatch.setattr(json_files, "SMALL_WINDOW", 30)
    units = read(write([task(1, annotation(1, 2, choose("a")), data={"text": "x" * 10_000}), task(2)]))
    assert [one.id for one in units if isinstance(one, Unit)] == ["1", "2"]


@pytest.mark.parametrize("cut", [1, 2, 25, 60, 100, 150, 199])
def test_a_truncated_file_ends_at_the_byte_that_is_said(cut: int, write: Any) -> None:
    whole = json.dumps([task(1, annotation(1, 2, choose("a"))), task(2, data={"text": "é\\u00e9"})]).encode()
    with pytest.raises(DataNotTrusted, match=rf"at byte {cut}: the file is truncated"):
        list(read_export(write(whole[:cut])))


def test_no_truncation_of_an_export_goes_unseen(write: Any) -> None:
    whole = json.dumps([task(1, annotation(1, 2, choose("é😀"))), task(2)], ensure_ascii=False).encode()
    for cut in range(1, len(whole)):
        with pytest.raises(DataNotTrusted):
            list(read_export(write(whole[:cut])))


@pytest.mark.parametrize(
    ("content", "at"),
    [
        (b"[" + EMPTY + EMPTY + b"]", 26),
        (b"[" + EMPTY + b",]", 27),
        (b"[]x", 2),
        (b"[" + EMPTY + b"][]", 27),
        (b"[" + EMPTY + b',{"id":2 oops' + b" " * 3_000_000 + b"}]", 35),
        ('["é",'.encode() + b'{"a":1 b}' + b" " * 99 + b"]", 13),
    ],
)
def test_what_is_not_json_is_said_with_its_byte(content: bytes, at: int, write: Any) -> None:
    with pytest.raises(DataNotTrusted, match=rf"at byte {at:,}\."):
        list(read_export(write(content)))


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"[" + EMPTY + b',{"id":"\xff"}]', "not UTF-8"),
        (b"[" + EMPTY + b"," + b"[" * 100_000 + b"]" * 100_000 + b"]", "nested too deeply"),
        (b"[" + EMPTY + b',{"id":' + b"9" * 5000 + b"}]", "too many digits"),
        (b"", "is empty"),
        (b" \n ", "is empty"),
    ],
)
def test_hostile_content_is_not_trusted(content: bytes, what: str, write: Any) -> None:
    with pytest.raises(DataNotTrusted, match=what):
        read(write(content))


def test_of_a_key_given_twice_the_last_counts_as_everywhere_in_json(write: Any) -> None:
    (unit,) = read(write(b'[{"id":1,"id":2,"annotations":[]}]'))
    assert isinstance(unit, Unit)
    assert unit.id == "2"


MALFORMED: list[tuple[Any, str]] = [
    (5, "not an object"),
    (None, "not an object"),
    ({"annotations": []}, "no id"),
    ({"id": None, "annotations": []}, "no id"),
    ({"id": True, "annotations": []}, "no id"),
    ({"id": 7, "annotations": None}, "annotations is null"),
    ({"id": 7, "annotations": {}}, "annotations is not a list"),
    ({"id": 7, "annotations": ["x"]}, "an annotation is not an object"),
    ({"id": 7, "annotations": [{"id": 1}]}, "result is not a list"),
    ({"id": 7, "annotations": [{"id": 1, "result": {}}]}, "result is not a list"),
    ({"id": 7, "annotations": [{"id": 1, "result": [5]}]}, "instead of objects"),
    ({"id": 7, "annotations": [{"id": 1, "result": [], "completed_by": [2]}]}, "completed_by"),
    ({"id": 7, "annotations": [], "drafts": 5}, "drafts"),
]


@pytest.mark.parametrize(("bad", "reason"), MALFORMED)
def test_a_malformed_task_is_skipped_with_its_reason_and_the_others_are_read(bad: Any, reason: str, write: Any) -> None:
    first, skipped, last = read(write([task(1), bad, task(9)]))
    assert isinstance(first, Unit)
    assert isinstance(last, Unit)
    assert isinstance(skipped, SkippedTask)
    assert reason in skipped.reason
    if isinstance(bad, dict) and bad.get("id") == 7:
        assert skipped.unit == "7"


def test_odd_values_inside_results_are_unreadable_and_stop_nothing(write: Any) -> None:
    odd: list[Any] = [
        {"type": ["x"], "from_name": {"a": 1}, "id": [], "value": 5},
        {"type": "choices", "from_name": "a", "value": None},
        {"type": "choices", "from_name": "b", "value": {"choices": {"k": 1}}},
        {"type": "choices", "from_name": "c", "value": {"choices": [{"k": 1}]}},
        {"type": "taxonomy", "from_name": "d", "value": {"taxonomy": [[["x"]]]}},
        {"type": "datetime", "from_name": "e", "value": {"datetime": {"k": 1}}},
        {},
    ]
    one = annotation(1, 2, odd, updated_at=5, created_at=[], updated_by={"a": 1}, lead_time="x", parent_prediction=3)
    source = open_files(
        [write([task(1, one, predictions=[5, {"id": 3, "result": [5, {"value": {"k": [1]}}]}], data=[])])]
    )
    collector = Collector(source.schema)
    for unit in source.units:
        assert isinstance(unit, Unit)
        collector.add(unit)
    table = collector.table()
    assert {name: dict(one.left_out) for name, one in table.questions.items()} == {
        "a": {"empty": 1},
        **{name: {"unreadable": 1} for name in "bcde"},
    }


def test_a_lone_surrogate_can_be_written_again(write: Any) -> None:
    content = json.dumps([task("\ud800", annotation(1, "\udfff", choose("\ud800x", name="s")))])
    source = open_files([write(content)])
    collector = Collector(source.schema)
    for unit in source.units:
        assert isinstance(unit, Unit)
        collector.add(unit)
    table = collector.table()
    categories = table.questions["s"].ratings.codebook.categories
    "".join([*table.unit_ids, *table.rater_ids, *categories]).encode()


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (b'{\n "a": 1\n}', "e.json", "single JSON object"),
        (b'[{"id":1,"annotator":1,"annotation_id":2,"sent":"pos"}]', "e.json", "without the label config"),
        (b"annotation_id,annotator,id,sent\n1,2,1,pos\n", "e.csv", "without the label config"),
        (b"[1,2]", "e.json", "something else than tasks"),
        (b'[{"a":1}]', "e.json", "unknown form"),
        (b"<html></html>", "e.json", "unknown form"),
        (b"PK\x03\x04rest", "e.json", "zip"),
        (b"\x1f\x8brest", "e.json", "gzip"),
        ("[]".encode("utf-16"), "e.json", "not UTF-8"),
        (b"[\0]", "e.json", "not UTF-8"),
    ],
)
def test_what_is_no_source_is_refused_by_name(content: bytes, name: str, message: str, write: Any) -> None:
    with pytest.raises(FixConfiguration, match=message):
        read(write(content, name))


def test_a_first_task_that_is_longer_than_a_look_at_it(write: Any) -> None:
    long = {"data": {"text": "x" * 100_000}, **task(1, annotation(1, 2, choose("a")))}
    assert [one.id for one in read(write([long, task(2)])) if isinstance(one, Unit)] == ["1", "2"]


def test_a_file_cut_or_broken_in_its_first_task_is_not_trusted(write: Any) -> None:
    for content in (b'[{"id":1,"ann', b"[{", b"[{'id': 1}]"):
        with pytest.raises(DataNotTrusted):
            read(write(content))


@pytest.mark.parametrize("indent", [None, 1])
def test_a_file_may_hold_one_task_or_one_a_line(indent: int | None, write: Any) -> None:
    one = json.dumps(task(7, annotation(1, 2, choose("a"))), indent=indent)
    assert ids(write(one)) == ["7"]
    if indent is None:
        lines = write(f"{one}\n\n{json.dumps(task(8))}\n", "tasks.jsonl")
        assert ids(lines) == ["7", "8"]


def test_an_export_in_one_line_is_never_held_whole(write: Any) -> None:
    path = write(json.dumps([{**task(n), "data": {"text": "x" * 100_000}} for n in range(200)]))
    tracemalloc.start()
    assert sum(1 for _ in read_export(path)) == 200
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < path.stat().st_size / 2


def test_a_folder_is_all_the_files_in_it(tmp_path: Path) -> None:
    for number in (2, 10, 1):
        (tmp_path / str(number)).write_text(json.dumps(task(number)))
    (tmp_path / ".hidden").write_text("no JSON")
    (tmp_path / "inner").mkdir()
    assert ids(tmp_path) == ["1", "2", "10"]


@pytest.mark.parametrize("indent", [None, 1])
def test_annotations_that_hold_their_task_are_merged_into_it(indent: int | None, tmp_path: Path) -> None:
    for rater in (2, 3):
        body = {
            **annotation(rater, rater, choose("a")),
            "task": {"id": 5, "data": {"text": "x"}, "total_annotations": 2},
        }
        (tmp_path / str(rater)).write_text(json.dumps(body, indent=indent))
    units = [unit for unit in read(tmp_path) if isinstance(unit, Unit)]
    assert [(unit.id, [one.rater for one in unit.annotations]) for unit in units] == [("5", ["2"]), ("5", ["3"])]
    source = open_files([tmp_path])
    collector = Collector(source.schema)
    for unit in source.units:
        assert isinstance(unit, Unit)
        collector.add(unit)
    table = collector.table()
    assert (table.unit_ids, table.questions["sent"].ratings.n_ratings, table.incomplete) == (["5"], 2, [])


def test_a_missing_file_an_empty_folder_and_no_file(tmp_path: Path) -> None:
    for paths in ([tmp_path / "none.json"], [tmp_path], []):
        with pytest.raises(FixConfiguration):
            open_files(paths)


def test_an_export_and_a_table_are_not_one_source(write: Any) -> None:
    paths = [write([task(1)]), write("unit,rater,value\n", "t.csv")]
    with pytest.raises(FixConfiguration, match="not one source"):
        open_files(paths)
    with pytest.raises(FixConfiguration, match="long table"):
        open_files(paths[:1], columns={"unit": "id"})
    with pytest.raises(FixConfiguration, match="Label Studio export"):
        open_files(paths[1:], label_config="<View/>")


def test_several_files_are_one_source(write: Any) -> None:
    one = write([task(1, annotation(1, 2, choose("a")))], "one.json")
    two = write([task(1, annotation(2, 3, choose("a"))), task(2)], "two.json")
    assert [unit.id for unit in open_files([one, two]).units if isinstance(unit, Unit)] == ["1", "1", "2"]


def test_the_garbage_collector_is_given_back(write: Any) -> None:
    assert gc.isenabled()
    path = write([task(1), task(2)])
    reading = read_export(path)
    next(reading)
    assert not gc.isenabled()
    reading.close()  # type: ignore[attr-defined]
    assert gc.isenabled()
    with pytest.raises(DataNotTrusted):
        list(read_export(write(b"[", "open.json")))
    assert gc.isenabled()
    gc.disable()
    try:
        list(read_export(path))
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.parametrize("small", [1, 7, 64, 1000])
@pytest.mark.parametrize("layout", [{"separators": (",", ":")}, {}, {"indent": 2}])
@pytest.mark.parametrize(
    "odd",
    [
        {"text": '},{"id":1,"last":2},{'},
        {"text": '"last":3},{'},
        {"last": [{"last": 1}, {"last": 2}]},
        {"text": '漢字 \U0001f600 \\ " },{'},
        {"number": 10**30, "x": [1.5e300, -0.0]},
    ],
)
def test_parsing_many_at_once_gives_what_parsing_one_by_one_gives(
    write: Any, monkeypatch: pytest.MonkeyPatch, small: int, layout: dict[str, Any], odd: dict[str, Any]
) -> None:
    tasks = [
        {"id": n, "data": odd if n % 3 else {}, "annotations": [{"id": n, "last": 1}], "last": n} for n in range(40)
    ]
    tasks[17] = {"last": 5, "id": 17}
    path = write(tasks)
    path.write_text(json.dumps(tasks, ensure_ascii=False, **layout), encoding="utf-8")
    monkeypatch.setattr(json_files, "SMALL_WINDOW", small)
    assert list(read_array(path)) == tasks


def test_a_fault_behind_many_good_tasks_is_still_named_by_its_byte(write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_files, "SMALL_WINDOW", 64)
    path = write([])
    good = ",".join(json.dumps({"id": n, "last": 1}) for n in range(50))
    for bad, says in (('[%s,{"id":1,"last":oops}]', "not valid JSON"), ("[%s,{", "ends too early")):
        path.write_text(bad % good, encoding="utf-8")
        with pytest.raises(DataNotTrusted, match=says) as caught:
            list(read_array(path))
        at = re.search(r"byte ([\d,]+)", str(caught.value))
        assert at is not None
        assert len(good) < int(at[1].replace(",", "")) <= len(good) + 30
    path.write_bytes(b"[" + good.encode() + b',{"id":"\xff","last":1}]')
    with pytest.raises(DataNotTrusted, match="not UTF-8"):
        list(read_array(path))


def test_ls_03_files_that_hold_ever_more_of_a_task_count_each_annotation_once(tmp_path: Path) -> None:
    files, expected = report("LS-03")
    for name, content in files.items():
        (tmp_path / name).write_text(json.dumps(content, indent=1))
    source = open_files([tmp_path])
    collector = Collector(source.schema)
    for unit in source.units:
        assert isinstance(unit, Unit)
        collector.add(unit)
    table = collector.table()
    assert len(table.unit_ids) == expected["units"]
    assert table.questions["sent"].ratings.n_ratings == expected["ratings"]


@pytest.mark.parametrize("layout", [{}, {"indent": 2}])
def test_ls_03_annotations_that_hold_their_task_one_a_file(layout: dict[str, Any], tmp_path: Path) -> None:
    """As a target storage keeps them by default; without an id the `unique_id` tells copies apart."""
    of_task = {key: content for key, content in task(1).items() if key != "annotations"}
    for name, one in (
        ("11", {**annotation(11, 2, choose("a")), "task": of_task}),
        ("12", {**annotation(12, 3, choose("b")), "task": of_task, "id": None, "unique_id": "u-12"}),
        ("12 again", {**annotation(12, 3, choose("b")), "task": of_task, "id": None, "unique_id": "u-12", "x": 1}),
    ):
        (tmp_path / name).write_text(json.dumps(one, **layout), encoding="utf-8")
    units = [unit for unit in read(tmp_path) if isinstance(unit, Unit)]
    assert [unit.id for unit in units] == ["1", "1", "1"]
    assert [unit.annotations[0].id for unit in units] == ["11", "u-12", "u-12"]
    assert units[0].data == {"text": "x"}


def test_completions_that_were_put_together_are_taken_apart() -> None:
    first, second = (unit for unit in read(CASES / "evalme_old_format.json") if isinstance(unit, Unit))
    assert (first.id, [one.rater for one in first.annotations]) == ("6057960", ["103"] * 3)
    assert [one.result[0]["value"]["choices"] for one in first.annotations] == [
        ["Neutral"],
        ["Evil"],
        ["Evil", "Neutral"],
    ]
    assert (second.id, second.annotations) == ("6057964", [])


def test_a_group_of_completions_that_does_not_fit_together_is_malformed(write: Any) -> None:
    group = {"aggregated": True, "aggregated_ids": [1, 2], "aggregated_completed_by": [3], "result": [[], []]}
    (skipped,) = read(write([{"id": 7, "completions": [group]}]))
    assert isinstance(skipped, SkippedTask)
    assert skipped.unit == "7"
