"""What a number counts: pairs of ratings, characters, seconds, frames, matched regions; tasks, records, units."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from connector import cli
from connector.agreement.report import AgreementReport
from connector.output.view import Context, view
from connector.tools.label_studio.config import schema_of
from tests.unit.agreement.test_likeness import ABC, BAC, box, report
from tests.unit.output.test_findings import busy_report
from tests.unit.output.test_surfaces import SURFACES, words_of

A, B = ("A",), ("B",)


def spans(length: float, position: str | None) -> AgreementReport:
    """Two labels and blank met in two documents: 3 positions A against blank, 2 B against blank, 1 A against B."""
    kind = type(length)
    one = (length, ((kind(0), kind(6), A),))
    other = (length, ((kind(0), kind(3), A), (kind(5), kind(6), B)))
    third = (length, ((kind(5), kind(8), B),))
    found = report("spans", [[one, other], [(length, ()), third]], position=position)
    # A against blank from 3 to 5, A against B from 5 to 6; in the second document B against blank from 5 to 8
    assert sorted(pair.n for pair in found.pairs) == [1, 2, 3]
    return AgreementReport({"q": found})


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize(
    ("length", "position", "counted"),
    [
        (20, None, "characters"),
        (20, "character", "characters"),
        (20, "frame", "frames"),
        (20.0, "second", "seconds"),
        (20.0, None, "positions"),
    ],
)
def test_spans_count_what_their_document_is_measured_in(
    surface: str, length: float, position: str | None, counted: str
) -> None:
    seen = words_of(surface, SURFACES[surface](spans(length, position), None))
    assert f"6 {counted} on which two raters differ" in seen
    assert f"Category against {counted.capitalize()} Share" in seen
    assert "disagreeing pairs of ratings" not in seen
    assert "Pairs of ratings" not in seen


@pytest.mark.parametrize("surface", SURFACES)
def test_regions_count_matched_ones(surface: str) -> None:
    car, tree, bush = box(1, "Car"), box(1, "Tree"), box(1, "Bush")
    rows = [[(car,), (tree,)], [(tree,), (bush,)], [(car,), (bush,)], [(car,), (car,)]]
    seen = words_of(surface, SURFACES[surface](AgreementReport({"q": report("regions", rows)}), None))
    assert "3 pairs of matched regions on which two raters differ" in seen
    assert "Category against Pairs of matched regions Share" in seen


@pytest.mark.parametrize("surface", SURFACES)
def test_everything_else_counts_pairs_of_ratings(surface: str) -> None:
    seen = words_of(surface, SURFACES[surface](busy_report(), None))
    assert "242 disagreeing pairs of ratings" in seen
    assert "Category against Pairs of ratings Share" in seen


def test_one_of_it_is_singular() -> None:
    found = report("spans", [[(9, ((0, 1, A),)), (9, ())], [(9, ((0, 4, A),)), (9, ((0, 4, A),))]])
    assert view(AgreementReport({"q": found})).questions[0].pairs_sentence == "1 character on which two raters differ."


@pytest.mark.parametrize(
    ("control", "on", "position"),
    [
        ("Labels", "Text", "character"),
        ("HyperTextLabels", "HyperText", "character"),
        ("ParagraphLabels", "Paragraphs", "character"),
        ("Labels", "Audio", "second"),
        ("TimelineLabels", "Video", "frame"),
        ("TimeSeriesLabels", "TimeSeries", None),
        ("RectangleLabels", "Image", None),
    ],
)
def test_what_a_control_marks_tells_what_is_counted(control: str, on: str, position: str | None) -> None:
    marks = f'<{control} name="q" toName="t"><Label value="A"/></{control}>'
    assert schema_of(f'<View><{on} name="t" value="$t"/>{marks}</View>').questions["q"].position == position


# Whole answers


@pytest.mark.parametrize("surface", SURFACES)
def test_equal_whole_answers_are_called_so(surface: str) -> None:
    found = report("ranking", [[ABC, BAC], [ABC, ABC], [BAC, BAC]] * 8, gold={"u0": ABC, "u1": BAC})
    seen = words_of(surface, SURFACES[surface](AgreementReport({"q": found}), None))
    for name in ("Percent agreement", "Cohen's kappa", "Fleiss' kappa"):
        assert f"{name} (whole answers)" in seen
    # one of three pairs of items is turned round: 1 and 2/3 against the first gold, 2/3 and 2/3 against the second
    assert "0.83 of 2" in seen
    assert "0.67 of 2" in seen
    assert "Gold: likeness to the known answers (1 - distance) on average, and to how many." in seen
    assert "Against gold" not in seen, "nobody says a whole ranking more often than gold does"


@pytest.mark.parametrize("surface", SURFACES)
def test_raters_are_compared_by_the_likeness_of_their_answers(surface: str) -> None:
    rows: list[list[Any]] = [["cat", "cart", "cow"], ["dog", "dog", "dig"]] * 6
    seen = words_of(surface, SURFACES[surface](AgreementReport({"q": report("text", rows)}), None))
    assert "Rater and Units Likeness" in seen
    # a sign of four, and none: (3/4 + 1) / 2
    assert "r0 r1 12 0.875" in seen
    assert "Likeness: 1 - distance on average." in seen


# Tasks, records, units


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("noun", ["task", "record", "unit"])
def test_units_are_called_as_their_source_calls_them(surface: str, noun: str) -> None:
    context = Context(
        n_units=1, n_annotations=3, incomplete=["7"], malformed=[("8", "no data"), ("9", "no id")], noun=noun
    )
    seen = words_of(surface, SURFACES[surface](busy_report(), context))
    assert f"Read 1 {noun} and 3 annotations" in seen
    assert f"1 {noun} declares more annotations than came: 7." in seen
    assert f"2 malformed {noun}s were left out" in seen
    assert f"bootstrap over {noun}s" in seen
    assert f"whole {noun}s are drawn or left out" in seen
    if noun != "task":
        assert "task" not in seen


def test_a_long_table_has_units(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "table.csv"
    table.write_text("unit,rater,value\n" + "".join(f"{u},{r},{'ab'[u % 2]}\n" for u in range(30) for r in "xy"))
    assert cli.run(["gate", str(table), "--first", "30"]) == 0
    said = capsys.readouterr().out
    assert "Read 30 units and 60 annotations" in said
    assert "task" not in said
