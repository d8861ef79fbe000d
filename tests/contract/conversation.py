"""One conversation with a Label Studio that makes every kind of call the connector makes, and records the answers.

The recorded answers are what the server in `recorded_label_studio.py` is made of; a test holds it against them.
To record anew:  python -m tests.contract.conversation http://127.0.0.1:8080 LEGACY_TOKEN
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import requests

RECORDING = Path(__file__).with_name("label_studio_1.23.2.json")
LABEL_CONFIG = (
    '<View><Text name="text" value="$text"/><Choices name="sentiment" toName="text" choice="single">'
    '<Choice value="Positive"/><Choice value="Negative"/></Choices></View>'
)
FIELDS = (
    "id,data,created_at,updated_at,total_annotations,cancelled_annotations,annotations,predictions,"
    "result,completed_by,updated_by,was_cancelled,ground_truth,lead_time,parent_annotation,parent_prediction"
)

Call = Callable[..., Any]
"""call(name, method, path, params=None, body=None, auth=True) -> the parsed answer, None where it is not JSON"""


def choice(label: str) -> list[dict[str, Any]]:
    value = {"choices": [label]}
    return [{"id": "r1", "from_name": "sentiment", "to_name": "text", "type": "choices", "value": value}]


def query(*items: tuple[str, str, str, Any], conjunction: str = "and") -> str:
    filters = [{"filter": f"filter:tasks:{f}", "operator": o, "type": t, "value": v} for f, o, t, v in items]
    return json.dumps({"filters": {"conjunction": conjunction, "items": filters}, "ordering": ["tasks:id"]})


def conversation(call: Call, rater: int) -> None:
    call("version", "GET", "/api/version")
    made = call("make project", "POST", "/api/projects/", body={"title": "Recorded", "label_config": LABEL_CONFIG})
    project = made["id"]
    at = f"/api/projects/{project}/"
    annotated = [{"completed_by": rater, "ground_truth": False, "result": choice("Positive")}]
    tasks = [{"data": {"text": "a"}, "annotations": annotated}, {"data": {"text": "b"}}, {"data": {"text": "c"}}]
    first, second, third = call("import", "POST", f"{at}import", {"return_task_ids": "true"}, tasks)["task_ids"]
    call("project", "GET", at)
    call("describe", "PATCH", at, body={"description": "  Owner's words.\n"})
    call("title too long", "POST", "/api/projects/", body={"title": "x" * 51, "label_config": LABEL_CONFIG})
    call("projects", "GET", "/api/projects/", {"page": 1, "page_size": 100, "include": "id,title,description"})

    here: dict[str, Any] = {"project": project, "resolve_uri": "false"}
    above = ("id", "greater", "Number", first - 1)
    whole = {**here, "fields": "all", "include": FIELDS, "page_size": 2}
    page = call("page", "GET", "/api/tasks", {**whole, "query": query(above)})
    call("page past the end", "GET", "/api/tasks", {**whole, "query": query(("id", "greater", "Number", third))})
    call("page by number past the end", "GET", "/api/tasks", {**here, "page": 9})
    call("page without annotations", "GET", "/api/tasks", {**here, "include": "id,updated_at"})
    by_id = query(("id", "in_list", "List", [first, third, 987654321]))
    call("tasks by id", "GET", "/api/tasks", {**here, "include": "id,data", "query": by_id})
    since = ("updated_at", "greater_or_equal", "Datetime", page["tasks"][0]["updated_at"])
    changed = query(since, ("id", "greater", "Number", third), conjunction="or")
    call("changed", "GET", "/api/tasks", {**here, "include": "id,updated_at", "query": changed})
    ignored = query(("updated_at", "in", "Datetime", "2020-01-01T00:00:00.000000Z"))
    call("operator that is not understood", "GET", "/api/tasks", {**here, "include": "id", "query": ignored})
    bad_time = query(("updated_at", "greater", "Datetime", "2026-11-29T19:55:40Z"))
    call("time without a fraction", "GET", "/api/tasks", {**here, "query": bad_time})
    call("tasks of no project", "GET", "/api/tasks", {"project": 987654321})

    call("task", "GET", f"/api/tasks/{first}/")
    given = call("annotate", "POST", f"/api/tasks/{second}/annotations/", body={"result": choice("Negative")})
    call("change annotation", "PATCH", f"/api/annotations/{given['id']}/", body={"result": choice("Positive")})
    call("skip", "POST", f"/api/tasks/{second}/annotations/", {"was_cancelled": 1}, {"result": []})
    predicted = [{"task": third, "model_version": f"v{n}", "result": choice("Negative") * n} for n in (1, 0)]
    call("import predictions", "POST", f"{at}import/predictions", body=predicted)
    call("make prediction", "POST", "/api/predictions/", body={**predicted[0], "task": second})
    call(
        "import predictions for no task", "POST", f"{at}import/predictions", body=[{**predicted[0], "task": 987654321}]
    )
    drawn = {
        "include": "id,drafts,draft_exists,predictions,result,model_version",
        "query": query(("id", "greater", "Number", second)),
    }
    page = call("page with predictions", "GET", "/api/tasks", {**here, "fields": "all", **drawn})
    one = page["tasks"][0]["predictions"][0]["id"]
    call("delete prediction", "DELETE", f"/api/predictions/{one}/")
    call("delete prediction again", "DELETE", f"/api/predictions/{one}/")
    call("patch task", "PATCH", f"/api/tasks/{second}/", body={"data": {"text": "b", "k": 1}})

    def action(name: str, ids: list[int], value: Any, kind: str = "Number", action: str = "add_data_field") -> None:
        body = {"value_name": "iaa_agreement", "value_type": kind, "value": value}
        chosen = {"selectedItems": {"all": False, "included": ids}}
        call(name, "POST", "/api/dm/actions", {"id": action, "project": project}, {**body, **chosen})

    action("set a number", [first, 987654321], 1)
    action("set a text", [first], 'a "b" \\ $c {{d}} <e>', kind="String")
    action("set on a missing task", [987654321], 1)
    action("set a text as a number", [first], "abc")
    action("unknown action", [first], 1, action="no_such_action")
    call("columns", "GET", "/api/dm/columns", {"project": project})

    call("no views", "GET", "/api/dm/views/", {"project": project})
    tab = {
        "title": "Tab",
        "filters": json.loads(query(("data.iaa_status", "equal", "String", "conflict")))["filters"],
        "ordering": ["tasks:data.iaa_agreement"],
        "mark": "ours",
    }
    view = call("make view", "POST", "/api/dm/views/", body={"project": project, "data": tab})["id"]
    call("views", "GET", "/api/dm/views/", {"project": project})
    call("change view", "PATCH", f"/api/dm/views/{view}/", body={"project": project, "data": {"title": "Tab 2"}})
    call("delete view", "DELETE", f"/api/dm/views/{view}/")
    call("delete view again", "DELETE", f"/api/dm/views/{view}/")

    call("delete task", "DELETE", f"/api/tasks/{first}/")
    call("deleted task", "GET", f"/api/tasks/{first}/")
    call("delete the others", "DELETE", f"/api/tasks/{third}/")
    call("reset columns", "POST", f"{at}summary/reset/", body={})
    call("summary", "GET", f"{at}summary/")
    call("no token", "GET", at, auth=False)
    call("wrong personal token", "POST", "/api/token/refresh/", body={"refresh": "a.b.c"}, auth=False)
    call("unknown address", "GET", "/api/no/such/address")
    call("page of the interface", "GET", "/projects/", auth=False)
    call("delete project", "DELETE", at)
    call("deleted project", "GET", at)


def exchange(url: str, token: str) -> tuple[Call, dict[str, dict[str, Any]]]:
    """A `call` that speaks to the server at `url`, and the answers it collects by name."""
    answers: dict[str, dict[str, Any]] = {}

    def call(name: str, method: str, path: str, params: Any = None, body: Any = None, *, auth: bool = True) -> Any:
        headers = {"Authorization": f"Token {token}"} if auth else {}
        address = url.rstrip("/") + path
        response = requests.request(
            method, address, params=params, json=body, headers=headers, allow_redirects=False, timeout=60
        )
        kind = response.headers.get("Content-Type", "").split(";")[0]
        answer = response.json() if kind == "application/json" else None
        answers[name] = {"status": response.status_code, "type": kind, "answer": answer}
        return answer

    return call, answers


def record(url: str, token: str) -> None:
    call, answers = exchange(url, token)
    users = call("users", "GET", "/api/users/")
    answers.pop("users")
    conversation(call, users[-1]["id"])
    listed = answers["projects"]["answer"]
    listed["results"] = [one for one in listed["results"] if one["title"] == "Recorded"]
    text = json.dumps(answers, indent=1, sort_keys=True)
    RECORDING.write_text(re.sub(r"[\w.]+@[\w.]+", "rater@example.org", text) + "\n")


if __name__ == "__main__":
    record(sys.argv[1], sys.argv[2])
