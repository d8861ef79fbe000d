"""Rankings, texts and numbers on every surface: readable, harmless, and named for what they are."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from typing import Any

import pytest

from connector.agreement.report import AgreementReport, QuestionRatings, assess
from connector.annotations.rankings import ranking
from connector.output import csv as csv_output
from connector.output import html as html_output
from connector.output import json as json_output
from connector.output import markdown, text
from connector.output.view import Context
from tests.unit.output.reports import HOSTILE, ratings_of
from tests.unit.output.test_surfaces import Page, words_of

SURFACES: dict[str, Callable[[AgreementReport, Context | None], str]] = {
    "text": text.render,
    "html": html_output.render,
    "markdown": markdown.render,
}
ABC, BAC = (ranking([(item, place) for place, item in enumerate(order, 1)]) for order in ("abc", "bac"))
TIED = ranking([("a", 1), ("b", 2), ("c", 2)])


def by_task(unit: int, order: tuple[int, int]) -> Any:
    return ranking([(f"{unit}-x", order[0]), (f"{unit}-y", order[1])])


@pytest.fixture(scope="module")
def report() -> AgreementReport:
    long = " ".join(f"word{n}" for n in range(400))
    rows = {
        "order": ("ranking", "kendall", [[ABC, BAC], [ABC, TIED]] * 4 + [[ABC, ABC]] * 10),
        "own": (
            "ranking",
            "kendall_by_task",
            [[by_task(u, (1, 2)), by_task(u, (1 + u % 2, 2 - u % 2))] for u in range(20)],
        ),
        "note": ("text", "edit", [[long, long[::-1]], [HOSTILE[0], HOSTILE[1]], [HOSTILE[5], HOSTILE[7]]] * 3),
    }
    questions = [QuestionRatings(name, kind, ratings_of(row), distance=how) for name, (kind, how, row) in rows.items()]
    numbers = QuestionRatings("size", "number", ratings_of([[1, 2, 9], [3, 3, 3]] * 10), level="interval")
    return assess([*questions, numbers])


@pytest.mark.parametrize("surface", SURFACES)
def test_an_order_reads_best_first_with_its_ties(report: AgreementReport, surface: str) -> None:
    seen = words_of(surface, SURFACES[surface](report, None))
    assert "b > a > c" in seen
    assert "a > b = c" in seen
    assert '["a"' not in seen


@pytest.mark.parametrize("surface", SURFACES)
def test_what_cannot_be_compared_across_tasks_is_told_by_tau(report: AgreementReport, surface: str) -> None:
    seen = words_of(surface, SURFACES[surface](report, None))
    tau = report.questions["own"].coefficients["kendall_tau_b"]
    assert tau.value == pytest.approx(0.0)
    assert "Kendall's tau-b 0.000" in seen
    assert "the answers of different units cannot be compared" in seen
    assert "Borda's order of the items" in seen
    assert "the median" in seen
    assert "Distinct answers" in seen


@pytest.mark.parametrize("surface", SURFACES)
def test_texts_are_clipped_and_act_nowhere(report: AgreementReport, surface: str) -> None:
    rendered = SURFACES[surface](report, None)
    assert "word200" not in rendered
    seen = words_of(surface, rendered)
    assert "993drow" in seen
    if surface == "html":
        assert "script" not in Page(rendered).tags
        assert "img" not in Page(rendered).tags


def test_whole_answers_have_no_leaning(report: AgreementReport) -> None:
    for name in ("order", "own", "note"):
        alone = AgreementReport({name: report.questions[name]})
        assert "Leaning" not in text.render(alone, None)


def test_the_json_report_names_what_was_used(report: AgreementReport) -> None:
    found = json.loads(json_output.render(report))["questions"]
    assert [found[name]["majority_by"] for name in ("order", "own", "note", "size")] == [
        "borda",
        "borda",
        "commonest",
        "median",
    ]
    own = found["own"]["coefficients"]
    assert (own["krippendorff_alpha"]["value"], own["krippendorff_alpha"]["reason"]) == (None, "not_comparable")
    assert own["kendall_tau_b"]["low"] < 0 < own["kendall_tau_b"]["high"]
    assert found["order"]["distance"] == "kendall"
    assert found["order"]["categories"] == {}


def test_a_cell_holds_the_whole_answer(report: AgreementReport) -> None:
    rows = {(row["unit"], row["question"]): row for row in csv.DictReader(io.StringIO(csv_output.render(report)))}
    assert json.loads(rows["2", "order"]["r2"]) == [["a", 1.0], ["b", 2.0], ["c", 2.0]]
    assert json.loads(rows["2", "order"]["majority"]) == [["a", 1.0], ["b", 2.0], ["c", 3.0]]
    assert rows["1", "note"]["r1"].endswith("word399")
    assert rows["2", "note"]["r2"].startswith("'=")
    assert rows["1", "size"]["majority"] == "2"
