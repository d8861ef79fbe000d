"""Consensus, power, differences, gold and the curve: the same on every surface, and readable in 80 columns."""

from __future__ import annotations

import json
import re

import pytest

from connector.agreement.comparison import Compared, Difference, paired_difference
from connector.agreement.dawid_skene import DawidSkene
from connector.agreement.ratings import Ratings
from connector.agreement.report import AgreementReport, QuestionRatings, assess
from connector.agreement.scales import SCALES
from connector.output import further, shown, text
from connector.output import json as json_output
from connector.output import plan as plan_output
from connector.output.view import Context, view
from tests.unit.output.reports import HOSTILE, mixed_report, ratings_of
from tests.unit.output.test_findings import busy_report
from tests.unit.output.test_surfaces import SURFACES, words_of


def small() -> Ratings:
    rows: list[list[object]] = [["a", "a", "b"], ["a", "a", "a"], ["b", "b", "b"], ["b", "b", "b"], ["a", None, "b"]]
    return ratings_of(rows * 12)


def with_difference(found: Difference, names: tuple[str, str] = ("v1.json", "v2.json")) -> AgreementReport:
    report = assess(small())
    coefficients = ("krippendorff_alpha", "krippendorff_alpha")
    return report.with_differences({"value": Compared(*names, *coefficients, found)})


@pytest.mark.parametrize("surface", SURFACES)
def test_the_consensus_stands_beside_the_majority(surface: str) -> None:
    report = assess(small())
    found = report.questions["value"].dawid_skene
    assert isinstance(found, DawidSkene)
    seen = words_of(surface, SURFACES[surface](report, None))
    assert f"converged after {found.iterations} iterations" in seen
    assert f"another answer than the majority's for {found.n_other} of 60 units; of 12 ties it settles 12." in seen
    for one in found.units(5):
        assert f"{one.unit} – {one.label} {shown.number(one.probability)}" in seen
    worst = found.worst_raters[0]
    share = shown.percent(float(found.errors[worst]))
    assert f"Answers unlike this consensus, by rater: {found.rater_ids[worst]} {share}" in seen


@pytest.mark.parametrize("surface", SURFACES)
def test_one_that_did_not_come_to_rest_is_not_to_be_relied_on(surface: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("connector.agreement.dawid_skene.ITERATIONS", 1)
    seen = words_of(surface, SURFACES[surface](assess(small()), None))
    assert "NOT converged after 1 iteration: not to be relied on" in seen


def test_one_too_large_says_so_and_others_nothing() -> None:
    rows: list[list[object]] = [[f"x{u}", f"y{u}"] for u in range(1_500)]
    assert "too many for it" in further.consensus(assess(ratings_of(rows)).questions["value"]).sentence
    for question in mixed_report().questions.values():
        assert further.consensus(question) == further.Consensus()


@pytest.mark.parametrize("surface", SURFACES)
def test_units_for_a_narrow_interval(surface: str) -> None:
    report = assess(small(), half_width=0.02)
    power = report.questions["value"].power
    assert power is not None
    assert power.units is not None
    seen = words_of(surface, SURFACES[surface](report, None))
    assert f"about {shown.count(power.units)} like these" in seen
    assert "Units for ±0.02" in seen
    agreed = assess(ratings_of([["a", "a"], ["b", "b"]] * 20))
    assert "no practical number" in words_of(surface, SURFACES[surface](agreed, None))


@pytest.mark.parametrize("surface", SURFACES)
def test_a_difference_with_its_interval_and_p(surface: str) -> None:
    after = Ratings.from_wide([["a", "a"], ["b", "b"], ["b", "b"], ["b", "a"], ["a", "a"]] * 12, unit_ids=UNITS)
    found = paired_difference(small(), after)
    seen = words_of(surface, SURFACES[surface](with_difference(found), None))
    assert found.low is not None
    assert found.high is not None
    assert found.p is not None
    assert (
        f"Krippendorff's alpha, v2.json against v1.json: {shown.number(found.b)} less {shown.number(found.a)} is "
        f"{shown.signed(found.value or 0)}; 95% interval {shown.signed(found.low)} to {shown.signed(found.high)}"
    ) in seen
    assert "(jackknife, 60 units with two ratings on both sides)" in seen


UNITS = [str(place + 1) for place in range(60)]


@pytest.mark.parametrize(
    ("found", "says"),
    [
        (Difference(0.1, 0.5, 0.6, 80, 70, -0.1, 0.3, 0.4, None, 0.95, "bootstrap", 1), "may explain it (bootstrap"),
        (
            Difference(0.1, 0.5, 0.6, 80, 70, -0.1, 0.3, 0.4, None, 0.95, "bootstrap", 1),
            ", 70 units with two ratings on both sides, 10 left out)",
        ),
        (Difference(0.1, 0.5, 0.6, 80, 80, 0.05, 0.3, 1e-4, None, 0.95, "bootstrap", 1), "p under 0.001; more than"),
        (Difference(0.0, 0.5, 0.5, 80, 70), "No resample of the units changes that (70 units with two ratings on both"),
        (Difference(None, 0.5, None, 80, 80, reason="no_variation"), "v2.json has no number: every rating is the same"),
        (Difference(None, 0.5, 0.4, 80, 0, reason="no_common_units"), "No unit has two ratings on both sides."),
        (Difference(None, None, None, 80, 0, reason="no_pairable_units"), "One of the two sides has no unit with two"),
    ],
)
def test_what_is_said_of_a_difference(found: Difference, says: str) -> None:
    for surface, render in SURFACES.items():
        assert says in words_of(surface, render(with_difference(found), None))
    body = json.loads(json_output.render(with_difference(found)))["questions"]["value"]["difference"]
    assert (body["value"], body["p"], body["reason"]) == (found.value, found.p, found.reason)
    assert (body["a_name"], body["b_name"]) == ("v1.json", "v2.json")


@pytest.mark.parametrize("surface", SURFACES)
def test_that_there_is_no_interval_is_said_with_the_reason(surface: str) -> None:
    report = assess(ratings_of([["a", "b"]] * 300))
    assert "No interval of alpha can be given" in words_of(surface, SURFACES[surface](report, None))
    assert "No interval" not in words_of(surface, SURFACES[surface](assess(small()), None))


def test_two_coefficients_are_called_by_their_names() -> None:
    ratings = small()
    found = paired_difference(ratings, ratings, other="gwet_ac1")
    asked = Compared("all raters", "all raters", "krippendorff_alpha", "gwet_ac1", found)
    seen = text.render(assess(ratings).with_differences({"value": asked}))
    assert "Gwet's AC1 against Krippendorff's alpha:" in seen


def test_the_names_of_the_sides_are_harmless() -> None:
    found = Difference(0.1, 0.5, 0.6, 80, 80, 0.05, 0.3, 0.01, None, 0.95, "bootstrap", 1)
    for surface, render in SURFACES.items():
        page = render(with_difference(found, (HOSTILE[0], HOSTILE[2])), None)
        assert surface == "text" or HOSTILE[0] not in page
        assert "\x1b[31m" not in page


@pytest.mark.parametrize("surface", SURFACES)
def test_leaning_against_gold_and_the_curve(surface: str) -> None:
    report = busy_report()
    question = report.questions["why"]
    assert question.diagnosis is not None
    seen = words_of(surface, SURFACES[surface](report, None))
    gaps = [(one.rater, one.gold.leaning[0]) for one in question.diagnosis.raters if one.gold and one.gold.leaning]
    rater, most = max(gaps, key=lambda gap: abs(gap[1].difference))
    assert (
        f'{rater} says "{most.category}" in {shown.percent(most.own)} of answers, gold in {shown.percent(most.others)}'
    ) in seen
    way = question.diagnosis.way_to_threshold
    assert way is not None
    last, alpha = way.curve[-1]
    assert f"{shown.number(alpha)} with {last}." in seen


def test_the_whole_report_fits_80_columns() -> None:
    found = Difference(0.1, 0.5, 0.6, 80, 70, -0.1, 0.3, 0.4, None, 0.95, "bootstrap", 1)
    reports = [busy_report(), mixed_report(), with_difference(found, ("a" * 90, "b" * 90))]
    for report in reports:
        for line in text.render(report, Context(notes=["x" * 200])).splitlines():
            assert text.cells(line) <= 80, line


@pytest.mark.parametrize("scale", SCALES)
def test_a_reading_scale_in_the_json(scale: str) -> None:
    report = assess(small())
    body = json.loads(json_output.render(report, scale))["questions"]["value"]["reading"]
    assert body["scale"] == scale
    assert body["low"] is None or body["low"] <= (report.questions["value"].alpha.value or 0)
    assert body["advice"] in " ".join(view(report, Context(scale=scale)).questions[0].reading.split())
    assert "reading" not in json_output.render(mixed_report(), scale), "never beside a verdict"


def test_a_plan_as_text_and_as_json() -> None:
    lines = plan_output.render_text(1_234, 0.7, 0.05)
    assert "Plan for 1,234 units" in lines
    assert "rarest category has 5.0% of the ratings" in re.sub(r"\s+", " ", lines)
    assert json.loads(plan_output.render_json(1_234, 0.7, 0.05))["plan"] == {
        "units": 1_234,
        "smallest_alpha": 0.7,
        "rarest_share": 0.05,
        "significance": 0.05,
    }


def test_columns_of_the_units() -> None:
    report = assess([QuestionRatings("q", "choice", small())])
    question = report.questions["q"]
    assert question.diagnosis is not None
    costs, influences = question.diagnosis.unit_costs
    assert sum(cost or 0 for cost in costs) == pytest.approx(1 - (question.alpha.value or 0))
    listed = {one.unit: one for one in question.diagnosis.units_by_influence}
    for unit, cost, influence in zip(question.units.unit_ids, costs, influences, strict=True):
        if unit in listed:
            assert (cost, influence) == (listed[unit].cost, listed[unit].influence)
