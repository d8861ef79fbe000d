"""Sync, gate, review and remove as people and their scheduled jobs meet them: against a server, with a store, through
faults, deaths and changes of mind."""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from connector.errors import DataNotTrusted, FixConfiguration, WritesFailed
from connector.workflow.batch import Batch
from tests.contract.recorded_label_studio import Answer, RecordedLabelStudio, Request
from tests.contract.synced_project import DAY, Killed, SyncedProject, writes

Make = Callable[[], SyncedProject]
CONFLICTS = {102, 103, 105, 106, 108}
AGREED = {101, 104, 107}


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Makes projects, each the same, each on a server and with a store of its own."""
    with ExitStack() as stack:
        numbers = itertools.count(1)

        def one() -> SyncedProject:
            folder = tmp_path / str(next(numbers))
            folder.mkdir()
            project = SyncedProject(stack.enter_context(RecordedLabelStudio()), folder)
            stack.callback(project.close)
            return project

        yield one


@pytest.fixture
def project(make: Make) -> SyncedProject:
    return make()


# A quiet hour, a day, and what changes in it


@pytest.mark.parametrize("review", [None, {}])
def test_a_sync_with_nothing_new_asks_three_questions_at_most_and_writes_nothing(
    project: SyncedProject, review: Any
) -> None:
    assert project.sync(review=review).plan
    project.now += 3600
    with project.counting() as calls:
        done = project.sync(review=review)
    assert len(calls) <= 3
    assert writes(calls) == []
    assert (done.plan.operations, done.pulled.fetched, done.pulled.full) == ((), 0, False)


def test_everything_is_read_again_after_a_day_or_when_asked(project: SyncedProject) -> None:
    assert project.sync().pulled.full
    project.now += DAY - 1
    assert not project.sync().pulled.full
    project.now += 1
    swept = project.sync()
    assert (swept.pulled.full, swept.pulled.fetched, swept.plan.operations) == (True, 8, ())
    project.now += DAY - 1
    assert not project.sync().pulled.full, "the day begins anew with the sweep"
    asked = project.sync(full=True)
    assert (asked.pulled.full, asked.pulled.fetched, asked.plan.operations) == (True, 8, ())


def test_what_a_changed_only_pull_cannot_see_shows_in_the_sweep(project: SyncedProject) -> None:
    project.sync()
    for task in CONFLICTS:  # a field set in bulk by somebody else moves no time
        project.server.tasks[task]["data"] = {**project.data(task), "iaa_status": "agreed"}
    assert project.sync().plan.operations == ()
    project.now += DAY
    project.sync()
    assert set(project.fields().items()) >= {(task, "conflict") for task in CONFLICTS}


def test_only_the_task_that_changed_is_written(project: SyncedProject) -> None:
    project.sync()
    project.answer(102, "Positive", "Positive")
    with project.counting() as calls:
        done = project.sync()
    assert done.pulled.fetched == 1
    assert project.data(102)["iaa_status"] == "agreed"
    assert project.data(102)["iaa_majority"] == "Positive"
    touched = {unit for op in done.plan.operations for unit in getattr(op, "units", ())}
    assert touched == {"102"}
    assert len(writes(calls)) <= 5, "four fields and the line in the description"


def test_a_deleted_task_is_gone_at_the_next_sync(project: SyncedProject) -> None:
    project.sync(review={})
    before = project.sync(review={}).measured.report.questions["sentiment"]
    project.world.delete("103")
    done = project.sync(review={})
    after = done.measured.report.questions["sentiment"]
    assert (done.pulled.full, done.pulled.gone) == (False, 1)
    assert (before.n_units, after.n_units, after.n_ratings) == (8, 7, 14)
    with project.store() as store:
        assert [unit.id for unit in store.units(project.source)] == [str(t) for t in range(101, 109) if t != 103]
        held = {unit for item, units in store.ledger(project.source).items() for unit in units if item != "review_task"}
        assert "103" not in held


def test_a_task_deleted_while_another_is_added_is_gone_too(project: SyncedProject) -> None:
    project.sync()
    project.world.delete("103")
    (new,) = project.rate(["Positive", "Positive"])
    done = project.sync()
    assert (done.pulled.gone, done.measured.report.questions["sentiment"].n_units) == (1, 8)
    assert project.fields()[new] == "agreed"


def test_an_id_that_is_used_again_is_another_task(project: SyncedProject) -> None:
    project.sync()
    project.world.delete("108")
    project.server._ids["task"] = itertools.count(108)
    assert project.rate(["Positive", "Positive"]) == [108]
    project.sync()
    assert {key: value for key, value in project.data(108).items() if key != "text"} == {
        "iaa_agreement": 1.0,
        "iaa_consensus": 1.0,
        "iaa_majority": "Positive",
        "iaa_raters": 2.0,
        "iaa_status": "agreed",
    }


def test_a_deleted_annotation_takes_its_scores_away(project: SyncedProject) -> None:
    project.sync()
    assert {"iaa_agreement", "iaa_consensus", "iaa_majority"} <= set(project.data(101))
    project.unrate(101)
    done = project.sync()
    assert done.pulled.fetched == 1
    ours = {key: value for key, value in project.data(101).items() if key.startswith("iaa_")}
    assert ours == {"iaa_raters": 1.0, "iaa_status": "single"}
    project.unrate(101)
    project.sync()
    assert (project.data(101)["iaa_raters"], project.data(101)["iaa_status"]) == (0.0, "unrated")


# Tasks that cannot be read


@pytest.mark.parametrize("synced_before", [False, True])
def test_over_one_percent_malformed_tasks_write_nothing(project: SyncedProject, synced_before: bool) -> None:
    if synced_before:
        project.sync()
        project.answer(102, "Positive", "Positive")
    before = project.world.state()
    with project.malformed(103), project.counting() as calls, pytest.raises(DataNotTrusted) as caught:
        project.sync(full=True, review={})
    assert caught.value.exit_code == 5
    assert "103" in str(caught.value)
    assert writes(calls) == []
    assert project.world.state() == before
    assert project.sync(full=True).pulled.skipped == {}, "whole again, it counts again"
    assert project.data(102)["iaa_status"] == ("agreed" if synced_before else "conflict")


def test_one_malformed_task_of_two_hundred_is_left_out_by_its_id(project: SyncedProject) -> None:
    project.rate(*([["Positive", "Positive"]] * 192))
    with project.malformed(103):
        done = project.sync()
    assert list(done.pulled.skipped) == ["103"]
    assert "list" in done.pulled.skipped["103"]
    assert done.measured.report.questions["sentiment"].n_units == 199
    assert set(project.tasks()) - set(project.fields()) == {103}


# Writes that fail, and runs that die


def _field(name: str) -> Callable[[Request], bool]:
    return lambda request: request.path.startswith("/api/dm/actions") and request.body["value_name"] == name


def _call(method: str, path: str) -> Callable[[Request], bool]:
    return lambda request: request.method == method and request.path.rstrip("/") == path


def _patched_task(request: Request) -> bool:
    return request.method == "PATCH" and request.path.startswith("/api/tasks/")


OPERATIONS: dict[str, Callable[[Request], bool]] = {
    "field": _field("iaa_agreement"),
    "field of each task": _patched_task,
    "view": _call("POST", "/api/dm/views"),
    "summary": _call("PATCH", "/api/projects/7"),
    "review project": _call("POST", "/api/projects"),
    "review import": lambda request: request.path.endswith("/import"),
}
FAILURES = [
    ("field", "nothing_done"),
    *((name, how) for name in OPERATIONS for how in ("refused", "done_then_cut")),
]


@pytest.mark.parametrize(("operation", "how"), FAILURES)
def test_a_write_that_fails_is_6_and_the_next_run_completes_it_once(make: Make, operation: str, how: str) -> None:
    project, unharmed = make(), make()
    unharmed.sync(review={})
    project.server.has_bulk_action = operation != "field of each task"
    with project.failing(OPERATIONS[operation], how) as hit, pytest.raises(WritesFailed) as caught:
        project.sync(review={})
    assert hit
    assert caught.value.exit_code == 6
    assert project.world.token not in str(caught.value)
    _ledger_is_true(project)
    if operation != "field of each task":
        assert len(project.ledger()["field:iaa_status"]) == 8, "what arrived before is recorded"
    project.sync(review={})
    assert project.shown() == unharmed.shown()
    _ledger_is_true(project)
    with project.counting() as calls:
        assert project.sync(review={}).plan.operations == ()
    assert writes(calls) == []


def test_a_run_that_writes_in_part_says_what_arrived_and_what_did_not(
    project: SyncedProject, capsys: pytest.CaptureFixture[str]
) -> None:
    with project.failing(OPERATIONS["summary"], "refused"):
        assert project.shell("sync") == 6
    said = capsys.readouterr().err
    written, left = said.split("Not written (")
    assert re.search(r"Written:\n  set iaa_status on 8 tasks", written)
    assert left.count("put into the description: Agreement: alpha") == 1
    assert "connector: Some writes did not arrive (1 of " in left
    assert "run the same command again" in left
    assert project.shell("sync") == 0
    assert "put into the description" in capsys.readouterr().out


@pytest.mark.parametrize("how", ["refused", "done_then_cut"])
def test_a_removal_of_fields_that_fails_is_completed(project: SyncedProject, how: str) -> None:
    project.sync()
    for task in (101, 104):
        project.unrate(task)
    with project.failing(_patched_task, how), pytest.raises(WritesFailed):
        project.sync()
    _ledger_is_true(project, left_over=True)
    project.sync()
    assert not {101, 104} & (set(project.fields("iaa_agreement")) | set(project.fields("iaa_majority")))
    assert set(project.fields("iaa_agreement")) == {102, 103, 105, 106, 107, 108}
    _ledger_is_true(project)


def test_a_write_on_tasks_deleted_in_mid_run_is_no_failure(project: SyncedProject) -> None:
    """They vanish between the pull and the write."""

    def vanish(request: Request) -> None:
        if request.method == "POST" and 103 in project.server.tasks:
            del project.server.tasks[103]

    with project.server.failing(vanish):
        done = project.sync()
    assert done.written is not None
    assert done.written.missing == {"103"}
    assert "103" not in project.ledger()["field:iaa_status"]
    assert "103" not in {unit.id for unit in _stored(project)[0]}
    assert set(project.fields()) == set(project.tasks())


def _first(project: SyncedProject) -> None:
    project.sync(review={})


def _everything_changed(project: SyncedProject) -> None:
    project.sync(
        review={}, push={"scores": True, "majority": "off", "view": False, "summary": False}, raters={"exclude": ["3"]}
    )


def _synced_and_changed(project: SyncedProject) -> None:
    project.sync(review={})
    project.answer(102, "Positive", "Positive")
    project.answer(101, "Positive", "Negative")
    project.unrate(104)


def _without_the_bulk_action(project: SyncedProject) -> None:
    project.server.has_bulk_action = False


SCENES: dict[str, tuple[Callable[[SyncedProject], None], Callable[[SyncedProject], None]]] = {
    "first": (lambda _project: None, _first),
    "first, task by task": (_without_the_bulk_action, _first),
    "changes": (_synced_and_changed, _first),
    "switches": (_synced_and_changed, _everything_changed),
}


@pytest.mark.parametrize(
    ("scene", "moment"),
    [
        *((scene, moment) for scene in ("first", "changes", "switches") for moment in ("read", "call", "operation")),
        ("first, task by task", "operation"),
    ],
)
def test_a_run_that_dies_anywhere_leaves_nothing_double(make: Make, scene: str, moment: str) -> None:
    """`read`, `call`: the server has answered one more question, or done one more writing call. `operation`: all of one
    is done, its entry in the ledger is not made."""
    prepare, act = SCENES[scene]
    unharmed = make()
    prepare(unharmed)
    act(unharmed)
    for place in itertools.count():
        project = make()
        before = project.world.state()
        prepare(project)
        ratings = project.world.state()["tasks"]
        died = _dying(project, moment, place, partial(act, project))
        if not died:
            break
        assert len(_stored(project)[0]) in (0, 8), "rows come together or not at all"
        act(project)
        assert project.shown() == unharmed.shown(), place
        _ledger_is_true(project)
        with project.counting() as calls:
            act(project)
        assert writes(calls) == [], place
        project.remove(reviews=True)
        _as_before(project, before, ratings)
    assert place >= 5


@pytest.mark.parametrize("place", [0, 4, 9])
def test_a_process_that_is_killed_leaves_neither_a_lock_nor_a_double(make: Make, place: int) -> None:
    """It is gone before it hears that the server has done the work."""
    project, unharmed = make(), make()
    unharmed.sync(review={})
    running: list[Any] = []
    seen = itertools.count()

    def kill(request: Request) -> Answer | None:
        if request.method == "GET":
            return None
        answer = project.server.real(request)
        if next(seen) == place:
            running[0].kill()
            running[0].wait()
        return answer

    with project.server.failing(kill):
        running.append(project.start("sync", review={}))
        assert running[0].wait(timeout=60) == -9
    project.sync(review={})
    assert project.shown() == unharmed.shown()
    _ledger_is_true(project)


@pytest.mark.parametrize("moment", ["read", "call", "operation"])
def test_a_removal_that_dies_anywhere_is_completed(make: Make, moment: str) -> None:
    for place in itertools.count():
        project = make()
        project.world.describe("The owner's words.")
        before = project.world.state()
        project.sync(review={})
        died = _dying(project, moment, place, partial(project.remove, reviews=True))
        project.remove(reviews=True)
        assert project.world.state() == before, place
        with project.counting() as calls:
            assert not project.remove(reviews=True).plan
        assert writes(calls) == []
        if not died:
            break
    assert place >= 5


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("moment", ["call", "operation"])
def test_a_sync_after_a_removal_that_died_puts_everything_back(make: Make, moment: str, full: bool) -> None:
    unharmed = make()
    unharmed.sync(review={})
    for place in itertools.count():
        project = make()
        before = project.world.state()
        project.sync(review={})
        if not _dying(project, moment, place, partial(project.remove, reviews=True)):
            break
        project.sync(review={}, full=full)
        assert _of_source(project.shown()) == _of_source(unharmed.shown()), place
        assert project.reviewed() == unharmed.reviewed()
        assert project.tabs.count("Conflicts") == 1
        with project.counting() as calls:
            project.sync(review={})
        assert (len(calls) <= 3, writes(calls)) == (True, []), "everything is read again once"
        project.remove(reviews=True)
        assert project.world.state() == before, place
    assert place >= 5


@pytest.mark.parametrize("moment", ["call", "operation"])
def test_what_a_dead_run_may_have_taken_away_or_changed_is_put_back_by_one_that_wants_it(
    make: Make, moment: str
) -> None:
    """Nobody rates meanwhile, so that no task is read again: the ledger alone tells what may have happened."""
    unharmed = make()
    unharmed.sync()
    off: dict[str, Any] = {"push": {"scores": False, "majority": "off", "view": False, "summary": False}}
    other: dict[str, Any] = {"raters": {"exclude": ["2"]}}
    for changed in (off, other):
        for place in itertools.count():
            project = make()
            project.sync()
            if not _dying(project, moment, place, partial(project.sync, **changed)):
                break
            assert not project.sync().pulled.full
            assert _of_source(project.shown()) == _of_source(unharmed.shown()), (changed, place)
            _ledger_is_true(project)
            assert not [item for item in project.ledger() if item.startswith("intent:")]
        assert place >= 3


def test_a_removal_whose_writes_fail_is_6_and_is_completed(project: SyncedProject) -> None:
    before = project.world.state()
    project.sync()
    one = lambda request: request.method == "PATCH" and request.path.startswith("/api/tasks/105")  # noqa: E731
    with project.failing(one, "refused"), pytest.raises(WritesFailed):
        project.remove()
    assert set(project.fields()) == {105}
    project.remove()
    assert project.world.state() == before


def test_a_removal_and_a_sync_give_what_the_first_sync_gave(make: Make) -> None:
    project, unharmed = make(), make()
    unharmed.sync(review={})
    project.sync(review={})
    project.remove(reviews=True)
    project.sync(review={})
    assert project.shown() == unharmed.shown()


def test_a_dry_run_says_what_a_sync_then_does_and_leaves_no_trace(project: SyncedProject) -> None:
    before = project.world.state()
    with project.counting() as calls:
        said = project.planned(review={})
        assert project.planned(review={}) == said
    assert writes(calls) == []
    assert project.world.state() == before
    assert list(project.folder.iterdir()) == []
    assert project.sync(review={}).plan.lines() == said


def test_a_dry_removal_says_what_a_removal_then_does(project: SyncedProject) -> None:
    project.sync(review={})
    before, ledger = project.world.state(), project.ledger()
    with project.counting() as calls:
        said = project.remove(dry_run=True, reviews=True).lines
    assert writes(calls) == []
    assert (project.world.state(), project.ledger()) == (before, ledger)
    for word in ("iaa_status", "tab", "description", "review project", "columns"):
        assert any(word in line for line in said), word
    assert project.remove(reviews=True).lines == said


# Several questions


def _two_questions(project: SyncedProject) -> None:
    project.ask("topic")
    for task in project.tasks():
        project.answer_also(task, "topic", "a", "a" if task % 2 else "b")


def test_with_several_questions_the_fields_carry_their_names(project: SyncedProject) -> None:
    before = project.world.state()
    _two_questions(project)
    project.sync()
    ours = {key: value for key, value in project.data(104).items() if key.startswith("iaa_")}
    assert ours == {
        "iaa_status": "conflict",
        "iaa_agreement": 0.0,
        "iaa_status_sentiment": "agreed",
        "iaa_agreement_sentiment": 1.0,
        "iaa_consensus_sentiment": 1.0,
        "iaa_majority_sentiment": "Positive",
        "iaa_raters_sentiment": 2.0,
        "iaa_status_topic": "conflict",
        "iaa_agreement_topic": 0.0,
        "iaa_consensus_topic": 0.5,
        "iaa_raters_topic": 2.0,
    }
    _lose(project)
    with project.counting() as calls:
        project.sync()
    assert writes(calls) == []
    project.remove()
    assert _contents(project.world.state())["tasks"] == _contents(before)["tasks"]


@pytest.mark.parametrize("full", [False, True])
def test_a_question_that_comes_later_renames_the_fields_and_back(make: Make, full: bool) -> None:
    project, always, never = make(), make(), make()
    _two_questions(always)
    always.sync()
    project.sync()
    _two_questions(project)
    project.sync(full=full)
    assert _of_source(project.shown()) == _of_source(always.shown())
    _two_questions(never)
    for one in (project, never):
        one.ask()
        one.sync(full=full)
    assert _of_source(project.shown()) == _of_source(never.shown())
    assert "iaa_status_topic" not in project.data(101)


# What raters may see


def test_votes_and_majorities_wait_for_all_required_ratings(project: SyncedProject) -> None:
    """Every rater sees the columns, and can open the review project."""
    complete = {
        number: project.rate(row)[0]
        for number, row in enumerate([["Positive", "Negative", "Negative"], ["Positive"] * 3])
    }
    project.sync(review={}, raters={"expected": 3}, conflict={"share_below": 0.7})
    assert set(project.fields("iaa_majority")) == set(complete.values())
    assert project.reviewed() == Counter({str(complete[0]): 1})
    assert project.fields().keys() == set(project.tasks()), "scores name no label"


def test_with_every_switch_off_nothing_is_written(project: SyncedProject) -> None:
    with project.counting() as calls:
        done = project.sync(push={"scores": False, "majority": "off", "view": False, "summary": False})
    assert writes(calls) == []
    assert done.measured.report.questions["sentiment"].n_units == 8


# What is a person's own


@pytest.mark.parametrize(
    "fields",
    [
        {"iaa_status_note": "ask Ann"},
        {"iaa_status_note": "agreed", "iaa_raters_2": 3},
        {"iaa_agreement_date": 1, "iaa": "x"},
        {"iaa_source_task": "the mail of May"},
    ],
)
def test_fields_of_similar_names_are_a_persons(project: SyncedProject, fields: dict[str, Any]) -> None:
    for task in project.tasks():
        project.put(task, **fields)
    before = project.world.state()
    project.sync()
    assert len(project.fields()) == 8
    project.sync(full=True)
    project.answer(102, "Positive", "Positive")
    project.sync()
    for task in project.tasks():
        assert {key: project.data(task).get(key) for key in fields} == fields
    project.answer(102, "Positive", "Negative")
    project.remove()
    assert _contents(project.world.state()) == _contents(before)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("iaa_raters", "Ann and Bob"),
        ("iaa_majority", "my own"),
        ("iaa_status", "please look"),
        ("iaa_agreement", "high"),
        ("iaa_consensus", 7),
    ],
)
def test_a_first_sync_does_not_write_over_a_persons_fields(project: SyncedProject, field: str, value: Any) -> None:
    for task in (101, 104):
        project.put(task, **{field: value})
    before = project.world.state()
    for _ in range(2):
        with project.counting() as calls, pytest.raises(FixConfiguration) as caught:
            project.sync(review={})
        assert writes(calls) == []
        assert field in str(caught.value)
        assert "push.prefix" in str(caught.value)
    project.sync(push={"prefix": "zz_"})
    assert len(project.fields("zz_status")) == 8
    project.remove(push={"prefix": "zz_"})
    assert project.world.state() == before


def test_check_and_a_dry_run_see_a_persons_field_too(
    project: SyncedProject, capsys: pytest.CaptureFixture[str]
) -> None:
    project.put(101, iaa_status="please look")
    for run in (["check"], ["sync", "--dry-run"], ["sync"]):
        assert project.shell(*run) == 2
        said = capsys.readouterr()
        assert "1 task already holds a field 'iaa_status'" in " ".join((said.out + said.err).split())


def test_check_takes_our_own_fields_for_no_persons(project: SyncedProject) -> None:
    project.sync()
    assert project.shell("check") == 0
    project.put(101, iaa_status="please look")
    assert project.shell("check") == 0, "a value that a person wrote over ours stops no sync"


@pytest.mark.parametrize(
    "fields",
    [
        {"iaa_majority": "my own"},
        {"iaa_raters": "Ann and Bob", "iaa_status": "mine"},
        {"iaa_status_note": "x", "iaa_agreement": 0.5},
    ],
)
def test_a_removal_where_nothing_was_synced_changes_nothing(project: SyncedProject, fields: dict[str, Any]) -> None:
    for task in project.tasks():
        project.put(task, **fields)
    before = project.world.state()
    with project.counting() as calls:
        removed = project.remove(reviews=True)
    assert not removed.plan
    assert writes(calls) == []
    assert project.world.state() == before


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("field", ["iaa_majority", "iaa_agreement_2"])
def test_a_persons_field_where_we_write_none_stays(project: SyncedProject, field: str, when: str) -> None:
    """103 is a conflict: no majority of ours stands there."""
    before = project.world.state()
    if when == "after":
        project.sync()
    project.put(103, **{field: "my own"})
    with suppress(FixConfiguration):
        project.sync()
    with suppress(FixConfiguration):
        project.sync(full=True)
    assert project.data(103)[field] == "my own"
    project.remove()
    assert project.data(103) == {"text": "text 2", "iaa": 2, field: "my own"}
    others = {task: data for task, (data, _) in before["tasks"].items() if task != 103}
    assert {task: data for task, (data, _) in project.world.state()["tasks"].items() if task != 103} == others


def test_the_majority_of_a_person_stays_where_ours_is_switched_off(project: SyncedProject) -> None:
    for task in project.tasks():
        project.put(task, iaa_majority="my own")
    before = project.world.state()
    project.sync(push={"majority": "off"})
    assert len(project.fields()) == 8
    project.sync(push={"majority": "off"}, full=True)
    assert set(project.fields("iaa_majority").values()) == {"my own"}
    project.remove(push={"majority": "off"})
    assert project.world.state() == before


@pytest.mark.parametrize("full", [False, True])
def test_what_a_person_writes_over_ours_is_theirs_from_then_on(project: SyncedProject, full: bool) -> None:
    project.sync()
    project.put(102, iaa_status="please look")
    project.answer(102, "Positive", "Positive")
    project.answer(103, "Positive", "Positive")
    for _ in range(2):
        project.sync(full=full)
        assert project.fields() == {
            **dict.fromkeys(AGREED, "agreed"),
            **dict.fromkeys(CONFLICTS, "conflict"),
            102: "please look",
            103: "agreed",
        }
        assert (project.data(102)["iaa_agreement"], project.data(102)["iaa_majority"]) == (1.0, "Positive")
    with project.counting() as calls:
        assert project.sync(full=full).plan.operations == ()
    assert writes(calls) == []
    project.remove()
    assert project.data(102) == {"text": "text 1", "iaa": 1, "iaa_status": "please look"}
    assert set(project.fields()) == {102}
    assert project.description == ""
    assert project.tabs == []


def test_the_owners_description_stays_byte_for_byte(project: SyncedProject) -> None:
    project.world.describe("Label with <b>care</b>.\n\n[see the guideline] ")
    before = project.world.state()
    project.sync()
    project.answer(102, "Positive", "Positive")
    project.sync()
    assert project.description.startswith("Label with <b>care</b>.\n\n[see the guideline]")
    assert project.description.count("[agreement-connector]") == 1
    project.answer(102, "Positive", "Negative")
    project.remove()
    assert _contents(project.world.state()) == _contents(before)


# Looks of the gate


def test_a_look_counts_when_the_data_of_the_batch_changed(project: SyncedProject) -> None:
    def look(batch: Batch | None = None) -> int:
        return project.gate(batch, gate={"size": 2}).measured.decision.look

    assert [look(), look()] == [1, 1]
    assert look(Batch(first=3)) == 1, "another batch"
    project.answer(108, "Positive", "Positive")
    assert [look(), look()] == [2, 2]
    assert look(Batch(first=3)) == 1, "its data are the same"
    project.sync()
    assert look() == 2, "scores are no data"
    project.answer(101, "Negative", "Negative")
    assert (look(Batch(first=3)), look()) == (2, 3)


def test_a_gate_pushes_nothing(project: SyncedProject) -> None:
    with project.counting() as calls:
        project.gate()
    assert writes(calls) == []


@pytest.mark.parametrize("gated_before", [False, True])
def test_a_gate_over_a_pull_that_is_cut_short_is_undecided_and_keeps_nothing_of_it(
    project: SyncedProject, gated_before: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    if gated_before:
        project.gate(gate={"size": 2})
        project.answer(108, "Positive", "Positive")
        project.now += DAY
    rows, cursor = _stored(project)
    with project.server.failing(project.short(5)):
        code = project.shell("gate", "--size", "2", "--format", "json", store=str(project.store_path))
    said = json.loads(capsys.readouterr().out)["gate"]
    assert code == 3
    assert said["verdict"] == "UNDECIDED"
    assert "pull_cut_short" in said["reasons"]
    assert _stored(project) == (rows, cursor)
    assert project.gate(gate={"size": 2}).measured.decision.look == (2 if gated_before else 1), "it was no look"


def test_a_sync_over_a_pull_that_is_cut_short_is_5_and_keeps_nothing_of_it(project: SyncedProject) -> None:
    project.sync()
    held = _stored(project)
    project.answer(102, "Positive", "Positive")
    before = project.world.state()
    with project.server.failing(project.short(5)), project.counting() as calls:
        assert project.shell("sync", "--full", store=str(project.store_path)) == 5
    assert writes(calls) == []
    assert (project.world.state(), _stored(project)) == (before, held)


# Switches, prefix, and whose ratings count


@pytest.mark.parametrize(
    ("push", "says", "gone"),
    [
        ({"scores": False}, "take iaa_status away from 8 tasks", "iaa_status"),
        ({"majority": "off"}, "take iaa_majority away from 3 tasks", "iaa_majority"),
        ({"view": False}, "tab", None),
        ({"summary": False}, "description", None),
    ],
)
def test_what_is_switched_off_is_announced_and_taken_away(
    make: Make, push: dict[str, Any], says: str, gone: str | None
) -> None:
    project, never_on = make(), make()
    never_on.sync(push=push)
    project.sync()
    before = project.world.state()
    assert any(says in line for line in project.planned(push=push))
    assert project.world.state() == before, "a dry run"
    project.sync(push=push)
    assert gone is None or project.fields(gone) == {}
    assert _of_source(project.shown()) == _of_source(never_on.shown())
    assert project.planned(push=push) == []
    with project.counting() as calls:
        project.sync(push=push, full=True)
    assert writes(calls) == []
    project.sync()
    assert project.fields("iaa_status").keys() == AGREED | CONFLICTS, "and on again"
    assert project.tabs == ["Default", "Conflicts"]
    assert "alpha" in project.description


@pytest.mark.parametrize("full", [False, True])
def test_another_prefix_takes_the_old_fields_away(make: Make, full: bool) -> None:
    project, always = make(), make()
    always.sync(push={"prefix": "zz_"}, review={})
    before = project.world.state()
    project.sync(review={})
    reviewed = project.reviewed()
    changed: dict[str, Any] = {"push": {"prefix": "zz_"}, "review": {}}
    assert any("take iaa_status away from 8 tasks" in line for line in project.planned(full=full, **changed))
    project.sync(full=full, **changed)
    assert _of_source(project.shown()) == _of_source(always.shown())
    assert (project.reviewed(), len(project.review_projects)) == (reviewed, 1)
    assert project.tabs.count("Conflicts") == 1
    with project.counting() as calls:
        project.sync(full=full, **changed)
    assert writes(calls) == []
    project.answer(101, "Positive", "Negative")
    project.sync(full=full, **changed)
    assert project.reviewed() == reviewed + Counter({"101": 1})
    task = project.tasks(project.review_projects[0])[-1]
    assert not {key for key in project.data(task) if key.endswith(("_status", "_agreement", "_raters"))}
    project.answer(101, "Positive", "Positive")
    project.remove(reviews=True, push={"prefix": "zz_"})
    assert _contents(project.world.state()) == _contents(before)


PREFIXES = ["iaa_", "iaa", "zz_", "status_", "majority"]


@pytest.mark.parametrize("now", PREFIXES)
@pytest.mark.parametrize("written", PREFIXES)
def test_a_removal_under_another_prefix_finds_the_old_fields(project: SyncedProject, written: str, now: str) -> None:
    before = project.world.state()
    project.sync(push={"prefix": written})
    project.remove(push={"prefix": now})
    assert project.world.state() == before


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("lost", [False, True])
def test_a_prefix_may_end_as_it_likes(project: SyncedProject, prefix: str, lost: bool) -> None:
    before = project.world.state()
    sections: dict[str, Any] = {"push": {"prefix": prefix}}
    project.sync(**sections)
    assert set(project.fields(f"{prefix}status")) == AGREED | CONFLICTS
    if lost:
        _lose(project)
    with project.counting() as calls:
        assert not project.sync(full=True, **sections).plan
    assert writes(calls) == []
    project.answer(102, "Positive", "Positive")
    project.sync(**sections)
    assert project.data(102)[f"{prefix}status"] == "agreed"
    project.answer(102, "Positive", "Negative")
    project.remove(**sections)
    assert _contents(project.world.state()) == _contents(before)


def test_a_removal_keeps_in_mind_what_it_could_not_read(
    project: SyncedProject, capsys: pytest.CaptureFixture[str]
) -> None:
    before = project.world.state()
    sections: dict[str, Any] = {"push": {"prefix": "old_"}, "store": str(project.store_path)}
    project.sync(**sections)
    with project.malformed(103):
        assert project.shell("remove", store=str(project.store_path)) == 0
    assert "1 task is malformed (103): fields of ours that stand there stay" in " ".join(
        capsys.readouterr().out.split()
    )
    assert {key for key in project.data(103) if key.startswith("old_")}
    project.remove()
    assert project.world.state() == before


@pytest.mark.parametrize("full", [False, True])
def test_the_scores_of_a_task_that_cannot_be_read_for_a_while_are_ours_still(
    project: SyncedProject, full: bool
) -> None:
    project.rate(*([["Positive", "Positive"]] * 192))
    project.sync()
    with project.malformed(103):
        project.sync(full=True)
    project.answer(103, "Positive", "Positive")
    project.sync(full=full)
    assert project.data(103)["iaa_status"] == "agreed"
    project.remove()
    assert project.fields() == {}


@pytest.mark.parametrize(
    "sections",
    [{"raters": {"exclude": ["2"]}}, {"raters": {"reviewers": [2]}}, {"ground_truth": "exclude"}],
)
def test_ratings_that_do_not_count_give_no_scores(make: Make, sections: dict[str, Any]) -> None:
    def marked() -> SyncedProject:
        project = make()
        for task in project.server.tasks.values():
            task["annotations"][1]["ground_truth"] = True
        return project

    project, never_counted = marked(), marked()
    never_counted.sync(**sections)
    assert set(never_counted.fields().values()) == {"single"}
    assert set(never_counted.fields("iaa_raters").values()) == {1.0}
    assert never_counted.fields("iaa_agreement") == {}
    project.sync()
    assert set(project.fields("iaa_raters").values()) == {2.0}
    project.sync(**sections)
    assert project.shown() == never_counted.shown(), "scores that no longer hold are taken away"
    assert project.gate(gate={"size": 2}, **sections).measured.decision.verdict == "UNDECIDED"


def test_a_reviewers_vote_is_not_shown_to_the_reviewer(project: SyncedProject) -> None:
    (task,) = project.rate(["Positive", "Negative", "Negative"])
    project.sync(review={}, raters={"reviewers": ["3"]})
    reviewed = {project.data(t)["iaa_source_task"]: project.data(t) for t in project.tasks(project.review_projects[0])}
    assert sorted(reviewed[str(task)]["iaa_votes"].values()) == ["Negative", "Positive"]


# A lost store, and people who tidy up


def _lose(project: SyncedProject) -> None:
    for file in project.folder.glob("connector.db*"):
        file.unlink()


OWN = "Ann's review room"


def _own_room(project: SyncedProject) -> str:
    body = {"title": OWN, "label_config": project.server.projects[project.project]["label_config"]}
    return str(project.world.api("POST", "/api/projects/", body)["id"])


REVIEWS: dict[str, Callable[[SyncedProject], dict[str, Any]]] = {
    "ours": lambda _project: {},
    "by id": lambda project: {"project": _own_room(project)},
    "by title": lambda project: {"project": OWN} if _own_room(project) else {},
    "by a title that is new": lambda _project: {"project": "Second look"},
}


@pytest.mark.parametrize("review", REVIEWS)
def test_a_lost_store_makes_nothing_twice(project: SyncedProject, review: str) -> None:
    sections: dict[str, Any] = {"review": REVIEWS[review](project)}
    project.sync(**sections)
    there = project.shown()
    assert project.reviewed() == Counter({str(task): 1 for task in CONFLICTS})
    _lose(project)
    with project.counting() as calls:
        project.sync(**sections)
    assert writes(calls) == []
    assert project.shown() == there
    project.answer(101, "Positive", "Negative")
    project.answer(102, "Positive", "Positive")
    project.sync(**sections)
    assert project.reviewed() == Counter({str(task): 1 for task in CONFLICTS | {101}})
    assert (len(project.review_projects), project.tabs.count("Conflicts")) == (1, 1)
    assert (project.data(101)["iaa_status"], project.data(102)["iaa_status"]) == ("conflict", "agreed")


@pytest.mark.parametrize("field", ["iaa_status", "iaa_raters", "iaa_agreement"])
def test_a_lost_store_and_a_field_that_a_person_took_over(project: SyncedProject, field: str) -> None:
    """The scores of all other tasks say whose fields these are."""
    project.sync()
    project.put(102, **{field: "please look"})
    project.sync()
    there = project.shown()
    _lose(project)
    project.sync()
    assert project.shown() == there
    project.answer(103, "Positive", "Positive")
    project.sync()
    assert (project.data(102)[field], project.data(103)["iaa_status"]) == ("please look", "agreed")


def test_review_tasks_that_a_removal_left_are_found_again(project: SyncedProject) -> None:
    project.sync(review={})
    project.remove()
    assert len(project.review_projects) == 1
    project.sync(review={})
    assert project.reviewed() == Counter({str(task): 1 for task in CONFLICTS})


def test_a_removal_with_a_lost_store_leaves_nothing(project: SyncedProject) -> None:
    before = project.world.state()
    project.sync(review={})
    _lose(project)
    project.remove(reviews=True)
    assert project.world.state() == before


@pytest.mark.parametrize("review", ["by id", "by title"])
def test_a_removal_leaves_the_owners_review_project_and_takes_our_tasks_out(
    project: SyncedProject, review: str
) -> None:
    sections: dict[str, Any] = {"review": REVIEWS[review](project)}
    before = project.world.state()
    (room,) = project.review_projects
    own = project.world.api("POST", f"/api/projects/{room}/import?return_task_ids=true", [{"data": {"text": "hers"}}])
    project.sync(**sections)
    assert len(project.tasks(room)) == 6
    project.remove(reviews=True, **sections)
    assert project.tasks(room) == own["task_ids"]
    assert _contents(project.world.state()) == _contents(before)


def test_a_review_task_that_a_person_deleted_is_made_again_by_a_full_sync(project: SyncedProject) -> None:
    project.sync(review={})
    (room,) = project.review_projects
    project.world.delete(str(project.tasks(room)[0]))
    project.sync(review={})
    project.sync(review={}, full=True)
    assert project.review_projects == [room]
    assert project.reviewed() == Counter({str(task): 1 for task in CONFLICTS})


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("noticed", ["by the status", "with a change"])
def test_review_tasks_that_a_person_deleted_are_made_again_as_soon_as_that_is_known(
    project: SyncedProject, noticed: str, whole: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    sections: dict[str, Any] = {"review": {}, "store": str(project.store_path)}
    assert project.shell("sync", **sections) == 0
    (room,) = project.review_projects
    if whole:
        project.world.api("DELETE", f"/api/projects/{room}/")
    else:
        project.world.delete(str(project.tasks(room)[0]))
    capsys.readouterr()
    with project.counting() as calls:
        project.shell("sync", **sections)
    assert len(calls) <= 3
    assert "whether all review tasks are there still was not looked at" in capsys.readouterr().out
    if noticed == "by the status":
        project.shell("review", "status", **sections)
        assert f"; {5 if whole else 1} conflict" in capsys.readouterr().out
    else:
        project.answer(101, "Positive", "Positive")
    project.shell("sync", **sections)
    assert "was not looked at" not in capsys.readouterr().out
    assert project.reviewed() == Counter({str(task): 1 for task in CONFLICTS})


def test_the_status_tells_review_tasks_of_deleted_tasks_apart(
    project: SyncedProject, capsys: pytest.CaptureFixture[str]
) -> None:
    sections: dict[str, Any] = {"review": {}, "store": str(project.store_path)}
    project.sync(review={})
    project.world.delete("103")
    project.shell("review", "status", **sections)
    assert capsys.readouterr().out.splitlines() == [
        f"4 review tasks in project {project.review_projects[0]}, 4 of them undecided; 0 conflicts without one.",
        "1 more review task belongs to tasks that were deleted since.",
    ]


def test_a_review_project_that_a_person_deleted_is_made_again_by_a_full_sync(project: SyncedProject) -> None:
    project.sync(review={})
    (room,) = project.review_projects
    project.world.api("DELETE", f"/api/projects/{room}/")
    project.sync(review={})
    project.sync(review={}, full=True)
    assert len(project.review_projects) == 1
    assert project.reviewed() == Counter({str(task): 1 for task in CONFLICTS})
    with project.counting() as calls:
        project.sync(review={}, full=True)
    assert writes(calls) == []


def test_a_new_conflict_after_the_review_project_was_deleted_gets_one_task(project: SyncedProject) -> None:
    """Between two sweeps the ledger still names the old project."""
    project.sync(review={})
    (room,) = project.review_projects
    project.world.api("DELETE", f"/api/projects/{room}/")
    project.answer(101, "Positive", "Negative")
    project.sync(review={})
    project.sync(review={}, full=True)
    assert len(project.review_projects) == 1
    assert project.reviewed() == Counter({str(task): 1 for task in CONFLICTS | {101}})


def test_a_tab_and_a_line_that_a_person_deleted_come_back_with_a_full_sync(project: SyncedProject) -> None:
    project.sync()
    for number in list(project.server.views):
        project.world.api("DELETE", f"/api/dm/views/{number}/")
    project.world.describe("Mine alone.")
    project.sync(full=True)
    assert project.tabs.count("Conflicts") == 1
    assert project.description.startswith("Mine alone.")
    assert "alpha" in project.description


def test_review_tasks_are_made_once_by_their_own_verb_and_by_sync(project: SyncedProject) -> None:
    with project.counting() as calls:
        first = project.review()
    assert (first.made, first.existing, first.waiting) == (5, 5, 0)
    assert project.fields() == {}, "the verb writes review tasks alone"
    assert len(writes(calls)) == 2
    assert (again := project.review()).made == 0
    assert again.existing == 5
    project.sync(review={})
    assert project.reviewed() == Counter({str(task): 1 for task in CONFLICTS})


def test_the_limit_counts_the_tasks_that_are_there(project: SyncedProject) -> None:
    project.sync(review={"limit": 2})
    project.sync(review={"limit": 2}, full=True)
    assert sum(project.reviewed().values()) == 2
    project.sync(review={"limit": 4})
    assert sum(project.reviewed().values()) == 4
    assert set(project.reviewed().values()) == {1}


def test_conflicts_that_wait_since_there_is_a_limit_are_told(
    project: SyncedProject, capsys: pytest.CaptureFixture[str]
) -> None:
    sections: dict[str, Any] = {"review": {"limit": 2}, "store": str(project.store_path)}
    project.shell("review", "status", **sections)
    assert capsys.readouterr().out == "0 review tasks; 5 conflicts without one, 3 of them beyond review.limit.\n"
    project.shell("review", "create", **sections)
    assert "; 3 conflicts without one, beyond review.limit." in capsys.readouterr().out
    sections["review"]["limit"] = 5
    project.shell("review", "status", **sections)
    assert "; 3 conflicts without one.\n" in capsys.readouterr().out
    project.shell("review", "create", **sections)
    assert "; 0 conflicts without one.\n" in capsys.readouterr().out


def test_of_a_review_project_that_stays_no_removal_says_that_it_went(
    project: SyncedProject, capsys: pytest.CaptureFixture[str]
) -> None:
    sections: dict[str, Any] = {"review": {}, "store": str(project.store_path)}
    project.sync(review={})
    (room,) = project.review_projects
    project.world.api("POST", f"/api/projects/{room}/import?return_task_ids=true", [{"data": {"text": "hers"}}])
    assert project.shell("remove", "--review", **sections) == 0
    said = capsys.readouterr().out
    assert "delete the review project" not in said
    stays = f"The review project {room} stays: it holds 0 review tasks with work in it, 1 other task."
    assert f"{stays} 5 review tasks without work went." in said
    assert "take our line out of the description" in said
    assert project.shell("remove", "--review", **sections) == 0
    assert "Done" not in capsys.readouterr().out


def _ledger_is_true(project: SyncedProject, *, left_over: bool = False) -> None:
    """Everything in the ledger stands in the tool; `left_over`: but for what was being taken away."""
    ledger = project.ledger()
    for item, units in ledger.items():
        if item.startswith("field:"):
            name = item.removeprefix("field:")
            for unit, value in units.items():
                stands = project.data(int(unit)).get(name)
                assert stands == value or (left_over and stands is None), (unit, name)
    assert set(ledger.get("review_task", {})) <= set(project.reviewed())
    if "review_project" in ledger:
        assert int(ledger["review_project"][""]) in project.review_projects
    if "view" in ledger:
        assert "Conflicts" in project.tabs
    if "summary" in ledger:
        assert ledger["summary"][""] in project.description


def _dying(project: SyncedProject, moment: str, place: int, act: Callable[[], Any]) -> bool:
    """Whether the run died, which it does after `place` others of that moment."""
    seen = itertools.count()
    project.dies_after = lambda what: what == moment and next(seen) == place
    try:
        act()
    except Killed:
        return True
    finally:
        project.dies_after = lambda _what: False
    return False


def test_a_letter_is_one_rater_in_all_review_tasks(project: SyncedProject) -> None:
    """Also where somebody whose id comes first rates later, and after a removal that leaves the review project."""

    def votes(task: int) -> Any:
        made = {project.data(one)["iaa_source_task"]: one for one in project.tasks(project.review_projects[0])}
        return project.data(made[str(task)])["iaa_votes"]

    (first,) = project.rate((None, "Positive", "Negative"))
    project.sync(review={}, raters={"exclude": ["1"]})
    assert votes(first) == {"Rater A": "Positive", "Rater B": "Negative"}
    (second,) = project.rate(("Negative", "Positive"))
    project.sync(review={})
    assert votes(second) == {"Rater A": "Positive", "Rater C": "Negative"}
    project.remove(review={})
    (third,) = project.rate(("Positive", None, "Negative"))
    project.sync(review={})
    assert votes(third) == {"Rater B": "Negative", "Rater C": "Positive"}
    assert votes(first) == {"Rater A": "Positive", "Rater B": "Negative"}


def _contents(state: Any) -> Any:
    """What people see, without the annotations, their times and their number."""
    tasks = {task: data for task, (data, _) in state["tasks"].items()}
    project = {key: value for key, value in state["project"].items() if key != "total_annotations_number"}
    return {**state, "tasks": tasks, "project": project}


def _as_before(project: SyncedProject, before: Any, ratings: Any) -> None:
    after = project.world.state()
    assert _contents(after) == _contents(before)
    assert {task: one[1] for task, one in after["tasks"].items()} == {task: one[1] for task, one in ratings.items()}


def _of_source(shown: Any) -> Any:
    """Without the review projects, and without the tab "Default", which stays where it is once it was made."""
    return {
        "data": shown["data"],
        "tabs": [tab for tab in shown["tabs"] if tab["title"] != "Default"],
        "description": shown["description"],
    }


def _stored(project: SyncedProject) -> tuple[list[Any], Any]:
    """The rows and the cursor of the store."""
    if not project.store_path.exists():
        return [], None
    with project.store() as store:
        source = store.source(project.source)
        return list(store.units(project.source)), source and (source.cursor, source.full_pull_at)
