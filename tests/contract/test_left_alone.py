"""The recorded Argilla refuses what no run may change, so that every test on it sees a run that tries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import requests

from tests.contract.argilla_world import NOT_OURS, RecordedArgillaWorld
from tests.contract.recorded_argilla import RecordedArgilla

WHOLE = "datasets/DATASET"
BULK = f"{WHOLE}/records/bulk"


@pytest.fixture
def server() -> Iterator[RecordedArgilla]:
    with RecordedArgilla() as server:
        yield server


@pytest.fixture
def world(server: RecordedArgilla) -> RecordedArgillaWorld:
    return RecordedArgillaWorld(server)


def _ask(server: RecordedArgilla, method: str, path: str, body: Any = None) -> requests.Response:
    """A call by the owner; DATASET and RECORD stand for the source dataset and its first record."""
    places = {"DATASET": server.dataset["id"], "RECORD": server.records[0]["id"]}
    for name, id_ in places.items():
        path = path.replace(name, id_)
    for item in (body or {}).get("items", ()):
        item.update({key: places.get(value, value) for key, value in item.items() if isinstance(value, str)})
    headers = {"X-Argilla-Api-Key": server.owner_key}
    return requests.request(method, f"{server.url}/api/v1/{path}", json=body, headers=headers, timeout=30)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PATCH", WHOLE, {"distribution": {"strategy": "overlap", "min_submitted": 3}}),
        ("PATCH", WHOLE, {"guidelines": "read them"}),
        ("PATCH", "datasets/another", {"distribution": {"strategy": "overlap", "min_submitted": 1}}),
        ("PATCH", "records/RECORD", {"metadata": {"n": 1}}),
        ("PATCH", "questions/some", {"title": "Which?"}),
        *(
            ("PUT", BULK, {"items": [{"id": "RECORD", "metadata": {"n": 1}, name: value}]})
            for name, value in (("fields", {"text": "x"}), ("external_id", "x"), ("responses", []), ("suggestions", []))
        ),
        ("PUT", BULK, {"items": [{"id": "RECORD", "metadata": {"n": 1}}, {"fields": {"text": "a ghost"}}]}),
        ("PUT", BULK, {"items": [{"external_id": "rec-0", "metadata": {"n": 1}}]}),
        ("PUT", BULK, {"items": [{"id": "RECORD"}]}),
        ("POST", BULK, {"items": [{"fields": {"text": "one more"}}]}),
        ("POST", f"{WHOLE}/questions", {"name": "more"}),
        ("PUT", f"{WHOLE}/publish", None),
        ("DELETE", WHOLE, None),
        ("DELETE", f"{WHOLE}/records?ids=RECORD", None),
        ("DELETE", "records/RECORD", None),
        ("POST", "records/RECORD/responses", {"status": "submitted", "values": {"label": {"value": "pos"}}}),
        ("PUT", "records/RECORD/suggestions", {"question_id": "some", "value": "pos"}),
        ("PUT", "responses/some", {"status": "submitted", "values": {}}),
        ("DELETE", "responses/some", None),
    ],
)
def test_what_no_run_may_change_is_refused(
    server: RecordedArgilla, world: RecordedArgillaWorld, method: str, path: str, body: Any
) -> None:
    before = world.state()
    answer = _ask(server, method, path, body)
    assert (answer.status_code, answer.json()) == (403, {"detail": NOT_OURS})
    assert world.state() == before


def test_metadata_and_properties_may_be_changed(server: RecordedArgilla, world: RecordedArgillaWorld) -> None:
    """And a dataset that is not the source, such as one for reviews, may be made and taken away."""
    terms = {"name": "iaa_x", "title": "x", "settings": {"type": "terms"}, "visible_for_annotators": False}
    assert _ask(server, "POST", f"{WHOLE}/metadata-properties", terms).status_code == 201
    items = [{"id": "RECORD", "metadata": {"iaa_x": "here"}}]
    assert _ask(server, "PUT", BULK, {"items": items}).status_code == 200
    assert world.content(server.records[0]["id"]) == {"iaa_x": "here"}
    made = _ask(server, "POST", "datasets", {"name": "mine", "workspace_id": server.dataset["workspace_id"]}).json()
    fresh = [{"fields": {"text": "x"}, "external_id": "x"}]
    assert _ask(server, "PUT", f"datasets/{made['id']}/records/bulk", {"items": fresh}).status_code == 200
    assert _ask(server, "DELETE", f"datasets/{made['id']}").status_code == 200


def test_a_dataset_made_again_is_left_alone_as_well(server: RecordedArgilla, world: RecordedArgillaWorld) -> None:
    old = server.dataset["id"]
    world.remake(keep_as="the one before")
    assert server.dataset["id"] != old
    for number in (old, server.dataset["id"]):
        assert _ask(server, "DELETE", f"datasets/{number}").status_code == 403
