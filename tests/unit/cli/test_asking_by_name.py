"""A gate on questions that none decides by itself: whoever names one, or a coefficient of its kind, asks for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from connector import cli
from tests.unit.cli.exports import export, task

ORDERS = (["a", "b", "c"], ["a", "b", "c"]), (["a", "b", "c"], ["a", "c", "b"])
"""Of two raters: alike, tau-b 1; and with one of three pairs turned round, tau-b (2 - 1) / 3."""


@pytest.fixture(autouse=True)
def ranked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks with items of their own, that two raters rank and comment on, and a choice that they agree on."""
    monkeypatch.chdir(tmp_path)
    tasks = []
    for number in range(1, 31):
        one = task(number, ["yes", "yes"] if number % 2 else ["no", "no"])
        for annotation, order in zip(one["annotations"], ORDERS[number % 3 == 0], strict=True):
            items = [f"{number}-{item}" for item in order]
            ranking = {"from_name": "rank", "to_name": "list", "type": "ranker", "id": "r", "value": {"ranker": items}}
            text = {"text": [f"note {annotation['completed_by']}"]}
            note = {"from_name": "note", "to_name": "text", "type": "textarea", "id": "t", "value": text}
            annotation["result"] += [ranking, note]
        tasks.append(one)
    export(tmp_path / "ranked.json", tasks)


def gate(capsys: pytest.CaptureFixture[str], code: int, *arguments: str) -> dict[str, Any]:
    assert cli.run(["gate", "ranked.json", "--size", "30", *arguments, "--format", "json"]) == code
    found: dict[str, Any] = json.loads(capsys.readouterr().out)["gate"]
    return found


def test_by_default_the_choice_alone_decides(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(gate(capsys, 0)["questions"]) == ["sentiment"]


def test_a_ranking_of_other_items_decides_by_taub_where_it_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    named = ("--question", "rank", "--coefficient", "kendall_tau_b")
    found = gate(capsys, 0, *named, "--threshold", "0.77")
    assert found["value"] == pytest.approx((20 + 10 / 3) / 30)
    assert gate(capsys, 1, *named, "--threshold", "0.78")["verdict"] == "NO-GO"


def test_without_its_own_coefficient_the_reason_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    found = gate(capsys, 3, "--question", "rank")
    assert found["reasons"] == ["not_comparable"]
    assert "kendall_tau_b" in found["messages"][0]
    other = gate(capsys, 3, "--question", "sentiment", "--coefficient", "kendall_tau_b")
    assert other["reasons"] == ["wrong_kind"]


def test_a_text_that_is_named_is_decided(capsys: pytest.CaptureFixture[str]) -> None:
    found = gate(capsys, 1, "--question", "note")
    assert (found["question"], found["verdict"]) == ("note", "NO-GO")


def test_a_coefficient_that_nobody_knows_is_a_fault_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["gate", "ranked.json", "--coefficient", "kendall_tau"]) == 2
    assert "kendall_tau_b" in capsys.readouterr().err
