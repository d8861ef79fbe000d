"""Two real multi-rater exports give what an independent computation found in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from connector.agreement.alpha import krippendorff_alpha
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
    assert [(one.question, one.kind) for one in table.not_measured] == [("label", "labels")]
