"""A gate on the coefficients that come with a comparison of whole answers, by their names."""

from __future__ import annotations

import json
from typing import Any

import pytest

from connector.agreement.gate import COMPANIONS, GATED, GateDecision, GateRule, decide
from connector.agreement.report import AgreementReport
from connector.annotations.rankings import BY_TASK
from tests.unit.agreement.test_likeness import ABC, BAC, box, report

A, B = ("A",), ("B",)
ALIKE, NEAR, FAR = (10, ((0, 5, A),)), (10, ((0, 4, B),)), (10, ((2, 6, B),))
SPANS = [[ALIKE, ALIKE], [NEAR, FAR]]
# Coincidences over the 20 positions of either rater: n = 40, of A 10, of B 8, of blanks 22. Four positions differ, both
# ways: D = 8. P = 40^2 - 10^2 - 8^2 - 22^2 = 952. A unit of length l coincides with itself l^2 times, a blank once:
# S = 2 x 25 + 2 x 16 + 22 = 104.
ALPHA_U = 1 - (40 - 104 / 40) * 8 / 952


def own_items(unit: int, order: str) -> Any:
    """A ranking of three items that no other unit has."""
    return tuple(sorted((f"{unit}-{item}", float(rank)) for rank, item in enumerate(order, start=1)))


def orders(equal: int, swapped: int) -> list[list[Any]]:
    """Units whose two raters agree, and units where one of three pairs is turned round: tau-b 1, and (2 - 1) / 3."""
    return [
        [own_items(unit, "abc"), own_items(unit, "abc" if unit < equal else "acb")] for unit in range(equal + swapped)
    ]


def gate(kind: str, rows: Any, coefficient: str, distance: str | None = None, **rule: Any) -> GateDecision:
    found = report(kind, rows, distance)
    decision = decide(AgreementReport({"q": found}), GateRule(coefficient, size=1, **rule))
    json.dumps(decision.to_json(), allow_nan=False)
    return decision


def test_unitized_alpha_decides_by_its_value() -> None:
    for threshold, verdict in ((ALPHA_U - 1e-6, "GO"), (ALPHA_U, "GO"), (ALPHA_U + 1e-6, "NO-GO")):
        decision = gate("spans", SPANS, "krippendorff_alpha_u", threshold=threshold)
        assert decision.value == pytest.approx(ALPHA_U, abs=1e-12)
        assert (decision.verdict, decision.deciding.coefficient) == (verdict, "krippendorff_alpha_u")
    by_character = gate("spans", SPANS, "krippendorff_alpha", threshold=ALPHA_U)
    # by character every position coincides with itself once: S = n
    assert by_character.value == pytest.approx(1 - (40 - 1) * 8 / 952)


@pytest.mark.parametrize(("threshold", "verdict"), [(0.7, "GO"), (7 / 9, "GO"), (0.78, "NO-GO")])
def test_taub_of_items_that_differ_by_task_decides_where_it_is_asked_for(threshold: float, verdict: str) -> None:
    decision = gate("ranking", orders(10, 5), "kendall_tau_b", BY_TASK, threshold=threshold)
    assert decision.value == pytest.approx((10 + 5 / 3) / 15)
    assert decision.verdict == verdict


def test_taub_of_items_that_all_tasks_share_decides_too() -> None:
    assert gate("ranking", [[ABC, ABC], [ABC, BAC]] * 5, "kendall_tau_b").value == pytest.approx((1 + 1 / 3) / 2)


@pytest.mark.parametrize("rule", ["point", "confident"])
def test_both_rules_decide_by_it(rule: str) -> None:
    clear = gate("ranking", orders(400, 40), "kendall_tau_b", BY_TASK, rule=rule)
    assert clear.verdict == "GO"
    assert clear.value == pytest.approx((400 + 40 / 3) / 440)
    assert clear.low is not None or rule == "point"
    marked = [[ALIKE, ALIKE]] * 150 + [[NEAR, NEAR]] * 150 + [[NEAR, FAR]] * 20
    found = gate("spans", marked, "krippendorff_alpha_u", rule=rule)
    assert found.verdict == "GO"
    poor = gate("spans", [[NEAR, FAR], [FAR, ALIKE]] * 60, "krippendorff_alpha_u", rule=rule)
    assert poor.verdict == "NO-GO"


def test_confident_says_about_how_many_more_units() -> None:
    # tau-b .75 of a wide spread: more units would show on which side of .70 it is
    close = gate("ranking", orders(30, 18), "kendall_tau_b", BY_TASK, rule="confident", threshold=0.7)
    assert (close.verdict, close.reasons) == ("UNDECIDED", ("not_confident",))
    assert close.deciding.units_more is not None
    assert f"about {close.deciding.units_more} more units" in close.messages[0]


@pytest.mark.parametrize("coefficient", COMPANIONS)
def test_a_question_of_another_kind_is_undecided_with_the_reason(coefficient: str) -> None:
    others: dict[str, tuple[list[Any], str]] = {
        "choice": (["a", "b"], "nominal"),
        "choices": ([("a",), ("b",)], "masi"),
        "text": (["cat", "cow"], "edit"),
        "regions": ([(box(1),), (box(2),)], "iou_50"),
    }
    for kind, ((one, other), distance) in others.items():
        decision = gate(kind, [[one, one], [other, other]] * 20, coefficient, distance)
        assert (decision.verdict, decision.reasons) == ("UNDECIDED", ("wrong_kind",))
        assert (
            f"not made for answers of this kind ({kind}); it compares {COMPANIONS[coefficient]}" in decision.messages[0]
        )


def test_a_coefficient_of_labels_is_not_made_for_whole_answers() -> None:
    decision = gate("text", [["cat", "cat"], ["cow", "cow"]] * 20, "scott_pi", "edit")
    assert decision.reasons == ("wrong_kind",)


def test_rankings_of_other_items_name_what_can_be_asked_for() -> None:
    decision = gate("ranking", orders(10, 5), "krippendorff_alpha", BY_TASK)
    assert (decision.verdict, decision.reasons) == ("UNDECIDED", ("not_comparable",))
    assert "kendall_tau_b compares those of each unit" in decision.messages[0]


@pytest.mark.parametrize(
    ("kind", "rows", "distance"),
    [("spans", SPANS, None), ("ranking", orders(10, 5), BY_TASK), ("text", [["cat", "cart"]] * 9 + [["a", "a"]], None)],
)
@pytest.mark.parametrize("coefficient", GATED)
def test_no_kappa_of_equal_whole_answers_stands_beside_a_verdict(
    kind: str, rows: Any, distance: str | None, coefficient: str
) -> None:
    decision = gate(kind, rows, coefficient, distance)
    assert decision.deciding.beside == {}
    assert not any("different sides" in message for message in decision.messages)
