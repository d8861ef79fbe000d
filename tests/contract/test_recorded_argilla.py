"""The recorded Argilla gives answers of the form that the real one gave."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import requests

from tests.contract import argilla_writing
from tests.contract.argilla_conversation import RESPONSES, TEXT, Conversation
from tests.contract.recorded_argilla import RECORDED, RecordedArgilla

NOT_KEPT = {"answer without values", "one record, an annotator", "records with suggestions"}
"""Recorded for other tests, of calls that the recorded server does not know."""


def form(answer: Any) -> Any:
    """An answer with its values replaced by their types; objects without a value in them by their keys."""
    if isinstance(answer, dict):
        return {key: form(value) for key, value in sorted(answer.items())}
    if isinstance(answer, list):
        return [form(one) for one in answer]
    return type(answer).__name__


CALLS: dict[str, tuple[str, str, dict[str, Any]]] = {  # whose key, path, parameters by name
    "version": ("owner", "version", {}),
    "me": ("owner", "me", {}),
    "me, an annotator": ("annotator", "me", {}),
    "workspaces": ("owner", "me/workspaces", {}),
    "datasets": ("owner", "me/datasets", {"workspace_id": RECORDED["dataset"]["answer"]["workspace_id"]}),
    "dataset": ("owner", "datasets/{dataset}", {}),
    "questions": ("owner", "datasets/{dataset}/questions", {}),
    "total": ("owner", "datasets/{dataset}/records", {"offset": 0, "limit": 1}),
    "records": ("owner", "datasets/{dataset}/records", {"include": "responses", "offset": 0, "limit": 1000}),
    "records past the end": ("owner", "datasets/{dataset}/records", {"include": "responses", "offset": 3, "limit": 1}),
    "too many records": ("owner", "datasets/{dataset}/records", {"limit": 1001}),
    "users": ("owner", "users", {}),
    "users of the workspace": ("admin", "workspaces/{workspace}/users", {}),
    "users, an annotator": ("annotator", "users", {}),
    "records, an annotator": ("annotator", "datasets/{dataset}/records", {}),
    "wrong key": ("wrong", "me/workspaces", {}),
    "no such dataset": ("owner", "datasets/{workspace}", {}),
    "no such job": ("owner", "jobs/agreement-connector", {}),
    "no such place": ("owner", "no/such/place", {}),
    "page of the interface": ("owner", "../../datasets", {}),
}


def test_every_recorded_call_is_held_against_it() -> None:
    assert set(CALLS) | NOT_KEPT == set(RECORDED)


@pytest.mark.parametrize("name", CALLS)
def test_its_answers_have_the_recorded_form(name: str) -> None:
    who, path, params = CALLS[name]
    with RecordedArgilla() as server:
        server.add(TEXT, external_id="rec-0", metadata={"source": "web", "n": 1}, fields={"text": TEXT, "source": "a"})
        server.add("Plain.", external_id="rec-1")
        server.add("More.")
        for record, rater, status, values in RESPONSES:
            server.respond(server.records[record], rater, values, status)
        keys = {"owner": server.owner_key, "admin": server.admin_key, "annotator": server.annotator_key}
        where = path.format(dataset=server.dataset["id"], workspace=server.workspaces[0]["id"])
        headers = {"X-Argilla-Api-Key": keys.get(who, "wrong")}
        answer = requests.get(f"{server.url}/api/v1/{where}", params, headers=headers, timeout=10)
    recorded = RECORDED[name]
    assert answer.status_code == recorded["status"]
    assert answer.headers["Content-Type"] == recorded["type"]
    if recorded["answer"] is not None:
        assert form(answer.json()) == form(recorded["answer"])


WRITTEN: dict[str, dict[str, Any]] = json.loads(argilla_writing.RECORDING.read_text("utf-8"))
ID = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}"


def without_ids(answer: Any) -> Any:
    """An answer with every id and every time replaced, however it was cut out of a sentence."""
    return json.loads(re.sub(TIME, "TIME", re.sub(ID, "ID", json.dumps(answer, sort_keys=True))))


@pytest.fixture(scope="module")
def written() -> dict[str, dict[str, Any]]:
    with RecordedArgilla() as server:
        call = Conversation(server.url, server.owner_key)
        argilla_writing.conversation(call, server.workspaces[0]["id"], server.users[0]["api_key"])
    return call.answers


@pytest.mark.parametrize("name", sorted(WRITTEN))
def test_what_is_written_is_answered_as_recorded(written: dict[str, dict[str, Any]], name: str) -> None:
    """In content, refusals word by word: only ids and times differ."""
    assert without_ids(written[name]) == without_ids(WRITTEN[name])


def test_the_writing_conversation_is_whole(written: dict[str, dict[str, Any]]) -> None:
    assert set(written) == set(WRITTEN)


@pytest.mark.parametrize("whose", ["real", "recorded"])
def test_metadata_move_a_records_time_only_where_they_change(whose: str, written: dict[str, dict[str, Any]]) -> None:
    answers = WRITTEN if whose == "real" else written
    before, again = (answers[name]["answer"] for name in ("make records", "records again"))
    moved = [one["updated_at"] != two["updated_at"] for one, two in zip(before["items"], again["items"], strict=True)]
    assert moved == [True, False, False]


def test_no_key_was_recorded() -> None:
    def keys(answer: Any) -> set[str]:
        if isinstance(answer, dict):
            found = {answer["api_key"]} if "api_key" in answer else set()
            return found.union(*(keys(one) for one in answer.values()))
        return set().union(*(keys(one) for one in answer)) if isinstance(answer, list) else set()

    assert keys([one["answer"] for one in (*RECORDED.values(), *WRITTEN.values())]) == {"[key]"}
