"""Where units are parts of tasks, whole tasks are what an interval redraws."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from connector import GateRule, Ratings, assess, decide, krippendorff_alpha
from connector.agreement.comparison import paired_difference
from connector.agreement.report import AgreementReport, QuestionRatings
from connector.agreement.whole_tasks import Tasks

LABELS = "abc"


def tasks_of_parts(n_tasks: int, n_parts: int, seed: int = 1) -> tuple[list[list[Any]], list[str]]:
    """Rows of three raters, the last with gaps, and the task of each: the parts of a task are all easy or all hard."""
    rng = np.random.default_rng(seed)
    rows: list[list[Any]] = []
    task: list[str] = []
    for number in range(n_tasks):
        hard = rng.random() < 0.4
        for _ in range(int(rng.integers(1, n_parts + 1))):
            truth = LABELS[rng.integers(3)]
            row: list[Any] = [LABELS[rng.integers(3)] if hard and rng.random() < 0.7 else truth for _ in range(3)]
            rows.append([*row[:2], row[2] if rng.random() < 0.6 else None])
            task.append(f"t{number}")
    return rows, task


def reported(rows: list[list[Any]], task: list[str] | None, **more: Any) -> AgreementReport:
    ratings = Ratings.from_wide(rows)
    of = None if task is None else dict(zip(ratings.unit_ids, task, strict=True))
    return assess([QuestionRatings("q", "choice", ratings, task_of=of)], **more)


def bounds(report: AgreementReport, name: str = "krippendorff_alpha") -> tuple[float, float]:
    found = report.questions["q"].coefficients[name]
    assert found.low is not None
    assert found.high is not None
    return found.low, found.high


def alpha_of(rows: list[list[Any]]) -> float:
    value = krippendorff_alpha(rows).value
    assert value is not None
    return value


def test_few_tasks_the_jackknife_leaves_out_one_whole_task_at_a_time() -> None:
    rows, task = tasks_of_parts(40, 6)
    names = sorted(set(task))
    values = np.array([alpha_of([row for row, one in zip(rows, task, strict=True) if one != name]) for name in names])
    n, alpha = len(names), alpha_of(rows)
    error = math.sqrt((n - 1) / n * float(((values - values.mean()) ** 2).sum()))
    reach = NormalDist().inv_cdf(0.975) * error / (1 - alpha * alpha)
    low, high = bounds(reported(rows, task))
    assert low == pytest.approx(math.tanh(math.atanh(alpha) - reach), abs=1e-9)
    assert high == pytest.approx(math.tanh(math.atanh(alpha) + reach), abs=1e-9)


def test_many_tasks_the_bootstrap_draws_whole_ones() -> None:
    """Against a bootstrap written out, which takes the rows of the drawn tasks one by one."""
    rows, task = tasks_of_parts(150, 5)
    by_task: dict[str, list[list[Any]]] = {}
    for row, one in zip(rows, task, strict=True):
        by_task.setdefault(one, []).append(row)
    groups = list(by_task.values())
    rng = np.random.default_rng(7)
    values = []
    for _ in range(600):
        drawn = rng.integers(0, len(groups), len(groups))
        values.append(alpha_of([row for place in drawn.tolist() for row in groups[place]]))
    found = reported(rows, task)
    interval = found.questions["q"].alpha.interval
    assert interval is not None
    assert interval.method == "bootstrap"
    low, high = bounds(found)
    # the ends of 600 replicates are themselves known to about a tenth of the interval
    assert (low, high) == pytest.approx(tuple(np.quantile(values, [0.025, 0.975])), abs=0.1 * (high - low))


def test_parts_that_stand_and_fall_together_make_the_interval_wider() -> None:
    rows, task = tasks_of_parts(60, 8)
    by_task, by_part = bounds(reported(rows, task)), bounds(reported(rows, None))
    assert by_task[1] - by_task[0] > 1.2 * (by_part[1] - by_part[0])
    assert reported(rows, task).questions["q"].alpha.value == reported(rows, None).questions["q"].alpha.value


@pytest.mark.parametrize("n", [60, 130])
@pytest.mark.parametrize("name", ["krippendorff_alpha", "fleiss_kappa", "gwet_ac1", "percent_agreement"])
def test_tasks_of_one_part_each_are_units(n: int, name: str) -> None:
    rows, _ = tasks_of_parts(n, 1)
    assert any(None in row for row in rows)
    found = bounds(reported(rows, [str(place) for place in range(len(rows))]), name)
    plain = bounds(reported(rows, None), name)
    # the same tasks drawn by other numbers, so that a bootstrap is the same but for chance
    assert found == pytest.approx(plain, abs=1e-9 if n < 100 else 0.1 * (plain[1] - plain[0]))


def test_a_coefficient_of_other_patterns_and_a_category_by_itself_have_no_interval() -> None:
    rows, task = tasks_of_parts(60, 5)
    two = [row[:2] for row in rows]
    question = reported(two, task).questions["q"]
    assert question.coefficients["cohen_kappa"].value is not None
    assert question.coefficients["cohen_kappa"].interval is None
    assert [one.interval for one in question.categories] == [None] * 3
    assert question.coefficients["gwet_ac1"].analytic is None


def test_perfect_agreement_gets_one_conflict_more_here_too() -> None:
    rows: list[list[Any]] = [["a", "a"], ["b", "b"], ["a", "a"]] * 40
    found = reported(rows, [str(place // 3) for place in range(len(rows))]).questions["q"].alpha
    assert found.interval is not None
    assert found.interval.added_conflict
    assert 0.8 < found.interval.low < found.interval.high == 1.0


def test_the_gate_and_the_plan_count_tasks() -> None:
    rows, task = tasks_of_parts(120, 6, seed=4)
    report = reported(rows, task)
    alpha = report.questions["q"].alpha.value
    assert alpha is not None
    rule = GateRule(threshold=alpha - 0.05, rule="confident", size=1)
    found = decide(report, rule)
    plain = decide(reported(rows, None), rule)
    assert found.verdict == plain.verdict == "UNDECIDED"
    assert found.deciding.low is not None
    assert plain.deciding.low is not None
    assert found.deciding.low < plain.deciding.low
    assert "more tasks" in " ".join(found.deciding.messages)
    power, of_units = report.questions["q"].power, reported(rows, None).questions["q"].power
    assert power is not None
    assert of_units is not None
    assert power.units is not None
    # a task is worth fewer than its 3.5 units, for they stand and fall together
    assert power.units < (of_units.units or 0) < 3.5 * power.units


def test_a_gate_on_a_coefficient_whose_tasks_cannot_be_redrawn_says_so() -> None:
    rows, task = tasks_of_parts(120, 6, seed=4)
    report = reported([row[:2] for row in rows], task)
    kappa = decide(report, GateRule(coefficient="fleiss_kappa", threshold=0.1, rule="confident", size=1)).deciding
    assert kappa.verdict == "GO"
    cohen = decide(report, GateRule(coefficient="cohen_kappa", threshold=0.1, rule="confident", size=1)).deciding
    assert (cohen.verdict, cohen.reasons) == ("UNDECIDED", ("not_confident",))
    assert "whole tasks" in cohen.messages[0]


@pytest.mark.parametrize("n", [40, 140])
def test_a_difference_is_over_whole_tasks(n: int) -> None:
    rows, task = tasks_of_parts(n, 6)
    better = [[row[0], row[0] if place % 3 else row[1], row[2]] for place, row in enumerate(rows)]
    a, b = Ratings.from_wide(rows), Ratings.from_wide(better)
    of = dict(zip(a.unit_ids, task, strict=True))
    found, plain = paired_difference(a, b, task_of=of), paired_difference(a, b)
    assert (found.value, found.method) == (plain.value, "jackknife" if n < 100 else "bootstrap")
    if n < 100:
        names = sorted(set(task))
        kept = [[place for place, one in enumerate(task) if one != name] for name in names]
        values = np.array([alpha_of([better[i] for i in k]) - alpha_of([rows[i] for i in k]) for k in kept])
        error = math.sqrt((n - 1) / n * float(((values - values.mean()) ** 2).sum()))
        assert found.low is not None
        assert found.value is not None
        assert (found.value - found.low) / error == pytest.approx(2.0227, abs=1e-4)  # t of 39 degrees of freedom


def test_a_task_without_pairable_units_is_not_drawn() -> None:
    rows: list[list[Any]] = [["a", "a"], ["a", "b"], ["b", "b"], ["a", None], ["b", None]]
    ratings = Ratings.from_wide(rows)
    prepared = reported(rows, None).questions["q"].prepared
    task_of = dict(zip(ratings.unit_ids, ["x", "x", "y", "y", "z"], strict=True))
    from connector.agreement.alpha import alpha_statistic

    whole = Tasks(task_of, ratings.unit_ids, prepared.patterns).whole(alpha_statistic(prepared, "nominal"))
    assert whole is not None
    assert whole.weights.tolist() == [1, 1]
    assert whole.disagreeing.tolist() == [True, False]
    assert whole.evaluate(np.array([[1.0, 1.0]]))[0] == pytest.approx(alpha_of(rows[:3]))
