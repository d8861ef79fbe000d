"""One conversation with an Argilla that makes every kind of call by which the connector writes, and the answers.

It works in a dataset and a workspace of its own, and takes both away again, so that it can be held with the real server
and with the recorded one alike. To record anew:
    python -m tests.contract.argilla_writing http://127.0.0.1:6900 OWNERS_KEY
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tests.contract.argilla_conversation import WORKSPACE, Conversation, clear

RECORDING = Path(__file__).with_name("argilla_writing_2.8.0.json")
DATASET, ROOM = "written", f"{WORKSPACE}-reviews"
NOBODY = "00000000-0000-4000-8000-00000000000b"
ROOM_ID = "00000000-0000-4000-8000-00000000000c"
FIELD = {"name": "text", "title": "Text", "required": True, "settings": {"type": "text"}}
VOTES = {"name": "votes", "title": "Votes", "required": False, "settings": {"type": "text", "use_markdown": True}}
OPTIONS = [{"value": "pos", "text": "Positive"}, {"value": "neg", "text": "Negative"}]
QUESTION = {
    "name": "label",
    "title": "Label",
    "required": True,
    "settings": {"type": "label_selection", "options": OPTIONS},
}


def conversation(call: Conversation, workspace: str, annotator: str) -> None:
    """Everything that the connector writes. `annotator` is the key of a member of the workspace (by its id)."""
    new = {
        "name": DATASET,
        "workspace_id": workspace,
        "allow_extra_metadata": False,
        "distribution": {"strategy": "overlap", "min_submitted": 2},
        "metadata": {"agreement_connector": {"review_of": NOBODY}},
    }
    dataset = call("make dataset", "POST", "datasets", new)["id"]
    call("dataset again", "POST", "datasets", new)
    here = f"datasets/{dataset}"
    call("publish too early", "PUT", f"{here}/publish")
    for name, part, body in (("field", "fields", FIELD), ("question", "questions", QUESTION)):
        call(f"make {name}", "POST", f"{here}/{part}", body)
        call(f"{name} again", "POST", f"{here}/{part}", body)
    call("make markdown field", "POST", f"{here}/fields", VOTES)
    call("fields", "GET", f"{here}/fields")
    call("publish", "PUT", f"{here}/publish")
    call("publish again", "PUT", f"{here}/publish")
    call("field after publishing", "POST", f"{here}/fields", {**FIELD, "name": "late"})
    call("question after publishing", "POST", f"{here}/questions", {**QUESTION, "name": "late"})
    call("search", "POST", f"me/{here}/records/search", {}, limit=1)
    _properties(call, here, annotator)
    _records(call, here, dataset, annotator)
    _workspaces(call, workspace, annotator)
    call("delete dataset", "DELETE", here)
    call("delete dataset again", "DELETE", here)
    call("no such dataset", "GET", here)


def _properties(call: Conversation, here: str, annotator: str) -> None:
    for kind in ("terms", "float", "integer"):
        body = {"name": kind, "title": f"A {kind}", "settings": {"type": kind}, "visible_for_annotators": False}
        call(f"make {kind} property", "POST", f"{here}/metadata-properties", body)
    again = {"name": "integer", "title": "Again", "settings": {"type": "terms"}, "visible_for_annotators": True}
    call("property again", "POST", f"{here}/metadata-properties", again)
    call("make property, an annotator", "POST", f"{here}/metadata-properties", {**again, "name": "x"}, key=annotator)
    properties = call("properties", "GET", f"me/{here}/metadata-properties")["items"]
    call("properties, an annotator", "GET", f"me/{here}/metadata-properties", key=annotator)
    assert [item["name"] for item in properties] == ["terms", "float", "integer"]


def _records(call: Conversation, here: str, dataset: str, annotator: str) -> None:
    bulk = f"{here}/records/bulk"
    texts = {f"rec-{number}": {"text": f"Text {number}"} for number in range(3)}
    items = [{"external_id": one, "fields": fields, "metadata": {"terms": "web"}} for one, fields in texts.items()]
    first, second, third = (one["id"] for one in call("make records", "PUT", bulk, {"items": items})["items"])
    answer = {"status": "submitted", "values": {"label": {"value": "pos"}}}
    response = call("respond", "POST", f"records/{first}/responses", answer, key=annotator)["id"]
    call("respond again", "POST", f"records/{first}/responses", answer, key=annotator)
    call("edit the response", "PUT", f"responses/{response}", answer, key=annotator)
    call("records again", "PUT", bulk, {"items": [{"external_id": "rec-0", "fields": {"text": "Other"}}, *items[1:]]})
    call("one record", "GET", f"records/{first}")
    call("no such record", "GET", f"records/{NOBODY}")
    call("page without responses", "GET", f"{here}/records", offset=1, limit=2)

    good = {"terms": "web", "float": 0.5, "integer": 2}
    call("write metadata", "PUT", bulk, {"items": [{"id": first, "metadata": good}, {"id": second, "metadata": {}}]})
    call("write no metadata", "PUT", bulk, {"items": [{"id": third, "metadata": None}]})
    call("write metadata, an annotator", "PUT", bulk, {"items": [{"id": first, "metadata": good}]}, key=annotator)
    call("no items", "PUT", bulk, {"items": []})
    refused: dict[str, dict[str, Any]] = {
        "a record that is gone": {"id": NOBODY, "metadata": good},
        "a whole number for a float": {"id": second, "metadata": {"float": 1}},
        "a fraction for an integer": {"id": second, "metadata": {"integer": 2.5}},
        "a text for a float": {"id": second, "metadata": {"float": "high"}},
        "an unknown key": {"id": second, "metadata": {"other": "x"}},
    }
    for name, item in refused.items():
        call(name, "PUT", bulk, {"items": [{"id": first, "metadata": {"terms": "changed"}}, item]})
    call("nothing of a refused batch is written", "GET", f"records/{first}")
    call("a number for a term", "PUT", bulk, {"items": [{"id": second, "metadata": {"terms": 3}}]})

    named = {item["name"]: item["id"] for item in call(None, "GET", f"me/{here}/metadata-properties")["items"]}
    call("delete property", "DELETE", f"metadata-properties/{named['float']}")
    call("delete property again", "DELETE", f"metadata-properties/{named['float']}")
    call("a key that outlived its property", "PUT", bulk, {"items": [{"id": first, "metadata": good}]})
    call("the key taken away", "PUT", bulk, {"items": [{"id": first, "metadata": {"terms": "web"}}]})

    call("delete records", "DELETE", f"{here}/records", ids=f"{second},{NOBODY}")
    call("delete one record", "DELETE", f"records/{third}")
    call("delete one record again", "DELETE", f"records/{third}")
    call("what is left", "GET", f"{here}/records", include="responses", limit=1000)


def _workspaces(call: Conversation, workspace: str, annotator: str) -> None:
    call("make workspace", "POST", "workspaces", {"id": ROOM_ID, "name": ROOM})
    call("workspace again", "POST", "workspaces", {"id": ROOM_ID, "name": ROOM})
    call("make workspace, an annotator", "POST", "workspaces", {"name": f"{ROOM}-2"}, key=annotator)
    call("nobody in the workspace", "GET", f"workspaces/{ROOM_ID}/users")
    call("nothing in the workspace", "GET", "me/datasets", workspace_id=ROOM_ID)
    call("delete a workspace that holds a dataset", "DELETE", f"workspaces/{workspace}")
    call("delete workspace", "DELETE", f"workspaces/{ROOM_ID}")
    call("delete workspace again", "DELETE", f"workspaces/{ROOM_ID}")


def record(url: str, key: str) -> None:
    call = Conversation(url, key)
    clear(call)
    workspace = call(None, "POST", "workspaces", {"name": WORKSPACE})["id"]
    person = {"username": "recorded0", "first_name": "Rater 0", "password": "recorded-pass", "role": "annotator"}
    annotator = call(None, "POST", "users", person)
    call(None, "POST", f"workspaces/{workspace}/users", {"user_id": annotator["id"]})
    conversation(call, workspace, annotator["api_key"])
    clear(call)
    RECORDING.write_text(json.dumps(call.answers, indent=1, sort_keys=True, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    record(sys.argv[1], sys.argv[2])
