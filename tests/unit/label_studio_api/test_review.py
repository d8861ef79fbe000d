"""Review tasks: one a unit, found again, with the votes where they do not bias."""

from __future__ import annotations

import re
from typing import Any

import pytest

from connector.errors import FixConfiguration, NotThere, RetryLater, UnexpectedAnswer
from connector.tools.base import PutReviewTasks, RemoveReview, ReviewItem, SetField
from connector.tools.label_studio.review import with_votes
from connector.tools.label_studio.tool import LabelStudio
from tests.contract.conversation import LABEL_CONFIG, choice
from tests.contract.label_studio_world import RecordedWorld
from tests.contract.recorded_label_studio import Answer, Hangup, RecordedLabelStudio, Request

VOTES = {"rater 1": "Positive", "rater 2": "Negative"}


def items(units: list[str]) -> tuple[ReviewItem, ...]:
    return tuple(ReviewItem(unit, VOTES) for unit in units)


def project_of(server: RecordedLabelStudio, receipt: Any) -> dict[str, Any]:
    return server.projects[int(receipt.remote["review_project"])]


def test_the_review_project(
    server: RecordedLabelStudio, world: RecordedWorld, tool: LabelStudio, ids: list[str]
) -> None:
    made = project_of(server, tool.apply(PutReviewTasks(items(ids[:1]))))
    assert made["title"] == "Review: Contract"
    assert f"{server.url}/projects/{world.project}/data" in made["description"]
    assert made["label_config"] == LABEL_CONFIG.replace(
        "</View>", '<Table name="iaa_votes" value="$iaa_votes"/></View>'
    )


def test_a_review_task(server: RecordedLabelStudio, world: RecordedWorld, tool: LabelStudio, ids: list[str]) -> None:
    """The source's data without our scores, the votes, and the way back; nothing that pre-selects an answer."""
    tool.apply(SetField("iaa_agreement", 0.0, tuple(ids)))
    tool.apply(SetField("iaa_majority", "Positive", tuple(ids)))
    tool.apply(SetField("iaa_status", "conflict", tuple(ids)))
    tool.apply(SetField("iaa_raters", 2.0, tuple(ids)))
    receipt = tool.apply(PutReviewTasks(items(ids[:1])))
    task = server.tasks[int(receipt.remote[ids[0]])]
    assert task["data"] == {
        "text": "text 0",
        "iaa": 0,
        "iaa_votes": VOTES,
        "iaa_source_task": ids[0],
        "iaa_source_project": world.project,
        "iaa_source_link": f"{server.url}/projects/{world.project}/data?task={ids[0]}",
    }
    (body,) = [request.body for request in server.log if request.path.endswith("/import")][-1]
    assert set(body) == {"data"}


def test_ids_come_from_the_server_not_from_the_order_sent(
    server: RecordedLabelStudio, tool: LabelStudio, ids: list[str]
) -> None:
    """LS-18: the server numbers tasks as it likes."""

    def backwards(request: Request) -> Answer | None:
        if request.path.endswith("/import"):
            request.body.reverse()
        return None

    with server.failing(backwards):
        receipt = tool.apply(PutReviewTasks(items(ids[:3])))
    for unit in ids[:3]:
        assert server.tasks[int(receipt.remote[unit])]["data"]["iaa_source_task"] == unit


def test_a_task_that_holds_a_decision_is_left_untouched(
    server: RecordedLabelStudio, world: RecordedWorld, tool: LabelStudio, ids: list[str]
) -> None:
    receipt = tool.apply(PutReviewTasks(items(ids[:1])))
    world.api("POST", f"/api/tasks/{receipt.remote[ids[0]]}/annotations/", {"result": choice("Positive")})
    before = dict(server.tasks[int(receipt.remote[ids[0]])])
    again = tool.apply(PutReviewTasks((ReviewItem(ids[0], {"rater 9": "other"}),)))
    assert again.remote == receipt.remote
    assert server.tasks[int(receipt.remote[ids[0]])] == before


def test_a_crash_after_the_import_makes_no_duplicate(
    server: RecordedLabelStudio, world: RecordedWorld, tool: LabelStudio, ids: list[str]
) -> None:
    """The import happened; its answer was lost."""

    def lost(request: Request) -> Answer | None:
        if request.path.endswith("/import"):
            server.real(request)
            raise Hangup
        return None

    with server.failing(lost), pytest.raises(RetryLater):
        tool.apply(PutReviewTasks(items(ids[:2])))
    receipt = world.tool().apply(PutReviewTasks(items(ids[:3])))
    assert receipt.failed is None
    of_review = [task for task in server.tasks.values() if "iaa_source_task" in task["data"]]
    assert sorted(task["data"]["iaa_source_task"] for task in of_review) == sorted(ids[:3])


def test_a_crash_after_making_the_project_makes_no_second(
    server: RecordedLabelStudio, world: RecordedWorld, tool: LabelStudio, ids: list[str]
) -> None:
    def lost(request: Request) -> Answer | None:
        if (request.method, request.path) == ("POST", "/api/projects/"):
            server.real(request)
            raise Hangup
        return None

    with server.failing(lost), pytest.raises(RetryLater):
        tool.apply(PutReviewTasks(items(ids[:1])))
    world.tool().apply(PutReviewTasks(items(ids[:1])))
    assert len(server.projects) == 2


def test_an_import_that_loses_tasks_is_found_out(
    server: RecordedLabelStudio, tool: LabelStudio, ids: list[str]
) -> None:
    def lose(request: Request) -> Answer | None:
        if request.path.endswith("/import"):
            request.body.pop()
        return None

    with server.failing(lose), pytest.raises(UnexpectedAnswer, match="2 review tasks of 3"):
        tool.apply(PutReviewTasks(items(ids[:3])))


def test_an_import_in_the_background_is_waited_for(
    server: RecordedLabelStudio, tool: LabelStudio, ids: list[str], monkeypatch: Any
) -> None:
    """Servers with a queue answer with the number of the import, not with ids."""
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    asked: list[Request] = []

    def later(request: Request) -> Answer | None:
        if request.path.endswith("/import"):
            asked.append(request)
            return Answer(201, {"import": 5})
        if request.path.endswith("/imports/5"):
            asked.append(request)
            if len(asked) < 4:
                return Answer(200, {"id": 5, "status": "in_progress"})
            server.real(asked[0])
            return Answer(200, {"id": 5, "status": "completed"})
        return None

    with server.failing(later):
        receipt = tool.apply(PutReviewTasks(items(ids[:2])))
    assert (receipt.written, receipt.failed) == (tuple(ids[:2]), None)


def test_a_refused_import_is_a_failed_receipt(server: RecordedLabelStudio, tool: LabelStudio, ids: list[str]) -> None:
    refusal = Answer(400, {"detail": "Validation error", "validation_errors": {"non_field_errors": ["no such key"]}})
    with server.failing(lambda request: refusal if request.path.endswith("/import") else None):
        receipt = tool.apply(PutReviewTasks(items(ids[:2])))
    assert receipt.written == ()
    assert "no such key" in (receipt.failed or "")


@pytest.mark.parametrize("title", ["x" * 50, "Ein Projekt mit einem recht langen Titel, fünfzig Zeichen", "ab"])
def test_titles_fit(server: RecordedLabelStudio, world: RecordedWorld, ids: list[str], title: str) -> None:
    server.projects[int(world.project)]["title"] = title
    made = project_of(server, world.tool().apply(PutReviewTasks(items(ids[:1]))))
    assert 3 <= len(made["title"]) <= 50


def test_another_projects_review_is_not_ours(
    server: RecordedLabelStudio, world: RecordedWorld, tool: LabelStudio, ids: list[str]
) -> None:
    """Nor that of a deleted project whose id the server gave out again."""
    first = tool.apply(PutReviewTasks(items(ids[:1])))
    server.projects[int(world.project)]["created_at"] = "2031-01-01T00:00:00.000000Z"
    tool = world.tool()  # type: ignore[assignment]
    assert "review_project" not in tool.find_ours()
    second = tool.apply(PutReviewTasks(items(ids[:1])))
    assert second.remote["review_project"] != first.remote["review_project"]


def test_a_review_project_whose_description_was_rewritten_is_found_but_no_longer_deleted(
    server: RecordedLabelStudio, world: RecordedWorld, tool: LabelStudio, ids: list[str]
) -> None:
    receipt = tool.apply(PutReviewTasks(items(ids[:1])))
    project_of(server, receipt)["description"] = "The lead decides these on Fridays."
    again = world.tool().apply(PutReviewTasks(items(ids[:2])))
    assert again.remote["review_project"] == receipt.remote["review_project"]
    removed = tool.apply(RemoveReview(receipt.remote["review_project"]))
    assert sorted(removed.written) == ids[:2]
    assert int(receipt.remote["review_project"]) in server.projects


def test_a_list_of_projects_without_descriptions_raises(
    server: RecordedLabelStudio, tool: LabelStudio, ids: list[str]
) -> None:
    """Nothing of ours would be found in it, and a second review project be made."""

    def bare(request: Request) -> Answer | None:
        answer = server.real(request)
        if (request.method, request.path) == ("GET", "/api/projects/"):
            for project in answer.body["results"]:
                del project["description"]
        return answer

    with server.failing(bare), pytest.raises(UnexpectedAnswer):
        tool.apply(PutReviewTasks(items(ids[:1])))
    assert len(server.projects) == 1


# A project of the owner's


def owners_project(world: RecordedWorld, title: str = "Owner's") -> str:
    return str(world.api("POST", "/api/projects/", {"title": title, "label_config": LABEL_CONFIG})["id"])


@pytest.mark.parametrize("by", ["id", "title"])
def test_a_configured_project_gets_only_tasks(
    server: RecordedLabelStudio, world: RecordedWorld, tool: LabelStudio, ids: list[str], by: str
) -> None:
    number = owners_project(world)
    before = dict(server.projects[int(number)])
    receipt = tool.apply(PutReviewTasks(items(ids[:2]), project=number if by == "id" else "Owner's"))
    assert receipt.remote["review_project"] == number
    assert server.projects[int(number)] == before


def test_of_an_owners_project_only_our_tasks_without_work_go(
    server: RecordedLabelStudio, world: RecordedWorld, tool: LabelStudio, ids: list[str]
) -> None:
    number = owners_project(world)
    receipt = tool.apply(PutReviewTasks(items(ids[:3]), project=number))
    (theirs,) = world.api("POST", f"/api/projects/{number}/import?return_task_ids=true", [{"data": {"text": "t"}}])[
        "task_ids"
    ]
    decided = int(receipt.remote[ids[1]])
    server._annotate(decided, {"result": choice("Positive")})
    removed = tool.apply(RemoveReview(number))
    assert (removed.written, removed.failed, removed.remote) == (
        (ids[0], ids[2]),
        None,
        {"kept_project": number, "kept": "1", "kept_others": "1"},
    )
    left = {task["id"] for task in server.tasks.values() if task["project"] == int(number)}
    assert left == {theirs, decided}


def test_a_configured_title_that_is_not_there_is_made(
    server: RecordedLabelStudio, tool: LabelStudio, ids: list[str]
) -> None:
    receipt = tool.apply(PutReviewTasks(items(ids[:1]), project="Streitfälle"))
    assert project_of(server, receipt)["title"] == "Streitfälle"
    tool.apply(RemoveReview(receipt.remote["review_project"]))
    assert len(server.projects) == 1


def test_a_configured_id_that_is_not_there_is_an_error(tool: LabelStudio, ids: list[str]) -> None:
    with pytest.raises(NotThere):
        tool.apply(PutReviewTasks(items(ids[:1]), project="999"))


def test_a_title_that_several_bear_is_an_error(world: RecordedWorld, tool: LabelStudio, ids: list[str]) -> None:
    owners_project(world)
    owners_project(world)
    with pytest.raises(FixConfiguration, match="2 Label Studio projects are called"):
        tool.apply(PutReviewTasks(items(ids[:1]), project="Owner's"))


@pytest.mark.parametrize("op", ["put", "remove"])
def test_the_source_project_is_never_its_own_review(
    server: RecordedLabelStudio, world: RecordedWorld, tool: LabelStudio, ids: list[str], op: str
) -> None:
    before = world.state()
    what = PutReviewTasks(items(ids[:1]), world.project) if op == "put" else RemoveReview(world.project)
    with pytest.raises(FixConfiguration, match="source project itself"):
        tool.apply(what)
    assert world.state() == before


def test_removing_what_is_gone_is_no_failure(tool: LabelStudio) -> None:
    assert tool.apply(RemoveReview("999")).failed is None


def test_an_owners_project_is_as_before_once_our_tasks_are_gone(
    server: RecordedLabelStudio, world: RecordedWorld, tool: LabelStudio, ids: list[str]
) -> None:
    """Its columns as well, also where an earlier removal was cut short before they were counted anew."""
    number = owners_project(world)
    world.api("POST", f"/api/projects/{number}/import", [{"data": {"text": "t"}}])
    before = (dict(server.projects[int(number)]), set(server.columns[int(number)]))
    tool.apply(PutReviewTasks(items(ids[:2]), project=number))
    assert sorted(tool.review_tasks(number)) == ids[:2]

    def cut(request: Request) -> Answer | None:
        return Answer(502, "", "text/html") if request.path.endswith("/summary/") else None

    with server.failing(cut), pytest.raises(RetryLater):
        tool.apply(RemoveReview(number))
    tool.apply(RemoveReview(number))
    assert (server.projects[int(number)], server.columns[int(number)]) == before
    assert tool.review_tasks(number) == {}


@pytest.mark.parametrize("work", ["annotation", "skip", "draft"])
def test_no_task_with_work_in_it_is_deleted(
    server: RecordedLabelStudio, world: RecordedWorld, tool: LabelStudio, ids: list[str], work: str
) -> None:
    number = owners_project(world)
    receipt = tool.apply(PutReviewTasks(items(ids[:2]), project=number))
    task = int(receipt.remote[ids[0]])
    if work == "draft":
        server.tasks[task]["drafts"] = [{"id": 1, "result": []}]
    else:
        server._annotate(task, {"result": choice("Positive")}, cancelled=work == "skip")
    removed = tool.apply(RemoveReview(number))
    assert (removed.written, removed.remote["kept"]) == ((ids[1],), "1")
    assert task in server.tasks


def test_a_task_that_disappears_meanwhile_is_gone(
    server: RecordedLabelStudio, world: RecordedWorld, tool: LabelStudio, ids: list[str]
) -> None:
    number = owners_project(world)
    receipt = tool.apply(PutReviewTasks(items(ids[:2]), project=number))
    task = int(receipt.remote[ids[0]])

    def delete(request: Request) -> Answer | None:
        if request.path == f"/api/tasks/{task}/":
            server.tasks.pop(task, None)
        return None

    with server.failing(delete):
        assert tool.apply(RemoveReview(number)).written == tuple(ids[:2])


# What only looks like ours


def copied(world: RecordedWorld, made: dict[str, Any], *, table: bool) -> str:
    """A person's project with our words in its description."""
    label_config = made["label_config"] if table else LABEL_CONFIG
    body = {"title": "AAA mine", "description": f"copied: {made['description']}", "label_config": label_config}
    number = str(world.api("POST", "/api/projects/", body)["id"])
    world.api("POST", f"/api/projects/{number}/import", [{"data": {"text": "t", "iaa_votes": {}}}])
    return number


@pytest.mark.parametrize("table", [False, True])
@pytest.mark.parametrize("older", [False, True])
def test_a_project_that_holds_a_copy_of_our_marker_is_a_persons(
    server: RecordedLabelStudio, world: RecordedWorld, tool: LabelStudio, ids: list[str], table: bool, older: bool
) -> None:
    receipt = tool.apply(PutReviewTasks(items(ids[:2])))
    ours = receipt.remote["review_project"]
    theirs = copied(world, project_of(server, receipt), table=table)
    if older:  # servers on SQLite use ids again
        project = server.projects.pop(int(theirs))
        for task in server.tasks.values():
            if task["project"] == int(theirs):
                task["project"] = 1
        theirs, project["id"] = "1", 1
        server.projects[1], server.columns[1] = project, set()
    tasks = {number: dict(task) for number, task in server.tasks.items() if task["project"] == int(theirs)}
    before = dict(server.projects[int(theirs)])
    assert tool.find_ours()["review_project"] == ours
    assert tool.apply(PutReviewTasks(items(ids[:3]))).remote["review_project"] == ours
    removed = tool.apply(RemoveReview(theirs))
    assert (removed.written, removed.remote) == ((), {"kept_project": theirs, "kept_others": "1"})
    assert server.projects[int(theirs)] == before
    tool.apply(RemoveReview(ours))
    assert "review_project" not in tool.find_ours()
    assert server.projects[int(theirs)] == before
    assert {n: task for n, task in server.tasks.items() if task["project"] == int(theirs)} == tasks


def test_our_project_with_a_persons_task_in_it_is_used_but_not_deleted_as_a_whole(
    server: RecordedLabelStudio, world: RecordedWorld, tool: LabelStudio, ids: list[str]
) -> None:
    number = tool.apply(PutReviewTasks(items(ids[:2]))).remote["review_project"]
    (theirs,) = world.api("POST", f"/api/projects/{number}/import?return_task_ids=true", [{"data": {"text": "t"}}])[
        "task_ids"
    ]
    assert world.tool().apply(PutReviewTasks(items(ids[:3]))).remote["review_project"] == number
    removed = tool.apply(RemoveReview(number))
    assert (sorted(removed.written), removed.remote["kept_others"]) == (ids[:3], "1")
    assert [task["id"] for task in server._of(int(number))] == [theirs]


def test_the_tasks_of_another_source_project_are_not_ours(
    server: RecordedLabelStudio, world: RecordedWorld, tool: LabelStudio, ids: list[str]
) -> None:
    """Two projects may share a review project of the owner's."""
    number = owners_project(world)
    tool.apply(PutReviewTasks(items(ids[:1]), project=number))
    other = {"text": "t", "iaa_source_task": ids[0], "iaa_source_project": "5", "iaa_votes": {}}
    world.api("POST", f"/api/projects/{number}/import", [{"data": other}])
    assert tool.apply(RemoveReview(number)).written == (ids[0],)
    assert [task["data"] for task in server._of(int(number))] == [other]


def test_of_two_that_are_ours_the_oldest_is_used(
    server: RecordedLabelStudio, tool: LabelStudio, ids: list[str]
) -> None:
    """Two runs from two stores began at once; the server lists the newest first."""
    first = tool.apply(PutReviewTasks(items(ids[:1])))
    again = {**project_of(server, first), "id": 50}
    server.projects[50], server.columns[50] = again, set()
    assert tool.find_ours()["review_project"] == first.remote["review_project"]


@pytest.mark.parametrize("number", ["7", None, [2], True])
def test_a_project_whose_id_is_no_number_is_unexpected(
    server: RecordedLabelStudio, tool: LabelStudio, ids: list[str], number: Any
) -> None:
    def odd(request: Request) -> Answer | None:
        answer = server.real(request)
        if (request.method, request.path) == ("POST", "/api/projects/"):
            answer.body = {**answer.body, "id": number}
        return answer

    with server.failing(odd), pytest.raises(UnexpectedAnswer):
        tool.apply(PutReviewTasks(items(ids[:1])))


LONG = "A review project whose title is longer than fifty characters indeed"


@pytest.mark.parametrize("title", [LONG, f"  {LONG}  ", LONG[:49] + "  tail", "  blanks around "])
def test_a_configured_title_that_does_not_fit_is_made_once(
    server: RecordedLabelStudio, world: RecordedWorld, tool: LabelStudio, ids: list[str], title: str
) -> None:
    first = tool.apply(PutReviewTasks(items(ids[:1]), project=title))
    called = project_of(server, first)["title"]
    assert first.remote["review_title"] == called
    again = world.tool().apply(PutReviewTasks(items(ids[:2]), project=title))
    assert again.remote["review_project"] == first.remote["review_project"]
    assert "review_title" not in again.remote
    assert len(server.projects) == 2


def test_a_lone_surrogate_in_a_settings_title_does_no_harm(
    server: RecordedLabelStudio, world: RecordedWorld, ids: list[str]
) -> None:
    server.projects[int(world.project)]["title"] = "\ud83d bad"
    server.tasks[int(ids[0])]["data"] = {"text": "\ud83d", "n": float("nan")}
    receipt = world.tool().apply(PutReviewTasks(items(ids[:1])))
    made = project_of(server, receipt)
    task = server.tasks[int(receipt.remote[ids[0]])]
    assert (made["title"], task["data"]["text"], task["data"]["n"]) == ("Review: \\ud83d bad", "\\ud83d", None)


# The label config


@pytest.mark.parametrize(
    "config",
    [
        LABEL_CONFIG,
        '<View>\n  <!-- comment -->\n  <View className="a"><Text name="t" value="$t"/></View>\n</View>\n',
        "<View><Style>.a { b: c }</Style></View><!-- end -->",
    ],
)
def test_the_votes_stand_last_and_the_rest_is_unchanged(config: str) -> None:
    found = with_votes(config, "iaa_votes")
    table = '<Table name="iaa_votes" value="$iaa_votes"/>'
    assert found.replace(table, "") == config
    assert re.search(re.escape(table) + r"\s*</View>(\s*<!-- end -->|\s*)$", found)


def test_a_config_without_a_place_for_votes_is_an_error() -> None:
    with pytest.raises(FixConfiguration, match="closing </View>"):
        with_votes("<View/>", "iaa_votes")
