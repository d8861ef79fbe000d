"""The dataset by its name and by what was learnt of it, and every way in which it cannot be reached."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from connector.errors import (
    ConnectorError,
    FixAccess,
    FixConfiguration,
    NotThere,
    RetryLater,
    ToolTrouble,
    UnexpectedAnswer,
)
from connector.tools.argilla.tool import Argilla
from connector.tools.registry import tool_class
from tests.contract.argilla_conversation import DATASET, WORKSPACE
from tests.contract.recorded_argilla import PAGE, RecordedArgilla
from tests.contract.served import Answer, Request
from tests.unit.argilla_api.conftest import RECORDS, Make


def failure(tool: Argilla) -> ConnectorError:
    with pytest.raises(ConnectorError) as caught:
        tool.open()
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    return caught.value


def paths(server: RecordedArgilla) -> list[str]:
    return [request.path.removeprefix("/api/v1/") for request in server.log]


# What opening says


def test_the_dataset_is_said_as_it_is(server: RecordedArgilla, tool: Argilla) -> None:
    project = tool.open()
    number = server.dataset["id"]
    assert project.source == tool.source == f"argilla:{server.url}:{WORKSPACE}/{DATASET}"
    assert project.title == f"{WORKSPACE}/{DATASET}"
    assert project.link == f"{server.url}/dataset/{number}/annotation-mode"
    assert (project.n_units, project.required_ratings) == (RECORDS, 2)
    assert list(project.schema.questions) == ["label", "labels", "stars", "order", "why", "names"]


def test_a_sub_path_is_part_of_its_identity(make: Make) -> None:
    with RecordedArgilla(sub_path="/tools/a") as server:
        tool = make(server.owner_key, url=f"{server.url}/")
        assert tool.open().source == f"argilla:{server.url}:{WORKSPACE}/{DATASET}"
        assert tool.open().link.startswith(f"{server.url}/dataset/")


def test_no_key_is_in_anything_that_is_kept(server: RecordedArgilla, tool: Argilla) -> None:
    kept = repr(tool.open()) + repr(tool) + repr(tool.dataset) + repr(list(tool.pull())) + repr(tool.rater_names())
    assert not [key for key in server.keys if key in kept]


def test_the_first_opening_takes_four_requests(server: RecordedArgilla, tool: Argilla) -> None:
    tool.open()
    at = f"datasets/{server.dataset['id']}"
    assert paths(server) == ["me/workspaces", "me/datasets", f"{at}/records", f"{at}/questions"]


def test_the_next_one_two(server: RecordedArgilla, make: Make) -> None:
    first = make().open()
    server.log.clear()
    again = make().open(first.settings)
    at = f"datasets/{server.dataset['id']}"
    assert paths(server) == [at, f"{at}/records"]
    assert (again.settings, again.schema.questions) == (first.settings, first.schema.questions)


def test_after_some_activity_the_questions_are_read_again(server: RecordedArgilla, make: Make) -> None:
    first = make().open()
    server.questions[0]["settings"]["options"].append({"value": "neu", "text": "Neutral"})
    assert make().open(first.settings).schema.questions["label"].categories == ("pos", "neg")
    server.respond(server.records[0], 2, {"label": "neu"})
    assert make().open(first.settings).schema.questions["label"].categories == ("pos", "neg", "neu")


@pytest.mark.parametrize("known", ["", "<View/>", "{}", "[]"])
def test_what_another_version_stored_does_no_harm(server: RecordedArgilla, make: Make, known: str) -> None:
    assert make().open(known).n_units == RECORDS


def test_a_dataset_that_was_made_anew_is_found_by_its_name(server: RecordedArgilla, make: Make) -> None:
    first = make().open()
    server.dataset["id"] = server.new_id()
    assert make().open(first.settings).link.split("/")[-2] == server.dataset["id"]


@pytest.mark.parametrize("name", [None, "old"])
def test_another_dataset_that_has_the_name_now_is_the_one_that_is_meant(
    server: RecordedArgilla, make: Make, name: str | None
) -> None:
    """The one that was read before was deleted, or has another name."""
    first = make().open()
    assert (first.is_new, first.former_stays) == (False, False)
    server.remake(keep_as=name)
    now = make().open(first.settings)
    assert now.link.split("/")[-2] == server.dataset["id"]
    assert (now.is_new, now.former_stays) == (True, name is not None)
    again = make().open(now.settings)
    assert (again.is_new, again.former_stays) == (False, False)


def test_a_dataset_that_has_another_name_is_found_by_that_name_with_what_was_known(
    server: RecordedArgilla, make: Make
) -> None:
    first = make().open()
    server.dataset["name"] = "now \x1b[31m this"
    with pytest.raises(NotThere, match=r"'every kind' is called 'now .* now") as caught:
        make().open(first.settings)
    assert f"project: {server.project.split('/')[0]}/now" in str(caught.value.hint)
    assert "\x1b" not in str(caught.value)
    there = make(project=f"{server.project.split('/')[0]}/{server.dataset['name']}").open()
    assert (there.link, there.is_named) == (first.link, True)


@pytest.mark.parametrize("status", ["draft", "ready"])
def test_a_draft_is_told(server: RecordedArgilla, make: Make, status: str) -> None:
    server.dataset["status"] = status
    first = make().open()
    for project in (first, make().open(first.settings)):
        assert ["draft" in text for text in project.warnings] == [True] * (status == "draft")


@pytest.mark.parametrize("distribution", [None, {}, {"min_submitted": None}, {"min_submitted": 0}, {"strategy": "x"}])
def test_a_dataset_that_does_not_say_how_many_ratings_it_wants(
    server: RecordedArgilla, tool: Argilla, distribution: Any
) -> None:
    server.dataset["distribution"] = distribution
    assert tool.open().required_ratings is None


@pytest.mark.parametrize("key", ["id", "last_activity_at", "workspace_id"])
@pytest.mark.parametrize("value", [None, 7, ""])
def test_a_dataset_of_another_form_is_unexpected(server: RecordedArgilla, tool: Argilla, key: str, value: Any) -> None:
    item = {**server.dataset, key: value}
    with server.failing(lambda request: Answer(200, {"items": [item]}) if "me/datasets" in request.path else None):
        assert isinstance(failure(tool), UnexpectedAnswer)


@pytest.mark.parametrize("answer", [None, [], {}, {"items": None}, {"items": [None, 7]}, {"items": [{}]}])
@pytest.mark.parametrize("place", ["me/workspaces", "me/datasets", "questions"])
def test_a_list_of_another_form_is_no_bug(server: RecordedArgilla, tool: Argilla, place: str, answer: Any) -> None:
    with server.failing(lambda request: Answer(200, answer) if place in request.path else None):
        assert isinstance(failure(tool), ToolTrouble)


# Names that are not there


@pytest.mark.parametrize("project", ["", "lab", "lab/", "/survey", "a/b/c", "7"])
def test_a_dataset_is_named_with_its_workspace(project: str) -> None:
    with pytest.raises(NotThere, match="workspace/dataset"):
        Argilla("http://127.0.0.1:1", "key", project)


def test_blanks_around_the_names_do_no_harm(server: RecordedArgilla, make: Make) -> None:
    assert make(project=f" {WORKSPACE} / {DATASET} ").open().n_units == RECORDS


def test_a_wrong_workspace_names_those_there_are(server: RecordedArgilla, make: Make) -> None:
    error = failure(make(project=f"elsewhere/{DATASET}"))
    assert isinstance(error, NotThere)
    assert "no workspace 'elsewhere'" in error.message
    assert error.hint == f"There are: {WORKSPACE}."


def test_a_wrong_dataset_names_those_there_are(server: RecordedArgilla, make: Make) -> None:
    error = failure(make(project=f"{WORKSPACE}/nothing"))
    assert isinstance(error, NotThere)
    assert f"The workspace '{WORKSPACE}' has no dataset 'nothing'" in error.message
    assert error.hint == f"There are: {DATASET}."


def test_a_name_that_is_nearly_right_is_offered(server: RecordedArgilla, make: Make) -> None:
    assert failure(make(project=f"{WORKSPACE}/{DATASET}s")).hint == f"Did you mean '{DATASET}'?"
    assert failure(make(project=f"{WORKSPACE}s/{DATASET}")).hint == f"Did you mean '{WORKSPACE}'?"


def test_a_workspace_without_a_dataset_says_so(server: RecordedArgilla, tool: Argilla) -> None:
    with server.failing(lambda request: Answer(200, {"items": []}) if "me/datasets" in request.path else None):
        assert failure(tool).hint == "It shows none at all."


def test_a_name_that_would_act_on_a_terminal_does_not(server: RecordedArgilla, make: Make) -> None:
    server.workspaces[0]["name"] = "a\x1b[31m\nb"
    assert str(failure(make(project="x/y"))).isprintable()


# Keys and servers that are wrong, each with a message of its own


def test_a_wrong_key(make: Make) -> None:
    error = failure(make("a-key-of-nobody-at-all"))
    assert isinstance(error, FixAccess)
    assert "refused the API key" in error.message


def test_an_annotators_key_is_told_whose_it_is(server: RecordedArgilla, make: Make) -> None:
    error = failure(make(server.annotator_key))
    assert isinstance(error, FixAccess)
    assert "that of 'recorded0', an annotator" in error.message
    assert "owner" in (error.hint or "")
    assert server.annotator_key not in str(error)


def test_an_admins_key_works(server: RecordedArgilla, make: Make) -> None:
    assert make(server.admin_key).open().n_units == RECORDS


def test_a_server_that_is_down(make: Make) -> None:
    error = failure(make(url="http://127.0.0.1:9"))
    assert isinstance(error, RetryLater)
    assert "cannot be reached" in error.message


def test_a_page_instead_of_an_answer(server: RecordedArgilla, make: Make) -> None:
    assert isinstance(failure(make(url=f"{server.url}/datasets")), UnexpectedAnswer)
    with server.failing(lambda request: Answer(200, PAGE, "text/html")):
        assert isinstance(failure(make()), UnexpectedAnswer)


# People


def test_names_come_by_id_for_an_owner_and_for_an_admin(server: RecordedArgilla, make: Make) -> None:
    expected = {user["id"]: user["first_name"] for user in server.users}
    assert make().rater_names() == make(server.admin_key).rater_names() == expected


def test_a_user_without_a_name_goes_by_the_user_name(server: RecordedArgilla, make: Make) -> None:
    server.users[0].update(first_name=None, last_name=None)
    server.users[1].update(first_name="Ann", last_name="Other")
    server.users[2].update(first_name=" \n", last_name=7, username="third\x1b[1m")
    assert list(make().rater_names().values()) == ["recorded0", "Ann Other", "7"]


def test_names_that_the_key_may_not_see_are_refused(server: RecordedArgilla, make: Make) -> None:
    tool = make(server.admin_key)
    tool.open()

    def refuse(request: Request) -> Answer | None:
        return Answer(403, {"detail": "no"}) if request.path.endswith("users") else None

    with server.failing(refuse), pytest.raises(FixAccess):
        tool.rater_names()


# The package


def test_it_is_a_tool_of_the_registry() -> None:
    assert tool_class("argilla") is Argilla
    with pytest.raises(FixConfiguration, match="argilla"):
        tool_class("argila")


def test_it_needs_neither_tools_own_library() -> None:
    """Nor does the package as a whole import them unasked."""
    code = (
        "import sys, connector, connector.cli, connector.tools.argilla.tool;"
        "print([name for name in ('argilla', 'label_studio_sdk', 'httpx') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []
