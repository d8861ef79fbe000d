"""Several projects and files as one table: whose ratings meet on which unit, and what each tool is told of it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from connector.errors import DataNotTrusted, FixConfiguration, NotThere, ToolTrouble, WritesFailed
from connector.tools.label_studio.tool import LabelStudio
from tests.contract.conversation import LABEL_CONFIG
from tests.contract.joined_projects import JoinedProjects, by_rater
from tests.contract.recorded_label_studio import Answer, RecordedLabelStudio, Request
from tests.contract.synced_project import DAY, Killed, writes

Make = Callable[[], JoinedProjects]
P, N = "Positive", "Negative"
UNITS: list[dict[int, str]] = [
    {1: P, 2: P, 3: P}, {1: P, 2: P, 3: N}, {1: N, 2: N, 3: N}, {1: N, 2: N}, {2: P, 3: P}, {1: P, 3: N},
    {1: P, 2: P, 3: P}, {1: N, 2: P, 3: N}, {1: P}, {2: N, 3: N}, {1: N, 2: N, 3: N}, {},
]  # fmt: skip
"""Twelve ragged units, three raters."""


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Makes servers without projects, each with a store of its own."""
    with ExitStack() as stack:
        numbers = itertools.count(1)

        def one() -> JoinedProjects:
            folder = tmp_path / str(next(numbers))
            folder.mkdir()
            return JoinedProjects(stack.enter_context(RecordedLabelStudio()), folder)

        yield one


@pytest.fixture
def joined(make: Make) -> JoinedProjects:
    """Two projects: four units in both, one in either alone; raters 1 and 2 here, 1 and 3 there."""
    return two_projects(make())


def two_projects(joined: JoinedProjects) -> JoinedProjects:
    joined.make(
        ("a", {1: P, 2: P}), ("b", {1: P, 2: N}), ("c", {1: N, 2: N}), ("d", {1: P, 2: P}), ("only7", {1: P, 2: N})
    )
    joined.make(
        ("a", {1: P, 3: P}), ("b", {1: P, 3: N}), ("c", {1: N, 3: P}), ("d", {1: N, 3: N}), ("only8", {1: P, 3: P})
    )
    return joined


SAME = {"map": {"label_studio:7/1": "anna", "label_studio:8/1": "anna"}}


# One table


def test_a_project_for_each_rater_gives_what_one_project_gives(make: Make) -> None:
    apart, together = make(), make()
    whole = together.make(*((f"unit {number}", row) for number, row in enumerate(UNITS)))
    (expected,) = together.sync()
    for tasks in by_rater(UNITS).values():
        apart.make(*tasks)
    found = apart.sync()
    question, other = found[0].measured.report.questions["sentiment"], expected.measured.report.questions["sentiment"]
    assert question.alpha.value is not None
    assert (question.alpha.value, question.alpha.low) == (other.alpha.value, other.alpha.low)
    assert (question.n_units, question.n_ratings, question.n_raters) == (other.n_units, other.n_ratings, 3)
    for project in apart.projects:
        assert apart.ours(project) == together.ours(whole), "a unit's scores stand on each of its tasks"


def test_raters_of_one_id_in_two_projects_are_two_people_unless_mapped(joined: JoinedProjects) -> None:
    joined.sync()
    assert joined.column(7, "iaa_raters") == {"a": 4.0, "b": 4.0, "c": 4.0, "d": 4.0, "only7": 2.0}
    report = joined.sync()[0].measured.report.questions["sentiment"]
    assert report.source.ratings.rater_ids == [
        "label_studio:7/1", "label_studio:7/2", "label_studio:8/1", "label_studio:8/3",
    ]  # fmt: skip
    mapped = joined.sync(raters=SAME)[0].measured.report.questions["sentiment"]
    assert mapped.source.ratings.rater_ids == ["anna", "label_studio:7/2", "label_studio:8/3"]
    assert joined.column(7, "iaa_raters") == {"a": 3.0, "b": 3.0, "c": 3.0, "d": 3.0, "only7": 2.0}
    assert mapped.source.left_out == {"repeat": 4}


def test_of_one_persons_ratings_in_two_projects_the_newest_counts(joined: JoinedProjects) -> None:
    joined.sync(raters=SAME)
    assert joined.column(7, "iaa_majority")["d"] == N, "anna said so last, in the other project"
    joined.answer(joined.tasks(7)[3], P)
    joined.sync(raters=SAME)
    assert joined.column(7, "iaa_majority")["d"] == P == joined.column(8, "iaa_majority")["d"]


@pytest.mark.parametrize(
    ("raters", "counted"),
    [
        ({"exclude": ["label_studio:8/1"]}, 3.0),
        ({"reviewers": ["label_studio:8/1", "label_studio:8/3"]}, 2.0),
        ({**SAME, "exclude": ["anna"]}, 2.0),
        ({**SAME, "exclude": ["label_studio:8/1"]}, 3.0),
        ({**SAME, "exclude": ["label_studio:7/1", "label_studio:8/1"]}, 2.0),
    ],
)
def test_who_does_not_count_is_named_with_the_source_or_by_the_map(
    joined: JoinedProjects, raters: dict[str, Any], counted: float
) -> None:
    joined.sync(raters=raters)
    assert joined.column(7, "iaa_raters")["a"] == counted


def test_an_excluded_account_leaves_the_persons_other_one_in(joined: JoinedProjects) -> None:
    done = joined.sync(raters={**SAME, "exclude": ["label_studio:8/1"]})
    assert joined.column(7, "iaa_majority")["d"] == P
    assert done[0].measured.table.left_out == {"excluded": 5}


def test_keys_meet_as_text_and_tasks_without_one_stand_alone(make: Make) -> None:
    joined = make()
    joined.make((1, {1: P}), ("2", {1: P}), (3.0, {1: N}), (None, {1: P}), ("", {1: P}), (" ", {1: P}))
    joined.make(("1", {2: P}), (2, {2: N}), (" 3 ", {2: N}), (None, {2: P}))
    done = joined.sync()
    assert list(done[0].measured.table.unit_ids) == [
        "1", "2", "3", "label_studio:7/104", "label_studio:7/105", "label_studio:7/106", "label_studio:8/110",
    ]  # fmt: skip
    assert joined.column(7)[1] == "agreed"
    said = "\n".join(done[0].measured.joined.notes() if done[0].measured.joined else ())
    assert "3 of 7 units join several tasks by sku" in said
    assert "label_studio:7: 3 of 6 tasks hold no sku and stand alone, as label_studio:7/ID (104, 105, 106)." in said
    assert "label_studio:8: 1 of 4 tasks holds no sku" in said


def test_two_tasks_of_one_key_in_one_project_are_one_unit(make: Make) -> None:
    joined = make()
    project = joined.make(("a", {1: P, 2: N}), ("a", {1: N, 3: N}), ("b", {1: P, 2: P}))
    (done,) = joined.sync(review={})
    assert [joined.server.tasks[task]["data"]["iaa_raters"] for task in joined.tasks(project)] == [3.0, 3.0, 2.0]
    first, second, _ = (joined.server.tasks[task]["data"] for task in joined.tasks(project))
    assert first == second, "the scores go to both tasks"
    assert first["iaa_majority"] == N, "rater 1 changed her mind in the second"
    assert done.measured.report.questions["sentiment"].source.left_out == {"repeat": 1}
    assert any("2 tasks share their sku with another" in note for note in done.measured.joined.notes())  # type: ignore[union-attr]


def test_without_a_key_every_task_is_a_unit(joined: JoinedProjects) -> None:
    done = joined.sync(unit_key=None)
    assert done[0].measured.report.questions["sentiment"].n_units == 10
    assert list(done[0].measured.table.unit_ids)[:2] == ["label_studio:7/101", "label_studio:7/102"]
    assert set(joined.column(7, "iaa_raters").values()) == {2.0}


def test_one_persons_two_accounts_in_one_project_are_joined_by_the_map(make: Make) -> None:
    joined = make()
    project = joined.make(("a", {1: P, 2: P}), ("b", {1: P, 2: N, 3: N}))
    joined.sync(unit_key=None, raters={"map": {"2": "1"}})
    assert joined.column(project, "iaa_raters") == {"a": 1.0, "b": 2.0}
    joined.sync(unit_key=None, raters={"map": {"label_studio:7/2": "3"}, "exclude": ["label_studio:7/1"]})
    assert joined.column(project, "iaa_raters") == {"a": 1.0, "b": 1.0}


# Required ratings, blindness


def test_ratings_are_required_of_the_unit_not_of_each_task(joined: JoinedProjects) -> None:
    joined.sync(raters={"expected": 4}, review={})
    assert set(joined.column(7, "iaa_majority")) == {"a", "b", "c", "d"} - {"b", "d"}, "b and d are ties"
    assert joined.reviewed() == [("7", "102"), ("7", "104")], "only7 waits for two more ratings"
    joined.sync(raters={"expected": 5})
    assert joined.column(7, "iaa_majority") == {}


# What each tool is told


def test_nothing_changed_writes_nothing_and_asks_each_project_three_questions_at_most(joined: JoinedProjects) -> None:
    joined.sync(review={})
    joined.now += 3600
    with joined.counting() as calls:
        done = joined.sync(review={})
    assert writes(calls) == []
    assert len(calls) <= 6
    assert [one.pulled.full for one in done] == [False, False]
    joined.now += DAY
    with joined.counting() as calls:
        joined.sync(review={})
    assert writes(calls) == []


def test_a_change_in_one_project_is_shown_in_every_project_that_holds_the_unit(joined: JoinedProjects) -> None:
    joined.sync()
    before = joined.ours(7), joined.ours(8)
    joined.answer(joined.tasks(8)[0], N)
    done = joined.sync()
    assert [one.pulled.fetched for one in done] == [0, 1]
    after = joined.ours(7), joined.ours(8)
    assert after[0]["a"] == after[1]["a"] == {
        "iaa_agreement": 0.5, "iaa_consensus": 0.75, "iaa_majority": P, "iaa_raters": 4.0, "iaa_status": "majority",
    }  # fmt: skip
    for old, new in zip(before, after, strict=True):
        assert {sku for sku in new if new[sku] != old[sku]} == {"a"}


def test_each_project_has_its_own_tab_and_line(joined: JoinedProjects) -> None:
    joined.sync()
    for project in joined.projects:
        assert joined.tabs(project) == ["Default", "Conflicts"]
        assert "Agreement: over 2 sources: alpha" in joined.description(project)


def test_a_unit_is_reviewed_once_in_the_first_project_that_holds_it(joined: JoinedProjects) -> None:
    expected = [("7", "102"), ("7", "103"), ("7", "104"), ("7", "105")]
    joined.answer(joined.tasks(7)[2], P)
    joined.sync(review={}, conflict={"share_below": 0.75})
    assert joined.reviewed() == [("7", "102"), ("7", "103"), ("7", "104"), ("7", "105")]
    joined.lose_the_store()
    joined.answer(joined.tasks(8)[4], N)
    joined.sync(review={}, conflict={"share_below": 0.75})
    assert joined.reviewed() == [*expected, ("8", "110")]
    assert len(joined.review_projects) == 2


def test_the_limit_of_review_tasks_is_one_for_all_projects(joined: JoinedProjects) -> None:
    joined.answer(joined.tasks(8)[4], N)
    joined.sync(review={"limit": 2})
    assert len(joined.reviewed()) == 2
    joined.sync(review={"limit": 3}, full=True)
    assert len(joined.reviewed()) == 3
    assert joined.shell("review", "status", review={"limit": 3}) == 0


def test_raters_are_named_in_review_tasks_as_the_map_or_their_tool_names_them(
    joined: JoinedProjects, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = joined.server.real

    def named(request: Request) -> Answer:
        if request.path.rstrip("/") == "/api/users":
            return Answer(200, [{"id": number, "first_name": f"Person {number}"} for number in (1, 2, 3)])
        return real(request)

    monkeypatch.setattr(joined.server, "real", named)
    joined.sync(review={"raters": "named"})
    (room,) = joined.review_projects
    tasks = [joined.server.tasks[task]["data"] for task in joined.tasks(room)]
    assert {one["iaa_source_task"]: one["iaa_votes"] for one in tasks}["102"] == {
        "Person 1 (label_studio:7/1)": P, "Person 1 (label_studio:8/1)": P, "Person 2": N, "Person 3": N,
    }  # fmt: skip


def test_a_shared_review_project_goes_with_all_of_them(joined: JoinedProjects) -> None:
    before = joined.state()
    joined.answer(joined.tasks(8)[4], N)
    ratings = joined.state()[1]
    joined.sync(review={"project": "Second look"})
    assert len(joined.review_projects) == 1
    assert {project for project, _ in joined.reviewed()} == {"7", "8"}
    joined.remove(reviews=True)
    after = joined.state()
    assert (after[0], after[2], after[3]) == (before[0], before[2], before[3])
    assert after[1] == ratings


def test_a_persons_own_field_in_one_project_stops_it_before_anything_is_written(joined: JoinedProjects) -> None:
    task = joined.tasks(8)[0]
    joined.api("PATCH", f"/api/tasks/{task}/", {"data": {"sku": "a", "text": "x", "iaa_status": "mine"}})
    before = joined.state()
    with pytest.raises(FixConfiguration, match="label_studio:8"):
        joined.sync()
    assert joined.state() == before


# Faults


def test_a_review_project_that_cannot_be_used_stops_the_run_before_anything_is_written(joined: JoinedProjects) -> None:
    for dry_run in (True, False):
        with joined.counting() as calls, pytest.raises(FixConfiguration, match="label_studio:7: The review project is"):
            joined.sync(review={"project": joined.projects[0]}, dry_run=dry_run)
        assert writes(calls) == []


def test_what_one_project_refuses_in_the_end_keeps_no_other_from_its_scores(
    joined: JoinedProjects, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What a person changes between the look ahead and the write.
    monkeypatch.setattr(LabelStudio, "verify", lambda _tool, _op: None)
    with pytest.raises(WritesFailed, match="label_studio:7: The review project is the source project itself"):
        joined.sync(review={"project": joined.projects[0]})
    for project in joined.projects:
        assert all("iaa_status" in fields for fields in joined.ours(project).values())


def test_a_project_that_is_away_stops_the_run_before_anything_is_pulled_or_written(joined: JoinedProjects) -> None:
    before = joined.state()
    joined.projects.append(99)
    with joined.counting() as calls, pytest.raises(NotThere) as caught:
        joined.sync(review={})
    assert caught.value.exit_code == 4
    assert writes(calls) == []
    assert not any("/api/tasks" in call for call in calls)
    assert joined.state() == before
    assert joined.shell("gate") == 4
    assert joined.shell("remove") == 4


def test_a_project_that_goes_away_in_mid_pull_leaves_nothing_half_done(make: Make) -> None:
    joined, unharmed = two_projects(make()), two_projects(make())

    def away(request: Request) -> Answer | None:
        return Answer(503, "down", "text/html") if request.is_page and request.params["project"] == "8" else None

    with joined.server.failing(away), joined.counting() as calls, pytest.raises(ToolTrouble) as caught:
        joined.sync(review={})
    assert caught.value.exit_code == 4
    assert writes(calls) == []
    assert joined.ledger(7) == {}
    unharmed.sync(review={})
    joined.sync(review={})
    assert joined.shown() == unharmed.shown()


def test_writes_that_fail_in_one_project_do_not_keep_the_other_from_its_own(make: Make) -> None:
    joined, unharmed = two_projects(make()), two_projects(make())

    def broken(request: Request) -> Answer | None:
        bulk = request.path.startswith("/api/dm/actions") and request.params.get("project") == "7"
        return Answer(500, {"detail": "it broke"}) if bulk else None

    with joined.server.failing(broken), pytest.raises(WritesFailed, match="label_studio:7: Some writes") as caught:
        joined.sync()
    assert caught.value.exit_code == 6
    assert joined.column(7) == {}
    assert len(joined.column(8)) == 5
    unharmed.sync()
    joined.sync()
    assert joined.shown() == unharmed.shown()


def test_one_small_project_that_cannot_be_read_is_not_hidden_by_a_large_one(make: Make) -> None:
    joined = make()
    joined.make(*((f"unit {number}", {1: P, 2: P}) for number in range(300)))
    joined.make(("unit 1", {1: N}), ("unit 2", {1: N}))
    broken = joined.tasks(8)[0]

    def fault(request: Request) -> Answer | None:
        answer = joined.server.real(request)
        if request.is_page and answer.status == 200:
            for row in answer.body["tasks"]:
                if row["id"] == broken and "annotations" in row:
                    row["annotations"] = "three of them"
        return answer

    with joined.server.failing(fault), joined.counting() as calls, pytest.raises(DataNotTrusted) as caught:
        joined.sync()
    assert caught.value.exit_code == 5
    assert "1 of 2 tasks of label_studio:8 is malformed: task label_studio:8/401" in str(caught.value)
    assert writes(calls) == []


def test_a_run_that_dies_anywhere_leaves_nothing_double(make: Make) -> None:
    unharmed = two_projects(make())
    unharmed.sync(review={})
    for place in itertools.count():
        joined = two_projects(make())
        before = joined.state()
        died = _dying(joined, "call", place, partial(joined.sync, review={}))
        if not died:
            break
        joined.sync(review={})
        assert joined.shown() == unharmed.shown(), place
        with joined.counting() as calls:
            joined.sync(review={})
        assert writes(calls) == [], place
        joined.remove(reviews=True)
        assert joined.state() == before, place
    assert place >= 10


def test_a_removal_that_dies_anywhere_is_completed(make: Make) -> None:
    for place in itertools.count():
        joined = two_projects(make())
        before = joined.state()
        joined.sync(review={})
        died = _dying(joined, "operation", place, partial(joined.remove, reviews=True))
        joined.remove(reviews=True)
        assert joined.state() == before, place
        if not died:
            break
    assert place >= 8


def test_a_lost_store_makes_nothing_twice(joined: JoinedProjects) -> None:
    joined.answer(joined.tasks(8)[4], N)
    before = joined.state()
    joined.sync(review={})
    there = joined.shown()
    joined.lose_the_store()
    with joined.counting() as calls:
        joined.sync(review={})
    assert writes(calls) == []
    assert joined.shown() == there
    joined.lose_the_store()
    joined.remove(reviews=True)
    assert joined.state() == before


def test_a_project_that_joins_later_changes_only_what_differs(make: Make) -> None:
    joined, always = two_projects(make()), two_projects(make())
    always.sync()
    other = joined.projects.pop()
    joined.sync(unit_key=None)
    assert joined.column(7, "iaa_raters")["a"] == 2.0
    joined.projects.append(other)
    done = joined.sync()
    assert joined.shown() == always.shown()
    lines = done[0].plan.lines()
    assert not any(line.startswith(("set iaa_status on 5", "put the tab")) for line in lines), "what holds is left"


# Questions


def _with_question(name: str, *labels: str, kind: str = "Choices") -> str:
    choices = "".join(f'<Choice value="{label}"/>' for label in labels)
    control = f'<{kind} name="{name}" toName="text" choice="single">{choices}</{kind}>'
    return LABEL_CONFIG.replace("</View>", f"{control}</View>")


def test_a_question_that_one_project_alone_asks_is_shown_in_that_project_alone(make: Make) -> None:
    joined, alone = make(), make()
    config = _with_question("topic", "x", "y")
    for one in (joined, alone):
        one.make(("a", {1: P, 2: P}), ("b", {1: P, 2: N}), label_config=config)
    joined.make(("a", {1: P}), ("c", {1: P}))
    for one in (joined, alone):
        for task, topics in zip(one.tasks(7), ("xx", "xy"), strict=True):
            for annotation, topic in zip(one.server.tasks[task]["annotations"], topics, strict=True):
                also = {**annotation["result"][0], "from_name": "topic", "id": "t", "value": {"choices": [topic]}}
                annotation["result"] = [*annotation["result"], also]
    (first, _) = joined.sync()
    alone.sync()
    assert {key for fields in joined.ours(7).values() for key in fields} == {
        key for fields in alone.ours(7).values() for key in fields
    }
    assert set(joined.ours(8)["a"]) == {"iaa_agreement", "iaa_consensus", "iaa_majority", "iaa_raters", "iaa_status"}
    assert joined.ours(8)["a"]["iaa_raters"] == joined.ours(7)["a"]["iaa_raters_sentiment"] == 3.0
    asked = first.measured.report.questions["topic"]
    assert (asked.n_ratings, asked.source.left_out) == (4, {"not_shown": 2})
    assert asked.source.conditional


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (LABEL_CONFIG.replace('choice="single"', 'choice="multiple"'), "is of kind choice in label_studio:7 and is of"),
        (
            '<View><Text name="text" value="$text"/><Rating name="sentiment" toName="text"/></View>',
            "of kind rating in label_studio:8",
        ),
    ],
)
def test_questions_of_one_name_and_two_kinds_stop_a_run_before_it_reads(make: Make, config: str, said: str) -> None:
    joined = make()
    joined.make(("a", {1: P}))
    joined.make(("a", {}), label_config=config)
    with joined.counting() as calls, pytest.raises(FixConfiguration) as caught:
        joined.sync()
    assert caught.value.exit_code == 2
    assert said in str(caught.value)
    assert not any("/api/tasks" in call for call in calls)


def test_the_labels_of_all_projects_are_a_questions_categories(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    joined = make()
    joined.make(("a", {1: P}), ("b", {1: N}))
    joined.make(
        ("a", {1: P}),
        ("b", {1: "Mixed"}),
        label_config=LABEL_CONFIG.replace('<Choice value="Negative"/>', '<Choice value="Mixed"/>'),
    )
    done = joined.sync()
    question = done[0].measured.report.questions["sentiment"]
    assert question.source.categories == (P, N, "Mixed")
    assert done[0].measured.table.questions["sentiment"].stale == {}
    note = "label_studio:7 does not declare Mixed; label_studio:8 does not declare Negative."
    assert any(note in one for one in (done[0].measured.joined.notes() if done[0].measured.joined else ()))
    assert joined.shell("check") == 0
    assert note in capsys.readouterr().out
    with pytest.raises(FixConfiguration, match="has the labels Positive, Negative in label_studio:7"):
        joined.sync(questions={"sentiment": {"level": "ordinal"}})
    joined.sync(questions={"sentiment": {"level": "ordinal", "relabel": {"Mixed": N}}})


# Files beside a tool


def _table_file(joined: JoinedProjects, *rows: tuple[str, str, str]) -> Path:
    path = joined.folder / "third.csv"
    path.write_text("unit,rater,value,question\n" + "".join(f"{u},{r},{v},sentiment\n" for u, r, v in rows))
    joined.files.append(path)
    return path


def test_a_files_ratings_meet_the_tools_and_the_file_is_left_as_it_is(
    joined: JoinedProjects, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _table_file(joined, ("a", "zoe", P), ("a", "yan", N), ("z", "zoe", N))
    content, before = path.read_bytes(), joined.state()
    done = joined.sync(raters={"map": {"third.csv/zoe": "anna", "label_studio:7/1": "anna"}})
    assert len(done) == 2, "a file is written nothing"
    assert joined.column(7, "iaa_raters")["a"] == 5.0
    assert done[0].measured.report.questions["sentiment"].source.left_out == {"repeat": 1}
    assert list(done[0].measured.table.unit_ids) == ["a", "b", "c", "d", "only7", "only8", "z"]
    question = done[0].measured.report.questions["sentiment"]
    assert (question.source.kind, question.source.categories) == ("choice", (P, N)), "as the tool declares it"
    assert path.read_bytes() == content
    capsys.readouterr()
    assert joined.shell("table", store=str(joined.store_path)) == 0
    rows = capsys.readouterr().out.splitlines()
    assert (
        rows[0]
        == "unit,label_studio:7/1,label_studio:7/2,label_studio:8/1,label_studio:8/3,third.csv/yan,third.csv/zoe"
    )
    assert "z,,,,,,Negative" in rows
    joined.remove()
    assert joined.state() == before


def test_an_export_joins_by_its_tasks_data(joined: JoinedProjects) -> None:
    answer = {"from_name": "sentiment", "to_name": "text", "type": "choices", "value": {"choices": [N]}}
    made = {
        "id": 1,
        "completed_by": 1,
        "was_cancelled": False,
        "created_at": "2026-01-01T00:00:00Z",
        "result": [answer],
    }
    path = joined.folder / "export.json"
    path.write_text(json.dumps([{"id": 101, "data": {"sku": "a"}, "annotations": [made], "total_annotations": 1}]))
    joined.files.append(path)
    joined.sync()
    assert joined.column(7, "iaa_raters")["a"] == 5.0
    assert joined.column(8)["a"] == "majority"


def test_an_export_that_lacks_annotations_keeps_a_gate_undecided(
    joined: JoinedProjects, capsys: pytest.CaptureFixture[str]
) -> None:
    path = joined.folder / "export.json"
    path.write_text(json.dumps([{"id": 1, "data": {"sku": "a"}, "annotations": [], "total_annotations": 2}]))
    joined.files.append(path)
    assert joined.shell("gate", "--size", "2", "--format", "json", store=str(joined.store_path)) == 3
    gate = json.loads(capsys.readouterr().out)["gate"]
    assert gate["reasons"] == ["incomplete"]
    joined.files.clear()
    assert joined.shell("gate", "--size", "2", "--format", "json", store=str(joined.store_path)) == 1


def test_files_alone_make_a_table_but_have_nothing_to_sync(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    joined = make()
    for name, rater in (("one.csv", P), ("two.csv", N)):
        path = joined.folder / name
        path.write_text(f"unit,rater,value\na,1,{rater}\nb,1,{P}\n")
        joined.files.append(path)
    assert joined.shell("table") == 0
    assert capsys.readouterr().out.splitlines() == [
        "unit,one.csv/1,two.csv/1",
        "a,Positive,Negative",
        "b,Positive,Positive",
    ]
    assert joined.shell("report", "--format", "json") == 0
    report = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in report["sources"]] == ["one.csv", "two.csv"]
    assert joined.shell("check") == 0
    assert joined.shell("sync") == 2
    assert "are files, and this needs a project" in capsys.readouterr().err


# The other verbs


def test_the_json_report_names_units_and_sources_of_the_table(
    joined: JoinedProjects, capsys: pytest.CaptureFixture[str]
) -> None:
    joined.add(8, (None, {1: P, 3: N}))
    assert joined.shell("report", "--format", "json", store=str(joined.store_path)) == 2, "no store yet"
    assert joined.shell("table", store=str(joined.store_path)) == 2
    joined.sync()
    capsys.readouterr()
    assert joined.shell("report", "--format", "json", store=str(joined.store_path)) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["sources"] == [
        {
            "link": f"{joined.server.url}/projects/{number}/data",
            "malformed": 0,
            "name": f"label_studio:{number}",
            "tasks": tasks,
            "title": title,
            "without_unit_key": lacking,
        }
        for number, tasks, title, lacking in ((7, 5, "Project 1", 0), (8, 6, "Project 2", 1))
    ]
    assert report["questions"]["sentiment"]["n_units"] == 7
    assert joined.shell("report", "--format", "html", store=str(joined.store_path)) == 0
    page = capsys.readouterr().out
    assert f"/projects/7/data?task={joined.tasks(7)[1]}" in page, "a unit's first task"
    assert f"/projects/8/data?task={joined.tasks(8)[5]}" in page
    assert "label_studio:8/111" in page


def test_a_report_names_the_project_that_was_never_synced(
    joined: JoinedProjects, capsys: pytest.CaptureFixture[str]
) -> None:
    joined.sync()
    joined.projects.append(9)
    assert joined.shell("report", store=str(joined.store_path)) == 2
    assert f"The store holds nothing of {joined.source(9)} yet." in capsys.readouterr().err


def test_a_single_project_without_a_key_keeps_its_report(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    joined = make()
    joined.make(("a", {1: P, 2: P}), ("b", {1: P, 2: N}))
    joined.sync(unit_key=None)
    assert joined.shell("report", "--format", "json", unit_key=None, store=str(joined.store_path)) == 0
    assert "sources" not in json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("batch", "code", "units"),
    [(["--batch", "a,c"], 1, 2), (["--batch", "a,nowhere"], 3, 1), (["--first", "3"], 1, 3), ([], 1, 6)],
)
def test_a_gates_batch_is_named_by_keys(
    joined: JoinedProjects, capsys: pytest.CaptureFixture[str], batch: list[str], code: int, units: int
) -> None:
    more = [] if batch else ["--size", "6"]
    assert joined.shell("gate", *batch, *more, "--format", "json", gate={"coverage": 0.5}) == code
    assert json.loads(capsys.readouterr().out)["questions"]["sentiment"]["n_units"] == units


def test_a_unit_belongs_to_a_batch_whole_whichever_of_its_tasks_bears_the_field(
    joined: JoinedProjects, capsys: pytest.CaptureFixture[str]
) -> None:
    for task in joined.tasks(8)[:3]:
        data = joined.server.tasks[task]["data"]
        joined.api("PATCH", f"/api/tasks/{task}/", {"data": {**data, "batch": "pilot"}})
    joined.shell("gate", "--where", "batch=pilot", "--size", "3", "--format", "json")
    question = json.loads(capsys.readouterr().out)["questions"]["sentiment"]
    assert (question["n_units"], question["n_ratings"]) == (3, 12)


def test_looks_at_a_joined_batch_are_counted(joined: JoinedProjects, capsys: pytest.CaptureFixture[str]) -> None:
    def look() -> int:
        joined.shell("gate", "--size", "2", "--format", "json", store=str(joined.store_path))
        number: int = json.loads(capsys.readouterr().out)["gate"]["look"]
        return number

    assert (look(), look()) == (1, 1)
    joined.answer(joined.tasks(8)[0], N)
    assert look() == 2


def test_check_says_how_the_sources_come_together(joined: JoinedProjects, capsys: pytest.CaptureFixture[str]) -> None:
    joined.add(8, (None, {1: P}))
    with joined.counting() as calls:
        assert joined.shell("check", raters={"map": {"label_studio:7/77": "bo"}}) == 0
    assert writes(calls) == []
    said = capsys.readouterr().out
    assert "label_studio:7: Project reached" in said
    assert "4 of 7 units join several tasks by sku" in said
    assert "label_studio:8: 1 of 6 tasks holds no sku and stands alone" in said
    assert "raters.map names raters who have rated nothing: label_studio:7/77." in said


def test_check_finds_a_key_that_no_task_holds(joined: JoinedProjects, capsys: pytest.CaptureFixture[str]) -> None:
    """A sync goes on and says so too: it is no error."""
    assert joined.shell("check", unit_key="sku_id") == 0
    said = capsys.readouterr().out
    assert "WARNING  label_studio:7: no task holds the field sku_id of unit_key: each stands alone" in said
    assert "its tasks hold: text, sku." in said
    assert joined.shell("sync", "--dry-run", unit_key="sku_id") == 0
    assert "label_studio:7: 5 of 5 tasks hold no sku_id" in " ".join(capsys.readouterr().out.split())


def test_a_sync_from_the_shell_speaks_of_each_project(
    joined: JoinedProjects, capsys: pytest.CaptureFixture[str]
) -> None:
    assert joined.shell("sync", "--dry-run") == 0
    said = capsys.readouterr().out
    assert "One table of label_studio:7 (5 tasks), label_studio:8 (5 tasks)" in " ".join(said.split())
    assert "label_studio:7:\n  Pulled everything: 5 tasks." in said
    assert "label_studio:8:\n  Pulled everything: 5 tasks." in said
    assert joined.shell("sync") == 0
    assert joined.shell("remove") == 0
    assert "label_studio:8:\n  Done:" in capsys.readouterr().out


def _dying(joined: JoinedProjects, moment: str, place: int, act: Callable[[], Any]) -> bool:
    """Whether the run died, which it does after `place` others of that moment."""
    seen = itertools.count()
    joined.dies_after = lambda what: what == moment and next(seen) == place
    try:
        act()
    except Killed:
        return True
    finally:
        joined.dies_after = lambda _what: False
    return False
