"""Two real multi-rater exports give what an independent computation found in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from connector.agreement.alpha import krippendorff_alpha
from connector.agreement.report import QuestionRatings, QuestionReport, assess
from connector.annotations.collect import Collector, QuestionChoice, Table
from connector.errors import SkippedTask
from connector.tools.files import open_files

ROOT = Path(__file__).parents[2]
CASES = ROOT / "tests" / "cases"
FILES = {
    "label_studio/leoka_team_4.json": ROOT / "connector" / "demo" / "data" / "leoka_team_4.json",
    "label_studio/leoka_team_11.json": CASES / "leoka_team_11.json",
}
KNOWN = json.loads((CASES / "leoka_known.json").read_text())


@pytest.fixture(params=KNOWN, ids=lambda known: Path(known["file"]).stem)
def known(request: pytest.FixtureRequest) -> Any:
    return request.param


def table_of(known: Any, distance: str) -> Table:
    source = open_files([FILES[known["file"]]])
    collector = Collector(source.schema, None, {"Category": QuestionChoice(distance=distance)})
    for unit in source.units:
        assert not isinstance(unit, SkippedTask)
        collector.add(unit)
    return collector.table()


@pytest.mark.parametrize("distance", ["masi", "jaccard"])
def test_alpha_of_the_taxonomy(known: Any, distance: str) -> None:
    expected = {
        "masi": known["alpha_taxonomy_set_masi(1-J*M)"],
        "jaccard": known["alpha_taxonomy_set_jaccard"]["latest"],
    }
    question = table_of(known, distance).questions["Category"]
    assert krippendorff_alpha(question.ratings, distance=distance).value == pytest.approx(expected[distance], abs=5e-6)


def test_counts(known: Any) -> None:
    table = table_of(known, "masi")
    assert len(table.unit_ids) == known["tasks"]
    assert len(table.rater_ids) == known["raters"]
    assert table.left_out.get("cancelled", 0) == known["cancelled"]
    assert table.left_out.get("draft", 0) == known["drafts"]
    assert table.left_out.get("repeat", 0) == known["same_rater_twice"]
    assert sum(table.ground_truth.values()) == len(table.questions["Category"].gold) == known["ground_truth"]
    per_task = {int(n): tasks for n, tasks in known["annotations_per_task"].items()}
    assert table.n_annotations == sum(n * tasks for n, tasks in per_task.items())
    assert not table.incomplete
    assert not table.not_measured


def characters(known: Any, by: str | None) -> QuestionReport:
    """The report of the spans, blanks at their edges cut off unless asked otherwise."""
    source = open_files([FILES[known["file"]]])
    collector = Collector(source.schema, None, {"label": QuestionChoice(by=by)})
    for unit in source.units:
        assert not isinstance(unit, SkippedTask)
        collector.add(unit)
    found = collector.table().questions["label"]
    question = QuestionRatings("label", "spans", found.ratings, distance=found.question.distance)
    return assess(question, confidence=None).questions["label"]


def test_alpha_by_character_of_the_labels(known: Any) -> None:
    labels = {one.category: one.one_vs_rest for one in characters(known, "untrimmed").categories}
    for label, expected in known["alpha_char_binary_latest"].items():
        assert labels[label] == pytest.approx(expected, abs=1e-5)


def test_blanks_at_the_edges_of_spans_are_disagreement_that_nobody_meant(known: Any) -> None:
    as_marked, trimmed = (characters(known, by).alpha.value for by in ("untrimmed", None))
    assert as_marked is not None
    assert trimmed is not None
    assert as_marked < trimmed
