"""The project itself: found or not, described, and inspected."""

from __future__ import annotations

import pytest

from connector.errors import NotThere, UnexpectedAnswer
from connector.tools.base import Finding
from connector.tools.label_studio.tool import LabelStudio
from tests.contract.label_studio_world import TASKS, RecordedWorld
from tests.contract.recorded_label_studio import Answer, RecordedLabelStudio, Request


def texts(findings: list[Finding], severity: str) -> str:
    return "\n".join(f"{one.text} {one.hint}" for one in findings if one.severity == severity)


def test_what_open_says(world: RecordedWorld, tool: LabelStudio) -> None:
    project = tool.open()
    assert project.source == f"label_studio:{world.url}:{world.project}"
    assert project.link == f"{world.url}/projects/{world.project}/data"
    assert (project.title, project.n_units, project.required_ratings) == ("Contract", TASKS, 2)
    assert list(project.schema.questions) == ["sentiment"]
    assert project.settings.startswith("<View>")


@pytest.mark.parametrize("number", ["999", " 999 "])
def test_a_missing_project_says_how_to_find_its_id(server: RecordedLabelStudio, number: str) -> None:
    tool = LabelStudio(server.url, server.legacy_token, number)
    with pytest.raises(NotThere, match=r"no project 999.*/projects/N/data"):
        tool.open()
    with pytest.raises(NotThere, match="No Project matches"):
        list(tool.pull())
    tool.close()


@pytest.mark.parametrize("name", ["My project", "", "1; drop", "٣", "-1", "1.0", "../users"])
def test_a_project_is_named_by_its_number(server: RecordedLabelStudio, name: str) -> None:
    with pytest.raises(NotThere, match="by its number"):
        LabelStudio(server.url, server.legacy_token, name)


def test_json_of_another_product_is_unexpected(server: RecordedLabelStudio, tool: LabelStudio) -> None:
    with server.failing(lambda request: Answer(200, {"hello": "world"})), pytest.raises(UnexpectedAnswer):
        tool.open()


def test_a_model_that_is_asked_at_every_listing_is_warned_of(
    server: RecordedLabelStudio, world: RecordedWorld, tool: LabelStudio
) -> None:
    assert tool.open().warnings == ()
    server.projects[int(world.project)]["evaluate_predictions_automatically"] = True
    assert "predictions" in tool.open().warnings[0]


def test_inspection_of_a_sound_project(tool: LabelStudio) -> None:
    findings = tool.inspect()
    assert {one.severity for one in findings} == {"ok"}
    text = texts(findings, "ok")
    for part in ("1.23.2", "Community", "legacy token", "2 annotations per task", f"{TASKS} tasks"):
        assert part in text


@pytest.mark.parametrize("kind", ["legacy_token", "personal_token"])
def test_one_annotation_per_task_gives_the_call_that_changes_it(
    server: RecordedLabelStudio, world: RecordedWorld, kind: str
) -> None:
    server.projects[int(world.project)]["maximum_annotations"] = 1
    tool = LabelStudio(server.url, getattr(server, kind), world.project)
    text = texts(tool.inspect(), "warning")
    assert f"curl -X PATCH {server.url}/api/projects/{world.project}/" in text
    assert "-d '{\"maximum_annotations\": 3}'" in text
    assert "overwrites" in text
    assert server.legacy_token not in text
    assert server.personal_token not in text
    tool.close()


def test_a_token_that_sees_only_part_of_the_annotations_is_warned_of(
    server: RecordedLabelStudio, tool: LabelStudio
) -> None:
    """On some editions an annotator's token sees only that person's: recorded as the counters beside what came."""

    def partial(request: Request) -> Answer | None:
        answer = server.real(request)
        if request.is_page:
            for task in answer.body["tasks"]:
                task["annotations"] = task["annotations"][:1]
        return answer

    with server.failing(partial):
        text = texts(tool.inspect(), "warning")
    assert f"{TASKS} of {TASKS} tasks" in text
    assert "only part" in text


def test_skipped_annotations_are_no_shortfall(server: RecordedLabelStudio, tool: LabelStudio, ids: list[str]) -> None:
    server._annotate(int(ids[0]), {"result": []}, cancelled=True)
    assert texts(tool.inspect(), "warning") == ""


def test_a_server_that_hides_its_version_is_noted(server: RecordedLabelStudio, tool: LabelStudio) -> None:
    with server.failing(lambda request: Answer(403, {"detail": "no"}) if request.path == "/api/version" else None):
        assert "does not say its version" in texts(tool.inspect(), "note")


# People


def members(*people: object) -> Answer:
    return Answer(200, list(people))


ANN = {"id": 3, "first_name": "Ann", "last_name": "Lee", "email": "ann@x.org", "username": "ann"}


@pytest.mark.parametrize(
    ("person", "name"),
    [
        (ANN, "Ann Lee"),
        ({**ANN, "last_name": ""}, "Ann"),
        ({**ANN, "first_name": " ", "last_name": None}, "ann@x.org"),
        ({"id": 3, "email": "", "username": "ann"}, "ann"),
        ({**ANN, "first_name": "A\x1b[31m\n\u202eB", "last_name": "\ud83d"}, "A[31m B"),
        ({"id": "3", "email": "ann@x.org"}, "ann@x.org"),
    ],
)
def test_what_raters_are_called(
    server: RecordedLabelStudio, tool: LabelStudio, person: dict[str, object], name: str
) -> None:
    """By the id that their annotations bear; somebody else's text stays on one line."""
    with server.failing(lambda request: members(person) if request.path == "/api/users/" else None):
        assert tool.rater_names() == {"3": name}
        assert f"3 {name}" in texts(tool.inspect(), "ok")


@pytest.mark.parametrize("person", [{"id": 3}, {"email": "a@x.org"}, {"id": None, "email": "a@x.org"}, "Ann", None])
def test_a_member_without_id_or_name_is_left_out(
    server: RecordedLabelStudio, tool: LabelStudio, person: object
) -> None:
    with server.failing(lambda request: members(person) if request.path == "/api/users/" else None):
        assert tool.rater_names() == {}


def test_a_list_of_members_that_is_none_is_unexpected(server: RecordedLabelStudio, tool: LabelStudio) -> None:
    with server.failing(lambda request: Answer(200, "x") if request.path == "/api/users/" else None):
        with pytest.raises(UnexpectedAnswer):
            tool.rater_names()
        assert "Members" not in texts(tool.inspect(), "ok")


# What no server should send


def test_odd_settings_are_no_bug(server: RecordedLabelStudio, world: RecordedWorld, tool: LabelStudio) -> None:
    project = server.projects[int(world.project)]
    project.update(
        title="\ud83d bad", maximum_annotations=10**30, label_config=project["label_config"] + "<!--\ud83d-->"
    )
    answer = server.real

    def odd(request: Request) -> Answer | None:
        found = answer(request)
        if request.path == f"/api/projects/{world.project}/":
            found.body["task_number"] = 10**30
            del found.body["id"]
        if request.is_page:
            for task in found.body["tasks"]:
                task.update(annotations=3, total_annotations="many")
        return found

    with server.failing(odd):
        opened = tool.open()
        assert (opened.title, opened.n_units, opened.required_ratings) == ("\\ud83d bad", None, None)
        opened.settings.encode()
        assert "does not say how many" in texts(tool.inspect(), "note")


@pytest.mark.parametrize("version", [{"release": "\x1b[31m\ud83d", "edition": {"a": 1}}, {"release": None}, [], "x"])
def test_an_odd_version_can_be_shown(server: RecordedLabelStudio, tool: LabelStudio, version: object) -> None:
    with server.failing(lambda request: Answer(200, version) if request.path == "/api/version" else None):
        text = "".join(one.text for one in tool.inspect())
    assert text.isprintable()
    text.encode()
