"""Long tables: exact text, what is missing, which row counts, and what is said of a file that is not one."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import pytest

from connector.agreement.alpha import krippendorff_alpha
from connector.annotations.collect import Collector, QuestionChoice, Table
from connector.errors import DataNotTrusted, FixConfiguration, InstallExtra, SkippedTask
from connector.tools.files import open_files

CASES = Path(__file__).parents[2] / "cases"
REPORTS = json.loads((CASES / "reports.json").read_text())["reports"]
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(content: str | bytes, name: str = "table.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def table_of(
    *paths: Path,
    columns: Mapping[str, str] | None = None,
    missing: Collection[str] = (),
    choices: Mapping[str, QuestionChoice] | None = None,
) -> Table:
    source = open_files(paths, columns=columns, missing=missing)
    collector = Collector(source.schema, None, choices)
    for unit in source.units:
        if isinstance(unit, SkippedTask):
            collector.skip(unit)
        else:
            collector.add(unit)
    return collector.table()


def values(table: Table, question: str = "value") -> dict[tuple[str, str], Any]:
    ratings = table.questions[question].ratings
    return {
        (ratings.unit_ids[u], ratings.rater_ids[r]): ratings.codebook.categories[v]
        for u, r, v in zip(ratings.units.tolist(), ratings.raters.tolist(), ratings.values.tolist(), strict=True)
    }


def alpha(table: Table, question: str = "value") -> Any:
    one = table.questions[question]
    return krippendorff_alpha(one.ratings, one.question.level or "", distance=one.question.distance)


def test_a_table_without_a_question_column_has_one_question(write: Write) -> None:
    table = table_of(write("unit,rater,value\n1,a,x\n1,b,x\n2,a,y\n"))
    assert values(table) == {("1", "a"): "x", ("1", "b"): "x", ("2", "a"): "y"}
    question = table.questions["value"].question
    assert (question.kind, question.level, question.inferred) == ("choice", "nominal", True)


def test_each_name_in_the_question_column_is_a_question(write: Write) -> None:
    table = table_of(write("rater,question,value,unit\na,tone,x,1\na,topic,y,1\nb,tone,z,1\n"))
    assert values(table, "tone") == {("1", "a"): "x", ("1", "b"): "z"}
    assert values(table, "topic") == {("1", "a"): "y"}
    assert table.questions["topic"].left_out == {"empty": 1}


def test_columns_can_be_named_and_others_are_ignored(write: Write) -> None:
    path = write("id,who,label,what,note\n1,a,x,q,hello\n")
    table = table_of(path, columns={"unit": "id", "rater": "who", "value": "label", "question": "what"})
    assert values(table, "q") == {("1", "a"): "x"}


@pytest.mark.parametrize("cell", ["", " ", "nan", "NaN", "NAN"])
def test_an_empty_cell_or_nan_is_missing(cell: str, write: Write) -> None:
    table = table_of(write(f"unit,rater,value\n1,a,x\n1,b,{cell}\n"))
    assert values(table) == {("1", "a"): "x"}
    assert table.left_out == {"empty": 1}


@pytest.mark.parametrize("text", ["None", "NA", "null", "0", "N/A", "-"])
def test_other_texts_are_labels_unless_they_are_named(text: str, write: Write) -> None:
    path = write(f"unit,rater,value\n1,a,x\n1,b,{text}\n")
    assert values(table_of(path))["1", "b"] == text
    table = table_of(path, missing={text})
    assert values(table) == {("1", "a"): "x"}
    assert table.left_out == {"empty": 1}


def test_values_are_exact_texts_at_the_nominal_level_and_numbers_at_numeric_ones(write: Write) -> None:
    path = write("unit,rater,value\n1,a,4\n1,b,4.0\n2,a, 4\n2,b,4\n3,a,1\n3,b,1\n")
    assert set(values(table_of(path)).values()) == {"4", "4.0", " 4", "1"}
    table = table_of(path, choices={"value": QuestionChoice(level="interval")})
    assert alpha(table).value == 1.0


@pytest.mark.parametrize("level", ["ordinal", "interval", "ratio"])
def test_text_at_a_numeric_level_is_no_number_but_a_reason(level: str, write: Write) -> None:
    table = table_of(
        write("unit,rater,value\n1,a,low\n1,b,high\n2,a,low\n2,b,low\n"),
        choices={"value": QuestionChoice(level=level)},
    )
    found = alpha(table)
    assert (found.value, found.reason) == (None, "wrong_level")


@pytest.mark.parametrize(
    ("rows", "value"),
    [
        ("1,a,x\n1,a,y\n", "y"),
        ("1,a,y\n1,b,z\n1,a,x\n", "x"),
        ("1,a,y\n1,a,\n", None),
    ],
)
def test_of_repeats_the_last_row_counts(rows: str, value: str | None, write: Write) -> None:
    table = table_of(write(f"unit,rater,value\n{rows}"))
    assert values(table).get(("1", "a")) == value
    assert table.left_out["repeat"] == 1


@pytest.mark.parametrize("column", ["created_at", "updated_at", "time"])
def test_a_time_column_decides_instead(column: str, write: Write) -> None:
    table = table_of(
        write(f"unit,rater,value,{column}\n1,a,new,2026-01-02\n1,a,old,2026-01-01T09:00:00Z\n1,a,odd,soon\n")
    )
    assert values(table) == {("1", "a"): "new"}
    assert table.questions["value"].repeats == 2


def test_a_time_beyond_the_calendar_is_none(write: Write) -> None:
    times = ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "2026-01-01"]
    rows = "".join(f"1,a,{n},{time}\n" for n, time in enumerate(times))
    for content in (rows, "\n".join(reversed(rows.split("\n")))):
        assert values(table_of(write(f"unit,rater,value,time\n{content}"))) == {("1", "a"): "2"}


def test_repeats_are_told_apart_by_question(write: Write) -> None:
    table = table_of(write("unit,rater,question,value\n1,a,p,old\n1,a,q,only\n1,a,p,new\n"))
    assert values(table, "p") == {("1", "a"): "new"}
    assert values(table, "q") == {("1", "a"): "only"}
    assert (table.questions["p"].repeats, table.questions["q"].repeats) == (1, 0)


def test_rows_without_a_rater_are_counted_each(write: Write) -> None:
    table = table_of(write("unit,rater,value\n1,,x\n1,,y\n1,nan,y\n1,a,y\n"))
    assert values(table) == {("1", "a"): "y"}
    assert table.left_out == {"no_rater": 3}


def test_ids_are_text_and_sort_as_numbers(write: Write) -> None:
    table = table_of(write("unit,rater,value\n10,2,x\n9,10,x\n01,2,x\n1,2,x\n"))
    assert list(table.unit_ids) == ["01", "1", "9", "10"]
    assert list(table.rater_ids) == ["2", "10"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_delimiters_and_line_ends(delimiter: str, end: str, write: Write) -> None:
    rows = [["unit", "rater", "value"], ["1", "a", '"x ""y""'], ["2", "a", "z"]]
    rows[1][2] += '"'
    path = write("\ufeff" + end.join(delimiter.join(row) for row in rows) + end)
    assert values(table_of(path)) == {("1", "a"): 'x "y"', ("2", "a"): "z"}


def test_a_cell_may_hold_lines_and_a_whole_document(write: Write) -> None:
    document = "word " * 100_000
    path = write(f'unit,rater,value,text\n1,a,"x\ny",{document}\n')
    assert values(table_of(path)) == {("1", "a"): "x\ny"}


def test_a_row_of_another_width_or_without_a_unit_is_malformed(write: Write) -> None:
    table = table_of(write("unit,rater,value\n1,a,x\n2,a\n3,a,x,y\n,a,x\n\n4,a,x\n"))
    assert list(table.unit_ids) == ["1", "4"]
    assert [(one.unit, one.reason) for one in table.malformed] == [
        ("at line 3", "the row has 2 cells, the header 3"),
        ("at line 4", "the row has 4 cells, the header 3"),
        ("at line 5", "the unit is missing"),
    ]


def test_an_open_quote_is_not_trusted(write: Write) -> None:
    with pytest.raises(DataNotTrusted, match="cannot be read as csv at line"):
        table_of(write('unit,rater,value\n1,a,"x\n2,a,y\n'))


def test_text_in_another_encoding_is_not_trusted(write: Write) -> None:
    with pytest.raises(DataNotTrusted, match="not UTF-8"):
        table_of(write(b"unit,rater,value\n1,a,x\n" + b"2,a,\xe9\n"))


def test_a_header_without_the_columns_is_refused_with_what_there_is(write: Write) -> None:
    with pytest.raises(FixConfiguration, match="no column 'rater', 'value'; it has 'unit', 'label'"):
        table_of(write("unit,label\n1,x\n"))
    with pytest.raises(FixConfiguration, match="no column 'who'"):
        table_of(write("unit,rater,value\n1,a,x\n"), columns={"rater": "who"})
    with pytest.raises(FixConfiguration, match="No such role of a column: item"):
        table_of(write("unit,rater,value\n1,a,x\n"), columns={"item": "unit"})


def test_a_header_alone_is_a_table_without_units(write: Write) -> None:
    table = table_of(write("unit,rater,value\n"))
    assert (list(table.unit_ids), dict(table.questions)) == ([], {})


def test_jsonl_values_are_their_shortest_text(write: Write) -> None:
    rows = [
        {"unit": 1, "rater": 2, "value": 4},
        {"unit": "1", "rater": 3, "value": 4.0},
        {"unit": 1, "rater": 4, "value": "4"},
        {"unit": 1, "rater": 5, "value": True},
        {"unit": 1, "rater": 6, "value": None},
        {"unit": 1, "rater": 7, "value": float("nan")},
    ]
    table = table_of(write("\n".join(map(json.dumps, rows)) + "\n\n", "t.jsonl"))
    assert values(table) == {("1", "2"): "4", ("1", "3"): "4", ("1", "4"): "4", ("1", "5"): "true"}
    assert table.left_out == {"empty": 2}


def test_jsonl_lists_are_sets_of_labels(write: Write) -> None:
    rows = [{"unit": 1, "rater": n, "value": value} for n, value in enumerate([["b", "a"], ["a"], "a", []])]
    table = table_of(write("\n".join(map(json.dumps, rows)), "t.jsonl"))
    assert table.questions["value"].question.kind == "choices"
    assert values(table) == {("1", "0"): ("a", "b"), ("1", "1"): ("a",), ("1", "2"): ("a",)}
    assert table.left_out == {"empty": 1}


def test_a_label_may_be_called_what_a_reason_is_called(write: Write) -> None:
    rows = [{"unit": 1, "rater": n, "value": value} for n, value in enumerate([[], ["empty"], [{}], ["unreadable"]])]
    table = table_of(write("\n".join(map(json.dumps, rows)), "t.jsonl"))
    assert values(table) == {("1", "1"): ("empty",), ("1", "3"): ("unreadable",)}
    assert table.left_out == {"empty": 1, "unreadable": 1}


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("[1]", None),
        ('{"unit":1,"rater":1,"value":{"a":1}}', None),
        ('{"rater":1}', None),
        ('{"unit":1,', DataNotTrusted),
    ],
)
def test_jsonl_lines_that_are_no_rating(line: str, error: type[Exception] | None, write: Write) -> None:
    path = write('{"unit":1,"rater":1,"value":"x"}\n' + line, "t.jsonl")
    if error is None:
        table = table_of(path)
        assert [one.unit for one in table.malformed] == ["at line 2"]
        assert values(table) == {("1", "1"): "x"}
    else:
        with pytest.raises(error, match="line 2"):
            table_of(path)


def test_parquet_columns_of_any_type(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {
        "unit": pa.array([1, 1, 2, 2]),
        "rater": pa.array(["a", "b", "a", "b"]).dictionary_encode(),
        "value": pa.array([4.0, 5.0, float("nan"), None]),
        "text": pa.array(["x"] * 4),
    }
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    table = table_of(tmp_path / "t.parquet")
    assert values(table) == {("1", "a"): "4", ("1", "b"): "5"}
    assert table.left_out == {"empty": 2}
    assert list(table.unit_ids) == ["1", "2"]


def test_a_truncated_parquet_file_is_not_trusted(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"unit": [1], "rater": [1], "value": ["x"]}), tmp_path / "t.parquet")
    (tmp_path / "t.parquet").write_bytes((tmp_path / "t.parquet").read_bytes()[:-20])
    with pytest.raises(DataNotTrusted, match="cannot be read as parquet"):
        table_of(tmp_path / "t.parquet")


def test_without_pyarrow_the_extra_is_named(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InstallExtra, match=r"agreement-connector\[parquet\]"):
        table_of(write(b"PAR1", "t.parquet"))


def test_files_of_several_forms_are_one_table(write: Write) -> None:
    one = write("unit,rater,value\n1,a,x\n1,b,x\n")
    two = write('{"unit":1,"rater":"a","value":"y"}\n{"unit":2,"rater":"a","value":"x"}\n', "t.jsonl")
    table = table_of(one, two)
    assert values(table) == {("1", "a"): "y", ("1", "b"): "x", ("2", "a"): "x"}
    assert table.left_out == {"repeat": 1}


def test_ot_01_a_unit_served_again_to_its_rater(write: Write) -> None:
    case, expected = REPORTS["OT-01"]["input"], REPORTS["OT-01"]["expected"]
    table = table_of(write("unit,rater,value\n" + "".join(",".join(row) + "\n" for row in case["rows"])))
    assert table.questions["value"].repeats == expected["repeats"]
    raters = [rater for _, rater in values(table)]
    assert {rater: raters.count(rater) for rater in table.rater_ids} == expected["coverage"]
    assert values(table)["t1", "s-a"] == "y"


def test_ot_02_a_file_without_raters_is_refused(write: Write) -> None:
    files = REPORTS["OT-02"]["input"]
    paths = [write("\n".join(map(json.dumps, rows)), name) for name, rows in files.items()]
    with pytest.raises(FixConfiguration, match="no column"):
        table_of(*paths, columns={"unit": "id", "value": "label"})


@pytest.mark.parametrize("order", [1, -1])
def test_st_17_the_order_of_rows_does_not_matter(order: int, write: Write) -> None:
    case = REPORTS["ST-17"]
    rows = case["input"]["rows"][::order]
    table = table_of(write("rater,unit,value\n" + "".join(",".join(row) + "\n" for row in rows)))
    assert alpha(table).value == case["expected"]["alpha_nominal"]
    assert table.questions["value"].ratings.wide() == [["x", "x"], ["y", "y"]]


@pytest.mark.parametrize(("level", "value"), [("nominal", 0.435492), ("ordinal", 0.657875), ("interval", 0.731755)])
def test_convabuse_at_three_levels(level: str, value: float) -> None:
    table = table_of(CASES / "ratings_convabuse.csv", choices={"value": QuestionChoice(level=level)})
    assert alpha(table).value == pytest.approx(value, abs=5e-7)
    assert (len(table.unit_ids), len(table.rater_ids)) == (4050, 8)


@pytest.mark.parametrize("end", ["\r", "\n", "\r\n"])
@pytest.mark.parametrize("header", ["unit,rater,value", "unit;rater;value"])
def test_lines_end_as_any_system_ends_them(write: Write, end: str, header: str) -> None:
    rows = [header, *(line.replace(",", header[4]) for line in ("1,a,x", "1,b,y", "2,a,x"))]
    table = table_of(write(end.join([*rows, ""])))
    assert values(table) == {("1", "a"): "x", ("1", "b"): "y", ("2", "a"): "x"}


def test_a_header_that_is_no_line_of_cells_is_refused(write: Write) -> None:
    with pytest.raises(FixConfiguration, match="unknown form"):
        table_of(write("x" * 60_000 + ',"' + "y" * 200_000, "t.txt"))


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
@pytest.mark.parametrize("column", ["unit", "rater", "value", "question", "time"])
def test_two_columns_of_one_name_are_refused_where_the_name_is_used(write: Write, name: str, column: str) -> None:
    """Nobody knows which of them is meant."""
    header = ["unit", "rater", "value", "question", "time", column]
    path = write(",".join(header) + "\n1,a,x,q,2026-01-01,y\n", name)
    if name.endswith("parquet"):
        pa = pytest.importorskip("pyarrow")
        pq = pytest.importorskip("pyarrow.parquet")
        pq.write_table(pa.table([pa.array(["x"])] * len(header), names=header), path)
    with pytest.raises(FixConfiguration, match=f"2 columns called '{column}'"):
        table_of(path)


def test_two_columns_of_one_name_do_no_harm_where_the_name_is_not_used(write: Write) -> None:
    table = table_of(write("unit,rater,value,note,note\n1,a,x,,\n1,b,x,,\n"))
    assert len(values(table)) == 2


@pytest.mark.parametrize(
    "columns",
    [
        {"unit": "value", "rater": "value", "value": "value"},
        {"unit": "value"},
        {"rater": "unit"},
        {"question": "rater"},
        {"time": "value"},
    ],
)
def test_one_column_cannot_be_two_things(write: Write, columns: Mapping[str, str]) -> None:
    with pytest.raises(FixConfiguration, match="at once"):
        table_of(write("unit,rater,value\n1,a,x\n"), columns=columns)


@pytest.mark.parametrize("role", ["unit", "rater", "value"])
@pytest.mark.parametrize("name", ["question", "time"])
def test_a_column_named_for_one_role_is_not_taken_for_another_as_well(write: Write, role: str, name: str) -> None:
    header = [name if one == role else one for one in ("unit", "rater", "value")]
    table = table_of(write(",".join(header) + "\n1,a,2\n1,b,2\n"), columns={role: name})
    assert list(table.questions) == ["value"]


@pytest.mark.parametrize("content", ['{"a": 1}', '{"a": 1}\n\n', "{}"])
@pytest.mark.parametrize("name", ["t.json", "t.jsonl", "t.csv"])
def test_a_single_json_object_is_called_so(write: Write, content: str, name: str) -> None:
    with pytest.raises(FixConfiguration, match="single JSON object"):
        table_of(write(content, name))


def test_a_table_of_one_json_row_is_a_table(write: Write) -> None:
    assert values(table_of(write('{"unit": 1, "rater": "a", "value": "x"}', "t.jsonl"))) == {("1", "a"): "x"}
