"""What `connector check` says of an Argilla dataset."""

from __future__ import annotations

from typing import Any

import pytest

from connector.errors import UnexpectedAnswer
from connector.tools.argilla.check import compare
from connector.tools.argilla.tool import Argilla
from connector.tools.base import Finding
from tests.contract.argilla_conversation import WORKSPACE
from tests.contract.recorded_argilla import RECORDED, RecordedArgilla
from tests.contract.served import Answer, Request
from tests.unit.argilla_api.conftest import Make

QUESTIONS: list[dict[str, Any]] = RECORDED["questions"]["answer"]["items"]


def texts(findings: list[Finding], severity: str) -> str:
    return "\n".join(f"{one.text} {one.hint or ''}" for one in findings if one.severity == severity)


def test_the_server_the_key_and_the_people(server: RecordedArgilla, tool: Argilla) -> None:
    said = texts(tool.inspect(), "ok")
    assert f"Argilla 2.8.0 at {server.url}/" in said
    assert "the API key of 'owner', an owner" in said
    for user in server.users:
        assert f"{user['id']} {user['first_name']}" in said


def test_an_admin_is_told_to_be_one(server: RecordedArgilla, make: Make) -> None:
    assert "an admin" in texts(make(server.admin_key).inspect(), "ok")


def test_nothing_is_wrong_with_the_recorded_dataset(tool: Argilla) -> None:
    found = tool.inspect()
    assert texts(found, "warning") == texts(found, "error") == ""


def test_no_key_is_shown(server: RecordedArgilla, tool: Argilla) -> None:
    assert not [key for key in server.keys if key in repr(tool.inspect(""))]


@pytest.mark.parametrize(
    ("place", "kind", "part", "effect"),
    [
        ("status", "opensearchpy.exceptions.ConnectionError", "search index", "scores cannot be written"),
        ("jobs/", "redis.exceptions.ConnectionError", "Redis", "writing fails where a webhook is set up"),
    ],
)
def test_a_part_of_the_server_that_is_down(
    server: RecordedArgilla, tool: Argilla, place: str, kind: str, part: str, effect: str
) -> None:
    params = {"type": kind, "message": "Cannot connect"}
    body = {"detail": {"code": "argilla.api.errors::GenericServerError", "params": params}}
    with server.failing(lambda request: Answer(500, body) if place in request.path else None):
        said = texts(tool.inspect(), "warning")
    assert f"does not reach its {part}" in said
    assert f"Reading works; {effect}" in said


def test_a_dataset_that_wants_one_response_has_nothing_to_agree_on(server: RecordedArgilla, tool: Argilla) -> None:
    server.dataset["distribution"]["min_submitted"] = 1
    said = texts(tool.inspect(), "warning")
    assert "nothing to agree on" in said
    assert "Minimum submitted responses" in said


def test_how_many_responses_complete_a_record(server: RecordedArgilla, tool: Argilla) -> None:
    server.dataset["distribution"]["min_submitted"] = 3
    assert "complete with 3 submitted responses, and then hidden" in texts(tool.inspect(), "ok")


def test_labels_that_may_be_left_open_are_named(server: RecordedArgilla, make: Make) -> None:
    said = texts(make().inspect(), "note")
    assert "no empty answer to 'labels'" in said
    assert "empty: none" in said
    for question in server.questions:
        question["required"] = True
    assert "no empty answer" not in texts(make().inspect(), "note")


def test_annotators_can_read_everybodys_responses(tool: Argilla) -> None:
    """Measured on a real server: GET /api/v1/records/{id} answers an annotator with all of them."""
    assert RECORDED["one record, an annotator"]["status"] == 200
    assert len(RECORDED["one record, an annotator"]["answer"]["responses"]) == 3
    assert "lets every annotator of the workspace read all raters' responses" in texts(tool.inspect(), "note")


def test_what_only_a_full_pull_shows_is_said(tool: Argilla) -> None:
    said = texts(tool.inspect(), "note")
    assert "uploads in bulk" in said
    assert "--full" in said


# Suggestions


def suggest(server: RecordedArgilla, name: str, value: Any) -> None:
    number = next(one["id"] for one in server.questions if one["name"] == name)
    for record in server.records:
        record["suggestions"] = [{"question_id": number, "value": value, "agent": "m", "score": 0.9}]


def test_answers_that_equal_the_suggestion_beside_them_are_counted(server: RecordedArgilla, tool: Argilla) -> None:
    suggest(server, "label", "pos")
    assert "11 of 14 answers beside a suggestion equal it" in texts(tool.inspect(), "note")


def test_many_of_them_are_worth_a_warning(server: RecordedArgilla, tool: Argilla) -> None:
    for record in server.records:
        for rater in range(3):
            server.respond(record, rater, {"label": "pos"})
    suggest(server, "label", "pos")
    assert "21 of 21 answers" in texts(tool.inspect(), "warning")


def test_without_suggestions_nothing_is_said_of_them(tool: Argilla) -> None:
    assert "suggestion" not in texts(tool.inspect(), "note")


def test_labels_are_compared_as_sets_and_only_submitted_ones() -> None:
    """The recorded suggestion is [a, b]; both submitted answers say [b, a]."""
    assert compare(RECORDED["records with suggestions"]["answer"]["items"], QUESTIONS) == (2, 2)


@pytest.mark.parametrize("records", [[{}], [{"id": "a"}], [{"id": "a", "responses": [], "suggestions": [None, {}]}]])
def test_records_of_another_form_are_no_bug(records: list[Any]) -> None:
    assert compare(records, QUESTIONS) == (0, 0)


# Reviews


def test_without_reviews_no_workspace_is_asked_for(tool: Argilla) -> None:
    assert "Review" not in repr(tool.inspect())


def test_a_review_workspace_that_is_there(tool: Argilla) -> None:
    assert f"the workspace '{WORKSPACE}', which is there" in texts(tool.inspect(WORKSPACE), "ok")


@pytest.mark.parametrize("name", ["", "decisions"])
def test_an_owner_can_have_it_made(tool: Argilla, name: str) -> None:
    assert f"'{name or f'{WORKSPACE}-review'}', which will be made" in texts(tool.inspect(name), "ok")


@pytest.mark.parametrize("name", ["", "decisions"])
def test_an_admin_cannot(server: RecordedArgilla, make: Make, name: str) -> None:
    said = texts(make(server.admin_key).inspect(name), "error")
    assert "only an owner can make one" in said
    assert f"there are: '{WORKSPACE}'" in said


# Answers of another form


@pytest.mark.parametrize("answer", [None, [], 7, {}, {"version": None}, {"items": None}, {"items": [None, {"id": 1}]}])
@pytest.mark.parametrize("place", ["version", "users"])
def test_an_answer_of_another_form_stops_nothing(
    server: RecordedArgilla, tool: Argilla, place: str, answer: Any
) -> None:
    tool.open()
    with server.failing(lambda request: Answer(200, answer) if request.path.endswith(place) else None):
        assert tool.inspect()


@pytest.mark.parametrize("place", ["version", "users"])
def test_what_is_refused_by_the_way_stops_nothing(server: RecordedArgilla, tool: Argilla, place: str) -> None:
    tool.open()

    def refuse(request: Request) -> Answer | None:
        return Answer(403, {"detail": "no"}) if request.path.endswith(place) else None

    with server.failing(refuse):
        assert tool.inspect()


@pytest.mark.parametrize("place", ["/me", "me/workspaces"])
@pytest.mark.parametrize("answer", [None, [], 7])
def test_what_cannot_be_told_at_all_is_an_error(
    server: RecordedArgilla, tool: Argilla, place: str, answer: Any
) -> None:
    tool.open()
    with (
        server.failing(lambda request: Answer(200, answer) if request.path.endswith(place) else None),
        pytest.raises(UnexpectedAnswer),
    ):
        tool.inspect("")
