"""One conversation with an Argilla that makes every kind of call by which the connector reads, and records the answers.

It makes a workspace, three annotators and a dataset of its own, and takes them away again. Keys never reach the file.
To record anew:  python -m tests.contract.argilla_conversation http://127.0.0.1:6900 OWNERS_KEY
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import requests

RECORDING = Path(__file__).with_name("argilla_2.8.0.json")
WORKSPACE, DATASET = "recorded", "every kind"
TEXT = "Some text yeah 🚀 rocket ship"
"""Behind the emoji a browser's offsets are one higher than code points; the server refuses those past the end."""

OPTIONS = [{"value": "pos", "text": "Positive"}, {"value": "neg", "text": "Negative"}]
ITEMS = [{"value": one, "text": one.upper()} for one in "abc"]
QUESTIONS: list[dict[str, Any]] = [
    {"name": "label", "required": True, "settings": {"type": "label_selection", "options": OPTIONS}},
    {
        "name": "labels",
        "required": False,
        "settings": {"type": "multi_label_selection", "options": ITEMS, "visible_options": 3},
    },
    {
        "name": "stars",
        "required": False,
        "settings": {"type": "rating", "options": [{"value": number} for number in (1, 2, 3, 4, 5)]},
    },
    {"name": "order", "required": False, "settings": {"type": "ranking", "options": ITEMS}},
    {"name": "why", "required": False, "settings": {"type": "text"}},
    {
        "name": "names",
        "required": False,
        "settings": {"type": "span", "field": "text", "options": ITEMS, "visible_options": 3},
    },
]
FULL = {
    "label": "pos",
    "labels": ["b", "a"],
    "stars": 4,
    "order": [{"value": "a", "rank": 1}, {"value": "b", "rank": 1}, {"value": "c", "rank": 3}],
    "why": "  because ",
    "names": [{"label": "a", "start": 18, "end": 24}],
}
RESPONSES: list[tuple[int, int, str, Mapping[str, Any] | None]] = [
    # record, rater, status, values
    (0, 0, "submitted", FULL),  # its span counts UTF-16 units, as the page does
    (0, 1, "submitted", {**FULL, "names": [{"label": "a", "start": 17, "end": 23}]}),  # and this one code points
    (0, 2, "discarded", {"label": "neg", "names": []}),  # what the page had filled in
    (1, 0, "submitted", {"label": "neg", "names": []}),  # a span question that nobody touched
    (1, 1, "draft", {}),  # a form that was cleared
    (1, 2, "draft", None),
    (2, 0, "discarded", None),
    (2, 1, "draft", {"order": [{"value": "c", "rank": 1}, {"value": "a", "rank": None}]}),
    (2, 2, "submitted", {"label": "pos"}),
]


class Conversation:
    """Calls to one server, their answers kept by name without keys."""

    def __init__(self, url: str, key: str) -> None:
        self.url = url.rstrip("/") + "/api/v1/"
        self.key = key
        self.answers: dict[str, dict[str, Any]] = {}

    def __call__(
        self, name: str | None, method: str, path: str, body: Any = None, key: str | None = None, **params: Any
    ) -> Any:
        """The parsed answer, None where it is not JSON; kept where it has a `name`."""
        headers = {"X-Argilla-Api-Key": self.key if key is None else key}
        response = requests.request(
            method, self.url + path, params=params, json=body, headers=headers, allow_redirects=False, timeout=60
        )
        kind = response.headers.get("Content-Type", "").split(";")[0]
        answer = response.json() if kind == "application/json" and response.content else None
        if name is None:
            assert response.status_code < 400, (method, path, response.text)
        else:
            self.answers[name] = {"status": response.status_code, "type": kind, "answer": _without_keys(answer)}
        return answer


def _without_keys(answer: Any) -> Any:
    if isinstance(answer, dict):
        return {key: "[key]" if key == "api_key" else _without_keys(value) for key, value in answer.items()}
    return [_without_keys(one) for one in answer] if isinstance(answer, list) else answer


def make(call: Conversation) -> tuple[str, str, list[dict[str, Any]]]:
    """The ids of a workspace and a dataset in it, and three annotators."""
    workspace = call(None, "POST", "workspaces", {"name": WORKSPACE})["id"]
    raters = []
    for number in range(3):
        person = {
            "username": f"recorded{number}",
            "first_name": f"Rater {number}",
            "password": "recorded-pass",
            "role": "annotator",
        }
        raters.append(call(None, "POST", "users", person))
        call(None, "POST", f"workspaces/{workspace}/users", {"user_id": raters[-1]["id"]})
    distribution = {"strategy": "overlap", "min_submitted": 2}
    new = {"name": DATASET, "workspace_id": workspace, "distribution": distribution, "allow_extra_metadata": True}
    dataset = call(None, "POST", "datasets", new)["id"]
    for name in ("text", "source"):
        field = {"name": name, "title": name, "required": name == "text", "settings": {"type": "text"}}
        call(None, "POST", f"datasets/{dataset}/fields", field)
    for question in QUESTIONS:
        call(None, "POST", f"datasets/{dataset}/questions", {"title": question["name"], **question})
    call(None, "PUT", f"datasets/{dataset}/publish")
    return workspace, dataset, raters


def conversation(call: Conversation, workspace: str, dataset: str, raters: list[dict[str, Any]]) -> None:
    """Fill the dataset, and read it in every way."""
    here, annotator = f"datasets/{dataset}", raters[0]["api_key"]
    items = [
        {"fields": {"text": TEXT, "source": "a field"}, "external_id": "rec-0", "metadata": {"source": "web", "n": 1}},
        {"fields": {"text": "Plain."}, "external_id": "rec-1"},
        {"fields": {"text": "More."}},
    ]
    records = [call(None, "POST", f"{here}/records/bulk", {"items": [one]})["items"][0]["id"] for one in items]
    named = {one["name"]: one["id"] for one in call(None, "GET", f"{here}/questions")["items"]}
    suggestion = {"question_id": named["labels"], "value": ["a", "b"], "agent": "m", "score": [0.9, 0.8]}
    call(None, "PUT", f"records/{records[0]}/suggestions", suggestion)
    for record, rater, status, values in RESPONSES:
        given = None if values is None else {name: {"value": value} for name, value in values.items()}
        answer = {"status": status, "values": given}
        # Without values the server stores the response, fails to index it, and answers 500.
        name = "answer without values" if values is None else None
        call(name, "POST", f"records/{records[record]}/responses", answer, key=raters[rater]["api_key"])

    call("version", "GET", "version")
    call("me", "GET", "me")
    call("me, an annotator", "GET", "me", key=annotator)
    call("workspaces", "GET", "me/workspaces")
    call("datasets", "GET", "me/datasets", workspace_id=workspace)
    call("dataset", "GET", here)
    call("questions", "GET", f"{here}/questions")
    call("total", "GET", f"{here}/records", offset=0, limit=1)
    call("records", "GET", f"{here}/records", include="responses", offset=0, limit=1000)
    call("records with suggestions", "GET", f"{here}/records", include="responses,suggestions", offset=0, limit=200)
    call("records past the end", "GET", f"{here}/records", include="responses", offset=3, limit=1)
    call("too many records", "GET", f"{here}/records", limit=1001)
    call("users", "GET", "users")
    call("users of the workspace", "GET", f"workspaces/{workspace}/users")
    call("users, an annotator", "GET", "users", key=annotator)
    call("records, an annotator", "GET", f"{here}/records", key=annotator)
    call("one record, an annotator", "GET", f"records/{records[0]}", key=annotator)
    call("wrong key", "GET", "me/workspaces", key="wrong")
    call("no such dataset", "GET", f"datasets/{workspace}")
    call("no such place", "GET", "no/such/place")
    call("no such job", "GET", "jobs/agreement-connector")
    call("page of the interface", "GET", "../../datasets")


def clear(call: Conversation) -> None:
    """Take away what an earlier conversation left."""
    for workspace in call(None, "GET", "me/workspaces")["items"]:
        if workspace["name"] == WORKSPACE:
            for dataset in call(None, "GET", "me/datasets", workspace_id=workspace["id"])["items"]:
                call(None, "DELETE", f"datasets/{dataset['id']}")
            call(None, "DELETE", f"workspaces/{workspace['id']}")
    for user in call(None, "GET", "users")["items"]:
        if user["username"].startswith("recorded"):
            call(None, "DELETE", f"users/{user['id']}")


def record(url: str, key: str) -> None:
    call = Conversation(url, key)
    clear(call)
    conversation(call, *make(call))
    for name in ("workspaces", "users"):  # others' on the same server are nobody's business
        answer = call.answers[name]["answer"]
        answer["items"] = [
            one for one in answer["items"] if str(one.get("name") or one.get("username")).startswith(WORKSPACE)
        ]
    clear(call)
    RECORDING.write_text(json.dumps(call.answers, indent=1, sort_keys=True, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    record(sys.argv[1], sys.argv[2])
