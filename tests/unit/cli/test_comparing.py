"""What `agreement` answers beyond one source: another one beside it, fewer raters, other coefficients, a plan."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from connector import cli
from connector.agreement.comparison import paired_difference
from connector.agreement.power import bloch_kraemer_units
from tests.unit.cli.exports import export, task

LABELS = ("yes", "no", "maybe")
BEFORE = [[LABELS[n % 3], LABELS[(n + (n % 4 == 0)) % 3], LABELS[(n + (n % 2)) % 3]] for n in range(120)]
AFTER = [[LABELS[n % 3], LABELS[(n + (n % 12 == 0)) % 3], LABELS[n % 3]] for n in range(120)]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    export(tmp_path / "v1.json", [task(n + 1, row) for n, row in enumerate(BEFORE)])
    export(tmp_path / "v2.json", [task(n + 1, row) for n, row in enumerate(AFTER)])
    return tmp_path


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert cli.run(list(arguments)) == 0, capsys.readouterr().err
    return capsys.readouterr().out


def difference(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    body = json.loads(answer(capsys, "agreement", *arguments, "--format", "json"))
    (question,) = body["questions"].values()
    found: dict[str, Any] = question["difference"]
    return found


def test_another_source_over_the_same_units(capsys: pytest.CaptureFixture[str]) -> None:
    found = difference(capsys, "v1.json", "--against", "v2.json")
    expected = paired_difference(BEFORE, AFTER)
    assert (found["a_name"], found["b_name"]) == ("v1.json", "v2.json")
    for name in ("value", "a", "b", "low", "high", "p", "n_units", "n_common", "method"):
        assert found[name] == getattr(expected, name), name
    assert "v2.json against v1.json" in answer(capsys, "agreement", "v1.json", "--against", "v2.json")


def test_without_a_rater(capsys: pytest.CaptureFixture[str]) -> None:
    found = difference(capsys, "v1.json", "--without", "3")
    expected = paired_difference(BEFORE, [row[:2] for row in BEFORE])
    assert (found["value"], found["p"]) == (expected.value, expected.p)
    assert found["b_name"] == "without 3"
    two = difference(capsys, "v1.json", "--without", "3", "--without", "1")
    assert (two["value"], two["reason"]) == (None, "no_pairable_units")


def test_another_coefficient(capsys: pytest.CaptureFixture[str]) -> None:
    found = difference(capsys, "v1.json", "--compare", "gwet_ac1")
    expected = paired_difference(BEFORE, BEFORE, other="gwet_ac1")
    assert (found["a_coefficient"], found["b_coefficient"]) == ("krippendorff_alpha", "gwet_ac1")
    assert (found["value"], found["p"]) == (expected.value, expected.p)
    both = difference(capsys, "v1.json", "--against", "v2.json", "--compare", "fleiss_kappa")
    assert both["a"] == paired_difference(BEFORE, AFTER, coefficient="fleiss_kappa").a
    assert {both["a_coefficient"], both["b_coefficient"]} == {"fleiss_kappa"}


def test_tasks_of_other_projects_are_matched_by_a_field_of_their_data(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks = [task(n + 1, row) for n, row in enumerate(AFTER)]
    for one in tasks:
        one["id"] += 5_000
    export(folder / "v3.json", tasks)
    assert cli.run(["agreement", "v1.json", "--against", "v3.json"]) == 2
    assert "--unit-key" in capsys.readouterr().err
    found = difference(capsys, "v1.json", "--against", "v3.json", "--unit-key", "text")
    assert found["value"] == paired_difference(BEFORE, AFTER).value
    assert found["n_common"] == 120


def test_a_task_without_the_field_matches_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tasks = [task(n + 1, row) for n, row in enumerate(AFTER)]
    del tasks[0]["data"]["text"]
    export(folder / "v2.json", tasks)
    found = difference(capsys, "v1.json", "--against", "v2.json", "--unit-key", "text")
    assert (found["n_units"], found["n_common"]) == (121, 119)


def test_units_of_one_source_alone_are_left_out_and_counted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    export(folder / "v2.json", [task(n + 1, row) for n, row in enumerate(AFTER[:100])])
    found = difference(capsys, "v1.json", "--against", "v2.json")
    expected = paired_difference(BEFORE[:100], AFTER[:100])
    for name in ("value", "a", "b", "low", "high", "p"):
        assert found[name] == getattr(expected, name), name
    assert (found["n_units"], found["n_common"], found["n_left_out"]) == (120, 100, 20)
    seen = " ".join(answer(capsys, "agreement", "v1.json", "--against", "v2.json").split())
    assert "100 units with two ratings on both sides, 20 left out" in seen


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["agreement", "v1.json", "--against", "other.json"], "share no question"),
        (["agreement", "v1.json", "--without", "9"], "No rater '9'"),
        (["agreement", "v1.json", "--compare", "fleis_kappa"], "fleiss_kappa"),
        (["agreement", "v1.json", "--compare", "krippendorff_alpha"], "another coefficient"),
        (["agreement", "v1.json", "--against", "v2.json", "--without", "1"], "one at a time"),
        (["agreement", "v1.json", "--half-width", "0"], "between 0 and 1"),
        (["agreement", "v1.json", "--threshold", "1.5"], "threshold"),
        (["agreement", "v1.json", "--plan", "0.05"], "before there are ratings"),
        (["agreement", "--plan", "0.9"], "rarest_share"),
        (["agreement", "--plan", "5e-324"], "rarest_share"),
        (["agreement", "--plan", "1e-300"], "rarest_share"),
        (["agreement", "--plan", "1e-6", "--threshold", "0.9"], "over 10,000,000 units"),
        (["agreement", "--plan", "0.05", "--format", "html"], "not written as html"),
        (["agreement", "v1.json", "--against", "v2.json", "-o", "v2.json"], "one of the sources"),
    ],
)
def test_what_cannot_be_asked_is_2_and_says_what(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: Sequence[str], says: str
) -> None:
    export(folder / "other.json", [task(1, ["yes", "no"], question="colour")])
    assert cli.run(list(arguments)) == 2
    assert says in capsys.readouterr().err


def test_a_plan_before_there_are_ratings(capsys: pytest.CaptureFixture[str]) -> None:
    units = bloch_kraemer_units(0.7, 0.05)
    assert f"Plan for {units} units" in answer(capsys, "agreement", "--plan", "0.05")
    plan = json.loads(answer(capsys, "agreement", "--plan", "0.25", "--threshold", "0.8", "--format", "json"))["plan"]
    assert (plan["units"], plan["smallest_alpha"]) == (139, 0.8)


def test_threshold_and_half_width_of_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("agreement", "v1.json", "--threshold", "0.9", "--half-width", "0.03")
    seen = answer(capsys, *arguments)
    assert "Units for ±0.03" in seen
    assert "under 0.90" in seen
    (question,) = json.loads(answer(capsys, *arguments, "--format", "json"))["questions"].values()
    assert question["power"]["half_width"] == 0.03
    assert question["way_to_threshold"]["threshold"] == 0.9


def test_a_scale_in_the_json_but_never_beside_a_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    body = json.loads(answer(capsys, "agreement", "v2.json", "--scale", "krippendorff", "--format", "json"))
    (question,) = body["questions"].values()
    assert question["reading"]["name"] == "reliable"


def test_the_gate_shows_what_its_verdict_rests_on(capsys: pytest.CaptureFixture[str]) -> None:
    seen = answer(capsys, "gate", "v2.json", "--size", "100")
    first, verdict = seen.index("Gate: GO"), seen.index("Question: ")
    assert first < verdict
    for part in ("Krippendorff's alpha", "disagreeing pairs", "Dawid and Skene", "Alpha without", "Units for ±0.05"):
        assert part in seen
